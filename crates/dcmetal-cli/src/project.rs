//! Many OpenCL C files at once: which files, with which options, translated side by side on all processors.
//!
//! Files come from the command line (folders are searched for `.cl` files, links are not followed) and from a JSON list with
//! options of their own. The order of the results is that of the files, whatever finished first.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clmsl::Translation;
use serde::Deserialize;
use walkdir::WalkDir;

use crate::cli::{Flags, Project};
use crate::failure::Failure;
use crate::files::write_whole;
use crate::sarif;
use crate::source::{self, Language, Unit};
use crate::table::table;

/// A file to translate, and where its translation goes below the folder of results.
pub(crate) struct Job<'f> {
    pub(crate) unit: Unit<'f>,
    /// Ends in `.metal`.
    pub(crate) output: PathBuf,
}

/// What became of a file.
pub(crate) struct Outcome<'f> {
    pub(crate) job: Job<'f>,
    pub(crate) result: Result<Translated, String>,
}

/// A file that could be read, with what the translator says of it.
pub(crate) struct Translated {
    pub(crate) text: String,
    pub(crate) translation: Translation,
    /// Included files that are there and cannot be read.
    pub(crate) unreadable: Vec<String>,
}

impl Outcome<'_> {
    pub(crate) fn msl(&self) -> Option<&str> {
        self.result.as_ref().ok().and_then(|translated| translated.translation.msl.as_deref())
    }

    pub(crate) fn kernels(&self) -> usize {
        self.result.as_ref().map_or(0, |translated| translated.translation.reflection.kernels.len())
    }

    /// Why the file was rejected: the first error without the names in it, so that the same reason has the same words.
    pub(crate) fn reason(&self) -> Option<String> {
        match &self.result {
            Err(_) => Some("the file cannot be read".to_owned()),
            Ok(translated) if translated.translation.msl.is_some() => None,
            Ok(translated) => {
                let first = translated.translation.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
                first.map(|diagnostic| without_names(&diagnostic.message))
            }
        }
    }

    /// Shows what was said of the file on standard error.
    pub(crate) fn show(&self) {
        match &self.result {
            Err(error) => source::show_unreadable(std::slice::from_ref(error)),
            Ok(translated) => {
                source::show_unreadable(&translated.unreadable);
                source::show_diagnostics(&translated.translation);
            }
        }
    }
}

/// An entry of the JSON list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    file: PathBuf,
    #[serde(default)]
    directory: PathBuf,
    #[serde(default)]
    options: String,
    #[serde(default)]
    arguments: Vec<String>,
    output: Option<PathBuf>,
}

/// The files that a command names.
pub(crate) fn jobs<'f>(inputs: &[PathBuf], flags: &'f Flags, project: &Project) -> Result<Vec<Job<'f>>, Failure> {
    let mut jobs = Vec::new();
    for input in inputs {
        if input.is_dir() {
            collect(input, flags, &mut jobs)?;
        } else if source::language(input)? == Language::Msl {
            return Err(Failure::Input(format!("{}: it is Metal Shading Language already", input.display())));
        } else {
            let output = input.file_name().map(PathBuf::from).unwrap_or_default().with_extension("metal");
            jobs.push(Job { unit: flags.plain_unit(input)?, output });
        }
    }
    if let Some(list) = &project.commands {
        jobs.extend(listed(list, flags)?);
    }
    if jobs.is_empty() {
        let names: Vec<String> = inputs.iter().map(|input| input.display().to_string()).collect();
        return Err(Failure::Input(format!("{}: no .cl file in it", names.join(", "))));
    }
    distinct(&jobs)?;
    Ok(jobs)
}

/// The `.cl` files below a folder, in the order of their names.
fn collect<'f>(folder: &Path, flags: &'f Flags, jobs: &mut Vec<Job<'f>>) -> Result<(), Failure> {
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|error| Failure::Input(error.to_string()))?;
        let path = entry.path();
        let is_kernel = path.extension().is_some_and(|extension| extension == "cl" || extension == "ocl");
        if !is_kernel || !entry.file_type().is_file() {
            continue;
        }
        let below = path.strip_prefix(folder).expect("it was found there");
        jobs.push(Job { unit: flags.plain_unit(path)?, output: below.with_extension("metal") });
    }
    Ok(())
}

/// The files of a JSON list.
fn listed<'f>(list: &Path, flags: &'f Flags) -> Result<Vec<Job<'f>>, Failure> {
    let named = |error: String| Failure::Input(format!("{}: {error}", list.display()));
    let text = source::read(list).map_err(Failure::Input)?;
    let entries: Vec<Entry> = serde_json::from_str(&text).map_err(|error| named(error.to_string()))?;
    let base = list.parent().unwrap_or(Path::new(""));
    entries.into_iter().map(|entry| job(entry, base, flags).map_err(named)).collect()
}

fn job<'f>(entry: Entry, base: &Path, flags: &'f Flags) -> Result<Job<'f>, String> {
    let shown = entry.file.display().to_string();
    let folder = base.join(&entry.directory);
    let own = format!("{} {}", entry.options, quoted(&entry.arguments));
    let output = entry.output.unwrap_or_else(|| entry.file.with_extension("metal"));
    let inside = output.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside || output.extension().is_none_or(|extension| extension != "metal") {
        return Err(format!(
            "{shown}: the output `{}` is not a .metal file below the folder of results",
            output.display()
        ));
    }
    let unit = flags.unit(folder.join(entry.file), own, &folder).map_err(|error| format!("{shown}: {error}"))?;
    Ok(Job { unit, output })
}

/// Two files must not write the same result.
fn distinct(jobs: &[Job<'_>]) -> Result<(), Failure> {
    let mut seen: BTreeMap<&Path, &Path> = BTreeMap::new();
    for job in jobs {
        if let Some(other) = seen.insert(&job.output, &job.unit.path) {
            return Err(Failure::Input(format!(
                "{} and {} would both be written to {}; give one another `output` in a --commands file",
                other.display(),
                job.unit.name(),
                job.output.display()
            )));
        }
    }
    Ok(())
}

/// Translates all files, then hands each in order to `also` for what else is to be done with it, all in parallel.
pub(crate) fn translate_all<'f, T: Send>(
    jobs: Vec<Job<'f>>,
    project: &Project,
    also: impl Fn(&Outcome<'f>) -> T + Sync,
) -> Vec<(Outcome<'f>, T)> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = project.jobs.map_or(processors, usize::from).min(jobs.len());
    let jobs: Vec<Mutex<Option<Job<'f>>>> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    let done: Vec<Mutex<Option<(Outcome<'f>, T)>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { return };
                    let job = job.lock().expect("no panic holds it").take().expect("each place is taken once");
                    let outcome = translate(job);
                    let value = also(&outcome);
                    *done[at].lock().expect("no panic holds it") = Some((outcome, value));
                }
            });
        }
    });
    let whole = |slot: Mutex<Option<_>>| slot.into_inner().expect("no panic holds it").expect("every file was done");
    done.into_iter().map(whole).collect()
}

fn translate(job: Job<'_>) -> Outcome<'_> {
    let result = source::read(&job.unit.path).map(|text| {
        let (translation, unreadable) =
            job.unit.with_options(|options| clmsl::translate(&job.unit.name(), &text, options));
        Translated { text, translation, unreadable }
    });
    Outcome { job, result }
}

/// Writes `NAME.metal` and `NAME.json` of a translated file below `folder`.
pub(crate) fn write(outcome: &Outcome<'_>, folder: &Path) -> Result<(), String> {
    let (Some(msl), Ok(translated)) = (outcome.msl(), &outcome.result) else { return Ok(()) };
    let path = folder.join(&outcome.job.output);
    let parent = path.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    write_whole(&path, |file| file.write_all(msl.as_bytes()).map_err(|error| error.to_string()))?;
    write_json(&path.with_extension("json"), &translated.translation.reflection)
}

/// Writes a value as JSON that people can read.
pub(crate) fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), String> {
    write_whole(path, |file| {
        serde_json::to_writer_pretty(&mut *file, value).map_err(|error| error.to_string())?;
        writeln!(file).map_err(|error| error.to_string())
    })
}

/// Writes all diagnostics to the file that the command names, in the form its name says.
pub(crate) fn write_diagnostics(project: &Project, outcomes: &[Outcome<'_>]) -> Result<(), Failure> {
    let Some(path) = &project.diagnostics else { return Ok(()) };
    let value = match path.extension().and_then(|extension| extension.to_str()) {
        Some("sarif") => sarif::sarif(outcomes),
        Some("json") => sarif::json(outcomes),
        _ => return Err(Failure::Input(format!("{}: a file of diagnostics ends in .sarif or .json", path.display()))),
    };
    write_json(path, &value).map_err(Failure::Input)
}

/// For each reason how many files were rejected, the most frequent first.
pub(crate) fn reasons<'o>(outcomes: impl Iterator<Item = &'o Outcome<'o>>) -> Vec<(String, usize)> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for reason in outcomes.filter_map(Outcome::reason) {
        *reasons.entry(reason).or_default() += 1;
    }
    let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
    // Stable: reasons of one count stay in the order of their words.
    reasons.sort_by_key(|(_, files)| std::cmp::Reverse(*files));
    reasons
}

/// How many files were translated, and for each reason how many were not.
pub(crate) fn summary(outcomes: &[Outcome<'_>]) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let reasons = reasons(outcomes.iter());
    let rejected: usize = reasons.iter().map(|(_, files)| files).sum();
    let kernels = outcomes.iter().map(Outcome::kernels).sum();
    let mut rows = vec![
        vec!["translated".to_owned(), count(outcomes.len() - rejected, "file"), count(kernels, "kernel")],
        vec!["rejected".to_owned(), count(rejected, "file")],
    ];
    rows.extend(reasons.into_iter().map(|(reason, files)| vec![String::new(), count(files, "file"), reason]));
    table(&rows)
}

/// The message with `…` for every quoted name.
fn without_names(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some(start) = rest.find('\'') {
        let Some(end) = rest[start + 1..].find('\'') else { break };
        out += &rest[..=start];
        out += "…'";
        rest = &rest[start + end + 2..];
    }
    out + rest
}

/// The words as one string that `parse_build_options` splits into the same words.
fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}
