// The list of devices and who watches it, and MTLArchitecture. Devices neither come nor go here, so no observer is ever told anything.
#import "faces.h"

#include <pthread.h>

MTLDeviceNotificationName const MTLDeviceWasAddedNotification = @"MTLDeviceWasAddedNotification";
MTLDeviceNotificationName const MTLDeviceRemovalRequestedNotification = @"MTLDeviceRemovalRequestedNotification";
MTLDeviceNotificationName const MTLDeviceWasRemovedNotification = @"MTLDeviceWasRemovedNotification";

@implementation MTLArchitecture
@synthesize name = _name;

- (id)copyWithZone:(NSZone *)zone {
  (void)zone;
  return [self retain];  // nothing changes it
}

- (void)dealloc {
  [_name release];
  [super dealloc];
}
@end

@implementation MTLArchitecture (Engine)
- (instancetype)initWithName:(NSString *)name {
  if ((self = [super init])) _name = [name copy];
  return self;
}
@end

// Keeps its handler.
@interface HostMTLDeviceObserver : NSObject {
  MTLDeviceNotificationHandler _handler;
}
- (instancetype)initWithHandler:(MTLDeviceNotificationHandler)handler;
@end

@implementation HostMTLDeviceObserver
- (instancetype)initWithHandler:(MTLDeviceNotificationHandler)handler {
  if ((self = [super init])) _handler = [handler copy];
  return self;
}
- (void)dealloc {
  [_handler release];
  [super dealloc];
}
@end

namespace {
NSArray *makeDevices() {
  NSMutableArray *devices = [[NSMutableArray alloc] init];
  for (size_t i = 0; i < hm_device_count(); i++) {
    HostMTLDevice *device = [[HostMTLDevice alloc] initWithEngine:hm_device_at(i)];
    [devices addObject:device];
    [device release];
  }
  return devices;
}

NSArray *allDevices() {
  static NSArray *const devices = makeDevices();
  return devices;
}

// Metal's own references to observers.
pthread_mutex_t observersLock = PTHREAD_MUTEX_INITIALIZER;
NSMutableArray *observers;
}  // namespace

id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
  NSArray *devices = allDevices();
  return [devices count] > 0 ? [[devices objectAtIndex:0] retain] : nil;
}

NSArray<id<MTLDevice>> *MTLCopyAllDevices(void) {
  return [allDevices() copy];
}

NSArray<id<MTLDevice>> *MTLCopyAllDevicesWithObserver(id<NSObject> *observer, MTLDeviceNotificationHandler handler) {
  *observer = [[HostMTLDeviceObserver alloc] initWithHandler:handler];
  pthread_mutex_lock(&observersLock);
  if (!observers) observers = [[NSMutableArray alloc] init];
  [observers addObject:*observer];
  pthread_mutex_unlock(&observersLock);
  return MTLCopyAllDevices();
}

void MTLRemoveDeviceObserver(id<NSObject> observer) {
  [observer retain];  // what the handler captured is released outside of the lock
  pthread_mutex_lock(&observersLock);
  [observers removeObjectIdenticalTo:observer];
  pthread_mutex_unlock(&observersLock);
  [observer release];
}
