//! A logger of the user's that panics at whatever it is told: nothing ends by it, and nothing ends otherwise.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::time::Duration;

use common::{gpu, msl};
use dcmetal::telemetry::{OtlpExporter, OtlpSettings};
use dcmetal::{BreakerLimits, CompileOptions, Error, Grid, PageVec, Recovery, Retries, args};

struct Panics;

impl log::Log for Panics {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        !metadata.target().starts_with("dcmetal") || resume_unwind(Box::new("asked"))
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.target().starts_with("dcmetal") {
            resume_unwind(Box::new("told"));
        }
    }

    fn flush(&self) {}
}

fn listen() {
    // The second is told that there is one.
    let _ = log::set_logger(&Panics);
    log::set_max_level(log::LevelFilter::Trace);
}

#[test]
fn what_is_compiled_is_there() {
    const SOURCE: &str = "kernel void one(device uint* y [[buffer(0)]]) { *y = 1; }";
    listen();
    for counts in [false, true] {
        let gpu = gpu();
        if counts {
            gpu.telemetry();
        }
        gpu.start_msl(SOURCE, &CompileOptions::default(), Duration::MAX).wait().unwrap();
        let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
        msl(&gpu, SOURCE, "one").launch(Grid::linear(1), args![&mut y]).unwrap().wait().unwrap();
        assert_eq!(y.to_vec().unwrap(), [1]);
        gpu.compile_msl("kernel void one( {}").unwrap_err();
    }
}

/// Metal lets memory in place go, and knows of no panic.
#[test]
fn memory_whose_owner_panics_is_let_go() {
    struct Owner(PageVec<u32>);
    impl Drop for Owner {
        fn drop(&mut self) {
            resume_unwind(Box::new("owner"));
        }
    }
    listen();
    let gpu = gpu();
    let mut owner = Owner(PageVec::from_slice(&[7u32; 100]).unwrap());
    let start = NonNull::new(owner.0.as_mut_ptr()).expect("memory");
    // SAFETY: pages that the owner keeps, and nobody else reaches.
    let pages = unsafe { PageVec::from_raw(start, 100, owner) }.unwrap();
    drop(gpu.buffer_no_copy(pages).unwrap());
    assert_eq!(gpu.buffer_from(&[1u32, 2]).unwrap().to_vec().unwrap(), [1, 2]);
}

/// Also while the work's own panic unwinds: a second one would end the process.
#[test]
fn work_is_tried_again_and_devices_are_left_alone() {
    listen();
    let limits = BreakerLimits { failures: 1, pause: Duration::ZERO };
    let once = Retries { count: 0, ..Retries::default() };
    let recovery = Recovery::new([gpu()]).retries(once).breaker_limits(limits);
    let transient =
        || Error::Metal { call: "try", domain: "MTLLibraryErrorDomain".into(), code: 2, text: String::new() };
    recovery.run(|_| Err::<(), _>(transient())).unwrap_err();
    let panic =
        catch_unwind(AssertUnwindSafe(|| recovery.run(|_| -> dcmetal::Result<()> { resume_unwind(Box::new(7)) })));
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&7), "the work's own");
    assert_eq!(recovery.run(|_| Ok(5)).unwrap().value, 5);
}

#[test]
fn an_exporter_goes_on() {
    listen();
    let gpu = gpu();
    let never = Duration::MAX;
    let settings = OtlpSettings::new("http://127.0.0.1:1");
    let settings = OtlpSettings { metrics_interval: never, spans_interval: never, closing: Duration::ZERO, ..settings };
    let exporter = OtlpExporter::start(settings, vec![gpu.telemetry()]).unwrap();
    let flush = || {
        let error = exporter.flush(Duration::from_secs(1)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut, "{error}");
    };
    while exporter.stats().failures == 0 {
        flush();
    }
    // The thread is there after it has told of a failure.
    flush();
}
