//! The integer functions and operators of our metal_stdlib, for all eight integer types, as scalars and as vectors, against i128 arithmetic.

mod stdlib;
mod support;

use hostmetal::msl::MathMode;
use stdlib::*;
use support::Buffer;

/// An integer type: name, bits, signed.
#[derive(Clone, Copy)]
struct Type {
    name: &'static str,
    bits: u32,
    signed: bool,
}

const TYPES: [Type; 8] = [
    Type { name: "char", bits: 8, signed: true },
    Type { name: "uchar", bits: 8, signed: false },
    Type { name: "short", bits: 16, signed: true },
    Type { name: "ushort", bits: 16, signed: false },
    Type { name: "int", bits: 32, signed: true },
    Type { name: "uint", bits: 32, signed: false },
    Type { name: "long", bits: 64, signed: true },
    Type { name: "ulong", bits: 64, signed: false },
];

impl Type {
    fn low(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    fn high(self) -> i128 {
        self.low() + (1i128 << self.bits) - 1
    }

    /// The bits as a number from 0.
    fn unsigned(self, x: i128) -> u128 {
        (x & ((1 << self.bits) - 1)) as u128
    }

    /// The value of the type that has the low bits of x.
    fn wrap(self, x: i128) -> i128 {
        let bits = self.unsigned(x) as i128;
        if bits > self.high() { bits - (1 << self.bits) } else { bits }
    }

    fn saturate(self, x: i128) -> i128 {
        x.clamp(self.low(), self.high())
    }

    fn amount(self, x: i128) -> u32 {
        x.rem_euclid(i128::from(self.bits)) as u32
    }

    fn extract(self, x: i128, offset: u32, bits: u32) -> i128 {
        if bits == 0 {
            return 0;
        }
        let field = ((self.unsigned(x) >> offset) & ((1 << bits) - 1)) as i128;
        if self.signed && field >> (bits - 1) == 1 { field - (1 << bits) } else { field }
    }

    fn insert(self, base: i128, insert: i128, offset: u32, bits: u32) -> i128 {
        let mask = ((1u128 << bits) - 1) << offset;
        self.wrap((self.unsigned(base) & !mask | (self.unsigned(insert) << offset) & mask) as i128)
    }
}

/// A function of three numbers x, y, z: the MSL expression, and what it is.
type Case = (&'static str, fn(Type, [i128; 3]) -> i128);

const CASES: &[Case] = &[
    ("abs(x)", |t, [x, ..]| t.wrap(x.abs())),
    ("addsat(x, y)", |t, [x, y, _]| t.saturate(x + y)),
    ("subsat(x, y)", |t, [x, y, _]| t.saturate(x - y)),
    ("clamp(x, y, z)", |_, [x, y, z]| x.max(y).min(z)),
    ("clz(x)", |t, [x, ..]| (t.unsigned(x).leading_zeros() - (128 - t.bits)).into()),
    ("ctz(x)", |t, [x, ..]| t.unsigned(x).trailing_zeros().min(t.bits).into()),
    ("popcount(x)", |t, [x, ..]| t.unsigned(x).count_ones().into()),
    ("reverse_bits(x)", |t, [x, ..]| t.wrap((t.unsigned(x).reverse_bits() >> (128 - t.bits)) as i128)),
    ("rotate(x, y)", |t, [x, y, _]| {
        let (bits, left) = (t.unsigned(x), t.amount(y));
        t.wrap((bits << left | bits >> (t.bits - left)) as i128)
    }),
    ("hadd(x, y)", |_, [x, y, _]| (x + y) >> 1),
    ("rhadd(x, y)", |_, [x, y, _]| (x + y + 1) >> 1),
    ("max(x, y)", |_, [x, y, _]| x.max(y)),
    ("min(x, y)", |_, [x, y, _]| x.min(y)),
    ("max3(x, y, z)", |_, [x, y, z]| x.max(y).max(z)),
    ("min3(x, y, z)", |_, [x, y, z]| x.min(y).min(z)),
    ("median3(x, y, z)", |_, [x, y, z]| x + y + z - x.max(y).max(z) - x.min(y).min(z)),
    ("mulhi(x, y)", |t, [x, y, _]| high(t, x, y)),
    ("madhi(x, y, z)", |t, [x, y, z]| t.wrap(high(t, x, y) + z)),
    ("madsat(x, y, z)", |t, [x, y, z]| {
        x.checked_mul(y).and_then(|p| p.checked_add(z)).map_or(t.high(), |s| t.saturate(s))
    }),
    ("extract_bits(x, 0, 0)", |t, [x, ..]| t.extract(x, 0, 0)),
    ("extract_bits(x, 1, 5)", |t, [x, ..]| t.extract(x, 1, 5)),
    ("extract_bits(x, 0, uint(8 * sizeof(x.x)))", |t, [x, ..]| t.extract(x, 0, t.bits)),
    ("insert_bits(x, y, 2, 3)", |t, [x, y, _]| t.insert(x, y, 2, 3)),
    ("insert_bits(x, y, 0, uint(8 * sizeof(x.x)))", |t, [x, y, _]| t.insert(x, y, 0, t.bits)),
    ("insert_bits(x, y, 7, 0)", |t, [x, y, _]| t.insert(x, y, 7, 0)),
];

/// Operators, for vectors: scalars of fewer than 32 bits are promoted in C++.
const OPERATORS: &[Case] = &[
    ("x + y", |t, [x, y, _]| t.wrap(x + y)),
    ("x - y", |t, [x, y, _]| t.wrap(x - y)),
    ("x * y", |t, [x, y, _]| t.wrap(x.wrapping_mul(y))),
    ("x & y", |_, [x, y, _]| x & y),
    ("x | y", |_, [x, y, _]| x | y),
    ("x ^ y", |_, [x, y, _]| x ^ y),
    ("~x", |t, [x, ..]| t.wrap(!x)),
    ("-x", |t, [x, ..]| t.wrap(-x)),
    ("x << y", |t, [x, y, _]| t.wrap(((t.unsigned(x)) << t.amount(y)) as i128)),
    ("x >> y", |t, [x, y, _]| x >> t.amount(y)),
];

/// The upper half of a product; of two 64-bit numbers it fits i128 only without a sign.
fn high(t: Type, x: i128, y: i128) -> i128 {
    match x.checked_mul(y) {
        Some(product) => product >> t.bits,
        None => ((x as u128 * y as u128) >> t.bits) as i128,
    }
}

fn to_bytes(t: Type, x: i128) -> Vec<u8> {
    x.to_le_bytes()[..t.bits as usize / 8].to_vec()
}

fn from_bytes(t: Type, bytes: &[u8]) -> i128 {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    t.wrap(i128::from_le_bytes(all))
}

fn triples(t: Type) -> Vec<[i128; 3]> {
    let corners =
        [0, 1, 2, 7, 8, 31, 33, t.high(), t.high() - 1, t.high() / 2, t.low(), t.low() + 1, -1, -2, t.high() / 3];
    let corners: Vec<i128> = corners.into_iter().filter(|&x| t.wrap(x) == x).collect();
    let mut all = Vec::new();
    for &x in &corners {
        for &y in &corners {
            all.extend([0, 1, t.high(), t.low()].map(|z| [x, y, z]));
        }
    }
    let mut random = Random(u64::from(t.bits));
    all.extend(
        (0..1000).map(|_| [0; 3].map(|_: i32| t.wrap(random.bits().into()) >> (random.bits() % u64::from(t.bits)))),
    );
    all.truncate(all.len() / 12 * 12);
    all
}

/// Each case as a scalar (width 1) or on vectors, which thread i takes from consecutive numbers.
fn check_type(t: Type) {
    let triples = triples(t);
    let n = triples.len();
    let columns: Vec<Buffer> =
        (0..3).map(|c| Buffer::of(&triples.iter().flat_map(|v| to_bytes(t, v[c])).collect::<Vec<u8>>())).collect();
    let all: Vec<(usize, Case)> = [(1, CASES), (3, CASES), (2, OPERATORS), (4, OPERATORS)]
        .into_iter()
        .flat_map(|(width, cases)| cases.iter().map(move |&case| (width, case)))
        .collect();
    let mut body = String::new();
    for (number, (width, (expression, _))) in all.iter().enumerate() {
        let vector = if *width == 1 { t.name.to_owned() } else { format!("{}{width}", t.name) };
        let packed = if *width == 1 { vector.clone() } else { format!("packed_{vector}") };
        let expression = if *width == 1 { expression.replace("x.x", "x") } else { (*expression).to_owned() };
        body += &format!(
            "  if (i < {n} / {width}) {{ typedef {packed} P; {vector} x = ((device const P *)a)[i], y = ((device const P *)b)[i], z = ((device const P *)c)[i]; (void)y; (void)z;\n\
                 ((device P *)(out + {number} * {n}))[i] = {expression}; }}\n"
        );
    }
    let name = t.name;
    let source = format!(
        "kernel void run(device const {name} *a [[buffer(0)]], device const {name} *b [[buffer(1)]], device const {name} *c [[buffer(2)]],\n\
                         device {name} *out [[buffer(3)]], uint i [[thread_position_in_grid]]) {{\n{body}}}\n"
    );
    let size = t.bits as usize / 8;
    let out = Buffer::new((all.len() * n * size) as u64);
    run(&compile(&source, MathMode::Fast), &[&columns[0], &columns[1], &columns[2], &out], n, 64);
    let out = out.read::<u8>();
    for (number, (width, (expression, reference))) in all.iter().enumerate() {
        for (i, &triple) in triples.iter().enumerate() {
            let at = (number * n + i) * size;
            let (got, expected) = (from_bytes(t, &out[at..at + size]), reference(t, triple));
            assert_eq!(got, expected, "{name}, width {width}: {expression} of {triple:?}");
        }
    }
}

#[test]
fn functions_of_8_and_16_bit_integers() {
    TYPES[..4].iter().for_each(|&t| check_type(t));
}

#[test]
fn functions_of_32_and_64_bit_integers() {
    TYPES[4..].iter().for_each(|&t| check_type(t));
}

/// absdiff gives the unsigned type; the 24-bit functions exist for 32 bits only.
#[test]
fn functions_with_types_of_their_own() {
    let source = "kernel void run(device const int2 *in [[buffer(0)]], device long *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n\
          int x = in[i].x, y = in[i].y; device long *o = out + i * 8;\n\
          o[0] = absdiff(x, y); o[1] = absdiff(uint(x), uint(y)); o[2] = absdiff(uchar(x), uchar(y)); o[3] = absdiff(char2(char(x)), char2(char(y))).y;\n\
          o[4] = mul24(x >> 8, y >> 8); o[5] = mul24(uint(x) >> 8, uint(y) >> 8); o[6] = mad24(x >> 8, y >> 8, x); o[7] = mad24(uint2(uint(x) >> 8), uint2(uint(y) >> 8), uint2(y)).x;\n}\n";
    let corners = [0, 1, -1, 7, i32::MAX, i32::MIN, i32::MIN + 1, 0x1234_5678, -0x0765_4321];
    let pairs: Vec<[i32; 2]> = corners.iter().flat_map(|&x| corners.iter().map(move |&y| [x, y])).collect();
    let out = Buffer::new((pairs.len() * 64) as u64);
    run(&compile(source, MathMode::Fast), &[&Buffer::of(&pairs), &out], pairs.len(), 32);
    for (got, &[x, y]) in out.read::<[i64; 8]>().into_iter().zip(&pairs) {
        let (ux, uy) = (x as u32, y as u32);
        let expected = [
            x.abs_diff(y).into(),
            ux.abs_diff(uy).into(),
            (x as u8).abs_diff(y as u8).into(),
            (x as i8).abs_diff(y as i8).into(),
            (x >> 8).wrapping_mul(y >> 8).into(),
            (ux >> 8).wrapping_mul(uy >> 8).into(),
            (x >> 8).wrapping_mul(y >> 8).wrapping_add(x).into(),
            (ux >> 8).wrapping_mul(uy >> 8).wrapping_add(uy).into(),
        ];
        assert_eq!(got, expected, "of {x} and {y}");
    }
}
