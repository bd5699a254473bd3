//! Batches of launches, copies and fills, the submissions they become, and streams, which make batches by themselves, alone or in groups.
//!
//! A [`Batch`](batch::Batch) is one Metal command buffer being recorded; submitting it gives a
//! [`Submission`](submission::Submission). Every accelerator has one queue, and what a submission wrote is seen by the
//! submissions after it: two launches in flight that write the same buffer run one after the other.

mod ages;
mod batch;
mod ending;
mod group;
mod hazard;
mod history;
mod order;
mod room;
mod slots;
mod stream;
mod submission;
mod urgent;
mod uses;
mod verdict;

pub(crate) use ages::{Ages, Timed};
pub use batch::Batch;
pub(crate) use batch::{GraphPass, Passes, SharedExecutable, alone};
pub(crate) use ending::{Ending, wake};
pub use group::StreamGroup;
pub(crate) use hazard::{Hazards, Scope, Touch};
pub(crate) use order::Marks;
pub(crate) use slots::Slots;
pub use stream::{Stream, StreamLimits};
pub use submission::Submission;
pub(crate) use submission::{Doom, Inflight, Launched};
pub(crate) use urgent::Urgent;
pub(crate) use verdict::DOMAIN;
