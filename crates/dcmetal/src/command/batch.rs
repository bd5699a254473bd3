//! [`Batch`]: launches, copies and fills recorded into one Metal command buffer.
//!
//! Consecutive launches share a compute encoder, consecutive copies and fills a blit encoder, and each command sees what the
//! earlier ones wrote. Compute encoders are concurrent, with barriers where launches conflict ([`Hazards`]); Metal tracks
//! hazards between encoders, of the memory that it sees them use, and where more is asked for there are fences ([`Order`]). A batch borrows nothing: it keeps the buffers and kernels it uses, and whether somebody
//! on the host uses a buffer is decided when it is submitted, in a stream when a command is recorded ([`Uses`]).

use std::any::Any;
use std::fmt;
use std::mem;
use std::ops::Range;
use std::ptr;
use std::sync::{Arc, Weak};

use bytemuck::Pod;

use super::hazard::{Hazards, Scope, Touch};
use super::history::History;
use super::order::Order;
use super::slots::OpenSlot;
use super::submission::{Counted, HandedOver, Held, Launched, Place};
use super::uses::Uses;
use super::verdict::Verdict;
use super::{Inflight, Submission, stream};
use crate::event::EventUse;
use crate::graph::Executed;
use crate::grid::Extent;
use crate::kernel::{self, Kernel, Own};
use crate::memory::{Allocation, AllocationRef, BLIT_UNIT};
use crate::print::PrintBuffer;
use crate::raw::Failure;
use crate::raw::command::indirect::IndirectCommands;
use crate::raw::command::{BlitEncoder, CommandBuffer, ComputeEncoder, References};
use crate::raw::host::{DeviceUse, lock};
use crate::telemetry::Timing;
use crate::{Accelerator, Arg, Buffer, Error, Event, Grid, Result, View, ViewMut};

mod graph;
mod nested;
mod performance;

pub(crate) use graph::{GraphPass, SharedExecutable, alone};
pub(crate) use performance::Passes;

/// Launches, copies and fills that are handed to the device together.
///
/// Each sees what those before it wrote, as if they ran one after the other. Launches that do not use the same memory, or only
/// read it, may run at the same time. Views of one buffer are the same memory where they overlap: a kernel that
/// reaches beyond its view does so at its own risk.
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
    order: Order,
    uses: Uses,
    kernels: Vec<Launched>,
    /// Copies and fills.
    copies: u64,
    /// Of Metal Performance Shaders.
    passes: u64,
    /// Labels of the encoders that have ended.
    encoders: Vec<String>,
    /// A buffer for each library whose kernels print.
    prints: Vec<PrintBuffer>,
    events: Vec<(Event, EventUse)>,
    /// What else its encoders were given.
    given: Vec<Given>,
    /// An encoder has not ended as it should, or does not wait for what it should: nothing else may be made of what was recorded.
    broken: Option<(Failure, &'static str)>,
    /// What is asked when it has completed.
    verdicts: Vec<Verdict>,
    history: History,
    slot: OpenSlot,
}

/// Bytes of `MTLDispatchThreadgroupsIndirectArguments`.
const COUNT_BYTES: usize = 12;

/// Something that Metal does not keep for the encoders that got it.
pub(super) type Given = Arc<dyn Any + Send + Sync>;

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
    hazards: Hazards,
    /// The kernels launched, each once.
    names: Vec<String>,
    /// Bits of the threadgroup memory indices that have a length.
    threadgroup_slots: u64,
    /// It has a barrier that was asked for: later encoders are behind that as well.
    barrier: bool,
}

impl Compute {
    /// Notes that it launches a kernel, for its label.
    fn name(&mut self, kernel: &Kernel) {
        if !self.names.iter().any(|name| name == kernel.name()) {
            self.names.push(kernel.name().to_owned());
        }
    }
}

/// Whether a command was recorded.
pub(super) enum Recorded {
    Done,
    /// It was not: in a stream, this other batch in the making has to be handed over first.
    After(Arc<Inflight>),
}

impl Batch {
    pub(crate) fn new(accelerator: &Accelerator) -> Result<Batch> {
        Batch::with(accelerator, Uses::of_batch(), Order::none(), References::Held)
    }

    /// That is asked for barriers if it is `ordered`, and executes indirect commands if Metal keeps them: their graph may be gone before it has completed.
    pub(crate) fn of_graph(accelerator: &Accelerator, ordered: bool, references: References) -> Result<Batch> {
        let order = if ordered { Order::of(accelerator) } else { Order::none() };
        Batch::with(accelerator, Uses::of_batch(), order, references)
    }

    pub(super) fn of_stream(accelerator: &Accelerator, stream: Weak<stream::Shared>) -> Result<Batch> {
        Batch::with(accelerator, Uses::of_stream(stream), Order::none(), References::Held)
    }

    fn with(accelerator: &Accelerator, uses: Uses, order: Order, references: References) -> Result<Batch> {
        let slot = accelerator.slots().open()?;
        let command_buffer = CommandBuffer::new(accelerator.queue(), references)
            .map_err(|failure| failure.of_nothing(accelerator.device(), "make a command buffer", None))?;
        if let Some(timing) = accelerator.figures().and_then(Timing::new) {
            uses.flight().measure(timing);
        }
        Ok(Batch {
            accelerator: accelerator.clone(),
            encoder: Encoder::None,
            command_buffer,
            order,
            uses,
            kernels: Vec::new(),
            copies: 0,
            passes: 0,
            encoders: Vec::new(),
            prints: Vec::new(),
            events: Vec::new(),
            given: Vec::new(),
            broken: None,
            verdicts: Vec::new(),
            history: History::of(accelerator),
            slot,
        })
    }

    /// Records a launch. Everything that can be checked is checked now; see [`Kernel::launch`].
    ///
    /// # Errors
    /// As [`Kernel::launch`], except for the state of the buffers, which counts when the batch is submitted.
    pub fn launch<'a>(&mut self, kernel: &Kernel, grid: Grid, args: impl AsRef<[Arg<'a>]>) -> Result<()> {
        self.record_launch(kernel, grid, args.as_ref()).map(own)
    }

    pub(super) fn record_launch(&mut self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<Recorded> {
        if !kernel.accelerator().is(&self.accelerator) {
            return Err(Error::Foreign { what: format!("kernel `{}`", kernel.name()) });
        }
        let dispatch = kernel::check(kernel, &grid, args)?;
        let recorded = match kernel.parts() {
            [] => self.record_checked(kernel, &dispatch, args, (None, Own::default()))?,
            parts => {
                parts.iter().try_for_each(|part| kernel::check(part, &grid, args).map(drop))?;
                self.record_parts(kernel, &dispatch, args)?
            }
        };
        self.history.note_if(&recorded, || kernel::described(kernel, &dispatch, args));
        Ok(recorded)
    }

    /// Records a checked launch, of a kernel of this accelerator. With `count`, the number of threadgroups is there when it runs.
    fn record_checked(
        &mut self,
        kernel: &Kernel,
        dispatch: &kernel::Dispatch,
        args: &[Arg<'_>],
        (count, own): (Option<(&AllocationRef, usize)>, Own<'_>),
    ) -> Result<Recorded> {
        let prints = self.print_buffer(kernel)?;
        let own = Own { prints: prints.as_ref(), ..own };
        let used = || {
            let own = own.memories().map(|memory| (memory, DeviceUse::Write));
            let passed = kernel::buffers(args)
                .map(|(allocation, writes)| (allocation, if writes { DeviceUse::Write } else { DeviceUse::Read }));
            passed.chain(own).chain(count.map(|(allocation, _)| (allocation, DeviceUse::Read)))
        };
        let claimed = self.uses.len();
        if let Some(other) = self.uses.claim(&self.accelerator, used())? {
            return Ok(Recorded::After(other));
        }
        if let Err(error) = self.encode_launch(kernel, dispatch, args, (count, own)) {
            self.uses.take_back(claimed);
            // The encoder may have got all but the last of it.
            self.given.push(Arc::new(kernel.clone()));
            self.given.extend(used().map(|(allocation, _)| allocation.kept()));
            self.given.extend(kernel::given(kernel, args));
            return Err(error);
        }
        for one in kernel::given(kernel, args) {
            if !self.given.iter().any(|given| ptr::addr_eq(Arc::as_ptr(given), Arc::as_ptr(&one))) {
                self.given.push(one);
            }
        }
        self.uses.note(used());
        Ok(Recorded::Done)
    }

    fn encode_launch(
        &mut self,
        kernel: &Kernel,
        dispatch: &kernel::Dispatch,
        args: &[Arg<'_>],
        (count, own): (Option<(&AllocationRef, usize)>, Own<'_>),
    ) -> Result<()> {
        let slots = kernel::threadgroup_slots(kernel);
        let touches =
            || kernel::touches(kernel, args, own).chain(count.map(|(memory, at)| read(memory, at..at + COUNT_BYTES)));
        let compute = self.compute(slots)?;
        let encoded = (|| {
            if !compute.current.as_ref().is_some_and(|current| current.is(kernel)) {
                compute.encoder.set_pipeline(kernel.raw())?;
                compute.current = Some(kernel.clone());
            }
            compute.threadgroup_slots |= slots;
            let barrier = compute.hazards.barrier_for(touches());
            if barrier != Scope::NONE {
                compute.encoder.memory_barrier(barrier)?;
                compute.hazards.barrier(barrier);
            }
            kernel::bind(&mut compute.encoder, kernel, args, dispatch.dimensions, own)?;
            match (count, dispatch.extent) {
                (Some((memory, at)), _) => {
                    compute.encoder.dispatch_indirect((memory.memory(), at), dispatch.threadgroup)
                }
                (None, Extent::Threads(threads)) => compute.encoder.dispatch_threads(threads, dispatch.threadgroup),
                (None, Extent::Threadgroups(count)) => {
                    compute.encoder.dispatch_threadgroups(count, dispatch.threadgroup)
                }
            }
        })();
        encoded.map_err(|failure| failure.during("encode a launch"))?;
        touches().for_each(|touch| compute.hazards.note(touch));
        compute.name(kernel);
        self.count(kernel, 1);
        Ok(())
    }

    fn count(&mut self, kernel: &Kernel, launches: u64) {
        match self.kernels.iter_mut().find(|known| known.kernel.is(kernel)) {
            Some(known) => known.launches += launches,
            None => self.kernels.push(Launched { kernel: kernel.clone(), launches }),
        }
    }

    /// Records the execution of indirect commands, which read their values there. Not in streams.
    pub(crate) fn execute(
        &mut self,
        commands: &mut IndirectCommands,
        executed: &Executed,
        values: &AllocationRef,
    ) -> Result<usize> {
        let compute = self.compute(0)?;
        let encoded = (|| {
            let barrier = compute.hazards.barrier_for(executed.touches.iter().cloned());
            if barrier != Scope::NONE {
                compute.encoder.memory_barrier(barrier)?;
                compute.hazards.barrier(barrier);
            }
            // Metal does not say what an execution leaves set.
            compute.current = None;
            let mut ended = 0;
            for part in &executed.parts {
                let again = if ended > 0 { compute.encoder.memory_barrier(Scope::ALL) } else { Ok(()) };
                match again.and_then(|()| compute.encoder.execute(commands, part.clone())) {
                    Ok(()) => ended = part.end,
                    // The caller encodes the rest.
                    Err(_) if ended > 0 => break,
                    Err(failure) => return Err(failure),
                }
            }
            Ok(ended)
        })();
        let ended = encoded.map_err(|failure: Failure| failure.during("encode indirect commands"))?;
        executed.touches.iter().cloned().for_each(|touch| compute.hazards.note(touch));
        executed.kernels.iter().for_each(|launched| compute.name(&launched.kernel));
        executed.launches(ended).for_each(|(kernel, launches)| self.count(kernel, launches));
        self.uses.note(executed.uses.iter().map(|(allocation, kind)| (allocation, *kind)));
        self.uses.note([(values, DeviceUse::Read)].into_iter());
        self.history.note(|| {
            let names: Vec<&str> = executed.kernels.iter().map(|launched| launched.kernel.name()).collect();
            format!("{ended} indirect commands of {}", names.join(", "))
        });
        Ok(ended)
    }

    /// Has the commands that follow wait for those before, whatever they use. Before a batch's first command: for what was submitted before it.
    pub(crate) fn barrier(&mut self) -> Result<()> {
        match &mut self.encoder {
            Encoder::Compute(compute) if self.order.is_first() => {
                compute.encoder.memory_barrier(Scope::ALL).map_err(|failure| failure.during("encode a barrier"))?;
                compute.hazards.barrier(Scope::ALL);
                compute.barrier = true;
            }
            _ => {
                self.close_encoder()?;
                self.order.barrier();
            }
        }
        Ok(())
    }

    /// Before an encoder is made: what was submitted before, which it must not overtake.
    fn keep_apart(&mut self) -> Result<()> {
        let encoded = self.order.before_encoder(self.accelerator.device(), &mut self.command_buffer);
        encoded.map_err(|failure| failure.during("encode a barrier behind other submissions"))
    }

    /// The buffer that a kernel prints to, if it prints.
    fn print_buffer(&mut self, kernel: &Kernel) -> Result<Option<AllocationRef>> {
        let Some(printing) = kernel::printing(kernel) else { return Ok(None) };
        let known = self.prints.iter().find(|prints| prints.is_for(printing));
        if let Some(prints) = known {
            return Ok(Some(prints.allocation().clone()));
        }
        let prints = PrintBuffer::new(&self.accelerator, printing)?;
        let allocation = prints.allocation().clone();
        self.prints.push(prints);
        Ok(Some(allocation))
    }

    /// Records a copy of as many elements, on the device. Copies of nothing are no commands.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`]; [`Error::Foreign`]; [`Error::Alignment`] when a view begins at a byte that is no
    /// multiple of 4, or the destination ends at one before the end of its buffer.
    pub fn copy<'a, 'b, T: Pod>(&mut self, from: impl Into<View<'a, T>>, to: impl Into<ViewMut<'b, T>>) -> Result<()> {
        self.record_copy(from.into(), to.into()).map(own)
    }

    pub(super) fn record_copy<T: Pod>(&mut self, from: View<'_, T>, to: ViewMut<'_, T>) -> Result<Recorded> {
        if from.len() != to.len() {
            return Err(Error::LengthMismatch { what: "a copy", wanted: to.len(), got: from.len() });
        }
        let bytes = to.len() * size_of::<T>();
        self.record_copy_range((from.allocation, from.offset), (to.allocation, to.offset), bytes, DeviceUse::Write)
    }

    /// Copies bytes of whatever elements into a buffer of bytes.
    pub(crate) fn copy_bytes(
        &mut self,
        from: &AllocationRef,
        offset: usize,
        to: &mut Buffer<u8>,
        bytes: usize,
    ) -> Result<()> {
        self.copy_range((from, offset), (to.allocation(), 0), bytes)
    }

    pub(crate) fn copy_range(
        &mut self,
        from: (&AllocationRef, usize),
        to: (&AllocationRef, usize),
        bytes: usize,
    ) -> Result<()> {
        self.record_copy_range(from, to, bytes, DeviceUse::Write).map(own)
    }

    /// Copies all that a buffer holds into it, which may hold what a failed submission left.
    pub(crate) fn replace(&mut self, from: &AllocationRef, to: &AllocationRef) -> Result<()> {
        self.record_copy_range((from, 0), (to, 0), to.data_bytes(), DeviceUse::Replace).map(own)
    }

    fn record_copy_range(
        &mut self,
        from: (&AllocationRef, usize),
        to: (&AllocationRef, usize),
        bytes: usize,
        writes: DeviceUse,
    ) -> Result<Recorded> {
        if bytes == 0 {
            return Ok(Recorded::Done);
        }
        self.check_owner(from.0, "the source of a copy")?;
        self.record_copy_from_held(from, to, bytes, writes)
    }

    /// As `record_copy_range`, from memory that may be another accelerator's of the same device: the caller holds it.
    pub(crate) fn copy_held(
        &mut self,
        from: (&AllocationRef, usize),
        to: (&AllocationRef, usize),
        bytes: usize,
    ) -> Result<()> {
        self.record_copy_from_held(from, to, bytes, DeviceUse::Write).map(own)
    }

    fn record_copy_from_held(
        &mut self,
        from: (&AllocationRef, usize),
        to: (&AllocationRef, usize),
        bytes: usize,
        writes: DeviceUse,
    ) -> Result<Recorded> {
        self.check_owner(to.0, "the destination of a copy")?;
        let bytes = blit_bytes("a copy", to, bytes)?;
        if !from.1.is_multiple_of(BLIT_UNIT) {
            return Err(Error::Alignment { what: "a copy", wanted: BLIT_UNIT, offset: from.1 });
        }
        // The destination, which is this accelerator's, is the first: a submission counts with the first's.
        let recorded = self.record_blit([(to.0, writes), (from.0, DeviceUse::Read)], "encode a copy", |blit| {
            blit.copy((from.0.memory(), from.1), (to.0.memory(), to.1), bytes)
        })?;
        let part = |(memory, start): (&AllocationRef, usize)| memory.described(start..start + bytes);
        self.history.note_if(&recorded, || format!("copy {} to {}", part(from), part(to)));
        Ok(recorded)
    }

    fn record_blit<const N: usize>(
        &mut self,
        used: [(&AllocationRef, DeviceUse); N],
        call: &'static str,
        encode: impl FnOnce(&mut BlitEncoder) -> std::result::Result<(), Failure>,
    ) -> Result<Recorded> {
        let claimed = self.uses.len();
        if let Some(other) = self.uses.claim(&self.accelerator, used.into_iter())? {
            return Ok(Recorded::After(other));
        }
        let encoded = self.blit().and_then(|blit| encode(blit).map_err(|failure| failure.during(call)));
        encoded.inspect_err(|_| self.uses.take_back(claimed))?;
        self.copies += 1;
        self.uses.note(used.into_iter());
        Ok(Recorded::Done)
    }

    /// Records that every byte of these elements becomes `value`.
    ///
    /// # Errors
    /// [`Error::Foreign`]; [`Error::Alignment`] as for [`Batch::copy`].
    pub fn fill<'b, T: Pod>(&mut self, to: impl Into<ViewMut<'b, T>>, value: u8) -> Result<()> {
        self.record_fill(to.into(), value).map(own)
    }

    pub(super) fn record_fill<T: Pod>(&mut self, to: ViewMut<'_, T>, value: u8) -> Result<Recorded> {
        self.record_fill_range((to.allocation, to.offset), to.len() * size_of::<T>(), value)
    }

    pub(crate) fn fill_range(&mut self, to: (&AllocationRef, usize), bytes: usize, value: u8) -> Result<()> {
        self.record_fill_range(to, bytes, value).map(own)
    }

    fn record_fill_range(&mut self, to: (&AllocationRef, usize), bytes: usize, value: u8) -> Result<Recorded> {
        if bytes == 0 {
            return Ok(Recorded::Done);
        }
        self.check_owner(to.0, "the destination of a fill")?;
        let bytes = blit_bytes("a fill", to, bytes)?;
        let recorded = self.record_blit([(to.0, DeviceUse::Write)], "encode a fill", |blit| {
            blit.fill((to.0.memory(), to.1), bytes, value)
        })?;
        self.history.note_if(&recorded, || format!("fill {} with {value}", to.0.described(to.1..to.1 + bytes)));
        Ok(recorded)
    }

    /// Records that the event gets at least this value when what was recorded before has finished. If the submission fails, it
    /// poisons the event: see [`Event`]. Any accelerator's event will do.
    ///
    /// # Errors
    /// [`Error::Metal`] when Metal refuses. A poisoned event is told by [`Batch::submit`].
    pub fn signal(&mut self, event: &Event, value: u64) -> Result<()> {
        self.event(event, EventUse::Signal(value))
    }

    /// Records that what is recorded from now on starts when the event has at least this value. Meanwhile no later submission of
    /// this accelerator starts either: one that signals the event is another accelerator's, was made before, or is the host. Behind a wait that only the
    /// host can end there is room for as many submissions as the queue holds (1024); one more is [`Error::QueueFull`].
    ///
    /// # Errors
    /// As [`Batch::signal`].
    pub fn wait_for(&mut self, event: &Event, value: u64) -> Result<()> {
        self.event(event, EventUse::Wait(value))
    }

    fn event(&mut self, event: &Event, what: EventUse) -> Result<()> {
        self.close_encoder()?;
        event.encode(&mut self.command_buffer, what)?;
        self.history.note(|| match what {
            EventUse::Signal(value) => format!("signal an event, {value}"),
            EventUse::Wait(value) => format!("wait for an event, {value}"),
        });
        self.events.push((event.clone(), what));
        Ok(())
    }

    /// In a stream, whose uses begin when they are recorded: begins the use of an event and records it. What follows must be that
    /// the batch is handed over: whoever looks at the event meanwhile waits for the commit.
    pub(super) fn record_event(&mut self, event: &Event, what: EventUse) -> Result<()> {
        let flight = Arc::clone(self.uses.flight());
        event.begin(what, &flight)?;
        self.event(event, what).inspect_err(|_| event.cancel(&flight))
    }

    /// Records that the host's copy of a managed buffer becomes current.
    pub(crate) fn synchronize(&mut self, allocation: &AllocationRef) -> Result<()> {
        let used = [(allocation, DeviceUse::Synchronize)];
        self.record_blit(used, "synchronize a buffer", |blit| blit.synchronize(allocation.memory())).map(own)?;
        self.history.note(|| format!("synchronize {}", allocation.described(0..allocation.data_bytes())));
        Ok(())
    }

    /// Hands everything to the device. An empty batch is a submission that does nothing.
    ///
    /// # Errors
    /// [`Error::BufferInUse`] when a host guard of one of the buffers is alive, [`Error::Faulted`] when one holds what a
    /// failed submission left, [`Error::EventFaulted`] when an event is poisoned, [`Error::Metal`] when Metal refuses. Nothing has
    /// run then.
    pub fn submit(mut self) -> Result<Submission> {
        self.close_encoder()?;
        let accelerator = self.accelerator.clone();
        accelerator.urgent().hand_over(0).settle();
        let submitting = loop {
            let submitting = lock(accelerator.submitting());
            let Some(other) = self.uses.begin()? else { break submitting };
            // Its commands were recorded before, so they come first.
            drop(submitting);
            other.hand_over();
        };
        let Batch {
            command_buffer,
            order,
            given,
            mut uses,
            kernels,
            copies,
            passes,
            encoders,
            prints,
            events,
            verdicts,
            history,
            slot,
            ..
        } = self;
        let flight = Arc::clone(uses.flight());
        // What is cancelled is cancelled before others submit, and let go of after: the last of an event calls who waited for it.
        if let Err(error) = events.iter().try_for_each(|(event, what)| event.begin(*what, &flight)) {
            cancel_events(&events, &flight);
            // Before what its encoders were given.
            drop(command_buffer);
            uses.cancel();
            drop(submitting);
            // The last of a buffer may call its owner.
            drop((uses, given));
            return Err(error);
        }
        let (buffers, after) = uses.give_away();
        let marked = order.into_marked();
        let figures = accelerator.figures();
        let counted = Counted::new(figures, kernels.is_empty() && buffers.is_empty());
        flight.hold(Held {
            buffers,
            kernels,
            copies,
            passes,
            encoders,
            after,
            events,
            given,
            marked,
            verdicts,
            history,
            counted,
        });
        if let Err(failure) = commit(command_buffer, &flight, &slot) {
            let mut held = flight.release();
            cancel_events(&held.events, &flight);
            uses.get_back(mem::take(&mut held.buffers));
            uses.cancel();
            drop(submitting);
            drop((uses, held));
            return Err(failure.during("commit a batch"));
        }
        if let Some(figures) = figures {
            figures.committed();
        }
        drop(submitting);
        drop(slot);
        Ok(Submission::new(flight, prints))
    }

    /// As `submit`, of a stream's batch, whose uses, of events too, have begun: the submission may fail, but it is one.
    pub(super) fn hand_over(mut self, place: Place, before: Vec<Arc<Inflight>>) -> HandedOver {
        let ended = self.end_encoder().map_err(|(failure, _)| failure);
        let accelerator = self.accelerator.clone();
        let submitting = lock(accelerator.submitting());
        let Batch {
            command_buffer,
            given,
            mut uses,
            kernels,
            copies,
            passes,
            encoders,
            events,
            verdicts,
            history,
            slot,
            ..
        } = self;
        let flight = Arc::clone(uses.flight());
        let (buffers, after) = uses.give_away();
        for (allocation, _) in &buffers {
            allocation.tracked().hand_over(&flight);
        }
        // Streams ask for no barriers.
        let figures = accelerator.figures();
        let counted = Counted::new(figures, kernels.is_empty() && buffers.is_empty());
        flight.hold(Held {
            buffers,
            kernels,
            copies,
            passes,
            encoders,
            after,
            events,
            given,
            marked: None,
            verdicts,
            history,
            counted,
        });
        flight.take_place(place, before);
        let committed = ended.and_then(|()| commit(command_buffer, &flight, &slot));
        if let Some(figures) = figures {
            figures.committed();
        }
        if let (Err(_), Some(timing)) = (&committed, flight.timing()) {
            timing.committed(None);
        }
        let handed_over = HandedOver::new(flight, committed);
        drop(submitting);
        drop(slot);
        handed_over
    }

    /// Whether this is its submission.
    pub(super) fn is_of(&self, flight: &Inflight) -> bool {
        ptr::eq(&**self.uses.flight(), flight)
    }

    /// The submission that it will be.
    pub(crate) fn flight(&self) -> &Arc<Inflight> {
        self.uses.flight()
    }

    fn check_owner(&self, allocation: &Allocation, what: &str) -> Result<()> {
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
            self.close_encoder()?;
            self.keep_apart()?;
            let mut encoder = ComputeEncoder::new(&mut self.command_buffer)
                .map_err(|failure| failure.of_nothing(self.accelerator.device(), "make a compute encoder", None))?;
            let ordered = self.order.began(&mut encoder);
            self.encoder = Encoder::Compute(Compute {
                encoder,
                current: None,
                hazards: Hazards::default(),
                names: Vec::new(),
                threadgroup_slots: 0,
                barrier: false,
            });
            self.unbroken(ordered, "wait for a fence")
                .map_err(|(failure, call)| failure.of_nothing(self.accelerator.device(), call, None))?;
        }
        match &mut self.encoder {
            Encoder::Compute(compute) => Ok(compute),
            _ => unreachable!("it was just made"),
        }
    }

    fn blit(&mut self) -> Result<&mut BlitEncoder> {
        if !matches!(self.encoder, Encoder::Blit(_)) {
            self.close_encoder()?;
            self.keep_apart()?;
            let mut encoder = BlitEncoder::new(&mut self.command_buffer)
                .map_err(|failure| failure.of_nothing(self.accelerator.device(), "make a blit encoder", None))?;
            let ordered = self.order.began(&mut encoder);
            self.encoder = Encoder::Blit(encoder);
            self.unbroken(ordered, "wait for a fence")
                .map_err(|(failure, call)| failure.of_nothing(self.accelerator.device(), call, None))?;
        }
        match &mut self.encoder {
            Encoder::Blit(encoder) => Ok(encoder),
            _ => unreachable!("it was just made"),
        }
    }

    /// As `end_encoder`, with the crate's error: a fence that was not made for a removed device breaks a batch.
    fn close_encoder(&mut self) -> Result<()> {
        self.end_encoder().map_err(|(failure, call)| failure.of_nothing(self.accelerator.device(), call, None))
    }

    /// Ends the open encoder under a label that says what it ran, so that Metal's errors can name it.
    fn end_encoder(&mut self) -> std::result::Result<(), (Failure, &'static str)> {
        let (label, ended) = match mem::replace(&mut self.encoder, Encoder::None) {
            Encoder::None => return self.broken.clone().map_or(Ok(()), Err),
            Encoder::Compute(Compute { mut encoder, names, barrier, .. }) => {
                let label = names.join(", ");
                let labelled = encoder.set_label(&label);
                let marked = labelled.and(self.order.ends(self.accelerator.device(), &mut encoder, barrier));
                (label, marked.and(encoder.end()))
            }
            Encoder::Blit(mut encoder) => {
                let labelled = encoder.set_label("copy");
                let marked = labelled.and(self.order.ends(self.accelerator.device(), &mut encoder, false));
                ("copy".to_owned(), marked.and(encoder.end()))
            }
        };
        self.encoders.push(label);
        self.unbroken(ended, "end an encoder")
    }

    /// Remembers a failure, with which every later command, and the submission, fails.
    fn unbroken(
        &mut self,
        ended: std::result::Result<(), Failure>,
        call: &'static str,
    ) -> std::result::Result<(), (Failure, &'static str)> {
        if let Err(failure) = ended {
            self.broken.get_or_insert((failure, call));
        }
        self.broken.clone().map_or(Ok(()), Err)
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernels: Vec<&str> = self.kernels.iter().map(|launched| launched.kernel.name()).collect();
        f.debug_struct("Batch").field("kernels", &kernels).field("buffers", &self.uses.len()).finish()
    }
}

/// Bytes of a buffer that are read.
fn read(memory: &AllocationRef, bytes: Range<usize>) -> Touch {
    Touch { memory: memory.address(), bytes, scope: Scope::BUFFERS, writes: false }
}

/// The lock of submitting must be held.
fn commit(command_buffer: CommandBuffer, flight: &Arc<Inflight>, slot: &OpenSlot) -> std::result::Result<(), Failure> {
    if let Some(timing) = flight.timing() {
        timing.committing();
    }
    let (completed, behind) = (Arc::clone(flight), flight.take_slot(slot));
    let completion = Box::new(move |outcome| {
        // First: it has clones of events, and must not have the last.
        drop(behind);
        completed.complete(outcome);
    });
    flight.commit(command_buffer, completion)
}

/// A batch of the user's own waits for nobody while it is recorded.
fn own(recorded: Recorded) {
    assert!(matches!(recorded, Recorded::Done), "only a stream's batches claim what they use");
}

/// Takes back the signals that were begun.
fn cancel_events(events: &[(Event, EventUse)], flight: &Arc<Inflight>) {
    events.iter().for_each(|(event, _)| event.cancel(flight));
}

/// The bytes that a blit command counts to write `bytes` at this place: up to a whole unit at the end of a buffer, whose
/// padding nobody sees. The source has them too: every allocation is a whole number of units.
fn blit_bytes(what: &'static str, (allocation, offset): (&AllocationRef, usize), bytes: usize) -> Result<usize> {
    if !offset.is_multiple_of(BLIT_UNIT) {
        return Err(Error::Alignment { what, wanted: BLIT_UNIT, offset });
    }
    if bytes.is_multiple_of(BLIT_UNIT) || offset + bytes == allocation.data_bytes() {
        return Ok(bytes.next_multiple_of(BLIT_UNIT));
    }
    Err(Error::Alignment { what, wanted: BLIT_UNIT, offset: offset + bytes })
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
