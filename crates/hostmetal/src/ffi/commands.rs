//! The C interface: indirect command buffers.

use super::{
    HMBuffer, HMCommands, HMDevice, HMEncoder, HMPipeline, answer, borrow, device_of, give, put, release, share,
};
use crate::commands::{Commands, Limits, THREADGROUPS, THREADS};
use crate::faults::{Site, refuses};
use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

/// HMCommandsDescriptor: what commands may be.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMCommandsDescriptor {
    /// Threadgroups of one size.
    pub threadgroups: bool,
    /// Threads, with smaller threadgroups at edges.
    pub threads: bool,
    /// From the encoder that executes them.
    pub inherit_buffers: bool,
    /// From the encoder that executes them.
    pub inherit_pipeline: bool,
    /// Indices that buffers can be set at.
    pub buffers: u32,
    /// Indices that threadgroup memory can be set at.
    pub memory: u32,
    /// Strides may be set with buffers (supportDynamicAttributeStride).
    pub strides: bool,
}

/// Commands that do nothing; NULL with *misuse set for a wrong descriptor, NULL without when memory is out.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_create(
    device: HMDevice,
    descriptor: *const HMCommandsDescriptor,
    count: u64,
    misuse: *mut *const c_char,
) -> HMCommands {
    // SAFETY: as the module above says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module above says.
    let given = unsafe { *descriptor };
    let kinds = [(given.threadgroups, THREADGROUPS), (given.threads, THREADS)];
    let limits = Limits {
        kinds: kinds.iter().map(|(wanted, kind)| if *wanted { *kind } else { 0 }).sum(),
        inherit_buffers: given.inherit_buffers,
        inherit_pipeline: given.inherit_pipeline,
        buffers: given.buffers,
        memory: given.memory,
        strides: given.strides,
    };
    let made = if refuses(device, Site::Buffer) { Ok(None) } else { Commands::new(device, limits, count) };
    let (handle, text) = match made {
        Ok(commands) => (commands.map_or(HMCommands::NULL, |commands| give(Arc::new(commands))), ptr::null()),
        Err(text) => (HMCommands::NULL, text.as_ptr()),
    };
    // SAFETY: as the module above says.
    unsafe { put(misuse, text) };
    handle
}

/// Its memory: no reference, valid while the commands live.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_memory(commands: HMCommands) -> HMBuffer {
    // SAFETY: as the module above says.
    let memory = &unsafe { borrow(commands) }.memory;
    super::Handle::from_raw(Arc::as_ptr(memory).cast())
}

/// How many commands.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_count(commands: HMCommands) -> u64 {
    // SAFETY: as the module above says.
    unsafe { borrow(commands) }.count
}

/// What stands for them in argument buffers.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_handle(commands: HMCommands) -> u64 {
    // SAFETY: as the module above says.
    unsafe { borrow(commands) }.handle()
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_release(commands: HMCommands) {
    // SAFETY: as the module above says.
    unsafe { release(commands) };
}

/// Sets a command's pipeline.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_set_pipeline(
    commands: HMCommands,
    index: u64,
    pipeline: HMPipeline,
) -> *const c_char {
    // SAFETY: as the module above says.
    let pipeline = unsafe { share(pipeline) };
    let pipeline = pipeline.ok_or(c"computePipelineState must not be nil.");
    // SAFETY: as the module above says.
    answer(pipeline.and_then(|pipeline| unsafe { borrow(commands) }.set_pipeline(index, &pipeline)))
}

/// Sets a buffer of a command, with a stride or UINT64_MAX (MTLAttributeStrideStatic) for none.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_set_buffer(
    commands: HMCommands,
    index: u64,
    buffer: HMBuffer,
    offset: u64,
    stride: u64,
    slot: u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    let buffer = unsafe { borrow(buffer) };
    // SAFETY: as the module above says.
    answer(unsafe { borrow(commands) }.set_buffer(index, (buffer, offset), stride, slot))
}

/// Sets the stage-in region of a command.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_set_stage_in_region(
    commands: HMCommands,
    index: u64,
    origin: *const [u64; 3],
    size: *const [u64; 3],
) -> *const c_char {
    // SAFETY: as the module above says.
    let origin = unsafe { *origin };
    // SAFETY: as the module above says.
    let size = unsafe { *size };
    // SAFETY: as the module above says.
    answer(unsafe { borrow(commands) }.set_stage_in_region(index, origin, size))
}

/// Sets threadgroup memory of a command.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_set_memory(
    commands: HMCommands,
    index: u64,
    length: u64,
    slot: u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    answer(unsafe { borrow(commands) }.set_memory(index, length, slot))
}

/// Sets the size of a command's imageblock.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_set_imageblock(
    commands: HMCommands,
    index: u64,
    width: u64,
    height: u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    answer(unsafe { borrow(commands) }.set_imageblock(index, width, height))
}

/// Makes a command dispatch a grid of threads, or of threadgroups.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_dispatch(
    commands: HMCommands,
    index: u64,
    threads: bool,
    grid: *const [u64; 3],
    per_threadgroup: *const [u64; 3],
) -> *const c_char {
    let kind = if threads { THREADS } else { THREADGROUPS };
    // SAFETY: as the module above says.
    let grid = unsafe { *grid };
    // SAFETY: as the module above says.
    let size = unsafe { *per_threadgroup };
    // SAFETY: as the module above says.
    answer(unsafe { borrow(commands) }.dispatch(index, kind, grid, size))
}

/// Whether a command waits for those before it.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_set_barrier(commands: HMCommands, index: u64, barrier: bool) -> *const c_char {
    // SAFETY: as the module above says.
    answer(unsafe { borrow(commands) }.change(index, |record| record.barrier = u32::from(barrier)))
}

/// Makes commands do nothing.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_commands_reset(commands: HMCommands, first: u64, count: u64) -> *const c_char {
    // SAFETY: as the module above says.
    let commands = unsafe { borrow(commands) };
    let end = first.saturating_add(count);
    let within = commands.bytes(first..end).map(drop);
    answer(within.and_then(|()| {
        (first..end).try_for_each(|index| commands.change(index, |record| *record = Default::default()))
    }))
}

/// Executes a range of commands.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_execute(
    encoder: HMEncoder,
    commands: HMCommands,
    first: u64,
    count: u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    let commands = unsafe { share(commands) }.ok_or(c"indirectCommandBuffer must not be nil.");
    let range = first..first.saturating_add(count);
    // SAFETY: as the module above says.
    answer(commands.and_then(|commands| unsafe { borrow(encoder) }.execute(commands, range)))
}

/// Executes the range that two 32-bit numbers in a buffer name when it runs.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_execute_indirect(
    encoder: HMEncoder,
    commands: HMCommands,
    buffer: HMBuffer,
    offset: u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    let commands = unsafe { share(commands) }.ok_or(c"indirectCommandBuffer must not be nil.");
    // SAFETY: as the module above says.
    let buffer = unsafe { share(buffer) }.ok_or(c"indirectRangeBuffer must not be nil.");
    let both = commands.and_then(|commands| buffer.map(|buffer| (commands, buffer)));
    // SAFETY: as the module above says.
    answer(both.and_then(|(commands, buffer)| unsafe { borrow(encoder) }.execute_indirect(commands, &buffer, offset)))
}

/// Makes commands of a range do nothing.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_blit_reset_commands(
    encoder: HMEncoder,
    commands: HMCommands,
    first: u64,
    count: u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    let commands = unsafe { borrow(commands) };
    // SAFETY: as the module above says.
    answer(unsafe { borrow(encoder) }.reset_commands(commands, first..first.saturating_add(count)))
}

/// Has nothing to do.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_blit_optimize_commands(
    encoder: HMEncoder,
    commands: HMCommands,
    first: u64,
    count: u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    let commands = unsafe { borrow(commands) };
    // SAFETY: as the module above says.
    answer(unsafe { borrow(encoder) }.optimize_commands(commands, first..first.saturating_add(count)))
}

/// Copies a range of commands.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_blit_copy_commands(
    encoder: HMEncoder,
    source: HMCommands,
    first: u64,
    count: u64,
    destination: HMCommands,
    index: u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    let source = unsafe { borrow(source) };
    // SAFETY: as the module above says.
    let destination = unsafe { borrow(destination) };
    let range = first..first.saturating_add(count);
    // SAFETY: as the module above says.
    answer(unsafe { borrow(encoder) }.copy_commands(source, range, destination, index))
}
