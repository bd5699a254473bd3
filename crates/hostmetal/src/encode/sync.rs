//! Encoders: fences, samples of the clock, and dispatches whose grid is known when they run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{Command, Dispatch, ENDED, Encoder, Kind, Misuse, Recording, hold, within};
use crate::command::{ErrorCode, Failure};
use crate::event::Fence;
use crate::executor::event::now;
use crate::memory::Buffer;

/// Of the buffer and offset of an indirect dispatch (MTLDispatchThreadgroupsIndirectArguments).
const INDIRECT_BYTES: u64 = 12;

impl Encoder {
    /// Later encoders that wait for the fence wait for this one.
    pub(crate) fn update_fence(&self, fence: Arc<Fence>) -> Result<(), Misuse> {
        let mut state = self.of_device(&fence)?;
        hold(&mut state.recording.held, &fence);
        if let Some(pass) = &mut state.recording.pass {
            pass.updates(fence.clone());
        }
        state.updated.push(fence);
        Ok(())
    }

    /// Waits, at the encoder's begin, for earlier encoders that update the fence. Updates happen at an encoder's end, so its
    /// own cannot be waited for (Apple, -[MTLRenderCommandEncoder updateFence:afterStages:]).
    pub(crate) fn wait_for_fence(&self, fence: &Arc<Fence>) -> Result<(), Misuse> {
        let mut state = self.of_device(fence)?;
        if state.updated.iter().any(|updated| Arc::ptr_eq(updated, fence)) {
            return Err(c"waiting for a fence that this encoder has updated is not allowed: wait first, then update.");
        }
        hold(&mut state.recording.held, fence);
        if let Some(pass) = &mut state.recording.pass {
            pass.waits_for(fence.clone());
        }
        Ok(())
    }

    /// What is encoded from here on waits for all passes before.
    pub(crate) fn queue_barrier(&self) {
        if let Some(pass) = &mut self.state().recording.pass {
            pass.follows_all();
        }
    }

    /// It uses memory that is not bound to it: of a resource, or of all resources of a heap.
    pub(crate) fn declare(&self, tracked: Option<usize>, writes: bool) {
        if let Some(pass) = &mut self.state().recording.pass {
            pass.uses(tracked, writes);
        }
    }

    fn of_device(&self, fence: &Arc<Fence>) -> Result<std::sync::MutexGuard<'_, super::State>, Misuse> {
        if !std::ptr::eq(fence.device, self.command_buffer.queue.device) {
            return Err(c"fence was created with a different device than the command buffer.");
        }
        let state = self.state();
        if state.ended { Err(ENDED) } else { Ok(state) }
    }

    /// Writes the time to an 8-byte element of a buffer when execution comes here, or at the encoder's end.
    pub(crate) fn sample(&self, samples: &Arc<Buffer>, index: u64, at_end: bool) -> Result<(), Misuse> {
        let mut state = self.state();
        if state.ended {
            return Err(ENDED);
        }
        if !std::ptr::eq(samples.device(), self.command_buffer.queue.device) {
            return Err(c"sampleBuffer was created with a different device than the command buffer.");
        }
        let offset = index.checked_mul(8).filter(|&offset| within(samples, offset, 8));
        let offset = offset.ok_or(c"sampleIndex must be < [sampleBuffer sampleCount].")?;
        let at = samples.contents().wrapping_add(offset as usize).cast::<AtomicU64>();
        state.recording.hold(samples.clone());
        state.recording.note(samples, true);
        if at_end {
            state.recording.at_end.push(Command::Sample { at });
        } else {
            state.recording.commands.push(Command::Sample { at });
        }
        Ok(())
    }

    /// A grid of as many threadgroups as three 32-bit numbers of the buffer say when the dispatch runs.
    pub(crate) fn dispatch_indirect(
        &self,
        buffer: &Arc<Buffer>,
        offset: u64,
        group_size: [u64; 3],
    ) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        if !std::ptr::eq(buffer.device(), self.command_buffer.queue.device) {
            return Err(c"indirectBuffer was created with a different device than the command buffer.");
        }
        if !offset.is_multiple_of(4) {
            return Err(c"indirectBufferOffset must be a multiple of 4.");
        }
        if !within(buffer, offset, INDIRECT_BYTES) {
            return Err(c"(indirectBufferOffset + sizeof(MTLDispatchThreadgroupsIndirectArguments)) must be <= [indirectBuffer length].");
        }
        let group_size = state.group_size(group_size)?;
        state.dispatch([0; 3], [0; 3], group_size)?;
        state.recording.hold(buffer.clone());
        state.recording.note(buffer, false);
        let address = buffer.contents().wrapping_add(offset as usize).cast::<AtomicU32>();
        let Some(Command::Dispatch(dispatch)) = state.recording.commands.last_mut() else {
            unreachable!("a dispatch was just recorded")
        };
        dispatch.indirect = address;
        Ok(())
    }
}

/// Reads the grids of the indirect ones among the dispatches at `positions`.
pub(crate) fn read_grids(recording: &mut Recording, positions: std::ops::Range<usize>) -> Result<(), Failure> {
    for position in positions {
        let Command::Dispatch(dispatch) = &mut recording.commands[position] else { continue };
        if dispatch.indirect.is_null() {
            continue;
        }
        // SAFETY: the encoder checked the place's alignment and that it lies in a buffer, which the recording holds.
        let place = unsafe { std::slice::from_raw_parts(dispatch.indirect, 3) };
        let groups: [u32; 3] = std::array::from_fn(|axis| place[axis].load(Ordering::Relaxed));
        if let Err(text) = dispatch.set_groups(groups) {
            let name = &recording.pipelines[dispatch.pipeline as usize].name;
            let text = format!("{text}: kernel {name:?}");
            return Err(Failure { code: ErrorCode::Internal, text, place: (0, position) });
        }
    }
    Ok(())
}

impl Dispatch {
    fn set_groups(&mut self, groups: [u32; 3]) -> Result<(), String> {
        for axis in 0..3 {
            let threads = groups[axis].checked_mul(self.group_size[axis]);
            self.threads[axis] = threads.ok_or_else(|| {
                let [x, y, z] = groups;
                format!(
                    "Internal Error: the indirect arguments ask for {x} x {y} x {z} threadgroups of {:?} threads, which are \
                     2^32 threads or more along an axis",
                    self.group_size
                )
            })?;
        }
        self.groups = groups;
        Ok(())
    }
}

/// Writes the time of now to the place of a sample.
///
/// # Safety
/// The encoder made `at`, and the recording still holds its buffer.
pub(crate) unsafe fn write_sample(at: *const AtomicU64) {
    // SAFETY: the encoder checked that the place lies in a buffer; buffers begin at pages and samples are 8 bytes each.
    unsafe { &*at }.store(now(), Ordering::Relaxed);
}
