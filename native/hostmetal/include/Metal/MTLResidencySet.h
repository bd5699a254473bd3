// Allocations that work on a queue or in a command buffer may use without naming them.
// https://developer.apple.com/documentation/metal/mtlresidencyset
#pragma once
#import <Metal/MTLAllocation.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

MTL_EXPORT API_AVAILABLE(macos(15.0))
@interface MTLResidencySetDescriptor : NSObject <NSCopying> {
 @private
  NSString *_label;
  NSUInteger _initialCapacity;
}
@property(nullable, copy, nonatomic) NSString *label;
@property(nonatomic) NSUInteger initialCapacity;
@end

// Additions and removals take effect with commit; the properties tell of the set with its pending additions.
API_AVAILABLE(macos(15.0))
@protocol MTLResidencySet <NSObject>
@property(readonly) id<MTLDevice> device;
@property(nullable, readonly) NSString *label;
@property(readonly) uint64_t allocatedSize;  // at the last commit
@property(readonly, copy) NSArray<id<MTLAllocation>> *allAllocations;
@property(readonly) NSUInteger allocationCount;
- (void)requestResidency;
- (void)endResidency;
- (void)addAllocation:(id<MTLAllocation>)allocation;
- (void)addAllocations:(const id<MTLAllocation> _Nonnull[_Nonnull])allocations count:(NSUInteger)count;
- (void)removeAllocation:(id<MTLAllocation>)allocation;
- (void)removeAllocations:(const id<MTLAllocation> _Nonnull[_Nonnull])allocations count:(NSUInteger)count;
- (void)removeAllAllocations;
- (BOOL)containsAllocation:(id<MTLAllocation>)anAllocation;
- (void)commit;
@end

NS_ASSUME_NONNULL_END
