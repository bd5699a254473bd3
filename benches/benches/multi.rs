//! Work for several devices: rows of results that a `Split` gathers from one device and from two, beside the same rows launched on one device without it, and a
//! split of work that is next to none, which is what each call costs by itself. Every call's results are compared, over poison.
//!
//! `cargo bench -p dcmetal-benches --bench multi [-- --test | PART OF A NAME]`. On Linux with two simulated devices, which share the machine's processors:
//! what two are faster here is what one leaves idle, in its launches and copies.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use dcmetal::multi::{Part, Split};
use dcmetal::{Accelerator, Buffer, Grid, Kernel, Result, args};

/// Elements of a row.
const ROW: usize = 1024;
/// Rows of a call, and steps that the kernel takes for each element.
const WORK: [(usize, u32); 3] = [(16, 1), (256, 64), (4096, 64)];
const POISON: u32 = 0xdead_beef;

const SOURCE: &str = "kernel void step(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]], constant uint& steps [[buffer(2)]],
                                       uint i [[thread_position_in_grid]]) {
    uint v = x[i];
    for (uint s = 0; s < steps; s++) v = v * 1664525u + 1013904223u + (v >> 7);
    y[i] = v;
}";

fn reference(x: u32, steps: u32) -> u32 {
    (0..steps).fold(x, |v, _| v.wrapping_mul(1_664_525).wrapping_add(1_013_904_223).wrapping_add(v >> 7))
}

/// What a device makes of rows.
fn made(gpu: &Accelerator, kernel: &Kernel, x: &[u32], steps: u32) -> Result<Buffer<u32>> {
    let (from, mut to) = (gpu.buffer_from(x)?, gpu.buffer_zeroed::<u32>(x.len())?);
    kernel.launch(Grid::linear(x.len()), args![&from, &mut to, steps])?.wait()?;
    Ok(to)
}

fn splits(c: &mut Criterion) {
    let all = Accelerator::all().expect("devices");
    let kernels: Vec<Kernel> = all
        .iter()
        .map(|gpu| gpu.compile_msl(SOURCE).and_then(|library| library.kernel("step")).expect("it compiles"))
        .collect();
    let mut group = c.benchmark_group("split");
    group.sample_size(20);
    for (rows, steps) in WORK {
        let x: Vec<u32> = (0..(rows * ROW) as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let expected: Vec<u32> = x.iter().map(|&x| reference(x, steps)).collect();
        group.throughput(Throughput::Elements((rows * ROW) as u64));
        let mut measured = |name: &str, call: &mut dyn FnMut(&mut [u32])| {
            group.bench_function(BenchmarkId::new(name, format!("{rows} rows, {steps} steps")), |b| {
                let mut out = vec![POISON; expected.len()];
                b.iter_custom(|times| {
                    let mut spent = Duration::ZERO;
                    for _ in 0..times {
                        out.fill(POISON);
                        let start = Instant::now();
                        call(&mut out);
                        spent += start.elapsed();
                        assert!(out == expected, "{name}: wrong rows");
                    }
                    spent
                });
            });
        };
        measured("one device, no split", &mut |out| {
            let y = made(&all[0], &kernels[0], &x, steps).expect("nothing fails");
            out.copy_from_slice(&y.read().expect("it ran"));
        });
        for devices in 1..=all.len().min(2) {
            let split = Split::new(all[..devices].iter().cloned());
            let work = |part: &Part<'_>| {
                let rows = part.rows.start * ROW..part.rows.end * ROW;
                made(part.accelerator, &kernels[part.device], &x[rows], steps)
            };
            measured(&format!("{devices} devices"), &mut |out| {
                let report = split.gather(out, ROW, work).expect("nothing fails");
                let done: usize = (0..devices).map(|device| report.rows_of(device)).sum();
                assert_eq!((done, report.failures.len()), (rows, 0), "{report:?}");
            });
        }
    }
    group.finish();
}

criterion_group!(benches, splits);

fn main() {
    #[cfg(target_os = "linux")]
    if std::env::var_os("HOSTMETAL_DEVICES").is_none() {
        let mut again = std::process::Command::new(std::env::current_exe().expect("the bench's own executable"));
        again.args(std::env::args_os().skip(1)).env("HOSTMETAL_DEVICES", "2");
        let status = again.status().expect("the bench starts itself");
        std::process::exit(status.code().unwrap_or(1));
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
