//! Curves (MSL 6.18.6) against their textbook matrices of coefficients, derived by term.

use hostmetal::msl::MathMode;

use crate::number::{FLOAT, HALVES, Scalar};
use crate::stdlib::Random;
use crate::stdlib::catalog::{parts, types_of};
use crate::uses::{Use, execute};

/// A curve: its name and, for each control point, the coefficients of 1, t, t^2, t^3 of the point's weight, times `scale`.
type Curve = (&'static str, f64, &'static [[f64; 4]]);

const CURVES: &[Curve] = &[
    ("bezier", 1.0, &[[1., -2., 1., 0.], [0., 2., -2., 0.], [0., 0., 1., 0.]]),
    ("bezier", 1.0, &[[1., -3., 3., -1.], [0., 3., -6., 3.], [0., 0., 3., -3.], [0., 0., 0., 1.]]),
    ("bspline", 0.5, &[[1., -2., 1., 0.], [1., 2., -2., 0.], [0., 0., 1., 0.]]),
    ("bspline", 1.0 / 6.0, &[[1., -3., 3., -1.], [4., 0., -6., 3.], [1., 3., 3., -3.], [0., 0., 0., 1.]]),
    ("hermite", 1.0, &[[1., 0., -3., 2.], [0., 0., 3., -2.], [0., 1., -2., 1.], [0., 0., -1., 1.]]),
    ("catmull_rom", 0.5, &[[0., -1., 2., -1.], [2., 0., -5., 3.], [0., 1., 4., -3.], [0., 0., -1., 1.]]),
];
const ORDERS: [&str; 3] = ["", "_derivative", "_second_derivative"];
/// Exact in half.
const PLACES: [f64; 4] = [0.0, 0.25, 0.8125, 1.0];

/// The `order`th derivative of a weight at t.
fn weight(coefficients: &[f64; 4], order: usize, t: f64) -> f64 {
    let term = |power: usize| {
        let factor: f64 = (0..order).map(|k| (power - k) as f64).product();
        coefficients[power] * factor * t.powi((power - order) as i32)
    };
    (order..4).map(term).sum()
}

/// The uses of a type, with the weights of the control points.
pub(crate) fn uses(t: Scalar) -> Vec<(Use, Vec<f64>)> {
    let mut all = Vec::new();
    for operand in types_of("F").iter().filter(|o| parts(o).0 == t.name) {
        for (name, scale, points) in CURVES {
            for (order, suffix) in ORDERS.iter().enumerate() {
                for place in PLACES {
                    let list = ["a", "b", "c", "d"][..points.len()].join(", ");
                    let call = format!("{name}{suffix}($S({place}), {list})");
                    let weights = points.iter().map(|w| scale * weight(w, order, place)).collect();
                    all.push((Use::new(&call, operand, "$T"), weights));
                }
            }
        }
    }
    all
}

#[test]
fn points_and_derivatives_of_curves() {
    for t in [FLOAT, HALVES] {
        let mut random = Random(8);
        let mut column = || (0..240).map(|_| t.nearest(random.between(-8.0, 8.0).into())).collect();
        let columns: Vec<Vec<u64>> = (0..4).map(|_| column()).collect();
        let uses = uses(t);
        let all: Vec<Use> = uses.iter().map(|u| u.0.clone()).collect();
        for ((one, weights), got) in uses.iter().zip(execute(&all, t, &columns, MathMode::Fast)) {
            for (i, got) in got.into_iter().enumerate() {
                let terms: Vec<f64> = weights.iter().zip(&columns).map(|(w, c)| w * t.float(c[i])).collect();
                let (exact, got) = (terms.iter().sum::<f64>(), t.float(got));
                // The weights and the sum are of floats; a half is rounded once.
                let size = weights.iter().map(|w| w.abs() * 8.0).sum::<f64>() + 8.0;
                let allowed = size * 2f64.powi(-20) + if t == HALVES { exact.abs() * 2f64.powi(-11) } else { 0.0 };
                assert!((got - exact).abs() <= allowed, "{}: {}: {got}, not {exact}", one.operand, one.call);
            }
        }
    }
}
