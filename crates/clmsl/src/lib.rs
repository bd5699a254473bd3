//! OpenCL C to Metal Shading Language.
//!
//! [`translate`] takes the source of an OpenCL C program and gives MSL text, the [`Reflection`] a host needs to launch
//! its kernels, and [`Diagnostic`]s that point into the source. A program is either translated with its meaning kept or
//! rejected with an error that names the construct. The output is the same, byte for byte, for the same input.
//!
//! ```
//! let source = "__kernel void twice(__global float* x) { x[get_global_id(0)] *= 2.0f; }";
//! let translation = clmsl::translate("twice.cl", source, &clmsl::Options::default());
//! assert!(translation.msl.unwrap().contains("kernel void twice(device float* x [[buffer(0)]]"));
//! assert_eq!(translation.reflection.kernels[0].args[0].name, "x");
//! ```
//!
//! Data flows one way: lexer, preprocessor, parser (syntax tree), sema (typed program), lowering passes, printer. Each
//! stage is a function that returns what it made and what is wrong, and goes on behind an error. The crate does no I/O;
//! included files come through a callback.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ast;
mod builtins;
#[doc(hidden)]
pub mod diagnostic;
mod hir;
mod lexer;
mod lower;
mod msl;
#[doc(hidden)]
pub mod options;
mod parser;
mod prelude;
#[doc(hidden)]
pub mod preprocess;
mod reflect;
mod sema;
#[doc(hidden)]
pub mod source;
#[doc(hidden)]
pub mod token;
mod types;

pub use diagnostic::{Diagnostic, Severity};
pub use options::{BuildOptions, IncludeCallback, IncludeRequest, Included, OptionError, Options, Std};
pub use reflect::{
    Access, AddressSpace, ArgKind, ArgReflection, Element, HiddenArg, HiddenKind, KernelReflection, Reflection,
    ScalarKind,
};
pub use source::{Expansion, Location, Sources, Span};

/// What became of a program.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The MSL text; `None` if and only if there is an error among the diagnostics.
    pub msl: Option<String>,
    /// The kernels; empty if there is an error.
    pub reflection: Reflection,
    /// Errors and warnings in the order the stages found them.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts the diagnostics point into.
    pub sources: Sources,
}

impl Translation {
    /// All diagnostics as text, see [`Sources::render`].
    pub fn rendered(&self) -> String {
        self.diagnostics.iter().map(|d| self.sources.render(d)).collect()
    }
}

/// Translates the program `source`, called `name` in messages and `#line` directives.
pub fn translate(name: &str, source: &str, options: &Options<'_>) -> Translation {
    let mut sources = Sources::new();
    let mut names = token::Interner::new();
    let (tokens, mut diagnostics) = preprocess::preprocess(name, source, options, &mut sources, &mut names);
    let (program, found) = parser::parse(&tokens, &names);
    diagnostics.extend(found);
    let failed = |diagnostics: &[Diagnostic]| diagnostics.iter().any(|d| d.severity == Severity::Error);
    let (checked, found) = sema::check(&program, &names);
    // Behind a syntax error declarations are missing, and most of what sema finds would only follow from that.
    if !program.incomplete {
        diagnostics.extend(found);
    }
    let mut out = Translation { msl: None, reflection: Reflection::default(), diagnostics, sources };
    if failed(&out.diagnostics) {
        return out;
    }
    let (lowered, found) = lower::lower(checked, options);
    out.diagnostics.extend(found);
    if let (Some(lowered), false) = (lowered, failed(&out.diagnostics)) {
        out.msl = Some(msl::print(&lowered, &out.sources));
        out.reflection = Reflection { kernels: lowered.kernels };
    }
    out
}
