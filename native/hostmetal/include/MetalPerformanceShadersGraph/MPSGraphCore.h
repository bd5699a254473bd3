// Types, devices and layouts of graphs. https://developer.apple.com/documentation/metalperformanceshadersgraph
#pragma once
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

NS_ASSUME_NONNULL_BEGIN

// Results of hostmetal are in memory that the program sees: none of these changes anything.
typedef NS_ENUM(NSUInteger, MPSGraphOptions) {
  MPSGraphOptionsNone = 0,
  MPSGraphOptionsSynchronizeResults = 1,
  MPSGraphOptionsVerbose = 2,
  MPSGraphOptionsDefault = MPSGraphOptionsSynchronizeResults,
} API_AVAILABLE(macos(11.0));

typedef NS_ENUM(NSUInteger, MPSGraphOptimization) {
  MPSGraphOptimizationLevel0 = 0,
  MPSGraphOptimizationLevel1 = 1,
} API_AVAILABLE(macos(12.3));

typedef NS_ENUM(NSUInteger, MPSGraphTensorNamedDataLayout) {
  MPSGraphTensorNamedDataLayoutNCHW = 0,
  MPSGraphTensorNamedDataLayoutNHWC = 1,
  MPSGraphTensorNamedDataLayoutOIHW = 2,
  MPSGraphTensorNamedDataLayoutHWIO = 3,
} API_AVAILABLE(macos(11.0));

typedef NS_ENUM(NSUInteger, MPSGraphPaddingStyle) {
  MPSGraphPaddingStyleExplicit = 0,
  MPSGraphPaddingStyleTF_VALID = 1,
  MPSGraphPaddingStyleTF_SAME = 2,
  MPSGraphPaddingStyleExplicitOffset = 3,
  MPSGraphPaddingStyleONNX_SAME_LOWER = 4,
} API_AVAILABLE(macos(11.0));

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MPSGraphObject : NSObject
@end

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MPSGraphType : MPSGraphObject <NSCopying>
@end

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MPSGraphShapedType : MPSGraphType {
  MPSShape *_shape;
  MPSDataType _dataType;
}
@property(readwrite, atomic, copy, nullable) MPSShape *shape;
@property(readwrite, atomic) MPSDataType dataType;
- (instancetype)initWithShape:(MPSShape *_Nullable)shape dataType:(MPSDataType)dataType;
@end

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MPSGraphDevice : MPSGraphObject {
  id<MTLDevice> _metalDevice;
}
@property(readonly, nonatomic, nullable) id<MTLDevice> metalDevice;
+ (instancetype)deviceWithMTLDevice:(id<MTLDevice>)metalDevice;
@end

NS_ASSUME_NONNULL_END
