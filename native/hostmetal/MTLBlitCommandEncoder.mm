// MTLBlitCommandEncoder.
#import "faces.h"

@implementation HostMTLBlitCommandEncoder

- (HMBuffer)engineBuffer:(id<MTLBuffer>)buffer selector:(SEL)selector {
  static const Class bufferClass = [HostMTLBuffer class];
  if (object_getClass(buffer) != bufferClass) hostmetal_raise(self, selector, "the buffer must be one of this device");
  return ((HostMTLBuffer *)buffer)->_engine;
}

- (HMPlace)place:(id<MTLTexture>)texture
           slice:(NSUInteger)slice
           level:(NSUInteger)level
          origin:(MTLOrigin)origin
        selector:(SEL)selector {
  static const Class textureClass = [HostMTLTexture class];
  if (object_getClass(texture) != textureClass) hostmetal_raise(self, selector, "the texture must be one of this device");
  return {((HostMTLTexture *)texture)->_engine, slice, level, {origin.x, origin.y, origin.z}};
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

- (void)copyFromBuffer:(id<MTLBuffer>)source
           sourceOffset:(NSUInteger)sourceOffset
      sourceBytesPerRow:(NSUInteger)sourceBytesPerRow
    sourceBytesPerImage:(NSUInteger)sourceBytesPerImage
             sourceSize:(MTLSize)sourceSize
              toTexture:(id<MTLTexture>)destination
       destinationSlice:(NSUInteger)slice
       destinationLevel:(NSUInteger)level
      destinationOrigin:(MTLOrigin)origin {
  const HMLayout from = {[self engineBuffer:source selector:_cmd], sourceOffset, sourceBytesPerRow, sourceBytesPerImage};
  const HMPlace to = [self place:destination slice:slice level:level origin:origin selector:_cmd];
  const uint64_t size[3] = {sourceSize.width, sourceSize.height, sourceSize.depth};
  HM_CHECK(hm_blit_copy_to_texture(_engine, &from, &to, size));
}

- (void)copyFromTexture:(id<MTLTexture>)source
                 sourceSlice:(NSUInteger)slice
                 sourceLevel:(NSUInteger)level
                sourceOrigin:(MTLOrigin)origin
                  sourceSize:(MTLSize)sourceSize
                    toBuffer:(id<MTLBuffer>)destination
           destinationOffset:(NSUInteger)destinationOffset
      destinationBytesPerRow:(NSUInteger)bytesPerRow
    destinationBytesPerImage:(NSUInteger)bytesPerImage {
  const HMPlace from = [self place:source slice:slice level:level origin:origin selector:_cmd];
  const HMLayout to = {[self engineBuffer:destination selector:_cmd], destinationOffset, bytesPerRow, bytesPerImage};
  const uint64_t size[3] = {sourceSize.width, sourceSize.height, sourceSize.depth};
  HM_CHECK(hm_blit_copy_from_texture(_engine, &from, &to, size));
}

- (void)copyFromTexture:(id<MTLTexture>)source
            sourceSlice:(NSUInteger)sourceSlice
            sourceLevel:(NSUInteger)sourceLevel
           sourceOrigin:(MTLOrigin)sourceOrigin
             sourceSize:(MTLSize)sourceSize
              toTexture:(id<MTLTexture>)destination
       destinationSlice:(NSUInteger)slice
       destinationLevel:(NSUInteger)level
      destinationOrigin:(MTLOrigin)origin {
  const HMPlace from = [self place:source slice:sourceSlice level:sourceLevel origin:sourceOrigin selector:_cmd];
  const HMPlace to = [self place:destination slice:slice level:level origin:origin selector:_cmd];
  const uint64_t size[3] = {sourceSize.width, sourceSize.height, sourceSize.depth};
  HM_CHECK(hm_blit_copy_texture(_engine, &from, &to, size));
}

- (void)copyFromTexture:(id<MTLTexture>)source toTexture:(id<MTLTexture>)destination {
  const MTLOrigin origin = MTLOriginMake(0, 0, 0);
  HMPlace from = [self place:source slice:0 level:0 origin:origin selector:_cmd];
  HMPlace to = [self place:destination slice:0 level:0 origin:origin selector:_cmd];
  HM_REQUIRE([source width] == [destination width] && [source height] == [destination height] &&
                 [source depth] == [destination depth] && [source arrayLength] == [destination arrayLength] &&
                 [source mipmapLevelCount] == [destination mipmapLevelCount],
             "the textures must have the same size, levels and slices");
  for (NSUInteger level = 0; level < [source mipmapLevelCount]; level++) {
    const auto extent = [level](NSUInteger n) { return n >> level ? n >> level : 1; };
    const uint64_t size[3] = {extent([source width]), extent([source height]), extent([source depth])};
    from.level = to.level = level;
    for (NSUInteger slice = 0; slice < [source arrayLength]; slice++) {
      from.slice = to.slice = slice;
      HM_CHECK(hm_blit_copy_texture(_engine, &from, &to, size));
    }
  }
}
@end
