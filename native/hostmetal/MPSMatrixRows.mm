// The kernels for rows of a matrix: softmax and neurons.
#import "performance.h"

namespace {
// Source and result: a block captures no array.
struct HMTwo {
  HMMatrix of[2];
};
}  // namespace

@implementation MPSMatrixSoftMax
@synthesize sourceRows = _sourceRows, sourceColumns = _sourceColumns;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  if ((self = [super initWithDevice:device])) _sourceRows = _sourceColumns = NSUIntegerMax;
  return self;
}

- (instancetype)copyWithZone:(NSZone *)zone device:(id<MTLDevice>)device {
  MPSMatrixSoftMax *copy = [super copyWithZone:zone device:device];
  if (!copy) return nil;
  copy->_sourceRows = _sourceRows;
  copy->_sourceColumns = _sourceColumns;
  return copy;
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)input
                 resultMatrix:(MPSMatrix *)result {
  HM_REQUIRE(input != nil && result != nil, "the matrices must not be nil");
  const MTLOrigin from = [self sourceMatrixOrigin], to = [self resultMatrixOrigin];
  HM_REQUIRE(from.z == 0 && to.z == 0, "the z of an origin must be 0");
  const HMUnary unary = {
      true, 0, {0, 0}, 1, {{from.x, from.y}, {to.x, to.y}}, _sourceRows, _sourceColumns, [self batchStart], [self batchSize],
  };
  const HMTwo matrices = {{[input engineMatrix], [result engineMatrix]}};
  [self encodeTo:commandBuffer
        selector:_cmd
              by:^(HMEncoder encoder) { return hm_compute_unary(encoder, &unary, &matrices.of); }];
}
@end

@implementation MPSMatrixNeuron
@synthesize sourceNumberOfFeatureVectors = _sourceNumberOfFeatureVectors,
            sourceInputFeatureChannels = _sourceInputFeatureChannels, alpha = _alpha;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  if (!(self = [super initWithDevice:device])) return nil;
  _sourceNumberOfFeatureVectors = _sourceInputFeatureChannels = NSUIntegerMax;
  _alpha = 1;
  return self;
}

- (instancetype)copyWithZone:(NSZone *)zone device:(id<MTLDevice>)device {
  MPSMatrixNeuron *copy = [super copyWithZone:zone device:device];
  if (!copy) return nil;
  copy->_sourceNumberOfFeatureVectors = _sourceNumberOfFeatureVectors;
  copy->_sourceInputFeatureChannels = _sourceInputFeatureChannels;
  copy->_alpha = _alpha;
  [copy setNeuronType:_neuronType parameterA:_neuronParameterA parameterB:_neuronParameterB parameterC:_neuronParameterC];
  return copy;
}

- (void)setNeuronType:(MPSCNNNeuronType)neuronType
           parameterA:(float)parameterA
           parameterB:(float)parameterB
           parameterC:(float)parameterC {
  _neuronType = neuronType;
  _neuronParameterA = parameterA;
  _neuronParameterB = parameterB;
  _neuronParameterC = parameterC;
}

- (MPSCNNNeuronType)neuronType {
  return _neuronType;
}
- (float)neuronParameterA {
  return _neuronParameterA;
}
- (float)neuronParameterB {
  return _neuronParameterB;
}
- (float)neuronParameterC {
  return _neuronParameterC;
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)input
                   biasVector:(MPSVector *)bias
                 resultMatrix:(MPSMatrix *)result {
  HM_REQUIRE(input != nil && result != nil, "the matrices must not be nil");
  HM_REQUIRE(bias == nil, "a bias is not supported by hostmetal");
  const MTLOrigin from = [self sourceMatrixOrigin], to = [self resultMatrixOrigin];
  HM_REQUIRE(from.z == 0 && to.z == 0, "the z of an origin must be 0");
  const HMUnary unary = {
      false,
      _neuronType,
      {_neuronParameterA, _neuronParameterB},
      _alpha,
      {{from.x, from.y}, {to.x, to.y}},
      _sourceNumberOfFeatureVectors,
      _sourceInputFeatureChannels,
      [self batchStart],
      [self batchSize],
  };
  const HMTwo matrices = {{[input engineMatrix], [result engineMatrix]}};
  [self encodeTo:commandBuffer
        selector:_cmd
              by:^(HMEncoder encoder) { return hm_compute_unary(encoder, &unary, &matrices.of); }];
}
@end
