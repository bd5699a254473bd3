//! The bodies of geometric functions on vectors of `double` (OpenCL C 3.0 §6.15.5), from functions by lane and sums of
//! lanes.
//!
//! `length` and `normalize` scale by a power of two first, which is exact, so nothing overflows or vanishes on the way.

use super::wide::{Form, Leaf, Shape, Wide};
use crate::types::{Scalar, msl_name};

const ONE: (Scalar, u8) = (Scalar::Double, 1);

impl Wide {
    /// The body, if it is such a function.
    pub(super) fn geometric(&mut self, head: &str, form: &Form) -> Option<String> {
        let Some(&Shape::Value(Scalar::Double, lanes)) = form.args.first() else { return None };
        let vector = (Scalar::Double, lanes);
        Some(match head {
            "clmsl_dot" => {
                let product = self.infix("*", vector, "a", "b");
                format!("return {};", self.function("clmsl_sum", &[(vector, &product)], ONE))
            }
            "clmsl_cross" => self.cross(lanes),
            "clmsl_distance" => {
                let difference = self.infix("-", vector, "a", "b");
                format!("return {};", self.function("clmsl_length", &[(vector, &difference)], ONE))
            }
            "clmsl_length" => {
                let (scaled, root) = self.scaled(vector);
                let length = self.function("clmsl_scaled_back", &[(ONE, &root), (ONE, "largest")], ONE);
                format!("{scaled}\n  return {length};")
            }
            "clmsl_normalize" => {
                let (scaled, root) = self.scaled(vector);
                let unit = self.function("clmsl_unit", &[(vector, "scaled"), (ONE, &root)], vector);
                format!("{scaled}\n  return {unit};")
            }
            _ => return None,
        })
    }

    /// Declares `largest`, the size of the largest component of `a`, and `scaled`, of which it gives the length.
    fn scaled(&mut self, vector: (Scalar, u8)) -> (String, String) {
        let largest = self.function("clmsl_largest", &[(vector, "a")], ONE);
        let scaled = self.function("clmsl_scaled", &[(vector, "a"), (ONE, "largest")], vector);
        let square = self.infix("*", vector, "scaled", "scaled");
        let sum = self.function("clmsl_sum", &[(vector, &square)], ONE);
        let root = self.function("clmsl_sqrt", &[(ONE, &sum)], ONE);
        let (one, ty) = (msl_name(ONE.0, ONE.1), msl_name(vector.0, vector.1));
        (format!("const {one} largest = {largest};\n  const {ty} scaled = {scaled};"), root)
    }

    fn infix(&mut self, op: &'static str, vector: (Scalar, u8), a: &str, b: &str) -> String {
        let args = vec![Shape::Value(vector.0, vector.1); 2];
        self.call(Form { leaf: Leaf::Infix(op), args, ret: Some(vector) }, &[a.to_owned(), b.to_owned()])
    }

    fn function(&mut self, head: &str, args: &[((Scalar, u8), &str)], ret: (Scalar, u8)) -> String {
        let shapes = args.iter().map(|((s, n), _)| Shape::Value(*s, *n)).collect();
        let texts: Vec<String> = args.iter().map(|(_, text)| (*text).to_owned()).collect();
        self.call(Form { leaf: Leaf::Call(head.to_owned()), args: shapes, ret: Some(ret) }, &texts)
    }

    /// Of vectors of four, the last component of the result is 0.
    fn cross(&mut self, lanes: u8) -> String {
        let third = if lanes == 3 { "hi" } else { "hi.lo" };
        let mut component = |p: &str, q: &str| {
            let first = self.infix("*", ONE, &format!("a.{p}"), &format!("b.{q}"));
            let second = self.infix("*", ONE, &format!("a.{q}"), &format!("b.{p}"));
            self.infix("-", ONE, &first, &second)
        };
        let low = format!("{}, {}", component("lo.hi", third), component(third, "lo.lo"));
        let high = component("lo.lo", "lo.hi");
        let high = if lanes == 3 { high } else { format!("{{{high}, clmsl_double{{0ul}}}}") };
        format!("return {}{{{{{low}}}, {high}}};", msl_name(Scalar::Double, lanes))
    }
}
