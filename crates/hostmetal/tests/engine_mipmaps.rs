//! Mipmaps that a blit encoder generates. Expected values: exact fractions and Python's struct (binary16), rounded to
//! nearest even; sRGB by the formulas of IEC 61966-2-1 in binary64.

mod support;

use hostmetal::ffi::*;
use support::*;

/// MTLPixelFormat.
const R8_UNORM: u32 = 10;
const R8_SNORM: u32 = 12;
const R8_UINT: u32 = 13;
const R16_UNORM: u32 = 20;
const R16_FLOAT: u32 = 25;
const R32_FLOAT: u32 = 55;
const RGBA8_SRGB: u32 = 71;
const BGRA8: u32 = 80;
const RGB10A2: u32 = 90;

fn made(format: u32, kind: u32, size: [u64; 3], levels: u64, slices: u64) -> Texture {
    Texture::new(&HMTextureDescriptor { levels, slices, ..texture(kind, format, size) })
}

fn try_generate(texture: &Texture) -> Result<(), String> {
    let queue = Queue::new();
    let command_buffer = queue.command_buffer();
    let encoder = command_buffer.blit();
    // SAFETY: the handles are valid.
    let text = misuse(unsafe { hm_blit_generate_mipmaps(encoder.0, texture.0) });
    ok(encoder.end());
    command_buffer.commit();
    command_buffer.wait();
    command_buffer.assert_completed();
    text.map_or(Ok(()), Err)
}

#[test]
fn each_level_is_made_from_the_one_before() {
    let texture = made(R8_UNORM, TEXTURE_2D_ARRAY, [4, 4, 1], 3, 2);
    texture.write(0, 0, &[3u8, 250, 7, 8, 100, 101, 102, 103, 1, 0, 9, 255, 0, 1, 255, 254]);
    texture.write(1, 0, &[9u8; 16]);
    try_generate(&texture).expect("fine");
    assert_eq!(texture.read::<u8>(0, 0, 1)[..4], [3, 250, 7, 8]);
    // 454/4 and 2/4 are ties, 220/4 = 55, 773/4.
    assert_eq!(texture.read::<u8>(0, 1, 1), [114, 55, 0, 193]);
    // 362/4 is a tie.
    assert_eq!(texture.read::<u8>(0, 2, 1), [90]);
    assert_eq!(texture.read::<u8>(1, 1, 1), [9; 4]);
    assert_eq!(texture.read::<u8>(1, 2, 1), [9]);
}

#[test]
fn odd_sizes_are_averaged_by_area() {
    let texture = made(R32_FLOAT, TEXTURE_2D, [5, 3, 1], 3, 1);
    let texels = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 3, 9, 27, 81, 243].map(|texel: u16| f32::from(texel));
    texture.write(0, 0, &texels);
    try_generate(&texture).expect("fine");
    // 127/5 and 797/5, the middle column counting half for each; then 92.4.
    assert_eq!(texture.read::<f32>(0, 1, 1), [25.4, 159.4]);
    assert_eq!(texture.read::<f32>(0, 2, 1), [92.399_994]);
}

#[test]
fn levels_of_three_dimensions_shrink_along_each() {
    let texture = made(R16_UNORM, TEXTURE_3D, [2, 2, 2], 2, 1);
    texture.write(0, 0, &[0u16, 65535, 1, 2, 3, 4, 5, 6]);
    try_generate(&texture).expect("fine");
    // 65556 / 8 = 8194.5, a tie.
    assert_eq!(texture.read::<u16>(0, 1, 1), [8194]);
}

/// The mean of two texels side by side, as a texel of `per_texel` elements.
fn mean<T: Copy + Default>(format: u32, texels: &[T], per_texel: usize) -> Vec<T> {
    let texture = made(format, TEXTURE_2D, [2, 1, 1], 2, 1);
    texture.write(0, 0, texels);
    try_generate(&texture).expect("fine");
    texture.read::<T>(0, 1, per_texel)
}

#[test]
fn halves_are_rounded_to_nearest_even() {
    let cases: [([u16; 2], u16); 12] = [
        ([0x3c00, 0x4000], 0x3e00),
        ([0x7bff, 0x7bff], 0x7bff),
        ([0x7bff, 0x7bfe], 0x7bfe),
        ([0x0001, 0x0000], 0x0000),
        ([0x0001, 0x0002], 0x0002),
        ([0x0003, 0x0002], 0x0002),
        ([0x03ff, 0x0401], 0x0400),
        ([0xbc00, 0x3c00], 0x0000),
        ([0x8001, 0x8003], 0x8002),
        ([0x7c00, 0x3c00], 0x7c00),
        ([0x3555, 0x3556], 0x3556),
        ([0x3556, 0x3557], 0x3556),
    ];
    for (texels, expected) in cases {
        assert_eq!(mean(R16_FLOAT, &texels, 1), [expected], "{texels:x?}");
    }
    assert_eq!(mean(R16_FLOAT, &[0x7c00u16, 0xfc00], 1)[0] & 0x7fff, 0x7e00, "infinities that differ have no mean");
}

#[test]
fn normalized_integers_are_rounded_to_nearest_even() {
    let cases: [([i8; 2], i8); 6] =
        [([-128, -127], -127), ([-128, 127], 0), ([5, 6], 6), ([6, 7], 6), ([-5, -6], -6), ([127, 126], 126)];
    for (texels, expected) in cases {
        assert_eq!(mean(R8_SNORM, &texels, 1), [expected], "{texels:?}");
    }
    assert_eq!(mean(BGRA8, &[0u8, 1, 2, 255, 255, 255, 4, 255], 4), [128, 128, 3, 255]);
    let word = |r: u32, g: u32, b: u32, a: u32| r | g << 10 | b << 20 | a << 30;
    assert_eq!(mean(RGB10A2, &[word(1023, 0, 5, 3), word(1, 1, 1023, 0)], 1), [word(512, 0, 514, 2)]);
}

#[test]
fn srgb_is_averaged_as_light_and_its_alpha_is_not() {
    let cases: [([u8; 2], u8, u8); 6] = [
        ([0, 255], 188, 128),
        ([10, 20], 16, 15),
        ([5, 11], 8, 8),
        ([200, 100], 160, 150),
        ([255, 255], 255, 255),
        ([254, 255], 255, 254),
    ];
    for ([a, b], color, alpha) in cases {
        assert_eq!(mean(RGBA8_SRGB, &[a, a, a, a, b, b, b, b], 4), [color, color, color, alpha], "{a} and {b}");
    }
}

#[test]
fn misuse_is_told() {
    for (texture, part) in
        [(made(R8_UNORM, TEXTURE_2D, [4, 4, 1], 1, 1), "> 1"), (made(R8_UINT, TEXTURE_2D, [4, 4, 1], 3, 1), "integers")]
    {
        let text = try_generate(&texture).expect_err("misuse");
        assert!(text.contains(part), "{text}");
    }
}
