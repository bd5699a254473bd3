//! A graph of Metal Performance Shaders Graph, as a submission of its own: its command buffer retains what it uses.

use std::fmt;
use std::sync::Arc;

use super::{Batch, Given, Order, Uses};
use crate::memory::AllocationRef;
use crate::raw::Failure;
use crate::raw::command::{CommandBuffer, References};
use crate::raw::graph::{Computation, Described, Executable, Reduced};
use crate::raw::host::{DeviceUse, lock};
use crate::sync::Mutex;
use crate::{Accelerator, Arg, Error, Result, Submission};

/// A compiled graph; one at a time encodes it.
pub(crate) type SharedExecutable = Arc<Mutex<Executable>>;

/// A graph and its tensors, which are in buffers.
pub(crate) struct GraphPass<'a> {
    what: Described,
    executable: SharedExecutable,
    inputs: Vec<Arg<'a>>,
    results: Vec<Arg<'a>>,
}

impl<'a> GraphPass<'a> {
    /// Compiles it, unless the accelerator has it.
    pub(crate) fn new(
        gpu: &Accelerator,
        what: Described,
        inputs: Vec<Arg<'a>>,
        results: Vec<Arg<'a>>,
    ) -> Result<GraphPass<'a>> {
        let executable = gpu.executables().get(
            crate::memo::hash(&what),
            |known: &Described| *known == what,
            || what.clone(),
            || {
                let made = Executable::new(gpu.device(), &what);
                made.map(|made| Arc::new(Mutex::new(made)))
                    .map_err(|failure| failure.during("compile a graph of Metal Performance Shaders"))
            },
        )?;
        Ok(GraphPass { what, executable, inputs, results })
    }

    fn used(&self) -> impl Iterator<Item = (&AllocationRef, DeviceUse)> + '_ {
        let with = |how: DeviceUse| move |arg: &'_ Arg<'a>| (arg.memory().expect("tensors are in buffers").0, how);
        self.inputs.iter().map(with(DeviceUse::Read)).chain(self.results.iter().map(with(DeviceUse::Write)))
    }

    fn encode(&self, command_buffer: &mut CommandBuffer) -> std::result::Result<(), Failure> {
        let place = |arg: &Arg<'a>| {
            let (allocation, bytes, _) = arg.memory().expect("tensors are in buffers");
            (allocation.memory(), bytes.start)
        };
        let inputs: Vec<_> = self.inputs.iter().map(place).collect();
        let results: Vec<_> = self.results.iter().map(place).collect();
        lock(&self.executable).encode(&self.what, command_buffer, &inputs, &results)
    }
}

/// What it computes, and of what.
impl fmt::Display for GraphPass<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.what.computation {
            Computation::Convolution { .. } => "convolution",
            Computation::MaxPooling(_) => "max pooling",
            Computation::AveragePooling { .. } => "average pooling",
            Computation::Normalization(_) => "normalization",
            Computation::LayerNormalization { .. } => "layer normalization",
            Computation::Statistics { .. } => "statistics",
            Computation::Reduction { reduced, .. } => match reduced {
                Reduced::Sum => "sum",
                Reduced::Mean => "mean",
                Reduced::Maximum => "maximum",
                Reduced::Minimum => "minimum",
            },
        };
        let joined = |numbers: &mut dyn Iterator<Item = usize>, between: &str| {
            numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(between)
        };
        let extents = &self.what.inputs[0].extents;
        write!(f, "MPSGraph {name} {}", joined(&mut extents.iter().copied(), "x"))?;
        match self.what.computation.axes() {
            Some(axes) => {
                write!(f, " over {}", joined(&mut (0..extents.len()).filter(|axis| axes >> axis & 1 == 1), ", "))
            }
            None => Ok(()),
        }
    }
}

impl Batch {
    /// Submits a graph alone.
    ///
    /// # Errors
    /// As [`Batch::submit`], and where Metal cannot encode it. Nothing has run then.
    pub(crate) fn submit_graph(accelerator: &Accelerator, pass: &GraphPass<'_>) -> Result<Submission> {
        // Nothing says that Metal may be given a command buffer that retains nothing, as those of other batches.
        let mut batch = Batch::with(accelerator, Uses::of_batch(), Order::none(), References::Retained)?;
        for (allocation, _) in pass.used() {
            batch.check_owner(allocation, "a tensor")?;
        }
        batch.uses.note(pass.used());
        batch.given.push(Arc::clone(&pass.executable) as Given);
        batch.given.extend(pass.used().map(|(allocation, _)| allocation.kept()));
        batch.passes += 1;
        batch.encoders.push("MPSGraphExecutable".to_owned());
        batch.history.note(|| pass.to_string());
        pass.encode(&mut batch.command_buffer)
            .map_err(|failure| failure.during("encode a graph of Metal Performance Shaders"))?;
        batch.submit()
    }
}

/// Refusal of a batch or a stream.
pub(crate) fn alone(operation: &str) -> Error {
    Error::Unsupported {
        what: format!("this {operation} by Metal Performance Shaders in a batch or a stream"),
        text: "a graph's command buffer retains what it uses: submit it alone".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Scalar;
    use crate::raw::graph::{Shape, Window};

    fn pooling(extent: usize) -> Described {
        let shape = Shape { extents: vec![1, extent, 1, 1], scalar: Scalar::F32 };
        let window = Window { extents: [1; 2], stride: [1; 2], padding: [0; 2], dilation: [1; 2] };
        let computation = Computation::MaxPooling(window);
        Described { computation, inputs: vec![shape.clone()], results: vec![shape] }
    }

    #[test]
    fn a_graph_is_compiled_once() {
        let gpu = Accelerator::system_default().expect("a Metal device");
        let (x, mut y) =
            (gpu.buffer_from(&[3.0f32; 8]).expect("a buffer"), gpu.buffer_zeroed::<f32>(8).expect("a buffer"));
        for extent in [8, 4, 8, 8, 4] {
            let pass =
                GraphPass::new(&gpu, pooling(extent), vec![Arg::from(&x)], vec![Arg::from(&mut y)]).expect("a graph");
            assert_eq!(pass.to_string(), format!("MPSGraph max pooling 1x{extent}x1x1"));
            Batch::submit_graph(&gpu, &pass).and_then(|submission| submission.wait()).expect("it runs");
        }
        let stats = gpu.executables().stats();
        assert_eq!((stats.misses, stats.hits, stats.kept), (2, 3, 2));
        assert_eq!(y.to_vec().expect("it ran"), [3.0; 8]);
    }
}
