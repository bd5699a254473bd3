// MTLCommandQueue.
#import "faces.h"

@implementation HostMTLCommandQueue
@synthesize label = _label;

- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMQueue)engine {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}

// The hot path of every submission: one object, no lock, and the class looked up once (GCC's runtime does it by name).
- (HostMTLCommandBuffer *)makeCommandBuffer {
  static const Class commandBufferClass = [HostMTLCommandBuffer class];
  HMCommandBuffer engine = hm_command_buffer_create(_engine);
  if (!engine) return nil;
  HostMTLCommandBuffer *made = (HostMTLCommandBuffer *)NSAllocateObject(commandBufferClass, 0, NSDefaultMallocZone());
  made->_engine = engine;
  made->_queue = [self retain];
  made->_retainedReferences = YES;
  return [made autorelease];
}

- (id<MTLCommandBuffer>)commandBuffer {
  return [self makeCommandBuffer];
}

- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences {
  HostMTLCommandBuffer *made = [self makeCommandBuffer];
  if (made) made->_retainedReferences = NO;
  return made;
}

- (id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HostMTLCommandBuffer *made = [self makeCommandBuffer];
  if (made) {
    made->_retainedReferences = [descriptor retainedReferences];
    made->_errorOptions = [descriptor errorOptions];
  }
  return made;
}

- (void)dealloc {
  hm_queue_release(_engine);
  [_label release];
  [super dealloc];
}
@end
