//! Swizzles of textures: what kernels read, sample and gather are the components of the texture as it is, in another order.
//! That the former are right, the other tests of textures say.

use crate::stdlib::*;
use crate::support::*;
use hostmetal::ffi::{HMSampler, HMTextureDescriptor};
use hostmetal::msl::MathMode;

/// MTLTextureSwizzle.
const ZERO: u8 = 0;
const ONE: u8 = 1;
const RED: u8 = 2;
const GREEN: u8 = 3;
const BLUE: u8 = 4;
const ALPHA: u8 = 5;

/// MTLPixelFormat, bytes of a texel, and whether it holds integers.
const FORMATS: &[(u32, usize, bool)] = &[
    (1, 1, false),
    (10, 1, false),
    (65, 4, false),
    (70, 4, false),
    (71, 4, false),
    (80, 4, false),
    (92, 4, false),
    (94, 4, false),
    (125, 16, false),
    (53, 4, true),
    (63, 4, true),
    (73, 4, true),
    (91, 4, true),
    (123, 16, true),
];

const SWIZZLES: &[[u8; 4]] = &[
    AS_THEY_ARE,
    [RED, RED, RED, ONE],
    [ALPHA, BLUE, GREEN, RED],
    [ZERO, ONE, RED, GREEN],
    [BLUE, ALPHA, ZERO, BLUE],
    [ONE, ONE, ONE, ZERO],
    [GREEN, RED, ALPHA, ONE],
    [ZERO; 4],
];

/// What becomes of components.
fn swizzled<T: Copy>(swizzle: [u8; 4], of: [T; 4], zero: T, one: T) -> [T; 4] {
    swizzle.map(|from| match from {
        ZERO => zero,
        ONE => one,
        RED => of[0],
        GREEN => of[1],
        BLUE => of[2],
        _ => of[3],
    })
}

/// Reads, samples and gathers of both textures at texel i, as bits.
fn pipeline_of(integers: bool, filtered: bool) -> Pipeline {
    let (kind, filter) = (if integers { "uint" } else { "float" }, if filtered { "linear" } else { "nearest" });
    compile(
        &format!(
            "template <class T> void all(T t, sampler s, device uint4 *out, uint i) {{
                uint2 at(i % 3, i / 3);
                float2 place = float2(at) + float2(0.25, 0.5);
                out[0] = as_type<uint4>(t.read(at));
                out[1] = as_type<uint4>(t.sample(s, place));
                out[2] = as_type<uint4>(t.sample(s, place + 40));
                out[3] = as_type<uint4>(t.gather(s, place, int2(0), component::x));
                out[4] = as_type<uint4>(t.gather(s, place, int2(0), component::y));
                out[5] = as_type<uint4>(t.gather(s, place, int2(0), component::z));
                out[6] = as_type<uint4>(t.gather(s, place, int2(0), component::w));
                out[7] = as_type<uint4>(t.read(at + 7));
            }}
            kernel void run(texture2d<{kind}> plain [[texture(0)]], texture2d<{kind}> other [[texture(1)]], device uint4 *out [[buffer(0)]],
                            uint i [[thread_position_in_grid]]) {{
                constexpr sampler s(coord::pixel, address::clamp_to_border, border_color::opaque_white, filter::{filter});
                all(plain, s, out + 16 * i, i);
                all(other, s, out + 16 * i + 8, i);
            }}"
        ),
        MathMode::Safe,
    )
}

#[test]
fn what_is_read_is_in_the_order_of_the_swizzle() {
    let mut random = Random(17);
    for &integers in &[false, true] {
        for filtered in [false, true] {
            let pipeline = pipeline_of(integers, filtered);
            for &(format, size, _) in FORMATS.iter().filter(|format| format.2 == integers) {
                let plain = Texture::new(&texture(TEXTURE_2D, format, [3, 3, 1]));
                // No NaN of a float, which may get other bits.
                let texels: Vec<u8> = (0..9 * size).map(|_| random.bits() as u8 & 0x3b).collect();
                plain.write(0, 0, &texels);
                for &swizzle in SWIZZLES {
                    let own = HMTextureDescriptor { usage: 1, swizzle, ..texture(TEXTURE_2D, format, [3, 3, 1]) };
                    let own = Texture::new(&own);
                    own.write(0, 0, &texels);
                    let view = plain.swizzled(format, TEXTURE_2D, [0, 1], [0, 1], swizzle).expect("a view");
                    for (name, other) in [("texture", &own), ("view", &view)] {
                        let out = Buffer::new(9 * 16 * 16);
                        Queue::new()
                            .run(|encoder| {
                                encoder.pipeline(&pipeline);
                                encoder.texture(&plain, 0);
                                encoder.texture(other, 1);
                                encoder.buffer(&out, 0);
                                encoder.threads([9, 1, 1], [9, 1, 1]);
                            })
                            .assert_completed();
                        let found: Vec<[u32; 4]> = out.read();
                        let one = if integers { 1 } else { 1f32.to_bits() };
                        for (texel, all) in found.chunks(16).enumerate() {
                            let (before, after) = all.split_at(8);
                            let told = |what: &str| {
                                format!("{what} of texel {texel}, format {format}, {swizzle:?} of a {name}")
                            };
                            for (i, what) in ["a read", "a sample", "the border"].into_iter().enumerate() {
                                let expected = swizzled(swizzle, before[i], 0, one);
                                for c in 0..4 {
                                    // A one is filtered as other numbers are.
                                    let near = filtered && !integers && swizzle[c] == ONE && {
                                        (f32::from_bits(after[i][c]) - 1.0).abs() < 1e-6
                                    };
                                    assert!(near || after[i][c] == expected[c], "{}: {:x?}", told(what), after[i]);
                                }
                            }
                            let mut gathered = [[0; 4]; 4];
                            gathered.copy_from_slice(&before[3..7]);
                            assert_eq!(
                                after[3..7],
                                swizzled(swizzle, gathered, [0; 4], [one; 4]),
                                "{}",
                                told("gathers")
                            );
                            let outside = swizzled(swizzle, before[7], 0, one);
                            assert_eq!(after[7], outside, "{}", told("what is outside"));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_view_of_a_view_has_the_swizzle_of_both() {
    // The first is Apple's example (newTextureViewWithPixelFormat:textureType:levels:slices:swizzle:).
    let cases = [
        ([RED, ONE, ONE, GREEN], [RED, GREEN, ALPHA, BLUE], [RED, ONE, GREEN, ONE]),
        ([ALPHA, ALPHA, BLUE, ZERO], [ONE, RED, BLUE, ALPHA], [ONE, ALPHA, BLUE, ZERO]),
        ([BLUE, GREEN, RED, ALPHA], AS_THEY_ARE, [BLUE, GREEN, RED, ALPHA]),
    ];
    let pipeline = compile(
        "kernel void run(texture2d<float> t [[texture(0)]], device float4 *out [[buffer(0)]]) { out[0] = t.read(uint2(0)); }",
        MathMode::Safe,
    );
    for (first, second, both) in cases {
        let texture = Texture::new(&texture(TEXTURE_2D, 125, [1, 1, 1]));
        texture.write(0, 0, &[[2.0f32, 3.0, 4.0, 5.0]]);
        let middle = texture.swizzled(125, TEXTURE_2D, [0, 1], [0, 1], first).expect("a view");
        let last = middle.swizzled(125, TEXTURE_2D, [0, 1], [0, 1], second).expect("a view");
        let out = Buffer::new(16);
        Queue::new()
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.texture(&last, 0);
                encoder.buffer(&out, 0);
                encoder.threads([1, 1, 1], [1, 1, 1]);
            })
            .assert_completed();
        // The components were set to the numbers of their swizzles.
        assert_eq!(out.read::<[f32; 4]>()[0], both.map(f32::from), "{first:?}, {second:?}");
    }
}

#[test]
fn a_comparison_is_with_what_red_gives() {
    let pipeline = compile(
        "kernel void run(depth2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device float *out [[buffer(0)]]) {
            out[0] = t.sample_compare(s, float2(0.5), 0.5); out[1] = t.read(uint2(0)); }",
        MathMode::Safe,
    );
    let depth = Texture::new(&HMTextureDescriptor { usage: 1, ..texture(TEXTURE_2D, 252, [1, 1, 1]) });
    depth.write(0, 0, &[0.75f32]);
    // Less: 0.5 < 0.75. Nothing is less than zero.
    let less = HMSampler { bits: 0o111 | 1 << 18, lod_min: 0.0, lod_max: f32::MAX, lod_bias: 0.0 };
    for (swizzle, expected) in
        [(AS_THEY_ARE, [1.0, 0.75]), ([RED, RED, RED, ONE], [1.0, 0.75]), ([ZERO, RED, RED, ONE], [0.0, 0.0])]
    {
        let view = depth.swizzled(252, TEXTURE_2D, [0, 1], [0, 1], swizzle).expect("a view");
        let out = Buffer::new(8);
        Queue::new()
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.texture(&view, 0);
                encoder.sampler(&less, 0);
                encoder.buffer(&out, 0);
                encoder.threads([1, 1, 1], [1, 1, 1]);
            })
            .assert_completed();
        assert_eq!(out.read::<f32>(), expected, "{swizzle:?}");
    }
}
