//! Pools of the device, on a machine that is short of memory.

use std::time::{Duration, Instant};

use super::pressure::ROOT;
use crate::{Accelerator, BufferPool, PoolLimits};

/// By the pool's own thread: nobody calls, and nothing is ever old.
#[test]
fn what_is_idle_is_released_when_the_machine_is_short_of_memory() {
    let machine = tempfile::tempdir().expect("a folder");
    let memory = |left: u32| {
        let text = format!("MemTotal: 1000 kB\nMemAvailable: {left} kB\n");
        // Renamed, so that nobody reads half of it.
        let (new, file) = (machine.path().join("new"), machine.path().join("proc/meminfo"));
        std::fs::write(&new, text).and_then(|()| std::fs::rename(new, file)).expect("it is written");
    };
    std::fs::create_dir(machine.path().join("proc")).expect("a folder");
    memory(500);
    *ROOT.lock().expect("no panic") = Some(machine.path().to_owned());
    let gpu = Accelerator::system_default().expect("a Metal device");
    let [deaf, pool] = [false, true].map(|pressure| {
        let pool = gpu.pool(PoolLimits { pressure, idle_age: Duration::MAX, ..PoolLimits::default() });
        drop(pool.buffer::<u8>(4096).expect("a buffer"));
        pool
    });
    let idle = |pool: &BufferPool| pool.stats().idle_buffers;
    assert_eq!((idle(&deaf), idle(&pool)), (1, 1), "there is plenty");
    memory(1);
    let start = Instant::now();
    while pool.stats().released == 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "it stays: {:?}", pool.stats());
        std::thread::yield_now();
    }
    // Its thread looked earlier, if it looks.
    assert_eq!((idle(&deaf), idle(&pool)), (1, 0));
    *ROOT.lock().expect("no panic") = None;
}
