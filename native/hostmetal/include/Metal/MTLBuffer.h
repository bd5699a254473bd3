// Untyped memory of the device. https://developer.apple.com/documentation/metal/mtlbuffer
#pragma once
#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

@class MTLTextureDescriptor;
@protocol MTLTexture;

// Which sparse buffers there are: none here.
typedef NS_ENUM(NSInteger, MTLBufferSparseTier) {
  MTLBufferSparseTierNone = 0,
  MTLBufferSparseTier1 = 1,
} API_AVAILABLE(macos(26.0));

API_AVAILABLE(macos(10.11))
@protocol MTLBuffer <MTLResource>
@property(readonly) NSUInteger length;
// NULL for private storage.
- (void *)contents NS_RETURNS_INNER_POINTER;
- (nullable id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor
                                             offset:(NSUInteger)offset
                                        bytesPerRow:(NSUInteger)bytesPerRow API_AVAILABLE(macos(10.13));
- (void)didModifyRange:(NSRange)range API_AVAILABLE(macos(10.11));
- (void)addDebugMarker:(NSString *)marker range:(NSRange)range API_AVAILABLE(macos(10.12));
- (void)removeAllDebugMarkers API_AVAILABLE(macos(10.12));
// Of private storage, for a device of the same peer group, which can only copy from it.
- (nullable id<MTLBuffer>)newRemoteBufferViewForDevice:(id<MTLDevice>)device API_AVAILABLE(macos(10.15));
@property(nullable, readonly) id<MTLBuffer> remoteStorageBuffer API_AVAILABLE(macos(10.15));
@property(readonly) MTLGPUAddress gpuAddress API_AVAILABLE(macos(13.0));
@property(readonly) MTLBufferSparseTier sparseBufferTier API_AVAILABLE(macos(26.0));
@end

NS_ASSUME_NONNULL_END
