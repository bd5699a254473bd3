//! Mipmap levels made from the one before (MTLBlitCommandEncoder's generateMipmapsForTexture:).
//!
//! A texel is the mean of the area that it covers, which is two texels along an even axis, and a fraction more along an odd
//! one; sRGB is averaged as linear light. Apple does not say which filter Metal uses.

use crate::encode::Misuse;
use crate::executor::Texture as Texels;
use crate::texture::{FLOAT, RGB10A2, SINT, SNORM, SRGB, Texture, UINT, UNORM};

/// A level of a slice to be made from the level before.
#[derive(Clone, Copy)]
pub(crate) struct Mipmap {
    texels: *const Texels,
    slice: u32,
    level: u32,
}

/// The levels that are made of a texture's first one, in order.
pub(crate) fn mipmaps(texture: &Texture) -> Result<impl Iterator<Item = Mipmap>, Misuse> {
    let texels = texture.texels();
    if texels.levels < 2 {
        return Err(c"mipmapLevelCount of the texture must be > 1.");
    }
    if matches!(texels.kind, UINT | SINT) {
        return Err(c"mipmaps are generated for formats that can be filtered, which those of integers cannot.");
    }
    if texels.kind > RGB10A2 {
        return Err(c"mipmaps of packed formats other than RGB10A2Unorm are not supported by hostmetal.");
    }
    let (slices, levels) = (texels.slices, texels.levels);
    let of = |level| move |slice| (slice, level);
    let texels = std::ptr::from_ref(texels);
    let all = (1..levels).flat_map(move |level| (0..slices).map(of(level)));
    Ok(all.map(move |(slice, level)| Mipmap { texels, slice, level }))
}

impl Mipmap {
    /// # Safety
    /// The texture lives, and is used by nobody else.
    pub(crate) unsafe fn make(&self) {
        // SAFETY: as the caller promises.
        let texels = unsafe { &*self.texels };
        let [from, to] = [&texels.level[self.level as usize - 1], &texels.level[self.level as usize]];
        let slice = texels.texels.wrapping_add((u64::from(self.slice) * texels.slice) as usize);
        let at = |level: &crate::executor::Level, [x, y, z]: [u32; 3]| {
            let row = level.offset + u64::from(z) * level.image + u64::from(y) * level.row;
            slice.wrapping_add((row + u64::from(x) * u64::from(texels.texel_size)) as usize)
        };
        let area = f64::from(from.width) * f64::from(from.height) * f64::from(from.depth);
        for z in 0..to.depth {
            for y in 0..to.height {
                for x in 0..to.width {
                    let mut sum = [0.0; 4];
                    for (from_z, deep) in covered(z, from.depth, to.depth) {
                        for (from_y, high) in covered(y, from.height, to.height) {
                            for (from_x, wide) in covered(x, from.width, to.width) {
                                // SAFETY: the place is one of the level before.
                                let texel = unsafe { read(texels, at(from, [from_x, from_y, from_z])) };
                                let weight = deep * high * wide / area;
                                (0..4).for_each(|component| sum[component] += texel[component] * weight);
                            }
                        }
                    }
                    // SAFETY: the place is one of the level.
                    unsafe { write(texels, at(to, [x, y, z]), sum) };
                }
            }
        }
    }
}

/// The texels of `from` that texel `at` of `to` covers, with how much of each, in units of which all of them are `from`.
fn covered(at: u32, from: u32, to: u32) -> impl Iterator<Item = (u32, f64)> {
    let [at, from, to] = [at, from, to].map(u64::from);
    let (begin, end) = (at * from, (at + 1) * from);
    (begin / to..end.div_ceil(to)).map(move |texel| {
        let overlap = end.min((texel + 1) * to) - begin.max(texel * to);
        (texel as u32, overlap as f64)
    })
}

/// A texel's components as numbers that can be averaged: normalized ones as their integers.
///
/// # Safety
/// A texel lies there.
unsafe fn read(texels: &Texels, at: *const u8) -> [f64; 4] {
    // SAFETY: as the caller promises; a texel of this kind has 32 bits.
    let word = || unsafe { at.cast::<u32>().read_unaligned() };
    if texels.kind == RGB10A2 {
        let word = word();
        return [word & 1023, word >> 10 & 1023, word >> 20 & 1023, word >> 30].map(f64::from);
    }
    let mut components = [0.0; 4];
    for (number, component) in components.iter_mut().enumerate().take(texels.components as usize) {
        let at = at.wrapping_add(number * texels.component_size as usize);
        let mut bytes = [0; 4];
        // SAFETY: as the caller promises; the component is part of the texel, and has at most four bytes.
        unsafe { std::ptr::copy_nonoverlapping(at, bytes.as_mut_ptr(), texels.component_size as usize) };
        let bits = u32::from_le_bytes(bytes);
        *component = match (texels.kind, texels.component_size) {
            (FLOAT, 2) => half_value(bits as u16),
            (FLOAT, _) => f64::from(f32::from_bits(bits)),
            (SRGB, _) if number < 3 => linear(f64::from(bits) / 255.0),
            // The least value stands for the next one, -1.
            (SNORM, 1) => f64::from((bits as i8).max(-i8::MAX)),
            (SNORM, _) => f64::from((bits as i16).max(-i16::MAX)),
            _ => f64::from(bits),
        };
    }
    components
}

/// # Safety
/// A texel lies there.
unsafe fn write(texels: &Texels, at: *mut u8, components: [f64; 4]) {
    if texels.kind == RGB10A2 {
        let [r, g, b, a] = components.map(|component| component.round_ties_even() as u32);
        // SAFETY: as the caller promises; a texel of this kind has 32 bits.
        unsafe { at.cast::<u32>().write_unaligned(r | g << 10 | b << 20 | a << 30) };
        return;
    }
    for (number, &component) in components.iter().enumerate().take(texels.components as usize) {
        let at = at.wrapping_add(number * texels.component_size as usize);
        let bits = match (texels.kind, texels.component_size) {
            (FLOAT, 2) => u32::from(half_bits(component)),
            (FLOAT, _) => (component as f32).to_bits(),
            (SRGB, _) if number < 3 => (encoded(component) * 255.0).round_ties_even() as u32,
            (SNORM, _) => (component.round_ties_even() as i32).cast_unsigned(),
            (UNORM | SRGB, _) => component.round_ties_even() as u32,
            (kind, _) => unreachable!("no mipmaps of kind {kind}"),
        };
        // SAFETY: as in `read`; formats have their least significant byte first, as the machine does.
        unsafe { std::ptr::copy_nonoverlapping(bits.to_le_bytes().as_ptr(), at, texels.component_size as usize) };
    }
}

/// IEC 61966-2-1.
fn linear(encoded: f64) -> f64 {
    if encoded <= 0.04045 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

fn encoded(linear: f64) -> f64 {
    if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

/// IEEE 754 binary16.
fn half_value(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    match exponent {
        0 => sign * fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

/// The nearest, ties to even.
fn half_bits(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let size = value.abs();
    if size.is_nan() {
        return 0x7e00;
    }
    // Half a step beyond the largest finite number, 65504.
    if size >= 65_520.0 {
        return sign | 0x7c00;
    }
    let exponent = (((size.to_bits() >> 52) as i32) - 1023).max(-14);
    let steps = (size * 2f64.powi(10 - exponent)).round_ties_even() as u16;
    // The leading bit of a normal number counts for one of the exponent, which begins at -14; a carry comes out right.
    sign | ((((exponent + 14) as u16) << 10) + steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{LEVELS, Level};

    /// Makes all levels but the first of a texture of one slice, whose levels lie one behind the other.
    fn made(kind: u32, [components, component_size]: [u32; 2], sizes: &[[u32; 3]], first: &[u8]) -> Vec<u8> {
        let texel_size = components * component_size;
        let (mut level, mut bytes) = ([Level::default(); LEVELS], 0);
        for (level, [width, height, depth]) in level.iter_mut().zip(sizes.iter().copied()) {
            let row = u64::from(width * texel_size);
            let image = row * u64::from(height);
            *level = Level { offset: bytes, row, image, width, height, depth, unused: 0 };
            bytes += image * u64::from(depth);
        }
        let mut memory = first.to_vec();
        memory.resize(bytes as usize, 0);
        let texels = Texels {
            handle: 0,
            texels: memory.as_mut_ptr(),
            slice: bytes,
            kind,
            order: 0,
            components,
            component_size,
            texel_size,
            slices: 1,
            levels: sizes.len() as u32,
            samples: 1,
            swizzle: 0,
            unused: 0,
            level,
        };
        for level in 1..texels.levels {
            // SAFETY: the texels are this function's own.
            unsafe { Mipmap { texels: &texels, slice: 0, level }.make() };
        }
        memory.split_off(first.len())
    }

    /// Means by hand.
    #[test]
    fn levels_are_means() {
        let eight = [10, 20, 30, 40, 50, 60, 70, 80];
        assert_eq!(made(UNORM, [1, 1], &[[4, 2, 1], [2, 1, 1], [1, 1, 1]], &eight), [35, 55, 45]);
        assert_eq!(made(UNORM, [1, 1], &[[2, 2, 2], [1, 1, 1]], &eight), [45]);
        // Three texels are covered by one.
        assert_eq!(made(UNORM, [2, 1], &[[3, 1, 1], [1, 1, 1]], &[3, 0, 6, 1, 9, 2]), [6, 1]);
        // -1 is 0x81 and 0x80; the mean of -127 and 27 is -50.
        assert_eq!(made(SNORM, [1, 1], &[[2, 1, 1], [1, 1, 1]], &[0x80, 27]), [206]);
        // (1, -2) and (3, 0.5) in 16 bits have the mean (2, -0.75).
        let halves = [0x3c00u16, 0xc000, 0x4200, 0x3800].map(u16::to_le_bytes).concat();
        assert_eq!(made(FLOAT, [2, 2], &[[2, 1, 1], [1, 1, 1]], &halves), [0x00, 0x40, 0x00, 0xba]);
    }
}
