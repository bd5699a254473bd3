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

// The hot path of every submission: one object, no lock, and the class looked up once (GCC's runtime does it by name).
- (HostMTLCommandBuffer *)newCommandBuffer {
  static const Class commandBufferClass = [HostMTLCommandBuffer class];
  HMCommandBuffer engine = hm_command_buffer_create(_engine);
  if (!engine) return nil;
  HostMTLCommandBuffer *made = (HostMTLCommandBuffer *)NSAllocateObject(commandBufferClass, 0, NSDefaultMallocZone());
  made->_engine = engine;
  made->_queue = [self retain];
  made->_retainedReferences = YES;
  if (_logState) [made setLogState:_logState];
  return made;
}

- (id)newCommandBufferRetaining:(BOOL)retainedReferences errorOptions:(NSUInteger)options {
  HostMTLCommandBuffer *made = [self newCommandBuffer];
  if (!made) return nil;
  if (!retainedReferences) [made leaveUnretained];
  made->_errorOptions = (MTLCommandBufferErrorOption)options;
  return made;
}

- (id<MTLCommandBuffer>)commandBuffer {
  return [[self newCommandBuffer] autorelease];
}

- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences {
  return [[self newCommandBufferRetaining:NO errorOptions:MTLCommandBufferErrorOptionNone] autorelease];
}

- (id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HM_CHECK(hostmetal_check_log([descriptor logState], _device));
  HostMTLCommandBuffer *made = [self newCommandBufferRetaining:[descriptor retainedReferences]
                                                 errorOptions:[descriptor errorOptions]];
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
