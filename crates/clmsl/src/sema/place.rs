//! Places (lvalues): whether an expression is one, where it lies, and whether it may be written.

use super::Sema;
use crate::hir::{Expr, ExprKind, Local, UNDEFINED_LANE};
use crate::types::{Quals, Space, Struct, Type};

/// Whether the expression designates an object.
pub(super) fn is_place(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Local(_) | ExprKind::Constant(_) | ExprKind::Deref(_) => true,
        ExprKind::Index(base, _) => matches!(base.ty, Type::Pointer(_)) || is_place(base),
        ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) => is_place(base),
        _ => false,
    }
}

/// The address space a place lies in.
pub(crate) fn place_space(expr: &Expr, locals: &[Local]) -> Space {
    match &expr.kind {
        ExprKind::Local(id) => locals[id.0 as usize].space,
        ExprKind::Constant(_) => Space::Constant,
        ExprKind::Deref(p) => p.ty.pointee().map_or(Space::Private, |p| p.space),
        ExprKind::Index(base, _) => match base.ty.pointee() {
            Some(p) => p.space,
            None => place_space(base, locals),
        },
        ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) | ExprKind::Half(base, _) => place_space(base, locals),
        _ => Space::Private,
    }
}

/// The qualifiers of a place, with those of what holds it.
pub(super) fn place_quals(expr: &Expr, locals: &[Local], structs: &[Struct]) -> Quals {
    match &expr.kind {
        ExprKind::Local(id) => locals[id.0 as usize].quals,
        ExprKind::Constant(_) => Quals { is_const: true, ..Quals::default() },
        ExprKind::Deref(p) => p.ty.pointee().map_or(Quals::default(), |p| p.quals),
        ExprKind::Index(base, _) => match base.ty.pointee() {
            Some(p) => p.quals,
            None => place_quals(base, locals, structs),
        },
        ExprKind::Member(base, field) => {
            let mut quals = place_quals(base, locals, structs);
            if let Type::Struct(id) = base.ty
                && let Some(f) = structs[id.0 as usize].fields.get(*field as usize)
            {
                quals = quals.union(f.quals);
            }
            quals
        }
        ExprKind::Swizzle(base, _) => place_quals(base, locals, structs),
        _ => Quals::default(),
    }
}

/// Whether evaluating the expression twice is the same as once.
pub(crate) fn is_pure(expr: &Expr) -> bool {
    let mut pure = true;
    expr.walk(&mut |e| {
        if matches!(
            e.kind,
            ExprKind::Assign(..)
                | ExprKind::AssignOp { .. }
                | ExprKind::Step { .. }
                | ExprKind::Call { .. }
                | ExprKind::Builtin { .. }
                | ExprKind::Msl(..)
        ) {
            pure = false;
        }
    });
    pure
}

/// Whether a place that is named again is the same even if it was written to in between: where it is depends on nothing
/// that lies in memory but on scalars and pointers in variables. `a[a[0].x]` is another place once `a[0]` has changed.
pub(crate) fn is_fixed(place: &Expr) -> bool {
    is_pure(place) && is_located(place)
}

fn is_located(place: &Expr) -> bool {
    match &place.kind {
        ExprKind::Local(_) | ExprKind::Constant(_) => true,
        ExprKind::Swizzle(base, _) | ExprKind::Member(base, _) | ExprKind::Half(base, _) => is_located(base),
        ExprKind::Index(base, index) if base.ty.pointee().is_some() => is_kept(base) && is_kept(index),
        ExprKind::Index(base, index) => is_located(base) && is_kept(index),
        ExprKind::Deref(pointer) => is_kept(pointer),
        _ => false,
    }
}

/// Whether a value is the same after a write to a vector.
fn is_kept(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Local(_) => matches!(value.ty, Type::Scalar(_) | Type::Pointer(_)),
        ExprKind::Int { .. } | ExprKind::Name(_) | ExprKind::Hidden(_) => true,
        ExprKind::Unary(_, a) | ExprKind::Convert(a) => is_kept(a),
        ExprKind::Binary(_, a, b) | ExprKind::Comma(a, b) => is_kept(a) && is_kept(b),
        ExprKind::Cond(a, b, c) => is_kept(a) && is_kept(b) && is_kept(c),
        ExprKind::AddressOf(place) | ExprKind::Decay(place) => is_located(place),
        // A component of what the entry point is given: `global_id.x`.
        ExprKind::Swizzle(base, _) | ExprKind::Index(base, _) => matches!(base.kind, ExprKind::Hidden(_)),
        _ => false,
    }
}

/// Whether `place op= value` may become `place = place op value`: the place is the same before the value and behind it. A
/// function that the value calls may change what tells where it is, as in `a[i] /= next(&i)`.
pub(crate) fn may_repeat(place: &Expr, value: &Expr) -> bool {
    let mut calls = false;
    value.walk(&mut |e| match &e.kind {
        ExprKind::Call { .. } => calls = true,
        ExprKind::Builtin { args, .. } | ExprKind::Msl(_, args) => {
            calls |= args.iter().any(|arg| matches!(arg.ty, Type::Pointer(_)));
        }
        _ => {}
    });
    is_pure(place) && (!calls || is_named(place))
}

/// Whether where a place is depends on no value.
fn is_named(place: &Expr) -> bool {
    match &place.kind {
        ExprKind::Local(_) | ExprKind::Constant(_) => true,
        ExprKind::Swizzle(base, _) | ExprKind::Member(base, _) | ExprKind::Half(base, _) => is_named(base),
        ExprKind::Index(base, index) => {
            base.ty.pointee().is_none() && is_named(base) && matches!(index.kind, ExprKind::Int { .. })
        }
        _ => false,
    }
}

impl Sema<'_> {
    /// A volatile vector or structure as a plain one: C++ copies neither. Its scalars alone stay volatile.
    pub(super) fn without_volatile(&self, place: Expr) -> Expr {
        let quals = place_quals(&place, self.locals(), &self.program.structs);
        if !quals.is_volatile || !matches!(place.ty, Type::Vector(..) | Type::Struct(_)) || !is_place(&place) {
            return place;
        }
        let (ty, span) = (place.ty.clone(), place.span);
        let space = place_space(&place, self.locals());
        let pointer =
            |is_volatile| Type::pointer(ty.clone(), space, Quals { is_volatile, is_restrict: false, ..quals });
        let address = Expr::new(ExprKind::AddressOf(Box::new(place)), pointer(true), span);
        Expr::new(ExprKind::Deref(Box::new(address.convert(pointer(false)))), ty, span)
    }

    /// Reports why a place cannot be written, if so.
    pub(super) fn check_writable(&mut self, place: &Expr, what: &str) -> bool {
        if place.ty.is_error() {
            return false;
        }
        if !is_place(place) {
            self.error(place.span, format!("{what} needs a variable, not a value"));
            return false;
        }
        if matches!(place.ty, Type::Array(..)) {
            self.error(place.span, format!("{what}: an array cannot be assigned"));
            return false;
        }
        if place.ty.is_opaque() {
            self.error(place.span, format!("{what}: an image or a sampler cannot be changed (OpenCL C 3.0 §6.11.b)"));
            return false;
        }
        let quals = place_quals(place, self.locals(), &self.program.structs);
        let space = self.spaces.resolve(place_space(place, self.locals()));
        if quals.is_const || space == Space::Constant {
            let why = if space == Space::Constant { "__constant memory" } else { "a const object" };
            self.error(place.span, format!("{what}: {why} cannot be written"));
            return false;
        }
        if let ExprKind::Swizzle(_, lanes) = &place.kind {
            if lanes.contains(&UNDEFINED_LANE) {
                self.error(place.span, format!("{what}: a vector of three has no fourth component"));
                return false;
            }
            if (1..lanes.len()).any(|i| lanes[..i].contains(&lanes[i])) {
                self.error(place.span, format!("{what}: a component occurs twice"));
                return false;
            }
        }
        true
    }
}
