// The kernels for products.
#import "performance.h"

namespace {
// Left, right and result: a block captures no array.
struct HMThree {
  HMMatrix of[3];
};
}  // namespace

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
  const HMThree matrices = {{[left engineMatrix], [right engineMatrix], [result engineMatrix]}};
  [self encodeTo:commandBuffer
        selector:_cmd
              by:^(HMEncoder encoder) { return hm_compute_multiply(encoder, &multiplication, &matrices.of); }];
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
  const HMThree matrices = {{[matrix engineMatrix], [vector engineMatrix], [result engineMatrix]}};
  [self encodeTo:commandBuffer
        selector:_cmd
              by:^(HMEncoder encoder) { return hm_compute_multiply(encoder, &multiplication, &matrices.of); }];
}
@end
