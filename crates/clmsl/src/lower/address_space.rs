//! One copy of a helper per combination of address spaces, and of components of textures.
//!
//! MSL pointers always say where they point. A helper with unqualified pointers is copied once for each combination its
//! callers use; inside a copy every inference variable has a value. Functions that no kernel reaches are left out.

use rustc_hash::FxHashMap as HashMap;

use super::component::{self, images};
use super::{Content, Instance};
use crate::builtins::{Resolved, Special};
use crate::diagnostic::Diagnostic;
use crate::hir::{Expr, ExprKind, Function, FunctionId, Program};
use crate::sema::spaces::Spaces;
use crate::sema::{MAX_DIAGNOSTICS, place_space, signature_vars};
use crate::source::Span;
use crate::types::{Components, Space, Type};

/// Copies beyond the first of a function may have this many times the expressions of the program, which is enough for
/// one use of each helper with every address space for two of its pointers ...
const MAX_GROWTH: usize = 16;
/// ... and in any case this many expressions: small programs may combine more pointers.
const FREE_GROWTH: usize = 1 << 18;

/// A space nothing decided is private, as OpenCL C 1.2 says of unqualified pointers.
pub(super) fn settle(space: Space) -> Space {
    match space {
        Space::Var(_) | Space::Unset => Space::Private,
        other => other,
    }
}

/// What tells a copy from the others of its function.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    spaces: Vec<Space>,
    components: Vec<Components>,
    /// A kernel as a plain function.
    called_kernel: bool,
}

/// Copies functions for their uses, taking the bodies out of the program. Calls in the result refer to the copies; callees
/// come first.
pub(super) fn specialise(
    program: &mut Program,
    spaces: &Spaces,
    order: &[FunctionId],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Instance> {
    let image_uses = component::infer(program, order);
    let mut wanted: HashMap<FunctionId, Vec<Key>> = HashMap::default();
    let mut ids: HashMap<(FunctionId, Key), u32> = HashMap::default();
    let mut made: Vec<Option<Instance>> = Vec::new();
    let mut emitted: Vec<(FunctionId, Vec<u32>)> = Vec::new();
    let sizes = sizes(program);
    let limit = MAX_GROWTH * sizes.iter().sum::<usize>() + FREE_GROWTH;
    let mut growth = 0;
    // Callers first, so that all uses of a function are known when it is copied.
    for &id in order.iter().rev() {
        if program.functions[id.0 as usize].body.is_none() {
            continue;
        }
        let function = std::mem::take(&mut program.functions[id.0 as usize]);
        let mut uses = wanted.remove(&id).unwrap_or_default();
        if function.kernel.is_some() {
            let images = images(&function).into_iter().filter_map(|id| function.local(id).ty.image());
            let components = images.zip(image_uses.of(id)).map(|(image, used)| used.in_kernel(image)).collect();
            uses.insert(0, Key { spaces: Vec::new(), components, called_kernel: false });
        }
        let mut copies = Vec::new();
        let (span, variables) = (function.span, signature_vars(&function));
        // The last copy takes the function itself.
        let originals = std::iter::repeat_n(function, uses.len());
        for (key, original) in uses.into_iter().zip(originals) {
            if !copies.is_empty() {
                growth += sizes[id.0 as usize];
            }
            if growth > limit {
                let message = "too many combinations of address spaces in calls are not supported: \
                               each needs a copy of the function";
                diagnostics.push(Diagnostic::error(span, message));
                return Vec::new();
            }
            let index = *ids.entry((id, key.clone())).or_insert_with(|| {
                made.push(None);
                made.len() as u32 - 1
            });
            let settled = variables.iter().map(|&v| spaces.find(v)).zip(key.spaces.iter().copied());
            let mut number = |callee: FunctionId, spaces: Vec<Space>, given: Vec<Components>| {
                let components = image_uses.of(callee).iter().zip(given).map(|(used, given)| used.of(given)).collect();
                let called_kernel = program.functions[callee.0 as usize].kernel.is_some();
                let key = Key { spaces, components, called_kernel };
                let next = made.len() as u32;
                let index = *ids.entry((callee, key.clone())).or_insert(next);
                if index == next {
                    made.push(None);
                    wanted.entry(callee).or_default().push(key);
                }
                FunctionId(index)
            };
            let copy = Copy { spaces, settled: settled.collect(), key: &key, number: &mut number, diagnostics };
            let (mut function, content) = copy.function(original);
            let Key { spaces, components, called_kernel } = key;
            if called_kernel {
                function.kernel = None;
            }
            made[index as usize] = Some(Instance { function, spaces, components, called_kernel, content });
            copies.push(index);
        }
        emitted.push((id, copies));
    }
    // Now callees first, and calls by position in that order.
    emitted.reverse();
    let positions: Vec<u32> = emitted.iter().flat_map(|(_, copies)| copies.iter().copied()).collect();
    let mut place = vec![0u32; made.len()];
    for (position, &index) in positions.iter().enumerate() {
        place[index as usize] = position as u32;
    }
    let mut out = Vec::with_capacity(positions.len());
    for index in positions {
        let Some(mut instance) = made[index as usize].take() else { unreachable!("every numbered copy was made") };
        if instance.content.calls {
            each_call(&mut instance.function, &mut |id| id.0 = place[id.0 as usize]);
        }
        out.push(instance);
    }
    out
}

/// What a copy of each function costs. Only kernels can be copied where no helper has a choice, and those once.
fn sizes(program: &Program) -> Vec<usize> {
    let has_choice = |f: &Function| !signature_vars(f).is_empty() || !images(f).is_empty();
    if program.functions.iter().any(|f| f.kernel.is_none() && has_choice(f)) {
        program.functions.iter().map(size).collect()
    } else {
        vec![0; program.functions.len()]
    }
}

/// What a copy costs: its expressions, and one for itself.
fn size(function: &Function) -> usize {
    let mut count = 1 + function.locals.len();
    if let Some(body) = &function.body {
        body.for_each_expr(&mut |e| e.walk(&mut |_| count += 1));
    }
    count
}

fn each_call(function: &mut Function, f: &mut dyn FnMut(&mut FunctionId)) {
    if let Some(body) = &mut function.body {
        body.for_each_expr_mut(&mut |e| {
            e.rewrite(&mut |e| {
                if let ExprKind::Call { function, .. } = &mut e.kind {
                    f(function);
                }
            });
        });
    }
}

/// The making of one copy.
struct Copy<'a> {
    spaces: &'a Spaces,
    /// The spaces of the signature's inference variables.
    settled: HashMap<u32, Space>,
    key: &'a Key,
    /// The number of the copy that a call wants, with these address spaces and images of these components.
    number: &'a mut dyn FnMut(FunctionId, Vec<Space>, Vec<Components>) -> FunctionId,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Copy<'_> {
    /// The value of a space in this copy.
    fn space(&self, space: Space) -> Space {
        match self.spaces.resolve(space) {
            Space::Var(root) => self.settled.get(&root).copied().unwrap_or(Space::Private),
            other => settle(other),
        }
    }

    fn ty(&self, ty: &Type) -> Type {
        ty.map_spaces(&mut |s| self.space(s))
    }

    /// Makes a function the copy.
    fn function(mut self, mut copy: Function) -> (Function, Content) {
        let mut content = Content { images: !images(&copy).is_empty(), ..Content::default() };
        copy.ret = self.ty(&copy.ret);
        for local in &mut copy.locals {
            local.ty = self.ty(&local.ty);
        }
        for (image, components) in images(&copy).into_iter().zip(&self.key.components) {
            if let Type::Image(image) = &mut copy.local_mut(image).ty {
                image.components = *components;
            }
        }
        let Some(mut body) = copy.body.take() else { return (copy, content) };
        body.for_each_expr_mut(&mut |e| {
            e.rewrite(&mut |e| {
                if matches!(e.ty, Type::Pointer(_) | Type::Array(..)) {
                    e.ty = self.ty(&e.ty);
                }
                match &mut e.kind {
                    ExprKind::Local(id) if e.ty.image().is_some() => e.ty = copy.local(*id).ty.clone(),
                    ExprKind::Call { function, spaces, args } => {
                        let key = spaces.iter().map(|&(_, actual)| self.space(Space::Var(actual))).collect();
                        let components = args.iter().filter_map(|a| a.ty.image()).map(|i| i.components).collect();
                        *function = (self.number)(*function, key, components);
                        spaces.clear();
                    }
                    ExprKind::AssignOp { at, .. } => *at = self.ty(at),
                    _ => {}
                }
                content.note(e);
                self.check_write(e, &copy);
            });
        });
        copy.body = Some(body);
        (copy, content)
    }

    /// Refuses writes that only this combination of address spaces makes impossible.
    fn check_write(&mut self, e: &Expr, function: &Function) {
        match &e.kind {
            ExprKind::Assign(place, _) | ExprKind::AssignOp { place, .. } | ExprKind::Step { place, .. }
                if place_space(place, &function.locals) == Space::Constant =>
            {
                self.refuse(place.span, "__constant memory cannot be written");
            }
            ExprKind::Builtin { builtin: Resolved::Special(Special::Atomic(_) | Special::C11 { .. }), args } => {
                let space = args.first().and_then(|p| p.ty.pointee()).map(|p| p.space);
                if space.is_some_and(|s| !matches!(s, Space::Global | Space::Local)) {
                    self.refuse(e.span, "an atomic function needs a pointer to __global or __local memory");
                }
            }
            ExprKind::Builtin { builtin: Resolved::Special(Special::Store(_) | Special::StoreHalf(..)), args } => {
                let space = args.last().and_then(|p| p.ty.pointee()).map(|p| p.space);
                if space == Some(Space::Constant) {
                    self.refuse(e.span, "__constant memory cannot be written");
                }
            }
            _ => {}
        }
    }

    fn refuse(&mut self, span: Span, message: &str) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS
            && !self.diagnostics.iter().any(|d| d.span == span && d.message == message)
        {
            self.diagnostics.push(Diagnostic::error(span, message));
        }
    }
}
