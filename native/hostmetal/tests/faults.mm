// Cases of faults on purpose as a program sees them: nil, and NSErrors of Metal's domains and codes.
#import "faces.h"

#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#import "hostmetal.h"

#include <string>

namespace {
// The rules hold for a scope.
struct Rules {
  explicit Rules(const std::string &rules) {
    char why[200];
    if (!hostmetal_set_faults(rules.c_str(), why, sizeof why)) faces_note(__FILE__, __LINE__, why);
  }
  ~Rules() { hostmetal_set_faults(nullptr, nullptr, 0); }
};

size_t injected(const char *site) {
  size_t events = 0, count = 0;
  CHECK(hostmetal_count_faults(site, &events, &count));
  CHECK(events >= count);
  return count;
}

void what_cannot_be_made_is_nil() {
  id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
  id<MTLCommandBuffer> commandBuffer = [queue commandBuffer];
  MTLHeapDescriptor *heap = [[[MTLHeapDescriptor alloc] init] autorelease];
  [heap setSize:65536];
  [heap setStorageMode:MTLStorageModeShared];
  id<MTLHeap> made = [[device() newHeapWithDescriptor:heap] autorelease];
  MTLTextureDescriptor *texture =
      [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR8Unorm width:4 height:4 mipmapped:NO];
  [texture setStorageMode:MTLStorageModeShared];
  MPSMatrixSoftMax *softmax = [[[MPSMatrixSoftMax alloc] initWithDevice:device()] autorelease];
  id<MTLBuffer> numbers = [[device() newBufferWithLength:32 options:MTLResourceStorageModeShared] autorelease];
  MPSMatrixDescriptor *row = [MPSMatrixDescriptor matrixDescriptorWithRows:1 columns:4 rowBytes:16 dataType:MPSDataTypeFloat32];
  MPSMatrix *matrix = [[[MPSMatrix alloc] initWithBuffer:numbers descriptor:row] autorelease];
  MPSGraph *graph = [[[MPSGraph alloc] init] autorelease];
  MPSGraphTensor *x = [graph placeholderWithShape:@[ @4 ] dataType:MPSDataTypeFloat32 name:nil];
  MPSGraphTensor *y = [graph castTensor:x toType:MPSDataTypeFloat32 name:nil];
  MPSGraphShapedType *type = [[[MPSGraphShapedType alloc] initWithShape:@[ @4 ] dataType:MPSDataTypeFloat32] autorelease];
  MPSGraphExecutable *executable = [graph compileWithDevice:[MPSGraphDevice deviceWithMTLDevice:device()]
                                                      feeds:[NSDictionary dictionaryWithObject:type forKey:x]
                                              targetTensors:@[ y ]
                                           targetOperations:nil
                                      compilationDescriptor:nil];
  MPSNDArrayDescriptor *four = [MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeFloat32 shape:@[ @4 ]];
  [four setPreferPackedRows:YES];
  const auto data_at = [&](NSUInteger offset) {
    MPSNDArray *array = [[[MPSNDArray alloc] initWithBuffer:numbers offset:offset descriptor:four] autorelease];
    return [[[MPSGraphTensorData alloc] initWithMPSNDArray:array] autorelease];
  };
  MPSGraphTensorData *from = data_at(0), *to = data_at(16);
  MPSCommandBuffer *goes_on = [MPSCommandBuffer commandBufferWithCommandBuffer:commandBuffer];
  id<MTLSharedEvent> event = [[device() newSharedEvent] autorelease];
  MTLSharedEventHandle *handle = [[event newSharedEventHandle] autorelease];
  MTLSamplerDescriptor *sampler = [[[MTLSamplerDescriptor alloc] init] autorelease];
  const NSUInteger before = [device() currentAllocatedSize];
  {
    const Rules rules("allocation; queue; command_buffer; encoder; event; fence; sampler");
    CHECK([device() newBufferWithLength:16 options:0] == nil);
    CHECK([device() newBufferWithBytes:"abc" length:3 options:0] == nil);
    __block bool freed = false;
    void *const page = aligned_alloc(4096, 4096);
    CHECK([device() newBufferWithBytesNoCopy:page length:4096 options:0 deallocator:^(void *, NSUInteger) { freed = true; }] == nil);
    CHECK(!freed);
    free(page);
    CHECK([device() newTextureWithDescriptor:texture] == nil);
    CHECK([device() newHeapWithDescriptor:heap] == nil);
    CHECK([made newBufferWithLength:16 options:0] == nil);
    CHECK([made newTextureWithDescriptor:texture] == nil);
    CHECK_EQUAL(injected("allocation"), 7);
    MTLCounterSampleBufferDescriptor *samples = [[[MTLCounterSampleBufferDescriptor alloc] init] autorelease];
    [samples setCounterSet:[[device() counterSets] objectAtIndex:0]];
    [samples setSampleCount:4];
    NSError *error = nil;
    CHECK([device() newCounterSampleBufferWithDescriptor:samples error:&error] == nil);
    CHECK_EQUAL([error code], MTLCounterSampleBufferErrorOutOfMemory);
    CHECK([device() newCommandQueue] == nil);
    CHECK([device() newCommandQueueWithDescriptor:[[[MTLCommandQueueDescriptor alloc] init] autorelease]] == nil);
    CHECK([queue commandBuffer] == nil);
    CHECK([queue commandBufferWithUnretainedReferences] == nil);
    CHECK([queue commandBufferWithDescriptor:[[[MTLCommandBufferDescriptor alloc] init] autorelease]] == nil);
    CHECK([commandBuffer computeCommandEncoder] == nil);
    CHECK([commandBuffer computeCommandEncoderWithDescriptor:[MTLComputePassDescriptor computePassDescriptor]] == nil);
    CHECK([commandBuffer blitCommandEncoder] == nil);
    CHECK([commandBuffer blitCommandEncoderWithDescriptor:[MTLBlitPassDescriptor blitPassDescriptor]] == nil);
    CHECK([device() newEvent] == nil);
    CHECK([device() newSharedEvent] == nil);
    CHECK([device() newSharedEventWithHandle:handle] == nil);
    CHECK([device() newFence] == nil);
    CHECK([device() newSamplerStateWithDescriptor:sampler] == nil);
    CHECK_EQUAL(injected("event"), 3);
    CHECK_EQUAL(injected("fence"), 1);
    CHECK_EQUAL(injected("sampler"), 1);
    CHECK_EQUAL(injected("command_buffer"), 3);
    CHECK_EQUAL(injected("encoder"), 4);
    CHECK_RAISES_NAMED([softmax encodeToCommandBuffer:commandBuffer inputMatrix:matrix resultMatrix:matrix], NSMallocException,
                       @"encodeToCommandBuffer:", @"made no encoder");
    CHECK_RAISES_NAMED([executable encodeToCommandBuffer:goes_on inputsArray:@[ from ] resultsArray:@[ to ] executionDescriptor:nil],
                       NSMallocException, @"encodeToCommandBuffer:", @"made no encoder");
    CHECK_EQUAL(injected("encoder"), 6);
  }
  CHECK_EQUAL([device() currentAllocatedSize], before);
  // It goes on as if nothing had been.
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
}

void command_buffers_fail_with_metals_errors() {
  const struct {
    const char *name;
    MTLCommandBufferError code;
  } errors[] = {
      {"internal", MTLCommandBufferErrorInternal},
      {"timeout", MTLCommandBufferErrorTimeout},
      {"page_fault", MTLCommandBufferErrorPageFault},
      {"access_revoked", MTLCommandBufferErrorAccessRevoked},
      {"not_permitted", MTLCommandBufferErrorNotPermitted},
      {"out_of_memory", MTLCommandBufferErrorOutOfMemory},
      {"invalid_resource", MTLCommandBufferErrorInvalidResource},
      {"memoryless", MTLCommandBufferErrorMemoryless},
      {"device_removed", MTLCommandBufferErrorDeviceRemoved},
      {"stack_overflow", MTLCommandBufferErrorStackOverflow},
  };
  id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
  id<MTLBuffer> buffer = [[device() newBufferWithLength:8 options:0] autorelease];
  for (const auto &error : errors) {
    const Rules rules(std::string("commit:after=1:error=") + error.name);
    memset([buffer contents], 0, 8);
    id<MTLSharedEvent> event = [[device() newSharedEvent] autorelease];
    MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
    [descriptor setErrorOptions:MTLCommandBufferErrorOptionEncoderExecutionStatus];
    id<MTLCommandBuffer> commandBuffer = [queue commandBufferWithDescriptor:descriptor];
    for (NSUInteger i = 0; i < 2; i++) {
      id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
      [encoder setLabel:i == 0 ? @"first" : @"second"];
      [encoder fillBuffer:buffer range:NSMakeRange(i * 4, 4) value:1];
      [encoder endEncoding];
    }
    [commandBuffer encodeSignalEvent:event value:1];
    __block NSInteger told = 0;
    [commandBuffer addCompletedHandler:^(id<MTLCommandBuffer> own) { told = [[own error] code]; }];
    [commandBuffer commit];
    [commandBuffer waitUntilCompleted];
    NSError *const own = [commandBuffer error];
    CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusError);
    CHECK([[own domain] isEqualToString:MTLCommandBufferErrorDomain]);
    CHECK_EQUAL([own code], error.code);
    CHECK_EQUAL(told, error.code);
    CHECK_CONTAINS([own localizedDescription], @"injected fault: commit #1");
    CHECK_CONTAINS([own localizedDescription], @"\"first\"");
    CHECK_EQUAL([event signaledValue], 1);
    CHECK_EQUAL(((const char *)[buffer contents])[0], 1);
    CHECK_EQUAL(((const char *)[buffer contents])[4], 0);
    NSArray *const infos = [[own userInfo] objectForKey:MTLCommandBufferEncoderInfoErrorKey];
    CHECK_EQUAL([[infos objectAtIndex:0] errorState], MTLCommandEncoderErrorStateFaulted);
    CHECK_EQUAL([[infos objectAtIndex:1] errorState], MTLCommandEncoderErrorStatePending);
    CHECK_EQUAL(injected("commit"), 1);
  }
}

// Also long ones, and of characters that take several bytes at whichever place.
void errors_tell_labels_as_they_were_set() {
  NSString *const x = [@"" stringByPaddingToLength:125 withString:@"x" startingAtIndex:0];
  NSString *const more = [x stringByAppendingString:x];
  NSArray<NSString *> *const labels = @[
    @"plain", @"café", @"日本", [@"日" stringByAppendingString:x], [@"日" stringByAppendingString:more],
    [x stringByAppendingString:@"日"], [x stringByAppendingString:@"é"], [x stringByAppendingString:@"xx"],
    [x stringByAppendingString:@"xxx"], more, @"",
  ];
  const Rules rules("commit:after=1:error=internal");
  id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
  MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
  [descriptor setErrorOptions:MTLCommandBufferErrorOptionEncoderExecutionStatus];
  id<MTLCommandBuffer> commandBuffer = [queue commandBufferWithDescriptor:descriptor];
  for (NSString *label in labels) {
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    CHECK([encoder label] == nil);
    [encoder setLabel:@"before"];
    [encoder setLabel:label];
    CHECK([[encoder label] isEqualToString:label]);
    [encoder endEncoding];
  }
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  NSArray *const infos = [[[commandBuffer error] userInfo] objectForKey:MTLCommandBufferEncoderInfoErrorKey];
  CHECK_EQUAL([infos count], [labels count]);
  for (NSUInteger i = 0; i < [infos count]; i++) CHECK([[[infos objectAtIndex:i] label] isEqualToString:[labels objectAtIndex:i]]);
}

void compilations_fail_with_metals_errors() {
  NSString *const source = @"kernel void k(device int *out [[buffer(0)]]) { out[0] = 3; }";
  const Rules rules("compile:error=internal:at=1; compile:at=2; pipeline:error=internal:at=1; pipeline:error=compile_failure:at=2");
  for (NSInteger code : {MTLLibraryErrorInternal, MTLLibraryErrorCompileFailure}) {
    NSError *error = nil;
    CHECK([device() newLibraryWithSource:source options:nil error:&error] == nil);
    CHECK([[error domain] isEqualToString:MTLLibraryErrorDomain]);
    CHECK_EQUAL([error code], code);
    CHECK_CONTAINS([error localizedDescription], @"injected fault: compile #");
  }
  id<MTLLibrary> library = [[device() newLibraryWithSource:source options:nil error:nullptr] autorelease];
  id<MTLFunction> function = [[library newFunctionWithName:@"k"] autorelease];
  for (NSInteger code : {MTLLibraryErrorInternal, MTLLibraryErrorCompileFailure}) {
    NSError *error = nil;
    CHECK([device() newComputePipelineStateWithFunction:function error:&error] == nil);
    CHECK([[error domain] isEqualToString:MTLLibraryErrorDomain]);
    CHECK_EQUAL([error code], code);
    CHECK_CONTAINS([error localizedDescription], @"injected fault: pipeline #");
  }
  id<MTLComputePipelineState> state = [[device() newComputePipelineStateWithFunction:function error:nullptr] autorelease];
  CHECK(state != nil);
}

void rules_that_mean_nothing_are_told() {
  char why[64];
  CHECK(!hostmetal_set_faults("commit:error=purple", why, sizeof why));
  CHECK_CONTAINS([NSString stringWithUTF8String:why], @"`commit:error=purple`: error: expected internal");
  CHECK_EQUAL(strlen(why), sizeof why - 1);
  CHECK(!hostmetal_set_faults("commit:device=1", nullptr, 0));
  CHECK(hostmetal_set_faults("", why, sizeof why));
  CHECK_EQUAL(strlen(why), 0);
  size_t events = 5, count = 5;
  CHECK(!hostmetal_count_faults("purple", &events, &count));
  CHECK_EQUAL(events, 5);
  CHECK(hostmetal_count_faults("commit", &events, &count));
  CHECK_EQUAL(events, 0);
}
}  // namespace

#define CASE(name) {#name, name}
const FaceCase fault_cases[] = {
    CASE(what_cannot_be_made_is_nil),
    CASE(command_buffers_fail_with_metals_errors),
    CASE(errors_tell_labels_as_they_were_set),
    CASE(compilations_fail_with_metals_errors),
    CASE(rules_that_mean_nothing_are_told),
    {nullptr, nullptr},
};
