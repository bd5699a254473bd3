// A command buffer that may go on in another. https://developer.apple.com/documentation/metalperformanceshaders/mpscommandbuffer
#pragma once
#import <MetalPerformanceShaders/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT API_AVAILABLE(macos(10.15))
@interface MPSCommandBuffer : NSObject <MTLCommandBuffer> {
  id<MTLCommandBuffer> _commandBuffer;
}
// What it was made of; after commitAndContinue the next.
@property(readonly, nonatomic, retain) id<MTLCommandBuffer> commandBuffer;
// The one of the device that is encoded to now.
@property(readonly, nonatomic, retain) id<MTLCommandBuffer> rootCommandBuffer;
+ (instancetype)commandBufferWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
+ (instancetype)commandBufferFromCommandQueue:(id<MTLCommandQueue>)commandQueue;
- (instancetype)initWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
- (void)commitAndContinue;
@end

NS_ASSUME_NONNULL_END
