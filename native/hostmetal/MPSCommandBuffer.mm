// A command buffer that passes on what it is told to another, which commitAndContinue replaces.
#import "performance.h"

@implementation MPSCommandBuffer

+ (instancetype)commandBufferWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer {
  return [[[self alloc] initWithCommandBuffer:commandBuffer] autorelease];
}

+ (instancetype)commandBufferFromCommandQueue:(id<MTLCommandQueue>)commandQueue {
  return [self commandBufferWithCommandBuffer:[commandQueue commandBuffer]];
}

- (instancetype)initWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer {
  if (!(self = [super init])) return nil;
  const bool is_one = object_getClass(commandBuffer) == [HostMTLCommandBuffer class] || [(id)commandBuffer isKindOfClass:[MPSCommandBuffer class]];
  if (!is_one) {
    [self release];
    hostmetal_raise(nil, _cmd, "the command buffer must be one of a device, or an MPSCommandBuffer");
  }
  _commandBuffer = [commandBuffer retain];
  return self;
}

- (id<MTLCommandBuffer>)commandBuffer {
  return _commandBuffer;
}

- (id<MTLCommandBuffer>)rootCommandBuffer {
  const bool wraps = [(id)_commandBuffer isKindOfClass:[MPSCommandBuffer class]];
  return wraps ? [(MPSCommandBuffer *)_commandBuffer rootCommandBuffer] : _commandBuffer;
}

// One that can go on itself is told to; handlers stay with what is committed.
- (void)commitAndContinue {
  if ([(id)_commandBuffer respondsToSelector:_cmd]) {
    [(MPSCommandBuffer *)_commandBuffer commitAndContinue];
    return;
  }
  MTLCommandBufferDescriptor *like = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
  [like setRetainedReferences:[_commandBuffer retainedReferences]];
  [like setErrorOptions:[_commandBuffer errorOptions]];
  [_commandBuffer commit];
  id<MTLCommandBuffer> next = [[[_commandBuffer commandQueue] commandBufferWithDescriptor:like] retain];
  if (!next) hostmetal_raise_no_memory(self, _cmd, "the queue made no further command buffer");
  [_commandBuffer release];
  _commandBuffer = next;
}

// ------------------------------------------------------------------ passed on

- (id<MTLDevice>)device {
  return [_commandBuffer device];
}
- (id<MTLCommandQueue>)commandQueue {
  return [_commandBuffer commandQueue];
}
- (BOOL)retainedReferences {
  return [_commandBuffer retainedReferences];
}
- (MTLCommandBufferErrorOption)errorOptions {
  return [_commandBuffer errorOptions];
}
- (NSString *)label {
  return [_commandBuffer label];
}
- (void)setLabel:(NSString *)label {
  [_commandBuffer setLabel:label];
}
- (CFTimeInterval)kernelStartTime {
  return [_commandBuffer kernelStartTime];
}
- (CFTimeInterval)kernelEndTime {
  return [_commandBuffer kernelEndTime];
}
- (CFTimeInterval)GPUStartTime {
  return [_commandBuffer GPUStartTime];
}
- (CFTimeInterval)GPUEndTime {
  return [_commandBuffer GPUEndTime];
}
- (id<MTLLogContainer>)logs {
  return [_commandBuffer logs];
}
- (MTLCommandBufferStatus)status {
  return [_commandBuffer status];
}
- (NSError *)error {
  return [_commandBuffer error];
}
- (void)enqueue {
  [_commandBuffer enqueue];
}
- (void)commit {
  [_commandBuffer commit];
}
- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
  [_commandBuffer addScheduledHandler:block];
}
- (void)waitUntilScheduled {
  [_commandBuffer waitUntilScheduled];
}
- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
  [_commandBuffer addCompletedHandler:block];
}
- (void)waitUntilCompleted {
  [_commandBuffer waitUntilCompleted];
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
  return [_commandBuffer blitCommandEncoder];
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoderWithDescriptor:(MTLBlitPassDescriptor *)descriptor {
  return [_commandBuffer blitCommandEncoderWithDescriptor:descriptor];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  return [_commandBuffer computeCommandEncoder];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)dispatchType {
  return [_commandBuffer computeCommandEncoderWithDispatchType:dispatchType];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:(MTLComputePassDescriptor *)descriptor {
  return [_commandBuffer computeCommandEncoderWithDescriptor:descriptor];
}
- (void)useResidencySet:(id<MTLResidencySet>)residencySet {
  [_commandBuffer useResidencySet:residencySet];
}
- (void)useResidencySets:(const id<MTLResidencySet> [])residencySets count:(NSUInteger)count {
  [_commandBuffer useResidencySets:residencySets count:count];
}
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
  [_commandBuffer encodeWaitForEvent:event value:value];
}
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
  [_commandBuffer encodeSignalEvent:event value:value];
}
- (void)pushDebugGroup:(NSString *)string {
  [_commandBuffer pushDebugGroup:string];
}
- (void)popDebugGroup {
  [_commandBuffer popDebugGroup];
}

- (void)dealloc {
  [_commandBuffer release];
  [super dealloc];
}
@end
