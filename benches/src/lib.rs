//! What the benchmarks share beside what they share with `dcmetal validate` ([`dcmetal_validate`]): the OpenCL peer.
//!
//! Criterion measures one side's cost. A comparison with a peer is [`dcmetal_validate::measure::paired`]: A B A B in one process, so that
//! a noisy machine disturbs both sides alike, reported as the ratio of medians with its spread.

pub mod new_process;
pub mod opencl;
