//! Groups of streams: which of them is next, who waits for all, and what is told when some fail.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

use common::{Gate, Random, gpu, msl, refused};
use dcmetal::{Accelerator, Error, Event, Grid, Kernel, Stream, StreamGroup, StreamLimits, args};

/// No limit but those that a test sets.
const OPEN: StreamLimits = StreamLimits {
    commands: usize::MAX,
    bytes: u64::MAX,
    age: Duration::MAX,
    in_flight: usize::MAX,
    in_flight_bytes: u64::MAX,
    priority: 0,
};

const SOURCE: &str = "
    kernel void increment(device uint* y [[buffer(0)]]) { y[0] += 1u; }
    kernel void three(device uint* y [[buffer(0)]]) { y[0] = y[0] * 3u + 1u; }
    kernel void five(device uint* y [[buffer(0)]]) { y[0] = y[0] * 5u + 2u; }
    kernel void wild(device uint* y [[buffer(0)]]) { *(device uint*)(ulong(y[0]) << 40) = 1u; }";

fn kernel(gpu: &Accelerator, name: &str) -> Kernel {
    msl(gpu, SOURCE, name)
}

fn one() -> Grid {
    Grid::linear(1)
}

/// Which of its streams comes next.
fn next(group: &StreamGroup) -> usize {
    let next = group.next();
    group.streams().iter().position(|stream| std::ptr::eq(stream, next)).expect("it is one of them")
}

fn yield_until(ready: impl Fn() -> bool) {
    while !ready() {
        std::thread::yield_now();
    }
}

#[test]
fn the_next_is_the_least_loaded_in_turns() {
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    let mut gate = Gate::new(&gpu);
    let mut held = gpu.buffer_zeroed::<u32>(1).unwrap();
    let gated = gate.start(&mut held).unwrap();
    let group = gpu.stream_group(3, StreamLimits { commands: 1, ..OPEN });
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    assert_eq!([(); 4].map(|()| next(&group)), [0, 1, 2, 0], "nothing is in flight");
    let mut launch = |at: usize| group.streams()[at].launch(&increment, one(), args![&mut y]).unwrap();
    // In flight: 1, 0, 0; the turn is the second's.
    launch(0);
    let mut taken = Vec::new();
    for _ in 0..8 {
        taken.push(next(&group));
        launch(*taken.last().unwrap());
    }
    assert_eq!(taken, [1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(group.streams().iter().map(Stream::in_flight).collect::<Vec<_>>(), [3, 3, 3]);
    launch(0);
    launch(0);
    launch(1);
    // 5, 4, 3: the turn is the first's.
    taken.clear();
    for _ in 0..6 {
        taken.push(next(&group));
        launch(*taken.last().unwrap());
    }
    assert_eq!(taken, [2, 1, 2, 0, 1, 2]);
    gate.open();
    gated.wait().unwrap();
    group.wait().unwrap();
    assert_eq!(y.to_vec().unwrap(), [18]);
    // What is being recorded counts as well.
    let group = gpu.stream_group(2, OPEN);
    group.streams()[0].launch(&increment, one(), args![&mut y]).unwrap();
    assert_eq!([(); 3].map(|()| next(&group)), [1; 3]);
    assert!(format!("{group:?}").contains("in_flight: 1"));
}

#[test]
fn a_group_has_a_stream() {
    let gpu = gpu();
    let none = catch_unwind(AssertUnwindSafe(|| gpu.stream_group(0, OPEN)));
    assert!(none.unwrap_err().downcast_ref::<&str>().is_some_and(|text| text.contains("no streams")));
    assert_eq!(gpu.stream_group(1, OPEN).streams().len(), 1);
}

#[test]
fn a_flush_gives_what_each_had_recorded() {
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    let group = gpu.stream_group(3, OPEN);
    assert!(group.flush().is_empty());
    let mut buffers = [(); 2].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
    for (stream, y) in group.streams().iter().skip(1).zip(&mut buffers) {
        stream.launch(&increment, one(), args![y]).unwrap();
    }
    let submissions = group.flush();
    assert_eq!(submissions.len(), 2);
    submissions.into_iter().for_each(|submission| pollster::block_on(submission).unwrap());
    assert!(buffers.iter().all(|y| y.try_read().unwrap()[0] == 1));
    assert!(group.flush().is_empty());
}

/// What failed by itself is told, wherever it is in the group, and not what failed with it; once, and the buffers keep it.
#[test]
fn the_failure_that_others_follow_from_is_told_once() {
    let gpu = gpu();
    let (wild, increment) = (kernel(&gpu, "wild"), kernel(&gpu, "increment"));
    for (fails, follows) in [(0, 1), (0, 2), (1, 0), (2, 0), (2, 1), (1, 1)] {
        let group = gpu.stream_group(3, OPEN);
        let mut bad = gpu.buffer_from(&[u32::MAX]).unwrap();
        let mut good = [(); 3].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
        for (stream, y) in group.streams().iter().zip(&mut good) {
            stream.launch(&increment, one(), args![y]).unwrap();
            drop(stream.flush());
        }
        let (mut gate, mut held) = (Gate::new(&gpu), gpu.buffer_zeroed::<u32>(1).unwrap());
        let gated = gate.start(&mut held).unwrap();
        group.streams()[fails].launch(&wild, one(), args![&mut bad]).unwrap();
        group.streams()[follows].launch(&increment, one(), args![&mut bad]).unwrap();
        drop(group.flush());
        gate.open();
        let Error::Submission(error) = refused(group.wait()) else { panic!("it failed on the device") };
        assert!(error.caused_by.is_none() && error.kernels.iter().any(|name| name == "wild"), "{error:?}");
        assert!(group.streams().iter().all(|stream| stream.in_flight() == 0));
        assert!(matches!(refused(bad.read().map(drop)), Error::Faulted { .. }));
        // For all of them.
        group.wait().unwrap();
        group.streams().iter().for_each(|stream| stream.wait().unwrap());
        assert!(good.iter().all(|y| y.to_vec().unwrap() == [1]));
        gated.wait().unwrap();
    }
}

/// A stream that failed keeps nobody from waiting for the others, whose work is still held.
#[test]
fn all_are_waited_for_when_one_fails() {
    let gpu = gpu();
    let (wild, increment) = (kernel(&gpu, "wild"), kernel(&gpu, "increment"));
    let group = gpu.stream_group(2, OPEN);
    let (mut gate, mut held) = (Gate::new(&gpu), gpu.buffer_zeroed::<u32>(1).unwrap());
    let mut bad = gpu.buffer_from(&[u32::MAX]).unwrap();
    group.streams()[0].launch(&wild, one(), args![&mut bad]).unwrap();
    yield_until(|| {
        drop(group.flush());
        group.streams()[0].in_flight() == 0
    });
    let gated = gate.start(&mut held).unwrap();
    group.streams()[1].launch(&increment, one(), args![&mut held]).unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| group.wait());
        // It hands over first. Then it needs no more than this to come back too early.
        yield_until(|| group.streams()[1].recorded() == 0 || waits.is_finished());
        (0..10_000).for_each(|_| std::thread::yield_now());
        assert!(!waits.is_finished(), "it waits for the second stream");
        gate.open();
        assert!(matches!(refused(waits.join().unwrap()), Error::Submission(error) if error.kernels == ["wild"]));
    });
    assert_eq!(group.streams()[1].in_flight(), 0);
    gated.wait().unwrap();
    assert_eq!(held.try_read().unwrap()[..], [2]);
}

/// One signal is for what all were given, in batches handed over before too.
#[test]
fn a_signal_is_for_all_streams() {
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    for commands in [1, 2, usize::MAX] {
        let group = gpu.stream_group(3, StreamLimits { commands, ..OPEN });
        let event = gpu.event().unwrap();
        let mut buffers = [(); 3].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
        for round in 1..=6 {
            let (mut gate, mut held) = (Gate::new(&gpu), gpu.buffer_zeroed::<u32>(1).unwrap());
            let gated = gate.start(&mut held).unwrap();
            for (stream, y) in group.streams().iter().zip(&mut buffers) {
                (0..3).for_each(|_| stream.launch(&increment, one(), args![&mut *y]).unwrap());
            }
            group.signal(&event, round).unwrap();
            assert!(group.streams().iter().all(|stream| stream.recorded() == 0), "they are handed over");
            assert_eq!(event.value().unwrap(), round - 1);
            gate.open();
            event.wait(round).unwrap();
            gated.wait().unwrap();
        }
        group.wait().unwrap();
        assert!(buffers.iter().all(|y| y.to_vec().unwrap() == [18]));
    }
}

/// Whichever of the streams failed, whichever signals, and however long ago.
#[test]
fn a_stream_that_fails_poisons_what_the_group_signals() {
    let gpu = gpu();
    let (wild, increment) = (kernel(&gpu, "wild"), kernel(&gpu, "increment"));
    for (fails, turns, settles) in [0, 1, 2]
        .into_iter()
        .flat_map(|fails| [(fails, 0, false), (fails, 1, true), (fails, 2, false), (fails, 2, true)])
    {
        let (group, event) = (gpu.stream_group(3, OPEN), gpu.event().unwrap());
        let mut bad = gpu.buffer_from(&[u32::MAX]).unwrap();
        let mut good = gpu.buffer_zeroed::<u32>(1).unwrap();
        group.streams()[fails].launch(&wild, one(), args![&mut bad]).unwrap();
        group.streams()[(fails + 1) % 3].launch(&increment, one(), args![&mut good]).unwrap();
        if settles {
            drop(group.flush());
            yield_until(|| group.streams()[fails].in_flight() == 0);
        }
        for _ in 0..turns {
            next(&group);
        }
        group.signal(&event, 1).unwrap();
        let case = format!("{fails} fails, {turns} turns, settled: {settles}");
        let Error::EventFaulted { cause } = refused(event.wait(1)) else { panic!("{case}: it is poisoned") };
        let first = cause.caused_by.as_ref().unwrap_or(&cause);
        assert_eq!(first.kernels, ["wild"], "{case}");
        assert!(matches!(refused(group.signal(&event, 2)), Error::EventFaulted { .. }), "{case}");
        let Error::Submission(error) = refused(group.wait()) else { panic!("{case}: it failed on the device") };
        assert_eq!(error.kernels, ["wild"], "{case}: it failed by itself, the signal did not");
        // Told for all: the next event is sound, whoever signals.
        for value in 1..=3 {
            let fresh = gpu.event().unwrap();
            group.signal(&fresh, value).unwrap();
            fresh.wait(value).unwrap();
        }
        group.wait().unwrap();
        assert_eq!(good.to_vec().unwrap(), [1], "{case}");
    }
}

/// What any of them is given behind a wait starts when the host says so, and fails when nobody will.
#[test]
fn all_streams_wait_for_an_event() {
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    for sound in [true, false] {
        let (group, event) = (gpu.stream_group(3, OPEN), gpu.event().unwrap());
        let mut before = [(); 3].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
        let mut behind = [(); 3].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
        for (stream, y) in group.streams().iter().zip(&mut before) {
            stream.launch(&increment, one(), args![y]).unwrap();
        }
        drop(group.flush());
        group.wait_for(&event, 1).unwrap();
        assert!(before.iter().all(|y| y.to_vec().unwrap() == [1]), "it does not wait");
        for (stream, y) in group.streams().iter().zip(&mut behind) {
            stream.launch(&increment, one(), args![y]).unwrap();
        }
        let handed = group.flush();
        assert!(handed.iter().all(|submission| !submission.is_done()));
        if sound {
            event.signal(1).unwrap();
            group.wait().unwrap();
            assert!(behind.iter().all(|y| y.to_vec().unwrap() == [1]));
            continue;
        }
        // Another accelerator was to signal.
        let other = common::gpu();
        let (mut bad, failing) = (other.buffer_from(&[u32::MAX]).unwrap(), other.stream(OPEN));
        failing.launch(&kernel(&other, "wild"), one(), args![&mut bad]).unwrap();
        failing.signal(&event, 1).unwrap();
        assert!(failing.wait().is_err());
        assert!(behind.iter().all(|y| matches!(y.to_vec(), Err(Error::Faulted { .. }))));
        let Error::Submission(error) = refused(group.wait()) else { panic!("it failed on the device") };
        assert!(error.caused_by.is_some(), "{error:?}");
        group.wait().unwrap();
        assert!(matches!(refused(group.wait_for(&event, 1)), Error::EventFaulted { .. }));
        assert!(group.streams().iter().all(|stream| stream.recorded() == 0));
    }
}

#[test]
fn a_group_that_is_dropped_hands_over() {
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    let (mut gate, mut held) = (Gate::new(&gpu), gpu.buffer_zeroed::<u32>(1).unwrap());
    let gated = gate.start(&mut held).unwrap();
    let mut buffers = [(); 4].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
    let event = gpu.event().unwrap();
    let group = gpu.stream_group(2, OPEN);
    for y in &mut buffers[..2] {
        group.next().launch(&increment, one(), args![y]).unwrap();
    }
    // In flight, and to be settled after its group is gone.
    group.signal(&event, 1).unwrap();
    for y in &mut buffers[2..] {
        group.next().launch(&increment, one(), args![y]).unwrap();
    }
    drop((group, gpu));
    gate.open();
    assert!(buffers.iter().all(|y| y.to_vec().unwrap() == [1]));
    event.wait(1).unwrap();
    gated.wait().unwrap();
}

/// Commands of different streams that use the same buffer run in the order in which they were given.
#[test]
fn streams_of_a_group_share_buffers() {
    const BUFFERS: usize = 3;
    let gpu = gpu();
    let (three, five) = (kernel(&gpu, "three"), kernel(&gpu, "five"));
    for seed in 0..8 {
        let mut random = Random(seed);
        let group = gpu.stream_group(1 + seed as usize % 4, StreamLimits { commands: 1 + seed as usize, ..OPEN });
        let mut buffers = [(); BUFFERS].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
        let mut wanted = [0u32; BUFFERS];
        for _ in 0..200 {
            let [at, from] = [(); 2].map(|()| random.range(0, BUFFERS as i64) as usize);
            let stream = match random.range(0, 2) {
                0 => group.next(),
                _ => &group.streams()[random.range(0, group.streams().len() as i64) as usize],
            };
            match random.range(0, 6) {
                0 | 1 => {
                    stream.launch(&three, one(), args![&mut buffers[at]]).unwrap();
                    wanted[at] = wanted[at].wrapping_mul(3).wrapping_add(1);
                }
                2 | 3 => {
                    stream.launch(&five, one(), args![&mut buffers[at]]).unwrap();
                    wanted[at] = wanted[at].wrapping_mul(5).wrapping_add(2);
                }
                4 if at != from => {
                    let [from_buffer, to] = buffers.get_disjoint_mut([from, at]).unwrap();
                    stream.copy(&*from_buffer, to).unwrap();
                    wanted[at] = wanted[from];
                }
                _ => assert_eq!(buffers[at].to_vec().unwrap(), [wanted[at]], "seed {seed}"),
            }
        }
        group.wait().unwrap();
        assert_eq!(buffers.map(|y| y.to_vec().unwrap()[0]), wanted, "seed {seed}");
    }
}

/// Threads launch, wait and signal at the same time; each turn's signal is for what its thread gave before.
#[test]
fn threads_share_a_group() {
    const THREADS: u64 = 4;
    const TURNS: u64 = 150;
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    let limits = StreamLimits { commands: 4, in_flight: 3, age: Duration::from_micros(200), ..OPEN };
    let group = gpu.stream_group(3, limits);
    let shared = Mutex::new((gpu.buffer_zeroed::<u32>(1).unwrap(), 0));
    std::thread::scope(|scope| {
        for seed in 0..THREADS {
            let (gpu, group, increment, shared) = (&gpu, &group, &increment, &shared);
            scope.spawn(move || {
                let mut random = Random(seed);
                let (mut own, event) = (gpu.buffer_zeroed::<u32>(1).unwrap(), gpu.event().unwrap());
                for turn in 1..=TURNS {
                    group.next().launch(increment, one(), args![&mut own]).unwrap();
                    let mut shared = shared.lock().unwrap();
                    group.next().launch(increment, one(), args![&mut shared.0]).unwrap();
                    shared.1 += 1;
                    drop(shared);
                    match random.range(0, 8) {
                        0 => group.wait().unwrap(),
                        1 => drop(group.flush()),
                        2 => signaled(group, &event, turn),
                        3 => assert_eq!(u64::from(own.to_vec().unwrap()[0]), turn),
                        _ => {}
                    }
                }
                signaled(group, &event, TURNS);
                assert_eq!(u64::from(own.to_vec().unwrap()[0]), TURNS);
            });
        }
    });
    group.wait().unwrap();
    assert!(group.streams().iter().all(|stream| stream.in_flight() == 0));
    let (y, count) = shared.into_inner().unwrap();
    assert_eq!(y.to_vec().unwrap(), [count]);
}

fn signaled(group: &StreamGroup, event: &Event, value: u64) {
    group.signal(event, value).unwrap();
    event.wait(value).unwrap();
}
