//! The checks of a launch, all made before anything is encoded.

use super::args::{Arg, Element, Passed, PassedBuffer};
use super::argument::{Access, Argument, ArgumentKind, Scalar, TextureKind, TextureSlot};
use super::{Kernel, Pipeline, ThreadgroupReason};
use crate::error::Place;
use crate::grid::{Extent, Grid, Size};
use crate::{Error, Result, Sampler, Texture};

/// Metal copies at most this many bytes of a value into a command (Apple, `setBytes:length:atIndex:`).
const MAX_VALUE_BYTES: usize = 4096;
/// Threadgroup memory is given in multiples of this (Apple, `setThreadgroupMemoryLength:atIndex:`).
const THREADGROUP_UNIT: u64 = 16;
/// A thread's position in the grid is three `uint`s (MSL specification, section 5.2.3.6).
const MAX_GRID: u64 = u32::MAX as u64;

/// The dispatch of a launch that passed its checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dispatch {
    pub(crate) extent: Extent,
    pub(crate) threadgroup: Size,
    /// 1 to 3.
    pub(crate) dimensions: u32,
}

/// Bytes of threadgroup memory as Metal takes them.
pub(crate) fn threadgroup_length(bytes: u64) -> u64 {
    bytes.max(1).checked_next_multiple_of(THREADGROUP_UNIT).unwrap_or(u64::MAX)
}

/// Checks grid and arguments against the kernel.
pub(crate) fn check(kernel: &Kernel, grid: &Grid, args: &[Arg<'_>]) -> Result<Dispatch> {
    let pipeline = kernel.pipeline();
    if args.len() != pipeline.arguments.len() {
        return Err(Error::ArgumentCount {
            kernel: pipeline.name.clone(),
            wanted: pipeline.arguments.len(),
            got: args.len(),
            arguments: pipeline.arguments.iter().map(|argument| argument.name.clone()).collect(),
        });
    }
    let mut dynamic = 0u64;
    for (argument, arg) in pipeline.arguments.iter().zip(args) {
        check_argument(pipeline, argument, arg)?;
        if let Passed::Threadgroup { bytes } = arg.passed {
            dynamic = dynamic.saturating_add(threadgroup_length(bytes));
        }
    }
    let (_, threadgroup, _) = check_grid(pipeline, grid)?;
    let limit = pipeline.accelerator.limits().max_threadgroup_memory;
    if pipeline.static_threadgroup_memory.saturating_add(dynamic) > limit {
        return Err(Error::ThreadgroupMemory {
            kernel: pipeline.name.clone(),
            fixed: pipeline.static_threadgroup_memory,
            dynamic,
            limit,
        });
    }
    Ok(Dispatch { extent: grid.extent, threadgroup, dimensions: grid.dimensions() })
}

fn place(pipeline: &Pipeline, argument: &Argument) -> Box<Place> {
    Box::new(Place { kernel: pipeline.name.clone(), argument: argument.name.clone(), position: argument.position })
}

fn check_argument(pipeline: &Pipeline, argument: &Argument, arg: &Arg<'_>) -> Result<()> {
    match (argument.kind, &arg.passed) {
        (ArgumentKind::Buffer, Passed::Buffer(buffer)) => check_buffer(pipeline, argument, arg, buffer),
        (ArgumentKind::Value, Passed::Value { bytes, element, lanes }) => {
            check_value(pipeline, argument, bytes.as_slice(), *element, *lanes)
        }
        // MSL cannot tell `constant T&` from a buffer that is only read.
        (ArgumentKind::Buffer, Passed::Value { bytes, element, lanes }) if !pipeline.is_opencl => {
            if argument.access != Access::ReadOnly {
                return Err(read_only(pipeline, argument, arg));
            }
            check_value(pipeline, argument, bytes.as_slice(), *element, *lanes)
        }
        (ArgumentKind::Threadgroup, Passed::Threadgroup { bytes }) => {
            if *bytes >= argument.size.max(1) {
                return Ok(());
            }
            let place = place(pipeline, argument);
            Err(Error::BufferTooShort { place, wanted: argument.size.max(1), got: *bytes })
        }
        (ArgumentKind::Texture { kind }, Passed::Texture { texture, writable }) => {
            check_texture(pipeline, argument, arg, kind, (texture, *writable))
        }
        // OpenCL C's samplers are numbers, of which `Sampler` has those that Metal's samplers are too.
        (ArgumentKind::Sampler, Passed::Value { bytes, element, lanes }) if pipeline.is_opencl => {
            check_value(pipeline, argument, bytes.as_slice(), *element, *lanes)
        }
        (ArgumentKind::Sampler, Passed::Sampler(sampler)) => check_sampler(pipeline, argument, sampler),
        _ => {
            let place = place(pipeline, argument);
            Err(Error::ArgumentKind { place, wanted: argument.kind, got: arg.noun() })
        }
    }
}

fn read_only(pipeline: &Pipeline, argument: &Argument, arg: &Arg<'_>) -> Error {
    Error::ArgumentReadOnly { place: place(pipeline, argument), access: argument.access, got: arg.noun() }
}

fn check_buffer(pipeline: &Pipeline, argument: &Argument, arg: &Arg<'_>, buffer: &PassedBuffer<'_>) -> Result<()> {
    if !buffer.allocation.accelerator().is(&pipeline.accelerator) {
        return Err(Error::Foreign { what: place(pipeline, argument).to_string() });
    }
    if !buffer.writable && argument.access != Access::ReadOnly {
        return Err(read_only(pipeline, argument, arg));
    }
    if !elements_fit(argument, buffer.element) {
        return Err(wrong_type(pipeline, argument, buffer.element.name));
    }
    // A view of no elements holds none of the kernel's either, even where Metal does not tell a size.
    if (buffer.bytes as u64) < argument.size.max(1) {
        let place = place(pipeline, argument);
        return Err(Error::BufferTooShort { place, wanted: argument.size.max(1), got: buffer.bytes as u64 });
    }
    if !(buffer.offset as u64).is_multiple_of(argument.alignment.max(1)) {
        return Err(Error::ArgumentAlignment {
            place: place(pipeline, argument),
            wanted: argument.alignment,
            got: buffer.offset as u64,
        });
    }
    Ok(())
}

fn check_texture(
    pipeline: &Pipeline,
    argument: &Argument,
    arg: &Arg<'_>,
    kind: TextureKind,
    (texture, writable): (&Texture, bool),
) -> Result<()> {
    if !texture.allocation.accelerator().is(&pipeline.accelerator) {
        return Err(Error::Foreign { what: place(pipeline, argument).to_string() });
    }
    if !writable && argument.access != Access::ReadOnly {
        return Err(read_only(pipeline, argument, arg));
    }
    let format = texture.format();
    // What a kernel does not use may have any format.
    let fits = argument.textures.is_empty() || argument.textures.iter().any(|slot| fits(slot, texture));
    if texture.kind() != kind || !fits {
        return Err(Error::ArgumentType {
            place: place(pipeline, argument),
            wanted: wanted_texture(pipeline, argument),
            got: format!("a {} of {format}", texture.kind().name()),
        });
    }
    if pipeline.image_formats_slot.is_some() && format.opencl().is_none() {
        let what = format!("{}: a texture of {format}", place(pipeline, argument));
        return Err(Error::Unsupported {
            what,
            text: "OpenCL, whose kernel asks for the format, has none of it".into(),
        });
    }
    Ok(())
}

/// Whether the texture is of the components that this one of the kernel's has.
pub(super) fn fits(slot: &TextureSlot, texture: &Texture) -> bool {
    slot.scalar.map(component) == Some(texture.format().component())
}

/// MSL's types say which components a texture has.
fn wanted_texture(pipeline: &Pipeline, argument: &Argument) -> String {
    let scalars: Vec<&str> = argument.textures.iter().filter_map(|slot| slot.scalar).map(Scalar::name).collect();
    match pipeline.is_opencl && !scalars.is_empty() {
        true => format!("{} of {}", argument.type_name, scalars.join(" or ")),
        false => argument.type_name.clone(),
    }
}

/// What textures with such components hold.
fn component(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::F16 => Scalar::F32,
        Scalar::I16 => Scalar::I32,
        Scalar::U16 => Scalar::U32,
        other => other,
    }
}

fn check_sampler(pipeline: &Pipeline, argument: &Argument, sampler: &Sampler) -> Result<()> {
    if !sampler.accelerator.is(&pipeline.accelerator) {
        return Err(Error::Foreign { what: place(pipeline, argument).to_string() });
    }
    if pipeline.is_opencl && sampler.descriptor().opencl().is_none() {
        let what = format!("{}: {sampler:?}", place(pipeline, argument));
        let text = "OpenCL's samplers have one address mode and no border color".to_owned();
        return Err(Error::Unsupported { what, text });
    }
    Ok(())
}

fn wrong_type(pipeline: &Pipeline, argument: &Argument, got: &str) -> Error {
    Error::ArgumentType {
        place: place(pipeline, argument),
        wanted: argument.type_name.clone(),
        got: short_name(got).to_owned(),
    }
}

/// `glam::f32::Vec4` as `Vec4`, numbers in MSL's words.
fn short_name(rust: &str) -> &str {
    match rust {
        "f32" => "float",
        "i8" => "char",
        "u8" => "uchar",
        "i16" => "short",
        "u16" => "ushort",
        "i32" => "int",
        "u32" => "uint",
        "i64" => "long",
        "u64" => "ulong",
        "half::binary16::f16" => "half",
        "half::bfloat::bf16" => "bfloat",
        other => other,
    }
}

/// Whether a buffer of these elements can be the kernel's: bytes fit anything; numbers must be the same scalar, and
/// either side's element a whole number of the other's (floats as `float4`, `[f32; 4]` as `float`); a struct must have
/// the struct's size.
fn elements_fit(argument: &Argument, element: Element) -> bool {
    if element.is_raw_bytes() || argument.size == 0 {
        return true;
    }
    let (wanted, got) = (argument.size, element.size as u64);
    match (argument.scalar, element.scalar) {
        (Some(Scalar::Bool), Some(scalar)) => scalar.size() == 1 && got == wanted,
        (Some(a), Some(b)) => a == b && (wanted.is_multiple_of(got) || got.is_multiple_of(wanted)),
        (Some(_), None) => wanted.is_multiple_of(got) || got.is_multiple_of(wanted),
        (None, _) => wanted == got,
    }
}

fn check_value(
    pipeline: &Pipeline,
    argument: &Argument,
    bytes: &[u8],
    element: Option<Element>,
    lanes: usize,
) -> Result<()> {
    if bytes.len() > MAX_VALUE_BYTES {
        let place = place(pipeline, argument);
        return Err(Error::ValueTooLarge { place, got: bytes.len() as u64, limit: MAX_VALUE_BYTES as u64 });
    }
    if let (Some(wanted), Some(Element { name, scalar: Some(got), .. })) = (argument.scalar, element)
        && !value_fits(wanted, got, bytes)
    {
        return Err(wrong_type(pipeline, argument, name));
    }
    if argument.size != 0 && argument.size != bytes.len() as u64 && !is_padded_vector(argument, bytes.len(), lanes) {
        let place = place(pipeline, argument);
        return Err(Error::ArgumentSize { place, wanted: argument.size, got: bytes.len() as u64 });
    }
    Ok(())
}

/// Three numbers for a three-element vector, which has the room of four.
fn is_padded_vector(argument: &Argument, bytes: usize, lanes: usize) -> bool {
    let scalar = argument.scalar.map_or(0, Scalar::size);
    lanes == 3 && bytes == 3 * scalar && argument.size == 4 * scalar as u64 && argument.lanes == 3
}

/// Whether numbers given as `got` mean the same as `wanted`: the same type, or integers of the same width whose values
/// both types have (`4` for a `uint`, but not `-1`).
fn value_fits(wanted: Scalar, got: Scalar, bytes: &[u8]) -> bool {
    if wanted == got {
        return true;
    }
    let integers = wanted.is_integer() && got.is_integer() && wanted.size() == got.size();
    // The sign bit is in the last byte: every host of Metal, and x86-64, is little-endian.
    let sign = |value: &[u8]| value.last().is_some_and(|byte| byte & 0x80 != 0);
    integers && !bytes.chunks(got.size()).any(sign)
}

/// Checks the grid and returns its threads and the threadgroup, given or chosen, and why that.
pub(super) fn check_grid(pipeline: &Pipeline, grid: &Grid) -> Result<(Size, Size, ThreadgroupReason)> {
    let kernel = || pipeline.name.clone();
    let (what, extent) = match grid.extent {
        Extent::Threads(size) => ("a grid", size),
        Extent::Threadgroups(size) => ("a grid", size),
    };
    for (what, size) in [(what, Some(extent)), ("a threadgroup", grid.threadgroup)] {
        if let Some(got) = size.filter(|size| size.to_array().contains(&0)) {
            return Err(Error::GridZero { kernel: kernel(), what, got });
        }
    }
    let threads = match (grid.extent, grid.threadgroup) {
        (Extent::Threads(threads), _) => threads,
        (Extent::Threadgroups(count), group) => {
            let group = group.expect("a grid of threadgroups has their size");
            let times = |a: u64, b: u64| a.saturating_mul(b);
            Size { x: times(count.x, group.x), y: times(count.y, group.y), z: times(count.z, group.z) }
        }
    };
    if threads.to_array().iter().any(|&n| n > MAX_GRID) {
        return Err(Error::GridTooLarge { kernel: kernel(), got: threads, limit: MAX_GRID });
    }
    let (group, reason, whole) = match (grid.threadgroup, pipeline.required_threadgroup) {
        (Some(group), _) => {
            let is_chosen = grid.partial && pipeline.required_threadgroup.is_none();
            let whole = if is_chosen { pipeline.chooses_whole } else { pipeline.uniform_threadgroups };
            (group, ThreadgroupReason::Grid, whole)
        }
        (None, Some(required)) => (required, ThreadgroupReason::Required, pipeline.uniform_threadgroups),
        (None, None) => {
            let (group, reason) = match pipeline.tuned(threads) {
                Some(tuned) => (tuned.size, ThreadgroupReason::Measured { time: tuned.time, vouched: tuned.vouched }),
                None => pipeline.advised(threads),
            };
            (group, reason, pipeline.chooses_whole)
        }
    };
    check_threadgroup(pipeline, threads, group, whole).map(|()| (threads, group, reason))
}

/// Checks a threadgroup, and if all of them must be whole, that too.
pub(super) fn check_threadgroup(pipeline: &Pipeline, threads: Size, group: Size, whole: bool) -> Result<()> {
    let kernel = || pipeline.name.clone();
    let too_large = |what, limit| Err(Error::ThreadgroupTooLarge { kernel: kernel(), got: group, what, limit });
    let device = pipeline.accelerator.limits().max_threads_per_threadgroup;
    for (got, limit, what) in [
        (group.x, device.x, "device's limit of the first dimension"),
        (group.y, device.y, "device's limit of the second dimension"),
        (group.z, device.z, "device's limit of the third dimension"),
    ] {
        if got > limit {
            return too_large(what, limit);
        }
    }
    if group.volume().is_none_or(|volume| volume > pipeline.max_threads) {
        return too_large("kernel's limit of threads", pipeline.max_threads);
    }
    if let Some(wanted) = pipeline.required_threadgroup
        && wanted != group
    {
        return Err(Error::ThreadgroupRequired { kernel: kernel(), wanted, got: group });
    }
    let uneven = threads.to_array().iter().zip(group.to_array()).any(|(n, group)| !n.is_multiple_of(group));
    if uneven && whole {
        return Err(Error::ThreadgroupUneven { kernel: kernel(), threads, threadgroup: group });
    }
    Ok(())
}
