//! String literals (OpenCL C 3.0 §6.7.2: they lie in the constant address space): arrays of constants, or the initial
//! values of arrays of characters.

use std::rc::Rc;

use super::Sema;
use crate::ast::{self, InitList};
use crate::hir::{Constant, ConstantId, Expr, ExprKind};
use crate::source::Span;
use crate::token::StrId;
use crate::types::{Scalar, Type};

impl Sema<'_> {
    /// The array that the literal is; equal literals are one.
    pub(super) fn string(&mut self, id: StrId, span: Span) -> Expr {
        let bytes = self.names.bytes(id);
        let ty = Type::Array(Rc::new(Type::Scalar(Scalar::Char)), bytes.len() as u64 + 1);
        let constant = match self.strings.get(bytes) {
            Some(&known) => known,
            None => {
                let constant = ConstantId(self.program.constants.len() as u32);
                let init = Some(characters(bytes, &ty, span));
                self.program.constants.push(Constant { name: "literal".to_owned(), ty: ty.clone(), init, span });
                self.strings.insert(bytes, constant);
                constant
            }
        };
        Expr::new(ExprKind::Constant(constant), ty, span)
    }

    /// The bytes before the first zero, if the pointer is to the beginning of a literal or of another constant array of
    /// characters.
    pub(super) fn literal(&self, pointer: &Expr) -> Option<Vec<u8>> {
        let ExprKind::Decay(array) = &pointer.kind else { return None };
        let (ExprKind::Constant(id), Type::Array(element, count)) = (&array.kind, &array.ty) else { return None };
        let Type::Scalar(Scalar::Char) = **element else { return None };
        let ExprKind::Aggregate(elements) = &self.program.constants[id.0 as usize].init.as_ref()?.kind else {
            return None;
        };
        let bytes = elements.iter().map(|e| e.int_value().map(|c| c as u8)).collect::<Option<Vec<u8>>>()?;
        match bytes.iter().position(|&b| b == 0) {
            Some(end) => Some(bytes[..end].to_vec()),
            // What is missing at the end is zero.
            None => ((bytes.len() as u64) < *count).then_some(bytes),
        }
    }

    /// The value of an array of characters that a literal initialises, and the array's type with its size.
    pub(super) fn string_initialiser(&mut self, e: &ast::Expr, ty: &Type) -> Option<(Type, Expr)> {
        let (ast::ExprKind::Str(id), Type::Array(element, count)) = (&e.kind, ty) else { return None };
        let Type::Scalar(Scalar::Char | Scalar::UChar) = **element else { return None };
        let bytes = self.names.bytes(*id);
        let length = bytes.len() as u64;
        let count = if *count == 0 { length + 1 } else { *count };
        let ty = Type::Array(Rc::clone(element), count);
        if length > count {
            let message = format!("a string of {length} characters does not fit the array of {count}");
            return Some((ty, self.bad(e.span, message)));
        }
        let value = characters(bytes, &ty, e.span);
        Some((ty, value))
    }

    /// The same for a literal in braces.
    pub(super) fn braced_string(&mut self, list: &InitList, ty: &Type) -> Option<(Type, Expr)> {
        match list.items.as_slice() {
            [(designators, ast::Init::Expr(e))] if designators.is_empty() => self.string_initialiser(e, ty),
            _ => None,
        }
    }
}

/// The elements of an array of characters, with a terminating zero if there is room.
fn characters(bytes: &[u8], ty: &Type, span: Span) -> Expr {
    let Type::Array(element, count) = ty else { unreachable!("characters form an array") };
    let scalar = element.scalar().unwrap_or(Scalar::Char);
    let zero = (bytes.len() as u64) < *count;
    let elements = bytes.iter().copied().chain(zero.then_some(0));
    let elements = elements.map(|b| Expr::int(scalar.wrap(i128::from(b)), (**element).clone(), span));
    Expr::new(ExprKind::Aggregate(elements.collect()), ty.clone(), span)
}
