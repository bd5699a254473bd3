// Cases of messages that kernels log: log states, their handlers, and what the environment asks for.
#import "faces.h"

namespace {
NSString *const source = @"#include <metal_stdlib>\nusing namespace metal;\n"
                          "constant os_log mine(\"com.example\", \"faces\");\n"
                          "kernel void say(constant int &number [[buffer(0)]]) {\n"
                          "  os_log_default.log_debug(\"quiet\");\n"
                          "  mine.log(\"seven %d\", number);\n"
                          "  os_log_default.log_error(\"two\\n\");\n"
                          "  os_log_default.log_fault(\"lines\");\n}\n";

id<MTLComputePipelineState> pipeline(BOOL logging) {
  MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
  CHECK(![options enableLogging]);
  [options setEnableLogging:logging];
  CHECK([[[options copy] autorelease] enableLogging] == logging);
  NSError *error = nil;
  id<MTLLibrary> library = [[device() newLibraryWithSource:source options:options error:&error] autorelease];
  id<MTLFunction> function = [[library newFunctionWithName:@"say"] autorelease];
  id<MTLComputePipelineState> made = [[device() newComputePipelineStateWithFunction:function error:&error] autorelease];
  if (!made) faces_note(__FILE__, __LINE__, [[error localizedDescription] UTF8String]);
  return made;
}

id<MTLLogState> logState(MTLLogLevel level) {
  MTLLogStateDescriptor *descriptor = [[[MTLLogStateDescriptor alloc] init] autorelease];
  [descriptor setLevel:level];
  NSError *error = nil;
  id<MTLLogState> made = [[device() newLogStateWithDescriptor:descriptor error:&error] autorelease];
  CHECK(made != nil && error == nil);
  return made;
}

void run(id<MTLCommandBuffer> commandBuffer, BOOL logging) {
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:pipeline(logging)];
  const int seven = 7;
  [encoder setBytes:&seven length:sizeof seven atIndex:0];
  [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
}

// Adds a handler that writes down what it is told.
NSMutableString *heard(id<MTLLogState> state) {
  NSMutableString *all = [NSMutableString string];
  [state addLogHandler:^(NSString *subSystem, NSString *category, MTLLogLevel level, NSString *message) {
    [all appendFormat:@"%@/%@/%d/%@;", subSystem ? subSystem : @"-", category ? category : @"-", (int)level, message];
  }];
  return all;
}

NSString *const everything = @"-/-/1/quiet;com.example/faces/3/seven 7;-/-/4/two\n;-/-/5/lines;";

void a_handler_hears_each_message() {
  MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
  CHECK([descriptor logState] == nil);
  id<MTLLogState> state = logState(MTLLogLevelDebug);
  [descriptor setLogState:state];
  CHECK([[[descriptor copy] autorelease] logState] == state);
  NSMutableString *first = heard(state), *second = heard(state);
  id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
  id<MTLCommandBuffer> commandBuffer = [queue commandBufferWithDescriptor:descriptor];
  __block BOOL before = NO;
  [commandBuffer addCompletedHandler:^(id<MTLCommandBuffer>) {
    before = [first isEqualToString:everything];
  }];
  run(commandBuffer, YES);
  CHECK(before);
  CHECK_CONTAINS(first, everything);
  CHECK([first isEqualToString:second]);
  // Neither of a queue's other command buffers nor of a library without logging is anything heard.
  run([queue commandBuffer], YES);
  run([queue commandBufferWithDescriptor:descriptor], NO);
  CHECK([first isEqualToString:everything]);
  CHECK_RAISES([state addLogHandler:(void (^)(NSString *, NSString *, MTLLogLevel, NSString *))nil], @"addLogHandler:", @"nil");
}

void a_queue_s_log_is_that_of_its_command_buffers() {
  MTLCommandQueueDescriptor *descriptor = [[[MTLCommandQueueDescriptor alloc] init] autorelease];
  id<MTLLogState> ofQueue = logState(MTLLogLevelError), own = logState(MTLLogLevelFault);
  [descriptor setLogState:ofQueue];
  CHECK([[[descriptor copy] autorelease] logState] == ofQueue);
  NSMutableString *heardOfQueue = heard(ofQueue), *heardOfOwn = heard(own);
  id<MTLCommandQueue> queue = [[device() newCommandQueueWithDescriptor:descriptor] autorelease];
  run([queue commandBuffer], YES);
  CHECK([heardOfQueue isEqualToString:@"-/-/4/two\n;-/-/5/lines;"]);
  MTLCommandBufferDescriptor *more = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
  [more setLogState:own];
  run([queue commandBufferWithDescriptor:more], YES);
  CHECK([heardOfQueue isEqualToString:@"-/-/4/two\n;-/-/5/lines;"]);
  CHECK([heardOfOwn isEqualToString:@"-/-/5/lines;"]);
}

void a_handler_may_wait_for_its_command_buffer() {
  id<MTLLogState> state = logState(MTLLogLevelFault);
  MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
  [descriptor setLogState:state];
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBufferWithDescriptor:descriptor];
  __block MTLCommandBufferStatus status = MTLCommandBufferStatusNotEnqueued;
  [state addLogHandler:^(NSString *, NSString *, MTLLogLevel, NSString *) {
    [commandBuffer waitUntilCompleted];
    status = [commandBuffer status];
  }];
  run(commandBuffer, YES);
  CHECK_EQUAL(status, MTLCommandBufferStatusCompleted);
}

void a_log_state_that_cannot_be_is_an_error() {
  MTLLogStateDescriptor *descriptor = [[[MTLLogStateDescriptor alloc] init] autorelease];
  CHECK_EQUAL([descriptor level], MTLLogLevelDebug);
  CHECK_EQUAL([descriptor bufferSize], 1024);
  const struct {
    NSInteger level, size, code;
  } wrong[] = {{1, 1023, MTLLogStateErrorInvalidSize}, {1, -1, MTLLogStateErrorInvalidSize}, {1, (1 << 30) + 1, MTLLogStateErrorInvalidSize},
               {0, 2048, MTLLogStateErrorInvalid}, {6, 2048, MTLLogStateErrorInvalid}};
  for (const auto &one : wrong) {
    [descriptor setLevel:(MTLLogLevel)one.level];
    [descriptor setBufferSize:one.size];
    MTLLogStateDescriptor *copy = [[descriptor copy] autorelease];
    CHECK_EQUAL([copy level], one.level);
    CHECK_EQUAL([copy bufferSize], one.size);
    NSError *error = nil;
    CHECK([device() newLogStateWithDescriptor:copy error:&error] == nil);
    CHECK([[error domain] isEqualToString:MTLLogStateErrorDomain]);
    CHECK_EQUAL([error code], one.code);
    CHECK([device() newLogStateWithDescriptor:copy error:nullptr] == nil);
  }
  CHECK([MTLLogStateErrorDomain isEqualToString:@"MTLLogStateErrorDomain"]);
}

void function_logs_are_none() {
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  run(commandBuffer, NO);
  int count = 0;
  for (id<MTLFunctionLog> found in [commandBuffer logs]) count += found ? 1 : 2;
  CHECK([commandBuffer logs] != nil);
  CHECK_EQUAL(count, 0);
}

// In a process whose environment asks for messages, and which looks at what is written to stderr.
void the_environment_s_log_is_that_of_all_queues() {
  run([[[device() newCommandQueue] autorelease] commandBuffer], YES);
  id<MTLLogState> state = logState(MTLLogLevelFault);
  NSMutableString *own = heard(state);
  MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
  [descriptor setLogState:state];
  run([[[device() newCommandQueue] autorelease] commandBufferWithDescriptor:descriptor], YES);
  CHECK([own isEqualToString:@"-/-/5/lines;"]);
}
}  // namespace

#define CASE(name) {#name, name}
const FaceCase log_cases[] = {
    CASE(a_handler_hears_each_message),
    CASE(a_queue_s_log_is_that_of_its_command_buffers),
    CASE(a_handler_may_wait_for_its_command_buffer),
    CASE(a_log_state_that_cannot_be_is_an_error),
    CASE(function_logs_are_none),
    {nullptr, nullptr},
};
const FaceCase logged_cases[] = {
    CASE(the_environment_s_log_is_that_of_all_queues),
    {nullptr, nullptr},
};
