//! [`CommandTable`]: what the commands of kernels may name, and where the device encodes them; [`CommandRecord`]: a command as a kernel writes it.

use std::any::Any;
use std::fmt;

use bytemuck::{Pod, Zeroable};

use crate::kernel::{self, Arg};
use crate::raw::command::indirect::IndirectCommands;
use crate::sync::{Arc, Mutex};
use crate::{Accelerator, Access, ArgumentKind, Error, Grid, Kernel, Result, Size};

/// Arguments that a command can have.
pub const MOST_ARGUMENTS: usize = 8;
/// What Apple lets one execution have on GPUs of the Mac2 family (`executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:`).
const MOST_COMMANDS: usize = 16384;
/// More than a kernel has buffer indices.
const SLOTS: usize = 31;

/// `struct dcmetal_command` as text that is MSL and OpenCL C, to stand before the kernels that write commands.
pub const COMMAND_RECORD: &str = include_str!("record.h");

/// A launch that a kernel writes: `struct dcmetal_command` of [`COMMAND_RECORD`], which kernels fill in on the device. 96 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct CommandRecord {
    /// The kernel's number in the [`CommandTable`].
    pub function: u32,
    /// How many threadgroups; with a 0 nothing runs.
    pub threadgroups: [u32; 3],
    /// The threads of one.
    pub threads: [u32; 3],
    /// If not 0, it waits for all commands before it; one without waits for none.
    pub barrier: u32,
    /// Of each of the kernel's arguments: the number of its memory among those of [`run_commands`](crate::Batch::run_commands), and the byte there
    /// at which it begins.
    pub arguments: [[u32; 2]; 8],
}

/// What commands that kernels write may name: kernels, by number. It also has the room that the device encodes them in.
///
/// Cloning shares it.
#[derive(Clone)]
pub struct CommandTable {
    pub(super) inner: Arc<Table>,
}

pub(super) struct Table {
    pub(super) accelerator: Accelerator,
    functions: Vec<Function>,
    pub(super) capacity: usize,
    /// `None` where the device has no indirect commands that kernels can write.
    pub(crate) commands: Option<Mutex<IndirectCommands>>,
}

struct Function {
    kernel: Kernel,
    most: u32,
    required: [u32; 3],
    arguments: Vec<Parameter>,
}

struct Parameter {
    slot: u32,
    least: u32,
    alignment: u32,
    written: bool,
}

/// `struct Function` of nested.metal.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct DeviceFunction {
    state: u64,
    arguments: u32,
    most: u32,
    required: [u32; 3],
    unused: u32,
    slot: [u32; 8],
    least: [u32; 8],
    alignment: [u32; 8],
    written: u32,
    unused_too: u32,
}

/// `struct Memory` of nested.metal.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct DeviceMemory {
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) writable: u32,
    pub(super) unused: u32,
}

/// `struct Head` of nested.metal.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct DeviceHead {
    commands: u64,
    capacity: u32,
    functions: u32,
    memories: u32,
    most: [u32; 3],
}

fn clamped(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn of_size(size: Size) -> [u32; 3] {
    size.to_array().map(clamped)
}

impl CommandTable {
    /// Of these kernels, numbered from 0, with room for `capacity` commands of one run, 1 to 16384.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// # use dcmetal::nested::CommandTable;
    /// let gpu = Accelerator::system_default()?;
    /// let step = gpu.compile_msl("kernel void step(device uint *x [[buffer(0)]]) { x[0]++; }")?.kernel("step")?;
    /// let table = CommandTable::new(&gpu, &[&step], 64)?;
    /// assert_eq!(table.capacity(), 64);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a kernel that a command cannot launch: one with values, textures, samplers or threadgroup memory of the launch's
    /// among its arguments (values go by a buffer), with more than 8 arguments, that prints or asks for the number of dimensions, and for no kernels
    /// or an impossible capacity; [`Error::Foreign`]; [`Error::Pipeline`] where Metal makes none of it for commands.
    pub fn new(gpu: &Accelerator, kernels: &[&Kernel], capacity: usize) -> Result<CommandTable> {
        if kernels.is_empty() || capacity == 0 || capacity > MOST_COMMANDS {
            let what = format!("a table of {} kernels for {capacity} commands", kernels.len());
            return Err(Error::Unsupported {
                what,
                text: format!("it has kernels, and room for 1 to {MOST_COMMANDS}"),
            });
        }
        let mut functions = kernels.iter().map(|kernel| Function::new(gpu, kernel)).collect::<Result<Vec<_>>>()?;
        let commands = indirect(gpu, capacity)?;
        if commands.is_some() {
            for function in &mut functions {
                let wrong = |failure: crate::raw::Failure| Error::Pipeline {
                    kernel: function.kernel.name().to_owned(),
                    domain: failure.domain,
                    code: failure.code,
                    text: failure.text,
                };
                // Compiled for itself, it may have another limit.
                let made = function.kernel.for_commands().map_err(wrong)?;
                function.most = function.most.min(u32::try_from(made.max_threads()).unwrap_or(u32::MAX));
            }
        }
        let commands = commands.map(Mutex::new);
        let accelerator = gpu.clone();
        Ok(CommandTable { inner: Arc::new(Table { accelerator, functions, capacity, commands }) })
    }

    /// How many commands one run can have.
    pub fn capacity(&self) -> usize {
        self.inner.capacity
    }

    /// The kernel of a number.
    pub fn kernel(&self, function: usize) -> Option<&Kernel> {
        self.inner.functions.get(function).map(|function| &function.kernel)
    }

    /// What an encoder that is given it needs until it has completed.
    pub(crate) fn kept(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.inner) as Arc<dyn Any + Send + Sync>
    }

    /// Each kernel.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.inner.functions.iter().map(|function| &function.kernel)
    }

    pub(super) fn head(&self, commands: u64, capacity: usize, memories: usize) -> DeviceHead {
        DeviceHead {
            commands,
            capacity: capacity as u32,
            functions: self.inner.functions.len() as u32,
            memories: memories as u32,
            most: of_size(self.inner.accelerator.limits().max_threads_per_threadgroup),
        }
    }

    pub(super) fn device_functions(&self) -> Result<Vec<DeviceFunction>> {
        let device = |function: &Function| {
            let pipeline =
                function.kernel.for_commands().map_err(|failure| failure.during("make a pipeline for commands"))?;
            let mut made = DeviceFunction {
                state: pipeline.resource_id(),
                arguments: function.arguments.len() as u32,
                most: function.most,
                required: function.required,
                ..DeviceFunction::zeroed()
            };
            for (at, parameter) in function.arguments.iter().enumerate() {
                made.slot[at] = parameter.slot;
                made.least[at] = parameter.least;
                made.alignment[at] = parameter.alignment;
                made.written |= u32::from(parameter.written) << at;
            }
            Ok(made)
        };
        self.inner.functions.iter().map(device).collect()
    }

    /// What is wrong with a command: the reason, and behind it the number of the argument, as the device tells them (`wrong` in nested.metal).
    pub(super) fn wrong(&self, record: &CommandRecord, memories: &[DeviceMemory]) -> Option<u32> {
        let Some(function) = self.inner.functions.get(record.function as usize) else { return Some(1 << 4) };
        let most = of_size(self.inner.accelerator.limits().max_threads_per_threadgroup);
        if record.threads.iter().zip(most).any(|(&threads, most)| threads == 0 || threads > most) {
            return Some(2 << 4);
        }
        if record.threads.iter().fold(1u64, |all, &threads| all.saturating_mul(threads.into())) > function.most.into() {
            return Some(3 << 4);
        }
        if function.required[0] != 0 && record.threads != function.required {
            return Some(4 << 4);
        }
        let grid = record.threadgroups.iter().zip(record.threads);
        if grid.into_iter().any(|(&groups, threads)| u64::from(groups) * u64::from(threads) > u32::MAX.into()) {
            return Some(5 << 4);
        }
        for (at, (parameter, &[number, offset])) in function.arguments.iter().zip(&record.arguments).enumerate() {
            let at = at as u32;
            let Some(memory) = memories.get(number as usize) else { return Some(6 << 4 | at) };
            if !(memory.start + u64::from(offset)).is_multiple_of(parameter.alignment.into()) {
                return Some(7 << 4 | at);
            }
            if u64::from(offset) + u64::from(parameter.least) > memory.bytes {
                return Some(8 << 4 | at);
            }
            if parameter.written && memory.writable == 0 {
                return Some(9 << 4 | at);
            }
        }
        None
    }
}

impl fmt::Debug for CommandTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.kernels().map(Kernel::name).collect();
        f.debug_struct("CommandTable").field("kernels", &names).field("capacity", &self.capacity()).finish()
    }
}

impl Function {
    fn new(gpu: &Accelerator, kernel: &Kernel) -> Result<Function> {
        if !kernel.accelerator().is(gpu) {
            return Err(Error::Foreign { what: format!("kernel `{}`", kernel.name()) });
        }
        let cannot =
            |text: String| Err(Error::Unsupported { what: format!("a command of kernel `{}`", kernel.name()), text });
        if kernel.arguments().len() > MOST_ARGUMENTS {
            return cannot(format!("it has {} arguments, and {MOST_ARGUMENTS} are possible", kernel.arguments().len()));
        }
        if kernel::printing(kernel).is_some() {
            return cannot("it prints".to_owned());
        }
        if kernel::asks_for_launch(kernel) {
            let asks = "it asks for the number of dimensions or the format of images, which a launch passes, or has grid barriers";
            return cannot(asks.to_owned());
        }
        let mut arguments = Vec::new();
        for argument in kernel.arguments() {
            if argument.kind != ArgumentKind::Buffer || argument.slot >= SLOTS {
                return cannot(format!(
                    "its argument `{}` is {}, and a command has buffers",
                    argument.name, argument.kind
                ));
            }
            arguments.push(Parameter {
                slot: argument.slot as u32,
                least: clamped(argument.size.max(1)),
                alignment: clamped(argument.alignment.max(1)),
                written: argument.access != Access::ReadOnly,
            });
        }
        let required = kernel.required_threadgroup().map_or([0; 3], of_size);
        let most = clamped(kernel.max_threads_per_threadgroup());
        Ok(Function { kernel: kernel.clone(), most, required, arguments })
    }
}

/// Room for commands that a kernel writes; `None` where the device or the system has no such.
fn indirect(gpu: &Accelerator, capacity: usize) -> Result<Option<IndirectCommands>> {
    match IndirectCommands::for_kernels(gpu.device(), capacity, SLOTS) {
        Ok(mut commands) => Ok((commands.resource_id() != 0).then_some(commands)),
        Err(failure) if failure.status == dcmetal_sys::DC_METAL_UNSUPPORTED => Ok(None),
        Err(failure) => Err(failure.of_nothing(gpu.device(), "make indirect commands", None)),
    }
}

/// Whether kernels can write commands there.
pub(super) fn is_possible(gpu: &Accelerator) -> bool {
    matches!(indirect(gpu, 1), Ok(Some(_)))
}

/// Launches a checked command by itself: its dispatch and arguments, of these memories.
pub(super) fn launch_of<'a>(
    table: &CommandTable,
    record: &CommandRecord,
    memories: &'a [Arg<'a>],
) -> (Kernel, Grid, Vec<Arg<'a>>) {
    let function = &table.inner.functions[record.function as usize];
    let args = record.arguments.iter().take(function.arguments.len());
    let args = args.map(|&[number, offset]| memories[number as usize].starting_at(offset as usize)).collect();
    (function.kernel.clone(), Grid::threadgroups(record.threadgroups, record.threads), args)
}

/// The text of what is wrong with a command.
pub(crate) fn wrong_command(index: u32, what: u32) -> String {
    let argument = what & 15;
    let text = match what >> 4 {
        1 => "the table has no kernel of its number".to_owned(),
        2 => "the threads of its threadgroup are 0, or above the device's limit, along an axis".to_owned(),
        3 => "its threadgroup has more threads than its kernel can have".to_owned(),
        4 => "its threadgroup is not of the size that its kernel requires".to_owned(),
        5 => "its grid has 2^32 threads or more along an axis".to_owned(),
        6 => format!("argument {argument}: there is no memory of its number"),
        7 => format!("argument {argument}: it does not begin where the kernel's type may"),
        8 => format!("argument {argument}: no element is left behind its offset"),
        9 => format!("argument {argument}: the kernel may write it, and the memory was passed for reading"),
        _ => "something overwrote what is told of it".to_owned(),
    };
    format!("command {index}: {text}")
}

/// The text of too many commands.
pub(crate) fn too_many(count: u32, capacity: usize) -> String {
    format!("{count} commands, where {capacity} are possible")
}

/// The text of an indirect launch beyond its declared maximum.
pub(crate) fn grid_too_large(kernel: &str, got: Size, most: Size) -> String {
    format!("kernel `{kernel}`: {got} threadgroups, where at most {most} were declared")
}
