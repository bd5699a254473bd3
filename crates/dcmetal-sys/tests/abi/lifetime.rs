//! Every order of release, many threads at once, and what Metal raises.

use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use dcmetal_sys::*;

use crate::support::*;

// ------------------------------------------------------------------ orders of release

/// Every order of 0..count.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let insert = |shorter: Vec<usize>| {
        (0..count).map(move |at| {
            let mut order = shorter.clone();
            order.insert(at, count - 1);
            order
        })
    };
    orders(count - 1).into_iter().flat_map(insert).collect()
}

fn release_in(order: &[usize], handles: Vec<Box<dyn Any>>) {
    let mut handles: Vec<_> = handles.into_iter().map(Some).collect();
    for &index in order {
        drop(handles[index].take());
    }
}

const ADD: &str = "kernel void add(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] += i; }";

pub(crate) fn release_while_encoding() {
    let pipeline = Gpu::new().pipeline(ADD, "add");
    let orders = orders(5);
    assert_eq!(orders.len(), 120);
    for order in orders {
        let gpu = Gpu::new();
        let buffer = gpu.buffer(64);
        let command_buffer = gpu.command_buffer();
        let encoder = compute_encoder(&command_buffer);
        set_pipeline(&encoder, &pipeline);
        set_buffer(&encoder, &buffer, 0, 0);
        dispatch_threads(&encoder, size(16, 1, 1), size(16, 1, 1)).expect("a dispatch");
        let Gpu { device, queue } = gpu;
        let handles: Vec<Box<dyn Any>> =
            vec![Box::new(device), Box::new(queue), Box::new(buffer), Box::new(command_buffer), Box::new(encoder)];
        release_in(&order, handles);
    }
}

unsafe extern "C" fn completed(context: *mut c_void, status: DCMetalStatus, error: DCMetalError) {
    // SAFETY: the context is the boxed sender of `release_while_running`, taken back by this one call.
    let sender = unsafe { Box::from_raw(context.cast::<Sender<(DCMetalStatus, bool)>>()) };
    sender.send((status, error.is_null())).expect("the case listens");
}

pub(crate) fn release_while_running() {
    let pipeline = Gpu::new().pipeline(ADD, "add");
    for order in orders(5) {
        let gpu = Gpu::new();
        let buffer = gpu.buffer_of(&[1u32; 4096]);
        let command_buffer = gpu.command_buffer();
        let encoder = compute_encoder(&command_buffer);
        set_pipeline(&encoder, &pipeline);
        set_buffer(&encoder, &buffer, 0, 0);
        dispatch_threads(&encoder, size(4096, 1, 1), size(32, 1, 1)).expect("a dispatch");
        end(&encoder);
        let (sender, results) = channel::<(DCMetalStatus, bool)>();
        let context = Box::into_raw(Box::new(sender)).cast();
        attempt(|e| dc!(DCMetalCommandBuffer_AddCompletedHandler(command_buffer.0, Some(completed), context, e)))
            .expect("a handler");
        commit(&command_buffer);
        let Gpu { device, queue } = gpu;
        let handles: Vec<Box<dyn Any>> =
            vec![Box::new(device), Box::new(queue), Box::new(buffer), Box::new(command_buffer), Box::new(encoder)];
        release_in(&order, handles);
        assert_eq!(results.recv(), Ok((DC_METAL_OK, true)));
        assert!(results.recv().is_err(), "called once");
    }
}

pub(crate) fn release_before_use_of_a_pipeline() {
    for order in orders(3) {
        let gpu = Gpu::new();
        let library = gpu.library(ADD).expect("it compiles");
        let function = function(&library, "add", ptr::null_mut()).expect("the function");
        let pipeline = gpu.pipeline_of(&function, None).expect("a pipeline");
        let out = gpu.buffer(64);
        let command_buffer = gpu.command_buffer();
        let encoder = compute_encoder(&command_buffer);
        set_pipeline(&encoder, &pipeline);
        release_in(&order, vec![Box::new(library), Box::new(function), Box::new(pipeline)]);
        set_buffer(&encoder, &out, 0, 0);
        dispatch_threads(&encoder, size(16, 1, 1), size(16, 1, 1)).expect("the encoder holds its pipeline");
        end(&encoder);
        commit(&command_buffer);
        wait(&command_buffer).expect("it completes");
        assert_eq!(contents::<u32>(&out), (0..16).collect::<Vec<_>>());
    }
}

// ------------------------------------------------------------------ threads

const THREADS: u32 = 16;

/// One thread's whole round trip with its own objects; `seed` makes its numbers its own.
fn round_trip(seed: u32) {
    let gpu = Gpu::new();
    let source = format!(
        "kernel void affine(device const uint *x [[buffer(0)]], device uint *y [[buffer(1)]],\n\
         uint i [[thread_position_in_grid]]) {{ y[i] = x[i] * {seed}u + i; }}"
    );
    let pipeline = gpu.pipeline(&source, "affine");
    for round in 0..8 {
        let values: Vec<u32> = (0..1000).map(|i| i + round).collect();
        let (x, y) = (gpu.buffer_of(&values), gpu.buffer(4000));
        gpu.compute(|encoder| {
            set_pipeline(encoder, &pipeline);
            set_buffer(encoder, &x, 0, 0);
            set_buffer(encoder, &y, 0, 1);
            dispatch_threads(encoder, size(1000, 1, 1), size(64, 1, 1)).expect("a dispatch");
        })
        .expect("it completes");
        let expected: Vec<u32> = values.iter().zip(0..).map(|(x, i)| x * seed + i).collect();
        assert_eq!(contents::<u32>(&y), expected, "thread {seed} round {round}");
    }
}

pub(crate) fn threads_with_their_own_objects() {
    thread::scope(|scope| {
        for seed in 1..=THREADS {
            scope.spawn(move || round_trip(seed));
        }
    });
}

pub(crate) fn threads_with_shared_objects() {
    let gpu = Gpu::new();
    let library = gpu.library(ADD).expect("it compiles");
    let shared = gpu.pipeline(ADD, "add");
    thread::scope(|scope| {
        for seed in 1..=THREADS {
            let (gpu, library, shared) = (&gpu, &library, &shared);
            scope.spawn(move || {
                let count = dc!(DCMetalLibrary_GetFunctionCount(library.0));
                assert_eq!(count, 1);
                let own = function(library, "add", ptr::null_mut()).expect("the function");
                assert_eq!(string(|text, capacity| dc!(DCMetalFunction_GetName(own.0, text, capacity))), "add");
                let width = dc!(DCMetalPipeline_GetThreadExecutionWidth(shared.0));
                for round in 0..50 {
                    let start = seed * 1000 + round;
                    let out = gpu.buffer_of(&[start; 256]);
                    gpu.compute(|encoder| {
                        set_pipeline(encoder, shared);
                        set_buffer(encoder, &out, 0, 0);
                        dispatch_threads(encoder, size(256, 1, 1), size(width, 1, 1)).expect("a dispatch");
                    })
                    .expect("it completes");
                    assert_eq!(contents::<u32>(&out), (start..start + 256).collect::<Vec<_>>());
                    let label = c(&format!("{seed}"));
                    assert_eq!(dc!(DCMetalQueue_SetLabel(gpu.queue.0, label.as_ptr())), DC_METAL_OK);
                }
            });
        }
    });
}

pub(crate) fn threads_with_failures() {
    let gpu = Gpu::new();
    let library = gpu.library(ADD).expect("it compiles");
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let (gpu, library) = (&gpu, &library);
            scope.spawn(move || {
                for round in 0..20 {
                    let name = format!("absent_{seed}_{round}");
                    let message = refused(DC_METAL_NOT_FOUND, function(library, &name, ptr::null_mut()));
                    assert!(message.contains(&name), "each call has its own error: {message}");
                    refused(DC_METAL_INVALID_STATE, wait(&gpu.command_buffer()));
                }
                // Read on another thread than the one it was made on.
                let name = c(&format!("other_{seed}"));
                let (mut out, mut error) = (DCMetalFunction::GARBAGE, DCMetalError::GARBAGE);
                let none = DCMetalConstants::NULL;
                dc!(DCMetalFunction_Create(library.0, name.as_ptr(), none, &mut out, &mut error));
                let error = Owned(error);
                let read = thread::spawn(move || {
                    let error = error;
                    string(|text, capacity| dc!(DCMetalError_GetMessage(error.0, text, capacity)))
                });
                let message = read.join().expect("it reads");
                assert!(message.contains(&format!("other_{seed}")), "{message}");
            });
        }
    });
}

// ------------------------------------------------------------------ what Metal raises

/// An object that understands no message of Metal's, so that every call of it raises.
fn wrong_object() -> Owned<DCMetalConstants> {
    create(|out, error| dc!(DCMetalConstants_Create(out, error))).expect("constants")
}

fn exception<T>(result: Result<T, Failure>) {
    let Err(failure) = result else { panic!("an object of another class answered") };
    assert_eq!(failure.status, DC_METAL_EXCEPTION, "{failure:?}");
    assert_eq!(failure.domain, "NSInvalidArgumentException", "{failure:?}");
}

pub(crate) fn raised_by_a_device_is_a_status() {
    let wrong = wrong_object();
    let device: DCMetalDevice = wrong.0.cast();
    assert_eq!(string(|text, capacity| dc!(DCMetalDevice_GetName(device, text, capacity))), "");
    assert_eq!(dc!(DCMetalDevice_GetRegistryID(device)), 0);
    assert!(!dc!(DCMetalDevice_HasUnifiedMemory(device)));
    assert!(!dc!(DCMetalDevice_SupportsFamily(device, 3001)));
    assert_eq!(dc!(DCMetalDevice_GetMaxBufferLength(device)), 0);
    assert_eq!(dc!(DCMetalDevice_GetMaxThreadsPerThreadgroup(device)), size(0, 0, 0));
    exception(create(|out, error| dc!(DCMetalQueue_Create(device, 0, out, error))));
    exception(create(|out, error| dc!(DCMetalQueue_Create(device, 5, out, error))));
    let (storage, cache, bytes) = (DC_METAL_STORAGE_SHARED, DC_METAL_CACHE_DEFAULT, [0u8; 8]);
    exception(create(|out, error| dc!(DCMetalBuffer_Create(device, 8, storage, cache, out, error))));
    let start = bytes.as_ptr().cast();
    exception(create(|out, error| dc!(DCMetalBuffer_CreateWithBytes(device, start, 8, storage, out, error))));
    let (text, options) = (bytes.as_ptr().cast(), ptr::null_mut());
    exception(create(|out, error| dc!(DCMetalLibrary_CreateWithSource(device, text, 8, options, out, error))));
    let gpu = Gpu::new();
    let function = function(&gpu.library(ADD).expect("it compiles"), "add", ptr::null_mut()).expect("the function");
    let options = ptr::null();
    exception(create(|out, error| dc!(DCMetalPipeline_Create(device, function.0, options, out, error))));
    let wrong_function: DCMetalFunction = wrong.0.cast();
    exception(create(|out, error| dc!(DCMetalPipeline_Create(gpu.device.0, wrong_function, options, out, error))));
    assert_eq!(string(|text, capacity| dc!(DCMetalFunction_GetName(wrong_function, text, capacity))), "");
}

pub(crate) fn raised_by_other_objects_is_a_status() {
    let (wrong, text, value) = (wrong_object(), c("x"), 1i32);
    let queue: DCMetalQueue = wrong.0.cast();
    assert_eq!(dc!(DCMetalQueue_SetLabel(queue, text.as_ptr())), DC_METAL_EXCEPTION);
    exception(create(|out, error| dc!(DCMetalCommandBuffer_Create(queue, ptr::null(), out, error))));
    let buffer: DCMetalBuffer = wrong.0.cast();
    assert!(dc!(DCMetalBuffer_GetContents(buffer)).is_null());
    assert_eq!(dc!(DCMetalBuffer_GetLength(buffer)), 0);
    assert_eq!(dc!(DCMetalBuffer_GetStorageMode(buffer)), DC_METAL_STORAGE_PRIVATE);
    assert_eq!(dc!(DCMetalBuffer_DidModifyRange(buffer, 0, 0)), DC_METAL_EXCEPTION);
    assert_eq!(dc!(DCMetalBuffer_SetLabel(buffer, text.as_ptr())), DC_METAL_EXCEPTION);
    assert_eq!(string(|text, capacity| dc!(DCMetalBuffer_GetLabel(buffer, text, capacity))), "");
    let options: DCMetalCompileOptions = wrong.0.cast();
    let (name, empty) = (text.as_ptr(), c(""));
    assert_eq!(dc!(DCMetalCompileOptions_SetMathMode(options, DC_METAL_MATH_SAFE)), DC_METAL_EXCEPTION);
    assert_eq!(dc!(DCMetalCompileOptions_SetLanguageVersion(options, 3, 0)), DC_METAL_EXCEPTION);
    assert_eq!(dc!(DCMetalCompileOptions_SetMacro(options, name, empty.as_ptr())), DC_METAL_EXCEPTION);
    let gpu = Gpu::new();
    let constants: DCMetalConstants = gpu.queue.0.cast();
    let start = ptr::from_ref(&value).cast();
    assert_eq!(dc!(DCMetalConstants_SetAtIndex(constants, 29, start, 0)), DC_METAL_EXCEPTION);
    assert_eq!(dc!(DCMetalConstants_SetNamed(constants, 29, start, name)), DC_METAL_EXCEPTION);
}

pub(crate) fn raised_while_encoding_records_nothing() {
    let gpu = Gpu::new();
    let wrong = wrong_object();
    let buffer: DCMetalBuffer = wrong.0.cast();
    let pipeline = gpu.pipeline(ADD, "add");
    let out = gpu.buffer_of(&[10u32; 4]);
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &out, 0, 0);
        exception(attempt(|error| dc!(DCMetalComputeEncoder_SetBuffer(encoder.0, buffer, 0, 0, error))));
        let (start, count) = (&raw const buffer, 1);
        exception(attempt(|e| dc!(DCMetalComputeEncoder_MemoryBarrierWithBuffers(encoder.0, start, count, e))));
        dispatch_threads(encoder, size(4, 1, 1), size(4, 1, 1)).expect("a dispatch");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&out), [10, 11, 12, 13], "the buffer bound before still is");
    gpu.blit(|encoder| {
        exception(attempt(|error| dc!(DCMetalBlitEncoder_FillBuffer(encoder.0, buffer, 0, 4, 0, error))));
        exception(attempt(|error| dc!(DCMetalBlitEncoder_CopyBuffer(encoder.0, out.0, 0, buffer, 0, 4, error))));
        exception(attempt(|error| dc!(DCMetalBlitEncoder_SynchronizeBuffer(encoder.0, buffer, error))));
    })
    .expect("it completes");
}
