// Memory of which resources are parts. https://developer.apple.com/documentation/metal/mtlheap
#pragma once
#import <Metal/MTLAllocation.h>
#import <Metal/MTLResource.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@class MTLTextureDescriptor;
@protocol MTLBuffer, MTLDevice, MTLTexture;

typedef NS_ENUM(NSInteger, MTLHeapType) {
  MTLHeapTypeAutomatic = 0,
  MTLHeapTypePlacement = 1,
  MTLHeapTypeSparse = 2,
} API_AVAILABLE(macos(10.15));

// Private storage and untracked hazards by default.
MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MTLHeapDescriptor : NSObject <NSCopying> {
 @private
  NSUInteger _size;
  MTLHeapType _type;
  MTLResourceOptions _resourceOptions;
}
@property(readwrite, nonatomic) NSUInteger size;
@property(readwrite, nonatomic) MTLStorageMode storageMode;
@property(readwrite, nonatomic) MTLCPUCacheMode cpuCacheMode;
@property(readwrite, nonatomic) MTLHazardTrackingMode hazardTrackingMode API_AVAILABLE(macos(10.15));
@property(readwrite, nonatomic) MTLResourceOptions resourceOptions API_AVAILABLE(macos(10.15));
@property(readwrite, nonatomic) MTLHeapType type API_AVAILABLE(macos(10.15));
@end

API_AVAILABLE(macos(10.13))
@protocol MTLHeap <MTLAllocation>
@property(nullable, copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLStorageMode storageMode;
@property(readonly) MTLCPUCacheMode cpuCacheMode;
@property(readonly) MTLHazardTrackingMode hazardTrackingMode API_AVAILABLE(macos(10.15));
@property(readonly) MTLResourceOptions resourceOptions API_AVAILABLE(macos(10.15));
@property(readonly) NSUInteger size;
@property(readonly) NSUInteger usedSize;
@property(readonly) NSUInteger currentAllocatedSize API_AVAILABLE(macos(10.13));
@property(readonly) MTLHeapType type API_AVAILABLE(macos(10.15));
- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment;
- (nullable id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (nullable id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor;
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state;
- (nullable id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                                      options:(MTLResourceOptions)options
                                       offset:(NSUInteger)offset API_AVAILABLE(macos(10.15));
- (nullable id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor
                                             offset:(NSUInteger)offset API_AVAILABLE(macos(10.15));
@end

NS_ASSUME_NONNULL_END
