//! A 32-bit word that threads can wait on: Linux futex with a short spin before sleeping.
//!
//! The word's values are the caller's; this file only knows how to sleep until it changes and how to wake sleepers. A
//! waiter spins for some microseconds first, because a command buffer usually completes sooner than a sleeping thread
//! wakes; on a machine with one core it never spins. Nothing spins without an end.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use super::pool;

/// How long an idle worker looks at its word before it sleeps, in nanoseconds.
pub(crate) const BRIEF: u64 = 20_000;
/// How long whoever waits for a command buffer looks before it sleeps: longer than it takes to wake a sleeping worker (some
/// 40 us on a virtual machine). Were it shorter, both sides could fall asleep in every round trip and stay in that rhythm,
/// each waiting for the other's wake-up; so the first round trip after a pause is slow and the next ones are not.
pub(crate) const PATIENT: u64 = 150_000;

/// Nanoseconds of CLOCK_MONOTONIC.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; CLOCK_MONOTONIC always exists on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Processors that the process may use, 1 where nobody knows. The system is asked once, which takes it several files.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Looks at the word for `nanoseconds`; true as soon as `done` holds of its value.
pub(crate) fn spin_until(word: &AtomicU32, nanoseconds: u64, done: impl Fn(u32) -> bool) -> bool {
    spin(nanoseconds, || done(word.load(Ordering::Acquire)))
}

/// Threads that look now.
static LOOKING: AtomicUsize = AtomicUsize::new(0);

/// Counts the calling thread as looking, until dropped.
struct Looking(());

impl Looking {
    fn new() -> Looking {
        LOOKING.fetch_add(1, Ordering::Relaxed);
        Looking(())
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        LOOKING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether threads that look and those that compute leave no core to the program's own.
fn is_crowded() -> bool {
    LOOKING.load(Ordering::Relaxed) + pool::computing() >= cores()
}

/// Asks for `nanoseconds`; true as soon as `done`. Beyond BRIEF, and where there are not cores for all, others that could use the core go first.
pub(crate) fn spin(nanoseconds: u64, done: impl Fn() -> bool) -> bool {
    if done() {
        return true;
    }
    if cores() == 1 {
        return false;
    }
    let _looking = Looking::new();
    let start = now();
    loop {
        for _ in 0..32 {
            if done() {
                return true;
            }
            std::hint::spin_loop();
        }
        let spent = now() - start;
        if spent >= nanoseconds {
            return false;
        }
        if spent >= BRIEF || is_crowded() {
            std::thread::yield_now();
        }
    }
}

/// Sleeps while the word holds `value`, at most `timeout`; may return early. The caller looks at the word again.
pub(crate) fn sleep_while(word: &AtomicU32, value: u32, timeout: Option<Duration>) {
    let limit =
        timeout.map(|t| libc::timespec { tv_sec: t.as_secs() as libc::time_t, tv_nsec: t.subsec_nanos().into() });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: FUTEX_WAIT reads the word, which outlives the call, and the timeout, which is NULL or lives on this frame.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, value, limit) };
}

/// Wakes up to `count` sleepers.
pub(crate) fn wake(word: &AtomicU32, count: i32) {
    // SAFETY: FUTEX_WAKE only uses the word's address as a key.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, count) };
}
