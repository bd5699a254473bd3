//! Operations on tensors: products of matrices, convolution, pooling, normalisation, softmax, reductions and activations.
//!
//! A [`Tensor`] is a view of a [`Buffer`] with a shape; nothing is copied, and results go to memory that the caller has. A function for
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

mod activation;
#[cfg(feature = "ndarray")]
mod arrays;
mod choice;
mod convolution;
mod graph;
mod layout;
mod measured;
mod normalize;
mod performance;
mod product;
mod reduce;
mod vector;
mod view;

use measured::Class;

use crate::command::{GraphPass, Passes, alone};
use crate::kernel::Scalar;
use crate::{
    Accelerator, Arg, Batch, Buffer, CompileOptions, Error, Grid, Kernel, MathMode, Result, Stream, Submission,
};

pub use activation::{Activation, activate, activate_by, activate_in_place};
#[cfg(feature = "ndarray")]
pub use arrays::array_product;
pub(crate) use choice::ProductChoices;
pub use choice::{ProductMethod, ProductTuning, tune_product};
pub use convolution::{Convolution, Pool, Pooling, Steps, convolution, convolution_by, pool, pool_by};
pub use layout::MAX_RANK;
pub(crate) use measured::OperationChoices;
pub use measured::{OperationTuning, Trial, tune_operation};
pub use normalize::{
    Affine, Channels, batch_norm, batch_norm_by, batch_statistics, batch_statistics_by, layer_norm, layer_norm_by,
    softmax, softmax_by,
};
pub use performance::Implementation;
pub use product::{Product, ProductKernel, product, product_with};
pub use reduce::{Reduction, argmax, argmax_all, reduce, reduce_all, reduce_all_by, reduce_by};
pub use vector::{vector_product, vector_product_by, vector_product_with};
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
pub struct Operation<'a> {
    accelerator: Accelerator,
    launches: Vec<Launch<'a>>,
    /// What a launch leaves for the next: a number for each row or part of a row.
    between: Vec<Between>,
    /// Instead of launches.
    passes: Option<Passes<'a>>,
    /// Instead of these: what is submitted alone, and its name. Where launches are there too, they are for batches and streams.
    graph: Option<(&'static str, GraphPass<'a>)>,
    /// What shares a measurement with it, if it has two implementations.
    class: Option<Class>,
}

struct Launch<'a> {
    kernel: Kernel,
    grid: Grid,
    args: Vec<Given<'a>>,
}

/// What a launch is given: an argument, or what another one leaves.
enum Given<'a> {
    Arg(Arg<'a>),
    Read(usize),
    Write(usize),
}

enum Between {
    Numbers(Buffer<f32>),
    Places(Buffer<u32>),
}

impl<'a> Operation<'a> {
    fn of(kernel: Kernel, grid: Grid, args: Vec<Arg<'a>>) -> Operation<'a> {
        let accelerator = kernel.accelerator().clone();
        let args = args.into_iter().map(Given::Arg).collect();
        let launches = vec![Launch { kernel, grid, args }];
        Operation { accelerator, launches, between: Vec::new(), passes: None, graph: None, class: None }
    }

    /// By Metal Performance Shaders.
    fn of_passes(accelerator: &Accelerator, passes: Passes<'a>) -> Operation<'a> {
        let accelerator = accelerator.clone();
        Operation {
            accelerator,
            launches: Vec::new(),
            between: Vec::new(),
            passes: Some(passes),
            graph: None,
            class: None,
        }
    }

    /// By a graph of Metal Performance Shaders.
    fn of_graph(accelerator: &Accelerator, name: &'static str, pass: GraphPass<'a>) -> Operation<'a> {
        let (accelerator, graph) = (accelerator.clone(), Some((name, pass)));
        Operation { accelerator, launches: Vec::new(), between: Vec::new(), passes: None, graph, class: None }
    }

    /// With the kernels that a batch or a stream takes, where a graph is submitted alone.
    fn or_kernels(self, kernels: impl FnOnce() -> Result<Operation<'a>>) -> Result<Operation<'a>> {
        if self.graph.is_none() {
            return Ok(self);
        }
        let Operation { launches, between, .. } = kernels()?;
        Ok(Operation { launches, between, ..self })
    }

    /// Runs it alone. A batch is cheaper for several.
    ///
    /// # Errors
    /// As [`Kernel::launch`](crate::Kernel::launch).
    pub fn submit(self) -> Result<Submission> {
        if let Some((_, pass)) = &self.graph {
            return Batch::submit_graph(&self.accelerator, pass);
        }
        let mut batch = self.accelerator.batch()?;
        self.record(&mut batch)?;
        batch.submit()
    }

    /// Records it in a batch, behind what that has already.
    ///
    /// # Errors
    /// As [`Batch::launch`](crate::Batch::launch). [`Error::Unsupported`] for what a graph of Metal Performance Shaders computes (convolution, pooling, normalisation and reductions), whose command buffer is its own: where such a graph was [measured](Implementation::Measured) to be
    /// the faster, and is not asked for by name, a batch takes the kernels.
    pub fn record(self, batch: &mut Batch) -> Result<()> {
        match (&self.passes, &self.graph) {
            (Some(passes), _) => batch.shade(passes),
            (None, Some((name, _))) if self.launches.is_empty() => Err(alone(name)),
            (None, _) => self.each(|kernel, grid, args| batch.launch(kernel, grid, args)),
        }
    }

    /// Gives it to a stream.
    ///
    /// # Errors
    /// As [`Stream::launch`](crate::Stream::launch), and as of [`record`](Operation::record).
    pub fn stream(self, stream: &Stream) -> Result<()> {
        match (&self.passes, &self.graph) {
            (Some(passes), _) => stream.shade(passes),
            (None, Some((name, _))) if self.launches.is_empty() => Err(alone(name)),
            (None, _) => self.each(|kernel, grid, args| stream.launch(kernel, grid, args)),
        }
    }

    fn each(self, mut launch: impl FnMut(&Kernel, Grid, Vec<Arg<'_>>) -> Result<()>) -> Result<()> {
        let Operation { launches, mut between, .. } = self;
        for Launch { kernel, grid, args } in launches {
            // Each launch writes one of them at most, and none that it reads.
            let written = args.iter().find_map(|given| if let Given::Write(at) = given { Some(*at) } else { None });
            let (mut own, others): (Vec<_>, Vec<_>) =
                between.iter_mut().enumerate().partition(|(at, _)| Some(*at) == written);
            let others: Vec<(usize, &Between)> = others.into_iter().map(|(at, buffer)| (at, &*buffer)).collect();
            let read = |wanted: usize| {
                let (_, buffer) = others.iter().find(|(at, _)| *at == wanted).expect("it is not written");
                match buffer {
                    Between::Numbers(buffer) => Arg::from(buffer),
                    Between::Places(buffer) => Arg::from(buffer),
                }
            };
            let mut own = own.pop();
            let args = args.into_iter().map(|given| match given {
                Given::Arg(arg) => arg,
                Given::Read(at) => read(at),
                Given::Write(_) => match own.take().expect("it is written once") {
                    (_, Between::Numbers(buffer)) => Arg::from(buffer),
                    (_, Between::Places(buffer)) => Arg::from(buffer),
                },
            });
            launch(&kernel, grid, args.collect())?;
        }
        Ok(())
    }

    /// What computes it when it is submitted: never [`Implementation::Measured`].
    pub fn implementation(&self) -> Implementation {
        match self.passes.is_some() || self.graph.is_some() {
            true => Implementation::PerformanceShaders,
            false => Implementation::Kernels,
        }
    }

    /// The kernels that it launches, in order, and their grids; none of Metal Performance Shaders. Where a graph was measured to be the faster, those that a batch or a stream takes.
    pub fn launches(&self) -> impl Iterator<Item = (&Kernel, Grid)> {
        self.launches.iter().map(|launch| (&launch.kernel, launch.grid))
    }
}

impl std::fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(passes) = &self.passes {
            return write!(f, "[{passes}]");
        }
        if let Some((_, pass)) = &self.graph {
            return write!(f, "[{pass}]");
        }
        f.debug_list().entries(self.launches.iter().map(|launch| (launch.kernel.name(), launch.grid))).finish()
    }
}

/// A kernel of one of this module's sources. Floating-point rules hold: what the bounds rest on is not reordered. A macro `X` is `DC_X` there: macros stand in front of the
/// platform's headers as well, which name parameters of their templates `T` and `U`.
fn compiled(gpu: &Accelerator, function: &str, source: &str, macros: &[(&str, &str)]) -> Result<Kernel> {
    let options = CompileOptions {
        name: format!("{function}.metal"),
        math_mode: Some(MathMode::Safe),
        macros: macros.iter().map(|(name, value)| (format!("DC_{name}"), (*value).to_owned())).collect(),
        ..CompileOptions::default()
    };
    gpu.compile_msl_with(source, &options)?.kernel(function)
}

/// Whether a vector of this processor has sixteen numbers, so that what sixteen threads beside each other have in one variable is one register. It has 32 of these then;
/// of narrower ones x86-64 has 16 (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 15.1), which blocks of sums have to do with.
fn has_wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// That all tensors of an operation, each with its name there, belong to one accelerator; which one.
fn one_accelerator<'a>(operation: &'static str, of: &[(&str, &'a Accelerator)]) -> Result<&'a Accelerator> {
    let first = of[0].1;
    match of.iter().find(|(_, other)| !other.is(first)) {
        None => Ok(first),
        Some((name, _)) => Err(Error::Foreign { what: format!("{operation}: {name}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_may_name_parameters_of_templates_as_they_like() {
        // As in Apple's metal_simdgroup_matrix and metal_matrix.
        let source = "template <typename R, typename T, typename U, int ROWS, int COLUMNS> struct of_a_header { T t; U u; };
            kernel void f(device DC_T *y [[buffer(0)]]) { *y = DC_T(of_a_header<int, float, DC_U, DC_ROWS, 2>{5.0f, 6}.t); }";
        let gpu = Accelerator::system_default().expect("a Metal device");
        let kernel = compiled(&gpu, "f", source, &[("T", "half"), ("U", "int"), ("ROWS", "4"), ("COLUMNS", "4")]);
        let kernel = kernel.unwrap_or_else(|error| panic!("{error}"));
        let mut y = gpu.buffer_zeroed::<half::f16>(1).expect("a buffer");
        kernel.launch(Grid::linear(1), vec![Arg::from(&mut y)]).and_then(|ran| ran.wait()).expect("it runs");
        assert_eq!(y.to_vec().expect("it ran"), [half::f16::from_f32(5.0)]);
    }
}
