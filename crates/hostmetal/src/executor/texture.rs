//! Textures and samplers as kernels see them: the layout of native/hostmetal/msl/hostmetal_texel.h and
//! hostmetal_sampler.h.

/// One mipmap level of a slice (`hm_level`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// In bytes, in the slice.
    pub offset: u64,
    /// Bytes from one row to the next.
    pub row: u64,
    /// Bytes from one image of a 3D texture to the next.
    pub image: u64,
    /// In texels.
    pub width: u32,
    /// In texels.
    pub height: u32,
    /// In texels.
    pub depth: u32,
    /// 0.
    pub unused: u32,
}

/// Mipmap levels of the largest texture, 16,384 texels wide.
pub const LEVELS: usize = 15;

/// A texture's texels: where they are and what they mean (`hm_texture`).
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Texture {
    /// See handle.rs; 0 for none.
    pub handle: u64,
    /// The first texel of slice 0.
    pub texels: *mut u8,
    /// Bytes from one slice to the next.
    pub slice: u64,
    /// `hostmetal::texel_kind`.
    pub kind: u32,
    /// `hostmetal::texel_order`.
    pub order: u32,
    /// Channels that the format stores.
    pub components: u32,
    /// In bytes.
    pub component_size: u32,
    /// In bytes.
    pub texel_size: u32,
    /// Elements of an array, times six faces of a cube, times the samples of a texel.
    pub slices: u32,
    /// Mipmap levels.
    pub levels: u32,
    /// Of a multisampled texture, 1 for others.
    pub samples: u32,
    /// An MTLTextureSwizzle in each byte, from the lowest: of red, green, blue, alpha.
    pub swizzle: u32,
    /// 0.
    pub unused: u32,
    /// As many as `levels`, the others 0.
    pub level: [Level; LEVELS],
}

/// A sampler's settings (`hm_sampler`); the default is that of MSL.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// See the header.
    pub bits: u32,
    /// The least level of detail.
    pub lod_min: f32,
    /// The greatest.
    pub lod_max: f32,
    /// What is added to a level of detail before that.
    pub lod_bias: f32,
}

impl Default for Sampler {
    fn default() -> Self {
        Self { bits: 0o111, lod_min: 0.0, lod_max: f32::MAX, lod_bias: 0.0 }
    }
}
