//! Launches that depend on what kernels wrote, without the host in between: nested launches.
//!
//! * A launch whose *number of threadgroups* is in a buffer when it runs: [`IndirectGrid`], by
//!   [`Batch::launch_indirect`]. Levels of an algorithm are recorded one behind the other; each level's kernel writes how large the next one is.
//! * *Commands* that kernels write: [`CommandRecord`]s, each a kernel of a [`CommandTable`], its threadgroups, and which of the declared memories it gets.
//!   [`Batch::run_commands`] runs them, as an indirect command buffer (`MTLIndirectCommandBuffer`) that the device encodes
//!   (Apple, "Encoding Indirect Command Buffers on the GPU"; MSL 6.16). Everything that a command can name is declared where it is
//!   recorded, and is kept until the device is done.
//!
//! [`Nested`] records both, and does them in one of two ways that give the same results, bit for bit ([`Nesting`]): on the device, or by rounds of the host, which
//! waits, reads what the kernels wrote, and launches by that. A device without indirect commands has only the second.
//!
//! The limits are checked wherever the numbers are known: sizes of threadgroups, arguments and storage when a launch is recorded; what a kernel wrote
//! when it runs. An illegal command, more commands than there is room for, or more threadgroups than were declared do not run: the submission
//! fails, names the command, and what it was to write answers [`Error::Faulted`].

mod table;

use std::ops::Range;

use bytemuck::Pod;

pub use table::{COMMAND_RECORD, CommandRecord, CommandTable, MOST_ARGUMENTS};
pub(crate) use table::{grid_too_large, too_many, wrong_command};

use crate::command::DOMAIN;
use crate::kernel::Dispatch;
use crate::raw::command::indirect::IndirectCommands;
use crate::sync::{Arc, Mutex};
use crate::{
    Accelerator, Arg, Batch, Buffer, Error, Grid, IndirectGrid, Kernel, Result, Submission, SubmissionError, View,
};

/// How launches that depend on what kernels wrote are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nesting {
    /// On the device: all is one submission.
    Device,
    /// By the host: it waits before each such launch, reads what was written, and launches by that.
    Host,
}

/// Passes through the parts of a kernel with grid barriers that are recorded before the host looks whether it has ended: so many at first, and twice as many each time.
const FIRST_PASSES: usize = 4;
const MOST_PASSES: usize = 64;

const SOURCE: &str = concat!(include_str!("record.h"), include_str!("nested.metal"));

/// A kernel of our own; its source is compiled once and found again.
pub(crate) fn own_kernel(gpu: &Accelerator, name: &str) -> Result<Kernel> {
    gpu.compile_msl(SOURCE)?.kernel(name)
}

/// The checks of an indirect launch.
pub(crate) fn indirect_dispatch(kernel: &Kernel, grid: &IndirectGrid<'_>, args: &[Arg<'_>]) -> Result<Dispatch> {
    crate::kernel::check(kernel, &grid.largest(), args)
}

impl Accelerator {
    /// The better way of nested launches that the device has: [`Nesting::Device`] where kernels can write indirect commands (Metal's family Common2, macOS 13).
    /// Launches whose number alone is read there ([`IndirectGrid`]) every device has.
    pub fn nesting(&self) -> Nesting {
        if table::is_possible(self) { Nesting::Device } else { Nesting::Host }
    }

    /// Begins work with nested launches, which are done in that way.
    ///
    /// # Errors
    /// As [`Accelerator::batch`].
    pub fn nested(&self, nesting: Nesting) -> Result<Nested> {
        Ok(Nested { accelerator: self.clone(), batch: self.batch()?, nesting, rounds: 0 })
    }
}

/// Work with nested launches: a [`Batch`], or with [`Nesting::Host`] several, one behind the other.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// # use dcmetal::nested::Nesting;
/// let gpu = Accelerator::system_default()?;
/// let source = "kernel void plan(device uint *n [[buffer(0)]]) { n[0] = 2; n[1] = n[2] = 1; }
///               kernel void fill(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = i + 7; }";
/// let library = gpu.compile_msl(source)?;
/// let (plan, fill) = (library.kernel("plan")?, library.kernel("fill")?);
/// for nesting in [Nesting::Device, Nesting::Host] {
///     let (mut count, mut y) = (gpu.buffer_zeroed::<[u32; 3]>(1)?, gpu.buffer_zeroed::<u32>(4)?);
///     let mut work = gpu.nested(nesting)?;
///     work.launch(&plan, Grid::linear(1), args![&mut count])?;
///     work.launch_indirect(&fill, IndirectGrid::new(&count, 2u32), args![&mut y])?;
///     work.finish()?;
///     assert_eq!(y.to_vec()?, [7, 8, 9, 10]);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Nested {
    accelerator: Accelerator,
    batch: Batch,
    nesting: Nesting,
    rounds: u64,
}

impl Nested {
    /// How its nested launches are done.
    pub fn nesting(&self) -> Nesting {
        self.nesting
    }

    /// How often the host waited so far, to read what kernels had written.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// What is recorded now: for copies, fills and events.
    pub fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// As [`Batch::launch`], also of kernels in OpenCL C that have grid barriers (`dc_grid_barrier`) in loops and branches: the host looks
    /// from time to time whether such a kernel has ended, and waits for that.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// # use dcmetal::nested::Nesting;
    /// let gpu = Accelerator::system_default()?;
    /// let source = "kernel void spread(global int *y, int rounds) {
    ///     int i = get_global_id(0), n = get_global_size(0);
    ///     for (int k = 0; k < rounds; k++) {
    ///         int left = y[(i + n - 1) % n];
    ///         dc_grid_barrier();
    ///         y[i] += left;
    ///         dc_grid_barrier();
    ///     }
    /// }";
    /// let spread = gpu.compile_opencl(source)?.kernel("spread")?;
    /// let mut y = gpu.buffer_from(&[1, 0, 0, 0, 0, 0])?;
    /// let mut work = gpu.nested(Nesting::Device)?;
    /// work.launch(&spread, Grid::linear(6).threadgroup(2u32), args![&mut y, 4])?;
    /// work.finish()?;
    /// assert_eq!(y.to_vec()?, [1, 4, 6, 4, 1, 0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Batch::launch`]; for a kernel with such barriers also what the work so far fails with, [`Error::ThreadgroupUneven`] for work-groups that are not
    /// whole, and [`Error::Unsupported`] when it prints.
    pub fn launch<'a>(&mut self, kernel: &Kernel, grid: Grid, args: impl AsRef<[Arg<'a>]>) -> Result<()> {
        if kernel.takes_turns() {
            return self.take_turns(kernel, &grid, args.as_ref());
        }
        self.batch.launch(kernel, grid, args)
    }

    /// Launches the parts of a kernel until none is next.
    fn take_turns(&mut self, kernel: &Kernel, grid: &Grid, args: &[Arg<'_>]) -> Result<()> {
        let foreign = || Error::Foreign { what: format!("kernel `{}`", kernel.name()) };
        kernel.accelerator().is(&self.accelerator).then_some(()).ok_or_else(foreign)?;
        if crate::kernel::printing(kernel).is_some() {
            let what =
                format!("a launch of `{}`, which prints and has grid barriers in loops or branches", kernel.name());
            return Err(Error::Unsupported { what, text: "what is printed belongs to one submission".to_owned() });
        }
        let dispatch = crate::kernel::check(kernel, grid, args)?;
        kernel.parts().iter().try_for_each(|part| crate::kernel::check(part, grid, args).map(drop))?;
        let state = kernel.state_memory(&dispatch)?;
        let state = state.as_ref().map(|state| state.allocation());
        let row = 3 * (1 + kernel.parts().len());
        let mut turns = self.accelerator.staging().buffer::<u32>(&self.accelerator, row * (1 + MOST_PASSES))?;
        let mut next = vec![0; row];
        // No part leads to the first.
        let (mut part, mut passes) = (0, FIRST_PASSES);
        loop {
            let last = if self.nesting == Nesting::Host { 1 } else { passes };
            {
                let mut rows = turns.write()?;
                rows[..row * (1 + last)].fill(0);
                rows[..row].copy_from_slice(&next);
            }
            let (launched, memory) = ((kernel, &dispatch), (state, turns.allocation()));
            match self.nesting {
                Nesting::Device => self.batch.record_passes(launched, args, memory, (last, part == 0))?,
                Nesting::Host => self.batch.record_part(launched, args, memory, part)?,
            }
            self.round()?;
            let rows = turns.read()?;
            // By the host's rounds the next part may be in the same pass.
            let ahead = if self.nesting == Nesting::Host { row * 2 } else { row };
            let behind = &rows[row * (1 + last) - ahead..row * (1 + last)];
            let found = behind.chunks(3).position(|groups| groups[0] != 0);
            let Some(found) = found else { return Ok(()) };
            part = found % (row / 3);
            if self.nesting == Nesting::Device {
                next.copy_from_slice(behind);
            }
            passes = (2 * passes).min(MOST_PASSES);
        }
    }

    /// As [`Batch::launch_indirect`].
    ///
    /// # Errors
    /// As [`Batch::launch_indirect`]; with [`Nesting::Host`] also what the work so far fails with, and [`Error::Submission`] for what is the
    /// submission's error on the device.
    pub fn launch_indirect<'a>(
        &mut self,
        kernel: &Kernel,
        grid: IndirectGrid<'_>,
        args: impl AsRef<[Arg<'a>]>,
    ) -> Result<()> {
        if self.nesting == Nesting::Device {
            return self.batch.launch_indirect(kernel, grid, args);
        }
        let args = args.as_ref();
        if !grid.count.allocation.accelerator().is(&self.accelerator) {
            return Err(Error::Foreign { what: "the number of threadgroups of an indirect launch".to_owned() });
        }
        indirect_dispatch(kernel, &grid, args)?;
        let Some(&count) = self.wrote(grid.count)?.first() else {
            return Err(Error::LengthMismatch { what: "the count of an indirect launch", wanted: 1, got: 0 });
        };
        if let Some(most) = grid.most
            && count.iter().zip(most.to_array()).any(|(&got, most)| u64::from(got) > most)
        {
            return Err(failed(vec![kernel.name().to_owned()], grid_too_large(kernel.name(), count.into(), most)));
        }
        if count.contains(&0) {
            return Ok(());
        }
        self.batch.launch(kernel, grid.of(count), args)
    }

    /// As [`Batch::run_commands`]. With [`Nesting::Host`] the commands run in their order.
    ///
    /// # Errors
    /// As [`Batch::run_commands`]; with [`Nesting::Host`] also what the work so far fails with, and [`Error::Submission`] for what is the
    /// submission's error on the device.
    pub fn run_commands<'a>(
        &mut self,
        table: &CommandTable,
        records: View<'_, CommandRecord>,
        count: View<'_, u32>,
        memories: impl AsRef<[Arg<'a>]>,
    ) -> Result<()> {
        if self.nesting == Nesting::Device {
            return self.batch.run_commands(table, records, count, memories);
        }
        let memories = memories.as_ref();
        let declared = declared(&self.accelerator, table, records, count, memories)?;
        let capacity = table.capacity().min(records.len());
        let count = self.wrote(count)?[0];
        let wrong = |text| failed(table.kernels().map(|kernel| kernel.name().to_owned()).collect(), text);
        if count as usize > capacity {
            return Err(wrong(too_many(count, capacity)));
        }
        let records = records.view(..count as usize)?.to_vec()?;
        let of = |(index, record)| table.wrong(record, &declared).map(|what| wrong_command(index as u32, what));
        if let Some(text) = records.iter().enumerate().find_map(of) {
            return Err(wrong(text));
        }
        for record in records.iter().filter(|record| !record.threadgroups.contains(&0)) {
            let (kernel, grid, args) = table::launch_of(table, record, memories);
            self.batch.launch(&kernel, grid, args)?;
        }
        Ok(())
    }

    /// Hands it to the device and waits until all of it is done.
    ///
    /// # Errors
    /// As [`Batch::submit`] and [`Submission::wait`].
    pub fn finish(self) -> Result<()> {
        self.submit()?.wait()
    }

    /// Hands what is left of it to the device: with [`Nesting::Device`], and no kernel that took rounds, that is all of it.
    ///
    /// # Errors
    /// As [`Batch::submit`].
    pub fn submit(self) -> Result<Submission> {
        self.batch.submit()
    }

    /// What is there when all that was recorded has run.
    fn wrote<T: Pod>(&mut self, view: View<'_, T>) -> Result<Vec<T>> {
        self.round()?;
        view.to_vec()
    }

    /// Waits for all that was recorded.
    fn round(&mut self) -> Result<()> {
        let next = self.accelerator.batch()?;
        self.rounds += 1;
        std::mem::replace(&mut self.batch, next).submit()?.wait()
    }
}

/// What a submission would fail with.
fn failed(kernels: Vec<String>, text: String) -> Error {
    let (encoders, commands) = (Vec::new(), Vec::new());
    let domain = DOMAIN.to_owned();
    Error::Submission(Arc::new(SubmissionError { kernels, encoders, domain, code: 1, text, commands, caused_by: None }))
}

/// The memories that commands may name, once everything of a run was checked that is known before.
fn declared(
    gpu: &Accelerator,
    table: &CommandTable,
    records: View<'_, CommandRecord>,
    count: View<'_, u32>,
    memories: &[Arg<'_>],
) -> Result<Vec<table::DeviceMemory>> {
    let foreign = |what: &str| Error::Foreign { what: what.to_owned() };
    if !table.inner.accelerator.is(gpu) {
        return Err(foreign("the table of commands"));
    }
    if !records.allocation.accelerator().is(gpu) || !count.allocation.accelerator().is(gpu) {
        return Err(foreign("the records of commands, or their count"));
    }
    if count.is_empty() {
        return Err(Error::LengthMismatch { what: "the count of commands", wanted: 1, got: 0 });
    }
    if records.is_empty() {
        return Err(Error::LengthMismatch { what: "the records of commands", wanted: 1, got: 0 });
    }
    let memory = |(number, arg): (usize, &Arg<'_>)| {
        let Some((allocation, bytes, writable)) = arg.memory() else {
            let what = format!("{} as memory {number} of commands", arg.noun());
            return Err(Error::Unsupported { what, text: "commands get buffers and views of them".to_owned() });
        };
        if !allocation.accelerator().is(gpu) {
            return Err(foreign("a memory of commands"));
        }
        let start = allocation.memory().address() + bytes.start as u64;
        let (bytes, writable) = (bytes.len() as u64, u32::from(writable));
        Ok(table::DeviceMemory { start, bytes, writable, unused: 0 })
    };
    memories.iter().enumerate().map(memory).collect()
}

/// What `dcmetal_encode` is given, in one memory.
pub(crate) struct Encoding<'a> {
    pub(crate) memory: Buffer<u8>,
    /// Head, functions, memories, what is told, and the range.
    pub(crate) parts: [Range<usize>; 5],
    pub(crate) capacity: usize,
    pub(crate) commands: &'a Mutex<IndirectCommands>,
}

impl<'a> Encoding<'a> {
    pub(crate) fn new(
        gpu: &Accelerator,
        table: &'a CommandTable,
        records: View<'_, CommandRecord>,
        count: View<'_, u32>,
        memories: &[Arg<'_>],
    ) -> Result<Encoding<'a>> {
        let memories = declared(gpu, table, records, count, memories)?;
        let Some(commands) = &table.inner.commands else {
            let (what, text) =
                ("commands that kernels write", "the device has no indirect commands that kernels can write");
            return Err(Error::Unsupported {
                what: what.to_owned(),
                text: format!("{text}: `Nesting::Host` does without"),
            });
        };
        let capacity = table.capacity().min(records.len());
        let head = table.head(crate::raw::host::lock(commands).resource_id(), capacity, memories.len());
        let functions = table.device_functions()?;
        // Nothing is told at first; and a kernel's argument has one element at least.
        let (told, range, nothing) = ([u32::MAX, 0], [0u32; 2], [0u8; size_of::<table::DeviceMemory>()]);
        let memories = if memories.is_empty() { &nothing[..] } else { bytemuck::cast_slice(&memories) };
        let parts: [&[u8]; 5] = [
            bytemuck::cast_slice(&told),
            bytemuck::cast_slice(&range),
            bytemuck::bytes_of(&head),
            bytemuck::cast_slice(&functions),
            memories,
        ];
        let mut image = Vec::new();
        let placed = parts.map(|part| {
            image.resize(image.len().next_multiple_of(CONSTANT_ALIGNMENT), 0);
            image.extend_from_slice(part);
            image.len() - part.len()..image.len()
        });
        let mut memory = gpu.staging().buffer::<u8>(gpu, image.len())?;
        memory.write()?[..image.len()].copy_from_slice(&image);
        let [told, range, head, functions, memories] = placed;
        Ok(Encoding { memory, parts: [head, functions, memories, told, range], capacity, commands })
    }
}

/// More than any GPU asks of an offset in the constant address space (Metal's feature set tables).
const CONSTANT_ALIGNMENT: usize = 256;
