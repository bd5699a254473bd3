// Cases of events, fences, indirect dispatches, samples of the clock, pass descriptors and capture.
#import "faces.h"

#include <atomic>
#include <cstring>
#include <dispatch/dispatch.h>

namespace {

id<MTLCommandQueue> queue() {
  return [[device() newCommandQueue] autorelease];
}

id<MTLBuffer> buffer(NSUInteger length, MTLResourceOptions options = MTLResourceStorageModeShared) {
  return [[device() newBufferWithLength:length options:options] autorelease];
}

id<MTLSharedEvent> sharedEvent() {
  return [[device() newSharedEvent] autorelease];
}

constexpr uint64_t LONG = 120000;  // milliseconds; no failure to be so slow

void fill(id<MTLCommandBuffer> commandBuffer, id<MTLBuffer> target, uint8_t value) {
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  [encoder fillBuffer:target range:NSMakeRange(0, [target length]) value:value];
  [encoder endEncoding];
}

void copy(id<MTLCommandBuffer> commandBuffer, id<MTLBuffer> source, id<MTLBuffer> target) {
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  [encoder copyFromBuffer:source sourceOffset:0 toBuffer:target destinationOffset:0 size:[target length]];
  [encoder endEncoding];
}

// ------------------------------------------------------------------ events

void an_event_orders_two_queues() {
  id<MTLEvent> event = [[device() newEvent] autorelease];
  CHECK([event device] == device());
  CHECK([event label] == nil);
  CHECK(![event conformsToProtocol:objc_getProtocol("MTLSharedEvent")]);
  id<MTLBuffer> source = buffer(64), target = buffer(64);
  id<MTLCommandBuffer> consumer = [queue() commandBuffer], producer = [queue() commandBuffer];
  [consumer encodeWaitForEvent:event value:1];
  copy(consumer, source, target);
  [consumer commit];
  fill(producer, source, 7);
  [producer encodeSignalEvent:event value:1];
  [producer commit];
  [consumer waitUntilCompleted];
  CHECK_EQUAL([consumer status], MTLCommandBufferStatusCompleted);
  CHECK_EQUAL(((const uint8_t *)[target contents])[63], 7);
}

void the_host_and_a_command_buffer_signal_each_other() {
  id<MTLSharedEvent> event = sharedEvent();
  CHECK([event conformsToProtocol:objc_getProtocol("MTLSharedEvent")]);
  CHECK_EQUAL([event signaledValue], 0);
  CHECK(![event waitUntilSignaledValue:1 timeoutMS:0]);
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  [commandBuffer encodeWaitForEvent:event value:5];
  [commandBuffer encodeSignalEvent:event value:6];
  [commandBuffer commit];
  [commandBuffer waitUntilScheduled];
  CHECK_EQUAL([event signaledValue], 0);
  [event setSignaledValue:5];
  CHECK([event waitUntilSignaledValue:6 timeoutMS:LONG]);
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([event signaledValue], 6);
  [event setSignaledValue:2];
  CHECK_EQUAL([event signaledValue], 6);
}

void misuse_of_events_raises() {
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  id<MTLSharedEvent> event = sharedEvent();
  NSObject *stranger = [[[NSObject alloc] init] autorelease];
  CHECK_RAISES([commandBuffer encodeSignalEvent:(id<MTLEvent>)nil value:1], @"encodeSignalEvent:value:", @"event");
  CHECK_RAISES([commandBuffer encodeWaitForEvent:(id<MTLEvent>)stranger value:1], @"encodeWaitForEvent:value:", @"event");
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  CHECK_RAISES([commandBuffer encodeSignalEvent:event value:1], @"encodeSignalEvent:value:", @"between passes");
  CHECK_RAISES([commandBuffer encodeWaitForEvent:event value:1], @"encodeWaitForEvent:value:", @"between passes");
  [encoder endEncoding];
  [commandBuffer commit];
  CHECK_RAISES([commandBuffer encodeSignalEvent:event value:1], @"encodeSignalEvent:value:", @"committed");
  [commandBuffer waitUntilCompleted];
  MTLSharedEventListener *listener = [[[MTLSharedEventListener alloc] init] autorelease];
  CHECK_RAISES([event notifyListener:(MTLSharedEventListener *)nil atValue:1 block:^(id<MTLSharedEvent>, uint64_t){}],
               @"notifyListener:", @"listener");
  CHECK_RAISES([event notifyListener:listener atValue:1 block:(MTLSharedEventNotificationBlock)nil], @"notifyListener:", @"block");
  CHECK_RAISES([[MTLSharedEventListener alloc] initWithDispatchQueue:(dispatch_queue_t)nil], @"initWithDispatchQueue:", @"queue");
  CHECK_RAISES([device() newSharedEventWithHandle:(MTLSharedEventHandle *)nil], @"newSharedEventWithHandle:", @"handle");
}

void listeners_are_told_in_order_on_their_queue() {
  id<MTLSharedEvent> event = sharedEvent();
  [event setLabel:@"turns"];
  dispatch_queue_t own = dispatch_queue_create("of the case", DISPATCH_QUEUE_SERIAL);
  MTLSharedEventListener *listener = [[MTLSharedEventListener alloc] initWithDispatchQueue:own];
  CHECK([listener dispatchQueue] == own);
  __block std::string told;
  @autoreleasepool {
    Probe *probe = [[[Probe alloc] init] autorelease];
    for (uint64_t at = 3; at > 0; at--)
      [event notifyListener:listener
                    atValue:at
                      block:^(id<MTLSharedEvent> reached, uint64_t value) {
                        (void)[probe self];
                        CHECK([reached isEqual:event] && [[reached label] isEqualToString:@"turns"]);
                        CHECK([reached device] == device() && [reached signaledValue] >= value);
                        CHECK_EQUAL([reached hash], [event hash]);
                        told += std::to_string(at) + "@" + std::to_string(value) + " ";
                        if (at == 3) [reached setSignaledValue:10];
                      }];
    [event setSignaledValue:1];
    id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
    [commandBuffer encodeSignalEvent:event value:4];
    [commandBuffer commit];
    CHECK([event waitUntilSignaledValue:10 timeoutMS:LONG]);
    [event notifyListener:listener
                  atValue:8
                    block:^(id<MTLSharedEvent>, uint64_t value) { told += "8@" + std::to_string(value); }];
    dispatch_sync(own, ^{});
    [commandBuffer waitUntilCompleted];
  }
  CHECK(told == "1@1 2@4 3@4 8@10");
  [listener release];
  dispatch_release(own);
  [Probe awaitNone];
}

void a_listener_has_a_queue_of_its_own() {
  MTLSharedEventListener *listener = [[[MTLSharedEventListener alloc] init] autorelease];
  CHECK([listener dispatchQueue] != nil);
  CHECK([MTLSharedEventListener sharedListener] == [MTLSharedEventListener sharedListener]);
  CHECK([[MTLSharedEventListener sharedListener] dispatchQueue] != [listener dispatchQueue]);
  for (MTLSharedEventListener *one in @[ listener, [MTLSharedEventListener sharedListener] ]) {
    id<MTLSharedEvent> event = sharedEvent(), answer = sharedEvent();
    [event notifyListener:one
                  atValue:1
                    block:^(id<MTLSharedEvent>, uint64_t value) { [answer setSignaledValue:value]; }];
    [event setSignaledValue:1];
    CHECK([answer waitUntilSignaledValue:1 timeoutMS:LONG]);
  }
}

void a_notification_that_never_comes_goes_with_its_event() {
  @autoreleasepool {
    MTLSharedEventListener *listener = [[[MTLSharedEventListener alloc] init] autorelease];
    id<MTLSharedEvent> event = sharedEvent();
    Probe *probe = [[[Probe alloc] init] autorelease];
    [event notifyListener:listener atValue:1 block:^(id<MTLSharedEvent>, uint64_t) { (void)[probe self]; }];
  }
  CHECK_EQUAL([Probe living], 0);
}

void a_handle_makes_another_face_of_an_event() {
  id<MTLSharedEvent> event = sharedEvent();
  [event setLabel:@"of two"];
  MTLSharedEventHandle *handle = [[event newSharedEventHandle] autorelease];
  CHECK([[handle label] isEqualToString:@"of two"]);
  id<MTLSharedEvent> other = [[device() newSharedEventWithHandle:handle] autorelease];
  CHECK(other != event && [other isEqual:event] && ![other isEqual:sharedEvent()]);
  [event setSignaledValue:3];
  CHECK_EQUAL([other signaledValue], 3);
  [other setLabel:nil];
  CHECK([event label] == nil);
}

void an_event_that_is_released_still_works_for_its_command_buffers() {
  id<MTLBuffer> target = buffer(16);
  id<MTLCommandBuffer> waiting = nil, signaling = nil;
  @autoreleasepool {
    id<MTLSharedEvent> event = sharedEvent();
    waiting = [[queue() commandBuffer] retain];
    [waiting encodeWaitForEvent:event value:1];
    fill(waiting, target, 9);
    [waiting commit];
    signaling = [[queue() commandBuffer] retain];
    [signaling encodeSignalEvent:event value:1];
  }
  [signaling commit];
  [waiting waitUntilCompleted];
  CHECK_EQUAL(*(const uint8_t *)[target contents], 9);
  [waiting release];
  [signaling release];
}

// ------------------------------------------------------------------ fences

void fences_are_waited_for_before_they_are_updated() {
  id<MTLFence> fence = [[device() newFence] autorelease];
  CHECK([fence device] == device());
  [fence setLabel:@"fence"];
  CHECK([[fence label] isEqualToString:@"fence"]);
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  id<MTLComputeCommandEncoder> first = [commandBuffer computeCommandEncoder];
  [first waitForFence:fence];
  [first updateFence:fence];
  CHECK_RAISES([first waitForFence:fence], @"waitForFence:", @"wait first");
  CHECK_RAISES([first updateFence:(id<MTLFence>)nil], @"updateFence:", @"fence");
  [first endEncoding];
  CHECK_RAISES([first updateFence:fence], @"updateFence:", @"endEncoding");
  id<MTLBlitCommandEncoder> second = [commandBuffer blitCommandEncoder];
  [second waitForFence:fence];
  [second updateFence:fence];
  CHECK_RAISES([second waitForFence:fence], @"waitForFence:", @"wait first");
  [second endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
}

// ------------------------------------------------------------------ indirect dispatch

void an_indirect_dispatch_takes_its_grid_from_a_kernel() {
  NSString *source = @"#include <metal_stdlib>\nusing namespace metal;\n"
                     @"kernel void choose(device uint *grid [[buffer(0)]], constant uint3 &wanted [[buffer(1)]]) {\n"
                     @"  grid[0] = wanted.x; grid[1] = wanted.y; grid[2] = wanted.z;\n}\n"
                     @"kernel void count(device atomic_uint *n [[buffer(0)]], uint3 threads [[threads_per_grid]],\n"
                     @"                  uint3 groups [[threadgroups_per_grid]]) {\n"
                     @"  atomic_fetch_add_explicit(n, 1, memory_order_relaxed);\n"
                     @"  if (threads.x != groups.x * 4 || threads.z != groups.z) atomic_store_explicit(n + 1, 1, memory_order_relaxed);\n"
                     @"}\n";
  NSError *error = nil;
  id<MTLLibrary> library = [[device() newLibraryWithSource:source options:nil error:&error] autorelease];
  CHECK(library != nil);
  id<MTLComputePipelineState> choose = [[device()
      newComputePipelineStateWithFunction:[[library newFunctionWithName:@"choose"] autorelease]
                                    error:&error] autorelease];
  id<MTLComputePipelineState> count = [[device()
      newComputePipelineStateWithFunction:[[library newFunctionWithName:@"count"] autorelease]
                                    error:&error] autorelease];
  CHECK(choose != nil && count != nil);
  if (!choose || !count) return;
  id<MTLBuffer> grid = buffer(sizeof(MTLDispatchThreadgroupsIndirectArguments)), counts = buffer(8);
  memset([grid contents], 0xff, [grid length]);
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:choose];
  [encoder setBuffer:grid offset:0 atIndex:0];
  const uint32_t wanted[4] = {3, 5, 2, 0};
  [encoder setBytes:wanted length:sizeof wanted atIndex:1];
  [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  [encoder setComputePipelineState:count];
  [encoder setBuffer:counts offset:0 atIndex:0];
  CHECK_RAISES([encoder dispatchThreadgroupsWithIndirectBuffer:grid
                                          indirectBufferOffset:4
                                         threadsPerThreadgroup:MTLSizeMake(4, 1, 1)],
               @"dispatchThreadgroupsWithIndirectBuffer:", @"length");
  CHECK_RAISES([encoder dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)nil
                                          indirectBufferOffset:0
                                         threadsPerThreadgroup:MTLSizeMake(4, 1, 1)],
               @"dispatchThreadgroupsWithIndirectBuffer:", @"nil");
  [encoder dispatchThreadgroupsWithIndirectBuffer:grid indirectBufferOffset:0 threadsPerThreadgroup:MTLSizeMake(4, 2, 1)];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK([commandBuffer error] == nil);
  CHECK_EQUAL(((const uint32_t *)[counts contents])[0], 3 * 5 * 2 * 8);
  CHECK_EQUAL(((const uint32_t *)[counts contents])[1], 0);
}

void a_stage_in_region_is_what_kernels_see() {
  NSString *source = @"kernel void see(device metal::uint3 *out [[buffer(0)]], constant uint &at [[buffer(1)]],\n"
                      "                metal::uint3 origin [[grid_origin]], metal::uint3 size [[grid_size]]) {\n"
                      "  out[at * 2] = origin; out[at * 2 + 1] = size; }\n";
  NSError *error = nil;
  id<MTLLibrary> library = [[device() newLibraryWithSource:source options:nil error:&error] autorelease];
  id<MTLFunction> function = [[library newFunctionWithName:@"see"] autorelease];
  id<MTLComputePipelineState> see = [[device() newComputePipelineStateWithFunction:function error:&error] autorelease];
  CHECK(see != nil);
  if (!see) return;
  id<MTLBuffer> seen = buffer(64), region = buffer(sizeof(MTLStageInRegionIndirectArguments));
  *(MTLStageInRegionIndirectArguments *)[region contents] = {{1, 2, 3}, {4, 5, 6}};
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:see];
  [encoder setBuffer:seen offset:0 atIndex:0];
  for (uint32_t at = 0; at < 2; at++) {
    if (at == 0) [encoder setStageInRegion:MTLRegionMake3D(7, 8, 9, 10, 11, 12)];
    else [encoder setStageInRegionWithIndirectBuffer:region indirectBufferOffset:0];
    [encoder setBytes:&at length:sizeof at atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  }
  CHECK_RAISES([encoder setStageInRegionWithIndirectBuffer:region indirectBufferOffset:4], @"setStageInRegion", @"length");
  CHECK_RAISES([encoder setStageInRegionWithIndirectBuffer:(id<MTLBuffer>)nil indirectBufferOffset:0], @"setStageInRegion", @"nil");
  CHECK_RAISES([encoder setStageInRegion:MTLRegionMake1D(1ull << 32, 1)], @"setStageInRegion:", @"2^32");
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK([commandBuffer error] == nil);
  const uint32_t expected[16] = {7, 8, 9, 0, 10, 11, 12, 0, 1, 2, 3, 0, 4, 5, 6, 0};
  for (int i = 0; i < 16; i++)
    if (i % 4 < 3) CHECK_EQUAL(((const uint32_t *)[seen contents])[i], expected[i]);
}

// ------------------------------------------------------------------ counters

MTLCounterSampleBufferDescriptor *sampleDescriptor(NSUInteger count) {
  MTLCounterSampleBufferDescriptor *descriptor = [[[MTLCounterSampleBufferDescriptor alloc] init] autorelease];
  [descriptor setCounterSet:[[device() counterSets] objectAtIndex:0]];
  [descriptor setSampleCount:count];
  [descriptor setLabel:@"times"];
  return descriptor;
}

void the_device_counts_time() {
  CHECK_EQUAL([[device() counterSets] count], 1);
  id<MTLCounterSet> set = [[device() counterSets] objectAtIndex:0];
  CHECK([[set name] isEqualToString:MTLCommonCounterSetTimestamp]);
  // What other devices have is not among them, and has names all the same.
  for (NSString *other in @[ MTLCommonCounterSetStatistic, MTLCommonCounterSetStageUtilization, MTLCommonCounterTotalCycles,
                             MTLCommonCounterComputeKernelInvocations ])
    CHECK([other length] > 0 && ![[set name] isEqualToString:other] && ![other isEqualToString:MTLCommonCounterTimestamp]);
  CHECK_EQUAL(sizeof(MTLCounterResultStatistic), 64);
  CHECK_EQUAL(sizeof(MTLCounterResultStageUtilization), 48);
  CHECK_EQUAL([[set counters] count], 1);
  CHECK([[[[set counters] objectAtIndex:0] name] isEqualToString:MTLCommonCounterTimestamp]);
  CHECK([device() supportsCounterSampling:MTLCounterSamplingPointAtStageBoundary]);
  CHECK([device() supportsCounterSampling:MTLCounterSamplingPointAtDispatchBoundary]);
  CHECK([device() supportsCounterSampling:MTLCounterSamplingPointAtBlitBoundary]);
  CHECK(![device() supportsCounterSampling:MTLCounterSamplingPointAtDrawBoundary]);
  CHECK(![device() supportsCounterSampling:MTLCounterSamplingPointAtTileDispatchBoundary]);
  MTLTimestamp cpu = 0, gpu = 0, later = 0;
  [device() sampleTimestamps:&cpu gpuTimestamp:&gpu];
  CHECK(cpu > 0 && gpu == cpu);
  [device() sampleTimestamps:&later gpuTimestamp:&gpu];
  CHECK(later >= cpu);
  CHECK_EQUAL([device() queryTimestampFrequency], 1000000000);
}

void sample_buffers_are_made_by_descriptor() {
  NSError *error = nil;
  MTLCounterSampleBufferDescriptor *descriptor = sampleDescriptor(4);
  MTLCounterSampleBufferDescriptor *copied = [[descriptor copy] autorelease];
  [descriptor setSampleCount:1];
  id<MTLCounterSampleBuffer> samples = [[device() newCounterSampleBufferWithDescriptor:copied error:&error] autorelease];
  CHECK(samples != nil && error == nil);
  CHECK([samples device] == device());
  CHECK([[samples label] isEqualToString:@"times"]);
  CHECK_EQUAL([samples sampleCount], 4);
  NSData *data = [samples resolveCounterRange:NSMakeRange(1, 3)];
  CHECK_EQUAL([data length], 3 * sizeof(MTLCounterResultTimestamp));
  CHECK(((const MTLCounterResultTimestamp *)[data bytes])->timestamp == MTLCounterErrorValue);
  CHECK_RAISES([samples resolveCounterRange:NSMakeRange(2, 3)], @"resolveCounterRange:", @"range");
  [copied setStorageMode:MTLStorageModePrivate];
  samples = [[device() newCounterSampleBufferWithDescriptor:copied error:&error] autorelease];
  CHECK_RAISES([samples resolveCounterRange:NSMakeRange(0, 1)], @"resolveCounterRange:", @"shared");
  const auto refused = [&](MTLCounterSampleBufferError code) {
    NSError *why = nil;
    CHECK([device() newCounterSampleBufferWithDescriptor:descriptor error:&why] == nil);
    CHECK([[why domain] isEqualToString:MTLCounterErrorDomain]);
    CHECK_EQUAL([why code], code);
  };
  [descriptor setSampleCount:0];
  refused(MTLCounterSampleBufferErrorInvalid);
  [descriptor setSampleCount:NSUIntegerMax / 2];
  refused(MTLCounterSampleBufferErrorOutOfMemory);
  [descriptor setSampleCount:1];
  [descriptor setStorageMode:MTLStorageModeManaged];
  refused(MTLCounterSampleBufferErrorInvalid);
  [descriptor setStorageMode:MTLStorageModeShared];
  [descriptor setCounterSet:nil];
  refused(MTLCounterSampleBufferErrorInvalid);
}

void passes_take_samples_in_order() {
  NSError *error = nil;
  id<MTLCounterSampleBuffer> samples = [[device() newCounterSampleBufferWithDescriptor:sampleDescriptor(8)
                                                                                  error:&error] autorelease];
  MTLComputePassDescriptor *compute = [MTLComputePassDescriptor computePassDescriptor];
  CHECK_EQUAL([compute dispatchType], MTLDispatchTypeSerial);
  [compute setDispatchType:MTLDispatchTypeConcurrent];
  MTLComputePassSampleBufferAttachmentDescriptor *at = [[compute sampleBufferAttachments] objectAtIndexedSubscript:0];
  CHECK([at sampleBuffer] == nil);
  [at setSampleBuffer:samples];
  [at setStartOfEncoderSampleIndex:0];
  [at setEndOfEncoderSampleIndex:2];
  MTLComputePassDescriptor *copied = [[compute copy] autorelease];
  [at setEndOfEncoderSampleIndex:MTLCounterDontSample];
  MTLBlitPassDescriptor *blit = [MTLBlitPassDescriptor blitPassDescriptor];
  MTLBlitPassSampleBufferAttachmentDescriptor *blitAt = [[[MTLBlitPassSampleBufferAttachmentDescriptor alloc] init] autorelease];
  [blitAt setSampleBuffer:samples];
  [blitAt setStartOfEncoderSampleIndex:3];
  [blitAt setEndOfEncoderSampleIndex:MTLCounterDontSample];
  [[blit sampleBufferAttachments] setObject:blitAt atIndexedSubscript:3];
  CHECK_RAISES([[blit sampleBufferAttachments] objectAtIndexedSubscript:4], @"objectAtIndexedSubscript:", @"4");
  id<MTLBuffer> resolved = buffer(48);
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoderWithDescriptor:copied];
  CHECK_EQUAL([encoder dispatchType], MTLDispatchTypeConcurrent);
  [encoder sampleCountersInBuffer:samples atSampleIndex:1 withBarrier:YES];
  CHECK_RAISES([encoder sampleCountersInBuffer:samples atSampleIndex:8 withBarrier:NO], @"sampleCountersInBuffer:", @"sampleCount");
  CHECK_RAISES([encoder sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)nil atSampleIndex:0 withBarrier:NO],
               @"sampleCountersInBuffer:", @"sample buffer");
  [encoder endEncoding];
  id<MTLBlitCommandEncoder> blitEncoder = [commandBuffer blitCommandEncoderWithDescriptor:blit];
  [blitEncoder sampleCountersInBuffer:samples atSampleIndex:4 withBarrier:NO];
  [blitEncoder resolveCounters:samples inRange:NSMakeRange(0, 5) destinationBuffer:resolved destinationOffset:8];
  CHECK_RAISES([blitEncoder resolveCounters:samples inRange:NSMakeRange(4, 5) destinationBuffer:resolved destinationOffset:0],
               @"resolveCounters:", @"range");
  CHECK_RAISES([blitEncoder resolveCounters:samples inRange:NSMakeRange(0, 5) destinationBuffer:resolved destinationOffset:16],
               @"resolveCounters:", @"length");
  [blitEncoder endEncoding];
  [blitAt setEndOfEncoderSampleIndex:8];
  [[blit sampleBufferAttachments] setObject:blitAt atIndexedSubscript:3];
  CHECK_RAISES([commandBuffer blitCommandEncoderWithDescriptor:blit], @"blitCommandEncoderWithDescriptor:", @"sampleCount");
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK([commandBuffer error] == nil);
  const uint64_t *times = (const uint64_t *)[[samples resolveCounterRange:NSMakeRange(0, 8)] bytes];
  for (int i = 1; i < 5; i++) CHECK(times[i] >= times[i - 1]);
  CHECK(times[4] != MTLCounterErrorValue && times[5] == MTLCounterErrorValue);
  CHECK_EQUAL(memcmp((const uint64_t *)[resolved contents] + 1, times, 40), 0);
  CHECK_EQUAL(*(const uint64_t *)[resolved contents], 0);
  // On the clock of the command buffer's own times.
  CHECK(times[0] / 1e9 >= [commandBuffer GPUStartTime] - 1e-6 && times[4] / 1e9 <= [commandBuffer GPUEndTime] + 1e-6);
}

// ------------------------------------------------------------------ blits

void mipmaps_are_generated() {
  MTLTextureDescriptor *descriptor = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR8Unorm
                                                                                        width:2
                                                                                       height:2
                                                                                    mipmapped:YES];
  id<MTLTexture> texture = [[device() newTextureWithDescriptor:descriptor] autorelease];
  const uint8_t texels[4] = {10, 20, 30, 40};
  [texture replaceRegion:MTLRegionMake2D(0, 0, 2, 2) mipmapLevel:0 withBytes:texels bytesPerRow:2];
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  CHECK_RAISES([encoder generateMipmapsForTexture:(id<MTLTexture>)nil], @"generateMipmapsForTexture:", @"texture");
  [encoder generateMipmapsForTexture:texture];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  uint8_t smallest = 0;
  [texture getBytes:&smallest bytesPerRow:1 fromRegion:MTLRegionMake2D(0, 0, 1, 1) mipmapLevel:1];
  CHECK_EQUAL(smallest, 25);
}

void levels_and_slices_are_copied_by_range() {
  MTLTextureDescriptor *descriptor = [[[MTLTextureDescriptor alloc] init] autorelease];
  [descriptor setTextureType:MTLTextureType2DArray];
  [descriptor setPixelFormat:MTLPixelFormatR8Uint];
  [descriptor setWidth:4];
  [descriptor setHeight:4];
  [descriptor setArrayLength:3];
  [descriptor setMipmapLevelCount:3];
  [descriptor setStorageMode:MTLStorageModeManaged];
  id<MTLTexture> source = [[device() newTextureWithDescriptor:descriptor] autorelease];
  [descriptor setWidth:2];
  [descriptor setHeight:2];
  [descriptor setArrayLength:2];
  [descriptor setMipmapLevelCount:2];
  id<MTLTexture> target = [[device() newTextureWithDescriptor:descriptor] autorelease];
  for (NSUInteger slice = 0; slice < 3; slice++)
    for (NSUInteger level = 0; level < 3; level++) {
      uint8_t texels[16];
      memset(texels, (int)(slice * 10 + level + 1), sizeof texels);
      const NSUInteger size = 4 >> level;
      [source replaceRegion:MTLRegionMake2D(0, 0, size, size)
                mipmapLevel:level
                      slice:slice
                  withBytes:texels
                bytesPerRow:size
              bytesPerImage:0];
    }
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  [encoder copyFromTexture:source
               sourceSlice:1
               sourceLevel:1
                 toTexture:target
          destinationSlice:0
          destinationLevel:0
                sliceCount:2
                levelCount:2];
  CHECK_RAISES([encoder copyFromTexture:source
                            sourceSlice:2
                            sourceLevel:1
                              toTexture:target
                       destinationSlice:0
                       destinationLevel:0
                             sliceCount:2
                             levelCount:2],
               @"sliceCount", @"slices");
  CHECK_RAISES([encoder copyFromTexture:source
                            sourceSlice:1
                            sourceLevel:2
                              toTexture:target
                       destinationSlice:0
                       destinationLevel:0
                             sliceCount:1
                             levelCount:2],
               @"levelCount", @"levels");
  CHECK_RAISES([encoder copyFromTexture:source
                            sourceSlice:0
                            sourceLevel:0
                              toTexture:target
                       destinationSlice:0
                       destinationLevel:0
                             sliceCount:1
                             levelCount:1],
               @"levelCount", @"same sizes");
  [encoder synchronizeTexture:target slice:1 level:1];
  CHECK_RAISES([encoder synchronizeTexture:target slice:2 level:0], @"synchronizeTexture:", @"slice");
  MTLTextureDescriptor *faces = [MTLTextureDescriptor textureCubeDescriptorWithPixelFormat:MTLPixelFormatR8Unorm size:4 mipmapped:NO];
  [faces setStorageMode:MTLStorageModeManaged];
  id<MTLTexture> cube = [[device() newTextureWithDescriptor:faces] autorelease];
  [encoder synchronizeTexture:cube slice:5 level:0];
  [encoder optimizeContentsForGPUAccess:cube slice:5 level:0];
  CHECK_RAISES([encoder synchronizeTexture:cube slice:6 level:0], @"synchronizeTexture:", @"slice");
  [encoder optimizeContentsForCPUAccess:target];
  [encoder optimizeContentsForCPUAccess:target slice:1 level:1];
  [encoder optimizeContentsForGPUAccess:target];
  [encoder optimizeContentsForGPUAccess:target slice:0 level:1];
  CHECK_RAISES([encoder optimizeContentsForGPUAccess:target slice:0 level:2], @"optimizeContentsForGPUAccess:", @"level");
  CHECK_RAISES([encoder optimizeContentsForCPUAccess:(id<MTLTexture>)nil], @"optimizeContentsForCPUAccess:", @"texture");
  id<MTLBuffer> out = buffer(4);
  [encoder copyFromTexture:target
                   sourceSlice:1
                   sourceLevel:0
                  sourceOrigin:MTLOriginMake(0, 0, 0)
                    sourceSize:MTLSizeMake(2, 2, 1)
                      toBuffer:out
             destinationOffset:0
        destinationBytesPerRow:2
      destinationBytesPerImage:0
                       options:MTLBlitOptionNone];
  CHECK_RAISES([encoder copyFromTexture:target
                                sourceSlice:1
                                sourceLevel:0
                               sourceOrigin:MTLOriginMake(0, 0, 0)
                                 sourceSize:MTLSizeMake(2, 2, 1)
                                   toBuffer:out
                          destinationOffset:0
                     destinationBytesPerRow:2
                   destinationBytesPerImage:0
                                    options:MTLBlitOptionDepthFromDepthStencil],
               @"options:", @"option");
  [encoder copyFromBuffer:out
             sourceOffset:3
        sourceBytesPerRow:1
      sourceBytesPerImage:0
               sourceSize:MTLSizeMake(1, 1, 1)
                toTexture:target
         destinationSlice:0
         destinationLevel:0
        destinationOrigin:MTLOriginMake(1, 0, 0)
                  options:MTLBlitOptionNone];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK([commandBuffer error] == nil);
  const auto texel = [&](NSUInteger slice, NSUInteger level, NSUInteger x) {
    uint8_t value = 0;
    [target getBytes:&value
         bytesPerRow:1
       bytesPerImage:0
          fromRegion:MTLRegionMake2D(x, 0, 1, 1)
         mipmapLevel:level
               slice:slice];
    return value;
  };
  CHECK_EQUAL(texel(0, 0, 0), 12);
  CHECK_EQUAL(texel(0, 0, 1), 22);
  CHECK_EQUAL(texel(0, 1, 0), 13);
  CHECK_EQUAL(texel(1, 0, 0), 22);
  CHECK_EQUAL(texel(1, 1, 0), 23);
  CHECK_EQUAL(((const uint8_t *)[out contents])[3], 22);
}

// ------------------------------------------------------------------ queues, capture

void a_queue_is_made_by_descriptor() {
  MTLCommandQueueDescriptor *descriptor = [[[MTLCommandQueueDescriptor alloc] init] autorelease];
  CHECK_EQUAL([descriptor maxCommandBufferCount], 64);
  [descriptor setMaxCommandBufferCount:0];
  CHECK_RAISES([device() newCommandQueueWithDescriptor:descriptor], @"newCommandQueue", @"0");
  [descriptor setMaxCommandBufferCount:1];
  MTLCommandQueueDescriptor *copied = [[descriptor copy] autorelease];
  CHECK_EQUAL([copied maxCommandBufferCount], 1);
  id<MTLCommandQueue> made = [[device() newCommandQueueWithDescriptor:copied] autorelease];
  for (uint8_t value = 1; value < 4; value++) {
    // With room for one, the next is given out when the one before has completed.
    id<MTLBuffer> target = buffer(4);
    @autoreleasepool {
      id<MTLCommandBuffer> commandBuffer = [made commandBuffer];
      fill(commandBuffer, target, value);
      [commandBuffer commit];
    }
    @autoreleasepool {
      [made commandBuffer];
      CHECK_EQUAL(*(const uint8_t *)[target contents], value);
    }
  }
  CHECK_RAISES([device() newCommandQueueWithDescriptor:(MTLCommandQueueDescriptor *)nil], @"newCommandQueue", @"nil");
}

void capture_says_that_it_captures_nothing() {
  MTLCaptureManager *manager = [MTLCaptureManager sharedCaptureManager];
  CHECK(manager == [MTLCaptureManager sharedCaptureManager]);
  CHECK(![manager supportsDestination:MTLCaptureDestinationDeveloperTools]);
  CHECK(![manager supportsDestination:MTLCaptureDestinationGPUTraceDocument]);
  MTLCaptureDescriptor *descriptor = [[[MTLCaptureDescriptor alloc] init] autorelease];
  [descriptor setCaptureObject:device()];
  [descriptor setDestination:MTLCaptureDestinationGPUTraceDocument];
  [descriptor setOutputURL:[NSURL fileURLWithPath:@"/nowhere/x.gputrace"]];
  MTLCaptureDescriptor *copied = [[descriptor copy] autorelease];
  CHECK([copied captureObject] == device() && [[copied outputURL] isEqual:[descriptor outputURL]]);
  NSError *error = nil;
  CHECK(![manager startCaptureWithDescriptor:copied error:&error]);
  CHECK([[error domain] isEqualToString:MTLCaptureErrorDomain]);
  CHECK_EQUAL([error code], MTLCaptureErrorNotSupported);
  CHECK_CONTAINS([error localizedDescription], @"not supported");
  CHECK(![manager isCapturing]);
  [manager stopCapture];
  id<MTLCommandQueue> captured = queue();
  [manager startCaptureWithDevice:device()];
  [manager startCaptureWithCommandQueue:captured];
  [manager startCaptureWithScope:[[manager newCaptureScopeWithDevice:device()] autorelease]];
  CHECK(![manager isCapturing]);
  CHECK_RAISES([manager startCaptureWithDevice:(id<MTLDevice>)nil], @"startCaptureWithDevice:", @"nil");
  [captured insertDebugCaptureBoundary];
  id<MTLCaptureScope> scope = [[manager newCaptureScopeWithCommandQueue:captured] autorelease];
  [scope setLabel:@"scope"];
  CHECK([scope device] == device() && [scope commandQueue] == captured && [[scope label] isEqualToString:@"scope"]);
  [scope beginScope];
  [scope endScope];
  [manager setDefaultCaptureScope:scope];
  CHECK([manager defaultCaptureScope] == scope);
  [manager setDefaultCaptureScope:nil];
  CHECK([manager defaultCaptureScope] == nil);
  CHECK([[[manager newCaptureScopeWithDevice:device()] autorelease] commandQueue] == nil);
  CHECK_RAISES([manager newCaptureScopeWithDevice:(id<MTLDevice>)nil], @"newCaptureScopeWithDevice:", @"nil");
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase event_cases[] = {
    CASE(an_event_orders_two_queues),
    CASE(the_host_and_a_command_buffer_signal_each_other),
    CASE(misuse_of_events_raises),
    CASE(listeners_are_told_in_order_on_their_queue),
    CASE(a_listener_has_a_queue_of_its_own),
    CASE(a_notification_that_never_comes_goes_with_its_event),
    CASE(a_handle_makes_another_face_of_an_event),
    CASE(an_event_that_is_released_still_works_for_its_command_buffers),
    CASE(fences_are_waited_for_before_they_are_updated),
    CASE(an_indirect_dispatch_takes_its_grid_from_a_kernel),
    CASE(a_stage_in_region_is_what_kernels_see),
    CASE(the_device_counts_time),
    CASE(sample_buffers_are_made_by_descriptor),
    CASE(passes_take_samples_in_order),
    CASE(mipmaps_are_generated),
    CASE(levels_and_slices_are_copied_by_range),
    CASE(a_queue_is_made_by_descriptor),
    CASE(capture_says_that_it_captures_nothing),
    {nullptr, nullptr},
};
