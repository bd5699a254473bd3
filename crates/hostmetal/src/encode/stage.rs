//! Encoders: what `[[stage_in]]` of kernels is read by, regions and strides that are set with buffers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{BAD_INDEX, Dispatch, Encoder, Kind, Misuse, Recording, Strides, within};
use crate::executor::SLOTS;
use crate::memory::Buffer;

/// What dispatches of a recording are given for their `[[stage_in]]`, by numbers from 1.
#[derive(Default)]
pub(crate) struct Stage {
    /// The last is that of the dispatches to come.
    regions: Vec<StageInRegion>,
    /// By index of the buffer.
    strides: Vec<[u64; SLOTS]>,
}

/// A stage-in region (MSL specification 5.2.3.6, `[[grid_origin]]` and `[[grid_size]]`).
pub(crate) enum StageInRegion {
    Known([u32; 3], [u32; 3]),
    /// Six 32-bit numbers of a buffer (MTLStageInRegionIndirectArguments), read when a dispatch runs.
    Indirect(*const AtomicU32),
}

// SAFETY: the address points into a buffer that the recording holds; it may be used from any thread.
unsafe impl Send for StageInRegion {}

/// Of the buffer and offset of an indirect stage-in region.
const REGION_BYTES: u64 = 24;

impl Encoder {
    /// The region of the dispatches to come.
    pub(crate) fn set_stage_in_region(&self, origin: [u64; 3], size: [u64; 3]) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        let (origin, size) = small_region(origin, size)?;
        state.recording.keep_region(origin, size);
        Ok(())
    }

    /// As `set_stage_in_region`, for a region that the buffer tells when the dispatches run.
    pub(crate) fn set_stage_in_region_indirect(&self, buffer: &Arc<Buffer>, offset: u64) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        if !std::ptr::eq(buffer.device(), self.command_buffer.queue.device) {
            return Err(c"indirectBuffer was created with a different device than the command buffer.");
        }
        if !offset.is_multiple_of(4) {
            return Err(c"indirectBufferOffset must be a multiple of 4.");
        }
        if !within(buffer, offset, REGION_BYTES) {
            return Err(c"(indirectBufferOffset + sizeof(MTLStageInRegionIndirectArguments)) must be <= [indirectBuffer length].");
        }
        state.recording.hold(buffer.clone());
        state.recording.note(buffer, false);
        let address = buffer.contents().wrapping_add(offset as usize).cast::<AtomicU32>();
        state.recording.stage().regions.push(StageInRegion::Indirect(address));
        Ok(())
    }

    /// Sets the stride of the buffer that was set last at an index, which its kernel's layout leaves open; u64::MAX
    /// (MTLAttributeStrideStatic) for none.
    pub(crate) fn set_attribute_stride(&self, stride: u64, index: usize) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        if index >= SLOTS {
            return Err(BAD_INDEX);
        }
        if stride == u64::MAX {
            state.forget_stride(index);
        } else {
            state.strides.get_or_insert_with(|| Box::new([None; SLOTS]))[index] = Some(stride);
        }
        Ok(())
    }
}

/// Origin and size of a region as kernels see them.
pub(crate) fn small_region(origin: [u64; 3], size: [u64; 3]) -> Result<([u32; 3], [u32; 3]), Misuse> {
    let small = |numbers: [u64; 3]| {
        let small = numbers.map(u32::try_from);
        small.iter().all(Result::is_ok).then(|| small.map(Result::unwrap_or_default))
    };
    let both = small(origin).zip(small(size));
    both.ok_or(c"region.origin and region.size must be < 2^32 along each axis.")
}

impl Recording {
    fn stage(&mut self) -> &mut Stage {
        self.stage.get_or_insert_default()
    }

    /// The number of the region that was set last, 0 for none.
    pub(crate) fn last_region(&self) -> u32 {
        self.stage.as_ref().map_or(0, |stage| stage.regions.len() as u32)
    }

    /// Keeps a stage-in region for a dispatch; returns its number from 1.
    pub(crate) fn keep_region(&mut self, origin: [u32; 3], size: [u32; 3]) -> u32 {
        self.stage().regions.push(StageInRegion::Known(origin, size));
        self.last_region()
    }

    /// Origin and size of a dispatch's stage-in region, as they are now; the grid itself where none was set.
    pub(crate) fn region(&self, dispatch: &Dispatch) -> ([u32; 3], [u32; 3]) {
        let number = (dispatch.region as usize).checked_sub(1);
        match self.stage.as_ref().zip(number).map(|(stage, number)| &stage.regions[number]) {
            None => ([0; 3], dispatch.threads),
            Some(StageInRegion::Known(origin, size)) => (*origin, *size),
            Some(StageInRegion::Indirect(address)) => {
                // SAFETY: the encoder checked the place's alignment and that it lies in a buffer, which the recording holds.
                let place = unsafe { std::slice::from_raw_parts(*address, 6) };
                let three = |first: usize| std::array::from_fn(|axis| place[first + axis].load(Ordering::Relaxed));
                (three(0), three(3))
            }
        }
    }

    /// Keeps the strides of a dispatch's buffers, once for dispatches in a row that have the same; returns their number from 1.
    pub(crate) fn keep_strides(&mut self, strides: Strides) -> u32 {
        let all = &mut self.stage().strides;
        let strides = strides.map(Option::unwrap_or_default);
        if all.last() != Some(&strides) {
            all.push(strides);
        }
        all.len() as u32
    }

    /// The strides that a dispatch's kernel sees, `SLOTS` of them.
    pub(crate) fn strides(&self, dispatch: &Dispatch) -> *const u64 {
        let number = (dispatch.strides as usize).checked_sub(1);
        self.stage.as_ref().zip(number).map_or(std::ptr::null(), |(stage, number)| stage.strides[number].as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_kept_once_until_they_change() {
        let mut recording = Recording::default();
        let (mut one, mut other) = ([None; SLOTS], [None; SLOTS]);
        (one[3], other[30]) = (Some(12), Some(20));
        let numbers = [one, one, other, other, one].map(|strides| recording.keep_strides(strides));
        assert_eq!(numbers, [1, 1, 2, 2, 3]);
        let kept = &recording.stage().strides;
        assert_eq!(kept.iter().map(|all| (all[3], all[30])).collect::<Vec<_>>(), [(12, 0), (0, 20), (12, 0)]);
    }
}
