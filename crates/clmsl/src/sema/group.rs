//! Typing of sub-group and work-group functions.

use super::{Sema, convert};
use crate::builtins::{Collective, GroupOp, Lanes, Resolved, Special};
use crate::hir::{Expr, ExprKind};
use crate::source::Span;
use crate::types::{Scalar, Type};

impl Sema<'_> {
    pub(super) fn group_call(&mut self, group: GroupOp, name: &str, args: Vec<Expr>, span: Span) -> Expr {
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
            GroupOp::Lanes(lanes) => match lanes {
                Lanes::Elect | Lanes::Mask(_) => 0,
                Lanes::Shuffle | Lanes::ShuffleXor | Lanes::ShuffleUp | Lanes::ShuffleDown | Lanes::BitExtract => 2,
                _ => 1,
            },
        };
        if given != wanted {
            return self.bad(span, format!("'{name}' takes {wanted} arguments, these are {given}"));
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
            GroupOp::Lanes(Lanes::Elect) => Some((Vec::new(), Type::INT)),
            GroupOp::Lanes(Lanes::Mask(_)) => Some((Vec::new(), ballot)),
            GroupOp::Lanes(Lanes::Ballot) => {
                let value = self.group_value(args.next()?, name, true)?;
                Some((vec![convert(value, &Type::INT)], ballot))
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
            GroupOp::WorkGroup(Collective::All | Collective::Any)
            | GroupOp::SubGroup(Collective::All | Collective::Any)
            | GroupOp::NonUniform(Collective::All | Collective::Any) => {
                let value = self.integer_argument(args.next()?, &Type::INT, name)?;
                Some((vec![value], Type::INT))
            }
            GroupOp::WorkGroup(_) | GroupOp::SubGroup(_) | GroupOp::NonUniform(_) | GroupOp::Lanes(_) => {
                let folds = matches!(
                    group,
                    GroupOp::WorkGroup(Collective::Fold(..))
                        | GroupOp::SubGroup(Collective::Fold(..))
                        | GroupOp::NonUniform(Collective::Fold(..))
                );
                let value = self.group_value(args.next()?, name, folds)?;
                let scalar = value.ty.arithmetic()?.0;
                let narrow = scalar.size() < 4 && scalar.is_integer();
                let wide = scalar.size() == 8;
                if narrow && matches!(group, GroupOp::WorkGroup(_)) && value.ty.scalar().is_some() {
                    return self.bad_argument(&value, name);
                }
                let is_vector = value.ty.scalar().is_none();
                let here = matches!(group, GroupOp::NonUniform(_) | GroupOp::Lanes(Lanes::AllEqual));
                if wide && (is_vector || here) {
                    self.error(span, format!("'{name}': Metal has no such function for 64-bit values"));
                    return None;
                }
                let ty = if group == GroupOp::Lanes(Lanes::AllEqual) { Type::INT } else { value.ty.clone() };
                let mut out = vec![value];
                for index in args {
                    out.push(self.integer_argument(index, &Type::UINT, name)?);
                }
                Some((out, ty))
            }
        }
    }

    /// A number that goes from one work-item to another.
    fn group_value(&mut self, value: Expr, name: &str, scalar: bool) -> Option<Expr> {
        match value.ty.arithmetic() {
            Some((Scalar::Double, _)) => {
                let message = format!("'{name}' is not supported for 'double' (Metal has no 64-bit floating point)");
                self.error(value.span, message);
                None
            }
            Some((Scalar::Bool, 1)) => Some(convert(value, &Type::INT)),
            Some((_, 1)) => Some(value),
            Some((_, 2..=4)) if !scalar => Some(value),
            _ => self.bad_argument(&value, name),
        }
    }
}
