// Samplers: how coordinates become texels. https://developer.apple.com/documentation/metal/mtlsamplerdescriptor
#pragma once
#import <Metal/MTLDefines.h>
#import <Metal/MTLDepthStencil.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

typedef NS_ENUM(NSUInteger, MTLSamplerMinMagFilter) {
  MTLSamplerMinMagFilterNearest = 0,
  MTLSamplerMinMagFilterLinear = 1,
} API_AVAILABLE(macos(10.11));

typedef NS_ENUM(NSUInteger, MTLSamplerMipFilter) {
  MTLSamplerMipFilterNotMipmapped = 0,
  MTLSamplerMipFilterNearest = 1,
  MTLSamplerMipFilterLinear = 2,
} API_AVAILABLE(macos(10.11));

typedef NS_ENUM(NSUInteger, MTLSamplerAddressMode) {
  MTLSamplerAddressModeClampToEdge = 0,
  MTLSamplerAddressModeMirrorClampToEdge API_AVAILABLE(macos(10.11)) = 1,
  MTLSamplerAddressModeRepeat = 2,
  MTLSamplerAddressModeMirrorRepeat = 3,
  MTLSamplerAddressModeClampToZero = 4,
  MTLSamplerAddressModeClampToBorderColor API_AVAILABLE(macos(10.12)) = 5,
} API_AVAILABLE(macos(10.11));

typedef NS_ENUM(NSUInteger, MTLSamplerBorderColor) {
  MTLSamplerBorderColorTransparentBlack = 0,
  MTLSamplerBorderColorOpaqueBlack = 1,
  MTLSamplerBorderColorOpaqueWhite = 2,
} API_AVAILABLE(macos(10.12));

// What becomes of the texels that a sample is made of: their weighted mean, or of each component the least or the greatest.
typedef NS_ENUM(NSUInteger, MTLSamplerReductionMode) {
  MTLSamplerReductionModeWeightedAverage = 0,
  MTLSamplerReductionModeMinimum = 1,
  MTLSamplerReductionModeMaximum = 2,
} API_AVAILABLE(macos(26.0));

MTL_EXPORT API_AVAILABLE(macos(10.11))
@interface MTLSamplerDescriptor : NSObject <NSCopying> {
 @private
  MTLSamplerMinMagFilter _minFilter, _magFilter;
  MTLSamplerMipFilter _mipFilter;
  NSUInteger _maxAnisotropy;
  MTLSamplerAddressMode _sAddressMode, _tAddressMode, _rAddressMode;
  MTLSamplerBorderColor _borderColor;
  BOOL _normalizedCoordinates;
  float _lodMinClamp, _lodMaxClamp;
  MTLCompareFunction _compareFunction;
  BOOL _lodAverage, _supportArgumentBuffers;
  float _lodBias;
  NSUInteger _reductionMode;  // MTLSamplerReductionMode
  NSString *_label;
}
@property(nonatomic) MTLSamplerMinMagFilter minFilter;
@property(nonatomic) MTLSamplerMinMagFilter magFilter;
@property(nonatomic) MTLSamplerMipFilter mipFilter;
@property(nonatomic) NSUInteger maxAnisotropy;
@property(nonatomic) MTLSamplerAddressMode sAddressMode;
@property(nonatomic) MTLSamplerAddressMode tAddressMode;
@property(nonatomic) MTLSamplerAddressMode rAddressMode;
@property(nonatomic) MTLSamplerBorderColor borderColor API_AVAILABLE(macos(10.12));
@property(nonatomic) BOOL normalizedCoordinates;
@property(nonatomic) float lodMinClamp;
@property(nonatomic) float lodMaxClamp;
@property(nonatomic) BOOL lodAverage API_AVAILABLE(macos(11.0));  // a hint, which changes nothing here
// Added to every level of detail, in 1/64 of a level.
@property(nonatomic) float lodBias API_AVAILABLE(macos(26.0));
// Looked at where minFilter, magFilter and mipFilter are linear.
@property(nonatomic) MTLSamplerReductionMode reductionMode API_AVAILABLE(macos(26.0));
@property(nonatomic) MTLCompareFunction compareFunction API_AVAILABLE(macos(10.11));
@property(nonatomic) BOOL supportArgumentBuffers API_AVAILABLE(macos(10.13));
@property(nullable, copy, nonatomic) NSString *label;
@end

API_AVAILABLE(macos(10.11))
@protocol MTLSamplerState <NSObject>
@property(nullable, readonly) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLResourceID gpuResourceID API_AVAILABLE(macos(13.0));
@end

NS_ASSUME_NONNULL_END
