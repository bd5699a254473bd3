//! Events: whoever waits for a value gets it when it is soundly reached, or the failure of who was to signal it; a failure goes on through other events, to other queues
//! and to the host, whoever learns of it first. And the pool of fences and events that graphs' batches use.

use crate::raw::command::References;
use crate::schedule::thread;
use crate::sync::{Arc, AtomicUsize, Ordering};
use crate::sys::FAILS;
use crate::{Accelerator, Batch, Error, Event, Model, Result, buffer, failure, filled, gpu};

pub(crate) const MODELS: &[Model] = &[
    ("who waits for an event gets its value", || told(1)),
    ("who waits for an event gets the failure", || told(FAILS)),
    ("a failure goes through memory and an event", || used(false)),
    ("a failure goes through memory and an event to a later submission", || used(true)),
    ("a failure goes through events", through),
    ("the host and the device make an event larger", both_signal),
    ("a failure and the host's signal", host_mends_nothing),
    ("an event that goes tells who waits", dropped),
    ("fences and events of a pool are lent to one batch at a time", pool),
];

/// A submission that fills and then signals.
fn sends(gpu: &Accelerator, event: &Event, value: u8) -> Result<crate::Submission> {
    let mut x = buffer(gpu);
    let mut batch = gpu.batch()?;
    batch.fill(&mut x, value)?;
    batch.signal(event, 1)?;
    batch.submit()
}

/// A thread waits, a function is called, another thread looks, while the device signals or fails.
fn told(value: u8) {
    let gpu = gpu();
    let event = gpu.event().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let called = Arc::clone(&calls);
    let check = move |told: Result<u64>| match value {
        FAILS => assert!(matches!(told, Err(Error::EventFaulted { .. })), "{told:?}"),
        _ => assert_eq!(told.unwrap(), 1),
    };
    event
        .on_reached(1, move |told| {
            check(told);
            called.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
    let waits = thread::spawn({
        let event = event.clone();
        move || check(event.wait(1).map(|()| 1))
    });
    let looks = thread::spawn({
        let event = event.clone();
        move || match event.value() {
            Ok(0) => (),
            told => check(told),
        }
    });
    let sent = sends(&gpu, &event, value).unwrap();
    waits.join().unwrap();
    looks.join().unwrap();
    assert_eq!(sent.wait().is_ok(), value != FAILS);
    check(event.value());
    while calls.load(Ordering::SeqCst) == 0 {
        thread::yield_now();
    }
}

/// The first fails; the second, which itself runs well, uses what that was to write and signals: for the host, or for a submission of another queue.
fn used(submission: bool) {
    let (gpu, other) = (gpu(), gpu());
    let event = gpu.event().unwrap();
    let (mut x, mut y, mut z) = (buffer(&gpu), buffer(&gpu), buffer(&other));
    let waits = thread::spawn({
        let event = event.clone();
        move || match submission {
            true => {
                let mut batch = other.batch()?;
                batch.wait_for(&event, 1)?;
                batch.fill(&mut z, 1)?;
                batch.submit()?.wait()
            }
            false => event.wait(1),
        }
    });
    let first = crate::fill(&gpu, &mut x, FAILS).unwrap();
    let mut batch = gpu.batch().unwrap();
    batch.copy(&x, &mut y).unwrap();
    batch.signal(&event, 1).unwrap();
    match batch.submit() {
        Ok(_) => {
            let root = failure(first.wait());
            let told = failure(waits.join().unwrap());
            let is_root =
                |error: &Arc<crate::SubmissionError>| *error == root || error.caused_by.as_ref() == Some(&root);
            assert!(is_root(&told) || told.caused_by.as_ref().is_some_and(is_root), "{told:?}");
        }
        // It was known already: nobody has signaled.
        Err(told) => {
            drop(failure(Err(told)));
            event.signal(1).unwrap();
            waits.join().unwrap().unwrap();
        }
    }
}

/// The first fails; the second, of another queue, waits for its event and signals another, for which the host waits.
fn through() {
    let (gpu, other) = (gpu(), gpu());
    let [near, far] = [(); 2].map(|()| gpu.event().unwrap());
    let mut y = buffer(&other);
    let mut batch = other.batch().unwrap();
    batch.wait_for(&near, 1).unwrap();
    batch.fill(&mut y, 1).unwrap();
    batch.signal(&far, 1).unwrap();
    let second = batch.submit().unwrap();
    let host = thread::spawn(move || failure(far.wait(1)));
    let first = sends(&gpu, &near, FAILS).unwrap();
    let root = failure(first.wait());
    assert!(near.value().is_err());
    let is_root = |error: &Arc<crate::SubmissionError>| *error == root || error.caused_by.as_ref() == Some(&root);
    let second = failure(second.wait());
    assert!(is_root(&second), "{second:?}");
    let host = host.join().unwrap();
    assert!(is_root(&host) || host.caused_by.as_ref().is_some_and(is_root), "{host:?}");
    assert!(y.to_vec().is_err());
}

fn both_signal() {
    let gpu = gpu();
    let event = gpu.event().unwrap();
    let host = thread::spawn({
        let event = event.clone();
        move || event.signal(2).unwrap()
    });
    let sent = sends(&gpu, &event, 1).unwrap();
    event.wait(2).unwrap();
    sent.wait().unwrap();
    host.join().unwrap();
    assert_eq!(event.value().unwrap(), 2);
}

/// What waited for a value that the host's signal and a failed submission's have let go may have been let go by either.
fn host_mends_nothing() {
    let (gpu, other) = (gpu(), gpu());
    let event = gpu.event().unwrap();
    let mut y = buffer(&other);
    let mut batch = other.batch().unwrap();
    batch.wait_for(&event, 1).unwrap();
    batch.fill(&mut y, 1).unwrap();
    let waits = batch.submit().unwrap();
    let host = thread::spawn({
        let event = event.clone();
        move || event.signal(2)
    });
    let sent = sends(&gpu, &event, FAILS);
    let signaled = host.join().unwrap();
    let outcome = waits.wait();
    let failed = sent.map(|sent| drop(failure(sent.wait())));
    assert!(failed.is_ok(), "the event was sound when it was submitted");
    // Then the host was first.
    if let Ok(value) = event.value() {
        assert_eq!((value, signaled.is_ok()), (2, true));
    }
    match outcome {
        Ok(()) => {
            assert!(signaled.is_ok(), "nothing sound let it start");
            assert_eq!(y.to_vec().unwrap(), filled(1));
        }
        told => drop(failure(told)),
    }
}

/// The last of an event's handles goes on whatever thread.
fn dropped() {
    let gpu = gpu();
    let event = gpu.event().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    for value in [1, 2] {
        let called = Arc::clone(&calls);
        event
            .on_reached(value, move |told| {
                match value {
                    1 => assert!(told.is_ok_and(|value| value == 1)),
                    _ => assert!(matches!(told, Err(Error::EventDropped)), "{told:?}"),
                }
                called.fetch_add(1, Ordering::SeqCst);
            })
            .unwrap();
    }
    let sent = sends(&gpu, &event, 1).unwrap();
    let goes = thread::spawn(move || drop(event));
    sent.wait().unwrap();
    goes.join().unwrap();
    while calls.load(Ordering::SeqCst) < 2 {
        thread::yield_now();
    }
}

/// Batches with barriers by two threads: [`crate::sys`] asserts that no fence and no event is lent twice, or gone while in use.
fn pool() {
    let gpu = gpu();
    let threads = [1, 2].map(|value| {
        let gpu = gpu.clone();
        thread::spawn(move || {
            for _ in 0..2 {
                let (mut x, mut y) = (buffer(&gpu), buffer(&gpu));
                let mut batch = Batch::of_graph(&gpu, true, References::Held).unwrap();
                batch.barrier().unwrap();
                batch.fill(&mut x, value).unwrap();
                batch.barrier().unwrap();
                batch.copy(&x, &mut y).unwrap();
                let submission = batch.submit().unwrap();
                if value == 1 {
                    submission.wait().unwrap();
                }
                assert_eq!(y.to_vec().unwrap(), filled(value));
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
