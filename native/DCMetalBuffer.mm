// DCMetalBuffer.mm: the C ABI over MTLBuffer.

#include "DCMetalShim.h"

#include <unistd.h>

using namespace dcmetal;

static bool storage_known(DCMetalStorageMode storage) {
  return storage == DC_METAL_STORAGE_SHARED || storage == DC_METAL_STORAGE_MANAGED || storage == DC_METAL_STORAGE_PRIVATE;
}

static MTLResourceOptions options(DCMetalStorageMode storage, DCMetalCacheMode cache) {
  return (MTLResourceOptions)(((NSUInteger)storage << MTLResourceStorageModeShift) |
                              ((NSUInteger)cache << MTLResourceCPUCacheModeShift));
}

// What every way of making a buffer asks of its arguments.
static DCMetalStatus check(DCMetalDevice device, uint64_t length, DCMetalStorageMode storage, DCMetalBuffer *buffer,
                           DCMetalError *error) {
  if (!device) return null_argument(error, "device");
  if (!buffer) return null_argument(error, "buffer");
  if (!storage_known(storage)) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no storage mode", (unsigned)storage);
  }
  if (length == 0) return fail(error, DC_METAL_INVALID_ARGUMENT, "a buffer of length 0");
  uint64_t most = [in(device) maxBufferLength];
  if (length > most) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "a buffer of %llu bytes is over the device's limit of %llu",
                (unsigned long long)length, (unsigned long long)most);
  }
  return DC_METAL_OK;
}

static DCMetalStatus check_memory(const void *bytes, DCMetalStorageMode storage, DCMetalError *error) {
  if (!bytes) return null_argument(error, "bytes");
  if (storage == DC_METAL_STORAGE_PRIVATE) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "the CPU cannot fill a buffer of private storage");
  }
  return DC_METAL_OK;
}

static DCMetalStatus hand_out(id<MTLBuffer> object, uint64_t length, DCMetalBuffer *buffer, DCMetalError *error) {
  if (!object) {
    return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no buffer of %llu bytes", (unsigned long long)length);
  }
  give(buffer, object);
  return DC_METAL_OK;
}

DCMetalStatus DCMetalBuffer_Create(DCMetalDevice device, uint64_t length, DCMetalStorageMode storage,
                                   DCMetalCacheMode cache, DCMetalBuffer *buffer, DCMetalError *error) {
  if (buffer) *buffer = nullptr;
  return entry(error, [=] {
    DCMetalStatus status = check(device, length, storage, buffer, error);
    if (status != DC_METAL_OK) return status;
    if (cache != DC_METAL_CACHE_DEFAULT && cache != DC_METAL_CACHE_WRITE_COMBINED) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no cache mode", (unsigned)cache);
    }
    id<MTLBuffer> object = owned([in(device) newBufferWithLength:length options:options(storage, cache)]);
    return hand_out(object, length, buffer, error);
  });
}

DCMetalStatus DCMetalBuffer_CreateWithBytes(DCMetalDevice device, const void *bytes, uint64_t length,
                                            DCMetalStorageMode storage, DCMetalBuffer *buffer, DCMetalError *error) {
  if (buffer) *buffer = nullptr;
  return entry(error, [=] {
    DCMetalStatus status = check(device, length, storage, buffer, error);
    if (status == DC_METAL_OK) status = check_memory(bytes, storage, error);
    if (status != DC_METAL_OK) return status;
    id<MTLBuffer> object = owned([in(device) newBufferWithBytes:bytes
                                                         length:length
                                                        options:options(storage, DC_METAL_CACHE_DEFAULT)]);
    return hand_out(object, length, buffer, error);
  });
}

DCMetalStatus DCMetalBuffer_CreateNoCopy(DCMetalDevice device, void *bytes, uint64_t length, DCMetalStorageMode storage,
                                         DCMetalDeallocator deallocator, void *context, DCMetalBuffer *buffer,
                                         DCMetalError *error) {
  if (buffer) *buffer = nullptr;
  return entry(error, [=] {
    DCMetalStatus status = check(device, length, storage, buffer, error);
    if (status == DC_METAL_OK) status = check_memory(bytes, storage, error);
    if (status != DC_METAL_OK) return status;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if ((uintptr_t)bytes % page != 0 || length % page != 0) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "memory used in place starts and ends on a page of %llu bytes",
                  (unsigned long long)page);
    }
    // Metal may call the block for a buffer that it could not make; the memory is then still the caller's.
    // Its captures are locals of this body: a block must not reach through the body's own captures, which die before it.
    __block bool made = false;
    DCMetalDeallocator call = deallocator;
    void *with = context;
    void (^release)(void *, NSUInteger) = ^(void *pointer, NSUInteger size) {
      if (made) call(with, pointer, size);
    };
    id<MTLBuffer> object = owned([in(device) newBufferWithBytesNoCopy:bytes
                                                               length:length
                                                              options:options(storage, DC_METAL_CACHE_DEFAULT)
                                                          deallocator:deallocator ? release : (void (^)(void *, NSUInteger))nil]);
    made = object != nil;
    return hand_out(object, length, buffer, error);
  });
}

uint64_t DCMetalBuffer_GetGPUAddress(DCMetalBuffer buffer) {
  return ask(uint64_t(0), [=]() -> uint64_t {
    if (@available(macOS 13.0, *)) return buffer ? [in(buffer) gpuAddress] : 0;
    return 0;
  });
}

void *DCMetalBuffer_GetContents(DCMetalBuffer buffer) {
  return ask((void *)nullptr, [=]() -> void * {
    return buffer && [in(buffer) storageMode] != MTLStorageModePrivate ? [in(buffer) contents] : nullptr;
  });
}

uint64_t DCMetalBuffer_GetLength(DCMetalBuffer buffer) {
  return ask(uint64_t(0), [=] { return uint64_t([in(buffer) length]); });
}

DCMetalStorageMode DCMetalBuffer_GetStorageMode(DCMetalBuffer buffer) {
  if (!buffer) return DC_METAL_STORAGE_PRIVATE;
  return ask(DC_METAL_STORAGE_PRIVATE, [=] { return (DCMetalStorageMode)[in(buffer) storageMode]; });
}

DCMetalStatus DCMetalBuffer_DidModifyRange(DCMetalBuffer buffer, uint64_t offset, uint64_t length) {
  return entry(nullptr, [=] {
    if (!buffer || !within(offset, length, [in(buffer) length])) return DC_METAL_INVALID_ARGUMENT;
    if ([in(buffer) storageMode] != MTLStorageModeManaged) return DC_METAL_INVALID_STATE;
    [in(buffer) didModifyRange:NSMakeRange(offset, length)];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalBuffer_CreateRemoteView(DCMetalBuffer buffer, DCMetalDevice device, DCMetalBuffer *view,
                                             DCMetalError *error) {
  if (view) *view = nullptr;
  return entry(error, [=] {
    if (!buffer) return null_argument(error, "buffer");
    if (!device) return null_argument(error, "device");
    if (!view) return null_argument(error, "view");
    if ([in(buffer) storageMode] != MTLStorageModePrivate) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "a remote view is of private storage");
    }
    uint64_t group = [[in(buffer) device] peerGroupID];
    if (group == 0 || group != [in(device) peerGroupID] || [[in(buffer) device] registryID] == [in(device) registryID]) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "a remote view is for another device of the buffer's peer group");
    }
    return hand_out(owned([in(buffer) newRemoteBufferViewForDevice:in(device)]), [in(buffer) length], view, error);
  });
}

DCMetalStatus DCMetalBuffer_SetLabel(DCMetalBuffer buffer, const char *label) {
  return entry(nullptr, [=] {
    NSString *string = label ? text(label) : nil;
    if (!buffer || (label && !string)) return DC_METAL_INVALID_ARGUMENT;
    [in(buffer) setLabel:string];
    return DC_METAL_OK;
  });
}

size_t DCMetalBuffer_GetLabel(DCMetalBuffer buffer, char *text, size_t capacity) {
  return ask(put(nullptr, 0, text, capacity), [=] { return put([in(buffer) label], text, capacity); });
}

void DCMetalBuffer_Release(DCMetalBuffer buffer) {
  drop([=] { take(buffer); });
}
