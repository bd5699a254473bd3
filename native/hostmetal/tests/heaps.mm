// Cases of heaps, purgeable contents and what resources tell of their memory; none compiles a kernel.
#import "faces.h"

#include <cstdlib>
#include <cstring>

namespace {
id<MTLHeap> heap(NSUInteger size, MTLHeapType type = MTLHeapTypeAutomatic,
                 MTLResourceOptions options = MTLResourceStorageModeShared) {
  MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
  [descriptor setSize:size];
  [descriptor setType:type];
  [descriptor setResourceOptions:options];
  return [[device() newHeapWithDescriptor:descriptor] autorelease];
}

id<MTLBuffer> part(id<MTLHeap> of, NSUInteger length) {
  return [[of newBufferWithLength:length options:MTLResourceStorageModeShared] autorelease];
}

id<MTLBuffer> placed(id<MTLHeap> of, NSUInteger length, NSUInteger offset) {
  return [[of newBufferWithLength:length options:MTLResourceStorageModeShared offset:offset] autorelease];
}

void run(void (^record)(id<MTLBlitCommandEncoder> encoder)) {
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
  record(encoder);
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
}

// ------------------------------------------------------------------ descriptors

void heap_descriptors_have_apples_defaults_and_are_copied() {
  MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
  CHECK_EQUAL([descriptor size], 0);
  CHECK_EQUAL([descriptor storageMode], MTLStorageModePrivate);
  CHECK_EQUAL([descriptor cpuCacheMode], MTLCPUCacheModeDefaultCache);
  CHECK_EQUAL([descriptor hazardTrackingMode], MTLHazardTrackingModeDefault);
  CHECK_EQUAL([descriptor type], MTLHeapTypeAutomatic);
  [descriptor setSize:5];
  [descriptor setStorageMode:MTLStorageModeShared];
  [descriptor setCpuCacheMode:MTLCPUCacheModeWriteCombined];
  [descriptor setHazardTrackingMode:MTLHazardTrackingModeTracked];
  [descriptor setType:MTLHeapTypePlacement];
  MTLHeapDescriptor *copy = [[descriptor copy] autorelease];
  [descriptor setSize:6];
  CHECK_EQUAL([copy size], 5);
  CHECK_EQUAL([copy type], MTLHeapTypePlacement);
  CHECK_EQUAL([copy resourceOptions], MTLResourceStorageModeShared | MTLResourceCPUCacheModeWriteCombined |
                                          MTLResourceHazardTrackingModeTracked);
}

void wrong_heap_descriptors_raise() {
  MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
  CHECK_RAISES([device() newHeapWithDescriptor:(MTLHeapDescriptor *)nil], @"newHeapWithDescriptor:", @"nil");
  CHECK_RAISES([device() newHeapWithDescriptor:descriptor], @"newHeapWithDescriptor:", @"size must not be 0");
  [descriptor setSize:4096];
  [descriptor setType:MTLHeapTypeSparse];
  CHECK_RAISES([device() newHeapWithDescriptor:descriptor], @"newHeapWithDescriptor:", @"sparse");
  [descriptor setType:MTLHeapTypeAutomatic];
  [descriptor setStorageMode:MTLStorageModeManaged];
  CHECK_RAISES([device() newHeapWithDescriptor:descriptor], @"newHeapWithDescriptor:", @"managed");
  [descriptor setStorageMode:MTLStorageModeMemoryless];
  CHECK_RAISES([device() newHeapWithDescriptor:descriptor], @"newHeapWithDescriptor:", @"memoryless");
  [descriptor setStorageMode:MTLStorageModePrivate];
  [descriptor setSize:NSUIntegerMax];
  CHECK([device() newHeapWithDescriptor:descriptor] == nil);
}

void a_heap_tells_of_itself() {
  id<MTLHeap> h = heap(100000, MTLHeapTypeAutomatic, MTLResourceStorageModeShared | MTLResourceCPUCacheModeWriteCombined);
  CHECK([h device] == device());
  CHECK([h conformsToProtocol:objc_getProtocol("MTLHeap")]);
  CHECK_EQUAL([h type], MTLHeapTypeAutomatic);
  CHECK_EQUAL([h storageMode], MTLStorageModeShared);
  CHECK_EQUAL([h cpuCacheMode], MTLCPUCacheModeWriteCombined);
  CHECK_EQUAL([h hazardTrackingMode], MTLHazardTrackingModeUntracked);
  CHECK([h size] >= 100000 && [h size] < 100000 + 65536);
  CHECK_EQUAL([h usedSize], 0);
  CHECK_EQUAL([h currentAllocatedSize], [h size]);
  CHECK_EQUAL([h allocatedSize], [h size]);
  CHECK_EQUAL([h maxAvailableSizeWithAlignment:0], [h size]);
  CHECK_RAISES([h maxAvailableSizeWithAlignment:3], @"maxAvailableSizeWithAlignment:", @"power of two");
  [h setLabel:@"weights"];
  CHECK([[h label] isEqualToString:@"weights"]);
  CHECK_EQUAL([heap(4096, MTLHeapTypePlacement, MTLResourceHazardTrackingModeTracked) hazardTrackingMode],
              MTLHazardTrackingModeTracked);
}

// ------------------------------------------------------------------ automatic heaps

void parts_of_an_automatic_heap_do_not_overlap_and_are_used_again() {
  id<MTLHeap> h = heap(1 << 16);
  const NSUInteger size = [device() heapBufferSizeAndAlignWithLength:1000 options:0].size;
  @autoreleasepool {
    id<MTLBuffer> first = part(h, 1000), second = part(h, 1000);
    CHECK([first heap] == h && [second heap] == h);
    CHECK_EQUAL([first length], 1000);
    CHECK_EQUAL([first allocatedSize], size);
    CHECK_EQUAL([first heapOffset], 0);
    CHECK_EQUAL([second heapOffset], 0);  // told of placement heaps only
    CHECK_EQUAL([h usedSize], 2 * size);
    CHECK_EQUAL([h maxAvailableSizeWithAlignment:0], [h size] - 2 * size);
    char *const one = (char *)[first contents], *const two = (char *)[second contents];
    CHECK(two >= one + 1000 || one >= two + 1000);
    memset(one, 1, 1000);
    memset(two, 2, 1000);
    CHECK_EQUAL(one[999], 1);
    CHECK_EQUAL(two[0], 2);
    CHECK(part(h, [h size]) == nil);
    CHECK(part(h, 0) == nil);
  }
  CHECK_EQUAL([h usedSize], 0);
  CHECK(part(h, [h size]) != nil);
}

// The room of what is gone is found again: the smallest gap that holds the new part.
void an_automatic_heap_takes_the_gap_that_fits_best() {
  id<MTLHeap> h = heap(1 << 16);
  id<MTLBuffer> wide = [h newBufferWithLength:4096 options:0], fence1 = [h newBufferWithLength:256 options:0];
  id<MTLBuffer> narrow = [h newBufferWithLength:512 options:0], fence2 = [h newBufferWithLength:256 options:0];
  void *const place = [narrow contents];
  [wide release];
  [narrow release];
  id<MTLBuffer> again = part(h, 300);
  CHECK([again contents] == place);
  CHECK_EQUAL([h maxAvailableSizeWithAlignment:0], [h size] - 4096 - 256 - 512 - 256);
  CHECK_EQUAL([h maxAvailableSizeWithAlignment:32768], 32768);
  [fence1 release];
  [fence2 release];
}

void aliasable_parts_give_their_room_away() {
  id<MTLHeap> h = heap(4096);
  id<MTLBuffer> first = part(h, [h size]);
  CHECK(![first isAliasable]);
  CHECK(part(h, 256) == nil);
  [first makeAliasable];
  CHECK([first isAliasable]);
  CHECK_EQUAL([h usedSize], 0);
  id<MTLBuffer> second = part(h, 256);
  CHECK([second contents] == [first contents]);
  [first makeAliasable];  // has no further effect
  CHECK_EQUAL([h usedSize], 256);
  CHECK_RAISES([[[device() newBufferWithLength:4 options:0] autorelease] makeAliasable], @"makeAliasable", @"of a heap");
  CHECK_RAISES([placed(heap(4096, MTLHeapTypePlacement), 4, 0) makeAliasable], @"makeAliasable", @"MTLHeapTypeAutomatic");
}

// ------------------------------------------------------------------ placement heaps

void parts_of_a_placement_heap_share_bytes_where_they_overlap() {
  id<MTLHeap> h = heap(1 << 14, MTLHeapTypePlacement);
  id<MTLBuffer> whole = placed(h, 1024, 512), half = placed(h, 512, 1024), apart = placed(h, 256, 4096);
  CHECK_EQUAL([whole heapOffset], 512);
  CHECK_EQUAL([half heapOffset], 1024);
  CHECK_EQUAL((char *)[half contents] - (char *)[whole contents], 512);
  CHECK_EQUAL((char *)[apart contents] - (char *)[whole contents], 4096 - 512);
  run(^(id<MTLBlitCommandEncoder> encoder) {
    [encoder fillBuffer:whole range:NSMakeRange(0, 1024) value:7];
    [encoder fillBuffer:half range:NSMakeRange(0, 256) value:9];
  });
  CHECK_EQUAL(((char *)[whole contents])[511], 7);
  CHECK_EQUAL(((char *)[whole contents])[512], 9);
  CHECK_EQUAL(((char *)[half contents])[255], 9);
  CHECK_EQUAL(((char *)[half contents])[256], 7);
  CHECK_EQUAL([h usedSize], 1024 + 256);
  CHECK_EQUAL([h maxAvailableSizeWithAlignment:0], [h size]);
  CHECK(![whole isAliasable]);
}

void misuse_of_heaps_raises() {
  id<MTLHeap> automatic = heap(4096), placement = heap(4096, MTLHeapTypePlacement);
  MTLTextureDescriptor *texture = [[[MTLTextureDescriptor alloc] init] autorelease];
  CHECK_RAISES([automatic newBufferWithLength:4 options:0 offset:0], @"newBufferWithLength:options:offset:", @"Placement");
  CHECK_RAISES([placement newBufferWithLength:4 options:0], @"newBufferWithLength:options:", @"Automatic");
  CHECK_RAISES([automatic newTextureWithDescriptor:texture offset:0], @"newTextureWithDescriptor:offset:", @"Placement");
  CHECK_RAISES([placement newTextureWithDescriptor:texture], @"newTextureWithDescriptor:", @"Automatic");
  CHECK_RAISES([placement newBufferWithLength:4 options:0 offset:8], @"offset:", @"multiple of the alignment");
  CHECK_RAISES([placement newBufferWithLength:257 options:0 offset:[placement size] - 256], @"offset:", @"heap size");
  CHECK_RAISES([placement newBufferWithLength:4 options:0 offset:NSUIntegerMax - 255], @"offset:", @"heap size");
  CHECK_RAISES([automatic newBufferWithLength:4 options:MTLResourceStorageModePrivate], @"newBufferWithLength:", @"the heap's");
  CHECK_RAISES([automatic newBufferWithLength:4 options:MTLResourceCPUCacheModeWriteCombined], @"newBufferWithLength:",
               @"the heap's");
  CHECK_RAISES([automatic newTextureWithDescriptor:(MTLTextureDescriptor *)nil], @"newTextureWithDescriptor:", @"nil");
  [texture setWidth:0];
  CHECK_RAISES([automatic newTextureWithDescriptor:texture], @"newTextureWithDescriptor:", @"width");
  CHECK_RAISES([device() heapTextureSizeAndAlignWithDescriptor:texture], @"heapTextureSizeAndAlign", @"width");
  CHECK_RAISES([device() heapBufferSizeAndAlignWithLength:4 options:1 << 13], @"heapBufferSizeAndAlign", @"options");
  CHECK_EQUAL([automatic usedSize], 0);
}

void textures_of_heaps_are_parts_of_them() {
  MTLTextureDescriptor *descriptor = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR8Uint
                                                                                        width:32
                                                                                       height:8
                                                                                    mipmapped:NO];
  const MTLSizeAndAlign need = [device() heapTextureSizeAndAlignWithDescriptor:descriptor];
  CHECK(need.size >= 32 * 8 && need.align > 0 && need.size % need.align == 0);
  id<MTLHeap> automatic = heap(4096);
  id<MTLTexture> one = [[automatic newTextureWithDescriptor:descriptor] autorelease];
  CHECK([one heap] == automatic);
  CHECK_EQUAL([one allocatedSize], need.size);
  CHECK_EQUAL([automatic usedSize], need.size);
  CHECK_EQUAL([one hazardTrackingMode], MTLHazardTrackingModeUntracked);
  [one makeAliasable];
  CHECK([one isAliasable]);
  id<MTLTexture> view = [[one newTextureViewWithPixelFormat:MTLPixelFormatR8Uint] autorelease];
  CHECK([view heap] == automatic && [view isAliasable]);
  CHECK_RAISES([view makeAliasable], @"makeAliasable", @"view");

  id<MTLHeap> placement = heap(4096, MTLHeapTypePlacement);
  id<MTLTexture> two = [[placement newTextureWithDescriptor:descriptor offset:256] autorelease];
  id<MTLBuffer> same = placed(placement, 256, 256);
  CHECK_EQUAL([two heapOffset], 256);
  uint8_t row[32];
  for (int i = 0; i < 32; i++) row[i] = (uint8_t)(i + 1);
  [two replaceRegion:MTLRegionMake2D(0, 0, 32, 1) mipmapLevel:0 withBytes:row bytesPerRow:32];
  CHECK_EQUAL(memcmp([same contents], row, 32), 0);
}

// ------------------------------------------------------------------ lives and accounts

void a_part_keeps_its_heap_and_the_account_is_exact() {
  const NSUInteger before = [device() currentAllocatedSize];
  id<MTLBuffer> kept = nil;
  @autoreleasepool {
    id<MTLHeap> h = heap(1 << 20);
    CHECK_EQUAL([device() currentAllocatedSize], before + (1 << 20));
    kept = [h newBufferWithLength:1 << 16 options:0];
    CHECK_EQUAL([device() currentAllocatedSize], before + (1 << 20));
  }
  CHECK_EQUAL([device() currentAllocatedSize], before + (1 << 20));
  CHECK_EQUAL([[kept heap] size], 1 << 20);
  ((char *)[kept contents])[65535] = 1;
  [kept release];
  CHECK_EQUAL([device() currentAllocatedSize], before);
}

void recorded_work_keeps_a_heaps_memory() {
  const NSUInteger before = [device() currentAllocatedSize];
  id<MTLBuffer> result = [[device() newBufferWithLength:64 options:0] autorelease];
  id<MTLCommandBuffer> commandBuffer = nil;
  @autoreleasepool {
    id<MTLBuffer> source = part(heap(4096), 64);
    memset([source contents], 5, 64);
    commandBuffer = [[[[device() newCommandQueue] autorelease] commandBuffer] retain];
    id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
    [encoder copyFromBuffer:source sourceOffset:0 toBuffer:result destinationOffset:0 size:64];
    [encoder endEncoding];
  }
  CHECK([device() currentAllocatedSize] > before + 4096);
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  [commandBuffer release];
  CHECK_EQUAL(((char *)[result contents])[63], 5);
}

// ------------------------------------------------------------------ purgeable contents

void empty_contents_are_gone_and_not_charged() {
  const NSUInteger before = [device() currentAllocatedSize];
  id<MTLBuffer> b = [[device() newBufferWithLength:1 << 20 options:0] autorelease];
  memset([b contents], 3, 1 << 20);
  CHECK_EQUAL([b setPurgeableState:MTLPurgeableStateKeepCurrent], MTLPurgeableStateNonVolatile);
  CHECK_EQUAL([b setPurgeableState:MTLPurgeableStateEmpty], MTLPurgeableStateNonVolatile);
  CHECK_EQUAL([device() currentAllocatedSize], before);
  CHECK_EQUAL([b setPurgeableState:MTLPurgeableStateVolatile], MTLPurgeableStateEmpty);  // is not undone
  CHECK_EQUAL([b setPurgeableState:MTLPurgeableStateNonVolatile], MTLPurgeableStateEmpty);
  CHECK_EQUAL([device() currentAllocatedSize], before + (1 << 20));
  const char *const bytes = (const char *)[b contents];
  CHECK(bytes[0] == 0 && memcmp(bytes, bytes + 1, (1 << 20) - 1) == 0);
  CHECK_EQUAL([b setPurgeableState:MTLPurgeableStateNonVolatile], MTLPurgeableStateNonVolatile);
  CHECK_EQUAL([device() currentAllocatedSize], before + (1 << 20));
  CHECK_RAISES([b setPurgeableState:(MTLPurgeableState)0], @"setPurgeableState:", @"unknown");
  CHECK_RAISES([b setPurgeableState:(MTLPurgeableState)5], @"setPurgeableState:", @"unknown");
}

void volatile_contents_stay_while_there_is_room() {
  id<MTLBuffer> b = [[device() newBufferWithLength:4096 options:0] autorelease];
  memset([b contents], 4, 4096);
  CHECK_EQUAL([b setPurgeableState:MTLPurgeableStateVolatile], MTLPurgeableStateNonVolatile);
  CHECK_EQUAL([b setPurgeableState:MTLPurgeableStateKeepCurrent], MTLPurgeableStateVolatile);
  CHECK_EQUAL([b setPurgeableState:MTLPurgeableStateNonVolatile], MTLPurgeableStateVolatile);
  CHECK_EQUAL(((char *)[b contents])[4095], 4);
}

void the_parts_of_a_heap_have_its_purgeable_state() {
  id<MTLHeap> h = heap(1 << 16);
  id<MTLBuffer> b = part(h, 4096);
  memset([b contents], 6, 4096);
  CHECK_EQUAL([b setPurgeableState:MTLPurgeableStateEmpty], MTLPurgeableStateNonVolatile);
  CHECK_EQUAL(((char *)[b contents])[0], 6);  // only the heap can be purgeable
  CHECK_EQUAL([h setPurgeableState:MTLPurgeableStateEmpty], MTLPurgeableStateNonVolatile);
  CHECK_EQUAL([b setPurgeableState:MTLPurgeableStateKeepCurrent], MTLPurgeableStateEmpty);
  CHECK_EQUAL([h currentAllocatedSize], 0);
  CHECK_EQUAL([h setPurgeableState:MTLPurgeableStateNonVolatile], MTLPurgeableStateEmpty);
  CHECK_EQUAL([h currentAllocatedSize], [h size]);
  CHECK_EQUAL(((char *)[b contents])[0], 0);
  CHECK_RAISES([h setPurgeableState:(MTLPurgeableState)9], @"setPurgeableState:", @"unknown");
}

void textures_and_views_share_one_purgeable_state() {
  MTLTextureDescriptor *descriptor = [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR8Uint
                                                                                        width:16
                                                                                       height:1
                                                                                    mipmapped:NO];
  id<MTLTexture> texture = [[device() newTextureWithDescriptor:descriptor] autorelease];
  id<MTLTexture> view = [[texture newTextureViewWithPixelFormat:MTLPixelFormatR8Uint] autorelease];
  const uint8_t row[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  [texture replaceRegion:MTLRegionMake2D(0, 0, 16, 1) mipmapLevel:0 withBytes:row bytesPerRow:16];
  CHECK_EQUAL([view setPurgeableState:MTLPurgeableStateEmpty], MTLPurgeableStateNonVolatile);
  CHECK_EQUAL([texture setPurgeableState:MTLPurgeableStateNonVolatile], MTLPurgeableStateEmpty);
  uint8_t read[16];
  [texture getBytes:read bytesPerRow:16 fromRegion:MTLRegionMake2D(0, 0, 16, 1) mipmapLevel:0];
  const uint8_t zeros[16] = {};
  CHECK_EQUAL(memcmp(read, zeros, 16), 0);
}

// What the program lent is not hostmetal's to discard.
void the_callers_memory_is_never_discarded() {
  const NSUInteger page = [heap(1) size];
  char *memory = (char *)aligned_alloc(page, page);
  memset(memory, 8, page);
  id<MTLBuffer> b = [device() newBufferWithBytesNoCopy:memory length:page options:0 deallocator:nil];
  CHECK_EQUAL([b setPurgeableState:MTLPurgeableStateEmpty], MTLPurgeableStateNonVolatile);
  CHECK_EQUAL(memory[page - 1], 8);
  CHECK([b heap] == nil);
  CHECK_EQUAL([b heapOffset], 0);
  [b release];
  free(memory);
}

void debug_markers_are_checked() {
  id<MTLBuffer> b = [[device() newBufferWithLength:16 options:0] autorelease];
  [b addDebugMarker:@"header" range:NSMakeRange(0, 16)];
  [b removeAllDebugMarkers];
  CHECK_RAISES([b addDebugMarker:@"header" range:NSMakeRange(8, 9)], @"addDebugMarker:", @"exceeds");
  CHECK_RAISES([b addDebugMarker:(NSString *)nil range:NSMakeRange(0, 1)], @"addDebugMarker:", @"nil");
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase heap_cases[] = {
    CASE(heap_descriptors_have_apples_defaults_and_are_copied),
    CASE(wrong_heap_descriptors_raise),
    CASE(a_heap_tells_of_itself),
    CASE(parts_of_an_automatic_heap_do_not_overlap_and_are_used_again),
    CASE(an_automatic_heap_takes_the_gap_that_fits_best),
    CASE(aliasable_parts_give_their_room_away),
    CASE(parts_of_a_placement_heap_share_bytes_where_they_overlap),
    CASE(misuse_of_heaps_raises),
    CASE(textures_of_heaps_are_parts_of_them),
    CASE(a_part_keeps_its_heap_and_the_account_is_exact),
    CASE(recorded_work_keeps_a_heaps_memory),
    CASE(empty_contents_are_gone_and_not_charged),
    CASE(volatile_contents_stay_while_there_is_room),
    CASE(the_parts_of_a_heap_have_its_purgeable_state),
    CASE(textures_and_views_share_one_purgeable_state),
    CASE(the_callers_memory_is_never_discarded),
    CASE(debug_markers_are_checked),
    {nullptr, nullptr},
};
