//! Images: texels read at whole coordinates and with samplers that take the nearest one, and each work-item's own written.
//!
//! Coordinates are such that every step of the formulas (OpenCL C 3.0 §8.2) is exact: sizes are powers of two, fractions
//! eighths of a texel. Components are what memory holds, of no format that has to be scaled.

use crate::Arg;
use crate::expr::{Generator, Kind};
use crate::types::{Scalar, Type};

/// An image that a kernel reads.
#[derive(Clone)]
pub(crate) struct Picture {
    name: String,
    /// What a read gives four of.
    scalar: Scalar,
    width: usize,
    height: usize,
    /// The function around a read with a sampler and whole coordinates.
    through: Option<String>,
}

/// Formats, the numbers in memory, and what is read.
const READ: [(&str, Scalar, Scalar); 7] = [
    ("rgba32float", Scalar::Float, Scalar::Float),
    ("rgba8sint", Scalar::Char, Scalar::Int),
    ("rgba16sint", Scalar::Short, Scalar::Int),
    ("rgba32sint", Scalar::Int, Scalar::Int),
    ("rgba8uint", Scalar::UChar, Scalar::UInt),
    ("rgba16uint", Scalar::UShort, Scalar::UInt),
    ("rgba32uint", Scalar::UInt, Scalar::UInt),
];

const WRITTEN: [(&str, Scalar); 3] =
    [("rgba32float", Scalar::Float), ("rgba32sint", Scalar::Int), ("rgba32uint", Scalar::UInt)];

/// Addressing modes and their numbers; the last two want normalised coordinates.
const MODES: [(&str, u32); 5] = [
    ("CLK_ADDRESS_NONE", 0),
    ("CLK_ADDRESS_CLAMP_TO_EDGE", 2),
    ("CLK_ADDRESS_CLAMP", 4),
    ("CLK_ADDRESS_REPEAT", 6),
    ("CLK_ADDRESS_MIRRORED_REPEAT", 8),
];

/// `CLK_FILTER_NEAREST`
const NEAREST: u32 = 0x10;

/// The letter behind `read_image` and `write_image`.
fn letters(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Float => "f",
        Scalar::Int => "i",
        _ => "ui",
    }
}

impl Generator<'_> {
    /// Parameters of a kernel for one image that is read and one that is written, and a sampler.
    pub(crate) fn image_arguments(&mut self, grid: usize, args: &mut Vec<Arg>, list: &mut Vec<String>) {
        for _ in 0..1 + self.choices.below(2) {
            let (format, memory, scalar) = self.choices.of(&READ);
            let (width, height) = self.choices.of(&[(4, 4), (8, 2), (2, 8), (1, 4), (16, 1)]);
            let name = self.name("m");
            list.push(format!("{} image2d_t {name}", self.choices.of(&["read_only", "__read_only", ""])));
            args.push(Arg::Image { format, scalar: memory, width, height });
            let through = self.choices.once_in(2).then(|| self.reader(scalar));
            self.pictures.push(Picture { name, scalar, width, height, through });
        }
        if self.choices.once_in(2) {
            let (format, scalar) = self.choices.of(&WRITTEN);
            let name = self.name("m");
            list.push(format!("write_only image2d_t {name}"));
            args.push(Arg::Image { format, scalar, width: grid / 2, height: 2 });
            self.canvas = Some((name, scalar, grid / 2));
        }
        if self.choices.once_in(2) {
            let (address, name) = (self.choices.below(MODES.len()), self.name("m"));
            list.push(format!("sampler_t {name}"));
            // The last two with normalised coordinates, the others without.
            args.push(Arg::Sampler(MODES[address].1 | NEAREST | u32::from(address >= 3)));
            self.samplers.push((name, address, address >= 3));
        }
    }

    /// A function that reads a texel.
    fn reader(&mut self, scalar: Scalar) -> String {
        let (name, four) = (self.name("h"), Type { scalar, lanes: 4 }.name());
        let read = format!("read_image{}(im, s, at)", letters(scalar));
        line!(self, "{four} {name}(read_only image2d_t im, sampler_t s, int2 at) {{ return {read}; }}");
        name
    }

    /// A sampler at program scope.
    pub(crate) fn sampler(&mut self) {
        let (name, address) = (self.name("m"), self.choices.below(MODES.len()));
        let normalized = address >= 3 || self.choices.once_in(2);
        let coordinates = if normalized { "CLK_NORMALIZED_COORDS_TRUE" } else { "CLK_NORMALIZED_COORDS_FALSE" };
        line!(self, "__constant sampler_t {name} = {coordinates} | {} | CLK_FILTER_NEAREST;", MODES[address].0);
        self.samplers.push((name, address, normalized));
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
        if self.choices.once_in(8) {
            let (name, image) = (self.name("v"), picture.name);
            line!(self, "int2 {name} = get_image_dim({image}) + get_image_width({image}) * get_image_height({image});");
            return self.declare(name, Kind::Plain(Type { scalar: Scalar::Int, lanes: 2 }));
        }
        self.read_texel(picture);
    }

    /// Each image is used: what it is used for tells the translator which textures it may be given.
    pub(crate) fn every_image(&mut self) {
        for picture in self.pictures.clone() {
            self.read_texel(picture);
        }
        self.write_texel();
    }

    fn write_texel(&mut self) {
        let Some((image, scalar, width)) = self.canvas.clone() else { return };
        let value = self.expr(Type { scalar, lanes: 4 }, 3);
        let at = format!("(int2)(get_global_id(0) % {width}, get_global_id(0) / {width})");
        line!(self, "write_image{}({image}, {at}, {value});", letters(scalar));
    }

    fn read_texel(&mut self, picture: Picture) {
        let Picture { name: image, scalar, width, height, through } = picture;
        let (name, four) = (self.name("v"), Type { scalar, lanes: 4 });
        let (x, y) = (self.any_integer(1).0, self.any_integer(1).0);
        let (letter, text) = (letters(scalar), four.name());
        let inside = format!("(int2)((int)({x} & {}), (int)({y} & {}))", width - 1, height - 1);
        let sampler =
            (!self.samplers.is_empty()).then(|| self.samplers[self.choices.below(self.samplers.len())].clone());
        match sampler {
            None => line!(self, "{text} {name} = read_image{letter}({image}, {inside});"),
            // Whole coordinates are not normalised; outside, what clamps is asked.
            Some((sampler, address, false)) if self.choices.once_in(2) => {
                let outside = if address == 0 { "" } else { " * 3 - 5" };
                let read = through.unwrap_or_else(|| format!("read_image{letter}"));
                line!(self, "{text} {name} = {read}({image}, {sampler}, {inside}{outside});");
            }
            Some((sampler, address, normalized)) => {
                // Eighths of a texel, outside too unless there is nothing.
                let coordinate = |value: &str, size: usize| {
                    let eighths = format!("(float)(int)({value} & {})", 8 * size - 1);
                    let shifted = if address == 0 { eighths } else { format!("({eighths} * 3.0f - {size}.0f)") };
                    let texels = if normalized { 8 * size } else { 8 };
                    format!("{shifted} * {:?}f", 1.0 / texels as f32)
                };
                let at = format!("(float2)({}, {})", coordinate(&x, width), coordinate(&y, height));
                line!(self, "{text} {name} = read_image{letter}({image}, {sampler}, {at});");
            }
        }
        self.declare(name, Kind::Plain(four));
    }
}
