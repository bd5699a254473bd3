//! What `tests/models.rs` and `tests/schedules` have shuttle's in place of: locks, atomics and scoped threads; also threads' numbers, and the room of a
//! queue, of which a schedule has little.

use std::hint::spin_loop;
use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

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

/// How long [`look`] does: longer than a thread that sleeps takes to wake (some 40 us on a virtual machine). Were it shorter, whoever submits and
/// whoever runs what is submitted could fall asleep by turns, each waiting for the other's wake-up.
const PATIENCE: Duration = Duration::from_micros(150);
/// For how much of it others that could use the processor have to wait.
const IMPATIENCE: Duration = Duration::from_micros(3);

/// Processors that the process may use, 1 where nobody knows. The system is asked once, which takes it several files.
pub(crate) fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Asks for a moment before the calling thread sleeps: what is small is `done` sooner than a thread wakes.
pub(crate) fn look(done: impl Fn() -> bool) {
    if processors() == 1 {
        return;
    }
    let start = Instant::now();
    loop {
        for _ in 0..32 {
            if done() {
                return;
            }
            spin_loop();
        }
        match start.elapsed() {
            spent if spent >= PATIENCE => return,
            spent if spent >= IMPATIENCE => yield_now(),
            _ => {}
        }
    }
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
