//! Operators (C99 §6.5, OpenCL C 3.0 §6.5).

use super::conv::is_null;
use super::expr::deref;
use super::place::{is_place, is_pure};
use super::{Sema, convert, place_space};
use crate::ast::{self, BinaryOp};
use crate::hir::{Expr, ExprKind, Local, LocalId, UnaryOp};
use crate::source::Span;
use crate::types::{Quals, Scalar, Type};

impl Sema<'_> {
    pub(super) fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr, span: Span) -> Expr {
        match op {
            ast::UnaryOp::AddressOf => {
                let place = match &operand.kind {
                    ast::ExprKind::CompoundLiteral(name, list) => self.literal_object(name, list, operand.span),
                    _ => self.expr(operand),
                };
                return self.address_of(place, span);
            }
            ast::UnaryOp::Deref => {
                let pointer = self.value(operand);
                return self.dereference(pointer, span);
            }
            _ => {}
        }
        let operand = self.value(operand);
        if operand.ty.is_error() {
            return operand;
        }
        if op == ast::UnaryOp::Not {
            if operand.ty.vector().is_some() {
                let ty = truth_vector(&operand.ty);
                return Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(operand)), ty, span);
            }
            let operand = self.condition(operand, "'!'");
            let not = Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(operand)), Type::BOOL, span);
            return not.convert(Type::INT);
        }
        let Some((scalar, lanes)) = operand.ty.arithmetic() else {
            let ty = self.show(&operand.ty);
            return self.bad(span, format!("this operator is not defined on '{ty}'"));
        };
        if op == ast::UnaryOp::BitNot && scalar.is_float() {
            let ty = self.show(&operand.ty);
            return self.bad(span, format!("'~' is not defined on '{ty}'"));
        }
        let ty = if lanes == 1 { Type::Scalar(scalar.promoted()) } else { operand.ty.clone() };
        let operand = convert(operand, &ty);
        let op = match op {
            ast::UnaryOp::Neg => UnaryOp::Neg,
            ast::UnaryOp::BitNot => UnaryOp::BitNot,
            _ => return Expr { span, ..operand },
        };
        if let (UnaryOp::Neg, ExprKind::Int { value, hexadecimal: false }, Some(scalar)) =
            (op, &operand.kind, ty.scalar())
            && scalar.is_signed()
        {
            return Expr::int(scalar.wrap(-value), ty, span);
        }
        Expr::new(ExprKind::Unary(op, Box::new(operand)), ty, span)
    }

    fn address_of(&mut self, place: Expr, span: Span) -> Expr {
        if place.ty.is_error() {
            return place;
        }
        if !is_place(&place) {
            return self.bad(span, "'&' needs a variable, not a value");
        }
        if place.ty.is_opaque() {
            return self.bad(span, "images and samplers have no address (OpenCL C 3.0 §6.11.b)");
        }
        let vector_part = matches!(&place.kind, ExprKind::Swizzle(..))
            || matches!(&place.kind, ExprKind::Index(base, _) if base.ty.vector().is_some());
        if vector_part {
            return self.bad(span, "the address of a vector's component cannot be taken");
        }
        let space = place_space(&place, self.locals());
        let quals = super::place::place_quals(&place, self.locals(), &self.program.structs);
        let ty = Type::pointer(place.ty.clone(), space, Quals { is_restrict: false, ..quals });
        if let ExprKind::Deref(pointer) = place.kind {
            return Expr { span, ..*pointer };
        }
        Expr::new(ExprKind::AddressOf(Box::new(place)), ty, span)
    }

    fn dereference(&mut self, pointer: Expr, span: Span) -> Expr {
        if pointer.ty.is_error() {
            return pointer;
        }
        match pointer.ty.pointee() {
            Some(p) if matches!(p.ty, Type::Void) => self.bad(span, "a pointer to void cannot be followed"),
            Some(p) => {
                let ty = p.ty.clone();
                deref(pointer, ty, span)
            }
            None => {
                let ty = self.show(&pointer.ty);
                self.bad(span, format!("'*' needs a pointer, not '{ty}'"))
            }
        }
    }

    pub(super) fn step(&mut self, increment: bool, prefix: bool, place: &ast::Expr, span: Span) -> Expr {
        let place = self.expr(place);
        let what = if increment { "'++'" } else { "'--'" };
        if !self.check_writable(&place, what) {
            return Expr::error(span);
        }
        let place = self.without_volatile(place);
        let countable = match &place.ty {
            Type::Pointer(p) => !matches!(p.ty, Type::Void),
            other => other.arithmetic().is_some_and(|(s, _)| s != Scalar::Bool),
        };
        if !countable {
            let ty = self.show(&place.ty);
            return self.bad(span, format!("{what} is not defined on '{ty}'"));
        }
        let ty = place.ty.clone();
        Expr::new(ExprKind::Step { increment, prefix, place: Box::new(place) }, ty, span)
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        if a.ty.is_error() || b.ty.is_error() {
            return Expr::error(span);
        }
        if matches!(a.ty, Type::Pointer(_)) || matches!(b.ty, Type::Pointer(_)) {
            return self.pointer_binary(op, a, b, span);
        }
        if op.is_logical() && a.ty.vector().is_none() && b.ty.vector().is_none() {
            return self.logical(op, a, b, span);
        }
        if op.is_shift() {
            return self.shift(op, a, b, span);
        }
        let Some((a, b)) = self.balance(op.text(), a, b, span) else {
            return Expr::error(span);
        };
        let Some((scalar, lanes)) = a.ty.arithmetic() else { return Expr::error(span) };
        if scalar.is_float() && (op.is_bitwise() || op == BinaryOp::Rem) {
            let ty = self.show(&a.ty);
            return self.bad(span, format!("'{}' is not defined on '{ty}'", op.text()));
        }
        if lanes > 1 && (op.is_comparison() || op.is_logical()) {
            let ty = truth_vector(&a.ty);
            return Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span);
        }
        if op.is_comparison() {
            return compare(op, a, b, span);
        }
        let ty = a.ty.clone();
        Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
    }

    fn logical(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        let what = format!("'{}'", op.text());
        let a = self.condition(a, &what);
        let b = self.condition(b, &what);
        if a.ty.is_error() || b.ty.is_error() {
            return Expr::error(span);
        }
        compare(op, a, b, span)
    }

    /// The usual arithmetic conversions: both operands in one type.
    pub(super) fn balance(&mut self, op: &str, a: Expr, b: Expr, span: Span) -> Option<(Expr, Expr)> {
        let (Some((sa, la)), Some((sb, lb))) = (a.ty.arithmetic(), b.ty.arithmetic()) else {
            let (x, y) = (self.show(&a.ty), self.show(&b.ty));
            self.error(span, format!("'{op}' is not defined on '{x}' and '{y}'"));
            return None;
        };
        match (la, lb) {
            (1, 1) => {
                let ty = Type::Scalar(sa.usual(sb));
                Some((convert(a, &ty), convert(b, &ty)))
            }
            (_, 1) => {
                let ty = a.ty.clone();
                let b = self.widen(op, b, &ty)?;
                Some((a, b))
            }
            (1, _) => {
                let ty = b.ty.clone();
                let a = self.widen(op, a, &ty)?;
                Some((a, b))
            }
            _ if a.ty == b.ty => Some((a, b)),
            _ => {
                let (x, y) = (self.show(&a.ty), self.show(&b.ty));
                self.error(
                    span,
                    format!("'{op}': vectors of different types '{x}' and '{y}' do not mix (use convert_T)"),
                );
                None
            }
        }
    }

    /// A scalar beside a vector takes its type; it must not have the greater rank (OpenCL C 3.0 §6.4.4), unless it is a
    /// constant the element holds.
    pub(super) fn widen(&mut self, op: &str, scalar: Expr, vector: &Type) -> Option<Expr> {
        let (Some(from), Some((element, _))) = (scalar.ty.scalar(), vector.vector()) else { return None };
        let fits = match super::const_int(&scalar) {
            Some(v) if element.is_integer() => {
                element.wrap(v) == v
                    || element.unsigned_of_width().wrap(v) == v
                    || Scalar::wider(from, element) == element
            }
            _ => {
                from == Scalar::Bool
                    || (element.is_float() && from.is_integer())
                    || (element.is_float() == from.is_float() && from.size() <= element.size())
                    || matches!(scalar.kind, ExprKind::Float(_) | ExprKind::Double(_)) && element.is_float()
            }
        };
        if !fits {
            let (x, y) = (self.show(&scalar.ty), self.show(vector));
            let message = format!("'{op}': the scalar '{x}' has a greater rank than the elements of '{y}' (cast it)");
            self.error(scalar.span, message);
            return None;
        }
        Some(convert(scalar, vector))
    }

    fn shift(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        let (Some((sa, la)), Some((sb, lb))) = (a.ty.arithmetic(), b.ty.arithmetic()) else {
            return self.bad_operands(op, &a, &b, span);
        };
        if sa.is_float() || sb.is_float() || (la != lb && lb != 1) {
            return self.bad_operands(op, &a, &b, span);
        }
        if la == 1 {
            let ty = Type::Scalar(sa.promoted());
            let amount = Type::Scalar(sb.promoted());
            let (a, b) = (convert(a, &ty), convert(b, &amount));
            return Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span);
        }
        // The amount counts modulo the width, so its conversion to the type of the left side loses nothing.
        let ty = a.ty.clone();
        let b = convert(b, &ty);
        Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
    }

    fn bad_operands(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Expr {
        let (x, y) = (self.show(&a.ty), self.show(&b.ty));
        self.bad(span, format!("'{}' is not defined on '{x}' and '{y}'", op.text()))
    }

    fn pointer_binary(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        if op.is_logical() {
            return self.logical(op, a, b, span);
        }
        if op.is_comparison() {
            return self.pointer_compare(op, a, b, span);
        }
        let void = |e: &Expr| e.ty.pointee().is_some_and(|p| matches!(p.ty, Type::Void));
        if void(&a) || void(&b) {
            return self.bad(span, "arithmetic on a pointer to void");
        }
        match (op, &a.ty, &b.ty) {
            (BinaryOp::Add | BinaryOp::Sub, Type::Pointer(_), y) if y.is_integer_scalar() => {
                let ty = a.ty.clone();
                Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
            }
            (BinaryOp::Add, x, Type::Pointer(_)) if x.is_integer_scalar() => {
                let ty = b.ty.clone();
                Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
            }
            (BinaryOp::Sub, Type::Pointer(x), Type::Pointer(y)) if x.ty.same_shape(&y.ty) => {
                if !self.unify_pointers(&a.ty, &b.ty, span, "'-'") {
                    return Expr::error(span);
                }
                Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), Type::LONG, span)
            }
            _ => self.bad_operands(op, &a, &b, span),
        }
    }

    fn pointer_compare(&mut self, op: BinaryOp, mut a: Expr, mut b: Expr, span: Span) -> Expr {
        if is_null(&b) && matches!(a.ty, Type::Pointer(_)) {
            b = Expr::new(ExprKind::Null, a.ty.clone(), b.span);
        } else if is_null(&a) && matches!(b.ty, Type::Pointer(_)) {
            a = Expr::new(ExprKind::Null, b.ty.clone(), a.span);
        }
        let (Type::Pointer(x), Type::Pointer(y)) = (&a.ty, &b.ty) else {
            return self.bad_operands(op, &a, &b, span);
        };
        if !x.ty.same_shape(&y.ty) {
            if matches!(x.ty, Type::Void) {
                b = b.convert(a.ty.clone());
            } else if matches!(y.ty, Type::Void) {
                a = a.convert(b.ty.clone());
            } else {
                return self.bad_operands(op, &a, &b, span);
            }
        }
        if !self.unify_pointers(&a.ty, &b.ty, span, "comparison") {
            return Expr::error(span);
        }
        compare(op, a, b, span)
    }

    pub(super) fn assign_op(&mut self, op: BinaryOp, place: &ast::Expr, value: &ast::Expr, span: Span) -> Expr {
        let place = self.expr(place);
        let value = self.value(value);
        if !self.check_writable(&place, "assignment") || value.ty.is_error() {
            return Expr::error(span);
        }
        let place = self.without_volatile(place);
        let ty = place.ty.clone();
        let (value, at) = match (&place.ty, &value.ty) {
            (Type::Pointer(p), v) if v.is_integer_scalar() && matches!(op, BinaryOp::Add | BinaryOp::Sub) => {
                if matches!(p.ty, Type::Void) {
                    return self.bad(span, "arithmetic on a pointer to void");
                }
                (value, ty.clone())
            }
            (Type::Scalar(s), Type::Scalar(v)) => {
                if (s.is_float() || v.is_float()) && (op.is_bitwise() || op.is_shift() || op == BinaryOp::Rem) {
                    return self.bad_operands(op, &place, &value, span);
                }
                if op.is_shift() {
                    let amount = Type::Scalar(v.promoted());
                    (convert(value, &amount), Type::Scalar(s.promoted()))
                } else {
                    let at = Type::Scalar(s.usual(*v));
                    (convert(value, &at), at)
                }
            }
            (Type::Vector(s, n), v) => {
                let amount_is_float = op.is_shift() && v.arithmetic().is_some_and(|(scalar, _)| scalar.is_float());
                if amount_is_float || s.is_float() && (op.is_bitwise() || op.is_shift() || op == BinaryOp::Rem) {
                    return self.bad_operands(op, &place, &value, span);
                }
                let value = match v.arithmetic() {
                    Some((_, 1)) if op.is_shift() => convert(value, &ty),
                    Some((_, 1)) => match self.widen(op.text(), value, &ty) {
                        Some(v) => v,
                        None => return Expr::error(span),
                    },
                    Some((_, m)) if op.is_shift() && m == *n => convert(value, &ty),
                    _ if value.ty == ty => value,
                    _ => return self.bad_operands(op, &place, &value, span),
                };
                (value, ty.clone())
            }
            _ => return self.bad_operands(op, &place, &value, span),
        };
        Expr::new(ExprKind::AssignOp { op, place: Box::new(place), value: Box::new(value), at }, ty, span)
    }

    pub(super) fn conditional(&mut self, c: &ast::Expr, a: Option<&ast::Expr>, b: &ast::Expr, span: Span) -> Expr {
        let cond = self.value(c);
        let Some(a) = a else {
            // `c ?: b` has the value of the condition, which is evaluated once.
            let Some((before, cond)) = self.once(cond) else { return Expr::error(span) };
            let b = self.value(b);
            let chosen = self.choice(cond.clone(), cond, b, span);
            let Some(before) = before else { return chosen };
            let ty = chosen.ty.clone();
            return Expr::new(ExprKind::Comma(Box::new(before), Box::new(chosen)), ty, span);
        };
        let (a, b) = (self.value(a), self.value(b));
        self.choice(cond, a, b, span)
    }

    /// A value that can be named twice, and what must be evaluated before.
    fn once(&mut self, value: Expr) -> Option<(Option<Expr>, Expr)> {
        // Memory could change in between.
        let stays = matches!(value.kind, ExprKind::Local(_) | ExprKind::Int { .. } | ExprKind::Float(_));
        if value.ty.is_error() || stays || (self.current.is_none() && is_pure(&value)) {
            return Some((None, value));
        }
        let (ty, span) = (value.ty.clone(), value.span);
        let Some(current) = &mut self.current else {
            self.error(span, "this is not a constant expression");
            return None;
        };
        let id = LocalId(current.locals.len() as u32);
        current.locals.push(Local::generated("condition", ty.clone(), span));
        current.literals.push(id);
        let variable = Expr::new(ExprKind::Local(id), ty.clone(), span);
        let keep = ExprKind::Assign(Box::new(variable.clone()), Box::new(value));
        Some((Some(Expr::new(keep, ty, span)), variable))
    }

    /// `cond ? a : b`
    fn choice(&mut self, cond: Expr, a: Expr, b: Expr, span: Span) -> Expr {
        if cond.ty.is_error() || a.ty.is_error() || b.ty.is_error() {
            return Expr::error(span);
        }
        if let Some((element, lanes)) = cond.ty.vector() {
            return self.vector_conditional(cond, (element, lanes), a, b, span);
        }
        let cond = self.condition(cond, "'?'");
        let (a, b) = match (&a.ty, &b.ty) {
            (x, y) if x.arithmetic().is_some() && y.arithmetic().is_some() && !(is_null(&a) || is_null(&b)) => {
                match self.balance("?:", a, b, span) {
                    Some(pair) => pair,
                    None => return Expr::error(span),
                }
            }
            (Type::Pointer(_), _) if is_null(&b) => {
                let ty = a.ty.clone();
                (a, Expr::new(ExprKind::Null, ty, span))
            }
            (_, Type::Pointer(_)) if is_null(&a) => {
                let ty = b.ty.clone();
                (Expr::new(ExprKind::Null, ty, span), b)
            }
            (Type::Pointer(x), Type::Pointer(y)) => {
                let mut target = a.ty.clone();
                if x.quals != y.quals || matches!(y.ty, Type::Void) {
                    let ty = if matches!(y.ty, Type::Void) { y.ty.clone() } else { x.ty.clone() };
                    target = Type::pointer(ty, x.space, x.quals.union(y.quals));
                }
                let a = self.assign_convert(a, &target, "'?:'");
                let b = self.assign_convert(b, &target, "'?:'");
                (a, b)
            }
            (x, y) if x.arithmetic().is_some() && y.arithmetic().is_some() => match self.balance("?:", a, b, span) {
                Some(pair) => pair,
                None => return Expr::error(span),
            },
            (x, y) if x == y => (a, b),
            _ => {
                let (x, y) = (self.show(&a.ty), self.show(&b.ty));
                return self.bad(span, format!("'?:' is not defined on '{x}' and '{y}'"));
            }
        };
        let ty = a.ty.clone();
        Expr::new(ExprKind::Cond(Box::new(cond), Box::new(a), Box::new(b)), ty, span)
    }

    fn vector_conditional(&mut self, cond: Expr, shape: (Scalar, u8), a: Expr, b: Expr, span: Span) -> Expr {
        let (element, lanes) = shape;
        if element.is_float() {
            return self.bad(cond.span, "the condition of '?:' must be an integer vector");
        }
        let (a, b) = match (a.ty.vector(), b.ty.vector()) {
            (None, None) => {
                let (Some(x), Some(y)) = (a.ty.scalar(), b.ty.scalar()) else {
                    return self.bad(span, "the operands of '?:' with a vector condition must be arithmetic");
                };
                let common = if x == y { x } else { x.usual(y) };
                let ty = Type::Vector(common, lanes);
                (convert(a, &ty), convert(b, &ty))
            }
            _ => match self.balance("?:", a, b, span) {
                Some(pair) => pair,
                None => return Expr::error(span),
            },
        };
        let fits = a.ty.vector().is_some_and(|(s, n)| n == lanes && s.size() == element.size());
        if !fits {
            let (x, y) = (self.show(&cond.ty), self.show(&a.ty));
            return self.bad(span, format!("'?:': the condition '{x}' does not have the shape of the operands '{y}'"));
        }
        let ty = a.ty.clone();
        Expr::new(ExprKind::VectorCond(Box::new(cond), Box::new(a), Box::new(b)), ty, span)
    }
}

/// A scalar comparison or logical operation as the `int` C makes of it.
fn compare(op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), Type::BOOL, span).convert(Type::INT)
}

/// The integer vector a comparison of such vectors gives.
pub(super) fn truth_vector(ty: &Type) -> Type {
    match ty.vector() {
        Some((s, n)) => Type::Vector(s.signed_of_width(), n),
        None => Type::INT,
    }
}
