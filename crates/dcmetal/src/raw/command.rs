//! Queues, command buffers and encoders; [`indirect`]: commands that encoders execute.
//!
//! A command buffer is recorded by one thread ([`CommandBuffer`], `Send` only) and becomes [`Committed`], which only
//! answers questions and is `Sync`: "waiting on and reading the status of a committed command buffer is allowed from any
//! thread" (DCMetal.h, "Threads"). Recording functions take `&mut self`, so the type system keeps the one-thread rule.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::time::Duration;

use super::event::Fence;
use super::host::Memory;
use super::texture::SamplerState;
use super::{Device, Failure, MetalError, Pipeline, c_string, check, handle};
use crate::Size;
use crate::command::Scope;
use crate::sys;

pub(crate) mod indirect;

handle!(
    /// `MTLCommandQueue`.
    DCMetalQueue,
    DCMetalQueue_Release
);
handle!(
    /// `MTLCommandBuffer` while it is recorded.
    DCMetalCommandBuffer,
    DCMetalCommandBuffer_Release
);
handle!(
    /// `MTLComputeCommandEncoder`.
    DCMetalComputeEncoder,
    DCMetalComputeEncoder_Release
);
handle!(
    /// `MTLBlitCommandEncoder`.
    DCMetalBlitEncoder,
    DCMetalBlitEncoder_Release
);

pub(crate) type Queue = DCMetalQueue;
pub(crate) type CommandBuffer = DCMetalCommandBuffer;
pub(crate) type ComputeEncoder = DCMetalComputeEncoder;
pub(crate) type BlitEncoder = DCMetalBlitEncoder;

// SAFETY: DCMetal.h: queues "may be used from any thread at once"; Apple: "command queues are thread-safe".
unsafe impl Send for DCMetalQueue {}
// SAFETY: as for Send.
unsafe impl Sync for DCMetalQueue {}
// SAFETY: "A command buffer and its encoders belong to one thread at a time": they may move, so Send and not Sync.
unsafe impl Send for DCMetalCommandBuffer {}
// SAFETY: as for the command buffer.
unsafe impl Send for DCMetalComputeEncoder {}
// SAFETY: as for the command buffer.
unsafe impl Send for DCMetalBlitEncoder {}

/// Who keeps alive what a command buffer's encoders are given: buffers, textures, samplers, pipelines, fences, events, indirect commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum References {
    /// The caller, until it has completed or was dropped uncommitted: "the app is responsible for keeping strong references to all resources"
    /// (Apple, `makeCommandBufferWithUnretainedReferences`).
    Held,
    /// Metal, too.
    Retained,
}

/// Runs when a command buffer has completed, with its outcome.
pub(crate) type Completion = Box<dyn FnOnce(Result<(), Failure>) + Send>;

impl DCMetalQueue {
    /// `capacity`: command buffers that may exist uncompleted before the next creation blocks.
    pub(crate) fn new(device: &Device, capacity: usize) -> Result<Queue, Failure> {
        let (mut queue, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalQueue_Create(device.0, capacity, &mut queue, &mut error) };
        check(status, error)?;
        Ok(DCMetalQueue(queue))
    }
}

impl DCMetalCommandBuffer {
    /// With encoder information in errors.
    pub(crate) fn new(queue: &Queue, references: References) -> Result<CommandBuffer, Failure> {
        let unretained_references = references == References::Held;
        let options = sys::DCMetalCommandBufferOptions { unretained_references, encoder_info: true };
        let (mut command_buffer, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; `options` and the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalCommandBuffer_Create(queue.0, &options, &mut command_buffer, &mut error) };
        check(status, error)?;
        Ok(DCMetalCommandBuffer(command_buffer))
    }

    /// Commits. `completion` runs exactly once, on a thread of Metal's, unless this fails: then it is dropped.
    pub(crate) fn commit(self, completion: Completion) -> Result<Committed, Failure> {
        let context = Box::into_raw(Box::new(completion));
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; `completed` takes the box back, and DCMetal.h promises one call once it is committed.
        let mut status = unsafe {
            sys::DCMetalCommandBuffer_AddCompletedHandler(self.0, Some(completed), context.cast(), &mut error)
        };
        if status == sys::DC_METAL_OK {
            // SAFETY: a live handle; the out-parameter is valid for the call, and the last call has left it NULL.
            status = unsafe { sys::DCMetalCommandBuffer_Commit(self.0, &mut error) };
        }
        if let Err(failure) = check(status, error) {
            drop(self);
            // SAFETY: DCMetal.h: never called "for a command buffer that was not committed", and this one has gone.
            drop(unsafe { Box::from_raw(context) });
            return Err(failure);
        }
        Ok(Committed(self))
    }
}

/// The one function Metal calls. A panic must not leave it: it would abort the process ("panic in a function that cannot
/// unwind"). The completion runs the user's code (wakers) last and contains its panics itself.
unsafe extern "C" fn completed(context: *mut c_void, status: sys::DCMetalStatus, failure: sys::DCMetalError) {
    let outcome = {
        let error = MetalError::owned(failure);
        if status == sys::DC_METAL_OK { Ok(()) } else { Err(Failure::new(status, error)) }
    };
    // SAFETY: `context` is the box of `commit`, and this is the one call that gets it.
    let completion = unsafe { Box::from_raw(context.cast::<Completion>()) };
    // Only a broken invariant of ours panics here; the panic hook has reported it, and there is no caller to tell.
    let _ = catch_unwind(AssertUnwindSafe(|| completion(outcome)));
}

/// `MTLCommandBuffer` after the commit.
pub(crate) struct Committed(CommandBuffer);

// SAFETY: only status and times are read after the commit, which any thread may do (DCMetal.h, "Threads").
unsafe impl Sync for Committed {}

impl Committed {
    /// Whether it has ended with an error.
    pub(crate) fn has_failed(&self) -> bool {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalCommandBuffer_GetStatus(self.0.0) == sys::DC_METAL_COMMAND_BUFFER_ERROR }
    }

    /// Time on the device, once completed.
    pub(crate) fn gpu_time(&self) -> Result<Duration, Failure> {
        self.gpu_times().map(|(start, end)| Duration::from_nanos(end - start))
    }

    /// When the device began and ended, in nanoseconds of the host time ([`clock`](super::clock)), once completed.
    pub(crate) fn gpu_times(&self) -> Result<(u64, u64), Failure> {
        let (mut start, mut end) = (0.0, 0.0);
        // SAFETY: a live handle and valid out-parameters.
        let status = unsafe { sys::DCMetalCommandBuffer_GetGPUTimes(self.0.0, &mut start, &mut end) };
        check(status, ptr::null_mut())?;
        // Some systems leave the times at zero; that is no time (targets.md, "counter sample buffers can read zero").
        let nanoseconds = |seconds: f64| (seconds * 1e9).round() as u64;
        match start > 0.0 && end >= start {
            true => Ok((nanoseconds(start), nanoseconds(end))),
            false => Err(Failure::new(sys::DC_METAL_UNSUPPORTED, None)),
        }
    }
}

fn size(size: Size) -> sys::DCMetalSize {
    sys::DCMetalSize { width: size.x, height: size.y, depth: size.z }
}

impl DCMetalComputeEncoder {
    /// A concurrent encoder: dispatches see what those before the last barrier wrote, and may run in any order else.
    pub(crate) fn new(command_buffer: &mut CommandBuffer) -> Result<ComputeEncoder, Failure> {
        let (mut encoder, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the out-parameters are valid for the call.
        let status = unsafe {
            sys::DCMetalComputeEncoder_Create(
                command_buffer.0,
                sys::DC_METAL_DISPATCH_CONCURRENT,
                &mut encoder,
                &mut error,
            )
        };
        check(status, error)?;
        Ok(DCMetalComputeEncoder(encoder))
    }

    pub(crate) fn set_label(&mut self, label: &str) -> Result<(), Failure> {
        let label = c_string(label)?;
        // SAFETY: a live handle and a terminated string.
        check(unsafe { sys::DCMetalComputeEncoder_SetLabel(self.0, label.as_ptr()) }, ptr::null_mut())
    }

    pub(crate) fn set_pipeline(&mut self, pipeline: &Pipeline) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call.
        let status = unsafe { sys::DCMetalComputeEncoder_SetPipeline(self.0, pipeline.0, &mut error) };
        check(status, error)
    }

    pub(crate) fn set_buffer(&mut self, memory: &Memory, offset: usize, index: usize) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call. The caller keeps the memory until completion.
        let status = unsafe {
            sys::DCMetalComputeEncoder_SetBuffer(self.0, memory.buffer().0, offset as u64, index, &mut error)
        };
        check(status, error)
    }

    pub(crate) fn set_texture(&mut self, memory: &Memory, index: usize) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call. The caller keeps the texture until completion.
        let status = unsafe { sys::DCMetalComputeEncoder_SetTexture(self.0, memory.as_texture().0, index, &mut error) };
        check(status, error)
    }

    pub(crate) fn set_sampler(&mut self, sampler: &SamplerState, index: usize) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call. The caller keeps the sampler until completion.
        let status = unsafe { sys::DCMetalComputeEncoder_SetSampler(self.0, sampler.0, index, &mut error) };
        check(status, error)
    }

    pub(crate) fn set_bytes(&mut self, bytes: &[u8], index: usize) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; `bytes` is valid for its length and copied by the call.
        let status = unsafe {
            sys::DCMetalComputeEncoder_SetBytes(self.0, bytes.as_ptr().cast(), bytes.len(), index, &mut error)
        };
        check(status, error)
    }

    pub(crate) fn set_threadgroup_memory(&mut self, bytes: u64, index: usize) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; the out-parameter is valid for the call.
        let status = unsafe { sys::DCMetalComputeEncoder_SetThreadgroupMemoryLength(self.0, bytes, index, &mut error) };
        check(status, error)
    }

    pub(crate) fn dispatch_threads(&mut self, threads: Size, threadgroup: Size) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; the out-parameter is valid for the call.
        let status =
            unsafe { sys::DCMetalComputeEncoder_DispatchThreads(self.0, size(threads), size(threadgroup), &mut error) };
        check(status, error)
    }

    pub(crate) fn dispatch_threadgroups(&mut self, count: Size, threadgroup: Size) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; the out-parameter is valid for the call.
        let status = unsafe {
            sys::DCMetalComputeEncoder_DispatchThreadgroups(self.0, size(count), size(threadgroup), &mut error)
        };
        check(status, error)
    }

    /// Of as many threadgroups as three 32-bit numbers there say when it runs.
    pub(crate) fn dispatch_indirect(
        &mut self,
        (memory, offset): (&Memory, usize),
        threadgroup: Size,
    ) -> Result<(), Failure> {
        let (offset, threadgroup, mut error) = (offset as u64, size(threadgroup), ptr::null_mut());
        // SAFETY: live handles; the out-parameter is valid for the call. The caller keeps the memory until completion.
        let status = unsafe {
            sys::DCMetalComputeEncoder_DispatchThreadgroupsIndirect(
                self.0,
                memory.buffer().0,
                offset,
                threadgroup,
                &mut error,
            )
        };
        check(status, error)
    }

    /// What follows may reach the memory by its address.
    pub(crate) fn use_buffer(&mut self, memory: &Memory, writes: bool) -> Result<(), Failure> {
        let usage = sys::DC_METAL_USAGE_READ.0 | if writes { sys::DC_METAL_USAGE_WRITE.0 } else { 0 };
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call. The caller keeps the memory until completion.
        let status = unsafe { sys::DCMetalComputeEncoder_UseBuffer(self.0, memory.buffer().0, usage, &mut error) };
        check(status, error)
    }

    /// What follows sees what the dispatches so far wrote to resources of that scope.
    pub(crate) fn memory_barrier(&mut self, scope: Scope) -> Result<(), Failure> {
        let bits = [(Scope::BUFFERS, sys::DC_METAL_BARRIER_BUFFERS), (Scope::TEXTURES, sys::DC_METAL_BARRIER_TEXTURES)];
        let scope = bits.iter().filter(|(part, _)| scope.has(*part)).fold(0, |all, (_, bit)| all | bit.0);
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; the out-parameter is valid for the call.
        check(unsafe { sys::DCMetalComputeEncoder_MemoryBarrier(self.0, scope, &mut error) }, error)
    }

    /// The fence is updated when the encoder's commands have finished. The caller keeps it until completion.
    pub(crate) fn update_fence(&mut self, fence: &Fence) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call.
        check(unsafe { sys::DCMetalComputeEncoder_UpdateFence(self.0, fence.0, &mut error) }, error)
    }

    /// What follows starts when the fence's last update before has come. The caller keeps it until completion.
    pub(crate) fn wait_for_fence(&mut self, fence: &Fence) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call.
        check(unsafe { sys::DCMetalComputeEncoder_WaitForFence(self.0, fence.0, &mut error) }, error)
    }

    pub(crate) fn end(self) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; the out-parameter is valid for the call.
        check(unsafe { sys::DCMetalComputeEncoder_EndEncoding(self.0, &mut error) }, error)
    }
}

impl DCMetalBlitEncoder {
    pub(crate) fn new(command_buffer: &mut CommandBuffer) -> Result<BlitEncoder, Failure> {
        let (mut encoder, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalBlitEncoder_Create(command_buffer.0, &mut encoder, &mut error) };
        check(status, error)?;
        Ok(DCMetalBlitEncoder(encoder))
    }

    pub(crate) fn set_label(&mut self, label: &str) -> Result<(), Failure> {
        let label = c_string(label)?;
        // SAFETY: a live handle and a terminated string.
        check(unsafe { sys::DCMetalBlitEncoder_SetLabel(self.0, label.as_ptr()) }, ptr::null_mut())
    }

    pub(crate) fn copy(&mut self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call. Ranges are checked by the call.
        let status = unsafe {
            sys::DCMetalBlitEncoder_CopyBuffer(
                self.0,
                from.0.buffer().0,
                from.1 as u64,
                to.0.buffer().0,
                to.1 as u64,
                bytes as u64,
                &mut error,
            )
        };
        check(status, error)
    }

    pub(crate) fn fill(&mut self, to: (&Memory, usize), bytes: usize, value: u8) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call. The range is checked by the call.
        let status = unsafe {
            sys::DCMetalBlitEncoder_FillBuffer(self.0, to.0.buffer().0, to.1 as u64, bytes as u64, value, &mut error)
        };
        check(status, error)
    }

    pub(crate) fn synchronize(&mut self, memory: &Memory) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        if memory.is_texture() {
            // SAFETY: live handles; the out-parameter is valid for the call.
            let status =
                unsafe { sys::DCMetalBlitEncoder_SynchronizeTexture(self.0, memory.as_texture().0, &mut error) };
            return check(status, error);
        }
        // SAFETY: live handles; the out-parameter is valid for the call.
        let status = unsafe { sys::DCMetalBlitEncoder_SynchronizeBuffer(self.0, memory.buffer().0, &mut error) };
        check(status, error)
    }

    /// The fence is updated when the encoder's commands have finished. The caller keeps it until completion.
    pub(crate) fn update_fence(&mut self, fence: &Fence) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call.
        check(unsafe { sys::DCMetalBlitEncoder_UpdateFence(self.0, fence.0, &mut error) }, error)
    }

    /// What follows starts when the fence's last update before has come. The caller keeps it until completion.
    pub(crate) fn wait_for_fence(&mut self, fence: &Fence) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the out-parameter is valid for the call.
        check(unsafe { sys::DCMetalBlitEncoder_WaitForFence(self.0, fence.0, &mut error) }, error)
    }

    pub(crate) fn end(self) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; the out-parameter is valid for the call.
        check(unsafe { sys::DCMetalBlitEncoder_EndEncoding(self.0, &mut error) }, error)
    }
}
