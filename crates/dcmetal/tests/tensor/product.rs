//! Products of matrices.

use dcmetal::tensor::{Product, ProductKernel, Tensor, TensorMut, array_product, product, product_with};
use dcmetal::{Accelerator, Error};
use half::{bf16, f16};
use ndarray::{Array2, s};

use crate::common::Random;
use crate::random::{Number, Placed, below, gamma, gpu, name, number, of, rounds, run};

/// Extents that are 1, primes, a tile's and around it.
const EXTENTS: &[usize] = &[1, 2, 3, 7, 13, 16, 17, 31, 32, 33, 61, 64, 65, 96, 97, 101, 131, 193];

/// A product of random shapes, strides, transposes and factors, by one kernel.
fn one<T: Number, U: Number>(gpu: &Accelerator, random: &mut Random, kernel: Option<ProductKernel>) {
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
    let options = Product { alpha: of(random, &[1.0, -0.75, 3.0]), beta: of(random, &[0.0, 1.0, -0.5]), kernel };
    let what = format!(
        "{} {a_shape:?} {:?} by {b_shape:?} {:?} to {} {c_shape:?} {:?}, {options:?}",
        name::<T>(),
        a.strides,
        b.strides,
        name::<U>(),
        c.strides
    );
    run(&what, product_with(a.tensor(), b.tensor(), c.tensor_mut(), &options));
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
        let before = c.at(at);
        let value = alpha * sum + beta * before;
        (value, gamma(k + 2) * (alpha.abs() * size + (beta * before).abs()))
    });
}

#[test]
fn products_are_within_their_bound() {
    let gpu = gpu();
    let mut random = Random(1);
    for round in 0..rounds(8) {
        for kernel in [None, Some(ProductKernel::Threads96x64)] {
            one::<f32, f32>(&gpu, &mut random, kernel);
        }
        one::<f16, f16>(&gpu, &mut random, Some(ProductKernel::Threads16x64));
        one::<bf16, bf16>(&gpu, &mut random, Some(ProductKernel::Threads16x64));
        if round % 4 == 0 {
            one::<f32, f32>(&gpu, &mut random, Some(ProductKernel::Simdgroups32x32));
            one::<bf16, f32>(&gpu, &mut random, Some(ProductKernel::Simdgroups64x64));
        }
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

#[test]
fn arrays_of_any_order_are_multiplied() {
    let (gpu, mut random) = (gpu(), Random(10));
    let (m, n, k) = (13, 29, 17);
    let mut numbers = |shape: [usize; 2]| {
        let numbers = (0..shape[0] * shape[1]).map(|_| number(&mut random) as f32).collect();
        Array2::from_shape_vec(shape, numbers).expect("as many numbers")
    };
    let (a, b, wide) = (numbers([m, k]), numbers([n, k]), numbers([2 * k, 3 * n]));
    let views = [b.t(), b.slice(s![..;-1, ..]).reversed_axes(), wide.slice(s![..;2, 1..;3])];
    for b in views {
        let got = array_product(&gpu, a.view(), b).unwrap_or_else(|error| panic!("{error}"));
        for ((row, column), got) in got.indexed_iter() {
            let terms = a
                .row(row)
                .into_iter()
                .zip(b.column(column))
                .map(|(a, b)| f64::from(*a) * f64::from(*b))
                .collect::<Vec<_>>();
            let (sum, size) = terms.iter().fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
            assert!((f64::from(*got) - sum).abs() <= gamma(k + 3) * size, "{:?}, ({row}, {column})", b.strides());
        }
    }
    let empty = Array2::<f32>::zeros([0, 3]);
    assert!(matches!(array_product(&gpu, empty.view(), a.view()), Err(Error::EmptyBuffer)));
    let text = "product: A is 13x17, B is 13x17, C is 13x17: A has not as many columns as B has rows";
    assert_eq!(array_product(&gpu, a.view(), a.view()).expect_err("they do not fit").to_string(), text);
}
