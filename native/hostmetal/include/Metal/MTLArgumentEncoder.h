// Writes argument buffers. https://developer.apple.com/documentation/metal/mtlargumentencoder
#pragma once
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLVisibleFunctionTable;
@protocol MTLDevice, MTLBuffer, MTLComputePipelineState, MTLIndirectCommandBuffer, MTLTexture, MTLSamplerState;

// With a buffer whose stride its layout has (the methods with attributeStride, attributeStrides).
static const NSUInteger MTLAttributeStrideStatic API_AVAILABLE(macos(14.0)) = NSUIntegerMax;

// The layout is that of the structure in memory, so a program may as well write addresses and gpuResourceIDs itself.
API_AVAILABLE(macos(10.13))
@protocol MTLArgumentEncoder <NSObject>
@property(readonly) id<MTLDevice> device;
@property(nullable, copy, atomic) NSString *label;
@property(readonly) NSUInteger encodedLength;
@property(readonly) NSUInteger alignment;
- (void)setArgumentBuffer:(nullable id<MTLBuffer>)argumentBuffer offset:(NSUInteger)offset;
- (void)setArgumentBuffer:(nullable id<MTLBuffer>)argumentBuffer
              startOffset:(NSUInteger)startOffset
             arrayElement:(NSUInteger)arrayElement;
- (void)setBuffer:(nullable id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBuffers:(const id<MTLBuffer> _Nullable[_Nonnull])buffers
           offsets:(const NSUInteger[_Nonnull])offsets
         withRange:(NSRange)range;
- (void)setTexture:(nullable id<MTLTexture>)texture atIndex:(NSUInteger)index;
- (void)setTextures:(const id<MTLTexture> _Nullable[_Nonnull])textures withRange:(NSRange)range;
- (void)setSamplerState:(nullable id<MTLSamplerState>)sampler atIndex:(NSUInteger)index;
- (void)setSamplerStates:(const id<MTLSamplerState> _Nullable[_Nonnull])samplers withRange:(NSRange)range;
- (void)setComputePipelineState:(nullable id<MTLComputePipelineState>)pipeline atIndex:(NSUInteger)index API_AVAILABLE(macos(11.0));
- (void)setComputePipelineStates:(const id<MTLComputePipelineState> _Nullable[_Nonnull])pipelines
                       withRange:(NSRange)range API_AVAILABLE(macos(11.0));
- (void)setIndirectCommandBuffer:(nullable id<MTLIndirectCommandBuffer>)indirectCommandBuffer
                         atIndex:(NSUInteger)index API_AVAILABLE(macos(10.14));
- (void)setIndirectCommandBuffers:(const id<MTLIndirectCommandBuffer> _Nullable[_Nonnull])buffers
                        withRange:(NSRange)range API_AVAILABLE(macos(10.14));
- (void)setVisibleFunctionTable:(nullable id<MTLVisibleFunctionTable>)visibleFunctionTable
                        atIndex:(NSUInteger)index API_AVAILABLE(macos(11.0));
- (void)setVisibleFunctionTables:(const id<MTLVisibleFunctionTable> _Nullable[_Nonnull])visibleFunctionTables
                       withRange:(NSRange)range API_AVAILABLE(macos(11.0));
- (void *)constantDataAtIndex:(NSUInteger)index;
- (nullable id<MTLArgumentEncoder>)newArgumentEncoderForBufferAtIndex:(NSUInteger)index;
@end

NS_ASSUME_NONNULL_END
