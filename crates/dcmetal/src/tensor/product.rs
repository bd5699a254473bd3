//! Products of matrices: [`product`].
//!
//! Two kernels in MSL (product.metal), each in two tiles. `product_threads` has a block of numbers per thread, and all threads beside each other read the same
//! number of A and beside each other of B: that is what processors with vectors do best, hostmetal's device among them. `product_simdgroups` has 8x8 matrices
//! per SIMD-group, which Apple's GPUs multiply in one instruction. Or Metal Performance Shaders do it (performance.rs).

use super::choice::{ProductClass, ProductMethod};
use super::layout::{Layout, wrong};
use super::performance::{passes, refused};
use super::{Element, Implementation, Operation, Tensor, TensorMut, compiled, has_wide_vectors, one_accelerator};
use crate::kernel::Scalar;
use crate::sync::processors;
use crate::{Accelerator, Arg, GpuFamily, Grid, Kernel, Result, Size};

/// How a product is computed, and with what. The default is C = A B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// The factor of A B.
    pub alpha: f32,
    /// The factor of what C holds. With 0 that is not read, as in BLAS: NaNs and infinities in it go.
    pub beta: f32,
    /// What computes it.
    pub implementation: Implementation,
    /// The kernel, of this module's; `None` for the one that was measured to be the fastest ([`tune_product`](super::tune_product)), or else is expected to be.
    pub kernel: Option<ProductKernel>,
}

impl Default for Product {
    fn default() -> Product {
        Product { alpha: 1.0, beta: 0.0, implementation: Implementation::Measured, kernel: None }
    }
}

/// A kernel for products, with its tile: the part of C that a threadgroup computes, rows by columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProductKernel {
    /// Blocks of 6 x 4 numbers per thread.
    Threads96x64,
    /// Blocks of 6 numbers per thread, for processors whose vectors have fewer than sixteen numbers: the sums of more are not in their registers.
    Threads96x16,
    /// Blocks of 4 x 4 numbers per thread, for matrices of which the larger tile has too few.
    Threads16x64,
    /// Blocks of 4 x 4 matrices per SIMD-group.
    Simdgroups64x64,
    /// Blocks of 2 x 2 matrices per SIMD-group.
    Simdgroups32x32,
}

/// What product.metal is given, and how it is launched.
struct Tile {
    kernel: ProductKernel,
    function: &'static str,
    /// Of C, per threadgroup.
    rows: usize,
    columns: usize,
    threads: [u64; 3],
    macros: &'static [(&'static str, &'static str)],
}

const TILES: [Tile; 5] = [
    Tile {
        kernel: ProductKernel::Threads96x64,
        function: "product_threads",
        rows: 96,
        columns: 64,
        threads: [16, 16, 1],
        macros: &[("ROWS", "6"), ("COLUMNS", "4"), ("GROUP", "16"), ("DEPTH", "96")],
    },
    Tile {
        kernel: ProductKernel::Threads96x16,
        function: "product_threads",
        rows: 96,
        columns: 16,
        threads: [16, 16, 1],
        macros: &[("ROWS", "6"), ("COLUMNS", "1"), ("GROUP", "16"), ("DEPTH", "256")],
    },
    Tile {
        kernel: ProductKernel::Threads16x64,
        function: "product_threads",
        rows: 16,
        columns: 64,
        threads: [16, 4, 1],
        macros: &[("ROWS", "4"), ("COLUMNS", "4"), ("GROUP", "4"), ("DEPTH", "96")],
    },
    Tile {
        kernel: ProductKernel::Simdgroups64x64,
        function: "product_simdgroups",
        rows: 64,
        columns: 64,
        threads: [32, 4, 1],
        macros: &[("ROWS", "4"), ("COLUMNS", "4"), ("DEPTH", "16")],
    },
    Tile {
        kernel: ProductKernel::Simdgroups32x32,
        function: "product_simdgroups",
        rows: 32,
        columns: 32,
        threads: [32, 4, 1],
        macros: &[("ROWS", "2"), ("COLUMNS", "2"), ("DEPTH", "16")],
    },
];

impl ProductKernel {
    /// Every kernel.
    pub const ALL: [ProductKernel; 5] = [
        ProductKernel::Threads96x64,
        ProductKernel::Threads96x16,
        ProductKernel::Threads16x64,
        ProductKernel::Simdgroups64x64,
        ProductKernel::Simdgroups32x32,
    ];

    fn tile(self) -> &'static Tile {
        TILES.iter().find(|tile| tile.kernel == self).expect("every kernel has its row")
    }

    fn threadgroups(self, m: usize, n: usize, batches: usize) -> Size {
        Size::from((n.div_ceil(self.tile().columns), m.div_ceil(self.tile().rows), batches))
    }

    /// The one that is expected to be the fastest: `product_simdgroups` where the device has instructions for it (Apple's GPUs, from Apple7 on: Metal Feature Set
    /// Tables, "SIMD-scoped matrix multiply operations"), and the larger tile where there are enough of it for all its cores.
    /// hostmetal's device is this processor.
    fn expected(gpu: &Accelerator, [m, n, batches]: [usize; 3]) -> ProductKernel {
        let is_gpu = cfg!(target_os = "macos");
        let (large, small) = match is_gpu && gpu.supports_family(GpuFamily::Apple7) {
            true => (ProductKernel::Simdgroups64x64, ProductKernel::Simdgroups32x32),
            false if is_gpu || has_wide_vectors() => (ProductKernel::Threads96x64, ProductKernel::Threads16x64),
            false => (ProductKernel::Threads96x16, ProductKernel::Threads16x64),
        };
        let least = if is_gpu { LEAST_ON_A_GPU } else { processors() };
        let few = large.threadgroups(m, n, batches).volume().is_some_and(|count| count < 2 * least as u64);
        if few || 2 * m <= large.tile().rows { small } else { large }
    }
}

/// Threadgroups that a GPU of Apple's runs at the same time: one for each core of the largest.
const LEAST_ON_A_GPU: usize = 40;

/// The sources, in front of each the common head.
const THREADS: &str =
    concat!(include_str!("product.metal"), include_str!("lines.metal"), include_str!("product_threads.metal"));
const SIMDGROUPS: &str = concat!(include_str!("product.metal"), include_str!("product_simdgroups.metal"));

fn kernel_of(gpu: &Accelerator, kernel: ProductKernel, from: Scalar, to: Scalar) -> Result<Kernel> {
    let Tile { function, macros, .. } = kernel.tile();
    let macros = [&[("T", from.name()), ("U", to.name())], *macros].concat();
    let source = if *function == "product_threads" { THREADS } else { SIMDGROUPS };
    compiled(gpu, function, source, &macros)
}

/// C = A B: see [`product_with`].
///
/// # Errors
/// As [`product_with`].
pub fn product<'a, T: Element, U: Element>(
    a: Tensor<'a, T>,
    b: Tensor<'a, T>,
    c: TensorMut<'a, U>,
) -> Result<Operation<'a>> {
    product_with(a, b, c, &Product::default())
}

/// C = alpha A B + beta C, for matrices or batches of them: A is ... x m x k, B is ... x k x n, C is ... x m x n with up to two axes in front. What A and B have in front is broadcast:
/// an axis may be as long as C's, or 1, or missing. Strides may be any, so that a transposed matrix ([`Tensor::transposed`]) costs nothing but its reading;
/// it is fastest where one stride of each matrix is 1. Products are accumulated in `f32`, in an order that the kernel decides, and C is rounded once.
///
/// Metal Performance Shaders compute products of `f32`, and of `f16` to `f16` or `f32`, where one stride of A and of B is 1 and one of C, which is not the result of
/// broadcasting. Where they were measured to be the fastest of a class ([`tune_product`](super::tune_product)), products of it that they cannot compute use the kernel that was
/// the fastest.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// use dcmetal::tensor::{Implementation, Product, Tensor, TensorMut, product_with};
/// let gpu = dcmetal::Accelerator::system_default()?;
/// let (a, mut c) = (gpu.buffer_from(&[1.0f32, 2.0, 3.0, 4.0])?, gpu.buffer_zeroed::<f32>(4)?);
/// let a = Tensor::new(&a, &[2, 2])?;
/// let options = Product { implementation: Implementation::PerformanceShaders, ..Product::default() };
/// product_with(a, a.transposed()?, TensorMut::new(&mut c, &[2, 2])?, &options)?.submit()?.wait()?;
/// assert_eq!(c.to_vec()?, [5.0, 11.0, 11.0, 25.0]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) where extents do not fit; [`Error::Foreign`](crate::Error::Foreign); those of the kernel's compilation;
/// [`Error::Unsupported`](crate::Error::Unsupported) where Metal Performance Shaders are asked for, and cannot compute it, or a kernel of this module's is named as well.
pub fn product_with<'a, T: Element, U: Element>(
    a: Tensor<'a, T>,
    b: Tensor<'a, T>,
    c: TensorMut<'a, U>,
    options: &Product,
) -> Result<Operation<'a>> {
    let gpu = one_accelerator("product", &[("A", a.accelerator()), ("B", b.accelerator()), ("C", c.accelerator())])?;
    let shapes = Shapes::of(a.layout(), b.layout(), c.layout())?;
    let Shapes { m, n, batches, .. } = shapes;
    let count = batches[0] * batches[1];
    let scalars = (T::SCALAR, U::SCALAR);
    let by_shaders = || passes(gpu, &shapes, scalars, [options.alpha, options.beta]);
    let (methods, passes) = match (options.implementation, options.kernel) {
        (Implementation::PerformanceShaders, None) => (Vec::new(), Some(by_shaders().map_err(refused)?)),
        (Implementation::PerformanceShaders, Some(kernel)) => {
            return Err(refused(format!("the kernel {kernel:?} is asked for too")));
        }
        (_, Some(kernel)) => (vec![ProductMethod::Kernel(kernel)], None),
        (implementation, None) => {
            let class = ProductClass::of(scalars, a.layout(), b.layout(), c.layout());
            let methods = gpu.products().find(gpu, class).unwrap_or_default();
            let first = methods.first() == Some(&ProductMethod::PerformanceShaders);
            let passes = if first && implementation == Implementation::Measured { by_shaders().ok() } else { None };
            (methods, passes)
        }
    };
    // C's rows are what threads beside each other write: of a C by columns, its transpose is computed.
    let (left, right) = if shapes.turned { (b.arg(), a.arg()) } else { (a.arg(), b.arg()) };
    if let Some(passes) = passes {
        return Ok(Operation::of_passes(gpu, passes.passes([left, right, c.into_arg()], scalars)));
    }
    let kernel = methods.iter().find_map(|method| method.kernel());
    let kernel = kernel.unwrap_or_else(|| ProductKernel::expected(gpu, [m, n, count]));
    let sizes = shapes.sizes(options);
    let made = kernel_of(gpu, kernel, T::SCALAR, U::SCALAR)?;
    let grid = Grid::threadgroups(kernel.threadgroups(m, n, count), kernel.tile().threads);
    Ok(Operation::of(made, grid, vec![left, right, c.into_arg(), Arg::value(sizes)]))
}

/// A matrix of a batch: strides in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Matrix {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) batch: [u32; 2],
}

impl Matrix {
    fn transposed(self) -> Matrix {
        Matrix { row: self.column, column: self.row, ..self }
    }
}

/// What is multiplied: A, B and C, or their transposes with A and B exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shapes {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) batches: [usize; 2],
    pub(super) left: Matrix,
    pub(super) right: Matrix,
    pub(super) to: Matrix,
    pub(super) turned: bool,
}

impl Shapes {
    pub(super) fn of(a: &Layout, b: &Layout, c: &Layout) -> Result<Shapes> {
        let refused = |why: &str| {
            let (a, b, c) = (a.shape(), b.shape(), c.shape());
            wrong("product", format!("A is {a}, B is {b}, C is {c}: {why}"))
        };
        if [a, b, c].iter().any(|layout| layout.rank() < 2) {
            return Err(refused("a matrix has two axes"));
        }
        let ((a_extents, a_strides), (b_extents, b_strides)) = (a.padded(), b.padded());
        let (c_extents, c_strides) = c.padded();
        let ([.., m, k], [.., inner, n]) = (a_extents, b_extents);
        if k != inner {
            return Err(refused("A has not as many columns as B has rows"));
        }
        if [m, n] != c_extents[2..] {
            return Err(refused("C has not the rows of A and the columns of B"));
        }
        if a.rank().max(b.rank()) > c.rank() {
            return Err(refused("A or B has more batches than C"));
        }
        let matrix = |extents: [u32; 4], strides: [u32; 4]| {
            let [outer, inner, row, column] = strides;
            let fits = |at: usize| extents[at] == c_extents[at] || extents[at] == 1;
            if !fits(0) || !fits(1) {
                return Err(refused("the batches of A or B are not those of C"));
            }
            let stride = |at: usize, stride: u32| if extents[at] == 1 { 0 } else { stride };
            // Where there is one element, any stride is as good.
            let one = |at: usize, stride: u32| if extents[at] == 1 { 1 } else { stride };
            let (row, column) = (one(2, row), one(3, column));
            Ok(Matrix { row, column, batch: [stride(0, outer), stride(1, inner)] })
        };
        let (left, right) = (matrix(a_extents, a_strides)?, matrix(b_extents, b_strides)?);
        let to = matrix(c_extents, c_strides)?;
        let batches = [c_extents[0] as usize, c_extents[1] as usize];
        let [m, n, k] = [m as usize, n as usize, k as usize];
        let straight = Shapes { m, n, k, batches, left, right, to, turned: false };
        Ok(if to.column != 1 && to.row == 1 { straight.turned() } else { straight })
    }

    fn turned(self) -> Shapes {
        let Shapes { m, n, left, right, to, turned, .. } = self;
        let (left, right, to) = (right.transposed(), left.transposed(), to.transposed());
        Shapes { m: n, n: m, left, right, to, turned: !turned, ..self }
    }

    /// `Sizes` of product.metal.
    fn sizes(&self, options: &Product) -> [u32; 18] {
        let Shapes { m, n, k, batches, left, right, to, .. } = *self;
        let [a, b, c] = [left, right, to].map(|matrix| (matrix.row, matrix.column, matrix.batch));
        // Extents are within 31 bits (`Layout`).
        let mut sizes = vec![m as u32, n as u32, k as u32, batches[1] as u32];
        sizes.extend([a.0, a.1, b.0, b.1, c.0, c.1]);
        sizes.extend([a.2, b.2, c.2].concat());
        sizes.extend([options.alpha, options.beta].map(f32::to_bits));
        sizes.try_into().expect("eighteen words")
    }
}
