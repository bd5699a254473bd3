//! Constant expressions: array sizes, case labels, enumerators, initialisers at program scope (C99 §6.6).

use crate::ast::BinaryOp;
use crate::hir::{Expr, ExprKind, UnaryOp};
use crate::types::{Scalar, Type};

/// A constant value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Int(i128),
    Float(f32),
}

/// The value of an integer constant expression; wraps as its types do. Division by zero has no value.
pub(crate) fn const_int(expr: &Expr) -> Option<i128> {
    match const_value(expr)? {
        Value::Int(v) => Some(v),
        Value::Float(_) => None,
    }
}

/// The value of a scalar constant expression, computed as the device computes: `float` in single precision.
/// `half` arithmetic has no value here.
pub(crate) fn const_value(expr: &Expr) -> Option<Value> {
    let scalar = expr.ty.scalar()?;
    match &expr.kind {
        ExprKind::Int { value, .. } => Some(Value::Int(*value)),
        ExprKind::Float(value) => Some(Value::Float(*value)),
        ExprKind::Unary(op, a) => unary(*op, const_value(a)?, scalar),
        ExprKind::Binary(op, a, b) => {
            let left = const_value(a)?;
            if let (BinaryOp::LogicalAnd | BinaryOp::LogicalOr, Value::Int(l)) = (op, left) {
                let decided = *op == BinaryOp::LogicalOr;
                if (l != 0) == decided {
                    return Some(Value::Int(i128::from(decided)));
                }
                return const_value(b).map(|v| Value::Int(i128::from(truth(v))));
            }
            binary(*op, left, const_value(b)?, scalar, &a.ty)
        }
        ExprKind::Cond(c, a, b) => const_value(if truth(const_value(c)?) { a } else { b }),
        ExprKind::Convert(a) => convert(const_value(a)?, scalar),
        _ => None,
    }
}

fn truth(value: Value) -> bool {
    match value {
        Value::Int(v) => v != 0,
        Value::Float(v) => v != 0.0,
    }
}

fn convert(value: Value, to: Scalar) -> Option<Value> {
    Some(match (value, to) {
        (value, Scalar::Bool) => Value::Int(i128::from(truth(value))),
        (Value::Int(v), Scalar::Float) => Value::Float(v as f32),
        (Value::Float(v), Scalar::Float) => Value::Float(v),
        (_, Scalar::Half) => return None,
        (Value::Int(v), _) => Value::Int(to.wrap(v)),
        (Value::Float(v), _) => {
            let whole = v.trunc() as i128;
            // Out of range is undefined (C99 §6.3.1.4).
            if !v.is_finite() || to.wrap(whole) != whole {
                return None;
            }
            Value::Int(whole)
        }
    })
}

fn unary(op: UnaryOp, value: Value, scalar: Scalar) -> Option<Value> {
    Some(match (op, value) {
        (UnaryOp::Neg, Value::Int(v)) => Value::Int(scalar.wrap(-v)),
        (UnaryOp::Neg, Value::Float(v)) => Value::Float(-v),
        (UnaryOp::BitNot, Value::Int(v)) => Value::Int(scalar.wrap(!v)),
        (UnaryOp::Not, v) => Value::Int(i128::from(!truth(v))),
        (UnaryOp::BitNot, Value::Float(_)) => return None,
    })
}

fn binary(op: BinaryOp, a: Value, b: Value, scalar: Scalar, operand: &Type) -> Option<Value> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int_binary(op, a, b, scalar, operand),
        (Value::Float(a), Value::Float(b)) if *operand == Type::FLOAT => float_binary(op, a, b),
        _ => None,
    }
}

fn int_binary(op: BinaryOp, a: i128, b: i128, scalar: Scalar, operand: &Type) -> Option<Value> {
    let width = i128::from(operand.scalar()?.bits());
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
        BinaryOp::Lt => Value::Int(i128::from(a < b)),
        BinaryOp::Gt => Value::Int(i128::from(a > b)),
        BinaryOp::Le => Value::Int(i128::from(a <= b)),
        BinaryOp::Ge => Value::Int(i128::from(a >= b)),
        BinaryOp::Eq => Value::Int(i128::from(a == b)),
        BinaryOp::Ne => Value::Int(i128::from(a != b)),
        BinaryOp::LogicalAnd => Value::Int(i128::from(a != 0.0 && b != 0.0)),
        BinaryOp::LogicalOr => Value::Int(i128::from(a != 0.0 || b != 0.0)),
        _ => return None,
    })
}
