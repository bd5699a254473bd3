//! Casts, vector literals and compound literals (OpenCL C 3.0 §6.4.2, §6.4.1; C99 §6.5.4, §6.5.2.5).

use super::conv::is_null;
use super::{Sema, convert};
use crate::ast::{InitList, TypeName};
use crate::hir::{self, Expr, ExprKind, Local, LocalId};
use crate::source::Span;
use crate::types::{Scalar, Space, Type, layout};

/// Elements of an array literal: they are assigned one by one.
const MAX_LITERAL: u64 = 1024;

impl Sema<'_> {
    pub(super) fn cast(&mut self, name: &TypeName, operand: &crate::ast::Expr, span: Span) -> Expr {
        self.cast_or_fill(name, operand, false, span)
    }

    /// `fills`: it is the one part of a vector literal, `(int4)(x)`.
    fn cast_or_fill(&mut self, name: &TypeName, operand: &crate::ast::Expr, fills: bool, span: Span) -> Expr {
        let ty = self.type_of_name(name).ty;
        let ty = self.fresh_spaces(&ty);
        let operand = self.value(operand);
        if ty.is_error() || operand.ty.is_error() {
            return Expr::error(span);
        }
        match (&operand.ty, &ty) {
            (_, Type::Void) => Expr { span, ..operand.convert(ty) },
            (Type::Scalar(_), Type::Scalar(_)) => Expr { span, ..convert(operand, &ty) },
            (Type::Scalar(Scalar::Bool), Type::Vector(element, _)) if !fills && element.is_integer() => {
                // True becomes all bits set (OpenCL C 3.0 §6.4.2).
                let scalar = Type::Scalar(*element);
                let (yes, no) = (Expr::int(element.wrap(-1), scalar.clone(), span), Expr::int(0, scalar.clone(), span));
                let lane = ExprKind::Cond(Box::new(operand), Box::new(yes), Box::new(no));
                Expr::new(lane, scalar, span).convert(ty)
            }
            (Type::Scalar(Scalar::Bool), Type::Vector(..)) if !fills => {
                let b = self.show(&ty);
                let message = format!(
                    "a cast from 'bool' to '{b}' is not supported: true is 1 by the specification, and -1 by \
                     compilers; '({b})(...)' makes 1 of it"
                );
                self.bad(span, message)
            }
            (Type::Scalar(_), Type::Vector(..)) => Expr { span, ..convert(operand, &ty) },
            (Type::Vector(..), Type::Vector(..)) if operand.ty == ty => Expr { span, ..operand },
            (Type::Vector(..), Type::Vector(..)) => {
                let (a, b) = (self.show(&operand.ty), self.show(&ty));
                self.bad(span, format!("a cast from '{a}' to '{b}' is not allowed (use convert_{b} or as_{b})"))
            }
            (Type::Scalar(_), Type::Pointer(_)) if is_null(&operand) => Expr::new(ExprKind::Null, ty, span),
            (Type::Pointer(_), Type::Pointer(_)) => self.pointer_cast(operand, ty, span),
            (Type::Pointer(_), Type::Scalar(s)) if s.size() == 8 && s.is_integer() => {
                Expr { span, ..operand.convert(ty) }
            }
            (Type::Scalar(_), Type::Pointer(_)) => {
                self.bad(span, "conversion of an integer to a pointer is not supported (MSL does not define it)")
            }
            (a, b) if a == b => Expr { span, ..operand },
            _ => {
                let (a, b) = (self.show(&operand.ty), self.show(&ty));
                self.bad(span, format!("a cast from '{a}' to '{b}' is not allowed"))
            }
        }
    }

    fn pointer_cast(&mut self, operand: Expr, ty: Type, span: Span) -> Expr {
        let (Some(from), Some(to)) = (operand.ty.pointee().cloned(), ty.pointee().cloned()) else {
            return Expr::error(span);
        };
        let (a, b) = (self.spaces.resolve(from.space), self.spaces.resolve(to.space));
        if let Err(conflict) = self.spaces.unify(from.space, to.space) {
            return self.bad(
                span,
                format!(
                    "a cast from a pointer to {} to a pointer to {} is not possible: the address spaces are separate",
                    conflict.0.opencl_name(),
                    conflict.1.opencl_name()
                ),
            );
        }
        self.note_alignment(&from.ty, &to.ty);
        let same = a == b && from.ty == to.ty && from.quals == to.quals;
        if same || (matches!(b, Space::Var(_)) && from.ty == to.ty && from.quals == to.quals) {
            return Expr { span, ty, ..operand };
        }
        Expr { span, ..operand.convert(ty) }
    }

    pub(super) fn vector_literal(&mut self, name: &TypeName, elements: &[crate::ast::Expr], span: Span) -> Expr {
        if let [one] = elements {
            return self.cast_or_fill(name, one, true, span);
        }
        let ty = self.type_of_name(name).ty;
        let values: Vec<Expr> = elements.iter().map(|e| self.value(e)).collect();
        if ty.is_error() || values.iter().any(|v| v.ty.is_error()) {
            return Expr::error(span);
        }
        if ty.vector().is_none() {
            let shown = self.show(&ty);
            return self
                .bad(span, format!("'{shown}' is not a vector type, so this list of values cannot be cast to it"));
        }
        self.vector_of(ty, values, span)
    }

    /// A vector from scalars and vectors that together have its lanes.
    pub(super) fn vector_of(&mut self, ty: Type, values: Vec<Expr>, span: Span) -> Expr {
        let Some((element, lanes)) = ty.vector() else { return Expr::error(span) };
        let mut parts = Vec::with_capacity(values.len());
        let mut count = 0u32;
        for value in values {
            match value.ty.arithmetic() {
                Some((_, 1)) => {
                    count += 1;
                    parts.push(convert(value, &Type::Scalar(element)));
                }
                Some((s, n)) if s == element => {
                    count += u32::from(n);
                    parts.push(value);
                }
                _ => {
                    let (a, b) = (self.show(&value.ty), self.show(&ty));
                    return self.bad(value.span, format!("'{a}' cannot be a part of a '{b}' literal"));
                }
            }
        }
        if count != u32::from(lanes) {
            let shown = self.show(&ty);
            return self.bad(span, format!("a '{shown}' literal needs {lanes} components, these are {count}"));
        }
        Expr::new(ExprKind::VectorLiteral(parts), ty, span)
    }

    /// `(T){ ... }`: a value, or, if it is an array, an object.
    pub(super) fn compound_literal(&mut self, name: &TypeName, list: &InitList, span: Span) -> Expr {
        let ty = self.type_of_name(name).ty;
        match ty {
            Type::Error => Expr::error(span),
            Type::Array(..) => self.literal_object(name, list, span),
            _ if layout(&ty, &self.program.structs).is_none() => self.bad(span, "literal of an incomplete type"),
            _ => self.initialiser_list(list, &ty).1,
        }
    }

    /// The object that a compound literal is (C99 §6.5.2.5): a variable, which takes its value where the literal stands.
    pub(super) fn literal_object(&mut self, name: &TypeName, list: &InitList, span: Span) -> Expr {
        let named = self.type_of_name(name);
        if named.ty.is_error() {
            return Expr::error(span);
        }
        let ty = self.fresh_spaces(&named.ty);
        let (ty, value) = self.initialiser_list(list, &ty);
        if ty.is_error() || value.ty.is_error() {
            return Expr::error(span);
        }
        if layout(&ty, &self.program.structs).is_none() {
            return self.bad(span, "literal of an incomplete type");
        }
        if ty.elements() > MAX_LITERAL {
            let message = format!("an array literal of more than {MAX_LITERAL} elements is not supported");
            return self.bad(span, message);
        }
        let Some(current) = &mut self.current else {
            return self
                .bad(span, "an array literal, or the address of a literal, outside of functions is not supported");
        };
        let id = LocalId(current.locals.len() as u32);
        current.locals.push(Local { quals: named.quals, ..Local::generated("literal", ty.clone(), span) });
        current.literals.push(id);
        let place = Expr::new(ExprKind::Local(id), ty.clone(), span);
        let pointer = Type::pointer(ty.clone(), Space::Private, named.quals);
        let address = Expr::new(ExprKind::AddressOf(Box::new(place.clone())), pointer.clone(), span);
        let mut steps = Vec::new();
        hir::assign(place, value, &mut steps);
        let all = steps.into_iter().chain([address]).reduce(|first, next| {
            let ty = next.ty.clone();
            Expr::new(ExprKind::Comma(Box::new(first), Box::new(next)), ty, span)
        });
        let all = all.unwrap_or_else(|| unreachable!("it ends with the address"));
        Expr::new(ExprKind::Deref(Box::new(all)), ty, span)
    }
}
