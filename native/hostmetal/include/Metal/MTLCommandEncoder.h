// What every encoder does. https://developer.apple.com/documentation/metal/mtlcommandencoder
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

typedef NS_OPTIONS(NSUInteger, MTLResourceUsage) {
  MTLResourceUsageRead = 1 << 0,
  MTLResourceUsageWrite = 1 << 1,
  MTLResourceUsageSample = 1 << 2,  // is reading
} API_AVAILABLE(macos(10.13));

typedef NS_OPTIONS(NSUInteger, MTLBarrierScope) {
  MTLBarrierScopeBuffers = 1 << 0,
  MTLBarrierScopeTextures = 1 << 1,
  MTLBarrierScopeRenderTargets = 1 << 2,
} API_AVAILABLE(macos(10.14));

// Kinds of work on a queue; those of drawing, ray tracing and machine learning never come.
typedef NS_OPTIONS(NSUInteger, MTLStages) {
  MTLStageVertex = 1 << 0,
  MTLStageFragment = 1 << 1,
  MTLStageTile = 1 << 2,
  MTLStageObject = 1 << 3,
  MTLStageMesh = 1 << 4,
  MTLStageResourceState = 1 << 26,
  MTLStageDispatch = 1 << 27,
  MTLStageBlit = 1 << 28,
  MTLStageAccelerationStructure = 1 << 29,
  MTLStageMachineLearning = 1 << 30,
  MTLStageAll = NSIntegerMax,
} API_AVAILABLE(macos(26.0));

API_AVAILABLE(macos(10.11))
@protocol MTLCommandEncoder <NSObject>
@property(readonly) id<MTLDevice> device;
@property(nullable, copy, atomic) NSString *label;
- (void)endEncoding;
- (void)insertDebugSignpost:(NSString *)string;
- (void)pushDebugGroup:(NSString *)string;
- (void)popDebugGroup;
// Has nothing to do: each pass of a queue waits for all of those before it.
- (void)barrierAfterQueueStages:(MTLStages)afterQueueStages beforeStages:(MTLStages)beforeStages API_AVAILABLE(macos(26.0));
@end

NS_ASSUME_NONNULL_END
