// What takes memory of the device. https://developer.apple.com/documentation/metal/mtlallocation
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

API_AVAILABLE(macos(15.0))
@protocol MTLAllocation <NSObject>
@property(readonly) NSUInteger allocatedSize;
@end

NS_ASSUME_NONNULL_END
