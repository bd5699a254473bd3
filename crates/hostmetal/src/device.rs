//! The devices: this machine's CPU as one MTLDevice, with its limits and its account of memory.
//!
//! Limits that Metal reports and programs rely on are Apple's usual ones (1024 threads in a threadgroup, 32 KiB of
//! threadgroup memory, SIMD-groups of 32); memory is half of this machine's, or HOSTMETAL_MEMORY bytes, so that programs
//! can be tested against a small device.

use std::ffi::CString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::memory::page_size;
use crate::pages::VolatilePages;

/// Threads that one threadgroup may have, in all and along each axis.
pub(crate) const MAX_THREADS_PER_THREADGROUP: u32 = 1024;
/// Bytes of threadgroup memory of one threadgroup.
pub(crate) const MAX_THREADGROUP_MEMORY: u64 = 32_768;
/// Threads of a SIMD-group.
pub(crate) const SIMD_WIDTH: u32 = 32;

/// One MTLDevice.
pub(crate) struct Device {
    /// As MTLDevice.name gives it.
    pub(crate) name: CString,
    pub(crate) registry_id: u64,
    memory_limit: u64,
    max_buffer_length: u64,
    allocated: AtomicU64,
    volatile: Mutex<VolatilePages>,
}

/// All devices; made at the first call, alive as long as the process.
pub(crate) fn devices() -> &'static [Device] {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let ram = physical_memory();
        let limit = number_from_environment("HOSTMETAL_MEMORY").map_or(ram / 2, |bytes| bytes as u64);
        let threads = worker_threads();
        let plural = if threads == 1 { "thread" } else { "threads" };
        let name = format!("hostmetal ({}, {threads} {plural})", processor_name());
        vec![Device {
            name: CString::new(name.replace('\0', " ")).unwrap_or_default(),
            // Any stable number will do: Metal only promises that it differs between devices.
            registry_id: 0x686f_7374_6d74_6c00,
            memory_limit: limit,
            max_buffer_length: limit.min(ram / 2) / page_size() as u64 * page_size() as u64,
            allocated: AtomicU64::new(0),
            volatile: Mutex::default(),
        }]
    })
}

/// Threads that compute at the same time: HOSTMETAL_THREADS, else one per core.
pub(crate) fn worker_threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        number_from_environment("HOSTMETAL_THREADS").map_or(cores, |n| (n as usize).clamp(1, 1024))
    })
}

/// A number of 0 or more from an environment variable; None, with a line on stderr, when it is something else.
pub(crate) fn number_from_environment(name: &str) -> Option<f64> {
    let text = std::env::var(name).ok()?;
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Some(number),
        _ => {
            eprintln!("hostmetal: {name}={text:?} is not a number of 0 or more; the default is used");
            None
        }
    }
}

impl Device {
    pub(crate) fn memory_limit(&self) -> u64 {
        self.memory_limit
    }

    pub(crate) fn max_buffer_length(&self) -> u64 {
        self.max_buffer_length
    }

    /// Bytes of live buffers, textures and heaps, each rounded up to pages.
    pub(crate) fn allocated(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    /// Takes `length`, rounded up to pages, from the account; returns what was taken, None when the limit would be passed.
    pub(crate) fn charge(&self, length: u64) -> Option<u64> {
        let charged = length.checked_next_multiple_of(page_size() as u64)?;
        let fits = |allocated: u64| allocated.checked_add(charged).filter(|&sum| sum <= self.memory_limit);
        self.allocated.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok().then_some(charged)
    }

    /// Takes a whole number of pages from the account even where that passes the limit.
    pub(crate) fn charge_anyway(&self, length: u64) -> u64 {
        self.allocated.fetch_add(length, Ordering::Relaxed);
        length
    }

    pub(crate) fn volatile(&self) -> MutexGuard<'_, VolatilePages> {
        self.volatile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives back what `charge` took.
    pub(crate) fn discharge(&self, charged: u64) {
        self.allocated.fetch_sub(charged, Ordering::Relaxed);
    }
}

fn physical_memory() -> u64 {
    // SAFETY: sysconf reads a number of the system.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(0) * page_size() as u64
}

fn processor_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}
