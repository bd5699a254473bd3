//! Threads of a threadgroup on stacks of their own, and the functions that kernels call.
//!
//! Each worker owns a `Place`: the threadgroup memory, the stacks, and the state of the threadgroup that it runs. A kernel's
//! runtime functions find it through a thread-local pointer. They run on the stacks of the kernel's threads and may be
//! forgotten there at any point (guard.rs), so nothing in this file that runs between entrance and way back owns, locks
//! or allocates anything.
//!
//! A call site of a SIMD-group operation is its return address: functions that reach one must be inlined into the kernel,
//! or calls from different places would meet as one.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

use super::context::{
    FINISHED, FirstFrame, Recovery, first_frame, hostmetal_abandon, hostmetal_call, hostmetal_fibers, hostmetal_switch,
};
use super::counting::Recorder;
use super::guard::Record;
use super::sanitizer::{KernelSide, forget_frames, has_address_sanitizer};
use super::schedule::{Meeting, Schedule, Wait};
use super::{Combine, Entry, Group, Log, SimdValues};
use crate::device::{MAX_THREADGROUP_MEMORY, MAX_THREADS_PER_THREADGROUP};
use crate::memory::Mapping;
use crate::pipeline::PlacedVariable;

const THREADS: usize = MAX_THREADS_PER_THREADGROUP as usize;
/// Address space of a thread's stack; pages are only committed when touched.
const STACK: usize = 128 << 10;
/// The part at its lower end that faults.
const STACK_GUARD: usize = 16 << 10;
/// Bytes for threadgroup memory: the limit, and room for the alignment of each piece.
const ARENA: usize = 2 * MAX_THREADGROUP_MEMORY as usize;

/// As far as lanes that are masked off reach behind threadgroup memory when each thread has a number of 16 bytes there.
const MASKED: usize = 16 * THREADS;

/// Code of the entrance: the kernel called a runtime function that it must not; see `Place::complaint`.
pub(crate) const MISUSED: u32 = 3;

/// What a worker runs a threadgroup with.
pub(crate) struct Place {
    record: &'static Record,
    arena: Mapping,
    stacks: Option<Stacks>,
    /// Address of the static threadgroup variables of the current dispatch, and where each lies from there.
    variables: (*mut u8, *const [PlacedVariable]),
    /// Whether the current threadgroup has threads with stacks.
    switched: bool,
    entry: usize,
    group: *const Group,
    /// Of the current threadgroup, for positions.
    size: [u32; 3],
    schedule: Schedule,
    /// Stack position of each thread; 0 when it has not begun.
    saved: [usize; THREADS],
    /// What each thread brought to the SIMD-group operation that it waits for.
    offered: [(Option<Combine>, *mut c_void); THREADS],
    complaint: &'static str,
    /// Where messages go and the number of their formats; NULL when nowhere.
    log: (*const Log, u32),
    kernel_side: Option<KernelSide>,
    /// What a kernel that counts does.
    pub(crate) recorder: Option<Recorder>,
}

struct Stacks {
    pages: Mapping,
    count: usize,
}

/// Why a threadgroup did not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    Faulted,
    Stopped,
    /// The kernel called a runtime function that it must not.
    Misused(&'static str),
    /// No memory for the threads' stacks.
    NoStacks,
    /// What it did could not be counted.
    Uncounted(String),
}

thread_local! {
    static PLACE: Cell<*mut Place> = const { Cell::new(ptr::null_mut()) };
}

impl Place {
    /// None when memory is out.
    pub(crate) fn new(record: &'static Record) -> Option<Box<Place>> {
        let arena = Mapping::new(ARENA)?;
        // So that no page of it is missing; see `threadgroup_memory`.
        // SAFETY: the mapping is that long, and nobody else knows of it.
        unsafe { ptr::write_bytes(arena.data(), 0, arena.length()) };
        Some(Box::new(Place {
            record,
            arena,
            stacks: None,
            variables: (ptr::null_mut(), &[]),
            switched: false,
            entry: 0,
            group: ptr::null(),
            size: [0; 3],
            schedule: Schedule::new(),
            saved: [0; THREADS],
            offered: [(None, ptr::null_mut()); THREADS],
            complaint: "",
            log: (ptr::null(), 0),
            kernel_side: KernelSide::new(),
            recorder: None,
        }))
    }

    /// The last `bytes` of the worker's threadgroup memory, so that an overrun faults. Loops over threads get some room behind:
    /// processors take long for a vector access that reaches into missing pages, though the lanes that do are masked off.
    pub(crate) fn threadgroup_memory(&self, bytes: usize, entry: Entry) -> *mut u8 {
        let room = if matches!(entry, Entry::Group(_)) { MASKED } else { 0 };
        assert!(bytes + room <= self.arena.length(), "threadgroup memory beyond the arena");
        // SAFETY: the result is inside the arena, by the assertion.
        unsafe { self.arena.data().add(self.arena.length() - room - bytes) }
    }

    /// The thread whose stack's guard holds `address`; None when no guard does.
    pub(crate) fn overflowed(&self, address: usize) -> Option<u32> {
        let stacks = self.stacks.as_ref()?;
        let offset = address.checked_sub(stacks.pages.data() as usize)?;
        (offset / STACK < stacks.count && offset % STACK < STACK_GUARD).then_some((offset / STACK) as u32)
    }

    /// Position in the threadgroup of the thread that ran last; None when the kernel ran as one call.
    pub(crate) fn thread(&self) -> Option<[u32; 3]> {
        self.switched.then(|| position(self.schedule.current(), self.size))
    }

    /// Where messages go from now on; the caller keeps the log while kernels run.
    pub(crate) fn set_log(&mut self, log: Option<&Log>, formats: u32) {
        self.log = (log.map_or(ptr::null(), ptr::from_ref), formats);
    }

    fn grow_stacks(&mut self, threads: usize) -> bool {
        if self.stacks.as_ref().is_some_and(|stacks| stacks.count >= threads) {
            return true;
        }
        self.stacks = None;
        let count = threads.next_power_of_two().max(64);
        let Some(pages) = Mapping::new(count * STACK) else { return false };
        let guarded = (0..count).all(|thread| pages.protect(thread * STACK, STACK_GUARD));
        self.stacks = guarded.then_some(Stacks { pages, count });
        guarded
    }
}

/// Runs one threadgroup to its end on the calling thread.
///
/// # Safety
/// `place` is the calling worker's own and not borrowed; the entry is code of the contract in native/hostmetal/msl; the
/// group's pointers and `variables` (with their base) are valid until it returns.
pub(crate) unsafe fn run_group(
    place: *mut Place,
    entry: Entry,
    group: *const Group,
    variables: (*mut u8, *const [PlacedVariable]),
) -> Result<(), Halt> {
    // SAFETY: the caller lends the place; this borrow ends before kernel code runs.
    let own = unsafe { &mut *place };
    // SAFETY: the caller's group is valid.
    let size = unsafe { (*group).threads_per_threadgroup };
    own.variables = variables;
    own.group = group;
    own.size = size;
    let recovery: *const Recovery = &own.record.recovery;
    PLACE.set(place);
    let mut kernel_side = own.kernel_side.take();
    let mut enter = |grows, enter: &dyn Fn() -> u32| match &mut kernel_side {
        None => enter(),
        Some(side) => side.run(grows, FINISHED, enter),
    };
    let code = match entry {
        Entry::Group(function) => {
            own.switched = false;
            // SAFETY: the entry is a function of this type, by the caller's contract.
            enter(0, &|| unsafe { hostmetal_call(function as *const () as usize, group, recovery) })
        }
        Entry::Thread(function) => {
            let threads = size.iter().product::<u32>();
            if !own.grow_stacks(threads as usize) {
                own.kernel_side = kernel_side;
                return Err(Halt::NoStacks);
            }
            own.switched = true;
            own.entry = function as *const () as usize;
            own.schedule.start(threads);
            own.saved[..threads as usize].fill(0);
            let stack = begin(own, 0);
            own.saved[0] = stack;
            // SAFETY: the stack was made by `begin`; the runtime functions abandon when all threads have finished.
            enter(threads, &|| unsafe { hostmetal_fibers(stack, 0, recovery) })
        }
    };
    if kernel_side.is_some() {
        // SAFETY: the kernel has been left, so the place is the caller's alone again.
        unsafe { (*place).kernel_side = kernel_side };
    }
    if has_address_sanitizer() {
        // SAFETY: the kernel has been left, so the place is the caller's alone again.
        forget(unsafe { &*place }, code);
    }
    match code {
        FINISHED => Ok(()),
        super::guard::FAULTED => Err(Halt::Faulted),
        super::guard::STOPPED => Err(Halt::Stopped),
        MISUSED => {
            // SAFETY: the kernel has been left, so the place is the caller's alone again.
            Err(Halt::Misused(unsafe { (*place).complaint }))
        }
        other => unreachable!("the entrance to a kernel returned {other}"),
    }
}

/// For AddressSanitizer: forgets the frames of a kernel that was left; where its threads returned, that is one of ours.
#[inline(never)]
fn forget(place: &Place, code: u32) {
    if place.switched
        && let Some(stacks) = &place.stacks
    {
        let threads = place.size.iter().product::<u32>() as usize;
        let length = if code == FINISHED { 8192 } else { STACK };
        for thread in 1..=threads {
            // SAFETY: no thread of the threadgroup runs any more.
            unsafe { forget_frames(stacks.pages.data().wrapping_add(thread * STACK - length), length) };
        }
    }
    if code != FINISHED {
        let entrance = place.record.recovery.stack.load(Ordering::Relaxed);
        let end = place.record.stack_end();
        // SAFETY: below the entrance's frame are forgotten frames and this function's own, which needs no protection.
        unsafe { forget_frames(end as *const u8, entrance.saturating_sub(end)) };
    }
}

fn position(thread: u32, size: [u32; 3]) -> [u32; 3] {
    [thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1]]
}

/// Prepares the stack of a thread that has not begun; returns the position to switch to.
#[inline(never)]
fn begin(place: &Place, thread: u32) -> usize {
    let Some(stacks) = &place.stacks else { unreachable!("threads run without stacks") };
    let start = FirstFrame { entry: place.entry, group: place.group as usize, position: position(thread, place.size) };
    // Neighbouring stacks begin at different cache sets.
    let colour = thread as usize * 320 % 4096 / 64 * 64;
    // SAFETY: the top is inside the pages, because thread < count, and the colour is far smaller than a stack.
    let top = unsafe { stacks.pages.data().add((thread as usize + 1) * STACK - colour) };
    // SAFETY: the top is 64-byte aligned, and the stack below it belongs to a thread that has not begun.
    unsafe { first_frame(top, &start) }
}

/// The running kernel's place; ends the process when there is none.
fn current() -> *mut Place {
    let place = PLACE.get();
    if place.is_null() {
        eprintln!("hostmetal: a kernel's runtime function was called outside of a kernel");
        std::process::abort();
    }
    place
}

/// The running kernel's log, or NULL, and the number of its formats.
pub(crate) fn log() -> (*const Log, u32) {
    // SAFETY: the place is this thread's; the value is copied.
    unsafe { (*current()).log }
}

/// What records the running kernel's accesses, or NULL.
pub(crate) fn recorder() -> *mut Recorder {
    // SAFETY: the place is this thread's; the borrow ends here.
    unsafe { (*current()).recorder.as_mut().map_or(ptr::null_mut(), ptr::from_mut) }
}

/// Ends the kernel with a named fault; does not return (see `hostmetal_abandon`).
fn misuse(place: *mut Place, complaint: &'static str) {
    // SAFETY: the place is this thread's, and no other borrow of it is used any more.
    let own = unsafe { &mut *place };
    own.complaint = complaint;
    // SAFETY: this is between entrance and way back, since a kernel called.
    unsafe { hostmetal_abandon(&own.record.recovery, MISUSED) };
}

/// Lets the current thread wait, and others run until it may go on.
#[inline(always)]
fn wait(place: *mut Place, why: Wait) {
    // SAFETY: the place is this thread's; the borrow is not used after the switch below.
    let own = unsafe { &mut *place };
    let thread = own.schedule.current();
    own.schedule.block(why);
    let Some(next) = continue_with(own) else { unreachable!("a thread that waits is not finished") };
    if next == thread {
        return;
    }
    let target = own.saved[next as usize % THREADS];
    let save: *mut usize = &mut own.saved[thread as usize % THREADS];
    // SAFETY: the target is the saved position of a live thread of this worker, or a stack that `begin` made.
    unsafe { hostmetal_switch(save, target) };
}

/// Chooses the next thread, lets SIMD-group operations take place, and sees to it that the thread has a stack.
#[inline(always)]
fn continue_with(place: &mut Place) -> Option<u32> {
    let offered = &place.offered;
    let next = place.schedule.next(|meeting| combine(meeting, offered))?;
    if place.saved[next as usize % THREADS] == 0 {
        place.saved[next as usize % THREADS] = begin(place, next);
    }
    Some(next)
}

/// Keeps what the current thread brings to the operation that it is going to wait for.
fn offer(place: *mut Place, operation: Option<Combine>, value: *mut c_void) {
    // SAFETY: the place is this thread's; the borrow ends here.
    let own = unsafe { &mut *place };
    own.offered[own.schedule.current() as usize % THREADS] = (operation, value);
}

/// Calls the operation of lanes that met.
#[inline(never)]
fn combine(meeting: Meeting, offered: &[(Option<Combine>, *mut c_void); THREADS]) {
    let offers = &offered[meeting.first as usize..];
    let Some(operation) = offers[meeting.lanes.trailing_zeros() as usize].0 else { return };
    let mut values = SimdValues { value: [ptr::null_mut(); 32] };
    for (lane, value) in values.value.iter_mut().enumerate() {
        if meeting.lanes >> lane & 1 != 0 {
            *value = offers[lane].1;
        }
    }
    // SAFETY: the kernel gave the operation with the values; all lanes that gave one are waiting, so the values are alive.
    unsafe { operation(&values, meeting.lanes) };
}

/// See `RuntimeTable::threadgroup_barrier`.
pub(crate) unsafe extern "C" fn threadgroup_barrier(_flags: u32) {
    let place = current();
    // SAFETY: the place is this thread's; the value is copied.
    if !unsafe { (*place).switched } {
        misuse(place, "threadgroup_barrier was reached in a kernel that was compiled as having none");
    }
    wait(place, Wait::Threadgroup);
}

/// See `RuntimeTable::simdgroup_barrier`; called by context_*.s with the return address.
#[unsafe(no_mangle)]
unsafe extern "C" fn hostmetal_simdgroup_barrier_at(_flags: u32, site: usize) {
    let place = current();
    // SAFETY: the place is this thread's; the value is copied.
    if !unsafe { (*place).switched } {
        misuse(place, "simdgroup_barrier was reached in a kernel that was compiled as having none");
    }
    offer(place, None, ptr::null_mut());
    wait(place, Wait::Lanes { site, width: 32 });
}

/// See `RuntimeTable::simd_combine`; called by context_*.s with the return address.
#[unsafe(no_mangle)]
unsafe extern "C" fn hostmetal_simd_combine_at(operation: Combine, value: *mut c_void, width: u32, site: usize) {
    let place = current();
    // SAFETY: the place is this thread's; the value is copied.
    if !unsafe { (*place).switched } {
        misuse(place, "a SIMD-group function was reached in a kernel that was compiled as having none");
    }
    if width != 32 && width != 4 {
        misuse(place, "a SIMD-group function was called with a width that is neither 32 nor 4");
    }
    offer(place, Some(operation), value);
    wait(place, Wait::Lanes { site, width });
}

/// Called by context_*.s when the entry of a thread has returned.
#[unsafe(no_mangle)]
unsafe extern "C" fn hostmetal_thread_finished() {
    let place = current();
    // SAFETY: the place is this thread's; the borrow is not used after the switch below.
    let own = unsafe { &mut *place };
    own.schedule.finish();
    let Some(next) = continue_with(own) else {
        // SAFETY: this is between entrance and way back.
        return unsafe { hostmetal_abandon(&own.record.recovery, FINISHED) };
    };
    let target = own.saved[next as usize];
    let mut forgotten = 0;
    // SAFETY: the target is the saved position of a live thread, or a new stack; this stack is not used again.
    unsafe { hostmetal_switch(&mut forgotten, target) };
}

/// See `RuntimeTable::threadgroup_allocate`.
pub(crate) unsafe extern "C" fn threadgroup_allocate(id: u32, size: u64, _alignment: u64) -> *mut c_void {
    let place = current();
    // SAFETY: the place is this thread's; the values are copied.
    let (base, variables) = unsafe { (*place).variables };
    // SAFETY: the dispatch that runs keeps the variables alive.
    let variables = unsafe { &*variables };
    match variables.iter().find(|variable| variable.id == id && variable.size >= size) {
        // SAFETY: the offset is inside the dispatch's threadgroup memory, which the pipeline laid out.
        Some(variable) => unsafe { base.add(variable.offset) }.cast(),
        None => {
            misuse(place, "the kernel asked for a threadgroup variable that is not in its table");
            ptr::null_mut()
        }
    }
}

/// See `RuntimeTable::lane`.
pub(crate) unsafe extern "C" fn lane() -> u32 {
    let place = current();
    // SAFETY: the place is this thread's; the value is copied.
    if !unsafe { (*place).switched } {
        misuse(place, "a SIMD-group function was reached in a kernel that was compiled as having none");
    }
    // SAFETY: as above; the shared borrow ends with the call.
    unsafe { (*place).schedule.current() % 32 }
}

/// See `RuntimeTable::threads_disagree`.
pub(crate) unsafe extern "C" fn threads_disagree() {
    misuse(
        current(),
        "the threads of a threadgroup came to different barriers, which only a data race can bring about",
    );
}
