//! Sources: what makes two of them the same, and how each becomes a library.

use std::time::Duration;

use super::compilation::{Compilation, Job};
use super::library::{CompileOptions, CompiledSource, Library};
use super::opencl::{self, Program};
use crate::memo::{Asked, Making, hash};
use crate::raw::host::lock;
use crate::sync::{Arc, Mutex};
use crate::telemetry::{Compiled, compiling};
use crate::{Accelerator, Result};

/// A source and everything else that its compilation depends on.
pub(crate) enum SourceKey {
    Msl { text: String, options: CompileOptions },
    OpenCl { name: String, text: String, defines: Vec<(String, String)>, settings: opencl::Settings },
}

/// A source as a caller has it.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Msl { text: &'a str, options: &'a CompileOptions },
    OpenCl { name: &'a str, text: &'a str, options: &'a clmsl::Options<'a> },
}

/// OpenCL C that was translated and not compiled yet.
pub(super) struct Translation {
    pub(super) name: String,
    pub(super) program: Program,
    pub(super) msl: String,
    pub(super) warnings: String,
    pub(super) fast_math: bool,
}

impl Source<'_> {
    fn name(&self) -> &str {
        match self {
            Source::Msl { options, .. } => options.source_name(),
            Source::OpenCl { name, .. } => name,
        }
    }

    fn hash(&self) -> u64 {
        match self {
            Source::Msl { text, options } => hash((0u8, text, options)),
            Source::OpenCl { name, text, options } => hash((1u8, name, text, &options.defines)),
        }
    }

    fn is(&self, key: &SourceKey) -> bool {
        match (self, key) {
            (Source::Msl { text, options }, SourceKey::Msl { text: own, options: theirs }) => {
                text == own && *options == theirs
            }
            (
                Source::OpenCl { name, text, options },
                SourceKey::OpenCl { name: own, text: theirs, defines, settings },
            ) => {
                // With files it may mean something else than what is kept.
                options.include.is_none()
                    && own == name
                    && text == theirs
                    && *defines == options.defines
                    && *settings == opencl::Settings::of(options)
            }
            _ => false,
        }
    }

    fn key(&self) -> SourceKey {
        match *self {
            Source::Msl { text, options } => SourceKey::Msl { text: text.to_owned(), options: options.clone() },
            Source::OpenCl { name, text, options } => SourceKey::OpenCl {
                name: name.to_owned(),
                text: text.to_owned(),
                defines: options.defines.clone(),
                settings: opencl::Settings::of(options),
            },
        }
    }

    /// Whether the same source may mean something else the next time.
    fn varies(&self) -> bool {
        match self {
            Source::Msl { text, .. } => depends_on_files(text),
            Source::OpenCl { options, .. } => options.include.is_some(),
        }
    }

    fn compile(&self, accelerator: &Accelerator) -> Result<Arc<CompiledSource>> {
        let compile = || match *self {
            Source::Msl { text, options } => CompiledSource::from_msl(accelerator, text, options),
            Source::OpenCl { name, text, options } => {
                CompiledSource::from_translation(accelerator, translate(name, text, options)?)
            }
        };
        compiling(accelerator, Compiled::Library, self.name(), compile).map(Arc::new)
    }
}

fn translate(name: &str, text: &str, options: &clmsl::Options<'_>) -> Result<Translation> {
    let (program, msl, warnings) = opencl::translate(name, text, options)?;
    Ok(Translation { name: name.to_owned(), program, msl, warnings, fast_math: options.fast_relaxed_math })
}

impl Library {
    pub(crate) fn from_source(accelerator: &Accelerator, source: Source<'_>) -> Result<Library> {
        let sources = accelerator.sources();
        let (hash, is) = (source.hash(), |key: &SourceKey| source.is(key));
        let compile = || source.compile(accelerator);
        let compiled = match sources.find(hash, is) {
            Some(found) => found,
            None if source.varies() => compile()?,
            None => sources.get(hash, is, || source.key(), compile)?,
        };
        Ok(Library::new(accelerator, compiled))
    }

    pub(crate) fn start(accelerator: &Accelerator, source: Source<'_>, limit: Duration) -> Compilation<Library> {
        let work = match source {
            Source::Msl { text, options } => Work::Msl { text: text.to_owned(), options: options.clone() },
            // The callback is the caller's: only this thread may call it.
            Source::OpenCl { name, text, options } if options.include.is_some() => match translate(name, text, options)
            {
                Ok(translation) => Work::Translated(Mutex::new(Some(translation))),
                Err(error) => return Compilation::ended(name.to_owned(), limit, Err(error)),
            },
            Source::OpenCl { name, text, options } => Work::OpenCl {
                name: name.to_owned(),
                text: text.to_owned(),
                defines: options.defines.clone(),
                settings: opencl::Settings::of(options),
            },
        };
        let job = SourceJob { accelerator: accelerator.clone(), work };
        Compilation::start(accelerator, source.name().to_owned(), limit, job)
    }
}

/// A source that is compiled in the background.
struct SourceJob {
    accelerator: Accelerator,
    work: Work,
}

enum Work {
    Msl {
        text: String,
        options: CompileOptions,
    },
    OpenCl {
        name: String,
        text: String,
        defines: Vec<(String, String)>,
        settings: opencl::Settings,
    },
    /// Until it is compiled.
    Translated(Mutex<Option<Translation>>),
}

impl SourceJob {
    /// What `work` makes of the source; `None` for what was translated.
    fn with<R>(&self, work: impl FnOnce(Option<Source<'_>>) -> R) -> R {
        match &self.work {
            Work::Msl { text, options } => work(Some(Source::Msl { text, options })),
            Work::OpenCl { name, text, defines, settings } => {
                let options = settings.options(defines.clone());
                work(Some(Source::OpenCl { name, text, options: &options }))
            }
            Work::Translated(_) => work(None),
        }
    }
}

impl Job for SourceJob {
    type Key = SourceKey;
    type Kept = Arc<CompiledSource>;
    type Made = Library;

    fn ask(&self) -> Asked<SourceKey, Arc<CompiledSource>> {
        let sources = self.accelerator.sources();
        self.with(|source| {
            let Some(source) = source else { return Asked::Make(Making::unkept()) };
            let (hash, is) = (source.hash(), |key: &SourceKey| source.is(key));
            match sources.find(hash, is) {
                Some(found) => Asked::Ready(found),
                None if source.varies() => Asked::Make(Making::unkept()),
                None => sources.ask(hash, is, || source.key()),
            }
        })
    }

    fn make(&self) -> Result<Arc<CompiledSource>> {
        if let Work::Translated(translation) = &self.work {
            let translation = lock(translation).take().expect("a job is made once");
            let name = translation.name.clone();
            let compile = || CompiledSource::from_translation(&self.accelerator, translation);
            return compiling(&self.accelerator, Compiled::Library, &name, compile).map(Arc::new);
        }
        self.with(|source| source.expect("what was not translated is a source").compile(&self.accelerator))
    }

    fn made(&self, kept: Arc<CompiledSource>) -> Result<Library> {
        Ok(Library::new(&self.accelerator, kept))
    }
}

/// Whether compiling the text again can give something else: it includes a file that is not Metal's own, or asks for the time.
/// Looks at words, also those of comments: it says so too often rather than too seldom.
pub(super) fn depends_on_files(source: &str) -> bool {
    let of_word = |c: char| c.is_alphanumeric() || c == '_';
    // A backslash at the end of a line joins what stands on both, even in the middle of a word.
    let text = source.replace("\\\r\n", "").replace("\\\n", "");
    let mut rest = text.as_str();
    while let Some(start) = rest.find(of_word) {
        let (word, after) = rest[start..].split_at(rest[start..].find(|c| !of_word(c)).unwrap_or(rest.len() - start));
        let file = after.trim_start();
        match word {
            "include" if file.starts_with("<metal_") || file.starts_with("<simd/") => {}
            "include" | "include_next" | "import" | "embed" | "__has_include" | "__has_include_next"
            | "__has_embed" => {
                return true;
            }
            "__DATE__" | "__TIME__" | "__TIMESTAMP__" => return true,
            _ => {}
        }
        rest = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_files_or_the_time_can_change_are_known() {
        for (text, depends) in [
            ("#include <metal_stdlib>\nkernel void k() {}", false),
            ("# include <simd/simd.h>\nint important, included;", false),
            ("#include \"mine.h\"", true),
            ("#include <mine.h>", true),
            ("#include FILE", true),
            ("# /* so */ include \"mine.h\"", true),
            ("#inc\\\nlude \"mine.h\"", true),
            ("#import \"mine.h\"", true),
            ("#if __has_include(\"mine.h\")\n#endif", true),
            ("constant char when[] = __TIME__;", true),
            ("#define A(x) \\\n x + 1\n", false),
            ("", false),
        ] {
            assert_eq!(depends_on_files(text), depends, "{text:?}");
        }
    }
}
