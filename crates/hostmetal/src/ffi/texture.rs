//! The C interface: textures and what binds and copies them.

use super::{HMBuffer, HMDevice, HMEncoder, HMTexture, answer, borrow, device_of, give, put, release, share};
use crate::device::Device;
use crate::encode::Misuse;
use crate::executor::{Sampler, sampler_handle};
use crate::faults::{Site, refuses};
use crate::memory::Buffer;
use crate::texture::{Descriptor, Linear, Region, Texture, knows};
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// HMTextureDescriptor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMTextureDescriptor {
    /// MTLTextureType.
    pub texture_type: u32,
    /// MTLPixelFormat.
    pub pixel_format: u32,
    /// Width, height and depth in texels.
    pub size: [u64; 3],
    /// Mipmap levels.
    pub levels: u64,
    /// Elements of an array, 1 for other textures.
    pub slices: u64,
    /// Samples of a texel, 1 unless the texture is multisampled.
    pub samples: u64,
    /// MTLTextureUsage.
    pub usage: u32,
    /// MTLTextureSwizzleChannels.
    pub swizzle: [u8; 4],
    /// Not MTLTextureCompressionTypeLossless.
    pub lossy: bool,
}

impl HMTextureDescriptor {
    pub(super) fn read(&self) -> Descriptor {
        let HMTextureDescriptor { texture_type, pixel_format, size, levels, slices, samples, usage, swizzle, lossy } =
            *self;
        Descriptor { texture_type, pixel_format, size, levels, slices, samples, usage, swizzle, lossy }
    }
}

/// HMPlace: texels of a texture.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMPlace {
    /// Whose.
    pub texture: HMTexture,
    /// In the array.
    pub slice: u64,
    /// Mipmap level.
    pub level: u64,
    /// The first texel: x, y, z.
    pub origin: [u64; 3],
}

/// HMLayout: texels in linear memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMLayout {
    /// Whose memory, when it is a buffer's.
    pub buffer: HMBuffer,
    /// In bytes, in the buffer.
    pub offset: u64,
    /// From one row to the next; 0 for one row.
    pub bytes_per_row: u64,
    /// From one image to the next; 0 for one image.
    pub bytes_per_image: u64,
}

/// HMSampler: what <metal_texture> packs too (native/hostmetal/msl/hostmetal_sampler.h).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMSampler {
    /// Address modes, filters, coordinates, border color.
    pub bits: u32,
    /// The least level of detail.
    pub lod_min: f32,
    /// The greatest.
    pub lod_max: f32,
    /// Added to levels of detail.
    pub lod_bias: f32,
}

/// What stands for a texture in argument buffers.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_texture_handle(texture: HMTexture) -> u64 {
    // SAFETY: as the module above says.
    unsafe { borrow(texture) }.handle()
}

/// What stands for a sampler in argument buffers.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_sampler_handle(sampler: *const HMSampler) -> u64 {
    // SAFETY: as the module above says.
    let HMSampler { bits, lod_min, lod_max, lod_bias } = unsafe { *sampler };
    sampler_handle(&Sampler { bits, lod_min, lod_max, lod_bias })
}

/// # Safety
/// `misuse` is valid for writes.
pub(super) unsafe fn made(result: Result<Option<Texture>, Misuse>, misuse: *mut *const c_char) -> HMTexture {
    let (handle, text) = match result {
        Ok(texture) => (texture.map_or(HMTexture::NULL, |texture| give(Arc::new(texture))), ptr::null()),
        Err(text) => (HMTexture::NULL, text.as_ptr()),
    };
    // SAFETY: as the caller promises.
    unsafe { put(misuse, text) };
    handle
}

/// None instead of what `make` makes, where the rules of faults say so.
pub(super) fn unless_refused(
    device: &Device,
    make: impl FnOnce() -> Result<Option<Texture>, Misuse>,
) -> Result<Option<Texture>, Misuse> {
    if refuses(device, Site::Texture) { Ok(None) } else { make() }
}

/// Whether textures of an MTLPixelFormat can be made.
#[unsafe(no_mangle)]
pub extern "C" fn hm_pixel_format_known(pixel_format: u32) -> bool {
    knows(pixel_format)
}

/// A zero-filled texture; NULL with *misuse set for a wrong descriptor, NULL without when memory is out.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_texture_create(
    device: HMDevice,
    descriptor: *const HMTextureDescriptor,
    misuse: *mut *const c_char,
) -> HMTexture {
    // SAFETY: as the module above says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module above says.
    let descriptor = unsafe { &*descriptor }.read();
    // SAFETY: as the module above says.
    unsafe { made(unless_refused(device, || Texture::new(device, descriptor)), misuse) }
}

/// A texture whose texels are a buffer's bytes.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_texture_create_linear(
    buffer: HMBuffer,
    descriptor: *const HMTextureDescriptor,
    offset: u64,
    bytes_per_row: u64,
    misuse: *mut *const c_char,
) -> HMTexture {
    // SAFETY: as the module above says.
    let buffer = unsafe { share(buffer) };
    // SAFETY: as the module above says.
    let descriptor = unsafe { &*descriptor }.read();
    let result = buffer
        .ok_or(c"a linear texture of no buffer")
        .and_then(|buffer| Texture::linear(buffer, descriptor, offset, bytes_per_row));
    // SAFETY: as the module above says.
    unsafe { made(result.map(Some), misuse) }
}

/// Some levels and slices of a texture: first and count of each.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_texture_create_view(
    texture: HMTexture,
    pixel_format: u32,
    texture_type: u32,
    levels: *const [u64; 2],
    slices: *const [u64; 2],
    swizzle: *const [u8; 4],
    misuse: *mut *const c_char,
) -> HMTexture {
    // SAFETY: as the module above says.
    let [level, level_count] = unsafe { *levels };
    // SAFETY: as the module above says.
    let [slice, slice_count] = unsafe { *slices };
    // SAFETY: as the module above says.
    let swizzle = unsafe { *swizzle };
    // SAFETY: as the module above says.
    let texture = unsafe { borrow(texture) };
    let result = texture.view(pixel_format, texture_type, (level, level_count), (slice, slice_count), swizzle);
    // SAFETY: as the module above says.
    unsafe { made(result.map(Some), misuse) }
}

/// The same texels as another device of the peer group sees them; NULL with *misuse set for any other device.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_texture_create_remote(
    texture: HMTexture,
    device: HMDevice,
    misuse: *mut *const c_char,
) -> HMTexture {
    // SAFETY: as the module above says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module above says.
    let result = unsafe { borrow(texture) }.remote(device);
    // SAFETY: as the module above says.
    unsafe { made(result.map(Some), misuse) }
}

/// What kernels get for the components of its texels.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_texture_swizzle(texture: HMTexture, swizzle: *mut [u8; 4]) {
    // SAFETY: as the module above says.
    let own = unsafe { borrow(texture) }.swizzle();
    // SAFETY: as the module above says.
    unsafe { put(swizzle, own) };
}

/// MTLTextureUsage: that of its descriptor, but for views.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_texture_usage(texture: HMTexture) -> u32 {
    // SAFETY: as the module above says.
    unsafe { borrow(texture) }.usage()
}

/// Copies the caller's bytes to a region.
///
/// # Safety
/// As the module above says; the bytes are as many as rows and images say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_texture_replace(
    place: *const HMPlace,
    size: *const [u64; 3],
    bytes: *const c_void,
    bytes_per_row: u64,
    bytes_per_image: u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    let (place, region) = unsafe { region(place, size) };
    let memory = Linear { bytes: bytes.cast_mut().cast(), row: bytes_per_row, image: bytes_per_image };
    // SAFETY: as the module above says.
    let texture = unsafe { borrow(place.texture) };
    // SAFETY: as the caller promises of the bytes.
    answer(unsafe { texture.replace((place.level, place.slice), region, memory) })
}

/// Copies a region to the caller's memory.
///
/// # Safety
/// As the module above says; the memory is as long as rows and images say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_texture_get(
    place: *const HMPlace,
    size: *const [u64; 3],
    bytes: *mut c_void,
    bytes_per_row: u64,
    bytes_per_image: u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    let (place, region) = unsafe { region(place, size) };
    let memory = Linear { bytes: bytes.cast(), row: bytes_per_row, image: bytes_per_image };
    // SAFETY: as the module above says.
    let texture = unsafe { borrow(place.texture) };
    // SAFETY: as the caller promises of the memory.
    answer(unsafe { texture.get((place.level, place.slice), region, memory) })
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_texture_release(texture: HMTexture) {
    if !texture.is_null() {
        // SAFETY: as the module above says.
        unsafe { borrow(texture) }.let_go().set();
    }
    // SAFETY: as the module above says.
    unsafe { release(texture) };
}

/// Binds a texture, or nothing when NULL.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_texture(encoder: HMEncoder, texture: HMTexture, index: usize) -> *const c_char {
    // SAFETY: as the module above says.
    let texture = unsafe { share(texture) };
    // SAFETY: as the module above says.
    answer(unsafe { borrow(encoder) }.set_texture(texture, index))
}

/// Binds a copy of a sampler, or nothing when NULL.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_sampler(
    encoder: HMEncoder,
    sampler: *const HMSampler,
    index: usize,
) -> *const c_char {
    // SAFETY: as the module above says.
    let sampler = unsafe { sampler.as_ref() };
    let sampler =
        sampler.map(|&HMSampler { bits, lod_min, lod_max, lod_bias }| Sampler { bits, lod_min, lod_max, lod_bias });
    // SAFETY: as the module above says.
    answer(unsafe { borrow(encoder) }.set_sampler(sampler, index))
}

/// Copies a buffer's bytes to texels.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_blit_copy_to_texture(
    encoder: HMEncoder,
    source: *const HMLayout,
    destination: *const HMPlace,
    size: *const [u64; 3],
) -> *const c_char {
    // SAFETY: as the module above says.
    unsafe { copy_with_buffer(encoder, source, destination, size, true) }
}

/// Copies texels to a buffer.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_blit_copy_from_texture(
    encoder: HMEncoder,
    source: *const HMPlace,
    destination: *const HMLayout,
    size: *const [u64; 3],
) -> *const c_char {
    // SAFETY: as the module above says.
    unsafe { copy_with_buffer(encoder, destination, source, size, false) }
}

/// Copies texels between textures.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_blit_copy_texture(
    encoder: HMEncoder,
    source: *const HMPlace,
    destination: *const HMPlace,
    size: *const [u64; 3],
) -> *const c_char {
    // SAFETY: as the module above says.
    let (source, region) = unsafe { region(source, size) };
    // SAFETY: as the module above says.
    let destination = unsafe { *destination };
    // SAFETY: as the module above says.
    let from = unsafe { share(source.texture) };
    // SAFETY: as the module above says.
    let to = unsafe { share(destination.texture) };
    let (Some(from), Some(to)) = (from, to) else {
        return c"sourceTexture and destinationTexture must not be nil.".as_ptr();
    };
    let target = (&to, (destination.level, destination.slice), destination.origin);
    // SAFETY: as the module above says.
    answer(unsafe { borrow(encoder) }.copy_texture((&from, (source.level, source.slice)), region, target))
}

/// # Safety
/// As the module above says.
unsafe fn copy_with_buffer(
    encoder: HMEncoder,
    layout: *const HMLayout,
    place: *const HMPlace,
    size: *const [u64; 3],
    into_texture: bool,
) -> *const c_char {
    // SAFETY: as the caller promises.
    let (place, region) = unsafe { region(place, size) };
    // SAFETY: as the caller promises.
    let layout = unsafe { *layout };
    // SAFETY: as the caller promises.
    let texture = unsafe { share(place.texture) };
    // SAFETY: as the caller promises.
    let buffer: Option<Arc<Buffer>> = unsafe { share(layout.buffer) };
    let (Some(texture), Some(buffer)) = (texture, buffer) else {
        return c"the buffer and the texture of a copy must not be nil.".as_ptr();
    };
    let memory = (&buffer, layout.offset, (layout.bytes_per_row, layout.bytes_per_image));
    // SAFETY: as the caller promises.
    let encoder = unsafe { borrow(encoder) };
    answer(encoder.copy_with_buffer((&texture, (place.level, place.slice)), region, memory, into_texture))
}

/// # Safety
/// Both pointers are valid for reads.
unsafe fn region(place: *const HMPlace, size: *const [u64; 3]) -> (HMPlace, Region) {
    // SAFETY: as the caller promises.
    let place = unsafe { *place };
    // SAFETY: as the caller promises.
    let size = unsafe { *size };
    (place, (place.origin, size))
}

/// Makes the levels of a texture from its first one.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_blit_generate_mipmaps(encoder: HMEncoder, texture: HMTexture) -> *const c_char {
    // SAFETY: as the module says.
    let Some(texture) = (unsafe { share(texture) }) else { return c"texture must not be nil.".as_ptr() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.generate_mipmaps(&texture))
}
