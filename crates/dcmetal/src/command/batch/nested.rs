//! Launches whose number of threadgroups, or all of which, other kernels write: see [`nested`](crate::nested).

use super::super::verdict::{Asked, Verdict};
use super::{Batch, COUNT_BYTES, Launched, Recorded, own, read};
use crate::command::{Scope, Touch};
use crate::kernel::{self, Dispatch, Kernel, Own};
use crate::memory::AllocationRef;
use crate::nested::{CommandRecord, CommandTable, Encoding, indirect_dispatch, own_kernel};
use crate::raw::Failure;
use crate::raw::command::indirect::IndirectCommands;
use crate::raw::host::{DeviceUse, lock};
use crate::{Arg, Error, Grid, IndirectGrid, Result, View, args};

/// Bytes of what `dcmetal_guard` tells.
const GUARD_BYTES: usize = 32;

impl Batch {
    /// Records a launch over as many threadgroups as a buffer says when it runs: see [`IndirectGrid`]. The buffer is read, as an argument
    /// would be: the launch comes behind whatever writes it.
    ///
    /// # Errors
    /// As [`Batch::launch`], of the declared maximum, or of one threadgroup where there is none; [`Error::LengthMismatch`] for a count of no elements;
    /// [`Error::Foreign`]. More threadgroups than were declared are the submission's error, of the domain `dcmetal`.
    pub fn launch_indirect<'a>(
        &mut self,
        kernel: &Kernel,
        grid: IndirectGrid<'_>,
        args: impl AsRef<[Arg<'a>]>,
    ) -> Result<()> {
        self.record_indirect(kernel, &grid, args.as_ref()).map(own)
    }

    pub(in crate::command) fn record_indirect(
        &mut self,
        kernel: &Kernel,
        grid: &IndirectGrid<'_>,
        args: &[Arg<'_>],
    ) -> Result<Recorded> {
        if !kernel.accelerator().is(&self.accelerator) {
            return Err(Error::Foreign { what: format!("kernel `{}`", kernel.name()) });
        }
        self.check_owner(grid.count.allocation, "the number of threadgroups of an indirect launch")?;
        if grid.count.is_empty() {
            return Err(Error::LengthMismatch { what: "the count of an indirect launch", wanted: 1, got: 0 });
        }
        let dispatch = indirect_dispatch(kernel, grid, args)?;
        if !kernel.parts().is_empty() {
            let what = format!("an indirect launch of `{}`", kernel.name());
            let text =
                "it has grid barriers, and what its work-items keep needs as much memory as there are".to_owned();
            return Err(Error::Unsupported { what, text });
        }
        let given = (grid.count.allocation, grid.count.offset);
        let recorded = match grid.most {
            None => self.record_checked(kernel, &dispatch, args, (Some(given), Own::default()))?,
            Some(most) => {
                let guard = own_kernel(&self.accelerator, "dcmetal_guard")?;
                let mut memory = self.accelerator.staging().buffer::<u8>(&self.accelerator, GUARD_BYTES)?;
                // What it was lent for before may have failed, and the host may look before the kernel has written.
                memory.write_from(&[0; GUARD_BYTES])?;
                let mut verdict = Verdict { memory, asked: Asked::Grid { kernel: kernel.name().to_owned(), most } };
                let count: View<'_, u8> = grid.count.reinterpret()?;
                let axes = most.to_array().map(|axis| u32::try_from(axis).unwrap_or(u32::MAX));
                let looked = args![count, &mut verdict.memory, axes];
                match self.record_launch(&guard, Grid::linear(1), &looked)? {
                    Recorded::Done => {}
                    after => return Ok(after),
                }
                let allocation = verdict.memory.allocation().clone();
                let recorded = self.record_checked(kernel, &dispatch, args, (Some((&allocation, 0)), Own::default()));
                match &recorded {
                    Ok(Recorded::Done) => self.verdicts.push(verdict),
                    // The look at the number stays in the batch, and fails nothing.
                    _ => self.given.push(allocation.kept()),
                }
                recorded?
            }
        };
        self.history.note_if(&recorded, || {
            let count = given.0.described(given.1..given.1 + COUNT_BYTES);
            format!("{}; threadgroups as {count} say", kernel::described(kernel, &dispatch, args))
        });
        Ok(recorded)
    }

    /// Records the parts of a kernel with grid barriers that run in their order.
    pub(super) fn record_parts(&mut self, kernel: &Kernel, dispatch: &Dispatch, args: &[Arg<'_>]) -> Result<Recorded> {
        if kernel.takes_turns() {
            let what = format!("a launch of `{}` by a batch, stream or graph", kernel.name());
            let text =
                "its grid barriers are in loops or branches, which takes rounds of the host: `Nested` launches it";
            return Err(Error::Unsupported { what, text: text.to_owned() });
        }
        let state = kernel.state_memory(dispatch)?;
        let memory = Own { state: state.as_ref().map(|state| state.allocation()), ..Own::default() };
        for part in std::iter::once(kernel).chain(kernel.parts()) {
            // What the first has claimed the others use.
            if let Recorded::After(other) = self.record_checked(part, dispatch, args, (None, memory))? {
                return Ok(Recorded::After(other));
            }
        }
        Ok(Recorded::Done)
    }

    /// Records passes through the parts of a kernel with grid barriers that say which of them is next; the first part is only in the first pass of a launch
    /// that begins. `turns` has a row for each pass, and one behind them.
    pub(crate) fn record_passes(
        &mut self,
        (kernel, dispatch): (&Kernel, &Dispatch),
        args: &[Arg<'_>],
        (state, turns): (Option<&AllocationRef>, &AllocationRef),
        (passes, begins): (usize, bool),
    ) -> Result<()> {
        let row = COUNT_BYTES * (1 + kernel.parts().len());
        for pass in 0..passes {
            let memory = Own { state, turns: Some((turns, pass * row)), prints: None };
            if begins && pass == 0 {
                self.record_checked(kernel, dispatch, args, (None, memory)).map(own)?;
            }
            for (number, part) in kernel.parts().iter().enumerate() {
                let count = (turns, pass * row + (1 + number) * COUNT_BYTES);
                self.record_checked(part, dispatch, args, (Some(count), memory)).map(own)?;
            }
        }
        Ok(())
    }

    /// Records one of those parts by itself; its row is the first.
    pub(crate) fn record_part(
        &mut self,
        (kernel, dispatch): (&Kernel, &Dispatch),
        args: &[Arg<'_>],
        (state, turns): (Option<&AllocationRef>, &AllocationRef),
        number: usize,
    ) -> Result<()> {
        let part = number.checked_sub(1).map_or(kernel, |number| &kernel.parts()[number]);
        let memory = Own { state, turns: Some((turns, 0)), prints: None };
        self.record_checked(part, dispatch, args, (None, memory)).map(own)
    }

    /// Records the commands that kernels wrote before: the first `count` of `records`, as they are then. Each is checked on the device, by a kernel of dcmetal's
    /// own (`dcmetal_encode`), which makes an indirect command of it: its kernel is one of the table's, its memories are among `memories`, which are buffers
    /// and views, passed as to a launch. A buffer that commands write is passed for writing, and each command may touch all of what is passed.
    ///
    /// Commands run at once and in any order, but for their barriers ([`CommandRecord::barrier`]); what follows in the batch sees what they wrote.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a device without indirect commands that kernels can write ([`Accelerator::nesting`](crate::Accelerator::nesting)),
    /// and for what is no buffer among `memories`; [`Error::LengthMismatch`] for a count of no elements; [`Error::Foreign`].
    /// What is wrong with a command, and more commands than there are records or than the table has room for, is the submission's error, of the domain `dcmetal`.
    pub fn run_commands<'a>(
        &mut self,
        table: &CommandTable,
        records: View<'_, CommandRecord>,
        count: View<'_, u32>,
        memories: impl AsRef<[Arg<'a>]>,
    ) -> Result<()> {
        let memories = memories.as_ref();
        let encoding = Encoding::new(&self.accelerator, table, records, count, memories)?;
        let kernel = own_kernel(&self.accelerator, "dcmetal_encode")?;
        let Encoding { memory, parts, capacity, commands } = encoding;
        let memory = Verdict { memory, asked: Asked::Commands { capacity } };
        let allocation = memory.memory.allocation().clone();
        // Of its own encoder, as the execution is: Metal keeps apart what encoders do to commands.
        self.close_encoder()?;
        let mut commands = lock(commands);
        let used = self.compute(0)?.encoder.use_commands(&mut commands);
        used.map_err(|failure| failure.during("use indirect commands"))?;
        let part = |at: usize| View::<u8>::new(&allocation, parts[at].start, parts[at].len());
        let told = crate::ViewMut::<u8>::new(&allocation, parts[3].start, parts[3].len());
        let range = crate::ViewMut::<u8>::new(&allocation, parts[4].start, parts[4].len());
        let encode: [Arg<'_>; 7] =
            args![part(0), part(1), part(2), records.reinterpret::<u8>()?, count.reinterpret::<u8>()?, told, range];
        self.given.push(table.kept());
        self.record_launch(&kernel, Grid::linear(capacity), &encode).map(own)?;
        // What an encoder may have been given before a call failed.
        let passed = memories.iter().filter_map(Arg::memory).map(|(memory, ..)| memory);
        let passed: Vec<_> = passed.chain([&allocation]).cloned().collect();
        let executed = self
            .close_encoder()
            .and_then(|()| self.execute_written(&mut commands, table, (&allocation, parts[4].start), memories));
        match &executed {
            Ok(()) => self.verdicts.push(memory),
            Err(_) => self.given.extend(passed.iter().map(AllocationRef::kept)),
        }
        executed
    }

    /// The execution of what was encoded.
    fn execute_written(
        &mut self,
        commands: &mut IndirectCommands,
        table: &CommandTable,
        range: (&AllocationRef, usize),
        memories: &[Arg<'_>],
    ) -> Result<()> {
        let touches = || {
            let passed = memories.iter().filter_map(Arg::memory);
            let passed = passed.map(|(memory, bytes, writes)| Touch { writes, ..read(memory, bytes) });
            passed.chain([read(range.0, range.1..range.1 + 8)])
        };
        let compute = self.compute(0)?;
        let encoded = (|| {
            let barrier = compute.hazards.barrier_for(touches());
            if barrier != Scope::NONE {
                compute.encoder.memory_barrier(barrier)?;
                compute.hazards.barrier(barrier);
            }
            // Metal does not say what an execution leaves set.
            compute.current = None;
            for (memory, _, writes) in memories.iter().filter_map(Arg::memory) {
                compute.encoder.use_buffer(memory.memory(), writes)?;
            }
            compute.encoder.execute_indirect(commands, (range.0.memory(), range.1))
        })();
        encoded.map_err(|failure: Failure| failure.during("encode indirect commands"))?;
        touches().for_each(|touch| compute.hazards.note(touch));
        table.kernels().for_each(|kernel| compute.name(kernel));
        // How often each runs only the device knows.
        for kernel in table
            .kernels()
            .filter(|kernel| !self.kernels.iter().any(|known| known.kernel.is(kernel)))
            .collect::<Vec<_>>()
        {
            self.kernels.push(Launched { kernel: kernel.clone(), launches: 0 });
        }
        let kind = |writes| if writes { DeviceUse::Write } else { DeviceUse::Read };
        self.uses.note(memories.iter().filter_map(Arg::memory).map(|(memory, _, writes)| (memory, kind(writes))));
        self.history.note(|| {
            let names: Vec<&str> = table.kernels().map(Kernel::name).collect();
            format!("commands that a kernel wrote, of {}", names.join(", "))
        });
        Ok(())
    }
}
