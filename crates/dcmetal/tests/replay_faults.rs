//! Faults of hostmetal's within replays of a graph: the result is right data or the right error, and the next run is right.
#![cfg(target_os = "linux")]

mod common;

use common::{gpu, msl};
use dcmetal::{Error, Grid, args};
use hostmetal::faults;

const KERNELS: &str = "
    kernel void put(device uint* y [[buffer(0)]], device const uint* x [[buffer(1)]], constant uint& k [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) { y[i] = x[i] + k; }";

fn set(rules: &str) {
    faults::set(rules).unwrap_or_else(|why| panic!("{why}"));
}

/// Runs a graph of a chain five times, each time with another value, under a rule. Gives how often the rule struck, and what the runs were.
fn runs(rule: &str, site: &str) -> (u64, Vec<Result<(), Error>>, u64) {
    set("");
    let gpu = gpu();
    let put = msl(&gpu, KERNELS, "put");
    let x = gpu.buffer_from(&[1u32, 2, 3, 4]).expect("a buffer");
    let [mut a, mut y] = [(); 2].map(|()| gpu.buffer_zeroed::<u32>(4).expect("a buffer"));
    let mut graph = gpu.graph();
    let grid = Grid::linear(4);
    let first = graph.launch(&put, grid, args![&mut a, &x, 0u32]).expect("a node");
    graph.launch(&put, grid, args![&mut y, &a, 1000u32]).expect("a node");
    let mut graph = graph.build().expect("a graph");
    set(rule);
    let mut outcomes = Vec::new();
    for k in 0..5u32 {
        y.write_from(&[0; 4]).expect("nobody uses it");
        graph.set(first, 2, k * 10).expect("a value");
        let outcome = graph.submit().and_then(|run| run.wait());
        match (&outcome, y.to_vec()) {
            (Ok(()), Ok(values)) => assert_eq!(values, [1, 2, 3, 4].map(|x| x + k * 10 + 1000), "{rule}, run {k}"),
            (Err(Error::Submission(cause)), Err(Error::Faulted { .. })) => {
                assert_eq!(cause.kernels, ["put"], "{rule}, run {k}");
                assert!(cause.encoders.iter().any(|encoder| encoder.label == "put"), "{rule}, run {k}: {cause:?}");
            }
            (Err(Error::Submission(_)), values) => panic!("{rule}, run {k}: a fault, and {values:?}"),
            (Err(_), Ok(values)) => assert_eq!(values, [0; 4], "{rule}, run {k}: it was not submitted"),
            (outcome, values) => panic!("{rule}, run {k}: {outcome:?}, and {values:?}"),
        }
        a.discard_fault();
        y.discard_fault();
        outcomes.push(outcome);
    }
    let struck = faults::counts(site).expect(site).injected;
    set("");
    (struck, outcomes, graph.replay_stats().indirect)
}

#[test]
fn faults_in_replays_are_told_and_those_of_recording_are_not() {
    // What only recording does: every run succeeds, and nothing is executed that was not recorded.
    for site in ["buffer", "pipeline"] {
        let mut number = 1;
        loop {
            let (struck, outcomes, indirect) = runs(&format!("{site}:at={number}"), site);
            assert!(outcomes.iter().all(Result::is_ok), "{site} {number}: {outcomes:?}");
            if struck == 0 {
                assert_eq!(indirect, 8);
                break;
            }
            assert_eq!(indirect, 0, "{site} {number}");
            number += 1;
        }
        assert!(number > 1, "{site}: recording makes some");
    }
    // What each run does, and each change for its check before: the run fails, and no other. A replay without an encoder is encoded, with another.
    for (site, replays_fail) in [("encoder", false), ("command_buffer", true)] {
        for number in 1..=5 {
            let (struck, outcomes, indirect) = runs(&format!("{site}:at={}", 2 * number), site);
            assert_eq!((struck, indirect), (1, if number == 1 { 8 } else { 6 }), "{site} {number}");
            let failed: Vec<usize> = (0..5).filter(|at| outcomes[*at].is_err()).collect();
            let expected: &[usize] = if number == 1 || replays_fail { &[number - 1] } else { &[] };
            assert_eq!(failed, expected, "{site} {number}: {outcomes:?}");
        }
    }
    // On the device: before its commands, between them, and behind them.
    for number in 1..=5 {
        for after in ["", ":after=1", ":after=end"] {
            let rule = format!("commit:error=page_fault:at={number}{after}");
            let (struck, outcomes, indirect) = runs(&rule, "commit");
            assert_eq!((struck, indirect), (1, 8), "{rule}");
            let failed: Vec<usize> = (0..5).filter(|at| matches!(outcomes[*at], Err(Error::Submission(_)))).collect();
            assert_eq!(failed, [number - 1], "{rule}: {outcomes:?}");
        }
    }
}
