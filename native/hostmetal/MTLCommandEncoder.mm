// What every encoder does: device, label, debug groups and signposts, the end.
#import "faces.h"

#include <sched.h>

namespace {
// What most labels are: short, and of ASCII. `UTF8String` makes an object, and `getCString:maxLength:encoding:` of GNUstep 1.28
// writes behind its buffer, and leaves out what is not ASCII at a constant string's end.
template <size_t N> bool plain(NSString *string, char (&text)[N]) {
  unichar characters[N];
  const NSUInteger length = [string length];
  if (length >= N) return false;
  [string getCharacters:characters range:NSMakeRange(0, length)];
  for (NSUInteger i = 0; i < length; i++) {
    if (characters[i] == 0 || characters[i] > 0x7f) return false;
    text[i] = (char)characters[i];
  }
  text[length] = '\0';
  return true;
}

// Of a label. `@synchronized` costs more than all the rest of setting one, which is done for every launch.
void lock(BOOL *word) {
  while (__atomic_test_and_set(word, __ATOMIC_ACQUIRE)) sched_yield();
}

void unlock(BOOL *word) {
  __atomic_clear(word, __ATOMIC_RELEASE);
}
}  // namespace

@implementation HostMTLCommandEncoder

- (instancetype)initWithCommandBuffer:(HostMTLCommandBuffer *)commandBuffer engine:(HMEncoder)engine {
  if ((self = [super init])) {
    _commandBuffer = [commandBuffer retain];
    _engine = engine;
  }
  return self;
}

- (void)requireOpen:(SEL)selector {
  if (hm_encoder_ended(_engine)) hostmetal_raise(self, selector, "the encoder has ended");
}

- (void)keep:(id)object {
  [_commandBuffer keep:object];
}

- (id<MTLDevice>)device {
  return [_commandBuffer device];
}

- (NSString *)label {
  lock(&_labelLocked);
  NSString *label = [_label retain];
  unlock(&_labelLocked);
  return [label autorelease];
}

- (void)setLabel:(NSString *)label {
  NSString *copy = [label copy];
  lock(&_labelLocked);
  NSString *before = _label;
  _label = copy;
  unlock(&_labelLocked);
  [before release];
  char text[128];
  if (plain(copy, text)) {
    hm_encoder_set_label(_engine, text);
    return;
  }
  @autoreleasepool {
    hm_encoder_set_label(_engine, [copy UTF8String]);
  }
}

- (void)insertDebugSignpost:(NSString *)text {
  HM_REQUIRE(text != nil, "the text must not be nil");
  [self requireOpen:_cmd];
  hm_encoder_insert_signpost(_engine, [text UTF8String]);
}

- (void)pushDebugGroup:(NSString *)text {
  HM_REQUIRE(text != nil, "the text must not be nil");
  [self requireOpen:_cmd];
  hm_encoder_push_group(_engine, [text UTF8String]);
}

- (void)popDebugGroup {
  HM_CHECK(hm_encoder_pop_group(_engine));
}

- (void)barrierAfterQueueStages:(MTLStages)afterQueueStages beforeStages:(MTLStages)beforeStages {
  HM_REQUIRE(afterQueueStages != 0 && beforeStages != 0, "there must be stages after and before the barrier");
  [self requireOpen:_cmd];
  hm_encoder_queue_barrier(_engine);
}

- (HMFence)engineFence:(id<MTLFence>)fence selector:(SEL)selector {
  if (object_getClass(fence) != [HostMTLFence class]) hostmetal_raise(self, selector, "the fence must be one of this device");
  return ((HostMTLFence *)fence)->_engine;
}

- (void)updateFence:(id<MTLFence>)fence {
  HM_CHECK(hm_encoder_update_fence(_engine, [self engineFence:fence selector:_cmd]));
}

- (void)waitForFence:(id<MTLFence>)fence {
  HM_CHECK(hm_encoder_wait_for_fence(_engine, [self engineFence:fence selector:_cmd]));
}

// Commands of an encoder begin in order, and a sample ends what may overlap before it: there is always a barrier.
- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)samples
                 atSampleIndex:(NSUInteger)index
                   withBarrier:(BOOL)barrier {
  (void)barrier;
  HM_CHECK(hm_encoder_sample(_engine, hostmetal_samples(samples, index, self, _cmd), index, false));
}

- (void)sampleInBuffer:(id<MTLCounterSampleBuffer>)samples start:(NSUInteger)start end:(NSUInteger)end {
  if (!samples) return;
  if (start != MTLCounterDontSample)
    HM_CHECK(hm_encoder_sample(_engine, hostmetal_samples(samples, start, self, _cmd), start, false));
  if (end != MTLCounterDontSample)
    HM_CHECK(hm_encoder_sample(_engine, hostmetal_samples(samples, end, self, _cmd), end, true));
}

- (void)endEncoding {
  HM_CHECK(hm_encoder_end(_engine));
}

// Apple's Metal ends the process for an encoder that was dropped while open; here the exception comes after everything was
// given back, so that whoever catches it has lost nothing.
- (void)dealloc {
  const bool open = !hm_encoder_ended(_engine);
  hm_encoder_release(_engine);
  [_commandBuffer release];
  [_label release];
  Class face = [self class];
  [super dealloc];
  if (open) hostmetal_raise(face, @selector(dealloc), "the encoder was released without endEncoding");
}
@end
