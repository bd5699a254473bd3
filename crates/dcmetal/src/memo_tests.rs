//! What is kept, who makes it, and who gets it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::Error;
use crate::memo::{Asked, Memo};

fn get(memo: &Memo<u32, u32>, key: u32, make: impl FnOnce() -> Result<u32, Error>) -> Result<u32, Error> {
    // One hash for several keys: what is found is decided by the comparison.
    memo.get(u64::from(key % 3), |own| *own == key, || key, make)
}

#[test]
fn the_last_used_values_are_kept() {
    const LIMIT: usize = 4;
    let memo = Memo::new(LIMIT);
    // By time of last use; the reference.
    let mut kept: Vec<u32> = Vec::new();
    let (mut random, mut hits, mut evicted) = (1u64, 0, 0);
    for step in 0..2000u32 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let key = (random >> 33) as u32 % 7;
        let fails = step % 11 == 0;
        let made = AtomicU64::new(0);
        let value = get(&memo, key, || {
            made.fetch_add(1, Ordering::Relaxed);
            if fails { Err(Error::EmptyBuffer) } else { Ok(key * 10) }
        });
        let known = kept.iter().position(|known| *known == key);
        assert_eq!(made.load(Ordering::Relaxed), u64::from(known.is_none()), "made once and no more");
        match known {
            Some(at) => {
                kept.remove(at);
                kept.push(key);
                hits += 1;
            }
            None if fails => assert!(matches!(value, Err(Error::EmptyBuffer))),
            None => kept.push(key),
        }
        if kept.contains(&key) {
            assert_eq!(value.unwrap(), key * 10);
        }
        if kept.len() > LIMIT {
            kept.remove(0);
            evicted += 1;
        }
        let stats = memo.stats();
        assert_eq!((stats.hits, stats.evicted, stats.kept), (hits, evicted, kept.len() as u64));
        assert_eq!(stats.hits + stats.misses, u64::from(step) + 1);
    }
}

/// However long it took to make, and whatever was asked for meanwhile.
#[test]
fn what_was_just_made_is_kept() {
    let (memo, mut pending) = (Memo::new(2), None);
    let slow = get(&memo, 0, || {
        get(&memo, 1, || Ok(1))?;
        pending = Some(memo.ask(2, |own| *own == 2, || 2));
        Ok(7)
    });
    assert_eq!((slow.unwrap(), memo.find(0, |own| *own == 0)), (7, Some(7)));
    assert_eq!(memo.find(1, |own| *own == 1), None);
    drop(pending);
}

#[test]
fn those_who_ask_meanwhile_get_the_same() {
    for outcome in [Ok(5), Err(Error::EmptyBuffer)] {
        let memo = Memo::new(4);
        let (begun, wait) = channel();
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                get(&memo, 1, || {
                    begun.send(()).unwrap();
                    // The others join while it is made.
                    while memo.stats().joined < 3 {
                        thread::yield_now();
                    }
                    outcome.clone()
                })
            });
            wait.recv().unwrap();
            let others: Vec<_> = (0..3).map(|_| scope.spawn(|| get(&memo, 1, || panic!("it is being made")))).collect();
            for thread in others.into_iter().chain([first]) {
                let got = thread.join().unwrap();
                assert_eq!(got.ok(), outcome.as_ref().ok().copied());
            }
        });
        let stats = memo.stats();
        assert_eq!((stats.misses, stats.joined, stats.kept), (1, 3, u64::from(outcome.is_ok())));
        assert_eq!(memo.find(1, |own| *own == 1), outcome.ok());
    }
}

/// A value that says when it goes.
struct Goes(Arc<Mutex<Vec<&'static str>>>);

impl Drop for Goes {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("gone");
    }
}

/// What goes may take long to go.
#[test]
fn who_waits_is_told_before_what_makes_room_goes() {
    let (memo, happened) = (Memo::<u32, Option<Arc<Goes>>>::new(1), Arc::<Mutex<Vec<_>>>::default());
    let ask = |key| memo.ask(u64::from(key), |own| *own == key, || key);
    let Asked::Make(first) = ask(1) else { panic!("nobody makes it") };
    first.end(Ok(Some(Arc::new(Goes(Arc::clone(&happened)))))).map(drop).unwrap();
    let (Asked::Make(making), Asked::Pending(waiting)) = (ask(2), ask(2)) else { panic!("one makes it, one waits") };
    let told = Arc::clone(&happened);
    assert!(waiting.follow(Box::new(move |_| told.lock().unwrap().push("told"))).is_none());
    making.end(Ok(None)).map(drop).unwrap();
    assert_eq!(*happened.lock().unwrap(), ["told", "gone"]);
}

#[test]
fn when_a_maker_panics_another_makes_it() {
    let memo = &Memo::new(4);
    let (begun, wait) = channel();
    thread::scope(|scope| {
        let first = move || {
            get(memo, 1, || {
                begun.send(()).unwrap();
                while memo.stats().joined < 1 {
                    thread::yield_now();
                }
                std::panic::resume_unwind(Box::new("on purpose"))
            })
        };
        let first = scope.spawn(move || catch_unwind(AssertUnwindSafe(first)).is_err());
        wait.recv().unwrap();
        let second = scope.spawn(|| get(memo, 1, || Ok(6)).unwrap());
        assert_eq!((first.join().unwrap(), second.join().unwrap()), (true, 6));
    });
    assert_eq!(get(memo, 1, || Ok(7)).unwrap(), 6);
}
