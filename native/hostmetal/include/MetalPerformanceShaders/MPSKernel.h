// What all kernels have. https://developer.apple.com/documentation/metalperformanceshaders/mpskernel
#pragma once
#import <MetalPerformanceShaders/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MPSKernel : NSObject <NSCopying> {
  id<MTLDevice> _device;
  NSString *_label;
  MPSKernelOptions _options;
}
@property(readwrite, nonatomic) MPSKernelOptions options;
@property(readonly, retain, nonatomic) id<MTLDevice> device;
// The encoder's label; without one that is the class's name.
@property(copy, atomic, nullable) NSString *label;
- (instancetype)initWithDevice:(id<MTLDevice>)device;
// With nil: for the same device.
- (instancetype)copyWithZone:(nullable NSZone *)zone device:(nullable id<MTLDevice>)device;
@end

NS_ASSUME_NONNULL_END
