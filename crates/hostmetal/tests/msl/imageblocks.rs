//! Which imageblocks of kernels are accepted, and what is said, at which place, about those that are not (MSL specification 5.6.4, 6.13). What they do is
//! tested in msl_stdlib.

use hostmetal::msl::{CompileOptions, check};

/// Four lines.
const HEAD: &str = "#include <metal_imageblocks>\nusing namespace metal;\nstruct C { float4 a [[color(0)]]; };\nstruct P { float4 a; int b; uchar c; half3 d; };\n";

/// A name, a program behind `HEAD`, and what its errors begin with.
type Case = (&'static str, &'static str, &'static [&'static str]);
const CASES: &[Case] = &[
    (
        "an imageblock of color attachments",
        "kernel void k(imageblock<C> i) {}",
        &[
            "5:29: error: an imageblock with implicit layout ([[color(n)]]) belongs to tile functions of render passes: hostmetal runs compute functions only",
        ],
    ),
    (
        "an imageblock that holds them in another structure",
        "struct D { int n; C c; };\ntemplate <class T> kernel void k(imageblock<T> i) {}\ntemplate [[host_name(\"k\")]] kernel void k<D>(imageblock<D>);",
        &[
            "7:41: error: an imageblock with implicit layout",
            "7:41: error: constexpr variable 'table' must be initialized by a constant expression",
        ],
    ),
    (
        "implicit layout by name",
        "kernel void k(imageblock<P, imageblock_layout_implicit> i) {}",
        &["5:57: error: an imageblock with implicit layout ([[color(n)]]) belongs to tile functions of render passes"],
    ),
    (
        "explicit layout of color attachments",
        "kernel void k(imageblock<C, imageblock_layout_explicit> i) {}",
        &["5:57: error: an imageblock with explicit layout cannot have members with the [[color(n)]] attribute"],
    ),
    (
        "imageblocks that alias color attachments",
        "kernel void k(imageblock<P> i [[alias_implicit_imageblock]]) {}\nkernel void l(imageblock<P> i [[alias_implicit_imageblock_color(1)]]) {}\nkernel void m(imageblock<P> i [[imageblock_data(P)]]) {}",
        &[
            "5:33: error: '[[alias_implicit_imageblock]]' belongs to functions of render passes",
            "6:33: error: '[[alias_implicit_imageblock_color]]' belongs to functions of render passes",
            "7:33: error: '[[imageblock_data]]' belongs to functions of render passes",
        ],
    ),
    (
        "two imageblocks",
        "kernel void k(imageblock<P> i, device int *p, imageblock<P> j) { p[0] = 1; }",
        &["5:61: error: a kernel can have only one imageblock with explicit layout"],
    ),
    (
        "what lies in an imageblock without one",
        "kernel void k(threadgroup_imageblock P *p) { p->b = 1; }\nkernel void l() { threadgroup_imageblock P p; p.b = 1; }",
        &[
            "5:41: error: parameter 'p' of a kernel in address space 'threadgroup_imageblock' belongs to tile functions of render passes",
            "6:19: error: an object in address space 'threadgroup_imageblock' can only be part of an imageblock",
        ],
    ),
    (
        "an imageblock of no structure",
        "kernel void k(imageblock<float4> i) {}",
        &["5:34: error: the type of an imageblock's pixels must be a plain structure"],
    ),
    (
        "reading an imageblock of explicit layout",
        "kernel void k(imageblock<P> i) { P p = i.read(ushort2(0)); (void)p; }",
        &["5:42: error: no member named 'read'"],
    ),
    (
        "a const imageblock",
        "void f(const imageblock<P> i) {\n  i.data(ushort2(0))->b = 1; }\nkernel void k(imageblock<P> i) { f(i); }",
        &["6:25: error: cannot assign to return value because function 'data' returns a const value"],
    ),
    (
        "slices that no texture holds",
        "kernel void k(imageblock<P> i, texture2d<float, access::write> t, texture2d<float> r) {\n  threadgroup_imageblock P *p = i.data(ushort2(0)); t.write(i.slice(p->a), uint2(0));\n  t.write(i.slice(p->b), uint2(0));\n  t.write(i.slice(p->c), uint2(0));\n  t.write(i.slice(p->d), uint2(0));\n  r.write(i.slice(p->a), uint2(0));\n}",
        &[
            "7:5: error: a slice of this type of member cannot be written to a texture of this component type (MSL table 2.8)",
            "8:5: error: a slice of this type",
            "9:5: error: a slice of this type",
            "10:5: error: only a texture with access::write or access::read_write can be written",
        ],
    ),
    (
        "imageblocks by other names, beside functions of a render pass",
        "struct Q { rgba8unorm<half4> a [[raster_order_group(0)]] [4]; int n; int get() const threadgroup_imageblock { return n; } };\nstruct S { Q p [[imageblock_data]]; };\nfragment S f(Q p [[imageblock_data]], C c) { S s; s.p = p; return s; }\nusing Block = metal::imageblock<Q>;\ntypedef imageblock<Q, imageblock_layout_explicit> Other;\nint of(Block i) { return i.data(ushort2(0))->get(); }\nkernel void k(Block i, device int *p) { p[0] = of(i); }\nkernel void l(Other i, device int *p, ushort2 t [[thread_position_in_threadgroup]]) { threadgroup_imageblock Q &q = *i.data(t); q.a[1] = half4(1); p[0] = of(i) + (const threadgroup_imageblock Q *)i.data(t) - i.data(t) + half4(q.a[1]).x; }",
        &[],
    ),
];

#[test]
fn imageblocks_are_accepted_or_refused_by_name() {
    for (name, program, expected) in CASES {
        let log = check(&format!("{HEAD}{program}"), &CompileOptions::default()).err().map_or(String::new(), |f| f.log);
        let found: Vec<&str> = log
            .lines()
            .filter_map(|line| line.strip_prefix("program_source:"))
            .filter(|line| line.contains(": error: "))
            .collect();
        let fits = found.len() == expected.len() && found.iter().zip(*expected).all(|(f, e)| f.starts_with(e));
        assert!(fits, "{name}: expected {expected:#?}, found {found:#?}\n{log}");
    }
}
