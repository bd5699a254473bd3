//! The product of a matrix and a vector.

use super::layout::wrong;
use super::measured::{Class, choose};
use super::performance::{passes, refused};
use super::product::Shapes;
use super::reduce::rows_of_threads;
use super::{Element, Implementation, Operation, Tensor, TensorMut, compiled, one_accelerator};
use crate::{Arg, Grid, Result};

const SOURCE: &str = concat!(include_str!("rows.metal"), include_str!("vector.metal"));

/// y = A x: see [`vector_product_with`].
///
/// # Errors
/// As [`vector_product_with`].
pub fn vector_product<'a, T: Element, U: Element>(
    a: Tensor<'a, T>,
    x: Tensor<'a, T>,
    y: TensorMut<'a, U>,
) -> Result<Operation<'a>> {
    vector_product_with(a, x, y, [1.0, 0.0])
}

/// y = alpha A x + beta y: A is m x k, x has k elements and y has m. With a beta of 0 what y holds is not read. Sums are made in `f32`, and y is rounded once.
/// A transposed matrix costs nothing more where one of its strides is 1.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) where extents do not fit; [`Error::Foreign`](crate::Error::Foreign); those of the kernel's compilation.
pub fn vector_product_with<'a, T: Element, U: Element>(
    a: Tensor<'a, T>,
    x: Tensor<'a, T>,
    y: TensorMut<'a, U>,
    factors: [f32; 2],
) -> Result<Operation<'a>> {
    vector_product_by(a, x, y, factors, Implementation::Measured)
}

/// As [`vector_product_with`], by what is asked for. Metal Performance Shaders take the types and strides of [`product_with`](super::product_with), x and y as matrices of one column. What
/// [`Measured`](Implementation::Measured) is, [`tune_operation`](super::tune_operation) finds.
///
/// # Errors
/// As [`vector_product_with`]; [`Error::Unsupported`](crate::Error::Unsupported) where Metal Performance Shaders are asked for and cannot compute it.
pub fn vector_product_by<'a, T: Element, U: Element>(
    a: Tensor<'a, T>,
    x: Tensor<'a, T>,
    y: TensorMut<'a, U>,
    factors: [f32; 2],
    implementation: Implementation,
) -> Result<Operation<'a>> {
    // Which way its rows lie, too: whether a product is by rows or by columns.
    let by_columns = a.strides().first() == Some(&1);
    let class =
        Class::of("vector_product", [T::SCALAR, U::SCALAR], [a.layout(), y.layout()], &[usize::from(by_columns)]);
    choose((a.accelerator(), class, implementation), |by| vector_product_of(a, x, y.again(), factors, by))
}

fn vector_product_of<'a, T: Element, U: Element>(
    a: Tensor<'a, T>,
    x: Tensor<'a, T>,
    y: TensorMut<'a, U>,
    [alpha, beta]: [f32; 2],
    implementation: Implementation,
) -> Result<Operation<'a>> {
    let gpu =
        one_accelerator("vector_product", &[("A", a.accelerator()), ("x", x.accelerator()), ("y", y.accelerator())])?;
    let (&[m, k], &[a_row, a_column]) = (a.shape(), a.strides()) else {
        return Err(wrong("vector_product", format!("A is {}: a matrix has two axes", a.layout().shape())));
    };
    if x.shape() != [k] || y.shape() != [m] {
        let (a, x, y) = (a.layout().shape(), x.layout().shape(), y.layout().shape());
        return Err(wrong(
            "vector_product",
            format!("A is {a}, x is {x}, y is {y}: A x has not y's elements, or A not x's"),
        ));
    }
    if implementation == Implementation::PerformanceShaders {
        let scalars = (T::SCALAR, U::SCALAR);
        let shapes = Shapes::of(a.layout(), &x.layout().as_column(), &y.layout().as_column())?;
        let passes = passes(gpu, &shapes, scalars, [alpha, beta]).map_err(refused)?;
        // A result of one column is not turned.
        return Ok(Operation::of_passes(gpu, passes.passes([a.arg(), x.arg(), y.into_arg()], scalars)));
    }
    let (x_step, y_step) = (x.strides()[0], y.strides()[0]);
    let by_columns = a_row == 1 && a_column != 1;
    let in_line = by_columns || (a_column == 1 && x_step == 1);
    let macros = [("T", T::SCALAR.name()), ("U", U::SCALAR.name()), ("IN_LINE", if in_line { "1" } else { "0" })];
    // Extents and strides are within 31 bits (`Layout`).
    let [alpha, beta] = [alpha, beta].map(f32::to_bits);
    let sizes = [m as u32, k as u32, a_row as u32, a_column as u32, x_step as u32, y_step as u32, alpha, beta];
    let (function, grid) = match by_columns {
        true => ("vector_columns", Grid::linear(m)),
        false => ("vector_rows", rows_of_threads(m as u32, 1)),
    };
    let kernel = compiled(gpu, function, SOURCE, &macros)?;
    Ok(Operation::of(kernel, grid, vec![a.arg(), x.arg(), y.into_arg(), Arg::value(sizes)]))
}
