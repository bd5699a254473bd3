//! Command buffers and queues: states, callbacks, order, back-pressure, life times, and what is told of misuse.
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "kernels and sequences of calls on the same valid handles")]

mod support;

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, mpsc};

use hostmetal::executor::{Entry, Group};
use hostmetal::ffi::*;
use support::*;

const NOT_ENQUEUED: u32 = 0;
const ENQUEUED: u32 = 1;

/// Adds 1 to the number at the address in buffer 0, then waits until the flag behind it is set.
#[repr(C)]
#[derive(Default)]
struct Gate {
    arrived: AtomicU32,
    open: AtomicBool,
}

unsafe extern "C" fn wait_at_gate(called: *const Group) {
    // SAFETY: the test binds the address of a gate that lives until the kernel has run.
    let gate = unsafe { &**at::<*const Gate>(group(called), 0, 0) };
    gate.arrived.fetch_add(1, Ordering::SeqCst);
    while !gate.open.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
}

fn gate_pipeline() -> Pipeline {
    Pipeline::new(kernel("gate", Entry::Group(wait_at_gate), vec![buffer(0, 8)]))
}

fn record_gate(command_buffer: &CommandBuffer, pipeline: &Pipeline, gate: &Gate) {
    command_buffer.compute(|encoder| {
        encoder.pipeline(pipeline);
        encoder.bytes(&ptr::from_ref(gate), 0);
        encoder.threads([1, 1, 1], [1, 1, 1]);
    });
}

fn until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::yield_now();
    }
}

/// What callbacks saw, in order.
struct Seen {
    command_buffer: HMCommandBuffer,
    events: Mutex<Vec<(&'static str, u32)>>,
}

unsafe extern "C" fn on_scheduled(seen: *mut c_void) {
    // SAFETY: the tests pass a Seen that lives until the command buffer has completed.
    unsafe { &*seen.cast::<Seen>() }.note("scheduled");
}

unsafe extern "C" fn on_completed(seen: *mut c_void) {
    // SAFETY: as above.
    unsafe { &*seen.cast::<Seen>() }.note("completed");
}

impl Seen {
    fn new(command_buffer: &CommandBuffer) -> Seen {
        Seen { command_buffer: command_buffer.0, events: Mutex::new(Vec::new()) }
    }

    fn note(&self, what: &'static str) {
        // SAFETY: the command buffer lives.
        let status = unsafe { hm_command_buffer_status(self.command_buffer) };
        self.events.lock().expect("no panic").push((what, status));
    }

    fn commit(&self) {
        let own = context(self);
        // SAFETY: the callbacks take a Seen.
        ok(unsafe { hm_command_buffer_commit(self.command_buffer, Some(on_scheduled), Some(on_completed), own) });
    }
}

fn times(command_buffer: &CommandBuffer) -> HMTimes {
    let mut times = HMTimes::default();
    // SAFETY: the handle is valid.
    unsafe { hm_command_buffer_times(command_buffer.0, &mut times) };
    times
}

#[test]
fn states_and_times_of_a_command_buffer() {
    let queue = Queue::new();
    let (pipeline, gate) = (gate_pipeline(), Gate::default());
    let command_buffer = queue.command_buffer();
    assert_eq!(command_buffer.status(), NOT_ENQUEUED);
    // SAFETY: the handle is valid here and below.
    ok(unsafe { hm_command_buffer_enqueue(command_buffer.0) });
    assert_eq!(command_buffer.status(), ENQUEUED);
    record_gate(&command_buffer, &pipeline, &gate);
    assert_eq!(times(&command_buffer), HMTimes::default());
    let seen = Seen::new(&command_buffer);
    seen.commit();
    // SAFETY: as above.
    ok(unsafe { hm_command_buffer_wait_scheduled(command_buffer.0) });
    until(|| gate.arrived.load(Ordering::SeqCst) == 1);
    assert_eq!(command_buffer.status(), 3);
    assert_eq!(*seen.events.lock().expect("no panic"), [("scheduled", 3)]);
    gate.open.store(true, Ordering::SeqCst);
    command_buffer.wait();
    assert_eq!(*seen.events.lock().expect("no panic"), [("scheduled", 3), ("completed", 4)]);
    command_buffer.assert_completed();
    assert_eq!(command_buffer.encoder_states(), [1]);
    let t = times(&command_buffer);
    assert!(0.0 < t.kernel_start && t.kernel_start <= t.kernel_end, "{t:?}");
    assert!(t.kernel_end <= t.gpu_start && t.gpu_start < t.gpu_end, "{t:?}");
}

#[test]
fn callbacks_come_exactly_once_each_and_in_order() {
    let queue = Queue::limited(8);
    let mut all = Vec::new();
    for _ in 0..500 {
        let command_buffer = queue.command_buffer();
        let seen = Box::new(Seen::new(&command_buffer));
        seen.commit();
        all.push((command_buffer, seen));
    }
    for (command_buffer, seen) in &all {
        command_buffer.wait();
        assert_eq!(*seen.events.lock().expect("no panic"), [("scheduled", 3), ("completed", 4)]);
    }
}

#[test]
fn creation_blocks_while_the_queue_is_full() {
    let queue = Queue::limited(2);
    let (pipeline, gate) = (gate_pipeline(), Gate::default());
    let first = queue.command_buffer();
    record_gate(&first, &pipeline, &gate);
    first.commit();
    let second = queue.command_buffer();
    let (told, hears) = mpsc::channel();
    let handle = SendQueue(queue.0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let handle = handle;
            // SAFETY: the queue lives as long as the scope.
            let third = CommandBuffer(unsafe { hm_command_buffer_create(handle.0) });
            told.send(third).expect("the test listens");
        });
        // The gate is closed, so nothing can complete and the third cannot come, however long this took.
        until(|| gate.arrived.load(Ordering::SeqCst) == 1);
        assert!(hears.try_recv().is_err());
        gate.open.store(true, Ordering::SeqCst);
        let third = hears.recv().expect("a third one comes");
        first.wait();
        // One that is never committed makes room too.
        drop(second);
        let fourth = queue.command_buffer();
        drop((third, fourth));
    });
}

struct SendQueue(HMQueue);
// SAFETY: MTLCommandQueue may be used from any thread.
unsafe impl Send for SendQueue {}

unsafe extern "C" fn append(called: *const Group) {
    // SAFETY: the test binds a list that lives until the kernel has run, and a number.
    let (list, number) =
        unsafe { (&**at::<*const Mutex<Vec<u32>>>(group(called), 0, 0), *at::<u32>(group(called), 1, 0)) };
    list.lock().expect("no panic").push(number);
}

#[test]
fn enqueued_command_buffers_run_in_the_order_of_their_places() {
    let queue = Queue::new();
    let pipeline = Pipeline::new(kernel("append", Entry::Group(append), vec![buffer(0, 8), buffer(1, 4)]));
    let list = Mutex::new(Vec::<u32>::new());
    let all: Vec<CommandBuffer> = (0..6u32)
        .map(|number| {
            let command_buffer = queue.command_buffer();
            command_buffer.compute(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.bytes(&ptr::from_ref(&list), 0);
                encoder.bytes(&number, 1);
                encoder.threads([1, 1, 1], [1, 1, 1]);
            });
            command_buffer
        })
        .collect();
    // 3, 1 and 4 take places; 4's holder is then dropped; the others come behind in the order of their commits.
    for number in [3, 1] {
        // SAFETY: the handle is valid.
        ok(unsafe { hm_command_buffer_enqueue(all[number].0) });
    }
    let never = queue.command_buffer();
    // SAFETY: as above.
    ok(unsafe { hm_command_buffer_enqueue(never.0) });
    for number in [5, 0, 1] {
        all[number].commit();
    }
    assert_eq!(*list.lock().expect("no panic"), [0; 0], "3 has the first place and is not committed");
    all[3].commit();
    all[1].wait();
    assert_eq!(*list.lock().expect("no panic"), [3, 1]);
    drop(never);
    all[4].commit();
    all[4].wait();
    assert_eq!(*list.lock().expect("no panic"), [3, 1, 5, 0, 4]);
    all[2].commit();
    all[2].wait();
    assert_eq!(*list.lock().expect("no panic"), [3, 1, 5, 0, 4, 2]);
}

#[test]
fn queues_run_concurrently() {
    // Each queue's kernel waits for the other's to have begun.
    let queues = [Queue::new(), Queue::new()];
    let pipeline = gate_pipeline();
    let gates = [Gate::default(), Gate::default()];
    let work: Vec<CommandBuffer> = queues
        .iter()
        .zip(&gates)
        .map(|(queue, gate)| {
            let command_buffer = queue.command_buffer();
            record_gate(&command_buffer, &pipeline, gate);
            command_buffer.commit();
            command_buffer
        })
        .collect();
    until(|| gates.iter().all(|gate| gate.arrived.load(Ordering::SeqCst) == 1));
    for gate in &gates {
        gate.open.store(true, Ordering::SeqCst);
    }
    for command_buffer in &work {
        command_buffer.wait();
        command_buffer.assert_completed();
    }
}

#[test]
fn a_callback_that_blocks_stops_only_its_own_queue() {
    unsafe extern "C" fn block(gate: *mut c_void) {
        // SAFETY: the gate lives until the command buffer has completed.
        let gate = unsafe { &*gate.cast::<Gate>() };
        gate.arrived.fetch_add(1, Ordering::SeqCst);
        until(|| gate.open.load(Ordering::SeqCst));
    }
    let gate = Gate::default();
    let queues: Vec<Queue> = (0..20).map(|_| Queue::new()).collect();
    let blocked: Vec<CommandBuffer> = queues
        .iter()
        .map(|queue| {
            let command_buffer = queue.command_buffer();
            // SAFETY: the handle is valid, and the callback takes a gate.
            ok(unsafe { hm_command_buffer_commit(command_buffer.0, None, Some(block), context(&gate)) });
            command_buffer
        })
        .collect();
    until(|| gate.arrived.load(Ordering::SeqCst) == 20);
    let other = Queue::new().command_buffer();
    other.commit();
    other.wait();
    gate.open.store(true, Ordering::SeqCst);
    for command_buffer in &blocked {
        command_buffer.wait();
    }
}

/// What the callback below works with.
struct Chain {
    queue: HMQueue,
    own: HMCommandBuffer,
    later: HMCommandBuffer,
    later_first: bool,
    created: AtomicU32,
}

/// Waits for its own command buffer and a later one, in either order, and creates more than the queue has room for.
unsafe extern "C" fn wait_inside(chain: *mut c_void) {
    // SAFETY: the test keeps all of this alive until the callback has returned.
    unsafe {
        let chain = &*chain.cast::<Chain>();
        if chain.later_first {
            ok(hm_command_buffer_wait_completed(chain.later));
        }
        ok(hm_command_buffer_wait_completed(chain.own));
        assert_eq!(hm_command_buffer_status(chain.own), COMPLETED);
        ok(hm_command_buffer_wait_completed(chain.later));
        assert_eq!(hm_command_buffer_status(chain.later), COMPLETED);
        for _ in 0..10 {
            let next = CommandBuffer(hm_command_buffer_create(chain.queue));
            next.commit();
            chain.created.fetch_add(1, Ordering::SeqCst);
        }
        ok(hm_command_buffer_wait_completed(chain.own));
    }
}

#[test]
fn a_completed_callback_may_wait_for_its_queue() {
    for round in 0..50 {
        let queue = Queue::limited(2);
        let (own, later) = (queue.command_buffer(), queue.command_buffer());
        let chain = Chain {
            queue: queue.0,
            own: own.0,
            later: later.0,
            later_first: round % 2 == 1,
            created: AtomicU32::new(0),
        };
        // SAFETY: the handle is valid, and the callback takes a chain.
        ok(unsafe { hm_command_buffer_enqueue(own.0) });
        later.commit();
        // SAFETY: as above.
        ok(unsafe { hm_command_buffer_commit(own.0, None, Some(wait_inside), context(&chain)) });
        own.wait();
        assert_eq!(chain.created.load(Ordering::SeqCst), 10);
    }
}

/// With the handles of a command buffer and its queue.
unsafe extern "C" fn wait_when_scheduled(handles: *mut c_void) {
    // SAFETY: the test passes handles that are alive.
    let (own, queue) = unsafe { *handles.cast::<(HMCommandBuffer, HMQueue)>() };
    // SAFETY: as above.
    let text = unsafe { hm_command_buffer_wait_completed(own) };
    assert!(misuse(text).expect("a text").contains("never end"));
    // The queue has room for one, which is the command buffer of this callback.
    // SAFETY: as above.
    CommandBuffer(unsafe { hm_command_buffer_create(queue) }).commit();
}

#[test]
fn a_scheduled_callback_that_waits_for_its_own_end_is_told() {
    let queue = Queue::limited(1);
    let own = queue.command_buffer();
    let handles = (own.0, queue.0);
    // SAFETY: the handle is valid, and the callback takes both handles.
    ok(unsafe { hm_command_buffer_commit(own.0, Some(wait_when_scheduled), None, context(&handles)) });
    own.wait();
    own.assert_completed();
}

/// A buffer of the test's own memory that tells of its end.
unsafe extern "C" fn freed(count: *mut c_void, bytes: *mut c_void, length: u64) {
    // SAFETY: the test passes a counter, and memory of eight bytes that was leaked.
    unsafe { &*count.cast::<AtomicU32>() }.fetch_add(1, Ordering::SeqCst);
    assert_eq!(length, 8);
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(bytes.cast::<u64>()) });
}

fn no_copy(count: &AtomicU32) -> Buffer {
    let bytes: *mut c_void = Box::into_raw(Box::new(0u64)).cast();
    // SAFETY: the memory is freed by `freed` and not before.
    let handle = unsafe { hm_buffer_create_no_copy(device(), bytes, 8, Some(freed), context(count)) };
    assert!(!handle.is_null());
    Buffer(handle)
}

/// What the deallocator below works with.
struct Ending {
    later: HMCommandBuffer,
    told: Mutex<Option<String>>,
}

/// Waits for a command buffer behind the one whose completion it holds up.
unsafe extern "C" fn wait_when_freed(ending: *mut c_void, bytes: *mut c_void, _length: u64) {
    // SAFETY: the test passes an ending that lives until the deallocator has run.
    let ending = unsafe { &*ending.cast::<Ending>() };
    // SAFETY: the handle is alive.
    let text = unsafe { hm_command_buffer_wait_completed(ending.later) };
    *ending.told.lock().unwrap() = misuse(text);
    // SAFETY: the memory was leaked by the test.
    drop(unsafe { Box::from_raw(bytes.cast::<u64>()) });
}

#[test]
fn a_deallocator_that_waits_for_its_queue_is_told() {
    let queue = Queue::new();
    let (own, later) = (queue.command_buffer(), queue.command_buffer());
    let ending = Ending { later: later.0, told: Mutex::default() };
    let bytes: *mut c_void = Box::into_raw(Box::new(0u64)).cast();
    // SAFETY: the memory is freed by the deallocator and not before.
    let handle = unsafe { hm_buffer_create_no_copy(device(), bytes, 8, Some(wait_when_freed), context(&ending)) };
    let held = Buffer(handle);
    let nothing = Pipeline::new(kernel("nothing", Entry::Group(nothing), vec![buffer(0, 8)]));
    own.compute(|encoder| {
        encoder.pipeline(&nothing);
        encoder.buffer(&held, 0);
        encoder.threads([1, 1, 1], [1, 1, 1]);
    });
    drop(held);
    // SAFETY: the handle is valid.
    ok(unsafe { hm_command_buffer_enqueue(own.0) });
    later.commit();
    own.commit();
    own.wait();
    later.wait();
    let told = ending.told.lock().unwrap().clone().expect("a text");
    assert!(told.contains("deallocator") && told.contains("never end"), "{told}");
}

#[test]
fn work_in_flight_completes_when_all_else_is_released() {
    let count = AtomicU32::new(0);
    let (gate, list) = (Gate::default(), Mutex::new(Vec::<u32>::new()));
    let done = AtomicBool::new(false);
    unsafe extern "C" fn told(done: *mut c_void) {
        // SAFETY: the flag lives until it is set.
        unsafe { &*done.cast::<AtomicBool>() }.store(true, Ordering::SeqCst);
    }
    {
        let queue = Queue::new();
        let (waits, appends) = (
            gate_pipeline(),
            Pipeline::new(kernel("append", Entry::Group(append), vec![buffer(0, 8), buffer(1, 4), buffer(2, 8)])),
        );
        let command_buffer = queue.command_buffer();
        record_gate(&command_buffer, &waits, &gate);
        let held = no_copy(&count);
        command_buffer.compute(|encoder| {
            encoder.pipeline(&appends);
            encoder.bytes(&ptr::from_ref(&list), 0);
            encoder.bytes(&9u32, 1);
            encoder.buffer(&held, 2);
            encoder.threads([1, 1, 1], [1, 1, 1]);
        });
        // SAFETY: the handle is valid, and the callback takes a flag.
        ok(unsafe { hm_command_buffer_commit(command_buffer.0, None, Some(told), context(&done)) });
    }
    until(|| gate.arrived.load(Ordering::SeqCst) == 1);
    assert_eq!(count.load(Ordering::SeqCst), 0, "the command buffer holds the buffer");
    gate.open.store(true, Ordering::SeqCst);
    until(|| done.load(Ordering::SeqCst));
    assert_eq!(*list.lock().expect("no panic"), [9]);
    assert_eq!(count.load(Ordering::SeqCst), 1, "what a command buffer held is given back before it is told of");
}

#[test]
fn a_deallocator_runs_once() {
    let count = AtomicU32::new(0);
    let buffer = no_copy(&count);
    assert_eq!(buffer.read::<u64>(), [0]);
    drop(buffer);
    assert_eq!(count.load(Ordering::SeqCst), 1);
    // A buffer that is refused leaves the memory to the caller.
    let mut own = 0u64;
    let place: *mut c_void = (&raw mut own).cast();
    // SAFETY: nothing is made.
    let refused = unsafe { hm_buffer_create_no_copy(device(), place, 0, Some(freed), context(&count)) };
    assert!(refused.is_null());
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[test]
fn misuse_of_command_buffers_and_encoders() {
    let queue = Queue::new();
    let command_buffer = queue.command_buffer();
    let raw = command_buffer.0;
    // SAFETY: handles are valid in all calls of this test.
    unsafe {
        assert!(misuse(hm_command_buffer_wait_completed(raw)).expect("a text").contains("not committed"));
        assert!(misuse(hm_command_buffer_wait_scheduled(raw)).expect("a text").contains("not committed"));
        let encoder = command_buffer.encoder(false);
        let mut text = ptr::null();
        assert!(hm_blit_encoder_create(raw, &mut text).is_null());
        assert_eq!(misuse(text).expect("a text"), "A command encoder is already encoding to this command buffer");
        let text = hm_command_buffer_commit(raw, None, None, ptr::null_mut());
        assert_eq!(misuse(text).expect("a text"), "commit command buffer with uncommitted encoder");
        assert!(misuse(hm_blit_fill(encoder.0, Buffer::new(1).0, 0, 1, 0)).expect("a text").contains("blit"));
        assert!(misuse(hm_encoder_pop_group(encoder.0)).is_some());
        hm_encoder_push_group(encoder.0, c"group".as_ptr());
        ok(hm_encoder_pop_group(encoder.0));
        assert!(!hm_encoder_ended(encoder.0));
        ok(encoder.end());
        assert!(hm_encoder_ended(encoder.0));
        assert!(misuse(encoder.end()).is_some());
        assert!(misuse(encoder.try_threads([1, 1, 1], [1, 1, 1])).expect("a text").contains("endEncoding"));
        ok(hm_command_buffer_enqueue(raw));
        assert!(misuse(hm_command_buffer_enqueue(raw)).is_some());
        command_buffer.commit();
        assert!(misuse(hm_command_buffer_commit(raw, None, None, ptr::null_mut())).is_some());
        let mut text = ptr::null();
        assert!(hm_compute_encoder_create(raw, false, &mut text).is_null());
        assert!(misuse(text).is_some());
        assert!(misuse(hm_command_buffer_enqueue(raw)).is_some());
    }
    command_buffer.wait();
    // An encoder that is released without an end can never be ended: commit says so.
    let lost = queue.command_buffer();
    drop(lost.encoder(false));
    // SAFETY: the handle is valid.
    assert!(misuse(unsafe { hm_command_buffer_commit(lost.0, None, None, ptr::null_mut()) }).is_some());
}

unsafe extern "C" fn nothing(_: *const Group) {}

#[test]
fn misuse_of_dispatches() {
    let queue = Queue::new();
    let bindings = vec![buffer(0, 16), threadgroup(4)];
    let code = || kernel("nothing", Entry::Group(nothing), bindings.clone());
    let pipeline = Pipeline::new(code());
    let small = Pipeline::limited(code(), 64, true).expect("it fits");
    assert!(Pipeline::limited(code(), 1025, false).is_err());
    let mut greedy = code();
    greedy.variables = vec![variable(0, 32_769)];
    assert!(Pipeline::limited(greedy, 0, false).err().expect("too much").contains("32768"));
    let mut half = code();
    half.variables = vec![variable(0, 20_000)];
    let half = Pipeline::new(half);
    let command_buffer = queue.command_buffer();
    let encoder = command_buffer.encoder(false);
    let one = [1, 1, 1];
    let says = |text: *const std::ffi::c_char, words: &str| {
        let text = misuse(text).unwrap_or_else(|| panic!("{words} is not said"));
        assert!(text.contains(words), "{words} is not in: {text}");
    };
    says(encoder.try_threads(one, one), "pipeline state");
    encoder.pipeline(&pipeline);
    says(encoder.try_threads(one, one), "missing Buffer binding at index 0");
    let values = Buffer::new(40);
    // SAFETY: handles are valid in all calls of this test.
    unsafe {
        says(hm_compute_set_buffer(encoder.0, values.0, 41, 0), "offset must be <= [buffer length]");
        says(hm_compute_set_buffer(encoder.0, values.0, 0, 31), "index must be < 31");
        says(hm_compute_set_buffer_offset(encoder.0, 0, 3), "no buffer");
        says(hm_compute_set_bytes(encoder.0, ptr::from_ref(&one).cast(), 4097, 0), "must be <= 4096");
        says(hm_compute_set_bytes(encoder.0, ptr::null(), 0, 0), "must be > 0");
        says(hm_compute_set_threadgroup_memory(encoder.0, 8, 0), "multiple of 16");
        says(hm_compute_set_threadgroup_memory(encoder.0, 65_536, 0), "32768");
        says(hm_compute_set_pipeline(encoder.0, HMPipeline::NULL), "nil");
        ok(hm_compute_set_buffer(encoder.0, values.0, 32, 0));
        says(encoder.try_threads(one, one), "less space");
        ok(hm_compute_set_buffer(encoder.0, values.0, 4, 0));
        says(encoder.try_threads(one, one), "multiple of its argument's alignment");
        ok(hm_compute_set_buffer(encoder.0, values.0, 16, 0));
        says(encoder.try_threads(one, one), "missing threadgroupMemory binding at index 4");
        ok(hm_compute_set_threadgroup_memory(encoder.0, 16_000, 4));
    }
    says(encoder.try_threads([0, 1, 1], one), "must not be 0");
    says(encoder.try_groups([1, 0, 1], one), "must not be 0");
    says(encoder.try_threads(one, [0, 1, 1]), "must not be 0");
    says(encoder.try_threads(one, [1025, 1, 1]), "<= 1024");
    says(encoder.try_threads(one, [64, 64, 64]), "<= 1024");
    says(encoder.try_threads(one, [u64::MAX, u64::MAX, 2]), "<= 1024");
    says(encoder.try_threads([1 << 32, 1, 1], one), "2^32");
    says(encoder.try_groups([1 << 31, 1, 1], [2, 1, 1]), "2^32");
    encoder.threads(one, one);
    encoder.pipeline(&small);
    says(encoder.try_threads(one, [128, 1, 1]), "kernel threadgroup size limit");
    says(encoder.try_threads(one, [33, 1, 1]), "multiple of threadExecutionWidth");
    encoder.threads(one, [64, 1, 1]);
    encoder.pipeline(&half);
    says(encoder.try_threads(one, one), "32768 bytes");
    // SAFETY: as above.
    ok(unsafe { hm_compute_set_buffer(encoder.0, HMBuffer::NULL, 0, 0) });
    encoder.pipeline(&pipeline);
    says(encoder.try_threads(one, one), "missing Buffer binding at index 0");
    ok(encoder.end());
    command_buffer.commit();
    command_buffer.wait();
    command_buffer.assert_completed();
}

#[test]
fn many_threads_submit_to_one_queue() {
    let queue = Queue::limited(4);
    let pipeline = Pipeline::new(kernel("nothing", Entry::Group(nothing), vec![]));
    let (handle, code) = (&SendQueue(queue.0), &SendPipeline(pipeline.0));
    let count = &AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(move || {
                for round in 0..300 {
                    // SAFETY: the queue lives as long as the scope.
                    let command_buffer = CommandBuffer(unsafe { hm_command_buffer_create(handle.0) });
                    command_buffer.compute(|encoder| {
                        // SAFETY: as above.
                        ok(unsafe { hm_compute_set_pipeline(encoder.0, code.0) });
                        encoder.threads([round % 40 + 1, 1, 1], [3, 1, 1]);
                    });
                    command_buffer.commit();
                    if round % 3 == 0 {
                        command_buffer.wait();
                        command_buffer.assert_completed();
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), 1800);
    let last = queue.command_buffer();
    last.commit();
    last.wait();
}

struct SendPipeline(HMPipeline);
// SAFETY: MTLComputePipelineState may be used from any thread.
unsafe impl Sync for SendPipeline {}
// SAFETY: MTLCommandQueue may be used from any thread.
unsafe impl Sync for SendQueue {}
