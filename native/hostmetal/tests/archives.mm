// Cases of descriptors of functions and pipelines, what they refuse, binary archives and library files.
#import "faces.h"

#include <cstdlib>
#include <semaphore.h>
#include <string>
#include <unistd.h>

#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#endif

namespace {
NSString *const source = @"#include <metal_stdlib>\nusing namespace metal;\n"
                          "constant int by [[function_constant(3)]];\n"
                          "kernel void twice(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
                          "  values[i] *= 2;\n}\n"
                          "kernel void scale(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
                          "  values[i] *= by;\n}\n"
                          "kernel void mirror(device int *values [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {\n"
                          "  threadgroup int kept[2];\n  kept[i] = values[i];\n"
                          "  threadgroup_barrier(mem_flags::mem_threadgroup);\n  values[i] = kept[1 - i];\n}\n";

id<MTLLibrary> library() {
  NSError *error = nil;
  id<MTLLibrary> made = [[device() newLibraryWithSource:source options:nil error:&error] autorelease];
  if (!made) faces_note(__FILE__, __LINE__, [[error localizedDescription] UTF8String]);
  return made;
}

id<MTLFunction> function(NSString *name) {
  return [[library() newFunctionWithName:name] autorelease];
}

MTLFunctionConstantValues *by(int value) {
  MTLFunctionConstantValues *values = [[[MTLFunctionConstantValues alloc] init] autorelease];
  [values setConstantValue:&value type:MTLDataTypeInt atIndex:3];
  return values;
}

// What the pipeline makes of 5 and 7.
void check_result(id<MTLComputePipelineState> state, int first, int second) {
  CHECK(state != nil);
  if (!state) return;
  const int values[2] = {5, 7};
  id<MTLBuffer> buffer = [[device() newBufferWithBytes:values length:sizeof values options:0] autorelease];
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:buffer offset:0 atIndex:0];
  [encoder dispatchThreads:MTLSizeMake(2, 1, 1) threadsPerThreadgroup:MTLSizeMake(2, 1, 1)];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
  CHECK_EQUAL(((const int *)[buffer contents])[0], first);
  CHECK_EQUAL(((const int *)[buffer contents])[1], second);
}

MTLComputePipelineDescriptor *descriptor(id<MTLFunction> function, NSArray *archives = nil) {
  MTLComputePipelineDescriptor *made = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  [made setComputeFunction:function];
  [made setBinaryArchives:archives];
  return made;
}

id<MTLComputePipelineState> pipeline(MTLComputePipelineDescriptor *descriptor, MTLPipelineOption options, NSError **error) {
  return [[device() newComputePipelineStateWithDescriptor:descriptor options:options reflection:nullptr error:error] autorelease];
}

// ------------------------------------------------------------------ options

void options_have_metal_s_defaults_and_are_copied() {
  MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
  CHECK_EQUAL([options mathFloatingPointFunctions], MTLMathFloatingPointFunctionsFast);
  CHECK_EQUAL([options libraryType], MTLLibraryTypeExecutable);
  CHECK_EQUAL([options optimizationLevel], MTLLibraryOptimizationLevelDefault);
  CHECK_EQUAL([options compileSymbolVisibility], MTLCompileSymbolVisibilityDefault);
  CHECK(![options preserveInvariance] && ![options allowReferencingUndefinedSymbols] && ![options installName]);
  CHECK_EQUAL([options maxTotalThreadsPerThreadgroup], 0);
  CHECK_EQUAL([options requiredThreadsPerThreadgroup].width, 0);
  [options setFastMathEnabled:NO];
  CHECK_EQUAL([options mathFloatingPointFunctions], MTLMathFloatingPointFunctionsPrecise);
  [options setFastMathEnabled:YES];
  CHECK_EQUAL([options mathFloatingPointFunctions], MTLMathFloatingPointFunctionsFast);
  [options setMathFloatingPointFunctions:MTLMathFloatingPointFunctionsPrecise];
  [options setLibraryType:MTLLibraryTypeDynamic];
  [options setInstallName:@"@rpath/name"];
  [options setPreserveInvariance:YES];
  [options setOptimizationLevel:MTLLibraryOptimizationLevelSize];
  [options setCompileSymbolVisibility:MTLCompileSymbolVisibilityHidden];
  [options setAllowReferencingUndefinedSymbols:YES];
  [options setMaxTotalThreadsPerThreadgroup:96];
  [options setRequiredThreadsPerThreadgroup:MTLSizeMake(8, 4, 2)];
  MTLCompileOptions *copy = [[options copy] autorelease];
  CHECK_EQUAL([copy mathFloatingPointFunctions], MTLMathFloatingPointFunctionsPrecise);
  CHECK_EQUAL([copy libraryType], MTLLibraryTypeDynamic);
  CHECK([[copy installName] isEqualToString:@"@rpath/name"]);
  CHECK([copy preserveInvariance] && [copy allowReferencingUndefinedSymbols]);
  CHECK_EQUAL([copy optimizationLevel], MTLLibraryOptimizationLevelSize);
  CHECK_EQUAL([copy compileSymbolVisibility], MTLCompileSymbolVisibilityHidden);
  CHECK_EQUAL([copy maxTotalThreadsPerThreadgroup], 96);
  const MTLSize required = [copy requiredThreadsPerThreadgroup];
  CHECK(required.width == 8 && required.height == 4 && required.depth == 2);
  CHECK_RAISES([copy setLibraryType:(MTLLibraryType)2], @"setLibraryType:", @"unknown");
  CHECK_RAISES([copy setOptimizationLevel:(MTLLibraryOptimizationLevel)2], @"setOptimizationLevel:", @"unknown");
  CHECK_RAISES([copy setCompileSymbolVisibility:(MTLCompileSymbolVisibility)2], @"setCompileSymbolVisibility:", @"unknown");
  CHECK_RAISES([copy setMathFloatingPointFunctions:(MTLMathFloatingPointFunctions)2], @"setMathFloatingPointFunctions:", @"unknown");
}

void what_options_ask_for_in_vain_is_named() {
  NSError *error = nil;
  MTLCompileOptions *many = [[[MTLCompileOptions alloc] init] autorelease];
  [many setMaxTotalThreadsPerThreadgroup:1025];
  CHECK([device() newLibraryWithSource:source options:many error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"maxTotalThreadsPerThreadgroup (1025)");
  MTLCompileOptions *flat = [[[MTLCompileOptions alloc] init] autorelease];
  [flat setRequiredThreadsPerThreadgroup:MTLSizeMake(8, 0, 1)];
  CHECK([device() newLibraryWithSource:source options:flat error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"requiredThreadsPerThreadgroup (8, 0, 1)");
}

void a_library_limits_all_its_kernels() {
  MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
  [options setMaxTotalThreadsPerThreadgroup:96];
  [options setMathFloatingPointFunctions:MTLMathFloatingPointFunctionsPrecise];
  [options setOptimizationLevel:MTLLibraryOptimizationLevelSize];
  id<MTLLibrary> limited = [[device() newLibraryWithSource:source options:options error:nullptr] autorelease];
  CHECK([limited installName] == nil);
  id<MTLFunction> twice = [[limited newFunctionWithName:@"twice"] autorelease];
  MTLComputePipelineDescriptor *made = descriptor(twice);
  id<MTLComputePipelineState> state = pipeline(made, MTLPipelineOptionNone, nullptr);
  CHECK_EQUAL([state maxTotalThreadsPerThreadgroup], 96);
  check_result(state, 10, 14);
  [made setMaxTotalThreadsPerThreadgroup:64];
  CHECK_EQUAL([pipeline(made, MTLPipelineOptionNone, nullptr) maxTotalThreadsPerThreadgroup], 64);
}

// By the kernel, its library or the pipeline's descriptor.
void threadgroups_may_have_one_size_only() {
  NSString *const text = @"kernel void any(device uint *n [[buffer(0)]], uint3 size [[threads_per_threadgroup]]) { n[0] = size.x * 100 + size.y; }\n"
                          "[[required_threads_per_threadgroup(4, 2, 1)]] kernel void own(device uint *n [[buffer(0)]],\n"
                          "  uint3 size [[threads_per_threadgroup]]) { n[0] = size.x * 100 + size.y; }\n";
  const MTLSize four = MTLSizeMake(4, 2, 1), two = MTLSizeMake(2, 4, 1);
  MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
  [options setLanguageVersion:MTLLanguageVersion4_0];
  id<MTLLibrary> plain = library_of(text, options);
  [options setRequiredThreadsPerThreadgroup:four];
  id<MTLLibrary> whole = library_of(text, options);
  const auto made = ^(id<MTLLibrary> of, NSString *name, MTLSize required, NSError **error) {
    MTLComputePipelineDescriptor *d = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [d setComputeFunction:[[of newFunctionWithName:name] autorelease]];
    [d setRequiredThreadsPerThreadgroup:required];
    return pipeline([[d copy] autorelease], MTLPipelineOptionNone, error);
  };
  const MTLSize none = MTLSizeMake(0, 0, 0);
  CHECK_EQUAL([made(plain, @"any", none, nullptr) requiredThreadsPerThreadgroup].width, 0);
  id<MTLComputePipelineState> const states[] = {made(plain, @"own", none, nullptr), made(whole, @"any", none, nullptr),
                                                made(plain, @"any", four, nullptr), made(whole, @"own", four, nullptr)};
  id<MTLBuffer> out = [[device() newBufferWithLength:4 options:MTLResourceStorageModeShared] autorelease];
  for (id<MTLComputePipelineState> state : states) {
    const MTLSize required = [state requiredThreadsPerThreadgroup];
    CHECK(required.width == 4 && required.height == 2 && required.depth == 1);
    *(uint32_t *)[out contents] = 0;
    id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:out offset:0 atIndex:0];
    CHECK_RAISES([encoder dispatchThreads:four threadsPerThreadgroup:two], @"dispatchThreads:", @"requiredThreadsPerThreadgroup");
    CHECK_RAISES([encoder dispatchThreadgroups:four threadsPerThreadgroup:MTLSizeMake(8, 1, 1)], @"dispatchThreadgroups:",
                 @"requiredThreadsPerThreadgroup");
    [encoder dispatchThreadgroups:MTLSizeMake(2, 1, 1) threadsPerThreadgroup:four];
    [encoder endEncoding];
    [commandBuffer commit];
    [commandBuffer waitUntilCompleted];
    CHECK_EQUAL(*(const uint32_t *)[out contents], 402);
  }
  NSError *error = nil;
  CHECK(!made(plain, @"own", two, &error));
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"own requires threadgroups of 4 x 2 x 1 threads, and of 2 x 4 x 1");
  CHECK(!made(plain, @"any", MTLSizeMake(1, 0, 1), &error));
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"requiredThreadsPerThreadgroup (1, 0, 1)");
  CHECK(!made(plain, @"any", MTLSizeMake(64, 32, 1), &error));
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"any, 64 x 32 x 1 threads, must have 1 to 1024");
}

// ------------------------------------------------------------------ functions

void a_descriptor_makes_a_function() {
  MTLFunctionDescriptor *made = [MTLFunctionDescriptor functionDescriptor];
  CHECK([made name] == nil && [made specializedName] == nil && [made constantValues] == nil && [made binaryArchives] == nil);
  CHECK_EQUAL([made options], MTLFunctionOptionNone);
  CHECK_RAISES([library() newFunctionWithDescriptor:made error:nullptr], @"newFunctionWithDescriptor:", @"name");
  [made setName:@"scale"];
  [made setSpecializedName:@"scale_by_3"];
  [made setConstantValues:by(3)];
  MTLFunctionDescriptor *copy = [[made copy] autorelease];
  [made setName:@"absent"];
  NSError *error = nil;
  id<MTLFunction> scale = [[library() newFunctionWithDescriptor:copy error:&error] autorelease];
  CHECK(scale && !error);
  CHECK([[scale name] isEqualToString:@"scale_by_3"]);
  CHECK_EQUAL([scale options], MTLFunctionOptionNone);
  CHECK([[scale functionConstantsDictionary] objectForKey:@"by"] != nil);
  check_result(pipeline(descriptor(scale), MTLPipelineOptionNone, &error), 15, 21);
  // Unknown, with constants and without.
  CHECK([library() newFunctionWithDescriptor:made error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFunctionNotFound, @"absent");
  [made setConstantValues:nil];
  CHECK([library() newFunctionWithDescriptor:made error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFunctionNotFound, @"absent");
  [copy setOptions:MTLFunctionOptionPipelineIndependent];
  CHECK([library() newFunctionWithDescriptor:copy error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorUnsupported, @"MTLFunctionOptions");
}

void functions_and_pipelines_come_in_the_background() {
  sem_t done;
  sem_init(&done, 0, 0);
  sem_t *const signal = &done;
  __block id<MTLFunction> scale = nil;
  __block NSInteger code = 0;
  MTLFunctionDescriptor *made = [MTLFunctionDescriptor functionDescriptor];
  [made setName:@"scale"];
  [made setConstantValues:by(4)];
  [library() newFunctionWithDescriptor:made
                     completionHandler:^(id<MTLFunction> function, NSError *) {
                       scale = [function retain];
                       sem_post(signal);
                     }];
  // What is changed after the call does not matter.
  [made setName:@"absent"];
  [library() newFunctionWithDescriptor:made
                     completionHandler:^(id<MTLFunction> function, NSError *error) {
                       if (!function) code = [error code];
                       sem_post(signal);
                     }];
  sem_wait(signal);
  sem_wait(signal);
  CHECK_EQUAL(code, MTLLibraryErrorFunctionNotFound);
  __block id<MTLComputePipelineState> first = nil, second = nil;
  __block NSUInteger bindings = 0, unasked = 1;
  [device() newComputePipelineStateWithFunction:[scale autorelease]
                                        options:MTLPipelineOptionBindingInfo
                              completionHandler:^(id<MTLComputePipelineState> state,
                                                  MTLComputePipelineReflection *reflection, NSError *) {
                                first = [state retain];
                                bindings = [[reflection bindings] count];
                                sem_post(signal);
                              }];
  MTLComputePipelineDescriptor *of_mirror = descriptor(function(@"mirror"));
  [of_mirror setLabel:@"mirror"];
  [device() newComputePipelineStateWithDescriptor:of_mirror
                                          options:MTLPipelineOptionNone
                                completionHandler:^(id<MTLComputePipelineState> state,
                                                    MTLComputePipelineReflection *reflection, NSError *) {
                                  second = [state retain];
                                  unasked = [[reflection bindings] count];
                                  sem_post(signal);
                                }];
  [of_mirror reset];
  sem_wait(signal);
  sem_wait(signal);
  sem_destroy(&done);
  CHECK_EQUAL(bindings, 1);
  CHECK_EQUAL(unasked, 0);
  check_result([first autorelease], 20, 28);
  CHECK([[second label] isEqualToString:@"mirror"]);
  check_result([second autorelease], 7, 5);
}

// ------------------------------------------------------------------ pipelines

void a_pipeline_s_descriptor_has_metal_s_defaults_and_is_copied() {
  MTLComputePipelineDescriptor *made = descriptor(function(@"twice"));
  CHECK_EQUAL([made maxCallStackDepth], 1);
  CHECK(![made supportAddingBinaryFunctions]);
  CHECK([made linkedFunctions] != nil && [[made linkedFunctions] functions] == nil);
  CHECK_EQUAL([[[made buffers] objectAtIndexedSubscript:30] mutability], MTLMutabilityDefault);
  CHECK_RAISES([[made buffers] objectAtIndexedSubscript:31], @"objectAtIndexedSubscript:", @"31");
  [[[made buffers] objectAtIndexedSubscript:0] setMutability:MTLMutabilityMutable];
  MTLPipelineBufferDescriptor *immutable = [[[MTLPipelineBufferDescriptor alloc] init] autorelease];
  [immutable setMutability:MTLMutabilityImmutable];
  [[made buffers] setObject:immutable atIndexedSubscript:2];
  [immutable setMutability:MTLMutabilityDefault];
  [made setMaxCallStackDepth:3];
  [made setShaderValidation:MTLShaderValidationEnabled];
  [made setRequiredThreadsPerThreadgroup:MTLSizeMake(2, 1, 1)];
  CHECK_RAISES([made setShaderValidation:(MTLShaderValidation)3], @"setShaderValidation:", @"unknown");
  MTLComputePipelineDescriptor *copy = [[made copy] autorelease];
  [made reset];
  CHECK_EQUAL([made maxCallStackDepth], 1);
  CHECK_EQUAL([[[made buffers] objectAtIndexedSubscript:0] mutability], MTLMutabilityDefault);
  CHECK_EQUAL([[[copy buffers] objectAtIndexedSubscript:0] mutability], MTLMutabilityMutable);
  CHECK_EQUAL([[[copy buffers] objectAtIndexedSubscript:2] mutability], MTLMutabilityImmutable);
  CHECK_EQUAL([copy maxCallStackDepth], 3);
  CHECK([made requiredThreadsPerThreadgroup].width == 0 && [copy requiredThreadsPerThreadgroup].width == 2);
  CHECK([made shaderValidation] == MTLShaderValidationDefault && [copy shaderValidation] == MTLShaderValidationEnabled);
  CHECK_EQUAL([pipeline(copy, MTLPipelineOptionNone, nullptr) shaderValidation], MTLShaderValidationDisabled);
  check_result(pipeline(copy, MTLPipelineOptionNone, nullptr), 10, 14);
}

// ------------------------------------------------------------------ binary archives

id<MTLBinaryArchive> archive(NSURL *url, NSError **error) {
  MTLBinaryArchiveDescriptor *made = [[[MTLBinaryArchiveDescriptor alloc] init] autorelease];
  [made setUrl:url];
  return [[device() newBinaryArchiveWithDescriptor:[[made copy] autorelease] error:error] autorelease];
}

void an_archive_gives_what_was_added() {
  const Folder folder;
  NSError *error = nil;
  const MTLPipelineOption only = MTLPipelineOptionFailOnBinaryArchiveMiss;
  id<MTLBinaryArchive> made = archive(nil, &error);
  CHECK(made && !error && [made device] == device());
  [made setLabel:@"an archive"];
  CHECK([[made label] isEqualToString:@"an archive"]);
  NSArray *const archives = @[ made ];
  id<MTLFunction> mirror = function(@"mirror");
  id<MTLFunction> by_5 = [[library() newFunctionWithName:@"scale" constantValues:by(5) error:&error] autorelease];
  CHECK(pipeline(descriptor(mirror, archives), only, &error) == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFunctionNotFound, @"mirror: it is not in the binary archives");
  // Without the option a miss is compiled, which adds nothing.
  check_result(pipeline(descriptor(mirror, archives), MTLPipelineOptionNone, &error), 7, 5);
  CHECK(pipeline(descriptor(mirror, archives), only, &error) == nil);
  CHECK([made addComputePipelineFunctionsWithDescriptor:descriptor(mirror) error:&error] && !error);
  CHECK([made addComputePipelineFunctionsWithDescriptor:descriptor(by_5) error:&error]);
  check_result(pipeline(descriptor(mirror, archives), only, &error), 7, 5);

  NSURL *const url = [NSURL fileURLWithPath:folder.file(@"kernels")];
  CHECK([made serializeToURL:url error:&error] && !error);
  id<MTLBinaryArchive> read = archive(url, &error);
  CHECK(read && !error);
  if (!read) return;
  NSArray *const both = @[ archive(nil, nullptr), read ];
  check_result(pipeline(descriptor(mirror, both), only, &error), 7, 5);
  check_result(pipeline(descriptor(by_5, both), only, &error), 25, 35);
  // Other constants are other code.
  id<MTLFunction> by_6 = [[library() newFunctionWithName:@"scale" constantValues:by(6) error:&error] autorelease];
  CHECK(pipeline(descriptor(by_6, both), only, &error) == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFunctionNotFound, @"scale");
  check_result(pipeline(descriptor(by_6, both), MTLPipelineOptionNone, &error), 30, 42);
  CHECK_RAISES(pipeline(descriptor(mirror, @[ @"no archive" ]), only, nullptr), @"newComputePipelineStateWithDescriptor:",
               @"binary archive");
}

void a_function_brings_its_archives() {
  NSError *error = nil;
  id<MTLBinaryArchive> made = archive(nil, &error);
  MTLFunctionDescriptor *of_scale = [MTLFunctionDescriptor functionDescriptor];
  [of_scale setName:@"scale"];
  [of_scale setConstantValues:by(8)];
  [of_scale setOptions:MTLFunctionOptionFailOnBinaryArchiveMiss];
  [of_scale setBinaryArchives:@[ made ]];
  id<MTLFunction> scale = [[library() newFunctionWithDescriptor:of_scale error:&error] autorelease];
  CHECK_EQUAL([scale options], MTLFunctionOptionFailOnBinaryArchiveMiss);
  CHECK([device() newComputePipelineStateWithFunction:scale error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFunctionNotFound, @"scale");
  CHECK([made addFunctionWithDescriptor:of_scale library:library() error:&error] && !error);
  check_result([[device() newComputePipelineStateWithFunction:scale error:&error] autorelease], 40, 56);
}

void what_cannot_be_archived_is_an_error() {
  NSError *error = nil;
  id<MTLBinaryArchive> made = archive(nil, &error);
  CHECK(![made addComputePipelineFunctionsWithDescriptor:descriptor(function(@"scale")) error:&error]);
  check_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorCompilationFailure, @"by");
  // No visible function.
  MTLComputePipelineDescriptor *linking = descriptor(function(@"twice"));
  [[linking linkedFunctions] setFunctions:@[ function(@"mirror") ]];
  CHECK([made addComputePipelineFunctionsWithDescriptor:linking error:&error]);
  CHECK(pipeline(linking, MTLPipelineOptionNone, &error) == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"mirror");
  MTLFunctionDescriptor *absent = [MTLFunctionDescriptor functionDescriptor];
  [absent setName:@"absent"];
  CHECK(![made addFunctionWithDescriptor:absent library:library() error:&error]);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFunctionNotFound, @"absent");
  CHECK(![made serializeToURL:[NSURL fileURLWithPath:@"/nowhere/at all"] error:&error]);
  check_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorInternalError, @"/nowhere/at all");
  CHECK(![made serializeToURL:[NSURL URLWithString:@"http://localhost/archive"] error:&error]);
  check_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorInvalidFile, @"names no file");
  CHECK_RAISES([made addComputePipelineFunctionsWithDescriptor:descriptor(nil) error:&error],
               @"addComputePipelineFunctionsWithDescriptor:", @"function");
}

void a_file_that_is_no_archive_is_refused() {
  const Folder folder;
  NSError *error = nil;
  NSString *const path = folder.file(@"kernels");
  NSURL *const url = [NSURL fileURLWithPath:path];
  CHECK(archive(url, &error) == nil);
  check_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorInvalidFile, path);
  id<MTLBinaryArchive> made = archive(nil, &error);
  CHECK([made addComputePipelineFunctionsWithDescriptor:descriptor(function(@"twice")) error:&error]);
  CHECK([made serializeToURL:url error:&error]);
  NSData *const whole = [NSData dataWithContentsOfFile:path];
  NSMutableData *flipped = [[whole mutableCopy] autorelease];
  ((char *)[flipped mutableBytes])[[whole length] / 2] ^= 1;
  NSArray *const damaged = @[
    [NSData data], [whole subdataWithRange:NSMakeRange(0, [whole length] - 1)], flipped,
    [@"an archive of somebody else" dataUsingEncoding:NSUTF8StringEncoding]
  ];
  for (NSData *bytes in damaged) {
    CHECK([bytes writeToFile:path atomically:YES]);
    error = nil;
    CHECK(archive(url, &error) == nil);
    check_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorInvalidFile, @"damaged");
  }
  CHECK([whole writeToFile:path atomically:YES]);
  CHECK(archive(url, &error) != nil);
}

// ------------------------------------------------------------------ library files

void a_library_file_is_source() {
  const Folder folder;
  NSError *error = nil;
  NSString *const path = folder.file(@"kernels.metallib");
  CHECK([[source dataUsingEncoding:NSUTF8StringEncoding] writeToFile:path atomically:YES]);
  id<MTLLibrary> by_url = [[device() newLibraryWithURL:[NSURL fileURLWithPath:path] error:&error] autorelease];
  CHECK_EQUAL([[by_url functionNames] count], 3);
  id<MTLLibrary> by_path = [[device() newLibraryWithFile:path error:&error] autorelease];
  id<MTLFunction> twice = [[by_path newFunctionWithName:@"twice"] autorelease];
  check_result(pipeline(descriptor(twice), MTLPipelineOptionNone, &error), 10, 14);

  dispatch_data_t data = dispatch_data_create([source UTF8String], [source lengthOfBytesUsingEncoding:NSUTF8StringEncoding], nullptr,
                                              DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  id<MTLLibrary> by_data = [[device() newLibraryWithData:data error:&error] autorelease];
  dispatch_release(data);
  CHECK_EQUAL([[by_data functionNames] count], 3);
  data = dispatch_data_create("MTLB", 4, nullptr, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  CHECK([device() newLibraryWithData:data error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorUnsupported, @"the data holds code for Apple's GPUs");
  dispatch_release(data);
  CHECK_RAISES([device() newLibraryWithData:(dispatch_data_t)nil error:&error], @"newLibraryWithData:", @"nil");

  NSString *const absent = folder.file(@"absent.metallib");
  CHECK([device() newLibraryWithURL:[NSURL fileURLWithPath:absent] error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFileNotFound, absent);
  CHECK([[NSData dataWithBytes:"MTLB\1\0\2\0" length:8] writeToFile:path atomically:YES]);
  CHECK([device() newLibraryWithURL:[NSURL fileURLWithPath:path] error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorUnsupported, @"Apple's GPUs");
  CHECK([[NSData dataWithBytes:"\xff\xfe\x80" length:3] writeToFile:path atomically:YES]);
  CHECK([device() newLibraryWithFile:path error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorUnsupported, @"no MSL source");
  CHECK([[@"kernel void broken() { nowhere; }" dataUsingEncoding:NSUTF8StringEncoding] writeToFile:path atomically:YES]);
  CHECK([device() newLibraryWithFile:path error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"nowhere");
}

void the_default_library_lies_in_the_bundle() {
#if __has_feature(address_sanitizer)
  // NSBundle's +initialize keeps an object that nothing points to.
  __lsan_disable();
  [NSBundle class];
  __lsan_enable();
#endif
  const Folder folder;
  NSError *error = nil;
  NSBundle *const bundle = [NSBundle bundleWithPath:[NSString stringWithUTF8String:folder.path]];
  CHECK([device() newDefaultLibraryWithBundle:bundle error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFileNotFound, @"default.metallib");
  NSData *const text = [source dataUsingEncoding:NSUTF8StringEncoding];
  CHECK([text writeToFile:folder.file(@"default.metallib") atomically:YES]);
  id<MTLLibrary> found = [[device() newDefaultLibraryWithBundle:bundle error:&error] autorelease];
  CHECK_EQUAL([[found functionNames] count], 3);

  // A program without a bundle: beside it.
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  CHECK(length > 0);
  program[length > 0 ? length : 0] = 0;
  NSString *const place = [[NSString stringWithUTF8String:program] stringByDeletingLastPathComponent];
  NSString *const path = [place stringByAppendingPathComponent:@"default.metallib"];
  CHECK([device() newDefaultLibrary] == nil);
  CHECK([text writeToFile:path atomically:YES]);
  found = [[device() newDefaultLibrary] autorelease];
  CHECK_EQUAL(unlink([path fileSystemRepresentation]), 0);
  CHECK_EQUAL([[found functionNames] count], 3);
}
}  // namespace

#define CASE(name) {#name, name}
const FaceCase archive_cases[] = {
    CASE(options_have_metal_s_defaults_and_are_copied),
    CASE(what_options_ask_for_in_vain_is_named),
    CASE(a_library_limits_all_its_kernels),
    CASE(threadgroups_may_have_one_size_only),
    CASE(a_descriptor_makes_a_function),
    CASE(functions_and_pipelines_come_in_the_background),
    CASE(a_pipeline_s_descriptor_has_metal_s_defaults_and_is_copied),
    CASE(an_archive_gives_what_was_added),
    CASE(a_function_brings_its_archives),
    CASE(what_cannot_be_archived_is_an_error),
    CASE(a_file_that_is_no_archive_is_refused),
    CASE(a_library_file_is_source),
    CASE(the_default_library_lies_in_the_bundle),
    {nullptr, nullptr},
};
