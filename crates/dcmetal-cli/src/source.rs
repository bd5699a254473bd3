//! Kernel files: which language a file is in, how it is read, and OpenCL C translated.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use clmsl::{BuildOptions, IncludeRequest, Included, OptionError, Options, Translation};

use crate::cli::{Flags, Fp64, Math, Source, Std};
use crate::failure::Failure;
use crate::log;

/// What a file's extension says it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    OpenCl,
    Msl,
}

/// The language of a kernel file.
pub(crate) fn language(path: &Path) -> Result<Language, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("cl" | "clh" | "ocl") => Ok(Language::OpenCl),
        Some("metal") => Ok(Language::Msl),
        _ => Err(Failure::Input(format!(
            "{}: a kernel file ends in .cl (OpenCL C) or .metal (Metal Shading Language)",
            path.display()
        ))),
    }
}

impl Flags {
    /// `-D` definitions as name and replacement; without `=` the replacement is 1, as for a C compiler.
    pub(crate) fn defines(&self) -> Vec<(String, String)> {
        self.define
            .iter()
            .map(|define| match define.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => (define.clone(), "1".to_owned()),
            })
            .collect()
    }

    /// What the translator is told: `--options`, then `more` options of a file's own, and what the other flags add.
    pub(crate) fn build(&self, more: &str) -> Result<BuildOptions, OptionError> {
        let common = self.options.as_deref().unwrap_or("");
        let mut build = Options::parse_build_options(&format!("{common} {more}"))?;
        build.options.defines.extend(self.defines());
        build.options.fast_relaxed_math |= self.math == Some(Math::Fast);
        match self.std {
            Some(Std::Cl10) => build.options.std = clmsl::Std::Cl10,
            Some(Std::Cl11) => build.options.std = clmsl::Std::Cl11,
            Some(Std::Cl12) => build.options.std = clmsl::Std::Cl12,
            Some(Std::Cl20) => build.options.std = clmsl::Std::Cl20,
            Some(Std::Cl30) => build.options.std = clmsl::Std::Cl30,
            None => {}
        }
        match self.fp64 {
            Some(Fp64::Reject) => build.options.fp64 = clmsl::Fp64::Reject,
            Some(Fp64::Float) => build.options.fp64 = clmsl::Fp64::Float,
            Some(Fp64::Emulate) => build.options.fp64 = clmsl::Fp64::Emulate,
            None => {}
        }
        Ok(build)
    }

    /// A file with options of its own, whose `-I` folders are below `folder`.
    pub(crate) fn unit(&self, path: PathBuf, own: String, folder: &Path) -> Result<Unit<'_>, OptionError> {
        let common = self.build("")?.include_dirs;
        let all = self.build(&own)?.include_dirs;
        let include = all[common.len()..].iter().map(|dir| folder.join(dir));
        let include = include.chain(self.include.iter().cloned()).chain(common.iter().map(PathBuf::from)).collect();
        Ok(Unit { path, flags: self, own, include })
    }

    /// A file without options of its own.
    pub(crate) fn plain_unit(&self, path: &Path) -> Result<Unit<'_>, Failure> {
        let unit = self.unit(path.to_owned(), String::new(), Path::new(""));
        unit.map_err(|error| Failure::Input(format!("--options: {error}")))
    }
}

/// An OpenCL C file with everything that decides its translation.
#[derive(Clone)]
pub(crate) struct Unit<'f> {
    pub(crate) path: PathBuf,
    /// Read without an error when this was made.
    flags: &'f Flags,
    own: String,
    /// Folders of included files, in order.
    include: Vec<PathBuf>,
}

impl Unit<'_> {
    /// The name of the file in messages.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Runs `with` on the translator's options for this file; also returns what could not be read of included files.
    pub(crate) fn with_options<T>(&self, with: impl FnOnce(&Options<'_>) -> T) -> (T, Vec<String>) {
        let unreadable = RefCell::new(Vec::new());
        let include = |request: &IncludeRequest<'_>| self.find(request, &unreadable);
        let build = self.flags.build(&self.own).expect("it was read before");
        let result = with(&Options { include: Some(&include), ..build.options });
        (result, unreadable.into_inner())
    }

    /// The including file's folder (for `"path"`), then the `-I` folders in order. A file that is there and cannot be
    /// read is reported, and searching ends.
    fn find(&self, request: &IncludeRequest<'_>, unreadable: &RefCell<Vec<String>>) -> Option<Included> {
        let beside = Path::new(request.from).parent().map(PathBuf::from).filter(|_| !request.angled);
        for folder in beside.iter().chain(&self.include) {
            let path = folder.join(request.path);
            match std::fs::read(&path).map(String::from_utf8) {
                Ok(Ok(text)) => return Some(Included { name: path.display().to_string(), text }),
                Ok(Err(error)) => unreadable.borrow_mut().push(format!("{}: it is not UTF-8: {error}", path.display())),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => unreadable.borrow_mut().push(format!("{}: {error}", path.display())),
            }
            return None;
        }
        None
    }
}

/// A kernel file's text.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = std::fs::read(path).map_err(|error| named(&error))?;
    String::from_utf8(bytes).map_err(|error| named(&format!("it is not UTF-8: {error}")))
}

/// Shows what could not be read.
pub(crate) fn show_unreadable(messages: &[String]) {
    for message in messages {
        anstream::eprintln!("{}", log::error(message));
    }
}

/// Shows a translation's diagnostics.
pub(crate) fn show_diagnostics(translation: &Translation) {
    for diagnostic in &translation.diagnostics {
        anstream::eprint!("{}", log::coloured(&translation.sources.render(diagnostic)));
    }
}

impl Source {
    /// The name of the file in messages.
    pub(crate) fn name(&self) -> String {
        self.file.display().to_string()
    }
}
