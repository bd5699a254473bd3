//! From OpenCL C's terms to MSL's: passes over the typed program, after which the printer has nothing to decide.
//!
//! 0. `goto`: jumps become flags and loops; `fallthrough`: functions that may end without a value return zero.
//!    `grid`: kernels are cut at their grid barriers.
//! 1. `address_space`: one copy of a helper per combination of address spaces, and components of textures (`component`),
//!    it is called with; unused ones vanish.
//!    `addresses`: those in constant memory take the place of the variables that hold them.
//!    `packed` and `bytes`: members that lie unaligned become bytes.
//! 2. `image`: functions on images become methods of textures and functions of the prelude.
//!    `access`: pointers to what is only read say so.
//! 3. `narrow`: 64-bit arithmetic of which only 32 bits count.
//!    `expr` with `vector`, `divide`, `builtin`, `memory`, `atomic`, `async_copy`, `conversion`, `double`: each expression in
//!    MSL's terms. Then `wide`, for the vectors that MSL does not have.
//! 4. `entry`, `work_item`: kernel parameters get their attributes, work-item functions become hidden parameters.
//! 5. `scope`: threadgroup variables, switch scopes and declarations in the places C++ wants them.
//! 6. `names`: everything gets the name it is printed with.

mod access;
mod address_space;
mod addresses;
mod async_copy;
mod atomic;
mod builtin;
mod bytes;
mod c11;
mod coherent;
mod component;
mod conversion;
mod divide;
mod double;
mod entry;
mod expr;
mod fallthrough;
mod goto;
mod grid;
mod group;
mod image;
mod inward;
mod memory;
mod names;
mod narrow;
mod packed;
mod printf;
mod reach;
mod scope;
mod shared;
mod vector;
mod wide;
mod work_item;

use std::collections::BTreeSet;

use crate::analysis::{Analysis, analyse};
use crate::diagnostic::Diagnostic;
use crate::hir::{Constant, Expr, ExprKind, Function};
use crate::prelude::{Excerpt, Use};
use crate::printf::PrintFormat;
use crate::reflect::{Access, KernelReflection};
use crate::sema::Checked;
use crate::types::{Components, Space, Struct, Type};

/// The program as it is printed.
pub(crate) struct Lowered {
    pub(crate) structs: Vec<Struct>,
    pub(crate) constants: Vec<Constant>,
    /// Callees first.
    pub(crate) functions: Vec<Function>,
    /// What of the prelude is used, in order of its dependencies.
    pub(crate) prelude: Vec<Excerpt>,
    pub(crate) kernels: Vec<KernelReflection>,
    pub(crate) analysis: Analysis,
    /// Whether `a * b + c` may be rounded once. `FP_CONTRACT OFF` anywhere holds for the whole program: where it is not asked
    /// for it costs speed, not meaning.
    pub(crate) contracts: bool,
    pub(crate) formats: Vec<PrintFormat>,
    pub(crate) msl_version: [u32; 2],
    /// `-cl-fast-relaxed-math`, of which the prelude makes no use: its functions take their arithmetic as written.
    pub(crate) fast_relaxed_math: bool,
}

/// One copy of a function.
struct Instance {
    function: Function,
    /// The address spaces of the signature's inference variables.
    spaces: Vec<Space>,
    /// The components of its images.
    components: Vec<Components>,
    /// A kernel as a plain function, because another one calls it.
    called_kernel: bool,
    content: Content,
}

/// What there is in a function; passes for what is not there need not look at each expression.
#[derive(Clone, Copy, Default)]
struct Content {
    calls: bool,
    /// Among its parameters: nothing else can be an image.
    images: bool,
    doubles: bool,
}

impl Content {
    fn note(&mut self, e: &Expr) {
        self.doubles |= double::is_double(&e.ty);
        self.calls |= matches!(e.kind, ExprKind::Call { .. });
    }
}

/// Lowers a program without errors.
pub(crate) fn lower(checked: Checked, fast_relaxed_math: bool, contracts: bool) -> (Option<Lowered>, Vec<Diagnostic>) {
    let Checked { mut program, spaces, mut order } = checked;
    let mut diagnostics = Vec::new();
    for function in &mut program.functions {
        goto::lower(function, &mut diagnostics);
        fallthrough::lower(function);
    }
    if diagnostics.is_empty() {
        grid::lower(&mut program, &mut order, &mut diagnostics);
    }
    if !diagnostics.is_empty() {
        return (None, diagnostics);
    }
    let mut instances = address_space::specialise(&mut program, &spaces, &order, &mut diagnostics);
    if !diagnostics.is_empty() {
        return (None, diagnostics);
    }
    let analysis = analyse(instances.iter().map(|instance| &instance.function), &program.structs, &program.constants);
    let mut structs = program.structs;
    for s in &mut structs {
        for field in &mut s.fields {
            field.ty = field.ty.map_spaces(&mut |s| address_space::settle(spaces.resolve(s)));
            // C++ does not copy a structure with a volatile vector in it.
            field.quals.is_volatile &= !is_copied_as_class(&field.ty);
        }
    }
    let mut constants = program.constants;
    for constant in &mut constants {
        if let Some(init) = &mut constant.init {
            if !addresses::holds_pointers(&constant.ty) {
                wide::lower_constant(init);
            }
            init.rewrite(&mut |e| e.ty = e.ty.map_spaces(&mut |s| address_space::settle(spaces.resolve(s))));
        }
    }
    addresses::lower(&mut constants, &mut instances, &mut diagnostics);
    packed::lower(&mut structs, &mut constants, &mut instances, &mut diagnostics);
    if !diagnostics.is_empty() {
        return (None, diagnostics);
    }
    let shared = shared::lower(&mut instances);
    let images = image::lower(&mut instances, &constants, fast_relaxed_math);
    access::lower(&mut instances, &structs);
    let mut forms = BTreeSet::new();
    let mut device_scope = false;
    for instance in &mut instances {
        narrow::lower(&mut instance.function);
        device_scope |= expr::lower_function(instance, fast_relaxed_math, &mut forms, &mut diagnostics);
    }
    if device_scope {
        coherent::mark(&mut instances, &mut structs);
    }
    let hidden = work_item::lower(&mut instances, &shared);
    let mut kernels = Vec::new();
    for ((instance, hidden), images) in instances.iter_mut().zip(&hidden).zip(&images) {
        let function = &mut instance.function;
        if function.kernel.is_some() {
            kernels.push(entry::lower(function, hidden, images, &mut structs, &mut diagnostics));
        }
        scope::lower(function);
    }
    let used = reach::reached(&instances, &structs, &constants);
    names::assign(&mut structs, &mut constants, &mut instances, &mut kernels);
    let kernels = joined(kernels, &instances);
    let functions: Vec<Function> = instances.into_iter().map(|i| i.function).collect();
    let (wide, mut uses) = crate::prelude::wide::excerpt(&used.vectors, &forms);
    uses.extend(used.prelude);
    let constant = constants.iter().zip(&used.constants).any(|(c, used)| *used && double::mentions(&c.ty));
    if constant || double::has_member(&structs, &used.structs) {
        uses.insert(Use::of_piece("double"));
    }
    let mut prelude = crate::prelude::excerpts(&uses);
    prelude.extend(wide);
    let keep = |flags: &[bool], i: usize| flags.get(i).copied().unwrap_or(false);
    let constants = constants
        .into_iter()
        .enumerate()
        .map(|(i, c)| if keep(&used.constants, i) { c } else { Constant { init: None, ..c } })
        .collect();
    let structs = structs
        .into_iter()
        .enumerate()
        .map(|(i, s)| if keep(&used.structs, i) { s } else { Struct { complete: false, ..s } })
        .collect();
    let formats = program.formats;
    let msl_version = used.msl_version;
    let lowered = Lowered {
        structs,
        constants,
        functions,
        prelude,
        kernels,
        analysis,
        contracts,
        formats,
        msl_version,
        fast_relaxed_math,
    };
    (Some(lowered), diagnostics)
}

/// Kernels with the parts of those that were cut, which come behind them in the program.
fn joined(kernels: Vec<KernelReflection>, instances: &[Instance]) -> Vec<KernelReflection> {
    let infos = instances.iter().filter_map(|instance| instance.function.kernel.as_ref());
    let mut out: Vec<KernelReflection> = Vec::with_capacity(kernels.len());
    for (kernel, info) in kernels.into_iter().zip(infos) {
        match (&info.grid, out.last_mut()) {
            (Some(part), Some(first)) if part.number > 0 => {
                // What a launch does to an argument is what any of its parts does.
                for (arg, in_part) in first.args.iter_mut().zip(&kernel.args) {
                    if arg.access != in_part.access {
                        arg.access = Access::ReadWrite;
                    }
                }
                first.parts.push(kernel);
            }
            _ => out.push(kernel),
        }
    }
    out
}

/// Whether C++ copies values of the type by a constructor.
fn is_copied_as_class(ty: &Type) -> bool {
    match ty {
        Type::Array(element, _) => is_copied_as_class(element),
        other => matches!(other, Type::Vector(..) | Type::Struct(_)) || double::is_double(other),
    }
}
