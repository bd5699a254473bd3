// Parts of files to be loaded. https://developer.apple.com/documentation/metal/mtliocommandbuffer
#pragma once
#import <Metal/MTLDefines.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBuffer, MTLIOCommandBuffer, MTLIOFileHandle, MTLSharedEvent, MTLTexture;

typedef NS_ENUM(NSInteger, MTLIOStatus) {
  MTLIOStatusPending = 0,
  MTLIOStatusCancelled = 1,
  MTLIOStatusError = 2,
  MTLIOStatusComplete = 3,
} API_AVAILABLE(macos(13.0));

typedef void (^MTLIOCommandBufferHandler)(id<MTLIOCommandBuffer>);

API_AVAILABLE(macos(13.0))
@protocol MTLIOCommandBuffer <NSObject>
- (void)addCompletedHandler:(MTLIOCommandBufferHandler)block;
- (void)loadBytes:(void *)pointer
                 size:(NSUInteger)size
         sourceHandle:(id<MTLIOFileHandle>)sourceHandle
   sourceHandleOffset:(NSUInteger)sourceHandleOffset;
- (void)loadBuffer:(id<MTLBuffer>)buffer
                offset:(NSUInteger)offset
                  size:(NSUInteger)size
          sourceHandle:(id<MTLIOFileHandle>)sourceHandle
    sourceHandleOffset:(NSUInteger)sourceHandleOffset;
- (void)loadTexture:(id<MTLTexture>)texture
                  slice:(NSUInteger)slice
                  level:(NSUInteger)level
                   size:(MTLSize)size
      sourceBytesPerRow:(NSUInteger)sourceBytesPerRow
    sourceBytesPerImage:(NSUInteger)sourceBytesPerImage
      destinationOrigin:(MTLOrigin)destinationOrigin
           sourceHandle:(id<MTLIOFileHandle>)sourceHandle
     sourceHandleOffset:(NSUInteger)sourceHandleOffset;
// Once it is final: the 8 bytes of an MTLIOStatus.
- (void)copyStatusToBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset;
- (void)commit;
- (void)waitUntilCompleted;
- (void)tryCancel;
- (void)addBarrier;
- (void)pushDebugGroup:(NSString *)string;
- (void)popDebugGroup;
- (void)enqueue;
- (void)waitForEvent:(id<MTLSharedEvent>)event value:(uint64_t)value;
- (void)signalEvent:(id<MTLSharedEvent>)event value:(uint64_t)value;
@property(copy, atomic, nullable) NSString *label;
@property(readonly) MTLIOStatus status;
@property(readonly, nullable) NSError *error;
@end

NS_ASSUME_NONNULL_END
