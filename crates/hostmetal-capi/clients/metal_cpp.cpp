// A Metal program with Apple's metal-cpp: squares an array, by a kernel and by a visible function of what a stage-in descriptor reads.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>

#include <cstdio>
#include <cstring>

static const char *const source = R"(
#include <metal_stdlib>
using namespace metal;
kernel void square(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                   constant float &scale [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  out[i] = scale * in[i] * in[i];
}
struct Element { float value [[attribute(3)]]; };
[[visible]] float twice_squared(float x) { return 2 * x * x; }
kernel void through(Element in [[stage_in]], device float *out [[buffer(1)]],
                    visible_function_table<float(float)> functions [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  out[i] = functions[1](in.value);
}
)";

constexpr NS::UInteger count = 777;

// How many of the squares of `in` are right, made by a call through a table.
static NS::UInteger through(MTL::Device *device, MTL::Library *library, MTL::CommandQueue *queue, MTL::Buffer *in) {
  NS::Error *error = nullptr;
  NS::SharedPtr<MTL::Function> kernel = NS::TransferPtr(library->newFunction(MTLSTR("through")));
  NS::SharedPtr<MTL::Function> function = NS::TransferPtr(library->newFunction(MTLSTR("twice_squared")));
  NS::SharedPtr<MTL::ComputePipelineDescriptor> descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  descriptor->setComputeFunction(kernel.get());
  MTL::StageInputOutputDescriptor *stage = MTL::StageInputOutputDescriptor::stageInputOutputDescriptor();
  stage->attributes()->object(3)->setFormat(MTL::AttributeFormatFloat);
  stage->layouts()->object(0)->setStride(sizeof(float));
  stage->layouts()->object(0)->setStepFunction(MTL::StepFunctionThreadPositionInGridX);
  descriptor->setStageInputDescriptor(stage);
  NS::SharedPtr<MTL::LinkedFunctions> linked = NS::TransferPtr(MTL::LinkedFunctions::alloc()->init());
  linked->setFunctions(NS::Array::array(function.get()));
  descriptor->setLinkedFunctions(linked.get());
  NS::SharedPtr<MTL::ComputePipelineState> pipeline =
      NS::TransferPtr(device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
  if (!pipeline) {
    fprintf(stderr, "%s\n", error->localizedDescription()->utf8String());
    return 0;
  }
  NS::SharedPtr<MTL::VisibleFunctionTableDescriptor> places =
      NS::TransferPtr(MTL::VisibleFunctionTableDescriptor::alloc()->init());
  places->setFunctionCount(2);
  NS::SharedPtr<MTL::VisibleFunctionTable> table = NS::TransferPtr(pipeline->newVisibleFunctionTable(places.get()));
  table->setFunction(pipeline->functionHandle(function.get()), 1);
  NS::SharedPtr<MTL::Buffer> out = NS::TransferPtr(device->newBuffer(count * sizeof(float), MTL::ResourceStorageModeShared));
  MTL::CommandBuffer *commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline.get());
  encoder->setBuffer(in, 0, 0);
  encoder->setBuffer(out.get(), 0, 1);
  encoder->setVisibleFunctionTable(table.get(), 2);
  encoder->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(64, 1, 1));
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  NS::UInteger right = 0;
  for (NS::UInteger i = 0; i < count; i++)
    right += static_cast<float *>(out->contents())[i] == 2 * static_cast<float>(i) * static_cast<float>(i);
  return right;
}

int main() {
  NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  // Those headers have it for macOS only.
  NS::Object *observer = nullptr;
  NS::SharedPtr<NS::Array> devices =
      NS::TransferPtr(MTL::CopyAllDevicesWithObserver(&observer, ^(MTL::Device *, MTL::DeviceNotificationName) {}));
  if (!devices || devices->object(0) != device.get() || !observer) {
    fprintf(stderr, "the devices cannot be observed\n");
    return 1;
  }
  MTL::RemoveDeviceObserver(observer);
  observer->release();
  NS::Error *error = nullptr;
  NS::SharedPtr<MTL::CompileOptions> options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());

  // What does not compile says why.
  if (device->newLibrary(MTLSTR("kernel void f() { wrong; }"), options.get(), &error) || !error ||
      !strstr(error->localizedDescription()->utf8String(), "wrong")) {
    fprintf(stderr, "a wrong kernel compiled\n");
    return 1;
  }

  NS::SharedPtr<MTL::Library> library =
      NS::TransferPtr(device->newLibrary(NS::String::string(source, NS::UTF8StringEncoding), options.get(), &error));
  if (!library) {
    fprintf(stderr, "%s\n", error->localizedDescription()->utf8String());
    return 1;
  }
  NS::SharedPtr<MTL::Function> function = NS::TransferPtr(library->newFunction(MTLSTR("square")));
  NS::SharedPtr<MTL::ComputePipelineState> pipeline =
      NS::TransferPtr(device->newComputePipelineState(function.get(), &error));

  NS::SharedPtr<MTL::Buffer> in = NS::TransferPtr(device->newBuffer(count * sizeof(float), MTL::ResourceStorageModeShared));
  NS::SharedPtr<MTL::Buffer> out = NS::TransferPtr(device->newBuffer(count * sizeof(float), MTL::ResourceStorageModeShared));
  for (NS::UInteger i = 0; i < count; i++) static_cast<float *>(in->contents())[i] = static_cast<float>(i);

  NS::SharedPtr<MTL::CommandQueue> queue = NS::TransferPtr(device->newCommandQueue());
  MTL::CommandBuffer *commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  const float scale = 2;
  encoder->setComputePipelineState(pipeline.get());
  encoder->setBuffer(in.get(), 0, 0);
  encoder->setBuffer(out.get(), 0, 1);
  encoder->setBytes(&scale, sizeof scale, 2);
  encoder->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(64, 1, 1));
  encoder->endEncoding();
  bool completed = false;
  commands->addCompletedHandler([&](MTL::CommandBuffer *of) { completed = of->status() == MTL::CommandBufferStatusCompleted; });
  commands->commit();
  commands->waitUntilCompleted();

  NS::UInteger right = 0;
  for (NS::UInteger i = 0; i < count; i++)
    right += static_cast<float *>(out->contents())[i] == 2 * static_cast<float>(i) * static_cast<float>(i);
  const bool again = through(device.get(), library.get(), queue.get(), in.get()) == count;
  // A structure in memory, and one through a message that answers with floats.
  const MTL::Size most = device->maxThreadsPerThreadgroup();
  const bool timed = commands->GPUEndTime() >= commands->GPUStartTime() && commands->GPUStartTime() > 0;
  printf("%s: %lu of %lu squares are right, %s, %lu threads at most%s%s\n", device->name()->utf8String(), right, count,
         completed ? "completed" : "not completed", most.width, timed ? "" : ", without times",
         again ? "" : ", not through a table");
  return right == count && completed && timed && again ? 0 : 1;
}
