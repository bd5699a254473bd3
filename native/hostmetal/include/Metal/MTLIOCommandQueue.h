// Queues that load from files, and the files. https://developer.apple.com/documentation/metal/mtliocommandqueue
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBuffer, MTLIOCommandBuffer, MTLIOScratchBufferAllocator;

typedef NS_ENUM(NSInteger, MTLIOPriority) {
  MTLIOPriorityHigh = 0,
  MTLIOPriorityNormal = 1,
  MTLIOPriorityLow = 2,
} API_AVAILABLE(macos(13.0));

typedef NS_ENUM(NSInteger, MTLIOCommandQueueType) {
  MTLIOCommandQueueTypeConcurrent = 0,
  MTLIOCommandQueueTypeSerial = 1,
} API_AVAILABLE(macos(13.0));

MTL_EXTERN NSErrorDomain const MTLIOErrorDomain API_AVAILABLE(macos(13.0));

typedef NS_ENUM(NSInteger, MTLIOError) {
  MTLIOErrorURLInvalid = 1,
  MTLIOErrorInternal = 2,
} API_AVAILABLE(macos(13.0));

API_AVAILABLE(macos(13.0))
@protocol MTLIOCommandQueue <NSObject>
- (void)enqueueBarrier;
- (nullable id<MTLIOCommandBuffer>)commandBuffer;
- (nullable id<MTLIOCommandBuffer>)commandBufferWithUnretainedReferences;
@property(copy, atomic, nullable) NSString *label;
@end

API_AVAILABLE(macos(13.0))
@protocol MTLIOScratchBuffer <NSObject>
@property(readonly) id<MTLBuffer> buffer;
@end

// Memory for decompression, which is never asked for here.
API_AVAILABLE(macos(13.0))
@protocol MTLIOScratchBufferAllocator <NSObject>
- (nullable id<MTLIOScratchBuffer>)newScratchBufferWithMinimumSize:(NSUInteger)minimumSize;
@end

MTL_EXPORT API_AVAILABLE(macos(13.0))
@interface MTLIOCommandQueueDescriptor : NSObject <NSCopying> {
 @private
  NSUInteger _maxCommandBufferCount;
  MTLIOPriority _priority;
  MTLIOCommandQueueType _type;
  NSUInteger _maxCommandsInFlight;
  id<MTLIOScratchBufferAllocator> _scratchBufferAllocator;
}
@property(nonatomic, readwrite) NSUInteger maxCommandBufferCount;
@property(nonatomic, readwrite) MTLIOPriority priority;
@property(nonatomic, readwrite) MTLIOCommandQueueType type;
// 0 for no limit but that of the threads.
@property(nonatomic, readwrite) NSUInteger maxCommandsInFlight;
@property(atomic, readwrite, retain, nullable) id<MTLIOScratchBufferAllocator> scratchBufferAllocator;
@end

API_AVAILABLE(macos(13.0))
@protocol MTLIOFileHandle <NSObject>
@property(copy, atomic, nullable) NSString *label;
@end

NS_ASSUME_NONNULL_END
