// Metal Performance Shaders Graph, the part that hostmetal implements. Every declaration is Apple's (scripts/apple/check.sh compares it with
// the metadata of Apple's SDK); what is not implemented is not declared.
#pragma once
#import <MetalPerformanceShadersGraph/MPSGraph.h>
#import <MetalPerformanceShadersGraph/MPSGraphCore.h>
#import <MetalPerformanceShadersGraph/MPSGraphExecutable.h>
#import <MetalPerformanceShadersGraph/MPSGraphOperations.h>
#import <MetalPerformanceShadersGraph/MPSGraphTensor.h>
