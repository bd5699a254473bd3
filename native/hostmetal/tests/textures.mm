// Cases of textures and samplers.
#import "faces.h"

#include <cfloat>
#include <cmath>
#include <cstring>

namespace {
id<MTLBuffer> buffer(NSUInteger length) {
  return [[device() newBufferWithLength:length options:MTLResourceStorageModeShared] autorelease];
}

MTLTextureDescriptor *flat(MTLPixelFormat format, NSUInteger width, NSUInteger height) {
  MTLTextureDescriptor *descriptor = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:format
                                                                                        width:width
                                                                                       height:height
                                                                                    mipmapped:NO];
  [descriptor setUsage:MTLTextureUsageShaderRead | MTLTextureUsageShaderWrite];
  return descriptor;
}

id<MTLTexture> texture(MTLTextureDescriptor *descriptor) {
  return [[device() newTextureWithDescriptor:descriptor] autorelease];
}

// All texels of level 0, slice 0 of a 2D texture of words.
void put(id<MTLTexture> to, const uint32_t *words) {
  [to replaceRegion:MTLRegionMake2D(0, 0, [to width], [to height]) mipmapLevel:0 withBytes:words bytesPerRow:[to width] * 4];
}

id<MTLComputePipelineState> pipeline(NSString *body) {
  return [[device() newComputePipelineStateWithFunction:kernel_of(body) error:nullptr] autorelease];
}

#define CHECK_SWIZZLE(of, r, g, b, a)                                                                          \
  do {                                                                                                         \
    const MTLTextureSwizzleChannels of_ = (of);                                                                \
    CHECK(of_.red == MTLTextureSwizzle##r && of_.green == MTLTextureSwizzle##g);                               \
    CHECK(of_.blue == MTLTextureSwizzle##b && of_.alpha == MTLTextureSwizzle##a);                              \
  } while (0)

// ------------------------------------------------------------------ textures

void a_descriptor_has_apples_defaults() {
  MTLTextureDescriptor *d = [[[MTLTextureDescriptor alloc] init] autorelease];
  CHECK_EQUAL([d textureType], MTLTextureType2D);
  CHECK_EQUAL([d pixelFormat], MTLPixelFormatRGBA8Unorm);
  CHECK([d width] == 1 && [d height] == 1 && [d depth] == 1 && [d arrayLength] == 1);
  CHECK([d mipmapLevelCount] == 1 && [d sampleCount] == 1);
  CHECK_EQUAL([d usage], MTLTextureUsageShaderRead);
  CHECK_EQUAL([d compressionType], MTLTextureCompressionTypeLossless);
  CHECK_SWIZZLE([d swizzle], Red, Green, Blue, Alpha);
  [d setSwizzle:MTLTextureSwizzleChannelsMake(MTLTextureSwizzleZero, MTLTextureSwizzleOne, MTLTextureSwizzleAlpha, MTLTextureSwizzleRed)];
  [d setStorageMode:MTLStorageModePrivate];
  [d setCpuCacheMode:MTLCPUCacheModeWriteCombined];
  [d setHazardTrackingMode:MTLHazardTrackingModeUntracked];
  CHECK_EQUAL([d resourceOptions], MTLResourceStorageModePrivate | MTLResourceCPUCacheModeWriteCombined |
                                       MTLResourceHazardTrackingModeUntracked);
  [d setStorageMode:MTLStorageModeManaged];
  MTLTextureDescriptor *copy = [[d copy] autorelease];
  [d setWidth:9];
  CHECK([copy width] == 1 && [copy storageMode] == MTLStorageModeManaged);
  CHECK_SWIZZLE([copy swizzle], Zero, One, Alpha, Red);
  CHECK_EQUAL([copy cpuCacheMode], MTLCPUCacheModeWriteCombined);
  CHECK_EQUAL([copy hazardTrackingMode], MTLHazardTrackingModeUntracked);
  MTLTextureDescriptor *chain = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR8Unorm
                                                                                   width:5
                                                                                  height:17
                                                                               mipmapped:YES];
  CHECK_EQUAL([chain mipmapLevelCount], 5);
}

void a_texture_tells_of_itself() {
  MTLTextureDescriptor *d = flat(MTLPixelFormatRG16Float, 8, 4);
  [d setTextureType:MTLTextureType2DArray];
  [d setArrayLength:3];
  [d setMipmapLevelCount:2];
  [d setStorageMode:MTLStorageModeManaged];
  const NSUInteger before = [device() currentAllocatedSize];
  @autoreleasepool {
    id<MTLTexture> t = texture(d);
    CHECK([t device] == device() && [t conformsToProtocol:objc_getProtocol("MTLTexture")]);
    CHECK([t width] == 8 && [t height] == 4 && [t depth] == 1 && [t arrayLength] == 3 && [t mipmapLevelCount] == 2);
    CHECK_EQUAL([t textureType], MTLTextureType2DArray);
    CHECK_EQUAL([t pixelFormat], MTLPixelFormatRG16Float);
    CHECK_EQUAL([t usage], MTLTextureUsageShaderRead | MTLTextureUsageShaderWrite);
    CHECK_EQUAL([t storageMode], MTLStorageModeManaged);
    CHECK(![t isShareable] && ![t isFramebufferOnly]);
    CHECK_EQUAL([t hazardTrackingMode], MTLHazardTrackingModeTracked);
    CHECK([t sampleCount] == 1 && ![t parentTexture] && ![t buffer]);
    CHECK([t allowGPUOptimizedContents] && [t sparseTextureTier] == MTLTextureSparseTierNone);
    CHECK(![t isSparse] && [t firstMipmapInTail] == 2 && [t tailSizeInBytes] == 0);
    CHECK_EQUAL([t setOwnerWithIdentity:1], KERN_NOT_SUPPORTED);
    [d setAllowGPUOptimizedContents:NO];
    id<MTLTexture> other = texture(d);
    CHECK(![other allowGPUOptimizedContents]);
    CHECK(![[[other newTextureViewWithPixelFormat:MTLPixelFormatRG16Float] autorelease] allowGPUOptimizedContents]);
    CHECK([t allocatedSize] >= 3 * (8 * 4 + 4 * 2) * 4 && [device() currentAllocatedSize] > before);
    [t setLabel:@"label"];
    CHECK([[t label] isEqualToString:@"label"]);
  }
  CHECK_EQUAL([device() currentAllocatedSize], before);
  CHECK(![device() supportsPlacementSparse]);
  CHECK([device() readWriteTextureSupport] == MTLReadWriteTextureTier2 && [device() supports32BitFloatFiltering]);
}

void regions_are_copied_exactly() {
  MTLTextureDescriptor *d = flat(MTLPixelFormatR32Uint, 2, 2);
  [d setTextureType:MTLTextureType3D];
  [d setDepth:2];
  id<MTLTexture> t = texture(d);
  const uint32_t all[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  [t replaceRegion:MTLRegionMake3D(0, 0, 0, 2, 2, 2) mipmapLevel:0 slice:0 withBytes:all bytesPerRow:8 bytesPerImage:16];
  uint32_t some[4] = {};
  [t getBytes:some bytesPerRow:4 bytesPerImage:8 fromRegion:MTLRegionMake3D(1, 0, 0, 1, 2, 2) mipmapLevel:0 slice:0];
  CHECK(some[0] == 2 && some[1] == 4 && some[2] == 6 && some[3] == 8);
  const uint32_t row = 9;
  id<MTLTexture> two = texture(flat(MTLPixelFormatR32Uint, 4, 2));
  [two replaceRegion:MTLRegionMake2D(3, 1, 1, 1) mipmapLevel:0 withBytes:&row bytesPerRow:0];
  uint32_t got[8] = {7, 7, 7, 7, 7, 7, 7, 7};
  [two getBytes:got bytesPerRow:16 fromRegion:MTLRegionMake2D(0, 0, 4, 2) mipmapLevel:0];
  CHECK(got[0] == 0 && got[6] == 0 && got[7] == 9);
  CHECK_RAISES([two getBytes:got bytesPerRow:12 fromRegion:MTLRegionMake2D(0, 0, 4, 1) mipmapLevel:0], @"getBytes:", @"bytesPerRow");
  CHECK_RAISES([two getBytes:got bytesPerRow:16 fromRegion:MTLRegionMake2D(1, 0, 4, 1) mipmapLevel:0], @"getBytes:", @"region");
  CHECK_RAISES([two getBytes:got bytesPerRow:16 fromRegion:MTLRegionMake2D(0, 0, 4, 1) mipmapLevel:1], @"getBytes:", @"level");
  CHECK_RAISES([two getBytes:(void *)nullptr bytesPerRow:16 fromRegion:MTLRegionMake2D(0, 0, 4, 1) mipmapLevel:0], @"getBytes:",
               @"NULL");
  CHECK_RAISES([two replaceRegion:MTLRegionMake2D(0, 0, 4, 1)
                      mipmapLevel:0
                            slice:1
                        withBytes:got
                      bytesPerRow:16
                    bytesPerImage:0],
               @"replaceRegion:", @"slice");
  CHECK_RAISES([t replaceRegion:MTLRegionMake3D(0, 0, 0, 2, 2, 2)
                    mipmapLevel:0
                          slice:0
                      withBytes:all
                    bytesPerRow:8
                  bytesPerImage:12],
               @"replaceRegion:", @"bytesPerImage");
  MTLTextureDescriptor *hidden = flat(MTLPixelFormatR32Uint, 4, 2);
  [hidden setStorageMode:MTLStorageModePrivate];
  CHECK_RAISES(put(texture(hidden), got), @"replaceRegion:", @"private");
}

void wrong_descriptors_are_refused() {
  const auto refused = [](void (^change)(MTLTextureDescriptor *), NSString *words) {
    MTLTextureDescriptor *d = flat(MTLPixelFormatRGBA8Unorm, 16, 16);
    change(d);
    CHECK_RAISES(texture(d), @"newTextureWithDescriptor:", words);
  };
  refused(^(MTLTextureDescriptor *d) { [d setWidth:0]; }, @"width, height and depth must be > 0");
  refused(^(MTLTextureDescriptor *d) { [d setWidth:16385]; }, @"16384");
  refused(^(MTLTextureDescriptor *d) { [d setDepth:2]; }, @"depth");
  refused(^(MTLTextureDescriptor *d) { [d setTextureType:MTLTextureType1D]; }, @"one dimension");
  refused(^(MTLTextureDescriptor *d) { [d setTextureType:MTLTextureTypeCube]; [d setHeight:8]; }, @"cube");
  refused(^(MTLTextureDescriptor *d) { [d setTextureType:MTLTextureType2DMultisample]; }, @"sampleCount");
  refused(^(MTLTextureDescriptor *d) { [d setTextureType:(MTLTextureType)10]; }, @"textureType");
  refused(^(MTLTextureDescriptor *d) { [d setTextureType:MTLTextureType3D]; [d setDepth:2049]; }, @"2048");
  refused(^(MTLTextureDescriptor *d) { [d setTextureType:MTLTextureTypeTextureBuffer]; [d setHeight:1]; }, @"buffer");
  refused(^(MTLTextureDescriptor *d) { [d setArrayLength:2]; }, @"arrayLength");
  refused(^(MTLTextureDescriptor *d) { [d setArrayLength:0]; }, @"arrayLength");
  refused(^(MTLTextureDescriptor *d) { [d setMipmapLevelCount:6]; }, @"mipmapLevelCount");
  refused(^(MTLTextureDescriptor *d) { [d setMipmapLevelCount:0]; }, @"mipmapLevelCount");
  refused(^(MTLTextureDescriptor *d) { [d setPixelFormat:MTLPixelFormatInvalid]; }, @"pixelFormat");
  refused(^(MTLTextureDescriptor *d) { [d setPixelFormat:(MTLPixelFormat)260]; }, @"pixelFormat");
  refused(^(MTLTextureDescriptor *d) { [d setSampleCount:4]; }, @"sampleCount");
  refused(^(MTLTextureDescriptor *d) { [d setStorageMode:MTLStorageModeMemoryless]; }, @"memoryless");
  CHECK_RAISES([device() newTextureWithDescriptor:(MTLTextureDescriptor *)nil], @"newTextureWithDescriptor:", @"nil");
}

// The slices of a cube are its faces; depth formats and multisampled textures say what they are.
void cubes_depths_and_samples() {
  MTLTextureDescriptor *d = [MTLTextureDescriptor textureCubeDescriptorWithPixelFormat:MTLPixelFormatR32Uint size:4 mipmapped:YES];
  CHECK([d textureType] == MTLTextureTypeCube && [d width] == 4 && [d height] == 4 && [d mipmapLevelCount] == 3);
  id<MTLTexture> cube = texture(d), other = texture(d);
  CHECK([cube arrayLength] == 1 && [cube sampleCount] == 1);
  uint32_t word = 0;
  for (uint32_t face = 0; face < 6; face++) {
    word = 100 + face;
    [cube replaceRegion:MTLRegionMake2D(3, 1, 1, 1) mipmapLevel:0 slice:face withBytes:&word bytesPerRow:4 bytesPerImage:4];
  }
  CHECK_RAISES([cube replaceRegion:MTLRegionMake2D(0, 0, 1, 1) mipmapLevel:0 slice:6 withBytes:&word bytesPerRow:4 bytesPerImage:4],
               @"replaceRegion:", @"slice");
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLBlitCommandEncoder> blit = [commandBuffer blitCommandEncoder];
  [blit copyFromTexture:cube toTexture:other];
  [blit endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  [other getBytes:&word bytesPerRow:4 bytesPerImage:4 fromRegion:MTLRegionMake2D(3, 1, 1, 1) mipmapLevel:0 slice:5];
  CHECK_EQUAL(word, 105);
  CHECK_EQUAL([[[other newTextureViewWithPixelFormat:MTLPixelFormatR32Uint] autorelease] arrayLength], 1);
  id<MTLTexture> faces = [[other newTextureViewWithPixelFormat:MTLPixelFormatR32Uint
                                                   textureType:MTLTextureType2DArray
                                                        levels:NSMakeRange(0, 1)
                                                        slices:NSMakeRange(2, 3)] autorelease];
  CHECK_EQUAL([faces arrayLength], 3);
  MTLTextureDescriptor *samples = flat(MTLPixelFormatRGBA8Unorm, 4, 4);
  [samples setTextureType:MTLTextureType2DMultisample];
  [samples setSampleCount:4];
  [samples setUsage:MTLTextureUsageShaderRead];
  CHECK_EQUAL([texture(samples) sampleCount], 4);
  CHECK_RAISES(put(texture(samples), &word), @"replaceRegion:", @"multisampled");
  MTLSamplerDescriptor *s = [[[MTLSamplerDescriptor alloc] init] autorelease];
  CHECK_EQUAL([s compareFunction], MTLCompareFunctionNever);
  [s setCompareFunction:MTLCompareFunctionGreaterEqual];
  CHECK_EQUAL([[[s copy] autorelease] compareFunction], MTLCompareFunctionGreaterEqual);
  [s setCompareFunction:(MTLCompareFunction)8];
  CHECK_RAISES([device() newSamplerStateWithDescriptor:s], @"newSamplerState", @"compareFunction");
}

void a_buffers_texture_is_its_bytes() {
  id<MTLBuffer> b = buffer(256);
  CHECK_EQUAL([device() minimumLinearTextureAlignmentForPixelFormat:MTLPixelFormatR32Uint], 16);
  CHECK_EQUAL([device() minimumTextureBufferAlignmentForPixelFormat:MTLPixelFormatR32Uint], 16);
  CHECK_RAISES([device() minimumLinearTextureAlignmentForPixelFormat:MTLPixelFormatInvalid], @"minimumLinear", @"format");
  MTLTextureDescriptor *d = flat(MTLPixelFormatR32Uint, 3, 2);
  id<MTLTexture> t = [[b newTextureWithDescriptor:d offset:32 bytesPerRow:16] autorelease];
  CHECK([t buffer] == b && [t bufferOffset] == 32 && [t bufferBytesPerRow] == 16);
  CHECK([t allowGPUOptimizedContents] && [b sparseBufferTier] == MTLBufferSparseTierNone);
  CHECK_EQUAL([b setOwnerWithIdentity:1], KERN_NOT_SUPPORTED);
  // Whose memory it is in the end.
  CHECK([t rootResource] == b);
  CHECK([[[t newTextureViewWithPixelFormat:MTLPixelFormatR32Uint] autorelease] rootResource] == b);
  const uint32_t words[6] = {1, 2, 3, 4, 5, 6};
  put(t, words);
  const uint32_t *bytes = (const uint32_t *)[b contents];
  CHECK(bytes[7] == 0 && bytes[8] == 1 && bytes[10] == 3 && bytes[11] == 0 && bytes[12] == 4 && bytes[14] == 6);
  CHECK_RAISES([b newTextureWithDescriptor:d offset:8 bytesPerRow:16], @"newTextureWithDescriptor:", @"offset");
  CHECK_RAISES([b newTextureWithDescriptor:d offset:0 bytesPerRow:12], @"newTextureWithDescriptor:", @"bytesPerRow");
  CHECK_RAISES([b newTextureWithDescriptor:d offset:240 bytesPerRow:16], @"newTextureWithDescriptor:", @"length");
  [d setStorageMode:MTLStorageModePrivate];
  CHECK_RAISES([b newTextureWithDescriptor:d offset:0 bytesPerRow:16], @"newTextureWithDescriptor:", @"storage");
  MTLTextureDescriptor *row = [MTLTextureDescriptor textureBufferDescriptorWithPixelFormat:MTLPixelFormatR32Uint
                                                                                     width:8
                                                                           resourceOptions:MTLResourceStorageModeShared
                                                                                     usage:MTLTextureUsageShaderRead];
  CHECK_EQUAL([[[b newTextureWithDescriptor:row offset:0 bytesPerRow:32] autorelease] textureType], MTLTextureTypeTextureBuffer);
}

void a_view_shares_the_texels() {
  MTLTextureDescriptor *d = flat(MTLPixelFormatR32Uint, 4, 4);
  [d setTextureType:MTLTextureType2DArray];
  [d setArrayLength:2];
  [d setMipmapLevelCount:3];
  [d setUsage:MTLTextureUsageShaderRead | MTLTextureUsagePixelFormatView];
  id<MTLTexture> view = nil;
  uint32_t word = 0;
  @autoreleasepool {
    id<MTLTexture> t = texture(d);
    const uint32_t words[4] = {0x01020304, 0, 0, 0};
    [t replaceRegion:MTLRegionMake2D(0, 0, 2, 2) mipmapLevel:1 slice:1 withBytes:words bytesPerRow:8 bytesPerImage:0];
    view = [t newTextureViewWithPixelFormat:MTLPixelFormatRGBA8Uint
                                textureType:MTLTextureType2D
                                     levels:NSMakeRange(1, 2)
                                     slices:NSMakeRange(1, 1)];
    CHECK([view parentTexture] == t && [view parentRelativeLevel] == 1 && [view parentRelativeSlice] == 1);
    CHECK([t rootResource] == nil && [view rootResource] == t);
    id<MTLTexture> inner = [[view newTextureViewWithPixelFormat:MTLPixelFormatR32Uint] autorelease];
    CHECK([inner parentTexture] == view && [inner rootResource] == t);
    CHECK([view width] == 2 && [view mipmapLevelCount] == 2 && [view arrayLength] == 1);
    CHECK_EQUAL([[[t newTextureViewWithPixelFormat:MTLPixelFormatR32Float] autorelease] arrayLength], 2);
    CHECK_RAISES([t newTextureViewWithPixelFormat:MTLPixelFormatR8Uint], @"newTextureView", @"bits");
    CHECK_RAISES([t newTextureViewWithPixelFormat:MTLPixelFormatR32Uint
                                      textureType:MTLTextureType3D
                                           levels:NSMakeRange(0, 1)
                                           slices:NSMakeRange(0, 1)],
                 @"newTextureView", @"textureType");
    CHECK_RAISES([t newTextureViewWithPixelFormat:MTLPixelFormatR32Uint
                                      textureType:MTLTextureType2D
                                           levels:NSMakeRange(2, 2)
                                           slices:NSMakeRange(0, 1)],
                 @"newTextureView", @"levelRange");
    CHECK_RAISES([t newTextureViewWithPixelFormat:MTLPixelFormatR32Uint
                                      textureType:MTLTextureType2D
                                           levels:NSMakeRange(0, 1)
                                           slices:NSMakeRange(0, 2)],
                 @"newTextureView", @"sliceRange");
    [d setUsage:MTLTextureUsageShaderRead];
    CHECK_RAISES([texture(d) newTextureViewWithPixelFormat:MTLPixelFormatR32Float], @"newTextureView", @"PixelFormatView");
    // Between sRGB and linear space no usage is needed, nor where it is not known.
    const MTLPixelFormat srgb[][2] = {{MTLPixelFormatRGBA8Unorm, MTLPixelFormatRGBA8Unorm_sRGB},
                                      {MTLPixelFormatBGRA8Unorm_sRGB, MTLPixelFormatRGBA8Unorm},
                                      {MTLPixelFormatRG8Unorm, MTLPixelFormatRG8Unorm_sRGB},
                                      {MTLPixelFormatR8Unorm_sRGB, MTLPixelFormatR8Unorm}};
    for (const auto &formats : srgb) {
      [d setPixelFormat:formats[0]];
      CHECK_EQUAL([[[texture(d) newTextureViewWithPixelFormat:formats[1]] autorelease] pixelFormat], formats[1]);
    }
    const MTLPixelFormat others[][2] = {{MTLPixelFormatRGBA8Unorm, MTLPixelFormatBGRA8Unorm},
                                        {MTLPixelFormatRGBA8Uint, MTLPixelFormatRGBA8Unorm_sRGB},
                                        {MTLPixelFormatRG8Unorm_sRGB, MTLPixelFormatR16Unorm},
                                        {MTLPixelFormatA8Unorm, MTLPixelFormatR8Unorm_sRGB}};
    for (const auto &formats : others) {
      [d setUsage:MTLTextureUsageShaderRead];
      [d setPixelFormat:formats[0]];
      CHECK_RAISES([texture(d) newTextureViewWithPixelFormat:formats[1]], @"newTextureView", @"PixelFormatView");
      [d setUsage:MTLTextureUsageUnknown];
      CHECK_EQUAL([[[texture(d) newTextureViewWithPixelFormat:formats[1]] autorelease] pixelFormat], formats[1]);
    }
  }
  // The view keeps the texels.
  [view getBytes:&word bytesPerRow:4 fromRegion:MTLRegionMake2D(0, 0, 1, 1) mipmapLevel:0];
  CHECK_EQUAL(word, 0x01020304);
  [view release];
}

void a_view_is_made_of_a_descriptor() {
  MTLTextureViewDescriptor *v = [[[MTLTextureViewDescriptor alloc] init] autorelease];
  CHECK_SWIZZLE([v swizzle], Red, Green, Blue, Alpha);
  [v setPixelFormat:MTLPixelFormatRGBA8Uint];
  [v setTextureType:MTLTextureType2D];
  [v setLevelRange:NSMakeRange(1, 2)];
  [v setSliceRange:NSMakeRange(1, 1)];
  [v setSwizzle:MTLTextureSwizzleChannelsMake(MTLTextureSwizzleAlpha, MTLTextureSwizzleOne, MTLTextureSwizzleRed, MTLTextureSwizzleZero)];
  MTLTextureViewDescriptor *copy = [[v copy] autorelease];
  [v setLevelRange:NSMakeRange(0, 4)];
  MTLTextureDescriptor *d = flat(MTLPixelFormatR32Uint, 4, 4);
  [d setTextureType:MTLTextureType2DArray];
  [d setArrayLength:2];
  [d setMipmapLevelCount:3];
  [d setUsage:MTLTextureUsageShaderRead | MTLTextureUsagePixelFormatView];
  id<MTLTexture> t = texture(d), view = [[t newTextureViewWithDescriptor:copy] autorelease];
  CHECK([view parentTexture] == t && [view parentRelativeLevel] == 1 && [view parentRelativeSlice] == 1);
  CHECK([view width] == 2 && [view mipmapLevelCount] == 2 && [view arrayLength] == 1);
  CHECK([view textureType] == MTLTextureType2D && [view pixelFormat] == MTLPixelFormatRGBA8Uint);
  CHECK_SWIZZLE([view swizzle], Alpha, One, Red, Zero);
  CHECK_RAISES([t newTextureViewWithDescriptor:v], @"newTextureView", @"levelRange");
  CHECK_RAISES([t newTextureViewWithDescriptor:(MTLTextureViewDescriptor *)nil], @"newTextureViewWithDescriptor:", @"nil");
}

// ------------------------------------------------------------------ samplers

void wrong_samplers_are_refused() {
  MTLSamplerDescriptor *good = [[[MTLSamplerDescriptor alloc] init] autorelease];
  CHECK([good normalizedCoordinates] && [good maxAnisotropy] == 1 && [good lodMinClamp] == 0 && [good lodMaxClamp] == FLT_MAX);
  CHECK_EQUAL([good sAddressMode], MTLSamplerAddressModeClampToEdge);
  [good setLabel:@"label"];
  id<MTLSamplerState> sampler = [[device() newSamplerStateWithDescriptor:good] autorelease];
  CHECK([sampler device] == device() && [[sampler label] isEqualToString:@"label"]);
  const auto refused = [=](void (^change)(MTLSamplerDescriptor *), NSString *words) {
    MTLSamplerDescriptor *d = [[good copy] autorelease];
    change(d);
    CHECK_RAISES([device() newSamplerStateWithDescriptor:d], @"newSamplerStateWithDescriptor:", words);
  };
  refused(^(MTLSamplerDescriptor *d) { [d setTAddressMode:MTLSamplerAddressModeMirrorClampToEdge]; }, @"address mode");
  refused(^(MTLSamplerDescriptor *d) { [d setMinFilter:(MTLSamplerMinMagFilter)2]; }, @"minFilter");
  refused(^(MTLSamplerDescriptor *d) { [d setMipFilter:(MTLSamplerMipFilter)3]; }, @"mipFilter");
  refused(^(MTLSamplerDescriptor *d) { [d setBorderColor:(MTLSamplerBorderColor)3]; }, @"borderColor");
  refused(^(MTLSamplerDescriptor *d) { [d setMaxAnisotropy:17]; }, @"maxAnisotropy");
  refused(^(MTLSamplerDescriptor *d) { [d setReductionMode:(MTLSamplerReductionMode)3]; }, @"reductionMode");
  for (float bias : {-16.01f, 16.0f, NAN}) refused(^(MTLSamplerDescriptor *d) { [d setLodBias:bias]; }, @"lodBias");
  refused(^(MTLSamplerDescriptor *d) { [d setLodMinClamp:2]; [d setLodMaxClamp:1]; }, @"lodMinClamp");
  refused(^(MTLSamplerDescriptor *d) { [d setNormalizedCoordinates:NO]; [d setRAddressMode:MTLSamplerAddressModeRepeat]; }, @"pixels");
  refused(^(MTLSamplerDescriptor *d) { [d setNormalizedCoordinates:NO]; [d setMipFilter:MTLSamplerMipFilterLinear]; }, @"pixels");
  refused(^(MTLSamplerDescriptor *d) { [d setNormalizedCoordinates:NO]; [d setMagFilter:MTLSamplerMinMagFilterLinear]; }, @"pixels");
  CHECK_RAISES([device() newSamplerStateWithDescriptor:(MTLSamplerDescriptor *)nil], @"newSamplerState", @"nil");
}

// Bound, and from an argument buffer: level 0 holds 1 and 3, level 1 holds 10.
void a_sampler_has_a_bias_and_a_reduction() {
  MTLTextureDescriptor *d = flat(MTLPixelFormatR32Float, 2, 1);
  [d setMipmapLevelCount:2];
  [d setUsage:MTLTextureUsageShaderRead];
  id<MTLTexture> t = texture(d);
  const float first[2] = {1, 3}, second = 10;
  [t replaceRegion:MTLRegionMake2D(0, 0, 2, 1) mipmapLevel:0 withBytes:first bytesPerRow:8];
  [t replaceRegion:MTLRegionMake2D(0, 0, 1, 1) mipmapLevel:1 withBytes:&second bytesPerRow:4];
  id<MTLComputePipelineState> state = pipeline(
      @"struct Held { sampler s; };\n"
       "kernel void k(texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]], constant Held &held [[buffer(0)]],\n"
       "  device float2 *out [[buffer(1)]]) { out[0] = float2(t.sample(s, float2(0.5)).x, t.sample(held.s, float2(0.5)).x); }");
  const auto check = [=](void (^change)(MTLSamplerDescriptor *), float expected) {
    MTLSamplerDescriptor *s = [[[MTLSamplerDescriptor alloc] init] autorelease];
    CHECK([s lodBias] == 0 && [s reductionMode] == MTLSamplerReductionModeWeightedAverage && ![s lodAverage]);
    [s setLodAverage:YES];
    CHECK([[[s copy] autorelease] lodAverage]);
    [s setLodAverage:NO];
    [s setMinFilter:MTLSamplerMinMagFilterLinear];
    [s setMagFilter:MTLSamplerMinMagFilterLinear];
    [s setMipFilter:MTLSamplerMipFilterLinear];
    [s setSupportArgumentBuffers:YES];
    change(s);
    id<MTLSamplerState> sampler = [[device() newSamplerStateWithDescriptor:[[s copy] autorelease]] autorelease];
    const MTLResourceID held = [sampler gpuResourceID];
    id<MTLBuffer> out = buffer(8);
    id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setTexture:t atIndex:0];
    [encoder setSamplerState:sampler atIndex:0];
    [encoder setBytes:&held length:sizeof held atIndex:0];
    [encoder setBuffer:out offset:0 atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    [encoder endEncoding];
    [commandBuffer commit];
    [commandBuffer waitUntilCompleted];
    const float *got = (const float *)[out contents];
    if (got[0] != expected || got[1] != expected)
      faces_note(__FILE__, __LINE__, std::to_string(got[0]) + ", " + std::to_string(got[1]) + " for " + std::to_string(expected));
  };
  check(^(MTLSamplerDescriptor *) {}, 2);
  check(^(MTLSamplerDescriptor *s) { [s setLodBias:0.25f]; }, 4);
  check(^(MTLSamplerDescriptor *s) { [s setLodBias:-1]; }, 2);
  check(^(MTLSamplerDescriptor *s) { [s setLodBias:15.999f]; }, 10);
  check(^(MTLSamplerDescriptor *s) { [s setReductionMode:MTLSamplerReductionModeMinimum]; }, 1);
  check(^(MTLSamplerDescriptor *s) { [s setReductionMode:MTLSamplerReductionModeMaximum]; }, 3);
  check(^(MTLSamplerDescriptor *s) { [s setReductionMode:MTLSamplerReductionModeMaximum]; [s setLodBias:0.25f]; }, 10);
  // Looked at where all three filters are linear.
  check(^(MTLSamplerDescriptor *s) { [s setReductionMode:MTLSamplerReductionModeMaximum]; [s setMipFilter:MTLSamplerMipFilterNearest]; }, 2);
  check(^(MTLSamplerDescriptor *s) { [s setReductionMode:MTLSamplerReductionModeMaximum]; [s setMinFilter:MTLSamplerMinMagFilterNearest]; }, 2);
}

// Level 0 holds 5, level 1 holds 9; each kernel's sample names the other level than its sampler is kept to.
void samplers_are_kept_to_levels_when_they_are_set() {
  MTLTextureDescriptor *d = flat(MTLPixelFormatR32Float, 2, 1);
  [d setMipmapLevelCount:2];
  [d setUsage:MTLTextureUsageShaderRead];
  id<MTLTexture> t = texture(d);
  const float first[2] = {5, 5}, second = 9;
  [t replaceRegion:MTLRegionMake2D(0, 0, 2, 1) mipmapLevel:0 withBytes:first bytesPerRow:8];
  [t replaceRegion:MTLRegionMake2D(0, 0, 1, 1) mipmapLevel:1 withBytes:&second bytesPerRow:4];
  id<MTLComputePipelineState> state = pipeline(
      @"kernel void k(texture2d<float> t [[texture(0)]], sampler a [[sampler(1)]], sampler b [[sampler(2)]], device float2 *out [[buffer(0)]]) {\n"
       "out[0] = float2(t.sample(a, float2(0.5), level(1)).x, t.sample(b, float2(0.5), level(0)).x); }");
  MTLSamplerDescriptor *s = [[[MTLSamplerDescriptor alloc] init] autorelease];
  [s setMipFilter:MTLSamplerMipFilterNearest];
  id<MTLSamplerState> sampler = [[device() newSamplerStateWithDescriptor:s] autorelease];
  const id<MTLSamplerState> samplers[] = {sampler, sampler};
  const auto check = [=](const float *least, const float *most, float a, float b) {
    id<MTLBuffer> out = buffer(8);
    id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setTexture:t atIndex:0];
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder setSamplerStates:samplers lodMinClamps:least lodMaxClamps:most withRange:NSMakeRange(1, 2)];
    CHECK_RAISES([encoder setSamplerStates:samplers lodMinClamps:most lodMaxClamps:(const float *)nullptr withRange:NSMakeRange(1, 2)],
                 @"setSamplerStates:lodMinClamps:lodMaxClamps:withRange:", @"NULL");
    [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    [encoder endEncoding];
    [commandBuffer commit];
    [commandBuffer waitUntilCompleted];
    const float *got = (const float *)[out contents];
    CHECK_EQUAL(got[0], a);
    CHECK_EQUAL(got[1], b);
  };
  const float zeros[] = {0, 0}, ones[] = {1, 1}, apart[] = {0, 1};
  check(zeros, ones, 9, 5);
  check(apart, apart, 5, 9);
  check(ones, ones, 9, 9);
  check(zeros, zeros, 5, 5);
}

// ------------------------------------------------------------------ encoders

void a_dispatch_names_what_is_wrong_with_its_textures() {
  id<MTLComputePipelineState> state = pipeline(
      @"kernel void k(texture2d<float> from [[texture(1)]], texture2d<uint, access::write> to [[texture(2)]],\n"
       "sampler s [[sampler(3)]]) { to.write(uint4(from.sample(s, float2(0))), uint2(0)); }");
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:state];
  const auto refused = [=](NSString *words) {
    CHECK_RAISES([encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)], @"dispatchThreads:", words);
  };
  id<MTLTexture> reals = texture(flat(MTLPixelFormatRGBA8Unorm, 1, 1)), words = texture(flat(MTLPixelFormatRGBA8Uint, 1, 1));
  refused(@"missing Texture binding at index 1");
  [encoder setTexture:words atIndex:1];
  refused(@"pixelFormat of the texture bound at index 1");
  MTLTextureDescriptor *line = flat(MTLPixelFormatRGBA8Unorm, 4, 1);
  [line setTextureType:MTLTextureType1D];
  [encoder setTexture:texture(line) atIndex:1];
  refused(@"index 1 has another textureType");
  MTLTextureDescriptor *other = flat(MTLPixelFormatRGBA8Unorm, 1, 1);
  [other setUsage:MTLTextureUsageShaderWrite];
  [encoder setTexture:texture(other) atIndex:1];
  refused(@"MTLTextureUsageShaderRead");
  [encoder setTexture:reals atIndex:1];
  refused(@"missing Texture binding at index 2");
  [other setPixelFormat:MTLPixelFormatRGBA8Uint];
  [other setUsage:MTLTextureUsageShaderRead];
  const id<MTLTexture> both[] = {reals, texture(other)};
  [encoder setTextures:both withRange:NSMakeRange(1, 2)];
  refused(@"MTLTextureUsageShaderWrite");
  [encoder setTexture:words atIndex:2];
  refused(@"missing Sampler binding at index 3");
  MTLSamplerDescriptor *plain = [[[MTLSamplerDescriptor alloc] init] autorelease];
  id<MTLSamplerState> sampler = [[device() newSamplerStateWithDescriptor:plain] autorelease];
  const id<MTLSamplerState> samplers[] = {nil, sampler};
  [encoder setSamplerStates:samplers withRange:NSMakeRange(2, 2)];
  [encoder setSamplerState:sampler lodMinClamp:0 lodMaxClamp:2 atIndex:3];
  CHECK_RAISES([encoder setSamplerState:sampler lodMinClamp:2 lodMaxClamp:0 atIndex:3], @"setSamplerState:", @"lodMinClamp");
  [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  [encoder setSamplerState:nil atIndex:3];
  refused(@"missing Sampler binding at index 3");
  NSObject *stranger = [[[NSObject alloc] init] autorelease];
  CHECK_RAISES([encoder setTexture:(id<MTLTexture>)stranger atIndex:0], @"setTexture:", @"not one of this device");
  CHECK_RAISES([encoder setSamplerState:(id<MTLSamplerState>)stranger atIndex:0], @"setSamplerState:", @"not one of this device");
  CHECK_RAISES([encoder setTexture:reals atIndex:128], @"setTexture:", @"128");
  CHECK_RAISES([encoder setSamplerState:sampler atIndex:16], @"setSamplerState:", @"16");
  [encoder endEncoding];
  CHECK_RAISES([encoder setTexture:reals atIndex:0], @"setTexture:", @"");
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
}

void a_command_buffer_keeps_its_textures() {
  id<MTLComputePipelineState> state = pipeline(
      @"kernel void k(array<texture2d<uint>, 2> from [[texture(0)]], device uint *out [[buffer(0)]]) {\n"
       "out[0] = from[0].read(uint2(1, 0)).x * 100 + from[1].read(uint2(0, 0)).x; }");
  id<MTLBuffer> out = buffer(4);
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  const NSUInteger before = [device() currentAllocatedSize];
  @autoreleasepool {
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:out offset:0 atIndex:0];
    for (uint32_t i = 0; i < 2; i++) {
      const uint32_t words[2] = {10 + i, 20 + i};
      id<MTLTexture> t = texture(flat(MTLPixelFormatR32Uint, 2, 1));
      put(t, words);
      [encoder setTexture:t atIndex:i];
    }
    [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    // What is bound later is not what the dispatch reads.
    [encoder setTexture:nil atIndex:0];
    [encoder endEncoding];
  }
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL(*(const uint32_t *)[out contents], 2011);
  CHECK_EQUAL([device() currentAllocatedSize], before);
}

void copies_move_texels() {
  MTLTextureDescriptor *d = flat(MTLPixelFormatR32Uint, 4, 4);
  [d setTextureType:MTLTextureType2DArray];
  [d setArrayLength:2];
  [d setMipmapLevelCount:2];
  id<MTLTexture> first = texture(d), second = texture(d);
  id<MTLBuffer> from = buffer(64), to = buffer(64);
  for (uint32_t i = 0; i < 16; i++) ((uint32_t *)[from contents])[i] = i;
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  const MTLOrigin origin = MTLOriginMake(0, 0, 0);
  [encoder copyFromBuffer:from
               sourceOffset:0
          sourceBytesPerRow:16
        sourceBytesPerImage:0
                 sourceSize:MTLSizeMake(2, 2, 1)
                  toTexture:first
           destinationSlice:1
           destinationLevel:1
          destinationOrigin:origin];
  [encoder copyFromTexture:first toTexture:second];
  [encoder copyFromTexture:second
               sourceSlice:1
               sourceLevel:1
              sourceOrigin:origin
                sourceSize:MTLSizeMake(1, 2, 1)
                 toTexture:second
          destinationSlice:0
          destinationLevel:0
         destinationOrigin:MTLOriginMake(3, 2, 0)];
  [encoder copyFromTexture:second
                   sourceSlice:0
                   sourceLevel:0
                  sourceOrigin:origin
                    sourceSize:MTLSizeMake(4, 4, 1)
                      toBuffer:to
             destinationOffset:0
        destinationBytesPerRow:16
      destinationBytesPerImage:0];
  const auto refused = [=](id<MTLTexture> texture, NSUInteger width, NSUInteger offset, NSString *words) {
    CHECK_RAISES([encoder copyFromTexture:texture
                                 sourceSlice:0
                                 sourceLevel:0
                                sourceOrigin:origin
                                  sourceSize:MTLSizeMake(width, 4, 1)
                                    toBuffer:to
                           destinationOffset:offset
                      destinationBytesPerRow:16
                    destinationBytesPerImage:0],
                 @"copyFromTexture:", words);
  };
  refused(first, 5, 0, @"region");
  refused(first, 4, 16, @"within the buffer");
  refused((id<MTLTexture>)nil, 4, 0, @"texture");
  CHECK_RAISES([encoder copyFromTexture:first toTexture:texture(flat(MTLPixelFormatR32Uint, 4, 4))], @"copyFromTexture:", @"same size");
  [encoder endEncoding];
  refused(first, 4, 0, @"");
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  uint32_t expected[16] = {};
  expected[15] = 4;
  CHECK_EQUAL(memcmp([to contents], expected, 64), 0);
  uint32_t level[4] = {};
  [second getBytes:level bytesPerRow:8 bytesPerImage:0 fromRegion:MTLRegionMake2D(0, 0, 2, 2) mipmapLevel:1 slice:1];
  CHECK(level[0] == 0 && level[1] == 1 && level[2] == 4 && level[3] == 5);
}

void reflection_lists_textures() {
  MTLComputePipelineReflection *reflection = nil;
  NSError *error = nil;
  NSString *source = @"#include <metal_stdlib>\nusing namespace metal;\n"
                      "kernel void k(texture3d<half, access::read_write> volume [[texture(4)]], sampler s [[sampler(1)]],\n"
                      "array<texture1d_array<int, access::write>, 3> lines [[texture(6)]]) {}";
  id<MTLLibrary> library = [[device() newLibraryWithSource:source options:nil error:&error] autorelease];
  id<MTLComputePipelineState> state =
      [[device() newComputePipelineStateWithFunction:[[library newFunctionWithName:@"k"] autorelease]
                                             options:MTLPipelineOptionBindingInfo
                                          reflection:&reflection
                                               error:&error] autorelease];
  CHECK(state && [[reflection bindings] count] == 3);
  id<MTLTextureBinding> volume = (id<MTLTextureBinding>)[[reflection bindings] objectAtIndex:0];
  id<MTLTextureBinding> lines = (id<MTLTextureBinding>)[[reflection bindings] objectAtIndex:1];
  CHECK([volume conformsToProtocol:objc_getProtocol("MTLTextureBinding")]);
  CHECK([[volume name] isEqualToString:@"volume"] && [volume index] == 4 && [volume arrayLength] == 1 && ![volume isDepthTexture]);
  CHECK_EQUAL([volume textureType], MTLTextureType3D);
  CHECK_EQUAL([volume textureDataType], MTLDataTypeHalf);
  CHECK_EQUAL([volume access], MTLBindingAccessReadWrite);
  CHECK([[lines name] isEqualToString:@"lines"] && [lines index] == 6 && [lines arrayLength] == 3);
  CHECK_EQUAL([lines textureType], MTLTextureType1DArray);
  CHECK_EQUAL([lines textureDataType], MTLDataTypeInt);
  CHECK_EQUAL([lines access], MTLBindingAccessWriteOnly);
  id<MTLBinding> sampler = [[reflection bindings] objectAtIndex:2];
  CHECK([sampler type] == MTLBindingTypeSampler && [sampler index] == 1 && [sampler access] == MTLBindingAccessReadOnly);
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  // The same by the names before macOS 13.
  NSArray<MTLArgument *> *arguments = [reflection arguments];
  CHECK_EQUAL([arguments count], [[reflection bindings] count]);
  for (NSUInteger i = 0; i < [arguments count]; i++) {
    MTLArgument *argument = [arguments objectAtIndex:i];
    id<MTLBinding> binding = [[reflection bindings] objectAtIndex:i];
    CHECK([[argument name] isEqualToString:[binding name]] && [argument index] == [binding index]);
    CHECK([argument type] == (MTLArgumentType)[binding type] && [argument access] == [binding access]);
    CHECK_EQUAL([argument isActive], [binding isUsed]);
    const BOOL texture = [binding type] == MTLBindingTypeTexture;
    CHECK_EQUAL([argument arrayLength], texture ? [(id<MTLTextureBinding>)binding arrayLength] : 0);
    CHECK_EQUAL([argument textureType], texture ? [(id<MTLTextureBinding>)binding textureType] : 0);
    CHECK_EQUAL([argument textureDataType], texture ? [(id<MTLTextureBinding>)binding textureDataType] : 0);
    CHECK(![argument isDepthTexture] && [argument bufferDataSize] == 0 && [argument bufferStructType] == nil);
  }
  MTLComputePipelineReflection *other = nil;
  [[device() newComputePipelineStateWithFunction:kernel_of(@"kernel void k(device float2 *p [[buffer(3)]], threadgroup int *q [[threadgroup(1)]]) {"
                                                          " p[0] = float(q[0]); }")
                                         options:MTLPipelineOptionArgumentInfo
                                      reflection:&other
                                           error:&error] autorelease];
  CHECK_EQUAL([[other arguments] count], 2);
  MTLArgument *p = [[other arguments] objectAtIndex:0], *q = [[other arguments] objectAtIndex:1];
  CHECK([p type] == MTLArgumentTypeBuffer && [p index] == 3 && [p bufferAlignment] == 8 && [p bufferDataSize] == 8);
  CHECK([p bufferDataType] == MTLDataTypeFloat2 && [p bufferPointerType] != nil && [p threadgroupMemoryDataSize] == 0);
  CHECK([q type] == MTLArgumentTypeThreadgroupMemory && [q index] == 1);
  CHECK([q threadgroupMemoryAlignment] == 4 && [q threadgroupMemoryDataSize] == 4 && [q bufferPointerType] == nil);
#pragma clang diagnostic pop
}


void a_shared_texture_is_found_by_its_handle() {
  MTLTextureDescriptor *d = flat(MTLPixelFormatR32Uint, 2, 2);
  CHECK_RAISES([device() newSharedTextureWithDescriptor:d], @"newSharedTextureWithDescriptor:", @"MTLStorageModePrivate");
  [d setStorageMode:MTLStorageModePrivate];
  id<MTLTexture> plain = texture(d);
  CHECK(![plain isShareable] && [plain newSharedTextureHandle] == nil);
  id<MTLBuffer> bytes = buffer(16), out = buffer(16);
  for (uint32_t i = 0; i < 4; i++) ((uint32_t *)[bytes contents])[i] = 10 + i;
  MTLSharedTextureHandle *handle = nil;
  id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
  const MTLSize size = MTLSizeMake(2, 2, 1);
  @autoreleasepool {
    id<MTLTexture> first = [[device() newSharedTextureWithDescriptor:d] autorelease];
    CHECK([first isShareable]);
    [first setLabel:@"ours"];
    id<MTLCommandBuffer> commandBuffer = [queue commandBuffer];
    id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
    [encoder copyFromBuffer:bytes
               sourceOffset:0
          sourceBytesPerRow:8
        sourceBytesPerImage:16
                 sourceSize:size
                  toTexture:first
           destinationSlice:0
           destinationLevel:0
          destinationOrigin:MTLOriginMake(0, 0, 0)];
    [encoder endEncoding];
    [commandBuffer commit];
    [commandBuffer waitUntilCompleted];
    handle = [first newSharedTextureHandle];
  }
  CHECK([handle device] == device() && [[handle label] isEqualToString:@"ours"]);
  id<MTLTexture> second = [[device() newSharedTextureWithHandle:handle] autorelease];
  [handle release];
  CHECK([second isShareable] && [second parentTexture] == nil && [second storageMode] == MTLStorageModePrivate);
  CHECK([second width] == 2 && [second pixelFormat] == MTLPixelFormatR32Uint && [second usage] == [d usage]);
  id<MTLCommandBuffer> commandBuffer = [queue commandBuffer];
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  [encoder copyFromTexture:second
                   sourceSlice:0
                   sourceLevel:0
                  sourceOrigin:MTLOriginMake(0, 0, 0)
                    sourceSize:size
                      toBuffer:out
             destinationOffset:0
        destinationBytesPerRow:8
      destinationBytesPerImage:16];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  for (uint32_t i = 0; i < 4; i++) CHECK_EQUAL(((uint32_t *)[out contents])[i], 10 + i);
  CHECK_RAISES([device() newSharedTextureWithHandle:nil], @"newSharedTextureWithHandle:", @"nil");
}

void a_swizzle_is_for_reading() {
  const auto make = MTLTextureSwizzleChannelsMake;
  id<MTLTexture> whole = texture(flat(MTLPixelFormatRGBA8Unorm, 1, 1));
  CHECK_SWIZZLE([whole swizzle], Red, Green, Blue, Alpha);
  CHECK_EQUAL([whole compressionType], MTLTextureCompressionTypeLossless);
  id<MTLTexture> view = [[whole newTextureViewWithPixelFormat:MTLPixelFormatRGBA8Unorm
                                                  textureType:MTLTextureType2D
                                                       levels:NSMakeRange(0, 1)
                                                       slices:NSMakeRange(0, 1)
                                                      swizzle:make(MTLTextureSwizzleAlpha, MTLTextureSwizzleOne, MTLTextureSwizzleRed,
                                                                   MTLTextureSwizzleZero)] autorelease];
  CHECK_SWIZZLE([view swizzle], Alpha, One, Red, Zero);
  CHECK([view parentTexture] == whole);
  CHECK_EQUAL([whole usage], MTLTextureUsageShaderRead | MTLTextureUsageShaderWrite);
  CHECK_EQUAL([view usage], MTLTextureUsageShaderRead);
  CHECK_SWIZZLE([[[view newTextureViewWithPixelFormat:MTLPixelFormatRGBA8Unorm] autorelease] swizzle], Alpha, One, Red, Zero);
  // The host's texels and copies are those of the memory.
  const uint32_t texel = 0x80ff3300;
  put(view, &texel);
  uint32_t found = 0;
  [view getBytes:&found bytesPerRow:4 fromRegion:MTLRegionMake2D(0, 0, 1, 1) mipmapLevel:0];
  CHECK_EQUAL(found, texel);
  id<MTLBuffer> out = buffer(16);
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:pipeline(@"kernel void k(texture2d<float> t [[texture(0)]], device float4 *out [[buffer(0)]]) {"
                                             " out[0] = t.read(uint2(0)); }")];
  [encoder setTexture:view atIndex:0];
  [encoder setBuffer:out offset:0 atIndex:0];
  const MTLSize one = MTLSizeMake(1, 1, 1);
  [encoder dispatchThreads:one threadsPerThreadgroup:one];
  [encoder setComputePipelineState:pipeline(@"kernel void k(texture2d<float, access::write> t [[texture(0)]]) { t.write(float4(1), uint2(0)); }")];
  CHECK_RAISES([encoder dispatchThreads:one threadsPerThreadgroup:one], @"dispatchThreads:", @"MTLTextureUsageShaderWrite");
  // A swizzle and the one that undoes it: what the view has lost, a view of it has not.
  const auto swapped = ^(id<MTLTexture> t) {
    return [[t newTextureViewWithPixelFormat:MTLPixelFormatRGBA8Unorm
                                 textureType:MTLTextureType2D
                                      levels:NSMakeRange(0, 1)
                                      slices:NSMakeRange(0, 1)
                                     swizzle:make(MTLTextureSwizzleBlue, MTLTextureSwizzleGreen, MTLTextureSwizzleRed, MTLTextureSwizzleAlpha)]
        autorelease];
  };
  id<MTLTexture> back = swapped(swapped(whole));
  CHECK_SWIZZLE([back swizzle], Red, Green, Blue, Alpha);
  CHECK_EQUAL([back usage], MTLTextureUsageShaderRead);
  [encoder setTexture:back atIndex:0];
  CHECK_RAISES([encoder dispatchThreads:one threadsPerThreadgroup:one], @"dispatchThreads:", @"MTLTextureUsageShaderWrite");
  CHECK_RAISES([back newTextureViewWithPixelFormat:MTLPixelFormatR32Uint], @"newTextureView", @"PixelFormatView");
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  const float *components = (const float *)[out contents];
  CHECK(components[0] == 128 / 255.0f && components[1] == 1 && components[2] == 0 && components[3] == 0);
  // What there cannot be.
  MTLTextureDescriptor *wrong = flat(MTLPixelFormatRGBA8Unorm, 1, 1);
  [wrong setSwizzle:make(MTLTextureSwizzleRed, MTLTextureSwizzleRed, MTLTextureSwizzleRed, MTLTextureSwizzleOne)];
  CHECK_RAISES(texture(wrong), @"newTextureWithDescriptor:", @"MTLTextureUsageShaderWrite");
  [wrong setUsage:MTLTextureUsageShaderRead | MTLTextureUsageRenderTarget];
  CHECK_RAISES(texture(wrong), @"newTextureWithDescriptor:", @"swizzling is not compatible with MTLTextureUsageRenderTarget");
  [wrong setUsage:MTLTextureUsageShaderRead];
  CHECK_SWIZZLE([texture(wrong) swizzle], Red, Red, Red, One);
  [wrong setSwizzle:make((MTLTextureSwizzle)6, MTLTextureSwizzleRed, MTLTextureSwizzleRed, MTLTextureSwizzleOne)];
  CHECK_RAISES(texture(wrong), @"newTextureWithDescriptor:", @"MTLTextureSwizzle");
  CHECK_RAISES([whole newTextureViewWithPixelFormat:MTLPixelFormatRGBA8Unorm
                                        textureType:MTLTextureType2D
                                             levels:NSMakeRange(0, 1)
                                             slices:NSMakeRange(0, 1)
                                            swizzle:[wrong swizzle]],
               @"newTextureViewWithPixelFormat:", @"MTLTextureSwizzle");
  wrong = flat(MTLPixelFormatRGBA8Unorm, 1, 1);
  [wrong setCompressionType:MTLTextureCompressionTypeLossy];
  CHECK_RAISES(texture(wrong), @"newTextureWithDescriptor:", @"MTLGPUFamilyApple8");
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase texture_cases[] = {
    CASE(a_descriptor_has_apples_defaults),
    CASE(a_texture_tells_of_itself),
    CASE(regions_are_copied_exactly),
    CASE(wrong_descriptors_are_refused),
    CASE(cubes_depths_and_samples),
    CASE(a_buffers_texture_is_its_bytes),
    CASE(a_view_shares_the_texels),
    CASE(a_view_is_made_of_a_descriptor),
    CASE(a_swizzle_is_for_reading),
    CASE(a_shared_texture_is_found_by_its_handle),
    CASE(wrong_samplers_are_refused),
    CASE(a_sampler_has_a_bias_and_a_reduction),
    CASE(samplers_are_kept_to_levels_when_they_are_set),
    CASE(a_dispatch_names_what_is_wrong_with_its_textures),
    CASE(a_command_buffer_keeps_its_textures),
    CASE(copies_move_texels),
    CASE(reflection_lists_textures),
    {nullptr, nullptr},
};
