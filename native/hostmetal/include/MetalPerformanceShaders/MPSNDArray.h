// Tensors in buffers. https://developer.apple.com/documentation/metalperformanceshaders/mpsndarray
#pragma once
#import <MetalPerformanceShaders/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT API_AVAILABLE(macos(10.15))
@interface MPSNDArrayDescriptor : NSObject {
  MPSDataType _dataType;
  BOOL _preferPackedRows;
  MPSShape *_shape;
}
@property(readwrite, nonatomic) MPSDataType dataType;
@property(readwrite, nonatomic) BOOL preferPackedRows API_AVAILABLE(macos(15.0));
// The slowest dimension first.
+ (instancetype)descriptorWithDataType:(MPSDataType)dataType shape:(NSArray<NSNumber *> *)shape;
// Dimension 0 is the fastest.
- (NSUInteger)lengthOfDimension:(NSUInteger)dimensionIndex;
- (NSArray<NSNumber *> *)getShape API_AVAILABLE(macos(15.0));
@end

MTL_EXPORT API_AVAILABLE(macos(10.15))
@interface MPSNDArray : NSObject {
  id<MTLBuffer> _buffer;
  NSUInteger _offset;
  MPSDataType _dataType;
  MPSShape *_shape;
}
@property(readonly, nonatomic) MPSDataType dataType;
@property(readonly, nonatomic) NSUInteger numberOfDimensions;
@property(readonly, retain, nonatomic) id<MTLDevice> device;
- (NSUInteger)lengthOfDimension:(NSUInteger)dimensionIndex;
// The buffer's memory, without a copy.
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSNDArrayDescriptor *)descriptor API_AVAILABLE(macos(15.0));
- (nullable id<MTLBuffer>)userBuffer API_AVAILABLE(macos(15.0));
@end

NS_ASSUME_NONNULL_END
