//! Activations of each element.

use dcmetal::tensor::{Activation, Implementation, activate, activate_by, activate_in_place};
use half::{bf16, f16};

use crate::common::Random;
use crate::random::{Number, Placed, below, gpu, name, of, run, run_by_shaders};

/// The function of `f64`, and how far `f32`'s may be from it: docs/TENSOR.md.
fn reference(activation: Activation, x: f64) -> (f64, f64) {
    const U: f64 = f32::ROUNDOFF;
    match activation {
        Activation::Relu => (if x < 0.0 { 0.0 } else { x }, 0.0),
        Activation::Sigmoid => {
            let value = if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) };
            (value, 5.0 * U * value + f64::from(f32::MIN_POSITIVE))
        }
        Activation::Tanh => (x.tanh(), 6.0 * U * x.tanh().abs()),
        Activation::Gelu => (x * 0.5 * libm::erfc(-x / 2f64.sqrt()), 8.0 * U * x.abs()),
        Activation::GeluTanh => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            (0.5 * x * (1.0 + inner.tanh()), 8.0 * U * x.abs())
        }
    }
}

fn one<T: Number>(activation: Activation, random: &mut Random, in_place: bool) {
    let gpu = gpu();
    let rank = below(random, 5);
    let shape: Vec<usize> = (0..rank).map(|_| of(random, &[1, 2, 3, 7, 17])).collect();
    let (order, turned): (Vec<usize>, Vec<usize>) = ((0..rank).collect(), (0..rank).rev().collect());
    let order = if below(random, 2) == 0 { &order } else { &turned };
    let gap = below(random, 2) * 3;
    let scale = of(random, &[1.0, 8.0, 90.0]);
    let mut x = Placed::<T>::new(&gpu, random, &shape, order, gap);
    x.rewrite(|value| T::rounded(value.to_f64() * scale));
    let what = format!("{activation:?} of {} {shape:?} {:?}", name::<T>(), x.strides);
    if in_place {
        run(&what, activate_in_place(activation, x.tensor_mut()));
        x.check(&what, |at| reference(activation, x.at(at)));
    } else {
        let mut y = Placed::<T>::new(&gpu, random, &shape, order, gap);
        run(&what, activate(activation, x.tensor(), y.tensor_mut()));
        y.check(&what, |at| reference(activation, x.at(at)));
    }
}

/// Whether it was computed.
fn by_shaders<T: Number>(activation: Activation, random: &mut Random) -> bool {
    let gpu = gpu();
    let rank = below(random, 5);
    let shape: Vec<usize> = (0..rank).map(|_| of(random, &[1, 2, 3, 7, 17])).collect();
    let mut order: Vec<usize> = (0..rank).collect();
    if rank > 1 && below(random, 3) == 0 {
        order.swap(0, rank - 1);
    }
    let gap = below(random, 2) * 3;
    let scale = of(random, &[1.0, 8.0, 90.0]);
    let mut x = Placed::<T>::new(&gpu, random, &shape, &order, gap);
    x.rewrite(|value| T::rounded(value.to_f64() * scale));
    let mut y = Placed::<T>::new(&gpu, random, &shape, &order, gap);
    let what = format!("{activation:?} of {} {shape:?} {:?} by shaders", name::<T>(), x.strides);
    let operation = activate_by(activation, x.tensor(), y.tensor_mut(), Implementation::PerformanceShaders);
    let computed = run_by_shaders(&what, operation, &shape, &x.strides);
    if computed {
        y.check(&what, |at| reference(activation, x.at(at)));
    }
    computed
}

#[test]
fn activations_by_performance_shaders_are_within_their_bounds() {
    let mut random = Random(26);
    let mut computed = 0;
    for activation in Activation::ALL.into_iter().filter(|activation| *activation != Activation::GeluTanh) {
        for _ in 0..8 {
            computed += usize::from(by_shaders::<f32>(activation, &mut random));
            computed += usize::from(by_shaders::<f16>(activation, &mut random));
        }
    }
    assert!(computed >= 40, "{computed} of 64");
    let x = Placed::<f32>::new(&gpu(), &mut random, &[3], &[0], 0);
    let mut y = Placed::<f32>::new(&gpu(), &mut random, &[3], &[0], 0);
    let by = Implementation::PerformanceShaders;
    let error =
        activate_by(Activation::GeluTanh, x.tensor(), y.tensor_mut(), by).expect_err("there is none").to_string();
    assert_eq!(error, "this activation by Metal Performance Shaders is not supported: they have no GeluTanh");
}

#[test]
fn activations_are_within_their_bounds() {
    let mut random = Random(2);
    for activation in Activation::ALL {
        for one in [one::<f32>, one::<f16>, one::<bf16>] {
            for round in 0..6 {
                one(activation, &mut random, round % 3 == 2);
            }
        }
    }
}

#[test]
fn activations_of_what_is_no_usual_number() {
    let gpu = gpu();
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE];
    let wanted: [(Activation, [f32; 8]); 5] = [
        (Activation::Relu, [f32::NAN, f32::INFINITY, 0.0, 0.0, -0.0, f32::MAX, 0.0, f32::MIN_POSITIVE]),
        (Activation::Sigmoid, [f32::NAN, 1.0, 0.0, 0.5, 0.5, 1.0, 0.0, 0.5]),
        (Activation::Tanh, [f32::NAN, 1.0, -1.0, 0.0, -0.0, 1.0, -1.0, f32::MIN_POSITIVE]),
        (Activation::Gelu, [f32::NAN, f32::INFINITY, 0.0, 0.0, -0.0, f32::MAX, 0.0, f32::MIN_POSITIVE / 2.0]),
        (Activation::GeluTanh, [f32::NAN, f32::INFINITY, 0.0, 0.0, -0.0, f32::MAX, 0.0, f32::MIN_POSITIVE / 2.0]),
    ];
    for (activation, wanted) in wanted {
        let mut x = gpu.buffer_from(&special).expect("a buffer");
        let tensor = dcmetal::tensor::TensorMut::new(&mut x, &[8]).expect("it fits");
        run("special numbers", activate_in_place(activation, tensor));
        let got = x.to_vec().expect("it ran");
        for ((got, wanted), from) in got.iter().zip(wanted).zip(special) {
            let same = *got == wanted || (got.is_nan() && wanted.is_nan());
            assert!(same, "{activation:?} of {from}: {got}, not {wanted}");
        }
    }
}
