//! What Metal Performance Shaders Graph takes: tensors whose elements follow each other, from any element on.

use super::layout::{LIMIT, Layout};
use super::performance::not_there;
use crate::command::GraphPass;
use crate::raw::graph::{self, Computation, Described};
use crate::{Accelerator, Arg, Result};

/// The largest extent of a convolution's result: before macOS 15.1 more features end the process.
const CONVOLVED: usize = 65536;

/// The graph of an operation whose shapes were checked, with its tensors by their names there; the last is the result.
pub(super) fn pass<'a>(
    gpu: &Accelerator,
    operation: &'static str,
    what: Described,
    tensors: Vec<(&'static str, Layout, Arg<'a>)>,
) -> Result<GraphPass<'a>> {
    if !graph::supports(gpu.device()) {
        let text = "macOS 15 and a device with Metal Performance Shaders are needed".to_owned();
        return Err(not_there(operation, text));
    }
    let layouts: Vec<(&str, &Layout)> = tensors.iter().map(|(name, layout, _)| (*name, layout)).collect();
    if let Some(text) = refusal(what.computation, &layouts) {
        return Err(not_there(operation, text));
    }
    let mut args: Vec<Arg<'a>> = tensors.into_iter().map(|(.., arg)| arg).collect();
    let result = args.pop().expect("the last is the result");
    GraphPass::new(gpu, what, args, result)
}

/// Why there is no graph of these.
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

    #[test]
    fn what_a_graph_does_not_take_says_why() {
        let convolution = Computation::Convolution { groups: 1, has_bias: false };
        let told = |computation, extents: &[usize]| {
            let (one, last) =
                (Layout::rows(&[1, 1, 1, 1]).expect("a layout"), Layout::rows(extents).expect("a layout"));
            refusal(computation, &[("x", &one), ("y", &last)])
        };
        assert_eq!(told(convolution, &[1, 1, 1, 65536]), None);
        let wide = told(convolution, &[1, 65537, 1, 1]).expect("it is too wide");
        assert_eq!(wide, "y is 1x65537x1x1: extents of 65536 are the most");
        assert_eq!(told(Computation::MaxPooling, &[1, 65537, 1, 1]), None);
        let large = told(Computation::MaxPooling, &[2, 32768, 32768, 1]).expect("it is too large");
        assert_eq!(large, "y is 2x32768x32768x1: 2147483647 elements are the most");
        let x = Layout::strided(&[1, 2, 2, 3], &[14, 7, 3, 1]).expect("a layout");
        let gap = refusal(Computation::MaxPooling, &[("x", &x)]).expect("it has a gap");
        assert_eq!(gap, "x is 1x2x2x3 at strides [14, 7, 3, 1]: elements are to follow each other");
    }
}
