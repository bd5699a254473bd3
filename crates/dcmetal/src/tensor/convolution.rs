//! Two-dimensional convolution and pooling of images.
//!
//! Shapes name the channel last: images are N x H x W x C and windows H x W x C of x x C of y. So what threads beside each other read and write lies beside each other, for windows as for
//! images, and a number of x serves many channels of y, as one of A serves many columns in a product. An image with the channel first is
//! [`permuted`](Tensor::permuted), which is slower and copies nothing.

use super::graph::{self, Operand};
use super::layout::{LIMIT, Layout, wrong};
use super::measured::{Class, choose};
use super::{Element, Implementation, Operation, Tensor, TensorMut, compiled, has_wide_vectors, one_accelerator};
use crate::raw::graph::{Computation, Window};
use crate::{Arg, Grid, Result, Size};

/// How a window goes over an image: rows first, columns second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Steps {
    /// From one place of the window to the next.
    pub stride: [usize; 2],
    /// Rows of zeros above and below, columns of zeros on the left and on the right. Of the largest numbers, and of means that do not count them, they are no part; a
    /// convolution adds nothing for them, whatever the weight.
    pub padding: [usize; 2],
    /// From one number under the window to the next.
    pub dilation: [usize; 2],
}

impl Default for Steps {
    fn default() -> Steps {
        Steps { stride: [1; 2], padding: [0; 2], dilation: [1; 2] }
    }
}

impl Steps {
    /// Places of a window of so many numbers along an axis of an image: `(extent + 2 padding - dilation (window - 1) - 1) / stride + 1`, rounded down. `None` where it
    /// fits nowhere or a number of these is 0.
    pub fn places(&self, axis: usize, extent: usize, window: usize) -> Option<usize> {
        let (stride, padding, dilation) = (self.stride[axis], self.padding[axis], self.dilation[axis]);
        if dilation == 0 {
            return None;
        }
        let whole = window.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)?;
        let free = padding.checked_mul(2)?.checked_add(extent)?.checked_sub(whole)?;
        free.checked_div(stride).map(|steps| steps + 1)
    }
}

/// How a convolution is computed.
pub struct Convolution<'a, T: Element> {
    /// How the window goes over the image.
    pub steps: Steps,
    /// Parts of the channels of x and y that have to do with each other only.
    pub groups: usize,
    /// What is added, for each channel of y.
    pub bias: Option<Tensor<'a, T>>,
}

impl<T: Element> Default for Convolution<'_, T> {
    fn default() -> Self {
        Convolution { steps: Steps::default(), groups: 1, bias: None }
    }
}

/// Heads of the sources.
const TILED: &str =
    concat!(include_str!("convolution.metal"), include_str!("lines.metal"), include_str!("convolution_threads.metal"));
const EACH: &str = concat!(include_str!("convolution.metal"), include_str!("convolution_each.metal"));
const POOL: &str = concat!(include_str!("convolution.metal"), include_str!("pool.metal"));

/// A tile of convolution_threads.metal.
struct Tile {
    places: usize,
    channels: usize,
    macros: [(&'static str, &'static str); 4],
}

const TILES: [Tile; 4] = [
    Tile { places: 48, channels: 64, macros: [("ROWS", "6"), ("COLUMNS", "4"), ("GROUP", "8"), ("DEPTH", "64")] },
    Tile { places: 64, channels: 48, macros: [("ROWS", "8"), ("COLUMNS", "3"), ("GROUP", "8"), ("DEPTH", "64")] },
    Tile { places: 96, channels: 32, macros: [("ROWS", "12"), ("COLUMNS", "2"), ("GROUP", "8"), ("DEPTH", "64")] },
    Tile { places: 96, channels: 16, macros: [("ROWS", "12"), ("COLUMNS", "1"), ("GROUP", "8"), ("DEPTH", "64")] },
];

/// For processors whose vectors have fewer than sixteen numbers (`ProductKernel::Threads96x16`).
const NARROW: Tile =
    Tile { places: 48, channels: 16, macros: [("ROWS", "6"), ("COLUMNS", "1"), ("GROUP", "8"), ("DEPTH", "256")] };

impl Tile {
    /// [`NARROW`] for narrow vectors, else the one that reads the least of threadgroup memory and x: for a multiply-add of a tile of c times 16 channels, 1 and 1 / c of a number.
    fn of(outputs: usize, has_wide_vectors: bool) -> &'static Tile {
        if !has_wide_vectors {
            return &NARROW;
        }
        let read = |tile: &&Tile| outputs.div_ceil(tile.channels) * (tile.channels + 16);
        TILES.iter().min_by_key(read).expect("there are tiles")
    }
}

/// Channels of a group from which on a tile is for them.
const LEAST_CHANNELS: usize = 8;

/// `Sizes` of convolution.metal.
struct Sizes {
    image: [usize; 4],
    result: [usize; 4],
    channels: [usize; 2],
    groups: usize,
    window: [usize; 2],
    steps: Steps,
    strides: [[usize; 4]; 3],
    has_bias: bool,
}

impl Sizes {
    fn words(&self) -> [u32; 28] {
        let Sizes { image, result, channels, groups, window, steps, strides, has_bias } = self;
        let mut all = vec![image[1], image[2], channels[0], channels[1], result[1], result[2], *groups];
        for pair in [*window, steps.stride, steps.padding, steps.dilation] {
            all.extend(pair);
        }
        all.extend(strides.concat());
        all.push(usize::from(*has_bias));
        // Extents and strides are within 31 bits (`Layout`), and so are steps and windows (`check_places`).
        let words: Vec<u32> = all.into_iter().map(|number| number as u32).collect();
        words.try_into().expect("twenty-eight words")
    }
}

/// That a layout has four axes: their extents and strides.
fn four(operation: &'static str, name: &str, of: &Layout) -> Result<([usize; 4], [usize; 4])> {
    match (of.extents().try_into(), of.strides().try_into()) {
        (Ok(extents), Ok(strides)) => Ok((extents, strides)),
        _ => Err(wrong(operation, format!("{name} is {} and has not four axes", of.shape()))),
    }
}

/// That y has a place for each of the window's, and that kernels can count all places in 32 bits: those in front of an image lie beyond its end for them.
fn check_places(
    operation: &'static str,
    steps: &Steps,
    image: &Layout,
    window: [usize; 2],
    result: &Layout,
) -> Result<()> {
    let places = |axis: usize| steps.places(axis, image.extents()[1 + axis], window[axis]);
    let (Some(rows), Some(columns)) = (places(0), places(1)) else {
        let text =
            format!("a window of {}x{} with {steps:?} has no place in x, {}", window[0], window[1], image.shape());
        return Err(wrong(operation, text));
    };
    for axis in [0, 1] {
        let padded = image.extents()[1 + axis] + 2 * steps.padding[axis];
        if padded.max(steps.stride[axis]).max(steps.dilation[axis]) > LIMIT {
            let text = format!(
                "x is {} with {steps:?}: axis {} with its padding, its stride and its dilation may be {LIMIT} each",
                image.shape(),
                1 + axis
            );
            return Err(wrong(operation, text));
        }
    }
    if result.extents()[..3] != [image.extents()[0], rows, columns] {
        let text = format!(
            "x is {}, y is {}: a window of {}x{} with {steps:?} has {rows}x{columns} places in each image",
            image.shape(),
            result.shape(),
            window[0],
            window[1]
        );
        return Err(wrong(operation, text));
    }
    Ok(())
}

/// y = the sum, under each place of the window, of the products of x and w (not mirrored, as is usual for networks), for each channel of y: x is N x H x W x C, y is N x H' x W' x D, with as many places as
/// [`Steps::places`] says, and w is the window: rows x columns x C / groups x D. Group g has channels g C / groups and on of x, and g D / groups and on of y. Products are
/// accumulated in `f32`, the bias is added, and y is rounded once.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) where extents do not fit; [`Error::Foreign`](crate::Error::Foreign); those of the kernel's compilation.
pub fn convolution<'a, T: Element>(
    x: Tensor<'a, T>,
    w: Tensor<'a, T>,
    y: TensorMut<'a, T>,
    options: &Convolution<'a, T>,
) -> Result<Operation<'a>> {
    convolution_by(x, w, y, options, Implementation::Measured)
}

/// As [`convolution`], by this module's kernels, or by Metal Performance Shaders Graph: of tensors whose elements follow each other, from any element on, on macOS 15 and later. The operation
/// is [submitted](Operation::submit) alone then. Metal does not say in what it accumulates, rounds a sum of 16 bits once more where a bias is added, and multiplies the padding's zeros by the weights. What
/// [`Measured`](Implementation::Measured) is, [`tune_operation`](super::tune_operation) finds.
///
/// # Errors
/// As [`convolution`]; [`Error::Unsupported`](crate::Error::Unsupported) for what Metal Performance Shaders cannot compute.
pub fn convolution_by<'a, T: Element>(
    x: Tensor<'a, T>,
    w: Tensor<'a, T>,
    y: TensorMut<'a, T>,
    options: &Convolution<'a, T>,
    by: Implementation,
) -> Result<Operation<'a>> {
    let Convolution { steps, groups, bias } = options;
    let window = match *w.shape() {
        // Features as extents: up to the next power of two.
        [rows, columns, _, features] => [rows, columns, features.next_power_of_two()],
        _ => [0; 3],
    };
    let numbers = [steps.stride, steps.padding, steps.dilation].concat();
    let numbers = [&window[..], &numbers, &[*groups, usize::from(bias.is_some())]].concat();
    let class = Class::of("convolution", [T::SCALAR; 2], [x.layout(), y.layout()], &numbers);
    choose((x.accelerator(), class, by), |by| convolution_of(x, w, y.again(), options, (by, None)))
}

/// By that tile, where kernels do it in tiles, or by the one that is expected to be the fastest.
fn convolution_of<'a, T: Element>(
    x: Tensor<'a, T>,
    w: Tensor<'a, T>,
    y: TensorMut<'a, T>,
    options: &Convolution<'a, T>,
    (by, tile): (Implementation, Option<&Tile>),
) -> Result<Operation<'a>> {
    const NAME: &str = "convolution";
    let gpu = one_accelerator(NAME, &[("x", x.accelerator()), ("w", w.accelerator()), ("y", y.accelerator())])?;
    let (image, x_strides) = four(NAME, "x", x.layout())?;
    let (window, w_strides) = four(NAME, "w", w.layout())?;
    let (result, y_strides) = four(NAME, "y", y.layout())?;
    let &Convolution { steps, groups, bias } = options;
    let refused = |why: &str| {
        let (x, w, y) = (x.layout().shape(), w.layout().shape(), y.layout().shape());
        wrong(NAME, format!("x is {x}, w is {w}, y is {y}, {groups} groups: {why}"))
    };
    let ([_, _, _, c], [height, width, inputs, d]) = (image, window);
    if groups == 0 || !d.is_multiple_of(groups) || inputs.checked_mul(groups) != Some(c) {
        return Err(refused("the groups do not divide the channels of x and y, or w has not those of a group"));
    }
    if result[3] != d {
        return Err(refused("y has not the channels of w"));
    }
    check_places(NAME, &steps, x.layout(), [height, width], y.layout())?;
    if let Some(bias) = &bias {
        one_accelerator(NAME, &[("x", gpu), ("bias", bias.accelerator())])?;
        if bias.shape() != [d] || bias.strides() != [1] {
            return Err(wrong(NAME, format!("the bias is {bias:?}, not {d} numbers that follow each other")));
        }
    }
    if by == Implementation::PerformanceShaders {
        let computation =
            Computation::Convolution { window: under([height, width], steps), groups, has_bias: bias.is_some() };
        let mut inputs = vec![Operand::read("x", &x), Operand::read("w", &w)];
        inputs.extend(bias.as_ref().map(|bias| Operand::read("bias", bias).shaped(vec![1, 1, 1, d])));
        let pass = graph::pass(gpu, NAME, computation, inputs, vec![Operand::written("y", y)])?;
        return Ok(Operation::of_graph(gpu, NAME, pass));
    }
    let outputs = d / groups;
    let (window, channels, strides) = ([height, width], [inputs, outputs], [x_strides, w_strides, y_strides]);
    let sizes = Sizes { image, result, channels, groups, window, steps, strides, has_bias: bias.is_some() }.words();
    let args = vec![x.arg(), w.arg(), bias.unwrap_or(w).arg(), y.into_arg(), Arg::value(sizes)];
    let element = ("T", T::SCALAR.name());
    let [images, to_height, to_width, _] = result;
    if outputs >= LEAST_CHANNELS {
        let Tile { places, channels, macros } =
            tile.unwrap_or_else(|| Tile::of(outputs, cfg!(target_os = "macos") || has_wide_vectors()));
        let kernel = compiled(gpu, "convolution_threads", TILED, &[&[element][..], macros].concat())?;
        let count = (outputs.div_ceil(*channels) * groups, to_width.div_ceil(*places), images * to_height);
        return Ok(Operation::of(kernel, Grid::threadgroups(count, (16usize, 8usize)), args));
    }
    let flag = |is: bool| if is { "1" } else { "0" };
    let in_line = [x_strides[3], w_strides[3], y_strides[3]] == [1; 3];
    let macros = [element, ("IN_LINE", flag(in_line)), ("DEPTHWISE", flag(inputs == 1 && outputs == 1))];
    let kernel = compiled(gpu, "convolution_each", EACH, &macros)?;
    Ok(Operation::of(kernel, Grid::threads(Size::from((d, to_width, images * to_height))), args))
}

/// The window of a graph.
fn under(extents: [usize; 2], Steps { stride, padding, dilation }: Steps) -> Window {
    Window { extents, stride, padding, dilation }
}

/// What is made of the numbers under a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pooling {
    /// The largest; NaN where there is one.
    Max,
    /// The mean of those in the image.
    Mean,
    /// The same with zeros for the padding.
    MeanWithPadding,
}

/// How a pooling is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pool {
    /// What is made of the numbers under a window.
    pub pooling: Pooling,
    /// Its rows and columns.
    pub window: [usize; 2],
    /// How it goes over the image.
    pub steps: Steps,
}

/// y = the largest number, or the mean, under each place of a window, for each channel by itself: x is N x H x W x C and y is N x H' x W' x C, with as many places as [`Steps::places`] says.
/// Sums are made in `f32`.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) where extents do not fit, and for a padding so large that a place of the window has nothing of x under it;
/// [`Error::Foreign`](crate::Error::Foreign); those of the kernel's compilation.
pub fn pool<'a, T: Element>(x: Tensor<'a, T>, y: TensorMut<'a, T>, options: &Pool) -> Result<Operation<'a>> {
    pool_by(x, y, options, Implementation::Measured)
}

/// As [`pool`], by this module's kernels, or by Metal Performance Shaders Graph, as [`convolution_by`]. What the largest number beside a NaN is, Metal does not say.
///
/// # Errors
/// As [`pool`]; [`Error::Unsupported`](crate::Error::Unsupported) for what Metal Performance Shaders cannot compute.
pub fn pool_by<'a, T: Element>(
    x: Tensor<'a, T>,
    y: TensorMut<'a, T>,
    options: &Pool,
    by: Implementation,
) -> Result<Operation<'a>> {
    let Pool { pooling, window, steps } = *options;
    let numbers = [window, steps.stride, steps.padding, steps.dilation].concat();
    let class =
        Class::of("pool", [T::SCALAR; 2], [x.layout(), y.layout()], &[&numbers[..], &[pooling as usize]].concat());
    choose((x.accelerator(), class, by), |by| pool_of(x, y.again(), options, by))
}

fn pool_of<'a, T: Element>(
    x: Tensor<'a, T>,
    y: TensorMut<'a, T>,
    options: &Pool,
    by: Implementation,
) -> Result<Operation<'a>> {
    const NAME: &str = "pool";
    let Pool { pooling, window, steps } = *options;
    let gpu = one_accelerator(NAME, &[("x", x.accelerator()), ("y", y.accelerator())])?;
    let (image, x_strides) = four(NAME, "x", x.layout())?;
    let (result, y_strides) = four(NAME, "y", y.layout())?;
    if image[3] != result[3] {
        let text = format!("x is {}, y is {}: other channels", x.layout().shape(), y.layout().shape());
        return Err(wrong(NAME, text));
    }
    check_places(NAME, &steps, x.layout(), window, y.layout())?;
    // Of every place, along either axis, some number must be in the image.
    let is_empty = |axis: usize| {
        let first = |to: usize| to * steps.stride[axis];
        let inside = |at: usize| (steps.padding[axis]..steps.padding[axis] + image[1 + axis]).contains(&at);
        (0..result[1 + axis]).any(|to| !(0..window[axis]).any(|at| inside(first(to) + at * steps.dilation[axis])))
    };
    if is_empty(0) || is_empty(1) {
        let text =
            format!("a window of {}x{} with {steps:?} has a place with nothing of x under it", window[0], window[1]);
        return Err(wrong(NAME, text));
    }
    if by == Implementation::PerformanceShaders {
        let window = under(window, steps);
        let computation = match pooling {
            Pooling::Max => Computation::MaxPooling(window),
            Pooling::Mean | Pooling::MeanWithPadding => {
                Computation::AveragePooling { window, counts_padding: pooling == Pooling::MeanWithPadding }
            }
        };
        let (inputs, results) = (vec![Operand::read("x", &x)], vec![Operand::written("y", y)]);
        return Ok(Operation::of_graph(gpu, NAME, graph::pass(gpu, NAME, computation, inputs, results)?));
    }
    let strides = [x_strides, [0; 4], y_strides];
    let channels = [image[3]; 2];
    let sizes = Sizes { image, result, channels, groups: 1, window, steps, strides, has_bias: false }.words();
    let flag = |is: bool| if is { "1" } else { "0" };
    let in_line = x_strides[3] == 1 && y_strides[3] == 1;
    let macros = [("T", T::SCALAR.name()), ("IN_LINE", flag(in_line)), ("IS_MAX", flag(pooling == Pooling::Max))];
    let kernel = compiled(gpu, "pool", POOL, &macros)?;
    let grid = Grid::threads(Size::from((result[3], result[2], result[0] * result[1])));
    let counts = Arg::from(u32::from(pooling == Pooling::MeanWithPadding));
    Ok(Operation::of(kernel, grid, vec![x.arg(), y.into_arg(), Arg::value(sizes), counts]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Accelerator;

    #[test]
    fn tiles_have_few_channels_for_nothing() {
        let cases = [
            (8, 16),
            (16, 16),
            (17, 32),
            (32, 32),
            (33, 48),
            (48, 48),
            (49, 64),
            (64, 64),
            (80, 48),
            (128, 64),
            (1000, 64),
        ];
        for (outputs, channels) in cases {
            assert_eq!(Tile::of(outputs, true).channels, channels, "{outputs}");
            assert_eq!(Tile::of(outputs, false).macros, NARROW.macros);
        }
        for Tile { places, channels, macros: [rows, columns, group, _] } in TILES.iter().chain([&NARROW]) {
            let number = |(_, text): &(&str, &str)| text.parse::<usize>().expect("a number");
            assert_eq!((*places, *channels), (number(rows) * number(group), number(columns) * 16));
            // As many threads as the launch has.
            assert_eq!(number(group), 8);
        }
    }

    /// Which of them a processor's own choice is, no other test on it would run another.
    #[test]
    fn each_tile_convolves() {
        const SHAPE: [usize; 4] = [2, 4, 101, 5];
        let gpu = Accelerator::system_default().expect("a Metal device");
        // Small whole numbers, so that sums are exact in any order.
        let of =
            |count: usize, step: usize| -> Vec<f32> { (0..count).map(|at| (at * step % 13) as f32 - 6.0).collect() };
        for tile in TILES.iter().chain([&NARROW]) {
            let [images, height, width, inputs] = SHAPE;
            let outputs = tile.channels + 5;
            let [x, w] = [of(SHAPE.iter().product(), 7), of(3 * 3 * inputs * outputs, 5)];
            let [at_x, at_w] = [&x, &w].map(|numbers| gpu.buffer_from(numbers).expect("a buffer"));
            let mut y = gpu.buffer_from(&vec![f32::NAN; images * height * width * outputs]).expect("a buffer");
            let options =
                Convolution { steps: Steps { padding: [1, 1], ..Steps::default() }, ..Convolution::default() };
            let operation = convolution_of(
                Tensor::new(&at_x, &SHAPE).expect("it fits"),
                Tensor::new(&at_w, &[3, 3, inputs, outputs]).expect("it fits"),
                TensorMut::new(&mut y, &[images, height, width, outputs]).expect("it fits"),
                &options,
                (Implementation::Kernels, Some(tile)),
            );
            operation.and_then(|operation| operation.submit()?.wait()).expect("it runs");
            for (at, got) in y.to_vec().expect("it ran").into_iter().enumerate() {
                let (output, place) = (at % outputs, at / outputs);
                let (image, row, column) = (place / width / height, place / width % height, place % width);
                let mut wanted = 0.0;
                for (i, j) in (0..9).map(|at| (at / 3, at % 3)) {
                    let (Some(row), Some(column)) = ((row + i).checked_sub(1), (column + j).checked_sub(1)) else {
                        continue;
                    };
                    if row < height && column < width {
                        for input in 0..inputs {
                            wanted += x[((image * height + row) * width + column) * inputs + input]
                                * w[((i * 3 + j) * inputs + input) * outputs + output];
                        }
                    }
                }
                assert_eq!(got, wanted, "{:?}, image {image}, row {row}, column {column}, {output}", tile.macros);
            }
        }
    }
}
