//! Options of a compilation that change what a kernel computes.

use crate::support::{Buffer, Queue};
use hostmetal::msl::{CompileOptions, MathMode, check};

/// How many of `rsqrt` of 1024 values are not those of `metal::precise::rsqrt`.
fn imprecise(math_mode: MathMode, precise_functions: bool) -> usize {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void run(device uint *differ [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n\
          float x = 1.0f + float(i) * 0.37f;\n\
          differ[i] = as_type<uint>(rsqrt(x)) != as_type<uint>(precise::rsqrt(x));\n}\n";
    let options = CompileOptions { math_mode, precise_functions, ..CompileOptions::default() };
    let checked = check(source, &options).unwrap_or_else(|failure| panic!("{failure}"));
    let pipeline = crate::stdlib::pipeline(checked.build("run", &[]).unwrap_or_else(|failure| panic!("{failure}")));
    let differ = Buffer::new(4096);
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&differ, 0);
            encoder.threads([1024, 1, 1], [64, 1, 1]);
        })
        .assert_completed();
    differ.read::<u32>().iter().filter(|differs| **differs == 1).count()
}

#[test]
fn functions_are_precise_where_that_is_asked_for() {
    assert_eq!(imprecise(MathMode::Safe, false), 0);
    assert_eq!(imprecise(MathMode::Fast, true), 0);
    assert_eq!(imprecise(MathMode::Relaxed, true), 0);
    assert!(imprecise(MathMode::Fast, false) > 0, "no value here tells the two apart");
}
