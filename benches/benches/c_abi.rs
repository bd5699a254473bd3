//! The cost of the shim: acquire a command buffer, encode a dispatch, commit and wait, compile; the round trip also
//! against OpenCL's clEnqueueNDRangeKernel + clFinish on the same CPU in the same run.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group};
use dcmetal_benches::opencl::Peer;
use dcmetal_validate::c_abi::Device;
use dcmetal_validate::measure::paired;

const COUNT_MSL: &str = "kernel void count(device uint *n [[buffer(0)]]) { *n += 1; }";
const COUNT_CL: &str = "kernel void count(global uint *n) { *n += 1; }";

fn acquire(c: &mut Criterion) {
    let device = Device::open();
    c.bench_function("command buffer: acquire and release", |b| {
        b.iter(|| drop(black_box(device.command_buffer())));
    });
}

fn encode(c: &mut Criterion) {
    let device = Device::open();
    let pipeline = device.pipeline(COUNT_MSL, "count");
    let buffer = device.buffer(4);
    let mut expected = 0u64;
    let mut group = c.benchmark_group("encode");
    group.throughput(Throughput::Elements(1));
    group.bench_function("one more dispatch of a batch", |b| {
        b.iter_custom(|dispatches| {
            let mut spent = Duration::ZERO;
            let mut left = dispatches;
            while left > 0 {
                let batch = left.min(10_000);
                let mut command_buffer = device.command_buffer();
                let start = Instant::now();
                device.encode(&mut command_buffer, &pipeline, &buffer, batch);
                spent += start.elapsed();
                device.finish(command_buffer);
                left -= batch;
            }
            expected += dispatches;
            assert_eq!(u64::from(buffer.first_u32()), expected & 0xFFFF_FFFF, "dispatches that ran");
            spent
        });
    });
    group.finish();
}

fn round_trip(c: &mut Criterion) {
    let device = Device::open();
    let pipeline = device.pipeline(COUNT_MSL, "count");
    let buffer = device.buffer(4);
    let mut expected = 0u32;
    let mut ours = || {
        let mut command_buffer = device.command_buffer();
        device.encode(&mut command_buffer, &pipeline, &buffer, 1);
        device.finish(command_buffer);
        expected = expected.wrapping_add(1);
    };
    c.bench_function("one-thread kernel: commit and wait", |b| b.iter(&mut ours));
    match Peer::open(COUNT_CL, "count") {
        None => println!("no OpenCL implementation: the round trip was not compared with a peer"),
        Some(peer) => {
            let mut runs = 0;
            let (rounds, calls) = if dcmetal_benches::is_short() { (3, 50) } else { (41, 500) };
            let ratio = paired(rounds, calls, &mut ours, || {
                peer.run();
                runs += 1;
            });
            assert_eq!(peer.number(), runs, "the peer's launches that ran");
            println!("commit and wait against {}: {ratio}", peer.name());
        }
    }
    assert_eq!(buffer.first_u32(), expected, "launches that ran");
}

fn compile(c: &mut Criterion) {
    /// Makes every first compile one of a source never seen before, in this run or an earlier one.
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let run = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    let device = Device::open();
    let compile = |source: &str| drop(device.pipeline(source, "count"));
    let mut group = c.benchmark_group("compile");
    group.sample_size(10);
    group.bench_function("first: source to pipeline", |b| {
        b.iter(|| {
            let n = SEEN.fetch_add(1, Ordering::Relaxed);
            compile(&format!("// {run} {n}\nkernel void count(device uint *n [[buffer(0)]]) {{ *n += {n}; }}"));
        });
    });
    group.bench_function("repeated: source to pipeline", |b| b.iter(|| compile(COUNT_MSL)));
    group.finish();
}

criterion_group!(all, acquire, encode, round_trip, compile);

fn main() {
    all();
    if !dcmetal_benches::is_short() {
        Criterion::default().configure_from_args().final_summary();
    }
}
