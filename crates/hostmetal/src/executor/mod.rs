//! The executor: runs compiled kernels on a pool of worker threads.
//!
//! A dispatch is a range of threadgroups; workers take chunks of it. A kernel without synchronising functions is one call
//! per threadgroup (`Entry::Group`), or for several of them (`Span`), and so is one whose barriers the LLVM pass has made into loops; any other runs each
//! thread on a stack of its own (`Entry::Thread`, fiber.rs), in an order chosen by schedule.rs. What a kernel does wrong ends its command buffer, not the process (guard.rs).
//!
//! This module holds what compiled kernels see: the layout of `Group` and of the runtime table, which mirror
//! native/hostmetal/msl/hostmetal_kernel.h.

mod ahead;
mod blocks;
pub(crate) mod context;
mod cost;
pub(crate) mod counting;
pub(crate) mod event;
pub(crate) mod fiber;
mod graph;
pub(crate) mod guard;
mod handle;
mod log;
mod order;
pub(crate) mod pool;
mod product;
mod rows;
pub(crate) mod run;
pub(crate) mod sanitizer;
pub(crate) mod schedule;
mod share;
mod signal;
mod streams;
mod texture;

pub(crate) use cost::Cost;
pub(crate) use handle::{Described, NOT_A_FUNCTION, bad_handle, sampler_handle};
pub(crate) use log::{Log, SIZES as LOG_SIZES, log};
pub use texture::{LEVELS, Level, Sampler, Texture};

use std::ffi::c_void;

/// Buffer and threadgroup memory indices of a kernel: 0 to 30, as in Metal.
pub const SLOTS: usize = 31;
/// Texture indices of a kernel.
pub const TEXTURES: usize = 128;
/// Sampler indices of a kernel.
pub const SAMPLERS: usize = 16;

/// What one threadgroup of a dispatch is called with (`hm_group`).
#[repr(C)]
#[derive(Clone)]
pub struct Group {
    /// Address of each buffer argument: the buffer's contents plus the offset, or the bytes given in its place.
    pub buffer: [*mut c_void; SLOTS],
    /// Address of each threadgroup memory argument.
    pub threadgroup: [*mut c_void; SLOTS],
    /// Position of this threadgroup, in threadgroups.
    pub threadgroup_position_in_grid: [u32; 3],
    /// Threads of this threadgroup; smaller than those of the dispatch at the grid's edges.
    pub threads_per_threadgroup: [u32; 3],
    /// Threads of a whole threadgroup.
    pub dispatch_threads_per_threadgroup: [u32; 3],
    /// Threads of the grid.
    pub threads_per_grid: [u32; 3],
    /// Threadgroups of the grid.
    pub threadgroups_per_grid: [u32; 3],
    /// SIMD-groups of this threadgroup.
    pub simdgroups_per_threadgroup: u32,
    /// SIMD-groups of a whole threadgroup.
    pub dispatch_simdgroups_per_threadgroup: u32,
    /// `TEXTURES` descriptions, NULL where the kernel has none.
    pub texture: *const *const Texture,
    /// `SAMPLERS` samplers.
    pub sampler: *const Sampler,
    /// Of the stage-in region.
    pub grid_origin: [u32; 3],
    /// Of the stage-in region.
    pub grid_size: [u32; 3],
    /// A kernel that writes so many bytes a thread, or more, to consecutive places writes them around the caches; less than the most there is obliges
    /// the caller to have a fence (`sfence` on x86-64) before others look.
    pub stream_bytes: u32,
    /// `SLOTS` strides that were set with buffers, NULL where the kernel has no such buffer.
    pub attribute_stride: *const u64,
    /// Of the threadgroup's imageblock; NULL where the kernel has none.
    pub imageblock: *mut c_void,
    /// Its width and height in pixels.
    pub imageblock_size: [u32; 2],
}

/// A kernel's code.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// Runs all threads of a threadgroup.
    Group(unsafe extern "C" fn(*const Group)),
    /// Runs the thread at a position (x, y, z) in the threadgroup, and may call the runtime table's functions.
    Thread(unsafe extern "C" fn(*const Group, u32, u32, u32)),
}

/// What one call of an `Entry::Group` may be for. Several threadgroups follow each other along x, and are given to the kernel as
/// one that is as long as all of them; `hm_span` in native/hostmetal/msl/hostmetal_kernel.h says what a kernel is fit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// One threadgroup.
    Threadgroup,
    /// Several that have one row of threads.
    Line,
    /// Several with any number of rows.
    Rows,
}

/// Where the lanes of a SIMD-group or quad keep the value that they bring to an operation (`hm_simd_values`), by their index
/// in the SIMD-group.
#[repr(C)]
pub struct SimdValues {
    /// NULL for lanes that take no part.
    pub value: [*mut c_void; 32],
}

/// Computes an operation for all lanes of the mask (bit per lane of the SIMD-group), in place (`hm_combine`).
pub type Combine = unsafe extern "C" fn(*const SimdValues, u32);

/// The functions that kernels call (`hm_runtime_table`).
#[repr(C)]
#[derive(Debug)]
pub struct RuntimeTable {
    /// Of this layout: 3.
    pub version: u32,
    /// Waits until all live threads of the threadgroup wait; the flags (mem_flags) need no action on a CPU.
    pub threadgroup_barrier: unsafe extern "C" fn(u32),
    /// Waits until all lanes of the SIMD-group that can have reached this call.
    pub simdgroup_barrier: unsafe extern "C" fn(u32),
    /// Lets the lanes that reached this call combine their values; width 32 (SIMD-group) or 4 (quad).
    pub simd_combine: unsafe extern "C" fn(Combine, *mut c_void, u32),
    /// Address of the threadgroup variable with this number, size and alignment.
    pub threadgroup_allocate: unsafe extern "C" fn(u32, u64, u64) -> *mut c_void,
    /// Index of the calling thread in its SIMD-group.
    pub lane: unsafe extern "C" fn() -> u32,
    /// Ends a kernel whose threads came to different barriers; called by the loops that the LLVM pass makes.
    pub threads_disagree: unsafe extern "C" fn(),
    /// A thread of a kernel that counts does an access; called with the numbers of the access, of the thread in its threadgroup and of the round.
    pub count: unsafe extern "C" fn(u32, u32, u64, *const c_void, u64),
    /// A thread of such a kernel ends; called with what its blocks and loops counted.
    pub finish: unsafe extern "C" fn(u32, *const u64, u64),
}

/// The table that a loaded kernel's `hm_runtime` is to point to. Its functions may only be called by kernels that the
/// executor runs; a call from anywhere else ends the process with a message.
pub fn runtime_table() -> &'static RuntimeTable {
    static TABLE: RuntimeTable = RuntimeTable {
        version: 3,
        threadgroup_barrier: fiber::threadgroup_barrier,
        simdgroup_barrier: context::hostmetal_simdgroup_barrier,
        simd_combine: context::hostmetal_simd_combine,
        threadgroup_allocate: fiber::threadgroup_allocate,
        lane: fiber::lane,
        threads_disagree: fiber::threads_disagree,
        count: counting::count,
        finish: counting::finish,
    };
    &TABLE
}

/// A threadgroup variable of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadgroupVariable {
    /// The number by which the kernel asks for it.
    pub id: u32,
    /// In bytes.
    pub size: u64,
    /// In bytes, a power of two.
    pub alignment: u64,
}
