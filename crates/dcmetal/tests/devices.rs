//! Several devices of unequal size, as code for several GPUs meets them. On Linux only, where hostmetal simulates them; the
//! test starts itself again with the environment that asks for them.
#![cfg(target_os = "linux")]

mod common;

use common::{limits, msl};
use dcmetal::{
    Accelerator, BufferPool, Error, GpuFamily, Grid, HostUse, PageVec, PixelFormat, PoolLimits, PoolStats, Size,
    StorageMode, TextureDescriptor, args,
};
use hostmetal::faults;

const CHILD: &str = "DCMETAL_TEST_DEVICES";

#[test]
fn work_runs_on_devices_of_unequal_size() {
    if std::env::var_os(CHILD).is_some() {
        return on_unequal_devices();
    }
    let this = std::env::current_exe().expect("the test's own executable");
    let mut command = std::process::Command::new(this);
    command.arg("--nocapture").env(CHILD, "1").env("HOSTMETAL_DEVICES", "5").env("HOSTMETAL_MEMORY", "256M");
    command
        .env("HOSTMETAL_DEVICE_1", "memory=32M,max_buffer=8M,threadgroup_memory=8K,max_threads=128,location=external");
    command.env("HOSTMETAL_DEVICE_2", "family=apple3,name=old");
    // As in Macs with processors of Intel's: a card, and a GPU that shares the memory.
    command.env("HOSTMETAL_DEVICE_3", "family=mac2,location=slot").env("HOSTMETAL_DEVICE_4", "family=mac2");
    let output = command.output().expect("the test starts itself");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stdout));
}

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void sums(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]], threadgroup uint* t [[threadgroup(0)]],
                 uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
                 uint n [[threads_per_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
    t[l] = x[i];
    for (uint half_n = n / 2; half_n > 0; half_n /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (l < half_n) t[l] += t[l + half_n];
    }
    if (l == 0) y[g] = t[0];
}
";

const TWICE: &str =
    "kernel void twice(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] *= 2u; }";

fn on_unequal_devices() {
    let all = Accelerator::all().expect("devices");
    assert_eq!(all.len(), 5);
    let [whole, small, old, card, integrated] = [&all[0], &all[1], &all[2], &all[3], &all[4]];
    let limits = small.limits();
    assert_eq!((limits.max_buffer_bytes, limits.max_threadgroup_memory), (8 << 20, 8192));
    assert_eq!(limits.max_threads_per_threadgroup, Size { x: 128, y: 128, z: 128 });
    assert!(limits.removable && !limits.unified_memory);
    assert_eq!((old.name(), old.supports_family(GpuFamily::Apple4)), ("old", false));

    // The same sum on each, in threadgroups as large as the device allows, all in flight at once.
    let values: Vec<u32> = (0..1 << 16).map(|i| i * 7).collect();
    let running: Vec<_> = all
        .iter()
        .map(|gpu| {
            let group = gpu.limits().max_threads_per_threadgroup.x as usize;
            let kernel = msl(gpu, SOURCE, "sums");
            let x = gpu.buffer_from(&values).expect("a buffer");
            let mut y = gpu.buffer_zeroed::<u32>(values.len() / group).expect("a buffer");
            let shared = dcmetal::Arg::threadgroup::<u32>(group);
            let grid = Grid::linear(values.len()).threadgroup(group);
            let submission = kernel.launch(grid, args![&x, &mut y, shared]).expect("a launch");
            (group, y, submission)
        })
        .collect();
    for (group, y, submission) in running {
        submission.wait().expect("a sum");
        let sums: Vec<u32> = values.chunks(group).map(|part| part.iter().sum()).collect();
        assert_eq!(*y.read().expect("results"), sums, "threadgroups of {group}");
    }

    // What the small device refuses, and the others take.
    let memory = |gpu: &Accelerator, megabytes: usize| gpu.buffer_zeroed::<u8>(megabytes << 20);
    assert!(memory(small, 9).is_err() && memory(whole, 9).is_ok());
    let full: Vec<_> = (0..3).map(|_| memory(small, 8).expect("room")).collect();
    let error = [memory(small, 8), memory(small, 8)].into_iter().find_map(Result::err).expect("32 MiB are full");
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    assert!(memory(old, 8).is_ok());
    drop(full);
    assert!(memory(small, 8).is_ok());
    a_pool_lets_go_before_memory_is_out(small);
    let kernel = msl(small, SOURCE, "sums");
    let (x, mut y) =
        (small.buffer_from(&values).expect("a buffer"), small.buffer_zeroed::<u32>(1 << 16).expect("a buffer"));
    let mut refused = |group: usize, shared: usize| {
        let grid = Grid::linear(values.len()).threadgroup(group);
        kernel.launch(grid, args![&x, &mut y, dcmetal::Arg::threadgroup::<u32>(shared)]).expect_err("is refused")
    };
    let error = refused(256, 256);
    assert!(matches!(error, Error::ThreadgroupTooLarge { .. }), "{error}");
    let error = refused(128, 4096).to_string();
    assert!(error.contains("8192"), "{error}");

    // A kernel of OpenCL C 1.2 that cannot tell threadgroups apart has partial ones, where the device has such.
    for (gpu, wanted) in [(whole, 1024u32), (small, 128), (old, 1), (card, 1024)] {
        let source = "kernel void k(global uint* y) { y[get_global_id(0)] += 3; }";
        let kernel = gpu.compile_opencl(source).and_then(|library| library.kernel("k")).expect("it compiles");
        let mut y = gpu.buffer_zeroed::<u32>(2003).expect("a buffer");
        let choice = kernel.threadgroup_choice(&Grid::linear(2003)).expect("a choice");
        assert_eq!((choice.size, choice.whole_threadgroups), (wanted.into(), wanted == 1), "{choice}");
        assert_eq!(
            choice.to_string().contains("whole work-groups only and the device no others"),
            wanted == 1,
            "{choice}"
        );
        kernel.launch(Grid::linear(2003), args![&mut y]).and_then(|submission| submission.wait()).expect("it runs");
        assert_eq!(y.to_vec().expect("it can be read"), [3; 2003], "{choice}");
    }

    // Objects of different devices do not mix.
    let foreign = whole.buffer_from(&values).expect("a buffer");
    let mut own = small.buffer_zeroed::<u32>(1 << 9).expect("a buffer");
    let grid = Grid::linear(values.len()).threadgroup(128usize);
    let error =
        kernel.launch(grid, args![&foreign, &mut own, dcmetal::Arg::threadgroup::<u32>(128)]).expect_err("is refused");
    assert!(error.to_string().contains("another accelerator"), "{error}");

    // The chosen storage mode, and the same results in each: the host's part, the device's, and the host's again.
    use HostUse::{Always, Never, Sometimes, WritesOnce};
    use StorageMode::{Managed, Private, Shared};
    let unified = [(Never, Private), (WritesOnce, Shared), (Sometimes, Shared), (Always, Shared)];
    let separate = [(Never, Private), (WritesOnce, Private), (Sometimes, Managed), (Always, Shared)];
    for (gpu, choices) in [(whole, unified), (card, separate), (integrated, unified)] {
        let twice = msl(gpu, TWICE, "twice");
        for (host, storage) in choices {
            let choice = gpu.storage_for(host);
            assert_eq!(choice.storage, storage, "{host:?}: {choice}");
            let mut y = gpu.buffer_with::<u32>(1000, choice.storage).expect("a buffer");
            assert_eq!(y.storage_mode(), storage);
            let mut wanted = values[..1000].to_vec();
            y.write_from(&wanted).expect("it can be written");
            for _ in 0..3 {
                drop(twice.launch(Grid::linear(1000), args![&mut y]).expect("a launch"));
                wanted.iter_mut().for_each(|value| *value *= 2);
                assert_eq!(y.to_vec().expect("it can be read"), wanted, "{host:?}: {choice}");
            }
            // The host's own view of it, where it has one.
            match y.write() {
                Ok(mut seen) if storage != Private => {
                    assert_eq!(seen[..], wanted);
                    (seen[999], wanted[999]) = (1, 2);
                }
                Err(Error::NotHostVisible { .. }) if storage == Private => {}
                other => panic!("{storage}: {:?}", other.map(drop)),
            }
            if storage != Private {
                drop(twice.launch(Grid::linear(1000), args![&mut y]).expect("a launch"));
                assert_eq!(y.read().expect("it can be read")[999], wanted[999]);
            }
        }
    }
    // Pools of each mode: what comes from the shelf holds anything, and is written and read like what was allocated.
    for gpu in [whole, small, card] {
        let twice = msl(gpu, TWICE, "twice");
        for storage in [Shared, Managed, Private] {
            let pool = gpu.pool(PoolLimits { storage, ..common::limits() });
            for round in 0..4u32 {
                let wanted: Vec<u32> = values[..1001].iter().map(|value| value ^ round).collect();
                let mut y = match round % 2 {
                    0 => pool.buffer_from(&wanted).expect("a buffer"),
                    _ => pool.buffer_zeroed(1001).expect("a buffer"),
                };
                let zeroed = if round % 2 == 0 { &wanted[..] } else { &[0; 1001] };
                assert_eq!((y.storage_mode(), &*y.to_vec().expect("it can be read")), (storage, zeroed), "{round}");
                y.write_from(&wanted).expect("it can be written");
                twice.launch(Grid::linear(1001), args![&mut y]).expect("a launch").wait().expect("it runs");
                let doubled: Vec<u32> = wanted.iter().map(|value| value * 2).collect();
                assert_eq!(y.to_vec().expect("it can be read"), doubled, "{storage}, {round}");
            }
            let stats = pool.stats();
            assert_eq!((stats.misses, stats.hits, stats.idle_buffers), (1, 3, 1), "{storage}: {stats:?}");
        }
    }
    // Nobody waits for the zeros of private memory: here they come behind what waits for this thread.
    let (event, mut batch) = (card.event().expect("an event"), card.batch().expect("a batch"));
    batch.wait_for(&event, 1).expect("it is recorded");
    let waiting = batch.submit().expect("it is submitted");
    let pool = card.pool(PoolLimits { storage: Private, ..common::limits() });
    let zeros = pool.buffer_zeroed::<u32>(100).expect("a buffer");
    assert!(!waiting.is_done());
    event.signal(1).expect("it is signaled");
    assert_eq!(zeros.to_vec().expect("it can be read"), [0; 100]);
    waiting.wait().expect("it ends");
    for gpu in &all {
        let descriptor = TextureDescriptor::d2(PixelFormat::R32Uint, 4, 4);
        let texture = gpu.texture_from(&descriptor, &values[..16]).expect("a texture of a mode that the device has");
        assert_eq!(texture.to_vec::<u32>().expect("texels"), values[..16]);
    }
}

/// Most of the device's memory is not the pool's, so that what the pool holds is far below its own limits when there is no more.
fn a_pool_lets_go_before_memory_is_out(small: &Accelerator) {
    const MIB: usize = 1 << 20;
    let pool = small.pool(limits());
    let others: Vec<_> = (0..2).map(|_| small.buffer_zeroed::<u8>(8 * MIB).expect("room")).collect();
    let kept = pool.buffer_from(&vec![7u8; MIB]).expect("room");
    drop((0..13).map(|_| pool.buffer::<u8>(MIB).expect("room")).collect::<Vec<_>>());
    let before = pool.stats();
    assert_eq!((before.idle_buffers, before.used_buffers, before.released), (13, 1, 0), "{before:?}");
    // 2 of 32 MiB are left: more there is only of what the pool lets go of, whoever asks.
    let other = small.pool(limits());
    type Ask = fn(&Accelerator, &BufferPool) -> dcmetal::Result<()>;
    let asked: [(&str, Ask); 4] = [
        ("a buffer", |small, _| small.buffer_zeroed::<u8>(4 << 20).map(drop)),
        ("a texture", |small, _| small.texture(&TextureDescriptor::d2(PixelFormat::R32Uint, 1024, 1024)).map(drop)),
        ("pages in place", |small, _| small.buffer_no_copy(PageVec::<u8>::zeroed(4 << 20)?).map(drop)),
        ("another pool", |_, other| other.buffer::<u8>(4 << 20).map(drop)),
    ];
    for (number, (name, ask)) in asked.into_iter().enumerate() {
        ask(small, &other).unwrap_or_else(|error| panic!("{name}: {error}"));
        let after = pool.stats();
        assert_eq!(
            (after.idle_buffers, after.used_buffers, after.released),
            (0, 1, 13 * (number as u64 + 1)),
            "{name}"
        );
        other.trim(0);
        drop((0..13).map(|_| pool.buffer::<u8>(MIB).expect("room")).collect::<Vec<_>>());
    }
    let before = PoolStats { released: 0, ..pool.stats() };
    let mut large = pool.buffer_from(&vec![1u32; MIB]).expect("13 MiB are idle");
    let released = pool.stats().released - 4 * 13;
    let after = PoolStats { released, ..pool.stats() };
    assert_eq!((after.idle_buffers, after.idle_bytes, after.released), (0, 0, 13), "{after:?}");
    assert_eq!((after.hits, after.misses), (before.hits, before.misses + 1), "it was allocated");
    assert_eq!((after.used_buffers, after.used_bytes), (2, 5 << 20));
    large.write().expect("nobody uses it")[MIB - 1] = 2;
    assert_eq!(kept.to_vec().expect("nobody writes it"), vec![7; MIB], "what is used stays");

    // What is not enough is the device's error, and is let go of all the same.
    drop((0..4).map(|_| pool.buffer::<u8>(MIB).expect("room")).collect::<Vec<_>>());
    let more: Vec<_> = (0..4).map_while(|_| small.buffer_zeroed::<u8>(MIB).ok()).collect();
    let error = pool.buffer::<u8>(8 * MIB).expect_err("there is less");
    assert!(matches!(error, Error::OutOfMemory { bytes, .. } if bytes == 8 << 20), "{error:?}");
    let last = PoolStats { released: pool.stats().released - 4 * 13, ..pool.stats() };
    assert_eq!((last.idle_buffers, last.released, last.used_buffers), (0, 17, 2), "{last:?}");
    assert_eq!((last.hits, last.misses), (after.hits, after.misses + 4));
    drop((others, more));
    drop(pool.buffer::<u8>(8 * MIB).expect("room"));
    drop((kept, large));
    // A device that has none for once: with something to let go of it is asked again, and only then.
    let pool = small.pool(limits());
    for (idle, rule, asked, succeeds) in
        [(true, "buffer:at=1", 2, true), (true, "buffer:times=2", 2, false), (false, "buffer:at=1", 1, false)]
    {
        pool.trim(0);
        if idle {
            drop(pool.buffer::<u8>(1000).expect("room"));
        }
        faults::set(rule).expect("a rule");
        let outcome = pool.buffer::<u8>(100_000);
        assert_eq!(faults::counts("buffer").expect("a site").events, asked, "{rule}");
        assert!(matches!(outcome, Ok(_) | Err(Error::OutOfMemory { .. })), "{rule}: {outcome:?}");
        assert_eq!(outcome.is_ok(), succeeds, "{rule}");
        assert_eq!(pool.stats().idle_buffers, 0, "{rule}");
    }
    faults::set("").expect("no rules");
}
