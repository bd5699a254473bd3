//! What a pooled buffer costs: from the shelf and back, by one thread and by several at once, beside an allocation of Metal's.

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

criterion_group!(benches, pool);
criterion_main!(benches);
