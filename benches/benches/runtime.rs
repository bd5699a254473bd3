//! Parts of the runtime: a pooled buffer, from the shelf and back, by one thread and by several at once, beside an allocation of
//! Metal's; a source that was compiled before, and its kernel.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dcmetal::{Accelerator, BufferPool, PoolLimits};

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
        assert!(stats.misses * 100 <= asked, "{} of {asked} requests allocated", stats.misses);
    }
    group.finish();
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

criterion_group!(benches, pool, sources);
criterion_main!(benches);
