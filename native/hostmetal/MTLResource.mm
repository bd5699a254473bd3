// What every resource tells and does: MTLResource.
#import "faces.h"

@implementation HostMTLResource
@synthesize label = _label, resourceOptions = _resourceOptions;

- (instancetype)initWithDevice:(HostMTLDevice *)device
                        memory:(HMBuffer)memory
                          heap:(HostMTLHeap *)heap
                       options:(MTLResourceOptions)options {
  if ((self = [super init])) {
    _device = device;
    _memory = memory;
    _heap = [heap retain];
    _resourceOptions = options;
    if ([self hazardTrackingMode] == MTLHazardTrackingModeUntracked) hm_buffer_leave_untracked(memory);
  }
  return self;
}

- (HMBuffer)engineMemory {
  return _memory;
}

- (id<MTLDevice>)device {
  return _device;
}

HM_MODE(MTLCPUCacheMode, cpuCacheMode, CPUCacheMode)
HM_MODE(MTLStorageMode, storageMode, StorageMode)

// What a device makes is tracked unless it is asked not to, what a heap makes is the opposite (Apple,
// MTLHazardTrackingModeDefault).
- (MTLHazardTrackingMode)hazardTrackingMode {
  const NSUInteger mode = (_resourceOptions & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift;
  if (mode != MTLHazardTrackingModeDefault) return (MTLHazardTrackingMode)mode;
  return _heap ? MTLHazardTrackingModeUntracked : MTLHazardTrackingModeTracked;
}

- (NSUInteger)allocatedSize {
  return hm_buffer_allocated_size(_memory);
}

- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
  HM_REQUIRE(state >= MTLPurgeableStateKeepCurrent && state <= MTLPurgeableStateEmpty, "unknown purgeable state");
  return (MTLPurgeableState)hm_buffer_set_purgeable_state(_memory, (uint32_t)state);
}

- (id<MTLHeap>)heap {
  return _heap;
}

- (NSUInteger)heapOffset {
  return hm_buffer_heap_offset(_memory);
}

- (void)makeAliasable {
  HM_CHECK(hm_buffer_make_aliasable(_memory));
}

- (BOOL)isAliasable {
  return hm_buffer_is_aliasable(_memory);
}

- (kern_return_t)setOwnerWithIdentity:(task_id_token_t)identity {
  (void)identity;
  return KERN_NOT_SUPPORTED;
}

- (void)dealloc {
  [_heap release];
  [_label release];
  [super dealloc];
}
@end
