//! The C interface: operations of Metal Performance Shaders Graph.

use std::ffi::c_char;
use std::sync::Arc;

use super::{HMBuffer, HMEncoder, answer, borrow, share};
use crate::encode::Misuse;
use crate::graph::{self, INPUTS, Number, Operation, RANK, Reduction, Shape, Window};
use crate::memory::Buffer;

/// HMGraphShape: a tensor's type and extents; a rank of 0 stands for no tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct HMGraphShape {
    /// MPSDataType.
    pub data_type: u32,
    /// Axes.
    pub rank: u32,
    /// The slowest axis first.
    pub extents: [u64; RANK],
}

/// HMGraphNode: an operation, what it is given and what it makes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct HMGraphNode {
    /// HMGraphOperation.
    pub operation: u32,
    /// What the operation takes.
    pub inputs: [HMGraphShape; INPUTS],
    /// Set by `hm_graph_check`; of a cast its type is given.
    pub result: HMGraphShape,
    /// Of a pool: rows and columns.
    pub window: [u64; 2],
    /// Rows and columns.
    pub stride: [u64; 2],
    /// Rows and columns.
    pub dilation: [u64; 2],
    /// Top, bottom, left, right.
    pub padding: [u64; 4],
    /// Of a convolution.
    pub groups: u64,
    /// A bit for each.
    pub axes: u32,
    /// Of a normalisation.
    pub epsilon: f32,
    /// Of a mean of a pool.
    pub counts_padding: bool,
}

/// HMGraphMemory: where a tensor's numbers are.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMGraphMemory {
    /// NULL for no tensor.
    pub buffer: HMBuffer,
    /// Bytes in front of them.
    pub offset: u64,
}

impl HMGraphShape {
    fn shape(&self) -> Result<Option<Shape>, Misuse> {
        if self.rank == 0 {
            return Ok(None);
        }
        let number = Number::of(self.data_type)?;
        // Of too many axes none are left, which is refused as well.
        Shape::new(number, self.extents.get(..self.rank as usize).unwrap_or(&[])).map(Some)
    }

    fn of(shape: &Shape) -> HMGraphShape {
        let mut extents = [0; RANK];
        for (to, &extent) in extents.iter_mut().zip(&shape.extents[RANK - shape.rank..]) {
            *to = extent as u64;
        }
        HMGraphShape { data_type: shape.number.data_type(), rank: shape.rank as u32, extents }
    }
}

impl HMGraphNode {
    fn shapes(&self) -> Result<[Option<Shape>; INPUTS], Misuse> {
        let mut shapes = [None; INPUTS];
        for (to, input) in shapes.iter_mut().zip(&self.inputs) {
            *to = input.shape()?;
        }
        Ok(shapes)
    }

    fn window(&self) -> Window {
        let size = |numbers: [u64; 2]| numbers.map(|number| number as usize);
        let [top, bottom, left, right] = self.padding;
        Window {
            size: size(self.window),
            stride: size(self.stride),
            dilation: size(self.dilation),
            padding: [size([top, bottom]), size([left, right])],
        }
    }

    fn operation(&self) -> Result<Operation, Misuse> {
        // A tensor that is missing is told of by who looks at the inputs.
        let rank = match self.inputs[0].rank as usize {
            0 => RANK,
            rank => rank.min(RANK),
        };
        let reduction = |kind| Operation::axes(self.axes, rank).map(|axes| Operation::Reduction(kind, axes));
        match self.operation {
            0 => Number::of(self.result.data_type).map(Operation::Cast),
            1 => Ok(Operation::Addition),
            2 => {
                // The weights say how large it is.
                let [rows, columns, ..] = self.inputs[1].extents;
                let window = Window { size: [rows as usize, columns as usize], ..self.window() };
                Ok(Operation::Convolution(window, self.groups as usize))
            }
            3 => Ok(Operation::MaxPooling(self.window())),
            4 => Ok(Operation::AveragePooling(self.window(), self.counts_padding)),
            5 => reduction(Reduction::Sum),
            6 => reduction(Reduction::Mean),
            7 => reduction(Reduction::Variance),
            8 => reduction(Reduction::Maximum),
            9 => reduction(Reduction::Minimum),
            10 => Ok(Operation::Normalization(self.epsilon)),
            _ => Err(c"unknown operation"),
        }
    }
}

/// Whether it is a tensor's shape.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_graph_shape_check(shape: *const HMGraphShape) -> *const c_char {
    // SAFETY: as the module above says.
    let shape = unsafe { *shape };
    answer(
        Number::of(shape.data_type)
            .and_then(|number| Shape::new(number, shape.extents.get(..shape.rank as usize).unwrap_or(&[])).map(drop)),
    )
}

/// Whether a buffer holds a tensor.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_graph_memory_check(
    memory: *const HMGraphMemory,
    shape: *const HMGraphShape,
) -> *const c_char {
    // SAFETY: as the module above says.
    let memory = unsafe { *memory };
    // SAFETY: as the module above says.
    let shape = unsafe { *shape };
    // SAFETY: as the module above says.
    let buffer = unsafe { share(memory.buffer) };
    answer(shape.shape().and_then(|shape| match (&buffer, &shape) {
        (Some(buffer), Some(shape)) => graph::check((buffer, memory.offset), shape),
        _ => Err(c"a tensor has no buffer"),
    }))
}

/// Checks a node and tells its result's shape.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_graph_check(node: *mut HMGraphNode) -> *const c_char {
    // SAFETY: as the module above says.
    let node = unsafe { &mut *node };
    let result = node.shapes().and_then(|shapes| node.operation()?.result(&shapes));
    answer(result.map(|shape| node.result = HMGraphShape::of(&shape)))
}

/// Computes a node.
///
/// # Safety
/// As the module above says; `memory` is that of the inputs, then the result's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_graph_node(
    encoder: HMEncoder,
    node: *const HMGraphNode,
    memory: *const [HMGraphMemory; INPUTS + 1],
) -> *const c_char {
    // SAFETY: as the module above says.
    let node = unsafe { *node };
    // SAFETY: as the module above says.
    let memory = unsafe { *memory };
    // SAFETY: as the module above says.
    let buffers = memory.map(|memory| unsafe { share(memory.buffer) });
    let encode = || -> Result<(), Misuse> {
        let at =
            |number: usize| -> Option<(&Arc<Buffer>, u64)> { Some((buffers[number].as_ref()?, memory[number].offset)) };
        let inputs = std::array::from_fn(at);
        let result = at(INPUTS).ok_or(c"a tensor has no buffer")?;
        // SAFETY: as the module above says.
        unsafe { borrow(encoder) }.graph_node(node.operation()?, &node.shapes()?, inputs, result)
    };
    answer(encode())
}
