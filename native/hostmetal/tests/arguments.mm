// Cases of argument buffers.
#import "faces.h"

#include <cstddef>
#include <cstring>

namespace {
id<MTLBuffer> buffer(NSUInteger length) {
  return [[device() newBufferWithLength:length options:MTLResourceStorageModeShared] autorelease];
}

// One texel of one word.
id<MTLTexture> texel(uint32_t value) {
  MTLTextureDescriptor *descriptor = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR32Uint
                                                                                        width:1
                                                                                       height:1
                                                                                    mipmapped:NO];
  id<MTLTexture> made = [[device() newTextureWithDescriptor:descriptor] autorelease];
  [made replaceRegion:MTLRegionMake2D(0, 0, 1, 1) mipmapLevel:0 withBytes:&value bytesPerRow:4];
  return made;
}

id<MTLSamplerState> sampler() {
  MTLSamplerDescriptor *descriptor = [[[MTLSamplerDescriptor alloc] init] autorelease];
  [descriptor setSupportArgumentBuffers:YES];
  return [[device() newSamplerStateWithDescriptor:descriptor] autorelease];
}

id<MTLComputePipelineState> pipeline(id<MTLFunction> function) {
  NSError *error = nil;
  id<MTLComputePipelineState> made = [[device() newComputePipelineStateWithFunction:function error:&error] autorelease];
  if (!made) faces_note(__FILE__, __LINE__, [[error localizedDescription] UTF8String]);
  return made;
}

// Runs count threads over the buffers 0, 1, ...
id<MTLCommandBuffer> run(id<MTLComputePipelineState> state, NSUInteger count, NSArray *buffers) {
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:state];
  for (NSUInteger i = 0; i < [buffers count]; i++) [encoder setBuffer:[buffers objectAtIndex:i] offset:0 atIndex:i];
  [encoder dispatchThreads:MTLSizeMake(count, 1, 1) threadsPerThreadgroup:MTLSizeMake(count, 1, 1)];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  return commandBuffer;
}

// ------------------------------------------------------------------ addresses and handles

void a_structure_of_addresses_and_handles_is_an_argument_buffer() {
  struct Arguments {
    uint64_t out;
    MTLResourceID image, sampler;
    uint32_t scale;
  };
  id<MTLComputePipelineState> state = pipeline(kernel_of(
      @"struct Arguments { device uint *out; texture2d<uint> image; sampler s; uint scale; };\n"
       "kernel void k(device const Arguments *all [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
       "  all[i].out[i] = all[i].image.read(uint2(0)).x * all[i].scale + all[i].image.sample(all[i].s, float2(0.5)).x; }"));
  CHECK_EQUAL([device() argumentBuffersSupport], MTLArgumentBuffersTier2);
  id<MTLBuffer> arguments = buffer(sizeof(Arguments) * 8), out = buffer(4 * 8);
  NSMutableArray *images = [NSMutableArray array];
  CHECK_EQUAL([out gpuAddress], (uint64_t)[out contents]);
  for (uint32_t i = 0; i < 8; i++) {
    [images addObject:texel(i + 100)];
    ((Arguments *)[arguments contents])[i] = {[out gpuAddress], [[images lastObject] gpuResourceID], [sampler() gpuResourceID], i + 2};
  }
  CHECK_EQUAL([run(state, 8, @[ arguments ]) status], MTLCommandBufferStatusCompleted);
  for (uint32_t i = 0; i < 8; i++) CHECK_EQUAL(((uint32_t *)[out contents])[i], (i + 100) * (i + 2) + i + 100);
}

void a_handle_of_a_texture_that_is_gone_is_an_invalid_resource() {
  id<MTLComputePipelineState> state = pipeline(
      kernel_of(@"kernel void k(device const texture2d<uint> *image [[buffer(0)]], device uint *out [[buffer(1)]]) {\n"
                "  out[0] = image[0].read(uint2(0)).x; }"));
  id<MTLBuffer> arguments = buffer(8), out = buffer(4);
  @autoreleasepool {
    *(MTLResourceID *)[arguments contents] = [texel(5) gpuResourceID];
  }
  id<MTLCommandBuffer> failed = run(state, 1, @[ arguments, out ]);
  CHECK_EQUAL([failed status], MTLCommandBufferStatusError);
  CHECK_EQUAL([[failed error] code], MTLCommandBufferErrorInvalidResource);
  CHECK_CONTAINS([[failed error] localizedDescription], @"not that of a living texture");
}

void a_sampler_without_support_for_argument_buffers_has_no_handle() {
  MTLSamplerDescriptor *descriptor = [[[MTLSamplerDescriptor alloc] init] autorelease];
  CHECK(![descriptor supportArgumentBuffers]);
  CHECK_RAISES([[[device() newSamplerStateWithDescriptor:descriptor] autorelease] gpuResourceID], @"gpuResourceID",
               @"supportArgumentBuffers");
  [descriptor setSupportArgumentBuffers:YES];
  CHECK([[[descriptor copy] autorelease] supportArgumentBuffers]);
}

// ------------------------------------------------------------------ encoders

NSString *const scene = @"struct Light { float4 color; texture2d<uint> image; };\n"
                         "struct Scene { device uint *out [[id(5)]]; constant Light *sun [[id(6)]]; uint scale [[id(0)]];\n"
                         "  array<texture2d<uint>, 3> images [[id(1)]]; sampler s [[id(7)]]; Light lamps[2] [[id(10)]]; };\n"
                         "kernel void k(constant Scene *scenes [[buffer(2)]], constant uint &number [[buffer(0)]],\n"
                         "              uint i [[thread_position_in_grid]]) {\n"
                         "  constant Scene &scene = scenes[number];\n"
                         "  scene.out[i] = scene.scale * scene.images[i % 3].read(uint2(0)).x + uint(scene.sun->color.y) +\n"
                         "    scene.sun->image.read(uint2(0)).x + scene.lamps[i % 2].image.sample(scene.s, float2(0.5)).x +\n"
                         "    uint(scene.lamps[i % 2].color.w); }";
// The same as the host sees it.
struct Light {
  float color[4];
  MTLResourceID image;
  uint64_t padding;
};
struct Scene {
  uint64_t out, sun;
  uint32_t scale;
  MTLResourceID images[3], sampler;
  alignas(16) Light lamps[2];
};

void an_encoder_writes_the_structure_that_a_kernel_reads() {
  id<MTLFunction> kernel = kernel_of(scene);
  id<MTLArgumentEncoder> encoder = [[kernel newArgumentEncoderWithBufferIndex:2] autorelease];
  CHECK_EQUAL([encoder encodedLength], sizeof(Scene));
  CHECK_EQUAL([encoder alignment], 16);
  CHECK([encoder device] == device());
  id<MTLBuffer> scenes = buffer(sizeof(Scene) * 2), sun = buffer(sizeof(Light) + 256), out = buffer(4 * 6 + 16), number = buffer(4);
  *(uint32_t *)[number contents] = 1;
  NSMutableArray *kept = [NSMutableArray array];
  id<MTLTexture> images[3] = {texel(1), texel(20), texel(300)};
  [encoder setArgumentBuffer:scenes startOffset:0 arrayElement:1];
  [encoder setBuffer:out offset:16 atIndex:5];
  *(uint32_t *)[encoder constantDataAtIndex:0] = 7;
  [encoder setTextures:images withRange:NSMakeRange(1, 3)];
  [encoder setSamplerState:sampler() atIndex:7];
  for (uint32_t i = 0; i < 2; i++) {
    [kept addObject:texel(1000 * (i + 1))];
    // A structure inside takes the indices behind its own.
    ((float *)[encoder constantDataAtIndex:10 + 2 * i])[3] = 10000.0f * (i + 1);
    [encoder setTexture:[kept lastObject] atIndex:11 + 2 * i];
  }
  id<MTLArgumentEncoder> nested = [[encoder newArgumentEncoderForBufferAtIndex:6] autorelease];
  CHECK_EQUAL([nested encodedLength], sizeof(Light));
  [nested setArgumentBuffer:sun offset:256];
  ((float *)[nested constantDataAtIndex:0])[1] = 500000;
  [kept addObject:texel(7000000)];
  [nested setTexture:[kept lastObject] atIndex:1];
  const id<MTLBuffer> suns[] = {sun};
  const NSUInteger offset = 256;
  [encoder setBuffers:suns offsets:&offset withRange:NSMakeRange(6, 1)];
  id<MTLCommandBuffer> ran = run(pipeline(kernel), 6, @[ number, number, scenes ]);
  CHECK_EQUAL([ran status], MTLCommandBufferStatusCompleted);
  const uint32_t values[3] = {1, 20, 300};
  for (uint32_t i = 0; i < 6; i++)
    CHECK_EQUAL(((uint32_t *)[out contents])[4 + i], 7 * values[i % 3] + 500000 + 7000000 + 11000 * (i % 2 + 1));
  // What it wrote is what a program would write itself.
  const Scene *second = (const Scene *)[scenes contents] + 1;
  CHECK_EQUAL(second->out, [out gpuAddress] + 16);
  CHECK_EQUAL(second->sun, [sun gpuAddress] + 256);
  CHECK_EQUAL(second->images[2]._impl, [images[2] gpuResourceID]._impl);
  CHECK_EQUAL(second->lamps[1].image._impl, [[kept objectAtIndex:1] gpuResourceID]._impl);
  [encoder setTexture:nil atIndex:2];
  CHECK_EQUAL(second->images[1]._impl, 0);
}

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
void an_encoder_comes_with_its_argument() {
  id<MTLFunction> kernel = kernel_of(scene);
  MTLArgument *argument = nil;
  id<MTLArgumentEncoder> encoder = [[kernel newArgumentEncoderWithBufferIndex:2 reflection:&argument] autorelease];
  CHECK_EQUAL([encoder encodedLength], sizeof(Scene));
  CHECK_EQUAL([argument type], MTLArgumentTypeBuffer);
  CHECK_EQUAL([argument index], NSUInteger(2));
  CHECK_EQUAL([argument bufferDataSize], sizeof(Scene));
  CHECK_EQUAL([[argument bufferStructType] memberByName:@"sun"] != nil, true);
  encoder = [[kernel newArgumentEncoderWithBufferIndex:2 reflection:nullptr] autorelease];
  CHECK_EQUAL([encoder encodedLength], sizeof(Scene));
  CHECK_RAISES([kernel newArgumentEncoderWithBufferIndex:1 reflection:nullptr], @"newArgumentEncoderWithBufferIndex:", @"no buffer argument");
}
#pragma clang diagnostic pop

void an_encoder_raises_for_what_does_not_fit() {
  id<MTLFunction> kernel = kernel_of(scene);
  CHECK_RAISES([kernel newArgumentEncoderWithBufferIndex:1], @"newArgumentEncoderWithBufferIndex:", @"no buffer argument");
  id<MTLArgumentEncoder> encoder = [[kernel newArgumentEncoderWithBufferIndex:2] autorelease];
  CHECK_RAISES([encoder setTexture:nil atIndex:1], @"setTexture:atIndex:", @"no argument buffer is set");
  CHECK_RAISES([encoder setArgumentBuffer:buffer(sizeof(Scene)) offset:16], @"setArgumentBuffer:offset:", @"encodedLength");
  CHECK_RAISES([encoder setArgumentBuffer:buffer(4096) offset:8], @"setArgumentBuffer:offset:", @"alignment");
  CHECK_RAISES([encoder setArgumentBuffer:buffer(4096) startOffset:0 arrayElement:NSUIntegerMax], @"arrayElement:", @"too large");
  CHECK_RAISES([encoder setArgumentBuffer:[[device() newBufferWithLength:4096 options:MTLResourceStorageModePrivate] autorelease]
                                   offset:0],
               @"setArgumentBuffer:offset:", @"private");
  [encoder setArgumentBuffer:buffer(sizeof(Scene)) offset:0];
  for (NSUInteger index : {NSUInteger(4), NSUInteger(8), NSUInteger(14), NSUIntegerMax})
    if (index == 4)
      CHECK_RAISES([encoder setTexture:nil atIndex:index], @"setTexture:atIndex:", @"there is no argument");
    else
      CHECK_RAISES([encoder constantDataAtIndex:index], @"constantDataAtIndex:", @"there is no argument");
  CHECK_RAISES([encoder setBuffer:nil offset:0 atIndex:1], @"setBuffer:offset:atIndex:", @"is a texture");
  CHECK_RAISES([encoder setTexture:nil atIndex:5], @"setTexture:atIndex:", @"is a buffer");
  CHECK_RAISES([encoder setSamplerState:nil atIndex:0], @"setSamplerState:atIndex:", @"is a value");
  CHECK_RAISES([encoder constantDataAtIndex:7], @"constantDataAtIndex:", @"is a sampler");
  CHECK_RAISES([encoder setBuffer:buffer(4) offset:5 atIndex:5], @"setBuffer:offset:atIndex:", @"offset must be");
  CHECK_RAISES([encoder newArgumentEncoderForBufferAtIndex:1], @"newArgumentEncoderForBufferAtIndex:", @"not a buffer");

}

void descriptors_describe_an_argument_buffer() {
  const struct {
    MTLDataType type;
    NSUInteger index, length, alignment;
  } list[] = {{MTLDataTypeTexture, 3, 4, 0}, {MTLDataTypePointer, 0, 0, 0},   {MTLDataTypeFloat3, 2, 0, 0},
              {MTLDataTypeUChar, 1, 0, 0},   {MTLDataTypeFloat4x4, 9, 0, 64}, {MTLDataTypeSampler, 7, 0, 0}};
  NSMutableArray *arguments = [NSMutableArray array];
  for (const auto &one : list) {
    MTLArgumentDescriptor *d = [MTLArgumentDescriptor argumentDescriptor];
    [d setDataType:one.type];
    [d setIndex:one.index];
    [d setArrayLength:one.length];
    [d setConstantBlockAlignment:one.alignment];
    [d setTextureType:MTLTextureType2D];
    [arguments addObject:[[d copy] autorelease]];
  }
  id<MTLArgumentEncoder> encoder = [[device() newArgumentEncoderWithArguments:arguments] autorelease];
  // pointer 0, uchar 8, float3 16, textures 32, sampler 64, float4x4 128.
  CHECK_EQUAL([encoder encodedLength], 192);
  CHECK_EQUAL([encoder alignment], 64);
  id<MTLBuffer> written = buffer(192), pointed = buffer(4);
  [encoder setArgumentBuffer:written offset:0];
  [encoder setBuffer:pointed offset:0 atIndex:0];
  id<MTLTexture> image = texel(1);
  [encoder setTexture:image atIndex:6];
  [encoder setSamplerState:sampler() atIndex:7];
  const char *bytes = (const char *)[written contents];
  CHECK_EQUAL(*(const uint64_t *)bytes, [pointed gpuAddress]);
  CHECK_EQUAL(*(const uint64_t *)(bytes + 32 + 8 * 3), [image gpuResourceID]._impl);
  CHECK_EQUAL(*(const uint64_t *)(bytes + 64), [sampler() gpuResourceID]._impl);
  CHECK((char *)[encoder constantDataAtIndex:1] == bytes + 8 && (char *)[encoder constantDataAtIndex:2] == bytes + 16);
  CHECK((char *)[encoder constantDataAtIndex:9] == bytes + 128);
  CHECK_RAISES([device() newArgumentEncoderWithArguments:@[]], @"newArgumentEncoderWithArguments:", @"empty");
  [[arguments objectAtIndex:1] setIndex:4];
  CHECK_RAISES([device() newArgumentEncoderWithArguments:arguments], @"newArgumentEncoderWithArguments:", @"overlap");
  [[arguments objectAtIndex:1] setIndex:0];
  [[arguments objectAtIndex:1] setDataType:MTLDataTypeStruct];
  CHECK_RAISES([device() newArgumentEncoderWithArguments:arguments], @"newArgumentEncoderWithArguments:", @"dataType");
}

void reflection_tells_the_members_of_structures() {
  MTLComputePipelineReflection *reflection = nil;
  NSError *error = nil;
  id<MTLComputePipelineState> state = [[device() newComputePipelineStateWithFunction:kernel_of(scene)
                                                                             options:MTLPipelineOptionBufferTypeInfo
                                                                          reflection:&reflection
                                                                               error:&error] autorelease];
  CHECK(state != nil);
  id<MTLBufferBinding> number = (id<MTLBufferBinding>)[[reflection bindings] objectAtIndex:0];
  id<MTLBufferBinding> scenes = (id<MTLBufferBinding>)[[reflection bindings] objectAtIndex:1];
  CHECK([number bufferStructType] == nil && [number bufferPointerType] == nil);
  CHECK_EQUAL([number bufferDataType], MTLDataTypeUInt);
  CHECK_EQUAL([scenes bufferDataSize], sizeof(Scene));
  MTLPointerType *pointer = [scenes bufferPointerType];
  CHECK([pointer elementIsArgumentBuffer] && [pointer access] == MTLBindingAccessReadOnly && [pointer dataSize] == sizeof(Scene));
  CHECK_EQUAL([pointer elementType], MTLDataTypeStruct);
  MTLStructType *type = [scenes bufferStructType];
  CHECK_EQUAL([[type members] count], 6);
  CHECK([type memberByName:@"nothing"] == nil);
  MTLStructMember *out = [type memberByName:@"out"], *sun = [type memberByName:@"sun"], *scale = [type memberByName:@"scale"],
                  *images = [type memberByName:@"images"], *s = [type memberByName:@"s"], *lamps = [type memberByName:@"lamps"];
  CHECK([[type members] objectAtIndex:0] == out && [[type members] objectAtIndex:5] == lamps);
  CHECK([out offset] == 0 && [out dataType] == MTLDataTypePointer && [out argumentIndex] == 5);
  CHECK([[out pointerType] elementType] == MTLDataTypeUInt && [[out pointerType] access] == MTLBindingAccessReadWrite);
  CHECK([[out pointerType] dataSize] == 4 && ![[out pointerType] elementIsArgumentBuffer] && [out structType] == nil);
  CHECK([[sun pointerType] elementIsArgumentBuffer] && [[sun pointerType] access] == MTLBindingAccessReadOnly);
  CHECK_EQUAL([[[[sun pointerType] elementStructType] members] count], 2);
  CHECK([scale offset] == offsetof(Scene, scale) && [scale dataType] == MTLDataTypeUInt && [scale argumentIndex] == 0);
  MTLArrayType *array = [images arrayType];
  CHECK([images offset] == offsetof(Scene, images) && [images dataType] == MTLDataTypeArray && [images argumentIndex] == 1);
  CHECK([array arrayLength] == 3 && [array stride] == 8 && [array argumentIndexStride] == 1);
  CHECK([array elementType] == MTLDataTypeTexture && [[array elementTextureReferenceType] textureType] == MTLTextureType2D);
  CHECK([[array elementTextureReferenceType] textureDataType] == MTLDataTypeUInt);
  CHECK([[array elementTextureReferenceType] access] == MTLBindingAccessReadOnly);
  CHECK([s dataType] == MTLDataTypeSampler && [s offset] == offsetof(Scene, sampler) && [s argumentIndex] == 7);
  CHECK([lamps offset] == offsetof(Scene, lamps) && [[lamps arrayType] stride] == sizeof(Light));
  CHECK_EQUAL([[lamps arrayType] argumentIndexStride], 2);
  MTLStructType *light = [[lamps arrayType] elementStructType];
  CHECK([[light memberByName:@"color"] dataType] == MTLDataTypeFloat4 && [[light memberByName:@"color"] argumentIndex] == 0);
  CHECK([[light memberByName:@"image"] offset] == 16 && [[light memberByName:@"image"] argumentIndex] == 1);
  CHECK(![[array elementTextureReferenceType] isDepthTexture]);
  id<MTLComputePipelineState> shadows =
      [[device() newComputePipelineStateWithFunction:kernel_of(@"struct Shadow { depth2d_array<float> map; };\n"
                                                              "kernel void k(constant Shadow &shadow [[buffer(0)]]) {}")
                                             options:MTLPipelineOptionBufferTypeInfo
                                          reflection:&reflection
                                               error:&error] autorelease];
  CHECK(shadows != nil);
  MTLStructType *shadow = [(id<MTLBufferBinding>)[[reflection bindings] objectAtIndex:0] bufferStructType];
  MTLTextureReferenceType *map = [[shadow memberByName:@"map"] textureReferenceType];
  CHECK([map isDepthTexture] && [map textureType] == MTLTextureType2DArray && [map textureDataType] == MTLDataTypeFloat);
  id<MTLComputePipelineState> nested = [[device()
      newComputePipelineStateWithFunction:kernel_of(@"struct Nest { float rows[3][2]; device uint *all[4]; device array<float, 5> *list; };\n"
                                                     "kernel void k(constant Nest &nest [[buffer(0)]]) {}")
                                  options:MTLPipelineOptionBufferTypeInfo
                               reflection:&reflection
                                    error:&error] autorelease];
  CHECK(nested != nil);
  MTLStructType *nest = [(id<MTLBufferBinding>)[[reflection bindings] objectAtIndex:0] bufferStructType];
  MTLArrayType *rows = [[nest memberByName:@"rows"] arrayType], *all = [[nest memberByName:@"all"] arrayType];
  CHECK([rows arrayLength] == 3 && [rows stride] == 8 && [rows elementType] == MTLDataTypeArray && [rows elementPointerType] == nil);
  CHECK([[rows elementArrayType] arrayLength] == 2 && [[rows elementArrayType] stride] == 4);
  CHECK([[rows elementArrayType] elementType] == MTLDataTypeFloat && [[rows elementArrayType] elementArrayType] == nil);
  CHECK([all arrayLength] == 4 && [all elementType] == MTLDataTypePointer && [all elementArrayType] == nil);
  CHECK([[all elementPointerType] elementType] == MTLDataTypeUInt && [[all elementPointerType] access] == MTLBindingAccessReadWrite);
  MTLPointerType *list = [[nest memberByName:@"list"] pointerType];
  CHECK([list elementType] == MTLDataTypeArray && [list dataSize] == 20 && [list elementStructType] == nil);
  CHECK([[list elementArrayType] arrayLength] == 5 && [[list elementArrayType] elementType] == MTLDataTypeFloat);
  id<MTLArgumentEncoder> encoder = [[device() newArgumentEncoderWithBufferBinding:scenes] autorelease];
  CHECK_EQUAL([encoder encodedLength], sizeof(Scene));
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase argument_cases[] = {
    CASE(a_structure_of_addresses_and_handles_is_an_argument_buffer),
    CASE(a_handle_of_a_texture_that_is_gone_is_an_invalid_resource),
    CASE(a_sampler_without_support_for_argument_buffers_has_no_handle),
    CASE(an_encoder_writes_the_structure_that_a_kernel_reads),
    CASE(an_encoder_comes_with_its_argument),
    CASE(an_encoder_raises_for_what_does_not_fit),
    CASE(descriptors_describe_an_argument_buffer),
    CASE(reflection_tells_the_members_of_structures),
    {nullptr, nullptr},
};
