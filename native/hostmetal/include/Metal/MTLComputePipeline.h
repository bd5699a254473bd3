// Kernels ready to run. https://developer.apple.com/documentation/metal/mtlcomputepipelinestate
#pragma once
#import <Metal/MTLArgument.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice, MTLFunction;

MTL_EXPORT API_AVAILABLE(macos(10.11))
@interface MTLComputePipelineReflection : NSObject {
  NSArray<id<MTLBinding>> *_bindings;
}
@property(readonly) NSArray<id<MTLBinding>> *bindings API_AVAILABLE(macos(13.0));
@end

MTL_EXPORT API_AVAILABLE(macos(10.11))
@interface MTLComputePipelineDescriptor : NSObject <NSCopying> {
  NSString *_label;
  id<MTLFunction> _computeFunction;
  BOOL _threadGroupSizeIsMultipleOfThreadExecutionWidth;
  NSUInteger _maxTotalThreadsPerThreadgroup;
}
@property(nullable, copy, nonatomic) NSString *label;
@property(nullable, readwrite, nonatomic, strong) id<MTLFunction> computeFunction;
@property(readwrite, nonatomic) BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property(readwrite, nonatomic) NSUInteger maxTotalThreadsPerThreadgroup API_AVAILABLE(macos(10.14));
- (void)reset;
@end

API_AVAILABLE(macos(10.11))
@protocol MTLComputePipelineState <NSObject>
@property(nullable, readonly) NSString *label API_AVAILABLE(macos(10.13));
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) NSUInteger threadExecutionWidth;
@property(readonly) NSUInteger staticThreadgroupMemoryLength API_AVAILABLE(macos(10.13));
@end

NS_ASSUME_NONNULL_END
