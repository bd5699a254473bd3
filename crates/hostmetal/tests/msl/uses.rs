//! Which arguments a kernel uses, by its optimised code: those that no result depends on are told apart, for each engine.

use crate::stdlib::*;
use crate::support::{Buffer, Queue, misuse};
use hostmetal::msl::{Engine, MathMode};

/// Parameters and body of kernels, and the arguments that they use.
const CASES: [(&str, &str, &str, &str); 14] = [
    ("nothing is done with it", "device int *a, device int *b, constant int &c [[buffer(30)]]", "a[0] = 1;", "a"),
    ("values", "device int *a, constant int &b, constant float4x4 &c", "a[0] = b;", "a b"),
    ("a result that nobody needs", "device int *a, device const int *b", "int x = b[1] * 2; x += a[1]; a[0] = 3;", "a"),
    ("an arm that is never taken", "device int *a, device int *b", "if (sizeof(int) == 8) b[0] = 2; a[0] = 1;", "a"),
    (
        "a structure that is not copied",
        "device int *a, constant Large &b, constant Large &c",
        "a[0] = b.words[a[1]];",
        "a b",
    ),
    ("functions that are not inlined", "device int *a, device int *b", "apart(a, b);", "a"),
    ("addresses", "device int *a, device int *b", "if (b) a[0] = 1;", "a b"),
    (
        "threadgroup memory, barriers",
        "device int *a, device int *b, threadgroup int *t, threadgroup int *u [[threadgroup(3)]], uint i [[thread_index_in_threadgroup]]",
        "t[i] = a[i]; threadgroup_barrier(mem_flags::mem_threadgroup); a[i] = t[i ^ 1];",
        "a t",
    ),
    (
        "a barrier that not all threads come to",
        "device int *a, device int *b, uint i [[thread_index_in_threadgroup]]",
        "if (a[i] == 0) threadgroup_barrier(mem_flags::mem_device); a[i] = 1;",
        "a",
    ),
    (
        "SIMD-groups",
        "device int *a, device int *b, constant int &c, uint i [[thread_position_in_grid]]",
        "int all = simd_sum(a[i]); a[i] = all + c;",
        "a c",
    ),
    (
        "textures and samplers",
        "texture2d<float> t, texture2d<float, access::write> w [[texture(70)]], array<texture2d<float>, 3> many [[texture(8)]], \
         texture2d<float> last [[texture(127)]], sampler s, sampler r [[sampler(15)]]",
        "w.write(many[1].sample(s, float2(0.5)), uint2(0));",
        "w many s",
    ),
    (
        "all of a texture but its texels",
        "device int *a, texture2d<float> t, texture2d<float> u",
        "a[0] = t.get_width();",
        "a t",
    ),
    (
        "tables of functions",
        "device int *a, visible_function_table<int(int)> f [[buffer(4)]], visible_function_table<int(int)> g [[buffer(5)]]",
        "a[0] = f[1](2);",
        "a f",
    ),
    ("argument buffers", "constant Held &a, constant Held &b", "a.p[0] = a.t.get_width();", "a"),
];

const DECLARATIONS: &str = "struct Large { int words[4096]; }; struct Held { device int *p; texture2d<float> t; };\n\
     __attribute__((noinline)) void apart(device int *a, device int *b) { for (int i = 0; i < a[1]; i++) a[i] = a[i + 1] / 3; }\n";

#[test]
fn arguments_that_no_code_needs_are_not_used() {
    let pass = has_pass();
    for engine in [Engine::Pass, Engine::Stack] {
        for (what, parameters, body, used) in CASES {
            let loaded =
                load(&format!("{DECLARATIONS}kernel void run({parameters}) {{ {body} }}"), MathMode::Fast, engine);
            let found = loaded.bindings().iter().filter(|binding| binding.used).map(|binding| binding.name.as_str());
            let expected = loaded.bindings().iter().map(|binding| binding.name.as_str());
            let expected: Vec<&str> = match pass {
                true => expected.filter(|name| used.split(' ').any(|one| one == *name)).collect(),
                false => expected.collect(),
            };
            assert_eq!(found.collect::<Vec<_>>(), expected, "{what}, {engine:?}, {}", loaded.built());
        }
    }
}

/// What is not used need not be bound, and what is must be.
#[test]
fn a_dispatch_needs_what_the_code_uses() {
    let loaded = load(
        "kernel void run(device int *a, device int *b, threadgroup int *t, texture2d<float> u, sampler s, uint i [[thread_position_in_grid]]) \
         { a[i] = int(i) + 5; }",
        MathMode::Fast,
        Engine::Pass,
    );
    if !has_pass() {
        return;
    }
    let (pipeline, out) = (pipeline(loaded), Buffer::new(64));
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            let missing = misuse(encoder.try_threads([16, 1, 1], [16, 1, 1]));
            assert!(
                missing.as_ref().is_some_and(|text| text.contains("missing Buffer binding at index 0")),
                "{missing:?}"
            );
            encoder.buffer(&out, 0);
            encoder.threads([16, 1, 1], [16, 1, 1]);
        })
        .assert_completed();
    assert_eq!(out.read::<i32>(), (5..21).collect::<Vec<i32>>());
}
