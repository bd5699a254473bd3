// Matrices and vectors in buffers: views, nothing is copied. https://developer.apple.com/documentation/metalperformanceshaders/mpsmatrix
#pragma once
#import <MetalPerformanceShaders/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MPSMatrixDescriptor : NSObject {
  NSUInteger _rows, _columns, _matrices, _rowBytes, _matrixBytes;
  MPSDataType _dataType;
}
@property(readwrite, nonatomic) NSUInteger rows;
@property(readwrite, nonatomic) NSUInteger columns;
@property(readonly, nonatomic) NSUInteger matrices;
@property(readwrite, nonatomic) MPSDataType dataType;
@property(readwrite, nonatomic) NSUInteger rowBytes;
@property(readonly, nonatomic) NSUInteger matrixBytes;
+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                rowBytes:(NSUInteger)rowBytes
                                dataType:(MPSDataType)dataType;
+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                matrices:(NSUInteger)matrices
                                rowBytes:(NSUInteger)rowBytes
                             matrixBytes:(NSUInteger)matrixBytes
                                dataType:(MPSDataType)dataType;
+ (size_t)rowBytesForColumns:(NSUInteger)columns dataType:(MPSDataType)dataType;
@end

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MPSVectorDescriptor : NSObject {
  NSUInteger _length, _vectors, _vectorBytes;
  MPSDataType _dataType;
}
@property(readwrite, nonatomic) NSUInteger length;
@property(readonly, nonatomic) NSUInteger vectors;
@property(readwrite, nonatomic) MPSDataType dataType;
@property(readonly, nonatomic) NSUInteger vectorBytes;
+ (instancetype)vectorDescriptorWithLength:(NSUInteger)length dataType:(MPSDataType)dataType;
+ (instancetype)vectorDescriptorWithLength:(NSUInteger)length
                                   vectors:(NSUInteger)vectors
                               vectorBytes:(NSUInteger)vectorBytes
                                  dataType:(MPSDataType)dataType;
+ (size_t)vectorBytesForLength:(NSUInteger)length dataType:(MPSDataType)dataType;
@end

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MPSMatrix : NSObject {
  id<MTLBuffer> _data;
  NSUInteger _rows, _columns, _matrices, _rowBytes, _matrixBytes, _offset;
  MPSDataType _dataType;
}
@property(readonly, retain, nonatomic) id<MTLDevice> device;
@property(readonly, nonatomic) NSUInteger rows;
@property(readonly, nonatomic) NSUInteger columns;
@property(readonly, nonatomic) NSUInteger matrices;
@property(readonly, nonatomic) MPSDataType dataType;
@property(readonly, nonatomic) NSUInteger rowBytes;
@property(readonly, nonatomic) NSUInteger matrixBytes;
@property(readonly, nonatomic) NSUInteger offset API_AVAILABLE(macos(10.15));
@property(readonly, nonatomic) id<MTLBuffer> data;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer descriptor:(MPSMatrixDescriptor *)descriptor;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSMatrixDescriptor *)descriptor API_AVAILABLE(macos(10.15));
@end

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MPSVector : NSObject {
  id<MTLBuffer> _data;
  NSUInteger _length, _vectors, _vectorBytes, _offset;
  MPSDataType _dataType;
}
@property(readonly, retain, nonatomic) id<MTLDevice> device;
@property(readonly, nonatomic) NSUInteger length;
@property(readonly, nonatomic) NSUInteger vectors;
@property(readonly, nonatomic) MPSDataType dataType;
@property(readonly, nonatomic) NSUInteger vectorBytes;
@property(readonly, nonatomic) NSUInteger offset API_AVAILABLE(macos(10.15));
@property(readonly, nonatomic) id<MTLBuffer> data;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer descriptor:(MPSVectorDescriptor *)descriptor;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSVectorDescriptor *)descriptor API_AVAILABLE(macos(10.15));
@end

NS_ASSUME_NONNULL_END
