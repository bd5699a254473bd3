//! What a texture's components are: `float`, `int` or `uint`.
//!
//! OpenCL C decides at each access (`read_imagef`, `read_imagei`, `read_imageui`), a Metal texture by its type. So the
//! functions used on an image, here and in what it is passed to, decide for the parameter. `half` is read and written as
//! `float`, which holds every value of it.

use std::collections::HashMap;

use crate::builtins::{ImageOp, Resolved, Special};
use crate::diagnostic::Diagnostic;
use crate::hir::{Expr, ExprKind, Function, FunctionId, LocalId, Program};
use crate::sema::MAX_DIAGNOSTICS;
use crate::source::Span;
use crate::types::Scalar;

/// For each function the components of its image parameters, in order; `None` where only its callers can know.
pub(super) struct Components {
    functions: Vec<Vec<Option<Scalar>>>,
}

impl Components {
    pub(super) fn of(&self, id: FunctionId) -> &[Option<Scalar>] {
        &self.functions[id.0 as usize]
    }
}

/// The image parameters of a function, in order.
pub(super) fn images(function: &Function) -> Vec<LocalId> {
    function.params.iter().copied().filter(|&p| function.local(p).ty.image().is_some()).collect()
}

/// Looks at callees (`order`) before their callers.
pub(super) fn infer(program: &Program, order: &[FunctionId], diagnostics: &mut Vec<Diagnostic>) -> Components {
    let mut all = Components { functions: vec![Vec::new(); program.functions.len()] };
    for &id in order {
        let function = &program.functions[id.0 as usize];
        let images = images(function);
        if images.is_empty() {
            continue;
        }
        let mut found = Found { function, uses: HashMap::new(), diagnostics };
        if let Some(body) = &function.body {
            body.for_each_expr(&mut |e| e.walk(&mut |e| found.expr(e, program, &all)));
        }
        let uses = found.uses;
        all.functions[id.0 as usize] = images.iter().map(|image| uses.get(image).map(|&(s, _)| s)).collect();
    }
    all
}

/// What is known of one function's images.
struct Found<'a> {
    function: &'a Function,
    /// The components and the first place that says so.
    uses: HashMap<LocalId, (Scalar, Span)>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Found<'_> {
    fn expr(&mut self, e: &Expr, program: &Program, known: &Components) {
        match &e.kind {
            ExprKind::Builtin { builtin: Resolved::Special(Special::Image(op)), args } => {
                let scalar = match op {
                    ImageOp::Read(s) | ImageOp::Write(s) => *s,
                    ImageOp::Query(_) => return,
                };
                let component = if scalar == Scalar::Half { Scalar::Float } else { scalar };
                self.note(args.first(), component, e.span);
            }
            ExprKind::Call { function, args, .. } => {
                let callee = &program.functions[function.0 as usize];
                let images = callee.params.iter().zip(args).filter(|(p, _)| callee.local(**p).ty.image().is_some());
                for ((_, arg), component) in images.zip(known.of(*function)) {
                    if let Some(component) = component {
                        self.note(Some(arg), *component, e.span);
                    }
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, image: Option<&Expr>, component: Scalar, span: Span) {
        let Some(ExprKind::Local(id)) = image.map(|i| &i.kind) else { return };
        let &mut (first, at) = self.uses.entry(*id).or_insert((component, span));
        if first != component && self.diagnostics.len() < MAX_DIAGNOSTICS {
            let message = format!(
                "the image '{}' is used as one of '{}' and as one of '{}': a Metal texture has components of one type",
                self.function.local(*id).name,
                first.name(),
                component.name()
            );
            self.diagnostics.push(Diagnostic::error(span, message).with_note(at, "first used here"));
        }
    }
}
