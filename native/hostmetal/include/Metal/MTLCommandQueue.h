// An ordered list of command buffers. https://developer.apple.com/documentation/metal/mtlcommandqueue
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice, MTLCommandBuffer, MTLLogState, MTLResidencySet;
@class MTLCommandBufferDescriptor;

MTL_EXPORT API_AVAILABLE(macos(15.0))
@interface MTLCommandQueueDescriptor : NSObject <NSCopying> {
 @private
  NSUInteger _maxCommandBufferCount;
  id<MTLLogState> _logState;
}
@property(readwrite, nonatomic) NSUInteger maxCommandBufferCount;
@property(readwrite, nonatomic, nullable, retain) id<MTLLogState> logState;
@end

API_AVAILABLE(macos(10.11))
@protocol MTLCommandQueue <NSObject>
@property(nullable, copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
- (nullable id<MTLCommandBuffer>)commandBuffer;
- (nullable id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor *)descriptor
    API_AVAILABLE(macos(11.0));
- (nullable id<MTLCommandBuffer>)commandBufferWithUnretainedReferences;
- (void)addResidencySet:(id<MTLResidencySet>)residencySet API_AVAILABLE(macos(15.0));
- (void)addResidencySets:(const id<MTLResidencySet> _Nonnull[_Nonnull])residencySets
                   count:(NSUInteger)count API_AVAILABLE(macos(15.0));
- (void)removeResidencySet:(id<MTLResidencySet>)residencySet API_AVAILABLE(macos(15.0));
- (void)removeResidencySets:(const id<MTLResidencySet> _Nonnull[_Nonnull])residencySets
                      count:(NSUInteger)count API_AVAILABLE(macos(15.0));
- (void)insertDebugCaptureBoundary API_DEPRECATED("Use MTLCaptureScope instead", macos(10.11, 10.13));
@end

NS_ASSUME_NONNULL_END
