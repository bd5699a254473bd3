// Products of matrices, and of matrices and vectors. https://developer.apple.com/documentation/metalperformanceshaders/mpsmatrixmultiplication
#pragma once
#import <MetalPerformanceShaders/MPSMatrix.h>
#import <MetalPerformanceShaders/MPSMatrixTypes.h>

NS_ASSUME_NONNULL_BEGIN

// C = alpha op(A) op(B) + beta C
MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MPSMatrixMultiplication : MPSKernel {
  BOOL _transposeLeft, _transposeRight;
  NSUInteger _resultRows, _resultColumns, _interiorColumns;
  double _alpha, _beta;
  MTLOrigin _resultMatrixOrigin, _leftMatrixOrigin, _rightMatrixOrigin;
  NSUInteger _batchStart, _batchSize;
}
@property(readwrite, nonatomic) MTLOrigin resultMatrixOrigin;
@property(readwrite, nonatomic) MTLOrigin leftMatrixOrigin;
@property(readwrite, nonatomic) MTLOrigin rightMatrixOrigin;
@property(readwrite, nonatomic) NSUInteger batchStart;
// NSUIntegerMax: all that the result has.
@property(readwrite, nonatomic) NSUInteger batchSize;
- (instancetype)initWithDevice:(id<MTLDevice>)device
                 transposeLeft:(BOOL)transposeLeft
                transposeRight:(BOOL)transposeRight
                    resultRows:(NSUInteger)resultRows
                 resultColumns:(NSUInteger)resultColumns
               interiorColumns:(NSUInteger)interiorColumns
                         alpha:(double)alpha
                          beta:(double)beta;
- (instancetype)initWithDevice:(id<MTLDevice>)device
                    resultRows:(NSUInteger)resultRows
                 resultColumns:(NSUInteger)resultColumns
               interiorColumns:(NSUInteger)interiorColumns;
- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                   leftMatrix:(MPSMatrix *)leftMatrix
                  rightMatrix:(MPSMatrix *)rightMatrix
                 resultMatrix:(MPSMatrix *)resultMatrix;
@end

// y = alpha op(A) x + beta y
MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MPSMatrixVectorMultiplication : MPSMatrixBinaryKernel {
  BOOL _transpose;
  NSUInteger _rows, _columns;
  double _alpha, _beta;
}
- (instancetype)initWithDevice:(id<MTLDevice>)device
                     transpose:(BOOL)transpose
                          rows:(NSUInteger)rows
                       columns:(NSUInteger)columns
                         alpha:(double)alpha
                          beta:(double)beta;
- (instancetype)initWithDevice:(id<MTLDevice>)device rows:(NSUInteger)rows columns:(NSUInteger)columns;
- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)inputMatrix
                  inputVector:(MPSVector *)inputVector
                 resultVector:(MPSVector *)resultVector;
@end

NS_ASSUME_NONNULL_END
