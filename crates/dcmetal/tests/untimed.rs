//! A Metal that tells no times of the device, or times that are none: "unsupported", and never a figure. On Linux only, where the
//! class of hostmetal's command buffers is told what to answer; hostmetal itself always tells times.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::{gpu, msl};
use dcmetal::telemetry::chrome_trace;
use dcmetal::{Error, ErrorKind, Grid, args};
use serde_json::Value;

type Method = extern "C" fn(*mut c_void, *mut c_void) -> f64;

// Of the Objective-C runtime that hostmetal is linked with.
unsafe extern "C" {
    fn objc_getClass(name: *const c_char) -> *mut c_void;
    fn sel_registerName(name: *const c_char) -> *mut c_void;
    fn class_getInstanceMethod(class: *mut c_void, selector: *mut c_void) -> *mut c_void;
    fn method_setImplementation(method: *mut c_void, implementation: *const c_void) -> *mut c_void;
}

/// The bits of what is answered.
static TOLD: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

extern "C" fn start(_this: *mut c_void, _selector: *mut c_void) -> f64 {
    f64::from_bits(TOLD[0].load(Ordering::SeqCst))
}

extern "C" fn end(_this: *mut c_void, _selector: *mut c_void) -> f64 {
    f64::from_bits(TOLD[1].load(Ordering::SeqCst))
}

/// Has command buffers answer `selector`, a property of seconds, by `method`.
fn answer(selector: &CStr, method: Method) {
    // SAFETY: a terminated string; the class is there when the program starts.
    let class = unsafe { objc_getClass(c"HostMTLCommandBuffer".as_ptr()) };
    assert!(!class.is_null(), "hostmetal's class");
    // SAFETY: a terminated string.
    let selector = unsafe { sel_registerName(selector.as_ptr()) };
    // SAFETY: a class and a selector of the runtime's.
    let property = unsafe { class_getInstanceMethod(class, selector) };
    assert!(!property.is_null(), "the property is there");
    // SAFETY: a method of the class that takes no arguments and returns a double, as `method` does.
    unsafe { method_setImplementation(property, method as *const c_void) };
}

#[test]
fn times_that_are_none_are_unsupported() {
    answer(c"GPUStartTime", start);
    answer(c"GPUEndTime", end);
    let gpu = gpu();
    let increment = msl(&gpu, "kernel void increment(device uint* y [[buffer(0)]]) { *y += 1; }", "increment");
    let mut y = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
    let telemetry = gpu.telemetry();
    telemetry.record_spans(1);
    let (mut timed, mut untimed) = (0, 0);
    for (number, (start, end, wanted)) in [
        // What Metal answers before a command buffer has ended, and some systems afterwards.
        (0.0, 0.0, None),
        (0.0, 12.5, None),
        (12.5, 0.0, None),
        (12.5, 12.25, None),
        (-2.0, -1.0, None),
        (f64::NAN, 12.5, None),
        (12.5, f64::NAN, None),
        (12.5, 12.5, Some(Duration::ZERO)),
        (12.5, 12.75, Some(Duration::from_millis(250))),
    ]
    .into_iter()
    .enumerate()
    {
        for (told, seconds) in TOLD.iter().zip([start, end]) {
            told.store(f64::to_bits(seconds), Ordering::SeqCst);
        }
        let submission = increment.launch(Grid::linear(1), args![&mut y]).expect("a launch");
        submission.wait().expect("the time is not needed");
        assert_eq!(y.to_vec().expect("it can be read"), [number as u32 + 1]);
        match (submission.gpu_time(), wanted) {
            (Ok(time), Some(wanted)) => assert_eq!(time, wanted, "{start} to {end}"),
            (Err(error @ Error::Unsupported { .. }), None) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                let text = error.to_string();
                assert!(text.contains("time of a submission") && text.contains("unsupported"), "{text}");
            }
            (time, wanted) => panic!("{start} to {end}: {time:?}, not {wanted:?}"),
        }
        *if wanted.is_some() { &mut timed } else { &mut untimed } += 1;
        let snapshot = telemetry.snapshot();
        assert_eq!((snapshot.device_time.count(), snapshot.untimed), (timed, untimed), "{start} to {end}");
        assert_eq!((snapshot.succeeded, snapshot.latency.count()), (timed + untimed, timed + untimed));
        assert_eq!(snapshot.device_time.max(), wanted.unwrap_or_default(), "only the last has one");
        let spans = telemetry.take_spans();
        assert_eq!(spans.submissions[0].device_time(), wanted, "{start} to {end}");
        let trace: Value = serde_json::from_str(&chrome_trace("device", &spans)).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let shown: Vec<&Value> =
            events.iter().map(|event| &event["args"]["device_us"]).filter(|v| !v.is_null()).collect();
        match wanted {
            None => assert_eq!(shown, ["unsupported"]),
            Some(time) => assert_eq!(shown, [&Value::from(time.as_nanos() as f64 / 1e3)]),
        }
    }
}
