//! The blit encoder: copies, fills, and what it refuses.

use std::ptr;

use dcmetal_sys::*;

use crate::support::*;

const STATE: DCMetalStatus = DC_METAL_INVALID_STATE;
const INVALID: DCMetalStatus = DC_METAL_INVALID_ARGUMENT;

type Range = (u64, u64, u64);

fn copy(
    encoder: &Owned<DCMetalBlitEncoder>,
    source: &Owned<DCMetalBuffer>,
    destination: &Owned<DCMetalBuffer>,
    (from, to, length): Range,
) -> Result<(), Failure> {
    let (source, destination) = (source.0, destination.0);
    attempt(|error| dc!(DCMetalBlitEncoder_CopyBuffer(encoder.0, source, from, destination, to, length, error)))
}

fn fill(
    encoder: &Owned<DCMetalBlitEncoder>,
    buffer: &Owned<DCMetalBuffer>,
    (offset, length): (u64, u64),
    value: u8,
) -> Result<(), Failure> {
    attempt(|error| dc!(DCMetalBlitEncoder_FillBuffer(encoder.0, buffer.0, offset, length, value, error)))
}

pub(crate) fn copy_moves_bytes() {
    let gpu = Gpu::new();
    let bytes: Vec<u8> = (0..=255).collect();
    let (source, destination) = (gpu.buffer_of(&bytes), gpu.buffer(256));
    gpu.blit(|encoder| {
        copy(encoder, &source, &destination, (8, 100, 20)).expect("a copy");
        copy(encoder, &source, &destination, (252, 252, 4)).expect("the last bytes");
    })
    .expect("it completes");
    let mut expected = [0u8; 256];
    expected[100..120].copy_from_slice(&bytes[8..28]);
    expected[252..].copy_from_slice(&bytes[252..]);
    assert_eq!(contents::<u8>(&destination), expected);
}

pub(crate) fn copy_within_one_buffer() {
    let gpu = Gpu::new();
    let buffer = gpu.buffer_of(&(0..16).collect::<Vec<u32>>());
    gpu.blit(|encoder| {
        for range in [(0, 4, 8), (4, 0, 8), (0, 0, 4), (16, 8, 12)] {
            refused(INVALID, copy(encoder, &buffer, &buffer, range));
        }
        copy(encoder, &buffer, &buffer, (0, 32, 32)).expect("halves that touch");
    })
    .expect("it completes");
    let half: Vec<u32> = (0..8).collect();
    assert_eq!(contents::<u32>(&buffer), [half.clone(), half].concat());
}

pub(crate) fn copy_reaches_private_memory() {
    let gpu = Gpu::new();
    let (private, cache) = (DC_METAL_STORAGE_PRIVATE, DC_METAL_CACHE_DEFAULT);
    let hidden = create(|out, error| dc!(DCMetalBuffer_Create(gpu.device.0, 4096, private, cache, out, error)));
    let hidden = hidden.expect("a buffer");
    let (values, out) = ((0..1024).collect::<Vec<u32>>(), gpu.buffer(4096));
    let source = gpu.buffer_of(&values);
    gpu.blit(|encoder| copy(encoder, &source, &hidden, (0, 0, 4096)).expect("a copy")).expect("it completes");
    gpu.blit(|encoder| copy(encoder, &hidden, &out, (0, 0, 4096)).expect("a copy")).expect("it completes");
    assert_eq!(contents::<u32>(&out), values);
}

pub(crate) fn fill_writes_its_range() {
    let gpu = Gpu::new();
    let buffer = gpu.buffer_of(&[0x11u8; 64]);
    gpu.blit(|encoder| {
        fill(encoder, &buffer, (8, 16), 0xab).expect("a fill");
        fill(encoder, &buffer, (60, 4), 0).expect("the last bytes");
    })
    .expect("it completes");
    let mut expected = [0x11u8; 64];
    expected[8..24].fill(0xab);
    expected[60..].fill(0);
    assert_eq!(contents::<u8>(&buffer), expected);
}

pub(crate) fn synchronize_shows_managed_memory() {
    let gpu = Gpu::new();
    let (managed, values) = (DC_METAL_STORAGE_MANAGED, [1u32, 2, 3, 4]);
    let bytes = values.as_ptr().cast();
    let made = create(|out, error| dc!(DCMetalBuffer_CreateWithBytes(gpu.device.0, bytes, 16, managed, out, error)));
    let buffer = made.expect("a buffer");
    let shared = gpu.buffer_of(&[9u32; 4]);
    gpu.blit(|encoder| {
        copy(encoder, &shared, &buffer, (0, 4, 8)).expect("a copy");
        for each in [&buffer, &shared] {
            attempt(|error| dc!(DCMetalBlitEncoder_SynchronizeBuffer(encoder.0, each.0, error))).expect("synchronized");
        }
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&buffer), [1, 9, 9, 4]);
}

pub(crate) fn commands_run_in_order() {
    let gpu = Gpu::new();
    let source = "kernel void twice(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2; }";
    let pipeline = gpu.pipeline(source, "twice");
    let (a, b) = (gpu.buffer_of(&[0u32; 256]), gpu.buffer(1024));
    let command_buffer = gpu.command_buffer();
    let encoder = blit_encoder(&command_buffer);
    fill(&encoder, &a, (0, 1024), 1).expect("a fill");
    drop(encoder);
    let encoder = compute_encoder(&command_buffer);
    set_pipeline(&encoder, &pipeline);
    set_buffer(&encoder, &a, 0, 0);
    dispatch_threads(&encoder, size(256, 1, 1), size(32, 1, 1)).expect("a dispatch");
    dispatch_threads(&encoder, size(256, 1, 1), size(32, 1, 1)).expect("a dispatch");
    end(&encoder);
    let encoder = blit_encoder(&command_buffer);
    copy(&encoder, &a, &b, (0, 0, 1024)).expect("a copy");
    fill(&encoder, &a, (0, 1024), 0).expect("a fill");
    attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, error))).expect("the end");
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    assert_eq!(contents::<u32>(&b), [4 * 0x0101_0101; 256]);
    assert_eq!(contents::<u32>(&a), [0; 256]);
}

pub(crate) fn blit_wrong_ranges_are_refused() {
    let gpu = Gpu::new();
    let (a, b) = (gpu.buffer_of(&[1u8; 64]), gpu.buffer(32));
    let huge = u64::MAX - 3;
    gpu.blit(|encoder| {
        let ranges = [
            (0, 0, 0),
            (0, 0, 36),
            (0, 4, 32),
            (64, 0, 4),
            (36, 0, 32),
            (0, 32, 4),
            (huge, 0, 4),
            (0, huge, 4),
            (4, 0, huge),
            (8, 8, huge - 4),
            (1, 0, 4),
            (0, 2, 4),
            (0, 0, 5),
            (0, 0, 1),
        ];
        for range in ranges {
            refused(INVALID, copy(encoder, &a, &b, range));
        }
        for range in [(0, 0), (0, 68), (64, 4), (60, 8), (huge, 4), (4, huge), (huge, huge), (2, 4), (0, 6), (1, 1)] {
            refused(INVALID, fill(encoder, &a, range, 9));
        }
    })
    .expect("it completes");
    assert_eq!(contents::<u8>(&b), [0; 32]);
    assert_eq!(contents::<u8>(&a), [1; 64]);
}

pub(crate) fn ended_blit_encoder_refuses_everything() {
    let gpu = Gpu::new();
    let (a, b) = (gpu.buffer(64), gpu.buffer(64));
    let command_buffer = gpu.command_buffer();
    let encoder = blit_encoder(&command_buffer);
    let (label, bad) = (c("copies"), [0xffu8, 0]);
    assert_eq!(dc!(DCMetalBlitEncoder_SetLabel(encoder.0, label.as_ptr())), DC_METAL_OK);
    assert_eq!(dc!(DCMetalBlitEncoder_SetLabel(encoder.0, ptr::null())), DC_METAL_OK);
    assert_eq!(dc!(DCMetalBlitEncoder_SetLabel(encoder.0, bad.as_ptr().cast())), INVALID);
    let end = || attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, error)));
    end().expect("it ends");
    refused(STATE, end());
    refused(STATE, copy(&encoder, &a, &b, (0, 0, 4)));
    refused(STATE, fill(&encoder, &a, (0, 4), 1));
    refused(STATE, attempt(|error| dc!(DCMetalBlitEncoder_SynchronizeBuffer(encoder.0, a.0, error))));
    assert_eq!(dc!(DCMetalBlitEncoder_SetLabel(encoder.0, label.as_ptr())), STATE);
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
}

pub(crate) fn blit_of_null_is_refused() {
    let gpu = Gpu::new();
    let buffer = gpu.buffer(64);
    let none = Owned(DCMetalBlitEncoder::NULL);
    refused(INVALID, copy(&none, &buffer, &buffer, (0, 32, 4)));
    refused(INVALID, fill(&none, &buffer, (0, 4), 1));
    refused(INVALID, attempt(|error| dc!(DCMetalBlitEncoder_SynchronizeBuffer(none.0, buffer.0, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(none.0, error))));
    assert_eq!(dc!(DCMetalBlitEncoder_SetLabel(none.0, c("x").as_ptr())), INVALID);
    let (missing, command_buffer) = (DCMetalCommandBuffer::NULL, gpu.command_buffer());
    refused(INVALID, create(|out, error| dc!(DCMetalBlitEncoder_Create(missing, out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalBlitEncoder_Create(command_buffer.0, ptr::null_mut(), error))));
    gpu.blit(|encoder| {
        let nothing = Owned(DCMetalBuffer::NULL);
        refused(INVALID, copy(encoder, &nothing, &buffer, (0, 0, 4)));
        refused(INVALID, copy(encoder, &buffer, &nothing, (0, 0, 4)));
        refused(INVALID, fill(encoder, &nothing, (0, 4), 1));
        refused(INVALID, attempt(|error| dc!(DCMetalBlitEncoder_SynchronizeBuffer(encoder.0, nothing.0, error))));
    })
    .expect("it completes");
    dc!(DCMetalBlitEncoder_Release(DCMetalBlitEncoder::NULL));
}
