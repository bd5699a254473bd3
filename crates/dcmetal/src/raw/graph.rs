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

// SAFETY: DCMetal.h: a graph "belongs to one thread at a time": it may move.
unsafe impl Send for DCMetalGraph {}

pub(crate) type Executable = DCMetalGraph;

/// What is computed: `DCMetalGraphOperation` says of which tensors, in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Computation {
    Convolution { groups: usize, has_bias: bool },
    MaxPooling,
    AveragePooling { counts_padding: bool },
    Normalization(Scaling),
    LayerNormalization(Scaling),
    Statistics,
    Sum,
    Mean,
    Maximum,
    Minimum,
}

/// Of a normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scaling {
    /// Bits of a number that is added to variances.
    pub(crate) epsilon: u32,
    pub(crate) has_scale: bool,
    pub(crate) has_shift: bool,
}

/// Of a convolution or a pooling: rows, then columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Sliding {
    pub(crate) window: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) padding: [usize; 2],
    pub(crate) dilation: [usize; 2],
}

/// The extents of one to four axes, and what the numbers are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shaped {
    pub(crate) extents: Vec<usize>,
    pub(crate) scalar: Scalar,
}

/// An operation with its tensors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Described {
    pub(crate) computation: Computation,
    pub(crate) inputs: Vec<Shaped>,
    pub(crate) results: Vec<Shaped>,
    pub(crate) sliding: Sliding,
    /// Bit n: axis n; of layer normalisation, statistics and reductions.
    pub(crate) axes: u32,
}

/// A tensor's memory, and bytes before its first element.
pub(crate) type Place<'a> = (&'a Memory, usize);

/// Whether the device has graphs.
pub(crate) fn supports(device: &Device) -> bool {
    // SAFETY: a live handle.
    unsafe { sys::DCMetalDevice_SupportsGraphs(device.0) }
}

impl Computation {
    /// For people.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Computation::Convolution { .. } => "convolution",
            Computation::MaxPooling => "max pooling",
            Computation::AveragePooling { .. } => "average pooling",
            Computation::Normalization(_) => "normalisation",
            Computation::LayerNormalization(_) => "layer normalisation",
            Computation::Statistics => "mean and variance",
            Computation::Sum => "sum",
            Computation::Mean => "mean",
            Computation::Maximum => "maximum",
            Computation::Minimum => "minimum",
        }
    }

    fn operation(&self) -> sys::DCMetalGraphOperation {
        match self {
            Computation::Convolution { .. } => sys::DC_METAL_GRAPH_CONVOLUTION,
            Computation::MaxPooling => sys::DC_METAL_GRAPH_MAX_POOLING,
            Computation::AveragePooling { .. } => sys::DC_METAL_GRAPH_AVERAGE_POOLING,
            Computation::Normalization(_) => sys::DC_METAL_GRAPH_NORMALIZATION,
            Computation::LayerNormalization(_) => sys::DC_METAL_GRAPH_LAYER_NORMALIZATION,
            Computation::Statistics => sys::DC_METAL_GRAPH_STATISTICS,
            Computation::Sum => sys::DC_METAL_GRAPH_SUM,
            Computation::Mean => sys::DC_METAL_GRAPH_MEAN,
            Computation::Maximum => sys::DC_METAL_GRAPH_MAXIMUM,
            Computation::Minimum => sys::DC_METAL_GRAPH_MINIMUM,
        }
    }
}

impl Shaped {
    fn shape(&self) -> sys::DCMetalShape {
        let number = match self.scalar {
            Scalar::F16 => sys::DC_METAL_NUMBER_FLOAT16,
            Scalar::BF16 => sys::DC_METAL_NUMBER_BFLOAT16,
            _ => sys::DC_METAL_NUMBER_FLOAT32,
        };
        let mut shape = sys::DCMetalShape { rank: self.extents.len() as u32, extents: [0; 4], number };
        for (to, extent) in shape.extents.iter_mut().zip(&self.extents) {
            *to = *extent as u64;
        }
        shape
    }
}

impl Described {
    fn descriptor(&self) -> sys::DCMetalGraphDescriptor {
        let pair = |pair: [usize; 2]| pair.map(|number| number as u64);
        let mut descriptor = sys::DCMetalGraphDescriptor {
            operation: self.computation.operation(),
            input_count: self.inputs.len() as u32,
            result_count: self.results.len() as u32,
            window: pair(self.sliding.window),
            stride: pair(self.sliding.stride),
            dilation: pair(self.sliding.dilation),
            padding: pair(self.sliding.padding),
            axes: self.axes,
            ..Default::default()
        };
        for (to, of) in descriptor.inputs.iter_mut().zip(&self.inputs) {
            *to = of.shape();
        }
        for (to, of) in descriptor.results.iter_mut().zip(&self.results) {
            *to = of.shape();
        }
        match self.computation {
            Computation::Convolution { groups, has_bias } => {
                (descriptor.groups, descriptor.has_bias) = (groups as u64, has_bias);
            }
            Computation::AveragePooling { counts_padding } => descriptor.counts_padding = counts_padding,
            Computation::Normalization(scaling) | Computation::LayerNormalization(scaling) => {
                descriptor.epsilon = f32::from_bits(scaling.epsilon);
                (descriptor.has_scale, descriptor.has_shift) = (scaling.has_scale, scaling.has_shift);
            }
            _ => {}
        }
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
        let counts = (what.inputs.len(), what.results.len());
        assert_eq!((inputs.len(), results.len()), counts, "a graph's tensors are those that it was made for");
        let tensor =
            |(memory, offset): Place<'_>| sys::DCMetalTensor { buffer: memory.buffer().0, offset: offset as u64 };
        let [inputs, results] =
            [inputs, results].map(|places| places.iter().copied().map(tensor).collect::<Vec<sys::DCMetalTensor>>());
        let mut error = ptr::null_mut();
        // SAFETY: live handles; as many tensors as the descriptor says; they and the out-parameter are valid for the call.
        let status = unsafe {
            sys::DCMetalGraph_Encode(self.0, command_buffer.0, inputs.as_ptr(), results.as_ptr(), &mut error)
        };
        check(status, error)
    }
}
