//! What the tests of the engine share: the C interface with fewer words, and kernels that are native functions.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::Once;

use hostmetal::executor::{Entry, Group, Span, ThreadgroupVariable};
use hostmetal::ffi::*;
use hostmetal::msl::Formats;
use hostmetal::pipeline::{BUFFER, Binding, Kernel, THREADGROUP_MEMORY};

pub(crate) const COMPLETED: u32 = 4;
pub(crate) const ERROR: u32 = 5;

pub(crate) fn device() -> HMDevice {
    static THREADS: Once = Once::new();
    THREADS.call_once(|| {
        // Work is handed out in smaller parts to more threads than the tests count on.
        let many = std::thread::available_parallelism().is_ok_and(|threads| threads.get() > 64);
        if many && std::env::var_os("HOSTMETAL_THREADS").is_none() {
            // SAFETY: the engine reads its variables when it is used, which is after this; nothing else reads them.
            unsafe { std::env::set_var("HOSTMETAL_THREADS", "64") };
        }
    });
    hm_device_at(0)
}

/// A misuse text as a string; None when there was none.
pub(crate) fn misuse(text: *const c_char) -> Option<String> {
    // SAFETY: the engine answers NULL or a static text.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8").to_owned())
}

pub(crate) fn ok(text: *const c_char) {
    assert_eq!(misuse(text), None);
}

/// A buffer argument that is many elements of `size` bytes.
pub(crate) fn buffer(index: u32, size: u64) -> Binding {
    Binding {
        name: CString::new(format!("b{index}")).expect("no NUL"),
        kind: BUFFER,
        index,
        access: 1,
        data_type: 0,
        data_size: size,
        alignment: size.next_power_of_two().min(16),
        pointer: true,
        used: true,
        argument: true,
        texture_type: 0,
        count: 1,
        types: Vec::new(),
        dynamic_stride: false,
    }
}

pub(crate) fn threadgroup(index: u32) -> Binding {
    Binding { kind: THREADGROUP_MEMORY, ..buffer(index, 4) }
}

pub(crate) fn kernel(name: &str, entry: Entry, bindings: Vec<Binding>) -> Kernel {
    Kernel {
        name: name.to_owned(),
        entry,
        span: Span::Threadgroup,
        bindings,
        variables: Vec::new(),
        max_total_threads: None,
        required_threads: None,
        formats: Formats::default(),
        code: None,
    }
}

pub(crate) fn variable(id: u32, size: u64) -> ThreadgroupVariable {
    ThreadgroupVariable { id, size, alignment: 16 }
}

pub(crate) struct Pipeline(pub(crate) HMPipeline);

impl Pipeline {
    pub(crate) fn new(kernel: Kernel) -> Pipeline {
        Pipeline::limited(kernel, 0, false).expect("the kernel fits")
    }

    pub(crate) fn limited(kernel: Kernel, threads: u64, whole: bool) -> Result<Pipeline, String> {
        // SAFETY: the tests' kernels keep to their bindings, or fault, which is what is tested.
        unsafe { pipeline_from_native(device(), kernel, threads, whole) }.map(Pipeline)
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's.
        unsafe { hm_pipeline_release(self.0) };
    }
}

pub(crate) struct Buffer(pub(crate) HMBuffer);

impl Buffer {
    pub(crate) fn new(length: u64) -> Buffer {
        // SAFETY: the device is valid.
        let handle = unsafe { hm_buffer_create(device(), length) };
        assert!(!handle.is_null(), "no buffer of {length} bytes");
        Buffer(handle)
    }

    pub(crate) fn of<T: Copy>(values: &[T]) -> Buffer {
        let buffer = Buffer::new(size_of_val(values) as u64);
        // SAFETY: the buffer is that long, page aligned, and not in use.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr(), buffer.contents().cast(), values.len()) };
        buffer
    }

    pub(crate) fn contents(&self) -> *mut u8 {
        // SAFETY: the handle is valid.
        unsafe { hm_buffer_contents(self.0) }.cast()
    }

    pub(crate) fn read<T: Copy>(&self) -> Vec<T> {
        // SAFETY: the handle is valid.
        let length = unsafe { hm_buffer_length(self.0) } as usize / size_of::<T>();
        // SAFETY: the contents are that long and aligned, and T is plain data in all tests.
        unsafe { std::slice::from_raw_parts(self.contents().cast(), length) }.to_vec()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's.
        unsafe { hm_buffer_release(self.0) };
    }
}

/// MTLTextureType.
pub(crate) const TEXTURE_1D: u32 = 0;
pub(crate) const TEXTURE_1D_ARRAY: u32 = 1;
pub(crate) const TEXTURE_2D: u32 = 2;
pub(crate) const TEXTURE_2D_ARRAY: u32 = 3;
pub(crate) const TEXTURE_2D_MULTISAMPLE: u32 = 4;
pub(crate) const TEXTURE_CUBE: u32 = 5;
pub(crate) const TEXTURE_CUBE_ARRAY: u32 = 6;
pub(crate) const TEXTURE_3D: u32 = 7;
pub(crate) const TEXTURE_2D_MULTISAMPLE_ARRAY: u32 = 8;
pub(crate) const TEXTURE_BUFFER: u32 = 9;

/// MTLTextureSwizzleChannels: red, green, blue, alpha.
pub(crate) const AS_THEY_ARE: [u8; 4] = [2, 3, 4, 5];

/// A texture for kernels to read and write: type, MTLPixelFormat, size; one level and slice.
pub(crate) fn texture(texture_type: u32, pixel_format: u32, size: [u64; 3]) -> HMTextureDescriptor {
    HMTextureDescriptor {
        texture_type,
        pixel_format,
        size,
        levels: 1,
        slices: 1,
        samples: 1,
        usage: 3,
        swizzle: AS_THEY_ARE,
        lossy: false,
    }
}

pub(crate) struct Texture(pub(crate) HMTexture, HMTextureDescriptor);

impl Texture {
    pub(crate) fn try_new(descriptor: &HMTextureDescriptor) -> Result<Texture, String> {
        let mut text = ptr::null();
        // SAFETY: the device is valid, and text is a place for the answer.
        let handle = unsafe { hm_texture_create(device(), descriptor, &mut text) };
        match misuse(text) {
            Some(text) => Err(text),
            None if handle.is_null() => Err("out of memory".to_owned()),
            None => Ok(Texture(handle, *descriptor)),
        }
    }

    pub(crate) fn new(descriptor: &HMTextureDescriptor) -> Texture {
        Texture::try_new(descriptor).unwrap_or_else(|text| panic!("{descriptor:?}: {text}"))
    }

    /// Of a buffer's bytes.
    pub(crate) fn linear(
        buffer: &Buffer,
        descriptor: &HMTextureDescriptor,
        offset: u64,
        row: u64,
    ) -> Result<Texture, String> {
        let mut text = ptr::null();
        // SAFETY: the handle is valid, and text is a place for the answer.
        let handle = unsafe { hm_texture_create_linear(buffer.0, descriptor, offset, row, &mut text) };
        misuse(text).map_or(Ok(Texture(handle, *descriptor)), Err)
    }

    pub(crate) fn view(&self, format: u32, kind: u32, levels: [u64; 2], slices: [u64; 2]) -> Result<Texture, String> {
        self.swizzled(format, kind, levels, slices, AS_THEY_ARE)
    }

    pub(crate) fn swizzled(
        &self,
        format: u32,
        kind: u32,
        levels: [u64; 2],
        slices: [u64; 2],
        swizzle: [u8; 4],
    ) -> Result<Texture, String> {
        let mut text = ptr::null();
        // SAFETY: the handle is valid, and text is a place for the answer.
        let handle = unsafe { hm_texture_create_view(self.0, format, kind, &levels, &slices, &swizzle, &mut text) };
        let size = self.1.size.map(|extent| (extent >> levels[0]).max(1));
        let descriptor = HMTextureDescriptor {
            texture_type: kind,
            pixel_format: format,
            size,
            levels: levels[1],
            slices: slices[1],
            ..self.1
        };
        misuse(text).map_or(Ok(Texture(handle, descriptor)), Err)
    }

    fn extent(&self, level: u64) -> [u64; 3] {
        self.1.size.map(|extent| (extent >> level).max(1))
    }

    pub(crate) fn place(&self, slice: u64, level: u64, origin: [u64; 3]) -> HMPlace {
        HMPlace { texture: self.0, slice, level, origin }
    }

    /// Fills a level of a slice.
    pub(crate) fn write<T: Copy>(&self, slice: u64, level: u64, texels: &[T]) {
        let size = self.extent(level);
        let row = size_of_val(texels) as u64 / size[1] / size[2];
        assert_eq!(row * size[1] * size[2], size_of_val(texels) as u64, "texels of a whole level");
        let place = self.place(slice, level, [0; 3]);
        // SAFETY: the texels are as many bytes as rows and images say.
        ok(unsafe { hm_texture_replace(&place, &size, texels.as_ptr().cast(), row, row * size[1]) });
    }

    /// A level of a slice, as elements that fill texels without rest.
    pub(crate) fn read<T: Copy + Default>(&self, slice: u64, level: u64, per_texel: usize) -> Vec<T> {
        let size = self.extent(level);
        let mut texels = vec![T::default(); size.iter().product::<u64>() as usize * per_texel];
        let row = size[0] * (size_of::<T>() * per_texel) as u64;
        let place = self.place(slice, level, [0; 3]);
        // SAFETY: as in `write`.
        ok(unsafe { hm_texture_get(&place, &size, texels.as_mut_ptr().cast(), row, row * size[1]) });
        texels
    }
}

impl Drop for Texture {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's.
        unsafe { hm_texture_release(self.0) };
    }
}

pub(crate) struct Queue(pub(crate) HMQueue);

impl Queue {
    pub(crate) fn new() -> Queue {
        Queue::limited(64)
    }

    pub(crate) fn limited(count: usize) -> Queue {
        // SAFETY: the device is valid.
        Queue(unsafe { hm_queue_create(device(), count) })
    }

    pub(crate) fn command_buffer(&self) -> CommandBuffer {
        // SAFETY: the handle is valid.
        CommandBuffer(unsafe { hm_command_buffer_create(self.0) })
    }

    /// Records, commits, waits.
    pub(crate) fn run(&self, record: impl FnOnce(&Encoder)) -> CommandBuffer {
        let command_buffer = self.command_buffer();
        command_buffer.compute(record);
        command_buffer.commit();
        command_buffer.wait();
        command_buffer
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's.
        unsafe { hm_queue_release(self.0) };
    }
}

/// A shared event.
pub(crate) struct Event(pub(crate) HMEvent);
// SAFETY: MTLSharedEvent's methods may be called from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    pub(crate) fn new() -> Event {
        // SAFETY: the device is valid.
        Event(unsafe { hm_event_create(device(), true) })
    }

    pub(crate) fn value(&self) -> u64 {
        // SAFETY: the handle is valid.
        unsafe { hm_event_value(self.0) }
    }

    pub(crate) fn signal(&self, value: u64) {
        // SAFETY: the handle is valid.
        unsafe { hm_event_signal(self.0, value) };
    }

    pub(crate) fn wait(&self, value: u64, milliseconds: u64) -> bool {
        // SAFETY: the handle is valid.
        unsafe { hm_event_wait(self.0, value, milliseconds) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's.
        unsafe { hm_event_release(self.0) };
    }
}

pub(crate) struct CommandBuffer(pub(crate) HMCommandBuffer);
// SAFETY: MTLCommandBuffer's methods used here may be called from any thread.
unsafe impl Send for CommandBuffer {}
// SAFETY: as above.
unsafe impl Sync for CommandBuffer {}

impl CommandBuffer {
    pub(crate) fn encoder(&self, concurrent: bool) -> Encoder {
        let mut text = ptr::null();
        // SAFETY: the handle is valid, and text is a place for the answer.
        let encoder = unsafe { hm_compute_encoder_create(self.0, concurrent, &mut text) };
        ok(text);
        Encoder(encoder)
    }

    pub(crate) fn blit(&self) -> Encoder {
        let mut text = ptr::null();
        // SAFETY: the handle is valid, and text is a place for the answer.
        let encoder = unsafe { hm_blit_encoder_create(self.0, &mut text) };
        ok(text);
        Encoder(encoder)
    }

    pub(crate) fn signal(&self, event: &Event, value: u64) {
        // SAFETY: the handles are valid.
        ok(unsafe { hm_command_buffer_signal(self.0, event.0, value) });
    }

    pub(crate) fn wait_for(&self, event: &Event, value: u64) {
        // SAFETY: the handles are valid.
        ok(unsafe { hm_command_buffer_wait_event(self.0, event.0, value) });
    }

    pub(crate) fn compute(&self, record: impl FnOnce(&Encoder)) {
        let encoder = self.encoder(false);
        record(&encoder);
        ok(encoder.end());
    }

    pub(crate) fn commit(&self) {
        // SAFETY: the handle is valid; there are no callbacks.
        ok(unsafe { hm_command_buffer_commit(self.0, None, None, ptr::null_mut()) });
    }

    pub(crate) fn wait(&self) {
        // SAFETY: the handle is valid.
        ok(unsafe { hm_command_buffer_wait_completed(self.0) });
    }

    pub(crate) fn status(&self) -> u32 {
        // SAFETY: the handle is valid.
        unsafe { hm_command_buffer_status(self.0) }
    }

    /// Code and text.
    pub(crate) fn error(&self) -> Option<(i64, String)> {
        let mut error = HMError::NONE;
        // SAFETY: the handle is valid.
        let failed = unsafe { hm_command_buffer_error(self.0, &mut error) };
        failed.then(|| {
            // SAFETY: the engine gave the text.
            let text = unsafe { CStr::from_ptr(error.message) }.to_str().expect("UTF-8").to_owned();
            // SAFETY: as above; it is not used again.
            unsafe { hm_string_release(error.message) };
            (error.code, text)
        })
    }

    pub(crate) fn assert_completed(&self) {
        assert_eq!((self.status(), self.error()), (COMPLETED, None));
    }

    pub(crate) fn encoder_states(&self) -> Vec<u32> {
        // SAFETY: the handle is valid.
        let count = unsafe { hm_command_buffer_encoder_count(self.0) };
        (0..count).map(|index| self.encoder_info(index).state).collect()
    }

    pub(crate) fn encoder_info(&self, index: usize) -> HMEncoderInfo {
        let mut info = HMEncoderInfo { label: ptr::null(), state: 99, signpost_count: 99 };
        // SAFETY: the handle is valid.
        assert!(unsafe { hm_command_buffer_encoder(self.0, index, &mut info) });
        info
    }
}

impl Drop for CommandBuffer {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's.
        unsafe { hm_command_buffer_release(self.0) };
    }
}

pub(crate) struct Encoder(pub(crate) HMEncoder);

impl Encoder {
    pub(crate) fn pipeline(&self, pipeline: &Pipeline) {
        // SAFETY: the handles are valid.
        ok(unsafe { hm_compute_set_pipeline(self.0, pipeline.0) });
    }

    pub(crate) fn buffer(&self, buffer: &Buffer, index: usize) {
        // SAFETY: the handles are valid.
        ok(unsafe { hm_compute_set_buffer(self.0, buffer.0, 0, index) });
    }

    pub(crate) fn texture(&self, texture: &Texture, index: usize) {
        // SAFETY: the handles are valid.
        ok(unsafe { hm_compute_set_texture(self.0, texture.0, index) });
    }

    pub(crate) fn sampler(&self, sampler: &HMSampler, index: usize) {
        // SAFETY: the handle is valid, and so is the sampler.
        ok(unsafe { hm_compute_set_sampler(self.0, sampler, index) });
    }

    pub(crate) fn bytes<T: Copy>(&self, value: &T, index: usize) {
        // SAFETY: the handle is valid, and the value as long as said.
        ok(unsafe { hm_compute_set_bytes(self.0, ptr::from_ref(value).cast(), size_of::<T>(), index) });
    }

    pub(crate) fn memory(&self, length: u64, index: usize) {
        // SAFETY: the handle is valid.
        ok(unsafe { hm_compute_set_threadgroup_memory(self.0, length, index) });
    }

    pub(crate) fn imageblock(&self, width: u64, height: u64) {
        // SAFETY: the handle is valid.
        ok(unsafe { hm_compute_set_imageblock(self.0, width, height) });
    }

    pub(crate) fn threads(&self, threads: [u64; 3], size: [u64; 3]) {
        ok(self.try_threads(threads, size));
    }

    pub(crate) fn try_threads(&self, threads: [u64; 3], size: [u64; 3]) -> *const c_char {
        // SAFETY: the handle is valid.
        unsafe { hm_compute_dispatch_threads(self.0, &threads, &size) }
    }

    pub(crate) fn groups(&self, groups: [u64; 3], size: [u64; 3]) {
        ok(self.try_groups(groups, size));
    }

    pub(crate) fn try_groups(&self, groups: [u64; 3], size: [u64; 3]) -> *const c_char {
        // SAFETY: the handle is valid.
        unsafe { hm_compute_dispatch_threadgroups(self.0, &groups, &size) }
    }

    pub(crate) fn end(&self) -> *const c_char {
        // SAFETY: the handle is valid.
        unsafe { hm_encoder_end(self.0) }
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's.
        unsafe { hm_encoder_release(self.0) };
    }
}

/// The group that a kernel was called with.
///
/// # Safety
/// `group` is what the executor passed.
pub(crate) unsafe fn group<'a>(group: *const Group) -> &'a Group {
    // SAFETY: as the caller promises.
    unsafe { &*group }
}

/// Element `index` of a buffer argument.
///
/// # Safety
/// The buffer has it.
pub(crate) unsafe fn at<T>(group: &Group, buffer: usize, index: usize) -> *mut T {
    // SAFETY: as the caller promises.
    unsafe { group.buffer[buffer].cast::<T>().add(index) }
}

/// Position in the grid of a thread of the group.
pub(crate) fn in_grid(group: &Group, thread: [u32; 3]) -> [u32; 3] {
    std::array::from_fn(|axis| {
        group.threadgroup_position_in_grid[axis] * group.dispatch_threads_per_threadgroup[axis] + thread[axis]
    })
}

/// All threads of the group, x fastest.
pub(crate) fn threads(group: &Group) -> impl Iterator<Item = [u32; 3]> {
    let [width, height, depth] = group.threads_per_threadgroup;
    (0..depth).flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])))
}

pub(crate) fn context<T>(value: &T) -> *mut c_void {
    ptr::from_ref(value).cast_mut().cast()
}
