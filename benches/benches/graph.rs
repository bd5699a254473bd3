//! Graphs: two equal branches beside the same branches one after the other, in one process by turns; and what a run costs the host the first time
//! (recording, planning, checking) and again. Outputs are verified.
//!
//! `cargo bench -p dcmetal-benches --bench graph [-- --short]`. Each node is one threadgroup, so that on a CPU a branch by itself keeps one processor busy. Two branches can at best take half the time.

use std::time::{Duration, Instant};

use dcmetal::{Accelerator, Buffer, Graph, Replay, Submission};
use dcmetal_benches::is_short;
use dcmetal_validate::branches::{self, LEN, LENGTH};
use dcmetal_validate::measure::alternated;
use dcmetal_validate::processors;

fn main() {
    let short = is_short();
    let gpu = Accelerator::system_default().expect("a device");
    let kernel = branches::kernel(&gpu).unwrap_or_else(|error| panic!("{error}"));
    let values: Vec<u32> = (0..LEN as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let x = gpu.buffer_from(&values).expect("a buffer");
    let ends = || [0, 1].map(|_| gpu.buffer_zeroed::<u32>(LEN).expect("a buffer"));
    let (samples, rounds) = if short { (5, 2_000) } else { (41, 20_000) };

    let (mut beside, mut behind) = (ends(), ends());
    let mut parallel = branches::graph(&gpu, &kernel, &x, &mut beside, false, rounds).expect("a graph");
    let mut serial = branches::graph(&gpu, &kernel, &x, &mut behind, true, rounds).expect("a graph");
    let run = |graph: &mut Graph| graph.submit().and_then(|run: Submission| run.wait()).expect("it runs");
    let wanted = branches::expected(&values, rounds);
    let timed = |graph: &mut Graph, ends: &mut [Buffer<u32>; 2]| {
        branches::poison(ends).expect("nobody uses it");
        let start = Instant::now();
        run(graph);
        let spent = start.elapsed();
        branches::verify(&wanted, ends).unwrap_or_else(|why| panic!("{why}"));
        Ok::<_, std::convert::Infallible>(spent)
    };
    let Ok(ratio) = alternated(samples, || timed(&mut parallel, &mut beside), || timed(&mut serial, &mut behind));
    println!(
        "two branches of {LENGTH} nodes on {} processors: {ratio}; {:.2} times as fast as one after the other",
        processors(),
        1.0 / ratio.ratio.median
    );

    // What the host does: nodes with next to no work, and the wait left out.
    let (mut first, mut again) = (Vec::new(), [Replay::Encoded, Replay::Indirect].map(|replay| (replay, Vec::new())));
    let (mut outputs, wanted) = (ends(), branches::expected(&values, 1));
    for _ in 0..samples.max(20) {
        for (replay, times) in &mut again {
            let start = Instant::now();
            let mut graph = branches::graph(&gpu, &kernel, &x, &mut outputs, false, 1).expect("a graph");
            graph.set_replay(*replay);
            let submission = graph.submit().expect("it runs");
            first.push(start.elapsed());
            submission.wait().expect("it ran");
            // Indirect commands are recorded by the second.
            run(&mut graph);
            branches::poison(&mut outputs).expect("nobody uses it");
            let start = Instant::now();
            let submission = graph.submit().expect("it runs");
            times.push(start.elapsed());
            submission.wait().expect("it ran");
            branches::verify(&wanted, &outputs).unwrap_or_else(|why| panic!("{why}"));
            let stats = graph.replay_stats();
            assert_eq!(stats.indirect > 0, *replay == Replay::Indirect, "{stats:?}");
        }
    }
    let first = median(first);
    println!("{} nodes, on the host: recorded, built and submitted {first:.2?}", 2 * LENGTH);
    for (replay, times) in again {
        let again = median(times);
        println!("  submitted again, {replay:?}: {again:.2?}, {:.2} of it", again.as_secs_f64() / first.as_secs_f64());
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
