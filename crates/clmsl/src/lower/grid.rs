//! `dc_grid_barrier()`: a barrier of all work-items of a launch, by kernels that the host launches one behind the other.
//!
//! Metal promises no progress between threadgroups, so nothing that waits inside a kernel can wait for all of them. So the kernel is cut at its barriers:
//! statements with one inside become blocks of a control-flow graph (`graph`), and each block behind a barrier begins a *part*, a kernel of its own that
//! runs up to the next barriers. What is used behind a barrier is a member of a structure, one for each work-item, which the host gives memory for
//! (`saved`). A work-item that returns marks its structure, and is not there in later parts.
//!
//! Where there is one way through the barriers the host launches the parts in their order. Else, with barriers in loops and branches, each
//! part says which one is next, by writing that part's number of work-groups where its launch reads it: `turns` is two rows of three `uint`s for each part, of this
//! pass through all parts and of the next. For that all work-items must come to the same barrier, which is proved of the conditions on the way
//! to it (`uniform`), or refused with the condition's place.

mod graph;
mod live;
mod saved;
mod uniform;

use std::collections::BTreeMap;

use graph::{End, Graph};
use saved::Saved;

use crate::ast::BinaryOp;
use crate::builtins::{Resolved, Special, WorkItem};
use crate::diagnostic::Diagnostic;
use crate::hir::{Block, Expr, ExprKind, Function, FunctionId, GridPart, Local, LocalId, Program, Stmt, StmtKind};
use crate::source::Span;
use crate::types::{Quals, Space, Type};

/// A block is in a part at most so often: what several ways lead to begins a part of its own.
const MAX_COPIES: usize = 2;
/// Parts of one kernel.
const MAX_PARTS: usize = 256;

/// Cuts the kernels that have grid barriers. Parts come behind their kernels in `order`.
pub(super) fn lower(program: &mut Program, order: &mut Vec<FunctionId>, diagnostics: &mut Vec<Diagnostic>) {
    let mut cut = Vec::new();
    for (number, function) in program.functions.iter().enumerate() {
        let Some(body) = &function.body else { continue };
        match (first_barrier(body), &function.kernel) {
            (None, _) => {}
            (Some(span), None) => {
                let message = format!(
                    "'dc_grid_barrier' in '{}', which is not a kernel, is not supported: a kernel is cut there",
                    function.name
                );
                diagnostics.push(Diagnostic::error(span, message));
            }
            (Some(_), Some(_)) => cut.push(FunctionId(number as u32)),
        }
    }
    refuse_calls(program, &cut, diagnostics);
    for id in cut {
        let reported = diagnostics.len();
        uniform::check(&program.functions[id.0 as usize], diagnostics);
        if diagnostics.len() > reported {
            continue;
        }
        let function = std::mem::take(&mut program.functions[id.0 as usize]);
        let cut = Cut::new(function, program, diagnostics);
        if diagnostics.len() > reported {
            continue;
        }
        let parts = cut.parts();
        let place = order.iter().position(|&known| known == id).unwrap_or(order.len());
        for (number, part) in parts.into_iter().enumerate() {
            if number == 0 {
                program.functions[id.0 as usize] = part;
                continue;
            }
            order.insert((place + number).min(order.len()), FunctionId(program.functions.len() as u32));
            program.functions.push(part);
        }
    }
}

/// A kernel that is cut cannot be called: its caller would have to be cut too.
fn refuse_calls(program: &Program, cut: &[FunctionId], diagnostics: &mut Vec<Diagnostic>) {
    for body in program.functions.iter().filter_map(|function| function.body.as_ref()) {
        body.for_each_expr(&mut |e| {
            e.walk(&mut |e| match &e.kind {
                ExprKind::Call { function, .. } if cut.contains(function) => {
                    let name = &program.functions[function.0 as usize].name;
                    let message = format!("a call of kernel '{name}', which has 'dc_grid_barrier', is not supported");
                    diagnostics.push(Diagnostic::error(e.span, message));
                }
                _ => {}
            });
        });
    }
}

fn is_barrier(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Builtin { builtin: Resolved::Special(Special::GridBarrier), .. })
}

/// Where the first barrier of a block is.
fn first_barrier(block: &Block) -> Option<Span> {
    let mut found = None;
    block.for_each_expr(&mut |e| found = found.or_else(|| barrier_in(e)));
    found
}

/// Whether a statement is or holds a barrier.
fn has_barrier(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.for_each_expr(&mut |e| found |= barrier_in(e).is_some());
    found
}

/// Where the first barrier of an expression is.
fn barrier_in(e: &Expr) -> Option<Span> {
    let mut found = None;
    e.walk(&mut |e| {
        if is_barrier(e) && found.is_none() {
            found = Some(e.span);
        }
    });
    found
}

/// Where a part goes when it ends.
type Exits = Vec<Option<usize>>;

/// A kernel that is being cut.
struct Cut {
    function: Function,
    graph: Graph,
    /// The block that each part begins with, in order of the text.
    entries: Vec<usize>,
    saved: Saved,
    state: Option<LocalId>,
    turns: Option<LocalId>,
}

impl Cut {
    fn new(mut function: Function, program: &mut Program, diagnostics: &mut Vec<Diagnostic>) -> Cut {
        let span = function.span;
        let body = function.body.take().unwrap_or_default();
        let graph = Graph::of(body, diagnostics);
        let (entries, exits) = entries(&graph);
        if entries.len() > MAX_PARTS {
            let message = format!("kernel '{}' has more than {MAX_PARTS} parts between grid barriers", function.name);
            diagnostics.push(Diagnostic::error(span, message));
        }
        let in_order = |(number, exits): (usize, &Exits)| {
            let next = (number + 1 < entries.len()).then(|| entries[number + 1]);
            exits.iter().all(|exit| *exit == next)
        };
        let loops = !exits.iter().enumerate().all(in_order);
        let uses: Vec<Vec<Stmt>> = entries.iter().map(|&entry| collect(&graph, entry)).collect();
        let saved = Saved::of(&mut function, program, (&graph, &entries, &uses), diagnostics);
        let state = saved.structure().map(|ty| {
            let pointer = Type::pointer(ty, Space::Global, Quals::default());
            parameter(&mut function, "grid_state", pointer)
        });
        let turns = loops.then(|| {
            let pointer = Type::pointer(Type::UINT, Space::Global, Quals::default());
            parameter(&mut function, "grid_turns", pointer)
        });
        Cut { function, graph, entries, saved, state, turns }
    }

    /// The kernels that it becomes, the first of which has its name.
    fn parts(mut self) -> Vec<Function> {
        let hidden = usize::from(self.state.is_some()) + usize::from(self.turns.is_some());
        let count = self.entries.len();
        let bodies: Vec<Block> = (0..count).map(|number| self.body(number)).collect();
        let name = self.function.name.clone();
        let make = |(number, body): (usize, Block)| {
            let mut part = self.function.clone();
            if number > 0 {
                part.name = format!("{name}_part{number}");
            }
            if let Some(kernel) = &mut part.kernel {
                let (state, turns) = (self.state.is_some(), self.turns.is_some());
                kernel.grid = Some(GridPart { number, count, hidden, state, turns });
            }
            part.body = Some(body);
            part
        };
        bodies.into_iter().enumerate().map(make).collect()
    }

    fn body(&mut self, number: usize) -> Block {
        let span = self.function.span;
        let mut stmts = self.saved.declared(number, self.element(span), span);
        let mut emission = Emission { copies: BTreeMap::new(), path: Vec::new() };
        self.emit(self.entries[number], number, &mut emission, &mut stmts);
        // The last statement needs no return.
        if let Some(Stmt { kind: StmtKind::Return(None), .. }) = stmts.last() {
            stmts.pop();
        }
        Block { stmts, end: self.graph.end }
    }

    /// The work-item's structure.
    fn element(&self, span: Span) -> Option<Expr> {
        let state = self.state?;
        let ty = self.saved.structure()?;
        let base = Expr::new(ExprKind::Local(state), self.function.local(state).ty.clone(), span);
        let id = query(WorkItem::GlobalLinearId, None, span);
        Some(Expr::new(ExprKind::Index(Box::new(base), Box::new(id)), ty, span))
    }

    fn emit(&self, block: usize, part: usize, emission: &mut Emission, out: &mut Vec<Stmt>) {
        *emission.copies.entry(block).or_default() += 1;
        emission.path.push(block);
        let from = &self.graph.blocks[block];
        for stmt in &from.stmts {
            let mut stmt = stmt.clone();
            self.rewrite_returns(&mut stmt);
            self.saved.rewrite(stmt, out);
        }
        let span = from.end_span;
        match &from.end {
            End::Exit => {}
            End::Barrier(next) => self.leave(*next, part, span, out),
            End::Goto(next) => self.go(*next, part, emission, span, out),
            End::Branch(cond, yes, no) => {
                let mut cond = cond.clone();
                self.saved.rewrite_expr(&mut cond);
                let mut arms = [Vec::new(), Vec::new()];
                for (next, out) in [yes, no].into_iter().zip(&mut arms) {
                    self.go(*next, part, emission, span, out);
                }
                let [yes, no] = arms.map(|stmts| Block { stmts, end: self.graph.end });
                let otherwise = (!no.stmts.is_empty()).then_some(no);
                out.push(Stmt { kind: StmtKind::If { arms: vec![(cond, yes)], otherwise }, span });
            }
        }
        emission.path.pop();
    }

    fn go(&self, next: usize, part: usize, emission: &mut Emission, span: Span, out: &mut Vec<Stmt>) {
        if emission.is_cut(next) {
            self.leave(next, part, span, out);
        } else {
            self.emit(next, part, emission, out);
        }
    }

    /// Ends the part: everything is saved, and the next one has its turn.
    fn leave(&self, next: usize, part: usize, span: Span, out: &mut Vec<Stmt>) {
        let next = self.entries.iter().position(|&entry| entry == next);
        let next = next.unwrap_or_else(|| unreachable!("what is left for is an entry"));
        if let Some(element) = self.element(span) {
            self.saved.store(element, span, out);
        }
        if let Some(turns) = self.turns {
            let row = if next > part { next } else { self.entries.len() + next };
            let base = Expr::new(ExprKind::Local(turns), self.function.local(turns).ty.clone(), span);
            for axis in 0..3 {
                let index = Expr::int((3 * row + axis) as i128, Type::INT, span);
                let place = ExprKind::Index(Box::new(base.clone()), Box::new(index));
                let groups = query(WorkItem::NumGroups, Some(Expr::int(axis as i128, Type::UINT, span)), span);
                let value = groups.convert(Type::UINT);
                let kind = ExprKind::Assign(Box::new(Expr::new(place, Type::UINT, span)), Box::new(value));
                out.push(Stmt { kind: StmtKind::Expr(Expr::new(kind, Type::UINT, span)), span });
            }
        }
        out.push(Stmt { kind: StmtKind::Return(None), span });
    }

    /// A return before the last part marks the work-item as gone.
    fn rewrite_returns(&self, stmt: &mut Stmt) {
        let span = stmt.span;
        if let StmtKind::Return(_) = stmt.kind {
            if let Some(mark) = self.element(span).and_then(|element| self.saved.gone(element, span)) {
                let back = Stmt { kind: StmtKind::Return(None), span };
                stmt.kind = StmtKind::Block(Block { stmts: vec![mark, back], end: span });
            }
            return;
        }
        for block in stmt.blocks_mut() {
            block.stmts.iter_mut().for_each(|stmt| self.rewrite_returns(stmt));
        }
    }
}

/// What is in a part so far.
struct Emission {
    copies: BTreeMap<usize, usize>,
    path: Vec<usize>,
}

impl Emission {
    /// Whether a block begins a part of its own: a loop without a barrier in this round, or too many ways to it.
    fn is_cut(&self, block: usize) -> bool {
        self.path.contains(&block) || self.copies.get(&block).is_some_and(|&copies| copies >= MAX_COPIES)
    }
}

/// The blocks that begin parts, in order of the text, and where each part can go.
fn entries(graph: &Graph) -> (Vec<usize>, Vec<Exits>) {
    let mut found: BTreeMap<usize, Exits> = BTreeMap::new();
    let mut left = vec![0];
    while let Some(entry) = left.pop() {
        if found.contains_key(&entry) || found.len() > MAX_PARTS {
            continue;
        }
        let mut exits = Vec::new();
        walk(graph, entry, &mut Emission { copies: BTreeMap::new(), path: Vec::new() }, &mut exits, &mut |_| {});
        left.extend(exits.iter().flatten().copied());
        found.insert(entry, exits);
    }
    found.into_iter().unzip()
}

/// Goes through a part as it will be emitted.
fn walk(graph: &Graph, block: usize, emission: &mut Emission, exits: &mut Exits, seen: &mut dyn FnMut(usize)) {
    seen(block);
    *emission.copies.entry(block).or_default() += 1;
    emission.path.push(block);
    let mut go = |next: usize, emission: &mut Emission, exits: &mut Exits| {
        if emission.is_cut(next) {
            exits.push(Some(next));
        } else {
            walk(graph, next, emission, exits, seen);
        }
    };
    match &graph.blocks[block].end {
        End::Exit => exits.push(None),
        End::Barrier(next) => exits.push(Some(*next)),
        End::Goto(next) => go(*next, emission, exits),
        End::Branch(_, yes, no) => {
            go(*yes, emission, exits);
            go(*no, emission, exits);
        }
    }
    emission.path.pop();
}

/// The statements of a part, conditions among them.
fn collect(graph: &Graph, entry: usize) -> Vec<Stmt> {
    let mut blocks = Vec::new();
    let mut emission = Emission { copies: BTreeMap::new(), path: Vec::new() };
    walk(graph, entry, &mut emission, &mut Vec::new(), &mut |block| blocks.push(block));
    blocks.sort_unstable();
    blocks.dedup();
    let mut stmts = Vec::new();
    for block in blocks {
        let from = &graph.blocks[block];
        stmts.extend(from.stmts.iter().cloned());
        if let End::Branch(cond, ..) = &from.end {
            stmts.push(Stmt { kind: StmtKind::Expr(cond.clone()), span: cond.span });
        }
    }
    stmts
}

/// A work-item function.
fn query(item: WorkItem, dimension: Option<Expr>, span: Span) -> Expr {
    let builtin = Resolved::Special(Special::WorkItem(item));
    Expr::new(ExprKind::Builtin { builtin, args: dimension.into_iter().collect() }, Type::ULONG, span)
}

fn parameter(function: &mut Function, name: &str, ty: Type) -> LocalId {
    let id = function.add_local(Local::generated(name, ty, function.span));
    function.params.push(id);
    id
}

/// `a op b` of one type.
fn binary(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    let span = a.span;
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
}
