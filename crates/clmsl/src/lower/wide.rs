//! Vectors that MSL does not have: structures of the prelude with the halves `lo` and `hi` (`prelude::wide`).
//!
//! Components become paths to them (`v.lo.hi.y`), literals lists of halves, conversions and calls those of forms for whole
//! vectors, which are noted here for the prelude. Operators stay, with forms of their own. A change to components of
//! several native parts is one change for each part, of a value that was kept before.

use super::divide::{hold, volatility};
use super::double::{is_double, lower_convert};
use super::expr::{Cx, binary, call, sequence, take};
use crate::hir::{Expr, ExprKind};
use crate::prelude::wide::{Form, Leaf, Shape};
use crate::sema::{is_fixed, is_pure, may_repeat};
use crate::source::Span;
use crate::types::{Scalar, Type, halves, is_native_vector};

/// Rewrites an expression used for its value.
pub(super) fn lower(e: &mut Expr, cx: &mut Cx<'_>) {
    match &mut e.kind {
        ExprKind::Swizzle(..) => swizzle(e, cx),
        ExprKind::VectorLiteral(_) => literal(e, cx),
        ExprKind::Assign(..) => assign(e, cx),
        ExprKind::AssignOp { .. } => assign_op(e, cx),
        ExprKind::Index(base, _) if base.ty.vector().is_some() => element(e, cx),
        ExprKind::AddressOf(inner) | ExprKind::Decay(inner) => place(inner, cx),
        ExprKind::Step { place: inner, .. } => place(inner, cx),
        ExprKind::Cond(..) => conditional(e, cx),
        _ => {
            e.for_each_child_mut(&mut |c| lower(c, cx));
            operation(e, cx);
        }
    }
}

/// Both operands of `?` must be values of one type, without the address space that an object has in it.
fn conditional(e: &mut Expr, cx: &mut Cx<'_>) {
    e.for_each_child_mut(&mut |c| lower(c, cx));
    let structure = e.ty.emulated().is_some() || is_double(&e.ty) || matches!(e.ty, Type::Struct(_));
    let ExprKind::Cond(_, a, b) = &mut e.kind else { return };
    for arm in [a, b] {
        let is_value = matches!(
            arm.kind,
            ExprKind::Msl(..) | ExprKind::Call { .. } | ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Cond(..)
        );
        if structure && !is_value {
            let (ty, span) = (arm.ty.clone(), arm.span);
            **arm = call("clmsl_value", vec![take(arm)], ty, span);
        }
    }
}

/// Rewrites an expression that stands for an object. A selection from several native parts stays as it is.
fn place(e: &mut Expr, cx: &mut Cx<'_>) {
    match &mut e.kind {
        ExprKind::Swizzle(base, lanes) => {
            place(base, cx);
            if let Some(part) = part(base, lanes) {
                *e = part;
            }
        }
        ExprKind::Index(base, index) if base.ty.vector().is_some() => {
            place(base, cx);
            lower(index, cx);
            if matches!(base.kind, ExprKind::Swizzle(..)) {
                let message = "a computed component of a selection cannot be changed unless it is of neighbours, as .hi: compilers of OpenCL C \
                     do not agree on which it is";
                cx.diagnostics.push(crate::diagnostic::Diagnostic::error(e.span, message));
            } else if let Some((element, _)) = base.ty.emulated() {
                **base = elements(take(base), element, cx);
            }
        }
        ExprKind::Local(_) | ExprKind::Deref(_) | ExprKind::Index(..) | ExprKind::Member(..) | ExprKind::Half(..) => {
            e.for_each_child_mut(&mut |c| if c.ty.pointee().is_some() { lower(c, cx) } else { place_or_index(c, cx) });
        }
        _ => lower(e, cx),
    }
}

/// What a place is made of: another place, or the index of an array.
fn place_or_index(e: &mut Expr, cx: &mut Cx<'_>) {
    if e.ty.scalar().is_some() { lower(e, cx) } else { place(e, cx) }
}

/// The address of a vector as that of its first element.
fn elements(vector: Expr, element: Scalar, cx: &Cx<'_>) -> Expr {
    let span = vector.span;
    let space = crate::sema::place_space(&vector, cx.locals);
    let quals = volatility(&vector);
    let whole = Type::pointer(vector.ty.clone(), space, quals);
    let address = match vector.kind {
        ExprKind::Deref(pointer) => *pointer,
        _ => Expr::new(ExprKind::AddressOf(Box::new(vector)), whole, span),
    };
    address.convert(Type::pointer(Type::Scalar(element), space, quals))
}

fn half(base: Expr, high: bool) -> Expr {
    let Some((element, lanes)) = base.ty.vector() else { unreachable!("only vectors have halves") };
    let (low, rest) = halves(lanes);
    let (ty, span) = (Type::lanes(element, if high { rest } else { low }), base.span);
    Expr::new(ExprKind::Half(Box::new(base), high), ty, span)
}

/// The selected lanes as a part of the base: the whole, a half or components of one native vector; `None` if there is no
/// such part.
fn part(base: &Expr, lanes: &[u8]) -> Option<Expr> {
    let Some((element, count)) = base.ty.vector() else {
        return (lanes == [0]).then(|| base.clone());
    };
    if lanes.iter().copied().eq(0..count) {
        return Some(base.clone());
    }
    if is_native_vector(element, count) {
        let selected = lanes.len() as u8;
        let kind = ExprKind::Swizzle(Box::new(base.clone()), lanes.to_vec());
        let fits = selected == 1 || is_native_vector(element, selected);
        return fits.then(|| Expr::new(kind, Type::lanes(element, selected), base.span));
    }
    let (low, _) = halves(count);
    if lanes.iter().all(|&l| l < low) {
        part(&half(base.clone(), false), lanes)
    } else if lanes.iter().all(|&l| l >= low) {
        let lanes: Vec<u8> = lanes.iter().map(|l| l - low).collect();
        part(&half(base.clone(), true), &lanes)
    } else {
        None
    }
}

/// Splits the lanes into the longest runs that are parts of the base.
fn parts<'l>(base: &Expr, mut lanes: &'l [u8]) -> Vec<(Expr, &'l [u8])> {
    let mut out = Vec::new();
    while !lanes.is_empty() {
        let longest = (1..=lanes.len()).rev().find_map(|n| Some((part(base, &lanes[..n])?, n)));
        let Some((expr, n)) = longest else { unreachable!("one lane is a part") };
        out.push((expr, &lanes[..n]));
        lanes = &lanes[n..];
    }
    out
}

/// The value of the selected lanes of a base that may be evaluated often.
fn select(base: &Expr, lanes: &[u8]) -> Expr {
    if let Some(part) = part(base, lanes) {
        return part;
    }
    let Some((element, _)) = base.ty.vector() else { unreachable!("the lanes of a vector") };
    let count = lanes.len() as u8;
    let ty = Type::lanes(element, count);
    let kind = if ty.emulated().is_some() {
        let (low, high) = lanes.split_at(usize::from(halves(count).0));
        ExprKind::Aggregate(vec![select(base, low), select(base, high)])
    } else {
        ExprKind::VectorLiteral(parts(base, lanes).into_iter().map(|(expr, _)| expr).collect())
    };
    Expr::new(kind, ty, base.span)
}

/// Whether reading it often costs nothing.
fn is_cheap(e: &Expr) -> bool {
    let object = matches!(
        e.kind,
        ExprKind::Local(_)
            | ExprKind::Constant(_)
            | ExprKind::Member(..)
            | ExprKind::Half(..)
            | ExprKind::Deref(_)
            | ExprKind::Index(..)
            | ExprKind::Int { .. }
            | ExprKind::Float(_)
            | ExprKind::Double(_)
    );
    object && is_pure(e)
}

/// Makes the value one that may be read often; what must happen before is added to `before`.
fn keep(value: Expr, before: &mut Vec<Expr>, cx: &mut Cx<'_>) -> Expr {
    let (ty, span) = (value.ty.clone(), value.span);
    let variable = cx.temporary("value", ty.clone(), span);
    before.push(Expr::new(ExprKind::Assign(Box::new(variable.clone()), Box::new(value)), ty, span));
    variable
}

/// Lanes of an expression, in parts if it is put together from them.
fn flatten(expr: Expr, runs: &mut Vec<Run>) {
    match expr.kind {
        ExprKind::VectorLiteral(parts) | ExprKind::Aggregate(parts) if expr.ty.vector().is_some() => {
            parts.into_iter().for_each(|p| flatten(p, runs));
        }
        kind => {
            let expr = Expr::new(kind, expr.ty, expr.span);
            let count = expr.ty.arithmetic().map_or(1, |(_, n)| n);
            runs.push(Run { expr, start: 0, count });
        }
    }
}

fn swizzle(e: &mut Expr, cx: &mut Cx<'_>) {
    let ExprKind::Swizzle(base, lanes) = &mut e.kind else { return };
    // An object is not read as a whole for some components.
    place(base, cx);
    // A selection of a selection, as behind `as_T` of the same type, is one of the object.
    while let ExprKind::Swizzle(inner, of) = &mut base.kind {
        lanes.iter_mut().for_each(|lane| *lane = of[usize::from(*lane)]);
        **base = take(inner);
    }
    if base.ty.emulated().is_none() && e.ty.emulated().is_none() {
        return;
    }
    let (base, lanes, span) = (take(base), std::mem::take(lanes), e.span);
    let one = base.ty.emulated().is_none() && lanes.len() == 1;
    let mut before = Vec::new();
    let base = if one || is_cheap(&base) || part(&base, &lanes).is_some() { base } else { keep(base, &mut before, cx) };
    *e = Expr { span, ..sequence(before, select(&base, &lanes)) };
}

/// Lanes of a part of a literal.
#[derive(Clone)]
struct Run {
    expr: Expr,
    start: u8,
    count: u8,
}

fn literal(e: &mut Expr, cx: &mut Cx<'_>) {
    e.for_each_child_mut(&mut |c| lower(c, cx));
    let Some((element, lanes)) = e.ty.emulated() else { return };
    let ExprKind::VectorLiteral(values) = &mut e.kind else { return };
    let mut runs = Vec::new();
    std::mem::take(values).into_iter().for_each(|value| flatten(value, &mut runs));
    let mut before = Vec::new();
    let whole = build(runs, element, lanes, e.span, &mut before, cx);
    *e = Expr { span: e.span, ..sequence(before, whole) };
}

fn build(runs: Vec<Run>, element: Scalar, lanes: u8, span: Span, before: &mut Vec<Expr>, cx: &mut Cx<'_>) -> Expr {
    let ty = Type::lanes(element, lanes);
    if let [run] = runs.as_slice()
        && run.expr.ty == ty
    {
        return run.expr.clone();
    }
    if ty.emulated().is_none() {
        let lane = |run: &Run| select(&run.expr, &(run.start..run.start + run.count).collect::<Vec<u8>>());
        let mut values: Vec<Expr> = runs.iter().map(lane).collect();
        if values.len() == 1 {
            return values.remove(0);
        }
        return Expr::new(ExprKind::VectorLiteral(values), ty, span);
    }
    let (low, high) = halves(lanes);
    let (mut first, mut second, mut count) = (Vec::new(), Vec::new(), 0);
    for mut run in runs {
        let room = low.saturating_sub(count);
        count += run.count;
        if room >= run.count {
            first.push(run);
        } else if room == 0 {
            second.push(run);
        } else {
            if !is_cheap(&run.expr) {
                run.expr = keep(run.expr, before, cx);
            }
            first.push(Run { count: room, ..run.clone() });
            second.push(Run { start: run.start + room, count: run.count - room, ..run });
        }
    }
    // A run that is only a part of its expression is read more than once.
    let first = build(first, element, low, span, before, cx);
    let second = build(second, element, high, span, before, cx);
    Expr::new(ExprKind::Aggregate(vec![first, second]), ty, span)
}

/// Whether the place is a selection from several native parts of a vector.
fn is_spread(place: &Expr) -> bool {
    matches!(&place.kind, ExprKind::Swizzle(base, lanes) if part(base, lanes).is_none())
}

fn assign(e: &mut Expr, cx: &mut Cx<'_>) {
    let ExprKind::Assign(target, value) = &mut e.kind else { return };
    if !is_spread(target) {
        place(target, cx);
        lower(value, cx);
        return;
    }
    let (target, mut value, span) = (take(target), take(value), e.span);
    let mut before = Vec::new();
    // It is named once for each part of the vector.
    let mut target = if is_fixed(&target) {
        target
    } else {
        let (address, target) = hold(target, cx);
        before.extend(address);
        target
    };
    before.iter_mut().for_each(|b| lower(b, cx));
    place(&mut target, cx);
    lower(&mut value, cx);
    let value = keep(value, &mut before, cx);
    let ExprKind::Swizzle(base, lanes) = &target.kind else { unreachable!("a selection stays one") };
    let mut done = 0;
    for (target, lanes) in parts(base, lanes) {
        let taken: Vec<u8> = (done..done + lanes.len() as u8).collect();
        done += lanes.len() as u8;
        let ty = target.ty.clone();
        let change = ExprKind::Assign(Box::new(target), Box::new(select(&value, &taken)));
        before.push(Expr::new(change, ty, span));
    }
    // The value of the change is not used, see `vector::lower_uses`.
    let Some(last) = before.pop() else { unreachable!("there is a part") };
    *e = sequence(before, last);
}

/// `v op= x` is `v = v op x`.
fn assign_op(e: &mut Expr, cx: &mut Cx<'_>) {
    let ExprKind::AssignOp { op, place: target, value, .. } = &mut e.kind else { return };
    if target.ty.emulated().is_none() && !is_double(&target.ty) && !is_spread(target) {
        place(target, cx);
        lower(value, cx);
        return;
    }
    let (op, target, value, span) = (*op, take(target), take(value), e.span);
    let (before, target) = if may_repeat(&target, &value) { (None, target) } else { hold(target, cx) };
    let ty = target.ty.clone();
    let result = binary(op, target.clone(), value, ty.clone());
    let assign = Expr::new(ExprKind::Assign(Box::new(target), Box::new(result)), ty, span);
    *e = sequence(before.into_iter().collect(), assign);
    lower(e, cx);
}

/// `v[i]` with an index that is not constant.
fn element(e: &mut Expr, cx: &mut Cx<'_>) {
    e.for_each_child_mut(&mut |c| lower(c, cx));
    let ExprKind::Index(base, index) = &mut e.kind else { return };
    if base.ty.emulated().is_none() {
        return;
    }
    let index = crate::sema::convert(take(index), &Type::INT);
    *e = call("clmsl_element", vec![take(base), index], e.ty.clone(), e.span);
    operation(e, cx);
}

/// Gives an operator, a conversion or a call its form for whole vectors; the operands are lowered.
fn operation(e: &mut Expr, cx: &mut Cx<'_>) {
    lower_convert(e);
    let wide = |e: &Expr| e.ty.emulated().is_some();
    let concerned = match &e.kind {
        ExprKind::Unary(_, a) => wide(e) || wide(a),
        ExprKind::Binary(_, a, b) => wide(e) || wide(a) || wide(b),
        ExprKind::Convert(a) => e.ty != Type::Void && (wide(e) || wide(a)),
        ExprKind::Msl(head, args) => wide(e) || args.iter().any(wide) || Leaf::is_always_form(head),
        _ => false,
    };
    if !concerned {
        return;
    }
    let (leaf, args): (Leaf, Vec<&Expr>) = match &e.kind {
        ExprKind::Unary(op, a) => (Leaf::Prefix(op.text()), vec![a]),
        ExprKind::Binary(op, a, b) => (Leaf::Infix(op.text()), vec![a, b]),
        ExprKind::Convert(a) => (Leaf::Convert, vec![a]),
        ExprKind::Msl(..) if matches!(e.ty, Type::Bytes(..)) => return,
        ExprKind::Msl(head, args) => (Leaf::of_head(head), args.iter().collect()),
        _ => return,
    };
    let Some(args) = args.iter().map(|a| Shape::of(&a.ty)).collect::<Option<Vec<Shape>>>() else { return };
    let form = Form { leaf, args, ret: e.ty.arithmetic() };
    let name = form.name();
    match &mut e.kind {
        ExprKind::Convert(a) => e.kind = ExprKind::Msl(name, vec![take(a)]),
        ExprKind::Msl(head, _) => *head = name,
        _ => {}
    }
    cx.forms.insert(form);
}

/// Rewrites the initialiser of a constant, which is made of literals.
pub(super) fn lower_constant(e: &mut Expr) {
    if let ExprKind::Convert(a) = &mut e.kind
        && let Some((_, lanes)) = e.ty.emulated()
    {
        e.kind = ExprKind::VectorLiteral(vec![take(a); usize::from(lanes)]);
    }
    let (mut locals, mut diagnostics, mut forms) = (Vec::new(), Vec::new(), Default::default());
    let mut cx = Cx {
        fast_relaxed_math: false,
        locals: &mut locals,
        temporaries: Vec::new(),
        diagnostics: &mut diagnostics,
        forms: &mut forms,
        device_scope: false,
    };
    match &mut e.kind {
        ExprKind::Aggregate(parts) => parts.iter_mut().for_each(lower_constant),
        _ => lower(e, &mut cx),
    }
    assert!(cx.temporaries.is_empty() && cx.forms.is_empty(), "constants are literals");
}
