// MTLCaptureManager and its scopes. hostmetal has no tool that captures, and says so.
#import "faces.h"

#include <cstdio>

NSErrorDomain const MTLCaptureErrorDomain = @"MTLCaptureErrorDomain";

@interface HostMTLCaptureScope : NSObject <MTLCaptureScope> {
  id<MTLDevice> _device;
  id<MTLCommandQueue> _commandQueue;
  NSString *_label;
}
- (instancetype)initWithDevice:(id<MTLDevice>)device commandQueue:(id<MTLCommandQueue>)commandQueue;
@end

@implementation HostMTLCaptureScope
@synthesize device = _device, commandQueue = _commandQueue, label = _label;

- (instancetype)initWithDevice:(id<MTLDevice>)device commandQueue:(id<MTLCommandQueue>)commandQueue {
  if ((self = [super init])) {
    _device = device;
    _commandQueue = [commandQueue retain];
  }
  return self;
}

// What lies between the two would be captured.
- (void)beginScope {
}
- (void)endScope {
}

- (void)dealloc {
  [_commandQueue release];
  [_label release];
  [super dealloc];
}
@end

@implementation MTLCaptureDescriptor
@synthesize captureObject = _captureObject, destination = _destination, outputURL = _outputURL;

- (instancetype)init {
  if ((self = [super init])) _destination = MTLCaptureDestinationDeveloperTools;
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLCaptureDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setCaptureObject:_captureObject];
  [copy setDestination:_destination];
  [copy setOutputURL:_outputURL];
  return copy;
}

- (void)dealloc {
  [_captureObject release];
  [_outputURL release];
  [super dealloc];
}
@end

namespace {
// Those that have no error to say it with.
void tell_nothing_is_captured() {
  fputs("hostmetal: nothing is captured: there is no capture tool\n", stderr);
}
}  // namespace

@implementation MTLCaptureManager
@synthesize defaultCaptureScope = _defaultCaptureScope;

+ (MTLCaptureManager *)sharedCaptureManager {
  static MTLCaptureManager *const shared = [[MTLCaptureManager alloc] init];
  return shared;
}

- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device {
  HM_REQUIRE(device != nil, "the device must not be nil");
  return [[HostMTLCaptureScope alloc] initWithDevice:device commandQueue:nil];
}

- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)commandQueue {
  HM_REQUIRE(commandQueue != nil, "the command queue must not be nil");
  return [[HostMTLCaptureScope alloc] initWithDevice:[commandQueue device] commandQueue:commandQueue];
}

- (BOOL)supportsDestination:(MTLCaptureDestination)destination {
  (void)destination;
  return NO;
}

- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor error:(NSError **)error {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  if (error)
    *error = [NSError errorWithDomain:MTLCaptureErrorDomain
                                 code:MTLCaptureErrorNotSupported
                             userInfo:@{NSLocalizedDescriptionKey : @"Capturing is not supported: hostmetal has no capture tool."}];
  return NO;
}

- (void)startCaptureWithDevice:(id<MTLDevice>)device {
  HM_REQUIRE(device != nil, "the device must not be nil");
  tell_nothing_is_captured();
}
- (void)startCaptureWithCommandQueue:(id<MTLCommandQueue>)commandQueue {
  HM_REQUIRE(commandQueue != nil, "the command queue must not be nil");
  tell_nothing_is_captured();
}
- (void)startCaptureWithScope:(id<MTLCaptureScope>)captureScope {
  HM_REQUIRE(captureScope != nil, "the scope must not be nil");
  tell_nothing_is_captured();
}

// There is never one to stop.
- (void)stopCapture {
}

- (BOOL)isCapturing {
  return NO;
}

- (void)dealloc {
  [_defaultCaptureScope release];
  [super dealloc];
}
@end
