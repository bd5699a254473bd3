//! Faults on purpose: what each rule makes of a call, what is left afterwards, and that it is the same every time.
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "kernels and sequences of calls on the same valid handles")]

mod support;

use std::ffi::{CStr, c_char, c_void};
use std::process::Command;
use std::ptr;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use hostmetal::executor::{Entry, Group};
use hostmetal::faults::{self, Counts};
use hostmetal::ffi::*;
use support::*;

/// Before the engine is used for the first time.
fn settings() {
    static SETTINGS: Once = Once::new();
    SETTINGS.call_once(|| {
        // Short only where the watchdog is waited for.
        let watchdog = if std::env::var_os(CHILD).is_some() { "2" } else { "600" };
        for (name, value) in [("HOSTMETAL_DEVICES", "2"), ("HOSTMETAL_WATCHDOG", watchdog), ("HOSTMETAL_THREADS", "3")]
        {
            // SAFETY: the engine reads its variables when it is used, which each test does after this; nothing else reads them.
            unsafe { std::env::set_var(name, value) };
        }
    });
}

/// The rules are the process's; the tests take turns. Without rules again when dropped.
struct Rules(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Rules {
    fn set(rules: &str) -> Rules {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        settings();
        faults::set(rules).unwrap_or_else(|why| panic!("{why}"));
        Rules(turn)
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        faults::set("").expect("no rules are right");
    }
}

fn counts(site: &str) -> (u64, u64) {
    let Counts { events, injected } = faults::counts(site).expect(site);
    (events, injected)
}

unsafe extern "C" fn add(called: *const Group) {
    // SAFETY: the executor's group; the buffer has an element.
    unsafe { *at::<u32>(group(called), 0, 0) += 1 };
}

fn add_pipeline() -> Pipeline {
    settings();
    Pipeline::new(kernel("add", Entry::Group(add), vec![buffer(0, 4)]))
}

fn record_add(encoder: &Encoder, pipeline: &Pipeline, number: &Buffer) {
    encoder.pipeline(pipeline);
    encoder.buffer(number, 0);
    encoder.threads([1, 1, 1], [1, 1, 1]);
}

/// Two dispatches of a concurrent encoder, a copy, and a dispatch, with signals before and after; returns the number of commands that
/// have run, by what they left.
fn workload(pipeline: &Pipeline, queue: &Queue) -> (CommandBuffer, Event, usize) {
    let numbers = [0u32; 4].map(|zero| Buffer::of(&[zero]));
    let seven = Buffer::of(&[7u32]);
    let event = Event::new();
    let command_buffer = queue.command_buffer();
    command_buffer.signal(&event, 1);
    let encoder = command_buffer.encoder(true);
    record_add(&encoder, pipeline, &numbers[0]);
    record_add(&encoder, pipeline, &numbers[1]);
    ok(encoder.end());
    let encoder = command_buffer.blit();
    // SAFETY: the handles are valid.
    ok(unsafe { hm_blit_copy(encoder.0, seven.0, 0, numbers[2].0, 0, 4) });
    ok(encoder.end());
    command_buffer.compute(|encoder| record_add(encoder, pipeline, &numbers[3]));
    command_buffer.signal(&event, 2);
    command_buffer.commit();
    command_buffer.wait();
    let left = numbers.map(|number| number.read::<u32>()[0]);
    let done = left.iter().take_while(|number| **number != 0).count();
    let mut wanted = [1, 1, 7, 1];
    wanted[done..].fill(0);
    assert_eq!(left, wanted, "commands run in order");
    (command_buffer, event, done)
}

const COMPLETE: u32 = 1;
const PENDING: u32 = 3;
const FAULTED: u32 = 4;

#[test]
fn every_error_can_be_had_before_within_and_after_the_work() {
    let (pipeline, queue) = (add_pipeline(), Queue::new());
    for (error, code) in [
        ("internal", 1),
        ("timeout", 2),
        ("page_fault", 3),
        ("access_revoked", 4),
        ("not_permitted", 7),
        ("out_of_memory", 8),
        ("invalid_resource", 9),
        ("memoryless", 10),
        ("device_removed", 11),
        ("stack_overflow", 12),
    ] {
        for (after, done, states) in [
            ("", 0, [PENDING; 3]),
            (":after=0", 0, [PENDING; 3]),
            (":after=1", 1, [FAULTED, PENDING, PENDING]),
            (":after=2", 2, [FAULTED, PENDING, PENDING]),
            (":after=3", 3, [COMPLETE, FAULTED, PENDING]),
            (":after=4", 4, [COMPLETE, COMPLETE, FAULTED]),
            (":after=5", 4, [COMPLETE, COMPLETE, FAULTED]),
            (":after=end", 4, [COMPLETE, COMPLETE, FAULTED]),
        ] {
            let rule = format!("commit:error={error}{after}:at=2");
            let _rules = Rules::set(&rule);
            for number in 1..=3 {
                let (command_buffer, event, ran) = workload(&pipeline, &queue);
                assert_eq!(event.value(), 2, "signals that are owed are made");
                if number != 2 {
                    command_buffer.assert_completed();
                    assert_eq!(ran, 4);
                    continue;
                }
                assert_eq!(command_buffer.status(), ERROR);
                let (own, text) = command_buffer.error().expect("it failed");
                assert_eq!((own, ran), (code, done), "{rule}: {text}");
                assert!(text.contains(&format!("injected fault: commit #2 of the rule `{rule}`")), "{text}");
                assert_eq!(command_buffer.encoder_states(), states, "{rule}");
            }
            assert_eq!(counts("commit"), (3, 1), "{rule}");
        }
    }
}

/// It goes through its steps in several pieces then.
#[test]
fn a_fault_within_the_work_is_counted_across_waits() {
    let (pipeline, queue, number) = (add_pipeline(), Queue::new(), Buffer::of(&[0u32]));
    for after in 1..=4 {
        let _rules = Rules::set(&format!("commit:error=page_fault:after={after}"));
        let (event, before) = (Event::new(), number.read::<u32>()[0]);
        let command_buffer = queue.command_buffer();
        for turn in 1..=4 {
            command_buffer.signal(&event, turn * 2 - 1);
            command_buffer.wait_for(&event, turn * 2);
            command_buffer.compute(|encoder| record_add(encoder, &pipeline, &number));
        }
        command_buffer.commit();
        for turn in 1..=after {
            assert!(event.wait(turn * 2 - 1, 60_000));
            event.signal(turn * 2);
        }
        command_buffer.wait();
        assert_eq!(command_buffer.error().expect("it fails").0, 3);
        assert_eq!(number.read::<u32>()[0] - before, after as u32);
        assert_eq!(event.value(), 8.max(after * 2) - u64::from(after < 4), "the signals that it owed");
    }
}

#[test]
fn without_work_every_fault_comes_before() {
    settings();
    let queue = Queue::new();
    for rule in ["commit:error=internal", "commit:error=internal:after=1", "commit:error=internal:after=end"] {
        let _rules = Rules::set(rule);
        let command_buffer = queue.command_buffer();
        command_buffer.commit();
        command_buffer.wait();
        assert_eq!(command_buffer.error().expect("it fails").0, 1, "{rule}");
    }
}

#[test]
fn a_commit_that_is_refused_is_none() {
    let (pipeline, queue) = (add_pipeline(), Queue::new());
    let _rules = Rules::set("commit:refuse:at=1");
    let number = Buffer::of(&[0u32]);
    let command_buffer = queue.command_buffer();
    command_buffer.compute(|encoder| record_add(encoder, &pipeline, &number));
    // SAFETY: the handle is valid, and nobody is told.
    let commit = || unsafe { hm_command_buffer_commit(command_buffer.0, None, None, std::ptr::null_mut()) };
    let misuse = commit();
    assert!(!misuse.is_null());
    // SAFETY: a text of the engine's, which lives as long as the program.
    assert_eq!(unsafe { CStr::from_ptr(misuse) }, c"injected fault: the commit is refused");
    assert_eq!((counts("commit"), number.read::<u32>()[0]), ((1, 1), 0));
    ok(commit());
    command_buffer.wait();
    assert_eq!((command_buffer.error(), number.read::<u32>()[0]), (None, 1));
}

#[test]
fn a_slow_command_buffer_takes_longer_and_is_right() {
    let (pipeline, queue) = (add_pipeline(), Queue::new());
    for (rule, error) in [("commit:slow=20ms", None), ("commit:slow=20ms:error=memoryless:after=2", Some((10, 2)))] {
        let _rules = Rules::set(rule);
        let (command_buffer, _, ran) = workload(&pipeline, &queue);
        let own = command_buffer.error().map(|(code, _)| (code, ran));
        assert_eq!(own, error);
        let mut times = HMTimes::default();
        // SAFETY: the handle is valid.
        unsafe { hm_command_buffer_times(command_buffer.0, &mut times) };
        assert!(times.gpu_end - times.gpu_start >= 0.02, "{times:?}");
    }
}

#[test]
fn a_command_buffer_that_takes_for_ever_is_ended_by_the_watchdog() {
    if std::env::var_os(CHILD).is_none() {
        in_a_process("a_command_buffer_that_takes_for_ever_is_ended_by_the_watchdog", &[]);
        return;
    }
    let (pipeline, queue) = (add_pipeline(), Queue::new());
    let _rules = Rules::set("commit:slow=forever:times=1");
    let (command_buffer, event, ran) = workload(&pipeline, &queue);
    let (code, text) = command_buffer.error().expect("it fails");
    assert_eq!((code, ran, event.value()), (2, 0, 2));
    assert!(text.contains("longer than 2 s") && text.contains("injected fault: commit #1"), "{text}");
    workload(&pipeline, &queue).0.assert_completed();
}

/// Runs a test in a process of its own.
fn in_a_process(name: &str, environment: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().expect("the test's own executable"));
    command.args(["--exact", name, "--nocapture"]).env(CHILD, "1").envs(environment.iter().copied());
    let output = command.output().expect("the test starts itself");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_end_that_is_told_late_is_the_same_end() {
    let (pipeline, queue) = (add_pipeline(), Queue::new());
    let _rules = Rules::set("complete:slow=20ms:every=2; commit:error=page_fault:at=4");
    for number in 1..=4 {
        let (command_buffer, _, ran) = workload(&pipeline, &queue);
        let wanted = if number == 4 { (Some(3), 0) } else { (None, 4) };
        assert_eq!((command_buffer.error().map(|(code, _)| code), ran), wanted);
        let mut times = HMTimes::default();
        // SAFETY: the handle is valid.
        unsafe { hm_command_buffer_times(command_buffer.0, &mut times) };
        let late = now() - times.gpu_end;
        assert!(late >= 0.02 || number % 2 == 1, "{late}");
    }
    assert_eq!(counts("complete"), (4, 2));
}

/// Seconds of CLOCK_MONOTONIC.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// What things are made of.
struct Given {
    heap: HMHeap,
    queue: Queue,
    texture: HMTextureDescriptor,
    bytes: Box<[u8; 64]>,
}

/// Makes one thing, gives it back, and tells whether it was there. What is not made is no misuse.
type Make = unsafe fn(&Given, &mut *const c_char) -> bool;

/// By site, and by a name that means several.
const MAKES: &[(&str, &str, Make)] = &[
    ("buffer", "allocation", |_, _| {
        // SAFETY: the device is valid.
        let made = unsafe { hm_buffer_create(device(), 5) };
        // SAFETY: the handle is this function's.
        unsafe { hm_buffer_release(made) };
        !made.is_null()
    }),
    ("buffer", "allocation", |given, _| {
        let bytes = given.bytes.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: the bytes outlive the buffer, and nothing runs on it.
        let made = unsafe { hm_buffer_create_no_copy(device(), bytes, 64, None, ptr::null_mut()) };
        // SAFETY: the handle is this function's.
        unsafe { hm_buffer_release(made) };
        !made.is_null()
    }),
    ("buffer", "allocation", |given, misuse| {
        // SAFETY: the heap is valid.
        let made = unsafe { hm_heap_buffer_create(given.heap, 5, ptr::null(), misuse) };
        // SAFETY: the handle is this function's.
        unsafe { hm_buffer_release(made) };
        !made.is_null()
    }),
    ("buffer", "allocation", |_, misuse| {
        let kinds = HMCommandsDescriptor {
            threadgroups: true,
            threads: false,
            inherit_buffers: false,
            inherit_pipeline: false,
            buffers: 1,
            memory: 0,
            strides: false,
        };
        // SAFETY: the device is valid.
        let made = unsafe { hm_commands_create(device(), &kinds, 3, misuse) };
        // SAFETY: the handle is this function's.
        unsafe { hm_commands_release(made) };
        !made.is_null()
    }),
    ("texture", "allocation", |given, misuse| {
        // SAFETY: the device is valid.
        let made = unsafe { hm_texture_create(device(), &given.texture, misuse) };
        // SAFETY: the handle is this function's.
        unsafe { hm_texture_release(made) };
        !made.is_null()
    }),
    ("texture", "allocation", |given, misuse| {
        // SAFETY: the heap is valid.
        let made = unsafe { hm_heap_texture_create(given.heap, &given.texture, ptr::null(), misuse) };
        // SAFETY: the handle is this function's.
        unsafe { hm_texture_release(made) };
        !made.is_null()
    }),
    ("heap", "allocation", |_, _| {
        // SAFETY: the device is valid.
        let made = unsafe { hm_heap_create(device(), 4096, true) };
        // SAFETY: the handle is this function's.
        unsafe { hm_heap_release(made) };
        !made.is_null()
    }),
    ("queue", "queue", |_, _| {
        // SAFETY: the device is valid.
        let made = unsafe { hm_queue_create(device(), 4) };
        // SAFETY: the handle is this function's.
        unsafe { hm_queue_release(made) };
        !made.is_null()
    }),
    ("command_buffer", "command_buffer", |given, _| {
        // SAFETY: the queue is valid.
        let made = unsafe { hm_command_buffer_create(given.queue.0) };
        // SAFETY: the handle is this function's.
        unsafe { hm_command_buffer_release(made) };
        !made.is_null()
    }),
    ("encoder", "encoder", |given, misuse| {
        let command_buffer = given.queue.command_buffer();
        // SAFETY: the handle is valid.
        end(&command_buffer, unsafe { hm_compute_encoder_create(command_buffer.0, false, misuse) })
    }),
    ("encoder", "encoder", |given, misuse| {
        let command_buffer = given.queue.command_buffer();
        // SAFETY: the handle is valid.
        end(&command_buffer, unsafe { hm_blit_encoder_create(command_buffer.0, misuse) })
    }),
];

/// Ends an encoder, if it is one, and runs its command buffer, which can be committed either way.
fn end(command_buffer: &CommandBuffer, encoder: HMEncoder) -> bool {
    let made = !encoder.is_null();
    if made {
        ok(Encoder(encoder).end());
    }
    command_buffer.commit();
    command_buffer.wait();
    command_buffer.assert_completed();
    made
}

#[test]
fn what_cannot_be_made_is_nil_and_takes_nothing() {
    let given = {
        let _rules = Rules::set("");
        // SAFETY: the device is valid.
        let heap = unsafe { hm_heap_create(device(), 1 << 16, false) };
        Given { heap, queue: Queue::new(), texture: texture(TEXTURE_2D, 70, [4, 4, 1]), bytes: Box::new([0; 64]) }
    };
    for (at, (site, group, make)) in MAKES.iter().enumerate() {
        for name in [*site, *group] {
            let _rules = Rules::set(&format!("{name}:at=2; {name}:device=1"));
            // SAFETY: the device is valid.
            let allocated = || unsafe { hm_device_current_allocated_size(device()) };
            let (before, mut misuse) = (allocated(), ptr::null());
            // SAFETY: the handles of what is given are valid.
            let made = [(); 3].map(|()| unsafe { make(&given, &mut misuse) });
            assert_eq!((made, allocated()), ([true, false, true], before), "{name}, {at}");
            assert!(misuse.is_null(), "{name}, {at}: what is not made is no misuse");
            assert_eq!((counts(site), counts(group)), ((3, 1), (3, 1)), "{name}, {at}");
        }
    }
    // SAFETY: the handle is this test's.
    unsafe { hm_heap_release(given.heap) };
}

/// Code and text of what a compilation ended with.
fn taken(error: HMError) -> Failed {
    if error.message.is_null() {
        return None;
    }
    // SAFETY: the engine gave the text.
    let text = unsafe { CStr::from_ptr(error.message) }.to_str().expect("UTF-8").to_owned();
    // SAFETY: as above; it is not used again.
    unsafe { hm_string_release(error.message) };
    Some((error.code, text))
}

/// Code and text.
type Failed = Option<(i64, String)>;

/// The error of the library, and that of the pipeline.
fn compile() -> (Failed, Failed) {
    let source = "kernel void nothing() {}";
    let mut error = HMError::NONE;
    // SAFETY: the source is as long as said; handles are released once.
    unsafe {
        let library = hm_library_create(device(), source.as_ptr().cast(), source.len(), ptr::null(), &mut error);
        if library.is_null() {
            return (taken(error), None);
        }
        let function = hm_function_create(library, c"nothing".as_ptr(), ptr::null(), 0, &mut error);
        let pipeline = hm_pipeline_create(device(), function, ptr::null(), &mut error);
        hm_pipeline_release(pipeline);
        hm_function_release(function);
        hm_library_release(library);
    }
    (None, taken(error))
}

#[test]
fn compilations_fail_or_are_slow() {
    {
        let _rules = Rules::set("");
        assert_eq!(compile(), (None, None));
    }
    for (rule, library, code) in [
        ("compile", true, 3),
        ("compile:error=compile_failure", true, 3),
        ("compile:error=internal", true, 2),
        ("compile:error=unsupported:slow=1ms", true, 1),
        ("pipeline", false, 2),
        ("pipeline:error=compile_failure", false, 3),
        ("pipeline:error=unsupported", false, 1),
    ] {
        let rule = format!("{rule}:at=2");
        let _rules = Rules::set(&rule);
        assert_eq!(compile(), (None, None));
        let failed = compile();
        let own = if library { failed.0 } else { failed.1 };
        let (site, _) = rule.split_once(':').expect("it has keys");
        assert_eq!(own, Some((code, format!("injected fault: {site} #2 of the rule `{rule}`"))));
        assert_eq!(compile(), (None, None));
        assert_eq!(counts(site), (3, 1));
    }
    let _rules = Rules::set("compile:slow=20ms; pipeline:slow=20ms");
    let before = now();
    assert_eq!(compile(), (None, None));
    assert!(now() - before >= 0.04);
    assert_eq!((counts("compile"), counts("pipeline")), ((1, 1), (1, 1)));
}

#[test]
fn a_device_is_removed_where_a_rule_says() {
    let _rules = Rules::set("commit:remove:at=3:device=1; commit:error=page_fault:at=5:device=0");
    let other = hm_device_at(1);
    // SAFETY: the device is valid.
    let queue = Queue(unsafe { hm_queue_create(other, 4) });
    let run = |queue: &Queue| {
        let command_buffer = queue.command_buffer();
        command_buffer.commit();
        command_buffer.wait();
        command_buffer.error()
    };
    let first = Queue::new();
    for _ in 0..2 {
        assert_eq!((run(&queue), run(&first)), (None, None));
    }
    let (code, text) = run(&queue).expect("the device goes");
    assert_eq!(code, 11);
    let words = "was removed: injected fault: commit #3 of the rule `commit:remove:at=3:device=1`";
    assert!(text.contains(words), "{text}");
    // SAFETY: the device is valid.
    assert!(unsafe { hm_device_removed(other) } && hm_device_at(1).is_null());
    let (code, text) = run(&queue).expect("it has gone");
    assert!(code == 11 && !text.contains("injected"), "{text}");
    assert_eq!((0..2).map(|_| run(&first)).collect::<Vec<_>>(), [None, None]);
    assert_eq!(run(&first).expect("the fifth of its own").0, 3);
    // What comes in its place stays.
    assert!(hm_device_add(1));
    // SAFETY: the device is valid.
    let queue = Queue(unsafe { hm_queue_create(hm_device_at(1), 4) });
    assert!((0..5).all(|_| run(&queue).is_none()));
}

/// Which of so many command buffers fail, one after the other.
fn fates(count: usize) -> Vec<bool> {
    let queue = Queue::new();
    (0..count)
        .map(|_| {
            let command_buffer = queue.command_buffer();
            command_buffer.commit();
            command_buffer.wait();
            command_buffer.status() == ERROR
        })
        .collect()
}

#[test]
fn a_seed_means_the_same_faults_every_time() {
    const RULES: &str = "seed=11; commit:p=0.2";
    let alone = {
        let _rules = Rules::set(RULES);
        fates(400)
    };
    assert!(alone.iter().any(|failed| *failed) && !alone.iter().all(|failed| *failed));
    let among = {
        let _rules = Rules::set("seed=11; buffer:p=0.5; compile; commit:p=0.2; complete:slow=1us:p=0.3");
        let allocating = std::thread::spawn(|| {
            for _ in 0..200 {
                // SAFETY: the device is valid; NULL is no handle.
                unsafe { hm_buffer_release(hm_buffer_create(device(), 1)) };
            }
        });
        let fates = fates(400);
        allocating.join().expect("it does not panic");
        fates
    };
    assert_eq!(among, alone);
    // Threads share the events of the site.
    let _rules = Rules::set(RULES);
    let together: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| fates(100))).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("it does not panic"))
            .filter(|failed| *failed)
            .count()
    });
    assert_eq!(together, alone.iter().filter(|failed| **failed).count());
    assert_eq!(counts("commit"), (400, together as u64));
}

#[test]
fn rules_that_mean_nothing_change_nothing() {
    let _rules = Rules::set("buffer:at=1");
    assert_eq!(faults::set("buffer:at=2; quue"), Err("`quue`: unknown site `quue`: expected allocation, buffer, texture, heap, queue, command_buffer, encoder, compile, pipeline, archive, commit, complete, event, fence, sampler".to_owned()));
    let mut error = HMError::NONE;
    // SAFETY: the text ends with NUL, and error is a place for the answer.
    assert!(!unsafe { hm_faults_set(c"commit:p=2".as_ptr(), &mut error) });
    assert_eq!(taken(error).expect("why").1, "`commit:p=2`: p: expected a probability from 0 to 1");
    // SAFETY: the device is valid.
    assert!(unsafe { hm_buffer_create(device(), 1) }.is_null());
    let (mut events, mut injected) = (9, 9);
    // SAFETY: the texts end with NUL, and the numbers are places for the answer.
    unsafe {
        assert!(hm_faults_count(c"buffer".as_ptr(), &mut events, &mut injected));
        assert_eq!((events, injected), (1, 1));
        assert!(!hm_faults_count(c"bufer".as_ptr(), &mut events, &mut injected));
    }
    assert_eq!(faults::counts("bufer"), None);
    // A seed alone lets calls be counted.
    faults::set("seed=1").expect("right text");
    Buffer::new(1);
    assert_eq!(counts("allocation"), (1, 0));
    faults::set("").expect("right text");
    Buffer::new(1);
    assert_eq!(counts("allocation"), (0, 0));
}

const CHILD: &str = "HOSTMETAL_TEST_CHILD";

/// From the environment, and a compiler that never ends.
#[test]
fn the_environment_gives_rules_and_a_stalled_compiler_has_its_deadline() {
    if std::env::var_os(CHILD).is_some() {
        let (error, _) = compile();
        let (code, text) = error.expect("it never ends");
        let words = "the compiler was stopped: it took longer than 10 s: injected fault: compile #1 of the rule `compile:slow=forever:times=1`";
        assert_eq!((code, text.as_str()), (2, words));
        assert_eq!(counts("compile"), (1, 1));
        return;
    }
    let name = "the_environment_gives_rules_and_a_stalled_compiler_has_its_deadline";
    let rules = ("HOSTMETAL_FAULTS", "seed=3; compile:slow=forever:times=1");
    in_a_process(name, &[rules, ("HOSTMETAL_COMPILE_TIMEOUT", "10")]);
}
