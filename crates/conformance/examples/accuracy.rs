//! Measures functions of one number over all floats, or every n-th: `accuracy [--every N] [NAME ...]`, without names all of
//! them. Prints the rows of docs/ACCURACY.md: function, limit, worst error in units in the last place and where, numbers tried.
//!
//! The reference is C's double precision function, off by a few 2^-52, or a composition of a few; MPFR decides on zeros,
//! infinities, NaN and every number that would be a new worst. So what is printed is MPFR's word.

#[path = "../tests/conformance/batch.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod batch;
#[path = "../tests/conformance/math_table.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod math_table;
#[path = "../tests/conformance/samples.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod samples;
#[path = "../tests/conformance/ulp.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod ulp;

use std::f64::consts::{LN_10, PI};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use batch::{Column, Job};
use dcmetal::{Accelerator, Scalar};
use math_table::{Answer, Function, Limit, Second, TABLE};
use ulp::Format;

/// Numbers per dispatch.
const CHUNK: u64 = 1 << 20;

fn main() {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let mut every = 1;
    if names.first().is_some_and(|name| name == "--every") {
        every = names.get(1).and_then(|n| n.parse().ok()).filter(|n| *n > 0).expect("--every takes a number");
        names.drain(..2);
    }
    let gpu = Accelerator::system_default().expect("a Metal device");
    let measured = |f: &&Function| f.params == "x" && f.second == Second::None && !f.gives_int;
    let mut wrong = false;
    for function in TABLE.iter().filter(measured).filter(|f| names.is_empty() || names.iter().any(|n| n == f.name)) {
        wrong |= !measure(&gpu, function, every);
    }
    std::process::exit(i32::from(wrong));
}

/// Prints a row; whether the function is within its limit.
fn measure(gpu: &Accelerator, function: &'static Function, every: u64) -> bool {
    let count = (1u64 << 32) / every;
    let worst = Mutex::new((0.0, 0.0f32, false));
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let first = next.fetch_add(1, Ordering::Relaxed) * CHUNK;
                    if first >= count {
                        break;
                    }
                    let numbers: Vec<f32> = (first..(first + CHUNK).min(count))
                        // An odd step within each stretch of numbers, so that all patterns of low bits occur.
                        .map(|at| f32::from_bits((at * every + at.wrapping_mul(0x9E37_79B9) % every) as u32))
                        .collect();
                    let found = chunk(gpu, function, &numbers, worst.lock().expect("no panic holds it").0);
                    let mut worst = worst.lock().expect("no panic holds it");
                    if found.0 > worst.0 {
                        (worst.0, worst.1) = (found.0, found.1);
                    }
                    worst.2 |= found.2;
                }
            });
        }
    });
    let (error, at, wrong) = worst.into_inner().expect("no panic holds it");
    let limit = match function.limit(Format::Float) {
        Limit::Exact => "exact".to_owned(),
        Limit::Ulp(limit) => format!("{limit}"),
        Limit::Absolute(limit) => format!("{limit} absolute"),
        Limit::Undefined => "none".to_owned(),
    };
    let verdict = if wrong { " OUTSIDE" } else { "" };
    println!("| `{}` | {limit} | {error:.3} at {at:e}{verdict} | {count} |", function.name);
    !wrong
}

/// The worst error above `floor`, where, and whether one is outside of the limit.
fn chunk(gpu: &Accelerator, function: &'static Function, numbers: &[f32], floor: f64) -> (f64, f32, bool) {
    let bytes = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let input = Column { scalar: Scalar::F32, bytes };
    let job = Job {
        label: function.name.to_owned(),
        statement: format!("r[i] = {}(a[i])", function.name),
        inputs: vec![&input],
        outputs: vec![(Scalar::F32, numbers.len())],
        work_items: numbers.len(),
    };
    let found = Mutex::new((floor, 0.0, false));
    let messages = batch::run(gpu, "", &[job], |_, columns| {
        let mut found = found.lock().expect("no panic holds it");
        for (at, &x) in numbers.iter().enumerate() {
            let got = columns[0].get(at);
            if let Some(guess) = double(function.name, f64::from(x))
                && settled(got, guess, found.0)
            {
                continue;
            }
            let error = error(function, got, f64::from(x));
            if error > found.0 && error.is_finite() {
                (found.0, found.1) = (error, x);
            }
            if error > function.limit(Format::Float).ulps() {
                eprintln!("{}({x:e}) gives {got:e}: {error} ulp", function.name);
                found.2 = true;
            }
        }
    });
    assert!(messages.is_empty(), "{}", messages.join("\n"));
    found.into_inner().expect("no panic holds it")
}

/// Whether a reference with a small error says that the result is no worse than what was met.
fn settled(got: f64, guess: f64, worst: f64) -> bool {
    if guess.is_nan() || got.is_nan() {
        return guess.is_nan() && got.is_nan();
    }
    if got.is_infinite() {
        return guess.abs() > 3.5e38 && got.signum() == guess.signum();
    }
    got != 0.0 && guess.is_finite() && guess != 0.0 && Format::Float.error(got, guess) < worst
}

/// By MPFR, with what §7.5.3 allows of subnormal numbers.
fn error(function: &Function, got: f64, x: f64) -> f64 {
    let lowest = ulp::power_of_two(-126);
    let of = |answer: Answer| match function.limit(Format::Float) {
        _ if answer.any => 0.0,
        _ if got == 0.0 && answer.value.abs() < lowest => 0.0,
        Limit::Exact => Format::Float.error(got, Format::Float.round(answer.value)),
        _ => Format::Float.error(got, answer.value),
    };
    let plain = of((function.reference)(&[x], Format::Float));
    if Format::Float.is_subnormal(x) && plain > function.limit(Format::Float).ulps() {
        return of((function.reference)(&[0.0f64.copysign(x)], Format::Float)).min(plain);
    }
    plain
}

/// In double precision; `None` where the standard library has nothing near.
fn double(name: &str, x: f64) -> Option<f64> {
    // sin(pi x) and cos(pi x) after an exact reduction.
    let turn = |shift: i64| {
        let t = x % 2.0;
        let quarters = (2.0 * t).round_ties_even();
        let angle = PI * (t - 0.5 * quarters);
        match (quarters as i64 + shift).rem_euclid(4) {
            0 => angle.sin(),
            1 => angle.cos(),
            2 => -angle.sin(),
            _ => -angle.cos(),
        }
    };
    Some(match name {
        "acos" => x.acos(),
        "acospi" => x.acos() / PI,
        "asin" => x.asin(),
        "asinpi" => x.asin() / PI,
        "atan" => x.atan(),
        "atanpi" => x.atan() / PI,
        "cbrt" => x.cbrt(),
        "cos" => x.cos(),
        "cosh" => x.cosh(),
        "cospi" => turn(1),
        "degrees" => x * (180.0 / PI),
        "exp" => x.exp(),
        "exp10" => (x * LN_10).exp(),
        "exp2" => x.exp2(),
        "expm1" => x.exp_m1(),
        "log" => x.ln(),
        "log10" => x.log10(),
        "log1p" => x.ln_1p(),
        "log2" => x.log2(),
        "radians" => x * (PI / 180.0),
        "rsqrt" => 1.0 / x.sqrt(),
        "sign" if x == 0.0 || x.is_nan() => return None,
        "sign" => x.signum(),
        "sin" => x.sin(),
        "sinh" => x.sinh(),
        "sinpi" => turn(0),
        "sqrt" => x.sqrt(),
        "tan" => x.tan(),
        "tanh" => x.tanh(),
        "tanpi" => turn(0) / turn(1),
        "acosh" => libm::acosh(x),
        "asinh" => libm::asinh(x),
        "atanh" => libm::atanh(x),
        "ceil" => x.ceil(),
        "erf" => libm::erf(x),
        "erfc" => libm::erfc(x),
        "fabs" => x.abs(),
        "floor" => x.floor(),
        "lgamma" => libm::lgamma(x),
        "logb" if x == 0.0 || !x.is_finite() => return None,
        "logb" => f64::from((x.abs().to_bits() >> 52) as i32 - 1023),
        "rint" => x.round_ties_even(),
        "round" => x.round(),
        "tgamma" => libm::tgamma(x),
        "trunc" => x.trunc(),
        _ => return None,
    })
}
