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

/// What is computed of images N x H x W x C and, for a convolution, of weights rows x columns x C / groups x D and a bias 1 x 1 x 1 x D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Computation {
    Convolution { groups: usize, has_bias: bool },
    MaxPooling,
    AveragePooling { counts_padding: bool },
}

/// An operation with the extents of its tensors, all of numbers of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Described {
    pub(crate) computation: Computation,
    pub(crate) scalar: Scalar,
    pub(crate) inputs: Vec<[usize; 4]>,
    pub(crate) result: [usize; 4],
    /// Rows, then columns.
    pub(crate) window: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) padding: [usize; 2],
    pub(crate) dilation: [usize; 2],
}

/// A tensor's memory, and bytes before its first element.
pub(crate) type Place<'a> = (&'a Memory, usize);

/// Whether the device has graphs.
pub(crate) fn supports(device: &Device) -> bool {
    // SAFETY: a live handle.
    unsafe { sys::DCMetalDevice_SupportsGraphs(device.0) }
}

impl Described {
    fn descriptor(&self) -> sys::DCMetalGraphDescriptor {
        let number = match self.scalar {
            Scalar::F16 => sys::DC_METAL_NUMBER_FLOAT16,
            Scalar::BF16 => sys::DC_METAL_NUMBER_BFLOAT16,
            _ => sys::DC_METAL_NUMBER_FLOAT32,
        };
        let shape =
            |extents: [usize; 4]| sys::DCMetalShape { rank: 4, extents: extents.map(|extent| extent as u64), number };
        let pair = |pair: [usize; 2]| pair.map(|number| number as u64);
        let mut descriptor = sys::DCMetalGraphDescriptor {
            input_count: self.inputs.len() as u32,
            result_count: 1,
            window: pair(self.window),
            stride: pair(self.stride),
            dilation: pair(self.dilation),
            padding: pair(self.padding),
            ..Default::default()
        };
        for (to, extents) in descriptor.inputs.iter_mut().zip(&self.inputs) {
            *to = shape(*extents);
        }
        descriptor.results[0] = shape(self.result);
        match self.computation {
            Computation::Convolution { groups, has_bias } => {
                descriptor.operation = sys::DC_METAL_GRAPH_CONVOLUTION;
                (descriptor.groups, descriptor.has_bias) = (groups as u64, has_bias);
            }
            Computation::MaxPooling => descriptor.operation = sys::DC_METAL_GRAPH_MAX_POOLING,
            Computation::AveragePooling { counts_padding } => {
                descriptor.operation = sys::DC_METAL_GRAPH_AVERAGE_POOLING;
                descriptor.counts_padding = counts_padding;
            }
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
        result: Place<'_>,
    ) -> Result<(), Failure> {
        assert_eq!(inputs.len(), what.inputs.len(), "a graph's tensors are those that it was made for");
        let tensor =
            |(memory, offset): Place<'_>| sys::DCMetalTensor { buffer: memory.buffer().0, offset: offset as u64 };
        let inputs: Vec<sys::DCMetalTensor> = inputs.iter().copied().map(tensor).collect();
        let (result, mut error) = (tensor(result), ptr::null_mut());
        // SAFETY: live handles; as many tensors as the descriptor says; they and the out-parameter are valid for the call.
        let status =
            unsafe { sys::DCMetalGraph_Encode(self.0, command_buffer.0, inputs.as_ptr(), &result, &mut error) };
        check(status, error)
    }
}
