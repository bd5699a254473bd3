//! Metal Performance Shaders Graph: operations of tensors, and what is checked before one is encoded.
//!
//! Tensors are rows of packed numbers, axis 0 slowest; convolutions and pools take N x H x W x C and weights of rows x columns x C/groups x D.
//! An [`Operation`] tells the shape of its result or what is wrong; a [`Node`] holds addresses that were checked, and the executor computes it
//! in blocks (executor/graph.rs).
//! <https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraph>

use std::sync::Arc;

use crate::encode::Misuse;
use crate::memory::Buffer;

/// Axes of a tensor, at most.
pub(crate) const RANK: usize = 4;
/// What an operation is given, at most.
pub(crate) const INPUTS: usize = 5;

/// Numbers of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Float32,
    Float16,
    BFloat16,
}

impl Number {
    /// Of an MPSDataType.
    pub(crate) fn of(data_type: u32) -> Result<Number, Misuse> {
        match data_type {
            0x1000_0020 => Ok(Number::Float32),
            0x1000_0010 => Ok(Number::Float16),
            0x9000_0010 => Ok(Number::BFloat16),
            _ => Err(
                c"the data type must be MPSDataTypeFloat32, Float16 or BFloat16: others are not supported by hostmetal",
            ),
        }
    }

    pub(crate) fn data_type(self) -> u32 {
        match self {
            Number::Float32 => 0x1000_0020,
            Number::Float16 => 0x1000_0010,
            Number::BFloat16 => 0x9000_0010,
        }
    }

    pub(crate) fn bytes(self) -> usize {
        if self == Number::Float32 { 4 } else { 2 }
    }
}

/// Extents, the slowest axis first; those in front of the rank's are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) number: Number,
    pub(crate) rank: usize,
    pub(crate) extents: [usize; RANK],
}

impl Shape {
    pub(crate) fn new(number: Number, extents: &[u64]) -> Result<Shape, Misuse> {
        if extents.is_empty() || extents.len() > RANK {
            return Err(c"the shape must have 1 to 4 axes: others are not supported by hostmetal");
        }
        let mut shape = Shape { number, rank: extents.len(), extents: [1; RANK] };
        let mut elements = 1u64;
        for (to, &extent) in shape.extents[RANK - extents.len()..].iter_mut().zip(extents) {
            elements = elements.checked_mul(extent).filter(|&all| all < 1 << 31).unwrap_or(0);
            *to = extent as usize;
        }
        if elements == 0 {
            return Err(c"the shape must have 1 to 2^31 - 1 elements");
        }
        Ok(shape)
    }

    pub(crate) fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.elements() * self.number.bytes()
    }

    /// Whether it has one element, or as many, along each axis of the other, of numbers as the other's.
    fn spreads_to(&self, other: &Shape) -> bool {
        let fits = |(&extent, &other): (&usize, &usize)| extent == 1 || extent == other;
        self.rank == other.rank && self.number == other.number && self.extents.iter().zip(&other.extents).all(fits)
    }
}

/// Where windows lie: rows, then columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) size: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) dilation: [usize; 2],
    /// In front of the first row, behind the last; in front of the first column, behind the last.
    pub(crate) padding: [[usize; 2]; 2],
}

impl Window {
    /// How many places it has along rows and columns of so many elements.
    fn places(&self, extents: [usize; 2]) -> Result<[usize; 2], Misuse> {
        let mut places = [0; 2];
        for (axis, to) in places.iter_mut().enumerate() {
            let all = [self.size[axis], self.stride[axis], self.dilation[axis]];
            if all.contains(&0) {
                return Err(c"window, strides and dilation rates must be > 0");
            }
            if all.into_iter().chain(self.padding[axis]).any(|number| number >= 1 << 31) {
                return Err(c"window, strides, dilation rates and paddings must be < 2^31");
            }
            let padded = extents[axis] + self.padding[axis][0] + self.padding[axis][1];
            let reach = (self.size[axis] - 1) * self.dilation[axis] + 1;
            if reach > padded {
                return Err(c"the window must lie within the padded source");
            }
            *to = (padded - reach) / self.stride[axis] + 1;
        }
        Ok(places)
    }
}

/// What a reduction keeps of numbers. Maxima and minima of NaN and anything are NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Sum,
    Mean,
    /// The mean square of the distance to what the second input holds.
    Variance,
    Maximum,
    Minimum,
}

/// An operation and what it says, apart from its inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    Cast(Number),
    Addition,
    /// Window and groups.
    Convolution(Window, usize),
    MaxPooling(Window),
    /// Whether the padding counts.
    AveragePooling(Window, bool),
    /// Over axes, of the four.
    Reduction(Reduction, [bool; RANK]),
    /// (x - mean) / root(variance + epsilon) gamma + beta.
    Normalization(f32),
}

impl Operation {
    /// The axes of a tensor of a rank as those of four.
    pub(crate) fn axes(bits: u32, rank: usize) -> Result<[bool; RANK], Misuse> {
        if bits == 0 || bits >> rank != 0 {
            return Err(c"the axes must be some of the tensor's");
        }
        let first = RANK - rank;
        Ok(std::array::from_fn(|axis| axis >= first && bits >> (axis - first) & 1 == 1))
    }

    /// The shape of the result of these inputs.
    pub(crate) fn result(&self, inputs: &[Option<Shape>; INPUTS]) -> Result<Shape, Misuse> {
        let source = inputs[0].ok_or(c"the tensor must not be nil")?;
        let most = match *self {
            Operation::Normalization(_) => INPUTS,
            Operation::Addition | Operation::Convolution(..) | Operation::Reduction(Reduction::Variance, _) => 2,
            _ => 1,
        };
        if inputs[most..].iter().any(Option::is_some) {
            return Err(c"the operation takes fewer tensors");
        }
        let second = || inputs[1].ok_or(c"the tensors must not be nil");
        match *self {
            Operation::Cast(number) => Ok(Shape { number, ..source }),
            Operation::Addition => {
                let other = second()?;
                let extents = std::array::from_fn(|axis| source.extents[axis].max(other.extents[axis]));
                let sum = Shape { extents, ..source };
                let fits = source.spreads_to(&sum) && other.spreads_to(&sum);
                if !fits {
                    return Err(c"the tensors must be of one type and rank, and spread to one shape");
                }
                Shape::new(sum.number, &sum.extents.map(|extent| extent as u64)[RANK - sum.rank..])
            }
            Operation::Convolution(window, groups) => convolved(source, second()?, window, groups),
            Operation::MaxPooling(window) | Operation::AveragePooling(window, _) => {
                let [images, channels] = image(source)?;
                let [down, across] = window.places([source.extents[1], source.extents[2]])?;
                of_places(source, [images, down, across, channels])
            }
            Operation::Reduction(reduction, axes) => {
                let extents = std::array::from_fn(|axis| if axes[axis] { 1 } else { source.extents[axis] });
                let result = Shape { extents, ..source };
                if reduction == Reduction::Variance && second()? != result {
                    return Err(c"the mean tensor must be the source's mean over the same axes");
                }
                Ok(result)
            }
            Operation::Normalization(_) => {
                second()?;
                inputs[2].ok_or(c"the tensors must not be nil")?;
                let fits = inputs[1..].iter().flatten().all(|input| input.spreads_to(&source));
                fits.then_some(source)
                    .ok_or(c"mean, variance, gamma and beta must be of the source's type and rank, and spread to it")
            }
        }
    }
}

/// Images and channels of a tensor that holds images.
fn image(source: Shape) -> Result<[usize; 2], Misuse> {
    if source.rank != RANK {
        return Err(c"the source must have 4 axes");
    }
    Ok([source.extents[0], source.extents[3]])
}

fn of_places(source: Shape, extents: [usize; RANK]) -> Result<Shape, Misuse> {
    Shape::new(source.number, &extents.map(|extent| extent as u64))
}

fn convolved(source: Shape, weights: Shape, window: Window, groups: usize) -> Result<Shape, Misuse> {
    let [images, channels] = image(source)?;
    if weights.rank != RANK || weights.number != source.number {
        return Err(c"the weights must have 4 axes, and the source's type");
    }
    let [rows, columns, of_group, features] = weights.extents;
    if groups == 0 || channels != of_group.saturating_mul(groups) || !features.is_multiple_of(groups) {
        return Err(c"the groups must divide channels and features, and the weights have the channels of a group");
    }
    let window = Window { size: [rows, columns], ..window };
    let [down, across] = window.places([source.extents[1], source.extents[2]])?;
    of_places(source, [images, down, across, features])
}

/// A tensor where it lies.
#[derive(Clone, Copy)]
pub(crate) struct Tensor {
    pub(crate) base: *mut u8,
    pub(crate) number: Number,
    pub(crate) extents: [usize; RANK],
}

/// A tensor's numbers: a buffer, and the bytes in front of them.
pub(crate) type Memory<'a> = (&'a Arc<Buffer>, u64);

/// Whether a buffer holds a tensor there.
pub(crate) fn check((buffer, offset): Memory<'_>, shape: &Shape) -> Result<(), Misuse> {
    if !offset.is_multiple_of(shape.number.bytes() as u64) {
        return Err(c"the offset must be a multiple of the element size");
    }
    if offset.checked_add(shape.bytes() as u64).is_none_or(|end| end > buffer.length()) {
        return Err(c"the buffer is not large enough for the tensor");
    }
    Ok(())
}

/// Whether two pieces of memory have a byte in common.
fn overlap((one, bytes): (*mut u8, usize), (other, others): (*mut u8, usize)) -> bool {
    let (one, other) = (one.addr(), other.addr());
    one < other + others && other < one + bytes
}

/// An operation of tensors, all within their buffers.
pub(crate) struct Node {
    pub(crate) operation: Operation,
    pub(crate) inputs: [Option<Tensor>; INPUTS],
    pub(crate) to: Tensor,
    /// Elements of the result, rows of its places or elements that a worker computes at a time.
    pub(crate) block: usize,
    pub(crate) blocks: usize,
    /// Operations of all, about.
    pub(crate) work: usize,
}

// SAFETY: the addresses point into buffers that the recording holds; they may be used from any thread, as buffers may.
unsafe impl Send for Node {}
// SAFETY: as above; a node itself is only read.
unsafe impl Sync for Node {}

/// Operations of a block, about: some milliseconds of one core at most, so that a worker sees that it shall stop.
const OPERATIONS: usize = 1 << 22;
/// Numbers of a convolution's block that are laid out for a product, at most: a megabyte.
const LAID_OUT: usize = 1 << 18;

impl Node {
    /// Checked against the tensors; their buffers are to be kept until it has run.
    pub(crate) fn new(
        operation: Operation,
        shapes: &[Option<Shape>; INPUTS],
        inputs: [Option<Memory<'_>>; INPUTS],
        result: Memory<'_>,
    ) -> Result<Node, Misuse> {
        let to = operation.result(shapes)?;
        check(result, &to)?;
        let tensor = |(buffer, offset): Memory<'_>, shape: &Shape| Tensor {
            base: buffer.contents().wrapping_add(offset as usize),
            number: shape.number,
            extents: shape.extents,
        };
        let mut tensors = [None; INPUTS];
        for (at, shape) in shapes.iter().enumerate() {
            let Some(shape) = shape else { continue };
            let memory = inputs[at].ok_or(c"a tensor has no buffer")?;
            check(memory, shape)?;
            let (of, beside) = (tensor(memory, shape), tensor(result, &to));
            if overlap((of.base, shape.bytes()), (beside.base, to.bytes())) {
                return Err(c"a result that overlaps what it is computed of is not supported by hostmetal");
            }
            tensors[at] = Some(of);
        }
        let (items, each) = Self::items(&operation, &to, shapes);
        let mut block = (OPERATIONS / each).max(1);
        if let (Operation::Convolution(..), Some(weights)) = (&operation, &shapes[1]) {
            block = block.min((LAID_OUT * to.extents[3] / weights.elements()).max(8));
        }
        // At least so many that every worker has several.
        let block = block.min(items.div_ceil(4 * crate::device::worker_threads())).max(1);
        let blocks = items.div_ceil(block);
        Ok(Node {
            operation,
            inputs: tensors,
            to: tensor(result, &to),
            block,
            blocks,
            work: items.saturating_mul(each),
        })
    }

    /// What blocks are made of, places of windows or elements of the result, and the operations of each, about.
    fn items(operation: &Operation, to: &Shape, shapes: &[Option<Shape>; INPUTS]) -> (usize, usize) {
        let elements = |at: usize| shapes[at].map_or(1, |shape| shape.elements());
        let (channels, places) = (to.extents[3], to.elements() / to.extents[3]);
        match operation {
            Operation::Convolution(..) => (places, elements(1).max(1)),
            Operation::MaxPooling(window) | Operation::AveragePooling(window, _) => {
                (places, window.size[0].saturating_mul(window.size[1]).saturating_mul(channels))
            }
            Operation::Reduction(..) => (to.elements(), elements(0).div_ceil(to.elements())),
            Operation::Cast(_) | Operation::Addition => (to.elements(), 2),
            Operation::Normalization(_) => (to.elements(), 8),
        }
    }
}
