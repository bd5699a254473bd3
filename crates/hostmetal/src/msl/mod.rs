//! Metal Shading Language: source text in, callable kernels out.
//!
//! ```text
//! check:  clang -E  ->  tokens  ->  scan, rules, rewrite  ->  clang -fsyntax-only with a wrapper for every kernel
//! build:  rewrite with the values of the function constants  ->  clang (one kernel) -> shared object -> dlopen
//! ```
//!
//! clang-19 runs in a process of its own (compile.rs) in its C++ for OpenCL mode, with our metal_stdlib as a
//! precompiled header
//! (toolchain.rs). What that mode does not accept is rewritten token by token (rewrite.rs); what it does not refuse is
//! checked on tokens
//! (rules.rs, pointers.rs). Diagnostics carry the user's lines and columns (diagnose.rs). A kernel from which no function is
//! reachable that makes threads
//! wait for each other (reach.rs) becomes a loop over the threads of a threadgroup, any other loops between its barriers or
//! one function per thread (engine.rs).
//!
//! Checked sources and built kernels are remembered by content, so that the same request compiles once per process; what
//! the compiler made is kept on disk (store.rs), so that it compiles once per machine.

mod accept;
mod addresses;
mod analysis;
mod archive;
mod compile;
mod components;
mod constants;
mod counts;
mod diagnose;
mod discover;
mod engine;
mod flags;
mod globals;
mod headers;
mod invoke;
mod job;
mod kernels;
mod link;
mod loaded;
pub(crate) mod logging;
mod meets;
mod members;
mod memo;
mod pointers;
mod reach;
mod reconverge;
mod rewrite;
mod rules;
mod scan;
mod source;
mod spaces;
mod stage;
mod stitch;
mod store;
#[cfg(test)]
mod tests;
mod token;
mod told;
mod toolchain;

pub(crate) use analysis::Counts;
pub(crate) use archive::write_whole;
pub use archive::{Archive, Archives};
pub(crate) use compile::compilers;
pub use constants::{ConstantKey, ConstantValue, DataType};
pub(crate) use counts::{Counters, Site};
pub use discover::{ConstantInfo, KernelInfo};
pub use engine::{Built, Engine};
pub use link::{Dynamic, Linked, Linking};
pub use loaded::{Access, Binding, BindingKind, Type};
pub use logging::Formats;
pub use source::{Checked, With};
pub use stage::{AttributeInfo, PLACES, StageAttribute, StageBuffer, StageInput, StageLayout};
pub use stitch::{Callee, Graph, Node, Value, stitch};
pub(crate) use store::size;
pub use toolchain::{Toolchain, ToolchainOptions};

use crate::executor::{Entry, Span, ThreadgroupVariable};
use std::sync::Arc;

/// How exact floating-point arithmetic is (`MTLMathMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MathMode {
    /// IEEE semantics; contraction only within an expression.
    Safe = 0,
    /// Reassociation, reciprocals and contraction; infinities and NaNs are honoured.
    Relaxed = 1,
    /// As `Relaxed`. Metal allows the compiler to ignore infinities and NaNs here; this one does not.
    #[default]
    Fast = 2,
}

/// How to compile (`MTLCompileOptions`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    pub math_mode: MathMode,
    /// Functions without a namespace are the precise ones whatever the mode (`MTLMathFloatingPointFunctions`); with `Safe`
    /// they always are.
    pub precise_functions: bool,
    /// Major and minor, for `__METAL_VERSION__`.
    pub language_version: (u32, u32),
    /// Preprocessor macros: name and value (empty: defined as nothing).
    pub macros: Vec<(String, String)>,
    /// Messages of `os_log` are kept.
    pub logging: bool,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            math_mode: MathMode::Fast,
            precise_functions: false,
            language_version: (3, 2),
            macros: Vec::new(),
            logging: false,
        }
    }
}

/// What of the options decides the code's arithmetic, and so the precompiled header.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arithmetic {
    Safe = 0,
    /// Operations as `Fast`, functions as `Safe`.
    PreciseFunctions = 1,
    Fast = 2,
}

impl CompileOptions {
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        match (self.math_mode, self.precise_functions) {
            (MathMode::Safe, _) => Arithmetic::Safe,
            (_, true) => Arithmetic::PreciseFunctions,
            (_, false) => Arithmetic::Fast,
        }
    }
}

/// Why a compilation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The source is wrong, or asks for something that is not supported.
    Source,
    /// The compiler took too long and was stopped.
    Deadline,
    /// The compiler crashed.
    Crash,
    /// There is no usable compiler, its files cannot be written, or the system ended it.
    Toolchain,
    /// It is right, and this hostmetal cannot do it.
    Unsupported,
    /// The kernel's code is in none of the archives, and was not to be compiled.
    ArchiveMiss,
}

/// A failed compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileFailure {
    pub kind: Failure,
    /// Diagnostics as `program_source:3:5: error: ...` lines with the source line and a caret, or a sentence.
    pub log: String,
}

impl std::fmt::Display for CompileFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.log)
    }
}

impl std::error::Error for CompileFailure {}

/// Checks a source text with the toolchain that the environment names.
///
/// # Errors
/// See [`Failure`].
pub fn check(source: &str, options: &CompileOptions) -> Result<Checked, CompileFailure> {
    Checked::new(&Toolchain::shared()?, source, options)
}

/// A visible function ready to be called. Clones share the code, which stays mapped until the last one is dropped.
#[derive(Clone, Debug)]
pub struct LoadedFunction {
    object: Arc<loaded::FunctionObject>,
}

impl LoadedFunction {
    /// Of the code.
    pub fn address(&self) -> u64 {
        self.object.address
    }
}

/// A kernel ready to run. Clones share the code, which stays mapped until the last one is dropped.
#[derive(Clone, Debug)]
pub struct LoadedKernel {
    object: Arc<loaded::Object>,
    formats: Formats,
    counting: Counting,
}

/// Whether a kernel counts what it does (`With::counts`).
#[derive(Clone, Debug)]
pub(crate) enum Counting {
    /// Nobody asked.
    No,
    Counts(Arc<Counters>),
    /// It was asked, and the kernel cannot: why.
    Cannot(Arc<str>),
}

impl LoadedKernel {
    /// The code. It may be called as long as this kernel or a clone of it lives.
    pub fn entry(&self) -> Entry {
        self.object.entry
    }

    /// What one call of the code may be for.
    pub fn span(&self) -> Span {
        self.object.span
    }

    /// Which engine the code was compiled for, and why not another.
    pub fn built(&self) -> &Built {
        &self.object.built
    }

    /// Whether many threads go through some inner loop at once, as vectors (native/hostmetal/pass/tiles.cpp).
    pub fn in_tiles(&self) -> bool {
        self.object.in_tiles
    }

    /// The buffer and threadgroup memory arguments in the order of the parameters.
    pub fn bindings(&self) -> &[Binding] {
        &self.object.bindings
    }

    /// The attributes of its `[[stage_in]]`, in the order of the members.
    pub fn attributes(&self) -> &[AttributeInfo] {
        &self.object.attributes
    }

    /// The static threadgroup variables that the code may ask for.
    pub fn threadgroup_variables(&self) -> &[ThreadgroupVariable] {
        &self.object.variables
    }

    /// Whether it counts what it does.
    pub(crate) fn counting(&self) -> &Counting {
        &self.counting
    }

    /// The formats of its messages.
    pub fn formats(&self) -> &Formats {
        &self.formats
    }

    /// `[[max_total_threads_per_threadgroup(n)]]`.
    pub fn max_total_threads(&self) -> Option<u32> {
        self.object.max_total_threads
    }

    /// `[[required_threads_per_threadgroup(x, y, z)]]`.
    pub fn required_threads(&self) -> Option<[u32; 3]> {
        self.object.required_threads
    }
}
