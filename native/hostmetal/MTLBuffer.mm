// MTLBuffer.
#import "faces.h"

@implementation HostMTLBuffer

- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMBuffer)engine
                          heap:(HostMTLHeap *)heap
                       options:(MTLResourceOptions)options {
  if ((self = [super initWithDevice:device memory:engine heap:heap options:options])) _engine = engine;
  return self;
}

- (NSUInteger)length {
  return hm_buffer_length(_engine);
}

// Private memory is host memory here too; that stays hidden, so that a program that reads it fails here as it does on a Mac.
- (void *)contents {
  return [self storageMode] == MTLStorageModePrivate ? nullptr : hm_buffer_contents(_engine);
}

// Kernels use the process's addresses; so does private memory, whose address a program can only pass on.
- (MTLGPUAddress)gpuAddress {
  return (uint64_t)hm_buffer_contents(_engine);
}

- (MTLBufferSparseTier)sparseBufferTier {
  return MTLBufferSparseTierNone;
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
                                                           heap:_heap
                                                     descriptor:&info
                                                      optimized:[descriptor allowGPUOptimizedContents]
                                                        options:_resourceOptions];
  [made setBuffer:self offset:offset bytesPerRow:bytesPerRow];
  return made;
}

- (id<MTLBuffer>)newRemoteBufferViewForDevice:(id<MTLDevice>)device {
  HM_REQUIRE([device isKindOfClass:[HostMTLDevice class]], "the device must not be nil");
  HM_REQUIRE([self storageMode] == MTLStorageModePrivate, "the buffer must have private storage");
  const char *misuse = nullptr;
  HMBuffer view = hm_buffer_create_remote(_engine, ((HostMTLDevice *)device)->_engine, &misuse);
  HM_CHECK(misuse);
  HostMTLRemoteBuffer *made = [[HostMTLRemoteBuffer alloc] initWithDevice:(HostMTLDevice *)device
                                                                   engine:view
                                                                     heap:nil
                                                                  options:_resourceOptions];
  made->_storageBuffer = [self retain];
  return made;
}

- (id<MTLBuffer>)remoteStorageBuffer {
  return nil;
}

- (void)didModifyRange:(NSRange)range {
  HM_REQUIRE([self storageMode] == MTLStorageModeManaged, "is for buffers of managed storage");
  const NSUInteger length = [self length];
  HM_REQUIRE(range.location <= length && range.length <= length - range.location, "the range exceeds the buffer's length");
}

// Markers are for capture tools, which hostmetal has none of; the range is checked all the same.
- (void)addDebugMarker:(NSString *)marker range:(NSRange)range {
  HM_REQUIRE(marker != nil, "the marker must not be nil");
  const NSUInteger length = [self length];
  HM_REQUIRE(range.location <= length && range.length <= length - range.location, "the range exceeds the buffer's length");
}

- (void)removeAllDebugMarkers {
}

- (void)dealloc {
  hm_buffer_release(_engine);
  [super dealloc];
}
@end

@implementation HostMTLRemoteBuffer
- (id<MTLBuffer>)remoteStorageBuffer {
  return _storageBuffer;
}

// Kernels of this device cannot reach it.
- (MTLGPUAddress)gpuAddress {
  return 0;
}

- (id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor
                                    offset:(NSUInteger)offset
                               bytesPerRow:(NSUInteger)bytesPerRow {
  HM_REQUIRE(false, "a remote view is only the source of copies");
}

- (id<MTLBuffer>)newRemoteBufferViewForDevice:(id<MTLDevice>)device {
  HM_REQUIRE(false, "a remote view is only the source of copies");
}

- (void)dealloc {
  [_storageBuffer release];
  [super dealloc];
}
@end
