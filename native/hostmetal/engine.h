// The C interface of hostmetal's engine (crates/hostmetal, Rust), as the Metal classes (MTL*.mm) beside this file use it.
//
// The classes are faces: they hold one engine handle, translate arguments, and raise NSException for misuse. All state
// that outlives a call, all threads and all kernels are the engine's. Nothing here throws; no Objective-C object crosses.
//
// Handles are reference counted by the engine: *_create gives one reference, *_release takes it. What a command buffer
// recorded (pipelines, buffers) it holds itself, retained or unretained alike, until it has completed; see
// hm_command_buffer_leave_unretained.
#ifndef HOSTMETAL_ENGINE_H
#define HOSTMETAL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HMDevice_s *HMDevice;  // lives as long as the process; not counted
typedef struct HMBuffer_s *HMBuffer;
typedef struct HMTexture_s *HMTexture;
typedef struct HMHeap_s *HMHeap;
typedef struct HMLibrary_s *HMLibrary;
typedef struct HMFunction_s *HMFunction;
typedef struct HMPipeline_s *HMPipeline;
typedef struct HMArchive_s *HMArchive;
typedef struct HMDynamic_s *HMDynamic;
typedef struct HMVisible_s *HMVisible;
typedef struct HMFunctionTable_s *HMFunctionTable;
typedef struct HMArguments_s *HMArguments;
typedef struct HMCommands_s *HMCommands;
typedef struct HMQueue_s *HMQueue;
typedef struct HMCommandBuffer_s *HMCommandBuffer;
typedef struct HMEncoder_s *HMEncoder;
typedef struct HMEvent_s *HMEvent;
typedef struct HMFence_s *HMFence;
typedef struct HMIOFile_s *HMIOFile;
typedef struct HMIOQueue_s *HMIOQueue;
typedef struct HMIOCommandBuffer_s *HMIOCommandBuffer;
typedef struct HMLog_s *HMLog;

// A failure: code in the error domain that the called object implies (MTLLibraryError, MTLCommandBufferError, ...) and its
// text, freed with hm_string_release. message is NULL when there was none. Every entry that takes one sets it.
typedef struct HMError {
  int64_t code;
  char *message;
} HMError;
void hm_string_release(char *string);

// -------------------------------------------------------------- devices
typedef struct HMDeviceInfo {
  const char *name;  // static
  uint64_t registry_id;
  uint64_t recommended_max_working_set_size;
  uint64_t max_buffer_length;
  uint64_t max_threadgroup_memory_length;
  uint64_t max_threads_per_threadgroup[3];
  uint64_t max_total_threads_per_threadgroup;
  uint64_t location;  // MTLDeviceLocation
  uint64_t location_number;
  bool low_power;
  uint64_t peer_group;  // 0 for none, as are the next two
  uint32_t peer_index, peer_count;
} HMDeviceInfo;
// 0 when the environment asks for devices that cannot be, which a line on stderr tells.
size_t hm_devices(HMDevice *devices, size_t most);  // those that are there: writes at most `most`, returns how many there are
HMDevice hm_device_at(size_t index);  // NULL when out of range
bool hm_device_removed(HMDevice device);
// By their numbers in the environment. False when there is no such device, or one already.
bool hm_device_request_removal(size_t number);
bool hm_device_remove(size_t number);  // nothing runs on it when this returns
bool hm_device_add(size_t number);
// change: 0 added, 1 removal requested, 2 removed. Called on any thread, one change after the other, and makes none itself; the first
// function that is given is the only one.
typedef void (*HMDeviceChanged)(HMDevice device, uint32_t change);
void hm_devices_watch(HMDeviceChanged changed);
void hm_device_info(HMDevice device, HMDeviceInfo *info);
bool hm_device_supports_family(HMDevice device, int64_t family);  // MTLGPUFamily
uint64_t hm_device_current_allocated_size(HMDevice device);
size_t hm_compilers(void);  // that run at a time, at most

// -------------------------------------------------------------- faults on purpose
// Rules as in docs/HOSTMETAL.md; "" for none. False with the error's text, and without a change, when they mean nothing.
bool hm_faults_set(const char *rules, HMError *error);
// Calls of a site since the rules were set, and those of them that failed or were slow. False when there is no such site.
bool hm_faults_count(const char *site, uint64_t *events, uint64_t *injected);
// Whether a sampler is not made, of which there is nothing else here.
bool hm_faults_refuse_sampler(HMDevice device);

// -------------------------------------------------------------- buffers
typedef void (*HMDeallocate)(void *context, void *bytes, uint64_t length);
// Zero-filled, page aligned; NULL when length is 0, above the device's limit, or memory is out.
HMBuffer hm_buffer_create(HMDevice device, uint64_t length);
// Uses bytes in place; deallocate (may be NULL) runs once, on any thread, when the last reference is gone.
HMBuffer hm_buffer_create_no_copy(HMDevice device, void *bytes, uint64_t length, HMDeallocate deallocate, void *context);
// The same memory as another device of the peer group sees it; NULL with *misuse set for any other device.
HMBuffer hm_buffer_create_remote(HMBuffer buffer, HMDevice device, const char **misuse);
void *hm_buffer_contents(HMBuffer buffer);
uint64_t hm_buffer_length(HMBuffer buffer);
uint64_t hm_buffer_allocated_size(HMBuffer buffer);
// MTLPurgeableState; returns the state before. A buffer in a heap has the heap's, which only the heap's call changes.
uint32_t hm_buffer_set_purgeable_state(HMBuffer buffer, uint32_t state);
uint64_t hm_buffer_heap_offset(HMBuffer buffer);  // 0 unless in a placement heap
const char *hm_buffer_make_aliasable(HMBuffer buffer);
bool hm_buffer_is_aliasable(HMBuffer buffer);
void hm_buffer_release(HMBuffer buffer);

// -------------------------------------------------------------- textures
bool hm_pixel_format_known(uint32_t pixel_format);  // MTLPixelFormat
typedef struct HMTextureDescriptor {
  uint32_t texture_type, pixel_format;  // MTLTextureType, MTLPixelFormat
  uint64_t size[3];                     // width, height, depth
  uint64_t levels;                      // of the mipmap chain
  uint64_t slices;                      // elements of an array, else 1
  uint64_t samples;                     // of a multisampled texture, else 1
  uint32_t usage;                       // MTLTextureUsage
  uint8_t swizzle[4];                   // MTLTextureSwizzleChannels
  bool lossy;                           // not MTLTextureCompressionTypeLossless
} HMTextureDescriptor;
// Zero-filled; NULL with *misuse set for a wrong descriptor, NULL without when memory is out.
HMTexture hm_texture_create(HMDevice device, const HMTextureDescriptor *descriptor, const char **misuse);
// Its texels are the buffer's bytes.
HMTexture hm_texture_create_linear(HMBuffer buffer, const HMTextureDescriptor *descriptor, uint64_t offset,
                                   uint64_t bytes_per_row, const char **misuse);
// Shares the texture's memory: first and count of levels and of slices. The swizzle is of what the texture's gives.
HMTexture hm_texture_create_view(HMTexture texture, uint32_t pixel_format, uint32_t texture_type, const uint64_t levels[2],
                                 const uint64_t slices[2], const uint8_t swizzle[4], const char **misuse);
HMTexture hm_texture_create_remote(HMTexture texture, HMDevice device, const char **misuse);  // as hm_buffer_create_remote
// That of its texels, and its usage: a view with another swizzle cannot be written.
void hm_texture_swizzle(HMTexture texture, uint8_t swizzle[4]);
uint32_t hm_texture_usage(HMTexture texture);
// The buffer whose bytes are the texels: no reference, valid while the texture lives.
HMBuffer hm_texture_memory(HMTexture texture);
// The eight bytes that stand for it in argument buffers; no living texture's once it is gone.
uint64_t hm_texture_handle(HMTexture texture);
void hm_texture_release(HMTexture texture);
// Texels of a texture, from origin (x, y, z) on.
typedef struct HMPlace {
  HMTexture texture;
  uint64_t slice, level;
  uint64_t origin[3];
} HMPlace;
// The distances may be 0 where there is one row, or one image.
const char *hm_texture_replace(const HMPlace *place, const uint64_t size[3], const void *bytes, uint64_t bytes_per_row,
                               uint64_t bytes_per_image);
const char *hm_texture_get(const HMPlace *place, const uint64_t size[3], void *bytes, uint64_t bytes_per_row,
                           uint64_t bytes_per_image);
// The bits are laid out in native/hostmetal/msl/hostmetal_sampler.h.
typedef struct HMSampler {
  uint32_t bits;
  float lod_min, lod_max, lod_bias;
} HMSampler;
uint64_t hm_sampler_handle(const HMSampler *sampler);

// -------------------------------------------------------------- heaps
// Offsets and sizes of a heap's resources are multiples of this.
enum { HM_HEAP_ALIGNMENT = 256 };
// size is rounded up to pages; NULL when it is 0, above the device's limit, or memory is out.
HMHeap hm_heap_create(HMDevice device, uint64_t size, bool placement);
typedef struct HMHeapInfo {
  uint64_t size, used;
  uint64_t allocated;  // of the device's account
} HMHeapInfo;
void hm_heap_info(HMHeap heap, HMHeapInfo *info);
uint64_t hm_heap_max_available_size(HMHeap heap, uint64_t alignment);
// Bytes that a resource takes in a heap; 0 when there can be none of that length, and with *misuse set.
uint64_t hm_heap_buffer_size(uint64_t length);
uint64_t hm_heap_texture_size(const HMTextureDescriptor *descriptor, const char **misuse);
// At *offset of a placement heap; offset is NULL for an automatic heap. Its contents are what the memory held. NULL with
// *misuse set for a wrong argument, NULL without when the heap has no room. The resource keeps the heap's memory.
HMBuffer hm_heap_buffer_create(HMHeap heap, uint64_t length, const uint64_t *offset, const char **misuse);
HMTexture hm_heap_texture_create(HMHeap heap, const HMTextureDescriptor *descriptor, const uint64_t *offset,
                                 const char **misuse);
uint32_t hm_heap_set_purgeable_state(HMHeap heap, uint32_t state);  // MTLPurgeableState; returns the state before
void hm_heap_release(HMHeap heap);

// -------------------------------------------------------------- libraries
typedef struct HMMacro {
  const char *name, *value;
} HMMacro;
typedef struct HMCompileOptions {
  uint32_t math_mode;         // MTLMathMode: 0 safe, 1 relaxed, 2 fast
  bool precise_functions;     // MTLMathFloatingPointFunctions
  uint32_t language_version;  // MTLLanguageVersion: (major << 16) + minor; 0 for the newest
  const HMMacro *macros;
  size_t macro_count;
  uint64_t max_total_threads_per_threadgroup;  // of all kernels of the library; 0 for none
  bool enable_logging;                         // messages of os_log are kept
  const char *install_name;                    // of a dynamic library, NULL for any other
  bool hidden_symbols;                         // MTLCompileSymbolVisibilityHidden
  bool undefined_symbols;                      // allowReferencingUndefinedSymbols
  const HMDynamic *libraries;                  // linked with it
  size_t library_count;
  uint64_t required_threads_per_threadgroup[3];  // of all kernels of the library; zeros for none
} HMCompileOptions;
// Never NULL-and-silent: on failure returns NULL with code (MTLLibraryError: 3 compile failure, 4 compile warning,
// 2 internal) and the compiler's log; on success with warnings returns the library and code 4 with the log.
HMLibrary hm_library_create(HMDevice device, const char *source, size_t length, const HMCompileOptions *options,
                            HMError *error);
size_t hm_library_function_count(HMLibrary library);
const char *hm_library_function_name(HMLibrary library, size_t index);  // valid while the library lives; sorted
void hm_library_release(HMLibrary library);
HMDynamic hm_library_dynamic(HMLibrary library);  // what it was compiled as, NULL when that is no dynamic library
// Codes of errors are those of MTLDynamicLibraryError. Reading loads the libraries that the file names.
HMDynamic hm_dynamic_read(const char *path, HMError *error);
bool hm_dynamic_write(HMDynamic dynamic, const char *path, HMError *error);
char *hm_dynamic_install_name(HMDynamic dynamic);  // for hm_string_release
void hm_dynamic_release(HMDynamic dynamic);

// Functions that graphs make of calls of others (MTLStitchedLibraryDescriptor). Nodes are numbered within their graph.
typedef struct HMStitchArgument {
  bool node;       // what a node gives, rather than an input of the new function
  uint64_t index;  // of the input or node
} HMStitchArgument;
typedef struct HMStitchNode {
  const char *function;  // the name of one of the functions
  const HMStitchArgument *arguments;
  size_t argument_count;
  const uint64_t *controls;  // nodes that are called before
  size_t control_count;
} HMStitchNode;
typedef struct HMStitchGraph {
  const char *name;
  const HMStitchNode *nodes;
  size_t node_count;
  uint64_t output;  // the node whose value the function gives, UINT64_MAX for none
} HMStitchGraph;
typedef struct HMStitchFunction {
  const char *name;  // as nodes call it
  HMFunction function;
} HMStitchFunction;
// NULL with code 3 (MTLLibraryErrorCompileFailure) and what is wrong with which node.
HMLibrary hm_library_stitch(HMDevice device, const HMStitchGraph *graphs, size_t graph_count, const HMStitchFunction *functions,
                            size_t function_count, HMError *error);

// A declared function constant of a kernel.
typedef struct HMConstantInfo {
  const char *name;  // valid while the library lives
  uint32_t index;
  uint32_t data_type;  // MTLDataType
  bool required;       // false when the kernel asks is_function_constant_defined of it
} HMConstantInfo;
size_t hm_library_constant_count(HMLibrary library, const char *function);
bool hm_library_constant(HMLibrary library, const char *function, size_t position, HMConstantInfo *info);

// A given value: by name when name is not NULL, else by index. `value` points to one value of data_type.
typedef struct HMConstantValue {
  const char *name;
  uint32_t index;
  uint32_t data_type;
  const void *value;
} HMConstantValue;
// NULL with code 5 (MTLLibraryErrorFunctionNotFound) for an unknown name, 3 when constants are missing or of another type.
HMFunction hm_function_create(HMLibrary library, const char *name, const HMConstantValue *values, size_t count,
                              HMError *error);
void hm_function_release(HMFunction function);
// What the kernel does: lines of words (crates/hostmetal/src/msl/analysis.rs), for hm_string_release; NULL with an error.
char *hm_compiler(void);  // what compiles, for hm_string_release
char *hm_function_analysis(HMFunction function, HMError *error);
typedef struct HMAttribute {
  const char *name;  // valid while the function lives
  uint32_t index, data_type;  // MTLDataType
  bool active;                // not switched off by a function constant
} HMAttribute;
// Of the kernel's [[stage_in]]; the function is compiled when this is first asked. False when out of range, or when that fails.
bool hm_function_attribute(HMFunction function, size_t position, HMAttribute *attribute);

// -------------------------------------------------------------- pipelines
typedef struct HMPipelineInfo {
  uint64_t max_total_threads_per_threadgroup;
  uint64_t thread_execution_width;
  uint64_t static_threadgroup_memory_length;
  uint64_t imageblock_pixel_length;  // 0 where there is no imageblock
  size_t binding_count;
  uint64_t required_threads_per_threadgroup[3];  // zeros where any size will do
} HMPipelineInfo;
typedef struct HMBinding {
  const char *name;     // valid while the pipeline lives
  uint32_t kind;        // MTLBindingType: 0 buffer, 1 threadgroup memory, 2 texture, 3 sampler, 17 imageblock
  uint32_t index;
  uint32_t access;      // MTLBindingAccess
  uint32_t data_type;   // MTLDataType of the element, or of a texture's components
  uint64_t data_size;   // of one element
  uint64_t alignment;
  bool pointer;         // a pointer (many elements) rather than a reference (one); of a texture: a depth texture
  bool used;
  uint32_t texture_type;  // MTLTextureType
  uint32_t count;         // places of the argument table: more than 1 for an array of textures or samplers
  bool argument;          // the kernel names it; else its [[stage_in]] is read from it
} HMBinding;
// MTLStageInputOutputDescriptor.
typedef struct HMStageAttribute {
  uint32_t format, buffer;  // MTLAttributeFormat, 0 for none
  uint64_t offset;
} HMStageAttribute;
typedef struct HMStageLayout {
  uint64_t stride, step_rate;
  uint32_t step_function;  // MTLStepFunction
} HMStageLayout;
typedef struct HMStageInput {
  HMStageAttribute attributes[31];
  HMStageLayout layouts[31];
  uint32_t index_type, index_buffer;  // MTLIndexType
} HMStageInput;
typedef struct HMPipelineOptions {
  uint64_t max_total_threads_per_threadgroup;  // 0 for no limit besides the kernel's
  bool size_is_multiple_of_execution_width;
  bool fail_on_archive_miss;  // what is in no archive is an error (code 5) and not compiled
  const HMArchive *archives;  // looked into first
  size_t archive_count;
  const HMDynamic *preloaded;  // looked into before the library's own
  size_t preloaded_count;
  const HMFunction *linked;  // define what the sources only declare
  size_t linked_count;
  const HMStageInput *stage_input;  // NULL for none
  uint64_t required_threads_per_threadgroup[3];  // zeros for any size
} HMPipelineOptions;
// options may be NULL.
HMPipeline hm_pipeline_create(HMDevice device, HMFunction function, const HMPipelineOptions *options, HMError *error);
void hm_pipeline_info(HMPipeline pipeline, HMPipelineInfo *info);
bool hm_pipeline_binding(HMPipeline pipeline, size_t position, HMBinding *binding);
void hm_pipeline_release(HMPipeline pipeline);

// -------------------------------------------------------------- visible functions
HMPipeline hm_pipeline_retain(HMPipeline pipeline);  // another reference
bool hm_library_function_visible(HMLibrary library, const char *function);  // and no kernel
// As hm_pipeline_create, for such a function; of the options the archives and libraries are looked at.
HMVisible hm_visible_create(HMDevice device, HMFunction function, const HMPipelineOptions *options, HMError *error);
void hm_visible_release(HMVisible function);
// A table without functions; NULL with *misuse set for a wrong count, NULL without when memory is out.
HMFunctionTable hm_function_table_create(HMDevice device, uint64_t count, const char **misuse);
const char *hm_function_table_set(HMFunctionTable table, HMVisible function, uint64_t index);  // function may be NULL
uint64_t hm_function_table_handle(HMFunctionTable table);
HMBuffer hm_function_table_memory(HMFunctionTable table);  // no reference, valid while the table lives
void hm_function_table_release(HMFunctionTable table);

// -------------------------------------------------------------- binary archives
// Codes of errors are those of MTLBinaryArchiveError: 1 invalid file, 3 compilation failure, 4 internal.
bool hm_archive_fails(HMDevice device, HMError *error);  // a fault on purpose
HMArchive hm_archive_create(void);
HMArchive hm_archive_read(const char *path, HMError *error);  // NULL with the error
// Compiles the function, unless the archive has it, and keeps its code. Of the options, the archives are not looked at.
bool hm_archive_add(HMArchive archive, HMDevice device, HMFunction function, const HMPipelineOptions *options, HMError *error);
bool hm_archive_write(HMArchive archive, const char *path, HMError *error);
void hm_archive_release(HMArchive archive);

// -------------------------------------------------------------- indirect command buffers
typedef struct HMCommandsDescriptor {
  bool threadgroups, threads;              // kinds of dispatches
  bool inherit_buffers, inherit_pipeline;  // from the encoder that executes them
  uint32_t buffers, memory;                // indices that buffers and threadgroup memory can be set at
  bool strides;                            // may be set with buffers
} HMCommandsDescriptor;
// NULL with *misuse set for a wrong descriptor, NULL without when memory is out.
HMCommands hm_commands_create(HMDevice device, const HMCommandsDescriptor *descriptor, uint64_t count, const char **misuse);
HMBuffer hm_commands_memory(HMCommands commands);  // no reference, valid while the commands live
uint64_t hm_commands_count(HMCommands commands);
uint64_t hm_commands_handle(HMCommands commands);
void hm_commands_release(HMCommands commands);
const char *hm_commands_set_pipeline(HMCommands commands, uint64_t index, HMPipeline pipeline);  // which they keep
// With a stride, or UINT64_MAX (MTLAttributeStrideStatic) for none.
const char *hm_commands_set_buffer(HMCommands commands, uint64_t index, HMBuffer buffer, uint64_t offset, uint64_t stride,
                                   uint64_t slot);
const char *hm_commands_set_stage_in_region(HMCommands commands, uint64_t index, const uint64_t origin[3],
                                            const uint64_t size[3]);
const char *hm_commands_set_memory(HMCommands commands, uint64_t index, uint64_t length, uint64_t slot);
const char *hm_commands_set_imageblock(HMCommands commands, uint64_t index, uint64_t width, uint64_t height);
const char *hm_commands_dispatch(HMCommands commands, uint64_t index, bool threads, const uint64_t grid[3],
                                 const uint64_t per_threadgroup[3]);
const char *hm_commands_set_barrier(HMCommands commands, uint64_t index, bool barrier);
const char *hm_commands_reset(HMCommands commands, uint64_t first, uint64_t count);
// What they hold is looked at when it runs.
const char *hm_compute_execute(HMEncoder encoder, HMCommands commands, uint64_t first, uint64_t count);
// The range is two 32-bit numbers in the buffer, read when it runs.
const char *hm_compute_execute_indirect(HMEncoder encoder, HMCommands commands, HMBuffer buffer, uint64_t offset);
const char *hm_blit_reset_commands(HMEncoder encoder, HMCommands commands, uint64_t first, uint64_t count);
const char *hm_blit_optimize_commands(HMEncoder encoder, HMCommands commands, uint64_t first, uint64_t count);
const char *hm_blit_copy_commands(HMEncoder encoder, HMCommands source, uint64_t first, uint64_t count, HMCommands destination,
                                  uint64_t index);

// -------------------------------------------------------------- argument buffers
uint64_t hm_pipeline_handle(HMPipeline pipeline);  // the eight bytes that stand for it in memory
// The layout of what a buffer argument points to: a structure in memory, whose pointers, textures and samplers are eight
// bytes each.
typedef struct HMArgument {
  uint32_t data_type;  // MTLDataType
  uint32_t index, array_length;  // 0 for no array
  uint32_t access;        // MTLBindingAccess
  uint32_t texture_type;  // MTLTextureType
  uint64_t alignment;     // at least; 0 for what the type asks for
} HMArgument;
typedef struct HMType {
  const char *name;  // a member's, "" for other types; valid while the arguments live
  uint32_t data_type;       // MTLDataType
  uint32_t argument_index;  // of a member's first argument
  uint32_t argument_count;
  uint32_t access;             // MTLBindingAccess of a texture, or of what a pointer points to
  uint32_t texture_type;       // MTLTextureType
  uint32_t texture_data_type;  // MTLDataType
  uint32_t count;              // of an array; of a texture: 1 when it is a depth texture
  uint32_t descendants;        // types below this one, which follow it: members, the element, what is pointed to
  bool resources;              // textures, samplers, pointers and the like are in it
  uint64_t offset;             // of a member
  uint64_t size, alignment;
} HMType;
// NULL with *error set when the function does not compile, NULL without when it has no such buffer.
HMArguments hm_function_arguments(HMFunction function, uint32_t index, HMError *error);
HMArguments hm_pipeline_arguments(HMPipeline pipeline, size_t position);  // NULL for what is no buffer
HMArguments hm_arguments_create(const HMArgument *arguments, size_t count, const char **misuse);
HMArguments hm_arguments_pointee(HMArguments arguments, uint32_t index, const char **misuse);
uint64_t hm_arguments_length(HMArguments arguments);
uint64_t hm_arguments_alignment(HMArguments arguments);
// data_type: that of the argument, 0 for a value of any type.
const char *hm_arguments_find(HMArguments arguments, uint32_t index, uint32_t data_type, uint64_t *offset);
// In preorder, the buffer's own type first; false when out of range.
bool hm_arguments_type(HMArguments arguments, size_t position, HMType *type);
HMArguments hm_arguments_retain(HMArguments arguments);  // another reference
void hm_arguments_release(HMArguments arguments);

// -------------------------------------------------------------- queues and command buffers
HMQueue hm_queue_create(HMDevice device, size_t max_command_buffers);  // NULL where the rules of faults say so
void hm_queue_release(HMQueue queue);

// Blocks while max_command_buffers of the queue are uncompleted. NULL where the rules of faults say so.
HMCommandBuffer hm_command_buffer_create(HMQueue queue);
void hm_command_buffer_release(HMCommandBuffer command_buffer);
// Misuse is answered with a static text for an exception, NULL when fine; so are all calls below that return one.
const char *hm_command_buffer_enqueue(HMCommandBuffer command_buffer);
// scheduled and completed are each called exactly once with context, on a thread of the engine; completed after the status
// is final and before hm_command_buffer_wait_completed returns. context must stay valid until then. Either may be NULL.
typedef void (*HMNotify)(void *context);
const char *hm_command_buffer_commit(HMCommandBuffer command_buffer, HMNotify scheduled, HMNotify completed, void *context);
// Before anything is recorded: the program keeps what is. If it gives up a buffer or a texture before the command buffer has completed, that has
// failed (MTLCommandBufferErrorInvalidResource): on a GPU the memory could be another's by then.
void hm_command_buffer_leave_unretained(HMCommandBuffer command_buffer);
// Calls release once with context, on any thread, when the command buffer has run or is gone without; false, without
// calling it, once the command buffer is committed.
bool hm_command_buffer_keep(HMCommandBuffer command_buffer, void *context, HMNotify release);
const char *hm_command_buffer_wait_scheduled(HMCommandBuffer command_buffer);
const char *hm_command_buffer_wait_completed(HMCommandBuffer command_buffer);
uint32_t hm_command_buffer_status(HMCommandBuffer command_buffer);  // MTLCommandBufferStatus
// Once the status is Error: MTLCommandBufferError code (1 internal, 2 timeout, 3 page fault, 8 out of memory, ...) and text;
// false otherwise. error->message is the caller's.
bool hm_command_buffer_error(HMCommandBuffer command_buffer, HMError *error);
typedef struct HMEncoderInfo {
  const char *label;       // "" when it has none; valid while the command buffer lives
  uint32_t state;          // MTLCommandEncoderErrorState
  size_t signpost_count;
} HMEncoderInfo;
size_t hm_command_buffer_encoder_count(HMCommandBuffer command_buffer);
bool hm_command_buffer_encoder(HMCommandBuffer command_buffer, size_t index, HMEncoderInfo *info);
const char *hm_command_buffer_encoder_signpost(HMCommandBuffer command_buffer, size_t index, size_t signpost);
// Seconds on the clock of CLOCK_MONOTONIC; 0 before they are known.
typedef struct HMTimes {
  double kernel_start, kernel_end, gpu_start, gpu_end;
} HMTimes;
void hm_command_buffer_times(HMCommandBuffer command_buffer, HMTimes *times);

// -------------------------------------------------------------- logs
// Messages of level (MTLLogLevel) and above, in a log of size bytes. NULL for a wrong size or level, or when memory is out: then
// *out_of_memory.
HMLog hm_log_create(uint32_t level, uint64_t size, bool *out_of_memory);
void hm_log_release(HMLog log);
void hm_command_buffer_set_log(HMCommandBuffer command_buffer, HMLog log);  // before it is committed
// Calls function with each message of command buffers that have completed, once; subsystem and category may be NULL. Nothing is
// held meanwhile.
typedef void (*HMMessage)(void *context, const char *subsystem, const char *category, uint32_t level, const char *text);
void hm_log_take(HMLog log, HMMessage function, void *context);

// -------------------------------------------------------------- encoders
// NULL with *misuse set when the command buffer is committed or another encoder is open, without where the rules of faults say so.
HMEncoder hm_compute_encoder_create(HMCommandBuffer command_buffer, bool concurrent, const char **misuse);
HMEncoder hm_blit_encoder_create(HMCommandBuffer command_buffer, const char **misuse);
void hm_encoder_release(HMEncoder encoder);
void hm_encoder_set_label(HMEncoder encoder, const char *label);
void hm_encoder_insert_signpost(HMEncoder encoder, const char *text);
void hm_encoder_push_group(HMEncoder encoder, const char *text);
const char *hm_encoder_pop_group(HMEncoder encoder);
const char *hm_encoder_end(HMEncoder encoder);
bool hm_encoder_ended(HMEncoder encoder);

const char *hm_compute_set_pipeline(HMEncoder encoder, HMPipeline pipeline);
const char *hm_compute_set_buffer(HMEncoder encoder, HMBuffer buffer, uint64_t offset, size_t index);
const char *hm_compute_set_buffer_offset(HMEncoder encoder, uint64_t offset, size_t index);
const char *hm_compute_set_functions(HMEncoder encoder, HMFunctionTable table, size_t index);  // at a buffer's index
const char *hm_compute_set_texture(HMEncoder encoder, HMTexture texture, size_t index);
const char *hm_compute_set_sampler(HMEncoder encoder, const HMSampler *sampler, size_t index);
const char *hm_compute_set_bytes(HMEncoder encoder, const void *bytes, size_t length, size_t index);
const char *hm_compute_set_threadgroup_memory(HMEncoder encoder, uint64_t length, size_t index);
const char *hm_compute_set_imageblock(HMEncoder encoder, uint64_t width, uint64_t height);
const char *hm_compute_dispatch_threads(HMEncoder encoder, const uint64_t threads[3], const uint64_t per_threadgroup[3]);
const char *hm_compute_dispatch_threadgroups(HMEncoder encoder, const uint64_t threadgroups[3],
                                             const uint64_t per_threadgroup[3]);
const char *hm_compute_barrier(HMEncoder encoder);
const char *hm_blit_copy(HMEncoder encoder, HMBuffer source, uint64_t source_offset, HMBuffer destination,
                         uint64_t destination_offset, uint64_t length);
// Texels in linear memory.
typedef struct HMLayout {
  HMBuffer buffer;
  uint64_t offset, bytes_per_row, bytes_per_image;  // the last two may be 0 where there is one row, or one image
} HMLayout;
const char *hm_blit_copy_to_texture(HMEncoder encoder, const HMLayout *source, const HMPlace *destination,
                                    const uint64_t size[3]);
const char *hm_blit_copy_from_texture(HMEncoder encoder, const HMPlace *source, const HMLayout *destination,
                                      const uint64_t size[3]);
const char *hm_blit_copy_texture(HMEncoder encoder, const HMPlace *source, const HMPlace *destination,
                                 const uint64_t size[3]);
const char *hm_blit_generate_mipmaps(HMEncoder encoder, HMTexture texture);
const char *hm_blit_fill(HMEncoder encoder, HMBuffer buffer, uint64_t offset, uint64_t length, uint8_t value);

// -------------------------------------------------------------- performance shaders
// Matrices in a buffer, row by row.
typedef struct HMMatrix {
  HMBuffer buffer;
  uint64_t offset, rows, columns, row_bytes, matrices, matrix_bytes;
  uint32_t data_type;  // MPSDataType
} HMMatrix;
const char *hm_matrix_check(const HMMatrix *matrix);
// result = alpha op(left) op(right) + beta result; with a beta of 0 what the result holds is not read.
typedef struct HMMultiplication {
  bool transposes[2];
  uint64_t rows, columns, interior;  // of the result, and of each sum
  double alpha, beta;
  uint64_t origins[3][2];  // row and column of left, right and result
  uint64_t batch_start, batch_size;  // UINT64_MAX: all that the result has
} HMMultiplication;
// Left, right and result.
const char *hm_compute_multiply(HMEncoder encoder, const HMMultiplication *multiplication, const HMMatrix (*matrices)[3]);

// A function of the rows of matrices: softmax, or a neuron (MPSCNNNeuronType) of each element times alpha.
typedef struct HMUnary {
  bool softmax;
  int32_t neuron;
  float parameters[2];
  double alpha;
  uint64_t origins[2][2];            // row and column of source and result
  uint64_t rows, columns;            // at most; UINT64_MAX: all that the source has
  uint64_t batch_start, batch_size;  // UINT64_MAX: all that the result has
} HMUnary;
// Source and result, which may be one matrix.
const char *hm_compute_unary(HMEncoder encoder, const HMUnary *unary, const HMMatrix (*matrices)[2]);

// -------------------------------------------------------------- graphs of performance shaders
typedef enum HMGraphOperation {
  HM_GRAPH_CAST,
  HM_GRAPH_ADDITION,
  HM_GRAPH_CONVOLUTION,  // source, weights
  HM_GRAPH_MAX_POOLING,
  HM_GRAPH_AVERAGE_POOLING,
  HM_GRAPH_SUM,
  HM_GRAPH_MEAN,
  HM_GRAPH_VARIANCE,  // tensor, its mean
  HM_GRAPH_MAXIMUM,
  HM_GRAPH_MINIMUM,
  HM_GRAPH_NORMALIZATION,  // tensor, mean, variance, gamma?, beta?
} HMGraphOperation;
// A tensor's type and extents, the slowest axis first. A rank of 0: no tensor.
typedef struct HMGraphShape {
  uint32_t data_type;  // MPSDataType
  uint32_t rank;
  uint64_t extents[4];
} HMGraphShape;
typedef struct HMGraphNode {
  uint32_t operation;  // HMGraphOperation
  HMGraphShape inputs[5], result;
  uint64_t window[2], stride[2], dilation[2];  // rows and columns
  uint64_t padding[4];                         // top, bottom, left, right
  uint64_t groups;
  uint32_t axes;  // a bit for each
  float epsilon;
  bool counts_padding;
} HMGraphNode;
// A tensor's numbers, packed; a NULL buffer: no tensor.
typedef struct HMGraphMemory {
  HMBuffer buffer;
  uint64_t offset;
} HMGraphMemory;
const char *hm_graph_shape_check(const HMGraphShape *shape);
const char *hm_graph_memory_check(const HMGraphMemory *memory, const HMGraphShape *shape);
const char *hm_graph_check(HMGraphNode *node);  // sets the result's shape; of a cast its type is given
// Memory of the inputs, then of the result.
const char *hm_compute_graph_node(HMEncoder encoder, const HMGraphNode *node, const HMGraphMemory (*memory)[6]);

// -------------------------------------------------------------- events, fences
// A number that only grows, from 0. A shared one may be used with other devices than its own. NULL where the rules of faults say so.
HMEvent hm_event_create(HMDevice device, bool shared);
HMEvent hm_event_open(HMDevice device, HMEvent event);  // one reference more, or NULL where the rules of faults say so
HMEvent hm_event_share(HMEvent event);  // one reference more
void hm_event_release(HMEvent event);
void hm_event_set_label(HMEvent event, const char *label);
char *hm_event_label(HMEvent event);  // for hm_string_release
uint64_t hm_event_value(HMEvent event);
void hm_event_signal(HMEvent event, uint64_t value);  // does nothing where the value is larger already
bool hm_event_wait(HMEvent event, uint64_t value, uint64_t milliseconds);
// Called exactly once, by whoever makes the value large enough, and must not block: with the event (one reference of the
// callee's) and its value, or with NULL when the event went before it reached the value.
typedef void (*HMReached)(void *context, HMEvent event, uint64_t value);
void hm_event_notify(HMEvent event, uint64_t value, HMReached function, void *context);
// Between encoders. A command buffer that waits longer than the watchdog allows fails; one that fails makes its signals all
// the same, at its end.
const char *hm_command_buffer_signal(HMCommandBuffer command_buffer, HMEvent event, uint64_t value);
const char *hm_command_buffer_wait_event(HMCommandBuffer command_buffer, HMEvent event, uint64_t value);

HMFence hm_fence_create(HMDevice device);  // NULL where the rules of faults say so
void hm_fence_release(HMFence fence);
const char *hm_encoder_update_fence(HMEncoder encoder, HMFence fence);
const char *hm_encoder_wait_for_fence(HMEncoder encoder, HMFence fence);

// Passes that overtake each other (docs/HOSTMETAL.md, "Passes in another order"). The encoders are open.
void hm_overlap_set(uint64_t seed);  // of what is encoded from now on; 0: they do not
uint64_t hm_overlap_count(void);     // passes that ran before an earlier one of their queue
void hm_encoder_queue_barrier(HMEncoder encoder);
void hm_buffer_leave_untracked(HMBuffer buffer);
// What commands use that is not bound to them; a heap is a tracked one, and read.
void hm_encoder_use_buffer(HMEncoder encoder, HMBuffer buffer, bool writes);
void hm_encoder_use_heap(HMEncoder encoder, HMHeap heap);

// -------------------------------------------------------------- files
// Misuse is answered as by command buffers; what cannot be loaded is an error of the command buffer.
HMIOFile hm_io_file_open(const char *path, HMError *error);  // a regular file; NULL with the error (MTLIOError)
void hm_io_file_release(HMIOFile file);
typedef struct HMIOQueueDescriptor {
  uint64_t max_command_buffers;  // uncompleted
  uint64_t max_commands;         // loads at the same time; 0 for no limit
  bool serial;
  uint32_t priority;  // MTLIOPriority
} HMIOQueueDescriptor;
// NULL when the device was removed, or where the rules of faults say so.
HMIOQueue hm_io_queue_create(HMDevice device, const HMIOQueueDescriptor *descriptor);
void hm_io_queue_release(HMIOQueue queue);
void hm_io_queue_barrier(HMIOQueue queue);
// Blocks while max_command_buffers of the queue are uncompleted. NULL where the rules of faults say so.
HMIOCommandBuffer hm_io_create(HMIOQueue queue);
void hm_io_release(HMIOCommandBuffer command_buffer);
const char *hm_io_load_bytes(HMIOCommandBuffer command_buffer, void *bytes, uint64_t size, HMIOFile file, uint64_t offset);
const char *hm_io_load_buffer(HMIOCommandBuffer command_buffer, HMBuffer buffer, uint64_t at, uint64_t size, HMIOFile file,
                              uint64_t offset);
// distances: bytes per row and per image in the file, 0 where there is one.
const char *hm_io_load_texture(HMIOCommandBuffer command_buffer, const HMPlace *place, const uint64_t size[3],
                               const uint64_t distances[2], HMIOFile file, uint64_t offset);
const char *hm_io_copy_status(HMIOCommandBuffer command_buffer, HMBuffer buffer, uint64_t offset);  // 8 bytes, once it is final
const char *hm_io_barrier(HMIOCommandBuffer command_buffer);
// Of shared events. A signal waits for all before it; what is behind the last load is made when the status is final.
const char *hm_io_signal(HMIOCommandBuffer command_buffer, HMEvent event, uint64_t value);
const char *hm_io_wait_event(HMIOCommandBuffer command_buffer, HMEvent event, uint64_t value);
const char *hm_io_enqueue(HMIOCommandBuffer command_buffer);
// completed is called exactly once with context, on a thread of the engine, after the status is final and before
// hm_io_wait_completed returns. It may be NULL.
const char *hm_io_commit(HMIOCommandBuffer command_buffer, HMNotify completed, void *context);
const char *hm_io_wait_completed(HMIOCommandBuffer command_buffer);
void hm_io_cancel(HMIOCommandBuffer command_buffer);  // what has not begun to load
uint32_t hm_io_status(HMIOCommandBuffer command_buffer);  // MTLIOStatus
bool hm_io_error(HMIOCommandBuffer command_buffer, HMError *error);  // once the status is Error; false otherwise

// -------------------------------------------------------------- time
uint64_t hm_clock_now(void);  // nanoseconds of CLOCK_MONOTONIC
// Writes that time to the element of 8 bytes at index, when execution comes here or to the encoder's end.
const char *hm_encoder_sample(HMEncoder encoder, HMBuffer samples, uint64_t index, bool at_end);
// What kernels see as grid_origin and grid_size; without it the grid itself.
const char *hm_compute_set_stage_in_region(HMEncoder encoder, const uint64_t origin[3], const uint64_t size[3]);
// Six 32-bit numbers at offset, read when dispatches run.
const char *hm_compute_set_stage_in_region_indirect(HMEncoder encoder, HMBuffer buffer, uint64_t offset);
// Of the buffer that was set last at the index; UINT64_MAX (MTLAttributeStrideStatic) for none.
const char *hm_compute_set_attribute_stride(HMEncoder encoder, uint64_t stride, size_t index);
// The number of threadgroups is three 32-bit numbers at offset, read when the dispatch runs.
const char *hm_compute_dispatch_indirect(HMEncoder encoder, HMBuffer buffer, uint64_t offset,
                                         const uint64_t per_threadgroup[3]);

#ifdef __cplusplus
}
#endif
#endif
