//! Cube, depth and multisampled textures, comparison, levels of detail, atomic functions, and formats whose components are fields of a number
//! (MSL specification 6.12, 8.7), against tables and searches in double precision.

use crate::stdlib::*;
use crate::support::*;
use hostmetal::ffi::{HMSampler, HMTextureDescriptor};
use hostmetal::msl::MathMode;

const R32_UINT: u32 = 53;
const R32_SINT: u32 = 54;
const R32_FLOAT: u32 = 55;
const RG32_UINT: u32 = 103;
const DEPTH_16: u32 = 250;
const DEPTH_32: u32 = 252;

/// clamp_to_edge, normalized; linear in texels or in levels too.
fn sampler(linear: bool, mip_linear: bool, compare: u32) -> HMSampler {
    let bits = 0o111 | (u32::from(linear) * 0b101) << 9 | (u32::from(mip_linear) * 2) << 13 | compare << 18;
    HMSampler { bits, lod_min: 0.0, lod_max: f32::MAX, lod_bias: 0.0 }
}

/// Runs a kernel of `count` threads over textures, a sampler and buffers from 0 on.
fn dispatch(source: &str, textures: &[&Texture], sampler: Option<&HMSampler>, buffers: &[&Buffer], count: u64) {
    let pipeline = compile(source, MathMode::Fast);
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            textures.iter().enumerate().for_each(|(index, texture)| encoder.texture(texture, index));
            buffers.iter().enumerate().for_each(|(index, buffer)| encoder.buffer(buffer, index));
            if let Some(sampler) = sampler {
                encoder.sampler(sampler, 0);
            }
            encoder.threads([count, 1, 1], [32, 1, 1]);
        })
        .assert_completed();
}

// ---------------------------------------------------------------- formats

#[derive(Clone, Copy, PartialEq)]
enum Packed {
    /// First bit and width of red, green, blue, alpha.
    Unorm([(u32, u32); 4]),
    Uint([(u32, u32); 4]),
    SmallFloats,
    SharedExponent,
}
use Packed::{SharedExponent, SmallFloats, Uint, Unorm};

/// MTLPixelFormat, bytes of a texel; a name lists the fields from the lowest.
const PACKED: &[(u32, u32, Packed)] = &[
    (40, 2, Unorm([(11, 5), (5, 6), (0, 5), (0, 0)])),
    (41, 2, Unorm([(11, 5), (6, 5), (1, 5), (0, 1)])),
    (42, 2, Unorm([(12, 4), (8, 4), (4, 4), (0, 4)])),
    (43, 2, Unorm([(10, 5), (5, 5), (0, 5), (15, 1)])),
    (90, 4, Unorm([(0, 10), (10, 10), (20, 10), (30, 2)])),
    (91, 4, Uint([(0, 10), (10, 10), (20, 10), (30, 2)])),
    (92, 4, SmallFloats),
    (93, 4, SharedExponent),
    (94, 4, Unorm([(20, 10), (10, 10), (0, 10), (30, 2)])),
];

/// A float of 5 exponent bits without a sign (8.7.4).
fn small_float(bits: u32, mantissa: u32) -> f64 {
    let (exponent, fraction) =
        (bits >> mantissa, f64::from(bits & ((1 << mantissa) - 1)) / f64::from(1u32 << mantissa));
    match exponent {
        0 => 2f64.powi(-14) * fraction,
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => 2f64.powi(exponent as i32 - 15) * (1.0 + fraction),
    }
}

fn unpacked(kind: Packed, bits: u32) -> [f64; 4] {
    let field = |(at, width): (u32, u32)| f64::from(bits >> at & ((1 << width) - 1));
    match kind {
        Unorm(fields) => fields.map(|f| if f.1 == 0 { 1.0 } else { field(f) / f64::from((1u32 << f.1) - 1) }),
        Uint(fields) => fields.map(field),
        SmallFloats => {
            [small_float(bits & 2047, 6), small_float(bits >> 11 & 2047, 6), small_float(bits >> 22, 5), 1.0]
        }
        SharedExponent => {
            let scale = 2f64.powi((bits >> 27) as i32 - 15);
            [0, 9, 18].map(|at| scale * field((at, 9)) / 512.0).into_iter().chain([1.0]).collect::<Vec<_>>()[..]
                .try_into()
                .expect("four")
        }
    }
}

/// The nearest small float by search, ties to an even number; below zero is zero.
fn nearest_small_float(value: f64, mantissa: u32) -> u32 {
    if value.is_nan() {
        return u32::MAX;
    }
    let value = value.max(0.0);
    let limit = 31 << mantissa;
    if value.is_infinite() {
        return limit;
    }
    // Infinity takes what is nearer to the number that would follow the largest.
    let of = |bits: u32| if bits == limit { 65536.0 } else { small_float(bits, mantissa) };
    (0..=limit)
        .min_by(|&a, &b| {
            let (x, y) = ((of(a) - value).abs(), (of(b) - value).abs());
            x.total_cmp(&y).then((a & 1).cmp(&(b & 1)))
        })
        .expect("a number")
}

fn packed(kind: Packed, v: [f64; 4]) -> u32 {
    match kind {
        Unorm(fields) => fields.iter().zip(v).filter(|(f, _)| f.1 > 0).fold(0, |bits, (&(at, width), x)| {
            let most = f64::from((1u32 << width) - 1);
            let x = if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) };
            bits | (f64::from((x * most) as f32).round_ties_even() as u32) << at
        }),
        Uint(fields) => fields
            .iter()
            .zip(v)
            .fold(0, |bits, (&(at, width), x)| bits | (x.clamp(0.0, f64::from((1u32 << width) - 1)) as u32) << at),
        SmallFloats => {
            nearest_small_float(v[0], 6) | nearest_small_float(v[1], 6) << 11 | nearest_small_float(v[2], 5) << 22
        }
        SharedExponent => {
            let c = [0, 1, 2].map(|i| if v[i].is_nan() { 0.0 } else { v[i].clamp(0.0, 65408.0) });
            let most = c[0].max(c[1]).max(c[2]);
            let mut exponent = if most == 0.0 { 0 } else { (most.log2().floor() as i32 + 16).max(0) };
            if (most / 2f64.powi(exponent - 24) + 0.5).floor() == 512.0 {
                exponent += 1;
            }
            (0..3).fold((exponent as u32) << 27, |bits, i| {
                bits | ((c[i] / 2f64.powi(exponent - 24) + 0.5).floor() as u32) << (9 * i)
            })
        }
    }
}

#[test]
fn packed_formats_are_read() {
    for &(format, size, kind) in PACKED {
        let mut random = Random(u64::from(format));
        let all: Vec<u32> =
            if size == 2 { (0..65536).collect() } else { (0..65536).map(|_| random.bits() as u32).collect() };
        let texture = Texture::new(&texture(TEXTURE_2D, format, [256, 256, 1]));
        match size {
            2 => texture.write(0, 0, &all.iter().map(|&x| x as u16).collect::<Vec<_>>()),
            _ => texture.write(0, 0, &all),
        }
        let ty = if matches!(kind, Uint(_)) { "uint" } else { "float" };
        let source = format!(
            "kernel void run(texture2d<{ty}, access::read> t [[texture(0)]], device float4 *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {{\n\
             out[i] = float4(t.read(uint2(i % 256, i / 256))); }}"
        );
        let out = Buffer::new(65536 * 16);
        dispatch(&source, &[&texture], None, &[&out], 65536);
        for (bits, got) in all.iter().zip(out.read::<[f32; 4]>()) {
            let expected = unpacked(kind, *bits);
            for c in 0..4 {
                let same = got[c] == expected[c] as f32 || got[c].is_nan() && expected[c].is_nan();
                assert!(same, "format {format}, {bits:#x}: {got:?}, not {expected:?}");
            }
        }
    }
}

#[test]
fn packed_formats_are_written() {
    for &(format, size, kind) in PACKED {
        let mut random = Random(u64::from(format));
        let edges = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            65408.0,
            65535.9,
            64512.0,
            65024.0,
            65279.9,
            65280.0,
            2f32.powi(-14),
            2f32.powi(-15),
            2f32.powi(-20),
            2f32.powi(-21),
            2f32.powi(-24),
            2f32.powi(-25),
            1e-30,
            511.5 / 512.0,
            2f32.powi(20),
        ];
        let integers = matches!(kind, Uint(_));
        let values: Vec<[f32; 4]> = (0..2048)
            .map(|i| {
                std::array::from_fn(|c| match i {
                    _ if integers => (random.bits() % 1500) as f32,
                    0..256 => edges[(i + c * 5) % edges.len()],
                    256..1200 => random.between(-0.1, 1.1),
                    _ => random.between(0.0, 1.0) * 2f32.powi((random.bits() % 40) as i32 - 24),
                })
            })
            .collect();
        let texture = Texture::new(&texture(TEXTURE_2D, format, [2048, 1, 1]));
        let ty = if integers { "uint" } else { "float" };
        let source = format!(
            "kernel void run(texture2d<{ty}, access::write> t [[texture(0)]], device const float4 *in [[buffer(0)]], uint i [[thread_position_in_grid]]) {{\n\
             t.write({ty}4(in[i]), uint2(i, 0)); }}"
        );
        dispatch(&source, &[&texture], None, &[&Buffer::of(&values)], 2048);
        let got: Vec<u32> = match size {
            2 => texture.read::<u16>(0, 0, 1).into_iter().map(u32::from).collect(),
            _ => texture.read::<u32>(0, 0, 1),
        };
        for (value, got) in values.iter().zip(got) {
            if kind == SmallFloats && value.iter().any(|x| x.is_nan()) {
                let decoded = unpacked(kind, got);
                assert!((0..3).all(|c| decoded[c].is_nan() == value[c].is_nan()), "{value:?}: {got:#x}");
                continue;
            }
            let expected = packed(kind, value.map(f64::from));
            assert_eq!(got, expected, "format {format}: {value:?} is {got:#x}, not {expected:#x}");
        }
    }
}

// ---------------------------------------------------------------- cubes

/// The direction of a place on a face, both from -1 to 1: the table of Vulkan 1.3, "Cube Map Face Selection", solved for the direction.
fn direction(face: usize, s: f64, t: f64) -> [f64; 3] {
    [[1., -t, -s], [-1., -t, s], [s, 1., t], [s, -1., -t], [s, -t, 1.], [-s, -t, -1.]][face]
}

/// The face a direction meets and the place on it: by search for the face on which the place is inside.
fn place(r: [f64; 3]) -> (usize, f64, f64) {
    let most = r.iter().fold(0f64, |a, b| a.max(b.abs()));
    let p = r.map(|x| x / most);
    let (face, [s, t]) = [
        (0, p[0], [-p[2], -p[1]]),
        (1, -p[0], [p[2], -p[1]]),
        (2, p[1], [p[0], p[2]]),
        (3, -p[1], [p[0], -p[2]]),
        (4, p[2], [p[0], -p[1]]),
        (5, -p[2], [-p[0], -p[1]]),
    ]
    .into_iter()
    .filter(|(_, along, _)| *along >= 1.0 - 1e-12)
    .map(|(face, _, place)| (face, place))
    .next()
    .expect("a face");
    (face, s, t)
}

/// The texel behind an edge: of all texels of other faces the one whose centre is nearest to the point on the edge next to it. None behind a
/// corner.
fn texel(face: usize, i: i64, j: i64, n: i64) -> Option<(usize, i64, i64)> {
    let inside = |x: i64| (0..n).contains(&x);
    if inside(i) && inside(j) {
        return Some((face, i, j));
    }
    if !inside(i) && !inside(j) {
        return None;
    }
    let centre = |x: i64| ((2 * x + 1) as f64 / n as f64 - 1.0).clamp(-1.0, 1.0);
    let point = direction(face, centre(i), centre(j));
    let mut best = (f64::INFINITY, (face, i, j));
    for other in (0..6).filter(|&f| f != face) {
        for (y, x) in (0..n).flat_map(|y| (0..n).map(move |x| (y, x))) {
            let at = direction(other, centre(x), centre(y));
            let distance: f64 = (0..3).map(|c| (at[c] - point[c]).powi(2)).sum();
            if distance < best.0 {
                best = (distance, (other, x, y));
            }
        }
    }
    Some(best.1)
}

/// Value of a texel of a test cube.
fn cube_value(face: usize, i: i64, j: i64, n: i64) -> f64 {
    (face as i64 * n * n + j * n + i) as f64
}

fn cube(format: u32, n: u64, slices: u64) -> HMTextureDescriptor {
    let kind = if slices == 1 { TEXTURE_CUBE } else { TEXTURE_CUBE_ARRAY };
    HMTextureDescriptor { slices, usage: 1, ..texture(kind, format, [n, n, 1]) }
}

#[test]
fn cubes_are_sampled_across_edges() {
    const N: i64 = 4;
    let mut random = Random(7);
    let mut directions: Vec<[f32; 4]> = Vec::new();
    for face in 0..6 {
        for s in [-1.0, -0.99, -0.8, -0.25, 0.3, 0.9, 1.0] {
            for t in [-0.97, -0.6, 0.1, 0.85, 0.999] {
                let d = direction(face, s, t);
                directions.push([d[0] as f32 * 1.5, d[1] as f32 * 1.5, d[2] as f32 * 1.5, 0.0]);
            }
        }
    }
    directions.extend((0..800).map(|_| std::array::from_fn(|_| random.between(-1.0, 1.0))));
    let count = directions.len() as u64;
    for (depth, element) in [(false, 0), (true, 0), (false, 1)] {
        let format = if depth { DEPTH_32 } else { R32_FLOAT };
        let texture = Texture::new(&cube(format, N as u64, 1 + element));
        for slice in 0..6 * (1 + element) {
            let base = if slice / 6 == element { 0.0 } else { 1000.0 };
            let texels: Vec<f32> =
                (0..N * N).map(|x| (base + cube_value(slice as usize % 6, x % N, x / N, N)) as f32).collect();
            texture.write(slice, 0, &texels);
        }
        let (ty, array) = match (depth, element) {
            (true, _) => ("depthcube<float>", ""),
            (_, 0) => ("texturecube<float>", ""),
            _ => ("texturecube_array<float>", ", 1"),
        };
        let x = if depth { "" } else { ".x" };
        for linear in [false, true] {
            let source = format!(
                "kernel void run({ty} t [[texture(0)]], sampler s [[sampler(0)]], device const float4 *r [[buffer(0)]], device float *out [[buffer(1)]],\n\
                 device float4 *four [[buffer(2)]], uint i [[thread_position_in_grid]]) {{\n\
                 out[i] = t.sample(s, r[i].xyz{array}){x}; four[i] = t.gather(s, r[i].xyz{array}); }}"
            );
            let (out, four) = (Buffer::new(count * 4), Buffer::new(count * 16));
            dispatch(
                &source,
                &[&texture],
                Some(&sampler(linear, false, 0)),
                &[&Buffer::of(&directions), &out, &four],
                count,
            );
            let (out, four) = (out.read::<f32>(), four.read::<[f32; 4]>());
            for (i, d) in directions.iter().enumerate() {
                let (face, s, t) = place([d[0], d[1], d[2]].map(f64::from));
                let n = N as f64;
                let (u, v) = ((s + 1.0) / 2.0 * n, (t + 1.0) / 2.0 * n);
                let near = |x: f64| (x - x.round()).abs() < 1e-4;
                let value = |i: i64, j: i64| texel(face, i, j, N).map(|(f, x, y)| cube_value(f, x, y, N));
                if !linear {
                    if !near(u) && !near(v) {
                        let expected = value(u as i64, v as i64).expect("inside");
                        assert_eq!(f64::from(out[i]), expected, "nearest of {d:?}");
                    }
                    continue;
                }
                let (left, top) = ((u - 0.5).floor(), (v - 0.5).floor());
                let (a, b) = (u - 0.5 - left, v - 0.5 - top);
                let (left, top) = (left as i64, top as i64);
                let corners = [(left, top), (left + 1, top), (left, top + 1), (left + 1, top + 1)];
                let weights = [(1.0 - a) * (1.0 - b), a * (1.0 - b), (1.0 - a) * b, a * b];
                let known: Vec<f64> = corners.iter().filter_map(|&(i, j)| value(i, j)).collect();
                let mean = known.iter().sum::<f64>() / known.len() as f64;
                let expected: f64 =
                    corners.iter().zip(weights).map(|(&(i, j), w)| w * value(i, j).unwrap_or(mean)).sum();
                // A place on the border of two faces is filtered alike from both.
                assert!((f64::from(out[i]) - expected).abs() < 1e-2, "linear of {d:?}: {}, not {expected}", out[i]);
                // On the border of two faces either has its own four texels.
                if !near(u - 0.5) && !near(v - 0.5) && s.abs().max(t.abs()) < 0.9999 {
                    let order = [(left, top + 1), (left + 1, top + 1), (left + 1, top), (left, top)];
                    for (got, &(i, j)) in four[i].iter().zip(&order) {
                        if let Some(expected) = value(i, j) {
                            assert_eq!(f64::from(*got), expected, "gather at {d:?}: {i}, {j} of face {face}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn faces_of_cubes_are_slices() {
    let texture = Texture::new(&HMTextureDescriptor { usage: 19, ..cube(R32_FLOAT, 2, 2) });
    let source = "kernel void run(texturecube_array<float, access::read_write> t [[texture(0)]], texture2d_array<float, access::read> flat [[texture(1)]],\n\
         device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n\
         uint face = i % 6, element = i / 6 % 2; if (i < 12) t.write(float4(i + 1), uint2(1, 0), face, element);\n\
         t.fence(); out[i] = t.read(uint2(1, 0), face, element).x;\n\
         if (i == 0) { out[12] = t.read(ushort2(0), 6, 0).x; out[13] = t.read(uint2(0), 0, 2).x; t.write(float4(9), uint2(0), 6, 0);\n\
         t.write(float4(9), uint2(0), 0, 1 << 30); out[14] = t.get_array_size(); out[15] = t.get_width() * 10 + t.get_height(); out[16] = flat.get_array_size(); } }";
    let flat = texture.view(R32_FLOAT, TEXTURE_2D_ARRAY, [0, 1], [3, 6]).expect("a view");
    let out = Buffer::of(&[-1f32; 17]);
    dispatch(source, &[&texture, &flat], None, &[&out], 12);
    let got = out.read::<f32>();
    assert_eq!(got[..12], std::array::from_fn::<f32, 12, _>(|i| i as f32 + 1.0));
    assert_eq!(got[12..], [0.0, 0.0, 2.0, 22.0, 6.0]);
    for slice in 0..12 {
        assert_eq!(texture.read::<f32>(slice, 0, 1), [0.0, slice as f32 + 1.0, 0.0, 0.0]);
    }
    assert_eq!(flat.read::<f32>(2, 0, 1)[1], 6.0);
    let cube = flat.view(R32_FLOAT, TEXTURE_CUBE, [0, 1], [0, 6]).expect("a cube of six slices");
    assert_eq!(cube.read::<f32>(0, 0, 1)[1], 4.0);
    assert!(flat.view(R32_FLOAT, TEXTURE_CUBE, [0, 1], [0, 5]).is_err_and(|text| text.contains("six of a cube")));
}

// ---------------------------------------------------------------- comparison

#[test]
fn depths_are_compared() {
    let depths: Vec<f32> = (0..16).map(|i| f32::from(i as u8 * 7 % 16) / 16.0).collect();
    let texture = Texture::new(&HMTextureDescriptor { usage: 1, ..texture(TEXTURE_2D, DEPTH_32, [4, 4, 1]) });
    texture.write(0, 0, &depths);
    let holds: [fn(f32, f32) -> bool; 8] = [
        |_, _| false,
        |r, d| r < d,
        |r, d| r == d,
        |r, d| r <= d,
        |r, d| r > d,
        |r, d| r != d,
        |r, d| r >= d,
        |_, _| true,
    ];
    let source = "kernel void run(depth2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device float2 *out [[buffer(0)]], device float4 *four [[buffer(1)]],\n\
         uint i [[thread_position_in_grid]]) {\n\
         float2 at = float2(i % 16 + 0.5f, i / 16 % 16 + 0.5f) / 16; float r = float(i / 256) / 16;\n\
         out[i] = float2(t.sample_compare(s, at, r), t.sample_compare(s, at, r, level(0), int2(1, 0))); four[i] = t.gather_compare(s, at, r, int2(0, -1)); }";
    let count = 256 * 16;
    for (function, holds) in holds.iter().enumerate() {
        for linear in [false, true] {
            let (out, four) = (Buffer::new(count * 8), Buffer::new(count * 16));
            dispatch(source, &[&texture], Some(&sampler(linear, false, function as u32)), &[&out, &four], count);
            let (out, four) = (out.read::<[f32; 2]>(), four.read::<[f32; 4]>());
            for i in 0..count as usize {
                let reference = (i / 256) as f32 / 16.0;
                let (u, v) = ((i % 16) as f32 / 4.0 + 0.125, (i / 16 % 16) as f32 / 4.0 + 0.125);
                let passes = |x: i32, y: i32| {
                    f32::from(u8::from(holds(reference, depths[(y.clamp(0, 3) * 4 + x.clamp(0, 3)) as usize])))
                };
                let (left, top) = ((u - 0.5).floor(), (v - 0.5).floor());
                let (a, b) = (u - 0.5 - left, v - 0.5 - top);
                let (x, y) = (left as i32, top as i32);
                for (offset, got) in out[i].iter().enumerate() {
                    let dx = offset as i32;
                    let expected = if linear {
                        (1.0 - b) * ((1.0 - a) * passes(x + dx, y) + a * passes(x + 1 + dx, y))
                            + b * ((1.0 - a) * passes(x + dx, y + 1) + a * passes(x + 1 + dx, y + 1))
                    } else {
                        passes(u as i32 + dx, v as i32)
                    };
                    assert!(
                        (got - expected).abs() < 1e-6,
                        "function {function}, {reference} at {u}, {v}: {got}, not {expected}"
                    );
                }
                let expected = [passes(x, y), passes(x + 1, y), passes(x + 1, y - 1), passes(x, y - 1)];
                assert_eq!(four[i], expected, "gather with function {function}, {reference} at {u}, {v}");
            }
        }
    }
}

#[test]
fn samplers_of_the_source_compare_too() {
    let texture =
        Texture::new(&HMTextureDescriptor { slices: 2, usage: 1, ..texture(TEXTURE_2D_ARRAY, DEPTH_16, [1, 1, 1]) });
    texture.write(1, 0, &[0x8000u16]);
    let cube = Texture::new(&HMTextureDescriptor { usage: 1, ..cube(DEPTH_32, 1, 1) });
    (0..6).for_each(|face| cube.write(face, 0, &[face as f32 / 8.0]));
    let source = "constexpr sampler less(compare_func::less);\n\
         kernel void run(depth2d_array<float> t [[texture(0)]], depthcube<float> c [[texture(1)]], device float *out [[buffer(0)]]) {\n\
         constexpr sampler at_least(compare_func::greater_equal, filter::linear);\n\
         out[0] = t.sample_compare(less, float2(0.5f), 1, 0.4f); out[1] = t.sample_compare(less, float2(0.5f), 1, 0.6f);\n\
         out[2] = t.sample_compare(at_least, float2(0.5f), 0, 0.0f); out[3] = t.read(uint2(0), 1);\n\
         out[4] = c.sample_compare(less, float3(0, -1, 0), 0.25f); out[5] = c.sample_compare(less, float3(0, 0, -1), 0.625f); out[6] = c.read(uint2(0), 3); }";
    let out = Buffer::new(28);
    dispatch(source, &[&texture, &cube], None, &[&out], 1);
    assert_eq!(out.read::<f32>(), [1.0, 0.0, 1.0, (32768.0 / 65535.0) as f32, 1.0, 0.0, 0.375]);
}

// ---------------------------------------------------------------- levels of detail

/// Level n holds n everywhere: a sample between levels is the level of detail.
#[test]
fn options_choose_the_level() {
    let levels = 4;
    let two = Texture::new(&HMTextureDescriptor { levels, usage: 1, ..texture(TEXTURE_2D, R32_FLOAT, [8, 8, 1]) });
    let three = Texture::new(&HMTextureDescriptor { levels, usage: 1, ..texture(TEXTURE_3D, R32_FLOAT, [8, 8, 8]) });
    let around = Texture::new(&HMTextureDescriptor { levels, ..cube(R32_FLOAT, 8, 1) });
    for level in 0..levels {
        let n = 8usize >> level;
        two.write(0, level, &vec![level as f32; n * n]);
        three.write(0, level, &vec![level as f32; n * n * n]);
        (0..6).for_each(|face| around.write(face, level, &vec![level as f32; n * n]));
    }
    // Texels of level 0 are 1/8; a gradient of n texels is level log2(n). On a face of 2 by 2 at distance 1, n texels are n/4.
    let cases: &[(&str, f32)] = &[
        ("t.sample(s, float2(0.5f))", 0.0),
        ("t.sample(s, float2(0.5f), level(1.5f))", 1.5),
        ("t.sample(s, float2(0.5f), level(9))", 3.0),
        ("t.sample(s, float2(0.5f), bias(0.75f))", 0.75),
        ("t.sample(s, float2(0.5f), bias(-1))", 0.0),
        ("t.sample(s, float2(0.5f), min_lod_clamp(1.25f))", 1.25),
        ("t.sample(s, float2(0.5f), bias(0.5f), min_lod_clamp(1.25f))", 1.25),
        ("t.sample(s, float2(0.5f), bias(2), min_lod_clamp(1.25f), int2(1))", 2.0),
        ("t.sample(s, float2(0.5f), gradient2d(float2(2, 0) / 8, float2(0, 1) / 8))", 1.0),
        ("t.sample(s, float2(0.5f), gradient2d(float2(0.5f, 0) / 8, float2(2.4f, 3.2f) / 8))", 2.0),
        ("t.sample(s, float2(0.5f), gradient2d(float2(0), float2(0)))", 0.0),
        ("t.sample(s, float2(0.5f), gradient2d(float2(2, 0) / 8, float2(0)), min_lod_clamp(1.5f))", 1.5),
        ("v.sample(s, float3(0.5f), gradient3d(float3(0, 0, 2) / 8, float3(1, 0, 0) / 8))", 1.0),
        ("v.sample(s, float3(0.5f), level(2.25f), int3(1))", 2.25),
        ("v.sample(s, float3(0.5f), bias(1), min_lod_clamp(0.5f))", 1.0),
        ("c.sample(s, float3(0, 0, 1), level(0.5f))", 0.5),
        ("c.sample(s, float3(0, 0, 1), gradientcube(float3(2, 0, 0) / 4, float3(0, 1, 0) / 4))", 1.0),
        ("c.sample(s, float3(0, 0, -2), gradientcube(float3(2, 0, 0) / 4, float3(0, 4, 0) / 4))", 1.0),
        ("c.sample(s, float3(0, 1, 0), gradientcube(float3(2, 0, 0) / 4, float3(0, 0, 1) / 4))", 1.0),
        ("c.sample(s, float3(-1, 0, 0), gradientcube(float3(0, 0, 4) / 4, float3(0, 0, 0)))", 2.0),
        // Along the direction itself nothing changes; towards a face the place moves by s times the change.
        ("c.sample(s, float3(0.5f, 0, 1), gradientcube(float3(0.5f, 0, 1), float3(0)))", 0.0),
        ("c.sample(s, float3(0.5f, 0, 1), gradientcube(float3(0, 0, 4) / 4, float3(0)))", 1.0),
        ("c.sample(s, float3(0.5f, 0, -1), gradientcube(float3(0, 0, -4) / 4, float3(0)), min_lod_clamp(0))", 1.0),
        ("c.sample(s, float3(0, 0.5f, 1), bias(0.25f), min_lod_clamp(0.125f))", 0.25),
    ];
    let body: String = cases.iter().enumerate().map(|(i, (case, _))| format!("  out[{i}] = {case}.x;\n")).collect();
    let source = format!(
        "kernel void run(texture2d<float> t [[texture(0)]], texture3d<float> v [[texture(1)]], texturecube<float> c [[texture(2)]], sampler s [[sampler(0)]],\n\
         device float *out [[buffer(0)]]) {{\n{body}}}"
    );
    let out = Buffer::new(cases.len() as u64 * 4);
    dispatch(&source, &[&two, &three, &around], Some(&sampler(true, true, 0)), &[&out], 1);
    for ((case, expected), got) in cases.iter().zip(out.read::<f32>()) {
        assert!((got - expected).abs() < 1e-5, "{case}: {got}, not {expected}");
    }
}

// ---------------------------------------------------------------- atomic functions

#[test]
fn atomic_functions_of_textures() {
    let source = |ty: &str| {
        format!(
            "kernel void run(texture2d<{ty}, access::read_write> t [[texture(0)]], device long4 *o [[buffer(0)]]) {{\n\
             int k = 0; uint2 p(1, 2); vec<{ty}, 4> e(1, 2, 3, 4);\n\
             t.atomic_store(vec<{ty}, 4>(10, 9, 9, 9), p); o[k++] = long4(t.atomic_load(p)); o[k++] = long4(t.atomic_fetch_add(p, vec<{ty}, 4>(5)));\n\
             o[k++] = long4(t.atomic_fetch_sub(p, vec<{ty}, 4>(3))); o[k++] = long4(t.atomic_fetch_max(p, vec<{ty}, 4>(20))); o[k++] = long4(t.atomic_fetch_min(p, vec<{ty}, 4>(6)));\n\
             o[k++] = long4(t.atomic_fetch_or(p, vec<{ty}, 4>(8))); o[k++] = long4(t.atomic_fetch_and(p, vec<{ty}, 4>(12))); o[k++] = long4(t.atomic_fetch_xor(p, vec<{ty}, 4>(5)));\n\
             o[k++] = long4(t.atomic_exchange(ushort2(1, 2), vec<{ty}, 4>(77))); o[k++] = long4(t.atomic_compare_exchange_weak(p, &e, vec<{ty}, 4>(1)), 0, 0, 0); o[k++] = long4(e);\n\
             while (!t.atomic_compare_exchange_weak(p, &e, vec<{ty}, 4>(33))) {{}} o[k++] = long4(t.read(p));\n\
             o[k++] = long4(t.atomic_fetch_add(uint2(4, 0), vec<{ty}, 4>(1))); t.atomic_store(vec<{ty}, 4>(1), uint2(0, 99)); }}"
        )
    };
    let expected = [10, 10, 15, 12, 20, 6, 14, 12, 9, 0, 77, 33, 0];
    for (format, ty) in [(R32_UINT, "uint"), (R32_SINT, "int")] {
        let texture = Texture::new(&texture(TEXTURE_2D, format, [4, 4, 1]));
        let out = Buffer::new(13 * 32);
        dispatch(&source(ty), &[&texture], None, &[&out], 1);
        for (i, (got, first)) in out.read::<[i64; 4]>().into_iter().zip(expected).enumerate() {
            let rest = if matches!(i, 9) { [0, 0, 0] } else { [0, 0, 1] };
            assert_eq!(got, [first, rest[0], rest[1], rest[2]], "{ty}, step {i}");
        }
        let mut texels = [0i32; 16];
        texels[9] = 33;
        assert_eq!(texture.read::<i32>(0, 0, 1), texels);
    }
}

#[test]
fn atomic_functions_of_textures_under_contention() {
    let source = "kernel void run(texture2d<uint, access::read_write> t [[texture(0)]], texture2d<ulong, access::read_write> l [[texture(1)]],\n\
         texture1d_array<uint, access::read_write> a [[texture(2)]], texture3d<uint, access::read_write> v [[texture(3)]], uint i [[thread_position_in_grid]]) {\n\
         t.atomic_fetch_add(uint2(i % 2, 0), uint4(1)); l.atomic_max(uint2(0), ulong4(ulong(i ^ 0x155) << 33)); l.atomic_min(uint2(1, 0), ulong4(~(ulong(i) << 33)));\n\
         a.atomic_fetch_max(1u, 1u, uint4(i)); v.atomic_fetch_xor(uint3(0, 1, 1), uint4(1u << i % 32)); }";
    let count = 20_000u64;
    let t = Texture::new(&texture(TEXTURE_2D, R32_UINT, [2, 1, 1]));
    let l = Texture::new(&texture(TEXTURE_2D, RG32_UINT, [2, 1, 1]));
    l.write(0, 0, &[0u64, u64::MAX]);
    let a = Texture::new(&HMTextureDescriptor { slices: 2, ..texture(TEXTURE_1D_ARRAY, R32_UINT, [2, 1, 1]) });
    let v = Texture::new(&texture(TEXTURE_3D, R32_UINT, [2, 2, 2]));
    dispatch(source, &[&t, &l, &a, &v], None, &[], count);
    assert_eq!(t.read::<u32>(0, 0, 1), [10_000, 10_000]);
    let most = (0..count).map(|i| (i ^ 0x155) << 33).max().expect("threads");
    assert_eq!(l.read::<u64>(0, 0, 1), [most, !((count - 1) << 33)]);
    assert_eq!(a.read::<u32>(1, 0, 1), [0, 19_999]);
    // 20,000 is 625 times 32: each bit is turned 625 times.
    assert_eq!(v.read::<u32>(0, 0, 1)[6], u32::MAX);
}

/// MSL has atomic functions of 32 bits for textures of one component only (MSL 6.12.17).
#[test]
fn atomic_functions_of_other_formats_are_named() {
    for format in [13, 23, 63, RG32_UINT, 123] {
        for call in ["t.atomic_store(uint4(1), uint2(0));", "t.atomic_fetch_add(uint2(1), uint4(1));"] {
            let source = format!("kernel void run(texture2d<uint, access::read_write> t [[texture(0)]]) {{ {call} }}");
            let pipeline = compile(&source, MathMode::Fast);
            let texture = Texture::new(&texture(TEXTURE_2D, format, [2, 2, 1]));
            let done = Queue::new().run(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.texture(&texture, 0);
                encoder.threads([1, 1, 1], [1, 1, 1]);
            });
            let (code, text) = done.error().unwrap_or_else(|| panic!("{format}: nothing was said of {call}"));
            assert!(code == 9 && text.contains("MTLPixelFormatR32Uint"), "{format}: {text}");
        }
    }
}

// ---------------------------------------------------------------- samples, rules

#[test]
fn multisampled_textures_are_read_as_zero() {
    let plain = HMTextureDescriptor { samples: 4, usage: 1, ..texture(TEXTURE_2D_MULTISAMPLE, 70, [3, 2, 1]) };
    let one = Texture::new(&plain);
    let many = Texture::new(&HMTextureDescriptor {
        texture_type: TEXTURE_2D_MULTISAMPLE_ARRAY,
        samples: 2,
        slices: 3,
        ..plain
    });
    let source = "kernel void run(texture2d_ms<float> t [[texture(0)]], texture2d_ms_array<float> a [[texture(1)]], device float *out [[buffer(0)]]) {\n\
         out[0] = t.read(uint2(1), 3).w; out[1] = t.get_num_samples(); out[2] = t.get_width() * 10 + t.get_height();\n\
         out[3] = a.read(ushort2(1), 2, 1).x; out[4] = a.get_num_samples(); out[5] = a.get_array_size(); out[6] = a.read(uint2(0), 1, 2).w; }";
    let out = Buffer::of(&[-1f32; 7]);
    dispatch(source, &[&one, &many], None, &[&out], 1);
    assert_eq!(out.read::<f32>(), [0.0, 4.0, 32.0, 0.0, 2.0, 3.0, 0.0]);
}

#[test]
fn descriptors_follow_the_rules() {
    let wrong = |descriptor: HMTextureDescriptor| Texture::try_new(&descriptor).err().unwrap_or_default();
    let square = texture(TEXTURE_CUBE, R32_FLOAT, [4, 4, 1]);
    let cases = [
        (HMTextureDescriptor { size: [4, 2, 1], ..square }, "width and height of a cube texture must be equal"),
        (HMTextureDescriptor { slices: 2, ..square }, "arrayLength must be 1"),
        (HMTextureDescriptor { texture_type: TEXTURE_CUBE_ARRAY, slices: 342, ..square }, "arrayLength must be"),
        (
            HMTextureDescriptor { pixel_format: DEPTH_32, ..square },
            "a depth format cannot have MTLTextureUsageShaderWrite",
        ),
        (
            HMTextureDescriptor {
                pixel_format: DEPTH_32,
                texture_type: TEXTURE_1D,
                size: [4, 1, 1],
                usage: 1,
                ..square
            },
            "must be 2D or cube",
        ),
        (HMTextureDescriptor { samples: 4, ..square }, "sampleCount must be"),
        (HMTextureDescriptor { texture_type: TEXTURE_2D_MULTISAMPLE, usage: 1, ..square }, "sampleCount must be"),
        (
            HMTextureDescriptor { texture_type: TEXTURE_2D_MULTISAMPLE, samples: 3, usage: 1, ..square },
            "sampleCount must be",
        ),
        (
            HMTextureDescriptor { texture_type: TEXTURE_2D_MULTISAMPLE, samples: 2, ..square },
            "cannot have MTLTextureUsageShaderWrite",
        ),
        (HMTextureDescriptor { texture_type: 10, ..square }, "textureType is not an MTLTextureType"),
    ];
    for (descriptor, words) in cases {
        let text = wrong(descriptor);
        assert!(text.contains(words), "{descriptor:?}: {text}");
    }
}
