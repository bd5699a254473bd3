// DCMetalEncoder.mm: the C ABI over MTLComputeCommandEncoder and MTLBlitCommandEncoder.
//
// Metal aborts the process on most misuse of an encoder, so every call is checked here first, against what the handle
// remembers: whether it was ended, its pipeline and what is bound where.

#include "DCMetalShim.h"

using namespace dcmetal;

typedef unsigned long long ull;  // for printf

// ------------------------------------------------------------------ what both encoders share

// Whether a command buffer may open an encoder now.
static DCMetalStatus may_encode(DCMetalCommandBuffer command_buffer, const void *encoder, DCMetalError *error) {
  if (!command_buffer) return null_argument(error, "command_buffer");
  if (!encoder) return null_argument(error, "encoder");
  DCMetalStatus state = check_uncommitted(command_buffer, error);
  if (state != DC_METAL_OK) return state;
  if (command_buffer->encoding) return fail(error, DC_METAL_INVALID_STATE, "another encoder of the command buffer is open");
  return DC_METAL_OK;
}

// Hands out a fresh encoder's handle, which now holds the command buffer.
template <class Handle, class Object>
static DCMetalStatus open_encoder(DCMetalCommandBuffer command_buffer, Object object, Handle *encoder,
                                  DCMetalError *error) {
  if (!object) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no encoder");
  using Structure = typename std::remove_pointer<Handle>::type;
  *encoder = new (std::nothrow) Structure(object, command_buffer);
  if (!*encoder) {
    [object endEncoding];
    return fail(error, DC_METAL_OUT_OF_MEMORY, "no memory for an encoder's handle");
  }
  share(command_buffer);
  command_buffer->encoding = true;
  return DC_METAL_OK;
}

template <class Handle> static DCMetalStatus label_encoder(Handle encoder, const char *label) {
  return entry(nullptr, [=] {
    NSString *string = label ? text(label) : nil;
    if (!encoder || (label && !string)) return DC_METAL_INVALID_ARGUMENT;
    if (encoder->ended) return DC_METAL_INVALID_STATE;
    [encoder->object setLabel:string];
    return DC_METAL_OK;
  });
}

// An encoder of one kernel is mostly called what the kernel is, whose string there is already.
static bool is_called_as_its_kernel(DCMetalComputeEncoder encoder, const char *label) {
  return encoder && label && encoder->pipeline && !encoder->ended && strcmp(label, encoder->pipeline->utf8_name) == 0;
}

template <class Handle> static void end(Handle encoder) {
  encoder->ended = true;
  encoder->command_buffer->encoding = false;
  [encoder->object endEncoding];
}

template <class Handle> static DCMetalStatus end_encoding(Handle encoder, DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) end(encoder);
    return status;
  });
}

// Ends an encoder that is still open; what that raises has nowhere to go.
template <class Handle> static void close_encoder(Handle encoder) {
  if (!encoder->ended) drop([=] { end(encoder); });
}

DCMetalStatus dcmetal::check_buffer(DCMetalBuffer buffer, uint64_t registry_id, const char *name, DCMetalError *error) {
  if (!buffer) return null_argument(error, name);
  if ([[in(buffer) device] registryID] != registry_id) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%s is another device's", name);
  }
  return DC_METAL_OK;
}

static DCMetalStatus check_texture(DCMetalTexture texture, uint64_t registry_id, const char *name, DCMetalError *error) {
  if (!texture) return null_argument(error, name);
  if ([[in(texture) device] registryID] != registry_id) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%s is another device's", name);
  }
  return DC_METAL_OK;
}

template <class Handle> static DCMetalStatus check_fence(Handle encoder, DCMetalFence fence, DCMetalError *error) {
  DCMetalStatus status = usable(encoder, error);
  if (status != DC_METAL_OK) return status;
  if (!fence) return null_argument(error, "fence");
  if ([[in(fence) device] registryID] != encoder->registry_id) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "the fence is another device's");
  }
  return DC_METAL_OK;
}

template <class Handle> static DCMetalStatus update_fence(Handle encoder, DCMetalFence fence, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_fence(encoder, fence, error);
    if (status != DC_METAL_OK) return status;
    if (!encoder->updated) encoder->updated = owned([[NSMutableArray alloc] init]);
    [encoder->object updateFence:in(fence)];
    [encoder->updated addObject:in(fence)];
    return DC_METAL_OK;
  });
}

template <class Handle> static DCMetalStatus wait_for_fence(Handle encoder, DCMetalFence fence, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_fence(encoder, fence, error);
    if (status != DC_METAL_OK) return status;
    if ([encoder->updated containsObject:in(fence)]) {
      return fail(error, DC_METAL_INVALID_STATE, "the encoder updates this fence itself: it waits first, then it updates");
    }
    [encoder->object waitForFence:in(fence)];
    return DC_METAL_OK;
  });
}

// ------------------------------------------------------------------ DCMetalComputeEncoder

DCMetalStatus DCMetalComputeEncoder_Create(DCMetalCommandBuffer command_buffer, DCMetalDispatchType type,
                                           DCMetalComputeEncoder *encoder, DCMetalError *error) {
  if (encoder) *encoder = nullptr;
  const auto create = [=](auto open) {
    DCMetalStatus status = may_encode(command_buffer, encoder, error);
    if (status != DC_METAL_OK) return status;
    if (type != DC_METAL_DISPATCH_SERIAL && type != DC_METAL_DISPATCH_CONCURRENT) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no dispatch type", (unsigned)type);
    }
    id<MTLDevice> device = [command_buffer->object device];
    uint64_t registry_id = [device registryID], max_memory = [device maxThreadgroupMemoryLength];
    status = open(command_buffer);
    if (status != DC_METAL_OK) return status;
    (*encoder)->registry_id = registry_id;
    (*encoder)->max_memory = max_memory;
    return DC_METAL_OK;
  };
#ifndef __APPLE__
  static const Class hosts = NSClassFromString(@"HostMTLCommandBuffer");
  if (command_buffer && object_getClass((id)command_buffer->object) == hosts) {
    return hot_entry(error, [=] {
      return create([=](DCMetalCommandBuffer parent) {
        id<HostMTLMaking> host = (id)parent->object;
        id<MTLComputeCommandEncoder> object = [host newComputeCommandEncoderWithDispatchType:(NSUInteger)type];
        DCMetalStatus status = open_encoder(parent, object, encoder, error);
        [object release];
        return status;
      });
    });
  }
#endif
  return entry(error, [=] {
    return create([=](DCMetalCommandBuffer parent) {
      id<MTLComputeCommandEncoder> object =
          [parent->object computeCommandEncoderWithDispatchType:(MTLDispatchType)type];
      return open_encoder(parent, object, encoder, error);
    });
  });
}

DCMetalStatus DCMetalComputeEncoder_SetLabel(DCMetalComputeEncoder encoder, const char *label) {
  if (!is_called_as_its_kernel(encoder, label)) return label_encoder(encoder, label);
  return hot_entry(nullptr, [=] {
    [encoder->object setLabel:encoder->pipeline->name];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_SetPipeline(DCMetalComputeEncoder encoder, DCMetalPipeline pipeline,
                                                DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status != DC_METAL_OK) return status;
    if (!pipeline) return null_argument(error, "pipeline");
    if (pipeline->registry_id != encoder->registry_id) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "the pipeline is another device's");
    }
    [encoder->object setComputePipelineState:pipeline->object];
    DCMetalPipeline before = encoder->pipeline;
    encoder->pipeline = share(pipeline);
    unshare(before);
    return DC_METAL_OK;
  });
}

static DCMetalStatus check_index(size_t index, DCMetalError *error, size_t count = kArguments) {
  if (index < count) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT, "index %zu is not below %zu", index, count);
}

DCMetalStatus dcmetal::check_offset(uint64_t offset, uint64_t length, DCMetalError *error) {
  if (offset < length) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT, "offset %llu is not below the buffer's length of %llu", (ull)offset,
              (ull)length);
}

static void remember(DCMetalComputeEncoder encoder, size_t index, uint64_t length, uint64_t room) {
  if (room > 0) encoder->bound |= 1u << index;
  else encoder->bound &= ~(1u << index);
  encoder->length[index] = length;
  encoder->room[index] = room;
}

DCMetalStatus DCMetalComputeEncoder_SetBuffer(DCMetalComputeEncoder encoder, DCMetalBuffer buffer, uint64_t offset,
                                              size_t index, DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_index(index, error);
    if (status != DC_METAL_OK) return status;
    uint64_t length = 0;
    if (buffer) {
      length = [in(buffer) length];
      status = check_buffer(buffer, encoder->registry_id, "buffer", error);
      if (status == DC_METAL_OK) status = check_offset(offset, length, error);
      if (status != DC_METAL_OK) return status;
    }
    [encoder->object setBuffer:in(buffer) offset:buffer ? offset : 0 atIndex:index];
    remember(encoder, index, length, buffer ? length - offset : 0);
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_SetBufferOffset(DCMetalComputeEncoder encoder, uint64_t offset, size_t index,
                                                    DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_index(index, error);
    if (status != DC_METAL_OK) return status;
    uint64_t length = encoder->length[index];
    if (length == 0) return fail(error, DC_METAL_INVALID_STATE, "no buffer is bound at index %zu", index);
    status = check_offset(offset, length, error);
    if (status != DC_METAL_OK) return status;
    [encoder->object setBufferOffset:offset atIndex:index];
    remember(encoder, index, length, length - offset);
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_SetTexture(DCMetalComputeEncoder encoder, DCMetalTexture texture, size_t index,
                                               DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_index(index, error, kTextures);
    if (status == DC_METAL_OK && texture) status = check_texture(texture, encoder->registry_id, "texture", error);
    if (status != DC_METAL_OK) return status;
    if (!encoder->textures) {
      if (!texture) return DC_METAL_OK;
      encoder->textures = new (std::nothrow) TextureNeed[kTextures];
      if (!encoder->textures) return fail(error, DC_METAL_OUT_OF_MEMORY, "no memory for an encoder's textures");
    }
    [encoder->object setTexture:in(texture) atIndex:index];
    TextureNeed &bound = encoder->textures[index];
    bound = TextureNeed();
    if (!texture) return DC_METAL_OK;
    bound.type = (uint8_t)[in(texture) textureType];
    bound.components = components_of([in(texture) pixelFormat]);
    bound.usage = (uint8_t)[in(texture) usage];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_SetSampler(DCMetalComputeEncoder encoder, DCMetalSampler sampler, size_t index,
                                               DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_index(index, error, kSamplers);
    if (status != DC_METAL_OK) return status;
    if (sampler && [[in(sampler) device] registryID] != encoder->registry_id) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "the sampler is another device's");
    }
    [encoder->object setSamplerState:in(sampler) atIndex:index];
    if (sampler) encoder->samplers |= 1u << index;
    else encoder->samplers &= ~(1u << index);
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_SetBytes(DCMetalComputeEncoder encoder, const void *bytes, size_t length,
                                             size_t index, DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_index(index, error);
    if (status != DC_METAL_OK) return status;
    if (!bytes) return null_argument(error, "bytes");
    if (length == 0 || length > kMaxBytes) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "%zu bytes: 1 to %zu can be set", length, kMaxBytes);
    }
    [encoder->object setBytes:bytes length:length atIndex:index];
    remember(encoder, index, 0, length);
    return DC_METAL_OK;
  });
}

DCMetalStatus dcmetal::check_memory_length(uint64_t length, uint64_t most, DCMetalError *error) {
  if (length % 16 != 0) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%llu bytes of threadgroup memory are no multiple of 16", (ull)length);
  }
  if (length <= most) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT, "%llu bytes of threadgroup memory are over the device's limit of %llu",
              (ull)length, (ull)most);
}

DCMetalStatus DCMetalComputeEncoder_SetThreadgroupMemoryLength(DCMetalComputeEncoder encoder, uint64_t length,
                                                               size_t index, DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_index(index, error);
    if (status != DC_METAL_OK) return status;
    status = check_memory_length(length, encoder->max_memory, error);
    if (status != DC_METAL_OK) return status;
    [encoder->object setThreadgroupMemoryLength:length atIndex:index];
    encoder->memory[index] = length;
    return DC_METAL_OK;
  });
}

// ------------------------------------------------------------------ dispatches

static NSString *binding_name(DCMetalPipeline pipeline, MTLBindingType type, size_t index) {
  for (id<MTLBinding> binding in (NSArray *)pipeline->bindings) {
    if ([binding type] == type && [binding index] == index) return [binding name];
  }
  return @"";
}

DCMetalStatus dcmetal::argument_missing(DCMetalPipeline pipeline, MTLBindingType type, size_t index,
                                        DCMetalError *error) {
  return entry(error, [=] {
    return fail(error, DC_METAL_INVALID_STATE, "kernel \"%s\": nothing is set for its argument \"%s\" [[%s(%zu)]]",
                pipeline->utf8_name, [binding_name(pipeline, type, index) UTF8String],
                type == MTLBindingTypeBuffer    ? "buffer"
                : type == MTLBindingTypeTexture ? "texture"
                : type == MTLBindingTypeSampler ? "sampler"
                                                : "threadgroup",
                index);
  });
}

DCMetalStatus dcmetal::argument_small(DCMetalPipeline pipeline, size_t index, uint64_t room, DCMetalError *error) {
  return entry(error, [=] {
    return fail(error, DC_METAL_INVALID_ARGUMENT,
                "kernel \"%s\": argument \"%s\" [[buffer(%zu)]] needs %llu bytes, %llu are bound", pipeline->utf8_name,
                [binding_name(pipeline, MTLBindingTypeBuffer, index) UTF8String], index, (ull)pipeline->least[index],
                (ull)room);
  });
}

DCMetalStatus dcmetal::argument_unaligned(DCMetalPipeline pipeline, size_t index, uint64_t offset, DCMetalError *error) {
  return entry(error, [=] {
    return fail(error, DC_METAL_INVALID_ARGUMENT,
                "kernel \"%s\": argument \"%s\" [[buffer(%zu)]] begins at offset %llu, which is no multiple of %llu",
                pipeline->utf8_name, [binding_name(pipeline, MTLBindingTypeBuffer, index) UTF8String], index, (ull)offset,
                (ull)pipeline->unaligned[index] + 1);
  });
}

DCMetalStatus dcmetal::memory_large(DCMetalPipeline pipeline, uint64_t memory, DCMetalError *error) {
  return fail(error, DC_METAL_INVALID_ARGUMENT,
              "kernel \"%s\": %llu bytes of threadgroup memory are over the device's limit of %llu",
              pipeline->utf8_name, (ull)memory, (ull)pipeline->max_memory);
}

static DCMetalStatus check_textures(DCMetalComputeEncoder encoder, DCMetalError *error) {
  DCMetalPipeline pipeline = encoder->pipeline;
  for (size_t i = 0; i < pipeline->texture_count; i++) {
    const TextureNeed &need = pipeline->textures[i];
    const TextureNeed bound = encoder->textures ? encoder->textures[need.index] : TextureNeed();
    if (bound.usage == 0) return argument_missing(pipeline, MTLBindingTypeTexture, need.index, error);
    const char *wrong = bound.type != need.type               ? "another type"
                        : bound.components != need.components ? "components of another kind"
                        : (need.usage & ~bound.usage) != 0    ? "no usage for this access"
                                                              : nullptr;
    if (!wrong) continue;
    const uint8_t index = need.index;
    return entry(error, [=] {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "kernel \"%s\": the texture for its argument \"%s\" [[texture(%d)]] has %s",
                  pipeline->utf8_name, [binding_name(pipeline, MTLBindingTypeTexture, index) UTF8String], index, wrong);
    });
  }
  uint32_t missing = pipeline->samplers & ~encoder->samplers;
  if (missing == 0) return DC_METAL_OK;
  return argument_missing(pipeline, MTLBindingTypeSampler, (size_t)__builtin_ctz(missing), error);
}

static DCMetalStatus check_arguments(DCMetalComputeEncoder encoder, DCMetalError *error) {
  DCMetalPipeline pipeline = encoder->pipeline;
  if (pipeline->unknown) {
    return fail(error, DC_METAL_UNSUPPORTED, "kernel \"%s\" has arguments of a kind that cannot be set",
                pipeline->utf8_name);
  }
  DCMetalStatus textures = check_textures(encoder, error);
  if (textures != DC_METAL_OK) return textures;
  uint64_t memory = pipeline->static_memory;
  for (size_t index = 0; index < kArguments; index++) {
    uint32_t bit = 1u << index;
    if (pipeline->buffers & bit) {
      if (!(encoder->bound & bit)) return argument_missing(pipeline, MTLBindingTypeBuffer, index, error);
      if (encoder->room[index] < pipeline->least[index]) {
        return argument_small(pipeline, index, encoder->room[index], error);
      }
      // Of bytes in a buffer's place there is no length.
      const uint64_t offset = encoder->length[index] ? encoder->length[index] - encoder->room[index] : 0;
      if (offset & pipeline->unaligned[index]) return argument_unaligned(pipeline, index, offset, error);
    }
    if (pipeline->memories & bit) {
      if (encoder->memory[index] == 0) {
        return argument_missing(pipeline, MTLBindingTypeThreadgroupMemory, index, error);
      }
      memory += encoder->memory[index];  // at most 31 times the device's limit
    }
  }
  return memory <= pipeline->max_memory ? DC_METAL_OK : memory_large(pipeline, memory, error);
}

static bool has_zero(DCMetalSize size) { return size.width == 0 || size.height == 0 || size.depth == 0; }

DCMetalStatus dcmetal::check_threadgroup(DCMetalPipeline pipeline, DCMetalSize size, DCMetalError *error) {
  if (has_zero(size)) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "a threadgroup of %llu x %llu x %llu threads", (ull)size.width,
                (ull)size.height, (ull)size.depth);
  }
  MTLSize most = pipeline->max_threads;
  if (size.width > most.width || size.height > most.height || size.depth > most.depth) {
    return fail(error, DC_METAL_INVALID_ARGUMENT,
                "a threadgroup of %llu x %llu x %llu threads is over the device's limit of %llu x %llu x %llu",
                (ull)size.width, (ull)size.height, (ull)size.depth, (ull)most.width, (ull)most.height, (ull)most.depth);
  }
  uint64_t threads = 0;
  if (__builtin_mul_overflow(size.width, size.height, &threads) || __builtin_mul_overflow(threads, size.depth, &threads) ||
      threads > pipeline->max_total_threads) {
    return fail(error, DC_METAL_INVALID_ARGUMENT,
                "a threadgroup of %llu x %llu x %llu threads is over the %llu of kernel \"%s\"", (ull)size.width,
                (ull)size.height, (ull)size.depth, (ull)pipeline->max_total_threads, pipeline->utf8_name);
  }
  MTLSize required = pipeline->required_threads;
  if (required.width != 0 && (size.width != required.width || size.height != required.height || size.depth != required.depth)) {
    return fail(error, DC_METAL_INVALID_ARGUMENT,
                "kernel \"%s\" requires threadgroups of %llu x %llu x %llu threads, not %llu x %llu x %llu",
                pipeline->utf8_name, (ull)required.width, (ull)required.height, (ull)required.depth, (ull)size.width,
                (ull)size.height, (ull)size.depth);
  }
  if (pipeline->whole_simdgroups && threads % pipeline->execution_width != 0) {
    return fail(error, DC_METAL_INVALID_ARGUMENT,
                "the pipeline was promised threadgroups of a multiple of %llu threads, not %llu",
                (ull)pipeline->execution_width, (ull)threads);
  }
  return DC_METAL_OK;
}

DCMetalStatus dcmetal::check_grid(DCMetalSize grid, DCMetalSize unit, DCMetalError *error) {
  bool fits = grid.width <= kMaxGrid / unit.width && grid.height <= kMaxGrid / unit.height &&
              grid.depth <= kMaxGrid / unit.depth;
  if (fits && !has_zero(grid)) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT,
              "a grid of %llu x %llu x %llu times %llu x %llu x %llu threads: each dimension has 1 to %llu",
              (ull)grid.width, (ull)grid.height, (ull)grid.depth, (ull)unit.width, (ull)unit.height, (ull)unit.depth,
              (ull)kMaxGrid);
}

static DCMetalStatus check_dispatch(DCMetalComputeEncoder encoder, DCMetalSize grid, bool in_threadgroups,
                                    DCMetalSize threadgroup, DCMetalError *error) {
  DCMetalStatus status = usable(encoder, error);
  if (status != DC_METAL_OK) return status;
  if (!encoder->pipeline) return fail(error, DC_METAL_INVALID_STATE, "no pipeline is set");
  status = check_threadgroup(encoder->pipeline, threadgroup, error);
  if (status == DC_METAL_OK) status = check_grid(grid, in_threadgroups ? threadgroup : DCMetalSize{1, 1, 1}, error);
  if (status == DC_METAL_OK) status = check_arguments(encoder, error);
  return status;
}

DCMetalStatus DCMetalComputeEncoder_DispatchThreads(DCMetalComputeEncoder encoder, DCMetalSize threads,
                                                    DCMetalSize threads_per_threadgroup, DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = check_dispatch(encoder, threads, false, threads_per_threadgroup, error);
    if (status != DC_METAL_OK) return status;
    [encoder->object dispatchThreads:metal_size(threads) threadsPerThreadgroup:metal_size(threads_per_threadgroup)];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_DispatchThreadgroups(DCMetalComputeEncoder encoder, DCMetalSize threadgroups,
                                                         DCMetalSize threads_per_threadgroup, DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = check_dispatch(encoder, threadgroups, true, threads_per_threadgroup, error);
    if (status != DC_METAL_OK) return status;
    [encoder->object dispatchThreadgroups:metal_size(threadgroups)
                    threadsPerThreadgroup:metal_size(threads_per_threadgroup)];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_DispatchThreadgroupsIndirect(DCMetalComputeEncoder encoder, DCMetalBuffer buffer,
                                                                 uint64_t offset, DCMetalSize threads_per_threadgroup,
                                                                 DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = check_dispatch(encoder, DCMetalSize{1, 1, 1}, true, threads_per_threadgroup, error);
    if (status == DC_METAL_OK) status = check_buffer(buffer, encoder->registry_id, "buffer", error);
    if (status != DC_METAL_OK) return status;
    uint64_t length = [in(buffer) length];
    if (offset % 4 != 0 || !within(offset, sizeof(MTLDispatchThreadgroupsIndirectArguments), length)) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "offset %llu: a grid is 12 bytes at a multiple of 4 in the buffer's %llu",
                  (ull)offset, (ull)length);
    }
    [encoder->object dispatchThreadgroupsWithIndirectBuffer:in(buffer)
                                       indirectBufferOffset:offset
                                      threadsPerThreadgroup:metal_size(threads_per_threadgroup)];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_UseBuffer(DCMetalComputeEncoder encoder, DCMetalBuffer buffer, uint32_t usage,
                                              DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_buffer(buffer, encoder->registry_id, "buffer", error);
    if (status != DC_METAL_OK) return status;
    if (usage == 0 || (usage & ~(DC_METAL_USAGE_READ | DC_METAL_USAGE_WRITE)) != 0) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no usage of a resource", usage);
    }
    [encoder->object useResource:in(buffer) usage:(MTLResourceUsage)usage];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_UseHeap(DCMetalComputeEncoder encoder, DCMetalHeap heap, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status != DC_METAL_OK) return status;
    if (!heap) return null_argument(error, "heap");
    if ([[in(heap) device] registryID] != encoder->registry_id) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "the heap is another device's");
    }
    [encoder->object useHeap:in(heap)];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_MemoryBarrier(DCMetalComputeEncoder encoder, uint32_t scope, DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status != DC_METAL_OK) return status;
    if (scope == 0 || (scope & ~(DC_METAL_BARRIER_BUFFERS | DC_METAL_BARRIER_TEXTURES)) != 0) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no barrier scope", scope);
    }
    [encoder->object memoryBarrierWithScope:(MTLBarrierScope)scope];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_MemoryBarrierWithBuffers(DCMetalComputeEncoder encoder, const DCMetalBuffer *buffers,
                                                             size_t count, DCMetalError *error) {
  return hot_entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status != DC_METAL_OK) return status;
    if (!buffers) return null_argument(error, "buffers");
    if (count == 0) return fail(error, DC_METAL_INVALID_ARGUMENT, "a barrier for no buffers");
    for (size_t i = 0; i < count; i++) {
      status = check_buffer(buffers[i], encoder->registry_id, "a buffer of the barrier", error);
      if (status != DC_METAL_OK) return status;
    }
    // A bounded array on the stack; a barrier for several runs of buffers is one for all of them.
    const size_t most = 32;
    for (size_t done = 0; done < count; done += most) {
      id<MTLResource> resources[most];
      size_t some = count - done < most ? count - done : most;
      for (size_t i = 0; i < some; i++) resources[i] = in(buffers[done + i]);
      [encoder->object memoryBarrierWithResources:resources count:some];
    }
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_InsertDebugSignpost(DCMetalComputeEncoder encoder, const char *signpost) {
  return entry(nullptr, [=] {
    NSString *string = signpost ? text(signpost) : nil;
    if (!encoder || !string) return DC_METAL_INVALID_ARGUMENT;
    if (encoder->ended) return DC_METAL_INVALID_STATE;
    [encoder->object insertDebugSignpost:string];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalComputeEncoder_UpdateFence(DCMetalComputeEncoder encoder, DCMetalFence fence,
                                                DCMetalError *error) {
  return update_fence(encoder, fence, error);
}

DCMetalStatus DCMetalComputeEncoder_WaitForFence(DCMetalComputeEncoder encoder, DCMetalFence fence,
                                                 DCMetalError *error) {
  return wait_for_fence(encoder, fence, error);
}

DCMetalStatus DCMetalComputeEncoder_EndEncoding(DCMetalComputeEncoder encoder, DCMetalError *error) {
  return end_encoding(encoder, error);
}

void DCMetalComputeEncoder_Release(DCMetalComputeEncoder encoder) {
  if (!encoder) return;
  close_encoder(encoder);
  hot_drop([=] {
    DCMetalCommandBuffer parent = encoder->command_buffer;
    unshare(encoder->pipeline);
    delete encoder;
    unshare(parent);
  });
}

// ------------------------------------------------------------------ DCMetalBlitEncoder

DCMetalStatus DCMetalBlitEncoder_Create(DCMetalCommandBuffer command_buffer, DCMetalBlitEncoder *encoder,
                                        DCMetalError *error) {
  if (encoder) *encoder = nullptr;
  return entry(error, [=] {
    DCMetalStatus status = may_encode(command_buffer, encoder, error);
    if (status != DC_METAL_OK) return status;
    uint64_t registry_id = [[command_buffer->object device] registryID];
    status = open_encoder(command_buffer, [command_buffer->object blitCommandEncoder], encoder, error);
    if (status == DC_METAL_OK) (*encoder)->registry_id = registry_id;
    return status;
  });
}

DCMetalStatus DCMetalBlitEncoder_SetLabel(DCMetalBlitEncoder encoder, const char *label) {
  return label_encoder(encoder, label);
}

// A range to copy or fill: at least 4 bytes, in the buffer, offset and length multiples of 4.
static DCMetalStatus check_range(DCMetalBlitEncoder encoder, DCMetalBuffer buffer, uint64_t offset, uint64_t length,
                                 const char *name, DCMetalError *error) {
  DCMetalStatus status = check_buffer(buffer, encoder->registry_id, name, error);
  if (status != DC_METAL_OK) return status;
  if (length == 0 || offset % 4 != 0 || length % 4 != 0) {
    return fail(error, DC_METAL_INVALID_ARGUMENT,
                "%s: offset %llu and length %llu are multiples of 4, the length not 0", name, (ull)offset, (ull)length);
  }
  uint64_t size = [in(buffer) length];
  if (within(offset, length, size)) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT, "%s: %llu bytes at offset %llu reach over its %llu", name, (ull)length,
              (ull)offset, (ull)size);
}

DCMetalStatus DCMetalBlitEncoder_CopyBuffer(DCMetalBlitEncoder encoder, DCMetalBuffer source, uint64_t source_offset,
                                            DCMetalBuffer destination, uint64_t destination_offset, uint64_t length,
                                            DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_range(encoder, source, source_offset, length, "source", error);
    if (status == DC_METAL_OK) status = check_range(encoder, destination, destination_offset, length, "destination", error);
    if (status != DC_METAL_OK) return status;
    uint64_t apart = source_offset < destination_offset ? destination_offset - source_offset
                                                        : source_offset - destination_offset;
    if (source == destination && apart < length) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "source and destination overlap");
    }
    [encoder->object copyFromBuffer:in(source)
                       sourceOffset:source_offset
                           toBuffer:in(destination)
                  destinationOffset:destination_offset
                               size:length];
    return DC_METAL_OK;
  });
}

// A buffer's side of a copy of texels.
static DCMetalStatus check_linear(DCMetalBlitEncoder encoder, DCMetalBuffer buffer, uint64_t offset,
                                  uint64_t bytes_per_row, uint64_t bytes_per_image, DCMetalTexture texture,
                                  const DCMetalTexturePlace *place, DCMetalSize size, DCMetalError *error) {
  DCMetalStatus status = usable(encoder, error);
  if (status == DC_METAL_OK) status = check_buffer(buffer, encoder->registry_id, "buffer", error);
  if (status == DC_METAL_OK) status = check_texture(texture, encoder->registry_id, "texture", error);
  if (status != DC_METAL_OK) return status;
  if (!place) return null_argument(error, "place");
  status = check_place(in(texture), *place, size, error);
  if (status != DC_METAL_OK) return status;
  uint64_t length = [in(buffer) length];
  // Metal asks that an offset be a multiple of the texel's size; 16 is one of all of them.
  if (offset % 16 != 0 || offset > length) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "offset %llu is no multiple of 16 in the buffer's %llu bytes", (ull)offset,
                (ull)length);
  }
  return check_rows(in(texture), size, length - offset, bytes_per_row, bytes_per_image, error);
}

static MTLOrigin origin(const DCMetalTexturePlace *place) { return MTLOriginMake(place->x, place->y, place->z); }

DCMetalStatus DCMetalBlitEncoder_CopyBufferToTexture(DCMetalBlitEncoder encoder, DCMetalBuffer source, uint64_t offset,
                                                     uint64_t bytes_per_row, uint64_t bytes_per_image, DCMetalSize size,
                                                     DCMetalTexture destination, const DCMetalTexturePlace *place,
                                                     DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status =
        check_linear(encoder, source, offset, bytes_per_row, bytes_per_image, destination, place, size, error);
    if (status != DC_METAL_OK) return status;
    [encoder->object copyFromBuffer:in(source)
                       sourceOffset:offset
                  sourceBytesPerRow:bytes_per_row
                sourceBytesPerImage:size.depth == 1 ? 0 : bytes_per_image
                         sourceSize:metal_size(size)
                          toTexture:in(destination)
                   destinationSlice:place->slice
                   destinationLevel:place->level
                  destinationOrigin:origin(place)];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalBlitEncoder_CopyTextureToBuffer(DCMetalBlitEncoder encoder, DCMetalTexture source,
                                                     const DCMetalTexturePlace *place, DCMetalSize size,
                                                     DCMetalBuffer destination, uint64_t offset, uint64_t bytes_per_row,
                                                     uint64_t bytes_per_image, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status =
        check_linear(encoder, destination, offset, bytes_per_row, bytes_per_image, source, place, size, error);
    if (status != DC_METAL_OK) return status;
    [encoder->object copyFromTexture:in(source)
                         sourceSlice:place->slice
                         sourceLevel:place->level
                        sourceOrigin:origin(place)
                          sourceSize:metal_size(size)
                            toBuffer:in(destination)
                   destinationOffset:offset
              destinationBytesPerRow:bytes_per_row
            destinationBytesPerImage:size.depth == 1 ? 0 : bytes_per_image];
    return DC_METAL_OK;
  });
}

static bool overlap(const DCMetalTexturePlace *a, const DCMetalTexturePlace *b, DCMetalSize size) {
  const auto near = [](uint64_t p, uint64_t q, uint64_t length) { return (p < q ? q - p : p - q) < length; };
  return a->slice == b->slice && a->level == b->level && near(a->x, b->x, size.width) && near(a->y, b->y, size.height) &&
         near(a->z, b->z, size.depth);
}

DCMetalStatus DCMetalBlitEncoder_CopyTexture(DCMetalBlitEncoder encoder, DCMetalTexture source,
                                             const DCMetalTexturePlace *from, DCMetalSize size,
                                             DCMetalTexture destination, const DCMetalTexturePlace *to,
                                             DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_texture(source, encoder->registry_id, "source", error);
    if (status == DC_METAL_OK) status = check_texture(destination, encoder->registry_id, "destination", error);
    if (status != DC_METAL_OK) return status;
    if (!from) return null_argument(error, "from");
    if (!to) return null_argument(error, "to");
    status = check_place(in(source), *from, size, error);
    if (status == DC_METAL_OK) status = check_place(in(destination), *to, size, error);
    if (status != DC_METAL_OK) return status;
    if ([in(source) pixelFormat] != [in(destination) pixelFormat]) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "the textures of a copy have pixel formats %u and %u",
                  (unsigned)[in(source) pixelFormat], (unsigned)[in(destination) pixelFormat]);
    }
    if (source == destination && overlap(from, to, size)) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "source and destination overlap");
    }
    [encoder->object copyFromTexture:in(source)
                         sourceSlice:from->slice
                         sourceLevel:from->level
                        sourceOrigin:origin(from)
                          sourceSize:metal_size(size)
                           toTexture:in(destination)
                    destinationSlice:to->slice
                    destinationLevel:to->level
                   destinationOrigin:origin(to)];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalBlitEncoder_SynchronizeTexture(DCMetalBlitEncoder encoder, DCMetalTexture texture,
                                                    DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_texture(texture, encoder->registry_id, "texture", error);
    if (status != DC_METAL_OK) return status;
    if ([in(texture) storageMode] == MTLStorageModeManaged) [encoder->object synchronizeResource:in(texture)];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalBlitEncoder_FillBuffer(DCMetalBlitEncoder encoder, DCMetalBuffer buffer, uint64_t offset,
                                            uint64_t length, uint8_t value, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_range(encoder, buffer, offset, length, "buffer", error);
    if (status != DC_METAL_OK) return status;
    [encoder->object fillBuffer:in(buffer) range:NSMakeRange(offset, length) value:value];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalBlitEncoder_SynchronizeBuffer(DCMetalBlitEncoder encoder, DCMetalBuffer buffer,
                                                   DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = usable(encoder, error);
    if (status == DC_METAL_OK) status = check_buffer(buffer, encoder->registry_id, "buffer", error);
    if (status != DC_METAL_OK) return status;
    if ([in(buffer) storageMode] == MTLStorageModeManaged) [encoder->object synchronizeResource:in(buffer)];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalBlitEncoder_UpdateFence(DCMetalBlitEncoder encoder, DCMetalFence fence, DCMetalError *error) {
  return update_fence(encoder, fence, error);
}

DCMetalStatus DCMetalBlitEncoder_WaitForFence(DCMetalBlitEncoder encoder, DCMetalFence fence, DCMetalError *error) {
  return wait_for_fence(encoder, fence, error);
}

DCMetalStatus DCMetalBlitEncoder_EndEncoding(DCMetalBlitEncoder encoder, DCMetalError *error) {
  return end_encoding(encoder, error);
}

void DCMetalBlitEncoder_Release(DCMetalBlitEncoder encoder) {
  if (!encoder) return;
  close_encoder(encoder);
  drop([=] {
    DCMetalCommandBuffer parent = encoder->command_buffer;
    delete encoder;
    unshare(parent);
  });
}
