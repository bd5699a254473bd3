//! `dcmetal run`: one kernel, arguments from the command line, the outputs shown, saved and compared.

use std::path::Path;
use std::time::{Duration, Instant};

use dcmetal::{
    Accelerator, Access, Arg, Argument, ArgumentKind, Buffer, Grid, Kernel, Sampler, Scalar, Texture, TextureKind,
};
use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::analysis;
use crate::array::{Array, Element, Shape};
use crate::cli::Run;
use crate::compile::{default_device, failure};
use crate::difference::{Difference, Tolerance, compare};
use crate::failure::Failure;
use crate::files;
use crate::progress::Progress;
use crate::spec::{Source, Spec};
use crate::table::table;
use crate::texture;

pub(crate) fn run(command: &Run) -> Result<(), Failure> {
    run_on(&default_device()?, command)
}

pub(crate) fn run_on(device: &Accelerator, command: &Run) -> Result<(), Failure> {
    let compiled = command.source.compile(device)?;
    let start = Instant::now();
    let kernel = compiled.library.kernel(&command.kernel).map_err(|error| failure(&error))?;
    let pipeline_time = start.elapsed();
    let checks = named_checks(command, &kernel)?;
    let tolerance = Tolerance { absolute: command.tolerance, relative: command.relative };
    let mut given = prepare(&command.args, device, &kernel)?;

    let mut grid = Grid::threads(command.global);
    if let Some(local) = command.local {
        grid = grid.threadgroup(local);
    }
    if command.partial {
        grid = grid.partial();
    }
    let choice = kernel.threadgroup_choice(&grid).map_err(|error| failure(&error))?;
    let file = command.source.name();
    let args: Vec<Arg<'_>> = given.iter_mut().map(Given::arg).collect();
    let start = Instant::now();
    let submission = kernel.launch(grid, args).map_err(|error| failure(&error))?;
    {
        let _line = Progress::start(format!("running {}", kernel.name()));
        submission.wait_timeout(Duration::from_secs_f64(command.timeout)).map_err(|error| failure(&error))?;
    }
    let run_time = start.elapsed();
    let printed = submission.printed().map_err(|error| failure(&error))?;
    let gpu_time = submission.gpu_time().ok();

    let mut outputs = Vec::new();
    for (argument, given) in kernel.arguments().iter().zip(&given) {
        if let Given::Memory { memory, element, shape, save } = given
            && (argument.access != Access::ReadOnly || save.is_some())
        {
            let bytes = memory.bytes().map_err(|error| failure(&error))?;
            let array = Array { element: *element, shape: shape.clone(), bytes };
            outputs.push(Output { argument, array, save: save.as_deref() });
        }
    }
    let differences = checks.iter().map(|check| check.compare(&outputs, tolerance)).collect::<Result<Vec<_>, _>>()?;
    for output in &outputs {
        if let Some(path) = output.save {
            files::save(path, &output.array).map_err(Failure::Input)?;
        }
    }

    let times = [
        ("compile", Some(compiled.time)),
        ("pipeline", Some(pipeline_time)),
        ("run", Some(run_time)),
        ("device", gpu_time),
    ];
    let text = if command.json {
        let milliseconds = |time: &Option<Duration>| time.map(|time| time.as_secs_f64() * 1e3);
        let times: serde_json::Map<_, _> =
            times.iter().map(|(name, time)| (format!("{name}_ms"), json!(milliseconds(time)))).collect();
        let checks: Vec<_> =
            checks.iter().zip(&differences).map(|(check, d)| check.json(&kernel, d, command)).collect();
        let document = json!({
            "file": file,
            "kernel": kernel.name(),
            "device": device.name(),
            "grid": command.global,
            "threadgroup": choice.size.to_array(),
            "threadgroup_reason": choice.to_string(),
            "times": times,
            "outputs": outputs.iter().map(Output::json).collect::<Vec<_>>(),
            "checks": checks,
            "printed": printed.to_string(),
            "printed_lost": printed.lost,
            "analysis": analysis::json(&kernel, &file),
        });
        format!("{document:#}\n")
    } else {
        let mut text = format!(
            "{} on {}: threadgroups of {choice}\n{}",
            kernel.name(),
            device.name(),
            analysis::brief(&kernel, &file)
        );
        text += &table(&outputs.iter().map(Output::row).collect::<Vec<_>>());
        for (check, difference) in checks.iter().zip(&differences) {
            text += &check.describe(&kernel, difference, tolerance);
        }
        let times: Vec<_> =
            times.iter().filter_map(|(name, time)| time.map(|time| format!("{name} {time:.2?}"))).collect();
        text + &format!("times: {}\n", times.join(", "))
    };
    if !command.json {
        crate::print(&printed.bytes).map_err(Failure::Input)?;
    }
    crate::print(&text).map_err(Failure::Input)?;
    if printed.lost > 0 {
        let message = format!("the output of {} calls of printf is lost: their buffer was full", printed.lost);
        anstream::eprintln!("{}", crate::log::warning(&message));
    }

    match checks.iter().zip(&differences).find(|(_, difference)| difference.outside > 0) {
        Some((check, difference)) => {
            Err(Failure::Mismatch(check.describe(&kernel, difference, tolerance).trim_end().to_owned()))
        }
        None => Ok(()),
    }
}

/// One argument, ready to launch.
pub(crate) enum Given {
    Value(Vec<u8>),
    Local(usize),
    Memory { memory: Memory, element: Element, shape: Shape, save: Option<std::path::PathBuf> },
    Sampler(Sampler),
}

pub(crate) enum Memory {
    Buffer(Buffer<u8>),
    Texture(Texture),
}

impl Memory {
    /// What it holds, once nobody writes it.
    pub(crate) fn bytes(&self) -> dcmetal::Result<Vec<u8>> {
        match self {
            Memory::Buffer(buffer) => buffer.to_vec(),
            Memory::Texture(texture) => texture.to_vec(),
        }
    }
}

impl Given {
    pub(crate) fn arg(&mut self) -> Arg<'_> {
        match self {
            Given::Value(bytes) => Arg::bytes(bytes),
            Given::Local(bytes) => Arg::threadgroup_bytes(*bytes),
            Given::Memory { memory: Memory::Buffer(buffer), .. } => Arg::from(buffer),
            Given::Memory { memory: Memory::Texture(texture), .. } => Arg::from(texture),
            Given::Sampler(sampler) => Arg::from(&*sampler),
        }
    }
}

/// Makes every argument, after all of them were found to fit the kernel.
pub(crate) fn prepare(specs: &[Spec], device: &Accelerator, kernel: &Kernel) -> Result<Vec<Given>, Failure> {
    let arguments = kernel.arguments();
    if arguments.len() != specs.len() {
        let list: Vec<_> = arguments.iter().map(|a| format!("{}: {}", a.name, describe_kind(a))).collect();
        let s = if arguments.len() == 1 { "" } else { "s" };
        return Err(Failure::Input(format!(
            "kernel `{}` takes {} argument{s}: {}; {} given with --arg",
            kernel.name(),
            arguments.len(),
            if list.is_empty() { "none".to_owned() } else { list.join(", ") },
            specs.len()
        )));
    }
    for (argument, spec) in arguments.iter().zip(specs) {
        check_kind(argument, spec).map_err(|error| Failure::Input(at(argument, &error)))?;
    }
    arguments
        .iter()
        .zip(specs)
        .map(|(argument, spec)| match spec {
            Spec::Value { bytes, .. } => Ok(Given::Value(bytes.clone())),
            Spec::Local { bytes } => Ok(Given::Local(*bytes)),
            Spec::Sampler(descriptor) => {
                Ok(Given::Sampler(device.sampler(descriptor).map_err(|error| failure(&error))?))
            }
            Spec::Buffer { source, save } => {
                let made = match texture::kind(argument) {
                    Some(kind) => fill_texture(device, argument, kind, source),
                    None => fill(device, source).and_then(|made| {
                        check_element(argument, made.1).map_err(Failure::Input)?;
                        Ok(made)
                    }),
                };
                let (memory, element, shape) = made.map_err(|failure| match failure {
                    Failure::Input(message) => Failure::Input(at(argument, &message)),
                    Failure::Device(message) => Failure::Device(at(argument, &message)),
                    other => other,
                })?;
                Ok(Given::Memory { memory, element, shape, save: save.clone() })
            }
        })
        .collect()
}

pub(crate) fn at(argument: &Argument, message: &str) -> String {
    format!("argument {} (`{}`): {message}", argument.position, argument.name)
}

/// What an argument takes, in the words of the command line and of the source.
fn describe_kind(argument: &Argument) -> String {
    let kind = match argument.kind {
        ArgumentKind::Buffer => "a buffer",
        ArgumentKind::Value => "a value",
        ArgumentKind::Threadgroup => "a local size",
        ArgumentKind::Texture { .. } => "a texture",
        ArgumentKind::Sampler => "a sampler",
    };
    format!("{kind} (`{}`)", argument.type_name)
}

pub(crate) fn check_kind(argument: &Argument, spec: &Spec) -> Result<(), String> {
    let given = match spec {
        Spec::Value { element, lanes, .. } => {
            // MSL has no values: a reference to constant memory takes one.
            if argument.kind == ArgumentKind::Value
                || (argument.kind == ArgumentKind::Buffer && argument.access == Access::ReadOnly)
            {
                return check_value(argument, *element, *lanes);
            }
            "a value"
        }
        Spec::Local { .. } if argument.kind == ArgumentKind::Threadgroup => return Ok(()),
        Spec::Local { .. } => "a local size",
        Spec::Buffer { .. } if matches!(argument.kind, ArgumentKind::Buffer | ArgumentKind::Texture { .. }) => {
            return Ok(());
        }
        Spec::Buffer { .. } => "a buffer",
        Spec::Sampler(_) if argument.kind == ArgumentKind::Sampler => return Ok(()),
        Spec::Sampler(_) => "a sampler",
    };
    Err(format!("the kernel takes {}, not {given}", describe_kind(argument)))
}

fn check_value(argument: &Argument, element: Element, lanes: usize) -> Result<(), String> {
    check_element(argument, element)?;
    let bytes = if lanes == 3 { 4 } else { lanes } * element.size();
    if argument.size != bytes as u64 {
        let lanes = if lanes == 1 { String::new() } else { format!("x{lanes}") };
        return Err(format!("the kernel takes `{}`, not {}{lanes}", argument.type_name, element.name()));
    }
    Ok(())
}

/// The kernel's scalars and the given elements must be of one type; a struct takes any.
pub(crate) fn check_element(argument: &Argument, element: Element) -> Result<(), String> {
    let fits = match argument.scalar {
        None => true,
        Some(scalar) => matches!(
            (scalar, element),
            (Scalar::F64, Element::F64)
                | (Scalar::F32, Element::F32)
                | (Scalar::F16, Element::F16)
                | (Scalar::I8, Element::I8)
                | (Scalar::U8 | Scalar::Bool, Element::U8)
                | (Scalar::I16, Element::I16)
                | (Scalar::U16 | Scalar::BF16, Element::U16)
                | (Scalar::I32, Element::I32)
                | (Scalar::U32, Element::U32)
                | (Scalar::I64, Element::I64)
                | (Scalar::U64, Element::U64)
        ),
    };
    if fits { Ok(()) } else { Err(format!("the kernel takes `{}`, not {}", argument.type_name, element.name())) }
}

/// A buffer with the content asked for.
fn fill(device: &Accelerator, source: &Source) -> Result<(Memory, Element, Shape), Failure> {
    match source {
        Source::Zeros { element, shape } => {
            let length = shape.count() * element.size();
            let buffer = device.buffer_zeroed(length).map_err(|error| failure(&error))?;
            return Ok((Memory::Buffer(buffer), *element, shape.clone()));
        }
        Source::Random { element, shape, .. } => {
            // The device's word on the size comes before the host's memory is taken.
            let mut buffer = device.buffer_zeroed(shape.count() * element.size()).map_err(|error| failure(&error))?;
            buffer.write_from(&content(source)?.bytes).map_err(|error| failure(&error))?;
            return Ok((Memory::Buffer(buffer), *element, shape.clone()));
        }
        Source::File { .. } | Source::Raw { .. } | Source::Held(_) => {}
    }
    let array = content(source)?;
    let buffer = device.buffer_from(&array.bytes).map_err(|error| failure(&error))?;
    Ok((Memory::Buffer(buffer), array.element, array.shape))
}

/// A texture with the content asked for.
fn fill_texture(
    device: &Accelerator,
    argument: &Argument,
    kind: TextureKind,
    source: &Source,
) -> Result<(Memory, Element, Shape), Failure> {
    let of = |element, shape: &Shape| {
        let descriptor = texture::descriptor(argument, kind, element, shape).map_err(Failure::Input)?;
        device.texture(&descriptor).map_err(|error| failure(&error))
    };
    // As with buffers, the device's word on the size comes first where the command line tells it. New textures are zero.
    if let Source::Zeros { element, shape } | Source::Random { element, shape, .. } = source {
        let mut texture = of(*element, shape)?;
        if let Source::Random { .. } = source {
            texture.write_from(&content(source)?.bytes).map_err(|error| failure(&error))?;
        }
        return Ok((Memory::Texture(texture), *element, shape.clone()));
    }
    let Array { element, shape, bytes } = content(source)?;
    let mut texture = of(element, &shape)?;
    texture.write_from(&bytes).map_err(|error| failure(&error))?;
    Ok((Memory::Texture(texture), element, shape))
}

/// What a buffer is to hold.
pub(crate) fn content(source: &Source) -> Result<Array, Failure> {
    let array = match source {
        Source::Zeros { element, shape } => {
            let bytes = vec![0; shape.count() * element.size()];
            Ok(Array { element: *element, shape: shape.clone(), bytes })
        }
        Source::Random { element, shape, seed } => {
            let bytes = random(*element, shape.count(), *seed);
            Ok(Array { element: *element, shape: shape.clone(), bytes })
        }
        Source::File { path, channels } => files::load(path, *channels),
        Source::Raw { path, element, shape } => files::load_raw(path, *element, shape.clone()),
        Source::Held(array) => Ok(array.clone()),
    }
    .map_err(Failure::Input)?;
    Ok(array)
}

/// `count` elements from `seed`, the same on every machine: floats in [0, 1), integers over their whole range.
fn random(element: Element, count: usize, seed: u64) -> Vec<u8> {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let mut bytes = Vec::with_capacity(count * element.size());
    match element {
        Element::F32 => {
            for _ in 0..count {
                let value = (generator.next_u32() >> 8) as f32 / (1 << 24) as f32;
                bytes.extend(value.to_ne_bytes());
            }
        }
        Element::F64 => {
            for _ in 0..count {
                let value = (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                bytes.extend(value.to_ne_bytes());
            }
        }
        Element::F16 => {
            for _ in 0..count {
                let value = half::f16::from_f32((generator.next_u32() >> 21) as f32 / 2048.0);
                bytes.extend(value.to_ne_bytes());
            }
        }
        _ => {
            bytes.resize(count * element.size(), 0);
            generator.fill_bytes(&mut bytes);
        }
    }
    bytes
}

/// A buffer the kernel wrote, or one to be saved.
struct Output<'a> {
    argument: &'a Argument,
    array: Array,
    save: Option<&'a Path>,
}

impl Output<'_> {
    /// Minimum, maximum and mean of the finite values, and how many are not finite.
    fn summary(&self) -> (Option<(f64, f64, f64)>, usize) {
        let (mut low, mut high, mut sum, mut count, mut other) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0usize, 0);
        for value in self.array.values() {
            if value.is_finite() {
                low = low.min(value);
                high = high.max(value);
                sum += value;
                count += 1;
            } else {
                other += 1;
            }
        }
        ((count > 0).then(|| (low, high, sum / count as f64)), other)
    }

    fn row(&self) -> Vec<String> {
        let (range, other) = self.summary();
        let mut summary = match range {
            Some((low, high, mean)) => format!("min {}, max {}, mean {mean:.6}", number(low), number(high)),
            None => "no finite values".to_owned(),
        };
        if other > 0 {
            summary += &format!(", {other} not finite");
        }
        let saved = self.save.map_or(String::new(), |path| format!("saved as {}", path.display()));
        let Array { element, shape, .. } = &self.array;
        vec![format!("  {}", self.argument.name), format!("{}:{shape}", element.name()), summary, saved]
    }

    fn json(&self) -> serde_json::Value {
        let (range, other) = self.summary();
        json!({
            "argument": self.argument.name,
            "position": self.argument.position,
            "type": self.array.element.name(),
            "shape": self.array.shape.0,
            "min": range.map(|r| r.0),
            "max": range.map(|r| r.1),
            "mean": range.map(|r| r.2),
            "not_finite": other,
            "saved": self.save.map(|path| path.display().to_string()),
        })
    }
}

/// All digits of a number, with an exponent where there would be many zeros.
fn number(value: f64) -> String {
    let plain = value == 0.0 || (1e-6..1e21).contains(&value.abs());
    if plain { value.to_string() } else { format!("{value:e}") }
}

/// One `--check`.
struct NamedCheck {
    position: usize,
    file: String,
    expected: Array,
}

/// Finds the argument of each `--check` and reads its file, before anything runs.
fn named_checks(command: &Run, kernel: &Kernel) -> Result<Vec<NamedCheck>, Failure> {
    command
        .check
        .iter()
        .map(|check| {
            let named = check.split_once('=').and_then(|(name, file)| {
                let position = |a: &&Argument| a.name == name || a.position.to_string() == name;
                kernel.arguments().iter().find(position).map(|argument| (argument, file))
            });
            let (argument, file) = match named {
                Some(found) => found,
                None => (only_output(kernel, check)?, check.as_str()),
            };
            let expected = files::load(Path::new(file), None).map_err(Failure::Input)?;
            Ok(NamedCheck { position: argument.position, file: file.to_owned(), expected })
        })
        .collect()
}

/// The only argument that the kernel writes.
fn only_output<'a>(kernel: &'a Kernel, check: &str) -> Result<&'a Argument, Failure> {
    let written = |a: &&Argument| {
        matches!(a.kind, ArgumentKind::Buffer | ArgumentKind::Texture { .. }) && a.access != Access::ReadOnly
    };
    let outputs: Vec<&Argument> = kernel.arguments().iter().filter(written).collect();
    match outputs.as_slice() {
        [only] => Ok(only),
        [] => {
            Err(Failure::Input(format!("--check {check}: kernel `{}` writes no buffer and no texture", kernel.name())))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|argument| argument.name.as_str()).collect();
            Err(Failure::Input(format!(
                "--check {check}: kernel `{}` can write {}; say which, as in --check {}=FILE.npy",
                kernel.name(),
                names.join(", "),
                names[0]
            )))
        }
    }
}

impl NamedCheck {
    fn compare(&self, outputs: &[Output<'_>], tolerance: Tolerance) -> Result<Difference, Failure> {
        let output = outputs.iter().find(|output| output.argument.position == self.position);
        let output =
            output.ok_or_else(|| Failure::Input(format!("--check: argument {} is not written", self.position)))?;
        compare(&output.array, &self.expected, tolerance)
            .map_err(|error| Failure::Mismatch(format!("{} against {}: {error}", output.argument.name, self.file)))
    }

    fn describe(&self, kernel: &Kernel, difference: &Difference, tolerance: Tolerance) -> String {
        let name = &kernel.arguments()[self.position].name;
        let Difference { elements, outside, largest, worst } = difference;
        let verdict = if *outside == 0 { "equal" } else { "differs" };
        let mut text = format!("{name} against {}: {verdict}", self.file);
        if *outside > 0 {
            text += &format!(" in {outside} of {elements} elements");
        }
        let Tolerance { absolute, relative } = tolerance;
        let relative = if relative > 0.0 { format!(" + {relative} * expected") } else { String::new() };
        text += &format!(" (tolerance {absolute}{relative}, largest difference {largest:.3e}");
        if let (true, Some(worst)) = (*outside > 0, worst) {
            text += &format!(" at element {}: {} instead of {}", worst.index, worst.got, worst.expected);
        }
        text + ")\n"
    }

    fn json(&self, kernel: &Kernel, difference: &Difference, command: &Run) -> serde_json::Value {
        json!({
            "argument": kernel.arguments()[self.position].name,
            "file": self.file,
            "tolerance": command.tolerance,
            "relative": command.relative,
            "elements": difference.elements,
            "outside": difference.outside,
            "largest_difference": difference.largest.is_finite().then_some(difference.largest),
            "worst": difference.worst.as_ref().map(|worst| json!({
                "element": worst.index, "got": worst.got, "expected": worst.expected,
            })),
            "equal": difference.outside == 0,
        })
    }
}
