//! Executes what the translator's cases say: every `// run:` line of `crates/clmsl/tests/cases/**/*.cl`, on the device.
//!
//! `// run: KERNEL grid=X[,Y[,Z]] [group=X[,Y[,Z]]] ARG=VALUE ... -> ARG=[...] ...`
//!
//! A VALUE is `[a,b,...]` (a buffer's scalars in memory order, or a vector), `[a;n]` (n times a), a number, or `local:N`
//! (N bytes of local memory). Structures are `{f32:1,u8:2,...}`: scalars with their types in memory order, padding
//! included. What stands behind the arrow are the buffers' scalars after the run. Numbers are decimal, hexadecimal, `inf`,
//! `-inf` or `nan`; integers must come out exactly, floats as close as `close` says, halves exactly. What a kernel prints
//! is `prints="..."`, or `prints_lines="..."` if the order of the lines is open; `\n` and `\_` (a blank) stand for one
//! character. Without either it must print nothing.
//! An image is `FORMAT:SIZE:NUMBERS`: a pixel format as `rgba8unorm`, its sizes with `x` between them, layers last, and the
//! components of its texels in memory order, which is also how it stands behind the arrow. A sampler is `ADDRESS|FILTER|
//! COORDINATES`: `none`, `clamp_to_edge`, `clamp`, `repeat` or `mirrored_repeat`, `nearest` or `linear`, `normalized` or
//! `unnormalized`.
//! Every case that translates must have such a line; of kernels with barriers of the grid it is run by both ways of nested launches. Buffers that reflection
//! says are only read must come out as they were. `CASE=group/` in the environment runs those whose path contains it.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::gpu;
use common::run_line::{self, Picture, RunLine, bits, list_of, numbers};
use dcmetal::nested::Nesting;
use dcmetal::{
    Accelerator, Access, AddressMode, Arg, Argument, ArgumentKind, Buffer, CompileOptions, Filter, Grid, Kernel,
    Library, MathMode, PixelFormat, Printed, Sampler, SamplerDescriptor, Scalar, Size, Texture, TextureDescriptor,
    TextureKind, clmsl,
};

#[test]
fn every_run_line_of_the_translator_gives_what_it_says() {
    let gpu = gpu();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clmsl/tests/cases");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    let only = std::env::var("CASE").unwrap_or_default();
    files.retain(|file| file.strip_prefix(&folder).expect("it was found there").to_string_lossy().contains(&only));
    files.sort();
    // Most of the time is the compiler's, in processes of its own: a few threads share the cases.
    let (next, lines, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match run_case(&gpu, file) {
                        Ok(runs) => _ = lines.fetch_add(runs, Ordering::Relaxed),
                        Err(text) => {
                            let name = file.strip_prefix(&folder).expect("it was found there").display();
                            wrong.lock().expect("no panic holds it").push(format!("{name}: {text}"));
                        }
                    }
                }
            });
        }
    });
    let (mut wrong, lines) = (wrong.into_inner().expect("no panic holds it"), lines.into_inner());
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), files.len(), wrong.join("\n"));
    assert!(lines > 0, "no run line under {}", folder.display());
}

/// The `.cl` files below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a directory's entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "cl") {
            files.push(path);
        }
    }
}

/// Runs one case; returns the number of its run lines.
fn run_case(gpu: &Accelerator, file: &Path) -> Result<usize, String> {
    let source = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let runs: Vec<&str> = run_line::lines(&source).collect();
    if !file.with_extension("msl").exists() {
        return if runs.is_empty() { Ok(0) } else { Err("a case that is rejected has a run line".to_owned()) };
    }
    if runs.is_empty() {
        return Err("a case that translates has no run line".to_owned());
    }
    let build = clmsl::Options::parse_build_options(run_line::options(&source)).map_err(|error| error.to_string())?;
    let folder = file.parent().expect("a file has a folder");
    let include = |request: &clmsl::IncludeRequest<'_>| {
        let text = fs::read_to_string(folder.join(request.path)).ok()?;
        Some(clmsl::Included { name: request.path.to_owned(), text })
    };
    let options = clmsl::Options { include: Some(&include), ..build.options };
    let name = file.file_name().expect("a file has a name").to_string_lossy();
    let library = gpu.compile_opencl_with(&name, &source, &options).map_err(|error| error.to_string())?;
    no_parentheses_are_missed(gpu, &library, options.fast_relaxed_math)?;
    // The next part of a kernel is found by the device or by the host; for all else it is one launch.
    let ways =
        if source.contains("dc_grid_barrier") { &[Nesting::Device, Nesting::Host][..] } else { &[Nesting::Device] };
    for (run, &nesting) in runs.iter().flat_map(|run| ways.iter().map(move |nesting| (run, nesting))) {
        execute(gpu, &library, run, nesting).map_err(|text| format!("{run}, {nesting:?}: {text}"))?;
    }
    Ok(runs.len())
}

/// The translation has the parentheses that Metal's compiler, which is Clang, would ask for: thousands of such warnings
/// in kernels full of macros would hide the one that matters.
fn no_parentheses_are_missed(gpu: &Accelerator, library: &Library, fast: bool) -> Result<(), String> {
    let math_mode = Some(if fast { MathMode::Fast } else { MathMode::Safe });
    let options = CompileOptions { math_mode, ..CompileOptions::default() };
    let again = gpu.compile_msl_with(library.msl(), &options).map_err(|error| error.to_string())?;
    let warned: Vec<&str> = again.warnings().lines().filter(|line| line.contains("parentheses")).collect();
    if warned.is_empty() { Ok(()) } else { Err(warned.join("\n")) }
}

/// One `// run:` line.
fn execute(gpu: &Accelerator, library: &Library, line: &str, nesting: Nesting) -> Result<(), String> {
    let RunLine { kernel, grid, dimensions, group, given, expected, prints } = run_line::parse(line)?;
    let kernel = library.kernel(&kernel).map_err(|error| error.to_string())?;
    let mut grid = Grid::threads(grid).work_dim(dimensions);
    if let Some(group) = group {
        grid = grid.threadgroup(group);
    }
    let mut passed =
        kernel.arguments().iter().map(|argument| pass(gpu, argument, &given)).collect::<Result<Vec<_>, _>>()?;
    if let Some((name, _)) = given.iter().find(|(name, _)| !kernel.arguments().iter().any(|a| a.name == *name)) {
        return Err(format!("the kernel has no argument `{name}`"));
    }
    let read_only = |passed: &Passed, argument: &Argument| match passed {
        Passed::Buffer(buffer) if argument.access == Access::ReadOnly => buffer.to_vec().ok(),
        _ => None,
    };
    let before: Vec<_> = passed.iter().zip(kernel.arguments()).map(|(p, a)| read_only(p, a)).collect();
    let args: Vec<Arg<'_>> = passed
        .iter_mut()
        .map(|passed| match passed {
            Passed::Buffer(buffer) => Arg::from(buffer),
            Passed::Value(bytes) => Arg::bytes(bytes),
            Passed::Local(bytes) => Arg::threadgroup_bytes(*bytes),
            Passed::Texture(texture, _) => Arg::from(texture),
            Passed::Sampler(sampler) => Arg::from(&*sampler),
        })
        .collect();
    // Kernels with grid barriers in loops take rounds.
    let ran = gpu.nested(nesting).and_then(|mut work| work.launch(&kernel, grid, args).and_then(|()| work.submit()));
    let printed = ran.and_then(|submission| submission.printed());
    let printed = printed.map_err(|error| error.to_string())?;
    compare_printed(&printed, prints.as_ref())?;
    for (name, value) in &expected {
        let argument = find(&kernel, name)?;
        let (bytes, numbers) = match &passed[argument.position] {
            Passed::Buffer(buffer) => (buffer.to_vec(), numbers(argument, value)?),
            Passed::Texture(texture, component) => (texture.to_vec(), list_of(*component, value)?),
            _ => return Err(format!("`{name}` is no buffer and no image")),
        };
        let bytes = bytes.map_err(|error| error.to_string())?;
        compare(&numbers, &bytes).map_err(|text| format!("{name}: {text}"))?;
    }
    for ((passed, argument), before) in passed.iter().zip(kernel.arguments()).zip(before) {
        if before != read_only(passed, argument) {
            return Err(format!("`{}` is written, and reflected as only read", argument.name));
        }
    }
    Ok(())
}

/// Compares what was printed with what is expected: nothing if the line says nothing.
fn compare_printed(printed: &Printed, expected: Option<&(String, bool)>) -> Result<(), String> {
    let (expected, in_order) = expected.map_or(("", true), |(text, in_order)| (text.as_str(), *in_order));
    let text = String::from_utf8(printed.bytes.clone()).map_err(|error| error.to_string())?;
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        if !in_order {
            lines.sort();
        }
        lines
    };
    if lines(&text) == lines(expected) && printed.lost == 0 {
        return Ok(());
    }
    Err(format!("printed {text:?} ({} lost), expected {expected:?}", printed.lost))
}

/// What stands for an argument in a run.
enum Passed {
    Buffer(Buffer<u8>),
    Value(Vec<u8>),
    Local(usize),
    /// With the type of its components in memory.
    Texture(Texture, Scalar),
    Sampler(Sampler),
}

fn find<'k>(kernel: &'k Kernel, name: &str) -> Result<&'k Argument, String> {
    let found = kernel.arguments().iter().find(|argument| argument.name == name);
    found.ok_or_else(|| format!("the kernel has no argument `{name}`"))
}

fn pass(gpu: &Accelerator, argument: &Argument, given: &[(String, String)]) -> Result<Passed, String> {
    let name = &argument.name;
    let value = given.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
    let value = value.ok_or_else(|| format!("no value for `{name}`"))?;
    let encode = || -> Result<Vec<u8>, String> {
        let numbers = numbers(argument, value)?;
        let bytes = numbers.iter().map(|(scalar, number)| bits(*scalar, number)).collect::<Result<Vec<_>, _>>()?;
        Ok(bytes.concat())
    };
    match argument.kind {
        ArgumentKind::Threadgroup => {
            let bytes = value.strip_prefix("local:").and_then(|bytes| bytes.parse().ok());
            bytes.map(Passed::Local).ok_or_else(|| format!("`{name}` wants local:N"))
        }
        ArgumentKind::Buffer => {
            let buffer = gpu.buffer_from(&encode()?).map_err(|error| format!("{name}: {error}"))?;
            Ok(Passed::Buffer(buffer))
        }
        ArgumentKind::Value => {
            let mut bytes = encode()?;
            if argument.lanes == 3 {
                // A three-element vector has the room of four.
                bytes.resize(bytes.len() / 3 * 4, 0);
            }
            Ok(Passed::Value(bytes))
        }
        ArgumentKind::Texture { kind } => {
            let picture = run_line::picture(value)?;
            let texture = gpu.texture_from(&descriptor(kind, &picture)?, &picture.bytes);
            Ok(Passed::Texture(texture.map_err(|error| format!("{name}: {error}"))?, picture.scalar))
        }
        ArgumentKind::Sampler => sampler(gpu, run_line::sampler(value)?),
    }
}

fn descriptor(kind: TextureKind, picture: &Picture) -> Result<TextureDescriptor, String> {
    let known = PixelFormat::all().find(|format| format!("{format:?}").to_lowercase() == picture.format);
    let format = known.ok_or_else(|| format!("no pixel format `{}`", picture.format))?;
    let size: Vec<usize> = picture.size.iter().map(|&n| n as usize).collect();
    Ok(match (kind, size.as_slice()) {
        (TextureKind::D1, &[width]) => TextureDescriptor::d1(format, width),
        (TextureKind::D1Array, &[width, length]) => TextureDescriptor::d1_array(format, width, length),
        (TextureKind::D2, &[width, height]) => TextureDescriptor::d2(format, width, height),
        (TextureKind::D2Array, &[width, height, length]) => TextureDescriptor::d2_array(format, width, height, length),
        (TextureKind::D3, &[width, height, depth]) => TextureDescriptor::d3(format, width, height, depth),
        (TextureKind::Buffer, &[width]) => TextureDescriptor::buffer(format, width),
        (kind, size) => return Err(format!("no {} of the size {size:?}", kind.name())),
    })
}

/// A sampler of Metal's where there is one, else the number itself.
fn sampler(gpu: &Accelerator, bits: u32) -> Result<Passed, String> {
    let filter = if bits & 0x20 == 0 { Filter::Nearest } else { Filter::Linear };
    let address = match bits & 14 {
        2 => AddressMode::ClampToEdge,
        4 => AddressMode::ClampToZero,
        6 => AddressMode::Repeat,
        8 => AddressMode::MirrorRepeat,
        _ => return Ok(Passed::Value(bits.to_ne_bytes().to_vec())),
    };
    let wanted = SamplerDescriptor::new(address, filter);
    let wanted = if bits & 1 == 0 { wanted.in_pixels() } else { wanted };
    gpu.sampler(&wanted).map(Passed::Sampler).map_err(|error| error.to_string())
}

/// Compares memory with what is expected of it.
fn compare(expected: &[(Scalar, String)], bytes: &[u8]) -> Result<(), String> {
    let size: usize = expected.iter().map(|(scalar, _)| scalar.size()).sum();
    if size != bytes.len() {
        return Err(format!("{} numbers of {size} bytes are expected of a buffer of {}", expected.len(), bytes.len()));
    }
    let mut rest = bytes;
    for (index, (scalar, text)) in expected.iter().enumerate() {
        let (got, after) = rest.split_at(scalar.size());
        rest = after;
        let wanted = bits(*scalar, text)?;
        let same = match scalar {
            Scalar::F64 => got == wanted || (double(got).is_nan() && double(&wanted).is_nan()),
            Scalar::F32 => close(f32::from_bits(word(got)), f32::from_bits(word(&wanted))),
            _ => got == wanted,
        };
        if !same {
            let shown = match scalar {
                Scalar::F64 => format!("{:?}", double(got)),
                Scalar::F32 => f32::from_bits(word(got)).to_string(),
                _ => format!("the bytes {got:02x?}"),
            };
            return Err(format!("[{index}] is {shown}, expected {text}"));
        }
    }
    Ok(())
}

fn double(bytes: &[u8]) -> f64 {
    f64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes(bytes.try_into().expect("four bytes"))
}

/// Equal, both NaN, or close. Close is 4 units in the last place, which is OpenCL's bound for most of its functions; the
/// cases add results of functions, so for sums from 2^-10 to 1/2 those of 1/2 count, the size of what was added.
fn close(got: f32, wanted: f32) -> bool {
    if got == wanted || (got.is_nan() && wanted.is_nan()) {
        return true;
    }
    let size = if wanted.abs() < 1.0 / 1024.0 { wanted.abs() } else { wanted.abs().max(0.5) };
    let unit = f64::from(f32::from_bits(size.to_bits() + 1)) - f64::from(size);
    wanted.is_finite() && (f64::from(got) - f64::from(wanted)).abs() <= 4.0 * unit
}

#[test]
fn numbers_are_read_as_written() {
    assert_eq!(run_line::words(" k grid=4  x=[1, 2] "), ["k", "grid=4", "x=[1,2]"]);
    let int = Argument {
        name: "x".to_owned(),
        position: 0,
        slot: 0,
        offset: 0,
        kind: ArgumentKind::Buffer,
        access: Access::ReadOnly,
        type_name: "int".to_owned(),
        scalar: Some(Scalar::I32),
        lanes: 1,
        size: 4,
        alignment: 4,
        textures: Vec::new(),
        used: true,
    };
    assert_eq!(
        numbers(&int, "[1,2;3]").unwrap().iter().map(|n| n.1.as_str()).collect::<Vec<_>>(),
        ["1", "2", "2", "2"]
    );
    assert_eq!(numbers(&int, "{u8:1,f32:2}").unwrap(), [(Scalar::U8, "1".into()), (Scalar::F32, "2".into())]);
    assert!(numbers(&Argument { scalar: None, ..int.clone() }, "[1]").is_err());
    let one = |expected| compare(&numbers(&int, expected).unwrap(), &[1, 0, 0, 0]);
    assert!(one("[1]").is_ok() && one("[2]").is_err() && one("[1,1]").is_err());
    let picture = run_line::picture("rg16unorm:2x1:[1,2;3]").unwrap();
    assert_eq!((picture.size.as_slice(), picture.bytes.as_slice()), (&[2, 1][..], &[1, 0, 2, 0, 2, 0, 2, 0][..]));
    assert!(run_line::picture("rg16unorm:2x1:[1,2]").is_err() && run_line::picture("rgb8unorm:1:[1,2,3]").is_err());
    assert_eq!(run_line::sampler("clamp|linear|normalized"), Ok(0x25));
    assert!(run_line::sampler("clamped").is_err());
    assert_eq!(bits(Scalar::I32, "-1").unwrap(), [0xFF; 4]);
    assert_eq!(bits(Scalar::U8, "0xFE").unwrap(), [0xFE]);
    assert!(bits(Scalar::U8, "256").is_err() && bits(Scalar::I32, "1.5").is_err());
    assert_eq!(run_line::float("-1.5f").unwrap(), -1.5);
    assert!(run_line::float("inf").unwrap().is_infinite() && run_line::float("nan").unwrap().is_nan());
    assert!(close(1.0, 1.0 + 4.0 * f32::EPSILON) && !close(1.0, 1.0 + 5.0 * f32::EPSILON) && !close(1.0, -1.0));
    assert!(close(0.25, 0.25 + 2.0 * f32::EPSILON) && !close(0.25, 0.25 + 3.0 * f32::EPSILON));
    assert!(!close(0.0, 1e-7) && !close(1e-7, 0.0) && !close(f32::MAX, f32::INFINITY) && !close(f32::NAN, 1.0));
    assert_eq!(bits(Scalar::F16, "-2").unwrap(), [0x00, 0xC0]);
    assert!(bits(Scalar::F16, "0.1").is_err(), "no half has that value");
    assert_eq!(run_line::size("4,2").unwrap(), (Size { x: 4, y: 2, z: 1 }, 2));
}
