//! Kernels that do not end, in loops that the LLVM pass makes and on stacks: the watchdog ends their command buffer, and the next one runs.
//! HOSTMETAL_WATCHDOG is short in this process.

mod stdlib;
mod support;

use hostmetal::msl::{Built, Engine, MathMode};
use stdlib::*;
use support::{Buffer, Queue};

const FLAGS: &str = "\
    #define SET(t) atomic_store_explicit((device atomic_uint *)out + 128 + (t), 1u, memory_order_relaxed);\n\
    #define IS_SET(t) atomic_load_explicit((device atomic_uint *)out + 128 + (t), memory_order_relaxed)\n";
const WAIT: &str = "threadgroup_barrier(mem_flags::mem_device);";

/// Bodies for threadgroups of 64, where `p[0]` is 1: with a loop of one thread, of all threads, and of a SIMD-group that never end; and loops
/// that many threads go through at once (`true`), with barriers and without (`Built::Loop`). In the first two a thread waits without a barrier for
/// another one of its threadgroup, which comes behind it or before it.
const BODIES: [(&str, Built, bool); 10] = [
    ("SET(t) while (!IS_SET(t ^ 1)) {} out[t] = t;", Built::Loop, false),
    ("WAIT SET(t) while (!IS_SET(t ^ 1)) {} WAIT out[t] = t;", Built::Pass, false),
    ("WAIT if (t == 40) while (p[0] == 1) out[200] += 1; WAIT out[t] = t;", Built::Pass, false),
    ("uint k = 0; while (p[0] == 1) { WAIT k++; } out[t] = k;", Built::Pass, false),
    ("uint k = t; do { out[t] = k++; WAIT out[64 + t] = out[63 - t]; WAIT } while (p[0] == 1);", Built::Pass, false),
    ("uint k = 0; while (p[0] == 1) k += simd_sum(t + k); out[t] = k;", Built::Pass, false),
    ("WAIT for (uint k = 0; simd_any(k < t + p[0]); k = k % 7) out[t] = k; WAIT", Built::Pass, false),
    ("uint k = t; do k = k * 5 + out[t]; while (p[0] == 1); out[64 + t] = k;", Built::Loop, true),
    ("uint k = t, j = 0; while (out[j & 31] != 1) { k = (k ^ j) * 5; j++; } out[64 + t] = k;", Built::Loop, true),
    (
        "threadgroup uint s[64]; s[t] = t; WAIT uint k = t, j = 0; while (p[0] == 1) { k = k * 3 + s[j & 63]; j += 5; } WAIT out[t] = k;",
        Built::Pass,
        true,
    ),
];

#[test]
fn endless_kernels_time_out_on_both_engines() {
    // SAFETY: this is the only test of its process; the engine reads its variables when the first queue runs, which is after this.
    unsafe { std::env::set_var("HOSTMETAL_WATCHDOG", "0.5") };
    let has_pass = {
        let text =
            "kernel void run(device uint *p [[buffer(0)]]) { threadgroup_barrier(mem_flags::mem_none); p[0] = 1; }";
        *load(text, MathMode::Safe, Engine::Pass).built() == Built::Pass
    };
    for (body, built, in_tiles) in BODIES {
        let source = format!(
            "{FLAGS}kernel void run(device uint *out [[buffer(0)]], constant uint *p [[buffer(1)]], uint t [[thread_index_in_threadgroup]]) {{ {} }}",
            body.replace("WAIT", WAIT)
        );
        for engine in [Engine::Pass, Engine::Stack] {
            let loaded = load(&source, MathMode::Safe, engine);
            if has_pass && engine == Engine::Pass {
                assert_eq!((loaded.built(), loaded.in_tiles()), (&built, in_tiles), "{body}");
            }
            let (pipeline, out, p) = (pipeline(loaded), Buffer::new(1024), Buffer::of(&[1u32]));
            let queue = Queue::new();
            let run = || {
                queue.run(|encoder| {
                    encoder.pipeline(&pipeline);
                    encoder.buffer(&out, 0);
                    encoder.buffer(&p, 1);
                    encoder.threads([128, 1, 1], [64, 1, 1]);
                })
            };
            let done = run();
            let (code, text) = done.error().unwrap_or_else(|| panic!("it ended: {engine:?}: {body}"));
            assert!(code == 2 && text.contains("Timeout") && text.contains("run"), "{engine:?}: {text}: {body}");
            let good = stdlib::compile(
                "kernel void run(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = i + 7; }",
                MathMode::Safe,
            );
            stdlib::run(&good, &[&out], 4, 4);
            assert_eq!(out.read::<u32>()[..4], [7, 8, 9, 10], "{engine:?}: {body}");
        }
    }
}
