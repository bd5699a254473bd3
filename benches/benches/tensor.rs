//! Products of matrices (`dcmetal::tensor`), by this library's kernels and by Metal Performance Shaders, beside OpenBLAS, if it is installed (Debian: `libopenblas0-pthread`), on as many
//! threads, by turns in one process; rates stand beside what the processor's multiply-adds reach. Every result is verified before a figure is printed: sampled elements against sums in `f64`, and the
//! whole matrix by its product with a vector of ones and minus ones (Freivalds).
//!
//! `cargo bench -p dcmetal-benches --bench tensor [-- [--short] [PART OF A NAME]...]`

use std::time::{Duration, Instant};

use dcmetal::tensor::{Element, Implementation, Product, ProductKernel, Tensor, TensorMut, product_with};
use dcmetal::{Accelerator, Buffer};
use dcmetal_benches::{is_chosen, is_short};
use dcmetal_validate::SLACK;
use dcmetal_validate::measure::{Spread, alternated};
use dcmetal_validate::problems::Random;
use dcmetal_validate::roofs::Roofs;
use half::{bf16, f16};

/// `cblas_sgemm` of the CBLAS interface (netlib).
type Sgemm =
    unsafe extern "C" fn(i32, i32, i32, i32, i32, i32, f32, *const f32, i32, *const f32, i32, f32, *mut f32, i32);
/// Of `CBLAS_LAYOUT` and `CBLAS_TRANSPOSE`.
const ROW_MAJOR: i32 = 101;
const AS_IT_IS: i32 = 111;
const TRANSPOSED: i32 = 112;

struct Blas {
    library: libloading::Library,
}

impl Blas {
    fn open(threads: usize) -> Option<Blas> {
        // SAFETY: the library's initialisers start threads and read its environment variables, no more.
        let library = unsafe { libloading::Library::new("libopenblas.so.0") }.ok()?;
        {
            // SAFETY: the type is that of OpenBLAS's function of this name.
            let set = unsafe { library.get::<unsafe extern "C" fn(i32)>(b"openblas_set_num_threads") }.ok()?;
            // SAFETY: any number is allowed.
            unsafe { set(threads as i32) };
        }
        Some(Blas { library })
    }

    fn multiply(&self, case: &Case, a: &[f32], b: &[f32], c: &mut [f32]) {
        let Case { m, n, k, a_transposed, b_transposed, .. } = *case;
        assert_eq!((a.len(), b.len(), c.len()), (m * k, k * n, m * n));
        // SAFETY: the type is that of the CBLAS interface.
        let sgemm = unsafe { self.library.get::<Sgemm>(b"cblas_sgemm") }.expect("OpenBLAS has a CBLAS interface");
        let [m, n, k] = [m, n, k].map(|extent| extent as i32);
        let of = |transposed: bool, rows: i32, columns: i32| match transposed {
            false => (AS_IT_IS, columns),
            true => (TRANSPOSED, rows),
        };
        let ((a_order, a_stride), (b_order, b_stride)) = (of(a_transposed, m, k), of(b_transposed, k, n));
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        // SAFETY: each matrix has as many elements as its extents and strides say.
        unsafe { sgemm(ROW_MAJOR, a_order, b_order, m, n, k, 1.0, a, a_stride, b, b_stride, 0.0, c, n) };
    }
}

#[derive(Clone, Copy, Default)]
struct Case {
    m: usize,
    n: usize,
    k: usize,
    a_transposed: bool,
    b_transposed: bool,
    kernel: Option<ProductKernel>,
}

const fn square(edge: usize) -> Case {
    Case { m: edge, n: edge, k: edge, a_transposed: false, b_transposed: false, kernel: None }
}

/// Name, case, whether the short run has it.
const CASES: &[(&str, Case, bool)] = &[
    ("128", square(128), true),
    ("256", square(256), false),
    ("512", square(512), true),
    ("1000", square(1000), false),
    ("1024", square(1024), true),
    ("2048", square(2048), false),
    ("1024, A transposed", Case { a_transposed: true, ..square(1024) }, false),
    ("1024, B transposed", Case { b_transposed: true, ..square(1024) }, false),
    ("1024, both transposed", Case { a_transposed: true, b_transposed: true, ..square(1024) }, true),
    ("16 x 4096 by 4096 x 4096", Case { m: 16, n: 4096, k: 4096, ..square(0) }, false),
    ("4096 x 64 by 64 x 4096", Case { m: 4096, n: 4096, k: 64, ..square(0) }, false),
    ("512 by simdgroups", Case { kernel: Some(ProductKernel::Simdgroups64x64), ..square(512) }, true),
];

trait Number: Element {
    const ROUNDOFF: f64;
    fn of(value: f32) -> Self;
    fn to_f64(self) -> f64;
}

macro_rules! numbers {
    ($($number:ty, $roundoff:expr, $of:expr, $to:expr;)*) => {$(
        impl Number for $number {
            const ROUNDOFF: f64 = $roundoff;
            fn of(value: f32) -> Self {
                $of(value)
            }
            fn to_f64(self) -> f64 {
                $to(self)
            }
        }
    )*};
}
numbers! {
    f32, f32::EPSILON as f64 / 2.0, |x| x, f64::from;
    f16, 0.5 / 1024.0, f16::from_f32, f16::to_f64;
    bf16, 0.5 / 128.0, bf16::from_f32, bf16::to_f64;
}

/// From -1 to 1.
fn numbers<T: Number>(len: usize, seed: u64) -> Vec<T> {
    let of = |word: u32| T::of((word >> 8) as f32 / (1 << 23) as f32 - 1.0);
    Random(seed).words(len).into_iter().map(of).collect()
}

struct Inputs<T> {
    a: Vec<T>,
    b: Vec<T>,
}

impl<T: Number> Inputs<T> {
    fn new(case: &Case) -> Inputs<T> {
        Inputs { a: numbers(case.m * case.k, 1), b: numbers(case.k * case.n, 2) }
    }

    fn a(&self, case: &Case, row: usize, column: usize) -> f64 {
        self.a[if case.a_transposed { column * case.m + row } else { row * case.k + column }].to_f64()
    }

    fn b(&self, case: &Case, row: usize, column: usize) -> f64 {
        self.b[if case.b_transposed { column * case.k + row } else { row * case.n + column }].to_f64()
    }

    /// Panics unless `c` is the product, by elements and as a whole.
    fn verify(&self, case: &Case, c: &[T], who: &str) {
        let &Case { m, n, k, .. } = case;
        // The bound of docs/TENSOR.md with k terms of at most 1.
        let bound = |size: f64| size * (k + 2) as f64 * f32::ROUNDOFF * 1.01 + T::ROUNDOFF * size;
        for sample in 0..500usize {
            let (row, column) = (sample * 7919 % m, sample * 104_729 % n);
            let (mut sum, mut size) = (0.0, 0.0);
            for i in 0..k {
                let term = self.a(case, row, i) * self.b(case, i, column);
                (sum, size) = (sum + term, size + term.abs());
            }
            let got = c[row * n + column].to_f64();
            assert!((got - sum).abs() <= bound(size), "{who}: ({row}, {column}) is {got}, not {sum}");
        }
        let signs: Vec<f64> = numbers::<f32>(n, 3).into_iter().map(|x| f64::from(x.signum())).collect();
        let by = |of: &dyn Fn(usize) -> f64| signs.iter().enumerate().map(|(at, sign)| sign * of(at)).sum::<f64>();
        let right: Vec<f64> = (0..k).map(|row| by(&|column| self.b(case, row, column))).collect();
        for row in 0..m {
            let wanted: f64 = right.iter().enumerate().map(|(at, right)| right * self.a(case, row, at)).sum();
            let got = by(&|column| c[row * n + column].to_f64());
            // Errors of one row are independent of each other and of the signs; a wrong element is of the size of sqrt(k).
            let most = 6.0 * (n as f64).sqrt() * (T::ROUNDOFF + f32::ROUNDOFF * (k as f64).sqrt()) * (k as f64).sqrt();
            assert!((got - wanted).abs() <= most, "{who}: row {row} by signs is {got}, not {wanted}");
        }
    }
}

struct Ours<T: Number> {
    a: Buffer<T>,
    b: Buffer<T>,
    c: Buffer<T>,
    implementation: Implementation,
}

impl<T: Number> Ours<T> {
    /// Verified once.
    fn new(gpu: &Accelerator, case: &Case, inputs: &Inputs<T>, implementation: Implementation) -> Ours<T> {
        let of = |values: &[T]| gpu.buffer_from(values).expect("a buffer");
        let c = of(&vec![T::of(f32::NAN); case.m * case.n]);
        let mut made = Ours { a: of(&inputs.a), b: of(&inputs.b), c, implementation };
        made.multiply(case);
        made.verify(case, inputs);
        made.forget();
        made
    }

    /// So that what is timed has to compute all of it.
    fn forget(&mut self) {
        self.c.write_from(&vec![T::of(f32::NAN); self.c.len()]).expect("nobody uses it");
    }

    fn verify(&self, case: &Case, inputs: &Inputs<T>) {
        inputs.verify(case, &self.c.to_vec().expect("it ran"), &format!("{:?}", self.implementation));
    }

    fn name(&self) -> &'static str {
        if self.implementation == Implementation::Kernels { "kernels" } else { "Metal Performance Shaders" }
    }

    fn multiply(&mut self, case: &Case) {
        let of = |transposed: bool, rows: usize, columns: usize| match transposed {
            false => ([rows, columns], [columns, 1]),
            true => ([rows, columns], [1, rows]),
        };
        let (a_shape, a_strides) = of(case.a_transposed, case.m, case.k);
        let (b_shape, b_strides) = of(case.b_transposed, case.k, case.n);
        let a = Tensor::strided(&self.a, &a_shape, &a_strides).expect("it fits");
        let b = Tensor::strided(&self.b, &b_shape, &b_strides).expect("it fits");
        let c = TensorMut::new(&mut self.c, &[case.m, case.n]).expect("it fits");
        let kernel = if self.implementation == Implementation::Kernels { case.kernel } else { None };
        let options = Product { implementation: self.implementation, kernel, ..Product::default() };
        let submission = product_with(a, b, c, &options).and_then(|operation| operation.submit());
        submission.and_then(|submission| submission.wait()).unwrap_or_else(|error| panic!("{error}"));
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// What the processor's multiply-adds reach, in GFLOP/s: the most seen, since the clock rate of a shared host's processors
/// changes from moment to moment.
struct Roofline {
    roofs: Roofs,
    most: f64,
    /// A short run, as CI makes on a busy machine, asks for right outputs only.
    short: bool,
}

impl Roofline {
    fn of(gpu: &Accelerator, short: bool) -> Roofline {
        let mut roof = Roofline { roofs: Roofs::of(gpu), most: 0.0, short };
        roof.measure();
        roof
    }

    fn measure(&mut self) {
        let now = self.roofs.flops().unwrap_or_else(|refusal| panic!("{refusal:?}")) * 1e-9;
        self.most = self.most.max(now);
    }

    /// In percent; measured once more when a rate is beyond it. Panics when a rate is far beyond it then: it cannot be true.
    fn share(&mut self, rate: f64) -> f64 {
        if rate > self.most {
            self.measure();
        }
        assert!(self.short || rate <= self.most * SLACK, "{rate:.1} GFLOP/s are beyond the roofline, {:.1}", self.most);
        100.0 * rate / self.most
    }
}

fn main() {
    let short = is_short();
    let gpu = Accelerator::system_default().unwrap_or_else(|error| panic!("{error}"));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut roof = Roofline::of(&gpu, short);
    let blas = Blas::open(threads);
    let peer = if blas.is_some() { "OpenBLAS" } else { "no OpenBLAS (libopenblas0-pthread)" };
    println!("{}; roofline {:.1} GFLOP/s; peer: {peer}, {threads} threads", gpu.name(), roof.most);
    for (name, case, _) in CASES.iter().filter(|(name, _, is_short)| is_chosen(name) && (*is_short || !short)) {
        compare(&gpu, name, case, blas.as_ref(), &mut roof, short);
    }
    for edge in [1024].into_iter().filter(|_| is_chosen("types")) {
        alone::<f16>(&gpu, edge, &mut roof, short);
        alone::<bf16>(&gpu, edge, &mut roof, short);
    }
}

fn rate(case: &Case, time: Duration) -> f64 {
    2e-9 * (case.m * case.n * case.k) as f64 / time.as_secs_f64()
}

fn compare(gpu: &Accelerator, name: &str, case: &Case, blas: Option<&Blas>, roof: &mut Roofline, short: bool) {
    let inputs = Inputs::<f32>::new(case);
    let mut ours = Ours::new(gpu, case, &inputs, Implementation::Kernels);
    let shaders = beside_shaders(gpu, name, case, &inputs, (&mut ours, roof), short);
    let Some(blas) = blas else {
        return times::<f32>(name, case, &mut ours, roof, short);
    };
    for mut ours in [Some(ours), shaders].into_iter().flatten() {
        beside_blas(blas, name, case, &inputs, (&mut ours, roof), short);
    }
}

/// By turns with OpenBLAS.
fn beside_blas(
    blas: &Blas,
    name: &str,
    case: &Case,
    inputs: &Inputs<f32>,
    (ours, roof): (&mut Ours<f32>, &mut Roofline),
    short: bool,
) {
    let mut theirs = vec![f32::NAN; case.m * case.n];
    blas.multiply(case, &inputs.a, &inputs.b, &mut theirs);
    inputs.verify(case, &theirs, "OpenBLAS");
    theirs.fill(f32::NAN);
    ours.forget();
    let mut best = Duration::MAX;
    let mut peer = || {
        let time = timed(|| blas.multiply(case, &inputs.a, &inputs.b, &mut theirs));
        best = best.min(time);
        Ok::<_, ()>(time)
    };
    let rounds = if short { 3 } else { 41 };
    let ratio = alternated(rounds, || Ok(timed(|| ours.multiply(case))), &mut peer).expect("no side fails");
    ours.verify(case, inputs);
    inputs.verify(case, &theirs, "OpenBLAS");
    let (mine, peers) = (rate(case, ratio.fastest), rate(case, best));
    let Spread { median, p10, p90, .. } = ratio.ratio.inverse();
    println!(
        "{name}: {} {mine:.1} GFLOP/s at best ({:.0} % of the roofline), OpenBLAS {peers:.1}: {:.2} of its rate; by turns \
         {median:.2} ({p10:.2} to {p90:.2})",
        ours.name(),
        roof.share(mine),
        mine / peers
    );
}

fn alone<T: Number>(gpu: &Accelerator, edge: usize, roof: &mut Roofline, short: bool) {
    let case = square(edge);
    let inputs = Inputs::<T>::new(&case);
    let mut ours = Ours::new(gpu, &case, &inputs, Implementation::Kernels);
    let name = format!("{edge}, {}", T::SCALAR);
    times::<T>(&name, &case, &mut ours, roof, short);
    beside_shaders(gpu, &name, &case, &inputs, (&mut ours, roof), short);
}

/// By turns with Metal Performance Shaders, where they have the product; what computes it by them.
fn beside_shaders<T: Number>(
    gpu: &Accelerator,
    name: &str,
    case: &Case,
    inputs: &Inputs<T>,
    (ours, roof): (&mut Ours<T>, &mut Roofline),
    short: bool,
) -> Option<Ours<T>> {
    if T::SCALAR == dcmetal::Scalar::BF16 {
        return None;
    }
    let mut shaders = Ours::new(gpu, case, inputs, Implementation::PerformanceShaders);
    let mut best = Duration::MAX;
    let mut peer = || {
        let time = timed(|| shaders.multiply(case));
        best = best.min(time);
        Ok::<_, ()>(time)
    };
    let rounds = if short { 3 } else { 41 };
    let ratio = alternated(rounds, || Ok(timed(|| ours.multiply(case))), &mut peer).expect("no side fails");
    ours.verify(case, inputs);
    shaders.verify(case, inputs);
    let (mine, peers) = (rate(case, ratio.fastest), rate(case, best));
    let Spread { median, p10, p90, .. } = ratio.ratio.inverse();
    println!(
        "{name}: kernels {mine:.1} GFLOP/s at best, Metal Performance Shaders {peers:.1} ({:.0} % of the roofline): {:.2} of their \
         rate; by turns {median:.2} ({p10:.2} to {p90:.2})",
        roof.share(peers),
        mine / peers
    );
    Some(shaders)
}

fn times<T: Number>(name: &str, case: &Case, ours: &mut Ours<T>, roof: &mut Roofline, short: bool) {
    let times = (0..if short { 3 } else { 41 }).map(|_| timed(|| ours.multiply(case)).as_secs_f64()).collect();
    let Spread { best, median, .. } = Spread::of(times);
    let [best, median] = [best, median].map(|time| rate(case, Duration::from_secs_f64(time)));
    println!("{name}: {best:.1} GFLOP/s at best ({:.0} % of the roofline), median {median:.1}", roof.share(best));
}
