// A C++11 program against an installed DCMetal: handles in unique_ptr, a reduction by threadgroups, compile errors as exceptions.
#include <DCMetal.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

template <class Handle, void (*Release)(Handle)> struct Releaser {
  using pointer = Handle;
  void operator()(Handle handle) const { Release(handle); }
};
template <class Handle, void (*Release)(Handle)>
using Owned = std::unique_ptr<typename std::remove_pointer<Handle>::type, Releaser<Handle, Release>>;

using Error = Owned<DCMetalError, DCMetalError_Release>;
using Device = Owned<DCMetalDevice, DCMetalDevice_Release>;
using Queue = Owned<DCMetalQueue, DCMetalQueue_Release>;
using Buffer = Owned<DCMetalBuffer, DCMetalBuffer_Release>;
using Library = Owned<DCMetalLibrary, DCMetalLibrary_Release>;
using Function = Owned<DCMetalFunction, DCMetalFunction_Release>;
using Pipeline = Owned<DCMetalPipeline, DCMetalPipeline_Release>;
using CommandBuffer = Owned<DCMetalCommandBuffer, DCMetalCommandBuffer_Release>;
using ComputeEncoder = Owned<DCMetalComputeEncoder, DCMetalComputeEncoder_Release>;

void check(DCMetalStatus status, DCMetalError raw) {
  Error error(raw);
  if (status == DC_METAL_OK) return;
  std::string message(DCMetalError_GetMessage(error.get(), nullptr, 0) + 1, '\0');
  DCMetalError_GetMessage(error.get(), &message[0], message.size());
  throw std::runtime_error(message);
}

// Calls a function whose last two parameters are the handle made and the error.
template <class Owner, class Call> Owner make(Call call) {
  typename Owner::pointer handle = nullptr;
  DCMetalError error = nullptr;
  DCMetalStatus status = call(&handle, &error);
  Owner owner(handle);
  check(status, error);
  return owner;
}

const char *const kSource = R"msl(
#include <metal_stdlib>
using namespace metal;
kernel void sum(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],
                threadgroup uint *part [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                uint l [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]],
                uint g [[threadgroup_position_in_grid]]) {
  part[l] = in[i];
  for (uint half_of = n / 2; half_of > 0; half_of /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (l < half_of) part[l] += part[l + half_of];
  }
  if (l == 0) out[g] = part[0];
}
)msl";

Library compile(DCMetalDevice device, const std::string &source) {
  return make<Library>([&](DCMetalLibrary *out, DCMetalError *error) {
    return DCMetalLibrary_CreateWithSource(device, source.data(), source.size(), nullptr, out, error);
  });
}

void run() {
  const uint64_t groups = 16, size = 64;
  Device device = make<Device>(DCMetalDevice_CreateSystemDefault);
  try {
    compile(device.get(), "kernel void broken( {");
    throw std::logic_error("a broken kernel compiled");
  } catch (const std::runtime_error &error) {
    if (std::string(error.what()).find("error") == std::string::npos) throw;
  }
  Library library = compile(device.get(), kSource);
  Function function = make<Function>([&](DCMetalFunction *out, DCMetalError *error) {
    return DCMetalFunction_Create(library.get(), "sum", nullptr, out, error);
  });
  Pipeline pipeline = make<Pipeline>([&](DCMetalPipeline *out, DCMetalError *error) {
    return DCMetalPipeline_Create(device.get(), function.get(), nullptr, out, error);
  });
  Queue queue = make<Queue>(
      [&](DCMetalQueue *out, DCMetalError *error) { return DCMetalQueue_Create(device.get(), 0, out, error); });

  std::vector<uint32_t> values(groups * size);
  std::iota(values.begin(), values.end(), 1u);
  Buffer in = make<Buffer>([&](DCMetalBuffer *out, DCMetalError *error) {
    return DCMetalBuffer_CreateWithBytes(device.get(), values.data(), values.size() * sizeof(uint32_t),
                                         DC_METAL_STORAGE_SHARED, out, error);
  });
  Buffer sums = make<Buffer>([&](DCMetalBuffer *out, DCMetalError *error) {
    return DCMetalBuffer_Create(device.get(), groups * sizeof(uint32_t), DC_METAL_STORAGE_SHARED, DC_METAL_CACHE_DEFAULT,
                                out, error);
  });
  CommandBuffer command_buffer = make<CommandBuffer>([&](DCMetalCommandBuffer *out, DCMetalError *error) {
    return DCMetalCommandBuffer_Create(queue.get(), nullptr, out, error);
  });
  ComputeEncoder encoder = make<ComputeEncoder>([&](DCMetalComputeEncoder *out, DCMetalError *error) {
    return DCMetalComputeEncoder_Create(command_buffer.get(), DC_METAL_DISPATCH_SERIAL, out, error);
  });
  DCMetalError error = nullptr;
  check(DCMetalComputeEncoder_SetPipeline(encoder.get(), pipeline.get(), &error), error);
  check(DCMetalComputeEncoder_SetBuffer(encoder.get(), in.get(), 0, 0, &error), error);
  check(DCMetalComputeEncoder_SetBuffer(encoder.get(), sums.get(), 0, 1, &error), error);
  check(DCMetalComputeEncoder_SetThreadgroupMemoryLength(encoder.get(), size * sizeof(uint32_t), 0, &error), error);
  check(DCMetalComputeEncoder_DispatchThreadgroups(encoder.get(), DCMetalSize{groups, 1, 1}, DCMetalSize{size, 1, 1},
                                                   &error),
        error);
  check(DCMetalComputeEncoder_EndEncoding(encoder.get(), &error), error);
  check(DCMetalCommandBuffer_Commit(command_buffer.get(), &error), error);
  check(DCMetalCommandBuffer_WaitUntilCompleted(command_buffer.get(), &error), error);

  const uint32_t *result = static_cast<const uint32_t *>(DCMetalBuffer_GetContents(sums.get()));
  for (uint64_t group = 0; group < groups; group++) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(group * size);
    if (result[group] != std::accumulate(first, first + static_cast<std::ptrdiff_t>(size), 0u)) {
      throw std::logic_error("sum " + std::to_string(group) + " is " + std::to_string(result[group]));
    }
  }
  std::printf("%d sums are right\n", static_cast<int>(groups));
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
