//! From OpenCL C's terms to MSL's: passes over the typed program, after which the printer has nothing to decide.
//!
//! 0. `goto`: jumps become flags and loops; `fallthrough`: functions that may end without a value return zero.
//! 1. `address_space`: one copy of a helper per combination of address spaces, and components of textures (`component`),
//!    it is called with; unused ones vanish.
//! 2. `image`: functions on images become methods of textures and functions of the prelude.
//!    `access`: pointers to what is only read say so.
//! 3. `narrow`: 64-bit arithmetic of which only 32 bits count. `expr` with `vector`, `divide`, `builtin`, `memory`, `atomic`, `async_copy`, `conversion`, `double`: each expression in
//!    MSL's terms. Then `wide`, for the vectors that MSL does not have.
//! 4. `entry`, `work_item`: kernel parameters get their attributes, work-item functions become hidden parameters.
//! 5. `scope`: threadgroup variables, switch scopes and declarations in the places C++ wants them.
//! 6. `names`: everything gets the name it is printed with.

mod access;
mod address_space;
mod async_copy;
mod atomic;
mod builtin;
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
mod group;
mod image;
mod inward;
mod memory;
mod names;
mod narrow;
mod printf;
mod scope;
mod shared;
mod vector;
mod wide;
mod work_item;

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::hir::{Constant, Expr, ExprKind, Function};
use crate::prelude::{Excerpt, Use};
use crate::printf::PrintFormat;
use crate::reflect::KernelReflection;
use crate::sema::Checked;
use crate::types::{Scalar, Space, Struct, Type};

/// The program as it is printed.
pub(crate) struct Lowered {
    pub(crate) structs: Vec<Struct>,
    pub(crate) constants: Vec<Constant>,
    /// Callees first.
    pub(crate) functions: Vec<Function>,
    /// What of the prelude is used, in order of its dependencies.
    pub(crate) prelude: Vec<Excerpt>,
    pub(crate) kernels: Vec<KernelReflection>,
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
    components: Vec<Scalar>,
    /// A kernel as a plain function, because another one calls it.
    called_kernel: bool,
}

/// Lowers a program without errors.
pub(crate) fn lower(checked: Checked, fast_relaxed_math: bool, contracts: bool) -> (Option<Lowered>, Vec<Diagnostic>) {
    let Checked { mut program, spaces, order } = checked;
    let mut diagnostics = Vec::new();
    for function in &mut program.functions {
        goto::lower(function, &mut diagnostics);
        fallthrough::lower(function);
    }
    if !diagnostics.is_empty() {
        return (None, diagnostics);
    }
    let mut instances = address_space::specialise(&mut program, &spaces, &order, &mut diagnostics);
    if !diagnostics.is_empty() {
        return (None, diagnostics);
    }
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
            wide::lower_constant(init);
            init.rewrite(&mut |e| e.ty = e.ty.map_spaces(&mut |s| address_space::settle(spaces.resolve(s))));
        }
    }
    let shared = shared::lower(&mut instances);
    let formats = image::lower(&mut instances, &constants, fast_relaxed_math);
    access::lower(&mut instances, &structs);
    let mut forms = BTreeSet::new();
    let mut device_scope = false;
    for instance in &mut instances {
        let function = &mut instance.function;
        narrow::lower(function);
        device_scope |= expr::lower_function(function, fast_relaxed_math, &mut forms, &mut diagnostics);
    }
    if device_scope {
        coherent::mark(&mut instances, &mut structs);
    }
    let hidden = work_item::lower(&mut instances, &shared);
    let mut kernels = Vec::new();
    for ((instance, hidden), formats) in instances.iter_mut().zip(&hidden).zip(formats) {
        if instance.function.kernel.is_some() {
            kernels.push(entry::lower(&mut instance.function, hidden, formats, &mut structs, &mut diagnostics));
        }
    }
    for instance in &mut instances {
        scope::lower(&mut instance.function);
    }
    let used = used(&instances, &structs, &constants);
    names::assign(&mut structs, &mut constants, &mut instances, &mut kernels);
    let functions: Vec<Function> = instances.into_iter().map(|i| i.function).collect();
    let (wide, mut uses) = crate::prelude::wide::excerpt(&used.vectors, &forms);
    uses.extend(prelude_uses(&functions));
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
    let msl_version = msl_version(&functions);
    let lowered =
        Lowered { structs, constants, functions, prelude, kernels, contracts, formats, msl_version, fast_relaxed_math };
    (Some(lowered), diagnostics)
}

/// Whether C++ copies values of the type by a constructor.
fn is_copied_as_class(ty: &Type) -> bool {
    match ty {
        Type::Array(element, _) => is_copied_as_class(element),
        other => matches!(other, Type::Vector(..) | Type::Struct(_)) || double::is_double(other),
    }
}

/// What the functions reach.
fn used(instances: &[Instance], structs: &[Struct], constants: &[Constant]) -> Reach {
    let mut reach = Reach {
        structs: vec![false; structs.len()],
        constants: vec![false; constants.len()],
        vectors: BTreeSet::new(),
    };
    for instance in instances {
        let f = &instance.function;
        reach.ty(&f.ret, structs);
        for local in &f.locals {
            reach.ty(&local.ty, structs);
        }
        if let Some(body) = &f.body {
            body.for_each_expr(&mut |e| e.walk(&mut |e| reach.expr(e, structs, constants)));
        }
    }
    reach
}

struct Reach {
    structs: Vec<bool>,
    constants: Vec<bool>,
    /// Vectors that MSL does not have.
    vectors: BTreeSet<(Scalar, u8)>,
}

impl Reach {
    fn ty(&mut self, ty: &Type, structs: &[Struct]) {
        if matches!(ty, Type::Void | Type::Scalar(_) | Type::Vector(..) | Type::Image(_) | Type::Sampler) {
            self.vectors.extend(ty.emulated());
            return;
        }
        let mut work = vec![ty.clone()];
        while let Some(ty) = work.pop() {
            match ty {
                Type::Pointer(p) => work.push(p.ty.clone()),
                Type::Array(e, _) => work.push((*e).clone()),
                Type::Struct(id) if !std::mem::replace(&mut self.structs[id.0 as usize], true) => {
                    work.extend(structs[id.0 as usize].fields.iter().map(|f| f.ty.clone()));
                }
                other => self.vectors.extend(other.emulated()),
            }
        }
    }

    fn expr(&mut self, e: &Expr, structs: &[Struct], constants: &[Constant]) {
        self.ty(&e.ty, structs);
        if let ExprKind::Constant(id) = e.kind
            && !std::mem::replace(&mut self.constants[id.0 as usize], true)
        {
            // Initialisers are folded to literals and name no other constant.
            self.ty(&constants[id.0 as usize].ty, structs);
        }
    }
}

/// The version of MSL that the newest of what is used needs.
fn msl_version(functions: &[Function]) -> [u32; 2] {
    const ATOMIC_FLOATS: [u32; 2] = [3, 0];
    const FENCES: [u32; 2] = [3, 2];
    let mut version = [2, 4];
    for function in functions {
        let floats = |ty: &Type| ty.pointee().map_or(ty, |p| &p.ty) == &Type::Atomic(Scalar::Float);
        if function.locals.iter().any(|local| floats(&local.ty)) {
            version = version.max(ATOMIC_FLOATS);
        }
        let Some(body) = &function.body else { continue };
        body.for_each_expr(&mut |e| {
            e.walk(&mut |e| match &e.kind {
                ExprKind::Msl(head, _) if head == "metal::atomic_thread_fence" || head.starts_with("clmsl_fence") => {
                    version = version.max(FENCES);
                }
                _ if floats(&e.ty) => version = version.max(ATOMIC_FLOATS),
                _ => {}
            });
        });
    }
    version
}

/// Prelude functions that the program calls.
fn prelude_uses(functions: &[Function]) -> BTreeSet<Use> {
    let mut uses = BTreeSet::new();
    for function in functions {
        let Some(body) = &function.body else { continue };
        if function.locals.iter().any(|l| double::mentions(&l.ty)) || double::mentions(&function.ret) {
            uses.insert(Use::of_piece("double"));
        }
        body.for_each_expr(&mut |e| {
            e.walk(&mut |e| {
                double::uses(e, &mut uses);
                if let ExprKind::Name(name) = &e.kind
                    && let Some(piece) = name.strip_prefix("clmsl_")
                {
                    uses.insert(Use::of_piece(piece));
                }
                if let ExprKind::Msl(head, args) = &e.kind {
                    let args: Vec<&Type> = args.iter().map(|a| &a.ty).collect();
                    uses.extend(Use::of_call(head, &args, &e.ty));
                }
            });
        });
    }
    uses
}
