//! Constant expressions: array sizes, case labels, enumerators, initialisers at program scope (C99 §6.6).
//!
//! Of the built-in functions `as_T`, `convert_T` and `nan` have values here, since `INFINITY`, `NAN` and tables of bit
//! patterns are made of them, and those that are exact (`exact`).

use crate::ast::BinaryOp;
use crate::builtins::{Resolved, Rounding, Special, TABLE};
use crate::half;
use crate::hir::{Expr, ExprKind, UnaryOp};
use crate::types::Scalar;

/// A constant value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Int(i128),
    /// A `float`, or a `half` held in one.
    Float(f32),
    Double(f64),
}

/// The value of an integer constant expression; wraps as its types do. Division by zero has no value.
pub(crate) fn const_int(expr: &Expr) -> Option<i128> {
    int_with(expr, &|_| None)
}

/// The value of a scalar constant expression, computed as the device computes: `float` in single precision.
pub(crate) fn const_value(expr: &Expr) -> Option<Value> {
    value(expr, &|_| None)
}

/// The integers that variables and constants are known to be.
type Known<'k> = &'k dyn Fn(&ExprKind) -> Option<i128>;

/// [`const_int`], if variables and constants are the numbers that `known` tells.
pub(crate) fn int_with(expr: &Expr, known: Known<'_>) -> Option<i128> {
    match value(expr, known)? {
        Value::Int(v) => Some(v),
        Value::Float(_) | Value::Double(_) => None,
    }
}

fn value(expr: &Expr, known: Known<'_>) -> Option<Value> {
    let scalar = expr.ty.scalar()?;
    match &expr.kind {
        ExprKind::Int { value, .. } => Some(Value::Int(*value)),
        ExprKind::Float(value) => Some(Value::Float(*value)),
        ExprKind::Double(value) => Some(Value::Double(*value)),
        ExprKind::Local(_) | ExprKind::Constant(_) => known(&expr.kind).map(Value::Int),
        ExprKind::Unary(op, a) => unary(*op, value(a, known)?, scalar),
        ExprKind::Binary(op, a, b) => {
            let left = value(a, known)?;
            if let BinaryOp::LogicalAnd | BinaryOp::LogicalOr = op {
                let decided = *op == BinaryOp::LogicalOr;
                let result = if truth(left) == decided { decided } else { truth(value(b, known)?) };
                return Some(Value::Int(i128::from(result)));
            }
            binary(*op, left, value(b, known)?, a.ty.scalar()?, scalar)
        }
        ExprKind::Cond(c, a, b) => value(if truth(value(c, known)?) { a } else { b }, known),
        ExprKind::Convert(a) => convert(value(a, known)?, scalar),
        ExprKind::Swizzle(..) | ExprKind::Builtin { .. } => lanes(expr, known)?.first().copied(),
        _ => None,
    }
}

/// The components of a constant expression of vector type, or the one value of a scalar.
pub(crate) fn const_lanes(expr: &Expr) -> Option<Vec<Value>> {
    lanes(expr, &|_| None)
}

fn lanes(expr: &Expr, known: Known<'_>) -> Option<Vec<Value>> {
    let (scalar, count) = expr.ty.arithmetic()?;
    match &expr.kind {
        ExprKind::Swizzle(base, selected) => {
            let base = lanes(base, known)?;
            selected.iter().map(|&lane| base.get(usize::from(lane)).copied()).collect()
        }
        ExprKind::Builtin { builtin: Resolved::Special(special), args } => {
            let [arg] = args.as_slice() else { return None };
            let (from, values) = (arg.ty.arithmetic()?.0, lanes(arg, known)?);
            match *special {
                Special::AsType { .. } => Some(reinterpret(&values, from, scalar, count)),
                // Directed rounding to fewer digits is left to the device.
                Special::Convert { rounding: Rounding::Zero | Rounding::Up | Rounding::Down, .. }
                    if scalar.is_float() && scalar != from =>
                {
                    None
                }
                Special::Convert { saturate, rounding, .. } => values
                    .into_iter()
                    .map(|v| convert(round_and_clamp(v, scalar, saturate, rounding), scalar))
                    .collect(),
                Special::Nan => values
                    .into_iter()
                    .map(|v| match v {
                        Value::Int(v) if scalar == Scalar::Double => {
                            Some(Value::Double(f64::from_bits(0x7ff8 << 48 | (v as u64 & 0x0007_ffff_ffff_ffff))))
                        }
                        Value::Int(v) => {
                            let code = if scalar == Scalar::Half { (v as u32 & 0x01ff) << 13 } else { v as u32 };
                            Some(Value::Float(f32::from_bits(0x7fc0_0000 | (code & 0x003f_ffff))))
                        }
                        Value::Float(_) | Value::Double(_) => None,
                    })
                    .collect(),
                _ => None,
            }
        }
        ExprKind::Builtin { builtin: Resolved::Row(row, element, _), args } => {
            let args = args.iter().map(|arg| lanes(arg, known)).collect::<Option<Vec<_>>>()?;
            let lane = |i: usize| {
                let args: Vec<Value> = args.iter().filter_map(|a| a.get(i).copied()).collect();
                exact(TABLE[*row].name, &args, *element)
            };
            (0..usize::from(count)).map(lane).collect()
        }
        _ if count == 1 => Some(vec![value(expr, known)?]),
        ExprKind::VectorLiteral(parts) => {
            let mut all = Vec::with_capacity(usize::from(count));
            for part in parts {
                all.extend(lanes(part, known)?);
            }
            Some(all)
        }
        ExprKind::Convert(a) if a.ty.scalar().is_some() => {
            Some(vec![convert(value(a, known)?, scalar)?; usize::from(count)])
        }
        ExprKind::Convert(a) => lanes(a, known)?.into_iter().map(|v| convert(v, scalar)).collect(),
        ExprKind::Cond(c, a, b) => lanes(if truth(value(c, known)?) { a } else { b }, known),
        ExprKind::Unary(UnaryOp::Not, a) => Some(lanes(a, known)?.into_iter().map(|v| all_bits(!truth(v))).collect()),
        ExprKind::Unary(op, a) => lanes(a, known)?.into_iter().map(|v| unary(*op, v, scalar)).collect(),
        ExprKind::Binary(op, a, b) => {
            let (operand, _) = a.ty.arithmetic()?;
            let (a, b) = (lanes(a, known)?, lanes(b, known)?);
            // The amount of a shift may be one for all components.
            let pairs = a.into_iter().zip(b.iter().copied().cycle());
            pairs
                .map(|(a, b)| {
                    let value = binary(*op, a, b, operand, scalar)?;
                    Some(if op.is_comparison() || op.is_logical() { all_bits(truth(value)) } else { value })
                })
                .collect()
        }
        _ => None,
    }
}

/// A built-in function whose result is exact or rounded once (OpenCL C 3.0 §6.15.2 to §6.15.4), for one component.
fn exact(name: &str, args: &[Value], element: Scalar) -> Option<Value> {
    Some(match (name, args) {
        ("fabs", &[Value::Float(x)]) => Value::Float(x.abs()),
        ("floor", &[Value::Float(x)]) => Value::Float(x.floor()),
        ("ceil", &[Value::Float(x)]) => Value::Float(x.ceil()),
        ("trunc", &[Value::Float(x)]) => Value::Float(x.trunc()),
        ("rint", &[Value::Float(x)]) => Value::Float(x.round_ties_even()),
        ("round", &[Value::Float(x)]) => Value::Float(x.round()),
        // The root of a `half` in single precision is precise enough to be rounded again.
        ("sqrt", &[Value::Float(x)]) => convert(Value::Float(x.sqrt()), element)?,
        ("copysign", &[Value::Float(x), Value::Float(y)]) => Value::Float(x.copysign(y)),
        ("fmin", &[Value::Float(x), Value::Float(y)]) => Value::Float(x.min(y)),
        ("fmax", &[Value::Float(x), Value::Float(y)]) => Value::Float(x.max(y)),
        ("min", &[Value::Float(x), Value::Float(y)]) => Value::Float(if y < x { y } else { x }),
        ("max", &[Value::Float(x), Value::Float(y)]) => Value::Float(if x < y { y } else { x }),
        ("min", &[Value::Int(x), Value::Int(y)]) => Value::Int(x.min(y)),
        ("max", &[Value::Int(x), Value::Int(y)]) => Value::Int(x.max(y)),
        ("clamp", &[Value::Int(x), Value::Int(low), Value::Int(high)]) => Value::Int(x.max(low).min(high)),
        ("abs", &[Value::Int(x)]) => Value::Int(x.abs()),
        ("abs_diff", &[Value::Int(x), Value::Int(y)]) => Value::Int((x - y).abs()),
        _ => return None,
    })
}

/// What a comparison of vectors gives for a component.
fn all_bits(truth: bool) -> Value {
    Value::Int(-i128::from(truth))
}

fn truth(value: Value) -> bool {
    match value {
        Value::Int(v) => v != 0,
        Value::Float(v) => v != 0.0,
        Value::Double(v) => v != 0.0,
    }
}

fn convert(value: Value, to: Scalar) -> Option<Value> {
    Some(match (value, to) {
        (value, Scalar::Bool) => Value::Int(i128::from(truth(value))),
        (Value::Int(v), Scalar::Float) => Value::Float(v as f32),
        (Value::Float(v), Scalar::Float) => Value::Float(v),
        // What `f64` does not hold exactly is far beyond the range.
        (Value::Int(v), Scalar::Half) => Value::Float(half::round(v as f64)),
        (Value::Float(v), Scalar::Half) => Value::Float(half::round(f64::from(v))),
        (Value::Double(v), Scalar::Half) => Value::Float(half::round(v)),
        (Value::Double(v), Scalar::Float) => Value::Float(v as f32),
        (Value::Int(v), Scalar::Double) => Value::Double(v as f64),
        (Value::Float(v), Scalar::Double) => Value::Double(f64::from(v)),
        (Value::Double(v), Scalar::Double) => Value::Double(v),
        (Value::Int(v), _) => Value::Int(to.wrap(v)),
        (Value::Float(v), _) => whole(f64::from(v), to)?,
        (Value::Double(v), _) => whole(v, to)?,
    })
}

/// The integer towards zero; out of range is undefined (C99 §6.3.1.4).
fn whole(value: f64, to: Scalar) -> Option<Value> {
    let whole = value.trunc() as i128;
    (value.is_finite() && to.wrap(whole) == whole).then_some(Value::Int(whole))
}

/// What `convert_T` does before the plain conversion (OpenCL C 3.0 §6.4.3).
fn round_and_clamp(value: Value, to: Scalar, saturate: bool, rounding: Rounding) -> Value {
    let value = match value {
        Value::Float(v) if to.is_integer() => Value::Double(f64::from(v)),
        value => value,
    };
    let value = match value {
        Value::Double(v) if to.is_integer() => Value::Double(match rounding {
            Rounding::Default | Rounding::Zero => v.trunc(),
            Rounding::Nearest => v.round_ties_even(),
            Rounding::Up => v.ceil(),
            Rounding::Down => v.floor(),
        }),
        value => value,
    };
    if !saturate || to.is_float() {
        return value;
    }
    let highest = (1i128 << (to.bits() - u32::from(to.is_signed()))) - 1;
    let lowest = if to.is_signed() { -highest - 1 } else { 0 };
    match value {
        Value::Int(v) => Value::Int(v.clamp(lowest, highest)),
        // Casts saturate, and NaN gives 0.
        Value::Float(v) => Value::Int((v as i128).clamp(lowest, highest)),
        Value::Double(v) => Value::Int((v as i128).clamp(lowest, highest)),
    }
}

/// The same bytes as other components; what a vector of three lacks is zero.
fn reinterpret(values: &[Value], from: Scalar, to: Scalar, count: u8) -> Vec<Value> {
    let mut bytes = Vec::new();
    for value in values {
        let bits = match *value {
            Value::Int(v) => v as u64,
            Value::Float(v) if from == Scalar::Half => u64::from(half::to_bits(f64::from(v))),
            Value::Float(v) => u64::from(v.to_bits()),
            Value::Double(v) => v.to_bits(),
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..from.size() as usize]);
    }
    let size = to.size() as usize;
    let lane = |i: usize| {
        let mut bits = [0; 8];
        for (at, bit) in bits.iter_mut().take(size).enumerate() {
            *bit = bytes.get(i * size + at).copied().unwrap_or(0);
        }
        let bits = u64::from_le_bytes(bits);
        match to {
            Scalar::Float => Value::Float(f32::from_bits(bits as u32)),
            Scalar::Half => Value::Float(half::from_bits(bits as u16)),
            Scalar::Double => Value::Double(f64::from_bits(bits)),
            _ => Value::Int(to.wrap(i128::from(bits))),
        }
    };
    (0..usize::from(count)).map(lane).collect()
}

fn unary(op: UnaryOp, value: Value, scalar: Scalar) -> Option<Value> {
    Some(match (op, value) {
        (UnaryOp::Neg, Value::Int(v)) => Value::Int(scalar.wrap(-v)),
        (UnaryOp::Neg, Value::Float(v)) => Value::Float(-v),
        (UnaryOp::Neg, Value::Double(v)) => Value::Double(-v),
        (UnaryOp::BitNot, Value::Int(v)) => Value::Int(scalar.wrap(!v)),
        (UnaryOp::Not, v) => Value::Int(i128::from(!truth(v))),
        (UnaryOp::BitNot, Value::Float(_) | Value::Double(_)) => return None,
    })
}

/// `a op b`; the operands have the type `operand`, the result `scalar`.
fn binary(op: BinaryOp, a: Value, b: Value, operand: Scalar, scalar: Scalar) -> Option<Value> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int_binary(op, a, b, operand, scalar),
        (Value::Float(a), Value::Float(b)) => match float_binary(op, a, b)? {
            // Single precision is more than twice as precise, so rounding again gives the right result.
            Value::Float(v) if operand == Scalar::Half => Some(Value::Float(half::round(f64::from(v)))),
            value => Some(value),
        },
        (Value::Double(a), Value::Double(b)) => double_binary(op, a, b),
        _ => None,
    }
}

fn int_binary(op: BinaryOp, a: i128, b: i128, operand: Scalar, scalar: Scalar) -> Option<Value> {
    let width = i128::from(operand.bits());
    let value = match op {
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div if b != 0 => a / b,
        BinaryOp::Rem if b != 0 => a % b,
        BinaryOp::Div | BinaryOp::Rem => return None,
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Shl => a << (b & (width - 1)),
        BinaryOp::Shr => a >> (b & (width - 1)),
        BinaryOp::Lt => i128::from(a < b),
        BinaryOp::Gt => i128::from(a > b),
        BinaryOp::Le => i128::from(a <= b),
        BinaryOp::Ge => i128::from(a >= b),
        BinaryOp::Eq => i128::from(a == b),
        BinaryOp::Ne => i128::from(a != b),
        BinaryOp::And => a & b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Or => a | b,
        BinaryOp::LogicalAnd => i128::from(a != 0 && b != 0),
        BinaryOp::LogicalOr => i128::from(a != 0 || b != 0),
    };
    Some(Value::Int(scalar.wrap(value)))
}

fn float_binary(op: BinaryOp, a: f32, b: f32) -> Option<Value> {
    Some(match op {
        BinaryOp::Mul => Value::Float(a * b),
        BinaryOp::Div => Value::Float(a / b),
        BinaryOp::Add => Value::Float(a + b),
        BinaryOp::Sub => Value::Float(a - b),
        _ => return float_truth(op, f64::from(a), f64::from(b)),
    })
}

fn double_binary(op: BinaryOp, a: f64, b: f64) -> Option<Value> {
    // Which bits a NaN has is the machine's choice, so the output must not show it.
    let number = |v: f64| Value::Double(if v.is_nan() { f64::from_bits(0x7ff8_0000_0000_0000) } else { v });
    Some(match op {
        BinaryOp::Mul => number(a * b),
        BinaryOp::Div => number(a / b),
        BinaryOp::Add => number(a + b),
        BinaryOp::Sub => number(a - b),
        _ => return float_truth(op, a, b),
    })
}

/// Comparisons and logical operators; a `float` compares as the `double` it is.
fn float_truth(op: BinaryOp, a: f64, b: f64) -> Option<Value> {
    let truth = match op {
        BinaryOp::Lt => a < b,
        BinaryOp::Gt => a > b,
        BinaryOp::Le => a <= b,
        BinaryOp::Ge => a >= b,
        BinaryOp::Eq => a == b,
        BinaryOp::Ne => a != b,
        BinaryOp::LogicalAnd => a != 0.0 && b != 0.0,
        BinaryOp::LogicalOr => a != 0.0 || b != 0.0,
        _ => return None,
    };
    Some(Value::Int(i128::from(truth)))
}
