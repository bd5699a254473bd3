//! A 32-bit word that threads can wait on: Linux futex with a short spin before sleeping.
//!
//! The word's values are the caller's; this file only knows how to sleep until it changes and how to wake sleepers. A
//! waiter spins for some microseconds first, because a command buffer usually completes sooner than a sleeping thread
//! wakes; on a machine with one core it never spins. Nothing spins without an end.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long a waiter looks at the word before it sleeps, in nanoseconds.
const SPIN_NS: u64 = 20_000;

/// Nanoseconds of CLOCK_MONOTONIC.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; CLOCK_MONOTONIC always exists on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn spins() -> bool {
    static SPINS: OnceLock<bool> = OnceLock::new();
    *SPINS.get_or_init(|| std::thread::available_parallelism().is_ok_and(|n| n.get() > 1))
}

/// Looks at the word for a while; true as soon as `done` holds of its value.
pub(crate) fn spin_until(word: &AtomicU32, done: impl Fn(u32) -> bool) -> bool {
    if done(word.load(Ordering::Acquire)) {
        return true;
    }
    if !spins() {
        return false;
    }
    let end = now() + SPIN_NS;
    loop {
        for _ in 0..32 {
            if done(word.load(Ordering::Acquire)) {
                return true;
            }
            std::hint::spin_loop();
        }
        if now() >= end {
            return false;
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
