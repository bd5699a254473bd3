//! The walk over expressions: what they are, what memory they reach, and what they count as.

use super::access::MemoryAccess;
use super::cost;
use super::rounds::strip;
use super::step::{Root, SAME, Step, Value, factor, is_wide};
use super::walk::Walk;
use super::work::Counts;
use super::{Cost, CostKind};
use crate::ast::BinaryOp;
use crate::builtins::{C11, ImageOp, Resolved, Special, TABLE, WorkItem};
use crate::hir::{Expr, ExprKind, FunctionId, LocalId, UNDEFINED_LANE, UnaryOp};
use crate::sema::const_int;
use crate::source::Span;
use crate::types::{Scalar, Space, Type, layout};

/// What can be read and written.
pub(super) enum Place {
    /// Of this space, and whether nobody may write there.
    Memory {
        address: Value,
        space: Space,
        is_const: bool,
    },
    /// A variable, or a part of it.
    Variable {
        id: LocalId,
        whole: bool,
    },
    Unknown,
}

impl Walk<'_, '_> {
    fn size(&self, ty: &Type) -> Option<i128> {
        layout(ty, self.calls.texts.structs).map(|(size, _)| i128::from(size))
    }

    /// Bytes of a place. Of components each once: `.xxyy` reads two, and `.hi` of three one.
    fn extent(&self, e: &Expr) -> Option<i128> {
        match &e.kind {
            ExprKind::Swizzle(base, lanes) => {
                let (scalar, _) = base.ty.vector()?;
                let distinct =
                    (0..lanes.len()).filter(|&at| lanes[at] != UNDEFINED_LANE && !lanes[..at].contains(&lanes[at]));
                Some(i128::from(scalar.size()) * distinct.count() as i128)
            }
            _ => self.size(&e.ty),
        }
    }

    /// `pointer + index`
    fn advance(&self, pointer: Value, index: Step, element: &Type) -> Value {
        let step = self.size(element).map_or(Step::Unknown, |size| pointer.step.plus(index.times(size)));
        Value { step, ..pointer }
    }

    fn place(&mut self, e: &Expr) -> Place {
        match &e.kind {
            ExprKind::Local(id) => {
                let local = self.function.local(*id);
                match local.space {
                    Space::Local => {
                        let address = Value::at(Root::Variable);
                        Place::Memory { address, space: Space::Local, is_const: false }
                    }
                    _ => Place::Variable { id: *id, whole: true },
                }
            }
            ExprKind::Constant(_) => {
                let address = Value::at(Root::Variable);
                Place::Memory { address, space: Space::Constant, is_const: true }
            }
            ExprKind::Index(base, index) => {
                let pointee = base.ty.pointee().cloned();
                if let Some(pointee) = pointee {
                    let base = self.value(base);
                    let index = self.value(index).step;
                    let address = self.advance(base, index, &pointee.ty);
                    return Place::Memory { address, space: pointee.space, is_const: pointee.quals.is_const };
                }
                let place = self.place(base);
                let index = self.value(index).step;
                match place {
                    Place::Memory { address, space, is_const } => {
                        Place::Memory { address: self.advance(address, index, &e.ty), space, is_const }
                    }
                    Place::Variable { id, .. } => Place::Variable { id, whole: false },
                    Place::Unknown => Place::Unknown,
                }
            }
            ExprKind::Deref(pointer) => {
                let address = self.value(pointer);
                match pointer.ty.pointee() {
                    Some(p) => Place::Memory { address, space: p.space, is_const: p.quals.is_const },
                    None => Place::Unknown,
                }
            }
            ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) | ExprKind::Half(base, _) => {
                match self.place(base) {
                    Place::Variable { id, .. } => Place::Variable { id, whole: false },
                    other => other,
                }
            }
            _ => {
                self.value(e);
                Place::Unknown
            }
        }
    }

    fn record(&mut self, address: Value, space: Space, bytes: Option<i128>, reads: bool, writes: bool, span: Span) {
        let Some(found) = &mut self.found else { return };
        let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        found.accesses.extend(MemoryAccess::new(address, space, bytes, (reads, writes), span));
        if space == Space::Global {
            let moved = |moves| if moves { bytes } else { 0 };
            let counts = Counts { bytes_read: moved(reads), bytes_written: moved(writes), ..Counts::default() };
            found.count(counts, span);
            if bytes == 0 {
                found.uncounted.push(span);
            }
        }
    }

    /// Something that is done here, unless the text computes it.
    fn count(&mut self, counts: Counts, literal: bool, span: Span) {
        if let Some(found) = self.found.as_mut().filter(|_| !literal) {
            found.count(counts, span);
        }
    }

    /// What takes long of an operator on operands of this type, the right one of which is `by`.
    fn costs(&mut self, op: BinaryOp, ty: &Type, by: (Value, &Expr), literal: bool, span: Span) {
        let Some((scalar, _)) = ty.arithmetic().filter(|_| !literal && self.found.is_some()) else { return };
        let is_division = matches!(op, BinaryOp::Div | BinaryOp::Rem) && !scalar.is_float();
        if scalar == Scalar::Double && cost::binary(op, ty) != Counts::default() {
            self.takes_long(CostKind::Double, span);
        } else if is_division && by.0.step == SAME && !by.0.literal && self.number(by.1).is_none() {
            self.takes_long(CostKind::Division, span);
        }
    }

    fn takes_long(&mut self, kind: CostKind, span: Span) {
        self.found.iter_mut().for_each(|found| found.costs.push(Cost { kind, span }));
    }

    /// What a place holds; it is read.
    fn load(&mut self, place: &Place, e: &Expr, writes: bool) -> Value {
        match *place {
            Place::Memory { address, space, is_const } => {
                self.record(address, space, self.extent(e), true, writes, e.span);
                let fixed = space == Space::Constant || (space == Space::Global && is_const && !writes);
                Value::of(match (space, address.step) {
                    (Space::Private | Space::Unset | Space::Var(_), _) => Step::Unknown,
                    (_, Step::None) => Step::None,
                    (_, SAME) if fixed => SAME,
                    (_, Step::Unknown) => Step::Unknown,
                    _ => Step::Data,
                })
            }
            Place::Variable { id, whole } => {
                let local = self.function.local(id);
                let value = Value { literal: false, ..self.values[id.0 as usize] };
                match (&local.ty, value.step) {
                    // Each work-item has its own.
                    (Type::Array(..), _) => Value::of(Step::Unknown),
                    (_, SAME | Step::None) => value,
                    _ if whole => value,
                    _ => Value::of(value.step.mix(value.step)),
                }
            }
            Place::Unknown => Value::of(Step::Unknown),
        }
    }

    fn store(&mut self, place: &Place, e: &Expr, value: Value) {
        match *place {
            Place::Memory { address, space, .. } => {
                self.record(address, space, self.extent(e), false, true, e.span);
            }
            Place::Variable { id, whole: true } => self.assign(id, value),
            // A part: the rest is as it was.
            Place::Variable { id, whole: false } => {
                self.assign(id, Value::of(if value.step == SAME { SAME } else { Step::Unknown }));
            }
            Place::Unknown => {}
        }
    }

    /// `place op= value`; the new value.
    fn modify(&mut self, place: &Expr, change: impl FnOnce(&mut Self, Value) -> Value) -> Value {
        let to = self.place(place);
        let old = self.load(&to, place, true);
        let new = change(self, old);
        if let Place::Variable { .. } = to {
            self.store(&to, place, new);
        }
        new
    }

    /// A number of the text, or a variable that is one.
    fn factor(&self, e: &Expr) -> Option<i128> {
        let number = match strip(e).kind {
            ExprKind::Local(_) | ExprKind::Constant(_) => self.number(e),
            _ => const_int(e),
        };
        Some(factor(number?, &e.ty))
    }

    fn binary(&self, op: BinaryOp, (a, x): (Step, &Expr), (b, y): (Step, &Expr)) -> Step {
        match op {
            BinaryOp::Add => a.plus(b),
            BinaryOp::Sub => a.plus(b.times(-1)),
            // Numbers of the text are the same for all; only beside others they are looked for, so that no level of a long product
            // computes those below it again.
            BinaryOp::Mul if a == SAME && b == SAME => SAME,
            BinaryOp::Mul if b == SAME => self.factor(y).map_or_else(|| a.product(b), |factor| a.times(factor)),
            BinaryOp::Mul if a == SAME => self.factor(x).map_or_else(|| a.product(b), |factor| b.times(factor)),
            BinaryOp::Mul => a.product(b),
            BinaryOp::Shl if a == SAME && b == SAME => SAME,
            BinaryOp::Shl => match self.factor(y).filter(|_| b == SAME) {
                Some(bits @ 0..=62) => a.times(1 << bits),
                // A number of neighbours' own in the exponent is no distance.
                _ if b == SAME => a.product(b),
                _ => a.mix(b),
            },
            _ => a.mix(b),
        }
    }

    /// A pointer and a number, or two numbers.
    fn sum(&self, op: BinaryOp, (a, x): (Value, &Expr), (b, y): (Value, &Expr)) -> Value {
        match (op, x.ty.pointee(), y.ty.pointee()) {
            (BinaryOp::Add, Some(p), None) => self.advance(a, b.step, &p.ty),
            (BinaryOp::Sub, Some(p), None) => self.advance(a, b.step.times(-1), &p.ty),
            (BinaryOp::Add, None, Some(p)) => self.advance(b, a.step, &p.ty),
            (_, None, None) => Value::of(self.binary(op, (a.step, x), (b.step, y))),
            _ => Value::of(a.step.mix(b.step)),
        }
    }

    fn all(&mut self, list: &[Expr]) -> Step {
        list.iter().fold(SAME, |step, e| {
            let value = self.value(e).step;
            step.mix(value)
        })
    }

    pub(super) fn value(&mut self, e: &Expr) -> Value {
        self.calls.height += 1;
        self.calls.walked += 1;
        let value = self.value_of(e);
        self.calls.height -= 1;
        value
    }

    fn value_of(&mut self, e: &Expr) -> Value {
        match &e.kind {
            ExprKind::Int { .. } | ExprKind::Float(_) | ExprKind::Double(_) | ExprKind::Zero => {
                Value { literal: true, ..Value::of(SAME) }
            }
            ExprKind::Null => Value::at(Root::None),
            ExprKind::Local(_)
            | ExprKind::Constant(_)
            | ExprKind::Index(..)
            | ExprKind::Deref(_)
            | ExprKind::Member(..)
            | ExprKind::Swizzle(..)
            | ExprKind::Half(..) => {
                let place = self.place(e);
                self.load(&place, e, false)
            }
            ExprKind::Unary(op, a) => {
                let Value { step, literal, .. } = self.value(a);
                self.count(cost::unary(*op, &e.ty), literal, e.span);
                Value { literal, ..Value::of(if *op == UnaryOp::Neg { step.times(-1) } else { step.mix(step) }) }
            }
            ExprKind::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr, a, b) => {
                let left = self.value(a).step;
                let mut right = Step::None;
                self.by_some(!matches!(left, SAME | Step::None), |walk| {
                    walk.sometimes(|walk| right = walk.value(b).step);
                });
                Value::of(left.mix(right))
            }
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (self.value(a), self.value(b));
                let literal = left.literal && right.literal;
                self.count(cost::binary(*op, &e.ty), literal, e.span);
                self.costs(*op, &e.ty, (right, b), literal, e.span);
                Value { literal, ..self.sum(*op, (left, a), (right, b)) }
            }
            ExprKind::Assign(place, value) => {
                let new = self.value(value);
                let to = self.place(place);
                self.store(&to, place, new);
                new
            }
            ExprKind::AssignOp { op, place, value, at } => self.modify(place, |walk, old| {
                let operand = walk.value(value);
                walk.count(cost::binary(*op, at), false, e.span);
                walk.costs(*op, at, (operand, value), false, e.span);
                let new = walk.sum(*op, (old, place), (operand, value));
                let keeps = place.ty.pointee().is_some() || (is_wide(&place.ty) && is_wide(at));
                if keeps { new } else { Value::of(new.step.mix(new.step)) }
            }),
            ExprKind::Step { place, prefix, .. } => {
                let mut before = Value::of(Step::Unknown);
                let after = self.modify(place, |walk, old| {
                    walk.count(cost::one(&place.ty), false, e.span);
                    before = old;
                    old
                });
                if *prefix { after } else { before }
            }
            ExprKind::Cond(cond, a, b) | ExprKind::VectorCond(cond, a, b) => {
                let agreed = self.agreed(cond);
                let (mut left, mut right) = (Value::of(Step::Unknown), Value::of(Step::Unknown));
                let is_one = matches!(e.kind, ExprKind::Cond(..));
                self.by_some(!agreed, |walk| {
                    let mut both = |walk: &mut Self| (left, right) = (walk.value(a), walk.value(b));
                    if is_one { walk.sometimes(both) } else { both(walk) }
                });
                let joined = left.join(right);
                match agreed {
                    true => joined,
                    // Some have one, some the other.
                    false => Value { step: left.step.mix(right.step).mix(Step::Unknown), ..joined },
                }
            }
            ExprKind::Comma(a, b) => {
                self.value(a);
                self.value(b)
            }
            ExprKind::Convert(a) => {
                let value = self.value(a);
                if e.ty.pointee().is_some() && a.ty.pointee().is_some() {
                    return value;
                }
                let keeps = is_wide(&e.ty) && matches!(&a.ty, Type::Scalar(s) if s.is_integer() && *s != Scalar::Bool);
                let step = if keeps { value.step } else { value.step.mix(value.step) };
                Value { literal: value.literal, ..Value::of(step) }
            }
            ExprKind::VectorLiteral(list) | ExprKind::Aggregate(list) => Value::of(self.all(list)),
            ExprKind::UnionOf(_, a) => {
                let step = self.value(a).step;
                Value::of(step.mix(step))
            }
            ExprKind::AddressOf(place) | ExprKind::Decay(place) => match self.place(place) {
                Place::Memory { address, .. } => address,
                Place::Variable { .. } | Place::Unknown => Value::of(Step::Unknown),
            },
            ExprKind::Call { function, args, .. } => self.call(*function, args, e.span),
            ExprKind::Builtin { builtin: Resolved::Special(Special::ToSpace(_)), args } => {
                // Its operand or null, which leads nowhere.
                args.iter().fold(Value::of(Step::Unknown), |_, arg| self.value(arg))
            }
            ExprKind::Builtin { builtin, args } => {
                let counts = cost::builtin(*builtin, &e.ty);
                self.count(counts, false, e.span);
                if counts.special > 0 {
                    self.takes_long(CostKind::Special, e.span);
                }
                if counts != Counts::default() && e.ty.arithmetic().is_some_and(|(scalar, _)| scalar == Scalar::Double)
                {
                    self.takes_long(CostKind::Double, e.span);
                }
                if let Some(found) = self.found.as_mut().filter(|_| cost::is_untold(*builtin)) {
                    found.uncounted.push(e.span);
                }
                Value::of(self.builtin(*builtin, args, e))
            }
            ExprKind::Msl(_, list) => {
                self.all(list);
                Value::of(Step::Unknown)
            }
            ExprKind::Name(_) | ExprKind::Hidden(_) | ExprKind::Error => Value::of(Step::Unknown),
        }
    }

    /// A function of the program's.
    fn call(&mut self, function: FunctionId, args: &[Expr], span: Span) -> Value {
        let values: Vec<(Value, Option<i128>)> = args.iter().map(|arg| (self.value(arg), self.number(arg))).collect();
        if self.found.is_none() && values.iter().any(|(value, _)| value.step == Step::None) {
            return Value::NONE;
        }
        let number = self.calls.call(function.0 as usize, values.clone());
        let Some(number) = number else {
            for (arg, (value, _)) in args.iter().zip(values) {
                self.hand_over(arg, value, span);
            }
            if let Some(found) = &mut self.found {
                found.uncounted.push(span);
            }
            return Value::of(Step::Unknown);
        };
        let summary = self.calls.summary(number);
        if let Some(found) = &mut self.found {
            found.calls.push((number, span));
            found.count_work(&summary.work, span);
        }
        summary.returned
    }

    /// What a function is passed that is not followed: what it does with a pointer is not known.
    fn hand_over(&mut self, arg: &Expr, value: Value, span: Span) {
        if let Some(pointee) = arg.ty.pointee() {
            let unknown = Value { step: Step::Unknown, ..value };
            self.record(unknown, pointee.space, None, true, !pointee.quals.is_const, span);
        }
    }

    /// Arguments of a function that is not followed.
    fn passed(&mut self, args: &[Expr], span: Span) -> Step {
        let mut step = SAME;
        for arg in args {
            let value = self.value(arg);
            step = step.mix(value.step);
            self.hand_over(arg, value, span);
        }
        step
    }

    /// An access of the size of what a pointer points to.
    fn at_pointer(&mut self, pointer: &Expr, (reads, writes): (bool, bool), span: Span) -> Step {
        let address = self.value(pointer);
        if let Some(pointee) = pointer.ty.pointee() {
            self.record(address, pointee.space, self.size(&pointee.ty), reads, writes, span);
        }
        address.step
    }

    fn builtin(&mut self, builtin: Resolved, args: &[Expr], e: &Expr) -> Step {
        match (builtin, args) {
            (Resolved::Special(Special::WorkItem(item)), _) => self.work_item(item, args),
            (Resolved::Special(Special::Load(lanes)), [index, pointer]) => {
                self.vector(index, pointer, (lanes, lanes), (true, false), e.span)
            }
            (Resolved::Special(Special::Store(lanes)), [data, index, pointer]) => {
                self.value(data);
                self.vector(index, pointer, (lanes, lanes), (false, true), e.span)
            }
            (Resolved::Special(Special::LoadHalf(lanes, aligned)), [index, pointer]) => {
                let apart = if aligned && lanes == 3 { 4 } else { lanes };
                self.vector(index, pointer, (lanes, apart), (true, false), e.span)
            }
            (Resolved::Special(Special::StoreHalf(lanes, aligned, _)), [data, index, pointer]) => {
                self.value(data);
                let apart = if aligned && lanes == 3 { 4 } else { lanes };
                self.vector(index, pointer, (lanes, apart), (false, true), e.span)
            }
            (Resolved::Special(Special::Atomic(_)), [pointer, operands @ ..]) => {
                self.at_pointer(pointer, (true, true), e.span);
                self.all(operands);
                Step::Data
            }
            (Resolved::Special(Special::C11 { op, .. }), [pointer, operands @ ..]) if op != C11::Fence => {
                let reads = !matches!(op, C11::Init | C11::Store | C11::Clear);
                self.at_pointer(pointer, (reads, op != C11::Load), e.span);
                for operand in operands {
                    match operand.ty.pointee() {
                        // What is expected, and what was there.
                        Some(_) => _ = self.at_pointer(operand, (true, true), e.span),
                        None => _ = self.value(operand),
                    }
                }
                Step::Data
            }
            (Resolved::Special(Special::Image(op)), _) => {
                if let (ImageOp::Read(_) | ImageOp::Write(_), Some(found)) = (op, &mut self.found) {
                    found.uncounted.push(e.span);
                }
                self.all(args);
                Step::Unknown
            }
            (Resolved::Special(Special::GetFence), _) => {
                self.all(args);
                Step::Unknown
            }
            (Resolved::Special(Special::Prefetch), _) => self.all(args),
            (Resolved::Row(row, ..), [a, b, rest @ ..]) if matches!(TABLE[row].name, "mul24" | "mad24") => {
                let (left, right) = (self.value(a).step, self.value(b).step);
                let product = self.binary(BinaryOp::Mul, (left, a), (right, b));
                rest.iter().fold(product, |sum, c| {
                    let c = self.value(c).step;
                    sum.plus(c)
                })
            }
            (Resolved::Row(..), _) => {
                let mut step = SAME;
                for arg in args {
                    let of = match arg.ty.pointee() {
                        // A second result.
                        Some(_) => self.at_pointer(arg, (false, true), e.span),
                        None => self.value(arg).step,
                    };
                    step = step.mix(of);
                }
                step
            }
            (Resolved::Special(Special::Convert { .. } | Special::AsType { .. }), _) => self.passed(args, e.span),
            _ => {
                self.passed(args, e.span);
                Step::Unknown
            }
        }
    }

    /// `vload4(index, pointer)` and its kin, of so many elements, and so many from one index to the next.
    fn vector(
        &mut self,
        index: &Expr,
        pointer: &Expr,
        (lanes, apart): (u8, u8),
        (reads, writes): (bool, bool),
        span: Span,
    ) -> Step {
        let index = self.value(index).step;
        let base = self.value(pointer);
        let Some(pointee) = pointer.ty.pointee() else { return Step::Unknown };
        let address = self.advance(base, index.times(i128::from(apart)), &pointee.ty);
        let bytes = self.size(&pointee.ty).map(|size| size * i128::from(lanes));
        self.record(address, pointee.space, bytes, reads, writes, span);
        if address.step == Step::Unknown { Step::Unknown } else { Step::Data }
    }

    fn work_item(&mut self, item: WorkItem, args: &[Expr]) -> Step {
        let asked = self.all(args);
        let dimension = args.first().map(const_int);
        match item {
            WorkItem::GlobalId | WorkItem::LocalId => match dimension {
                Some(Some(number)) if number == self.calls.dimension.into() => Step::Known(1),
                Some(Some(_)) => SAME,
                _ => Step::Unknown,
            },
            // In another dimension it differs by the size of those below.
            WorkItem::GlobalLinearId | WorkItem::LocalLinearId if self.calls.dimension > 0 => Step::Even,
            WorkItem::GlobalLinearId | WorkItem::LocalLinearId => Step::Known(1),
            WorkItem::SubGroupSize | WorkItem::SubGroupId | WorkItem::SubGroupLocalId => Step::Unknown,
            WorkItem::GroupId
            | WorkItem::GlobalSize
            | WorkItem::LocalSize
            | WorkItem::EnqueuedLocalSize
            | WorkItem::NumGroups
            | WorkItem::GlobalOffset
            | WorkItem::WorkDim
            | WorkItem::MaxSubGroupSize
            | WorkItem::NumSubGroups
            | WorkItem::EnqueuedNumSubGroups => asked,
        }
    }
}
