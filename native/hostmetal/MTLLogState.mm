// MTLLogStateDescriptor and MTLLogState, and the log state that the environment asks for.
#import "faces.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

NSErrorDomain const MTLLogStateErrorDomain = @"MTLLogStateErrorDomain";

@implementation MTLLogStateDescriptor
@synthesize level = _level, bufferSize = _bufferSize;

- (instancetype)init {
  if ((self = [super init])) {
    _level = MTLLogLevelDebug;
    _bufferSize = 1024;
  }
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLLogStateDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setLevel:[self level]];
  [copy setBufferSize:[self bufferSize]];
  return copy;
}
@end

typedef void (^LogHandler)(NSString *, NSString *, MTLLogLevel, NSString *);

namespace {
const char *const levels[] = {"undefined", "debug", "info", "notice", "error", "fault"};

// There is no log of the system to write to.
void writeToStderr(const char *subsystem, const char *category, uint32_t level, const char *text) {
  std::string line = levels[level];
  if (subsystem || category) line += std::string(" [") + (subsystem ? subsystem : "") + ":" + (category ? category : "") + "]";
  line += std::string(" ") + text;
  if (line.back() != '\n') line += '\n';
  fwrite(line.data(), 1, line.size(), stderr);
}

void tellMessage(void *context, const char *subsystem, const char *category, uint32_t level, const char *text) {
  NSArray *handlers = (NSArray *)context;
  if (![handlers count]) return writeToStderr(subsystem, category, level, text);
  @autoreleasepool {
    NSString *of = subsystem ? [NSString stringWithUTF8String:subsystem] : nil;
    NSString *in = category ? [NSString stringWithUTF8String:category] : nil;
    NSString *message = [NSString stringWithUTF8String:text];
    for (LogHandler handler in handlers) handler(of, in, (MTLLogLevel)level, message);
  }
}
}  // namespace

@implementation HostMTLLogState

- (instancetype)initWithDevice:(HostMTLDevice *)device descriptor:(MTLLogStateDescriptor *)descriptor error:(NSError **)error {
  if (!(self = [super init])) return nil;
  const MTLLogLevel level = [descriptor level];
  const NSInteger size = [descriptor bufferSize];
  _device = device;
  bool outOfMemory = false;
  if (level >= MTLLogLevelDebug && level <= MTLLogLevelFault && size > 0)
    _engine = hm_log_create((uint32_t)level, (uint64_t)size, &outOfMemory);
  if (_engine) {
    _handlers = [[NSArray array] retain];
    return self;
  }
  if (error) {
    NSString *text = @"level must be one of MTLLogLevelDebug to MTLLogLevelFault";
    const bool wrongSize = size < 1 << 10 || size > 1 << 30;
    if (wrongSize) text = [NSString stringWithFormat:@"bufferSize (%ld) must be at least 1024 and at most 1073741824", (long)size];
    if (outOfMemory) text = @"there is no memory for the log";
    *error = [NSError errorWithDomain:MTLLogStateErrorDomain
                                 code:wrongSize ? MTLLogStateErrorInvalidSize : MTLLogStateErrorInvalid
                             userInfo:@{NSLocalizedDescriptionKey : text}];
  }
  [self release];
  return nil;
}

- (void)addLogHandler:(LogHandler)block {
  HM_REQUIRE(block != nil, "the handler must not be nil");
  id copy = [block copy];
  @synchronized(self) {
    NSArray *before = _handlers;
    _handlers = [[before arrayByAddingObject:copy] retain];
    [before release];
  }
  [copy release];
}

- (void)tell {
  NSArray *handlers = nil;
  @synchronized(self) {
    handlers = [_handlers retain];
  }
  hm_log_take(_engine, tellMessage, handlers);
  [handlers release];
}

- (HostMTLDevice *)owner {
  return _device;
}

- (void)dealloc {
  if (_engine) hm_log_release(_engine);
  [_handlers release];
  [super dealloc];
}
@end

const char *hostmetal_check_log(id<MTLLogState> logState, HostMTLDevice *device) {
  if (!logState) return nullptr;
  if (![(id)logState isKindOfClass:[HostMTLLogState class]]) return "the log state must be one of hostmetal's";
  HostMTLDevice *owner = [(HostMTLLogState *)logState owner];
  return !owner || owner == device ? nullptr : "the log state was created with a different device";
}

namespace {
HostMTLLogState *makeEnvironmentLog() {
  const char *level = getenv("MTL_LOG_LEVEL"), *size = getenv("MTL_LOG_BUFFER_SIZE");
  if (!level && !size) return nil;
  @autoreleasepool {
    MTLLogStateDescriptor *descriptor = [[[MTLLogStateDescriptor alloc] init] autorelease];
    const char *const names[] = {"MTLLogLevelDebug", "MTLLogLevelInfo", "MTLLogLevelNotice", "MTLLogLevelError", "MTLLogLevelFault"};
    bool known = !level;
    for (int i = 0; level && i < 5; i++)
      if (!strcmp(level, names[i])) {
        [descriptor setLevel:(MTLLogLevel)(MTLLogLevelDebug + i)];
        known = true;
      }
    if (!known) fprintf(stderr, "hostmetal: MTL_LOG_LEVEL=\"%s\" is none of Metal's levels, such as MTLLogLevelInfo: all messages are kept\n", level);
    if (size) {
      char *end = nullptr;
      const long long bytes = strtoll(size, &end, 10);
      [descriptor setBufferSize:end != size && !*end ? (NSInteger)bytes : 0];
    }
    NSError *error = nil;
    HostMTLLogState *made = [[HostMTLLogState alloc] initWithDevice:nil descriptor:descriptor error:&error];
    if (!made) fprintf(stderr, "hostmetal: no messages are kept: MTL_LOG_BUFFER_SIZE=\"%s\": %s\n", size ? size : "",
                       [[error localizedDescription] UTF8String]);
    return made;
  }
}
}  // namespace

HostMTLLogState *hostmetal_environment_log(void) {
  static HostMTLLogState *const log = makeEnvironmentLog();
  return log;
}

@implementation HostMTLLogContainer
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id __unsafe_unretained[])buffer
                                    count:(NSUInteger)length {
  return 0;
}
@end
