// A compiled graph. https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphexecutable
#pragma once
#import <MetalPerformanceShadersGraph/MPSGraphTensor.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSGraphExecutableExecutionDescriptor;

MTL_EXPORT API_AVAILABLE(macos(12.0))
@interface MPSGraphCompilationDescriptor : MPSGraphObject <NSCopying> {
  MPSGraphOptimization _optimizationLevel;
  BOOL _waitForCompilationCompletion;
}
@property(readwrite, nonatomic) MPSGraphOptimization optimizationLevel API_AVAILABLE(macos(12.3));
@property(readwrite, nonatomic) BOOL waitForCompilationCompletion API_AVAILABLE(macos(13.0));
@end

MTL_EXPORT API_AVAILABLE(macos(12.0))
@interface MPSGraphExecutable : MPSGraphObject {
  MPSGraphOptions _options;
  id<MTLDevice> _device;
  NSArray<MPSGraphTensor *> *_feedTensors, *_targetTensors;
  NSData *_steps;
  NSUInteger _tensors;
}
@property(readwrite, atomic) MPSGraphOptions options;
// The order of inputs and results.
@property(readonly, atomic, nullable) NSArray<MPSGraphTensor *> *feedTensors;
@property(readonly, atomic, nullable) NSArray<MPSGraphTensor *> *targetTensors;
// May commit what the command buffer holds and go on in another.
- (NSArray<MPSGraphTensorData *> *)encodeToCommandBuffer:(MPSCommandBuffer *)commandBuffer
                                             inputsArray:(NSArray<MPSGraphTensorData *> *)inputsArray
                                            resultsArray:(NSArray<MPSGraphTensorData *> *_Nullable)resultsArray
                                     executionDescriptor:(MPSGraphExecutableExecutionDescriptor *_Nullable)executionDescriptor;
@end

NS_ASSUME_NONNULL_END
