// MTLDevice: what a device tells of itself and makes.
#import "faces.h"

#include <cstring>
#include <unistd.h>

namespace {
void callDeallocator(void *context, void *bytes, uint64_t length) {
  void (^deallocator)(void *, NSUInteger) = (void (^)(void *, NSUInteger))context;
  hostmetal_call_out("buffer's deallocator", ^{
    deallocator(bytes, length);
    [deallocator release];
  });
}
}  // namespace

@implementation HostMTLDevice
@synthesize name = _name, architecture = _architecture,
            shouldMaximizeConcurrentCompilation = _shouldMaximizeConcurrentCompilation;

- (instancetype)initWithEngine:(HMDevice)engine {
  if ((self = [super init])) {
    _engine = engine;
    hm_device_info(engine, &_info);
    _name = [[NSString alloc] initWithUTF8String:_info.name];
    _architecture = [[MTLArchitecture alloc] initWithName:@"hostmetal"];
  }
  return self;
}

- (uint64_t)registryID {
  return _info.registry_id;
}
- (MTLSize)maxThreadsPerThreadgroup {
  const uint64_t *size = _info.max_threads_per_threadgroup;
  return MTLSizeMake(size[0], size[1], size[2]);
}
- (BOOL)isLowPower {
  return _info.low_power;
}
- (BOOL)isHeadless {
  return YES;
}
- (BOOL)isRemovable {
  return _info.location == MTLDeviceLocationExternal;
}
// A GPU in a slot or outside has memory of its own.
- (BOOL)hasUnifiedMemory {
  return _info.location == MTLDeviceLocationBuiltIn;
}
- (uint64_t)recommendedMaxWorkingSetSize {
  return _info.recommended_max_working_set_size;
}
- (MTLDeviceLocation)location {
  return (MTLDeviceLocation)_info.location;
}
- (NSUInteger)locationNumber {
  return _info.location_number;
}
- (uint64_t)peerGroupID {
  return _info.peer_group;
}
- (uint32_t)peerIndex {
  return _info.peer_index;
}
- (uint32_t)peerCount {
  return _info.peer_count;
}
// 0 where no memory is apart, or the rate is not known (Apple, maxTransferRate).
- (uint64_t)maxTransferRate {
  return 0;
}
- (NSUInteger)currentAllocatedSize {
  return hm_device_current_allocated_size(_engine);
}
- (NSUInteger)maxThreadgroupMemoryLength {
  return _info.max_threadgroup_memory_length;
}
- (NSUInteger)maxBufferLength {
  return _info.max_buffer_length;
}

- (BOOL)supportsFamily:(MTLGPUFamily)family {
  return hm_device_supports_family(_engine, family);
}
// A GPU of the family Mac2 has all that the sets of Macs ask for.
- (BOOL)supportsFeatureSet:(MTLFeatureSet)set {
  const BOOL known = set >= MTLFeatureSet_macOS_GPUFamily1_v1 && set <= MTLFeatureSet_macOS_GPUFamily2_v1;
  return known && [self supportsFamily:MTLGPUFamilyMac2];
}
- (NSUInteger)maximumConcurrentCompilationTaskCount {
  return hm_compilers();
}


// ------------------------------------------------------------------ features

- (MTLReadWriteTextureTier)readWriteTextureSupport {
  return MTLReadWriteTextureTier2;
}
- (MTLArgumentBuffersTier)argumentBuffersSupport {
  return MTLArgumentBuffersTier2;
}
// Samplers take no place here; this is what Apple's GPUs allow.
- (NSUInteger)maxArgumentBufferSamplerCount {
  return 1024;
}
- (BOOL)supports32BitFloatFiltering {
  return YES;
}
- (BOOL)supportsTextureSampleCount:(NSUInteger)sampleCount {
  return sampleCount == 1 || sampleCount == 2 || sampleCount == 4 || sampleCount == 8;
}
- (BOOL)supports32BitMSAA {
  return NO;
}
- (BOOL)supportsQueryTextureLOD {
  return NO;
}
- (BOOL)supportsBCTextureCompression {
  return NO;
}
- (BOOL)supportsDynamicLibraries {
  return YES;
}
- (BOOL)supportsRenderDynamicLibraries {
  return NO;
}
- (BOOL)supportsFunctionPointers {
  return YES;
}
- (BOOL)supportsFunctionPointersFromRender {
  return NO;
}
- (BOOL)supportsPlacementSparse {
  return NO;
}
- (BOOL)supportsRaytracing {
  return NO;
}
- (BOOL)supportsRaytracingFromRender {
  return NO;
}
- (BOOL)supportsPrimitiveMotionBlur {
  return NO;
}
- (BOOL)supportsPullModelInterpolation {
  return NO;
}
- (BOOL)supportsShaderBarycentricCoordinates {
  return NO;
}
- (BOOL)areRasterOrderGroupsSupported {
  return NO;
}
- (BOOL)areProgrammableSamplePositionsSupported {
  return NO;
}
- (BOOL)isDepth24Stencil8PixelFormatSupported {
  return NO;
}

// ------------------------------------------------------------------ queues

- (id<MTLCommandQueue>)newCommandQueue {
  return [self newCommandQueueWithMaxCommandBufferCount:64];
}

- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count {
  HM_REQUIRE(count > 0, "the maximum number of command buffers must not be 0");
  if (hm_device_removed(_engine)) return nil;
  HMQueue queue = hm_queue_create(_engine, count);
  return queue ? [[HostMTLCommandQueue alloc] initWithDevice:self engine:queue] : nil;
}

- (id<MTLCommandQueue>)newCommandQueueWithDescriptor:(MTLCommandQueueDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  id<MTLLogState> logState = [descriptor logState];
  HM_CHECK(hostmetal_check_log(logState, self));
  HostMTLCommandQueue *queue =
      (HostMTLCommandQueue *)[self newCommandQueueWithMaxCommandBufferCount:[descriptor maxCommandBufferCount]];
  if (queue && logState) {
    [queue->_logState release];
    queue->_logState = (HostMTLLogState *)[logState retain];
  }
  return queue;
}

- (id<MTLLogState>)newLogStateWithDescriptor:(MTLLogStateDescriptor *)descriptor error:(NSError **)error {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  return [[HostMTLLogState alloc] initWithDevice:self descriptor:descriptor error:error];
}

// ------------------------------------------------------------------ events, fences, time

- (id<MTLFence>)newFence {
  HMFence fence = hm_fence_create(_engine);
  return fence ? [[HostMTLFence alloc] initWithDevice:self engine:fence] : nil;
}

- (id<MTLEvent>)newEvent {
  HMEvent event = hm_event_create(_engine, false);
  return event ? [[HostMTLEvent alloc] initWithDevice:self engine:event] : nil;
}

- (id<MTLSharedEvent>)newSharedEvent {
  HMEvent event = hm_event_create(_engine, true);
  return event ? [[HostMTLSharedEvent alloc] initWithDevice:self engine:event] : nil;
}

- (id<MTLSharedEvent>)newSharedEventWithHandle:(MTLSharedEventHandle *)handle {
  HM_REQUIRE(handle != nil, "the handle must not be nil");
  HMEvent event = hm_event_open(_engine, [handle engineEvent]);
  return event ? [[HostMTLSharedEvent alloc] initWithDevice:self engine:event] : nil;
}

- (NSArray<id<MTLCounterSet>> *)counterSets {
  return @[ hostmetal_timestamps() ];
}

- (id<MTLCounterSampleBuffer>)newCounterSampleBufferWithDescriptor:(MTLCounterSampleBufferDescriptor *)descriptor
                                                             error:(NSError **)error {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  if (error) *error = nil;
  MTLCounterSampleBufferError code = MTLCounterSampleBufferErrorInvalid;
  const char *why = nullptr;
  const NSUInteger count = [descriptor sampleCount];
  HMBuffer samples = nullptr;
  if ([descriptor counterSet] != hostmetal_timestamps()) why = "the counter set must be one of the device's";
  else if (count == 0) why = "the sample count must not be 0";
  else if ([descriptor storageMode] != MTLStorageModeShared && [descriptor storageMode] != MTLStorageModePrivate)
    why = "the storage mode must be shared or private";
  else if (count > _info.max_buffer_length / 8 || !(samples = hm_buffer_create(_engine, count * 8))) {
    code = MTLCounterSampleBufferErrorOutOfMemory;
    why = "there is no memory for so many samples";
  }
  if (!why) return [[HostMTLCounterSampleBuffer alloc] initWithDevice:self engine:samples descriptor:descriptor];
  if (error)
    *error = [NSError errorWithDomain:MTLCounterErrorDomain
                                 code:code
                             userInfo:@{NSLocalizedDescriptionKey : [NSString stringWithUTF8String:why]}];
  return nil;
}

- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)point {
  return point == MTLCounterSamplingPointAtStageBoundary || point == MTLCounterSamplingPointAtDispatchBoundary ||
         point == MTLCounterSamplingPointAtBlitBoundary;
}

- (void)sampleTimestamps:(MTLTimestamp *)cpu gpuTimestamp:(MTLTimestamp *)gpu {
  HM_REQUIRE(cpu != nullptr && gpu != nullptr, "the pointers must not be NULL");
  *cpu = *gpu = hm_clock_now();
}

- (uint64_t)queryTimestampFrequency {
  return 1000000000;
}

// ------------------------------------------------------------------ buffers

- (void)requireResourceOptions:(MTLResourceOptions)options selector:(SEL)selector {
  if ((options & MTLResourceCPUCacheModeMask) > MTLResourceCPUCacheModeWriteCombined)
    hostmetal_raise(self, selector, "unknown CPU cache mode");
  if ((options & MTLResourceHazardTrackingModeMask) > MTLResourceHazardTrackingModeTracked)
    hostmetal_raise(self, selector, "unknown hazard tracking mode");
  const NSUInteger mode = (options & MTLResourceStorageModeMask) >> MTLResourceStorageModeShift;
  if (mode == MTLStorageModeMemoryless) hostmetal_raise(self, selector, "memoryless storage is for render targets");
  if (mode > MTLStorageModeMemoryless) hostmetal_raise(self, selector, "unknown storage mode");
  const NSUInteger known =
      MTLResourceCPUCacheModeMask | MTLResourceStorageModeMask | MTLResourceHazardTrackingModeMask;
  if (options & ~known) hostmetal_raise(self, selector, "unknown resource options");
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  [self requireResourceOptions:options selector:_cmd];
  HMBuffer buffer = hm_buffer_create(_engine, length);
  return buffer ? [[HostMTLBuffer alloc] initWithDevice:self engine:buffer heap:nil options:options] : nil;
}

- (id<MTLBuffer>)newBufferWithBytes:(const void *)bytes length:(NSUInteger)length options:(MTLResourceOptions)options {
  HM_REQUIRE(bytes != nullptr, "the pointer must not be NULL");
  HostMTLBuffer *buffer = [self newBufferWithLength:length options:options];
  if (buffer) memcpy(hm_buffer_contents(buffer->_engine), bytes, length);
  return buffer;
}

- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)bytes
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void *, NSUInteger))deallocator {
  [self requireResourceOptions:options selector:_cmd];
  HM_REQUIRE((options & MTLResourceStorageModeMask) != MTLResourceStorageModePrivate,
             "private storage cannot use the caller's memory");
  const NSUInteger page = (NSUInteger)sysconf(_SC_PAGESIZE);
  HM_REQUIRE(bytes != nullptr, "the pointer must not be NULL");
  HM_REQUIRE((uintptr_t)bytes % page == 0, "the pointer is not aligned to a page");
  HM_REQUIRE(length % page == 0, "the length is not a multiple of the page size");
  void (^copy)(void *, NSUInteger) = [deallocator copy];
  HMBuffer buffer = hm_buffer_create_no_copy(_engine, bytes, length, copy ? callDeallocator : nullptr, copy);
  if (!buffer) {
    [copy release];
    return nil;
  }
  return [[HostMTLBuffer alloc] initWithDevice:self engine:buffer heap:nil options:options];
}

// ------------------------------------------------------------------ heaps

- (id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HM_REQUIRE([descriptor size] > 0, "the size must not be 0");
  HM_REQUIRE([descriptor type] == MTLHeapTypeAutomatic || [descriptor type] == MTLHeapTypePlacement,
             "the type must be automatic or placement: hostmetal has no sparse heaps");
  const MTLResourceOptions options = [descriptor resourceOptions];
  [self requireResourceOptions:options selector:_cmd];
  HM_REQUIRE([descriptor storageMode] != MTLStorageModeManaged, "heaps cannot have managed storage");
  HMHeap heap = hm_heap_create(_engine, [descriptor size], [descriptor type] == MTLHeapTypePlacement);
  return heap ? [[HostMTLHeap alloc] initWithDevice:self engine:heap type:[descriptor type] options:options] : nil;
}

- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  [self requireResourceOptions:options selector:_cmd];
  return {hm_heap_buffer_size(length), HM_HEAP_ALIGNMENT};
}

- (MTLSizeAndAlign)heapTextureSizeAndAlignWithDescriptor:(MTLTextureDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  const HMTextureDescriptor info = [descriptor engineDescriptor];
  const char *misuse = nullptr;
  const uint64_t size = hm_heap_texture_size(&info, &misuse);
  HM_CHECK(misuse);
  return {size, HM_HEAP_ALIGNMENT};
}

- (id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor *)descriptor error:(NSError **)error {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  if (error) *error = nil;
  return [[HostMTLResidencySet alloc] initWithDevice:self descriptor:descriptor];
}

// ------------------------------------------------------------------ textures and samplers

- (id<MTLIndirectCommandBuffer>)newIndirectCommandBufferWithDescriptor:(MTLIndirectCommandBufferDescriptor *)descriptor
                                                       maxCommandCount:(NSUInteger)count
                                                               options:(MTLResourceOptions)options {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  [self requireResourceOptions:options selector:_cmd];
  const MTLIndirectCommandType types = [descriptor commandTypes];
  const MTLIndirectCommandType known = MTLIndirectCommandTypeConcurrentDispatch | MTLIndirectCommandTypeConcurrentDispatchThreads;
  HM_REQUIRE((types & ~known) == 0, "commandTypes has a command that is not a dispatch");
  const NSUInteger buffers = [descriptor maxKernelBufferBindCount], memory = [descriptor maxKernelThreadgroupMemoryBindCount];
  HM_REQUIRE(![descriptor supportRayTracing], "supportRayTracing is YES and the device does not support ray tracing");
  HM_REQUIRE(buffers <= 31 && memory <= 31, "maxKernelBufferBindCount and maxKernelThreadgroupMemoryBindCount must be <= 31");
  const HMCommandsDescriptor wanted = {(types & MTLIndirectCommandTypeConcurrentDispatch) != 0,
                                       (types & MTLIndirectCommandTypeConcurrentDispatchThreads) != 0,
                                       (bool)[descriptor inheritBuffers],
                                       (bool)[descriptor inheritPipelineState],
                                       (uint32_t)buffers,
                                       (uint32_t)memory,
                                       (bool)[descriptor supportDynamicAttributeStride]};
  const char *misuse = nullptr;
  HMCommands made = hm_commands_create(_engine, &wanted, count, &misuse);
  HM_CHECK(misuse);
  return made ? [[HostMTLIndirectCommandBuffer alloc] initWithDevice:self engine:made options:options] : nil;
}

- (id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:(NSArray<MTLArgumentDescriptor *> *)arguments {
  const NSUInteger count = [arguments count];
  NSMutableData *given = [NSMutableData dataWithLength:count * sizeof(HMArgument)];
  for (NSUInteger i = 0; i < count; i++) {
    MTLArgumentDescriptor *one = [arguments objectAtIndex:i];
    const NSUInteger most = UINT32_MAX / 2;
    HM_REQUIRE([one index] <= most && [one arrayLength] <= most, "index and arrayLength must be < 2^31");
    ((HMArgument *)[given mutableBytes])[i] = {(uint32_t)[one dataType],    (uint32_t)[one index],       (uint32_t)[one arrayLength],
                                               (uint32_t)[one access], (uint32_t)[one textureType], [one constantBlockAlignment]};
  }
  const char *misuse = nullptr;
  HMArguments made = hm_arguments_create((const HMArgument *)[given bytes], count, &misuse);
  HM_CHECK(misuse);
  return [[HostMTLArgumentEncoder alloc] initWithDevice:self engine:made];
}

- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferBinding:(id<MTLBufferBinding>)binding {
  static const Class bindingClass = [HostMTLBufferBinding class];
  HM_REQUIRE(object_getClass(binding) == bindingClass, "the binding must be a buffer's, of a pipeline of this device");
  return [[HostMTLArgumentEncoder alloc] initWithDevice:self
                                                 engine:hm_arguments_retain(((HostMTLBufferBinding *)binding)->_arguments)];
}

- (NSUInteger)minimumLinearTextureAlignmentForPixelFormat:(MTLPixelFormat)format {
  HM_REQUIRE(hm_pixel_format_known((uint32_t)format), "the pixel format is not one that hostmetal knows");
  return 16;
}
- (NSUInteger)minimumTextureBufferAlignmentForPixelFormat:(MTLPixelFormat)format {
  HM_REQUIRE(hm_pixel_format_known((uint32_t)format), "the pixel format is not one that hostmetal knows");
  return 16;
}

- (id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  [self requireResourceOptions:[descriptor resourceOptions] selector:_cmd];
  const HMTextureDescriptor info = [descriptor engineDescriptor];
  const char *misuse = nullptr;
  HMTexture texture = hm_texture_create(_engine, &info, &misuse);
  HM_CHECK(misuse);
  if (!texture) return nil;
  return [[HostMTLTexture alloc] initWithDevice:self
                                         engine:texture
                                           heap:nil
                                     descriptor:&info
                                      optimized:[descriptor allowGPUOptimizedContents]
                                        options:[descriptor resourceOptions]];
}

- (id<MTLTexture>)newSharedTextureWithDescriptor:(MTLTextureDescriptor *)descriptor {
  HM_REQUIRE([descriptor storageMode] == MTLStorageModePrivate, "a shared texture must have MTLStorageModePrivate");
  HostMTLTexture *made = (HostMTLTexture *)[self newTextureWithDescriptor:descriptor];
  [made setShareable];
  return made;
}

- (id<MTLTexture>)newSharedTextureWithHandle:(MTLSharedTextureHandle *)handle {
  HM_REQUIRE(handle != nil, "the handle must not be nil");
  HM_REQUIRE([handle device] == self, "the texture was created with a different device");
  return [[handle texture] newShared];
}

- (id<MTLSamplerState>)newSamplerStateWithDescriptor:(MTLSamplerDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HMSampler sampler;
  HM_CHECK(hostmetal_sampler(descriptor, &sampler));
  if (hm_faults_refuse_sampler(_engine)) return nil;
  return [[HostMTLSamplerState alloc] initWithDevice:self engine:sampler descriptor:descriptor];
}

// ------------------------------------------------------------------ libraries

- (id<MTLLibrary>)newLibraryWithSource:(NSString *)source
                               options:(MTLCompileOptions *)options
                                 error:(NSError **)error {
  HM_REQUIRE(source != nil, "the source must not be nil");
  if (error) *error = nil;
  const BOOL dynamic = [options libraryType] == MTLLibraryTypeDynamic;
  if (dynamic && ![options installName]) {
    if (error)
      *error = [NSError errorWithDomain:MTLLibraryErrorDomain
                                   code:MTLLibraryErrorCompileFailure
                               userInfo:@{NSLocalizedDescriptionKey : @"a library of MTLLibraryTypeDynamic needs an installName"}];
    return nil;
  }
  NSData *text = [source dataUsingEncoding:NSUTF8StringEncoding];
  if (!text) {
    if (error)
      *error = [NSError errorWithDomain:MTLLibraryErrorDomain
                                   code:MTLLibraryErrorCompileFailure
                               userInfo:@{NSLocalizedDescriptionKey : @"the source is not valid Unicode"}];
    return nil;
  }
  __block HMLibrary library = nullptr;
  __block HMError failure = {};
  MTLCompileOptions *given = options ? options : [[[MTLCompileOptions alloc] init] autorelease];
  [given withEngineOptionsOf:self call:^(const HMCompileOptions *engineOptions) {
    library = hm_library_create(_engine, (const char *)[text bytes], [text length], engineOptions, &failure);
  }];
  if (!library || failure.message) {
    NSError *told = hostmetal_error(MTLLibraryErrorDomain, &failure, nil);
    if (error) *error = told;
  }
  NSString *const installName = dynamic ? [options installName] : nil;
  return library ? [[HostMTLLibrary alloc] initWithDevice:self engine:library installName:installName] : nil;
}

- (void)newLibraryWithSource:(NSString *)source
                     options:(MTLCompileOptions *)options
           completionHandler:(MTLNewLibraryCompletionHandler)handler {
  HM_REQUIRE(source != nil, "the source must not be nil");
  HM_REQUIRE(handler != nil, "the completion handler must not be nil");
  // Misuse is raised here and not on the thread that compiles.
  [options withEngineOptionsOf:self call:^(const HMCompileOptions *){}];
  NSString *sourceCopy = [[source copy] autorelease];
  MTLCompileOptions *optionsCopy = [[options copy] autorelease];
  hostmetal_async(^{
    NSError *error = nil;
    id<MTLLibrary> library = [self newLibraryWithSource:sourceCopy options:optionsCopy error:&error];
    handler([library autorelease], error);
  });
}

- (id<MTLLibrary>)newLibraryWithStitchedDescriptor:(MTLStitchedLibraryDescriptor *)descriptor error:(NSError **)error {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  if (error) *error = nil;
  HostMTLStitching *const stitching = [[[HostMTLStitching alloc] initWithDevice:self descriptor:descriptor selector:_cmd] autorelease];
  return [stitching newLibraryWithError:error];
}

- (void)newLibraryWithStitchedDescriptor:(MTLStitchedLibraryDescriptor *)descriptor
                       completionHandler:(MTLNewLibraryCompletionHandler)handler {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HM_REQUIRE(handler != nil, "the completion handler must not be nil");
  HostMTLStitching *const stitching = [[[HostMTLStitching alloc] initWithDevice:self descriptor:descriptor selector:_cmd] autorelease];
  hostmetal_async(^{
    NSError *error = nil;
    id<MTLLibrary> library = [stitching newLibraryWithError:&error];
    handler([library autorelease], error);
  });
}

// A library's file is MSL source here. What Apple's tools write begins with the letters MTLB.
- (id<MTLLibrary>)newLibraryWithBytes:(NSData *)bytes of:(NSString *)origin error:(NSError **)error {
  NSString *text = nil;
  if ([bytes length] >= 4 && memcmp([bytes bytes], "MTLB", 4) == 0) {
    text = [NSString stringWithFormat:@"%@ holds code for Apple's GPUs, which hostmetal cannot run: put the library's source in "
                                      @"its place",
                                      origin];
  } else {
    NSString *const source = [[[NSString alloc] initWithData:bytes encoding:NSUTF8StringEncoding] autorelease];
    if (source) return [self newLibraryWithSource:source options:nil error:error];
    text = [NSString stringWithFormat:@"%@ is no text, and so no MSL source", origin];
  }
  if (error)
    *error = [NSError errorWithDomain:MTLLibraryErrorDomain
                                 code:MTLLibraryErrorUnsupported
                             userInfo:@{NSLocalizedDescriptionKey : text}];
  return nil;
}

- (id<MTLLibrary>)newLibraryWithPath:(NSString *)path error:(NSError **)error {
  NSData *const bytes = path ? [NSData dataWithContentsOfFile:path] : nil;
  if (bytes) return [self newLibraryWithBytes:bytes of:[NSString stringWithFormat:@"'%@'", path] error:error];
  NSString *const text = [NSString stringWithFormat:@"there is no library '%@'", path];
  if (error)
    *error = [NSError errorWithDomain:MTLLibraryErrorDomain
                                 code:MTLLibraryErrorFileNotFound
                             userInfo:@{NSLocalizedDescriptionKey : text}];
  return nil;
}

- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError **)error {
  HM_REQUIRE(data != nil, "the data must not be nil");
  const void *bytes = nullptr;
  size_t length = 0;
  dispatch_data_t map = dispatch_data_create_map(data, &bytes, &length);
  NSData *const copy = [NSData dataWithBytes:bytes length:length];
  dispatch_release(map);
  return [self newLibraryWithBytes:copy of:@"the data" error:error];
}

- (id<MTLLibrary>)newLibraryWithURL:(NSURL *)url error:(NSError **)error {
  HM_REQUIRE(url != nil, "the URL must not be nil");
  return [self newLibraryWithPath:[url isFileURL] ? [url path] : [url absoluteString] error:error];
}

- (id<MTLLibrary>)newLibraryWithFile:(NSString *)path error:(NSError **)error {
  HM_REQUIRE(path != nil, "the path must not be nil");
  return [self newLibraryWithPath:path error:error];
}

// default.metallib of the bundle's resources; the main bundle of a program that is no application is its folder.
- (id<MTLLibrary>)newDefaultLibraryWithBundle:(NSBundle *)bundle error:(NSError **)error {
  HM_REQUIRE(bundle != nil, "the bundle must not be nil");
  NSString *path = [bundle pathForResource:@"default" ofType:@"metallib"];
  char program[PATH_MAX];
  const ssize_t length = path || bundle != [NSBundle mainBundle] ? 0 : readlink("/proc/self/exe", program, sizeof program);
  if (length > 0) {
    NSString *const place = [[NSFileManager defaultManager] stringWithFileSystemRepresentation:program length:length];
    path = [[place stringByDeletingLastPathComponent] stringByAppendingPathComponent:@"default.metallib"];
  }
  if (!path) path = [[bundle bundlePath] stringByAppendingPathComponent:@"default.metallib"];
  return [self newLibraryWithPath:path error:error];
}

- (id<MTLLibrary>)newDefaultLibrary {
  return [self newDefaultLibraryWithBundle:[NSBundle mainBundle] error:nullptr];
}

- (id<MTLDynamicLibrary>)newDynamicLibrary:(id<MTLLibrary>)library error:(NSError **)error {
  HM_REQUIRE([(NSObject *)library isKindOfClass:[HostMTLLibrary class]], "the library must not be nil");
  HM_REQUIRE([library device] == self, "the library is of another device");
  HM_REQUIRE([library type] == MTLLibraryTypeDynamic, "the library's type must be MTLLibraryTypeDynamic");
  if (error) *error = nil;
  return [[HostMTLDynamicLibrary alloc] initWithDevice:self engine:hm_library_dynamic(((HostMTLLibrary *)library)->_engine)];
}

- (id<MTLDynamicLibrary>)newDynamicLibraryWithURL:(NSURL *)url error:(NSError **)error {
  HM_REQUIRE(url != nil, "the URL must not be nil");
  if (error) *error = nil;
  NSString *const path = [self pathOf:url domain:MTLDynamicLibraryDomain code:MTLDynamicLibraryErrorInvalidFile error:error];
  if (!path) return nil;
  HMError failure = {};
  HMDynamic engine = hm_dynamic_read([path fileSystemRepresentation], &failure);
  if (engine) return [[HostMTLDynamicLibrary alloc] initWithDevice:self engine:engine];
  NSError *const told = hostmetal_error(MTLDynamicLibraryDomain, &failure, nil);
  if (error) *error = told;
  return nil;
}

- (id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor *)descriptor error:(NSError **)error {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  if (error) *error = nil;
  return [[HostMTLBinaryArchive alloc] initWithDevice:self descriptor:descriptor error:error];
}

// ------------------------------------------------------------------ files

- (id<MTLIOCommandQueue>)newIOCommandQueueWithDescriptor:(MTLIOCommandQueueDescriptor *)descriptor error:(NSError **)error {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HM_REQUIRE([descriptor maxCommandBufferCount] > 0, "maxCommandBufferCount must be > 0");
  HM_REQUIRE((NSUInteger)[descriptor type] <= MTLIOCommandQueueTypeSerial, "unknown type of I/O command queue");
  HM_REQUIRE((NSUInteger)[descriptor priority] <= MTLIOPriorityLow, "unknown priority");
  if (error) *error = nil;
  return [[HostMTLIOCommandQueue alloc] initWithDevice:_engine descriptor:descriptor error:error];
}

- (id<MTLIOFileHandle>)newIOFileHandleWithURL:(NSURL *)url error:(NSError **)error {
  HM_REQUIRE(url != nil, "the URL must not be nil");
  if (error) *error = nil;
  NSString *const path = [self pathOf:url domain:MTLIOErrorDomain code:MTLIOErrorURLInvalid error:error];
  return path ? [[HostMTLIOFileHandle alloc] initWithPath:path error:error] : nil;
}

- (id<MTLIOFileHandle>)newIOFileHandleWithURL:(NSURL *)url
                            compressionMethod:(MTLIOCompressionMethod)compressionMethod
                                        error:(NSError **)error {
  HM_REQUIRE(url != nil, "the URL must not be nil");
  HM_REQUIRE((NSUInteger)compressionMethod <= MTLIOCompressionMethodLZBitmap, "unknown compression method");
  NSString *const text =
      [NSString stringWithFormat:@"%@: compressed files are not supported: their format is Apple's", [url path]];
  if (error)
    *error = [NSError errorWithDomain:MTLIOErrorDomain code:MTLIOErrorInternal userInfo:@{NSLocalizedDescriptionKey : text}];
  return nil;
}

- (id<MTLIOFileHandle>)newIOHandleWithURL:(NSURL *)url error:(NSError **)error {
  return [self newIOFileHandleWithURL:url error:error];
}

- (id<MTLIOFileHandle>)newIOHandleWithURL:(NSURL *)url
                        compressionMethod:(MTLIOCompressionMethod)compressionMethod
                                    error:(NSError **)error {
  return [self newIOFileHandleWithURL:url compressionMethod:compressionMethod error:error];
}

// ------------------------------------------------------------------ pipelines

- (void)requireFunction:(id<MTLFunction>)function selector:(SEL)selector {
  static const Class functionClass = [HostMTLFunction class];
  if (object_getClass(function) != functionClass) hostmetal_raise(self, selector, "the compute function must not be nil");
  if ([function device] != self) hostmetal_raise(self, selector, "the compute function is of another device");
}

- (NSData *)definitionsOf:(MTLLinkedFunctions *)linked selector:(SEL)selector {
  NSMutableData *const engines = [NSMutableData data];
  NSArray *const kinds = @[ [linked functions] ?: @[], [linked privateFunctions] ?: @[] ];
  for (NSArray *functions in kinds)
    for (HostMTLFunction *function in functions) {
      [self requireFunction:function selector:selector];
      if (function->_engine) [engines appendBytes:&function->_engine length:sizeof function->_engine];
    }
  return engines;
}

- (void)appendArchives:(NSArray<id<MTLBinaryArchive>> *)archives to:(NSMutableData *)engines selector:(SEL)selector {
  for (HostMTLBinaryArchive *archive in archives) {
    if (![archive isKindOfClass:[HostMTLBinaryArchive class]] || [archive device] != self)
      hostmetal_raise(self, selector, "a binary archive is of another device");
    [engines appendBytes:&archive->_engine length:sizeof archive->_engine];
  }
}

- (id<MTLComputePipelineState>)newPipelineWithFunction:(id<MTLFunction>)function
                                            descriptor:(MTLComputePipelineDescriptor *)descriptor
                                               options:(MTLPipelineOption)options
                                            reflection:(MTLComputePipelineReflection **)reflection
                                                 error:(NSError **)error
                                              selector:(SEL)selector {
  [self requireFunction:function selector:selector];
  HostMTLFunction *host = (HostMTLFunction *)function;
  if (error) *error = nil;
  if (reflection) *reflection = nil;
  if (!host->_engine) {
    if (error) *error = [[host->_missing retain] autorelease];
    return nil;
  }
  NSMutableData *archives = [NSMutableData data];
  [self appendArchives:[descriptor binaryArchives] to:archives selector:selector];
  [self appendArchives:host->_binaryArchives to:archives selector:selector];
  NSMutableData *preloaded = [NSMutableData data];
  [self appendLibraries:[descriptor preloadedLibraries] to:preloaded selector:selector];
  const bool onlyFromArchives = (options & MTLPipelineOptionFailOnBinaryArchiveMiss) ||
                                (host->_options & MTLFunctionOptionFailOnBinaryArchiveMiss);
  MTLStageInputOutputDescriptor *const stage = [descriptor stageInputDescriptor];
  const HMStageInput input = stage ? [stage engineInput] : HMStageInput{};
  MTLLinkedFunctions *const linked = [descriptor linkedFunctions];
  NSData *const definitions = [self definitionsOf:linked selector:selector];
  const MTLSize required = descriptor ? [descriptor requiredThreadsPerThreadgroup] : MTLSizeMake(0, 0, 0);
  const HMPipelineOptions engineOptions = {[descriptor maxTotalThreadsPerThreadgroup],
                                           (bool)[descriptor threadGroupSizeIsMultipleOfThreadExecutionWidth],
                                           onlyFromArchives,
                                           (const HMArchive *)[archives bytes],
                                           [archives length] / sizeof(HMArchive),
                                           (const HMDynamic *)[preloaded bytes],
                                           [preloaded length] / sizeof(HMDynamic),
                                           (const HMFunction *)[definitions bytes],
                                           [definitions length] / sizeof(HMFunction),
                                           stage ? &input : nullptr,
                                           {required.width, required.height, required.depth}};
  HMError failure = {};
  NSMutableArray *handles = [NSMutableArray array];
  if (![self compileFunctions:[linked functions] options:&engineOptions to:handles error:error selector:selector] ||
      ![self compileFunctions:[linked binaryFunctions] options:&engineOptions to:handles error:error selector:selector] ||
      ![self compileFunctions:[linked privateFunctions] options:&engineOptions to:nil error:error selector:selector])
    return nil;
  HMPipeline pipeline = hm_pipeline_create(_engine, host->_engine, &engineOptions, &failure);
  if (!pipeline) {
    NSError *told = hostmetal_error(MTLLibraryErrorDomain, &failure, nil);
    if (error) *error = told;
    return nil;
  }
  hm_string_release(failure.message);
  HostMTLComputePipelineState *state =
      [[HostMTLComputePipelineState alloc] initWithDevice:self engine:pipeline handles:handles descriptor:descriptor];
  if (reflection && (options & (MTLPipelineOptionBindingInfo | MTLPipelineOptionBufferTypeInfo)))
    *reflection = [state reflection];
  return state;
}

- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError **)error {
  return [self newPipelineWithFunction:function
                            descriptor:nil
                               options:MTLPipelineOptionNone
                            reflection:nullptr
                                 error:error
                              selector:_cmd];
}

- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                                           options:(MTLPipelineOption)options
                                                        reflection:(MTLAutoreleasedComputePipelineReflection *)reflection
                                                             error:(NSError **)error {
  return [self newPipelineWithFunction:function
                            descriptor:nil
                               options:options
                            reflection:reflection
                                 error:error
                              selector:_cmd];
}

- (id<MTLComputePipelineState>)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                                             options:(MTLPipelineOption)options
                                                          reflection:
                                                              (MTLAutoreleasedComputePipelineReflection *)reflection
                                                               error:(NSError **)error {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  return [self newPipelineWithFunction:[descriptor computeFunction]
                            descriptor:descriptor
                               options:options
                            reflection:reflection
                                 error:error
                              selector:_cmd];
}

- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                          completionHandler:(MTLNewComputePipelineStateCompletionHandler)handler {
  [self requireFunction:function selector:_cmd];
  HM_REQUIRE(handler != nil, "the completion handler must not be nil");
  hostmetal_async(^{
    NSError *error = nil;
    id<MTLComputePipelineState> state = [self newComputePipelineStateWithFunction:function error:&error];
    handler([state autorelease], error);
  });
}

- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                    options:(MTLPipelineOption)options
                          completionHandler:(MTLNewComputePipelineStateWithReflectionCompletionHandler)handler {
  [self requireFunction:function selector:_cmd];
  HM_REQUIRE(handler != nil, "the completion handler must not be nil");
  hostmetal_async(^{
    NSError *error = nil;
    MTLComputePipelineReflection *reflection = nil;
    id<MTLComputePipelineState> state = [self newComputePipelineStateWithFunction:function
                                                                          options:options
                                                                       reflection:&reflection
                                                                            error:&error];
    handler([state autorelease], reflection, error);
  });
}

- (void)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                      options:(MTLPipelineOption)options
                            completionHandler:(MTLNewComputePipelineStateWithReflectionCompletionHandler)handler {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  [self requireFunction:[descriptor computeFunction] selector:_cmd];
  HM_REQUIRE(handler != nil, "the completion handler must not be nil");
  MTLComputePipelineDescriptor *copy = [[descriptor copy] autorelease];
  hostmetal_async(^{
    NSError *error = nil;
    MTLComputePipelineReflection *reflection = nil;
    id<MTLComputePipelineState> state = [self newComputePipelineStateWithDescriptor:copy
                                                                            options:options
                                                                         reflection:&reflection
                                                                              error:&error];
    handler([state autorelease], reflection, error);
  });
}

// hostmetal's own: asked for by name (native/DCMetalDevice.mm).
- (NSString *)hostmetalCompiler {
  char *const text = hm_compiler();
  NSString *string = [NSString stringWithUTF8String:text];
  hm_string_release(text);
  return string;
}

- (void)dealloc {
  [_name release];
  [_architecture release];
  [super dealloc];
}
@end
