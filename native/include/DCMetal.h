/* DCMetal.h: a C ABI over Apple's Metal compute API (https://developer.apple.com/documentation/metal).
 *
 * For C99 and C++11. One opaque struct type per Metal object; a handle of one kind never passes for another. The same
 * source, native/DCMetal*.mm, serves Apple's Metal on macOS and hostmetal on Linux. What Metal Performance Shaders gives
 * is in DCMetalPerformance.h, which this header includes.
 *
 * Ownership. Every `*_Create*` function and every out-parameter described as "owned" hands the caller one reference;
 * give it back with that type's `*_Release`. Nothing else owns it. `*_Release(NULL)` does nothing. A handle keeps alive
 * what it needs of Metal (a queue its device, a buffer its device), so handles may be released in any order.
 *
 * Status. Every call that can fail returns a DCMetalStatus. On anything but DC_METAL_OK the out-parameters are set to
 * NULL / zero and, where the call takes `error` and it is not NULL, *error receives an owned DCMetalError; on
 * DC_METAL_OK *error is NULL unless the function says otherwise. No Objective-C or C++ exception leaves this interface.
 *
 * Threads. Devices, queues, buffers, heaps, textures, samplers, libraries, functions, pipelines, events, fences and errors may be
 * used from any thread at once. A command buffer and its encoders, and indirect commands, belong to one thread at a time (Apple, "Metal Programming Guide: Command
 * Organization and Execution Model"); waiting on and reading the status of a committed command buffer is allowed
 * from any thread.
 *
 * Strings are UTF-8. Functions that return a string write at most `capacity` bytes into `buffer`, always terminated
 * when capacity > 0 and cut between characters, and return the length of the whole string without its terminator (call
 * with NULL, 0 to measure). Text that is not UTF-8 is DC_METAL_INVALID_ARGUMENT; a label may be NULL, which removes it.
 *
 * Sizes and offsets are in bytes, times in seconds of the device's clock, unless a function says otherwise.
 */
#ifndef DCMETAL_H
#define DCMETAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#error "DCMetal is for macOS and Linux"
#endif
#define DC_METAL_API __attribute__((visibility("default")))

/* What an enumeration is passed as. C takes unsigned int on both systems; C++ must be told, for there a value beyond the
 * enumerators (of a newer caller, or a wrong one) is undefined without it. */
#ifdef __cplusplus
#define DC_METAL_ENUM(name) enum name : uint32_t
#else
#define DC_METAL_ENUM(name) enum name
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ ABI version */

/* Changes when an existing function or type changes its meaning or layout; additions do not change it. */
#define DC_METAL_ABI_VERSION 2u

/* The version the linked library was built with; compare with DC_METAL_ABI_VERSION. */
DC_METAL_API uint32_t DCMetal_AbiVersion(void);

/* ------------------------------------------------------------------ types */

typedef struct DCMetalError_s *DCMetalError;
typedef struct DCMetalDevice_s *DCMetalDevice;
typedef struct DCMetalQueue_s *DCMetalQueue;
typedef struct DCMetalBuffer_s *DCMetalBuffer;
typedef struct DCMetalHeap_s *DCMetalHeap;
typedef struct DCMetalTexture_s *DCMetalTexture;
typedef struct DCMetalSampler_s *DCMetalSampler;
typedef struct DCMetalCompileOptions_s *DCMetalCompileOptions;
typedef struct DCMetalLibrary_s *DCMetalLibrary;
typedef struct DCMetalConstants_s *DCMetalConstants;
typedef struct DCMetalFunction_s *DCMetalFunction;
typedef struct DCMetalPipeline_s *DCMetalPipeline;
typedef struct DCMetalArchive_s *DCMetalArchive;
typedef struct DCMetalEvent_s *DCMetalEvent;
typedef struct DCMetalSharedEvent_s *DCMetalSharedEvent;
typedef struct DCMetalFence_s *DCMetalFence;
typedef struct DCMetalIndirectCommands_s *DCMetalIndirectCommands;
typedef struct DCMetalCommandBuffer_s *DCMetalCommandBuffer;
typedef struct DCMetalComputeEncoder_s *DCMetalComputeEncoder;
typedef struct DCMetalBlitEncoder_s *DCMetalBlitEncoder;

typedef DC_METAL_ENUM(DCMetalStatus) {
  DC_METAL_OK = 0,
  DC_METAL_INVALID_ARGUMENT = 1, /* a NULL handle, an index or range outside its limits */
  DC_METAL_INVALID_STATE = 2,    /* right call, wrong moment: commit twice, encode after the end, no pipeline set */
  DC_METAL_NOT_FOUND = 3,        /* no device, no function of that name */
  DC_METAL_UNSUPPORTED = 4,      /* this device or OS version cannot do it */
  DC_METAL_OUT_OF_MEMORY = 5,    /* Metal returned no object for a memory request, or raised an NSMallocException */
  DC_METAL_FAILED = 6,           /* Metal returned an NSError; see the error's domain and code */
  DC_METAL_EXCEPTION = 7         /* Metal raised another NSException; its name is the error's domain */
} DCMetalStatus;

/* MTLSize */
typedef struct DCMetalSize {
  uint64_t width, height, depth;
} DCMetalSize;

/* MTLStorageMode, same values */
typedef DC_METAL_ENUM(DCMetalStorageMode) {
  DC_METAL_STORAGE_SHARED = 0,
  DC_METAL_STORAGE_MANAGED = 1,
  DC_METAL_STORAGE_PRIVATE = 2
} DCMetalStorageMode;

/* MTLDeviceLocation, same values but for the last, which is NSUIntegerMax there */
typedef DC_METAL_ENUM(DCMetalDeviceLocation) {
  DC_METAL_LOCATION_BUILT_IN = 0,
  DC_METAL_LOCATION_SLOT = 1,
  DC_METAL_LOCATION_EXTERNAL = 2,
  DC_METAL_LOCATION_UNSPECIFIED = 3
} DCMetalDeviceLocation;

/* MTLTextureType, same values; those that this interface has */
typedef DC_METAL_ENUM(DCMetalTextureType) {
  DC_METAL_TEXTURE_1D = 0,
  DC_METAL_TEXTURE_1D_ARRAY = 1,
  DC_METAL_TEXTURE_2D = 2,
  DC_METAL_TEXTURE_2D_ARRAY = 3,
  DC_METAL_TEXTURE_3D = 7,
  DC_METAL_TEXTURE_BUFFER = 9 /* the texels of a buffer, in one row */
} DCMetalTextureType;

/* MTLTextureUsage, same values; a bit set */
typedef DC_METAL_ENUM(DCMetalTextureUsage) {
  DC_METAL_TEXTURE_SHADER_READ = 1,
  DC_METAL_TEXTURE_SHADER_WRITE = 2
} DCMetalTextureUsage;

/* MTLSamplerAddressMode, same values */
typedef DC_METAL_ENUM(DCMetalAddressMode) {
  DC_METAL_ADDRESS_CLAMP_TO_EDGE = 0,
  DC_METAL_ADDRESS_REPEAT = 2,
  DC_METAL_ADDRESS_MIRROR_REPEAT = 3,
  DC_METAL_ADDRESS_CLAMP_TO_ZERO = 4,
  DC_METAL_ADDRESS_CLAMP_TO_BORDER = 5
} DCMetalAddressMode;

/* MTLSamplerMinMagFilter, same values */
typedef DC_METAL_ENUM(DCMetalFilter) { DC_METAL_FILTER_NEAREST = 0, DC_METAL_FILTER_LINEAR = 1 } DCMetalFilter;

/* MTLSamplerMipFilter, same values */
typedef DC_METAL_ENUM(DCMetalMipFilter) {
  DC_METAL_MIP_FILTER_NONE = 0,
  DC_METAL_MIP_FILTER_NEAREST = 1,
  DC_METAL_MIP_FILTER_LINEAR = 2
} DCMetalMipFilter;

/* MTLSamplerBorderColor, same values */
typedef DC_METAL_ENUM(DCMetalBorderColor) {
  DC_METAL_BORDER_TRANSPARENT_BLACK = 0,
  DC_METAL_BORDER_OPAQUE_BLACK = 1,
  DC_METAL_BORDER_OPAQUE_WHITE = 2
} DCMetalBorderColor;

/* MTLCPUCacheMode, same values */
typedef DC_METAL_ENUM(DCMetalCacheMode) {
  DC_METAL_CACHE_DEFAULT = 0,
  DC_METAL_CACHE_WRITE_COMBINED = 1
} DCMetalCacheMode;

/* MTLMathMode, same values; with SAFE functions are the precise ones (MTLMathFloatingPointFunctions), else the fast ones. Before macOS 15: SAFE is
   fastMathEnabled = NO, the others are YES. */
typedef DC_METAL_ENUM(DCMetalMathMode) {
  DC_METAL_MATH_SAFE = 0,
  DC_METAL_MATH_RELAXED = 1,
  DC_METAL_MATH_FAST = 2
} DCMetalMathMode;

/* MTLHeapType, same values; those that this interface has */
typedef DC_METAL_ENUM(DCMetalHeapType) {
  DC_METAL_HEAP_AUTOMATIC = 0, /* the heap finds room for each buffer */
  DC_METAL_HEAP_PLACEMENT = 1  /* the caller says where each buffer lies; buffers may lie over each other */
} DCMetalHeapType;

/* MTLHazardTrackingMode, same values */
typedef DC_METAL_ENUM(DCMetalHazardTracking) {
  DC_METAL_HAZARDS_UNTRACKED = 1, /* the caller orders what uses the memory: barriers, fences, events */
  DC_METAL_HAZARDS_TRACKED = 2    /* Metal orders encoders that use the memory, of a heap as if it were one resource */
} DCMetalHazardTracking;

/* MTLResourceUsage, same values; a bit set */
typedef DC_METAL_ENUM(DCMetalResourceUsage) { DC_METAL_USAGE_READ = 1, DC_METAL_USAGE_WRITE = 2 } DCMetalResourceUsage;

/* MTLDispatchType, same values */
typedef DC_METAL_ENUM(DCMetalDispatchType) {
  DC_METAL_DISPATCH_SERIAL = 0,
  DC_METAL_DISPATCH_CONCURRENT = 1
} DCMetalDispatchType;

/* MTLIndirectCommandType, same values; a bit set; those that this interface has */
typedef DC_METAL_ENUM(DCMetalIndirectCommandTypes) {
  DC_METAL_INDIRECT_THREADGROUPS = 32,
  DC_METAL_INDIRECT_THREADS = 64
} DCMetalIndirectCommandTypes;

/* MTLBarrierScope, same values; a bit set */
typedef DC_METAL_ENUM(DCMetalBarrierScope) { DC_METAL_BARRIER_BUFFERS = 1, DC_METAL_BARRIER_TEXTURES = 2 } DCMetalBarrierScope;

/* MTLCommandBufferStatus, same values */
typedef DC_METAL_ENUM(DCMetalCommandBufferStatus) {
  DC_METAL_COMMAND_BUFFER_NOT_ENQUEUED = 0,
  DC_METAL_COMMAND_BUFFER_ENQUEUED = 1,
  DC_METAL_COMMAND_BUFFER_COMMITTED = 2,
  DC_METAL_COMMAND_BUFFER_SCHEDULED = 3,
  DC_METAL_COMMAND_BUFFER_COMPLETED = 4,
  DC_METAL_COMMAND_BUFFER_ERROR = 5
} DCMetalCommandBufferStatus;

/* MTLCommandEncoderErrorState, same values */
typedef DC_METAL_ENUM(DCMetalEncoderState) {
  DC_METAL_ENCODER_UNKNOWN = 0,
  DC_METAL_ENCODER_COMPLETED = 1,
  DC_METAL_ENCODER_AFFECTED = 2,
  DC_METAL_ENCODER_PENDING = 3,
  DC_METAL_ENCODER_FAULTED = 4
} DCMetalEncoderState;

/* MTLBindingType, same values; other values can occur on newer systems */
typedef DC_METAL_ENUM(DCMetalBindingKind) {
  DC_METAL_BINDING_BUFFER = 0,
  DC_METAL_BINDING_THREADGROUP_MEMORY = 1,
  DC_METAL_BINDING_TEXTURE = 2,
  DC_METAL_BINDING_SAMPLER = 3
} DCMetalBindingKind;

/* MTLBindingAccess, same values */
typedef DC_METAL_ENUM(DCMetalAccess) {
  DC_METAL_ACCESS_READ_ONLY = 0,
  DC_METAL_ACCESS_READ_WRITE = 1,
  DC_METAL_ACCESS_WRITE_ONLY = 2
} DCMetalAccess;

/* One argument of a compute function, as the compiler saw it (MTLBinding and its sub-protocols). */
typedef struct DCMetalBinding {
  uint32_t kind;          /* DCMetalBindingKind */
  uint32_t index;         /* n of [[buffer(n)]], [[threadgroup(n)]], [[texture(n)]], [[sampler(n)]] */
  uint32_t access;        /* DCMetalAccess */
  uint32_t data_type;     /* MTLDataType of what a buffer holds (MTLDataTypeStruct for structures) or of a texture's components, 0 if Metal does not tell */
  uint64_t data_size;     /* size of one element of a buffer or of threadgroup memory */
  uint64_t alignment;     /* its alignment */
  uint64_t array_length;  /* elements of an array of textures or samplers, else 0 */
  uint32_t texture_type;  /* MTLTextureType of a texture */
  bool used;              /* false when the compiler removed every use of it */
} DCMetalBinding;

/* ------------------------------------------------------------------ DCMetalError */

/* NSError domain ("MTLLibraryErrorDomain"...), exception name, or "DCMetal" for checks made by this interface. */
DC_METAL_API size_t DCMetalError_GetDomain(DCMetalError error, char *buffer, size_t capacity);
/* NSError code; for domain "DCMetal" the DCMetalStatus. 0 for NULL. */
DC_METAL_API int64_t DCMetalError_GetCode(DCMetalError error);
/* Metal's full text (for a library: the compiler's whole log), never cut. */
DC_METAL_API size_t DCMetalError_GetMessage(DCMetalError error, char *buffer, size_t capacity);
/* Encoders named in MTLCommandBufferEncoderInfoErrorKey; 0 unless the command buffer asked for encoder info. */
DC_METAL_API size_t DCMetalError_GetEncoderCount(DCMetalError error);
DC_METAL_API size_t DCMetalError_GetEncoderLabel(DCMetalError error, size_t index, char *buffer, size_t capacity);
/* DC_METAL_ENCODER_UNKNOWN when index is out of range. */
DC_METAL_API DCMetalEncoderState DCMetalError_GetEncoderState(DCMetalError error, size_t index);
DC_METAL_API void DCMetalError_Release(DCMetalError error);

/* ------------------------------------------------------------------ DCMetalDevice (MTLDevice) */

/* Every device: *count receives how many there are; the first min(capacity, *count) are written to devices, each owned.
 * devices may be NULL with capacity 0. No device at all is DC_METAL_OK with *count = 0. */
DC_METAL_API DCMetalStatus DCMetalDevice_CreateAll(DCMetalDevice *devices, size_t capacity, size_t *count,
                                                   DCMetalError *error);
/* MTLCreateSystemDefaultDevice; DC_METAL_NOT_FOUND on a machine without one. */
DC_METAL_API DCMetalStatus DCMetalDevice_CreateSystemDefault(DCMetalDevice *device, DCMetalError *error);
DC_METAL_API size_t DCMetalDevice_GetName(DCMetalDevice device, char *buffer, size_t capacity);
/* Names what compiles pipelines for the device where that is no part of the operating system, as hostmetal's clang is not: code that was compiled
 * under another name is not to be used. Empty on Apple's Metal, whose compiler is of the system's build. It may run a compiler, the first time. */
DC_METAL_API size_t DCMetalDevice_GetCompiler(DCMetalDevice device, char *buffer, size_t capacity);
/* Unique per device until the next boot. 0 for NULL, as the numbers below. */
DC_METAL_API uint64_t DCMetalDevice_GetRegistryID(DCMetalDevice device);
DC_METAL_API bool DCMetalDevice_HasUnifiedMemory(DCMetalDevice device);
DC_METAL_API bool DCMetalDevice_IsLowPower(DCMetalDevice device);
DC_METAL_API bool DCMetalDevice_IsHeadless(DCMetalDevice device);
DC_METAL_API bool DCMetalDevice_IsRemovable(DCMetalDevice device);
DC_METAL_API uint64_t DCMetalDevice_GetRecommendedMaxWorkingSetSize(DCMetalDevice device);
DC_METAL_API uint64_t DCMetalDevice_GetCurrentAllocatedSize(DCMetalDevice device);
DC_METAL_API uint64_t DCMetalDevice_GetMaxBufferLength(DCMetalDevice device);
DC_METAL_API uint64_t DCMetalDevice_GetMaxThreadgroupMemoryLength(DCMetalDevice device);
DC_METAL_API DCMetalSize DCMetalDevice_GetMaxThreadsPerThreadgroup(DCMetalDevice device);
/* family: a value of MTLGPUFamily (1001 Apple1 ... , 2002 Mac2, 3001.. Common, 5001 Metal3). */
DC_METAL_API bool DCMetalDevice_SupportsFamily(DCMetalDevice device, int64_t family);
/* How it is connected to the machine; DC_METAL_LOCATION_UNSPECIFIED for NULL. The number tells devices at locations of one kind apart:
 * slots, and ports. */
DC_METAL_API DCMetalDeviceLocation DCMetalDevice_GetLocation(DCMetalDevice device);
DC_METAL_API uint64_t DCMetalDevice_GetLocationNumber(DCMetalDevice device);
/* Bytes a second at which memory of the host's can get to it at most; 0 for a device that is built in, or where that is not known. */
DC_METAL_API uint64_t DCMetalDevice_GetMaxTransferRate(DCMetalDevice device);
/* The peer group, whose devices may copy from each other's private memory; 0 for a device in none. The index is one of `count` in the group. */
DC_METAL_API uint64_t DCMetalDevice_GetPeerGroupID(DCMetalDevice device);
DC_METAL_API uint32_t DCMetalDevice_GetPeerIndex(DCMetalDevice device);
DC_METAL_API uint32_t DCMetalDevice_GetPeerCount(DCMetalDevice device);
DC_METAL_API void DCMetalDevice_Release(DCMetalDevice device);

/* ------------------------------------------------------------------ DCMetalQueue (MTLCommandQueue) */

/* max_command_buffers: how many command buffers may be uncompleted at once before DCMetalCommandBuffer_Create blocks;
 * 0 for Metal's default (64). */
DC_METAL_API DCMetalStatus DCMetalQueue_Create(DCMetalDevice device, size_t max_command_buffers, DCMetalQueue *queue,
                                               DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalQueue_SetLabel(DCMetalQueue queue, const char *label);
DC_METAL_API void DCMetalQueue_Release(DCMetalQueue queue);

/* ------------------------------------------------------------------ DCMetalBuffer (MTLBuffer) */

/* Zero-filled. length 0 or above the device's maximum is DC_METAL_INVALID_ARGUMENT. */
DC_METAL_API DCMetalStatus DCMetalBuffer_Create(DCMetalDevice device, uint64_t length, DCMetalStorageMode storage,
                                                DCMetalCacheMode cache, DCMetalBuffer *buffer, DCMetalError *error);
/* A copy of `length` bytes at `bytes`; shared or managed storage only. */
DC_METAL_API DCMetalStatus DCMetalBuffer_CreateWithBytes(DCMetalDevice device, const void *bytes, uint64_t length,
                                                         DCMetalStorageMode storage, DCMetalBuffer *buffer,
                                                         DCMetalError *error);
/* Called exactly once, on any thread, when Metal no longer uses the memory. */
typedef void (*DCMetalDeallocator)(void *context, void *bytes, uint64_t length);
/* Uses the caller's memory in place. bytes and length must be multiples of the page size (Apple,
 * newBufferWithBytesNoCopy); shared or managed storage only. deallocator may be NULL: then the caller keeps the memory
 * valid until the buffer is released and every command buffer that uses it has completed. On failure the deallocator
 * is not called and the memory stays the caller's. */
DC_METAL_API DCMetalStatus DCMetalBuffer_CreateNoCopy(DCMetalDevice device, void *bytes, uint64_t length,
                                                      DCMetalStorageMode storage, DCMetalDeallocator deallocator,
                                                      void *context, DCMetalBuffer *buffer, DCMetalError *error);
/* Where kernels see the buffer (gpuAddress), for addresses in other memory; 0 for NULL, and before macOS 13. */
DC_METAL_API uint64_t DCMetalBuffer_GetGPUAddress(DCMetalBuffer buffer);
/* Borrowed, valid until the buffer is released; NULL for private storage. */
DC_METAL_API void *DCMetalBuffer_GetContents(DCMetalBuffer buffer);
DC_METAL_API uint64_t DCMetalBuffer_GetLength(DCMetalBuffer buffer);
/* Valid only for a buffer that is not NULL; NULL gives DC_METAL_STORAGE_PRIVATE. */
DC_METAL_API DCMetalStorageMode DCMetalBuffer_GetStorageMode(DCMetalBuffer buffer);
/* Tells Metal which bytes of a managed buffer the CPU wrote; any other storage is DC_METAL_INVALID_STATE. */
DC_METAL_API DCMetalStatus DCMetalBuffer_DidModifyRange(DCMetalBuffer buffer, uint64_t offset, uint64_t length);
/* The same memory for another device of the buffer's peer group, which can only copy from it (newRemoteBufferViewForDevice): all else that is done
 * with it is the caller's mistake, which Metal may not notice. Keep the buffer until what copies from the view has completed. Storage that is not private, and a device of no common group, is DC_METAL_INVALID_ARGUMENT. */
DC_METAL_API DCMetalStatus DCMetalBuffer_CreateRemoteView(DCMetalBuffer buffer, DCMetalDevice device, DCMetalBuffer *view,
                                                          DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalBuffer_SetLabel(DCMetalBuffer buffer, const char *label);
DC_METAL_API size_t DCMetalBuffer_GetLabel(DCMetalBuffer buffer, char *text, size_t capacity);
DC_METAL_API void DCMetalBuffer_Release(DCMetalBuffer buffer);

/* ------------------------------------------------------------------ DCMetalHeap (MTLHeap)
 * Memory of which buffers are parts: making one is no allocation. A buffer keeps its heap, and its room comes back when it is
 * released and no command buffer uses it. What a buffer of a heap holds at first is undefined. */

typedef struct DCMetalHeapDescriptor {
  uint64_t size;                  /* of all its buffers; Metal may round it up */
  DCMetalStorageMode storage;     /* shared (of Apple's GPUs with unified memory, else DC_METAL_UNSUPPORTED) or private */
  DCMetalCacheMode cache;
  DCMetalHeapType type;
  DCMetalHazardTracking hazards;  /* no default: Metal's own for heaps is untracked, for buffers tracked */
} DCMetalHeapDescriptor;

DC_METAL_API DCMetalStatus DCMetalHeap_Create(DCMetalDevice device, const DCMetalHeapDescriptor *descriptor,
                                              DCMetalHeap *heap, DCMetalError *error);
/* The bytes that a buffer of this length takes in a heap, and what its offset is a multiple of. */
DC_METAL_API DCMetalStatus DCMetalDevice_GetHeapBufferSize(DCMetalDevice device, uint64_t length,
                                                           DCMetalStorageMode storage, uint64_t *size,
                                                           uint64_t *alignment);
/* Of an automatic heap; DC_METAL_OUT_OF_MEMORY when it has no room. The modes are the heap's. */
DC_METAL_API DCMetalStatus DCMetalHeap_CreateBuffer(DCMetalHeap heap, uint64_t length, DCMetalBuffer *buffer,
                                                    DCMetalError *error);
/* Of a placement heap. Who uses memory that lies over other memory orders the uses. */
DC_METAL_API DCMetalStatus DCMetalHeap_CreateBufferAt(DCMetalHeap heap, uint64_t length, uint64_t offset,
                                                      DCMetalBuffer *buffer, DCMetalError *error);
/* 0 for NULL, as the numbers below. */
DC_METAL_API uint64_t DCMetalHeap_GetSize(DCMetalHeap heap);
/* Of the buffers in it. */
DC_METAL_API uint64_t DCMetalHeap_GetUsedSize(DCMetalHeap heap);
/* Of the largest buffer that there is room for; alignment is 0 or a power of two, else the answer is 0. */
DC_METAL_API uint64_t DCMetalHeap_GetMaxAvailableSize(DCMetalHeap heap, uint64_t alignment);
DC_METAL_API DCMetalStatus DCMetalHeap_SetLabel(DCMetalHeap heap, const char *label);
DC_METAL_API void DCMetalHeap_Release(DCMetalHeap heap);

/* ------------------------------------------------------------------ DCMetalTexture (MTLTexture) */

typedef struct DCMetalTextureDescriptor {
  DCMetalTextureType type;
  uint32_t pixel_format;  /* MTLPixelFormat */
  DCMetalSize size;       /* in texels; 1 for dimensions that the type does not have */
  uint64_t array_length;  /* 1 for what is no array */
  uint64_t levels;        /* of the mipmap chain, at least 1 */
  uint32_t usage;         /* bits of DCMetalTextureUsage */
  DCMetalStorageMode storage;
} DCMetalTextureDescriptor;

/* The first texel of a region. */
typedef struct DCMetalTexturePlace {
  uint64_t x, y, z;
  uint64_t slice; /* element of an array */
  uint64_t level;
} DCMetalTexturePlace;

/* Pixel formats: 8, 16 and 32 bits of one, two and four channels in the kinds that Metal has of each, BGRA8Unorm, sRGB,
 * A8Unorm and RGB10A2Unorm. Other formats and types are DC_METAL_UNSUPPORTED. What a new texture holds is undefined. */
DC_METAL_API DCMetalStatus DCMetalTexture_Create(DCMetalDevice device, const DCMetalTextureDescriptor *descriptor,
                                                 DCMetalTexture *texture, DCMetalError *error);
/* The texels are the buffer's bytes from offset on: 2D or a texture buffer, of one level. Offset and bytes per row are
 * multiples of the device's alignment for the format (at most 256). The texture has the buffer's storage mode, and keeps
 * the buffer. */
DC_METAL_API DCMetalStatus DCMetalTexture_CreateWithBuffer(DCMetalBuffer buffer, uint64_t offset, uint64_t bytes_per_row,
                                                           const DCMetalTextureDescriptor *descriptor,
                                                           DCMetalTexture *texture, DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalTexture_GetDescriptor(DCMetalTexture texture, DCMetalTextureDescriptor *descriptor);
/* Copies texels from the CPU's memory, or to it: `length` bytes are there, and the rows and images of the region, as far
 * apart as is said, must fit in. bytes_per_image counts for a region of several images only. Not for private storage
 * (DC_METAL_INVALID_STATE). Nothing orders this with the device: use it when no command buffer uses the texture. */
DC_METAL_API DCMetalStatus DCMetalTexture_Write(DCMetalTexture texture, const DCMetalTexturePlace *place, DCMetalSize size,
                                                const void *bytes, uint64_t length, uint64_t bytes_per_row,
                                                uint64_t bytes_per_image, DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalTexture_Read(DCMetalTexture texture, const DCMetalTexturePlace *place, DCMetalSize size,
                                               void *bytes, uint64_t length, uint64_t bytes_per_row,
                                               uint64_t bytes_per_image, DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalTexture_SetLabel(DCMetalTexture texture, const char *label);
DC_METAL_API void DCMetalTexture_Release(DCMetalTexture texture);

/* ------------------------------------------------------------------ DCMetalSampler (MTLSamplerState) */

typedef struct DCMetalSamplerDescriptor {
  DCMetalAddressMode s, t, r;
  DCMetalFilter min_filter, mag_filter;
  DCMetalMipFilter mip_filter;
  DCMetalBorderColor border_color;
  bool pixel_coordinates; /* in texels instead of 0 to 1; only with clamping, one filter and no mipmaps */
  float lod_min, lod_max; /* 0 and a great number for no limits */
} DCMetalSamplerDescriptor;

DC_METAL_API DCMetalStatus DCMetalSampler_Create(DCMetalDevice device, const DCMetalSamplerDescriptor *descriptor,
                                                 DCMetalSampler *sampler, DCMetalError *error);
DC_METAL_API void DCMetalSampler_Release(DCMetalSampler sampler);

/* ------------------------------------------------------------------ DCMetalCompileOptions (MTLCompileOptions) */

DC_METAL_API DCMetalStatus DCMetalCompileOptions_Create(DCMetalCompileOptions *options, DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalCompileOptions_SetMathMode(DCMetalCompileOptions options, DCMetalMathMode mode);
/* major.minor of the Metal Shading Language, 2.0 to 3.2; one this system does not know is DC_METAL_UNSUPPORTED. */
DC_METAL_API DCMetalStatus DCMetalCompileOptions_SetLanguageVersion(DCMetalCompileOptions options, uint32_t major,
                                                                    uint32_t minor);
/* Defines a preprocessor macro; value "" defines it empty. The name must be an identifier. */
DC_METAL_API DCMetalStatus DCMetalCompileOptions_SetMacro(DCMetalCompileOptions options, const char *name,
                                                          const char *value);
DC_METAL_API void DCMetalCompileOptions_Release(DCMetalCompileOptions options);

/* ------------------------------------------------------------------ DCMetalLibrary (MTLLibrary) */

/* Compiles MSL source of `length` bytes of UTF-8. options may be NULL for Metal's defaults. On DC_METAL_OK *error is an
 * owned error of domain MTLLibraryErrorDomain when the compiler gave warnings, else NULL. */
DC_METAL_API DCMetalStatus DCMetalLibrary_CreateWithSource(DCMetalDevice device, const char *source, size_t length,
                                                           DCMetalCompileOptions options, DCMetalLibrary *library,
                                                           DCMetalError *error);
DC_METAL_API size_t DCMetalLibrary_GetFunctionCount(DCMetalLibrary library);
/* Returns 0 and an empty string when index is out of range. The order is sorted by name. */
DC_METAL_API size_t DCMetalLibrary_GetFunctionName(DCMetalLibrary library, size_t index, char *buffer, size_t capacity);
DC_METAL_API DCMetalStatus DCMetalLibrary_SetLabel(DCMetalLibrary library, const char *label);
DC_METAL_API void DCMetalLibrary_Release(DCMetalLibrary library);

/* ------------------------------------------------------------------ DCMetalConstants (MTLFunctionConstantValues) */

DC_METAL_API DCMetalStatus DCMetalConstants_Create(DCMetalConstants *constants, DCMetalError *error);
/* data_type: a value of MTLDataType (3 float, 29 int, 33 uint, 53 bool, ...); value points to one such value.
 * A type that cannot be a function constant is DC_METAL_INVALID_ARGUMENT. */
DC_METAL_API DCMetalStatus DCMetalConstants_SetAtIndex(DCMetalConstants constants, uint32_t data_type,
                                                       const void *value, size_t index);
DC_METAL_API DCMetalStatus DCMetalConstants_SetNamed(DCMetalConstants constants, uint32_t data_type, const void *value,
                                                     const char *name);
DC_METAL_API void DCMetalConstants_Release(DCMetalConstants constants);

/* ------------------------------------------------------------------ DCMetalFunction (MTLFunction) */

/* constants may be NULL for a function without function constants. DC_METAL_NOT_FOUND when the library has none of
 * that name. */
DC_METAL_API DCMetalStatus DCMetalFunction_Create(DCMetalLibrary library, const char *name, DCMetalConstants constants,
                                                  DCMetalFunction *function, DCMetalError *error);
DC_METAL_API size_t DCMetalFunction_GetName(DCMetalFunction function, char *buffer, size_t capacity);
/* What the function's threads do, from its compiled code: lines of words, as docs/HOSTMETAL.md ("What a kernel does") has them. Writes
 * what fits of the text, as DCMetalFunction_GetName does, and *length is that of the whole. It may run a compiler, the first time. Only
 * hostmetal tells it: DC_METAL_UNSUPPORTED on Apple's Metal. */
DC_METAL_API DCMetalStatus DCMetalFunction_Analyse(DCMetalFunction function, char *buffer, size_t capacity, size_t *length,
                                                   DCMetalError *error);
DC_METAL_API void DCMetalFunction_Release(DCMetalFunction function);

/* ------------------------------------------------------------------ DCMetalPipeline (MTLComputePipelineState) */

typedef struct DCMetalPipelineOptions {
  const char *label;                       /* or NULL */
  uint64_t max_total_threads_per_threadgroup; /* 0 to leave it to Metal */
  bool threadgroup_size_is_multiple_of_execution_width;
  bool indirect_commands;                  /* for DCMetalIndirectCommands; Metal may refuse a kernel then (DC_METAL_FAILED) */
} DCMetalPipelineOptions;

/* options may be NULL. Reflection is always made. */
DC_METAL_API DCMetalStatus DCMetalPipeline_Create(DCMetalDevice device, DCMetalFunction function,
                                                  const DCMetalPipelineOptions *options, DCMetalPipeline *pipeline,
                                                  DCMetalError *error);
/* As DCMetalPipeline_Create, with the code of the first of the archives that has it. What none has is compiled, or with
 * only_archives fails with Metal's error. archives may be NULL with count 0. */
DC_METAL_API DCMetalStatus DCMetalPipeline_CreateWithArchives(DCMetalDevice device, DCMetalFunction function,
                                                              const DCMetalPipelineOptions *options,
                                                              const DCMetalArchive *archives, size_t count,
                                                              bool only_archives, DCMetalPipeline *pipeline,
                                                              DCMetalError *error);
DC_METAL_API uint64_t DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup(DCMetalPipeline pipeline);
DC_METAL_API uint64_t DCMetalPipeline_GetThreadExecutionWidth(DCMetalPipeline pipeline);
DC_METAL_API uint64_t DCMetalPipeline_GetStaticThreadgroupMemoryLength(DCMetalPipeline pipeline);
/* What a `compute_pipeline_state` in memory that a kernel reads holds (gpuResourceID), of a pipeline made with indirect_commands; 0 for
 * all others, and before macOS 13. */
DC_METAL_API uint64_t DCMetalPipeline_GetResourceID(DCMetalPipeline pipeline);
DC_METAL_API size_t DCMetalPipeline_GetBindingCount(DCMetalPipeline pipeline);
/* DC_METAL_INVALID_ARGUMENT when position >= the count. Order: as the compiler reports it. */
DC_METAL_API DCMetalStatus DCMetalPipeline_GetBinding(DCMetalPipeline pipeline, size_t position,
                                                      DCMetalBinding *binding);
DC_METAL_API size_t DCMetalPipeline_GetBindingName(DCMetalPipeline pipeline, size_t position, char *buffer,
                                                   size_t capacity);
DC_METAL_API void DCMetalPipeline_Release(DCMetalPipeline pipeline);

/* ------------------------------------------------------------------ DCMetalArchive (MTLBinaryArchive)
 * The device's code of chosen pipelines, in memory and in files. It belongs to one thread at a time while pipelines are added.
 * Who may write an archive's file decides what runs. Metal uses none of another device or system; it compiles then. A library is
 * compiled from its source all the same: archives hold what pipelines are made of. */

DC_METAL_API DCMetalStatus DCMetalArchive_Create(DCMetalDevice device, DCMetalArchive *archive, DCMetalError *error);
/* A file that is not there, or no archive, is DC_METAL_FAILED with domain MTLBinaryArchiveDomain. */
DC_METAL_API DCMetalStatus DCMetalArchive_CreateFromFile(DCMetalDevice device, const char *path, DCMetalArchive *archive,
                                                         DCMetalError *error);
/* Compiles the function as DCMetalPipeline_Create does with these options and keeps the code. */
DC_METAL_API DCMetalStatus DCMetalArchive_AddPipeline(DCMetalArchive archive, DCMetalFunction function,
                                                      const DCMetalPipelineOptions *options, DCMetalError *error);
/* Writes a file, over one that is there. That a reader sees a whole file or none is the caller's business: write another, and
 * rename it. */
DC_METAL_API DCMetalStatus DCMetalArchive_Serialize(DCMetalArchive archive, const char *path, DCMetalError *error);
DC_METAL_API void DCMetalArchive_Release(DCMetalArchive archive);

/* ------------------------------------------------------------------ DCMetalEvent (MTLEvent)
 * A number that starts as 0 and only grows. Command buffers signal it and wait for it, on any queues of its device. The host
 * cannot signal it, so after a command buffer that failed nobody may: use a shared event where that must not be. */

DC_METAL_API DCMetalStatus DCMetalEvent_Create(DCMetalDevice device, DCMetalEvent *event, DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalEvent_SetLabel(DCMetalEvent event, const char *label);
DC_METAL_API void DCMetalEvent_Release(DCMetalEvent event);

/* ------------------------------------------------------------------ DCMetalSharedEvent (MTLSharedEvent)
 * An event that the host and other devices signal and wait for too. */

DC_METAL_API DCMetalStatus DCMetalSharedEvent_Create(DCMetalDevice device, DCMetalSharedEvent *event,
                                                     DCMetalError *error);
/* The same object as an event of command buffers: borrowed, valid until the shared event is released. */
DC_METAL_API DCMetalEvent DCMetalSharedEvent_AsEvent(DCMetalSharedEvent event);
DC_METAL_API DCMetalStatus DCMetalSharedEvent_SetLabel(DCMetalSharedEvent event, const char *label);
/* 0 for NULL. */
DC_METAL_API uint64_t DCMetalSharedEvent_GetSignaledValue(DCMetalSharedEvent event);
/* A value that is not above the event's changes nothing (Apple, signaledValue). */
DC_METAL_API DCMetalStatus DCMetalSharedEvent_SetSignaledValue(DCMetalSharedEvent event, uint64_t value,
                                                               DCMetalError *error);
/* Sleeps until the event has the value, at most so many milliseconds. *reached is false when the time went by first, which is
 * DC_METAL_OK. */
DC_METAL_API DCMetalStatus DCMetalSharedEvent_Wait(DCMetalSharedEvent event, uint64_t value, uint64_t milliseconds,
                                                   bool *reached, DCMetalError *error);
/* status: DC_METAL_OK with the event's value, at least the one asked for; DC_METAL_INVALID_STATE with 0 when nobody can signal
 * the event any more, because it has gone. Called exactly once, on a thread of Metal's or on the one that lets the event go. */
typedef void (*DCMetalEventHandler)(void *context, DCMetalStatus status, uint64_t value);
/* Has the handler called when the event has the value, which may be so already. The handler does not keep the event. When this
 * fails the handler is not called. */
DC_METAL_API DCMetalStatus DCMetalSharedEvent_Notify(DCMetalSharedEvent event, uint64_t value,
                                                     DCMetalEventHandler handler, void *context, DCMetalError *error);
DC_METAL_API void DCMetalSharedEvent_Release(DCMetalSharedEvent event);

/* ------------------------------------------------------------------ DCMetalFence (MTLFence)
 * Order between the encoders of a queue, for what Metal does not track: an encoder that waits for a fence starts after the
 * earlier ones that update it have ended. */

DC_METAL_API DCMetalStatus DCMetalFence_Create(DCMetalDevice device, DCMetalFence *fence, DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalFence_SetLabel(DCMetalFence fence, const char *label);
DC_METAL_API void DCMetalFence_Release(DCMetalFence fence);

/* ------------------------------------------------------------------ DCMetalIndirectCommands (MTLIndirectCommandBuffer)
 * Dispatches that are recorded once and executed by any number of command buffers. Each has an index; those of an execution may run at
 * once and in any order, except that one with a barrier waits for those before it; one behind it without a barrier waits for none.
 * A command is set once: its pipeline, buffers and the rest first, its dispatch last, and DCMetalIndirectCommands_Reset makes it none
 * again. What a command uses is kept until then.
 *
 * While a command buffer that was given some of the commands has not completed, all calls that change them are
 * DC_METAL_INVALID_STATE; in a handler of its completion that may still be so. Of devices that say DCMetalDevice_SupportsFamily of
 * Common2 (3002), and those above it; of others DC_METAL_UNSUPPORTED (Apple's feature tables name the Common families for indirect
 * compute commands, https://github.com/gpuweb/gpuweb/issues/2189). */

typedef struct DCMetalIndirectDescriptor {
  uint64_t count;         /* of commands, 1 to 16384 (what Apple lets one execution have on GPUs of the Mac2 family) */
  uint32_t types;         /* bits of DCMetalIndirectCommandTypes */
  uint32_t buffers;       /* how many [[buffer(n)]] a command can set: indices below this, at most 31 */
  uint32_t memories;      /* and [[threadgroup(n)]]; macOS 13 has no such limit and sets none */
  bool inherit_pipeline;  /* the commands have the pipeline of the encoder that executes them */
  bool inherit_buffers;   /* and its buffers, instead of their own */
} DCMetalIndirectDescriptor;

DC_METAL_API DCMetalStatus DCMetalIndirectCommands_Create(DCMetalDevice device, const DCMetalIndirectDescriptor *descriptor,
                                                          DCMetalIndirectCommands *commands, DCMetalError *error);
/* 0 for NULL. */
DC_METAL_API uint64_t DCMetalIndirectCommands_GetCount(DCMetalIndirectCommands commands);
DC_METAL_API DCMetalStatus DCMetalIndirectCommands_SetLabel(DCMetalIndirectCommands commands, const char *label);
/* The pipeline was made with indirect_commands, and its kernel has no textures and samplers: a command cannot set them
 * (DC_METAL_UNSUPPORTED). DC_METAL_INVALID_STATE where pipelines are inherited. */
DC_METAL_API DCMetalStatus DCMetalIndirectCommands_SetPipeline(DCMetalIndirectCommands commands, uint64_t index,
                                                               DCMetalPipeline pipeline, DCMetalError *error);
/* [[buffer(slot)]]. offset < the buffer's length. DC_METAL_INVALID_STATE where buffers are inherited. */
DC_METAL_API DCMetalStatus DCMetalIndirectCommands_SetBuffer(DCMetalIndirectCommands commands, uint64_t index,
                                                             DCMetalBuffer buffer, uint64_t offset, size_t slot,
                                                             DCMetalError *error);
/* [[threadgroup(slot)]]. length: a multiple of 16. */
DC_METAL_API DCMetalStatus DCMetalIndirectCommands_SetThreadgroupMemoryLength(DCMetalIndirectCommands commands,
                                                                              uint64_t index, uint64_t length,
                                                                              size_t slot, DCMetalError *error);
/* The command waits for those of smaller index in the same execution, and no other command does (Apple, setBarrier: "commands executed
 * prior to this command are complete before this command executes"). Where several shall wait for the same, a barrier of the encoder
 * between two executions serves all. */
DC_METAL_API DCMetalStatus DCMetalIndirectCommands_SetBarrier(DCMetalIndirectCommands commands, uint64_t index,
                                                              DCMetalError *error);
/* What a command does. It is checked as a dispatch of an encoder is; what it inherits is checked when it is executed. */
DC_METAL_API DCMetalStatus DCMetalIndirectCommands_DispatchThreads(DCMetalIndirectCommands commands, uint64_t index,
                                                                   DCMetalSize threads,
                                                                   DCMetalSize threads_per_threadgroup,
                                                                   DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalIndirectCommands_DispatchThreadgroups(DCMetalIndirectCommands commands, uint64_t index,
                                                                        DCMetalSize threadgroups,
                                                                        DCMetalSize threads_per_threadgroup,
                                                                        DCMetalError *error);
/* What a `command_buffer` in memory that a kernel reads holds (gpuResourceID), so that the kernel can write commands (MSL, "Encoding Commands in an
 * Indirect Command Buffer"); 0 for NULL, and before macOS 13. The encoder is told by DCMetalComputeEncoder_UseCommands. Of commands that a
 * kernel writes this interface knows nothing: it keeps nothing that they use, and the encoder that executes them is told of their buffers by
 * DCMetalComputeEncoder_UseBuffer. Whoever lets a kernel write keeps pipelines and buffers until the command buffer has completed. */
DC_METAL_API uint64_t DCMetalIndirectCommands_GetResourceID(DCMetalIndirectCommands commands);
/* Makes `count` commands from `first` on none. */
DC_METAL_API DCMetalStatus DCMetalIndirectCommands_Reset(DCMetalIndirectCommands commands, uint64_t first, uint64_t count,
                                                         DCMetalError *error);
/* Command buffers that were given the commands keep them until they have completed, and their ends were told or waited for. */
DC_METAL_API void DCMetalIndirectCommands_Release(DCMetalIndirectCommands commands);

/* ------------------------------------------------------------------ DCMetalCommandBuffer (MTLCommandBuffer) */

typedef struct DCMetalCommandBufferOptions {
  bool unretained_references; /* the caller keeps every resource alive until completion */
  bool encoder_info;          /* MTLCommandBufferErrorOptionEncoderExecutionStatus: errors then name encoders */
} DCMetalCommandBufferOptions;

/* options may be NULL: retained references, no encoder info. */
DC_METAL_API DCMetalStatus DCMetalCommandBuffer_Create(DCMetalQueue queue, const DCMetalCommandBufferOptions *options,
                                                       DCMetalCommandBuffer *command_buffer, DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalCommandBuffer_SetLabel(DCMetalCommandBuffer command_buffer, const char *label);
/* Fixes the place in the queue's order before the commit; a second time is DC_METAL_INVALID_STATE. */
DC_METAL_API DCMetalStatus DCMetalCommandBuffer_Enqueue(DCMetalCommandBuffer command_buffer, DCMetalError *error);
/* status: DC_METAL_OK exactly when the command buffer completed without error; failure: owned by the callee, who must
 * release it, else NULL. Called exactly once, on a thread of Metal's; never for a command buffer that was not committed. */
typedef void (*DCMetalCompletedHandler)(void *context, DCMetalStatus status, DCMetalError failure);
/* Before the commit, else DC_METAL_INVALID_STATE. */
DC_METAL_API DCMetalStatus DCMetalCommandBuffer_AddCompletedHandler(DCMetalCommandBuffer command_buffer,
                                                                    DCMetalCompletedHandler handler, void *context,
                                                                    DCMetalError *error);
/* Between encoders: DC_METAL_INVALID_STATE while one is open, and after the commit. What comes later in the command buffer
 * starts when the event has at least this value; the event gets the value when what came earlier has finished, unless its own
 * is larger. An event that is not shared is of the command buffer's device. Apple does not say that a command buffer which fails
 * signals; hostmetal does it (docs/HOSTMETAL.md). A queue whose command buffer waits runs none behind it. */
DC_METAL_API DCMetalStatus DCMetalCommandBuffer_EncodeSignalEvent(DCMetalCommandBuffer command_buffer,
                                                                  DCMetalEvent event, uint64_t value,
                                                                  DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalCommandBuffer_EncodeWaitForEvent(DCMetalCommandBuffer command_buffer,
                                                                   DCMetalEvent event, uint64_t value,
                                                                   DCMetalError *error);
/* DC_METAL_INVALID_STATE when an encoder is still open or it was committed before. */
DC_METAL_API DCMetalStatus DCMetalCommandBuffer_Commit(DCMetalCommandBuffer command_buffer, DCMetalError *error);
/* Both wait without limit; DC_METAL_INVALID_STATE before the commit. WaitUntilCompleted returns the outcome: DC_METAL_OK
 * exactly when the command buffer completed without error. */
DC_METAL_API DCMetalStatus DCMetalCommandBuffer_WaitUntilScheduled(DCMetalCommandBuffer command_buffer,
                                                                   DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalCommandBuffer_WaitUntilCompleted(DCMetalCommandBuffer command_buffer,
                                                                   DCMetalError *error);
/* DC_METAL_COMMAND_BUFFER_ERROR for NULL. */
DC_METAL_API DCMetalCommandBufferStatus DCMetalCommandBuffer_GetStatus(DCMetalCommandBuffer command_buffer);
/* The error it ended with, owned, or NULL. */
DC_METAL_API DCMetalError DCMetalCommandBuffer_CreateError(DCMetalCommandBuffer command_buffer);
/* DC_METAL_UNSUPPORTED when the platform tells no times; DC_METAL_INVALID_STATE before completion. */
DC_METAL_API DCMetalStatus DCMetalCommandBuffer_GetGPUTimes(DCMetalCommandBuffer command_buffer, double *start,
                                                            double *end);
/* Releasing an uncommitted command buffer drops what it recorded. */
DC_METAL_API void DCMetalCommandBuffer_Release(DCMetalCommandBuffer command_buffer);

/* ------------------------------------------------------------------ DCMetalComputeEncoder (MTLComputeCommandEncoder)
 * One encoder of a command buffer is open at a time; after *_EndEncoding every call is DC_METAL_INVALID_STATE.
 * Releasing an open encoder ends it. A failed Set* or Dispatch* records nothing. */

DC_METAL_API DCMetalStatus DCMetalComputeEncoder_Create(DCMetalCommandBuffer command_buffer, DCMetalDispatchType type,
                                                        DCMetalComputeEncoder *encoder, DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_SetLabel(DCMetalComputeEncoder encoder, const char *label);
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_SetPipeline(DCMetalComputeEncoder encoder, DCMetalPipeline pipeline,
                                                             DCMetalError *error);
/* buffer may be NULL to unbind; offset < the buffer's length; index < 31. Memory that a kernel writes through one argument must
 * not be reached through another (MSL specification, 5.2): what it computes then is undefined, and no error is reported. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_SetBuffer(DCMetalComputeEncoder encoder, DCMetalBuffer buffer,
                                                           uint64_t offset, size_t index, DCMetalError *error);
/* Moves the offset of the buffer bound at index. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_SetBufferOffset(DCMetalComputeEncoder encoder, uint64_t offset,
                                                                 size_t index, DCMetalError *error);
/* texture may be NULL to unbind; index < 128. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_SetTexture(DCMetalComputeEncoder encoder, DCMetalTexture texture,
                                                            size_t index, DCMetalError *error);
/* sampler may be NULL to unbind; index < 16. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_SetSampler(DCMetalComputeEncoder encoder, DCMetalSampler sampler,
                                                            size_t index, DCMetalError *error);
/* 1 to 4096 bytes, copied. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_SetBytes(DCMetalComputeEncoder encoder, const void *bytes,
                                                          size_t length, size_t index, DCMetalError *error);
/* length: a multiple of 16. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_SetThreadgroupMemoryLength(DCMetalComputeEncoder encoder,
                                                                            uint64_t length, size_t index,
                                                                            DCMetalError *error);
/* No dimension may be 0 nor the grid have more than 2^32 - 1 threads along one; the threads of a threadgroup may not
 * exceed the pipeline's limit, nor its dynamic and static threadgroup memory the device's; every buffer argument the
 * pipeline uses must be bound and hold one element, every threadgroup memory argument have a length; every texture must
 * be bound, be of the argument's type and kind of components (float, signed, unsigned) and have the usage that the access
 * needs; every sampler must be bound. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_DispatchThreads(DCMetalComputeEncoder encoder, DCMetalSize threads,
                                                                 DCMetalSize threads_per_threadgroup,
                                                                 DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_DispatchThreadgroups(DCMetalComputeEncoder encoder,
                                                                      DCMetalSize threadgroups,
                                                                      DCMetalSize threads_per_threadgroup,
                                                                      DCMetalError *error);
/* As DispatchThreadgroups, of as many threadgroups as three 32-bit numbers in the buffer say when it runs
 * (MTLDispatchThreadgroupsIndirectArguments). offset is a multiple of 4, and 12 bytes lie behind it. What is in the buffer is not
 * checked: 2^32 threads or more along a dimension are undefined on Apple's systems, and an error on hostmetal. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_DispatchThreadgroupsIndirect(DCMetalComputeEncoder encoder,
                                                                              DCMetalBuffer buffer, uint64_t offset,
                                                                              DCMetalSize threads_per_threadgroup,
                                                                              DCMetalError *error);
/* For memory that kernels reach by addresses in other memory instead of bindings: it is there for the dispatches to come. usage:
 * bits of DCMetalResourceUsage. A heap's buffers can be read so; hazards of untracked memory are the caller's. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_UseBuffer(DCMetalComputeEncoder encoder, DCMetalBuffer buffer,
                                                           uint32_t usage, DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_UseHeap(DCMetalComputeEncoder encoder, DCMetalHeap heap,
                                                         DCMetalError *error);
/* Executes `count` commands from `first` on, 1 at least; those that are none do nothing. The encoder is told of their buffers
 * (`useResource:usage:`). Between the execution and other dispatches of a concurrent encoder the caller puts barriers. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_ExecuteCommands(DCMetalComputeEncoder encoder,
                                                                 DCMetalIndirectCommands commands, uint64_t first,
                                                                 uint64_t count, DCMetalError *error);
/* As ExecuteCommands, of the range that two 32-bit numbers in the buffer, first and count, say when it runs
 * (MTLIndirectCommandBufferExecutionRange). offset is a multiple of 4, and 8 bytes lie behind it. What is in the buffer is not checked: a range
 * that the commands do not have is undefined on Apple's systems, and an error on hostmetal. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_ExecuteCommandsIndirect(DCMetalComputeEncoder encoder,
                                                                         DCMetalIndirectCommands commands,
                                                                         DCMetalBuffer buffer, uint64_t offset,
                                                                         DCMetalError *error);
/* For kernels that write commands: they are there for the dispatches to come. An execution of what these write is another encoder's. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_UseCommands(DCMetalComputeEncoder encoder, DCMetalIndirectCommands commands,
                                                             DCMetalError *error);
/* scope: bits of DCMetalBarrierScope. */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_MemoryBarrier(DCMetalComputeEncoder encoder, uint32_t scope,
                                                               DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_MemoryBarrierWithBuffers(DCMetalComputeEncoder encoder,
                                                                          const DCMetalBuffer *buffers, size_t count,
                                                                          DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_InsertDebugSignpost(DCMetalComputeEncoder encoder, const char *text);
/* The encoder's pass updates the fence at its end; waiting for a fence that it updates itself is DC_METAL_INVALID_STATE (Apple,
 * "Synchronizing passes with a fence": wait first, then update). */
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_UpdateFence(DCMetalComputeEncoder encoder, DCMetalFence fence,
                                                             DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_WaitForFence(DCMetalComputeEncoder encoder, DCMetalFence fence,
                                                              DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalComputeEncoder_EndEncoding(DCMetalComputeEncoder encoder, DCMetalError *error);
DC_METAL_API void DCMetalComputeEncoder_Release(DCMetalComputeEncoder encoder);

/* ------------------------------------------------------------------ DCMetalBlitEncoder (MTLBlitCommandEncoder) */

DC_METAL_API DCMetalStatus DCMetalBlitEncoder_Create(DCMetalCommandBuffer command_buffer, DCMetalBlitEncoder *encoder,
                                                     DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_SetLabel(DCMetalBlitEncoder encoder, const char *label);
/* Both ranges must lie in their buffers; within one buffer they must not overlap. On macOS offsets and length are
 * multiples of 4 (Apple, copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:, fillBuffer:range:value:); this
 * interface asks it everywhere, of copies and fills, and a length above 0. */
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_CopyBuffer(DCMetalBlitEncoder encoder, DCMetalBuffer source,
                                                         uint64_t source_offset, DCMetalBuffer destination,
                                                         uint64_t destination_offset, uint64_t length,
                                                         DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_FillBuffer(DCMetalBlitEncoder encoder, DCMetalBuffer buffer,
                                                         uint64_t offset, uint64_t length, uint8_t value,
                                                         DCMetalError *error);
/* Copies texels: between a buffer, whose rows and images lie so far apart from offset on, and a region, or between regions
 * of textures of one pixel format that do not overlap. Everything is checked as DCMetalTexture_Write does. offset is a
 * multiple of 16, the distances are multiples of the texel's size. */
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_CopyBufferToTexture(DCMetalBlitEncoder encoder, DCMetalBuffer source,
                                                                  uint64_t offset, uint64_t bytes_per_row,
                                                                  uint64_t bytes_per_image, DCMetalSize size,
                                                                  DCMetalTexture destination,
                                                                  const DCMetalTexturePlace *place, DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_CopyTextureToBuffer(DCMetalBlitEncoder encoder, DCMetalTexture source,
                                                                  const DCMetalTexturePlace *place, DCMetalSize size,
                                                                  DCMetalBuffer destination, uint64_t offset,
                                                                  uint64_t bytes_per_row, uint64_t bytes_per_image,
                                                                  DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_CopyTexture(DCMetalBlitEncoder encoder, DCMetalTexture source,
                                                          const DCMetalTexturePlace *from, DCMetalSize size,
                                                          DCMetalTexture destination, const DCMetalTexturePlace *to,
                                                          DCMetalError *error);
/* Makes a managed texture's device copy visible to the CPU; nothing for other storage. */
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_SynchronizeTexture(DCMetalBlitEncoder encoder, DCMetalTexture texture,
                                                                 DCMetalError *error);
/* Makes a managed buffer's device copy visible to the CPU; nothing for other storage. */
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_SynchronizeBuffer(DCMetalBlitEncoder encoder, DCMetalBuffer buffer,
                                                                DCMetalError *error);
/* Makes commands none when the command buffer runs. The host still counts them as set, and keeps what they use. */
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_ResetCommands(DCMetalBlitEncoder encoder, DCMetalIndirectCommands commands,
                                                            uint64_t first, uint64_t count, DCMetalError *error);
/* Copies commands to where none is set (DC_METAL_INVALID_STATE), of the same indirect commands or of others made with an equal
 * descriptor but for the count. A command that has no dispatch yet is DC_METAL_INVALID_STATE too, and so is a destination that another
 * command buffer was given and that has not completed. The host counts the copies as set from this call on, whatever becomes of the
 * command buffer. */
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_CopyCommands(DCMetalBlitEncoder encoder, DCMetalIndirectCommands source,
                                                           uint64_t first, uint64_t count,
                                                           DCMetalIndirectCommands destination, uint64_t index,
                                                           DCMetalError *error);
/* Lets Metal make the commands cheaper to execute; it may find nothing to do. */
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_OptimizeCommands(DCMetalBlitEncoder encoder,
                                                               DCMetalIndirectCommands commands, uint64_t first,
                                                               uint64_t count, DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_UpdateFence(DCMetalBlitEncoder encoder, DCMetalFence fence,
                                                          DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_WaitForFence(DCMetalBlitEncoder encoder, DCMetalFence fence,
                                                           DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalBlitEncoder_EndEncoding(DCMetalBlitEncoder encoder, DCMetalError *error);
DC_METAL_API void DCMetalBlitEncoder_Release(DCMetalBlitEncoder encoder);

#ifdef __cplusplus
}
#endif

#include "DCMetalPerformance.h"

#endif
