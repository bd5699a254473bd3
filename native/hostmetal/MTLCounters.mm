// The one counter set, timestamps, and the buffers of its samples.
#import "faces.h"

#include <cstring>

NSErrorDomain const MTLCounterErrorDomain = @"MTLCounterErrorDomain";
MTLCommonCounter MTLCommonCounterTimestamp = @"GPUTimestamp";
MTLCommonCounterSet MTLCommonCounterSetTimestamp = @"timestamp";
// The values of these are our own.
MTLCommonCounter MTLCommonCounterClipperInvocations = @"ClipperInvocations";
MTLCommonCounter MTLCommonCounterClipperPrimitivesOut = @"ClipperPrimitivesOut";
MTLCommonCounter MTLCommonCounterComputeKernelInvocations = @"ComputeKernelInvocations";
MTLCommonCounter MTLCommonCounterFragmentCycles = @"FragmentCycles";
MTLCommonCounter MTLCommonCounterFragmentInvocations = @"FragmentInvocations";
MTLCommonCounter MTLCommonCounterFragmentsPassed = @"FragmentsPassed";
MTLCommonCounter MTLCommonCounterPostTessellationVertexCycles = @"PostTessellationVertexCycles";
MTLCommonCounter MTLCommonCounterPostTessellationVertexInvocations = @"PostTessellationVertexInvocations";
MTLCommonCounter MTLCommonCounterRenderTargetWriteCycles = @"RenderTargetWriteCycles";
MTLCommonCounter MTLCommonCounterTessellationCycles = @"TessellationCycles";
MTLCommonCounter MTLCommonCounterTessellationInputPatches = @"TessellationInputPatches";
MTLCommonCounter MTLCommonCounterTotalCycles = @"TotalCycles";
MTLCommonCounter MTLCommonCounterVertexCycles = @"VertexCycles";
MTLCommonCounter MTLCommonCounterVertexInvocations = @"VertexInvocations";
MTLCommonCounterSet MTLCommonCounterSetStageUtilization = @"stageutilization";
MTLCommonCounterSet MTLCommonCounterSetStatistic = @"statistic";

@interface HostMTLCounter : NSObject <MTLCounter>
@end
@implementation HostMTLCounter
- (NSString *)name {
  return MTLCommonCounterTimestamp;
}
@end

@interface HostMTLCounterSet : NSObject <MTLCounterSet> {
  NSArray<id<MTLCounter>> *_counters;
}
@end
@implementation HostMTLCounterSet
@synthesize counters = _counters;

- (instancetype)init {
  if ((self = [super init])) {
    HostMTLCounter *counter = [[HostMTLCounter alloc] init];
    _counters = [[NSArray alloc] initWithObjects:counter, nil];
    [counter release];
  }
  return self;
}

- (NSString *)name {
  return MTLCommonCounterSetTimestamp;
}

- (void)dealloc {
  [_counters release];
  [super dealloc];
}
@end

id<MTLCounterSet> hostmetal_timestamps(void) {
  static HostMTLCounterSet *const timestamps = [[HostMTLCounterSet alloc] init];
  return timestamps;
}

HMBuffer hostmetal_samples(id<MTLCounterSampleBuffer> samples, NSUInteger index, id object, SEL selector) {
  if (object_getClass(samples) != [HostMTLCounterSampleBuffer class])
    hostmetal_raise(object, selector, "the sample buffer must be one of this device");
  if (index >= [samples sampleCount]) hostmetal_raise(object, selector, "the sample index must be < sampleCount");
  return ((HostMTLCounterSampleBuffer *)samples)->_engine;
}

@implementation MTLCounterSampleBufferDescriptor
@synthesize counterSet = _counterSet, label = _label, storageMode = _storageMode, sampleCount = _sampleCount;

- (instancetype)init {
  if ((self = [super init])) _label = @"";
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLCounterSampleBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setCounterSet:[self counterSet]];
  [copy setLabel:[self label]];
  [copy setStorageMode:[self storageMode]];
  [copy setSampleCount:[self sampleCount]];
  return copy;
}

- (void)dealloc {
  [_counterSet release];
  [_label release];
  [super dealloc];
}
@end

@implementation HostMTLCounterSampleBuffer
@synthesize label = _label, sampleCount = _sampleCount;

- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMBuffer)engine
                    descriptor:(MTLCounterSampleBufferDescriptor *)descriptor {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
    _label = [[descriptor label] copy];
    _sampleCount = [descriptor sampleCount];
    _storageMode = [descriptor storageMode];
    memset(hm_buffer_contents(engine), 0xff, _sampleCount * 8);  // MTLCounterErrorValue: not taken
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}

- (NSData *)resolveCounterRange:(NSRange)range {
  HM_REQUIRE(_storageMode == MTLStorageModeShared, "is for sample buffers of shared storage");
  HM_REQUIRE(range.location <= _sampleCount && range.length <= _sampleCount - range.location,
             "the range exceeds the sample buffer");
  const uint64_t *const samples = (const uint64_t *)hm_buffer_contents(_engine);
  return [NSData dataWithBytes:samples + range.location length:range.length * 8];
}

- (void)dealloc {
  hm_buffer_release(_engine);
  [_label release];
  [super dealloc];
}
@end
