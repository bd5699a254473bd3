//! Emulated `double` (`--fp64 emulate`) on the device, bit for bit against the processor's own: every operation that is
//! correctly rounded, on every pair of exponents and on patterns that are hard to round.

mod common;

use common::{Random, gpu};
use dcmetal::{Accelerator, Arg, Buffer, Grid, Library, args, clmsl};

const SOURCE: &str = "
__kernel void arithmetic(__global const double* a, __global const double* b, __global const double* c,
                         __global double* r) {
  size_t i = get_global_id(0);
  double x = a[i], y = b[i], z = c[i];
  __global double* to = r + 7 * i;
  to[0] = x + y;
  to[1] = x - y;
  to[2] = x * y;
  to[3] = x / y;
  to[4] = fma(x, y, z);
  to[5] = sqrt(x);
  to[6] = sqrt(-x);
}
__kernel void rest(__global const double* a, __global const double* b, __global const double* c,
                   __global double* r) {
  size_t i = get_global_id(0);
  double x = a[i], y = b[i];
  __global double* to = r + 24 * i;
  to[0] = fmod(x, y);
  to[1] = rint(x);
  to[2] = floor(x);
  to[3] = ceil(x);
  to[4] = trunc(x);
  to[5] = round(x);
  to[6] = -x;
  to[7] = fabs(x);
  to[8] = (x < y) + 2 * (x > y) + 4 * (x <= y) + 8 * (x >= y) + 16 * (x == y) + 32 * (x != y);
  to[9] = as_float((uint)as_ulong(y));
  to[10] = (float)x;
  to[11] = as_long(y);
  to[12] = as_ulong(y);
  to[13] = as_int((uint)as_ulong(y));
  to[14] = as_double(convert_long_sat(x));
  to[15] = as_double(convert_ulong_sat(x));
  to[16] = convert_int_sat(x);
  to[17] = convert_uint_sat(x);
  to[18] = convert_char_sat(x);
  to[19] = fmin(x, y);
  to[20] = fmax(x, y);
  to[21] = copysign(x, y);
  to[22] = ldexp(x, (int)(as_ulong(y) >> 52) - 2048);
  to[23] = nextafter(x, y);
}
__kernel void vectors(__global double4* v, double4 by, double2 plus) {
  size_t i = get_global_id(0);
  v[i] = fma(v[i], by, plus.xyxy);
}
";

fn library(gpu: &Accelerator) -> Library {
    let options = clmsl::Options { fp64: clmsl::Fp64::Emulate, ..Default::default() };
    gpu.compile_opencl_with("double.cl", SOURCE, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Operands `a`, `b`, `c`.
type Operands = [Vec<f64>; 3];

/// Runs the kernel and compares its results, `N` per element, with those of `expected`.
fn check<const N: usize>(kernel: &str, operands: &Operands, expected: impl Fn(f64, f64, f64) -> [f64; N]) {
    let gpu = gpu();
    let kernel = library(&gpu).kernel(kernel).expect("the source has it");
    let count = operands[0].len();
    let [a, b, c] = operands.each_ref().map(|values| gpu.buffer_from(values).expect("a buffer"));
    let mut results: Buffer<f64> = gpu.buffer_zeroed(N * count).expect("a buffer");
    let submission = kernel.launch(Grid::threads(count), args![&a, &b, &c, &mut results]).expect("it fits");
    submission.wait().expect("it runs");
    let results = results.read().expect("nobody writes");
    let mut wrong = Vec::new();
    for (i, got) in results.chunks(N).enumerate() {
        let (x, y, z) = (operands[0][i], operands[1][i], operands[2][i]);
        for (at, (got, wanted)) in got.iter().zip(expected(x, y, z)).enumerate() {
            if got.to_bits() != wanted.to_bits() && !(got.is_nan() && wanted.is_nan()) {
                let bits = [x, y, z, *got, wanted].map(f64::to_bits);
                wrong.push(format!("{at}: {x:e} {y:e} {z:e}: {got:e}, not {wanted:e} ({bits:016x?})"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

fn arithmetic(x: f64, y: f64, z: f64) -> [f64; 7] {
    [x + y, x - y, x * y, x / y, x.mul_add(y, z), x.sqrt(), (-x).sqrt()]
}

fn rest(x: f64, y: f64, _: f64) -> [f64; 24] {
    let low = y.to_bits() as u32;
    let order = [x < y, x > y, x <= y, x >= y, x == y, x != y];
    let order: u32 = order.iter().enumerate().map(|(bit, &holds)| u32::from(holds) << bit).sum();
    // An element of OpenCL's `fmin` that is NaN gives the other one.
    let pick = |first: bool| if x.is_nan() || !(y.is_nan() || first) { y } else { x };
    [
        x % y,
        x.round_ties_even(),
        x.floor(),
        x.ceil(),
        x.trunc(),
        x.round(),
        -x,
        x.abs(),
        f64::from(order),
        f64::from(f32::from_bits(low)),
        f64::from(x as f32),
        y.to_bits() as i64 as f64,
        y.to_bits() as f64,
        f64::from(low as i32),
        f64::from_bits(x as i64 as u64),
        f64::from_bits(x as u64),
        f64::from(x as i32),
        f64::from(x as u32),
        f64::from(x as i8),
        pick(x <= y),
        pick(x >= y),
        x.copysign(y),
        scaled(x, (y.to_bits() >> 52) as i32 - 2048),
        next(x, y),
    ]
}

/// `x * 2^n`, rounded once: all steps but the last are exact.
fn scaled(x: f64, n: i32) -> f64 {
    let two = |n: i32| f64::from_bits(((n + 1023) as u64) << 52);
    if x.is_subnormal() {
        return scaled(x * two(100), n - 100);
    }
    let exponent = (x.to_bits() >> 52 & 0x7FF) as i32 - 1023;
    if x == 0.0 || !x.is_finite() || exponent + n > 1023 {
        return if x.is_finite() && x != 0.0 { f64::INFINITY.copysign(x) } else { x };
    }
    // To the exponent if it is normal, else to the least normal one and down from there.
    let to = (exponent + n).max(-1022);
    let exact = f64::from_bits(x.to_bits() & (1 << 63 | DIGITS) | ((to + 1023) as u64) << 52);
    exact * two((exponent + n - to).max(-100))
}

fn next(x: f64, y: f64) -> f64 {
    match x.partial_cmp(&y) {
        None => f64::NAN,
        Some(std::cmp::Ordering::Equal) => y,
        Some(std::cmp::Ordering::Less) => x.next_up(),
        Some(std::cmp::Ordering::Greater) => x.next_down(),
    }
}

/// Bits that are hard to round or at the edge of a format.
#[rustfmt::skip]
const SPECIAL: [u64; 44] = [
    0, 1, 2, 3, 0x000F_FFFF_FFFF_FFFF, 0x0010_0000_0000_0000, 0x0010_0000_0000_0001, 0x001F_FFFF_FFFF_FFFF,
    0x0020_0000_0000_0000, 0x3CAF_FFFF_FFFF_FFFF, 0x3CB0_0000_0000_0000, 0x3FDF_FFFF_FFFF_FFFF, 0x3FE0_0000_0000_0000,
    0x3FE0_0000_0000_0001, 0x3FEF_FFFF_FFFF_FFFF, 0x3FF0_0000_0000_0000, 0x3FF0_0000_0000_0001, 0x3FF8_0000_0000_0000,
    0x4000_0000_0000_0000, 0x4004_0000_0000_0000, 0x41DF_FFFF_FFC0_0000, 0x41E0_0000_0000_0000, 0x41EF_FFFF_FFE0_0000,
    0x41F0_0000_0000_0000, 0x43DF_FFFF_FFFF_FFFF, 0x43E0_0000_0000_0000, 0x43EF_FFFF_FFFF_FFFF, 0x43F0_0000_0000_0000,
    0x4330_0000_0000_0000, 0x432F_FFFF_FFFF_FFFF, 0x4340_0000_0000_0000, 0x7FDF_FFFF_FFFF_FFFF, 0x7FE0_0000_0000_0000,
    0x7FEF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000, 0x7FF0_0000_0000_0001, 0x7FF8_0000_0000_0000, 0x369F_FFFF_FFFF_FFFF,
    0x3690_0000_0000_0000, 0x3690_0000_0000_0001, 0x380F_FFFF_FFFF_FFFF, 0x47EF_FFFF_EFFF_FFFF, 0x47EF_FFFF_F000_0000,
    0x47EF_FFFF_E000_0000,
];

const DIGITS: u64 = 0x000F_FFFF_FFFF_FFFF;

/// One operand: any bits, special ones, near 1, subnormal or nearly, huge, or of few digits, which make ties.
fn operand(random: &mut Random) -> f64 {
    let bits = random.next();
    let (sign, digits) = (bits & 1 << 63, bits & DIGITS);
    let exponent = |low: i64, high: i64, random: &mut Random| (random.range(low, high) as u64) << 52;
    f64::from_bits(match random.next() % 7 {
        0 => bits,
        1 => sign | SPECIAL[(bits % SPECIAL.len() as u64) as usize],
        2 => sign | exponent(963, 1083, random) | digits,
        3 => sign | exponent(0, 8, random) | digits,
        4 => sign | exponent(2040, 2048, random) | digits,
        5 => sign | exponent(993, 1053, random) | (1 << (bits % 52) | 1 << (bits >> 6 & 31) | 1 << (bits >> 12 & 15)),
        _ => sign | exponent(1020, 1026, random) | (u64::MAX << (bits % 52) & DIGITS),
    })
}

/// Operands of which the second is often close to the first, and the third to minus the product, so that digits cancel.
fn operands(seed: u64, count: usize) -> Operands {
    let mut random = Random(seed);
    let mut out: Operands = Default::default();
    for _ in 0..count {
        let (a, mut b, mut c) = (operand(&mut random), operand(&mut random), operand(&mut random));
        let noise = random.next() & ((1 << (random.next() % 53)) - 1);
        if random.next().is_multiple_of(4) {
            b = f64::from_bits(a.to_bits() ^ noise ^ (random.next() & 1 << 63));
        }
        if random.next().is_multiple_of(3) {
            c = f64::from_bits((-(a * b)).to_bits() ^ noise);
        }
        for (list, value) in out.iter_mut().zip([a, b, c]) {
            list.push(value);
        }
    }
    out
}

#[test]
fn arithmetic_is_the_processors() {
    check("arithmetic", &operands(1, 500_000), arithmetic);
}

#[test]
fn functions_and_conversions_are_the_processors() {
    check("rest", &operands(2, 50_000), rest);
}

/// Every pair of exponents, with digits at random.
#[test]
fn every_pair_of_exponents() {
    let mut random = Random(3);
    let mut all: Operands = Default::default();
    for pair in 0..2048 * 2048u64 {
        let exponents = [pair >> 11, pair & 2047, random.next() % 2048];
        for (list, exponent) in all.iter_mut().zip(exponents) {
            list.push(f64::from_bits(exponent << 52 | random.next() & (1 << 63 | DIGITS)));
        }
    }
    check("arithmetic", &all, arithmetic);
}

/// Every special pattern with every other, in both signs.
#[test]
fn every_pair_of_special_numbers() {
    let signed: Vec<f64> = SPECIAL.iter().flat_map(|&bits| [bits, bits | 1 << 63]).map(f64::from_bits).collect();
    let mut all: Operands = Default::default();
    for &x in &signed {
        for &y in &signed {
            for (list, value) in all.iter_mut().zip([x, y, -x]) {
                list.push(value);
            }
        }
    }
    check("arithmetic", &all, arithmetic);
    check("rest", &all, rest);
}

/// Vectors in a buffer and by value, as arrays of the host.
#[test]
fn vectors_are_arrays_of_the_host() {
    let gpu = gpu();
    let kernel = library(&gpu).kernel("vectors").expect("the source has it");
    let mut random = Random(4);
    let mut four = || [(); 4].map(|()| operand(&mut random));
    let values: Vec<[f64; 4]> = (0..1000).map(|_| four()).collect();
    let (by, [x, y, ..]) = (four(), four());
    let mut buffer = gpu.buffer_from(&values).expect("a buffer");
    let arguments = args![&mut buffer, Arg::value(by), Arg::value([x, y])];
    kernel.launch(Grid::threads(values.len()), arguments).expect("it fits").wait().expect("it runs");
    for (value, got) in values.iter().zip(buffer.read().expect("nobody writes").iter()) {
        for (lane, got) in got.iter().enumerate() {
            let wanted = value[lane].mul_add(by[lane], [x, y][lane % 2]);
            assert!(
                got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan(),
                "{value:?}: {got:e}, not {wanted:e}"
            );
        }
    }
}
