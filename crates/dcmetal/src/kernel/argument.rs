//! What a kernel takes: one record per argument, from Metal's reflection, and for OpenCL C from the translator's too.
//!
//! MSL: the arguments of a launch are the `[[buffer(n)]]` in the order of n, then the `[[threadgroup(n)]]`, the
//! `[[texture(n)]]` and the `[[sampler(n)]]` in the order of n. OpenCL C: the order of the source's parameter list, under the source's names.

use std::fmt;

use dcmetal_sys as sys;

use crate::raw::Binding;
use crate::{Error, Result};

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name in the source.
    pub name: String,
    /// Its position in the argument list of a launch, from 0.
    pub position: usize,
    /// `n` of `[[buffer(n)]]`, `[[threadgroup(n)]]`, the first `[[texture(n)]]` or `[[sampler(n)]]`.
    pub slot: usize,
    /// Where a value of OpenCL C is in that buffer: not 0 only where values share one.
    pub offset: usize,
    /// What a launch passes for it.
    pub kind: ArgumentKind,
    /// How the kernel uses it.
    pub access: Access,
    /// The type of one element, in the words of the source's language; `struct` where Metal tells no more.
    pub type_name: String,
    /// What its scalars are, for scalars, vectors, matrices and textures of one kind of components.
    pub scalar: Option<Scalar>,
    /// Components of a vector, 1 for a scalar, 0 for anything else.
    pub lanes: u8,
    /// The size of one element in bytes.
    pub size: u64,
    /// Its alignment in bytes.
    pub alignment: u64,
    /// Where a texture is bound: to the one of these that its format fits. Several stand for an image of OpenCL C that is
    /// used as one of several kinds of components, none for one that is not used.
    pub textures: Vec<TextureSlot>,
    /// False when the compiler removed every use of it. It must be passed all the same.
    pub used: bool,
}

/// A `[[texture(n)]]` that stands for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureSlot {
    /// What its components are.
    pub scalar: Option<Scalar>,
    /// `n`.
    pub slot: usize,
}

/// What a launch passes for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgumentKind {
    /// A buffer or view. MSL has no values: a `constant T&` is a buffer that is only read, so for MSL a value is
    /// accepted for any such buffer.
    Buffer,
    /// A value, copied at the launch.
    Value,
    /// Threadgroup memory of a size given at the launch, OpenCL's `__local` pointer.
    Threadgroup,
    /// A texture, OpenCL's image.
    Texture {
        /// Its dimensions.
        kind: TextureKind,
    },
    /// A sampler.
    Sampler,
}

/// The dimensions of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each name is Metal's")]
pub enum TextureKind {
    D1,
    D1Array,
    D2,
    D2Array,
    D3,
    /// The elements of a buffer as texels.
    Buffer,
}

/// Kind, name, MTLTextureType.
const TEXTURE_KINDS: [(TextureKind, &str, u32); 6] = [
    (TextureKind::D1, "texture1d", 0),
    (TextureKind::D1Array, "texture1d_array", 1),
    (TextureKind::D2, "texture2d", 2),
    (TextureKind::D2Array, "texture2d_array", 3),
    (TextureKind::D3, "texture3d", 7),
    (TextureKind::Buffer, "texture_buffer", 9),
];

impl TextureKind {
    fn of(texture_type: u32) -> Option<TextureKind> {
        TEXTURE_KINDS.iter().find(|row| row.2 == texture_type).map(|row| row.0)
    }

    /// Its name in MSL.
    pub fn name(self) -> &'static str {
        TEXTURE_KINDS.iter().find(|row| row.0 == self).expect("every kind has its row").1
    }
}

impl fmt::Display for ArgumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArgumentKind::Buffer => "a buffer",
            ArgumentKind::Value => "a value",
            ArgumentKind::Threadgroup => "threadgroup memory (`Arg::threadgroup`)",
            ArgumentKind::Texture { kind } => return write!(f, "a {}", kind.name()),
            ArgumentKind::Sampler => "a sampler",
        })
    }
}

/// How a kernel uses an argument, Metal's `MTLBindingAccess`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It reads.
    ReadOnly,
    /// It reads and writes.
    ReadWrite,
    /// It writes.
    WriteOnly,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::ReadOnly => "read",
            Access::ReadWrite => "read-write",
            Access::WriteOnly => "write",
        })
    }
}

/// The scalar types of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each name is the width and kind that Rust uses")]
pub enum Scalar {
    /// `double` of OpenCL C, emulated; Metal has none.
    F64,
    F32,
    F16,
    BF16,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    Bool,
}

/// Scalar, MSL name, and the first `MTLDataType` of its run of four (scalar and vectors of 2 to 4).
/// <https://developer.apple.com/documentation/metal/mtldatatype>
const SCALARS: [(Scalar, &str, u32); 12] = [
    (Scalar::F32, "float", 3),
    (Scalar::F16, "half", 16),
    (Scalar::I32, "int", 29),
    (Scalar::U32, "uint", 33),
    (Scalar::I16, "short", 37),
    (Scalar::U16, "ushort", 41),
    (Scalar::I8, "char", 45),
    (Scalar::U8, "uchar", 49),
    (Scalar::Bool, "bool", 53),
    (Scalar::I64, "long", 81),
    (Scalar::U64, "ulong", 85),
    (Scalar::BF16, "bfloat", 121),
];

/// Matrices: the first `MTLDataType` of the nine from 2x2 to 4x4.
const MATRICES: [(Scalar, &str, u32); 2] = [(Scalar::F32, "float", 7), (Scalar::F16, "half", 20)];

impl Scalar {
    /// Bytes.
    pub fn size(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 | Scalar::Bool => 1,
            Scalar::F16 | Scalar::BF16 | Scalar::I16 | Scalar::U16 => 2,
            Scalar::F32 | Scalar::I32 | Scalar::U32 => 4,
            Scalar::F64 | Scalar::I64 | Scalar::U64 => 8,
        }
    }

    /// Its name in MSL, or in OpenCL C for `double`.
    pub fn name(self) -> &'static str {
        if self == Scalar::F64 { "double" } else { self.row().1 }
    }

    /// The scalar's `MTLDataType`.
    pub(crate) fn data_type(self) -> u32 {
        self.row().2
    }

    fn row(self) -> (Scalar, &'static str, u32) {
        *SCALARS.iter().find(|row| row.0 == self).expect("every scalar of Metal has its row")
    }

    pub(crate) fn is_integer(self) -> bool {
        !matches!(self, Scalar::F64 | Scalar::F32 | Scalar::F16 | Scalar::BF16 | Scalar::Bool)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The scalar, lanes and name of an `MTLDataType`.
fn data_type(value: u32) -> (Option<Scalar>, u8, String) {
    for (scalar, name, first) in SCALARS {
        match value.checked_sub(first) {
            Some(0) => return (Some(scalar), 1, name.to_owned()),
            Some(more @ 1..=3) => return (Some(scalar), more as u8 + 1, format!("{name}{}", more + 1)),
            _ => {}
        }
    }
    for (scalar, name, first) in MATRICES {
        if let Some(at @ 0..=8) = value.checked_sub(first) {
            return (Some(scalar), 0, format!("{name}{}x{}", at / 3 + 2, at % 3 + 2));
        }
    }
    (None, 0, "struct".to_owned())
}

/// The arguments of an MSL kernel.
pub(super) fn from_msl(kernel: &str, bindings: Vec<Binding>) -> Result<Vec<Argument>> {
    let mut arguments = bindings.into_iter().map(|binding| argument(kernel, binding)).collect::<Result<Vec<_>>>()?;
    arguments.sort_by_key(|argument| (order(argument.kind), argument.slot));
    for (position, argument) in arguments.iter_mut().enumerate() {
        argument.position = position;
    }
    Ok(arguments)
}

/// Which argument table comes first in a launch.
fn order(kind: ArgumentKind) -> u32 {
    match kind {
        ArgumentKind::Buffer | ArgumentKind::Value => 0,
        ArgumentKind::Threadgroup => 1,
        ArgumentKind::Texture { .. } => 2,
        ArgumentKind::Sampler => 3,
    }
}

fn argument(kernel: &str, Binding { name, raw }: Binding) -> Result<Argument> {
    let unsupported = |what: &str| Error::Unsupported {
        what: format!("kernel `{kernel}`: {what} argument `{name}`"),
        text: "dcmetal binds buffers, values, threadgroup memory, textures and samplers, and no arrays of the last two"
            .to_owned(),
    };
    let kind = match sys::DCMetalBindingKind(raw.kind) {
        sys::DC_METAL_BINDING_BUFFER => ArgumentKind::Buffer,
        sys::DC_METAL_BINDING_THREADGROUP_MEMORY => ArgumentKind::Threadgroup,
        sys::DC_METAL_BINDING_TEXTURE | sys::DC_METAL_BINDING_SAMPLER if raw.array_length > 1 => {
            return Err(unsupported("array"));
        }
        sys::DC_METAL_BINDING_TEXTURE => match TextureKind::of(raw.texture_type) {
            Some(kind) => ArgumentKind::Texture { kind },
            None => return Err(unsupported(&format!("texture type {} for", raw.texture_type))),
        },
        sys::DC_METAL_BINDING_SAMPLER => ArgumentKind::Sampler,
        sys::DCMetalBindingKind(other) => return Err(unsupported(&format!("binding type {other} for"))),
    };
    let (scalar, lanes, type_name) = data_type(raw.data_type);
    let type_name = match kind {
        ArgumentKind::Texture { kind } => format!("{}<{type_name}>", kind.name()),
        ArgumentKind::Sampler => "sampler".to_owned(),
        _ => type_name,
    };
    Ok(Argument {
        name,
        position: 0,
        slot: raw.index as usize,
        offset: 0,
        kind,
        access: match sys::DCMetalAccess(raw.access) {
            sys::DC_METAL_ACCESS_READ_ONLY => Access::ReadOnly,
            sys::DC_METAL_ACCESS_WRITE_ONLY => Access::WriteOnly,
            _ => Access::ReadWrite,
        },
        type_name,
        scalar,
        lanes,
        size: raw.data_size,
        textures: match kind {
            ArgumentKind::Texture { .. } => vec![TextureSlot { scalar, slot: raw.index as usize }],
            _ => Vec::new(),
        },
        alignment: raw.alignment,
        used: raw.used,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_types_have_apples_values() {
        // Values from MTLDataType in Apple's SDK, by name.
        let known = [(3, "float"), (4, "float2"), (6, "float4"), (7, "float2x2"), (11, "float3x3"), (15, "float4x4")];
        let more = [(16, "half"), (19, "half4"), (28, "half4x4"), (29, "int"), (36, "uint4"), (37, "short")];
        let rest = [(52, "uchar4"), (53, "bool"), (56, "bool4"), (81, "long"), (88, "ulong4"), (121, "bfloat")];
        for (value, name) in known.into_iter().chain(more).chain(rest) {
            assert_eq!(data_type(value).2, name, "MTLDataType {value}");
        }
        // None, struct, array, texture, sampler, pointer.
        for value in [0, 1, 2, 57, 58, 59, 60, 1000] {
            assert_eq!(data_type(value), (None, 0, "struct".to_owned()), "MTLDataType {value}");
        }
    }
}
