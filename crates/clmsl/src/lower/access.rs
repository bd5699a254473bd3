//! What functions do with the memory their pointers lead to, said in the types of MSL.
//!
//! * A pointer to global memory that nothing is written through becomes one to `const`. Metal lets commands that only
//!   read a buffer run at the same time, and judges by the type of the argument.
//! * An argument that is declared `const` but written through after a cast is none: Metal must not believe it.
//! * `restrict` stays on parameters where it promises what a GPU's compiler takes it for. What one work-item writes and
//!   another reads through the same pointer, behind a barrier, is within C's rules for `restrict`; LLVM however keeps values
//!   read through such a pointer across calls, the barrier's too. So it stays where nothing is written through the pointer,
//!   and in functions from which no barrier, fence or atomic function is reached.
//!
//! The analysis is blind to the order of statements: variables that one pointer may be copied between are a class, and
//! what happens through one of them happens to all. What it does not see through counts as a write.

use super::Instance;
use crate::builtins::{GroupOp, Resolved, Special};
use crate::hir::{Block, Expr, ExprKind, Function, Local, LocalId, Stmt, StmtKind};
use crate::types::{Pointee, Quals, Space, Struct, Type, holds_pointers};

/// Rewrites the types of pointers. `instances` has callees first.
pub(super) fn lower(instances: &mut [Instance], structs: &[Struct]) {
    let mut summaries: Vec<Summary> = Vec::with_capacity(instances.len());
    for instance in instances {
        let function = &mut instance.function;
        let Some(mut body) = function.body.take() else {
            summaries.push(Summary::default());
            continue;
        };
        let mut flow = Flow::new(function, structs, &summaries);
        flow.block(&mut body);
        let found = Found { classes: flow.classes, synchronises: flow.synchronises };
        summaries.push(retype(function, &mut body, found, structs));
        function.body = Some(body);
    }
}

/// What a caller needs to know of a function.
#[derive(Default)]
struct Summary {
    /// What happens to each parameter; `fixed` if it is a pointer that its type allows to be written through.
    params: Vec<Fate>,
    /// Whether one parameter may come back as the result, or be stored behind another.
    mixes: bool,
    synchronises: bool,
}

/// What happens to the pointers of a class.
#[derive(Clone, Copy, Default)]
struct Fate {
    written: bool,
    /// A conversion takes `const` away.
    freed: bool,
    /// Its type must stay.
    fixed: bool,
}

impl Fate {
    fn add(&mut self, other: Fate) {
        self.written |= other.written;
        self.freed |= other.freed;
        self.fixed |= other.fixed;
    }
}

/// A class of variables per variable, as a union-find.
struct Classes {
    parents: Vec<u32>,
    fates: Vec<Fate>,
}

impl Classes {
    fn find(&mut self, id: LocalId) -> usize {
        let mut at = id.0;
        while self.parents[at as usize] != at {
            let above = self.parents[self.parents[at as usize] as usize];
            self.parents[at as usize] = above;
            at = above;
        }
        at as usize
    }

    fn fate(&mut self, id: LocalId) -> Fate {
        let class = self.find(id);
        self.fates[class]
    }

    fn unite(&mut self, ids: &[LocalId]) {
        let Some((&first, others)) = ids.split_first() else { return };
        for &other in others {
            let (a, b) = (self.find(first), self.find(other));
            let joined = self.fates[b];
            self.fates[a].add(joined);
            self.parents[b] = a as u32;
        }
    }
}

/// What the walk over a function finds.
struct Found {
    classes: Classes,
    /// Whether a barrier, a fence or an atomic function is reached.
    synchronises: bool,
}

/// The walk over one function.
struct Flow<'a> {
    locals: &'a [Local],
    structs: &'a [Struct],
    summaries: &'a [Summary],
    ret: &'a Type,
    classes: Classes,
    synchronises: bool,
}

/// The pointee, if it is global memory whose constness can be changed.
fn changeable<'t>(ty: &'t Type, structs: &[Struct]) -> Option<&'t Pointee> {
    ty.pointee()
        .filter(|p| p.space == Space::Global && !holds_pointers(&p.ty, structs) && !matches!(p.ty, Type::Atomic(_)))
}

/// The variables that a pointer, or a place, comes from. False if there may be others.
fn roots(e: &Expr, out: &mut Vec<LocalId>) -> bool {
    match &e.kind {
        ExprKind::Local(id) => out.push(*id),
        ExprKind::Binary(_, a, b) => return roots(if a.ty.pointee().is_some() { a } else { b }, out),
        ExprKind::Cond(_, a, b) => return roots(a, out) & roots(b, out),
        ExprKind::Comma(_, a)
        | ExprKind::Convert(a)
        | ExprKind::Assign(a, _)
        | ExprKind::AssignOp { place: a, .. }
        | ExprKind::Step { place: a, .. }
        | ExprKind::AddressOf(a)
        | ExprKind::Deref(a)
        | ExprKind::Decay(a)
        | ExprKind::Index(a, _)
        | ExprKind::Member(a, _)
        | ExprKind::Swizzle(a, _)
        | ExprKind::UnionOf(_, a) => return roots(a, out),
        ExprKind::Aggregate(list) | ExprKind::Call { args: list, .. } | ExprKind::Builtin { args: list, .. } => {
            return list.iter().filter(|e| e.ty.arithmetic().is_none()).fold(true, |known, e| known & roots(e, out));
        }
        ExprKind::Hidden(_) => return false,
        _ => {}
    }
    true
}

/// The pointer that a write to this place follows.
fn followed(place: &Expr) -> Option<&Expr> {
    match &place.kind {
        ExprKind::Deref(pointer) => Some(pointer),
        ExprKind::Index(base, _) if base.ty.pointee().is_some() => Some(base),
        ExprKind::Index(base, _) | ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) => followed(base),
        _ => None,
    }
}

impl<'a> Flow<'a> {
    fn new(function: &'a Function, structs: &'a [Struct], summaries: &'a [Summary]) -> Flow<'a> {
        let locals = &function.locals;
        let fate = |l: &Local| Fate { fixed: changeable(&l.ty, structs).is_none(), ..Fate::default() };
        let classes = Classes { parents: (0..locals.len() as u32).collect(), fates: locals.iter().map(fate).collect() };
        Flow { locals, structs, summaries, ret: &function.ret, classes, synchronises: false }
    }

    fn block(&mut self, body: &mut Block) {
        body.for_each_list_mut(&mut |list| list.iter().for_each(|stmt| self.statement(stmt)));
        body.for_each_expr(&mut |e| e.walk(&mut |e| self.expr(e)));
    }

    /// What flows by statements.
    fn statement(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Decl(decls) => {
                for decl in decls {
                    if let Some(init) = &decl.init
                        && holds_pointers(&self.locals[decl.local.0 as usize].ty, self.structs)
                    {
                        self.unite(vec![decl.local], &[init]);
                    }
                }
            }
            StmtKind::For { init: Some(init), .. } => self.statement(init),
            StmtKind::Return(Some(e)) if holds_pointers(&e.ty, self.structs) => {
                let is_const = self.ret.pointee().is_some_and(|p| p.quals.is_const);
                self.mark(e, |fate| fate.fixed |= !is_const);
            }
            _ => {}
        }
    }

    fn mark(&mut self, e: &Expr, change: impl Fn(&mut Fate)) {
        let mut ids = Vec::new();
        roots(e, &mut ids);
        for id in ids {
            let class = self.classes.find(id);
            change(&mut self.classes.fates[class]);
        }
    }

    /// The variables, and those the expressions come from, hold the same pointers.
    fn unite(&mut self, mut ids: Vec<LocalId>, values: &[&Expr]) {
        let known = values.iter().fold(true, |known, e| known & roots(e, &mut ids));
        self.classes.unite(&ids);
        if let Some(&first) = ids.first()
            && !known
        {
            let class = self.classes.find(first);
            self.classes.fates[class] = Fate { written: true, freed: true, fixed: true };
        }
    }

    fn write(&mut self, place: &Expr) {
        if let Some(pointer) = followed(place) {
            self.mark(pointer, |fate| fate.written = true);
        }
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Assign(place, value) => {
                self.write(place);
                if holds_pointers(&value.ty, self.structs) {
                    self.unite(Vec::new(), &[place, value]);
                }
            }
            ExprKind::AssignOp { place, .. } | ExprKind::Step { place, .. } => self.write(place),
            ExprKind::AddressOf(place) if holds_pointers(&place.ty, self.structs) => {
                self.mark(place, |fate| fate.fixed = true);
            }
            ExprKind::Convert(inner) => {
                if let (Some(from), Some(to)) = (inner.ty.pointee(), e.ty.pointee())
                    && (from.quals.is_const && !to.quals.is_const || holds_pointers(&from.ty, self.structs))
                {
                    self.mark(inner, |fate| fate.freed = true);
                }
            }
            ExprKind::Builtin { builtin, args } => self.builtin(*builtin, args),
            ExprKind::Call { function, args, .. } => {
                let callee = &self.summaries[function.0 as usize];
                self.synchronises |= callee.synchronises;
                let pointers: Vec<&Expr> = args.iter().filter(|a| holds_pointers(&a.ty, self.structs)).collect();
                if callee.mixes {
                    self.unite(Vec::new(), &pointers);
                }
                for (arg, param) in args.iter().zip(&callee.params) {
                    if holds_pointers(&arg.ty, self.structs) {
                        self.mark(arg, |fate| fate.add(*param));
                    }
                }
            }
            _ => {}
        }
    }

    fn builtin(&mut self, builtin: Resolved, args: &[Expr]) {
        let written = match builtin {
            Resolved::Special(
                Special::Load(_)
                | Special::LoadHalf(..)
                | Special::Prefetch
                | Special::ToSpace(_)
                | Special::GetFence
                | Special::Group(GroupOp::Block { write: false, .. })
                | Special::Printf,
            ) => &[],
            Resolved::Special(Special::AsyncCopy(_) | Special::AsyncLines(_)) => args.get(..1).unwrap_or_default(),
            _ => args,
        };
        for arg in written.iter().filter(|a| holds_pointers(&a.ty, self.structs)) {
            self.mark(arg, |fate| fate.written = true);
        }
        self.synchronises |= matches!(
            builtin,
            Resolved::Special(
                Special::Barrier
                    | Special::GridBarrier
                    | Special::MemFence
                    | Special::Atomic(_)
                    | Special::C11 { .. }
                    | Special::AsyncCopy(_)
                    | Special::AsyncLines(_)
                    | Special::WaitEvents
                    | Special::Group(_)
            )
        );
    }
}

/// Gives the variables their types, and the function its summary.
fn retype(function: &mut Function, body: &mut Block, found: Found, structs: &[Struct]) -> Summary {
    let Found { mut classes, synchronises } = found;
    let is_kernel = function.kernel.is_some();
    let mut changed = false;
    for i in 0..function.locals.len() {
        let id = LocalId(i as u32);
        let fate = classes.fate(id);
        let is_argument = is_kernel && function.params.contains(&id);
        let local = function.local_mut(id);
        let Some(p) = changeable(&local.ty, structs) else { continue };
        let is_const =
            if p.quals.is_const { !(is_argument && fate.written && fate.freed) } else { !fate.written && !fate.fixed };
        if p.quals.is_const != is_const {
            local.ty = Type::pointer(p.ty.clone(), p.space, Quals { is_const, ..p.quals });
            local.requalified = true;
            changed = true;
        }
    }
    let mut summary = Summary { synchronises, mixes: holds_pointers(&function.ret, structs), ..Summary::default() };
    for &id in &function.params.clone() {
        let fate = classes.fate(id);
        let local = function.local_mut(id);
        let Some(p) = local.ty.pointee() else {
            summary.params.push(Fate { fixed: false, ..fate });
            continue;
        };
        let was_const = p.quals.is_const != local.requalified;
        let written = fate.written && (fate.freed || !was_const);
        let shared = !matches!(p.space, Space::Private | Space::Constant);
        summary.mixes |= holds_pointers(&p.ty, structs);
        summary.params.push(Fate { written, fixed: !p.quals.is_const, ..fate });
        local.quals.is_restrict &= !(shared && written && synchronises);
    }
    if changed {
        body.for_each_expr_mut(&mut |e| e.rewrite(&mut |e| follow(e, function)));
    }
    summary
}

/// Gives an expression the type that follows from its operands'.
fn follow(e: &mut Expr, function: &Function) {
    if e.ty.pointee().is_none() {
        return;
    }
    let ty = match &e.kind {
        ExprKind::Local(id) => function.local(*id).ty.clone(),
        ExprKind::Binary(_, a, b) => if a.ty.pointee().is_some() { &a.ty } else { &b.ty }.clone(),
        ExprKind::Comma(_, a)
        | ExprKind::Assign(a, _)
        | ExprKind::AssignOp { place: a, .. }
        | ExprKind::Step { place: a, .. } => a.ty.clone(),
        ExprKind::AddressOf(place) | ExprKind::Decay(place) => {
            let (Some(p), Some(from)) = (e.ty.pointee(), followed(place).and_then(|f| f.ty.pointee())) else { return };
            let is_const = p.quals.is_const || from.quals.is_const;
            Type::pointer(p.ty.clone(), p.space, Quals { is_const, ..p.quals })
        }
        // Of a pointer that has become one to `const`, nothing needs another.
        ExprKind::Convert(inner) if inner.ty.pointee().is_some_and(|p| p.quals.is_const) => {
            let mut ids = Vec::new();
            roots(inner, &mut ids);
            let became_const = |id: &LocalId| {
                let local = function.local(*id);
                local.requalified && local.ty.pointee().is_some_and(|p| p.quals.is_const)
            };
            let Some(p) = e.ty.pointee().filter(|_| ids.iter().any(became_const)) else { return };
            Type::pointer(p.ty.clone(), p.space, Quals { is_const: true, ..p.quals })
        }
        _ => return,
    };
    if let ExprKind::AssignOp { at, .. } = &mut e.kind {
        *at = ty.clone();
    }
    e.ty = ty;
}
