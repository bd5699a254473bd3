// DCMetalHeap.mm: the C ABI over MTLHeap.

#include "DCMetalShim.h"

using namespace dcmetal;

typedef unsigned long long ull;  // for printf

// What a heap and the resources in it are made with.
static MTLResourceOptions options(NSUInteger storage, NSUInteger cache, NSUInteger hazards) {
  return (MTLResourceOptions)((storage << MTLResourceStorageModeShift) | (cache << MTLResourceCPUCacheModeShift) |
                              (hazards << MTLResourceHazardTrackingModeShift));
}

static DCMetalStatus check(id<MTLDevice> device, const DCMetalHeapDescriptor *descriptor, DCMetalError *error) {
  if (descriptor->size == 0) return fail(error, DC_METAL_INVALID_ARGUMENT, "a heap of size 0");
  if (descriptor->storage != DC_METAL_STORAGE_SHARED && descriptor->storage != DC_METAL_STORAGE_PRIVATE) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no storage mode of heaps", (unsigned)descriptor->storage);
  }
  if (descriptor->storage == DC_METAL_STORAGE_SHARED && !shares_all(device)) {
    return fail(error, DC_METAL_UNSUPPORTED, "heaps of shared storage are of Apple's GPUs with unified memory");
  }
  if (descriptor->cache != DC_METAL_CACHE_DEFAULT && descriptor->cache != DC_METAL_CACHE_WRITE_COMBINED) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no cache mode", (unsigned)descriptor->cache);
  }
  if (descriptor->type != DC_METAL_HEAP_AUTOMATIC && descriptor->type != DC_METAL_HEAP_PLACEMENT) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no type of heaps", (unsigned)descriptor->type);
  }
  if (descriptor->hazards != DC_METAL_HAZARDS_UNTRACKED && descriptor->hazards != DC_METAL_HAZARDS_TRACKED) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no hazard tracking mode of heaps", (unsigned)descriptor->hazards);
  }
  return DC_METAL_OK;
}

DCMetalStatus DCMetalHeap_Create(DCMetalDevice device, const DCMetalHeapDescriptor *descriptor, DCMetalHeap *heap,
                                 DCMetalError *error) {
  if (heap) *heap = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!descriptor) return null_argument(error, "descriptor");
    if (!heap) return null_argument(error, "heap");
    DCMetalStatus status = check(in(device), descriptor, error);
    if (status != DC_METAL_OK) return status;
    MTLHeapDescriptor *made = owned([[MTLHeapDescriptor alloc] init]);
    [made setSize:descriptor->size];
    [made setStorageMode:(MTLStorageMode)descriptor->storage];
    [made setCpuCacheMode:(MTLCPUCacheMode)descriptor->cache];
    [made setHazardTrackingMode:(MTLHazardTrackingMode)descriptor->hazards];
    [made setType:(MTLHeapType)descriptor->type];
    id<MTLHeap> object = owned([in(device) newHeapWithDescriptor:made]);
    if (!object) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no heap of %llu bytes", (ull)descriptor->size);
    give(heap, object);
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalDevice_GetHeapBufferSize(DCMetalDevice device, uint64_t length, DCMetalStorageMode storage,
                                              uint64_t *size, uint64_t *alignment) {
  if (size) *size = 0;
  if (alignment) *alignment = 0;
  return entry(nullptr, [=] {
    bool known = storage == DC_METAL_STORAGE_SHARED || storage == DC_METAL_STORAGE_PRIVATE;
    if (!device || !size || !alignment || !known) return DC_METAL_INVALID_ARGUMENT;
    if (length == 0 || length > [in(device) maxBufferLength]) return DC_METAL_INVALID_ARGUMENT;
    MTLSizeAndAlign wanted = [in(device) heapBufferSizeAndAlignWithLength:length options:options(storage, 0, 0)];
    *size = wanted.size;
    *alignment = wanted.align;
    return DC_METAL_OK;
  });
}

// What both ways of making a buffer ask.
static DCMetalStatus check_length(DCMetalHeap heap, uint64_t length, DCMetalBuffer *buffer, MTLHeapType type,
                                  DCMetalError *error) {
  if (!heap) return null_argument(error, "heap");
  if (!buffer) return null_argument(error, "buffer");
  if (length == 0) return fail(error, DC_METAL_INVALID_ARGUMENT, "a buffer of length 0");
  if (length > [in(heap) size]) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "a buffer of %llu bytes in a heap of %llu", (ull)length,
                (ull)[in(heap) size]);
  }
  if ([in(heap) type] == type) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_STATE, type == MTLHeapTypePlacement ? "the heap places its buffers itself"
                                                                          : "a placement heap's buffers have offsets");
}

static DCMetalStatus hand_out(id<MTLBuffer> object, uint64_t length, DCMetalBuffer *buffer, DCMetalError *error) {
  if (!object) return fail(error, DC_METAL_OUT_OF_MEMORY, "the heap has no room for %llu bytes", (ull)length);
  give(buffer, object);
  return DC_METAL_OK;
}

DCMetalStatus DCMetalHeap_CreateBuffer(DCMetalHeap heap, uint64_t length, DCMetalBuffer *buffer, DCMetalError *error) {
  if (buffer) *buffer = nullptr;
  return entry(error, [=] {
    DCMetalStatus status = check_length(heap, length, buffer, MTLHeapTypeAutomatic, error);
    if (status != DC_METAL_OK) return status;
    id<MTLBuffer> object = owned([in(heap) newBufferWithLength:length options:[in(heap) resourceOptions]]);
    return hand_out(object, length, buffer, error);
  });
}

DCMetalStatus DCMetalHeap_CreateBufferAt(DCMetalHeap heap, uint64_t length, uint64_t offset, DCMetalBuffer *buffer,
                                         DCMetalError *error) {
  if (buffer) *buffer = nullptr;
  return entry(error, [=] {
    DCMetalStatus status = check_length(heap, length, buffer, MTLHeapTypePlacement, error);
    if (status != DC_METAL_OK) return status;
    MTLResourceOptions own = [in(heap) resourceOptions];
    MTLSizeAndAlign wanted = [[in(heap) device] heapBufferSizeAndAlignWithLength:length options:own];
    if (offset % wanted.align != 0 || !within(offset, wanted.size, [in(heap) size])) {
      return fail(error, DC_METAL_INVALID_ARGUMENT,
                  "offset %llu: %llu bytes at a multiple of %llu do not lie in the heap's %llu there", (ull)offset,
                  (ull)wanted.size, (ull)wanted.align, (ull)[in(heap) size]);
    }
    id<MTLBuffer> object = owned([in(heap) newBufferWithLength:length options:own offset:offset]);
    return hand_out(object, length, buffer, error);
  });
}

uint64_t DCMetalHeap_GetSize(DCMetalHeap heap) {
  return ask(uint64_t(0), [=] { return uint64_t([in(heap) size]); });
}

uint64_t DCMetalHeap_GetUsedSize(DCMetalHeap heap) {
  return ask(uint64_t(0), [=] { return uint64_t([in(heap) usedSize]); });
}

uint64_t DCMetalHeap_GetMaxAvailableSize(DCMetalHeap heap, uint64_t alignment) {
  if ((alignment & (alignment - 1)) != 0) return 0;
  return ask(uint64_t(0), [=] { return uint64_t([in(heap) maxAvailableSizeWithAlignment:alignment]); });
}

DCMetalStatus DCMetalHeap_SetLabel(DCMetalHeap heap, const char *label) {
  return entry(nullptr, [=] {
    NSString *string = label ? text(label) : nil;
    if (!heap || (label && !string)) return DC_METAL_INVALID_ARGUMENT;
    [in(heap) setLabel:string];
    return DC_METAL_OK;
  });
}

void DCMetalHeap_Release(DCMetalHeap heap) {
  drop([=] { take(heap); });
}
