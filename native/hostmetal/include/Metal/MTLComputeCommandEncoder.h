// Arguments and dispatches of kernels. https://developer.apple.com/documentation/metal/mtlcomputecommandencoder
#pragma once
#import <Metal/MTLCommandBuffer.h>
#import <Metal/MTLCommandEncoder.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLIndirectCommandBuffer, MTLVisibleFunctionTable;

@protocol MTLBuffer, MTLHeap, MTLResource, MTLComputePipelineState, MTLSamplerState, MTLTexture,
    MTLCounterSampleBuffer, MTLFence;

typedef struct {
  uint32_t threadgroupsPerGrid[3];
} MTLDispatchThreadgroupsIndirectArguments;

typedef struct {
  uint32_t stageInOrigin[3];
  uint32_t stageInSize[3];
} MTLStageInRegionIndirectArguments;

API_AVAILABLE(macos(10.11))
@protocol MTLComputeCommandEncoder <MTLCommandEncoder>
@property(readonly) MTLDispatchType dispatchType API_AVAILABLE(macos(10.14));
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index API_AVAILABLE(macos(10.11));
- (void)setBuffer:(nullable id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index API_AVAILABLE(macos(10.11));
- (void)setBuffers:(const id<MTLBuffer> _Nullable[_Nonnull])buffers
           offsets:(const NSUInteger[_Nonnull])offsets
         withRange:(NSRange)range;
// For buffers whose layout has the stride MTLBufferLayoutStrideDynamic; MTLAttributeStrideStatic stands for no stride.
- (void)setBuffer:(id<MTLBuffer>)buffer
             offset:(NSUInteger)offset
    attributeStride:(NSUInteger)stride
            atIndex:(NSUInteger)index API_AVAILABLE(macos(14.0));
- (void)setBuffers:(const id<MTLBuffer> _Nullable[_Nonnull])buffers
             offsets:(const NSUInteger[_Nonnull])offsets
    attributeStrides:(const NSUInteger[_Nonnull])strides
           withRange:(NSRange)range API_AVAILABLE(macos(14.0));
- (void)setBufferOffset:(NSUInteger)offset
        attributeStride:(NSUInteger)stride
                atIndex:(NSUInteger)index API_AVAILABLE(macos(14.0));
- (void)setBytes:(const void *)bytes
             length:(NSUInteger)length
    attributeStride:(NSUInteger)stride
            atIndex:(NSUInteger)index API_AVAILABLE(macos(14.0));
- (void)setVisibleFunctionTable:(nullable id<MTLVisibleFunctionTable>)visibleFunctionTable
                  atBufferIndex:(NSUInteger)bufferIndex API_AVAILABLE(macos(11.0));
- (void)setVisibleFunctionTables:(const id<MTLVisibleFunctionTable> _Nullable[_Nonnull])visibleFunctionTables
                 withBufferRange:(NSRange)range API_AVAILABLE(macos(11.0));
- (void)setTexture:(nullable id<MTLTexture>)texture atIndex:(NSUInteger)index;
- (void)setTextures:(const id<MTLTexture> _Nullable[_Nonnull])textures withRange:(NSRange)range;
- (void)setSamplerState:(nullable id<MTLSamplerState>)sampler atIndex:(NSUInteger)index;
- (void)setSamplerStates:(const id<MTLSamplerState> _Nullable[_Nonnull])samplers withRange:(NSRange)range;
- (void)setSamplerState:(nullable id<MTLSamplerState>)sampler
            lodMinClamp:(float)lodMinClamp
            lodMaxClamp:(float)lodMaxClamp
                atIndex:(NSUInteger)index;
- (void)setSamplerStates:(const id<MTLSamplerState> _Nullable[_Nonnull])samplers
            lodMinClamps:(const float[_Nonnull])lodMinClamps
            lodMaxClamps:(const float[_Nonnull])lodMaxClamps
               withRange:(NSRange)range;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setImageblockWidth:(NSUInteger)width height:(NSUInteger)height API_AVAILABLE(macos(11.0));
- (void)setStageInRegion:(MTLRegion)region API_AVAILABLE(macos(10.12));
- (void)setStageInRegionWithIndirectBuffer:(id<MTLBuffer>)indirectBuffer
                      indirectBufferOffset:(NSUInteger)indirectBufferOffset API_AVAILABLE(macos(10.14));
- (void)dispatchThreadgroups:(MTLSize)threadgroupsPerGrid threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup;
- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)indirectBuffer
                          indirectBufferOffset:(NSUInteger)indirectBufferOffset
                         threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup API_AVAILABLE(macos(10.11));
- (void)dispatchThreads:(MTLSize)threadsPerGrid
    threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup API_AVAILABLE(macos(10.13));
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope API_AVAILABLE(macos(10.14));
- (void)memoryBarrierWithResources:(const id<MTLResource> _Nonnull[_Nonnull])resources
                             count:(NSUInteger)count API_AVAILABLE(macos(10.14));
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage API_AVAILABLE(macos(10.13));
- (void)useResources:(const id<MTLResource> _Nonnull[_Nonnull])resources
               count:(NSUInteger)count
               usage:(MTLResourceUsage)usage API_AVAILABLE(macos(10.13));
- (void)useHeap:(id<MTLHeap>)heap API_AVAILABLE(macos(10.13));
- (void)useHeaps:(const id<MTLHeap> _Nonnull[_Nonnull])heaps count:(NSUInteger)count API_AVAILABLE(macos(10.13));
- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)indirectCommandBuffer
                      withRange:(NSRange)executionRange API_AVAILABLE(macos(11.0));
- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)indirectCommandbuffer
                 indirectBuffer:(id<MTLBuffer>)indirectRangeBuffer
           indirectBufferOffset:(NSUInteger)indirectBufferOffset API_AVAILABLE(macos(11.0));
- (void)updateFence:(id<MTLFence>)fence API_AVAILABLE(macos(10.13));
- (void)waitForFence:(id<MTLFence>)fence API_AVAILABLE(macos(10.13));
- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)sampleBuffer
                 atSampleIndex:(NSUInteger)sampleIndex
                   withBarrier:(BOOL)barrier API_AVAILABLE(macos(10.15));
@end

NS_ASSUME_NONNULL_END
