// Dispatches in memory, written by the host and by kernels. https://developer.apple.com/documentation/metal/mtlindirectcommandbuffer
#pragma once
#import <Metal/MTLResource.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLIndirectComputeCommand;

typedef NS_OPTIONS(NSUInteger, MTLIndirectCommandType) {
  MTLIndirectCommandTypeConcurrentDispatch = (1 << 5),
  MTLIndirectCommandTypeConcurrentDispatchThreads = (1 << 6),
} API_AVAILABLE(macos(10.14));

typedef struct MTLIndirectCommandBufferExecutionRange {
  uint32_t location;
  uint32_t length;
} MTLIndirectCommandBufferExecutionRange API_AVAILABLE(macos(10.14));

MTL_INLINE API_AVAILABLE(macos(10.14)) MTLIndirectCommandBufferExecutionRange
MTLIndirectCommandBufferExecutionRangeMake(uint32_t location, uint32_t length) {
  MTLIndirectCommandBufferExecutionRange range;
  range.location = location;
  range.length = length;
  return range;
}

MTL_EXPORT API_AVAILABLE(macos(10.14))
@interface MTLIndirectCommandBufferDescriptor : NSObject <NSCopying> {
  MTLIndirectCommandType _commandTypes;
  BOOL _inheritPipelineState, _inheritBuffers, _supportDynamicAttributeStride, _supportRayTracing;
  NSUInteger _maxKernelBufferBindCount, _maxKernelThreadgroupMemoryBindCount, _maxVertexBufferBindCount, _maxFragmentBufferBindCount;
}
@property(readwrite, nonatomic) MTLIndirectCommandType commandTypes;
@property(readwrite, nonatomic) BOOL inheritPipelineState API_AVAILABLE(macos(10.14));
@property(readwrite, nonatomic) BOOL inheritBuffers;
// Of draws, which are not here: they mean nothing.
@property(readwrite, nonatomic) NSUInteger maxVertexBufferBindCount;
@property(readwrite, nonatomic) NSUInteger maxFragmentBufferBindCount;
// All start as 31.
@property(readwrite, nonatomic) NSUInteger maxKernelBufferBindCount API_AVAILABLE(macos(11.0));
@property(readwrite, nonatomic) NSUInteger maxKernelThreadgroupMemoryBindCount API_AVAILABLE(macos(14.0));
@property(readwrite, nonatomic) BOOL supportDynamicAttributeStride API_AVAILABLE(macos(14.0));
// YES is refused, as by any device without supportsRaytracing.
@property(readwrite, nonatomic) BOOL supportRayTracing API_AVAILABLE(macos(13.0));
@end

API_AVAILABLE(macos(10.14))
@protocol MTLIndirectCommandBuffer <MTLResource>
@property(readonly) NSUInteger size;
@property(readonly) MTLResourceID gpuResourceID API_AVAILABLE(macos(13.0));
- (void)resetWithRange:(NSRange)range;
- (id<MTLIndirectComputeCommand>)indirectComputeCommandAtIndex:(NSUInteger)commandIndex API_AVAILABLE(macos(11.0));
@end

NS_ASSUME_NONNULL_END
