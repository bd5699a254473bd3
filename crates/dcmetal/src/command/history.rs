//! What a batch recorded, as text, for the error of its submission: off until asked for
//! ([`Accelerator::set_history`](crate::Accelerator::set_history)).

use std::collections::VecDeque;
use std::fmt::Display;

use super::batch::Recorded;
use crate::Accelerator;

/// As many commands are kept, the last ones.
const MOST: usize = 1000;

/// The commands of a batch, if they are kept.
#[derive(Default)]
pub(crate) struct History(Option<Kept>);

#[derive(Default)]
struct Kept {
    recorded: u64,
    last: VecDeque<String>,
}

impl History {
    pub(super) fn of(accelerator: &Accelerator) -> History {
        History(accelerator.keeps_history().then(Kept::default))
    }

    /// Notes a command; its text is made only where it is kept.
    pub(super) fn note<T: Display>(&mut self, command: impl FnOnce() -> T) {
        let Some(kept) = &mut self.0 else { return };
        if kept.last.len() == MOST {
            kept.last.pop_front();
        }
        kept.last.push_back(format!("{}: {}", kept.recorded, command()));
        kept.recorded += 1;
    }

    /// As `note`, for a command that may have to be recorded later.
    pub(super) fn note_if<T: Display>(&mut self, recorded: &Recorded, command: impl FnOnce() -> T) {
        if matches!(recorded, Recorded::Done) {
            self.note(command);
        }
    }

    /// A line for each, in order.
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.iter().flat_map(|kept| kept.last.iter().cloned()).collect()
    }
}
