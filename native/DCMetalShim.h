// DCMetalShim.h: what the files of the C ABI (native/DCMetal*.mm) share; private to them.
//
// A handle whose Metal object needs nothing beside it (device, queue, buffer, heap, texture, sampler, options, constants,
// function, archive, event, fence) IS that object, retained once. The others point to a structure below, which adds what this interface checks before Metal sees a call.
//
// The source compiles without ARC (Linux and macOS) and with it (macOS). On Linux no C++ exception may pass these files:
// GCC's Objective-C personality does not know them. So nothing here throws one: memory comes from new (std::nothrow).
#ifndef DCMETAL_SHIM_H
#define DCMETAL_SHIM_H

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include "DCMetal.h"
#ifndef __APPLE__
#include "hostmetal/pool.h"
#endif

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace dcmetal {

static_assert(sizeof(NSUInteger) == sizeof(uint64_t), "sizes pass between uint64_t and NSUInteger unchecked");

// ------------------------------------------------------------------ ownership

#if __has_feature(objc_arc)
template <class Object> using Strong = Object;
template <class Object> Object owned(Object object) { return object; }
#else
// An object that is the caller's already.
template <class Object> struct Owned {
  Object object;
};
// A retained object in a structure.
template <class Object> class Strong {
 public:
  Strong() = default;
  Strong(Owned<Object> owned) : object_(owned.object) {}
  Strong(Object object) : object_([object retain]) {}
  Strong(const Strong &) = delete;
  Strong &operator=(const Strong &) = delete;
  ~Strong() { [object_ release]; }
  Strong &operator=(Object object) {
    [object retain];
    [object_ release];
    object_ = object;
    return *this;
  }
  operator Object() const { return object_; }

 private:
  Object object_ = nil;
};
// Balances a new* or Copy* result inside the entry's pool.
template <class Object> Object owned(Object object) { return [object autorelease]; }
#endif

// The Metal type behind a handle that is its object.
template <class Handle> struct ObjectOf;
template <> struct ObjectOf<DCMetalDevice> { using Type = id<MTLDevice>; };
template <> struct ObjectOf<DCMetalQueue> { using Type = id<MTLCommandQueue>; };
template <> struct ObjectOf<DCMetalBuffer> { using Type = id<MTLBuffer>; };
template <> struct ObjectOf<DCMetalTexture> { using Type = id<MTLTexture>; };
template <> struct ObjectOf<DCMetalSampler> { using Type = id<MTLSamplerState>; };
template <> struct ObjectOf<DCMetalCompileOptions> { using Type = MTLCompileOptions *; };
template <> struct ObjectOf<DCMetalConstants> { using Type = MTLFunctionConstantValues *; };
template <> struct ObjectOf<DCMetalFunction> { using Type = id<MTLFunction>; };
template <> struct ObjectOf<DCMetalHeap> { using Type = id<MTLHeap>; };
template <> struct ObjectOf<DCMetalArchive> { using Type = id<MTLBinaryArchive>; };
template <> struct ObjectOf<DCMetalEvent> { using Type = id<MTLEvent>; };
template <> struct ObjectOf<DCMetalSharedEvent> { using Type = id<MTLSharedEvent>; };
template <> struct ObjectOf<DCMetalFence> { using Type = id<MTLFence>; };

template <class Handle> typename ObjectOf<Handle>::Type in(Handle handle) {
  return (__bridge typename ObjectOf<Handle>::Type)(void *)handle;
}
#if __has_feature(objc_arc)
template <class Handle> void give(Handle *handle, typename ObjectOf<Handle>::Type object) {
  *handle = (Handle)(__bridge_retained void *)object;
}
template <class Handle> void take(Handle handle) {
  id object = (__bridge_transfer id)(void *)handle;
  (void)object;
}
#else
template <class Handle> void give(Handle *handle, typename ObjectOf<Handle>::Type object) {
  *handle = (Handle)(void *)[object retain];
}
template <class Handle> void take(Handle handle) { [in(handle) release]; }
#endif

#ifdef __APPLE__
#define DC_POOL @autoreleasepool
#else
#define DC_POOL hostmetal::Pool pool;
#endif

// ------------------------------------------------------------------ text

// The string of a NUL-terminated text; nil when it is not UTF-8.
NSString *text(const char *utf8);
NSString *text(const char *utf8, size_t length);
// Writes what fits of string, cut between characters, and returns the length of the whole.
size_t put(NSString *string, char *buffer, size_t capacity);
size_t put(const char *utf8, size_t length, char *buffer, size_t capacity);

// ------------------------------------------------------------------ errors

// A failed check of this interface: domain "DCMetal", code the status.
DCMetalStatus fail(DCMetalError *error, DCMetalStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
DCMetalStatus null_argument(DCMetalError *error, const char *name);
// Metal's NSError. With nil, says that Metal failed and gave none.
DCMetalStatus fail(DCMetalError *error, NSError *cause);
// Also that no graph was encoded by half.
DCMetalStatus check_uncommitted(DCMetalCommandBuffer command_buffer, DCMetalError *error);
// What was raised: an NSException, or nil for anything else.
DCMetalStatus raised(DCMetalError *error, NSException *exception);

// Runs the body of an entry in a pool and turns what it raises into a status.
template <class Body> DCMetalStatus entry(DCMetalError *error, Body body) {
  if (error) *error = nullptr;
  DC_POOL {
    @try {
      return body();
    } @catch (NSException *exception) {
      return raised(error, exception);
    } @catch (...) {
      return raised(error, nil);
    }
  }
}
// The same for what a program calls several times for each launch. On Linux without a pool of its own, which would cost as much as
// the rest of such a call: the body, and hostmetal's methods behind it, autorelease nothing, whether the call succeeds or
// not (crates/dcmetal-sys/tests/abi/pools.rs). What Metal raises nevertheless, of something that is no object of its own, or without
// memory, is in the caller's pool, or in one of the thread's until it ends.
template <class Body> DCMetalStatus hot_entry(DCMetalError *error, Body body) {
#ifdef __APPLE__
  return entry(error, body);
#else
  if (error) *error = nullptr;
  @try {
    hostmetal::have_pool();
    return body();
  } @catch (NSException *exception) {
    DC_POOL { return raised(error, exception); }
  } @catch (...) {
    DC_POOL { return raised(error, nil); }
  }
#endif
}
template <class Body> void hot_drop(Body body) {
  (void)hot_entry(nullptr, [=] {
    body();
    return DC_METAL_OK;
  });
}
// The same for an entry that answers with a value; `otherwise` is the answer when something is raised.
template <class Value, class Body> Value ask(Value otherwise, Body body) {
  DC_POOL {
    @try {
      return body();
    } @catch (...) {
      return otherwise;
    }
  }
}
// The same for the end of an object; what a destructor raises has nowhere to go.
template <class Body> void drop(Body body) {
  DC_POOL {
    @try {
      body();
    } @catch (...) {
    }
  }
}

// Whether textures and heaps can be of shared storage: Intel's GPUs with unified memory have shared buffers only (Apple,
// MTLResourceOptions.storageModeShared and MTLHeapDescriptor.storageMode).
inline bool shares_all(id<MTLDevice> device) {
  return [device hasUnifiedMemory] && [device supportsFamily:MTLGPUFamilyApple1];
}

// True when [offset, offset + length) lies within size bytes.
inline bool within(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

constexpr size_t kArguments = 31;       // [[buffer(n)]] and [[threadgroup(n)]], n < 31: Metal feature set tables
constexpr size_t kTextures = 128;       // [[texture(n)]]: the same tables
constexpr size_t kSamplers = 16;        // [[sampler(n)]]
constexpr size_t kMaxBytes = 4096;      // setBytes:length:atIndex:
constexpr uint64_t kMaxGrid = UINT32_MAX;  // thread_position_in_grid is at most a uint: MSL specification, 5.2.3.6

// ------------------------------------------------------------------ textures

// What the components of a pixel format, or of a texture argument, are read and written as.
enum class Components : uint8_t { real, integer, natural };
// `real` for a format that this interface does not know.
Components components_of(NSUInteger pixel_format);
// Whether a region is inside the texture.
DCMetalStatus check_place(id<MTLTexture> texture, const DCMetalTexturePlace &place, DCMetalSize size, DCMetalError *error);
// Whether the region's rows and images, so far apart, are within length bytes. The texture is of this interface.
DCMetalStatus check_rows(id<MTLTexture> texture, DCMetalSize size, uint64_t length, uint64_t bytes_per_row,
                         uint64_t bytes_per_image, DCMetalError *error);

// ------------------------------------------------------------------ pipelines

// A descriptor of the function's pipeline, or why there is none. options may be NULL.
DCMetalStatus describe_pipeline(id<MTLDevice> device, DCMetalFunction function, const DCMetalPipelineOptions *options,
                                MTLComputePipelineDescriptor *__strong *descriptor, DCMetalError *error);

// What a dispatch is checked for of a texture argument, and of what is bound.
struct TextureNeed {
  uint8_t index = 0;
  uint8_t type = 0;  // MTLTextureType
  Components components = Components::real;
  uint8_t usage = 0;  // MTLTextureUsage
};

}  // namespace dcmetal

// ------------------------------------------------------------------ handles that are structures

struct DCMetalError_s {
  struct Encoder {
    char *label;
    size_t length;
    DCMetalEncoderState state;
  };
  char *domain = nullptr;
  size_t domain_length = 0;
  char *message = nullptr;
  size_t message_length = 0;
  int64_t code = 0;
  Encoder *encoders = nullptr;
  size_t encoder_count = 0;
};

struct DCMetalLibrary_s {
  DCMetalLibrary_s(id<MTLLibrary> library, NSArray<NSString *> *sorted) : object(library), names(sorted) {}
  dcmetal::Strong<id<MTLLibrary>> object;
  dcmetal::Strong<NSArray<NSString *> *> names;  // sorted
};

// Held by its handle and by the encoders whose current pipeline it is.
struct DCMetalPipeline_s {
  DCMetalPipeline_s(id<MTLComputePipelineState> state, NSArray<id<MTLBinding>> *arguments, NSString *function)
      : object(state), bindings(arguments), name(function), utf8_name(function ? strdup([function UTF8String]) : nullptr) {}
  DCMetalPipeline_s(const DCMetalPipeline_s &) = delete;
  DCMetalPipeline_s &operator=(const DCMetalPipeline_s &) = delete;
  ~DCMetalPipeline_s() { free(utf8_name); }
  dcmetal::Strong<id<MTLComputePipelineState>> object;
  dcmetal::Strong<NSArray<id<MTLBinding>> *> bindings;
  dcmetal::Strong<NSString *> name;  // the function's
  char *const utf8_name;             // the same; NULL without memory
  std::atomic<uint32_t> references{1};
  uint64_t registry_id = 0;
  uint64_t max_total_threads = 0, execution_width = 0;
  uint64_t static_memory = 0, max_memory = 0;  // of a threadgroup
  MTLSize max_threads = {0, 0, 0};
  MTLSize required_threads = {0, 0, 0};  // zeros for any
  bool whole_simdgroups = false;
  bool indirect = false;                    // it was made for indirect commands
  uint32_t buffers = 0, memories = 0;       // bit n: the function uses [[buffer(n)]], [[threadgroup(n)]]
  uint32_t written = 0;                     // bit n: it may write [[buffer(n)]]
  uint64_t least[dcmetal::kArguments] = {};  // bytes that buffer n must have
  uint32_t unaligned[dcmetal::kArguments] = {};  // bits that its offset must not have
  uint32_t samplers = 0;                     // bit n: the function uses [[sampler(n)]]
  size_t texture_count = 0;
  dcmetal::TextureNeed textures[dcmetal::kTextures];
  bool unknown = false;  // it uses arguments that this interface cannot bind
};

// Held by its handle and by the command buffers that use it.
struct DCMetalIndirectCommands_s {
  struct Command {
    DCMetalPipeline pipeline = nullptr;
    DCMetalSize threadgroup = {0, 0, 0};
    bool begun = false;  // something is set
    bool whole = false;  // and its dispatch
  };
  struct Binding {
    dcmetal::Strong<id<MTLBuffer>> buffer;
    uint64_t room = 0;  // bytes from the offset to the end; 0: nothing is set
  };
  DCMetalIndirectCommands_s(id<MTLIndirectCommandBuffer> indirect, const DCMetalIndirectDescriptor &descriptor)
      : object(indirect), limits(descriptor) {}
  ~DCMetalIndirectCommands_s();
  dcmetal::Strong<id<MTLIndirectCommandBuffer>> object;
  const DCMetalIndirectDescriptor limits;
  std::atomic<uint32_t> references{1};
  std::atomic<uint32_t> uses{0};  // command buffers that were given it and have not completed
  uint64_t registry_id = 0;
  uint64_t max_memory = 0;       // threadgroup memory of the device
  Command *commands = nullptr;   // limits.count
  Binding *bindings = nullptr;   // limits.buffers of each command
  uint64_t *memories = nullptr;  // limits.memories of each command
  // What the whole commands use; read and written are made when they are needed.
  bool changed = true;
  dcmetal::Strong<NSArray *> read, written;
};

namespace dcmetal {
// The indirect commands that a command buffer was given, each once: held by the command buffer's handle and by its completion.
struct IndirectUses {
  struct Use {
    DCMetalIndirectCommands commands;
    Use *next;
  };
  std::atomic<uint32_t> references{1};
  std::atomic<bool> ended{false}, done{false};  // done: the uses no longer count
  Use *first = nullptr;
  IndirectUses() = default;
  IndirectUses(const IndirectUses &) = delete;
  IndirectUses &operator=(const IndirectUses &) = delete;
  ~IndirectUses();
  // The device is done with them, or will never begin.
  void end();
};
}  // namespace dcmetal

// Held by its handle and by its encoders' handles.
struct DCMetalCommandBuffer_s {
  template <class Object> explicit DCMetalCommandBuffer_s(Object command_buffer) : object(command_buffer) {}
  ~DCMetalCommandBuffer_s();
  dcmetal::Strong<id<MTLCommandBuffer>> object;
  std::atomic<uint32_t> references{1};
  std::atomic<bool> committed{false};  // read by any thread that waits
  bool enqueued = false;
  bool encoding = false;  // an encoder is open
  bool broken = false;    // a graph was encoded by half
  dcmetal::IndirectUses *indirect = nullptr;  // NULL before the first
};

struct DCMetalComputeEncoder_s {
  DCMetalComputeEncoder_s(id<MTLComputeCommandEncoder> encoder, DCMetalCommandBuffer parent)
      : object(encoder), command_buffer(parent) {}
  DCMetalComputeEncoder_s(const DCMetalComputeEncoder_s &) = delete;
  DCMetalComputeEncoder_s &operator=(const DCMetalComputeEncoder_s &) = delete;
  ~DCMetalComputeEncoder_s() { delete[] textures; }
  dcmetal::Strong<id<MTLComputeCommandEncoder>> object;
  DCMetalCommandBuffer command_buffer;
  DCMetalPipeline pipeline = nullptr;
  bool ended = false;
  uint64_t registry_id = 0;      // of the device
  uint64_t max_memory = 0;       // threadgroup memory of the device
  uint32_t bound = 0;            // bit n: something is bound at n
  uint64_t length[dcmetal::kArguments] = {};  // of the buffer bound at n; 0 for bytes
  uint64_t room[dcmetal::kArguments] = {};    // bytes from the offset to the end
  uint64_t memory[dcmetal::kArguments] = {};  // threadgroup memory at n
  dcmetal::TextureNeed *textures = nullptr;  // what is bound at n, of kTextures; usage 0: nothing; NULL before the first
  uint32_t samplers = 0;                     // bit n: one is bound
  dcmetal::Strong<NSMutableArray *> updated;          // fences; nil before the first
};

struct DCMetalBlitEncoder_s {
  DCMetalBlitEncoder_s(id<MTLBlitCommandEncoder> encoder, DCMetalCommandBuffer parent)
      : object(encoder), command_buffer(parent) {}
  dcmetal::Strong<id<MTLBlitCommandEncoder>> object;
  DCMetalCommandBuffer command_buffer;
  bool ended = false;
  uint64_t registry_id = 0;
  dcmetal::Strong<NSMutableArray *> updated;  // fences; nil before the first
};

namespace dcmetal {

// One more reference to a counted structure, and one less.
template <class Handle> Handle share(Handle handle) {
  handle->references.fetch_add(1, std::memory_order_relaxed);
  return handle;
}
template <class Handle> void unshare(Handle handle) {
  if (handle && handle->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete handle;
}

// A counted object that a block keeps: copied and destroyed with it.
template <class Handle> class Kept {
 public:
  // Takes over the caller's count.
  explicit Kept(Handle handle) : handle_(handle) {}
  Kept(const Kept &other) : handle_(share(other.handle_)) {}
  Kept &operator=(const Kept &) = delete;
  ~Kept() { unshare(handle_); }
  Handle get() const { return handle_; }

 private:
  Handle handle_;
};

// ------------------------------------------------------------------ dispatches

inline MTLSize metal_size(DCMetalSize size) { return MTLSizeMake(size.width, size.height, size.depth); }
// Whether the pipeline can have threadgroups of this size.
DCMetalStatus check_threadgroup(DCMetalPipeline pipeline, DCMetalSize size, DCMetalError *error);
// In threads along each dimension; `unit` is 1 for a grid given in threads, else the threadgroup's size, which has no zeros.
DCMetalStatus check_grid(DCMetalSize grid, DCMetalSize unit, DCMetalError *error);
DCMetalStatus argument_missing(DCMetalPipeline pipeline, MTLBindingType type, size_t index, DCMetalError *error);
DCMetalStatus argument_small(DCMetalPipeline pipeline, size_t index, uint64_t room, DCMetalError *error);
DCMetalStatus argument_unaligned(DCMetalPipeline pipeline, size_t index, uint64_t offset, DCMetalError *error);
DCMetalStatus memory_large(DCMetalPipeline pipeline, uint64_t memory, DCMetalError *error);
DCMetalStatus check_memory_length(uint64_t length, uint64_t most, DCMetalError *error);
DCMetalStatus check_offset(uint64_t offset, uint64_t length, DCMetalError *error);
DCMetalStatus check_buffer(DCMetalBuffer buffer, uint64_t registry_id, const char *name, DCMetalError *error);
// Whether a kernel of Metal Performance Shaders may make its pass now.
DCMetalStatus check_moment(DCMetalCommandBuffer command_buffer, uint64_t registry_id, DCMetalError *error);
// Where bytes of a buffer are. Buffers of one part of the caller's memory, or of one placement heap, lie over each other.
struct Place {
  const void *from;  // null for addresses that the CPU has
  uint64_t bytes;
};
Place place_of(DCMetalBuffer buffer, uint64_t offset);

template <class Handle> DCMetalStatus usable(Handle encoder, DCMetalError *error) {
  if (!encoder) return null_argument(error, "encoder");
  if (encoder->ended) return fail(error, DC_METAL_INVALID_STATE, "the encoder has ended");
  return DC_METAL_OK;
}

}  // namespace dcmetal

#endif
