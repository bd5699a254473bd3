//! Operations on tensors: products of matrices, convolution, pooling, normalisation, softmax, reductions and activations.
//!
//! A [`Tensor`] is a view of a [`Buffer`](crate::Buffer) with a shape; nothing is copied, and results go to memory that the caller has. A function for
//! an operation checks types, shapes and options, and gives an [`Operation`]: its launches, to [`submit`](Operation::submit) or to
//! [`record`](Operation::record) in a batch beside others.
//!
//! ```
//! # fn main() -> dcmetal::Result<()> {
//! use dcmetal::tensor::{Tensor, TensorMut, product};
//! let gpu = dcmetal::Accelerator::system_default()?;
//! let a = gpu.buffer_from(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let b = gpu.buffer_from(&[1.0f32, 0.0, 0.0, 1.0, 1.0, 1.0])?;
//! let mut c = gpu.buffer_zeroed::<f32>(4)?;
//! product(Tensor::new(&a, &[2, 3])?, Tensor::new(&b, &[3, 2])?, TensorMut::new(&mut c, &[2, 2])?)?.submit()?.wait()?;
//! assert_eq!(c.to_vec()?, [4.0, 5.0, 10.0, 11.0]);
//! # Ok(()) }
//! ```
//!
//! Elements are `f32`, `half::f16` or `half::bf16`; whatever they are, sums and products are computed in `f32` and rounded once at the end.
//! docs/TENSOR.md has the shapes, the bounds of each operation's error, and figures.

mod layout;
mod product;
mod view;

use crate::kernel::Scalar;
use crate::{Accelerator, Arg, Batch, Error, Grid, Kernel, Result, Stream, Submission};

pub use layout::MAX_RANK;
pub use product::{Product, ProductKernel, product, product_with};
pub use view::{Tensor, TensorMut};

/// What tensors hold: `f32`, [`half::f16`] and [`half::bf16`].
pub trait Element: crate::Pod + sealed::Sealed {
    /// The type in kernels.
    const SCALAR: Scalar;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($number:ty => $scalar:ident),*) => {$(
        impl sealed::Sealed for $number {}
        impl Element for $number {
            const SCALAR: Scalar = Scalar::$scalar;
        }
    )*};
}
elements!(f32 => F32, half::f16 => F16, half::bf16 => BF16);

/// An operation that was checked: what it launches. It borrows the tensors that it was made of.
#[must_use = "nothing runs until it is submitted or recorded"]
#[derive(Debug)]
pub struct Operation<'a> {
    accelerator: Accelerator,
    launches: Vec<Launch<'a>>,
}

#[derive(Debug)]
struct Launch<'a> {
    kernel: Kernel,
    grid: Grid,
    args: Vec<Arg<'a>>,
}

impl<'a> Operation<'a> {
    fn of(kernel: Kernel, grid: Grid, args: Vec<Arg<'a>>) -> Operation<'a> {
        let accelerator = kernel.accelerator().clone();
        Operation { accelerator, launches: vec![Launch { kernel, grid, args }] }
    }

    /// Runs it alone. A batch is cheaper for several.
    ///
    /// # Errors
    /// As [`Kernel::launch`](crate::Kernel::launch).
    pub fn submit(self) -> Result<Submission> {
        let mut batch = self.accelerator.batch()?;
        self.record(&mut batch)?;
        batch.submit()
    }

    /// Records it in a batch, behind what that has already.
    ///
    /// # Errors
    /// As [`Batch::launch`](crate::Batch::launch).
    pub fn record(self, batch: &mut Batch) -> Result<()> {
        self.launches.into_iter().try_for_each(|Launch { kernel, grid, args }| batch.launch(&kernel, grid, args))
    }

    /// Gives it to a stream.
    ///
    /// # Errors
    /// As [`Stream::launch`](crate::Stream::launch).
    pub fn stream(self, stream: &Stream) -> Result<()> {
        self.launches.into_iter().try_for_each(|Launch { kernel, grid, args }| stream.launch(&kernel, grid, args))
    }

    /// The kernels that it launches, in order, and their grids.
    pub fn launches(&self) -> impl Iterator<Item = (&Kernel, Grid)> {
        self.launches.iter().map(|launch| (&launch.kernel, launch.grid))
    }
}

/// That all tensors of an operation belong to one accelerator; which one.
fn one_accelerator<'a>(operation: &'static str, of: &[&'a Accelerator]) -> Result<&'a Accelerator> {
    match of.iter().position(|other| !other.is(of[0])) {
        None => Ok(of[0]),
        Some(at) => Err(Error::Foreign { what: format!("{operation}: tensor {at}") }),
    }
}
