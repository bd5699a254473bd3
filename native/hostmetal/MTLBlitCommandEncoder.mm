// MTLBlitCommandEncoder.
#import "faces.h"

@implementation HostMTLBlitCommandEncoder

- (HMBuffer)engineBuffer:(id<MTLBuffer>)buffer selector:(SEL)selector {
  static const Class bufferClass = [HostMTLBuffer class];
  if (object_getClass(buffer) != bufferClass) hostmetal_raise(self, selector, "the buffer must be one of this device");
  return ((HostMTLBuffer *)buffer)->_engine;
}

// There is one copy of every buffer, so managed storage is always in step.
- (void)synchronizeResource:(id<MTLResource>)resource {
  [self requireOpen:_cmd];
  HM_REQUIRE(resource != nil, "the resource must not be nil");
  HM_REQUIRE([resource storageMode] == MTLStorageModeManaged, "is for resources of managed storage");
}

- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value {
  HM_CHECK(hm_blit_fill(_engine, [self engineBuffer:buffer selector:_cmd], range.location, range.length, value));
}

- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destination
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size {
  HMBuffer from = [self engineBuffer:source selector:_cmd];
  HMBuffer to = [self engineBuffer:destination selector:_cmd];
  HM_CHECK(hm_blit_copy(_engine, from, sourceOffset, to, destinationOffset, size));
}
@end
