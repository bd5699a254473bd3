//! Encoders: kernels of Metal Performance Shaders.

use std::sync::Arc;

use super::{Command, Encoder, Kind, Misuse};
use crate::memory::Buffer;
use crate::performance::{Matrix, Multiplication, Unary};

type InBuffer<'a> = (&'a Arc<Buffer>, Matrix);

impl Encoder {
    /// A product of matrices: left, right and result.
    pub(crate) fn multiply(&self, what: &Multiplication, matrices: [InBuffer; 3]) -> Result<(), Misuse> {
        self.record_kernel(matrices, || what.product(matrices).map(|product| Command::Product(Box::new(product))))
    }

    /// A function of a matrix's rows: source and result.
    pub(crate) fn unary(&self, what: &Unary, matrices: [InBuffer; 2]) -> Result<(), Misuse> {
        self.record_kernel(matrices, || what.of_rows(matrices).map(|rows| Command::MatrixRows(Box::new(rows))))
    }

    /// The last of the matrices is written.
    fn record_kernel<const N: usize>(
        &self,
        matrices: [InBuffer; N],
        command: impl FnOnce() -> Result<Command, Misuse>,
    ) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        self.own(matrices.map(|(buffer, _)| buffer.device()))?;
        let command = command()?;
        for (at, (buffer, _)) in matrices.into_iter().enumerate() {
            state.recording.hold(buffer.clone());
            state.recording.note(buffer, at == N - 1);
        }
        state.recording.commands.push(command);
        Ok(())
    }
}
