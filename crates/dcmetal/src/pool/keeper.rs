//! The thread that counts a pool's time, and releases what is old or what the machine needs.
//!
//! It looks from time to time, and where the system sends notices of short memory at each of them. It ends with the pool; what it finds it
//! does by calls that the pool's users could make as well.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use log::Level;

use super::pressure::{Notices, Pressure, notices};
use super::shelves::Shelves;
use crate::sync::{Arc, Weak, spawn};
use crate::telemetry::{POOL, say};

/// How often it looks.
const PERIOD: Duration = Duration::from_secs(1);

/// Ends the thread when it is dropped.
pub(super) struct Keeper {
    _alive: Sender<()>,
    _notices: Option<Notices>,
}

impl Keeper {
    /// `idle_age`: how long idle memory is kept. `pressure`: how short memory is.
    pub(super) fn start<M: Send + 'static>(
        shelves: &Arc<Shelves<M>>,
        idle_age: Duration,
        pressure: fn() -> Pressure,
    ) -> std::io::Result<Keeper> {
        let (alive, pool) = channel();
        let shelves = Arc::downgrade(shelves);
        let looks = move || keep(&shelves, &pool, idle_age, pressure);
        spawn("dcmetal pool", looks)?;
        Ok(Keeper { _notices: notices(alive.clone()), _alive: alive })
    }
}

/// Until all senders are gone. What they send are notices.
fn keep<M>(shelves: &Weak<Shelves<M>>, pool: &Receiver<()>, idle_age: Duration, pressure: impl Fn() -> Pressure) {
    let period = PERIOD.min(idle_age.max(Duration::from_millis(10)));
    let ticks = ticks(idle_age, period);
    loop {
        let noticed = pool.recv_timeout(period);
        if noticed == Err(RecvTimeoutError::Disconnected) {
            break;
        }
        let Some(shelves) = shelves.upgrade() else { break };
        if noticed.is_err() {
            shelves.tick();
        }
        // With nothing to release nobody needs to know how short memory is.
        let pressure = if shelves.idle_bytes() == 0 { Pressure::None } else { pressure() };
        look(&shelves, ticks, pressure);
    }
}

/// Whole ticks that take at least `age`.
fn ticks(age: Duration, period: Duration) -> u64 {
    u64::try_from(age.as_nanos().div_ceil(period.as_nanos())).unwrap_or(u64::MAX)
}

/// What is done at each tick and notice.
fn look<M>(shelves: &Shelves<M>, ticks: u64, pressure: Pressure) {
    let released = match pressure {
        Pressure::None => {
            shelves.release_older(ticks);
            return;
        }
        // Whatever was not used since the last look.
        Pressure::Some => shelves.release_older(ticks.min(2)),
        Pressure::Critical => shelves.trim(0),
    };
    say(POOL, Level::Debug, format_args!("memory is short: {released} idle bytes released"));
}

#[cfg(test)]
mod tests {
    use super::super::account::Account;
    use super::super::shelves::{Bytes, Owner};
    use super::*;

    fn shelves<M>() -> Owner<M> {
        Owner::new(Arc::new(Account::new(u64::MAX, u64::MAX)))
    }

    #[test]
    fn ages_are_whole_periods() {
        let ms = Duration::from_millis;
        assert_eq!([ticks(ms(0), ms(10)), ticks(ms(10), ms(10)), ticks(ms(11), ms(10))], [0, 1, 2]);
        assert_eq!(ticks(Duration::MAX, PERIOD), u64::MAX);
    }

    /// Idle bytes after looks, by what was there and how short memory was.
    #[test]
    fn old_memory_goes_and_under_pressure_more() {
        for (name, looks, left) in [
            ("nothing happens before the age", &[Pressure::None; 9][..], 512),
            ("at the age it goes", &[Pressure::None; 10], 0),
            ("some pressure spares what was just used", &[Pressure::Some], 512),
            ("some pressure takes the rest", &[Pressure::None, Pressure::Some], 0),
            ("critical pressure spares nothing", &[Pressure::Critical], 0),
        ] {
            let (shelves, bytes) = (shelves::<()>(), Bytes::own(512));
            shelves.lend_new(bytes, 512).put_back((), bytes, 512);
            for pressure in looks {
                shelves.tick();
                look(&shelves, 10, *pressure);
            }
            assert_eq!(shelves.stats().idle_bytes, left, "{name}");
        }
    }

    /// Each notice is a look of its own, and no time: idle bytes after the last.
    #[test]
    fn notices_are_looked_after_at_once() {
        for (name, levels, left) in [
            ("nothing is short", &[Pressure::None; 9][..], 512),
            ("what was just used stays", &[Pressure::Some; 9], 512),
            ("at the first", &[Pressure::Critical], 0),
            ("at the last", &[Pressure::None, Pressure::Some, Pressure::Critical], 0),
        ] {
            let (shelves, bytes) = (shelves::<()>(), Bytes::own(512));
            shelves.lend_new(bytes, 512).put_back((), bytes, 512);
            let (notices, pool) = channel();
            levels.iter().for_each(|_| notices.send(()).unwrap());
            drop(notices);
            let levels = std::cell::RefCell::new(levels.iter());
            let next = || *levels.borrow_mut().next().expect("one for each notice");
            keep(&Arc::downgrade(shelves.shelves()), &pool, Duration::from_secs(3), next);
            assert_eq!(shelves.stats().idle_bytes, left, "{name}");
        }
    }

    #[test]
    fn the_thread_releases_memory_and_ends_with_its_pool() {
        // By age, and by pressure.
        let none: fn() -> Pressure = || Pressure::None;
        for (age, pressure) in [(Duration::from_millis(10), none), (Duration::MAX, || Pressure::Critical)] {
            let (shelves, bytes) = (shelves::<Sender<()>>(), Bytes::own(512));
            let (memory, released) = channel();
            let keeper = Keeper::start(shelves.shelves(), age, pressure).unwrap();
            shelves.lend_new(bytes, 512).put_back(memory, bytes, 512);
            // Ends only when the memory has been released.
            released.recv().unwrap_err();
            let weak = Arc::downgrade(shelves.shelves());
            drop((keeper, shelves));
            while weak.strong_count() > 0 {
                std::thread::yield_now();
            }
        }
    }
}
