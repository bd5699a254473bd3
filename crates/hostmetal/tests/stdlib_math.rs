//! The floating-point functions of our metal_stdlib against f64 arithmetic: accuracy as section 8.4 of the MSL specification has it (table 8.1
//! for float with the precise functions; table 8.3, one unit, for half; in fast mode, for which table 8.2 allows far more, 2.5 units where it
//! is correctly rounded elsewhere), special values, and forms (scalar, vector, half), in every math mode and in metal, metal::fast, metal::precise.

mod stdlib;
mod support;

use hostmetal::msl::MathMode;
use stdlib::*;
use support::Buffer;

/// A function of one number: name, what it is, units of the last place that it may be off.
type Unary = (&'static str, fn(f64) -> f64, f64);
type Binary = (&'static str, fn(f64, f64) -> f64, f64);

/// sin(pi x) for a quarter turn more or less.
fn quarter(x: f64, shift: i64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let turn = x % 2.0;
    let quarters = (2.0 * turn).round_ties_even();
    let angle = std::f64::consts::PI * (turn - quarters / 2.0);
    match (quarters as i64 + shift).rem_euclid(4) {
        0 => angle.sin(),
        1 => angle.cos(),
        2 => -angle.sin(),
        _ => -angle.cos(),
    }
}

fn fract(x: f64) -> f64 {
    let (part, largest) = (x - x.floor(), f64::from(1.0f32.next_down()));
    if part > largest { largest } else { part }
}

fn sign(x: f64) -> f64 {
    if x.is_nan() {
        0.0
    } else if x == 0.0 {
        x
    } else {
        x.signum()
    }
}

const UNARY: &[Unary] = &[
    ("acos", f64::acos, 4.0),
    ("acosh", f64::acosh, 4.0),
    ("asin", f64::asin, 4.0),
    ("asinh", asinh, 4.0),
    ("atan", f64::atan, 5.0),
    ("atanh", f64::atanh, 5.0),
    ("ceil", f64::ceil, 0.0),
    ("cos", f64::cos, 4.0),
    ("cosh", f64::cosh, 4.0),
    ("cospi", |x| quarter(x, 1), 4.0),
    ("exp", f64::exp, 4.0),
    ("exp2", f64::exp2, 4.0),
    ("exp10", |x| 10f64.powf(x), 4.0),
    ("fabs", f64::abs, 0.0),
    ("abs", f64::abs, 0.0),
    ("floor", f64::floor, 0.0),
    ("fract", fract, 0.5),
    ("log", f64::ln, 4.0),
    ("log2", f64::log2, 4.0),
    ("log10", f64::log10, 4.0),
    ("rint", f64::round_ties_even, 0.0),
    ("round", f64::round, 0.0),
    ("rsqrt", |x| 1.0 / x.sqrt(), 0.5001),
    ("saturate", |x| x.clamp(0.0, 1.0), 0.0),
    ("sign", sign, 0.0),
    ("sin", f64::sin, 4.0),
    ("sinh", f64::sinh, 4.0),
    ("sinpi", |x| quarter(x, 0), 4.0),
    ("sqrt", f64::sqrt, 0.5),
    ("tan", f64::tan, 6.0),
    ("tanh", f64::tanh, 5.0),
    ("tanpi", |x| quarter(x, 0) / quarter(x, 1), 6.0),
    ("trunc", f64::trunc, 0.0),
];

/// f64::asinh cancels for large negative numbers; the function is odd.
fn asinh(x: f64) -> f64 {
    x.abs().asinh().copysign(x)
}

const BINARY: &[Binary] = &[
    ("atan2", f64::atan2, 6.0),
    ("copysign", f64::copysign, 0.0),
    ("divide", |x, y| x / y, 0.5),
    (
        "fdim",
        |x, y| {
            if x.is_nan() || y.is_nan() {
                f64::NAN
            } else if x > y {
                x - y
            } else {
                0.0
            }
        },
        0.5,
    ),
    ("fmax", f64::max, 0.0),
    ("max", f64::max, 0.0),
    ("fmin", f64::min, 0.0),
    ("min", f64::min, 0.0),
    ("fmod", |x, y| x % y, 0.0),
    ("pow", f64::powf, 16.0),
    ("powr", |x, y| if x < 0.0 { f64::NAN } else { x.powf(y) }, 16.0),
    ("step", |x, y| if y < x { 0.0 } else { 1.0 }, 0.0),
];

/// Where the specification or the two roundings leave it open.
fn undefined(name: &str, x: f64) -> bool {
    match name {
        "fract" => x.is_infinite(),
        "saturate" => x.is_nan(),
        // The reference has the sign of a division by a zero that is one of rounding.
        "tanpi" => quarter(x, 1) == 0.0,
        _ => false,
    }
}

/// Special values, values where functions turn, and random ones.
fn inputs() -> Vec<f32> {
    let mut all = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        -f32::from_bits(1),
        f32::from_bits(0x7f_ffff),
        0.25,
        0.75,
        1.5,
        2.5,
        -1.5,
        -2.5,
        3.0,
        1e-10,
        -1e-10,
        -1e-30,
        100.0,
        -100.0,
        88.0,
        89.0,
        -88.0,
        -104.0,
        127.5,
        128.0,
        -149.0,
        -150.0,
        38.5,
        39.0,
        1e6,
        1e7,
        1e9,
        16_777_216.0,
        16_777_215.0,
        8_388_609.0,
        8_388_607.5,
        1e30,
        1.0f32.next_down(),
        1.0f32.next_up(),
        10.0,
        1000.0,
        std::f32::consts::PI,
        std::f32::consts::FRAC_PI_2,
    ];
    let mut random = Random(1);
    all.extend((0..800).map(|_| random.between(-10.0, 10.0)));
    all.extend((0..800).map(|_| random.between(-1.0, 1.0)));
    all.extend((0..800).map(|_| random.between(0.0, 1e5)));
    all.extend((0..1800).map(|_| f32::from_bits(random.bits() as u32)));
    all.truncate(all.len() / 3 * 3);
    all
}

/// A kernel in which thread i computes every function of a namespace: scalar, three-vector, half.
fn unary_source(space: &str) -> String {
    let mut body = String::new();
    for (f, (name, ..)) in UNARY.iter().enumerate() {
        body += &format!("  if (i < n) out[{f} * n + i] = {space}::{name}(in[i]);\n");
        body += &format!("  if (i < n / 3) out3[{f} * (n / 3) + i] = {space}::{name}(in3[i]);\n");
        body += &format!("  halves[{f} * 65536 + i] = {space}::{name}(as_type<half>(ushort(i)));\n");
    }
    format!(
        "kernel void run(device const float *in [[buffer(0)]], device const packed_float3 *in3 [[buffer(1)]], constant uint &n [[buffer(2)]],\n\
                         device float *out [[buffer(3)]], device packed_float3 *out3 [[buffer(4)]], device half *halves [[buffer(5)]],\n\
                         uint i [[thread_position_in_grid]]) {{\n{body}}}\n"
    )
}

fn check_unary(space: &str, mode: MathMode) {
    let xs = inputs();
    let n = xs.len();
    let (input, count) = (Buffer::of(&xs), Buffer::of(&[n as u32]));
    let (out, out3, halves) = (
        Buffer::new((UNARY.len() * n * 4) as u64),
        Buffer::new((UNARY.len() * n * 4) as u64),
        Buffer::new((UNARY.len() * 65536 * 2) as u64),
    );
    let pipeline = compile(&unary_source(space), mode);
    run(&pipeline, &[&input, &input, &count, &out, &out3, &halves], 65536, 256);
    let (out, out3, halves) = (out.read::<f32>(), out3.read::<f32>(), halves.read::<u16>());
    for (f, &(name, reference, allowed)) in UNARY.iter().enumerate() {
        // Table 8.2 allows more in fast mode; rounding of single operations may be relaxed by the compiler.
        let allowed = if mode == MathMode::Safe || space == "precise" { allowed } else { allowed.max(2.5) };
        for (i, &x) in xs.iter().enumerate() {
            if undefined(name, f64::from(x)) {
                continue;
            }
            let exact = reference(f64::from(x));
            for (form, got) in [("", out[f * n + i]), (" of a vector", out3[f * n + i])] {
                let off = ulps(got, exact);
                assert!(off <= allowed, "{space}::{name}({x:e}){form} in {mode:?}: {got:e}, not {exact:e}: {off} ulp");
            }
        }
        for bits in 0..=u16::MAX {
            let x = HALF.value(bits);
            // The largest half below 1 is another one than the largest float.
            if undefined(name, x) || name == "fract" {
                continue;
            }
            let (got, nearest) = (halves[f * 65536 + usize::from(bits)], HALF.bits(reference(x)));
            let same =
                HALF.value(got).is_nan() && HALF.value(nearest).is_nan() || HALF.value(got) == HALF.value(nearest);
            let off = (i32::from(got & 0x7fff) - i32::from(nearest & 0x7fff)).abs();
            let near = (got ^ nearest) & 0x8000 == 0 && off <= i32::from(allowed > 0.6) && !HALF.value(got).is_nan();
            assert!(
                same || near,
                "{space}::{name}(half {x:e}) in {mode:?}: {:e}, not {:e}",
                HALF.value(got),
                HALF.value(nearest)
            );
        }
    }
}

#[test]
fn functions_of_one_number() {
    for mode in ALL_MODES {
        check_unary("metal", mode);
    }
}

#[test]
fn fast_and_precise_functions_of_one_number() {
    check_unary("fast", MathMode::Fast);
    check_unary("precise", MathMode::Fast);
}

#[test]
fn functions_of_two_numbers() {
    let specials = &inputs()[..53];
    let mut pairs: Vec<[f32; 2]> = specials.iter().flat_map(|&x| specials.iter().map(move |&y| [x, y])).collect();
    let mut random = Random(2);
    pairs.extend((0..4000).map(|_| [random.between(0.0, 20.0), random.between(-8.0, 8.0)]));
    pairs.extend((0..4000).map(|_| [f32::from_bits(random.bits() as u32), f32::from_bits(random.bits() as u32)]));
    let n = pairs.len();
    let input = Buffer::of(&pairs);
    for (space, mode) in [("metal", MathMode::Safe), ("metal", MathMode::Fast), ("precise", MathMode::Fast)] {
        let body: String = BINARY
            .iter()
            .enumerate()
            .map(|(f, (name, ..))| format!("  out[{f} * {n} + i] = {space}::{name}(in[i].x, in[i].y);\n  vectors[{f} * {n} + i] = {space}::{name}(in[i], in[i].yx);\n"))
            .collect();
        let source = format!(
            "kernel void run(device const float2 *in [[buffer(0)]], device float *out [[buffer(1)]], device float2 *vectors [[buffer(2)]],\n\
                             uint i [[thread_position_in_grid]]) {{\n{body}}}\n"
        );
        let (out, vectors) = (Buffer::new((BINARY.len() * n * 4) as u64), Buffer::new((BINARY.len() * n * 8) as u64));
        run(&compile(&source, mode), &[&input, &out, &vectors], n, 128);
        let (out, vectors) = (out.read::<f32>(), vectors.read::<[f32; 2]>());
        for (f, &(name, reference, allowed)) in BINARY.iter().enumerate() {
            let allowed = if mode == MathMode::Safe || space == "precise" { allowed } else { allowed.max(2.5) };
            for (i, &[x, y]) in pairs.iter().enumerate() {
                if name == "step" && (x.is_nan() || y.is_nan()) {
                    continue;
                }
                let (exact, swapped) = (reference(x.into(), y.into()), reference(y.into(), x.into()));
                let [first, second] = vectors[f * n + i];
                for (got, exact) in [(out[f * n + i], exact), (first, exact), (second, swapped)] {
                    let off = ulps(got, exact);
                    assert!(
                        off <= allowed,
                        "{space}::{name}({x:e}, {y:e}) in {mode:?}: {got:e}, not {exact:e}: {off} ulp"
                    );
                }
            }
        }
    }
}

/// One rounding each: sums, products and quotients of halves and bfloats, and fma, whose exact result f64 holds up to a sticky bit.
#[test]
fn small_formats_round_once() {
    let mut random = Random(3);
    // Operands of one binade and an addend far below make ties that a sum rounded twice gets wrong.
    let triples: Vec<[u16; 3]> = (0..40_000)
        .map(|i| {
            let r = random.bits();
            let (a, b, c) = (r as u16, (r >> 16) as u16, (r >> 32) as u16);
            if i % 2 == 0 { [a, b, c] } else { [0x3c00 | a & 0x3ff, 0x3c00 | b & 0x3ff, c & 0x97ff] }
        })
        .collect();
    for (name, format) in [("half", HALF), ("bfloat", BFLOAT)] {
        let source = format!(
            "kernel void run(device const packed_{name}3 *in [[buffer(0)]], device {name} *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {{\n\
               {name} a = in[i].x, b = in[i].y, c = in[i].z;\n\
               out[i * 5] = a + b; out[i * 5 + 1] = a * b; out[i * 5 + 2] = a / b; out[i * 5 + 3] = fma(a, b, c); out[i * 5 + 4] = a * b + c;\n}}\n"
        );
        let out = Buffer::new((triples.len() * 10) as u64);
        run(&compile(&source, MathMode::Safe), &[&Buffer::of(&triples), &out], triples.len(), 64);
        for (got, bits) in out.read::<[u16; 5]>().into_iter().zip(&triples) {
            let [a, b, c] = bits.map(|b| format.value(b));
            if ![a, b, c].iter().all(|x| x.is_finite()) {
                continue;
            }
            // a * b is exact in f64; the sum may not be: its lost part becomes an odd last bit.
            let (product, sum) = (a * b, a * b + c);
            let lost = (product - (sum - c)) + (c - (sum - (sum - c)));
            let odd = if lost == 0.0 || sum.to_bits() & 1 == 1 || !sum.is_finite() {
                sum
            } else if (lost > 0.0) == (sum > 0.0) {
                f64::from_bits(sum.to_bits() + 1)
            } else {
                f64::from_bits(sum.to_bits() - 1)
            };
            let mut expected = [a + b, product, a / b, odd, 0.0].map(|x| format.bits(x));
            // Contraction of a * b + c within an expression is allowed; both results are right.
            let twice = format.bits(format.value(expected[1]) + c);
            expected[4] = if got[4] == twice { twice } else { expected[3] };
            for k in 0..5 {
                let (g, e) = (format.value(got[k]), format.value(expected[k]));
                assert!(
                    g == e || g.is_nan() && e.is_nan(),
                    "{name} operation {k} of {a:e}, {b:e}, {c:e}: {g:e}, not {e:e}"
                );
            }
        }
    }
}

/// Reciprocals and square roots at 0 and infinity: estimates with a Newton step would make NaN of them.
#[test]
fn special_values_of_fast_division() {
    let source = "kernel void run(device const float *in [[buffer(0)]], device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n\
          out[i] = float4(1.0f / sqrt(in[i]), 1.0f / in[i], sqrt(in[i]), rsqrt(in[i]));\n}\n";
    let xs = [0.0, f32::INFINITY, 4.0, 0.25, f32::MIN_POSITIVE, 1e-40, 1.0, 3.0].repeat(8);
    let out = Buffer::new((xs.len() * 16) as u64);
    run(&compile(source, MathMode::Fast), &[&Buffer::of(&xs), &out], xs.len(), 64);
    for (x, got) in xs.iter().zip(out.read::<[f32; 4]>()) {
        let exact = f64::from(*x);
        for (got, exact) in got.into_iter().zip([1.0 / exact.sqrt(), 1.0 / exact, exact.sqrt(), 1.0 / exact.sqrt()]) {
            assert!(ulps(got, exact) <= 2.5, "of {x:e}: {got:e}, not {exact:e}");
        }
    }
}
