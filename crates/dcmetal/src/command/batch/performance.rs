//! Kernels of Metal Performance Shaders, in a batch: passes of their own between its encoders.

use std::fmt;
use std::sync::{Arc, Mutex};

use super::{Batch, Recorded, own};
use crate::kernel::Scalar;
use crate::memory::AllocationRef;
use crate::raw::host::DeviceUse;
use crate::raw::performance::{Computed, Place, Rows, Shader};
use crate::{Arg, Error, Result};

/// Passes of one kernel of Metal Performance Shaders.
pub(crate) struct Passes<'a> {
    pub(crate) what: Computed,
    /// Its matrices, which are in buffers. The last is written.
    pub(crate) matrices: Vec<(Arg<'a>, Scalar, Rows)>,
    /// Elements before the first matrix of each, for every pass.
    pub(crate) before: Vec<Vec<usize>>,
}

impl Passes<'_> {
    /// Of the memory that they use.
    pub(crate) fn bytes(&self) -> u64 {
        self.matrices.iter().map(|(arg, ..)| crate::kernel::bytes(std::slice::from_ref(arg))).sum()
    }

    fn used(&self) -> impl Iterator<Item = (&AllocationRef, DeviceUse)> + '_ {
        let last = self.matrices.len() - 1;
        self.matrices.iter().enumerate().map(move |(at, (arg, ..))| {
            let (allocation, ..) = arg.memory().expect("matrices are in buffers");
            (allocation, if at == last { DeviceUse::Write } else { DeviceUse::Read })
        })
    }

    /// The class that computes it; Metal's errors call its passes so.
    fn name(&self) -> &'static str {
        match self.what {
            Computed::Product(_) => "MPSMatrixMultiplication",
            Computed::SoftMax => "MPSMatrixSoftMax",
            Computed::Neuron(_) => "MPSMatrixNeuron",
        }
    }
}

/// Class and size.
impl fmt::Display for Passes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Computed::Product(product) => {
                let [rows, columns, interior] = product.size;
                write!(f, "{} {rows}x{interior} by {interior}x{columns}", self.name())
            }
            _ => write!(f, "{} {}x{}", self.name(), self.matrices[0].2.rows, self.matrices[0].2.columns),
        }
    }
}

impl Batch {
    /// Records passes, behind what the batch has already.
    pub(crate) fn shade(&mut self, passes: &Passes<'_>) -> Result<()> {
        self.record_shaders(passes).map(own)
    }

    pub(in crate::command) fn record_shaders(&mut self, passes: &Passes<'_>) -> Result<Recorded> {
        for (allocation, _) in passes.used() {
            self.check_owner(allocation, "a matrix")?;
        }
        let claimed = self.uses.len();
        if let Some(other) = self.uses.claim(&self.accelerator, passes.used())? {
            return Ok(Recorded::After(other));
        }
        let (kernel, encoded) = match self.encode_passes(passes) {
            Ok(kernel) => (Some(kernel), Ok(())),
            Err((kernel, error)) => (kernel, Err(error)),
        };
        // What was encoded needs it all, whether it was whole or not.
        if let Some(kernel) = kernel {
            self.given.push(Arc::new(Mutex::new(kernel)));
            self.given.extend(passes.used().map(|(allocation, _)| allocation.kept()));
        }
        encoded.inspect_err(|_: &Error| self.uses.take_back(claimed))?;
        self.uses.note(passes.used());
        self.passes += passes.before.len() as u64;
        self.history.note(|| passes.to_string());
        Ok(Recorded::Done)
    }

    /// Each pass is one of Metal's, which orders it behind the batch's encoders and before those that follow, by the memory that both use; graphs, which ask for
    /// more, have none. With a failure comes the kernel, if anything may have been encoded.
    fn encode_passes(&mut self, passes: &Passes<'_>) -> std::result::Result<Shader, (Option<Shader>, Error)> {
        assert!(!self.order.is_ordered(), "graphs have no passes of Metal Performance Shaders");
        self.close_encoder().map_err(|error| (None, error))?;
        let made = Shader::new(self.accelerator.device(), &passes.what);
        let mut kernel = made.map_err(|failure| {
            (None, failure.of_nothing(self.accelerator.device(), "make a kernel of Metal Performance Shaders", None))
        })?;
        for (number, before) in passes.before.iter().enumerate() {
            let places = passes.matrices.iter().zip(before).map(|((arg, scalar, rows), before)| {
                let (allocation, bytes, _) = arg.memory().expect("matrices are in buffers");
                (allocation.memory(), bytes.start + before * scalar.size(), *rows, *scalar)
            });
            let places: Vec<Place<'_>> = places.collect();
            if let Err(failure) = kernel.encode(&mut self.command_buffer, &places) {
                // What came before cannot be taken back.
                let failure = match number {
                    0 => failure,
                    _ => self.broken.get_or_insert((failure, "encode passes")).0.clone(),
                };
                return Err((Some(kernel), failure.during("encode a pass of Metal Performance Shaders")));
            }
            self.encoders.push(passes.name().to_owned());
        }
        Ok(kernel)
    }
}
