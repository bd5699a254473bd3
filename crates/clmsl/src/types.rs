//! The types of OpenCL C as the semantic stages see them, and the layout rules both languages share.
//!
//! Sizes and alignments follow OpenCL C 3.0 §6.3: a vector is aligned to its size, a vector of three
//! has the size of four, `long` has 64 bits and pointers have 64 bits. MSL §2 gives the same layout,
//! which is why structures cross unchanged. Structures are compared by identity (`StructId`).

use std::rc::Rc;

use crate::source::Span;

/// A scalar arithmetic type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Scalar {
    Bool,
    Char,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    ULong,
    Half,
    Float,
    /// Under `--fp64 emulate` only: `clmsl_double`, its operations are the prelude's.
    Double,
}

impl Scalar {
    /// Size in bytes.
    pub(crate) fn size(self) -> u64 {
        match self {
            Scalar::Bool | Scalar::Char | Scalar::UChar => 1,
            Scalar::Short | Scalar::UShort | Scalar::Half => 2,
            Scalar::Int | Scalar::UInt | Scalar::Float => 4,
            Scalar::Long | Scalar::ULong | Scalar::Double => 8,
        }
    }

    /// Width in bits of the value.
    pub(crate) fn bits(self) -> u32 {
        self.size() as u32 * 8
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Scalar::Half | Scalar::Float | Scalar::Double)
    }

    /// `bool` counts as an integer.
    pub(crate) fn is_integer(self) -> bool {
        !self.is_float()
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Scalar::Char | Scalar::Short | Scalar::Int | Scalar::Long) || self.is_float()
    }

    /// The signed integer of the same width (what a vector comparison yields).
    pub(crate) fn signed_of_width(self) -> Scalar {
        match self.size() {
            1 => Scalar::Char,
            2 => Scalar::Short,
            4 => Scalar::Int,
            _ => Scalar::Long,
        }
    }

    /// The unsigned integer of the same width.
    pub(crate) fn unsigned_of_width(self) -> Scalar {
        match self.size() {
            1 => Scalar::UChar,
            2 => Scalar::UShort,
            4 => Scalar::UInt,
            _ => Scalar::ULong,
        }
    }

    /// The type after the integer promotions (C99 §6.3.1.1); floats are unchanged.
    pub(crate) fn promoted(self) -> Scalar {
        match self {
            Scalar::Bool | Scalar::Char | Scalar::UChar | Scalar::Short | Scalar::UShort => Scalar::Int,
            other => other,
        }
    }

    /// Integer conversion rank (C99 §6.3.1.1).
    fn rank(self) -> u8 {
        match self {
            Scalar::Bool => 0,
            Scalar::Char | Scalar::UChar => 1,
            Scalar::Short | Scalar::UShort => 2,
            Scalar::Int | Scalar::UInt => 3,
            Scalar::Long | Scalar::ULong => 4,
            Scalar::Half => 5,
            Scalar::Float => 6,
            Scalar::Double => 7,
        }
    }

    /// The common type of two operands after the usual arithmetic conversions (C99 §6.3.1.8).
    pub(crate) fn usual(self, other: Scalar) -> Scalar {
        let (a, b) = (self.promoted(), other.promoted());
        Scalar::wider(a, b)
    }

    /// The operand type of higher rank; between equal ranks the unsigned one.
    pub(crate) fn wider(a: Scalar, b: Scalar) -> Scalar {
        if a.rank() != b.rank() {
            if a.rank() > b.rank() { a } else { b }
        } else if a.is_signed() {
            b
        } else {
            a
        }
    }

    /// The name in OpenCL C, which MSL shares but for `double`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::Char => "char",
            Scalar::UChar => "uchar",
            Scalar::Short => "short",
            Scalar::UShort => "ushort",
            Scalar::Int => "int",
            Scalar::UInt => "uint",
            Scalar::Long => "long",
            Scalar::ULong => "ulong",
            Scalar::Half => "half",
            Scalar::Float => "float",
            Scalar::Double => "double",
        }
    }

    /// The name in the output.
    pub(crate) fn msl_name(self) -> &'static str {
        if self == Scalar::Double { "clmsl_double" } else { self.name() }
    }

    /// Wraps `value` to this integer type's range, as a conversion does.
    pub(crate) fn wrap(self, value: i128) -> i128 {
        match self {
            Scalar::Bool => i128::from(value != 0),
            Scalar::Char => i128::from(value as i8),
            Scalar::UChar => i128::from(value as u8),
            Scalar::Short => i128::from(value as i16),
            Scalar::UShort => i128::from(value as u16),
            Scalar::Int => i128::from(value as i32),
            Scalar::UInt => i128::from(value as u32),
            Scalar::Long => i128::from(value as i64),
            Scalar::ULong => i128::from(value as u64),
            Scalar::Half | Scalar::Float | Scalar::Double => value,
        }
    }
}

/// An address space, or the unknown one of an unqualified pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Private,
    Global,
    Constant,
    Local,
    /// Written without a qualifier and not yet given a variable.
    Unset,
    /// To be inferred; the number indexes the inference table of `sema::spaces`.
    Var(u32),
}

impl Space {
    /// The OpenCL C spelling, for messages.
    pub(crate) fn opencl_name(self) -> &'static str {
        match self {
            Space::Private => "__private",
            Space::Global => "__global",
            Space::Constant => "__constant",
            Space::Local => "__local",
            Space::Unset | Space::Var(_) => "unqualified",
        }
    }

    /// The MSL spelling; an inference variable that nothing bound is `thread`.
    pub(crate) fn msl_name(self) -> &'static str {
        match self {
            Space::Private | Space::Unset | Space::Var(_) => "thread",
            Space::Global => "device",
            Space::Constant => "constant",
            Space::Local => "threadgroup",
        }
    }
}

/// Type qualifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quals {
    pub(crate) is_const: bool,
    pub(crate) is_volatile: bool,
    pub(crate) is_restrict: bool,
    /// *Lowered*: work-groups see each other's accesses.
    pub(crate) is_coherent: bool,
}

impl Quals {
    pub(crate) fn union(self, other: Quals) -> Quals {
        Quals {
            is_const: self.is_const || other.is_const,
            is_volatile: self.is_volatile || other.is_volatile,
            is_restrict: self.is_restrict || other.is_restrict,
            is_coherent: self.is_coherent || other.is_coherent,
        }
    }
}

/// What a pointer points to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pointee {
    pub(crate) ty: Type,
    pub(crate) space: Space,
    pub(crate) quals: Quals,
}

/// The shape of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ImageDim {
    D1,
    D1Buffer,
    D1Array,
    D2,
    D2Array,
    D3,
    /// One component; in MSL a texture like `D2`.
    D2Depth,
    D2ArrayDepth,
}

impl ImageDim {
    /// The shape an OpenCL C type name says.
    pub(crate) fn of_name(name: &str) -> Option<ImageDim> {
        Some(match name {
            "image1d_t" => ImageDim::D1,
            "image1d_buffer_t" => ImageDim::D1Buffer,
            "image1d_array_t" => ImageDim::D1Array,
            "image2d_t" => ImageDim::D2,
            "image2d_array_t" => ImageDim::D2Array,
            "image3d_t" => ImageDim::D3,
            "image2d_depth_t" => ImageDim::D2Depth,
            "image2d_array_depth_t" => ImageDim::D2ArrayDepth,
            _ => return None,
        })
    }

    /// The OpenCL C spelling.
    pub(crate) fn opencl_name(self) -> &'static str {
        match self {
            ImageDim::D1 => "image1d_t",
            ImageDim::D1Buffer => "image1d_buffer_t",
            ImageDim::D1Array => "image1d_array_t",
            ImageDim::D2 => "image2d_t",
            ImageDim::D2Array => "image2d_array_t",
            ImageDim::D3 => "image3d_t",
            ImageDim::D2Depth => "image2d_depth_t",
            ImageDim::D2ArrayDepth => "image2d_array_depth_t",
        }
    }

    /// How MSL's texture types, and the functions of the prelude, end.
    pub(crate) fn msl_suffix(self) -> &'static str {
        match self {
            ImageDim::D1 => "1d",
            ImageDim::D1Buffer => "_buffer",
            ImageDim::D1Array => "1d_array",
            ImageDim::D2 | ImageDim::D2Depth => "2d",
            ImageDim::D2Array | ImageDim::D2ArrayDepth => "2d_array",
            ImageDim::D3 => "3d",
        }
    }

    pub(crate) fn is_array(self) -> bool {
        matches!(self, ImageDim::D1Array | ImageDim::D2Array | ImageDim::D2ArrayDepth)
    }

    pub(crate) fn is_depth(self) -> bool {
        matches!(self, ImageDim::D2Depth | ImageDim::D2ArrayDepth)
    }

    /// Coordinates that are not the number of a layer.
    pub(crate) fn rank(self) -> u8 {
        match self {
            ImageDim::D1 | ImageDim::D1Buffer | ImageDim::D1Array => 1,
            ImageDim::D3 => 3,
            _ => 2,
        }
    }

    /// Components of a coordinate in OpenCL C, whose vectors of three are written with four.
    pub(crate) fn coordinates(self) -> u8 {
        match self.rank() + u8::from(self.is_array()) {
            3 => 4,
            n => n,
        }
    }
}

/// What a program may do with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ImageAccess {
    ReadOnly,
    /// *Lowered*: read only, by Metal's samplers too.
    Sampled,
    WriteOnly,
    ReadWrite,
}

impl ImageAccess {
    /// The OpenCL C spelling.
    pub(crate) fn opencl_name(self) -> &'static str {
        match self {
            ImageAccess::ReadOnly | ImageAccess::Sampled => "read_only",
            ImageAccess::WriteOnly => "write_only",
            ImageAccess::ReadWrite => "read_write",
        }
    }
}

/// An image type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) dim: ImageDim,
    pub(crate) access: ImageAccess,
    /// Set when the functions used on the image are known (`lower::component`).
    pub(crate) components: Components,
}

/// What the textures that an image becomes hold: a set of `float`, `int` and `uint`. *Lowered*: one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Components(u8);

impl Components {
    pub(crate) const ALL: Components = Components(7);
    const SCALARS: [Scalar; 3] = [Scalar::Float, Scalar::Int, Scalar::UInt];

    /// What holds numbers of this type: every `half` is a `float`.
    pub(crate) fn of(scalar: Scalar) -> Components {
        match scalar {
            Scalar::Half | Scalar::Float => Components(1),
            Scalar::Int => Components(2),
            Scalar::UInt => Components(4),
            other => unreachable!("images hold no '{}'", other.name()),
        }
    }

    pub(crate) fn and(self, other: Components) -> Components {
        Components(self.0 | other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Scalar> {
        Self::SCALARS.into_iter().filter(move |&s| Components::of(s).0 & self.0 != 0)
    }

    /// The one, if there is one.
    pub(crate) fn only(self) -> Option<Scalar> {
        let mut scalars = self.iter();
        scalars.next().filter(|_| scalars.next().is_none())
    }
}

/// Index of a structure or union in `hir::Program::structs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StructId(pub(crate) u32);

/// An unqualified type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Type {
    /// Stands where an error was already reported; suppresses further messages.
    Error,
    #[default]
    Void,
    Scalar(Scalar),
    /// Element type and 2, 3, 4, 8 or 16 lanes. `Bool` elements exist only after lowering.
    Vector(Scalar, u8),
    Pointer(Rc<Pointee>),
    Array(Rc<Type>, u64),
    Struct(StructId),
    Image(Image),
    /// The 32 bits of a sampler; in MSL a `uint`.
    Sampler,
    /// `metal::packed_T<n>`: exists only after lowering, for unaligned vector access.
    Packed(Scalar, u8),
    /// `atomic_T`; lowering also casts pointers to other types to pointers to it.
    Atomic(Scalar),
    /// The bytes of a number at any address, `clmsl_bytes<T>`: exists only after lowering (`lower::packed`).
    Bytes(Scalar, u8),
}

impl Type {
    pub(crate) const INT: Type = Type::Scalar(Scalar::Int);
    pub(crate) const UINT: Type = Type::Scalar(Scalar::UInt);
    pub(crate) const BOOL: Type = Type::Scalar(Scalar::Bool);
    pub(crate) const FLOAT: Type = Type::Scalar(Scalar::Float);
    pub(crate) const DOUBLE: Type = Type::Scalar(Scalar::Double);
    pub(crate) const LONG: Type = Type::Scalar(Scalar::Long);
    pub(crate) const ULONG: Type = Type::Scalar(Scalar::ULong);

    pub(crate) fn pointer(ty: Type, space: Space, quals: Quals) -> Type {
        Type::Pointer(Rc::new(Pointee { ty, space, quals }))
    }

    /// A scalar for one lane, a vector for more.
    pub(crate) fn lanes(scalar: Scalar, lanes: u8) -> Type {
        if lanes == 1 { Type::Scalar(scalar) } else { Type::Vector(scalar, lanes) }
    }

    /// Element and lane count of an arithmetic type; a scalar has one lane.
    pub(crate) fn arithmetic(&self) -> Option<(Scalar, u8)> {
        match *self {
            Type::Scalar(s) => Some((s, 1)),
            Type::Vector(s, n) => Some((s, n)),
            _ => None,
        }
    }

    pub(crate) fn scalar(&self) -> Option<Scalar> {
        match *self {
            Type::Scalar(s) => Some(s),
            _ => None,
        }
    }

    pub(crate) fn vector(&self) -> Option<(Scalar, u8)> {
        match *self {
            Type::Vector(s, n) => Some((s, n)),
            _ => None,
        }
    }

    /// Element and lanes of a vector that MSL does not have.
    pub(crate) fn emulated(&self) -> Option<(Scalar, u8)> {
        self.vector().filter(|&(s, n)| !is_native_vector(s, n))
    }

    /// Those of an array, of all its dimensions; one for all else.
    pub(crate) fn elements(&self) -> u64 {
        match self {
            Type::Array(element, count) => count.saturating_mul(element.elements()),
            _ => 1,
        }
    }

    pub(crate) fn pointee(&self) -> Option<&Pointee> {
        match self {
            Type::Pointer(p) => Some(p),
            _ => None,
        }
    }

    pub(crate) fn image(&self) -> Option<Image> {
        match *self {
            Type::Image(image) => Some(image),
            _ => None,
        }
    }

    /// Images and samplers, which are not objects in memory (OpenCL C 3.0 §6.11.b).
    pub(crate) fn is_opaque(&self) -> bool {
        matches!(self, Type::Image(_) | Type::Sampler)
    }

    pub(crate) fn is_integer_scalar(&self) -> bool {
        self.scalar().is_some_and(Scalar::is_integer)
    }

    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Type::Error)
    }

    /// Equal but for address spaces and qualifiers behind pointers.
    pub(crate) fn same_shape(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Pointer(a), Type::Pointer(b)) => a.ty.same_shape(&b.ty),
            (Type::Array(a, n), Type::Array(b, m)) => n == m && a.same_shape(b),
            _ => self == other,
        }
    }

    /// Rewrites every address space in the type. What does not change is shared.
    pub(crate) fn map_spaces(&self, f: &mut dyn FnMut(Space) -> Space) -> Type {
        match self {
            Type::Pointer(p) => {
                let (ty, space) = (p.ty.map_spaces(f), f(p.space));
                if space == p.space && ty == p.ty {
                    return self.clone();
                }
                Type::Pointer(Rc::new(Pointee { ty, space, quals: p.quals }))
            }
            Type::Array(e, n) if matches!(**e, Type::Pointer(_) | Type::Array(..)) => {
                let element = e.map_spaces(f);
                if element == **e { self.clone() } else { Type::Array(Rc::new(element), *n) }
            }
            _ => self.clone(),
        }
    }
}

/// Whether MSL has this vector. One that it lacks is a structure of the prelude, made of two halves (`prelude::wide`).
pub(crate) fn is_native_vector(element: Scalar, lanes: u8) -> bool {
    lanes <= 4 && element != Scalar::Double
}

/// How many lanes the members `lo` and `hi` of an emulated vector have.
pub(crate) fn halves(lanes: u8) -> (u8, u8) {
    (lanes.div_ceil(2), lanes / 2)
}

/// The name MSL, or the prelude, gives an arithmetic type.
pub(crate) fn msl_name(element: Scalar, lanes: u8) -> String {
    let name = element.name();
    match lanes {
        1 => element.msl_name().to_owned(),
        _ if is_native_vector(element, lanes) => format!("metal::{name}{lanes}"),
        _ => format!("clmsl_{name}{lanes}"),
    }
}

/// A member of a structure or union.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) quals: Quals,
    /// Alignment asked for with `__attribute__((aligned(n)))`, in bytes, or 1.
    pub(crate) min_align: u64,
    /// `__attribute__((packed))`
    pub(crate) packed: bool,
    pub(crate) span: Span,
}

/// A structure or union.
#[derive(Clone, Debug)]
pub(crate) struct Struct {
    /// The user's tag, or a typedef's name for an anonymous one, or empty.
    pub(crate) name: String,
    pub(crate) is_union: bool,
    pub(crate) fields: Vec<Field>,
    /// False for a tag that was only declared.
    pub(crate) complete: bool,
    /// Set when complete, so that nested structures are laid out once; `None` also if the size does not fit.
    pub(crate) layout: Option<StructLayout>,
    /// How many structures nest in this one, itself included.
    pub(crate) depth: u32,
    /// Whether a member is a pointer or holds one. Known when complete, so that nested structures are looked at once.
    pub(crate) holds_pointers: bool,
    /// Alignment asked for with `__attribute__((aligned(n)))`, in bytes.
    pub(crate) min_align: u64,
    /// `__attribute__((packed))`
    pub(crate) packed: bool,
    /// Members are aligned to at most so many bytes: `#pragma pack`. No limit if 0.
    pub(crate) max_align: u64,
    /// Whether pointers to it are made of pointers to less aligned memory.
    pub(crate) anywhere: bool,
    pub(crate) span: Span,
}

/// Size and alignment of a type in bytes; `None` for what has no size or does not fit 64 bits.
pub(crate) fn layout(ty: &Type, structs: &[Struct]) -> Option<(u64, u64)> {
    match ty {
        Type::Scalar(s) => Some((s.size(), s.size())),
        Type::Vector(s, n) => {
            let lanes = if *n == 3 { 4 } else { u64::from(*n) };
            Some((s.size() * lanes, s.size() * lanes))
        }
        Type::Pointer(_) => Some((8, 8)),
        Type::Array(e, n) => {
            let (size, align) = layout(e, structs)?;
            Some((size.checked_mul(*n)?, align))
        }
        Type::Struct(id) => structs[id.0 as usize].layout.as_ref().map(|l| (l.size, l.align)),
        Type::Packed(s, n) => Some((s.size() * u64::from(*n), s.size())),
        Type::Atomic(s) => Some((s.size(), s.size())),
        Type::Bytes(s, n) => layout(&Type::lanes(*s, *n), structs).map(|(size, _)| (size, 1)),
        Type::Void | Type::Error | Type::Image(_) | Type::Sampler => None,
    }
}

/// Whether values of the type are or hold pointers.
pub(crate) fn holds_pointers(ty: &Type, structs: &[Struct]) -> bool {
    match ty {
        Type::Pointer(_) => true,
        Type::Array(element, _) => holds_pointers(element, structs),
        Type::Struct(id) => structs[id.0 as usize].holds_pointers,
        _ => false,
    }
}

/// What OpenCL C aligns a type to: less than MSL where something is packed.
pub(crate) fn least_align(ty: &Type, structs: &[Struct]) -> Option<u64> {
    match ty {
        Type::Array(e, _) => least_align(e, structs),
        Type::Struct(id) => structs[id.0 as usize].layout.as_ref().map(|l| l.least_align),
        other => layout(other, structs).map(|(_, align)| align),
    }
}

/// Layout of a structure.
#[derive(Clone, Debug)]
pub(crate) struct StructLayout {
    pub(crate) size: u64,
    /// What MSL aligns it to: as much as OpenCL C does if members lie where MSL would not put them, see `lower::packed`.
    pub(crate) align: u64,
    /// Byte offset of each field.
    pub(crate) offsets: Vec<u64>,
    /// What OpenCL C aligns it to, which is less where something is packed.
    pub(crate) least_align: u64,
}

/// Lays a structure out by the rules of C and of Clang's attributes: each field at the next multiple of its alignment.
pub(crate) fn struct_layout(s: &Struct, structs: &[Struct]) -> Option<StructLayout> {
    let wanted = |field: &Field| {
        let natural = if s.packed || field.packed { 1 } else { least_align(&field.ty, structs)? };
        let align = natural.max(field.min_align);
        // The limit holds for what attributes ask for, too.
        Some(if s.max_align > 0 { align.min(s.max_align) } else { align })
    };
    let out = placed(s, structs, &wanted)?;
    let natural = placed(s, structs, &|field| layout(&field.ty, structs).map(|(_, align)| align));
    // MSL may align more, which nothing but pointers to less aligned memory shows.
    match natural {
        Some(n) if n.offsets == out.offsets && n.size == out.size && n.align >= out.align => {
            Some(StructLayout { least_align: out.align, ..n })
        }
        _ => Some(out),
    }
}

/// The layout in which each field has the alignment `wanted`.
fn placed(s: &Struct, structs: &[Struct], wanted: &dyn Fn(&Field) -> Option<u64>) -> Option<StructLayout> {
    let align = s.min_align.max(1);
    let mut out = StructLayout { size: 0, align, offsets: Vec::new(), least_align: align };
    for field in &s.fields {
        let (size, _) = layout(&field.ty, structs)?;
        let align = wanted(field)?;
        out.align = out.align.max(align);
        let offset = if s.is_union { 0 } else { out.size.checked_next_multiple_of(align)? };
        out.offsets.push(offset);
        out.size = out.size.max(offset.checked_add(size)?);
    }
    out.size = out.size.checked_next_multiple_of(out.align)?;
    out.least_align = out.align;
    Some(out)
}

/// The OpenCL C spelling of a type, for messages and reflection.
pub(crate) fn describe(ty: &Type, structs: &[Struct]) -> String {
    match ty {
        Type::Error => "<error>".to_owned(),
        Type::Void => "void".to_owned(),
        Type::Scalar(s) => s.name().to_owned(),
        Type::Vector(s, n) => format!("{}{n}", s.name()),
        Type::Pointer(p) => {
            let mut out = String::new();
            if !matches!(p.space, Space::Unset | Space::Var(_) | Space::Private) {
                out.push_str(p.space.opencl_name());
                out.push(' ');
            }
            if p.quals.is_const {
                out.push_str("const ");
            }
            if p.quals.is_volatile {
                out.push_str("volatile ");
            }
            out.push_str(&describe(&p.ty, structs));
            out.push('*');
            out
        }
        Type::Array(..) => {
            let mut dims = String::new();
            let mut inner = ty;
            while let Type::Array(e, n) = inner {
                dims.push_str(&format!("[{n}]"));
                inner = e;
            }
            format!("{}{dims}", describe(inner, structs))
        }
        Type::Struct(id) => {
            let s = &structs[id.0 as usize];
            let word = if s.is_union { "union" } else { "struct" };
            if s.name.is_empty() { format!("{word} <anonymous>") } else { format!("{word} {}", s.name) }
        }
        Type::Image(i) => format!("{} {}", i.access.opencl_name(), i.dim.opencl_name()),
        Type::Sampler => "sampler_t".to_owned(),
        Type::Packed(s, n) => format!("packed {}{n}", s.name()),
        Type::Atomic(s) => format!("atomic_{}", s.name()),
        Type::Bytes(s, n) => describe(&Type::lanes(*s, *n), structs),
    }
}
