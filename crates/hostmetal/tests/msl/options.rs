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

/// A variable is what it was when it was set: under fast math a sum that is computed again behind a barrier may be fused with its product there, and not before.
#[test]
fn what_fast_math_found_does_not_change_behind_a_barrier() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void run(device uint *differ [[buffer(0)]], device float *out [[buffer(1)]], constant float *s [[buffer(2)]],\n\
                        uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {\n\
          threadgroup uint before[64];\n\
          const float product = float(i) * s[0];\n\
          const bool is_large = product + s[1] >= 1.0f;\n\
          out[i] = product;\n\
          before[t] = is_large;\n\
          threadgroup_barrier(mem_flags::mem_threadgroup);\n\
          differ[i] = before[t] != uint(is_large);\n}\n";
    let options = CompileOptions { math_mode: MathMode::Fast, ..CompileOptions::default() };
    let checked = check(source, &options).unwrap_or_else(|failure| panic!("{failure}"));
    let pipeline = crate::stdlib::pipeline(checked.build("run", &[]).unwrap_or_else(|failure| panic!("{failure}")));
    let (differ, out) = (Buffer::new(1024), Buffer::new(1024));
    for step in 1..40 {
        for at in 1..40 {
            // Near 1 where i is `at`.
            let s = step as f32 * 0.05;
            Queue::new()
                .run(|encoder| {
                    encoder.pipeline(&pipeline);
                    encoder.buffer(&differ, 0);
                    encoder.buffer(&out, 1);
                    encoder.bytes(&[s, 1.0 - at as f32 * s], 2);
                    encoder.threads([256, 1, 1], [64, 1, 1]);
                })
                .assert_completed();
            let wrong = differ.read::<u32>().iter().position(|differs| *differs != 0);
            assert_eq!(wrong, None, "{s}, {at}");
        }
    }
}
