//! Encoders: commands of indirect command buffers, which are looked at when they run.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{
    Argument, BYTES, Command, Dispatch, Encoder, Kind, Misuse, Recording, Slot, Strides, hold, imageblock_length,
    imageblock_size, strides_of, within,
};
use crate::command::{ErrorCode, Failure};
use crate::commands::{Commands, Record, THREADS};
use crate::device::SIMD_WIDTH;
use crate::executor::SLOTS;
use crate::memory::Buffer;
use crate::pipeline::{BUFFER, IMAGEBLOCK, MEMORY_ALIGNMENT, Pipeline, THREADGROUP_MEMORY};

/// A recorded executeCommandsInBuffer.
pub(crate) struct Execute {
    commands: Arc<Commands>,
    range: Range<u64>,
    /// Where location and length are read when it runs; NULL when they are recorded.
    indirect: *const AtomicU32,
    /// What commands inherit.
    pipeline: Option<Arc<Pipeline>>,
    buffers: [u64; SLOTS],
    strides: Strides,
}

/// Bytes of MTLIndirectCommandBufferExecutionRange.
const RANGE_BYTES: u64 = 8;

impl Encoder {
    /// Executes some commands.
    pub(crate) fn execute(&self, commands: Arc<Commands>, range: Range<u64>) -> Result<(), Misuse> {
        commands.bytes(range.clone())?;
        self.execute_from(commands, range, None)
    }

    /// Executes the commands that two 32-bit numbers of the buffer, location and length, name when it runs.
    pub(crate) fn execute_indirect(
        &self,
        commands: Arc<Commands>,
        buffer: &Arc<Buffer>,
        offset: u64,
    ) -> Result<(), Misuse> {
        if !offset.is_multiple_of(4) {
            return Err(c"indirectBufferOffset must be a multiple of 4.");
        }
        if !within(buffer, offset, RANGE_BYTES) {
            return Err(c"(indirectBufferOffset + sizeof(MTLIndirectCommandBufferExecutionRange)) must be <= [indirectRangeBuffer length].");
        }
        self.execute_from(commands, 0..0, Some((buffer, offset)))
    }

    fn execute_from(
        &self,
        commands: Arc<Commands>,
        range: Range<u64>,
        place: Option<(&Arc<Buffer>, u64)>,
    ) -> Result<(), Misuse> {
        let mut state = self.open(Kind::Compute)?;
        let device = self.command_buffer.queue.device;
        if !std::ptr::eq(commands.memory.device(), device)
            || place.is_some_and(|(buffer, _)| !std::ptr::eq(buffer.device(), device))
        {
            return Err(c"the indirect command buffer was created with a different device than the command buffer.");
        }
        let pipeline = state.pipeline.map(|number| state.recording.pipelines[number as usize].clone());
        let pipeline = pipeline.filter(|_| commands.limits.inherit_pipeline);
        if commands.limits.inherit_pipeline && pipeline.is_none() {
            return Err(c"the commands inherit the compute pipeline state, and the encoder has none.");
        }
        let mut buffers = [0; SLOTS];
        if commands.limits.inherit_buffers {
            buffers = state.slots.map(|slot| match slot {
                Slot::Empty => 0,
                Slot::Buffer { number, offset } => state.recording.buffers[number as usize].contents() as u64 + offset,
                Slot::Bytes { address, .. } => address as u64,
                // Commands cannot have one.
                Slot::Functions { .. } => 0,
            });
        }
        let indirect = place.map_or(std::ptr::null(), |(buffer, offset)| {
            state.recording.hold(buffer.clone());
            state.recording.note(buffer, false);
            buffer.contents().wrapping_add(offset as usize).cast::<AtomicU32>().cast_const()
        });
        state.recording.note(&commands.memory, false);
        if commands.limits.inherit_buffers {
            // What the commands do with them is not known.
            for slot in state.slots {
                let Slot::Buffer { number, .. } = slot else { continue };
                let recording = &mut state.recording;
                if let Some(pass) = &mut recording.pass {
                    pass.uses(recording.buffers[number as usize].tracked(), true);
                }
            }
        }
        let execute = Execute { commands, range, indirect, pipeline, buffers, strides: strides_of(&state.strides) };
        state.recording.commands.push(Command::Execute(Box::new(execute)));
        Ok(())
    }

    /// Makes commands of a range none.
    pub(crate) fn reset_commands(&self, commands: &Commands, range: Range<u64>) -> Result<(), Misuse> {
        let (destination, length) = commands.bytes(range)?;
        let mut state = self.open(Kind::Blit)?;
        self.own([commands.memory.device()])?;
        state.recording.hold(commands.memory.clone());
        state.recording.note(&commands.memory, true);
        state.recording.commands.push(Command::Fill { destination, length, value: 0 });
        Ok(())
    }

    /// Copies commands of a range to another place.
    pub(crate) fn copy_commands(
        &self,
        source: &Commands,
        range: Range<u64>,
        destination: &Commands,
        index: u64,
    ) -> Result<(), Misuse> {
        let count = range.end.saturating_sub(range.start);
        let (from, length) = source.bytes(range)?;
        let end = index.checked_add(count).ok_or(c"destinationIndex is too large.")?;
        let (to, _) = destination.bytes(index..end)?;
        if source.limits != destination.limits {
            return Err(c"both indirect command buffers must have been made with equal descriptors.");
        }
        let mut state = self.open(Kind::Blit)?;
        self.own([source.memory.device(), destination.memory.device()])?;
        let copying = destination.keep_those_of(source);
        hold(&mut state.recording.held, &copying);
        state.recording.hold(source.memory.clone());
        state.recording.hold(destination.memory.clone());
        state.recording.note(&source.memory, false);
        state.recording.note(&destination.memory, true);
        state.recording.commands.push(Command::Copy { source: from, destination: to, length });
        Ok(())
    }

    /// For calls that have nothing to do: the encoder must be open.
    pub(crate) fn optimize_commands(&self, commands: &Commands, range: Range<u64>) -> Result<(), Misuse> {
        commands.bytes(range)?;
        self.open(Kind::Blit).map(drop)
    }
}

/// The dispatches that a recorded execution stands for now, as a concurrent encoder would have recorded them. A command's barrier is
/// its own: "commands executed prior to this command are complete before this command executes" (Apple,
/// `-[MTLIndirectComputeCommand setBarrier]`), which keeps no later command waiting. So all that have none come first, and programs that
/// count on more see it.
pub(crate) fn resolve(execute: &Execute) -> Result<Recording, Failure> {
    let mut range = execute.range.clone();
    if !execute.indirect.is_null() {
        // SAFETY: the encoder checked the place's alignment and that it lies in a buffer, which the recording holds.
        let place = unsafe { std::slice::from_raw_parts(execute.indirect, 2) };
        let [location, length] = [0, 1].map(|at: usize| u64::from(place[at].load(Ordering::Relaxed)));
        range = location..location + length;
        if range.end > execute.commands.count {
            let count = execute.commands.count;
            return Err(failure(
                ErrorCode::Internal,
                format!(
                    "Internal Error: the range of commands {location}, {length} is not within the {count} of the indirect command buffer"
                ),
            ));
        }
    }
    let mut recording = Recording { concurrent: true, ..Recording::default() };
    let mut waiting = Vec::new();
    for index in range {
        let Some(record) = execute.commands.record(index) else { unreachable!("the range was checked") };
        if record.kind == 0 {
            continue;
        }
        let first = recording.commands.len();
        add(execute, &record, &mut recording).map_err(|(code, text)| {
            let before = if code == ErrorCode::InvalidResource {
                "Invalid Resource (00000009:kIOGPUCommandBufferCallbackErrorInvalidResource)"
            } else {
                "Internal Error"
            };
            failure(code, format!("{before}: command {index} of an indirect command buffer: {text}"))
        })?;
        if record.barrier != 0 {
            waiting.extend(recording.commands.drain(first..).flat_map(|dispatch| [Command::Barrier, dispatch]));
        }
    }
    recording.commands.append(&mut waiting);
    Ok(recording)
}

fn failure(code: ErrorCode, text: String) -> Failure {
    Failure { code, text, place: (0, 0) }
}

/// Adds the dispatch of one command.
fn add(execute: &Execute, record: &Record, recording: &mut Recording) -> Result<(), (ErrorCode, String)> {
    let wrong = |text: String| Err((ErrorCode::Internal, text));
    let limits = &execute.commands.limits;
    let device = execute.commands.memory.device();
    if limits.kinds & record.kind == 0 || !record.kind.is_power_of_two() {
        return wrong("its type is not among commandTypes".to_owned());
    }
    let pipeline = match &execute.pipeline {
        Some(pipeline) => pipeline.clone(),
        None => {
            let found = Pipeline::of_handle(record.pipeline).filter(|pipeline| std::ptr::eq(pipeline.device, device));
            found.ok_or_else(|| {
                let text = "its compute pipeline state is not a living one of this device";
                (ErrorCode::InvalidResource, text.to_owned())
            })?
        }
    };
    let name = &pipeline.name;
    let [x, y, z] = record.size;
    let total = u64::from(x).saturating_mul(u64::from(y)).saturating_mul(u64::from(z));
    if total == 0 || total > u64::from(pipeline.max_threads) {
        let most = pipeline.max_threads;
        return wrong(format!(
            "kernel {name:?}: a threadgroup of {x} x {y} x {z} threads, where 1 to {most} are possible"
        ));
    }
    if let Some([a, b, c]) = pipeline.required_threads.filter(|required| *required != record.size) {
        return wrong(format!(
            "kernel {name:?}: a threadgroup of {x} x {y} x {z} threads, where {a} x {b} x {c} are required"
        ));
    }
    if pipeline.whole_simdgroups && !total.is_multiple_of(u64::from(SIMD_WIDTH)) {
        return wrong(format!("kernel {name:?}: {total} threads are not whole SIMD-groups"));
    }
    if record.grid.contains(&0) {
        return Ok(());
    }
    let (mut threads, mut groups) = (record.grid, record.grid);
    for axis in 0..3 {
        if record.kind == THREADS {
            groups[axis] = threads[axis].div_ceil(record.size[axis]);
            if device.refuses_uneven_grids().is_some() && !threads[axis].is_multiple_of(record.size[axis]) {
                return wrong(format!("kernel {name:?}: the device has no threadgroups of different sizes"));
            }
        } else {
            let Some(all) = groups[axis].checked_mul(record.size[axis]) else {
                return wrong(format!("kernel {name:?}: 2^32 threads or more along an axis"));
            };
            threads[axis] = all;
        }
    }
    if pipeline.dynamic_strides && !limits.strides {
        return wrong(format!(
            "kernel {name:?}: the indirect command buffer was made without supportDynamicAttributeStride"
        ));
    }
    let first = recording.arguments.len();
    let mut strides = [None; SLOTS];
    let (mut lengths, mut memory) = (pipeline.static_memory, pipeline.static_memory as u32);
    for binding in pipeline.bindings.iter().filter(|binding| binding.used) {
        let (index, slot) = (binding.index, binding.index as usize);
        let argument = match binding.kind {
            BUFFER => {
                let address = match limits.inherit_buffers {
                    true => execute.buffers[slot],
                    false if index < limits.buffers => record.buffer[slot],
                    false => 0,
                };
                if address == 0 {
                    return wrong(format!("kernel {name:?}: missing Buffer binding at index {index}"));
                }
                if binding.alignment > 1 && !address.is_multiple_of(binding.alignment) {
                    return wrong(format!(
                        "kernel {name:?}: the buffer at index {index} is not aligned as its argument"
                    ));
                }
                strides[slot] = match limits.inherit_buffers {
                    true => execute.strides[slot],
                    false => record.stride[slot].checked_sub(1),
                };
                match (binding.dynamic_stride, strides[slot]) {
                    (true, None) => {
                        return wrong(format!(
                            "kernel {name:?}: the buffer at index {index} is set without its stride"
                        ));
                    }
                    (false, Some(_)) => {
                        return wrong(format!(
                            "kernel {name:?}: the buffer at index {index} is set with a stride, which its layout has already"
                        ));
                    }
                    _ => {}
                }
                Argument::Buffer { index, buffer: BYTES, address: address as *mut u8 }
            }
            THREADGROUP_MEMORY => {
                let length = if index < limits.memory { record.memory[slot] } else { 0 };
                if (length == 0 && device.validates())
                    || !length.is_multiple_of(16)
                    || u64::from(length) > device.threadgroup_memory()
                {
                    return wrong(format!("kernel {name:?}: {length} bytes of threadgroup memory at index {index}"));
                }
                let offset = memory.next_multiple_of(binding.alignment.clamp(16, MEMORY_ALIGNMENT) as u32);
                lengths += u64::from(length);
                memory = offset + length;
                if lengths > device.threadgroup_memory() {
                    return wrong(format!("kernel {name:?}: {lengths} bytes of threadgroup memory are too many"));
                }
                Argument::Memory { index, offset }
            }
            IMAGEBLOCK => {
                let [width, height] = record.imageblock;
                let Ok(size) = imageblock_size(u64::from(width), u64::from(height)) else {
                    return wrong(format!("kernel {name:?}: an imageblock of {width} x {height} pixels"));
                };
                lengths = lengths.saturating_add(imageblock_length(binding, size));
                if lengths > device.threadgroup_memory() {
                    return wrong(format!("kernel {name:?}: {lengths} bytes of threadgroup memory are too many"));
                }
                let offset = memory.next_multiple_of(binding.alignment.clamp(16, MEMORY_ALIGNMENT) as u32);
                memory = offset + imageblock_length(binding, size) as u32;
                Argument::Imageblock { size, offset }
            }
            _ => {
                return wrong(format!(
                    "kernel {name:?}: a command cannot set its texture, sampler or function table at index {index}; an argument buffer can"
                ));
            }
        };
        recording.arguments.push(argument);
    }
    let strides = if pipeline.dynamic_strides { recording.keep_strides(strides) } else { 0 };
    let region = if record.region != 0 { recording.keep_region(record.origin, record.extent) } else { 0 };
    let known = recording.pipelines.iter().rposition(|held| Arc::ptr_eq(held, &pipeline));
    let number = known.unwrap_or_else(|| {
        recording.pipelines.push(pipeline);
        recording.pipelines.len() - 1
    });
    recording.commands.push(Command::Dispatch(Dispatch {
        pipeline: number as u32,
        first_argument: first as u32,
        arguments: (recording.arguments.len() - first) as u32,
        memory: memory.next_multiple_of(MEMORY_ALIGNMENT as u32),
        threads,
        groups,
        group_size: record.size,
        indirect: std::ptr::null(),
        region,
        strides,
    }));
    Ok(())
}
