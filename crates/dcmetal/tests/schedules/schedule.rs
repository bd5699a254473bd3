//! What decides which thread runs next. It is shuttle, under whose schedules each model runs many times. Under Miri it is Miri, and locks and threads are std's:
//! each model runs once, and another seed is another schedule. There threads run at the same time as far as its check for data races is concerned, and
//! loads may see what was stored long ago, as weak orders allow.

#[cfg(not(miri))]
pub(crate) use of_shuttle::{by_chance, check, detach, thread_number};
#[cfg(miri)]
pub(crate) use of_std::{by_chance, check, detach, thread_number};
#[cfg(not(miri))]
pub(crate) use shuttle::{sync, thread};
#[cfg(miri)]
pub(crate) use std::{sync, thread};

#[cfg(not(miri))]
mod of_shuttle {
    use shuttle::rand::Rng;
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    use shuttle::{Config, Runner};

    /// Under random schedules, and under some with few preemptions at the worst places: 150 of each, or as many as `DCMETAL_SCHEDULES` says.
    pub(crate) fn check(model: fn()) {
        let schedules =
            std::env::var("DCMETAL_SCHEDULES").map_or(150, |count| count.parse().expect("a number of schedules"));
        let mut config = Config::default();
        // Metal's own functions are called on it.
        config.stack_size = 1 << 20;
        Runner::new(RandomScheduler::new(schedules), config.clone()).run(model);
        Runner::new(PctScheduler::new(3, schedules), config).run(model);
    }

    /// Starts a thread that nobody waits for.
    pub(crate) fn detach(work: impl FnOnce() + Send + 'static) {
        shuttle::thread::spawn(work);
    }

    pub(crate) fn by_chance() -> bool {
        shuttle::rand::thread_rng().gen_range(0..2) == 0
    }

    pub(crate) fn thread_number() -> usize {
        shuttle::current::me().into()
    }
}

#[cfg(miri)]
mod of_std {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    /// Threads that nobody waits for. It is counted in an order that keeps no accesses apart: who starts threads would else be ordered behind those that have ended.
    static DETACHED: AtomicUsize = AtomicUsize::new(0);

    /// Once, until the last thread has ended.
    pub(crate) fn check(model: fn()) {
        // A thread that nobody waits for would fail unnoticed.
        std::panic::set_hook(Box::new(|panic| {
            eprintln!("{panic}");
            std::process::abort()
        }));
        model();
        while DETACHED.load(Ordering::Relaxed) > 0 {
            thread::yield_now();
        }
    }

    /// Starts a thread that nobody waits for.
    pub(crate) fn detach(work: impl FnOnce() + Send + 'static) {
        DETACHED.fetch_add(1, Ordering::Relaxed);
        thread::spawn(|| {
            work();
            DETACHED.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Miri has weak exchanges fail by chance, as the seed says.
    pub(crate) fn by_chance() -> bool {
        AtomicBool::new(false).compare_exchange_weak(false, true, Ordering::Relaxed, Ordering::Relaxed).is_err()
    }

    /// Threads are counted as they first ask.
    pub(crate) fn thread_number() -> usize {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        // A thread that is being torn down has lost its number.
        OWN.try_with(|own| *own).unwrap_or(0)
    }
}
