// A stretch of commands that could be captured. https://developer.apple.com/documentation/metal/mtlcapturescope
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice, MTLCommandQueue;

API_AVAILABLE(macos(10.13))
@protocol MTLCaptureScope <NSObject>
- (void)beginScope;
- (void)endScope;
@property(nullable, copy, atomic) NSString *label;
@property(nonatomic, readonly) id<MTLDevice> device;
@property(nullable, nonatomic, readonly) id<MTLCommandQueue> commandQueue;
@end

NS_ASSUME_NONNULL_END
