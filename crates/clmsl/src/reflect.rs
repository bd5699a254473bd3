//! What a host must know to launch the kernels: arguments, slots, sizes.
//!
//! All types serialise (with serde) under the names of their fields; enumerations as lower-case words.

use serde::Serialize;

use crate::printf::PrintFormat;

/// The kernels of a translation, in the order of the source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reflection {
    /// The kernels.
    pub kernels: Vec<KernelReflection>,
    /// Major and minor version of MSL that the newest of what the translation uses needs: 3.2 for fences, 3.0 for
    /// atomic floats; 2.4 otherwise.
    pub msl_version: [u32; 2],
    /// The formats of `printf`, by their numbers in records ([`HiddenKind::Printf`]).
    pub formats: Vec<PrintFormat>,
}

impl Reflection {
    /// The kernel with the user's name.
    pub fn kernel(&self, name: &str) -> Option<&KernelReflection> {
        self.kernels.iter().find(|k| k.name == name)
    }
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelReflection {
    /// The name in the OpenCL C source.
    pub name: String,
    /// The name in the MSL output; differs if the user's is a word of MSL.
    pub msl_name: String,
    /// The arguments, in order.
    pub args: Vec<ArgReflection>,
    /// Further buffers the host must bind.
    pub hidden: Vec<HiddenArg>,
    /// Bytes of `__local` variables; `__local` pointer arguments come on top.
    pub local_memory: u64,
    /// `__attribute__((reqd_work_group_size(x, y, z)))`: the launch must use this threadgroup size.
    pub reqd_work_group_size: Option<[u32; 3]>,
    /// `__attribute__((work_group_size_hint(x, y, z)))`
    pub work_group_size_hint: Option<[u32; 3]>,
    /// `__attribute__((vec_type_hint(type)))`, by the type's name.
    pub vec_type_hint: Option<String>,
    /// `__attribute__((intel_reqd_sub_group_size(n)))`: the pipeline's thread execution width must be this.
    pub reqd_sub_group_size: Option<u32>,
    /// The kernels that run behind it, in the order of the text, if it was cut at grid barriers (`dc_grid_barrier`): all with the same arguments. If they
    /// have [`HiddenKind::GridTurns`], those decide which run.
    pub parts: Vec<KernelReflection>,
}

/// One kernel argument.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArgReflection {
    /// The parameter's name in the source.
    pub name: String,
    /// Its position, as `clSetKernelArg` counts.
    pub index: u32,
    /// Index of its buffer binding, or of its threadgroup memory binding for [`ArgKind::Local`], or for [`ArgKind::Image`]
    /// of the texture binding of the first of its textures; where it has none, an index that is free.
    pub slot: u32,
    /// Where the value is in that buffer. Not 0 only where values share one, which they do if each with a buffer of its own
    /// is more than Metal has; it is as long as the one that ends last, rounded up to the greatest alignment.
    pub offset: u64,
    /// How it is bound.
    pub kind: ArgKind,
    /// The type as OpenCL C writes it.
    pub type_name: String,
    /// Bytes of the value, or of one element behind a pointer; 0 behind `void*`.
    pub size: u64,
    /// Alignment in bytes of the same.
    pub align: u64,
    /// Where a pointer points; private for values.
    pub address_space: AddressSpace,
    /// What the kernel may do with what it refers to.
    pub access: Access,
    /// The arithmetic type of the value or element; `None` for structures, unions and `void`.
    pub element: Option<Element>,
    /// What texture an image wants; `None` for other arguments.
    pub image: Option<ImageReflection>,
}

/// An image argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImageReflection {
    /// Its shape.
    pub dimension: ImageDimension,
    /// The textures that the kernel has for it, no two of the same components. The image is bound to the one that its
    /// format fits, and to each of the others some texture of one texel. With none the kernel does not use the image.
    pub textures: Vec<TextureReflection>,
    /// A depth image, of which only the first component counts.
    pub depth: bool,
}

/// One texture that stands for an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TextureReflection {
    /// What is read and written: `float`, `int` or `uint`. The format must be of that kind.
    pub component: ScalarKind,
    /// Index of its texture binding.
    pub slot: u32,
}

/// The shape of an image, and so the type of the texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageDimension {
    /// `image1d_t`
    Image1d,
    /// `image1d_buffer_t`: a texture made from a buffer.
    Image1dBuffer,
    /// `image1d_array_t`
    Image1dArray,
    /// `image2d_t`
    Image2d,
    /// `image2d_array_t`
    Image2dArray,
    /// `image3d_t`
    Image3d,
}

/// How an argument is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgKind {
    /// A `__global` pointer: a buffer.
    Buffer,
    /// A `__constant` pointer: a buffer that is only read.
    Constant,
    /// A value: its bytes are bound as a buffer.
    Value,
    /// A `__local` pointer: a length of threadgroup memory, a multiple of 16 bytes.
    Local,
    /// An image: a texture.
    Image,
    /// A sampler: its number, as OpenCL C writes it with `CLK_ADDRESS_CLAMP` and its kin, is bound like a value.
    Sampler,
}

/// An address space of OpenCL C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressSpace {
    /// `__private`
    Private,
    /// `__global`
    Global,
    /// `__constant`
    Constant,
    /// `__local`
    Local,
}

impl AddressSpace {
    /// Its word, without underscores.
    pub fn name(self) -> &'static str {
        match self {
            AddressSpace::Private => "private",
            AddressSpace::Global => "global",
            AddressSpace::Constant => "constant",
            AddressSpace::Local => "local",
        }
    }
}

/// What a kernel may do with an argument's memory or image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// A value, or a pointer that nothing is written through, whether declared `const` or not.
    ReadOnly,
    /// A `write_only` image.
    WriteOnly,
    /// Any other pointer, or a `read_write` image.
    ReadWrite,
}

/// A scalar or vector type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Element {
    /// Type of one component.
    pub scalar: ScalarKind,
    /// Components: 1 to 4, 8 or 16. Three are stored as four.
    pub lanes: u8,
}

/// A scalar type of OpenCL C; all sizes are fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalarKind {
    /// `bool`, 8 bits; never a kernel argument.
    Bool,
    /// 8 bits, signed.
    Char,
    /// 8 bits.
    UChar,
    /// 16 bits, signed.
    Short,
    /// 16 bits.
    UShort,
    /// 32 bits, signed.
    Int,
    /// 32 bits.
    UInt,
    /// 64 bits, signed.
    Long,
    /// 64 bits.
    ULong,
    /// 16-bit floating point.
    Half,
    /// 32-bit floating point.
    Float,
    /// 64-bit floating point, under `--fp64 emulate`.
    Double,
}

/// A buffer that no argument of the source stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HiddenArg {
    /// What it must hold.
    pub kind: HiddenKind,
    /// Index of its buffer binding.
    pub slot: u32,
    /// Its size in bytes.
    pub size: u64,
}

/// What a hidden buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HiddenKind {
    /// A `uint`: the number of dimensions of the launch, 1 to 3 (`get_work_dim`).
    WorkDim,
    /// Two `uint`s for each image argument, in order: its channel order and its channel data type, as OpenCL numbers them
    /// (`CL_RGBA`, `CL_UNORM_INT8`).
    ImageFormats,
    /// What `printf` writes, words of 32 bits: how many words the records take (0 before the launch), how many fit (set
    /// by the host: those of the buffer without these three), how many records did not fit (0 before the launch; from
    /// 2³¹ on it no longer counts), and the records one behind the other. A record is the number of its format in
    /// [`Reflection::formats`] and the arguments of its conversions, in order, each component in one word or, if it has
    /// 64 bits, in two, the lower first. Several launches may write to one buffer.
    Printf,
    /// What the work-items of a kernel with grid barriers keep from part to part: for each work-item of the grid, in the order of
    /// `get_global_linear_id`, as many bytes as [`HiddenArg::size`] says. One buffer for all parts of a launch; what it holds before does not matter.
    GridState,
    /// How many work-groups of each part run: for each part three `uint`s along the axes, for this pass through all parts, and behind those the same for the next pass
    /// ([`HiddenArg::size`] bytes for both). Zero before the launch. A part that ends writes the work-groups of the one that is next. The first
    /// part runs once; then each pass launches all parts in their order, with as many work-groups as the row of its pass says, and the buffer bound at that row, until a
    /// pass leaves the next row zero. Work-groups must be whole.
    GridTurns,
}
