//! The table of C ABI cases: what every function of native/include/DCMetal*.h does, run on whichever Metal is linked.
//!
//! A row names what must hold, the functions it is about and the function that shows it. Two tests watch the table itself:
//! each function of the header has a row, and a row's case really calls the functions that it names.
//! `DCMETAL_ABI_CASES=word` runs the cases whose names contain the word.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[path = "abi/archive.rs"]
mod archive;
#[path = "abi/blit.rs"]
mod blit;
#[path = "abi/buffer.rs"]
mod buffer;
#[path = "abi/command.rs"]
mod command;
#[path = "abi/compute.rs"]
mod compute;
#[path = "abi/device.rs"]
mod device;
#[path = "abi/event.rs"]
mod event;
#[path = "abi/graph.rs"]
mod graph;
#[path = "abi/heap.rs"]
mod heap;
#[path = "abi/indirect.rs"]
mod indirect;
#[path = "abi/library.rs"]
mod library;
#[path = "abi/lifetime.rs"]
mod lifetime;
#[cfg(target_os = "linux")]
#[path = "abi/nil.rs"]
mod nil;
#[path = "abi/performance.rs"]
mod performance;
#[path = "abi/pipeline.rs"]
mod pipeline;
#[path = "abi/plant.rs"]
mod plant;
#[cfg(target_os = "linux")]
#[path = "abi/pools.rs"]
mod pools;
#[path = "abi/support.rs"]
mod support;
#[path = "abi/texture.rs"]
mod texture;

pub(crate) const HEADER: &str =
    concat!(include_str!("../native/include/DCMetal.h"), include_str!("../native/include/DCMetalPerformance.h"));

struct Case {
    name: &'static str,
    holds: &'static str,
    functions: &'static [&'static str],
    run: fn(),
}

/// Names each function by its binding too, so that a row of a function that is not there does not compile.
macro_rules! case {
    ($module:ident::$name:ident, $holds:literal, [$($function:ident),* $(,)?] $(,)?) => {
        Case {
            name: stringify!($name),
            holds: $holds,
            functions: &[$({
                let _ = dcmetal_sys::$function;
                stringify!($function)
            }),*],
            run: $module::$name,
        }
    };
}

#[rustfmt::skip] // one row, one thought
const CASES: &[Case] = &[
    // device.rs
    case!(device::version_is_the_headers, "the version is the header's number",
        [DCMetal_AbiVersion]),
    case!(device::error_of_null_is_empty, "the getters of a NULL error answer with nothing, its release does nothing",
        [DCMetalError_GetDomain, DCMetalError_GetMessage, DCMetalError_GetEncoderLabel, DCMetalError_GetCode,
         DCMetalError_GetEncoderCount, DCMetalError_GetEncoderState, DCMetalError_Release]),
    case!(device::error_says_domain_code_and_sentence, "a check of this interface has domain DCMetal, the status as its code, and words",
        [DCMetalError_GetDomain, DCMetalError_GetCode, DCMetalError_GetMessage]),
    case!(device::error_without_encoders_has_none, "an error of no command buffer has no encoders at any index",
        [DCMetalError_GetEncoderCount, DCMetalError_GetEncoderState, DCMetalError_GetEncoderLabel]),
    case!(device::error_text_is_never_cut, "a text of 100,000 bytes comes back whole",
        [DCMetalError_GetMessage]),
    case!(device::error_text_is_cut_between_characters, "at every capacity a text is cut between characters and terminated",
        [DCMetalError_GetMessage]),
    case!(device::error_outlives_everything, "an error needs no object that was there when it was made",
        [DCMetalError_GetMessage, DCMetalError_Release]),
    case!(device::devices_are_listed, "all devices come back owned, with ids that differ; the rest of the array is NULL",
        [DCMetalDevice_CreateAll, DCMetalDevice_Release, DCMetalDevice_GetRegistryID]),
    case!(device::devices_beyond_the_capacity_are_only_counted, "the count is of all, the writing stops at the capacity",
        [DCMetalDevice_CreateAll]),
    case!(device::devices_wrong_arguments_are_refused, "NULL where devices or their count go is refused",
        [DCMetalDevice_CreateAll, DCMetalDevice_CreateSystemDefault]),
    case!(device::default_device_is_one_of_all, "the default device is one of the list; error may be NULL",
        [DCMetalDevice_GetRegistryID, DCMetalDevice_CreateSystemDefault, DCMetalDevice_Release]),
    case!(device::device_has_a_name, "a device has a name",
        [DCMetalDevice_GetName]),
    case!(device::device_names_its_compiler, "a device names the compiler that is no part of the system",
        [DCMetalDevice_GetCompiler]),
    case!(device::device_limits_are_metals, "limits are at least those every Metal device has, the working set at most the memory",
        [DCMetalDevice_GetMaxThreadgroupMemoryLength, DCMetalDevice_GetMaxBufferLength,
         DCMetalDevice_GetMaxThreadsPerThreadgroup, DCMetalDevice_GetRecommendedMaxWorkingSetSize,
         DCMetalDevice_HasUnifiedMemory]),
    case!(device::device_kind_is_consistent, "low power, headless, removable and unified memory fit together",
        [DCMetalDevice_HasUnifiedMemory, DCMetalDevice_IsLowPower, DCMetalDevice_IsRemovable,
         DCMetalDevice_IsHeadless]),
    case!(device::device_has_a_place, "a device that cannot be taken out is built in or in a slot; a peer group has a device at each index",
        [DCMetalDevice_GetLocation, DCMetalDevice_GetLocationNumber, DCMetalDevice_GetMaxTransferRate,
         DCMetalDevice_GetPeerGroupID, DCMetalDevice_GetPeerIndex, DCMetalDevice_GetPeerCount]),
    case!(device::device_families_are_nested, "a family brings those before it; unknown numbers are no families",
        [DCMetalDevice_SupportsFamily]),
    case!(device::device_counts_what_is_allocated, "the allocated size follows a buffer's life",
        [DCMetalDevice_GetCurrentAllocatedSize]),
    case!(device::device_of_null_has_nothing, "the getters of a NULL device answer 0 and no",
        [DCMetalDevice_GetName, DCMetalDevice_GetCompiler, DCMetalDevice_GetRegistryID,
         DCMetalDevice_HasUnifiedMemory, DCMetalDevice_IsLowPower, DCMetalDevice_IsHeadless, DCMetalDevice_IsRemovable, DCMetalDevice_GetRecommendedMaxWorkingSetSize,
         DCMetalDevice_GetCurrentAllocatedSize, DCMetalDevice_GetMaxBufferLength,
         DCMetalDevice_GetMaxThreadgroupMemoryLength, DCMetalDevice_GetMaxThreadsPerThreadgroup,
         DCMetalDevice_SupportsFamily, DCMetalDevice_GetLocation, DCMetalDevice_GetLocationNumber,
         DCMetalDevice_GetMaxTransferRate, DCMetalDevice_GetPeerGroupID, DCMetalDevice_GetPeerIndex,
         DCMetalDevice_GetPeerCount, DCMetalDevice_Release]),
    case!(device::queue_runs_after_its_device_handle, "a queue keeps what it needs of its device",
        [DCMetalQueue_Create, DCMetalQueue_Release]),
    case!(device::queue_label_is_checked, "a label is UTF-8 or NULL",
        [DCMetalQueue_SetLabel]),
    case!(device::queue_refuses_null, "NULL arguments are refused by name",
        [DCMetalQueue_Create, DCMetalQueue_Release]),
    case!(device::queue_of_one_waits_for_its_command_buffer, "a queue of one makes the next command buffer when the first has completed",
        [DCMetalQueue_Create]),
    // buffer.rs
    case!(buffer::buffer_starts_as_zeros, "a new buffer is zeros, also where dirty memory was given back",
        [DCMetalBuffer_GetContents]),
    case!(buffer::buffer_of_each_storage, "each storage mode is kept; private memory is hidden",
        [DCMetalBuffer_Create, DCMetalBuffer_GetStorageMode, DCMetalBuffer_GetLength, DCMetalBuffer_GetContents]),
    case!(buffer::buffer_write_combined_is_written, "write-combined memory holds what is written",
        [DCMetalBuffer_Create, DCMetalBuffer_GetContents]),
    case!(buffer::buffer_copies_bytes, "the bytes are copied when the buffer is made",
        [DCMetalBuffer_CreateWithBytes]),
    case!(buffer::buffer_wrong_arguments_are_refused, "no length, too much, unknown modes and NULL are refused",
        [DCMetalDevice_GetMaxBufferLength, DCMetalBuffer_Create]),
    case!(buffer::buffer_with_bytes_wrong_arguments_are_refused, "no bytes, private storage and NULL are refused",
        [DCMetalBuffer_CreateWithBytes]),
    case!(buffer::buffer_labels, "a label comes back as it was set; NULL removes it",
        [DCMetalBuffer_GetLabel, DCMetalBuffer_SetLabel]),
    case!(buffer::text_that_is_not_utf8_is_refused, "every kind of malformed UTF-8 is refused and changes nothing",
        [DCMetalBuffer_SetLabel, DCMetalBuffer_GetLabel]),
    case!(buffer::buffer_modified_range_is_checked, "ranges inside a managed buffer only, whatever the arithmetic",
        [DCMetalBuffer_DidModifyRange]),
    case!(buffer::remote_view_is_for_a_peer, "private storage, another device of the group, and nothing NULL; else it is refused",
        [DCMetalBuffer_CreateRemoteView]),
    case!(buffer::buffer_of_null_has_nothing, "a NULL buffer is empty, private and refuses what is set",
        [DCMetalBuffer_GetContents, DCMetalBuffer_GetLength, DCMetalBuffer_GetStorageMode,
         DCMetalBuffer_DidModifyRange, DCMetalBuffer_SetLabel, DCMetalBuffer_GetLabel, DCMetalBuffer_Release]),
    case!(buffer::buffer_outlives_its_device, "a buffer keeps what it needs of its device",
        [DCMetalBuffer_Release, DCMetalBuffer_GetContents]),
    case!(buffer::no_copy_is_the_callers_memory, "the buffer's contents are the caller's pages",
        [DCMetalBuffer_CreateNoCopy, DCMetalBuffer_GetContents, DCMetalBuffer_GetLength,
         DCMetalBuffer_GetStorageMode]),
    case!(buffer::no_copy_deallocator_runs_once_at_the_end, "the deallocator runs once, with the length, when the buffer goes",
        [DCMetalBuffer_CreateNoCopy, DCMetalBuffer_Release]),
    case!(buffer::no_copy_without_deallocator, "no deallocator, no call",
        [DCMetalBuffer_CreateNoCopy]),
    case!(buffer::no_copy_deallocator_waits_for_the_command_buffer, "a command buffer that uses the memory holds it until it has completed",
        [DCMetalBuffer_CreateNoCopy, DCMetalBlitEncoder_FillBuffer, DCMetalBlitEncoder_EndEncoding]),
    case!(buffer::no_copy_failure_leaves_the_memory, "after a failure the memory stays the caller's and the deallocator is not called",
        [DCMetalBuffer_CreateNoCopy]),
    // library.rs
    case!(library::math_mode_safe_keeps_nan, "safe mathematics keeps NaN",
        [DCMetalCompileOptions_SetMathMode]),
    case!(library::math_mode_safe_has_precise_functions, "safe mathematics has precise functions",
        [DCMetalCompileOptions_SetMathMode]),
    case!(library::math_mode_each_compiles, "each mode compiles; other numbers are refused",
        [DCMetalCompileOptions_Create, DCMetalCompileOptions_Release, DCMetalCompileOptions_SetMathMode]),
    case!(library::language_version_reaches_the_compiler, "the version is what __METAL_VERSION__ says",
        [DCMetalCompileOptions_SetLanguageVersion]),
    case!(library::language_version_unknown_is_unsupported, "a version this system does not know is unsupported",
        [DCMetalCompileOptions_SetLanguageVersion]),
    case!(library::macro_is_defined, "macros are defined, empty ones too; the last definition holds",
        [DCMetalCompileOptions_SetMacro]),
    case!(library::macro_wrong_arguments_are_refused, "a name that is no identifier and a value with a line break are refused",
        [DCMetalCompileOptions_SetMacro]),
    case!(library::options_refuse_null, "NULL arguments are refused",
        [DCMetalCompileOptions_Create, DCMetalCompileOptions_SetMathMode, DCMetalCompileOptions_SetLanguageVersion,
         DCMetalCompileOptions_SetMacro, DCMetalCompileOptions_Release]),
    case!(library::library_lists_its_functions_sorted, "the kernels are listed by name, helpers are not",
        [DCMetalLibrary_Release, DCMetalLibrary_GetFunctionCount, DCMetalLibrary_GetFunctionName]),
    case!(library::library_error_names_the_line, "a compile error has Metal's domain and code, the line, the column and the words",
        [DCMetalLibrary_CreateWithSource]),
    case!(library::library_error_text_is_never_cut, "the compiler's log comes back whole",
        [DCMetalLibrary_CreateWithSource, DCMetalError_GetMessage]),
    case!(library::library_with_warnings_comes_with_them, "a library with warnings is made and the warnings are told",
        [DCMetalLibrary_CreateWithSource]),
    case!(library::library_source_ends_at_its_length, "source beyond the length is not read",
        [DCMetalLibrary_CreateWithSource, DCMetalLibrary_GetFunctionCount]),
    case!(library::library_of_nothing_is_empty, "empty source is a library without functions",
        [DCMetalLibrary_GetFunctionCount, DCMetalLibrary_GetFunctionName]),
    case!(library::library_wrong_arguments_are_refused, "NULL and source that is not UTF-8 are refused",
        [DCMetalLibrary_CreateWithSource]),
    case!(library::library_label_is_checked, "a label is UTF-8 or NULL",
        [DCMetalLibrary_SetLabel]),
    case!(library::library_of_null_has_nothing, "a NULL library has no functions",
        [DCMetalLibrary_GetFunctionCount, DCMetalLibrary_GetFunctionName, DCMetalLibrary_SetLabel,
         DCMetalLibrary_Release]),
    case!(library::function_outlives_its_library, "a function runs after its library's handle is gone",
        [DCMetalFunction_Create, DCMetalLibrary_Release, DCMetalFunction_GetName]),
    case!(library::function_unknown_is_not_found, "a name the library does not have is not found, with or without constants",
        [DCMetalFunction_Create, DCMetalConstants_Create]),
    case!(library::function_wrong_arguments_are_refused, "NULL and a name that is not UTF-8 are refused",
        [DCMetalFunction_Create, DCMetalFunction_GetName, DCMetalFunction_Release]),
    case!(library::function_analysis_tells_what_a_function_does, "what a function does is told in lines, cut to the buffer",
        [DCMetalFunction_Analyse]),
    case!(library::function_analysis_wrong_arguments_are_refused, "NULL is refused",
        [DCMetalFunction_Analyse]),
    case!(library::constants_specialize_a_function, "values by index and by name reach the kernel; two specialisations differ",
        [DCMetalConstants_Create, DCMetalConstants_SetAtIndex, DCMetalConstants_SetNamed, DCMetalConstants_Release,
         DCMetalFunction_Create]),
    case!(library::constants_of_small_and_vector_types, "half, 8- and 16-bit and vector values reach the kernel",
        [DCMetalConstants_SetAtIndex]),
    case!(library::constants_missing_are_named, "a function that lacks constants is refused with Metal's error",
        [DCMetalFunction_Create]),
    case!(library::constants_unused_do_not_disturb, "a value that no constant takes is fine",
        [DCMetalFunction_Create]),
    case!(library::constants_wrong_arguments_are_refused, "types that are no constants, indices over 65535 and NULL are refused",
        [DCMetalConstants_SetAtIndex, DCMetalConstants_SetNamed]),
    case!(library::constants_refuse_null, "NULL constants are refused",
        [DCMetalConstants_Create, DCMetalConstants_SetAtIndex, DCMetalConstants_SetNamed, DCMetalConstants_Release]),
    // pipeline.rs
    case!(pipeline::reflection_tells_each_argument, "kind, index, access, type, size and alignment are MSL's",
        [DCMetalPipeline_GetBindingCount, DCMetalPipeline_GetBinding, DCMetalPipeline_GetBindingName]),
    case!(pipeline::reflection_out_of_range_is_refused, "a position beyond the count is refused and gives zeros",
        [DCMetalPipeline_GetBindingCount, DCMetalPipeline_GetBinding, DCMetalPipeline_GetBindingName]),
    case!(pipeline::pipeline_limits_fit_the_device, "thread limits, execution width and threadgroup memory are within the device's",
        [DCMetalPipeline_GetThreadExecutionWidth, DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup,
         DCMetalDevice_GetMaxThreadsPerThreadgroup, DCMetalPipeline_GetStaticThreadgroupMemoryLength]),
    case!(pipeline::pipeline_without_threadgroup_memory_has_none, "a kernel without threadgroup memory uses none",
        [DCMetalPipeline_GetStaticThreadgroupMemoryLength]),
    case!(pipeline::pipeline_thread_limit_is_kept, "a limit asked for is told and enforced",
        [DCMetalPipeline_Create, DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup]),
    case!(pipeline::pipeline_promise_of_whole_simdgroups_is_checked, "a promise of whole SIMD-groups is enforced",
        [DCMetalPipeline_GetThreadExecutionWidth]),
    case!(pipeline::pipeline_required_threadgroup_is_checked, "a kernel that requires a size of threadgroups gets no other",
        [DCMetalComputeEncoder_DispatchThreads]),
    case!(pipeline::pipeline_over_the_devices_limits_is_refused, "too many threads and too much threadgroup memory are errors",
        [DCMetalPipeline_Create, DCMetalDevice_GetMaxThreadsPerThreadgroup,
         DCMetalDevice_GetMaxThreadgroupMemoryLength]),
    case!(pipeline::pipeline_wrong_arguments_are_refused, "NULL and a label that is not UTF-8 are refused",
        [DCMetalPipeline_Create]),
    case!(pipeline::pipeline_outlives_what_made_it, "a pipeline runs after its function, library and device handles are gone",
        [DCMetalPipeline_Create, DCMetalFunction_Release, DCMetalPipeline_Release]),
    case!(pipeline::pipeline_of_null_has_nothing, "a NULL pipeline has no limits and no arguments",
        [DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup, DCMetalPipeline_GetThreadExecutionWidth,
         DCMetalPipeline_GetStaticThreadgroupMemoryLength, DCMetalPipeline_GetBindingCount,
         DCMetalPipeline_GetBinding, DCMetalPipeline_GetBindingName, DCMetalPipeline_Release]),
    // command.rs
    case!(command::states_follow_each_other, "not enqueued, enqueued, committed, scheduled, completed",
        [DCMetalCommandBuffer_GetStatus, DCMetalCommandBuffer_Commit, DCMetalCommandBuffer_WaitUntilCompleted,
         DCMetalCommandBuffer_Create, DCMetalCommandBuffer_Enqueue, DCMetalCommandBuffer_WaitUntilScheduled,
         DCMetalCommandBuffer_CreateError]),
    case!(command::wrong_moments_are_refused, "waiting before, everything after, and committing with an open encoder are refused",
        [DCMetalCommandBuffer_WaitUntilCompleted, DCMetalCommandBuffer_WaitUntilScheduled,
         DCMetalCommandBuffer_GetGPUTimes, DCMetalCommandBuffer_Enqueue, DCMetalCommandBuffer_Commit,
         DCMetalComputeEncoder_Create, DCMetalBlitEncoder_Create, DCMetalCommandBuffer_AddCompletedHandler]),
    case!(command::uncommitted_is_dropped, "what was not committed is not done and does not hold up the queue",
        [DCMetalCommandBuffer_Release, DCMetalCommandBuffer_Enqueue, DCMetalBlitEncoder_FillBuffer,
         DCMetalBlitEncoder_EndEncoding, DCMetalCommandBuffer_AddCompletedHandler]),
    case!(command::label_is_checked, "a label is UTF-8 or NULL",
        [DCMetalCommandBuffer_SetLabel]),
    case!(command::enqueue_fixes_the_order, "command buffers run in the order of enqueueing, whatever the order of commits",
        [DCMetalCommandBuffer_Commit, DCMetalCommandBuffer_Enqueue]),
    case!(command::unretained_references_run, "unretained references work, with and without encoder info",
        [DCMetalCommandBuffer_Create, DCMetalBlitEncoder_FillBuffer, DCMetalBlitEncoder_EndEncoding]),
    case!(command::times_enclose_the_work, "start and end are times of the device's clock, in order",
        [DCMetalBlitEncoder_FillBuffer, DCMetalBlitEncoder_EndEncoding, DCMetalCommandBuffer_GetGPUTimes]),
    case!(command::handlers_run_once_each, "every handler runs once, with its own context",
        [DCMetalCommandBuffer_AddCompletedHandler]),
    case!(command::handlers_run_after_the_handles_are_gone, "handlers run though every handle was released",
        [DCMetalCommandBuffer_AddCompletedHandler, DCMetalCommandBuffer_Release, DCMetalBlitEncoder_FillBuffer,
         DCMetalBlitEncoder_EndEncoding]),
    case!(command::handler_null_is_refused, "a NULL handler is refused",
        [DCMetalCommandBuffer_AddCompletedHandler]),
    case!(command::handler_may_submit_more, "a handler may submit the next command buffer and release the last handles",
        [DCMetalCommandBuffer_AddCompletedHandler]),
    case!(command::wait_from_many_threads, "any thread may wait and read the status",
        [DCMetalCommandBuffer_WaitUntilCompleted, DCMetalCommandBuffer_GetStatus]),
    case!(command::fault_is_an_error_everywhere, "a faulted kernel is an error to the waiter, the handler, the status and the error object",
        [DCMetalCommandBuffer_WaitUntilCompleted, DCMetalCommandBuffer_GetStatus,
         DCMetalCommandBuffer_AddCompletedHandler, DCMetalCommandBuffer_CreateError]),
    case!(command::fault_names_its_encoder, "with encoder info the error tells each encoder's label and state",
        [DCMetalError_GetEncoderCount, DCMetalError_GetEncoderLabel, DCMetalError_GetEncoderState,
         DCMetalComputeEncoder_SetLabel, DCMetalComputeEncoder_InsertDebugSignpost]),
    case!(command::wrong_arguments_are_refused, "NULL arguments are refused",
        [DCMetalCommandBuffer_Create, DCMetalCommandBuffer_Enqueue, DCMetalCommandBuffer_Commit,
         DCMetalCommandBuffer_WaitUntilScheduled, DCMetalCommandBuffer_WaitUntilCompleted,
         DCMetalCommandBuffer_AddCompletedHandler, DCMetalCommandBuffer_SetLabel, DCMetalCommandBuffer_GetStatus,
         DCMetalCommandBuffer_CreateError, DCMetalCommandBuffer_GetGPUTimes, DCMetalCommandBuffer_Release]),
    // compute.rs
    case!(compute::saxpy_by_threads, "a grid of any size computes each element once",
        [DCMetalComputeEncoder_Create, DCMetalComputeEncoder_SetPipeline, DCMetalComputeEncoder_SetBuffer,
         DCMetalComputeEncoder_SetBytes, DCMetalComputeEncoder_DispatchThreads, DCMetalComputeEncoder_EndEncoding]),
    case!(compute::saxpy_by_threadgroups, "whole threadgroups do too",
        [DCMetalComputeEncoder_DispatchThreadgroups]),
    case!(compute::grid_has_three_dimensions, "positions are right in a grid that threadgroups do not divide",
        [DCMetalComputeEncoder_DispatchThreads]),
    case!(compute::buffer_offset_moves, "an offset moves the binding; out of range, or with no buffer bound, it is refused",
        [DCMetalComputeEncoder_SetBufferOffset]),
    case!(compute::bytes_are_copied_at_once, "4096 bytes are copied when they are set",
        [DCMetalComputeEncoder_SetBytes]),
    case!(compute::threadgroup_memory_is_given, "a kernel gets its threadgroup memory; without, or of a wrong length, it is refused",
        [DCMetalComputeEncoder_SetThreadgroupMemoryLength, DCMetalDevice_GetMaxThreadgroupMemoryLength]),
    case!(compute::threadgroup_memory_over_the_limit_is_refused, "the kernel's own and the given memory together stay within the device's",
        [DCMetalDevice_GetMaxThreadgroupMemoryLength, DCMetalComputeEncoder_SetThreadgroupMemoryLength]),
    case!(compute::barriers_order_concurrent_dispatches, "barriers of both kinds order concurrent dispatches",
        [DCMetalComputeEncoder_Create, DCMetalComputeEncoder_MemoryBarrier,
         DCMetalComputeEncoder_MemoryBarrierWithBuffers]),
    case!(compute::barrier_wrong_arguments_are_refused, "unknown scopes, no buffers and NULL buffers are refused",
        [DCMetalComputeEncoder_MemoryBarrier, DCMetalComputeEncoder_MemoryBarrierWithBuffers]),
    case!(compute::binding_wrong_arguments_are_refused, "indices, offsets, lengths and NULL outside their limits are refused",
        [DCMetalComputeEncoder_SetBuffer, DCMetalComputeEncoder_SetBytes, DCMetalComputeEncoder_SetPipeline]),
    case!(compute::dispatch_without_pipeline_is_refused, "a dispatch needs a pipeline",
        [DCMetalComputeEncoder_DispatchThreads, DCMetalComputeEncoder_DispatchThreadgroups]),
    case!(compute::dispatch_with_missing_arguments_is_refused, "a dispatch needs every argument, of at least one element; the refused leave no trace",
        [DCMetalComputeEncoder_DispatchThreads, DCMetalComputeEncoder_SetBuffer]),
    case!(compute::dispatch_of_wrong_size_is_refused, "zero, too many threads and sizes that overflow are refused; the refused leave no trace",
        [DCMetalComputeEncoder_DispatchThreads, DCMetalComputeEncoder_DispatchThreadgroups,
         DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup]),
    case!(compute::encoders_are_open_one_at_a_time, "a second encoder waits for the end of the first; releasing ends one",
        [DCMetalComputeEncoder_Release, DCMetalBlitEncoder_Release, DCMetalComputeEncoder_Create,
         DCMetalBlitEncoder_Create]),
    case!(compute::ended_encoder_refuses_everything, "after the end every call is refused",
        [DCMetalComputeEncoder_SetPipeline, DCMetalComputeEncoder_SetBuffer, DCMetalComputeEncoder_SetBufferOffset,
         DCMetalComputeEncoder_SetThreadgroupMemoryLength, DCMetalComputeEncoder_MemoryBarrier,
         DCMetalComputeEncoder_MemoryBarrierWithBuffers, DCMetalComputeEncoder_EndEncoding,
         DCMetalComputeEncoder_SetLabel, DCMetalComputeEncoder_InsertDebugSignpost]),
    case!(compute::encoder_text_is_checked, "labels and signposts are UTF-8",
        [DCMetalComputeEncoder_SetLabel, DCMetalComputeEncoder_InsertDebugSignpost]),
    case!(compute::compute_encoder_of_null_is_refused, "a NULL encoder refuses everything",
        [DCMetalComputeEncoder_SetPipeline, DCMetalComputeEncoder_SetBuffer, DCMetalComputeEncoder_SetBufferOffset,
         DCMetalComputeEncoder_SetBytes, DCMetalComputeEncoder_SetThreadgroupMemoryLength,
         DCMetalComputeEncoder_DispatchThreads, DCMetalComputeEncoder_DispatchThreadgroups,
         DCMetalComputeEncoder_MemoryBarrier, DCMetalComputeEncoder_MemoryBarrierWithBuffers,
         DCMetalComputeEncoder_EndEncoding, DCMetalComputeEncoder_SetLabel, DCMetalComputeEncoder_InsertDebugSignpost,
         DCMetalComputeEncoder_Release]),
    // texture.rs
    case!(texture::texture_says_what_it_was_made_as, "the descriptor comes back; NULL and labels that are no UTF-8 are refused",
        [DCMetalTexture_Create, DCMetalTexture_GetDescriptor, DCMetalTexture_SetLabel, DCMetalTexture_Release]),
    case!(texture::texture_regions_hold_what_is_written, "exactly the region of its slice and level is written and read, with the distances that are said",
        [DCMetalTexture_Write, DCMetalTexture_Read]),
    case!(texture::texture_wrong_regions_are_refused, "regions outside, too little memory, NULL and private storage are refused",
        [DCMetalTexture_Write, DCMetalTexture_Read]),
    case!(texture::texture_wrong_descriptors_are_refused, "sizes, levels, usages and storage beyond Metal's are refused; types and formats that are not there are unsupported",
        [DCMetalTexture_Create]),
    case!(texture::texture_of_a_buffer_shares_its_bytes, "texels are the buffer's bytes, which live on; what does not fit in is refused",
        [DCMetalTexture_CreateWithBuffer, DCMetalTexture_Read, DCMetalTexture_Write]),
    case!(texture::kernels_sample_and_write_textures, "a kernel samples and writes; a command buffer keeps what it uses",
        [DCMetalComputeEncoder_SetTexture, DCMetalComputeEncoder_SetSampler, DCMetalSampler_Create, DCMetalSampler_Release]),
    case!(texture::dispatch_asks_for_its_textures, "missing and wrong textures and samplers are refused by the argument's name; indices end at 128 and 16",
        [DCMetalComputeEncoder_SetTexture, DCMetalComputeEncoder_SetSampler, DCMetalComputeEncoder_DispatchThreads]),
    case!(texture::bindings_describe_textures, "reflection tells type, components, access and array of textures, and samplers",
        [DCMetalPipeline_GetBinding]),
    case!(texture::sampler_wrong_descriptors_are_refused, "what a sampler cannot be is refused",
        [DCMetalSampler_Create, DCMetalSampler_Release]),
    case!(texture::copies_move_texels, "exactly the region is copied between buffers, slices, levels and images; what does not fit is refused",
        [DCMetalBlitEncoder_CopyBufferToTexture, DCMetalBlitEncoder_CopyTextureToBuffer, DCMetalBlitEncoder_CopyTexture,
         DCMetalBlitEncoder_SynchronizeTexture]),
    case!(texture::synchronize_shows_managed_texels, "managed texels are seen after they are synchronized",
        [DCMetalBlitEncoder_SynchronizeTexture]),
    case!(texture::texture_copies_of_null_are_refused, "NULL, and every call after the end, are refused",
        [DCMetalBlitEncoder_CopyBufferToTexture, DCMetalBlitEncoder_CopyTextureToBuffer, DCMetalBlitEncoder_CopyTexture,
         DCMetalBlitEncoder_SynchronizeTexture]),
    // blit.rs
    case!(blit::copy_moves_bytes, "exactly the range is copied",
        [DCMetalBlitEncoder_Create, DCMetalBlitEncoder_CopyBuffer, DCMetalBlitEncoder_EndEncoding]),
    case!(blit::copy_within_one_buffer, "ranges of one buffer may touch but not overlap",
        [DCMetalBlitEncoder_CopyBuffer]),
    case!(blit::copy_reaches_private_memory, "private memory is filled and read by copies",
        [DCMetalBlitEncoder_CopyBuffer, DCMetalBuffer_Create]),
    case!(blit::fill_writes_its_range, "exactly the range is filled",
        [DCMetalBlitEncoder_FillBuffer]),
    case!(blit::synchronize_shows_managed_memory, "managed memory is seen after it is synchronized; shared always is",
        [DCMetalBuffer_CreateWithBytes, DCMetalBlitEncoder_SynchronizeBuffer]),
    case!(blit::commands_run_in_order, "encoders of a command buffer run in order",
        [DCMetalBlitEncoder_FillBuffer, DCMetalBlitEncoder_CopyBuffer, DCMetalComputeEncoder_DispatchThreads,
         DCMetalBlitEncoder_EndEncoding]),
    case!(blit::blit_wrong_ranges_are_refused, "empty, unaligned and outside ranges are refused, whatever the arithmetic",
        [DCMetalBlitEncoder_CopyBuffer, DCMetalBlitEncoder_FillBuffer]),
    case!(blit::ended_blit_encoder_refuses_everything, "after the end every call is refused",
        [DCMetalBlitEncoder_SetLabel, DCMetalBlitEncoder_EndEncoding, DCMetalBlitEncoder_SynchronizeBuffer]),
    case!(blit::blit_of_null_is_refused, "NULL encoders and buffers are refused",
        [DCMetalBlitEncoder_SynchronizeBuffer, DCMetalBlitEncoder_EndEncoding, DCMetalBlitEncoder_SetLabel,
         DCMetalBlitEncoder_Create, DCMetalBlitEncoder_Release]),
    // event.rs
    case!(event::event_orders_two_queues, "what waits runs after what signals, on another queue, whichever was committed first",
        [DCMetalEvent_Create, DCMetalSharedEvent_Create, DCMetalSharedEvent_AsEvent, DCMetalCommandBuffer_EncodeSignalEvent,
         DCMetalCommandBuffer_EncodeWaitForEvent, DCMetalEvent_Release, DCMetalSharedEvent_Release]),
    case!(event::event_is_kept_by_its_command_buffers, "an event lives as long as command buffers need it",
        [DCMetalEvent_Release, DCMetalCommandBuffer_EncodeWaitForEvent]),
    case!(event::event_labels_are_checked, "labels are UTF-8 or NULL",
        [DCMetalEvent_SetLabel, DCMetalSharedEvent_SetLabel, DCMetalFence_SetLabel]),
    case!(event::shared_event_only_grows, "smaller values change nothing, from the host and from command buffers",
        [DCMetalSharedEvent_GetSignaledValue, DCMetalSharedEvent_SetSignaledValue, DCMetalCommandBuffer_EncodeSignalEvent]),
    case!(event::host_and_device_wait_for_each_other, "a command buffer goes on when the host signals, and the host when it signals",
        [DCMetalSharedEvent_SetSignaledValue, DCMetalSharedEvent_Wait, DCMetalCommandBuffer_EncodeWaitForEvent]),
    case!(event::wait_ends_in_time, "a wait ends with the value or with its time, and says which",
        [DCMetalSharedEvent_Wait]),
    case!(event::failed_command_buffer_signals_nothing_early, "after a failure the host can signal",
        [DCMetalCommandBuffer_EncodeSignalEvent, DCMetalSharedEvent_SetSignaledValue]),
    case!(event::notification_comes_once, "a handler is called once, with a value that is large enough, at once if it is so already",
        [DCMetalSharedEvent_Notify]),
    case!(event::notification_of_an_event_that_goes, "the handler of an event that goes is called once and told so; a handler does not keep its event",
        [DCMetalSharedEvent_Notify, DCMetalSharedEvent_Release]),
    case!(event::notifications_from_many_threads, "200 threads are told of their values, each once",
        [DCMetalSharedEvent_Notify, DCMetalSharedEvent_SetSignaledValue]),
    case!(event::fences_order_encoders, "encoders of both kinds wait for fences and update them; waiting for one's own is refused",
        [DCMetalFence_Create, DCMetalFence_Release, DCMetalComputeEncoder_UpdateFence, DCMetalComputeEncoder_WaitForFence,
         DCMetalBlitEncoder_UpdateFence, DCMetalBlitEncoder_WaitForFence]),
    case!(event::event_wrong_moments_are_refused, "events while an encoder is open, fences after it has ended, and both after the commit are refused",
        [DCMetalCommandBuffer_EncodeSignalEvent, DCMetalCommandBuffer_EncodeWaitForEvent, DCMetalComputeEncoder_UpdateFence,
         DCMetalComputeEncoder_WaitForFence, DCMetalBlitEncoder_UpdateFence, DCMetalBlitEncoder_WaitForFence]),
    case!(event::event_wrong_arguments_are_refused, "NULL arguments are refused; a NULL event has the value 0",
        [DCMetalEvent_Create, DCMetalSharedEvent_Create, DCMetalFence_Create, DCMetalSharedEvent_GetSignaledValue,
         DCMetalSharedEvent_AsEvent, DCMetalSharedEvent_SetSignaledValue, DCMetalSharedEvent_Wait, DCMetalSharedEvent_Notify,
         DCMetalCommandBuffer_EncodeSignalEvent, DCMetalCommandBuffer_EncodeWaitForEvent, DCMetalComputeEncoder_UpdateFence,
         DCMetalComputeEncoder_WaitForFence, DCMetalBlitEncoder_UpdateFence, DCMetalBlitEncoder_WaitForFence,
         DCMetalEvent_SetLabel, DCMetalSharedEvent_SetLabel, DCMetalFence_SetLabel, DCMetalEvent_Release,
         DCMetalSharedEvent_Release, DCMetalFence_Release]),
    // performance.rs
    case!(performance::products_of_matrices, "products of transposes, of rows with gaps, in batches, with factors, are sums of products",
        [DCMetalDevice_SupportsPerformanceShaders, DCMetalMultiplication_Create, DCMetalMultiplication_Encode, DCMetalMultiplication_Release]),
    case!(performance::products_of_halves, "halves give halves or floats, and what the result holds is not read with a beta of 0",
        [DCMetalMultiplication_Encode]),
    case!(performance::products_that_cannot_be_are_refused, "sizes, distances, types and moments that Metal would end the process for are a status",
        [DCMetalMultiplication_Create, DCMetalMultiplication_Encode]),
    case!(performance::functions_of_rows, "softmax and neurons with their parameters are what the header says",
        [DCMetalRowKernel_CreateSoftMax, DCMetalRowKernel_CreateNeuron, DCMetalRowKernel_Encode, DCMetalRowKernel_Release]),
    case!(performance::results_overlap_nothing, "a result with a byte of another matrix is refused, whatever buffers of the same memory they are in, and one between its rows is not",
        [DCMetalMultiplication_Encode, DCMetalRowKernel_Encode]),
    case!(performance::functions_of_rows_that_cannot_be_are_refused, "matrices and moments that Metal would end the process for are a status",
        [DCMetalRowKernel_CreateSoftMax, DCMetalRowKernel_CreateNeuron, DCMetalRowKernel_Encode]),
    // nil.rs: Apple's Metal takes no order to make nothing
    #[cfg(target_os = "linux")]
    case!(nil::what_metal_does_not_make_is_no_memory, "an event, a fence or a sampler that Metal does not make is DC_METAL_OUT_OF_MEMORY, by name; the next is made",
        [DCMetalEvent_Create, DCMetalSharedEvent_Create, DCMetalFence_Create, DCMetalSampler_Create]),
    #[cfg(target_os = "linux")]
    case!(nil::a_pass_without_an_encoder_is_no_memory, "so is an encoder, also that of a kernel of Metal Performance Shaders; the command buffer goes on",
        [DCMetalComputeEncoder_Create, DCMetalBlitEncoder_Create, DCMetalMultiplication_Encode, DCMetalRowKernel_Encode]),
    // pools.rs: Apple's pools cost too little to be saved
    #[cfg(target_os = "linux")]
    case!(pools::whatever_class_makes_them, "queues and command buffers that are not of hostmetal's own classes make theirs by Metal's methods",
        [DCMetalCommandBuffer_Create, DCMetalComputeEncoder_Create]),
    #[cfg(target_os = "linux")]
    case!(pools::what_is_raised_is_in_a_pool, "calls of an encoder leave nothing autoreleased; what they raise is in the program's pool, or in one of the thread's",
        [DCMetalComputeEncoder_SetBuffer, DCMetalComputeEncoder_EndEncoding]),
    // graph.rs
    case!(graph::graphs_compute_what_the_header_says, "each operation on each kind of numbers is the sum in doubles, rounded; nothing beside a result is written",
        [DCMetalDevice_SupportsGraphs, DCMetalGraph_Create, DCMetalGraph_Encode, DCMetalGraph_Release]),
    case!(graph::graphs_sum_in_floats, "sums of 16-bit numbers do not stop where these cannot count on",
        [DCMetalGraph_Create, DCMetalGraph_Encode]),
    case!(graph::graphs_that_cannot_be_are_refused, "shapes, windows, groups and axes that Metal would end the process for are a status",
        [DCMetalGraph_Create, DCMetalGraph_Release]),
    case!(graph::graphs_tensors_and_moments_are_checked, "offsets, lengths, overlaps and moments that Metal would end the process for are a status",
        [DCMetalGraph_Encode]),
    case!(graph::graphs_see_memory_that_buffers_share, "a result over another tensor is refused, whatever buffers of the same memory they are in",
        [DCMetalGraph_Encode, DCMetalBuffer_CreateNoCopy, DCMetalHeap_CreateBufferAt]),
    case!(graph::graphs_are_committed_whole, "what a graph asks to be committed waits for its command buffer's commit; what is encoded by half is refused",
        [DCMetalGraph_Encode, DCMetalCommandBuffer_Enqueue, DCMetalCommandBuffer_Commit, DCMetalBlitEncoder_Create,
         DCMetalCommandBuffer_EncodeSignalEvent, DCMetalCommandBuffer_GetGPUTimes]),
    // heap.rs
    case!(heap::heap_gives_its_room, "as many buffers as there is room for, none over another; what goes back is there again",
        [DCMetalHeap_Create, DCMetalHeap_CreateBuffer, DCMetalHeap_GetSize, DCMetalHeap_GetUsedSize,
         DCMetalHeap_GetMaxAvailableSize, DCMetalDevice_GetHeapBufferSize, DCMetalHeap_Release]),
    case!(heap::heap_buffers_are_used_by_kernels, "kernels use a heap's buffers, which keep it",
        [DCMetalHeap_CreateBuffer, DCMetalHeap_Release, DCMetalComputeEncoder_SetBuffer]),
    case!(heap::heap_places_buffers_where_they_are_wanted, "offsets that are aligned and inside, over others too; each kind of heap has its call",
        [DCMetalHeap_CreateBufferAt, DCMetalHeap_CreateBuffer, DCMetalDevice_GetHeapBufferSize]),
    case!(heap::heap_wrong_arguments_are_refused, "sizes, modes and types that heaps do not have, and NULL, are refused; too much is out of memory",
        [DCMetalHeap_Create, DCMetalHeap_CreateBuffer, DCMetalHeap_CreateBufferAt, DCMetalHeap_SetLabel, DCMetalHeap_GetSize,
         DCMetalHeap_GetUsedSize, DCMetalHeap_GetMaxAvailableSize, DCMetalDevice_GetHeapBufferSize, DCMetalHeap_Release]),
    case!(heap::used_resources_are_reached, "a kernel follows addresses to the buffers and heaps that the encoder was told of",
        [DCMetalComputeEncoder_UseBuffer, DCMetalComputeEncoder_UseHeap]),
    case!(heap::used_resources_are_checked, "NULL, unknown usages and ended encoders are refused",
        [DCMetalComputeEncoder_UseBuffer, DCMetalComputeEncoder_UseHeap]),
    case!(heap::indirect_dispatch_reads_its_grid, "the grid is what an earlier kernel wrote; wrong offsets, sizes and moments are refused",
        [DCMetalComputeEncoder_DispatchThreadgroupsIndirect]),
    // indirect.rs
    case!(indirect::commands_run_as_often_as_they_are_executed, "each of a range runs once an execution, with its own arguments; a barrier keeps it behind those before",
        [DCMetalIndirectCommands_Create, DCMetalIndirectCommands_SetPipeline, DCMetalIndirectCommands_SetBuffer,
         DCMetalIndirectCommands_SetBarrier, DCMetalIndirectCommands_DispatchThreads,
         DCMetalIndirectCommands_DispatchThreadgroups, DCMetalComputeEncoder_ExecuteCommands, DCMetalIndirectCommands_Release]),
    case!(indirect::commands_have_threadgroup_memory, "a command's kernel gets its threadgroup memory",
        [DCMetalIndirectCommands_SetThreadgroupMemoryLength]),
    case!(indirect::commands_inherit_from_their_encoder, "pipeline and buffers of the encoder, if the descriptor says so; what is missing or does not fit is refused",
        [DCMetalIndirectCommands_Create, DCMetalComputeEncoder_ExecuteCommands, DCMetalIndirectCommands_SetPipeline,
         DCMetalIndirectCommands_SetBuffer]),
    case!(indirect::commands_change_only_while_nobody_uses_them, "not from their dispatch to their reset, nor between an execution and its end; a command buffer that is dropped ends its use",
        [DCMetalIndirectCommands_Reset, DCMetalIndirectCommands_SetBarrier, DCMetalComputeEncoder_ExecuteCommands,
         DCMetalCommandBuffer_WaitUntilCompleted, DCMetalCommandBuffer_Release]),
    case!(indirect::commands_keep_what_they_use, "all orders of release, before and after the commit; a reset lets buffers go",
        [DCMetalIndirectCommands_Release, DCMetalBuffer_Release, DCMetalPipeline_Release, DCMetalCommandBuffer_Release,
         DCMetalIndirectCommands_Reset]),
    case!(indirect::commands_are_copied_and_reset_by_the_device, "copies run as their originals, and keep what they use; what was reset does nothing",
        [DCMetalBlitEncoder_CopyCommands, DCMetalBlitEncoder_ResetCommands, DCMetalBlitEncoder_OptimizeCommands]),
    case!(indirect::commands_are_not_copied_to_what_others_use, "what another command buffer copies or executes is not set behind its back; a command buffer's own use is no hindrance",
        [DCMetalBlitEncoder_CopyCommands, DCMetalComputeEncoder_ExecuteCommands]),
    case!(indirect::command_wrong_settings_are_refused, "indices, offsets, lengths, pipelines and grids that do not fit are refused, and the refused leave no trace",
        [DCMetalIndirectCommands_SetPipeline, DCMetalIndirectCommands_SetBuffer,
         DCMetalIndirectCommands_SetThreadgroupMemoryLength, DCMetalIndirectCommands_DispatchThreads,
         DCMetalIndirectCommands_DispatchThreadgroups]),
    case!(indirect::command_wrong_arguments_are_refused, "NULL, wrong descriptors and ranges, ended encoders and labels that are no UTF-8 are refused",
        [DCMetalIndirectCommands_Create, DCMetalIndirectCommands_GetCount, DCMetalIndirectCommands_SetLabel,
         DCMetalIndirectCommands_SetPipeline, DCMetalIndirectCommands_SetBuffer,
         DCMetalIndirectCommands_SetThreadgroupMemoryLength, DCMetalIndirectCommands_SetBarrier,
         DCMetalIndirectCommands_DispatchThreads, DCMetalIndirectCommands_DispatchThreadgroups, DCMetalIndirectCommands_Reset,
         DCMetalComputeEncoder_ExecuteCommands, DCMetalBlitEncoder_ResetCommands, DCMetalBlitEncoder_CopyCommands,
         DCMetalBlitEncoder_OptimizeCommands, DCMetalIndirectCommands_Release]),
    case!(indirect::kernels_write_commands_and_how_many_run, "a kernel names places, pipeline and memory by what the host told it; a range in a buffer says which run",
        [DCMetalIndirectCommands_GetResourceID, DCMetalPipeline_GetResourceID, DCMetalBuffer_GetGPUAddress,
         DCMetalComputeEncoder_UseCommands, DCMetalComputeEncoder_ExecuteCommandsIndirect]),
    case!(indirect::commands_of_kernels_are_checked_where_they_are_recorded, "NULL, ended encoders and ranges outside of their buffer are refused; what is not for commands has no name",
        [DCMetalIndirectCommands_GetResourceID, DCMetalPipeline_GetResourceID, DCMetalBuffer_GetGPUAddress,
         DCMetalComputeEncoder_UseCommands, DCMetalComputeEncoder_ExecuteCommandsIndirect]),
    // archive.rs
    case!(archive::archive_gives_pipelines_without_compiling, "what was added is found in the file, without the compiler; what was not is missed",
        [DCMetalArchive_Create, DCMetalArchive_AddPipeline, DCMetalArchive_Serialize, DCMetalArchive_CreateFromFile,
         DCMetalPipeline_CreateWithArchives, DCMetalArchive_Release]),
    case!(archive::archive_of_a_wrong_file_is_refused, "missing, cut, damaged and foreign files, and folders that are not there, are Metal's errors",
        [DCMetalArchive_CreateFromFile, DCMetalArchive_Serialize]),
    case!(archive::archive_wrong_arguments_are_refused, "NULL and paths that are none are refused",
        [DCMetalArchive_Create, DCMetalArchive_CreateFromFile, DCMetalArchive_AddPipeline, DCMetalArchive_Serialize,
         DCMetalPipeline_CreateWithArchives, DCMetalArchive_Release]),
    // lifetime.rs
    case!(lifetime::release_while_encoding, "all 120 orders of release with an open encoder",
        [DCMetalDevice_Release, DCMetalQueue_Release, DCMetalBuffer_Release, DCMetalCommandBuffer_Release,
         DCMetalComputeEncoder_Release]),
    case!(lifetime::release_while_running, "all 120 orders of release after the commit; the work still completes and is reported once",
        [DCMetalDevice_Release, DCMetalQueue_Release, DCMetalBuffer_Release, DCMetalCommandBuffer_Release,
         DCMetalComputeEncoder_Release, DCMetalCommandBuffer_AddCompletedHandler]),
    case!(lifetime::release_before_use_of_a_pipeline, "an encoder holds its pipeline when library, function and pipeline are gone",
        [DCMetalLibrary_Release, DCMetalFunction_Release, DCMetalPipeline_Release,
         DCMetalComputeEncoder_SetPipeline]),
    case!(lifetime::threads_with_their_own_objects, "16 threads compile and run their own kernels",
        [DCMetalDevice_CreateSystemDefault, DCMetalQueue_Create, DCMetalLibrary_CreateWithSource,
         DCMetalPipeline_Create]),
    case!(lifetime::threads_with_shared_objects, "16 threads share a device, a queue, a library and a pipeline",
        [DCMetalLibrary_GetFunctionCount, DCMetalFunction_GetName, DCMetalPipeline_GetThreadExecutionWidth,
         DCMetalQueue_SetLabel]),
    case!(lifetime::threads_with_failures, "16 threads fail at once, each with its own error; errors are read on other threads",
        [DCMetalFunction_Create, DCMetalError_GetMessage]),
    case!(lifetime::raised_by_a_device_is_a_status, "what a device raises is DC_METAL_EXCEPTION with the exception's name",
        [DCMetalDevice_GetName, DCMetalDevice_GetRegistryID, DCMetalDevice_HasUnifiedMemory,
         DCMetalDevice_SupportsFamily, DCMetalDevice_GetMaxBufferLength, DCMetalDevice_GetMaxThreadsPerThreadgroup,
         DCMetalQueue_Create, DCMetalBuffer_Create, DCMetalBuffer_CreateWithBytes, DCMetalLibrary_CreateWithSource,
         DCMetalPipeline_Create, DCMetalFunction_GetName]),
    case!(lifetime::raised_by_other_objects_is_a_status, "so is what queues, buffers, options, constants and functions raise",
        [DCMetalQueue_SetLabel, DCMetalCommandBuffer_Create, DCMetalBuffer_GetContents, DCMetalBuffer_GetLength,
         DCMetalBuffer_GetStorageMode, DCMetalBuffer_DidModifyRange, DCMetalBuffer_SetLabel, DCMetalBuffer_GetLabel,
         DCMetalCompileOptions_SetMathMode, DCMetalCompileOptions_SetLanguageVersion, DCMetalCompileOptions_SetMacro,
         DCMetalConstants_SetAtIndex, DCMetalConstants_SetNamed]),
    case!(lifetime::raised_while_encoding_records_nothing, "a call that raised changed nothing",
        [DCMetalComputeEncoder_SetBuffer, DCMetalComputeEncoder_MemoryBarrierWithBuffers,
         DCMetalBlitEncoder_FillBuffer, DCMetalBlitEncoder_CopyBuffer, DCMetalBlitEncoder_SynchronizeBuffer]),
];

#[test]
fn every_case_holds() {
    let wanted = std::env::var("DCMETAL_ABI_CASES").unwrap_or_default();
    let mut wrong = Vec::new();
    for case in CASES.iter().filter(|case| case.name.contains(&wanted)) {
        println!("{}: {}", case.name, case.holds);
        support::take_called();
        #[cfg(target_os = "linux")]
        let pool = pools::Pool::new();
        if catch_unwind(AssertUnwindSafe(case.run)).is_err() {
            wrong.push(format!("{}: not so: {}", case.name, case.holds));
            continue;
        }
        let called = support::take_called();
        let missing: Vec<_> = case.functions.iter().filter(|name| !called.contains(*name)).collect();
        if !missing.is_empty() {
            wrong.push(format!("{}: it never called {missing:?}", case.name));
        }
        #[cfg(target_os = "linux")]
        if pool.count() > 0 && case.name != "raised_while_encoding_records_nothing" {
            wrong.push(format!("{}: {} objects are left in the caller's pool", case.name, pool.count()));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), CASES.len(), wrong.join("\n"));
}

/// Does nothing but for scripts/sanitize, which sets the variable to see that its sanitizers report what is planted.
#[test]
fn planted_misuse() {
    if let Ok(name) = std::env::var("DCMETAL_ABI_PLANT") {
        plant::misuse(&name);
    }
}

/// The functions that a C header declares with DC_METAL_API.
fn declared(header: &str) -> BTreeSet<&str> {
    let declarations = header.split("\nDC_METAL_API ").skip(1);
    declarations
        .map(|text| {
            let before = text.split('(').next().expect("a declaration has parameters");
            before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().expect("and a name")
        })
        .collect()
}

#[test]
fn every_function_of_the_header_has_a_case() {
    let declared = declared(HEADER);
    assert_eq!(declared.len(), HEADER.matches("\nDC_METAL_API ").count());
    let covered: BTreeSet<&str> = CASES.iter().flat_map(|case| case.functions.iter().copied()).collect();
    let bare: Vec<_> = declared.difference(&covered).collect();
    assert!(bare.is_empty(), "{} of {} functions without a case: {bare:?}", bare.len(), declared.len());
    let unknown: Vec<_> = covered.difference(&declared).collect();
    assert!(unknown.is_empty(), "not in the header: {unknown:?}");
}

#[test]
fn every_function_of_the_header_is_bound() {
    let bindings = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/bindings_docs.rs"));
    let bound: BTreeSet<&str> = bindings
        .split("pub fn ")
        .skip(1)
        .map(|text| text.split('(').next().expect("a function has parameters"))
        .collect();
    assert_eq!(bound, declared(HEADER));
}

#[test]
fn case_names_differ() {
    let names: BTreeSet<&str> = CASES.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), CASES.len());
}
