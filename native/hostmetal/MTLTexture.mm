// MTLTextureDescriptor and MTLTexture.
#import "faces.h"

@implementation MTLTextureDescriptor
@synthesize textureType = _textureType, pixelFormat = _pixelFormat, width = _width, height = _height, depth = _depth,
            mipmapLevelCount = _mipmapLevelCount, sampleCount = _sampleCount, arrayLength = _arrayLength,
            resourceOptions = _resourceOptions, usage = _usage,
            compressionType = _compressionType, swizzle = _swizzle, allowGPUOptimizedContents = _allowGPUOptimizedContents;

// Apple's defaults: a 2D texture of RGBA8Unorm of one texel that kernels read.
- (instancetype)init {
  if ((self = [super init])) {
    _textureType = MTLTextureType2D;
    _pixelFormat = MTLPixelFormatRGBA8Unorm;
    _width = _height = _depth = _mipmapLevelCount = _sampleCount = _arrayLength = 1;
    _usage = MTLTextureUsageShaderRead;
    _swizzle = MTLTextureSwizzleChannelsDefault;
    _allowGPUOptimizedContents = YES;
  }
  return self;
}

+ (MTLTextureDescriptor *)texture2DDescriptorWithPixelFormat:(MTLPixelFormat)pixelFormat
                                                       width:(NSUInteger)width
                                                      height:(NSUInteger)height
                                                   mipmapped:(BOOL)mipmapped {
  MTLTextureDescriptor *descriptor = [[[MTLTextureDescriptor alloc] init] autorelease];
  [descriptor setPixelFormat:pixelFormat];
  [descriptor setWidth:width];
  [descriptor setHeight:height];
  NSUInteger levels = 1;
  for (NSUInteger longest = width > height ? width : height; mipmapped && longest > 1; longest /= 2) levels++;
  [descriptor setMipmapLevelCount:levels];
  return descriptor;
}

+ (MTLTextureDescriptor *)textureCubeDescriptorWithPixelFormat:(MTLPixelFormat)pixelFormat
                                                          size:(NSUInteger)size
                                                     mipmapped:(BOOL)mipmapped {
  MTLTextureDescriptor *descriptor =
      [self texture2DDescriptorWithPixelFormat:pixelFormat width:size height:size mipmapped:mipmapped];
  [descriptor setTextureType:MTLTextureTypeCube];
  return descriptor;
}

+ (MTLTextureDescriptor *)textureBufferDescriptorWithPixelFormat:(MTLPixelFormat)pixelFormat
                                                           width:(NSUInteger)width
                                                 resourceOptions:(MTLResourceOptions)resourceOptions
                                                           usage:(MTLTextureUsage)usage {
  MTLTextureDescriptor *descriptor = [[[MTLTextureDescriptor alloc] init] autorelease];
  [descriptor setTextureType:MTLTextureTypeTextureBuffer];
  [descriptor setPixelFormat:pixelFormat];
  [descriptor setWidth:width];
  [descriptor setResourceOptions:resourceOptions];
  [descriptor setUsage:usage];
  return descriptor;
}

// The three modes are parts of the options.
HM_MODES_TO_SET

- (id)copyWithZone:(NSZone *)zone {
  MTLTextureDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setTextureType:_textureType];
  [copy setPixelFormat:_pixelFormat];
  [copy setWidth:_width];
  [copy setHeight:_height];
  [copy setDepth:_depth];
  [copy setMipmapLevelCount:_mipmapLevelCount];
  [copy setSampleCount:_sampleCount];
  [copy setArrayLength:_arrayLength];
  [copy setResourceOptions:_resourceOptions];
  [copy setUsage:_usage];
  [copy setCompressionType:_compressionType];
  [copy setSwizzle:_swizzle];
  [copy setAllowGPUOptimizedContents:_allowGPUOptimizedContents];
  return copy;
}
@end

@implementation MTLTextureDescriptor (Engine)
- (HMTextureDescriptor)engineDescriptor {
  return {(uint32_t)_textureType, (uint32_t)_pixelFormat, {_width, _height, _depth},
          _mipmapLevelCount,      _arrayLength,           _sampleCount,
          (uint32_t)_usage,       {_swizzle.red, _swizzle.green, _swizzle.blue, _swizzle.alpha},
          _compressionType != MTLTextureCompressionTypeLossless};
}
@end

@implementation MTLTextureViewDescriptor
@synthesize pixelFormat = _pixelFormat, textureType = _textureType, levelRange = _levelRange, sliceRange = _sliceRange, swizzle = _swizzle;

- (instancetype)init {
  if ((self = [super init])) _swizzle = MTLTextureSwizzleChannelsDefault;
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLTextureViewDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setPixelFormat:_pixelFormat];
  [copy setTextureType:_textureType];
  [copy setLevelRange:_levelRange];
  [copy setSliceRange:_sliceRange];
  [copy setSwizzle:_swizzle];
  return copy;
}
@end

// Faces of an element: six slices of a cube are one.
NSUInteger hostmetal_faces(uint32_t textureType) {
  return textureType == MTLTextureTypeCube || textureType == MTLTextureTypeCubeArray ? 6 : 1;
}

NSUInteger hostmetal_slices(id<MTLTexture> texture) {
  return [texture arrayLength] * hostmetal_faces((uint32_t)[texture textureType]);
}

@implementation HostMTLTexture
@synthesize parentTexture = _parentTexture, parentRelativeLevel = _parentRelativeLevel,
            parentRelativeSlice = _parentRelativeSlice, buffer = _buffer, bufferOffset = _bufferOffset, bufferBytesPerRow = _bufferBytesPerRow,
            allowGPUOptimizedContents = _allowGPUOptimizedContents;

- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMTexture)engine
                          heap:(HostMTLHeap *)heap
                    descriptor:(const HMTextureDescriptor *)descriptor
                     optimized:(BOOL)optimized
                       options:(MTLResourceOptions)options {
  if ((self = [super initWithDevice:device memory:hm_texture_memory(engine) heap:heap options:options])) {
    _engine = engine;
    _info = *descriptor;
    _info.usage = hm_texture_usage(engine);
    hm_texture_swizzle(engine, _info.swizzle);
    _allowGPUOptimizedContents = optimized;
  }
  return self;
}

- (void)setBuffer:(HostMTLBuffer *)buffer offset:(NSUInteger)offset bytesPerRow:(NSUInteger)bytesPerRow {
  _buffer = [buffer retain];
  _bufferOffset = offset;
  _bufferBytesPerRow = bytesPerRow;
}

- (MTLTextureType)textureType {
  return (MTLTextureType)_info.texture_type;
}
- (MTLPixelFormat)pixelFormat {
  return (MTLPixelFormat)_info.pixel_format;
}
- (NSUInteger)width {
  return _info.size[0];
}
- (NSUInteger)height {
  return _info.size[1];
}
- (NSUInteger)depth {
  return _info.size[2];
}
- (NSUInteger)mipmapLevelCount {
  return _info.levels;
}
- (NSUInteger)sampleCount {
  return _info.samples;
}
- (NSUInteger)arrayLength {
  return _info.slices;
}
- (MTLTextureUsage)usage {
  return (MTLTextureUsage)_info.usage;
}
- (MTLTextureSwizzleChannels)swizzle {
  const uint8_t *own = _info.swizzle;
  return MTLTextureSwizzleChannelsMake((MTLTextureSwizzle)own[0], (MTLTextureSwizzle)own[1], (MTLTextureSwizzle)own[2],
                                       (MTLTextureSwizzle)own[3]);
}
- (MTLTextureCompressionType)compressionType {
  return MTLTextureCompressionTypeLossless;
}
- (BOOL)isShareable {
  return _shareable;
}
- (BOOL)isSparse {
  return NO;
}
- (NSUInteger)firstMipmapInTail {
  return _info.levels;
}
- (NSUInteger)tailSizeInBytes {
  return 0;
}
- (MTLTextureSparseTier)sparseTextureTier {
  return MTLTextureSparseTierNone;
}
- (id<MTLResource>)rootResource {
  HostMTLTexture *root = self;
  while (root->_parentTexture) root = (HostMTLTexture *)root->_parentTexture;
  if (root->_buffer) return root->_buffer;
  return root == self ? nil : root;
}
// Only a target of rendering: nothing here is.
- (BOOL)isFramebufferOnly {
  return NO;
}

// Of a view and of a linear texture only the resource whose memory it shares can be made aliasable.
- (void)makeAliasable {
  HM_REQUIRE(!_parentTexture, "the texture must not be a view");
  if (!_buffer) [super makeAliasable];
}

// ------------------------------------------------------------------ the host's texels

- (void)getBytes:(void *)pixelBytes
     bytesPerRow:(NSUInteger)bytesPerRow
   bytesPerImage:(NSUInteger)bytesPerImage
      fromRegion:(MTLRegion)region
     mipmapLevel:(NSUInteger)level
           slice:(NSUInteger)slice {
  HM_REQUIRE(pixelBytes != nullptr, "the pointer must not be NULL");
  HM_REQUIRE([self storageMode] != MTLStorageModePrivate, "the CPU has no access to a texture of private storage");
  const HMPlace place = {_engine, slice, level, {region.origin.x, region.origin.y, region.origin.z}};
  const uint64_t size[3] = {region.size.width, region.size.height, region.size.depth};
  HM_CHECK(hm_texture_get(&place, size, pixelBytes, bytesPerRow, bytesPerImage));
}

- (void)getBytes:(void *)pixelBytes
     bytesPerRow:(NSUInteger)bytesPerRow
      fromRegion:(MTLRegion)region
     mipmapLevel:(NSUInteger)level {
  [self getBytes:pixelBytes bytesPerRow:bytesPerRow bytesPerImage:0 fromRegion:region mipmapLevel:level slice:0];
}

- (void)replaceRegion:(MTLRegion)region
          mipmapLevel:(NSUInteger)level
                slice:(NSUInteger)slice
            withBytes:(const void *)pixelBytes
          bytesPerRow:(NSUInteger)bytesPerRow
        bytesPerImage:(NSUInteger)bytesPerImage {
  HM_REQUIRE(pixelBytes != nullptr, "the pointer must not be NULL");
  HM_REQUIRE([self storageMode] != MTLStorageModePrivate, "the CPU has no access to a texture of private storage");
  const HMPlace place = {_engine, slice, level, {region.origin.x, region.origin.y, region.origin.z}};
  const uint64_t size[3] = {region.size.width, region.size.height, region.size.depth};
  HM_CHECK(hm_texture_replace(&place, size, pixelBytes, bytesPerRow, bytesPerImage));
}

- (void)replaceRegion:(MTLRegion)region
          mipmapLevel:(NSUInteger)level
            withBytes:(const void *)pixelBytes
          bytesPerRow:(NSUInteger)bytesPerRow {
  [self replaceRegion:region mipmapLevel:level slice:0 withBytes:pixelBytes bytesPerRow:bytesPerRow bytesPerImage:0];
}

// ------------------------------------------------------------------ shared textures

- (void)setShareable {
  _shareable = YES;
}

- (HostMTLTexture *)newShared {
  const uint64_t levels[2] = {0, _info.levels}, slices[2] = {0, _info.slices * hostmetal_faces(_info.texture_type)};
  const uint8_t as_they_are[4] = {MTLTextureSwizzleRed, MTLTextureSwizzleGreen, MTLTextureSwizzleBlue, MTLTextureSwizzleAlpha};
  const char *misuse = nullptr;
  HMTexture engine =
      hm_texture_create_view(_engine, _info.pixel_format, _info.texture_type, levels, slices, as_they_are, &misuse);
  HM_CHECK(misuse);
  HostMTLTexture *made = [[HostMTLTexture alloc] initWithDevice:_device
                                                         engine:engine
                                                           heap:nil
                                                     descriptor:&_info
                                                      optimized:_allowGPUOptimizedContents
                                                        options:_resourceOptions];
  [made setShareable];
  return made;
}

- (MTLSharedTextureHandle *)newSharedTextureHandle {
  return _shareable ? [[MTLSharedTextureHandle alloc] initWithTexture:self] : nil;
}

// ------------------------------------------------------------------ views

- (id<MTLTexture>)newTextureViewWithPixelFormat:(MTLPixelFormat)pixelFormat {
  return [self newTextureViewWithPixelFormat:pixelFormat
                                 textureType:[self textureType]
                                      levels:NSMakeRange(0, _info.levels)
                                      slices:NSMakeRange(0, _info.slices * hostmetal_faces((uint32_t)[self textureType]))];
}

- (id<MTLTexture>)newTextureViewWithPixelFormat:(MTLPixelFormat)pixelFormat
                                    textureType:(MTLTextureType)textureType
                                         levels:(NSRange)levelRange
                                         slices:(NSRange)sliceRange {
  return [self newTextureViewWithPixelFormat:pixelFormat
                                 textureType:textureType
                                      levels:levelRange
                                      slices:sliceRange
                                     swizzle:MTLTextureSwizzleChannelsDefault];
}

- (id<MTLTexture>)newTextureViewWithPixelFormat:(MTLPixelFormat)pixelFormat
                                    textureType:(MTLTextureType)textureType
                                         levels:(NSRange)levelRange
                                         slices:(NSRange)sliceRange
                                        swizzle:(MTLTextureSwizzleChannels)swizzle {
  const uint8_t channels[4] = {swizzle.red, swizzle.green, swizzle.blue, swizzle.alpha};
  const uint64_t levels[2] = {levelRange.location, levelRange.length};
  const uint64_t slices[2] = {sliceRange.location, sliceRange.length};
  const char *misuse = nullptr;
  HMTexture engine =
      hm_texture_create_view(_engine, (uint32_t)pixelFormat, (uint32_t)textureType, levels, slices, channels, &misuse);
  HM_CHECK(misuse);
  HMTextureDescriptor info = _info;
  info.texture_type = (uint32_t)textureType;
  info.pixel_format = (uint32_t)pixelFormat;
  for (uint64_t &extent : info.size) extent = extent >> levels[0] ? extent >> levels[0] : 1;
  info.levels = levels[1];
  info.slices = slices[1] / hostmetal_faces((uint32_t)textureType);
  HostMTLTexture *view = [[HostMTLTexture alloc] initWithDevice:_device
                                                         engine:engine
                                                           heap:_heap
                                                     descriptor:&info
                                                      optimized:_allowGPUOptimizedContents
                                                        options:_resourceOptions];
  view->_parentTexture = [self retain];
  view->_parentRelativeLevel = levelRange.location;
  view->_parentRelativeSlice = sliceRange.location;
  return view;
}

- (id<MTLTexture>)newTextureViewWithDescriptor:(MTLTextureViewDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  return [self newTextureViewWithPixelFormat:[descriptor pixelFormat]
                                 textureType:[descriptor textureType]
                                      levels:[descriptor levelRange]
                                      slices:[descriptor sliceRange]
                                     swizzle:[descriptor swizzle]];
}

- (id<MTLTexture>)newRemoteTextureViewForDevice:(id<MTLDevice>)device {
  HM_REQUIRE([device isKindOfClass:[HostMTLDevice class]], "the device must not be nil");
  HM_REQUIRE([self storageMode] == MTLStorageModePrivate, "the texture must have private storage");
  const char *misuse = nullptr;
  HMTexture view = hm_texture_create_remote(_engine, ((HostMTLDevice *)device)->_engine, &misuse);
  HM_CHECK(misuse);
  HostMTLRemoteTexture *made = [[HostMTLRemoteTexture alloc] initWithDevice:(HostMTLDevice *)device
                                                                     engine:view
                                                                       heap:nil
                                                                 descriptor:&_info
                                                                  optimized:_allowGPUOptimizedContents
                                                                    options:_resourceOptions];
  made->_storageTexture = [self retain];
  return made;
}

- (id<MTLTexture>)remoteStorageTexture {
  return nil;
}

- (MTLResourceID)gpuResourceID {
  return (MTLResourceID){hm_texture_handle(_engine)};
}

- (void)dealloc {
  hm_texture_release(_engine);
  [_parentTexture release];
  [_buffer release];
  [super dealloc];
}
@end

@implementation HostMTLRemoteTexture
- (id<MTLTexture>)remoteStorageTexture {
  return _storageTexture;
}

// Kernels of this device cannot reach it.
- (MTLResourceID)gpuResourceID {
  return (MTLResourceID){0};
}

- (id<MTLTexture>)newTextureViewWithPixelFormat:(MTLPixelFormat)pixelFormat
                                    textureType:(MTLTextureType)textureType
                                         levels:(NSRange)levelRange
                                         slices:(NSRange)sliceRange
                                        swizzle:(MTLTextureSwizzleChannels)swizzle {
  HM_REQUIRE(false, "a remote view is only the source of copies");
}

- (id<MTLTexture>)newRemoteTextureViewForDevice:(id<MTLDevice>)device {
  HM_REQUIRE(false, "a remote view is only the source of copies");
}

- (void)dealloc {
  [_storageTexture release];
  [super dealloc];
}
@end

@implementation MTLSharedTextureHandle
- (instancetype)initWithTexture:(HostMTLTexture *)texture {
  if ((self = [super init])) _texture = [texture retain];
  return self;
}
- (HostMTLTexture *)texture {
  return (HostMTLTexture *)_texture;
}
- (id<MTLDevice>)device {
  return [_texture device];
}
- (NSString *)label {
  return [_texture label];
}
- (void)dealloc {
  [_texture release];
  [super dealloc];
}
@end
