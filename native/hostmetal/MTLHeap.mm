// MTLHeapDescriptor and MTLHeap.
#import "faces.h"

@implementation MTLHeapDescriptor
@synthesize size = _size, type = _type, resourceOptions = _resourceOptions;

- (instancetype)init {
  if ((self = [super init])) _resourceOptions = MTLResourceStorageModePrivate;
  return self;
}

// The three modes are parts of the options.
HM_MODES_TO_SET

- (id)copyWithZone:(NSZone *)zone {
  MTLHeapDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setSize:_size];
  [copy setType:_type];
  [copy setResourceOptions:_resourceOptions];
  return copy;
}
@end

@implementation HostMTLHeap
@synthesize label = _label, type = _type, resourceOptions = _resourceOptions;

- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMHeap)engine
                          type:(MTLHeapType)type
                       options:(MTLResourceOptions)options {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
    _type = type;
    _resourceOptions = options;
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}
HM_MODE(MTLCPUCacheMode, cpuCacheMode, CPUCacheMode)
HM_MODE(MTLStorageMode, storageMode, StorageMode)
- (MTLHazardTrackingMode)hazardTrackingMode {
  const NSUInteger mode = (_resourceOptions & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift;
  return mode == MTLHazardTrackingModeDefault ? MTLHazardTrackingModeUntracked : (MTLHazardTrackingMode)mode;
}

- (HMHeapInfo)info {
  HMHeapInfo info = {};
  hm_heap_info(_engine, &info);
  return info;
}
- (NSUInteger)size {
  return [self info].size;
}
- (NSUInteger)usedSize {
  return [self info].used;
}
- (NSUInteger)currentAllocatedSize {
  return [self info].allocated;
}
- (NSUInteger)allocatedSize {
  return [self info].size;
}

- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment {
  HM_REQUIRE((alignment & (alignment - 1)) == 0, "alignment must be 0 or a power of two");
  return hm_heap_max_available_size(_engine, alignment);
}

- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
  HM_REQUIRE(state >= MTLPurgeableStateKeepCurrent && state <= MTLPurgeableStateEmpty, "unknown purgeable state");
  return (MTLPurgeableState)hm_heap_set_purgeable_state(_engine, (uint32_t)state);
}

// ------------------------------------------------------------------ resources

// Storage and cache must be the heap's; whether hazards are tracked is the heap's business alone.
- (void)requireResourceOptions:(MTLResourceOptions)options selector:(SEL)selector {
  [_device requireResourceOptions:options selector:selector];
  const NSUInteger mask = MTLResourceStorageModeMask | MTLResourceCPUCacheModeMask;
  if ((options & mask) != (_resourceOptions & mask))
    hostmetal_raise(self, selector, "the storage and CPU cache modes must be the heap's");
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                             options:(MTLResourceOptions)options
                                  at:(const uint64_t *)offset
                            selector:(SEL)selector {
  [self requireResourceOptions:options selector:selector];
  const char *misuse = nullptr;
  HMBuffer buffer = hm_heap_buffer_create(_engine, length, offset, &misuse);
  if (misuse) hostmetal_raise(self, selector, misuse);
  if (!buffer) return nil;
  return [[HostMTLBuffer alloc] initWithDevice:_device engine:buffer heap:self options:_resourceOptions];
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  return [self newBufferWithLength:length options:options at:nullptr selector:_cmd];
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options offset:(NSUInteger)offset {
  const uint64_t place = offset;
  return [self newBufferWithLength:length options:options at:&place selector:_cmd];
}

- (id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor
                                        at:(const uint64_t *)offset
                                  selector:(SEL)selector {
  if (!descriptor) hostmetal_raise(self, selector, "the descriptor must not be nil");
  [self requireResourceOptions:[descriptor resourceOptions] selector:selector];
  const HMTextureDescriptor info = [descriptor engineDescriptor];
  const char *misuse = nullptr;
  HMTexture texture = hm_heap_texture_create(_engine, &info, offset, &misuse);
  if (misuse) hostmetal_raise(self, selector, misuse);
  if (!texture) return nil;
  return [[HostMTLTexture alloc] initWithDevice:_device
                                         engine:texture
                                           heap:self
                                     descriptor:&info
                                      optimized:[descriptor allowGPUOptimizedContents]
                                        options:_resourceOptions];
}

- (id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor {
  return [self newTextureWithDescriptor:descriptor at:nullptr selector:_cmd];
}

- (id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor offset:(NSUInteger)offset {
  const uint64_t place = offset;
  return [self newTextureWithDescriptor:descriptor at:&place selector:_cmd];
}

- (void)dealloc {
  hm_heap_release(_engine);
  [_label release];
  [super dealloc];
}
@end
