//! Libraries: compiled sources, and the kernels in them.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dcmetal_sys as sys;

use super::advice::enough;
use super::analysis::Text;
use super::argument::{Scalar, from_msl};
use super::compilation::{Compilation, Job};
use super::opencl::{self, Program};
use super::source::{Translation, depends_on_files};
use super::tune::{Tunings, tuning_key};
use super::{CompiledKernel, Kernel};
use crate::memo::{Asked, Memo, hash};
use crate::raw::{self, ConstantBytes, Failure};
use crate::telemetry::{Compiled, compiling};
use crate::{Accelerator, Error, GpuFamily, Result};

/// How MSL source is compiled, Metal's `MTLCompileOptions`. The default is Metal's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CompileOptions {
    /// What errors and the compiler's messages call the source, usually its file. When it is empty, errors say
    /// `MSL source` and Metal's compiler says `program_source`.
    pub name: String,
    /// How floating-point operations may be transformed; `None` for Metal's default, [`MathMode::Fast`].
    pub math_mode: Option<MathMode>,
    /// Major and minor version of the language, `(2, 0)` to `(3, 2)`; `None` for the system's newest.
    pub language_version: Option<(u32, u32)>,
    /// Preprocessor macros and their values.
    pub macros: Vec<(String, String)>,
}

/// Metal's `MTLMathMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MathMode {
    /// IEEE 754 rules hold, and functions that name no variant are the precise ones (Metal Shading Language Specification, 8.1).
    Safe,
    /// Reassociation and contraction are allowed, infinities and NaNs are kept; functions are the fast ones.
    Relaxed,
    /// Infinities and NaNs are assumed not to occur.
    Fast,
}

/// Values for the function constants of an MSL kernel, by index or by name.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let library = gpu.compile_msl(
///     "constant uint N [[function_constant(0)]];
///      kernel void fill(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = N; }",
/// )?;
/// let fill = library.kernel_with("fill", &Constants::new().at(0, 7u32))?;
/// let mut y = gpu.buffer_zeroed::<u32>(2)?;
/// fill.launch(Grid::linear(2), args![&mut y])?.wait()?;
/// assert_eq!(y.to_vec()?, [7, 7]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Constants {
    at: Vec<(usize, ConstantBytes)>,
    named: Vec<(String, ConstantBytes)>,
}

impl Constants {
    /// None yet.
    pub fn new() -> Constants {
        Constants::default()
    }

    /// Sets `[[function_constant(index)]]`.
    #[must_use]
    pub fn at(mut self, index: usize, value: impl ConstantValue) -> Constants {
        self.at.push((index, ConstantBytes::new(value.constant())));
        self
    }

    /// Sets the constant of that name.
    #[must_use]
    pub fn named(mut self, name: &str, value: impl ConstantValue) -> Constants {
        self.named.push((name.to_owned(), ConstantBytes::new(value.constant())));
        self
    }

    fn is_empty(&self) -> bool {
        self.at.is_empty() && self.named.is_empty()
    }

    fn to_raw(&self) -> Result<raw::Constants, Failure> {
        let mut raw = raw::Constants::new()?;
        for (index, value) in &self.at {
            raw.set_at(*index, value)?;
        }
        for (name, value) in &self.named {
            raw.set_named(name, value)?;
        }
        Ok(raw)
    }
}

/// A type that a function constant can have: the numbers of Rust and `bool`.
pub trait ConstantValue: sealed::Sealed {}

impl<T: sealed::Sealed> ConstantValue for T {}

mod sealed {
    use super::Scalar;

    pub trait Sealed {
        /// The type and the value's bytes, followed by zeros.
        #[doc(hidden)]
        fn constant(self) -> (Scalar, [u8; 8]);
    }

    macro_rules! constants {
        ($($number:ty => $scalar:ident),*) => {$(
            impl Sealed for $number {
                fn constant(self) -> (Scalar, [u8; 8]) {
                    let mut bytes = [0; 8];
                    bytes[..size_of::<$number>()].copy_from_slice(&self.to_ne_bytes());
                    (Scalar::$scalar, bytes)
                }
            }
        )*};
    }
    constants!(f32 => F32, i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64);

    impl Sealed for bool {
        fn constant(self) -> (Scalar, [u8; 8]) {
            (Scalar::Bool, [u8::from(self), 0, 0, 0, 0, 0, 0, 0])
        }
    }
}

impl CompileOptions {
    /// What errors call the source.
    pub(super) fn source_name(&self) -> &str {
        if self.name.is_empty() { "MSL source" } else { &self.name }
    }
}

/// The source under its own name, by a `#line` directive in front of it.
fn named<'a>(source: &'a str, name: &str) -> Cow<'a, str> {
    // A name that no directive can hold stays out of the compiler's messages.
    if name.is_empty() || name.contains(['\n', '\r', '\0']) {
        return Cow::Borrowed(source);
    }
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    Cow::Owned(format!("#line 1 \"{name}\"\n{source}"))
}

/// A compiled source. Cloning shares it, and so does compiling the same source with the same options again.
#[derive(Clone)]
pub struct Library {
    source: Arc<CompiledSource>,
    accelerator: Accelerator,
}

/// What an accelerator keeps of a source, without the accelerator: that would keep itself.
pub(crate) struct CompiledSource {
    raw: raw::Library,
    kernel_names: Vec<String>,
    warnings: String,
    msl: Arc<Text>,
    opencl: Option<Program>,
    kernels: Memo<KernelKey, Arc<CompiledKernel>>,
    /// How the MSL was compiled. `None`: it can mean something else the next time.
    options: Option<CompileOptions>,
}

/// Kernels that a library keeps ready, by name and by values of function constants.
const KERNELS_KEPT: usize = 1024;

impl Library {
    pub(super) fn new(accelerator: &Accelerator, source: Arc<CompiledSource>) -> Library {
        Library { source, accelerator: accelerator.clone() }
    }
}

impl CompiledSource {
    pub(super) fn from_msl(
        accelerator: &Accelerator,
        source: &str,
        options: &CompileOptions,
    ) -> Result<CompiledSource> {
        let name = options.source_name();
        let raw_options = raw_options(options).map_err(|failure| failure.during("a compile option"))?;
        let wrong = |failure: Failure| match failure.is_source_error() {
            true => Error::Compile { name: name.to_owned(), log: failure.text },
            false => failure.during("compile MSL"),
        };
        let written = named(source, &options.name);
        let (raw, warnings) =
            raw::Library::compile(accelerator.device(), &written, Some(&raw_options)).map_err(wrong)?;
        let kernel_names = raw.function_names();
        let own = (!depends_on_files(source)).then(|| options.clone());
        let before = usize::from(matches!(written, Cow::Owned(_)));
        let msl = Text { name: name.to_owned(), text: source.to_owned(), before };
        CompiledSource::new(raw, kernel_names, warnings, msl, None, own)
    }

    pub(super) fn from_translation(accelerator: &Accelerator, translation: Translation) -> Result<CompiledSource> {
        let Translation { name, program, msl, warnings, fast_math } = translation;
        let math_mode = if fast_math { MathMode::Fast } else { MathMode::Safe };
        let own = CompileOptions { math_mode: Some(math_mode), ..CompileOptions::default() };
        let raw_options = raw_options(&own).map_err(|failure| failure.during("a compile option"))?;
        // Metal's warnings about the translation's own text concern nobody who wrote OpenCL C.
        let wrong = |failure: Failure| match failure.is_source_error() {
            true => Error::TranslationRejected { name: name.clone(), log: failure.text },
            false => failure.during("compile the translation"),
        };
        let (raw, _) = raw::Library::compile(accelerator.device(), &msl, Some(&raw_options)).map_err(wrong)?;
        let kernel_names = program.kernel_names();
        let msl = Text { name, text: msl, before: 0 };
        CompiledSource::new(raw, kernel_names, warnings, msl, Some(program), Some(own))
    }

    fn new(
        raw: raw::Library,
        kernel_names: Vec<String>,
        warnings: String,
        msl: Text,
        opencl: Option<Program>,
        options: Option<CompileOptions>,
    ) -> Result<CompiledSource> {
        raw.set_label(&msl.name).map_err(|failure| failure.during("label a library"))?;
        let kernels = Memo::new(KERNELS_KEPT);
        Ok(CompiledSource { raw, kernel_names, warnings, msl: Arc::new(msl), opencl, kernels, options })
    }
}

impl Library {
    /// The source's name.
    pub fn name(&self) -> &str {
        &self.source.msl.name
    }

    /// The kernels, under the names of the source.
    pub fn kernel_names(&self) -> &[String] {
        &self.source.kernel_names
    }

    /// What the compiler warned of, empty if nothing: Metal's log, or the translator's diagnostics for OpenCL C.
    pub fn warnings(&self) -> &str {
        &self.source.warnings
    }

    /// The MSL that was compiled: the source itself, or the translation.
    pub fn msl(&self) -> &str {
        &self.source.msl.text
    }

    /// Makes the kernel of that name ready to launch.
    ///
    /// # Errors
    /// [`Error::KernelNotFound`], [`Error::Pipeline`] with Metal's words, [`Error::Unsupported`] for a kernel that
    /// takes arrays of textures or samplers, or textures of a kind that is not in [`TextureKind`](crate::TextureKind).
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        self.kernel_with(name, &Constants::new())
    }

    /// As [`Library::kernel`], with values for its function constants.
    ///
    /// # Errors
    /// As [`Library::kernel`].
    pub fn kernel_with(&self, name: &str, constants: &Constants) -> Result<Kernel> {
        let (hash, is, key) = kernel_key(name, constants);
        let compile = || self.compile(name, constants);
        Kernel::new(&self.accelerator, self.source.kernels.get(hash, is, key, compile)?)
    }

    /// As [`Library::kernel_with`], by a thread of its own, for at most `limit` (see [`Compilation`]).
    pub fn start_kernel(&self, name: &str, constants: &Constants, limit: Duration) -> Compilation<Kernel> {
        let job = KernelJob { library: self.clone(), name: name.to_owned(), constants: constants.clone() };
        Compilation::start(&self.accelerator, format!("kernel `{name}`"), limit, job)
    }

    fn compile(&self, name: &str, constants: &Constants) -> Result<Arc<CompiledKernel>> {
        compiling(&self.accelerator, Compiled::Kernel, name, || self.make(name, constants))
    }

    fn make(&self, name: &str, constants: &Constants) -> Result<Arc<CompiledKernel>> {
        let CompiledSource { opencl, .. } = &*self.source;
        if !self.kernel_names().iter().any(|known| known == name) {
            return Err(Error::KernelNotFound {
                kernel: name.to_owned(),
                library: self.name().to_owned(),
                known: self.kernel_names().to_vec(),
            });
        }
        let Some(program) = opencl else { return self.make_one(name, None, constants).map(Arc::new) };
        let kernel = program.kernel(name);
        let mut compiled = self.make_one(name, Some(kernel), constants)?;
        for part in &kernel.parts {
            let part = self.make_one(name, Some(part), constants)?;
            // A launch has one threadgroup size, and one check.
            compiled.max_threads = compiled.max_threads.min(part.max_threads);
            compiled.static_threadgroup_memory = compiled.static_threadgroup_memory.max(part.static_threadgroup_memory);
            compiled.parts.push(Arc::new(part));
        }
        Ok(Arc::new(compiled))
    }

    /// `translated`: the kernel of that name, or a part of it.
    fn make_one(
        &self,
        name: &str,
        translated: Option<&clmsl::KernelReflection>,
        constants: &Constants,
    ) -> Result<CompiledKernel> {
        let Library { source, accelerator } = self;
        let CompiledSource { raw, opencl, .. } = &**source;
        let msl_name = translated.map_or(name, |kernel| &kernel.msl_name);
        let no_pipeline = |Failure { status, domain, code, text, .. }: Failure| match status {
            sys::DC_METAL_UNSUPPORTED => Error::Unsupported { what: format!("kernel `{name}`"), text },
            _ => Error::Pipeline { kernel: name.to_owned(), domain, code, text },
        };
        let values = if constants.is_empty() { None } else { Some(constants.to_raw().map_err(no_pipeline)?) };
        let function = raw::Function::new(raw, msl_name, values.as_ref()).map_err(no_pipeline)?;
        let device = accelerator.device();
        let kept = accelerator.kernel_files().zip(source.options.as_ref()).map(|(files, options)| {
            let mut key = files.key();
            for part in [&*source.msl.text, &format!("{options:?}"), msl_name, &format!("{constants:?}")] {
                key.part(part.as_bytes());
            }
            (files, key)
        });
        let pipeline = match &kept {
            Some((files, key)) => files.pipeline(device, &function, name, key.clone()),
            None => raw::Pipeline::new(device, &function, name),
        };
        let pipeline = pipeline.map_err(no_pipeline)?;
        if let Some(wanted) = translated.and_then(|kernel| kernel.reqd_sub_group_size) {
            check_sub_group_size(name, wanted, pipeline.execution_width())?;
        }
        let bindings = pipeline.bindings().map_err(no_pipeline)?;
        let arguments = match translated {
            Some(kernel) => opencl::arguments(kernel, &bindings),
            None => from_msl(name, bindings)?,
        };
        let analysed = opencl.as_ref().and_then(|program| program.analysed(name));
        let turns_slot = translated.and_then(opencl::turns_slot);
        // What a part launches next is counted in whole threadgroups.
        let uniform_threadgroups = opencl.as_ref().is_some_and(Program::has_uniform_groups) || turns_slot.is_some();
        let is_whole = turns_slot.is_none() && translated.is_none_or(|kernel| kernel.parts.is_empty());
        let is_free = is_whole && analysed.as_ref().is_some_and(|analysed| analysed.findings.dependence.is_none());
        let chooses_whole = uniform_threadgroups && !(is_free && has_partial_threadgroups(accelerator));
        let compiled = CompiledKernel {
            name: name.to_owned(),
            arguments,
            max_threads: pipeline.max_threads(),
            execution_width: pipeline.execution_width().max(1),
            static_threadgroup_memory: pipeline.static_threadgroup_memory(),
            required_threadgroup: translated.and_then(|kernel| kernel.reqd_work_group_size).map(Into::into),
            uniform_threadgroups,
            chooses_whole,
            enough: enough(),
            is_opencl: opencl.is_some(),
            analysis: analysed.map_or_else(OnceLock::new, OnceLock::from),
            registers: OnceLock::new(),
            msl: Arc::clone(&source.msl),
            work_dim_slot: translated.and_then(opencl::work_dim_slot),
            image_formats_slot: translated.and_then(opencl::image_formats_slot),
            printing: opencl.as_ref().zip(translated).and_then(|(program, kernel)| program.printing(kernel)),
            parts: Vec::new(),
            state: translated.and_then(opencl::state),
            turns_slot,
            tunings: Tunings::new(kept.as_ref().map(|(_, key)| tuning_key(key.clone()))),
            figures: OnceLock::new(),
            function,
            for_commands: OnceLock::new(),
            raw: pipeline,
        };
        if let Some((files, _)) = kept {
            compiled.load_tunings(files);
        }
        Ok(compiled)
    }
}

/// Whether the last threadgroups of a grid can be partial (Metal Feature Set Tables, nonuniform threadgroup size).
fn has_partial_threadgroups(accelerator: &Accelerator) -> bool {
    [GpuFamily::Apple4, GpuFamily::Mac2].into_iter().any(|family| accelerator.supports_family(family))
}

type KernelKey = (String, Constants);

/// How a kernel is found again: the hash, a comparison, and what is kept.
fn kernel_key<'a>(
    name: &'a str,
    constants: &'a Constants,
) -> (u64, impl Fn(&KernelKey) -> bool + 'a, impl Fn() -> KernelKey + 'a) {
    let is = move |key: &KernelKey| key.0 == name && key.1 == *constants;
    (hash((name, constants)), is, move || (name.to_owned(), constants.clone()))
}

/// A kernel that is made in the background.
struct KernelJob {
    library: Library,
    name: String,
    constants: Constants,
}

impl Job for KernelJob {
    type Key = KernelKey;
    type Kept = Arc<CompiledKernel>;
    type Made = Kernel;

    fn ask(&self) -> Asked<KernelKey, Arc<CompiledKernel>> {
        let (hash, is, key) = kernel_key(&self.name, &self.constants);
        self.library.source.kernels.ask(hash, is, key)
    }

    fn make(&self) -> Result<Arc<CompiledKernel>> {
        self.library.compile(&self.name, &self.constants)
    }

    fn made(&self, kept: Arc<CompiledKernel>) -> Result<Kernel> {
        Kernel::new(&self.library.accelerator, kept)
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("name", &self.name()).field("kernels", &self.kernel_names()).finish()
    }
}

/// Whether sub-groups have the size that the kernel is written for; no launch could choose another.
fn check_sub_group_size(kernel: &str, wanted: u32, got: u64) -> Result<()> {
    match u64::from(wanted) == got {
        true => Ok(()),
        false => Err(Error::SubGroupSizeRequired { kernel: kernel.to_owned(), wanted, got }),
    }
}

fn raw_options(options: &CompileOptions) -> Result<raw::CompileOptions, Failure> {
    let mut raw = raw::CompileOptions::new()?;
    if let Some(mode) = options.math_mode {
        raw.set_math_mode(mode)?;
    }
    if let Some((major, minor)) = options.language_version {
        raw.set_language_version(major, minor)?;
    }
    for (name, value) in &options.macros {
        raw.set_macro(name, value)?;
    }
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_sub_group_size_is_the_width_of_the_pipeline() {
        assert!(check_sub_group_size("k", 32, 32).is_ok());
        let error = check_sub_group_size("k", 32, 64).unwrap_err();
        let text = "kernel `k` requires sub-groups of 32, the SIMD groups of its pipeline have 64 threads";
        assert_eq!(error.to_string(), text);
        let gpu = Accelerator::system_default().expect("a Metal device");
        let source = "__attribute__((intel_reqd_sub_group_size(32))) __kernel void k(__global int* x) { *x = 1; }";
        let library = gpu.compile_opencl(source).unwrap_or_else(|error| panic!("{error}"));
        let width = library.kernel("k").map(|kernel| kernel.execution_width());
        assert!(matches!(width, Ok(32) | Err(Error::SubGroupSizeRequired { wanted: 32, .. })), "{width:?}");
    }

    #[test]
    fn messages_name_the_source_and_its_own_lines() {
        let gpu = Accelerator::system_default().expect("a Metal device");
        for (name, shown) in [
            ("a b/wrong.metal", "a b/wrong.metal:2:"),
            (r#"odd "name" \ here.metal"#, r#"odd "name" \ here.metal:2:"#),
            ("", "program_source:2:"),
            ("two\nlines", "program_source:2:"),
        ] {
            let options = CompileOptions { name: name.to_owned(), ..CompileOptions::default() };
            let error = gpu.compile_msl_with("\nkernel void wrong() { missing(); }", &options).err();
            assert!(matches!(&error, Some(Error::Compile { log, .. }) if log.contains(shown)), "{name:?}: {error:?}");
        }
    }
}
