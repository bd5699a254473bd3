// Compiled graphs: a pass of one command for each operation. What lies between operations is in buffers of the device that go with the command buffer.
//
// With HOSTMETAL_GRAPH_COMMITS=1 each operation is a command buffer of its own but for the last, as Apple's may be.
#import "performance.h"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {
NSUInteger bytes_of(HMGraphShape shape) {
  NSUInteger bytes = (shape.data_type & 0xffff) / 8;
  for (uint32_t axis = 0; axis < shape.rank; axis++) bytes *= shape.extents[axis];
  return bytes;
}
}  // namespace

@implementation MPSGraphTensorData

- (instancetype)initWithMPSNDArray:(MPSNDArray *)ndarray {
  if (!(self = [super init])) return nil;
  if (!ndarray) {
    [self release];
    hostmetal_raise(nil, _cmd, "the array must not be nil");
  }
  _array = [ndarray retain];
  return self;
}

- (MPSShape *)shape {
  return [_array engineShape];
}

- (MPSDataType)dataType {
  return [_array dataType];
}

- (MPSNDArray *)engineArray {
  return _array;
}

- (void)dealloc {
  [_array release];
  [super dealloc];
}
@end

@implementation MPSGraphCompilationDescriptor
@synthesize optimizationLevel = _optimizationLevel, waitForCompilationCompletion = _waitForCompilationCompletion;

- (instancetype)init {
  if ((self = [super init])) _optimizationLevel = MPSGraphOptimizationLevel1;
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MPSGraphCompilationDescriptor *copy = [[[self class] allocWithZone:zone] init];
  copy->_optimizationLevel = _optimizationLevel;
  copy->_waitForCompilationCompletion = _waitForCompilationCompletion;
  return copy;
}
@end

@implementation MPSGraphExecutable
@synthesize options = _options, feedTensors = _feedTensors, targetTensors = _targetTensors;

- (instancetype)initWithDevice:(id<MTLDevice>)device steps:(NSData *)steps tensors:(NSUInteger)tensors feeds:(NSArray *)feeds targets:(NSArray *)targets {
  if (!(self = [super init])) return nil;
  _options = MPSGraphOptionsDefault;
  _device = device;
  _steps = [steps retain];
  _tensors = tensors;
  _feedTensors = [feeds retain];
  _targetTensors = [targets retain];
  return self;
}

// Where the tensors that were given lie.
- (void)put:(NSArray<MPSGraphTensorData *> *)data of:(NSArray<MPSGraphTensor *> *)tensors into:(std::vector<HMGraphMemory> &)memory selector:(SEL)selector {
  if ([data count] != [tensors count]) hostmetal_raise(self, selector, "there must be as many inputs as feeds, and results as targets");
  for (NSUInteger i = 0; i < [data count]; i++) {
    MPSGraphTensorData *given = [data objectAtIndex:i];
    MPSGraphTensor *tensor = [tensors objectAtIndex:i];
    if (![[given shape] isEqual:[tensor shape]] || [given dataType] != [tensor dataType])
      hostmetal_raise(self, selector, "the data must be of the tensor's shape and type");
    if ([[given engineArray] device] != _device) hostmetal_raise(self, selector, "the data is another device's");
    memory[[tensor engineNumber]] = [[given engineArray] engineMemory];
  }
}

- (NSArray<MPSGraphTensorData *> *)encodeToCommandBuffer:(MPSCommandBuffer *)commandBuffer
                                             inputsArray:(NSArray<MPSGraphTensorData *> *)inputsArray
                                            resultsArray:(NSArray<MPSGraphTensorData *> *)resultsArray
                                     executionDescriptor:(MPSGraphExecutableExecutionDescriptor *)executionDescriptor {
  HM_REQUIRE([commandBuffer isKindOfClass:[MPSCommandBuffer class]], "the command buffer must be an MPSCommandBuffer");
  HM_REQUIRE([commandBuffer device] == _device, "the command buffer is another device's");
  HM_REQUIRE(resultsArray != nil, "a results array of nil is not supported by hostmetal");
  HM_REQUIRE(executionDescriptor == nil, "an execution descriptor is not supported by hostmetal");
  std::vector<HMGraphMemory> memory(_tensors, HMGraphMemory{});
  [self put:inputsArray of:_feedTensors into:memory selector:_cmd];
  [self put:resultsArray of:_targetTensors into:memory selector:_cmd];
  HM_REQUIRE(![self overlaps:memory], "a result that overlaps an input or another result is not supported by hostmetal");
  const HMGraphStep *const steps = (const HMGraphStep *)[_steps bytes];
  const NSUInteger count = [_steps length] / sizeof(HMGraphStep);
  NSArray *between = [self bufferBetween:steps count:count memory:memory];
  HM_REQUIRE(between != nil, "there is no memory for what lies between operations");
  const char *const commits = getenv("HOSTMETAL_GRAPH_COMMITS");
  const bool apart = commits && !strcmp(commits, "1");
  for (NSUInteger first = 0; first < count;) {
    const NSUInteger end = apart ? first + 1 : count;
    [self encode:steps + first count:end - first memory:memory to:commandBuffer selector:_cmd];
    if ([between count] > 0) [(HostMTLCommandBuffer *)[commandBuffer rootCommandBuffer] keep:between];
    if (end < count) [commandBuffer commitAndContinue];
    first = end;
  }
  return resultsArray;
}

- (BOOL)overlaps:(const std::vector<HMGraphMemory> &)memory {
  NSArray *const all = [_targetTensors arrayByAddingObjectsFromArray:_feedTensors];
  auto begin = [&](MPSGraphTensor *tensor) {
    const HMGraphMemory &of = memory[[tensor engineNumber]];
    return (uintptr_t)hm_buffer_contents(of.buffer) + of.offset;
  };
  for (NSUInteger i = 0; i < [_targetTensors count]; i++) {
    for (NSUInteger j = i + 1; j < [all count]; j++) {
      MPSGraphTensor *const one = [all objectAtIndex:i], *const other = [all objectAtIndex:j];
      if (begin(one) < begin(other) + bytes_of([other engineShape]) && begin(other) < begin(one) + bytes_of([one engineShape])) return YES;
    }
  }
  return NO;
}

// Buffers of what is neither fed nor a target; nil where the device has no memory for one.
- (NSArray *)bufferBetween:(const HMGraphStep *)steps count:(NSUInteger)count memory:(std::vector<HMGraphMemory> &)memory {
  NSMutableArray *made = [NSMutableArray array];
  for (NSUInteger i = 0; i < count; i++) {
    HMGraphMemory &of = memory[steps[i].result];
    if (of.buffer) continue;
    HostMTLBuffer *buffer = (HostMTLBuffer *)[_device newBufferWithLength:bytes_of(steps[i].node.result) options:MTLResourceStorageModePrivate];
    if (!buffer) return nil;
    of = {buffer->_engine, 0};
    [made addObject:buffer];
    [buffer release];
  }
  return made;
}

- (void)encode:(const HMGraphStep *)steps
         count:(NSUInteger)count
        memory:(const std::vector<HMGraphMemory> &)memory
            to:(MPSCommandBuffer *)commandBuffer
      selector:(SEL)selector {
  HostMTLComputeCommandEncoder *encoder = (HostMTLComputeCommandEncoder *)[commandBuffer computeCommandEncoder];
  if (!encoder) hostmetal_raise_no_memory(self, selector, "the command buffer made no encoder");
  [encoder setLabel:NSStringFromClass([self class])];
  const char *misuse = nullptr;
  for (NSUInteger i = 0; i < count && !misuse; i++) {
    HMGraphMemory given[6] = {};
    for (int input = 0; input < 5; input++) {
      if (steps[i].node.inputs[input].rank > 0) given[input] = memory[steps[i].inputs[input]];
    }
    given[5] = memory[steps[i].result];
    misuse = hm_compute_graph_node(encoder->_engine, &steps[i].node, &given);
  }
  [encoder endEncoding];
  if (misuse) hostmetal_raise(self, selector, misuse);
}

- (void)dealloc {
  [_steps release];
  [_feedTensors release];
  [_targetTensors release];
  [super dealloc];
}
@end
