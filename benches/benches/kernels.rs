//! Fifteen kernels on Metal (hostmetal, on Linux) against the same algorithms in OpenCL C and in plain loops, on as many threads, in
//! turns in one process. Sizes grow, and so do threads. Every output is compared with 64-bit references before and after the
//! turns, on new random inputs and over poison; a rate above what the machine can do, or a time that does not grow with the work,
//! ends the run as broken. With --short, two sizes and few turns, only the outputs are judged.
//!
//! `cargo bench -p dcmetal-benches --bench kernels [-- [--short] [PART OF A NAME]...]`
//!
//! Writes target/benches/kernels.html with charts, kernels.svg and kernels.tsv. Not measured: compilation, allocation, copies.

#[path = "kernels/report.rs"]
mod report;
#[path = "kernels/sides.rs"]
mod sides;

use std::path::Path;
use std::process::{Command, exit};
use std::time::{Duration, Instant};

use dcmetal::Accelerator;
use dcmetal_validate::metal::Metal;
use dcmetal_validate::problems::{KERNELS, Kernel, Problem, Random};
use dcmetal_validate::{SLACK, Spread, roofs};
use report::Row;
use sides::{Plain, Side};

/// Tells a child how many threads its sides have.
const CHILD: &str = "KERNELS_BENCH_THREADS";

/// Rounds of turns, and how long a turn is at least.
const ROUNDS: usize = 9;
const SHORT_ROUNDS: usize = 3;
const TURN: Duration = Duration::from_millis(2);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    // `cargo test --benches` only asks whether it starts.
    if words.iter().any(|word| word == "--test") {
        return;
    }
    let short = words.iter().any(|word| word == "--short");
    let parts: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    let wanted = |kernel: &&Kernel| parts.is_empty() || parts.iter().any(|part| kernel.name.contains(part.as_str()));
    if let Ok(threads) = std::env::var(CHILD) {
        return measure(threads.parse().expect("a number of threads"), short, &wanted);
    }
    let processors = std::thread::available_parallelism().expect("the number of processors").get();
    // 1, 2, 4 and so on, and all of them.
    let fewer = std::iter::successors(Some(1), |threads| Some(threads * 2))
        .take_while(|&threads| threads < processors && !short);
    let mut rows = Vec::new();
    for threads in fewer.chain([processors]) {
        let output = Command::new(std::env::current_exe().expect("this program"))
            .args(&words)
            .env(CHILD, threads.to_string())
            .env("HOSTMETAL_THREADS", threads.to_string())
            .env("POCL_MAX_PTHREAD_COUNT", threads.to_string())
            .stderr(std::process::Stdio::inherit())
            .output()
            .expect("this program runs");
        let text = String::from_utf8(output.stdout).expect("text");
        rows.extend(text.lines().map(|line| Row::parse(line).expect("a row of the child's")));
        if !output.status.success() {
            exit(1);
        }
    }
    let folder = Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/../benches"));
    std::fs::create_dir_all(folder).expect("a folder for the report");
    print!("{}", report::table(&rows));
    let files = report::write(folder, &rows).expect("the report is written");
    println!("\n{}", files.canonicalize().unwrap_or(files).display());
}

/// Seconds a call.
fn turn(run: &mut dyn FnMut(), calls: u32) -> f64 {
    let start = Instant::now();
    (0..calls).for_each(|_| run());
    start.elapsed().as_secs_f64() / f64::from(calls)
}

fn calls_of_a_turn(run: &mut dyn FnMut()) -> u32 {
    turn(run, 1);
    let seconds = turn(run, 1).min(turn(run, 1));
    ((TURN.as_secs_f64() / seconds).ceil() as u32).clamp(1, 10_000)
}

/// Measures on so many threads and prints a row for each kernel and size.
fn measure(threads: usize, short: bool, wanted: &dyn Fn(&&Kernel) -> bool) {
    let gpu = Accelerator::system_default().expect("a Metal device");
    let (metal, plain) = (Metal::open(&gpu).expect("kernels.metal compiles"), Plain::open(threads));
    let flops = roofs::host_flops(threads);
    let seed = std::time::UNIX_EPOCH.elapsed().expect("a clock").as_nanos() as u64;
    eprintln!("kernels: {threads} threads, {}, seed {seed}", gpu.name());
    let mut random = Random(seed);
    for kernel in KERNELS.iter().filter(wanted) {
        let sizes = if short { &kernel.sizes[..2] } else { kernel.sizes };
        let mut before: Option<(f64, f64)> = None;
        for &size in sizes {
            let problem = (kernel.problem)(size, &mut random);
            let row =
                compare(kernel, size, threads, &problem, (&metal, &plain), if short { SHORT_ROUNDS } else { ROUNDS });
            let roof = roofs::host_bytes(threads, problem.bytes);
            let row = Row { roof_bytes: roof, roof_flops: flops, ..row };
            // A short run, as CI makes on a busy machine, asks for right outputs only.
            let demand = |holds: bool, broken: &str| {
                if !holds && !short {
                    eprintln!("kernels: {} at {size}: {broken}; the measurement is wrong", kernel.name);
                    exit(1);
                }
            };
            demand(row.bytes / row.ours < roof * SLACK, "more bytes a second than the machine moves");
            demand(row.flops / row.ours < flops * SLACK, "more operations a second than the machine can do");
            if let Some((work, time)) = before {
                let (more, longer) = (problem.work / work, row.ours / time);
                // Small sizes carry the launch, large ones leave caches: a quarter of the growth is little to ask.
                let launch = 20e-6 / time;
                demand(longer > more / 4.0 - more * launch, "its time does not grow with the work");
            }
            before = Some((problem.work, row.ours));
            println!("{}", row.line());
        }
    }
}

/// One kernel at one size: verified, timed in turns, verified again.
fn compare(
    kernel: &Kernel,
    size: usize,
    threads: usize,
    problem: &Problem,
    (metal, plain): (&Metal, &Plain),
    rounds: usize,
) -> Row {
    let peer = sides::opencl(kernel.name, problem);
    if peer.is_none() {
        eprintln!("kernels: no OpenCL implementation to compare with");
    }
    let mut sides: Vec<(&str, Box<dyn Side + '_>)> =
        vec![("Metal", Box::new(metal.side(kernel.name, problem).expect("a kernel and its memory")))];
    sides.push(("plain loops", Box::new(plain.side(kernel.name, problem))));
    if let Some(peer) = peer {
        sides.push(("OpenCL", Box::new(peer)));
    }
    let verify = |sides: &mut Vec<(&str, Box<dyn Side + '_>)>| {
        for (who, side) in sides {
            side.fill(problem.before);
            side.run();
            if let Err(why) = problem.verify(&side.output()) {
                eprintln!("kernels: {} at {size}, {who}: {why}", kernel.name);
                exit(1);
            }
        }
    };
    verify(&mut sides);
    let calls: Vec<u32> = sides.iter_mut().map(|(_, side)| calls_of_a_turn(&mut || side.run())).collect();
    let mut times = vec![Vec::new(); sides.len()];
    for _ in 0..rounds {
        for (((_, side), &calls), times) in sides.iter_mut().zip(&calls).zip(&mut times) {
            times.push(turn(&mut || side.run(), calls));
        }
    }
    verify(&mut sides);
    let ratios = |other: &[f64]| times[0].iter().zip(other).map(|(ours, other)| ours / other).collect::<Vec<f64>>();
    let against_plain = report::tenths(ratios(&times[1]));
    let against_opencl = times.get(2).map(|opencl| report::tenths(ratios(opencl)));
    let ours = Spread::of(times[0].clone());
    Row {
        name: kernel.name.to_owned(),
        size,
        threads,
        ours: ours.median,
        ours_p99: ours.p99,
        plain: report::tenths(times[1].clone())[1],
        opencl: times.get(2).map(|opencl| report::tenths(opencl.clone())[1]),
        against_plain,
        against_opencl,
        bytes: problem.bytes,
        flops: problem.flops,
        roof_bytes: 0.0,
        roof_flops: 0.0,
    }
}
