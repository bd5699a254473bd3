//! Functions that call themselves (MSL specification 1.5.4: compute functions since Metal 2.4), in every engine, beside barriers and SIMD-group
//! functions.

use crate::stdlib::*;
use crate::support::*;
use hostmetal::msl::{Engine, MathMode};

fn fibonacci(n: u32) -> u32 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

#[test]
fn functions_call_themselves() {
    let plain = "uint fib(uint n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n\
        kernel void run(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = fib(i % 16); }";
    let barriers = "uint fib(uint n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n\
        kernel void run(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {\n\
        threadgroup uint held[64]; held[t] = fib(t % 16); threadgroup_barrier(mem_flags::mem_threadgroup);\n\
        out[i] = simd_shuffle_xor(held[t ^ 1], ushort(1)); }";
    // Even and odd call each other.
    let mutual = "bool odd(uint n);\nbool even(uint n) { return n == 0 ? true : odd(n - 1); }\nbool odd(uint n) { return n == 0 ? false : even(n - 1); }\n\
        kernel void run(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = even(i) ? fibonacci : 0; }"
        .replace("fibonacci", "1");
    for engine in [Engine::Pass, Engine::Stack] {
        for (source, expected) in [
            (plain, (|i| fibonacci(i % 16)) as fn(u32) -> u32),
            (barriers, |i| fibonacci(i % 64 % 16)),
            (mutual.as_str(), |i| u32::from(i % 2 == 0)),
        ] {
            let out = Buffer::new(256 * 4);
            run(&pipeline(load(source, MathMode::Fast, engine)), &[&out], 256, 64);
            for (i, got) in out.read::<u32>().into_iter().enumerate() {
                assert_eq!(got, expected(i as u32), "thread {i} with {engine:?} of\n{source}");
            }
        }
    }
}
