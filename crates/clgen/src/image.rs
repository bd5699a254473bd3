//! Images of every kind: texels read at whole coordinates and with samplers, and each work-item's own written.
//!
//! Coordinates are such that every step of the formulas (OpenCL C 3.0 §8.2) is exact: sizes are powers of two, fractions
//! eighths of a texel. So are weighted means, since filtered floats are small whole numbers. What formats scale (255 is 1.0)
//! is scaled back and rounded, which makes a whole number of whatever each side's division gave.
//!
//! Some images are read or written as of another type too, where the format, which is asked for, is not what it is.
//!
//! PoCL 3.1 has no images of two components, and those of one are not opaque there: only that one is looked at.

use crate::Arg;
use crate::expr::{Generator, Kind};
use crate::types::{Scalar, Type};

/// How many coordinates an image has, and what of it are layers.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Form {
    /// In OpenCL C.
    name: &'static str,
    /// In Metal.
    texture: &'static str,
    /// Coordinates that are no layers.
    dims: usize,
    layered: bool,
    /// Samplers cannot read it.
    buffer: bool,
}

#[rustfmt::skip]
const FORMS: [Form; 6] = [
    Form { name: "image2d_t", texture: "texture2d", dims: 2, layered: false, buffer: false },
    Form { name: "image1d_t", texture: "texture1d", dims: 1, layered: false, buffer: false },
    Form { name: "image3d_t", texture: "texture3d", dims: 3, layered: false, buffer: false },
    Form { name: "image1d_array_t", texture: "texture1d_array", dims: 1, layered: true, buffer: false },
    Form { name: "image2d_array_t", texture: "texture2d_array", dims: 2, layered: true, buffer: false },
    Form { name: "image1d_buffer_t", texture: "texture_buffer", dims: 1, layered: false, buffer: true },
];

impl Form {
    /// Components of a coordinate: of what would have three, four.
    fn lanes(self) -> usize {
        match self.dims + usize::from(self.layered) {
            3 => 4,
            lanes => lanes,
        }
    }

    /// A coordinate of these parts; a fourth means nothing.
    fn at(self, scalar: Scalar, parts: &[String]) -> String {
        let ty = Type { scalar, lanes: self.lanes() };
        let rest = if self.lanes() == 4 { ", 7" } else { "" };
        format!("({})({}{rest})", ty.name(), parts.join(", "))
    }
}

/// How a texel lies in memory and what is read of it.
#[derive(Clone, Copy)]
struct Format {
    name: &'static str,
    /// `CLK_FLOAT` and its kin.
    data_type: &'static str,
    memory: Scalar,
    components: usize,
    /// What a read gives four of.
    scalar: Scalar,
    /// What 1.0 is in memory, if the format is a fraction.
    one: u32,
}

#[rustfmt::skip]
const FORMATS: [Format; 15] = [
    Format { name: "rgba32float", data_type: "CLK_FLOAT", memory: Scalar::Float, components: 4, scalar: Scalar::Float, one: 0 },
    Format { name: "rgba8sint", data_type: "CLK_SIGNED_INT8", memory: Scalar::Char, components: 4, scalar: Scalar::Int, one: 0 },
    Format { name: "rgba16sint", data_type: "CLK_SIGNED_INT16", memory: Scalar::Short, components: 4, scalar: Scalar::Int, one: 0 },
    Format { name: "rgba32sint", data_type: "CLK_SIGNED_INT32", memory: Scalar::Int, components: 4, scalar: Scalar::Int, one: 0 },
    Format { name: "rgba8uint", data_type: "CLK_UNSIGNED_INT8", memory: Scalar::UChar, components: 4, scalar: Scalar::UInt, one: 0 },
    Format { name: "rgba16uint", data_type: "CLK_UNSIGNED_INT16", memory: Scalar::UShort, components: 4, scalar: Scalar::UInt, one: 0 },
    Format { name: "rgba32uint", data_type: "CLK_UNSIGNED_INT32", memory: Scalar::UInt, components: 4, scalar: Scalar::UInt, one: 0 },
    Format { name: "rgba16float", data_type: "CLK_HALF_FLOAT", memory: Scalar::Half, components: 4, scalar: Scalar::Float, one: 0 },
    Format { name: "rgba8unorm", data_type: "CLK_UNORM_INT8", memory: Scalar::UChar, components: 4, scalar: Scalar::Float, one: 255 },
    Format { name: "rgba8snorm", data_type: "CLK_SNORM_INT8", memory: Scalar::Char, components: 4, scalar: Scalar::Float, one: 127 },
    Format { name: "rgba16unorm", data_type: "CLK_UNORM_INT16", memory: Scalar::UShort, components: 4, scalar: Scalar::Float, one: 65535 },
    Format { name: "bgra8unorm", data_type: "CLK_UNORM_INT8", memory: Scalar::UChar, components: 4, scalar: Scalar::Float, one: 255 },
    Format { name: "r32float", data_type: "CLK_FLOAT", memory: Scalar::Float, components: 1, scalar: Scalar::Float, one: 0 },
    Format { name: "r16uint", data_type: "CLK_UNSIGNED_INT16", memory: Scalar::UShort, components: 1, scalar: Scalar::UInt, one: 0 },
    Format { name: "r8sint", data_type: "CLK_SIGNED_INT8", memory: Scalar::Char, components: 1, scalar: Scalar::Int, one: 0 },
];

/// An image that a kernel reads.
#[derive(Clone)]
pub(crate) struct Picture {
    name: String,
    form: Form,
    format: Format,
    /// Texels of each coordinate, layers last.
    size: Vec<usize>,
    /// Whether linear filters may be used on it.
    small: bool,
    /// The function around a read with a sampler and whole coordinates.
    through: Option<String>,
}

/// The image that a kernel writes.
#[derive(Clone)]
pub(crate) struct Canvas {
    name: String,
    form: Form,
    format: Format,
    size: Vec<usize>,
}

/// A sampler in scope.
#[derive(Clone)]
pub(crate) struct Sampler {
    name: String,
    /// Which of the addressing modes.
    address: usize,
    normalized: bool,
    linear: bool,
}

/// Addressing modes and their numbers; the last two want normalised coordinates.
const MODES: [(&str, u32); 5] = [
    ("CLK_ADDRESS_NONE", 0),
    ("CLK_ADDRESS_CLAMP_TO_EDGE", 2),
    ("CLK_ADDRESS_CLAMP", 4),
    ("CLK_ADDRESS_REPEAT", 6),
    ("CLK_ADDRESS_MIRRORED_REPEAT", 8),
];
const NONE: usize = 0;

/// The letter behind `read_image` and `write_image`.
fn letters(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Float => "f",
        Scalar::Int => "i",
        _ => "ui",
    }
}

impl Generator<'_> {
    /// Parameters of a kernel for images that are read, one that is written, and a sampler.
    pub(crate) fn image_arguments(&mut self, grid: usize, args: &mut Vec<Arg>, list: &mut Vec<String>) {
        for _ in 0..1 + self.choices.below(2) {
            let (form, format) = (self.choices.of(&FORMS), self.choices.of(&FORMATS));
            let (width, height) = self.choices.of(&[(4, 4), (8, 2), (2, 8), (1, 4), (16, 1)]);
            let mut size = vec![width, height, self.choices.of(&[1, 2, 4])];
            size.truncate(form.dims);
            if form.layered {
                // Layers are not normalised, so that any number will do.
                size.push(self.choices.of(&[1, 2, 3]));
            }
            let name = self.name("m");
            list.push(format!("{} {} {name}", self.choices.of(&["read_only", "__read_only", ""]), form.name));
            let small = format.scalar == Scalar::Float && self.choices.once_in(2);
            let (kind, Format { name: texels, memory, components, .. }) = (form.texture, format);
            args.push(Arg::Image { kind, format: texels, scalar: memory, components, size: size.clone(), small });
            let through = (!form.buffer && self.choices.once_in(2)).then(|| self.reader(form, format.scalar));
            // Of fractions of 65535 the mean would not be told from its neighbour.
            let small = (small && format.one == 0) || matches!(format.one, 127 | 255);
            self.pictures.push(Picture { name, form, format, size, small, through });
        }
        if self.choices.once_in(2) {
            let (form, format) = (self.choices.of(&FORMS), self.choices.of(&FORMATS));
            let name = self.name("m");
            list.push(format!("{} {} {name}", self.choices.of(&["write_only", "__write_only"]), form.name));
            let size = match (form.dims, form.layered) {
                (1, false) => vec![grid],
                (3, _) | (_, true) if form.dims > 1 => vec![grid / 2, 1, 2],
                _ => vec![grid / 2, 2],
            };
            let (kind, Format { name: texels, memory, components, .. }) = (form.texture, format);
            args.push(Arg::Image {
                kind,
                format: texels,
                scalar: memory,
                components,
                size: size.clone(),
                small: false,
            });
            self.canvas = Some(Canvas { name, form, format, size });
        }
        if self.choices.once_in(2) {
            let sampler = self.any_sampler();
            list.push(format!("sampler_t {}", sampler.name));
            let filter = if sampler.linear { 0x20 } else { 0x10 };
            args.push(Arg::Sampler(MODES[sampler.address].1 | filter | u32::from(sampler.normalized)));
            self.samplers.push(sampler);
        }
    }

    /// A function that reads a texel.
    fn reader(&mut self, form: Form, scalar: Scalar) -> String {
        let (name, four) = (self.name("h"), Type { scalar, lanes: 4 }.name());
        let read = format!("read_image{}(im, s, at)", letters(scalar));
        let at = Type { scalar: Scalar::Int, lanes: form.lanes() }.name();
        line!(self, "{four} {name}(read_only {} im, sampler_t s, {at} at) {{ return {read}; }}", form.name);
        name
    }

    fn any_sampler(&mut self) -> Sampler {
        let (name, address) = (self.name("m"), self.choices.below(MODES.len()));
        let normalized = address >= 3 || self.choices.once_in(2);
        // At the edges a linear filter takes texels from outside.
        let linear = address != NONE && self.choices.once_in(2);
        Sampler { name, address, normalized, linear }
    }

    /// A sampler at program scope.
    pub(crate) fn sampler(&mut self) {
        let sampler = self.any_sampler();
        let coordinates = if sampler.normalized { "CLK_NORMALIZED_COORDS_TRUE" } else { "CLK_NORMALIZED_COORDS_FALSE" };
        let filter = if sampler.linear { "CLK_FILTER_LINEAR" } else { "CLK_FILTER_NEAREST" };
        let address = MODES[sampler.address].0;
        line!(self, "__constant sampler_t {} = {coordinates} | {address} | {filter};", sampler.name);
        self.samplers.push(sampler);
    }

    /// A texel is read, or written, or a size asked for.
    pub(crate) fn texel(&mut self) {
        if self.pictures.is_empty() || !self.in_kernel {
            return self.assignment();
        }
        if self.canvas.is_some() && self.choices.once_in(3) {
            return self.write_texel();
        }
        let picture = self.pictures[self.choices.below(self.pictures.len())].clone();
        // PoCL 3.1 has no queries of buffers.
        if !picture.form.buffer && self.choices.once_in(8) {
            return self.image_size(picture);
        }
        self.read_texel(picture);
    }

    fn image_size(&mut self, picture: Picture) {
        let (name, Picture { name: image, form, .. }) = (self.name("v"), picture);
        let value = match (form.dims, form.layered) {
            (1, false) => format!("get_image_width({image})"),
            (1, true) => format!("get_image_width({image}) * 100 + (int)get_image_array_size({image})"),
            (2, true) => format!("get_image_height({image}) * 100 + (int)get_image_array_size({image})"),
            (3, _) => format!("get_image_depth({image}) * 100 + get_image_dim({image}).y"),
            _ => format!("get_image_dim({image}).y * 100 + get_image_width({image}) * get_image_height({image})"),
        };
        line!(self, "int {name} = {value};");
        self.declare(name, Kind::Plain(Type::scalar(Scalar::Int)));
    }

    /// Most images are used.
    pub(crate) fn most_images(&mut self) {
        for picture in self.pictures.clone() {
            if !self.choices.once_in(4) {
                self.read_texel(picture);
            }
        }
        if !self.choices.once_in(4) {
            self.write_texel();
        }
    }

    /// Another type, in some programs.
    fn other(&mut self, form: Form, scalar: Scalar) -> Option<Scalar> {
        let other = self.choices.of(&[Scalar::Float, Scalar::Int, Scalar::UInt]);
        (!form.buffer && other != scalar && self.choices.once_in(3)).then_some(other)
    }

    fn write_texel(&mut self) {
        let Some(Canvas { name: image, form, format, size }) = self.canvas.clone() else { return };
        let four = |scalar| Type { scalar, lanes: 4 };
        let value = match format {
            // A fraction that one number in memory is nearest to, by far. -128/127 is -128 by OpenCL's formula, -127 by
            // Metal's; both are read as -1.
            Format { one: one @ 1.., memory, .. } => {
                let value = self.expr(four(memory), 3);
                format!("clamp(convert_float4({value}) * (1.0f / {one}.0f), -1.0f, 1.0f)")
            }
            // A number that a half holds.
            Format { memory: Scalar::Half, .. } => {
                format!("convert_float4({} >> (short)(4))", self.expr(four(Scalar::Short), 3))
            }
            Format { scalar, .. } => self.expr(four(scalar), 3),
        };
        let (item, (mut parts, mut below)) = (self.item.clone(), (Vec::new(), 1));
        for (at, texels) in size.iter().enumerate() {
            let divided = if below == 1 { item.clone() } else { format!("{item} / {below}") };
            parts.push(if at + 1 == size.len() { divided } else { format!("{divided} % {texels}") });
            below *= texels;
        }
        let at = form.at(Scalar::Int, &parts);
        let write = |scalar, value| format!("write_image{}({image}, {at}, {value});", letters(scalar));
        let fitting = write(format.scalar, value);
        match self.other(form, format.scalar) {
            None => self.line(fitting),
            Some(other) => {
                let not = write(other, format!("({})(1)", four(other).name()));
                let data_type = format.data_type;
                line!(self, "if (get_image_channel_data_type({image}) == {data_type}) {fitting} else {not}");
            }
        }
    }

    fn read_texel(&mut self, picture: Picture) {
        let Picture { name: image, form, format, size, small, through } = picture;
        let (name, letter) = (self.name("v"), letters(format.scalar));
        let fitting: Vec<Sampler> =
            self.samplers.iter().filter(|s| !form.buffer && (small || !s.linear)).cloned().collect();
        let sampler = (!fitting.is_empty()).then(|| fitting[self.choices.below(fitting.len())].clone());
        let any: Vec<String> = size.iter().map(|_| self.any_integer(1).0).collect();
        let whole = |step: &str| -> Vec<String> {
            let inside = any.iter().zip(&size).map(|(x, size)| match size.is_power_of_two() {
                true => format!("(int)({x} & {}){step}", size - 1),
                false => format!("(int)((uint){x} % {size}u){step}"),
            });
            inside.collect()
        };
        let mut scale = format.one;
        let (function, place) = match sampler {
            None => (None, form.at(Scalar::Int, &whole(""))),
            // Whole coordinates are not normalised; outside, what clamps is asked.
            Some(Sampler { name: sampler, address, normalized: false, linear: false }) if self.choices.once_in(2) => {
                let at = form.at(Scalar::Int, &whole(if address == NONE { "" } else { " * 3 - 5" }));
                (through, format!("{sampler}, {at}"))
            }
            Some(Sampler { name: sampler, address, normalized, linear }) => {
                let parts: Vec<String> = any
                    .iter()
                    .zip(&size)
                    .enumerate()
                    .map(|(at, (value, size))| {
                        if at == form.dims {
                            // A layer, which is rounded. PoCL 3.1 rounds 0.5 up, and multiplies layers by their number as it
                            // does normalised coordinates: the first and the last stay what they are.
                            return match (address, normalized) {
                                (_, true) => format!("(float)({value} & 1) * {}.0f", size - 1),
                                (NONE, _) => format!("(float)((uint){value} % {size}u) + 0.375f"),
                                _ => format!("(float)(int)({value} & 31) * 0.25f - 2.125f"),
                            };
                        }
                        // Eighths of a texel, outside too unless there is nothing.
                        let eighths = format!("(float)(int)({value} & {})", 8 * size - 1);
                        let shifted = if address == NONE { eighths } else { format!("({eighths} * 3.0f - {size}.0f)") };
                        let texels = if normalized { 8 * size } else { 8 };
                        format!("{shifted} * {:?}f", 1.0 / texels as f32)
                    })
                    .collect();
                if linear {
                    scale *= 8u32.pow(form.dims as u32);
                }
                (None, format!("{sampler}, {}", form.at(Scalar::Float, &parts)))
            }
        };
        let function = function.unwrap_or_else(|| format!("read_image{letter}"));
        let mut read = format!("{function}({image}, {place})");
        if let Some(other) = self.other(form, format.scalar) {
            let four = Type { scalar: format.scalar, lanes: 4 }.name();
            let not = format!("convert_{four}(read_image{}({image}, {place}))", letters(other));
            let data_type = format.data_type;
            read = format!("(get_image_channel_data_type({image}) == {data_type} ? {read} : {not})");
        }
        let ty = Type { scalar: if scale > 0 { Scalar::Int } else { format.scalar }, lanes: format.components };
        if scale > 0 {
            line!(self, "int4 {name} = convert_int4_rte({read} * {scale}.0f);");
        } else {
            let one = if format.components == 1 { ".x" } else { "" };
            line!(self, "{} {name} = {read}{one};", ty.name());
        }
        self.declare(name, Kind::Plain(ty));
    }
}
