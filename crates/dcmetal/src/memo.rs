//! [`Memo`]: values that are made once and then found again, by key.
//!
//! Whoever asks first makes the value; those who ask meanwhile wait, or are told, and get the same one. A value whose making
//! failed is not kept, and its error is that of all who waited. Beyond the limit the value that was not asked for longest goes.
//! Keys are compared whole, so what is found is what was asked for; a look-up copies nothing, which is why it takes the
//! key's parts as a hash and a comparison.

use std::hash::Hash;
use std::sync::{Arc, Mutex};

use hashbrown::HashTable;

use crate::command::Ending;
use crate::raw::host::lock;

/// What a memo has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Values that were there.
    pub hits: u64,
    /// Values that were made, or were to be.
    pub misses: u64,
    /// Requests that waited for another's making.
    pub joined: u64,
    /// Values that made room for others.
    pub evicted: u64,
    /// Values that are there now.
    pub kept: u64,
}

/// Cloning shares it.
pub(crate) struct Memo<K, V>(Arc<Shared<K, V>>);

impl<K, V> Clone for Memo<K, V> {
    fn clone(&self) -> Memo<K, V> {
        Memo(Arc::clone(&self.0))
    }
}

struct Shared<K, V> {
    limit: usize,
    state: Mutex<State<K, V>>,
}

struct State<K, V> {
    entries: HashTable<Entry<K, V>>,
    /// Counts look-ups: the time, as far as the order of use is concerned.
    now: u64,
    stats: CacheStats,
}

struct Entry<K, V> {
    hash: u64,
    key: K,
    value: Value<V>,
    used: u64,
}

enum Value<V> {
    Ready(V),
    /// Somebody makes it.
    Pending(Arc<Waiting<V>>),
}

/// What became of a value: `None` when its maker panicked, and whoever wants it asks again.
pub(crate) type Outcome<V> = Option<Result<V, crate::Error>>;
/// Told by the thread that made it.
pub(crate) type Told<V> = Box<dyn FnOnce(Outcome<V>) + Send>;
/// Where those wait who want a value that is being made.
pub(crate) type Waiting<V> = Ending<Outcome<V>, Told<V>>;

/// What a memo answers.
pub(crate) enum Asked<K, V: Clone> {
    Ready(V),
    /// Somebody makes it.
    Pending(Arc<Waiting<V>>),
    /// Whoever asked makes it.
    Make(Making<K, V>),
}

/// The hash of a key's parts.
pub(crate) fn hash(key: impl Hash) -> u64 {
    use std::hash::{BuildHasher, BuildHasherDefault};
    BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(key)
}

impl<K, V: Clone> Memo<K, V> {
    /// Keeps at most `limit` values.
    pub(crate) fn new(limit: usize) -> Memo<K, V> {
        let state = State { entries: HashTable::new(), now: 0, stats: CacheStats::default() };
        Memo(Arc::new(Shared { limit, state: Mutex::new(state) }))
    }

    pub(crate) fn stats(&self) -> CacheStats {
        let state = lock(&self.0.state);
        CacheStats { kept: state.entries.len() as u64, ..state.stats }
    }

    /// The value of the key with this hash that `is` the one, if it is there. Counts only when it is.
    pub(crate) fn find(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<V> {
        let mut state = lock(&self.0.state);
        state.now += 1;
        let State { entries, now, stats } = &mut *state;
        let entry = entries.find_mut(hash, |entry| entry.hash == hash && is(&entry.key))?;
        let Value::Ready(value) = &entry.value else { return None };
        entry.used = *now;
        stats.hits += 1;
        Some(value.clone())
    }

    /// The value whose key has this hash and `is` the one, or who makes it; it is kept under `key()`.
    pub(crate) fn ask(&self, hash: u64, is: impl Fn(&K) -> bool, key: impl FnOnce() -> K) -> Asked<K, V> {
        let mut state = lock(&self.0.state);
        state.now += 1;
        let State { entries, now, stats } = &mut *state;
        match entries.find_mut(hash, |entry| entry.hash == hash && is(&entry.key)) {
            Some(Entry { value: Value::Ready(value), used, .. }) => {
                *used = *now;
                stats.hits += 1;
                Asked::Ready(value.clone())
            }
            Some(Entry { value: Value::Pending(waiting), .. }) => {
                stats.joined += 1;
                Asked::Pending(Arc::clone(waiting))
            }
            None => {
                stats.misses += 1;
                let waiting = Arc::new(Waiting::default());
                let value = Value::Pending(Arc::clone(&waiting));
                entries.insert_unique(hash, Entry { hash, key: key(), value, used: *now }, |entry| entry.hash);
                Asked::Make(Making { place: Some(Place { memo: self.clone(), hash, waiting }), outcome: None })
            }
        }
    }

    /// The value whose key has this hash and `is` the one; otherwise what `make` returns, which is kept under `key()`.
    pub(crate) fn get(
        &self,
        hash: u64,
        is: impl Fn(&K) -> bool,
        key: impl Fn() -> K,
        make: impl FnOnce() -> Result<V, crate::Error>,
    ) -> Result<V, crate::Error> {
        loop {
            match self.ask(hash, &is, &key) {
                Asked::Ready(value) => return Ok(value),
                Asked::Pending(waiting) => {
                    if let Some(outcome) = waiting.wait() {
                        return outcome;
                    }
                }
                Asked::Make(making) => return making.end(make()),
            }
        }
    }

    /// Takes the value that `waiting` stood for, or its failure, and makes room.
    fn settle(&self, hash: u64, waiting: &Arc<Waiting<V>>, outcome: Outcome<V>) {
        let mut state = lock(&self.0.state);
        let is = |entry: &Entry<K, V>| matches!(&entry.value, Value::Pending(own) if Arc::ptr_eq(own, waiting));
        let mut gone = Vec::new();
        state.now += 1;
        let now = state.now;
        match &outcome {
            Some(Ok(value)) => {
                let entry = state.entries.find_mut(hash, is).expect("only its maker removes an entry that is pending");
                entry.value = Value::Ready(value.clone());
                // Whoever asked for it waited until now: what was asked for meanwhile is older.
                entry.used = now;
                while state.entries.len() > self.0.limit
                    && let Some(evicted) = state.evict()
                {
                    gone.push(evicted);
                }
            }
            Some(Err(_)) | None => {
                let entry = state.entries.find_entry(hash, is);
                gone.extend(entry.ok().map(|entry| entry.remove().0));
            }
        }
        drop(state);
        // Outside of the lock: what goes may take long to go.
        drop(gone);
        let (_, told) = waiting.end(outcome.clone());
        told.into_iter().for_each(|told| told(outcome.clone()));
    }
}

impl<K, V> State<K, V> {
    /// Removes the value that was not asked for longest.
    fn evict(&mut self) -> Option<Entry<K, V>> {
        let ready = |entry: &&Entry<K, V>| matches!(entry.value, Value::Ready(_));
        let oldest = self.entries.iter().filter(ready).min_by_key(|entry| entry.used)?;
        let (hash, used) = (oldest.hash, oldest.used);
        // Times are different: each look-up has its own.
        let found = self.entries.find_entry(hash, |entry| entry.used == used).ok()?;
        self.stats.evicted += 1;
        Some(found.remove().0)
    }
}

/// A value that is being made; also ends when its maker panics.
pub(crate) struct Making<K, V: Clone> {
    /// `None`: it is not to be found again.
    place: Option<Place<K, V>>,
    outcome: Outcome<V>,
}

/// Where a value is to be kept.
struct Place<K, V> {
    memo: Memo<K, V>,
    hash: u64,
    /// What stands there for it.
    waiting: Arc<Waiting<V>>,
}

impl<K, V: Clone> Making<K, V> {
    /// Of a value that is not to be found again.
    pub(crate) fn unkept() -> Making<K, V> {
        Making { place: None, outcome: None }
    }

    /// Ends it, and tells all who waited.
    pub(crate) fn end(mut self, outcome: Result<V, crate::Error>) -> Result<V, crate::Error> {
        self.outcome = Some(outcome.clone());
        outcome
    }
}

impl<K, V: Clone> Drop for Making<K, V> {
    fn drop(&mut self) {
        if let Some(Place { memo, hash, waiting }) = &self.place {
            memo.settle(*hash, waiting, self.outcome.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;
    use crate::Error;

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
                let others: Vec<_> =
                    (0..3).map(|_| scope.spawn(|| get(&memo, 1, || panic!("it is being made")))).collect();
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
}
