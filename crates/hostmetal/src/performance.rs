//! Metal Performance Shaders: matrices in buffers, and what is checked before a kernel for them is encoded.
//!
//! What Apple's validation stops a program for is answered with a text here too: matrices beyond their buffers, sizes and batches that the matrices lack,
//! types that a kernel does not take. A [`Product`] and [`Rows`] hold addresses and strides that were checked; the executor computes them in
//! blocks (executor/product.rs, executor/rows.rs).
//! <https://developer.apple.com/documentation/metalperformanceshaders/mpsmatrixmultiplication>

use std::sync::Arc;

use crate::device::worker_threads;
use crate::encode::Misuse;
use crate::memory::Buffer;

/// MPSDataType: bits of a number, and what kind it is.
const FLOAT: u32 = 0x1000_0000;
const FLOAT32: u32 = FLOAT | 32;
const FLOAT16: u32 = FLOAT | 16;

/// What an MPSMatrix says of its buffer. Rows, columns and matrices are counted, offset and distances are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Matrix {
    pub(crate) data_type: u32,
    pub(crate) offset: u64,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) row_bytes: u64,
    pub(crate) matrices: u64,
    pub(crate) matrix_bytes: u64,
}

impl Matrix {
    /// Bytes of an element; types of parts of bytes are in no matrix.
    fn element(&self) -> Result<u64, Misuse> {
        match self.data_type & 0xffff {
            bits @ (8 | 16 | 32 | 64) => Ok(u64::from(bits / 8)),
            _ => Err(c"the data type must have 8, 16, 32 or 64 bits"),
        }
    }

    /// Whether it is one at all, and within the buffer.
    pub(crate) fn check(&self, length: u64) -> Result<(), Misuse> {
        let element = self.element()?;
        let Matrix { offset, rows, columns, row_bytes, matrices, matrix_bytes, .. } = *self;
        if rows == 0 || columns == 0 || matrices == 0 {
            return Err(c"rows, columns and matrices must be > 0");
        }
        if !offset.is_multiple_of(element) {
            return Err(c"the offset must be a multiple of the element size");
        }
        if !row_bytes.is_multiple_of(element) {
            return Err(c"rowBytes must be a multiple of the element size");
        }
        if columns.checked_mul(element).is_none_or(|row| row > row_bytes) {
            return Err(c"rowBytes must be >= columns * element size");
        }
        if !matrix_bytes.is_multiple_of(row_bytes) {
            return Err(c"matrixBytes must be a multiple of rowBytes");
        }
        if matrices > 1 && rows.checked_mul(row_bytes).is_none_or(|matrix| matrix > matrix_bytes) {
            return Err(c"matrixBytes must be >= rows * rowBytes");
        }
        let before = (matrices - 1).checked_mul(matrix_bytes).zip((rows - 1).checked_mul(row_bytes));
        let end = before.and_then(|(matrices, rows)| {
            offset.checked_add(matrices)?.checked_add(rows)?.checked_add(columns.checked_mul(element)?)
        });
        if end.is_none_or(|end| end > length) {
            return Err(c"the buffer is too small for the matrices");
        }
        Ok(())
    }

    /// Whether so many rows and columns are there from an origin on.
    fn holds(&self, [row, column]: [u64; 2], rows: u64, columns: u64) -> bool {
        let within = |first: u64, count: u64, all: u64| first.checked_add(count).is_some_and(|end| end <= all);
        within(row, rows, self.rows) && within(column, columns, self.columns)
    }
}

/// What an MPSMatrixMultiplication says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Multiplication {
    pub(crate) transposes: [bool; 2],
    /// Rows and columns of the result, and the terms of each of its sums.
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) interior: u64,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    /// Row and column of the left, the right and the result matrix.
    pub(crate) origins: [[u64; 2]; 3],
    pub(crate) first: u64,
    /// Matrices; u64::MAX for all that the result has.
    pub(crate) count: u64,
}

impl Multiplication {
    /// Checked against the matrices; their buffers are to be kept until it has run.
    pub(crate) fn product(&self, matrices: [(&Arc<Buffer>, Matrix); 3]) -> Result<Product, Misuse> {
        let Multiplication { rows, columns, interior, first, .. } = *self;
        if rows == 0 || columns == 0 || interior == 0 {
            return Err(c"resultRows, resultColumns and interiorColumns must be > 0");
        }
        for (buffer, matrix) in matrices {
            matrix.check(buffer.length())?;
        }
        let [left, right, result] = matrices.map(|(_, matrix)| matrix);
        if ![FLOAT32, FLOAT16].contains(&left.data_type) {
            return Err(c"the data type of the inputs must be MPSDataTypeFloat32 or MPSDataTypeFloat16");
        }
        if left.data_type != right.data_type {
            return Err(c"the input matrices must have the same data type");
        }
        if result.data_type != left.data_type && result.data_type != FLOAT32 {
            return Err(c"the data type of the result must be that of the inputs or MPSDataTypeFloat32");
        }
        let turned = |turn: bool, rows: u64, columns: u64| if turn { (columns, rows) } else { (rows, columns) };
        let sizes = [
            turned(self.transposes[0], rows, interior),
            turned(self.transposes[1], interior, columns),
            (rows, columns),
        ];
        let texts: [Misuse; 3] = [
            c"the left matrix must hold resultRows x interiorColumns elements from its origin on",
            c"the right matrix must hold interiorColumns x resultColumns elements from its origin on",
            c"the result matrix must hold resultRows x resultColumns elements from its origin on",
        ];
        let all = [left, right, result];
        for at in 0..3 {
            if !all[at].holds(self.origins[at], sizes[at].0, sizes[at].1) {
                return Err(texts[at]);
            }
        }
        let count = batch(all, first, self.count)?;
        let [left, right, to] = [0, 1, 2]
            .map(|at| Operand::of(matrices[at], self.origins[at], first, self.transposes.get(at) == Some(&true)));
        let size = [rows, columns, interior].map(|extent| extent as usize);
        let block = block(size, count, [left, right].map(|operand| operand.column != 1));
        let (alpha, beta) = (self.alpha as f32, self.beta as f32);
        Ok(Product { size, count, left, right, to, alpha, beta, block })
    }
}

/// Matrices where they lie: element (i, j) of number n is `n * matrix + i * row + j * column` elements behind the first.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    pub(crate) base: *mut u8,
    pub(crate) half: bool,
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) matrix: usize,
}

impl Operand {
    /// From a checked matrix on, or of its transpose.
    fn of((buffer, matrix): (&Arc<Buffer>, Matrix), origin: [u64; 2], first: u64, turned: bool) -> Operand {
        let half = matrix.data_type == FLOAT16;
        let element = if half { 2 } else { 4 };
        let at = matrix.offset + first * matrix.matrix_bytes + origin[0] * matrix.row_bytes + origin[1] * element;
        let row = (matrix.row_bytes / element) as usize;
        let (row, column) = if turned { (1, row) } else { (row, 1) };
        let base = buffer.contents().wrapping_add(at as usize);
        Operand { base, half, row, column, matrix: (matrix.matrix_bytes / element) as usize }
    }
}

/// Products of matrices, all within their buffers.
pub(crate) struct Product {
    /// Rows and columns of a result, and terms of each of its sums.
    pub(crate) size: [usize; 3],
    /// Of matrices.
    pub(crate) count: usize,
    pub(crate) left: Operand,
    pub(crate) right: Operand,
    pub(crate) to: Operand,
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
    /// Rows and columns of what a worker computes at a time.
    pub(crate) block: [usize; 2],
}

// SAFETY: the addresses point into buffers that the recording holds; they may be used from any thread, as buffers may.
unsafe impl Send for Product {}
// SAFETY: as above; a product itself is only read.
unsafe impl Sync for Product {}

/// Blocks have at least so many rows and columns, if there are: smaller ones read their operands too often for what they compute.
const LEAST: usize = 256;
/// About a twentieth of a second on one core: how long a worker may not see that it shall stop.
const MOST: usize = 1 << 31;

/// Rows and columns of a block: several blocks for each worker, where there is enough to do. Each block gathers the left matrix's numbers of its rows and the right one's of its
/// columns, if they have to be `gathered`. Where those are the right one's only, blocks are tall, so that few gather the same; where both are, there are fewer
/// (and most of those gather nothing: `is_swapped` in executor/product.rs).
fn block([rows, columns, terms]: [usize; 3], count: usize, gathered: [bool; 2]) -> [usize; 2] {
    let mut block = [rows, columns];
    let threads = worker_threads();
    let (each, gathered) = if gathered == [true; 2] { (2, false) } else { (4, gathered[1]) };
    let wanted = if threads == 1 { 1 } else { each * threads };
    loop {
        let blocks = rows.div_ceil(block[0]) * columns.div_ceil(block[1]) * count;
        let long = block[0].saturating_mul(block[1]).saturating_mul(terms) > MOST;
        let across = block[1] > block[0] || gathered && block[1] >= 2 * LEAST;
        let longer = usize::from(across);
        let few = blocks < wanted && block[longer] >= 2 * LEAST;
        if !(few || long && block[longer] > 64) {
            return block;
        }
        // A multiple of every vector's length.
        block[longer] = block[longer].div_ceil(2).next_multiple_of(32);
    }
}

/// What becomes of a number: `MPSCNNNeuronType`, with its parameters a and b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Neuron {
    None,
    /// x, or a x where it is below 0.
    Relu(f32),
    /// a x + b.
    Linear(f32, f32),
    Sigmoid,
    /// a tanh(b x).
    Tanh(f32, f32),
    Absolute,
    Gelu,
}

impl Neuron {
    pub(crate) fn of(number: i32, [a, b]: [f32; 2]) -> Result<Neuron, Misuse> {
        Ok(match number {
            0 => Neuron::None,
            1 => Neuron::Relu(a),
            2 => Neuron::Linear(a, b),
            3 => Neuron::Sigmoid,
            5 => Neuron::Tanh(a, b),
            6 => Neuron::Absolute,
            15 => Neuron::Gelu,
            _ => return Err(c"this neuron type is not supported by hostmetal"),
        })
    }
}

/// What is done to the rows of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Function {
    SoftMax,
    /// To each element, times the factor.
    Neuron(Neuron, f32),
}

/// What an MPSMatrixUnaryKernel says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unary {
    pub(crate) function: Function,
    /// Row and column of the source and the result.
    pub(crate) origins: [[u64; 2]; 2],
    /// At most so many, of those that the source has.
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) first: u64,
    /// Matrices; u64::MAX for all that the result has.
    pub(crate) count: u64,
}

impl Unary {
    /// Checked against source and result; their buffers are to be kept until it has run.
    pub(crate) fn of_rows(&self, matrices: [(&Arc<Buffer>, Matrix); 2]) -> Result<Rows, Misuse> {
        for (buffer, matrix) in matrices {
            matrix.check(buffer.length())?;
        }
        let [source, result] = matrices.map(|(_, matrix)| matrix);
        if ![FLOAT32, FLOAT16].contains(&source.data_type) || source.data_type != result.data_type {
            return Err(c"the matrices must both be of MPSDataTypeFloat32, or of MPSDataTypeFloat16");
        }
        let [row, column] = self.origins[0];
        let rows = self.rows.min(source.rows.saturating_sub(row));
        let columns = self.columns.min(source.columns.saturating_sub(column));
        if rows == 0 || columns == 0 {
            return Err(c"the source matrix has no elements from its origin on");
        }
        if !result.holds(self.origins[1], rows, columns) {
            return Err(c"the result matrix must hold as many rows and columns from its origin on");
        }
        let count = batch([source, result], self.first, self.count)?;
        let [from, to] = [0, 1].map(|at| Operand::of(matrices[at], self.origins[at], self.first, false));
        let size = [rows, columns].map(|extent| extent as usize);
        let block = (ELEMENTS / size[1]).clamp(1, size[0]);
        Ok(Rows { function: self.function, size, count, from, to, block })
    }
}

/// How many matrices a kernel is for, which all of them have.
fn batch<const N: usize>(matrices: [Matrix; N], first: u64, count: u64) -> Result<usize, Misuse> {
    let count = if count == u64::MAX { matrices[N - 1].matrices.saturating_sub(first) } else { count };
    let end = first.checked_add(count).filter(|_| count > 0);
    if matrices.iter().any(|matrix| end.is_none_or(|end| end > matrix.matrices)) {
        return Err(c"each matrix must hold the matrices from batchStart on, batchSize of them");
    }
    Ok(count as usize)
}

/// Of a block, at least.
const ELEMENTS: usize = 1 << 14;

/// A function of the rows of matrices, all within their buffers.
pub(crate) struct Rows {
    pub(crate) function: Function,
    /// Rows and columns.
    pub(crate) size: [usize; 2],
    /// Of matrices.
    pub(crate) count: usize,
    pub(crate) from: Operand,
    pub(crate) to: Operand,
    /// Rows that a worker computes at a time.
    pub(crate) block: usize,
}

// SAFETY: as for Product.
unsafe impl Send for Rows {}
// SAFETY: as for Product.
unsafe impl Sync for Rows {}
