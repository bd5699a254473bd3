// What shader validation finds. hostmetal has none: a command buffer's container is empty, and faults are its error.
// https://developer.apple.com/documentation/metal/mtlfunctionlog
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLFunction;

typedef NS_ENUM(NSUInteger, MTLFunctionLogType) {
  MTLFunctionLogTypeValidation = 0,
} API_AVAILABLE(macos(11.0));

API_AVAILABLE(macos(11.0))
@protocol MTLLogContainer <NSObject, NSFastEnumeration>
@end

API_AVAILABLE(macos(11.0))
@protocol MTLFunctionLogDebugLocation <NSObject>
@property(readonly, nullable, nonatomic) NSString *functionName;
@property(readonly, nullable, nonatomic) NSURL *URL;
@property(readonly, nonatomic) NSUInteger line;
@property(readonly, nonatomic) NSUInteger column;
@end

API_AVAILABLE(macos(11.0))
@protocol MTLFunctionLog <NSObject>
@property(readonly, nonatomic) MTLFunctionLogType type;
@property(readonly, nullable, nonatomic) NSString *encoderLabel;
@property(readonly, nullable, nonatomic) id<MTLFunction> function;
@property(readonly, nullable, nonatomic) id<MTLFunctionLogDebugLocation> debugLocation;
@end

NS_ASSUME_NONNULL_END
