// Cases of MTL_DEBUG_LAYER=0, with which tests/faces.rs runs them: what a GPU makes of what Metal's validation layer would raise for.
#import "faces.h"

namespace {
id<MTLBuffer> words(std::initializer_list<uint32_t> values) {
  return [[device() newBufferWithBytes:values.begin() length:values.size() * 4 options:MTLResourceStorageModeShared] autorelease];
}

uint32_t word(id<MTLBuffer> of, NSUInteger at) {
  return ((const uint32_t *)[of contents])[at];
}

NSString *const SOURCE =
    @"#include <metal_stdlib>\nusing namespace metal;\n"
     "kernel void turn(device uint *out [[buffer(0)]], threadgroup uint *part [[threadgroup(0)]], threadgroup uint *more [[threadgroup(1)]],\n"
     "    constant bool &both [[buffer(1)]], uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {\n"
     "  part[t] = out[t]; if (both) more[t] = out[t] + 10;\n"
     "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
     "  out[t] = part[n - 1 - t]; if (both) out[t] += more[t] * 100;\n"
     "}\n"
     "kernel void count(device uint *out [[buffer(0)]]) { out[0]++; }\n"
     "constant uint scale [[function_constant(3)]];\n"
     "constant float3 shift [[function_constant(4)]];\n"
     "constant uint asked [[function_constant(5)]];\n"
     "kernel void constants(device uint *out [[buffer(0)]]) {\n"
     "  out[0] = scale + 1; out[1] = uint(shift.x + shift.y + shift.z) + 2; out[2] = is_function_constant_defined(asked) ? asked : 3;\n"
     "}\n";

id<MTLComputePipelineState> pipeline(NSString *name, MTLFunctionConstantValues *values = nil) {
  NSError *error = nil;
  id<MTLLibrary> library = [[device() newLibraryWithSource:SOURCE options:nil error:&error] autorelease];
  id<MTLFunction> function = values ? [[library newFunctionWithName:name constantValues:values error:&error] autorelease]
                                    : [[library newFunctionWithName:name] autorelease];
  id<MTLComputePipelineState> state =
      function ? [[device() newComputePipelineStateWithFunction:function error:&error] autorelease] : nil;
  if (!state) faces_note(__FILE__, __LINE__, error ? [[error localizedDescription] UTF8String] : "no function");
  return state;
}

void encode(id<MTLComputePipelineState> state, void (^record)(id<MTLComputeCommandEncoder> encoder)) {
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:state];
  record(encoder);
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
  if ([commandBuffer error]) faces_note(__FILE__, __LINE__, [[[commandBuffer error] localizedDescription] UTF8String]);
}

const MTLSize ONE = {1, 1, 1};

// Both arguments have room: one does not reach into the other.
void lengths_that_16_does_not_divide_are_rounded_up() {
  id<MTLBuffer> out = words({1, 2, 3, 4, 5});
  const bool both = true;
  encode(pipeline(@"turn"), ^(id<MTLComputeCommandEncoder> encoder) {
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder setBytes:&both length:1 atIndex:1];
    [encoder setThreadgroupMemoryLength:20 atIndex:0];
    [encoder setThreadgroupMemoryLength:17 atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(5, 1, 1) threadsPerThreadgroup:MTLSizeMake(5, 1, 1)];
    CHECK_RAISES([encoder setThreadgroupMemoryLength:32769 atIndex:0], @"setThreadgroupMemoryLength:", @"<= 32768 bytes");
    CHECK_RAISES([encoder setThreadgroupMemoryLength:NSUIntegerMax atIndex:0], @"setThreadgroupMemoryLength:", @"<= 32768 bytes");
  });
  for (uint32_t i = 0; i < 5; i++) CHECK_EQUAL(word(out, i), 5 - i + (i + 11) * 100);
}

void no_length_is_memory_that_is_not_touched() {
  const bool both = false;
  for (int set = 0; set < 2; set++) {
    id<MTLBuffer> out = words({6, 7});
    encode(pipeline(@"turn"), ^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setBuffer:out offset:0 atIndex:0];
      [encoder setBytes:&both length:1 atIndex:1];
      [encoder setThreadgroupMemoryLength:8 atIndex:0];
      if (set) [encoder setThreadgroupMemoryLength:0 atIndex:1];
      [encoder dispatchThreads:MTLSizeMake(2, 1, 1) threadsPerThreadgroup:MTLSizeMake(2, 1, 1)];
    });
    CHECK_EQUAL(word(out, 0), 7);
    CHECK_EQUAL(word(out, 1), 6);
  }
}

void a_command_of_an_indirect_command_buffer_has_the_same_lengths() {
  NSError *error = nil;
  MTLComputePipelineDescriptor *described = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  id<MTLLibrary> library = [[device() newLibraryWithSource:SOURCE options:nil error:&error] autorelease];
  [described setComputeFunction:[[library newFunctionWithName:@"turn"] autorelease]];
  [described setSupportIndirectCommandBuffers:YES];
  id<MTLComputePipelineState> state =
      [[device() newComputePipelineStateWithDescriptor:described options:MTLPipelineOptionNone reflection:nullptr error:&error] autorelease];
  MTLIndirectCommandBufferDescriptor *d = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
  [d setCommandTypes:MTLIndirectCommandTypeConcurrentDispatchThreads];
  [d setInheritPipelineState:NO];
  [d setInheritBuffers:NO];
  [d setMaxKernelBufferBindCount:2];
  [d setMaxKernelThreadgroupMemoryBindCount:2];
  id<MTLIndirectCommandBuffer> all =
      [[device() newIndirectCommandBufferWithDescriptor:d maxCommandCount:1 options:MTLResourceStorageModeShared] autorelease];
  id<MTLBuffer> out = words({8, 9, 10}), both = words({0});
  id<MTLIndirectComputeCommand> command = [all indirectComputeCommandAtIndex:0];
  [command setComputePipelineState:state];
  [command setKernelBuffer:out offset:0 atIndex:0];
  [command setKernelBuffer:both offset:0 atIndex:1];
  [command setThreadgroupMemoryLength:12 atIndex:0];
  [command setThreadgroupMemoryLength:0 atIndex:1];
  [command concurrentDispatchThreads:MTLSizeMake(3, 1, 1) threadsPerThreadgroup:MTLSizeMake(3, 1, 1)];
  encode(state, ^(id<MTLComputeCommandEncoder> encoder) {
    [encoder executeCommandsInBuffer:all withRange:NSMakeRange(0, 1)];
  });
  for (uint32_t i = 0; i < 3; i++) CHECK_EQUAL(word(out, i), 10 - i);
}

void a_dispatch_of_nothing_does_nothing() {
  id<MTLBuffer> out = words({0});
  encode(pipeline(@"count"), ^(id<MTLComputeCommandEncoder> encoder) {
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder dispatchThreadgroups:MTLSizeMake(2, 0, 1) threadsPerThreadgroup:ONE];
    [encoder dispatchThreads:MTLSizeMake(0, 1, 1) threadsPerThreadgroup:ONE];
    [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 0) threadsPerThreadgroup:MTLSizeMake(0, 1, 1)];
    [encoder dispatchThreads:ONE threadsPerThreadgroup:MTLSizeMake(1, 0, 1)];
    [encoder dispatchThreads:ONE threadsPerThreadgroup:ONE];
  });
  CHECK_EQUAL(word(out, 0), 1);
}

void a_constant_without_a_value_is_zero() {
  id<MTLBuffer> out = words({0, 0, 0});
  MTLFunctionConstantValues *values = [[[MTLFunctionConstantValues alloc] init] autorelease];
  encode(pipeline(@"constants", values), ^(id<MTLComputeCommandEncoder> encoder) {
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder dispatchThreads:ONE threadsPerThreadgroup:ONE];
  });
  for (uint32_t i = 0; i < 3; i++) CHECK_EQUAL(word(out, i), i + 1);
}

void what_nothing_harmless_can_come_of_raises_as_ever() {
  encode(pipeline(@"count"), ^(id<MTLComputeCommandEncoder> encoder) {
    CHECK_RAISES([encoder dispatchThreads:ONE threadsPerThreadgroup:ONE], @"dispatchThreads:", @"missing Buffer binding at index 0");
    CHECK_RAISES([encoder dispatchThreads:ONE threadsPerThreadgroup:MTLSizeMake(2048, 1, 1)], @"dispatchThreads:", @"<= 1024");
  });
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase unvalidated_cases[] = {
    CASE(lengths_that_16_does_not_divide_are_rounded_up),
    CASE(no_length_is_memory_that_is_not_touched),
    CASE(a_command_of_an_indirect_command_buffer_has_the_same_lengths),
    CASE(a_dispatch_of_nothing_does_nothing),
    CASE(a_constant_without_a_value_is_zero),
    CASE(what_nothing_harmless_can_come_of_raises_as_ever),
    {nullptr, nullptr},
};
