// Metal Performance Shaders, the part that hostmetal implements: kernels of matrices, tensors in buffers. Every declaration is Apple's (scripts/apple/check.sh
// compares it with the metadata of Apple's SDK); what is not implemented is not declared.
#pragma once
#import <MetalPerformanceShaders/MPSCNNNeuronType.h>
#import <MetalPerformanceShaders/MPSCommandBuffer.h>
#import <MetalPerformanceShaders/MPSCoreTypes.h>
#import <MetalPerformanceShaders/MPSKernel.h>
#import <MetalPerformanceShaders/MPSMatrix.h>
#import <MetalPerformanceShaders/MPSMatrixMultiplication.h>
#import <MetalPerformanceShaders/MPSMatrixNeuron.h>
#import <MetalPerformanceShaders/MPSMatrixSoftMax.h>
#import <MetalPerformanceShaders/MPSMatrixTypes.h>
#import <MetalPerformanceShaders/MPSNDArray.h>
