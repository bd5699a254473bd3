//! [`Batch`]: launches, copies and fills recorded into one Metal command buffer.
//!
//! Consecutive launches share a compute encoder, consecutive copies and fills a blit encoder; both run in the order of
//! recording and each command sees what the earlier ones wrote (the compute encoders are serial, and Metal tracks
//! hazards between encoders). A batch borrows nothing: it keeps the buffers and kernels it uses, and whether somebody
//! on the host uses a buffer is decided when it is submitted.

use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::sync::Arc;

use bytemuck::Pod;

use super::submission::Held;
use super::{Inflight, Submission};
use crate::grid::Extent;
use crate::kernel::{self, Kernel};
use crate::memory::{Allocation, BLIT_UNIT};
use crate::print::PrintBuffer;
use crate::raw::command::{BlitEncoder, CommandBuffer, ComputeEncoder};
use crate::raw::host::{DeviceUse, lock};
use crate::{Accelerator, Arg, Buffer, Error, Grid, Result, View, ViewMut};

/// Launches, copies and fills that are handed to the device together.
///
/// A command that is refused records nothing, and the batch goes on. Dropping a batch forgets it.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let source = "kernel void add(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]],
///                               uint i [[thread_position_in_grid]]) { y[i] += x[i]; }";
/// let add = gpu.compile_msl(source)?.kernel("add")?;
/// let x = gpu.buffer_from(&[1u32, 2, 3])?;
/// let (mut y, mut z) = (gpu.buffer_zeroed::<u32>(3)?, gpu.buffer_zeroed::<u32>(3)?);
/// let mut batch = gpu.batch()?;
/// for _ in 0..10 {
///     batch.launch(&add, Grid::linear(3), args![&x, &mut y])?;
/// }
/// batch.copy(&y, &mut z)?;
/// batch.submit()?.wait()?;
/// assert_eq!(z.to_vec()?, [10, 20, 30]);
/// # Ok(()) }
/// ```
pub struct Batch {
    accelerator: Accelerator,
    // Before the command buffer: an encoder that is still open ends before its command buffer goes.
    encoder: Encoder,
    command_buffer: CommandBuffer,
    buffers: Uses,
    kernels: Vec<Kernel>,
    /// Labels of the encoders that have ended.
    encoders: Vec<String>,
    /// A buffer for each library whose kernels print.
    prints: Vec<PrintBuffer>,
    slot: OpenSlot,
}

/// The encoder that is open.
enum Encoder {
    None,
    Compute(Compute),
    Blit(BlitEncoder),
}

struct Compute {
    encoder: ComputeEncoder,
    /// The kernel whose pipeline is set.
    current: Option<Kernel>,
    /// The kernels launched, each once.
    names: Vec<String>,
    /// Bits of the threadgroup memory indices that have a length.
    threadgroup_slots: u64,
}

/// One of the accelerator's open batches.
struct OpenSlot(Accelerator);

impl Drop for OpenSlot {
    fn drop(&mut self) {
        self.0.close_batch();
    }
}

/// The buffers of a batch, each once.
#[derive(Default)]
struct Uses {
    list: Vec<(Arc<Allocation>, DeviceUse)>,
    /// Where an allocation is in the list, by its address.
    index: HashMap<usize, usize>,
}

impl Uses {
    fn add(&mut self, allocation: &Arc<Allocation>, kind: DeviceUse) {
        let address = Arc::as_ptr(allocation).addr();
        let at = *self.index.entry(address).or_insert(self.list.len());
        match self.list.get_mut(at) {
            Some((_, known)) if kind == DeviceUse::Write => *known = kind,
            Some(_) => {}
            None => self.list.push((Arc::clone(allocation), kind)),
        }
    }
}

impl Batch {
    pub(crate) fn new(accelerator: &Accelerator) -> Result<Batch> {
        accelerator.open_batch()?;
        let slot = OpenSlot(accelerator.clone());
        let command_buffer =
            CommandBuffer::new(accelerator.queue()).map_err(|failure| failure.during("make a command buffer"))?;
        Ok(Batch {
            accelerator: accelerator.clone(),
            encoder: Encoder::None,
            command_buffer,
            buffers: Uses::default(),
            kernels: Vec::new(),
            encoders: Vec::new(),
            prints: Vec::new(),
            slot,
        })
    }

    /// Records a launch. Everything that can be checked is checked now; see [`Kernel::launch`].
    ///
    /// # Errors
    /// As [`Kernel::launch`], except for the state of the buffers, which counts when the batch is submitted.
    pub fn launch<'a>(&mut self, kernel: &Kernel, grid: Grid, args: impl AsRef<[Arg<'a>]>) -> Result<()> {
        let args = args.as_ref();
        if !kernel.accelerator().is(&self.accelerator) {
            return Err(Error::Foreign { what: format!("kernel `{}`", kernel.name()) });
        }
        let dispatch = kernel::check(kernel, &grid, args)?;
        let slots = kernel::threadgroup_slots(kernel);
        let prints = self.print_buffer(kernel)?;
        let compute = self.compute(slots)?;
        let encoded = (|| {
            if !compute.current.as_ref().is_some_and(|current| current.is(kernel)) {
                compute.encoder.set_pipeline(kernel.raw())?;
                compute.current = Some(kernel.clone());
            }
            compute.threadgroup_slots |= slots;
            kernel::bind(&mut compute.encoder, kernel, args, dispatch.dimensions, prints.as_deref())?;
            match dispatch.extent {
                Extent::Threads(threads) => compute.encoder.dispatch_threads(threads, dispatch.threadgroup),
                Extent::Threadgroups(count) => compute.encoder.dispatch_threadgroups(count, dispatch.threadgroup),
            }
        })();
        encoded.map_err(|failure| failure.during("encode a launch"))?;
        if !compute.names.iter().any(|name| name == kernel.name()) {
            compute.names.push(kernel.name().to_owned());
        }
        if !self.kernels.iter().any(|known| known.is(kernel)) {
            self.kernels.push(kernel.clone());
        }
        for (allocation, writes) in kernel::buffers(args) {
            self.buffers.add(allocation, if writes { DeviceUse::Write } else { DeviceUse::Read });
        }
        if let Some(prints) = prints {
            self.buffers.add(&prints, DeviceUse::Write);
        }
        Ok(())
    }

    /// The buffer that a kernel prints to, if it prints.
    fn print_buffer(&mut self, kernel: &Kernel) -> Result<Option<Arc<Allocation>>> {
        let Some(printing) = kernel::printing(kernel) else { return Ok(None) };
        let known = self.prints.iter().find(|prints| prints.is_for(printing));
        if let Some(prints) = known {
            return Ok(Some(Arc::clone(prints.allocation())));
        }
        let prints = PrintBuffer::new(&self.accelerator, printing)?;
        let allocation = Arc::clone(prints.allocation());
        self.prints.push(prints);
        Ok(Some(allocation))
    }

    /// Records a copy of as many elements, on the device. Copies of nothing are no commands.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`]; [`Error::Foreign`]; [`Error::Alignment`] when a view begins at a byte that is no
    /// multiple of 4, or the destination ends at one before the end of its buffer.
    pub fn copy<'a, 'b, T: Pod>(&mut self, from: impl Into<View<'a, T>>, to: impl Into<ViewMut<'b, T>>) -> Result<()> {
        let (from, to) = (from.into(), to.into());
        if from.len() != to.len() {
            return Err(Error::LengthMismatch { what: "a copy", wanted: to.len(), got: from.len() });
        }
        let bytes = to.len() * size_of::<T>();
        self.copy_range((from.allocation, from.offset), (to.allocation, to.offset), bytes)
    }

    /// Copies bytes of whatever elements into a buffer of bytes.
    pub(crate) fn copy_bytes(
        &mut self,
        from: &Arc<Allocation>,
        offset: usize,
        to: &mut Buffer<u8>,
        bytes: usize,
    ) -> Result<()> {
        self.copy_range((from, offset), (to.allocation(), 0), bytes)
    }

    fn copy_range(
        &mut self,
        from: (&Arc<Allocation>, usize),
        to: (&Arc<Allocation>, usize),
        bytes: usize,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.own(from.0, "the source of a copy")?;
        self.own(to.0, "the destination of a copy")?;
        let bytes = blit_bytes("a copy", to, bytes)?;
        if !from.1.is_multiple_of(BLIT_UNIT) {
            return Err(Error::Alignment { what: "a copy", wanted: BLIT_UNIT, offset: from.1 });
        }
        self.blit()?
            .copy((from.0.memory(), from.1), (to.0.memory(), to.1), bytes)
            .map_err(|failure| failure.during("encode a copy"))?;
        self.buffers.add(from.0, DeviceUse::Read);
        self.buffers.add(to.0, DeviceUse::Write);
        Ok(())
    }

    /// Records that every byte of these elements becomes `value`.
    ///
    /// # Errors
    /// [`Error::Foreign`]; [`Error::Alignment`] as for [`Batch::copy`].
    pub fn fill<'b, T: Pod>(&mut self, to: impl Into<ViewMut<'b, T>>, value: u8) -> Result<()> {
        let to = to.into();
        if to.is_empty() {
            return Ok(());
        }
        self.own(to.allocation, "the destination of a fill")?;
        let bytes = blit_bytes("a fill", (to.allocation, to.offset), to.len() * size_of::<T>())?;
        self.blit()?
            .fill((to.allocation.memory(), to.offset), bytes, value)
            .map_err(|failure| failure.during("encode a fill"))?;
        self.buffers.add(to.allocation, DeviceUse::Write);
        Ok(())
    }

    /// Records that the host's copy of a managed buffer becomes current.
    pub(crate) fn synchronize(&mut self, allocation: &Arc<Allocation>) -> Result<()> {
        self.blit()?.synchronize(allocation.memory()).map_err(|failure| failure.during("synchronize a buffer"))?;
        self.buffers.add(allocation, DeviceUse::Synchronize);
        Ok(())
    }

    /// Hands everything to the device. An empty batch is a submission that does nothing.
    ///
    /// # Errors
    /// [`Error::BufferInUse`] when a host guard of one of the buffers is alive, [`Error::Faulted`] when one holds what a
    /// failed submission left, [`Error::Metal`] when Metal refuses. Nothing has run then.
    pub fn submit(mut self) -> Result<Submission> {
        self.end_encoder()?;
        let Batch { accelerator, mut command_buffer, buffers, kernels, encoders, prints, slot, .. } = self;
        let flight = Arc::new(Inflight::default());
        let submitting = lock(accelerator.submitting());
        let mut before = Vec::with_capacity(buffers.list.len());
        for (allocation, kind) in &buffers.list {
            match allocation.tracked().begin_device(*kind, &flight) {
                Ok(earlier) => before.push(earlier),
                Err(error) => {
                    cancel(&buffers.list, before, &flight);
                    return Err(error);
                }
            }
        }
        let after = before.iter().flatten().cloned().collect();
        flight.hold(Held { buffers: buffers.list, kernels, encoders, after });
        let completed = Arc::clone(&flight);
        let committed = command_buffer
            .on_completed(Box::new(move |outcome| completed.complete(outcome)))
            .and_then(|()| command_buffer.commit());
        match committed {
            Ok(committed) => flight.committed(committed),
            Err(failure) => {
                cancel(&flight.release().buffers, before, &flight);
                return Err(failure.during("commit a batch"));
            }
        }
        drop(submitting);
        drop(slot);
        Ok(Submission::new(flight, prints))
    }

    fn own(&self, allocation: &Allocation, what: &str) -> Result<()> {
        if allocation.accelerator().is(&self.accelerator) {
            return Ok(());
        }
        Err(Error::Foreign { what: what.to_owned() })
    }

    /// The open compute encoder, or a new one. Threadgroup memory stays set in an encoder, so a kernel that does not
    /// use what an earlier one set gets a new encoder: it would count against the new kernel's limit.
    fn compute(&mut self, slots: u64) -> Result<&mut Compute> {
        let fits = matches!(&self.encoder, Encoder::Compute(open) if open.threadgroup_slots & !slots == 0);
        if !fits {
            self.end_encoder()?;
            let encoder = ComputeEncoder::new(&mut self.command_buffer)
                .map_err(|failure| failure.during("make a compute encoder"))?;
            self.encoder =
                Encoder::Compute(Compute { encoder, current: None, names: Vec::new(), threadgroup_slots: 0 });
        }
        match &mut self.encoder {
            Encoder::Compute(compute) => Ok(compute),
            _ => unreachable!("it was just made"),
        }
    }

    fn blit(&mut self) -> Result<&mut BlitEncoder> {
        if !matches!(self.encoder, Encoder::Blit(_)) {
            self.end_encoder()?;
            let encoder =
                BlitEncoder::new(&mut self.command_buffer).map_err(|failure| failure.during("make a blit encoder"))?;
            self.encoder = Encoder::Blit(encoder);
        }
        match &mut self.encoder {
            Encoder::Blit(encoder) => Ok(encoder),
            _ => unreachable!("it was just made"),
        }
    }

    /// Ends the open encoder under a label that says what it ran, so that Metal's errors can name it.
    fn end_encoder(&mut self) -> Result<()> {
        let (label, ended) = match mem::replace(&mut self.encoder, Encoder::None) {
            Encoder::None => return Ok(()),
            Encoder::Compute(Compute { mut encoder, names, .. }) => {
                let label = names.join(", ");
                let labelled = encoder.set_label(&label);
                (label, labelled.and_then(|()| encoder.end()))
            }
            Encoder::Blit(mut encoder) => {
                let labelled = encoder.set_label("copy");
                ("copy".to_owned(), labelled.and_then(|()| encoder.end()))
            }
        };
        self.encoders.push(label);
        ended.map_err(|failure| failure.during("end an encoder"))
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernels: Vec<&str> = self.kernels.iter().map(Kernel::name).collect();
        f.debug_struct("Batch").field("kernels", &kernels).field("buffers", &self.buffers.list.len()).finish()
    }
}

/// Takes back the uses that were begun; `before` has one entry for each of the first of them.
fn cancel(buffers: &[(Arc<Allocation>, DeviceUse)], before: Vec<Option<Arc<Inflight>>>, flight: &Arc<Inflight>) {
    for ((allocation, kind), before) in buffers.iter().zip(before) {
        allocation.tracked().cancel_device(*kind, flight, before);
    }
}

/// The bytes that a blit command counts to write `bytes` at this place: up to a whole unit at the end of a buffer, whose
/// padding nobody sees. The source has them too: every allocation is a whole number of units.
fn blit_bytes(what: &'static str, (allocation, offset): (&Arc<Allocation>, usize), bytes: usize) -> Result<usize> {
    if !offset.is_multiple_of(BLIT_UNIT) {
        return Err(Error::Alignment { what, wanted: BLIT_UNIT, offset });
    }
    if bytes.is_multiple_of(BLIT_UNIT) || offset + bytes == allocation.data_bytes() {
        return Ok(bytes.next_multiple_of(BLIT_UNIT));
    }
    Err(Error::Alignment { what, wanted: BLIT_UNIT, offset: offset + bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    /// Metal keeps the lengths of threadgroup memory from launch to launch of an encoder.
    #[test]
    fn threadgroup_memory_of_one_launch_is_not_left_to_another() {
        let gpu = Accelerator::system_default().expect("a Metal device");
        let source = "
            kernel void with(device uint* y [[buffer(0)]], threadgroup uint* t [[threadgroup(1)]]) { y[0] = t[0] = 1u; }
            kernel void without(device uint* y [[buffer(0)]]) { y[0] += 1u; }";
        let library = gpu.compile_msl(source).unwrap_or_else(|error| panic!("{error}"));
        let kernel = |name| library.kernel(name).unwrap_or_else(|error| panic!("{error}"));
        let (with, without) = (kernel("with"), kernel("without"));
        let mut y = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
        let mut batch = gpu.batch().expect("a batch");
        let grid = Grid::linear(1);
        for _ in 0..2 {
            batch.launch(&without, grid, args![&mut y]).expect("it fits");
            batch.launch(&with, grid, args![&mut y, Arg::threadgroup::<u32>(4)]).expect("it fits");
            batch.launch(&with, grid, args![&mut y, Arg::threadgroup::<u32>(8)]).expect("it fits");
        }
        assert_eq!(batch.encoders, ["without, with"], "the third launch begins an encoder");
        batch.submit().and_then(|submission| submission.wait()).expect("it runs");
        assert_eq!(y.to_vec().expect("it ran"), [1]);
    }
}
