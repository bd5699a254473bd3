// Cases of indirect command buffers.
#import "faces.h"

#include <cstring>
#include <vector>

namespace {
id<MTLBuffer> buffer(NSUInteger length) {
  return [[device() newBufferWithLength:length options:MTLResourceStorageModeShared] autorelease];
}

uint32_t *words(id<MTLBuffer> of) {
  return (uint32_t *)[of contents];
}

// step: out[i] = out[i] * 10 + digit, which shows in which order steps ran.
NSString *const source =
    @"#include <metal_stdlib>\nusing namespace metal;\n"
     "kernel void step(device uint *out [[buffer(0)]], constant uint &digit [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n"
     "  out[i] = out[i] * 10 + digit; }\n"
     "kernel void turn(device uint *out [[buffer(2)]], threadgroup uint *shared [[threadgroup(1)]],\n"
     "                 uint i [[thread_position_in_grid]], uint lane [[thread_index_in_threadgroup]],\n"
     "                 uint count [[threads_per_threadgroup]]) {\n"
     "  shared[lane] = out[i]; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = shared[count - 1 - lane]; }\n"
     "kernel void turn_all(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]], uint i [[thread_position_in_grid]],\n"
     "                     uint count [[threads_per_grid]]) {\n"
     "  uint value = in[count - 1 - i], odd = value | 1;\n"
     "  for (uint round = 0; round < 60000; round++) odd = odd * 1664525u;\n"
     "  out[i] = value + 1 + (odd == 0); }\n"
     "kernel void image(texture2d<float> t [[texture(0)]], device uint *out [[buffer(0)]]) { out[0] = t.get_width(); }\n"
     "struct Job { command_buffer commands; compute_pipeline_state pipeline; device uint *out; device uint *digits; uint first; };\n"
     "kernel void encode(constant Job &job [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
     "  compute_command command(job.commands, job.first + i);\n"
     "  command.reset();\n"
     "  command.set_compute_pipeline_state(job.pipeline);\n"
     "  command.set_kernel_buffer(job.out, 0);\n"
     "  command.set_kernel_buffer(job.digits + i, 1);\n"
     "  command.set_barrier();\n"
     "  if (i % 2 == 0) command.concurrent_dispatch_threads(uint3(4, 1, 1), uint3(3, 1, 1));\n"
     "  else command.concurrent_dispatch_threadgroups(uint3(2, 1, 1), uint3(2, 1, 1)); }\n"
     "kernel void spoil(constant Job &job [[buffer(0)]], constant uint &how [[buffer(1)]]) {\n"
     "  compute_command command(job.commands, job.first);\n"
     "  compute_pipeline_state pipeline = job.pipeline;\n"
     "  command.set_compute_pipeline_state(pipeline);\n"
     "  command.set_kernel_buffer(job.out, 0);\n"
     "  if (how != 1) command.set_kernel_buffer(job.digits, how == 2 ? 40 : 1);\n"
     "  if (how == 5) command.copy_command(compute_command(job.commands, job.first + 1));\n"
     "  else command.concurrent_dispatch_threads(uint3(4, 1, 1), uint3(how == 3 ? 2000 : 4, how == 4 ? 0 : 1, 1)); }\n";

id<MTLLibrary> library() {
  NSError *error = nil;
  id<MTLLibrary> made = [[device() newLibraryWithSource:source options:nil error:&error] autorelease];
  if (!made) faces_note(__FILE__, __LINE__, [[error localizedDescription] UTF8String]);
  return made;
}

id<MTLComputePipelineState> pipeline(NSString *name, BOOL indirect = YES, MTLSize required = MTLSizeMake(0, 0, 0)) {
  MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  [descriptor setComputeFunction:[[library() newFunctionWithName:name] autorelease]];
  [descriptor setSupportIndirectCommandBuffers:indirect];
  [descriptor setRequiredThreadsPerThreadgroup:required];
  NSError *error = nil;
  id<MTLComputePipelineState> made = [[device() newComputePipelineStateWithDescriptor:descriptor
                                                                              options:MTLPipelineOptionNone
                                                                           reflection:nullptr
                                                                                error:&error] autorelease];
  if (!made) faces_note(__FILE__, __LINE__, [[error localizedDescription] UTF8String]);
  return made;
}

MTLIndirectCommandBufferDescriptor *descriptor() {
  MTLIndirectCommandBufferDescriptor *made = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
  [made setCommandTypes:MTLIndirectCommandTypeConcurrentDispatch | MTLIndirectCommandTypeConcurrentDispatchThreads];
  [made setMaxKernelBufferBindCount:3];
  [made setMaxKernelThreadgroupMemoryBindCount:2];
  return made;
}

id<MTLIndirectCommandBuffer> commands(NSUInteger count, MTLIndirectCommandBufferDescriptor *with = descriptor()) {
  return [[device() newIndirectCommandBufferWithDescriptor:with maxCommandCount:count options:MTLResourceStorageModeShared] autorelease];
}

// A step over four words.
void step(id<MTLIndirectComputeCommand> command, id<MTLComputePipelineState> state, id<MTLBuffer> out, id<MTLBuffer> digits, NSUInteger digit) {
  [command setComputePipelineState:state];
  [command setKernelBuffer:out offset:0 atIndex:0];
  [command setKernelBuffer:digits offset:4 * digit atIndex:1];
  [command concurrentDispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
}

// 0, 1, ... as far as ten.
id<MTLBuffer> digits() {
  id<MTLBuffer> made = buffer(40);
  for (uint32_t i = 0; i < 10; i++) words(made)[i] = i;
  return made;
}

id<MTLCommandBuffer> run(void (^record)(id<MTLCommandBuffer> commandBuffer)) {
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  record(commandBuffer);
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  return commandBuffer;
}

void execute(id<MTLCommandBuffer> commandBuffer, id<MTLIndirectCommandBuffer> all, NSRange range) {
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder executeCommandsInBuffer:all withRange:range];
  [encoder endEncoding];
}

// ------------------------------------------------------------------ by the host

void commands_run_in_the_order_that_barriers_give() {
  id<MTLIndirectCommandBuffer> all = commands(6);
  CHECK([all size] == 6 && [all device] == device() && [all allocatedSize] > 0);
  id<MTLBuffer> out = buffer(32), numbers = digits();
  id<MTLComputePipelineState> state = pipeline(@"step"), turn = pipeline(@"turn");
  for (NSUInteger i = 0; i < 4; i++) {
    id<MTLIndirectComputeCommand> command = [all indirectComputeCommandAtIndex:i];
    step(command, state, out, numbers, i + 1);
    [command setBarrier];
  }
  words(out)[4] = 5, words(out)[5] = 6, words(out)[6] = 7, words(out)[7] = 8;
  id<MTLIndirectComputeCommand> last = [all indirectComputeCommandAtIndex:5];
  [last setComputePipelineState:turn];
  [last setKernelBuffer:out offset:16 atIndex:2];
  [last setThreadgroupMemoryLength:16 atIndex:1];
  [last concurrentDispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
  id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) {
    execute(commandBuffer, all, NSMakeRange(0, 6));
    execute(commandBuffer, all, NSMakeRange(1, 2));
  });
  CHECK_EQUAL([ran status], MTLCommandBufferStatusCompleted);
  for (int i = 0; i < 4; i++) CHECK_EQUAL(words(out)[i], 123423);
  for (int i = 0; i < 4; i++) CHECK_EQUAL(words(out)[4 + i], 8 - i);
  [[all indirectComputeCommandAtIndex:1] reset];
  [all resetWithRange:NSMakeRange(3, 3)];
  memset([out contents], 0, 32);
  run(^(id<MTLCommandBuffer> commandBuffer) { execute(commandBuffer, all, NSMakeRange(0, 6)); });
  for (int i = 0; i < 4; i++) CHECK_EQUAL(words(out)[i], 13);
}

// Commands long enough for several threads, each of which reads first what the one before wrote last.
void commands_that_several_threads_run_wait_at_barriers() {
  const NSUInteger count = 1024, rounds = 8;
  id<MTLIndirectCommandBuffer> all = commands(rounds);
  id<MTLBuffer> sides[2] = {buffer(4 * count), buffer(4 * count)};
  id<MTLComputePipelineState> state = pipeline(@"turn_all");
  std::vector<uint32_t> expected(count), next(count);
  for (NSUInteger i = 0; i < count; i++) words(sides[0])[i] = expected[i] = (uint32_t)i;
  for (NSUInteger round = 0; round < rounds; round++) {
    id<MTLIndirectComputeCommand> command = [all indirectComputeCommandAtIndex:round];
    [command setComputePipelineState:state];
    [command setKernelBuffer:sides[round % 2] offset:0 atIndex:0];
    [command setKernelBuffer:sides[1 - round % 2] offset:0 atIndex:1];
    [command setBarrier];
    [command concurrentDispatchThreads:MTLSizeMake(count, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    for (NSUInteger i = 0; i < count; i++) next[i] = expected[count - 1 - i] + 1;
    expected.swap(next);
  }
  CHECK_EQUAL([run(^(id<MTLCommandBuffer> commandBuffer) { execute(commandBuffer, all, NSMakeRange(0, rounds)); }) status],
              MTLCommandBufferStatusCompleted);
  CHECK_EQUAL(memcmp([sides[0] contents], expected.data(), 4 * count), 0);
}

// The last has none: it need not wait for the one before, nor for what that one waits for.
void a_barrier_is_one_commands() {
  id<MTLIndirectCommandBuffer> all = commands(3);
  id<MTLBuffer> out = buffer(16), numbers = digits();
  id<MTLComputePipelineState> state = pipeline(@"step");
  for (NSUInteger i = 0; i < 3; i++) step([all indirectComputeCommandAtIndex:i], state, out, numbers, i + 1);
  [[all indirectComputeCommandAtIndex:0] setBarrier];
  [[all indirectComputeCommandAtIndex:1] setBarrier];
  id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) { execute(commandBuffer, all, NSMakeRange(0, 3)); });
  CHECK_EQUAL([ran status], MTLCommandBufferStatusCompleted);
  CHECK_EQUAL(words(out)[0], 312);
}

// The same three, where the last had a barrier and lost it, and then has it again.
void a_barrier_is_cleared() {
  id<MTLIndirectCommandBuffer> all = commands(3);
  id<MTLBuffer> numbers = digits();
  id<MTLComputePipelineState> state = pipeline(@"step");
  const auto order = [=](void (^change)(id<MTLIndirectComputeCommand>)) {
    id<MTLBuffer> out = buffer(16);
    for (NSUInteger i = 0; i < 3; i++) {
      step([all indirectComputeCommandAtIndex:i], state, out, numbers, i + 1);
      [[all indirectComputeCommandAtIndex:i] setBarrier];
    }
    change([all indirectComputeCommandAtIndex:2]);
    run(^(id<MTLCommandBuffer> commandBuffer) { execute(commandBuffer, all, NSMakeRange(0, 3)); });
    return words(out)[0];
  };
  CHECK_EQUAL(order(^(id<MTLIndirectComputeCommand> last) { [last clearBarrier]; }), 312);
  CHECK_EQUAL(order(^(id<MTLIndirectComputeCommand> last) { [last clearBarrier]; [last setBarrier]; }), 123);
}

// turn as a kernel's commands: with threadgroup memory, and in an order that one barrier gives.
void a_kernel_sets_memory_and_clears_a_barrier() {
  struct Arguments {
    MTLResourceID commands, step, turn, none;
    uint64_t out, digits;
  };
  id<MTLComputePipelineState> with = pipeline_of(linking(
      kernel_of(@"struct Arguments { command_buffer commands; compute_pipeline_state step, turn, none; device uint *out; device uint *digits; };\n"
                 "kernel void k(constant Arguments &all [[buffer(0)]], device uint *seen [[buffer(1)]]) {\n"
                 "  seen[0] = all.commands.size();\n"
                 "  seen[1] = is_null_compute_pipeline_state(all.none);\n"
                 "  seen[2] = is_null_compute_pipeline_state(all.step);\n"
                 "  for (uint i = 0; i < 2; i++) {\n"
                 "    compute_command command(all.commands, i);\n"
                 "    command.set_compute_pipeline_state(all.step);\n"
                 "    command.set_kernel_buffer(all.out, 0);\n"
                 "    command.set_kernel_buffer((constant uint *)all.digits + i + 1, 1);\n"
                 "    command.set_barrier();\n"
                 "    command.concurrent_dispatch_threads(uint3(1, 1, 1), uint3(1, 1, 1)); }\n"
                 "  compute_command(all.commands, 1).clear_barrier();\n"
                 "  compute_command last(all.commands, 2);\n"
                 "  last.set_compute_pipeline_state(all.turn);\n"
                 "  last.set_kernel_buffer(all.out + 4, 2);\n"
                 "  last.set_threadgroup_memory_length(16, 1);\n"
                 "  last.set_barrier();\n"
                 "  last.concurrent_dispatch_threadgroups(uint3(1, 1, 1), uint3(4, 1, 1)); }"),
      @[]));
  id<MTLIndirectCommandBuffer> all = commands(3);
  id<MTLBuffer> out = buffer(32), numbers = digits(), seen = buffer(12);
  for (uint32_t i = 0; i < 4; i++) words(out)[4 + i] = 5 + i;
  const Arguments arguments = {[all gpuResourceID], [pipeline(@"step") gpuResourceID], [pipeline(@"turn") gpuResourceID], {0},
                               [out gpuAddress], [numbers gpuAddress]};
  id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) {
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    [encoder setComputePipelineState:with];
    [encoder setBytes:&arguments length:sizeof arguments atIndex:0];
    [encoder setBuffer:seen offset:0 atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    [encoder endEncoding];
    execute(commandBuffer, all, NSMakeRange(0, 3));
  });
  CHECK_EQUAL([ran status], MTLCommandBufferStatusCompleted);
  CHECK(words(seen)[0] == 3 && words(seen)[1] == 1 && words(seen)[2] == 0);
  CHECK_EQUAL(words(out)[0], 21);  // the second has lost its barrier, so it runs before the first
  for (int i = 0; i < 4; i++) CHECK_EQUAL(words(out)[4 + i], 8 - i);
}

// A kernel chooses among pipelines that an encoder put there.
void an_argument_buffer_holds_pipelines() {
  id<MTLFunction> choosing = kernel_of(
      @"struct Jobs { compute_pipeline_state first [[id(0)]]; compute_pipeline_state second [[id(1)]];\n"
       "  command_buffer commands [[id(2)]]; device uint *out [[id(3)]]; device uint *digits [[id(4)]]; };\n"
       "kernel void k(constant Jobs &jobs [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
       "  compute_command command(jobs.commands, i);\n"
       "  command.reset();\n"
       "  command.set_compute_pipeline_state(i == 0 ? jobs.first : jobs.second);\n"
       "  command.set_kernel_buffer(jobs.out, 0);\n"
       "  command.set_kernel_buffer(jobs.digits + i + 1, 1);\n"
       "  command.set_barrier();\n"
       "  command.concurrent_dispatch_threads(uint3(4, 1, 1), uint3(4, 1, 1)); }");
  id<MTLFunction> adding = kernel_of(@"kernel void k(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] += 7; }");
  MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  [descriptor setComputeFunction:adding];
  [descriptor setSupportIndirectCommandBuffers:YES];
  const id<MTLComputePipelineState> states[] = {pipeline(@"step"), pipeline_of(descriptor)};
  id<MTLIndirectCommandBuffer> all = commands(2);
  id<MTLBuffer> out = buffer(16), numbers = digits();
  id<MTLArgumentEncoder> encoder = [[choosing newArgumentEncoderWithBufferIndex:0] autorelease];
  id<MTLBuffer> jobs = buffer([encoder encodedLength]);
  [encoder setArgumentBuffer:jobs offset:0];
  [encoder setComputePipelineStates:states withRange:NSMakeRange(0, 2)];
  const id<MTLIndirectCommandBuffer> buffers[] = {all};
  [encoder setIndirectCommandBuffers:buffers withRange:NSMakeRange(2, 1)];
  [encoder setBuffer:out offset:0 atIndex:3];
  [encoder setBuffer:numbers offset:0 atIndex:4];
  CHECK_RAISES([encoder setComputePipelineStates:states withRange:NSMakeRange(1, 2)], @"setComputePipelineState:atIndex:", @"");
  [encoder setComputePipelineStates:states withRange:NSMakeRange(0, 2)];
  CHECK_RAISES([encoder setComputePipelineStates:(const id<MTLComputePipelineState> *)nullptr withRange:NSMakeRange(0, 1)],
               @"setComputePipelineStates:withRange:", @"NULL");
  id<MTLComputePipelineState> state = [[device() newComputePipelineStateWithFunction:choosing error:nullptr] autorelease];
  id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) {
    id<MTLComputeCommandEncoder> chosen = [commandBuffer computeCommandEncoder];
    [chosen setComputePipelineState:state];
    [chosen setBuffer:jobs offset:0 atIndex:0];
    [chosen dispatchThreads:MTLSizeMake(2, 1, 1) threadsPerThreadgroup:MTLSizeMake(2, 1, 1)];
    [chosen endEncoding];
    execute(commandBuffer, all, NSMakeRange(0, 2));
  });
  CHECK_EQUAL([ran status], MTLCommandBufferStatusCompleted);
  for (int i = 0; i < 4; i++) CHECK_EQUAL(words(out)[i], (0 * 10 + 1) + 7);
}

void commands_inherit_from_the_encoder() {
  // Of draws: a program that says something of them gets dispatches all the same.
  MTLIndirectCommandBufferDescriptor *drawing = descriptor();
  CHECK([drawing maxVertexBufferBindCount] == 31 && [drawing maxFragmentBufferBindCount] == 31 && ![drawing supportRayTracing]);
  [drawing setMaxVertexBufferBindCount:0];
  [drawing setMaxFragmentBufferBindCount:3];
  MTLIndirectCommandBufferDescriptor *drawn = [[drawing copy] autorelease];
  CHECK([drawn maxVertexBufferBindCount] == 0 && [drawn maxFragmentBufferBindCount] == 3);
  CHECK([[device() newIndirectCommandBufferWithDescriptor:drawn maxCommandCount:1 options:0] autorelease] != nil);
  [drawing setSupportRayTracing:YES];
  CHECK([[[drawing copy] autorelease] supportRayTracing]);
  CHECK_RAISES([device() newIndirectCommandBufferWithDescriptor:drawing maxCommandCount:1 options:0], @"newIndirectCommandBuffer",
               @"ray tracing");
  MTLIndirectCommandBufferDescriptor *inheriting = descriptor();
  [inheriting setInheritPipelineState:YES];
  [inheriting setInheritBuffers:YES];
  id<MTLIndirectCommandBuffer> all = commands(2, inheriting);
  id<MTLBuffer> out = buffer(32), numbers = digits();
  id<MTLComputePipelineState> state = pipeline(@"step");
  for (NSUInteger i = 0; i < 2; i++) {
    id<MTLIndirectComputeCommand> command = [all indirectComputeCommandAtIndex:i];
    [command concurrentDispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(2, 1, 1)];
    [command setBarrier];
    CHECK_RAISES([command setKernelBuffer:out offset:0 atIndex:0], @"setKernelBuffer:offset:atIndex:", @"inheritBuffers");
    CHECK_RAISES([command setComputePipelineState:state], @"setComputePipelineState:", @"inheritPipelineState");
  }
  id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) {
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    CHECK_RAISES([encoder executeCommandsInBuffer:all withRange:NSMakeRange(0, 2)], @"executeCommandsInBuffer:withRange:", @"inherit");
    [encoder setComputePipelineState:state];
    [encoder setBuffer:out offset:16 atIndex:0];
    [encoder setBuffer:numbers offset:28 atIndex:1];
    [encoder executeCommandsInBuffer:all withRange:NSMakeRange(0, 2)];
    [encoder setBuffer:numbers offset:32 atIndex:1];
    [encoder executeCommandsInBuffer:all withRange:NSMakeRange(1, 1)];
    [encoder endEncoding];
  });
  CHECK_EQUAL([ran status], MTLCommandBufferStatusCompleted);
  for (int i = 0; i < 4; i++) CHECK(words(out)[i] == 0 && words(out)[4 + i] == 778);
}

void the_range_is_read_when_it_runs() {
  id<MTLIndirectCommandBuffer> all = commands(4);
  id<MTLBuffer> out = buffer(16), numbers = digits(), range = buffer(16);
  id<MTLComputePipelineState> state = pipeline(@"step");
  for (NSUInteger i = 0; i < 4; i++) {
    step([all indirectComputeCommandAtIndex:i], state, out, numbers, i + 1);
    [[all indirectComputeCommandAtIndex:i] setBarrier];
  }
  void (^record)(id<MTLCommandBuffer>) = ^(id<MTLCommandBuffer> commandBuffer) {
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    [encoder executeCommandsInBuffer:all indirectBuffer:range indirectBufferOffset:8];
    *(MTLIndirectCommandBufferExecutionRange *)((char *)[range contents] + 8) = MTLIndirectCommandBufferExecutionRangeMake(1, 3);
    CHECK_RAISES([encoder executeCommandsInBuffer:all indirectBuffer:range indirectBufferOffset:12],
                 @"executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:", @"length");
    CHECK_RAISES([encoder executeCommandsInBuffer:all indirectBuffer:range indirectBufferOffset:2],
                 @"executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:", @"multiple of 4");
    [encoder endEncoding];
  };
  CHECK_EQUAL([run(record) status], MTLCommandBufferStatusCompleted);
  CHECK_EQUAL(words(out)[3], 234);
  id<MTLCommandBuffer> failed = run(^(id<MTLCommandBuffer> commandBuffer) {
    record(commandBuffer);
    *(MTLIndirectCommandBufferExecutionRange *)((char *)[range contents] + 8) = MTLIndirectCommandBufferExecutionRangeMake(3, 0xffffffff);
  });
  CHECK_EQUAL([failed status], MTLCommandBufferStatusError);
  CHECK_CONTAINS([[failed error] localizedDescription], @"is not within the 4");
  CHECK_EQUAL(words(out)[3], 234);
}

void commands_are_copied_and_reset_by_a_blit() {
  id<MTLIndirectCommandBuffer> all = commands(3), copies = commands(5);
  id<MTLBuffer> out = buffer(16), numbers = digits();
  @autoreleasepool {
    id<MTLComputePipelineState> state = pipeline(@"step");
    for (NSUInteger i = 0; i < 3; i++) {
      step([all indirectComputeCommandAtIndex:i], state, out, numbers, i + 1);
      [[all indirectComputeCommandAtIndex:i] setBarrier];
    }
  }
  id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) {
    id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
    [encoder copyIndirectCommandBuffer:all sourceRange:NSMakeRange(1, 2) destination:copies destinationIndex:3];
    [encoder copyIndirectCommandBuffer:all sourceRange:NSMakeRange(0, 2) destination:copies destinationIndex:0];
    [encoder resetCommandsInBuffer:copies withRange:NSMakeRange(0, 1)];
    [encoder optimizeIndirectCommandBuffer:copies withRange:NSMakeRange(0, 5)];
    CHECK_RAISES([encoder resetCommandsInBuffer:copies withRange:NSMakeRange(1, 5)], @"resetCommandsInBuffer:withRange:", @"range");
    CHECK_RAISES([encoder optimizeIndirectCommandBuffer:copies withRange:NSMakeRange(5, 1)], @"withRange:", @"range");
    CHECK_RAISES([encoder copyIndirectCommandBuffer:all sourceRange:NSMakeRange(0, 3) destination:copies destinationIndex:3],
                 @"destinationIndex:", @"range");
    MTLIndirectCommandBufferDescriptor *other = descriptor();
    [other setMaxKernelBufferBindCount:2];
    CHECK_RAISES([encoder copyIndirectCommandBuffer:all sourceRange:NSMakeRange(0, 1) destination:commands(1, other) destinationIndex:0],
                 @"destinationIndex:", @"equal descriptors");
    [encoder endEncoding];
    execute(commandBuffer, copies, NSMakeRange(0, 5));
  });
  CHECK_EQUAL([ran status], MTLCommandBufferStatusCompleted);
  CHECK_EQUAL(words(out)[0], 223);
}

void wrong_commands_raise() {
  MTLIndirectCommandBufferDescriptor *d = descriptor();
  [d setCommandTypes:MTLIndirectCommandTypeConcurrentDispatch];
  CHECK_RAISES(commands(0), @"newIndirectCommandBufferWithDescriptor:", @"maxCommandCount");
  id<MTLIndirectCommandBuffer> all = commands(1, d);
  [d setCommandTypes:(MTLIndirectCommandType)1];
  CHECK_RAISES(commands(1, d), @"newIndirectCommandBufferWithDescriptor:", @"not a dispatch");
  [d setCommandTypes:(MTLIndirectCommandType)0];
  CHECK_RAISES(commands(1, d), @"newIndirectCommandBufferWithDescriptor:", @"commandTypes");
  d = descriptor();
  [d setMaxKernelBufferBindCount:32];
  CHECK_RAISES(commands(1, d), @"newIndirectCommandBufferWithDescriptor:", @"<= 31");
  CHECK_RAISES([all indirectComputeCommandAtIndex:1], @"indirectComputeCommandAtIndex:", @"size");
  CHECK_RAISES([all resetWithRange:NSMakeRange(0, 2)], @"resetWithRange:", @"range");
  id<MTLIndirectComputeCommand> command = [all indirectComputeCommandAtIndex:0];
  const MTLSize one = MTLSizeMake(1, 1, 1);
  CHECK_RAISES([command concurrentDispatchThreads:one threadsPerThreadgroup:one], @"concurrentDispatchThreads:", @"commandTypes");
  CHECK_RAISES([command setKernelBuffer:buffer(4) offset:0 atIndex:3], @"setKernelBuffer:offset:atIndex:", @"maxKernelBufferBindCount");
  CHECK_RAISES([command setKernelBuffer:buffer(4) offset:5 atIndex:0], @"setKernelBuffer:offset:atIndex:", @"offset");
  CHECK_RAISES([command setKernelBuffer:nil offset:0 atIndex:0], @"setKernelBuffer:offset:atIndex:", @"buffer");
  CHECK_RAISES([command setThreadgroupMemoryLength:16 atIndex:2], @"setThreadgroupMemoryLength:atIndex:", @"BindCount");
  CHECK_RAISES([command setThreadgroupMemoryLength:8 atIndex:0], @"setThreadgroupMemoryLength:atIndex:", @"multiple of 16");
  id<MTLComputePipelineState> direct = pipeline(@"step", NO);
  CHECK(![direct supportIndirectCommandBuffers] && [pipeline(@"step") supportIndirectCommandBuffers]);
  CHECK_RAISES([command setComputePipelineState:direct], @"setComputePipelineState:", @"supportIndirectCommandBuffers");
  CHECK_RAISES([direct gpuResourceID], @"gpuResourceID", @"supportIndirectCommandBuffers");
  run(^(id<MTLCommandBuffer> commandBuffer) {
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    CHECK_RAISES([encoder executeCommandsInBuffer:all withRange:NSMakeRange(1, 1)], @"executeCommandsInBuffer:withRange:", @"range");
    [encoder endEncoding];
  });
}

// ------------------------------------------------------------------ by kernels

struct Job {
  MTLResourceID commands, pipeline;
  uint64_t out, digits;
  uint32_t first;
};

void encode(id<MTLCommandBuffer> commandBuffer, id<MTLComputePipelineState> with, const Job &job, NSUInteger threads, uint32_t how = 0) {
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:with];
  [encoder setBytes:&job length:sizeof job atIndex:0];
  [encoder setBytes:&how length:4 atIndex:1];
  [encoder dispatchThreads:MTLSizeMake(threads, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
  [encoder endEncoding];
}

void a_kernel_writes_commands_that_run_afterwards() {
  id<MTLIndirectCommandBuffer> all = commands(8);
  id<MTLBuffer> out = buffer(16), numbers = digits();
  id<MTLComputePipelineState> state = pipeline(@"step"), with = pipeline(@"encode", NO);
  const Job job = {[all gpuResourceID], [state gpuResourceID], [out gpuAddress], [numbers gpuAddress] + 8, 3};
  id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) {
    encode(commandBuffer, with, job, 5);
    execute(commandBuffer, all, NSMakeRange(0, 8));
  });
  CHECK_EQUAL([ran status], MTLCommandBufferStatusCompleted);
  if ([ran error]) faces_note(__FILE__, __LINE__, [[[ran error] localizedDescription] UTF8String]);
  for (int i = 0; i < 4; i++) CHECK_EQUAL(words(out)[i], 23456);
}

void an_encoder_writes_the_handles_of_commands_and_pipelines() {
  id<MTLIndirectCommandBuffer> all = commands(2);
  id<MTLBuffer> out = buffer(16), numbers = digits(), job = buffer(sizeof(Job));
  id<MTLComputePipelineState> state = pipeline(@"step"), with = pipeline(@"encode", NO);
  id<MTLArgumentEncoder> encoder =
      [[[[library() newFunctionWithName:@"encode"] autorelease] newArgumentEncoderWithBufferIndex:0] autorelease];
  [encoder setArgumentBuffer:job offset:0];
  [encoder setIndirectCommandBuffer:all atIndex:0];
  [encoder setComputePipelineState:state atIndex:1];
  [encoder setBuffer:out offset:0 atIndex:2];
  [encoder setBuffer:numbers offset:36 atIndex:3];
  CHECK_RAISES([encoder setIndirectCommandBuffer:all atIndex:1], @"setIndirectCommandBuffer:atIndex:", @"pipeline");
  CHECK_RAISES([encoder setComputePipelineState:with atIndex:1], @"gpuResourceID", @"supportIndirectCommandBuffers");
  const id<MTLIndirectCommandBuffer> lists[] = {all};
  [encoder setIndirectCommandBuffers:lists withRange:NSMakeRange(0, 1)];
  id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) {
    encode(commandBuffer, with, *(const Job *)[job contents], 1);
    execute(commandBuffer, all, NSMakeRange(0, 2));
  });
  CHECK_EQUAL([ran status], MTLCommandBufferStatusCompleted);
  CHECK_EQUAL(words(out)[2], 9);
}

// The text of the failure of commands that `spoil` has written; "" when they ran.
NSString *outcome(Job job, uint32_t how, id<MTLIndirectCommandBuffer> all, NSInteger *code) {
  id<MTLComputePipelineState> with = pipeline(@"spoil", NO);
  id<MTLCommandBuffer> ran = run(^(id<MTLCommandBuffer> commandBuffer) {
    encode(commandBuffer, with, job, 1, how);
    execute(commandBuffer, all, NSMakeRange(0, 2));
  });
  *code = [[ran error] code];
  return [ran error] ? [[ran error] localizedDescription] : @"";
}

void what_a_kernel_writes_is_not_believed() {
  id<MTLIndirectCommandBuffer> all = commands(2);
  id<MTLBuffer> out = buffer(16), numbers = digits();
  const MTLResourceID small = [pipeline(@"step", YES, MTLSizeMake(2, 2, 1)) gpuResourceID];
  id<MTLComputePipelineState> state = pipeline(@"step");
  const Job good = {[all gpuResourceID], [state gpuResourceID], [out gpuAddress], [numbers gpuAddress] + 4, 0};
  NSInteger code = 0;
  CHECK_EQUAL([outcome(good, 0, all, &code) length], 0);
  CHECK_EQUAL(words(out)[0], 1);
  Job sized = good;
  sized.pipeline = small;
  CHECK_CONTAINS(outcome(sized, 0, all, &code), @"a threadgroup of 4 x 1 x 1 threads, where 2 x 2 x 1 are required");
  CHECK_EQUAL(code, MTLCommandBufferErrorInternal);
  [all resetWithRange:NSMakeRange(0, 2)];
  CHECK_CONTAINS(outcome(good, 1, all, &code), @"command 0 of an indirect command buffer: kernel \"step\": missing Buffer binding at index 1");
  CHECK_EQUAL(code, MTLCommandBufferErrorInternal);
  CHECK_CONTAINS(outcome(good, 2, all, &code), @"kernel \"spoil\"");
  CHECK_EQUAL(code, MTLCommandBufferErrorInvalidResource);
  CHECK_CONTAINS(outcome(good, 3, all, &code), @"2000 x 1 x 1 threads");
  CHECK_CONTAINS(outcome(good, 4, all, &code), @"4 x 0 x 1 threads");
  [all resetWithRange:NSMakeRange(0, 2)];
  CHECK_EQUAL([outcome(good, 5, all, &code) length], 0);
  Job wild = good;
  for (uint64_t handle : {uint64_t(0), uint64_t([out gpuAddress]), [state gpuResourceID]._impl + 1, [all gpuResourceID]._impl}) {
    wild.pipeline._impl = handle;
    CHECK_CONTAINS(outcome(wild, 0, all, &code), @"its compute pipeline state is not a living one");
    CHECK_EQUAL(code, MTLCommandBufferErrorInvalidResource);
  }
  wild = good;
  wild.first = 2;
  CHECK_CONTAINS(outcome(wild, 0, all, &code), @"not in the indirect command buffer, or beyond its limits");
  CHECK_EQUAL(code, MTLCommandBufferErrorInvalidResource);
  wild = good;
  wild.commands._impl += 1;
  CHECK_CONTAINS(outcome(wild, 0, all, &code), @"the handle of an indirect command buffer");
  CHECK_EQUAL(code, MTLCommandBufferErrorInvalidResource);
  @autoreleasepool {
    wild.pipeline = good.pipeline;
    wild.commands = [commands(2) gpuResourceID];
  }
  outcome(wild, 0, all, &code);
  CHECK(code == MTLCommandBufferErrorPageFault || code == MTLCommandBufferErrorInvalidResource);
  // A pipeline that is gone.
  wild = good;
  @autoreleasepool {
    wild.pipeline = [pipeline(@"step") gpuResourceID];
  }
  CHECK_CONTAINS(outcome(wild, 0, all, &code), @"its compute pipeline state is not a living one");
  // Textures are for argument buffers.
  wild = good;
  id<MTLComputePipelineState> image = pipeline(@"image");
  wild.pipeline = [image gpuResourceID];
  CHECK_CONTAINS(outcome(wild, 0, all, &code), @"an argument buffer can");
}

// As many as make an indirect command buffer look for those that no command has any more.
void replace_pipelines(id<MTLIndirectComputeCommand> command) {
  for (int i = 0; i < 40; i++) @autoreleasepool {
      [command reset];
      [command setComputePipelineState:pipeline(@"turn_all")];
    }
}

void replaced_pipelines_are_let_go() {
  id<MTLIndirectCommandBuffer> copies = commands(2);
  id<MTLBuffer> out = buffer(16), numbers = digits();
  Job job = {[copies gpuResourceID], {}, [out gpuAddress], [numbers gpuAddress] + 4, 0};
  id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
  id<MTLCommandBuffer> copy = [queue commandBuffer];
  @autoreleasepool {
    id<MTLIndirectCommandBuffer> all = commands(1);
    id<MTLComputePipelineState> state = pipeline(@"step");
    job.pipeline = [state gpuResourceID];
    step([all indirectComputeCommandAtIndex:0], state, out, numbers, 3);
    id<MTLBlitCommandEncoder> encoder = [copy blitCommandEncoder];
    [encoder copyIndirectCommandBuffer:all sourceRange:NSMakeRange(0, 1) destination:copies destinationIndex:0];
    [encoder endEncoding];
  }
  // The copy has still to run, and then has.
  replace_pipelines([copies indirectComputeCommandAtIndex:1]);
  [copy commit];
  [copy waitUntilCompleted];
  replace_pipelines([copies indirectComputeCommandAtIndex:1]);
  CHECK_EQUAL([run(^(id<MTLCommandBuffer> commandBuffer) { execute(commandBuffer, copies, NSMakeRange(0, 1)); }) status],
              MTLCommandBufferStatusCompleted);
  CHECK_EQUAL(words(out)[3], 3);
  [copies resetWithRange:NSMakeRange(0, 1)];
  replace_pipelines([copies indirectComputeCommandAtIndex:1]);
  [copies resetWithRange:NSMakeRange(0, 2)];
  NSInteger code = 0;
  CHECK_CONTAINS(outcome(job, 0, copies, &code), @"its compute pipeline state is not a living one");
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase command_cases[] = {
    CASE(commands_run_in_the_order_that_barriers_give),
    CASE(commands_that_several_threads_run_wait_at_barriers),
    CASE(a_barrier_is_one_commands),
    CASE(a_barrier_is_cleared),
    CASE(a_kernel_sets_memory_and_clears_a_barrier),
    CASE(an_argument_buffer_holds_pipelines),
    CASE(commands_inherit_from_the_encoder),
    CASE(the_range_is_read_when_it_runs),
    CASE(commands_are_copied_and_reset_by_a_blit),
    CASE(wrong_commands_raise),
    CASE(a_kernel_writes_commands_that_run_afterwards),
    CASE(an_encoder_writes_the_handles_of_commands_and_pipelines),
    CASE(what_a_kernel_writes_is_not_believed),
    CASE(replaced_pipelines_are_let_go),
    {nullptr, nullptr},
};
