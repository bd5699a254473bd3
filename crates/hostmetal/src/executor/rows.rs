//! Functions of matrices' rows, of Metal Performance Shaders: softmax and neurons. Numbers of 16 bits are computed as those of 32, and rounded once.

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::blocks::Blocks;
use super::product::element;
use crate::performance::{Function, Neuron, Rows};

/// Operations of an element, about: an exponential function.
const OPERATIONS: usize = 16;

// Rust's library has no error function; the C library's is linked anyway.
unsafe extern "C" {
    safe fn erf(x: f64) -> f64;
}

impl Blocks for Rows {
    fn blocks(&self) -> usize {
        self.size[0].div_ceil(self.block) * self.count
    }

    fn work(&self) -> usize {
        self.size.into_iter().fold(self.count * OPERATIONS, usize::saturating_mul)
    }

    fn run_block(&self, number: usize) {
        let down = self.size[0].div_ceil(self.block);
        let (matrix, first) = (number / down, number % down * self.block);
        let columns = self.size[1];
        let (mut numbers, mut halves) = (vec![0.0f32; columns], vec![f16::ZERO; columns]);
        for row in first..(first + self.block).min(self.size[0]) {
            let (from, to) = (element(&self.from, matrix, row, 0), element(&self.to, matrix, row, 0));
            if self.from.half {
                // SAFETY: the encoder checked that the matrices are within their buffers, which the recording holds; rows are in one piece.
                unsafe { std::ptr::copy_nonoverlapping(from.cast(), halves.as_mut_ptr(), columns) };
                halves.convert_to_f32_slice(&mut numbers);
            } else {
                // SAFETY: as above.
                unsafe { std::ptr::copy_nonoverlapping(from.cast(), numbers.as_mut_ptr(), columns) };
            }
            match self.function {
                Function::SoftMax => softmax(&mut numbers),
                Function::Neuron(neuron, factor) => numbers.iter_mut().for_each(|x| *x = neuron.of_number(factor * *x)),
            }
            if self.to.half {
                halves.convert_from_f32_slice(&numbers);
                // SAFETY: as above.
                unsafe { std::ptr::copy_nonoverlapping(halves.as_ptr(), to.cast(), columns) };
            } else {
                // SAFETY: as above.
                unsafe { std::ptr::copy_nonoverlapping(numbers.as_ptr(), to.cast(), columns) };
            }
        }
    }
}

/// The largest is subtracted, so that nothing overflows. Of NaN, infinity, or nothing but minus infinity it is NaN.
fn softmax(row: &mut [f32]) {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0f32;
    for x in row.iter_mut() {
        *x = (*x - largest).exp();
        sum += *x;
    }
    row.iter_mut().for_each(|x| *x /= sum);
}

impl Neuron {
    fn of_number(self, x: f32) -> f32 {
        match self {
            Neuron::None => x,
            Neuron::Relu(_) if x >= 0.0 => x,
            Neuron::Relu(a) => a * x,
            Neuron::Linear(a, b) => a * x + b,
            Neuron::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Neuron::Tanh(a, b) => a * (b * x).tanh(),
            Neuron::Absolute => x.abs(),
            Neuron::Gelu => {
                let x = f64::from(x);
                (0.5 * x * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2))) as f32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::performance::Operand;

    /// Of two matrices with gaps between rows: equal numbers share 1, and what is far less has nothing of it.
    #[test]
    fn rows_are_written_where_they_lie() {
        let mut from: [f32; 12] = [5.0, 5.0, 77.0, 1e4, -1e4, 77.0, -3.0, -3.0, 77.0, 0.0, 200.0, 77.0];
        let mut to = [9.0f32; 11];
        let operand = |base: *mut f32, row| Operand { base: base.cast(), half: false, row, column: 1, matrix: 2 * row };
        let (source, result) = (operand(from.as_mut_ptr(), 3), operand(to.as_mut_ptr(), 3));
        let rows = Rows { function: Function::SoftMax, size: [2, 2], count: 2, from: source, to: result, block: 1 };
        assert_eq!(rows.blocks(), 4);
        (0..4).for_each(|number| rows.run_block(number));
        assert_eq!(to, [0.5, 0.5, 9.0, 1.0, 0.0, 9.0, 0.5, 0.5, 9.0, 0.0, 1.0]);
    }

    #[test]
    fn halves_are_computed_where_they_lie() {
        let halves = |numbers: [f32; 3]| numbers.map(f16::from_f32);
        let mut numbers = halves([-2.0, 3.0, -0.5]);
        let operand = Operand { base: numbers.as_mut_ptr().cast(), half: true, row: 3, column: 1, matrix: 3 };
        let function = Function::Neuron(Neuron::Relu(0.5), 2.0);
        Rows { function, size: [1, 3], count: 1, from: operand, to: operand, block: 1 }.run_block(0);
        assert_eq!(numbers, halves([-2.0, 6.0, -0.5]));
    }
}
