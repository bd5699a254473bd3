//! Expressions, with parentheses where C++'s precedences want them.

use super::Printer;
use super::pieces::{base_name, declare, double, float, integer, lanes, string};
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

impl Printer<'_> {
    /// A whole expression.
    pub(super) fn expr(&self, e: &Expr, function: &Function) -> String {
        self.at(e, level::COMMA, Some(function))
    }

    /// What stands behind `=` in a declaration; aggregates are lists in braces.
    pub(super) fn initialiser(&self, e: &Expr, function: Option<&Function>) -> String {
        match &e.kind {
            ExprKind::Aggregate(parts) => {
                if let Some(text) = string(parts, &e.ty) {
                    return text;
                }
                let parts: Vec<String> = parts.iter().map(|p| self.initialiser(p, function)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            ExprKind::UnionOf(member, value) => {
                let value = self.initialiser(value, function);
                // Every compiler of MSL is Clang, which has designators in C++ too.
                if *member == 0 {
                    format!("{{{value}}}")
                } else {
                    format!("{{.{} = {value}}}", self.field(&e.ty, *member))
                }
            }
            ExprKind::Zero if matches!(e.ty, Type::Array(..) | Type::Struct(_)) || e.ty.emulated().is_some() => {
                "{}".to_owned()
            }
            _ => self.at(e, level::ASSIGN, function),
        }
    }

    fn name_of(&self, e: &Expr, function: Option<&Function>) -> String {
        match (&e.kind, function) {
            (ExprKind::Local(id), Some(f)) => f.local(*id).name.clone(),
            (ExprKind::Constant(id), _) => self.lowered.constants[id.0 as usize].name.clone(),
            _ => unreachable!("a name without its table"),
        }
    }

    /// The expression as an operand where at least `min` is needed.
    fn at(&self, e: &Expr, min: u8, function: Option<&Function>) -> String {
        let (text, level) = self.bare(e, function);
        if level < min { format!("({text})") } else { text }
    }

    fn list(&self, args: &[Expr], function: Option<&Function>) -> String {
        let args: Vec<String> = args.iter().map(|a| self.at(a, level::ASSIGN, function)).collect();
        args.join(", ")
    }

    /// The expression and its precedence.
    fn bare(&self, e: &Expr, f: Option<&Function>) -> (String, u8) {
        let signed = |(text, negative): (String, bool)| {
            let level = if negative { level::UNARY } else { level::PRIMARY };
            (text, level)
        };
        match &e.kind {
            ExprKind::Int { value, hexadecimal } => signed(integer(*value, &e.ty, *hexadecimal)),
            ExprKind::Float(value) => signed(float(*value, &e.ty)),
            ExprKind::Double(value) => (double(*value), level::PRIMARY),
            ExprKind::Null => ("nullptr".to_owned(), level::PRIMARY),
            ExprKind::Zero => (self.zero(&e.ty), level::PRIMARY),
            ExprKind::Local(_) | ExprKind::Constant(_) => (self.name_of(e, f), level::PRIMARY),
            ExprKind::Name(name) => (name.clone(), level::PRIMARY),
            ExprKind::Unary(op, a) => (self.unary(*op, a, f), level::UNARY),
            ExprKind::Binary(op, a, b) => {
                let level = binary_level(*op);
                let (a, b) = (self.at(a, level, f), self.at(b, level + 1, f));
                (format!("{a} {} {b}", op.text()), level)
            }
            ExprKind::Assign(place, value) => {
                (format!("{} = {}", self.at(place, level::UNARY, f), self.at(value, level::ASSIGN, f)), level::ASSIGN)
            }
            ExprKind::AssignOp { op, place, value, .. } => {
                let (place, value) = (self.at(place, level::UNARY, f), self.at(value, level::ASSIGN, f));
                (format!("{place} {}= {value}", op.text()), level::ASSIGN)
            }
            ExprKind::Step { increment, prefix, place } => {
                let op = if *increment { "++" } else { "--" };
                if *prefix {
                    (format!("{op}{}", self.at(place, level::UNARY, f)), level::UNARY)
                } else {
                    (format!("{}{op}", self.at(place, level::POSTFIX, f)), level::POSTFIX)
                }
            }
            ExprKind::Cond(c, a, b) => {
                let c = self.at(c, level::COND + 1, f);
                let (a, b) = (self.at(a, level::ASSIGN, f), self.at(b, level::COND, f));
                (format!("{c} ? {a} : {b}"), level::COND)
            }
            ExprKind::Comma(a, b) => {
                (format!("{}, {}", self.at(a, level::COMMA, f), self.at(b, level::ASSIGN, f)), level::COMMA)
            }
            ExprKind::Convert(a) => self.convert(e, a, f),
            ExprKind::VectorLiteral(parts) => {
                let name = base_name(&e.ty, &self.lowered.structs);
                (format!("{name}({})", self.list(parts, f)), level::PRIMARY)
            }
            ExprKind::Swizzle(base, selected) => {
                (format!("{}.{}", self.at(base, level::POSTFIX, f), lanes(selected)), level::POSTFIX)
            }
            ExprKind::Index(base, index) => {
                (format!("{}[{}]", self.at(base, level::POSTFIX, f), self.at(index, level::COMMA, f)), level::POSTFIX)
            }
            ExprKind::Deref(p) => (format!("*{}", self.at(p, level::UNARY, f)), level::UNARY),
            ExprKind::AddressOf(p) => (format!("&{}", self.at(p, level::UNARY, f)), level::UNARY),
            ExprKind::Member(base, field) => (self.member(base, self.field(&base.ty, *field), f), level::POSTFIX),
            ExprKind::Half(base, high) => (self.member(base, if *high { "hi" } else { "lo" }, f), level::POSTFIX),
            ExprKind::Decay(a) => self.bare(a, f),
            ExprKind::Aggregate(_) | ExprKind::UnionOf(..) => {
                let name = base_name(&e.ty, &self.lowered.structs);
                (format!("{name}{}", self.initialiser(e, f)), level::PRIMARY)
            }
            ExprKind::Call { function, args, .. } => {
                let name = &self.lowered.functions[function.0 as usize].name;
                (format!("{name}({})", self.list(args, f)), level::POSTFIX)
            }
            ExprKind::Msl(head, args) if head.starts_with('.') => {
                let (object, args) = args.split_first().unwrap_or_else(|| unreachable!("a method has an object"));
                (format!("{}{head}({})", self.at(object, level::POSTFIX, f), self.list(args, f)), level::POSTFIX)
            }
            ExprKind::Msl(head, args) => (format!("{head}({})", self.list(args, f)), level::POSTFIX),
            ExprKind::Hidden(_) | ExprKind::VectorCond(..) | ExprKind::Builtin { .. } | ExprKind::Error => {
                unreachable!("lowering leaves none of these")
            }
        }
    }

    fn zero(&self, ty: &Type) -> String {
        match ty {
            Type::Pointer(_) => "nullptr".to_owned(),
            _ if ty.emulated().is_some() => format!("{}{{}}", base_name(ty, &self.lowered.structs)),
            Type::Struct(_) | Type::Scalar(Scalar::Double) => format!("{}{{}}", base_name(ty, &self.lowered.structs)),
            Type::Array(..) => "{}".to_owned(),
            other => format!("{}(0)", base_name(other, &self.lowered.structs)),
        }
    }

    fn unary(&self, op: UnaryOp, a: &Expr, f: Option<&Function>) -> String {
        let text = self.at(a, level::UNARY, f);
        if op == UnaryOp::Neg && text.starts_with('-') { format!("-({text})") } else { format!("{}{text}", op.text()) }
    }

    fn convert(&self, e: &Expr, a: &Expr, f: Option<&Function>) -> (String, u8) {
        if matches!(e.ty, Type::Pointer(_)) || matches!(a.ty, Type::Pointer(_)) || e.ty == Type::Void {
            let ty = declare(&e.ty, "", None, Quals::default(), &self.lowered.structs);
            return (format!("({ty}){}", self.at(a, level::UNARY, f)), level::UNARY);
        }
        let name = base_name(&e.ty, &self.lowered.structs);
        (format!("{name}({})", self.at(a, level::ASSIGN, f)), level::POSTFIX)
    }

    fn field(&self, ty: &Type, field: u32) -> &str {
        let Type::Struct(id) = ty else { unreachable!("a member of a structure") };
        &self.lowered.structs[id.0 as usize].fields[field as usize].name
    }

    fn member(&self, base: &Expr, name: &str, f: Option<&Function>) -> String {
        match &base.kind {
            ExprKind::Deref(p) => format!("{}->{name}", self.at(p, level::POSTFIX, f)),
            _ => format!("{}.{name}", self.at(base, level::POSTFIX, f)),
        }
    }
}
