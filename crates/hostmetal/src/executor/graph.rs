//! Operations of Metal Performance Shaders Graph, in blocks of their results.
//!
//! Numbers of 16 bits are computed as those of 32, and rounded when the operation's result is written; what reductions add up has 64 bits before. Convolutions of one group are products
//! of their windows, laid out side by side some places at a time, and the weights (`gemm-f32`); those of several groups are sums as they are
//! written.

use std::ops::Range;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::blocks::Blocks;
use super::product::{Numbers, multiply};
use crate::graph::{Node, Number, Operation, Reduction, Tensor, Window};

impl Blocks for Node {
    fn blocks(&self) -> usize {
        self.blocks
    }

    fn work(&self) -> usize {
        self.work
    }

    fn run_block(&self, number: usize) {
        let first = number * self.block;
        match self.operation {
            Operation::Convolution(window, groups) => self.convolve(&window, groups, self.range(first, self.places())),
            Operation::MaxPooling(window) => {
                self.pool(&window, self.range(first, self.places()), f32::NEG_INFINITY, larger, |_| 1.0);
            }
            Operation::AveragePooling(window, counts_padding) => {
                let all = (window.size[0] * window.size[1]) as f32;
                let divisor = |within: usize| if counts_padding { all } else { within as f32 };
                self.pool(&window, self.range(first, self.places()), 0.0, |sum, x| sum + x, divisor);
            }
            Operation::Reduction(reduction, axes) => {
                self.reduce(reduction, axes, self.range(first, self.to.elements()))
            }
            Operation::Cast(_) => self.each(self.range(first, self.to.elements()), |[x, ..]| x),
            Operation::Addition => self.each(self.range(first, self.to.elements()), |[x, y, ..]| x + y),
            Operation::Normalization(epsilon) => {
                let (scales, shifts) = (self.inputs[3].is_some(), self.inputs[4].is_some());
                self.each(self.range(first, self.to.elements()), |[x, mean, variance, gamma, beta]| {
                    let normal = (x - mean) / (variance + epsilon).sqrt();
                    let scaled = if scales { normal * gamma } else { normal };
                    if shifts { scaled + beta } else { scaled }
                });
            }
        }
    }
}

/// NaN where one of them is.
fn larger(x: f32, y: f32) -> f32 {
    if x.is_nan() || x > y { x } else { y }
}

fn smaller(x: f32, y: f32) -> f32 {
    if x.is_nan() || x < y { x } else { y }
}

impl Tensor {
    fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    /// From an element on, as many as there is room for, as numbers of 32 bits.
    fn read(&self, at: usize, to: &mut [f32]) {
        let from = self.base.wrapping_add(at * self.number.bytes());
        let count = to.len();
        // SAFETY (of all below): the encoder checked that the tensor is within its buffer, which the recording holds, and callers ask
        // for elements of the tensor. The offset is a multiple of the element's size. A program that writes them meanwhile races with its own
        // command.
        match self.number {
            // SAFETY: as above.
            Number::Float32 => unsafe { std::ptr::copy_nonoverlapping(from.cast(), to.as_mut_ptr(), count) },
            Number::Float16 => {
                // SAFETY: as above.
                unsafe { std::slice::from_raw_parts(from.cast::<f16>(), count) }.convert_to_f32_slice(to)
            }
            Number::BFloat16 => {
                // SAFETY: as above.
                unsafe { std::slice::from_raw_parts(from.cast::<bf16>(), count) }.convert_to_f32_slice(to)
            }
        }
    }

    /// From an element on, rounded to the tensor's type.
    fn write(&self, at: usize, from: &[f32]) {
        let to = self.base.wrapping_add(at * self.number.bytes());
        let count = from.len();
        match self.number {
            // SAFETY: as in `read`; no other worker has these elements.
            Number::Float32 => unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.cast(), count) },
            Number::Float16 => {
                // SAFETY: as above.
                unsafe { std::slice::from_raw_parts_mut(to.cast::<f16>(), count) }.convert_from_f32_slice(from);
            }
            Number::BFloat16 => {
                // SAFETY: as above.
                unsafe { std::slice::from_raw_parts_mut(to.cast::<bf16>(), count) }.convert_from_f32_slice(from);
            }
        }
    }

    /// Elements of a row of a tensor that this one spreads to.
    fn read_spread(&self, of: &Tensor, row: usize, columns: Range<usize>, to: &mut [f32]) {
        let (mut rest, mut at, mut stride) = (row, 0, self.extents[3]);
        for axis in (0..3).rev() {
            let coordinate = rest % of.extents[axis];
            rest /= of.extents[axis];
            if self.extents[axis] > 1 {
                at += coordinate * stride;
            }
            stride *= self.extents[axis];
        }
        if self.extents[3] == 1 {
            let mut one = [0.0];
            self.read(at, &mut one);
            to.fill(one[0]);
        } else {
            self.read(at + columns.start, to);
        }
    }
}

impl Node {
    fn range(&self, first: usize, all: usize) -> Range<usize> {
        first..(first + self.block).min(all)
    }

    /// Rows of the result, each a place of a window.
    fn places(&self) -> usize {
        self.to.elements() / self.to.extents[3]
    }

    fn input(&self, at: usize) -> &Tensor {
        self.inputs[at].as_ref().unwrap_or_else(|| unreachable!("the encoder checked what an operation is given"))
    }

    /// A function of what the inputs hold for each element.
    fn each(&self, elements: Range<usize>, function: impl Fn([f32; 5]) -> f32) {
        let length = self.to.extents[3];
        let mut rows = [const { Vec::new() }; 5];
        let mut at = elements.start;
        while at < elements.end {
            let (row, first) = (at / length, at % length);
            let columns = first..length.min(first + elements.end - at).min(first + 4096);
            for (input, numbers) in self.inputs.iter().zip(&mut rows) {
                numbers.resize(columns.len(), 0.0);
                if let Some(input) = input {
                    input.read_spread(&self.to, row, columns.clone(), numbers);
                }
            }
            let [x, y, z, u, v] = &mut rows;
            for (at, x) in x.iter_mut().enumerate() {
                *x = function([*x, y[at], z[at], u[at], v[at]]);
            }
            self.to.write(at, x);
            at += columns.len();
        }
    }

    // ------------------------------------------------------------ windows

    /// The elements of the source in a window's place, where they are not padding: the number of each in the window, and where its channels begin.
    fn window_at(&self, window: &Window, place: usize, mut with: impl FnMut(usize, usize)) {
        let [_, height, width, channels] = self.input(0).extents;
        let (across, down) = (self.to.extents[2], self.to.extents[1]);
        let (x, y, image) = (place % across, place / across % down, place / across / down);
        // Only what is within the source: a window may be far larger.
        let within = |axis: usize, place: usize, extent: usize| {
            let (start, dilation) = (place * window.stride[axis], window.dilation[axis]);
            let before = window.padding[axis][0];
            let first = before.saturating_sub(start).div_ceil(dilation);
            let end = (extent + before).saturating_sub(start).div_ceil(dilation);
            first.min(window.size[axis])..end.min(window.size[axis])
        };
        for row in within(0, y, height) {
            let at = y * window.stride[0] + row * window.dilation[0] - window.padding[0][0];
            for column in within(1, x, width) {
                let beside = x * window.stride[1] + column * window.dilation[1] - window.padding[1][0];
                with(row * window.size[1] + column, ((image * height + at) * width + beside) * channels);
            }
        }
    }

    fn pool(
        &self,
        window: &Window,
        places: Range<usize>,
        first: f32,
        fold: impl Fn(f32, f32) -> f32,
        divisor: impl Fn(usize) -> f32,
    ) {
        let channels = self.to.extents[3];
        let (mut result, mut numbers) = (vec![0.0f32; channels], vec![0.0f32; channels]);
        for place in places {
            result.fill(first);
            let mut within = 0;
            self.window_at(window, place, |_, at| {
                within += 1;
                self.input(0).read(at, &mut numbers);
                result.iter_mut().zip(&numbers).for_each(|(to, &x)| *to = fold(*to, x));
            });
            let divisor = divisor(within);
            result.iter_mut().for_each(|x| *x /= divisor);
            self.to.write(place * channels, &result);
        }
    }

    fn convolve(&self, window: &Window, groups: usize, places: Range<usize>) {
        if groups == 1 { self.convolve_all(window, places) } else { self.convolve_groups(window, groups, places) }
    }

    /// Of one group: the windows' elements, a row for each place, times the weights.
    fn convolve_all(&self, window: &Window, places: Range<usize>) {
        let (source, weights) = (self.input(0), self.input(1));
        let (channels, features) = (source.extents[3], self.to.extents[3]);
        let terms = window.size[0] * window.size[1] * channels;
        let whole = window.size == [1, 1] && window.stride == [1, 1] && window.padding == [[0; 2]; 2];
        let mut laid_out = Vec::new();
        let left = if whole && source.number == Number::Float32 {
            source.base.cast::<f32>().wrapping_add(places.start * channels).cast_const()
        } else {
            laid_out.resize(places.len() * terms, 0.0f32);
            for (place, row) in places.clone().zip(laid_out.chunks_exact_mut(terms)) {
                self.window_at(window, place, |number, at| {
                    source.read(at, &mut row[number * channels..][..channels]);
                });
            }
            laid_out.as_ptr()
        };
        let mut converted = Vec::new();
        let right = weights.numbers(&mut converted);
        let mut sums = Vec::new();
        let to = if self.to.number == Number::Float32 {
            self.to.base.cast::<f32>().wrapping_add(places.start * features)
        } else {
            sums.resize(places.len() * features, 0.0f32);
            sums.as_mut_ptr()
        };
        let left = Numbers { first: left, row: terms, column: 1 };
        let right = Numbers { first: right, row: features, column: 1 };
        // SAFETY: source, weights and result are within their buffers, which the recording holds, and the places within the result; what was
        // laid out and converted is as large.
        unsafe { multiply([places.len(), features, terms], (to, features), [left, right], [1.0, 0.0]) };
        if self.to.number != Number::Float32 {
            self.to.write(places.start * features, &sums);
        }
    }

    fn convolve_groups(&self, window: &Window, groups: usize, places: Range<usize>) {
        let (source, weights) = (self.input(0), self.input(1));
        let (channels, features) = (source.extents[3], self.to.extents[3]);
        let (of_group, made) = (channels / groups, features / groups);
        let mut factors = vec![0.0f32; weights.elements()];
        weights.read(0, &mut factors);
        let (mut sums, mut numbers) = (vec![0.0f32; features], vec![0.0f32; channels]);
        for place in places {
            sums.fill(0.0);
            self.window_at(window, place, |number, at| {
                source.read(at, &mut numbers);
                for channel in 0..of_group {
                    let factors = &factors[(number * of_group + channel) * features..][..features];
                    for ((sums, factors), numbers) in
                        sums.chunks_exact_mut(made).zip(factors.chunks_exact(made)).zip(numbers.chunks_exact(of_group))
                    {
                        let x = numbers[channel];
                        sums.iter_mut().zip(factors).for_each(|(sum, &factor)| *sum += x * factor);
                    }
                }
            });
            self.to.write(place * features, &sums);
        }
    }

    // ------------------------------------------------------------ reductions

    fn reduce(&self, reduction: Reduction, axes: [bool; 4], elements: Range<usize>) {
        if axes[3] {
            self.reduce_rows(reduction, axes, elements)
        } else {
            self.reduce_columns(reduction, axes, elements)
        }
    }

    /// Where the rows begin that are reduced for an element of the result; `kept` is what is left of its number above its row.
    fn rows_of(&self, axes: [bool; 4], mut kept: usize, mut with: impl FnMut(usize)) {
        let extents = self.input(0).extents;
        let strides = [extents[1] * extents[2] * extents[3], extents[2] * extents[3], extents[3]];
        let mut ranges = [0..0, 0..0, 0..0];
        for axis in (0..3).rev() {
            let at = kept % self.to.extents[axis];
            kept /= self.to.extents[axis];
            ranges[axis] = if axes[axis] { 0..extents[axis] } else { at..at + 1 };
        }
        for a in ranges[0].clone() {
            for b in ranges[1].clone() {
                for c in ranges[2].clone() {
                    with(a * strides[0] + b * strides[1] + c * strides[2]);
                }
            }
        }
    }

    /// The fastest axis is reduced: each element of the result is one of whole rows.
    fn reduce_rows(&self, reduction: Reduction, axes: [bool; 4], elements: Range<usize>) {
        const PIECE: usize = 512;
        let source = self.input(0);
        let (length, count) = (source.extents[3], source.elements() / self.to.elements());
        let mut numbers = [0.0f32; PIECE];
        for element in elements {
            let mut mean = [0.0f32];
            if reduction == Reduction::Variance {
                self.input(1).read(element, &mut mean);
            }
            let mut value = first(reduction);
            self.rows_of(axes, element, |at| {
                for start in (0..length).step_by(PIECE) {
                    let numbers = &mut numbers[..PIECE.min(length - start)];
                    source.read(at + start, numbers);
                    value = join(reduction, value, f64::from(of_piece(reduction, numbers, mean[0])));
                }
            });
            self.to.write(element, &[last(reduction, value, count)]);
        }
    }

    /// The fastest axis is kept: elements side by side in the result are so in the source.
    fn reduce_columns(&self, reduction: Reduction, axes: [bool; 4], elements: Range<usize>) {
        let source = self.input(0);
        let (length, count) = (source.extents[3], source.elements() / self.to.elements());
        let mut at = elements.start;
        while at < elements.end {
            let (row, column) = (at / length, at % length);
            let width = (length - column).min(elements.end - at).min(1024);
            let (mut numbers, mut means) = (vec![0.0f32; width], vec![0.0f32; width]);
            if reduction == Reduction::Variance {
                self.input(1).read(at, &mut means);
            }
            let mut values = vec![first(reduction); width];
            self.rows_of(axes, row, |from| {
                source.read(from + column, &mut numbers);
                for ((value, &x), &mean) in values.iter_mut().zip(&numbers).zip(&means) {
                    let x = if reduction == Reduction::Variance { (x - mean) * (x - mean) } else { x };
                    *value = join(reduction, *value, f64::from(x));
                }
            });
            for (to, &value) in numbers.iter_mut().zip(&values) {
                *to = last(reduction, value, count);
            }
            self.to.write(at, &numbers);
            at += width;
        }
    }
}

impl Tensor {
    /// All numbers, where they are if they have 32 bits.
    fn numbers(&self, converted: &mut Vec<f32>) -> *const f32 {
        if self.number == Number::Float32 {
            return self.base.cast::<f32>().cast_const();
        }
        converted.resize(self.elements(), 0.0);
        self.read(0, converted);
        converted.as_ptr()
    }
}

/// What a reduction of nothing is.
fn first(reduction: Reduction) -> f64 {
    match reduction {
        Reduction::Sum | Reduction::Mean | Reduction::Variance => 0.0,
        Reduction::Maximum => f64::NEG_INFINITY,
        Reduction::Minimum => f64::INFINITY,
    }
}

/// Sums of pieces are added in 64 bits, so that long ones lose nothing.
fn join(reduction: Reduction, value: f64, x: f64) -> f64 {
    match reduction {
        Reduction::Sum | Reduction::Mean | Reduction::Variance => value + x,
        // Both were numbers of 32 bits.
        Reduction::Maximum => f64::from(larger(value as f32, x as f32)),
        Reduction::Minimum => f64::from(smaller(value as f32, x as f32)),
    }
}

/// Of numbers side by side: sixteen sums of 32 bits at a time, so that they are vectors.
fn of_piece(reduction: Reduction, numbers: &[f32], mean: f32) -> f32 {
    match reduction {
        Reduction::Sum | Reduction::Mean => lanes(numbers, 0.0, |sum, x| sum + x, |sum, x| sum + x),
        Reduction::Variance => lanes(numbers, 0.0, |sum, x| sum + (x - mean) * (x - mean), |sum, x| sum + x),
        Reduction::Maximum => lanes(numbers, f32::NEG_INFINITY, larger, larger),
        Reduction::Minimum => lanes(numbers, f32::INFINITY, smaller, smaller),
    }
}

fn lanes(numbers: &[f32], first: f32, fold: impl Fn(f32, f32) -> f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [first; 16];
    for numbers in numbers.chunks(16) {
        lanes.iter_mut().zip(numbers).for_each(|(lane, &x)| *lane = fold(*lane, x));
    }
    lanes.into_iter().fold(first, join)
}

fn last(reduction: Reduction, value: f64, count: usize) -> f32 {
    match reduction {
        Reduction::Mean | Reduction::Variance => (value / count as f64) as f32,
        Reduction::Sum | Reduction::Maximum | Reduction::Minimum => value as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor<T>(numbers: &mut [T], number: Number, [rows, columns]: [usize; 2]) -> Tensor {
        Tensor { base: numbers.as_mut_ptr().cast(), number, extents: [1, 1, rows, columns] }
    }

    fn run(operation: Operation, inputs: &[Tensor], to: Tensor, block: usize) {
        let all = std::array::from_fn(|at| inputs.get(at).copied());
        let blocks = to.elements().div_ceil(block);
        let node = Node { operation, inputs: all, to, block, blocks, work: 1 };
        (0..blocks).for_each(|number| node.run_block(number));
    }

    /// In blocks that end within rows; a row is added to each.
    #[test]
    fn elements_are_added_where_they_lie() {
        let halves = |numbers: [u8; 6]| numbers.map(f16::from);
        let (mut x, mut y, mut to) = (halves([1, 2, 3, 4, 5, 6]), [10u8, 20, 30].map(f16::from), [f16::ZERO; 6]);
        let inputs = [tensor(&mut x, Number::Float16, [2, 3]), tensor(&mut y, Number::Float16, [1, 3])];
        run(Operation::Addition, &inputs, tensor(&mut to, Number::Float16, [2, 3]), 4);
        assert_eq!(to, halves([11, 22, 33, 14, 25, 36]));
    }

    #[test]
    fn numbers_are_cast_where_they_lie() {
        let (mut x, mut to) = ([1.0f32, -2.5, 0.125, 3.0], [bf16::ZERO; 4]);
        let input = [tensor(&mut x, Number::Float32, [1, 4])];
        run(Operation::Cast(Number::BFloat16), &input, tensor(&mut to, Number::BFloat16, [1, 4]), 3);
        assert_eq!(to.map(bf16::to_bits), [0x3f80, 0xc020, 0x3e00, 0x4040]);
    }
}
