// MPSKernel, and the kernels for products.
#import "performance.h"

@implementation MPSKernel
@synthesize options = _options, device = _device, label = _label;

// Devices live as long as the process, so nothing retains them.
- (instancetype)initWithDevice:(id<MTLDevice>)device {
  if (!(self = [super init])) return nil;
  if (!MPSSupportsMTLDevice(device)) {
    [self release];
    return nil;
  }
  _device = device;
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  return [self copyWithZone:zone device:nil];
}

- (instancetype)copyWithZone:(NSZone *)zone device:(id<MTLDevice>)device {
  MPSKernel *copy = [[[self class] allocWithZone:zone] initWithDevice:device ? device : _device];
  [copy setLabel:[self label]];
  [copy setOptions:_options];
  return copy;
}

// The pass is this kernel's own, as it is on a Mac: whoever has another open has to end that.
- (void)encode:(const HMMultiplication *)multiplication
             of:(const HMMatrix (*)[3])matrices
             to:(id<MTLCommandBuffer>)commandBuffer
       selector:(SEL)selector {
  if (object_getClass(commandBuffer) != [HostMTLCommandBuffer class])
    hostmetal_raise(self, selector, "the command buffer must be one of a device");
  if ([commandBuffer device] != _device) hostmetal_raise(self, selector, "the command buffer is another device's");
  HostMTLComputeCommandEncoder *encoder = (HostMTLComputeCommandEncoder *)[commandBuffer computeCommandEncoder];
  if (!encoder) return;
  NSString *label = [self label];
  [encoder setLabel:label ? label : NSStringFromClass([self class])];
  const char *const misuse = hm_compute_multiply(encoder->_engine, multiplication, matrices);
  [encoder endEncoding];
  if (misuse) hostmetal_raise(self, selector, misuse);
}

- (void)dealloc {
  [_label release];
  [super dealloc];
}
@end

@implementation MPSMatrixBinaryKernel
@synthesize primarySourceMatrixOrigin = _primarySourceMatrixOrigin,
            secondarySourceMatrixOrigin = _secondarySourceMatrixOrigin, resultMatrixOrigin = _resultMatrixOrigin,
            batchStart = _batchStart, batchSize = _batchSize;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  if ((self = [super initWithDevice:device])) _batchSize = NSUIntegerMax;
  return self;
}

- (instancetype)copyWithZone:(NSZone *)zone device:(id<MTLDevice>)device {
  MPSMatrixBinaryKernel *copy = [super copyWithZone:zone device:device];
  if (!copy) return nil;
  copy->_primarySourceMatrixOrigin = _primarySourceMatrixOrigin;
  copy->_secondarySourceMatrixOrigin = _secondarySourceMatrixOrigin;
  copy->_resultMatrixOrigin = _resultMatrixOrigin;
  copy->_batchStart = _batchStart;
  copy->_batchSize = _batchSize;
  return copy;
}
@end

@implementation MPSMatrixMultiplication
@synthesize resultMatrixOrigin = _resultMatrixOrigin, leftMatrixOrigin = _leftMatrixOrigin, rightMatrixOrigin = _rightMatrixOrigin,
            batchStart = _batchStart, batchSize = _batchSize;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                 transposeLeft:(BOOL)transposeLeft
                transposeRight:(BOOL)transposeRight
                    resultRows:(NSUInteger)resultRows
                 resultColumns:(NSUInteger)resultColumns
               interiorColumns:(NSUInteger)interiorColumns
                         alpha:(double)alpha
                          beta:(double)beta {
  if (!(self = [super initWithDevice:device])) return nil;
  _transposeLeft = transposeLeft;
  _transposeRight = transposeRight;
  _resultRows = resultRows;
  _resultColumns = resultColumns;
  _interiorColumns = interiorColumns;
  _alpha = alpha;
  _beta = beta;
  _batchSize = NSUIntegerMax;
  return self;
}

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    resultRows:(NSUInteger)resultRows
                 resultColumns:(NSUInteger)resultColumns
               interiorColumns:(NSUInteger)interiorColumns {
  return [self initWithDevice:device
                transposeLeft:NO
               transposeRight:NO
                   resultRows:resultRows
                resultColumns:resultColumns
              interiorColumns:interiorColumns
                        alpha:1
                         beta:0];
}

- (instancetype)copyWithZone:(NSZone *)zone device:(id<MTLDevice>)device {
  MPSMatrixMultiplication *copy = [super copyWithZone:zone device:device];
  if (!copy) return nil;
  copy->_transposeLeft = _transposeLeft;
  copy->_transposeRight = _transposeRight;
  copy->_resultRows = _resultRows;
  copy->_resultColumns = _resultColumns;
  copy->_interiorColumns = _interiorColumns;
  copy->_alpha = _alpha;
  copy->_beta = _beta;
  copy->_resultMatrixOrigin = _resultMatrixOrigin;
  copy->_leftMatrixOrigin = _leftMatrixOrigin;
  copy->_rightMatrixOrigin = _rightMatrixOrigin;
  copy->_batchStart = _batchStart;
  copy->_batchSize = _batchSize;
  return copy;
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                   leftMatrix:(MPSMatrix *)left
                  rightMatrix:(MPSMatrix *)right
                 resultMatrix:(MPSMatrix *)result {
  HM_REQUIRE(left != nil && right != nil && result != nil, "the matrices must not be nil");
  HM_REQUIRE(_leftMatrixOrigin.z == 0 && _rightMatrixOrigin.z == 0 && _resultMatrixOrigin.z == 0, "the z of an origin must be 0");
  const HMMultiplication multiplication = {
      {(bool)_transposeLeft, (bool)_transposeRight},
      _resultRows,
      _resultColumns,
      _interiorColumns,
      _alpha,
      _beta,
      {{_leftMatrixOrigin.x, _leftMatrixOrigin.y},
       {_rightMatrixOrigin.x, _rightMatrixOrigin.y},
       {_resultMatrixOrigin.x, _resultMatrixOrigin.y}},
      _batchStart,
      _batchSize,
  };
  const HMMatrix matrices[3] = {[left engineMatrix], [right engineMatrix], [result engineMatrix]};
  [self encode:&multiplication of:&matrices to:commandBuffer selector:_cmd];
}
@end

@implementation MPSMatrixVectorMultiplication

- (instancetype)initWithDevice:(id<MTLDevice>)device
                     transpose:(BOOL)transpose
                          rows:(NSUInteger)rows
                       columns:(NSUInteger)columns
                         alpha:(double)alpha
                          beta:(double)beta {
  if (!(self = [super initWithDevice:device])) return nil;
  _transpose = transpose;
  _rows = rows;
  _columns = columns;
  _alpha = alpha;
  _beta = beta;
  return self;
}

- (instancetype)initWithDevice:(id<MTLDevice>)device rows:(NSUInteger)rows columns:(NSUInteger)columns {
  return [self initWithDevice:device transpose:NO rows:rows columns:columns alpha:1 beta:0];
}

- (instancetype)copyWithZone:(NSZone *)zone device:(id<MTLDevice>)device {
  MPSMatrixVectorMultiplication *copy = [super copyWithZone:zone device:device];
  if (!copy) return nil;
  copy->_transpose = _transpose;
  copy->_rows = _rows;
  copy->_columns = _columns;
  copy->_alpha = _alpha;
  copy->_beta = _beta;
  return copy;
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)matrix
                  inputVector:(MPSVector *)vector
                 resultVector:(MPSVector *)result {
  HM_REQUIRE(matrix != nil && vector != nil && result != nil, "the matrix and the vectors must not be nil");
  const MTLOrigin from = [self primarySourceMatrixOrigin], x = [self secondarySourceMatrixOrigin], y = [self resultMatrixOrigin];
  HM_REQUIRE(from.z == 0 && x.y == 0 && x.z == 0 && y.y == 0 && y.z == 0, "the z of an origin, and the y of a vector's, must be 0");
  const HMMultiplication multiplication = {
      {(bool)_transpose, false}, _rows, 1, _columns, _alpha, _beta, {{from.x, from.y}, {x.x, 0}, {y.x, 0}}, [self batchStart], [self batchSize],
  };
  const HMMatrix matrices[3] = {[matrix engineMatrix], [vector engineMatrix], [result engineMatrix]};
  [self encode:&multiplication of:&matrices to:commandBuffer selector:_cmd];
}
@end
