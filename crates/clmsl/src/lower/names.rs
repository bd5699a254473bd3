//! The names things are printed with: the user's, unless C++ or MSL has taken them or they would clash.
//!
//! Renaming is deterministic: `_` is appended to a reserved word, `_1`, `_2`, ... to a name that is in use. A local
//! variable never hides another name, since passes move declarations and C++ scopes differ from C's in details.

use std::borrow::Cow;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

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
    let mut pool = Pool { user: user_names(structs, constants, instances), ..Pool::default() };
    let function_names = name_functions(instances, &mut pool);
    let constant_names: Vec<String> = constants.iter().map(|c| pool.claim(&c.name)).collect();
    let struct_names: Vec<(String, Vec<String>)> = structs.iter().map(|s| name_struct(s, &mut pool)).collect();
    let renamed: Vec<Vec<(LocalId, String)>> = instances.iter().map(|i| rename_locals(&i.function, &pool)).collect();
    let kernel_names = instances.iter().zip(&function_names).filter(|(i, _)| i.function.kernel.is_some());
    for (kernel, (_, name)) in kernels.iter_mut().zip(kernel_names) {
        kernel.msl_name.clone_from(name);
    }
    for ((instance, name), renamed) in instances.iter_mut().zip(function_names).zip(renamed) {
        instance.function.name = name;
        for (id, name) in renamed {
            instance.function.local_mut(id).name = name;
        }
    }
    for (constant, name) in constants.iter_mut().zip(constant_names) {
        constant.name = name;
    }
    for (s, (name, members)) in structs.iter_mut().zip(struct_names) {
        s.name = name;
        for (field, name) in s.fields.iter_mut().zip(members) {
            field.name = name;
        }
    }
}

/// The names of a structure and of its members.
fn name_struct(s: &Struct, pool: &mut Pool<'_>) -> (String, Vec<String>) {
    let mut members = Pool { user: s.fields.iter().map(|f| f.name.as_str()).collect(), ..Pool::default() };
    let name = pool.claim(if s.name.is_empty() { "anonymous" } else { &s.name });
    (name, s.fields.iter().map(|f| members.claim(if f.name.is_empty() { "unnamed" } else { &f.name })).collect())
}

/// Names in use.
#[derive(Default)]
struct Pool<'n> {
    /// What the user calls anything; a made-up name is none of these.
    user: HashSet<&'n str>,
    taken: HashSet<String>,
    /// The number to try next for a name, so that many equal names do not cost quadratic time.
    next: HashMap<String, u32>,
}

impl Pool<'_> {
    /// The wanted name or, if it cannot be had, one derived from it.
    fn claim(&mut self, wanted: &str) -> String {
        let (name, counter) = self.free(wanted, &|n| self.taken.contains(n));
        let name = name.into_owned();
        if let Some(counter) = counter {
            self.next.insert(wanted.to_owned(), counter + 1);
        }
        self.taken.insert(name.clone());
        name
    }

    fn free<'w>(&self, wanted: &'w str, taken: &dyn Fn(&str) -> bool) -> (Cow<'w, str>, Option<u32>) {
        let mut base = Cow::Borrowed(wanted);
        if is_reserved(&base) || base.starts_with("clmsl_") {
            base.to_mut().push('_');
            while is_reserved(&base) || self.user.contains(&*base) {
                base.to_mut().push('_');
            }
        }
        if !taken(&base) {
            return (base, None);
        }
        let mut n = self.next.get(wanted).copied().unwrap_or(1);
        loop {
            let name = format!("{base}_{n}");
            if !taken(&name) && !self.user.contains(&*name) {
                return (Cow::Owned(name), Some(n));
            }
            n += 1;
        }
    }
}

fn user_names<'n>(structs: &'n [Struct], constants: &'n [Constant], instances: &'n [Instance]) -> HashSet<&'n str> {
    let mut names: HashSet<&str> = structs.iter().map(|s| s.name.as_str()).collect();
    names.extend(constants.iter().map(|c| c.name.as_str()));
    for instance in instances {
        names.insert(&instance.function.name);
        names.extend(instance.function.locals.iter().filter(|l| !l.generated).map(|l| l.name.as_str()));
    }
    names
}

fn name_functions(instances: &[Instance], pool: &mut Pool<'_>) -> Vec<String> {
    let mut copies: HashMap<&str, usize> = HashMap::default();
    for instance in instances {
        *copies.entry(&instance.function.name).or_default() += 1;
    }
    let mut names = vec![String::new(); instances.len()];
    // Kernels first: their names are what the host knows. Nobody calls them, so only reserved words matter.
    for (instance, name) in instances.iter().zip(&mut names).filter(|(i, _)| i.function.kernel.is_some()) {
        *name = pool.claim(&instance.function.name);
    }
    for (instance, name) in instances.iter().zip(&mut names).filter(|(i, _)| i.function.kernel.is_none()) {
        let mut wanted = instance.function.name.clone();
        if instance.called_kernel {
            wanted.push_str("_called");
        } else if copies.get(wanted.as_str()).is_some_and(|&n| n > 1) {
            let components = instance.components.iter().flat_map(|c| c.iter()).map(|c| c.name());
            for word in instance.spaces.iter().map(|s| s.msl_name()).chain(components) {
                wanted.push('_');
                wanted.push_str(word);
            }
        }
        *name = pool.claim_function(&wanted);
    }
    names
}

impl Pool<'_> {
    /// A function must not be found beside one of Metal's by its arguments' namespace either.
    fn claim_function(&mut self, wanted: &str) -> String {
        if is_metal_function(wanted) {
            let mut name = format!("{wanted}_");
            while self.user.contains(name.as_str()) {
                name.push('_');
            }
            return self.claim(&name);
        }
        self.claim(wanted)
    }
}

/// The variables that get another name than the user's.
fn rename_locals(function: &Function, globals: &Pool<'_>) -> Vec<(LocalId, String)> {
    let mut scope = Scope {
        function,
        pool: globals,
        visible: HashSet::default(),
        renamed: Vec::new(),
        user: function.locals.iter().filter(|l| !l.generated).map(|l| l.name.as_str()).collect(),
    };
    let mut declared = Vec::new();
    for &id in &function.params {
        scope.declare(id, &mut declared);
    }
    if let Some(body) = &function.body {
        scope.block(body);
    }
    scope.renamed
}

/// The names visible at a point of a function.
struct Scope<'f> {
    function: &'f Function,
    pool: &'f Pool<'f>,
    visible: HashSet<Cow<'f, str>>,
    renamed: Vec<(LocalId, String)>,
    user: HashSet<&'f str>,
}

impl<'f> Scope<'f> {
    fn declare(&mut self, id: LocalId, declared: &mut Vec<Cow<'f, str>>) {
        let local = self.function.local(id);
        let taken = |n: &str| {
            self.visible.contains(n) || self.pool.taken.contains(n) || (local.generated && self.user.contains(n))
        };
        let wanted = if local.name.is_empty() { "unnamed" } else { &local.name };
        let (name, _) = self.pool.free(wanted, &taken);
        self.visible.insert(name.clone());
        declared.push(name.clone());
        if name != local.name {
            self.renamed.push((id, name.into_owned()));
        }
    }

    fn block(&mut self, block: &'f Block) {
        let mut declared = Vec::new();
        for stmt in &block.stmts {
            self.statement(stmt, &mut declared);
        }
        self.leave(declared);
    }

    fn leave(&mut self, declared: Vec<Cow<'f, str>>) {
        for name in declared {
            self.visible.remove(&name);
        }
    }

    fn statement(&mut self, stmt: &'f Stmt, declared: &mut Vec<Cow<'f, str>>) {
        match &stmt.kind {
            StmtKind::Decl(decls) => {
                for decl in decls {
                    self.declare(decl.local, declared);
                }
            }
            StmtKind::Block(b) | StmtKind::While(_, b) | StmtKind::DoWhile(b, _) | StmtKind::Switch(_, b) => {
                self.block(b);
            }
            StmtKind::If { arms, otherwise } => {
                for (_, b) in arms {
                    self.block(b);
                }
                if let Some(b) = otherwise {
                    self.block(b);
                }
            }
            StmtKind::For { init, body, .. } => {
                let mut own = Vec::new();
                if let Some(init) = init {
                    self.statement(init, &mut own);
                }
                self.block(body);
                self.leave(own);
            }
            _ => {}
        }
    }
}
