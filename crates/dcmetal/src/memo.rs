//! [`Memo`]: values that are made once and then found again, by key.
//!
//! Whoever asks first makes the value; those who ask meanwhile wait, or are told, and get the same one. A value whose making
//! failed is not kept, and its error is that of all who waited. Beyond the limit the value that was not asked for longest goes.
//! Keys are compared whole, so what is found is what was asked for; a look-up copies nothing, which is why it takes the
//! key's parts as a hash and a comparison. `tests/models.rs` runs it under shuttle.

use std::hash::Hash;

use hashbrown::HashTable;

use crate::command::Ending;
use crate::sync::{Arc, Mutex, lock};

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
        let (_, told) = waiting.end(outcome.clone());
        told.into_iter().for_each(|told| told(outcome.clone()));
        // Outside of the lock, and when everybody knows: what goes may take long to go.
        drop(gone);
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
