// Cases of what is compiled from source: libraries, options, functions, constants, pipelines, errors of command buffers.
#import "faces.h"

#include <cstring>
#include <semaphore.h>

namespace {
NSString *const source = @"#include <metal_stdlib>\n"
                          "using namespace metal;\n"
                          "#ifndef STEP\n#define STEP 1\n#endif\n"
                          "constant int by [[function_constant(3)]];\n"
                          "kernel void add(device int *values [[buffer(0)]], constant int &amount [[buffer(2)]],\n"
                          "                uint i [[thread_position_in_grid]]) { values[i] += amount * STEP; }\n"
                          "kernel void scale(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
                          "  values[i] *= by;\n}\n"
                          "kernel void total(const device float4 *values [[buffer(1)]], device float *sums [[buffer(0)]],\n"
                          "                  threadgroup float *parts [[threadgroup(0)]],\n"
                          "                  uint i [[thread_index_in_threadgroup]]) {\n"
                          "  parts[i] = values[i].x;\n  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
                          "  if (i == 0) { float sum = 0; for (uint j = 0; j < 4; j++) sum += parts[j]; sums[0] = sum; }\n}\n"
                          "kernel void stray(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
                          "  values[i + (1ul << 44)] = 1;\n}\n";

id<MTLLibrary> compile(NSString *text, MTLCompileOptions *options = nil) {
  NSError *error = nil;
  id<MTLLibrary> library = [[device() newLibraryWithSource:text options:options error:&error] autorelease];
  if (!library) faces_note(__FILE__, __LINE__, std::string("compile: ") + [[error localizedDescription] UTF8String]);
  return library;
}

// Compiled once; every case but those of options uses it.
id<MTLLibrary> library() {
  static id<MTLLibrary> const compiled = [compile(source) retain];
  return compiled;
}

id<MTLComputePipelineState> pipeline(id<MTLFunction> function) {
  NSError *error = nil;
  id<MTLComputePipelineState> made = [[device() newComputePipelineStateWithFunction:function error:&error] autorelease];
  if (!made) faces_note(__FILE__, __LINE__, std::string("pipeline: ") + [[error localizedDescription] UTF8String]);
  return made;
}

id<MTLFunction> function(NSString *name) {
  return [[library() newFunctionWithName:name] autorelease];
}

MTLFunctionConstantValues *constants() {
  return [[[MTLFunctionConstantValues alloc] init] autorelease];
}

id<MTLBuffer> ints(int first, int second) {
  const int values[2] = {first, second};
  return [[device() newBufferWithBytes:values length:sizeof values options:MTLResourceStorageModeShared] autorelease];
}

// Runs a kernel of two threads over values, with amount in buffer 2, and returns the command buffer.
id<MTLCommandBuffer> run(id<MTLComputePipelineState> state, id<MTLBuffer> values, int amount) {
  MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
  [descriptor setErrorOptions:MTLCommandBufferErrorOptionEncoderExecutionStatus];
  id<MTLCommandBuffer> commandBuffer =
      [[[device() newCommandQueue] autorelease] commandBufferWithDescriptor:descriptor];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setLabel:@"the encoder"];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:values offset:0 atIndex:0];
  [encoder setBytes:&amount length:sizeof amount atIndex:2];
  [encoder insertDebugSignpost:@"before the dispatch"];
  [encoder dispatchThreads:MTLSizeMake(2, 1, 1) threadsPerThreadgroup:MTLSizeMake(2, 1, 1)];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  return commandBuffer;
}

void check_values(id<MTLBuffer> values, int first, int second) {
  const int *contents = (const int *)[values contents];
  CHECK_EQUAL(contents[0], first);
  CHECK_EQUAL(contents[1], second);
}

// ------------------------------------------------------------------ libraries

void a_library_lists_its_kernels() {
  id<MTLLibrary> made = library();
  CHECK([[made functionNames] isEqualToArray:(@[ @"add", @"scale", @"stray", @"total" ])]);
  CHECK_EQUAL([made type], MTLLibraryTypeExecutable);
  CHECK([made device] == device());
  CHECK_RAISES([device() newLibraryWithSource:(NSString *)nil options:nil error:nullptr], @"newLibraryWithSource:", @"nil");
}

void a_compile_failure_is_an_error_with_the_log() {
  NSError *error = nil;
  id<MTLLibrary> made = [device() newLibraryWithSource:@"kernel void broken(device int *p) { p[0] = nowhere; }"
                                               options:nil
                                                 error:&error];
  CHECK(made == nil);
  CHECK([[error domain] isEqualToString:MTLLibraryErrorDomain]);
  CHECK([MTLLibraryErrorDomain isEqualToString:@"MTLLibraryErrorDomain"]);
  CHECK_EQUAL([error code], MTLLibraryErrorCompileFailure);
  CHECK_CONTAINS([error localizedDescription], @"nowhere");
  CHECK_CONTAINS([[error userInfo] objectForKey:NSLocalizedDescriptionKey], @"nowhere");
  CHECK([device() newLibraryWithSource:@"kernel void broken() { nowhere; }" options:nil error:nullptr] == nil);
}

void options_reach_the_compiler() {
  MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
  CHECK_EQUAL([options mathMode], MTLMathModeFast);
  CHECK([options fastMathEnabled]);
  [options setFastMathEnabled:NO];
  CHECK_EQUAL([options mathMode], MTLMathModeSafe);
  [options setMathMode:MTLMathModeRelaxed];
  CHECK([options fastMathEnabled]);
  CHECK_RAISES([options setMathMode:(MTLMathMode)3], @"setMathMode:", @"unknown");
  [options setLanguageVersion:MTLLanguageVersion3_0];
  [options setPreprocessorMacros:@{@"STEP" : [NSNumber numberWithInt:100]}];
  MTLCompileOptions *copy = [[options copy] autorelease];
  [options setPreprocessorMacros:@{@"STEP" : @"not an expression ("}];
  CHECK_EQUAL([copy mathMode], MTLMathModeRelaxed);
  CHECK_EQUAL([copy languageVersion], MTLLanguageVersion3_0);
  id<MTLBuffer> values = ints(1, 2);
  id<MTLFunction> add = [[compile(source, copy) newFunctionWithName:@"add"] autorelease];
  run(pipeline(add), values, 7);
  check_values(values, 701, 702);
  [options setPreprocessorMacros:(NSDictionary *)@{@"STEP" : @[]}];
  CHECK_RAISES([device() newLibraryWithSource:source options:options error:nullptr], @"withEngineOptionsOf:call:", @"preprocessorMacros");
  MTLNewLibraryCompletionHandler handler = ^(id<MTLLibrary>, NSError *) {
  };
  CHECK_RAISES([device() newLibraryWithSource:source options:options completionHandler:handler], @"withEngineOptionsOf:call:", @"preprocessorMacros");
}

void a_version_of_the_language_that_macos_lacks_is_an_error() {
  MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
  for (MTLLanguageVersion version : {MTLLanguageVersion1_1, MTLLanguageVersion2_4, MTLLanguageVersion3_2, MTLLanguageVersion4_0}) {
    [options setLanguageVersion:version];
    NSString *text = [NSString stringWithFormat:@"static_assert(__METAL_VERSION__ == %d, \"\"); kernel void k() {}",
                                                (int)(version >> 16) * 100 + (int)(version & 0xffff) * 10];
    CHECK(library_of(text, options) != nil);
  }
  const auto refused = [=](NSUInteger version, NSString *words) {
    [options setLanguageVersion:(MTLLanguageVersion)version];
    NSError *error = nil;
    CHECK([device() newLibraryWithSource:source options:options error:&error] == nil);
    check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, words);
  };
  refused(MTLLanguageVersion1_0, @"1.0 is a language of iOS alone");
  refused((1 << 16) + 3, @"65539 is not a value of MTLLanguageVersion");
  refused(5 << 16, @"327680 is not a value of MTLLanguageVersion");
}

// More handlers than the machine has cores, each waiting for a compile of its own.
void a_handler_may_wait_for_another() {
  const int handlers = 8;
  sem_t ended;
  sem_init(&ended, 0, 0);
  sem_t *out = &ended;
  for (int i = 0; i < handlers; i++) {
    [device() newLibraryWithSource:source options:nil completionHandler:^(id<MTLLibrary>, NSError *) {
      sem_t inner;
      sem_init(&inner, 0, 0);
      sem_t *in = &inner;
      [device() newLibraryWithSource:source options:nil completionHandler:^(id<MTLLibrary>, NSError *) { sem_post(in); }];
      sem_wait(in);
      sem_destroy(in);
      sem_post(out);
    }];
  }
  for (int i = 0; i < handlers; i++) sem_wait(&ended);
  sem_destroy(&ended);
}

void a_source_may_be_compiled_in_the_background() {
  sem_t done;
  sem_init(&done, 0, 0);
  sem_t *const signal = &done;
  __block bool compiled = false, failed = false;
  @autoreleasepool {
    Probe *probe = [[[Probe alloc] init] autorelease];
    [device() newLibraryWithSource:source
                           options:nil
                 completionHandler:^(id<MTLLibrary> made, NSError *error) {
                   (void)[probe self];
                   compiled = [[made functionNames] count] == 4 && !error;
                   sem_post(signal);
                 }];
    [device() newLibraryWithSource:@"kernel void broken() { nowhere; }"
                           options:nil
                 completionHandler:^(id<MTLLibrary> made, NSError *error) {
                   failed = !made && [error code] == MTLLibraryErrorCompileFailure;
                   sem_post(signal);
                 }];
  }
  sem_wait(signal);
  sem_wait(signal);
  CHECK(compiled);
  CHECK(failed);
  // The block and what it captured go right after the call, on the thread that made it.
  [Probe awaitNone];
  sem_destroy(&done);
}

// ------------------------------------------------------------------ functions

void a_function_is_found_by_name() {
  id<MTLFunction> add = function(@"add");
  CHECK([[add name] isEqualToString:@"add"]);
  CHECK_EQUAL([add functionType], MTLFunctionTypeKernel);
  CHECK([add device] == device());
  CHECK_EQUAL([[add functionConstantsDictionary] count], 0);
  CHECK(function(@"absent") == nil);
  CHECK_RAISES([library() newFunctionWithName:(NSString *)nil], @"newFunctionWithName:", @"nil");
  NSError *error = nil;
  CHECK([library() newFunctionWithName:@"absent" constantValues:constants() error:&error] == nil);
  CHECK([[error domain] isEqualToString:MTLLibraryErrorDomain]);
  CHECK_EQUAL([error code], MTLLibraryErrorFunctionNotFound);
  CHECK_CONTAINS([error localizedDescription], @"absent");
}

void a_function_tells_its_constants_before_it_has_them() {
  id<MTLFunction> scale = function(@"scale");
  MTLFunctionConstant *by = [[scale functionConstantsDictionary] objectForKey:@"by"];
  CHECK([[by name] isEqualToString:@"by"]);
  CHECK_EQUAL([by index], 3);
  CHECK_EQUAL([by type], MTLDataTypeInt);
  CHECK([by required]);
  NSError *error = nil;
  CHECK([device() newComputePipelineStateWithFunction:scale error:&error] == nil);
  CHECK([[error domain] isEqualToString:MTLLibraryErrorDomain]);
  CHECK_CONTAINS([error localizedDescription], @"by");
}

void constants_are_given_by_index_name_or_range() {
  const int three = 3, five = 5, several[3] = {1, 2, 7};
  MTLFunctionConstantValues *by_index = constants(), *by_name = constants(), *by_range = constants();
  [by_index setConstantValue:&three type:MTLDataTypeInt atIndex:3];
  [by_name setConstantValue:&five type:MTLDataTypeInt withName:@"by"];
  [by_range setConstantValues:several type:MTLDataTypeInt withRange:NSMakeRange(1, 3)];
  MTLFunctionConstantValues *copy = [[by_index copy] autorelease];
  [by_index reset];
  NSDictionary *expected = @{@"copy" : @"3", @"name" : @"5", @"range" : @"7"};
  NSDictionary *given = @{@"copy" : copy, @"name" : by_name, @"range" : by_range};
  for (NSString *way in expected) {
    NSError *error = nil;
    id<MTLFunction> scale = [[library() newFunctionWithName:@"scale" constantValues:[given objectForKey:way] error:&error] autorelease];
    CHECK(scale && !error);
    id<MTLBuffer> values = ints(1, 10);
    if (scale) run(pipeline(scale), values, 0);
    const int factor = [[expected objectForKey:way] intValue];
    check_values(values, factor, 10 * factor);
  }
  NSError *error = nil;
  CHECK([library() newFunctionWithName:@"scale" constantValues:by_index error:&error] == nil);
  CHECK_CONTAINS([error localizedDescription], @"by");
  const float wrong = 1;
  [by_index setConstantValue:&wrong type:MTLDataTypeFloat atIndex:3];
  CHECK([library() newFunctionWithName:@"scale" constantValues:by_index error:&error] == nil);
  CHECK_CONTAINS([error localizedDescription], @"by");
  CHECK_RAISES([by_index setConstantValue:&wrong type:MTLDataTypeFloat2x2 atIndex:0], @"setConstantValue:", @"type");
  CHECK_RAISES([by_index setConstantValue:(const void *)nullptr type:MTLDataTypeInt atIndex:0], @"setConstantValue:", @"NULL");
  CHECK_RAISES([by_index setConstantValue:&wrong type:MTLDataTypeInt atIndex:65536], @"setConstantValue:", @"65536");
}

// ------------------------------------------------------------------ pipelines

void an_argument_that_nothing_uses_need_not_be_bound() {
  id<MTLComputePipelineState> state = [[device()
      newComputePipelineStateWithFunction:kernel_of(@"kernel void k(device int *out [[buffer(2)]], constant int &spare [[buffer(0)]],\n"
                                                     "  texture2d<float> picture [[texture(3)]]) { out[0] = 7; }")
                                    error:nullptr] autorelease];
  MTLComputePipelineReflection *reflection = [state reflection];
  CHECK_EQUAL([[reflection bindings] count], 3);
  for (id<MTLBinding> binding in [reflection bindings]) CHECK_EQUAL([binding isUsed], [[binding name] isEqualToString:@"out"]);
  id<MTLBuffer> out = [[device() newBufferWithLength:4 options:MTLResourceStorageModeShared] autorelease];
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  const MTLSize one = MTLSizeMake(1, 1, 1);
  [encoder setComputePipelineState:state];
  CHECK_RAISES([encoder dispatchThreads:one threadsPerThreadgroup:one], @"dispatchThreads:", @"missing Buffer binding at index 2");
  [encoder setBuffer:out offset:0 atIndex:2];
  [encoder dispatchThreads:one threadsPerThreadgroup:one];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL(*(const int *)[out contents], 7);
}

void reflection_lists_the_arguments() {
  MTLComputePipelineReflection *reflection = nil;
  NSError *error = nil;
  id<MTLComputePipelineState> state = [[device() newComputePipelineStateWithFunction:function(@"total")
                                                                             options:MTLPipelineOptionBindingInfo
                                                                          reflection:&reflection
                                                                               error:&error] autorelease];
  CHECK(state && !error);
  CHECK_EQUAL([[reflection bindings] count], 3);
  // The state has it whatever was asked for.
  NSArray *later = [[[[device() newComputePipelineStateWithFunction:function(@"total") error:nullptr] autorelease] reflection] bindings];
  CHECK_EQUAL([later count], 3);
  for (NSUInteger i = 0; i < [later count]; i++)
    CHECK([[(id<MTLBinding>)[later objectAtIndex:i] name] isEqualToString:[(id<MTLBinding>)[[reflection bindings] objectAtIndex:i] name]]);
  for (id<MTLBinding> binding in [reflection bindings]) {
    CHECK([binding isUsed] && [binding isArgument]);
    if ([[binding name] isEqualToString:@"values"]) {
      CHECK([binding conformsToProtocol:objc_getProtocol("MTLBufferBinding")]);
      id<MTLBufferBinding> values = (id<MTLBufferBinding>)binding;
      CHECK_EQUAL([values type], MTLBindingTypeBuffer);
      CHECK_EQUAL([values index], 1);
      CHECK_EQUAL([values access], MTLBindingAccessReadOnly);
      CHECK_EQUAL([values bufferDataType], MTLDataTypeFloat4);
      CHECK_EQUAL([values bufferDataSize], 16);
      CHECK_EQUAL([values bufferAlignment], 16);
    } else if ([[binding name] isEqualToString:@"sums"]) {
      CHECK_EQUAL([binding index], 0);
      CHECK([binding access] != MTLBindingAccessReadOnly);
      CHECK_EQUAL([(id<MTLBufferBinding>)binding bufferDataType], MTLDataTypeFloat);
    } else {
      CHECK([[binding name] isEqualToString:@"parts"]);
      CHECK([binding conformsToProtocol:objc_getProtocol("MTLThreadgroupBinding")]);
      CHECK_EQUAL([binding type], MTLBindingTypeThreadgroupMemory);
      CHECK_EQUAL([(id<MTLThreadgroupBinding>)binding threadgroupMemoryDataSize], 4);
      CHECK_EQUAL([(id<MTLThreadgroupBinding>)binding threadgroupMemoryAlignment], 4);
    }
  }
  MTLComputePipelineReflection *unasked = reflection;
  [[device() newComputePipelineStateWithFunction:function(@"add") options:MTLPipelineOptionNone reflection:&unasked error:&error]
      autorelease];
  CHECK(unasked == nil);
}

void a_descriptor_limits_a_pipeline() {
  MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  [descriptor setLabel:@"limited"];
  [descriptor setComputeFunction:function(@"add")];
  [descriptor setMaxTotalThreadsPerThreadgroup:64];
  [descriptor setThreadGroupSizeIsMultipleOfThreadExecutionWidth:YES];
  MTLComputePipelineDescriptor *copy = [[descriptor copy] autorelease];
  [descriptor reset];
  CHECK([descriptor computeFunction] == nil && [descriptor label] == nil);
  CHECK([copy threadGroupSizeIsMultipleOfThreadExecutionWidth]);
  NSError *error = nil;
  id<MTLComputePipelineState> state = [[device() newComputePipelineStateWithDescriptor:copy
                                                                               options:MTLPipelineOptionNone
                                                                            reflection:nullptr
                                                                                 error:&error] autorelease];
  CHECK([[state label] isEqualToString:@"limited"]);
  CHECK_EQUAL([state maxTotalThreadsPerThreadgroup], 64);
  CHECK([state threadExecutionWidth] > 0);
  CHECK_EQUAL([state staticThreadgroupMemoryLength], 0);
  CHECK([state device] == device());
  CHECK_RAISES([device() newComputePipelineStateWithDescriptor:descriptor options:0 reflection:nullptr error:&error],
               @"newComputePipelineStateWithDescriptor:", @"nil");
  CHECK_RAISES([device() newComputePipelineStateWithFunction:(id<MTLFunction>)nil error:&error],
               @"newComputePipelineStateWithFunction:", @"nil");
  MTLNewComputePipelineStateCompletionHandler handler = ^(id<MTLComputePipelineState>, NSError *) {
  };
  id<MTLFunction> stranger = (id<MTLFunction>)[[[NSObject alloc] init] autorelease];
  CHECK_RAISES([device() newComputePipelineStateWithFunction:stranger completionHandler:handler],
               @"newComputePipelineStateWithFunction:completionHandler:", @"function");
}

void a_pipeline_may_be_made_in_the_background() {
  sem_t done;
  sem_init(&done, 0, 0);
  sem_t *const signal = &done;
  __block id<MTLComputePipelineState> made = nil;
  __block NSInteger code = 0;
  [device() newComputePipelineStateWithFunction:function(@"add")
                              completionHandler:^(id<MTLComputePipelineState> state, NSError *) {
                                made = [state retain];
                                sem_post(signal);
                              }];
  [device() newComputePipelineStateWithFunction:function(@"scale")
                              completionHandler:^(id<MTLComputePipelineState> state, NSError *error) {
                                if (!state) code = [error code];
                                sem_post(signal);
                              }];
  const int four = 4;
  MTLFunctionConstantValues *values = constants();
  [values setConstantValue:&four type:MTLDataTypeInt atIndex:3];
  __block id<MTLFunction> scale = nil;
  [library() newFunctionWithName:@"scale"
                  constantValues:values
               completionHandler:^(id<MTLFunction> function, NSError *) {
                 scale = [function retain];
                 sem_post(signal);
               }];
  for (int i = 0; i < 3; i++) sem_wait(signal);
  sem_destroy(&done);
  CHECK_EQUAL([made maxTotalThreadsPerThreadgroup] > 0, 1);
  CHECK_EQUAL(code, MTLLibraryErrorCompileFailure);
  id<MTLBuffer> numbers = ints(1, 2);
  run(pipeline([scale autorelease]), numbers, 0);
  check_values(numbers, 4, 8);
  [made release];
}

void a_pipeline_outlives_what_it_was_made_of() {
  id<MTLComputePipelineState> state = nil;
  @autoreleasepool {
    id<MTLLibrary> made = compile(source);
    state = [pipeline([[made newFunctionWithName:@"add"] autorelease]) retain];
  }
  id<MTLBuffer> values = ints(5, 6);
  CHECK_EQUAL([run(state, values, 10) status], MTLCommandBufferStatusCompleted);
  check_values(values, 15, 16);
  [state release];
}

// ------------------------------------------------------------------ errors of command buffers

void a_fault_names_its_encoder() {
  id<MTLCommandBuffer> failed = run(pipeline(function(@"stray")), ints(0, 0), 0);
  CHECK_EQUAL([failed status], MTLCommandBufferStatusError);
  NSError *error = [failed error];
  CHECK([[error domain] isEqualToString:@"MTLCommandBufferErrorDomain"]);
  CHECK_EQUAL([error code], MTLCommandBufferErrorPageFault);
  CHECK_CONTAINS([error localizedDescription], @"stray");
  NSArray *encoders = [[error userInfo] objectForKey:MTLCommandBufferEncoderInfoErrorKey];
  CHECK_EQUAL([encoders count], 1);
  if ([encoders count] == 1) {
    id<MTLCommandBufferEncoderInfo> info = [encoders objectAtIndex:0];
    CHECK([[info label] isEqualToString:@"the encoder"]);
    CHECK_EQUAL([info errorState], MTLCommandEncoderErrorStateFaulted);
    CHECK([[info debugSignposts] isEqualToArray:@[ @"before the dispatch" ]]);
    CHECK([(NSObject *)info conformsToProtocol:objc_getProtocol("MTLCommandBufferEncoderInfo")]);
  }
}

void a_pipeline_that_is_not_retained_is_the_program_s_to_keep() {
  id<MTLFunction> kernel = kernel_of(@"kernel void k(device uint *y) { *y = 1; }");
  for (BOOL retained : {YES, NO}) {
    id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
    id<MTLCommandBuffer> commandBuffer = retained ? [queue commandBuffer] : [queue commandBufferWithUnretainedReferences];
    id<MTLBuffer> kept = ints(0, 0);
    @autoreleasepool {
      id<MTLComputePipelineState> gone = [device() newComputePipelineStateWithFunction:kernel error:nullptr];
      id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
      [encoder setComputePipelineState:gone];
      [encoder setBuffer:kept offset:0 atIndex:0];
      [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
      [encoder endEncoding];
      [gone release];
    }
    [commandBuffer commit];
    [commandBuffer waitUntilCompleted];
    CHECK_EQUAL([[commandBuffer error] code], retained ? 0 : MTLCommandBufferErrorInvalidResource);
    if (!retained) CHECK_CONTAINS([[commandBuffer error] localizedDescription], @"a compute pipeline state was deallocated");
  }
}

void an_error_names_encoders_only_when_asked() {
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:pipeline(function(@"stray"))];
  [encoder setBuffer:ints(0, 0) offset:0 atIndex:0];
  [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  [encoder endEncoding];
  __block NSInteger code = 0;
  [commandBuffer addCompletedHandler:^(id<MTLCommandBuffer> finished) {
    code = [[finished error] code];
  }];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL(code, MTLCommandBufferErrorPageFault);
  CHECK([[[commandBuffer error] userInfo] objectForKey:MTLCommandBufferEncoderInfoErrorKey] == nil);
}

void kernels_share_threadgroup_memory() {
  const float values[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0};
  id<MTLBuffer> in = [[device() newBufferWithBytes:values length:sizeof values options:0] autorelease];
  id<MTLBuffer> out = [[device() newBufferWithLength:4 options:0] autorelease];
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:pipeline(function(@"total"))];
  id<MTLBuffer> buffers[] = {out, in};
  const NSUInteger offsets[] = {0, 0};
  [encoder setBuffers:buffers offsets:offsets withRange:NSMakeRange(0, 2)];
  [encoder setThreadgroupMemoryLength:16 atIndex:0];
  [encoder dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
  CHECK(*(const float *)[out contents] == 10);
}
}  // namespace

#define CASE(name) {#name, name}
const FaceCase library_cases[] = {
    CASE(a_library_lists_its_kernels),
    CASE(a_compile_failure_is_an_error_with_the_log),
    CASE(options_reach_the_compiler),
    CASE(a_version_of_the_language_that_macos_lacks_is_an_error),
    CASE(a_handler_may_wait_for_another), CASE(a_source_may_be_compiled_in_the_background),
    CASE(a_function_is_found_by_name),
    CASE(a_function_tells_its_constants_before_it_has_them),
    CASE(constants_are_given_by_index_name_or_range),
    CASE(reflection_lists_the_arguments),
    CASE(an_argument_that_nothing_uses_need_not_be_bound),
    CASE(a_descriptor_limits_a_pipeline),
    CASE(a_pipeline_may_be_made_in_the_background),
    CASE(a_pipeline_outlives_what_it_was_made_of),
    CASE(a_fault_names_its_encoder),
    CASE(a_pipeline_that_is_not_retained_is_the_program_s_to_keep),
    CASE(an_error_names_encoders_only_when_asked),
    CASE(kernels_share_threadgroup_memory),
    {nullptr, nullptr},
};
