// Cases of argument buffers.
#import "faces.h"

#include <cstring>

namespace {
id<MTLDevice> device() {
  return [MTLCreateSystemDefaultDevice() autorelease];
}

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

id<MTLFunction> function(NSString *body) {
  NSString *source = [NSString stringWithFormat:@"#include <metal_stdlib>\nusing namespace metal;\n%@", body];
  NSError *error = nil;
  id<MTLLibrary> library = [[device() newLibraryWithSource:source options:nil error:&error] autorelease];
  id<MTLFunction> made = [[library newFunctionWithName:@"k"] autorelease];
  if (!made) faces_note(__FILE__, __LINE__, [[error localizedDescription] UTF8String]);
  return made;
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
  id<MTLComputePipelineState> state = pipeline(function(
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
      function(@"kernel void k(device const texture2d<uint> *image [[buffer(0)]], device uint *out [[buffer(1)]]) {\n"
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

}  // namespace

#define CASE(name) {#name, name}
const FaceCase argument_cases[] = {
    CASE(a_structure_of_addresses_and_handles_is_an_argument_buffer),
    CASE(a_handle_of_a_texture_that_is_gone_is_an_invalid_resource),
    CASE(a_sampler_without_support_for_argument_buffers_has_no_handle),
    {nullptr, nullptr},
};
