// What kernels of one and of two matrices have. An origin's x is a row, its y a column.
// https://developer.apple.com/documentation/metalperformanceshaders/mpsmatrixbinarykernel
#pragma once
#import <MetalPerformanceShaders/MPSKernel.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MPSMatrixUnaryKernel : MPSKernel {
  MTLOrigin _sourceMatrixOrigin, _resultMatrixOrigin;
  NSUInteger _batchStart, _batchSize;
}
@property(readwrite, nonatomic) MTLOrigin sourceMatrixOrigin;
@property(readwrite, nonatomic) MTLOrigin resultMatrixOrigin;
@property(readwrite, nonatomic) NSUInteger batchStart;
@property(readwrite, nonatomic) NSUInteger batchSize;
@end

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MPSMatrixBinaryKernel : MPSKernel {
  MTLOrigin _primarySourceMatrixOrigin, _secondarySourceMatrixOrigin, _resultMatrixOrigin;
  NSUInteger _batchStart, _batchSize;
}
@property(readwrite, nonatomic) MTLOrigin primarySourceMatrixOrigin;
@property(readwrite, nonatomic) MTLOrigin secondarySourceMatrixOrigin;
@property(readwrite, nonatomic) MTLOrigin resultMatrixOrigin;
@property(readwrite, nonatomic) NSUInteger batchStart;
@property(readwrite, nonatomic) NSUInteger batchSize;
@end

NS_ASSUME_NONNULL_END
