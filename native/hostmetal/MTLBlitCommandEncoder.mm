// MTLBlitCommandEncoder.
#import "faces.h"

@implementation HostMTLBlitCommandEncoder

- (HMBuffer)engineBuffer:(id<MTLBuffer>)buffer selector:(SEL)selector {
  static const Class bufferClass = [HostMTLBuffer class];
  if (object_getClass(buffer) != bufferClass) hostmetal_raise(self, selector, "the buffer must be one of this device");
  return ((HostMTLBuffer *)buffer)->_engine;
}

// What is copied from may be a view of another device's.
- (HMBuffer)sourceBuffer:(id<MTLBuffer>)buffer selector:(SEL)selector {
  static const Class remoteClass = [HostMTLRemoteBuffer class];
  if (object_getClass(buffer) == remoteClass) return ((HostMTLBuffer *)buffer)->_engine;
  return [self engineBuffer:buffer selector:selector];
}

- (HMPlace)sourcePlace:(id<MTLTexture>)texture
                 slice:(NSUInteger)slice
                 level:(NSUInteger)level
                origin:(MTLOrigin)origin
              selector:(SEL)selector {
  static const Class remoteClass = [HostMTLRemoteTexture class];
  if (object_getClass(texture) == remoteClass)
    return {((HostMTLTexture *)texture)->_engine, slice, level, {origin.x, origin.y, origin.z}};
  return [self place:texture slice:slice level:level origin:origin selector:selector];
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

- (void)generateMipmapsForTexture:(id<MTLTexture>)texture {
  const HMPlace all = [self place:texture slice:0 level:0 origin:MTLOriginMake(0, 0, 0) selector:_cmd];
  HM_CHECK(hm_blit_generate_mipmaps(_engine, all.texture));
}

- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value {
  HM_CHECK(hm_blit_fill(_engine, [self engineBuffer:buffer selector:_cmd], range.location, range.length, value));
}

- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destination
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size {
  HMBuffer from = [self sourceBuffer:source selector:_cmd];
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
  const HMLayout from = {[self sourceBuffer:source selector:_cmd], sourceOffset, sourceBytesPerRow, sourceBytesPerImage};
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
  const HMPlace from = [self sourcePlace:source slice:slice level:level origin:origin selector:_cmd];
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
  const HMPlace from = [self sourcePlace:source slice:sourceSlice level:sourceLevel origin:sourceOrigin selector:_cmd];
  const HMPlace to = [self place:destination slice:slice level:level origin:origin selector:_cmd];
  const uint64_t size[3] = {sourceSize.width, sourceSize.height, sourceSize.depth};
  HM_CHECK(hm_blit_copy_texture(_engine, &from, &to, size));
}

- (void)copyFromTexture:(id<MTLTexture>)source toTexture:(id<MTLTexture>)destination {
  HM_REQUIRE([source width] == [destination width] && [source height] == [destination height] &&
                 [source depth] == [destination depth] && hostmetal_slices(source) == hostmetal_slices(destination) &&
                 [source mipmapLevelCount] == [destination mipmapLevelCount],
             "the textures must have the same size, levels and slices");
  [self copyFromTexture:source
            sourceSlice:0
            sourceLevel:0
              toTexture:destination
       destinationSlice:0
       destinationLevel:0
             sliceCount:hostmetal_slices(source)
             levelCount:[source mipmapLevelCount]];
}

- (void)copyFromTexture:(id<MTLTexture>)source
            sourceSlice:(NSUInteger)sourceSlice
            sourceLevel:(NSUInteger)sourceLevel
              toTexture:(id<MTLTexture>)destination
       destinationSlice:(NSUInteger)slice
       destinationLevel:(NSUInteger)level
             sliceCount:(NSUInteger)sliceCount
             levelCount:(NSUInteger)levelCount {
  const MTLOrigin origin = MTLOriginMake(0, 0, 0);
  HMPlace from = [self sourcePlace:source slice:sourceSlice level:sourceLevel origin:origin selector:_cmd];
  HMPlace to = [self place:destination slice:slice level:level origin:origin selector:_cmd];
  const auto holds = [](NSUInteger first, NSUInteger count, NSUInteger all) { return first <= all && count <= all - first; };
  HM_REQUIRE(holds(sourceSlice, sliceCount, hostmetal_slices(source)) && holds(slice, sliceCount, hostmetal_slices(destination)),
             "the slices must be ones of the textures");
  HM_REQUIRE(holds(sourceLevel, levelCount, [source mipmapLevelCount]) &&
                 holds(level, levelCount, [destination mipmapLevelCount]),
             "the levels must be ones of the textures");
  const auto extent = [](NSUInteger n, NSUInteger level) { return n >> level ? n >> level : 1; };
  for (NSUInteger i = 0; i < levelCount; i++) {
    from.level = sourceLevel + i;
    to.level = level + i;
    const uint64_t size[3] = {extent([source width], from.level), extent([source height], from.level),
                              extent([source depth], from.level)};
    HM_REQUIRE(size[0] == extent([destination width], to.level) && size[1] == extent([destination height], to.level) &&
                   size[2] == extent([destination depth], to.level),
               "the levels must have the same sizes");
    for (NSUInteger j = 0; j < sliceCount; j++) {
      from.slice = sourceSlice + j;
      to.slice = slice + j;
      HM_CHECK(hm_blit_copy_texture(_engine, &from, &to, size));
    }
  }
}

// ------------------------------------------------------------------ options

// They choose among the planes of depth and stencil formats and the layout of PVRTC, which hostmetal does not have.
- (void)requireNoOptions:(MTLBlitOption)options selector:(SEL)selector {
  if (options != MTLBlitOptionNone) hostmetal_raise(self, selector, "the option is for formats that hostmetal does not have");
}

- (void)copyFromBuffer:(id<MTLBuffer>)source
           sourceOffset:(NSUInteger)sourceOffset
      sourceBytesPerRow:(NSUInteger)sourceBytesPerRow
    sourceBytesPerImage:(NSUInteger)sourceBytesPerImage
             sourceSize:(MTLSize)sourceSize
              toTexture:(id<MTLTexture>)destination
       destinationSlice:(NSUInteger)slice
       destinationLevel:(NSUInteger)level
      destinationOrigin:(MTLOrigin)origin
                options:(MTLBlitOption)options {
  [self requireNoOptions:options selector:_cmd];
  [self copyFromBuffer:source
             sourceOffset:sourceOffset
        sourceBytesPerRow:sourceBytesPerRow
      sourceBytesPerImage:sourceBytesPerImage
               sourceSize:sourceSize
                toTexture:destination
         destinationSlice:slice
         destinationLevel:level
        destinationOrigin:origin];
}

- (void)copyFromTexture:(id<MTLTexture>)source
                 sourceSlice:(NSUInteger)slice
                 sourceLevel:(NSUInteger)level
                sourceOrigin:(MTLOrigin)origin
                  sourceSize:(MTLSize)sourceSize
                    toBuffer:(id<MTLBuffer>)destination
           destinationOffset:(NSUInteger)destinationOffset
      destinationBytesPerRow:(NSUInteger)bytesPerRow
    destinationBytesPerImage:(NSUInteger)bytesPerImage
                     options:(MTLBlitOption)options {
  [self requireNoOptions:options selector:_cmd];
  [self copyFromTexture:source
                   sourceSlice:slice
                   sourceLevel:level
                  sourceOrigin:origin
                    sourceSize:sourceSize
                      toBuffer:destination
             destinationOffset:destinationOffset
        destinationBytesPerRow:bytesPerRow
      destinationBytesPerImage:bytesPerImage];
}

// ------------------------------------------------------------------ where contents lie

// One layout serves processor and device, so there is nothing to optimize; that the place exists is checked.
- (void)requireSlice:(NSUInteger)slice level:(NSUInteger)level of:(id<MTLTexture>)texture selector:(SEL)selector {
  [self requireOpen:selector];
  [self place:texture slice:slice level:level origin:MTLOriginMake(0, 0, 0) selector:selector];
  if (slice >= hostmetal_slices(texture) || level >= [texture mipmapLevelCount])
    hostmetal_raise(self, selector, "the slice and the level must be ones of the texture");
}

- (void)synchronizeTexture:(id<MTLTexture>)texture slice:(NSUInteger)slice level:(NSUInteger)level {
  [self requireSlice:slice level:level of:texture selector:_cmd];
  [self synchronizeResource:texture];
}

- (void)optimizeContentsForGPUAccess:(id<MTLTexture>)texture {
  [self requireSlice:0 level:0 of:texture selector:_cmd];
}

- (void)optimizeContentsForGPUAccess:(id<MTLTexture>)texture slice:(NSUInteger)slice level:(NSUInteger)level {
  [self requireSlice:slice level:level of:texture selector:_cmd];
}

- (void)optimizeContentsForCPUAccess:(id<MTLTexture>)texture {
  [self requireSlice:0 level:0 of:texture selector:_cmd];
}

- (void)optimizeContentsForCPUAccess:(id<MTLTexture>)texture slice:(NSUInteger)slice level:(NSUInteger)level {
  [self requireSlice:slice level:level of:texture selector:_cmd];
}

// ------------------------------------------------------------------ time

- (void)resolveCounters:(id<MTLCounterSampleBuffer>)samples
                inRange:(NSRange)range
      destinationBuffer:(id<MTLBuffer>)destination
      destinationOffset:(NSUInteger)offset {
  HM_REQUIRE(object_getClass(samples) == [HostMTLCounterSampleBuffer class], "the sample buffer must be one of this device");
  const NSUInteger count = [samples sampleCount];
  HM_REQUIRE(range.location <= count && range.length <= count - range.location, "the range exceeds the sample buffer");
  HM_REQUIRE(offset % 8 == 0, "the offset must be a multiple of 8");
  HMBuffer from = ((HostMTLCounterSampleBuffer *)samples)->_engine;
  HMBuffer to = [self engineBuffer:destination selector:_cmd];
  HM_CHECK(hm_blit_copy(_engine, from, range.location * 8, to, offset, range.length * 8));
}

// ------------------------------------------------------------------ indirect command buffers

- (HMCommands)engineCommands:(id<MTLIndirectCommandBuffer>)commands selector:(SEL)selector {
  if (object_getClass(commands) != [HostMTLIndirectCommandBuffer class])
    hostmetal_raise(self, selector, "the indirect command buffer must be one of this device");
  return ((HostMTLIndirectCommandBuffer *)commands)->_engine;
}

- (void)resetCommandsInBuffer:(id<MTLIndirectCommandBuffer>)commands withRange:(NSRange)range {
  HM_CHECK(hm_blit_reset_commands(_engine, [self engineCommands:commands selector:_cmd], range.location, range.length));
}

- (void)copyIndirectCommandBuffer:(id<MTLIndirectCommandBuffer>)source
                      sourceRange:(NSRange)range
                      destination:(id<MTLIndirectCommandBuffer>)destination
                 destinationIndex:(NSUInteger)index {
  HMCommands from = [self engineCommands:source selector:_cmd], to = [self engineCommands:destination selector:_cmd];
  HM_CHECK(hm_blit_copy_commands(_engine, from, range.location, range.length, to, index));
}

- (void)optimizeIndirectCommandBuffer:(id<MTLIndirectCommandBuffer>)commands withRange:(NSRange)range {
  HM_CHECK(hm_blit_optimize_commands(_engine, [self engineCommands:commands selector:_cmd], range.location, range.length));
}
@end
