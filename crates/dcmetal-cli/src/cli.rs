//! The command line: what can be written and what its help says.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use dcmetal::GpuFamily;
use dcmetal::analysis::{CHIPS, Chip};

use crate::spec::Spec;

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  the input cannot work: no such file, a kernel that does not compile, a wrong argument
  2  the command line cannot be read
  3  the device failed: none present, out of memory, a fault in a kernel, the deadline
  4  the result differs from what --check names, or from what the OpenCL implementation computes
  5  a claim of `validate` is missed, or none could be measured
  6  a measurement of `validate` is broken: a wrong output, a rate above its roofline, a time that does not grow with the work";

/// Translate, check and run OpenCL C and Metal compute kernels, on Apple's Metal or, on Linux, on hostmetal.
#[derive(Parser)]
#[command(name = "dcmetal", version, after_help = EXIT_CODES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the Metal devices and their limits
    #[command(after_help = EXIT_CODES)]
    Devices(Devices),
    /// Translate OpenCL C to Metal Shading Language: one file, or whole folders
    #[command(after_help = concat!(
        "COMMANDS.json lists files with options of their own; a file may occur more than once, with other outputs:\n",
        "  [{ \"file\": \"blur.cl\", \"directory\": \"kernels\", \"options\": \"-D RADIUS=4 -I include\", \"output\": \"blur4.metal\" },\n",
        "   { \"file\": \"blur.cl\", \"directory\": \"kernels\", \"arguments\": [\"-D\", \"RADIUS=8\"], \"output\": \"blur8.metal\" }]\n",
        "`file` and -I are below `directory`, which is below the JSON file's folder. Options of the command line count for all.\n\n",
        "Examples:\n  dcmetal translate blur.cl\n  dcmetal translate blur.cl -o blur.metal --reflect blur.json -D RADIUS=4\n",
        "  dcmetal translate kernels/ -I kernels/include -o metal/ --diagnostics found.sarif\n",
        "  dcmetal translate --commands kernels.json -o metal/\n"
    ))]
    Translate(Translate),
    /// Port a folder of OpenCL C: its translation, its reflection, and a report to read
    #[command(after_help = concat!(
        "Writes to OUT, for each .cl file below DIR, NAME.metal and NAME.json, and report/index.html: what became of each\n",
        "file, why some were rejected, and source and translation side by side. Translations are compiled on the device too.\n\n",
        "Examples:\n  dcmetal port kernels/ -o ported/\n  dcmetal port kernels/ -o ported/ -I kernels/include --options \"-cl-std=CL2.0\"\n"
    ))]
    Port(Port),
    /// Compile a kernel file on the device; list its kernels, their arguments and what they do
    #[command(after_help = concat!(
        "Of OpenCL C it tells, for each kernel, what depends on threadgroups, where and how neighbouring threads reach memory, how much one\n",
        "thread does, and the arithmetic intensity: floating-point operations per byte of global memory. All of it is read off the\n",
        "text: branches count as taken, caches are not modelled.\n\n",
        "Examples:\n  dcmetal check blur.cl\n  dcmetal check blur.cl --global 451,300\n  dcmetal check reduce.metal --json\n"
    ))]
    Check(Check),
    /// Tell what limits a kernel on Apple's GPUs and what would make it faster, line by line
    #[command(after_help = concat!(
        "For each access to memory: how the addresses of neighbouring threads lie, the lines of 128 bytes that a SIMD-group touches and the\n",
        "part of them it uses, bank conflicts in threadgroup memory. How many threads a core holds, from an estimate of registers (on\n",
        "Linux), threadgroup memory and size. Arithmetic intensity and its place on a roofline. Then advice, what limits the kernel first.\n",
        "Only --measure runs anything: the kernel is counted on hostmetal, run in all sensible shapes of threadgroups, and what these\n",
        "compute is compared. docs/ANALYSIS.md has the rules, their thresholds and all sources.\n\n",
        "FAMILY: apple1 to apple9, mac2, common1 to common3, metal3.\n",
        "CHIP: a14, m1, m1-pro, m1-max, m1-ultra, m2, m2-pro, m2-max; `this` measures this machine.\n",
        "SPEC as `dcmetal run --help` lists them.\n\n",
        "Examples:\n  dcmetal analyze transpose.metal\n",
        "  dcmetal analyze blur.cl --kernel rows --family apple8 --device m2 --html blur.html\n",
        "  dcmetal analyze saxpy.cl --measure --global 1000 --arg random=f32:1000:1 --arg zeros=f32:1000 \\\n",
        "      --arg f32=2.5 --arg u32=1000\n\n",
        "Exit codes as `dcmetal --help` lists them.\n"
    ))]
    Analyze(Box<Analyze>),
    /// Run a kernel on arguments from the command line and files
    #[command(after_help = concat!(
        "SPEC, one per kernel argument, in the kernel's order:\n",
        "  f32=2.5  i32x4=1,2,3,4        scalar, vector (types i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64)\n",
        "  local=4096                    bytes of local (threadgroup) memory\n",
        "  in=x.npy                      buffer with the content of a NumPy file\n",
        "  in=photo.png[:gray|rgb|rgba]  ... of a PNG, PGM or PPM image, a u8 (or u16) per channel\n",
        "  in=data.bin:f32:512x512       ... of a raw file, as TYPE:SHAPE\n",
        "  zeros=f32:512x512             buffer of zeros\n",
        "  random=u8:1000:7              buffer of random elements from seed 7: floats in [0, 1),\n",
        "                                integers over their whole range\n",
        "  BUFFER,save=FILE              any buffer, saved after the run: .npy, .png, .pgm, .ppm or raw\n",
        "  sampler=linear,repeat,normalized\n",
        "                                nearest (or linear), clamp_to_edge (or clamp_to_zero, repeat, mirrored_repeat),\n",
        "                                pixel (or normalized) coordinates\n",
        "For an image (texture) a buffer's content is its texels: extents [DEPTH or LENGTHx][HEIGHTx]WIDTH[xCOMPONENTS], with 1,\n",
        "2 or 4 components. u8, i8, u16 and i16 are fractions where the kernel reads floats. f16, f32, i32, u32 are what they are.\n\n",
        "Examples:\n",
        "  dcmetal run saxpy.cl saxpy --global 1000 --arg random=f32:1000:1 \\\n",
        "      --arg zeros=f32:1000,save=y.npy --arg f32=2.5 --arg u32=1000\n",
        "  dcmetal run sobel.cl sobel --global 451,300 --arg in=cat.png:rgba \\\n",
        "      --arg zeros=u8:300x451,save=edges.png --arg i32=451 --arg i32=300 \\\n",
        "      --check expected.npy --tolerance 0.51\n",
        "  dcmetal run blur.cl blur --global 451,300 --arg in=cat.png:rgba --arg sampler=nearest,clamp_to_edge \\\n",
        "      --arg zeros=u8:300x451x4,save=blurred.png\n\n",
        "Exit codes as `dcmetal --help` lists them.\n"
    ))]
    Run(Box<Run>),
    /// Run a kernel as `dcmetal run` does, and write what was compiled and ran when to a trace file
    #[command(after_help = concat!(
        "Opens in https://ui.perfetto.dev and in chrome://tracing: a track for each submission, with the time of its encoding,\n",
        "in the queue, on the device and until the program knew; and the compilations. Written also when the run fails.\n\n",
        "Examples:\n",
        "  dcmetal trace -o saxpy.json -- saxpy.cl saxpy --global 1000 --arg random=f32:1000:1 \\\n",
        "      --arg zeros=f32:1000 --arg f32=2.5 --arg u32=1000\n"
    ))]
    Trace(Trace),
    /// Run OpenCL C kernels on an OpenCL implementation too and compare what both compute
    #[command(after_help = concat!(
        "The original runs on the system's first OpenCL device (PoCL on Linux, Apple's on macOS), its translation on the\n",
        "Metal device, both without contraction of a * b + c. Every number of every buffer and image is compared: integers\n",
        "exactly, floats within --ulp, any NaN equal to any other.\n\n",
        "Arguments that are not given: buffers hold four elements per work-item of the grid, at least 1024, of random floats\n",
        "in [-2, 2) and random integers from 0 to the grid's extent, so that they serve as indices; integers by value are the\n",
        "grid's extent (--global); local memory has 4 KiB; images have as many texels as the grid has work-items, at least 16 in\n",
        "each direction, of four 32-bit components; samplers take the nearest\n",
        "texel, in pixels, clamped to the edge or to zero. They vary from round to round; what is\n",
        "given stays.\n\n",
        "SPEC as `dcmetal run --help` lists them. NAME is the argument's.\n\n",
        "Examples:\n",
        "  dcmetal compare blur.cl\n",
        "  dcmetal compare blur.cl --kernel rows --global 64,64 --local 8,8 --arg width=i32=64 --rounds 100\n\n",
        "Exit codes as `dcmetal --help` lists them.\n"
    ))]
    Compare(Box<Compare>),
    /// Measure what is claimed of dcmetal's speed on this machine, with every output verified
    #[command(after_help = concat!(
        "Every output is compared with a reference, on inputs never used before and over poison. Rates are given beside what the\n",
        "machine can do at most, and time must grow with the work. A figure is a median, beside it the 99th percentile of its samples.\n",
        "A verdict is `reached`, `missed`, `broken` (the figure cannot be true) or `not measured`, with the reason. Measure on a machine\n",
        "that does nothing else, with an optimised build.\n\n",
        "Names: ", "`dcmetal validate --list` lists them; `kernels` stands for all kernels.\n\n",
        "Examples:\n  dcmetal validate\n  dcmetal validate --quick --only round-trip kernels\n",
        "  dcmetal validate --json figures.json --html figures.html\n\n",
        "Exit codes as `dcmetal --help` lists them; 0 only if all that was measured is reached.\n"
    ))]
    Validate(Validate),
    /// A new process of which `validate` measures how it begins
    #[command(hide = true)]
    ValidateChild {
        #[arg(trailing_var_arg = true)]
        words: Vec<String>,
    },
    /// The process in which `compare` runs the OpenCL implementation
    #[command(hide = true)]
    OpenclPeer,
}

#[derive(Args)]
pub(crate) struct Devices {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A kernel file and how it is read; shared by check and run.
#[derive(Args)]
pub(crate) struct Source {
    /// The kernel file: OpenCL C (.cl) or Metal Shading Language (.metal)
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

/// How kernel files are read.
#[derive(Args, Clone)]
pub(crate) struct Flags {
    /// Define a preprocessor macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub(crate) define: Vec<String>,
    /// Look for included files in this folder too (OpenCL C)
    #[arg(short = 'I', value_name = "DIR")]
    pub(crate) include: Vec<PathBuf>,
    /// Options as clBuildProgram takes them (OpenCL C)
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub(crate) options: Option<String>,
    /// Version of OpenCL C; CL1.2 when nothing says otherwise
    #[arg(long, value_enum)]
    pub(crate) std: Option<Std>,
    /// What becomes of double, which Metal does not have (OpenCL C): an error, unless something says otherwise, float (4
    /// bytes wide, in buffers too), or computed with integers
    #[arg(long, value_enum)]
    pub(crate) fp64: Option<Fp64>,
    /// Floating-point rules; each language has its own default: OpenCL C safe, Metal fast
    #[arg(long, value_enum)]
    pub(crate) math: Option<Math>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Std {
    #[value(name = "CL1.0")]
    Cl10,
    #[value(name = "CL1.1")]
    Cl11,
    #[value(name = "CL1.2")]
    Cl12,
    #[value(name = "CL2.0")]
    Cl20,
    #[value(name = "CL3.0")]
    Cl30,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fp64 {
    Reject,
    Float,
    Emulate,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Math {
    Safe,
    Fast,
}

#[derive(Args)]
pub(crate) struct Translate {
    /// OpenCL C files, and folders of which every .cl file is taken
    #[arg(value_name = "FILE|DIR", required_unless_present = "commands")]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(flatten)]
    pub(crate) project: Project,
    /// Where the translation goes: a file for one file, else a folder for NAME.metal and NAME.json of each
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Write what a launch needs to know of each kernel, as JSON, when one file is translated
    #[arg(long, value_name = "FILE.json")]
    pub(crate) reflect: Option<PathBuf>,
}

/// What a command on many files takes.
#[derive(Args)]
pub(crate) struct Project {
    /// Files with options of their own; see below
    #[arg(long, value_name = "COMMANDS.json")]
    pub(crate) commands: Option<PathBuf>,
    /// Write all errors and warnings here, as SARIF 2.1.0 (.sarif) or JSON (.json)
    #[arg(long, value_name = "FILE.sarif|FILE.json")]
    pub(crate) diagnostics: Option<PathBuf>,
    /// Files worked on at the same time; as many as there are processors when left out
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
}

#[derive(Args)]
pub(crate) struct Port {
    /// The folder of OpenCL C files, or single files
    #[arg(value_name = "DIR", required_unless_present = "commands")]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(flatten)]
    pub(crate) project: Project,
    /// The folder to write to
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Do not compile the translations on the device
    #[arg(long)]
    pub(crate) no_check: bool,
}

#[derive(Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Say which threadgroups a grid of these threads gets, and why
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub(crate) global: Option<[u64; 3]>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Analyze {
    #[command(flatten)]
    pub(crate) source: Source,
    /// The kernel's name; every kernel of the file when left out
    #[arg(long)]
    pub(crate) kernel: Option<String>,
    /// GPU families whose occupancy is told
    #[arg(long, value_name = "FAMILY,...", value_delimiter = ',', value_parser = family, default_values = ["apple7", "apple8", "apple9"])]
    pub(crate) family: Vec<GpuFamily>,
    /// The chip on whose roofline kernels are placed, or `this`
    #[arg(long, value_name = "CHIP", value_parser = device, default_value = "m1")]
    pub(crate) device: Device,
    /// Threads (work-items) of the grid
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub(crate) global: Option<[u64; 3]>,
    /// Threads of a threadgroup (work-group); without it those that a launch over --global has, or 256 in a row
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub(crate) local: Option<[u64; 3]>,
    /// Run the kernel and show what advice is about, counted and timed, and try what a change of the text follows; needs
    /// --global, and --arg for each argument
    #[arg(long, requires = "global")]
    pub(crate) measure: bool,
    /// One kernel argument, for --measure
    #[arg(long = "arg", value_name = "SPEC", value_parser = written, requires = "measure")]
    pub(crate) args: Vec<Written>,
    /// Give up on a run of --measure after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub(crate) timeout: f64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page with the source, the advice at its lines, and a chart here
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// What a kernel's roofline is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Device {
    /// This machine's device, measured.
    This,
    Chip(Chip),
}

/// An argument, and how it was written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) spec: Spec,
}

#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) source: Source,
    /// The kernel's name
    pub(crate) kernel: String,
    /// Threads (work-items) of the grid
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub(crate) global: [u64; 3],
    /// Threads of a threadgroup (work-group); chosen for you when left out
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub(crate) local: Option<[u64; 3]>,
    /// Let the last threadgroups be smaller than --local, as those chosen for you may be, if no result depends on it (before
    /// OpenCL C 2.0 --local must divide --global)
    #[arg(long, requires = "local")]
    pub(crate) partial: bool,
    /// One kernel argument; see below
    #[arg(long = "arg", value_name = "SPEC", value_parser = Spec::parse)]
    pub(crate) args: Vec<Spec>,
    /// Compare the kernel's output with this file; with several outputs name one, by position (from 0) or name
    #[arg(long, value_name = "[ARG=]FILE.npy")]
    pub(crate) check: Vec<String>,
    /// Difference that --check accepts
    #[arg(long, value_name = "T", default_value_t = 0.0, value_parser = tolerance)]
    pub(crate) tolerance: f64,
    /// Difference that --check accepts on top, as a share of the expected value
    #[arg(long, value_name = "R", default_value_t = 0.0, value_parser = tolerance)]
    pub(crate) relative: f64,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub(crate) timeout: f64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Trace {
    /// Where the trace goes
    #[arg(short, long, value_name = "FILE.json")]
    pub(crate) output: PathBuf,
    /// What `dcmetal run` takes
    #[arg(last = true, required = true, value_name = "RUN")]
    pub(crate) run: Vec<std::ffi::OsString>,
}

#[derive(Args)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) source: Source,
    /// The kernel's name; every kernel of the file when left out
    #[arg(long)]
    pub(crate) kernel: Option<String>,
    /// Work-items of the grid
    #[arg(long, visible_alias = "grid", value_name = "X[,Y[,Z]]", value_parser = extents, default_value = "64")]
    pub(crate) global: [u64; 3],
    /// Work-items of a work-group; chosen for you when left out
    #[arg(long, visible_alias = "group", value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub(crate) local: Option<[u64; 3]>,
    /// One kernel argument; see below
    #[arg(long = "arg", value_name = "NAME=SPEC", value_parser = named_spec)]
    pub(crate) args: Vec<(String, Spec)>,
    /// Seed of the random arguments
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// How often to compare, each time with other arguments
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Units in the last place by which floats may differ
    #[arg(long, default_value_t = 4)]
    pub(crate) ulp: u64,
    /// In every second round floats are any there are, NaN and infinities among them, and integers in buffers too
    #[arg(long)]
    pub(crate) wild: bool,
    /// Give up after this many seconds of the OpenCL implementation's silence
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub(crate) timeout: f64,
}

#[derive(Args)]
pub(crate) struct Validate {
    /// Write all figures here, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a page with charts here
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Measure these claims only
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(crate) only: Vec<String>,
    /// Fewer turns and smaller sizes; everything is verified all the same
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seed of the random inputs; the time when left out
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the names of the claims, and measure nothing
    #[arg(long)]
    pub(crate) list: bool,
}

fn named_spec(text: &str) -> Result<(String, Spec), String> {
    let (name, spec) = text.split_once('=').ok_or("it has no `=`; see `dcmetal compare --help`")?;
    Ok((name.to_owned(), Spec::parse(spec)?))
}

fn family(text: &str) -> Result<GpuFamily, String> {
    let named = |family: &GpuFamily| family.to_string().eq_ignore_ascii_case(text);
    GpuFamily::ALL.into_iter().find(named).ok_or_else(|| {
        let names: Vec<String> = GpuFamily::ALL.iter().map(|family| family.to_string().to_lowercase()).collect();
        format!("there is no family `{text}`; there are {}", names.join(", "))
    })
}

fn device(text: &str) -> Result<Device, String> {
    if text.eq_ignore_ascii_case("this") {
        return Ok(Device::This);
    }
    Chip::named(text).map(Device::Chip).ok_or_else(|| {
        let names: Vec<String> = CHIPS.iter().map(|chip| chip.name.replace(' ', "-").to_lowercase()).collect();
        format!("no source tells the rates of `{text}`; there are {}, and `this`", names.join(", "))
    })
}

fn written(text: &str) -> Result<Written, String> {
    let spec = Spec::parse(text)?;
    match spec {
        Spec::Buffer { save: Some(_), .. } => Err("`analyze` runs the kernel often and saves nothing".into()),
        spec => Ok(Written { text: text.to_owned(), spec }),
    }
}

fn extents(text: &str) -> Result<[u64; 3], String> {
    let mut extents = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("a grid has at most three dimensions".into());
    }
    for (extent, part) in extents.iter_mut().zip(parts) {
        *extent = part.trim().parse().map_err(|_| format!("`{part}` is not a number of threads"))?;
    }
    Ok(extents)
}

fn tolerance(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|t: &f64| *t >= 0.0 && t.is_finite())
        .ok_or_else(|| "it is not a number of at least 0".into())
}

fn seconds(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|s: &f64| *s > 0.0 && *s <= 1e9)
        .ok_or_else(|| "it is not a number of seconds above 0".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn grids() {
        assert_eq!(extents("7"), Ok([7, 1, 1]));
        assert_eq!(extents("4, 5,6"), Ok([4, 5, 6]));
        for text in ["", "a", "-1", "1,2,3,4", "1,,2"] {
            assert!(extents(text).is_err(), "{text}");
        }
    }
}
