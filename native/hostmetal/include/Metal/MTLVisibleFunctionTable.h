// Functions that kernels call by their place. https://developer.apple.com/documentation/metal/mtlvisiblefunctiontable
#pragma once
#import <Metal/MTLResource.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLFunctionHandle;

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MTLVisibleFunctionTableDescriptor : NSObject <NSCopying> {
  NSUInteger _functionCount;
}
+ (MTLVisibleFunctionTableDescriptor *)visibleFunctionTableDescriptor;
@property(nonatomic) NSUInteger functionCount;
@end

// A call of a place where no function was set ends the command buffer with an error.
API_AVAILABLE(macos(11.0))
@protocol MTLVisibleFunctionTable <MTLResource>
@property(readonly) MTLResourceID gpuResourceID API_AVAILABLE(macos(13.0));
- (void)setFunction:(nullable id<MTLFunctionHandle>)function atIndex:(NSUInteger)index;
- (void)setFunctions:(const id<MTLFunctionHandle> _Nullable[_Nonnull])functions withRange:(NSRange)range;
@end

NS_ASSUME_NONNULL_END
