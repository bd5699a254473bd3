//! Expressions, but for operators (`ops`), casts (`cast`) and calls (`call`).

use super::place::is_place;
use super::{Entity, Sema, convert, place_space};
use crate::ast::{self, BinaryOp, Ident};
use crate::diagnostic::Diagnostic;
use crate::half;
use crate::hir::{Expr, ExprKind, UNDEFINED_LANE};
use crate::preprocess::is_number_of_double;
use crate::source::Span;
use crate::token::{Base, FloatLiteral, FloatSuffix, IntLiteral, Symbol};
use crate::types::{Quals, Scalar, Type, layout};

impl Sema<'_> {
    /// An expression used for its value: arrays become pointers.
    pub(super) fn value(&mut self, e: &ast::Expr) -> Expr {
        let expr = self.expr(e);
        self.decay(expr)
    }

    /// The pointer to the first element if this is an array.
    pub(super) fn decay(&mut self, expr: Expr) -> Expr {
        let Type::Array(element, _) = &expr.ty else { return self.without_volatile(expr) };
        let span = expr.span;
        if !is_place(&expr) {
            return self.bad(span, "an array that is part of a value cannot be used here");
        }
        let quals = super::place::place_quals(&expr, self.locals(), &self.program.structs);
        let space = place_space(&expr, self.locals());
        let quals = Quals { is_restrict: false, ..quals };
        let ty = Type::pointer((**element).clone(), space, quals);
        Expr::new(ExprKind::Decay(Box::new(expr)), ty, span)
    }

    /// An expression that may be a place.
    pub(super) fn expr(&mut self, e: &ast::Expr) -> Expr {
        let span = e.span;
        match &e.kind {
            ast::ExprKind::Int(literal) => int_literal(literal, span),
            ast::ExprKind::Float(literal) => self.float_literal(literal, span),
            ast::ExprKind::Char(value) => Expr::int(i128::from(*value), Type::INT, span),
            ast::ExprKind::Str(id) => self.string(*id, span),
            ast::ExprKind::Ident(name) => self.identifier(*name, span),
            ast::ExprKind::Unary(op, operand) => self.unary(*op, operand, span),
            ast::ExprKind::PreStep { increment, place } => self.step(*increment, true, place, span),
            ast::ExprKind::PostStep { increment, place } => self.step(*increment, false, place, span),
            ast::ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                self.binary(*op, a, b, span)
            }
            ast::ExprKind::Assign(None, place, value) => {
                let place = self.expr(place);
                let value = self.value(value);
                if !self.check_writable(&place, "assignment") {
                    return Expr::error(span);
                }
                let value = self.assign_convert(value, &place.ty, "assignment");
                let place = self.without_volatile(place);
                let ty = place.ty.clone();
                Expr::new(ExprKind::Assign(Box::new(place), Box::new(value)), ty, span)
            }
            ast::ExprKind::Assign(Some(op), place, value) => self.assign_op(*op, place, value, span),
            ast::ExprKind::Cond(c, a, b) => self.conditional(c, a.as_deref(), b, span),
            ast::ExprKind::Comma(a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                let ty = b.ty.clone();
                Expr::new(ExprKind::Comma(Box::new(a), Box::new(b)), ty, span)
            }
            ast::ExprKind::Call(callee, args) => self.call(callee, args, span),
            ast::ExprKind::Index(base, index) => self.index(base, index, span),
            ast::ExprKind::Member { base, name, arrow } => self.member(base, *name, *arrow, span),
            ast::ExprKind::Cast(ty, operand) => self.cast(ty, operand, span),
            ast::ExprKind::VectorLiteral(ty, elements) => self.vector_literal(ty, elements, span),
            ast::ExprKind::CompoundLiteral(ty, list) => self.compound_literal(ty, list, span),
            ast::ExprKind::SizeofExpr(operand) => {
                let operand = self.unevaluated(operand);
                self.sizeof(&operand.ty, span)
            }
            ast::ExprKind::VecStepExpr(operand) => {
                let operand = self.unevaluated(operand);
                self.vec_step(&operand.ty, span)
            }
            ast::ExprKind::VecStepType(ty) => {
                let ty = self.type_of_name(ty).ty;
                self.vec_step(&ty, span)
            }
            ast::ExprKind::SizeofType(ty) => {
                let ty = self.type_of_name(ty).ty;
                self.sizeof(&ty, span)
            }
        }
    }

    /// An expression whose type is all that matters.
    fn unevaluated(&mut self, e: &ast::Expr) -> Expr {
        let before = self.current.as_ref().map_or(0, |c| c.literals.len());
        let expr = self.expr(e);
        if let Some(current) = &mut self.current {
            current.literals.truncate(before);
        }
        expr
    }

    fn float_literal(&mut self, literal: &FloatLiteral, span: Span) -> Expr {
        let (scalar, value) = match literal.suffix {
            FloatSuffix::H => (Scalar::Half, half::from_bits(literal.half)),
            FloatSuffix::None if self.double_constants => return self.double_literal(literal.double, span),
            FloatSuffix::F | FloatSuffix::None => (Scalar::Float, literal.single),
        };
        if value.is_infinite() && scalar == Scalar::Half {
            return self.bad(span, "this constant is too large for 'half'");
        }
        if value.is_infinite() {
            return self.bad(span, "this constant is too large for 'float', and Metal has no 64-bit floating point");
        }
        Expr::new(ExprKind::Float(value), Type::Scalar(scalar), span)
    }

    fn double_literal(&mut self, value: f64, span: Span) -> Expr {
        if value.is_infinite() {
            return self.bad(span, "this constant is too large for 'double'");
        }
        Expr::new(ExprKind::Double(value), Type::DOUBLE, span)
    }

    fn identifier(&mut self, symbol: Symbol, span: Span) -> Expr {
        let name = self.name(symbol);
        match self.lookup(symbol).cloned() {
            Some(Entity::Local(id)) => {
                let ty = self.local(id).ty.clone();
                Expr::new(ExprKind::Local(id), ty, span)
            }
            Some(Entity::Constant(id)) => {
                let ty = self.program.constants[id.0 as usize].ty.clone();
                Expr::new(ExprKind::Constant(id), ty, span)
            }
            Some(Entity::EnumConstant(value, scalar)) => Expr::int(value, Type::Scalar(scalar), span),
            Some(Entity::Function(_) | Entity::Overloaded(_)) => self.bad(
                span,
                format!("'{name}' is a function: pointers to functions are not supported (OpenCL C 3.0 §6.11.a)"),
            ),
            Some(Entity::Typedef(_)) => self.bad(span, format!("'{name}' is a type, not a value")),
            Some(Entity::Broken) => Expr::error(span),
            None => match predeclared(name) {
                Some((value, ty)) => Expr::int(value, ty, span),
                None if is_number_of_double(name) => {
                    self.bad(span, format!("'{name}' is a 'double', and Metal has no 64-bit floating point"))
                }
                None => {
                    let question = self.did_you_mean(name, false);
                    self.bad(span, format!("use of undeclared identifier '{name}'{question}"))
                }
            },
        }
    }

    fn sizeof(&mut self, ty: &Type, span: Span) -> Expr {
        if ty.is_error() {
            return Expr::error(span);
        }
        match layout(ty, &self.program.structs) {
            Some((size, _)) => Expr::int(i128::from(size), Type::ULONG, span),
            None => {
                let ty = self.show(ty);
                self.bad(span, format!("'{ty}' has no size"))
            }
        }
    }

    /// How many elements a vector has room for (OpenCL C 3.0 §6.15.15).
    fn vec_step(&mut self, ty: &Type, span: Span) -> Expr {
        match ty {
            Type::Error => Expr::error(span),
            Type::Scalar(_) | Type::Void => Expr::int(1, Type::INT, span),
            Type::Vector(_, lanes) => Expr::int(if *lanes == 3 { 4 } else { i128::from(*lanes) }, Type::INT, span),
            other => {
                let ty = self.show(other);
                self.bad(span, format!("'vec_step' is not defined on '{ty}'"))
            }
        }
    }

    fn index(&mut self, base: &ast::Expr, index: &ast::Expr, span: Span) -> Expr {
        let mut base = self.expr(base);
        let mut index = self.expr(index);
        let indexable = |ty: &Type| matches!(ty, Type::Pointer(_) | Type::Array(..) | Type::Vector(..));
        if !indexable(&base.ty) && indexable(&index.ty) {
            std::mem::swap(&mut base, &mut index);
        }
        if base.ty.is_error() || index.ty.is_error() {
            return Expr::error(span);
        }
        if !index.ty.is_integer_scalar() {
            let ty = self.show(&index.ty);
            return self.bad(index.span, format!("an index must be an integer, not '{ty}'"));
        }
        let element = match &base.ty {
            Type::Pointer(p) if matches!(p.ty, Type::Void) => {
                return self.bad(base.span, "a pointer to void cannot be indexed");
            }
            Type::Pointer(p) => p.ty.clone(),
            Type::Array(e, _) => (**e).clone(),
            Type::Vector(s, n) => {
                if let Some(lane) = super::const_int(&index) {
                    return match u8::try_from(lane) {
                        Ok(lane) if lane < *n => self.swizzle(base, vec![lane], span),
                        _ => self.bad(index.span, "the index is outside the vector"),
                    };
                }
                let element = Type::Scalar(*s);
                // Of a selection of neighbours, which is a place if the vector is, it is a component of the vector. Of
                // others Clang takes the neighbours of the first one, which nobody can mean.
                if let ExprKind::Swizzle(vector, lanes) = &mut base.kind
                    && is_place(vector)
                    && lanes.iter().enumerate().all(|(i, &l)| usize::from(l) == usize::from(lanes[0]) + i)
                {
                    let first = Expr::int(i128::from(lanes[0]), Type::INT, span);
                    index = convert(index, &Type::INT);
                    if lanes[0] != 0 {
                        index = Expr::new(
                            ExprKind::Binary(BinaryOp::Add, Box::new(index), Box::new(first)),
                            Type::INT,
                            span,
                        );
                    }
                    base = std::mem::replace(&mut **vector, Expr::error(span));
                }
                base = self.without_volatile(base);
                element
            }
            _ => {
                let ty = self.show(&base.ty);
                return self.bad(base.span, format!("'{ty}' cannot be indexed"));
            }
        };
        if let Type::Struct(id) = element
            && !self.program.structs[id.0 as usize].complete
        {
            return self.bad(span, "the structure is declared but not defined");
        }
        Expr::new(ExprKind::Index(Box::new(base), Box::new(index)), element, span)
    }

    fn member(&mut self, base: &ast::Expr, name: Ident, arrow: bool, span: Span) -> Expr {
        let mut base = if arrow { self.value(base) } else { self.expr(base) };
        if base.ty.is_error() {
            return base;
        }
        if arrow {
            let Some(pointee) = base.ty.pointee() else {
                let ty = self.show(&base.ty);
                return self.bad(span, format!("'->' needs a pointer, not '{ty}'"));
            };
            let ty = pointee.ty.clone();
            let at = base.span;
            base = deref(base, ty, at);
        }
        let text = self.name(name.name);
        match base.ty.clone() {
            Type::Struct(id) => {
                let path = self.member_path(id, text);
                let structs = &self.program.structs;
                match path {
                    Some(path) => path.into_iter().fold(base, |base, at| {
                        let Type::Struct(id) = base.ty else { unreachable!("a path leads through structures") };
                        let ty = structs[id.0 as usize].fields[at as usize].ty.clone();
                        Expr::new(ExprKind::Member(Box::new(base), at), ty, span)
                    }),
                    None => {
                        let names = structs[id.0 as usize].fields.iter().map(|f| f.name.as_str());
                        let question = crate::suggest::question(text, names);
                        let declared = structs[id.0 as usize].span;
                        let ty = self.show(&base.ty);
                        let error = Diagnostic::error(name.span, format!("'{ty}' has no member '{text}'{question}"));
                        self.report(error.with_note(declared, format!("'{ty}' is declared here")));
                        Expr::error(name.span)
                    }
                }
            }
            Type::Vector(_, lanes) => match component_lanes(text, lanes) {
                Some(selected) => self.swizzle(base, selected, span),
                None => {
                    let ty = self.show(&base.ty);
                    self.bad(name.span, format!("'{text}' does not select components of '{ty}'"))
                }
            },
            _ => {
                let question = match base.ty.pointee() {
                    Some(p) if matches!(p.ty, Type::Struct(_)) => "; did you mean '->'?",
                    Some(p) if p.ty.vector().is_some() => "; index or dereference it first",
                    _ => "",
                };
                let ty = self.show(&base.ty);
                self.bad(name.span, format!("'{ty}' has no members{question}"))
            }
        }
    }

    /// Components of a vector; a selection from a selection is one selection.
    fn swizzle(&mut self, base: Expr, lanes: Vec<u8>, span: Span) -> Expr {
        let Some((scalar, _)) = base.ty.vector() else { return Expr::error(span) };
        let ty = Type::lanes(scalar, lanes.len() as u8);
        let base = self.without_volatile(base);
        let (base, lanes) = match base.kind {
            ExprKind::Swizzle(inner, outer) => {
                let composed =
                    lanes.iter().map(|&l| outer.get(usize::from(l)).copied().unwrap_or(UNDEFINED_LANE)).collect();
                (inner, composed)
            }
            kind => (Box::new(Expr::new(kind, base.ty, base.span)), lanes),
        };
        Expr::new(ExprKind::Swizzle(base, lanes), ty, span)
    }
}

/// `*p`, or `x` for `*&x`.
pub(super) fn deref(pointer: Expr, ty: Type, span: Span) -> Expr {
    match pointer.kind {
        ExprKind::AddressOf(place) => Expr { span, ..*place },
        kind => Expr::new(ExprKind::Deref(Box::new(Expr::new(kind, pointer.ty, pointer.span))), ty, span),
    }
}

/// The type of an integer constant: the first of the list in C99 §6.4.4.1 that holds it.
fn int_literal(literal: &IntLiteral, span: Span) -> Expr {
    let value = literal.value;
    let decimal = literal.base == Base::Decimal;
    let fits_int = i32::try_from(value).is_ok();
    let fits_uint = u32::try_from(value).is_ok();
    let fits_long = i64::try_from(value).is_ok();
    let scalar = if literal.suffix.unsigned {
        if !literal.suffix.long && fits_uint { Scalar::UInt } else { Scalar::ULong }
    } else if !literal.suffix.long && fits_int {
        Scalar::Int
    } else if !literal.suffix.long && !decimal && fits_uint {
        Scalar::UInt
    } else if fits_long {
        Scalar::Long
    } else {
        Scalar::ULong
    };
    let hexadecimal = matches!(literal.base, Base::Hexadecimal | Base::Binary);
    Expr::new(ExprKind::Int { value: i128::from(value), hexadecimal }, Type::Scalar(scalar), span)
}

/// The lanes a component selector names (OpenCL C 3.0 §6.3.7), or `None`.
fn component_lanes(text: &str, count: u8) -> Option<Vec<u8>> {
    let half = count.div_ceil(2);
    let lane = |l: u8| if l < count { l } else { UNDEFINED_LANE };
    match text {
        "lo" => return Some((0..half).collect()),
        "hi" => return Some((half..2 * half).map(lane).collect()),
        "even" => return Some((0..half).map(|i| lane(2 * i)).collect()),
        "odd" => return Some((0..half).map(|i| lane(2 * i + 1)).collect()),
        _ => {}
    }
    let by_set = |set: &str, text: &str| -> Option<Vec<u8>> {
        text.chars().map(|c| set.find(c).map(|i| i as u8).filter(|&i| i < count)).collect()
    };
    let lanes = by_set("xyzw", text).or_else(|| by_set("rgba", text)).or_else(|| {
        let digits = text.strip_prefix(['s', 'S'])?;
        let value = |c: char| c.to_digit(16).map(|d| d as u8).filter(|&d| d < count);
        digits.chars().map(value).collect()
    })?;
    matches!(lanes.len(), 1..=4 | 8 | 16).then_some(lanes)
}

/// Names that are neither keywords nor macros.
fn predeclared(name: &str) -> Option<(i128, Type)> {
    Some(match name {
        "true" => (1, Type::INT),
        "false" => (0, Type::INT),
        _ if super::c11::predeclared(name).is_some() => (super::c11::predeclared(name)?, Type::INT),
        "CLK_LOCAL_MEM_FENCE" => (1, Type::UINT),
        "CLK_GLOBAL_MEM_FENCE" => (2, Type::UINT),
        "CLK_IMAGE_MEM_FENCE" => (4, Type::UINT),
        _ => return super::image::image_constant(name).map(|value| (value, Type::INT)),
    })
}
