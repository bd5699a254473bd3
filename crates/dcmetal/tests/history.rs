//! What the error of a submission tells of its commands.
#![cfg(target_os = "linux")] // hostmetal ends a division by zero

mod common;

use std::sync::Arc;

use common::{gpu, msl};
use dcmetal::{Accelerator, Arg, Error, Grid, Result, StorageMode, StreamLimits, SubmissionError, args};

const OVER: &str = "kernel void over(device int* y [[buffer(0)]], constant int& by [[buffer(1)]]) { y[0] = 7 / by; }";

fn cause<T>(result: Result<T>) -> Arc<SubmissionError> {
    match result.err().expect("it divides by zero") {
        Error::Submission(cause) | Error::Faulted { cause } => cause,
        error => panic!("{error}"),
    }
}

fn commands(gpu: &Accelerator) -> Arc<SubmissionError> {
    let over = msl(gpu, OVER, "over");
    let pass = msl(
        gpu,
        "struct Two { float a; int b; };
         kernel void pass(device const float* x [[buffer(0)]], constant packed_float2& v [[buffer(1)]], constant Two& two [[buffer(2)]],
                          threadgroup int* t [[threadgroup(0)]]) {}",
        "pass",
    );
    let (x, mut y) = (gpu.buffer_from(&[1.0f32, 2.0, 3.0]).unwrap(), gpu.buffer_zeroed::<i32>(4).unwrap());
    let mut z = gpu.buffer_with::<i32>(4, StorageMode::Private).unwrap();
    z.set_label("z").unwrap();
    let event = gpu.event().unwrap();
    let mut batch = gpu.batch().unwrap();
    batch.fill(&mut z, 3).unwrap();
    batch.copy(y.view(1..3).unwrap(), z.view_mut(2..4).unwrap()).unwrap();
    let args = args![
        x.view(1..).unwrap(),
        [1.5f32, -2.0],
        Arg::bytes(&[0, 0, 0x80, 0x3f, 255, 0, 0, 1]),
        Arg::threadgroup::<i32>(4)
    ];
    batch.launch(&pass, Grid::threadgroups((2u32, 3u32), 8u32), args).unwrap();
    // What is refused was not recorded.
    assert!(batch.launch(&over, Grid::linear(0), args![&mut y, 1]).is_err());
    batch.launch(&over, Grid::linear(1), args![y.view_mut(1..2).unwrap(), 0]).unwrap();
    batch.signal(&event, 5).unwrap();
    cause(batch.submit().unwrap().wait())
}

#[test]
fn errors_tell_what_was_recorded_if_it_was_asked_for() {
    let gpu = gpu();
    let without = commands(&gpu);
    assert!(without.commands.is_empty());
    assert_eq!(format!("{without:#}"), without.to_string());
    gpu.set_history(true);
    let with = commands(&gpu);
    assert_eq!(
        with.commands,
        [
            "0: fill bytes 0 to 16 of `z` with 3",
            "1: copy bytes 4 to 12 of a buffer of 16 to bytes 8 to 16 of `z`",
            "2: pass, 2x3x1 threadgroups of 8x1x1: x = bytes 4 to 12 of a buffer of 12, v = f32 [1.5, -2], \
             two = 8 bytes 0000803fff000001, t = 16 bytes of threadgroup memory",
            "3: over, 1x1x1 threads in threadgroups of 1x1x1: y = bytes 4 to 8 of a buffer of 16, by = i32 0",
            "4: signal an event, 5",
        ]
    );
    let lines: String = with.commands.iter().map(|line| format!("\n  {line}")).collect();
    assert_eq!(format!("{with:#}"), format!("{with}{lines}"));
    gpu.set_history(false);
    assert!(commands(&gpu).commands.is_empty());
}

#[test]
fn the_last_thousand_commands_of_a_stream_are_kept() {
    let gpu = gpu();
    gpu.set_history(true);
    let over = msl(&gpu, OVER, "over");
    let mut y = gpu.buffer_zeroed::<i32>(1).unwrap();
    let stream = gpu.stream(StreamLimits {
        commands: 5000,
        age: std::time::Duration::from_secs(600),
        ..StreamLimits::default()
    });
    for step in 0..1500 {
        stream.launch(&over, Grid::linear(1), args![&mut y, 1499 - step]).unwrap();
    }
    let cause = cause(stream.wait());
    assert_eq!(cause.commands.len(), 1000);
    let starts = cause.commands.iter().zip(500..).all(|(line, number)| line.starts_with(&format!("{number}: over, ")));
    assert!(starts && cause.commands[999].ends_with("by = i32 0"), "{:?}", cause.commands.last());
}
