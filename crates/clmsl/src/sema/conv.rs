//! Conversions between arithmetic types and between pointers (C99 §6.3, OpenCL C 3.0 §6.4).

use super::Sema;
use crate::hir::{Expr, ExprKind};
use crate::types::{Quals, Scalar, Space, Type, layout, least_align};

/// Converts an arithmetic value; a scalar fills a vector. Conversions of constants are done here, and a conversion that
/// only widens on the way to a narrower type is left out.
pub(crate) fn convert(expr: Expr, to: &Type) -> Expr {
    if expr.ty == *to || expr.ty.is_error() {
        return expr;
    }
    let span = expr.span;
    if let (Some(_), Some((scalar, _))) = (expr.ty.scalar(), to.vector()) {
        return convert(expr, &Type::Scalar(scalar)).convert(to.clone());
    }
    let Some(scalar) = to.scalar() else { return expr.convert(to.clone()) };
    match expr.kind {
        ExprKind::Int { value, hexadecimal } if scalar.is_integer() => Expr::new(
            ExprKind::Int { value: scalar.wrap(value), hexadecimal: hexadecimal && scalar.wrap(value) == value },
            to.clone(),
            span,
        ),
        ExprKind::Int { value, .. } if scalar == Scalar::Float => {
            Expr::new(ExprKind::Float(value as f32), to.clone(), span)
        }
        ExprKind::Int { value, .. } if scalar == Scalar::Half && value.unsigned_abs() <= 2048 => {
            Expr::new(ExprKind::Float(value as f32), to.clone(), span)
        }
        ExprKind::Int { value, .. } if scalar == Scalar::Double => {
            Expr::new(ExprKind::Double(value as f64), to.clone(), span)
        }
        ExprKind::Float(value) if scalar == Scalar::Double => {
            Expr::new(ExprKind::Double(f64::from(value)), to.clone(), span)
        }
        ExprKind::Double(value) if scalar == Scalar::Float => {
            Expr::new(ExprKind::Float(value as f32), to.clone(), span)
        }
        ExprKind::Convert(inner) if skips(&inner.ty, &expr.ty, scalar) => convert(*inner, to),
        kind => Expr::new(kind, expr.ty, span).convert(to.clone()),
    }
}

/// Whether `from -> via -> to` equals `from -> to` for all values: integers, and `via` keeps the low bits `to` needs.
fn skips(from: &Type, via: &Type, to: Scalar) -> bool {
    let (Some(from), Some(via)) = (from.scalar(), via.scalar()) else { return false };
    from.is_integer()
        && via.is_integer()
        && to.is_integer()
        && to != Scalar::Bool
        && via != Scalar::Bool
        && to.size() <= via.size()
}

/// Whether the expression is the constant zero, which is also the null pointer (C99 §6.3.2.3).
pub(super) fn is_null(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int { value, .. } => *value == 0,
        ExprKind::Null => true,
        ExprKind::Convert(inner) => matches!(expr.ty, Type::Pointer(_)) && is_null(inner),
        _ => false,
    }
}

impl Sema<'_> {
    /// Converts as assignment does; `what` names the context in messages.
    pub(super) fn assign_convert(&mut self, value: Expr, to: &Type, what: &str) -> Expr {
        if value.ty.is_error() || to.is_error() {
            return value;
        }
        let span = value.span;
        match (&value.ty, to) {
            (Type::Scalar(_), Type::Scalar(_)) => convert(value, to),
            (Type::Scalar(Scalar::Bool), Type::Vector(..)) => {
                let to = self.show(to);
                let message = format!(
                    "{what}: 'bool' does not convert to '{to}': true would be -1 for compilers, as of a cast to integers \
                     (OpenCL C 3.0 §6.4.2); '({to})(...)' makes 1 of it"
                );
                self.bad(span, message)
            }
            (Type::Scalar(from), Type::Vector(element, _)) => {
                if from.is_float() && element.is_integer() {
                    let (from, to) = (self.show(&value.ty), self.show(to));
                    return self.bad(span, format!("{what}: '{from}' does not convert to '{to}' without a cast"));
                }
                convert(value, to)
            }
            (_, Type::Pointer(_)) if is_null(&value) => Expr::new(ExprKind::Null, to.clone(), span),
            (Type::Pointer(_), Type::Pointer(_)) => self.pointer_convert(value, to, what),
            (Type::Scalar(s), Type::Sampler) if s.is_integer() => self.sampler_value(&value, what),
            (Type::Atomic(_), _) => {
                let ty = self.show(&value.ty);
                self.bad(span, format!("{what}: an '{ty}' is read by atomic functions only"))
            }
            (a, b) if a == b => value,
            _ => {
                let (from, to) = (self.show(&value.ty), self.show(to));
                self.bad(span, format!("{what}: '{from}' does not convert to '{to}'"))
            }
        }
    }

    fn pointer_convert(&mut self, value: Expr, to: &Type, what: &str) -> Expr {
        let span = value.span;
        let (Some(from), Some(into)) = (value.ty.pointee().cloned(), to.pointee().cloned()) else {
            return value;
        };
        self.note_alignment(&from.ty, &into.ty);
        let compatible = from.ty.same_shape(&into.ty) || matches!(from.ty, Type::Void) || matches!(into.ty, Type::Void);
        if !compatible {
            // Compilers of OpenCL C warn, and programs are written so; address spaces must agree.
            if let Err(conflict) = self.spaces.unify(from.space, into.space) {
                self.space_conflict(span, what, conflict.0, conflict.1);
                return Expr::error(span);
            }
            let (a, b) = (self.show(&value.ty), self.show(to));
            self.warning(span, format!("{what}: '{a}' converts to '{b}' without a cast"));
            return value.convert(to.clone());
        }
        if !self.unify_pointers(&value.ty, to, span, what) {
            return Expr::error(span);
        }
        // Constant memory is const whatever its pointers say.
        let constant = self.spaces.resolve(into.space) == Space::Constant;
        if from.quals.is_const && !into.quals.is_const && !constant || from.quals.is_volatile && !into.quals.is_volatile
        {
            let (a, b) = (self.show(&value.ty), self.show(to));
            self.warning(span, format!("{what}: '{a}' to '{b}' drops a qualifier"));
        }
        let gains_only = from.quals.union(into.quals)
            == Quals { is_restrict: from.quals.is_restrict || into.quals.is_restrict, ..into.quals };
        if from.ty.same_shape(&into.ty) && gains_only {
            // The same type once the inference variables have their values; C++ adds qualifiers by itself.
            Expr { ty: to.clone(), ..value }
        } else {
            value.convert(to.clone())
        }
    }

    /// A packed structure in memory that is less aligned than MSL would have it is one of bytes (`lower::packed`).
    pub(super) fn note_alignment(&mut self, mut from: &Type, mut to: &Type) {
        while let Type::Array(element, _) = from {
            from = element;
        }
        while let Type::Array(element, _) = to {
            to = element;
        }
        let structs = &mut self.program.structs;
        let (Type::Struct(id), Some((_, wanted))) = (to, layout(to, structs)) else { return };
        let there = least_align(from, structs).unwrap_or(1);
        if from != to && there < wanted && least_align(to, structs).is_some_and(|least| least < wanted) {
            structs[id.0 as usize].anywhere = true;
        }
    }

    /// Makes the address spaces of two pointer types equal at every level.
    pub(super) fn unify_pointers(&mut self, a: &Type, b: &Type, span: crate::source::Span, what: &str) -> bool {
        let (Type::Pointer(a), Type::Pointer(b)) = (a, b) else {
            if let (Type::Array(x, _), Type::Array(y, _)) = (a, b) {
                return self.unify_pointers(x, y, span, what);
            }
            return true;
        };
        if let Err(conflict) = self.spaces.unify(a.space, b.space) {
            self.space_conflict(span, what, conflict.0, conflict.1);
            return false;
        }
        self.unify_pointers(&a.ty, &b.ty, span, what)
    }

    pub(super) fn space_conflict(&mut self, span: crate::source::Span, what: &str, a: Space, b: Space) {
        self.error(
            span,
            format!(
                "{what}: a pointer to {} is used as a pointer to {}; in Metal one pointer has one address space",
                a.opencl_name(),
                b.opencl_name()
            ),
        );
    }

    /// A value used as a truth value: scalar or pointer.
    pub(super) fn condition(&mut self, expr: Expr, what: &str) -> Expr {
        if expr.ty.is_error() {
            return expr;
        }
        let expr = match expr.kind {
            ExprKind::Convert(inner) if inner.ty == Type::BOOL && expr.ty == Type::INT => return *inner,
            kind => Expr { kind, ..expr },
        };
        match expr.ty {
            Type::Scalar(Scalar::Double) => convert(expr, &Type::BOOL),
            Type::Scalar(_) | Type::Pointer(_) => expr,
            _ => {
                let ty = self.show(&expr.ty);
                self.bad(expr.span, format!("{what}: '{ty}' is not a truth value (it must be a scalar or pointer)"))
            }
        }
    }
}
