//! Faults and deadlines of kernel code: signal handlers, one record per worker, and the watchdog.
//!
//! SIGSEGV, SIGBUS, SIGFPE and SIGILL raised while a worker is inside a kernel, and the watchdog's SIGURG, do not reach the
//! process: the handler writes down what happened and rewrites the interrupted registers so that the entrance to the
//! kernel (context.rs) returns with a code. Everything else goes to the handler that was installed before.
//!
//! A worker may be interrupted anywhere between entrance and way back. That is sound because nothing there takes a lock,
//! allocates, or owns anything: kernel code cannot, and the runtime functions (fiber.rs) only touch the per-threadgroup
//! state of their own worker, which is rebuilt before the next threadgroup.
//!
//! ThreadSanitizer delays asynchronous signals until the next system call, which an endless kernel never makes; under it
//! the handler of SIGURG is installed by the system call itself, past its interception, and begins in assembly, so that a
//! signal that meets the sanitizer's own code does nothing.
//!
//! Not covered: a program that installs its own handlers after the first kernel ran without calling ours.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::time::Duration;

use super::context::{Recovery, hostmetal_filter_signal, hostmetal_recover, hostmetal_signal_return};
use super::event;
use super::sanitizer::has_thread_sanitizer;
use crate::device::{Device, number_from_environment};
use crate::event::{any_deadline, give_up_late};
use crate::memory::{Mapping, page_size};

/// Code of the entrance: the kernel raised a signal, described in the record.
pub(crate) const FAULTED: u32 = 1;
/// Code of the entrance: the kernel's task was stopped from outside.
pub(crate) const STOPPED: u32 = 2;

const STOP_SIGNAL: c_int = libc::SIGURG;
const FAULT_SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

/// What signal handlers and the watchdog know of a worker thread. Never freed, so that a handler can walk the list at any
/// time; a record whose thread has ended is used again.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Record {
    /// Where to go back to; written on entering kernel code. First, because the assembly looks for it here.
    pub(crate) recovery: Recovery,
    /// The worker's thread id; 0 when the record is free.
    thread: AtomicI32,
    /// The task (a command buffer's execution) that the worker computes for; 0 between tasks.
    task: AtomicU64,
    /// A task that this worker shall leave. Task numbers are never used twice, so an old number here means nothing.
    stop: AtomicU64,
    /// For the worker that drives the task: the device that it runs on.
    device: AtomicPtr<Device>,
    /// For the worker that drives the task: when it began, in nanoseconds of CLOCK_MONOTONIC; else 0.
    began: AtomicU64,
    signal: AtomicI32,
    code: AtomicI32,
    address: AtomicUsize,
    /// Lowest address of the thread's own stack.
    stack: AtomicUsize,
    next: AtomicPtr<Record>,
}

/// A signal raised by kernel code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    pub(crate) number: c_int,
    /// si_code.
    pub(crate) code: c_int,
    pub(crate) address: usize,
}

impl Signal {
    /// Whether it is of the same kind, for a page fault in the same page: how far vector code comes before it differs.
    pub(crate) fn is_like(&self, other: &Signal) -> bool {
        let page = |signal: &Signal| match signal.number {
            libc::SIGSEGV | libc::SIGBUS => signal.address / page_size(),
            _ => 0,
        };
        self.number == other.number && page(self) == page(other)
    }
}

static RECORDS: AtomicPtr<Record> = AtomicPtr::new(ptr::null_mut());
/// Held while a record changes hands and while signals are sent, so that no signal goes to a thread that has ended.
static CHANGE: Mutex<()> = Mutex::new(());

fn change() -> MutexGuard<'static, ()> {
    CHANGE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn records() -> impl Iterator<Item = &'static Record> {
    // SeqCst: part of the watchdog's handshake (`watch`), which must see a new record as well as its `began`.
    let mut next = RECORDS.load(Ordering::SeqCst);
    std::iter::from_fn(move || {
        // SAFETY: records are leaked boxes, pushed complete; NULL ends the list.
        let record = unsafe { next.cast_const().as_ref() }?;
        next = record.next.load(Ordering::Relaxed);
        Some(record)
    })
}

fn thread_id() -> i32 {
    // SAFETY: gettid has no arguments and cannot fail; it may be called in a signal handler.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

impl Record {
    /// The task that the worker computes for from now on.
    pub(crate) fn join(&self, task: u64) {
        self.task.store(task, Ordering::SeqCst);
    }

    /// As `join`, and the watchdog counts the task's time from now, `time`, on. The device may have gone already; when it goes later,
    /// the task is stopped.
    pub(crate) fn begin(&self, task: u64, time: u64, device: &'static Device) {
        self.device.store(ptr::from_ref(device).cast_mut(), Ordering::SeqCst);
        self.task.store(task, Ordering::SeqCst);
        if watchdog_limit().is_some() {
            self.began.store(time, Ordering::SeqCst);
            watch();
        }
    }

    /// The worker computes for no task any more.
    pub(crate) fn leave(&self) {
        self.began.store(0, Ordering::SeqCst);
        self.task.store(0, Ordering::SeqCst);
        self.device.store(ptr::null_mut(), Ordering::SeqCst);
    }

    /// Whether the worker shall leave its task.
    pub(crate) fn stopping(&self) -> bool {
        let task = self.task.load(Ordering::Relaxed);
        task != 0 && self.stop.load(Ordering::Relaxed) == task
    }

    /// Lowest address of the worker's own stack.
    pub(crate) fn stack_end(&self) -> usize {
        self.stack.load(Ordering::Relaxed)
    }

    /// Whether an address lies around the end of the worker's own stack, where its guard is.
    pub(crate) fn near_stack(&self, address: usize) -> bool {
        address.abs_diff(self.stack.load(Ordering::Relaxed)) <= 64 << 10
    }

    /// The signal that made the entrance return FAULTED.
    pub(crate) fn signal(&self) -> Signal {
        Signal {
            number: self.signal.load(Ordering::Relaxed),
            code: self.code.load(Ordering::Relaxed),
            address: self.address.load(Ordering::Relaxed),
        }
    }
}

/// Makes all workers of a task leave it: at once inside kernels, else before their next threadgroup. May be repeated.
pub(crate) fn interrupt(task: u64) {
    let _change = change();
    // SAFETY: getpid has no arguments and cannot fail.
    let process = unsafe { libc::getpid() };
    for record in records() {
        let thread = record.thread.load(Ordering::Relaxed);
        if thread != 0 && record.task.load(Ordering::SeqCst) == task {
            record.stop.store(task, Ordering::SeqCst);
            send_stop(process, thread, record);
        }
    }
}

/// Stops what runs on a device that has gone, and waits until nothing does.
pub(crate) fn stop_device(device: &'static Device) {
    loop {
        let of_device = |record: &Record| {
            let task = record.task.load(Ordering::SeqCst);
            let of_device = ptr::eq(record.device.load(Ordering::SeqCst), device);
            // Read on both sides of the device, so that the two belong together.
            (of_device && task != 0 && record.task.load(Ordering::SeqCst) == task).then_some(task)
        };
        let running: Vec<u64> = records().filter_map(of_device).collect();
        if running.is_empty() {
            return;
        }
        // Again and again: a signal that meets a worker between two kernels stops nothing.
        running.into_iter().for_each(interrupt);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends the signal to the worker of a record. The thread is alive, because records are given up under the caller's lock.
fn send_stop(process: libc::pid_t, thread: libc::pid_t, record: &'static Record) {
    if !has_thread_sanitizer() {
        // SAFETY: a signal to a thread of this process; the handler is installed.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, STOP_SIGNAL) };
        return;
    }
    let info =
        QueuedSignal { number: STOP_SIGNAL, code: libc::SI_QUEUE, process, value: record, ..QueuedSignal::EMPTY };
    // SAFETY: as above; the kernel copies the information, which is as long as a siginfo.
    unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, STOP_SIGNAL, &info) };
}

/// A siginfo with a value.
#[repr(C)]
struct QueuedSignal {
    number: c_int,
    error: c_int,
    code: c_int,
    _padding: c_int,
    process: libc::pid_t,
    user: libc::uid_t,
    value: *const Record,
    _rest: [u64; 12],
}

impl QueuedSignal {
    const EMPTY: QueuedSignal = QueuedSignal {
        number: 0,
        error: 0,
        code: 0,
        _padding: 0,
        process: 0,
        user: 0,
        value: ptr::null(),
        _rest: [0; 12],
    };
}

/// A worker thread's registration: its record and its signal stack. Belongs to the thread that made it.
pub(crate) struct Registration {
    pub(crate) record: &'static Record,
    _stack: Mapping,
    previous: libc::stack_t,
}

impl Registration {
    /// Prepares the calling thread for running kernels. None when memory is out.
    pub(crate) fn new() -> Option<Registration> {
        install_handlers();
        // SAFETY: getauxval reads a number of the process.
        let minimum = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
        let stack = Mapping::new(65_536 + minimum)?;
        let new = libc::stack_t { ss_sp: stack.data().cast(), ss_flags: 0, ss_size: stack.length() };
        let mut previous = MaybeUninit::<libc::stack_t>::zeroed();
        // SAFETY: the new stack is mapped until `drop` has put the previous one back; `previous` is a place for the old.
        unsafe { libc::sigaltstack(&new, previous.as_mut_ptr()) };
        // SAFETY: all bytes zero is a valid stack_t, and sigaltstack has filled it.
        let previous = unsafe { previous.assume_init() };
        set_mask();
        let record = claim();
        record.stack.store(stack_end(), Ordering::Relaxed);
        Some(Registration { record, _stack: stack, previous })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        {
            let _change = change();
            self.record.thread.store(0, Ordering::SeqCst);
        }
        // SAFETY: puts back what was there before; the thread is not on the signal stack here.
        unsafe { libc::sigaltstack(&self.previous, ptr::null_mut()) };
    }
}

fn claim() -> &'static Record {
    let _change = change();
    if let Some(free) = records().find(|record| record.thread.load(Ordering::Relaxed) == 0) {
        free.thread.store(thread_id(), Ordering::SeqCst);
        return free;
    }
    let record: &'static Record = Box::leak(Box::default());
    record.thread.store(thread_id(), Ordering::SeqCst);
    record.next.store(RECORDS.load(Ordering::Relaxed), Ordering::Relaxed);
    RECORDS.store(ptr::from_ref(record).cast_mut(), Ordering::SeqCst);
    record
}

/// Lowest address of the calling thread's stack, 0 when it is not known.
fn stack_end() -> usize {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::zeroed();
    // SAFETY: pthread_self cannot fail.
    let thread = unsafe { libc::pthread_self() };
    // SAFETY: the calling thread exists, and `attributes` is a place for the result.
    if unsafe { libc::pthread_getattr_np(thread, attributes.as_mut_ptr()) } != 0 {
        return 0;
    }
    let (mut lowest, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the attributes were filled in above.
    unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut size) };
    // SAFETY: as above; they are not used again.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    lowest as usize
}

/// Workers take only the signals that kernels raise and ours: a program's own handlers shall not run on a kernel's stack.
fn set_mask() {
    let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: sigfillset initialises the set.
    unsafe { libc::sigfillset(mask.as_mut_ptr()) };
    for signal in FAULT_SIGNALS.into_iter().chain([libc::SIGTRAP, libc::SIGABRT, STOP_SIGNAL]) {
        // SAFETY: the set is initialised and the signal numbers exist.
        unsafe { libc::sigdelset(mask.as_mut_ptr(), signal) };
    }
    // SAFETY: the set is initialised; only the calling thread's mask changes.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask.as_ptr(), ptr::null_mut()) };
}

/// The handlers that were installed before ours, by position in `handled`.
static PREVIOUS: OnceLock<[libc::sigaction; 5]> = OnceLock::new();

fn handled() -> [c_int; 5] {
    let [a, b, c, d] = FAULT_SIGNALS;
    [a, b, c, d, STOP_SIGNAL]
}

fn install_handlers() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // The old handlers are kept before ours can be called.
        PREVIOUS.get_or_init(|| handled().map(|signal| action(signal, None)));
        for signal in handled() {
            // SAFETY: all bytes zero is a valid sigaction: default handler, no flags, empty mask.
            let mut ours: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
            ours.sa_sigaction = on_signal as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            // None of them during another: a stop that met a fault's handler would send that handler, instead of the kernel,
            // to the recovery, and the fault's signal would stay blocked.
            for other in handled() {
                // SAFETY: the set is an empty one, and the signals exist.
                unsafe { libc::sigaddset(&mut ours.sa_mask, other) };
            }
            action(signal, Some(&ours));
            if signal == STOP_SIGNAL && has_thread_sanitizer() {
                install_directly(signal, &ours);
            }
        }
    });
}

/// The kernel's own sigaction.
#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// Installs a handler without the C library, in which ThreadSanitizer would take it.
fn install_directly(signal: c_int, new: &libc::sigaction) {
    const SA_RESTORER: u64 = 0x0400_0000;
    let flags = u64::from(new.sa_flags.cast_unsigned()) | SA_RESTORER;
    let restorer = hostmetal_signal_return as *const () as usize;
    let handler = hostmetal_filter_signal as *const () as usize;
    let mask = handled().into_iter().fold(0, |mask, signal| mask | 1 << (signal - 1));
    let new = KernelAction { handler, flags, restorer, mask };
    let none = ptr::null_mut::<KernelAction>();
    // SAFETY: the kernel reads its structure; the handler may run at any point of the program.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, &new, none, size_of::<u64>()) };
}

fn action(signal: c_int, new: Option<&libc::sigaction>) -> libc::sigaction {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the signals exist; `on_signal` is safe to run at any point of the program; `old` is a place for the result.
    unsafe { libc::sigaction(signal, new.map_or(ptr::null(), ptr::from_ref), old.as_mut_ptr()) };
    // SAFETY: all bytes zero is a valid sigaction, and sigaction has filled it.
    unsafe { old.assume_init() }
}

/// The handler. Only reads and writes atomics and the interrupted context, so it may run anywhere.
unsafe extern "C" fn on_signal(number: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let thread = thread_id();
    let Some(record) = records().find(|record| record.thread.load(Ordering::Relaxed) == thread) else {
        // SAFETY: the arguments are the kernel's, unchanged.
        return unsafe { chain(number, info, context) };
    };
    // SAFETY: the kernel passes a valid siginfo to an SA_SIGINFO handler.
    let code = unsafe { (*info).si_code };
    let in_kernel = record.recovery.in_kernel.load(Ordering::Relaxed) != 0;
    if number == STOP_SIGNAL {
        if in_kernel && record.stopping() {
            // SAFETY: this thread is between entrance and way back.
            unsafe { resume(record, context, STOPPED) };
        } else if code != libc::SI_TKILL {
            // Not ours, which are sent to a thread: the program's own.
            // SAFETY: the arguments are the kernel's, unchanged.
            unsafe { chain(number, info, context) };
        }
        return;
    }
    // Codes of 0 and below are signals sent by a process, not raised by an instruction.
    if !in_kernel || code <= 0 {
        // SAFETY: the arguments are the kernel's, unchanged.
        return unsafe { chain(number, info, context) };
    }
    // SAFETY: as above.
    let info = unsafe { &*info };
    // SAFETY: fault signals carry an address.
    let address = unsafe { info.si_addr() } as usize;
    record.signal.store(number, Ordering::Relaxed);
    record.code.store(code, Ordering::Relaxed);
    record.address.store(address, Ordering::Relaxed);
    // SAFETY: this thread is between entrance and way back.
    unsafe { resume(record, context, FAULTED) };
}

/// The part of the handler of SIGURG for ThreadSanitizer that is reached inside kernels only.
#[unsafe(no_mangle)]
unsafe extern "C" fn hostmetal_stopped(number: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the arguments are the kernel's, unchanged.
    unsafe { on_signal(number, info, context) };
}

/// Makes the interrupted thread go on in `hostmetal_recover` with the entrance's stack and `code` as its result.
///
/// # Safety
/// `context` is the ucontext of the handler of the record's thread, which is between entrance and way back.
unsafe fn resume(record: &Record, context: *mut c_void, code: u32) {
    record.recovery.in_kernel.store(0, Ordering::Relaxed);
    // SAFETY: the caller passes the kernel's ucontext, which this handler owns until it returns.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let stack = record.recovery.stack.load(Ordering::Relaxed);
    let target = hostmetal_recover as *const () as usize;
    #[cfg(target_arch = "x86_64")]
    {
        let registers = &mut context.uc_mcontext.gregs;
        registers[libc::REG_RIP as usize] = target as i64;
        registers[libc::REG_RSP as usize] = stack as i64;
        registers[libc::REG_RAX as usize] = i64::from(code);
    }
    #[cfg(target_arch = "aarch64")]
    {
        context.uc_mcontext.pc = target as u64;
        context.uc_mcontext.sp = stack as u64;
        context.uc_mcontext.regs[0] = u64::from(code);
    }
}

/// Does with a signal what would have happened without us.
///
/// # Safety
/// The arguments are those that the kernel gave to the handler.
unsafe fn chain(number: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let position = handled().iter().position(|&signal| signal == number);
    let Some(previous) = position.and_then(|position| PREVIOUS.get().map(|all| &all[position])) else { return };
    match previous.sa_sigaction {
        libc::SIG_IGN | libc::SIG_DFL if number == STOP_SIGNAL => {}
        libc::SIG_IGN | libc::SIG_DFL => {
            // An instruction that faulted is run again and then ends the process as it would have; a signal that was
            // sent is sent again.
            action(number, Some(previous));
            // SAFETY: the kernel passes a valid siginfo to an SA_SIGINFO handler.
            if unsafe { (*info).si_code } <= 0 {
                // SAFETY: raise may be called in a signal handler; the signal arrives when the handler has returned.
                unsafe { libc::raise(number) };
            }
        }
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: with SA_SIGINFO the value is a function of these three arguments.
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(number, info, context);
        }
        handler => {
            // SAFETY: without SA_SIGINFO the value is a function of the signal number.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(number);
        }
    }
}

/// How long a command buffer may run: HOSTMETAL_WATCHDOG seconds, 120 without it, no limit at 0.
pub(crate) fn watchdog_limit() -> Option<Duration> {
    static LIMIT: OnceLock<Option<Duration>> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let seconds = number_from_environment("HOSTMETAL_WATCHDOG").unwrap_or(120.0);
        (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    })
}

const WATCHING: u32 = 0;
const ASLEEP: u32 = 1;
static WATCHDOG: AtomicU32 = AtomicU32::new(WATCHING);

/// Sees to it that the watchdog runs. Called after `began` is set: either this call sees ASLEEP, or the watchdog, which
/// looks at all records after it has set ASLEEP, sees `began` (both sides SeqCst). The same holds for waits of queues,
/// whose list has a lock.
pub(crate) fn watch() {
    static START: Once = Once::new();
    START.call_once(|| {
        let started =
            std::thread::Builder::new().name("hostmetal watchdog".to_owned()).stack_size(128 << 10).spawn(guard_tasks);
        if let Err(error) = started {
            eprintln!("hostmetal: command buffers run without a deadline: no thread for the watchdog: {error}");
        }
    });
    if WATCHDOG.load(Ordering::SeqCst) == ASLEEP && WATCHDOG.swap(WATCHING, Ordering::SeqCst) == ASLEEP {
        event::wake(&WATCHDOG, 1);
    }
}

fn guard_tasks() {
    let Some(limit) = watchdog_limit() else { return };
    let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    let tick = (limit / 8).clamp(Duration::from_millis(5), Duration::from_secs(1));
    let running = || records().any(|record| record.began.load(Ordering::SeqCst) != 0) || any_deadline();
    let never = AtomicU32::new(0);
    loop {
        if !running() {
            WATCHDOG.store(ASLEEP, Ordering::SeqCst);
            if running() {
                WATCHDOG.store(WATCHING, Ordering::SeqCst);
            }
            while WATCHDOG.load(Ordering::SeqCst) == ASLEEP {
                event::sleep_while(&WATCHDOG, ASLEEP, None);
            }
        }
        event::sleep_while(&never, 0, Some(tick));
        let now = event::now();
        give_up_late(now);
        for record in records() {
            let task = record.task.load(Ordering::SeqCst);
            let began = record.began.load(Ordering::SeqCst);
            // The task number is read on both sides of `began`, so that the two belong together.
            if began == 0 || task == 0 || record.task.load(Ordering::SeqCst) != task {
                continue;
            }
            if now.saturating_sub(began) > limit_ns {
                interrupt(task);
            }
        }
    }
}
