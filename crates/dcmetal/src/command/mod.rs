//! Batches of launches, copies and fills, and the submissions they become.
//!
//! A [`Batch`](batch::Batch) is one Metal command buffer being recorded; submitting it gives a
//! [`Submission`](submission::Submission). Every accelerator has one queue, and what a submission wrote is seen by the
//! submissions after it: two launches in flight that write the same buffer run one after the other.

mod batch;
mod submission;

pub use batch::Batch;
pub(crate) use submission::Inflight;
pub use submission::Submission;
