// Passes in another order (hostmetal.h): what Metal keeps in order stays so whatever the seed, and of what it does not some seed shows another order.
#import "faces.h"

#import <MetalPerformanceShaders/MetalPerformanceShaders.h>
#import <hostmetal.h>

#include <set>
#include <vector>

namespace {
constexpr uint64_t kSeeds = 24;

// Of two passes the first writes 1 to a word and the second copies the word.
struct Passes {
  id<MTLDevice> device = ::device();
  id<MTLCommandQueue> queue = [[device newCommandQueue] autorelease];
  id<MTLComputePipelineState> write, copy, copy_at, copy_by_command;
  Passes() {
    id<MTLLibrary> library = library_of(@"kernel void w(device uint *to) { *to = 1; }\n"
                                         "kernel void c(device const uint *from, device uint *to) { *to = *from; }\n"
                                         "struct place { device const uint *at; };\n"
                                         "kernel void a(constant place &from, device uint *to) { *to = *from.at; }\n");
    write = state(library, @"w");
    copy = state(library, @"c");
    copy_at = state(library, @"a");
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:[[library newFunctionWithName:@"c"] autorelease]];
    [descriptor setSupportIndirectCommandBuffers:YES];
    copy_by_command = pipeline_of(descriptor);
  }
  id<MTLComputePipelineState> state(id<MTLLibrary> library, NSString *name) const {
    id<MTLFunction> function = [[library newFunctionWithName:name] autorelease];
    return [[device newComputePipelineStateWithFunction:function error:nullptr] autorelease];
  }
  id<MTLBuffer> buffer(MTLResourceOptions options = MTLResourceStorageModeShared) const {
    return [[device newBufferWithLength:16 options:options] autorelease];
  }
};

void dispatch(id<MTLComputeCommandEncoder> encoder) {
  [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
}

// How the second pass of a case may be kept behind the first.
struct Case {
  const char *name;
  bool ordered = false;         // by Metal
  bool untracked = false;       // the word
  bool aliased = false;         // the passes know the word as two buffers
  bool addressed = false;       // the second reads it through an address, without naming it
  bool named = false;           // ... and names it by useResource:
  bool fence = false, barrier = false, event = false;
  bool other_buffer = false;    // the second is another command buffer's
  bool in_heap = false, heap_tracked = false;
  bool blit = false;            // the second is a copy
  bool product = false;         // the second is a product of Metal Performance Shaders, by 1
  bool indirect = false;        // the second executes a command of an indirect command buffer
};

// What the second pass has read: 1, or 0 where it came first.
uint32_t run(const Passes &on, const Case &how) {
  MTLResourceOptions options = MTLResourceStorageModeShared;
  if (how.untracked) options |= MTLResourceHazardTrackingModeUntracked;
  id<MTLBuffer> word = nil, word_again = nil;
  if (how.in_heap) {
    MTLHeapDescriptor *d = [[[MTLHeapDescriptor alloc] init] autorelease];
    [d setSize:4096];
    [d setStorageMode:MTLStorageModeShared];
    [d setType:MTLHeapTypePlacement];
    [d setHazardTrackingMode:how.heap_tracked ? MTLHazardTrackingModeTracked : MTLHazardTrackingModeUntracked];
    id<MTLHeap> heap = [[on.device newHeapWithDescriptor:d] autorelease];
    word = [[heap newBufferWithLength:16 options:[heap resourceOptions] offset:0] autorelease];
    word_again = [[heap newBufferWithLength:16 options:[heap resourceOptions] offset:0] autorelease];
    *(uint32_t *)[word contents] = 0;
  } else {
    word = on.buffer(options);
    word_again = how.aliased
                     ? [[on.device newBufferWithBytesNoCopy:[word contents] length:4096 options:options deallocator:nil] autorelease]
                     : word;
  }
  id<MTLBuffer> read = on.buffer();
  id<MTLFence> fence = [[on.device newFence] autorelease];
  id<MTLEvent> event = [[on.device newEvent] autorelease];
  // Nothing of the two begins before both are committed.
  id<MTLSharedEvent> start = [[on.device newSharedEvent] autorelease];

  id<MTLCommandBuffer> first = [on.queue commandBuffer];
  [first encodeWaitForEvent:start value:1];
  id<MTLComputeCommandEncoder> writer = [first computeCommandEncoder];
  [writer setComputePipelineState:on.write];
  [writer setBuffer:word offset:0 atIndex:0];
  dispatch(writer);
  if (how.fence) [writer updateFence:fence];
  [writer endEncoding];

  id<MTLCommandBuffer> second = how.other_buffer ? [on.queue commandBuffer] : first;
  if (how.event) {
    [second encodeSignalEvent:event value:1];
    [second encodeWaitForEvent:event value:1];
  }
  if (how.blit) {
    id<MTLBlitCommandEncoder> reader = [second blitCommandEncoder];
    if (how.fence) [reader waitForFence:fence];
    [reader copyFromBuffer:word_again sourceOffset:0 toBuffer:read destinationOffset:0 size:4];
    [reader endEncoding];
  } else if (how.product) {
    const auto number = [](id<MTLBuffer> buffer) {
      MPSMatrixDescriptor *one = [MPSMatrixDescriptor matrixDescriptorWithRows:1 columns:1 rowBytes:4 dataType:MPSDataTypeFloat32];
      return [[[MPSMatrix alloc] initWithBuffer:buffer descriptor:one] autorelease];
    };
    id<MTLBuffer> one = on.buffer();
    *(float *)[one contents] = 1;
    MPSMatrixMultiplication *product = [[[MPSMatrixMultiplication alloc] initWithDevice:on.device
                                                                              resultRows:1
                                                                           resultColumns:1
                                                                         interiorColumns:1] autorelease];
    [product encodeToCommandBuffer:second leftMatrix:number(word_again) rightMatrix:number(one) resultMatrix:number(read)];
  } else if (how.indirect) {
    MTLIndirectCommandBufferDescriptor *d = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
    [d setCommandTypes:MTLIndirectCommandTypeConcurrentDispatch];
    [d setInheritBuffers:NO];
    [d setInheritPipelineState:NO];
    [d setMaxKernelBufferBindCount:2];
    id<MTLIndirectCommandBuffer> commands =
        [[on.device newIndirectCommandBufferWithDescriptor:d maxCommandCount:1 options:MTLResourceStorageModeShared] autorelease];
    id<MTLIndirectComputeCommand> command = [commands indirectComputeCommandAtIndex:0];
    [command setComputePipelineState:on.copy_by_command];
    [command setKernelBuffer:word_again offset:0 atIndex:0];
    [command setKernelBuffer:read offset:0 atIndex:1];
    [command concurrentDispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    id<MTLComputeCommandEncoder> reader = [second computeCommandEncoder];
    if (how.named) [reader useResource:word_again usage:MTLResourceUsageRead];
    [reader useResource:read usage:MTLResourceUsageWrite];
    [reader executeCommandsInBuffer:commands withRange:NSMakeRange(0, 1)];
    [reader endEncoding];
  } else {
    id<MTLComputeCommandEncoder> reader = [second computeCommandEncoder];
    if (how.fence) [reader waitForFence:fence];
    if (how.barrier) [reader barrierAfterQueueStages:MTLStageDispatch beforeStages:MTLStageDispatch];
    if (how.addressed) {
      const uint64_t address = [word_again gpuAddress];
      [reader setComputePipelineState:on.copy_at];
      [reader setBytes:&address length:8 atIndex:0];
      if (how.named) [reader useResource:word_again usage:MTLResourceUsageRead];
    } else {
      [reader setComputePipelineState:on.copy];
      [reader setBuffer:word_again offset:0 atIndex:0];
    }
    [reader setBuffer:read offset:0 atIndex:1];
    dispatch(reader);
    [reader endEncoding];
  }
  [first commit];
  if (second != first) [second commit];
  [start setSignaledValue:1];
  [second waitUntilCompleted];
  CHECK_EQUAL([first status], MTLCommandBufferStatusCompleted);
  CHECK_EQUAL([second status], MTLCommandBufferStatusCompleted);
  return *(uint32_t *)[read contents];
}

// Passes that fill one buffer each.
void the_environment_gives_a_seed() {
  @autoreleasepool {
    const Passes on;
    id<MTLCommandBuffer> buffer = [on.queue commandBuffer];
    for (int pass = 0; pass < 16; pass++) {
      id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
      [encoder fillBuffer:on.buffer() range:NSMakeRange(0, 16) value:1];
      [encoder endEncoding];
    }
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK(hostmetal_count_overtaken() > 0);
  }
}

void passes_keep_the_order_that_metal_keeps() {
  std::vector<Case> cases = {
      {.name = "tracked", .ordered = true},
      {.name = "untracked", .untracked = true},
      {.name = "untracked, of another command buffer", .untracked = true, .other_buffer = true},
      {.name = "tracked, of another command buffer", .ordered = true, .other_buffer = true},
      {.name = "two buffers over the same memory", .aliased = true},
      {.name = "with a fence", .ordered = true, .untracked = true, .fence = true},
      {.name = "with a fence, of another command buffer", .ordered = true, .untracked = true, .fence = true, .other_buffer = true},
      {.name = "with a barrier of the queue", .ordered = true, .untracked = true, .barrier = true},
      {.name = "with an event", .ordered = true, .untracked = true, .event = true},
      {.name = "with an event, of another command buffer", .ordered = true, .untracked = true, .event = true, .other_buffer = true},
      {.name = "through an address", .addressed = true},
      {.name = "through an address, named", .ordered = true, .addressed = true, .named = true},
      {.name = "through an address, named, untracked", .untracked = true, .addressed = true, .named = true},
      {.name = "by an indirect command", .indirect = true},
      {.name = "by an indirect command, named", .ordered = true, .named = true, .indirect = true},
      {.name = "in a heap", .in_heap = true},
      {.name = "in a tracked heap, as two buffers", .ordered = true, .in_heap = true, .heap_tracked = true},
      {.name = "by a copy", .ordered = true, .blit = true},
      {.name = "by a copy, untracked", .untracked = true, .blit = true},
      {.name = "by a product", .ordered = true, .product = true},
      {.name = "by a product, untracked", .untracked = true, .product = true},
      {.name = "by a copy, untracked, with a fence", .ordered = true, .untracked = true, .fence = true, .blit = true},
  };
  const Passes on;
  for (const Case &how : cases) {
    std::set<uint32_t> seen;
    for (uint64_t seed = 0; seed <= kSeeds; seed++) {
      @autoreleasepool {
        hostmetal_overlap_passes(seed);
        const uint32_t read = run(on, how);
        // Without a seed all run in their order.
        if (seed == 0 && read != 1) faces_note(__FILE__, __LINE__, std::string(how.name) + ": without a seed the second came first");
        seen.insert(read);
      }
    }
    hostmetal_overlap_passes(0);
    const std::set<uint32_t> expected = how.ordered ? std::set<uint32_t>{1} : std::set<uint32_t>{0, 1};
    if (seen != expected) faces_note(__FILE__, __LINE__, std::string(how.name) + (how.ordered ? ": was not kept" : ": never came first"));
  }
}

// Two dispatches of one concurrent encoder; with a barrier between them they keep their order.
void dispatches_of_a_concurrent_encoder_have_no_order_without_a_barrier() {
  const Passes on;
  for (bool barrier : {false, true}) {
    std::set<uint32_t> seen;
    for (uint64_t seed = 1; seed <= kSeeds; seed++) {
      @autoreleasepool {
        hostmetal_overlap_passes(seed);
        id<MTLBuffer> word = on.buffer(), read = on.buffer();
        id<MTLCommandBuffer> buffer = [on.queue commandBuffer];
        id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
        [encoder setComputePipelineState:on.write];
        [encoder setBuffer:word offset:0 atIndex:0];
        dispatch(encoder);
        if (barrier) [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
        [encoder setComputePipelineState:on.copy];
        [encoder setBuffer:read offset:0 atIndex:1];
        dispatch(encoder);
        [encoder endEncoding];
        [buffer commit];
        [buffer waitUntilCompleted];
        seen.insert(*(uint32_t *)[read contents]);
      }
    }
    hostmetal_overlap_passes(0);
    CHECK(seen == (barrier ? std::set<uint32_t>{1} : std::set<uint32_t>{0, 1}));
  }
}

// Of passes that fault, the first of the command buffer is told, whichever ran first; what follows in other command buffers runs, and all end in order.
void faults_are_told_in_order() {
  const Passes on;
  id<MTLComputePipelineState> trap = on.state(library_of(@"kernel void t(device uint *to) { to[1 << 20] = 1; }"), @"t");
  for (uint64_t seed = 1; seed <= kSeeds; seed++) {
    @autoreleasepool {
      hostmetal_overlap_passes(seed);
      id<MTLSharedEvent> start = [[on.device newSharedEvent] autorelease];
      __block std::vector<int> ended;
      id<MTLBuffer> words[3] = {on.buffer(), on.buffer(), on.buffer()};
      id<MTLCommandBuffer> buffers[2];
      for (int number = 0; number < 2; number++) {
        buffers[number] = [on.queue commandBuffer];
        if (number == 0) [buffers[0] encodeWaitForEvent:start value:1];
        for (int pass = 0; pass < (number == 0 ? 3 : 1); pass++) {
          id<MTLComputeCommandEncoder> encoder = [buffers[number] computeCommandEncoder];
          const bool faults = number == 0 && pass > 0;
          [encoder setLabel:[NSString stringWithFormat:@"pass %d", pass]];
          [encoder setComputePipelineState:faults ? trap : on.write];
          [encoder setBuffer:words[number == 0 ? pass : 0] offset:number * 8 atIndex:0];
          dispatch(encoder);
          [encoder endEncoding];
        }
        [buffers[number] addCompletedHandler:^(id<MTLCommandBuffer>) {
          ended.push_back(number);
        }];
        [buffers[number] commit];
      }
      [start setSignaledValue:1];
      [buffers[1] waitUntilCompleted];
      CHECK_EQUAL([buffers[0] status], MTLCommandBufferStatusError);
      CHECK_CONTAINS([[buffers[0] error] localizedDescription], @"pass 1");
      CHECK_EQUAL([buffers[1] status], MTLCommandBufferStatusCompleted);
      CHECK_EQUAL(*(uint32_t *)[words[0] contents], 1);
      CHECK_EQUAL(((uint32_t *)[words[0] contents])[2], 1);
      CHECK(ended == (std::vector<int>{0, 1}));
    }
  }
  hostmetal_overlap_passes(0);
}
}  // namespace

#define CASE(name) {#name, name}
const FaceCase overlap_cases[] = {
    CASE(the_environment_gives_a_seed),
    CASE(passes_keep_the_order_that_metal_keeps),
    CASE(dispatches_of_a_concurrent_encoder_have_no_order_without_a_barrier),
    CASE(faults_are_told_in_order),
    {nullptr, nullptr},
};
