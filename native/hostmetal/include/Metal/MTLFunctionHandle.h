// What stands for a visible function of a pipeline. https://developer.apple.com/documentation/metal/mtlfunctionhandle
#pragma once
#import <Metal/MTLLibrary.h>

NS_ASSUME_NONNULL_BEGIN

API_AVAILABLE(macos(11.0))
@protocol MTLFunctionHandle <NSObject>
@property(readonly) MTLFunctionType functionType;
@property(readonly) NSString *name;
@property(readonly) id<MTLDevice> device;
@end

NS_ASSUME_NONNULL_END
