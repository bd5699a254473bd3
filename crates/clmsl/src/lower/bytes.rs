//! Numbers kept as their bytes, `clmsl_bytes<T>`, which the prelude makes from a value and back.
//!
//! Bytes are copied as a structure is, in every address space. A place is changed by assigning new bytes to all of it, a
//! component of a vector by assigning those of the component alone, since other work-items may change the others. The
//! address of bytes as that of a number is refused.

use std::collections::BTreeSet;

use super::Instance;
use super::divide::{hold, volatility};
use super::expr::{Cx, binary, call, sequence, take};
use crate::ast::BinaryOp;
use crate::diagnostic::Diagnostic;
use crate::half;
use crate::hir::{Block, Constant, Decl, Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::sema::{convert, is_fixed, place_space};
use crate::types::{Quals, Scalar, Struct, StructId, Type, layout, msl_name};

/// Rewrites what is done with members that have become bytes. `places` says where each member is now, by structure.
pub(super) fn lower(
    structs: &[Struct],
    places: &[Vec<u32>],
    constants: &mut [Constant],
    instances: &mut [Instance],
    diagnostics: &mut Vec<Diagnostic>,
) {
    for constant in constants {
        if let Some(init) = &mut constant.init {
            let mut none = (Vec::new(), BTreeSet::new());
            let mut cx = cx(&mut none.0, &mut none.1, diagnostics);
            Members { structs, places, cx: &mut cx }.constant(init, &constant.ty);
        }
    }
    for instance in instances {
        let function = &mut instance.function;
        let Some(mut body) = function.body.take() else { continue };
        let mut none = BTreeSet::new();
        let mut cx = cx(&mut function.locals, &mut none, diagnostics);
        Members { structs, places, cx: &mut cx }.block(&mut body);
        let temporaries = std::mem::take(&mut cx.temporaries);
        let top = body.stmts.first().map_or(function.span, |s| s.span);
        let declare = |local: LocalId| Stmt { span: top, kind: StmtKind::Decl(vec![Decl { local, init: None }]) };
        body.stmts.splice(0..0, temporaries.into_iter().map(declare));
        function.body = Some(body);
    }
}

fn cx<'a>(
    locals: &'a mut Vec<crate::hir::Local>,
    forms: &'a mut BTreeSet<crate::prelude::wide::Form>,
    diagnostics: &'a mut Vec<Diagnostic>,
) -> Cx<'a> {
    Cx { fast_relaxed_math: false, locals, temporaries: Vec::new(), diagnostics, forms, device_scope: false }
}

/// Whether the type is one of bytes, or of arrays of them.
pub(super) fn is_bytes(ty: &Type) -> bool {
    match ty {
        Type::Array(element, _) => is_bytes(element),
        other => matches!(other, Type::Bytes(..)),
    }
}

/// The rewriting of what is done with members.
struct Members<'a, 'c> {
    structs: &'a [Struct],
    /// Where each member is now, by structure.
    places: &'a [Vec<u32>],
    cx: &'a mut Cx<'c>,
}

impl Members<'_, '_> {
    fn block(&mut self, block: &mut Block) {
        for stmt in &mut block.stmts {
            self.statement(stmt);
        }
    }

    fn statement(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Expr(e) => self.value(e, false),
            StmtKind::Decl(decls) => {
                for decl in decls {
                    let ty = self.cx.locals[decl.local.0 as usize].ty.clone();
                    if let Some(init) = &mut decl.init {
                        self.initial(init, &ty);
                    }
                }
            }
            StmtKind::For { init, cond, step, body } => {
                if let Some(init) = init {
                    self.statement(init);
                }
                if let Some(cond) = cond {
                    self.value(cond, true);
                }
                if let Some(step) = step {
                    self.value(step, false);
                }
                self.block(body);
            }
            StmtKind::If { arms, otherwise } => {
                for (cond, body) in arms {
                    self.value(cond, true);
                    self.block(body);
                }
                if let Some(body) = otherwise {
                    self.block(body);
                }
            }
            StmtKind::While(e, body) | StmtKind::DoWhile(body, e) | StmtKind::Switch(e, body) => {
                self.value(e, true);
                self.block(body);
            }
            StmtKind::Block(body) => self.block(body),
            StmtKind::Case(e) | StmtKind::Return(Some(e)) => self.value(e, true),
            StmtKind::Empty
            | StmtKind::Default
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(None)
            | StmtKind::Goto(_)
            | StmtKind::Label(_) => {}
        }
    }

    /// An expression that is evaluated, for its value if that is `used`.
    fn value(&mut self, e: &mut Expr, used: bool) {
        match &mut e.kind {
            ExprKind::Comma(first, last) => {
                self.value(first, false);
                self.value(last, used);
            }
            ExprKind::Convert(inner) if e.ty == Type::Void => self.value(inner, false),
            ExprKind::Convert(inner) if e.ty.pointee().is_some_and(|p| self.is_byte(&p.ty)) => match &mut inner.kind {
                // The bytes of a member may be looked at.
                ExprKind::AddressOf(place) | ExprKind::Decay(place) => {
                    self.place(place);
                    if is_bytes(&place.ty) {
                        **inner = self.address(take(place));
                    }
                }
                _ => self.value(inner, true),
            },
            ExprKind::Assign(..) | ExprKind::AssignOp { .. } | ExprKind::Step { .. } => self.change(e, used),
            ExprKind::AddressOf(place) | ExprKind::Decay(place) => {
                self.place(place);
                if is_bytes(&place.ty) || component(place).is_some() {
                    let message = "the address of a member that lies unaligned, as in a packed structure, is not \
                                   supported: Metal reads and writes through aligned pointers only";
                    self.cx.diagnostics.push(Diagnostic::error(e.span, message));
                }
            }
            ExprKind::Member(..) | ExprKind::Index(..) | ExprKind::Swizzle(..) | ExprKind::Deref(_) => {
                self.place(e);
                self.read(e);
            }
            ExprKind::Aggregate(_) | ExprKind::UnionOf(..) => {
                let ty = e.ty.clone();
                self.initial(e, &ty);
            }
            _ => e.for_each_child_mut(&mut |c| self.value(c, true)),
        }
    }

    /// Whether a pointer to this may have any value.
    fn is_byte(&self, ty: &Type) -> bool {
        layout(ty, self.structs).is_some_and(|(_, align)| align == 1)
    }

    /// An initial value of an object of this type.
    fn initial(&mut self, e: &mut Expr, ty: &Type) {
        match (&mut e.kind, ty) {
            (ExprKind::Aggregate(parts), Type::Array(element, _)) => {
                parts.iter_mut().for_each(|part| self.initial(part, element));
                e.ty = ty.clone();
            }
            (ExprKind::Aggregate(parts), Type::Struct(id)) => {
                *parts = self.members(std::mem::take(parts), *id, Self::initial);
            }
            (ExprKind::UnionOf(member, value), Type::Struct(id)) => {
                let structs = self.structs;
                *member = self.places[id.0 as usize][*member as usize];
                self.initial(value, &structs[id.0 as usize].fields[*member as usize].ty);
            }
            (ExprKind::Zero, _) => e.ty = ty.clone(),
            (_, Type::Bytes(..)) => {
                self.value(e, true);
                *e = to_bytes(take(e), ty);
            }
            _ => self.value(e, true),
        }
    }

    /// The values of a structure's members, with zeros for padding between them.
    fn members(&mut self, parts: Vec<Expr>, id: StructId, value: fn(&mut Self, &mut Expr, &Type)) -> Vec<Expr> {
        let structs = self.structs;
        let (fields, places) = (&structs[id.0 as usize].fields, &self.places[id.0 as usize]);
        let mut all: Vec<Expr> = Vec::new();
        for (mut part, &at) in parts.into_iter().zip(places) {
            let padding = fields[all.len()..at as usize].iter();
            all.extend(padding.map(|f| Expr::new(ExprKind::Zero, f.ty.clone(), part.span)));
            value(self, &mut part, &fields[at as usize].ty);
            all.push(part);
        }
        all
    }

    /// An initial value of a constant, whose initialiser is made of literals.
    fn constant(&mut self, e: &mut Expr, ty: &Type) {
        match (&mut e.kind, ty) {
            (_, Type::Bytes(scalar, lanes)) => {
                let mut bytes = Vec::new();
                if !literal_bytes(e, &mut bytes) {
                    let message = "this initial value of a member that lies unaligned, as in a packed structure, is \
                                   not supported";
                    self.cx.diagnostics.push(Diagnostic::error(e.span, message));
                }
                let size = layout(&Type::lanes(*scalar, *lanes), &[]).map_or(0, |(size, _)| size);
                bytes.resize(size as usize, 0);
                let byte = |b: &u8| Expr::int(i128::from(*b), Type::INT, e.span);
                *e = Expr::new(ExprKind::Aggregate(bytes.iter().map(byte).collect()), ty.clone(), e.span);
            }
            (ExprKind::Aggregate(parts), Type::Array(element, _)) => {
                parts.iter_mut().for_each(|part| self.constant(part, element));
                e.ty = ty.clone();
            }
            (ExprKind::Aggregate(parts), Type::Struct(id)) => {
                *parts = self.members(std::mem::take(parts), *id, Self::constant);
            }
            (ExprKind::UnionOf(member, value), Type::Struct(id)) => {
                let structs = self.structs;
                *member = self.places[id.0 as usize][*member as usize];
                self.constant(value, &structs[id.0 as usize].fields[*member as usize].ty);
            }
            (ExprKind::Zero, _) => e.ty = ty.clone(),
            _ => {}
        }
    }

    /// An expression as what designates an object. Its type is that of the object in memory.
    fn place(&mut self, e: &mut Expr) {
        match &mut e.kind {
            ExprKind::Member(base, field) => {
                self.place(base);
                let Type::Struct(id) = base.ty else { return };
                *field = self.places[id.0 as usize][*field as usize];
                let ty = &self.structs[id.0 as usize].fields[*field as usize].ty;
                if is_bytes(ty) {
                    e.ty = ty.clone();
                }
            }
            ExprKind::Index(base, index) => {
                self.value(index, true);
                if base.ty.pointee().is_none() {
                    self.place(base);
                } else if let ExprKind::Decay(array) = &mut base.kind {
                    self.place(array);
                    if is_bytes(&array.ty) {
                        **base = take(array);
                    }
                } else {
                    self.value(base, true);
                }
                if let Type::Array(element, _) = &base.ty
                    && is_bytes(element)
                {
                    e.ty = (**element).clone();
                }
            }
            ExprKind::Swizzle(base, lanes) => {
                self.place(base);
                // A selection of a selection is one.
                if let ExprKind::Swizzle(inner, first) = &mut base.kind
                    && matches!(inner.ty, Type::Bytes(..))
                    && lanes.iter().all(|&l| usize::from(l) < first.len())
                {
                    *lanes = lanes.iter().map(|&l| first[usize::from(l)]).collect();
                    **base = take(inner);
                }
            }
            ExprKind::Deref(pointer) => {
                if let Some(place) = self.pointed(pointer, &e.ty) {
                    *e = place;
                }
            }
            ExprKind::Local(_) | ExprKind::Constant(_) => {}
            _ => self.value(e, true),
        }
    }

    /// The bytes that a pointer of this type leads to, if it is made where it is followed: `*&s.m`, `*s.m`, `*(s.m + i)`.
    fn pointed(&mut self, pointer: &mut Expr, ty: &Type) -> Option<Expr> {
        match &mut pointer.kind {
            ExprKind::AddressOf(place) if place.ty == *ty => {
                self.place(place);
                is_bytes(&place.ty).then(|| take(place))
            }
            ExprKind::Convert(inner) if inner.ty.pointee().is_some_and(|p| p.ty == *ty) => self.pointed(inner, ty),
            ExprKind::Decay(array) => {
                let zero = Expr::int(0, Type::INT, array.span);
                self.element(array, zero)
            }
            ExprKind::Binary(BinaryOp::Add, array, index) if matches!(array.kind, ExprKind::Decay(_)) => {
                self.value(index, true);
                let ExprKind::Decay(array) = &mut array.kind else { return None };
                let index = (**index).clone();
                self.element(array, index)
            }
            _ => {
                self.value(pointer, true);
                None
            }
        }
    }

    fn element(&mut self, array: &mut Expr, index: Expr) -> Option<Expr> {
        self.place(array);
        let Type::Array(element, _) = array.ty.clone() else { return None };
        let span = array.span;
        let kind = |array| ExprKind::Index(Box::new(array), Box::new(index));
        is_bytes(&element).then(|| Expr::new(kind(take(array)), (*element).clone(), span))
    }

    /// The value of a place.
    fn read(&mut self, e: &mut Expr) {
        match &mut e.kind {
            _ if matches!(e.ty, Type::Bytes(..)) => *e = from_bytes(self.plain(take(e))),
            ExprKind::Swizzle(base, _) => self.read(base),
            ExprKind::Index(base, _) if base.ty.pointee().is_none() => self.read(base),
            _ => {}
        }
    }

    /// Bytes as they are copied: C++ copies no volatile structure.
    fn plain(&self, place: Expr) -> Expr {
        let quals = self.quals(&place);
        if !quals.is_volatile {
            return place;
        }
        let (ty, span) = (place.ty.clone(), place.span);
        let space = place_space(&place, self.cx.locals);
        let quals = Quals { is_volatile: false, is_restrict: false, ..quals };
        let pointer = Type::pointer(ty.clone(), space, quals);
        Expr::new(ExprKind::Deref(Box::new(self.address(place).convert(pointer))), ty, span)
    }

    /// A pointer to the place.
    fn address(&self, place: Expr) -> Expr {
        let span = place.span;
        let (space, quals) = (place_space(&place, self.cx.locals), self.quals(&place));
        let quals = Quals { is_restrict: false, ..quals };
        let ty = Type::pointer(place.ty.clone(), space, quals);
        Expr::new(ExprKind::AddressOf(Box::new(place)), ty, span)
    }

    fn quals(&self, place: &Expr) -> Quals {
        match &place.kind {
            ExprKind::Local(id) => self.cx.locals[id.0 as usize].quals,
            ExprKind::Member(base, _) => self.quals(base),
            ExprKind::Index(base, _) if base.ty.pointee().is_none() => self.quals(base),
            _ => volatility(place),
        }
    }

    /// The element of a vector's bytes.
    fn lane(&self, vector: Expr, index: Expr) -> Expr {
        let Type::Bytes(scalar, _) = vector.ty else { unreachable!("only vectors have components") };
        let (ty, span) = (Type::Bytes(scalar, 1), vector.span);
        let address = self.address(vector);
        let to =
            address.ty.pointee().map(|p| Type::pointer(ty.clone(), p.space, Quals { is_volatile: false, ..p.quals }));
        let elements = address.convert(to.unwrap_or_else(|| unreachable!("an address is a pointer")));
        Expr::new(ExprKind::Index(Box::new(elements), Box::new(index)), ty, span)
    }

    /// An assignment, also one by operator or of one more or less.
    fn change(&mut self, e: &mut Expr, used: bool) {
        let place = match &mut e.kind {
            ExprKind::Assign(place, value) => {
                self.value(value, true);
                place
            }
            ExprKind::AssignOp { place, value, .. } => {
                self.value(value, true);
                place
            }
            ExprKind::Step { place, .. } => place,
            _ => unreachable!("these are the changes"),
        };
        let ty = place.ty.clone();
        self.place(place);
        let span = e.span;
        let mut before = Vec::new();
        if !matches!(place.ty, Type::Bytes(..)) {
            let Some(vector) = component(place) else { return };
            // The vector is named once per component, and to read it.
            if !is_fixed(vector) {
                let (address, held) = hold(take(vector), self.cx);
                before.extend(address);
                *vector = held;
            }
        }
        let mut target = take(place);
        target = match target.kind {
            ExprKind::Index(vector, index) if matches!(vector.ty, Type::Bytes(..)) => self.lane(*vector, *index),
            ExprKind::Swizzle(vector, lanes) if lanes.len() == 1 => {
                self.lane(*vector, Expr::int(i128::from(lanes[0]), Type::INT, span))
            }
            ExprKind::Index(vector, _) if vector.ty.vector().is_some() => {
                let message = "a computed component of a selection cannot be changed unless it is of neighbours, as .hi: compilers of OpenCL C \
                     do not agree on which it is";
                self.cx.diagnostics.push(Diagnostic::error(span, message));
                return;
            }
            kind => Expr { kind, ..target },
        };
        if !matches!(e.kind, ExprKind::Assign(..)) && !is_fixed(&target) {
            let (address, held) = hold(target, self.cx);
            before.extend(address);
            target = held;
        }
        let mut old = target.clone();
        self.read(&mut old);
        let postfix = matches!(e.kind, ExprKind::Step { prefix: false, .. }) && used;
        let kept = postfix.then(|| self.keep(old.clone(), &mut before));
        let old = kept.clone().unwrap_or(old);
        let new = match &mut e.kind {
            ExprKind::Assign(_, value) => take(value),
            ExprKind::AssignOp { op, value, at, .. } => {
                convert(binary(*op, convert(old, at), take(value), at.clone()), &ty)
            }
            ExprKind::Step { increment, .. } => {
                let at = ty.scalar().map_or(ty.clone(), |s| Type::Scalar(s.promoted()));
                let op = if *increment { BinaryOp::Add } else { BinaryOp::Sub };
                let one = convert(Expr::int(1, Type::INT, span), &at);
                convert(binary(op, convert(old, &at), one, at.clone()), &ty)
            }
            _ => unreachable!("these are the changes"),
        };
        let last = match target.kind {
            ExprKind::Swizzle(vector, lanes) => {
                let new = self.keep(new, &mut before);
                for (i, &lane) in lanes.iter().enumerate() {
                    let place = self.lane((*vector).clone(), Expr::int(i128::from(lane), Type::INT, span));
                    let Type::Bytes(scalar, _) = place.ty else { unreachable!("a component is one of bytes") };
                    let part = ExprKind::Swizzle(Box::new(new.clone()), vec![i as u8]);
                    before.push(self.store(place, Expr::new(part, Type::Scalar(scalar), span)));
                }
                new
            }
            kind => {
                let change = self.store(Expr { kind, ..target }, new);
                if used && kept.is_none() { from_bytes(change) } else { change }
            }
        };
        *e = match kept {
            Some(old) => {
                before.push(last);
                sequence(before, old)
            }
            None if !used && matches!(last.kind, ExprKind::Local(_)) => {
                let last = before.pop().unwrap_or_else(|| unreachable!("a component was stored"));
                sequence(before, last)
            }
            None => sequence(before, last),
        };
        e.span = span;
    }

    fn keep(&mut self, value: Expr, before: &mut Vec<Expr>) -> Expr {
        let variable = self.cx.temporary("value", value.ty.clone(), value.span);
        let (ty, span) = (value.ty.clone(), value.span);
        before.push(Expr::new(ExprKind::Assign(Box::new(variable.clone()), Box::new(value)), ty, span));
        variable
    }

    fn store(&self, place: Expr, value: Expr) -> Expr {
        let place = self.plain(place);
        let (ty, span) = (place.ty.clone(), place.span);
        let bytes = to_bytes(value, &ty);
        Expr::new(ExprKind::Assign(Box::new(place), Box::new(bytes)), ty, span)
    }
}

/// The vector of bytes that the place is one or several components of.
fn component(place: &mut Expr) -> Option<&mut Expr> {
    match &mut place.kind {
        ExprKind::Swizzle(base, _) | ExprKind::Index(base, _) => match base.ty {
            Type::Bytes(..) => Some(base),
            Type::Vector(..) => component(base),
            _ => None,
        },
        _ => None,
    }
}

fn to_bytes(value: Expr, ty: &Type) -> Expr {
    let Type::Bytes(scalar, lanes) = *ty else { unreachable!("bytes of a number") };
    let span = value.span;
    call(format!("clmsl_to_bytes<{}>", msl_name(scalar, lanes)), vec![value], ty.clone(), span)
}

fn from_bytes(bytes: Expr) -> Expr {
    let Type::Bytes(scalar, lanes) = bytes.ty else { unreachable!("bytes of a number") };
    let span = bytes.span;
    call("clmsl_from_bytes", vec![bytes], Type::lanes(scalar, lanes), span)
}

/// Appends the bytes of a literal. False if it is none.
fn literal_bytes(e: &Expr, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let known = match &e.kind {
        ExprKind::Int { value, .. } => {
            out.extend(&value.to_le_bytes()[..e.ty.scalar().map_or(0, Scalar::size) as usize]);
            true
        }
        ExprKind::Float(value) if e.ty.scalar() == Some(Scalar::Half) => {
            out.extend(half::to_bits(f64::from(*value)).to_le_bytes());
            true
        }
        ExprKind::Float(value) => {
            out.extend(value.to_le_bytes());
            true
        }
        ExprKind::Double(value) => {
            out.extend(value.to_le_bytes());
            true
        }
        ExprKind::Zero => true,
        ExprKind::VectorLiteral(parts) | ExprKind::Aggregate(parts) => parts.iter().all(|p| literal_bytes(p, out)),
        ExprKind::Convert(inner) => match e.ty.vector() {
            Some((scalar, lanes)) if inner.ty == Type::Scalar(scalar) => (0..lanes).all(|_| literal_bytes(inner, out)),
            _ => inner.ty == e.ty && literal_bytes(inner, out),
        },
        _ => false,
    };
    let size = layout(&e.ty, &[]).map_or(0, |(size, _)| size);
    out.resize(start + size as usize, 0);
    known
}
