//! Images and samplers (OpenCL C 3.0 §6.15.15).
//!
//! An image is a texture that is read and written at whole coordinates, nothing else. A sampler is the number OpenCL C
//! makes of it, and functions of the prelude compute from it which texels a read takes and how they are mixed, by the
//! formulas of OpenCL C. Metal's samplers would not do: their border colours and pixel coordinates are others, the precision
//! of their filters is the GPU's, and not every GPU of Apple filters textures of 32-bit floats, which OpenCL demands and
//! which only the launch shows. OpenCL however leaves the precision of linear filters open (OpenCL 3.0 environment
//! specification, "Image Addressing and Filtering"), and a filter of Metal's is one instruction instead of four reads:
//! `-cl-fast-relaxed-math` takes it where the sampler is known and Metal has its modes.
//!
//! A texture has components of one type. An image that is read or written as several becomes a texture of each, next to
//! one another where it was a parameter (`image_float`, `image_int`), and the host binds the one that its format fits. For
//! the others it binds textures of one texel: a read of one gives some number, a write is lost, which is all that OpenCL C
//! says of functions that do not fit an image's format, and the image is as large as the largest of its textures. Null
//! textures would not do: calling a method of one is undefined (MSL specification, "Null Texture Functions").
//!
//! The channel order decides about the border's alpha and can be asked for, the data type too. Textures do not tell, so
//! the host does: functions that need them get the format of an image as a hidden parameter, kernels as a buffer with the
//! formats of all their images.

use std::collections::BTreeMap;

use super::Instance;
use super::component::images;
use super::expr::{call, take};
use crate::builtins::{ImageOp, ImageQuery, Resolved, Special};
use crate::hir::{Block, Constant, Expr, ExprKind, Function, Local, LocalId};
use crate::sema::convert;
use crate::source::Span;
use crate::types::{Components, Image, ImageAccess, ImageDim, Quals, Scalar, Space, Type};

/// `CLK_DEPTH`
const DEPTH: i128 = 0x10bd;

/// A format: channel order, channel data type.
const FORMAT: Type = Type::Vector(Scalar::UInt, 2);

/// Where a function finds the formats of its images.
enum Formats {
    /// A parameter for each image that needs it.
    Parameters(BTreeMap<LocalId, LocalId>),
    /// The kernel's buffer, and the images by their place in it.
    Buffer(LocalId, Vec<LocalId>),
}

/// The textures that stand for each image parameter.
pub(super) type Textures = BTreeMap<LocalId, Vec<LocalId>>;

/// What the images of a kernel become: its parameters are still those of the source.
#[derive(Default)]
pub(super) struct KernelImages {
    pub(super) textures: Textures,
    /// The buffer of formats.
    pub(super) formats: Option<LocalId>,
}

/// Rewrites the functions on images. `instances` has callees first. Gives for each what becomes of a kernel's images.
pub(super) fn lower(instances: &mut [Instance], constants: &[Constant], fast_relaxed_math: bool) -> Vec<KernelImages> {
    let mut sampled = false;
    let components: Vec<Vec<Components>> = instances.iter().map(|i| i.components.clone()).collect();
    // For each function the positions of the parameters whose formats follow its own parameters.
    let mut passed: Vec<Vec<usize>> = Vec::with_capacity(instances.len());
    let mut kernels = Vec::with_capacity(instances.len());
    for instance in instances.iter_mut() {
        let function = &mut instance.function;
        let Some(mut body) = function.body.take_if(|_| instance.content.images || instance.content.calls) else {
            passed.push(Vec::new());
            kernels.push(KernelImages::default());
            continue;
        };
        let needed = needed(&body, constants, &passed);
        let visible = function.params.clone();
        let textures = textures(function);
        let (formats, buffer) = declare(function, &needed);
        let mut cx = Cx {
            textures: &textures,
            components: &components,
            formats: &formats,
            passed: &passed,
            constants,
            fast_relaxed_math,
            sampled: false,
        };
        body.for_each_expr_mut(&mut |e| e.rewrite(&mut |e| cx.expr(e)));
        sampled |= cx.sampled;
        function.body = Some(body);
        if function.kernel.is_none() {
            function.params = in_place(&function.params, &textures);
        }
        let position = |image: &LocalId| visible.iter().position(|p| p == image);
        passed.push(if buffer.is_some() { Vec::new() } else { needed.iter().filter_map(position).collect() });
        kernels.push(KernelImages { textures, formats: buffer });
    }
    if sampled {
        instances.iter_mut().for_each(|instance| sample(&mut instance.function));
    }
    kernels
}

/// Declares the textures of an image with components of several types. One of a single type is its texture itself.
fn textures(function: &mut Function) -> Textures {
    let mut out = Textures::new();
    for id in images(function) {
        let local = function.local(id);
        let Some(image) = local.ty.image() else { unreachable!("it is an image") };
        let (name, span) = (local.name.clone(), local.span);
        let textures = match image.components.only() {
            Some(_) => vec![id],
            None => (image.components.iter())
                .map(|scalar| {
                    let ty = Type::Image(Image { components: Components::of(scalar), ..image });
                    function.add_local(Local::generated(&format!("{name}_{}", scalar.name()), ty, span))
                })
                .collect(),
        };
        out.insert(id, textures);
    }
    out
}

/// Parameters with the textures where the images were.
pub(super) fn in_place(params: &[LocalId], textures: &Textures) -> Vec<LocalId> {
    params.iter().flat_map(|p| textures.get(p).cloned().unwrap_or_else(|| vec![*p])).collect()
}

/// Makes the textures that are read such as can be sampled, which is the same for all functions: they hand them on.
fn sample(function: &mut Function) {
    for local in &mut function.locals {
        if let Type::Image(image) = &mut local.ty
            && image.access == ImageAccess::ReadOnly
            && image.dim != ImageDim::D1Buffer
        {
            image.access = ImageAccess::Sampled;
        }
    }
}

/// The sampler of Metal that filters as this number says. With coordinates in pixels Metal has only `clamp_to_edge`.
fn metal_sampler(bits: i128, dim: ImageDim) -> Option<&'static str> {
    const LINEAR: i128 = 32;
    let is_plain = matches!(dim, ImageDim::D2 | ImageDim::D2Depth);
    match (bits & LINEAR != 0, bits & 14, bits & 1 != 0) {
        // What is outside is not read with CLK_ADDRESS_NONE.
        (true, 0 | 2, true) if is_plain || dim == ImageDim::D3 => Some("clmsl_linear_clamp_to_edge"),
        (true, 0 | 2, false) if is_plain => Some("clmsl_linear_pixel"),
        (true, 6, true) if is_plain || dim == ImageDim::D3 => Some("clmsl_linear_repeat"),
        (true, 8, true) if is_plain || dim == ImageDim::D3 => Some("clmsl_linear_mirrored_repeat"),
        _ => None,
    }
}

/// The images whose formats the function needs, itself or for its callees, by their order among its parameters.
fn needed(body: &Block, constants: &[Constant], passed: &[Vec<usize>]) -> Vec<LocalId> {
    let mut out: Vec<LocalId> = Vec::new();
    let mut note = |e: Option<&Expr>| {
        if let Some(ExprKind::Local(id)) = e.map(|e| &e.kind) {
            out.push(*id);
        }
    };
    body.for_each_expr(&mut |e| {
        e.walk(&mut |e| match &e.kind {
            ExprKind::Builtin { builtin: Resolved::Special(Special::Image(op)), args } => {
                let is_depth = args.first().and_then(|a| a.ty.image()).is_some_and(|i| i.dim.is_depth());
                let needs = match op {
                    ImageOp::Query(ImageQuery::ChannelDataType) => true,
                    ImageOp::Query(ImageQuery::ChannelOrder) => !is_depth,
                    ImageOp::Read(_) => args.len() == 3 && !is_depth && may_have_border(&args[1], constants),
                    _ => false,
                };
                if needs {
                    note(args.first());
                }
            }
            ExprKind::Call { function, args, .. } => {
                passed[function.0 as usize].iter().for_each(|&position| note(args.get(position)));
            }
            _ => {}
        });
    });
    out.sort_unstable();
    out.dedup();
    out
}

/// The number of a sampler that is not a parameter.
fn sampler_bits(sampler: &Expr, constants: &[Constant]) -> Option<i128> {
    match sampler.kind {
        ExprKind::Constant(id) => constants[id.0 as usize].init.as_ref()?.int_value(),
        _ => sampler.int_value(),
    }
}

/// Whether reads with this sampler may give the border colour (`CLK_ADDRESS_CLAMP`).
fn may_have_border(sampler: &Expr, constants: &[Constant]) -> bool {
    sampler_bits(sampler, constants).is_none_or(|bits| bits & 14 == 4)
}

/// Makes the parameters, or the kernel's buffer.
fn declare(function: &mut Function, needed: &[LocalId]) -> (Formats, Option<LocalId>) {
    let span = function.span;
    if needed.is_empty() {
        return (Formats::Parameters(BTreeMap::new()), None);
    }
    if function.kernel.is_some() {
        let ty = Type::pointer(FORMAT, Space::Constant, Quals::default());
        let images = images(function);
        let buffer = function.add_local(Local::generated("image_formats", ty, span));
        return (Formats::Buffer(buffer, images), Some(buffer));
    }
    let mut map = BTreeMap::new();
    for &image in needed {
        let name = format!("{}_format", function.local(image).name);
        let id = function.add_local(Local::generated(&name, FORMAT, span));
        function.params.push(id);
        map.insert(image, id);
    }
    (Formats::Parameters(map), None)
}

/// The rewriting of one function.
struct Cx<'a> {
    textures: &'a Textures,
    /// For each function the components of its images.
    components: &'a [Vec<Components>],
    formats: &'a Formats,
    passed: &'a [Vec<usize>],
    constants: &'a [Constant],
    fast_relaxed_math: bool,
    /// Whether a sampler of Metal's was used.
    sampled: bool,
}

impl Cx<'_> {
    /// The textures of an image that have these components.
    fn textures(&self, image: &Expr, wanted: Components) -> impl Iterator<Item = Expr> {
        let (ExprKind::Local(id), Some(ty)) = (&image.kind, image.ty.image()) else {
            unreachable!("an image is a parameter")
        };
        let span = image.span;
        ty.components.iter().zip(&self.textures[id]).filter(move |(s, _)| wanted.iter().any(|w| w == *s)).map(
            move |(scalar, &texture)| {
                let ty = Type::Image(Image { components: Components::of(scalar), ..ty });
                Expr::new(ExprKind::Local(texture), ty, span)
            },
        )
    }

    /// The texture for a function on numbers of this type.
    fn texture(&self, image: &Expr, scalar: Scalar) -> Expr {
        let mut textures = self.textures(image, Components::of(scalar));
        textures.next().unwrap_or_else(|| unreachable!("the functions used on an image decide about its textures"))
    }

    fn format(&self, image: &Expr) -> Expr {
        let span = image.span;
        let ExprKind::Local(id) = image.kind else { unreachable!("an image is a parameter") };
        match self.formats {
            Formats::Parameters(map) => Expr::new(ExprKind::Local(map[&id]), FORMAT, span),
            Formats::Buffer(buffer, images) => {
                let ty = Type::pointer(FORMAT, Space::Constant, Quals::default());
                let at = images.iter().position(|&i| i == id).unwrap_or_default();
                let base = Expr::new(ExprKind::Local(*buffer), ty, span);
                let index = Expr::int(at as i128, Type::INT, span);
                Expr::new(ExprKind::Index(Box::new(base), Box::new(index)), FORMAT, span)
            }
        }
    }

    /// One component of an image's format.
    fn format_part(&self, image: &Expr, lane: u8) -> Expr {
        let format = self.format(image);
        lanes(format, vec![lane])
    }

    fn expr(&mut self, e: &mut Expr) {
        match &mut e.kind {
            ExprKind::Call { function, args, .. } => {
                let passed = &self.passed[function.0 as usize];
                let formats: Vec<Expr> = passed.iter().map(|&position| self.format(&args[position])).collect();
                let mut wanted = self.components[function.0 as usize].iter();
                for arg in std::mem::take(args) {
                    match arg.ty.image().and_then(|_| wanted.next()) {
                        Some(wanted) => args.extend(self.textures(&arg, *wanted)),
                        None => args.push(arg),
                    }
                }
                args.extend(formats);
            }
            ExprKind::Builtin { builtin: Resolved::Special(Special::Image(op)), args } => {
                let (op, mut args) = (*op, std::mem::take(args));
                let (ty, span) = (e.ty.clone(), e.span);
                let Some(image) = args[0].ty.image() else { unreachable!("it was checked to be an image") };
                *e = match op {
                    ImageOp::Read(scalar) if args.len() == 3 => self.read_sampled(image, scalar, args, &ty, span),
                    ImageOp::Read(scalar) => {
                        args[0] = self.texture(&args[0], scalar);
                        read(image, scalar, args, &ty, span)
                    }
                    ImageOp::Write(scalar) => {
                        args[0] = self.texture(&args[0], scalar);
                        write(image, scalar, args, span)
                    }
                    ImageOp::Query(query) => self.query(image, query, &args[0], &ty, span),
                };
                e.span = span;
            }
            _ => {}
        }
    }

    fn read_sampled(&mut self, image: Image, scalar: Scalar, mut args: Vec<Expr>, ty: &Type, span: Span) -> Expr {
        let border =
            (!image.dim.is_depth() && may_have_border(&args[1], self.constants)).then(|| self.format_part(&args[0], 0));
        args[0] = self.texture(&args[0], scalar);
        let bits = sampler_bits(&args[1], self.constants);
        let whole = args[2].ty.arithmetic().is_some_and(|(s, _)| s.is_integer());
        if whole && bits.is_some_and(|bits| bits & 15 == 0) {
            // What is not sampled is read without an addressing mode as well.
            args.remove(1);
            return read(image, scalar, args, ty, span);
        }
        let is_float = Components::of(scalar) == Components::of(Scalar::Float);
        if self.fast_relaxed_math
            && !whole
            && is_float
            && let Some(sampler) = bits.and_then(|bits| metal_sampler(bits, image.dim))
        {
            self.sampled = true;
            args[1] = Expr::new(ExprKind::Name(sampler.to_owned()), Type::Sampler, span);
            args[2] = coordinate(take(&mut args[2]), image.dim);
            return read_value(call(".sample", args, colour(scalar), span), ty);
        }
        let name = match (whole, bits) {
            (true, _) => "texel",
            (false, _) if !is_float => "nearest",
            (false, Some(bits)) if bits & 32 == 0 => "nearest",
            (false, Some(_)) => "linear",
            (false, None) => "sample",
        };
        args.extend(border);
        args[2] = coordinate(take(&mut args[2]), image.dim);
        let head = format!("clmsl_{name}_{}", image.dim.msl_suffix());
        read_value(call(head, args, colour(scalar), span), ty)
    }

    fn query(&self, image: Image, query: ImageQuery, arg: &Expr, ty: &Type, span: Span) -> Expr {
        let size = |name: &str| {
            let sizes = self.textures(arg, Components::ALL);
            let sizes = sizes.map(|texture| call(format!(".get_{name}"), vec![texture], Type::UINT, span));
            let largest = sizes.reduce(|a, b| call("metal::max", vec![a, b], Type::UINT, span));
            largest.unwrap_or_else(|| unreachable!("an image that is asked for its size has a texture"))
        };
        match query {
            ImageQuery::Width => convert(size("width"), ty),
            ImageQuery::Height => convert(size("height"), ty),
            ImageQuery::Depth => convert(size("depth"), ty),
            ImageQuery::ArraySize => convert(size("array_size"), ty),
            ImageQuery::ChannelOrder if image.dim.is_depth() => Expr::int(DEPTH, Type::INT, span),
            ImageQuery::ChannelOrder => convert(self.format_part(arg, 0), ty),
            ImageQuery::ChannelDataType => convert(self.format_part(arg, 1), ty),
            ImageQuery::Dim => {
                let names: &[&str] =
                    if image.dim.rank() == 3 { &["width", "height", "depth"] } else { &["width", "height"] };
                let mut parts: Vec<Expr> = names.iter().map(|name| convert(size(name), &Type::INT)).collect();
                if image.dim.rank() == 3 {
                    parts.push(Expr::int(0, Type::INT, span));
                }
                Expr::new(ExprKind::VectorLiteral(parts), ty.clone(), span)
            }
        }
    }
}

/// The four components of a texel.
fn colour(scalar: Scalar) -> Type {
    Type::Vector(if scalar == Scalar::Half { Scalar::Float } else { scalar }, 4)
}

fn lanes(base: Expr, selected: Vec<u8>) -> Expr {
    let span = base.span;
    let ty = Type::lanes(base.ty.arithmetic().map_or(Scalar::Int, |(s, _)| s), selected.len() as u8);
    match base.kind {
        ExprKind::Swizzle(inner, of) => {
            let selected = selected.iter().map(|&l| of[usize::from(l)]).collect();
            Expr::new(ExprKind::Swizzle(inner, selected), ty, span)
        }
        kind => Expr::new(ExprKind::Swizzle(Box::new(Expr::new(kind, base.ty, span)), selected), ty, span),
    }
}

/// The coordinate without the fourth component that OpenCL C does not look at.
fn coordinate(at: Expr, dim: ImageDim) -> Expr {
    if dim.coordinates() == 4 { lanes(at, vec![0, 1, 2]) } else { at }
}

/// The texel as the function in the source gives it.
fn read_value(texel: Expr, ty: &Type) -> Expr {
    match ty {
        Type::Scalar(_) => lanes(texel, vec![0]),
        _ => convert(texel, ty),
    }
}

/// Where the methods of textures want a coordinate.
fn unsigned(at: Expr, dim: ImageDim) -> Expr {
    convert(coordinate(at, dim), &Type::lanes(Scalar::UInt, dim.rank()))
}

fn read(image: Image, scalar: Scalar, args: Vec<Expr>, ty: &Type, span: Span) -> Expr {
    let mut args = args.into_iter();
    let (Some(texture), Some(at)) = (args.next(), args.next()) else { unreachable!("the arguments were checked") };
    // OpenCL C leaves it to fences which writes a read sees; a fence too many is no fault.
    let fenced = image.access == ImageAccess::ReadWrite;
    let texel = if image.dim.is_array() {
        let head = if fenced { "clmsl_read_fenced" } else { "clmsl_read" };
        let head = format!("{head}_{}", image.dim.msl_suffix());
        call(head, vec![texture, coordinate(at, image.dim)], colour(scalar), span)
    } else {
        let head = if fenced { "clmsl_read_fenced" } else { ".read" };
        call(head, vec![texture, unsigned(at, image.dim)], colour(scalar), span)
    };
    read_value(texel, ty)
}

fn write(image: Image, scalar: Scalar, args: Vec<Expr>, span: Span) -> Expr {
    let mut args = args.into_iter();
    let (Some(texture), Some(at), Some(value)) = (args.next(), args.next(), args.next()) else {
        unreachable!("the arguments were checked")
    };
    let value = if image.dim.is_depth() {
        let part = |v: i128| convert(Expr::int(v, Type::INT, span), &Type::FLOAT);
        let parts = vec![value, part(0), part(0), part(1)];
        Expr::new(ExprKind::VectorLiteral(parts), colour(scalar), span)
    } else {
        convert(value, &colour(scalar))
    };
    if image.dim.is_array() {
        let head = format!("clmsl_write_{}", image.dim.msl_suffix());
        return call(head, vec![texture, coordinate(at, image.dim), value], Type::Void, span);
    }
    call(".write", vec![texture, value, unsigned(at, image.dim)], Type::Void, span)
}
