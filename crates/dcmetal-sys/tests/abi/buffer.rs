//! Buffers of every storage, and memory used in place.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr;
use std::sync::{Condvar, Mutex};

use dcmetal_sys::*;

use crate::support::*;

const STORAGES: [DCMetalStorageMode; 3] = [DC_METAL_STORAGE_SHARED, DC_METAL_STORAGE_MANAGED, DC_METAL_STORAGE_PRIVATE];

fn buffer(gpu: &Gpu, length: u64, storage: DCMetalStorageMode) -> Result<Owned<DCMetalBuffer>, Failure> {
    create(|out, error| dc!(DCMetalBuffer_Create(gpu.device.0, length, storage, DC_METAL_CACHE_DEFAULT, out, error)))
}

pub(crate) fn buffer_starts_as_zeros() {
    let gpu = Gpu::new();
    for round in 0..4 {
        let buffer = gpu.buffer(100_003);
        let bytes = contents::<u8>(&buffer);
        assert_eq!(bytes.len(), 100_003);
        assert!(bytes.iter().all(|&byte| byte == 0), "round {round}");
        let start = dc!(DCMetalBuffer_GetContents(buffer.0)).cast::<u8>();
        // SAFETY: 100,003 bytes of an idle shared buffer; dirt for the next round to find.
        unsafe { ptr::write_bytes(start, 0xa5, 100_003) };
    }
}

pub(crate) fn buffer_of_each_storage() {
    let gpu = Gpu::new();
    for storage in STORAGES {
        let buffer = buffer(&gpu, 64, storage).expect("a buffer");
        assert_eq!(dc!(DCMetalBuffer_GetStorageMode(buffer.0)), storage);
        assert_eq!(dc!(DCMetalBuffer_GetLength(buffer.0)), 64);
        let hidden = dc!(DCMetalBuffer_GetContents(buffer.0)).is_null();
        assert_eq!(hidden, storage == DC_METAL_STORAGE_PRIVATE);
    }
}

pub(crate) fn buffer_write_combined_is_written() {
    let gpu = Gpu::new();
    let (shared, combined) = (DC_METAL_STORAGE_SHARED, DC_METAL_CACHE_WRITE_COMBINED);
    let buffer = create(|out, error| dc!(DCMetalBuffer_Create(gpu.device.0, 16, shared, combined, out, error)));
    let buffer = buffer.expect("a buffer");
    let start = dc!(DCMetalBuffer_GetContents(buffer.0)).cast::<u8>();
    // SAFETY: 16 bytes of an idle shared buffer.
    unsafe { ptr::write_bytes(start, 9, 16) };
    assert_eq!(contents::<u8>(&buffer), [9; 16]);
}

pub(crate) fn buffer_copies_bytes() {
    let gpu = Gpu::new();
    let mut values = [1u32, 2, 3];
    for storage in [DC_METAL_STORAGE_SHARED, DC_METAL_STORAGE_MANAGED] {
        let bytes = values.as_ptr().cast();
        let make = |out, error| dc!(DCMetalBuffer_CreateWithBytes(gpu.device.0, bytes, 12, storage, out, error));
        let buffer = create(make).expect("a buffer");
        let before = values;
        values[0] += 10;
        assert_eq!(contents::<u32>(&buffer), before, "a copy");
    }
}

pub(crate) fn buffer_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let (invalid, shared) = (DC_METAL_INVALID_ARGUMENT, DC_METAL_STORAGE_SHARED);
    refused(invalid, buffer(&gpu, 0, shared));
    let most = dc!(DCMetalDevice_GetMaxBufferLength(gpu.device.0));
    for length in [most + 1, u64::MAX, u64::MAX - 4095, 1 << 63] {
        let message = refused(invalid, buffer(&gpu, length, shared));
        assert!(message.contains(&length.to_string()) && message.contains(&most.to_string()), "{message}");
    }
    refused(invalid, buffer(&gpu, 64, DCMetalStorageMode(3)));
    refused(invalid, buffer(&gpu, 64, DCMetalStorageMode(u32::MAX)));
    let cache = DCMetalCacheMode(2);
    refused(invalid, create(|out, error| dc!(DCMetalBuffer_Create(gpu.device.0, 64, shared, cache, out, error))));
    let (null, cache) = (DCMetalDevice::NULL, DC_METAL_CACHE_DEFAULT);
    refused(invalid, create(|out, error| dc!(DCMetalBuffer_Create(null, 64, shared, cache, out, error))));
    let device = gpu.device.0;
    refused(invalid, attempt(|e| dc!(DCMetalBuffer_Create(device, 64, shared, cache, ptr::null_mut(), e))));
}

pub(crate) fn buffer_with_bytes_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let (invalid, bytes) = (DC_METAL_INVALID_ARGUMENT, [0u8; 8]);
    let make = |device, bytes: &[u8], length, storage| {
        let bytes = if bytes.is_empty() { ptr::null() } else { bytes.as_ptr().cast() };
        create(|out, error| dc!(DCMetalBuffer_CreateWithBytes(device, bytes, length, storage, out, error)))
    };
    let shared = DC_METAL_STORAGE_SHARED;
    refused(invalid, make(gpu.device.0, &[], 8, shared));
    refused(invalid, make(gpu.device.0, &bytes, 0, shared));
    refused(invalid, make(gpu.device.0, &bytes, u64::MAX, shared));
    refused(invalid, make(gpu.device.0, &bytes, 8, DC_METAL_STORAGE_PRIVATE));
    refused(invalid, make(gpu.device.0, &bytes, 8, DCMetalStorageMode(7)));
    refused(invalid, make(DCMetalDevice::NULL, &bytes, 8, shared));
    let (start, null) = (bytes.as_ptr().cast(), ptr::null_mut());
    refused(invalid, attempt(|e| dc!(DCMetalBuffer_CreateWithBytes(gpu.device.0, start, 8, shared, null, e))));
}

pub(crate) fn buffer_labels() {
    let gpu = Gpu::new();
    let buffer = gpu.buffer(16);
    let label = || string(|text, capacity| dc!(DCMetalBuffer_GetLabel(buffer.0, text, capacity)));
    assert_eq!(label(), "");
    // From every length of UTF-8 sequence.
    for text in ["weights", "\u{7f}\u{80}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}", ""] {
        let text = c(text);
        assert_eq!(dc!(DCMetalBuffer_SetLabel(buffer.0, text.as_ptr())), DC_METAL_OK);
        assert_eq!(label().as_bytes(), text.as_bytes());
    }
    assert_eq!(dc!(DCMetalBuffer_SetLabel(buffer.0, c("x").as_ptr())), DC_METAL_OK);
    assert_eq!(dc!(DCMetalBuffer_SetLabel(buffer.0, ptr::null())), DC_METAL_OK);
    assert_eq!(label(), "", "NULL removes it");
}

pub(crate) fn text_that_is_not_utf8_is_refused() {
    let gpu = Gpu::new();
    let buffer = gpu.buffer(16);
    assert_eq!(dc!(DCMetalBuffer_SetLabel(buffer.0, c("kept").as_ptr())), DC_METAL_OK);
    // Unicode 15, section 3.9: lone and missing continuation, overlong forms, surrogates, above U+10FFFF, impossible bytes.
    let wrong: [&[u8]; 14] = [
        b"\x80",
        b"\xc3",
        b"\xc3(",
        b"\xc0\xaf",
        b"\xc1\xbf",
        b"\xe0\x80\xaf",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"ok\xe2\x82",
        b"\xff",
    ];
    for bytes in wrong {
        let text = [bytes, b"\0"].concat();
        let status = dc!(DCMetalBuffer_SetLabel(buffer.0, text.as_ptr().cast()));
        assert_eq!(status, DC_METAL_INVALID_ARGUMENT, "{bytes:x?}");
    }
    assert_eq!(string(|text, capacity| dc!(DCMetalBuffer_GetLabel(buffer.0, text, capacity))), "kept");
}

pub(crate) fn buffer_modified_range_is_checked() {
    let gpu = Gpu::new();
    let managed = buffer(&gpu, 64, DC_METAL_STORAGE_MANAGED).expect("a buffer");
    let modify =
        |buffer: &Owned<DCMetalBuffer>, offset, length| dc!(DCMetalBuffer_DidModifyRange(buffer.0, offset, length));
    for (offset, length) in [(0, 64), (0, 0), (64, 0), (60, 4)] {
        assert_eq!(modify(&managed, offset, length), DC_METAL_OK, "{offset} {length}");
    }
    for (offset, length) in
        [(0, 65), (64, 1), (65, 0), (4, u64::MAX), (u64::MAX, 1), (u64::MAX, u64::MAX), (8, u64::MAX - 7)]
    {
        assert_eq!(modify(&managed, offset, length), DC_METAL_INVALID_ARGUMENT, "{offset} {length}");
    }
    for storage in [DC_METAL_STORAGE_SHARED, DC_METAL_STORAGE_PRIVATE] {
        let other = buffer(&gpu, 64, storage).expect("a buffer");
        assert_eq!(modify(&other, 0, 4), DC_METAL_INVALID_STATE);
    }
}

/// That a view shows the buffer's memory is shown where there are peers: dcmetal, tests/multi.rs.
pub(crate) fn remote_view_is_for_a_peer() {
    let gpu = Gpu::new();
    let view = |buffer, device| create(|out, error| dc!(DCMetalBuffer_CreateRemoteView(buffer, device, out, error)));
    let private = buffer(&gpu, 64, DC_METAL_STORAGE_PRIVATE).expect("a buffer");
    let shared = buffer(&gpu, 64, DC_METAL_STORAGE_SHARED).expect("a buffer");
    let (no_buffer, no_device, device) = (DCMetalBuffer::NULL, DCMetalDevice::NULL, gpu.device.0);
    for (buffer, device, words) in [
        (no_buffer, device, "buffer is NULL"),
        (private.0, no_device, "device is NULL"),
        (shared.0, device, "a remote view is of private storage"),
        (private.0, device, "a remote view is for another device of the buffer's peer group"),
    ] {
        let Err(failure) = view(buffer, device) else { panic!("no failure, but: {words}") };
        assert_eq!(failure.status, DC_METAL_INVALID_ARGUMENT, "{failure:?}");
        assert_eq!(failure.message, words);
    }
    let nowhere = std::ptr::null_mut();
    let status = dc!(DCMetalBuffer_CreateRemoteView(private.0, device, nowhere, nowhere.cast()));
    assert_eq!(status, DC_METAL_INVALID_ARGUMENT);
}

pub(crate) fn buffer_of_null_has_nothing() {
    let none = DCMetalBuffer::NULL;
    assert!(dc!(DCMetalBuffer_GetContents(none)).is_null());
    assert_eq!(dc!(DCMetalBuffer_GetLength(none)), 0);
    assert_eq!(dc!(DCMetalBuffer_GetStorageMode(none)), DC_METAL_STORAGE_PRIVATE);
    assert_eq!(dc!(DCMetalBuffer_DidModifyRange(none, 0, 0)), DC_METAL_INVALID_ARGUMENT);
    assert_eq!(dc!(DCMetalBuffer_SetLabel(none, c("x").as_ptr())), DC_METAL_INVALID_ARGUMENT);
    assert_eq!(string(|text, capacity| dc!(DCMetalBuffer_GetLabel(none, text, capacity))), "");
    dc!(DCMetalBuffer_Release(none));
}

pub(crate) fn buffer_outlives_its_device() {
    let Gpu { device, queue } = Gpu::new();
    let gpu = Gpu { device, queue };
    let buffer = gpu.buffer_of(&[7u8; 32]);
    drop(gpu);
    assert_eq!(contents::<u8>(&buffer), [7; 32]);
}

// ------------------------------------------------------------------ memory used in place

/// Pages of the caller's, with the length of each time that Metal gave them back.
pub(crate) struct Pages {
    pub(crate) start: *mut u8,
    layout: Layout,
    lengths: Mutex<Vec<u64>>,
    changed: Condvar,
}

impl Pages {
    pub(crate) fn new(count: usize) -> Self {
        // SAFETY: sysconf reads nothing of ours.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).expect("known");
        let layout = Layout::from_size_align(count * page, page).expect("a page is a power of two");
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout) };
        assert!(!start.is_null());
        Self { start, layout, lengths: Mutex::default(), changed: Condvar::new() }
    }

    pub(crate) fn length(&self) -> u64 {
        self.layout.size() as u64
    }

    fn given_back(&self) -> usize {
        self.lengths.lock().expect("no panic holds it").len()
    }

    fn wait_given_back(&self) {
        let lengths = self.lengths.lock().expect("no panic holds it");
        drop(self.changed.wait_while(lengths, |lengths| lengths.is_empty()).expect("no panic holds it"));
    }

    fn buffer(&self, gpu: &Gpu, with: DCMetalDeallocator) -> Result<Owned<DCMetalBuffer>, Failure> {
        self.buffer_of(gpu.device.0, self.start, self.length(), DC_METAL_STORAGE_SHARED, with)
    }

    pub(crate) fn buffer_of(
        &self,
        device: DCMetalDevice,
        start: *mut u8,
        length: u64,
        storage: DCMetalStorageMode,
        with: DCMetalDeallocator,
    ) -> Result<Owned<DCMetalBuffer>, Failure> {
        let context = ptr::from_ref(self).cast_mut().cast();
        let bytes = start.cast();
        create(|out, error| dc!(DCMetalBuffer_CreateNoCopy(device, bytes, length, storage, with, context, out, error)))
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout by `new`.
        unsafe { dealloc(self.start, self.layout) };
    }
}

unsafe extern "C" fn give_back(context: *mut c_void, bytes: *mut c_void, length: u64) {
    // SAFETY: the context of every buffer of `Pages` is those pages, which outlive it.
    let pages = unsafe { &*context.cast::<Pages>() };
    assert_eq!(bytes.cast::<u8>(), pages.start);
    pages.lengths.lock().expect("no panic holds it").push(length);
    pages.changed.notify_all();
}

pub(crate) fn no_copy_is_the_callers_memory() {
    let gpu = Gpu::new();
    for storage in [DC_METAL_STORAGE_SHARED, DC_METAL_STORAGE_MANAGED] {
        let pages = Pages::new(2);
        let made = pages.buffer_of(gpu.device.0, pages.start, pages.length(), storage, Some(give_back));
        let buffer = made.expect("a buffer");
        assert_eq!(dc!(DCMetalBuffer_GetContents(buffer.0)).cast::<u8>(), pages.start);
        assert_eq!(dc!(DCMetalBuffer_GetLength(buffer.0)), pages.length());
        assert_eq!(dc!(DCMetalBuffer_GetStorageMode(buffer.0)), storage);
        drop(buffer);
    }
}

pub(crate) fn no_copy_deallocator_runs_once_at_the_end() {
    let gpu = Gpu::new();
    let pages = Pages::new(1);
    let buffer = pages.buffer(&gpu, Some(give_back)).expect("a buffer");
    assert_eq!(pages.given_back(), 0);
    drop(buffer);
    assert_eq!(*pages.lengths.lock().expect("no panic holds it"), [pages.length()]);
}

pub(crate) fn no_copy_without_deallocator() {
    let gpu = Gpu::new();
    let pages = Pages::new(1);
    drop(pages.buffer(&gpu, None).expect("a buffer"));
    assert_eq!(pages.given_back(), 0);
}

pub(crate) fn no_copy_deallocator_waits_for_the_command_buffer() {
    let gpu = Gpu::new();
    let pages = Pages::new(1);
    let buffer = pages.buffer(&gpu, Some(give_back)).expect("a buffer");
    let command_buffer = gpu.command_buffer();
    let encoder = blit_encoder(&command_buffer);
    let length = pages.length();
    attempt(|error| dc!(DCMetalBlitEncoder_FillBuffer(encoder.0, buffer.0, 0, length, 0x5a, error))).expect("a fill");
    attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, error))).expect("the end");
    drop(encoder);
    drop(buffer);
    assert_eq!(pages.given_back(), 0, "the command buffer holds it");
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    drop(command_buffer);
    // Metal gives memory back on a thread of its own.
    pages.wait_given_back();
    drop(gpu);
    assert_eq!(pages.given_back(), 1);
    // SAFETY: nothing uses the pages any more.
    let bytes = unsafe { std::slice::from_raw_parts(pages.start, length as usize) };
    assert!(bytes.iter().all(|&byte| byte == 0x5a), "the device wrote the caller's memory");
}

pub(crate) fn no_copy_failure_leaves_the_memory() {
    let gpu = Gpu::new();
    let pages = Pages::new(2);
    let (invalid, shared, device) = (DC_METAL_INVALID_ARGUMENT, DC_METAL_STORAGE_SHARED, gpu.device.0);
    let (start, length) = (pages.start, pages.length());
    let refuse = |device, start, length, storage| {
        refused(invalid, pages.buffer_of(device, start, length, storage, Some(give_back)))
    };
    assert!(refuse(device, start.wrapping_add(1), length / 2, shared).contains("page"));
    assert!(refuse(device, start, length - 1, shared).contains("page"));
    refuse(device, start, length, DC_METAL_STORAGE_PRIVATE);
    refuse(device, start, length, DCMetalStorageMode(9));
    refuse(device, start, 0, shared);
    refuse(device, start, u64::MAX, shared);
    refuse(device, ptr::null_mut(), length, shared);
    refuse(DCMetalDevice::NULL, start, length, shared);
    let context = ptr::from_ref(&pages).cast_mut().cast();
    let out = ptr::null_mut();
    refused(
        invalid,
        attempt(|error| {
            let bytes = start.cast();
            dc!(DCMetalBuffer_CreateNoCopy(device, bytes, length, shared, Some(give_back), context, out, error))
        }),
    );
    assert_eq!(pages.given_back(), 0);
}
