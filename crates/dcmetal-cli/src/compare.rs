//! `dcmetal compare`: kernels on an OpenCL implementation and their translations on the device, from the same arguments.

use std::process::Command;
use std::time::Duration;

use dcmetal::{Argument, ArgumentKind, Kernel, PixelFormat, Scalar, TextureDescriptor, TextureKind};
use differential::{Image, Launch, Mismatch, Peer, PeerError, Program, Random, Run, Shape, Translated, Value, vary};

use crate::cli::{Compare, Fp64, Math, Std};
use crate::compile::default_device;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::run::{at, check_element, check_kind, content};
use crate::source::{Language, language, read};
use crate::spec::Spec;
use crate::texture;

/// The process that the OpenCL implementation runs in.
pub(crate) fn serve() -> Result<(), Failure> {
    differential::serve().map_err(|error| Failure::Device(error.to_string()))
}

pub(crate) fn compare(command: &Compare) -> Result<(), Failure> {
    if language(&command.source.file)? != Language::OpenCl {
        let file = command.source.file.display();
        return Err(Failure::Input(format!("{file}: only OpenCL C (.cl) has an original to compare")));
    }
    let device = default_device()?;
    let program = program(command)?;
    let _line = Progress::start(format!("comparing {}", program.name));
    let translated = Translated::compile(&device, &program).map_err(Failure::Input)?;
    let kernels = match &command.kernel {
        Some(name) => vec![name.clone()],
        None => translated.kernel_names().to_vec(),
    };
    let kernels = kernels
        .iter()
        .map(|name| translated.kernel(name).map_err(Failure::Input))
        .collect::<Result<Vec<Kernel>, _>>()?;
    let known = |name: &str| kernels.iter().any(|kernel| kernel.arguments().iter().any(|a| a.name == name));
    if let Some((name, _)) = command.args.iter().find(|(name, _)| !known(name)) {
        return Err(Failure::Input(format!("--arg {name}: no kernel that is compared has an argument of that name")));
    }
    let mut runs = Vec::new();
    for kernel in &kernels {
        runs.extend(rounds(command, &translated, kernel)?);
    }
    let executable = std::env::current_exe().map_err(|error| Failure::Device(format!("this program: {error}")))?;
    let start = move || {
        let mut command = Command::new(&executable);
        command.arg("opencl-peer");
        command
    };
    let mut peer = Peer::new(start, Duration::from_secs_f64(command.timeout));
    let found = differential::compare(&translated, &mut peer, &program, &runs, command.ulp);
    let found = found.map_err(|error| match error {
        PeerError::Crashed(Some(launch), _) | PeerError::TimedOut(Some(launch)) => {
            Failure::Device(format!("{error}\n{}", describe(&runs[launch].launch)))
        }
        error => Failure::Device(error.to_string()),
    })?;
    if found.is_empty() {
        let names: Vec<&str> = kernels.iter().map(Kernel::name).collect();
        let text = format!("{}: equal in {} rounds\n", names.join(", "), command.rounds);
        return crate::print(&text).map_err(Failure::Input);
    }
    let lines: Vec<String> = found.iter().map(Mismatch::to_string).collect();
    Err(Failure::Mismatch(format!("the translation computes something else:\n{}", lines.join("\n"))))
}

/// The file with build options in the words of `clBuildProgram`.
fn program(command: &Compare) -> Result<Program, Failure> {
    let (file, flags) = (&command.source.file, &command.source.flags);
    let mut options = vec![flags.options.clone().unwrap_or_default()];
    options.extend(flags.define.iter().map(|define| format!("-D {define}")));
    options.extend(flags.std.map(|std| match std {
        Std::Cl10 => "-cl-std=CL1.0".to_owned(),
        Std::Cl11 => "-cl-std=CL1.1".to_owned(),
        Std::Cl12 => "-cl-std=CL1.2".to_owned(),
        Std::Cl20 => "-cl-std=CL2.0".to_owned(),
        Std::Cl30 => "-cl-std=CL3.0".to_owned(),
    }));
    match flags.fp64 {
        Some(Fp64::Float) => {
            let message = "--fp64 float: the two programs would have buffers of different elements";
            return Err(Failure::Input(message.to_owned()));
        }
        Some(Fp64::Emulate) => options.push("--fp64 emulate".to_owned()),
        Some(Fp64::Reject) | None => {}
    }
    if flags.math == Some(Math::Fast) {
        options.push("-cl-fast-relaxed-math".to_owned());
    }
    let beside = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => ".".into(),
    };
    Ok(Program {
        name: file.display().to_string(),
        source: read(file).map_err(Failure::Input)?,
        options: options.join(" ").trim().to_owned(),
        peer_options: String::new(),
        include: std::iter::once(beside).chain(flags.include.iter().cloned()).collect(),
    })
}

/// The launches of one kernel.
fn rounds(command: &Compare, translated: &Translated, kernel: &Kernel) -> Result<Vec<Run>, Failure> {
    let grid = command.global;
    let dimensions = if grid[2] > 1 {
        3
    } else if grid[1] > 1 {
        2
    } else {
        1
    };
    let group = translated.group_for(kernel, grid, dimensions, command.local).map_err(Failure::Input)?;
    let mut random = Random::new(command.seed);
    let mut runs = Vec::new();
    for round in 0..command.rounds {
        let wild = command.wild && round % 2 == 1;
        let (mut args, mut shapes) = (Vec::new(), Vec::new());
        for argument in kernel.arguments() {
            let spec = command.args.iter().find(|(name, _)| *name == argument.name).map(|(_, spec)| spec);
            args.push(match spec {
                Some(spec) => given(argument, spec)?,
                None => default(argument, grid, (round, wild), &mut random)?,
            });
            shapes.push(shape_of(argument, &args[argument.position]));
        }
        runs.push(Run { launch: Launch { kernel: kernel.name().to_owned(), grid, dimensions, group, args }, shapes });
    }
    Ok(runs)
}

/// An argument of the command line.
fn given(argument: &Argument, spec: &Spec) -> Result<Value, Failure> {
    let wrong = |error: String| Failure::Input(at(argument, &error));
    check_kind(argument, spec).map_err(wrong)?;
    Ok(match spec {
        Spec::Value { bytes, .. } => Value::Bytes(bytes.clone()),
        Spec::Local { bytes } => Value::Local(*bytes),
        Spec::Buffer { save: Some(_), .. } => return Err(wrong("`save=` has no meaning here".to_owned())),
        Spec::Sampler(descriptor) => {
            let number = descriptor.opencl();
            Value::Sampler(number.unwrap_or_else(|| unreachable!("the command line has OpenCL's samplers only")))
        }
        Spec::Buffer { source, save: None } => {
            let array = content(source)?;
            if let Some(kind) = texture::kind(argument) {
                let descriptor = texture::descriptor(argument, kind, array.element, &array.shape).map_err(wrong)?;
                return Ok(Value::Image(image(&descriptor, array.bytes)));
            }
            check_element(argument, array.element).map_err(wrong)?;
            Value::Buffer(array.bytes)
        }
    })
}

/// Local memory of an argument that is not given.
const LOCAL: usize = 4096;

/// Elements of a buffer that is not given, at least.
const ELEMENTS: u64 = 1024;

/// Bytes of a buffer or an image that is not given, at most.
const LARGEST: u64 = 1 << 28;

/// The size of an argument that is not given, if it is no more than that.
fn bounded(argument: &Argument, size: u64) -> Result<usize, Failure> {
    if size > LARGEST {
        let error = format!("left out, it would be {size} bytes; say with --arg what it holds");
        return Err(Failure::Input(at(argument, &error)));
    }
    Ok(size as usize)
}

/// An argument that is not given.
fn default(
    argument: &Argument,
    grid: [u64; 3],
    (round, wild): (u32, bool),
    random: &mut Random,
) -> Result<Value, Failure> {
    let size = match argument.kind {
        ArgumentKind::Threadgroup => return Ok(Value::Local(LOCAL)),
        ArgumentKind::Texture { kind } => return default_image(argument, kind, grid, wild, random),
        ArgumentKind::Sampler => return Ok(Value::Sampler(SAMPLERS[round as usize % SAMPLERS.len()])),
        ArgumentKind::Value => argument.size,
        ArgumentKind::Buffer => {
            let elements = grid.iter().fold(4, |product: u64, extent| product.saturating_mul(*extent)).max(ELEMENTS);
            elements.saturating_mul(argument.size.max(1))
        }
    };
    let mut bytes = vec![0; bounded(argument, size)?];
    let is_integer = argument.scalar.is_some_and(|scalar| !is_float(scalar));
    if let Some(scalar) = argument.scalar {
        // What numbers are drawn from: the least and the greatest float, every index of the grid.
        for (index, number) in bytes.chunks_exact_mut(scalar.size()).enumerate() {
            let extent = if scalar.size() == 1 { grid[0].min(100) } else { grid[0] };
            let index = if argument.kind == ArgumentKind::Value { extent } else { index as u64 % extent };
            let sign = if index % 2 == 0 { -2.0 } else { 2.0 };
            match scalar {
                Scalar::F32 => number.copy_from_slice(&f32::to_ne_bytes(sign)),
                Scalar::F16 => number.copy_from_slice(&half::f16::from_f32(sign).to_ne_bytes()),
                _ => number.copy_from_slice(&index.to_le_bytes()[..scalar.size()]),
            }
        }
    }
    if argument.kind == ArgumentKind::Buffer || !is_integer {
        vary(&mut bytes, &Shape::of_argument(argument), wild, random);
    }
    Ok(if argument.kind == ArgumentKind::Buffer { Value::Buffer(bytes) } else { Value::Bytes(bytes) })
}

/// Samplers of arguments that are not given, in turn: nearest texels, in pixels, clamped to the edge or to zero. Other
/// ones are not for every read (OpenCL C 3.0 §6.15.15.2: integer coordinates count pixels and do not repeat).
const SAMPLERS: [u32; 2] = [0x12, 0x14];

/// Texels of an image that is not given, at least, in each direction.
const SIDE: u64 = 16;
/// And layers, or images in depth.
const LAYERS: u64 = 4;

/// An image that is not given: four components of 32 bits.
fn default_image(
    argument: &Argument,
    kind: TextureKind,
    grid: [u64; 3],
    wild: bool,
    random: &mut Random,
) -> Result<Value, Failure> {
    let scalar = argument.textures.iter().find_map(|texture| texture.scalar).unwrap_or(Scalar::F32);
    let (format, scalar) = match scalar {
        Scalar::I32 | Scalar::I16 => (PixelFormat::RGBA32Sint, Scalar::I32),
        Scalar::U32 | Scalar::U16 => (PixelFormat::RGBA32Uint, Scalar::U32),
        _ => (PixelFormat::RGBA32Float, Scalar::F32),
    };
    let [width, height] = [grid[0], grid[1]].map(|extent| extent.clamp(SIDE, 1 << 12) as usize);
    let layers = grid[2].clamp(LAYERS, 1 << 8) as usize;
    let descriptor = match kind {
        TextureKind::D1 => TextureDescriptor::d1(format, width),
        TextureKind::Buffer => TextureDescriptor::buffer(format, width),
        TextureKind::D1Array => TextureDescriptor::d1_array(format, width, layers),
        TextureKind::D2 => TextureDescriptor::d2(format, width, height),
        TextureKind::D2Array => TextureDescriptor::d2_array(format, width, height, layers),
        TextureKind::D3 => TextureDescriptor::d3(format, width, height, layers),
    };
    let TextureDescriptor { width, height, depth, array_length, .. } = descriptor;
    let texels = [height, depth, array_length].iter().fold(width as u64, |all, &n| all.saturating_mul(n as u64));
    let mut bytes = vec![0; bounded(argument, texels.saturating_mul(16))?];
    for (index, number) in (0u32..).zip(bytes.chunks_exact_mut(4)) {
        number.copy_from_slice(&match scalar {
            Scalar::F32 => (if index % 2 == 0 { -2f32 } else { 2.0 }).to_ne_bytes(),
            _ => (index % 256).to_ne_bytes(),
        });
    }
    vary(&mut bytes, &Shape::of(scalar, 1), wild, random);
    Ok(Value::Image(image(&descriptor, bytes)))
}

fn image(descriptor: &TextureDescriptor, bytes: Vec<u8>) -> Image {
    let TextureDescriptor { kind, format, width, height, depth, array_length } = *descriptor;
    let size = match kind {
        TextureKind::D1 | TextureKind::Buffer => vec![width],
        TextureKind::D1Array => vec![width, array_length],
        TextureKind::D2 => vec![width, height],
        TextureKind::D2Array => vec![width, height, array_length],
        TextureKind::D3 => vec![width, height, depth],
    };
    let size = size.into_iter().map(|extent| extent as u64).collect();
    Image { kind: kind.name().to_owned(), format: format.to_string().to_lowercase(), size, bytes }
}

/// What numbers an argument holds.
fn shape_of(argument: &Argument, value: &Value) -> Shape {
    let Value::Image(image) = value else { return Shape::of_argument(argument) };
    let reading = image.format.trim_start_matches(['r', 'g', 'b', 'a']);
    let scalars = [
        ("8unorm", Scalar::U8),
        ("8uint", Scalar::U8),
        ("8snorm", Scalar::I8),
        ("8sint", Scalar::I8),
        ("16unorm", Scalar::U16),
        ("16uint", Scalar::U16),
        ("16snorm", Scalar::I16),
        ("16sint", Scalar::I16),
        ("16float", Scalar::F16),
        ("32uint", Scalar::U32),
        ("32sint", Scalar::I32),
        ("32float", Scalar::F32),
    ];
    let found = scalars.iter().find(|(name, _)| *name == reading);
    Shape::of(found.unwrap_or_else(|| unreachable!("`texture` makes no {reading}")).1, 1)
}

fn is_float(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::F32 | Scalar::F16 | Scalar::BF16)
}

fn describe(launch: &Launch) -> String {
    let sizes = |sizes: [u64; 3]| sizes.map(|size| size.to_string()).join("x");
    format!("kernel `{}`, {} work-items in groups of {}", launch.kernel, sizes(launch.grid), sizes(launch.group))
}
