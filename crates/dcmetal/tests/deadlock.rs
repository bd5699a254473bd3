//! Two submissions that wait for each other's events: both fail, and neither hangs.
#![cfg(target_os = "linux")]

mod common;

use std::time::Duration;

use common::gpu;
use dcmetal::{Error, Event};

#[test]
fn submissions_that_wait_for_each_other_both_fail() {
    // SAFETY: one test, and nothing has read the environment yet.
    unsafe { std::env::set_var("HOSTMETAL_WATCHDOG", "1") };
    // Two queues.
    let (first, second) = (gpu(), gpu());
    let (a, b) = (first.event().unwrap(), first.event().unwrap());
    let submit = |gpu: &dcmetal::Accelerator, wait: &Event, signal: &Event| {
        let mut batch = gpu.batch().unwrap();
        batch.wait_for(wait, 1).unwrap();
        batch.signal(signal, 1).unwrap();
        batch.submit().unwrap()
    };
    let submissions = [submit(&first, &a, &b), submit(&second, &b, &a)];
    for submission in submissions {
        let outcome = submission.wait_timeout(Duration::from_secs(100));
        assert!(matches!(outcome, Err(Error::Submission(_))), "{outcome:?}");
    }
    assert!(matches!(a.value(), Err(Error::EventFaulted { .. })));
    assert!(matches!(b.value(), Err(Error::EventFaulted { .. })));
}
