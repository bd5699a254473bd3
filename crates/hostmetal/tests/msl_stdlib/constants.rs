//! Constants and limits (MSL 6.5, tables 6.5 to 6.7; 2.1), against Rust's own or worked out from the shape of the type.

use std::collections::BTreeSet;
use std::f64::consts::*;

use hostmetal::msl::MathMode;

use crate::number::{BFLOATS, FLOAT, FLOATS, HALVES, INTEGERS, Kind, Scalar};
use crate::stdlib::{compile, run};
use crate::support::Buffer;

/// Names without the type's letters, and what they are.
const MATH: &[(&str, f64)] = &[
    ("M_E", E),
    ("M_LOG2E", LOG2_E),
    ("M_LOG10E", LOG10_E),
    ("M_LN2", LN_2),
    ("M_LN10", LN_10),
    ("M_PI", PI),
    ("M_PI_2", FRAC_PI_2),
    ("M_PI_4", FRAC_PI_4),
    ("M_1_PI", FRAC_1_PI),
    ("M_2_PI", FRAC_2_PI),
    ("M_2_SQRTPI", FRAC_2_SQRT_PI),
    ("M_SQRT2", SQRT_2),
    ("M_SQRT1_2", FRAC_1_SQRT_2),
    ("HUGE_VAL", f64::INFINITY),
];

fn letters(t: Scalar) -> &'static str {
    match t.name {
        "float" => "F",
        "half" => "H",
        _ => "BF",
    }
}

/// Constants of a floating-point type: an expression, and the bits of its number.
fn constants(t: Scalar) -> Vec<(String, u64)> {
    let separator = |name: &str| if name == "HUGE_VAL" { "" } else { "_" };
    let mut all: Vec<(String, u64)> =
        MATH.iter().map(|(name, x)| (format!("{name}{}{}", separator(name), letters(t)), t.nearest(*x))).collect();
    let (fraction, smallest, largest) = t.shape();
    let most = t.nearest((2.0 - 2f64.powi(-fraction)) * 2f64.powi(largest));
    let (prefix, power) =
        (["FLT", "HALF", "BFLT"][FLOATS.iter().position(|x| *x == t).expect("one")], |n: i32| t.nearest(2f64.powi(n)));
    all.push((format!("MAX{}", t.name.to_uppercase()), most));
    all.extend([
        (format!("{prefix}_MAX"), most),
        (format!("{prefix}_MIN"), power(smallest)),
        (format!("{prefix}_TRUE_MIN"), 1),
        (format!("{prefix}_EPSILON"), power(-fraction)),
        (format!("numeric_limits<{}>::max()", t.name), most),
        (format!("numeric_limits<{}>::lowest()", t.name), most | 1 << (t.bits - 1)),
        (format!("numeric_limits<{}>::min()", t.name), power(smallest)),
        (format!("numeric_limits<{}>::epsilon()", t.name), power(-fraction)),
        (format!("numeric_limits<{}>::round_error()", t.name), t.nearest(0.5)),
        (format!("numeric_limits<{}>::infinity()", t.name), t.nearest(f64::INFINITY)),
        (format!("numeric_limits<{}>::quiet_NaN()", t.name), t.nearest(f64::NAN)),
        (format!("numeric_limits<{}>::denorm_min()", t.name), 1),
    ]);
    if t == FLOAT {
        all.extend([("INFINITY".to_owned(), t.nearest(f64::INFINITY)), ("NAN".to_owned(), t.nearest(f64::NAN))]);
    }
    all
}

/// Whole numbers that the types' limits are.
fn whole() -> Vec<(String, i128)> {
    let mut all = Vec::new();
    for t in INTEGERS {
        let signed = t.kind == Kind::Integer { signed: true };
        let digits = i128::from(t.bits) - i128::from(signed);
        let digits10 = (t.high() as f64).log10().floor() as i128;
        let members = [
            ("max()", t.high()),
            ("min()", t.low()),
            ("lowest()", t.low()),
            ("epsilon()", 0),
            ("digits", digits),
            ("digits10", digits10),
            ("radix", 2),
            ("is_signed", signed.into()),
            ("is_modulo", (!signed).into()),
            ("is_integer", 1),
            ("is_exact", 1),
            ("is_specialized", 1),
            ("has_infinity", 0),
            ("has_quiet_NaN", 0),
            ("is_iec559", 0),
        ];
        all.extend(members.map(|(member, x)| (format!("numeric_limits<{}>::{member}", t.name), x)));
    }
    for t in FLOATS {
        let (fraction, smallest, largest) = t.shape();
        let digits = f64::from(fraction + 1);
        let members = [
            ("digits", (fraction + 1).into()),
            // C++17 21.3.4.1: decimal digits that any number of so many survives, and that it takes to tell two apart.
            ("digits10", ((digits - 1.0) * LOG10_2).floor() as i128),
            ("max_digits10", (digits * LOG10_2 + 1.0).ceil() as i128),
            ("min_exponent", (smallest + 1).into()),
            ("max_exponent", (largest + 1).into()),
            ("min_exponent10", (f64::from(smallest) * LOG10_2).ceil() as i128),
            ("max_exponent10", (f64::from(largest + 1) * LOG10_2).floor() as i128),
            ("radix", 2),
            ("is_signed", 1),
            ("is_integer", 0),
            ("is_exact", 0),
            ("is_specialized", 1),
            ("has_infinity", 1),
            ("has_quiet_NaN", 1),
            ("is_iec559", 1),
        ];
        all.extend(members.map(|(member, x)| (format!("numeric_limits<{}>::{member}", t.name), x)));
    }
    let limits: [(&str, i128); 17] = [
        ("CHAR_BIT", 8),
        ("SCHAR_MAX", i8::MAX.into()),
        ("SCHAR_MIN", i8::MIN.into()),
        ("UCHAR_MAX", u8::MAX.into()),
        ("CHAR_MAX", i8::MAX.into()),
        ("CHAR_MIN", i8::MIN.into()),
        ("USHRT_MAX", u16::MAX.into()),
        ("SHRT_MAX", i16::MAX.into()),
        ("SHRT_MIN", i16::MIN.into()),
        ("UINT_MAX", u32::MAX.into()),
        ("INT_MAX", i32::MAX.into()),
        ("INT_MIN", i32::MIN.into()),
        ("ULONG_MAX", u64::MAX.into()),
        ("LONG_MAX", i64::MAX.into()),
        ("LONG_MIN", i64::MIN.into()),
        ("FLT_MANT_DIG", 24),
        ("HALF_MANT_DIG", 11),
    ];
    all.extend(limits.map(|(name, x)| (name.to_owned(), x)));
    // 6.5: ilogb of what has no exponent; of infinity as in C.
    all.extend(
        [("ilogb(0.0f)", -2_147_483_648), ("ilogb(NAN)", -2_147_483_648), ("ilogb(INFINITY)", 2_147_483_647)]
            .map(|(name, x)| (name.to_owned(), x)),
    );
    all.extend([("FP_ILOGB0", -2_147_483_648), ("FP_ILOGBNAN", -2_147_483_648)].map(|(name, x)| (name.to_owned(), x)));
    all
}

pub(crate) fn covered() -> BTreeSet<(String, String)> {
    let floats = FLOATS.into_iter().flat_map(|t| constants(t).into_iter().map(|c| c.0));
    floats.chain(whole().into_iter().map(|w| w.0)).map(|name| (name, String::new())).collect()
}

#[test]
fn constants_of_floating_point_types() {
    for t in [FLOAT, HALVES, BFLOATS] {
        let all = constants(t);
        let body: String = all.iter().enumerate().map(|(k, (name, _))| format!("  out[{k}] = {name};\n")).collect();
        let types: String = all
            .iter()
            .map(|(name, _)| {
                format!("static_assert(is_same_v<decltype({name}), {}>, \"{}\");\n", t.name, name.replace('"', ""))
            })
            .collect();
        let source = format!("{types}kernel void run(device {} *out [[buffer(0)]]) {{\n{body}}}\n", t.name);
        let out = Buffer::new((all.len() * t.bytes()) as u64);
        run(&compile(&source, MathMode::Fast), &[&out], 1, 1);
        for ((name, expected), got) in all.iter().zip(crate::uses::numbers(t, &out.read::<u8>())) {
            assert!(
                got == *expected || t.float(got).is_nan() && t.float(*expected).is_nan(),
                "{name}: {got:#x}, not {expected:#x}"
            );
        }
    }
}

#[test]
fn whole_constants() {
    let all = whole();
    let body: String = all.iter().enumerate().map(|(k, (name, _))| format!("  out[{k}] = ulong({name});\n")).collect();
    let out = Buffer::new((all.len() * 8) as u64);
    run(
        &compile(&format!("kernel void run(device ulong *out [[buffer(0)]]) {{\n{body}}}\n"), MathMode::Fast),
        &[&out],
        1,
        1,
    );
    for ((name, expected), got) in all.iter().zip(out.read::<u64>()) {
        assert_eq!(got, *expected as u64, "{name}");
    }
}
