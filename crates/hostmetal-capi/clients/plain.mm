// A Metal program in Objective-C++ as one writes it for macOS (manual retain and release): adds two arrays.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <cstdio>
#include <dispatch/dispatch.h>
#include <initializer_list>

static NSString *const source = @"#include <metal_stdlib>\n"
                                 "using namespace metal;\n"
                                 "kernel void add(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],\n"
                                 "                device float *sum [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n"
                                 "  sum[i] = a[i] + b[i];\n"
                                 "}\n";

int main() {
  @autoreleasepool {
    const NSUInteger count = 1000, bytes = count * sizeof(float);
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:source options:nil error:&error];
    if (!library) {
      fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
      return 1;
    }
    id<MTLFunction> function = [library newFunctionWithName:@"add"];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    id<MTLBuffer> a = [device newBufferWithLength:bytes options:MTLResourceStorageModeShared];
    id<MTLBuffer> b = [device newBufferWithLength:bytes options:MTLResourceStorageModeShared];
    id<MTLBuffer> sum = [device newBufferWithLength:bytes options:MTLResourceStorageModeShared];
    for (NSUInteger i = 0; i < count; i++) {
      ((float *)[a contents])[i] = (float)i;
      ((float *)[b contents])[i] = 0.5f;
    }

    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:a offset:0 atIndex:0];
    [encoder setBuffer:b offset:0 atIndex:1];
    [encoder setBuffer:sum offset:0 atIndex:2];
    [encoder dispatchThreads:MTLSizeMake(count, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    [encoder endEncoding];
    dispatch_semaphore_t done = dispatch_semaphore_create(0);
    [commands addCompletedHandler:^(id<MTLCommandBuffer>) { dispatch_semaphore_signal(done); }];
    [commands commit];
    dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
    [commands waitUntilCompleted];

    NSUInteger right = 0;
    for (NSUInteger i = 0; i < count; i++) right += ((float *)[sum contents])[i] == (float)i + 0.5f;
    printf("%s: %lu of %lu sums are right\n", [[device name] UTF8String], (unsigned long)right, (unsigned long)count);
    dispatch_release(done);
    for (id object : {(id)library, (id)function, (id)pipeline, (id)a, (id)b, (id)sum, (id)queue, (id)device}) [object release];
    return right == count ? 0 : 1;
  }
}
