//! Expressions, with parentheses where C++'s precedences want them, and where Clang would warn without
//! (`-Wparentheses`), as Apple's compiler does.

use super::Printer;
use super::pieces::{base_name, declare, double, float, integer, is_negated, lanes, string};
use crate::ast::BinaryOp;
use crate::hir::{Expr, ExprKind, Function, UnaryOp};
use crate::types::{Quals, Scalar, Type};

/// Precedence levels of C++, loosest first.
mod level {
    pub(super) const COMMA: u8 = 1;
    pub(super) const ASSIGN: u8 = 2;
    pub(super) const COND: u8 = 3;
    pub(super) const UNARY: u8 = 14;
    pub(super) const POSTFIX: u8 = 15;
    pub(super) const PRIMARY: u8 = 16;
}

fn binary_level(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::LogicalOr => 4,
        BinaryOp::LogicalAnd => 5,
        BinaryOp::Or => 6,
        BinaryOp::Xor => 7,
        BinaryOp::And => 8,
        BinaryOp::Eq | BinaryOp::Ne => 9,
        BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge => 10,
        BinaryOp::Shl | BinaryOp::Shr => 11,
        BinaryOp::Add | BinaryOp::Sub => 12,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 13,
    }
}

/// Whether Clang takes the operand of an operator for one whose author had another order of precedence in mind. Of a
/// comparison as an operand the converted result is printed, never the comparison itself.
fn is_misread(op: BinaryOp, operand: &Expr) -> bool {
    let ExprKind::Binary(inner, ..) = operand.kind else { return false };
    let is_shift = |op| matches!(op, BinaryOp::Shl | BinaryOp::Shr);
    match op {
        BinaryOp::LogicalOr => inner == BinaryOp::LogicalAnd,
        BinaryOp::Or => matches!(inner, BinaryOp::Xor | BinaryOp::And),
        BinaryOp::Xor => inner == BinaryOp::And,
        BinaryOp::Shl | BinaryOp::Shr => matches!(inner, BinaryOp::Add | BinaryOp::Sub),
        // The shift of a structure could be meant as output.
        BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne => {
            is_shift(inner) && operand.ty.emulated().is_some()
        }
        _ => false,
    }
}

/// A condition of `?` that ends with what could be the condition: `p - q ? a : b`.
fn is_distance(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Binary(BinaryOp::Sub, _, b) if b.ty.pointee().is_some())
}

impl Printer<'_> {
    /// A whole expression.
    pub(super) fn expr(&self, e: &Expr, function: &Function) -> String {
        let mut out = String::with_capacity(64);
        self.at(e, level::COMMA, Some(function), &mut out);
        out
    }

    /// What stands in the parentheses of a statement as its condition.
    pub(super) fn condition(&self, e: &Expr, function: &Function) -> String {
        let text = self.expr(e, function);
        let is_assignment = matches!(e.kind, ExprKind::Assign(..) | ExprKind::AssignOp { .. });
        if is_assignment { format!("({text})") } else { text }
    }

    /// What stands behind `=` in a declaration; aggregates are lists in braces.
    pub(super) fn initialiser(&self, e: &Expr, function: Option<&Function>, out: &mut String) {
        match &e.kind {
            ExprKind::Aggregate(parts) => {
                if let Some(text) = string(parts, &e.ty) {
                    out.push_str(&text);
                    return;
                }
                out.push('{');
                for (i, part) in parts.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    self.initialiser(part, function, out);
                }
                out.push('}');
            }
            ExprKind::UnionOf(member, value) => {
                out.push('{');
                // Every compiler of MSL is Clang, which has designators in C++ too.
                if *member != 0 {
                    out.extend([".", self.field(&e.ty, *member), " = "]);
                }
                self.initialiser(value, function, out);
                out.push('}');
            }
            ExprKind::Zero
                if matches!(e.ty, Type::Array(..) | Type::Struct(_) | Type::Bytes(..)) || e.ty.emulated().is_some() =>
            {
                out.push_str("{}");
            }
            _ => self.at(e, level::ASSIGN, function, out),
        }
    }

    fn name_of<'n>(&'n self, e: &Expr, function: Option<&'n Function>) -> &'n str {
        match (&e.kind, function) {
            (ExprKind::Local(id), Some(f)) => &f.local(*id).name,
            (ExprKind::Constant(id), _) => &self.lowered.constants[id.0 as usize].name,
            _ => unreachable!("a name without its table"),
        }
    }

    /// The expression as an operand where at least `min` is needed.
    fn at(&self, e: &Expr, min: u8, function: Option<&Function>, out: &mut String) {
        if let ExprKind::Decay(a) = &e.kind {
            return self.at(a, min, function, out);
        }
        let parentheses = level_of(e) < min;
        out.push_str(if parentheses { "(" } else { "" });
        self.bare(e, function, out);
        out.push_str(if parentheses { ")" } else { "" });
    }

    /// `(a, b)`
    fn list(&self, args: &[Expr], function: Option<&Function>, out: &mut String) {
        out.push('(');
        for (i, arg) in args.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            self.at(arg, level::ASSIGN, function, out);
        }
        out.push(')');
    }

    /// The expression, of the precedence that [`level_of`] tells.
    fn bare(&self, e: &Expr, f: Option<&Function>, out: &mut String) {
        match &e.kind {
            ExprKind::Int { value, hexadecimal } => integer(*value, &e.ty, *hexadecimal, out),
            ExprKind::Float(value) => float(*value, &e.ty, out),
            ExprKind::Double(value) => double(*value, out),
            ExprKind::Null => out.push_str("nullptr"),
            ExprKind::Zero => self.zero(&e.ty, out),
            ExprKind::Local(_) | ExprKind::Constant(_) => out.push_str(self.name_of(e, f)),
            ExprKind::Name(name) => out.push_str(name),
            ExprKind::Unary(op, a) => self.unary(*op, a, f, out),
            ExprKind::Binary(op, a, b) => {
                let level = |operand, level| if is_misread(*op, operand) { level::PRIMARY } else { level };
                self.at(a, level(a, binary_level(*op)), f, out);
                out.extend([" ", op.text(), " "]);
                self.at(b, level(b, binary_level(*op) + 1), f, out);
            }
            ExprKind::Assign(place, value) => {
                self.at(place, level::UNARY, f, out);
                out.push_str(" = ");
                self.at(value, level::ASSIGN, f, out);
            }
            ExprKind::AssignOp { op, place, value, .. } => {
                self.at(place, level::UNARY, f, out);
                out.extend([" ", op.text(), "= "]);
                self.at(value, level::ASSIGN, f, out);
            }
            ExprKind::Step { increment, prefix, place } => {
                let op = if *increment { "++" } else { "--" };
                out.push_str(if *prefix { op } else { "" });
                self.at(place, level_of(e), f, out);
                out.push_str(if *prefix { "" } else { op });
            }
            ExprKind::Cond(c, a, b) => {
                self.at(c, if is_distance(c) { level::PRIMARY } else { level::COND + 1 }, f, out);
                out.push_str(" ? ");
                self.at(a, level::ASSIGN, f, out);
                out.push_str(" : ");
                self.at(b, level::COND, f, out);
            }
            ExprKind::Comma(a, b) => {
                self.at(a, level::COMMA, f, out);
                out.push_str(", ");
                self.at(b, level::ASSIGN, f, out);
            }
            ExprKind::Convert(a) => self.convert(e, a, f, out),
            ExprKind::VectorLiteral(parts) => {
                out.push_str(&base_name(&e.ty, &self.lowered.structs));
                self.list(parts, f, out);
            }
            ExprKind::Swizzle(base, selected) => {
                self.at(base, level::POSTFIX, f, out);
                out.push('.');
                out.extend(lanes(selected));
            }
            ExprKind::Index(base, index) => {
                self.at(base, level::POSTFIX, f, out);
                out.push('[');
                self.at(index, level::COMMA, f, out);
                out.push(']');
            }
            ExprKind::Deref(p) => {
                out.push('*');
                self.at(p, level::UNARY, f, out);
            }
            ExprKind::AddressOf(p) => {
                out.push('&');
                self.at(p, level::UNARY, f, out);
            }
            ExprKind::Member(base, field) => self.member(base, self.field(&base.ty, *field), f, out),
            ExprKind::Half(base, high) => self.member(base, if *high { "hi" } else { "lo" }, f, out),
            ExprKind::Aggregate(_) | ExprKind::UnionOf(..) => {
                out.push_str(&base_name(&e.ty, &self.lowered.structs));
                self.initialiser(e, f, out);
            }
            ExprKind::Call { function, args, .. } => {
                out.push_str(&self.lowered.functions[function.0 as usize].name);
                self.list(args, f, out);
            }
            ExprKind::Msl(head, args) if head.starts_with('.') => {
                let (object, args) = args.split_first().unwrap_or_else(|| unreachable!("a method has an object"));
                self.at(object, level::POSTFIX, f, out);
                out.push_str(head);
                self.list(args, f, out);
            }
            ExprKind::Msl(head, args) => {
                out.push_str(head);
                self.list(args, f, out);
            }
            ExprKind::Decay(_) => unreachable!("it is printed as its operand"),
            ExprKind::Hidden(_) | ExprKind::VectorCond(..) | ExprKind::Builtin { .. } | ExprKind::Error => {
                unreachable!("lowering leaves none of these")
            }
        }
    }

    fn zero(&self, ty: &Type, out: &mut String) {
        let name = || base_name(ty, &self.lowered.structs);
        match ty {
            Type::Pointer(_) => out.push_str("nullptr"),
            Type::Array(..) => out.push_str("{}"),
            Type::Struct(_) | Type::Bytes(..) | Type::Scalar(Scalar::Double) => out.extend([&name(), "{}"]),
            _ if ty.emulated().is_some() => out.extend([&name(), "{}"]),
            _ => out.extend([&name(), "(0)"]),
        }
    }

    fn unary(&self, op: UnaryOp, a: &Expr, f: Option<&Function>, out: &mut String) {
        out.push_str(op.text());
        let operand = out.len();
        self.at(a, level::UNARY, f, out);
        if op == UnaryOp::Neg && out[operand..].starts_with('-') {
            out.insert(operand, '(');
            out.push(')');
        }
    }

    fn convert(&self, e: &Expr, a: &Expr, f: Option<&Function>, out: &mut String) {
        if is_cast(e, a) {
            out.extend(["(", &declare(&e.ty, "", None, Quals::default(), &self.lowered.structs), ")"]);
            self.at(a, level::UNARY, f, out);
        } else {
            out.push_str(&base_name(&e.ty, &self.lowered.structs));
            out.push('(');
            self.at(a, level::ASSIGN, f, out);
            out.push(')');
        }
    }

    fn field(&self, ty: &Type, field: u32) -> &str {
        let Type::Struct(id) = ty else { unreachable!("a member of a structure") };
        &self.lowered.structs[id.0 as usize].fields[field as usize].name
    }

    fn member(&self, base: &Expr, name: &str, f: Option<&Function>, out: &mut String) {
        let (object, arrow) = match &base.kind {
            ExprKind::Deref(p) => (&**p, "->"),
            _ => (base, "."),
        };
        self.at(object, level::POSTFIX, f, out);
        out.extend([arrow, name]);
    }
}

/// Whether a conversion is printed as a cast, not as a call of the type.
fn is_cast(e: &Expr, operand: &Expr) -> bool {
    matches!(e.ty, Type::Pointer(_)) || matches!(operand.ty, Type::Pointer(_)) || e.ty == Type::Void
}

/// The precedence of an expression as it is printed.
fn level_of(e: &Expr) -> u8 {
    match &e.kind {
        ExprKind::Int { value, .. } if is_negated(*value, &e.ty) => level::UNARY,
        ExprKind::Float(value) if value.is_finite() && value.is_sign_negative() => level::UNARY,
        ExprKind::Unary(..) | ExprKind::Deref(_) | ExprKind::AddressOf(_) => level::UNARY,
        ExprKind::Step { prefix, .. } => {
            if *prefix {
                level::UNARY
            } else {
                level::POSTFIX
            }
        }
        ExprKind::Binary(op, ..) => binary_level(*op),
        ExprKind::Assign(..) | ExprKind::AssignOp { .. } => level::ASSIGN,
        ExprKind::Cond(..) => level::COND,
        ExprKind::Comma(..) => level::COMMA,
        ExprKind::Convert(a) => {
            if is_cast(e, a) {
                level::UNARY
            } else {
                level::POSTFIX
            }
        }
        ExprKind::Swizzle(..)
        | ExprKind::Index(..)
        | ExprKind::Member(..)
        | ExprKind::Half(..)
        | ExprKind::Call { .. }
        | ExprKind::Msl(..) => level::POSTFIX,
        ExprKind::Decay(a) => level_of(a),
        _ => level::PRIMARY,
    }
}
