//! From OpenCL C to a result in a new process, when all caches are warm: dcmetal against PoCL, a program of each, in turns. Every result is verified.
//!
//! `cargo bench -p dcmetal-benches --bench new_process [-- --short]`

use std::process::{Command, Stdio};

use dcmetal_benches::new_process::expected;
use dcmetal_validate::measure::paired;

/// Runs a side; whether there is an implementation for it.
fn run(program: &str) -> bool {
    let done = Command::new(program).stdin(Stdio::null()).stderr(Stdio::inherit()).output().expect("it starts");
    assert!(done.status.success(), "{program} ended with {}", done.status);
    let told = String::from_utf8(done.stdout).expect("text");
    let is_right = told.trim() == expected().to_string();
    assert!(is_right || told.is_empty(), "{program} told '{told}', not {}", expected());
    is_right
}

fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let (ours, peer) = (env!("CARGO_BIN_EXE_sum-dcmetal"), env!("CARGO_BIN_EXE_sum-opencl"));
    assert!(run(ours), "dcmetal told nothing");
    if !run(peer) {
        println!("new_process: no OpenCL implementation to compare with");
        return;
    }
    let ratio = paired(if short { 5 } else { 41 }, 1, || assert!(run(ours)), || assert!(run(peer)));
    println!("OpenCL C to a result in a new process, caches warm: {ratio}");
}
