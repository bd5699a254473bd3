//! Indirect commands: dispatches that are recorded once and executed by any number of command buffers.
//!
//! DCMetal.h, "DCMetalIndirectCommands": "What a command uses is kept until" it is reset, and command buffers that were given the
//! commands keep them until they have completed; a change meanwhile is refused. So commands of the host's can make the device meet neither memory
//! that is gone, nor commands that change under it; what those name that kernels write the caller keeps. They "belong to one thread at a time": every function takes `&mut`.

use std::ops::Range;
use std::ptr;

use super::{ComputeEncoder, size};
use crate::Size;
use crate::raw::host::Memory;
use crate::raw::{Device, Failure, Pipeline, check, handle};
use crate::sys;

handle!(
    /// `MTLIndirectCommandBuffer` of dispatches, which inherit nothing.
    DCMetalIndirectCommands,
    DCMetalIndirectCommands_Release
);

pub(crate) type IndirectCommands = DCMetalIndirectCommands;

// SAFETY: "indirect commands belong to one thread at a time" (DCMetal.h): they may move, so Send.
unsafe impl Send for DCMetalIndirectCommands {}
// SAFETY: a shared reference can do nothing: every function takes `&mut`.
unsafe impl Sync for DCMetalIndirectCommands {}

impl DCMetalIndirectCommands {
    /// `count` places for commands of the host, of which each can have buffers at indices below `buffers`.
    pub(crate) fn new(device: &Device, count: usize, buffers: usize) -> Result<IndirectCommands, Failure> {
        Self::with(device, sys::DC_METAL_INDIRECT_THREADS, count, buffers)
    }

    /// The same for commands that a kernel writes, of dispatches in threadgroups.
    pub(crate) fn for_kernels(device: &Device, count: usize, buffers: usize) -> Result<IndirectCommands, Failure> {
        Self::with(device, sys::DC_METAL_INDIRECT_THREADGROUPS, count, buffers)
    }

    fn with(
        device: &Device,
        types: sys::DCMetalIndirectCommandTypes,
        count: usize,
        buffers: usize,
    ) -> Result<IndirectCommands, Failure> {
        let descriptor = sys::DCMetalIndirectDescriptor {
            count: count as u64,
            types: types.0,
            buffers: buffers as u32,
            memories: 0,
            inherit_pipeline: false,
            inherit_buffers: false,
        };
        let (mut commands, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the descriptor and the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalIndirectCommands_Create(device.0, &descriptor, &mut commands, &mut error) };
        check(status, error)?;
        Ok(DCMetalIndirectCommands(commands))
    }

    /// What a `command_buffer` in memory holds; 0 where the system does not tell.
    pub(crate) fn resource_id(&mut self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalIndirectCommands_GetResourceID(self.0) }
    }

    /// The pipeline must have been made for indirect commands.
    pub(crate) fn set_pipeline(&mut self, index: usize, pipeline: &Pipeline) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call.
        let status = unsafe { sys::DCMetalIndirectCommands_SetPipeline(self.0, index as u64, pipeline.0, &mut error) };
        check(status, error)
    }

    pub(crate) fn set_buffer(
        &mut self,
        index: usize,
        memory: &Memory,
        offset: usize,
        slot: usize,
    ) -> Result<(), Failure> {
        let (index, offset, mut error) = (index as u64, offset as u64, ptr::null_mut());
        // SAFETY: live handles; the out-parameter is valid for the call. The commands keep the buffer.
        let status = unsafe {
            sys::DCMetalIndirectCommands_SetBuffer(self.0, index, memory.buffer().0, offset, slot, &mut error)
        };
        check(status, error)
    }

    /// The command waits for those of smaller index in the same execution; later ones without a barrier do not wait.
    pub(crate) fn set_barrier(&mut self, index: usize) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; the out-parameter is valid for the call.
        check(unsafe { sys::DCMetalIndirectCommands_SetBarrier(self.0, index as u64, &mut error) }, error)
    }

    /// Comes last, and makes the command whole.
    pub(crate) fn dispatch_threads(&mut self, index: usize, threads: Size, threadgroup: Size) -> Result<(), Failure> {
        let (threads, threadgroup, mut error) = (size(threads), size(threadgroup), ptr::null_mut());
        // SAFETY: a live handle; the out-parameter is valid for the call.
        let status = unsafe {
            sys::DCMetalIndirectCommands_DispatchThreads(self.0, index as u64, threads, threadgroup, &mut error)
        };
        check(status, error)
    }

    /// Makes a command none, so that it can be recorded anew.
    pub(crate) fn reset(&mut self, index: usize) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; the out-parameter is valid for the call.
        check(unsafe { sys::DCMetalIndirectCommands_Reset(self.0, index as u64, 1, &mut error) }, error)
    }
}

impl ComputeEncoder {
    /// Executes commands, which are as dispatches that were encoded: barriers keep them from others.
    pub(crate) fn execute(&mut self, commands: &mut IndirectCommands, which: Range<usize>) -> Result<(), Failure> {
        let (first, count, mut error) = (which.start as u64, which.len() as u64, ptr::null_mut());
        // SAFETY: live handles; the out-parameter is valid for the call. The command buffer keeps the commands.
        let status =
            unsafe { sys::DCMetalComputeEncoder_ExecuteCommands(self.0, commands.0, first, count, &mut error) };
        check(status, error)
    }

    /// Executes the commands of a range that two 32-bit numbers there say when it runs: first and count.
    pub(crate) fn execute_indirect(
        &mut self,
        commands: &mut IndirectCommands,
        (memory, offset): (&Memory, usize),
    ) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call. The command buffer keeps the commands, the caller the memory.
        let status = unsafe {
            sys::DCMetalComputeEncoder_ExecuteCommandsIndirect(
                self.0,
                commands.0,
                memory.buffer().0,
                offset as u64,
                &mut error,
            )
        };
        check(status, error)
    }

    /// Kernels of what follows may write commands.
    pub(crate) fn use_commands(&mut self, commands: &mut IndirectCommands) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call. The command buffer keeps the commands.
        check(unsafe { sys::DCMetalComputeEncoder_UseCommands(self.0, commands.0, &mut error) }, error)
    }
}
