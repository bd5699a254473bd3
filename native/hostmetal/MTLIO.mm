// MTLIOCommandQueue with its descriptor, MTLIOCommandBuffer and MTLIOFileHandle.
#import "faces.h"

NSErrorDomain const MTLIOErrorDomain = @"MTLIOErrorDomain";

// The engine holds what is loaded to; the handler's array goes as soon as its blocks have been called, since these may hold the command
// buffer.
@interface HostMTLIOCommandBuffer : NSObject <MTLIOCommandBuffer> {
 @public
  HMIOCommandBuffer _engine;
 @private
  HostMTLIOCommandQueue *_queue;
  NSString *_label;
  NSMutableArray *_handlers;
  NSUInteger _debugGroups;
  BOOL _committed;
}
- (instancetype)initWithQueue:(HostMTLIOCommandQueue *)queue engine:(HMIOCommandBuffer)engine;  // takes engine
- (void)callHandlers;
@end

@implementation MTLIOCommandQueueDescriptor
@synthesize maxCommandBufferCount = _maxCommandBufferCount, priority = _priority, type = _type,
            maxCommandsInFlight = _maxCommandsInFlight, scratchBufferAllocator = _scratchBufferAllocator;

- (instancetype)init {
  if ((self = [super init])) {
    _maxCommandBufferCount = 64;
    _priority = MTLIOPriorityNormal;
  }
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLIOCommandQueueDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setMaxCommandBufferCount:_maxCommandBufferCount];
  [copy setPriority:_priority];
  [copy setType:_type];
  [copy setMaxCommandsInFlight:_maxCommandsInFlight];
  [copy setScratchBufferAllocator:_scratchBufferAllocator];
  return copy;
}

- (void)dealloc {
  [_scratchBufferAllocator release];
  [super dealloc];
}
@end

@implementation HostMTLIOFileHandle
@synthesize label = _label;

- (instancetype)initWithPath:(NSString *)path error:(NSError **)error {
  if (!(self = [super init])) return nil;
  HMError failure = {};
  _engine = hm_io_file_open([path fileSystemRepresentation], &failure);
  if (_engine) return self;
  NSError *const told = hostmetal_error(MTLIOErrorDomain, &failure, nil);
  if (error) *error = told;
  [self release];
  return nil;
}

- (void)dealloc {
  if (_engine) hm_io_file_release(_engine);
  [_label release];
  [super dealloc];
}
@end

@implementation HostMTLIOCommandQueue
@synthesize label = _label;

- (instancetype)initWithDevice:(HMDevice)device descriptor:(MTLIOCommandQueueDescriptor *)descriptor error:(NSError **)error {
  if (!(self = [super init])) return nil;
  const HMIOQueueDescriptor settings = {[descriptor maxCommandBufferCount], [descriptor maxCommandsInFlight],
                                        [descriptor type] == MTLIOCommandQueueTypeSerial, (uint32_t)[descriptor priority]};
  _engine = hm_io_queue_create(device, &settings);
  if (_engine) {
    _scratchBufferAllocator = [[descriptor scratchBufferAllocator] retain];
    return self;
  }
  NSDictionary *const info = @{NSLocalizedDescriptionKey : @"the device makes no I/O command queue"};
  if (error) *error = [NSError errorWithDomain:MTLIOErrorDomain code:MTLIOErrorInternal userInfo:info];
  [self release];
  return nil;
}

- (void)enqueueBarrier {
  hm_io_queue_barrier(_engine);
}

- (id<MTLIOCommandBuffer>)commandBuffer {
  HMIOCommandBuffer engine = hm_io_create(_engine);
  return engine ? [[[HostMTLIOCommandBuffer alloc] initWithQueue:self engine:engine] autorelease] : nil;
}

// The engine holds what is recorded all the same.
- (id<MTLIOCommandBuffer>)commandBufferWithUnretainedReferences {
  return [self commandBuffer];
}

- (void)dealloc {
  if (_engine) hm_io_queue_release(_engine);
  [_scratchBufferAllocator release];
  [_label release];
  [super dealloc];
}
@end

namespace {
// context holds a reference.
void callCompleted(void *context) {
  HostMTLIOCommandBuffer *commandBuffer = (HostMTLIOCommandBuffer *)context;
  hostmetal_call_out("I/O command buffer's completed handler", ^{
    [commandBuffer callHandlers];
    [commandBuffer release];
  });
}
}  // namespace

@implementation HostMTLIOCommandBuffer
@synthesize label = _label;

- (instancetype)initWithQueue:(HostMTLIOCommandQueue *)queue engine:(HMIOCommandBuffer)engine {
  if ((self = [super init])) {
    _queue = [queue retain];
    _engine = engine;
  }
  return self;
}

// ------------------------------------------------------------------ loads

- (HMIOFile)fileOf:(id<MTLIOFileHandle>)handle selector:(SEL)selector {
  if (![(id)handle isKindOfClass:[HostMTLIOFileHandle class]])
    hostmetal_raise(self, selector, "sourceHandle must be a file handle of hostmetal's");
  return ((HostMTLIOFileHandle *)handle)->_engine;
}

- (void)loadBytes:(void *)pointer
                  size:(NSUInteger)size
          sourceHandle:(id<MTLIOFileHandle>)sourceHandle
    sourceHandleOffset:(NSUInteger)sourceHandleOffset {
  HM_CHECK(hm_io_load_bytes(_engine, pointer, size, [self fileOf:sourceHandle selector:_cmd], sourceHandleOffset));
}

- (void)loadBuffer:(id<MTLBuffer>)buffer
                offset:(NSUInteger)offset
                  size:(NSUInteger)size
          sourceHandle:(id<MTLIOFileHandle>)sourceHandle
    sourceHandleOffset:(NSUInteger)sourceHandleOffset {
  HM_REQUIRE(object_getClass(buffer) == [HostMTLBuffer class], "buffer must be one of hostmetal's, and no remote view");
  HM_CHECK(hm_io_load_buffer(_engine, ((HostMTLBuffer *)buffer)->_engine, offset, size,
                             [self fileOf:sourceHandle selector:_cmd], sourceHandleOffset));
}

- (void)loadTexture:(id<MTLTexture>)texture
                  slice:(NSUInteger)slice
                  level:(NSUInteger)level
                   size:(MTLSize)size
      sourceBytesPerRow:(NSUInteger)sourceBytesPerRow
    sourceBytesPerImage:(NSUInteger)sourceBytesPerImage
      destinationOrigin:(MTLOrigin)destinationOrigin
           sourceHandle:(id<MTLIOFileHandle>)sourceHandle
     sourceHandleOffset:(NSUInteger)sourceHandleOffset {
  HM_REQUIRE(object_getClass(texture) == [HostMTLTexture class], "texture must be one of hostmetal's, and no remote view");
  const HMPlace place = {((HostMTLTexture *)texture)->_engine,
                         slice,
                         level,
                         {destinationOrigin.x, destinationOrigin.y, destinationOrigin.z}};
  const uint64_t extents[3] = {size.width, size.height, size.depth};
  const uint64_t distances[2] = {sourceBytesPerRow, sourceBytesPerImage};
  HM_CHECK(hm_io_load_texture(_engine, &place, extents, distances, [self fileOf:sourceHandle selector:_cmd],
                              sourceHandleOffset));
}

- (void)copyStatusToBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset {
  HM_REQUIRE(object_getClass(buffer) == [HostMTLBuffer class], "buffer must be one of hostmetal's, and no remote view");
  HM_CHECK(hm_io_copy_status(_engine, ((HostMTLBuffer *)buffer)->_engine, offset));
}

// ------------------------------------------------------------------ order

- (void)addBarrier {
  HM_CHECK(hm_io_barrier(_engine));
}

- (HMEvent)engineEvent:(id<MTLSharedEvent>)event selector:(SEL)selector {
  if (![(id)event isKindOfClass:[HostMTLEvent class]]) hostmetal_raise(self, selector, "the event must be one of hostmetal's");
  return ((HostMTLEvent *)event)->_engine;
}

- (void)waitForEvent:(id<MTLSharedEvent>)event value:(uint64_t)value {
  HM_CHECK(hm_io_wait_event(_engine, [self engineEvent:event selector:_cmd], value));
}

- (void)signalEvent:(id<MTLSharedEvent>)event value:(uint64_t)value {
  HM_CHECK(hm_io_signal(_engine, [self engineEvent:event selector:_cmd], value));
}

- (void)enqueue {
  HM_CHECK(hm_io_enqueue(_engine));
}

// ------------------------------------------------------------------ submission and outcome

- (void)addCompletedHandler:(MTLIOCommandBufferHandler)block {
  HM_REQUIRE(block != nil, "the handler must not be nil");
  HM_REQUIRE(!_committed, "the I/O command buffer is already committed");
  if (!_handlers) _handlers = [[NSMutableArray alloc] initWithCapacity:1];
  id copy = [block copy];
  [_handlers addObject:copy];
  [copy release];
}

- (void)callHandlers {
  for (MTLIOCommandBufferHandler handler in _handlers) handler(self);
  [_handlers release];
  _handlers = nil;
}

- (void)commit {
  HM_REQUIRE(!_committed, "commit an already committed I/O command buffer");
  _committed = YES;
  const HMNotify completed = _handlers ? callCompleted : nullptr;
  if (completed) [self retain];
  const char *const misuse = hm_io_commit(_engine, completed, self);
  if (!misuse) return;
  if (completed) [self release];
  hostmetal_raise(self, _cmd, misuse);
}

- (void)waitUntilCompleted {
  HM_CHECK(hm_io_wait_completed(_engine));
}

- (void)tryCancel {
  hm_io_cancel(_engine);
}

- (MTLIOStatus)status {
  return (MTLIOStatus)hm_io_status(_engine);
}

- (NSError *)error {
  HMError failure = {};
  return hm_io_error(_engine, &failure) ? hostmetal_error(MTLIOErrorDomain, &failure, nil) : nil;
}

// Groups are for capture tools, which hostmetal has none of; that they balance is checked all the same.
- (void)pushDebugGroup:(NSString *)string {
  HM_REQUIRE(string != nil, "the text must not be nil");
  _debugGroups++;
}

- (void)popDebugGroup {
  HM_REQUIRE(_debugGroups > 0, "there is no debug group to pop");
  _debugGroups--;
}

- (void)dealloc {
  hm_io_release(_engine);
  [_queue release];
  [_label release];
  [_handlers release];
  [super dealloc];
}
@end
