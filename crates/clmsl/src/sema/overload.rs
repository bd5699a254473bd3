//! Functions with `__attribute__((overloadable))`: several of one name, told apart by their parameters (Clang's extension
//! of C; Clang's headers of OpenCL C declare the built-in functions so, which is why programs add to those as well).
//!
//! A call takes the best candidate declared so far, by the rules of C++ ([over.match.best]): none of its arguments needs a
//! worse conversion than with any other candidate, and one a better. An unqualified pointer as a parameter takes pointers to
//! any memory, like the generic one of OpenCL C 2.0, but worse than a parameter that names the address space.

use super::conv::is_null;
use super::{Entity, Sema};
use crate::builtins;
use crate::diagnostic::Diagnostic;
use crate::hir::{Expr, Function, FunctionId};
use crate::source::Span;
use crate::token::Symbol;
use crate::types::{Scalar, Space, Type};

/// What an argument goes through on its way to a parameter, better ones first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// The same type, but for what [`ADDED_CONST`] and its kin say.
    Exact(u8),
    Promotion,
    Conversion,
}

const ADDED_CONST: u8 = 1;
const ADDED_VOLATILE: u8 = 2;
/// From a pointer to some memory to one to any.
const ANY_SPACE: u8 = 4;

impl Rank {
    /// Whether it is better than the other; of two exact ones, the one that adds less.
    fn beats(self, other: Rank) -> bool {
        match (self, other) {
            (Rank::Exact(a), Rank::Exact(b)) => a != b && a & b == a,
            _ => self < other,
        }
    }
}

impl Sema<'_> {
    /// Finds the function that a declaration declares again, or makes it one more of its name.
    pub(super) fn declare_overload(
        &mut self,
        old: &[FunctionId],
        new: Function,
        symbol: Symbol,
        overloadable: bool,
    ) -> Option<FunctionId> {
        let same = |old: &Function| {
            old.params.len() == new.params.len()
                && old.params.iter().zip(&new.params).all(|(&a, &b)| same_parameter(&old.local(a).ty, &new.local(b).ty))
        };
        if let Some(&id) = old.iter().find(|&&id| same(self.function_ref(id))) {
            let span = new.span;
            return self.redeclare(id, new, span);
        }
        let first = self.function_ref(old[0]);
        let refusal = if !overloadable {
            Some(format!("'{}' is declared with different types, and without the attribute overloadable", new.name))
        } else if new.kernel.is_some() || first.kernel.is_some() {
            Some(format!("the kernel '{}' cannot be overloaded: its name is what the host asks for", new.name))
        } else {
            None
        };
        if let Some(message) = refusal {
            let note = first.span;
            self.report(Diagnostic::error(new.span, message).with_note(note, "first declared here"));
            return None;
        }
        let id = FunctionId(self.program.functions.len() as u32);
        self.program.functions.push(new);
        let all = old.iter().copied().chain([id]).collect();
        if let Some(scope) = self.scopes.first_mut() {
            scope.insert(symbol, Entity::Overloaded(all));
        }
        Some(id)
    }

    /// A call of an overloaded function; of the built-in one of the name if none of the program's fits.
    pub(super) fn overloaded_call(
        &mut self,
        symbol: Symbol,
        candidates: &[FunctionId],
        args: Vec<Expr>,
        at: Span,
        span: Span,
    ) -> Expr {
        if args.iter().any(|a| a.ty.is_error()) {
            return Expr::error(span);
        }
        let name = self.name(symbol);
        let builtin = builtins::find_special(name).is_some() || builtins::rows(name).next().is_some();
        let viable: Vec<(FunctionId, Vec<Rank>)> =
            candidates.iter().filter_map(|&id| Some((id, self.ranks(self.function_ref(id), &args)?))).collect();
        let best: Vec<_> = viable
            .iter()
            .filter(|(id, ranks)| viable.iter().all(|(other, theirs)| id == other || better(ranks, theirs)))
            .collect();
        match (best.as_slice(), viable.as_slice(), candidates) {
            ([(id, ranks)], ..) if !builtin || surely(ranks, &args) => self.user_call(*id, args, span),
            (_, [], _) if builtin => self.builtin_call(symbol, at, args, span),
            // The built-in functions are there for equal types, and so need no conversion.
            _ if builtin && args.iter().all(|a| a.ty.arithmetic().is_some() && a.ty == args[0].ty) => {
                self.builtin_call(symbol, at, args, span)
            }
            (_, [], &[only]) => self.user_call(only, args, span),
            (_, listed, all) => {
                let message = match listed {
                    [] => format!("none of the functions '{name}' takes these arguments"),
                    [_] => format!("whether the built-in '{name}' or the program's is called here is not clear"),
                    _ => format!("which of the functions '{name}' is called is not clear"),
                };
                let shown: Vec<FunctionId> = match listed {
                    [] => all.to_vec(),
                    _ => listed.iter().map(|(id, _)| *id).collect(),
                };
                let mut error = Diagnostic::error(span, message);
                for id in shown.into_iter().take(4) {
                    error = error.with_note(self.function_ref(id).span, "one of them is declared here");
                }
                self.report(error);
                Expr::error(span)
            }
        }
    }

    /// How the arguments get to the parameters, if they can.
    fn ranks(&self, function: &Function, args: &[Expr]) -> Option<Vec<Rank>> {
        if function.params.len() != args.len() {
            return None;
        }
        args.iter().zip(&function.params).map(|(arg, &param)| self.rank(arg, &function.local(param).ty)).collect()
    }

    fn rank(&self, arg: &Expr, to: &Type) -> Option<Rank> {
        match (&arg.ty, to) {
            (Type::Scalar(from), Type::Scalar(to)) => Some(match (from, to) {
                _ if from == to => Rank::Exact(0),
                (Scalar::Bool | Scalar::Char | Scalar::UChar | Scalar::Short | Scalar::UShort, Scalar::Int)
                | (Scalar::Float, Scalar::Double) => Rank::Promotion,
                _ => Rank::Conversion,
            }),
            (Type::Scalar(_), Type::Vector(..)) => Some(Rank::Conversion),
            (Type::Scalar(s), Type::Sampler) if s.is_integer() => Some(Rank::Conversion),
            (Type::Pointer(from), Type::Pointer(into)) => {
                let lost =
                    from.quals.is_const && !into.quals.is_const || from.quals.is_volatile && !into.quals.is_volatile;
                let (a, b) = (self.spaces.resolve(from.space), into.space);
                let other_space = match (a, b) {
                    (Space::Var(_) | Space::Unset, Space::Var(_) | Space::Unset) => Some(0),
                    (_, Space::Var(_) | Space::Unset) => Some(ANY_SPACE),
                    // Not known yet: the call may decide it, if it is the only one that it can be.
                    (Space::Var(_) | Space::Unset, _) => None,
                    (a, b) if a == b => Some(0),
                    _ => return is_null(arg).then_some(Rank::Conversion),
                };
                if lost {
                    return None;
                }
                if !from.ty.same_shape(&into.ty) {
                    return (matches!(from.ty, Type::Void) || matches!(into.ty, Type::Void) || is_null(arg))
                        .then_some(Rank::Conversion);
                }
                let Some(any) = other_space else { return Some(Rank::Conversion) };
                let added = |flag, was: bool, is: bool| if is && !was { flag } else { 0 };
                Some(Rank::Exact(
                    any | added(ADDED_CONST, from.quals.is_const, into.quals.is_const)
                        | added(ADDED_VOLATILE, from.quals.is_volatile, into.quals.is_volatile),
                ))
            }
            (_, Type::Pointer(_)) if is_null(arg) => Some(Rank::Conversion),
            (from, to) => (from == to).then_some(Rank::Exact(0)),
        }
    }
}

fn better(a: &[Rank], b: &[Rank]) -> bool {
    let equal_or_better = |(a, b): (&Rank, &Rank)| a == b || a.beats(*b);
    a.iter().zip(b).all(equal_or_better) && a != b
}

/// Whether no built-in function can fit better: nothing is converted, or a pointer fits, to which those have no other.
fn surely(ranks: &[Rank], args: &[Expr]) -> bool {
    let exact = |rank: &Rank| matches!(rank, Rank::Exact(_));
    ranks.iter().all(exact) || ranks.iter().zip(args).any(|(r, a)| exact(r) && a.ty.pointee().is_some())
}

/// Whether two parameters cannot tell functions apart: the same type, unqualified pointers being of one kind.
fn same_parameter(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Pointer(a), Type::Pointer(b)) => {
            let unqualified = |s| matches!(s, Space::Var(_) | Space::Unset);
            (a.space == b.space || unqualified(a.space) && unqualified(b.space))
                && a.quals.is_const == b.quals.is_const
                && a.quals.is_volatile == b.quals.is_volatile
                && same_parameter(&a.ty, &b.ty)
        }
        _ => a.same_shape(b) || a.is_error() || b.is_error(),
    }
}
