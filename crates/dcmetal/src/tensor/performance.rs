//! [`Implementation`], and what Metal Performance Shaders take: rows of elements beside each other, for products in batches at a whole number of rows.

use super::layout::Layout;
use super::product::{Matrix, Shapes};
use crate::command::Passes;
use crate::kernel::Scalar;
use crate::raw::performance::{self, Computed, Multiplied, Rows};
use crate::{Accelerator, Arg, Error};

/// What computes an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Implementation {
    /// The one that was measured to be the fastest ([`tune_product`](super::tune_product), [`tune_operation`](super::tune_operation)) and can compute it; before anything was measured, this module's kernels.
    #[default]
    Measured,
    /// This module's kernels in MSL.
    Kernels,
    /// Apple's Metal Performance Shaders; what they cannot compute is refused ([`Error::Unsupported`](crate::Error::Unsupported)).
    PerformanceShaders,
}

/// A product's types: elements of A and B, and of C.
pub(super) type Scalars = (Scalar, Scalar);

/// A product in passes of Metal Performance Shaders.
#[derive(Debug, PartialEq)]
pub(super) struct Products {
    what: Multiplied,
    rows: [Rows; 3],
    before: Vec<[usize; 3]>,
}

/// A refusal of a product that Metal Performance Shaders were asked for.
pub(super) fn refused(why: String) -> Error {
    not_there("product", why)
}

pub(super) fn not_there(operation: &str, text: String) -> Error {
    Error::Unsupported { what: format!("this {operation} by Metal Performance Shaders"), text }
}

/// The passes of a product, or why there are none.
pub(super) fn passes(
    gpu: &Accelerator,
    shapes: &Shapes,
    (from, to): Scalars,
    [alpha, beta]: [f32; 2],
) -> Result<Products, String> {
    if !performance::supports(gpu.device()) {
        return Err("the device has none".to_owned());
    }
    let known = [(Scalar::F32, Scalar::F32), (Scalar::F16, Scalar::F16), (Scalar::F16, Scalar::F32)];
    if !known.contains(&(from, to)) {
        return Err(format!("MPSMatrixMultiplication has no products of {from} to {to}"));
    }
    Products::of(shapes, [alpha, beta])
}

/// A matrix of a batch as rows of elements beside each other, or its transpose.
#[derive(Clone, Copy)]
struct Lines {
    transposed: bool,
    rows: usize,
    columns: usize,
    /// From a row to the next; 0 where there is one row, and any will do.
    row: usize,
    /// From a matrix to the next, of the outer and the inner axis.
    batch: [usize; 2],
}

impl Lines {
    fn of(name: &str, matrix: Matrix, rows: usize, columns: usize) -> Result<Lines, String> {
        let batch = matrix.batch.map(|stride| stride as usize);
        let (row, column) = (matrix.row as usize, matrix.column as usize);
        let apart = |count: usize, stride: usize| if count == 1 { 0 } else { stride };
        if column == 1 && (rows == 1 || row >= columns) {
            return Ok(Lines { transposed: false, rows, columns, row: apart(rows, row), batch });
        }
        if row == 1 && (columns == 1 || column >= rows) {
            return Ok(Lines { transposed: true, rows: columns, columns: rows, row: apart(columns, column), batch });
        }
        Err(format!(
            "{name} is {rows}x{columns} at strides {row} and {column}: one of the two has to be 1, and the other reach over a line"
        ))
    }

    /// So many matrices at a distance, if Metal Performance Shaders take that: a whole number of rows, which reaches over a matrix.
    fn rows(&self, matrices: usize, matrix: usize) -> Option<Rows> {
        let Lines { rows, columns, .. } = *self;
        if matrices == 1 {
            let row = if self.row == 0 { columns } else { self.row };
            return Some(Rows { rows, columns, row, matrices, matrix: rows * row });
        }
        let row = if self.row == 0 { matrix } else { self.row };
        let fits = row >= columns && matrix.is_multiple_of(row) && matrix / row >= rows;
        fits.then_some(Rows { rows, columns, row, matrices, matrix })
    }
}

impl Products {
    /// As few as there can be: one for all batches, one for each of the outer axis, or one for each product.
    fn of(shapes: &Shapes, [alpha, beta]: [f32; 2]) -> Result<Products, String> {
        let Shapes { m, n, k, batches: [outer, inner], left, right, to, turned } = *shapes;
        let [a, b] = if turned { ["B", "A"] } else { ["A", "B"] };
        let lines = [Lines::of(a, left, m, k)?, Lines::of(b, right, k, n)?, Lines::of("C", to, m, n)?];
        if lines[2].transposed {
            return Err("C has no stride of 1".to_owned());
        }
        let all = |matrices: usize, distance: &dyn Fn(&Lines) -> Option<usize>| -> Option<[Rows; 3]> {
            let rows = |at: usize| distance(&lines[at]).and_then(|distance| lines[at].rows(matrices, distance));
            Some([rows(0)?, rows(1)?, rows(2)?])
        };
        let in_line = |lines: &Lines| match (outer, inner) {
            (_, 1) => Some(lines.batch[0]),
            (1, _) => Some(lines.batch[1]),
            _ => (lines.batch[0] == inner * lines.batch[1]).then_some(lines.batch[1]),
        };
        let offsets = |outer: usize, inner: usize| -> Vec<[usize; 3]> {
            let both = (0..outer).flat_map(|i| (0..inner).map(move |j| (i, j)));
            both.map(|(i, j)| [0, 1, 2].map(|at| i * lines[at].batch[0] + j * lines[at].batch[1])).collect()
        };
        let whole = all(outer * inner, &in_line).map(|rows| (rows, offsets(1, 1)));
        let parts = || all(inner, &|lines| Some(lines.batch[1])).map(|rows| (rows, offsets(outer, 1)));
        let each = || all(1, &|_| Some(0)).map(|rows| (rows, offsets(outer, inner)));
        let (rows, before) = whole.or_else(parts).or_else(each).expect("one matrix is at no distance");
        let transposes = [lines[0].transposed, lines[1].transposed];
        Ok(Products { what: Multiplied { transposes, size: [m, n, k], alpha, beta }, rows, before })
    }

    /// Of these matrices: left, right and result.
    pub(super) fn passes<'a>(self, args: [Arg<'a>; 3], (from, to): Scalars) -> Passes<'a> {
        let Products { what, rows, before } = self;
        let matrices = args.into_iter().zip([from, from, to]).zip(rows);
        Passes {
            what: Computed::Product(what),
            matrices: matrices.map(|((arg, scalar), rows)| (arg, scalar, rows)).collect(),
            before: before.into_iter().map(Vec::from).collect(),
        }
    }
}

/// A function of rows, from x to y of one shape: the last axis is a row.
pub(super) fn of_rows<'a>(
    gpu: &Accelerator,
    (operation, what): (&str, Computed),
    scalar: Scalar,
    [(x, from), (y, to)]: [(&Layout, Arg<'a>); 2],
) -> Result<Passes<'a>, Error> {
    let refused = |text: String| not_there(operation, text);
    if !performance::supports(gpu.device()) {
        return Err(refused("the device has none".to_owned()));
    }
    if ![Scalar::F32, Scalar::F16].contains(&scalar) {
        return Err(refused(format!("their matrices are of float and half, not of {scalar}")));
    }
    let ((extents, x_strides), (_, y_strides)) = (x.padded(), y.padded());
    let [outer, middle, rows, columns] = extents.map(|extent| extent as usize);
    let mut both = Vec::new();
    for (name, strides) in [("x", x_strides), ("y", y_strides)] {
        let [_, _, row, column] = strides.map(|stride| stride as usize);
        if columns > 1 && column != 1 || rows > 1 && row < columns {
            let text =
                format!("{name} has rows of {columns} at strides {row} and {column}: they are to be in one piece each");
            return Err(refused(text));
        }
        let row = if rows == 1 { columns } else { row };
        both.push(Rows { rows, columns, row, matrices: 1, matrix: rows * row });
    }
    let at = |strides: [u32; 4], i: usize, j: usize| i * strides[0] as usize + j * strides[1] as usize;
    let pairs = (0..outer).flat_map(|i| (0..middle).map(move |j| (i, j)));
    let mut before: Vec<Vec<usize>> = pairs.map(|(i, j)| vec![at(x_strides, i, j), at(y_strides, i, j)]).collect();
    // Matrices behind each other are one.
    let gapless = |strides: [u32; 4]| {
        let [outer_stride, middle_stride, row, _] = strides.map(|stride| stride as usize);
        (middle == 1 || middle_stride == rows * row) && (outer == 1 || outer_stride == middle * rows * row)
    };
    if rows > 1 && gapless(x_strides) && gapless(y_strides) {
        before.truncate(1);
        for one in &mut both {
            one.rows = outer * middle * rows;
            one.matrix = one.rows * one.row;
        }
    }
    let matrices = [from, to].into_iter().zip(both).map(|(arg, rows)| (arg, scalar, rows)).collect();
    Ok(Passes { what, matrices, before })
}

#[cfg(test)]
mod tests {
    use super::super::layout::Layout;
    use super::*;

    fn passes(shapes: [&[usize]; 3], strides: [&[usize]; 3]) -> Result<Products, String> {
        let [a, b, c] = [0, 1, 2].map(|at| Layout::strided(shapes[at], strides[at]).expect("a layout"));
        Products::of(&Shapes::of(&a, &b, &c).expect("they fit"), [1.0, 0.0])
    }

    #[test]
    fn batches_go_in_as_few_passes_as_there_can_be() {
        let shapes: [&[usize]; 3] = [&[3, 2, 4, 5], &[3, 2, 5, 6], &[3, 2, 4, 6]];
        let count = |a: &[usize], b: &[usize], c: &[usize]| passes(shapes, [a, b, c]).map(|passes| passes.before.len());
        let (a, b, c) = ([40, 20, 5, 1], [60, 30, 6, 1], [48, 24, 6, 1]);
        assert_eq!(count(&a, &b, &c), Ok(1), "in line");
        assert_eq!(count(&[100, 20, 5, 1], &b, &c), Ok(3), "apart in the outer axis");
        assert_eq!(count(&a, &[0, 0, 6, 1], &c), Ok(6), "broadcast");
        assert_eq!(count(&[44, 22, 5, 1], &b, &c), Ok(6), "no whole number of rows");
        assert_eq!(count(&[20, 60, 5, 1], &b, &c), Ok(3), "in another order");
        let transposed = passes(shapes, [&a, &[60, 30, 1, 5], &c]).expect("it fits");
        assert_eq!((transposed.what.transposes, transposed.rows[1].row), ([false, true], 5));
        assert_eq!(transposed.before, [[0, 0, 0]]);
        let turned = passes(shapes, [&a, &b, &[48, 24, 1, 4]]).expect("it fits");
        assert_eq!((turned.what.transposes, turned.what.size), ([true, true], [6, 4, 5]));
    }

    #[test]
    fn lines_of_one_element_have_any_stride() {
        let column = passes([&[4, 1], &[1, 6], &[4, 6]], [&[9, 3], &[2, 1], &[6, 1]]).expect("it fits");
        assert_eq!((column.rows[0].row, column.rows[1].row), (9, 6));
        let rows = passes([&[5, 1, 4], &[5, 4, 2], &[5, 1, 2]], [&[7, 1, 1], &[8, 2, 1], &[2, 9, 1]]).expect("it fits");
        assert_eq!((rows.before.len(), rows.rows[0].row), (1, 7));
    }

    #[test]
    fn what_does_not_fit_says_why() {
        let told = |strides: [&[usize]; 3]| passes([&[4, 5], &[5, 6], &[4, 6]], strides).expect_err("it does not fit");
        let text = told([&[12, 2], &[6, 1], &[6, 1]]);
        assert_eq!(text, "A is 4x5 at strides 12 and 2: one of the two has to be 1, and the other reach over a line");
        assert!(told([&[5, 1], &[0, 1], &[6, 1]]).starts_with("B is 5x6 at strides 0 and 1"));
        assert!(told([&[5, 1], &[6, 1], &[20, 3]]).starts_with("C is 4x6 at strides 20 and 3"));
    }
}
