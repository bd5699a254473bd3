//! The devices: this machine's CPU as one MTLDevice or as several, with their limits and their accounts of memory.
//!
//! Limits that Metal reports and programs rely on are Apple's usual ones (1024 threads in a threadgroup, 32 KiB of
//! threadgroup memory, SIMD-groups of 32), and memory is half of this machine's, unless the environment asks for something
//! else (simulate.rs). All devices compute on the same pool of workers: they are several in what they own, not in speed.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::memory::page_size;
use crate::pages::VolatilePages;
use crate::simulate::{self, Family, Machine, Settings};

/// Threads that one threadgroup of any device may have, in all and along each axis.
pub(crate) const MAX_THREADS_PER_THREADGROUP: u32 = 1024;
/// Bytes of threadgroup memory that one threadgroup of any device may have.
pub(crate) const MAX_THREADGROUP_MEMORY: u64 = 32_768;
/// Threads of a SIMD-group.
pub(crate) const SIMD_WIDTH: u32 = 32;

/// One MTLDevice.
pub(crate) struct Device {
    /// As MTLDevice.name gives it.
    pub(crate) name: CString,
    pub(crate) registry_id: u64,
    /// Among the devices at the same location.
    pub(crate) location_number: u64,
    pub(crate) settings: Settings,
    pub(crate) texts: Texts,
    allocated: AtomicU64,
    volatile: Mutex<VolatilePages>,
}

/// What exceptions say of a device's own limits.
pub(crate) struct Texts {
    pub(crate) memory_length: CString,
    pub(crate) memory_of_dispatch: CString,
    pub(crate) threads: CString,
}

/// All devices; made at the first call, alive as long as the process. None, with a line on stderr, when the environment asks
/// for what cannot be.
pub(crate) fn devices() -> &'static [Device] {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let machine = Machine {
            ram: physical_memory(),
            page: page_size() as u64,
            threadgroup_memory: MAX_THREADGROUP_MEMORY,
            max_threads: MAX_THREADS_PER_THREADGROUP,
        };
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let variables = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        let all = simulate::settings(variables, machine).unwrap_or_else(|why| {
            eprintln!("hostmetal: there are no devices: {why}");
            Vec::new()
        });
        let processor = processor_name();
        let location_number =
            |number: usize| all[..number].iter().filter(|other| other.location == all[number].location).count() as u64;
        let one = |number| Device::new(number, all.len(), &processor, location_number(number), all[number].clone());
        (0..all.len()).map(one).collect()
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
    fn new(number: usize, count: usize, processor: &str, location_number: u64, settings: Settings) -> Device {
        let threads = worker_threads();
        let plural = if threads == 1 { "thread" } else { "threads" };
        let of_several = if count == 1 { String::new() } else { format!(", device {number}") };
        let name =
            settings.name.clone().unwrap_or_else(|| format!("hostmetal ({processor}, {threads} {plural}{of_several})"));
        let text = |text: String| CString::new(text.replace('\0', " ")).unwrap_or_default();
        let (memory, most_threads) = (settings.threadgroup_memory, settings.max_threads);
        Device {
            name: text(name),
            // Any stable number will do: Metal only promises that it differs between devices.
            registry_id: 0x686f_7374_6d74_6c00 + number as u64,
            location_number,
            texts: Texts {
                memory_length: text(format!("length must be <= {memory} bytes.")),
                memory_of_dispatch: text(format!(
                    "threadgroup memory of the dispatch, static and dynamic, must be <= {memory} bytes."
                )),
                threads: text(format!(
                    "(threadsPerThreadgroup.width * threadsPerThreadgroup.height * threadsPerThreadgroup.depth) must be <= {most_threads}. (device threadgroup size limit)"
                )),
            },
            settings,
            allocated: AtomicU64::new(0),
            volatile: Mutex::default(),
        }
    }

    pub(crate) fn memory_limit(&self) -> u64 {
        self.settings.memory
    }

    pub(crate) fn max_buffer_length(&self) -> u64 {
        self.settings.max_buffer
    }

    pub(crate) fn threadgroup_memory(&self) -> u64 {
        self.settings.threadgroup_memory
    }

    /// Whether what is harmless on a GPU, but against Metal's rules, is misuse: what Metal's validation layer would raise for.
    pub(crate) fn validates(&self) -> bool {
        self.settings.validation
    }

    pub(crate) fn max_threads(&self) -> u32 {
        self.settings.max_threads
    }

    /// Why a grid that its threadgroups do not fill evenly cannot be dispatched here (Metal feature set tables, nonuniform
    /// threadgroup size: from Apple4 on).
    pub(crate) fn refuses_uneven_grids(&self) -> Option<&'static CStr> {
        let refuses = matches!(self.settings.family, Family::Apple(..4));
        refuses.then_some(c"Dispatch Threads with Non-Uniform Threadgroup Size is not supported on this device")
    }

    /// Whether the device has what an MTLGPUFamily asks of compute: non-uniform threadgroups, SIMD-group permutes,
    /// reductions and matrices, 32-bit float atomics (Metal feature set tables). Apple8 and later add 64-bit atomics and
    /// more, which are not there.
    pub(crate) fn supports_family(&self, family: i64) -> bool {
        const APPLE: i64 = 1000;
        const MAC1: i64 = 2001;
        const MAC2: i64 = 2002;
        const COMMON1: i64 = 3001;
        const COMMON3: i64 = 3003;
        const METAL3: i64 = 5001;
        let of_macs = matches!(family, MAC1 | MAC2 | COMMON1..=COMMON3 | METAL3);
        match self.settings.family {
            Family::Mac2 => of_macs,
            // An Apple GPU in a Mac is of both families.
            Family::Apple(7) => of_macs || (APPLE + 1..=APPLE + 7).contains(&family),
            Family::Apple(number) => (APPLE + 1..=APPLE + i64::from(number)).contains(&family),
        }
    }

    /// Bytes of live buffers, textures and heaps, each rounded up to pages.
    pub(crate) fn allocated(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    /// Takes `length`, rounded up to pages, from the account; returns what was taken, None when the limit would be passed.
    pub(crate) fn charge(&self, length: u64) -> Option<u64> {
        let charged = length.checked_next_multiple_of(page_size() as u64)?;
        let fits = |allocated: u64| allocated.checked_add(charged).filter(|&sum| sum <= self.memory_limit());
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
