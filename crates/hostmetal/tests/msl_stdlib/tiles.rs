//! SIMD-group matrices (MSL 2.4, 6.7) of every type: loads and stores with strides, origins and transposition in both memories, products,
//! diagonals, filled ones, and the elements of a lane. Of small whole numbers: every result is exact in bfloat; and products of numbers that are
//! rounded or are at the edges of their type.

use std::collections::BTreeSet;

use hostmetal::msl::{Engine, MathMode};

use crate::edges::{sets, sum};
use crate::number::{FLOAT, FLOATS};
use crate::stdlib::catalog::features;
use crate::stdlib::{ALL_MODES, Random, load_on, pipeline, run};
use crate::support::Buffer;
use crate::uses::{bytes, numbers};

type Tile = [[i64; 8]; 8];

type Reference = fn(&Tile, &Tile, &Tile) -> Tile;

/// Statements that leave a matrix in D, and it by rows. A is the tile of `a` (11 in a row) at column 1, row 2; B the
/// transposed one of `b` (9 in a row); C the first 64 numbers of `a` in rows of 8.
const ROWS: &[(&str, Reference)] = &[
    ("D = A", |a, _, _| *a),
    ("D = B", |_, b, _| *b),
    ("D = C", |_, _, c| *c),
    (
        "simdgroup_store(A, s, 16, ulong2(3, 1)); simdgroup_barrier(mem_flags::mem_threadgroup); simdgroup_load(D, s, 16, ulong2(3, 1))",
        |a, _, _| *a,
    ),
    (
        "simdgroup_store(A, s, 16, ulong2(3, 1), true); simdgroup_barrier(mem_flags::mem_threadgroup); simdgroup_load(D, s, 16, ulong2(1, 3))",
        |a, _, _| transposed(a),
    ),
    (
        "simdgroup_store(A, s); simdgroup_barrier(mem_flags::mem_threadgroup); const threadgroup $T *q = s; simdgroup_load(D, q, 8, 0, true)",
        |a, _, _| transposed(a),
    ),
    ("simdgroup_multiply(D, A, B)", |a, b, _| product(a, b, &[[0; 8]; 8])),
    ("simdgroup_multiply_accumulate(D, A, B, C)", product),
    ("D = C; simdgroup_multiply_accumulate(D, B, A, D)", |a, b, c| product(b, a, c)),
    ("D = A * B", |a, b, _| product(a, b, &[[0; 8]; 8])),
    ("D = make_filled_simdgroup_matrix<$T, 8, 8>($T(5.0f))", |_, _, _| [[5; 8]; 8]),
    ("D = make_filled_simdgroup_matrix<$T, 8>($T(-1.0f))", |_, _, _| [[-1; 8]; 8]),
    ("D = simdgroup_matrix<$T, 8, 8>($T(3.0f))", |_, _, _| {
        std::array::from_fn(|r| std::array::from_fn(|c| if r == c { 3 } else { 0 }))
    }),
    ("D = A; D.thread_elements()[1] = D.thread_elements()[0]", |a, _, _| {
        a.map(|row| std::array::from_fn(|c| row[c / 2 * 2]))
    }),
    // The elements of a lane are those that Apple's GPUs give it: kernels compute with thread_elements() by this formula.
    (
        "D.thread_elements() = vec<$T, 2>($T((lane / 4 & 4) + lane / 2 % 4), $T((lane / 4 & 2) * 2 + lane % 2 * 2))",
        |_, _, _| std::array::from_fn(|r| std::array::from_fn(|c| if c % 2 == 0 { r } else { c - 1 } as i64)),
    ),
    // Products of two types are summed in the type of the result.
    (
        "simdgroup_float8x8 F, G(1.0f); simdgroup_multiply(F, A, B); simdgroup_multiply_accumulate(F, A, B, F); D.thread_elements() = vec<$T, 2>(F.thread_elements())",
        |a, b, _| product(a, b, &product(a, b, &[[0; 8]; 8])),
    ),
];

fn transposed(a: &Tile) -> Tile {
    std::array::from_fn(|r| std::array::from_fn(|c| a[c][r]))
}

fn product(a: &Tile, b: &Tile, c: &Tile) -> Tile {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| c[row][column] + (0..8).map(|k| a[row][k] * b[k][column]).sum::<i64>())
    })
}

fn source(t: &str) -> String {
    let of = |(k, (call, _)): (usize, &(&str, Reference))| {
        format!(
            "  {{ simdgroup_matrix<$T, 8, 8> D; simdgroup_barrier(mem_flags::mem_threadgroup); {call}; simdgroup_store(D, d + {k} * 64); }}\n"
        )
    };
    let body: String = ROWS.iter().enumerate().map(of).collect();
    let source = format!(
        "kernel void run(device const $T *a [[buffer(0)]], const device $T *b [[buffer(1)]], device $T *d [[buffer(2)]], uint lane [[thread_index_in_simdgroup]]) {{\n\
           threadgroup $T s[256]; (void)lane; simdgroup_matrix<$T, 8, 8> A, B, C;\n\
           simdgroup_load(A, a, 11, ulong2(1, 2)); simdgroup_load(B, b, 9, 0, true); simdgroup_load(C, a);\n{body}}}\n"
    );
    source.replace("$T", t)
}

pub(crate) fn covered() -> BTreeSet<(String, String)> {
    let of = |t: &str| features(&source(t)).into_iter().map(|name| (name, t.to_owned())).collect::<Vec<_>>();
    FLOATS.iter().flat_map(|t| of(t.name)).collect()
}

#[test]
fn matrices_of_a_simdgroup() {
    for t in FLOATS {
        let of = |i: i64, step: i64| i * step % 7 - 3;
        let [a, b] = [5, 4].map(|step| (0..200).map(|i| t.nearest(of(i, step) as f64)).collect::<Vec<u64>>());
        let tile = |at: &dyn Fn(i64, i64) -> i64| -> Tile {
            std::array::from_fn(|r| std::array::from_fn(|c| at(r as i64, c as i64)))
        };
        let tiles =
            [tile(&|r, c| of((r + 2) * 11 + c + 1, 5)), tile(&|r, c| of(c * 9 + r, 4)), tile(&|r, c| of(r * 8 + c, 5))];
        for engine in [Engine::Stack, Engine::Pass] {
            let d = Buffer::new((ROWS.len() * 64 * t.bytes()) as u64);
            let buffers = [Buffer::of(&bytes(t, &a)), Buffer::of(&bytes(t, &b))];
            run(&pipeline(load_on(&source(t.name), MathMode::Fast, engine)), &[&buffers[0], &buffers[1], &d], 32, 32);
            let d = numbers(t, &d.read::<u8>());
            for ((call, reference), got) in ROWS.iter().zip(d.chunks_exact(64)) {
                let got: Vec<f64> = got.iter().map(|&x| t.float(x)).collect();
                let expected: Vec<f64> =
                    reference(&tiles[0], &tiles[1], &tiles[2]).concat().into_iter().map(|x| x as f64).collect();
                assert_eq!(got, expected, "{}, {engine:?}: {call}", t.name);
            }
        }
    }
}

/// Products are summed as floats and rounded once (native/hostmetal/msl/metal_simdgroup_matrix). Three SIMD-groups of a threadgroup have a tile each.
#[test]
fn products_of_rounded_and_special_numbers() {
    const TILES: usize = 48;
    let body = "kernel void run(device const $T *a [[buffer(0)]], device const $T *b [[buffer(1)]], device const $T *c [[buffer(2)]], device $T *d [[buffer(3)]],\n\
           device float *e [[buffer(4)]], uint g [[threadgroup_position_in_grid]], uint s [[simdgroup_index_in_threadgroup]]) {\n\
           uint n = (g * 3 + s) * 64; simdgroup_matrix<$T, 8, 8> A, B, C, D; simdgroup_float8x8 E;\n\
           simdgroup_load(A, a + n); simdgroup_load(B, b + n); simdgroup_load(C, c + n);\n\
           simdgroup_multiply_accumulate(D, A, B, C); simdgroup_store(D, d + n);\n\
           simdgroup_multiply(E, A, B); simdgroup_store(E, e + n);\n}\n";
    for t in FLOATS {
        let (sets, mut random) = (sets(t), Random(9));
        // In a tile many, few or none of the numbers are of a set.
        let [a, b, c] = [0, 1, 2].map(|_| -> Vec<u64> {
            let of = |k: usize| {
                let (tile, bits) = (k / 64, random.bits() as usize);
                match sets.get(tile / 3) {
                    Some(set) if bits % [1, 9, 40][tile % 3] == 0 => set[bits / 64 % set.len()],
                    _ => t.nearest(random.between(-2.0, 2.0).into()),
                }
            };
            (0..TILES * 64).map(of).collect()
        });
        for (mode, engine) in ALL_MODES.into_iter().flat_map(|mode| [(mode, Engine::Stack), (mode, Engine::Pass)]) {
            let given = [&a, &b, &c].map(|x| Buffer::of(&bytes(t, x)));
            let (d, e) = (Buffer::new((TILES * 64 * t.bytes()) as u64), Buffer::new(TILES as u64 * 256));
            let pipeline = pipeline(load_on(&body.replace("$T", t.name), mode, engine));
            run(&pipeline, &[&given[0], &given[1], &given[2], &d, &e], TILES * 32, 96);
            let (d, e) = (numbers(t, &d.read::<u8>()), e.read::<f32>());
            for k in 0..TILES * 64 {
                let (start, row, column) = (k / 64 * 64, k / 8 % 8 * 8, k % 8);
                let of = |i: usize| t.float(a[start + row + i]) * t.float(b[start + i * 8 + column]);
                let mut terms: Vec<f64> = (0..8).map(of).collect();
                let product = sum(FLOAT, &terms, 1);
                assert!(product.takes(e[k].into()), "{}, {mode:?}, {engine:?}, {k}: {}, not {product:?}", t.name, e[k]);
                terms.push(t.float(c[k]));
                let (wanted, got) = (sum(FLOAT, &terms, 1).rounded(t), t.float(d[k]));
                assert!(wanted.takes(got), "{}, {mode:?}, {engine:?}, {k}: {got}, not {wanted:?}", t.name);
            }
        }
    }
}
