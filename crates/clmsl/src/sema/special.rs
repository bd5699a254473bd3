//! Typing of the built-in functions that are not in the table.

use super::call::takes;
use super::{Sema, const_int, convert};
use crate::builtins::{AtomicOp, DotBytes, Resolved, Scope, Special};
use crate::hir::{Expr, ExprKind};
use crate::options::Fp64;
use crate::source::Span;
use crate::types::{Scalar, Space, Type};

impl Sema<'_> {
    pub(super) fn special_call(&mut self, special: Special, name: &str, args: Vec<Expr>, span: Span) -> Expr {
        if let Special::Image(op) = special {
            return self.image_call(op, name, args, span);
        }
        if let Special::Group(group) = special {
            return self.group_call(group, name, args, span);
        }
        if let Special::C11 { op, explicit, .. } = special {
            return self.c11_call(op, explicit, name, args, span);
        }
        let expected = match special {
            Special::WorkItem(item) if !item.has_dimension() => 0,
            Special::GridBarrier => 0,
            Special::Barrier if name == "work_group_barrier" && args.len() == 2 => 2,
            Special::WorkItem(_) | Special::Barrier | Special::MemFence => 1,
            Special::Convert { .. } | Special::AsType { .. } | Special::Any | Special::All | Special::Nan => 1,
            Special::Atomic(AtomicOp::Increment | AtomicOp::Decrement) => 1,
            Special::Atomic(AtomicOp::CompareExchange) | Special::Select => 3,
            Special::Atomic(_) | Special::Load(_) | Special::LoadHalf(..) | Special::Upsample => 2,
            Special::Prefetch | Special::WaitEvents => 2,
            Special::Printf => args.len().max(1),
            Special::ToSpace(_) | Special::GetFence => 1,
            Special::AsyncCopy(strided) => 4 + usize::from(strided),
            Special::AsyncLines(planes) => 10 + 3 * usize::from(planes),
            Special::Store(_) | Special::StoreHalf(..) => 3,
            Special::Shuffle(two) => 2 + usize::from(two),
            Special::DotBytes(dot) => 2 + usize::from(dot.accumulates),
            Special::Image(_) | Special::Group(_) | Special::C11 { .. } => unreachable!("these have their own rules"),
        };
        if args.len() != expected {
            return self.bad(span, takes(name, expected, args.len()));
        }
        match self.type_special(special, name, args, span) {
            Some((args, ty)) => {
                let builtin = Resolved::Special(special);
                Expr::new(ExprKind::Builtin { builtin, args }, ty, span)
            }
            None => Expr::error(span),
        }
    }

    fn type_special(
        &mut self,
        special: Special,
        name: &str,
        mut args: Vec<Expr>,
        span: Span,
    ) -> Option<(Vec<Expr>, Type)> {
        match special {
            Special::WorkItem(item) => {
                let args =
                    args.into_iter().map(|a| self.integer_argument(a, &Type::UINT, name)).collect::<Option<_>>()?;
                let ty = if item.is_uint() { Type::UINT } else { Type::ULONG };
                Some((args, ty))
            }
            Special::GridBarrier => Some((args, Type::Void)),
            Special::Barrier | Special::MemFence => {
                let device = args.len() == 2 && self.scope(&args.pop()?, name)? == Scope::Device;
                let flags = self.integer_argument(args.pop()?, &Type::UINT, name)?;
                match const_int(&flags) {
                    Some(f) if f & !7 == 0 => {}
                    Some(_) => {
                        self.error(
                            flags.span,
                            format!(
                                "'{name}': only the fences of local memory, global memory and images are supported"
                            ),
                        );
                        return None;
                    }
                    None => {
                        self.error(flags.span, format!("'{name}': the fence flags must be a constant"));
                        return None;
                    }
                }
                // A second argument says that the whole device sees the order.
                let device = device.then(|| Expr::int(1, Type::UINT, span));
                Some((std::iter::once(flags).chain(device).collect(), Type::Void))
            }
            Special::Convert { scalar, lanes, saturate, .. } => {
                let arg = args.pop()?;
                self.check_convert(&arg, scalar, lanes, saturate, name)?;
                Some((vec![arg], Type::lanes(scalar, lanes)))
            }
            Special::AsType { scalar, lanes } => {
                let arg = args.pop()?;
                let size = |s: Scalar, n: u8| s.size() * if n == 3 { 4 } else { u64::from(n) };
                match arg.ty.arithmetic() {
                    Some((s, n)) if s != Scalar::Bool && size(s, n) == size(scalar, lanes) => {
                        Some((vec![arg], Type::lanes(scalar, lanes)))
                    }
                    _ => {
                        let ty = self.show(&arg.ty);
                        self.error(span, format!("'{name}': '{ty}' does not have the size of the result"));
                        None
                    }
                }
            }
            Special::Select => self.type_select(args, span),
            Special::Any | Special::All => {
                let arg = args.pop()?;
                match arg.ty.arithmetic() {
                    // They take signed integers (OpenCL C 3.0 §6.15.6): the highest bit of a narrower unsigned one is none of theirs.
                    Some((Scalar::UChar | Scalar::UShort | Scalar::Bool, 1)) => {
                        Some((vec![convert(arg, &Type::INT)], Type::INT))
                    }
                    Some((s, _)) if s.is_integer() => Some((vec![arg], Type::INT)),
                    _ => self.bad_argument(&arg, name),
                }
            }
            Special::Atomic(op) => self.type_atomic(op, name, args),
            Special::Load(n) => {
                let pointer = args.pop()?;
                let offset = self.offset_argument(args.pop()?, name)?;
                let element = self.element_of(&pointer, name)?;
                Some((vec![offset, pointer], Type::Vector(element, n)))
            }
            Special::Store(n) => {
                let pointer = args.pop()?;
                let offset = self.offset_argument(args.pop()?, name)?;
                let data = args.pop()?;
                let element = self.writable_element(&pointer, name)?;
                if data.ty != Type::Vector(element, n) {
                    return self.bad_argument(&data, name);
                }
                Some((vec![data, offset, pointer], Type::Void))
            }
            Special::LoadHalf(n, _) => {
                let pointer = args.pop()?;
                let offset = self.offset_argument(args.pop()?, name)?;
                if self.element_of(&pointer, name)? != Scalar::Half {
                    return self.bad_argument(&pointer, name);
                }
                Some((vec![offset, pointer], Type::lanes(Scalar::Float, n)))
            }
            Special::StoreHalf(n, ..) => {
                let pointer = args.pop()?;
                let offset = self.offset_argument(args.pop()?, name)?;
                let data = args.pop()?;
                if self.writable_element(&pointer, name)? != Scalar::Half {
                    return self.bad_argument(&pointer, name);
                }
                let ty = Type::lanes(Scalar::Float, n);
                // A double is rounded once.
                let is_double = data.ty == Type::lanes(Scalar::Double, n);
                let data = if data.ty.scalar().is_some() && n == 1 && !is_double { convert(data, &ty) } else { data };
                if data.ty != ty && !is_double {
                    return self.bad_argument(&data, name);
                }
                Some((vec![data, offset, pointer], Type::Void))
            }
            Special::Upsample => self.type_upsample(args, name),
            Special::Shuffle(_) => self.type_shuffle(args, name),
            Special::DotBytes(dot) => self.type_dot_bytes(dot, args, name),
            Special::Nan => {
                let arg = args.pop()?;
                match arg.ty.arithmetic() {
                    Some((Scalar::Long | Scalar::ULong, 1)) if self.fp64 == Fp64::Emulate => {
                        Some((vec![convert(arg, &Type::ULONG)], Type::DOUBLE))
                    }
                    Some((Scalar::UShort, n)) => Some((vec![arg], Type::lanes(Scalar::Half, n))),
                    Some((s, 1)) if s.is_integer() => Some((vec![convert(arg, &Type::UINT)], Type::FLOAT)),
                    Some((Scalar::UInt, n)) => Some((vec![arg], Type::Vector(Scalar::Float, n))),
                    _ => self.bad_argument(&arg, name),
                }
            }
            Special::Prefetch => Some((args, Type::Void)),
            Special::Printf => self.type_printf(args, span),
            Special::ToSpace(space) => {
                let pointer = args.pop()?;
                match pointer.ty.pointee().cloned() {
                    Some(p) => Some((vec![pointer], Type::pointer(p.ty, space, p.quals))),
                    None => self.bad_argument(&pointer, name),
                }
            }
            Special::GetFence => {
                let pointer = args.pop()?;
                if pointer.ty.pointee().is_none() {
                    return self.bad_argument(&pointer, name);
                }
                Some((vec![pointer], Type::UINT))
            }
            Special::WaitEvents => {
                let events = args.pop()?;
                let count = self.integer_argument(args.pop()?, &Type::INT, name)?;
                match events.ty.pointee() {
                    Some(p) if p.ty == Type::UINT => Some((vec![count, events], Type::Void)),
                    _ => self.bad_argument(&events, name),
                }
            }
            Special::AsyncCopy(_) => self.type_async_copy(args, name),
            Special::AsyncLines(planes) => self.type_async_lines(args, planes, name),
            Special::Image(_) | Special::Group(_) | Special::C11 { .. } => unreachable!("these have their own rules"),
        }
    }

    pub(super) fn bad_argument<T>(&mut self, arg: &Expr, name: &str) -> Option<T> {
        let ty = self.show(&arg.ty);
        self.error(arg.span, format!("'{name}' does not take a '{ty}' here"));
        None
    }

    pub(super) fn integer_argument(&mut self, arg: Expr, ty: &Type, name: &str) -> Option<Expr> {
        if arg.ty.is_integer_scalar() { Some(convert(arg, ty)) } else { self.bad_argument(&arg, name) }
    }

    fn offset_argument(&mut self, arg: Expr, name: &str) -> Option<Expr> {
        self.integer_argument(arg, &Type::ULONG, name)
    }

    pub(super) fn element_of(&mut self, pointer: &Expr, name: &str) -> Option<Scalar> {
        match pointer.ty.pointee().and_then(|p| p.ty.scalar()) {
            Some(s) if s != Scalar::Bool => Some(s),
            _ => self.bad_argument(pointer, name),
        }
    }

    pub(super) fn writable_element(&mut self, pointer: &Expr, name: &str) -> Option<Scalar> {
        let element = self.element_of(pointer, name)?;
        let pointee = pointer.ty.pointee()?;
        if pointee.quals.is_const || self.spaces.resolve(pointee.space) == Space::Constant {
            self.error(pointer.span, format!("'{name}' writes through a pointer to constant data"));
            return None;
        }
        Some(element)
    }

    fn check_convert(&mut self, arg: &Expr, to: Scalar, lanes: u8, saturate: bool, name: &str) -> Option<()> {
        let Some((_, n)) = arg.ty.arithmetic() else { return self.bad_argument(arg, name) };
        if n != lanes {
            return self.bad_argument(arg, name);
        }
        if saturate && to.is_float() {
            self.error(
                arg.span,
                format!("'{name}': conversions to floating point do not saturate (OpenCL C 3.0 §6.4.3.1)"),
            );
            return None;
        }
        Some(())
    }

    fn type_select(&mut self, mut args: Vec<Expr>, span: Span) -> Option<(Vec<Expr>, Type)> {
        let c = args.pop()?;
        let b = args.pop()?;
        let a = args.pop()?;
        let (a, b) = if a.ty == b.ty { (a, b) } else { self.balance("select", a, b, span)? };
        let (Some((s, n)), Some((cs, cn))) = (a.ty.arithmetic(), c.ty.arithmetic()) else {
            return self.bad_argument(&a, "select");
        };
        let fits = cs.is_integer() && cn == n && (n == 1 || cs.size() == s.size());
        if !fits {
            let (x, y) = (self.show(&c.ty), self.show(&a.ty));
            self.error(c.span, format!("'select': the condition '{x}' does not have the shape of '{y}'"));
            return None;
        }
        let ty = a.ty.clone();
        Some((vec![a, b, c], ty))
    }

    fn type_upsample(&mut self, mut args: Vec<Expr>, name: &str) -> Option<(Vec<Expr>, Type)> {
        let low = args.pop()?;
        let high = args.pop()?;
        let (Some((h, n)), Some((l, m))) = (high.ty.arithmetic(), low.ty.arithmetic()) else {
            return self.bad_argument(&high, name);
        };
        // Among scalars the low part converts to the unsigned type that there is.
        let l = if n == 1 && m == 1 && h.size() == l.size() && l.is_integer() { l.unsigned_of_width() } else { l };
        let low = convert(low, &Type::lanes(l, m));
        let wide = match (h, l) {
            (Scalar::Char, Scalar::UChar) => Scalar::Short,
            (Scalar::UChar, Scalar::UChar) => Scalar::UShort,
            (Scalar::Short, Scalar::UShort) => Scalar::Int,
            (Scalar::UShort, Scalar::UShort) => Scalar::UInt,
            (Scalar::Int, Scalar::UInt) => Scalar::Long,
            (Scalar::UInt, Scalar::UInt) => Scalar::ULong,
            _ => return self.bad_argument(&low, name),
        };
        if n != m {
            return self.bad_argument(&low, name);
        }
        Some((vec![high, low], Type::lanes(wide, n)))
    }

    fn type_dot_bytes(&mut self, dot: DotBytes, mut args: Vec<Expr>, name: &str) -> Option<(Vec<Expr>, Type)> {
        if let Some(bytes) = dot.packed {
            for (arg, scalar) in args.iter_mut().zip(bytes) {
                let word = self.integer_argument(arg.clone(), &Type::UINT, name)?;
                let (span, ty) = (word.span, Type::Vector(scalar, 4));
                let builtin = Resolved::Special(Special::AsType { scalar, lanes: 4 });
                *arg = Expr::new(ExprKind::Builtin { builtin, args: vec![word] }, ty, span);
            }
        }
        let bytes = |ty: &Type| matches!(ty, Type::Vector(Scalar::Char | Scalar::UChar, 4));
        if let Some(wrong) = args[..2].iter().find(|a| !bytes(&a.ty)) {
            return self.bad_argument(wrong, name);
        }
        let unsigned = args[..2].iter().all(|a| a.ty == Type::Vector(Scalar::UChar, 4));
        let ty = if unsigned { Type::UINT } else { Type::INT };
        if dot.accumulates {
            let sum = self.integer_argument(args.pop()?, &ty, name)?;
            args.push(sum);
        }
        Some((args, ty))
    }

    /// One or two vectors of one type and a mask, of unsigned integers as wide as the elements, whose lanes are the result's.
    fn type_shuffle(&mut self, mut args: Vec<Expr>, name: &str) -> Option<(Vec<Expr>, Type)> {
        let mask = args.pop()?;
        let Some((element, from)) = args.first().and_then(|a| a.ty.vector()).filter(|&(_, n)| n != 3) else {
            return self.bad_argument(args.first()?, name);
        };
        if let Some(other) = args.get(1)
            && other.ty != Type::Vector(element, from)
        {
            return self.bad_argument(other, name);
        }
        match mask.ty.vector() {
            Some((s, n)) if s.is_integer() && s == element.unsigned_of_width() && n != 3 => {
                args.push(mask);
                Some((args, Type::Vector(element, n)))
            }
            _ => self.bad_argument(&mask, name),
        }
    }

    /// Between local and global memory, elements of one type.
    fn type_async_copy(&mut self, args: Vec<Expr>, name: &str) -> Option<(Vec<Expr>, Type)> {
        let mut args = args.into_iter();
        let (to, from) = (args.next()?, args.next()?);
        let (Some(d), Some(s)) = (to.ty.pointee().cloned(), from.ty.pointee().cloned()) else {
            return self.bad_argument(&to, name);
        };
        if d.ty != s.ty || d.ty.arithmetic().is_none() || d.quals.is_const {
            return self.bad_argument(&from, name);
        }
        let spaces = (self.spaces.resolve(d.space), self.spaces.resolve(s.space));
        if !matches!(spaces, (Space::Local, Space::Global) | (Space::Global, Space::Local)) {
            self.error(to.span, format!("'{name}' copies between __local and __global memory"));
            return None;
        }
        let mut out = vec![to, from];
        let rest: Vec<Expr> = args.collect();
        let last = rest.len().checked_sub(1)?;
        for (i, arg) in rest.into_iter().enumerate() {
            let ty = if i == last { &Type::UINT } else { &Type::ULONG };
            out.push(self.integer_argument(arg, ty, name)?);
        }
        Some((out, Type::UINT))
    }

    /// Destination, source, their offsets, bytes of an element, elements, lines, planes, lengths of a line and of a plane in
    /// the source and in the destination, event; bytes are what is copied.
    fn type_async_lines(&mut self, args: Vec<Expr>, planes: bool, name: &str) -> Option<(Vec<Expr>, Type)> {
        let mut args = args.into_iter();
        let (to, to_offset, from) = (args.next()?, args.next()?, args.next()?);
        let (Some(d), Some(s)) = (to.ty.pointee().cloned(), from.ty.pointee().cloned()) else {
            return self.bad_argument(if to.ty.pointee().is_some() { &from } else { &to }, name);
        };
        let spaces = (self.spaces.resolve(d.space), self.spaces.resolve(s.space));
        if d.quals.is_const || !matches!(spaces, (Space::Local, Space::Global) | (Space::Global, Space::Local)) {
            self.error(to.span, format!("'{name}' copies between __local and __global memory that is not const"));
            return None;
        }
        let bytes =
            |e: Expr, p: &crate::types::Pointee| e.convert(Type::pointer(Type::Scalar(Scalar::Char), p.space, p.quals));
        let mut out = vec![bytes(to, &d), bytes(from, &s), self.offset_argument(to_offset, name)?];
        let mut rest = args.collect::<Vec<Expr>>();
        let event = self.integer_argument(rest.pop()?, &Type::UINT, name)?;
        let number = |n: i128| Expr::int(n, Type::ULONG, event.span);
        if !planes {
            rest.insert(4, number(1));
            rest.insert(6, number(0));
            rest.push(number(0));
        }
        for arg in rest {
            out.push(self.offset_argument(arg, name)?);
        }
        out.push(event);
        Some((out, Type::UINT))
    }

    fn type_atomic(&mut self, op: AtomicOp, name: &str, args: Vec<Expr>) -> Option<(Vec<Expr>, Type)> {
        let mut args = args.into_iter();
        let pointer = args.next()?;
        let Some(pointee) = pointer.ty.pointee().cloned() else {
            return self.bad_argument(&pointer, name);
        };
        let scalar = match pointee.ty.scalar() {
            Some(s @ (Scalar::Int | Scalar::UInt)) => s,
            Some(Scalar::Float) if op == AtomicOp::Exchange => Scalar::Float,
            Some(s) if s.size() == 8 => {
                self.error(pointer.span, super::c11::no_long_atomics(name));
                return None;
            }
            _ => return self.bad_argument(&pointer, name),
        };
        match self.spaces.resolve(pointee.space) {
            Space::Global | Space::Local | Space::Var(_) if !pointee.quals.is_const => {}
            _ => {
                self.error(
                    pointer.span,
                    format!("'{name}' needs a pointer to __global or __local memory that is not const"),
                );
                return None;
            }
        }
        let ty = Type::Scalar(scalar);
        let mut out = vec![pointer];
        for arg in args {
            if arg.ty.scalar().is_none() {
                return self.bad_argument(&arg, name);
            }
            out.push(convert(arg, &ty));
        }
        Some((out, ty))
    }
}
