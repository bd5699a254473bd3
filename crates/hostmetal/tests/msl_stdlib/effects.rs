//! Functions that have an effect and no value: barriers (MSL 6.9.1), fences (6.15.3), messages (6.19); and pointers that are coherent (4.8).

use hostmetal::msl::{Engine, MathMode};

use crate::stdlib::{compile, load, load_on, pipeline, run};
use crate::support::Buffer;

/// Each thread reads what another wrote to threadgroup and to device memory, in several rounds.
#[test]
fn threads_see_each_other_behind_a_barrier() {
    let source = "kernel void run(device uint *d [[buffer(0)]], device uint *out [[buffer(1)]], uint i [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {\n\
          threadgroup uint t[100]; uint x = i + g;\n\
          for (uint round = 1; round < 6; round++) {\n\
            t[i] = x; threadgroup_barrier(mem_flags::mem_threadgroup); x = t[(i + round * 7) % 100] + 1; threadgroup_barrier(mem_flags::mem_threadgroup);\n\
            d[g * 100 + i] = x; threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup); x = d[g * 100 + (i + 33) % 100]; threadgroup_barrier(mem_flags::mem_device);\n\
          }\n  out[g * 100 + i] = x;\n}\n";
    for engine in [Engine::Stack, Engine::Pass] {
        let (d, out) = (Buffer::new(3200), Buffer::new(3200));
        run(&pipeline(load_on(source, MathMode::Fast, engine)), &[&d, &out], 800, 100);
        // The rounds move by 7 + 14 + 21 + 28 + 35 and five times 33.
        let expected: Vec<u32> = (0..800).map(|k| (k % 100 + 105 + 165) % 100 + k / 100 + 5).collect();
        assert_eq!(out.read::<u32>(), expected);
    }
}

#[test]
fn lanes_see_each_other_behind_a_barrier() {
    let source = "kernel void run(device uint *out [[buffer(0)]], uint i [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {\n\
          threadgroup uint t[96]; uint x = i;\n\
          for (uint round = 1; round < 6; round++) {\n\
            t[i] = x; simdgroup_barrier(mem_flags::mem_threadgroup); x = t[i - lane + (lane + round) % 32] + 1; simdgroup_barrier(mem_flags::mem_threadgroup);\n\
          }\n  out[i] = x;\n}\n";
    for engine in [Engine::Stack, Engine::Pass] {
        let out = Buffer::new(96 * 4);
        run(&pipeline(load_on(source, MathMode::Fast, engine)), &[&out], 96, 96);
        let expected: Vec<u32> = (0..96).map(|i| i / 32 * 32 + (i + 15) % 32 + 5).collect();
        assert_eq!(out.read::<u32>(), expected);
    }
}

/// Of two threads that each store one cell and then load the other's, one at least sees the other's store, when a sequentially consistent fence
/// stands between, or a barrier for the whole device (the test "store buffering"). The two are threadgroups, which two workers take, and go in
/// step: a round begins when both have come to it, each then behind a delay of its own, since it takes nearly equal times. Without the fence x86
/// does both loads first in some of the rounds, but for barriers on stacks, which take longer than a store is under way. Where there is but one
/// worker, or another program has its core for long, the wait for the other comes to an end by itself.
#[test]
fn fences_keep_the_order_of_a_store_and_a_load() {
    const ROUNDS: usize = 50_000;
    // And whether threads wait for each other, so that it is a matter of the engine.
    const FENCES: &[(&str, bool)] = &[
        ("atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device)", false),
        ("threadgroup_barrier(mem_flags::mem_device, thread_scope_device)", true),
        ("threadgroup_barrier(mem_flags::mem_device, memory_order_seq_cst, static_cast<thread_scope>(3))", true),
        ("simdgroup_barrier(mem_flags::mem_device, thread_scope_device)", true),
        ("simdgroup_barrier(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device)", true),
    ];
    for &(fence, waits) in FENCES {
        let source = format!(
            "kernel void run(device atomic_uint *cells [[buffer(0)]], device uint *out [[buffer(1)]], device atomic_uint *rounds [[buffer(2)]], uint g [[threadgroup_position_in_grid]]) {{\n\
              uint patience = 400000000;\n\
              for (uint k = 0; k < {ROUNDS}; k++) {{\n\
                device atomic_uint *pair = cells + k * 64;\n\
                atomic_store_explicit(rounds + g * 32, k + 1, memory_order_relaxed);\n\
                while (patience != 0 && atomic_load_explicit(rounds + (1 - g) * 32, memory_order_relaxed) <= k) patience--;\n\
                for (uint wait = k >> g * 6 & 63; wait != 0; wait--) (void)atomic_load_explicit(rounds + g * 32, memory_order_relaxed);\n\
                atomic_store_explicit(pair + g * 32, 1u, memory_order_relaxed);\n\
                {fence};\n\
                out[k * 2 + g] = atomic_load_explicit(pair + (1 - g) * 32, memory_order_relaxed);\n\
              }}\n}}\n"
        );
        for engine in [Engine::Stack, Engine::Pass] {
            let loaded = if waits { load_on } else { load }(&source, MathMode::Fast, engine);
            let (cells, out, rounds) =
                (Buffer::new(ROUNDS as u64 * 256), Buffer::new(ROUNDS as u64 * 8), Buffer::new(256));
            run(&pipeline(loaded), &[&cells, &out, &rounds], 2, 1);
            let both_first = out.read::<[u32; 2]>().iter().filter(|seen| **seen == [0, 0]).count();
            assert_eq!(both_first, 0, "{fence}, {engine:?}");
        }
    }
}

/// What a threadgroup wrote through a coherent pointer (MSL 4.8), the next one of the grid reads, which may wait for it: threadgroups of one row are
/// begun in order.
#[test]
fn threadgroups_pass_on_what_they_wrote_through_coherent_pointers() {
    let source = "kernel void run(coherent(device) device uint *d [[buffer(0)]], device atomic_uint *done [[buffer(1)]],\n\
            uint i [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {\n\
          if (i == 0 && g != 0) while (atomic_load_explicit(done + g - 1, memory_order_relaxed) == 0) {}\n\
          threadgroup_barrier(mem_flags::mem_device, thread_scope_device);\n\
          const coherent device uint *seen = d; d[g * 40 + i] = g == 0 ? i : seen[(g - 1) * 40 + (i + 1) % 40] + 100;\n\
          threadgroup_barrier(mem_flags::mem_device, thread_scope_device);\n\
          if (i == 0) atomic_store_explicit(done + g, 1u, memory_order_relaxed);\n}\n";
    for engine in [Engine::Stack, Engine::Pass] {
        let (d, done) = (Buffer::new(500 * 40 * 4), Buffer::new(500 * 4));
        run(&pipeline(load_on(source, MathMode::Fast, engine)), &[&d, &done], 500 * 40, 40);
        let expected: Vec<u32> = (0..500 * 40).map(|k| (k % 40 + k / 40) % 40 + k / 40 * 100).collect();
        assert_eq!(d.read::<u32>(), expected, "{engine:?}");
    }
}

#[test]
fn messages_leave_the_results_alone() {
    let source = "constant os_log mine(\"a subsystem\", \"a category\");\n\
        kernel void run(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n\
          uint x = i; os_log_default.log(\"x %d\", x); x++; os_log_default.log_debug(\"%u\", x); os_log_default.log_info(\"%f\", float(x)); x *= 3;\n\
          os_log_default.log_error(\"%x\", x); os_log_default.log_fault(\"%v4hlf\", float4(x)); os_log_default.log_with_type(log_type_info, \"%u\", x); mine.log(\"%u\", x);\n\
          out[i] = x;\n}\n";
    let out = Buffer::new(64 * 4);
    run(&compile(source, MathMode::Fast), &[&out], 64, 32);
    assert_eq!(out.read::<u32>(), (0..64).map(|i| (i + 1) * 3).collect::<Vec<u32>>());
}
