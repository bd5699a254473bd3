// The classes of Metal Performance Shaders among themselves: faces of the engine, by the rules of faces.h.
#pragma once
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#import "faces.h"

@interface MPSMatrix (Engine)
- (HMMatrix)engineMatrix;
@end

@interface MPSVector (Engine)
- (HMMatrix)engineMatrix;
@end

@interface MPSKernel (Engine)
// Encodes by work, which tells misuse, to an encoder of its own.
- (void)encodeTo:(id<MTLCommandBuffer>)commandBuffer selector:(SEL)selector by:(const char * (^)(HMEncoder encoder))work;
@end

@interface MPSNDArray (Engine)
- (HMGraphMemory)engineMemory;
- (MPSShape *)engineShape;
@end

// A node of a graph, and the tensors that it takes and makes by their numbers.
struct HMGraphStep {
  HMGraphNode node;
  NSUInteger inputs[5], result;
};

// What object was given as a tensor's shape; raises in its name where that is none.
HMGraphShape hostmetal_graph_shape(id object, SEL selector, MPSShape *shape, MPSDataType dataType);

@interface MPSGraphTensor (Engine)
// The shape is one that was checked.
- (instancetype)initWithGraph:(MPSGraph *)graph number:(NSUInteger)number shape:(HMGraphShape)shape;
- (MPSGraph *)engineGraph;
- (NSUInteger)engineNumber;
- (HMGraphShape)engineShape;
@end

@interface MPSGraphTensorData (Engine)
- (MPSNDArray *)engineArray;
@end

@interface MPSGraphConvolution2DOpDescriptor (Engine)
- (void)describe:(HMGraphNode *)node;
@end

@interface MPSGraphPooling2DOpDescriptor (Engine)
- (void)describe:(HMGraphNode *)node;
@end

@interface MPSGraphExecutable (Engine)
// Steps in order, of so many tensors.
- (instancetype)initWithDevice:(id<MTLDevice>)device steps:(NSData *)steps tensors:(NSUInteger)tensors feeds:(NSArray *)feeds targets:(NSArray *)targets;
@end
