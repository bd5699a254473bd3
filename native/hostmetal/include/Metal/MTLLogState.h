// Messages that kernels log with os_log. https://developer.apple.com/documentation/metal/mtllogstate
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSInteger, MTLLogLevel) {
  MTLLogLevelUndefined,
  MTLLogLevelDebug,
  MTLLogLevelInfo,
  MTLLogLevelNotice,
  MTLLogLevelError,
  MTLLogLevelFault,
} API_AVAILABLE(macos(15.0));

// Messages are told when the command buffers with the log state have completed, before their completed handlers; without a handler
// here they are written to stderr.
API_AVAILABLE(macos(15.0))
@protocol MTLLogState <NSObject>
- (void)addLogHandler:(void (^)(NSString *_Nullable subSystem, NSString *_Nullable category, MTLLogLevel logLevel,
                                NSString *message))block;
@end

MTL_EXPORT API_AVAILABLE(macos(15.0))
@interface MTLLogStateDescriptor : NSObject <NSCopying> {
  MTLLogLevel _level;
  NSInteger _bufferSize;
}
@property(assign, readwrite) MTLLogLevel level;
@property(assign, readwrite) NSInteger bufferSize;
@end

MTL_EXTERN NSErrorDomain const MTLLogStateErrorDomain API_AVAILABLE(macos(15.0));

typedef NS_ENUM(NSUInteger, MTLLogStateError) {
  MTLLogStateErrorInvalidSize = 1,
  MTLLogStateErrorInvalid = 2,
} API_AVAILABLE(macos(15.0));

NS_ASSUME_NONNULL_END
