//! Typing of C11's atomic functions (OpenCL C 3.0 §6.15.12): the object, the values, the order and the scope.

use super::call::takes;
use super::{Sema, const_int, convert};
use crate::builtins::{AtomicOp, C11, Order, Resolved, Scope, Special};
use crate::hir::{Expr, ExprKind};
use crate::source::Span;
use crate::types::{Space, Type};

/// The values of `memory_order_relaxed` and its kin.
const RELAXED: i128 = 0;
const ACQUIRE: i128 = 2;
const RELEASE: i128 = 3;
const ACQ_REL: i128 = 4;
const SEQ_CST: i128 = 5;

/// `memory_order_acquire`, `memory_scope_device` and their kin.
pub(super) fn predeclared(name: &str) -> Option<i128> {
    Some(match name {
        "memory_order_relaxed" => RELAXED,
        "memory_order_acquire" => ACQUIRE,
        "memory_order_release" => RELEASE,
        "memory_order_acq_rel" => ACQ_REL,
        "memory_order_seq_cst" => SEQ_CST,
        "memory_scope_work_item" => 0,
        "memory_scope_work_group" => 1,
        "memory_scope_device" => 2,
        "memory_scope_all_svm_devices" | "memory_scope_all_devices" => 3,
        "memory_scope_sub_group" => 4,
        _ => return None,
    })
}

/// Why there are no atomic functions of 64 bits (MSL's `atomic_ulong`).
pub(super) fn no_long_atomics(name: &str) -> String {
    format!(
        "'{name}': 64-bit atomics are not supported: Metal has only the minimum and maximum of 'ulong' in device memory, \
         without a result, on its newest GPUs"
    )
}

impl Sema<'_> {
    pub(super) fn c11_call(&mut self, op: C11, explicit: bool, name: &str, args: Vec<Expr>, span: Span) -> Expr {
        let values = match op {
            C11::Load | C11::TestAndSet | C11::Clear | C11::Fence => 1,
            C11::Init | C11::Store | C11::Exchange | C11::Fetch(_) => 2,
            C11::CompareExchange => 3,
        };
        let orders = match (explicit, op) {
            (false, _) => 0,
            (true, C11::CompareExchange) => 2,
            (true, _) => 1,
        };
        let given = args.len();
        if given < values + orders || given > values + orders + usize::from(explicit) {
            let wanted = values + orders;
            return self.bad(span, takes(name, wanted, given));
        }
        let mut args = args;
        let rest = args.split_off(values);
        let Some(order) = self.order(op, name, &rest[..orders], rest.get(orders)) else { return Expr::error(span) };
        let typed = if op == C11::Fence {
            self.fence_flags(args, order, name)
        } else {
            self.c11_arguments(op, order, name, args)
        };
        let Some((args, ty)) = typed else { return Expr::error(span) };
        let builtin = Resolved::Special(Special::C11 { op, order, explicit });
        let call = Expr::new(ExprKind::Builtin { builtin, args }, ty, span);
        if call.ty == Type::BOOL { convert(call, &Type::INT) } else { call }
    }

    fn fence_flags(&mut self, mut args: Vec<Expr>, order: Order, name: &str) -> Option<(Vec<Expr>, Type)> {
        let flags = args.pop()?;
        let message = match const_int(&flags) {
            Some(4..=7) if order.scope == Scope::Device => {
                "Metal shows what is written to an image to other work-groups only when the kernel has ended"
            }
            Some(1..=7) => return Some((vec![convert(flags, &Type::UINT)], Type::Void)),
            _ => "the flags must be a constant of local, global and image memory",
        };
        self.error(flags.span, format!("'{name}': {message}"));
        None
    }

    fn order(&mut self, op: C11, name: &str, orders: &[Expr], scope: Option<&Expr>) -> Option<Order> {
        let mut order = if op == C11::Init {
            Order { acquire: false, release: false, total: false, scope: Scope::WorkItem }
        } else {
            Order::DEFAULT
        };
        for (i, given) in orders.iter().enumerate() {
            let fits = |value: i128| match (op, i) {
                (C11::Load, _) | (C11::CompareExchange, 1) => matches!(value, RELAXED | ACQUIRE | SEQ_CST),
                (C11::Store | C11::Clear, _) => matches!(value, RELAXED | RELEASE | SEQ_CST),
                _ => matches!(value, RELAXED | ACQUIRE | RELEASE | ACQ_REL | SEQ_CST),
            };
            let Some(value) = const_int(given).filter(|&v| fits(v)) else {
                let message = format!("'{name}': the memory order must be a constant that the operation can have");
                self.error(given.span, message);
                return None;
            };
            if i == 0 {
                order.acquire = matches!(value, ACQUIRE | ACQ_REL | SEQ_CST);
                order.release = matches!(value, RELEASE | ACQ_REL | SEQ_CST);
                order.total = value == SEQ_CST;
            } else {
                // A failure that orders more than a success makes the whole do so.
                order.acquire |= value != RELAXED;
                order.release |= value == SEQ_CST;
                order.total |= value == SEQ_CST;
            }
        }
        if let Some(given) = scope {
            order.scope = self.scope(given, name)?;
        }
        Some(order)
    }

    /// A memory scope.
    pub(super) fn scope(&mut self, given: &Expr, name: &str) -> Option<Scope> {
        match const_int(given) {
            Some(0) => Some(Scope::WorkItem),
            Some(1) => Some(Scope::WorkGroup),
            Some(2) => Some(Scope::Device),
            Some(4) => Some(Scope::SubGroup),
            Some(3) => {
                let message = format!("'{name}': Metal orders the memory operations of one device, not of all devices");
                self.error(given.span, message);
                None
            }
            _ => {
                self.error(given.span, format!("'{name}': the memory scope must be a constant"));
                None
            }
        }
    }

    fn c11_arguments(&mut self, op: C11, order: Order, name: &str, args: Vec<Expr>) -> Option<(Vec<Expr>, Type)> {
        let mut args = args.into_iter();
        let object = args.next()?;
        let Some(pointee) = object.ty.pointee().cloned() else { return self.bad_argument(&object, name) };
        let Type::Atomic(scalar) = pointee.ty else {
            let ty = self.show(&object.ty);
            self.error(object.span, format!("'{name}' needs a pointer to an atomic type, not '{ty}'"));
            return None;
        };
        if scalar.size() == 8 {
            self.error(object.span, no_long_atomics(name));
            return None;
        }
        let is_float = scalar.is_float();
        let arithmetic = matches!(op, C11::Fetch(AtomicOp::Add | AtomicOp::Sub));
        if is_float && matches!(op, C11::Fetch(_)) && !arithmetic {
            let message = format!("'{name}': Metal has no such operation on floats");
            self.error(object.span, message);
            return None;
        }
        // A read that is part of a total order writes what it read (see `lower::c11`).
        let writes = op != C11::Load || order.total;
        let in_memory = matches!(self.spaces.resolve(pointee.space), Space::Global | Space::Local | Space::Var(_));
        if !in_memory || (pointee.quals.is_const && writes) {
            let message = format!("'{name}' needs a pointer to __global or __local memory that is not const");
            self.error(object.span, message);
            return None;
        }
        let value = Type::Scalar(scalar);
        let mut out = vec![object];
        if op == C11::CompareExchange {
            out.push(self.pointer_argument(args.next()?, &value, &format!("argument 2 of '{name}'")));
        }
        for arg in args {
            if arg.ty.scalar().is_none() {
                return self.bad_argument(&arg, name);
            }
            out.push(convert(arg, &value));
        }
        if out.iter().any(|a| a.ty.is_error()) {
            return None;
        }
        let ty = match op {
            C11::Init | C11::Store | C11::Clear | C11::Fence => Type::Void,
            C11::CompareExchange | C11::TestAndSet => Type::BOOL,
            C11::Load | C11::Exchange | C11::Fetch(_) => value,
        };
        Some((out, ty))
    }
}
