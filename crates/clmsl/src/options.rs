//! What the user may set, and OpenCL's build option string (`clBuildProgram`, OpenCL 3.0 API §5.8.6).

/// The version of OpenCL C the source is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Std {
    /// OpenCL C 1.0: 1.2 with another version number. Nothing of 1.2 is taken away.
    Cl10,
    /// OpenCL C 1.1: likewise.
    Cl11,
    /// OpenCL C 1.2, what `clBuildProgram` assumes.
    #[default]
    Cl12,
    /// OpenCL C 2.0.
    Cl20,
    /// OpenCL C 3.0.
    Cl30,
}

/// What becomes of `double`, which Metal does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fp64 {
    /// It is an error.
    #[default]
    Reject,
    /// It is `float`: 4 bytes wide, also in buffers and structures. A warning says so.
    Float,
    /// It is computed with integers, as IEEE 754 asks, and 8 bytes wide.
    Emulate,
}

impl Fp64 {
    /// The mode of this name: `reject`, `float` or `emulate`.
    pub fn named(name: &str) -> Option<Fp64> {
        match name {
            "reject" => Some(Fp64::Reject),
            "float" => Some(Fp64::Float),
            "emulate" => Some(Fp64::Emulate),
            _ => None,
        }
    }
}

/// What an `#include` asks for.
#[derive(Clone, Copy, Debug)]
pub struct IncludeRequest<'a> {
    /// The path as written.
    pub path: &'a str,
    /// `<path>` rather than `"path"`.
    pub angled: bool,
    /// Name of the including file.
    pub from: &'a str,
}

/// A file found for an [`IncludeRequest`].
#[derive(Clone, Debug)]
pub struct Included {
    /// The name to show in messages.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// Finds the file an `#include` asks for; the translator does no I/O itself.
pub type IncludeCallback<'a> = &'a dyn Fn(&IncludeRequest<'_>) -> Option<Included>;

/// Settings of one translation.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// Version of the language.
    pub std: Std,
    /// Macros to define before the first line: name (with parameters, if any) and replacement.
    pub defines: Vec<(String, String)>,
    /// Finds included files; without it every `#include` is an error.
    pub include: Option<IncludeCallback<'a>>,
    /// `-cl-fast-relaxed-math`: fast variants of the math functions, Metal's linear filters; defines `__FAST_RELAXED_MATH__`.
    pub fast_relaxed_math: bool,
    /// `-cl-finite-math-only`: recorded for the caller, who compiles the result; the translation keeps NaN and infinity.
    pub finite_math_only: bool,
    /// `-cl-mad-enable`: `a * b + c` may be fused when the result is compiled.
    pub mad_enable: bool,
    /// `-cl-denorms-are-zero`: recorded for the caller; Metal flushes or keeps as the device does.
    pub denorms_are_zero: bool,
    /// What becomes of `double`.
    pub fp64: Fp64,
    /// `-cl-single-precision-constant`: constants without suffix are `float`. Without `double` they always are.
    pub single_precision_constant: bool,
}

/// What the stages behind the preprocessor need to know of the options.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) fast_relaxed_math: bool,
    pub(crate) fp64: Fp64,
    pub(crate) single_precision_constant: bool,
}

impl Options<'_> {
    pub(crate) fn settings(&self) -> Settings {
        let Options { fast_relaxed_math, fp64, single_precision_constant, .. } = *self;
        Settings { fast_relaxed_math, fp64, single_precision_constant }
    }
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("std", &self.std)
            .field("defines", &self.defines)
            .field("include", &self.include.is_some())
            .field("fast_relaxed_math", &self.fast_relaxed_math)
            .field("finite_math_only", &self.finite_math_only)
            .field("mad_enable", &self.mad_enable)
            .field("denorms_are_zero", &self.denorms_are_zero)
            .field("fp64", &self.fp64)
            .field("single_precision_constant", &self.single_precision_constant)
            .finish()
    }
}

/// A build option that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    /// The option as written.
    pub option: String,
    /// What is wrong with it.
    pub reason: String,
}

impl std::fmt::Display for OptionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "build option '{}': {}", self.option, self.reason)
    }
}

impl std::error::Error for OptionError {}

/// What a build option string sets, with the include folders it names (the caller turns them into a callback).
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// The settings, without an include callback.
    pub options: Options<'static>,
    /// Arguments of `-I`, in order.
    pub include_dirs: Vec<String>,
}

impl Options<'static> {
    /// Reads a build option string such as `-cl-std=CL1.2 -DN=4 -D "F(x)=x" -I include`.
    /// Arguments are separated by white space; `"` and `'` quote, `\` keeps the next character. Beside OpenCL's options
    /// there is `--fp64 reject|float|emulate`, see [`Fp64`].
    ///
    /// # Errors
    /// An option that OpenCL does not define or that lacks its argument. Options that only affect optimisation or
    /// warnings are accepted and change nothing.
    pub fn parse_build_options(text: &str) -> Result<BuildOptions, OptionError> {
        let mut out = BuildOptions::default();
        let mut words = split_words(text).into_iter();
        while let Some(word) = words.next() {
            if let Some(rest) = word.strip_prefix("-D") {
                let text = argument(&word, rest, &mut words)?;
                out.options.defines.push(split_define(&text));
            } else if let Some(rest) = word.strip_prefix("-I") {
                out.include_dirs.push(argument(&word, rest, &mut words)?);
            } else if let Some(std) = word.strip_prefix("-cl-std=") {
                out.options.std = match std {
                    "CL1.0" => Std::Cl10,
                    "CL1.1" => Std::Cl11,
                    "CL1.2" => Std::Cl12,
                    "CL2.0" => Std::Cl20,
                    "CL3.0" => Std::Cl30,
                    _ => return Err(error(&word, "the versions known are CL1.0 to CL1.2, CL2.0 and CL3.0")),
                };
            } else if let Some(rest) = word.strip_prefix("--fp64") {
                let mode = argument(&word, rest.trim_start_matches('='), &mut words)?;
                let unknown = || error(&word, "the modes are 'reject', 'float' and 'emulate'");
                out.options.fp64 = Fp64::named(&mode).ok_or_else(unknown)?;
            } else {
                out.options.set_flag(&word)?;
            }
        }
        Ok(out)
    }

    fn set_flag(&mut self, word: &str) -> Result<(), OptionError> {
        match word {
            "-cl-fast-relaxed-math" => {
                self.fast_relaxed_math = true;
                self.finite_math_only = true;
                self.mad_enable = true;
            }
            "-cl-finite-math-only" => self.finite_math_only = true,
            "-cl-mad-enable" => self.mad_enable = true,
            "-cl-unsafe-math-optimizations" => self.mad_enable = true,
            "-cl-denorms-are-zero" => self.denorms_are_zero = true,
            "-cl-single-precision-constant" => self.single_precision_constant = true,
            "-cl-no-signed-zeros"
            | "-cl-opt-disable"
            | "-cl-strict-aliasing"
            | "-cl-fp32-correctly-rounded-divide-sqrt"
            | "-cl-kernel-arg-info"
            | "-cl-uniform-work-group-size"
            | "-cl-no-subgroup-ifp"
            | "-w"
            | "-g" => {}
            "-Werror" => return Err(error(word, "not supported")),
            _ => return Err(error(word, "not an option of OpenCL")),
        }
        Ok(())
    }
}

fn error(option: &str, reason: &str) -> OptionError {
    OptionError { option: option.to_owned(), reason: reason.to_owned() }
}

/// The text after `-D` or `-I`, which may be the next word.
fn argument(word: &str, rest: &str, words: &mut impl Iterator<Item = String>) -> Result<String, OptionError> {
    if !rest.is_empty() {
        return Ok(rest.to_owned());
    }
    words.next().ok_or_else(|| error(word, "needs an argument"))
}

/// `NAME=TEXT`; a name alone is 1.
fn split_define(text: &str) -> (String, String) {
    match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), value.to_owned()),
        None => (text.to_owned(), "1".to_owned()),
    }
}

fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', q) if q != Some('\'') => word.get_or_insert_default().extend(chars.next()),
            (c, Some(q)) if c == q => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_option() {
        let build =
            Options::parse_build_options("-cl-std=CL2.0 -DN=4 -D FLAG -D 'F(x)=x + 1' -I a/b -Ic -cl-mad-enable -w")
                .unwrap();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(build.options.std, Std::Cl20);
        assert_eq!(build.options.defines, [pair("N", "4"), pair("FLAG", "1"), pair("F(x)", "x + 1")]);
        assert_eq!(build.include_dirs, ["a/b", "c"]);
        assert!(build.options.mad_enable && !build.options.fast_relaxed_math);
        assert_eq!(build.options.fp64, Fp64::Reject);
        let build = Options::parse_build_options("--fp64 emulate -cl-single-precision-constant").unwrap();
        assert!(build.options.fp64 == Fp64::Emulate && build.options.single_precision_constant);
        assert_eq!(Options::parse_build_options("--fp64=float").unwrap().options.fp64, Fp64::Float);
    }

    #[test]
    fn unknown_options_and_missing_arguments_are_named() {
        let error = Options::parse_build_options("-cl-what").unwrap_err();
        assert_eq!(error.to_string(), "build option '-cl-what': not an option of OpenCL");
        assert_eq!(Options::parse_build_options("-D").unwrap_err().reason, "needs an argument");
        assert!(Options::parse_build_options("-cl-std=CL9").is_err());
        assert_eq!(Options::parse_build_options("-cl-std=CL1.0").unwrap().options.std, Std::Cl10);
        assert_eq!(Options::parse_build_options("-cl-std=CL1.1").unwrap().options.std, Std::Cl11);
        let error = Options::parse_build_options("--fp64=quad").unwrap_err();
        assert_eq!(error.reason, "the modes are 'reject', 'float' and 'emulate'");
        assert_eq!(Options::parse_build_options("--fp64").unwrap_err().reason, "needs an argument");
    }
}
