//! [`Verdict`]: what kernels of dcmetal's own found wrong with what other kernels wrote, by which a submission fails though its command buffer did not.

use dcmetal_sys as sys;

use crate::nested::{grid_too_large, too_many, wrong_command};
use crate::raw::Failure;
use crate::{Buffer, Size};

/// Memory that such a kernel writes, and what is asked of it when the submission has completed.
pub(crate) struct Verdict {
    pub(crate) memory: Buffer<u8>,
    pub(crate) asked: Asked,
}

pub(crate) enum Asked {
    /// `dcmetal_guard`: whether the threadgroups are as many as were declared, of a launch of this kernel.
    Grid { kernel: String, most: Size },
    /// `dcmetal_encode`: whether all commands could be encoded, of so many.
    Commands { capacity: usize },
}

/// The domain of such failures.
pub(crate) const DOMAIN: &str = "dcmetal";

impl Verdict {
    /// What is wrong as far as the device has told; all of it once that has gone on behind the kernel. The memory says "nothing" before it begins.
    pub(super) fn failure(&self) -> Option<Failure> {
        let word = |index| self.memory.allocation().memory().word(index);
        let text = match &self.asked {
            Asked::Grid { kernel, most } => {
                (word(3) != 0).then(|| grid_too_large(kernel, [4, 5, 6].map(word).into(), *most))
            }
            Asked::Commands { capacity } => match (word(0), word(1)) {
                (u32::MAX, 0) => None,
                (_, count) if count != 0 => Some(too_many(count, *capacity)),
                (what, _) => Some(wrong_command(what >> 8, what & 0xFF)),
            },
        };
        let text = text?;
        Some(Failure { status: sys::DC_METAL_FAILED, domain: DOMAIN.to_owned(), code: 1, text, encoders: Vec::new() })
    }
}
