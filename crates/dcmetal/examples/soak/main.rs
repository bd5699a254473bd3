//! Threads that share one device for long, memory watched: dispatches in their millions and pipeline look-ups, or work of all kinds.
//!
//! Each thread adds 1 to every number of its own buffer, launch by launch, in batches; at the end every number must be the
//! count of its launches. Then threads look kernels up, in libraries of the same source and with function constants, and run
//! one in a hundred. Memory is sampled all the time: where it ends may not lie above where it was after a tenth of the work
//! by more than `HEAP_GROWTH` and `GROWTH`, nor may the process keep more files, threads or mappings.
//!
//! `mixed` has threads do what programs do, at random, for so many minutes: see mixed.rs.
//!
//! `cargo run --release -p dcmetal --example soak [-- DISPATCHES [LOOK-UPS [THREADS]] | mixed [MINUTES [THREADS [SEED]]]]`, or `scripts/soak`
#![allow(clippy::print_stdout, reason = "a program, not the library")]

mod mixed;
mod watch;

use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use dcmetal::{Accelerator, Constants, Grid, Result, args};
use watch::{Process, mib, sampled};

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
constant uint amount [[function_constant(0)]];
constant uint by = is_function_constant_defined(amount) ? amount : 1;
kernel void add(device uint *numbers [[buffer(0)]], uint i [[thread_position_in_grid]]) { numbers[i] += by; }
kernel void reverse(device uint *numbers [[buffer(0)]], uint i [[thread_position_in_grid]], uint n [[threads_per_threadgroup]]) {
  threadgroup uint other[256];
  other[i] = numbers[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  numbers[i] = other[n - 1 - i];
}";

/// Numbers of each thread's buffer.
const COUNT: usize = 256;
/// Launches in a submission.
const BATCH: u64 = 100;

fn main() {
    let mut words = std::env::args().skip(1).peekable();
    let mixed = words.next_if(|word| word == "mixed").is_some();
    let mut number = |default: u64| match words.next() {
        None => default,
        Some(word) => word.parse().unwrap_or_else(|_| {
            eprintln!("soak: `{word}` is no number");
            exit(2)
        }),
    };
    let result = if mixed {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let (minutes, threads, seed) = (number(60), number(8).max(1), number(now));
        mixed::soak(Duration::from_secs(60 * minutes), threads, seed)
    } else {
        let (dispatches, lookups, threads) = (number(10_000_000), number(100_000), number(64).max(1));
        soak(dispatches, lookups, threads)
    };
    if let Err(error) = result {
        eprintln!("soak: {error}");
        exit(1);
    }
}

fn soak(dispatches: u64, lookups: u64, threads: u64) -> Result<()> {
    let gpu = Accelerator::system_default()?;
    println!("{}, {threads} threads", gpu.name());
    let library = gpu.compile_msl(SOURCE)?;
    let (add, reverse) = (library.kernel("add")?, library.kernel("reverse")?);

    let batches = dispatches.div_ceil(BATCH * threads).max(1);
    watched("dispatches", batches * BATCH * threads, |done| {
        each(threads, |_| {
            let mut numbers = gpu.buffer_zeroed::<u32>(COUNT)?;
            for _ in 0..batches {
                let mut batch = gpu.batch()?;
                for launch in 0..BATCH {
                    let kernel = if launch % 2 == 0 { &add } else { &reverse };
                    batch.launch(kernel, Grid::linear(COUNT).threadgroup(COUNT), args![&mut numbers])?;
                }
                batch.submit()?.wait()?;
                done.fetch_add(BATCH, Ordering::Relaxed);
            }
            demand(numbers.to_vec()?.iter().all(|&n| u64::from(n) == batches * BATCH / 2), "a number is wrong");
            Ok(())
        })
    })?;

    let each_of = lookups.div_ceil(threads).max(1);
    watched("look-ups", each_of * threads, |done| {
        each(threads, |thread| {
            let mut numbers = gpu.buffer_zeroed::<u32>(COUNT)?;
            let (mut library, mut sum) = (gpu.compile_msl(SOURCE)?, 0);
            for turn in 0..each_of {
                let step = ((turn + thread) % 8) as u32;
                let kernel = library.kernel_with("add", &Constants::new().at(0, step))?;
                if turn % 100 == 0 {
                    library = gpu.compile_msl(SOURCE)?;
                    kernel.launch(Grid::linear(COUNT), args![&mut numbers])?.wait()?;
                    sum += step;
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
            demand(numbers.to_vec()?.iter().all(|&n| n == sum), "a number is wrong");
            Ok(())
        })
    })?;
    demand(gpu.allocated_bytes() == 0, "the device still has memory allocated");
    Ok(())
}

/// Runs `work` on so many threads; the first error of any.
fn each(threads: u64, work: impl Fn(u64) -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn({
                    let work = &work;
                    move || work(thread)
                })
            })
            .collect();
        handles.into_iter().try_for_each(|handle| handle.join().expect("a thread of the soak"))
    })
}

/// Runs `work`, which counts what it has done, samples the process meanwhile, and prints what it saw.
fn watched(what: &str, total: u64, work: impl FnOnce(&AtomicU64) -> Result<()>) -> Result<()> {
    let done = AtomicU64::new(0);
    let start = Instant::now();
    let sample = || (done.load(Ordering::Relaxed), Process::now());
    let (result, samples) = sampled(Duration::from_millis(100), sample, || work(&done));
    result?;
    let seconds = start.elapsed().as_secs_f64();
    let last = Process::now();
    let settled = samples.iter().find(|(done, _)| *done >= total / 10).map_or(last, |(_, process)| *process);
    let most = samples.iter().map(|(_, process)| process.bytes).max().unwrap_or(last.bytes).max(last.bytes);
    println!(
        "{total} {what} in {seconds:.1} s, {:.0} a second; memory {:.1} MiB after a tenth, {:.1} at most, {:.1} at the end, in use of heaps {:.1} and {:.1}; \
         {} samples; mappings {} then {}, files {} then {}",
        total as f64 / seconds,
        mib(settled.bytes),
        mib(most),
        mib(last.bytes),
        mib(settled.heap),
        mib(last.heap),
        samples.len(),
        settled.mappings,
        last.mappings,
        settled.files,
        last.files
    );
    last.demand_as_flat_as(&settled);
    Ok(())
}

fn demand(holds: bool, broken: &str) {
    if !holds {
        eprintln!("soak: {broken}");
        exit(1);
    }
}
