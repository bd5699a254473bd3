//! What the benchmarks share beside what they share with `dcmetal validate` ([`dcmetal_validate`]): the OpenCL peer.
//!
//! Criterion measures one side's cost. A comparison with a peer is [`dcmetal_validate::measure::paired`]: A B A B in one process, so that
//! a noisy machine disturbs both sides alike, reported as the ratio of medians with its spread.

pub mod new_process;
pub mod opencl;

/// Whether this run only shows that everything works and is right: `--short`, or `--test` for what criterion runs, each of which it calls once then.
pub fn is_short() -> bool {
    std::env::args().any(|word| word == "--short" || word == "--test")
}

/// Whether a case is to run: words of the command line that are no options are parts of the names of those that are, and without any all are.
pub fn is_chosen(name: &str) -> bool {
    // cargo adds `--bench`.
    let mut wanted = std::env::args().skip(1).filter(|word| !word.starts_with("--")).peekable();
    wanted.peek().is_none() || wanted.any(|part| name.contains(&part))
}
