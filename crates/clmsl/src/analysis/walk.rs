//! The walk over a function: which of its statements are run by some neighbours only, and how often.

use super::Cost;
use super::access::MemoryAccess;
use super::call::{Calls, Summary};
use super::step::{Root, SAME, Step, Value};
use super::work::{Counts, Loop, Work};
use crate::hir::{Block, Decl, Expr, ExprKind, Function, LocalId, Stmt, StmtKind};
use crate::source::Span;

/// Walks over a function until nothing new is found, more often than programs need.
const MOST_WALKS: usize = 16;

/// What a function does whose parameters have these values and, where they are known, are these numbers.
pub(super) fn summarise<'a>(function: &'a Function, args: &[(Value, Option<i128>)], calls: &mut Calls<'a>) -> Summary {
    let Some(body) = &function.body else { return Summary::default() };
    let count = function.locals.len();
    let mut walk = Walk {
        function,
        calls,
        values: vec![Value::NONE; count],
        numbers: vec![None; count],
        assigned: vec![0; count],
        taken: vec![false; count],
        declared: vec![(0, 0); count],
        depth: 0,
        loops: Vec::new(),
        divergent: Vec::new(),
        next_loop: 0,
        changed: false,
        returned: Value::NONE,
        found: None,
    };
    walk.count_assignments(body);
    for (id, (value, number)) in function.params.iter().zip(args) {
        let at = id.0 as usize;
        walk.assigned[at] += 1;
        walk.values[at] = if walk.taken[at] { Value::of(Step::Unknown) } else { *value };
        walk.numbers[at] = number.filter(|_| walk.assigned[at] == 1 && !walk.taken[at]);
    }
    for number in 0.. {
        walk.changed = false;
        walk.whole(body);
        if !walk.changed {
            break;
        }
        if number >= MOST_WALKS {
            walk.values.fill(Value::of(Step::Unknown));
            walk.divergent.fill(Divergent { leave: true, skip: true });
            break;
        }
    }
    walk.found = Some(Found { work: vec![Work::default()], levels: vec![Level::default()], ..Found::default() });
    walk.whole(body);
    let Walk { found, returned, .. } = walk;
    let Found { accesses, uncounted, costs, calls, mut work, .. } = found.unwrap_or_default();
    Summary { returned, accesses, uncounted, costs, calls, work: work.pop().unwrap_or_default() }
}

/// A loop or switch around the present place.
#[derive(Clone, Copy)]
struct Around {
    number: usize,
    /// In front of it.
    depth: u32,
    is_switch: bool,
}

/// What some neighbours do in a loop or switch and others do not.
#[derive(Clone, Copy, Default)]
struct Divergent {
    /// They leave it: the others go on alone.
    leave: bool,
    /// They skip the rest of a round.
    skip: bool,
}

/// How sure it is that the present place of a function, or of a loop's round, is come to.
#[derive(Default)]
struct Level {
    /// Conditions around it.
    conditions: u32,
    /// Some may have left before it.
    left: bool,
}

/// What the last walk finds.
#[derive(Default)]
pub(super) struct Found {
    pub(super) accesses: Vec<MemoryAccess>,
    pub(super) uncounted: Vec<Span>,
    pub(super) costs: Vec<Cost>,
    /// The summaries of calls, and where they are called.
    pub(super) calls: Vec<(usize, Span)>,
    /// Of the function and the loops around the present place, the innermost last.
    work: Vec<Work>,
    /// Of each of them.
    levels: Vec<Level>,
}

impl Found {
    pub(super) fn count(&mut self, counts: Counts, span: Span) {
        self.count_work(&Work { counts, ..Work::default() }, span);
    }

    /// What a call does.
    pub(super) fn count_work(&mut self, inner: &Work, span: Span) {
        let sometimes = self.is_sometimes() && !inner.is_nothing();
        if let Some(work) = self.work.last_mut() {
            work.conditional |= sometimes;
            if !work.add(inner) {
                self.uncounted.push(span);
            }
        }
    }

    /// So many times what a loop does.
    fn count_rounds(&mut self, round: Work, times: u64, span: Span) {
        let sometimes = self.is_sometimes() && !round.is_nothing();
        if let Some(work) = self.work.last_mut() {
            work.conditional |= sometimes;
            if !work.append(round, times) {
                self.uncounted.push(span);
            }
        }
    }

    fn is_sometimes(&self) -> bool {
        self.levels.last().is_some_and(|level| level.conditions > 0 || level.left)
    }

    /// `return`: what follows in the function, and in the loops around the place, some may not come to.
    fn ends(&mut self) {
        if self.levels.len() > 1 || self.is_sometimes() {
            self.levels.iter_mut().for_each(|level| level.left = true);
        }
    }
}

pub(super) struct Walk<'a, 'c> {
    pub(super) function: &'a Function,
    pub(super) calls: &'c mut Calls<'a>,
    pub(super) values: Vec<Value>,
    /// The variables that are one number all the time.
    pub(super) numbers: Vec<Option<i128>>,
    /// How often each variable is assigned in the text.
    assigned: Vec<u32>,
    /// Whether somebody has a variable's address.
    pub(super) taken: Vec<bool>,
    /// Where each variable is declared: `depth`, and how many loops and switches are around it.
    declared: Vec<(u32, usize)>,
    /// Conditions around the present place that differ between neighbours.
    depth: u32,
    /// The loops and switches around the present place.
    loops: Vec<Around>,
    /// By number, what neighbours do in these loops and switches.
    divergent: Vec<Divergent>,
    next_loop: usize,
    changed: bool,
    /// What it returns.
    returned: Value,
    /// In the last walk.
    pub(super) found: Option<Found>,
}

/// The variable that an assignment to this place changes, if it is one.
pub(super) fn variable(place: &Expr) -> Option<LocalId> {
    match &place.kind {
        ExprKind::Local(id) => Some(*id),
        ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) | ExprKind::Half(base, _) => variable(base),
        ExprKind::Index(base, _) if base.ty.pointee().is_none() => variable(base),
        _ => None,
    }
}

impl<'a> Walk<'a, '_> {
    fn whole(&mut self, body: &Block) {
        self.next_loop = 0;
        self.returned = Value::NONE;
        self.block(body);
    }

    fn count_assignments(&mut self, body: &Block) {
        fn declarations(block: &Block, f: &mut dyn FnMut(&Decl)) {
            for stmt in &block.stmts {
                statement(stmt, f);
            }
        }
        fn statement(stmt: &Stmt, f: &mut dyn FnMut(&Decl)) {
            if let StmtKind::Decl(decls) = &stmt.kind {
                decls.iter().for_each(&mut *f);
            }
            if let StmtKind::For { init: Some(init), .. } = &stmt.kind {
                statement(init, f);
            }
            stmt.blocks().into_iter().for_each(|block| declarations(block, f));
        }
        let assigned = &mut self.assigned;
        declarations(body, &mut |decl| assigned[decl.local.0 as usize] += u32::from(decl.init.is_some()));
        let mut taken = Vec::new();
        body.for_each_expr(&mut |e| {
            e.walk(&mut |e| match &e.kind {
                ExprKind::Assign(place, _) | ExprKind::AssignOp { place, .. } | ExprKind::Step { place, .. } => {
                    if let Some(id) = variable(place) {
                        assigned[id.0 as usize] += 1;
                    }
                }
                // Whoever has the address may assign.
                ExprKind::AddressOf(place) | ExprKind::Decay(place) => taken.extend(variable(place)),
                _ => {}
            });
        });
        for id in taken {
            self.values[id.0 as usize] = Value::of(Step::Unknown);
            self.taken[id.0 as usize] = true;
        }
    }

    pub(super) fn assign(&mut self, id: LocalId, value: Value) {
        let at = id.0 as usize;
        let (depth, loops) = self.declared[at];
        // One assignment in a loop is several: some have an earlier one.
        let some_only = self.depth > depth && (self.assigned[at] > 1 || self.loops.len() > loops);
        let value = if some_only { Value { step: Step::Unknown, ..value } } else { value };
        let joined = self.values[at].join(value);
        self.changed |= joined != self.values[at];
        self.values[at] = joined;
    }

    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    /// A condition; whether neighbours agree on it.
    pub(super) fn agreed(&mut self, cond: &Expr) -> bool {
        matches!(self.value(cond).step, SAME | Step::None)
    }

    /// What is run by some neighbours only, if `some`.
    pub(super) fn by_some(&mut self, some: bool, run: impl FnOnce(&mut Self)) {
        self.depth += u32::from(some);
        run(self);
        self.depth -= u32::from(some);
    }

    /// What stands behind a condition.
    pub(super) fn sometimes(&mut self, run: impl FnOnce(&mut Self)) {
        let add = |walk: &mut Self, number: i32| {
            if let Some(level) = walk.found.as_mut().and_then(|found| found.levels.last_mut()) {
                level.conditions = level.conditions.saturating_add_signed(number);
            }
        };
        add(self, 1);
        run(self);
        add(self, -1);
    }

    /// The body of a loop or switch. Variables of `own`, a loop's first clause, are gone behind it, so that who leaves it does
    /// not matter to them. The work of a condition that `agreed` walks, if it is that of a loop.
    fn body(
        &mut self,
        is_switch: bool,
        own: Option<&Stmt>,
        agreed: impl Fn(&mut Self) -> bool,
        run: impl FnOnce(&mut Self),
    ) -> Work {
        let (number, depth) = (self.next_loop, self.depth);
        self.next_loop += 1;
        if self.divergent.len() <= number {
            self.divergent.push(Divergent::default());
        }
        self.loops.push(Around { number, depth, is_switch });
        let leave = !agreed(self) || self.divergent[number].leave;
        let round = self.found.as_ref().filter(|_| !is_switch).and_then(|found| found.work.last());
        let check = round.cloned().unwrap_or_default();
        if let Some(StmtKind::Decl(decls)) = own.map(|own| &own.kind) {
            let inside = (depth + u32::from(leave), self.loops.len());
            decls.iter().for_each(|decl| self.declared[decl.local.0 as usize] = inside);
        }
        let skip = self.divergent[number].skip;
        self.by_some(leave, |walk| {
            walk.by_some(skip, run);
            // What it assigns is assigned by those who came so far. It is recorded already.
            let found = walk.found.take();
            agreed(walk);
            walk.found = found;
        });
        self.loops.pop();
        check
    }

    /// `break` or `continue`
    fn leave(&mut self, skips: bool) {
        let Some(&Around { number, depth, is_switch }) = self.loops.iter().rfind(|around| !skips || !around.is_switch)
        else {
            return;
        };
        if let Some(level) = self.found.as_mut().and_then(|found| found.levels.last_mut()) {
            level.left |= !is_switch;
        }
        let Divergent { leave, skip } = &mut self.divergent[number];
        let one = if skips { skip } else { leave };
        if self.depth > depth && !std::mem::replace(one, true) {
            self.changed = true;
        }
    }

    /// A loop and how often it runs. `run` walks one round, and yields the work of the condition in front of it, which is asked once more
    /// than there are rounds.
    fn rounds(&mut self, times: Option<u64>, span: Span, run: impl FnOnce(&mut Self) -> Work) {
        if let Some(found) = &mut self.found {
            found.work.push(Work::default());
            found.levels.push(Level::default());
        }
        let check = run(self);
        let Some(found) = &mut self.found else { return };
        let (Some(mut round), Some(level)) = (found.work.pop(), found.levels.pop()) else { return };
        // Who leaves it early does not do all of its rounds.
        round.conditional |= level.left && times.is_some() && !round.is_nothing();
        found.count_rounds(check, 1, span);
        match times {
            Some(times) => found.count_rounds(round, times, span),
            None if round.is_nothing() => {}
            None => {
                let unknown = Work { loops: vec![Loop { span, round }], ..Work::default() };
                found.count_rounds(unknown, 1, span);
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.calls.height += 1;
        self.calls.walked += 1;
        self.one_stmt(stmt);
        self.calls.height -= 1;
    }

    fn one_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Expr(e) | StmtKind::Case(e) => _ = self.value(e),
            StmtKind::Return(e) => {
                let value = e.as_ref().map_or(Value::at(Root::Unknown), |e| self.value(e));
                // Some neighbours return here, the others elsewhere.
                let step = if self.depth > 0 { Step::Unknown } else { value.step };
                self.returned = self.returned.join(Value { step, ..value });
                self.found.iter_mut().for_each(Found::ends);
            }
            StmtKind::Decl(decls) => {
                for Decl { local, init } in decls {
                    self.declared[local.0 as usize] = (self.depth, self.loops.len());
                    if let Some(init) = init {
                        let value = self.value(init);
                        self.assign(*local, value);
                        let at = local.0 as usize;
                        if self.assigned[at] == 1 && !self.taken[at] {
                            self.numbers[at] = self.number(init);
                        }
                    }
                }
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::If { arms, otherwise } => {
                let before = self.depth;
                let mut arms = arms.iter();
                if let Some((cond, block)) = arms.next() {
                    let agreed = self.agreed(cond);
                    self.depth += u32::from(!agreed);
                    self.sometimes(|walk| {
                        walk.block(block);
                        for (cond, block) in arms {
                            // Later conditions are asked by those only who said no before.
                            let agreed = walk.agreed(cond);
                            walk.depth += u32::from(!agreed);
                            walk.block(block);
                        }
                        otherwise.iter().for_each(|block| walk.block(block));
                    });
                }
                self.depth = before;
            }
            StmtKind::While(cond, body) => {
                let never = self.number(cond) == Some(0);
                self.rounds(never.then_some(0), stmt.span, |walk| {
                    walk.body(false, None, |walk| walk.agreed(cond), |walk| walk.block(body))
                });
            }
            StmtKind::DoWhile(body, cond) => {
                let once = self.number(cond) == Some(0);
                let agreed = |walk: &mut Self| {
                    // Without a record: the condition is recorded behind the body.
                    let found = walk.found.take();
                    let agreed = walk.agreed(cond);
                    walk.found = found;
                    agreed
                };
                self.rounds(once.then_some(1), stmt.span, |walk| {
                    walk.body(false, None, agreed, |walk| {
                        walk.block(body);
                        walk.value(cond);
                    })
                });
            }
            StmtKind::For { init, cond, step, body } => {
                init.iter().for_each(|init| self.stmt(init));
                let times = match &self.found {
                    Some(_) => self.times(init.as_deref(), cond.as_deref(), step.as_deref(), body),
                    None => None,
                };
                self.rounds(times, stmt.span, |walk| {
                    walk.body(
                        false,
                        init.as_deref(),
                        |walk| cond.as_ref().is_none_or(|cond| walk.agreed(cond)),
                        |walk| {
                            walk.block(body);
                            step.iter().for_each(|step| _ = walk.value(step));
                        },
                    )
                });
            }
            StmtKind::Switch(value, body) => {
                self.body(true, None, |walk| walk.agreed(value), |walk| walk.sometimes(|walk| walk.block(body)));
            }
            StmtKind::Break => self.leave(false),
            StmtKind::Continue => self.leave(true),
            StmtKind::Empty | StmtKind::Default | StmtKind::Goto(_) | StmtKind::Label(_) => {}
        }
    }
}
