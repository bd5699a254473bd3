//! What `tests/models.rs` and `tests/schedules` have shuttle's in place of: locks, atomics and scoped threads; also threads' numbers, and the room of a
//! queue, of which a schedule has little.

use std::io;

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
pub(crate) use std::thread::{Scope, scope, yield_now};

/// Uncompleted command buffers that an accelerator's queue has room for. Metal's default is 64; more lets many threads record at once.
pub(crate) const QUEUE_CAPACITY: usize = 1024;

/// Takes a lock whose data stays consistent even if a holder panicked: every critical section of this crate only
/// assigns fields.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread's number: threads are counted as they first ask.
pub(crate) fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    // A thread that is being torn down has lost its number.
    OWN.try_with(|own| *own).unwrap_or(0)
}

/// Starts a thread that nobody waits for. Fails where the system has no room for one.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Starts a thread that its scope waits for. Fails where the system has no room for one.
pub(crate) fn spawn_scoped<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() + Send + 'scope,
) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work).map(drop)
}
