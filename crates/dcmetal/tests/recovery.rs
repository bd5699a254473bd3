//! What is tried again, how often, where else, and what is not.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{gpu, limits};
use dcmetal::{
    Accelerator, BreakerLimits, Error, ErrorKind, Grid, Origin, Recovery, Retries, StorageMode, SubmissionError, args,
};

const NO_PAUSES: Retries = Retries { count: 3, first_pause: Duration::ZERO, longest_pause: Duration::ZERO };

/// A submission's error of that `MTLCommandBufferError`.
fn submission(code: i64) -> Error {
    Error::Submission(Arc::new(SubmissionError {
        kernels: vec!["k".into()],
        encoders: Vec::new(),
        domain: "MTLCommandBufferErrorDomain".into(),
        code,
        text: "as the test wants it".into(),
        commands: Vec::new(),
        caused_by: None,
    }))
}

/// How a try ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Good,
    Transient,
    Memory,
    Lost,
    Fault,
    User,
    Slow,
}
use End::{Fault, Good, Lost, Memory, Slow, Transient, User};

fn end(end: End) -> dcmetal::Result<u32> {
    match end {
        Good => Ok(7),
        Transient => Err(submission(1)),
        Memory => Err(Error::OutOfMemory { bytes: 1, text: String::new() }),
        Lost => Err(submission(11)),
        Fault => Err(submission(3)),
        User => Err(Error::EmptyBuffer),
        Slow => Err(Error::Timeout { waited: Duration::ZERO }),
    }
}

struct Case {
    name: &'static str,
    /// By device: how each try ends.
    ends: [&'static [End]; 2],
    /// The device that computed it (2: the host), or the kind of the error.
    wanted: Result<usize, ErrorKind>,
    /// Devices that are left.
    left: usize,
}

const CASES: &[Case] = &[
    Case { name: "nothing fails", ends: [&[Good], &[]], wanted: Ok(0), left: 2 },
    Case { name: "it goes away", ends: [&[Transient, Transient, Transient, Good], &[]], wanted: Ok(0), left: 2 },
    Case { name: "it stays", ends: [&[Transient; 4], &[Good]], wanted: Ok(1), left: 2 },
    Case { name: "it stays on both", ends: [&[Transient; 4], &[Transient; 4]], wanted: Ok(2), left: 2 },
    Case { name: "memory comes back", ends: [&[Memory, Good], &[]], wanted: Ok(0), left: 2 },
    Case { name: "memory does not", ends: [&[Memory; 4], &[Memory, Good]], wanted: Ok(1), left: 2 },
    Case { name: "a device goes", ends: [&[Lost], &[Good]], wanted: Ok(1), left: 1 },
    Case { name: "one after the other", ends: [&[Transient, Lost], &[Transient, Good]], wanted: Ok(1), left: 1 },
    Case { name: "both go", ends: [&[Lost], &[Lost]], wanted: Ok(2), left: 0 },
    Case { name: "a kernel's fault is told", ends: [&[Fault], &[]], wanted: Err(ErrorKind::Device), left: 2 },
    Case { name: "also at the second try", ends: [&[Transient, Fault], &[]], wanted: Err(ErrorKind::Device), left: 2 },
    Case { name: "so is a wrong call", ends: [&[User], &[]], wanted: Err(ErrorKind::User), left: 2 },
    Case { name: "what still runs is not begun again", ends: [&[Slow], &[]], wanted: Err(ErrorKind::Timeout), left: 2 },
    Case { name: "also elsewhere", ends: [&[Lost], &[Fault]], wanted: Err(ErrorKind::Device), left: 1 },
];

#[test]
fn work_is_tried_where_and_as_often_as_it_can_help() {
    for Case { name, ends, wanted, left } in CASES {
        let devices = [gpu(), gpu()];
        // Accelerators are told apart by a buffer: only its own takes it.
        let marks = devices.each_ref().map(|gpu| gpu.buffer_from(&[1u8; 4]).unwrap());
        let owner = |gpu: &Accelerator| {
            let mut mine = gpu.buffer_zeroed::<u8>(4).unwrap();
            let owns = |mark: &dcmetal::Buffer<u8>, mine: &mut dcmetal::Buffer<u8>| {
                gpu.batch().unwrap().copy(mark, mine).is_ok()
            };
            marks.iter().position(|mark| owns(mark, &mut mine)).unwrap()
        };
        let tried = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let work = |gpu: &Accelerator| {
            let device = owner(gpu);
            let at = tried[device].fetch_add(1, Ordering::Relaxed);
            end(*ends[device].get(at).unwrap_or_else(|| panic!("{name}: device {device} is tried too often")))
        };
        let recovery = Recovery::new(devices.clone()).retries(NO_PAUSES);
        let outcome = recovery.run_or(work, |_| 9);
        for (tried, ends) in tried.iter().zip(ends) {
            let tried = tried.load(Ordering::Relaxed);
            let needed = ends.iter().position(|end| *end == Good).map_or(ends.len(), |at| at + 1);
            assert_eq!(tried, needed, "{name}: tries");
        }
        match (outcome, wanted) {
            (Ok(result), Ok(wanted)) => {
                let device = match &result.origin {
                    Origin::Device(gpu) => owner(gpu),
                    Origin::Host => 2,
                };
                assert_eq!((device, result.value), (*wanted, if *wanted == 2 { 9 } else { 7 }), "{name}");
                let failed = ends.iter().flat_map(|ends| ends.iter()).filter(|end| **end != Good).count();
                assert_eq!(result.failures.len(), failed, "{name}: {:?}", result.failures);
            }
            (Err(error), Err(kind)) => assert_eq!(error.kind(), *kind, "{name}: {error}"),
            (outcome, wanted) => panic!("{name}: {outcome:?} instead of {wanted:?}"),
        }
        assert_eq!(recovery.devices().len(), *left, "{name}: devices left");
    }
}

#[test]
fn pools_let_go_before_the_next_try() {
    let gpu = gpu();
    let (pool, of_another) = (gpu.pool(limits()), common::gpu().pool(limits()));
    for pool in [&pool, &of_another] {
        drop(pool.buffer::<u8>(4096).unwrap());
    }
    // Staging memory, which the accelerator keeps by itself.
    gpu.buffer_with::<u8>(4096, StorageMode::Private).unwrap().write_from(&[1; 4096]).unwrap();
    let idle = || (pool.stats().idle_buffers, gpu.staging_stats().idle_buffers);
    assert_eq!(idle(), (1, 1));
    let recovery = Recovery::new([gpu.clone()]).retries(NO_PAUSES);
    let work = |_: &Accelerator| match idle() {
        (0, 0) => Ok(()),
        _ => end(Memory).map(drop),
    };
    assert_eq!(recovery.run(work).unwrap().failures.len(), 1);
    assert_eq!(of_another.stats().idle_buffers, 1);
}

#[test]
fn a_device_that_keeps_failing_is_left_alone() {
    let limits = BreakerLimits { failures: 6, pause: Duration::MAX };
    let recovery = Recovery::new([gpu()]).retries(NO_PAUSES).breaker_limits(limits);
    let tries = AtomicUsize::new(0);
    let work = |_: &Accelerator| {
        tries.fetch_add(1, Ordering::Relaxed);
        end(Transient)
    };
    // Four tries, then two: the sixth failure opens it.
    for (wanted, failures) in [(4, 4), (6, 2), (6, 1)] {
        let result = recovery.run_or(work, |_| 9).unwrap();
        assert!(matches!(result.origin, Origin::Host));
        assert_eq!((tries.load(Ordering::Relaxed), result.failures.len()), (wanted, failures));
    }
    assert!(matches!(recovery.run(work), Err(Error::DevicesPaused)));
}

#[test]
fn a_probe_that_panics_does_not_close_the_way() {
    let limits = BreakerLimits { failures: 1, pause: Duration::ZERO };
    let recovery = Recovery::new([gpu()]).retries(Retries { count: 0, ..NO_PAUSES }).breaker_limits(limits);
    assert!(recovery.run(|_| end(Transient)).is_err());
    let panics =
        catch_unwind(AssertUnwindSafe(|| recovery.run(|_| -> dcmetal::Result<u32> { panic!("the work's own") })));
    assert!(panics.is_err());
    assert_eq!(recovery.run(|_| end(Good)).unwrap().value, 7);
}

#[test]
fn devices_are_looked_for_when_all_are_gone() {
    let found = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&found);
    let recovery = Recovery::new([gpu()]).retries(NO_PAUSES).find(move || {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(vec![gpu()])
    });
    assert_eq!(recovery.run(|_| end(Good)).unwrap().value, 7);
    assert_eq!(recovery.run(|_| end(Lost)).unwrap_err().kind(), ErrorKind::DeviceLost);
    assert_eq!((recovery.devices().len(), found.load(Ordering::Relaxed)), (0, 0));
    assert_eq!(recovery.run(|_| end(Good)).unwrap().value, 7);
    assert_eq!((recovery.devices().len(), found.load(Ordering::Relaxed)), (1, 1));
    let nowhere = Recovery::new([]);
    assert!(matches!(nowhere.run(|_| end(Good)), Err(Error::NoDevice { .. })));
}

/// A real kernel's fault: neither hidden by the host's function nor tried again.
#[test]
fn a_fault_of_the_kernel_is_not_recovered_from() {
    let source = "kernel void wild(device uint* y [[buffer(0)]], constant ulong& far [[buffer(1)]]) { y[far] = 1; }";
    let tries = AtomicUsize::new(0);
    let work = |gpu: &Accelerator| {
        tries.fetch_add(1, Ordering::Relaxed);
        let mut y = gpu.buffer_zeroed::<u32>(1)?;
        let wild = gpu.compile_msl(source)?.kernel("wild")?;
        wild.launch(Grid::linear(1), args![&mut y, 1u64 << 22])?.wait()?;
        y.to_vec()
    };
    let error = Recovery::new([gpu()]).retries(NO_PAUSES).run_or(work, |_| vec![1]).unwrap_err();
    assert_eq!((error.kind(), tries.load(Ordering::Relaxed)), (ErrorKind::Device, 1), "{error}");
}

/// Apple, `MTLLibraryError.Code` and `MTLBinaryArchiveError.Code`, by value.
#[test]
fn every_error_of_a_call_has_its_kind() {
    for (domain, code, kind) in [
        ("MTLLibraryErrorDomain", 1, ErrorKind::Unsupported), // unsupported
        ("MTLLibraryErrorDomain", 2, ErrorKind::Transient),   // internal
        ("MTLLibraryErrorDomain", 3, ErrorKind::Device),      // compileFailure: of a pipeline, whose library compiled
        ("MTLLibraryErrorDomain", 5, ErrorKind::User),        // functionNotFound
        ("MTLLibraryErrorDomain", 6, ErrorKind::User),        // fileNotFound
        ("MTLBinaryArchiveDomain", 1, ErrorKind::User),       // invalidFile
        ("MTLBinaryArchiveDomain", 2, ErrorKind::User),       // unexpectedElement
        ("MTLBinaryArchiveDomain", 3, ErrorKind::User),       // compilationFailure
        ("MTLBinaryArchiveDomain", 4, ErrorKind::Transient),  // internalError
        ("NSCocoaErrorDomain", 1, ErrorKind::Device),
    ] {
        let (call, text) = ("try", String::new());
        assert_eq!(Error::Metal { call, domain: domain.into(), code, text }.kind(), kind, "{domain} {code}");
    }
}

/// Apple, `MTLCommandBufferError.Code`, by value.
#[test]
fn every_error_of_a_command_buffer_has_its_kind() {
    for (code, kind) in [
        (1, ErrorKind::Transient),   // internal
        (2, ErrorKind::Device),      // timeout
        (3, ErrorKind::Device),      // pageFault
        (4, ErrorKind::DeviceLost),  // accessRevoked
        (7, ErrorKind::Transient),   // notPermitted
        (8, ErrorKind::Resource),    // outOfMemory
        (9, ErrorKind::Device),      // invalidResource
        (10, ErrorKind::Resource),   // memoryless
        (11, ErrorKind::DeviceLost), // deviceRemoved
        (12, ErrorKind::Device),     // stackOverflow
        (99, ErrorKind::Device),
    ] {
        let error = submission(code);
        assert_eq!(error.kind(), kind, "{code}");
        let Error::Submission(cause) = error else { unreachable!("it was made as one") };
        let after = SubmissionError { code: 3, caused_by: Some(Arc::clone(&cause)), ..(*cause).clone() };
        assert_eq!(after.kind(), kind, "what followed from {code}");
        assert_eq!(Error::Faulted { cause }.kind(), kind, "a buffer that {code} left");
    }
}
