//! What Metal Performance Shaders Graph takes: tensors whose elements follow each other, from any element on.

use super::layout::{LIMIT, Layout};
use super::performance::not_there;
use super::{Element, Tensor, TensorMut};
use crate::command::GraphPass;
use crate::raw::graph::{self, Computation, Described, Shape};
use crate::{Accelerator, Arg, Result};

/// The largest extent of a convolution's result: before macOS 15.1 more features end the process.
const CONVOLVED: usize = 65536;

/// A tensor of a graph: its name in the operation, where it is, and what the graph takes it for.
pub(super) struct Operand<'a> {
    name: &'static str,
    layout: Layout,
    shape: Shape,
    arg: Arg<'a>,
}

impl<'a> Operand<'a> {
    fn new<T: Element>(name: &'static str, layout: Layout, arg: Arg<'a>) -> Operand<'a> {
        let shape = Shape { extents: layout.extents().to_vec(), scalar: T::SCALAR };
        Operand { name, layout, shape, arg }
    }

    pub(super) fn read<T: Element>(name: &'static str, tensor: &Tensor<'a, T>) -> Operand<'a> {
        Operand::new::<T>(name, *tensor.layout(), tensor.arg())
    }

    pub(super) fn written<T: Element>(name: &'static str, tensor: TensorMut<'a, T>) -> Operand<'a> {
        Operand::new::<T>(name, *tensor.layout(), tensor.into_arg())
    }

    /// The same elements in row-major order, with these extents for the graph.
    pub(super) fn shaped(mut self, extents: Vec<usize>) -> Operand<'a> {
        self.shape.extents = extents;
        self
    }
}

/// The graph of an operation whose shapes were checked.
pub(super) fn pass<'a>(
    gpu: &Accelerator,
    operation: &'static str,
    computation: Computation,
    inputs: Vec<Operand<'a>>,
    results: Vec<Operand<'a>>,
) -> Result<GraphPass<'a>> {
    if !graph::supports(gpu.device()) {
        let text = "macOS 15 and a device with Metal Performance Shaders are needed".to_owned();
        return Err(not_there(operation, text));
    }
    let layouts: Vec<(&str, &Layout)> = inputs.iter().chain(&results).map(|one| (one.name, &one.layout)).collect();
    if let Some(text) = refusal(computation, &layouts) {
        return Err(not_there(operation, text));
    }
    let apart = |operands: Vec<Operand<'a>>| -> (Vec<Shape>, Vec<Arg<'a>>) {
        operands.into_iter().map(|one| (one.shape, one.arg)).unzip()
    };
    let ((inputs, from), (results, to)) = (apart(inputs), apart(results));
    GraphPass::new(gpu, Described { computation, inputs, results }, from, to)
}

/// Why there is no graph of these; the last is the result.
fn refusal(computation: Computation, tensors: &[(&str, &Layout)]) -> Option<String> {
    for (name, layout) in tensors {
        let shape = layout.shape();
        if !layout.is_contiguous() {
            return Some(format!(
                "{name} is {shape} at strides {:?}: elements are to follow each other",
                layout.strides()
            ));
        }
        if layout.count() > LIMIT {
            return Some(format!("{name} is {shape}: {LIMIT} elements are the most"));
        }
    }
    let (name, result) = tensors.last()?;
    let is_convolution = matches!(computation, Computation::Convolution { .. });
    let large = is_convolution && result.extents().iter().any(|&extent| extent > CONVOLVED);
    large.then(|| format!("{name} is {}: extents of {CONVOLVED} are the most", result.shape()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::graph::Window;

    #[test]
    fn what_a_graph_does_not_take_says_why() {
        let window = Window { extents: [1; 2], stride: [1; 2], padding: [0; 2], dilation: [1; 2] };
        let (convolution, pooling) =
            (Computation::Convolution { window, groups: 1, has_bias: false }, Computation::MaxPooling(window));
        let told = |computation, extents: &[usize]| {
            let (one, last) =
                (Layout::rows(&[1, 1, 1, 1]).expect("a layout"), Layout::rows(extents).expect("a layout"));
            refusal(computation, &[("x", &one), ("y", &last)])
        };
        assert_eq!(told(convolution, &[1, 1, 1, 65536]), None);
        let wide = told(convolution, &[1, 65537, 1, 1]).expect("it is too wide");
        assert_eq!(wide, "y is 1x65537x1x1: extents of 65536 are the most");
        assert_eq!(told(pooling, &[1, 65537, 1, 1]), None);
        let large = told(pooling, &[2, 32768, 32768, 1]).expect("it is too large");
        assert_eq!(large, "y is 2x32768x32768x1: 2147483647 elements are the most");
        let x = Layout::strided(&[1, 2, 2, 3], &[14, 7, 3, 1]).expect("a layout");
        let gap = refusal(pooling, &[("x", &x)]).expect("it has a gap");
        assert_eq!(gap, "x is 1x2x2x3 at strides [14, 7, 3, 1]: elements are to follow each other");
    }
}
