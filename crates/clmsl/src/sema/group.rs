//! Typing of sub-group and work-group functions.

use super::call::takes;
use super::{Sema, convert};
use crate::builtins::{Collective, Fold, GroupOp, Lanes, Resolved, Special};
use crate::hir::{Expr, ExprKind};
use crate::source::Span;
use crate::types::{Scalar, Type};

impl Sema<'_> {
    pub(super) fn group_call(&mut self, group: GroupOp, name: &str, args: Vec<Expr>, span: Span) -> Expr {
        if let (GroupOp::Block { .. }, Some(Type::Image(_))) = (group, args.first().map(|a| &a.ty)) {
            return self.bad(span, format!("'{name}' of an image is not supported: blocks are those of buffers"));
        }
        let given = args.len();
        let wanted = match group {
            GroupOp::WorkGroup(Collective::Broadcast) => given.clamp(2, 4),
            GroupOp::SubGroupBarrier => given.clamp(1, 2),
            GroupOp::WorkGroup(c) | GroupOp::SubGroup(c) | GroupOp::NonUniform(c) => {
                if c == Collective::Broadcast {
                    2
                } else {
                    1
                }
            }
            GroupOp::Clustered(_) => 2,
            GroupOp::Block { write, .. } => 1 + usize::from(write),
            GroupOp::Lanes(lanes) => match lanes {
                Lanes::Elect | Lanes::Mask(_) => 0,
                Lanes::Shuffle | Lanes::ShuffleXor | Lanes::ShuffleUp | Lanes::ShuffleDown => 2,
                Lanes::Rotate | Lanes::BitExtract => 2,
                Lanes::ClusteredRotate => 3,
                _ => 1,
            },
        };
        if given != wanted {
            return self.bad(span, takes(name, wanted, given));
        }
        match self.group_arguments(group, name, args, span) {
            Some((args, ty)) => {
                let builtin = Resolved::Special(Special::Group(group));
                Expr::new(ExprKind::Builtin { builtin, args }, ty, span)
            }
            None => Expr::error(span),
        }
    }

    fn group_arguments(
        &mut self,
        group: GroupOp,
        name: &str,
        args: Vec<Expr>,
        span: Span,
    ) -> Option<(Vec<Expr>, Type)> {
        let ballot = Type::Vector(Scalar::UInt, 4);
        let mut args = args.into_iter();
        match group {
            GroupOp::SubGroupBarrier => {
                let flags = args.next()?;
                if let Some(scope) = args.next() {
                    self.scope(&scope, name)?;
                }
                match super::const_int(&flags) {
                    Some(f) if f & !3 == 0 => Some((vec![convert(flags, &Type::UINT)], Type::Void)),
                    _ => {
                        self.error(flags.span, format!("'{name}': the fence flags must be a constant"));
                        None
                    }
                }
            }
            GroupOp::Block { write, element, lanes } => {
                let ty = Type::lanes(element, lanes);
                let pointer = args.next()?;
                let found = if write { self.writable_element(&pointer, name) } else { self.element_of(&pointer, name) };
                if found? != element {
                    return self.bad_argument(&pointer, name);
                }
                let Some(data) = args.next() else { return Some((vec![pointer], ty)) };
                match data.ty.arithmetic() {
                    Some((_, 1)) if lanes == 1 => Some((vec![pointer, convert(data, &ty)], Type::Void)),
                    _ if data.ty == ty => Some((vec![pointer, data], Type::Void)),
                    _ => self.bad_argument(&data, name),
                }
            }
            GroupOp::Lanes(Lanes::Elect) => Some((Vec::new(), Type::INT)),
            GroupOp::Lanes(Lanes::Mask(_)) => Some((Vec::new(), ballot)),
            GroupOp::Lanes(Lanes::Ballot) => {
                let value = self.predicate(args.next()?, name)?;
                Some((vec![value], ballot))
            }
            GroupOp::Lanes(
                lanes @ (Lanes::InverseBallot
                | Lanes::BitExtract
                | Lanes::BitCount
                | Lanes::BitInclusiveScan
                | Lanes::BitExclusiveScan
                | Lanes::FindLsb
                | Lanes::FindMsb),
            ) => {
                let value = args.next()?;
                if value.ty != ballot {
                    return self.bad_argument(&value, name);
                }
                let mut out = vec![value];
                if let Some(index) = args.next() {
                    out.push(self.integer_argument(index, &Type::UINT, name)?);
                }
                let truth = matches!(lanes, Lanes::InverseBallot | Lanes::BitExtract);
                Some((out, if truth { Type::INT } else { Type::UINT }))
            }
            GroupOp::Clustered(op) => {
                let value = args.next()?;
                let value = match op {
                    Collective::Logical(..) => self.predicate(value, name)?,
                    _ => self.folded(op, value, name)?,
                };
                let size = self.cluster_size(&args.next()?, name)?;
                let ty = value.ty.clone();
                Some((vec![value, size], ty))
            }
            GroupOp::Lanes(Lanes::ClusteredRotate) => {
                let value = self.group_value(args.next()?, name, true)?;
                let delta = self.integer_argument(args.next()?, &Type::INT, name)?;
                let size = self.cluster_size(&args.next()?, name)?;
                let ty = value.ty.clone();
                Some((vec![value, delta, size], ty))
            }
            GroupOp::Lanes(Lanes::Rotate) => {
                let value = self.group_value(args.next()?, name, true)?;
                let delta = self.integer_argument(args.next()?, &Type::INT, name)?;
                let ty = value.ty.clone();
                Some((vec![value, delta], ty))
            }
            GroupOp::Lanes(Lanes::AllEqual) => {
                let value = self.group_value(args.next()?, name, true)?;
                Some((vec![value], Type::INT))
            }
            GroupOp::WorkGroup(op) | GroupOp::SubGroup(op) | GroupOp::NonUniform(op) => {
                let value = args.next()?;
                let mut value = match op {
                    Collective::All | Collective::Any | Collective::Logical(..) => {
                        let value = self.predicate(value, name)?;
                        return Some((vec![value], Type::INT));
                    }
                    Collective::Broadcast => self.group_value(value, name, matches!(group, GroupOp::WorkGroup(_)))?,
                    Collective::Fold(..) => self.folded(op, value, name)?,
                };
                let narrow = value.ty.scalar().is_some_and(|s| s.size() < 4 && s.is_integer());
                if narrow && matches!(group, GroupOp::WorkGroup(_)) {
                    // There is none for it, so it is promoted.
                    value = convert(value, &Type::INT);
                }
                let ty = value.ty.clone();
                let mut out = vec![value];
                for index in args {
                    out.push(self.integer_argument(index, &Type::UINT, name)?);
                }
                Some((out, ty))
            }
            GroupOp::Lanes(_) => {
                let value = self.group_value(args.next()?, name, false)?;
                if value.ty.vector().is_some_and(|(s, _)| s.size() == 8) {
                    self.error(span, format!("'{name}': Metal has no such function for vectors of 64-bit values"));
                    return None;
                }
                let ty = value.ty.clone();
                let mut out = vec![value];
                for index in args {
                    out.push(self.integer_argument(index, &Type::UINT, name)?);
                }
                Some((out, ty))
            }
        }
    }

    /// An argument of type `int`: of a number between -1 and 1, 0 is left.
    fn predicate(&mut self, value: Expr, name: &str) -> Option<Expr> {
        self.group_value(value, name, true).map(|value| convert(value, &Type::INT))
    }

    /// A number that is folded with those of others.
    fn folded(&mut self, op: Collective, value: Expr, name: &str) -> Option<Expr> {
        let value = self.group_value(value, name, true)?;
        let bits = matches!(op, Collective::Fold(Fold::And | Fold::Or | Fold::Xor, _));
        if bits && !value.ty.is_integer_scalar() { self.bad_argument(&value, name) } else { Some(value) }
    }

    fn cluster_size(&mut self, size: &Expr, name: &str) -> Option<Expr> {
        match super::const_int(size) {
            Some(n @ (1 | 2 | 4 | 8 | 16 | 32)) => Some(Expr::int(n, Type::UINT, size.span)),
            _ => {
                let message = format!("'{name}': the size of clusters must be a constant, a power of two up to 32");
                self.error(size.span, message);
                None
            }
        }
    }

    /// A number that goes from one work-item to another.
    fn group_value(&mut self, value: Expr, name: &str, scalar: bool) -> Option<Expr> {
        match value.ty.arithmetic() {
            Some((Scalar::Bool, 1)) => Some(convert(value, &Type::INT)),
            Some((_, 1)) => Some(value),
            Some(_) if !scalar => Some(value),
            _ => self.bad_argument(&value, name),
        }
    }
}
