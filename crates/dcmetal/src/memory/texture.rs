//! [`Texture`] and [`Sampler`]: images on the device, and how kernels look at them.

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;

use super::{Allocation, AllocationRef, PixelFormat, buffer};
use crate::raw::host::{Memory, Patience};
use crate::raw::texture::{self as raw, Extent, SamplerState};
use crate::{Accelerator, Error, Result, StorageMode, TextureKind};

/// What a texture is made as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureDescriptor {
    /// Its dimensions.
    pub kind: TextureKind,
    /// Its texels.
    pub format: PixelFormat,
    /// Texels of a row.
    pub width: usize,
    /// Rows; 1 for a texture of one dimension.
    pub height: usize,
    /// Images of a 3D texture, else 1.
    pub depth: usize,
    /// Elements of an array, else 1.
    pub array_length: usize,
}

impl TextureDescriptor {
    fn new(kind: TextureKind, format: PixelFormat, size: [usize; 3], array_length: usize) -> TextureDescriptor {
        let [width, height, depth] = size;
        TextureDescriptor { kind, format, width, height, depth, array_length }
    }

    /// A texture of one dimension, OpenCL's `image1d_t`.
    pub fn d1(format: PixelFormat, width: usize) -> TextureDescriptor {
        TextureDescriptor::new(TextureKind::D1, format, [width, 1, 1], 1)
    }

    /// An array of them, `image1d_array_t`.
    pub fn d1_array(format: PixelFormat, width: usize, length: usize) -> TextureDescriptor {
        TextureDescriptor::new(TextureKind::D1Array, format, [width, 1, 1], length)
    }

    /// A texture of two dimensions, `image2d_t`.
    pub fn d2(format: PixelFormat, width: usize, height: usize) -> TextureDescriptor {
        TextureDescriptor::new(TextureKind::D2, format, [width, height, 1], 1)
    }

    /// An array of them, `image2d_array_t`.
    pub fn d2_array(format: PixelFormat, width: usize, height: usize, length: usize) -> TextureDescriptor {
        TextureDescriptor::new(TextureKind::D2Array, format, [width, height, 1], length)
    }

    /// A texture of three dimensions, `image3d_t`.
    pub fn d3(format: PixelFormat, width: usize, height: usize, depth: usize) -> TextureDescriptor {
        TextureDescriptor::new(TextureKind::D3, format, [width, height, depth], 1)
    }

    /// One long row without sampling, `image1d_buffer_t`.
    pub fn buffer(format: PixelFormat, width: usize) -> TextureDescriptor {
        TextureDescriptor::new(TextureKind::Buffer, format, [width, 1, 1], 1)
    }

    /// Texels in all.
    fn len(&self) -> Option<usize> {
        [self.width, self.height, self.depth, self.array_length].into_iter().try_fold(1usize, usize::checked_mul)
    }
}

/// Texels on the device, which kernels read, sample and write.
///
/// Passed to a launch as `&texture` for reading and as `&mut texture` for writing. Host and device never meet in it, as in a
/// [`Buffer`](crate::Buffer): reading and writing waits for the submissions in flight, and what a failed submission was to
/// write is not handed out.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let source = "#include <metal_stdlib>
///     using namespace metal;
///     kernel void invert(texture2d<float> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]],
///                        uint2 p [[thread_position_in_grid]]) { to.write(1 - from.read(p), p); }";
/// let invert = gpu.compile_msl(source)?.kernel("invert")?;
/// let wanted = TextureDescriptor::d2(PixelFormat::RGBA8Unorm, 2, 1);
/// let from = gpu.texture_from(&wanted, &[[0u8, 1, 2, 255], [255, 254, 253, 0]])?;
/// let mut to = gpu.texture(&wanted)?;
/// invert.launch(Grid::linear(2), args![&from, &mut to])?.wait()?;
/// assert_eq!(to.to_vec::<[u8; 4]>()?, [[255, 254, 253, 0], [0, 1, 2, 255]]);
/// # Ok(()) }
/// ```
pub struct Texture {
    pub(crate) allocation: AllocationRef,
    descriptor: TextureDescriptor,
    texels: usize,
}

impl Texture {
    pub(crate) fn new(
        accelerator: &Accelerator,
        descriptor: &TextureDescriptor,
        storage: StorageMode,
    ) -> Result<Texture> {
        let bytes = |texels: usize| texels.checked_mul(descriptor.format.texel_size());
        let limit = accelerator.limits().max_buffer_bytes;
        let wanted = descriptor.len().and_then(bytes).map_or(u64::MAX, |bytes| bytes as u64);
        let texels = descriptor.len().filter(|_| wanted <= limit);
        let Some(texels) = texels else { return Err(Error::BufferTooLarge { bytes: wanted, limit }) };
        let size = texels * descriptor.format.texel_size();
        let memory = accelerator
            .make(|| Memory::texture(accelerator.device(), descriptor, storage))
            .map_err(|failure| failure.of_nothing(accelerator.device(), "make a texture", Some(size)))?;
        let mut allocation = Allocation::new(memory, None, accelerator);
        allocation.lend(size, None);
        Ok(Texture { allocation: AllocationRef::new(allocation), descriptor: *descriptor, texels })
    }

    /// The same texture.
    pub(crate) fn share(&self) -> Texture {
        Texture { allocation: self.allocation.clone(), descriptor: self.descriptor, texels: self.texels }
    }

    /// What it was made as.
    pub fn descriptor(&self) -> &TextureDescriptor {
        &self.descriptor
    }

    /// Its dimensions.
    pub fn kind(&self) -> TextureKind {
        self.descriptor.kind
    }

    /// Its texels.
    pub fn format(&self) -> PixelFormat {
        self.descriptor.format
    }

    /// Texels in all; never 0.
    #[expect(clippy::len_without_is_empty, reason = "Metal has no empty textures")]
    pub fn len(&self) -> usize {
        self.texels
    }

    /// Bytes of the texels, without gaps.
    pub fn size_bytes(&self) -> usize {
        self.texels * self.format().texel_size()
    }

    /// All texels: rows without gaps, then images, then elements of the array. `T` is a component or a whole texel, or
    /// `u8`. Waits until no submission in flight writes the texture.
    ///
    /// # Errors
    /// [`Error::TexelSize`]; [`Error::Faulted`] when a submission that was to write it failed.
    pub fn to_vec<T: Pod>(&self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.elements::<T>()?];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        loop {
            let image = bytes.len() / self.descriptor.array_length;
            let read = self.allocation.tracked().read_texels(|texture| {
                let mut slices = (0..).zip(bytes.chunks_mut(image));
                slices.try_for_each(|(slice, bytes)| texture.read(slice, &self.extent(), bytes))
            })?;
            if read.is_some() {
                return Ok(values);
            }
            buffer::synchronize(&self.allocation, Patience::Wait)?;
        }
    }

    /// Replaces every texel, in the order of [`Texture::to_vec`]. Waits until no submission in flight uses the texture. A
    /// fault is forgotten.
    ///
    /// # Errors
    /// [`Error::TexelSize`]; [`Error::LengthMismatch`].
    pub fn write_from<T: Pod>(&mut self, values: &[T]) -> Result<()> {
        let wanted = self.elements::<T>()?;
        if values.len() != wanted {
            return Err(Error::LengthMismatch { what: "write_from", wanted, got: values.len() });
        }
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let image = bytes.len() / self.descriptor.array_length;
        self.allocation.tracked().overwrite_texels(|texture| {
            let mut slices = (0..).zip(bytes.chunks(image));
            slices.try_for_each(|(slice, bytes)| texture.write(slice, &self.extent(), bytes))
        })
    }

    /// Forgets that a submission that was to write this texture failed, after waiting for those that still write it.
    pub fn discard_fault(&mut self) {
        self.allocation.tracked().clear_fault();
    }

    fn extent(&self) -> Extent {
        let TextureDescriptor { format, width, height, depth, .. } = self.descriptor;
        let row = width * format.texel_size();
        Extent { width, height, depth, row, image: row * height }
    }

    /// How many T are as many bytes as the texels.
    fn elements<T: Pod>(&self) -> Result<usize> {
        let texel = self.format().texel_size();
        if size_of::<T>() == 0 || !texel.is_multiple_of(size_of::<T>()) {
            let name = std::any::type_name::<T>();
            return Err(Error::TexelSize { format: self.format(), wanted: texel, name, got: size_of::<T>() });
        }
        Ok(self.size_bytes() / size_of::<T>())
    }
}

impl fmt::Debug for Texture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.descriptor, f)
    }
}

/// What a coordinate outside of the texture means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum AddressMode {
    /// The texel at the edge.
    #[default]
    ClampToEdge,
    /// Zero, opaque where the format has no alpha: OpenCL's `CLK_ADDRESS_CLAMP`.
    ClampToZero,
    /// The sampler's border color.
    ClampToBorder,
    /// The texture over and over.
    Repeat,
    /// Over and over, every other time the other way around.
    MirrorRepeat,
}

/// How texels become a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Filter {
    /// The nearest one.
    #[default]
    Nearest,
    /// Those around the coordinate, weighted.
    Linear,
}

/// The color of a border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[expect(missing_docs, reason = "each name is what it is")]
pub enum BorderColor {
    #[default]
    TransparentBlack,
    OpaqueBlack,
    OpaqueWhite,
}

/// What a sampler is made as. The default is Metal's: normalized coordinates, nearest texels, clamped to the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SamplerDescriptor {
    /// For each of the three coordinates.
    pub address: [AddressMode; 3],
    /// For every level of detail.
    pub filter: Filter,
    /// For `AddressMode::ClampToBorder`.
    pub border_color: BorderColor,
    /// Coordinates count texels, instead of going from 0 to 1. Only with modes that clamp.
    pub pixel_coordinates: bool,
}

impl SamplerDescriptor {
    /// One address mode and filter.
    pub fn new(address: AddressMode, filter: Filter) -> SamplerDescriptor {
        SamplerDescriptor { address: [address; 3], filter, ..SamplerDescriptor::default() }
    }

    /// With coordinates that count texels.
    #[must_use]
    pub fn in_pixels(self) -> SamplerDescriptor {
        SamplerDescriptor { pixel_coordinates: true, ..self }
    }

    /// The number that OpenCL C writes with `CLK_...`, as clang's headers define them; none for what OpenCL does not have.
    pub fn opencl(&self) -> Option<u32> {
        let [first, ..] = self.address;
        let address = match first {
            _ if self.address != [first; 3] => return None,
            AddressMode::ClampToEdge => 2,
            AddressMode::ClampToZero => 4,
            AddressMode::ClampToBorder => return None,
            AddressMode::Repeat => 6,
            AddressMode::MirrorRepeat => 8,
        };
        let filter = if self.filter == Filter::Linear { 0x20 } else { 0x10 };
        Some(address | filter | u32::from(!self.pixel_coordinates))
    }
}

/// How a kernel's coordinates become texels: the argument of a `sampler` parameter, OpenCL's `sampler_t`.
pub struct Sampler {
    pub(crate) state: Arc<SamplerState>,
    pub(crate) accelerator: Accelerator,
    descriptor: SamplerDescriptor,
}

impl Sampler {
    pub(crate) fn new(accelerator: &Accelerator, descriptor: &SamplerDescriptor) -> Result<Sampler> {
        let state = raw::SamplerState::new(accelerator.device(), descriptor)
            .map_err(|failure| failure.of_nothing(accelerator.device(), "make a sampler", None))?;
        Ok(Sampler { state: Arc::new(state), accelerator: accelerator.clone(), descriptor: *descriptor })
    }

    /// The same sampler.
    pub(crate) fn share(&self) -> Sampler {
        Sampler { state: Arc::clone(&self.state), accelerator: self.accelerator.clone(), descriptor: self.descriptor }
    }

    /// What it was made as.
    pub fn descriptor(&self) -> &SamplerDescriptor {
        &self.descriptor
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.descriptor, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grid, args};

    /// Managed texels are synchronised before they are read, as managed buffers are.
    #[test]
    fn managed_texels_are_read_after_their_writes() {
        let gpu = Accelerator::system_default().expect("a Metal device");
        let source = "#include <metal_stdlib>
            using namespace metal;
            kernel void fill(texture1d<uint, access::write> t [[texture(0)]], uint i [[thread_position_in_grid]]) { t.write(uint4(i), i); }";
        let fill = gpu.compile_msl(source).expect("it compiles").kernel("fill").expect("it is there");
        let wanted = TextureDescriptor::d1(PixelFormat::R32Uint, 5);
        let mut texture = Texture::new(&gpu, &wanted, StorageMode::Managed).expect("a texture");
        for _ in 0..2 {
            texture.write_from(&[9u32; 5]).expect("it is written");
            assert_eq!(texture.to_vec::<u32>().expect("it is read"), [9; 5]);
            let filled = fill.launch(Grid::linear(5), args![&mut texture]).expect("it fits");
            assert_eq!(texture.to_vec::<u32>().expect("it is read"), [0, 1, 2, 3, 4]);
            filled.wait().expect("it ran");
        }
    }
}
