// Textures: texels of one to three dimensions, in arrays and mipmap levels.
// https://developer.apple.com/documentation/metal/mtltexture
#pragma once
#import <Metal/MTLPixelFormat.h>
#import <Metal/MTLResource.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBuffer;

typedef NS_ENUM(NSUInteger, MTLTextureType) {
  MTLTextureType1D = 0,
  MTLTextureType1DArray = 1,
  MTLTextureType2D = 2,
  MTLTextureType2DArray = 3,
  MTLTextureType2DMultisample = 4,
  MTLTextureTypeCube = 5,
  MTLTextureTypeCubeArray = 6,
  MTLTextureType3D = 7,
  MTLTextureType2DMultisampleArray = 8,
  MTLTextureTypeTextureBuffer = 9,
} API_AVAILABLE(macos(10.11));

typedef NS_OPTIONS(NSUInteger, MTLTextureUsage) {
  MTLTextureUsageUnknown = 0x0000,
  MTLTextureUsageShaderRead = 0x0001,
  MTLTextureUsageShaderWrite = 0x0002,
  MTLTextureUsageRenderTarget = 0x0004,
  MTLTextureUsagePixelFormatView = 0x0010,
  MTLTextureUsageShaderAtomic API_AVAILABLE(macos(14.0)) = 0x0020,
} API_AVAILABLE(macos(10.11));

typedef NS_ENUM(uint8_t, MTLTextureSwizzle) {
  MTLTextureSwizzleZero = 0,
  MTLTextureSwizzleOne = 1,
  MTLTextureSwizzleRed = 2,
  MTLTextureSwizzleGreen = 3,
  MTLTextureSwizzleBlue = 4,
  MTLTextureSwizzleAlpha = 5,
} API_AVAILABLE(macos(10.15));

typedef struct {
  MTLTextureSwizzle red;
  MTLTextureSwizzle green;
  MTLTextureSwizzle blue;
  MTLTextureSwizzle alpha;
} MTLTextureSwizzleChannels API_AVAILABLE(macos(10.15));

MTL_INLINE API_AVAILABLE(macos(10.15)) MTLTextureSwizzleChannels
MTLTextureSwizzleChannelsMake(MTLTextureSwizzle r, MTLTextureSwizzle g, MTLTextureSwizzle b, MTLTextureSwizzle a) {
  MTLTextureSwizzleChannels swizzle;
  swizzle.red = r;
  swizzle.green = g;
  swizzle.blue = b;
  swizzle.alpha = a;
  return swizzle;
}
#define MTLTextureSwizzleChannelsDefault \
  (MTLTextureSwizzleChannelsMake(MTLTextureSwizzleRed, MTLTextureSwizzleGreen, MTLTextureSwizzleBlue, MTLTextureSwizzleAlpha))

typedef NS_ENUM(NSInteger, MTLTextureCompressionType) {
  MTLTextureCompressionTypeLossless = 0,
  MTLTextureCompressionTypeLossy = 1,  // for GPUs of the family Apple8 on: refused here
} API_AVAILABLE(macos(12.5));

// Which sparse textures there are: none here.
typedef NS_ENUM(NSInteger, MTLTextureSparseTier) {
  MTLTextureSparseTierNone = 0,
  MTLTextureSparseTier1 = 1,
  MTLTextureSparseTier2 = 2,
} API_AVAILABLE(macos(26.0));

MTL_EXPORT API_AVAILABLE(macos(10.11))
@interface MTLTextureDescriptor : NSObject <NSCopying> {
 @private
  MTLTextureType _textureType;
  MTLPixelFormat _pixelFormat;
  NSUInteger _width, _height, _depth, _mipmapLevelCount, _sampleCount, _arrayLength;
  MTLResourceOptions _resourceOptions;
  MTLTextureUsage _usage;
  MTLTextureCompressionType _compressionType;
  MTLTextureSwizzleChannels _swizzle;
  BOOL _allowGPUOptimizedContents;
}
+ (MTLTextureDescriptor *)texture2DDescriptorWithPixelFormat:(MTLPixelFormat)pixelFormat
                                                       width:(NSUInteger)width
                                                      height:(NSUInteger)height
                                                   mipmapped:(BOOL)mipmapped;
+ (MTLTextureDescriptor *)textureCubeDescriptorWithPixelFormat:(MTLPixelFormat)pixelFormat
                                                          size:(NSUInteger)size
                                                     mipmapped:(BOOL)mipmapped;
+ (MTLTextureDescriptor *)textureBufferDescriptorWithPixelFormat:(MTLPixelFormat)pixelFormat
                                                           width:(NSUInteger)width
                                                 resourceOptions:(MTLResourceOptions)resourceOptions
                                                           usage:(MTLTextureUsage)usage API_AVAILABLE(macos(10.14));
@property(readwrite, nonatomic) MTLTextureType textureType;
@property(readwrite, nonatomic) MTLPixelFormat pixelFormat;
@property(readwrite, nonatomic) NSUInteger width;
@property(readwrite, nonatomic) NSUInteger height;
@property(readwrite, nonatomic) NSUInteger depth;
@property(readwrite, nonatomic) NSUInteger mipmapLevelCount;
@property(readwrite, nonatomic) NSUInteger sampleCount;
@property(readwrite, nonatomic) NSUInteger arrayLength;
@property(readwrite, nonatomic) MTLResourceOptions resourceOptions;
@property(readwrite, nonatomic) MTLCPUCacheMode cpuCacheMode API_AVAILABLE(macos(10.11));
@property(readwrite, nonatomic) MTLStorageMode storageMode API_AVAILABLE(macos(10.11));
@property(readwrite, nonatomic) MTLHazardTrackingMode hazardTrackingMode API_AVAILABLE(macos(10.15));
@property(readwrite, nonatomic) MTLTextureUsage usage API_AVAILABLE(macos(10.11));
// Says something of speed on Apple's GPUs, and nothing here; YES at first.
@property(readwrite, nonatomic) BOOL allowGPUOptimizedContents API_AVAILABLE(macos(10.14));
@property(readwrite, nonatomic) MTLTextureCompressionType compressionType API_AVAILABLE(macos(12.5));
// Of what kernels read and sample, with MTLTextureUsageShaderRead alone.
@property(readwrite, nonatomic) MTLTextureSwizzleChannels swizzle API_AVAILABLE(macos(10.15));
@end

// What a view is to be; all of it is asked for, the swizzle alone is that of a whole texture at first.
MTL_EXPORT API_AVAILABLE(macos(26.0))
@interface MTLTextureViewDescriptor : NSObject <NSCopying> {
 @private
  MTLPixelFormat _pixelFormat;
  MTLTextureType _textureType;
  NSRange _levelRange, _sliceRange;
  MTLTextureSwizzleChannels _swizzle;
}
@property(readwrite, nonatomic) MTLPixelFormat pixelFormat;
@property(readwrite, nonatomic) MTLTextureType textureType;
@property(readwrite, nonatomic) NSRange levelRange;
@property(readwrite, nonatomic) NSRange sliceRange;
@property(readwrite, nonatomic) MTLTextureSwizzleChannels swizzle;
@end

@class MTLSharedTextureHandle;

API_AVAILABLE(macos(10.11))
@protocol MTLTexture <MTLResource>
// Whose memory it is, through all views: a texture, or a linear texture's buffer; nil for one of its own.
@property(nullable, readonly) id<MTLResource> rootResource
    API_DEPRECATED("Use parentTexture or buffer instead", macos(10.11, 10.12));
@property(nullable, readonly) id<MTLTexture> parentTexture API_AVAILABLE(macos(10.11));
@property(readonly) NSUInteger parentRelativeLevel API_AVAILABLE(macos(10.11));
@property(readonly) NSUInteger parentRelativeSlice API_AVAILABLE(macos(10.11));
@property(nullable, readonly) id<MTLBuffer> buffer API_AVAILABLE(macos(10.12));
@property(readonly) NSUInteger bufferOffset API_AVAILABLE(macos(10.12));
@property(readonly) NSUInteger bufferBytesPerRow API_AVAILABLE(macos(10.12));
@property(readonly) MTLTextureType textureType;
@property(readonly) MTLPixelFormat pixelFormat;
@property(readonly) NSUInteger width;
@property(readonly) NSUInteger height;
@property(readonly) NSUInteger depth;
@property(readonly) NSUInteger mipmapLevelCount;
@property(readonly) NSUInteger sampleCount;
@property(readonly) NSUInteger arrayLength;
@property(readonly) MTLTextureUsage usage;
@property(readonly, getter=isShareable) BOOL shareable API_AVAILABLE(macos(10.14));
@property(readonly, getter=isFramebufferOnly) BOOL framebufferOnly;
// As the descriptor had it.
@property(readonly) BOOL allowGPUOptimizedContents API_AVAILABLE(macos(10.14));
// NO, and so no levels in a tail: the first one there is behind the last level, and the tail of no bytes.
@optional
@property(readonly) BOOL isSparse API_AVAILABLE(macos(11.0));
@property(readonly) NSUInteger firstMipmapInTail API_AVAILABLE(macos(11.0));
@property(readonly) NSUInteger tailSizeInBytes API_AVAILABLE(macos(11.0));
@required
@property(readonly) MTLTextureSparseTier sparseTextureTier API_AVAILABLE(macos(26.0));
@property(readonly) MTLTextureCompressionType compressionType API_AVAILABLE(macos(12.5));
@property(readonly, nonatomic) MTLTextureSwizzleChannels swizzle API_AVAILABLE(macos(10.15));
@property(readonly) MTLResourceID gpuResourceID API_AVAILABLE(macos(13.0));
- (void)getBytes:(void *)pixelBytes
     bytesPerRow:(NSUInteger)bytesPerRow
   bytesPerImage:(NSUInteger)bytesPerImage
      fromRegion:(MTLRegion)region
     mipmapLevel:(NSUInteger)level
           slice:(NSUInteger)slice;
- (void)replaceRegion:(MTLRegion)region
          mipmapLevel:(NSUInteger)level
                slice:(NSUInteger)slice
            withBytes:(const void *)pixelBytes
          bytesPerRow:(NSUInteger)bytesPerRow
        bytesPerImage:(NSUInteger)bytesPerImage;
- (void)getBytes:(void *)pixelBytes
     bytesPerRow:(NSUInteger)bytesPerRow
      fromRegion:(MTLRegion)region
     mipmapLevel:(NSUInteger)level;
- (void)replaceRegion:(MTLRegion)region
          mipmapLevel:(NSUInteger)level
            withBytes:(const void *)pixelBytes
          bytesPerRow:(NSUInteger)bytesPerRow;
- (nullable MTLSharedTextureHandle *)newSharedTextureHandle API_AVAILABLE(macos(10.14));
// Of private storage, for a device of the same peer group, which can only copy from it.
- (nullable id<MTLTexture>)newRemoteTextureViewForDevice:(id<MTLDevice>)device API_AVAILABLE(macos(10.15));
@property(nullable, readonly) id<MTLTexture> remoteStorageTexture API_AVAILABLE(macos(10.15));
- (nullable id<MTLTexture>)newTextureViewWithPixelFormat:(MTLPixelFormat)pixelFormat;
- (nullable id<MTLTexture>)newTextureViewWithPixelFormat:(MTLPixelFormat)pixelFormat
                                             textureType:(MTLTextureType)textureType
                                                  levels:(NSRange)levelRange
                                                  slices:(NSRange)sliceRange API_AVAILABLE(macos(10.11));
// The swizzle is of what this texture's own gives. Such a view can be read, not written.
- (nullable id<MTLTexture>)newTextureViewWithPixelFormat:(MTLPixelFormat)pixelFormat
                                             textureType:(MTLTextureType)textureType
                                                  levels:(NSRange)levelRange
                                                  slices:(NSRange)sliceRange
                                                 swizzle:(MTLTextureSwizzleChannels)swizzle API_AVAILABLE(macos(10.15));
- (nullable id<MTLTexture>)newTextureViewWithDescriptor:(MTLTextureViewDescriptor *)descriptor API_AVAILABLE(macos(26.0));
@end

// Stands for a shared texture where another texture is made of it, in this process.
MTL_EXPORT API_AVAILABLE(macos(10.14))
@interface MTLSharedTextureHandle : NSObject {
 @private
  id<MTLTexture> _texture;
}
@property(readonly) id<MTLDevice> device;
@property(nullable, readonly) NSString *label;
@end

NS_ASSUME_NONNULL_END
