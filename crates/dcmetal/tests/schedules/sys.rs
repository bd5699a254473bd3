//! The C ABI of `dcmetal_sys` with a Metal of the models' own behind what they use: a device, buffers, queues, command buffers with copies and fills, events. The
//! rest is the platform's; Miri, which cannot call it, names the function.
//!
//! A queue runs its command buffers in their order on a thread of its own, copies and fills word by word, and calls the completion handlers each on a thread of
//! its own, so in any order; those who wait for an event are told likewise. What Metal asks of its callers is asserted: what a command buffer was given
//! lives until it has completed.
//!
//! A fill with [`FAILS`] makes its command buffer fail, one with [`REFUSED`] has the commit refused. A command buffer that fails has the status of one before it
//! signals what it was to signal, as in hostmetal; whether it does is left to chance.

#![allow(non_snake_case, reason = "the names are the C header's")]
#![allow(
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::too_many_arguments,
    reason = "the contract is the header's: handles are live, out-parameters valid; `raw`, which is the caller, argues each call"
)]

use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::ptr::slice_from_raw_parts_mut;

pub(crate) use dcmetal_sys::*;

use crate::schedule::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::schedule::sync::{Arc, Condvar, Mutex};
use crate::schedule::{by_chance, detach, thread};

/// The byte of a fill that fails.
pub(crate) const FAILS: u8 = 0xFA;
/// The byte of a fill that has the commit refused.
pub(crate) const REFUSED: u8 = 0xFB;

struct Device;

/// Words of 32 bits, which host and device read and write as they like.
struct Buffer {
    start: *mut u32,
    words: usize,
    is_private: bool,
    released: AtomicBool,
    /// Who frees the words, where they are somebody else's.
    owner: Option<(DCMetalDeallocator, *mut c_void)>,
}

// SAFETY: shuttle runs one thread at a time; what they make of the words is what the models are about, and Miri reports those whom nothing keeps apart.
unsafe impl Send for Buffer {}
// SAFETY: as for Send.
unsafe impl Sync for Buffer {}

/// Of any kind. A fence is one that has no value.
struct Event {
    is_shared: bool,
    state: Mutex<EventState>,
    changed: Condvar,
    released: AtomicBool,
}

#[derive(Default)]
struct EventState {
    value: u64,
    /// Who is to be told when it is large enough.
    waiting: Vec<(u64, Handler)>,
    /// The command buffers of the commands in flight that use it.
    users: Vec<usize>,
}

struct Handler {
    call: DCMetalEventHandler,
    context: Context,
}

/// What a handler is called with, on any thread.
struct Context(*mut c_void);

// SAFETY: the header: handlers are called on threads of Metal's.
unsafe impl Send for Context {}

impl Context {
    fn pointer(self) -> *mut c_void {
        self.0
    }
}

struct Queue {
    capacity: usize,
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    /// Command buffers that were made and have neither completed nor gone.
    uncompleted: usize,
    line: VecDeque<Arc<CommandBuffer>>,
    /// A thread works on the line.
    runs: bool,
}

struct CommandBuffer {
    queue: Arc<Queue>,
    /// Empties while it runs. One thread at a time records or runs it.
    commands: std::sync::Mutex<VecDeque<Command>>,
    completed: std::sync::Mutex<Option<(DCMetalCompletedHandler, Context)>>,
    status: AtomicU32,
    committed: AtomicBool,
}

enum Command {
    Copy { from: (Arc<Buffer>, usize), to: (Arc<Buffer>, usize), words: usize },
    Fill { to: (Arc<Buffer>, usize), words: usize, value: u8 },
    Signal(Arc<Event>, u64),
    Wait(Arc<Event>, u64),
    Fence(Arc<Event>),
}

impl Drop for CommandBuffer {
    fn drop(&mut self) {
        let by = self.number();
        self.commands.get_mut().unwrap().iter().filter_map(Command::event).for_each(|event| event.used(by));
        if !self.committed.load(Ordering::SeqCst) {
            self.queue.leave();
        }
    }
}

impl Queue {
    fn leave(&self) {
        self.state.lock().unwrap().uncompleted -= 1;
        self.changed.notify_one();
    }

    /// Runs the line until it is empty.
    fn run(self: Arc<Self>) {
        loop {
            let mut state = self.state.lock().unwrap();
            let Some(next) = state.line.pop_front() else {
                state.runs = false;
                return;
            };
            drop(state);
            next.run();
        }
    }
}

impl Command {
    fn event(&self) -> Option<&Event> {
        match self {
            Command::Signal(event, _) | Command::Wait(event, _) | Command::Fence(event) => Some(event),
            Command::Copy { .. } | Command::Fill { .. } => None,
        }
    }
}

impl CommandBuffer {
    fn number(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn run(self: Arc<Self>) {
        let mut failed = false;
        loop {
            let command = self.commands.lock().unwrap().pop_front();
            let Some(command) = command else { break };
            failed = failed || matches!(command, Command::Fill { value: FAILS, .. });
            if failed {
                self.status.store(DC_METAL_COMMAND_BUFFER_ERROR.0, Ordering::SeqCst);
            }
            match &command {
                Command::Signal(event, value) if !failed || by_chance() => event.signal(*value),
                _ if failed => (),
                Command::Signal(..) | Command::Fence(_) => (),
                Command::Wait(event, value) => event.wait(*value),
                Command::Copy { from, to, words } => {
                    for at in 0..*words {
                        let word = from.0.word(from.1 + at);
                        to.0.set_word(to.1 + at, word);
                    }
                }
                Command::Fill { to, words, value } => {
                    (0..*words).for_each(|at| to.0.set_word(to.1 + at, u32::from_ne_bytes([*value; 4])));
                }
            }
            if let Some(event) = command.event() {
                event.used(self.number());
            }
        }
        let (status, told) = match failed {
            true => (DC_METAL_COMMAND_BUFFER_ERROR, DC_METAL_FAILED),
            false => (DC_METAL_COMMAND_BUFFER_COMPLETED, DC_METAL_OK),
        };
        self.status.store(status.0, Ordering::SeqCst);
        let (call, context) = self.completed.lock().unwrap().take().expect("a handler");
        let call = call.expect("a handler");
        detach(move || unsafe { call(context.pointer(), told, std::ptr::null_mut()) });
        self.queue.leave();
    }
}

impl Buffer {
    fn at(&self, word: usize) -> *mut u32 {
        assert!(!self.released.load(Ordering::SeqCst), "the device uses memory that its owner let go of");
        assert!(word < self.words, "the device stays in the buffer");
        unsafe { self.start.add(word) }
    }

    fn word(&self, at: usize) -> u32 {
        let at = self.at(at);
        unsafe { *at }
    }

    /// The check of the release lets other threads run before each.
    fn set_word(&self, at: usize, word: u32) {
        let at = self.at(at);
        unsafe { *at = word }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match self.owner {
            None => drop(unsafe { Box::from_raw(slice_from_raw_parts_mut(self.start, self.words)) }),
            Some((free, context)) => {
                let free = free.expect("a deallocator");
                unsafe { free(context, self.start.cast(), self.words as u64 * 4) }
            }
        }
    }
}

impl Event {
    fn new(is_shared: bool) -> Arc<Event> {
        Arc::new(Event {
            is_shared,
            state: Mutex::default(),
            changed: Condvar::new(),
            released: AtomicBool::new(false),
        })
    }

    fn signal(&self, value: u64) {
        assert!(!self.released.load(Ordering::SeqCst), "the device uses an event that its owner let go of");
        let mut state = self.state.lock().unwrap();
        state.value = state.value.max(value);
        let now = state.value;
        let due: Vec<_> = state.waiting.extract_if(.., |(value, _)| *value <= now).collect();
        drop(state);
        self.changed.notify_all();
        due.into_iter().for_each(|(_, handler)| handler.tell(DC_METAL_OK, now));
    }

    fn wait(&self, value: u64) {
        let mut state = self.state.lock().unwrap();
        while state.value < value {
            state = self.changed.wait(state).unwrap();
        }
    }

    /// A command of this command buffer will use it. Those that are not shared come from a pool, which lends each to one at a time.
    fn uses(&self, by: usize) {
        let mut state = self.state.lock().unwrap();
        assert!(self.is_shared || state.users.iter().all(|other| *other == by), "it is lent to two at once");
        state.users.push(by);
    }

    /// A command of this command buffer that used it is over.
    fn used(&self, by: usize) {
        assert!(!self.released.load(Ordering::SeqCst), "the device uses an event that its owner let go of");
        let mut state = self.state.lock().unwrap();
        let at = state.users.iter().position(|user| *user == by).expect("it uses it");
        state.users.swap_remove(at);
    }
}

impl Handler {
    fn tell(self, status: DCMetalStatus, value: u64) {
        let call = self.call.expect("a handler");
        detach(move || unsafe { call(self.context.pointer(), status, value) });
    }
}

/// A handle owns a reference.
fn handle<T, H>(value: Arc<T>) -> *mut H {
    Arc::into_raw(value).cast_mut().cast()
}

unsafe fn of<T, H>(handle: *mut H) -> Arc<T> {
    let value = handle.cast::<T>().cast_const();
    unsafe { Arc::increment_strong_count(value) };
    unsafe { Arc::from_raw(value) }
}

unsafe fn released<T, H>(handle: *mut H) -> Arc<T> {
    unsafe { Arc::from_raw(handle.cast::<T>().cast_const()) }
}

pub(crate) unsafe fn DCMetal_AbiVersion() -> u32 {
    DC_METAL_ABI_VERSION
}

pub(crate) unsafe fn DCMetalDevice_CreateSystemDefault(
    device: *mut DCMetalDevice,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    unsafe { *device = handle(Arc::new(Device)) };
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalDevice_Release(device: DCMetalDevice) {
    drop(unsafe { released::<Device, _>(device) });
}

pub(crate) unsafe fn DCMetalDevice_GetName(_: DCMetalDevice, buffer: *mut c_char, capacity: usize) -> usize {
    let name = c"the models' device".to_bytes_with_nul();
    assert!(name.len() <= capacity, "room for the name");
    unsafe { buffer.cast::<u8>().copy_from_nonoverlapping(name.as_ptr(), name.len()) };
    name.len() - 1
}

pub(crate) unsafe fn DCMetalDevice_GetRegistryID(_: DCMetalDevice) -> u64 {
    1
}

pub(crate) unsafe fn DCMetalDevice_HasUnifiedMemory(_: DCMetalDevice) -> bool {
    true
}

pub(crate) unsafe fn DCMetalDevice_IsLowPower(_: DCMetalDevice) -> bool {
    false
}

pub(crate) unsafe fn DCMetalDevice_IsHeadless(_: DCMetalDevice) -> bool {
    true
}

pub(crate) unsafe fn DCMetalDevice_IsRemovable(_: DCMetalDevice) -> bool {
    false
}

pub(crate) unsafe fn DCMetalDevice_GetRecommendedMaxWorkingSetSize(_: DCMetalDevice) -> u64 {
    1 << 30
}

pub(crate) unsafe fn DCMetalDevice_GetMaxBufferLength(_: DCMetalDevice) -> u64 {
    1 << 28
}

pub(crate) unsafe fn DCMetalDevice_GetMaxThreadgroupMemoryLength(_: DCMetalDevice) -> u64 {
    32 << 10
}

pub(crate) unsafe fn DCMetalDevice_GetMaxThreadsPerThreadgroup(_: DCMetalDevice) -> DCMetalSize {
    DCMetalSize { width: 1024, height: 1024, depth: 1024 }
}

pub(crate) unsafe fn DCMetalDevice_SupportsFamily(_: DCMetalDevice, _: i64) -> bool {
    true
}

pub(crate) unsafe fn DCMetalQueue_Create(
    _: DCMetalDevice,
    capacity: usize,
    queue: *mut DCMetalQueue,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    let made = Queue { capacity, state: Mutex::default(), changed: Condvar::new() };
    unsafe { *queue = handle(Arc::new(made)) };
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalQueue_Release(queue: DCMetalQueue) {
    drop(unsafe { released::<Queue, _>(queue) });
}

pub(crate) unsafe fn DCMetalBuffer_Create(
    _: DCMetalDevice,
    length: u64,
    storage: DCMetalStorageMode,
    _: DCMetalCacheMode,
    buffer: *mut DCMetalBuffer,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    let words = words(length);
    let start = Box::into_raw(vec![0u32; words].into_boxed_slice()).cast();
    let is_private = storage == DC_METAL_STORAGE_PRIVATE;
    let made = Buffer { start, words, is_private, released: AtomicBool::new(false), owner: None };
    unsafe { *buffer = handle(Arc::new(made)) };
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalBuffer_CreateNoCopy(
    _: DCMetalDevice,
    bytes: *mut c_void,
    length: u64,
    _: DCMetalStorageMode,
    free: DCMetalDeallocator,
    context: *mut c_void,
    buffer: *mut DCMetalBuffer,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    let (released, owner) = (AtomicBool::new(false), Some((free, context)));
    let made = Buffer { start: bytes.cast(), words: words(length), is_private: false, released, owner };
    unsafe { *buffer = handle(Arc::new(made)) };
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalBuffer_GetContents(buffer: DCMetalBuffer) -> *mut c_void {
    let buffer = unsafe { of::<Buffer, _>(buffer) };
    if buffer.is_private { std::ptr::null_mut() } else { buffer.start.cast() }
}

pub(crate) unsafe fn DCMetalBuffer_Release(buffer: DCMetalBuffer) {
    unsafe { released::<Buffer, _>(buffer) }.released.store(true, Ordering::SeqCst);
}

pub(crate) unsafe fn DCMetalSharedEvent_Create(
    _: DCMetalDevice,
    event: *mut DCMetalSharedEvent,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    unsafe { *event = handle(Event::new(true)) };
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalSharedEvent_Release(event: DCMetalSharedEvent) {
    let event = unsafe { released::<Event, _>(event) };
    event.released.store(true, Ordering::SeqCst);
    let gone = std::mem::take(&mut event.state.lock().unwrap().waiting);
    gone.into_iter().for_each(|(_, handler)| handler.tell(DC_METAL_INVALID_STATE, 0));
}

/// The same object.
pub(crate) unsafe fn DCMetalSharedEvent_AsEvent(event: DCMetalSharedEvent) -> DCMetalEvent {
    event.cast()
}

pub(crate) unsafe fn DCMetalSharedEvent_GetSignaledValue(event: DCMetalSharedEvent) -> u64 {
    unsafe { of::<Event, _>(event) }.state.lock().unwrap().value
}

pub(crate) unsafe fn DCMetalSharedEvent_SetSignaledValue(
    event: DCMetalSharedEvent,
    value: u64,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    unsafe { of::<Event, _>(event) }.signal(value);
    DC_METAL_OK
}

/// Time does not pass here.
pub(crate) unsafe fn DCMetalSharedEvent_Wait(
    event: DCMetalSharedEvent,
    value: u64,
    _milliseconds: u64,
    reached: *mut bool,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    unsafe { of::<Event, _>(event) }.wait(value);
    unsafe { *reached = true };
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalSharedEvent_Notify(
    event: DCMetalSharedEvent,
    value: u64,
    call: DCMetalEventHandler,
    context: *mut c_void,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    let (event, handler) = (unsafe { of::<Event, _>(event) }, Handler { call, context: Context(context) });
    let mut state = event.state.lock().unwrap();
    if state.value < value {
        state.waiting.push((value, handler));
        return DC_METAL_OK;
    }
    let now = state.value;
    drop(state);
    handler.tell(DC_METAL_OK, now);
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalEvent_Create(
    _: DCMetalDevice,
    event: *mut DCMetalEvent,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    unsafe { *event = handle(Event::new(false)) };
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalEvent_Release(event: DCMetalEvent) {
    unsafe { released::<Event, _>(event) }.released.store(true, Ordering::SeqCst);
}

pub(crate) unsafe fn DCMetalFence_Create(
    _: DCMetalDevice,
    fence: *mut DCMetalFence,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    unsafe { *fence = handle(Event::new(false)) };
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalFence_Release(fence: DCMetalFence) {
    unsafe { released::<Event, _>(fence) }.released.store(true, Ordering::SeqCst);
}

/// Waits while the queue is full.
pub(crate) unsafe fn DCMetalCommandBuffer_Create(
    queue: DCMetalQueue,
    _: *const DCMetalCommandBufferOptions,
    command_buffer: *mut DCMetalCommandBuffer,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    let queue = unsafe { of::<Queue, _>(queue) };
    let mut state = queue.state.lock().unwrap();
    while state.uncompleted == queue.capacity {
        state = queue.changed.wait(state).unwrap();
    }
    state.uncompleted += 1;
    drop(state);
    let made = CommandBuffer {
        queue,
        commands: Default::default(),
        completed: Default::default(),
        status: AtomicU32::new(DC_METAL_COMMAND_BUFFER_NOT_ENQUEUED.0),
        committed: AtomicBool::new(false),
    };
    unsafe { *command_buffer = handle(Arc::new(made)) };
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalCommandBuffer_Release(command_buffer: DCMetalCommandBuffer) {
    drop(unsafe { released::<CommandBuffer, _>(command_buffer) });
}

pub(crate) unsafe fn DCMetalCommandBuffer_AddCompletedHandler(
    command_buffer: DCMetalCommandBuffer,
    call: DCMetalCompletedHandler,
    context: *mut c_void,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    *unsafe { of::<CommandBuffer, _>(command_buffer) }.completed.lock().unwrap() = Some((call, Context(context)));
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalCommandBuffer_EncodeSignalEvent(
    command_buffer: DCMetalCommandBuffer,
    event: DCMetalEvent,
    value: u64,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    unsafe { record(command_buffer, Command::Signal(of(event), value)) }
}

pub(crate) unsafe fn DCMetalCommandBuffer_EncodeWaitForEvent(
    command_buffer: DCMetalCommandBuffer,
    event: DCMetalEvent,
    value: u64,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    unsafe { record(command_buffer, Command::Wait(of(event), value)) }
}

unsafe fn record(command_buffer: DCMetalCommandBuffer, command: Command) -> DCMetalStatus {
    let command_buffer = unsafe { of::<CommandBuffer, _>(command_buffer) };
    if let Some(event) = command.event() {
        event.uses(command_buffer.number());
    }
    command_buffer.commands.lock().unwrap().push_back(command);
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalCommandBuffer_Commit(
    command_buffer: DCMetalCommandBuffer,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    let committed = unsafe { of::<CommandBuffer, _>(command_buffer) };
    let refused = |command: &Command| matches!(command, Command::Fill { value: REFUSED, .. });
    if committed.commands.lock().unwrap().iter().any(refused) {
        return DC_METAL_FAILED;
    }
    committed.committed.store(true, Ordering::SeqCst);
    let queue = Arc::clone(&committed.queue);
    let mut state = queue.state.lock().unwrap();
    state.line.push_back(committed);
    if !std::mem::replace(&mut state.runs, true) {
        drop(state);
        detach(move || queue.run());
    } else {
        drop(state);
    }
    // The device may be far on when the call returns.
    if by_chance() && by_chance() {
        (0..50).for_each(|_| thread::yield_now());
    }
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalCommandBuffer_GetStatus(
    command_buffer: DCMetalCommandBuffer,
) -> DCMetalCommandBufferStatus {
    DCMetalCommandBufferStatus(unsafe { of::<CommandBuffer, _>(command_buffer) }.status.load(Ordering::SeqCst))
}

pub(crate) unsafe fn DCMetalComputeEncoder_Create(
    _: DCMetalCommandBuffer,
    _: DCMetalDispatchType,
    _: *mut DCMetalComputeEncoder,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    panic!("the models launch no kernels")
}

/// An encoder is its command buffer.
pub(crate) unsafe fn DCMetalBlitEncoder_Create(
    command_buffer: DCMetalCommandBuffer,
    encoder: *mut DCMetalBlitEncoder,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    unsafe { *encoder = handle(of::<CommandBuffer, _>(command_buffer)) };
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalBlitEncoder_Release(encoder: DCMetalBlitEncoder) {
    drop(unsafe { released::<CommandBuffer, _>(encoder) });
}

pub(crate) unsafe fn DCMetalBlitEncoder_SetLabel(_: DCMetalBlitEncoder, _: *const c_char) -> DCMetalStatus {
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalBlitEncoder_EndEncoding(_: DCMetalBlitEncoder, _: *mut DCMetalError) -> DCMetalStatus {
    DC_METAL_OK
}

pub(crate) unsafe fn DCMetalBlitEncoder_CopyBuffer(
    encoder: DCMetalBlitEncoder,
    source: DCMetalBuffer,
    source_offset: u64,
    destination: DCMetalBuffer,
    destination_offset: u64,
    length: u64,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    let from = unsafe { (of(source), words(source_offset)) };
    let to = unsafe { (of(destination), words(destination_offset)) };
    unsafe { record(encoder.cast(), Command::Copy { from, to, words: words(length) }) }
}

pub(crate) unsafe fn DCMetalBlitEncoder_FillBuffer(
    encoder: DCMetalBlitEncoder,
    buffer: DCMetalBuffer,
    offset: u64,
    length: u64,
    value: u8,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    let to = unsafe { (of(buffer), words(offset)) };
    unsafe { record(encoder.cast(), Command::Fill { to, words: words(length), value }) }
}

pub(crate) unsafe fn DCMetalBlitEncoder_UpdateFence(
    encoder: DCMetalBlitEncoder,
    fence: DCMetalFence,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    unsafe { record(encoder.cast(), Command::Fence(of(fence))) }
}

/// Encoders of a command buffer run one after the other here.
pub(crate) unsafe fn DCMetalBlitEncoder_WaitForFence(
    encoder: DCMetalBlitEncoder,
    fence: DCMetalFence,
    _: *mut DCMetalError,
) -> DCMetalStatus {
    unsafe { record(encoder.cast(), Command::Fence(of(fence))) }
}

fn words(bytes: u64) -> usize {
    assert!(bytes.is_multiple_of(4), "whole words");
    (bytes / 4) as usize
}
