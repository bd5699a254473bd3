//! The statements of a kernel as blocks: only those with a grid barrier inside are taken apart, all others stay as they are.

use super::{barrier_in, has_barrier, is_barrier};
use crate::diagnostic::Diagnostic;
use crate::hir::{Block, Expr, Stmt, StmtKind};
use crate::source::Span;

/// Blocks in the order of the text; the first is where the kernel begins.
pub(super) struct Graph {
    pub(super) blocks: Vec<Part>,
    /// The kernel's closing brace.
    pub(super) end: Span,
}

/// A block of the graph.
pub(super) struct Part {
    pub(super) stmts: Vec<Stmt>,
    pub(super) end: End,
    pub(super) end_span: Span,
}

/// How a block ends.
pub(super) enum End {
    /// The kernel ends.
    Exit,
    Goto(usize),
    /// All work-items wait.
    Barrier(usize),
    Branch(Expr, usize, usize),
}

/// Where `break` and `continue` of a loop that is taken apart go: blocks that have numbers when the loop is complete.
struct Targets {
    breaks: Vec<usize>,
    continues: Vec<usize>,
}

struct Builder<'d> {
    blocks: Vec<Part>,
    loops: Vec<Targets>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

/// Stands for a block that does not have a number yet.
const OPEN: usize = usize::MAX;

impl Graph {
    pub(super) fn of(body: Block, diagnostics: &mut Vec<Diagnostic>) -> Graph {
        let end = body.end;
        let mut builder = Builder { blocks: Vec::new(), loops: Vec::new(), diagnostics };
        let first = builder.block(end);
        let _last = builder.list(body.stmts, Some(first));
        Graph { blocks: builder.blocks, end }
    }
}

impl Builder<'_> {
    fn block(&mut self, span: Span) -> usize {
        self.blocks.push(Part { stmts: Vec::new(), end: End::Exit, end_span: span });
        self.blocks.len() - 1
    }

    fn end(&mut self, block: usize, end: End, span: Span) {
        self.blocks[block].end = end;
        self.blocks[block].end_span = span;
    }

    /// Ends a block, if control gets there, in a jump.
    fn goto(&mut self, from: Option<usize>, to: usize, span: Span) {
        if let Some(from) = from {
            self.end(from, End::Goto(to), span);
        }
    }

    /// Adds statements behind a block. Returns where control is then: nowhere behind a `break`.
    fn list(&mut self, stmts: Vec<Stmt>, mut at: Option<usize>) -> Option<usize> {
        for stmt in stmts {
            // What nothing leads to.
            let here = at?;
            at = self.statement(stmt, here);
        }
        at
    }

    fn statement(&mut self, stmt: Stmt, at: usize) -> Option<usize> {
        let span = stmt.span;
        let taken_apart = has_barrier(&stmt) || leaves(&stmt) && !self.loops.is_empty();
        if !taken_apart {
            self.blocks[at].stmts.push(stmt);
            return Some(at);
        }
        let within: &mut dyn FnMut(&Expr) = &mut |e| {
            if let Some(span) = barrier_in(e) {
                let message = "'dc_grid_barrier' is only supported as a statement of its own";
                self.diagnostics.push(Diagnostic::error(span, message));
            }
        };
        match &stmt.kind {
            StmtKind::If { arms, .. } => arms.iter().for_each(|(cond, _)| within(cond)),
            StmtKind::While(cond, _) | StmtKind::DoWhile(_, cond) => within(cond),
            StmtKind::For { cond, step, .. } => cond.iter().chain(step).for_each(|e| within(e)),
            StmtKind::Expr(e) if is_barrier(e) => {}
            StmtKind::Expr(_) | StmtKind::Decl(_) | StmtKind::Return(_) => stmt.for_each_expr(within),
            _ => {}
        }
        match stmt.kind {
            StmtKind::Expr(e) if is_barrier(&e) => {
                let next = self.block(span);
                self.end(at, End::Barrier(next), span);
                Some(next)
            }
            StmtKind::Block(block) => self.list(block.stmts, Some(at)),
            StmtKind::If { arms, otherwise } => Some(self.choice(arms, otherwise, at, span)),
            StmtKind::While(cond, body) => Some(self.while_loop(Some(cond), None, body, at, span)),
            StmtKind::For { init, cond, step, body } => {
                let at = match init {
                    Some(init) => self.statement(*init, at)?,
                    None => at,
                };
                Some(self.while_loop(cond.map(|cond| *cond), step.map(|step| *step), body, at, span))
            }
            StmtKind::DoWhile(body, cond) => Some(self.do_loop(body, cond, at, span)),
            StmtKind::Break => {
                self.loops.last_mut()?.breaks.push(at);
                self.end(at, End::Goto(OPEN), span);
                None
            }
            StmtKind::Continue => {
                self.loops.last_mut()?.continues.push(at);
                self.end(at, End::Goto(OPEN), span);
                None
            }
            StmtKind::Switch(..) => {
                let message =
                    "'dc_grid_barrier' in a switch, or a jump out of a loop with one from there, is not supported";
                self.diagnostics.push(Diagnostic::error(span, message));
                Some(at)
            }
            _ => Some(at),
        }
    }

    /// Returns the block behind it.
    fn choice(&mut self, arms: Vec<(Expr, Block)>, otherwise: Option<Block>, mut at: usize, span: Span) -> usize {
        let mut ends = Vec::new();
        for (cond, block) in arms {
            let yes = self.block(span);
            ends.push(self.list(block.stmts, Some(yes)));
            let no = self.block(span);
            self.end(at, End::Branch(cond, yes, no), span);
            at = no;
        }
        ends.push(match otherwise {
            Some(block) => self.list(block.stmts, Some(at)),
            None => Some(at),
        });
        let behind = self.block(span);
        ends.into_iter().for_each(|end| self.goto(end, behind, span));
        behind
    }

    fn while_loop(&mut self, cond: Option<Expr>, step: Option<Expr>, body: Block, at: usize, span: Span) -> usize {
        let head = self.block(span);
        self.goto(Some(at), head, span);
        let inside = self.block(span);
        self.loops.push(Targets { breaks: Vec::new(), continues: Vec::new() });
        let end = self.list(body.stmts, Some(inside));
        let again = match step {
            Some(step) => {
                let block = self.block(span);
                self.blocks[block].stmts.push(Stmt { span: step.span, kind: StmtKind::Expr(step) });
                self.goto(Some(block), head, span);
                block
            }
            None => head,
        };
        self.goto(end, again, span);
        let behind = self.block(span);
        let end = match cond {
            Some(cond) => End::Branch(cond, inside, behind),
            None => End::Goto(inside),
        };
        self.end(head, end, span);
        self.close(again, behind);
        behind
    }

    fn do_loop(&mut self, body: Block, cond: Expr, at: usize, span: Span) -> usize {
        let inside = self.block(span);
        self.goto(Some(at), inside, span);
        self.loops.push(Targets { breaks: Vec::new(), continues: Vec::new() });
        let end = self.list(body.stmts, Some(inside));
        let test = self.block(span);
        self.goto(end, test, span);
        let behind = self.block(span);
        self.end(test, End::Branch(cond, inside, behind), span);
        self.close(test, behind);
        behind
    }

    /// The loop is complete.
    fn close(&mut self, again: usize, behind: usize) {
        let Some(Targets { breaks, continues }) = self.loops.pop() else { return };
        for (blocks, target) in [(breaks, behind), (continues, again)] {
            for block in blocks {
                self.blocks[block].end = End::Goto(target);
            }
        }
    }
}

/// Whether a statement has a `break` or `continue` of a loop that it does not hold.
pub(super) fn leaves(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Break | StmtKind::Continue => true,
        StmtKind::While(..) | StmtKind::DoWhile(..) | StmtKind::For { .. } => false,
        // Its `break` is its own.
        StmtKind::Switch(_, body) => body.stmts.iter().any(continues),
        _ => stmt.blocks().iter().any(|block| block.stmts.iter().any(leaves)),
    }
}

fn continues(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Continue => true,
        StmtKind::While(..) | StmtKind::DoWhile(..) | StmtKind::For { .. } => false,
        _ => stmt.blocks().iter().any(|block| block.stmts.iter().any(continues)),
    }
}
