//! Kernels: libraries from source, their kernels, what those take, and the checks of a launch.

mod advice;
mod analysis;
mod args;
mod argument;
mod check;
mod choice;
mod compilation;
mod disk;
mod kept;
mod library;
mod opencl;
mod source;
mod tune;

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

pub use args::Arg;
pub(crate) use args::{Element, TransientUse, described};
pub use argument::{Access, Argument, ArgumentKind, Scalar, TextureKind, TextureSlot};
pub use choice::{MemoryLayout, ThreadWork, ThreadgroupChoice, ThreadgroupReason};
pub use compilation::Compilation;
pub use disk::KernelFileStats;
pub(crate) use disk::KernelFiles;
pub(crate) use library::CompiledSource;
pub use library::{CompileOptions, ConstantValue, Constants, Library, MathMode};
pub(crate) use source::{Source, SourceKey};
pub use tune::{Candidate, TuneOptions, Tuning};
pub(crate) use tune::{measure, median};

pub(crate) use check::{Dispatch, check};
pub(crate) use kept::{Kept, KeptMemory, Part};

pub use analysis::Registers;
use analysis::{Analysed, Text};
use args::{Passed, PassedBuffer};
use check::threadgroup_length;
use tune::Tunings;

use crate::command::{Scope, Touch};
use crate::grid::Extent;
use crate::memory::AllocationRef;
use crate::print::Printing;
use crate::raw::command::ComputeEncoder;
use crate::raw::{self, Failure};
use crate::telemetry::{Figures, KernelFigures};
use crate::{
    Accelerator, Buffer, Error, Grid, IndirectGrid, PixelFormat, Result, Sampler, Size, Submission, Texture,
    TextureDescriptor,
};
use dcmetal_sys as sys;

/// A compiled compute function, ready to launch. Cloning shares it.
///
/// A kernel is foreign code, as a linked C library is: this crate checks what it is given, not what it then does.
/// Like a C function it can index past its arguments; whoever compiles a source vouches for it.
#[derive(Clone)]
pub struct Kernel {
    pipeline: Arc<Pipeline>,
}

/// MSL to stand before a source: operations of a threadgroup, and of a *tile*, a part of a SIMD-group of 2 to 32 threads, in `namespace dcmetal`.
///
/// `tile<N>`: `shuffle`, `shuffle_xor`, `shuffle_up`, `shuffle_down`, `broadcast`, `reduce<Op>`, `inclusive_scan<Op>`, `exclusive_scan<Op>`, `sum`, `ballot`, `any`, `all`.
/// `group`: `sync`, `sync_device`, `reduce<Op>`, `inclusive_scan<Op>`, `sum`. `Op` is `add`, `multiply`, `least`, `most`, `bit_and`, `bit_or` or `bit_xor`. All threads of a group must be
/// there and call together, a threadgroup is whole SIMD-groups, and a SIMD-group has 32 threads, as on Apple's GPUs and hostmetal: where [`Kernel::execution_width`] is
/// another, results are wrong. Values are numbers of at most 32 bits, or vectors of such; a `group` has an array of 32 of them in threadgroup memory, `parts`. They are put together in an order that depends on
/// nothing, so floats come to the same on every device.
///
/// A grid has no such operation in MSL, for Metal promises no progress between threadgroups: a kernel in OpenCL C has `dc_grid_barrier`, at which it is cut
/// (docs/TRANSLATION.md, "Barriers of the grid"); for a grid of one threadgroup `sync_device` is one. A kernel that names `dcmetal::grid` or `dc_grid_barrier` does not compile, and is
/// told so at that place.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let source = format!("{COOPERATIVE}
///     kernel void rows(device const uint *x [[buffer(0)]], device uint *sums [[buffer(1)]], uint i [[thread_position_in_grid]],
///                      uint lane [[thread_index_in_simdgroup]]) {{
///         dcmetal::tile<8> row(lane);
///         uint sum = row.sum(x[i]);
///         if (row.thread_rank() == 0) sums[i / 8] = sum;
///     }}");
/// let rows = gpu.compile_msl(&source)?.kernel("rows")?;
/// let x = gpu.buffer_from(&(0..64).collect::<Vec<u32>>())?;
/// let mut sums = gpu.buffer_zeroed::<u32>(8)?;
/// rows.launch(Grid::linear(64).threadgroup(64u32), args![&x, &mut sums])?.wait()?;
/// assert_eq!(sums.to_vec()?[..3], [28, 92, 156]);
/// # Ok(()) }
/// ```
pub const COOPERATIVE: &str = include_str!("cooperative.h");

/// A kernel of one accelerator.
pub(crate) struct Pipeline {
    compiled: Arc<CompiledKernel>,
    pub(super) accelerator: Accelerator,
    /// By slot, for arguments with several textures: what is bound where the format does not fit.
    pub(super) spare_textures: Vec<(usize, Texture)>,
    /// Those that run behind it in a launch.
    parts: Vec<Kernel>,
}

impl Deref for Pipeline {
    type Target = CompiledKernel;

    fn deref(&self) -> &CompiledKernel {
        &self.compiled
    }
}

/// A pipeline state with what launches are checked against; libraries keep it, so it keeps no accelerator.
pub(crate) struct CompiledKernel {
    pub(super) raw: raw::Pipeline,
    /// What further pipelines are made of.
    pub(super) function: raw::Function,
    /// The pipeline of indirect commands, from the first graph on that asked for it.
    pub(super) for_commands: OnceLock<raw::Pipeline>,
    pub(super) name: String,
    pub(super) arguments: Vec<Argument>,
    pub(super) max_threads: u64,
    pub(super) execution_width: u64,
    pub(super) static_threadgroup_memory: u64,
    pub(super) required_threadgroup: Option<Size>,
    /// Every threadgroup must be whole (OpenCL C 1.2).
    pub(super) uniform_threadgroups: bool,
    /// So must those that a launch chooses: the kernel can tell them from others, or the device has no others.
    pub(super) chooses_whole: bool,
    /// Threadgroups that keep all cores of the device busy.
    pub(super) enough: u64,
    /// From OpenCL C, where buffers and values differ.
    pub(super) is_opencl: bool,
    /// What it does: of OpenCL C from the beginning, of MSL once it was asked for.
    pub(super) analysis: OnceLock<Analysed>,
    /// What a thread needs, once it was asked for.
    pub(super) registers: OnceLock<Registers>,
    /// The text that it was compiled from.
    pub(super) msl: Arc<Text>,
    /// The buffer index at which the kernel wants the number of dimensions.
    pub(super) work_dim_slot: Option<usize>,
    /// The buffer index at which the kernel wants order and type of the channels of its images.
    pub(super) image_formats_slot: Option<usize>,
    /// Set if it prints.
    pub(super) printing: Option<Printing>,
    /// The kernels that run behind it in a launch, if it was cut at grid barriers.
    pub(super) parts: Vec<Arc<CompiledKernel>>,
    /// The buffer index of what work-items keep from part to part, and its bytes for each.
    pub(super) state: Option<(usize, u64)>,
    /// The buffer index at which parts say which is next.
    pub(super) turns_slot: Option<usize>,
    /// The threadgroup sizes that were measured.
    tunings: Tunings,
    /// Its telemetry, from the first submission on that counted it.
    pub(super) figures: OnceLock<Arc<KernelFigures>>,
}

impl CompiledKernel {
    /// What it does; of MSL as the platform tells it when this is first called.
    pub(super) fn analysed(&self) -> Result<&Analysed> {
        if let Some(known) = self.analysis.get() {
            return Ok(known);
        }
        let told = self.told("the analysis")?;
        let analysed = self.msl.read(&self.name, &self.arguments, &told).map_err(|line| {
            let text = format!("what the platform tells of the kernel is not understood: {line:?}");
            Error::Unsupported { what: format!("the analysis of kernel `{}`", self.name), text }
        })?;
        if let Some(registers) = self.msl.registers(&told, false) {
            self.registers.get_or_init(|| registers);
        }
        Ok(self.analysis.get_or_init(|| analysed))
    }

    /// What a thread needs, as the platform tells it of the compiled code, when this is first called.
    fn needed(&self) -> Result<&Registers> {
        if let Some(known) = self.registers.get() {
            return Ok(known);
        }
        let told = self.told("the estimate of registers")?;
        let registers = self.msl.registers(&told, self.is_opencl).ok_or_else(|| Error::Unsupported {
            what: format!("the estimate of registers of kernel `{}`", self.name),
            text: "the platform does not tell them: the kernel is too long".to_owned(),
        })?;
        Ok(self.registers.get_or_init(|| registers))
    }

    /// What the platform tells of the compiled code.
    fn told(&self, what: &str) -> Result<String> {
        self.function.analyse().map_err(|Failure { status, domain, code, text, .. }| match status {
            sys::DC_METAL_UNSUPPORTED => Error::Unsupported { what: format!("{what} of kernel `{}`", self.name), text },
            _ => Error::Pipeline { kernel: self.name.clone(), domain, code, text },
        })
    }
}

/// A texture of one texel for each that stands for an argument together with others (docs/REFLECTION.md, "An image").
fn spare_textures(accelerator: &Accelerator, arguments: &[Argument]) -> Result<Vec<(usize, Texture)>> {
    let mut spare = Vec::new();
    for argument in arguments.iter().filter(|argument| argument.textures.len() > 1) {
        let ArgumentKind::Texture { kind } = argument.kind else { unreachable!("only textures have texture slots") };
        for TextureSlot { scalar, slot } in &argument.textures {
            let format = match scalar {
                Some(Scalar::I32) => PixelFormat::R32Sint,
                Some(Scalar::U32) => PixelFormat::R32Uint,
                _ => PixelFormat::R32Float,
            };
            let one = TextureDescriptor { kind, format, width: 1, height: 1, depth: 1, array_length: 1 };
            spare.push((*slot, accelerator.texture(&one)?));
        }
    }
    Ok(spare)
}

impl Kernel {
    pub(super) fn new(accelerator: &Accelerator, compiled: Arc<CompiledKernel>) -> Result<Kernel> {
        let spare_textures = spare_textures(accelerator, &compiled.arguments)?;
        let parts = compiled.parts.iter().map(|part| Kernel::new(accelerator, Arc::clone(part)));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let pipeline = Pipeline { compiled, accelerator: accelerator.clone(), spare_textures, parts };
        Ok(Kernel { pipeline: Arc::new(pipeline) })
    }

    pub(crate) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The kernels that run behind it in a launch: it was cut at grid barriers.
    pub(crate) fn parts(&self) -> &[Kernel] {
        &self.pipeline.parts
    }

    /// Whether its parts say which of them is next, so that a launch takes rounds of the host.
    pub(crate) fn takes_turns(&self) -> bool {
        self.pipeline.turns_slot.is_some()
    }

    /// What the work-items of a launch keep between its parts.
    pub(crate) fn state_memory(&self, dispatch: &Dispatch) -> Result<Option<Buffer<u8>>> {
        let Some((_, bytes)) = self.pipeline.state else { return Ok(None) };
        let axis = |count: u64, group: u64| match dispatch.extent {
            Extent::Threads(_) => count,
            Extent::Threadgroups(_) => count.saturating_mul(group),
        };
        let (Extent::Threads(count) | Extent::Threadgroups(count)) = dispatch.extent;
        let group = dispatch.threadgroup;
        let items =
            [(count.x, group.x), (count.y, group.y), (count.z, group.z)].map(|(count, group)| axis(count, group));
        let all = items.iter().fold(bytes, |all, &items| all.saturating_mul(items));
        let accelerator = self.accelerator();
        accelerator.staging().buffer(accelerator, usize::try_from(all).unwrap_or(usize::MAX)).map(Some)
    }

    /// Whether both are the same compiled object.
    pub(crate) fn is(&self, other: &Kernel) -> bool {
        Arc::ptr_eq(&self.pipeline.compiled, &other.pipeline.compiled)
    }

    pub(crate) fn raw(&self) -> &raw::Pipeline {
        &self.pipeline.raw
    }

    /// The pipeline that indirect commands take: another one, for Metal compiles it with other options.
    pub(crate) fn for_commands(&self) -> std::result::Result<&raw::Pipeline, raw::Failure> {
        let CompiledKernel { function, for_commands, name, .. } = &**self.pipeline;
        if let Some(pipeline) = for_commands.get() {
            return Ok(pipeline);
        }
        let made = raw::Pipeline::for_commands(self.accelerator().device(), function, name)?;
        Ok(for_commands.get_or_init(|| made))
    }

    /// What is counted of it, among its accelerator's figures.
    pub(crate) fn figures(&self, figures: &Figures) -> &Arc<KernelFigures> {
        self.pipeline.figures.get_or_init(|| figures.kernel(self.name()))
    }

    pub(crate) fn accelerator(&self) -> &Accelerator {
        &self.pipeline.accelerator
    }

    /// Its name in the source.
    pub fn name(&self) -> &str {
        &self.pipeline.name
    }

    /// What it takes, in the order of a launch ([`args!`](crate::args)).
    pub fn arguments(&self) -> &[Argument] {
        &self.pipeline.arguments
    }

    /// The most threads a threadgroup of this kernel can have on this device.
    pub fn max_threads_per_threadgroup(&self) -> u64 {
        self.pipeline.max_threads
    }

    /// Threads that the device runs in step; threadgroups of a multiple of it waste nothing.
    pub fn execution_width(&self) -> u64 {
        self.pipeline.execution_width
    }

    /// Bytes of threadgroup memory that the kernel itself declares.
    pub fn static_threadgroup_memory(&self) -> u64 {
        self.pipeline.static_threadgroup_memory
    }

    /// The threadgroup size that the kernel insists on (OpenCL C's `reqd_work_group_size`).
    pub fn required_threadgroup(&self) -> Option<Size> {
        self.pipeline.required_threadgroup
    }

    /// The threads of a threadgroup that a launch over this grid uses: the grid's own, or the one chosen for it.
    ///
    /// # Errors
    /// Those of a launch that concern the grid.
    pub fn threadgroup_for(&self, grid: &Grid) -> Result<Size> {
        check::check_grid(&self.pipeline, grid).map(|(_, size, _)| size)
    }

    /// The same, with the reason and the facts that it rests on: [`Kernel::analysis`] among them, which is asked for. What that says of a kernel in MSL
    /// counts for launches from then on.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let fill = gpu.compile_opencl("kernel void fill(global int *y) { y[get_global_id(0)] = 1; }")?.kernel("fill")?;
    /// let choice = fill.threadgroup_choice(&Grid::linear(96))?;
    /// assert_eq!((choice.size, choice.reason), (Size::from(96u32), ThreadgroupReason::Advised));
    /// println!("{choice}"); // 96x1x1 of a grid of 96x1x1 threads: all threads of the grid, which ...
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of a launch that concern the grid.
    pub fn threadgroup_choice(&self, grid: &Grid) -> Result<ThreadgroupChoice> {
        let analysed = self.pipeline.analysed().ok();
        check::check_grid(&self.pipeline, grid)
            .map(|(threads, size, reason)| ThreadgroupChoice::new(&self.pipeline, analysed, threads, size, reason))
    }

    /// What the kernel does that depends on threadgroups or orders threads, how it reaches memory, and how much work a thread has. Of
    /// OpenCL C it is known from the translator's syntax tree, for each place of the text. Of MSL hostmetal tells it from the code that
    /// its compiler makes, in which what is never run is missing; the first call runs that compiler, some tenths of a second. Launches never
    /// do, and choose threadgroups by what is known already ([`Kernel::threadgroup_choice`]).
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let source = "kernel void fill(global float *y, int n) {\n for (int k = 0; k < n; k++)\n  y[k] = k * 0.5f; }";
    /// let fill = gpu.compile_opencl(source)?.kernel("fill")?;
    /// let analysis = fill.analysis()?;
    /// let clmsl::Intensity::Exactly(intensity) = analysis.intensity() else { panic!() };
    /// assert_eq!(intensity.value(), 0.25); // one operation for four bytes, however often the loop runs
    /// assert_eq!(fill.location(analysis.work.loops[0].span).map(|at| at.line), Some(2));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] for MSL on Apple's Metal, which tells nothing of it; [`Error::Pipeline`] where hostmetal's compiler fails, and, of
    /// the kind [`Unsupported`](crate::ErrorKind::Unsupported), where hostmetal was built without its LLVM pass or a function that the kernel
    /// calls cannot become a part of it (recursion, `optnone`).
    pub fn analysis(&self) -> Result<&clmsl::KernelAnalysis> {
        self.pipeline.analysed().map(|analysed| &analysed.kernel)
    }

    /// The registers that a thread needs, and its memory of its own: an estimate, by hostmetal from the code that its compiler makes, for OpenCL C of the
    /// translation. The first call runs that compiler, some tenths of a second, if [`Kernel::analysis`] did not.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let source = "kernel void k(device float* y, constant int& n, uint i [[thread_position_in_grid]]) {
    ///     float a = y[i], b = a, c = a; for (int k = 0; k < n; k++) { a = a * b; b = b + c; c = c - a; } y[i] = a + b + c; }";
    /// let k = gpu.compile_msl(source)?.kernel("k")?;
    /// # #[cfg(target_os = "linux")]
    /// assert!(k.registers()?.thread >= 3); // a, b and c live through the loop
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] on Apple's Metal, which tells nothing of it, and for kernels of more than 100,000 instructions; else as [`Kernel::analysis`].
    pub fn registers(&self) -> Result<&Registers> {
        self.pipeline.needed()
    }

    /// Where a place of [`Kernel::analysis`] is in the source; `None` where that was not asked for or failed.
    pub fn location(&self, span: clmsl::Span) -> Option<clmsl::Location> {
        self.pipeline.analysis.get().map(|analysed| analysed.sources.location(span))
    }

    /// Where a line, from 1, of the text that Metal got is in the source; its column is 0. `None` for lines that are not the user's. Counted runs of
    /// hostmetal (docs/ANALYSIS.md) name such lines.
    pub fn origin(&self, line: u32) -> Option<clmsl::Location> {
        self.pipeline.msl.origin(line, self.pipeline.is_opencl)
    }

    /// Launches it alone. A [`Batch`](crate::Batch) is cheaper for several launches.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let source = "kernel void iota(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = i; }";
    /// let iota = gpu.compile_msl(source)?.kernel("iota")?;
    /// let mut y = gpu.buffer_zeroed::<u32>(5)?;
    /// iota.launch(Grid::linear(5), args![&mut y])?.wait()?;
    /// assert_eq!(y.to_vec()?, [0, 1, 2, 3, 4]);
    /// // What does not fit is refused before anything runs:
    /// let refused = iota.launch(Grid::linear(5), args![&y]);
    /// assert!(matches!(refused, Err(Error::ArgumentReadOnly { .. })));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Every mismatch of arguments and grid has its variant of [`Error`](crate::Error);
    /// [`Error::BufferInUse`](crate::Error::BufferInUse) when a host guard is alive, and
    /// [`Error::Faulted`](crate::Error::Faulted) when a buffer holds what a failed submission left.
    pub fn launch<'a>(&self, grid: Grid, args: impl AsRef<[Arg<'a>]>) -> Result<Submission> {
        let mut batch = self.pipeline.accelerator.batch()?;
        batch.launch(self, grid, args)?;
        batch.submit()
    }

    /// Launches it alone over as many threadgroups as a buffer says when it runs: see [`IndirectGrid`].
    ///
    /// # Errors
    /// As [`Kernel::launch`], and as [`Batch::launch_indirect`](crate::Batch::launch_indirect).
    pub fn launch_indirect<'a>(&self, grid: IndirectGrid<'_>, args: impl AsRef<[Arg<'a>]>) -> Result<Submission> {
        let mut batch = self.pipeline.accelerator.batch()?;
        batch.launch_indirect(self, grid, args)?;
        batch.submit()
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name()).field("arguments", &self.arguments()).finish()
    }
}

/// Bits of the threadgroup memory indices that a launch of this kernel sets.
pub(crate) fn threadgroup_slots(kernel: &Kernel) -> u64 {
    let threadgroup = |argument: &&Argument| argument.kind == ArgumentKind::Threadgroup;
    kernel.arguments().iter().filter(threadgroup).fold(0, |slots, argument| slots | 1 << (argument.slot % 64))
}

/// The buffers and textures among arguments, and whether they were passed for writing.
pub(crate) fn buffers<'a>(args: &[Arg<'a>]) -> impl Iterator<Item = (&'a AllocationRef, bool)> {
    args.iter().filter_map(|arg| match &arg.passed {
        Passed::Buffer(buffer) => Some((buffer.allocation, buffer.writable)),
        Passed::Texture { texture, writable } => Some((&texture.allocation, *writable)),
        _ => None,
    })
}

/// What a launch passes beside buffers, textures and the compiled kernel: samplers, and the kernel's own textures.
pub(crate) fn given(kernel: &Kernel, args: &[Arg<'_>]) -> impl Iterator<Item = Arc<dyn Any + Send + Sync>> {
    let samplers = args.iter().filter_map(|arg| match &arg.passed {
        Passed::Sampler(sampler) => Some(Arc::clone(&sampler.state) as Arc<dyn Any + Send + Sync>),
        _ => None,
    });
    let own = (!kernel.pipeline.spare_textures.is_empty())
        .then(|| Arc::clone(&kernel.pipeline) as Arc<dyn Any + Send + Sync>);
    samplers.chain(own)
}

/// Memory of a launch that no argument names. Its kernels write all of it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Own<'a> {
    /// What is printed to.
    pub(crate) prints: Option<&'a AllocationRef>,
    /// What work-items keep between parts.
    pub(crate) state: Option<&'a AllocationRef>,
    /// Which parts are next, and the byte at which this pass's row begins.
    pub(crate) turns: Option<(&'a AllocationRef, usize)>,
}

impl<'a> Own<'a> {
    pub(crate) fn memories(self) -> impl Iterator<Item = &'a AllocationRef> {
        self.prints.into_iter().chain(self.state).chain(self.turns.map(|(turns, _)| turns))
    }
}

/// What a launch with these checked arguments touches. Passed for writing is written unless the compiler says that the kernel
/// only reads it.
pub(crate) fn touches<'a>(kernel: &'a Kernel, args: &'a [Arg<'_>], own: Own<'a>) -> impl Iterator<Item = Touch> {
    let all = |allocation: &AllocationRef, writes, scope| Touch {
        memory: allocation.address(),
        bytes: 0..usize::MAX,
        scope,
        writes,
    };
    let passed = kernel.arguments().iter().zip(args).filter_map(move |(argument, arg)| {
        let writes = argument.access != Access::ReadOnly;
        match &arg.passed {
            Passed::Buffer(PassedBuffer { allocation, offset, bytes, writable, .. }) => {
                Some(Touch { bytes: *offset..*offset + *bytes, ..all(allocation, writes && *writable, Scope::BUFFERS) })
            }
            Passed::Texture { texture, writable } => {
                Some(all(&texture.allocation, writes && *writable, Scope::TEXTURES))
            }
            _ => None,
        }
    });
    passed.chain(own.memories().map(move |memory| all(memory, true, Scope::BUFFERS)))
}

/// Bytes of the buffers, views and textures among arguments.
pub(crate) fn bytes(args: &[Arg<'_>]) -> u64 {
    let bytes = args.iter().map(|arg| match &arg.passed {
        Passed::Buffer(buffer) => buffer.bytes as u64,
        Passed::Texture { texture, .. } => texture.size_bytes() as u64,
        _ => 0,
    });
    bytes.fold(0, u64::saturating_add)
}

/// Whether it wants what only a launch passes: the number of dimensions, the formats of its images, memory between its parts.
pub(crate) fn asks_for_launch(kernel: &Kernel) -> bool {
    let pipeline = &kernel.pipeline;
    pipeline.work_dim_slot.is_some() || pipeline.image_formats_slot.is_some() || !pipeline.parts.is_empty()
}

/// How the kernel prints, if it does.
pub(crate) fn printing(kernel: &Kernel) -> Option<&Printing> {
    kernel.pipeline.printing.as_ref()
}

/// What the arguments of a launch are bound to, by their indices: an encoder, or a command that a graph records.
pub(crate) trait Slots {
    fn set_buffer(&mut self, allocation: &AllocationRef, offset: usize, index: usize) -> Bound;
    fn set_bytes(&mut self, bytes: &[u8], index: usize) -> Bound;
    fn set_threadgroup_memory(&mut self, bytes: u64, index: usize) -> Bound;
    fn set_texture(&mut self, texture: &Texture, index: usize) -> Bound;
    fn set_sampler(&mut self, sampler: &Sampler, index: usize) -> Bound;
}

type Bound = std::result::Result<(), raw::Failure>;

impl Slots for ComputeEncoder {
    fn set_buffer(&mut self, allocation: &AllocationRef, offset: usize, index: usize) -> Bound {
        ComputeEncoder::set_buffer(self, allocation.memory(), offset, index)
    }

    fn set_bytes(&mut self, bytes: &[u8], index: usize) -> Bound {
        ComputeEncoder::set_bytes(self, bytes, index)
    }

    fn set_threadgroup_memory(&mut self, bytes: u64, index: usize) -> Bound {
        ComputeEncoder::set_threadgroup_memory(self, bytes, index)
    }

    fn set_texture(&mut self, texture: &Texture, index: usize) -> Bound {
        ComputeEncoder::set_texture(self, texture.allocation.memory(), index)
    }

    fn set_sampler(&mut self, sampler: &Sampler, index: usize) -> Bound {
        ComputeEncoder::set_sampler(self, &sampler.state, index)
    }
}

/// Binds checked arguments, and the launch's own memory.
pub(crate) fn bind(
    slots: &mut impl Slots,
    kernel: &Kernel,
    args: &[Arg<'_>],
    dimensions: u32,
    own: Own<'_>,
) -> std::result::Result<(), raw::Failure> {
    if let Some(slot) = kernel.pipeline.work_dim_slot {
        slots.set_bytes(&dimensions.to_ne_bytes(), slot)?;
    }
    if let (Some(printing), Some(prints)) = (&kernel.pipeline.printing, own.prints) {
        slots.set_buffer(prints, 0, printing.slot)?;
    }
    if let (Some((slot, _)), Some(state)) = (kernel.pipeline.state, own.state) {
        slots.set_buffer(state, 0, slot)?;
    }
    if let (Some(slot), Some((turns, row))) = (kernel.pipeline.turns_slot, own.turns) {
        slots.set_buffer(turns, row, slot)?;
    }
    if let Some(slot) = kernel.pipeline.image_formats_slot {
        slots.set_bytes(&image_formats(args), slot)?;
    }
    let mut shared = SharedValues::of(kernel.arguments());
    for (argument, arg) in kernel.arguments().iter().zip(args) {
        match &arg.passed {
            Passed::Buffer(PassedBuffer { allocation, offset, .. }) => {
                slots.set_buffer(allocation, *offset, argument.slot)?;
            }
            Passed::Value { bytes, .. } => set_value(slots, argument, bytes.as_slice(), &mut shared)?,
            Passed::Threadgroup { bytes } => {
                slots.set_threadgroup_memory(threadgroup_length(*bytes), argument.slot)?;
            }
            Passed::Texture { texture, .. } => {
                for slot in &argument.textures {
                    let spare = || kernel.pipeline.spare_textures.iter().find(|spare| spare.0 == slot.slot);
                    let bound =
                        if check::fits(slot, texture) { texture } else { &spare().expect("each has its own").1 };
                    slots.set_texture(bound, slot.slot)?;
                }
            }
            // OpenCL C's samplers are numbers.
            Passed::Sampler(sampler) if kernel.pipeline.is_opencl => {
                let number = sampler.descriptor().opencl().expect("a checked sampler is one of OpenCL's");
                set_value(slots, argument, &number.to_ne_bytes(), &mut shared)?;
            }
            Passed::Sampler(sampler) => slots.set_sampler(sampler, argument.slot)?,
            Passed::Transient(_) => unreachable!("a checked argument is of the kernel's kind"),
        }
    }
    match shared {
        Some(values) => slots.set_bytes(&values.bytes, values.slot),
        None => Ok(()),
    }
}

/// Channel order and channel type of each image, in the order of the arguments.
fn image_formats(args: &[Arg<'_>]) -> Vec<u8> {
    let formats = args.iter().filter_map(|arg| match &arg.passed {
        Passed::Texture { texture, .. } => {
            Some(texture.format().opencl().expect("a checked format is one of OpenCL's"))
        }
        _ => None,
    });
    formats.flatten().flat_map(u32::to_ne_bytes).collect()
}

/// The buffer of the values that share one, as the translator lays it out.
struct SharedValues {
    slot: usize,
    bytes: Vec<u8>,
}

impl SharedValues {
    fn of(arguments: &[Argument]) -> Option<SharedValues> {
        let slot = arguments.iter().find(|argument| argument.offset > 0)?.slot;
        let values = || {
            let value = |a: &&Argument| matches!(a.kind, ArgumentKind::Value | ArgumentKind::Sampler) && a.slot == slot;
            arguments.iter().filter(value)
        };
        let end = values().map(|a| a.offset + a.size as usize).max().unwrap_or(0);
        let alignment = values().map(|a| a.alignment as usize).max().unwrap_or(1);
        Some(SharedValues { slot, bytes: vec![0; end.next_multiple_of(alignment)] })
    }
}

/// A three-element vector is passed with the room of four.
fn set_value(
    slots: &mut impl Slots,
    argument: &Argument,
    bytes: &[u8],
    shared: &mut Option<SharedValues>,
) -> std::result::Result<(), raw::Failure> {
    if let Some(shared) = shared.as_mut().filter(|shared| shared.slot == argument.slot) {
        shared.bytes[argument.offset..][..bytes.len()].copy_from_slice(bytes);
        return Ok(());
    }
    let wanted = usize::try_from(argument.size).unwrap_or(0);
    if wanted <= bytes.len() {
        return slots.set_bytes(bytes, argument.slot);
    }
    let mut padded = vec![0; wanted];
    padded[..bytes.len()].copy_from_slice(bytes);
    slots.set_bytes(&padded, argument.slot)
}
