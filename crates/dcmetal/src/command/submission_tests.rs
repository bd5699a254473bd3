//! Orders in which handlers may come, with real command buffers where events are looked at.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use super::*;
use crate::raw::command::References;

fn flight(after: &[&Arc<Inflight>]) -> Arc<Inflight> {
    let flight = Arc::new(Inflight::default());
    let after = after.iter().map(|&flight| Arc::clone(flight)).collect();
    flight.hold(Held { after, ..Held::default() });
    flight
}

fn outcome(flight: &Arc<Inflight>) -> Option<Outcome> {
    match flight.ending.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

fn failure() -> Failure {
    Failure::for_tests("it broke")
}

/// Metal may call the handlers of two command buffers in any order.
#[test]
fn a_submission_settles_after_those_it_depends_on() {
    let first = flight(&[]);
    let second = flight(&[&first]);
    let third = flight(&[&first, &second]);
    let apart = flight(&[]);
    for flight in [&third, &second, &apart] {
        Arc::clone(flight).complete(Ok(()));
    }
    assert!(outcome(&third).is_none() && outcome(&second).is_none());
    assert_eq!(outcome(&apart), Some(Ok(())));
    Arc::clone(&first).complete(Err(failure()));
    let first = outcome(&first).expect("settled").expect_err("failed");
    assert_eq!((first.text.as_str(), &first.caused_by), ("it broke", &None));
    let second = outcome(&second).expect("settled").expect_err("its input failed");
    assert_eq!(second.caused_by.as_ref(), Some(&first));
    let third = outcome(&third).expect("settled").expect_err("its input failed");
    assert_eq!(third.caused_by.as_ref(), Some(&first));
}

#[test]
fn its_own_failure_comes_first() {
    let first = flight(&[]);
    let second = flight(&[&first]);
    Arc::clone(&first).complete(Err(failure()));
    Arc::clone(&second).complete(Err(Failure::for_tests("this one too")));
    let error = outcome(&second).expect("settled").expect_err("failed");
    assert_eq!((error.text.as_str(), &error.caused_by), ("this one too", &None));
}

#[test]
fn what_follows_a_success_succeeds() {
    let first = flight(&[]);
    let second = flight(&[&first]);
    Arc::clone(&second).complete(Ok(()));
    Arc::clone(&first).complete(Ok(()));
    assert_eq!((outcome(&first), outcome(&second)), (Some(Ok(())), Some(Ok(()))));
    assert!(lock(&second.state).held.after.is_empty(), "a settled submission keeps no other alive");
}

/// What one signals that fails only with what it depends on is not sound, whoever is told first, and though the one that waited never
/// shared memory with it: each line says whose handlers run, in order, and who is told by then of the failure of the first.
#[test]
fn what_waited_for_the_signal_of_one_that_will_fail_fails() {
    const FIRST: usize = 0;
    const SIGNALS: usize = 1;
    const WAITS: usize = 2;
    for (handlers, told) in [
        (&[FIRST, SIGNALS, WAITS][..], &[FIRST, SIGNALS, WAITS][..]),
        (&[FIRST, WAITS], &[FIRST, WAITS]),
        (&[FIRST, WAITS, SIGNALS], &[FIRST, SIGNALS, WAITS]),
        (&[FIRST, SIGNALS], &[FIRST, SIGNALS]),
        (&[SIGNALS, FIRST, WAITS], &[FIRST, SIGNALS, WAITS]),
    ] {
        let (gpu, other) = (crate::Accelerator::system_default(), crate::Accelerator::system_default());
        let (gpu, other) = (gpu.expect("a device"), other.expect("a device"));
        let event = gpu.event().expect("an event");
        let first = committed(&gpu, &[], &[]);
        let signals = committed(&gpu, &[&first], &[(&event, EventUse::Signal(1))]);
        let waits = committed(&other, &[], &[(&event, EventUse::Wait(1))]);
        let flights = [first, signals, waits];
        for handler in handlers {
            let own = if *handler == FIRST { Err(failure()) } else { Ok(()) };
            Arc::clone(&flights[*handler]).complete(own);
        }
        for (number, flight) in flights.iter().enumerate() {
            let known = outcome(flight).map(|outcome| outcome.map_err(|error| error.caused_by.is_some()));
            let wanted = told.contains(&number).then_some(Err(number != FIRST));
            assert_eq!(known, wanted, "{number} after the handlers of {handlers:?}");
        }
        let sound = outcome(&flights[SIGNALS]).is_none() || event.value().is_err();
        assert!(sound, "the event is poisoned: {handlers:?}");
        // An event keeps who owes it a signal.
        for (number, flight) in flights.iter().enumerate().filter(|(number, _)| !handlers.contains(number)) {
            Arc::clone(flight).complete(Ok(()));
            assert!(outcome(flight).is_some(), "{number}");
        }
    }
}

fn committed(gpu: &crate::Accelerator, after: &[&Arc<Inflight>], events: &[(&Event, EventUse)]) -> Arc<Inflight> {
    let flight = flight(after);
    lock(&flight.state).held.events = events.iter().map(|(event, what)| ((*event).clone(), *what)).collect();
    events.iter().for_each(|(event, what)| event.begin(*what, &flight).expect("it is not poisoned"));
    let command_buffer = CommandBuffer::new(gpu.queue(), References::Retained).expect("a command buffer");
    flight.commit(command_buffer, Box::new(|_| ())).expect("it is committed");
    // What they signal is seen before their handlers run.
    for (event, what) in events {
        if let EventUse::Signal(value) = what {
            event.signal_for_tests(*value);
        }
    }
    flight
}

fn failed(flight: &Arc<Inflight>) -> bool {
    outcome(flight).is_some_and(|outcome| outcome.is_err_and(|error| error.caused_by.is_some()))
}

/// The failure may be several events away, of submissions that have not ended.
#[test]
fn failures_are_found_behind_events() {
    let gpu = crate::Accelerator::system_default().expect("a device");
    let [far, near] = [(); 2].map(|()| gpu.event().expect("an event"));
    let first = flight(&[]);
    let sender = committed(&gpu, &[&first], &[(&far, EventUse::Signal(1))]);
    let between = committed(&gpu, &[], &[(&far, EventUse::Wait(1)), (&near, EventUse::Signal(1))]);
    let waits = committed(&gpu, &[], &[(&near, EventUse::Wait(1))]);
    first.complete(Err(failure()));
    Arc::clone(&waits).complete(Ok(()));
    assert!(failed(&waits) && outcome(&between).is_none() && outcome(&sender).is_none());
    // The host, too, learns it without waiting for those.
    near.signal_for_tests(1);
    assert!(near.value().is_err());
    Arc::clone(&sender).complete(Ok(()));
    Arc::clone(&between).complete(Ok(()));
    assert!(failed(&sender) && failed(&between));
}

/// Two that wait for each other's signals, and both for one that fails.
#[test]
fn submissions_do_not_wait_for_each_other_to_settle() {
    for order in [[0, 1, 2, 3], [1, 0, 2, 3], [2, 0, 1, 3], [3, 1, 0, 2], [0, 2, 1, 3], [1, 3, 0, 2]] {
        let gpu = crate::Accelerator::system_default().expect("a device");
        let [e, f, g] = [(); 3].map(|()| gpu.event().expect("an event"));
        let (first, other) = (flight(&[]), flight(&[]));
        let sender = committed(&gpu, &[&first], &[(&e, EventUse::Signal(1))]);
        let uses = [(&e, EventUse::Wait(1)), (&f, EventUse::Signal(1)), (&g, EventUse::Wait(1))];
        let one = committed(&gpu, &[&other], &uses);
        let two = committed(&gpu, &[], &[(&f, EventUse::Wait(1)), (&g, EventUse::Signal(1))]);
        first.complete(Err(failure()));
        let flights = [&one, &two, &other, &sender];
        for at in order {
            Arc::clone(flights[at]).complete(Ok(()));
        }
        assert!([&one, &two, &sender].into_iter().all(failed), "{order:?}");
        assert_eq!(outcome(&other), Some(Ok(())));
    }
}

/// Who owes a smaller value did not let it start.
#[test]
fn a_failure_is_of_the_values_that_were_owed() {
    let gpu = crate::Accelerator::system_default().expect("a device");
    let event = gpu.event().expect("an event");
    let first = flight(&[]);
    let small = committed(&gpu, &[&first], &[(&event, EventUse::Signal(1))]);
    let large = committed(&gpu, &[], &[(&event, EventUse::Signal(2))]);
    let waits = committed(&gpu, &[], &[(&event, EventUse::Wait(2))]);
    first.complete(Err(failure()));
    Arc::clone(&waits).complete(Ok(()));
    assert_eq!(outcome(&waits), Some(Ok(())));
    Arc::clone(&large).complete(Ok(()));
    Arc::clone(&small).complete(Ok(()));
    assert!(failed(&small) && event.value().is_err());
}

/// A poisoned event lets everybody start, also who waits for a smaller value than a sound submission signals then, whichever of the two is told
/// of first.
#[test]
fn a_larger_signal_mends_no_poison() {
    // The bad one may also be the one with the larger value, which let go who waits for the good one.
    for (bad_first, value) in [(true, 1), (false, 1), (true, 7), (false, 7)] {
        let gpu = crate::Accelerator::system_default().expect("a device");
        let event = gpu.event().expect("an event");
        let first = flight(&[]);
        let bad = committed(&gpu, &[&first], &[(&event, EventUse::Signal(value))]);
        let good = committed(&gpu, &[], &[(&event, EventUse::Signal(5))]);
        let waits = committed(&gpu, &[], &[(&event, EventUse::Wait(3))]);
        first.complete(Err(failure()));
        let order = if bad_first { [&bad, &good] } else { [&good, &bad] };
        for flight in order.into_iter().chain([&waits]) {
            Arc::clone(flight).complete(Ok(()));
        }
        assert!(failed(&bad) && failed(&waits) && event.value().is_err(), "{bad_first} {value}");
        assert_eq!(outcome(&good), Some(Ok(())));
    }
}

/// Nor does a larger signal of the host's.
#[test]
fn the_host_mends_no_poison() {
    let gpu = crate::Accelerator::system_default().expect("a device");
    let event = gpu.event().expect("an event");
    let first = flight(&[]);
    let bad = committed(&gpu, &[&first], &[(&event, EventUse::Signal(3))]);
    let waits = committed(&gpu, &[], &[(&event, EventUse::Wait(3))]);
    first.complete(Err(failure()));
    event.signal(5).expect("it is not poisoned yet");
    Arc::clone(&waits).complete(Ok(()));
    assert!(failed(&waits));
    Arc::clone(&bad).complete(Ok(()));
    assert!(failed(&bad) && event.value().is_err());
}

/// Poison that only whoever asked to be told has learned of lets devices go as well, though the sender turns out to be sound.
#[test]
fn poison_lets_go_whoever_learns_of_it() {
    let gpu = crate::Accelerator::system_default().expect("a device");
    let [far, near] = [(); 2].map(|()| gpu.event().expect("an event"));
    let first = flight(&[]);
    let sound = committed(&gpu, &[], &[(&far, EventUse::Signal(1))]);
    let bad = committed(&gpu, &[&first], &[(&far, EventUse::Signal(2))]);
    first.complete(Err(failure()));
    let between = committed(&gpu, &[], &[(&far, EventUse::Wait(1)), (&near, EventUse::Signal(1))]);
    let mut batch = gpu.batch().expect("a batch");
    batch.wait_for(&near, 2).expect("it is not poisoned");
    let waits = batch.submit();
    let (tell, told) = std::sync::mpsc::channel();
    near.on_reached(1, move |outcome| tell.send(outcome.is_err()).expect("somebody listens")).expect("it is asked");
    assert!(told.recv().expect("it was told"));
    for flight in [&sound, &bad, &between] {
        Arc::clone(flight).complete(Ok(()));
    }
    let waited = waits.map(|waits| waits.wait_timeout(Duration::from_secs(60)));
    assert!(!matches!(waited, Ok(Err(Error::Timeout { .. }))), "{waited:?}");
}

/// A signal of what comes after the one that waited, however far behind it, is not what let it start.
#[test]
fn what_comes_after_it_did_not_let_it_start() {
    for between in 0..3 {
        let gpu = crate::Accelerator::system_default().expect("a device");
        let event = gpu.event().expect("an event");
        let failed = flight(&[]);
        let waits = committed(&gpu, &[], &[(&event, EventUse::Wait(1))]);
        let mut last = Arc::clone(&waits);
        for _ in 0..between {
            last = flight(&[&last]);
        }
        let signals = committed(&gpu, &[&last, &failed], &[(&event, EventUse::Signal(1))]);
        failed.complete(Err(failure()));
        Arc::clone(&waits).complete(Ok(()));
        assert_eq!(outcome(&waits), Some(Ok(())), "{between} between");
        event.cancel(&signals);
    }
}

/// As when the commit of a stream's batch is refused: nobody can be told but those who wait.
#[test]
fn what_could_not_be_committed_has_failed() {
    let flight = flight(&[]);
    let submission = Submission::new(Arc::clone(&flight), Vec::new());
    assert!(matches!(submission.gpu_time(), Err(Error::NotFinished)));
    flight.complete(Err(failure()));
    for told in [submission.wait(), submission.wait_timeout(Duration::ZERO), submission.gpu_time().map(drop)] {
        assert!(matches!(&told, Err(Error::Submission(error)) if error.text == "it broke"), "{told:?}");
    }
}

struct Loud(AtomicUsize);

impl Wake for Loud {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("a waker of the user's");
    }
}

/// A waker that panics keeps neither the submissions that waited for its own nor their wakers from theirs.
#[test]
fn every_waker_is_called_whatever_the_others_do() {
    let first = flight(&[]);
    let second = flight(&[&first]);
    let loud = [Arc::new(Loud(AtomicUsize::new(0))), Arc::new(Loud(AtomicUsize::new(0)))];
    for (flight, loud) in [&first, &second].into_iter().zip(&loud) {
        let mut submission = std::pin::pin!(Submission::new(Arc::clone(flight), Vec::new()));
        let waker = Waker::from(Arc::clone(loud));
        assert!(submission.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    Arc::clone(&second).complete(Ok(()));
    Arc::clone(&first).complete(Ok(()));
    assert_eq!(outcome(&second), Some(Ok(())));
    assert_eq!(loud.map(|loud| loud.0.load(Ordering::SeqCst)), [1, 1]);
}
