//! The names things are printed with: the user's, unless C++ or MSL has taken them or they would clash.
//!
//! Renaming is deterministic: `_` is appended to a reserved word, `_1`, `_2`, ... to a name that is in use. A local
//! variable never hides another name, since passes move declarations and C++ scopes differ from C's in details.

use std::collections::{HashMap, HashSet};

use super::Instance;
use crate::hir::{Block, Constant, Function, LocalId, Stmt, StmtKind};
use crate::msl::reserved::{is_metal_function, is_reserved};
use crate::reflect::KernelReflection;
use crate::types::Struct;

/// Gives structures, members, constants, functions and locals their names.
pub(super) fn assign(
    structs: &mut [Struct],
    constants: &mut [Constant],
    instances: &mut [Instance],
    kernels: &mut [KernelReflection],
) {
    let mut pool =
        Pool { user: user_names(structs, constants, instances), taken: HashSet::new(), next: HashMap::new() };
    name_functions(instances, kernels, &mut pool);
    for constant in constants {
        constant.name = pool.claim(&constant.name);
    }
    for s in structs {
        let wanted = if s.name.is_empty() { "anonymous" } else { &s.name };
        s.name = pool.claim(wanted);
        let mut members = Pool { user: s.fields.iter().map(|f| f.name.clone()).collect(), ..Pool::default() };
        for field in &mut s.fields {
            field.name = members.claim(if field.name.is_empty() { "unnamed" } else { &field.name });
        }
    }
    for instance in instances {
        name_locals(&mut instance.function, &pool);
    }
}

/// Names in use.
#[derive(Default)]
struct Pool {
    /// What the user calls anything; a made-up name is none of these.
    user: HashSet<String>,
    taken: HashSet<String>,
    /// The number to try next for a name, so that many equal names do not cost quadratic time.
    next: HashMap<String, u32>,
}

impl Pool {
    /// The wanted name or, if it cannot be had, one derived from it.
    fn claim(&mut self, wanted: &str) -> String {
        let name = self.free(wanted, &|n| self.taken.contains(n));
        let (name, counter) = name;
        if let Some(counter) = counter {
            self.next.insert(wanted.to_owned(), counter + 1);
        }
        self.taken.insert(name.clone());
        name
    }

    fn free(&self, wanted: &str, taken: &dyn Fn(&str) -> bool) -> (String, Option<u32>) {
        let mut base = wanted.to_owned();
        if is_reserved(&base) || base.starts_with("clmsl_") {
            base.push('_');
            while is_reserved(&base) || self.user.contains(&base) {
                base.push('_');
            }
        }
        if !taken(&base) {
            return (base, None);
        }
        let mut n = self.next.get(wanted).copied().unwrap_or(1);
        loop {
            let name = format!("{base}_{n}");
            if !taken(&name) && !self.user.contains(&name) {
                return (name, Some(n));
            }
            n += 1;
        }
    }
}

fn user_names(structs: &[Struct], constants: &[Constant], instances: &[Instance]) -> HashSet<String> {
    let mut names: HashSet<String> = structs.iter().map(|s| s.name.clone()).collect();
    names.extend(constants.iter().map(|c| c.name.clone()));
    for instance in instances {
        names.insert(instance.function.name.clone());
        names.extend(instance.function.locals.iter().filter(|l| !l.generated).map(|l| l.name.clone()));
    }
    names
}

fn name_functions(instances: &mut [Instance], kernels: &mut [KernelReflection], pool: &mut Pool) {
    let mut copies: HashMap<String, usize> = HashMap::new();
    for instance in instances.iter() {
        *copies.entry(instance.function.name.clone()).or_default() += 1;
    }
    // Kernels first: their names are what the host knows. Nobody calls them, so only reserved words matter.
    let mut kernels = kernels.iter_mut();
    for instance in instances.iter_mut().filter(|i| i.function.kernel.is_some()) {
        instance.function.name = pool.claim(&instance.function.name.clone());
        if let Some(kernel) = kernels.next() {
            kernel.msl_name = instance.function.name.clone();
        }
    }
    for instance in instances.iter_mut().filter(|i| i.function.kernel.is_none()) {
        let mut wanted = instance.function.name.clone();
        if instance.called_kernel {
            wanted.push_str("_called");
        } else if copies.get(&wanted).is_some_and(|&n| n > 1) {
            let components = instance.components.iter().flat_map(|c| c.iter()).map(|c| c.name());
            for word in instance.spaces.iter().map(|s| s.msl_name()).chain(components) {
                wanted.push('_');
                wanted.push_str(word);
            }
        }
        instance.function.name = pool.claim_function(&wanted);
    }
}

impl Pool {
    /// A function must not be found beside one of Metal's by its arguments' namespace either.
    fn claim_function(&mut self, wanted: &str) -> String {
        if is_metal_function(wanted) {
            let mut name = format!("{wanted}_");
            while self.user.contains(&name) {
                name.push('_');
            }
            return self.claim(&name);
        }
        self.claim(wanted)
    }
}

fn name_locals(function: &mut Function, globals: &Pool) {
    let mut scope = Scope {
        pool: globals,
        visible: HashMap::new(),
        names: HashMap::new(),
        user: function.locals.iter().filter(|l| !l.generated).map(|l| l.name.clone()).collect(),
    };
    let params = function.params.clone();
    let mut declared = Vec::new();
    for id in params {
        scope.declare(id, function, &mut declared);
    }
    if let Some(body) = function.body.take() {
        scope.block(&body, function);
        function.body = Some(body);
    }
    for (id, name) in scope.names {
        function.local_mut(id).name = name;
    }
}

/// The names visible at a point of a function.
struct Scope<'p> {
    pool: &'p Pool,
    visible: HashMap<String, u32>,
    names: HashMap<LocalId, String>,
    user: HashSet<String>,
}

impl Scope<'_> {
    fn declare(&mut self, id: LocalId, function: &Function, declared: &mut Vec<String>) {
        let local = function.local(id);
        let taken = |n: &str| {
            self.visible.contains_key(n) || self.pool.taken.contains(n) || (local.generated && self.user.contains(n))
        };
        let wanted = if local.name.is_empty() { "unnamed" } else { &local.name };
        let (name, _) = self.pool.free(wanted, &taken);
        *self.visible.entry(name.clone()).or_default() += 1;
        declared.push(name.clone());
        self.names.insert(id, name);
    }

    fn block(&mut self, block: &Block, function: &Function) {
        let mut declared = Vec::new();
        for stmt in &block.stmts {
            self.statement(stmt, function, &mut declared);
        }
        self.leave(declared);
    }

    fn leave(&mut self, declared: Vec<String>) {
        for name in declared {
            self.visible.remove(&name);
        }
    }

    fn statement(&mut self, stmt: &Stmt, function: &Function, declared: &mut Vec<String>) {
        match &stmt.kind {
            StmtKind::Decl(decls) => {
                for decl in decls {
                    self.declare(decl.local, function, declared);
                }
            }
            StmtKind::Block(b) | StmtKind::While(_, b) | StmtKind::DoWhile(b, _) | StmtKind::Switch(_, b) => {
                self.block(b, function);
            }
            StmtKind::If { arms, otherwise } => {
                for (_, b) in arms {
                    self.block(b, function);
                }
                if let Some(b) = otherwise {
                    self.block(b, function);
                }
            }
            StmtKind::For { init, body, .. } => {
                let mut own = Vec::new();
                if let Some(init) = init {
                    self.statement(init, function, &mut own);
                }
                self.block(body, function);
                self.leave(own);
            }
            _ => {}
        }
    }
}
