// What convolutions and pools say. https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphconvolution2dopdescriptor
#pragma once
#import <MetalPerformanceShadersGraph/MPSGraphCore.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MPSGraphConvolution2DOpDescriptor : MPSGraphObject <NSCopying> {
  NSUInteger _groups, _strides[2], _dilations[2], _padding[4];
}
@property(readwrite, nonatomic) NSUInteger groups;
+ (nullable instancetype)descriptorWithStrideInX:(NSUInteger)strideInX
                                       strideInY:(NSUInteger)strideInY
                                 dilationRateInX:(NSUInteger)dilationRateInX
                                 dilationRateInY:(NSUInteger)dilationRateInY
                                          groups:(NSUInteger)groups
                                     paddingLeft:(NSUInteger)paddingLeft
                                    paddingRight:(NSUInteger)paddingRight
                                      paddingTop:(NSUInteger)paddingTop
                                   paddingBottom:(NSUInteger)paddingBottom
                                    paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                                      dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
                                   weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout;
@end

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MPSGraphPooling2DOpDescriptor : MPSGraphObject <NSCopying> {
  NSUInteger _window[2], _strides[2], _dilations[2], _padding[4];
  BOOL _includeZeroPadToAverage;
}
@property(readwrite, nonatomic) BOOL includeZeroPadToAverage API_AVAILABLE(macos(12.0));
+ (nullable instancetype)descriptorWithKernelWidth:(NSUInteger)kernelWidth
                                      kernelHeight:(NSUInteger)kernelHeight
                                         strideInX:(NSUInteger)strideInX
                                         strideInY:(NSUInteger)strideInY
                                   dilationRateInX:(NSUInteger)dilationRateInX
                                   dilationRateInY:(NSUInteger)dilationRateInY
                                       paddingLeft:(NSUInteger)paddingLeft
                                      paddingRight:(NSUInteger)paddingRight
                                        paddingTop:(NSUInteger)paddingTop
                                     paddingBottom:(NSUInteger)paddingBottom
                                      paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                                        dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout;
@end

NS_ASSUME_NONNULL_END
