//! [`PixelFormat`]: what the texels of a texture are.

use std::fmt;

use crate::Scalar;

/// A format of texels, Metal's `MTLPixelFormat`: those that every GPU family reads and writes in kernels.
///
/// The names are Metal's: channels, bits of each, and how they are read. `Unorm` and `Snorm` are fractions of 0 to 1 and
/// -1 to 1, which kernels see as `float`, as they do `Float`; `Uint` and `Sint` are integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, non_camel_case_types, reason = "the names are Metal's")]
pub enum PixelFormat {
    A8Unorm,
    R8Unorm,
    R8Unorm_sRGB,
    R8Snorm,
    R8Uint,
    R8Sint,
    R16Unorm,
    R16Snorm,
    R16Uint,
    R16Sint,
    R16Float,
    RG8Unorm,
    RG8Unorm_sRGB,
    RG8Snorm,
    RG8Uint,
    RG8Sint,
    R32Uint,
    R32Sint,
    R32Float,
    RG16Unorm,
    RG16Snorm,
    RG16Uint,
    RG16Sint,
    RG16Float,
    RGBA8Unorm,
    RGBA8Unorm_sRGB,
    RGBA8Snorm,
    RGBA8Uint,
    RGBA8Sint,
    BGRA8Unorm,
    BGRA8Unorm_sRGB,
    RGB10A2Unorm,
    RG32Uint,
    RG32Sint,
    RG32Float,
    RGBA16Unorm,
    RGBA16Snorm,
    RGBA16Uint,
    RGBA16Sint,
    RGBA16Float,
    RGBA32Uint,
    RGBA32Sint,
    RGBA32Float,
}
use PixelFormat::*;

/// What the components are for kernels.
const F: Scalar = Scalar::F32;
const I: Scalar = Scalar::I32;
const U: Scalar = Scalar::U32;

/// Format, `MTLPixelFormat`, bytes of a texel, components; channel order and channel data type of OpenCL (`cl.h`), order
/// 0 where it has none.
const FORMATS: [(PixelFormat, u32, usize, Scalar, u32, u32); 43] = [
    (A8Unorm, 1, 1, F, 0x10b1, 0x10d2),
    (R8Unorm, 10, 1, F, 0x10b0, 0x10d2),
    (R8Unorm_sRGB, 11, 1, F, 0, 0x10d2),
    (R8Snorm, 12, 1, F, 0x10b0, 0x10d0),
    (R8Uint, 13, 1, U, 0x10b0, 0x10da),
    (R8Sint, 14, 1, I, 0x10b0, 0x10d7),
    (R16Unorm, 20, 2, F, 0x10b0, 0x10d3),
    (R16Snorm, 22, 2, F, 0x10b0, 0x10d1),
    (R16Uint, 23, 2, U, 0x10b0, 0x10db),
    (R16Sint, 24, 2, I, 0x10b0, 0x10d8),
    (R16Float, 25, 2, F, 0x10b0, 0x10dd),
    (RG8Unorm, 30, 2, F, 0x10b2, 0x10d2),
    (RG8Unorm_sRGB, 31, 2, F, 0, 0x10d2),
    (RG8Snorm, 32, 2, F, 0x10b2, 0x10d0),
    (RG8Uint, 33, 2, U, 0x10b2, 0x10da),
    (RG8Sint, 34, 2, I, 0x10b2, 0x10d7),
    (R32Uint, 53, 4, U, 0x10b0, 0x10dc),
    (R32Sint, 54, 4, I, 0x10b0, 0x10d9),
    (R32Float, 55, 4, F, 0x10b0, 0x10de),
    (RG16Unorm, 60, 4, F, 0x10b2, 0x10d3),
    (RG16Snorm, 62, 4, F, 0x10b2, 0x10d1),
    (RG16Uint, 63, 4, U, 0x10b2, 0x10db),
    (RG16Sint, 64, 4, I, 0x10b2, 0x10d8),
    (RG16Float, 65, 4, F, 0x10b2, 0x10dd),
    (RGBA8Unorm, 70, 4, F, 0x10b5, 0x10d2),
    (RGBA8Unorm_sRGB, 71, 4, F, 0x10c1, 0x10d2),
    (RGBA8Snorm, 72, 4, F, 0x10b5, 0x10d0),
    (RGBA8Uint, 73, 4, U, 0x10b5, 0x10da),
    (RGBA8Sint, 74, 4, I, 0x10b5, 0x10d7),
    (BGRA8Unorm, 80, 4, F, 0x10b6, 0x10d2),
    (BGRA8Unorm_sRGB, 81, 4, F, 0x10c2, 0x10d2),
    // CL_UNORM_INT_101010_2 has its red in the highest bits, this one in the lowest.
    (RGB10A2Unorm, 90, 4, F, 0, 0),
    (RG32Uint, 103, 8, U, 0x10b2, 0x10dc),
    (RG32Sint, 104, 8, I, 0x10b2, 0x10d9),
    (RG32Float, 105, 8, F, 0x10b2, 0x10de),
    (RGBA16Unorm, 110, 8, F, 0x10b5, 0x10d3),
    (RGBA16Snorm, 112, 8, F, 0x10b5, 0x10d1),
    (RGBA16Uint, 113, 8, U, 0x10b5, 0x10db),
    (RGBA16Sint, 114, 8, I, 0x10b5, 0x10d8),
    (RGBA16Float, 115, 8, F, 0x10b5, 0x10dd),
    (RGBA32Uint, 123, 16, U, 0x10b5, 0x10dc),
    (RGBA32Sint, 124, 16, I, 0x10b5, 0x10d9),
    (RGBA32Float, 125, 16, F, 0x10b5, 0x10de),
];

impl PixelFormat {
    /// Every format, in the order of Metal's values.
    pub fn all() -> impl Iterator<Item = PixelFormat> {
        FORMATS.iter().map(|row| row.0)
    }

    fn row(self) -> (PixelFormat, u32, usize, Scalar, u32, u32) {
        *FORMATS.iter().find(|row| row.0 == self).expect("every format has its row")
    }

    /// Bytes of one texel.
    pub fn texel_size(self) -> usize {
        self.row().2
    }

    /// What kernels read and write the components as: `float` (and `half`), `int` or `uint` (and their 16-bit kin).
    pub fn component(self) -> Scalar {
        self.row().3
    }

    pub(crate) fn metal(self) -> u32 {
        self.row().1
    }

    /// OpenCL's `cl_channel_order` and `cl_channel_type`, where OpenCL has the format.
    pub(crate) fn opencl(self) -> Option<[u32; 2]> {
        let row = self.row();
        (row.4 != 0).then_some([row.4, row.5])
    }
}

impl fmt::Display for PixelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
