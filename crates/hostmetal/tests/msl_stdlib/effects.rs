//! Functions that have an effect and no value: barriers (MSL 6.9.1), fences (6.15.3), messages (6.19).

use hostmetal::msl::{Engine, MathMode};

use crate::stdlib::{compile, load, pipeline, run};
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
        run(&pipeline(load(source, MathMode::Fast, engine)), &[&d, &out], 800, 100);
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
        run(&pipeline(load(source, MathMode::Fast, engine)), &[&out], 96, 96);
        let expected: Vec<u32> = (0..96).map(|i| i / 32 * 32 + (i + 15) % 32 + 5).collect();
        assert_eq!(out.read::<u32>(), expected);
    }
}

/// Of two threads that each store one cell and then load the other's, one at least sees the other's store, when a sequentially consistent fence
/// stands between, or a barrier for the whole device (the test "store buffering"; without the fence x86 does both loads first now and then).
#[test]
fn fences_keep_the_order_of_a_store_and_a_load() {
    const FENCES: &[&str] = &[
        "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device)",
        "threadgroup_barrier(mem_flags::mem_device, thread_scope_device)",
        "threadgroup_barrier(mem_flags::mem_device, memory_order_seq_cst, static_cast<thread_scope>(3))",
        "simdgroup_barrier(mem_flags::mem_device, thread_scope_device)",
        "simdgroup_barrier(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device)",
    ];
    for fence in FENCES {
        let source = format!(
            "kernel void run(device atomic_uint *cells [[buffer(0)]], device uint *out [[buffer(1)]], uint g [[threadgroup_position_in_grid]]) {{\n\
              for (uint k = 0; k < 2000; k++) {{\n\
                device atomic_uint *pair = cells + (g / 2 * 2000 + k) * 64;\n\
                atomic_store_explicit(pair + g % 2 * 32, 1u, memory_order_relaxed);\n\
                {fence};\n\
                out[(g / 2 * 2000 + k) * 2 + g % 2] = atomic_load_explicit(pair + (1 - g % 2) * 32, memory_order_relaxed);\n\
              }}\n}}\n"
        );
        for engine in [Engine::Stack, Engine::Pass] {
            let pairs = 16 * 2000;
            let (cells, out) = (Buffer::new(pairs * 256), Buffer::new(pairs * 8));
            run(&pipeline(load(&source, MathMode::Fast, engine)), &[&cells, &out], 32, 1);
            assert!(out.read::<[u32; 2]>().iter().all(|seen| *seen != [0, 0]), "{fence}");
        }
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
