//! A Metal program with objc2-metal: multiplies an array, by a kernel and by a visible function of what a stage-in descriptor reads.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use block2::RcBlock;
use objc2::rc::autoreleasepool;
use objc2::runtime::ProtocolObject;
use objc2_foundation::{NSArray, NSString};
use objc2_metal::{
    MTLAttributeFormat, MTLBuffer, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder, MTLCommandQueue,
    MTLCompileOptions, MTLComputeCommandEncoder, MTLComputePipelineDescriptor, MTLComputePipelineState,
    MTLCreateSystemDefaultDevice, MTLDevice, MTLLibrary, MTLLinkedFunctions, MTLPipelineOption, MTLResourceOptions,
    MTLSize, MTLStageInputOutputDescriptor, MTLStepFunction, MTLVisibleFunctionTable,
    MTLVisibleFunctionTableDescriptor,
};

// On macOS MTLCreateSystemDefaultDevice needs it (objc2-metal's documentation).
#[cfg(target_os = "macos")]
#[link(name = "CoreGraphics", kind = "framework")]
unsafe extern "C" {}

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void multiply(device float *data [[buffer(0)]], constant float &factor [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
  data[i] *= factor;
}
struct Element { float value [[attribute(3)]]; };
[[visible]] float three_times(float x) { return 3 * x; }
kernel void through(Element in [[stage_in]], device float *out [[buffer(1)]],
                    visible_function_table<float(float)> functions [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  out[i] = functions[1](in.value);
}";

fn main() {
    autoreleasepool(|_| run());
}

/// What the visible function makes of the numbers in a buffer.
fn through(
    device: &ProtocolObject<dyn MTLDevice>,
    library: &ProtocolObject<dyn MTLLibrary>,
    queue: &ProtocolObject<dyn MTLCommandQueue>,
    input: &ProtocolObject<dyn MTLBuffer>,
    count: usize,
) -> Vec<f32> {
    let function = |name: &str| library.newFunctionWithName(&NSString::from_str(name)).expect("a function");
    let (kernel, triple) = (function("through"), function("three_times"));
    let stage = MTLStageInputOutputDescriptor::stageInputOutputDescriptor();
    // SAFETY: the index is below 31.
    unsafe { stage.attributes().objectAtIndexedSubscript(3) }.setFormat(MTLAttributeFormat::Float);
    // SAFETY: as above.
    let layout = unsafe { stage.layouts().objectAtIndexedSubscript(0) };
    layout.setStride(size_of::<f32>());
    layout.setStepFunction(MTLStepFunction::ThreadPositionInGridX);
    let linked = MTLLinkedFunctions::linkedFunctions();
    linked.setFunctions(Some(&NSArray::from_retained_slice(std::slice::from_ref(&triple))));
    let descriptor = MTLComputePipelineDescriptor::new();
    descriptor.setComputeFunction(Some(&kernel));
    descriptor.setStageInputDescriptor(Some(&stage));
    descriptor.setLinkedFunctions(Some(&linked));
    let options = MTLPipelineOption::empty();
    let pipeline = device.newComputePipelineStateWithDescriptor_options_reflection_error(&descriptor, options, None);
    let pipeline = pipeline.expect("a pipeline");
    let places = MTLVisibleFunctionTableDescriptor::new();
    // SAFETY: any count may be asked for.
    unsafe { places.setFunctionCount(2) };
    let table = pipeline.newVisibleFunctionTableWithDescriptor(&places).expect("a table");
    let handle = pipeline.functionHandleWithFunction(&triple).expect("it is linked");
    // SAFETY: the table has that place.
    unsafe { table.setFunction_atIndex(Some(&handle), 1) };
    let length = count * size_of::<f32>();
    let out = device.newBufferWithLength_options(length, MTLResourceOptions::StorageModeShared).expect("a buffer");
    let commands = queue.commandBuffer().expect("a command buffer");
    let encoder = commands.computeCommandEncoder().expect("an encoder");
    encoder.setComputePipelineState(&pipeline);
    for (index, buffer) in [input, &*out].into_iter().enumerate() {
        // SAFETY: the buffers hold as many floats as there are threads.
        unsafe { encoder.setBuffer_offset_atIndex(Some(buffer), 0, index) };
    }
    // SAFETY: the table's functions are of the type that the kernel calls.
    unsafe { encoder.setVisibleFunctionTable_atBufferIndex(Some(&table), 2) };
    let size = |width| MTLSize { width, height: 1, depth: 1 };
    encoder.dispatchThreads_threadsPerThreadgroup(size(count), size(64));
    encoder.endEncoding();
    commands.commit();
    commands.waitUntilCompleted();
    // SAFETY: the buffer has that many floats, and no command uses it any more.
    unsafe { std::slice::from_raw_parts(out.contents().cast::<f32>().as_ptr(), count) }.to_vec()
}

fn run() {
    let device = MTLCreateSystemDefaultDevice().expect("a device");
    let options = MTLCompileOptions::new();
    let wrong =
        device.newLibraryWithSource_options_error(&NSString::from_str("kernel void f() { wrong; }"), Some(&options));
    let error = wrong.expect_err("it does not compile");
    assert!(error.localizedDescription().to_string().contains("wrong"), "{error}");

    let library =
        device.newLibraryWithSource_options_error(&NSString::from_str(SOURCE), Some(&options)).expect("a library");
    let function = library.newFunctionWithName(&NSString::from_str("multiply")).expect("a function");
    let pipeline = device.newComputePipelineStateWithFunction_error(&function).expect("a pipeline");
    let input: Vec<f32> = (0..500u16).map(f32::from).collect();
    let bytes = NonNull::new(input.as_ptr().cast_mut().cast()).expect("it is not empty");
    // SAFETY: the vector holds that many bytes.
    let buffer = unsafe {
        device.newBufferWithBytes_length_options(bytes, size_of_val(&*input), MTLResourceOptions::StorageModeShared)
    };
    let buffer = buffer.expect("a buffer");

    let queue = device.newCommandQueue().expect("a queue");
    let commands = queue.commandBuffer().expect("a command buffer");
    let encoder = commands.computeCommandEncoder().expect("an encoder");
    encoder.setComputePipelineState(&pipeline);
    let mut factor = 3.0f32;
    // SAFETY: the kernel's arguments are a buffer of floats and a float.
    unsafe { encoder.setBuffer_offset_atIndex(Some(&buffer), 0, 0) };
    // SAFETY: as above.
    unsafe { encoder.setBytes_length_atIndex(NonNull::from(&mut factor).cast(), size_of::<f32>(), 1) };
    let size = |width| MTLSize { width, height: 1, depth: 1 };
    encoder.dispatchThreads_threadsPerThreadgroup(size(input.len()), size(64));
    encoder.endEncoding();
    let completed = Arc::new(AtomicBool::new(false));
    let told = completed.clone();
    let handler = RcBlock::new(move |of: NonNull<ProtocolObject<dyn MTLCommandBuffer>>| {
        // SAFETY: the command buffer lives during the call.
        let status = unsafe { of.as_ref() }.status();
        told.store(status == MTLCommandBufferStatus::Completed, Ordering::SeqCst);
    });
    // SAFETY: the block is what the method asks for and may be called on another thread.
    unsafe { commands.addCompletedHandler(RcBlock::as_ptr(&handler)) };
    commands.commit();
    commands.waitUntilCompleted();

    // SAFETY: the buffer has that many floats, and no command uses it any more.
    let output = unsafe { std::slice::from_raw_parts(buffer.contents().cast::<f32>().as_ptr(), input.len()) };
    let right = input.iter().zip(output).filter(|(before, after)| **after == 3.0 * **before).count();
    let again = through(&device, &library, &queue, &buffer, input.len());
    assert!(again.iter().zip(output).all(|(found, before)| *found == 3.0 * before), "{again:?}");
    println!("{}: {right} of {} products are right", device.name(), input.len());
    assert!(right == input.len() && completed.load(Ordering::SeqCst));
}
