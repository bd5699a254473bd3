//! Vectors, matrices and structures at addresses that only their components' size divides (native/hostmetal/pass/alignment.cpp): read and written
//! whole and by component, in every address space, in each engine. MSL asks for more alignment, GPUs do not.

use crate::stdlib::*;
use crate::support::{Buffer, Queue};
use hostmetal::msl::{Built, Engine, MathMode};

/// Threads, in threadgroups of 32: two whole ones and a smaller one.
const THREADS: usize = 70;

/// Scalars and their bytes.
const SCALARS: [(&str, usize); 12] = [
    ("bool", 1),
    ("char", 1),
    ("uchar", 1),
    ("short", 2),
    ("ushort", 2),
    ("half", 2),
    ("bfloat", 2),
    ("int", 4),
    ("uint", 4),
    ("float", 4),
    ("long", 8),
    ("ulong", 8),
];

/// A type with its bytes, those of a component, and where in it components lie.
struct Shape {
    name: String,
    size: usize,
    components: Vec<usize>,
}

/// What is moved of a scalar type, which for `float` and `half` are matrices and structures too.
fn shapes(scalar: &str, bytes: usize) -> Vec<Shape> {
    let row = |columns: usize, rows: usize, stride: usize| -> Vec<usize> {
        (0..columns * rows).map(|n| (n / rows * stride + n % rows) * bytes).collect()
    };
    let mut all = Vec::new();
    for width in [2, 3, 4] {
        let room = if width == 3 { 4 } else { width };
        all.push(Shape { name: format!("{scalar}{width}"), size: room * bytes, components: row(1, width, room) });
        if scalar != "bool" {
            let name = format!("packed_{scalar}{width}");
            all.push(Shape { name, size: width * bytes, components: row(1, width, width) });
        }
    }
    if ["float", "half"].contains(&scalar) {
        for (columns, rows) in [(4, 4), (2, 3)] {
            let room = if rows == 3 { 4 } else { rows };
            let name = format!("{scalar}{columns}x{rows}");
            all.push(Shape { name, size: columns * room * bytes, components: row(columns, rows, room) });
        }
        let name = format!("Both<{scalar}4, {scalar}>");
        all.push(Shape { name, size: 8 * bytes, components: (0..5).map(|n| n * bytes).collect() });
    }
    all
}

/// Ways from an element of the input to one of the output, each for a row of elements: `T a = ..., b`.
const WAYS: [&str; 7] = [
    // Whole.
    "to[i] = from[i];",
    "to[i] = fixed[i];",
    // By component.
    "for (uint k = 0; k < sizeof(T) / sizeof(S); k++) ((device S *)&to[i])[k] = ((device const S *)&from[i])[k];",
    "T v = from[i]; S held[sizeof(T) / sizeof(S)]; for (uint k = 0; k < sizeof(T) / sizeof(S); k++) held[k] = ((thread S *)&v)[k]; \
     for (uint k = 0; k < sizeof(T) / sizeof(S); k++) ((device S *)&to[i])[k] = held[k];",
    // A thread's own memory, and functions that stay calls.
    "uchar own[sizeof(T) + 24]; *(thread T *)(own + at.x) = from[i]; to[i] = *(thread T *)(own + at.x);",
    "put<T>(to[i], from[i]);",
    "to[i] = same<T>(from[i], at.x);",
];

/// The way through threadgroup memory, which waits; a loop without it.
const THROUGH: &str = "threadgroup uchar shared[32 * sizeof(T) + 24]; ((threadgroup T *)(shared + at.x))[t] = from[i]; \
     threadgroup_barrier(mem_flags::mem_threadgroup); to[i] = ((threadgroup T *)(shared + at.x))[t]; \
     threadgroup_barrier(mem_flags::mem_threadgroup);";

fn source(scalar: &str, shapes: &[Shape], waits: bool) -> String {
    let mut text = "template <class V, class S> struct Both { V a; S b; };\n\
         template <class T> __attribute__((noinline)) T get(device const T &from) { return from; }\n\
         template <class T> __attribute__((noinline)) void put(device T &to, device const T &from) { T v = get<T>(from); to = v; }\n\
         template <class T> __attribute__((noinline)) T same(T v, uint n) { T w = v; return n > 100 ? T() : w; }\n"
        .to_owned();
    text += "kernel void run(device uchar *out [[buffer(0)]], device const uchar *in [[buffer(1)]], constant uchar *kept [[buffer(2)]],\n\
         constant uint2 &at [[buffer(3)]], uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {\n";
    text += &format!("typedef {scalar} S;\nuint start = 0;\n");
    for Shape { name, .. } in shapes {
        for way in WAYS.iter().copied().chain(waits.then_some(THROUGH)) {
            text += &format!(
                "{{ typedef {name} T; device T *to = (device T *)(out + at.y + start); device const T *from = (device const T *)(in + at.x + start);\n\
                 constant T *fixed = (constant T *)(kept + at.x + start); (void)fixed; {way} start += {THREADS} * sizeof(T); }}\n"
            );
        }
    }
    text + "}\n"
}

fn move_all(scalar: &str, bytes: usize, waits: bool, engine: Engine) {
    let shapes = shapes(scalar, bytes);
    let source = source(scalar, &shapes, waits);
    let loaded = load(&source, MathMode::Fast, engine);
    let without_pass = matches!(loaded.built(), Built::Stack(why) if why == "hostmetal was built without llvm-19-dev");
    match (loaded.built(), waits, engine) {
        (Built::Loop, false, _) | (Built::Pass, true, Engine::Pass) | (Built::Stack(_), true, Engine::Stack) => {}
        (other, ..) => assert!(without_pass, "{scalar}: {other}"),
    }
    let pipeline = pipeline(loaded);
    let ways = WAYS.len() + usize::from(waits);
    let length = shapes.iter().map(|shape| shape.size * THREADS * ways).sum::<usize>() + 32;
    let mut random = Random(7);
    let mask = if scalar == "bool" { 1 } else { 0xff };
    let input: Vec<u8> = (0..length).map(|_| random.bits() as u8 & mask).collect();
    let given = Buffer::of(&input);
    // Without the pass vectors must lie as MSL says.
    let offsets: &[(usize, usize)] = if without_pass { &[(0, 0)] } else { &[(0, 0), (1, 3), (3, 0), (2, 1)] };
    for &(from, to) in offsets {
        let (from, to) = (from * bytes, to * bytes);
        let out = Buffer::of(&vec![0x5au8; length]);
        Queue::new()
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                for (index, buffer) in [&out, &given, &given].into_iter().enumerate() {
                    encoder.buffer(buffer, index);
                }
                encoder.bytes(&[from as u32, to as u32], 3);
                encoder.threads([THREADS as u64, 1, 1], [32, 1, 1]);
            })
            .assert_completed();
        let output = out.read::<u8>();
        let mut start = 0;
        for Shape { name, size, components } in &shapes {
            for way in 0..ways {
                for place in 0..THREADS {
                    for component in components {
                        let at = start + place * size + component;
                        let (expected, found) = (&input[from + at..][..bytes], &output[to + at..][..bytes]);
                        assert_eq!(
                            found, expected,
                            "{name} from {from} to {to}, way {way}, thread {place}, byte {component}"
                        );
                    }
                }
                start += size * THREADS;
            }
        }
        assert!(output[..to].iter().chain(&output[to + start..]).all(|&byte| byte == 0x5a), "{scalar}: written beside");
    }
}

#[test]
fn in_loops_over_threads() {
    for (scalar, bytes) in SCALARS {
        move_all(scalar, bytes, false, Engine::Pass);
    }
}

#[test]
fn in_loops_between_barriers() {
    for (scalar, bytes) in SCALARS {
        move_all(scalar, bytes, true, Engine::Pass);
    }
}

#[test]
fn on_stacks() {
    for (scalar, bytes) in SCALARS {
        move_all(scalar, bytes, true, Engine::Stack);
    }
}
