//! SIMD-group and quad-group functions and 8x8 matrices of our metal_stdlib, on whole and partial SIMD-groups, against loops over lanes.

mod stdlib;
mod support;

use hostmetal::msl::MathMode;
use stdlib::*;
use support::Buffer;

/// What lane `lane` gets when the lanes of its SIMD-group (or quad) hold `values`: the index is the lane, fewer than 32 (4) when the group is partial.
/// Values are small integers, exact in every type.
type Reference = fn(values: &[i64], lane: usize) -> i64;

/// The value of another lane; its own when that one is not there.
fn from(values: &[i64], lane: usize, source: usize) -> i64 {
    *values.get(source).unwrap_or(&values[lane])
}

const SIMD: &[(&str, Reference)] = &[
    ("simd_sum(v)", |v, _| v.iter().sum()),
    ("simd_min(v)", |v, _| *v.iter().min().expect("a lane")),
    ("simd_max(v)", |v, _| *v.iter().max().expect("a lane")),
    ("simd_product(T(v % T(2) + T(1)))", |v, _| v.iter().map(|x| x % 2 + 1).product()),
    ("simd_prefix_inclusive_sum(v)", |v, l| v[..=l].iter().sum()),
    ("simd_prefix_exclusive_sum(v)", |v, l| v[..l].iter().sum()),
    ("simd_prefix_inclusive_product(T(v % T(2) + T(1)))", |v, l| v[..=l].iter().map(|x| x % 2 + 1).product()),
    ("simd_prefix_exclusive_product(T(v % T(2) + T(1)))", |v, l| v[..l].iter().map(|x| x % 2 + 1).product()),
    ("simd_broadcast(v, 5)", |v, l| from(v, l, 5)),
    ("simd_broadcast_first(v)", |v, _| v[0]),
    ("simd_shuffle(v, ushort((lane * 7 + 3) % 32))", |v, l| from(v, l, (l * 7 + 3) % 32)),
    ("simd_shuffle_xor(v, 5)", |v, l| from(v, l, l ^ 5)),
    ("simd_shuffle_up(v, 3)", |v, l| from(v, l, if l < 3 { l } else { l - 3 })),
    ("simd_shuffle_down(v, 3)", |v, l| from(v, l, if l + 3 < 32 { l + 3 } else { l })),
    ("simd_shuffle_rotate_up(v, 3)", |v, l| from(v, l, (l + 29) % 32)),
    ("simd_shuffle_rotate_down(v, 3)", |v, l| from(v, l, (l + 3) % 32)),
    ("simd_shuffle_and_fill_up(v, T(v + T(1)), 3)", |v, l| filled(v, l, 32, |w| w.checked_sub(3), |w| w + 29)),
    ("simd_shuffle_and_fill_down(v, T(v + T(1)), 3)", |v, l| {
        filled(v, l, 32, |w| (w + 3 < 32).then_some(w + 3), |w| w + 3 - 32)
    }),
    ("simd_shuffle_and_fill_up(v, T(v + T(1)), 3, 8)", |v, l| filled(v, l, 8, |w| w.checked_sub(3), |w| w + 5)),
    ("simd_shuffle_and_fill_down(v, T(v + T(1)), 3, 8)", |v, l| {
        filled(v, l, 8, |w| (w + 3 < 8).then_some(w + 3), |w| w + 3 - 8)
    }),
];

/// The shuffles that fill, in runs of `run` lanes: the place in the run to read data from, or else the place to read fill data (data + 1) from.
fn filled(v: &[i64], lane: usize, run: usize, data: fn(usize) -> Option<usize>, fill: fn(usize) -> usize) -> i64 {
    let (start, within) = (lane / run * run, lane % run);
    match data(within) {
        Some(place) => from(v, lane, start + place),
        None => v.get(start + fill(within)).map_or(v[lane], |x| x + 1),
    }
}

/// As above for quads: lanes 0 to 3.
const QUAD: &[(&str, Reference)] = &[
    ("quad_sum(v)", |v, _| v.iter().sum()),
    ("quad_min(v)", |v, _| *v.iter().min().expect("a lane")),
    ("quad_max(v)", |v, _| *v.iter().max().expect("a lane")),
    ("quad_prefix_exclusive_sum(v)", |v, l| v[..l].iter().sum()),
    ("quad_prefix_inclusive_sum(v)", |v, l| v[..=l].iter().sum()),
    ("quad_broadcast(v, 2)", |v, l| from(v, l, 2)),
    ("quad_broadcast_first(v)", |v, _| v[0]),
    ("quad_shuffle(v, ushort((lane + 3) % 4))", |v, l| from(v, l, (l + 3) % 4)),
    ("quad_shuffle_xor(v, 1)", |v, l| from(v, l, l ^ 1)),
    ("quad_shuffle_up(v, 1)", |v, l| from(v, l, l.saturating_sub(1))),
    ("quad_shuffle_down(v, 1)", |v, l| from(v, l, if l == 3 { 3 } else { l + 1 })),
    ("quad_shuffle_rotate_up(v, 1)", |v, l| from(v, l, (l + 3) % 4)),
    ("quad_shuffle_rotate_down(v, 1)", |v, l| from(v, l, (l + 1) % 4)),
    ("quad_shuffle_and_fill_up(v, T(v + T(1)), 1)", |v, l| filled(v, l, 4, |w| w.checked_sub(1), |w| w + 3)),
    ("quad_shuffle_and_fill_down(v, T(v + T(1)), 1)", |v, l| {
        filled(v, l, 4, |w| (w + 1 < 4).then_some(w + 1), |w| w + 1 - 4)
    }),
];

/// Of integers only; the mask of a vote as a number.
const INTEGER: &[(&str, Reference)] = &[
    ("simd_and(v)", |v, _| v.iter().fold(-1, |a, b| a & b)),
    ("simd_or(v)", |v, _| v.iter().fold(0, |a, b| a | b)),
    ("simd_xor(v)", |v, _| v.iter().fold(0, |a, b| a ^ b)),
    ("int(simd_vote::vote_t(simd_ballot(v % 2 == 1)))", |v, _| mask(v, |x| x % 2 == 1)),
    ("int(simd_vote::vote_t(simd_active_threads_mask()))", |v, _| mask(v, |_| true)),
    ("simd_all(v < 13)", |_, _| 1),
    ("simd_all(v != 12)", |v, _| i64::from(!v.contains(&12))),
    ("simd_any(v == 11)", |v, _| i64::from(v.contains(&11))),
    ("simd_is_first()", |_, l| i64::from(l == 0)),
];
const QUAD_INTEGER: &[(&str, Reference)] = &[
    ("quad_and(v)", |v, _| v.iter().fold(-1, |a, b| a & b)),
    ("quad_or(v)", |v, _| v.iter().fold(0, |a, b| a | b)),
    ("quad_xor(v)", |v, _| v.iter().fold(0, |a, b| a ^ b)),
    ("int(quad_vote::vote_t(quad_ballot(v % 2 == 1)))", |v, _| mask(v, |x| x % 2 == 1)),
    ("int(quad_vote::vote_t(quad_active_threads_mask()))", |v, _| mask(v, |_| true)),
    ("quad_all(v % 2 == 1)", |v, _| i64::from(v.iter().all(|x| x % 2 == 1))),
    ("quad_any(v % 2 == 1)", |v, _| i64::from(v.iter().any(|x| x % 2 == 1))),
    ("quad_is_first()", |_, l| i64::from(l == 0)),
];

/// The mask as the int that the kernel stores.
fn mask(v: &[i64], holds: fn(&i64) -> bool) -> i64 {
    let bits = v.iter().enumerate().fold(0u32, |m, (i, x)| m | u32::from(holds(x)) << i);
    (bits as i32).into()
}

/// Threads of a threadgroup: two whole SIMD-groups; then one whole and one that ends inside a quad.
const THREADS: [usize; 3] = [64, 50, 3];

fn check_functions(type_name: &str, integer: bool) {
    let simd: Vec<_> = SIMD.iter().chain(if integer { INTEGER } else { &[] }).map(|case| (32, case)).collect();
    let quad: Vec<_> = QUAD.iter().chain(if integer { QUAD_INTEGER } else { &[] }).map(|case| (4, case)).collect();
    let all: Vec<_> = simd.into_iter().chain(quad).collect();
    let body: String = all
        .iter()
        .enumerate()
        .map(|(f, (_, (expression, _)))| {
            let expression =
                if integer { (*expression).to_owned() } else { expression.replace("v % T(2)", "T(uint(v) % 2)") };
            format!("  out[{f} * 64 + i] = float({expression});\n")
        })
        .collect();
    let source = format!(
        "typedef {type_name} T;\nkernel void run(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],\n\
           uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {{\n  T v = T(in[i]);\n{body}}}\n"
    );
    let pipeline = compile(&source, MathMode::Fast);
    let values: Vec<i64> = (0..64).map(|i| (i * 5 + i / 32) % 13).collect();
    let input = Buffer::of(&values.iter().map(|&v| v as f32).collect::<Vec<f32>>());
    for threads in THREADS {
        let out = Buffer::new((all.len() * 64 * 4) as u64);
        run(&pipeline, &[&input, &out], threads, threads);
        let out = out.read::<f32>();
        for (f, (width, (expression, reference))) in all.iter().enumerate() {
            for thread in 0..threads {
                let group = thread / width * width;
                let expected = reference(&values[group..threads.min(group + width)], thread - group);
                // Products of many twos leave the small types; a mask is an int.
                let (got, mask) = (out[f * 64 + thread], expression.starts_with("int("));
                assert!(
                    got == rounded(if mask { "int" } else { type_name }, expected),
                    "{type_name}: {expression} of thread {thread} of {threads}: {got}, not {expected}"
                );
            }
        }
    }
}

/// An integer as the type holds it, as a float.
fn rounded(type_name: &str, x: i64) -> f32 {
    match type_name {
        "int" => x as i32 as f32,
        "short" => x as i16 as f32,
        "uchar" => x as u8 as f32,
        "half" => HALF.value(HALF.bits(x as f64)) as f32,
        "bfloat" => BFLOAT.value(BFLOAT.bits(x as f64)) as f32,
        _ => x as f32,
    }
}

#[test]
fn functions_of_integers() {
    for type_name in ["int", "short", "uchar"] {
        check_functions(type_name, true);
    }
}

#[test]
fn functions_of_floating_point_numbers() {
    for type_name in ["float", "half"] {
        check_functions(type_name, false);
    }
}

#[test]
fn functions_of_vectors() {
    let source = "kernel void run(device float4 *v [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n\
          v[i] = simd_sum(v[i]) + simd_shuffle_xor(v[i], 1) * 1000 + simd_max(v[i]).wzyx * 1000000;\n}\n";
    let values: Vec<[f32; 4]> = (0..32).map(|i| [0, 1, 2, 3].map(|c| ((i * 3 + c * 5) % 7) as f32)).collect();
    let buffer = Buffer::of(&values);
    run(&compile(source, MathMode::Safe), &[&buffer], 32, 32);
    for (lane, got) in buffer.read::<[f32; 4]>().into_iter().enumerate() {
        for c in 0..4 {
            let sum: f32 = values.iter().map(|v| v[c]).sum();
            let largest = values.iter().map(|v| v[3 - c]).fold(0.0, f32::max);
            assert_eq!(got[c], sum + values[lane ^ 1][c] * 1000.0 + largest * 1e6, "lane {lane}, component {c}");
        }
    }
}

/// Loads with strides, origins and transposition, products, a diagonal and a filled matrix, stores.
#[test]
fn matrices() {
    let source = "kernel void run(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *d [[buffer(2)]],\n\
                     device const half *h [[buffer(3)]], device half *e [[buffer(4)]]) {\n\
          simdgroup_float8x8 A, B, C, D;\n\
          simdgroup_load(A, a, 11, ulong2(1, 2)); simdgroup_load(B, b, 9, 0, true); simdgroup_load(C, a);\n\
          simdgroup_multiply_accumulate(D, A, B, C); simdgroup_store(D, d, 10, ulong2(2, 1));\n\
          simdgroup_multiply(D, A, simdgroup_float8x8(3.0f)); simdgroup_store(D, d + 200, 8, 0, true);\n\
          simdgroup_store(make_filled_simdgroup_matrix<float, 8, 8>(4.5f), d + 300);\n\
          simdgroup_half8x8 H; simdgroup_load(H, h); simdgroup_store(H * H, e);\n\
          simdgroup_bfloat8x8 F; F.thread_elements() = bfloat2(C.thread_elements()); simdgroup_multiply(D, F, C); simdgroup_store(D, d + 400);\n}\n";
    let (a, b): (Vec<f32>, Vec<f32>) = (0..200).map(|i| ((i * 7 % 11) as f32 - 5.0, (i * 5 % 13) as f32 - 6.0)).unzip();
    let halves: Vec<u16> = (0..64).map(|i| HALF.bits(f64::from(i * 3 % 9 - 4))).collect();
    let (out, squares) = (Buffer::new(500 * 4), Buffer::new(128));
    run(
        &compile(source, MathMode::Safe),
        &[&Buffer::of(&a), &Buffer::of(&b), &out, &Buffer::of(&halves), &squares],
        32,
        32,
    );
    let (out, squares) = (out.read::<f32>(), squares.read::<u16>());
    for row in 0..8 {
        for column in 0..8 {
            let left = |r: usize, c: usize| a[(r + 2) * 11 + c + 1];
            let product: f32 = (0..8).map(|k| left(row, k) * b[column * 9 + k]).sum();
            assert_eq!(
                out[(row + 1) * 10 + column + 2],
                a[row * 8 + column] + product,
                "multiply_accumulate at {row}, {column}"
            );
            assert_eq!(out[200 + column * 8 + row], 3.0 * left(row, column), "diagonal at {row}, {column}");
            assert_eq!(out[300 + row * 8 + column], 4.5);
            let h = |r: usize, c: usize| HALF.value(halves[r * 8 + c]);
            assert_eq!(
                HALF.value(squares[row * 8 + column]),
                (0..8).map(|k| h(row, k) * h(k, column)).sum::<f64>(),
                "half at {row}, {column}"
            );
            let square: f32 = (0..8).map(|k| a[row * 8 + k] * a[k * 8 + column]).sum();
            assert_eq!(out[400 + row * 8 + column], square, "bfloat at {row}, {column}");
        }
    }
}

/// The elements of a lane are those that Apple's GPUs give it: kernels compute with thread_elements() by this formula.
#[test]
fn elements_of_a_lane() {
    let source = "kernel void run(device const float *a [[buffer(0)]], device float2 *out [[buffer(1)]], uint lane [[thread_index_in_simdgroup]]) {\n\
          simdgroup_float8x8 A; simdgroup_load(A, a); out[lane] = A.thread_elements();\n}\n";
    let out = Buffer::new(32 * 8);
    run(&compile(source, MathMode::Safe), &[&Buffer::of(&(0..64).map(|i| i as f32).collect::<Vec<_>>()), &out], 32, 32);
    for (lane, got) in out.read::<[f32; 2]>().into_iter().enumerate() {
        let quarter = lane / 4;
        let (row, column) = ((quarter & 4) + lane / 2 % 4, (quarter & 2) * 2 + lane % 2 * 2);
        let first = (row * 8 + column) as f32;
        assert_eq!(got, [first, first + 1.0], "lane {lane}");
    }
}
