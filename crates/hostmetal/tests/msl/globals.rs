//! Program-scope built-ins and bindings (MSL specification 5.9), executed on both engines: kernels that see positions and arguments
//! only through variables of the program, directly and through functions, against what Rust computes for each thread.

use crate::support::*;
use hostmetal::ffi::{
    HMSampler, hm_compute_set_stage_in_region, hm_compute_set_stage_in_region_indirect,
    hm_compute_set_threadgroup_memory,
};
use hostmetal::msl::{BindingKind, CompileOptions, Engine, check};

/// The threads of a grid.
struct Thread {
    grid: [u32; 3],
    group: [u32; 3],
    /// Position in the grid.
    at: [u32; 3],
}

impl Thread {
    fn local(&self) -> [u32; 3] {
        [0, 1, 2].map(|axis: usize| self.at[axis] % self.group[axis])
    }

    /// Threads of its threadgroup.
    fn size(&self) -> [u32; 3] {
        [0, 1, 2].map(|axis: usize| {
            self.group[axis].min(self.grid[axis] - self.at[axis] / self.group[axis] * self.group[axis])
        })
    }

    fn groups(&self) -> [u32; 3] {
        [0, 1, 2].map(|axis: usize| self.grid[axis].div_ceil(self.group[axis]))
    }

    fn linear(&self) -> u32 {
        let ([x, y, z], [width, height, _]) = (self.local(), self.size());
        (z * height + y) * width + x
    }

    fn count(&self) -> u32 {
        self.size().iter().product()
    }
}

/// What a thread computes.
type Value = fn(&Thread) -> u32;
/// Declarations, an expression of `uint`, and its value for a thread.
type Case = (&'static str, &'static str, Value);

fn digits([x, y, z]: [u32; 3]) -> u32 {
    x * 10000 + y * 100 + z
}

const D3: &str = "uint digits(uint3 v) { return v.x * 10000 + v.y * 100 + v.z; }\n";

/// Each built-in of table 5.8: type, attribute, and its value, a vector's as `digits`.
const BUILT_INS: &[Case] = &[
    ("uint3", "thread_position_in_grid", |t| digits(t.at)),
    ("uint3", "thread_position_in_threadgroup", |t| digits(t.local())),
    ("uint3", "threadgroup_position_in_grid", |t| digits([0, 1, 2].map(|axis: usize| t.at[axis] / t.group[axis]))),
    ("uint3", "threads_per_grid", |t| digits(t.grid)),
    ("uint3", "threads_per_threadgroup", |t| digits(t.size())),
    ("uint3", "dispatch_threads_per_threadgroup", |t| digits(t.group)),
    ("uint3", "threadgroups_per_grid", |t| digits(t.groups())),
    ("uint3", "grid_origin", |_| digits([5, 6, 7])),
    ("ushort3", "grid_size", |_| digits([11, 12, 13])),
    ("uint", "thread_index_in_threadgroup", Thread::linear),
    ("uint", "thread_index_in_simdgroup", |t| t.linear() % 32),
    ("ushort", "thread_index_in_quadgroup", |t| t.linear() % 4),
    ("uint", "simdgroup_index_in_threadgroup", |t| t.linear() / 32),
    ("ushort", "quadgroup_index_in_threadgroup", |t| t.linear() / 4),
    ("uint", "threads_per_simdgroup", |_| 32),
    ("uint", "thread_execution_width", |_| 32),
    ("uint", "simdgroups_per_threadgroup", |t| t.count().div_ceil(32)),
    ("ushort", "dispatch_simdgroups_per_threadgroup", |t| t.group.iter().product::<u32>().div_ceil(32)),
    ("uint", "quadgroups_per_threadgroup", |t| t.count().div_ceil(4)),
    ("uint", "dispatch_quadgroups_per_threadgroup", |t| t.group.iter().product::<u32>().div_ceil(4)),
    ("ushort3", "thread_position_in_grid", |t| digits(t.at)),
];

/// How code comes to a built-in, and what hides it.
const CASES: &[Case] = &[
    ("uint3 v [[thread_position_in_grid]];", "v.x", |t| t.at[0]),
    (
        "static uint3 v [[thread_position_in_grid]]; constant uint w [[thread_index_in_threadgroup]];",
        "v.y * 100 + w",
        |t| t.at[1] * 100 + t.linear(),
    ),
    (
        "uint3 v [[thread_position_in_grid]]; uint f(uint n); uint g(uint n) { return n ? f(n - 1) + v.x : 0; } uint f(uint n) { return n ? g(n - 1) + 1 : 0; }",
        "f(3)",
        |t| 2 + t.at[0],
    ),
    (
        "uint3 v [[thread_position_in_grid]]; template <typename T, int N> T f(T a, T b = 7) { return T(v.x) * N + a + b; }",
        "f<uint, 10>(3) + f<uint, 100>(1, 2)",
        |t| t.at[0] * 110 + 13,
    ),
    (
        "uint3 v [[thread_position_in_grid]]; struct S { uint n; uint f() const { return n + v.x; } uint g(uint m) const { return f() + this->f() + m; } static uint h() { return v.y; } };",
        "S{5}.g(1) + S::h()",
        |t| 11 + 2 * t.at[0] + t.at[1],
    ),
    (
        "uint3 v [[thread_position_in_grid]]; uint f(uint n) { return n + v.x; }",
        "[](uint a) { return f(a) + v.y; }(2) + [&] { return f(1); }() + [=]() { return v.z; }() + [x = 3u] { return x + v.x; }()",
        |t| 6 + 3 * t.at[0] + t.at[1] + t.at[2],
    ),
    (
        "namespace n { uint3 v [[thread_position_in_grid]]; namespace { uint f() { return v.x; } } }",
        "n::f() + n::v.y + ::n::v.z",
        |t| t.at.iter().sum(),
    ),
    ("uint3 v [[thread_position_in_grid]]; uint f() { return ::v.x; }", "f()", |t| t.at[0]),
    ("uint3 v [[thread_position_in_grid]]; uint g() { return v.x; } uint f(uint v) { return v + g(); }", "f(4)", |t| {
        4 + t.at[0]
    }),
    (
        "uint3 v [[thread_position_in_grid]]; uint g() { return v.x; } uint f() { uint v = 3; { uint v = 2; v += 1; } return v + g(); }",
        "f()",
        |t| 3 + t.at[0],
    ),
    (
        "uint3 v [[thread_position_in_grid]]; enum class E : uint { v = 5 }; template <int N> struct T { static constant constexpr uint v = N; }; uint f() { return uint(E::v) + T<3>::v + v.x; }",
        "f()",
        |t| 8 + t.at[0],
    ),
    ("uint3 v [[thread_position_in_grid]]; struct S { uint v; }; uint f(S s) { return s.v + v.x; }", "f(S{9})", |t| {
        9 + t.at[0]
    }),
    ("uint3 v [[thread_position_in_grid]]; uint f(void) { return v.x; }", "f()", |t| t.at[0]),
    (
        "uint3 v [[thread_position_in_grid]]; uint3 w [[thread_position_in_grid]]; uint f() { return v.x + w.y; }",
        "f()",
        |t| t.at[0] + t.at[1],
    ),
];

/// Checks the values of expressions in each thread, on loops without barriers, on loops between them, and on stacks.
fn assert_values(declarations: &str, expressions: &[(String, Value)]) {
    let (grid, group) = ([10u32, 9, 3], [8u32, 4, 2]);
    let total = grid.iter().product::<u32>();
    let barrier = "threadgroup_barrier(mem_flags::mem_none);";
    let count = expressions.len() as u32;
    let writes: String = expressions
        .iter()
        .enumerate()
        .map(|(n, (expression, _))| format!("out[at * {count} + {n}] = {expression};\n"))
        .collect();
    for (waits, engine) in [("", Engine::Pass), (barrier, Engine::Pass), (barrier, Engine::Stack)] {
        let source = format!(
            "{D3}{declarations}\nkernel void run(device uint *out [[buffer(0)]], uint3 p [[thread_position_in_grid]], uint3 n [[threads_per_grid]]) {{\n\
             {waits} uint at = (p.z * n.y + p.y) * n.x + p.x;\n{writes}}}"
        );
        let pipeline = crate::stdlib::pipeline(crate::stdlib::load_with(&source, &CompileOptions::default(), engine));
        let out = Buffer::new(u64::from(total * count) * 4);
        let done = Queue::new().run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&out, 0);
            // SAFETY: the handle is valid.
            ok(unsafe { hm_compute_set_stage_in_region(encoder.0, &[5, 6, 7], &[11, 12, 13]) });
            encoder.threads(grid.map(u64::from), group.map(u64::from));
        });
        done.assert_completed();
        for (n, (expression, value)) in expressions.iter().enumerate() {
            let found: Vec<u32> = out.read::<u32>().into_iter().skip(n).step_by(count as usize).collect();
            let expected: Vec<u32> = (0..total)
                .map(|i| {
                    value(&Thread { grid, group, at: [i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1]] })
                })
                .collect();
            assert_eq!(found, expected, "{declarations} {expression} {waits} {engine:?}");
        }
    }
}

#[test]
fn each_built_in_has_its_value() {
    let mut declarations = String::new();
    let mut expressions = Vec::new();
    for (n, (kind, attribute, value)) in BUILT_INS.iter().enumerate() {
        let read = if kind.ends_with('3') { format!("digits(uint3(v{n}))") } else { format!("v{n}") };
        declarations.push_str(&format!("{kind} v{n} [[{attribute}]];\nuint f{n}() {{ return {read}; }}\n"));
        expressions.push((format!("f{n}()"), *value));
    }
    assert_values(&declarations, &expressions);
}

#[test]
fn each_thread_sees_its_own_values() {
    for (declarations, expression, value) in CASES {
        assert_values(declarations, &[((*expression).to_owned(), *value)]);
    }
}

#[test]
fn a_stage_in_region_is_that_of_the_dispatches_behind_it() {
    let source = "kernel void run(device uint *out [[buffer(0)]], constant uint &at [[buffer(1)]], uint3 origin [[grid_origin]], uint3 size [[grid_size]]) {\n\
                  for (uint i = 0; i < 3; i++) { out[at * 6 + i] = origin[i]; out[at * 6 + 3 + i] = size[i]; } }";
    let pipeline = crate::stdlib::pipeline(crate::stdlib::load_with(source, &CompileOptions::default(), Engine::Pass));
    let (out, regions) = (Buffer::new(24 * 5), Buffer::of(&[0u32, 1, 2, 3, 4, 5, 6]));
    let done = Queue::new().run(|encoder| {
        encoder.pipeline(&pipeline);
        encoder.buffer(&out, 0);
        let dispatch = |at: u32| {
            encoder.bytes(&at, 1);
            encoder.groups([1, 2, 1], [1, 1, 1]);
        };
        dispatch(0);
        // SAFETY: the handles are valid.
        ok(unsafe { hm_compute_set_stage_in_region(encoder.0, &[7, 8, 9], &[4_294_967_295, 0, 1]) });
        dispatch(1);
        dispatch(2);
        // SAFETY: as above.
        ok(unsafe { hm_compute_set_stage_in_region_indirect(encoder.0, regions.0, 4) });
        dispatch(3);
        // SAFETY: as above.
        ok(unsafe { hm_compute_set_stage_in_region(encoder.0, &[0, 0, 0], &[2, 2, 2]) });
        dispatch(4);
        for (offset, text) in [
            (8, "(indirectBufferOffset + sizeof(MTLStageInRegionIndirectArguments)) must be <= [indirectBuffer length]."),
            (2, "indirectBufferOffset must be a multiple of 4."),
        ] {
            // SAFETY: as above.
            let told = misuse(unsafe { hm_compute_set_stage_in_region_indirect(encoder.0, regions.0, offset) });
            assert_eq!(told.as_deref(), Some(text));
        }
        // SAFETY: as above.
        let told = misuse(unsafe { hm_compute_set_stage_in_region(encoder.0, &[0, 1 << 32, 0], &[1, 1, 1]) });
        assert_eq!(told.as_deref(), Some("region.origin and region.size must be < 2^32 along each axis."));
    });
    done.assert_completed();
    let set = [7, 8, 9, u32::MAX, 0, 1];
    assert_eq!(out.read::<u32>(), [[0, 0, 0, 1, 2, 1], set, set, [1, 2, 3, 4, 5, 6], [0, 0, 0, 2, 2, 2]].concat());
}

#[test]
fn bindings_are_arguments_of_the_kernels_that_need_them() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        struct P { uint scale; };\n\
        device uint *constant out [[buffer(3)]];\n\
        constant P *constant params [[buffer(5)]];\n\
        threadgroup uint *constant shared [[threadgroup(1)]];\n\
        extern constant texture2d<uint> image [[texture(2)]];\n\
        constant texture2d<uint> image [[texture(2)]];\n\
        texture2d<uint> constant again [[texture(2)]];\n\
        constant sampler smp [[sampler(4)]];\n\
        uint lane [[thread_index_in_threadgroup]];\n\
        uint texel() { return image.read(uint2(lane, 0)).x + again.sample(smp, float2(0.5f / 4, 0)).y; }\n\
        template <int N> uint scaled() { return texel() * params->scale * N; }\n\
        kernel void all(device uint *mine) { shared[lane] = scaled<2>(); threadgroup_barrier(mem_flags::mem_threadgroup); out[lane] = shared[3 - lane]; mine[lane] = lane; }\n\
        kernel void few() { out[lane] = 100 + lane; }\n\
        template <typename T> kernel void typed(device T *mine) { mine[lane] = T(params->scale); }\n\
        template [[host_name(\"one\")]] kernel void typed<uint>(device uint *);\n\
        template [[host_name(\"two\")]] [[kernel]] decltype(typed<float>) typed<float>;\n";
    let checked = check(source, &CompileOptions::default()).unwrap_or_else(|failure| panic!("{failure}"));
    let described = |kernel: &str, engine| {
        let built = checked.build_for(kernel, &[], engine).unwrap_or_else(|failure| panic!("{failure}"));
        let mut list: Vec<(BindingKind, u32, String)> =
            built.bindings().iter().map(|b| (b.kind, b.index, b.name.clone())).collect();
        list.sort_by_key(|(kind, index, _)| (*kind as u32, *index));
        let list: Vec<String> =
            list.into_iter().map(|(kind, index, name)| format!("{kind:?} {index} {name}")).collect();
        (crate::stdlib::pipeline(built), list)
    };
    for engine in [Engine::Pass, Engine::Stack] {
        let (all, list) = described("all", engine);
        let expected = [
            "Buffer 0 mine",
            "Buffer 3 out",
            "Buffer 5 params",
            "ThreadgroupMemory 1 shared",
            "Texture 2 image",
            "Sampler 4 smp",
        ];
        assert_eq!(list, expected);
        let (few, list) = described("few", engine);
        assert_eq!(list, ["Buffer 3 out"]);
        assert_eq!(described("two", engine).1, ["Buffer 0 mine", "Buffer 5 params"]);
        let (typed, list) = described("one", engine);
        assert_eq!(list, ["Buffer 0 mine", "Buffer 5 params"]);

        let (out, mine) = (Buffer::new(16), Buffer::new(16));
        let image = Texture::new(&texture(TEXTURE_2D, 123, [4, 1, 1]));
        image.write(0, 0, &[10u32, 7, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40, 0, 0, 0]);
        let run = |pipeline: &Pipeline| {
            let done = Queue::new().run(|encoder| {
                encoder.pipeline(pipeline);
                encoder.buffer(&mine, 0);
                encoder.buffer(&out, 3);
                encoder.bytes(&5u32, 5);
                encoder.texture(&image, 2);
                encoder.sampler(&HMSampler { bits: 0, lod_min: 0.0, lod_max: 1000.0, lod_bias: 0.0 }, 4);
                // SAFETY: the handle is valid.
                ok(unsafe { hm_compute_set_threadgroup_memory(encoder.0, 16, 1) });
                encoder.groups([1, 1, 1], [4, 1, 1]);
            });
            done.assert_completed();
            out.read::<u32>()
        };
        assert_eq!(run(&all), [470, 370, 270, 170], "{engine:?}");
        assert_eq!(mine.read::<u32>(), [0, 1, 2, 3]);
        assert_eq!(run(&few), [100, 101, 102, 103]);
        run(&typed);
        assert_eq!(mine.read::<u32>(), [5, 5, 5, 5]);
    }
}

#[test]
fn what_cannot_be_passed_on_is_refused_by_name() {
    let v = "uint3 v [[thread_position_in_grid]];\n";
    let cases: [(&str, (u32, u32), &str, &str); 11] = [
        (
            v,
            (3, 0),
            "kernel void k(device uint *p) { p[0] = 1; }",
            "1:7: error: program scope variable must reside in constant address space",
        ),
        (
            "constant sampler s [[sampler(0)]];\n",
            (3, 1),
            "kernel void k(device uint *p) { p[0] = 1; }",
            "1:22: error: program-scope '[[sampler]]' needs Metal 3.2",
        ),
        (
            "uint a [[thread_index_in_threadgroup]], b;\n",
            (3, 2),
            "kernel void k(device uint *p) { p[0] = 1; }",
            "1:6: error: 'a' must be declared alone and without an initializer",
        ),
        (
            "constant int &r [[buffer(0)]];\n",
            (3, 2),
            "kernel void k(device uint *p) { p[0] = 1; }",
            "1:14: error: 'r' is a reference, which cannot be declared here",
        ),
        (
            "float3 v [[thread_position_in_grid]];\n",
            (3, 2),
            "kernel void k(device uint *p) { p[0] = 1; }",
            "1:8: error: invalid type 'float3' for attribute 'thread_position_in_grid'",
        ),
        (
            v,
            (3, 2),
            "struct S { uint x; S() : x(v.x) {} }; kernel void k(device uint *p) { S s; p[0] = s.x; }",
            "2:20: error: hostmetal does not support the program-scope variable 'v' in an operator, a constructor or a destructor",
        ),
        (
            v,
            (3, 2),
            "struct S { uint x; uint operator()(uint y) { return v.x + y; } }; kernel void k(device uint *p) { S s; p[0] = s(1); }",
            "2:25: error: hostmetal does not support the program-scope variable 'v' in an operator, a constructor or a destructor",
        ),
        (
            v,
            (3, 2),
            "uint f() { return v.x; } template <typename F> uint g(F h) { return h(); } kernel void k(device uint *p) { p[0] = g(f); }",
            "2:117: error: hostmetal does not support a function that uses the program-scope variable 'v' other than in a call",
        ),
        (v, (3, 2), "kernel void k(device uint *p) { v.x = 3; p[0] = v.x; }", "2:37: error: "),
        (
            "constant metal::texture2d<float> a [[texture(1)]];\nconstant metal::texture2d<float, metal::access::write> b [[texture(1)]];\n",
            (3, 2),
            "kernel void k(device float *p) { p[0] = a.get_width() + b.get_width(); }",
            "2:56: error: cannot reserve 'texture' resource location at index 1",
        ),
        (
            "uint3 v [[thread_position_in_grid]];\nuint v [[thread_index_in_threadgroup]];\n",
            (3, 2),
            "kernel void k(device uint *p) { p[0] = v; }",
            "2:6: error: redefinition of 'v'",
        ),
    ];
    for (declarations, language_version, code, expected) in cases {
        let options = CompileOptions { language_version, ..CompileOptions::default() };
        let source = format!("{declarations}{code}");
        let failure = check(&source, &options).expect_err(&source);
        assert!(failure.log.starts_with(&format!("program_source:{expected}")), "{source}\n{}", failure.log);
    }
}
