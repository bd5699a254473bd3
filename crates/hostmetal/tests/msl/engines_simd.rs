//! SIMD-group functions of every type in both engines: the same bits, for whole SIMD-groups, of which the LLVM pass makes vectors, and for parts.
//! What the bits must be, msl_stdlib and engines_random.rs know.

use crate::stdlib::*;
use crate::support::{Buffer, Queue};
use hostmetal::msl::{Built, Engine, MathMode};

const THREADS: usize = 150;

const FUNCTIONS: [&str; 17] = [
    "simd_sum(v)",
    "simd_product(v)",
    "simd_min(v)",
    "simd_max(v)",
    "simd_prefix_inclusive_sum(v)",
    "simd_prefix_exclusive_sum(v)",
    "simd_prefix_inclusive_product(v)",
    "simd_prefix_exclusive_product(v)",
    "simd_shuffle(v, (ushort)(i * 7 % 40))",
    "simd_shuffle_up(v, 3)",
    "simd_shuffle_and_fill_down(v, (T)(v + v), 3, 16)",
    "simd_broadcast_first(v)",
    "quad_sum(v)",
    "quad_max(v)",
    "quad_prefix_inclusive_sum(v)",
    "quad_shuffle_xor(v, 1)",
    "quad_broadcast(v, 2)",
];

const VOTES: [&str; 5] = [
    "(ulong)(simd_vote::vote_t)simd_ballot(i * 7 % 5 < 2)",
    "simd_all(i < 80)",
    "simd_any(i == 70)",
    "simd_is_first()",
    "quad_any(i % 9 == 0)",
];

fn run_on(source: &str, bytes: &[u8], size: usize, engine: Engine) -> Vec<u8> {
    let loaded = load(source, MathMode::Safe, engine);
    // Where there is a pass, it takes all of these: else one engine would be compared with itself.
    if engine == Engine::Pass && has_pass() {
        assert_eq!(*loaded.built(), Built::Pass, "{source}");
    }
    let pipeline = pipeline(loaded);
    let (given, out) = (Buffer::of(bytes), Buffer::new(THREADS as u64 * 8 * 32));
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&given, 0);
            encoder.buffer(&out, 1);
            encoder.threads([THREADS as u64, 1, 1], [size as u64, 1, 1]);
        })
        .assert_completed();
    out.read()
}

/// How a kernel knows the number `i` of its thread: as a position, or in linear order. The pass has other code for parts of SIMD-groups for each.
#[derive(Clone, Copy)]
enum Number {
    Position,
    Linear,
}

fn compare(name: &str, body: &str, bytes: &[u8], number: Number) {
    // A whole number of SIMD-groups but in the last threadgroup, and parts in each.
    for size in [64, 75] {
        let (input, i) = match number {
            Number::Position => ("uint p [[thread_position_in_grid]]", "p".to_owned()),
            Number::Linear => ("uint l [[thread_index_in_threadgroup]]", format!("g * {size} + l")),
        };
        let source = format!(
            "kernel void run(const device {name} *in [[buffer(0)]], device {name} *out [[buffer(1)]], {input}, uint g [[threadgroup_position_in_grid]], uint s [[simdgroup_index_in_threadgroup]]) {{\n\
             \x20 typedef {name} T; const uint n = {THREADS}, i = {i}; (void)g; (void)s;\n{body} }}\n"
        );
        assert!(
            run_on(&source, bytes, size, Engine::Pass) == run_on(&source, bytes, size, Engine::Stack),
            "threadgroups of {size}:\n{source}"
        );
    }
}

#[test]
fn engines_give_the_same_bits() {
    let mut random = Random(11);
    let integers: Vec<u8> = (0..THREADS * 8).map(|_| random.bits() as u8).collect();
    // Some zeros of both signs among them.
    let float = |random: &mut Random| if random.bits().is_multiple_of(9) { -0.0 } else { random.between(-2.0, 2.0) };
    let floats: Vec<u8> = (0..THREADS).flat_map(|_| float(&mut random).to_le_bytes()).collect();
    let halves: Vec<u8> =
        (0..THREADS).flat_map(|_| (0x3800u16 | random.bits() as u16 & 0x87ff).to_le_bytes()).collect();
    let bfloats: Vec<u8> =
        (0..THREADS).flat_map(|_| (0x3f00u16 | random.bits() as u16 & 0x807f).to_le_bytes()).collect();
    let body: String = FUNCTIONS
        .iter()
        .enumerate()
        .map(|(f, call)| format!("  {{ T v = in[i]; out[{f} * n + i] = {call}; }}\n"))
        .collect();
    let numbers = [Number::Position, Number::Linear];
    for (at, name) in ["int", "uint", "short", "ushort", "char", "uchar"].into_iter().enumerate() {
        compare(name, &body, &integers, numbers[at % 2]);
    }
    compare("float", &body, &floats, Number::Linear);
    compare("half", &body, &halves, Number::Position);
    compare("bfloat", &body, &bfloats, Number::Linear);
    let pairs = body.replace("in[i]", "T(in[i].x, in[i].y)");
    compare("ushort2", &pairs, &integers, Number::Linear);
    let votes: String =
        VOTES.iter().enumerate().map(|(f, call)| format!("  out[{f} * n + i] = (T){call};\n")).collect();
    for number in numbers {
        compare("uint", &votes, &integers, number);
    }
    for (element, bytes) in [("float", &floats), ("half", &halves)] {
        let matrices = format!(
            "  simdgroup_matrix<{element}, 8, 8> a, b, c = make_filled_simdgroup_matrix<{element}, 8>(({element})0.5f);\n\
             \x20 simdgroup_load(a, in + i / 32 % 2, 8); simdgroup_load(b, in + 9, 8, ulong2(0), true);\n\
             \x20 simdgroup_multiply_accumulate(c, a, b, c); simdgroup_multiply_accumulate(c, c, b, a); simdgroup_store(c, out + (g * 4 + s) * 64, 8);\n"
        );
        for number in numbers {
            compare(element, &matrices, bytes, number);
        }
    }
}
