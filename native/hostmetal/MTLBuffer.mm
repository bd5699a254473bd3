// MTLBuffer.
#import "faces.h"

#include <unistd.h>

@implementation HostMTLBuffer
@synthesize label = _label, resourceOptions = _resourceOptions;

- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMBuffer)engine options:(MTLResourceOptions)options {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
    _resourceOptions = options;
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}

- (NSUInteger)length {
  return hm_buffer_length(_engine);
}

// Private memory is host memory here too; that stays hidden, so that a program that reads it fails here as it does on a Mac.
- (void *)contents {
  return [self storageMode] == MTLStorageModePrivate ? nullptr : hm_buffer_contents(_engine);
}

- (id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor
                                    offset:(NSUInteger)offset
                               bytesPerRow:(NSUInteger)bytesPerRow {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HM_REQUIRE([descriptor sampleCount] == 1, "sampleCount must be 1");
  HM_REQUIRE([descriptor storageMode] == [self storageMode], "the texture must have the buffer's storage mode");
  const HMTextureDescriptor info = [descriptor engineDescriptor];
  const char *misuse = nullptr;
  HMTexture texture = hm_texture_create_linear(_engine, &info, offset, bytesPerRow, &misuse);
  HM_CHECK(misuse);
  HostMTLTexture *made = [[HostMTLTexture alloc] initWithDevice:_device
                                                         engine:texture
                                                     descriptor:&info
                                                        options:_resourceOptions];
  [made setBuffer:self offset:offset bytesPerRow:bytesPerRow];
  return made;
}

- (void)didModifyRange:(NSRange)range {
  HM_REQUIRE([self storageMode] == MTLStorageModeManaged, "is for buffers of managed storage");
  const NSUInteger length = [self length];
  HM_REQUIRE(range.location <= length && range.length <= length - range.location, "the range exceeds the buffer's length");
}

- (MTLCPUCacheMode)cpuCacheMode {
  return (MTLCPUCacheMode)((_resourceOptions & MTLResourceCPUCacheModeMask) >> MTLResourceCPUCacheModeShift);
}

- (MTLStorageMode)storageMode {
  return (MTLStorageMode)((_resourceOptions & MTLResourceStorageModeMask) >> MTLResourceStorageModeShift);
}

// What a device makes is tracked unless it is asked not to (Apple, MTLHazardTrackingModeDefault).
- (MTLHazardTrackingMode)hazardTrackingMode {
  const NSUInteger mode = (_resourceOptions & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift;
  return mode == MTLHazardTrackingModeDefault ? MTLHazardTrackingModeTracked : (MTLHazardTrackingMode)mode;
}

- (NSUInteger)allocatedSize {
  const NSUInteger page = (NSUInteger)sysconf(_SC_PAGESIZE);
  return ([self length] + page - 1) / page * page;
}

- (void)dealloc {
  hm_buffer_release(_engine);
  [_label release];
  [super dealloc];
}
@end
