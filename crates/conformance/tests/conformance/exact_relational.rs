//! Relations of floating-point numbers, selection, reinterpretation, shuffles (OpenCL C 3.0 §6.15.6, §6.4.4, §6.15.19).

use dcmetal::Scalar;

use crate::exact::{
    COUNT, Case, FLOATS, INTEGERS, Number, WIDTHS, bits, check, column, elementwise, integer, is_signed, load, numbers,
    store, vector_name,
};

/// A relation of one or two numbers.
type Relation = (&'static str, usize, fn(f64, f64, Scalar) -> bool);

fn is_normal(x: f64, scalar: Scalar) -> bool {
    let least = if scalar == Scalar::F32 { f64::from(f32::MIN_POSITIVE) } else { half::f16::MIN_POSITIVE.to_f64() };
    x.is_finite() && x.abs() >= least
}

const RELATIONS: &[Relation] = &[
    ("isequal", 2, |x, y, _| x == y),
    ("isnotequal", 2, |x, y, _| x != y),
    ("isgreater", 2, |x, y, _| x > y),
    ("isgreaterequal", 2, |x, y, _| x >= y),
    ("isless", 2, |x, y, _| x < y),
    ("islessequal", 2, |x, y, _| x <= y),
    ("islessgreater", 2, |x, y, _| x.partial_cmp(&y).is_some_and(std::cmp::Ordering::is_ne)),
    ("isordered", 2, |x, y, _| !x.is_nan() && !y.is_nan()),
    ("isunordered", 2, |x, y, _| x.is_nan() || y.is_nan()),
    ("isfinite", 1, |x, _, _| x.is_finite()),
    ("isinf", 1, |x, _, _| x.is_infinite()),
    ("isnan", 1, |x, _, _| x.is_nan()),
    ("isnormal", 1, |x, _, scalar| is_normal(x, scalar)),
    ("signbit", 1, |x, _, _| x.is_sign_negative()),
];

const COMPARISONS: &[Relation] = &[
    ("==", 2, |x, y, _| x == y),
    ("!=", 2, |x, y, _| x != y),
    (">", 2, |x, y, _| x > y),
    (">=", 2, |x, y, _| x >= y),
    ("<", 2, |x, y, _| x < y),
    ("<=", 2, |x, y, _| x <= y),
];

#[test]
fn relations_of_floating_point_numbers() {
    let mut cases = Vec::new();
    for scalar in FLOATS {
        let first = numbers(scalar, 1);
        // Every fourth pair is equal.
        let mut second = numbers(scalar, 2);
        (0..COUNT).step_by(4).for_each(|at| second[at] = first[at]);
        let inputs = [(scalar, first), (scalar, second)];
        for lanes in WIDTHS {
            let result = if lanes == 1 { Scalar::I32 } else { integer(scalar.size(), true) };
            let truth = if lanes == 1 { 1 } else { -1 };
            for (name, arity, relation) in RELATIONS {
                let form = if *arity == 2 { format!("{name}(A, B)") } else { format!("{name}(A)") };
                let reference = |a: &[Number]| {
                    Number::Int(i128::from(relation(a[0].float(), a[a.len() - 1].float(), scalar)) * truth)
                };
                cases.push(elementwise(name, &form, lanes, &inputs[..*arity], result, &reference));
            }
            for (operator, _, relation) in COMPARISONS {
                let form = format!("A {operator} B");
                let reference =
                    |a: &[Number]| Number::Int(i128::from(relation(a[0].float(), a[1].float(), scalar)) * truth);
                cases.push(elementwise(operator, &form, lanes, &inputs, result, &reference));
            }
        }
    }
    check("relations", &cases);
}

/// `select` and `?:` take the second for a sign bit in a vector, for anything but zero in a scalar.
#[test]
fn selection() {
    let mut cases = Vec::new();
    for scalar in INTEGERS.into_iter().chain(FLOATS) {
        for condition in [integer(scalar.size(), true), integer(scalar.size(), false)] {
            let inputs =
                [(scalar, numbers(scalar, 3)), (scalar, numbers(scalar, 4)), (condition, numbers(condition, 5))];
            for lanes in WIDTHS {
                let holds = |c: i128| match lanes {
                    1 => c != 0,
                    _ => (c >> (bits(condition) - 1)) & 1 == 1,
                };
                let select = |a: &[Number]| if holds(a[2].int()) { a[1] } else { a[0] };
                cases.push(elementwise("select", "select(A, B, C)", lanes, &inputs, scalar, &select));
                if is_signed(condition) {
                    let choose = |a: &[Number]| if holds(a[2].int()) { a[0] } else { a[1] };
                    cases.push(elementwise("?:", "(C) ? (A) : (B)", lanes, &inputs, scalar, &choose));
                }
            }
        }
    }
    for scalar in INTEGERS.into_iter().filter(|s| is_signed(*s)) {
        let values = numbers(scalar, 6);
        for lanes in WIDTHS {
            for (name, all) in [("any", false), ("all", true)] {
                let truth = values.chunks(lanes).map(|lanes| {
                    let mut set = lanes.iter().map(|n| n.int() < 0);
                    Number::Int(i128::from(if all { set.all(|s| s) } else { set.any(|s| s) }))
                });
                cases.push(Case {
                    label: format!("{name} of {}", vector_name(scalar, lanes)),
                    statement: format!("r[i] = {name}({})", load("a", lanes)),
                    inputs: vec![column(scalar, &values)],
                    expected: column(Scalar::I32, &truth.collect::<Vec<_>>()),
                    work_items: COUNT / lanes,
                });
            }
        }
    }
    check("selection", &cases);
}

/// `as_T` between all types and widths of one size keeps the bytes.
#[test]
fn reinterpretation() {
    let mut cases = Vec::new();
    let types: Vec<Scalar> = INTEGERS.into_iter().chain(FLOATS).collect();
    for from in &types {
        let values = numbers(*from, 9);
        // NaN may lose its bits on the way.
        let values: Vec<Number> = values
            .into_iter()
            .map(|n| if matches!(n, Number::Float(x) if x.is_nan()) { Number::Float(1.5) } else { n })
            .collect();
        for to in &types {
            for lanes in WIDTHS {
                let total = from.size() * lanes;
                let target = total / to.size();
                // Vectors of three only to their like; the bits of a NaN in the result are not compared.
                let fits = total % to.size() == 0 && WIDTHS.contains(&target) && (lanes == 3) == (target == 3);
                if !fits {
                    continue;
                }
                let input = column(*from, &values);
                let expected = crate::batch::Column { scalar: *to, bytes: input.bytes.clone() };
                cases.push(Case {
                    label: format!("as_{} of {}", vector_name(*to, target), vector_name(*from, lanes)),
                    statement: store(&format!("as_{}({})", vector_name(*to, target), load("a", lanes)), target),
                    inputs: vec![input],
                    expected,
                    work_items: COUNT / lanes,
                });
            }
        }
    }
    check("reinterpretation", &cases);
}

#[test]
fn shuffles() {
    const VECTORS: [usize; 4] = [2, 4, 8, 16];
    let mut cases = Vec::new();
    for scalar in INTEGERS.into_iter().chain(FLOATS) {
        let mask = integer(scalar.size(), false);
        let (a, b, m) = (numbers(scalar, 11), numbers(scalar, 12), numbers(mask, 13));
        for from in VECTORS {
            for to in VECTORS {
                // As many work-items as the longer vectors allow.
                let items = COUNT / from.max(to);
                let pick = |pair: bool| {
                    let lanes = (0..items * to).map(|at| {
                        let (item, range) = (at / to, if pair { 2 * from } else { from });
                        let index = (m[at].int() & (range as i128 - 1)) as usize;
                        if index < from { a[item * from + index] } else { b[item * from + index - from] }
                    });
                    column(scalar, &lanes.collect::<Vec<_>>())
                };
                let name = format!("{} by {}", vector_name(scalar, from), vector_name(mask, to));
                let (x, y) = (load("a", from), load("b", from));
                cases.push(Case {
                    label: format!("shuffle of {name}"),
                    statement: store(&format!("shuffle({x}, {y})", y = load("b", to)), to),
                    inputs: vec![column(scalar, &a), column(mask, &m)],
                    expected: pick(false),
                    work_items: items,
                });
                cases.push(Case {
                    label: format!("shuffle2 of {name}"),
                    statement: store(&format!("shuffle2({x}, {y}, {m})", m = load("c", to)), to),
                    inputs: vec![column(scalar, &a), column(scalar, &b), column(mask, &m)],
                    expected: pick(true),
                    work_items: items,
                });
            }
        }
    }
    check("shuffles", &cases);
}
