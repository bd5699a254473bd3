// The classes of Metal Performance Shaders among themselves: faces of the engine, by the rules of faces.h.
#pragma once
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

#import "faces.h"

@interface MPSMatrix (Engine)
- (HMMatrix)engineMatrix;
@end

@interface MPSVector (Engine)
- (HMMatrix)engineMatrix;
@end

@interface MPSKernel (Engine)
// Encodes a product of the left and the right matrix to an encoder of its own.
- (void)encode:(const HMMultiplication *)multiplication
             of:(const HMMatrix (*)[3])matrices
             to:(id<MTLCommandBuffer>)commandBuffer
       selector:(SEL)selector;
@end
