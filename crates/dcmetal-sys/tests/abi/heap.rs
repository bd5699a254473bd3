//! Heaps: room, placement, and what kernels reach through them.

use std::ptr;

use dcmetal_sys::*;

use crate::support::*;

const INVALID: DCMetalStatus = DC_METAL_INVALID_ARGUMENT;
const STATE: DCMetalStatus = DC_METAL_INVALID_STATE;
const AUTOMATIC: DCMetalHeapType = DC_METAL_HEAP_AUTOMATIC;
const PLACEMENT: DCMetalHeapType = DC_METAL_HEAP_PLACEMENT;

const ADD: &str = "kernel void add(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] += i; }";

fn descriptor(size: u64, heap_type: DCMetalHeapType) -> DCMetalHeapDescriptor {
    DCMetalHeapDescriptor {
        size,
        storage: DC_METAL_STORAGE_SHARED,
        cache: DC_METAL_CACHE_DEFAULT,
        type_: heap_type,
        hazards: DC_METAL_HAZARDS_TRACKED,
    }
}

fn made(gpu: &Gpu, descriptor: &DCMetalHeapDescriptor) -> Result<Owned<DCMetalHeap>, Failure> {
    create(|out, error| dc!(DCMetalHeap_Create(gpu.device.0, descriptor, out, error)))
}

fn heap(gpu: &Gpu, size: u64, heap_type: DCMetalHeapType) -> Owned<DCMetalHeap> {
    made(gpu, &descriptor(size, heap_type)).expect("a heap")
}

fn buffer(heap: &Owned<DCMetalHeap>, length: u64) -> Result<Owned<DCMetalBuffer>, Failure> {
    create(|out, error| dc!(DCMetalHeap_CreateBuffer(heap.0, length, out, error)))
}

fn buffer_at(heap: &Owned<DCMetalHeap>, length: u64, offset: u64) -> Result<Owned<DCMetalBuffer>, Failure> {
    create(|out, error| dc!(DCMetalHeap_CreateBufferAt(heap.0, length, offset, out, error)))
}

fn sizes(heap: &Owned<DCMetalHeap>) -> (u64, u64, u64) {
    let (size, used) = (dc!(DCMetalHeap_GetSize(heap.0)), dc!(DCMetalHeap_GetUsedSize(heap.0)));
    (size, used, dc!(DCMetalHeap_GetMaxAvailableSize(heap.0, 1)))
}

/// Size and alignment of a buffer of shared storage in a heap.
fn wanted(gpu: &Gpu, length: u64) -> (u64, u64) {
    let (mut size, mut alignment) = (9, 9);
    let shared = DC_METAL_STORAGE_SHARED;
    let status = dc!(DCMetalDevice_GetHeapBufferSize(gpu.device.0, length, shared, &mut size, &mut alignment));
    assert_eq!(status, DC_METAL_OK);
    (size, alignment)
}

pub(crate) fn heap_gives_its_room() {
    let gpu = Gpu::new();
    let (piece, alignment) = wanted(&gpu, 1000);
    assert!(piece >= 1000 && alignment.is_power_of_two() && piece <= 1 << 16);
    let heap = heap(&gpu, 1 << 20, AUTOMATIC);
    let (size, used, available) = sizes(&heap);
    assert!(size >= 1 << 20 && used == 0 && available <= size && available >= 1 << 20);
    let mut buffers = Vec::new();
    let full = loop {
        match buffer(&heap, 1000) {
            Ok(one) => buffers.push(one),
            Err(failure) => break failure,
        }
    };
    assert_eq!(full.status, DC_METAL_OUT_OF_MEMORY, "{full:?}");
    assert_eq!(buffers.len() as u64, size / piece, "as many as there is room for");
    let (_, used, available) = sizes(&heap);
    assert!(used >= 1000 * buffers.len() as u64 && available < piece);
    // None lies over another.
    let start = |buffer: &Owned<DCMetalBuffer>| dc!(DCMetalBuffer_GetContents(buffer.0)).addr() as u64;
    let mut starts: Vec<u64> = buffers.iter().map(start).collect();
    starts.sort_unstable();
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 1000));
    // What goes back is there again.
    buffers.truncate(10);
    assert_eq!(sizes(&heap).1, 10 * piece);
    buffers.clear();
    assert_eq!(sizes(&heap), (size, 0, available_of_empty(&gpu, size)));
    drop(buffer(&heap, 1 << 19).expect("half of it"));
}

fn available_of_empty(gpu: &Gpu, size: u64) -> u64 {
    sizes(&heap(gpu, size, AUTOMATIC)).2
}

pub(crate) fn heap_buffers_are_used_by_kernels() {
    let gpu = Gpu::new();
    let pipeline = gpu.pipeline(ADD, "add");
    let heap = heap(&gpu, 1 << 16, AUTOMATIC);
    let buffers = [buffer(&heap, 256).expect("a buffer"), buffer(&heap, 256).expect("another")];
    drop(heap);
    for (buffer, value) in buffers.iter().zip([100u32, 200]) {
        assert_eq!(dc!(DCMetalBuffer_GetLength(buffer.0)), 256);
        assert_eq!(dc!(DCMetalBuffer_GetStorageMode(buffer.0)), DC_METAL_STORAGE_SHARED);
        let start = dc!(DCMetalBuffer_GetContents(buffer.0)).cast::<u32>();
        // SAFETY: the buffer's 256 bytes; nothing runs.
        unsafe { std::slice::from_raw_parts_mut(start, 64) }.fill(value);
    }
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        for buffer in &buffers {
            set_buffer(encoder, buffer, 0, 0);
            dispatch_threads(encoder, size(64, 1, 1), size(32, 1, 1)).expect("a dispatch");
        }
    })
    .expect("it completes");
    for (buffer, value) in buffers.iter().zip([100u32, 200]) {
        assert_eq!(contents::<u32>(buffer), (value..value + 64).collect::<Vec<_>>());
    }
}

pub(crate) fn heap_places_buffers_where_they_are_wanted() {
    let gpu = Gpu::new();
    let (piece, alignment) = wanted(&gpu, 256);
    let heap = heap(&gpu, 1 << 16, PLACEMENT);
    let whole = dc!(DCMetalHeap_GetSize(heap.0));
    let (first, same) = (buffer_at(&heap, 256, 0).expect("a buffer"), buffer_at(&heap, 256, 0).expect("over it"));
    let next = buffer_at(&heap, 256, piece).expect("behind it");
    let start = |buffer: &Owned<DCMetalBuffer>| dc!(DCMetalBuffer_GetContents(buffer.0)).addr() as u64;
    assert_eq!((start(&same), start(&next)), (start(&first), start(&first) + piece));
    buffer_at(&heap, 256, whole - piece).expect("at the end");
    for offset in [1, alignment - 1, whole, whole - piece + alignment, u64::MAX - alignment + 1] {
        refused(INVALID, buffer_at(&heap, 256, offset));
    }
    refused(STATE, buffer(&heap, 256));
    refused(STATE, buffer_at(&self::heap(&gpu, 4096, AUTOMATIC), 256, 0));
}

pub(crate) fn heap_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let good = descriptor(4096, AUTOMATIC);
    let managed = DCMetalHeapDescriptor { storage: DC_METAL_STORAGE_MANAGED, ..good };
    for wrong in [
        DCMetalHeapDescriptor { size: 0, ..good },
        managed,
        DCMetalHeapDescriptor { storage: DCMetalStorageMode(7), ..good },
        DCMetalHeapDescriptor { cache: DCMetalCacheMode(7), ..good },
        DCMetalHeapDescriptor { type_: DCMetalHeapType(7), ..good },
        DCMetalHeapDescriptor { hazards: DCMetalHazardTracking(0), ..good },
    ] {
        refused(INVALID, made(&gpu, &wrong));
    }
    refused(DC_METAL_OUT_OF_MEMORY, made(&gpu, &descriptor(1 << 60, AUTOMATIC)));
    let private =
        DCMetalHeapDescriptor { storage: DC_METAL_STORAGE_PRIVATE, hazards: DC_METAL_HAZARDS_UNTRACKED, ..good };
    let private = made(&gpu, &private).expect("a heap");
    let hidden = buffer(&private, 16).expect("a buffer");
    assert!(dc!(DCMetalBuffer_GetContents(hidden.0)).is_null());
    refused(INVALID, create(|out, error| dc!(DCMetalHeap_Create(ptr::null_mut(), &good, out, error))));
    refused(INVALID, create(|out, error| dc!(DCMetalHeap_Create(gpu.device.0, ptr::null(), out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalHeap_Create(gpu.device.0, &good, ptr::null_mut(), error))));
    let heap = made(&gpu, &good).expect("a heap");
    for length in [0, dc!(DCMetalHeap_GetSize(heap.0)) + 1, u64::MAX] {
        refused(INVALID, buffer(&heap, length));
        refused(INVALID, buffer_at(&self::heap(&gpu, 4096, PLACEMENT), length, 0));
    }
    let (null, none) = (DCMetalHeap::NULL, ptr::null_mut());
    refused(INVALID, create(|out, error| dc!(DCMetalHeap_CreateBuffer(null, 16, out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalHeap_CreateBuffer(heap.0, 16, none, error))));
    refused(INVALID, create(|out, error| dc!(DCMetalHeap_CreateBufferAt(null, 16, 0, out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalHeap_CreateBufferAt(heap.0, 16, 0, none, error))));
    let (text, bad) = (c("pool"), [0xffu8, 0]);
    for (heap, label, status) in [
        (heap.0, text.as_ptr(), DC_METAL_OK),
        (heap.0, ptr::null(), DC_METAL_OK),
        (heap.0, bad.as_ptr().cast(), INVALID),
        (null, text.as_ptr(), INVALID),
    ] {
        assert_eq!(dc!(DCMetalHeap_SetLabel(heap, label)), status);
    }
    assert_eq!((dc!(DCMetalHeap_GetSize(null)), dc!(DCMetalHeap_GetUsedSize(null))), (0, 0));
    assert_eq!(
        (dc!(DCMetalHeap_GetMaxAvailableSize(null, 1)), dc!(DCMetalHeap_GetMaxAvailableSize(heap.0, 3))),
        (0, 0)
    );
    let (shared, mut size, mut alignment) = (DC_METAL_STORAGE_SHARED, 9, 9);
    for (device, length, storage) in [
        (ptr::null_mut(), 16, shared),
        (gpu.device.0, 0, shared),
        (gpu.device.0, u64::MAX, shared),
        (gpu.device.0, 16, DC_METAL_STORAGE_MANAGED),
    ] {
        let status = dc!(DCMetalDevice_GetHeapBufferSize(device, length, storage, &mut size, &mut alignment));
        assert_eq!((status, size, alignment), (INVALID, 0, 0));
    }
    dc!(DCMetalHeap_Release(null));
}

// ------------------------------------------------------------------ what kernels reach without a binding

/// A kernel that follows an address in a buffer reaches what the encoder was told it uses.
pub(crate) fn used_resources_are_reached() {
    let gpu = Gpu::new();
    let source = "struct To { device uint *x; };\n\
        kernel void follow(device const To *to [[buffer(0)]], uint i [[thread_position_in_grid]]) { to->x[i] += i; }";
    let pipeline = gpu.pipeline(source, "follow");
    let heap = heap(&gpu, 1 << 16, AUTOMATIC);
    for (from_heap, buffer) in [(true, buffer(&heap, 64).expect("a buffer")), (false, gpu.buffer(64))] {
        let start = dc!(DCMetalBuffer_GetContents(buffer.0)).cast::<u32>();
        // SAFETY: the buffer's 64 bytes; nothing runs.
        unsafe { std::slice::from_raw_parts_mut(start, 16) }.fill(7);
        // Where memory is unified and hostmetal's, the host's address is the device's.
        let to = gpu.buffer_of(&[start.addr()]);
        gpu.compute(|encoder| {
            set_pipeline(encoder, &pipeline);
            set_buffer(encoder, &to, 0, 0);
            let usage = DC_METAL_USAGE_READ.0 | DC_METAL_USAGE_WRITE.0;
            if from_heap {
                attempt(|error| dc!(DCMetalComputeEncoder_UseHeap(encoder.0, heap.0, error))).expect("a heap");
            } else {
                attempt(|e| dc!(DCMetalComputeEncoder_UseBuffer(encoder.0, buffer.0, usage, e))).expect("a buffer");
            }
            dispatch_threads(encoder, size(16, 1, 1), size(16, 1, 1)).expect("a dispatch");
        })
        .expect("it completes");
        assert_eq!(contents::<u32>(&buffer), (7..23).collect::<Vec<_>>());
    }
}

pub(crate) fn used_resources_are_checked() {
    let gpu = Gpu::new();
    let (heap, buffer, command_buffer) = (heap(&gpu, 4096, AUTOMATIC), gpu.buffer(64), gpu.command_buffer());
    let encoder = compute_encoder(&command_buffer);
    let read = DC_METAL_USAGE_READ.0;
    for (encoder, buffer, usage) in [
        (ptr::null_mut(), buffer.0, read),
        (encoder.0, ptr::null_mut(), read),
        (encoder.0, buffer.0, 0),
        (encoder.0, buffer.0, 4),
    ] {
        refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_UseBuffer(encoder, buffer, usage, error))));
    }
    for (encoder, heap) in [(ptr::null_mut(), heap.0), (encoder.0, ptr::null_mut())] {
        refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_UseHeap(encoder, heap, error))));
    }
    end(&encoder);
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_UseBuffer(encoder.0, buffer.0, read, error))));
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_UseHeap(encoder.0, heap.0, error))));
}

// ------------------------------------------------------------------ grids that the device decides

pub(crate) fn indirect_dispatch_reads_its_grid() {
    let gpu = Gpu::new();
    let source = "kernel void decide(device uint *grid [[buffer(0)]]) { grid[1] = 3; grid[2] = 2; grid[3] = 1; }\n\
        kernel void count(device uint *x [[buffer(0)]], uint3 at [[thread_position_in_grid]],\n\
                          uint3 all [[threads_per_grid]]) { x[at.y * all.x + at.x] += all.x * 100 + all.y; }";
    let (decide, count) = (gpu.pipeline(source, "decide"), gpu.pipeline(source, "count"));
    // The grid begins at the second word.
    let (grid, x) = (gpu.buffer_of(&[0u32; 4]), gpu.buffer(4 * 64));
    let dispatch = |encoder: DCMetalComputeEncoder, buffer, offset, group| {
        attempt(|e| dc!(DCMetalComputeEncoder_DispatchThreadgroupsIndirect(encoder, buffer, offset, group, e)))
    };
    gpu.compute(|encoder| {
        refused(STATE, dispatch(encoder.0, grid.0, 4, size(4, 2, 1)));
        set_pipeline(encoder, &decide);
        set_buffer(encoder, &grid, 0, 0);
        dispatch_threads(encoder, size(1, 1, 1), size(1, 1, 1)).expect("a dispatch");
        set_pipeline(encoder, &count);
        set_buffer(encoder, &x, 0, 0);
        for offset in [2, 8, 16, u64::MAX - 3] {
            refused(INVALID, dispatch(encoder.0, grid.0, offset, size(4, 2, 1)));
        }
        refused(INVALID, dispatch(encoder.0, ptr::null_mut(), 4, size(4, 2, 1)));
        refused(INVALID, dispatch(ptr::null_mut(), grid.0, 4, size(4, 2, 1)));
        refused(INVALID, dispatch(encoder.0, grid.0, 4, size(0, 2, 1)));
        dispatch(encoder.0, grid.0, 4, size(4, 2, 1)).expect("an indirect dispatch");
    })
    .expect("it completes");
    let expected: Vec<u32> = (0..64).map(|i| if i < 12 * 4 { 1204 } else { 0 }).collect();
    assert_eq!(contents::<u32>(&x), expected, "3 x 2 threadgroups of 4 x 2");
}
