//! A kernel file as a library on the default device, with its messages shown.

use std::time::{Duration, Instant};

use dcmetal::{Accelerator, CompileOptions, Error, ErrorKind, Library, MathMode};

use crate::cli::{Math, Source};
use crate::failure::Failure;
use crate::log;
use crate::progress::Progress;
use crate::source::{self, Language};

/// A compiled file.
pub(crate) struct Compiled {
    pub(crate) library: Library,
    /// From reading the file to the library.
    pub(crate) time: Duration,
}

/// The device that Metal prefers.
pub(crate) fn default_device() -> Result<Accelerator, Failure> {
    Accelerator::system_default().map_err(|error| failure(&error))
}

impl Source {
    /// Compiles the file for `device`; what the compilers say goes to standard error.
    pub(crate) fn compile(&self, device: &Accelerator) -> Result<Compiled, Failure> {
        // A wrong name is told before what is wrong with the file.
        source::language(&self.file)?;
        let text = source::read(&self.file).map_err(Failure::Input)?;
        let progress = Progress::start(format!("compiling {}", self.name()));
        let start = Instant::now();
        let (library, unreadable) = self.library(device, &text)?;
        let time = start.elapsed();
        drop(progress);
        source::show_unreadable(&unreadable);
        let library = library.map_err(|error| self.compile_failure(&error))?;
        anstream::eprint!("{}", log::coloured(library.warnings()));
        Ok(Compiled { library, time })
    }

    /// This text of the file as a library; also what could not be read of included files.
    pub(crate) fn library(
        &self,
        device: &Accelerator,
        text: &str,
    ) -> Result<(dcmetal::Result<Library>, Vec<String>), Failure> {
        Ok(match source::language(&self.file)? {
            Language::OpenCl => {
                let compile = |options: &clmsl::Options<'_>| device.compile_opencl_with(&self.name(), text, options);
                self.flags.plain_unit(&self.file)?.with_options(compile)
            }
            Language::Msl => {
                let options = CompileOptions {
                    name: self.name(),
                    math_mode: self.flags.math.map(|math| match math {
                        Math::Safe => MathMode::Safe,
                        Math::Fast => MathMode::Fast,
                    }),
                    language_version: None,
                    macros: self.flags.defines(),
                };
                (device.compile_msl_with(text, &options), Vec::new())
            }
        })
    }

    /// Shows the compiler's log and says what came of it.
    fn compile_failure(&self, error: &Error) -> Failure {
        match error {
            Error::Compile { log: text, .. } => {
                anstream::eprint!("{}", log::coloured(text));
                Failure::Input(format!("{}: it does not compile", self.name()))
            }
            Error::OpenCl { diagnostics, errors, .. } => {
                anstream::eprint!("{}", log::coloured(diagnostics));
                let s = if *errors == 1 { "" } else { "s" };
                Failure::Input(format!("{}: not translated, {errors} error{s}", self.name()))
            }
            error => failure(error),
        }
    }
}

/// An error of the device's API as the command's.
pub(crate) fn failure(error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::User | ErrorKind::Unsupported => Failure::Input(error.to_string()),
        _ => Failure::Device(error.to_string()),
    }
}
