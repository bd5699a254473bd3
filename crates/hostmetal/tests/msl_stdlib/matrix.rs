//! Matrices of every shape (MSL 2.3, 3.2, 6.6): of small whole numbers, so that every result is exact in half too.

use std::collections::BTreeSet;

use hostmetal::msl::MathMode;

use crate::number::{FLOAT, HALVES, Scalar};
use crate::stdlib::catalog::features;
use crate::stdlib::{Random, compile, run};
use crate::support::Buffer;
use crate::uses::{bytes, numbers};

/// Columns of rows.
type Matrix = Vec<Vec<i64>>;

/// A use of matrices a, e (C columns of R rows), f (K columns of C rows), g (square, C), of vectors v (C numbers), w (R numbers) and
/// of the number s; the shape of what it gives, and what that is.
struct Row {
    square: bool,
    call: &'static str,
    /// The type of the result, with $C, $R and $K.
    result: &'static str,
    value: fn(&Operands) -> Matrix,
}

struct Operands {
    a: Matrix,
    e: Matrix,
    f: Matrix,
    g: Matrix,
    v: Vec<i64>,
    w: Vec<i64>,
}

const S: i64 = 3;

const fn row(call: &'static str, result: &'static str, value: fn(&Operands) -> Matrix) -> Row {
    Row { square: false, call, result, value }
}

const ROWS: &[Row] = &[
    row("a + e", "$Mx", |o| each(&o.a, &o.e, |x, y| x + y)),
    row("a - e", "$Mx", |o| each(&o.a, &o.e, |x, y| x - y)),
    row("-a", "$Mx", |o| each(&o.a, &o.a, |x, _| -x)),
    row("a * s", "$Mx", |o| each(&o.a, &o.a, |x, _| x * S)),
    row("s * a", "$Mx", |o| each(&o.a, &o.a, |x, _| x * S)),
    row("$M z = a; z += e; z", "$Mx", |o| each(&o.a, &o.e, |x, y| x + y)),
    row("$M z = a; z -= e; z", "$Mx", |o| each(&o.a, &o.e, |x, y| x - y)),
    row("$M z = a; z *= s; z", "$Mx", |o| each(&o.a, &o.a, |x, _| x * S)),
    row("$M z = a; z *= g; z", "$Mx", |o| product(&o.a, &o.g)),
    row("a * f", "matrix<$T, $K, $R>", |o| product(&o.a, &o.f)),
    row("a * v", "vec<$T, $R>", |o| product(&o.a, &vec![o.v.clone()])),
    row("w * a", "vec<$T, $C>", |o| {
        vec![o.a.iter().map(|column| column.iter().zip(&o.w).map(|(x, y)| x * y).sum()).collect()]
    }),
    row("transpose(a)", "matrix<$T, $R, $C>", |o| transposed(&o.a)),
    row("bool(a == a) && !bool(a == e)", "bool", |o| vec![vec![i64::from(o.a != o.e)]]),
    row("a != e", "bool", |o| vec![vec![i64::from(o.a != o.e)]]),
    row("a[1]", "vec<$T, $R>", |o| vec![o.a[1].clone()]),
    row("$M z = a; z[1] = w; z[0][1] = s; z", "$Mx", |o| {
        let mut z = o.a.clone();
        z[1] = o.w.clone();
        z[0][1] = S;
        z
    }),
    row("$M(s)", "$Mx", |o| {
        (0..o.a.len()).map(|c| (0..o.w.len()).map(|r| if c == r { S } else { 0 }).collect()).collect()
    }),
    row("$M(matrix<$O, $C, $R>(a))", "$Mx", |o| o.a.clone()),
    row("$M($A)", "$Mx", |o| o.a.clone()),
    Row { square: true, call: "determinant(a)", result: "$T", value: |o| vec![vec![determinant(&o.a)]] },
];

fn each(a: &Matrix, b: &Matrix, f: fn(i64, i64) -> i64) -> Matrix {
    a.iter().zip(b).map(|(x, y)| x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()).collect()
}

/// (C columns of R rows) times (K columns of C rows).
fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let at = |k: usize, r: usize| (0..a.len()).map(|c| a[c][r] * b[k][c]).sum();
    (0..b.len()).map(|k| (0..a[0].len()).map(|r| at(k, r)).collect()).collect()
}

fn transposed(a: &Matrix) -> Matrix {
    (0..a[0].len()).map(|r| a.iter().map(|column| column[r]).collect()).collect()
}

/// By the first column.
fn determinant(a: &Matrix) -> i64 {
    if a.len() == 1 {
        return a[0][0];
    }
    let minor = |row: usize| -> Matrix {
        a[1..].iter().map(|c| c.iter().enumerate().filter(|(r, _)| *r != row).map(|(_, x)| *x).collect()).collect()
    };
    (0..a.len()).map(|row| a[0][row] * determinant(&minor(row)) * if row % 2 == 0 { 1 } else { -1 }).sum()
}

/// The shapes: columns, rows, and the columns of the right side of a product.
fn shapes() -> impl Iterator<Item = (usize, usize, usize)> {
    (2..5).flat_map(|c| (2..5).flat_map(move |r| (2..5).map(move |k| (c, r, k))))
}

/// The uses of a shape, of which the ones without a product are for one k only.
fn rows(c: usize, r: usize, k: usize) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| (!row.square || c == r) && (k == 2 || row.call == "a * f"))
}

/// What the tables have values of.
pub(crate) fn covered() -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for (c, r, k) in shapes() {
        for row in rows(c, r, k) {
            for t in [FLOAT, HALVES] {
                let operand = format!("{}{c}x{r}", t.name);
                all.extend(features(row.call).into_iter().map(|name| (name, operand.clone())));
            }
        }
    }
    all
}

/// Some of the numbers -2 to 2, different in each matrix and with every seed.
fn operands(c: usize, r: usize, k: usize, seed: u64) -> Operands {
    let mut random = Random(seed);
    let mut matrix = |columns: usize, rows: usize| -> Matrix {
        (0..columns).map(|_| (0..rows).map(|_| (random.bits() % 5) as i64 - 2).collect()).collect()
    };
    let (a, e, f, g) = (matrix(c, r), matrix(c, r), matrix(k, c), matrix(c, c));
    let (v, w) = (matrix(1, c).remove(0), matrix(1, r).remove(0));
    Operands { a, e, f, g, v, w }
}

const SEEDS: usize = 16;

fn check(t: Scalar) {
    let other = if t == FLOAT { "half" } else { "float" };
    let (mut functions, mut body, mut expected, mut inputs) = (String::new(), String::new(), Vec::new(), Vec::new());
    for (c, r, k) in shapes() {
        let start = inputs.len();
        let sets: Vec<Operands> =
            (0..SEEDS).map(|seed| operands(c, r, k, (seed * 64 + c * 16 + r * 4 + k) as u64)).collect();
        for o in &sets {
            for part in [o.a.concat(), o.e.concat(), o.f.concat(), o.g.concat(), o.v.clone(), o.w.clone()] {
                inputs.extend(part.into_iter().map(|x| t.nearest(x as f64)));
            }
        }
        let size = (inputs.len() - start) / SEEDS;
        let read = |name: &str, columns: usize, rows: usize| {
            format!(
                "matrix<$T, {columns}, {rows}> {name}; for (int j = 0; j < {columns}; j++) for (int l = 0; l < {rows}; l++) {name}[j][l] = *in++; (void){name}; "
            )
        };
        let vector = |name: &str, rows: usize| {
            format!("vec<$T, {rows}> {name}; for (int l = 0; l < {rows}; l++) {name}[l] = *in++; (void){name}; ")
        };
        let load = [read("a", c, r), read("e", c, r), read("f", k, c), read("g", c, c), vector("v", c), vector("w", r)]
            .concat();
        let elements: Vec<String> = (0..c * r).map(|x| format!("a[{}][{}]", x / r, x % r)).collect();
        let fill = |text: &str| {
            text.replace("$Mx", "$M")
                .replace("$M", &format!("$T{c}x{r}"))
                .replace("$T", t.name)
                .replace("$O", other)
                .replace("$C", &c.to_string())
                .replace("$R", &r.to_string())
                .replace("$K", &k.to_string())
                .replace("$A", &elements.join(", "))
        };
        for row in rows(c, r, k) {
            let n = expected.len();
            let (statements, expression) = row.call.rsplit_once("; ").unwrap_or(("", row.call));
            functions += &fill(&format!(
                "__attribute__((noinline)) void use_{n}(device const $T *in, device $T *out) {{ const $T s = {S}; (void)s; {load}{statements}; {} z_ = {expression}; put(out, z_); }}\n",
                row.result
            ));
            body += &format!("  use_{n}(in + {start} + i * {size}, out + {n} * {SEEDS} * 16 + i * 16);\n");
            let name = fill(&format!("$M: {} (K = $K)", row.call));
            expected.push((name, sets.iter().map(row.value).collect::<Vec<Matrix>>()));
        }
    }
    let source = format!(
        "void put(device {0} *o, {0} x) {{ *o = x; }} void put(device {0} *o, bool x) {{ *o = {0}(x); }}\n\
         template <int N> void put(device {0} *o, vec<{0}, N> x) {{ for (int i = 0; i < N; i++) o[i] = x[i]; }}\n\
         template <int C, int R> void put(device {0} *o, matrix<{0}, C, R> x) {{ for (int i = 0; i < C * R; i++) o[i] = x[i / R][i % R]; }}\n\
         {functions}kernel void run(device const {0} *in [[buffer(0)]], device {0} *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {{\n{body}}}\n",
        t.name
    );
    let out = Buffer::new((expected.len() * SEEDS * 16 * t.bytes()) as u64);
    run(&compile(&source, MathMode::Fast), &[&Buffer::of(&bytes(t, &inputs)), &out], SEEDS, SEEDS);
    let out = numbers(t, &out.read::<u8>());
    for ((name, matrices), got) in expected.iter().zip(out.chunks_exact(SEEDS * 16)) {
        for (seed, (matrix, got)) in matrices.iter().zip(got.chunks_exact(16)).enumerate() {
            let matrix: Vec<f64> = matrix.concat().into_iter().map(|x| x as f64).collect();
            let got: Vec<f64> = got[..matrix.len()].iter().map(|&x| t.float(x)).collect();
            assert_eq!(got, matrix, "{name} of set {seed}");
        }
    }
}

#[test]
fn matrices_of_float() {
    check(FLOAT);
}

#[test]
fn matrices_of_half() {
    check(HALVES);
}
