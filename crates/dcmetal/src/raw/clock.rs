//! The clock in which Metal tells when the device worked.
//!
//! `GPUStartTime` is "the host time, in seconds" (<https://developer.apple.com/documentation/metal/mtlcommandbuffer/gpustarttime>), that is
//! `mach_absolute_time`, which `CLOCK_UPTIME_RAW` reads in nanoseconds (clock_gettime(3) of macOS). hostmetal takes its times from `CLOCK_MONOTONIC`.

#[cfg(target_os = "macos")]
const HOST_TIME: libc::clockid_t = libc::CLOCK_UPTIME_RAW;
#[cfg(not(target_os = "macos"))]
const HOST_TIME: libc::clockid_t = libc::CLOCK_MONOTONIC;

/// Nanoseconds of the host time.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    let read = unsafe { libc::clock_gettime(HOST_TIME, &mut time) };
    assert_eq!(read, 0, "every system that Metal runs on has this clock");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
