// Cases of [[stage_in]] of kernels: descriptors, what a pipeline refuses, reflection, and one kernel whose attributes come from everywhere.
// What each format means, crates/hostmetal/tests/msl_stage_in.rs tries.
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
}  // namespace

#define CASE(name) {#name, name}
const FaceCase stage_cases[] = {
    CASE(attributes_come_from_buffers),
    CASE(a_function_tells_its_attributes),
    CASE(what_does_not_fit_is_named),
    CASE(descriptors_are_copied_and_reset),
    CASE(archives_hold_kernels_with_attributes),
    {nullptr, nullptr},
};
