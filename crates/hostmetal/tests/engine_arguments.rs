//! Textures and samplers in buffers (argument buffers): what kernels find behind handles, and what becomes of handles that
//! are none.

mod stdlib;
mod support;

use std::collections::HashSet;

use hostmetal::ffi::{HMSampler, hm_sampler_handle, hm_texture_handle};
use hostmetal::msl::{Engine, MathMode};
use stdlib::{load, pipeline};
use support::*;

const R32_FLOAT: u32 = 55;
const R32_UINT: u32 = 53;
const NEAREST: HMSampler = HMSampler { bits: 0o111, lod_min: 0.0, lod_max: f32::MAX, lod_bias: 0.0 };
const LINEAR: HMSampler = HMSampler { bits: 0o111 | 0b0101 << 9, lod_min: 0.0, lod_max: f32::MAX, lod_bias: 0.0 };

fn handle(texture: &Texture) -> u64 {
    // SAFETY: the handle is valid.
    unsafe { hm_texture_handle(texture.0) }
}

fn sampler(sampler: &HMSampler) -> u64 {
    // SAFETY: the sampler is one.
    unsafe { hm_sampler_handle(sampler) }
}

/// A row of texels of one float.
fn row(texels: &[f32]) -> Texture {
    let made = Texture::new(&texture(TEXTURE_2D, R32_FLOAT, [texels.len() as u64, 1, 1]));
    made.write(0, 0, texels);
    made
}

/// A kernel that runs as one loop, and one whose threads wait for each other, for both engines of the latter.
fn variants(declarations: &str, parameters: &str, body: &str) -> Vec<Pipeline> {
    let source = |more: &str, before: &str| {
        format!(
            "{declarations}\nkernel void run({parameters}, uint i [[thread_position_in_grid]]{more}) {{ {before} {body} }}"
        )
    };
    let plain = source("", "");
    let waiting = source(
        ", uint lane [[thread_index_in_threadgroup]]",
        "threadgroup uint shared[64]; shared[lane] = i; threadgroup_barrier(mem_flags::mem_threadgroup); i = shared[lane];",
    );
    [(&plain, Engine::Pass), (&waiting, Engine::Pass), (&waiting, Engine::Stack)]
        .map(|(source, engine)| pipeline(load(source, MathMode::Fast, engine)))
        .into()
}

#[test]
fn textures_and_samplers_are_found_by_their_handles() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Inner {
        scale: f32,
        image: u64,
    }
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Arguments {
        count: u32,
        images: [u64; 3],
        samplers: [u64; 2],
        inner: [Inner; 2],
        out: u64,
        written: u64,
    }
    let declarations = "struct Inner { float scale; texture2d<float> image; };\n\
        struct Arguments { uint count [[id(0)]]; array<texture2d<float>, 3> images [[id(1)]]; sampler samplers[2] [[id(4)]];\n\
          Inner inner[2] [[id(6)]]; device float *out [[id(10)]]; texture2d<uint, access::write> written [[id(11)]]; };\n\
        static float looked_up(texture2d<float> t, sampler s, float x) { return t.sample(s, float2(x, 0.5f)).x; }";
    let body = "Arguments copy = args; texture2d<float> image = args.images[i % args.count];\n\
        float a = looked_up(image, copy.samplers[i / 3 % 2], 0.75f);\n\
        float b = args.inner[i % 2].scale * args.inner[i % 2].image.read(uint2(i % 2, 0)).x;\n\
        bool none = is_null_texture(args.images[0]) || !is_null_texture(copy.inner[0].image) == false;\n\
        copy.out[i] = a + 100 * b + (none ? 1e6f : 0); args.written.write(uint4(i + 7), uint2(i, 0));";
    let images: Vec<Texture> = (0..3).map(|n| row(&[n as f32, n as f32 + 4.0])).collect();
    let inner = [row(&[10.0, 20.0]), row(&[30.0, 40.0])];
    for kernel in variants(declarations, "constant Arguments &args [[buffer(0)]]", body) {
        let n = 64u64;
        let out = Buffer::of(&vec![0f32; n as usize]);
        let written = Texture::new(&texture(TEXTURE_2D, R32_UINT, [n, 1, 1]));
        let arguments = Buffer::of(&[Arguments {
            count: 3,
            images: [handle(&images[0]), handle(&images[1]), handle(&images[2])],
            samplers: [sampler(&NEAREST), sampler(&LINEAR)],
            inner: [Inner { scale: 2.0, image: handle(&inner[0]) }, Inner { scale: 3.0, image: handle(&inner[1]) }],
            out: out.contents() as u64,
            written: handle(&written),
        }]);
        Queue::new()
            .run(|encoder| {
                encoder.pipeline(&kernel);
                encoder.buffer(&arguments, 0);
                encoder.threads([n, 1, 1], [64, 1, 1]);
            })
            .assert_completed();
        let expected: Vec<f32> = (0..n)
            .map(|i| {
                // Two texels, sampled at 0.75: the middle of the second one either way.
                let a = (i % 3) as f32 + 4.0;
                let b = if i % 2 == 0 { 2.0 * 10.0 } else { 3.0 * 40.0 };
                a + 100.0 * b
            })
            .collect();
        assert_eq!(out.read::<f32>(), expected);
        assert_eq!(written.read::<u32>(0, 0, 1), (0..n as u32).map(|i| i + 7).collect::<Vec<_>>());
    }
}

#[test]
fn a_buffer_of_handles_has_no_bound() {
    let images: Vec<Texture> = (0..1000).map(|n| row(&[n as f32])).collect();
    let handles = Buffer::of(&images.iter().map(handle).collect::<Vec<_>>());
    for kernel in variants(
        "",
        "device const texture2d<float> *images [[buffer(0)]], device float *out [[buffer(1)]]",
        "out[i] = images[(i * 7) % 1000].read(uint2(0)).x;",
    ) {
        let out = Buffer::of(&vec![0f32; 1000]);
        Queue::new()
            .run(|encoder| {
                encoder.pipeline(&kernel);
                encoder.buffer(&handles, 0);
                encoder.buffer(&out, 1);
                encoder.threads([1000, 1, 1], [64, 1, 1]);
            })
            .assert_completed();
        assert_eq!(out.read::<f32>(), (0..1000).map(|i| ((i * 7) % 1000) as f32).collect::<Vec<_>>());
    }
}

/// What a kernel that reads, and then writes, the texture of a handle ends with.
fn outcomes(handle: u64) -> Vec<(i64, String)> {
    let declarations = "struct Arguments { texture2d<float, access::read_write> image; };";
    let parameters = "device Arguments &args [[buffer(0)]], device float *out [[buffer(1)]]";
    let bodies = ["out[0] = args.image.read(uint2(0)).x;", "args.image.write(float4(1), uint2(0));"];
    let kernels = bodies.into_iter().flat_map(|body| variants(declarations, parameters, body));
    kernels
        .map(|kernel| {
            let (arguments, out) = (Buffer::of(&[handle]), Buffer::of(&[0f32]));
            let ran = Queue::new().run(|encoder| {
                encoder.pipeline(&kernel);
                encoder.buffer(&arguments, 0);
                encoder.buffer(&out, 1);
                encoder.threads([1, 1, 1], [1, 1, 1]);
            });
            ran.error().expect("the command buffer must fail")
        })
        .collect()
}

const INVALID_RESOURCE: i64 = 9;
const PAGE_FAULT: i64 = 3;

#[test]
fn a_handle_of_a_texture_that_is_gone_faults() {
    let stale = handle(&row(&[1.0]));
    // Its place is not used again at once.
    let _others: Vec<Texture> = (0..8).map(|_| row(&[2.0])).collect();
    for (code, text) in outcomes(stale) {
        assert_eq!(code, INVALID_RESOURCE, "{text}");
        assert!(text.contains("the handle of a texture in memory is not that of a living texture: kernel"), "{text}");
    }
}

#[test]
fn a_place_that_is_used_again_has_another_handle() {
    let first = handle(&row(&[1.0]));
    let (mut handles, mut places) = (HashSet::new(), HashSet::new());
    for _ in 0..5000 {
        let again = handle(&row(&[2.0]));
        assert_ne!(again, first);
        places.insert(again & !1023);
        assert!(handles.insert(again), "a handle was given twice");
    }
    assert!(places.len() < 4000, "places must be used again: {}", places.len());
    // A texture of the same place is not taken for the first one.
    let living: Vec<Texture> = (0..200).map(|_| row(&[2.0])).collect();
    assert!(living.iter().all(|texture| handle(texture) != first));
    assert!(outcomes(first).iter().all(|(code, _)| *code == INVALID_RESOURCE));
}

#[test]
fn handles_that_are_none_fault() {
    let buffer = Buffer::of(&[0u64; 1024]);
    let living = row(&[1.0]);
    for (wild, expected) in [
        (0, PAGE_FAULT),
        (buffer.contents() as u64, INVALID_RESOURCE),
        (buffer.contents() as u64 + 2048, INVALID_RESOURCE),
        (handle(&living) + 1, INVALID_RESOURCE),
        (handle(&living) + 512, INVALID_RESOURCE),
        (sampler(&NEAREST), PAGE_FAULT),
        (0xdead_beef_dead_beef, PAGE_FAULT),
    ] {
        for (code, text) in outcomes(wild) {
            assert_eq!(code, expected, "{wild:#x}: {text}");
        }
    }
}

#[test]
fn a_sampler_that_is_none_faults() {
    let image = row(&[1.0, 2.0]);
    let kernels = variants(
        "struct Arguments { sampler s; };",
        "device Arguments &args [[buffer(0)]], texture2d<float> image [[texture(0)]], device float *out [[buffer(1)]]",
        "out[i] = image.sample(args.s, float2(0.25f, 0.5f)).x;",
    );
    for kernel in kernels {
        for (wild, fails) in [(sampler(&NEAREST), false), (0, true), (handle(&image), true), (0x7f00_1234_5678, true)] {
            let (arguments, out) = (Buffer::of(&[wild]), Buffer::of(&[0f32]));
            let ran = Queue::new().run(|encoder| {
                encoder.pipeline(&kernel);
                encoder.buffer(&arguments, 0);
                encoder.buffer(&out, 1);
                encoder.texture(&image, 0);
                encoder.threads([1, 1, 1], [1, 1, 1]);
            });
            if fails {
                let (code, text) = ran.error().expect("the command buffer must fail");
                assert_eq!(code, INVALID_RESOURCE, "{text}");
                assert!(text.contains("the handle of a sampler in memory"), "{text}");
            } else {
                ran.assert_completed();
                assert_eq!(out.read::<f32>(), [1.0]);
            }
        }
    }
}

/// `name@offset` of the members of what the first buffer points to; deeper ones in parentheses.
fn members(declarations: &str, parameter: &str) -> String {
    let source = format!("{declarations}\nkernel void run({parameter} [[buffer(0)]]) {{ }}");
    let loaded = load(&source, MathMode::Fast, Engine::Pass);
    let types = &loaded.bindings()[0].types;
    assert_eq!(types[0].descendants as usize, types.len() - 1);
    let mut text = String::new();
    let mut ends = Vec::new();
    for (at, one) in types.iter().enumerate() {
        while ends.last() == Some(&at) {
            ends.pop();
            text.push(')');
        }
        text.push_str(&format!(" {}@{}:{}", one.name, one.offset, one.data_type.0));
        if one.descendants > 0 {
            text.push('(');
            ends.push(at + 1 + one.descendants as usize);
        }
    }
    text + &")".repeat(ends.len())
}

#[test]
fn members_of_structures_are_told_where_they_are_understood() {
    for (declarations, parameter, expected) in [
        // Names that are used again, several declarators, methods, initialisers, types inside.
        (
            "struct A { float x, y[3]; struct In { half h; }; In in; float sum() const constant { return x; } static constant int n = 3; \
             enum E { one, two }; E e; using T = uint2; T t; uchar last = 7; };",
            "constant A &a",
            " @0:1( x@0:3 y@4:2( @0:3) in@16:1( h@0:16) e@20:33 t@24:34 last@32:49)",
        ),
        // An unnamed structure, as headers shared with C have them; in a namespace; behind an alias.
        (
            "namespace one { namespace two { typedef struct { device float *p; } Inner; } }\nusing Alias = one::two::Inner;",
            "device Alias *a",
            " @0:1( p@0:60( @0:3))",
        ),
        // A structure inside itself, and one that is never defined.
        (
            "struct Never; struct List { device List *next; device Never *never; device void *any; int value; };",
            "device List *a",
            " @0:1( next@0:60( @0:1) never@8:60( @0:1) any@16:60( @0:0) value@24:29)",
        ),
        // Instances of templates have no members to tell, but those around them do.
        (
            "template <class T> struct Box { T t; }; struct A { Box<float> box; packed_float3 f; int n; atomic_uint count; };",
            "constant A &a",
            " @0:1( box@0:1 f@4:5 n@16:29 count@20:33)",
        ),
        ("struct A { int a : 3; int b : 5; };", "constant A &a", " @0:1"),
        ("struct Base { int n; }; struct A : Base { int m; };", "constant A &a", " @0:1"),
        ("struct A { int n; private: int m; };", "constant A &a", " @0:1"),
        ("struct A { union { int n; float f; }; };", "constant A &a", " @0:1"),
        ("struct A { device float (*rows)[4]; };", "device A *a", " @0:1"),
        // What clang sees otherwise than the tokens is told without members, and compiles all the same.
        ("struct run { int n; };", "constant run &a", " @0:1"),
        ("struct A { device float &r; int n; };", "device A *a", " @0:1"),
        ("struct alignas(32) A { public: int n; int m = 1 < 2; };", "device A *a", " @0:1( n@0:29 m@4:29)"),
    ] {
        assert_eq!(members(declarations, parameter), expected, "{declarations}");
    }
}
