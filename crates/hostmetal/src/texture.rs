//! Textures: pixel formats, how texels lie in a buffer's memory, and copies to and from it.
//!
//! A texture owns a buffer, or uses a part of one (a linear texture), or of another texture's memory (a view). Slice by
//! slice, each with all of its levels, rows without gaps. Kernels get the description of executor/texture.rs; what texels
//! mean is in native/hostmetal/msl/hostmetal_texel.h. Host and kernels share the memory, as they do a buffer's.

use std::ffi::CStr;
use std::sync::Arc;

use crate::device::Device;
use crate::executor::{Described, LEVELS, Level, Texture as Texels};
use crate::heap::Heap;
use crate::memory::{Buffer, LetGo};

type Misuse = &'static CStr;

/// MTLTextureType.
const ONE: u32 = 0;
const ONE_ARRAY: u32 = 1;
const TWO: u32 = 2;
const TWO_ARRAY: u32 = 3;
const TWO_SAMPLES: u32 = 4;
const CUBE: u32 = 5;
const CUBE_ARRAY: u32 = 6;
const THREE: u32 = 7;
const TWO_SAMPLES_ARRAY: u32 = 8;
const BUFFER: u32 = 9;

fn is_array(texture_type: u32) -> bool {
    matches!(texture_type, ONE_ARRAY | TWO_ARRAY | CUBE_ARRAY | TWO_SAMPLES_ARRAY)
}

/// Faces of an element.
fn faces(texture_type: u32) -> u64 {
    if matches!(texture_type, CUBE | CUBE_ARRAY) { 6 } else { 1 }
}

/// MTLTextureUsage.
const SHADER_READ: u32 = 1;
const SHADER_WRITE: u32 = 2;
const RENDER_TARGET: u32 = 4;
const PIXEL_FORMAT_VIEW: u32 = 16;
const SHADER_ATOMIC: u32 = 32;

/// MTLTextureSwizzleChannels of components as they are: red, green, blue, alpha. 0 and 1 are the numbers zero and one.
const AS_THEY_ARE: [u8; 4] = [2, 3, 4, 5];

/// Offsets and rows of a linear texture are multiples of this (minimumLinearTextureAlignmentForPixelFormat).
pub(crate) const LINEAR_ALIGNMENT: u64 = 16;
/// Limits of Apple's GPUs (Metal feature set tables).
const MOST_TEXELS: u64 = 16_384;
const MOST_DEPTH: u64 = 2_048;
const MOST_SLICES: u64 = 2_048;
const MOST_IN_BUFFER: u64 = 1 << 28;
/// A level begins at a multiple of this in its slice.
const LEVEL_ALIGNMENT: u64 = 16;

/// `hostmetal::texel_kind`.
pub(crate) const UNORM: u32 = 0;
pub(crate) const SNORM: u32 = 1;
pub(crate) const UINT: u32 = 2;
pub(crate) const SINT: u32 = 3;
pub(crate) const FLOAT: u32 = 4;
pub(crate) const SRGB: u32 = 5;
pub(crate) const RGB10A2: u32 = 6;
const BGR10A2: u32 = 7;
const B5G6R5: u32 = 8;
const A1BGR5: u32 = 9;
const ABGR4: u32 = 10;
const BGR5A1: u32 = 11;
const RGB10A2_UINT: u32 = 12;
const RG11B10: u32 = 13;
const RGB9E5: u32 = 14;

/// `hostmetal::texel_order`.
const RGBA: u32 = 0;
const BGRA: u32 = 1;
const ALPHA: u32 = 2;

/// What the bits of a pixel format are.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Format {
    kind: u32,
    order: u32,
    components: u32,
    /// In bytes; of the whole texel where the components are fields of it.
    component_size: u32,
    texel_size: u32,
}

impl Format {
    const fn new(kind: u32, components: u32, component_size: u32) -> Format {
        Format { kind, order: RGBA, components, component_size, texel_size: components * component_size }
    }

    /// Components that are fields of one number.
    const fn packed(kind: u32, components: u32, size: u32) -> Format {
        Format { kind, order: RGBA, components, component_size: size, texel_size: size }
    }

    /// Whether one is sRGB and the other the same in linear space. A view then needs no MTLTextureUsagePixelFormatView, also where the order is
    /// another (Apple, pixelFormatView).
    fn only_differs_in_srgb(&self, other: &Format) -> bool {
        let kinds = [self.kind, other.kind];
        (kinds == [UNORM, SRGB] || kinds == [SRGB, UNORM])
            && (self.components, self.component_size) == (other.components, other.component_size)
            && (self.order == other.order || self.components == 4)
    }

    /// Of an MTLPixelFormat; none for those that kernels here do not know.
    fn of(pixel_format: u32) -> Option<Format> {
        Some(match pixel_format {
            1 => Format { order: ALPHA, ..Format::new(UNORM, 1, 1) },
            10 => Format::new(UNORM, 1, 1),
            11 => Format::new(SRGB, 1, 1),
            12 => Format::new(SNORM, 1, 1),
            13 => Format::new(UINT, 1, 1),
            14 => Format::new(SINT, 1, 1),
            20 => Format::new(UNORM, 1, 2),
            22 => Format::new(SNORM, 1, 2),
            23 => Format::new(UINT, 1, 2),
            24 => Format::new(SINT, 1, 2),
            25 => Format::new(FLOAT, 1, 2),
            30 => Format::new(UNORM, 2, 1),
            31 => Format::new(SRGB, 2, 1),
            32 => Format::new(SNORM, 2, 1),
            33 => Format::new(UINT, 2, 1),
            34 => Format::new(SINT, 2, 1),
            53 => Format::new(UINT, 1, 4),
            54 => Format::new(SINT, 1, 4),
            55 => Format::new(FLOAT, 1, 4),
            60 => Format::new(UNORM, 2, 2),
            62 => Format::new(SNORM, 2, 2),
            63 => Format::new(UINT, 2, 2),
            64 => Format::new(SINT, 2, 2),
            65 => Format::new(FLOAT, 2, 2),
            70 => Format::new(UNORM, 4, 1),
            71 => Format::new(SRGB, 4, 1),
            72 => Format::new(SNORM, 4, 1),
            73 => Format::new(UINT, 4, 1),
            74 => Format::new(SINT, 4, 1),
            80 => Format { order: BGRA, ..Format::new(UNORM, 4, 1) },
            81 => Format { order: BGRA, ..Format::new(SRGB, 4, 1) },
            40 => Format::packed(B5G6R5, 3, 2),
            41 => Format::packed(A1BGR5, 4, 2),
            42 => Format::packed(ABGR4, 4, 2),
            43 => Format::packed(BGR5A1, 4, 2),
            90 => Format::packed(RGB10A2, 4, 4),
            91 => Format::packed(RGB10A2_UINT, 4, 4),
            92 => Format::packed(RG11B10, 3, 4),
            93 => Format::packed(RGB9E5, 3, 4),
            94 => Format::packed(BGR10A2, 4, 4),
            103 => Format::new(UINT, 2, 4),
            104 => Format::new(SINT, 2, 4),
            105 => Format::new(FLOAT, 2, 4),
            110 => Format::new(UNORM, 4, 2),
            112 => Format::new(SNORM, 4, 2),
            113 => Format::new(UINT, 4, 2),
            114 => Format::new(SINT, 4, 2),
            115 => Format::new(FLOAT, 4, 2),
            123 => Format::new(UINT, 4, 4),
            124 => Format::new(SINT, 4, 4),
            125 => Format::new(FLOAT, 4, 4),
            // Depth.
            250 => Format::new(UNORM, 1, 2),
            252 => Format::new(FLOAT, 1, 4),
            _ => return None,
        })
    }
}

/// Depth16Unorm, Depth32Float: no kernel writes them.
fn is_depth(pixel_format: u32) -> bool {
    matches!(pixel_format, 250 | 252)
}

/// Whether textures of an MTLPixelFormat can be made.
pub(crate) fn knows(pixel_format: u32) -> bool {
    Format::of(pixel_format).is_some()
}

/// What a texture is asked to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptor {
    /// MTLTextureType.
    pub(crate) texture_type: u32,
    /// MTLPixelFormat.
    pub(crate) pixel_format: u32,
    /// Width, height and depth of level 0.
    pub(crate) size: [u64; 3],
    pub(crate) levels: u64,
    /// Elements of an array (arrayLength).
    pub(crate) slices: u64,
    /// Of a texel (sampleCount).
    pub(crate) samples: u64,
    /// MTLTextureUsage.
    pub(crate) usage: u32,
    /// MTLTextureSwizzleChannels.
    pub(crate) swizzle: [u8; 4],
    /// Not MTLTextureCompressionTypeLossless.
    pub(crate) lossy: bool,
}

const BAD_SWIZZLE: Misuse = c"swizzle must be of values of MTLTextureSwizzle.";
const BAD_FORMAT: Misuse = c"pixelFormat is not one that hostmetal's compute functions know.";

impl Descriptor {
    /// The rules of Metal's validation.
    fn check(&self) -> Result<Format, Misuse> {
        let Some(format) = Format::of(self.pixel_format) else { return Err(BAD_FORMAT) };
        let [width, height, depth] = self.size;
        if self.size.contains(&0) {
            return Err(c"width, height and depth must be > 0.");
        }
        let most = if self.texture_type == BUFFER { MOST_IN_BUFFER } else { MOST_TEXELS };
        match self.texture_type {
            ONE | ONE_ARRAY | BUFFER if (height, depth) != (1, 1) => {
                return Err(c"height and depth of a texture of one dimension must be 1.");
            }
            TWO | TWO_ARRAY | TWO_SAMPLES | TWO_SAMPLES_ARRAY | CUBE | CUBE_ARRAY if depth != 1 => {
                return Err(c"depth of a texture of two dimensions must be 1.");
            }
            CUBE | CUBE_ARRAY if width != height => return Err(c"width and height of a cube texture must be equal."),
            ONE | ONE_ARRAY | BUFFER | TWO | TWO_ARRAY | TWO_SAMPLES | TWO_SAMPLES_ARRAY | CUBE | CUBE_ARRAY
            | THREE => {}
            _ => return Err(c"textureType is not an MTLTextureType."),
        }
        if self.lossy {
            return Err(c"MTLTextureCompressionTypeLossy is for GPUs of the family MTLGPUFamilyApple8 on.");
        }
        if self.swizzle.iter().any(|&one| one > 5) {
            return Err(BAD_SWIZZLE);
        }
        // The text for the first is Metal's own (github.com/bkaradzic/bgfx/issues/3344).
        if self.swizzle != AS_THEY_ARE && self.usage & RENDER_TARGET != 0 {
            return Err(c"Texture swizzling is not compatible with MTLTextureUsageRenderTarget.");
        }
        if self.swizzle != AS_THEY_ARE && self.usage & (SHADER_WRITE | SHADER_ATOMIC) != 0 {
            return Err(
                c"Texture swizzling is not compatible with MTLTextureUsageShaderWrite and MTLTextureUsageShaderAtomic: a view can have it.",
            );
        }
        let multisampled = matches!(self.texture_type, TWO_SAMPLES | TWO_SAMPLES_ARRAY);
        if multisampled != (self.samples > 1) || !matches!(self.samples, 1 | 2 | 4 | 8) {
            return Err(c"sampleCount must be 2, 4 or 8 of a multisampled texture, 1 of any other.");
        }
        if multisampled && (self.levels != 1 || self.usage & SHADER_WRITE != 0) {
            return Err(c"a multisampled texture has one level and cannot have MTLTextureUsageShaderWrite.");
        }
        if is_depth(self.pixel_format) {
            if matches!(self.texture_type, ONE | ONE_ARRAY | THREE | BUFFER) {
                return Err(c"textureType of a depth format must be 2D or cube.");
            }
            if self.usage & SHADER_WRITE != 0 {
                return Err(c"a depth format cannot have MTLTextureUsageShaderWrite.");
            }
        }
        if self.texture_type == THREE && self.size.iter().any(|&extent| extent > MOST_DEPTH) {
            return Err(c"width, height and depth of a 3D texture must be <= 2048.");
        }
        if width > most || height > most {
            return Err(c"width and height must be <= 16384, the width of a texture buffer <= 2^28.");
        }
        if self.slices == 0 || self.slices * faces(self.texture_type) > MOST_SLICES {
            return Err(c"arrayLength must be between 1 and 2048.");
        }
        if self.slices != 1 && !is_array(self.texture_type) {
            return Err(c"arrayLength must be 1: the texture is not an array.");
        }
        let chain = 64 - width.max(height).max(depth).leading_zeros();
        if self.levels == 0 || self.levels > u64::from(chain) {
            return Err(c"mipmapLevelCount must be between 1 and the length of the chain to a level of one texel.");
        }
        if self.levels > 1 && matches!(self.texture_type, ONE | ONE_ARRAY | BUFFER) {
            return Err(c"mipmapLevelCount of a texture of one dimension must be 1.");
        }
        Ok(format)
    }

    /// The rules for textures with memory of their own.
    fn check_own(&self) -> Result<Format, Misuse> {
        let format = self.check()?;
        if self.texture_type == BUFFER {
            return Err(c"a texture buffer is made from a buffer.");
        }
        Ok(format)
    }

    /// Bytes that a texture with memory of its own needs.
    pub(crate) fn length(&self) -> Result<u64, Misuse> {
        Ok(self.lay_out(self.check_own()?).1)
    }

    /// The description without an address, and the bytes it needs.
    fn lay_out(&self, format: Format) -> (Texels, u64) {
        let mut level = [Level::default(); LEVELS];
        let mut offset = 0u64;
        for (number, level) in level.iter_mut().enumerate().take(self.levels as usize) {
            let [width, height, depth] = self.size.map(|extent| (extent >> number).max(1));
            let row = width * u64::from(format.texel_size);
            let image = row * height;
            *level = Level {
                offset,
                row,
                image,
                width: width as u32,
                height: height as u32,
                depth: depth as u32,
                unused: 0,
            };
            offset = (offset + image * depth).next_multiple_of(LEVEL_ALIGNMENT);
        }
        (self.describe(format, offset, level), offset * self.all_slices())
    }

    /// Images of a level: what kernels and copies call slices.
    fn all_slices(&self) -> u64 {
        self.slices * faces(self.texture_type) * self.samples
    }

    fn describe(&self, format: Format, slice: u64, level: [Level; LEVELS]) -> Texels {
        Texels {
            handle: 0,
            texels: std::ptr::null_mut(),
            slice,
            kind: format.kind,
            order: format.order,
            components: format.components,
            component_size: format.component_size,
            texel_size: format.texel_size,
            slices: self.all_slices() as u32,
            levels: self.levels as u32,
            samples: self.samples as u32,
            swizzle: u32::from_le_bytes(self.swizzle),
            unused: 0,
            level,
        }
    }
}

/// An MTLTexture.
pub(crate) struct Texture {
    memory: Arc<Buffer>,
    texels: Described,
    descriptor: Descriptor,
    /// It has a swizzle, or a texture that it is a view of has one.
    swizzled: bool,
    let_go: LetGo,
}

// SAFETY: MTLTexture may be used from any thread; the address points into the buffer that the texture holds, and the bytes
// are raw memory that only kernels and the host touch, as a buffer's.
unsafe impl Send for Texture {}
// SAFETY: as above; no method of a shared Texture changes anything but the texels' bytes.
unsafe impl Sync for Texture {}

/// A box of texels: origin and size.
pub(crate) type Region = ([u64; 3], [u64; 3]);

/// Memory outside of textures that texels are copied to or from.
#[derive(Clone, Copy)]
pub(crate) struct Linear {
    /// Of the first texel.
    pub(crate) bytes: *mut u8,
    /// 0 for rows without gaps.
    pub(crate) row: u64,
    /// 0 for images without gaps.
    pub(crate) image: u64,
}

/// Rows of bytes to be copied.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    source: Linear,
    destination: Linear,
    /// Bytes of a row.
    width: usize,
    height: u64,
    depth: u64,
}

impl Rows {
    /// # Safety
    /// All rows of the source are readable and all rows of the destination writable.
    pub(crate) unsafe fn copy(&self) {
        let at = |side: &Linear, y, z| side.bytes.wrapping_add((z * side.image + y * side.row) as usize);
        for z in 0..self.depth {
            for y in 0..self.height {
                let (source, destination) = (at(&self.source, y, z), at(&self.destination, y, z));
                // SAFETY: as the caller promises. Linear textures may lie over each other's buffers.
                unsafe { std::ptr::copy(source, destination, self.width) };
            }
        }
    }
}

impl Texture {
    /// Of the program's reference.
    pub(crate) fn let_go(&self) -> &LetGo {
        &self.let_go
    }

    fn of(memory: Arc<Buffer>, texels: Texels, descriptor: Descriptor) -> Texture {
        let swizzled = descriptor.swizzle != AS_THEY_ARE;
        Texture { memory, texels: Described::new(texels), descriptor, swizzled, let_go: LetGo::default() }
    }

    /// Zero-filled; none when memory is out.
    pub(crate) fn new(device: &'static Device, descriptor: Descriptor) -> Result<Option<Texture>, Misuse> {
        let format = descriptor.check_own()?;
        let (mut texels, length) = descriptor.lay_out(format);
        let Some(memory) = Buffer::new(device, length) else { return Ok(None) };
        texels.texels = memory.contents();
        Ok(Some(Texture::of(Arc::new(memory), texels, descriptor)))
    }

    /// Memory of a heap, at `offset` of a placement heap; none when an automatic heap has no room.
    pub(crate) fn in_heap(
        heap: &Arc<Heap>,
        descriptor: Descriptor,
        offset: Option<u64>,
    ) -> Result<Option<Texture>, Misuse> {
        let format = descriptor.check_own()?;
        let (mut texels, length) = descriptor.lay_out(format);
        let Some(memory) = Buffer::in_heap(heap, length, offset)? else { return Ok(None) };
        texels.texels = memory.contents();
        Ok(Some(Texture::of(Arc::new(memory), texels, descriptor)))
    }

    /// The texels are those in the buffer from `offset` on.
    pub(crate) fn linear(
        buffer: Arc<Buffer>,
        descriptor: Descriptor,
        offset: u64,
        row: u64,
    ) -> Result<Texture, Misuse> {
        let format = descriptor.check()?;
        if !matches!(descriptor.texture_type, TWO | BUFFER) || descriptor.levels != 1 {
            return Err(c"a texture of a buffer must be of type 2D or a texture buffer, and have one level.");
        }
        if !offset.is_multiple_of(LINEAR_ALIGNMENT) {
            return Err(c"offset must be a multiple of minimumLinearTextureAlignmentForPixelFormat (16).");
        }
        let [width, height, _] = descriptor.size;
        if !row.is_multiple_of(LINEAR_ALIGNMENT) || row < width * u64::from(format.texel_size) {
            return Err(
                c"bytesPerRow must be a multiple of minimumLinearTextureAlignmentForPixelFormat (16) and hold a row.",
            );
        }
        let end = row.checked_mul(height).and_then(|bytes| bytes.checked_add(offset));
        if end.is_none_or(|end| end > buffer.length()) {
            return Err(c"(offset + bytesPerRow * height) must be <= [buffer length].");
        }
        let mut level = [Level::default(); LEVELS];
        level[0] = Level {
            offset: 0,
            row,
            image: row * height,
            width: width as u32,
            height: height as u32,
            depth: 1,
            unused: 0,
        };
        let mut texels = descriptor.describe(format, row * height, level);
        texels.texels = buffer.contents().wrapping_add(offset as usize);
        Ok(Texture::of(buffer, texels, descriptor))
    }

    /// Some levels and slices of this texture, perhaps read as another format or type. The swizzle is of what this texture's gives
    /// (Apple, newTextureViewWithPixelFormat:textureType:levels:slices:swizzle:).
    pub(crate) fn view(
        &self,
        pixel_format: u32,
        texture_type: u32,
        levels: (u64, u64),
        slices: (u64, u64),
        swizzle: [u8; 4],
    ) -> Result<Texture, Misuse> {
        let Some(format) = Format::of(pixel_format) else { return Err(BAD_FORMAT) };
        if swizzle.iter().any(|&one| one > 5) {
            return Err(BAD_SWIZZLE);
        }
        let own = &self.descriptor;
        if format.texel_size != self.texels.texel_size {
            return Err(c"pixelFormat of a view must have as many bits as the texture's.");
        }
        let same = pixel_format == own.pixel_format
            || Format::of(own.pixel_format).is_some_and(|own| own.only_differs_in_srgb(&format));
        if !same && own.usage != 0 && own.usage & PIXEL_FORMAT_VIEW == 0 {
            return Err(
                c"a view with another pixelFormat needs a texture with the usage flag MTLTextureUsagePixelFormatView.",
            );
        }
        let family = |t| match t {
            TWO_ARRAY | CUBE | CUBE_ARRAY => TWO,
            ONE_ARRAY => ONE,
            TWO_SAMPLES_ARRAY => TWO_SAMPLES,
            other => other,
        };
        if family(texture_type) != family(own.texture_type) {
            return Err(c"textureType of a view must have the dimensions of the texture's.");
        }
        let within =
            |(first, count): (u64, u64), all: u64| count > 0 && first.checked_add(count).is_some_and(|end| end <= all);
        if !within(levels, own.levels) {
            return Err(c"levelRange of a view must be within the texture's levels.");
        }
        if !within(slices, own.slices * faces(own.texture_type)) {
            return Err(c"sliceRange of a view must be within the texture's slices.");
        }
        let (faces, first) = (faces(texture_type), slices.0 * own.samples);
        if !slices.1.is_multiple_of(faces) || (slices.1 != faces && !is_array(texture_type)) {
            return Err(
                c"sliceRange of a view must have one slice, six of a cube, or a multiple of these of an array.",
            );
        }
        if is_depth(pixel_format) != is_depth(own.pixel_format) {
            return Err(c"pixelFormat of a view of a depth texture must be a depth format.");
        }
        if faces == 6 && own.size[0] != own.size[1] {
            return Err(c"width and height of a cube texture must be equal.");
        }
        let size = own.size.map(|extent| (extent >> levels.0).max(1));
        let descriptor = Descriptor {
            texture_type,
            pixel_format,
            size,
            levels: levels.1,
            slices: slices.1 / faces,
            samples: own.samples,
            usage: own.usage,
            swizzle: swizzle.map(|one| if one < 2 { one } else { own.swizzle[usize::from(one) - 2] }),
            lossy: false,
        };
        let mut level = [Level::default(); LEVELS];
        level[..levels.1 as usize].copy_from_slice(&self.texels.level[levels.0 as usize..][..levels.1 as usize]);
        let mut texels = descriptor.describe(format, self.texels.slice, level);
        texels.texels = self.texels.texels.wrapping_add((first * self.texels.slice) as usize);
        let view = Texture::of(self.memory.clone(), texels, descriptor);
        // A usage that the texture has not, no view of it has: two swizzles together may be none.
        Ok(Texture { swizzled: self.swizzled || view.swizzled, ..view })
    }

    /// The same texels as another device sees them.
    pub(crate) fn remote(&self, device: &'static Device) -> Result<Texture, Misuse> {
        let memory = Arc::new(Buffer::remote(self.memory.clone(), device)?);
        Ok(Texture { swizzled: self.swizzled, ..Texture::of(memory, self.texels().clone(), self.descriptor) })
    }

    pub(crate) fn device(&self) -> &'static Device {
        self.memory.device()
    }

    /// What kernels are given; as long as the texture lives.
    pub(crate) fn texels(&self) -> &Texels {
        &self.texels
    }

    /// What stands for the texture in argument buffers.
    pub(crate) fn handle(&self) -> u64 {
        self.texels.handle
    }

    pub(crate) fn texture_type(&self) -> u32 {
        self.descriptor.texture_type
    }

    /// The buffer whose bytes are its texels.
    pub(crate) fn memory(&self) -> &Arc<Buffer> {
        &self.memory
    }

    /// Whether the components can be read and written as an MTLDataType: float and half, signed or unsigned integers.
    pub(crate) fn holds(&self, data_type: u32) -> bool {
        match data_type {
            29 | 37 => self.texels.kind == SINT,
            33 | 41 => matches!(self.texels.kind, UINT | RGB10A2_UINT),
            // ulong: atomic functions of two components of 32 bits.
            85 => self.descriptor.pixel_format == 103,
            _ => !matches!(self.texels.kind, SINT | UINT | RGB10A2_UINT),
        }
    }

    pub(crate) fn readable(&self) -> bool {
        self.descriptor.usage == 0 || self.descriptor.usage & SHADER_READ != 0
    }

    pub(crate) fn writable(&self) -> bool {
        !self.swizzled && (self.descriptor.usage == 0 || self.descriptor.usage & SHADER_WRITE != 0)
    }

    pub(crate) fn swizzle(&self) -> [u8; 4] {
        self.descriptor.swizzle
    }

    /// MTLTextureUsage. What is read in another order cannot be written.
    pub(crate) fn usage(&self) -> u32 {
        self.descriptor.usage & if self.swizzled { !(SHADER_WRITE | RENDER_TARGET | SHADER_ATOMIC) } else { !0 }
    }

    /// The texels of a region as memory, and the bytes of its rows.
    fn place(&self, level: u64, slice: u64, (origin, size): Region) -> Result<(Linear, u64), Misuse> {
        if level >= self.descriptor.levels {
            return Err(c"level must be < [texture mipmapLevelCount].");
        }
        if self.descriptor.samples != 1 {
            return Err(c"the texels of a multisampled texture cannot be copied.");
        }
        if slice >= self.descriptor.slices * faces(self.descriptor.texture_type) {
            return Err(c"slice must be < [texture arrayLength], six times that for a cube.");
        }
        let held = &self.texels.level[level as usize];
        let extents = [held.width, held.height, held.depth];
        for axis in 0..3 {
            if size[axis] == 0 {
                return Err(c"the size of a region must not be 0.");
            }
            if origin[axis].checked_add(size[axis]).is_none_or(|end| end > u64::from(extents[axis])) {
                return Err(c"the region must be within the texture's level.");
            }
        }
        let texel = u64::from(self.texels.texel_size);
        let at =
            slice * self.texels.slice + held.offset + origin[2] * held.image + origin[1] * held.row + origin[0] * texel;
        let bytes = self.texels.texels.wrapping_add(at as usize);
        Ok((Linear { bytes, row: held.row, image: held.image }, size[0] * texel))
    }

    /// A copy between a region of this texture and memory, and how many bytes of the memory that touches.
    fn rows(
        &self,
        (level, slice): (u64, u64),
        region: Region,
        memory: Linear,
        into_texture: bool,
    ) -> Result<(Rows, u64), Misuse> {
        let (place, width) = self.place(level, slice, region)?;
        let [_, height, depth] = region.1;
        let row = if memory.row == 0 && height == 1 && depth == 1 { width } else { memory.row };
        if row < width || !row.is_multiple_of(u64::from(self.texels.component_size)) {
            return Err(c"bytesPerRow must hold a row of the region.");
        }
        let all_rows = row.checked_mul(height).ok_or(c"bytesPerRow is too large.")?;
        let image = if memory.image == 0 && depth == 1 { all_rows } else { memory.image };
        if image < all_rows {
            return Err(c"bytesPerImage must hold the rows of an image of the region.");
        }
        let touched = image.checked_mul(depth - 1).and_then(|images| images.checked_add(row * (height - 1) + width));
        let touched = touched.ok_or(c"bytesPerImage is too large.")?;
        let outside = Linear { row, image, ..memory };
        let (source, destination) = if into_texture { (outside, place) } else { (place, outside) };
        Ok((Rows { source, destination, width: width as usize, height, depth }, touched))
    }

    /// The bytes of a row of a region, and how far rows and images of memory are apart that it is copied to or from, which may be
    /// given as 0.
    pub(crate) fn distances(
        &self,
        at: (u64, u64),
        region: Region,
        (row, image): (u64, u64),
    ) -> Result<(u64, u64, u64), Misuse> {
        let memory = Linear { bytes: std::ptr::null_mut(), row, image };
        let (rows, _) = self.rows(at, region, memory, true)?;
        Ok((rows.width as u64, rows.source.row, rows.source.image))
    }

    /// Copies the host's bytes to texels.
    ///
    /// # Safety
    /// The memory is readable as far as its rows and images say.
    pub(crate) unsafe fn replace(&self, at: (u64, u64), region: Region, memory: Linear) -> Result<(), Misuse> {
        let (rows, _) = self.rows(at, region, memory, true)?;
        // SAFETY: the region is within the texture; the rest as the caller promises.
        unsafe { rows.copy() };
        Ok(())
    }

    /// Copies texels to the host's memory.
    ///
    /// # Safety
    /// The memory is writable as far as its rows and images say.
    pub(crate) unsafe fn get(&self, at: (u64, u64), region: Region, memory: Linear) -> Result<(), Misuse> {
        let (rows, _) = self.rows(at, region, memory, false)?;
        // SAFETY: as in `replace`.
        unsafe { rows.copy() };
        Ok(())
    }

    /// A copy between a region and a buffer from `offset` on, checked against the buffer's length.
    pub(crate) fn with_buffer(
        &self,
        at: (u64, u64),
        region: Region,
        (buffer, offset): (&Buffer, u64),
        (row, image): (u64, u64),
        into_texture: bool,
    ) -> Result<Rows, Misuse> {
        let bytes = buffer.contents().wrapping_add(offset as usize);
        let (rows, touched) = self.rows(at, region, Linear { bytes, row, image }, into_texture)?;
        if offset.checked_add(touched).is_none_or(|end| end > buffer.length()) {
            return Err(c"the rows of the copy must be within the buffer.");
        }
        Ok(rows)
    }

    /// A copy of a region to another texture, or to another place of this one.
    pub(crate) fn to_texture(
        &self,
        (level, slice): (u64, u64),
        region: Region,
        destination: &Texture,
        (to_level, to_slice): (u64, u64),
        origin: [u64; 3],
    ) -> Result<Rows, Misuse> {
        if self.descriptor.pixel_format != destination.descriptor.pixel_format {
            return Err(c"sourceTexture and destinationTexture must have the same pixelFormat.");
        }
        let (source, width) = self.place(level, slice, region)?;
        let (target, _) = destination.place(to_level, to_slice, (origin, region.1))?;
        let same = std::ptr::eq(self.texels.texels, destination.texels.texels);
        let apart = (0..3).any(|axis| region.0[axis].abs_diff(origin[axis]) >= region.1[axis]);
        if same && (level, slice) == (to_level, to_slice) && !apart {
            return Err(c"the source and destination regions of a copy inside one texture must not overlap.");
        }
        let [_, height, depth] = region.1;
        Ok(Rows { source, destination: target, width: width as usize, height, depth })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of two images, within one piece of memory, where the last row that is read is the first that is written.
    #[test]
    fn rows_of_images_are_copied() {
        let mut memory: Vec<u8> = (0..24).collect();
        let bytes = memory.as_mut_ptr();
        let source = Linear { bytes, row: 3, image: 6 };
        let destination = Linear { bytes: bytes.wrapping_add(9), row: 4, image: 8 };
        // SAFETY: the last of the destination is byte 9 + 8 + 4 + 2 of 24.
        unsafe { Rows { source, destination, width: 2, height: 2, depth: 2 }.copy() };
        let expected = [0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 11, 12, 3, 4, 15, 16, 6, 7, 19, 20, 0, 1, 23];
        assert_eq!(memory, expected);
    }
}
