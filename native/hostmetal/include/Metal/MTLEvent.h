// Numbers that command buffers, and the host, wait for and signal. https://developer.apple.com/documentation/metal/mtlevent
#pragma once
#import <Metal/MTLDefines.h>
#include <dispatch/dispatch.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice, MTLSharedEvent;

API_AVAILABLE(macos(10.14))
@protocol MTLEvent <NSObject>
@property(nullable, readonly) id<MTLDevice> device;
@property(nullable, copy, atomic) NSString *label;
@end

// Has the blocks of notifyListener:atValue:block: called on a queue; one of its own, serial, unless it is given one.
MTL_EXPORT API_AVAILABLE(macos(10.14))
@interface MTLSharedEventListener : NSObject {
 @private
  dispatch_queue_t _dispatchQueue;
}
- (instancetype)init;
- (instancetype)initWithDispatchQueue:(dispatch_queue_t)dispatchQueue;
@property(readonly) dispatch_queue_t dispatchQueue;
// One for the whole process, with a serial queue of its own.
+ (MTLSharedEventListener *)sharedListener API_AVAILABLE(macos(26.0));
@end

// Stands for an event where another event is made of it, in this process.
MTL_EXPORT API_AVAILABLE(macos(10.14))
@interface MTLSharedEventHandle : NSObject {
 @private
  void *_event;
}
@property(nullable, readonly) NSString *label;
@end

typedef void (^MTLSharedEventNotificationBlock)(id<MTLSharedEvent>, uint64_t value);

API_AVAILABLE(macos(10.14))
@protocol MTLSharedEvent <MTLEvent>
- (void)notifyListener:(MTLSharedEventListener *)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block;
- (MTLSharedEventHandle *)newSharedEventHandle;
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds API_AVAILABLE(macos(12.0));
@property(readwrite) uint64_t signaledValue;
@end

NS_ASSUME_NONNULL_END
