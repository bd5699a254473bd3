// Operations of tensors, to be compiled. https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraph
#pragma once
#import <MetalPerformanceShadersGraph/MPSGraphExecutable.h>
#import <MetalPerformanceShadersGraph/MPSGraphOperations.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSGraphOperation;
typedef NSDictionary<MPSGraphTensor *, MPSGraphShapedType *> MPSGraphTensorShapedTypeDictionary;

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MPSGraph : MPSGraphObject {
  MPSGraphOptions _options;
  NSData *_steps;  // mutable
  NSUInteger _tensors;
}
@property(readwrite, atomic) MPSGraphOptions options;
- (MPSGraphExecutable *)compileWithDevice:(MPSGraphDevice *_Nullable)device feeds:(MPSGraphTensorShapedTypeDictionary *)feeds
    targetTensors:(NSArray<MPSGraphTensor *> *)targetTensors targetOperations:(NSArray<MPSGraphOperation *> *_Nullable)targetOperations
    compilationDescriptor:(MPSGraphCompilationDescriptor *_Nullable)compilationDescriptor API_AVAILABLE(macos(12.0));
- (MPSGraphTensor *)placeholderWithShape:(MPSShape *_Nullable)shape dataType:(MPSDataType)dataType name:(NSString *_Nullable)name;
- (MPSGraphTensor *)castTensor:(MPSGraphTensor *)tensor toType:(MPSDataType)type name:(NSString *_Nullable)name API_AVAILABLE(macos(12.0));
- (MPSGraphTensor *)additionWithPrimaryTensor:(MPSGraphTensor *)primaryTensor secondaryTensor:(MPSGraphTensor *)secondaryTensor name:(NSString *_Nullable)name;
- (MPSGraphTensor *)convolution2DWithSourceTensor:(MPSGraphTensor *)source weightsTensor:(MPSGraphTensor *)weights descriptor:(MPSGraphConvolution2DOpDescriptor *)descriptor name:(NSString *_Nullable)name;
- (MPSGraphTensor *)maxPooling2DWithSourceTensor:(MPSGraphTensor *)source descriptor:(MPSGraphPooling2DOpDescriptor *)descriptor name:(NSString *_Nullable)name;
- (MPSGraphTensor *)avgPooling2DWithSourceTensor:(MPSGraphTensor *)source descriptor:(MPSGraphPooling2DOpDescriptor *)descriptor name:(NSString *_Nullable)name;
- (MPSGraphTensor *)meanOfTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *)axes name:(NSString *_Nullable)name;
- (MPSGraphTensor *)varianceOfTensor:(MPSGraphTensor *)tensor meanTensor:(MPSGraphTensor *)meanTensor axes:(NSArray<NSNumber *> *)axes name:(NSString *_Nullable)name;
- (MPSGraphTensor *)normalizationWithTensor:(MPSGraphTensor *)tensor meanTensor:(MPSGraphTensor *)mean varianceTensor:(MPSGraphTensor *)variance
    gammaTensor:(MPSGraphTensor *_Nullable)gamma betaTensor:(MPSGraphTensor *_Nullable)beta epsilon:(float)epsilon name:(NSString *_Nullable)name;
- (MPSGraphTensor *)reductionSumWithTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *_Nullable)axes name:(NSString *_Nullable)name;
- (MPSGraphTensor *)reductionMaximumPropagateNaNWithTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *_Nullable)axes name:(NSString *_Nullable)name;
- (MPSGraphTensor *)reductionMinimumPropagateNaNWithTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *_Nullable)axes name:(NSString *_Nullable)name;
@end
NS_ASSUME_NONNULL_END
