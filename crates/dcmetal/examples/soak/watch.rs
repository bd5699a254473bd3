//! What the process holds, sampled while it works.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::demand;

/// Bytes that memory may grow by, and the share.
const GROWTH: (u64, f64) = (8 << 20, 0.02);

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
            mappings: std::fs::read_to_string("/proc/self/maps").expect("/proc").lines().count(),
            files: std::fs::read_dir("/proc/self/fd").expect("/proc").count(),
        }
    }

    /// Elsewhere only memory is asked for.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn now() -> Process {
        let id = std::process::id().to_string();
        let output = std::process::Command::new("ps").args(["-o", "rss=", "-p", &id]).output().expect("ps");
        let kilobytes: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
        Process { bytes: kilobytes << 10, mappings: 0, files: 0 }
    }

    /// Ends the program if it is much more than it was.
    pub(crate) fn demand_as_flat_as(&self, before: &Process) {
        let limit = before.bytes + GROWTH.0.max((before.bytes as f64 * GROWTH.1) as u64);
        demand(self.bytes <= limit, "memory grew");
        demand(self.files <= before.files, "open files grew");
        demand(self.mappings <= before.mappings + before.mappings / 10 + 16, "mappings grew");
    }
}
