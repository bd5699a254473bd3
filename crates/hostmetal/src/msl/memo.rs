//! Results by content: the first request computes, requests for the same that come meanwhile wait for it.
//!
//! Only successes are kept, the most recent `capacity` of them; a failure is told to those who waited and then
//! forgotten.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What is known about a key.
enum Slot<V, E> {
    Pending(Arc<Pending<V, E>>),
    Ready(V),
}

struct Pending<V, E> {
    result: Mutex<Option<Result<V, E>>>,
    ready: Condvar,
}

/// A bounded table of results.
pub(crate) struct Memo<V, E> {
    capacity: usize,
    state: Mutex<State<V, E>>,
}

struct State<V, E> {
    slots: HashMap<String, Slot<V, E>>,
    /// Keys of the ready ones, oldest first.
    order: VecDeque<String>,
}

impl<V: Clone, E: Clone> Memo<V, E> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, state: Mutex::new(State { slots: HashMap::new(), order: VecDeque::new() }) }
    }

    /// The result for `key`, computed by `compute` when it is not known. `abandoned` is told to those who wait for a
    /// computation that panics.
    pub(crate) fn get(&self, key: &str, abandoned: E, compute: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let pending = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match state.slots.get(key) {
                Some(Slot::Ready(value)) => return Ok(value.clone()),
                Some(Slot::Pending(pending)) => {
                    let pending = pending.clone();
                    drop(state);
                    let mut result = pending.result.lock().unwrap_or_else(PoisonError::into_inner);
                    loop {
                        if let Some(result) = &*result {
                            return result.clone();
                        }
                        result = pending.ready.wait(result).unwrap_or_else(PoisonError::into_inner);
                    }
                }
                None => {
                    let pending = Arc::new(Pending { result: Mutex::new(None), ready: Condvar::new() });
                    state.slots.insert(key.to_owned(), Slot::Pending(pending.clone()));
                    pending
                }
            }
        };
        let mut finish = Finish { memo: self, key, pending: &pending, result: Some(Err(abandoned)) };
        let result = compute();
        finish.result = Some(result.clone());
        drop(finish);
        result
    }
}

/// Tells the result when dropped, also when the computation panics.
struct Finish<'a, V: Clone, E: Clone> {
    memo: &'a Memo<V, E>,
    key: &'a str,
    pending: &'a Pending<V, E>,
    result: Option<Result<V, E>>,
}

impl<V: Clone, E: Clone> Drop for Finish<'_, V, E> {
    fn drop(&mut self) {
        let Some(result) = self.result.take() else { return };
        let mut state = self.memo.state.lock().unwrap_or_else(PoisonError::into_inner);
        // What is pushed out is dropped after the lock is given back: it may unmap code.
        let mut old = Vec::new();
        match &result {
            Ok(value) => {
                state.slots.insert(self.key.to_owned(), Slot::Ready(value.clone()));
                state.order.push_back(self.key.to_owned());
                while state.order.len() > self.memo.capacity {
                    if let Some(oldest) = state.order.pop_front() {
                        old.extend(state.slots.remove(&oldest));
                    }
                }
            }
            Err(_) => old.extend(state.slots.remove(self.key)),
        }
        drop(state);
        *self.pending.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.pending.ready.notify_all();
        drop(old);
    }
}
