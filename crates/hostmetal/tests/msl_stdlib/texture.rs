//! Textures without samplers: what the bits of each pixel format mean, read and written (OpenCL C 3.0 8.3, in double
//! precision), all types of textures and components, sizes, and accesses outside.

use crate::stdlib::*;
use crate::support::*;
use hostmetal::ffi::HMTextureDescriptor;
use hostmetal::msl::{Engine, MathMode};

const R32_FLOAT: u32 = 55;
const R32_UINT: u32 = 53;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Unorm,
    Snorm,
    Uint,
    Sint,
    Float,
    Srgb,
}
use Kind::{Float, Sint, Snorm, Srgb, Uint, Unorm};

/// MTLPixelFormat, kind, channels, bits of each; and the channel that each stored component is.
const FORMATS: &[(u32, Kind, usize, u32, [usize; 4])] = &[
    (1, Unorm, 1, 8, [3, 0, 0, 0]),
    (10, Unorm, 1, 8, [0, 1, 2, 3]),
    (11, Srgb, 1, 8, [0, 1, 2, 3]),
    (12, Snorm, 1, 8, [0, 1, 2, 3]),
    (13, Uint, 1, 8, [0, 1, 2, 3]),
    (14, Sint, 1, 8, [0, 1, 2, 3]),
    (20, Unorm, 1, 16, [0, 1, 2, 3]),
    (22, Snorm, 1, 16, [0, 1, 2, 3]),
    (23, Uint, 1, 16, [0, 1, 2, 3]),
    (24, Sint, 1, 16, [0, 1, 2, 3]),
    (25, Float, 1, 16, [0, 1, 2, 3]),
    (30, Unorm, 2, 8, [0, 1, 2, 3]),
    (31, Srgb, 2, 8, [0, 1, 2, 3]),
    (32, Snorm, 2, 8, [0, 1, 2, 3]),
    (33, Uint, 2, 8, [0, 1, 2, 3]),
    (34, Sint, 2, 8, [0, 1, 2, 3]),
    (53, Uint, 1, 32, [0, 1, 2, 3]),
    (54, Sint, 1, 32, [0, 1, 2, 3]),
    (55, Float, 1, 32, [0, 1, 2, 3]),
    (60, Unorm, 2, 16, [0, 1, 2, 3]),
    (62, Snorm, 2, 16, [0, 1, 2, 3]),
    (63, Uint, 2, 16, [0, 1, 2, 3]),
    (64, Sint, 2, 16, [0, 1, 2, 3]),
    (65, Float, 2, 16, [0, 1, 2, 3]),
    (70, Unorm, 4, 8, [0, 1, 2, 3]),
    (71, Srgb, 4, 8, [0, 1, 2, 3]),
    (72, Snorm, 4, 8, [0, 1, 2, 3]),
    (73, Uint, 4, 8, [0, 1, 2, 3]),
    (74, Sint, 4, 8, [0, 1, 2, 3]),
    (80, Unorm, 4, 8, [2, 1, 0, 3]),
    (81, Srgb, 4, 8, [2, 1, 0, 3]),
    (103, Uint, 2, 32, [0, 1, 2, 3]),
    (104, Sint, 2, 32, [0, 1, 2, 3]),
    (105, Float, 2, 32, [0, 1, 2, 3]),
    (110, Unorm, 4, 16, [0, 1, 2, 3]),
    (112, Snorm, 4, 16, [0, 1, 2, 3]),
    (113, Uint, 4, 16, [0, 1, 2, 3]),
    (114, Sint, 4, 16, [0, 1, 2, 3]),
    (115, Float, 4, 16, [0, 1, 2, 3]),
    (123, Uint, 4, 32, [0, 1, 2, 3]),
    (124, Sint, 4, 32, [0, 1, 2, 3]),
    (125, Float, 4, 32, [0, 1, 2, 3]),
];

/// What a stored component is worth.
fn value(kind: Kind, bits: u32, width: u32, channel: usize) -> f64 {
    let most = (1u64 << width) - 1;
    let signed = i64::from(bits) - if bits >> (width - 1) == 1 { 1i64 << width } else { 0 };
    match kind {
        Unorm => f64::from(bits) / most as f64,
        Snorm => (signed as f64 / (most / 2) as f64).max(-1.0),
        Uint => f64::from(bits),
        Sint => signed as f64,
        Float if width == 16 => HALF.value(bits as u16),
        Float => f64::from(f32::from_bits(bits)),
        Srgb => {
            let c = f64::from(bits) / 255.0;
            match () {
                () if channel == 3 => c,
                () if c <= 0.04045 => c / 12.92,
                () => ((c + 0.055) / 1.055).powf(2.4),
            }
        }
    }
}

/// The stored component nearest to a value, ties to even.
fn bits(kind: Kind, value: f64, width: u32, channel: usize) -> u32 {
    let most = (1u64 << width) - 1;
    let bounded = |low: f64| if value.is_nan() { 0.0 } else { value.clamp(low, 1.0) };
    match kind {
        // "convert_uchar_sat_rte(f * 255.0f)": the product is a float.
        Unorm => f64::from((bounded(0.0) * most as f64) as f32).round_ties_even() as u32,
        Snorm => (f64::from((bounded(-1.0) * (most / 2) as f64) as f32).round_ties_even() as i64 as u64 & most) as u32,
        Uint => value.clamp(0.0, most as f64) as u64 as u32,
        Sint => ((value as i64).clamp(-((most / 2) as i64) - 1, (most / 2) as i64) as u64 & most) as u32,
        Float if width == 16 => u32::from(HALF.bits(value)),
        Float => (value as f32).to_bits(),
        Srgb => {
            let c = bounded(0.0);
            let encoded = match () {
                () if channel == 3 => c,
                () if c < 0.0031308 => 12.92 * c,
                () => 1.055 * c.powf(1.0 / 2.4) - 0.055,
            };
            (encoded * 255.0).round_ties_even() as u32
        }
    }
}

fn put(bytes: &mut Vec<u8>, bits: u32, width: u32) {
    bytes.extend(&bits.to_le_bytes()[..width as usize / 8]);
}

fn take(bytes: &[u8], width: u32) -> u32 {
    let mut word = [0; 4];
    word[..width as usize / 8].copy_from_slice(&bytes[..width as usize / 8]);
    u32::from_le_bytes(word)
}

fn component(kind: Kind) -> &'static str {
    match kind {
        Uint => "uint",
        Sint => "int",
        _ => "float",
    }
}

fn as_number(kind: Kind, bits: u32) -> f64 {
    match kind {
        Uint => f64::from(bits),
        Sint => f64::from(bits as i32),
        _ => f64::from(f32::from_bits(bits)),
    }
}

#[test]
fn stored_bits_are_read_as_the_format_says() {
    let mut random = Random(1);
    for mode in ALL_MODES {
        let kernels = [Float, Uint, Sint].map(|kind| {
            let ty = component(kind);
            compile(
                &format!(
                    "kernel void run(texture2d<{ty}, access::read> t [[texture(0)]], device {ty}4 *out [[buffer(0)]],
                    uint i [[thread_position_in_grid]]) {{ out[i] = t.read(uint2(i % 256, i / 256)); }}"
                ),
                mode,
            )
        });
        for &(format, kind, channels, width, order) in FORMATS {
            // Every value of 8 and 16 bits stands in the first component.
            let height: u64 = if width == 8 { 1 } else { 256 };
            let count = 256 * height as usize;
            let mut bytes = Vec::new();
            for i in 0..count {
                for c in 0..channels {
                    let any = random.bits() as u32;
                    put(&mut bytes, if c == 0 && width < 32 { i as u32 } else { any }, width);
                }
            }
            let texture = Texture::new(&texture(TEXTURE_2D, format, [256, height, 1]));
            texture.write(0, 0, &bytes);
            let out = Buffer::new(count as u64 * 16);
            let kernel = &kernels[match kind {
                Uint => 1,
                Sint => 2,
                _ => 0,
            }];
            Queue::new()
                .run(|encoder| {
                    encoder.pipeline(kernel);
                    encoder.texture(&texture, 0);
                    encoder.buffer(&out, 0);
                    encoder.threads([count as u64, 1, 1], [64, 1, 1]);
                })
                .assert_completed();
            let got: Vec<[u32; 4]> = out.read();
            for (i, stored) in bytes.chunks(channels * width as usize / 8).enumerate() {
                let mut expected = [0.0, 0.0, 0.0, 1.0];
                for (c, stored) in stored.chunks(width as usize / 8).enumerate() {
                    expected[order[c]] = value(kind, take(stored, width), width, order[c]);
                }
                if order[0] == 3 {
                    expected = [0.0, 0.0, 0.0, expected[3]];
                }
                for c in 0..4 {
                    let (got, expected) = (as_number(kind, got[i][c]), expected[c]);
                    // Correctly rounded, but for the power of sRGB.
                    let limit = if kind == Srgb { 16.0 } else { 0.5 };
                    let near = match kind {
                        Uint | Sint => got == expected,
                        _ => ulps(got as f32, expected) <= limit,
                    };
                    assert!(near, "format {format}: {stored:?}: component {c} is {got}, expected {expected}");
                }
            }
        }
    }
}

#[test]
fn values_are_stored_as_the_format_says() {
    let mut random = Random(2);
    let mut numbers: Vec<f32> = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        0.25,
        2.0,
        -2.0,
        1e-8,
        -1e-8,
        65504.0,
        65520.0,
        1e30,
        -1e30,
        0.003,
        0.0032,
        6e-8,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        0.00390625,
        127.5 / 255.0,
        126.5 / 255.0,
    ];
    numbers.extend((0..489).map(|_| random.between(-1.25, 1.25)));
    let integers: Vec<u32> =
        [0u32, 1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 1 << 31, u32::MAX, !127, !128, !32768]
            .into_iter()
            .chain((0..497).map(|_| (random.bits() as u32) >> (random.bits() % 32)))
            .collect();
    for mode in ALL_MODES {
        let kernels = [Float, Uint, Sint].map(|kind| {
            let ty = component(kind);
            compile(
                &format!(
                "kernel void run(texture2d<{ty}, access::write> t [[texture(0)]], device const {ty}4 *in [[buffer(0)]],
                    uint i [[thread_position_in_grid]]) {{ t.write(in[i], uint2(i, 0)); }}"
            ),
                mode,
            )
        });
        for &(format, kind, channels, width, order) in FORMATS {
            let given: Vec<[u32; 4]> = (0..128)
                .map(|i| {
                    std::array::from_fn(|c| match kind {
                        Uint | Sint => integers[i * 4 + c],
                        _ => numbers[i * 4 + c].to_bits(),
                    })
                })
                .collect();
            let texture = Texture::new(&texture(TEXTURE_2D, format, [128, 1, 1]));
            let input = Buffer::of(&given);
            let kernel = &kernels[match kind {
                Uint => 1,
                Sint => 2,
                _ => 0,
            }];
            Queue::new()
                .run(|encoder| {
                    encoder.pipeline(kernel);
                    encoder.texture(&texture, 0);
                    encoder.buffer(&input, 0);
                    encoder.threads([128, 1, 1], [64, 1, 1]);
                })
                .assert_completed();
            let stored: Vec<u8> = texture.read(0, 0, channels * width as usize / 8);
            for (texel, given) in stored.chunks(channels * width as usize / 8).zip(&given) {
                for (c, got) in texel.chunks(width as usize / 8).enumerate() {
                    let number = as_number(kind, given[order[c]]);
                    let (got, expected) = (take(got, width), bits(kind, number, width, order[c]));
                    let nan = kind == Float && number.is_nan();
                    let same = if nan { value(kind, got, width, 0).is_nan() } else { got == expected };
                    // Where the exact value lies between two codes, the power of sRGB may round to either.
                    let near = kind == Srgb && order[c] != 3 && got.abs_diff(expected) <= 1 && {
                        let back = |code: u32| (value(Srgb, code, 8, 0) - number).abs();
                        (back(got) - back(expected)).abs() < 1e-5
                    };
                    assert!(same || near, "format {format}: {number} is stored as {got:#x}, expected {expected:#x}");
                }
            }
        }
    }
}

/// Types of members of an imageblock, what they are given, and the formats that a slice of them can be written to (MSL table 2.8; it lists
/// BGRA8Unorm for rgba8snorm too, which cannot be meant).
const SLICES: &[(&str, &str, &[u32])] = &[
    ("float", "v.x", &[55, 25, 10, 12, 20, 22]),
    ("half", "half(v.x)", &[55, 25, 10, 12, 20, 22]),
    ("float2", "v.xy", &[105, 65, 30, 32, 60, 62]),
    ("half2", "half2(v.xy)", &[105, 65, 30, 32, 60, 62]),
    ("float4", "v", &[125, 115, 70, 72, 110, 112, 90, 92, 93]),
    ("half4", "half4(v)", &[125, 115, 70, 72, 110, 112, 90, 92, 93]),
    ("r8unorm<half>", "half(v.x)", &[1, 10]),
    ("r8snorm<float>", "v.x", &[12]),
    ("r16unorm<float>", "v.x", &[20]),
    ("r16snorm<float>", "v.x", &[22]),
    ("rg8unorm<float2>", "v.xy", &[30]),
    ("rg8snorm<half2>", "half2(v.xy)", &[32]),
    ("rg16unorm<float2>", "v.xy", &[60]),
    ("rg16snorm<float2>", "v.xy", &[62]),
    ("rgba8unorm<half4>", "half4(v)", &[70, 80]),
    ("srgba8unorm<float4>", "v", &[71, 81]),
    ("rgba8snorm<half4>", "half4(v)", &[72]),
    ("rgba16unorm<float4>", "v", &[110]),
    ("rgba16snorm<float4>", "v", &[112]),
    ("rgb10a2<half4>", "half4(v)", &[90]),
    ("rg11b10f<half3>", "half3(v.xyz)", &[92]),
    ("rgb9e5<float3>", "v.xyz", &[93]),
    ("int", "i.x", &[54, 24, 14]),
    ("short", "short(i.x)", &[54, 24, 14]),
    ("int2", "i.xy", &[104, 64, 34]),
    ("short2", "short2(i.xy)", &[104, 64, 34]),
    ("int4", "i", &[124, 114, 74]),
    ("short4", "short4(i)", &[124, 114, 74]),
    ("uint", "u.x", &[53, 23, 13]),
    ("ushort", "ushort(u.x)", &[53, 23, 13]),
    ("uint2", "u.xy", &[103, 63, 33]),
    ("ushort2", "ushort2(u.xy)", &[103, 63, 33]),
    ("uint4", "u", &[123, 113, 73]),
    ("ushort4", "ushort4(u)", &[123, 113, 73]),
];

/// Members of those types, and formats that they are not for.
const MISFITS: &[(&str, &[u32])] = &[
    ("float", &[1, 11, 30, 105]),
    ("half4", &[80, 71, 105]),
    ("rgba8unorm<half4>", &[71, 72, 110, 115]),
    ("rgba8snorm<half4>", &[80]),
    ("rg16unorm<float2>", &[20, 62, 65, 70]),
    ("rgb10a2<half4>", &[70, 92]),
    ("rgb9e5<float3>", &[125]),
    ("short2", &[54, 124]),
    ("uint4", &[91, 103]),
];

/// Of what a member is given, in any conversion.
fn kind_of_slice(value: &str) -> Kind {
    match value.rsplit('(').next().and_then(|given| given.chars().next()) {
        Some('i') => Sint,
        Some('u') => Uint,
        _ => Float,
    }
}

/// Writes each member of a whole imageblock of 8 x 8 pixels to the texture of its number; what `v` gives is Float's, and so on.
fn slices() -> String {
    let of = |text: &dyn Fn(usize, &str, Kind) -> String| -> String {
        let all = SLICES.iter().enumerate();
        all.map(|(k, (ty, value, _))| text(k, ty, kind_of_slice(value))).collect()
    };
    let members = of(&|k, ty, _| format!("{ty} m{k}; "));
    let textures = of(&|k, _, kind| format!("texture2d<{}, access::write> t{k} [[texture({k})]], ", component(kind)));
    let writes = of(&|k, _, _| format!("t{k}.write(block.slice(p->m{k}), g); "));
    let fill: String = SLICES.iter().enumerate().map(|(k, (_, value, _))| format!("p->m{k} = {value}; ")).collect();
    format!(
        "struct Pixel {{ {members} }};\nkernel void run(imageblock<Pixel> block, {textures}device const uint4 *in [[buffer(0)]], \
           ushort2 l [[thread_position_in_threadgroup]], ushort2 g [[thread_position_in_grid]]) {{\n\
           uint k = l.y * 8 + l.x; float4 v = as_type<float4>(in[k]); int4 i = as_type<int4>(in[64 + k]); uint4 u = in[128 + k]; \
           threadgroup_imageblock Pixel *p = block.data(l); {fill}\n\
           threadgroup_barrier(mem_flags::mem_threadgroup_imageblock); if (k == 0) {{ {writes} }} }}"
    )
}

/// Of numbers in a texel of a packed format, by the definition of its fields (MSL 8.7); the numbers are exact in all of them but the first.
fn packed(format: u32, v: [f64; 4]) -> u32 {
    let positive = v.map(|c| c.max(0.0));
    match format {
        90 => {
            let field = |c: usize, most: f64| (positive[c].min(1.0) * most).round_ties_even() as u32;
            field(0, 1023.0) | field(1, 1023.0) << 10 | field(2, 1023.0) << 20 | field(3, 3.0) << 30
        }
        // Halves without a sign, and with fewer bits.
        92 => {
            let half = positive.map(|c| u32::from(HALF.bits(c)));
            half[0] >> 4 | half[1] >> 4 << 11 | half[2] >> 5 << 22
        }
        _ => {
            let largest = positive[..3].iter().fold(0.0f64, |a, &b| a.max(b));
            let exponent = largest.log2().floor() as i32 + 16;
            let field = |c: usize| (positive[c] * 2f64.powi(24 - exponent)) as u32;
            field(0) | field(1) << 9 | field(2) << 18 | (exponent as u32) << 27
        }
    }
}

#[test]
fn slices_of_imageblocks_are_stored_as_the_format_says() {
    let mut random = Random(3);
    // Multiples of 1/64 up to 1, the second one of either sign; integers beyond 8 bits.
    let floats: Vec<[f32; 4]> = (0..64)
        .map(|k| {
            let any: [f32; 4] = std::array::from_fn(|_| (random.bits() % 64 + 1) as f32 / 64.0);
            if k % 2 == 0 { any } else { [any[0], -any[1], any[2], any[3]] }
        })
        .collect();
    let signed: Vec<[i32; 4]> = (0..64).map(|_| std::array::from_fn(|_| (random.bits() % 1000) as i32 - 500)).collect();
    let unsigned: Vec<[u32; 4]> = (0..64).map(|_| std::array::from_fn(|_| (random.bits() % 1000) as u32)).collect();
    let words = floats.iter().map(|v| v.map(f32::to_bits));
    let words = words.chain(signed.iter().map(|v| v.map(|i| i as u32))).chain(unsigned.iter().copied());
    let given = Buffer::of(&words.collect::<Vec<[u32; 4]>>());
    let run = |pipeline: &Pipeline, formats: &dyn Fn(usize) -> u32| {
        let textures: Vec<Texture> =
            (0..SLICES.len()).map(|k| Texture::new(&texture(TEXTURE_2D, formats(k), [8, 8, 1]))).collect();
        let ran = Queue::new().run(|encoder| {
            encoder.pipeline(pipeline);
            encoder.buffer(&given, 0);
            encoder.imageblock(8, 8);
            textures.iter().enumerate().for_each(|(k, texture)| encoder.texture(texture, k));
            encoder.threads([8, 8, 1], [8, 8, 1]);
        });
        (ran, textures)
    };
    for engine in [Engine::Stack, Engine::Pass] {
        let pipeline = pipeline(load_on(&slices(), MathMode::Fast, engine));
        for round in 0..SLICES.iter().map(|slice| slice.2.len()).max().unwrap_or(0) {
            let format = |k: usize| SLICES[k].2[round % SLICES[k].2.len()];
            let (ran, textures) = run(&pipeline, &format);
            ran.assert_completed();
            for (k, texture) in textures.iter().enumerate() {
                let (format, member) = (format(k), SLICES[k].0);
                let of_pixel = |pixel: usize| -> [f64; 4] {
                    match kind_of_slice(SLICES[k].1) {
                        Sint => signed[pixel].map(f64::from),
                        Uint => unsigned[pixel].map(f64::from),
                        _ => floats[pixel].map(f64::from),
                    }
                };
                if (90..=93).contains(&format) {
                    let expected: Vec<u32> = (0..64).map(|pixel| packed(format, of_pixel(pixel))).collect();
                    assert_eq!(texture.read::<u32>(0, 0, 1), expected, "{member} in format {format}, {engine:?}");
                    continue;
                }
                let found = FORMATS.iter().find(|known| known.0 == format).expect("a format");
                let &(_, kind, channels, width, order) = found;
                let stored: Vec<u8> = texture.read(0, 0, channels * width as usize / 8);
                for (pixel, texel) in stored.chunks(channels * width as usize / 8).enumerate() {
                    let v = of_pixel(pixel);
                    for (c, got) in texel.chunks(width as usize / 8).enumerate() {
                        // The only number of A8Unorm is alpha.
                        let number = if format == 1 { v[0] } else { v[order[c]] };
                        let expected = bits(kind, number, width, order[c]);
                        let got = take(got, width);
                        assert_eq!(got, expected, "{member} in format {format}, {engine:?}: {number} of pixel {pixel}");
                    }
                }
            }
        }
        for (member, formats) in MISFITS {
            let k = SLICES.iter().position(|slice| slice.0 == *member).expect("a member");
            for wrong in *formats {
                let (ran, _) = run(&pipeline, &|other| if other == k { *wrong } else { SLICES[other].2[0] });
                let (code, text) = ran.error().expect("an error");
                assert_eq!(code, 9, "{member} in format {wrong}: {text}");
                assert!(text.contains("a slice of an imageblock whose type is not one"), "{member} in {wrong}: {text}");
            }
        }
    }
}

/// RGB10A2Unorm: red in the lowest bits.
#[test]
fn ten_bits_are_packed() {
    let texture = Texture::new(&texture(TEXTURE_2D, 90, [2, 1, 1]));
    texture.write(0, 0, &[1023u32 | 341 << 10 | 2 << 30, 512 << 20]);
    let pipeline = compile(
        "kernel void run(texture2d<float, access::read_write> t [[texture(0)]], device float4 *out [[buffer(0)]]) {
            out[0] = t.read(uint2(0)); out[1] = t.read(uint2(1, 0)); t.write(float4(0.25, 2, -1, 0.6), uint2(0)); t.fence(); out[2] = t.read(uint2(0)); }",
        MathMode::Fast,
    );
    let out = Buffer::new(48);
    one(&pipeline, &[(&texture, 0)], &out);
    let third = (2.0f64 / 3.0) as f32;
    assert_eq!(
        out.read::<[f32; 4]>()[..2],
        [[1.0, (341.0f64 / 1023.0) as f32, 0.0, third], [0.0, 0.0, (512.0f64 / 1023.0) as f32, 0.0]]
    );
    assert_eq!(out.read::<[f32; 4]>()[2], [(256.0f64 / 1023.0) as f32, 1.0, 0.0, third]);
    assert_eq!(texture.read::<u32>(0, 0, 1)[0], 256 | 1023 << 10 | 2 << 30);
}

/// One thread with textures and a buffer at index 0.
fn one(pipeline: &Pipeline, textures: &[(&Texture, usize)], out: &Buffer) {
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(pipeline);
            for (texture, index) in textures {
                encoder.texture(texture, *index);
            }
            encoder.buffer(out, 0);
            encoder.threads([1, 1, 1], [1, 1, 1]);
        })
        .assert_completed();
}

/// What a read outside gives: 0 for what the format has, for the rest of its components their defaults, of which alpha's is 1 (MSL 6.12).
#[test]
fn reads_outside_give_zero_and_the_defaults_of_the_format() {
    let kernels = [Float, Uint, Sint].map(|kind| {
        let ty = component(kind);
        compile(
            &format!(
                "kernel void run(texture2d<{ty}> t [[texture(0)]], device {ty}4 *out [[buffer(0)]]) {{
                out[0] = t.read(uint2(100, 0)); out[1] = t.read(uint2(0, 2)); out[2] = t.read(uint2(0), 1); }}"
            ),
            MathMode::Fast,
        )
    });
    // Besides those: B5G6R5Unorm, BGR5A1Unorm, RGB10A2Unorm and -Uint, RG11B10Float, RGB9E5Float.
    let fields = [(40, Unorm, 3), (43, Unorm, 4), (90, Unorm, 4), (91, Uint, 4), (92, Float, 3), (93, Float, 3)];
    let whole = FORMATS.iter().map(|&(format, kind, channels, _, order)| (format, kind, channels.max(order[0] + 1)));
    for (format, kind, channels) in whole.chain(fields) {
        let texture = Texture::new(&texture(TEXTURE_2D, format, [4, 2, 1]));
        let out = Buffer::of(&[7u32; 12]);
        let kernel = &kernels[match kind {
            Uint => 1,
            Sint => 2,
            _ => 0,
        }];
        one(kernel, &[(&texture, 0)], &out);
        let alpha = if channels == 4 { 0.0 } else { 1.0 };
        let got = out.read::<[u32; 4]>().iter().map(|v| v.map(|bits| as_number(kind, bits))).collect::<Vec<_>>();
        assert_eq!(got, [[0.0, 0.0, 0.0, alpha]; 3], "format {format}");
    }
}

/// Writes outside change nothing: a texture's neighbours in memory hold their values.
#[test]
fn accesses_outside_are_contained() {
    let bytes = Buffer::of(&[9.0f32; 64]);
    // Four texels a row of eight, two rows: gaps and neighbours in the buffer.
    let texture = Texture::linear(&bytes, &texture(TEXTURE_2D, R32_FLOAT, [4, 2, 1]), 64, 32).expect("it fits");
    let pipeline = compile(
        "kernel void run(texture2d<float, access::read_write> t [[texture(0)]], device float4 *out [[buffer(0)]]) {
            const uint2 at[] = { uint2(4, 0), uint2(0, 2), uint2(~0u, 0), uint2(0, ~0u), uint2(~0u), uint2(1u << 30, 1) };
            for (uint i = 0; i < 6; i++) { t.write(float4(5), at[i]); t.write(float4(5), uint2(0), 1 + i); out[i] = t.read(at[i]); }
            out[6] = t.read(uint2(0), 1); out[7] = t.read(uint2(3, 1)); }",
        MathMode::Fast,
    );
    let out = Buffer::of(&[[7.0f32; 4]; 8]);
    one(&pipeline, &[(&texture, 0)], &out);
    assert_eq!(bytes.read::<f32>(), [9.0; 64]);
    assert_eq!(out.read::<[f32; 4]>()[..7], [[0.0, 0.0, 0.0, 1.0]; 7]);
    assert_eq!(out.read::<[f32; 4]>()[7], [9.0, 0.0, 0.0, 1.0]);
}

#[test]
fn a_texture_buffer_is_a_row_of_the_buffer() {
    let bytes = Buffer::of(&[0u32, 0, 0, 0, 10, 20, 30, 40, 50, 60]);
    let descriptor = texture(TEXTURE_BUFFER, R32_UINT, [5, 1, 1]);
    let texture = Texture::linear(&bytes, &descriptor, 16, 32).err();
    assert_eq!(texture.as_deref(), Some("(offset + bytesPerRow * height) must be <= [buffer length]."));
    let texture =
        Texture::linear(&bytes, &HMTextureDescriptor { size: [4, 1, 1], ..descriptor }, 16, 16).expect("it fits");
    let pipeline = compile(
        "kernel void run(texture_buffer<uint, access::read_write> t [[texture(0)]], device uint4 *out [[buffer(0)]]) {
            int last = 4; t.write(uint4(76), 1); t.atomic_fetch_add(1, uint4(1)); t.write(uint4(78), last);
            out[0] = uint4(t.read(0).x, t.read(ushort(1)).x, t.read(last).x, t.get_width()); }",
        MathMode::Fast,
    );
    let out = Buffer::new(16);
    one(&pipeline, &[(&texture, 0)], &out);
    assert_eq!(out.read::<u32>(), [10, 77, 0, 4]);
    assert_eq!(bytes.read::<u32>()[4..], [10, 77, 30, 40, 50, 60]);
}

/// A texture that a function constant switches off is not bound, and says so.
#[test]
fn a_texture_may_be_switched_off() {
    let pipeline = compile(
        "constant bool given [[function_constant(0)]];
         constant bool on = is_function_constant_defined(given) && given;
         kernel void run(texture2d<float> t [[texture(0), function_constant(on)]], texture2d<float> u [[texture(1)]],
            sampler s [[sampler(0), function_constant(on)]], device float4 *out [[buffer(0)]]) {
            if (on) out[1] = t.sample(s, float2(0));
            out[0] = float4(is_null_texture(t), is_null_texture(u), u.read(uint2(0)).x, on); }",
        MathMode::Fast,
    );
    let texture = Texture::new(&texture(TEXTURE_2D, R32_FLOAT, [1, 1, 1]));
    texture.write(0, 0, &[5.0f32]);
    let out = Buffer::new(32);
    one(&pipeline, &[(&texture, 1)], &out);
    assert_eq!(out.read::<f32>(), [1.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

/// Arrays of textures, which follow each other in the argument table, and arguments without an index.
#[test]
fn arrays_of_textures_take_indices_in_a_row() {
    let textures: Vec<Texture> = (0..4)
        .map(|i| {
            let texture = Texture::new(&texture(TEXTURE_2D, R32_FLOAT, [1, 1, 1]));
            texture.write(0, 0, &[i as f32]);
            texture
        })
        .collect();
    let pipeline = compile(
        "float sum(array<texture2d<float, access::read>, 3> many) { float s = 0; for (uint i = 0; i < many.size(); i++) s = s * 10 + many[i].read(uint2(0)).x; return s; }
         kernel void run(array<texture2d<float, access::read>, 3> many, texture2d<float> last, device float4 *out [[buffer(0)]]) {
            out[0] = float4(sum(many), last.read(uint2(0)).x, is_null_texture(last), 0); }",
        MathMode::Fast,
    );
    let out = Buffer::new(16);
    let bound: Vec<(&Texture, usize)> = textures.iter().zip([1, 0, 2, 3]).collect();
    one(&pipeline, &bound, &out);
    assert_eq!(out.read::<f32>(), [102.0, 3.0, 0.0, 0.0]);
}

/// Threads of a threadgroup that wait for each other keep their textures.
#[test]
fn textures_live_across_barriers() {
    let pipeline = compile(
        "kernel void run(texture2d<float, access::read_write> t [[texture(0)]], device float4 *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
            t.write(float4(i), uint2(i, 0)); t.fence(); threadgroup_barrier(mem_flags::mem_texture); out[i] = t.read(uint2(63 - i, 0)); }",
        MathMode::Fast,
    );
    let texture = Texture::new(&texture(TEXTURE_2D, R32_FLOAT, [64, 1, 1]));
    let out = Buffer::new(64 * 16);
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.texture(&texture, 0);
            encoder.buffer(&out, 0);
            encoder.threads([64, 1, 1], [64, 1, 1]);
        })
        .assert_completed();
    let got: Vec<f32> = out.read::<[f32; 4]>().iter().map(|v| v[0]).collect();
    assert_eq!(got, (0..64).rev().map(|i| i as f32).collect::<Vec<_>>());
}
