//! Products of matrices.

use dcmetal::tensor::{
    Implementation, Product, ProductKernel, Tensor, TensorMut, array_product, product, product_with,
};
use dcmetal::{Accelerator, Error, GpuFamily};
use half::{bf16, f16};
use ndarray::{Array2, ArrayView2, s};

use crate::common::Random;
use crate::random::{Number, Placed, below, gamma, gpu, name, number, of, rounds, run};

/// Extents that are 1, primes, a tile's and around it.
const EXTENTS: &[usize] = &[1, 2, 3, 7, 13, 16, 17, 31, 32, 33, 61, 64, 65, 96, 97, 101, 131, 193];

fn by(kernel: Option<ProductKernel>) -> Product {
    Product { kernel, ..Product::default() }
}

/// Whether Metal Performance Shaders take a matrix: lines of elements beside each other, which do not overlap.
fn is_in_lines(shape: &[usize], strides: &[usize]) -> bool {
    let ([.., rows, columns], [.., row, column]) = (shape, strides) else { unreachable!("a matrix") };
    let along = |count: usize, stride: usize| count == 1 || stride == 1;
    let across = |count: usize, stride: usize, line: usize| count == 1 || stride >= line;
    along(*columns, *column) && across(*rows, *row, *columns) || along(*rows, *row) && across(*columns, *column, *rows)
}

/// A product of random shapes, strides, transposes and factors, by one kernel. Whether it was computed: what Metal Performance Shaders cannot is refused.
fn one<T: Number, U: Number>(gpu: &Accelerator, random: &mut Random, by: Product) -> bool {
    let [m, n, k] = [0; 3].map(|_| of(random, EXTENTS));
    let batches = of(random, &[&[][..], &[3], &[2, 2], &[1, 3]]);
    // A batch axis of A and B may be missing, or of 1.
    let in_front = |random: &mut Random| match below(random, 3) {
        0 => Vec::new(),
        1 => batches.iter().map(|&extent| if below(random, 2) == 0 { 1 } else { extent }).collect(),
        _ => batches.to_vec(),
    };
    let order_of = |shape: &[usize], random: &mut Random| {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if below(random, 2) == 0 {
            order.swap(shape.len() - 1, shape.len() - 2);
        }
        if shape.len() > 2 && below(random, 4) == 0 {
            order.rotate_left(1);
        }
        order
    };
    let a_shape = [in_front(random), vec![m, k]].concat();
    let b_shape = [in_front(random), vec![k, n]].concat();
    let c_shape = [batches.to_vec(), vec![m, n]].concat();
    let orders = [&a_shape, &b_shape, &c_shape].map(|shape| order_of(shape, random));
    let gaps = [0; 3].map(|_| below(random, 3) * 5);
    let a = Placed::<T>::new(gpu, random, &a_shape, &orders[0], gaps[0]);
    let b = Placed::<T>::new(gpu, random, &b_shape, &orders[1], gaps[1]);
    let mut c = Placed::<U>::new(gpu, random, &c_shape, &orders[2], gaps[2]);
    let options = Product { alpha: of(random, &[1.0, -0.75, 3.0]), beta: of(random, &[0.0, 1.0, -0.5]), ..by };
    let what = format!(
        "{} {a_shape:?} {:?} by {b_shape:?} {:?} to {} {c_shape:?} {:?}, {options:?}",
        name::<T>(),
        a.strides,
        b.strides,
        name::<U>(),
        c.strides
    );
    if by.implementation == Implementation::PerformanceShaders {
        let all = [(&a_shape, &a.strides), (&b_shape, &b.strides), (&c_shape, &c.strides)];
        if !all.iter().all(|(shape, strides)| is_in_lines(shape, strides)) {
            let error = product_with(a.tensor(), b.tensor(), c.tensor_mut(), &options).expect_err(&what).to_string();
            assert!(
                error.starts_with("this product by Metal Performance Shaders is not supported: "),
                "{what}: {error}"
            );
            return false;
        }
        if options.beta == 0.0 {
            c.rewrite(|_| U::rounded(f64::NAN));
        }
    }
    let operation = product_with(a.tensor(), b.tensor(), c.tensor_mut(), &options);
    let used = operation.as_ref().map_or(by.implementation, |operation| operation.implementation());
    run(&what, operation);
    if by.implementation != Implementation::Measured {
        assert_eq!(used, by.implementation, "{what}");
    }
    c.check(&what, |at| {
        let (front, last) = at.split_at(at.len() - 2);
        // What is missing in front is not indexed; where there is one, it is the first.
        let batch = |shape: &[usize], row: usize, column: usize| {
            let own = &shape[..shape.len() - 2];
            let front = front[front.len() - own.len()..].iter().zip(own);
            let front: Vec<usize> = front.map(|(&at, &extent)| at.min(extent - 1)).collect();
            [&front[..], &[row, column]].concat()
        };
        let line = a.line(&batch(&a_shape, last[0], 0), a_shape.len() - 1, k);
        let column = b.line(&batch(&b_shape, 0, last[1]), b_shape.len() - 2, k);
        let terms = line.zip(column).map(|(a, b)| a.to_f64() * b.to_f64());
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        let (alpha, beta) = (f64::from(options.alpha), f64::from(options.beta));
        // What is not read may be NaN.
        let before = if beta == 0.0 { 0.0 } else { c.at(at) };
        let value = alpha * sum + beta * before;
        (value, gamma(k + 2) * (alpha.abs() * size + (beta * before).abs()))
    });
    true
}

#[test]
fn products_are_within_their_bound() {
    let (gpu, mut random) = (gpu(), Random(1));
    for one in [one::<f32, f32>, one::<f16, f16>, one::<bf16, bf16>] {
        for _ in 0..rounds(8) {
            one(&gpu, &mut random, by(None));
        }
    }
}

/// A kernel with every type of elements and of results.
fn of_every_type(seed: u64, kernel: ProductKernel) {
    let (gpu, mut random) = (gpu(), Random(seed));
    let all = [
        one::<f32, f32>,
        one::<f32, f16>,
        one::<f32, bf16>,
        one::<f16, f32>,
        one::<f16, f16>,
        one::<f16, bf16>,
        one::<bf16, f32>,
        one::<bf16, f16>,
        one::<bf16, bf16>,
    ];
    for one in all {
        for _ in 0..rounds(4) {
            one(&gpu, &mut random, by(Some(kernel)));
        }
    }
}

#[test]
fn products_by_threads_of_96_rows_are_within_their_bound() {
    of_every_type(33, ProductKernel::Threads96x64);
}

#[test]
fn products_by_threads_of_16_columns_are_within_their_bound() {
    of_every_type(35, ProductKernel::Threads96x16);
}

#[test]
fn products_by_threads_of_16_rows_are_within_their_bound() {
    of_every_type(34, ProductKernel::Threads16x64);
}

#[test]
fn products_by_simdgroups_of_64_rows_are_within_their_bound() {
    of_every_type(31, ProductKernel::Simdgroups64x64);
}

#[test]
fn products_by_simdgroups_of_32_rows_are_within_their_bound() {
    of_every_type(32, ProductKernel::Simdgroups32x32);
}

/// AVX-512.
fn has_wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Two of it for each core, and more rows than half of it has.
#[test]
fn the_larger_tile_is_for_products_that_have_enough_of_it() {
    let gpu = gpu();
    let with_matrices = cfg!(target_os = "macos") && gpu.supports_family(GpuFamily::Apple7);
    let (large, small, [rows, columns]) = if with_matrices {
        (ProductKernel::Simdgroups64x64, ProductKernel::Simdgroups32x32, [64, 64])
    } else if cfg!(target_os = "macos") || has_wide_vectors() {
        (ProductKernel::Threads96x64, ProductKernel::Threads16x64, [96, 64])
    } else {
        (ProductKernel::Threads96x16, ProductKernel::Threads16x64, [96, 16])
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let few = 2 * if cfg!(target_os = "macos") { 40 } else { cores };
    let half = rows / 2;
    // Batches, rows, columns, whether C lies by columns, and the kernel.
    let cases = [
        (1, rows, columns * few, false, large),
        (1, rows, columns * few - columns + 1, false, large),
        (1, rows, columns * (few - 1), false, small),
        (1, rows + 1, columns * few / 2, false, large),
        (1, rows, columns * few / 2, false, small),
        (few / 2, rows, 2 * columns, false, large),
        (few - 1, rows, columns, false, small),
        (1, half, 2 * columns * few, false, small),
        (1, half + 1, 2 * columns * few, false, large),
        (few, half, columns, false, small),
        // Of a C by columns its transpose is computed.
        (1, columns * few, rows, true, large),
        (1, columns * (few - 1), rows, true, small),
        (1, 2 * columns * few, half, true, small),
        (1, 2 * columns * few, half, false, large),
    ];
    let elements = cases.iter().map(|(batches, m, n, ..)| batches * m * n).max().expect("cases");
    let x = gpu.buffer_zeroed::<f32>(elements).expect("a buffer");
    let mut y = gpu.buffer_zeroed::<f32>(elements).expect("a buffer");
    for (batches, m, n, by_columns, wanted) in cases {
        let what = format!("{batches} of {m} x {n}, by columns: {by_columns}");
        let (a, b) = (Tensor::strided(&x, &[m, 1], &[1, 1]), Tensor::strided(&x, &[1, n], &[1, 1]));
        let (a, b) = (a.expect("within"), b.expect("within"));
        let mut launched = |kernel| {
            let strides = if by_columns { [m * n, 1, m] } else { [m * n, n, 1] };
            let c = TensorMut::strided(&mut y, &[batches, m, n], &strides).expect("within");
            let options = Product { implementation: Implementation::Kernels, ..by(kernel) };
            format!("{:?}", product_with(a, b, c, &options).unwrap_or_else(|error| panic!("{what}: {error}")))
        };
        let got = launched(None);
        // A kernel is known by its function and its grid.
        for kernel in ProductKernel::ALL {
            assert_eq!(got == launched(Some(kernel)), kernel == wanted, "{what}: {got} of {kernel:?}");
        }
    }
}

#[test]
fn products_by_performance_shaders_are_within_their_bound() {
    let (gpu, mut random) = (gpu(), Random(21));
    let shaders = Product { implementation: Implementation::PerformanceShaders, ..Product::default() };
    let mut computed = 0;
    let count = rounds(24);
    for _ in 0..count {
        computed += usize::from(one::<f32, f32>(&gpu, &mut random, shaders));
        computed += usize::from(one::<f16, f16>(&gpu, &mut random, shaders));
        computed += usize::from(one::<f16, f32>(&gpu, &mut random, shaders));
    }
    assert!(2 * computed > 3 * count, "{computed} of {} were computed", 3 * count);
}

/// Parts of the result that several workers compute, and more terms than are converted at a time.
#[test]
fn large_products_by_performance_shaders_are_whole() {
    /// `order`: of the axes of A, behind each other.
    fn large<T: Number, U: Number>(beta: f32, order: [usize; 2]) {
        let (gpu, mut random) = (gpu(), Random(22));
        let (m, n, k) = (611, 1030, 1300);
        let a = Placed::<T>::new(&gpu, &mut random, &[m, k], &order, 3);
        let b = Placed::<T>::new(&gpu, &mut random, &[k, n], &[1, 0], 0);
        let mut c = Placed::<U>::new(&gpu, &mut random, &[m, n], &[0, 1], 1);
        let implementation = Implementation::PerformanceShaders;
        let options = Product { implementation, beta, ..Product::default() };
        run("a large product", product_with(a.tensor(), b.tensor(), c.tensor_mut(), &options));
        let now = c.buffer.to_vec().expect("it ran");
        for _ in 0..500 {
            let at = [below(&mut random, m), below(&mut random, n)];
            let (mut sum, mut size) = (f64::from(beta) * c.at(&at), (f64::from(beta) * c.at(&at)).abs());
            for p in 0..k {
                let term = a.at(&[at[0], p]) * b.at(&[p, at[1]]);
                (sum, size) = (sum + term, size + term.abs());
            }
            let bound = gamma(k + 2) * size;
            let bound = bound + U::ROUNDOFF * (sum.abs() + bound) + U::SMALLEST / 2.0;
            let got = now[c.place(&at)].to_f64();
            assert!((got - sum).abs() <= bound, "{} at {at:?}: {got}, not {sum}", name::<T>());
        }
    }
    large::<f32, f32>(0.0, [0, 1]);
    large::<f32, f32>(0.0, [1, 0]);
    large::<f32, f32>(0.5, [0, 1]);
    large::<f32, f32>(0.5, [1, 0]);
    large::<f16, f16>(-1.0, [0, 1]);
    large::<f16, f16>(-1.0, [1, 0]);
    large::<f16, f32>(0.0, [0, 1]);
    large::<f16, f32>(0.0, [1, 0]);
}

#[test]
fn what_performance_shaders_cannot_multiply_is_told() {
    let gpu = gpu();
    fn told<T: Number, U: Number>(gpu: &Accelerator, strides: [usize; 2], kernel: Option<ProductKernel>) -> String {
        let (a, mut c) = (gpu.buffer_zeroed::<T>(64).expect("a buffer"), gpu.buffer_zeroed::<U>(64).expect("a buffer"));
        let a = Tensor::strided(&a, &[2, 2], &strides).expect("within");
        let to = TensorMut::new(c.view_mut(..4).expect("within"), &[2, 2]).expect("it fits");
        let options = Product { implementation: Implementation::PerformanceShaders, kernel, ..Product::default() };
        product_with(a, a, to, &options).expect_err("it is refused").to_string()
    }
    let of = |why: &str| format!("this product by Metal Performance Shaders is not supported: {why}");
    for (error, why) in [
        (told::<bf16, bf16>(&gpu, [2, 1], None), "MPSMatrixMultiplication has no products of bfloat to bfloat"),
        (told::<bf16, f32>(&gpu, [2, 1], None), "MPSMatrixMultiplication has no products of bfloat to float"),
        (told::<f32, f16>(&gpu, [2, 1], None), "MPSMatrixMultiplication has no products of float to half"),
        (
            told::<f32, f32>(&gpu, [5, 3], None),
            "A is 2x2 at strides 5 and 3: one of the two has to be 1, and the other reach over a line",
        ),
        (told::<f32, f32>(&gpu, [2, 1], Some(ProductKernel::Threads96x64)), "the kernel Threads96x64 is asked for too"),
    ] {
        assert_eq!(error, of(why));
    }
}

/// Passes of Metal Performance Shaders are ordered among launches, copies and each other, in batches and in streams.
#[test]
fn products_by_performance_shaders_see_what_came_before() {
    let gpu = gpu();
    let side = 70;
    let numbers: Vec<f32> = (0..side * side).map(|i| (i % 13) as f32 - 6.0).collect();
    let doubled: Vec<f32> = (0..side * side).map(|i| if i % (side + 1) == 0 { 2.0 } else { 0.0 }).collect();
    let wanted: Vec<f32> = numbers.iter().map(|number| 64.0 * number.max(0.0)).collect();
    let options = Product { implementation: Implementation::PerformanceShaders, ..Product::default() };
    for streamed in [false, true] {
        let x = gpu.buffer_from(&numbers).expect("a buffer");
        let two = gpu.buffer_from(&doubled).expect("a buffer");
        let [mut y, mut z] = [0; 2].map(|_| gpu.buffer_zeroed::<f32>(side * side).expect("a buffer"));
        let (mut batch, stream) = (gpu.batch().expect("a batch"), gpu.stream(dcmetal::StreamLimits::default()));
        let mut give = |operation: dcmetal::Result<dcmetal::tensor::Operation<'_>>| {
            let operation = operation.expect("it fits");
            if streamed { operation.stream(&stream) } else { operation.record(&mut batch) }.expect("it is recorded");
        };
        let shape = &[side, side];
        let relu = dcmetal::tensor::Activation::Relu;
        let (from, to) = (Tensor::new(&x, shape).expect("it fits"), TensorMut::new(&mut y, shape).expect("it fits"));
        give(dcmetal::tensor::activate(relu, from, to));
        for _ in 0..3 {
            let by = Tensor::new(&two, shape).expect("it fits");
            let from = Tensor::new(&y, shape).expect("it fits");
            give(product_with(from, by, TensorMut::new(&mut z, shape).expect("it fits"), &options));
            let from = Tensor::new(&z, shape).expect("it fits");
            give(product_with(by, from, TensorMut::new(&mut y, shape).expect("it fits"), &options));
        }
        // What is in flight is waited for by who reads it.
        if !streamed {
            drop(batch.submit().expect("it is submitted"));
        }
        assert_eq!(y.to_vec().expect("it ran"), wanted, "in a stream: {streamed}");
    }
}

#[test]
fn what_c_held_is_not_read_without_beta() {
    let gpu = gpu();
    let a = gpu.buffer_from(&[1.0f32, 2.0]).expect("a buffer");
    let mut c = gpu.buffer_from(&[f32::NAN]).expect("a buffer");
    let tensor = |shape: &[usize]| Tensor::new(&a, shape).expect("two elements");
    let to = TensorMut::new(&mut c, &[1, 1]).expect("an element");
    let done = product(tensor(&[1, 2]), tensor(&[2, 1]), to).and_then(|operation| operation.submit()?.wait());
    done.expect("it fits");
    assert_eq!(c.to_vec().expect("it ran"), [5.0]);
}

/// The extents of A, B and C, and what is wrong with them.
type Case = (&'static [usize], &'static [usize], &'static [usize], &'static str);

#[test]
fn what_cannot_be_multiplied_is_told_with_its_shapes() {
    let gpu = gpu();
    let (x, mut y) = (gpu.buffer_zeroed::<f32>(24).expect("a buffer"), gpu.buffer_zeroed::<f32>(24).expect("a buffer"));
    let cases: &[Case] = &[
        (&[4, 6], &[4, 6], &[4, 6], "A is 4x6, B is 4x6, C is 4x6: A has not as many columns as B has rows"),
        (&[4, 6], &[6, 4], &[4, 6], "A is 4x6, B is 6x4, C is 4x6: C has not the rows of A and the columns of B"),
        (&[24], &[24, 1], &[1, 24], "A is 24, B is 24x1, C is 1x24: a matrix has two axes"),
        (
            &[2, 3, 4],
            &[2, 4, 3],
            &[8, 3],
            "A is 2x3x4, B is 2x4x3, C is 8x3: C has not the rows of A and the columns of B",
        ),
        (&[4, 3, 2], &[4, 2, 3], &[3, 3], "A is 4x3x2, B is 4x2x3, C is 3x3: A or B has more batches than C"),
        (
            &[4, 3, 2],
            &[4, 2, 3],
            &[2, 3, 3],
            "A is 4x3x2, B is 4x2x3, C is 2x3x3: the batches of A or B are not those of C",
        ),
    ];
    for &(a, b, c, wanted) in cases {
        let elements = |shape: &[usize]| shape.iter().product::<usize>();
        let of = |shape: &[usize]| Tensor::new(x.view(..elements(shape)).expect("within"), shape).expect("it fits");
        let to = TensorMut::new(y.view_mut(..elements(c)).expect("within"), c).expect("it fits");
        let error = product(of(a), of(b), to).expect_err(wanted);
        assert_eq!(error.to_string(), format!("product: {wanted}"));
    }
    let other = Accelerator::system_default().expect("a Metal device");
    let z = other.buffer_zeroed::<f32>(1).expect("a buffer");
    let one = Tensor::new(x.view(..1).expect("within"), &[1, 1]).expect("it fits");
    let to = TensorMut::new(y.view_mut(..1).expect("within"), &[1, 1]).expect("it fits");
    let foreign = product(one, Tensor::new(&z, &[1, 1]).expect("it fits"), to);
    assert!(matches!(foreign, Err(Error::Foreign { what }) if what == "product: B"));
}

/// The product of two views as arrays, within its bound.
fn arrays<T: Number>(gpu: &Accelerator, a: ArrayView2<'_, T>, b: ArrayView2<'_, T>) {
    let (m, k, n) = (a.nrows(), a.ncols(), b.ncols());
    let what = format!("{} {m} x {k} {:?} by {k} x {n} {:?}", name::<T>(), a.strides(), b.strides());
    let got = array_product(gpu, a, b).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(got.dim(), (m, n), "{what}");
    for ((row, column), got) in got.indexed_iter() {
        let terms = a.row(row).into_iter().zip(b.column(column)).map(|(a, b)| a.to_f64() * b.to_f64());
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        let bound = gamma(k + 2) * size;
        let bound = bound + T::ROUNDOFF * (sum.abs() + bound) + T::SMALLEST / 2.0;
        let got = got.to_f64();
        assert!((got - sum).abs() <= bound, "{what}, ({row}, {column}): {got}, not {sum}");
    }
}

/// Views of that shape: as it lies, by columns, with gaps, backwards along one axis or both, and of one row for all.
fn views<T: Number>(random: &mut Random, shape: [usize; 2], each: impl Fn(ArrayView2<'_, T>)) {
    let [rows, columns] = shape;
    let mut numbers = |shape: [usize; 2]| Array2::from_shape_simple_fn(shape, || T::rounded(number(random)));
    let (plain, turned) = (numbers(shape), numbers([columns, rows]));
    let (wide, wide_turned) = (numbers([2 * rows, 3 * columns + 1]), numbers([2 * columns, 3 * rows]));
    for view in [
        plain.view(),
        turned.t(),
        plain.slice(s![..;-1, ..]),
        plain.slice(s![.., ..;-1]),
        turned.slice(s![..;-1, ..]).reversed_axes(),
        turned.slice(s![..;-1, ..;-1]).reversed_axes(),
        wide.slice(s![..;2, 1..;3]),
        wide.slice(s![1..;-2, 2..;3]),
        wide.slice(s![..rows, ..columns]),
        wide_turned.slice(s![1..;2, ..;-3]).reversed_axes(),
        plain.slice(s![..1, ..]).broadcast(shape).expect("a row for all"),
    ] {
        assert_eq!(view.dim(), (rows, columns));
        each(view);
    }
}

#[test]
fn arrays_of_any_order_are_multiplied() {
    fn of<T: Number>(gpu: &Accelerator, random: &mut Random) {
        // Within a tile, one element, and over the larger tiles.
        for [m, k, n] in [[13, 17, 29], [1, 1, 1], [1, 5, 1], [2, 1, 3], [101, 19, 67], [3, 97, 5]] {
            let a = Array2::from_shape_simple_fn([m, k], || T::rounded(number(random)));
            let b = Array2::from_shape_simple_fn([k, n], || T::rounded(number(random)));
            views(random, [m, k], |a| arrays(gpu, a, b.view()));
            views(random, [k, n], |b| arrays(gpu, a.view(), b));
        }
    }
    let (gpu, mut random) = (gpu(), Random(10));
    of::<f32>(&gpu, &mut random);
    of::<f16>(&gpu, &mut random);
    of::<bf16>(&gpu, &mut random);
    let (a, empty) = (Array2::<f32>::zeros([13, 17]), Array2::<f32>::zeros([0, 3]));
    assert!(matches!(array_product(&gpu, empty.view(), a.view()), Err(Error::EmptyBuffer)));
    let text = "product: A is 13x17, B is 13x17, C is 13x17: A has not as many columns as B has rows";
    assert_eq!(array_product(&gpu, a.view(), a.view()).expect_err("they do not fit").to_string(), text);
}
