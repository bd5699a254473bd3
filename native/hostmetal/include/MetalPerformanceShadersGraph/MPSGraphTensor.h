// Tensors of a graph, and what they are when it runs. https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphtensor
#pragma once
#import <MetalPerformanceShadersGraph/MPSGraphCore.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSGraph;

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MPSGraphTensor : MPSGraphObject <NSCopying> {
  MPSGraph *_graph;
  NSUInteger _number;
  MPSShape *_shape;
  MPSDataType _dataType;
}
@property(readonly, copy, nonatomic, nullable) MPSShape *shape;
@property(readonly, nonatomic) MPSDataType dataType;
@end

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MPSGraphTensorData : MPSGraphObject {
  MPSNDArray *_array;
}
@property(readonly, copy, nonatomic) MPSShape *shape;
@property(readonly, nonatomic) MPSDataType dataType;
- (instancetype)initWithMPSNDArray:(MPSNDArray *)ndarray;
@end

NS_ASSUME_NONNULL_END
