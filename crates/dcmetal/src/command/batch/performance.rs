//! Products by Metal Performance Shaders, in a batch: passes of their own between its encoders.

use std::sync::{Arc, Mutex};

use super::{Batch, Given, Recorded, own};
use crate::kernel::Scalar;
use crate::raw::host::DeviceUse;
use crate::raw::performance::{Multiplication, Multiplied, Rows};
use crate::{Arg, Error, Result};

/// What Metal's errors call such a pass.
const LABEL: &str = "MPSMatrixMultiplication";

/// Products of matrices, of one kernel of Metal Performance Shaders.
#[derive(Debug)]
pub(crate) struct Products<'a> {
    pub(crate) what: Multiplied,
    /// Left, right and result, which are buffers.
    pub(crate) args: [Arg<'a>; 3],
    pub(crate) scalars: [Scalar; 3],
    pub(crate) rows: [Rows; 3],
    /// Elements before the first matrix of each, for every pass.
    pub(crate) passes: Vec<[usize; 3]>,
}

impl Products<'_> {
    /// Of the memory that they use.
    pub(crate) fn bytes(&self) -> u64 {
        crate::kernel::bytes(&self.args)
    }
}

impl Batch {
    /// Records products, behind what the batch has already.
    pub(crate) fn multiply(&mut self, products: &Products<'_>) -> Result<()> {
        self.record_products(products).map(own)
    }

    pub(in crate::command) fn record_products(&mut self, products: &Products<'_>) -> Result<Recorded> {
        let buffers = products.args.each_ref().map(|arg| arg.memory().expect("matrices are in buffers"));
        for (allocation, ..) in &buffers {
            self.check_owner(allocation, "a matrix")?;
        }
        let [left, right, result] = [0, 1, 2].map(|at| buffers[at].0);
        let used = [(left, DeviceUse::Read), (right, DeviceUse::Read), (result, DeviceUse::Write)];
        let claimed = self.uses.len();
        if let Some(other) = self.uses.claim(&self.accelerator, used.into_iter())? {
            return Ok(Recorded::After(other));
        }
        let (kernel, encoded) = match self.encode_products(products) {
            Ok(kernel) => (Some(kernel), Ok(())),
            Err((kernel, error)) => (kernel, Err(error)),
        };
        // What was encoded needs it all, whether it was whole or not.
        if let Some(kernel) = kernel {
            self.given.push(Arc::new(Mutex::new(kernel)));
            self.given.extend(used.map(|(allocation, _)| Arc::clone(allocation) as Given));
        }
        encoded.inspect_err(|_: &Error| self.uses.take_back(claimed))?;
        self.uses.note(used.into_iter());
        self.passes += products.passes.len() as u64;
        let [rows, columns, interior] = products.what.size;
        self.history.note(|| format!("{LABEL} {rows}x{interior} by {interior}x{columns}"));
        Ok(Recorded::Done)
    }

    /// Each pass is one of Metal's, which orders it behind the batch's encoders and before those that follow, by the memory that both use; graphs, which ask for
    /// more, have none. With a failure comes the kernel, if anything may have been encoded.
    fn encode_products(
        &mut self,
        products: &Products<'_>,
    ) -> std::result::Result<Multiplication, (Option<Multiplication>, Error)> {
        assert!(!self.order.is_ordered(), "graphs have no products by Metal Performance Shaders");
        self.end_encoder().map_err(|(failure, call)| (None, failure.during(call)))?;
        let made = Multiplication::new(self.accelerator.device(), &products.what);
        let mut kernel = made.map_err(|failure| (None, failure.during("make a product's kernel")))?;
        let buffers = products.args.each_ref().map(|arg| arg.memory().expect("matrices are in buffers"));
        for (number, before) in products.passes.iter().enumerate() {
            let matrices = [0, 1, 2].map(|at| {
                let (allocation, bytes, _) = &buffers[at];
                let offset = bytes.start + before[at] * products.scalars[at].size();
                (allocation.memory(), offset, products.rows[at], products.scalars[at])
            });
            if let Err(failure) = kernel.encode(&mut self.command_buffer, matrices) {
                let failure = if number == 0 {
                    failure
                } else {
                    // Some of the products are there and cannot be taken back.
                    self.broken.get_or_insert((failure, "encode products")).0.clone()
                };
                return Err((Some(kernel), failure.during("encode products")));
            }
            self.encoders.push(LABEL.to_owned());
        }
        Ok(kernel)
    }
}
