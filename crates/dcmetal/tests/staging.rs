//! Memory that an accelerator uses by itself: copies to and from private buffers, and what kernels print, allocate nothing in a steady loop.
//! One test, so that nobody else allocates.

mod common;

use common::{Gate, Random, gpu};
use dcmetal::{Accelerator, Grid, Kernel, StorageMode, args};

#[test]
fn memory_of_copies_and_prints_is_used_again_and_never_too_early() {
    steady_loops_allocate_nothing();
    what_is_in_flight_is_not_used_again();
    texts_are_their_own_whatever_was_printed_before();
    it_makes_room_and_goes_with_its_accelerator();
}

fn printing(gpu: &Accelerator) -> Kernel {
    let source = r#"__kernel void k(int n, int times) { for (int i = 0; i < times; i++) printf("%d;", n); }"#;
    gpu.compile_opencl(source).and_then(|library| library.kernel("k")).expect("it compiles")
}

/// Allocations that Metal made since the last call; `None` where it does not tell.
fn allocations() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let made = hostmetal::faults::counts("allocation").expect("a site").events;
        // Rules that inject nothing count.
        hostmetal::faults::set("seed=1").expect("rules");
        Some(made)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

fn steady_loops_allocate_nothing() {
    const TURNS: u64 = 300;
    let gpu = gpu();
    let print = printing(&gpu);
    let mut x = gpu.buffer_with::<u32>(5000, StorageMode::Private).expect("a buffer");
    let mut y = gpu.buffer_with::<u32>(5000, StorageMode::Private).expect("a buffer");
    let mut random = Random(7);
    let mut turn = |number: u64| {
        let values = random.words(5000);
        x.write_from(&values).expect("it is copied");
        let part = random.range(0, 4000) as usize;
        let got = x.view(part..part + 999).and_then(|view| view.to_vec()).expect("it is copied");
        assert_eq!(got, values[part..part + 999]);
        let mut batch = gpu.batch().expect("a batch");
        batch.copy(&x, &mut y).expect("it fits");
        batch.launch(&print, Grid::linear(1), args![number as i32, 2]).expect("it fits");
        let printed = batch.submit().and_then(|submission| submission.printed()).expect("it runs");
        assert_eq!(printed.to_string(), format!("{number};{number};"));
        assert_eq!(y.to_vec().expect("it is copied"), values);
        // Nobody asks what it prints.
        print.launch(Grid::linear(1), args![1, 1]).and_then(|submission| submission.wait()).expect("it runs");
    };
    // What is told of a submission may be a moment before its memory is back.
    (0..10).for_each(&mut turn);
    allocations();
    let before = gpu.staging_stats();
    (10..10 + TURNS).for_each(&mut turn);
    let stats = gpu.staging_stats();
    let (hits, misses) = (stats.hits - before.hits, stats.misses - before.misses);
    assert_eq!(hits + misses, 5 * TURNS, "requests");
    assert!(misses * 100 <= hits, "{stats:?}");
    if let Some(made) = allocations() {
        assert_eq!(made, misses, "nothing else is allocated either");
    }
}

fn what_is_in_flight_is_not_used_again() {
    let gpu = gpu();
    let print = printing(&gpu);
    let mut gate = Gate::new(&gpu);
    let mut shut = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
    let before = gate.start(&mut shut).expect("it is handed over");
    // Behind the gate: each has memory of its own, also where nobody will read it.
    let launched = |n: i32| print.launch(Grid::linear(1), args![n, 1]).expect("it is handed over");
    let mut submissions = Vec::new();
    for n in 0..20 {
        drop(launched(1000 + n));
        submissions.push(launched(n));
    }
    let stats = gpu.staging_stats();
    assert_eq!((stats.used_buffers, stats.hits), (40, 0));
    gate.open();
    before.wait().expect("it runs");
    for (n, submission) in submissions.iter().enumerate() {
        assert_eq!(submission.printed().expect("it runs").to_string(), format!("{n};"));
    }
    drop(submissions);
    gpu.batch().and_then(|batch| batch.submit()?.wait()).expect("what was before has ended");
    assert_eq!(gpu.staging_stats().used_buffers, 0);
    assert_eq!(launched(7).printed().expect("it runs").to_string(), "7;");
}

/// Nothing of one text is in the next, nor is what was lost.
fn texts_are_their_own_whatever_was_printed_before() {
    let gpu = gpu();
    let print = printing(&gpu);
    // A mebibyte without three words, of records of two.
    let fit = ((1i32 << 18) - 3) / 2;
    for (n, times) in [(1, 10), (2, fit + 5), (3, 1), (4, 0), (5, fit), (6, 2)] {
        let submission = print.launch(Grid::linear(1), args![n, times]).expect("it is handed over");
        let printed = submission.printed().expect("it runs");
        assert_eq!(printed.lost, (times - fit).max(0) as u32, "{n}");
        let wanted = format!("{n};").repeat(times.min(fit) as usize);
        assert!(printed.to_string() == wanted, "{n}: {} bytes, not {}", printed.bytes.len(), wanted.len());
    }
    let stats = gpu.staging_stats();
    assert!(stats.hits > 0 && stats.hits + stats.misses == 6, "{stats:?}");
}

fn it_makes_room_and_goes_with_its_accelerator() {
    let observer = gpu();
    let before = observer.allocated_bytes();
    let gpu = gpu();
    let mut x = gpu.buffer_with::<u32>(1 << 18, StorageMode::Private).expect("a buffer");
    let held = observer.allocated_bytes();
    x.write_from(&vec![7; 1 << 18]).expect("it is copied");
    assert!(observer.allocated_bytes() >= held + (1 << 20) && gpu.staging_stats().idle_bytes >= 1 << 20);
    #[cfg(target_os = "linux")]
    {
        // Metal says once that there is no memory.
        hostmetal::faults::set("allocation:at=1").expect("rules");
        drop(gpu.buffer_zeroed::<u8>(4).expect("a buffer"));
        assert_eq!(hostmetal::faults::counts("allocation").map(|counts| counts.injected), Some(1));
        hostmetal::faults::set("").expect("no rules");
        let stats = gpu.staging_stats();
        assert_eq!((stats.idle_bytes, stats.released), (0, 1));
        assert!(observer.allocated_bytes() <= held, "it is released");
    }
    assert_eq!(x.to_vec().expect("it is copied"), vec![7; 1 << 18]);
    drop(x);
    drop(gpu);
    assert!(observer.allocated_bytes() <= before, "it went with its accelerator");
}
