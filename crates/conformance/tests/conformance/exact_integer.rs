//! Integers: functions (OpenCL C 3.0 §6.15.3) and operators (§6.4).

use dcmetal::Scalar;

use crate::exact::{
    COUNT, Case, INTEGERS, Number, WIDTHS, bits, check, clamp, elementwise, integer, is_signed, numbers, range, wrap,
};

/// A function or operator on integers of one type.
struct Row {
    name: &'static str,
    /// How it is written, with `A`, `B`, `C` for the arguments.
    form: &'static str,
    arity: usize,
    /// Type of the result for this type of argument.
    result: fn(Scalar) -> Scalar,
    reference: fn(Scalar, &[i128]) -> i128,
    /// Makes arguments valid that are not.
    fit: fn(Scalar, &mut [i128]),
}

fn same(scalar: Scalar) -> Scalar {
    scalar
}

fn unsigned(scalar: Scalar) -> Scalar {
    integer(scalar.size(), false)
}

fn anything(_: Scalar, _: &mut [i128]) {}

/// No division by zero, none that overflows: both are undefined (§6.4.a).
fn divisible(scalar: Scalar, args: &mut [i128]) {
    if args[1] == 0 || (args[1] == -1 && args[0] == range(scalar).0) {
        args[1] = 3;
    }
}

fn ordered(_: Scalar, args: &mut [i128]) {
    args[1..].sort_unstable();
}

/// The bits of a value as a number without sign.
fn pattern(scalar: Scalar, x: i128) -> i128 {
    x & ((1i128 << bits(scalar)) - 1)
}

/// `a * b + c` in as many bits as it takes, clamped to the type.
fn mad_sat(scalar: Scalar, a: &[i128]) -> i128 {
    if scalar == Scalar::U64 {
        let exact = (a[0] as u128) * (a[1] as u128) + a[2] as u128;
        return exact.min(u128::from(u64::MAX)) as i128;
    }
    clamp(scalar, a[0] * a[1] + a[2])
}

fn mul_hi(scalar: Scalar, a: &[i128]) -> i128 {
    if scalar == Scalar::U64 {
        return (((a[0] as u128) * (a[1] as u128)) >> 64) as i128;
    }
    (a[0] * a[1]) >> bits(scalar)
}

fn rotate(scalar: Scalar, a: &[i128]) -> i128 {
    let (width, by) = (bits(scalar), (a[1] & i128::from(bits(scalar) - 1)) as u32);
    let x = pattern(scalar, a[0]) as u128;
    wrap(scalar, ((x << by) | (x >> (width - by))) as i128)
}

const fn row(
    name: &'static str,
    form: &'static str,
    arity: usize,
    result: fn(Scalar) -> Scalar,
    reference: fn(Scalar, &[i128]) -> i128,
) -> Row {
    Row { name, form, arity, result, reference, fit: anything }
}

const FUNCTIONS: &[Row] = &[
    row("abs", "abs(A)", 1, unsigned, |_, a| a[0].abs()),
    row("abs_diff", "abs_diff(A, B)", 2, unsigned, |_, a| (a[0] - a[1]).abs()),
    row("add_sat", "add_sat(A, B)", 2, same, |t, a| clamp(t, a[0] + a[1])),
    row("sub_sat", "sub_sat(A, B)", 2, same, |t, a| clamp(t, a[0] - a[1])),
    row("hadd", "hadd(A, B)", 2, same, |_, a| (a[0] + a[1]) >> 1),
    row("rhadd", "rhadd(A, B)", 2, same, |_, a| (a[0] + a[1] + 1) >> 1),
    Row { fit: ordered, ..row("clamp", "clamp(A, B, C)", 3, same, |_, a| a[0].max(a[1]).min(a[2])) },
    row("clz", "clz(A)", 1, same, |t, a| i128::from(pattern(t, a[0]).leading_zeros() - (128 - bits(t)))),
    row("ctz", "ctz(A)", 1, same, |t, a| i128::from(pattern(t, a[0]).trailing_zeros().min(bits(t)))),
    row("popcount", "popcount(A)", 1, same, |t, a| i128::from(pattern(t, a[0]).count_ones())),
    row("max", "max(A, B)", 2, same, |_, a| a[0].max(a[1])),
    row("min", "min(A, B)", 2, same, |_, a| a[0].min(a[1])),
    row("mul_hi", "mul_hi(A, B)", 2, same, mul_hi),
    row("mad_hi", "mad_hi(A, B, C)", 3, same, |t, a| wrap(t, mul_hi(t, a) + a[2])),
    row("mad_sat", "mad_sat(A, B, C)", 3, same, mad_sat),
    row("rotate", "rotate(A, B)", 2, same, rotate),
    row("bitselect", "bitselect(A, B, C)", 3, same, |_, a| (a[0] & !a[2]) | (a[1] & a[2])),
];

const OPERATORS: &[Row] = &[
    row("+", "A + B", 2, same, |t, a| wrap(t, a[0] + a[1])),
    row("-", "A - B", 2, same, |t, a| wrap(t, a[0] - a[1])),
    row("*", "A * B", 2, same, |t, a| wrap(t, a[0].wrapping_mul(a[1]))),
    Row { fit: divisible, ..row("/", "A / B", 2, same, |_, a| a[0] / a[1]) },
    Row { fit: divisible, ..row("%", "A % B", 2, same, |_, a| a[0] % a[1]) },
    row("&", "A & B", 2, same, |_, a| a[0] & a[1]),
    row("|", "A | B", 2, same, |_, a| a[0] | a[1]),
    row("^", "A ^ B", 2, same, |_, a| a[0] ^ a[1]),
    row("unary ~", "~A", 1, same, |t, a| wrap(t, !a[0])),
    row("unary -", "-A", 1, same, |t, a| wrap(t, -a[0])),
];

/// A comparison or logical operator.
type Truth = (&'static str, fn(&[i128]) -> bool);

const TRUTHS: &[Truth] = &[
    ("A == B", |a| a[0] == a[1]),
    ("A != B", |a| a[0] != a[1]),
    ("A < B", |a| a[0] < a[1]),
    ("A <= B", |a| a[0] <= a[1]),
    ("A > B", |a| a[0] > a[1]),
    ("A >= B", |a| a[0] >= a[1]),
    ("A && B", |a| a[0] != 0 && a[1] != 0),
    ("A || B", |a| a[0] != 0 || a[1] != 0),
    ("!A", |a| a[0] == 0),
];

/// Columns of arguments of a type, each fitted.
fn arguments(scalar: Scalar, arity: usize, fit: fn(Scalar, &mut [i128])) -> Vec<(Scalar, Vec<Number>)> {
    let mut columns: Vec<(Scalar, Vec<Number>)> =
        (0..arity).map(|at| (scalar, numbers(scalar, at as u64 * 77 + 5))).collect();
    for at in 0..COUNT {
        let mut args: Vec<i128> = columns.iter().map(|(_, c)| c[at].int()).collect();
        fit(scalar, &mut args);
        for ((_, column), arg) in columns.iter_mut().zip(args) {
            column[at] = Number::Int(arg);
        }
    }
    columns
}

fn integers(args: &[Number]) -> Vec<i128> {
    args.iter().map(|n| n.int()).collect()
}

fn cases(rows: &[Row]) -> Vec<Case> {
    let mut cases = Vec::new();
    for scalar in INTEGERS {
        for row in rows {
            let inputs = arguments(scalar, row.arity, row.fit);
            for lanes in WIDTHS {
                let reference = |args: &[Number]| Number::Int((row.reference)(scalar, &integers(args)));
                cases.push(elementwise(row.name, row.form, lanes, &inputs, (row.result)(scalar), &reference));
            }
        }
    }
    cases
}

#[test]
fn integer_functions() {
    let mut cases = cases(FUNCTIONS);
    // Twice as wide: a signed or unsigned high half, an unsigned low one.
    for high in INTEGERS.into_iter().filter(|s| s.size() < 8) {
        let low = integer(high.size(), false);
        let wide = integer(high.size() * 2, is_signed(high));
        let inputs = [(high, numbers(high, 1)), (low, numbers(low, 2))];
        let reference = |a: &[Number]| Number::Int((a[0].int() << bits(high)) | a[1].int());
        cases.extend(WIDTHS.map(|n| elementwise("upsample", "upsample(A, B)", n, &inputs, wide, &reference)));
    }
    // Arguments of 24 bits, which is all that is defined (§6.15.3).
    for scalar in [Scalar::I32, Scalar::U32] {
        let inputs = arguments(scalar, 3, |scalar, args| {
            for arg in &mut args[..2] {
                // The low 24 bits, with their sign for `int`.
                *arg = (*arg & 0xFF_FFFF) - if is_signed(scalar) { (*arg & 0x80_0000) << 1 } else { 0 };
            }
        });
        for lanes in WIDTHS {
            let product = |a: &[Number]| Number::Int(wrap(scalar, a[0].int() * a[1].int()));
            cases.push(elementwise("mul24", "mul24(A, B)", lanes, &inputs[..2], scalar, &product));
            let sum = |a: &[Number]| Number::Int(wrap(scalar, a[0].int() * a[1].int() + a[2].int()));
            cases.push(elementwise("mad24", "mad24(A, B, C)", lanes, &inputs, scalar, &sum));
        }
    }
    check("integer functions", &cases);
}

#[test]
fn integer_operators() {
    let mut cases = cases(OPERATORS);
    for scalar in INTEGERS {
        let inputs = arguments(scalar, 2, anything);
        for lanes in WIDTHS {
            // A scalar is promoted to 32 bits before it is shifted, a vector is not (§6.4.j).
            let width = if lanes == 1 { bits(scalar).max(32) } else { bits(scalar) };
            let by = move |a: &[Number]| (a[1].int() & i128::from(width - 1)) as u32;
            let left = |a: &[Number]| Number::Int(wrap(scalar, a[0].int() << by(a)));
            cases.push(elementwise("<<", "A << B", lanes, &inputs, scalar, &left));
            let right = |a: &[Number]| Number::Int(a[0].int() >> by(a));
            cases.push(elementwise(">>", "A >> B", lanes, &inputs, scalar, &right));
            // True is 1 for scalars and all bits for vectors (§6.4.d).
            let result = if lanes == 1 { Scalar::I32 } else { integer(scalar.size(), true) };
            for (form, reference) in TRUTHS {
                let truth =
                    |a: &[Number]| Number::Int(i128::from(reference(&integers(a))) * if lanes == 1 { 1 } else { -1 });
                let arity = if form.contains('B') { 2 } else { 1 };
                cases.push(elementwise(form, form, lanes, &inputs[..arity], result, &truth));
            }
        }
    }
    check("integer operators", &cases);
}
