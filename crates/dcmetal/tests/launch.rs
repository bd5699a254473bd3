//! What a launch refuses, before anything runs, and with which words.

mod common;

use bytemuck::{Pod, Zeroable};
use common::{gpu, msl};
use dcmetal::{Accelerator, Arg, ArgumentKind, Batch, Buffer, CompileOptions, Constants, Error, ErrorKind, Grid};
use dcmetal::{Kernel, Result, Size, TextureKind, args};

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
struct Pair { float2 a; uint b; };
kernel void scale(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], constant float& a [[buffer(2)]],
                  constant uint& n [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = a * x[i];
}
kernel void vectors(device float4* y [[buffer(0)]], constant float3& v [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) { y[i] = float4(v, 1.0f); }
kernel void pairs(device Pair* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i].b = i; }
kernel void shared(device uint* y [[buffer(0)]], threadgroup uint* t [[threadgroup(0)]],
                   uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]]) {
    t[l] = i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = t[l];
}
";

struct Setup {
    gpu: Accelerator,
    other: Accelerator,
    scale: Kernel,
    vectors: Kernel,
    pairs: Kernel,
    shared: Kernel,
    x: Buffer<f32>,
    y: Buffer<f32>,
}

fn setup() -> Setup {
    let gpu = gpu();
    let library = gpu.compile_msl(SOURCE).unwrap_or_else(|error| panic!("{error}"));
    let kernel = |name| library.kernel(name).unwrap_or_else(|error| panic!("{error}"));
    Setup {
        scale: kernel("scale"),
        vectors: kernel("vectors"),
        pairs: kernel("pairs"),
        shared: kernel("shared"),
        x: gpu.buffer_from(&[1.0, 2.0, 3.0, 4.0]).expect("a buffer"),
        y: gpu.buffer_from(&[9.0; 4]).expect("a buffer"),
        other: common::gpu(),
        gpu,
    }
}

/// One launch that must be refused.
struct Case {
    name: &'static str,
    launch: fn(&mut Setup) -> Result<()>,
    refused: fn(&Error) -> bool,
    /// What the message says, in order.
    says: &'static [&'static str],
}

fn go<'a>(kernel: &Kernel, grid: Grid, args: impl AsRef<[Arg<'a>]>) -> Result<()> {
    kernel.launch(grid, args)?.wait()
}

const FOUR: fn() -> Grid = || Grid::linear(4);

const CASES: &[Case] = &[
    Case {
        name: "an argument too few",
        launch: |s| go(&s.scale, FOUR(), args![&s.x, &mut s.y, 2.0f32]),
        refused: |e| matches!(e, Error::ArgumentCount { wanted: 4, got: 3, .. }),
        says: &["`scale`", "4 arguments", "`x`, `y`, `a`, `n`", "got 3"],
    },
    Case {
        name: "no arguments",
        launch: |s| go(&s.scale, FOUR(), args![]),
        refused: |e| matches!(e, Error::ArgumentCount { wanted: 4, got: 0, .. }),
        says: &["got 0"],
    },
    Case {
        name: "threadgroup memory for a buffer",
        launch: |s| go(&s.scale, FOUR(), args![&s.x, Arg::threadgroup::<f32>(4), 2.0f32, 4u32]),
        refused: |e| matches!(e, Error::ArgumentKind { wanted: ArgumentKind::Buffer, .. }),
        says: &["`scale`", "argument 1 (`y`)", "wants a buffer", "got threadgroup memory"],
    },
    Case {
        name: "a buffer for threadgroup memory",
        launch: |s| {
            let mut y = s.gpu.buffer_zeroed::<u32>(4)?;
            go(&s.shared, FOUR(), args![&mut y, &s.x])
        },
        refused: |e| matches!(e, Error::ArgumentKind { wanted: ArgumentKind::Threadgroup, .. }),
        says: &["argument 1 (`t`)", "threadgroup memory", "got a buffer"],
    },
    Case {
        name: "a value for a buffer that is written",
        launch: |s| go(&s.scale, FOUR(), args![&s.x, 1.0f32, 2.0f32, 4u32]),
        refused: |e| matches!(e, Error::ArgumentReadOnly { .. }),
        says: &["argument 1 (`y`)", "got a value"],
    },
    Case {
        name: "a shared borrow for a buffer that is written",
        launch: |s| go(&s.scale, FOUR(), args![&s.x, &s.y, 2.0f32, 4u32]),
        refused: |e| matches!(e, Error::ArgumentReadOnly { .. }),
        says: &["argument 1 (`y`)", "got a buffer for reading", "pass `&mut`"],
    },
    Case {
        name: "integers for floats",
        launch: |s| {
            let x = s.gpu.buffer_from(&[1u32, 2, 3, 4])?;
            go(&s.scale, FOUR(), args![&x, &mut s.y, 2.0f32, 4u32])
        },
        refused: |e| matches!(e, Error::ArgumentType { .. }),
        says: &["argument 0 (`x`)", "wants `float`", "got `uint`"],
    },
    Case {
        name: "an integer value for a float",
        launch: |s| go(&s.scale, FOUR(), args![&s.x, &mut s.y, 2i32, 4u32]),
        refused: |e| matches!(e, Error::ArgumentType { .. }),
        says: &["argument 2 (`a`)", "wants `float`", "got `int`"],
    },
    Case {
        name: "a negative value for an unsigned one",
        launch: |s| go(&s.scale, FOUR(), args![&s.x, &mut s.y, 2.0f32, -1i32]),
        refused: |e| matches!(e, Error::ArgumentType { .. }),
        says: &["argument 3 (`n`)", "wants `uint`", "got `int`"],
    },
    Case {
        name: "a double for a float",
        launch: |s| go(&s.scale, FOUR(), args![&s.x, &mut s.y, Arg::value(2.0f64), 4u32]),
        refused: |e| matches!(e, Error::ArgumentType { .. }),
        says: &["argument 2 (`a`)", "`float`", "f64"],
    },
    Case {
        name: "bytes of another size than the value",
        launch: |s| go(&s.scale, FOUR(), args![&s.x, &mut s.y, Arg::bytes(&[0; 3]), 4u32]),
        refused: |e| matches!(e, Error::ArgumentSize { wanted: 4, got: 3, .. }),
        says: &["argument 2 (`a`)"],
    },
    Case {
        name: "a value above 4096 bytes",
        launch: |s| go(&s.scale, FOUR(), args![&s.x, &mut s.y, Arg::bytes(&[0; 4097]), 4u32]),
        refused: |e| matches!(e, Error::ValueTooLarge { got: 4097, limit: 4096, .. }),
        says: &["argument 2 (`a`)", "4097", "4096"],
    },
    Case {
        name: "a buffer below one element",
        launch: |s| {
            let mut short = s.gpu.buffer_zeroed::<f32>(3)?;
            go(&s.vectors, FOUR(), args![&mut short, [1.0f32, 2.0, 3.0]])
        },
        refused: |e| matches!(e, Error::BufferTooShort { wanted: 16, got: 12, .. }),
        says: &["argument 0 (`y`)", "16 bytes", "12"],
    },
    Case {
        name: "an empty view",
        launch: |s| go(&s.scale, FOUR(), args![s.x.view(2..2)?, &mut s.y, 2.0f32, 4u32]),
        refused: |e| matches!(e, Error::BufferTooShort { wanted: 4, got: 0, .. }),
        says: &["argument 0 (`x`)"],
    },
    Case {
        name: "a view between two vectors",
        launch: |s| {
            let mut y = s.gpu.buffer_zeroed::<f32>(16)?;
            go(&s.vectors, Grid::linear(1), args![y.view_mut(1..)?, [1.0f32, 2.0, 3.0]])
        },
        refused: |e| matches!(e, Error::ArgumentAlignment { wanted: 16, got: 4, .. }),
        says: &["argument 0 (`y`)", "alignment of 16", "byte 4"],
    },
    Case {
        name: "structs of another size",
        launch: |s| {
            let mut y = s.gpu.buffer_zeroed::<[u32; 3]>(8)?;
            go(&s.pairs, FOUR(), args![&mut y])
        },
        refused: |e| matches!(e, Error::ArgumentType { .. }),
        says: &["`pairs`", "argument 0 (`y`)", "[u32; 3]"],
    },
    Case {
        name: "a buffer of another accelerator",
        launch: |s| {
            let x = s.other.buffer_from(&[1.0f32; 4])?;
            go(&s.scale, FOUR(), args![&x, &mut s.y, 2.0f32, 4u32])
        },
        refused: |e| matches!(e, Error::Foreign { .. }),
        says: &["argument 0 (`x`)", "another accelerator"],
    },
    Case {
        name: "a kernel of another accelerator",
        launch: |s| {
            let mut batch: Batch = s.other.batch()?;
            batch.launch(&s.scale, FOUR(), args![&s.x, &mut s.y, 2.0f32, 4u32])
        },
        refused: |e| matches!(e, Error::Foreign { .. }),
        says: &["kernel `scale`", "another accelerator"],
    },
    Case {
        name: "a grid of zero",
        launch: |s| go(&s.scale, Grid::linear(0), args![&s.x, &mut s.y, 2.0f32, 4u32]),
        refused: |e| matches!(e, Error::GridZero { what: "a grid", .. }),
        says: &["`scale`", "0x1x1"],
    },
    Case {
        name: "a grid of zero threadgroups",
        launch: |s| go(&s.scale, Grid::threadgroups((1u32, 0u32), 4u32), args![&s.x, &mut s.y, 2.0f32, 4u32]),
        refused: |e| matches!(e, Error::GridZero { what: "a grid", .. }),
        says: &["1x0x1"],
    },
    Case {
        name: "a threadgroup of zero",
        launch: |s| go(&s.scale, FOUR().threadgroup((4u32, 1u32, 0u32)), args![&s.x, &mut s.y, 2.0f32, 4u32]),
        refused: |e| matches!(e, Error::GridZero { what: "a threadgroup", .. }),
        says: &["4x1x0"],
    },
    Case {
        name: "a grid beyond a thread's position",
        launch: |s| go(&s.scale, Grid::threads(1u64 << 32), args![&s.x, &mut s.y, 2.0f32, 4u32]),
        refused: |e| matches!(e, Error::GridTooLarge { limit: 0xFFFF_FFFF, .. }),
        says: &["4294967296x1x1"],
    },
    Case {
        name: "so many threadgroups that their threads overflow",
        launch: |s| go(&s.scale, Grid::threadgroups(u64::MAX, 64u32), args![&s.x, &mut s.y, 2.0f32, 4u32]),
        refused: |e| matches!(e, Error::GridTooLarge { .. }),
        says: &["`scale`"],
    },
    Case {
        name: "a threadgroup above the limits",
        launch: |s| {
            let side = s.scale.max_threads_per_threadgroup();
            go(&s.scale, Grid::threads((side, 2u64)).threadgroup((side, 2u64)), args![&s.x, &mut s.y, 2.0f32, 4u32])
        },
        refused: |e| matches!(e, Error::ThreadgroupTooLarge { .. }),
        says: &["`scale`", "a threadgroup of"],
    },
    Case {
        name: "more threadgroup memory than there is",
        launch: |s| {
            let mut y = s.gpu.buffer_zeroed::<u32>(4)?;
            let bytes = s.gpu.limits().max_threadgroup_memory as usize + 1;
            go(&s.shared, FOUR(), args![&mut y, Arg::threadgroup_bytes(bytes)])
        },
        refused: |e| matches!(e, Error::ThreadgroupMemory { fixed: 0, .. }),
        says: &["`shared`", "threadgroup memory"],
    },
    Case {
        name: "threadgroup memory for no element",
        launch: |s| {
            let mut y = s.gpu.buffer_zeroed::<u32>(4)?;
            go(&s.shared, FOUR(), args![&mut y, Arg::threadgroup::<u32>(0)])
        },
        refused: |e| matches!(e, Error::BufferTooShort { wanted: 4, got: 0, .. }),
        says: &["argument 1 (`t`)"],
    },
];

#[test]
fn every_mismatch_is_refused_and_nothing_runs() {
    let mut setup = setup();
    for case in CASES {
        let error = match (case.launch)(&mut setup) {
            Ok(()) => panic!("{}: it ran", case.name),
            Err(error) => error,
        };
        assert!((case.refused)(&error), "{}: {error:?}", case.name);
        assert_eq!(error.kind(), ErrorKind::User, "{}: {error:?}", case.name);
        let text = error.to_string();
        let mut rest = text.as_str();
        for words in case.says {
            let at = rest.find(words).unwrap_or_else(|| panic!("{}: no {words:?} in {text:?}", case.name));
            rest = &rest[at + words.len()..];
        }
        assert_eq!(setup.y.to_vec().unwrap(), [9.0; 4], "{}: it wrote", case.name);
    }
    // What is right runs, also after all that.
    go(&setup.scale, FOUR(), args![&setup.x, &mut setup.y, 2.0f32, 4u32]).unwrap();
    assert_eq!(setup.y.to_vec().unwrap(), [2.0, 4.0, 6.0, 8.0]);
}

/// One launch that must be accepted, with what it leaves.
#[test]
fn what_means_the_same_is_accepted() {
    let Setup { gpu, scale, vectors, pairs, shared, x, mut y, .. } = setup();
    // A positive int for a uint; a value for a buffer that is only read; bytes for any type.
    go(&scale, FOUR(), args![&x, &mut y, 3.0f32, 4i32]).unwrap();
    assert_eq!(y.to_vec().unwrap(), [3.0, 6.0, 9.0, 12.0]);
    go(&scale, Grid::linear(1), args![7.0f32, &mut y, 2.0f32, 1u32]).unwrap();
    assert_eq!(y.to_vec().unwrap(), [14.0, 6.0, 9.0, 12.0]);
    let raw = x.view(..).unwrap().reinterpret::<u8>().unwrap();
    go(&scale, FOUR(), args![raw, &mut y, Arg::bytes(&1.0f32.to_ne_bytes()), 4u32]).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    // A value in a buffer; a Vec of arguments.
    let a = gpu.buffer_from(&[5.0f32]).unwrap();
    go(&scale, FOUR(), vec![Arg::from(&x), Arg::from(&mut y), Arg::from(&a), Arg::from(4u32)]).unwrap();
    assert_eq!(y.to_vec().unwrap(), [5.0, 10.0, 15.0, 20.0]);
    // Three floats for a float3; floats, or arrays of four, as float4.
    go(&vectors, Grid::linear(1), args![&mut y, [1.0f32, 2.0, 3.0]]).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1.0, 2.0, 3.0, 1.0]);
    let mut arrays = gpu.buffer_zeroed::<[f32; 4]>(2).unwrap();
    go(&vectors, Grid::linear(2), args![&mut arrays, [4.0f32, 5.0, 6.0]]).unwrap();
    assert_eq!(arrays.to_vec().unwrap(), [[4.0, 5.0, 6.0, 1.0]; 2]);
    // Structs of the same size.
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable, Debug, PartialEq)]
    struct Pair {
        a: [f32; 2],
        b: u32,
        padding: u32,
    }
    let mut structs = gpu.buffer_zeroed::<Pair>(3).unwrap();
    go(&pairs, Grid::linear(3), args![&mut structs]).unwrap();
    assert_eq!(structs.read().unwrap().iter().map(|pair| pair.b).collect::<Vec<_>>(), [0, 1, 2]);
    // Threadgroup memory up to the limit, and after it a kernel that uses none, in one batch.
    let mut z = gpu.buffer_zeroed::<u32>(4).unwrap();
    let most = Arg::threadgroup_bytes(gpu.limits().max_threadgroup_memory as usize);
    let mut batch = gpu.batch().unwrap();
    batch.launch(&shared, FOUR().threadgroup(2u32), args![&mut z, most]).unwrap();
    batch.launch(&scale, FOUR(), args![&x, &mut y, 1.0f32, 4u32]).unwrap();
    batch.submit().unwrap().wait().unwrap();
    assert_eq!(z.to_vec().unwrap(), [0, 1, 2, 3]);
    assert_eq!(y.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn vectors_of_8_and_16_are_arguments() {
    let source = "kernel void k(global float8* y, int16 n, float8 v) { y[0] = v + convert_float8(n.lo * n.hi); }";
    let gpu = gpu();
    let kernel = gpu.compile_opencl(source).unwrap_or_else(|error| panic!("{error}")).kernel("k").unwrap();
    let of = |i: usize| (kernel.arguments()[i].scalar, kernel.arguments()[i].lanes, kernel.arguments()[i].size);
    assert_eq!((of(0), of(1)), ((Some(dcmetal::Scalar::F32), 8, 32), (Some(dcmetal::Scalar::I32), 16, 64)));
    let (n, v) =
        (std::array::from_fn::<i32, 16, _>(|i| i as i32), std::array::from_fn::<f32, 8, _>(|i| i as f32 / 4.0));
    let wanted: [f32; 8] = std::array::from_fn(|i| (i * (i + 8)) as f32 + i as f32 / 4.0);
    let mut y = gpu.buffer_zeroed::<f32>(8).unwrap();
    go(&kernel, Grid::linear(1), args![&mut y, n, v]).unwrap();
    assert_eq!(y.to_vec().unwrap(), wanted);
    let mut whole = gpu.buffer_zeroed::<[f32; 8]>(1).unwrap();
    go(&kernel, Grid::linear(1), args![&mut whole, n, v]).unwrap();
    assert_eq!(whole.to_vec().unwrap(), [wanted]);
    let short = go(&kernel, Grid::linear(1), args![&mut y, n, [1.0f32; 4]]);
    assert!(matches!(short, Err(Error::ArgumentSize { wanted: 32, got: 16, .. })), "{short:?}");
    let other = go(&kernel, Grid::linear(1), args![&mut y, [1.0f32; 16], v]);
    assert!(matches!(other, Err(Error::ArgumentType { .. })), "{other:?}");
}

#[test]
fn two_views_of_one_buffer_are_two_arguments() {
    let Setup { gpu, scale, .. } = setup();
    let mut both = gpu.buffer_from(&[1.0f32, 2.0, 0.0, 0.0]).unwrap();
    let (front, back) = both.split_at_mut(2).unwrap();
    go(&scale, Grid::linear(2), args![front.as_view(), back, 10.0f32, 2u32]).unwrap();
    assert_eq!(both.to_vec().unwrap(), [1.0, 2.0, 10.0, 20.0]);
}

#[test]
fn a_threadgroup_is_chosen_within_the_limits() {
    let Setup { scale, .. } = setup();
    for size in
        [Size::from(1u32), Size::from(1_000_003u32), Size::from((640u32, 480u32)), Size::from((3u32, 5u32, 7u32))]
    {
        let group = scale.threadgroup_for(&Grid::threads(size)).unwrap();
        let volume = group.volume().unwrap();
        assert!(volume >= 1 && volume <= scale.max_threads_per_threadgroup(), "{group} for {size}");
    }
    assert_eq!(scale.threadgroup_for(&Grid::threadgroups(5u32, (4u32, 2u32))).unwrap(), Size::from((4u32, 2u32)));
}

#[test]
fn opencl_kernels_keep_their_rules() {
    let gpu = gpu();
    let source = "
        __kernel void plain(__global int *y, int v) { y[get_global_id(0)] = v; }
        __kernel __attribute__((reqd_work_group_size(4, 2, 1))) void fixed(__global uint *y) {
            y[get_global_id(1) * get_global_size(0) + get_global_id(0)] = (uint)get_local_size(0);
        }";
    let library = gpu.compile_opencl(source).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(library.kernel_names(), ["plain", "fixed"]);
    let (plain, fixed) = (library.kernel("plain").unwrap(), library.kernel("fixed").unwrap());
    let names: Vec<&str> = plain.arguments().iter().map(|argument| argument.name.as_str()).collect();
    assert_eq!(names, ["y", "v"]);

    let mut y = gpu.buffer_zeroed::<i32>(7).unwrap();
    // A value is a value and a buffer is a buffer.
    let one = gpu.buffer_from(&[1i32]).unwrap();
    let refused = go(&plain, Grid::linear(7), args![&mut y, &one]).unwrap_err();
    assert!(matches!(refused, Error::ArgumentKind { wanted: ArgumentKind::Value, .. }), "{refused:?}");
    let refused = go(&plain, Grid::linear(7), args![1i32, 1i32]).unwrap_err();
    assert!(matches!(refused, Error::ArgumentKind { wanted: ArgumentKind::Buffer, .. }), "{refused:?}");
    // OpenCL C 1.2 has no partial work-groups: a given size must divide.
    let refused = go(&plain, Grid::linear(7).threadgroup(4u32), args![&mut y, 1i32]).unwrap_err();
    assert!(matches!(refused, Error::ThreadgroupUneven { .. }), "{refused:?}");
    go(&plain, Grid::linear(7).threadgroup(4u32).partial(), args![&mut y, 8i32]).unwrap();
    assert_eq!(y.to_vec().unwrap(), [8; 7]);
    // Such a threadgroup shows no dimensions that the grid does not have, and what a kernel requires divides the grid still.
    let asks = "__kernel void dimensions(__global int *y) { y[get_global_id(0)] = (int)get_work_dim(); }";
    let dimensions = gpu.compile_opencl(asks).unwrap().kernel("dimensions").unwrap();
    go(&dimensions, Grid::linear(7).threadgroup((4u32, 2u32)).partial(), args![&mut y]).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1; 7]);
    let mut few = gpu.buffer_zeroed::<u32>(24).unwrap();
    let refused =
        go(&fixed, Grid::threads((6u32, 2u32)).threadgroup((4u32, 2u32)).partial(), args![&mut few]).unwrap_err();
    assert!(matches!(refused, Error::ThreadgroupUneven { .. }), "{refused:?}");
    go(&plain, Grid::linear(7), args![&mut y, -3i32]).unwrap();
    assert_eq!(y.to_vec().unwrap(), [-3; 7]);
    let options = dcmetal::clmsl::Options { std: dcmetal::clmsl::Std::Cl20, ..Default::default() };
    let newer = gpu.compile_opencl_with("newer.cl", source, &options).unwrap().kernel("plain").unwrap();
    go(&newer, Grid::linear(7).threadgroup(4u32), args![&mut y, 5i32]).unwrap();
    assert_eq!(y.to_vec().unwrap(), [5; 7]);
    // A required work-group size is chosen, and nothing else is taken.
    assert_eq!(fixed.required_threadgroup(), Some(Size::from((4u32, 2u32))));
    let mut z = gpu.buffer_zeroed::<u32>(8 * 4).unwrap();
    let refused = go(&fixed, Grid::threads((8u32, 4u32)).threadgroup((2u32, 4u32)), args![&mut z]).unwrap_err();
    assert!(matches!(refused, Error::ThreadgroupRequired { .. }), "{refused:?}");
    go(&fixed, Grid::threads((8u32, 4u32)), args![&mut z]).unwrap();
    assert_eq!(z.to_vec().unwrap(), [4; 32]);
}

#[test]
fn sources_that_do_not_compile_say_where() {
    let gpu = gpu();
    let options = CompileOptions { name: "broken.metal".to_owned(), ..CompileOptions::default() };
    let error = gpu.compile_msl_with("kernel void k(device float* x [[buffer(0)]]) { x[0] = nothing; }", &options);
    let error = error.unwrap_err();
    assert!(matches!(&error, Error::Compile { name, log } if name == "broken.metal" && log.contains("nothing")));
    assert_eq!(error.kind(), ErrorKind::User);

    let source = "__kernel void k(__global int *x) {\n    x[0] = nothing;\n}\n";
    let error = gpu.compile_opencl_with("broken.cl", source, &Default::default()).unwrap_err();
    assert!(matches!(&error, Error::OpenCl { errors: 1, .. }), "{error:?}");
    assert!(error.to_string().contains("broken.cl:2:12: error:"), "{error}");
    assert!(error.to_string().contains("    x[0] = nothing;"), "{error}");
}

#[test]
fn a_kernel_that_is_not_there_is_named_with_those_that_are() {
    let gpu = gpu();
    let library = gpu.compile_msl("kernel void b() {} kernel void a() {}").unwrap();
    assert_eq!(library.kernel_names(), ["a", "b"]);
    let error = library.kernel("c").unwrap_err();
    assert!(matches!(&error, Error::KernelNotFound { kernel, .. } if kernel == "c"), "{error:?}");
    assert!(error.to_string().contains("`a`, `b`"), "{error}");
}

#[test]
fn options_reach_the_compiler() {
    let gpu = gpu();
    let source = "kernel void k(device int* x [[buffer(0)]]) { x[0] = VALUE; }";
    let options = CompileOptions { macros: vec![("VALUE".into(), "41 + 1".into())], ..CompileOptions::default() };
    let kernel = gpu.compile_msl_with(source, &options).unwrap().kernel("k").unwrap();
    let mut x = gpu.buffer_zeroed::<i32>(1).unwrap();
    go(&kernel, Grid::linear(1), args![&mut x]).unwrap();
    assert_eq!(x.to_vec().unwrap(), [42]);
    let options = CompileOptions { language_version: Some((9, 9)), ..CompileOptions::default() };
    let error = gpu.compile_msl_with("kernel void k() {}", &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
}

#[test]
fn constants_of_every_type_reach_the_kernel() {
    let gpu = gpu();
    let source = "
        constant bool B [[function_constant(0)]];
        constant short S [[function_constant(1)]];
        constant float F [[function_constant(2)]];
        constant ulong U [[function_constant(3)]];
        kernel void k(device long* y [[buffer(0)]]) { y[0] = B; y[1] = S; y[2] = long(F * 4.0f); y[3] = long(U); }";
    let library = gpu.compile_msl(source).unwrap_or_else(|error| panic!("{error}"));
    for (b, s, f, u) in [(true, -7i16, 2.5f32, 1u64 << 40), (false, 300, -0.75, 3)] {
        let constants = Constants::new().at(0, b).named("S", s).at(2, f).named("U", u);
        let kernel = library.kernel_with("k", &constants).unwrap_or_else(|error| panic!("{error}"));
        let mut y = gpu.buffer_zeroed::<i64>(4).unwrap();
        go(&kernel, Grid::linear(1), args![&mut y]).unwrap();
        assert_eq!(y.to_vec().unwrap(), [i64::from(b), i64::from(s), (f * 4.0) as i64, u as i64]);
    }
    let error = library.kernel("k").unwrap_err();
    assert!(matches!(error, Error::Pipeline { .. }), "a kernel without its constants: {error:?}");
}

#[test]
fn a_buffer_is_no_texture() {
    let gpu = gpu();
    let source = "#include <metal_stdlib>
        using namespace metal;
        kernel void k(texture2d<float> image [[texture(0)]], device float* y [[buffer(0)]]) { y[0] = image.get_width(); }";
    let kernel = gpu.compile_msl(source).unwrap().kernel("k").unwrap();
    let kinds: Vec<ArgumentKind> = kernel.arguments().iter().map(|argument| argument.kind).collect();
    assert_eq!(kinds, [ArgumentKind::Buffer, ArgumentKind::Texture { kind: TextureKind::D2 }]);
    let (x, mut y) = (gpu.buffer_zeroed::<f32>(1).unwrap(), gpu.buffer_zeroed::<f32>(1).unwrap());
    let error = kernel.launch(Grid::linear(1), args![&mut y, &x]).unwrap_err();
    assert!(matches!(&error, Error::ArgumentKind { got: "a buffer for reading", .. }), "{error:?}");
    assert!(error.to_string().contains("a texture2d"), "{error}");
}

#[test]
fn arguments_tell_what_the_source_declares() {
    let Setup { gpu, scale, shared, .. } = setup();
    let told: Vec<String> = scale
        .arguments()
        .iter()
        .map(|a| format!("{} {} {} {} {} {:?}", a.position, a.slot, a.name, a.type_name, a.size, a.access))
        .collect();
    assert_eq!(
        told,
        ["0 0 x float 4 ReadOnly", "1 1 y float 4 ReadWrite", "2 2 a float 4 ReadOnly", "3 3 n uint 4 ReadOnly"]
    );
    assert_eq!(shared.arguments()[1].kind, ArgumentKind::Threadgroup);
    let unused =
        msl(&gpu, "kernel void k(device int* x [[buffer(5)]], device int* y [[buffer(2)]]) { y[0] = 1; }", "k");
    let slots: Vec<usize> = unused.arguments().iter().map(|a| a.slot).collect();
    assert_eq!(slots, [2, 5]);
}

#[test]
fn opencl_kernels_learn_the_number_of_dimensions() {
    let gpu = gpu();
    let source = "__kernel void dims(__global uint *y) { if (get_global_id(0) == 0) y[0] = get_work_dim(); }";
    let kernel = gpu.compile_opencl(source).unwrap_or_else(|error| panic!("{error}")).kernel("dims").unwrap();
    assert_eq!(kernel.arguments().len(), 1, "what the translator adds is not the caller's");
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    for (grid, wanted) in [
        (Grid::linear(4), 1),
        (Grid::threads((4u32, 2u32)), 2),
        (Grid::threads((4u32, 1u32, 2u32)), 3),
        (Grid::threadgroups((1u32, 3u32), 2u32), 2),
        (Grid::threads((5u32, 1u32)), 1),
        (Grid::threads((5u32, 1u32)).work_dim(2), 2),
        (Grid::linear(4).work_dim(3), 3),
    ] {
        go(&kernel, grid, args![&mut y]).unwrap();
        assert_eq!(y.to_vec().unwrap(), [wanted], "{grid}");
    }
}

#[test]
fn values_of_every_type_arrive() {
    let gpu = gpu();
    let source = "
        kernel void k(device long* y [[buffer(0)]], constant bool& b [[buffer(1)]], constant char& c [[buffer(2)]],
                      constant ushort& s [[buffer(3)]], constant long& l [[buffer(4)]],
                      constant uchar3& v [[buffer(5)]], constant short2& w [[buffer(6)]]) {
            y[0] = b; y[1] = c; y[2] = s; y[3] = l; y[4] = v.x + v.y * 1000 + v.z * 1000000; y[5] = w.x - w.y;
        }";
    // The types without their namespace are those of every MSL program.
    let source = format!("#include <metal_stdlib>\nusing namespace metal;\n{source}");
    let kernel = msl(&gpu, &source, "k");
    let mut y = gpu.buffer_zeroed::<i64>(6).unwrap();
    let args = args![&mut y, true, -7i8, 65535u16, i64::MIN, [1u8, 2, 3], [-5i16, 300]];
    go(&kernel, Grid::linear(1), args).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1, -7, 65535, i64::MIN, 3_002_001, -305]);
}
