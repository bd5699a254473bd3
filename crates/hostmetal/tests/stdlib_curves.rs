//! Curves (MSL specification 6.18.6) against their textbook matrices of coefficients, derived by term, in f64.

mod stdlib;
mod support;

use hostmetal::msl::MathMode;
use stdlib::*;
use support::Buffer;

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

/// The `order`th derivative of a weight at t.
fn weight(coefficients: &[f64; 4], order: usize, t: f64) -> f64 {
    (order..4)
        .map(|power| {
            let factor: f64 = (0..order).map(|k| (power - k) as f64).product();
            coefficients[power] * factor * t.powi((power - order) as i32)
        })
        .sum()
}

#[test]
fn points_and_derivatives_of_curves() {
    let points = [[0.5, -3.0], [2.0, 1.25], [-1.5, 4.0], [3.0, 0.75]];
    let ts = [0.0, 0.25, 0.5, 0.8125, 1.0];
    let orders = ["", "_derivative", "_second_derivative"];
    let mut body = String::new();
    for (c, (name, _, weights)) in CURVES.iter().enumerate() {
        for (o, order) in orders.iter().enumerate() {
            let at = (c * 3 + o) * 3;
            for (form, scalar, vector) in [(0, "float", "p"), (1, "half", "h"), (2, "float", "x")] {
                let list: Vec<String> = (0..weights.len()).map(|k| format!("{vector}[{k}]")).collect();
                body += &format!(
                    "  out[i * {all} + {}] = float2({name}{order}({scalar}(t[i]), {}));\n",
                    at + form,
                    list.join(", "),
                    all = CURVES.len() * 9
                );
            }
        }
    }
    let source = format!(
        "kernel void run(device const float *t [[buffer(0)]], device const float2 *p [[buffer(1)]], device float2 *out [[buffer(2)]],\n\
         uint i [[thread_position_in_grid]]) {{\n  half2 h[4]; float x[4]; for (int k = 0; k < 4; k++) {{ h[k] = half2(p[k]); x[k] = p[k].x; }}\n{body}}}\n"
    );
    let flat: Vec<f32> = points.iter().flatten().map(|&x| x as f32).collect();
    let out = Buffer::new((ts.len() * CURVES.len() * 9 * 8) as u64);
    let inputs = Buffer::of(&ts.map(|t| t as f32));
    run(&compile(&source, MathMode::Safe), &[&inputs, &Buffer::of(&flat), &out], ts.len(), 1);
    let out = out.read::<[f32; 2]>();
    for (i, &t) in ts.iter().enumerate() {
        for (c, (name, scale, weights)) in CURVES.iter().enumerate() {
            for (o, order) in orders.iter().enumerate() {
                let sum = |axis: usize| -> f64 {
                    weights.iter().enumerate().map(|(k, w)| scale * weight(w, o, t) * points[k][axis]).sum()
                };
                let at = (i * CURVES.len() * 9) + (c * 3 + o) * 3;
                for (form, expected, allowed) in [
                    ("float2", [sum(0), sum(1)], 1e-5),
                    ("half2", [sum(0), sum(1)], 1e-2),
                    ("float", [sum(0), sum(0)], 1e-5),
                ] {
                    let got = out[at + ["float2", "half2", "float"].iter().position(|f| *f == form).expect("a form")];
                    for axis in 0..2 {
                        let off = (f64::from(got[axis]) - expected[axis]).abs();
                        assert!(
                            off <= allowed * expected[axis].abs().max(1.0),
                            "{name}{order} of {} points, {form}, at {t}: {got:?}, not {expected:?}",
                            weights.len()
                        );
                    }
                }
            }
        }
    }
}
