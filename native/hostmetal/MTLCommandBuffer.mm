// MTLCommandBuffer, its descriptor, and what its error tells of encoders.
#import "faces.h"

NSErrorDomain const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";
NSErrorUserInfoKey const MTLCommandBufferEncoderInfoErrorKey = @"MTLCommandBufferEncoderInfoErrorKey";

@interface HostMTLCommandBufferEncoderInfo : NSObject <MTLCommandBufferEncoderInfo> {
  NSString *_label;
  NSArray<NSString *> *_debugSignposts;
  MTLCommandEncoderErrorState _errorState;
}
- (instancetype)initWithCommandBuffer:(HMCommandBuffer)commandBuffer index:(size_t)index;
@end

@implementation HostMTLCommandBufferEncoderInfo
@synthesize label = _label, debugSignposts = _debugSignposts, errorState = _errorState;

- (instancetype)initWithCommandBuffer:(HMCommandBuffer)commandBuffer index:(size_t)index {
  if ((self = [super init])) {
    HMEncoderInfo info = {"", MTLCommandEncoderErrorStateUnknown, 0};
    hm_command_buffer_encoder(commandBuffer, index, &info);
    NSMutableArray *signposts = [[NSMutableArray alloc] initWithCapacity:info.signpost_count];
    for (size_t i = 0; i < info.signpost_count; i++) {
      const char *text = hm_command_buffer_encoder_signpost(commandBuffer, index, i);
      [signposts addObject:[NSString stringWithUTF8String:text]];
    }
    _label = [[NSString alloc] initWithUTF8String:info.label];
    _debugSignposts = signposts;
    _errorState = (MTLCommandEncoderErrorState)info.state;
  }
  return self;
}

- (void)dealloc {
  [_label release];
  [_debugSignposts release];
  [super dealloc];
}
@end

@implementation MTLCommandBufferDescriptor
@synthesize retainedReferences = _retainedReferences, errorOptions = _errorOptions, logState = _logState;

- (instancetype)init {
  if ((self = [super init])) _retainedReferences = YES;
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLCommandBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setRetainedReferences:_retainedReferences];
  [copy setErrorOptions:_errorOptions];
  [copy setLogState:_logState];
  return copy;
}

- (void)dealloc {
  [_logState release];
  [super dealloc];
}
@end

namespace {
void dropHandlers(HostHandlers *handlers) {
  if (handlers->first) Block_release(handlers->first);
  if (handlers->more) [handlers->more release];
  *handlers = {};
}

// The engine's two calls after a commit; context holds one reference for each.
void callScheduled(void *context);
void callCompleted(void *context);

void releaseKept(void *context) {
  hostmetal_call_out("deallocator", ^{
    [(id)context release];
  });
}
}  // namespace

@interface HostMTLCommandBuffer (Calls)
- (void)callScheduledHandlers;
- (void)callCompletedHandlers;
@end

namespace {
void callScheduled(void *context) {
  HostMTLCommandBuffer *commandBuffer = (HostMTLCommandBuffer *)context;
  hostmetal_call_out("command buffer's scheduled handler", ^{
    [commandBuffer callScheduledHandlers];
    [commandBuffer release];
  });
}

void callCompleted(void *context) {
  HostMTLCommandBuffer *commandBuffer = (HostMTLCommandBuffer *)context;
  hostmetal_call_out("command buffer's completed handler", ^{
    [commandBuffer callCompletedHandlers];
    [commandBuffer release];
  });
}

// What a handler captures may hold the command buffer, so each goes as soon as all have been called.
void callAndDrop(HostHandlers *handlers, id<MTLCommandBuffer> commandBuffer) {
  if (handlers->first) handlers->first(commandBuffer);
  for (MTLCommandBufferHandler handler in handlers->more) handler(commandBuffer);
  dropHandlers(handlers);
}

// What it raises is told of Metal's method.
HostMTLComputeCommandEncoder *newComputeEncoder(HostMTLCommandBuffer *commandBuffer, NSUInteger dispatchType) {
  static const Class encoderClass = [HostMTLComputeCommandEncoder class];
  const SEL selector = @selector(computeCommandEncoderWithDispatchType:);
  if (dispatchType > MTLDispatchTypeConcurrent) hostmetal_raise(commandBuffer, selector, "unknown dispatch type");
  // First what may raise: an encoder of the engine's that nobody has could not be ended.
  HostMTLComputeCommandEncoder *encoder = (HostMTLComputeCommandEncoder *)[encoderClass alloc];
  const char *misuse = nullptr;
  HMEncoder engine =
      hm_compute_encoder_create(commandBuffer->_engine, dispatchType == MTLDispatchTypeConcurrent, &misuse);
  if (!engine) {
    NSDeallocateObject(encoder);
    if (misuse) hostmetal_raise(commandBuffer, selector, misuse);
    return nil;
  }
  encoder = [encoder initWithCommandBuffer:commandBuffer engine:engine];
  encoder->_dispatchType = (MTLDispatchType)dispatchType;
  return encoder;
}
}  // namespace

@implementation HostMTLCommandBuffer
@synthesize label = _label, retainedReferences = _retainedReferences, errorOptions = _errorOptions;

- (id<MTLDevice>)device {
  return _queue->_device;
}

- (id<MTLCommandQueue>)commandQueue {
  return _queue;
}

// ------------------------------------------------------------------ submission

- (void)leaveUnretained {
  _retainedReferences = NO;
  hm_command_buffer_leave_unretained(_engine);
}

- (void)enqueue {
  HM_CHECK(hm_command_buffer_enqueue(_engine));
}

- (void)setLogState:(HostMTLLogState *)logState {
  [logState retain];
  [_logState release];
  _logState = logState;
  hm_command_buffer_set_log(_engine, logState->_engine);
}

- (void)keep:(id)object {
  if (!_kept) _kept = [[NSMutableArray alloc] initWithCapacity:1];
  [_kept addObject:object];
}

- (void)useResidencySets:(const id<MTLResidencySet> [])sets count:(NSUInteger)count {
  HM_REQUIRE(hm_command_buffer_status(_engine) < MTLCommandBufferStatusCommitted, "the command buffer is already committed");
  if (!_residencySets) _residencySets = [[HostMTLResidencySets alloc] init];
  HM_CHECK([_residencySets add:sets count:count device:[self device]]);
}

- (void)useResidencySet:(id<MTLResidencySet>)set {
  HM_REQUIRE(hm_command_buffer_status(_engine) < MTLCommandBufferStatusCommitted, "the command buffer is already committed");
  if (!_residencySets) _residencySets = [[HostMTLResidencySets alloc] init];
  HM_CHECK([_residencySets add:&set count:1 device:[self device]]);
}

// What residency sets hold at the commit is kept as what was recorded is, whether this object is or not.
- (void)giveKeptToEngine {
  for (NSArray *allocations in [_queue->_residencySets committedAllocations]) [self keep:allocations];
  for (NSArray *allocations in [_residencySets committedAllocations]) [self keep:allocations];
  if (!_kept) return;
  NSMutableArray *const kept = _kept;
  _kept = nil;
  if (!hm_command_buffer_keep(_engine, kept, releaseKept)) [kept release];  // it was committed before
}

// Each call that the engine will make holds a reference; without handlers it makes none.
- (void)commit {
  [self giveKeptToEngine];
  const HMNotify scheduled = _scheduledHandlers.first ? callScheduled : nullptr;
  const HMNotify completed = _completedHandlers.first || _logState ? callCompleted : nullptr;
  if (scheduled) [self retain];
  if (completed) [self retain];
  const char *const misuse = hm_command_buffer_commit(_engine, scheduled, completed, self);
  if (!misuse) return;
  if (scheduled) [self release];
  if (completed) [self release];
  hostmetal_raise(self, _cmd, misuse);
}

- (void)addHandler:(MTLCommandBufferHandler)handler to:(HostHandlers *)handlers selector:(SEL)selector {
  if (!handler) hostmetal_raise(self, selector, "the handler must not be nil");
  if (hm_command_buffer_status(_engine) >= MTLCommandBufferStatusCommitted)
    hostmetal_raise(self, selector, "the command buffer is already committed");
  if (!handlers->first) {
    handlers->first = Block_copy(handler);
    return;
  }
  if (!handlers->more) handlers->more = [[NSMutableArray alloc] initWithCapacity:1];
  MTLCommandBufferHandler copy = Block_copy(handler);
  [handlers->more addObject:copy];
  Block_release(copy);
}

- (void)addScheduledHandler:(MTLCommandBufferHandler)handler {
  [self addHandler:handler to:&_scheduledHandlers selector:_cmd];
}

- (void)addCompletedHandler:(MTLCommandBufferHandler)handler {
  [self addHandler:handler to:&_completedHandlers selector:_cmd];
}

- (void)callScheduledHandlers {
  callAndDrop(&_scheduledHandlers, self);
}

// The log's handlers may hold the command buffer, as completed handlers may: neither is kept behind their last call.
- (void)callCompletedHandlers {
  [_logState tell];
  [_logState release];
  _logState = nil;
  callAndDrop(&_completedHandlers, self);
}

- (void)waitUntilScheduled {
  HM_CHECK(hm_command_buffer_wait_scheduled(_engine));
}

- (void)waitUntilCompleted {
  HM_CHECK(hm_command_buffer_wait_completed(_engine));
}

// ------------------------------------------------------------------ outcome

- (id<MTLLogContainer>)logs {
  return [[[HostMTLLogContainer alloc] init] autorelease];
}

- (MTLCommandBufferStatus)status {
  return (MTLCommandBufferStatus)hm_command_buffer_status(_engine);
}

- (NSError *)error {
  HMError failure = {};
  if (!hm_command_buffer_error(_engine, &failure)) return nil;
  NSDictionary *more = nil;
  if (_errorOptions & MTLCommandBufferErrorOptionEncoderExecutionStatus) {
    const size_t count = hm_command_buffer_encoder_count(_engine);
    NSMutableArray *encoders = [NSMutableArray arrayWithCapacity:count];
    for (size_t i = 0; i < count; i++) {
      id info = [[HostMTLCommandBufferEncoderInfo alloc] initWithCommandBuffer:_engine index:i];
      [encoders addObject:info];
      [info release];
    }
    more = @{MTLCommandBufferEncoderInfoErrorKey : encoders};
  }
  return hostmetal_error(MTLCommandBufferErrorDomain, &failure, more);
}

- (HMTimes)times {
  HMTimes times = {};
  hm_command_buffer_times(_engine, &times);
  return times;
}
- (CFTimeInterval)kernelStartTime {
  return [self times].kernel_start;
}
- (CFTimeInterval)kernelEndTime {
  return [self times].kernel_end;
}
- (CFTimeInterval)GPUStartTime {
  return [self times].gpu_start;
}
- (CFTimeInterval)GPUEndTime {
  return [self times].gpu_end;
}

// ------------------------------------------------------------------ encoders

- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  return [self computeCommandEncoderWithDispatchType:MTLDispatchTypeSerial];
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)dispatchType {
  return [newComputeEncoder(self, dispatchType) autorelease];
}

- (id)newComputeCommandEncoderWithDispatchType:(NSUInteger)dispatchType {
  return newComputeEncoder(self, dispatchType);
}

- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
  const char *misuse = nullptr;
  HMEncoder engine = hm_blit_encoder_create(_engine, &misuse);
  HM_CHECK(misuse);
  return engine ? [[[HostMTLBlitCommandEncoder alloc] initWithCommandBuffer:self engine:engine] autorelease] : nil;
}

// Checked before the encoder is opened.
- (void)requireSamples:(id<MTLCounterSampleBuffer>)samples
                 start:(NSUInteger)start
                   end:(NSUInteger)end
              selector:(SEL)selector {
  if (!samples) return;
  if (start != MTLCounterDontSample) hostmetal_samples(samples, start, self, selector);
  if (end != MTLCounterDontSample) hostmetal_samples(samples, end, self, selector);
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:(MTLComputePassDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  MTLComputePassSampleBufferAttachmentDescriptorArray *all = [descriptor sampleBufferAttachments];
  for (NSUInteger i = 0; i < HM_PASS_ATTACHMENTS; i++) {
    MTLComputePassSampleBufferAttachmentDescriptor *at = [all objectAtIndexedSubscript:i];
    [self requireSamples:[at sampleBuffer]
                   start:[at startOfEncoderSampleIndex]
                     end:[at endOfEncoderSampleIndex]
                selector:_cmd];
  }
  HostMTLComputeCommandEncoder *encoder =
      (HostMTLComputeCommandEncoder *)[self computeCommandEncoderWithDispatchType:[descriptor dispatchType]];
  for (NSUInteger i = 0; i < HM_PASS_ATTACHMENTS; i++) {
    MTLComputePassSampleBufferAttachmentDescriptor *at = [all objectAtIndexedSubscript:i];
    [encoder sampleInBuffer:[at sampleBuffer] start:[at startOfEncoderSampleIndex] end:[at endOfEncoderSampleIndex]];
  }
  return encoder;
}

- (id<MTLBlitCommandEncoder>)blitCommandEncoderWithDescriptor:(MTLBlitPassDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  MTLBlitPassSampleBufferAttachmentDescriptorArray *all = [descriptor sampleBufferAttachments];
  for (NSUInteger i = 0; i < HM_PASS_ATTACHMENTS; i++) {
    MTLBlitPassSampleBufferAttachmentDescriptor *at = [all objectAtIndexedSubscript:i];
    [self requireSamples:[at sampleBuffer]
                   start:[at startOfEncoderSampleIndex]
                     end:[at endOfEncoderSampleIndex]
                selector:_cmd];
  }
  HostMTLBlitCommandEncoder *encoder = (HostMTLBlitCommandEncoder *)[self blitCommandEncoder];
  for (NSUInteger i = 0; i < HM_PASS_ATTACHMENTS; i++) {
    MTLBlitPassSampleBufferAttachmentDescriptor *at = [all objectAtIndexedSubscript:i];
    [encoder sampleInBuffer:[at sampleBuffer] start:[at startOfEncoderSampleIndex] end:[at endOfEncoderSampleIndex]];
  }
  return encoder;
}

// ------------------------------------------------------------------ events

- (HMEvent)engineEvent:(id<MTLEvent>)event selector:(SEL)selector {
  if (![(id)event isKindOfClass:[HostMTLEvent class]]) hostmetal_raise(self, selector, "the event must be one of hostmetal's");
  return ((HostMTLEvent *)event)->_engine;
}

- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
  HM_CHECK(hm_command_buffer_wait_event(_engine, [self engineEvent:event selector:_cmd], value));
}

- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
  HM_CHECK(hm_command_buffer_signal(_engine, [self engineEvent:event selector:_cmd], value));
}

// Groups of a command buffer are for capture tools, which hostmetal has none of; that they balance is checked all the same.
- (void)pushDebugGroup:(NSString *)text {
  HM_REQUIRE(text != nil, "the text must not be nil");
  _debugGroups++;
}

- (void)popDebugGroup {
  HM_REQUIRE(_debugGroups > 0, "there is no debug group to pop");
  _debugGroups--;
}

- (void)dealloc {
  hm_command_buffer_release(_engine);
  [_queue release];
  // Most have none of these, and a message to nil costs a look-up too.
  const id held[] = {_label, _residencySets, _kept, _logState};
  for (const id one : held) {
    if (one) [one release];
  }
  dropHandlers(&_scheduledHandlers);
  dropHandlers(&_completedHandlers);
  [super dealloc];
}
@end
