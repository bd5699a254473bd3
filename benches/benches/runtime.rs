//! Parts of the runtime: a pooled buffer, from the shelf and back, by one thread and by several at once, and one that none was idle for, with and without
//! heaps, beside an allocation of Metal's; a source that was compiled before, and its kernel, and one that an earlier accelerator left in a folder; a launch of a batch and
//! of a stream, of a group of streams, a submission, a round trip; events between submissions, and with the host; what a recovery adds to work; tuning, and what it found looked up.
//!
//! `cargo bench -p dcmetal-benches --bench runtime [-- --test | PART OF A NAME]`

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dcmetal::{
    Accelerator, Batch, Buffer, BufferPool, Error, Grid, PoolLimits, Recovery, Result, Retries, StreamLimits,
    ThreadgroupReason, TuneOptions, args,
};

/// Bytes of each buffer.
const BYTES: usize = 4096;

fn hit(pool: &BufferPool) {
    drop(black_box(pool.buffer::<u8>(BYTES).expect("a buffer")));
}

fn pool(c: &mut Criterion) {
    let gpu = Accelerator::system_default().expect("a device");
    let mut group = c.benchmark_group("buffer");
    group.throughput(Throughput::Elements(1));
    group.bench_function("allocated and released", |b| {
        b.iter(|| drop(black_box(gpu.buffer_zeroed::<u8>(BYTES).expect("a buffer"))));
    });
    for threads in [1, 2, 4] {
        let pool = gpu.pool(PoolLimits::default());
        let mut asked = 0;
        group.bench_function(format!("from the pool and back, {threads} threads"), |b| {
            b.iter_custom(|times| {
                asked += (times + 1) * threads;
                let begin = Barrier::new(threads as usize);
                let spent = &|| {
                    begin.wait();
                    hit(&pool);
                    let start = Instant::now();
                    (0..times).for_each(|_| hit(&pool));
                    start.elapsed()
                };
                std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..threads).map(|_| scope.spawn(spent)).collect();
                    threads.into_iter().map(|thread| thread.join().expect("it does not panic")).max()
                })
                .unwrap_or(Duration::ZERO)
            });
        });
        let stats = pool.stats();
        assert_eq!((stats.hits + stats.misses, stats.used_buffers), (asked, 0), "requests that were served");
        // Each thread's first request may find nothing.
        let few = stats.misses <= threads || stats.misses * 100 <= asked;
        assert!(few, "{} of {asked} requests allocated", stats.misses);
    }
    group.finish();
}

/// Buffers that a pool lends at once, before they are released.
const LENT: u64 = 1000;

/// Requests that find nothing idle: the buffers are made, and in another figure written to and released.
fn misses(c: &mut Criterion) {
    let gpu = Accelerator::system_default().expect("a device");
    let mut group = c.benchmark_group("miss");
    group.throughput(Throughput::Elements(1));
    for bytes in [256, BYTES] {
        for heaps in [false, true] {
            let pool = gpu.pool(PoolLimits { heaps, ..PoolLimits::default() });
            let mut asked = 0;
            for whole in [false, true] {
                let name = format!(
                    "{bytes} bytes, {}, {}",
                    if heaps { "from heaps" } else { "by itself" },
                    if whole { "made, written and released" } else { "made" }
                );
                group.bench_function(name, |b| {
                    b.iter_custom(|times| {
                        asked += times;
                        made(&pool, bytes, times, whole)
                    });
                });
            }
            let stats = pool.stats();
            assert_eq!((stats.misses, stats.hits, stats.released, stats.heaps), (asked, 0, asked, 0));
        }
    }
    group.finish();
}

/// The time in which so many buffers are made or, as a whole, made, written and released.
fn made(pool: &BufferPool, bytes: usize, times: u64, whole: bool) -> Duration {
    let mut spent = Duration::ZERO;
    let mut lent = Vec::with_capacity(LENT as usize);
    for first in (0..times).step_by(LENT as usize) {
        let start = Instant::now();
        for _ in first..(first + LENT).min(times) {
            let mut buffer = pool.buffer::<u8>(bytes).expect("a buffer");
            if whole {
                buffer.write().expect("nobody uses it")[0] = 1;
            }
            lent.push(buffer);
        }
        if whole {
            lent.clear();
            pool.trim(0);
            spent += start.elapsed();
        } else {
            spent += start.elapsed();
            lent.clear();
            pool.trim(0);
        }
    }
    spent
}

fn sources(c: &mut Criterion) {
    let gpu = Accelerator::system_default().expect("a device");
    let mut group = c.benchmark_group("source");
    for lines in [10, 100] {
        let line = "    y[i] = y[i] * 1.5f + 0.25f;\n";
        let body = line.repeat(lines);
        let source =
            format!("kernel void k(device float* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {{\n{body}}}\n");
        let library = gpu.compile_msl(&source).expect("it compiles");
        drop(library.kernel("k").expect("a kernel"));
        let before = gpu.source_stats();
        group.bench_function(format!("compiled before, {} bytes", source.len()), |b| {
            b.iter(|| drop(black_box(gpu.compile_msl(&source).expect("it compiles"))));
        });
        assert_eq!(gpu.source_stats().misses, before.misses, "nothing was compiled");
        group.bench_function(format!("its kernel, {} bytes", source.len()), |b| {
            b.iter(|| drop(black_box(library.kernel("k").expect("a kernel"))));
        });
    }
    group.finish();
}

/// Launches that a batch of a benchmark has.
const LAUNCHES: u64 = 1000;

/// What a launch, a submission and a round trip cost the host. Each counts in a buffer, which tells whether all of them ran.
fn submissions(c: &mut Criterion) {
    let gpu = Accelerator::system_default().expect("a device");
    let source = "kernel void count(device uint* y [[buffer(0)]]) { y[0] += 1u; }
                  kernel void copy(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]]) { y[0] = x[0]; }";
    let library = gpu.compile_msl(source).expect("it compiles");
    let (count, copy) = (library.kernel("count").expect("a kernel"), library.kernel("copy").expect("a kernel"));
    let one = Grid::linear(1);
    let mut group = c.benchmark_group("submission");
    group.throughput(Throughput::Elements(1));
    group.bench_function("empty batch, committed and waited for", |b| {
        b.iter(|| gpu.batch().and_then(|batch| batch.submit()?.wait()).expect("nothing fails"));
    });
    let mut y = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
    let mut wanted = 0u32;
    group.bench_function("a further launch of a batch, each after the other", |b| {
        b.iter_custom(|times| {
            wanted = wanted.wrapping_add(times as u32);
            batches(&gpu, times, |batch| batch.launch(&count, one, args![&mut y]))
        });
    });
    assert_eq!(y.to_vec().expect("it ran"), [wanted]);
    let x = gpu.buffer_from(&[7u32]).expect("a buffer");
    let mut targets = gpu.buffer_zeroed::<u32>(LAUNCHES as usize).expect("a buffer");
    let mut launched = 0;
    group.bench_function("a further launch of a batch, side by side", |b| {
        b.iter_custom(|times| {
            batches(&gpu, times, |batch| {
                let at = launched % LAUNCHES as usize;
                launched += 1;
                batch.launch(&copy, one, args![&x, targets.view_mut(at..=at)?])
            })
        });
    });
    let ran = targets.to_vec().expect("it ran").iter().filter(|value| **value == 7).count();
    assert_eq!(ran, launched.min(LAUNCHES as usize));
    let mut counted = |name: &str, run: &dyn Fn(&mut Buffer<u32>, u64)| {
        let mut y = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
        let mut wanted = 0u32;
        group.bench_function(name, |b| {
            b.iter_custom(|times| {
                wanted = wanted.wrapping_add(times as u32);
                let start = Instant::now();
                run(&mut y, times);
                drop(y.read().expect("it ran"));
                start.elapsed()
            });
        });
        assert_eq!(y.to_vec().expect("it ran"), [wanted]);
    };
    counted("a launch and the wait for it", &|y, times| {
        for _ in 0..times {
            count.launch(one, args![&mut *y]).and_then(|submission| submission.wait()).expect("nothing fails");
        }
    });
    counted("a launch by itself, all waited for", &|y, times| {
        (0..times).for_each(|_| drop(count.launch(one, args![&mut *y]).expect("nothing fails")));
    });
    for commands in [1, 64] {
        let stream = gpu.stream(StreamLimits { commands, ..StreamLimits::default() });
        counted(&format!("a launch of a stream, {commands} a batch, all waited for"), &|y, times| {
            (0..times).for_each(|_| stream.launch(&count, one, args![&mut *y]).expect("nothing fails"));
        });
    }
    group.finish();
}

/// The time that so many commands take to be recorded, in batches.
fn batches(gpu: &Accelerator, times: u64, mut record: impl FnMut(&mut Batch) -> Result<()>) -> Duration {
    let mut spent = Duration::ZERO;
    for first in (0..times).step_by(LAUNCHES as usize) {
        let mut batch = gpu.batch().expect("a batch");
        let start = Instant::now();
        for _ in first..(first + LAUNCHES).min(times) {
            record(&mut batch).expect("it fits");
        }
        spent += start.elapsed();
        batch.submit().and_then(|submission| submission.wait()).expect("nothing fails");
    }
    spent
}

/// Kernels in a folder, as an accelerator finds them that has nothing in memory; beside them one that it has to compile. The process has
/// seen the source before, so that it is hostmetal's own cache that compiles: what differs is Metal's part.
fn folders(c: &mut Criterion) {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("kernels");
    let source = "kernel void k(device float* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += 1.0f; }";
    let made = |kept: bool| {
        let gpu = Accelerator::system_default().expect("a device");
        if kept {
            gpu.keep_kernels(&folder, u64::MAX).expect("a folder of our own");
        }
        let library = gpu.compile_msl(source).expect("it compiles");
        let start = Instant::now();
        drop(black_box(library.kernel("k").expect("a kernel")));
        (start.elapsed(), gpu.kernel_file_stats())
    };
    made(true);
    let mut group = c.benchmark_group("folder");
    for kept in [false, true] {
        let name = if kept { "a kernel that is in a folder" } else { "a kernel without a folder" };
        group.bench_function(name, |b| {
            b.iter_custom(|times| {
                let sum = |sum: Duration, _| {
                    let (spent, stats) = made(kept);
                    assert_eq!(stats.map(|stats| (stats.hits, stats.compiled)), kept.then_some((1, 0)));
                    sum + spent
                };
                (0..times).fold(Duration::ZERO, sum)
            });
        });
    }
    group.finish();
}

/// A signal and a wait: from one submission to the next, from the host to the device, and from the device to the host.
fn events(c: &mut Criterion) {
    let gpu = Accelerator::system_default().expect("a device");
    let (event, mut value) = (gpu.event().expect("an event"), 0);
    let mut group = c.benchmark_group("event");
    group.throughput(Throughput::Elements(1));
    group.bench_function("signalled and waited for by submissions, all waited for", |b| {
        b.iter(|| {
            value += 1;
            let mut first = gpu.batch().expect("a batch");
            first.signal(&event, value).expect("it fits");
            drop(first.submit().expect("nothing fails"));
            let mut second = gpu.batch().expect("a batch");
            second.wait_for(&event, value).expect("it fits");
            second.submit().and_then(|submission| submission.wait()).expect("nothing fails");
        });
    });
    group.bench_function("signalled by the host, waited for by a submission and that by the host", |b| {
        b.iter(|| {
            value += 1;
            let mut batch = gpu.batch().expect("a batch");
            batch.wait_for(&event, value).expect("it fits");
            let submission = batch.submit().expect("nothing fails");
            event.signal(value).expect("it is larger");
            submission.wait().expect("nothing fails");
        });
    });
    group.bench_function("signalled by a submission, waited for by the host", |b| {
        b.iter(|| {
            value += 1;
            let mut batch = gpu.batch().expect("a batch");
            batch.signal(&event, value).expect("it fits");
            drop(batch.submit().expect("nothing fails"));
            event.wait(value).expect("nothing fails");
        });
    });
    assert_eq!(event.value().expect("nothing failed"), value);
    group.bench_function("made and released", |b| b.iter(|| drop(black_box(gpu.event().expect("an event")))));
    group.finish();
}

/// What a recovery adds to work that does nothing: when it succeeds, and when it succeeds the second time without a pause.
fn recoveries(c: &mut Criterion) {
    let gpu = Accelerator::system_default().expect("a device");
    let retries = Retries { first_pause: Duration::ZERO, ..Retries::default() };
    let recovery = Recovery::new([gpu]).retries(retries);
    let mut group = c.benchmark_group("recovery");
    group.throughput(Throughput::Elements(1));
    group.bench_function("work that succeeds", |b| {
        b.iter(|| recovery.run(|gpu| Ok(black_box(gpu.name().len()))).expect("it succeeds"));
    });
    group.bench_function("work that succeeds the second time", |b| {
        b.iter(|| {
            let mut tries = 0;
            let done = recovery.run(|_| {
                tries += 1;
                if tries == 1 { Err(Error::DevicesPaused) } else { Ok(()) }
            });
            assert_eq!(done.expect("it succeeds").failures.len(), 1);
        });
    });
    group.finish();
}

/// Launches that threads give to streams of a group, each to one of its own or to whichever has the least in flight; all are waited for.
fn groups(c: &mut Criterion) {
    let gpu = Accelerator::system_default().expect("a device");
    let source = "kernel void count(device uint* y [[buffer(0)]]) { y[0] += 1u; }";
    let count = gpu.compile_msl(source).and_then(|library| library.kernel("count")).expect("it compiles");
    let mut measured = c.benchmark_group("stream group");
    measured.throughput(Throughput::Elements(1));
    for threads in [1, 2, 4] {
        for chosen in [false, true] {
            let group = gpu.stream_group(threads, StreamLimits::default());
            let mut counts: Vec<Buffer<u32>> = (0..threads).map(|_| gpu.buffer_zeroed(1).expect("a buffer")).collect();
            let mut wanted = 0u32;
            let which = if chosen { "the least in flight" } else { "its own" };
            measured.bench_function(format!("a launch of each of {threads} threads to {which}"), |b| {
                b.iter_custom(|times| {
                    wanted = wanted.wrapping_add(times as u32);
                    let start = Instant::now();
                    std::thread::scope(|scope| {
                        for (own, y) in group.streams().iter().zip(&mut counts) {
                            let (group, count) = (&group, &count);
                            scope.spawn(move || {
                                for _ in 0..times {
                                    let stream = if chosen { group.next() } else { own };
                                    stream.launch(count, Grid::linear(1), args![&mut *y]).expect("nothing fails");
                                }
                            });
                        }
                    });
                    group.wait().expect("nothing fails");
                    start.elapsed()
                });
            });
            for y in &counts {
                assert_eq!(y.to_vec().expect("it ran"), [wanted], "{threads} threads to {which}");
            }
        }
    }
    measured.finish();
}

/// What it takes to find a threadgroup size by measuring, and to launch with what was found beside a size that is named.
fn tuning(c: &mut Criterion) {
    const LEN: usize = 4099;
    let gpu = Accelerator::system_default().expect("a device");
    let source =
        "kernel void step(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = y[i] * 3u + i; }";
    let values: Vec<u32> = (0..LEN as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    // After n steps 3^n x + (3^n - 1) / 2 i, whose half needs a bit more than there are.
    let stepped = |steps: u64| -> Vec<u32> {
        let power = (0..steps).fold(1u64, |power, _| power.wrapping_mul(3) & 0x1_FFFF_FFFF);
        let half = ((power - 1) / 2) as u32;
        let of = |(i, x): (u32, &u32)| x.wrapping_mul(power as u32).wrapping_add(half.wrapping_mul(i));
        (0..).zip(&values).map(of).collect()
    };
    let grid = Grid::linear(LEN);
    // Three runs of each size, however busy the machine; the kernel does not depend on it.
    let options = TuneOptions { time: Duration::from_secs(600), runs: 3, any_size: true };
    let mut group = c.benchmark_group("tuning");
    group.sample_size(10);
    group.bench_function("measured, three runs of each size", |b| {
        b.iter_custom(|times| {
            let mut spent = Duration::ZERO;
            for _ in 0..times {
                // A kernel is tuned once; another accelerator knows nothing of it.
                let gpu = Accelerator::system_default().expect("a device");
                let kernel = gpu.compile_msl(source).and_then(|library| library.kernel("step")).expect("it compiles");
                let mut y = gpu.buffer_from(&values).expect("a buffer");
                let start = Instant::now();
                let tuning = kernel.tune(grid, args![&mut y], &options).expect("it is measured");
                spent += start.elapsed();
                assert!(!tuning.candidates.is_empty(), "{tuning:?}");
                assert!(y.to_vec().expect("nobody uses it") == values, "what is tuned keeps its buffers");
            }
            spent
        });
    });
    let kernel = gpu.compile_msl(source).and_then(|library| library.kernel("step")).expect("it compiles");
    let mut y = gpu.buffer_from(&values).expect("a buffer");
    kernel.tune(grid, args![&mut y], &options).expect("it is measured");
    let choice = kernel.threadgroup_choice(&grid).expect("a choice");
    assert!(matches!(choice.reason, ThreadgroupReason::Measured { .. }), "{choice}");
    group.throughput(Throughput::Elements(1));
    for (name, grid) in [("tuned", grid), ("named", grid.threadgroup(choice.size))] {
        y.write_from(&values).expect("nobody uses it");
        let mut launched = 0;
        group.bench_function(format!("a further launch of a batch, its threadgroups {name}"), |b| {
            b.iter_custom(|times| {
                launched += times;
                batches(&gpu, times, |batch| batch.launch(&kernel, grid, args![&mut y]))
            });
        });
        assert!(y.to_vec().expect("it ran") == stepped(launched), "{name}");
    }
    group.finish();
}

criterion_group!(benches, pool, misses, sources, folders, submissions, groups, events, recoveries, tuning);
criterion_main!(benches);
