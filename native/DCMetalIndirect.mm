// DCMetalIndirect.mm: the C ABI over MTLIndirectCommandBuffer.
//
// Metal keeps nothing that commands use, and on macOS checks none of it. So the handle keeps pipelines and buffers by command, a
// command is whole and unchangeable from its dispatch to its reset, and nothing changes while a command buffer may read it.

#include "DCMetalShim.h"

#include <memory>
#include <sched.h>

using namespace dcmetal;

typedef unsigned long long ull;  // for printf

using Command = DCMetalIndirectCommands_s::Command;
using Binding = DCMetalIndirectCommands_s::Binding;

constexpr uint64_t kMaxCommands = 16384;  // executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:, GPUs of the Mac2 family

// ------------------------------------------------------------------ lifetimes

static void forget(DCMetalIndirectCommands commands, uint64_t index) {
  Command &command = commands->commands[index];
  unshare(command.pipeline);
  command = Command();
  for (uint64_t slot = 0; slot < commands->limits.buffers; slot++) {
    Binding &binding = commands->bindings[index * commands->limits.buffers + slot];
    binding.buffer = nil;
    binding.room = 0;
  }
  for (uint64_t slot = 0; slot < commands->limits.memories; slot++) {
    commands->memories[index * commands->limits.memories + slot] = 0;
  }
  commands->changed = true;
  commands->read = nil;
  commands->written = nil;
}

DCMetalIndirectCommands_s::~DCMetalIndirectCommands_s() {
  for (uint64_t index = 0; commands && index < limits.count; index++) unshare(commands[index].pipeline);
  delete[] commands;
  delete[] bindings;
  delete[] memories;
}

static void release(IndirectUses *uses) {
  while (uses->first) {
    IndirectUses::Use *use = uses->first;
    uses->first = use->next;
    unshare(use->commands);
    delete use;
  }
}

IndirectUses::~IndirectUses() { release(this); }

// Called by Metal's handler and by whoever has waited: both find the uses ended when it returns.
void IndirectUses::end() {
  if (ended.exchange(true)) {
    while (!done.load(std::memory_order_acquire)) sched_yield();  // another thread is at a few subtractions
    return;
  }
  for (Use *use = first; use; use = use->next) use->commands->uses.fetch_sub(1, std::memory_order_release);
  done.store(true, std::memory_order_release);
  // Behind it, for a buffer's deallocator may be called here and may wait for another command buffer.
  release(this);
}

// Notes that a command buffer, which is not committed, needs the commands until it has completed.
static DCMetalStatus begin_use(DCMetalCommandBuffer command_buffer, DCMetalIndirectCommands commands, DCMetalError *error) {
  if (!command_buffer->indirect) command_buffer->indirect = new (std::nothrow) IndirectUses();
  IndirectUses *uses = command_buffer->indirect;
  for (IndirectUses::Use *use = uses ? uses->first : nullptr; use; use = use->next) {
    if (use->commands == commands) return DC_METAL_OK;
  }
  IndirectUses::Use *use = uses ? new (std::nothrow) IndirectUses::Use{commands, uses->first} : nullptr;
  if (!use) return fail(error, DC_METAL_OUT_OF_MEMORY, "no memory for a use of indirect commands");
  share(commands)->uses.fetch_add(1, std::memory_order_relaxed);
  uses->first = use;
  return DC_METAL_OK;
}

// ------------------------------------------------------------------ creation

static DCMetalStatus check(id<MTLDevice> device, const DCMetalIndirectDescriptor &wanted, DCMetalError *error) {
  if (![device supportsFamily:MTLGPUFamilyCommon2]) {
    return fail(error, DC_METAL_UNSUPPORTED, "the device has no indirect compute commands (MTLGPUFamilyCommon2)");
  }
  if (wanted.count == 0 || wanted.count > kMaxCommands) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%llu commands: 1 to %llu are possible", (ull)wanted.count, (ull)kMaxCommands);
  }
  if (wanted.types == 0 || (wanted.types & ~(DC_METAL_INDIRECT_THREADGROUPS | DC_METAL_INDIRECT_THREADS)) != 0) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no set of types of commands", wanted.types);
  }
  if (wanted.buffers > kArguments || wanted.memories > kArguments) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%u buffers and %u threadgroup memories: each has at most %zu indices",
                wanted.buffers, wanted.memories, kArguments);
  }
  return DC_METAL_OK;
}

static MTLIndirectCommandBufferDescriptor *describe(const DCMetalIndirectDescriptor &wanted) {
  MTLIndirectCommandBufferDescriptor *made = owned([[MTLIndirectCommandBufferDescriptor alloc] init]);
  [made setCommandTypes:(MTLIndirectCommandType)wanted.types];
  [made setInheritPipelineState:wanted.inherit_pipeline];
  [made setInheritBuffers:wanted.inherit_buffers];
  [made setMaxKernelBufferBindCount:wanted.buffers];
  if (@available(macOS 14.0, *)) [made setMaxKernelThreadgroupMemoryBindCount:wanted.memories];
  return made;
}

DCMetalStatus DCMetalIndirectCommands_Create(DCMetalDevice device, const DCMetalIndirectDescriptor *descriptor,
                                             DCMetalIndirectCommands *commands, DCMetalError *error) {
  if (commands) *commands = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!descriptor) return null_argument(error, "descriptor");
    if (!commands) return null_argument(error, "commands");
    DCMetalStatus status = check(in(device), *descriptor, error);
    if (status != DC_METAL_OK) return status;
    id<MTLIndirectCommandBuffer> object =
        owned([in(device) newIndirectCommandBufferWithDescriptor:describe(*descriptor)
                                                 maxCommandCount:descriptor->count
                                                         options:MTLResourceStorageModeShared]);
    if (!object) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no %llu indirect commands", (ull)descriptor->count);
    std::unique_ptr<DCMetalIndirectCommands_s> made(new (std::nothrow) DCMetalIndirectCommands_s(object, *descriptor));
    if (made) {
      uint64_t count = descriptor->count;
      made->registry_id = [in(device) registryID];
      made->max_memory = [in(device) maxThreadgroupMemoryLength];
      made->commands = new (std::nothrow) Command[count];
      made->bindings = new (std::nothrow) Binding[count * descriptor->buffers];
      made->memories = new (std::nothrow) uint64_t[count * descriptor->memories]();
    }
    if (!made || !made->commands || !made->bindings || !made->memories) {
      return fail(error, DC_METAL_OUT_OF_MEMORY, "no memory for the handle of indirect commands");
    }
    // What memory holds at first Metal does not say.
    [object resetWithRange:NSMakeRange(0, descriptor->count)];
    *commands = made.release();
    return DC_METAL_OK;
  });
}

uint64_t DCMetalIndirectCommands_GetCount(DCMetalIndirectCommands commands) { return commands ? commands->limits.count : 0; }

uint64_t DCMetalIndirectCommands_GetResourceID(DCMetalIndirectCommands commands) {
  return ask(uint64_t(0), [=]() -> uint64_t {
    if (@available(macOS 13.0, *)) return commands ? [commands->object gpuResourceID]._impl : 0;
    return 0;
  });
}

DCMetalStatus DCMetalIndirectCommands_SetLabel(DCMetalIndirectCommands commands, const char *label) {
  return entry(nullptr, [=] {
    NSString *string = label ? text(label) : nil;
    if (!commands || (label && !string)) return DC_METAL_INVALID_ARGUMENT;
    [commands->object setLabel:string];
    return DC_METAL_OK;
  });
}

void DCMetalIndirectCommands_Release(DCMetalIndirectCommands commands) {
  drop([=] { unshare(commands); });
}

// ------------------------------------------------------------------ commands

static DCMetalStatus check_range(DCMetalIndirectCommands commands, uint64_t first, uint64_t count, DCMetalError *error) {
  if (!commands) return null_argument(error, "commands");
  if (count > 0 && within(first, count, commands->limits.count)) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT, "%llu commands from %llu on of %llu", (ull)count, (ull)first,
              (ull)commands->limits.count);
}

// The use by the command buffer `own` does not count: its encoders run in the order in which they were recorded.
static DCMetalStatus check_unused(DCMetalIndirectCommands commands, DCMetalError *error, DCMetalCommandBuffer own = nullptr) {
  uint32_t mine = 0;
  for (IndirectUses::Use *use = own && own->indirect ? own->indirect->first : nullptr; use; use = use->next) {
    if (use->commands == commands) mine = 1;
  }
  if (commands->uses.load(std::memory_order_acquire) == mine) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_STATE, "a command buffer that was given the commands has not completed");
}

// Whether something of a command may be set now.
static DCMetalStatus settable(DCMetalIndirectCommands commands, uint64_t index, DCMetalError *error) {
  DCMetalStatus status = check_range(commands, index, 1, error);
  if (status == DC_METAL_OK) status = check_unused(commands, error);
  if (status != DC_METAL_OK || !commands->commands[index].whole) return status;
  return fail(error, DC_METAL_INVALID_STATE, "command %llu has its dispatch: reset it first", (ull)index);
}

static DCMetalStatus check_slot(size_t slot, uint32_t count, DCMetalError *error) {
  if (slot < count) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT, "index %zu is not below the descriptor's %u", slot, count);
}

static id<MTLIndirectComputeCommand> at(DCMetalIndirectCommands commands, uint64_t index) {
  return [commands->object indirectComputeCommandAtIndex:index];
}

// Whether commands can have the pipeline.
static DCMetalStatus check_pipeline(DCMetalPipeline pipeline, DCMetalError *error) {
  const char *name = pipeline->utf8_name;
  if (!pipeline->indirect) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "the pipeline of kernel \"%s\" was made without indirect_commands", name);
  }
  if (pipeline->texture_count > 0 || pipeline->samplers != 0 || pipeline->unknown) {
    return fail(error, DC_METAL_UNSUPPORTED, "kernel \"%s\" has arguments that a command cannot set: only buffers and threadgroup memory",
                name);
  }
  return DC_METAL_OK;
}

DCMetalStatus DCMetalIndirectCommands_SetPipeline(DCMetalIndirectCommands commands, uint64_t index,
                                                  DCMetalPipeline pipeline, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = settable(commands, index, error);
    if (status != DC_METAL_OK) return status;
    if (!pipeline) return null_argument(error, "pipeline");
    if (commands->limits.inherit_pipeline) return fail(error, DC_METAL_INVALID_STATE, "the commands inherit the pipeline");
    if (pipeline->registry_id != commands->registry_id) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "the pipeline is another device's");
    }
    status = check_pipeline(pipeline, error);
    if (status != DC_METAL_OK) return status;
    [at(commands, index) setComputePipelineState:pipeline->object];
    Command &command = commands->commands[index];
    DCMetalPipeline before = command.pipeline;
    command.pipeline = share(pipeline);
    command.begun = true;
    unshare(before);
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalIndirectCommands_SetBuffer(DCMetalIndirectCommands commands, uint64_t index, DCMetalBuffer buffer,
                                                uint64_t offset, size_t slot, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = settable(commands, index, error);
    if (status != DC_METAL_OK) return status;
    if (commands->limits.inherit_buffers) return fail(error, DC_METAL_INVALID_STATE, "the commands inherit the buffers");
    status = check_slot(slot, commands->limits.buffers, error);
    if (status == DC_METAL_OK) status = check_buffer(buffer, commands->registry_id, "buffer", error);
    if (status != DC_METAL_OK) return status;
    uint64_t length = [in(buffer) length];
    status = check_offset(offset, length, error);
    if (status != DC_METAL_OK) return status;
    [at(commands, index) setKernelBuffer:in(buffer) offset:offset atIndex:slot];
    Binding &binding = commands->bindings[index * commands->limits.buffers + slot];
    binding.buffer = in(buffer);
    binding.room = length - offset;
    commands->commands[index].begun = true;
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalIndirectCommands_SetThreadgroupMemoryLength(DCMetalIndirectCommands commands, uint64_t index,
                                                                 uint64_t length, size_t slot, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = settable(commands, index, error);
    if (status == DC_METAL_OK) status = check_slot(slot, commands->limits.memories, error);
    if (status == DC_METAL_OK) status = check_memory_length(length, commands->max_memory, error);
    if (status != DC_METAL_OK) return status;
    [at(commands, index) setThreadgroupMemoryLength:length atIndex:slot];
    commands->memories[index * commands->limits.memories + slot] = length;
    commands->commands[index].begun = true;
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalIndirectCommands_SetBarrier(DCMetalIndirectCommands commands, uint64_t index, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = settable(commands, index, error);
    if (status != DC_METAL_OK) return status;
    [at(commands, index) setBarrier];
    commands->commands[index].begun = true;
    return DC_METAL_OK;
  });
}

// What a command gives its kernel, of the arguments that it does not inherit or, with an encoder, of those that it does.
static DCMetalStatus check_arguments(DCMetalIndirectCommands commands, uint64_t index, DCMetalPipeline pipeline,
                                     DCMetalComputeEncoder encoder, DCMetalError *error) {
  const DCMetalIndirectDescriptor &limits = commands->limits;
  uint64_t memory = pipeline->static_memory;
  for (size_t slot = 0; slot < kArguments; slot++) {
    uint32_t bit = 1u << slot;
    if ((pipeline->buffers & bit) && (encoder || !limits.inherit_buffers)) {
      uint64_t room = 0, length = 0;
      if (limits.inherit_buffers) {
        room = encoder->room[slot];
        length = encoder->length[slot];
      } else if (slot < limits.buffers) {
        const Binding &binding = commands->bindings[index * limits.buffers + slot];
        room = binding.room;
        length = [binding.buffer length];
      }
      if (room == 0) return argument_missing(pipeline, MTLBindingTypeBuffer, slot, error);
      if (room < pipeline->least[slot]) return argument_small(pipeline, slot, room, error);
      const uint64_t offset = length ? length - room : 0;
      if (offset & pipeline->unaligned[slot]) return argument_unaligned(pipeline, slot, offset, error);
    }
    if (pipeline->memories & bit) {
      uint64_t length = slot < limits.memories ? commands->memories[index * limits.memories + slot] : 0;
      if (length == 0) return argument_missing(pipeline, MTLBindingTypeThreadgroupMemory, slot, error);
      memory += length;  // at most 31 times the device's limit
    }
  }
  return memory <= pipeline->max_memory ? DC_METAL_OK : memory_large(pipeline, memory, error);
}

static DCMetalStatus check_dispatch(DCMetalIndirectCommands commands, uint64_t index, uint32_t type, DCMetalSize grid,
                                    DCMetalSize threadgroup, DCMetalError *error) {
  DCMetalStatus status = settable(commands, index, error);
  if (status != DC_METAL_OK) return status;
  if (!(commands->limits.types & type)) {
    return fail(error, DC_METAL_INVALID_STATE, "the descriptor's types have no such dispatch");
  }
  DCMetalPipeline pipeline = commands->commands[index].pipeline;
  if (!pipeline && !commands->limits.inherit_pipeline) return fail(error, DC_METAL_INVALID_STATE, "no pipeline is set");
  if (threadgroup.width == 0 || threadgroup.height == 0 || threadgroup.depth == 0) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "a threadgroup of %llu x %llu x %llu threads", (ull)threadgroup.width,
                (ull)threadgroup.height, (ull)threadgroup.depth);
  }
  if (pipeline) status = check_threadgroup(pipeline, threadgroup, error);
  DCMetalSize unit = type == DC_METAL_INDIRECT_THREADGROUPS ? threadgroup : DCMetalSize{1, 1, 1};
  if (status == DC_METAL_OK) status = check_grid(grid, unit, error);
  if (status == DC_METAL_OK && pipeline) status = check_arguments(commands, index, pipeline, nullptr, error);
  return status;
}

static void complete(DCMetalIndirectCommands commands, uint64_t index, DCMetalSize threadgroup) {
  Command &command = commands->commands[index];
  command.threadgroup = threadgroup;
  command.begun = command.whole = true;
  commands->changed = true;
}

DCMetalStatus DCMetalIndirectCommands_DispatchThreads(DCMetalIndirectCommands commands, uint64_t index,
                                                      DCMetalSize threads, DCMetalSize threads_per_threadgroup,
                                                      DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status =
        check_dispatch(commands, index, DC_METAL_INDIRECT_THREADS, threads, threads_per_threadgroup, error);
    if (status != DC_METAL_OK) return status;
    [at(commands, index) concurrentDispatchThreads:metal_size(threads)
                             threadsPerThreadgroup:metal_size(threads_per_threadgroup)];
    complete(commands, index, threads_per_threadgroup);
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalIndirectCommands_DispatchThreadgroups(DCMetalIndirectCommands commands, uint64_t index,
                                                           DCMetalSize threadgroups, DCMetalSize threads_per_threadgroup,
                                                           DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status =
        check_dispatch(commands, index, DC_METAL_INDIRECT_THREADGROUPS, threadgroups, threads_per_threadgroup, error);
    if (status != DC_METAL_OK) return status;
    [at(commands, index) concurrentDispatchThreadgroups:metal_size(threadgroups)
                                  threadsPerThreadgroup:metal_size(threads_per_threadgroup)];
    complete(commands, index, threads_per_threadgroup);
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalIndirectCommands_Reset(DCMetalIndirectCommands commands, uint64_t first, uint64_t count,
                                            DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_range(commands, first, count, error);
    if (status == DC_METAL_OK) status = check_unused(commands, error);
    if (status != DC_METAL_OK) return status;
    [commands->object resetWithRange:NSMakeRange(first, count)];
    for (uint64_t index = first; index < first + count; index++) forget(commands, index);
    return DC_METAL_OK;
  });
}

// ------------------------------------------------------------------ encoders

template <class Handle>
static DCMetalStatus check_use(Handle encoder, DCMetalIndirectCommands commands, uint64_t first, uint64_t count,
                               DCMetalError *error) {
  DCMetalStatus status = usable(encoder, error);
  if (status == DC_METAL_OK) status = check_range(commands, first, count, error);
  if (status != DC_METAL_OK || commands->registry_id == encoder->registry_id) return status;
  return fail(error, DC_METAL_INVALID_ARGUMENT, "the commands are another device's");
}

// What the commands of a range inherit.
static DCMetalStatus check_inherited(DCMetalComputeEncoder encoder, DCMetalIndirectCommands commands, uint64_t first,
                                     uint64_t count, DCMetalError *error) {
  bool inherits = commands->limits.inherit_pipeline;
  if (!inherits && !commands->limits.inherit_buffers) return DC_METAL_OK;
  if (inherits && !encoder->pipeline) return fail(error, DC_METAL_INVALID_STATE, "no pipeline is set");
  DCMetalStatus status = inherits ? check_pipeline(encoder->pipeline, error) : DC_METAL_OK;
  for (uint64_t index = first; status == DC_METAL_OK && index < first + count; index++) {
    const Command &command = commands->commands[index];
    if (!command.whole) continue;
    DCMetalPipeline pipeline = inherits ? encoder->pipeline : command.pipeline;
    if (inherits) status = check_threadgroup(pipeline, command.threadgroup, error);
    if (status == DC_METAL_OK) status = check_arguments(commands, index, pipeline, encoder, error);
  }
  return status;
}

// Lists the buffers of the whole commands, those that are only read and those that may be written.
static void list_buffers(DCMetalIndirectCommands commands) {
  NSMutableSet *read = owned([[NSMutableSet alloc] init]), *written = owned([[NSMutableSet alloc] init]);
  for (uint64_t index = 0; index < commands->limits.count; index++) {
    const Command &command = commands->commands[index];
    for (uint32_t slot = 0; command.whole && slot < commands->limits.buffers; slot++) {
      id<MTLBuffer> buffer = commands->bindings[index * commands->limits.buffers + slot].buffer;
      // Of an inherited pipeline's accesses nothing is known here.
      bool only_read = command.pipeline && !(command.pipeline->written & 1u << slot);
      if (buffer) [only_read ? read : written addObject:buffer];
    }
  }
  [read minusSet:written];
  commands->read = [read allObjects];
  commands->written = [written allObjects];
  commands->changed = false;
}

static void use_all(DCMetalComputeEncoder encoder, NSArray *buffers, NSUInteger usage) {
  const NSUInteger most = 32, count = [buffers count];
  for (NSUInteger done = 0; done < count; done += most) {
    id<MTLResource> resources[most];
    NSUInteger some = count - done < most ? count - done : most;
    for (NSUInteger i = 0; i < some; i++) resources[i] = [buffers objectAtIndex:done + i];
    [encoder->object useResources:resources count:some usage:(MTLResourceUsage)usage];
  }
}

DCMetalStatus DCMetalComputeEncoder_ExecuteCommands(DCMetalComputeEncoder encoder, DCMetalIndirectCommands commands,
                                                    uint64_t first, uint64_t count, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_use(encoder, commands, first, count, error);
    if (status == DC_METAL_OK) status = check_inherited(encoder, commands, first, count, error);
    if (status == DC_METAL_OK) status = begin_use(encoder->command_buffer, commands, error);
    if (status != DC_METAL_OK) return status;
    if (commands->changed) list_buffers(commands);
    use_all(encoder, commands->read, MTLResourceUsageRead);
    use_all(encoder, commands->written, MTLResourceUsageRead | MTLResourceUsageWrite);
    [encoder->object executeCommandsInBuffer:commands->object withRange:NSMakeRange(first, count)];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_ExecuteCommandsIndirect(DCMetalComputeEncoder encoder,
                                                            DCMetalIndirectCommands commands, DCMetalBuffer buffer,
                                                            uint64_t offset, DCMetalError *error) {
  return entry(error, [=] {
    uint64_t all = commands ? commands->limits.count : 1;
    DCMetalStatus status = check_use(encoder, commands, 0, all, error);
    if (status == DC_METAL_OK) status = check_inherited(encoder, commands, 0, all, error);
    if (status == DC_METAL_OK) status = check_buffer(buffer, encoder->registry_id, "buffer", error);
    if (status != DC_METAL_OK) return status;
    uint64_t length = [in(buffer) length];
    if (offset % 4 != 0 || !within(offset, sizeof(MTLIndirectCommandBufferExecutionRange), length)) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "offset %llu: a range is 8 bytes at a multiple of 4 in the buffer's %llu",
                  (ull)offset, (ull)length);
    }
    status = begin_use(encoder->command_buffer, commands, error);
    if (status != DC_METAL_OK) return status;
    if (commands->changed) list_buffers(commands);
    use_all(encoder, commands->read, MTLResourceUsageRead);
    use_all(encoder, commands->written, MTLResourceUsageRead | MTLResourceUsageWrite);
    [encoder->object executeCommandsInBuffer:commands->object indirectBuffer:in(buffer) indirectBufferOffset:offset];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_UseCommands(DCMetalComputeEncoder encoder, DCMetalIndirectCommands commands,
                                                DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_use(encoder, commands, 0, commands ? commands->limits.count : 1, error);
    if (status == DC_METAL_OK) status = begin_use(encoder->command_buffer, commands, error);
    if (status != DC_METAL_OK) return status;
    [encoder->object useResource:commands->object usage:MTLResourceUsageRead | MTLResourceUsageWrite];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalBlitEncoder_ResetCommands(DCMetalBlitEncoder encoder, DCMetalIndirectCommands commands, uint64_t first,
                                               uint64_t count, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_use(encoder, commands, first, count, error);
    if (status == DC_METAL_OK) status = begin_use(encoder->command_buffer, commands, error);
    if (status != DC_METAL_OK) return status;
    [encoder->object resetCommandsInBuffer:commands->object withRange:NSMakeRange(first, count)];
    return DC_METAL_OK;
  });
}

static bool equal(const DCMetalIndirectDescriptor &a, const DCMetalIndirectDescriptor &b) {
  return a.types == b.types && a.buffers == b.buffers && a.memories == b.memories && a.inherit_pipeline == b.inherit_pipeline &&
         a.inherit_buffers == b.inherit_buffers;
}

// The destination's places must be free, so that it keeps what was there as long as a command buffer may execute it.
static DCMetalStatus check_copy(DCMetalIndirectCommands source, uint64_t first, uint64_t count,
                                DCMetalIndirectCommands destination, uint64_t place, DCMetalError *error) {
  if (!equal(source->limits, destination->limits)) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "the commands were made with different descriptors");
  }
  if (source == destination && first < place + count && place < first + count) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "source and destination overlap");
  }
  for (uint64_t i = 0; i < count; i++) {
    const Command &from = source->commands[first + i];
    if (from.begun && !from.whole) {
      return fail(error, DC_METAL_INVALID_STATE, "command %llu has no dispatch yet", (ull)(first + i));
    }
    if (destination->commands[place + i].begun) {
      return fail(error, DC_METAL_INVALID_STATE, "command %llu of the destination is set: reset it first", (ull)(place + i));
    }
  }
  return DC_METAL_OK;
}

// The destination keeps what the copies use.
static void copy(DCMetalIndirectCommands source, uint64_t first, DCMetalIndirectCommands destination, uint64_t place) {
  const DCMetalIndirectDescriptor &limits = source->limits;
  Command &to = destination->commands[place];
  to = source->commands[first];
  if (to.pipeline) share(to.pipeline);
  for (uint64_t slot = 0; slot < limits.buffers; slot++) {
    const Binding &binding = source->bindings[first * limits.buffers + slot];
    destination->bindings[place * limits.buffers + slot].buffer = (id<MTLBuffer>)binding.buffer;
    destination->bindings[place * limits.buffers + slot].room = binding.room;
  }
  for (uint64_t slot = 0; slot < limits.memories; slot++) {
    destination->memories[place * limits.memories + slot] = source->memories[first * limits.memories + slot];
  }
  destination->changed = true;
}

DCMetalStatus DCMetalBlitEncoder_CopyCommands(DCMetalBlitEncoder encoder, DCMetalIndirectCommands source, uint64_t first,
                                              uint64_t count, DCMetalIndirectCommands destination, uint64_t index,
                                              DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_use(encoder, source, first, count, error);
    if (status == DC_METAL_OK) status = check_use(encoder, destination, index, count, error);
    if (status == DC_METAL_OK) status = check_copy(source, first, count, destination, index, error);
    // The host counts them as set from now on; no command buffer may run before this one that had the places empty.
    if (status == DC_METAL_OK) status = check_unused(destination, error, encoder->command_buffer);
    if (status == DC_METAL_OK) status = begin_use(encoder->command_buffer, source, error);
    if (status == DC_METAL_OK) status = begin_use(encoder->command_buffer, destination, error);
    if (status != DC_METAL_OK) return status;
    [encoder->object copyIndirectCommandBuffer:source->object
                                   sourceRange:NSMakeRange(first, count)
                                   destination:destination->object
                              destinationIndex:index];
    for (uint64_t i = 0; i < count; i++) copy(source, first + i, destination, index + i);
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalBlitEncoder_OptimizeCommands(DCMetalBlitEncoder encoder, DCMetalIndirectCommands commands,
                                                  uint64_t first, uint64_t count, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_use(encoder, commands, first, count, error);
    if (status == DC_METAL_OK) status = begin_use(encoder->command_buffer, commands, error);
    if (status != DC_METAL_OK) return status;
    [encoder->object optimizeIndirectCommandBuffer:commands->object withRange:NSMakeRange(first, count)];
    return DC_METAL_OK;
  });
}
