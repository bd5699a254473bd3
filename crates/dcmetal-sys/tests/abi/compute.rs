//! The compute encoder: arguments, dispatches, barriers, and everything it refuses.

use std::ffi::c_void;
use std::ptr;

use dcmetal_sys::*;

use crate::support::*;

const STATE: DCMetalStatus = DC_METAL_INVALID_STATE;
const INVALID: DCMetalStatus = DC_METAL_INVALID_ARGUMENT;

const SAXPY: &str = "kernel void saxpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n\
    constant float &a [[buffer(2)]], uint i [[thread_position_in_grid]]) { y[i] = a * x[i] + y[i]; }";

/// Small whole numbers, so that each result is exact whichever way it is computed.
fn saxpy_data(count: usize) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let x: Vec<f32> = (0..count).map(|i| (i % 1000) as f32 - 500.0).collect();
    let y: Vec<f32> = (0..count).map(|i| (i % 77) as f32).collect();
    let sum = x.iter().zip(&y).map(|(x, y)| 3.0 * x + y).collect();
    (x, y, sum)
}

pub(crate) fn saxpy_by_threads() {
    let gpu = Gpu::new();
    let pipeline = gpu.pipeline(SAXPY, "saxpy");
    for count in [1, 31, 256, 100_003] {
        let (x, y, sum) = saxpy_data(count);
        let (x, y) = (gpu.buffer_of(&x), gpu.buffer_of(&y));
        gpu.compute(|encoder| {
            set_pipeline(encoder, &pipeline);
            set_buffer(encoder, &x, 0, 0);
            set_buffer(encoder, &y, 0, 1);
            set_bytes(encoder, &[3.0f32], 2).expect("bytes are set");
            dispatch_threads(encoder, size(count as u64, 1, 1), size(64, 1, 1)).expect("a dispatch");
        })
        .expect("it completes");
        assert_eq!(contents::<f32>(&y), sum, "{count}");
    }
}

pub(crate) fn saxpy_by_threadgroups() {
    let gpu = Gpu::new();
    let pipeline = gpu.pipeline(SAXPY, "saxpy");
    let (x, y, sum) = saxpy_data(512);
    let (x, y) = (gpu.buffer_of(&x), gpu.buffer_of(&y));
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &x, 0, 0);
        set_buffer(encoder, &y, 0, 1);
        set_bytes(encoder, &[3.0f32], 2).expect("bytes are set");
        dispatch_threadgroups(encoder, size(8, 1, 1), size(64, 1, 1)).expect("a dispatch");
    })
    .expect("it completes");
    assert_eq!(contents::<f32>(&y), sum);
}

pub(crate) fn grid_has_three_dimensions() {
    let gpu = Gpu::new();
    let source = "kernel void where(device uint *out [[buffer(0)]], uint3 p [[thread_position_in_grid]],\n\
        uint3 n [[threads_per_grid]], uint3 l [[thread_position_in_threadgroup]]) {\n\
        out[(p.z * n.y + p.y) * n.x + p.x] = p.x + 100 * p.y + 10000 * p.z + 1000000 * l.x; }";
    let pipeline = gpu.pipeline(source, "where");
    // 7 x 5 x 3 threads in threadgroups of 4 x 2 x 2: the last ones along each dimension are smaller.
    let out = gpu.buffer(4 * 7 * 5 * 3);
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &out, 0, 0);
        dispatch_threads(encoder, size(7, 5, 3), size(4, 2, 2)).expect("a dispatch");
    })
    .expect("it completes");
    let mut expected = Vec::new();
    for z in 0..3u32 {
        for y in 0..5 {
            for x in 0..7 {
                expected.push(x + 100 * y + 10_000 * z + 1_000_000 * (x % 4));
            }
        }
    }
    assert_eq!(contents::<u32>(&out), expected);
}

pub(crate) fn buffer_offset_moves() {
    let gpu = Gpu::new();
    let source = "kernel void fill(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = i + 1; }";
    let pipeline = gpu.pipeline(source, "fill");
    let out = gpu.buffer(4 * 64);
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &out, 4 * 16, 0);
        dispatch_threads(encoder, size(2, 1, 1), size(2, 1, 1)).expect("a dispatch");
        attempt(|error| dc!(DCMetalComputeEncoder_SetBufferOffset(encoder.0, 4 * 32, 0, error))).expect("it moves");
        dispatch_threads(encoder, size(3, 1, 1), size(3, 1, 1)).expect("a dispatch");
        refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetBufferOffset(encoder.0, 4 * 64, 0, error))));
        refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetBufferOffset(encoder.0, u64::MAX, 0, error))));
        refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetBufferOffset(encoder.0, 0, 31, error))));
        refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_SetBufferOffset(encoder.0, 0, 1, error))));
        set_bytes(encoder, &[0u32; 4], 1).expect("bytes are set");
        refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_SetBufferOffset(encoder.0, 0, 1, error))));
    })
    .expect("it completes");
    let mut expected = [0u32; 64];
    expected[16..18].copy_from_slice(&[1, 2]);
    expected[32..35].copy_from_slice(&[1, 2, 3]);
    assert_eq!(contents::<u32>(&out), expected);
}

pub(crate) fn bytes_are_copied_at_once() {
    let gpu = Gpu::new();
    let source = "kernel void take(constant uint *in [[buffer(0)]], device uint *out [[buffer(1)]],\n\
        uint i [[thread_position_in_grid]]) { out[i] = in[i]; }";
    let pipeline = gpu.pipeline(source, "take");
    let out = gpu.buffer(4096);
    let expected: Vec<u32> = (0..1024).map(|i| i * 3 + 1).collect();
    gpu.compute(|encoder| {
        let mut values = expected.clone();
        set_pipeline(encoder, &pipeline);
        set_bytes(encoder, &values, 0).expect("4096 bytes are set");
        set_buffer(encoder, &out, 0, 1);
        values.fill(0);
        dispatch_threads(encoder, size(1024, 1, 1), size(32, 1, 1)).expect("a dispatch");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&out), expected);
}

pub(crate) fn threadgroup_memory_is_given() {
    let gpu = Gpu::new();
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void reverse(device uint *x [[buffer(0)]], threadgroup uint *t [[threadgroup(0)]],\n\
        uint l [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]], uint i [[thread_position_in_grid]]) {\n\
        t[l] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup); x[i] = t[n - 1 - l]; }";
    let pipeline = gpu.pipeline(source, "reverse");
    let x = gpu.buffer_of(&(0..96).collect::<Vec<u32>>());
    let (group, length) = (size(32, 1, 1), |encoder: &Owned<_>, length, index| {
        attempt(|error| dc!(DCMetalComputeEncoder_SetThreadgroupMemoryLength(encoder.0, length, index, error)))
    });
    let most = dc!(DCMetalDevice_GetMaxThreadgroupMemoryLength(gpu.device.0));
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &x, 0, 0);
        let message = refused(STATE, dispatch_threadgroups(encoder, size(3, 1, 1), group));
        assert!(message.contains("threadgroup(0)") && message.contains("\"t\""), "{message}");
        for wrong in [1, 8, 24, most + 16, u64::MAX, u64::MAX - 15] {
            refused(INVALID, length(encoder, wrong, 0));
        }
        refused(INVALID, length(encoder, 16, 31));
        refused(INVALID, length(encoder, 16, usize::MAX));
        length(encoder, 128, 0).expect("a length");
        dispatch_threadgroups(encoder, size(3, 1, 1), group).expect("a dispatch");
        length(encoder, 0, 0).expect("no length");
        refused(STATE, dispatch_threadgroups(encoder, size(3, 1, 1), group));
    })
    .expect("it completes");
    let expected: Vec<u32> = (0..96).map(|i| i / 32 * 32 + 31 - i % 32).collect();
    assert_eq!(contents::<u32>(&x), expected);
}

pub(crate) fn threadgroup_memory_over_the_limit_is_refused() {
    let gpu = Gpu::new();
    let source = "kernel void both(device uint *x [[buffer(0)]], threadgroup uint *t [[threadgroup(0)]],\n\
        threadgroup uint *u [[threadgroup(1)]], uint l [[thread_position_in_threadgroup]]) {\n\
        threadgroup uint own[256]; own[l] = x[l]; t[l] = own[l]; u[l] = t[l] + 1; x[l] = u[l]; }";
    let pipeline = gpu.pipeline(source, "both");
    let most = dc!(DCMetalDevice_GetMaxThreadgroupMemoryLength(gpu.device.0));
    let x = gpu.buffer_of(&[5u32; 4]);
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &x, 0, 0);
        let set = |length, index| {
            attempt(|error| dc!(DCMetalComputeEncoder_SetThreadgroupMemoryLength(encoder.0, length, index, error)))
                .expect("a length");
        };
        let dispatch = || dispatch_threads(encoder, size(4, 1, 1), size(4, 1, 1));
        set(most, 0);
        set(16, 1);
        let message = refused(INVALID, dispatch());
        assert!(message.contains(&most.to_string()), "{message}");
        set(most - 16, 0);
        refused(INVALID, dispatch()); // with the kernel's own 1024
        set(16, 0);
        dispatch().expect("a dispatch");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&x), [6; 4]);
}

/// Each dispatch adds what the one before left; without order the sums differ.
pub(crate) fn barriers_order_concurrent_dispatches() {
    let gpu = Gpu::new();
    let source = "kernel void shift(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],\n\
        uint i [[thread_position_in_grid]], uint n [[threads_per_grid]]) { out[i] = in[(i + 1) % n] + 1; }";
    let pipeline = gpu.pipeline(source, "shift");
    let count = 4096u64;
    let first: Vec<u32> = (0..count as u32).map(|i| i * 7).collect();
    let (a, b) = (gpu.buffer_of(&first), gpu.buffer(4 * count));
    let command_buffer = gpu.command_buffer();
    let concurrent = DC_METAL_DISPATCH_CONCURRENT;
    let made = create(|out, error| dc!(DCMetalComputeEncoder_Create(command_buffer.0, concurrent, out, error)));
    let encoder = made.expect("an encoder");
    set_pipeline(&encoder, &pipeline);
    for round in 0..10 {
        let (from, to) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
        set_buffer(&encoder, from, 0, 0);
        set_buffer(&encoder, to, 0, 1);
        dispatch_threads(&encoder, size(count, 1, 1), size(64, 1, 1)).expect("a dispatch");
        if round % 3 == 0 {
            let scope = DC_METAL_BARRIER_BUFFERS.0 | DC_METAL_BARRIER_TEXTURES.0;
            attempt(|error| dc!(DCMetalComputeEncoder_MemoryBarrier(encoder.0, scope, error))).expect("a barrier");
        } else {
            // More than the shim passes to Metal in one call.
            let buffers: Vec<_> = [a.0, b.0].into_iter().cycle().take(70).collect();
            let (start, length) = (buffers.as_ptr(), buffers.len());
            attempt(|e| dc!(DCMetalComputeEncoder_MemoryBarrierWithBuffers(encoder.0, start, length, e)))
                .expect("a barrier");
        }
    }
    end(&encoder);
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    let expected: Vec<u32> = (0..count as usize).map(|i| first[(i + 10) % count as usize] + 10).collect();
    assert_eq!(contents::<u32>(&a), expected);
}

pub(crate) fn barrier_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let out = gpu.buffer(64);
    gpu.compute(|encoder| {
        for scope in [0, 4, 5, u32::MAX] {
            refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_MemoryBarrier(encoder.0, scope, error))));
        }
        let mixed = [out.0, DCMetalBuffer::NULL];
        for (start, count) in [(ptr::null(), 1), (mixed.as_ptr(), 0), (mixed.as_ptr(), 2)] {
            refused(
                INVALID,
                attempt(|error| dc!(DCMetalComputeEncoder_MemoryBarrierWithBuffers(encoder.0, start, count, error))),
            );
        }
    })
    .expect("it completes");
}

pub(crate) fn binding_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let out = gpu.buffer(64);
    gpu.compute(|encoder| {
        let set = |offset, index| attempt(|e| dc!(DCMetalComputeEncoder_SetBuffer(encoder.0, out.0, offset, index, e)));
        for (offset, index) in [(64, 0), (65, 0), (u64::MAX, 0), (0, 31), (0, 32), (0, usize::MAX)] {
            refused(INVALID, set(offset, index));
        }
        set(63, 30).expect("the last byte at the last index");
        let value = 7u32;
        let bytes = ptr::from_ref(&value).cast::<c_void>();
        let set = |bytes, length, index| {
            attempt(|error| dc!(DCMetalComputeEncoder_SetBytes(encoder.0, bytes, length, index, error)))
        };
        refused(INVALID, set(ptr::null(), 4, 0));
        for (length, index) in [(0, 0), (4097, 0), (usize::MAX, 0), (4, 31), (4, usize::MAX)] {
            refused(INVALID, set(bytes, length, index));
        }
        let none = DCMetalPipeline::NULL;
        refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetPipeline(encoder.0, none, error))));
    })
    .expect("it completes");
}

pub(crate) fn dispatch_without_pipeline_is_refused() {
    let gpu = Gpu::new();
    gpu.compute(|encoder| {
        let one = size(1, 1, 1);
        assert!(refused(STATE, dispatch_threads(encoder, one, one)).contains("pipeline"));
        assert!(refused(STATE, dispatch_threadgroups(encoder, one, one)).contains("pipeline"));
    })
    .expect("it completes");
}

pub(crate) fn dispatch_with_missing_arguments_is_refused() {
    let gpu = Gpu::new();
    let pipeline = gpu.pipeline(SAXPY, "saxpy");
    let (x, y) = (gpu.buffer_of(&[1.0f32; 4]), gpu.buffer_of(&[2.0f32; 4]));
    gpu.compute(|encoder| {
        let dispatch = || dispatch_threads(encoder, size(4, 1, 1), size(4, 1, 1));
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &x, 0, 0);
        set_buffer(encoder, &y, 0, 1);
        let message = refused(STATE, dispatch());
        for word in ["saxpy", "\"a\"", "buffer(2)"] {
            assert!(message.contains(word), "{message}");
        }
        // One byte where a float is read.
        set_bytes(encoder, &[1u8], 2).expect("bytes are set");
        refused(INVALID, dispatch());
        set_bytes(encoder, &[3.0f32], 2).expect("bytes are set");
        // One byte before the end of a buffer of floats, then none at all.
        set_buffer(encoder, &y, 15, 1);
        refused(INVALID, dispatch());
        // Room for a float, where none can begin.
        let move_to = |offset| attempt(|e| dc!(DCMetalComputeEncoder_SetBufferOffset(encoder.0, offset, 1, e)));
        for begin in [2, 6] {
            set_buffer(encoder, &y, 2, 1);
            move_to(begin).expect("an offset within the buffer");
            let message = refused(INVALID, dispatch());
            for word in ["saxpy", "\"y\"", "buffer(1)", &format!("offset {begin}, which is no multiple of 4")] {
                assert!(message.contains(word), "{message}");
            }
        }
        let none = DCMetalBuffer::NULL;
        attempt(|error| dc!(DCMetalComputeEncoder_SetBuffer(encoder.0, none, 0, 1, error))).expect("it is unbound");
        refused(STATE, dispatch());
        set_buffer(encoder, &y, 0, 1);
        dispatch().expect("a dispatch");
    })
    .expect("it completes");
    assert_eq!(contents::<f32>(&y), [5.0; 4], "the refused ones left no trace");
}

pub(crate) fn dispatch_of_wrong_size_is_refused() {
    let gpu = Gpu::new();
    let source =
        "kernel void count(device uint *x [[buffer(0)]], uint3 p [[thread_position_in_grid]]) { x[p.x] += 1; }";
    let pipeline = gpu.pipeline(source, "count");
    let out = gpu.buffer(4 * 64);
    let most = dc!(DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup(pipeline.0));
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &out, 0, 0);
        let one = size(1, 1, 1);
        for zero in [size(0, 1, 1), size(1, 0, 1), size(1, 1, 0), size(0, 0, 0)] {
            refused(INVALID, dispatch_threads(encoder, zero, one));
            refused(INVALID, dispatch_threads(encoder, one, zero));
            refused(INVALID, dispatch_threadgroups(encoder, zero, one));
            refused(INVALID, dispatch_threadgroups(encoder, one, zero));
        }
        let big = 1u64 << 32;
        for threadgroup in [
            size(most + 1, 1, 1),
            size(2, most / 2 + 1, 1),
            size(big, big, 1),
            size(big, 1, big),
            size(u64::MAX, u64::MAX, u64::MAX),
        ] {
            refused(INVALID, dispatch_threads(encoder, size(64, 1, 1), threadgroup));
            refused(INVALID, dispatch_threadgroups(encoder, one, threadgroup));
        }
        for grid in [size(big, 1, 1), size(1, big, 1), size(1, 1, u64::MAX)] {
            refused(INVALID, dispatch_threads(encoder, grid, one));
            refused(INVALID, dispatch_threadgroups(encoder, grid, one));
        }
        // Few threadgroups, too many threads along the dimension.
        refused(INVALID, dispatch_threadgroups(encoder, size(big / 4, 1, 1), size(8, 1, 1)));
        dispatch_threads(encoder, size(64, 1, 1), size(8, 1, 1)).expect("a dispatch");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&out), [1; 64], "only the accepted one ran");
}

pub(crate) fn encoders_are_open_one_at_a_time() {
    let gpu = Gpu::new();
    let command_buffer = gpu.command_buffer();
    let raw = command_buffer.0;
    let make = |type_, out, error| dc!(DCMetalComputeEncoder_Create(raw, type_, out, error));
    for type_ in [2, u32::MAX] {
        refused(INVALID, create(|out, error| make(DCMetalDispatchType(type_), out, error)));
    }
    let serial = DC_METAL_DISPATCH_SERIAL;
    refused(INVALID, attempt(|error| make(serial, ptr::null_mut(), error)));
    let none = DCMetalCommandBuffer::NULL;
    refused(INVALID, create(|out, error| dc!(DCMetalComputeEncoder_Create(none, serial, out, error))));
    let first = compute_encoder(&command_buffer);
    refused(STATE, create(|out, error| make(serial, out, error)));
    refused(STATE, create(|out, error| dc!(DCMetalBlitEncoder_Create(raw, out, error))));
    end(&first);
    let second = blit_encoder(&command_buffer);
    refused(STATE, create(|out, error| make(serial, out, error)));
    drop(second); // which ends it
    let third = compute_encoder(&command_buffer);
    drop(third);
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
}

pub(crate) fn ended_encoder_refuses_everything() {
    let gpu = Gpu::new();
    let pipeline = gpu.pipeline(SAXPY, "saxpy");
    let out = gpu.buffer(64);
    let command_buffer = gpu.command_buffer();
    let encoder = compute_encoder(&command_buffer);
    end(&encoder);
    let (raw, one, buffers, text) = (encoder.0, size(1, 1, 1), [out.0], c("late"));
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_SetPipeline(raw, pipeline.0, error))));
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_SetBuffer(raw, out.0, 0, 0, error))));
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_SetBufferOffset(raw, 0, 0, error))));
    refused(STATE, set_bytes(&encoder, &[1u32], 0));
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_SetThreadgroupMemoryLength(raw, 16, 0, error))));
    refused(STATE, dispatch_threads(&encoder, one, one));
    refused(STATE, dispatch_threadgroups(&encoder, one, one));
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_MemoryBarrier(raw, 1, error))));
    let start = buffers.as_ptr();
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_MemoryBarrierWithBuffers(raw, start, 1, error))));
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_EndEncoding(raw, error))));
    assert_eq!(dc!(DCMetalComputeEncoder_SetLabel(raw, text.as_ptr())), STATE);
    assert_eq!(dc!(DCMetalComputeEncoder_InsertDebugSignpost(raw, text.as_ptr())), STATE);
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
}

pub(crate) fn encoder_text_is_checked() {
    let gpu = Gpu::new();
    gpu.compute(|encoder| {
        let (good, bad) = (c("pass \u{3b1}"), [0xf8u8, 0]);
        assert_eq!(dc!(DCMetalComputeEncoder_SetLabel(encoder.0, good.as_ptr())), DC_METAL_OK);
        assert_eq!(dc!(DCMetalComputeEncoder_SetLabel(encoder.0, ptr::null())), DC_METAL_OK);
        assert_eq!(dc!(DCMetalComputeEncoder_SetLabel(encoder.0, bad.as_ptr().cast())), INVALID);
        assert_eq!(dc!(DCMetalComputeEncoder_InsertDebugSignpost(encoder.0, good.as_ptr())), DC_METAL_OK);
        assert_eq!(dc!(DCMetalComputeEncoder_InsertDebugSignpost(encoder.0, ptr::null())), INVALID);
        assert_eq!(dc!(DCMetalComputeEncoder_InsertDebugSignpost(encoder.0, bad.as_ptr().cast())), INVALID);
    })
    .expect("it completes");
}

pub(crate) fn compute_encoder_of_null_is_refused() {
    let gpu = Gpu::new();
    let (none, one, value, text) = (DCMetalComputeEncoder::NULL, size(1, 1, 1), 1u32, c("x"));
    let out = gpu.buffer(64);
    let pipeline = gpu.pipeline(SAXPY, "saxpy");
    let bytes = ptr::from_ref(&value).cast::<c_void>();
    let buffers = [out.0];
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetPipeline(none, pipeline.0, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetBuffer(none, out.0, 0, 0, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetBufferOffset(none, 0, 0, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetBytes(none, bytes, 4, 0, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetThreadgroupMemoryLength(none, 16, 0, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_DispatchThreads(none, one, one, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_DispatchThreadgroups(none, one, one, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_MemoryBarrier(none, 1, error))));
    let start = buffers.as_ptr();
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_MemoryBarrierWithBuffers(none, start, 1, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_EndEncoding(none, error))));
    assert_eq!(dc!(DCMetalComputeEncoder_SetLabel(none, text.as_ptr())), INVALID);
    assert_eq!(dc!(DCMetalComputeEncoder_InsertDebugSignpost(none, text.as_ptr())), INVALID);
    dc!(DCMetalComputeEncoder_Release(none));
}
