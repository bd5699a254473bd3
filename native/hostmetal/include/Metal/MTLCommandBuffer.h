// Recorded work of a queue, its state and its error. https://developer.apple.com/documentation/metal/mtlcommandbuffer
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@class MTLBlitPassDescriptor, MTLComputePassDescriptor;
@protocol MTLDevice, MTLCommandQueue, MTLCommandBuffer, MTLComputeCommandEncoder, MTLBlitCommandEncoder,
    MTLResidencySet, MTLEvent, MTLLogContainer, MTLLogState;

typedef NS_ENUM(NSUInteger, MTLCommandBufferStatus) {
  MTLCommandBufferStatusNotEnqueued = 0,
  MTLCommandBufferStatusEnqueued = 1,
  MTLCommandBufferStatusCommitted = 2,
  MTLCommandBufferStatusScheduled = 3,
  MTLCommandBufferStatusCompleted = 4,
  MTLCommandBufferStatusError = 5,
} API_AVAILABLE(macos(10.11));

MTL_EXTERN NSErrorDomain const MTLCommandBufferErrorDomain API_AVAILABLE(macos(10.11));

typedef NS_ENUM(NSUInteger, MTLCommandBufferError) {
  MTLCommandBufferErrorNone = 0,
  MTLCommandBufferErrorInternal = 1,
  MTLCommandBufferErrorTimeout = 2,
  MTLCommandBufferErrorPageFault = 3,
  MTLCommandBufferErrorAccessRevoked = 4,
  MTLCommandBufferErrorBlacklisted API_DEPRECATED_WITH_REPLACEMENT("MTLCommandBufferErrorAccessRevoked", macos(10.11, 13.0)) = 4,
  MTLCommandBufferErrorNotPermitted = 7,
  MTLCommandBufferErrorOutOfMemory = 8,
  MTLCommandBufferErrorInvalidResource = 9,
  MTLCommandBufferErrorMemoryless = 10,
  MTLCommandBufferErrorDeviceRemoved = 11,
  MTLCommandBufferErrorStackOverflow = 12,
} API_AVAILABLE(macos(10.11));

// In the userInfo of a command buffer's error: NSArray<id<MTLCommandBufferEncoderInfo>>, when errorOptions asked for it.
MTL_EXTERN NSErrorUserInfoKey const MTLCommandBufferEncoderInfoErrorKey API_AVAILABLE(macos(11.0));

typedef NS_OPTIONS(NSUInteger, MTLCommandBufferErrorOption) {
  MTLCommandBufferErrorOptionNone = 0,
  MTLCommandBufferErrorOptionEncoderExecutionStatus = 1 << 0,
} API_AVAILABLE(macos(11.0));

typedef NS_ENUM(NSInteger, MTLCommandEncoderErrorState) {
  MTLCommandEncoderErrorStateUnknown = 0,
  MTLCommandEncoderErrorStateCompleted = 1,
  MTLCommandEncoderErrorStateAffected = 2,
  MTLCommandEncoderErrorStatePending = 3,
  MTLCommandEncoderErrorStateFaulted = 4,
} API_AVAILABLE(macos(11.0));

typedef NS_ENUM(NSUInteger, MTLDispatchType) {
  MTLDispatchTypeSerial = 0,
  MTLDispatchTypeConcurrent = 1,
} API_AVAILABLE(macos(10.14));

typedef void (^MTLCommandBufferHandler)(id<MTLCommandBuffer>);

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MTLCommandBufferDescriptor : NSObject <NSCopying> {
  BOOL _retainedReferences;
  MTLCommandBufferErrorOption _errorOptions;
  id<MTLLogState> _logState;
}
@property(readwrite, nonatomic) BOOL retainedReferences;
@property(readwrite, nonatomic) MTLCommandBufferErrorOption errorOptions;
@property(readwrite, nonatomic, nullable, retain) id<MTLLogState> logState API_AVAILABLE(macos(15.0));
@end

API_AVAILABLE(macos(11.0))
@protocol MTLCommandBufferEncoderInfo <NSObject>
@property(readonly, nonatomic) NSString *label;
@property(readonly, nonatomic) NSArray<NSString *> *debugSignposts;
@property(readonly, nonatomic) MTLCommandEncoderErrorState errorState;
@end

API_AVAILABLE(macos(10.11))
@protocol MTLCommandBuffer <NSObject>
@property(readonly) id<MTLDevice> device;
@property(readonly) id<MTLCommandQueue> commandQueue;
@property(readonly) BOOL retainedReferences;
@property(readonly) MTLCommandBufferErrorOption errorOptions API_AVAILABLE(macos(11.0));
@property(nullable, copy, atomic) NSString *label;
@property(readonly) CFTimeInterval kernelStartTime API_AVAILABLE(macos(10.15));
@property(readonly) CFTimeInterval kernelEndTime API_AVAILABLE(macos(10.15));
@property(readonly) CFTimeInterval GPUStartTime API_AVAILABLE(macos(10.15));
@property(readonly) CFTimeInterval GPUEndTime API_AVAILABLE(macos(10.15));
@property(readonly) id<MTLLogContainer> logs API_AVAILABLE(macos(11.0));
@property(readonly) MTLCommandBufferStatus status;
@property(nullable, readonly) NSError *error;
- (void)enqueue;
- (void)commit;
- (void)addScheduledHandler:(MTLCommandBufferHandler)block;
- (void)waitUntilScheduled;
- (void)addCompletedHandler:(MTLCommandBufferHandler)block;
- (void)waitUntilCompleted;
- (nullable id<MTLBlitCommandEncoder>)blitCommandEncoder;
- (nullable id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (nullable id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)dispatchType
    API_AVAILABLE(macos(10.14));
- (void)useResidencySet:(id<MTLResidencySet>)residencySet API_AVAILABLE(macos(15.0));
- (void)useResidencySets:(const id<MTLResidencySet> _Nonnull[_Nonnull])residencySets
                   count:(NSUInteger)count API_AVAILABLE(macos(15.0));
- (nullable id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:
    (MTLComputePassDescriptor *)computePassDescriptor API_AVAILABLE(macos(11.0));
- (nullable id<MTLBlitCommandEncoder>)blitCommandEncoderWithDescriptor:(MTLBlitPassDescriptor *)blitPassDescriptor
    API_AVAILABLE(macos(11.0));
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value API_AVAILABLE(macos(10.14));
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value API_AVAILABLE(macos(10.14));
- (void)pushDebugGroup:(NSString *)string API_AVAILABLE(macos(10.13));
- (void)popDebugGroup API_AVAILABLE(macos(10.13));
@end

NS_ASSUME_NONNULL_END
