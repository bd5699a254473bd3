//! References to constants are of the buffer's own memory where a program can tell: by its address, or by what is behind it.

use crate::stdlib::*;
use crate::support::*;
use hostmetal::msl::{Engine, MathMode};

#[test]
fn what_is_behind_a_reference_is_the_buffers() {
    let cases = [
        ("constant float &x [[buffer(1)]]", "(&x)[i]"),
        ("constant float &x [[buffer(1)]]", "*(&x + i)"),
        ("constant float &x [[buffer(1)]]", "((constant float *)&x)[i]"),
        ("constant float &x [[buffer(1)]]", "(&(x))[i]"),
        ("constant float &x [[buffer(1)]]", "at(x, i)"),
        ("constant Table &x [[buffer(1)]]", "x.values[i]"),
        ("constant Open &x [[buffer(1)]]", "i ? x.more[i] : x.first"),
    ];
    let values: Vec<f32> = (0..256).map(|i| 0.5 + i as f32).collect();
    for engine in [Engine::Pass, Engine::Stack] {
        for barrier in ["", "threadgroup_barrier(mem_flags::mem_none);"] {
            for (parameter, expression) in cases {
                let shift = usize::from(parameter.contains("Open"));
                let text = format!(
                    "struct Table {{ float values[1]; }};\nstruct Open {{ float first; float more[1]; }};\n\
                     float at(constant float &x, uint i) {{ return (&x)[i]; }}\n\
                     kernel void run(device float *out [[buffer(0)]], {parameter}, uint i [[thread_position_in_grid]]) {{ {barrier} out[i] = {expression}; }}"
                );
                let (out, x) = (Buffer::new(256 * 4), Buffer::of(&values));
                run(&pipeline(load(&text, MathMode::Fast, engine)), &[&out, &x], 255, 64);
                for (i, got) in out.read::<f32>().into_iter().take(255).enumerate() {
                    let at = if i == 0 { 0 } else { i + shift };
                    assert_eq!(got, values[at], "thread {i} with {engine:?} of {parameter}, {expression} {barrier}");
                }
            }
        }
    }
}

/// An address that is kept is of memory that stays: the next kernel reads it there.
#[test]
fn the_address_of_a_reference_is_the_buffers() {
    let text = "struct Kept { constant float *one; constant float *other; };\n\
        kernel void run(device Kept *out [[buffer(0)]], constant float4 &x [[buffer(1)]], constant float2 (&y)[2] [[buffer(2)]],\n\
        uint i [[thread_position_in_grid]]) { out[i].one = (constant float *)&x; out[i].other = (constant float *)&y[1]; }";
    for engine in [Engine::Pass, Engine::Stack] {
        let (out, x, y) = (Buffer::new(64 * 16), Buffer::new(16), Buffer::new(16));
        run(&pipeline(load(text, MathMode::Fast, engine)), &[&out, &x, &y], 64, 64);
        let wanted = [x.contents() as u64, y.contents() as u64 + 8];
        for (i, got) in out.read::<[u64; 2]>().into_iter().enumerate() {
            assert_eq!(got, wanted, "thread {i} with {engine:?}");
        }
    }
}
