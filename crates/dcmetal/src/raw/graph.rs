//! Compiled graphs of Metal Performance Shaders Graph: one operation of tensors each.

use std::ptr;

use super::command::CommandBuffer;
use super::host::Memory;
use super::{Device, Failure, check, handle};
use crate::kernel::Scalar;
use crate::sys;

handle!(
    /// `MPSGraphExecutable`.
    DCMetalGraph,
    DCMetalGraph_Release
);

// SAFETY: DCMetalPerformance.h: a graph "belongs to one thread at a time": it may move.
unsafe impl Send for DCMetalGraph {}

pub(crate) type Executable = DCMetalGraph;

/// How a window goes over images: rows first, columns second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Window {
    pub(crate) extents: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) padding: [usize; 2],
    pub(crate) dilation: [usize; 2],
}

/// What is behind a normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scaled {
    pub(crate) has_scale: bool,
    pub(crate) has_shift: bool,
    /// The bits of what is added to the variance: floats have no equality that a key could use.
    pub(crate) epsilon: u32,
}

/// One number of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reduced {
    Sum,
    Mean,
    Maximum,
    Minimum,
}

/// What is computed of x and what stands behind it, in this order; of `axes` bit n is axis n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Computation {
    /// Of images N x H x W x C, of weights rows x columns x C / groups x D and a bias 1 x 1 x 1 x D.
    Convolution { window: Window, groups: usize, has_bias: bool },
    /// Of images.
    MaxPooling(Window),
    /// Of images.
    AveragePooling { window: Window, counts_padding: bool },
    /// By a mean, a variance, a scale and a shift, each of x's extents or of 1.
    Normalization(Scaled),
    /// By x's mean and variance over the axes, a scale and a shift.
    LayerNormalization { axes: u32, scaled: Scaled },
    /// Mean and variance over the axes.
    Statistics { axes: u32 },
    /// Over the axes, which have the extent 1 in the result.
    Reduction { reduced: Reduced, axes: u32 },
}

/// The extents of a tensor, of one to four axes, and its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) extents: Vec<usize>,
    pub(crate) scalar: Scalar,
}

/// An operation with the shapes of its tensors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Described {
    pub(crate) computation: Computation,
    pub(crate) inputs: Vec<Shape>,
    pub(crate) results: Vec<Shape>,
}

/// A tensor's memory, and bytes before its first element.
pub(crate) type Place<'a> = (&'a Memory, usize);

/// Whether the device has graphs.
pub(crate) fn supports(device: &Device) -> bool {
    // SAFETY: a live handle.
    unsafe { sys::DCMetalDevice_SupportsGraphs(device.0) }
}

impl Shape {
    fn described(&self) -> sys::DCMetalShape {
        let number = match self.scalar {
            Scalar::F16 => sys::DC_METAL_NUMBER_FLOAT16,
            Scalar::BF16 => sys::DC_METAL_NUMBER_BFLOAT16,
            _ => sys::DC_METAL_NUMBER_FLOAT32,
        };
        let mut shape = sys::DCMetalShape { rank: self.extents.len() as u32, number, ..Default::default() };
        for (to, &extent) in shape.extents.iter_mut().zip(&self.extents) {
            *to = extent as u64;
        }
        shape
    }
}

impl Window {
    fn describe(self, descriptor: &mut sys::DCMetalGraphDescriptor) {
        let pair = |pair: [usize; 2]| pair.map(|number| number as u64);
        descriptor.window = pair(self.extents);
        descriptor.stride = pair(self.stride);
        descriptor.padding = pair(self.padding);
        descriptor.dilation = pair(self.dilation);
    }
}

impl Scaled {
    fn describe(self, descriptor: &mut sys::DCMetalGraphDescriptor) {
        (descriptor.has_scale, descriptor.has_shift) = (self.has_scale, self.has_shift);
        descriptor.epsilon = f32::from_bits(self.epsilon);
    }
}

impl Computation {
    /// The axes that are gone through.
    pub(crate) fn axes(&self) -> Option<u32> {
        match *self {
            Computation::LayerNormalization { axes, .. }
            | Computation::Statistics { axes }
            | Computation::Reduction { axes, .. } => Some(axes),
            _ => None,
        }
    }

    fn describe(&self, descriptor: &mut sys::DCMetalGraphDescriptor) {
        descriptor.axes = self.axes().unwrap_or_default();
        descriptor.operation = match *self {
            Computation::Convolution { window, groups, has_bias } => {
                window.describe(descriptor);
                (descriptor.groups, descriptor.has_bias) = (groups as u64, has_bias);
                sys::DC_METAL_GRAPH_CONVOLUTION
            }
            Computation::MaxPooling(window) => {
                window.describe(descriptor);
                sys::DC_METAL_GRAPH_MAX_POOLING
            }
            Computation::AveragePooling { window, counts_padding } => {
                window.describe(descriptor);
                descriptor.counts_padding = counts_padding;
                sys::DC_METAL_GRAPH_AVERAGE_POOLING
            }
            Computation::Normalization(scaled) => {
                scaled.describe(descriptor);
                sys::DC_METAL_GRAPH_NORMALIZATION
            }
            Computation::LayerNormalization { scaled, .. } => {
                scaled.describe(descriptor);
                sys::DC_METAL_GRAPH_LAYER_NORMALIZATION
            }
            Computation::Statistics { .. } => sys::DC_METAL_GRAPH_STATISTICS,
            Computation::Reduction { reduced, .. } => match reduced {
                Reduced::Sum => sys::DC_METAL_GRAPH_SUM,
                Reduced::Mean => sys::DC_METAL_GRAPH_MEAN,
                Reduced::Maximum => sys::DC_METAL_GRAPH_MAXIMUM,
                Reduced::Minimum => sys::DC_METAL_GRAPH_MINIMUM,
            },
        };
    }
}

impl Described {
    fn descriptor(&self) -> sys::DCMetalGraphDescriptor {
        let mut descriptor = sys::DCMetalGraphDescriptor {
            input_count: self.inputs.len() as u32,
            result_count: self.results.len() as u32,
            ..Default::default()
        };
        for (to, shape) in descriptor.inputs.iter_mut().zip(&self.inputs) {
            *to = shape.described();
        }
        for (to, shape) in descriptor.results.iter_mut().zip(&self.results) {
            *to = shape.described();
        }
        self.computation.describe(&mut descriptor);
        descriptor
    }
}

impl DCMetalGraph {
    /// Compiles it.
    pub(crate) fn new(device: &Device, what: &Described) -> Result<Executable, Failure> {
        let descriptor = what.descriptor();
        let (mut graph, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the descriptor and the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalGraph_Create(device.0, &descriptor, &mut graph, &mut error) };
        check(status, error)?;
        Ok(DCMetalGraph(graph))
    }

    /// No encoder is open. After a failure the command buffer is good for nothing but to be dropped.
    ///
    /// # Panics
    /// Where these are not as many tensors as it was made for.
    pub(crate) fn encode(
        &mut self,
        what: &Described,
        command_buffer: &mut CommandBuffer,
        inputs: &[Place<'_>],
        results: &[Place<'_>],
    ) -> Result<(), Failure> {
        let (given, wanted) = ([inputs.len(), results.len()], [what.inputs.len(), what.results.len()]);
        assert_eq!(given, wanted, "a graph's tensors are those that it was made for");
        let tensor =
            |&(memory, offset): &Place<'_>| sys::DCMetalTensor { buffer: memory.buffer().0, offset: offset as u64 };
        let inputs: Vec<sys::DCMetalTensor> = inputs.iter().map(tensor).collect();
        let results: Vec<sys::DCMetalTensor> = results.iter().map(tensor).collect();
        let mut error = ptr::null_mut();
        // SAFETY: live handles; as many tensors as the descriptor says; they and the out-parameter are valid for the call.
        let status = unsafe {
            sys::DCMetalGraph_Encode(self.0, command_buffer.0, inputs.as_ptr(), results.as_ptr(), &mut error)
        };
        check(status, error)
    }
}
