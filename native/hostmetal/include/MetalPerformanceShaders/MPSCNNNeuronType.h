// Functions of a number. https://developer.apple.com/documentation/metalperformanceshaders/mpscnnneurontype
#pragma once
#import <MetalPerformanceShaders/MPSCoreTypes.h>

// Those that hostmetal computes.
typedef NS_ENUM(int32_t, MPSCNNNeuronType) {
  MPSCNNNeuronTypeNone = 0,
  MPSCNNNeuronTypeReLU = 1,
  MPSCNNNeuronTypeLinear = 2,
  MPSCNNNeuronTypeSigmoid = 3,
  MPSCNNNeuronTypeTanH = 5,
  MPSCNNNeuronTypeAbsolute = 6,
  MPSCNNNeuronTypeGeLU = 15,
} API_AVAILABLE(macos(10.13));
