//! Products of Metal Performance Shaders, computed by the crate `gemm-f32` in blocks of the result.
//!
//! Numbers of 16 bits are converted, a part of the inner extent at a time, summed in 32 bits and rounded once.

use std::ops::Range;

use gemm_common::Parallelism;
use half::f16;
use half::slice::HalfFloatSliceExt;

use super::blocks::Blocks;
use crate::performance::{Operand, Product};

/// Terms of a sum for which numbers of 16 bits are converted at a time.
const DEPTH: usize = 512;

/// A matrix of 32-bit numbers for gemm.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    pub(super) first: *const f32,
    pub(super) row: usize,
    pub(super) column: usize,
}

impl Numbers {
    fn transposed(self) -> Numbers {
        Numbers { row: self.column, column: self.row, ..self }
    }
}

/// Rows and columns that are turned at once: numbers of a line of a cache.
const SIDE: usize = 16;

/// Numbers, and rows, that are computed at most before they are turned: they stay in a cache.
const TURNED: usize = 1 << 18;
const TURNED_ROWS: usize = 1 << 10;

/// A block: its matrix, rows and columns.
struct Block {
    matrix: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl Blocks for Product {
    fn blocks(&self) -> usize {
        self.size[0].div_ceil(self.block[0]) * self.size[1].div_ceil(self.block[1]) * self.count
    }

    fn work(&self) -> usize {
        self.size.into_iter().fold(self.count, usize::saturating_mul)
    }

    fn run_block(&self, number: usize) {
        let block = self.block_at(number);
        match (self.left.half, self.to.half) {
            (false, _) if self.is_swapped(&block) => self.run_swapped(&block),
            (false, _) => self.run_whole(&block),
            (true, false) => {
                let to = element(&self.to, block.matrix, block.rows.start, block.columns.start).cast::<f32>();
                self.run_converted(&block, to, self.to.row, self.beta);
            }
            (true, true) => self.run_rounded(&block),
        }
    }
}

impl Product {
    fn block_at(&self, number: usize) -> Block {
        let down = self.size[0].div_ceil(self.block[0]);
        let across = self.size[1].div_ceil(self.block[1]);
        let extent = |axis: usize, at: usize| {
            let start = at * self.block[axis];
            start..(start + self.block[axis]).min(self.size[axis])
        };
        // Beside each other first: they read the same rows of the left matrix.
        let (at, matrix) = (number % (down * across), number / (down * across));
        Block { matrix, rows: extent(0, at / across), columns: extent(1, at % across) }
    }

    /// The left matrix's numbers of a block, and the right one's, of 32 bits, where they are.
    fn operands(&self, block: &Block) -> [Numbers; 2] {
        let numbers = |operand: &Operand, row: usize, column: usize| Numbers {
            first: element(operand, block.matrix, row, column).cast::<f32>().cast_const(),
            row: operand.row,
            column: operand.column,
        };
        [numbers(&self.left, block.rows.start, 0), numbers(&self.right, 0, block.columns.start)]
    }

    /// All numbers have 32 bits and are used where they are.
    fn run_whole(&self, block: &Block) {
        let to = element(&self.to, block.matrix, block.rows.start, block.columns.start).cast::<f32>();
        let size = [block.rows.len(), block.columns.len(), self.size[2]];
        // SAFETY: the encoder checked that the matrices are within their buffers, which the recording holds, and the block is within
        // the matrices. A program that uses them meanwhile races with its own command.
        unsafe { multiply(size, (to, self.to.row), self.operands(block), [self.alpha, self.beta]) };
    }

    /// Whether it takes longer to gather both transposed matrices than to turn the block, which takes twice as long for a number. Of a few rows or columns
    /// gemm gathers little or nothing.
    fn is_swapped(&self, block: &Block) -> bool {
        let (rows, columns) = (block.rows.len(), block.columns.len());
        let is_less = self.size[2] * (rows + columns) > 2 * rows * columns;
        self.left.column != 1 && self.right.column != 1 && rows.min(columns) >= SIDE && is_less
    }

    /// The same, of two transposed matrices: the block's transpose is the product of what they are transposes of, which has nothing to be gathered.
    fn run_swapped(&self, block: &Block) {
        let high = block.rows.len().min(TURNED_ROWS);
        let wide = block.columns.len().min(TURNED / high);
        let mut turned = vec![0.0f32; wide * high];
        let parts = |all: &Range<usize>, length: usize| {
            let end = all.end;
            all.clone().step_by(length).map(move |start| start..(start + length).min(end))
        };
        for rows in parts(&block.rows, high) {
            for columns in parts(&block.columns, wide) {
                self.run_turned(&Block { matrix: block.matrix, rows: rows.clone(), columns }, &mut turned);
            }
        }
    }

    /// A part for whose transpose there is room.
    fn run_turned(&self, part: &Block, turned: &mut [f32]) {
        let (rows, columns) = (part.rows.len(), part.columns.len());
        let turned = &mut turned[..columns * rows];
        let [left, right] = self.operands(part).map(Numbers::transposed);
        let size = [columns, rows, self.size[2]];
        // SAFETY: as in `run_whole`; there are as many numbers of the result.
        unsafe { multiply(size, (turned.as_mut_ptr(), rows), [right, left], [self.alpha, 0.0]) };
        for top in (0..rows).step_by(SIDE) {
            for left in (0..columns).step_by(SIDE) {
                let to = element(&self.to, part.matrix, part.rows.start + top, part.columns.start + left).cast();
                let size = [SIDE.min(rows - top), SIDE.min(columns - left)];
                // SAFETY: as in `run_whole`: the tile is within the part.
                unsafe { turn(&turned[left * rows + top..], rows, size, (to, self.to.row), self.beta) };
            }
        }
    }

    /// The result is rounded to 16 bits at the end.
    fn run_rounded(&self, block: &Block) {
        let (rows, columns) = (block.rows.len(), block.columns.len());
        let mut sums = vec![0.0f32; rows * columns];
        let mut halves = vec![f16::ZERO; columns];
        let place =
            |row: usize| element(&self.to, block.matrix, block.rows.start + row, block.columns.start).cast::<f16>();
        if self.beta != 0.0 {
            for (row, sums) in sums.chunks_exact_mut(columns).enumerate() {
                // SAFETY: as in `run_whole`; rows of a result are in one piece.
                unsafe { std::ptr::copy_nonoverlapping(place(row), halves.as_mut_ptr(), columns) };
                halves.convert_to_f32_slice(sums);
            }
        }
        self.run_converted(block, sums.as_mut_ptr(), columns, self.beta);
        for (row, sums) in sums.chunks_exact(columns).enumerate() {
            halves.convert_from_f32_slice(sums);
            // SAFETY: as above.
            unsafe { std::ptr::copy_nonoverlapping(halves.as_ptr(), place(row), columns) };
        }
    }

    /// The operands' numbers are converted, for some terms at a time.
    fn run_converted(&self, block: &Block, to: *mut f32, to_row: usize, beta: f32) {
        let terms = self.size[2];
        let (mut left, mut right, mut halves) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..terms).step_by(DEPTH) {
            let part = first..(first + DEPTH).min(terms);
            let depth = part.len();
            let a = converted((&self.left, block.matrix), block.rows.clone(), part.clone(), (&mut left, &mut halves));
            let b = converted((&self.right, block.matrix), part, block.columns.clone(), (&mut right, &mut halves));
            let beta = if first == 0 { beta } else { 1.0 };
            let size = [block.rows.len(), block.columns.len(), depth];
            // SAFETY: the converted numbers are as many; `to` is the caller's, of as many rows and columns.
            unsafe { multiply(size, (to, to_row), [a, b], [self.alpha, beta]) };
        }
    }
}

/// Some columns of a matrix whose rows are `distance` apart as rows of a result, plus beta times what is there. With a beta of 0 that is not read.
///
/// # Safety
/// The result is there, and its rows lie `to_row` apart.
unsafe fn turn(from: &[f32], distance: usize, [rows, columns]: [usize; 2], (to, to_row): (*mut f32, usize), beta: f32) {
    let mut tile = [[0.0; SIDE]; SIDE];
    for (column, line) in from.chunks(distance).take(columns).enumerate() {
        for (row, number) in line[..rows].iter().enumerate() {
            tile[row][column] = *number;
        }
    }
    for (row, line) in tile[..rows].iter_mut().enumerate() {
        let to = to.wrapping_add(row * to_row);
        if beta != 0.0 {
            let mut there = [0.0; SIDE];
            // SAFETY: as the caller promises.
            unsafe { std::ptr::copy_nonoverlapping(to, there.as_mut_ptr(), columns) };
            line.iter_mut().zip(there).for_each(|(number, there)| *number += beta * there);
        }
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(line.as_ptr(), to, columns) };
    }
}

/// Where an element is.
pub(super) fn element(operand: &Operand, matrix: usize, row: usize, column: usize) -> *mut u8 {
    let at = matrix * operand.matrix + row * operand.row + column * operand.column;
    operand.base.wrapping_add(at * if operand.half { 2 } else { 4 })
}

/// Some rows and columns of a matrix of 16-bit numbers, in the order in which it has them.
fn converted(
    (operand, matrix): (&Operand, usize),
    rows: Range<usize>,
    columns: Range<usize>,
    (numbers, halves): (&mut Vec<f32>, &mut Vec<f16>),
) -> Numbers {
    let by_rows = operand.column == 1;
    let (lines, length) = if by_rows { (rows.len(), columns.len()) } else { (columns.len(), rows.len()) };
    numbers.resize(lines * length, 0.0);
    halves.resize(length, f16::ZERO);
    for (line, numbers) in numbers.chunks_exact_mut(length).enumerate() {
        let (row, column) =
            if by_rows { (rows.start + line, columns.start) } else { (rows.start, columns.start + line) };
        let first = element(operand, matrix, row, column).cast::<f16>();
        // SAFETY: as in `run_whole`; the numbers of a line are in one piece.
        unsafe { std::ptr::copy_nonoverlapping(first, halves.as_mut_ptr(), length) };
        halves[..length].convert_to_f32_slice(numbers);
    }
    let (row, column) = if by_rows { (length, 1) } else { (1, length) };
    Numbers { first: numbers.as_ptr(), row, column }
}

/// to = alpha left right + beta to, of rows x columns with so many terms. With a beta of 0 what is there is not read.
///
/// # Safety
/// The matrices are there, and the result's rows lie `to_row` apart.
pub(super) unsafe fn multiply(
    [rows, columns, terms]: [usize; 3],
    (to, to_row): (*mut f32, usize),
    [left, right]: [Numbers; 2],
    [alpha, beta]: [f32; 2],
) {
    let gemm = gemm_f32::gemm::f32::get_gemm_fn();
    let stride = |distance: usize| distance as isize;
    // gemm writes columns, so it is given the transposes: columns of the result's are rows here.
    // SAFETY: as the caller promises.
    unsafe {
        gemm(
            columns,
            rows,
            terms,
            to,
            stride(to_row),
            1,
            beta != 0.0,
            right.first,
            stride(right.row),
            stride(right.column),
            left.first,
            stride(left.row),
            stride(left.column),
            beta,
            alpha,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (1 2 3; 4 5 6) (7 8; 9 10; 11 12) = (58 64; 139 154), of 16-bit numbers where they lie, the right matrix transposed, one block for each row.
    #[test]
    fn halves_are_multiplied_where_they_lie() {
        let halves = |numbers: &[u8]| -> Vec<f16> { numbers.iter().map(|x| f16::from(*x)).collect() };
        let mut left = halves(&[1, 2, 3, 99, 4, 5, 6]);
        let mut right = halves(&[7, 9, 11, 8, 10, 12]);
        let mut to = halves(&[1, 1, 99, 1, 1]);
        let operand = |numbers: &mut Vec<f16>, row, column| Operand {
            base: numbers.as_mut_ptr().cast(),
            half: true,
            row,
            column,
            matrix: 0,
        };
        let (left, right, result) = (operand(&mut left, 4, 1), operand(&mut right, 1, 3), operand(&mut to, 3, 1));
        let product =
            Product { size: [2, 2, 3], count: 1, left, right, to: result, alpha: 1.0, beta: 1.0, block: [1, 2] };
        assert_eq!(product.blocks(), 2);
        (0..2).for_each(|number| product.run_block(number));
        assert_eq!(to, halves(&[59, 65, 99, 140, 155]));
    }

    /// Both matrices transposed, of small whole numbers, so that every order of sums is exact; what is beside the result stays.
    #[test]
    fn blocks_of_two_transposed_matrices_are_swapped_where_that_is_less() {
        let number = |at: usize| ((at * 7 + at / 5) % 11) as f32 - 5.0;
        for (size, block, swapped) in [
            ([16, 16, 600], [16, 16], true),
            ([15, 64, 600], [15, 64], false),
            ([33, 17, 40], [33, 17], true),
            ([33, 17, 40], [32, 16], true),
            ([16, 48, 24], [16, 32], true),
            ([40, 40, 19], [40, 40], false),
        ] {
            let [rows, columns, terms] = size;
            // Lines have one number more than the matrix.
            let [left_line, right_line, line] = [rows + 1, terms + 1, columns + 1];
            let mut left: Vec<f32> = (0..terms * left_line).map(number).collect();
            let mut right: Vec<f32> = (0..columns * right_line).map(|at| number(at + 3)).collect();
            let sum = |row: usize, column: usize| -> f32 {
                (0..terms).map(|term| left[term * left_line + row] * right[column * right_line + term]).sum()
            };
            let sums: Vec<f32> = (0..rows * columns).map(|at| sum(at / columns, at % columns)).collect();
            let operand = |numbers: &mut Vec<f32>, row, column| {
                let base = numbers.as_mut_ptr().cast();
                Operand { base, half: false, row, column, matrix: 0 }
            };
            for beta in [0.0, 3.0] {
                // What beta does not keep is not read.
                let there = |at: usize| if beta == 0.0 { f32::INFINITY } else { number(at + 1) };
                let mut to: Vec<f32> = (0..rows * line).map(there).collect();
                let result = operand(&mut to, line, 1);
                let (left, right) = (operand(&mut left, 1, left_line), operand(&mut right, 1, right_line));
                let product = Product { size, count: 1, left, right, to: result, alpha: 2.0, beta, block };
                assert_eq!(product.is_swapped(&product.block_at(0)), swapped, "{size:?}");
                (0..product.blocks()).for_each(|number| product.run_block(number));
                for (at, got) in to.iter().enumerate() {
                    let kept = if beta == 0.0 { 0.0 } else { beta * there(at) };
                    let wanted = match (at / line, at % line) {
                        (_, column) if column == columns => there(at),
                        (row, column) => 2.0 * sums[row * columns + column] + kept,
                    };
                    assert_eq!(*got, wanted, "{size:?} at {at}");
                }
            }
        }
    }

    /// More than is turned at once, of two matrices, of small whole numbers: what sums say, and all as without it.
    #[test]
    fn large_blocks_are_swapped_part_by_part() {
        let size = [TURNED_ROWS + 20, 260, 500];
        let [rows, columns, terms] = size;
        let numbers = |count: usize, by: usize| -> Vec<f32> { (0..count).map(|at| (at * by % 13) as f32).collect() };
        let (mut left, mut right) = (numbers(2 * terms * rows, 5), numbers(2 * columns * terms, 7));
        let mut compute = |swapped: bool| {
            let mut to = numbers(2 * rows * columns, 3);
            let operand = |numbers: &mut Vec<f32>, row, column| {
                let (base, matrix) = (numbers.as_mut_ptr().cast(), numbers.len() / 2);
                Operand { base, half: false, row, column, matrix }
            };
            let result = operand(&mut to, columns, 1);
            let (left, right) = (operand(&mut left, 1, rows), operand(&mut right, 1, terms));
            let block = [rows, columns];
            let product = Product { size, count: 2, left, right, to: result, alpha: 1.0, beta: 1.0, block };
            for block in (0..product.blocks()).map(|number| product.block_at(number)) {
                assert!(product.is_swapped(&block) && rows * columns > TURNED);
                if swapped { product.run_swapped(&block) } else { product.run_whole(&block) }
            }
            to
        };
        let (swapped, whole) = (compute(true), compute(false));
        let before = numbers(2 * rows * columns, 3);
        for at in (0..swapped.len()).step_by(97) {
            let (matrix, row, column) = (at / (rows * columns), at / columns % rows, at % columns);
            let term =
                |term| left[(matrix * terms + term) * rows + row] * right[(matrix * columns + column) * terms + term];
            assert_eq!(swapped[at], before[at] + (0..terms).map(term).sum::<f32>(), "{at}");
        }
        assert!(swapped == whole);
    }
}
