// Cases of several devices with unequal limits, run with the environment that tests/faces.rs gives them, and of none.
#import "faces.h"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {
id<MTLDevice> at(NSUInteger number) {
  return [[MTLCopyAllDevices() autorelease] objectAtIndex:number];
}

id<MTLBuffer> buffer(id<MTLDevice> device, NSUInteger length) {
  return [[device newBufferWithLength:length options:MTLResourceStorageModeShared] autorelease];
}

id<MTLFunction> function(id<MTLDevice> device, NSString *source, NSString *name) {
  NSError *error = nil;
  NSString *text = [@"#include <metal_stdlib>\nusing namespace metal;\n" stringByAppendingString:source];
  id<MTLLibrary> library = [[device newLibraryWithSource:text options:nil error:&error] autorelease];
  if (!library) faces_note(__FILE__, __LINE__, [[error localizedDescription] UTF8String]);
  return [[library newFunctionWithName:name] autorelease];
}

id<MTLComputePipelineState> pipeline(id<MTLDevice> device, NSString *source, NSString *name) {
  NSError *error = nil;
  id<MTLFunction> made = function(device, source, name);
  id<MTLComputePipelineState> state =
      made ? [[device newComputePipelineStateWithFunction:made error:&error] autorelease] : nil;
  if (!state) faces_note(__FILE__, __LINE__, error ? [[error localizedDescription] UTF8String] : "no function");
  return state;
}

NSString *const COUNT = @"kernel void count(device uint *out [[buffer(0)]], threadgroup uint *part [[threadgroup(0)]],\n"
                         "    uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {\n"
                         "  part[t] = i; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = part[t] * 3 + 1;\n"
                         "}\n";

// Calls record with an open encoder; what it raises passes after the encoder has ended.
void encode(id<MTLDevice> device, void (^record)(id<MTLComputeCommandEncoder> encoder)) {
  id<MTLCommandBuffer> commandBuffer = [[[device newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  record(encoder);
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
}

// What copy records runs on a queue of the device.
void copy(id<MTLDevice> device, void (^record)(id<MTLBlitCommandEncoder> encoder)) {
  id<MTLCommandBuffer> commandBuffer = [[[device newCommandQueue] autorelease] commandBuffer];
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  @try {
    record(encoder);
  } @finally {
    [encoder endEncoding];
  }
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
}

// ------------------------------------------------------------------ peers: devices 0 and 2

void peers_tell_of_their_group() {
  CHECK_EQUAL([at(0) peerGroupID], 5);
  CHECK_EQUAL([at(2) peerGroupID], 5);
  CHECK_EQUAL([at(0) peerCount], 2);
  CHECK_EQUAL([at(2) peerCount], 2);
  CHECK_EQUAL([at(0) peerIndex], 0);
  CHECK_EQUAL([at(2) peerIndex], 1);
  // A group of one is none.
  CHECK([at(1) peerGroupID] == 0 && [at(1) peerIndex] == 0 && [at(1) peerCount] == 0);
}

void peers_copy_from_remote_views() {
  const NSUInteger length = 1 << 16;
  id<MTLBuffer> there = [[at(2) newBufferWithLength:length options:MTLResourceStorageModePrivate] autorelease];
  id<MTLBuffer> here = buffer(at(0), length);
  copy(at(2), ^(id<MTLBlitCommandEncoder> encoder) {
    [encoder fillBuffer:there range:NSMakeRange(0, length) value:7];
    [encoder fillBuffer:there range:NSMakeRange(100, 28) value:9];
  });
  const NSUInteger before = [at(0) currentAllocatedSize];
  id<MTLBuffer> view = [there newRemoteBufferViewForDevice:at(0)];
  CHECK([view device] == at(0) && [view remoteStorageBuffer] == there && [there remoteStorageBuffer] == nil);
  CHECK([view length] == length && [view storageMode] == MTLStorageModePrivate && [view contents] == nullptr);
  CHECK_EQUAL([view allocatedSize], 0);
  CHECK_EQUAL([at(0) currentAllocatedSize], before);
  copy(at(0), ^(id<MTLBlitCommandEncoder> encoder) {
    [encoder copyFromBuffer:view sourceOffset:100 toBuffer:here destinationOffset:1 size:length - 100];
  });
  const uint8_t *bytes = (const uint8_t *)[here contents];
  CHECK(bytes[0] == 0 && bytes[1] == 9 && bytes[28] == 9 && bytes[29] == 7 && bytes[length - 100] == 7 && bytes[length - 99] == 0);
  // What is written later is seen too: it is the same memory.
  copy(at(2), ^(id<MTLBlitCommandEncoder> encoder) { [encoder fillBuffer:there range:NSMakeRange(0, 16) value:3]; });
  copy(at(0), ^(id<MTLBlitCommandEncoder> encoder) {
    [encoder copyFromBuffer:view sourceOffset:0 toBuffer:here destinationOffset:0 size:16];
  });
  CHECK(bytes[0] == 3 && bytes[15] == 3 && bytes[16] == 9);
  [view release];
}

void peers_copy_from_remote_textures() {
  MTLTextureDescriptor *wanted = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR8Uint width:64 height:4 mipmapped:NO];
  [wanted setStorageMode:MTLStorageModePrivate];
  id<MTLTexture> there = [[at(0) newTextureWithDescriptor:wanted] autorelease];
  id<MTLTexture> mine = [[at(2) newTextureWithDescriptor:wanted] autorelease];
  id<MTLBuffer> from = buffer(at(0), 256), to = buffer(at(2), 256);
  for (int i = 0; i < 256; i++) ((uint8_t *)[from contents])[i] = (uint8_t)(i * 3);
  const MTLSize size = MTLSizeMake(64, 4, 1);
  const MTLOrigin origin = MTLOriginMake(0, 0, 0);
  copy(at(0), ^(id<MTLBlitCommandEncoder> encoder) {
    [encoder copyFromBuffer:from sourceOffset:0 sourceBytesPerRow:64 sourceBytesPerImage:256 sourceSize:size toTexture:there destinationSlice:0
           destinationLevel:0 destinationOrigin:origin];
  });
  id<MTLTexture> view = [there newRemoteTextureViewForDevice:at(2)];
  CHECK([view device] == at(2) && [view remoteStorageTexture] == there && [there remoteStorageTexture] == nil && [view width] == 64);
  copy(at(2), ^(id<MTLBlitCommandEncoder> encoder) {
    [encoder copyFromTexture:view toTexture:mine];
    [encoder copyFromTexture:mine sourceSlice:0 sourceLevel:0 sourceOrigin:origin sourceSize:size toBuffer:to destinationOffset:0
        destinationBytesPerRow:64 destinationBytesPerImage:256];
  });
  CHECK(memcmp([from contents], [to contents], 256) == 0);
  [view release];
}

void remote_views_are_sources_alone() {
  id<MTLBuffer> there = [[at(2) newBufferWithLength:256 options:MTLResourceStorageModePrivate] autorelease];
  id<MTLBuffer> view = [[there newRemoteBufferViewForDevice:at(0)] autorelease];
  id<MTLBuffer> here = buffer(at(0), 256);
  CHECK_RAISES([there newRemoteBufferViewForDevice:at(1)], @"newRemoteBufferViewForDevice:", @"peer group");
  CHECK_RAISES([there newRemoteBufferViewForDevice:at(2)], @"newRemoteBufferViewForDevice:", @"another one of the same peer group");
  CHECK_RAISES([there newRemoteBufferViewForDevice:nil], @"newRemoteBufferViewForDevice:", @"must not be nil");
  CHECK_RAISES([here newRemoteBufferViewForDevice:at(2)], @"newRemoteBufferViewForDevice:", @"private storage");
  CHECK_RAISES([view newRemoteBufferViewForDevice:at(2)], @"newRemoteBufferViewForDevice:", @"source of copies");
  CHECK_RAISES(copy(at(0), ^(id<MTLBlitCommandEncoder> encoder) { [encoder fillBuffer:view range:NSMakeRange(0, 4) value:1]; }),
               @"fillBuffer:range:value:", @"the buffer must be one of this device");
  CHECK_RAISES(copy(at(0), ^(id<MTLBlitCommandEncoder> encoder) {
                 [encoder copyFromBuffer:here sourceOffset:0 toBuffer:view destinationOffset:0 size:4];
               }), @"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", @"the buffer must be one of this device");
  CHECK_RAISES(copy(at(2), ^(id<MTLBlitCommandEncoder> encoder) {
                 [encoder copyFromBuffer:view sourceOffset:0 toBuffer:there destinationOffset:0 size:4];
               }), @"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", @"different device");
  CHECK_RAISES(encode(at(0), ^(id<MTLComputeCommandEncoder> encoder) {
                 @try {
                   [encoder setBuffer:view offset:0 atIndex:0];
                 } @finally {
                   [encoder endEncoding];
                 }
               }), @"setBuffer:offset:atIndex:", @"not one of this device");
  id<MTLIOCommandQueue> queue =
      [[at(0) newIOCommandQueueWithDescriptor:[[[MTLIOCommandQueueDescriptor alloc] init] autorelease] error:nullptr] autorelease];
  CHECK_RAISES([[queue commandBuffer] copyStatusToBuffer:view offset:0], @"copyStatusToBuffer:offset:", @"no remote view");
  CHECK_RAISES([[queue commandBuffer] loadBuffer:view offset:0 size:4 sourceHandle:(id<MTLIOFileHandle>)[NSNull null] sourceHandleOffset:0],
               @"loadBuffer:offset:size:sourceHandle:sourceHandleOffset:", @"no remote view");
  MTLTextureDescriptor *shared = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR8Uint width:4 height:4 mipmapped:NO];
  [shared setStorageMode:MTLStorageModeShared];
  CHECK_RAISES([[[at(0) newTextureWithDescriptor:shared] autorelease] newRemoteTextureViewForDevice:at(2)], @"newRemoteTextureViewForDevice:",
               @"private storage");
}

// ------------------------------------------------------------------ what they tell

void each_device_tells_of_itself() {
  NSArray *all = [MTLCopyAllDevices() autorelease];
  CHECK_EQUAL([all count], 3);
  CHECK([MTLCreateSystemDefaultDevice() autorelease] == [all objectAtIndex:0]);
  for (NSUInteger i = 0; i < 3; i++)
    for (NSUInteger j = 0; j < i; j++) {
      CHECK([at(i) registryID] != [at(j) registryID]);
      CHECK(![[at(i) name] isEqualToString:[at(j) name]]);
    }
  CHECK_CONTAINS([at(0) name], @"hostmetal (");
  CHECK([[at(1) name] isEqualToString:@"small one"]);
  CHECK_EQUAL([at(0) location], MTLDeviceLocationBuiltIn);
  CHECK_EQUAL([at(1) location], MTLDeviceLocationExternal);
  CHECK_EQUAL([at(2) location], MTLDeviceLocationExternal);
  CHECK_EQUAL([at(0) locationNumber], 0);
  CHECK_EQUAL([at(1) locationNumber], 0);
  CHECK_EQUAL([at(2) locationNumber], 1);
  CHECK(![at(0) isLowPower] && [at(1) isLowPower] && ![at(2) isLowPower]);
  CHECK(![at(0) isRemovable] && [at(1) isRemovable]);
  CHECK([at(0) hasUnifiedMemory] && ![at(1) hasUnifiedMemory]);
  for (NSUInteger i = 0; i < 3; i++) {
    CHECK([[[at(i) architecture] name] isEqualToString:@"hostmetal"]);
  }
}

void each_device_tells_its_own_limits() {
  const NSUInteger M = 1 << 20;
  CHECK_EQUAL([at(0) recommendedMaxWorkingSetSize], 256 * M);
  CHECK_EQUAL([at(1) recommendedMaxWorkingSetSize], 12 * M);
  CHECK_EQUAL([at(0) maxBufferLength], 256 * M);
  CHECK_EQUAL([at(1) maxBufferLength], 8 * M);
  CHECK_EQUAL([at(0) maxThreadgroupMemoryLength], 32768);
  CHECK_EQUAL([at(1) maxThreadgroupMemoryLength], 16384);
  CHECK_EQUAL([at(0) maxThreadsPerThreadgroup].width, 1024);
  CHECK_EQUAL([at(1) maxThreadsPerThreadgroup].width, 256);
  CHECK_EQUAL([at(1) maxThreadsPerThreadgroup].depth, 256);
  CHECK([at(0) supportsFamily:MTLGPUFamilyApple7] && [at(0) supportsFamily:MTLGPUFamilyMetal3]);
  CHECK(![at(1) supportsFamily:MTLGPUFamilyApple1] && [at(1) supportsFamily:MTLGPUFamilyMac2]);
  CHECK([at(1) supportsFamily:MTLGPUFamilyCommon3] && [at(1) supportsFamily:MTLGPUFamilyMetal3]);
  CHECK([at(2) supportsFamily:MTLGPUFamilyApple3] && ![at(2) supportsFamily:MTLGPUFamilyApple4]);
  CHECK(![at(2) supportsFamily:MTLGPUFamilyMac2] && ![at(2) supportsFamily:MTLGPUFamilyMetal3]);
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  for (NSUInteger set = MTLFeatureSet_macOS_GPUFamily1_v1; set <= MTLFeatureSet_macOS_GPUFamily2_v1; set++) {
    CHECK([at(0) supportsFeatureSet:(MTLFeatureSet)set] && [at(1) supportsFeatureSet:(MTLFeatureSet)set]);
    CHECK(![at(2) supportsFeatureSet:(MTLFeatureSet)set]);
  }
  // iOS_GPUFamily1_v1, and none.
  CHECK(![at(0) supportsFeatureSet:(MTLFeatureSet)0] && ![at(0) supportsFeatureSet:(MTLFeatureSet)10006]);
#pragma clang diagnostic pop
}

// ------------------------------------------------------------------ limits in force

void each_device_has_its_own_account() {
  const NSUInteger M = 1 << 20;
  const NSUInteger before[2] = {[at(0) currentAllocatedSize], [at(1) currentAllocatedSize]};
  @autoreleasepool {
    CHECK(buffer(at(1), 8 * M + 1) == nil);
    CHECK(buffer(at(0), 8 * M + 1) != nil);
    id<MTLBuffer> first = buffer(at(1), 8 * M), second = buffer(at(1), 8 * M);
    CHECK(first != nil && second != nil);
    CHECK_EQUAL([at(1) currentAllocatedSize], before[1] + 16 * M);
    CHECK(buffer(at(1), 1) == nil);
    CHECK(buffer(at(2), 1) != nil);
    MTLTextureDescriptor *texture = [[[MTLTextureDescriptor alloc] init] autorelease];
    CHECK([texture allowGPUOptimizedContents]);
    [texture setAllowGPUOptimizedContents:NO];
    CHECK(![[[texture copy] autorelease] allowGPUOptimizedContents]);
    CHECK([at(1) newTextureWithDescriptor:texture] == nil);
    MTLHeapDescriptor *heap = [[[MTLHeapDescriptor alloc] init] autorelease];
    [heap setSize:1];
    CHECK([at(1) newHeapWithDescriptor:heap] == nil);
    CHECK_EQUAL([first setPurgeableState:MTLPurgeableStateVolatile], MTLPurgeableStateNonVolatile);
    CHECK(buffer(at(0), M) != nil);
    CHECK_EQUAL([first setPurgeableState:MTLPurgeableStateKeepCurrent], MTLPurgeableStateVolatile);
    CHECK(buffer(at(1), M) != nil);
    CHECK_EQUAL([first setPurgeableState:MTLPurgeableStateKeepCurrent], MTLPurgeableStateEmpty);
  }
  for (NSUInteger i = 0; i < 2; i++) CHECK_EQUAL([at(i) currentAllocatedSize], before[i]);
}

void threadgroup_memory_is_limited_by_device() {
  encode(at(0), ^(id<MTLComputeCommandEncoder> encoder) {
    [encoder setThreadgroupMemoryLength:32768 atIndex:0];
  });
  encode(at(1), ^(id<MTLComputeCommandEncoder> encoder) {
    [encoder setThreadgroupMemoryLength:16384 atIndex:0];
    CHECK_RAISES([encoder setThreadgroupMemoryLength:16400 atIndex:0], @"setThreadgroupMemoryLength:", @"<= 16384 bytes");
    [encoder setComputePipelineState:pipeline(at(1), COUNT, @"count")];
    [encoder setBuffer:buffer(at(1), 1024) offset:0 atIndex:0];
    [encoder setThreadgroupMemoryLength:16384 atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(256, 1, 1) threadsPerThreadgroup:MTLSizeMake(256, 1, 1)];  // index 1 is not used
  });
  NSString *both = @"kernel void both(device uint *out, threadgroup uint *t [[threadgroup(0)]],\n"
                    "    uint i [[thread_position_in_threadgroup]]) {\n"
                    "  threadgroup uint part[32]; part[i] = i; t[i] = i;\n"
                    "  threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = part[i ^ 1] + t[i ^ 2];\n"
                    "}\n";
  for (NSUInteger i = 0; i < 2; i++)
    encode(at(i), ^(id<MTLComputeCommandEncoder> encoder) {
      const MTLSize group = MTLSizeMake(32, 1, 1);
      [encoder setComputePipelineState:pipeline(at(i), both, @"both")];
      [encoder setBuffer:buffer(at(i), 128) offset:0 atIndex:0];
      [encoder setThreadgroupMemoryLength:16384 atIndex:0];
      if (i == 1)
        CHECK_RAISES([encoder dispatchThreads:group threadsPerThreadgroup:group], @"dispatchThreads:", @"<= 16384 bytes");
      if (i == 0) [encoder dispatchThreads:group threadsPerThreadgroup:group];
    });
  NSString *greedy = @"kernel void greedy(device float *out, uint t [[thread_position_in_threadgroup]]) {\n"
                      "  threadgroup float part[5000]; part[t] = t;\n"
                      "  threadgroup_barrier(mem_flags::mem_threadgroup); out[t] = part[t ^ 1];\n"
                      "}\n";
  CHECK(pipeline(at(0), greedy, @"greedy") != nil);
  NSError *error = nil;
  CHECK([at(1) newComputePipelineStateWithFunction:function(at(1), greedy, @"greedy") error:&error] == nil);
  CHECK_CONTAINS([error localizedDescription], @"maximum threadgroup memory allowed (16384)");
}

void threads_are_limited_by_device() {
  CHECK_EQUAL([pipeline(at(0), COUNT, @"count") maxTotalThreadsPerThreadgroup], 1024);
  id<MTLComputePipelineState> small = pipeline(at(1), COUNT, @"count");
  CHECK_EQUAL([small maxTotalThreadsPerThreadgroup], 256);
  encode(at(1), ^(id<MTLComputeCommandEncoder> encoder) {
    [encoder setComputePipelineState:small];
    [encoder setBuffer:buffer(at(1), 4096) offset:0 atIndex:0];
    [encoder setThreadgroupMemoryLength:4096 atIndex:0];
    CHECK_RAISES([encoder dispatchThreads:MTLSizeMake(512, 1, 1) threadsPerThreadgroup:MTLSizeMake(512, 1, 1)],
                 @"dispatchThreads:", @"must be <= 256. (device threadgroup size limit)");
  });
  MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  [descriptor setComputeFunction:function(at(1), COUNT, @"count")];
  [descriptor setMaxTotalThreadsPerThreadgroup:512];
  NSError *error = nil;
  CHECK([at(1) newComputePipelineStateWithDescriptor:descriptor options:MTLPipelineOptionNone reflection:nullptr error:&error] == nil);
  CHECK_CONTAINS([error localizedDescription], @"must be <= 256");
}

// Apple3 has whole threadgroups only.
void uneven_grids_are_for_later_families() {
  for (NSUInteger i = 0; i < 3; i++) {
    id<MTLBuffer> out = buffer(at(i), 4 * 100);
    encode(at(i), ^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setComputePipelineState:pipeline(at(i), COUNT, @"count")];
      [encoder setBuffer:out offset:0 atIndex:0];
      [encoder setThreadgroupMemoryLength:256 atIndex:0];
      const MTLSize uneven = MTLSizeMake(100, 1, 1), even = MTLSizeMake(96, 1, 1), group = MTLSizeMake(32, 1, 1);
      if (i == 2) CHECK_RAISES([encoder dispatchThreads:uneven threadsPerThreadgroup:group], @"dispatchThreads:", @"Non-Uniform");
      [encoder dispatchThreads:i == 2 ? even : uneven threadsPerThreadgroup:group];
    });
    CHECK_EQUAL(((uint32_t *)[out contents])[99], i == 2 ? 0 : 298);
    CHECK_EQUAL(((uint32_t *)[out contents])[95], 286);
  }
}

// ------------------------------------------------------------------ together

void all_devices_compute_at_once() {
  std::vector<id<MTLCommandBuffer>> running;
  std::vector<id<MTLBuffer>> results;
  for (NSUInteger i = 0; i < 3; i++) {
    id<MTLBuffer> out = buffer(at(i), 4 << 16);
    id<MTLCommandBuffer> commandBuffer = [[[at(i) newCommandQueue] autorelease] commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    [encoder setComputePipelineState:pipeline(at(i), COUNT, @"count")];
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder setThreadgroupMemoryLength:1024 atIndex:0];
    [encoder dispatchThreadgroups:MTLSizeMake(256, 1, 1) threadsPerThreadgroup:MTLSizeMake(256, 1, 1)];
    [encoder endEncoding];
    [commandBuffer commit];
    running.push_back(commandBuffer);
    results.push_back(out);
  }
  for (NSUInteger i = 0; i < 3; i++) {
    [running[i] waitUntilCompleted];
    CHECK([running[i] device] == at(i));
    CHECK_EQUAL([running[i] status], MTLCommandBufferStatusCompleted);
    const uint32_t *values = (const uint32_t *)[results[i] contents];
    NSUInteger wrong = 0;
    for (uint32_t k = 0; k < 1 << 16; k++) wrong += values[k] != k * 3 + 1;
    CHECK_EQUAL(wrong, 0);
  }
}

void objects_of_another_device_raise() {
  id<MTLBuffer> foreign = buffer(at(1), 4096), own = buffer(at(0), 4096);
  MTLTextureDescriptor *descriptor = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR32Uint
                                                                                        width:8
                                                                                       height:8
                                                                                    mipmapped:NO];
  id<MTLTexture> texture = [[at(1) newTextureWithDescriptor:descriptor] autorelease];
  id<MTLTexture> ownTexture = [[at(0) newTextureWithDescriptor:descriptor] autorelease];
  MTLSamplerDescriptor *sampler = [[[MTLSamplerDescriptor alloc] init] autorelease];
  id<MTLSamplerState> state = [[at(1) newSamplerStateWithDescriptor:sampler] autorelease];
  id<MTLComputePipelineState> compiled = pipeline(at(1), COUNT, @"count");
  NSString *const different = @"different device";
  encode(at(0), ^(id<MTLComputeCommandEncoder> encoder) {
    CHECK_RAISES([encoder setBuffer:foreign offset:0 atIndex:0], @"setBuffer:", different);
    CHECK_RAISES([encoder setTexture:texture atIndex:0], @"setTexture:", different);
    CHECK_RAISES([encoder setSamplerState:state atIndex:0], @"setSamplerState:", different);
    CHECK_RAISES([encoder setComputePipelineState:compiled], @"setComputePipelineState:", different);
    const id<MTLResource> resources[] = {own, foreign};
    CHECK_RAISES([encoder memoryBarrierWithResources:resources count:2], @"memoryBarrierWithResources:", different);
    CHECK_RAISES([encoder useResource:foreign usage:MTLResourceUsageRead], @"useResource:", different);
  });
  id<MTLCommandBuffer> commandBuffer = [[[at(0) newCommandQueue] autorelease] commandBuffer];
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  CHECK_RAISES([encoder fillBuffer:foreign range:NSMakeRange(0, 4) value:1], @"fillBuffer:", different);
  CHECK_RAISES([encoder copyFromBuffer:foreign sourceOffset:0 toBuffer:own destinationOffset:0 size:4], @"copyFromBuffer:", different);
  CHECK_RAISES([encoder copyFromBuffer:own sourceOffset:0 toBuffer:foreign destinationOffset:0 size:4], @"copyFromBuffer:", different);
  CHECK_RAISES([encoder copyFromTexture:texture toTexture:ownTexture], @"copyFromTexture:", different);
  CHECK_RAISES([encoder copyFromTexture:ownTexture toTexture:texture], @"copyFromTexture:", different);
  CHECK_RAISES([encoder generateMipmapsForTexture:texture], @"generateMipmapsForTexture:", different);
  MTLCounterSampleBufferDescriptor *samples = [[[MTLCounterSampleBufferDescriptor alloc] init] autorelease];
  [samples setCounterSet:[[at(1) counterSets] objectAtIndex:0]];
  [samples setSampleCount:1];
  id<MTLCounterSampleBuffer> times = [[at(1) newCounterSampleBufferWithDescriptor:samples error:nullptr] autorelease];
  CHECK_RAISES([encoder sampleCountersInBuffer:times atSampleIndex:0 withBarrier:NO], @"sampleCountersInBuffer:", different);
  const MTLOrigin origin = MTLOriginMake(0, 0, 0);
  const MTLSize size = MTLSizeMake(8, 8, 1);
  CHECK_RAISES([encoder copyFromBuffer:foreign sourceOffset:0 sourceBytesPerRow:32 sourceBytesPerImage:0 sourceSize:size
                             toTexture:ownTexture destinationSlice:0 destinationLevel:0 destinationOrigin:origin],
               @"copyFromBuffer:", different);
  CHECK_RAISES([encoder copyFromTexture:texture sourceSlice:0 sourceLevel:0 sourceOrigin:origin sourceSize:size toBuffer:own
                      destinationOffset:0 destinationBytesPerRow:32 destinationBytesPerImage:0],
               @"copyFromTexture:", different);
  [encoder endEncoding];
  CHECK_RAISES([commandBuffer encodeSignalEvent:[[at(1) newEvent] autorelease] value:1], @"encodeSignalEvent:", different);
  CHECK_RAISES([commandBuffer encodeWaitForEvent:[[at(1) newEvent] autorelease] value:1], @"encodeWaitForEvent:", different);
  id<MTLFence> fence = [[at(1) newFence] autorelease];
  id<MTLComputePipelineState> ownPipeline = pipeline(at(0), COUNT, @"count");
  encode(at(0), ^(id<MTLComputeCommandEncoder> compute) {
    CHECK_RAISES([compute updateFence:fence], @"updateFence:", different);
    CHECK_RAISES([compute waitForFence:fence], @"waitForFence:", different);
    [compute setComputePipelineState:ownPipeline];
    [compute setBuffer:own offset:0 atIndex:0];
    [compute setThreadgroupMemoryLength:256 atIndex:0];
    CHECK_RAISES([compute dispatchThreadgroupsWithIndirectBuffer:foreign
                                            indirectBufferOffset:0
                                           threadsPerThreadgroup:MTLSizeMake(32, 1, 1)],
                 @"dispatchThreadgroupsWithIndirectBuffer:", different);
  });
  MTLResidencySetDescriptor *set = [[[MTLResidencySetDescriptor alloc] init] autorelease];
  id<MTLResidencySet> foreignSet = [[at(1) newResidencySetWithDescriptor:set error:nullptr] autorelease];
  CHECK_RAISES([foreignSet addAllocation:own], @"addAllocations:", different);
  CHECK_RAISES([commandBuffer useResidencySet:foreignSet], @"useResidencySet:", different);
  CHECK_RAISES([[commandBuffer commandQueue] addResidencySet:foreignSet], @"addResidencySet:", different);
  CHECK_RAISES([at(0) newComputePipelineStateWithFunction:function(at(1), COUNT, @"count") error:nullptr],
               @"newComputePipelineStateWithFunction:", @"another device");
}

void what_holds_arguments_is_of_one_device_too() {
  id<MTLBuffer> foreign = buffer(at(1), 4096), own = buffer(at(0), 4096);
  MTLArgumentDescriptor *pointer = [MTLArgumentDescriptor argumentDescriptor];
  [pointer setDataType:MTLDataTypePointer];
  id<MTLArgumentEncoder> arguments = [[at(0) newArgumentEncoderWithArguments:@[ pointer ]] autorelease];
  CHECK_RAISES([arguments setArgumentBuffer:foreign offset:0], @"setArgumentBuffer:", @"not one of this device");
  [arguments setArgumentBuffer:own offset:0];
  CHECK_RAISES([arguments setBuffer:foreign offset:0 atIndex:0], @"setBuffer:", @"not one of this device");
  [arguments setBuffer:own offset:8 atIndex:0];
  CHECK_EQUAL(*(uint64_t *)[own contents], [own gpuAddress] + 8);
  [arguments setArgumentBuffer:nil offset:0];

  MTLIndirectCommandBufferDescriptor *descriptor = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
  [descriptor setCommandTypes:MTLIndirectCommandTypeConcurrentDispatchThreads];
  [descriptor setInheritPipelineState:NO];
  [descriptor setInheritBuffers:NO];
  id<MTLIndirectCommandBuffer> commands =
      [[at(1) newIndirectCommandBufferWithDescriptor:descriptor maxCommandCount:1 options:MTLResourceStorageModeShared] autorelease];
  id<MTLIndirectComputeCommand> command = [commands indirectComputeCommandAtIndex:0];
  CHECK_RAISES([command setKernelBuffer:own offset:0 atIndex:0], @"setKernelBuffer:", @"one of this device");
  [command setKernelBuffer:foreign offset:0 atIndex:0];
  CHECK_RAISES([command setThreadgroupMemoryLength:16400 atIndex:0], @"setThreadgroupMemoryLength:", @"<= 16384 bytes");
  encode(at(0), ^(id<MTLComputeCommandEncoder> encoder) {
    CHECK_RAISES([encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 1)], @"executeCommandsInBuffer:",
                 @"different device");
  });
}

// What Metal has shared events for.
void a_shared_event_orders_work_of_two_devices() {
  id<MTLSharedEvent> event = [[at(0) newSharedEvent] autorelease];
  const NSUInteger page = [buffer(at(0), 1) allocatedSize];
  char *const memory = (char *)aligned_alloc(page, page);  // both devices' buffers are the same bytes
  id<MTLBuffer> views[2];
  for (NSUInteger i = 0; i < 2; i++)
    views[i] = [at(i) newBufferWithBytesNoCopy:memory length:page options:MTLResourceStorageModeShared deallocator:nil];
  id<MTLCommandBuffer> second = [[[at(1) newCommandQueue] autorelease] commandBuffer];
  [second encodeWaitForEvent:event value:1];
  id<MTLBlitCommandEncoder> encoder = [second blitCommandEncoder];
  [encoder fillBuffer:views[1] range:NSMakeRange(0, page / 2) value:2];
  [encoder endEncoding];
  [second commit];  // first, and still the later one
  id<MTLCommandBuffer> first = [[[at(0) newCommandQueue] autorelease] commandBuffer];
  encoder = [first blitCommandEncoder];
  [encoder fillBuffer:views[0] range:NSMakeRange(0, page) value:1];
  [encoder endEncoding];
  [first encodeSignalEvent:event value:1];
  [first commit];
  [second waitUntilCompleted];
  CHECK_EQUAL([second status], MTLCommandBufferStatusCompleted);
  CHECK_EQUAL(memory[0], 2);
  CHECK_EQUAL(memory[page - 1], 1);
  [first waitUntilCompleted];
  for (id<MTLBuffer> view : views) [view release];
  free(memory);
}

void an_observer_is_kept_until_it_is_removed() {
  id<NSObject> observer = nil;
  @autoreleasepool {
    Probe *probe = [[[Probe alloc] init] autorelease];
    NSArray *all = [MTLCopyAllDevicesWithObserver(&observer, ^(id<MTLDevice>, MTLDeviceNotificationName) {
      (void)[probe self];
    }) autorelease];
    CHECK_EQUAL([all count], [[MTLCopyAllDevices() autorelease] count]);
  }
  CHECK_EQUAL([observer retainCount], 2);  // the caller's and Metal's
  [observer release];
  CHECK_EQUAL([Probe living], 1);
  MTLRemoveDeviceObserver(observer);
  CHECK_EQUAL([Probe living], 0);
  CHECK(![MTLDeviceWasAddedNotification isEqualToString:MTLDeviceWasRemovedNotification]);
}

// ------------------------------------------------------------------ none

void wrong_settings_leave_no_device() {
  CHECK(MTLCreateSystemDefaultDevice() == nil);
  CHECK_EQUAL([[MTLCopyAllDevices() autorelease] count], 0);
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase device_cases[] = {
    CASE(peers_tell_of_their_group),
    CASE(peers_copy_from_remote_views),
    CASE(peers_copy_from_remote_textures),
    CASE(remote_views_are_sources_alone),
    CASE(each_device_tells_of_itself),
    CASE(each_device_tells_its_own_limits),
    CASE(each_device_has_its_own_account),
    CASE(threadgroup_memory_is_limited_by_device),
    CASE(threads_are_limited_by_device),
    CASE(uneven_grids_are_for_later_families),
    CASE(all_devices_compute_at_once),
    CASE(objects_of_another_device_raise),
    CASE(what_holds_arguments_is_of_one_device_too),
    CASE(a_shared_event_orders_work_of_two_devices),
    CASE(an_observer_is_kept_until_it_is_removed),
    {nullptr, nullptr},
};
const FaceCase no_device_cases[] = {
    CASE(wrong_settings_leave_no_device),
    {nullptr, nullptr},
};
