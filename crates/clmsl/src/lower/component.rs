//! What the components of textures are: `float`, `int` or `uint`.
//!
//! OpenCL C decides at each access (`read_imagef`, `read_imagei`, `read_imageui`), a Metal texture by its type. So the
//! functions used on an image, here and in what it is passed to, decide for the parameter. If they are of several types, the
//! image becomes a texture for each, of which the host binds the one that fits the image's format (`image`). An image
//! that is only asked for its size may have any format, and what is not used at all becomes no texture.

use rustc_hash::FxHashMap as HashMap;

use crate::builtins::{ImageOp, ImageQuery, Resolved, Special};
use crate::hir::{Expr, ExprKind, Function, FunctionId, LocalId, Program};
use crate::types::{Components, Image, Scalar};

/// What a function, with those it calls, does with an image.
#[derive(Clone, Copy, Default)]
pub(super) struct Use {
    /// Those that are read and written.
    components: Components,
    /// Its size is asked for, which any of its textures may have to tell.
    measured: bool,
}

impl Use {
    /// The textures of a kernel's image.
    pub(super) fn in_kernel(self, image: Image) -> Components {
        match self.measured && self.components.is_empty() {
            true if image.dim.is_depth() => Components::of(Scalar::Float),
            true => Components::ALL,
            false => self.components,
        }
    }

    /// The textures that a function takes of an image that has these.
    pub(super) fn of(self, caller: Components) -> Components {
        if self.measured { caller } else { self.components }
    }
}

/// For each function the uses of its image parameters, in order.
pub(super) struct Uses {
    functions: Vec<Vec<Use>>,
}

impl Uses {
    pub(super) fn of(&self, id: FunctionId) -> &[Use] {
        &self.functions[id.0 as usize]
    }
}

/// The image parameters of a function, in order.
pub(super) fn images(function: &Function) -> Vec<LocalId> {
    function.params.iter().copied().filter(|&p| function.local(p).ty.image().is_some()).collect()
}

/// Looks at callees (`order`) before their callers.
pub(super) fn infer(program: &Program, order: &[FunctionId]) -> Uses {
    let mut all = Uses { functions: vec![Vec::new(); program.functions.len()] };
    for &id in order {
        let function = &program.functions[id.0 as usize];
        let images = images(function);
        if images.is_empty() {
            continue;
        }
        let mut found = HashMap::default();
        if let Some(body) = &function.body {
            body.for_each_expr(&mut |e| e.walk(&mut |e| look(e, program, &all, &mut found)));
        }
        all.functions[id.0 as usize] = images.iter().map(|i| found.get(i).copied().unwrap_or_default()).collect();
    }
    all
}

fn look(e: &Expr, program: &Program, known: &Uses, found: &mut HashMap<LocalId, Use>) {
    let mut note = |image: Option<&Expr>, new: Use| {
        let Some(ExprKind::Local(id)) = image.map(|i| &i.kind) else { return };
        let known = found.entry(*id).or_default();
        known.components = known.components.and(new.components);
        known.measured |= new.measured;
    };
    match &e.kind {
        ExprKind::Builtin { builtin: Resolved::Special(Special::Image(op)), args } => {
            let components = |scalar: Scalar| Use { components: Components::of(scalar), measured: false };
            let new = match op {
                ImageOp::Read(scalar) | ImageOp::Write(scalar) => components(*scalar),
                // Textures do not tell; the host does.
                ImageOp::Query(ImageQuery::ChannelOrder | ImageQuery::ChannelDataType) => return,
                ImageOp::Query(_) => Use { measured: true, ..Use::default() },
            };
            note(args.first(), new);
        }
        ExprKind::Call { function, args, .. } => {
            let callee = &program.functions[function.0 as usize];
            let images = callee.params.iter().zip(args).filter(|(p, _)| callee.local(**p).ty.image().is_some());
            for ((_, arg), new) in images.zip(known.of(*function)) {
                note(Some(arg), *new);
            }
        }
        _ => {}
    }
}
