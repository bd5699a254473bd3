// MTLEvent, MTLSharedEvent with its listener and handle, and MTLFence.
#import "faces.h"

namespace {
NSString *labelOf(HMEvent event) {
  char *text = hm_event_label(event);
  NSString *label = *text ? [NSString stringWithUTF8String:text] : nil;
  hm_string_release(text);
  return label;
}
}  // namespace

@implementation HostMTLEvent

- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMEvent)engine {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}

- (NSString *)label {
  return labelOf(_engine);
}

- (void)setLabel:(NSString *)label {
  hm_event_set_label(_engine, label ? [label UTF8String] : "");
}

- (BOOL)isEqual:(id)other {
  return [other isKindOfClass:[HostMTLEvent class]] && ((HostMTLEvent *)other)->_engine == _engine;
}

- (NSUInteger)hash {
  return (NSUInteger)_engine >> 4;
}

- (void)dealloc {
  hm_event_release(_engine);
  [super dealloc];
}
@end

namespace {
typedef void (^Reached)(HMEvent event, uint64_t value);

void callReached(void *context, HMEvent event, uint64_t value) {
  Reached reached = (Reached)context;
  hostmetal_call_out("shared event's notification", ^{
    if (event) reached(event, value);
    [reached release];
  });
}
}  // namespace

@implementation HostMTLSharedEvent

- (uint64_t)signaledValue {
  return hm_event_value(_engine);
}

- (void)setSignaledValue:(uint64_t)value {
  hm_event_signal(_engine, value);
}

- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds {
  return hm_event_wait(_engine, value, milliseconds);
}

// What waits holds no face of the event, or an event that is never signaled would keep itself: the block is given another
// face of it, equal to this one.
- (void)notifyListener:(MTLSharedEventListener *)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block {
  HM_REQUIRE(listener != nil, "the listener must not be nil");
  HM_REQUIRE(block != nil, "the block must not be nil");
  HostMTLDevice *device = (HostMTLDevice *)[self device];
  MTLSharedEventNotificationBlock told = [[block copy] autorelease];
  Reached reached = [^(HMEvent event, uint64_t reachedValue) {
    HostMTLSharedEvent *face = [[[HostMTLSharedEvent alloc] initWithDevice:device engine:event] autorelease];
    dispatch_async([listener dispatchQueue], ^{
      told(face, reachedValue);
    });
  } copy];
  hm_event_notify(_engine, value, callReached, reached);
}

- (MTLSharedEventHandle *)newSharedEventHandle {
  return [[MTLSharedEventHandle alloc] initWithEvent:hm_event_share(_engine)];
}
@end

@implementation MTLSharedEventHandle

- (instancetype)initWithEvent:(HMEvent)event {
  if ((self = [super init])) _event = event;
  return self;
}

- (HMEvent)engineEvent {
  return (HMEvent)_event;
}

- (NSString *)label {
  return labelOf((HMEvent)_event);
}

- (void)dealloc {
  hm_event_release((HMEvent)_event);
  [super dealloc];
}
@end

@implementation MTLSharedEventListener
@synthesize dispatchQueue = _dispatchQueue;

- (instancetype)init {
  dispatch_queue_t queue = dispatch_queue_create("MTLSharedEventListener", DISPATCH_QUEUE_SERIAL);
  self = [self initWithDispatchQueue:queue];
  dispatch_release(queue);
  return self;
}

- (instancetype)initWithDispatchQueue:(dispatch_queue_t)dispatchQueue {
  if (!dispatchQueue) {
    Class face = [self class];
    [self release];
    hostmetal_raise(face, _cmd, "the queue must not be nil");
  }
  if ((self = [super init])) {
    dispatch_retain(dispatchQueue);
    _dispatchQueue = dispatchQueue;
  }
  return self;
}

+ (MTLSharedEventListener *)sharedListener {
  static MTLSharedEventListener *const shared = [[MTLSharedEventListener alloc] init];
  return shared;
}

- (void)dealloc {
  if (_dispatchQueue) dispatch_release(_dispatchQueue);
  [super dealloc];
}
@end

@implementation HostMTLFence
@synthesize label = _label;

- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMFence)engine {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}

- (void)dealloc {
  hm_fence_release(_engine);
  [_label release];
  [super dealloc];
}
@end
