//! What is the fastest for a product, a kernel or Metal Performance Shaders: measured when it is asked for, and remembered for products of its class.
//!
//! A class is what times depend on: types, whether rows of A and B lie in line, and extents up to the next power of two. What was measured lies in the folder of
//! [`keep_kernels`](crate::Accelerator::keep_kernels) as well, in a small file for each class, whose name has the device, the system and the number of processors in it.

use std::fmt;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::layout::Layout;
use super::{Element, Implementation, Product, ProductKernel, Tensor, TensorMut, product_with};
use crate::kernel::{Scalar, measure, median};
use crate::raw::host::lock;
use crate::sync::{Mutex, processors};
use crate::{Accelerator, Error, Result, TuneOptions};

/// Products that share what was measured for one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ProductClass {
    types: (Scalar, Scalar),
    in_line: [bool; 2],
    /// m, n, k and batches, up to the next power of two.
    extents: [usize; 4],
}

impl ProductClass {
    pub(super) fn of(types: (Scalar, Scalar), a: &Layout, b: &Layout, c: &Layout) -> ProductClass {
        let is_in_line = |layout: &Layout| layout.strides().last() == Some(&1);
        let (&[.., m, k], &[.., n]) = (a.extents(), c.extents()) else { unreachable!("the shapes were checked") };
        let extents = [m, n, k, c.count() / (m * n)].map(usize::next_power_of_two);
        ProductClass { types, in_line: [is_in_line(a), is_in_line(b)], extents }
    }

    /// The name of its file's key.
    fn key(&self, files: &crate::kernel::KernelFiles) -> String {
        let mut key = files.key();
        key.part(b"dcmetal product 2");
        key.part(format!("{self:?} of {}", processors()).as_bytes());
        key.name()
    }
}

/// How a product can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProductMethod {
    /// By a kernel of this module's.
    Kernel(ProductKernel),
    /// By Metal Performance Shaders.
    PerformanceShaders,
}

impl ProductMethod {
    fn all() -> impl Iterator<Item = ProductMethod> {
        ProductKernel::ALL.into_iter().map(ProductMethod::Kernel).chain([ProductMethod::PerformanceShaders])
    }

    pub(super) fn kernel(self) -> Option<ProductKernel> {
        match self {
            ProductMethod::Kernel(kernel) => Some(kernel),
            ProductMethod::PerformanceShaders => None,
        }
    }

    fn options(self) -> Product {
        let implementation = match self {
            ProductMethod::Kernel(_) => Implementation::Kernels,
            ProductMethod::PerformanceShaders => Implementation::PerformanceShaders,
        };
        Product { implementation, kernel: self.kernel(), ..Product::default() }
    }
}

impl fmt::Display for ProductMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProductMethod::Kernel(kernel) => write!(f, "{kernel:?}"),
            ProductMethod::PerformanceShaders => f.write_str("PerformanceShaders"),
        }
    }
}

/// What an accelerator knows of products.
#[derive(Default)]
pub(crate) struct ProductChoices {
    /// The fastest first; `None` for a class of which nothing is in the folder.
    known: Mutex<FxHashMap<ProductClass, Option<Vec<ProductMethod>>>>,
}

impl ProductChoices {
    pub(super) fn find(&self, gpu: &Accelerator, class: ProductClass) -> Option<Vec<ProductMethod>> {
        if let Some(known) = lock(&self.known).get(&class) {
            return known.clone();
        }
        let files = gpu.kernel_files()?;
        let found = files.choice(&class.key(files)).and_then(|text| of_text(&text));
        lock(&self.known).insert(class, found.clone());
        found
    }

    fn remember(&self, gpu: &Accelerator, class: ProductClass, methods: Vec<ProductMethod>) {
        if let Some(files) = gpu.kernel_files() {
            files.keep_choice(&class.key(files), &to_text(&methods));
        }
        lock(&self.known).insert(class, Some(methods));
    }
}

/// A line for each, the fastest first.
fn to_text(methods: &[ProductMethod]) -> String {
    methods.iter().map(|method| format!("{method}\n")).collect()
}

/// `None` for what no [`to_text`] wrote of methods that were measured.
fn of_text(text: &str) -> Option<Vec<ProductMethod>> {
    let named = |line: &str| ProductMethod::all().find(|method| method.to_string() == line);
    let methods = text.strip_suffix('\n')?.split('\n').map(named).collect::<Option<Vec<_>>>()?;
    let is_once = |(at, method): (usize, &ProductMethod)| !methods[..at].contains(method);
    methods.iter().enumerate().all(is_once).then_some(methods)
}

/// What [`tune_product`] found. Printed, it is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductTuning {
    /// The fastest.
    pub method: ProductMethod,
    /// Each method with the times of its runs on the device, the fastest first; Metal Performance Shaders where they can compute the product. Empty where
    /// the method was remembered, and nothing was run.
    pub candidates: Vec<(ProductMethod, Vec<Duration>)>,
}

impl fmt::Display for ProductTuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.method)?;
        if self.candidates.is_empty() {
            return f.write_str(", remembered");
        }
        for (method, times) in &self.candidates {
            write!(f, "\n  {method}: median {:?} of {} runs", median(times), times.len())?;
        }
        Ok(())
    }
}

/// Measures what is the fastest for products like this one: a kernel, or Metal Performance Shaders where they can compute it. From then on such products use it, on this
/// accelerator, unless they say what to use: of the same types, with A and B each in rows or in columns as here, and with m, n, k and the number of batches up to the same powers of two. With [`keep_kernels`](crate::Accelerator::keep_kernels),
/// called before, later processes use it too. C is not changed: its place is taken by memory of its size.
///
/// Times are the device's ([`Submission::gpu_time`](crate::Submission::gpu_time)). [`TuneOptions::any_size`] means nothing here.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// use dcmetal::tensor::{Tensor, TensorMut, tune_product};
/// let gpu = dcmetal::Accelerator::system_default()?;
/// let (a, mut c) = (gpu.buffer_from(&[1.0f32; 64 * 64])?, gpu.buffer_zeroed::<f32>(64 * 64)?);
/// let square = Tensor::new(&a, &[64, 64])?;
/// let tuning = tune_product(square, square, &TensorMut::new(&mut c, &[64, 64])?, &dcmetal::TuneOptions::default())?;
/// println!("{tuning}");
/// # Ok(()) }
/// ```
///
/// # Errors
/// As [`product`](crate::tensor::product); [`Error::NotTunable`] where there is not enough time; [`Error::Unsupported`] where the platform tells no times.
pub fn tune_product<T: Element, U: Element>(
    a: Tensor<'_, T>,
    b: Tensor<'_, T>,
    c: &TensorMut<'_, U>,
    options: &TuneOptions,
) -> Result<ProductTuning> {
    let gpu = a.accelerator();
    let mut scratch = gpu.buffer_zeroed::<U>(c.layout().count())?;
    let mut run = |method: ProductMethod| {
        let to = TensorMut::new(&mut scratch, c.shape())?;
        let submission = product_with(a, b, to, &method.options())?.submit()?;
        submission.wait()?;
        submission.gpu_time()
    };
    // What is wrong with the product is told before what is remembered of its class.
    run(ProductMethod::Kernel(ProductKernel::ALL[0]))?;
    let class = ProductClass::of((T::SCALAR, U::SCALAR), a.layout(), b.layout(), c.layout());
    if let Some(&method) = gpu.products().find(gpu, class).as_deref().and_then(<[_]>::first) {
        return Ok(ProductTuning { method, candidates: Vec::new() });
    }
    // Each once before the time begins: some compile a kernel.
    let mut methods = Vec::new();
    for method in ProductMethod::all() {
        match run(method) {
            Err(Error::Unsupported { .. }) if method == ProductMethod::PerformanceShaders => {}
            outcome => {
                outcome?;
                methods.push(method);
            }
        }
    }
    let begun = Instant::now();
    let times = measure(methods.len(), options, |at| run(methods[at]), || begun.elapsed())?;
    let times = times.ok_or_else(|| Error::NotTunable {
        kernel: "product".to_owned(),
        why: format!("three runs of each method take longer than {:?}", options.time),
    })?;
    let mut candidates: Vec<(ProductMethod, Vec<Duration>)> = methods.into_iter().zip(times).collect();
    candidates.sort_by_key(|(_, times)| (std::cmp::Reverse(times.len()), median(times)));
    if median(&candidates[0].1).is_zero() {
        let text = "the device says that it took no time".to_owned();
        return Err(Error::Unsupported { what: "tuning a product".to_owned(), text });
    }
    gpu.products().remember(gpu, class, candidates.iter().map(|(method, _)| *method).collect());
    Ok(ProductTuning { method: candidates[0].0, candidates })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_they_were_written_and_no_others() {
        let all: Vec<ProductMethod> = ProductMethod::all().collect();
        for methods in [&all[..], &all[1..2], &all[4..]] {
            assert_eq!(of_text(&to_text(methods)).as_deref(), Some(methods));
        }
        for text in ["", "\n", "Threads96x64", "threads96x64\n", "Threads96x64\n\n", "Threads96x64\nThreads96x64\n"] {
            assert_eq!(of_text(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_was_measured_is_used_for_its_class_and_by_later_accelerators() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || {
            let gpu = Accelerator::system_default().expect("a Metal device");
            gpu.keep_kernels(folder.path().join("kernels"), 1 << 20).expect("a folder of this user's");
            gpu
        };
        let gpu = open();
        let x = gpu.buffer_zeroed::<f32>(40 * 40).expect("a buffer");
        let class = |extents: &[usize], turned: bool| {
            let layout = Layout::rows(extents).expect("a layout");
            let a = if turned { layout.transposed().expect("two axes") } else { layout };
            ProductClass::of((Scalar::F32, Scalar::F32), &a, &layout, &layout)
        };
        let used = |gpu: &Accelerator, side: usize| {
            let (x, mut y) =
                (gpu.buffer_zeroed::<f32>(side * side).expect("x"), gpu.buffer_zeroed(side * side).expect("y"));
            let square = Tensor::new(&x, &[side, side]).expect("it fits");
            let to = TensorMut::<f32>::new(&mut y, &[side, side]).expect("it fits");
            let operation = product_with(square, square, to, &Product::default()).expect("it fits");
            let launch = operation.launches().next().expect("one launch");
            launch.0.name().to_owned()
        };
        assert_eq!((used(&gpu, 40), x.len()), ("product_threads".to_owned(), 1600), "expected");
        let kernel = ProductMethod::Kernel(ProductKernel::Simdgroups32x32);
        gpu.products().remember(&gpu, class(&[64, 64], false), vec![kernel]);
        assert_eq!(used(&gpu, 40), "product_simdgroups", "measured, of the same class");
        assert_eq!(used(&gpu, 65), "product_threads", "another class");
        assert_eq!(gpu.products().find(&gpu, class(&[64, 64], true)), None, "another order");
        assert_eq!(used(&open(), 40), "product_simdgroups", "of an earlier accelerator");
    }

    #[test]
    fn performance_shaders_are_measured_and_used_where_they_can_be() {
        let gpu = Accelerator::system_default().expect("a Metal device");
        // Kernels may have to be compiled meanwhile.
        let options = TuneOptions { time: Duration::from_secs(600), ..TuneOptions::default() };
        fn tuned<T: Element>(gpu: &Accelerator, options: &TuneOptions) -> ProductTuning {
            let (x, mut y) = (gpu.buffer_zeroed::<T>(64).expect("x"), gpu.buffer_zeroed::<T>(64).expect("y"));
            let square = Tensor::new(&x, &[8, 8]).expect("it fits");
            tune_product(square, square, &TensorMut::new(&mut y, &[8, 8]).expect("it fits"), options)
                .expect("there is time")
        }
        let of = |tuning: &ProductTuning| tuning.candidates.iter().map(|(method, _)| *method).collect::<Vec<_>>();
        let tuning = tuned::<f32>(&gpu, &options);
        let mut sorted = of(&tuning);
        assert_eq!((sorted[0], sorted.len()), (tuning.method, ProductMethod::all().count()));
        sorted.sort_by_key(|method| ProductMethod::all().position(|other| other == *method));
        assert_eq!(sorted, ProductMethod::all().collect::<Vec<_>>());
        let lines: Vec<String> = tuning.to_string().lines().map(str::to_owned).collect();
        assert_eq!(lines[0], tuning.method.to_string());
        assert!(lines.iter().any(|line| line.starts_with("  PerformanceShaders: median ")), "{lines:?}");
        assert_eq!(tuned::<f32>(&gpu, &options), ProductTuning { method: tuning.method, candidates: Vec::new() });
        // There are none for `bfloat`.
        assert!(!of(&tuned::<half::bf16>(&gpu, &options)).contains(&ProductMethod::PerformanceShaders));

        let layout = Layout::rows(&[8, 8]).expect("a layout");
        let class = ProductClass::of((Scalar::F32, Scalar::F32), &layout, &layout, &layout);
        let kernel = ProductMethod::Kernel(ProductKernel::Simdgroups32x32);
        gpu.products().remember(&gpu, class, vec![ProductMethod::PerformanceShaders, kernel]);
        let (x, mut y) = (gpu.buffer_zeroed::<f32>(200).expect("x"), gpu.buffer_zeroed::<f32>(64).expect("y"));
        let mut used = |strides: [usize; 2], implementation: Implementation| {
            let square = Tensor::strided(&x, &[8, 8], &strides).expect("it fits");
            let to = TensorMut::new(&mut y, &[8, 8]).expect("it fits");
            let options = Product { implementation, ..Product::default() };
            format!("{:?}", product_with(square, square, to, &options).expect("it fits"))
        };
        assert_eq!(used([8, 1], Implementation::Measured), "[MPSMatrixMultiplication 8x8 by 8x8]");
        assert!(used([8, 1], Implementation::Kernels).contains("product_simdgroups"));
        assert!(used([5, 1], Implementation::Measured).contains("product_simdgroups"), "rows lie over each other");
    }
}
