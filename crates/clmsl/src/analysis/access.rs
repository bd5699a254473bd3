//! How kernels reach memory: how far apart the addresses of neighbouring work-items are.
//!
//! Neighbours are work-items of one group whose ids in dimension 0 differ by 1, in the same rounds of the loops around the place. Of each integer and pointer the walk knows by how
//! much it differs between them ([`Step`]), through variables by a fixed point: a variable that is assigned more than once,
//! and once where not all neighbours come (behind a condition that differs, in a loop that some leave earlier), is unknown. What
//! is not seen through is unknown too, never guessed. Called functions are not followed: what they are passed is unknown there.

use serde::Serialize;

use crate::ast::BinaryOp;
use crate::builtins::{Resolved, Special, TABLE, WorkItem};
use crate::hir::{Block, Decl, Expr, ExprKind, Function, LocalId, Stmt, StmtKind, UnaryOp};
use crate::reflect::AddressSpace;
use crate::sema::const_int;
use crate::source::Span;
use crate::types::{Scalar, Space, Struct, Type, layout};

/// A place in a kernel's source that reads or writes global, constant or local memory, itself or by what it calls there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryAccess {
    /// Position of the parameter that the address comes from; `None` for a `__local` variable, and where it is not known.
    pub argument: Option<u32>,
    /// The memory.
    pub address_space: AddressSpace,
    /// It may read.
    pub reads: bool,
    /// It may write.
    pub writes: bool,
    /// Bytes that one work-item reads or writes there; 0 where that is not known.
    pub bytes: u64,
    /// How the addresses of neighbours lie.
    pub pattern: AccessPattern,
    /// Where. [`Sources::location`](crate::Sources::location) has the line.
    #[serde(skip)]
    pub span: Span,
}

/// How the addresses of neighbouring work-items lie: of those of one group whose ids in dimension 0 differ by 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AccessPattern {
    /// All at one address.
    Uniform,
    /// One behind the other, without gaps.
    Contiguous,
    /// At this distance in bytes, which is not that of [`AccessPattern::Contiguous`]; negative if they go down.
    Strided(i64),
    /// At one distance for all, which the text does not tell: arguments decide it.
    Even,
    /// The address depends on what was read from memory.
    Gather,
    /// The text does not tell, as far as the analysis sees.
    Unknown,
}

/// By how much a number differs between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Not looked at yet.
    None,
    Known(i64),
    /// By a number that is the same for all.
    Even,
    /// It depends on what was read.
    Data,
    Unknown,
}

const SAME: Step = Step::Known(0);

impl Step {
    fn join(self, other: Step) -> Step {
        match (self, other) {
            (Step::None, one) | (one, Step::None) => one,
            (Step::Unknown, _) | (_, Step::Unknown) => Step::Unknown,
            (Step::Data, _) | (_, Step::Data) => Step::Data,
            (a, b) if a == b => a,
            _ => Step::Unknown,
        }
    }

    /// What an operation makes that only keeps what all neighbours have alike.
    fn mix(self, other: Step) -> Step {
        match (self, other) {
            (Step::None, _) | (_, Step::None) => Step::None,
            (SAME, SAME) => SAME,
            (Step::Data, Step::Data | SAME) | (SAME, Step::Data) => Step::Data,
            _ => Step::Unknown,
        }
    }

    fn plus(self, other: Step) -> Step {
        match (self, other) {
            (Step::Known(a), Step::Known(b)) => a.checked_add(b).map_or(Step::Unknown, Step::Known),
            (Step::Even, Step::Known(_) | Step::Even) | (Step::Known(_), Step::Even) => Step::Even,
            // Data and a distance: still by data.
            (Step::Data, Step::Known(_) | Step::Even) | (Step::Known(_) | Step::Even, Step::Data) => Step::Data,
            _ => self.mix(other),
        }
    }

    /// Times a number of the text.
    fn times(self, factor: i128) -> Step {
        match self {
            Step::Known(a) => {
                let product = i64::try_from(factor).ok().and_then(|factor| a.checked_mul(factor));
                product.map_or(Step::Unknown, Step::Known)
            }
            other => other,
        }
    }

    /// Times a number that is the same for all, if `other` is one.
    fn product(self, other: Step) -> Step {
        match (self, other) {
            (SAME, SAME) => SAME,
            (Step::Known(_) | Step::Even, SAME) | (SAME, Step::Known(_) | Step::Even) => Step::Even,
            _ => self.mix(other),
        }
    }
}

/// What a pointer leads into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    None,
    Parameter(u32),
    /// A `__local` variable, or a constant of the program.
    Variable,
    Unknown,
}

/// A value: of a pointer the step is in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value {
    step: Step,
    root: Root,
}

impl Value {
    fn of(step: Step) -> Value {
        Value { step, root: Root::Unknown }
    }

    fn join(self, other: Value) -> Value {
        let root = match (self.root, other.root) {
            (Root::None, root) | (root, Root::None) => root,
            (a, b) if a == b => a,
            _ => Root::Unknown,
        };
        Value { step: self.step.join(other.step), root }
    }
}

/// Whether numbers of the type are as wide as an index needs.
fn is_wide(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(s) if s.is_integer() && *s != Scalar::Bool && s.size() >= 4)
}

/// A number of the text. An unsigned one above the half of its type's is told as the negative one that it is modulo the type's size.
fn factor(e: &Expr) -> Option<i128> {
    let number = const_int(e)?;
    let bits = match &e.ty {
        Type::Scalar(s) if !s.is_signed() => 8 * u32::try_from(s.size()).ok()?,
        _ => return Some(number),
    };
    Some(if number >> (bits - 1) == 1 { number - (1 << bits) } else { number })
}

/// What can be read and written.
enum Place {
    /// Of this space, and whether nobody may write there.
    Memory {
        address: Value,
        space: Space,
        is_const: bool,
    },
    /// A variable, or a part of it.
    Variable {
        id: LocalId,
        whole: bool,
    },
    Unknown,
}

/// Walks over a kernel until nothing new is found, more often than programs need.
const MOST_WALKS: usize = 16;

/// The accesses of one kernel, in the order of the source.
pub(super) fn accesses(function: &Function, structs: &[Struct]) -> Vec<MemoryAccess> {
    let Some(body) = &function.body else { return Vec::new() };
    let nothing = Value { step: Step::None, root: Root::None };
    let mut walk = Walk {
        function,
        structs,
        values: vec![nothing; function.locals.len()],
        assigned: vec![0; function.locals.len()],
        declared: vec![(0, 0); function.locals.len()],
        depth: 0,
        loops: Vec::new(),
        divergent: Vec::new(),
        next_loop: 0,
        changed: false,
        found: None,
    };
    for (index, id) in function.params.iter().enumerate() {
        let is_pointer = function.local(*id).ty.pointee().is_some();
        let root = if is_pointer { Root::Parameter(index as u32) } else { Root::Unknown };
        walk.values[id.0 as usize] = Value { step: SAME, root };
        walk.assigned[id.0 as usize] = 1;
    }
    walk.count_assignments(body);
    for number in 0.. {
        walk.changed = false;
        walk.next_loop = 0;
        walk.block(body);
        if !walk.changed {
            break;
        }
        if number >= MOST_WALKS {
            walk.values.fill(Value::of(Step::Unknown));
            walk.divergent.fill(Divergent { leave: true, skip: true });
            break;
        }
    }
    walk.found = Some(Vec::new());
    walk.next_loop = 0;
    walk.block(body);
    let mut found = walk.found.unwrap_or_default();
    found.sort_by_key(|access| (access.span.file, access.span.lo, access.span.hi));
    found
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

struct Walk<'a> {
    function: &'a Function,
    structs: &'a [Struct],
    values: Vec<Value>,
    /// How often each variable is assigned in the text.
    assigned: Vec<u32>,
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
    /// In the last walk.
    found: Option<Vec<MemoryAccess>>,
}

impl<'a> Walk<'a> {
    fn count_assignments(&mut self, body: &Block) {
        fn variable(place: &Expr) -> Option<LocalId> {
            match &place.kind {
                ExprKind::Local(id) => Some(*id),
                ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) | ExprKind::Half(base, _) => variable(base),
                ExprKind::Index(base, _) if base.ty.pointee().is_none() => variable(base),
                _ => None,
            }
        }
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
        }
    }

    fn assign(&mut self, id: LocalId, value: Value) {
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
    fn agreed(&mut self, cond: &Expr) -> bool {
        matches!(self.value(cond).step, SAME | Step::None)
    }

    /// What is run by some neighbours only, if `some`.
    fn by_some(&mut self, some: bool, run: impl FnOnce(&mut Self)) {
        self.depth += u32::from(some);
        run(self);
        self.depth -= u32::from(some);
    }

    /// The body of a loop or switch. Variables of `own`, a loop's first clause, are gone behind it, so that who leaves it does
    /// not matter to them.
    fn body(
        &mut self,
        is_switch: bool,
        own: Option<&Stmt>,
        agreed: impl Fn(&mut Self) -> bool,
        run: impl FnOnce(&mut Self),
    ) {
        let (number, depth) = (self.next_loop, self.depth);
        self.next_loop += 1;
        if self.divergent.len() <= number {
            self.divergent.push(Divergent::default());
        }
        self.loops.push(Around { number, depth, is_switch });
        let leave = !agreed(self) || self.divergent[number].leave;
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
    }

    /// `break` or `continue`
    fn leave(&mut self, skips: bool) {
        let Some(&Around { number, depth, .. }) = self.loops.iter().rfind(|around| !skips || !around.is_switch) else {
            return;
        };
        let Divergent { leave, skip } = &mut self.divergent[number];
        let one = if skips { skip } else { leave };
        if self.depth > depth && !std::mem::replace(one, true) {
            self.changed = true;
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Expr(e) | StmtKind::Case(e) => _ = self.value(e),
            StmtKind::Return(e) => e.iter().for_each(|e| _ = self.value(e)),
            StmtKind::Decl(decls) => {
                for Decl { local, init } in decls {
                    self.declared[local.0 as usize] = (self.depth, self.loops.len());
                    if let Some(init) = init {
                        let value = self.value(init);
                        self.assign(*local, value);
                    }
                }
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::If { arms, otherwise } => {
                let before = self.depth;
                for (cond, block) in arms {
                    // Later conditions are asked by those only who said no before.
                    let agreed = self.agreed(cond);
                    self.depth += u32::from(!agreed);
                    self.block(block);
                }
                otherwise.iter().for_each(|block| self.block(block));
                self.depth = before;
            }
            StmtKind::While(cond, body) => self.body(false, None, |walk| walk.agreed(cond), |walk| walk.block(body)),
            StmtKind::DoWhile(body, cond) => {
                self.body(
                    false,
                    None,
                    |walk| {
                        // Without a record: the condition is recorded behind the body.
                        let found = walk.found.take();
                        let agreed = walk.agreed(cond);
                        walk.found = found;
                        agreed
                    },
                    |walk| {
                        walk.block(body);
                        walk.value(cond);
                    },
                );
            }
            StmtKind::For { init, cond, step, body } => {
                init.iter().for_each(|init| self.stmt(init));
                self.body(
                    false,
                    init.as_deref(),
                    |walk| cond.as_ref().is_none_or(|cond| walk.agreed(cond)),
                    |walk| {
                        walk.block(body);
                        step.iter().for_each(|step| _ = walk.value(step));
                    },
                );
            }
            StmtKind::Switch(value, body) => self.body(true, None, |walk| walk.agreed(value), |walk| walk.block(body)),
            StmtKind::Break => self.leave(false),
            StmtKind::Continue => self.leave(true),
            StmtKind::Empty | StmtKind::Default | StmtKind::Goto(_) | StmtKind::Label(_) => {}
        }
    }

    fn size(&self, ty: &Type) -> Option<i128> {
        layout(ty, self.structs).map(|(size, _)| i128::from(size))
    }

    /// `pointer + index`
    fn advance(&self, pointer: Value, index: Step, element: &Type) -> Value {
        let step = self.size(element).map_or(Step::Unknown, |size| pointer.step.plus(index.times(size)));
        Value { step, ..pointer }
    }

    fn place(&mut self, e: &Expr) -> Place {
        match &e.kind {
            ExprKind::Local(id) => {
                let local = self.function.local(*id);
                match local.space {
                    Space::Local => {
                        let address = Value { step: SAME, root: Root::Variable };
                        Place::Memory { address, space: Space::Local, is_const: false }
                    }
                    _ => Place::Variable { id: *id, whole: true },
                }
            }
            ExprKind::Constant(_) => {
                let address = Value { step: SAME, root: Root::Variable };
                Place::Memory { address, space: Space::Constant, is_const: true }
            }
            ExprKind::Index(base, index) => {
                let pointee = base.ty.pointee().cloned();
                if let Some(pointee) = pointee {
                    let base = self.value(base);
                    let index = self.value(index).step;
                    let address = self.advance(base, index, &pointee.ty);
                    return Place::Memory { address, space: pointee.space, is_const: pointee.quals.is_const };
                }
                let place = self.place(base);
                let index = self.value(index).step;
                match place {
                    Place::Memory { address, space, is_const } => {
                        Place::Memory { address: self.advance(address, index, &e.ty), space, is_const }
                    }
                    Place::Variable { id, .. } => Place::Variable { id, whole: false },
                    Place::Unknown => Place::Unknown,
                }
            }
            ExprKind::Deref(pointer) => {
                let address = self.value(pointer);
                match pointer.ty.pointee() {
                    Some(p) => Place::Memory { address, space: p.space, is_const: p.quals.is_const },
                    None => Place::Unknown,
                }
            }
            ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) | ExprKind::Half(base, _) => {
                match self.place(base) {
                    Place::Variable { id, .. } => Place::Variable { id, whole: false },
                    other => other,
                }
            }
            _ => {
                self.value(e);
                Place::Unknown
            }
        }
    }

    fn record(&mut self, address: Value, space: Space, bytes: Option<i128>, reads: bool, writes: bool, span: Span) {
        let address_space = match space {
            Space::Global => AddressSpace::Global,
            Space::Constant => AddressSpace::Constant,
            Space::Local => AddressSpace::Local,
            Space::Private | Space::Unset | Space::Var(_) => return,
        };
        // Tables of the program's own.
        if space == Space::Constant && address.root == Root::Variable {
            return;
        }
        let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        let pattern = match address.step {
            SAME => AccessPattern::Uniform,
            Step::Known(step) if bytes > 0 && i128::from(step) == i128::from(bytes) => AccessPattern::Contiguous,
            Step::Known(step) => AccessPattern::Strided(step),
            Step::Even => AccessPattern::Even,
            Step::Data => AccessPattern::Gather,
            Step::None | Step::Unknown => AccessPattern::Unknown,
        };
        let argument = match address.root {
            Root::Parameter(index) => Some(index),
            Root::None | Root::Variable | Root::Unknown => None,
        };
        if let Some(found) = &mut self.found {
            found.push(MemoryAccess { argument, address_space, reads, writes, bytes, pattern, span });
        }
    }

    /// What a place holds; it is read.
    fn load(&mut self, place: &Place, e: &Expr, writes: bool) -> Value {
        match *place {
            Place::Memory { address, space, is_const } => {
                self.record(address, space, self.size(&e.ty), true, writes, e.span);
                let fixed = space == Space::Constant || (space == Space::Global && is_const && !writes);
                Value::of(match (space, address.step) {
                    (Space::Private | Space::Unset | Space::Var(_), _) => Step::Unknown,
                    (_, Step::None) => Step::None,
                    (_, SAME) if fixed => SAME,
                    (_, Step::Unknown) => Step::Unknown,
                    _ => Step::Data,
                })
            }
            Place::Variable { id, whole } => {
                let local = self.function.local(id);
                let value = self.values[id.0 as usize];
                match (&local.ty, value.step) {
                    // Each work-item has its own.
                    (Type::Array(..), _) => Value::of(Step::Unknown),
                    (_, SAME | Step::None) => value,
                    _ if whole => value,
                    _ => Value::of(value.step.mix(value.step)),
                }
            }
            Place::Unknown => Value::of(Step::Unknown),
        }
    }

    fn store(&mut self, place: &Place, e: &Expr, value: Value) {
        match *place {
            Place::Memory { address, space, .. } => {
                self.record(address, space, self.size(&e.ty), false, true, e.span);
            }
            Place::Variable { id, whole: true } => self.assign(id, value),
            // A part: the rest is as it was.
            Place::Variable { id, whole: false } => {
                self.assign(id, Value::of(if value.step == SAME { SAME } else { Step::Unknown }));
            }
            Place::Unknown => {}
        }
    }

    /// `place op= value`; the new value.
    fn modify(&mut self, place: &Expr, change: impl FnOnce(&mut Self, Value) -> Value) -> Value {
        let to = self.place(place);
        let old = self.load(&to, place, true);
        let new = change(self, old);
        if let Place::Variable { .. } = to {
            self.store(&to, place, new);
        }
        new
    }

    fn binary(&self, op: BinaryOp, (a, x): (Step, &Expr), (b, y): (Step, &Expr)) -> Step {
        match op {
            BinaryOp::Add => a.plus(b),
            BinaryOp::Sub => a.plus(b.times(-1)),
            BinaryOp::Mul => match (factor(x), factor(y)) {
                (_, Some(factor)) => a.times(factor),
                (Some(factor), _) => b.times(factor),
                _ => a.product(b),
            },
            BinaryOp::Shl => match const_int(y) {
                Some(bits @ 0..=62) => a.times(1 << bits),
                // A number of neighbours' own in the exponent is no distance.
                _ if b == SAME => a.product(b),
                _ => a.mix(b),
            },
            _ => a.mix(b),
        }
    }

    /// A pointer and a number, or two numbers.
    fn sum(&self, op: BinaryOp, (a, x): (Value, &Expr), (b, y): (Value, &Expr)) -> Value {
        match (op, x.ty.pointee(), y.ty.pointee()) {
            (BinaryOp::Add, Some(p), None) => self.advance(a, b.step, &p.ty),
            (BinaryOp::Sub, Some(p), None) => self.advance(a, b.step.times(-1), &p.ty),
            (BinaryOp::Add, None, Some(p)) => self.advance(b, a.step, &p.ty),
            (_, None, None) => Value::of(self.binary(op, (a.step, x), (b.step, y))),
            _ => Value::of(a.step.mix(b.step)),
        }
    }

    fn all(&mut self, list: &[Expr]) -> Step {
        list.iter().fold(SAME, |step, e| {
            let value = self.value(e).step;
            step.mix(value)
        })
    }

    fn value(&mut self, e: &Expr) -> Value {
        match &e.kind {
            ExprKind::Int { .. } | ExprKind::Float(_) | ExprKind::Double(_) | ExprKind::Zero => Value::of(SAME),
            ExprKind::Null => Value { step: SAME, root: Root::None },
            ExprKind::Local(_)
            | ExprKind::Constant(_)
            | ExprKind::Index(..)
            | ExprKind::Deref(_)
            | ExprKind::Member(..)
            | ExprKind::Swizzle(..)
            | ExprKind::Half(..) => {
                let place = self.place(e);
                self.load(&place, e, false)
            }
            ExprKind::Unary(op, a) => {
                let step = self.value(a).step;
                Value::of(if *op == UnaryOp::Neg { step.times(-1) } else { step.mix(step) })
            }
            ExprKind::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr, a, b) => {
                let left = self.value(a).step;
                let mut right = Step::None;
                self.by_some(!matches!(left, SAME | Step::None), |walk| right = walk.value(b).step);
                Value::of(left.mix(right))
            }
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (self.value(a), self.value(b));
                self.sum(*op, (left, a), (right, b))
            }
            ExprKind::Assign(place, value) => {
                let new = self.value(value);
                let to = self.place(place);
                self.store(&to, place, new);
                new
            }
            ExprKind::AssignOp { op, place, value, at } => self.modify(place, |walk, old| {
                let operand = walk.value(value);
                let new = walk.sum(*op, (old, place), (operand, value));
                let keeps = place.ty.pointee().is_some() || (is_wide(&place.ty) && is_wide(at));
                if keeps { new } else { Value::of(new.step.mix(new.step)) }
            }),
            ExprKind::Step { place, prefix, .. } => {
                let mut before = Value::of(Step::Unknown);
                let after = self.modify(place, |_, old| {
                    before = old;
                    old
                });
                if *prefix { after } else { before }
            }
            ExprKind::Cond(cond, a, b) | ExprKind::VectorCond(cond, a, b) => {
                let agreed = self.agreed(cond);
                let (mut left, mut right) = (Value::of(Step::Unknown), Value::of(Step::Unknown));
                self.by_some(!agreed, |walk| (left, right) = (walk.value(a), walk.value(b)));
                let joined = left.join(right);
                match agreed {
                    true => joined,
                    // Some have one, some the other.
                    false => Value { step: left.step.mix(right.step).mix(Step::Unknown), ..joined },
                }
            }
            ExprKind::Comma(a, b) => {
                self.value(a);
                self.value(b)
            }
            ExprKind::Convert(a) => {
                let value = self.value(a);
                if e.ty.pointee().is_some() && a.ty.pointee().is_some() {
                    return value;
                }
                let keeps = is_wide(&e.ty) && matches!(&a.ty, Type::Scalar(s) if s.is_integer() && *s != Scalar::Bool);
                Value::of(if keeps { value.step } else { value.step.mix(value.step) })
            }
            ExprKind::VectorLiteral(list) | ExprKind::Aggregate(list) => Value::of(self.all(list)),
            ExprKind::UnionOf(_, a) => {
                let step = self.value(a).step;
                Value::of(step.mix(step))
            }
            ExprKind::AddressOf(place) | ExprKind::Decay(place) => match self.place(place) {
                Place::Memory { address, .. } => address,
                Place::Variable { .. } | Place::Unknown => Value::of(Step::Unknown),
            },
            ExprKind::Call { args, .. } => {
                self.passed(args, e.span);
                Value::of(Step::Unknown)
            }
            ExprKind::Builtin { builtin, args } => Value::of(self.builtin(*builtin, args, e)),
            ExprKind::Msl(_, list) => {
                self.all(list);
                Value::of(Step::Unknown)
            }
            ExprKind::Name(_) | ExprKind::Hidden(_) | ExprKind::Error => Value::of(Step::Unknown),
        }
    }

    /// Arguments of a function that is not followed: what it does with pointers is not known.
    fn passed(&mut self, args: &[Expr], span: Span) -> Step {
        let mut step = SAME;
        for arg in args {
            let value = self.value(arg);
            step = step.mix(value.step);
            if let Some(pointee) = arg.ty.pointee() {
                let unknown = Value { step: Step::Unknown, ..value };
                self.record(unknown, pointee.space, None, true, !pointee.quals.is_const, span);
            }
        }
        step
    }

    fn builtin(&mut self, builtin: Resolved, args: &[Expr], e: &Expr) -> Step {
        match (builtin, args) {
            (Resolved::Special(Special::WorkItem(item)), _) => self.work_item(item, args),
            (Resolved::Special(Special::Load(lanes)), [index, pointer]) => {
                self.vector(index, pointer, (lanes, lanes), (true, false), e.span)
            }
            (Resolved::Special(Special::Store(lanes)), [data, index, pointer]) => {
                self.value(data);
                self.vector(index, pointer, (lanes, lanes), (false, true), e.span)
            }
            (Resolved::Special(Special::LoadHalf(lanes, aligned)), [index, pointer]) => {
                let apart = if aligned && lanes == 3 { 4 } else { lanes };
                self.vector(index, pointer, (lanes, apart), (true, false), e.span)
            }
            (Resolved::Special(Special::StoreHalf(lanes, aligned, _)), [data, index, pointer]) => {
                self.value(data);
                let apart = if aligned && lanes == 3 { 4 } else { lanes };
                self.vector(index, pointer, (lanes, apart), (false, true), e.span)
            }
            (Resolved::Special(Special::Atomic(_)), [pointer, operands @ ..]) => {
                let address = self.value(pointer);
                self.all(operands);
                if let Some(p) = pointer.ty.pointee() {
                    self.record(address, p.space, self.size(&p.ty), true, true, e.span);
                }
                Step::Data
            }
            (Resolved::Special(Special::Prefetch), _) => self.all(args),
            (Resolved::Row(row, ..), [a, b, rest @ ..]) if matches!(TABLE[row].name, "mul24" | "mad24") => {
                let (left, right) = (self.value(a).step, self.value(b).step);
                let product = self.binary(BinaryOp::Mul, (left, a), (right, b));
                rest.iter().fold(product, |sum, c| {
                    let c = self.value(c).step;
                    sum.plus(c)
                })
            }
            (Resolved::Row(..) | Resolved::Special(Special::Convert { .. } | Special::AsType { .. }), _) => {
                self.passed(args, e.span)
            }
            _ => {
                self.passed(args, e.span);
                Step::Unknown
            }
        }
    }

    /// `vload4(index, pointer)` and its kin, of so many elements, and so many from one index to the next.
    fn vector(
        &mut self,
        index: &Expr,
        pointer: &Expr,
        (lanes, apart): (u8, u8),
        (reads, writes): (bool, bool),
        span: Span,
    ) -> Step {
        let index = self.value(index).step;
        let base = self.value(pointer);
        let Some(pointee) = pointer.ty.pointee() else { return Step::Unknown };
        let address = self.advance(base, index.times(i128::from(apart)), &pointee.ty);
        let bytes = self.size(&pointee.ty).map(|size| size * i128::from(lanes));
        self.record(address, pointee.space, bytes, reads, writes, span);
        if address.step == Step::Unknown { Step::Unknown } else { Step::Data }
    }

    fn work_item(&mut self, item: WorkItem, args: &[Expr]) -> Step {
        let asked = self.all(args);
        let dimension = args.first().map(const_int);
        match item {
            WorkItem::GlobalId | WorkItem::LocalId => match dimension {
                Some(Some(0)) => Step::Known(1),
                Some(Some(_)) => SAME,
                _ => Step::Unknown,
            },
            WorkItem::GlobalLinearId | WorkItem::LocalLinearId => Step::Known(1),
            WorkItem::SubGroupSize | WorkItem::SubGroupId | WorkItem::SubGroupLocalId => Step::Unknown,
            WorkItem::GroupId
            | WorkItem::GlobalSize
            | WorkItem::LocalSize
            | WorkItem::EnqueuedLocalSize
            | WorkItem::NumGroups
            | WorkItem::GlobalOffset
            | WorkItem::WorkDim
            | WorkItem::MaxSubGroupSize
            | WorkItem::NumSubGroups
            | WorkItem::EnqueuedNumSubGroups => asked,
        }
    }
}
