//! The devices: this machine's CPU as one MTLDevice or as several, with their limits and their accounts of memory.
//!
//! Limits that Metal reports and programs rely on are Apple's usual ones (1024 threads in a threadgroup, 32 KiB of
//! threadgroup memory, SIMD-groups of 32), and memory is half of this machine's, unless the environment asks for something
//! else (simulate.rs). All devices compute on the same pool of workers: they are several in what they own, not in speed.
//!
//! Devices go and come when the program asks for it, or the environment (`removed_after`, faults.rs), so that fault handling can be tried. One
//! that has gone allocates nothing more and its command buffers fail, those that run at once; the object lives on. What comes
//! in its place is another device with another registry ID.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::command::{ErrorCode, Failure};
use crate::event;
use crate::executor::event::cores;
use crate::executor::guard;
use crate::faults;
use crate::memory::page_size;
use crate::pages::VolatilePages;
use crate::simulate::{self, Family, Machine, Settings};

/// Threads that one threadgroup of any device may have, in all and along each axis.
pub(crate) const MAX_THREADS_PER_THREADGROUP: u32 = 1024;
/// Bytes of threadgroup memory that one threadgroup of any device may have.
pub(crate) const MAX_THREADGROUP_MEMORY: u64 = 32_768;
/// Threads of a SIMD-group.
pub(crate) const SIMD_WIDTH: u32 = 32;
/// Of the first device; those that follow count on. Any numbers will do: Metal only promises that they differ.
const REGISTRY_ID: u64 = 0x686f_7374_6d74_6c00;

/// One MTLDevice.
pub(crate) struct Device {
    /// As the environment counts them.
    number: usize,
    /// As MTLDevice.name gives it.
    pub(crate) name: CString,
    pub(crate) registry_id: u64,
    /// Among the devices at the same location.
    pub(crate) location_number: u64,
    pub(crate) peers: Peers,
    pub(crate) settings: Settings,
    pub(crate) texts: Texts,
    allocated: AtomicU64,
    volatile: Mutex<VolatilePages>,
    removed: AtomicBool,
}

/// A device among those whose memory it can copy from (MTLDevice.peerGroupID); all 0 where it is alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Peers {
    pub(crate) group: u64,
    pub(crate) index: u32,
    pub(crate) count: u32,
}

impl Peers {
    /// Of a device whose group, and those of all, these are.
    fn of(number: usize, groups: &[u64]) -> Peers {
        let group = groups[number];
        let among = |groups: &[u64]| groups.iter().filter(|other| **other == group).count() as u32;
        match among(groups) {
            count if group > 0 && count > 1 => Peers { group, index: among(&groups[..number]), count },
            _ => Peers::default(),
        }
    }
}

/// What exceptions say of a device's own limits.
pub(crate) struct Texts {
    pub(crate) memory_length: CString,
    pub(crate) memory_of_dispatch: CString,
    pub(crate) threads: CString,
}

/// The devices, by the numbers that the environment gives them.
struct Devices {
    /// None for one that was removed.
    present: Vec<Option<&'static Device>>,
    /// All that there ever were: they live as long as the process.
    all: Vec<&'static Device>,
}

/// What happened to a device, as hm_devices_watch tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Change {
    Added = 0,
    RemovalRequested = 1,
    Removed = 2,
}

/// Called on the thread that makes the change, one change after the other; makes none itself.
pub(crate) type Changed = Box<dyn Fn(&'static Device, Change) + Send + Sync>;

static WATCHER: OnceLock<Changed> = OnceLock::new();

/// Held while a change is made and told, so that all are told in their order.
static CHANGE: Mutex<()> = Mutex::new(());

fn change() -> MutexGuard<'static, ()> {
    CHANGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a function called for every change from now on; the first one only.
pub(crate) fn watch(changed: Changed) {
    let _first = WATCHER.set(changed);
}

fn tell(device: &'static Device, change: Change) {
    if let Some(changed) = WATCHER.get() {
        changed(device, change);
    }
}

/// The devices that are there.
pub(crate) fn devices() -> Vec<&'static Device> {
    list().present.iter().copied().flatten().collect()
}

/// How many the environment asks for, those that were removed included.
pub(crate) fn count() -> usize {
    list().present.len()
}

/// Tells that a device will be removed; nothing else happens. Whether there is such a device.
pub(crate) fn request_removal(number: usize) -> bool {
    let _change = change();
    let device = list().present.get(number).copied().flatten();
    device.inspect(|device| tell(device, Change::RemovalRequested)).is_some()
}

/// Removes a device: returns when nothing runs on it any more. Whether there was such a device.
pub(crate) fn remove(number: usize) -> bool {
    take(|list| list.present.get_mut(number).and_then(Option::take))
}

/// Removes the device that is taken out of the list. Whether there is one.
fn take(taken: impl FnOnce(&mut Devices) -> Option<&'static Device>) -> bool {
    let device = {
        let _change = change();
        let Some(device) = taken(&mut list()) else { return false };
        device.removed.store(true, Ordering::SeqCst);
        tell(device, Change::Removed);
        device
    };
    event::give_up_of(device);
    guard::stop_device(device);
    true
}

/// Adds a device where one was removed. Whether one was.
pub(crate) fn add(number: usize) -> bool {
    let _change = change();
    let device = {
        let mut list = list();
        let Some(old) = list.all.iter().rev().find(|device| device.number == number).copied() else { return false };
        if list.present[number].is_some() {
            return false;
        }
        let made = list.all.len() as u64;
        let device: &'static Device = Box::leak(Box::new(Device::again(old, made)));
        list.present[number] = Some(device);
        list.all.push(device);
        device
    };
    tell(device, Change::Added);
    true
}

/// Made at the first call. Without devices, with a line on stderr, when the environment asks for what cannot be.
fn list() -> MutexGuard<'static, Devices> {
    static DEVICES: OnceLock<Mutex<Devices>> = OnceLock::new();
    let devices = DEVICES.get_or_init(|| {
        let machine = Machine {
            ram: physical_memory(),
            page: page_size() as u64,
            threadgroup_memory: MAX_THREADGROUP_MEMORY,
            max_threads: MAX_THREADS_PER_THREADGROUP,
        };
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let variables = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        let (all, rules) = simulate::settings(variables, machine).unwrap_or_else(|why| {
            eprintln!("hostmetal: there are no devices: {why}");
            (Vec::new(), Vec::new())
        });
        let active = !rules.is_empty();
        faults::install(rules, active);
        let processor = processor_name();
        let location_number =
            |number: usize| all[..number].iter().filter(|other| other.location == all[number].location).count() as u64;
        let groups: Vec<u64> = all.iter().map(|settings| settings.peer_group).collect();
        let one = |number| Device {
            peers: Peers::of(number, &groups),
            ..Device::new(number, all.len(), &processor, location_number(number), all[number].clone())
        };
        let all: Vec<&'static Device> = (0..all.len()).map(|number| &*Box::leak(Box::new(one(number)))).collect();
        Mutex::new(Devices { present: all.iter().copied().map(Some).collect(), all })
    });
    devices.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Threads that compute at the same time: HOSTMETAL_THREADS, else one per core.
pub(crate) fn worker_threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        number_from_environment("HOSTMETAL_THREADS").map_or_else(cores, |n| (n as usize).clamp(1, 1024))
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
            number,
            name: text(name),
            registry_id: REGISTRY_ID + number as u64,
            location_number,
            peers: Peers::default(),
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
            removed: AtomicBool::new(false),
        }
    }

    /// A device like one that has gone, as the `made`th.
    fn again(old: &Device, made: u64) -> Device {
        let Texts { memory_length, memory_of_dispatch, threads } = &old.texts;
        Device {
            number: old.number,
            name: old.name.clone(),
            registry_id: REGISTRY_ID + made,
            location_number: old.location_number,
            peers: old.peers,
            texts: Texts {
                memory_length: memory_length.clone(),
                memory_of_dispatch: memory_of_dispatch.clone(),
                threads: threads.clone(),
            },
            settings: old.settings.clone(),
            allocated: AtomicU64::new(0),
            volatile: Mutex::default(),
            removed: AtomicBool::new(false),
        }
    }

    /// Whether it may copy from another's memory.
    pub(crate) fn is_peer_of(&self, other: &Device) -> bool {
        self.number != other.number && self.peers.group > 0 && self.peers.group == other.peers.group
    }

    /// Whether it has gone.
    pub(crate) fn removed(&self) -> bool {
        // SeqCst: with `take`, of a worker that begins to run and the thread that removes one sees the other.
        self.removed.load(Ordering::SeqCst)
    }

    /// Why a command buffer fails whose device has gone.
    pub(crate) fn failure(&self) -> Failure {
        let text = format!(
            "Device Removed (0000000b:kIOGPUCommandBufferCallbackErrorDeviceRemoved): {} was removed",
            self.name.to_string_lossy()
        );
        Failure { code: ErrorCode::DeviceRemoved, text, place: (0, 0) }
    }

    /// Removes this device, if it is still there; nothing of it may run on the calling thread.
    pub(crate) fn remove(&'static self) {
        let here = |device: &Option<&'static Device>| device.is_some_and(|device| std::ptr::eq(device, self));
        take(|list| list.present.iter_mut().find(|device| here(device)).and_then(Option::take));
    }

    /// As the environment counts it.
    pub(crate) fn number(&self) -> usize {
        self.number
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
