// Descriptors, matrices and vectors of Metal Performance Shaders; whether a device has it.
#import "performance.h"

// Every device of hostmetal has them.
BOOL MPSSupportsMTLDevice(id<MTLDevice> device) {
  return [(id)device isKindOfClass:[HostMTLDevice class]];
}

namespace {
// The low bits are how many the number has.
NSUInteger elementBytes(MPSDataType dataType) {
  return (dataType & 0xffff) / 8;
}

// Rows that begin at multiples of 64 bytes, where the memory does: whole lines of the cache, and whole vectors.
NSUInteger lines(NSUInteger count, MPSDataType dataType) {
  const NSUInteger bytes = count * elementBytes(dataType);
  return bytes <= 64 ? bytes : (bytes + 63) / 64 * 64;
}
}  // namespace

@implementation MPSMatrixDescriptor
@synthesize rows = _rows, columns = _columns, matrices = _matrices, dataType = _dataType, rowBytes = _rowBytes;

+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                rowBytes:(NSUInteger)rowBytes
                                dataType:(MPSDataType)dataType {
  return [self matrixDescriptorWithRows:rows columns:columns matrices:1 rowBytes:rowBytes matrixBytes:0 dataType:dataType];
}

+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                matrices:(NSUInteger)matrices
                                rowBytes:(NSUInteger)rowBytes
                             matrixBytes:(NSUInteger)matrixBytes
                                dataType:(MPSDataType)dataType {
  MPSMatrixDescriptor *made = [[[self alloc] init] autorelease];
  made->_rows = rows;
  made->_columns = columns;
  made->_matrices = matrices;
  made->_rowBytes = rowBytes;
  made->_matrixBytes = matrixBytes;
  made->_dataType = dataType;
  return made;
}

+ (size_t)rowBytesForColumns:(NSUInteger)columns dataType:(MPSDataType)dataType {
  return lines(columns, dataType);
}

// Of one matrix that was described without: of its rows as they are now.
- (NSUInteger)matrixBytes {
  return _matrixBytes == 0 && _matrices == 1 ? _rows * _rowBytes : _matrixBytes;
}
@end

@implementation MPSVectorDescriptor
@synthesize length = _length, vectors = _vectors, dataType = _dataType;

+ (instancetype)vectorDescriptorWithLength:(NSUInteger)length dataType:(MPSDataType)dataType {
  return [self vectorDescriptorWithLength:length vectors:1 vectorBytes:0 dataType:dataType];
}

+ (instancetype)vectorDescriptorWithLength:(NSUInteger)length
                                   vectors:(NSUInteger)vectors
                               vectorBytes:(NSUInteger)vectorBytes
                                  dataType:(MPSDataType)dataType {
  MPSVectorDescriptor *made = [[[self alloc] init] autorelease];
  made->_length = length;
  made->_vectors = vectors;
  made->_vectorBytes = vectorBytes;
  made->_dataType = dataType;
  return made;
}

+ (size_t)vectorBytesForLength:(NSUInteger)length dataType:(MPSDataType)dataType {
  return lines(length, dataType);
}

- (NSUInteger)vectorBytes {
  return _vectorBytes == 0 && _vectors == 1 ? _length * elementBytes(_dataType) : _vectorBytes;
}
@end

@implementation MPSMatrix
@synthesize rows = _rows, columns = _columns, matrices = _matrices, dataType = _dataType, rowBytes = _rowBytes,
            matrixBytes = _matrixBytes, offset = _offset, data = _data;

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer descriptor:(MPSMatrixDescriptor *)descriptor {
  return [self initWithBuffer:buffer offset:0 descriptor:descriptor];
}

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset descriptor:(MPSMatrixDescriptor *)descriptor {
  if (!(self = [super init])) return nil;
  @try {
    HM_REQUIRE(object_getClass(buffer) == [HostMTLBuffer class], "the buffer must be one of a device");
    HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
    _data = [buffer retain];
    _offset = offset;
    _rows = [descriptor rows];
    _columns = [descriptor columns];
    _matrices = [descriptor matrices];
    _rowBytes = [descriptor rowBytes];
    _matrixBytes = [descriptor matrixBytes];
    _dataType = [descriptor dataType];
    const HMMatrix matrix = [self engineMatrix];
    HM_CHECK(hm_matrix_check(&matrix));
  } @catch (NSException *exception) {
    [self release];
    @throw;
  }
  return self;
}

- (id<MTLDevice>)device {
  return [_data device];
}

- (HMMatrix)engineMatrix {
  return {((HostMTLBuffer *)_data)->_engine, _offset, _rows, _columns, _rowBytes, _matrices, _matrixBytes, _dataType};
}

- (void)dealloc {
  [_data release];
  [super dealloc];
}
@end

@implementation MPSVector
@synthesize length = _length, vectors = _vectors, dataType = _dataType, vectorBytes = _vectorBytes, offset = _offset, data = _data;

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer descriptor:(MPSVectorDescriptor *)descriptor {
  return [self initWithBuffer:buffer offset:0 descriptor:descriptor];
}

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset descriptor:(MPSVectorDescriptor *)descriptor {
  if (!(self = [super init])) return nil;
  @try {
    HM_REQUIRE(object_getClass(buffer) == [HostMTLBuffer class], "the buffer must be one of a device");
    HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
    _data = [buffer retain];
    _offset = offset;
    _length = [descriptor length];
    _vectors = [descriptor vectors];
    _vectorBytes = [descriptor vectorBytes];
    _dataType = [descriptor dataType];
    const HMMatrix matrix = [self engineMatrix];
    HM_CHECK(hm_matrix_check(&matrix));
  } @catch (NSException *exception) {
    [self release];
    @throw;
  }
  return self;
}

- (id<MTLDevice>)device {
  return [_data device];
}

// A column.
- (HMMatrix)engineMatrix {
  const NSUInteger element = elementBytes(_dataType);
  return {((HostMTLBuffer *)_data)->_engine, _offset, _length, 1, element, _vectors, _vectorBytes, _dataType};
}

- (void)dealloc {
  [_data release];
  [super dealloc];
}
@end
