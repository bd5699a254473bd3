//! What the process holds, sampled while it works.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::demand;

/// Bytes that what is in use of the C library's heaps may grow by, and the share.
const HEAP_GROWTH: (u64, f64) = (2 << 20, 0.05);
/// The same of all that is resident, which counts what the heaps hold and nobody uses: that is in ever more pieces for hours.
const GROWTH: (u64, f64) = (24 << 20, 0.1);

pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Runs `work`, and `sample` meanwhile, so often.
pub(crate) fn sampled<S: Send, R>(
    every: Duration,
    mut sample: impl FnMut() -> S + Send,
    work: impl FnOnce() -> R,
) -> (R, Vec<S>) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut samples = Vec::new();
            while !over.load(Ordering::Acquire) {
                samples.push(sample());
                std::thread::park_timeout(every);
            }
            samples
        });
        let result = work();
        over.store(true, Ordering::Release);
        watcher.thread().unpark();
        (result, watcher.join().expect("the watcher"))
    })
}

/// What the process holds.
#[derive(Clone, Copy)]
pub(crate) struct Process {
    /// Resident.
    pub(crate) bytes: u64,
    /// In use of the C library's heaps, where that tells.
    pub(crate) heap: u64,
    pub(crate) mappings: usize,
    pub(crate) files: usize,
}

impl Process {
    #[cfg(target_os = "linux")]
    pub(crate) fn now() -> Process {
        let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
        let kilobytes: u64 = resident.trim().trim_end_matches(" kB").trim().parse().expect("a number");
        Process {
            bytes: kilobytes << 10,
            heap: heap(),
            mappings: std::fs::read_to_string("/proc/self/maps").expect("/proc").lines().count(),
            files: std::fs::read_dir("/proc/self/fd").expect("/proc").count(),
        }
    }

    /// Elsewhere only resident memory is asked for.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn now() -> Process {
        let id = std::process::id().to_string();
        let output = std::process::Command::new("ps").args(["-o", "rss=", "-p", &id]).output().expect("ps");
        let kilobytes: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
        Process { bytes: kilobytes << 10, heap: 0, mappings: 0, files: 0 }
    }

    /// Ends the program if it is much more than it was.
    pub(crate) fn demand_as_flat_as(&self, before: &Process) {
        let limit = |before: u64, (bytes, share): (u64, f64)| before + bytes.max((before as f64 * share) as u64);
        demand(self.heap <= limit(before.heap, HEAP_GROWTH), "what is in use of the heaps grew");
        demand(self.bytes <= limit(before.bytes, GROWTH), "memory grew");
        demand(self.files <= before.files, "open files grew");
        demand(self.mappings <= before.mappings + before.mappings / 10 + 16, "mappings grew");
    }
}

/// Bytes in use of all heaps, and those that were mapped by themselves.
#[cfg(target_os = "linux")]
fn heap() -> u64 {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: it only counts.
        let counted = unsafe { libc::mallinfo2() };
        (counted.uordblks + counted.hblkhd) as u64
    }
    #[cfg(not(target_env = "gnu"))]
    0
}
