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
// Encodes by work, which tells misuse, to an encoder of its own.
- (void)encodeTo:(id<MTLCommandBuffer>)commandBuffer selector:(SEL)selector by:(const char * (^)(HMEncoder encoder))work;
@end
