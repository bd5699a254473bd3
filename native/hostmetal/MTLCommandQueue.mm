// MTLCommandQueue.
#import "faces.h"

@implementation MTLCommandQueueDescriptor
@synthesize maxCommandBufferCount = _maxCommandBufferCount, logState = _logState;

- (instancetype)init {
  if ((self = [super init])) _maxCommandBufferCount = 64;
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLCommandQueueDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setMaxCommandBufferCount:_maxCommandBufferCount];
  [copy setLogState:_logState];
  return copy;
}

- (void)dealloc {
  [_logState release];
  [super dealloc];
}
@end

namespace {
// The hot path of every submission: one object, no lock, and the class looked up once (GCC's runtime does it by name).
HostMTLCommandBuffer *newCommandBuffer(HostMTLCommandQueue *queue, BOOL retains, MTLCommandBufferErrorOption options) {
  static const Class commandBufferClass = [HostMTLCommandBuffer class];
  // First what may raise: the engine's counts against the queue's limit.
  HostMTLCommandBuffer *made = (HostMTLCommandBuffer *)NSAllocateObject(commandBufferClass, 0, NSDefaultMallocZone());
  made->_engine = hm_command_buffer_create(queue->_engine);
  if (!made->_engine) {
    NSDeallocateObject(made);
    return nil;
  }
  made->_queue = [queue retain];
  made->_retainedReferences = YES;
  made->_errorOptions = options;
  if (queue->_logState) [made setLogState:queue->_logState];
  if (!retains) [made leaveUnretained];
  return made;
}
}  // namespace

@implementation HostMTLCommandQueue
@synthesize label = _label;

- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMQueue)engine {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
    _residencySets = [[HostMTLResidencySets alloc] init];
    _logState = [hostmetal_environment_log() retain];
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}

- (id)newCommandBufferRetaining:(BOOL)retainedReferences errorOptions:(NSUInteger)options {
  return newCommandBuffer(self, retainedReferences, (MTLCommandBufferErrorOption)options);
}

- (id<MTLCommandBuffer>)commandBuffer {
  return [newCommandBuffer(self, YES, MTLCommandBufferErrorOptionNone) autorelease];
}

- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences {
  return [newCommandBuffer(self, NO, MTLCommandBufferErrorOptionNone) autorelease];
}

- (id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HM_CHECK(hostmetal_check_log([descriptor logState], _device));
  HostMTLCommandBuffer *made = newCommandBuffer(self, [descriptor retainedReferences], [descriptor errorOptions]);
  if (made && [descriptor logState]) [made setLogState:(HostMTLLogState *)[descriptor logState]];
  return [made autorelease];
}

// ------------------------------------------------------------------ residency sets

- (void)addResidencySets:(const id<MTLResidencySet> [])sets count:(NSUInteger)count {
  HM_CHECK([_residencySets add:sets count:count device:_device]);
}

- (void)addResidencySet:(id<MTLResidencySet>)set {
  HM_CHECK([_residencySets add:&set count:1 device:_device]);
}

- (void)removeResidencySets:(const id<MTLResidencySet> [])sets count:(NSUInteger)count {
  HM_CHECK([_residencySets remove:sets count:count]);
}

- (void)removeResidencySet:(id<MTLResidencySet>)set {
  HM_CHECK([_residencySets remove:&set count:1]);
}

// For capture tools, which hostmetal has none of.
- (void)insertDebugCaptureBoundary {
}

- (void)dealloc {
  hm_queue_release(_engine);
  [_label release];
  [_residencySets release];
  [_logState release];
  [super dealloc];
}
@end
