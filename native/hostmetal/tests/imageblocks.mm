// Cases of imageblocks: their sizes, their memory, and how reflection and indirect command buffers have them.
#import "faces.h"

#include <cstring>

namespace {
// turn: each pixel is read by the thread across its row. with: besides, 1024 bytes of the kernel's own and some of the host's. encode: a command that
// runs turn, of how x 2 pixels.
NSString *const source =
    @"struct Pixel { float4 a; uint n; };\n"
     "kernel void turn(imageblock<Pixel> block, device uint *out [[buffer(0)]], uint2 i [[thread_position_in_grid]], uint2 all [[threads_per_grid]],\n"
     "                 ushort2 l [[thread_position_in_threadgroup]]) {\n"
     "  block.data(l)->n = i.x; block.data(l)->a = float4(i.y);\n"
     "  threadgroup_barrier(mem_flags::mem_threadgroup_imageblock);\n"
     "  ushort2 other(block.get_width() - 1 - l.x, l.y);\n"
     "  out[i.y * all.x + i.x] = block.data(other)->n + 100 * uint(block.data(other)->a.z); }\n"
     "kernel void with(threadgroup uint *given [[threadgroup(2)]], imageblock<Pixel> block, device uint *out, ushort2 l [[thread_position_in_threadgroup]]) {\n"
     "  threadgroup uint own[256]; own[l.x] = 1; given[l.x] = 2; block.data(l)->n = 3; out[l.x] = own[l.x] + given[l.x] + block.data(l)->n; }\n"
     "kernel void plain(device uint *out) { out[0] = 1; }\n"
     "constant bool wanted [[function_constant(0)]];\n"
     "kernel void maybe(imageblock<Pixel> block [[function_constant(wanted)]], device uint *out) { out[0] = wanted ? block.get_width() : 7; }\n"
     "struct Job { command_buffer commands; compute_pipeline_state pipeline; device uint *out; ushort how; };\n"
     "kernel void encode(constant Job &job [[buffer(0)]]) {\n"
     "  compute_command command(job.commands, 0); command.reset();\n"
     "  command.set_compute_pipeline_state(job.pipeline); command.set_kernel_buffer(job.out, 0);\n"
     "  command.set_imageblock_size(ushort2(job.how, 2));\n"
     "  command.concurrent_dispatch_threads(uint3(8, 2, 1), uint3(4, 2, 1)); }\n";

id<MTLBuffer> buffer(NSUInteger length) {
  return [[device() newBufferWithLength:length options:MTLResourceStorageModeShared] autorelease];
}

id<MTLComputePipelineState> pipeline(NSString *name, BOOL wanted = YES) {
  MTLFunctionConstantValues *values = [[[MTLFunctionConstantValues alloc] init] autorelease];
  [values setConstantValue:&wanted type:MTLDataTypeBool atIndex:0];
  MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  NSError *error = nil;
  [descriptor setComputeFunction:[[library_of(source) newFunctionWithName:name constantValues:values error:&error] autorelease]];
  [descriptor setSupportIndirectCommandBuffers:YES];
  return pipeline_of(descriptor);
}

// Eight by two threads in threadgroups of four by two, with an imageblock of the same size.
void check_turned(id<MTLBuffer> out) {
  const uint32_t *words = (const uint32_t *)[out contents];
  for (uint32_t y = 0; y < 2; y++)
    for (uint32_t x = 0; x < 8; x++) CHECK_EQUAL(words[y * 8 + x], x / 4 * 4 + 3 - x % 4 + 100 * y);
  memset([out contents], 0, [out length]);
}

id<MTLCommandBuffer> run(void (^record)(id<MTLCommandBuffer> commandBuffer)) {
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  record(commandBuffer);
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  return commandBuffer;
}

void the_size_is_the_encoders() {
  id<MTLBuffer> out = buffer(64), one = buffer(4);
  id<MTLComputePipelineState> turn = pipeline(@"turn"), maybe = pipeline(@"maybe"), not_wanted = pipeline(@"maybe", NO);
  id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) {
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    [encoder setImageblockWidth:16 height:2];
    [encoder setImageblockWidth:4 height:2];
    [encoder setComputePipelineState:turn];
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(8, 2, 1) threadsPerThreadgroup:MTLSizeMake(4, 2, 1)];
    // It stays when the pipeline changes.
    [encoder setComputePipelineState:maybe];
    [encoder setBuffer:one offset:0 atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    [encoder endEncoding];
  });
  CHECK_EQUAL([ran status], MTLCommandBufferStatusCompleted);
  check_turned(out);
  CHECK_EQUAL(*(const uint32_t *)[one contents], 4);
  // A kernel whose imageblock is switched off needs no size.
  run(^(id<MTLCommandBuffer> commandBuffer) {
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    [encoder setComputePipelineState:not_wanted];
    [encoder setBuffer:one offset:0 atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    [encoder endEncoding];
  });
  CHECK_EQUAL(*(const uint32_t *)[one contents], 7);
}

void its_memory_is_that_of_the_threadgroup() {
  id<MTLComputePipelineState> turn = pipeline(@"turn"), with = pipeline(@"with"), plain = pipeline(@"plain");
  CHECK_EQUAL([turn imageblockMemoryLengthForDimensions:MTLSizeMake(8, 4, 1)], 8 * 4 * 32);
  CHECK_EQUAL([turn imageblockMemoryLengthForDimensions:MTLSizeMake(32, 32, 1)], 32768);
  CHECK_EQUAL([plain imageblockMemoryLengthForDimensions:MTLSizeMake(32, 32, 1)], 0);
  CHECK_EQUAL([pipeline(@"maybe", NO) imageblockMemoryLengthForDimensions:MTLSizeMake(32, 32, 1)], 0);
  CHECK_EQUAL([turn staticThreadgroupMemoryLength], 0);
  CHECK_EQUAL([with staticThreadgroupMemoryLength], 1024);
  id<MTLBuffer> out = buffer(64 * 32 * 4);
  const MTLSize one = MTLSizeMake(1, 1, 1);
  id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) {
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder setComputePipelineState:turn];
    CHECK_RAISES([encoder dispatchThreads:one threadsPerThreadgroup:one], @"dispatchThreads:", @"the size of the imageblock must be set");
    [encoder setImageblockWidth:64 height:32];
    CHECK_RAISES([encoder dispatchThreads:one threadsPerThreadgroup:one], @"dispatchThreads:", @"must be <= 32768 bytes");
    [encoder setImageblockWidth:32768 height:32768];
    CHECK_RAISES([encoder dispatchThreadgroups:one threadsPerThreadgroup:one], @"dispatchThreadgroups:", @"must be <= 32768 bytes");
    [encoder setImageblockWidth:32 height:32];
    [encoder dispatchThreads:one threadsPerThreadgroup:one];
    // 1024 + 15360 + 16384.
    [encoder setComputePipelineState:with];
    [encoder setImageblockWidth:32 height:16];
    [encoder setThreadgroupMemoryLength:15376 atIndex:2];
    CHECK_RAISES([encoder dispatchThreads:one threadsPerThreadgroup:one], @"dispatchThreads:", @"must be <= 32768 bytes");
    [encoder setThreadgroupMemoryLength:15360 atIndex:2];
    [encoder dispatchThreads:MTLSizeMake(32, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [encoder endEncoding];
    CHECK_RAISES([encoder setImageblockWidth:4 height:4], @"setImageblockWidth:height:", @"endEncoding");
  });
  CHECK_EQUAL([ran status], MTLCommandBufferStatusCompleted);
  for (int i = 0; i < 32; i++) CHECK_EQUAL(((const uint32_t *)[out contents])[i], 6);
}

void sizes_are_powers_of_two() {
  MTLIndirectCommandBufferDescriptor *descriptor = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
  [descriptor setCommandTypes:MTLIndirectCommandTypeConcurrentDispatch];
  id<MTLIndirectCommandBuffer> all =
      [[device() newIndirectCommandBufferWithDescriptor:descriptor maxCommandCount:1 options:MTLResourceStorageModeShared] autorelease];
  id<MTLIndirectComputeCommand> command = [all indirectComputeCommandAtIndex:0];
  run(^(id<MTLCommandBuffer> commandBuffer) {
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    for (NSUInteger wrong : {NSUInteger(0), NSUInteger(3), NSUInteger(33), NSUInteger(65536), NSUIntegerMax}) {
      CHECK_RAISES([encoder setImageblockWidth:wrong height:4], @"setImageblockWidth:height:", @"width must be a power of 2");
      CHECK_RAISES([encoder setImageblockWidth:4 height:wrong], @"setImageblockWidth:height:", @"height must be a power of 2");
      CHECK_RAISES([command setImageblockWidth:wrong height:4], @"setImageblockWidth:height:", @"width must be a power of 2");
    }
    [encoder setImageblockWidth:1 height:32768];
    [encoder endEncoding];
  });
}

void reflection_tells_imageblocks() {
  MTLComputePipelineReflection *reflection = nil;
  [[device() newComputePipelineStateWithFunction:[[library_of(source) newFunctionWithName:@"with"] autorelease]
                                         options:MTLPipelineOptionBindingInfo
                                      reflection:&reflection
                                           error:nullptr] release];
  CHECK_EQUAL([[reflection bindings] count], 3);
  id<MTLBinding> binding = [[reflection bindings] lastObject];
  CHECK([[binding name] isEqualToString:@"block"]);
  CHECK_EQUAL([binding type], MTLBindingTypeImageblock);
  CHECK_EQUAL([binding index], 0);
  CHECK_EQUAL([binding access], MTLBindingAccessReadWrite);
  CHECK([binding isUsed] && [binding isArgument]);
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  MTLArgument *argument = [[reflection arguments] lastObject];
  CHECK_EQUAL([argument type], MTLArgumentTypeImageblock);
  CHECK_EQUAL([argument threadgroupMemoryDataSize], 0);
#pragma clang diagnostic pop
}

struct Job {
  MTLResourceID commands, pipeline;
  uint64_t out;
  uint16_t how;
};

void commands_have_sizes_of_their_own() {
  MTLIndirectCommandBufferDescriptor *descriptor = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
  [descriptor setCommandTypes:MTLIndirectCommandTypeConcurrentDispatchThreads];
  id<MTLIndirectCommandBuffer> all =
      [[device() newIndirectCommandBufferWithDescriptor:descriptor maxCommandCount:1 options:MTLResourceStorageModeShared] autorelease];
  id<MTLComputePipelineState> turn = pipeline(@"turn"), encode = pipeline(@"encode");
  id<MTLBuffer> out = buffer(64);
  NSString * (^const execute)(const Job *) = ^NSString *(const Job *job) {
    id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) {
      id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
      if (job) {
        [encoder setComputePipelineState:encode];
        [encoder setBytes:job length:sizeof *job atIndex:0];
        [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
      }
      // Commands do not inherit it.
      [encoder setImageblockWidth:4 height:2];
      [encoder executeCommandsInBuffer:all withRange:NSMakeRange(0, 1)];
      [encoder endEncoding];
    });
    return [ran error] ? [[ran error] localizedDescription] : @"";
  };
  id<MTLIndirectComputeCommand> command = [all indirectComputeCommandAtIndex:0];
  [command setComputePipelineState:turn];
  [command setKernelBuffer:out offset:0 atIndex:0];
  [command concurrentDispatchThreads:MTLSizeMake(8, 2, 1) threadsPerThreadgroup:MTLSizeMake(4, 2, 1)];
  CHECK_CONTAINS(execute(nullptr), @"kernel \"turn\": an imageblock of 0 x 0 pixels");
  [command setImageblockWidth:64 height:32];
  CHECK_CONTAINS(execute(nullptr), @"kernel \"turn\": 65536 bytes of threadgroup memory are too many");
  [command setImageblockWidth:4 height:2];
  CHECK_EQUAL([execute(nullptr) length], 0);
  check_turned(out);
  Job job = {[all gpuResourceID], [turn gpuResourceID], [out gpuAddress], 4};
  CHECK_EQUAL([execute(&job) length], 0);
  check_turned(out);
  for (uint16_t wrong : {0, 6, 65535}) {
    job.how = wrong;
    NSString *text = [NSString stringWithFormat:@"an imageblock of %d x 2 pixels", (int)wrong];
    CHECK_CONTAINS(execute(&job), text);
  }
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase imageblock_cases[] = {
    CASE(the_size_is_the_encoders),
    CASE(its_memory_is_that_of_the_threadgroup),
    CASE(sizes_are_powers_of_two),
    CASE(reflection_tells_imageblocks),
    CASE(commands_have_sizes_of_their_own),
    {nullptr, nullptr},
};
