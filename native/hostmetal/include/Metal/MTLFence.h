// Order between the passes of a queue. https://developer.apple.com/documentation/metal/mtlfence
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

API_AVAILABLE(macos(10.13))
@protocol MTLFence <NSObject>
@property(readonly) id<MTLDevice> device;
@property(nullable, copy, atomic) NSString *label;
@end

NS_ASSUME_NONNULL_END
