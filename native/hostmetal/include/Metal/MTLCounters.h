// Times on the device's clock. https://developer.apple.com/documentation/metal/mtlcountersamplebuffer
#pragma once
#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

// A sample that was not taken; an index where none is to be taken.
#define MTLCounterErrorValue ((uint64_t)-1)
#define MTLCounterDontSample ((NSUInteger)-1)

typedef NSString *const MTLCommonCounter;
typedef NSString *const MTLCommonCounterSet;
MTL_EXTERN MTLCommonCounter MTLCommonCounterTimestamp API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounterSet MTLCommonCounterSetTimestamp API_AVAILABLE(macos(10.15));
// For programs that look for them: no device here has these.
MTL_EXTERN MTLCommonCounter MTLCommonCounterClipperInvocations API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterClipperPrimitivesOut API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterComputeKernelInvocations API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterFragmentCycles API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterFragmentInvocations API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterFragmentsPassed API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterPostTessellationVertexCycles API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterPostTessellationVertexInvocations API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterRenderTargetWriteCycles API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterTessellationCycles API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterTessellationInputPatches API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterTotalCycles API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterVertexCycles API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounter MTLCommonCounterVertexInvocations API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounterSet MTLCommonCounterSetStageUtilization API_AVAILABLE(macos(10.15));
MTL_EXTERN MTLCommonCounterSet MTLCommonCounterSetStatistic API_AVAILABLE(macos(10.15));

MTL_EXTERN NSErrorDomain const MTLCounterErrorDomain API_AVAILABLE(macos(10.15));

typedef NS_ENUM(NSInteger, MTLCounterSampleBufferError) {
  MTLCounterSampleBufferErrorOutOfMemory = 0,
  MTLCounterSampleBufferErrorInvalid = 1,
  MTLCounterSampleBufferErrorInternal = 2,
} API_AVAILABLE(macos(10.15));

typedef struct {
  uint64_t timestamp;
} MTLCounterResultTimestamp API_AVAILABLE(macos(10.15));

typedef struct {
  uint64_t totalCycles;
  uint64_t vertexCycles;
  uint64_t tessellationCycles;
  uint64_t postTessellationVertexCycles;
  uint64_t fragmentCycles;
  uint64_t renderTargetCycles;
} MTLCounterResultStageUtilization API_AVAILABLE(macos(10.15));

typedef struct {
  uint64_t tessellationInputPatches;
  uint64_t vertexInvocations;
  uint64_t postTessellationVertexInvocations;
  uint64_t clipperInvocations;
  uint64_t clipperPrimitivesOut;
  uint64_t fragmentInvocations;
  uint64_t fragmentsPassed;
  uint64_t computeKernelInvocations;
} MTLCounterResultStatistic API_AVAILABLE(macos(10.15));

API_AVAILABLE(macos(10.15))
@protocol MTLCounter <NSObject>
@property(readonly, copy) NSString *name;
@end

API_AVAILABLE(macos(10.15))
@protocol MTLCounterSet <NSObject>
@property(readonly, copy) NSString *name;
@property(readonly, copy) NSArray<id<MTLCounter>> *counters;
@end

MTL_EXPORT API_AVAILABLE(macos(10.15))
@interface MTLCounterSampleBufferDescriptor : NSObject <NSCopying> {
 @private
  id<MTLCounterSet> _counterSet;
  NSString *_label;
  MTLStorageMode _storageMode;
  NSUInteger _sampleCount;
}
@property(readwrite, retain, nullable) id<MTLCounterSet> counterSet;
@property(readwrite, copy) NSString *label;
@property(readwrite) MTLStorageMode storageMode;
@property(readwrite) NSUInteger sampleCount;
@end

API_AVAILABLE(macos(10.15))
@protocol MTLCounterSampleBuffer <NSObject>
@property(readonly) id<MTLDevice> device;
@property(readonly) NSString *label;
@property(readonly) NSUInteger sampleCount;
- (nullable NSData *)resolveCounterRange:(NSRange)range;
@end

NS_ASSUME_NONNULL_END
