//! Encoders: what a program records into a command buffer, checked by Metal's validation rules while it records.
//!
//! A dispatch is recorded as a few words: the grid, and the addresses of the arguments that its pipeline uses, resolved when
//! it is encoded. The recording holds the pipelines, buffers and bytes themselves, each once, until the command buffer has
//! completed. Misuse is answered with a text in Metal's lines and records nothing.

pub(crate) mod indirect;
mod kept;
mod performance;
pub(crate) mod stage;
pub(crate) mod sync;

use std::any::Any;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::kept::hold;
use crate::command::CommandBuffer;
use crate::device::{Device, SIMD_WIDTH};
use crate::event::Fence;
use crate::executor::{Log, SAMPLERS, SLOTS, Sampler, TEXTURES, Texture as Texels};
use crate::functions::FunctionTable;
use crate::graph::Node;
use crate::memory::Buffer;
use crate::mipmap::{Mipmap, mipmaps};
use crate::overlap::Pass;
use crate::performance::{Product, Rows as MatrixRows};
use crate::pipeline::{
    BUFFER, Binding, IMAGEBLOCK, MEMORY_ALIGNMENT, Pipeline, SAMPLER, TEXTURE, VISIBLE_FUNCTION_TABLE,
};
use crate::texture::{Region, Rows, Texture};

/// A text for the program's exception.
pub(crate) type Misuse = &'static CStr;

/// What a recording keeps until the command buffer has completed.
type Held = Arc<dyn Any + Send + Sync>;

/// A recorded command.
pub(crate) enum Command {
    Dispatch(Dispatch),
    /// Ends a set of dispatches that may overlap.
    Barrier,
    Copy {
        source: *const u8,
        destination: *mut u8,
        length: usize,
    },
    Fill {
        destination: *mut u8,
        length: usize,
        value: u8,
    },
    /// Between textures, or a texture and a buffer.
    CopyRows(Rows),
    Mipmap(Mipmap),
    /// A product of matrices, of Metal Performance Shaders.
    Product(Box<Product>),
    /// A function of a matrix's rows, of the same.
    MatrixRows(Box<MatrixRows>),
    /// An operation of a graph, of the same.
    GraphNode(Box<Node>),
    /// Runs commands of an indirect command buffer.
    Execute(Box<indirect::Execute>),
    /// Writes the time.
    Sample {
        at: *const AtomicU64,
    },
}

// SAFETY: the addresses point into buffers that the recording holds; they may be used from any thread, as buffers may.
unsafe impl Send for Command {}

impl Command {
    /// Whether it computes or moves something.
    pub(crate) fn works(&self) -> bool {
        !matches!(self, Command::Barrier | Command::Sample { .. })
    }
}

/// A recorded dispatch. Ranges are of the recording's lists.
pub(crate) struct Dispatch {
    pub(crate) pipeline: u32,
    pub(crate) first_argument: u32,
    pub(crate) arguments: u32,
    /// Bytes of threadgroup memory, dynamic and static, a multiple of MEMORY_ALIGNMENT.
    pub(crate) memory: u32,
    /// Threads of the grid.
    pub(crate) threads: [u32; 3],
    /// Threadgroups of the grid.
    pub(crate) groups: [u32; 3],
    /// Threads of a whole threadgroup.
    pub(crate) group_size: [u32; 3],
    /// Where the number of threadgroups is read when the dispatch runs; NULL when it is recorded.
    pub(crate) indirect: *const AtomicU32,
    /// Number of the stage-in region from 1; 0 for none.
    pub(crate) region: u32,
    /// Number of the strides from 1; 0 for none.
    pub(crate) strides: u32,
}

impl Dispatch {
    pub(crate) fn group_count(&self) -> u64 {
        self.groups.iter().fold(1, |product, &n| product.saturating_mul(u64::from(n)))
    }

    pub(crate) fn thread_count(&self) -> u64 {
        self.threads.iter().fold(1, |product, &n| product.saturating_mul(u64::from(n)))
    }
}

/// An argument of a dispatch.
#[derive(Clone, Copy)]
pub(crate) enum Argument {
    /// `buffer` is its number in the recording's list, or BYTES.
    Buffer {
        index: u32,
        buffer: u32,
        address: *mut u8,
    },
    /// Threadgroup memory at an offset of the threadgroup's.
    Memory {
        index: u32,
        offset: u32,
    },
    /// Threadgroup memory too, of so many pixels in width and height.
    Imageblock {
        size: [u32; 2],
        offset: u32,
    },
    /// The description of a texture in the recording's list.
    Texture {
        index: u32,
        texels: *const Texels,
    },
    Sampler {
        index: u32,
        sampler: Sampler,
    },
}

// SAFETY: as for Command.
unsafe impl Send for Argument {}

/// Stands for a buffer's number where the argument is bytes given in place of a buffer.
pub(crate) const BYTES: u32 = u32::MAX;

/// What an encoder has recorded.
#[derive(Default)]
pub(crate) struct Recording {
    pub(crate) concurrent: bool,
    pub(crate) commands: Vec<Command>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) pipelines: Vec<Arc<Pipeline>>,
    pub(crate) buffers: Vec<Arc<Buffer>>,
    /// Where messages of its kernels go, set when it is run.
    pub(crate) log: Option<Arc<Log>>,
    /// Where passes overtake each other.
    pub(crate) pass: Option<Box<Pass>>,
    /// Textures, tables of functions and fences.
    held: Vec<Held>,
    /// Once there is a region, or a stride.
    stage: Option<Box<stage::Stage>>,
    /// Commands to be added when the encoder ends.
    at_end: Vec<Command>,
    /// Never resized once allocated: dispatches hold addresses inside.
    bytes: Vec<Vec<Line>>,
    /// Lines used of the last of them.
    bytes_used: usize,
}

/// Bytes of a `Line`.
const LINE: usize = 128;

/// Bytes given in place of a buffer begin at two cache lines, which is aligned enough for every type of MSL and for those of
/// OpenCL C, whose vectors of sixteen longs are aligned to their size.
#[derive(Clone, Copy)]
#[repr(align(128))]
struct Line {
    _bytes: [u8; LINE],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Compute,
    Blit,
}

/// What is bound to a buffer index.
#[derive(Clone, Copy)]
enum Slot {
    Empty,
    /// A buffer of the recording's list.
    Buffer {
        number: u32,
        offset: u64,
    },
    Bytes {
        address: *mut u8,
        length: u32,
    },
    /// A table of functions.
    Functions {
        address: *mut u8,
    },
}

/// An open or ended MTLComputeCommandEncoder or MTLBlitCommandEncoder. One is made for every few launches, so it is small enough for
/// malloc's quick sizes: what few kernels use is allocated when it is set.
pub(crate) struct Encoder {
    command_buffer: Arc<CommandBuffer>,
    /// Its number in the command buffer.
    number: usize,
    kind: Kind,
    state: Mutex<State>,
}

struct State {
    ended: bool,
    groups: usize,
    recording: Recording,
    /// Number in the recording.
    pipeline: Option<u32>,
    slots: [Slot; SLOTS],
    /// That were set with buffers; None before the first.
    strides: Option<Box<Strides>>,
    memory: [u32; SLOTS],
    /// Width and height; 0 until they are set.
    imageblock: [u32; 2],
    /// Textures by index, as far as any was bound; the recording holds them.
    textures: Vec<Option<Arc<Texture>>>,
    /// By index, as far as any was bound.
    samplers: Vec<Option<Sampler>>,
    /// Fences that this encoder updates.
    updated: Vec<Arc<Fence>>,
}

/// Strides by buffer index.
type Strides = [Option<u64>; SLOTS];

// SAFETY: the addresses in the slots point into buffers and bytes that the recording holds.
unsafe impl Send for State {}

const ENDED: Misuse = c"encoding to an encoder after endEncoding has been called";
const NOT_COMPUTE: Misuse = c"a compute command was sent to an encoder that is not a compute command encoder";
const NOT_BLIT: Misuse = c"a blit command was sent to an encoder that is not a blit command encoder";
const BAD_INDEX: Misuse = c"index must be < 31.";
const BAD_TEXTURE_INDEX: Misuse = c"index must be < 128.";
const BAD_SAMPLER_INDEX: Misuse = c"index must be < 16.";

impl Encoder {
    /// Opens a compute encoder; fails when the command buffer is committed or has another open encoder.
    pub(crate) fn compute(command_buffer: Arc<CommandBuffer>, concurrent: bool) -> Result<Encoder, Misuse> {
        Encoder::new(command_buffer, Kind::Compute, concurrent)
    }

    /// Opens a blit encoder; fails as `compute` does.
    pub(crate) fn blit(command_buffer: Arc<CommandBuffer>) -> Result<Encoder, Misuse> {
        Encoder::new(command_buffer, Kind::Blit, false)
    }

    fn new(command_buffer: Arc<CommandBuffer>, kind: Kind, concurrent: bool) -> Result<Encoder, Misuse> {
        let number = command_buffer.open_encoder()?;
        let pass = command_buffer.queue.draws.pass();
        let state = State {
            ended: false,
            groups: 0,
            recording: Recording { concurrent, pass, ..command_buffer.queue.recording() },
            pipeline: None,
            slots: [Slot::Empty; SLOTS],
            strides: None,
            memory: [0; SLOTS],
            imageblock: [0; 2],
            textures: Vec::new(),
            samplers: Vec::new(),
            updated: Vec::new(),
        };
        Ok(Encoder { command_buffer, number, kind, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, kind: Kind) -> Result<MutexGuard<'_, State>, Misuse> {
        if self.kind != kind {
            return Err(if kind == Kind::Compute { NOT_COMPUTE } else { NOT_BLIT });
        }
        let state = self.state();
        if state.ended { Err(ENDED) } else { Ok(state) }
    }

    pub(crate) fn set_label(&self, label: &CStr) {
        self.command_buffer.set_encoder_label(self.number, label.to_owned());
    }

    pub(crate) fn insert_signpost(&self, text: &CStr) {
        let position = self.state().recording.commands.len();
        self.command_buffer.add_signpost(self.number, position, CString::from(text));
    }

    pub(crate) fn push_group(&self) {
        self.state().groups += 1;
    }

    pub(crate) fn pop_group(&self) -> Result<(), Misuse> {
        let mut state = self.state();
        state.groups = state.groups.checked_sub(1).ok_or(c"popDebugGroup without a matching pushDebugGroup")?;
        Ok(())
    }

    /// Hands what was recorded to the command buffer.
    pub(crate) fn end(&self) -> Result<(), Misuse> {
        let mut state = self.state();
        if state.ended {
            return Err(c"endEncoding has already been called");
        }
        state.ended = true;
        state.textures.clear();
        state.updated.clear();
        let at_end = std::mem::take(&mut state.recording.at_end);
        state.recording.commands.extend(at_end);
        self.command_buffer.close_encoder(self.number, std::mem::take(&mut state.recording));
        Ok(())
    }

    pub(crate) fn ended(&self) -> bool {
        self.state().ended
    }

    pub(crate) fn set_pipeline(&self, pipeline: Option<Arc<Pipeline>>) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        let Some(pipeline) = pipeline else { return Err(c"computePipelineState must not be nil.") };
        if !std::ptr::eq(pipeline.device, self.command_buffer.queue.device) {
            return Err(c"computePipelineState was created with a different device than the command buffer.");
        }
        let recording = &mut state.recording;
        let known = recording.pipelines.iter().rposition(|held| Arc::ptr_eq(held, &pipeline));
        let number = known.unwrap_or_else(|| {
            recording.pipelines.push(pipeline);
            recording.pipelines.len() - 1
        });
        state.pipeline = Some(number as u32);
        Ok(())
    }

    /// Binds a buffer, or nothing.
    pub(crate) fn set_buffer(&self, buffer: Option<Arc<Buffer>>, offset: u64, index: usize) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        if index >= SLOTS {
            return Err(BAD_INDEX);
        }
        state.slots[index] = match buffer {
            None => Slot::Empty,
            Some(buffer) if !std::ptr::eq(buffer.device(), self.command_buffer.queue.device) => {
                return Err(c"buffer was created with a different device than the command buffer.");
            }
            Some(buffer) if offset > buffer.length() => return Err(c"offset must be <= [buffer length]."),
            Some(buffer) => Slot::Buffer { number: state.recording.hold(buffer), offset },
        };
        state.forget_stride(index);
        Ok(())
    }

    /// Binds a table of functions in a buffer's place, or nothing.
    pub(crate) fn set_functions(&self, table: Option<Arc<FunctionTable>>, index: usize) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        if index >= SLOTS {
            return Err(BAD_INDEX);
        }
        state.slots[index] = match table {
            None => Slot::Empty,
            Some(table) if !std::ptr::eq(table.memory.device(), self.command_buffer.queue.device) => {
                return Err(c"visibleFunctionTable was created with a different device than the command buffer.");
            }
            Some(table) => {
                let address = table.memory.contents();
                hold(&mut state.recording.held, &table);
                Slot::Functions { address }
            }
        };
        Ok(())
    }

    pub(crate) fn set_buffer_offset(&self, offset: u64, index: usize) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        let State { slots, recording, .. } = &mut *state;
        match slots.get_mut(index) {
            None => Err(BAD_INDEX),
            Some(Slot::Buffer { number, .. }) if offset > recording.buffers[*number as usize].length() => {
                Err(c"offset must be <= [buffer length].")
            }
            Some(Slot::Buffer { offset: old, .. }) => {
                *old = offset;
                Ok(())
            }
            Some(_) => Err(c"setBufferOffset:atIndex: no buffer is set at this index."),
        }
    }

    /// Binds a copy of the bytes.
    pub(crate) fn set_bytes(&self, bytes: &[u8], index: usize) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        if index >= SLOTS {
            return Err(BAD_INDEX);
        }
        if bytes.is_empty() {
            return Err(c"length must be > 0.");
        }
        if bytes.len() > 4096 {
            return Err(c"length must be <= 4096.");
        }
        let address = state.recording.keep_bytes(bytes);
        state.slots[index] = Slot::Bytes { address, length: bytes.len() as u32 };
        state.forget_stride(index);
        Ok(())
    }

    /// Binds a texture, or nothing.
    pub(crate) fn set_texture(&self, texture: Option<Arc<Texture>>, index: usize) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        if index >= TEXTURES {
            return Err(BAD_TEXTURE_INDEX);
        }
        if texture.as_ref().is_some_and(|texture| !std::ptr::eq(texture.device(), self.command_buffer.queue.device)) {
            return Err(c"texture was created with a different device than the command buffer.");
        }
        if index >= state.textures.len() {
            state.textures.resize(index + 1, None);
        }
        state.textures[index] = texture;
        Ok(())
    }

    /// Binds a sampler, or nothing.
    pub(crate) fn set_sampler(&self, sampler: Option<Sampler>, index: usize) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        if index >= SAMPLERS {
            return Err(BAD_SAMPLER_INDEX);
        }
        if index >= state.samplers.len() {
            state.samplers.resize(index + 1, None);
        }
        state.samplers[index] = sampler;
        Ok(())
    }

    pub(crate) fn set_threadgroup_memory(&self, length: u64, index: usize) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        if index >= SLOTS {
            return Err(BAD_INDEX);
        }
        state.memory[index] = threadgroup_length(self.command_buffer.queue.device, length)?;
        Ok(())
    }

    pub(crate) fn set_imageblock(&self, width: u64, height: u64) -> Result<(), Misuse> {
        self.open(Kind::Compute)?.imageblock = imageblock_size(width, height)?;
        Ok(())
    }

    /// A grid of threads; threadgroups at its edges may be smaller.
    pub(crate) fn dispatch_threads(&self, threads: [u64; 3], group_size: [u64; 3]) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        if self.dispatches_nothing(threads, group_size) {
            return Ok(());
        }
        let group_size = state.group_size(group_size)?;
        let mut grid = [0; 3];
        for axis in 0..3 {
            grid[axis] = u32::try_from(threads[axis]).map_err(|_| c"threadsPerGrid must be < 2^32 along each axis.")?;
        }
        if grid.contains(&0) {
            return Err(c"(threadsPerGrid.width * threadsPerGrid.height * threadsPerGrid.depth) must not be 0.");
        }
        let uneven = (0..3).any(|axis| !grid[axis].is_multiple_of(group_size[axis]));
        if let Some(misuse) = self.command_buffer.queue.device.refuses_uneven_grids().filter(|_| uneven) {
            return Err(misuse);
        }
        let groups = std::array::from_fn(|axis| grid[axis].div_ceil(group_size[axis]));
        state.dispatch(grid, groups, group_size)
    }

    /// A grid of whole threadgroups.
    pub(crate) fn dispatch_threadgroups(&self, groups: [u64; 3], group_size: [u64; 3]) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        if self.dispatches_nothing(groups, group_size) {
            return Ok(());
        }
        let group_size = state.group_size(group_size)?;
        let mut threads = [0; 3];
        for axis in 0..3 {
            let count = groups[axis].checked_mul(u64::from(group_size[axis])).and_then(|n| u32::try_from(n).ok());
            threads[axis] =
                count.ok_or(c"threadgroupsPerGrid * threadsPerThreadgroup must be < 2^32 along each axis.")?;
        }
        if threads.contains(&0) {
            return Err(
                c"(threadgroupsPerGrid.width * threadgroupsPerGrid.height * threadgroupsPerGrid.depth) must not be 0.",
            );
        }
        state.dispatch(threads, groups.map(|n| n as u32), group_size)
    }

    /// Without validation a grid or a threadgroup of no threads is a dispatch of nothing.
    fn dispatches_nothing(&self, grid: [u64; 3], group_size: [u64; 3]) -> bool {
        !self.command_buffer.queue.device.validates() && (grid.contains(&0) || group_size.contains(&0))
    }

    /// Dispatches recorded after this one see the writes of those before it.
    pub(crate) fn barrier(&self) -> Result<(), Misuse> {
        self.open(Kind::Compute)?.recording.commands.push(Command::Barrier);
        Ok(())
    }

    pub(crate) fn copy(
        &self,
        (source, source_offset): (&Arc<Buffer>, u64),
        (destination, destination_offset): (&Arc<Buffer>, u64),
        length: u64,
    ) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Blit)?;
        self.own([source.device(), destination.device()])?;
        if length == 0 {
            return Err(c"size must be > 0.");
        }
        if !within(source, source_offset, length) {
            return Err(c"(sourceOffset + size) must be <= [sourceBuffer length].");
        }
        if !within(destination, destination_offset, length) {
            return Err(c"(destinationOffset + size) must be <= [destinationBuffer length].");
        }
        let (from, to) = (source_offset, destination_offset);
        if Arc::ptr_eq(source, destination) && from < to + length && to < from + length {
            return Err(c"the source and destination ranges of a copy inside one buffer must not overlap.");
        }
        state.recording.hold(source.clone());
        state.recording.hold(destination.clone());
        state.recording.note(source, false);
        state.recording.note(destination, true);
        state.recording.commands.push(Command::Copy {
            source: source.contents().wrapping_add(from as usize),
            destination: destination.contents().wrapping_add(to as usize),
            length: length as usize,
        });
        Ok(())
    }

    pub(crate) fn fill(&self, buffer: &Arc<Buffer>, offset: u64, length: u64, value: u8) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Blit)?;
        self.own([buffer.device()])?;
        if length == 0 {
            return Err(c"range.length must be > 0.");
        }
        if !within(buffer, offset, length) {
            return Err(c"(range.location + range.length) must be <= [buffer length].");
        }
        state.recording.hold(buffer.clone());
        state.recording.note(buffer, true);
        let destination = buffer.contents().wrapping_add(offset as usize);
        state.recording.commands.push(Command::Fill { destination, length: length as usize, value });
        Ok(())
    }
}

/// A texture with a level and a slice of it.
type Slice<'a> = (&'a Arc<Texture>, (u64, u64));

impl Encoder {
    /// Copies between a region of a texture and a buffer from an offset on, whose rows and images lie so far apart.
    pub(crate) fn copy_with_buffer(
        &self,
        (texture, at): Slice,
        region: Region,
        (buffer, offset, apart): (&Arc<Buffer>, u64, (u64, u64)),
        into_texture: bool,
    ) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Blit)?;
        self.own([texture.device(), buffer.device()])?;
        let rows = texture.with_buffer(at, region, (buffer, offset), apart, into_texture)?;
        state.recording.hold(buffer.clone());
        hold(&mut state.recording.held, texture);
        state.recording.note(buffer, !into_texture);
        state.recording.note(texture.memory(), into_texture);
        state.recording.commands.push(Command::CopyRows(rows));
        Ok(())
    }

    /// Copies a region of a texture to a place of another.
    pub(crate) fn copy_texture(
        &self,
        (source, at): Slice,
        region: Region,
        (destination, to, origin): (&Arc<Texture>, (u64, u64), [u64; 3]),
    ) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Blit)?;
        self.own([source.device(), destination.device()])?;
        let rows = source.to_texture(at, region, destination, to, origin)?;
        hold(&mut state.recording.held, source);
        hold(&mut state.recording.held, destination);
        state.recording.note(source.memory(), false);
        state.recording.note(destination.memory(), true);
        state.recording.commands.push(Command::CopyRows(rows));
        Ok(())
    }
}

impl Encoder {
    /// Resources of a blit are of the command buffer's device.
    fn own<const N: usize>(&self, devices: [&Device; N]) -> Result<(), Misuse> {
        if devices.iter().all(|device| std::ptr::eq(*device, self.command_buffer.queue.device)) {
            return Ok(());
        }
        Err(c"a resource was created with a different device than the command buffer.")
    }

    /// Makes the levels of a texture from its first one.
    pub(crate) fn generate_mipmaps(&self, texture: &Arc<Texture>) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Blit)?;
        if !std::ptr::eq(texture.device(), self.command_buffer.queue.device) {
            return Err(c"texture was created with a different device than the command buffer.");
        }
        let levels = mipmaps(texture)?;
        hold(&mut state.recording.held, texture);
        state.recording.note(texture.memory(), true);
        state.recording.commands.extend(levels.map(Command::Mipmap));
        Ok(())
    }
}

/// Bytes of threadgroup memory that a program asks for; without validation 16 need not divide them.
pub(crate) fn threadgroup_length(device: &'static Device, length: u64) -> Result<u32, Misuse> {
    if device.validates() && !length.is_multiple_of(16) {
        return Err(c"length must be a multiple of 16 bytes.");
    }
    let length = length.checked_next_multiple_of(16).filter(|&length| length <= device.threadgroup_memory());
    length.map(|length| length as u32).ok_or(&device.texts.memory_length)
}

/// Pixels of an imageblock in width and height that a program asks for.
pub(crate) fn imageblock_size(width: u64, height: u64) -> Result<[u32; 2], Misuse> {
    // More pixels than that are no device's, of one byte each.
    let possible = |length: &u64| length.is_power_of_two() && *length <= 1 << 15;
    let width = Some(width).filter(possible).ok_or(c"width must be a power of 2, and <= 32768.")?;
    let height = Some(height).filter(possible).ok_or(c"height must be a power of 2, and <= 32768.")?;
    Ok([width as u32, height as u32])
}

/// Bytes of an imageblock of so many pixels.
pub(crate) fn imageblock_length(binding: &Binding, [width, height]: [u32; 2]) -> u64 {
    binding.data_size.saturating_mul(u64::from(width) * u64::from(height))
}

fn within(buffer: &Buffer, offset: u64, length: u64) -> bool {
    offset.checked_add(length).is_some_and(|end| end <= buffer.length())
}

impl State {
    fn forget_stride(&mut self, index: usize) {
        if let Some(strides) = &mut self.strides {
            strides[index] = None;
        }
    }

    fn group_size(&self, size: [u64; 3]) -> Result<[u32; 3], Misuse> {
        let Some(pipeline) = self.pipeline else {
            return Err(c"Must have a compute pipeline state set before a dispatch.");
        };
        let pipeline = &self.recording.pipelines[pipeline as usize];
        let total = size.iter().try_fold(1u64, |total, &n| total.checked_mul(n));
        let Some(total) = total.filter(|&total| total <= u64::from(pipeline.device.max_threads())) else {
            return Err(&pipeline.device.texts.threads);
        };
        if total == 0 {
            return Err(c"(threadsPerThreadgroup.width * threadsPerThreadgroup.height * threadsPerThreadgroup.depth) must not be 0.");
        }
        if total > u64::from(pipeline.max_threads) {
            return Err(c"(threadsPerThreadgroup.width * threadsPerThreadgroup.height * threadsPerThreadgroup.depth) must be <= maxTotalThreadsPerThreadgroup. (kernel threadgroup size limit)");
        }
        if pipeline.required_threads.is_some_and(|required| required.map(u64::from) != size) {
            return Err(
                c"threadsPerThreadgroup must match the requiredThreadsPerThreadgroup of the compute pipeline state.",
            );
        }
        if pipeline.whole_simdgroups && !total.is_multiple_of(u64::from(SIMD_WIDTH)) {
            return Err(c"(threadsPerThreadgroup.width * threadsPerThreadgroup.height * threadsPerThreadgroup.depth) must be a multiple of threadExecutionWidth (32): the pipeline was made with threadGroupSizeIsMultipleOfThreadExecutionWidth.");
        }
        Ok(size.map(|n| n as u32))
    }

    fn dispatch(&mut self, threads: [u32; 3], groups: [u32; 3], group_size: [u32; 3]) -> Result<(), Misuse> {
        let Some(number) = self.pipeline else { unreachable!("group_size has seen a pipeline") };
        let recording = &mut self.recording;
        let pipeline = &recording.pipelines[number as usize];
        let first = recording.arguments.len();
        // What counts against the limit, and where the next argument may begin: behind gaps that its alignment asks for.
        let (mut lengths, mut memory) = (pipeline.static_memory, pipeline.static_memory as u32);
        let resolved = pipeline.bindings.iter().filter(|binding| binding.used).try_for_each(|binding| {
            if binding.kind == TEXTURE {
                let into = (&mut recording.held, &mut recording.arguments, &mut recording.pass);
                return bind_textures(binding, &self.textures, into);
            }
            if binding.kind == SAMPLER {
                for index in binding.index..binding.index + binding.count {
                    let Some(&Some(sampler)) = self.samplers.get(index as usize) else {
                        return Err(MISSING_SAMPLER[index as usize]);
                    };
                    recording.arguments.push(Argument::Sampler { index, sampler });
                }
                return Ok(());
            }
            let index = binding.index;
            let slot = index as usize;
            let argument = if binding.kind == VISIBLE_FUNCTION_TABLE {
                let Slot::Functions { address } = self.slots[slot] else { return Err(MISSING_TABLE[slot]) };
                Argument::Buffer { index, buffer: BYTES, address }
            } else if binding.kind == BUFFER {
                let (buffer, address, length) = match self.slots[slot] {
                    Slot::Empty | Slot::Functions { .. } => return Err(MISSING_BUFFER[slot]),
                    Slot::Buffer { number, offset } => {
                        let held = &recording.buffers[number as usize];
                        (number, held.contents().wrapping_add(offset as usize), held.length() - offset)
                    }
                    Slot::Bytes { address, length } => (BYTES, address, u64::from(length)),
                };
                if let (Some(pass), Some(held)) = (&mut recording.pass, recording.buffers.get(buffer as usize)) {
                    pass.uses(held.tracked(), binding.access != READ_ONLY);
                }
                // A pointer needs room for one element too, as Metal checks it.
                if length < binding.data_size {
                    return Err(SHORT_BUFFER[slot]);
                }
                if binding.alignment > 1 && !(address as u64).is_multiple_of(binding.alignment) {
                    return Err(MISALIGNED_BUFFER[slot]);
                }
                match (binding.dynamic_stride, self.strides.as_ref().and_then(|strides| strides[slot])) {
                    (true, None) => return Err(MISSING_STRIDE[slot]),
                    (false, Some(_)) => return Err(UNASKED_STRIDE[slot]),
                    _ => {}
                }
                Argument::Buffer { index, buffer, address }
            } else if binding.kind == IMAGEBLOCK {
                if self.imageblock == [0; 2] {
                    return Err(
                        c"Compute Function: the size of the imageblock must be set (setImageblockWidth:height:).",
                    );
                }
                lengths = lengths.saturating_add(imageblock_length(binding, self.imageblock));
                if lengths > pipeline.device.threadgroup_memory() {
                    return Err(&pipeline.device.texts.memory_of_dispatch);
                }
                let offset = memory.next_multiple_of(binding.alignment.clamp(16, MEMORY_ALIGNMENT) as u32);
                memory = offset + imageblock_length(binding, self.imageblock) as u32;
                Argument::Imageblock { size: self.imageblock, offset }
            } else {
                let length = self.memory[slot];
                if length == 0 && pipeline.device.validates() {
                    return Err(MISSING_MEMORY[slot]);
                }
                let offset = memory.next_multiple_of(binding.alignment.clamp(16, MEMORY_ALIGNMENT) as u32);
                lengths += u64::from(length);
                memory = offset + length;
                Argument::Memory { index, offset }
            };
            recording.arguments.push(argument);
            Ok(())
        });
        let device = pipeline.device;
        if let Err(misuse) = resolved {
            recording.arguments.truncate(first);
            return Err(misuse);
        }
        if lengths > device.threadgroup_memory() {
            recording.arguments.truncate(first);
            return Err(&device.texts.memory_of_dispatch);
        }
        let strides = if pipeline.dynamic_strides { recording.keep_strides(strides_of(&self.strides)) } else { 0 };
        recording.commands.push(Command::Dispatch(Dispatch {
            pipeline: number,
            first_argument: first as u32,
            arguments: (recording.arguments.len() - first) as u32,
            memory: memory.next_multiple_of(MEMORY_ALIGNMENT as u32),
            threads,
            groups,
            group_size,
            indirect: std::ptr::null(),
            region: recording.last_region(),
            strides,
        }));
        Ok(())
    }
}

fn strides_of(strides: &Option<Box<Strides>>) -> Strides {
    strides.as_ref().map_or([None; SLOTS], |strides| **strides)
}

/// The textures of one argument, checked as Metal's validation does, and kept by the recording.
fn bind_textures(
    binding: &Binding,
    bound: &[Option<Arc<Texture>>],
    (held, arguments, pass): (&mut Vec<Held>, &mut Vec<Argument>, &mut Option<Box<Pass>>),
) -> Result<(), Misuse> {
    for index in binding.index..binding.index + binding.count {
        let slot = index as usize;
        let Some(texture) = bound.get(slot).and_then(Option::as_ref) else { return Err(MISSING_TEXTURE[slot]) };
        if texture.texture_type() != binding.texture_type {
            return Err(WRONG_TEXTURE_TYPE[slot]);
        }
        if !texture.holds(binding.data_type) {
            return Err(WRONG_TEXTURE_DATA[slot]);
        }
        let (reads, writes) = (binding.access != WRITE_ONLY, binding.access != READ_ONLY);
        if reads && !texture.readable() {
            return Err(UNREADABLE_TEXTURE[slot]);
        }
        if writes && !texture.writable() {
            return Err(UNWRITABLE_TEXTURE[slot]);
        }
        hold(held, texture);
        if let Some(pass) = pass {
            pass.uses(texture.memory().tracked(), writes);
        }
        arguments.push(Argument::Texture { index, texels: texture.texels() });
    }
    Ok(())
}

/// MTLBindingAccess.
const READ_ONLY: u32 = 0;
const WRITE_ONLY: u32 = 2;

/// One static text per index.
macro_rules! by_index {
    ($before:literal, $after:literal) => {
        by_index!(@ $before, $after, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)
    };
    (sampler $before:literal, $after:literal) => { by_index!(@ $before, $after, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15) };
    (texture $before:literal, $after:literal) => {
        by_index!(@ $before, $after, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127)
    };
    (@ $before:literal, $after:literal, $($index:literal)*) => {
        [$(match CStr::from_bytes_with_nul(concat!($before, $index, $after, "\0").as_bytes()) {
            Ok(text) => text,
            Err(_) => panic!("a text has a NUL inside"),
        }),*]
    };
}
static MISSING_BUFFER: [Misuse; SLOTS] = by_index!("Compute Function: missing Buffer binding at index ", ".");
static MISSING_TABLE: [Misuse; SLOTS] =
    by_index!("Compute Function: missing VisibleFunctionTable binding at index ", ".");
static SHORT_BUFFER: [Misuse; SLOTS] = by_index!(
    "Compute Function: the buffer at index ",
    " has, from its offset on, less space than its argument's length."
);
static MISALIGNED_BUFFER: [Misuse; SLOTS] = by_index!(
    "Compute Function: the offset into the buffer that is bound at buffer index ",
    " must be a multiple of its argument's alignment."
);
static MISSING_STRIDE: [Misuse; SLOTS] = by_index!(
    "Compute Function: the buffer at index ",
    " must be set with an attributeStride: its stride is MTLBufferLayoutStrideDynamic."
);
static UNASKED_STRIDE: [Misuse; SLOTS] = by_index!(
    "Compute Function: the buffer at index ",
    " was set with an attributeStride, and its stride is not MTLBufferLayoutStrideDynamic."
);
static MISSING_MEMORY: [Misuse; SLOTS] =
    by_index!("Compute Function: missing threadgroupMemory binding at index ", ".");
static MISSING_SAMPLER: [Misuse; SAMPLERS] =
    by_index!(sampler "Compute Function: missing Sampler binding at index ", ".");
static MISSING_TEXTURE: [Misuse; TEXTURES] =
    by_index!(texture "Compute Function: missing Texture binding at index ", ".");
static WRONG_TEXTURE_TYPE: [Misuse; TEXTURES] = by_index!(
    texture "Compute Function: the texture bound at index ", " has another textureType than its argument."
);
static WRONG_TEXTURE_DATA: [Misuse; TEXTURES] = by_index!(
    texture "Compute Function: the pixelFormat of the texture bound at index ",
    " holds components of another class than its argument's (float, signed or unsigned integer)."
);
static UNREADABLE_TEXTURE: [Misuse; TEXTURES] = by_index!(
    texture "Compute Function: the texture bound at index ", " must have the usage flag MTLTextureUsageShaderRead."
);
static UNWRITABLE_TEXTURE: [Misuse; TEXTURES] = by_index!(
    texture "Compute Function: the texture bound at index ", " must have the usage flag MTLTextureUsageShaderWrite."
);
