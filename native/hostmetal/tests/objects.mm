// Cases of devices, buffers, queues, command buffers, encoders and blocks; none compiles a kernel.
#import "faces.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iconv.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

namespace {
id<MTLCommandQueue> queue() {
  return [[device() newCommandQueue] autorelease];
}

id<MTLBuffer> buffer(NSUInteger length, MTLResourceOptions options = MTLResourceStorageModeShared) {
  return [[device() newBufferWithLength:length options:options] autorelease];
}

void fill(id<MTLCommandBuffer> commandBuffer, id<MTLBuffer> target, uint8_t value) {
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  [encoder fillBuffer:target range:NSMakeRange(0, [target length]) value:value];
  [encoder endEncoding];
}

// What one thread gives and another awaits.
struct Signal {
  Signal() { sem_init(&semaphore, 0, 0); }
  ~Signal() { sem_destroy(&semaphore); }
  void give() { sem_post(&semaphore); }
  void await() { sem_wait(&semaphore); }
  sem_t semaphore;
};

// ------------------------------------------------------------------ strings

// hostmetal answers for glibc when GNUstep asks what it converts to; what is converted is as ever.
void strings_convert_to_encodings_as_iconv_does() {
  const std::pair<NSStringEncoding, const char *> encodings[] = {
      {NSWindowsCP1250StringEncoding, "CP1250//TRANSLIT"}, {NSWindowsCP1251StringEncoding, "CP1251//TRANSLIT"},
      {NSJapaneseEUCStringEncoding, "EUC-JP//TRANSLIT"},   {NSShiftJISStringEncoding, "SHIFT-JIS//TRANSLIT"},
      {NSISO2022JPStringEncoding, "ISO-2022-JP//TRANSLIT"}};
  for (const auto &[encoding, name] : encodings)
    for (const char *text : {"plain", "na\u00efve \u201cquoted\u201d 3\u20ac", "\u0416\u0443\u043a", "\u65e5\u672c \u2026", "\ufb01 \u00bd"}) {
      char expected[256], *in = const_cast<char *>(text), *out = expected;
      size_t inLeft = strlen(text), outLeft = sizeof expected;
      const iconv_t conversion = iconv_open(name, "UTF-8");
      CHECK(conversion != (iconv_t)-1);
      CHECK(iconv(conversion, &in, &inLeft, &out, &outLeft) != (size_t)-1 && iconv(conversion, nullptr, nullptr, &out, &outLeft) != (size_t)-1);
      iconv_close(conversion);
      NSData *data = [[NSString stringWithUTF8String:text] dataUsingEncoding:encoding allowLossyConversion:YES];
      const std::string made((const char *)[data bytes], [data length]);
      CHECK(made == std::string(expected, out));
    }
}

// ------------------------------------------------------------------ devices

void devices_are_one_object_each() {
  NSArray *all = [MTLCopyAllDevices() autorelease];
  CHECK([all count] >= 1);
  CHECK([all objectAtIndex:0] == device());
  CHECK(device() == device());
  CHECK([device() conformsToProtocol:objc_getProtocol("MTLDevice")]);
}

void a_device_tells_of_itself() {
  id<MTLDevice> d = device();
  CHECK([[d name] length] > 0);
  CHECK([d registryID] != 0);
  CHECK([d hasUnifiedMemory]);
  CHECK([d isHeadless] && ![d isLowPower] && ![d isRemovable]);
  CHECK_EQUAL([d location], MTLDeviceLocationBuiltIn);
  CHECK([d maxThreadsPerThreadgroup].width >= 1024);
  CHECK([d maxThreadgroupMemoryLength] >= 32768);
  CHECK([d maxBufferLength] >= 1 << 28);
  CHECK([d recommendedMaxWorkingSetSize] > 0);
  CHECK([d supportsTextureSampleCount:1] && [d supportsTextureSampleCount:8] && ![d supportsTextureSampleCount:3] && [d supports32BitFloatFiltering]);
  CHECK(![d supportsRaytracing] && [d supportsFunctionPointers] && ![d supportsFunctionPointersFromRender] && ![d supports32BitMSAA] && ![d supportsBCTextureCompression]);
  for (MTLGPUFamily family : {MTLGPUFamilyCommon1, MTLGPUFamilyCommon3, MTLGPUFamilyApple1, MTLGPUFamilyApple7, MTLGPUFamilyMac2,
                              MTLGPUFamilyMetal3})
    CHECK([d supportsFamily:family]);
  for (MTLGPUFamily family : {MTLGPUFamilyApple8, MTLGPUFamilyApple9, MTLGPUFamilyMetal4, (MTLGPUFamily)0, (MTLGPUFamily)9999})
    CHECK(![d supportsFamily:family]);
  CHECK(![d supportsQueryTextureLOD] && ![d supportsPullModelInterpolation]);
  CHECK(![d supportsShaderBarycentricCoordinates] && ![d supportsRaytracingFromRender] && ![d supportsPrimitiveMotionBlur]);
  CHECK(![d areRasterOrderGroupsSupported]);
  CHECK_EQUAL([d maxTransferRate], 0);
  CHECK_EQUAL([d maxArgumentBufferSamplerCount], 1024);
  CHECK(![d shouldMaximizeConcurrentCompilation]);
  const NSUInteger compilers = [d maximumConcurrentCompilationTaskCount];
  CHECK(compilers >= 1 && compilers <= (NSUInteger)sysconf(_SC_NPROCESSORS_CONF));
  [d setShouldMaximizeConcurrentCompilation:YES];
  CHECK([d shouldMaximizeConcurrentCompilation] && [d maximumConcurrentCompilationTaskCount] == compilers);
  [d setShouldMaximizeConcurrentCompilation:NO];
}

// As metal-cpp and objc2-metal may send them, which have declarations of their own.
void messages_that_are_not_declared_raise() {
  for (NSString *name in @[ @"newMTL4CommandQueue", @"newAccelerationStructureWithSize:", @"newRenderPipelineStateWithDescriptor:error:" ]) {
    const SEL selector = NSSelectorFromString(name);
    CHECK(![device() respondsToSelector:selector]);
    NSString *raised = nil;
    @try {
      [(NSObject *)device() performSelector:selector withObject:nil];
    } @catch (NSException *exception) {
      raised = [exception name];
    }
    CHECK([raised isEqualToString:NSInvalidArgumentException]);
  }
}

void allocated_size_follows_buffers() {
  const NSUInteger before = [device() currentAllocatedSize];
  @autoreleasepool {
    id<MTLBuffer> held = buffer(1 << 20);
    CHECK([device() currentAllocatedSize] >= before + (1 << 20));
    CHECK([held allocatedSize] >= 1 << 20);
  }
  CHECK_EQUAL([device() currentAllocatedSize], before);
}

// ------------------------------------------------------------------ buffers

void a_buffer_is_zeroed_and_tells_its_options() {
  id<MTLBuffer> b = buffer(100, MTLResourceStorageModeManaged | MTLResourceCPUCacheModeWriteCombined);
  CHECK_EQUAL([b length], 100);
  CHECK_EQUAL([b storageMode], MTLStorageModeManaged);
  CHECK_EQUAL([b cpuCacheMode], MTLCPUCacheModeWriteCombined);
  CHECK_EQUAL([b hazardTrackingMode], MTLHazardTrackingModeTracked);
  CHECK_EQUAL([b resourceOptions], MTLResourceStorageModeManaged | MTLResourceCPUCacheModeWriteCombined);
  CHECK([b device] == device());
  const char *bytes = (const char *)[b contents];
  for (int i = 0; i < 100; i++) CHECK_EQUAL(bytes[i], 0);
  [b didModifyRange:NSMakeRange(90, 10)];
  CHECK_RAISES([b didModifyRange:NSMakeRange(90, 11)], @"didModifyRange:", @"exceeds");
  const NSRange wrapping = {101, NSUIntegerMax};
  CHECK_RAISES([b didModifyRange:wrapping], @"didModifyRange:", @"exceeds");
  CHECK_RAISES([buffer(4) didModifyRange:NSMakeRange(0, 1)], @"didModifyRange:", @"managed");
  CHECK_EQUAL([buffer(4, MTLResourceHazardTrackingModeUntracked) hazardTrackingMode], MTLHazardTrackingModeUntracked);
}

void a_buffer_of_no_bytes_or_too_many_is_nil() {
  CHECK(buffer(0) == nil);
  CHECK(buffer([device() maxBufferLength] + 1) == nil);
  CHECK(buffer(NSUIntegerMax) == nil);
}

void private_storage_has_no_contents() {
  id<MTLBuffer> hidden = buffer(16, MTLResourceStorageModePrivate), seen = buffer(16);
  CHECK([hidden contents] == nullptr);
  CHECK_EQUAL([hidden storageMode], MTLStorageModePrivate);
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  fill(commandBuffer, hidden, 7);
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  [encoder copyFromBuffer:hidden sourceOffset:0 toBuffer:seen destinationOffset:8 size:8];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL(memcmp([seen contents], "\0\0\0\0\0\0\0\0\7\7\7\7\7\7\7\7", 16), 0);
}

void buffers_with_bytes_copy_them() {
  char bytes[4] = {1, 2, 3, 4};
  id<MTLBuffer> b = [[device() newBufferWithBytes:bytes length:4 options:MTLResourceStorageModeShared] autorelease];
  bytes[0] = 9;
  CHECK_EQUAL(memcmp([b contents], "\1\2\3\4", 4), 0);
  CHECK_RAISES([device() newBufferWithBytes:(const void *)nullptr length:4 options:0], @"newBufferWithBytes:", @"NULL");
}

void unknown_options_are_refused() {
  CHECK_RAISES([device() newBufferWithLength:4 options:MTLResourceStorageModeMemoryless], @"newBufferWithLength:", @"memoryless");
  CHECK_RAISES([device() newBufferWithLength:4 options:(MTLResourceOptions)(7 << 4)], @"newBufferWithLength:", @"storage mode");
  CHECK_RAISES([device() newBufferWithLength:4 options:(MTLResourceOptions)2], @"newBufferWithLength:", @"cache mode");
  CHECK_RAISES([device() newBufferWithLength:4 options:(MTLResourceOptions)(3 << 8)], @"newBufferWithLength:", @"tracking");
  CHECK_RAISES([device() newBufferWithLength:4 options:(MTLResourceOptions)(1 << 12)], @"newBufferWithLength:", @"options");
}

void a_label_is_a_copy() {
  NSMutableString *text = [NSMutableString stringWithString:@"first"];
  id<MTLBuffer> b = buffer(4);
  CHECK([b label] == nil);
  [b setLabel:text];
  [text setString:@"second"];
  CHECK([[b label] isEqualToString:@"first"]);
  [b setLabel:nil];
  CHECK([b label] == nil);
}

// The caller's memory: given back once, with its address and length, when neither the buffer nor recorded work uses it.
void no_copy_memory_is_given_back_once() {
  const NSUInteger page = (NSUInteger)sysconf(_SC_PAGESIZE);
  void *memory = aligned_alloc(page, 2 * page);
  memset(memory, 0, 2 * page);
  __block int calls = 0;
  __block bool right = false;
  Signal given_back;
  Signal *const signal = &given_back;
  id<MTLCommandBuffer> commandBuffer = nil;
  @autoreleasepool {
    Probe *probe = [[[Probe alloc] init] autorelease];
    id<MTLBuffer> b = [[device() newBufferWithBytesNoCopy:memory
                                                   length:2 * page
                                                  options:MTLResourceStorageModeShared
                                              deallocator:^(void *pointer, NSUInteger length) {
                                                (void)[probe self];
                                                calls++;
                                                right = pointer == memory && length == 2 * page;
                                                signal->give();
                                              }] autorelease];
    CHECK([b contents] == memory);
    commandBuffer = [[queue() commandBuffer] retain];
    fill(commandBuffer, b, 3);
  }
  CHECK_EQUAL(calls, 0);  // recorded work holds it
  CHECK_EQUAL([Probe living], 1);
  @autoreleasepool {
    [commandBuffer commit];
    [commandBuffer waitUntilCompleted];
    [commandBuffer release];
  }
  given_back.await();
  CHECK_EQUAL(calls, 1);
  CHECK(right);
  CHECK_EQUAL(((char *)memory)[2 * page - 1], 3);
  free(memory);
}

void no_copy_asks_for_whole_pages() {
  const NSUInteger page = (NSUInteger)sysconf(_SC_PAGESIZE);
  char *memory = (char *)aligned_alloc(page, 2 * page);
  id<MTLDevice> d = device();
  CHECK_RAISES([d newBufferWithBytesNoCopy:memory + 8 length:page options:0 deallocator:nil], @"newBufferWithBytesNoCopy:",
               @"not aligned");
  CHECK_RAISES([d newBufferWithBytesNoCopy:memory length:page + 1 options:0 deallocator:nil], @"newBufferWithBytesNoCopy:",
               @"multiple of the page size");
  CHECK_RAISES([d newBufferWithBytesNoCopy:memory length:page options:MTLResourceStorageModePrivate deallocator:nil],
               @"newBufferWithBytesNoCopy:", @"private");
  __block int calls = 0;
  id<MTLBuffer> none = [d newBufferWithBytesNoCopy:memory
                                            length:0
                                           options:0
                                       deallocator:^(void *, NSUInteger) {
                                         calls++;
                                       }];
  CHECK(none == nil);
  CHECK_EQUAL(calls, 0);
  id<MTLBuffer> unowned = [d newBufferWithBytesNoCopy:memory length:page options:0 deallocator:nil];
  CHECK([unowned contents] == memory);
  [unowned release];
  free(memory);
}

// ------------------------------------------------------------------ ownership

void results_have_the_ownership_of_their_names() {
  id<MTLBuffer> b = nil;
  id<MTLCommandQueue> q = nil;
  @autoreleasepool {
    b = [device() newBufferWithLength:4 options:0];
    q = [device() newCommandQueue];
  }
  CHECK_EQUAL([b retainCount], 1);
  CHECK_EQUAL([q retainCount], 1);
  id<MTLCommandBuffer> commandBuffer = nil;
  id<MTLBlitCommandEncoder> encoder = nil;
  @autoreleasepool {
    commandBuffer = [[q commandBuffer] retain];
    CHECK_EQUAL([commandBuffer retainCount], 2);
    encoder = [[commandBuffer blitCommandEncoder] retain];
    CHECK_EQUAL([encoder retainCount], 2);
  }
  CHECK_EQUAL([encoder retainCount], 1);
  CHECK_EQUAL([commandBuffer retainCount], 2);  // the encoder's
  CHECK_EQUAL([q retainCount], 2);              // the command buffer's
  [encoder endEncoding];
  [encoder release];
  CHECK_EQUAL([commandBuffer retainCount], 1);
  [commandBuffer release];
  CHECK_EQUAL([q retainCount], 1);
  [q release];
  [b release];
}

void objects_may_be_released_in_any_order() {
  id<MTLCommandBuffer> commandBuffer = nil;
  id<MTLBuffer> b = [device() newBufferWithLength:64 options:0];
  @autoreleasepool {
    id<MTLCommandQueue> q = [device() newCommandQueue];
    commandBuffer = [[q commandBuffer] retain];
    [q release];
  }
  CHECK([commandBuffer commandQueue] != nil);
  CHECK([commandBuffer device] == device());
  @autoreleasepool {
    fill(commandBuffer, b, 5);
  }
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
  CHECK_EQUAL(((char *)[b contents])[63], 5);
  [b release];
  [commandBuffer release];
}

void a_released_command_buffer_still_completes() {
  id<MTLBuffer> b = buffer(64);
  Signal done;
  Signal *const signal = &done;
  @autoreleasepool {
    id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
    fill(commandBuffer, b, 6);
    [commandBuffer addCompletedHandler:^(id<MTLCommandBuffer>) {
      signal->give();
    }];
    [commandBuffer commit];
  }
  done.await();
  CHECK_EQUAL(((char *)[b contents])[0], 6);
}

void an_uncommitted_command_buffer_drops_what_it_holds() {
  const NSUInteger page = (NSUInteger)sysconf(_SC_PAGESIZE);
  void *memory = aligned_alloc(page, page);
  @autoreleasepool {
    Probe *probe = [[[Probe alloc] init] autorelease];
    id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
    id<MTLBuffer> recorded = [[device() newBufferWithBytesNoCopy:memory
                                                          length:page
                                                         options:MTLResourceStorageModeShared
                                                     deallocator:^(void *, NSUInteger) {
                                                       (void)[probe self];
                                                     }] autorelease];
    fill(commandBuffer, recorded, 1);
    [commandBuffer addScheduledHandler:^(id<MTLCommandBuffer>) {
      (void)[probe self];
    }];
    [commandBuffer addCompletedHandler:^(id<MTLCommandBuffer>) {
      (void)[probe self];
    }];
  }
  CHECK_EQUAL([Probe living], 0);
  free(memory);
}

// ------------------------------------------------------------------ command buffers

void handlers_are_called_once_in_order() {
  __block int scheduled = 0, completed = 0, order = 0;
  __block bool running = false, finished = false;
  @autoreleasepool {
    Probe *probe = [[[Probe alloc] init] autorelease];
    id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
    fill(commandBuffer, buffer(8), 1);
    for (int i = 0; i < 3; i++) {
      [commandBuffer addScheduledHandler:^(id<MTLCommandBuffer> given) {
        (void)[probe self];
        scheduled++;
        running = given == commandBuffer && [given status] >= MTLCommandBufferStatusScheduled;
      }];
      [commandBuffer addCompletedHandler:^(id<MTLCommandBuffer> given) {
        (void)[probe self];
        if (order == i) order++;
        completed++;
        finished = given == commandBuffer && [given status] == MTLCommandBufferStatusCompleted && [given error] == nil;
      }];
    }
    [commandBuffer commit];
    [commandBuffer waitUntilScheduled];
    CHECK_EQUAL(scheduled, 3);
    [commandBuffer waitUntilCompleted];
    CHECK_EQUAL(completed, 3);
    CHECK_EQUAL(order, 3);
    CHECK(running && finished);
  }
}

void a_handler_may_hold_its_command_buffer() {
  @autoreleasepool {
    Probe *probe = [[[Probe alloc] init] autorelease];
    id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
    [commandBuffer addCompletedHandler:^(id<MTLCommandBuffer>) {
      (void)[commandBuffer label];  // a cycle until it has been called
      (void)[probe self];
    }];
    [commandBuffer commit];
    [commandBuffer waitUntilCompleted];
  }
  CHECK_EQUAL([Probe living], 0);
}

void a_handler_may_make_autoreleased_objects() {
  __block NSUInteger length = 0;
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  [commandBuffer addCompletedHandler:^(id<MTLCommandBuffer>) {
    [[[Probe alloc] init] autorelease];
    length = [[NSString stringWithFormat:@"%d and more text than fits in a pointer", 12] length];
  }];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL(length, 39);
  CHECK_EQUAL([Probe living], 0);  // the handler's pool is gone before the wait ends
}

void status_and_times_follow_the_work() {
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusNotEnqueued);
  CHECK([commandBuffer retainedReferences]);
  CHECK_EQUAL([commandBuffer errorOptions], MTLCommandBufferErrorOptionNone);
  CHECK([commandBuffer GPUStartTime] == 0 && [commandBuffer GPUEndTime] == 0);
  [commandBuffer enqueue];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusEnqueued);
  fill(commandBuffer, buffer(4096), 1);
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
  CHECK([commandBuffer error] == nil);
  CHECK([commandBuffer kernelStartTime] > 0);
  CHECK([commandBuffer kernelEndTime] >= [commandBuffer kernelStartTime]);
  CHECK([commandBuffer GPUStartTime] > 0);
  CHECK([commandBuffer GPUEndTime] >= [commandBuffer GPUStartTime]);
}

void descriptors_choose_references_and_errors() {
  MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
  CHECK([descriptor retainedReferences]);
  CHECK_EQUAL([descriptor errorOptions], MTLCommandBufferErrorOptionNone);
  [descriptor setRetainedReferences:NO];
  [descriptor setErrorOptions:MTLCommandBufferErrorOptionEncoderExecutionStatus];
  MTLCommandBufferDescriptor *copy = [[descriptor copy] autorelease];
  [descriptor setRetainedReferences:YES];
  CHECK(![copy retainedReferences]);
  id<MTLCommandBuffer> commandBuffer = [queue() commandBufferWithDescriptor:copy];
  CHECK(![commandBuffer retainedReferences]);
  CHECK_EQUAL([commandBuffer errorOptions], MTLCommandBufferErrorOptionEncoderExecutionStatus);
  CHECK(![[queue() commandBufferWithUnretainedReferences] retainedReferences]);
}

// A program that lets go of what a command buffer uses before that has run: `retained` Metal keeps it, else it was the program's to keep.
id<MTLCommandBuffer> usingWhatIsGone(BOOL retained, const std::string &what) {
  id<MTLCommandBuffer> commandBuffer = retained ? [queue() commandBuffer] : [queue() commandBufferWithUnretainedReferences];
  id<MTLBuffer> source = buffer(64);
  @autoreleasepool {
    id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
    if (what == "a texture") {
      id<MTLTexture> gone = [device() newTextureWithDescriptor:[MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR8Unorm
                                                                                                                 width:8
                                                                                                                height:8
                                                                                                             mipmapped:NO]];
      [encoder copyFromBuffer:source
                 sourceOffset:0
            sourceBytesPerRow:8
          sourceBytesPerImage:64
                   sourceSize:MTLSizeMake(8, 8, 1)
                    toTexture:gone
             destinationSlice:0
             destinationLevel:0
            destinationOrigin:MTLOriginMake(0, 0, 0)];
      [gone release];
    } else if (what == "a fence") {
      id<MTLFence> gone = [device() newFence];
      [encoder fillBuffer:source range:NSMakeRange(0, 64) value:1];
      [encoder updateFence:gone];
      [gone release];
    } else {
      id<MTLBuffer> gone = [device() newBufferWithLength:64 options:0];
      [encoder copyFromBuffer:source sourceOffset:0 toBuffer:gone destinationOffset:0 size:64];
      [gone release];
    }
    [encoder endEncoding];
  }
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  return commandBuffer;
}

void what_is_not_retained_the_program_keeps() {
  for (const std::string what : {"a buffer", "a texture", "a fence"}) {
    CHECK_EQUAL([usingWhatIsGone(YES, what) status], MTLCommandBufferStatusCompleted);
    NSError *error = [usingWhatIsGone(NO, what) error];
    CHECK([[error domain] isEqual:MTLCommandBufferErrorDomain]);
    CHECK_EQUAL([error code], MTLCommandBufferErrorInvalidResource);
    CHECK_CONTAINS([error localizedDescription], ([NSString stringWithFormat:@"%s was deallocated", what.c_str()]));
  }
  id<MTLCommandBuffer> commandBuffer = [queue() commandBufferWithUnretainedReferences];
  id<MTLBuffer> kept = [device() newBufferWithLength:64 options:0];
  fill(commandBuffer, kept, 1);
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  [kept release];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
}

void misuse_of_a_command_buffer_raises() {
  id<MTLCommandQueue> q = queue();
  id<MTLCommandBuffer> commandBuffer = [q commandBuffer];
  CHECK_RAISES([commandBuffer waitUntilCompleted], @"waitUntilCompleted", @"not committed");
  CHECK_RAISES([commandBuffer waitUntilScheduled], @"waitUntilScheduled", @"not committed");
  CHECK_RAISES([commandBuffer addCompletedHandler:(MTLCommandBufferHandler)nil], @"addCompletedHandler:", @"nil");
  CHECK_RAISES([commandBuffer popDebugGroup], @"popDebugGroup", @"no debug group");
  [commandBuffer pushDebugGroup:@"group"];
  [commandBuffer popDebugGroup];
  id<MTLComputeCommandEncoder> open = [commandBuffer computeCommandEncoder];
  CHECK_RAISES([commandBuffer blitCommandEncoder], @"blitCommandEncoder", @"already encoding");
  CHECK_RAISES([commandBuffer commit], @"commit", @"encoder");
  CHECK_RAISES([commandBuffer computeCommandEncoderWithDispatchType:(MTLDispatchType)2], @"computeCommandEncoder", @"dispatch type");
  [open endEncoding];
  [commandBuffer enqueue];
  CHECK_RAISES([commandBuffer enqueue], @"enqueue", @"already enqueued");
  [commandBuffer commit];
  CHECK_RAISES([commandBuffer commit], @"commit", @"already committed");
  CHECK_RAISES([commandBuffer computeCommandEncoder], @"computeCommandEncoder", @"committed");
  CHECK_RAISES([commandBuffer addCompletedHandler:^(id<MTLCommandBuffer>){}], @"addCompletedHandler:", @"already committed");
  CHECK_RAISES([commandBuffer addScheduledHandler:^(id<MTLCommandBuffer>){}], @"addScheduledHandler:", @"already committed");
  [commandBuffer waitUntilCompleted];
  CHECK_RAISES([q commandBufferWithDescriptor:(MTLCommandBufferDescriptor *)nil], @"commandBufferWithDescriptor:", @"nil");
  CHECK_RAISES([device() newCommandQueueWithMaxCommandBufferCount:0], @"newCommandQueueWithMaxCommandBufferCount:", @"0");
}

// ------------------------------------------------------------------ encoders

void misuse_of_an_encoder_raises() {
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
  CHECK_EQUAL([encoder dispatchType], MTLDispatchTypeConcurrent);
  CHECK([encoder device] == device());
  NSObject *stranger = [[[NSObject alloc] init] autorelease];
  CHECK_RAISES([encoder setComputePipelineState:(id<MTLComputePipelineState>)nil], @"setComputePipelineState:", @"pipeline");
  CHECK_RAISES([encoder setComputePipelineState:(id<MTLComputePipelineState>)stranger], @"setComputePipelineState:", @"pipeline");
  CHECK_RAISES([encoder setBuffer:(id<MTLBuffer>)stranger offset:0 atIndex:0], @"setBuffer:", @"not one of this device");
  CHECK_RAISES([encoder setBuffer:buffer(4) offset:0 atIndex:31], @"setBuffer:", @"");
  CHECK_RAISES([encoder setBufferOffset:4 atIndex:2], @"setBufferOffset:", @"");
  CHECK_RAISES([encoder setBytes:(const void *)nullptr length:4 atIndex:0], @"setBytes:", @"NULL");
  CHECK_RAISES([encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)], @"dispatchThreads:", @"");
  CHECK_RAISES([encoder popDebugGroup], @"popDebugGroup", @"");
  CHECK_RAISES([encoder memoryBarrierWithScope:MTLBarrierScopeRenderTargets], @"memoryBarrierWithScope:", @"render targets");
  CHECK_RAISES([encoder insertDebugSignpost:(NSString *)nil], @"insertDebugSignpost:", @"nil");
  CHECK_RAISES([encoder barrierAfterQueueStages:(MTLStages)0 beforeStages:MTLStageAll], @"barrierAfterQueueStages:", @"stages");
  [encoder setLabel:@"of the encoder"];
  CHECK([[encoder label] isEqualToString:@"of the encoder"]);
  [encoder pushDebugGroup:@"group"];
  [encoder insertDebugSignpost:@"signpost"];
  [encoder popDebugGroup];
  [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
  [encoder barrierAfterQueueStages:MTLStageDispatch | MTLStageBlit beforeStages:MTLStageDispatch];
  id<MTLResource> resources[] = {buffer(4)};
  [encoder memoryBarrierWithResources:resources count:1];
  [encoder endEncoding];
  CHECK_RAISES([encoder endEncoding], @"endEncoding", @"");
  CHECK_RAISES([encoder setBuffer:nil offset:0 atIndex:0], @"setBuffer:", @"");
  CHECK_RAISES([encoder insertDebugSignpost:@"late"], @"insertDebugSignpost:", @"ended");
  CHECK_RAISES([encoder barrierAfterQueueStages:MTLStageAll beforeStages:MTLStageAll], @"barrierAfterQueueStages:", @"ended");
  CHECK_RAISES([encoder pushDebugGroup:@"late"], @"pushDebugGroup:", @"ended");
}

void misuse_of_a_blit_encoder_raises() {
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  id<MTLBuffer> b = buffer(16);
  CHECK_RAISES([encoder fillBuffer:b range:NSMakeRange(8, 9) value:0], @"fillBuffer:", @"");
  CHECK_RAISES([encoder fillBuffer:(id<MTLBuffer>)nil range:NSMakeRange(0, 1) value:0], @"fillBuffer:", @"buffer");
  CHECK_RAISES([encoder copyFromBuffer:b sourceOffset:12 toBuffer:buffer(16) destinationOffset:0 size:8], @"copyFromBuffer:", @"");
  CHECK_RAISES([encoder copyFromBuffer:b sourceOffset:0 toBuffer:b destinationOffset:4 size:8], @"copyFromBuffer:", @"");
  CHECK_RAISES([encoder synchronizeResource:b], @"synchronizeResource:", @"managed");
  [encoder synchronizeResource:buffer(4, MTLResourceStorageModeManaged)];
  [encoder endEncoding];
  CHECK_RAISES([encoder synchronizeResource:buffer(4, MTLResourceStorageModeManaged)], @"synchronizeResource:", @"ended");
  CHECK_RAISES([encoder fillBuffer:b range:NSMakeRange(0, 4) value:0], @"fillBuffer:", @"");
}

void an_encoder_released_while_open_raises_and_loses_nothing() {
  @autoreleasepool {
    id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
    id<MTLBlitCommandEncoder> encoder = nil;
    @autoreleasepool {
      encoder = [[commandBuffer blitCommandEncoder] retain];
    }
    CHECK_RAISES([encoder release], @"dealloc", @"without endEncoding");
    CHECK_EQUAL([commandBuffer retainCount], 1);
  }
  // The same from the end of a pool, which goes on with what it still holds.
  @autoreleasepool {
    id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    [[[Probe alloc] init] autorelease];
    [commandBuffer blitCommandEncoder];
    [[[Probe alloc] init] autorelease];
    CHECK_RAISES([pool drain], @"dealloc", @"without endEncoding");
  }
}

// Everything that would encode, on encoders that have ended.
void ended_encoders_take_nothing() {
  id<MTLCommandBuffer> commandBuffer = [queue() commandBuffer];
  id<MTLComputeCommandEncoder> compute = [commandBuffer computeCommandEncoder];
  [compute endEncoding];
  id<MTLBlitCommandEncoder> blit = [commandBuffer blitCommandEncoder];
  [blit endEncoding];
  id<MTLBuffer> b = buffer(64), more = buffer(64);
  id<MTLFence> fence = [[device() newFence] autorelease];
  MTLTextureDescriptor *small =
      [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR8Unorm width:4 height:4 mipmapped:YES];
  id<MTLTexture> texture = [[device() newTextureWithDescriptor:small] autorelease];
  id<MTLSamplerState> sampler =
      [[device() newSamplerStateWithDescriptor:[[[MTLSamplerDescriptor alloc] init] autorelease]] autorelease];
  MTLHeapDescriptor *room = [[[MTLHeapDescriptor alloc] init] autorelease];
  [room setSize:4096];
  id<MTLHeap> heap = [[device() newHeapWithDescriptor:room] autorelease];
  const id<MTLBuffer> buffers[] = {b, more};
  const id<MTLTexture> textures[] = {texture};
  const id<MTLSamplerState> samplers[] = {sampler};
  const id<MTLResource> resources[] = {b};
  const id<MTLHeap> heaps[] = {heap};
  const NSUInteger offsets[] = {0, 0};
  const MTLSize one = MTLSizeMake(1, 1, 1);
  CHECK_RAISES([compute setBytes:"abcd" length:4 atIndex:0], @"setBytes:", @"");
  CHECK_RAISES([compute setBuffers:buffers offsets:offsets withRange:NSMakeRange(0, 2)], @"setBuffers:", @"");
  CHECK_RAISES([compute setBufferOffset:0 atIndex:0], @"setBufferOffset:", @"");
  CHECK_RAISES([compute setTexture:texture atIndex:0], @"setTexture:", @"");
  CHECK_RAISES([compute setTextures:textures withRange:NSMakeRange(0, 1)], @"setTextures:", @"");
  CHECK_RAISES([compute setSamplerState:sampler atIndex:0], @"setSamplerState:", @"");
  CHECK_RAISES([compute setSamplerStates:samplers withRange:NSMakeRange(0, 1)], @"setSamplerStates:", @"");
  CHECK_RAISES([compute setThreadgroupMemoryLength:16 atIndex:0], @"setThreadgroupMemoryLength:", @"");
  CHECK_RAISES([compute dispatchThreads:one threadsPerThreadgroup:one], @"dispatchThreads:", @"");
  CHECK_RAISES([compute dispatchThreadgroups:one threadsPerThreadgroup:one], @"dispatchThreadgroups:", @"");
  CHECK_RAISES([compute dispatchThreadgroupsWithIndirectBuffer:b indirectBufferOffset:0 threadsPerThreadgroup:one],
               @"dispatchThreadgroupsWithIndirectBuffer:", @"");
  CHECK_RAISES([compute memoryBarrierWithScope:MTLBarrierScopeBuffers], @"memoryBarrierWithScope:", @"");
  CHECK_RAISES([compute memoryBarrierWithResources:resources count:1], @"memoryBarrierWithResources:", @"");
  CHECK_RAISES([compute useResource:b usage:MTLResourceUsageRead], @"useResource:", @"");
  CHECK_RAISES([compute useResources:resources count:1 usage:MTLResourceUsageRead], @"useResources:", @"");
  CHECK_RAISES([compute useHeap:heap], @"useHeap:", @"");
  CHECK_RAISES([compute useHeaps:heaps count:1], @"useHeaps:", @"");
  CHECK_RAISES([compute updateFence:fence], @"updateFence:", @"");
  CHECK_RAISES([compute waitForFence:fence], @"waitForFence:", @"");
  CHECK_RAISES([compute popDebugGroup], @"popDebugGroup", @"");
  CHECK_RAISES([compute endEncoding], @"endEncoding", @"");
  CHECK_RAISES([blit copyFromBuffer:b sourceOffset:0 toBuffer:more destinationOffset:0 size:4], @"copyFromBuffer:", @"");
  CHECK_RAISES([blit generateMipmapsForTexture:texture], @"generateMipmapsForTexture:", @"");
  CHECK_RAISES([blit copyFromTexture:texture toTexture:[[device() newTextureWithDescriptor:small] autorelease]], @"copyFromTexture:", @"");
  CHECK_RAISES([blit updateFence:fence], @"updateFence:", @"");
  CHECK_RAISES([blit waitForFence:fence], @"waitForFence:", @"");
  CHECK_RAISES([blit endEncoding], @"endEncoding", @"");
  // Nothing of it is in the way of the rest.
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
}

// ------------------------------------------------------------------ blocks

void blocks_are_objects_and_keep_what_they_capture() {
  void (^kept)(void) = nil;
  NSMutableArray *array = nil;
  @autoreleasepool {
    Probe *probe = [[[Probe alloc] init] autorelease];
    void (^block)(void) = ^{
      (void)[probe self];
    };
    kept = [block copy];
    CHECK(kept != block);
    CHECK([kept copy] == kept);
    [kept release];
    array = [[NSMutableArray alloc] init];
    [array addObject:kept];
    CHECK([kept isKindOfClass:[NSObject class]]);
  }
  CHECK_EQUAL([Probe living], 1);
  kept();
  [kept release];
  CHECK_EQUAL([Probe living], 1);  // the array's
  [array release];
  CHECK_EQUAL([Probe living], 0);
}

void a_block_may_hold_a_block() {
  void (^outer)(void) = nil;
  @autoreleasepool {
    Probe *probe = [[[Probe alloc] init] autorelease];
    void (^inner)(void) = ^{
      (void)[probe self];
    };
    outer = [^{
      inner();
    } copy];
  }
  CHECK_EQUAL([Probe living], 1);
  outer();
  [outer release];
  CHECK_EQUAL([Probe living], 0);
}

void block_variables_are_shared_and_not_retained() {
  int (^next)(void) = nil, (^again)(void) = nil;
  @autoreleasepool {
    __block int count = 10;
    __block id unheld = nil;
    @autoreleasepool {
      Probe *probe = [[[Probe alloc] init] autorelease];
      unheld = probe;
      next = [^{
        if (count < 0) (void)[unheld self];
        return ++count;
      } copy];
    }
    CHECK_EQUAL([Probe living], 0);
    again = [^{
      return ++count;
    } copy];
    CHECK_EQUAL(next(), 11);
    CHECK_EQUAL(count, 11);
  }
  CHECK_EQUAL(again(), 12);
  [next release];
  CHECK_EQUAL(again(), 13);
  [again release];
}

void a_block_without_captures_is_one_object() {
  int (^block)(void) = ^{
    return 4;
  };
  CHECK((id)[block copy] == (id)block);
  [block release];
  [block release];
  CHECK_EQUAL(block(), 4);
}

// ------------------------------------------------------------------ threads

struct Crowd {
  id<MTLCommandQueue> queue;
  std::atomic<int> completed, wrong;
};

void *roundTrips(void *argument) {
  Crowd *crowd = (Crowd *)argument;
  for (int i = 0; i < 50; i++) {
    @autoreleasepool {
      id<MTLBuffer> b = buffer(256);
      id<MTLCommandBuffer> commandBuffer = [crowd->queue commandBuffer];
      fill(commandBuffer, b, (uint8_t)(i + 1));
      Probe *probe = [[[Probe alloc] init] autorelease];
      [commandBuffer addCompletedHandler:^(id<MTLCommandBuffer>) {
        (void)[probe self];
        crowd->completed++;
      }];
      [commandBuffer commit];
      [commandBuffer waitUntilCompleted];
      const uint8_t *bytes = (const uint8_t *)[b contents];
      for (int at = 0; at < 256; at++)
        if (bytes[at] != i + 1) crowd->wrong++;
    }
  }
  return nullptr;
}

void many_threads_use_one_queue() {
  Crowd crowd = {queue(), {0}, {0}};
  pthread_t threads[8];
  for (pthread_t &thread : threads) CHECK_EQUAL(pthread_create(&thread, nullptr, roundTrips, &crowd), 0);
  for (pthread_t &thread : threads) pthread_join(thread, nullptr);
  CHECK_EQUAL(crowd.completed, 400);
  CHECK_EQUAL(crowd.wrong, 0);
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase object_cases[] = {
    CASE(strings_convert_to_encodings_as_iconv_does),
    CASE(devices_are_one_object_each),
    CASE(a_device_tells_of_itself),
    CASE(messages_that_are_not_declared_raise),
    CASE(allocated_size_follows_buffers),
    CASE(a_buffer_is_zeroed_and_tells_its_options),
    CASE(a_buffer_of_no_bytes_or_too_many_is_nil),
    CASE(private_storage_has_no_contents),
    CASE(buffers_with_bytes_copy_them),
    CASE(unknown_options_are_refused),
    CASE(a_label_is_a_copy),
    CASE(no_copy_memory_is_given_back_once),
    CASE(no_copy_asks_for_whole_pages),
    CASE(results_have_the_ownership_of_their_names),
    CASE(objects_may_be_released_in_any_order),
    CASE(a_released_command_buffer_still_completes),
    CASE(an_uncommitted_command_buffer_drops_what_it_holds),
    CASE(handlers_are_called_once_in_order),
    CASE(a_handler_may_hold_its_command_buffer),
    CASE(a_handler_may_make_autoreleased_objects),
    CASE(status_and_times_follow_the_work),
    CASE(descriptors_choose_references_and_errors),
    CASE(what_is_not_retained_the_program_keeps),
    CASE(misuse_of_a_command_buffer_raises),
    CASE(misuse_of_an_encoder_raises),
    CASE(misuse_of_a_blit_encoder_raises),
    CASE(ended_encoders_take_nothing),
    CASE(an_encoder_released_while_open_raises_and_loses_nothing),
    CASE(blocks_are_objects_and_keep_what_they_capture),
    CASE(a_block_may_hold_a_block),
    CASE(block_variables_are_shared_and_not_retained),
    CASE(a_block_without_captures_is_one_object),
    CASE(many_threads_use_one_queue),
    {nullptr, nullptr},
};
