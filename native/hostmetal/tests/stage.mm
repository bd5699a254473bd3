// Cases of [[stage_in]] of kernels: descriptors, what a pipeline refuses, reflection, and one kernel whose attributes come from everywhere.
// What each format means, crates/hostmetal/tests/msl/stage_in.rs tries.
#import "faces.h"

#include <cstring>

namespace {
NSString *const kernel =
    @"struct In { float3 position [[attribute(0)]]; half2 uv [[attribute(3)]]; uint number [[attribute(5)]]; float4 colour [[attribute(6)]]; };\n"
     "kernel void k(In in [[stage_in]], device float4 *out [[buffer(4)]], uint i [[thread_position_in_grid]]) {\n"
     "  out[2 * i] = float4(in.position + float3(float2(in.uv), 0), float(in.number)); out[2 * i + 1] = in.colour; }";

void set_attribute(MTLStageInputOutputDescriptor *stage, NSUInteger index, MTLAttributeFormat format, NSUInteger offset, NSUInteger buffer) {
  MTLAttributeDescriptor *attribute = [[stage attributes] objectAtIndexedSubscript:index];
  [attribute setFormat:format];
  [attribute setOffset:offset];
  [attribute setBufferIndex:buffer];
}

void set_layout(MTLStageInputOutputDescriptor *stage, NSUInteger index, NSUInteger stride, MTLStepFunction step) {
  MTLBufferLayoutDescriptor *layout = [[stage layouts] objectAtIndexedSubscript:index];
  [layout setStride:stride];
  [layout setStepFunction:step];
}

// Of `kernel`: a structure of 16 bytes, numbers by an index, a colour for all.
MTLStageInputOutputDescriptor *stage() {
  MTLStageInputOutputDescriptor *made = [MTLStageInputOutputDescriptor stageInputOutputDescriptor];
  set_attribute(made, 0, MTLAttributeFormatFloat3, 0, 0);
  set_attribute(made, 3, MTLAttributeFormatHalf2, 12, 0);
  set_layout(made, 0, 16, MTLStepFunctionThreadPositionInGridX);
  set_attribute(made, 5, MTLAttributeFormatUInt, 0, 1);
  set_layout(made, 1, 4, MTLStepFunctionThreadPositionInGridXIndexed);
  set_attribute(made, 6, MTLAttributeFormatUChar4Normalized_BGRA, 0, 2);
  set_layout(made, 2, 4, MTLStepFunctionConstant);
  [[[made layouts] objectAtIndexedSubscript:2] setStepRate:0];
  [made setIndexType:MTLIndexTypeUInt16];
  [made setIndexBufferIndex:3];
  return made;
}

MTLComputePipelineDescriptor *descriptor(id<MTLFunction> function, MTLStageInputOutputDescriptor *stage) {
  MTLComputePipelineDescriptor *made = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  [made setComputeFunction:function];
  [made setStageInputDescriptor:stage];
  return made;
}

id<MTLBuffer> buffer(const void *bytes, NSUInteger length) {
  return [[device() newBufferWithBytes:bytes length:length options:0] autorelease];
}

void attributes_come_from_buffers() {
  enum { N = 37 };
  MTLComputePipelineReflection *reflection = nil;
  NSError *error = nil;
  MTLComputePipelineDescriptor *whole = descriptor(kernel_of(kernel), stage());
  id<MTLComputePipelineState> state = [[device() newComputePipelineStateWithDescriptor:whole
                                                                               options:MTLPipelineOptionBindingInfo
                                                                            reflection:&reflection
                                                                                 error:&error] autorelease];
  if (!state) return faces_note(__FILE__, __LINE__, [[error localizedDescription] UTF8String]);
  // The kernel names buffer 4 only.
  CHECK_EQUAL([[reflection bindings] count], 5);
  for (id<MTLBinding> binding in [reflection bindings]) {
    CHECK_EQUAL([binding isArgument], [binding index] == 4);
    CHECK([binding isUsed] && [binding type] == MTLBindingTypeBuffer);
  }
  struct Vertex {
    float position[3];
    uint16_t uv[2];
  } vertices[N];
  uint16_t indices[N];
  uint32_t numbers[64];
  for (int i = 0; i < 64; i++) numbers[i] = 1000 + i;
  for (int i = 0; i < N; i++) {
    // Halves: 0.5, and 0 or 1.
    vertices[i] = {{float(i), float(2 * i), float(-i)}, {0x3800, uint16_t(i % 2 ? 0x3c00 : 0)}};
    indices[i] = 63 - i;
  }
  const uint8_t colour[4] = {255, 0, 51, 102};
  id<MTLBuffer> out = [[device() newBufferWithLength:N * 32 options:0] autorelease];
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:buffer(vertices, sizeof vertices) offset:0 atIndex:0];
  [encoder setBuffer:buffer(numbers, sizeof numbers) offset:0 atIndex:1];
  [encoder setBytes:colour length:4 atIndex:2];
  [encoder setBuffer:out offset:0 atIndex:4];
  CHECK_RAISES([encoder dispatchThreads:MTLSizeMake(N, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)],
               @"dispatchThreads:threadsPerThreadgroup:", @"missing Buffer binding at index 3.");
  [encoder setBuffer:buffer(indices, sizeof indices) offset:0 atIndex:3];
  [encoder dispatchThreads:MTLSizeMake(N, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
  const float *found = (const float *)[out contents];
  for (int i = 0; i < N; i++) {
    const float expected[8] = {i + 0.5f, 2.0f * i + i % 2, -float(i), 1000.0f + 63 - i, 0.2f, 0, 1, 0.4f};
    for (int c = 0; c < 8; c++)
      if (found[8 * i + c] != expected[c])
        return faces_note(__FILE__, __LINE__, "thread " + std::to_string(i) + ", number " + std::to_string(c) + ": " +
                                                  std::to_string(found[8 * i + c]));
  }
}

void a_function_tells_its_attributes() {
  NSArray *attributes = [kernel_of(kernel) stageInputAttributes];
  struct {
    NSString *name;
    NSUInteger index;
    MTLDataType type;
  } expected[] = {{@"position", 0, MTLDataTypeFloat3}, {@"uv", 3, MTLDataTypeHalf2}, {@"number", 5, MTLDataTypeUInt}, {@"colour", 6, MTLDataTypeFloat4}};
  CHECK_EQUAL([attributes count], 4);
  for (NSUInteger i = 0; i < [attributes count]; i++) {
    MTLAttribute *attribute = [attributes objectAtIndex:i];
    CHECK([[attribute name] isEqualToString:expected[i].name]);
    CHECK_EQUAL([attribute attributeIndex], expected[i].index);
    CHECK_EQUAL([attribute attributeType], expected[i].type);
    CHECK([attribute isActive] && ![attribute isPatchData] && ![attribute isPatchControlPointData]);
  }
  CHECK([kernel_of(@"kernel void k(device int *p [[buffer(0)]]) { p[0] = 1; }") stageInputAttributes] == nil);
  // Without a descriptor too.
  CHECK([[kernel_of(@"struct A { device int *p; }; struct In { int n [[attribute(0)]]; };\n"
                    "kernel void k(In in [[stage_in]], constant A &a [[buffer(0)]]) { a.p[0] = in.n; }") newArgumentEncoderWithBufferIndex:0]
            autorelease] != nil);
}

void check_refused(void (^change)(MTLStageInputOutputDescriptor *), NSString *text, const char *file, int line) {
  MTLStageInputOutputDescriptor *changed = stage();
  change(changed);
  NSError *error = nil;
  MTLComputePipelineDescriptor *whole = descriptor(kernel_of(kernel), changed);
  id<MTLComputePipelineState> state =
      [[device() newComputePipelineStateWithDescriptor:whole options:MTLPipelineOptionNone reflection:nullptr error:&error] autorelease];
  if (state || ![[error domain] isEqualToString:MTLLibraryErrorDomain] || [error code] != MTLLibraryErrorCompileFailure ||
      ![[error localizedDescription] isEqualToString:text])
    faces_note(file, line, state ? "made" : [[error localizedDescription] UTF8String]);
}
#define CHECK_REFUSED(text, ...) check_refused(^(MTLStageInputOutputDescriptor * made) { __VA_ARGS__; }, text, __FILE__, __LINE__)

void what_does_not_fit_is_named() {
  NSError *error = nil;
  CHECK([device() newComputePipelineStateWithFunction:kernel_of(kernel) error:&error] == nil);
  CHECK_CONTAINS([error localizedDescription], @"Compute function k has input attributes but no stage input descriptor was set.");
  CHECK_REFUSED(@"Attribute uv(3) is missing from the stage input descriptor", set_attribute(made, 3, MTLAttributeFormatInvalid, 0, 0));
  CHECK_REFUSED(@"Attribute uv(3): 43 is not a valid MTLAttributeFormat", set_attribute(made, 3, (MTLAttributeFormat)43, 0, 0));
  CHECK_REFUSED(@"Attribute number(5) of type uint cannot be read using MTLAttributeFormatInt", set_attribute(made, 5, MTLAttributeFormatInt, 0, 1));
  CHECK_REFUSED(@"Attribute number(5) of type uint cannot be read using MTLAttributeFormatUCharNormalized",
                set_attribute(made, 5, MTLAttributeFormatUCharNormalized, 0, 1));
  CHECK_REFUSED(@"Attribute position(0) references a buffer at index 7, but there is no buffer layout set for that index",
                set_attribute(made, 0, MTLAttributeFormatFloat3, 0, 7);
                set_layout(made, 7, 0, MTLStepFunctionThreadPositionInGridX));
  CHECK_REFUSED(@"Attribute position(0): bufferIndex (31) must be < 31", set_attribute(made, 0, MTLAttributeFormatFloat3, 0, 31));
  CHECK_REFUSED(@"Attribute position(0): the stepFunction of buffer layout[0] (1) is not one of compute functions",
                set_layout(made, 0, 16, MTLStepFunctionPerVertex));
  CHECK_REFUSED(@"Attribute position(0): the stepRate of buffer layout[0] (0) must be > 0 and < 2^32",
                [[[made layouts] objectAtIndexedSubscript:0] setStepRate:0]);
  CHECK_REFUSED(@"indexBufferIndex (99) must be < 31", [made setIndexBufferIndex:99]);
  // What the kernel does not ask for may be there.
  CHECK_REFUSED(@"Attribute colour(6) is missing from the stage input descriptor", set_attribute(made, 30, MTLAttributeFormatInt, 0, 30);
                set_attribute(made, 6, MTLAttributeFormatInvalid, 0, 0));
}

void descriptors_are_copied_and_reset() {
  MTLStageInputOutputDescriptor *made = stage();
  MTLComputePipelineDescriptor *whole = descriptor(nil, made);
  [made reset];
  CHECK_EQUAL([[[made attributes] objectAtIndexedSubscript:3] format], MTLAttributeFormatInvalid);
  CHECK_EQUAL([[[made layouts] objectAtIndexedSubscript:0] stride], 0);
  CHECK_EQUAL([made indexBufferIndex], 0);
  MTLStageInputOutputDescriptor *kept = [[[whole copy] autorelease] stageInputDescriptor];
  CHECK(kept != made);
  CHECK_EQUAL([[[kept attributes] objectAtIndexedSubscript:3] format], MTLAttributeFormatHalf2);
  CHECK_EQUAL([[[kept attributes] objectAtIndexedSubscript:3] offset], 12);
  CHECK_EQUAL([[[kept attributes] objectAtIndexedSubscript:5] bufferIndex], 1);
  CHECK_EQUAL([[[kept layouts] objectAtIndexedSubscript:1] stepFunction], MTLStepFunctionThreadPositionInGridXIndexed);
  CHECK_EQUAL([[[kept layouts] objectAtIndexedSubscript:0] stepRate], 1);
  CHECK_EQUAL([kept indexBufferIndex], 3);
  [whole reset];
  CHECK([whole stageInputDescriptor] == nil);
  CHECK_RAISES([[made attributes] objectAtIndexedSubscript:31], @"objectAtIndexedSubscript:", @"31");
  CHECK_RAISES([[made layouts] setObject:nil atIndexedSubscript:31], @"setObject:atIndexedSubscript:", @"31");
}

void archives_hold_kernels_with_attributes() {
  id<MTLBinaryArchive> archive =
      [[device() newBinaryArchiveWithDescriptor:[[[MTLBinaryArchiveDescriptor alloc] init] autorelease] error:nullptr] autorelease];
  NSError *error = nil;
  MTLComputePipelineDescriptor *whole = descriptor(kernel_of(kernel), stage());
  CHECK([archive addComputePipelineFunctionsWithDescriptor:whole error:&error]);
  [whole setBinaryArchives:@[ archive ]];
  const MTLPipelineOption only = MTLPipelineOptionFailOnBinaryArchiveMiss;
  CHECK([[device() newComputePipelineStateWithDescriptor:whole options:only reflection:nullptr error:&error] autorelease] != nil);
  // With another stride it is other code.
  set_layout([whole stageInputDescriptor], 0, 20, MTLStepFunctionThreadPositionInGridX);
  CHECK([[device() newComputePipelineStateWithDescriptor:whole options:only reflection:nullptr error:&error] autorelease] == nil);
  CHECK_EQUAL([error code], MTLLibraryErrorFunctionNotFound);
}

// ------------------------------------------------------------------ strides that are set with buffers

NSString *const numbers_kernel =
    @"struct In { uint n [[attribute(0)]]; };\n"
     "kernel void k(In in [[stage_in]], device uint *out [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] = in.n; }";

// Of `numbers_kernel`: a number at 4 of each element of buffer 0.
id<MTLComputePipelineState> numbers_pipeline(NSUInteger stride) {
  MTLStageInputOutputDescriptor *made = [MTLStageInputOutputDescriptor stageInputOutputDescriptor];
  set_attribute(made, 0, MTLAttributeFormatUInt, 4, 0);
  set_layout(made, 0, stride, MTLStepFunctionThreadPositionInGridX);
  MTLComputePipelineDescriptor *whole = descriptor(kernel_of(numbers_kernel), made);
  [whole setSupportIndirectCommandBuffers:YES];
  return pipeline_of(whole);
}

// 0, 3, 6, ...
id<MTLBuffer> numbers() {
  id<MTLBuffer> made = [[device() newBufferWithLength:400 options:0] autorelease];
  for (uint32_t i = 0; i < 100; i++) ((uint32_t *)[made contents])[i] = 3 * i;
  return made;
}

void check_numbers(id<MTLBuffer> out, NSUInteger from, NSUInteger first, NSUInteger step, NSUInteger count, int line) {
  for (NSUInteger i = 0; i < count; i++) {
    const uint32_t found = ((uint32_t *)[out contents])[from + i];
    if (found != 3 * (first + step * i)) return faces_note(__FILE__, line, "thread " + std::to_string(i) + ": " + std::to_string(found));
  }
}

const MTLSize five = {5, 1, 1};

void strides_are_set_with_buffers() {
  id<MTLComputePipelineState> state = numbers_pipeline(MTLBufferLayoutStrideDynamic), fixed = numbers_pipeline(8);
  id<MTLBuffer> in = numbers(), out = [[device() newBufferWithLength:400 options:0] autorelease];
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:in offset:0 attributeStride:8 atIndex:0];
  [encoder setBuffer:out offset:0 atIndex:1];
  [encoder dispatchThreads:five threadsPerThreadgroup:five];
  const id<MTLBuffer> both[] = {in, out};
  const NSUInteger offsets[] = {8, 20}, strides[] = {12, MTLAttributeStrideStatic};
  [encoder setBuffers:both offsets:offsets attributeStrides:strides withRange:NSMakeRange(0, 2)];
  [encoder dispatchThreads:five threadsPerThreadgroup:five];
  [encoder setBufferOffset:4 attributeStride:16 atIndex:0];
  [encoder setBufferOffset:40 atIndex:1];
  [encoder dispatchThreads:five threadsPerThreadgroup:five];
  // Another offset leaves the stride.
  [encoder setBufferOffset:0 atIndex:0];
  [encoder setBufferOffset:60 atIndex:1];
  [encoder dispatchThreads:five threadsPerThreadgroup:five];
  [encoder setBytes:[in contents] length:400 attributeStride:0 atIndex:0];
  [encoder setBufferOffset:80 atIndex:1];
  [encoder dispatchThreads:five threadsPerThreadgroup:five];
  NSString *const dispatch = @"dispatchThreads:threadsPerThreadgroup:";
  [encoder setBuffer:in offset:0 atIndex:0];
  CHECK_RAISES([encoder dispatchThreads:five threadsPerThreadgroup:five], dispatch, @"index 0 must be set with an attributeStride");
  [encoder setBytes:[in contents] length:400 atIndex:0];
  CHECK_RAISES([encoder dispatchThreads:five threadsPerThreadgroup:five], dispatch, @"index 0 must be set with an attributeStride");
  [encoder setComputePipelineState:fixed];
  [encoder setBuffer:in offset:0 attributeStride:8 atIndex:0];
  CHECK_RAISES([encoder dispatchThreads:five threadsPerThreadgroup:five], dispatch, @"is not MTLBufferLayoutStrideDynamic");
  CHECK_RAISES([encoder setBuffer:in offset:0 attributeStride:8 atIndex:31], @"attributeStride:atIndex:", @"31");
  CHECK_RAISES([encoder setBufferOffset:401 attributeStride:8 atIndex:0], @"setBufferOffset:attributeStride:atIndex:", @"offset");
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
  check_numbers(out, 0, 1, 2, 5, __LINE__);
  check_numbers(out, 5, 3, 3, 5, __LINE__);
  check_numbers(out, 10, 2, 4, 5, __LINE__);
  check_numbers(out, 15, 1, 4, 5, __LINE__);
  check_numbers(out, 20, 1, 0, 5, __LINE__);
}

id<MTLIndirectCommandBuffer> commands(BOOL strides, BOOL inherit) {
  MTLIndirectCommandBufferDescriptor *made = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
  [made setCommandTypes:MTLIndirectCommandTypeConcurrentDispatchThreads];
  [made setSupportDynamicAttributeStride:strides];
  [made setInheritBuffers:inherit];
  made = [[made copy] autorelease];
  return [[device() newIndirectCommandBufferWithDescriptor:made maxCommandCount:3 options:0] autorelease];
}

NSString *executed(id<MTLIndirectCommandBuffer> all, NSRange range, void (^before)(id<MTLComputeCommandEncoder> encoder) = nil) {
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  if (before) before(encoder);
  [encoder executeCommandsInBuffer:all withRange:range];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  return [commandBuffer error] ? [[commandBuffer error] localizedDescription] : @"";
}

void commands_have_regions_and_strides() {
  id<MTLComputePipelineState> state = numbers_pipeline(MTLBufferLayoutStrideDynamic), fixed = numbers_pipeline(8);
  id<MTLIndirectCommandBuffer> all = commands(YES, NO);
  id<MTLBuffer> in = numbers(), out = [[device() newBufferWithLength:400 options:0] autorelease];
  for (NSUInteger i = 0; i < 3; i++) {
    id<MTLIndirectComputeCommand> command = [all indirectComputeCommandAtIndex:i];
    [command setComputePipelineState:i == 2 ? fixed : state];
    if (i == 2) [command setKernelBuffer:in offset:8 atIndex:0];
    else [command setKernelBuffer:in offset:8 attributeStride:4 + 8 * i atIndex:0];
    [command setKernelBuffer:out offset:20 * i atIndex:1];
    if (i > 0) [command setStageInRegion:MTLRegionMake1D(i, 3)];
    [command concurrentDispatchThreads:five threadsPerThreadgroup:five];
  }
  CHECK([executed(all, NSMakeRange(0, 3)) isEqualToString:@""]);
  check_numbers(out, 0, 3, 1, 5, __LINE__);
  // Threads beyond the region get zeros.
  check_numbers(out, 5, 6, 3, 3, __LINE__);
  check_numbers(out, 8, 0, 0, 2, __LINE__);
  check_numbers(out, 10, 7, 2, 3, __LINE__);
  check_numbers(out, 13, 0, 0, 2, __LINE__);
  // A reset takes both away.
  id<MTLIndirectComputeCommand> command = [all indirectComputeCommandAtIndex:1];
  [command reset];
  [command setComputePipelineState:fixed];
  [command setKernelBuffer:in offset:0 atIndex:0];
  [command setKernelBuffer:out offset:0 atIndex:1];
  [command concurrentDispatchThreads:five threadsPerThreadgroup:five];
  CHECK([executed(all, NSMakeRange(1, 1)) isEqualToString:@""]);
  check_numbers(out, 0, 1, 2, 5, __LINE__);
  // What does not fit.
  CHECK_RAISES([command setStageInRegion:MTLRegionMake1D(1ull << 32, 1)], @"setStageInRegion:", @"2^32");
  [command setComputePipelineState:state];
  CHECK_CONTAINS(executed(all, NSMakeRange(1, 1)), @"the buffer at index 0 is set without its stride");
  [command setComputePipelineState:fixed];
  [command setKernelBuffer:in offset:0 attributeStride:8 atIndex:0];
  CHECK_CONTAINS(executed(all, NSMakeRange(1, 1)), @"the buffer at index 0 is set with a stride, which its layout has already");
  id<MTLIndirectComputeCommand> plain = [commands(NO, NO) indirectComputeCommandAtIndex:0];
  CHECK_RAISES([plain setComputePipelineState:state], @"setComputePipelineState:", @"supportDynamicAttributeStride");
  CHECK_RAISES([plain setKernelBuffer:in offset:0 attributeStride:4 atIndex:0], @"attributeStride:atIndex:", @"supportDynamicAttributeStride");
  [plain setKernelBuffer:in offset:0 attributeStride:MTLAttributeStrideStatic atIndex:0];
}

void commands_inherit_strides() {
  id<MTLComputePipelineState> state = numbers_pipeline(MTLBufferLayoutStrideDynamic);
  id<MTLIndirectCommandBuffer> all = commands(YES, YES);
  id<MTLBuffer> in = numbers(), out = [[device() newBufferWithLength:400 options:0] autorelease];
  id<MTLIndirectComputeCommand> command = [all indirectComputeCommandAtIndex:0];
  [command setComputePipelineState:state];
  [command concurrentDispatchThreads:five threadsPerThreadgroup:five];
  NSString *told = executed(all, NSMakeRange(0, 1), ^(id<MTLComputeCommandEncoder> encoder) {
    [encoder setBuffer:in offset:0 attributeStride:20 atIndex:0];
    [encoder setBuffer:out offset:0 atIndex:1];
  });
  CHECK([told isEqualToString:@""]);
  check_numbers(out, 0, 1, 5, 5, __LINE__);
}

void a_kernel_writes_regions_and_strides() {
  id<MTLLibrary> library = library_of(
      @"struct Job { command_buffer commands; compute_pipeline_state pipeline; device uint *in; device uint *out; };\n"
       "kernel void k(constant Job &job [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
       "  compute_command command(job.commands, i);\n"
       "  command.set_compute_pipeline_state(job.pipeline);\n"
       "  if (i == 0) command.set_kernel_buffer(job.in, 12, 0);\n"
       "  else command.set_kernel_buffer((constant uint *)job.in, 4 * i, 0);\n"
       "  command.set_kernel_buffer(job.out + 5 * i, 1);\n"
       "  if (i == 1) command.set_stage_in_region(uint3(7, 0, 0), uint3(4, 1, 1));\n"
       "  command.concurrent_dispatch_threads(uint3(5, 1, 1), uint3(5, 1, 1));\n"
       "  job.out[50 + i] = 3 * job.commands.size(); }");
  MTLComputePipelineDescriptor *whole = descriptor([[library newFunctionWithName:@"k"] autorelease], nil);
  id<MTLComputePipelineState> writer = pipeline_of(whole), state = numbers_pipeline(MTLBufferLayoutStrideDynamic), fixed = numbers_pipeline(8);
  id<MTLBuffer> in = numbers(), out = [[device() newBufferWithLength:400 options:0] autorelease];
  id<MTLIndirectCommandBuffer> all = commands(YES, NO);
  struct Job {
    MTLResourceID commands, pipeline;
    uint64_t in, out;
  };
  __block Job job = {[all gpuResourceID], [state gpuResourceID], [in gpuAddress], [out gpuAddress]};
  void (^run)(id<MTLComputeCommandEncoder>) = ^(id<MTLComputeCommandEncoder> encoder) {
    [encoder setComputePipelineState:writer];
    [encoder setBytes:&job length:sizeof job atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(3, 1, 1) threadsPerThreadgroup:MTLSizeMake(3, 1, 1)];
  };
  CHECK([executed(all, NSMakeRange(0, 3), run) isEqualToString:@""]);
  check_numbers(out, 0, 1, 3, 5, __LINE__);
  check_numbers(out, 5, 8, 1, 4, __LINE__);
  check_numbers(out, 9, 0, 0, 1, __LINE__);
  check_numbers(out, 10, 1, 2, 5, __LINE__);
  check_numbers(out, 50, 3, 0, 3, __LINE__);
  // What a kernel writes is not believed.
  id<MTLIndirectCommandBuffer> plain = commands(NO, NO);
  job.commands = [plain gpuResourceID];
  CHECK_CONTAINS(executed(plain, NSMakeRange(0, 1), run), @"made without supportDynamicAttributeStride");
  job.pipeline = [fixed gpuResourceID];
  CHECK_CONTAINS(executed(plain, NSMakeRange(0, 1), run), @"is set with a stride, which its layout has already");
}
}  // namespace

#define CASE(name) {#name, name}
const FaceCase stage_cases[] = {
    CASE(attributes_come_from_buffers),
    CASE(a_function_tells_its_attributes),
    CASE(what_does_not_fit_is_named),
    CASE(descriptors_are_copied_and_reset),
    CASE(archives_hold_kernels_with_attributes),
    CASE(strides_are_set_with_buffers),
    CASE(commands_have_regions_and_strides),
    CASE(commands_inherit_strides),
    CASE(a_kernel_writes_regions_and_strides),
    {nullptr, nullptr},
};
