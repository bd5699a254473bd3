//! Every function of every type of texture, of every component (MSL 6.12), at places where the result is one texel (or four, for gather): each
//! texel of each level and slice has a number of its own. How places, formats and filters work out is in texture.rs, texture_kinds.rs and
//! sampler.rs.

use std::collections::BTreeSet;

use hostmetal::ffi::HMTextureDescriptor;
use hostmetal::msl::MathMode;

use crate::number::{Scalar, scalar};
use crate::stdlib::catalog::texture_functions;
use crate::stdlib::compile;
use crate::support::*;
use crate::uses::{bytes, numbers};

/// A type of texture: MTLTextureType, coordinates (0: a cube's face, which is read by two), whether it has an array index, whether it is of depths.
#[derive(Clone, Copy, PartialEq)]
struct Kind {
    name: &'static str,
    number: u32,
    coordinates: usize,
    array: bool,
    depth: bool,
}

const fn kind(name: &'static str, number: u32, coordinates: usize, array: bool, depth: bool) -> Kind {
    Kind { name, number, coordinates, array, depth }
}

const KINDS: [Kind; 11] = [
    kind("texture1d", TEXTURE_1D, 1, false, false),
    kind("texture1d_array", TEXTURE_1D_ARRAY, 1, true, false),
    kind("texture2d", TEXTURE_2D, 2, false, false),
    kind("texture2d_array", TEXTURE_2D_ARRAY, 2, true, false),
    kind("texture3d", TEXTURE_3D, 3, false, false),
    kind("texturecube", TEXTURE_CUBE, 0, false, false),
    kind("texturecube_array", TEXTURE_CUBE_ARRAY, 0, true, false),
    kind("depth2d", TEXTURE_2D, 2, false, true),
    kind("depth2d_array", TEXTURE_2D_ARRAY, 2, true, true),
    kind("depthcube", TEXTURE_CUBE, 0, false, true),
    kind("depthcube_array", TEXTURE_CUBE_ARRAY, 0, true, true),
];
const COMPONENTS: [&str; 6] = ["float", "half", "int", "uint", "short", "ushort"];

/// Texels along an edge at level 0, and levels; array elements.
const SIZE: usize = 4;
const ELEMENTS: usize = 2;

/// A texel: level, slice (of a cube: six for each element) and place.
#[derive(Clone, Copy)]
struct Texel {
    level: usize,
    slice: usize,
    at: [usize; 3],
}

/// A use, as an expression of four components, and what these are.
struct Row {
    call: String,
    value: [f64; 4],
}

impl Kind {
    fn cube(self) -> bool {
        self.coordinates == 0
    }

    fn levels(self) -> usize {
        if matches!(self.number, TEXTURE_1D | TEXTURE_1D_ARRAY) { 1 } else { 3 }
    }

    /// Extents of a level in texels.
    fn extent(self, level: usize) -> [usize; 3] {
        let n = SIZE >> level;
        let has = |c: usize| if self.coordinates > c || self.cube() && c < 2 { n } else { 1 };
        [has(0), has(1), has(2)]
    }

    fn elements(self) -> usize {
        if self.array { ELEMENTS } else { 1 }
    }

    fn slices(self) -> usize {
        self.elements() * if self.cube() { 6 } else { 1 }
    }

    /// The number of a texel, from 1; its components are that and that with 300, 600 and 900 more. A depth is a part of 1024.
    fn number_of(self, texel: Texel) -> usize {
        let size = |level: usize| self.extent(level).iter().product::<usize>();
        let before: usize = (0..texel.level).map(|level| size(level) * self.slices()).sum();
        let [w, h, _] = self.extent(texel.level);
        before + texel.slice * size(texel.level) + texel.at[0] + w * (texel.at[1] + h * texel.at[2]) + 1
    }

    fn components(self, texel: Texel) -> [f64; 4] {
        let n = self.number_of(texel) as f64;
        if self.depth { [n / 1024.0, 0.0, 0.0, 0.0] } else { [n, n + 300.0, n + 600.0, n + 900.0] }
    }

    fn descriptor(self, t: Scalar) -> HMTextureDescriptor {
        let format = match t.name {
            _ if self.depth => 252,
            "float" => 125,
            "half" => 115,
            "int" => 124,
            "uint" => 123,
            "short" => 114,
            _ => 113,
        };
        let size = self.extent(0).map(|n| n as u64);
        HMTextureDescriptor {
            levels: self.levels() as u64,
            slices: self.elements() as u64,
            usage: if self.depth { 1 } else { 3 },
            ..texture(self.number, format, size)
        }
    }

    fn texture(self, t: Scalar) -> Texture {
        let texture = Texture::new(&self.descriptor(t));
        for level in 0..self.levels() {
            let [w, h, d] = self.extent(level);
            for slice in 0..self.slices() {
                let texels = (0..w * h * d).flat_map(|i| {
                    let all = self.components(Texel { level, slice, at: [i % w, i / w % h, i / w / h] });
                    all[..if self.depth { 1 } else { 4 }].to_vec()
                });
                texture.write(
                    slice as u64,
                    level as u64,
                    &bytes(t, &texels.map(|x| bits_of(t, x)).collect::<Vec<u64>>()),
                );
            }
        }
        texture
    }

    /// The coordinates of a texel for sample and gather: in its middle, or at its upper corner.
    fn place(self, texel: Texel, middle: f64) -> String {
        let n = (SIZE >> texel.level) as f64;
        let [x, y, z] = texel.at.map(|i| (i as f64 + middle) / n);
        let element = if self.cube() { texel.slice / 6 } else { texel.slice };
        let array = if self.array { format!(", {element}") } else { String::new() };
        match self.coordinates {
            1 => format!("{x:?}f{array}"),
            2 => format!("float2({x:?}, {y:?}){array}"),
            3 => format!("float3({x:?}, {y:?}, {z:?})"),
            _ => {
                // The table of Vulkan 1.3, "Cube Map Face Selection", solved for the direction.
                let (s, t) = (2.0 * x - 1.0, 2.0 * y - 1.0);
                let all = [[1., -t, -s], [-1., -t, s], [s, 1., t], [s, -1., -t], [s, -t, 1.], [-s, -t, -1.]];
                let [x, y, z] = all[texel.slice % 6];
                format!("float3({x:?}, {y:?}, {z:?}){array}")
            }
        }
    }

    /// The coordinates of a texel for read and write, face and element included.
    fn index(self, texel: Texel, short: bool) -> String {
        let (u, one) = if short { ("ushort", "ushort") } else { ("uint", "uint") };
        let [x, y, z] = texel.at;
        let place = match self.coordinates {
            1 => format!("{one}({x})"),
            3 => format!("{u}3({x}, {y}, {z})"),
            _ => format!("{u}2({x}, {y})"),
        };
        let index =
            |n: usize| if self.coordinates == 1 && short { format!(", ushort({n})") } else { format!(", {n}u") };
        let face = if self.cube() { index(texel.slice % 6) } else { String::new() };
        let element = texel.slice / if self.cube() { 6 } else { 1 };
        place + &face + &if self.array { index(element) } else { String::new() }
    }

    fn texel(self, level: usize, number: usize) -> Texel {
        let [w, h, d] = self.extent(level);
        let slice = number * 5 % self.slices();
        Texel { level, slice, at: [(number + 1) % w, (number + 2) % h, number % d] }
    }

    /// The texel moved by one each way, where the edge is.
    fn moved(self, texel: Texel) -> Texel {
        let extent = self.extent(texel.level);
        Texel { at: [0, 1, 2].map(|c| (texel.at[c] + usize::from(self.coordinates > c)).min(extent[c] - 1)), ..texel }
    }

    /// The options of sample, each with the level that it chooses.
    fn options(self) -> Vec<(String, usize)> {
        let gradient = match self.coordinates {
            2 => "gradient2d(float2(0.5f, 0), float2(0))",
            3 => "gradient3d(float3(0.5f, 0, 0), float3(0))",
            // Texels of a face are half as many for a coordinate from -1 to 1, and a direction's length is that of its face.
            _ => "gradientcube(float3(1, 1, 1), float3(0))",
        };
        if self.coordinates == 1 {
            return vec![(String::new(), 0)];
        }
        let mut all = vec![
            (String::new(), 0),
            (", level(1)".to_owned(), 1),
            (", level(2)".to_owned(), 2),
            (", bias(1)".to_owned(), 1),
            (", min_lod_clamp(1)".to_owned(), 1),
            (", bias(1), min_lod_clamp(0)".to_owned(), 1),
            (", bias(0), min_lod_clamp(2)".to_owned(), 2),
        ];
        if !self.cube() {
            all.push((format!(", {gradient}"), 1));
            all.push((format!(", {gradient}, min_lod_clamp(2)"), 2));
        } else {
            // No change of direction: level 0, or what is the least.
            all.push((", gradientcube(float3(0), float3(0))".to_owned(), 0));
            all.push((", gradientcube(float3(0), float3(0)), min_lod_clamp(1)".to_owned(), 1));
        }
        all
    }

    fn offset(self) -> Option<&'static str> {
        match self.coordinates {
            2 => Some(", int2(1)"),
            3 => Some(", int3(1)"),
            _ => None,
        }
    }

    /// The four texels around the corner that texel (1, 1) of level 0 begins at, in the order of gather; moved by an offset.
    fn around(self, slice: usize, offset: usize) -> [Texel; 4] {
        [(0, 1), (1, 1), (1, 0), (0, 0)].map(|(x, y)| Texel { level: 0, slice, at: [x + offset, y + offset, 0] })
    }

    fn rows(self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut push = |call: String, value: [f64; 4]| rows.push(Row { call, value });
        let one = |x: f64| [x, 0.0, 0.0, 0.0];
        for (number, (options, level)) in self.options().into_iter().enumerate() {
            let texel = self.texel(level, number);
            let place = self.place(texel, 0.5);
            push(format!("t.sample(s, {place}{options})"), self.components(texel));
            if let Some(offset) = self.offset() {
                push(format!("t.sample(s, {place}{options}{offset})"), self.components(self.moved(texel)));
            }
            // 6.12.10: passes where the reference is less.
            if self.depth && !options.contains("bias") {
                for (slack, passes) in [(-0.0004, 1.0), (0.0004, 0.0)] {
                    let reference = |texel| self.components(texel)[0] + slack;
                    push(format!("t.sample_compare(less, {place}, {}f{options})", reference(texel)), one(passes));
                    if let Some(offset) = self.offset() {
                        let moved = reference(self.moved(texel));
                        push(format!("t.sample_compare(less, {place}, {moved}f{options}{offset})"), one(passes));
                    }
                }
            }
        }
        if self.coordinates == 2 || self.cube() {
            for slice in [0, self.slices() - 1] {
                let corner = self.place(Texel { level: 0, slice, at: [1, 1, 0] }, 0.0);
                let offsets = if self.cube() { vec![("", 0)] } else { vec![("", 0), (", int2(1)", 1)] };
                for (offset, by) in offsets {
                    let four = self.around(slice, by).map(|texel| self.components(texel));
                    push(format!("t.gather(s, {corner}{offset})"), four.map(|v| v[0]));
                    for (c, name) in
                        ["x", "y", "z", "w"].iter().enumerate().filter(|_| !self.depth && (by == 1 || self.cube()))
                    {
                        push(format!("t.gather(s, {corner}{offset}, component::{name})"), four.map(|v| v[c]));
                    }
                    if self.depth {
                        let reference = four[1][0] - 0.0004;
                        let passed = four.map(|v| f64::from(reference < v[0]));
                        push(format!("t.gather_compare(less, {corner}, {reference}f{offset})"), passed);
                    }
                }
            }
        }
        for level in 0..self.levels() {
            for short in [false, true] {
                let texel = self.texel(level, level + usize::from(short) + 2);
                let index = self.index(texel, short);
                push(format!("t.read({index}, {level})"), self.components(texel));
                if level == 0 {
                    push(format!("t.read({index})"), self.components(texel));
                }
            }
            let [w, h, d] = self.extent(level).map(|n| n as f64);
            let mut extents = vec![("get_width", w)];
            extents.extend((self.coordinates != 1).then_some(("get_height", h)));
            extents.extend((self.coordinates == 3).then_some(("get_depth", d)));
            for (function, n) in extents {
                push(format!("float4(t.{function}({level}), 0, 0, 0)"), one(n));
                if level == 0 {
                    push(format!("float4(t.{function}(), 0, 0, 0)"), one(n));
                }
            }
        }
        push("float4(t.get_num_mip_levels(), 0, 0, 0)".to_owned(), one(self.levels() as f64));
        if self.array {
            push("float4(t.get_array_size(), 0, 0, 0)".to_owned(), one(ELEMENTS as f64));
        }
        push("float4(is_null_texture(t), is_null_texture(none), 0, 0)".to_owned(), [0.0, 1.0, 0.0, 0.0]);
        rows
    }

    fn parameters(self, t: &str) -> String {
        format!("{0}<{t}> t, {0}<{t}> none", self.name)
    }
}

fn bits_of(t: Scalar, x: f64) -> u64 {
    match t.kind {
        crate::number::Kind::Integer { .. } => t.unsigned(x as i128) as u64,
        _ => t.nearest(x),
    }
}

fn components(kind: Kind) -> &'static [&'static str] {
    if kind.depth { &COMPONENTS[..1] } else { &COMPONENTS }
}

/// Writes to a level or to the first, by coordinates of 32 and of 16 bits; each is read behind a fence.
fn written(kind: Kind) -> Vec<(String, Texel)> {
    let mut all = Vec::new();
    for level in 0..kind.levels() {
        for short in [false, true] {
            let texel = kind.texel(level, level + 3 * usize::from(short));
            let index = kind.index(texel, short);
            all.push((
                format!("t.write(v, {index}, {level}); t.fence(); out[k++] = float4(t.read({index}, {level}));"),
                texel,
            ));
            if level == 0 {
                all.push((format!("t.write(v, {index}); t.fence(); out[k++] = float4(t.read({index}));"), texel));
            }
        }
    }
    all
}

/// The other types: multisampled textures, which no kernel can fill and which are read as zeros (alpha of depth has none), and buffers.
const MULTISAMPLED: [(&str, u32, bool); 4] = [
    ("texture2d_ms", TEXTURE_2D_MULTISAMPLE, false),
    ("texture2d_ms_array", TEXTURE_2D_MULTISAMPLE_ARRAY, true),
    ("depth2d_ms", TEXTURE_2D_MULTISAMPLE, false),
    ("depth2d_ms_array", TEXTURE_2D_MULTISAMPLE_ARRAY, true),
];

fn multisampled(array: bool) -> Vec<(String, f64)> {
    let element = if array { ", 1u" } else { "" };
    let mut all = vec![
        (format!("t.read(uint2(2, 1){element}, 3)"), 0.0),
        (format!("t.read(ushort2(2, 1){element}, 2)"), 0.0),
        ("t.get_width()".to_owned(), 3.0),
        ("t.get_height()".to_owned(), 2.0),
        ("t.get_num_samples()".to_owned(), 4.0),
        ("is_null_texture(t)".to_owned(), 0.0),
        ("is_null_texture(none)".to_owned(), 1.0),
    ];
    all.extend(array.then(|| ("t.get_array_size()".to_owned(), 2.0)));
    all
}

const BUFFER_ROWS: &str = "t.write(vec<$T, 4>(7, 8, 9, 10), 3u); t.fence(); out[k++] = float4(t.read(3u)); t.write(vec<$T, 4>(1, 2, 3, 4), ushort(2)); t.fence();\n\
     out[k++] = float4(t.read(ushort(2))); out[k++] = float4(t.get_width(), 0, 0, 0);";

/// Atomic functions of the first component (6.12): the call with place P, operand x, and what the cell then holds.
type Step = fn(i128, i128) -> i128;
const ATOMIC: &[(&str, Step)] = &[
    ("t.atomic_exchange(P, x)", |_, x| x),
    ("t.atomic_fetch_add(P, x)", |old, x| old + x),
    ("t.atomic_fetch_sub(P, x)", |old, x| old - x),
    ("t.atomic_fetch_and(P, x)", |old, x| old & x),
    ("t.atomic_fetch_or(P, x)", |old, x| old | x),
    ("t.atomic_fetch_xor(P, x)", |old, x| old ^ x),
    ("t.atomic_fetch_max(P, x)", |old, x| old.max(x)),
    ("t.atomic_fetch_min(P, x)", |old, x| old.min(x)),
];
const ATOMIC_KINDS: [(&str, &str, &str); 6] = [
    ("texture1d", "1u", "ushort(1)"),
    ("texture1d_array", "1u, 1u", "ushort(1), ushort(1)"),
    ("texture2d", "uint2(1)", "ushort2(1)"),
    ("texture2d_array", "uint2(1), 1u", "ushort2(1), ushort(1)"),
    ("texture3d", "uint3(1)", "ushort3(1)"),
    ("texture_buffer", "1u", "ushort(1)"),
];

/// Each function on a cell that holds `old`; the sequence at the end is of the compare-exchange that succeeds and the one that does not.
fn atomic_body(at: [&str; 2]) -> String {
    let mut body = String::new();
    for place in at {
        for (call, _) in ATOMIC {
            body += &format!(
                "  t.atomic_store(old, {place}); out[k++] = {}.x; out[k++] = t.atomic_load({place}).x;\n",
                call.replace('P', place)
            );
        }
        body += &format!(
            "  t.atomic_store(old, {place}); e = old; while (!t.atomic_compare_exchange_weak({place}, &e, x)) {{}} out[k++] = e.x; out[k++] = t.atomic_load({place}).x;\n\
               e = x; (void)t.atomic_compare_exchange_weak({place}, &e, old + x); out[k++] = e.x;\n\
               t.atomic_store(old, {place}); e = x; out[k++] = t.atomic_compare_exchange_weak({place}, &e, x) && e.x != x.x; out[k++] = e.x;\n"
        );
    }
    body
}

fn long_body(at: [&str; 2]) -> String {
    let of = |place| format!("  t.atomic_min({place}, a); t.atomic_max({place}, b);\n");
    at.map(of).concat()
}

/// What the tables have.
pub(crate) fn covered() -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for kind in KINDS {
        for t in components(kind) {
            kind.rows().iter().for_each(|row| all.extend(texture_functions(&kind.parameters(t), &row.call)));
            if !kind.depth {
                written(kind).iter().for_each(|(call, _)| all.extend(texture_functions(&kind.parameters(t), call)));
            }
        }
    }
    for (name, _, array) in MULTISAMPLED {
        for t in &COMPONENTS[..if name.starts_with("depth") { 1 } else { 6 }] {
            multisampled(array)
                .iter()
                .for_each(|(call, _)| all.extend(texture_functions(&format!("{name}<{t}> t"), call)));
        }
    }
    COMPONENTS.iter().for_each(|t| all.extend(texture_functions(&format!("texture_buffer<{t}> t"), BUFFER_ROWS)));
    for (name, place, short) in ATOMIC_KINDS {
        for t in ["int", "uint"] {
            all.extend(texture_functions(&format!("{name}<{t}> t"), &atomic_body([place, short])));
        }
        all.extend(texture_functions(&format!("{name}<ulong> t"), &long_body([place, short])));
    }
    all
}

fn dispatch(source: &str, textures: &[(&Texture, usize)], buffers: &[&Buffer]) {
    launch(&compile(source, MathMode::Fast), textures, buffers);
}

/// One thread.
fn launch(pipeline: &Pipeline, textures: &[(&Texture, usize)], buffers: &[&Buffer]) {
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(pipeline);
            textures.iter().for_each(|(texture, index)| encoder.texture(texture, *index));
            buffers.iter().enumerate().for_each(|(index, buffer)| encoder.buffer(buffer, index));
            encoder.threads([1, 1, 1], [1, 1, 1]);
        })
        .assert_completed();
}

/// Nearest texel, nearest level, the edge outside.
const SAMPLERS: &str = "constexpr sampler s(coord::normalized, address::clamp_to_edge, filter::nearest, mip_filter::nearest);\n\
     constexpr sampler less(coord::normalized, address::clamp_to_edge, filter::nearest, mip_filter::nearest, compare_func::less);\n";

/// A texture that is switched off is a null texture.
const OFF: &str =
    "constant bool given [[function_constant(0)]]; constant bool on = is_function_constant_defined(given);\n";

/// The types that have textures of a component.
fn kinds_of(name: &str) -> Vec<Kind> {
    KINDS.into_iter().filter(|kind| components(*kind).contains(&name)).collect()
}

#[test]
fn textures_are_sampled_and_read() {
    let mut wrong = Vec::new();
    for name in COMPONENTS {
        let (t, kinds) = (scalar(name), kinds_of(name));
        let (mut functions, mut parameters, mut body, mut rows) =
            (String::new(), String::new(), String::new(), Vec::new());
        for (i, kind) in kinds.iter().enumerate() {
            let ty = format!("{}<{name}>", kind.name);
            parameters +=
                &format!("{ty} t{i} [[texture({i})]], {ty} none{i} [[texture({}), function_constant(on)]], ", i + 20);
            for row in kind.rows() {
                let k = rows.len();
                functions += &format!(
                    "__attribute__((noinline)) float4 use_{k}({ty} t, {ty} none) {{ (void)t; (void)none; return four({}); }}\n",
                    row.call
                );
                body += &format!("  out[{k}] = use_{k}(t{i}, none{i});\n");
                rows.push((ty.clone(), row));
            }
        }
        let source = format!(
            "{OFF}{SAMPLERS}template <class T> float4 four(vec<T, 4> v) {{ return float4(v); }} float4 four(float x) {{ return float4(x, 0, 0, 0); }}\n{functions}\
             kernel void run({parameters}device float4 *out [[buffer(0)]]) {{\n{body}}}\n"
        );
        let out = Buffer::new(rows.len() as u64 * 16);
        let textures: Vec<Texture> = kinds.iter().map(|kind| kind.texture(t)).collect();
        dispatch(&source, &textures.iter().enumerate().map(|(i, t)| (t, i)).collect::<Vec<_>>(), &[&out]);
        for ((ty, row), got) in rows.iter().zip(out.read::<[f32; 4]>()) {
            if got.map(f64::from) != row.value {
                wrong.push(format!("{ty}: {}: {got:?}, not {:?}", row.call, row.value));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn textures_are_written() {
    for name in COMPONENTS {
        let t = scalar(name);
        let kinds: Vec<Kind> = kinds_of(name).into_iter().filter(|kind| !kind.depth).collect();
        let (mut functions, mut parameters, mut body, mut count) = (String::new(), String::new(), String::new(), 0);
        for (i, &kind) in kinds.iter().enumerate() {
            let ty = format!("{}<{name}, access::read_write>", kind.name);
            parameters += &format!("{ty} t{i} [[texture({i})]], ");
            let calls: String = written(kind)
                .iter()
                .enumerate()
                .map(|(k, (call, _))| {
                    format!("  v = vec<{name}, 4>({0}, {0} + 1, {0} + 2, {0} + 3); {call}\n", 10 * k + 5)
                })
                .collect();
            functions += &format!(
                "__attribute__((noinline)) void use_{i}({ty} t, device float4 *out) {{ int k = 0; vec<{name}, 4> v;\n{calls}}}\n"
            );
            body += &format!("  use_{i}(t{i}, out + {count});\n");
            count += written(kind).len();
        }
        let source = format!("{functions}kernel void run({parameters}device float4 *out [[buffer(0)]]) {{\n{body}}}\n");
        let out = Buffer::new(count as u64 * 16);
        let textures: Vec<Texture> = kinds.iter().map(|kind| kind.texture(t)).collect();
        dispatch(&source, &textures.iter().enumerate().map(|(i, t)| (t, i)).collect::<Vec<_>>(), &[&out]);
        let (out, mut start) = (out.read::<[f32; 4]>(), 0);
        for (kind, texture) in kinds.iter().zip(&textures) {
            let calls = written(*kind);
            let value = |k: usize| [0, 1, 2, 3].map(|c| (10 * k + 5 + c) as f64);
            for (k, (call, _)) in calls.iter().enumerate() {
                assert_eq!(out[start + k].map(f64::from), value(k), "{}<{name}>: {call}", kind.name);
            }
            start += calls.len();
            // Nothing else has changed.
            for level in 0..kind.levels() {
                let [w, h, _] = kind.extent(level);
                for slice in 0..kind.slices() {
                    let texels = texture.read::<u8>(slice as u64, level as u64, 4 * t.bytes());
                    for (i, got) in numbers(t, &texels).chunks_exact(4).enumerate() {
                        let here = Texel { level, slice, at: [i % w, i / w % h, i / w / h] };
                        let is_here = |c: &Texel| c.level == level && c.slice == slice && c.at == here.at;
                        let last = calls.iter().rposition(|(_, c)| is_here(c));
                        let expected = last.map_or(kind.components(here), value).map(|x| bits_of(t, x));
                        assert_eq!(got, expected, "{}<{name}>: level {level}, slice {slice}, texel {i}", kind.name);
                    }
                }
            }
        }
    }
}

#[test]
fn multisampled_textures_say_what_they_are() {
    let (mut parameters, mut body, mut rows, mut textures) = (String::new(), String::new(), Vec::new(), Vec::new());
    for (name, number, array) in MULTISAMPLED {
        let depth = name.starts_with("depth");
        for t in &COMPONENTS[..if depth { 1 } else { 6 }] {
            let (i, ty) = (textures.len(), format!("{name}<{t}>"));
            let kind = kind("texture2d", number, 2, array, depth);
            textures.push(Texture::new(&HMTextureDescriptor {
                samples: 4,
                levels: 1,
                usage: 1,
                size: [3, 2, 1],
                ..kind.descriptor(scalar(t))
            }));
            parameters +=
                &format!("{ty} t{i} [[texture({i})]], {ty} none{i} [[texture({}), function_constant(on)]], ", i + 40);
            body += &format!("  {{ {ty} t = t{i}, none = none{i};\n");
            for (call, expected) in multisampled(array) {
                body += &format!("    out[{}] = first({call});\n", rows.len());
                rows.push((format!("{ty}: {call}"), expected));
            }
            body += "  }\n";
        }
    }
    let source = format!(
        "{OFF}template <class T> float first(vec<T, 4> v) {{ return float(v.x) + float(v.y) + float(v.z); }} template <class T> float first(T x) {{ return float(x); }}\n\
         kernel void run({parameters}device float *out [[buffer(0)]]) {{\n{body}}}\n"
    );
    let out = Buffer::of(&vec![-1f32; rows.len()]);
    dispatch(&source, &textures.iter().enumerate().map(|(i, t)| (t, i)).collect::<Vec<_>>(), &[&out]);
    for ((call, expected), got) in rows.iter().zip(out.read::<f32>()) {
        assert_eq!(f64::from(got), *expected, "{call}");
    }
}

#[test]
fn texture_buffers_are_rows_of_texels() {
    for name in COMPONENTS {
        let t = scalar(name);
        let format = KINDS[2].descriptor(t).pixel_format;
        let source = format!(
            "kernel void run(texture_buffer<{name}, access::read_write> t [[texture(0)]], device float4 *out [[buffer(0)]]) {{ int k = 0;\n{} }}\n",
            BUFFER_ROWS.replace("$T", name)
        );
        let (memory, out) = (Buffer::new(1024), Buffer::new(48));
        let row = (5 * 4 * t.bytes() as u64).next_multiple_of(16);
        let texture = Texture::linear(&memory, &texture(TEXTURE_BUFFER, format, [5, 1, 1]), 0, row).expect("it fits");
        dispatch(&source, &[(&texture, 0)], &[&out]);
        assert_eq!(out.read::<[f32; 4]>(), [[7., 8., 9., 10.], [1., 2., 3., 4.], [5., 0., 0., 0.]], "{name}");
        let texels = [[0.; 4], [0.; 4], [1., 2., 3., 4.], [7., 8., 9., 10.], [0.; 4]].concat();
        let expected: Vec<u64> = texels.into_iter().map(|x| bits_of(t, x)).collect();
        assert_eq!(numbers(t, &memory.read::<u8>()[..20 * t.bytes()]), expected, "{name}");
    }
}

/// A texture of one 32-bit component, or for ulong of two, with `SIZE` texels each way; all bits of its texels are those of a number.
fn atomic_texture(name: &str, t: &str, all: u64, memory: &Buffer) -> Texture {
    let format = match t {
        "int" => 54,
        "uint" => 53,
        _ => 103,
    };
    if name == "texture_buffer" {
        return Texture::linear(memory, &texture(TEXTURE_BUFFER, format, [4, 1, 1]), 0, 32).expect("it fits");
    }
    let kind = KINDS.into_iter().find(|k| k.name == name).expect("a type");
    let texture =
        Texture::new(&HMTextureDescriptor { levels: 1, pixel_format: format, ..kind.descriptor(scalar("int")) });
    let texels = kind.extent(0).iter().product::<usize>();
    for slice in 0..kind.slices() as u64 {
        match t {
            "ulong" => texture.write(slice, 0, &vec![all; texels]),
            _ => texture.write(slice, 0, &vec![all as u32; texels]),
        }
    }
    texture
}

#[test]
fn textures_are_changed_atomically() {
    for t in ["int", "uint"] {
        let ty = scalar(t);
        for (name, place, short) in ATOMIC_KINDS {
            let source = format!(
                "kernel void run({name}<{t}, access::read_write> t [[texture(0)]], device {t} *out [[buffer(0)]], device const {t} *in [[buffer(1)]]) {{\n\
                   int k = 0; vec<{t}, 4> old(in[0], 1, 2, 3), x(in[1], 4, 5, 6), e;\n{}}}\n",
                atomic_body([place, short])
            );
            let pipeline = compile(&source, MathMode::Fast);
            for (old, x) in [(12, 10), (ty.high(), 3), (ty.low(), 5), (7, ty.high())] {
                let memory = Buffer::new(1024);
                let (texture, out) = (atomic_texture(name, t, 0, &memory), Buffer::new(1024));
                launch(&pipeline, &[(&texture, 0)], &[&out, &Buffer::of(&[old as u32, x as u32])]);
                let mut expected: Vec<i128> =
                    ATOMIC.iter().flat_map(|(_, step)| [old, ty.wrap(step(old, x))]).collect();
                // The compare-exchanges: one that succeeds, one that may, or may fail without a reason, and one that finds another number.
                expected.extend([old, x, x, 0, old]);
                let expected = [expected.clone(), expected].concat();
                let got: Vec<i128> = out.read::<u32>()[..expected.len()].iter().map(|&x| ty.wrap(x.into())).collect();
                assert_eq!(got, expected, "{name}<{t}> of {old} and {x}");
            }
        }
    }
}

#[test]
fn textures_of_64_bits_are_changed_atomically() {
    const START: u64 = 0x9000_0000_0000_0001;
    for (name, place, short) in ATOMIC_KINDS {
        let source = format!(
            "kernel void run({name}<ulong, access::read_write> t [[texture(0)]]) {{ ulong4 a(0x100000005ul), b(0x200000000ul);\n{}}}\n",
            long_body([place, short])
        );
        let memory = Buffer::of(&[START; 128]);
        let texture = atomic_texture(name, "ulong", START, &memory);
        dispatch(&source, &[(&texture, 0)], &[]);
        let (slice, at) = match name {
            "texture1d" | "texture_buffer" => (0, 1),
            "texture1d_array" => (1, 1),
            "texture2d" => (0, SIZE + 1),
            "texture2d_array" => (1, SIZE + 1),
            _ => (0, SIZE * SIZE + SIZE + 1),
        };
        let texels = if name == "texture_buffer" {
            memory.read::<u64>()[..4].to_vec()
        } else {
            texture.read::<u64>(slice, 0, 1)
        };
        let expected: Vec<u64> = (0..texels.len()).map(|i| if i == at { 0x2_0000_0000 } else { START }).collect();
        assert_eq!(texels, expected, "{name}");
    }
}
