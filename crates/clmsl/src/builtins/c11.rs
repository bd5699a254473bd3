//! The names of C11's atomic functions (OpenCL C 3.0 §6.15.12).

use super::special::AtomicOp;

/// What an atomic function of C11 does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum C11 {
    Init,
    Load,
    Store,
    Exchange,
    /// Weak or strong: Metal's weak form is repeated for both.
    CompareExchange,
    Fetch(AtomicOp),
    TestAndSet,
    Clear,
    /// `atomic_work_item_fence`
    Fence,
}

/// Who is to see the order of memory operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    WorkItem,
    SubGroup,
    WorkGroup,
    Device,
}

/// What an operation orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    /// Part of the one total order of all such operations (`memory_order_seq_cst`).
    pub(crate) total: bool,
    pub(crate) scope: Scope,
}

impl Order {
    /// What a function without an argument for it has.
    pub(crate) const DEFAULT: Order = Order { acquire: true, release: true, total: true, scope: Scope::Device };
}

/// The function of this name, and whether it takes the order as an argument.
pub(crate) fn find(name: &str) -> Option<(C11, bool)> {
    let name = name.strip_prefix("atomic_")?;
    if name == "work_item_fence" {
        return Some((C11::Fence, true));
    }
    let (name, explicit) = match name.strip_suffix("_explicit") {
        Some(short) => (short, true),
        None => (name, false),
    };
    let op = match name {
        "init" if !explicit => C11::Init,
        "load" => C11::Load,
        "store" => C11::Store,
        "exchange" => C11::Exchange,
        "compare_exchange_strong" | "compare_exchange_weak" => C11::CompareExchange,
        "fetch_add" => C11::Fetch(AtomicOp::Add),
        "fetch_sub" => C11::Fetch(AtomicOp::Sub),
        "fetch_and" => C11::Fetch(AtomicOp::And),
        "fetch_or" => C11::Fetch(AtomicOp::Or),
        "fetch_xor" => C11::Fetch(AtomicOp::Xor),
        "fetch_min" => C11::Fetch(AtomicOp::Min),
        "fetch_max" => C11::Fetch(AtomicOp::Max),
        "flag_test_and_set" => C11::TestAndSet,
        "flag_clear" => C11::Clear,
        _ => return None,
    };
    Some((op, explicit))
}
