//! Built-in functions and operators whose results are exact or rounded once: integers, relations, conversions,
//! reinterpretation, shuffles (OpenCL C 3.0 §6.3 to §6.5, §6.15.3, §6.15.6, §6.15.7, §6.15.19). Expected values come from 128-bit
//! integers and one rounding; every bit must be right, NaN counts as equal to NaN.

use std::collections::BTreeMap;
use std::sync::Mutex;

use dcmetal::{Accelerator, Scalar};

use crate::batch::{self, Column, Job, type_name};
use crate::samples::Random;

/// A value of any type that columns hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    /// Of `float` or `half`.
    Float(f64),
}

impl Number {
    pub(crate) fn int(self) -> i128 {
        match self {
            Number::Int(value) => value,
            Number::Float(value) => unreachable!("{value} is no integer"),
        }
    }

    pub(crate) fn float(self) -> f64 {
        match self {
            Number::Float(value) => value,
            Number::Int(value) => unreachable!("{value} is no float"),
        }
    }
}

pub(crate) const INTEGERS: [Scalar; 8] =
    [Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64];
pub(crate) const FLOATS: [Scalar; 2] = [Scalar::F32, Scalar::F16];
pub(crate) const WIDTHS: [usize; 6] = [1, 2, 3, 4, 8, 16];

/// Values in every column: a multiple of every width.
pub(crate) const COUNT: usize = 48 * 16;

pub(crate) fn bits(scalar: Scalar) -> u32 {
    scalar.size() as u32 * 8
}

pub(crate) fn is_float(scalar: Scalar) -> bool {
    FLOATS.contains(&scalar)
}

pub(crate) fn is_signed(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64)
}

/// The integer type of this size.
pub(crate) fn integer(size: usize, signed: bool) -> Scalar {
    *INTEGERS.iter().find(|s| s.size() == size && is_signed(**s) == signed).expect("sizes are 1, 2, 4 and 8")
}

/// The least and the greatest value of an integer type.
pub(crate) fn range(scalar: Scalar) -> (i128, i128) {
    let half = 1i128 << (bits(scalar) - 1);
    if is_signed(scalar) { (-half, half - 1) } else { (0, 2 * half - 1) }
}

/// Modulo 2^bits, as a conversion does.
pub(crate) fn wrap(scalar: Scalar, value: i128) -> i128 {
    let low = value & ((1i128 << bits(scalar)) - 1);
    if low > range(scalar).1 { low - (1i128 << bits(scalar)) } else { low }
}

pub(crate) fn clamp(scalar: Scalar, value: i128) -> i128 {
    value.clamp(range(scalar).0, range(scalar).1)
}

/// The bytes of a number in memory.
fn bytes_of(scalar: Scalar, number: Number) -> Vec<u8> {
    match (scalar, number) {
        (Scalar::F32, Number::Float(x)) => (x as f32).to_ne_bytes().to_vec(),
        (Scalar::F16, Number::Float(x)) => half::f16::from_f64(x).to_ne_bytes().to_vec(),
        (_, Number::Int(x)) => {
            assert_eq!(wrap(scalar, x), x, "{x} is no {}", type_name(scalar));
            match scalar.size() {
                1 => (x as u8).to_ne_bytes().to_vec(),
                2 => (x as u16).to_ne_bytes().to_vec(),
                4 => (x as u32).to_ne_bytes().to_vec(),
                _ => (x as u64).to_ne_bytes().to_vec(),
            }
        }
        (scalar, number) => unreachable!("{number:?} is no {}", type_name(scalar)),
    }
}

fn number_at(column: &Column, at: usize) -> Number {
    let size = column.scalar.size();
    let bytes = &column.bytes[at * size..][..size];
    let mut raw = [0; 8];
    raw[..size].copy_from_slice(bytes);
    match column.scalar {
        Scalar::F32 | Scalar::F16 => Number::Float(column.get(at)),
        scalar => Number::Int(wrap(scalar, i128::from(u64::from_le_bytes(raw)))),
    }
}

pub(crate) fn column(scalar: Scalar, numbers: &[Number]) -> Column {
    Column { scalar, bytes: numbers.iter().flat_map(|n| bytes_of(scalar, *n)).collect() }
}

/// Numbers of a type: its ends, powers of two and their neighbours, then any.
pub(crate) fn numbers(scalar: Scalar, seed: u64) -> Vec<Number> {
    let mut random = Random(seed + 1);
    if is_float(scalar) {
        let any = |random: &mut Random| match scalar {
            Scalar::F32 => f64::from(f32::from_bits(random.next() as u32)),
            _ => half::f16::from_bits(random.next() as u16).to_f64(),
        };
        let special = [
            0.0,
            1.0,
            0.5,
            1.5,
            2.5,
            127.5,
            128.5,
            255.5,
            65504.0,
            1024.5,
            2047.0,
            6e-8,
            6.1e-5,
            f64::INFINITY,
            f64::NAN,
        ];
        let special = special.iter().flat_map(|x| [*x, -*x]);
        // Rounded to the type by way of its bytes.
        let whole = |x: f64| number_at(&column(scalar, &[Number::Float(x)]), 0);
        let mut list: Vec<Number> = special.map(whole).collect();
        while list.len() < COUNT {
            let x = if list.len().is_multiple_of(2) { any(&mut random) } else { random.within(-300.0, 300.0) };
            list.push(whole(x));
        }
        shuffled(list, &mut random)
    } else {
        let (low, high) = range(scalar);
        let mut list = vec![low, low + 1, high, high - 1, 0, 1, 2, 3];
        for bit in 0..bits(scalar) {
            for near in [-1, 0, 1] {
                list.extend([(1i128 << bit) + near, -(1i128 << bit) + near]);
            }
        }
        list.retain(|x| (low..=high).contains(x));
        while list.len() < COUNT {
            let any = i128::from(random.next() as i64) >> (random.next() % u64::from(bits(scalar)));
            list.push(wrap(scalar, any));
        }
        list.truncate(COUNT);
        shuffled(list.into_iter().map(Number::Int).collect(), &mut random)
    }
}

/// So that columns of other seeds meet in other pairs.
fn shuffled(mut list: Vec<Number>, random: &mut Random) -> Vec<Number> {
    for at in (1..list.len()).rev() {
        list.swap(at, (random.next() % (at as u64 + 1)) as usize);
    }
    list
}

/// A statement over columns and what must come out.
pub(crate) struct Case {
    pub(crate) label: String,
    pub(crate) statement: String,
    pub(crate) inputs: Vec<Column>,
    pub(crate) expected: Column,
    pub(crate) work_items: usize,
}

/// `name` or `vloadn(i, name)`.
pub(crate) fn load(name: &str, lanes: usize) -> String {
    if lanes == 1 { format!("{name}[i]") } else { format!("vload{lanes}(i, {name})") }
}

/// A statement that stores `value`.
pub(crate) fn store(value: &str, lanes: usize) -> String {
    if lanes == 1 { format!("r[i] = {value}") } else { format!("vstore{lanes}({value}, i, r)") }
}

/// A type's name with its lanes.
pub(crate) fn vector_name(scalar: Scalar, lanes: usize) -> String {
    let lanes = if lanes == 1 { String::new() } else { lanes.to_string() };
    format!("{}{lanes}", type_name(scalar))
}

/// A case that works component by component: `form` has `A`, `B`, `C` where the arguments go.
pub(crate) fn elementwise(
    label: &str,
    form: &str,
    lanes: usize,
    inputs: &[(Scalar, Vec<Number>)],
    result: Scalar,
    reference: &dyn Fn(&[Number]) -> Number,
) -> Case {
    let mut value = String::new();
    for c in form.chars() {
        match c {
            'A'..='C' => value += &load(["a", "b", "c"][c as usize - 'A' as usize], lanes),
            other => value.push(other),
        }
    }
    let expected: Vec<Number> =
        (0..COUNT).map(|at| reference(&inputs.iter().map(|(_, numbers)| numbers[at]).collect::<Vec<_>>())).collect();
    Case {
        label: format!("{label} of {}", vector_name(inputs[0].0, lanes)),
        statement: store(&value, lanes),
        inputs: inputs.iter().map(|(scalar, numbers)| column(*scalar, numbers)).collect(),
        expected: column(result, &expected),
        work_items: COUNT / lanes,
    }
}

/// Runs the cases and names what is wrong; `family` names them in the message, which counts them.
pub(crate) fn check(family: &str, cases: &[Case]) {
    let gpu = Accelerator::system_default().expect("a Metal device");
    let jobs: Vec<Job<'_>> = cases
        .iter()
        .map(|case| Job {
            label: case.label.clone(),
            statement: case.statement.clone(),
            inputs: case.inputs.iter().collect(),
            outputs: vec![(case.expected.scalar, case.expected.bytes.len() / case.expected.scalar.size())],
            work_items: case.work_items,
        })
        .collect();
    let (wrong, done) = (Mutex::new(BTreeMap::new()), Mutex::new(0));
    let messages = batch::run(&gpu, "-cl-std=CL3.0", &jobs, |at, columns| {
        *done.lock().expect("no panic holds it") += 1;
        if let Some(text) = judge(&cases[at], &columns[0]) {
            wrong.lock().expect("no panic holds it").insert(at, text);
        }
    });
    let wrong: Vec<String> = wrong.into_inner().expect("no panic holds it").into_values().chain(messages).collect();
    println!("{family}: {} cases of {COUNT} values", cases.len());
    assert!(wrong.is_empty(), "{family}: {} of {} cases\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert_eq!(done.into_inner().expect("no panic holds it"), cases.len());
}

/// What is wrong with the numbers that came out.
fn judge(case: &Case, got: &Column) -> Option<String> {
    let size = got.scalar.size();
    // The bytes decide, for zeros have signs; but any NaN is as good as another.
    let differ = |at: &usize| {
        let nan = |column: &Column| matches!(number_at(column, *at), Number::Float(x) if x.is_nan());
        let whole = |column: &Column| column.bytes[at * size..][..size].to_vec();
        whole(got) != whole(&case.expected) && !(nan(got) && nan(&case.expected))
    };
    let count = got.bytes.len() / size;
    let places: Vec<usize> = (0..count).filter(differ).collect();
    let first = *places.first()?;
    // Where components go elsewhere, as in a shuffle, the arguments at this place say nothing.
    let elementwise = case.inputs.iter().all(|c| c.bytes.len() / c.scalar.size() == count);
    let args: Vec<Number> = case.inputs.iter().filter(|_| elementwise).map(|c| number_at(c, first)).collect();
    let (got, wanted) = (number_at(got, first), number_at(&case.expected, first));
    Some(format!(
        "  {}: {} of {count} wrong; [{first}] {args:?} gives {got:?}, not {wanted:?}",
        case.label,
        places.len()
    ))
}
