//! What kernels do that a host's choices rest on: facts of the typed program, each with its place in the source.
//!
//! A kernel's facts are its own and those of every function it can reach by calls. What stands in the text counts, whether it
//! is run or not: so what is absent never happens, and what is present may. The walk is over the program before it is
//! lowered, in OpenCL C's terms, with one copy of a function for each combination of address spaces.

mod access;
mod call;
mod cost;
mod estimate;
mod rounds;
mod step;
mod value;
mod walk;
mod work;

use std::fmt;

use serde::Serialize;

use crate::builtins::{C11, GroupOp, Resolved, Scope, Special, WorkItem};
use crate::hir::{Constant, Expr, ExprKind, Function};
use crate::sema::const_int;
use crate::source::Span;
use crate::types::{Space, Struct};

use call::{Calls, Listed, Texts};

pub use access::{AccessPattern, MemoryAccess};
pub use estimate::Lanes;
pub use work::{Counts, Intensity, Loop, Ratio, Work};

/// What the kernels of a translation do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Analysis {
    /// The kernels, each under the name of its source, in the order of [`Reflection::kernels`](crate::Reflection::kernels).
    pub kernels: Vec<KernelAnalysis>,
}

/// What one kernel does, itself or by the functions it calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelAnalysis {
    /// The kernel's name in the source.
    pub name: String,
    /// What it does, in the order of the source, nothing twice. Where the kernels of a translation have many times more facts together
    /// than its text is long, of a function that it calls one of each kind.
    pub facts: Vec<Fact>,
    /// Where it reads and writes global, constant and local memory, in the order of the source, nothing twice; without tables of
    /// the program in constant memory. Where the kernels of a translation have many times more of them together than its text is long,
    /// those of a function that it calls are missing, and the call is among `uncounted`.
    pub accesses: Vec<MemoryAccess>,
    /// What one work-item does, as far as the text tells; the rest is in `uncounted`.
    pub work: Work,
    /// Places whose bytes of global memory, operations over a group, or calls are not in `work`, as the text does not tell how much they are; and calls of
    /// functions whose places are not in `accesses`, or not here.
    /// [`Sources::location`](crate::Sources::location) has the lines.
    #[serde(skip)]
    pub uncounted: Vec<Span>,
    /// What takes GPUs longer than its operations show, in the order of the source, nothing twice. Where the kernels of a translation have many times
    /// more together than its text is long, those of a function that it calls are missing, and the call is among `uncounted`.
    pub costs: Vec<Cost>,
}

/// Something that a kernel does at a place of its source and that takes a GPU longer than other operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// What.
    pub kind: CostKind,
    /// Where. [`Sources::location`](crate::Sources::location) has the line.
    #[serde(skip)]
    pub span: Span,
}

/// What takes a GPU longer than other operations do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CostKind {
    /// A division of integers, or a remainder, by a number that all work-items have alike and the text does not tell: no GPU of Apple's has an
    /// instruction for it, and no compiler can make a multiplication of it.
    Division,
    /// A function whose values are counted as special.
    Special,
    /// An operation on `double`, which Metal does not have: it is done with integers ([`Fp64::Emulate`](crate::Fp64::Emulate)), or as on `float`.
    Double,
}

impl CostKind {
    /// Every kind, in the order of its declaration.
    pub const ALL: [CostKind; 3] = [CostKind::Division, CostKind::Special, CostKind::Double];
}

/// Something that a kernel does at a place of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What.
    pub kind: FactKind,
    /// Where: the call, or the variable's name. [`Sources::location`](crate::Sources::location) has the line.
    #[serde(skip)]
    pub span: Span,
}

/// What a kernel can do that depends on work-groups, or orders work-items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FactKind {
    /// The work-items of a group wait for each other (`barrier`, `wait_group_events`).
    Barrier,
    /// A function that the work-items of a group call together (`work_group_reduce_add`, `async_work_group_copy`). Most of
    /// them wait for each other too.
    WorkGroup,
    /// A function or number of sub-groups (`sub_group_shuffle`, `get_sub_group_id`).
    SubGroup,
    /// A `__local` variable, or a parameter that points to local memory.
    LocalMemory,
    /// A number that tells of work-groups (`get_local_id`, `get_group_id`, `get_local_size`, `get_num_groups`).
    GroupPosition,
    /// A fence, or an atomic function whose scope is smaller than the device.
    Fence,
    /// An atomic function on global memory, of the device's scope.
    Atomic,
    /// `printf`
    Print,
}

impl FactKind {
    /// Every kind, in the order of its declaration.
    pub const ALL: [FactKind; 8] = [
        FactKind::Barrier,
        FactKind::WorkGroup,
        FactKind::SubGroup,
        FactKind::LocalMemory,
        FactKind::GroupPosition,
        FactKind::Fence,
        FactKind::Atomic,
        FactKind::Print,
    ];

    /// Whether by it what a kernel computes can depend on the size of its work-groups. Atomic functions and `printf` make
    /// what depends on the order of the work-items, which no size of the groups decides.
    pub fn depends_on_groups(self) -> bool {
        !matches!(self, FactKind::Atomic | FactKind::Print)
    }
}

impl fmt::Display for FactKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FactKind::Barrier => "a barrier",
            FactKind::WorkGroup => "a function of the work-group",
            FactKind::SubGroup => "a function of sub-groups",
            FactKind::LocalMemory => "local memory",
            FactKind::GroupPosition => "a position or size of work-groups",
            FactKind::Fence => "a fence",
            FactKind::Atomic => "an atomic function",
            FactKind::Print => "printf",
        })
    }
}

impl KernelAnalysis {
    /// At how many places of the source it does this, by `facts`.
    pub fn count(&self, kind: FactKind) -> usize {
        self.facts.iter().filter(|fact| fact.kind == kind).count()
    }

    /// Its floating-point operations per byte of global memory: [`Work::intensity`], if everything is in `work`.
    ///
    /// ```
    /// let source = "kernel void saxpy(float a, global const float* x, global float* y) {
    ///     size_t i = get_global_id(0); y[i] = a * x[i] + y[i]; }";
    /// let translation = clmsl::translate("saxpy.cl", source, &clmsl::Options::default());
    /// let saxpy = translation.analysis.kernel("saxpy").unwrap();
    /// assert_eq!((saxpy.work.counts.flops, saxpy.work.counts.bytes()), (2, 12));
    /// let clmsl::Intensity::Exactly(intensity) = saxpy.intensity() else { panic!() };
    /// assert_eq!(intensity.to_string(), "0.167");
    /// ```
    pub fn intensity(&self) -> Intensity {
        if self.uncounted.is_empty() { self.work.intensity() } else { Intensity::Unknown }
    }

    /// By what its results can depend on the size of its work-groups, each kind once; with none they cannot.
    pub fn group_dependences(&self) -> Vec<FactKind> {
        FactKind::ALL.into_iter().filter(|kind| kind.depends_on_groups() && self.count(*kind) > 0).collect()
    }
}

impl Analysis {
    /// The kernel with the user's name.
    pub fn kernel(&self, name: &str) -> Option<&KernelAnalysis> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// What a function does itself, and the functions that it calls.
#[derive(Default)]
struct Own {
    facts: Vec<Fact>,
    callees: Vec<usize>,
    /// It asks for a position in dimension 1, or 2, or for one made of all.
    asks: [bool; 2],
    /// How many expressions it has.
    size: usize,
}

/// The analysis of the kernels among these functions, to whose positions calls refer.
pub(crate) fn analyse<'f>(
    functions: impl Iterator<Item = &'f Function>,
    structs: &[Struct],
    constants: &[Constant],
) -> Analysis {
    let functions: Vec<&Function> = functions.collect();
    let constants: Vec<Option<i128>> =
        constants.iter().map(|c| c.init.as_ref().filter(|_| c.ty.is_integer_scalar()).and_then(const_int)).collect();
    let owns: Vec<Own> = functions.iter().map(|function| own(function)).collect();
    let size = owns.iter().map(|own| own.size).sum();
    let texts = Texts { functions: &functions, structs, constants: &constants, size };
    let (mut calls, mut others) = (Calls::new(&texts, 0), [1, 2].map(|dimension| Calls::new(&texts, dimension)));
    // Which kernel came by last, so that nothing is visited twice for one.
    let mut seen = vec![usize::MAX; owns.len()];
    let (reached, asking, mut listed) = (reached(&owns), [0, 1].map(|other| asking(&owns, other)), 0);
    let kernels = functions.iter().enumerate().filter(|(_, function)| function.kernel.is_some());
    let kernels = kernels.map(|(at, function)| {
        let (mut facts, mut next) = (Vec::new(), vec![at]);
        seen[at] = at;
        while let Some(function) = next.pop() {
            let length = 1 + owns[function].facts.len() + owns[function].callees.len();
            if function != at && listed + length > calls.most_listed() {
                facts.extend(reached[function].iter().flatten());
                continue;
            }
            listed += length;
            facts.extend_from_slice(&owns[function].facts);
            for &callee in &owns[function].callees {
                if std::mem::replace(&mut seen[callee], at) != at {
                    next.push(callee);
                }
            }
        }
        // Copies of one function have the same places.
        facts.sort_by_key(|Fact { kind, span }| (span.file, span.lo, span.hi, *kind));
        facts.dedup();
        let Listed { mut accesses, uncounted, work, costs } = calls.kernel(at);
        let mut patterns = |other: usize| {
            let walked = asking[other][at].then(|| others[other].kernel(at).accesses)?;
            access::patterns(&accesses, &walked)
        };
        let (in_y, in_z) = (patterns(0), patterns(1));
        for (at, access) in accesses.iter_mut().enumerate() {
            access.pattern_y = in_y.as_ref().map(|patterns| patterns[at]);
            access.pattern_z = in_z.as_ref().map(|patterns| patterns[at]);
        }
        KernelAnalysis { name: function.name.clone(), facts, accesses, work, uncounted, costs }
    });
    Analysis { kernels: kernels.collect() }
}

fn own(function: &Function) -> Own {
    let mut own = Own::default();
    for local in &function.locals {
        let points = |space| local.ty.pointee().is_some_and(|pointee| pointee.space == space);
        if local.space == Space::Local || (function.kernel.is_some() && points(Space::Local)) {
            own.facts.push(Fact { kind: FactKind::LocalMemory, span: local.span });
        }
    }
    if let Some(body) = &function.body {
        body.for_each_expr(&mut |e| e.walk(&mut |e| note(e, &mut own)));
    }
    own.callees.sort_unstable();
    own.callees.dedup();
    own
}

/// Of each function those that call it.
fn callers(owns: &[Own]) -> Vec<Vec<usize>> {
    let mut callers = vec![Vec::new(); owns.len()];
    for (at, own) in owns.iter().enumerate() {
        own.callees.iter().for_each(|&callee| callers[callee].push(at));
    }
    callers
}

/// Whether each function, or one that it reaches by calls, asks for a position that neighbours in dimension 1, or 2, may not share.
fn asking(owns: &[Own], other: usize) -> Vec<bool> {
    let mut asking: Vec<bool> = owns.iter().map(|own| own.asks[other]).collect();
    let callers = callers(owns);
    let mut next: Vec<usize> = (0..owns.len()).filter(|&at| asking[at]).collect();
    while let Some(function) = next.pop() {
        for &caller in &callers[function] {
            if !std::mem::replace(&mut asking[caller], true) {
                next.push(caller);
            }
        }
    }
    asking
}

/// Of each function a fact of each kind, its own or of a function that it reaches by calls.
fn reached(owns: &[Own]) -> Vec<[Option<Fact>; FactKind::ALL.len()]> {
    let mut reached = vec![[None; FactKind::ALL.len()]; owns.len()];
    let callers = callers(owns);
    for (at, own) in owns.iter().enumerate() {
        for fact in &own.facts {
            reached[at][fact.kind as usize].get_or_insert(*fact);
        }
    }
    let mut next: Vec<usize> = (0..owns.len()).collect();
    while let Some(function) = next.pop() {
        let facts = reached[function];
        for &caller in &callers[function] {
            let mut is_more = false;
            for (known, fact) in reached[caller].iter_mut().zip(facts) {
                is_more |= known.is_none() && fact.is_some();
                *known = known.or(fact);
            }
            if is_more {
                next.push(caller);
            }
        }
    }
    reached
}

fn note(e: &Expr, own: &mut Own) {
    own.size += 1;
    match &e.kind {
        ExprKind::Call { function, .. } => own.callees.push(function.0 as usize),
        ExprKind::Builtin { builtin: Resolved::Special(special), args } => {
            let asks = |dimension| match special {
                Special::WorkItem(WorkItem::GlobalId | WorkItem::LocalId) => {
                    args.first().and_then(const_int).is_none_or(|asked| asked == dimension)
                }
                Special::WorkItem(
                    WorkItem::GlobalLinearId
                    | WorkItem::LocalLinearId
                    | WorkItem::SubGroupId
                    | WorkItem::SubGroupLocalId,
                ) => true,
                _ => false,
            };
            own.asks = [own.asks[0] || asks(1), own.asks[1] || asks(2)];
            let on_local = || args.iter().any(|arg| arg.ty.pointee().is_some_and(|p| p.space == Space::Local));
            if let Some(kind) = kind(*special, on_local) {
                own.facts.push(Fact { kind, span: e.span });
            }
        }
        _ => {}
    }
}

/// What a built-in function is. Without `_`, so that a new one is thought of.
fn kind(special: Special, on_local: impl Fn() -> bool) -> Option<FactKind> {
    Some(match special {
        Special::WorkItem(item) => return position(item),
        Special::Barrier | Special::GridBarrier | Special::WaitEvents => FactKind::Barrier,
        Special::MemFence | Special::C11 { op: C11::Fence, .. } => FactKind::Fence,
        Special::AsyncCopy(_) | Special::AsyncLines(_) | Special::Group(GroupOp::WorkGroup(_)) => FactKind::WorkGroup,
        Special::Group(
            GroupOp::SubGroup(_)
            | GroupOp::NonUniform(_)
            | GroupOp::Clustered(_)
            | GroupOp::Lanes(_)
            | GroupOp::SubGroupBarrier
            | GroupOp::Block { .. },
        ) => FactKind::SubGroup,
        // The memory itself is a fact elsewhere.
        Special::Atomic(_) | Special::C11 { .. } if on_local() => return None,
        Special::C11 { op, order, .. } if op != C11::Init && order.scope != Scope::Device => FactKind::Fence,
        Special::Atomic(_) | Special::C11 { .. } => FactKind::Atomic,
        Special::Printf => FactKind::Print,
        Special::Convert { .. }
        | Special::AsType { .. }
        | Special::Select
        | Special::Any
        | Special::All
        | Special::Load(_)
        | Special::Store(_)
        | Special::LoadHalf(..)
        | Special::StoreHalf(..)
        | Special::Shuffle(_)
        | Special::Upsample
        | Special::DotBytes(_)
        | Special::Nan
        | Special::Prefetch
        | Special::Image(_)
        | Special::ToSpace(_)
        | Special::GetFence => return None,
    })
}

fn position(item: WorkItem) -> Option<FactKind> {
    match item {
        WorkItem::LocalId
        | WorkItem::GroupId
        | WorkItem::LocalSize
        | WorkItem::EnqueuedLocalSize
        | WorkItem::NumGroups
        | WorkItem::LocalLinearId => Some(FactKind::GroupPosition),
        WorkItem::SubGroupSize
        | WorkItem::MaxSubGroupSize
        | WorkItem::NumSubGroups
        | WorkItem::EnqueuedNumSubGroups
        | WorkItem::SubGroupId
        | WorkItem::SubGroupLocalId => Some(FactKind::SubGroup),
        WorkItem::GlobalId
        | WorkItem::GlobalSize
        | WorkItem::GlobalOffset
        | WorkItem::WorkDim
        | WorkItem::GlobalLinearId => None,
    }
}
