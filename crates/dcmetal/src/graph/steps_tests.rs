//! Of steps, beside them, since `tests/models.rs` compiles those with shuttle's locks.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::steps::run;
use crate::sync::{Condvar, Mutex, PoisonError, lock};

/// Lets steps wait for each other, but not for ever.
struct Meeting {
    come: Mutex<usize>,
    changed: Condvar,
}

impl Meeting {
    fn new() -> Meeting {
        Meeting { come: Mutex::new(0), changed: Condvar::new() }
    }

    /// Whether so many have come.
    fn wait_for(&self, count: usize) -> bool {
        let mut come = lock(&self.come);
        *come += 1;
        self.changed.notify_all();
        let patience = Duration::from_secs(60);
        let waited = self.changed.wait_timeout_while(come, patience, |come| *come < count);
        *waited.unwrap_or_else(PoisonError::into_inner).0 >= count
    }
}

#[test]
fn steps_that_do_not_wait_for_each_other_run_at_once() {
    for count in 2..5 {
        let meeting = Meeting::new();
        let met = |_| if meeting.wait_for(count) { Ok(()) } else { Err("they never met") };
        assert_eq!(run(&vec![Vec::new(); count], count, met), Ok(()));
    }
    // The first and the last of a row, beside one between them.
    let meeting = Meeting::new();
    let met = |at| if at == 1 || meeting.wait_for(2) { Ok(()) } else { Err("they never met") };
    assert_eq!(run(&[vec![], vec![], vec![1]], 2, met), Ok(()));
}

#[test]
fn there_are_no_more_threads_than_allowed_and_none_for_a_row() {
    let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let meeting = Meeting::new();
    let counted = |at| {
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let met = at > 1 || meeting.wait_for(2);
        now.fetch_sub(1, Ordering::SeqCst);
        if met { Ok(()) } else { Err("they never met") }
    };
    assert_eq!(run(&vec![Vec::new(); 50], 2, counted), Ok(()));
    assert_eq!(most.into_inner(), 2);
    let caller = thread::current().id();
    let here = |_| if thread::current().id() == caller { Ok(()) } else { Err("on another thread") };
    assert_eq!(run(&[vec![], vec![0], vec![1], vec![0, 2]], 8, here), Ok(()));
    assert_eq!(run(&vec![Vec::new(); 9], 1, here), Ok(()));
    assert_eq!(run(&[], 8, here), Ok(()));
}

#[test]
fn a_panic_comes_out_where_the_steps_were_run() {
    let meeting = Meeting::new();
    let step = |at| -> Result<(), &str> {
        // The second fails while the first is at work, which counts, being the first.
        let met = meeting.wait_for(2);
        if at == 0 { panic!("on purpose, {met}") } else { Err("the second") }
    };
    let payload = catch_unwind(AssertUnwindSafe(|| run(&[vec![], vec![]], 2, step))).expect_err("it panics");
    assert_eq!(payload.downcast_ref::<String>().map(String::as_str), Some("on purpose, true"));
}

proptest! {
    /// Whatever the threads do, a row ends as its steps one after the other do, and nothing runs before what it waits for.
    #[test]
    fn it_ends_as_one_after_the_other(
        waits in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..3), 1..24),
        fails in prop::collection::btree_set(0usize..24, 0..4), threads in 1usize..5,
    ) {
        let before = |(at, waits): (usize, &Vec<prop::sample::Index>)| -> Vec<usize> {
            waits.iter().filter(|_| at > 0).map(|index| index.index(at)).collect()
        };
        let before: Vec<Vec<usize>> = waits.iter().enumerate().map(before).collect();
        let first = fails.iter().copied().find(|&at| at < before.len());
        let ran = Mutex::new(BTreeSet::new());
        let outcome = run(&before, threads, |at| {
            if !before[at].iter().all(|earlier| lock(&ran).contains(earlier)) {
                return Err(usize::MAX);
            }
            if fails.contains(&at) {
                return Err(at);
            }
            lock(&ran).insert(at);
            Ok(())
        });
        prop_assert_eq!(outcome, first.map_or(Ok(()), Err));
        let ran = ran.into_inner().expect("nobody panicked");
        prop_assert!((0..first.unwrap_or(before.len())).all(|at| ran.contains(&at)), "all before it ran");
    }
}
