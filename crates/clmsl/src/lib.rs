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

mod analysis;
mod ast;
mod builtins;
#[doc(hidden)]
pub mod diagnostic;
mod half;
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
mod printf;
mod reflect;
mod sema;
#[doc(hidden)]
pub mod source;
mod suggest;
#[doc(hidden)]
pub mod token;
mod types;

pub use analysis::{
    AccessPattern, Analysis, Cost, CostKind, Counts, Fact, FactKind, Intensity, KernelAnalysis, Lanes, Loop,
    MemoryAccess, Ratio, Work,
};
pub use diagnostic::{Diagnostic, Severity};
pub use options::{BuildOptions, Fp64, IncludeCallback, IncludeRequest, Included, OptionError, Options, Std};
pub use printf::{Conversion, PrintFormat, PrintPiece, PrintValue};
pub use reflect::{
    Access, AddressSpace, ArgKind, ArgReflection, Element, HiddenArg, HiddenKind, ImageDimension, ImageReflection,
    KernelReflection, Reflection, ScalarKind, TextureReflection,
};
pub use source::{Expansion, Location, Sources, Span};

/// What became of a program.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The MSL text; `None` if and only if there is an error among the diagnostics.
    pub msl: Option<String>,
    /// The kernels; empty if there is an error.
    pub reflection: Reflection,
    /// What the kernels do; empty if there is an error.
    pub analysis: Analysis,
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

/// Stack of the thread that runs the recursive stages. The limits on nesting need an eighth of it in debug builds.
const STACK: usize = 64 << 20;

/// Translates the program `source`, called `name` in messages and `#line` directives.
///
/// The stages behind the preprocessor run on a thread of their own, whose stack holds the deepest nesting that is allowed
/// whatever the caller's stack is.
pub fn translate(name: &str, source: &str, options: &Options<'_>) -> Translation {
    let mut sources = Sources::new();
    let mut names = token::Interner::new();
    let (tokens, diagnostics) = preprocess::preprocess(name, source, options, &mut sources, &mut names);
    let settings = options.settings();
    let result = std::thread::scope(|scope| {
        let stages = || translate_tokens(tokens, &names, &sources, diagnostics, settings);
        let thread = std::thread::Builder::new().name("clmsl".to_owned()).stack_size(STACK);
        thread.spawn_scoped(scope, stages).map(std::thread::ScopedJoinHandle::join)
    });
    let (printed, diagnostics) = match result {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => {
            let message = format!("the system gives no thread for the translation: {error}");
            (None, vec![Diagnostic::error(Span::default(), message)])
        }
    };
    let (msl, reflection, analysis) = match printed {
        Some(Printed { msl, reflection, analysis }) => (Some(msl), reflection, analysis),
        None => (None, Reflection::default(), Analysis::default()),
    };
    Translation { msl, reflection, analysis, diagnostics, sources }
}

/// What is made of a program without errors.
struct Printed {
    msl: String,
    reflection: Reflection,
    analysis: Analysis,
}

/// The stages from the parser to the printer. `diagnostics` holds what the preprocessor found.
fn translate_tokens(
    tokens: Vec<token::Token>,
    names: &token::Interner,
    sources: &Sources,
    mut diagnostics: Vec<Diagnostic>,
    settings: options::Settings,
) -> (Option<Printed>, Vec<Diagnostic>) {
    let failed = |diagnostics: &[Diagnostic]| diagnostics.iter().any(Diagnostic::is_error);
    let (program, found) = parser::parse(&tokens, names, settings.fp64);
    diagnostics.extend(found);
    let contracts = !tokens.iter().any(|t| t.kind == token::TokenKind::Pragma(token::Pragma::FpContract(Some(false))));
    drop(tokens);
    let (checked, found) = sema::check(&program, names, settings);
    // Behind a syntax error declarations are missing, and most of what sema finds would only follow from that.
    if !program.incomplete {
        diagnostics.extend(found);
    }
    drop(program);
    if failed(&diagnostics) {
        return (None, diagnostics);
    }
    let (lowered, found) = lower::lower(checked, settings.fast_relaxed_math, contracts);
    diagnostics.extend(found);
    match lowered {
        Some(lowered) if !failed(&diagnostics) => {
            let msl = msl::print(&lowered, sources);
            let lower::Lowered { kernels, msl_version, formats, analysis, .. } = lowered;
            let reflection = Reflection { kernels, msl_version, formats };
            (Some(Printed { msl, reflection, analysis }), diagnostics)
        }
        _ => (None, diagnostics),
    }
}
