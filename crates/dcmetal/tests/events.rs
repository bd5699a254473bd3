//! Events: the host and submissions wait for each other, and a failure reaches everybody who waits.

mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use common::{Gate, gpu, msl, refused};
use dcmetal::{Accelerator, Error, Event, Grid, Kernel, Result, Submission, args};

const SOURCE: &str = "kernel void add(device uint* y [[buffer(0)]], constant uint& by [[buffer(1)]]) { y[0] += by; }
    kernel void fault(device uint* y [[buffer(0)]]) { y[0x0fff0000000000ul] = 1u; }";

fn add(gpu: &Accelerator) -> Kernel {
    msl(gpu, SOURCE, "add")
}

/// What `on_reached` tells arrives here, and then the end of the channel.
fn told(event: &Event, value: u64) -> Receiver<Result<u64>> {
    let (sender, receiver) = channel();
    event.on_reached(value, move |outcome| sender.send(outcome).expect("the test listens")).unwrap();
    receiver
}

/// A submission that faults and was to signal the event.
fn failing(gpu: &Accelerator, event: &Event, value: u64) -> Submission {
    let (fault, mut y) = (msl(gpu, SOURCE, "fault"), gpu.buffer_zeroed::<u32>(1).unwrap());
    let mut batch = gpu.batch().unwrap();
    batch.launch(&fault, Grid::linear(1), args![&mut y]).unwrap();
    batch.signal(event, value).unwrap();
    batch.submit().unwrap()
}

#[test]
fn the_host_and_a_submission_wait_for_each_other() {
    let gpu = gpu();
    let (add, event) = (add(&gpu), gpu.event().unwrap());
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    let mut batch = gpu.batch().unwrap();
    // In the middle of the batch: the host learns of it before the submission has ended.
    for step in 0..5u64 {
        batch.wait_for(&event, 2 * step + 1).unwrap();
        batch.launch(&add, Grid::linear(1), args![&mut y, 1u32]).unwrap();
        batch.signal(&event, 2 * step + 2).unwrap();
    }
    let submission = batch.submit().unwrap();
    for step in 0..5u64 {
        assert_eq!(event.value().unwrap(), 2 * step);
        assert!(!submission.is_done());
        event.signal(2 * step + 1).unwrap();
        event.wait(2 * step + 2).unwrap();
    }
    submission.wait().unwrap();
    assert_eq!(y.to_vec().unwrap(), [5]);
}

#[test]
fn two_queues_take_turns() {
    const TURNS: u64 = 100;
    let (first, second) = (gpu(), gpu());
    let event = first.event().unwrap();
    let mut ends = Vec::new();
    for (gpu, own) in [(&second, 1), (&first, 0)] {
        let add = add(gpu);
        let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
        for turn in 0..TURNS {
            let mut batch = gpu.batch().unwrap();
            batch.wait_for(&event, 2 * turn + own).unwrap();
            batch.launch(&add, Grid::linear(1), args![&mut y, 1u32]).unwrap();
            batch.signal(&event, 2 * turn + own + 1).unwrap();
            ends.push(batch.submit().unwrap());
        }
        if own == 0 {
            event.wait(2 * TURNS).unwrap();
        }
    }
    for end in &ends {
        end.wait().unwrap();
    }
    assert_eq!(event.value().unwrap(), 2 * TURNS);
}

#[test]
fn values_only_grow() {
    let event = gpu().event().unwrap();
    assert_eq!(event.value().unwrap(), 0);
    for (signaled, wanted) in [(7, 7), (3, 7), (8, 8)] {
        event.signal(signaled).unwrap();
        assert_eq!(event.value().unwrap(), wanted);
        event.wait(wanted).unwrap();
        event.wait_timeout(signaled, Duration::ZERO).unwrap();
    }
    for limit in [Duration::ZERO, Duration::from_millis(1)] {
        assert!(matches!(refused(event.wait_timeout(9, limit)), Error::Timeout { .. }));
    }
    event.wait_timeout(8, Duration::MAX).unwrap();
}

#[test]
fn whoever_asked_is_told_once() {
    let gpu = gpu();
    let event = gpu.event().unwrap();
    let (later, gone) = (told(&event, 2), told(&event, 9));
    assert_eq!(told(&event, 0).recv().unwrap().unwrap(), 0);
    event.on_reached(1, |_| panic!("a panic of the user's")).unwrap();
    event.signal(1).unwrap();
    let mut batch = gpu.batch().unwrap();
    batch.signal(&event, 4).unwrap();
    batch.submit().unwrap().wait().unwrap();
    assert_eq!(later.recv().unwrap().unwrap(), 4);
    assert!(later.recv().is_err(), "once");
    drop(event);
    assert!(matches!(gone.recv().unwrap(), Err(Error::EventDropped)));
    assert!(gone.recv().is_err(), "once");
}

#[test]
fn a_batch_that_is_not_submitted_signals_nothing() {
    let gpu = gpu();
    let event = gpu.event().unwrap();
    let mut batch = gpu.batch().unwrap();
    batch.signal(&event, 1).unwrap();
    drop(batch);
    assert_eq!(event.value().unwrap(), 0);
}

#[test]
fn a_failure_reaches_everybody_who_waits() {
    for round in 0..20 {
        let (gpu, other) = (gpu(), gpu());
        let (add, event) = (add(&other), gpu.event().unwrap());
        event.signal(3).unwrap();
        let (host, sound) = (told(&event, 5), told(&event, 3));
        let mut y = other.buffer_zeroed::<u32>(1).unwrap();
        let mut batch = other.batch().unwrap();
        batch.wait_for(&event, 5).unwrap();
        batch.launch(&add, Grid::linear(1), args![&mut y, 1u32]).unwrap();
        batch.signal(&event, 6).unwrap();
        let waits = batch.submit().unwrap();
        let mut early = other.batch().unwrap();
        early.signal(&event, 4).unwrap();
        let fails = failing(&gpu, &event, 5);
        // From several threads, before and after the failure.
        std::thread::scope(|scope| {
            for value in [5, 6, u64::MAX] {
                let event = &event;
                scope.spawn(move || {
                    let error = refused(event.wait(value));
                    assert!(matches!(&error, Error::EventFaulted { .. }), "round {round}: {value}: {error}");
                });
            }
        });
        let cause = match refused(fails.wait()) {
            Error::Submission(cause) => cause,
            error => panic!("{error}"),
        };
        match refused(waits.wait()) {
            Error::Submission(error) => {
                assert_eq!(error.caused_by.as_ref(), Some(&cause), "round {round}");
                assert!(error.text.contains("event"), "{error}");
            }
            error => panic!("{error}"),
        }
        assert!(matches!(refused(y.to_vec()), Error::Faulted { .. }), "what ran too early is not to be trusted");
        assert!(matches!(host.recv().unwrap(), Err(Error::EventFaulted { .. })));
        assert_eq!(sound.recv().unwrap().unwrap(), 3);
        // What was reached before stays so; everything else is over.
        event.wait(3).unwrap();
        for error in [refused(event.value()), refused(event.signal(9)), refused(early.submit())] {
            assert!(matches!(&error, Error::EventFaulted { .. }), "{error}");
            assert_eq!(error.kind(), Error::Submission(cause.clone()).kind());
        }
        let mut late = other.batch().unwrap();
        late.wait_for(&event, 5).unwrap();
        assert!(matches!(refused(late.submit()), Error::EventFaulted { .. }));
        let mut fine = other.batch().unwrap();
        fine.wait_for(&event, 3).unwrap();
        fine.submit().unwrap().wait().unwrap();
    }
}

#[test]
fn what_a_failed_submission_signaled_is_never_seen() {
    let gpu = gpu();
    for round in 0..100 {
        let event = gpu.event().unwrap();
        event.signal(3).unwrap();
        std::thread::scope(|scope| {
            for wanted in 4..8 {
                let event = &event;
                scope.spawn(move || {
                    while event
                        .wait_timeout(wanted, Duration::ZERO)
                        .is_err_and(|error| matches!(error, Error::Timeout { .. }))
                    {}
                    let seen = event.value();
                    assert!(matches!(seen, Err(Error::EventFaulted { .. })), "round {round}: {wanted}: {seen:?}");
                });
            }
            refused(failing(&gpu, &event, 7).wait());
        });
    }
}

#[test]
fn what_was_signaled_before_a_failure_elsewhere_counts() {
    let (gpu, other) = (gpu(), gpu());
    let event = gpu.event().unwrap();
    let mut batch = other.batch().unwrap();
    batch.signal(&event, 2).unwrap();
    let good = batch.submit().unwrap();
    good.wait().unwrap();
    let fails = failing(&gpu, &event, 7);
    refused(fails.wait());
    event.wait(2).unwrap();
    assert!(matches!(refused(event.wait(3)), Error::EventFaulted { .. }));
}

/// Launches until the queue is full; how many there were, and their common buffer's value is that then.
fn fill_queue(gpu: &Accelerator, y: &mut dcmetal::Buffer<u32>) -> (u32, usize) {
    let add = add(gpu);
    for launches in 0.. {
        match add.launch(Grid::linear(1), args![&mut *y, 1u32]) {
            Ok(submission) => drop(submission),
            Err(Error::QueueFull { limit }) => return (launches, limit),
            Err(error) => panic!("{error}"),
        }
        assert!(launches < 100_000, "it is never full");
    }
    unreachable!("the queue is full before")
}

fn submit(gpu: &Accelerator, waits: Option<(&Event, u64)>, signals: Option<(&Event, u64)>) -> Submission {
    let mut batch = gpu.batch().unwrap();
    if let Some((event, value)) = waits {
        batch.wait_for(event, value).unwrap();
    }
    if let Some((event, value)) = signals {
        batch.signal(event, value).unwrap();
    }
    batch.submit().unwrap()
}

#[test]
fn a_full_queue_that_waits_for_the_host_is_an_error_not_a_hang() {
    let gpu = gpu();
    let (event, mut y) = (gpu.event().unwrap(), gpu.buffer_zeroed::<u32>(1).unwrap());
    // A stream's wait counts as a batch's does.
    let stream = gpu.stream(dcmetal::StreamLimits::default());
    stream.wait_for(&event, 1).unwrap();
    drop(stream.flush());
    let (launches, limit) = fill_queue(&gpu, &mut y);
    assert_eq!(launches as usize + 1, limit, "the wait has a place too");
    assert!(matches!(gpu.batch(), Err(Error::QueueFull { .. })));
    event.signal(1).unwrap();
    assert_eq!(y.to_vec().unwrap(), [launches]);
    stream.wait().unwrap();
    // It is as it was before.
    for _ in 0..2 * limit {
        drop(add(&gpu).launch(Grid::linear(1), args![&mut y, 1u32]).unwrap());
    }
    assert_eq!(y.to_vec().unwrap(), [launches + 2 * limit as u32]);
}

/// What is waited for is owed, but by one that the host holds up on another queue.
#[test]
fn a_queue_behind_another_that_waits_for_the_host_is_an_error_not_a_hang() {
    let (first, second) = (gpu(), gpu());
    let (host, between) = (first.event().unwrap(), first.event().unwrap());
    let held = submit(&first, Some((&host, 1)), Some((&between, 1)));
    let mut y = second.buffer_zeroed::<u32>(1).unwrap();
    let waits = submit(&second, Some((&between, 1)), None);
    let (launches, _) = fill_queue(&second, &mut y);
    host.signal(1).unwrap();
    held.wait().unwrap();
    waits.wait().unwrap();
    assert_eq!(y.to_vec().unwrap(), [launches]);
}

/// Where everything that is waited for was submitted, a full queue is waited for, as ever.
#[test]
fn queues_that_wait_for_each_other_s_submissions_are_never_too_full() {
    const ROUNDS: u32 = 4000;
    let (first, second) = (gpu(), gpu());
    let event = first.event().unwrap();
    let (add_first, add_second) = (add(&first), add(&second));
    let (mut x, mut y) = (first.buffer_zeroed::<u32>(1).unwrap(), second.buffer_zeroed::<u32>(1).unwrap());
    for round in 0..ROUNDS {
        let (made, used) = (2 * u64::from(round) + 1, 2 * u64::from(round) + 2);
        let mut batch = first.batch().unwrap();
        if round > 0 {
            batch.wait_for(&event, made - 1).unwrap();
        }
        batch.launch(&add_first, Grid::linear(1), args![&mut x, 1u32]).unwrap();
        batch.signal(&event, made).unwrap();
        drop(batch.submit().unwrap());
        let mut batch = second.batch().unwrap();
        batch.wait_for(&event, made).unwrap();
        batch.launch(&add_second, Grid::linear(1), args![&mut y, 2u32]).unwrap();
        batch.signal(&event, used).unwrap();
        drop(batch.submit().unwrap());
    }
    event.wait(2 * u64::from(ROUNDS)).unwrap();
    assert_eq!((x.to_vec().unwrap(), y.to_vec().unwrap()), (vec![ROUNDS], vec![2 * ROUNDS]));
}

/// What a submission itself, or one behind it, signals does not end its wait.
#[test]
fn a_queue_that_waits_for_what_stands_behind_is_full_too() {
    for later in [false, true] {
        let gpu = gpu();
        let (event, mut y) = (gpu.event().unwrap(), gpu.buffer_zeroed::<u32>(1).unwrap());
        let mut waits = vec![submit(&gpu, Some((&event, 1)), (!later).then_some((&event, 2)))];
        if later {
            waits.push(submit(&gpu, None, Some((&event, 1))));
        }
        let (launches, limit) = fill_queue(&gpu, &mut y);
        assert_eq!(launches as usize + waits.len(), limit);
        event.signal(1).unwrap();
        waits.iter().for_each(|submission| submission.wait().unwrap());
        assert_eq!(y.to_vec().unwrap(), [launches]);
    }
}

/// Two queues that take turns, and the host has the first one.
#[test]
fn queues_that_take_turns_wait_for_the_host_s() {
    let (first, second) = (gpu(), gpu());
    let (event, mut y) = (first.event().unwrap(), second.buffer_zeroed::<u32>(1).unwrap());
    let turns = [(1, &first), (2, &second), (3, &first), (4, &second)];
    let turns = turns.map(|(turn, gpu)| submit(gpu, Some((&event, turn)), Some((&event, turn + 1))));
    let (launches, _) = fill_queue(&second, &mut y);
    event.signal(1).unwrap();
    turns.iter().for_each(|turn| turn.wait().unwrap());
    assert_eq!((event.value().unwrap(), y.to_vec().unwrap()), (5, vec![launches]));
}

/// Launches so often, and has `told` know each time how often it was.
fn launch(gpu: &Accelerator, y: &mut dcmetal::Buffer<u32>, count: u32, told: &AtomicU32) {
    let add = add(gpu);
    let refused = (0..count).find_map(|launches| {
        told.store(launches, Ordering::SeqCst);
        let error = add.launch(Grid::linear(1), args![&mut *y, 1u32]).map(drop).err()?;
        Some(format!("{launches}: {error}"))
    });
    told.store(count, Ordering::SeqCst);
    assert_eq!(refused, None);
}

/// Opens the gate once there were so many launches.
fn open_at(gate: &Gate, count: u32, told: &AtomicU32) {
    while told.load(Ordering::SeqCst) < count {
        std::thread::yield_now();
    }
    gate.open();
}

/// Those before the wait, which run sooner or later, are waited for.
#[test]
fn only_what_stands_behind_the_wait_counts() {
    let (gpu, other) = (gpu(), gpu());
    let (host, device) = (gpu.event().unwrap(), gpu.event().unwrap());
    let (mut gate, mut shut) = (Gate::new(&other), other.buffer_zeroed::<u32>(1).unwrap());
    drop(gate.start(&mut shut).unwrap());
    drop(submit(&other, None, Some((&device, 1))));
    let (mut x, mut y) = (gpu.buffer_zeroed::<u32>(1).unwrap(), gpu.buffer_zeroed::<u32>(1).unwrap());
    drop(submit(&gpu, Some((&device, 1)), None));
    launch(&gpu, &mut x, 600, &AtomicU32::new(0));
    let waits = submit(&gpu, Some((&host, 1)), None);
    // With these the queue is full, and the gate shut.
    let told = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| open_at(&gate, 422, &told));
        launch(&gpu, &mut y, 1023, &told);
    });
    assert!(matches!(gpu.batch(), Err(Error::QueueFull { .. })));
    host.signal(1).unwrap();
    waits.wait().unwrap();
    assert_eq!((x.to_vec().unwrap(), y.to_vec().unwrap()), (vec![600], vec![1023]));
}

/// What runs on another queue ends the wait, whatever that waits for behind it, and in the same submission.
#[test]
fn what_stands_before_a_wait_is_not_held_up() {
    for same in [false, true] {
        let (gpu, other) = (gpu(), gpu());
        let (host, device) = (gpu.event().unwrap(), gpu.event().unwrap());
        let (mut gate, mut shut) = (Gate::new(&other), other.buffer_zeroed::<u32>(1).unwrap());
        drop(gate.start(&mut shut).unwrap());
        let mut batch = other.batch().unwrap();
        batch.signal(&device, 1).unwrap();
        if !same {
            drop(batch.submit().unwrap());
            batch = other.batch().unwrap();
        }
        batch.wait_for(&host, 1).unwrap();
        let behind = batch.submit().unwrap();
        let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
        drop(submit(&gpu, Some((&device, 1)), None));
        let told = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| open_at(&gate, 1023, &told));
            launch(&gpu, &mut y, 3000, &told);
        });
        host.signal(1).unwrap();
        behind.wait().unwrap();
        assert_eq!(y.to_vec().unwrap(), [3000]);
    }
}
