// A function of each element. https://developer.apple.com/documentation/metalperformanceshaders/mpsmatrixneuron
#pragma once
#import <MetalPerformanceShaders/MPSCNNNeuronType.h>
#import <MetalPerformanceShaders/MPSMatrix.h>
#import <MetalPerformanceShaders/MPSMatrixTypes.h>

NS_ASSUME_NONNULL_BEGIN

// y = neuron(alpha x)
MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MPSMatrixNeuron : MPSMatrixUnaryKernel {
  NSUInteger _sourceNumberOfFeatureVectors, _sourceInputFeatureChannels;
  double _alpha;
  MPSCNNNeuronType _neuronType;
  float _neuronParameterA, _neuronParameterB, _neuronParameterC;
}
// Rows and columns; NSUIntegerMax: all that the source has.
@property(readwrite, nonatomic) NSUInteger sourceNumberOfFeatureVectors;
@property(readwrite, nonatomic) NSUInteger sourceInputFeatureChannels;
@property(readwrite, nonatomic) double alpha;
- (void)setNeuronType:(MPSCNNNeuronType)neuronType
           parameterA:(float)parameterA
           parameterB:(float)parameterB
           parameterC:(float)parameterC;
- (MPSCNNNeuronType)neuronType;
- (float)neuronParameterA;
- (float)neuronParameterB;
- (float)neuronParameterC;
// A bias is not supported: an exception.
- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)inputMatrix
                   biasVector:(MPSVector *_Nullable)biasVector
                 resultMatrix:(MPSMatrix *)resultMatrix;
@end

NS_ASSUME_NONNULL_END
