// Softmax of each row. https://developer.apple.com/documentation/metalperformanceshaders/mpsmatrixsoftmax
#pragma once
#import <MetalPerformanceShaders/MPSMatrix.h>
#import <MetalPerformanceShaders/MPSMatrixTypes.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MPSMatrixSoftMax : MPSMatrixUnaryKernel {
  NSUInteger _sourceRows, _sourceColumns;
}
// NSUIntegerMax: all that the source has.
@property(readwrite, nonatomic) NSUInteger sourceRows;
@property(readwrite, nonatomic) NSUInteger sourceColumns;
- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)inputMatrix
                 resultMatrix:(MPSMatrix *)resultMatrix;
@end

NS_ASSUME_NONNULL_END
