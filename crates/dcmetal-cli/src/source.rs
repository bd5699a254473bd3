//! Kernel files: which language a file is in, how it is read, and OpenCL C translated.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use clmsl::{IncludeRequest, Included, Translation};

use crate::cli::{Math, Source, Std};
use crate::failure::Failure;
use crate::log;

/// What a file's extension says it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    OpenCl,
    Msl,
}

impl Source {
    pub(crate) fn language(&self) -> Result<Language, Failure> {
        match self.file.extension().and_then(|extension| extension.to_str()) {
            Some("cl" | "clh" | "ocl") => Ok(Language::OpenCl),
            Some("metal") => Ok(Language::Msl),
            _ => Err(Failure::Input(format!(
                "{}: a kernel file ends in .cl (OpenCL C) or .metal (Metal Shading Language)",
                self.file.display()
            ))),
        }
    }

    /// The file's text.
    pub(crate) fn read(&self) -> Result<String, Failure> {
        let named = |error: &dyn std::fmt::Display| Failure::Input(format!("{}: {error}", self.file.display()));
        let bytes = std::fs::read(&self.file).map_err(|error| named(&error))?;
        String::from_utf8(bytes).map_err(|error| named(&format!("it is not UTF-8: {error}")))
    }

    /// The name of the file in messages.
    pub(crate) fn name(&self) -> String {
        self.file.display().to_string()
    }

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

    /// Runs `with` on the translator's options for this file.
    pub(crate) fn with_options<T>(&self, with: impl FnOnce(&clmsl::Options<'_>) -> T) -> T {
        let unreadable = RefCell::new(Vec::new());
        let include = |request: &IncludeRequest<'_>| self.find(request, &unreadable);
        let result = with(&clmsl::Options {
            std: match self.std {
                Std::Cl12 => clmsl::Std::Cl12,
                Std::Cl20 => clmsl::Std::Cl20,
                Std::Cl30 => clmsl::Std::Cl30,
            },
            defines: self.defines(),
            include: Some(&include),
            fast_relaxed_math: self.math == Some(Math::Fast),
            ..Default::default()
        });
        for message in unreadable.into_inner() {
            anstream::eprintln!("{}", log::error(&message));
        }
        result
    }

    /// Translates the file's text and shows the diagnostics on standard error.
    pub(crate) fn translate(&self, text: &str) -> Result<(String, Translation), Failure> {
        let translation = self.with_options(|options| clmsl::translate(&self.name(), text, options));
        for diagnostic in &translation.diagnostics {
            anstream::eprint!("{}", log::coloured(&translation.sources.render(diagnostic)));
        }
        match &translation.msl {
            Some(msl) => Ok((msl.clone(), translation)),
            None => {
                let errors = translation.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
                let s = if errors == 1 { "" } else { "s" };
                Err(Failure::Input(format!("{}: not translated, {errors} error{s}", self.name())))
            }
        }
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
