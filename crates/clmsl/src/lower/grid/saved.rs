//! What a work-item keeps from part to part: the members of a structure.
//!
//! A variable whose value is used behind a barrier is a member of a structure that each part loads at its beginning and stores at its end, so that it lies in registers in
//! between. A parameter that the kernel changes is one, too. A pointer cannot be one: MSL has no numbers for pointers, and says nothing of pointers that kernels store.
//! Memory of the work-group has no place to go: its contents are lost at a grid barrier, and what is read behind one before it is written is refused.
//! A variable whose value is not used behind a barrier may be mentioned there all the same: it gets another one. Each part that mentions it declares it anew.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::Graph;
use super::{binary, live};
use crate::ast::BinaryOp;
use crate::diagnostic::Diagnostic;
use crate::hir::{self, Block, Decl, Expr, ExprKind, Function, Local, LocalId, Program, Stmt, StmtKind};
use crate::source::Span;
use crate::types::{Field, Quals, Space, Struct, StructId, Type, holds_pointers, layout, struct_layout};

pub(super) struct Saved {
    structure: Option<StructId>,
    /// The variable of that type.
    variable: Option<LocalId>,
    /// Of each variable: the member that takes its place.
    members: BTreeMap<LocalId, Member>,
    /// The member that says whether the work-item has not returned.
    live: Option<u32>,
    /// Variables that each part declares which mentions them, by part.
    declared: Vec<Vec<Decl>>,
    /// Those of them whose declarations in the text go: local and constant memory.
    moved: BTreeSet<LocalId>,
    /// Those of them whose declarations in the text become assignments, with their types.
    renewed: BTreeMap<LocalId, Type>,
}

struct Member {
    field: u32,
    ty: Type,
    /// The parameter that it is, whose value it has at first.
    parameter: Option<LocalId>,
}

impl Saved {
    /// `uses`: the statements of each part.
    pub(super) fn of(
        function: &mut Function,
        program: &mut Program,
        (graph, entries, uses): (&Graph, &[usize], &[Vec<Stmt>]),
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Saved {
        let changed = changed(uses);
        // Other pointers to local memory are values.
        let is_memory = |function: &Function, id: LocalId| {
            let local = function.local(id);
            let points = || local.ty.pointee().is_some_and(|pointee| pointee.space == Space::Local);
            local.space == Space::Local || function.params.contains(&id) && !changed.contains(&id) && points()
        };
        let live = live::across(graph, entries, &|id| is_memory(function, id));
        let in_scope = live::in_scope(graph, entries);
        let mut saved = Saved {
            structure: None,
            variable: None,
            members: BTreeMap::new(),
            live: None,
            declared: vec![Vec::new(); uses.len()],
            moved: BTreeSet::new(),
            renewed: BTreeMap::new(),
        };
        let mut fields = Vec::new();
        for number in 0..function.locals.len() {
            let id = LocalId(number as u32);
            let is_parameter = function.params.contains(&id);
            let local = function.local(id).clone();
            if local.space == Space::Local || local.space == Space::Constant {
                saved.moved.insert(id);
                let init = declaration(uses, id);
                for part in (0..uses.len()).filter(|&part| is_used(&uses[part], id)) {
                    saved.declared[part].push(Decl { local: id, init: init.clone() });
                }
            }
            let Some(&place) = live.get(&id) else {
                if in_scope.contains(&id) && !is_parameter && !saved.moved.contains(&id) {
                    saved.renewed.insert(id, local.ty.clone());
                    function.local_mut(id).quals.is_const = false;
                    for part in (0..uses.len()).filter(|&part| is_mentioned(&uses[part], id)) {
                        saved.declared[part].push(Decl { local: id, init: None });
                    }
                }
                continue;
            };
            if is_memory(function, id) {
                let message = format!(
                    "'{}' is local memory and read behind 'dc_grid_barrier', where its contents are lost, before it is written",
                    local.name
                );
                diagnostics.push(Diagnostic::error(place, message).with_note(local.span, "it is declared here"));
                continue;
            }
            if local.space == Space::Constant || is_parameter && !changed.contains(&id) {
                continue;
            }
            let why = match &local.ty {
                ty if holds_pointers(ty, &program.structs) => Some("it is or holds a pointer"),
                ty if layout(ty, &program.structs).is_none() => Some("it has no place in memory"),
                _ => None,
            };
            if let Some(why) = why {
                let message = format!("'{}' is used behind 'dc_grid_barrier' and cannot be kept: {why}", local.name);
                diagnostics.push(Diagnostic::error(place, message).with_note(local.span, "it is declared here"));
                continue;
            }
            let ty = local.ty.clone();
            let (name, quals) = (local.name.clone(), Quals::default());
            fields.push(Field { name, ty, quals, min_align: local.min_align, packed: false, span: local.span });
            let parameter = is_parameter.then_some(id);
            saved.members.insert(id, Member { field: fields.len() as u32 - 1, ty: local.ty, parameter });
        }
        if uses.len() > 1 && uses.iter().any(|part| part.iter().any(returns)) {
            saved.live = Some(fields.len() as u32);
            let (name, ty) = ("live".to_owned(), Type::UINT);
            fields.push(Field { name, ty, quals: Quals::default(), min_align: 1, packed: false, span: function.span });
        }
        if !fields.is_empty() {
            saved.make(function, program, fields);
        }
        saved
    }

    fn make(&mut self, function: &mut Function, program: &mut Program, fields: Vec<Field>) {
        let depth = |f: &Field| depth(&f.ty, &program.structs);
        let mut s = Struct {
            name: format!("{}_state", function.name),
            is_union: false,
            depth: 1 + fields.iter().map(depth).max().unwrap_or(0),
            holds_pointers: false,
            fields,
            complete: true,
            layout: None,
            min_align: 1,
            packed: false,
            max_align: 0,
            anywhere: false,
            span: function.span,
        };
        s.layout = struct_layout(&s, &program.structs);
        let id = StructId(program.structs.len() as u32);
        program.structs.push(s);
        self.structure = Some(id);
        self.variable = Some(function.add_local(Local::generated("kept", Type::Struct(id), function.span)));
    }

    pub(super) fn structure(&self) -> Option<Type> {
        self.structure.map(Type::Struct)
    }

    /// The member of the variable.
    fn member(&self, field: u32, ty: Type, span: Span) -> Expr {
        let variable = self.variable.unwrap_or_else(|| unreachable!("there is a member"));
        let structure = self.structure().unwrap_or_else(|| unreachable!("there is a member"));
        let base = Expr::new(ExprKind::Local(variable), structure, span);
        Expr::new(ExprKind::Member(Box::new(base), field), ty, span)
    }

    /// What a part begins with.
    pub(super) fn declared(&self, part: usize, element: Option<Expr>, span: Span) -> Vec<Stmt> {
        let decl = |local: LocalId, init: Option<Expr>| Stmt { kind: StmtKind::Decl(vec![Decl { local, init }]), span };
        let mut out: Vec<Stmt> =
            self.declared[part].iter().map(|d| Stmt { kind: StmtKind::Decl(vec![d.clone()]), span }).collect();
        let Some(variable) = self.variable else { return out };
        out.push(decl(variable, element.filter(|_| part > 0)));
        if part > 0
            && let Some(live) = self.live
        {
            let gone =
                binary(BinaryOp::Eq, self.member(live, Type::UINT, span), Expr::int(0, Type::UINT, span), Type::BOOL);
            let back = Block { stmts: vec![Stmt { kind: StmtKind::Return(None), span }], end: span };
            out.push(Stmt { kind: StmtKind::If { arms: vec![(gone, back)], otherwise: None }, span });
        }
        for member in self.members.values() {
            if part == 0
                && let Some(parameter) = member.parameter
            {
                let value = Expr::new(ExprKind::Local(parameter), member.ty.clone(), span);
                let place = self.member(member.field, member.ty.clone(), span);
                let kind = ExprKind::Assign(Box::new(place), Box::new(value));
                out.push(Stmt { kind: StmtKind::Expr(Expr::new(kind, member.ty.clone(), span)), span });
            }
        }
        out
    }

    /// The end of a part that another follows.
    pub(super) fn store(&self, element: Expr, span: Span, out: &mut Vec<Stmt>) {
        let mut assign = |place: Expr, value: Expr| {
            let ty = place.ty.clone();
            let kind = ExprKind::Assign(Box::new(place), Box::new(value));
            out.push(Stmt { kind: StmtKind::Expr(Expr::new(kind, ty, span)), span });
        };
        if let Some(live) = self.live {
            assign(self.member(live, Type::UINT, span), Expr::int(1, Type::UINT, span));
        }
        if let Some(variable) = self.variable {
            let value = Expr::new(ExprKind::Local(variable), element.ty.clone(), span);
            assign(element, value);
        }
    }

    /// Marks the work-item as gone.
    pub(super) fn gone(&self, element: Expr, span: Span) -> Option<Stmt> {
        let place = Expr::new(ExprKind::Member(Box::new(element), self.live?), Type::UINT, span);
        let kind = ExprKind::Assign(Box::new(place), Box::new(Expr::int(0, Type::UINT, span)));
        Some(Stmt { kind: StmtKind::Expr(Expr::new(kind, Type::UINT, span)), span })
    }

    /// A statement with members in place of variables.
    pub(super) fn rewrite(&self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        let mut list = Vec::new();
        self.declarations(&mut stmt, &mut list);
        for mut stmt in list {
            stmt.for_each_list_mut(&mut |inner| {
                let mut new = Vec::new();
                for mut stmt in inner.drain(..) {
                    self.declarations(&mut stmt, &mut new);
                }
                *inner = new;
            });
            stmt.for_each_expr_mut(&mut |e| self.rewrite_expr(e));
            out.push(stmt);
        }
    }

    pub(super) fn rewrite_expr(&self, e: &mut Expr) {
        e.rewrite(&mut |e| {
            if let ExprKind::Local(id) = e.kind
                && let Some(member) = self.members.get(&id)
            {
                // What a part begins with mentions the parameter.
                *e = self.member(member.field, e.ty.clone(), e.span);
            }
        });
    }

    /// Declarations of what is kept, or declared where a part begins, become assignments.
    fn declarations(&self, stmt: &mut Stmt, out: &mut Vec<Stmt>) {
        let span = stmt.span;
        match &mut stmt.kind {
            StmtKind::Decl(decls) => {
                for Decl { local, init } in decls.drain(..) {
                    if self.moved.contains(&local) {
                        continue;
                    }
                    match (self.assigned(local), init) {
                        (None, init) => {
                            out.push(Stmt { kind: StmtKind::Decl(vec![Decl { local, init }]), span });
                        }
                        (Some(_), None) => {}
                        (Some(ty), Some(init)) => {
                            let mut steps = Vec::new();
                            hir::assign(Expr::new(ExprKind::Local(local), ty.clone(), span), init, &mut steps);
                            out.extend(steps.into_iter().map(|step| Stmt { kind: StmtKind::Expr(step), span }));
                        }
                    }
                }
            }
            StmtKind::For { init, .. } if init.as_ref().is_some_and(|init| self.assigns(init)) => {
                let init = init.take();
                if let Some(mut init) = init {
                    self.declarations(&mut init, out);
                }
                out.push(std::mem::replace(stmt, Stmt { kind: StmtKind::Empty, span }));
            }
            _ => out.push(std::mem::replace(stmt, Stmt { kind: StmtKind::Empty, span })),
        }
    }

    /// The type of a variable whose declaration becomes an assignment.
    fn assigned(&self, id: LocalId) -> Option<&Type> {
        self.members.get(&id).map(|member| &member.ty).or_else(|| self.renewed.get(&id))
    }

    /// Whether a statement declares such a variable.
    fn assigns(&self, stmt: &Stmt) -> bool {
        matches!(&stmt.kind, StmtKind::Decl(decls) if decls.iter().any(|d| self.assigned(d.local).is_some()))
    }
}

fn depth(ty: &Type, structs: &[Struct]) -> u32 {
    match ty {
        Type::Struct(id) => structs[id.0 as usize].depth,
        Type::Array(element, _) => depth(element, structs),
        _ => 0,
    }
}

/// Visits a statement and those inside.
pub(super) fn each<'s>(stmt: &'s Stmt, f: &mut dyn FnMut(&'s Stmt)) {
    f(stmt);
    if let StmtKind::For { init: Some(init), .. } = &stmt.kind {
        each(init, f);
    }
    for block in stmt.blocks() {
        block.stmts.iter().for_each(|stmt| each(stmt, f));
    }
}

fn is_used(stmts: &[Stmt], id: LocalId) -> bool {
    let mut found = false;
    for stmt in stmts {
        stmt.for_each_expr(&mut |e| e.walk(&mut |e| found |= matches!(e.kind, ExprKind::Local(used) if used == id)));
    }
    found
}

/// Whether a variable is used, or declared with a value.
fn is_mentioned(stmts: &[Stmt], id: LocalId) -> bool {
    let mut found = is_used(stmts, id);
    for stmt in stmts {
        each(stmt, &mut |stmt| {
            if let StmtKind::Decl(decls) = &stmt.kind {
                found |= decls.iter().any(|decl| decl.local == id && decl.init.is_some());
            }
        });
    }
    found
}

/// What a variable is declared with.
fn declaration(uses: &[Vec<Stmt>], id: LocalId) -> Option<Expr> {
    let mut found = None;
    for stmt in uses.iter().flatten() {
        each(stmt, &mut |stmt| {
            if let StmtKind::Decl(decls) = &stmt.kind {
                found = decls.iter().find(|d| d.local == id).and_then(|d| d.init.clone()).or(found.take());
            }
        });
    }
    found
}

/// Variables that are assigned to, or whose address is taken.
fn changed(uses: &[Vec<Stmt>]) -> BTreeSet<LocalId> {
    let mut found = BTreeSet::new();
    for stmt in uses.iter().flatten() {
        stmt.for_each_expr(&mut |e| {
            e.walk(&mut |e| match &e.kind {
                ExprKind::Assign(place, _)
                | ExprKind::AssignOp { place, .. }
                | ExprKind::Step { place, .. }
                | ExprKind::AddressOf(place)
                | ExprKind::Decay(place) => found.extend(root(place)),
                _ => {}
            });
        });
    }
    found
}

/// The variable that a place is a part of, unless a pointer is followed.
pub(super) fn root(place: &Expr) -> Option<LocalId> {
    match &place.kind {
        ExprKind::Local(id) => Some(*id),
        ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) => root(base),
        ExprKind::Index(base, _) if base.ty.pointee().is_none() => root(base),
        _ => None,
    }
}

fn returns(stmt: &Stmt) -> bool {
    let mut found = false;
    each(stmt, &mut |stmt| found |= matches!(stmt.kind, StmtKind::Return(_)));
    found
}
