// Cases of residency sets, and of resources that an encoder is told of.
#import "faces.h"

#include <pthread.h>

namespace {
id<MTLBuffer> buffer(NSUInteger length) {
  return [[device() newBufferWithLength:length options:MTLResourceStorageModeShared] autorelease];
}

id<MTLHeap> heap() {
  MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
  [descriptor setSize:1 << 16];
  [descriptor setStorageMode:MTLStorageModeShared];
  return [[device() newHeapWithDescriptor:descriptor] autorelease];
}

id<MTLResidencySet> residencySet() {
  MTLResidencySetDescriptor *descriptor = [[[MTLResidencySetDescriptor alloc] init] autorelease];
  NSError *error = nil;
  id<MTLResidencySet> made = [[device() newResidencySetWithDescriptor:descriptor error:&error] autorelease];
  CHECK(made != nil && error == nil);
  return made;
}

id<MTLComputePipelineState> reader() {
  static NSString *const SOURCE = @"struct Arguments { device const uint *data; device uint *out; };\n"
                                   "kernel void read_all(constant Arguments &a [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
                                   "  a.out[i] = a.data[i] + 1;\n"
                                   "}\n";
  NSError *error = nil;
  id<MTLLibrary> library = [[device() newLibraryWithSource:SOURCE options:nil error:&error] autorelease];
  if (!library) faces_note(__FILE__, __LINE__, [[error localizedDescription] UTF8String]);
  id<MTLFunction> function = [[library newFunctionWithName:@"read_all"] autorelease];
  return [[device() newComputePipelineStateWithFunction:function error:&error] autorelease];
}

struct Arguments {
  MTLGPUAddress data, out;
};

// Records reader() over 64 numbers of a buffer that only the argument buffer names.
void encodeReader(id<MTLComputeCommandEncoder> encoder, id<MTLBuffer> data, id<MTLBuffer> out) {
  for (uint32_t i = 0; i < 64; i++) ((uint32_t *)[data contents])[i] = i * 5;
  const Arguments arguments = {[data gpuAddress], [out gpuAddress]};
  [encoder setComputePipelineState:reader()];
  [encoder setBytes:&arguments length:sizeof arguments atIndex:0];
  [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
}

void checkRead(id<MTLCommandBuffer> commandBuffer, id<MTLBuffer> out) {
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
  for (uint32_t i = 0; i < 64; i++) CHECK_EQUAL(((uint32_t *)[out contents])[i], i * 5 + 1);
}

// ------------------------------------------------------------------ sets

void a_residency_set_tells_of_itself() {
  MTLResidencySetDescriptor *descriptor = [[[MTLResidencySetDescriptor alloc] init] autorelease];
  CHECK([descriptor label] == nil);
  CHECK_EQUAL([descriptor initialCapacity], 0);
  [descriptor setLabel:@"weights"];
  [descriptor setInitialCapacity:100];
  MTLResidencySetDescriptor *copy = [[descriptor copy] autorelease];
  [descriptor setLabel:@"other"];
  CHECK_EQUAL([copy initialCapacity], 100);
  id<MTLResidencySet> set = [[device() newResidencySetWithDescriptor:copy error:nullptr] autorelease];
  CHECK([[set label] isEqualToString:@"weights"]);
  CHECK([set device] == device());
  CHECK([set conformsToProtocol:objc_getProtocol("MTLResidencySet")]);
  CHECK_EQUAL([set allocationCount], 0);
  CHECK_EQUAL([set allocatedSize], 0);
  CHECK_RAISES([device() newResidencySetWithDescriptor:(MTLResidencySetDescriptor *)nil error:nullptr],
               @"newResidencySetWithDescriptor:", @"nil");
}

// What is added belongs to the set at once and is committed later; what is removed belongs to it until the commit.
void changes_of_a_set_take_effect_at_its_commit() {
  id<MTLResidencySet> set = residencySet();
  id<MTLBuffer> a = buffer(4096), b = buffer(8192);
  id<MTLHeap> h = heap();
  [set addAllocation:a];
  [set addAllocation:a];
  const id<MTLAllocation> more[] = {b, h};
  [set addAllocations:more count:2];
  CHECK_EQUAL([set allocationCount], 3);
  CHECK([set containsAllocation:a] && [set containsAllocation:h]);
  CHECK_EQUAL([[set allAllocations] count], 3);
  CHECK_EQUAL([set allocatedSize], 0);
  [set commit];
  CHECK_EQUAL([set allocatedSize], [a allocatedSize] + [b allocatedSize] + [h allocatedSize]);
  [set removeAllocation:a];
  [set removeAllocations:more count:1];
  CHECK([set containsAllocation:a]);
  [set addAllocation:b];  // stays after all
  [set commit];
  CHECK(![set containsAllocation:a] && [set containsAllocation:b]);
  CHECK_EQUAL([set allocatedSize], [b allocatedSize] + [h allocatedSize]);
  [set removeAllAllocations];
  CHECK_EQUAL([set allocationCount], 2);
  [set commit];
  CHECK_EQUAL([set allocationCount], 0);
  CHECK_EQUAL([set allocatedSize], 0);
  [set requestResidency];
  [set endResidency];
}

void misuse_of_residency_sets_raises() {
  id<MTLResidencySet> set = residencySet();
  CHECK_RAISES([set addAllocation:(id<MTLAllocation>)nil], @"addAllocations:", @"nil");
  CHECK_RAISES([set addAllocations:(const id<MTLAllocation> *)nullptr count:1], @"addAllocations:", @"NULL");
  CHECK_RAISES([set removeAllocation:(id<MTLAllocation>)nil], @"removeAllocations:", @"nil");
  CHECK_RAISES([set containsAllocation:(id<MTLAllocation>)nil], @"containsAllocation:", @"nil");
  CHECK_RAISES([set addAllocation:(id<MTLAllocation>)@"text"], @"addAllocations:", @"resource or a heap");
  id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
  CHECK_RAISES([queue addResidencySet:(id<MTLResidencySet>)nil], @"addResidencySet:", @"of this device");
  CHECK_RAISES([queue addResidencySets:(const id<MTLResidencySet> *)nullptr count:1], @"addResidencySets:", @"NULL");
  for (int i = 0; i < 32; i++) [queue addResidencySet:residencySet()];
  CHECK_RAISES([queue addResidencySet:set], @"addResidencySet:", @"at most 32");
  id<MTLCommandBuffer> commandBuffer = [queue commandBuffer];
  [commandBuffer useResidencySet:set];
  [commandBuffer commit];
  CHECK_RAISES([commandBuffer useResidencySet:set], @"useResidencySet:", @"committed");
  [commandBuffer waitUntilCompleted];
}

// ------------------------------------------------------------------ what is kept

void a_queues_sets_keep_what_its_work_uses() {
  const NSUInteger before = [device() currentAllocatedSize];
  @autoreleasepool {
    id<MTLBuffer> out = buffer(256);
    id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
    id<MTLCommandBuffer> commandBuffer = nil;
    id<MTLResidencySet> set = residencySet();
    const id<MTLResidencySet> sets[] = {set, set};
    [queue addResidencySets:sets count:2];
    @autoreleasepool {
      id<MTLBuffer> data = buffer(256);
      [set addAllocation:data];
      [set commit];
      commandBuffer = [[queue commandBuffer] retain];
      id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
      encodeReader(encoder, data, out);
      [encoder endEncoding];
    }
    // It has left the set, and the queue its set, by the time that the work may run; what counts is the commit.
    [commandBuffer addScheduledHandler:^(id<MTLCommandBuffer>) {
      [set removeAllAllocations];
      [set commit];
      [queue removeResidencySet:set];
    }];
    checkRead(commandBuffer, out);
    [commandBuffer release];
    CHECK_EQUAL([set allocationCount], 0);
    [queue removeResidencySets:sets count:2];  // it is none of the queue's any more
  }
  CHECK_EQUAL([device() currentAllocatedSize], before);
}

void a_command_buffers_sets_and_resources_are_kept_until_it_completes() {
  const NSUInteger before = [device() currentAllocatedSize];
  for (int how = 0; how < 4; how++) {
    @autoreleasepool {
      id<MTLBuffer> out = buffer(256);
      id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
      id<MTLCommandBuffer> commandBuffer = nil;
      NSUInteger held = 0;
      @autoreleasepool {
        commandBuffer = [[queue commandBuffer] retain];
        id<MTLHeap> h = heap();
        id<MTLBuffer> data = how == 3 ? [[h newBufferWithLength:256 options:0] autorelease] : buffer(256);
        if (how == 0) {
          id<MTLResidencySet> set = residencySet();
          [set addAllocation:data];
          [set commit];
          [commandBuffer useResidencySets:&set count:1];
        }
        id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
        const id<MTLResource> resources[] = {data, out};
        if (how == 1) [encoder useResource:data usage:MTLResourceUsageRead];
        if (how == 2) [encoder useResources:resources count:2 usage:MTLResourceUsageRead | MTLResourceUsageWrite];
        if (how == 3) [encoder useHeap:h];
        encodeReader(encoder, data, out);
        [encoder endEncoding];
        held = how == 3 ? [h allocatedSize] : [data allocatedSize];
      }
      CHECK_EQUAL([device() currentAllocatedSize], before + [out allocatedSize] + held);
      checkRead(commandBuffer, out);
      [commandBuffer release];
    }
    CHECK_EQUAL([device() currentAllocatedSize], before);
  }
}

void an_uncommitted_command_buffer_gives_back_what_it_was_told_of() {
  const NSUInteger before = [device() currentAllocatedSize];
  @autoreleasepool {
    id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    [encoder useResource:buffer(4096) usage:MTLResourceUsageWrite];
    [encoder endEncoding];
    id<MTLResidencySet> set = residencySet();
    [set addAllocation:buffer(4096)];
    [commandBuffer useResidencySet:set];
  }
  CHECK_EQUAL([device() currentAllocatedSize], before);
}

// Sets come and go on a queue, and members in a set, while other threads commit work that uses them.
struct Changes {
  id<MTLCommandQueue> queue;
  id<MTLResidencySet> shared;
  int failed;
};

void *changeAndCommit(void *context) {
  Changes *const changes = (Changes *)context;
  for (int round = 0; round < 100; round++) {
    @autoreleasepool {
      id<MTLResidencySet> own = residencySet();
      id<MTLBuffer> target = buffer(64);
      [own addAllocation:target];
      [own commit];
      [changes->queue addResidencySet:own];
      [changes->shared addAllocation:target];
      [changes->shared commit];
      id<MTLCommandBuffer> commandBuffer = [changes->queue commandBuffer];
      [commandBuffer useResidencySet:own];
      id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
      [encoder fillBuffer:target range:NSMakeRange(0, 64) value:(uint8_t)round];
      [encoder endEncoding];
      [commandBuffer commit];
      [changes->queue removeResidencySet:own];
      [changes->shared removeAllocation:target];
      [changes->shared commit];
      [commandBuffer waitUntilCompleted];
      const bool right = [commandBuffer status] == MTLCommandBufferStatusCompleted && ((uint8_t *)[target contents])[63] == round;
      if (!right) __atomic_fetch_add(&changes->failed, 1, __ATOMIC_RELAXED);
    }
  }
  return nullptr;
}

void many_threads_change_residency_sets() {
  const NSUInteger before = [device() currentAllocatedSize];
  @autoreleasepool {
    Changes changes = {[[device() newCommandQueue] autorelease], residencySet(), 0};
    [changes.queue addResidencySet:changes.shared];
    pthread_t threads[4];
    for (pthread_t &thread : threads) pthread_create(&thread, nullptr, changeAndCommit, &changes);
    for (pthread_t &thread : threads) pthread_join(thread, nullptr);
    CHECK_EQUAL(changes.failed, 0);
    CHECK_EQUAL([changes.shared allocationCount], 0);
  }
  CHECK_EQUAL([device() currentAllocatedSize], before);
}

void misuse_of_used_resources_raises() {
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  id<MTLBuffer> b = buffer(4);
  CHECK_RAISES([encoder useResource:(id<MTLResource>)nil usage:MTLResourceUsageRead], @"useResource:", @"nil");
  CHECK_RAISES([encoder useResource:b usage:(MTLResourceUsage)8], @"useResource:", @"usage");
  CHECK_RAISES([encoder useResources:(const id<MTLResource> *)nullptr count:1 usage:MTLResourceUsageRead], @"useResources:", @"NULL");
  CHECK_RAISES([encoder useHeap:(id<MTLHeap>)nil], @"useHeap:", @"nil");
  CHECK_RAISES([encoder useHeaps:(const id<MTLHeap> *)nullptr count:1], @"useHeaps:", @"NULL");
  [encoder endEncoding];
  CHECK_RAISES([encoder useResource:b usage:MTLResourceUsageRead], @"useResource:", @"ended");
  CHECK_RAISES([encoder useHeap:heap()], @"useHeap:", @"ended");
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase residency_cases[] = {
    CASE(a_residency_set_tells_of_itself),
    CASE(changes_of_a_set_take_effect_at_its_commit),
    CASE(misuse_of_residency_sets_raises),
    CASE(a_queues_sets_keep_what_its_work_uses),
    CASE(a_command_buffers_sets_and_resources_are_kept_until_it_completes),
    CASE(an_uncommitted_command_buffer_gives_back_what_it_was_told_of),
    CASE(many_threads_change_residency_sets),
    CASE(misuse_of_used_resources_raises),
    {nullptr, nullptr},
};
