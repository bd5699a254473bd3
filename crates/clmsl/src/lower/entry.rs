//! Kernels as entry points: where each parameter is bound, and what the host is told.
//!
//! Pointers to global and constant memory, and values, take buffer slots in order; pointers to local memory take
//! threadgroup slots. A value is a reference to constant memory; if the kernel writes to it or takes its address, it is
//! copied to a variable first, because in OpenCL C a parameter is a variable. If there are more buffers than Metal has, all
//! values are members of one structure in one buffer, and all are copied. Each texture of an image takes a texture slot; a sampler is a value.

use std::collections::BTreeSet;

use super::image::{KernelImages, in_place};
use super::work_item::Parameters;
use crate::diagnostic::Diagnostic;
use crate::hir::{Decl, Expr, ExprKind, Function, GridPart, Hidden, Local, LocalId, Stmt, StmtKind};
use crate::reflect::{
    Access, AddressSpace, ArgKind, ArgReflection, Element, HiddenArg, HiddenKind, ImageDimension, ImageReflection,
    KernelReflection, ScalarKind, TextureReflection,
};
use crate::types::{
    Field, Image, ImageAccess, ImageDim, Quals, Scalar, Space, Struct, StructId, Type, describe, holds_pointers,
    layout, struct_layout,
};

/// Buffer slots of a Metal function (Metal feature set tables, "maximum number of entries in the buffer argument
/// table").
const MAX_BUFFERS: u32 = 31;
/// Texture slots of a Metal function (same source), and how many of them may be written (the limit of the GPUs without
/// argument buffers of tier 2).
const MAX_TEXTURES: u32 = 128;
const MAX_WRITTEN_TEXTURES: usize = 8;
/// Threadgroup memory every Apple GPU has (same source).
const MAX_LOCAL_MEMORY: u64 = 32 * 1024;

/// Bytes that a host can hand over without a buffer of its own (`setBytes:length:atIndex:`).
const MAX_VALUES: u64 = 4096;

/// Bytes of the buffer that `printf` writes to, as OpenCL's full profile asks for (OpenCL 3.0,
/// `CL_DEVICE_PRINTF_BUFFER_SIZE`).
const PRINTF_BUFFER: u64 = 1 << 20;

/// Binds the parameters of one kernel.
pub(super) fn lower(
    function: &mut Function,
    hidden: &Parameters,
    images: &KernelImages,
    structs: &mut Vec<Struct>,
    diagnostics: &mut Vec<Diagnostic>,
) -> KernelReflection {
    let info = function.kernel.clone().unwrap_or_default();
    let copied = copied_parameters(function);
    let mut reflection = KernelReflection {
        name: function.name.clone(),
        msl_name: function.name.clone(),
        args: Vec::new(),
        hidden: Vec::new(),
        local_memory: 0,
        reqd_work_group_size: info.reqd_work_group_size,
        work_group_size_hint: info.work_group_size_hint,
        vec_type_hint: info.vec_type_hint,
        reqd_sub_group_size: info.reqd_sub_group_size,
        parts: Vec::new(),
    };
    let (mut buffers, mut locals, mut textures) = (0u32, 0u32, 0u32);
    let visible = function.params.len() - hidden.len();
    let mut copies = Vec::new();
    let merged = merge(function, visible, hidden, images.formats.is_some());
    let mut values = Vec::new();
    for index in 0..visible {
        let id = function.params[index];
        let local = function.local(id);
        let mut arg = reflect(local, index as u32, structs);
        let is_value = matches!(arg.kind, ArgKind::Value | ArgKind::Sampler);
        if merged && is_value {
            values.push(id);
            reflection.args.push(arg);
            continue;
        }
        if let Some(image) = &mut arg.image {
            arg.slot = textures;
            for &texture in &images.textures[&id] {
                let local = function.local_mut(texture);
                local.attribute = Some(format!("[[texture({textures})]]"));
                let component = local.ty.image().and_then(|image| image.components.only());
                let component = component.unwrap_or_else(|| unreachable!("a texture's components are of one type"));
                image.textures.push(TextureReflection { component: scalar_kind(component), slot: textures });
                textures += 1;
            }
            // The slot of an image without textures is nobody else's, so that binding it does no harm.
            textures = textures.max(arg.slot + 1);
            reflection.args.push(arg);
            continue;
        }
        let (binding, slot) = match arg.kind {
            ArgKind::Local => ("threadgroup", &mut locals),
            ArgKind::Image => unreachable!("an image's reflection says that it is one"),
            ArgKind::Buffer | ArgKind::Constant | ArgKind::Value | ArgKind::Sampler => ("buffer", &mut buffers),
        };
        arg.slot = *slot;
        *slot += 1;
        let attribute = format!("[[{binding}({})]]", arg.slot);
        if is_value && copied.contains(&id) {
            copies.push(copy_parameter(function, index, attribute));
        } else {
            let local = function.local_mut(id);
            local.attribute = Some(attribute);
            local.reference = is_value;
        }
        reflection.args.push(arg);
    }
    if let Some(grid) = &info.grid {
        hide_grid(grid, function, &mut reflection, structs);
    }
    function.params = in_place(&function.params, &images.textures);
    if merged {
        let (values, statement) = one_buffer(function, &values, &mut reflection.args, buffers, structs);
        buffers += 1;
        copies.push(statement);
        function.params.insert(0, values);
    }
    for (&item, &id) in hidden {
        let attribute = match item {
            Hidden::GlobalId => "[[thread_position_in_grid]]",
            Hidden::LocalId => "[[thread_position_in_threadgroup]]",
            Hidden::GroupId => "[[threadgroup_position_in_grid]]",
            Hidden::GlobalSize => "[[threads_per_grid]]",
            Hidden::LocalSize => "[[threads_per_threadgroup]]",
            Hidden::EnqueuedLocalSize => "[[dispatch_threads_per_threadgroup]]",
            Hidden::NumGroups => "[[threadgroups_per_grid]]",
            Hidden::LocalIndex => "[[thread_index_in_threadgroup]]",
            Hidden::SubGroupId => "[[simdgroup_index_in_threadgroup]]",
            Hidden::SubGroupLocalId => "[[thread_index_in_simdgroup]]",
            Hidden::MaxSubGroupSize => "[[threads_per_simdgroup]]",
            Hidden::NumSubGroups => "[[simdgroups_per_threadgroup]]",
            Hidden::EnqueuedNumSubGroups => "[[dispatch_simdgroups_per_threadgroup]]",
            Hidden::Partials | Hidden::Items | Hidden::Shared(_) => {
                // An entry point declares what other functions are handed.
                function.local_mut(id).reference = false;
                function.params.retain(|&p| p != id);
                let span = function.span;
                copies.push(Stmt { kind: StmtKind::Decl(vec![Decl { local: id, init: None }]), span });
                continue;
            }
            Hidden::WorkDim | Hidden::Printed => {
                let (kind, size) = match item {
                    Hidden::WorkDim => (HiddenKind::WorkDim, 4),
                    _ => (HiddenKind::Printf, PRINTF_BUFFER),
                };
                reflection.hidden.push(HiddenArg { kind, slot: buffers, size });
                let local = function.local_mut(id);
                local.reference = item == Hidden::WorkDim;
                local.attribute = Some(format!("[[buffer({buffers})]]"));
                buffers += 1;
                continue;
            }
        };
        function.local_mut(id).attribute = Some(attribute.to_owned());
    }
    if let Some(id) = images.formats {
        let size = 8 * images.textures.len() as u64;
        reflection.hidden.push(HiddenArg { kind: HiddenKind::ImageFormats, slot: buffers, size });
        function.local_mut(id).attribute = Some(format!("[[buffer({buffers})]]"));
        function.params.push(id);
        buffers += 1;
    }
    reflection.local_memory = local_memory(function, structs);
    check_limits(function, &reflection, buffers, textures, diagnostics);
    if let Some(body) = &mut function.body {
        body.stmts.splice(0..0, copies);
    }
    reflection
}

/// What the last arguments of a part are for.
fn hide_grid(grid: &GridPart, function: &Function, kernel: &mut KernelReflection, structs: &[Struct]) {
    let user = kernel.args.len() - grid.hidden;
    let hidden = kernel.args.split_off(user);
    let kinds = [(grid.state, HiddenKind::GridState), (grid.turns, HiddenKind::GridTurns)];
    let kinds = kinds.into_iter().filter(|(there, _)| *there).map(|(_, kind)| kind);
    for (arg, kind) in hidden.into_iter().zip(kinds) {
        let local = function.local(function.params[arg.index as usize]);
        let element = local.ty.pointee().and_then(|pointee| layout(&pointee.ty, structs)).map_or(0, |(size, _)| size);
        let size = if kind == HiddenKind::GridState { element } else { 2 * 3 * element * grid.count as u64 };
        kernel.hidden.push(HiddenArg { kind, slot: arg.slot, size });
    }
}

fn check_limits(
    function: &Function,
    kernel: &KernelReflection,
    buffers: u32,
    textures: u32,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if textures > MAX_TEXTURES {
        diagnostics.push(Diagnostic::error(
            function.span,
            format!("kernel '{}' needs {textures} textures; Metal has {MAX_TEXTURES} per kernel", function.name),
        ));
    }
    let written = kernel.args.iter().filter(|a| a.access != Access::ReadOnly).filter_map(|a| a.image.as_ref());
    let written: usize = written.map(|image| image.textures.len()).sum();
    if written > MAX_WRITTEN_TEXTURES {
        diagnostics.push(Diagnostic::error(
            function.span,
            format!(
                "kernel '{}' writes {written} textures; Metal has {MAX_WRITTEN_TEXTURES} per kernel that are written",
                function.name
            ),
        ));
    }
    if buffers > MAX_BUFFERS {
        diagnostics.push(Diagnostic::error(
            function.span,
            format!("kernel '{}' needs {buffers} buffers; Metal has {MAX_BUFFERS} per kernel", function.name),
        ));
    }
    let shared = kernel.args.iter().filter(|a| a.offset > 0).map(|a| a.offset + a.size).max().unwrap_or(0);
    if shared > MAX_VALUES {
        diagnostics.push(Diagnostic::error(
            function.span,
            format!(
                "kernel '{}' has more buffers than Metal, which its values would share, but they take {shared} bytes; \
                 Metal takes {MAX_VALUES}",
                function.name
            ),
        ));
    }
    if kernel.local_memory > MAX_LOCAL_MEMORY {
        diagnostics.push(Diagnostic::error(
            function.span,
            format!(
                "kernel '{}' needs {} bytes of __local variables; Metal guarantees {MAX_LOCAL_MEMORY}",
                function.name, kernel.local_memory
            ),
        ));
    }
}

/// Bytes of the local variables, laid out one behind the other.
fn local_memory(function: &Function, structs: &[Struct]) -> u64 {
    let mut total = 0u64;
    for local in function.locals.iter().filter(|l| l.space == Space::Local) {
        if let Some((size, align)) = layout(&local.ty, structs) {
            total = total.next_multiple_of(align).saturating_add(size);
        }
    }
    total
}

/// The value parameters that are used as variables.
fn copied_parameters(function: &Function) -> BTreeSet<LocalId> {
    let mut out = BTreeSet::new();
    let Some(body) = &function.body else { return out };
    body.for_each_expr(&mut |e| {
        e.walk(&mut |e| {
            let place = match &e.kind {
                ExprKind::Assign(place, _)
                | ExprKind::AssignOp { place, .. }
                | ExprKind::Step { place, .. }
                | ExprKind::AddressOf(place)
                | ExprKind::Decay(place) => place,
                _ => return,
            };
            out.extend(root(place));
        });
    });
    out
}

/// The variable a place is part of, unless a pointer is followed.
fn root(place: &Expr) -> Option<LocalId> {
    match &place.kind {
        ExprKind::Local(id) => Some(*id),
        ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) | ExprKind::Half(base, _) => root(base),
        ExprKind::Index(base, _) if base.ty.pointee().is_none() => root(base),
        _ => None,
    }
}

/// Whether the values must share a buffer, of which there are too few for one each.
fn merge(function: &Function, visible: usize, hidden: &Parameters, formats: bool) -> bool {
    let ty = |id: &LocalId| &function.local(*id).ty;
    let is_value = |ty: &&Type| !matches!(ty, Type::Pointer(_) | Type::Image(_));
    let in_buffer = |ty: &&Type| ty.image().is_none() && ty.pointee().is_none_or(|p| p.space != Space::Local);
    let values = function.params[..visible].iter().map(ty).filter(is_value).count();
    let buffers = function.params[..visible].iter().map(ty).filter(in_buffer).count()
        + hidden.keys().filter(|h| matches!(h, Hidden::WorkDim | Hidden::Printed)).count()
        + usize::from(formats);
    values > 1 && buffers > MAX_BUFFERS as usize
}

/// Puts all values into one structure. Returns the parameter for it and the statement that copies its members to the
/// variables that the parameters were.
fn one_buffer(
    function: &mut Function,
    values: &[LocalId],
    args: &mut [ArgReflection],
    slot: u32,
    structs: &mut Vec<Struct>,
) -> (LocalId, Stmt) {
    let span = function.span;
    let mut fields = Vec::new();
    for &id in values {
        let local = function.local(id);
        let ty = if local.ty == Type::Sampler { Type::UINT } else { local.ty.clone() };
        let (name, quals) = (local.name.clone(), Quals::default());
        fields.push(Field { name, ty, quals, min_align: 1, packed: false, span: local.span });
    }
    let depth = |f: &Field| match f.ty {
        Type::Struct(id) => structs[id.0 as usize].depth,
        _ => 0,
    };
    let mut s = Struct {
        name: format!("{}_values", function.name),
        is_union: false,
        depth: 1 + fields.iter().map(depth).max().unwrap_or(0),
        holds_pointers: fields.iter().any(|f| holds_pointers(&f.ty, structs)),
        fields,
        complete: true,
        layout: None,
        min_align: 1,
        packed: false,
        max_align: 0,
        anywhere: false,
        span,
    };
    s.layout = struct_layout(&s, structs);
    let offsets = s.layout.iter().flat_map(|l| l.offsets.iter().copied());
    let is_value = |a: &&mut ArgReflection| matches!(a.kind, ArgKind::Value | ArgKind::Sampler);
    for (arg, offset) in args.iter_mut().filter(is_value).zip(offsets) {
        (arg.slot, arg.offset) = (slot, offset);
    }
    let ty = Type::Struct(StructId(structs.len() as u32));
    let mut argument = Local::generated("values", ty.clone(), span);
    argument.attribute = Some(format!("[[buffer({slot})]]"));
    argument.reference = true;
    let argument = function.add_local(argument);
    let mut decls = Vec::new();
    for (i, &id) in values.iter().enumerate() {
        let base = Expr::new(ExprKind::Local(argument), ty.clone(), span);
        let member = ExprKind::Member(Box::new(base), i as u32);
        decls.push(Decl { local: id, init: Some(Expr::new(member, s.fields[i].ty.clone(), span)) });
    }
    structs.push(s);
    function.params.retain(|p| !values.contains(p));
    (argument, Stmt { kind: StmtKind::Decl(decls), span })
}

/// Makes a second parameter for the argument, and the statement that copies it to the variable.
fn copy_parameter(function: &mut Function, index: usize, attribute: String) -> Stmt {
    let id = function.params[index];
    let variable = function.local(id).clone();
    let span = variable.span;
    let mut argument = Local::generated(&format!("{}_arg", variable.name), variable.ty.clone(), span);
    argument.attribute = Some(attribute);
    argument.reference = true;
    let argument = function.add_local(argument);
    function.params[index] = argument;
    let value = Expr::new(ExprKind::Local(argument), variable.ty, span);
    Stmt { kind: StmtKind::Decl(vec![Decl { local: id, init: Some(value) }]), span }
}

fn reflect(local: &Local, index: u32, structs: &[Struct]) -> ArgReflection {
    let (kind, space, access, pointed) = match &local.ty {
        Type::Pointer(p) => {
            let kind = match p.space {
                Space::Constant => ArgKind::Constant,
                Space::Local => ArgKind::Local,
                _ => ArgKind::Buffer,
            };
            let read_only = p.quals.is_const || p.space == Space::Constant;
            let access = if read_only { Access::ReadOnly } else { Access::ReadWrite };
            (kind, p.space, access, &p.ty)
        }
        Type::Image(image) => {
            let access = match image.access {
                ImageAccess::ReadOnly | ImageAccess::Sampled => Access::ReadOnly,
                ImageAccess::WriteOnly => Access::WriteOnly,
                ImageAccess::ReadWrite => Access::ReadWrite,
            };
            (ArgKind::Image, Space::Global, access, &local.ty)
        }
        Type::Sampler => (ArgKind::Sampler, Space::Private, Access::ReadOnly, &Type::UINT),
        other => (ArgKind::Value, Space::Private, Access::ReadOnly, other),
    };
    let (size, align) = layout(pointed, structs).unwrap_or((0, 1));
    let mut element = pointed;
    while let Type::Array(e, _) = element {
        element = e;
    }
    ArgReflection {
        name: local.name.clone(),
        index,
        slot: 0,
        offset: 0,
        kind,
        type_name: describe(&as_written(local), structs),
        size,
        align,
        address_space: match space {
            Space::Global => AddressSpace::Global,
            Space::Constant => AddressSpace::Constant,
            Space::Local => AddressSpace::Local,
            Space::Private | Space::Unset | Space::Var(_) => AddressSpace::Private,
        },
        access,
        image: local.ty.image().map(image_reflection),
        element: number(element).map(|(s, lanes)| Element { scalar: scalar_kind(s), lanes }),
    }
}

fn image_reflection(image: Image) -> ImageReflection {
    ImageReflection {
        dimension: match image.dim {
            ImageDim::D1 => ImageDimension::Image1d,
            ImageDim::D1Buffer => ImageDimension::Image1dBuffer,
            ImageDim::D1Array => ImageDimension::Image1dArray,
            ImageDim::D2 | ImageDim::D2Depth => ImageDimension::Image2d,
            ImageDim::D2Array | ImageDim::D2ArrayDepth => ImageDimension::Image2dArray,
            ImageDim::D3 => ImageDimension::Image3d,
        },
        textures: Vec::new(),
        depth: image.dim.is_depth(),
    }
}

/// Element and lanes of what is a number in memory.
fn number(ty: &Type) -> Option<(Scalar, u8)> {
    match ty {
        Type::Atomic(s) => Some((*s, 1)),
        other => other.arithmetic(),
    }
}

/// The type that the source says.
fn as_written(local: &Local) -> Type {
    let ty = match &local.ty {
        Type::Pointer(p) if local.requalified => {
            let quals = Quals { is_const: !p.quals.is_const, ..p.quals };
            Type::pointer(p.ty.clone(), p.space, quals)
        }
        other => other.clone(),
    };
    if local.demoted { undemoted(&ty) } else { ty }
}

/// The type as it was written with `double`.
fn undemoted(ty: &Type) -> Type {
    match ty {
        Type::Scalar(Scalar::Float) => Type::DOUBLE,
        Type::Vector(Scalar::Float, n) => Type::Vector(Scalar::Double, *n),
        Type::Pointer(p) => Type::pointer(undemoted(&p.ty), p.space, p.quals),
        Type::Array(e, n) => Type::Array(std::rc::Rc::new(undemoted(e)), *n),
        other => other.clone(),
    }
}

fn scalar_kind(scalar: Scalar) -> ScalarKind {
    match scalar {
        Scalar::Bool => ScalarKind::Bool,
        Scalar::Char => ScalarKind::Char,
        Scalar::UChar => ScalarKind::UChar,
        Scalar::Short => ScalarKind::Short,
        Scalar::UShort => ScalarKind::UShort,
        Scalar::Int => ScalarKind::Int,
        Scalar::UInt => ScalarKind::UInt,
        Scalar::Long => ScalarKind::Long,
        Scalar::ULong => ScalarKind::ULong,
        Scalar::Half => ScalarKind::Half,
        Scalar::Float => ScalarKind::Float,
        Scalar::Double => ScalarKind::Double,
    }
}
