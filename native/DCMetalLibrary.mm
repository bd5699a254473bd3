// DCMetalLibrary.mm: the C ABI over MTLCompileOptions, MTLLibrary, MTLFunctionConstantValues, MTLFunction and
// MTLComputePipelineState.

#include "DCMetalShim.h"

#include <cstring>
#include <memory>

using namespace dcmetal;

// ------------------------------------------------------------------ DCMetalCompileOptions

DCMetalStatus DCMetalCompileOptions_Create(DCMetalCompileOptions *options, DCMetalError *error) {
  if (options) *options = nullptr;
  return entry(error, [=] {
    if (!options) return null_argument(error, "options");
    MTLCompileOptions *object = owned([[MTLCompileOptions alloc] init]);
    if (!object) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no compile options");
    give(options, object);
    return DC_METAL_OK;
  });
}

// MTLMathMode came with macOS 15 and its SDK.
#if !defined(__APPLE__) || (defined(__MAC_OS_X_VERSION_MAX_ALLOWED) && __MAC_OS_X_VERSION_MAX_ALLOWED >= 150000)
#define DC_HAS_MATH_MODE 1
#else
#define DC_HAS_MATH_MODE 0
#endif

DCMetalStatus DCMetalCompileOptions_SetMathMode(DCMetalCompileOptions options, DCMetalMathMode mode) {
  return entry(nullptr, [=] {
    if (!options || (mode != DC_METAL_MATH_SAFE && mode != DC_METAL_MATH_RELAXED && mode != DC_METAL_MATH_FAST)) {
      return DC_METAL_INVALID_ARGUMENT;
    }
#if DC_HAS_MATH_MODE
    if (@available(macOS 15.0, *)) {
      if ([in(options) respondsToSelector:@selector(setMathMode:)]) {
        [in(options) setMathMode:(MTLMathMode)mode];
        // The mode alone leaves this as it was, and fast at first; fastMathEnabled = NO, which is SAFE before macOS 15, meant both.
        [in(options) setMathFloatingPointFunctions:mode == DC_METAL_MATH_SAFE ? MTLMathFloatingPointFunctionsPrecise : MTLMathFloatingPointFunctionsFast];
        return DC_METAL_OK;
      }
    }
#endif
    [in(options) setFastMathEnabled:mode != DC_METAL_MATH_SAFE];
    return DC_METAL_OK;
  });
}

// The versions of MTLLanguageVersion from 2.0 on that this system has.
static bool language_known(uint32_t major, uint32_t minor) {
  if (major == 2) return minor <= 4;
  if (major != 3) return false;
  if (minor == 0) return true;
  if (@available(macOS 15.0, *)) return minor <= 2;
  if (@available(macOS 14.0, *)) return minor <= 1;
  return false;
}

DCMetalStatus DCMetalCompileOptions_SetLanguageVersion(DCMetalCompileOptions options, uint32_t major, uint32_t minor) {
  return entry(nullptr, [=] {
    if (!options) return DC_METAL_INVALID_ARGUMENT;
    if (!language_known(major, minor)) return DC_METAL_UNSUPPORTED;
    [in(options) setLanguageVersion:(MTLLanguageVersion)(((NSUInteger)major << 16) + minor)];
    return DC_METAL_OK;
  });
}

static bool identifier(const char *name) {
  for (const char *at = name; *at; at++) {
    bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_';
    bool digit = *at >= '0' && *at <= '9';
    if (!letter && !(digit && at > name)) return false;
  }
  return *name != '\0';
}

DCMetalStatus DCMetalCompileOptions_SetMacro(DCMetalCompileOptions options, const char *name, const char *value) {
  return entry(nullptr, [=] {
    if (!options || !name || !value) return DC_METAL_INVALID_ARGUMENT;
    NSString *definition = text(value);
    // A line break would end the definition and start a line of source.
    if (!identifier(name) || !definition || strpbrk(value, "\r\n")) return DC_METAL_INVALID_ARGUMENT;
    NSMutableDictionary *macros = [NSMutableDictionary dictionary];
    if ([in(options) preprocessorMacros]) [macros addEntriesFromDictionary:[in(options) preprocessorMacros]];
    [macros setObject:definition forKey:text(name)];
    [in(options) setPreprocessorMacros:macros];
    return DC_METAL_OK;
  });
}

void DCMetalCompileOptions_Release(DCMetalCompileOptions options) {
  drop([=] { take(options); });
}

// ------------------------------------------------------------------ DCMetalLibrary

DCMetalStatus DCMetalLibrary_CreateWithSource(DCMetalDevice device, const char *source, size_t length,
                                              DCMetalCompileOptions options, DCMetalLibrary *library,
                                              DCMetalError *error) {
  if (library) *library = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!source) return null_argument(error, "source");
    if (!library) return null_argument(error, "library");
    NSString *string = text(source, length);
    if (!string) return fail(error, DC_METAL_INVALID_ARGUMENT, "the source is not UTF-8");
    NSError *cause = nil;
    id<MTLLibrary> object = owned([in(device) newLibraryWithSource:string options:in(options) error:&cause]);
    if (!object) return fail(error, cause);
    NSArray *names = [[object functionNames] sortedArrayUsingSelector:@selector(compare:)];
    std::unique_ptr<DCMetalLibrary_s> made(new (std::nothrow) DCMetalLibrary_s(object, names));
    if (!made) return fail(error, DC_METAL_OUT_OF_MEMORY, "no memory for a library's handle");
    if (cause) (void)fail(error, cause);  // warnings
    *library = made.release();
    return DC_METAL_OK;
  });
}

size_t DCMetalLibrary_GetFunctionCount(DCMetalLibrary library) {
  return ask(size_t(0), [=] { return library ? size_t([library->names count]) : 0; });
}

size_t DCMetalLibrary_GetFunctionName(DCMetalLibrary library, size_t index, char *buffer, size_t capacity) {
  return ask(put(nullptr, 0, buffer, capacity), [=] {
    if (!library || index >= [library->names count]) return size_t(0);
    return put([library->names objectAtIndex:index], buffer, capacity);
  });
}

DCMetalStatus DCMetalLibrary_SetLabel(DCMetalLibrary library, const char *label) {
  return entry(nullptr, [=] {
    NSString *string = label ? text(label) : nil;
    if (!library || (label && !string)) return DC_METAL_INVALID_ARGUMENT;
    [library->object setLabel:string];
    return DC_METAL_OK;
  });
}

void DCMetalLibrary_Release(DCMetalLibrary library) {
  drop([=] { delete library; });
}

// ------------------------------------------------------------------ DCMetalConstants

DCMetalStatus DCMetalConstants_Create(DCMetalConstants *constants, DCMetalError *error) {
  if (constants) *constants = nullptr;
  return entry(error, [=] {
    if (!constants) return null_argument(error, "constants");
    MTLFunctionConstantValues *object = owned([[MTLFunctionConstantValues alloc] init]);
    if (!object) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no function constant values");
    give(constants, object);
    return DC_METAL_OK;
  });
}

// Scalars and vectors: MSL specification, 5.8.1. Each scalar's MTLDataType is followed by its vectors of 2 to 4.
static bool constant_type(uint32_t type) {
  static_assert(MTLDataTypeFloat4 == MTLDataTypeFloat + 3 && MTLDataTypeHalf4 == MTLDataTypeHalf + 3 &&
                    MTLDataTypeInt4 == MTLDataTypeInt + 3 && MTLDataTypeUInt4 == MTLDataTypeUInt + 3 &&
                    MTLDataTypeShort4 == MTLDataTypeShort + 3 && MTLDataTypeUShort4 == MTLDataTypeUShort + 3 &&
                    MTLDataTypeChar4 == MTLDataTypeChar + 3 && MTLDataTypeUChar4 == MTLDataTypeUChar + 3 &&
                    MTLDataTypeBool4 == MTLDataTypeBool + 3 && MTLDataTypeLong4 == MTLDataTypeLong + 3 &&
                    MTLDataTypeULong4 == MTLDataTypeULong + 3,
                "the numbering this check relies on");
  const uint32_t scalars[] = {MTLDataTypeFloat,  MTLDataTypeHalf, MTLDataTypeInt,   MTLDataTypeUInt,
                              MTLDataTypeShort,  MTLDataTypeUShort, MTLDataTypeChar, MTLDataTypeUChar,
                              MTLDataTypeBool,   MTLDataTypeLong, MTLDataTypeULong};
  for (uint32_t scalar : scalars) {
    if (type >= scalar && type <= scalar + 3) return true;
  }
  return false;
}

DCMetalStatus DCMetalConstants_SetAtIndex(DCMetalConstants constants, uint32_t data_type, const void *value,
                                          size_t index) {
  return entry(nullptr, [=] {
    // [[function_constant(n)]], n < 65536: MSL specification, 5.8.1
    if (!constants || !value || !constant_type(data_type) || index > UINT16_MAX) return DC_METAL_INVALID_ARGUMENT;
    [in(constants) setConstantValue:value type:(MTLDataType)data_type atIndex:index];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalConstants_SetNamed(DCMetalConstants constants, uint32_t data_type, const void *value,
                                        const char *name) {
  return entry(nullptr, [=] {
    NSString *string = name ? text(name) : nil;
    if (!constants || !value || !constant_type(data_type) || [string length] == 0) return DC_METAL_INVALID_ARGUMENT;
    [in(constants) setConstantValue:value type:(MTLDataType)data_type withName:string];
    return DC_METAL_OK;
  });
}

void DCMetalConstants_Release(DCMetalConstants constants) {
  drop([=] { take(constants); });
}

// ------------------------------------------------------------------ DCMetalFunction

DCMetalStatus DCMetalFunction_Create(DCMetalLibrary library, const char *name, DCMetalConstants constants,
                                     DCMetalFunction *function, DCMetalError *error) {
  if (function) *function = nullptr;
  return entry(error, [=] {
    if (!library) return null_argument(error, "library");
    if (!name) return null_argument(error, "name");
    if (!function) return null_argument(error, "function");
    NSString *string = text(name);
    if (!string) return fail(error, DC_METAL_INVALID_ARGUMENT, "the name is not UTF-8");
    if (![library->names containsObject:string]) {
      return fail(error, DC_METAL_NOT_FOUND, "the library has no function \"%s\"", name);
    }
    if (!constants) {
      id<MTLFunction> plain = owned([library->object newFunctionWithName:string]);
      if (plain && [[plain functionConstantsDictionary] count] == 0) {
        give(function, plain);
        return DC_METAL_OK;
      }
    }
    // A function with constants: without values for those it needs, Metal's error names them.
    MTLFunctionConstantValues *values = constants ? in(constants) : owned([[MTLFunctionConstantValues alloc] init]);
    NSError *cause = nil;
    id<MTLFunction> made = owned([library->object newFunctionWithName:string constantValues:values error:&cause]);
    if (!made) return fail(error, cause);
    give(function, made);
    return DC_METAL_OK;
  });
}

size_t DCMetalFunction_GetName(DCMetalFunction function, char *buffer, size_t capacity) {
  return ask(put(nullptr, 0, buffer, capacity), [=] { return put([in(function) name], buffer, capacity); });
}

// hostmetal's, and no part of Metal.
@protocol HostMetalAnalysis
- (NSString *)hostmetalAnalysisWithError:(NSError **)error;
@end

DCMetalStatus DCMetalFunction_Analyse(DCMetalFunction function, char *buffer, size_t capacity, size_t *length, DCMetalError *error) {
  if (length) *length = 0;
  return entry(error, [=] {
    put(nullptr, 0, buffer, capacity);
    if (!function) return null_argument(error, "function");
    if (!length) return null_argument(error, "length");
    if (![in(function) respondsToSelector:@selector(hostmetalAnalysisWithError:)]) {
      return fail(error, DC_METAL_UNSUPPORTED, "the analysis of a function: Apple's Metal tells nothing of what it does");
    }
    NSError *cause = nil;
    NSString *told = [(id<HostMetalAnalysis>)in(function) hostmetalAnalysisWithError:&cause];
    if (!told) return fail(error, cause);
    *length = put(told, buffer, capacity);
    return DC_METAL_OK;
  });
}

void DCMetalFunction_Release(DCMetalFunction function) {
  drop([=] { take(function); });
}

// ------------------------------------------------------------------ DCMetalPipeline

static uint8_t usage_of(MTLBindingAccess access) {
  return access == MTLBindingAccessReadOnly    ? MTLTextureUsageShaderRead
         : access == MTLBindingAccessWriteOnly ? MTLTextureUsageShaderWrite
                                               : MTLTextureUsageShaderRead | MTLTextureUsageShaderWrite;
}

static Components components_of_argument(MTLDataType type) {
  switch (type) {
    case MTLDataTypeInt:
    case MTLDataTypeShort:
      return Components::integer;
    case MTLDataTypeUInt:
    case MTLDataTypeUShort:
      return Components::natural;
    default:
      return Components::real;
  }
}

// An array of textures is as many arguments.
static void remember_texture(DCMetalPipeline pipeline, id<MTLTextureBinding> binding) {
  NSUInteger count = [binding arrayLength] > 1 ? [binding arrayLength] : 1;
  for (NSUInteger i = 0; i < count && [binding index] + i < kTextures && pipeline->texture_count < kTextures; i++) {
    TextureNeed &need = pipeline->textures[pipeline->texture_count++];
    need.index = (uint8_t)([binding index] + i);
    need.type = (uint8_t)[binding textureType];
    need.components = components_of_argument([binding textureDataType]);
    need.usage = usage_of([binding access]);
  }
}

static void remember_arguments(DCMetalPipeline pipeline) {
  for (id<MTLBinding> binding in (NSArray *)pipeline->bindings) {
    if (![binding isUsed]) continue;
    NSUInteger index = [binding index];
    if ([binding type] == MTLBindingTypeBuffer && index < kArguments) {
      pipeline->buffers |= 1u << index;
      if ([binding access] != MTLBindingAccessReadOnly) pipeline->written |= 1u << index;
      pipeline->least[index] = [(id<MTLBufferBinding>)binding bufferDataSize];
      const NSUInteger alignment = [(id<MTLBufferBinding>)binding bufferAlignment];  // a power of two
      pipeline->unaligned[index] = alignment > 1 ? (uint32_t)(alignment - 1) : 0;
    } else if ([binding type] == MTLBindingTypeThreadgroupMemory && index < kArguments) {
      pipeline->memories |= 1u << index;
    } else if ([binding type] == MTLBindingTypeTexture) {
      remember_texture(pipeline, (id<MTLTextureBinding>)binding);
    } else if ([binding type] == MTLBindingTypeSampler && index < kSamplers) {
      pipeline->samplers |= 1u << index;
    } else {
      pipeline->unknown = true;
    }
  }
}

// What a dispatch is checked against, read once.
static void remember_limits(DCMetalPipeline pipeline, id<MTLDevice> device, bool whole_simdgroups) {
  id<MTLComputePipelineState> state = pipeline->object;
  pipeline->registry_id = [device registryID];
  pipeline->max_total_threads = [state maxTotalThreadsPerThreadgroup];
  pipeline->execution_width = [state threadExecutionWidth];
  pipeline->static_memory = [state staticThreadgroupMemoryLength];
  pipeline->max_memory = [device maxThreadgroupMemoryLength];
  pipeline->max_threads = [device maxThreadsPerThreadgroup];
#if !defined(__APPLE__) || (defined(__MAC_OS_X_VERSION_MAX_ALLOWED) && __MAC_OS_X_VERSION_MAX_ALLOWED >= 260000)
  if (@available(macOS 26.0, *)) pipeline->required_threads = [state requiredThreadsPerThreadgroup];
#endif
  pipeline->whole_simdgroups = whole_simdgroups;
  pipeline->indirect = [state supportIndirectCommandBuffers];
}

DCMetalStatus dcmetal::describe_pipeline(id<MTLDevice> device, DCMetalFunction function,
                                         const DCMetalPipelineOptions *options,
                                         MTLComputePipelineDescriptor *__strong *descriptor, DCMetalError *error) {
  if (!function) return null_argument(error, "function");
  if ([in(function) functionType] != MTLFunctionTypeKernel) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "the function is no kernel");
  }
  if ([[in(function) device] registryID] != [device registryID]) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "the function is another device's");
  }
  MTLComputePipelineDescriptor *made = owned([[MTLComputePipelineDescriptor alloc] init]);
  [made setComputeFunction:in(function)];
  *descriptor = made;
  if (!options) return DC_METAL_OK;
  if (options->label) {
    NSString *label = text(options->label);
    if (!label) return fail(error, DC_METAL_INVALID_ARGUMENT, "the label is not UTF-8");
    [made setLabel:label];
  }
  uint64_t most = [device maxThreadsPerThreadgroup].width;
  if (options->max_total_threads_per_threadgroup > most) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%llu threads per threadgroup are over the device's limit of %llu",
                (unsigned long long)options->max_total_threads_per_threadgroup, (unsigned long long)most);
  }
  [made setMaxTotalThreadsPerThreadgroup:options->max_total_threads_per_threadgroup];
  [made setThreadGroupSizeIsMultipleOfThreadExecutionWidth:options->threadgroup_size_is_multiple_of_execution_width];
  [made setSupportIndirectCommandBuffers:options->indirect_commands];
  return DC_METAL_OK;
}

static DCMetalStatus set_archives(MTLComputePipelineDescriptor *descriptor, id<MTLDevice> device,
                                  const DCMetalArchive *archives, size_t count, DCMetalError *error) {
  if (count == 0) return DC_METAL_OK;
  if (!archives) return null_argument(error, "archives");
  NSMutableArray *list = owned([[NSMutableArray alloc] init]);
  for (size_t i = 0; i < count; i++) {
    if (!archives[i]) return null_argument(error, "an archive");
    if ([[in(archives[i]) device] registryID] != [device registryID]) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "an archive is another device's");
    }
    [list addObject:in(archives[i])];
  }
  [descriptor setBinaryArchives:list];
  return DC_METAL_OK;
}

DCMetalStatus DCMetalPipeline_Create(DCMetalDevice device, DCMetalFunction function,
                                     const DCMetalPipelineOptions *options, DCMetalPipeline *pipeline,
                                     DCMetalError *error) {
  return DCMetalPipeline_CreateWithArchives(device, function, options, nullptr, 0, false, pipeline, error);
}

DCMetalStatus DCMetalPipeline_CreateWithArchives(DCMetalDevice device, DCMetalFunction function,
                                                 const DCMetalPipelineOptions *options, const DCMetalArchive *archives,
                                                 size_t count, bool only_archives, DCMetalPipeline *pipeline,
                                                 DCMetalError *error) {
  if (pipeline) *pipeline = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!pipeline) return null_argument(error, "pipeline");
    MTLComputePipelineDescriptor *descriptor = nil;
    DCMetalStatus status = describe_pipeline(in(device), function, options, &descriptor, error);
    if (status == DC_METAL_OK) status = set_archives(descriptor, in(device), archives, count, error);
    if (status != DC_METAL_OK) return status;
    NSUInteger wanted = MTLPipelineOptionArgumentInfo | MTLPipelineOptionBufferTypeInfo;
    if (only_archives) wanted |= MTLPipelineOptionFailOnBinaryArchiveMiss;
    MTLComputePipelineReflection *reflection = nil;
    NSError *cause = nil;
    id<MTLComputePipelineState> state =
        owned([in(device) newComputePipelineStateWithDescriptor:descriptor
                                                        options:(MTLPipelineOption)wanted
                                                     reflection:&reflection
                                                          error:&cause]);
    if (!state) return fail(error, cause);
    std::unique_ptr<DCMetalPipeline_s> made(
        new (std::nothrow) DCMetalPipeline_s(state, [reflection bindings], [in(function) name]));
    if (!made || !made->utf8_name) return fail(error, DC_METAL_OUT_OF_MEMORY, "no memory for a pipeline's handle");
    remember_limits(made.get(), in(device), options && options->threadgroup_size_is_multiple_of_execution_width);
    remember_arguments(made.get());
    *pipeline = made.release();
    return DC_METAL_OK;
  });
}

uint64_t DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup(DCMetalPipeline pipeline) {
  return pipeline ? pipeline->max_total_threads : 0;
}

uint64_t DCMetalPipeline_GetThreadExecutionWidth(DCMetalPipeline pipeline) {
  return pipeline ? pipeline->execution_width : 0;
}

uint64_t DCMetalPipeline_GetStaticThreadgroupMemoryLength(DCMetalPipeline pipeline) {
  return pipeline ? pipeline->static_memory : 0;
}

uint64_t DCMetalPipeline_GetResourceID(DCMetalPipeline pipeline) {
  return ask(uint64_t(0), [=]() -> uint64_t {
    if (@available(macOS 13.0, *)) return pipeline && pipeline->indirect ? [pipeline->object gpuResourceID]._impl : 0;
    return 0;
  });
}

size_t DCMetalPipeline_GetBindingCount(DCMetalPipeline pipeline) {
  return ask(size_t(0), [=] { return pipeline ? size_t([pipeline->bindings count]) : 0; });
}

DCMetalStatus DCMetalPipeline_GetBinding(DCMetalPipeline pipeline, size_t position, DCMetalBinding *binding) {
  if (binding) memset(binding, 0, sizeof *binding);
  return entry(nullptr, [=] {
    if (!pipeline || !binding || position >= [pipeline->bindings count]) return DC_METAL_INVALID_ARGUMENT;
    id<MTLBinding> from = [pipeline->bindings objectAtIndex:position];
    binding->kind = (uint32_t)[from type];
    binding->index = (uint32_t)[from index];
    binding->access = (uint32_t)[from access];
    binding->used = [from isUsed];
    if ([from type] == MTLBindingTypeBuffer) {
      id<MTLBufferBinding> buffer = (id<MTLBufferBinding>)from;
      binding->data_type = (uint32_t)[buffer bufferDataType];
      binding->data_size = [buffer bufferDataSize];
      binding->alignment = [buffer bufferAlignment];
    } else if ([from type] == MTLBindingTypeThreadgroupMemory) {
      id<MTLThreadgroupBinding> memory = (id<MTLThreadgroupBinding>)from;
      binding->data_size = [memory threadgroupMemoryDataSize];
      binding->alignment = [memory threadgroupMemoryAlignment];
    } else if ([from type] == MTLBindingTypeTexture) {
      id<MTLTextureBinding> texture = (id<MTLTextureBinding>)from;
      binding->data_type = (uint32_t)[texture textureDataType];
      binding->array_length = [texture arrayLength];
      binding->texture_type = (uint32_t)[texture textureType];
    }
    return DC_METAL_OK;
  });
}

size_t DCMetalPipeline_GetBindingName(DCMetalPipeline pipeline, size_t position, char *buffer, size_t capacity) {
  return ask(put(nullptr, 0, buffer, capacity), [=] {
    if (!pipeline || position >= [pipeline->bindings count]) return size_t(0);
    return put([[pipeline->bindings objectAtIndex:position] name], buffer, capacity);
  });
}

void DCMetalPipeline_Release(DCMetalPipeline pipeline) {
  drop([=] { unshare(pipeline); });
}
