//! Textures and samplers.

use std::ptr;

use super::{Device, Failure, check, handle, storage_mode};
use crate::memory::{AddressMode, BorderColor, Filter, SamplerDescriptor, TextureDescriptor};
use crate::sys;
use crate::{StorageMode, TextureKind};

handle!(
    /// `MTLTexture`.
    DCMetalTexture,
    DCMetalTexture_Release
);
handle!(
    /// `MTLSamplerState`.
    DCMetalSampler,
    DCMetalSampler_Release
);

pub(crate) type Texture = DCMetalTexture;
pub(crate) type SamplerState = DCMetalSampler;

// SAFETY: DCMetal.h: textures and samplers "may be used from any thread at once".
unsafe impl Send for DCMetalTexture {}
// SAFETY: as for Send; the texels are only copied under the lock of `Tracked`.
unsafe impl Sync for DCMetalTexture {}
// SAFETY: as for textures.
unsafe impl Send for DCMetalSampler {}
// SAFETY: as for Send; a sampler does not change.
unsafe impl Sync for DCMetalSampler {}

/// A slice's size in texels, and the bytes of its rows and images.
pub(crate) struct Extent {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) row: usize,
    pub(crate) image: usize,
}

impl Extent {
    fn size(&self) -> sys::DCMetalSize {
        sys::DCMetalSize { width: self.width as u64, height: self.height as u64, depth: self.depth as u64 }
    }
}

/// Rows of texture buffers begin at multiples of this: "at most 256" (DCMetal.h, `DCMetalTexture_CreateWithBuffer`).
const ROW_ALIGNMENT: u64 = 256;

impl DCMetalTexture {
    pub(crate) fn new(device: &Device, wanted: &TextureDescriptor, storage: StorageMode) -> Result<Texture, Failure> {
        let kind = match wanted.kind {
            TextureKind::D1 => sys::DC_METAL_TEXTURE_1D,
            TextureKind::D1Array => sys::DC_METAL_TEXTURE_1D_ARRAY,
            TextureKind::D2 => sys::DC_METAL_TEXTURE_2D,
            TextureKind::D2Array => sys::DC_METAL_TEXTURE_2D_ARRAY,
            TextureKind::D3 => sys::DC_METAL_TEXTURE_3D,
            TextureKind::Buffer => sys::DC_METAL_TEXTURE_BUFFER,
        };
        let (width, height, depth) = (wanted.width as u64, wanted.height as u64, wanted.depth as u64);
        let descriptor = sys::DCMetalTextureDescriptor {
            type_: kind,
            pixel_format: wanted.format.metal(),
            size: sys::DCMetalSize { width, height, depth },
            array_length: wanted.array_length as u64,
            levels: 1,
            usage: sys::DC_METAL_TEXTURE_SHADER_READ.0 | sys::DC_METAL_TEXTURE_SHADER_WRITE.0,
            storage: storage_mode(storage),
        };
        let (mut texture, mut error) = (ptr::null_mut(), ptr::null_mut());
        if wanted.kind != TextureKind::Buffer {
            // SAFETY: a live handle; the descriptor and the out-parameters are valid for the call.
            let status = unsafe { sys::DCMetalTexture_Create(device.0, &descriptor, &mut texture, &mut error) };
            check(status, error)?;
            return Ok(DCMetalTexture(texture));
        }
        // The texture keeps the memory that its texels are in.
        let row = width.checked_mul(wanted.format.texel_size() as u64);
        let row = row.and_then(|bytes| bytes.max(1).checked_next_multiple_of(ROW_ALIGNMENT));
        // More than can be told Metal has not either.
        let row = row.unwrap_or(u64::MAX / ROW_ALIGNMENT * ROW_ALIGNMENT);
        let (mut buffer, cache) = (ptr::null_mut(), sys::DC_METAL_CACHE_DEFAULT);
        // SAFETY: a live handle; the out-parameters are valid for the call.
        let status =
            unsafe { sys::DCMetalBuffer_Create(device.0, row, storage_mode(storage), cache, &mut buffer, &mut error) };
        check(status, error)?;
        let buffer = super::DCMetalBuffer(buffer);
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the descriptor and the out-parameters are valid for the call.
        let status =
            unsafe { sys::DCMetalTexture_CreateWithBuffer(buffer.0, 0, row, &descriptor, &mut texture, &mut error) };
        check(status, error)?;
        Ok(DCMetalTexture(texture))
    }

    /// Copies a slice's texels to the host. The caller keeps submissions away.
    pub(crate) fn read(&self, slice: u64, extent: &Extent, bytes: &mut [u8]) -> Result<(), Failure> {
        let place = sys::DCMetalTexturePlace { x: 0, y: 0, z: 0, slice, level: 0 };
        let (start, length) = (bytes.as_mut_ptr().cast(), bytes.len() as u64);
        let (row, image) = (extent.row as u64, extent.image as u64);
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; `bytes` is writable for its length, which the call checks the region against.
        let status =
            unsafe { sys::DCMetalTexture_Read(self.0, &place, extent.size(), start, length, row, image, &mut error) };
        check(status, error)
    }

    /// Copies the host's bytes to a slice's texels. The caller keeps submissions away.
    pub(crate) fn write(&self, slice: u64, extent: &Extent, bytes: &[u8]) -> Result<(), Failure> {
        let place = sys::DCMetalTexturePlace { x: 0, y: 0, z: 0, slice, level: 0 };
        let (start, length) = (bytes.as_ptr().cast(), bytes.len() as u64);
        let (row, image) = (extent.row as u64, extent.image as u64);
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; `bytes` is readable for its length, which the call checks the region against.
        let status =
            unsafe { sys::DCMetalTexture_Write(self.0, &place, extent.size(), start, length, row, image, &mut error) };
        check(status, error)
    }
}

impl DCMetalSampler {
    pub(crate) fn new(device: &Device, wanted: &SamplerDescriptor) -> Result<SamplerState, Failure> {
        let [s, t, r] = wanted.address.map(|mode| match mode {
            AddressMode::ClampToEdge => sys::DC_METAL_ADDRESS_CLAMP_TO_EDGE,
            AddressMode::ClampToZero => sys::DC_METAL_ADDRESS_CLAMP_TO_ZERO,
            AddressMode::ClampToBorder => sys::DC_METAL_ADDRESS_CLAMP_TO_BORDER,
            AddressMode::Repeat => sys::DC_METAL_ADDRESS_REPEAT,
            AddressMode::MirrorRepeat => sys::DC_METAL_ADDRESS_MIRROR_REPEAT,
        });
        let filter = match wanted.filter {
            Filter::Nearest => sys::DC_METAL_FILTER_NEAREST,
            Filter::Linear => sys::DC_METAL_FILTER_LINEAR,
        };
        let border_color = match wanted.border_color {
            BorderColor::TransparentBlack => sys::DC_METAL_BORDER_TRANSPARENT_BLACK,
            BorderColor::OpaqueBlack => sys::DC_METAL_BORDER_OPAQUE_BLACK,
            BorderColor::OpaqueWhite => sys::DC_METAL_BORDER_OPAQUE_WHITE,
        };
        let descriptor = sys::DCMetalSamplerDescriptor {
            s,
            t,
            r,
            min_filter: filter,
            mag_filter: filter,
            mip_filter: sys::DC_METAL_MIP_FILTER_NONE,
            border_color,
            pixel_coordinates: wanted.pixel_coordinates,
            lod_min: 0.0,
            lod_max: f32::MAX,
        };
        let (mut sampler, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the descriptor and the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalSampler_Create(device.0, &descriptor, &mut sampler, &mut error) };
        check(status, error)?;
        Ok(DCMetalSampler(sampler))
    }
}
