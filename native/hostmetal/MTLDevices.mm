// The list of devices and who watches it, and MTLArchitecture. Devices come and go when the program asks for it (hostmetal.h), or the
// environment. Faults on purpose.
#import "faces.h"

#import "hostmetal.h"

#include <dispatch/dispatch.h>
#include <mutex>
#include <stdio.h>

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
- (void)tell:(MTLDeviceNotificationName)name of:(id<MTLDevice>)device;
@end

@implementation HostMTLDeviceObserver
- (instancetype)initWithHandler:(MTLDeviceNotificationHandler)handler {
  if ((self = [super init])) _handler = [handler copy];
  return self;
}
- (void)tell:(MTLDeviceNotificationName)name of:(id<MTLDevice>)device {
  if (_handler) _handler(device, name);
}
- (void)dealloc {
  [_handler release];
  [super dealloc];
}
@end

namespace {
std::mutex lock;
NSMutableArray *made;       // every device that there ever was
NSMutableArray *observers;  // Metal's own references to them

// The one object of a device of the engine; not retained, since it lives as long as the process.
HostMTLDevice *deviceOf(HMDevice engine) {
  std::lock_guard<std::mutex> guard(lock);
  if (!made) made = [[NSMutableArray alloc] init];
  for (HostMTLDevice *device in made)
    if (device->_engine == engine) return device;
  HostMTLDevice *device = [[HostMTLDevice alloc] initWithEngine:engine];
  [made addObject:device];
  [device release];
  return device;
}

// Called on any thread of the engine. Observers are told on another one, in the order of the changes.
void changed(HMDevice engine, uint32_t change) {
  static const dispatch_queue_t queue = dispatch_queue_create("hostmetal.devices", DISPATCH_QUEUE_SERIAL);
  const MTLDeviceNotificationName names[] = {MTLDeviceWasAddedNotification, MTLDeviceRemovalRequestedNotification,
                                             MTLDeviceWasRemovedNotification};
  const MTLDeviceNotificationName name = names[change];
  dispatch_async(queue, ^{
    hostmetal_call_out("device notification handler", ^{
      HostMTLDevice *const device = deviceOf(engine);
      NSArray *watching = nil;
      {
        std::lock_guard<std::mutex> guard(lock);
        watching = [[observers copy] autorelease];
      }
      for (HostMTLDeviceObserver *observer in watching) [observer tell:name of:device];
    });
  });
}
}  // namespace

id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
  hostmetal::make_strings();
  HMDevice engine = hm_device_at(0);
  return engine ? [deviceOf(engine) retain] : nil;
}

NSArray<id<MTLDevice>> *MTLCopyAllDevices(void) {
  hostmetal::make_strings();
  HMDevice engines[16];
  const size_t count = hm_devices(engines, sizeof engines / sizeof *engines);
  NSMutableArray *devices = [[NSMutableArray alloc] init];
  for (size_t i = 0; i < count; i++) [devices addObject:deviceOf(engines[i])];
  return devices;
}

NSArray<id<MTLDevice>> *MTLCopyAllDevicesWithObserver(id<NSObject> *observer, MTLDeviceNotificationHandler handler) {
  hostmetal::make_strings();
  *observer = [[HostMTLDeviceObserver alloc] initWithHandler:handler];
  hm_devices_watch(changed);
  {
    std::lock_guard<std::mutex> guard(lock);
    if (!observers) observers = [[NSMutableArray alloc] init];
    [observers addObject:*observer];
  }
  // After that, so that no change is missed.
  return MTLCopyAllDevices();
}

void MTLRemoveDeviceObserver(id<NSObject> observer) {
  [observer retain];  // what the handler captured is released outside of the lock
  {
    std::lock_guard<std::mutex> guard(lock);
    [observers removeObjectIdenticalTo:observer];
  }
  [observer release];
}

bool hostmetal_request_device_removal(size_t number) {
  return hm_device_request_removal(number);
}
bool hostmetal_remove_device(size_t number) {
  return hm_device_remove(number);
}
bool hostmetal_add_device(size_t number) {
  return hm_device_add(number);
}
bool hostmetal_set_faults(const char *rules, char *why, size_t size) {
  HMError error = {};
  const bool set = hm_faults_set(rules, &error);
  if (why && size > 0) snprintf(why, size, "%s", error.message ? error.message : "");
  hm_string_release(error.message);
  return set;
}
void hostmetal_overlap_passes(uint64_t seed) {
  hm_overlap_set(seed);
}
uint64_t hostmetal_count_overtaken(void) {
  return hm_overlap_count();
}
bool hostmetal_count_faults(const char *site, size_t *events, size_t *injected) {
  uint64_t counts[2] = {};
  if (!hm_faults_count(site, &counts[0], &counts[1])) return false;
  *events = counts[0];
  *injected = counts[1];
  return true;
}
