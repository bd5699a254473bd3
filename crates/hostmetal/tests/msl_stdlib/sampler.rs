//! Sampling, against the formulas of OpenCL C 3.0 8.2 in double precision: all address modes, filters, kinds of
//! coordinates, in one to three dimensions, over sizes from 1 on; levels, offsets, gather, borders.
//!
//! Coordinates are of two sorts: multiples of 1/64, for which all products and differences are exact, so that the texel
//! is known for certain; and any floats, where a texel is not compared when the coordinate is next to its edge.

use crate::stdlib::*;
use crate::support::*;
use hostmetal::ffi::HMSampler;
use hostmetal::msl::MathMode;

const RGBA32_FLOAT: u32 = 125;
const RGBA32_UINT: u32 = 123;
const R32_FLOAT: u32 = 55;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Address {
    Zero,
    Edge,
    Repeat,
    Mirror,
    Border,
}
use Address::{Border, Edge, Mirror, Repeat, Zero};

const MODES: [Address; 5] = [Zero, Edge, Repeat, Mirror, Border];

#[derive(Clone, Copy, Debug)]
struct Sampler {
    address: [Address; 3],
    linear: bool,
    pixel: bool,
    /// Of the border: transparent black, opaque black, opaque white.
    color: u32,
}

impl Sampler {
    fn packed(&self) -> HMSampler {
        let [s, t, r] = self.address.map(|mode| mode as u32);
        let filter = u32::from(self.linear) * 0b101;
        let bits = s | t << 3 | r << 6 | filter << 9 | u32::from(self.pixel) << 15 | self.color << 16;
        HMSampler { bits, lod_min: 0.0, lod_max: f32::MAX, lod_bias: 0.0 }
    }
}

/// One axis after 8.2: the texels and the weight of the second. None is the border.
fn axis(s: f64, size: i64, mode: Address, sampler: &Sampler, offset: i64) -> ([Option<i64>; 2], f64, f64) {
    let w = size as f64;
    let u = match mode {
        _ if sampler.pixel => s,
        Repeat => (s - s.floor()) * w,
        // "s' = 2.0f * rint(0.5f * s); s' = fabs(s - s'); u = s' * w"; an offset needs the unfolded place.
        Mirror if offset == 0 => (s - 2.0 * (0.5 * s).round_ties_even()).abs() * w,
        _ => s * w,
    };
    let at = if sampler.linear { u - 0.5 } else { u };
    let first = at.floor() as i64 + offset;
    let place = |i: i64| match mode {
        Repeat => Some(i.rem_euclid(size)),
        Mirror if offset == 0 => Some(i.clamp(0, size - 1)),
        Mirror => {
            let i = i.rem_euclid(2 * size);
            Some(if i < size { i } else { 2 * size - 1 - i })
        }
        Edge => Some(i.clamp(0, size - 1)),
        Zero | Border => (0..size).contains(&i).then_some(i),
    };
    ([place(first), place(first + 1)], at - at.floor(), u)
}

/// A 1D, 2D or 3D image of four channels.
struct Image {
    size: [i64; 3],
    texels: Vec<[f32; 4]>,
}

impl Image {
    fn random(size: [i64; 3], random: &mut Random) -> Image {
        let count = size.iter().product::<i64>();
        let texels = (0..count).map(|_| std::array::from_fn(|_| random.between(-4.0, 4.0))).collect();
        Image { size, texels }
    }

    fn texel(&self, at: [Option<i64>; 3], sampler: &Sampler) -> [f64; 4] {
        let [Some(x), Some(y), Some(z)] = at else {
            let missed = at.iter().position(Option::is_none).expect("one is outside");
            let color = if sampler.address[missed] == Border { sampler.color } else { 0 };
            return [[0.0; 4], [0.0, 0.0, 0.0, 1.0], [1.0; 4]][color as usize];
        };
        self.texels[((z * self.size[1] + y) * self.size[0] + x) as usize].map(f64::from)
    }

    /// The value, and whether the coordinate is too near a texel's edge to tell which texel is nearest.
    fn sample(&self, s: [f32; 3], dimensions: usize, sampler: &Sampler, offset: [i64; 3]) -> ([f64; 4], bool) {
        let mut axes = [([Some(0), Some(0)], 0.0); 3];
        let mut doubtful = false;
        for d in 0..dimensions {
            let (texels, weight, u) = axis(f64::from(s[d]), self.size[d], sampler.address[d], sampler, offset[d]);
            axes[d] = (texels, if sampler.linear { weight } else { 0.0 });
            doubtful |= (u - u.round()).abs() < 1e-4 && u != u.round();
        }
        let mut sum = [0.0; 4];
        for corner in 0..8 {
            let side = |d: usize| corner >> d & 1;
            let weight: f64 = (0..3).map(|d| if side(d) == 1 { axes[d].1 } else { 1.0 - axes[d].1 }).product();
            if weight == 0.0 {
                continue;
            }
            let texel = self.texel(std::array::from_fn(|d| axes[d].0[side(d)]), sampler);
            for (sum, value) in sum.iter_mut().zip(texel) {
                *sum += weight * value;
            }
        }
        (sum, doubtful && !sampler.linear)
    }
}

fn kernel(dimensions: usize, offset: [i64; 3], mode: MathMode) -> Pipeline {
    let [x, y, z] = offset;
    let (kind, coordinate, shift) = match dimensions {
        1 => ("texture1d", "at[i].x", String::new()),
        2 => ("texture2d", "at[i].xy", format!(", int2({x}, {y})")),
        _ => ("texture3d", "at[i].xyz", format!(", int3({x}, {y}, {z})")),
    };
    compile(
        &format!(
            "kernel void run({kind}<float> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *at [[buffer(0)]],
                device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {{ out[i] = t.sample(s, {coordinate}{shift}); }}"
        ),
        mode,
    )
}

fn run_kernel(pipeline: &Pipeline, texture: &Texture, sampler: &HMSampler, at: &[[f32; 4]]) -> Vec<[f32; 4]> {
    let (coordinates, out) = (Buffer::of(at), Buffer::new(size_of_val(at) as u64));
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(pipeline);
            encoder.texture(texture, 0);
            encoder.sampler(sampler, 0);
            encoder.buffer(&coordinates, 0);
            encoder.buffer(&out, 1);
            encoder.threads([at.len() as u64, 1, 1], [64, 1, 1]);
        })
        .assert_completed();
    let mut values: Vec<[f32; 4]> = out.read();
    values.truncate(at.len());
    values
}

/// Exact coordinates, then any.
fn coordinates(random: &mut Random, size: [i64; 3], pixel: bool) -> Vec<[f32; 4]> {
    let one = |random: &mut Random, exact: bool, extent: i64| {
        let s = if exact { (random.between(-3.0, 3.0) * 64.0).round() / 64.0 } else { random.between(-3.0, 3.0) };
        if pixel { s * extent as f32 } else { s }
    };
    (0..96).map(|i| std::array::from_fn(|d| if d < 3 { one(random, i < 64, size[d]) } else { 0.0 })).collect()
}

fn compare(pipeline: &Pipeline, dimensions: usize, sampler: &Sampler, offset: [i64; 3], random: &mut Random) {
    let extent = |random: &mut Random, d: usize| {
        if d < dimensions { [1, 2, 3, 5, 16][random.bits() as usize % 5] } else { 1 }
    };
    let image = Image::random(std::array::from_fn(|d| extent(random, d)), random);
    let kind = [TEXTURE_1D, TEXTURE_2D, TEXTURE_3D][dimensions - 1];
    let texture = Texture::new(&texture(kind, RGBA32_FLOAT, image.size.map(|n| n as u64)));
    texture.write(0, 0, &image.texels);
    let at = coordinates(random, image.size, sampler.pixel);
    let got = run_kernel(pipeline, &texture, &sampler.packed(), &at);
    for (at, got) in at.iter().zip(got) {
        let (expected, doubtful) = image.sample([at[0], at[1], at[2]], dimensions, sampler, offset);
        let near = got.iter().zip(expected).all(|(got, expected)| (f64::from(*got) - expected).abs() < 5e-4);
        assert!(
            near || doubtful,
            "{sampler:?} offset {offset:?} size {:?} at {at:?}: {got:?}, expected {expected:?}",
            image.size
        );
    }
}

#[test]
fn samples_are_what_the_formulas_say() {
    let mut random = Random(1);
    for mode in ALL_MODES {
        for dimensions in 1..=3 {
            let pipeline = kernel(dimensions, [0; 3], mode);
            for linear in [false, true] {
                for first in MODES {
                    for color in 0..3 {
                        let pick = |random: &mut Random| MODES[random.bits() as usize % 5];
                        let address = [first, pick(&mut random), pick(&mut random)];
                        let sampler = Sampler { address, linear, pixel: false, color };
                        compare(&pipeline, dimensions, &sampler, [0; 3], &mut random);
                    }
                }
                for first in [Zero, Edge, Border] {
                    let pick = |random: &mut Random| [Zero, Edge, Border][random.bits() as usize % 3];
                    let address = [first, pick(&mut random), pick(&mut random)];
                    let sampler = Sampler { address, linear, pixel: true, color: 2 };
                    compare(&pipeline, dimensions, &sampler, [0; 3], &mut random);
                }
            }
        }
    }
}

#[test]
fn offsets_move_by_texels() {
    let mut random = Random(2);
    for offset in [[-8, 7, 1], [3, -1, -5]] {
        for dimensions in 2..=3 {
            let pipeline = kernel(dimensions, offset, MathMode::Fast);
            for linear in [false, true] {
                for mode in MODES {
                    let sampler = Sampler { address: [mode; 3], linear, pixel: false, color: 1 };
                    compare(&pipeline, dimensions, &sampler, offset, &mut random);
                }
            }
        }
    }
}

/// Coordinates that are no place at all, or far away, give some texel or the border and touch nothing else.
#[test]
fn no_coordinate_reaches_outside() {
    let at: Vec<[f32; 4]> = [f32::NAN, f32::INFINITY, -f32::INFINITY, 1e30, -1e30, 1e10, f32::MIN_POSITIVE, -0.0]
        .iter()
        .flat_map(|&s| [[s, 0.5, 0.5, 0.0], [0.5, s, 0.5, 0.0], [s, s, s, 0.0]])
        .collect();
    for dimensions in 1..=3 {
        let kind = [TEXTURE_1D, TEXTURE_2D, TEXTURE_3D][dimensions - 1];
        let size = [3, if dimensions > 1 { 2 } else { 1 }, if dimensions > 2 { 5 } else { 1 }];
        let texture = Texture::new(&texture(kind, RGBA32_FLOAT, size));
        texture.write(0, 0, &vec![[7.0f32; 4]; size.iter().product::<u64>() as usize]);
        for offset in [[0; 3], [7, -8, 3]] {
            let pipeline = kernel(dimensions, offset, MathMode::Fast);
            for mode in MODES {
                for linear in [false, true] {
                    let sampler = Sampler { address: [mode; 3], linear, pixel: false, color: 0 };
                    for value in run_kernel(&pipeline, &texture, &sampler.packed(), &at).concat() {
                        assert!((0.0..=7.0).contains(&value), "{sampler:?}: {value}");
                    }
                }
            }
        }
    }
}

/// A sampler of the source does what a bound one does: every parameter.
#[test]
fn samplers_of_the_source_and_of_the_host_agree() {
    let mut random = Random(3);
    let image = Image::random([5, 4, 1], &mut random);
    let texture = Texture::new(&texture(TEXTURE_2D, RGBA32_FLOAT, [5, 4, 1]));
    texture.write(0, 0, &image.texels);
    let plain = Sampler { address: [Edge; 3], linear: false, pixel: false, color: 0 };
    let cases: &[(&str, Sampler)] = &[
        ("", plain),
        ("coord::normalized, address::clamp_to_edge, filter::nearest, mip_filter::none, compare_func::never", plain),
        ("filter::linear", Sampler { linear: true, ..plain }),
        ("mag_filter::linear, min_filter::nearest, max_anisotropy(4)", Sampler { linear: true, ..plain }),
        ("coord::pixel, address::clamp_to_zero", Sampler { pixel: true, address: [Zero; 3], ..plain }),
        ("address::repeat, t_address::mirrored_repeat", Sampler { address: [Repeat, Mirror, Repeat], ..plain }),
        (
            "s_address::clamp_to_border, t_address::clamp_to_zero, border_color::opaque_white",
            Sampler { address: [Border, Zero, Edge], color: 2, ..plain },
        ),
        ("r_address::repeat, lod_clamp(0.0f, 4.0f)", Sampler { address: [Edge, Edge, Repeat], ..plain }),
    ];
    for in_function in [true, false] {
        for (settings, sampler) in cases {
            let declared = if settings.is_empty() { "fixed".to_owned() } else { format!("fixed({settings})") };
            let declared = format!("constexpr sampler {declared};\n");
            let (outer, inner) = if in_function { ("", &*declared) } else { (&*declared, "") };
            let pipeline = compile(
                &format!(
                    "{outer}kernel void run(texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *at [[buffer(0)]],
                        device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {{ {inner} out[i] = t.sample(fixed, at[i].xy); }}"
                ),
                MathMode::Safe,
            );
            let at = coordinates(&mut random, image.size, sampler.pixel);
            for (at, got) in at.iter().zip(run_kernel(&pipeline, &texture, &plain.packed(), &at)) {
                let (expected, doubtful) = image.sample([at[0], at[1], at[2]], 2, sampler, [0; 3]);
                let near = got.iter().zip(expected).all(|(got, expected)| (f64::from(*got) - expected).abs() < 5e-4);
                assert!(near || doubtful, "{settings:?} at {at:?}: {got:?}, expected {expected:?}");
            }
        }
    }
}

/// Texels that hold their level's number show which levels a sample used.
#[test]
fn levels_are_chosen_and_mixed() {
    let mut descriptor = texture(TEXTURE_2D, R32_FLOAT, [16, 8, 1]);
    descriptor.levels = 5;
    let texture = Texture::new(&descriptor);
    for level in 0..5 {
        let count = (16 >> level).max(1) * (8usize >> level).max(1);
        texture.write(0, level, &vec![level as f32; count]);
    }
    let pipeline = compile(
        "kernel void run(texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *at [[buffer(0)]],
            device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
            out[i] = float4(t.sample(s, at[i].xy, level(at[i].z)).x, t.read(uint2(0), uint(at[i].w)).x, t.get_width(uint(at[i].w)), t.sample(s, at[i].xy).x); }",
        MathMode::Fast,
    );
    let levels = [-1.0f32, 0.0, 0.4, 0.5, 1.25, 2.5, 3.75, 4.0, 9.0];
    let at: Vec<[f32; 4]> = levels.iter().enumerate().map(|(i, &l)| [0.5, 0.5, l, i as f32]).collect();
    let run = |mip: u32, lod_min: f32, lod_max: f32| {
        let sampler = HMSampler { bits: 0o111 | mip << 13, lod_min, lod_max, lod_bias: 0.0 };
        run_kernel(&pipeline, &texture, &sampler, &at)
    };
    let column = |values: &[[f32; 4]], c: usize| values.iter().map(|v| v[c]).collect::<Vec<_>>();
    let (none, nearest, linear) = (run(0, 0.0, 99.0), run(1, 0.0, 99.0), run(2, 0.0, 99.0));
    assert_eq!(column(&none, 0), [0.0; 9]);
    assert_eq!(column(&nearest, 0), [0.0, 0.0, 0.0, 1.0, 1.0, 3.0, 4.0, 4.0, 4.0]);
    assert_eq!(column(&linear, 0), [0.0, 0.0, 0.4, 0.5, 1.25, 2.5, 3.75, 4.0, 4.0]);
    assert_eq!(column(&run(2, 0.75, 2.5), 0), [0.75, 0.75, 0.75, 0.75, 1.25, 2.5, 2.5, 2.5, 2.5]);
    // Without level() the lod is 0, before the clamp. A level that is not there reads as 0.
    assert_eq!(column(&run(2, 0.75, 2.5), 3), [0.75; 9]);
    assert_eq!(column(&none, 1), [0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(column(&none, 2)[..5], [16.0, 8.0, 4.0, 2.0, 1.0]);
}

/// The sampler's own bias comes before its clamps, and `min_lod_clamp` behind it.
#[test]
fn a_samplers_bias_is_added_to_every_level_of_detail() {
    let mut descriptor = texture(TEXTURE_2D, R32_FLOAT, [16, 16, 1]);
    descriptor.levels = 5;
    let texture = Texture::new(&descriptor);
    for level in 0..5 {
        texture.write(0, level, &vec![level as f32; (16 >> level) * (16 >> level)]);
    }
    let forms = "t.sample(s, at), t.sample(s, at, level(1.25f)), t.sample(s, at, bias(1.25f)), t.sample(s, at, min_lod_clamp(1.25f)),
        t.sample(s, at, gradient2d(float2(0.125f, 0), float2(0))), t.sample(s, at, gradient2d(float2(0.125f, 0), float2(0)), min_lod_clamp(2.0f))";
    let pipeline = compile(
        &format!(
            "kernel void run(texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *in [[buffer(0)]],
            device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {{
            float2 at = in[i].xy; float4 all[] = {{{forms}}}; out[i] = float4(all[i % 6].x); }}"
        ),
        MathMode::Fast,
    );
    for lod_bias in [-16.0f32, -1.5, -0.25, 0.0, 0.75, 2.0, 15.984_375] {
        for (lod_min, lod_max) in [(0.0f32, 9.0f32), (0.5, 2.5)] {
            let sampler = HMSampler { bits: 0o111 | 2 << 13, lod_min, lod_max, lod_bias };
            let got = run_kernel(&pipeline, &texture, &sampler, &[[0.5; 4]; 6]);
            let biased = |lod: f32, least: f32| (lod + lod_bias).max(least).clamp(lod_min, lod_max).clamp(0.0, 4.0);
            let none = f32::NEG_INFINITY;
            let expected = [(0.0, none), (1.25, none), (1.25, none), (0.0, 1.25), (1.0, none), (1.0, 2.0)];
            let expected = expected.map(|(lod, least)| biased(lod, least));
            assert_eq!(got.iter().map(|v| v[0]).collect::<Vec<_>>(), expected, "{lod_bias} in {lod_min} to {lod_max}");
        }
    }
}

/// Of the texels that a filtered sample has, with a weight that is not 0, in both levels.
#[test]
fn a_reduction_is_the_least_or_the_greatest_texel() {
    let mut random = Random(7);
    let mut descriptor = texture(TEXTURE_2D, RGBA32_FLOAT, [8, 4, 1]);
    descriptor.levels = 2;
    let texture = Texture::new(&descriptor);
    let levels: [(usize, usize, Vec<[f32; 4]>); 2] = [(8, 4), (4, 2)].map(|(width, height)| {
        let texel = || [(); 4].map(|()| (random.bits() % 4096) as f32 - 2048.0);
        (width, height, std::iter::repeat_with(texel).take(width * height).collect())
    });
    for (level, (.., texels)) in levels.iter().enumerate() {
        texture.write(0, level as u64, texels);
    }
    let pipeline = compile(
        "kernel void run(texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *at [[buffer(0)]],
            device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] = t.sample(s, at[i].xy, level(at[i].z)); }",
        MathMode::Fast,
    );
    // Every 32nd of the texture, so that all is exact, and weights of 0 come up; beyond the edges too.
    let at: Vec<[f32; 4]> = (-4..36)
        .flat_map(|x| {
            (-4..36).map(move |y| [x as f32 / 32.0, y as f32 / 32.0, [0.0, 0.5, 1.0][(x + y + 8) as usize % 3], 0.0])
        })
        .collect();
    for reduction in [1u32, 2] {
        let bits = 0o111 | 0b101 << 9 | 2 << 13 | reduction << 21;
        let sampler = HMSampler { bits, lod_min: 0.0, lod_max: 9.0, lod_bias: 0.0 };
        for (at, got) in at.iter().zip(run_kernel(&pipeline, &texture, &sampler, &at)) {
            let mut expected: Option<[f32; 4]> = None;
            for (level, (width, height, texels)) in levels.iter().enumerate() {
                if (at[2] - level as f32).abs() >= 1.0 {
                    continue;
                }
                // The places along an axis that have a weight, at the edge the last one.
                let places = |s: f32, size: usize| {
                    let u = s * size as f32 - 0.5;
                    let near = [u.floor(), u.ceil()];
                    near.map(|place| place.clamp(0.0, size as f32 - 1.0) as usize)
                };
                for y in places(at[1], *height) {
                    for x in places(at[0], *width) {
                        let texel = texels[y * width + x];
                        let pick = if reduction == 1 { f32::min } else { f32::max };
                        expected = Some(expected.map_or(texel, |all| [0, 1, 2, 3].map(|c| pick(all[c], texel[c]))));
                    }
                }
            }
            assert_eq!(Some(got), expected, "{reduction} at {at:?}");
        }
    }
}

/// A lod of 0 and less magnifies, more minifies.
#[test]
fn the_lod_chooses_between_the_filters() {
    let two = Texture::new(&texture(TEXTURE_2D, R32_FLOAT, [2, 1, 1]));
    two.write(0, 0, &[0.0f32, 1.0]);
    let pipeline = compile(
        "kernel void run(texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *at [[buffer(0)]],
            device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] = t.sample(s, at[i].xy, level(at[i].z)); }",
        MathMode::Fast,
    );
    for (bits, expected) in [(1u32 << 9, [0.375f32, 0.0]), (1 << 11, [0.0, 0.375])] {
        let sampler = HMSampler { bits: 0o111 | bits, lod_min: 0.0, lod_max: 9.0, lod_bias: 0.0 };
        let at = [[0.4375f32, 0.5, 0.0, 0.0], [0.4375, 0.5, 1.0, 0.0]];
        let got = run_kernel(&pipeline, &two, &sampler, &at);
        assert_eq!([got[0][0], got[1][0]], expected);
    }
}

#[test]
fn gather_goes_around_counter_clockwise() {
    let texture = Texture::new(&texture(TEXTURE_2D, RGBA32_FLOAT, [2, 2, 1]));
    // Texel (x, y): x channel 10 * y + x, y channel 100 more.
    let texels: Vec<[f32; 4]> =
        [0.0f32, 1.0, 10.0, 11.0].iter().map(|&v| [v, v + 100.0, v + 200.0, v + 300.0]).collect();
    texture.write(0, 0, &texels);
    let pipeline = compile(
        "kernel void run(texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *at [[buffer(0)]],
            device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
            if (i == 0) out[0] = t.gather(s, float2(0.5));
            if (i == 1) out[1] = t.gather(s, float2(0.5), int2(0), component::w);
            if (i == 2) out[2] = t.gather(s, float2(0.5), int2(1, 0), component::y); }",
        MathMode::Fast,
    );
    let sampler = HMSampler { bits: 0o111, lod_min: 0.0, lod_max: 9.0, lod_bias: 0.0 };
    let got = run_kernel(&pipeline, &texture, &sampler, &[[0.0; 4]; 3]);
    assert_eq!(got[0], [10.0, 11.0, 1.0, 0.0]);
    assert_eq!(got[1], [310.0, 311.0, 301.0, 300.0]);
    assert_eq!(got[2], [111.0, 111.0, 101.0, 101.0]);
}

/// Integer textures give the nearest texel; outside the border has the format's opacity.
#[test]
fn integers_and_borders_without_alpha() {
    let integers = Texture::new(&texture(TEXTURE_2D, RGBA32_UINT, [2, 1, 1]));
    integers.write(0, 0, &[[1u32, 2, 3, 4], [4_000_000_000, 6, 7, 8]]);
    let pipeline = compile(
        "kernel void run(texture2d<uint> t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *at [[buffer(0)]],
            device uint4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] = t.sample(s, at[i].xy); }",
        MathMode::Fast,
    );
    // clamp_to_zero, linear: integers have no linear filter.
    let sampler = HMSampler { bits: 0b101 << 9, lod_min: 0.0, lod_max: 9.0, lod_bias: 0.0 };
    let got =
        run_kernel(&pipeline, &integers, &sampler, &[[0.3, 0.5, 0.0, 0.0], [0.6, 0.5, 0.0, 0.0], [1.5, 0.5, 0.0, 0.0]]);
    let bits: Vec<[u32; 4]> = got.iter().map(|v| v.map(f32::to_bits)).collect();
    assert_eq!(bits, [[1, 2, 3, 4], [4_000_000_000, 6, 7, 8], [0, 0, 0, 0]]);

    let one = Texture::new(&texture(TEXTURE_2D, R32_FLOAT, [1, 1, 1]));
    one.write(0, 0, &[0.5f32]);
    let pipeline = kernel(2, [0; 3], MathMode::Fast);
    for (address, color, expected) in [
        (Zero, 0, [0.0f32, 0.0, 0.0, 1.0]),
        (Border, 0, [0.0, 0.0, 0.0, 1.0]),
        (Border, 2, [1.0, 0.0, 0.0, 1.0]),
        (Edge, 0, [0.5, 0.0, 0.0, 1.0]),
    ] {
        let sampler = Sampler { address: [address; 3], linear: false, pixel: false, color };
        assert_eq!(run_kernel(&pipeline, &one, &sampler.packed(), &[[2.0, 0.5, 0.0, 0.0]]), [expected], "{sampler:?}");
    }
}
