//! Nested launches: what a launch costs whose number of threadgroups is read when it runs, or that a kernel wrote as a command, and what a barrier of the grid costs, beside the
//! same launch from the host; on the device and by rounds of the host. Outputs are verified.
//!
//! `cargo bench -p dcmetal-benches --bench nested [-- --short]`. The work of a launch is next to none: all times are overhead, waits included.

use std::time::{Duration, Instant};

use dcmetal::nested::{CommandRecord, CommandTable, Nesting};
use dcmetal::{Accelerator, Buffer, Grid, IndirectGrid, Kernel, Result, args};
use dcmetal_benches::is_short;

const LAUNCHES: u32 = 200;
const THREADS: usize = 64;

/// What is compared.
const WAYS: [&str; 8] = [
    "from the host",
    "threadgroups read",
    "threadgroups read, a maximum declared",
    "threadgroups read by the host",
    "commands",
    "commands read by the host",
    "a round of a loop with a grid barrier",
    "such a round by the host",
];

fn main() {
    let gpu = Accelerator::system_default().expect("a device");
    let source = "kernel void step(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += 1; }";
    let step = gpu.compile_msl(source).and_then(|library| library.kernel("step")).expect("a kernel");
    let source = "kernel void rounds(global uint *y, uint n) {
        for (uint k = 0; k < n; k++) { y[get_global_id(0)] += 1; dc_grid_barrier(); } }";
    let rounds = gpu.compile_opencl(source).and_then(|library| library.kernel("rounds")).expect("a kernel");
    let samples = if is_short() { 5 } else { 41 };
    let mut times = WAYS.map(|_| Vec::new());
    // The first is of what is compiled then.
    for sample in 0..=samples {
        for (way, times) in times.iter_mut().enumerate() {
            let mut y = gpu.buffer_zeroed::<u32>(THREADS).expect("a buffer");
            let time = run(&gpu, [&step, &rounds], way, &mut y).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(y.to_vec().expect("values"), [LAUNCHES; THREADS], "{}", WAYS[way]);
            if sample > 0 {
                times.push(time);
            }
        }
    }
    let medians = times.map(median);
    println!("{LAUNCHES} launches of {THREADS} threads, each behind the last:");
    for (way, time) in WAYS.iter().zip(medians) {
        let ratio = time.as_secs_f64() / medians[0].as_secs_f64();
        println!("  {way}: {:.2?} a launch, {ratio:.1} of it", time / LAUNCHES);
    }
}

fn run(gpu: &Accelerator, [step, rounds]: [&Kernel; 2], way: usize, y: &mut Buffer<u32>) -> Result<Duration> {
    let count = gpu.buffer_from(&[[1u32, 1, 1]])?;
    let table = CommandTable::new(gpu, &[step], LAUNCHES as usize)?;
    let one =
        CommandRecord { threadgroups: [1; 3], threads: [THREADS as u32, 1, 1], barrier: 1, ..CommandRecord::default() };
    let records = gpu.buffer_from(&[one; LAUNCHES as usize])?;
    let number = gpu.buffer_from(&[LAUNCHES])?;
    let nesting = if matches!(way, 3 | 5 | 7) { Nesting::Host } else { Nesting::Device };
    let start = Instant::now();
    let mut work = gpu.nested(nesting)?;
    if way >= 6 {
        work.launch(rounds, Grid::threadgroups(1usize, THREADS), args![&mut *y, LAUNCHES])?;
    } else if way >= 4 {
        work.run_commands(&table, (&records).into(), (&number).into(), args![y])?;
    } else {
        for _ in 0..LAUNCHES {
            let grid = IndirectGrid::new(&count, THREADS);
            match way {
                0 => work.launch(step, Grid::threadgroups(1usize, THREADS), args![&mut *y])?,
                2 => work.launch_indirect(step, grid.at_most(1usize), args![&mut *y])?,
                _ => work.launch_indirect(step, grid, args![&mut *y])?,
            }
        }
    }
    work.finish()?;
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
