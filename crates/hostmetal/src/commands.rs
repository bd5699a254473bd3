//! Indirect command buffers: dispatches in memory, which the host and kernels write and a command buffer executes.
//!
//! The memory is a header and a list of records of one size (native/hostmetal/msl/metal_command_buffer). Kernels write the
//! records themselves and may write anything into them, so nothing in that memory is believed: limits are this object's,
//! pipelines are looked up by their handles, and what does not fit ends the command buffer that executes it.

use std::collections::HashSet;
use std::ffi::CStr;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::device::Device;
use crate::encode::stage::small_region;
use crate::encode::{imageblock_size, threadgroup_length};
use crate::executor::SLOTS;
use crate::memory::Buffer;
use crate::pipeline::Pipeline;

type Misuse = &'static CStr;

/// Kinds of a record, and bits of `Limits::kinds`.
pub(crate) const THREADGROUPS: u32 = 1;
pub(crate) const THREADS: u32 = 2;

/// A command (`hm_command`). All bytes zero is no command.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Record {
    /// A pipeline's handle.
    pub(crate) pipeline: u64,
    pub(crate) kind: u32,
    /// Not 0: it waits for the commands before it.
    pub(crate) barrier: u32,
    /// Threadgroups or threads.
    pub(crate) grid: [u32; 3],
    /// Threads of a threadgroup.
    pub(crate) size: [u32; 3],
    pub(crate) memory: [u32; SLOTS],
    /// Not 0: it has a stage-in region.
    pub(crate) region: u32,
    pub(crate) buffer: [u64; SLOTS],
    /// Of each buffer one more than the stride that was set with it; 0 where none was.
    pub(crate) stride: [u64; SLOTS],
    /// Of the stage-in region.
    pub(crate) origin: [u32; 3],
    /// Of the stage-in region.
    pub(crate) extent: [u32; 3],
    /// Width and height.
    pub(crate) imageblock: [u32; 2],
}

/// `hm_commands`.
#[repr(C)]
struct Header {
    handle: u64,
    first: u64,
    count: u32,
    buffers: u32,
    memory: u32,
    unused: [u32; 9],
}

/// What its commands may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// THREADGROUPS, THREADS.
    pub(crate) kinds: u32,
    pub(crate) inherit_buffers: bool,
    pub(crate) inherit_pipeline: bool,
    /// Indices that buffers can be set at.
    pub(crate) buffers: u32,
    /// And threadgroup memory.
    pub(crate) memory: u32,
    /// Strides may be set with buffers.
    pub(crate) strides: bool,
}

/// An MTLIndirectCommandBuffer.
pub(crate) struct Commands {
    pub(crate) memory: Arc<Buffer>,
    pub(crate) limits: Limits,
    pub(crate) count: u64,
    handle: u64,
    /// What the host has set; the commands of kernels are kept by nobody.
    kept: Mutex<Kept>,
    /// Held by recordings that copy to it and have not run.
    copying: Arc<Copying>,
}

/// Stands for copies to an indirect command buffer.
pub(crate) struct Copying;

/// Those that no command has any more go when the list has grown to twice what was left the last time.
#[derive(Default)]
struct Kept {
    pipelines: Vec<Arc<Pipeline>>,
    left: usize,
}

/// Below this it is not worth looking through the commands.
const FEW_PIPELINES: usize = 16;

const NO_STRIDES: Misuse = c"the indirect command buffer was made without supportDynamicAttributeStride.";
const BAD_COMMAND: Misuse = c"the index of a command must be < [indirectCommandBuffer size].";

impl Commands {
    /// None when memory is out.
    pub(crate) fn new(device: &'static Device, limits: Limits, count: u64) -> Result<Option<Commands>, Misuse> {
        if count == 0 || count > 1 << 20 {
            return Err(c"maxCommandCount must be between 1 and 2^20.");
        }
        if limits.kinds == 0 || limits.kinds & !(THREADGROUPS | THREADS) != 0 {
            return Err(c"commandTypes must be MTLIndirectCommandTypeConcurrentDispatch, MTLIndirectCommandTypeConcurrentDispatchThreads or both: hostmetal has no drawing.");
        }
        if limits.buffers > SLOTS as u32 || limits.memory > SLOTS as u32 {
            return Err(c"maxKernelBufferBindCount and maxKernelThreadgroupMemoryBindCount must be <= 31.");
        }
        let length = size_of::<Header>() as u64 + count * size_of::<Record>() as u64;
        let Some(memory) = Buffer::new(device, length) else { return Ok(None) };
        static MADE: AtomicU64 = AtomicU64::new(0);
        // As of a texture (executor/handle.rs): memory begins at pages.
        let handle = memory.contents() as u64 | (MADE.fetch_add(1, Ordering::Relaxed) % 1023 + 1);
        let header = Header {
            handle,
            first: memory.contents() as u64 + size_of::<Header>() as u64,
            count: count as u32,
            buffers: if limits.inherit_buffers { 0 } else { limits.buffers },
            memory: limits.memory,
            unused: [0; 9],
        };
        // SAFETY: the memory is new, longer than a header, and begins at a page.
        unsafe { memory.contents().cast::<Header>().write(header) };
        Ok(Some(Commands {
            memory: Arc::new(memory),
            limits,
            count,
            handle,
            kept: Mutex::default(),
            copying: Arc::new(Copying),
        }))
    }

    /// What stands for it in argument buffers.
    pub(crate) fn handle(&self) -> u64 {
        self.handle
    }

    fn place(&self, index: u64) -> *mut Record {
        let first = self.memory.contents().wrapping_add(size_of::<Header>()).cast::<Record>();
        first.wrapping_add(index as usize)
    }

    /// The bytes of some commands in the memory.
    pub(crate) fn bytes(&self, commands: Range<u64>) -> Result<(*mut u8, usize), Misuse> {
        if commands.start > commands.end || commands.end > self.count {
            return Err(c"the range must be within [indirectCommandBuffer size].");
        }
        let length = (commands.end - commands.start) as usize * size_of::<Record>();
        Ok((self.place(commands.start).cast(), length))
    }

    /// A copy of a command; none past the end.
    pub(crate) fn record(&self, index: u64) -> Option<Record> {
        // SAFETY: the place is in the memory, which is as long as all records; any bytes are a record.
        (index < self.count).then(|| unsafe { self.place(index).read_volatile() })
    }

    /// Changes a command, as the host does.
    pub(crate) fn change(&self, index: u64, change: impl FnOnce(&mut Record)) -> Result<(), Misuse> {
        let Some(mut record) = self.record(index) else { return Err(BAD_COMMAND) };
        change(&mut record);
        // SAFETY: as in `record`; a program does not let kernels write the commands that it changes.
        unsafe { self.place(index).write_volatile(record) };
        Ok(())
    }

    pub(crate) fn set_pipeline(&self, index: u64, pipeline: &Arc<Pipeline>) -> Result<(), Misuse> {
        if self.limits.inherit_pipeline {
            return Err(c"the commands inherit the compute pipeline state (inheritPipelineState).");
        }
        if !std::ptr::eq(pipeline.device, self.memory.device()) {
            return Err(c"the compute pipeline state was created with a different device.");
        }
        if pipeline.dynamic_strides && !self.limits.strides {
            return Err(NO_STRIDES);
        }
        self.change(index, |record| record.pipeline = pipeline.handle())?;
        self.keep([pipeline.clone()]);
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, pipelines: impl IntoIterator<Item = Arc<Pipeline>>) {
        let mut kept = self.kept();
        // What copies will bring is in no command yet.
        if kept.pipelines.len() >= FEW_PIPELINES.max(2 * kept.left) && Arc::strong_count(&self.copying) == 1 {
            let named: HashSet<u64> =
                (0..self.count).filter_map(|at| self.record(at)).map(|one| one.pipeline).collect();
            kept.pipelines.retain(|pipeline| named.contains(&pipeline.handle()));
            kept.left = kept.pipelines.len();
        }
        for pipeline in pipelines {
            if !kept.pipelines.iter().any(|known| Arc::ptr_eq(known, &pipeline)) {
                kept.pipelines.push(pipeline);
            }
        }
    }

    /// Keeps what another one keeps, whose commands are copied to this one: at least as long as the caller holds the answer.
    pub(crate) fn keep_those_of(&self, other: &Commands) -> Arc<Copying> {
        let copying = self.copying.clone();
        if !std::ptr::eq(self, other) {
            let theirs = other.kept().pipelines.clone();
            self.keep(theirs);
        }
        copying
    }

    /// A stride of u64::MAX (MTLAttributeStrideStatic) is none.
    pub(crate) fn set_buffer(
        &self,
        index: u64,
        (buffer, offset): (&Buffer, u64),
        stride: u64,
        slot: u64,
    ) -> Result<(), Misuse> {
        if self.limits.inherit_buffers {
            return Err(c"the commands inherit the buffers (inheritBuffers).");
        }
        if slot >= u64::from(self.limits.buffers) {
            return Err(c"index must be < maxKernelBufferBindCount.");
        }
        if offset > buffer.length() {
            return Err(c"offset must be <= [buffer length].");
        }
        let stride = stride.wrapping_add(1);
        if stride != 0 && !self.limits.strides {
            return Err(NO_STRIDES);
        }
        let (slot, address) = (slot as usize, buffer.contents() as u64 + offset);
        self.change(index, |record| (record.buffer[slot], record.stride[slot]) = (address, stride))
    }

    pub(crate) fn set_stage_in_region(&self, index: u64, origin: [u64; 3], size: [u64; 3]) -> Result<(), Misuse> {
        let (origin, extent) = small_region(origin, size)?;
        self.change(index, |record| (record.region, record.origin, record.extent) = (1, origin, extent))
    }

    pub(crate) fn set_memory(&self, index: u64, length: u64, slot: u64) -> Result<(), Misuse> {
        if slot >= u64::from(self.limits.memory) {
            return Err(c"index must be < maxKernelThreadgroupMemoryBindCount.");
        }
        let length = threadgroup_length(self.memory.device(), length)?;
        self.change(index, |record| record.memory[slot as usize] = length)
    }

    pub(crate) fn set_imageblock(&self, index: u64, width: u64, height: u64) -> Result<(), Misuse> {
        let size = imageblock_size(width, height)?;
        self.change(index, |record| record.imageblock = size)
    }

    pub(crate) fn dispatch(&self, index: u64, kind: u32, grid: [u64; 3], size: [u64; 3]) -> Result<(), Misuse> {
        if self.limits.kinds & kind == 0 {
            return Err(c"commandTypes of the indirect command buffer do not allow this command.");
        }
        let narrow = |of: [u64; 3]| {
            let mut narrowed = [0; 3];
            for axis in 0..3 {
                narrowed[axis] = u32::try_from(of[axis]).map_err(|_| c"a grid must be < 2^32 along each axis.")?;
            }
            Ok(narrowed)
        };
        let (grid, size) = (narrow(grid)?, narrow(size)?);
        self.change(index, |record| (record.kind, record.grid, record.size) = (kind, grid, size))
    }
}
