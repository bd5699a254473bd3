//! Encoders: kernels of Metal Performance Shaders.

use std::sync::Arc;

use super::{Command, Encoder, Kind, Misuse};
use crate::graph::{INPUTS, Memory, Node, Operation, Shape};
use crate::memory::Buffer;
use crate::performance::{Matrix, Multiplication, Unary};

type InBuffer<'a> = (&'a Arc<Buffer>, Matrix);

impl Encoder {
    /// A product of matrices: left, right and result.
    pub(crate) fn multiply(&self, what: &Multiplication, matrices: [InBuffer; 3]) -> Result<(), Misuse> {
        let buffers = matrices.map(|(buffer, _)| buffer);
        self.record_kernel(&buffers, || what.product(matrices).map(|product| Command::Product(Box::new(product))))
    }

    /// A function of a matrix's rows: source and result.
    pub(crate) fn unary(&self, what: &Unary, matrices: [InBuffer; 2]) -> Result<(), Misuse> {
        let buffers = matrices.map(|(buffer, _)| buffer);
        self.record_kernel(&buffers, || what.of_rows(matrices).map(|rows| Command::MatrixRows(Box::new(rows))))
    }

    /// An operation of Metal Performance Shaders Graph.
    pub(crate) fn graph_node(
        &self,
        operation: Operation,
        shapes: &[Option<Shape>; INPUTS],
        inputs: [Option<Memory<'_>>; INPUTS],
        result: Memory<'_>,
    ) -> Result<(), Misuse> {
        let buffers: Vec<&Arc<Buffer>> = inputs.iter().flatten().chain([&result]).map(|(buffer, _)| *buffer).collect();
        self.record_kernel(&buffers, || {
            Node::new(operation, shapes, inputs, result).map(|node| Command::GraphNode(Box::new(node)))
        })
    }

    /// The last of the buffers is written.
    fn record_kernel(
        &self,
        buffers: &[&Arc<Buffer>],
        command: impl FnOnce() -> Result<Command, Misuse>,
    ) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        for buffer in buffers {
            self.own([buffer.device()])?;
        }
        let command = command()?;
        for (at, buffer) in buffers.iter().enumerate() {
            state.recording.hold(Arc::clone(buffer));
            state.recording.note(buffer, at == buffers.len() - 1);
        }
        state.recording.commands.push(command);
        Ok(())
    }
}
