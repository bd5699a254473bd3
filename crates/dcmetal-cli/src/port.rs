//! `dcmetal port`: a folder of OpenCL C becomes a folder of Metal Shading Language with a report.

use std::path::Path;

use dcmetal::{Accelerator, CompileOptions, Error, MathMode};

use crate::cli::Port;
use crate::compile::{default_device, failure};
use crate::failure::Failure;
use crate::files::write_whole;
use crate::progress::Progress;
use crate::project::{self, Outcome};
use crate::report;

/// Whether the device's compiler accepts a translation.
pub(crate) enum Checked {
    /// It was not asked.
    No,
    Passed,
    /// With what it said.
    Failed(String),
}

/// A file, and what became of it.
pub(crate) struct Ported<'f> {
    pub(crate) outcome: Outcome<'f>,
    pub(crate) checked: Checked,
}

pub(crate) fn port(command: &Port) -> Result<(), Failure> {
    let jobs = project::jobs(&command.inputs, &command.flags, &command.project)?;
    let device = if command.no_check { None } else { Some(default_device()?) };
    let progress = Progress::start(format!("porting {} files", jobs.len()));
    let folder = &command.output;
    let done = project::translate_all(jobs, &command.project, |outcome| {
        let written = project::write(outcome, folder).map_err(Failure::Input);
        written.and_then(|()| check(device.as_ref(), outcome))
    });
    drop(progress);
    let mut files = Vec::with_capacity(done.len());
    for (outcome, checked) in done {
        files.push(Ported { outcome, checked: checked? });
    }
    let names: Vec<String> =
        command.inputs.iter().chain(&command.project.commands).map(|p| p.display().to_string()).collect();
    let title = format!("Port of {}", names.join(", "));
    let name = device.as_ref().map(|device| device.name());
    write_report(&folder.join("report"), &title, name, &files).map_err(Failure::Input)?;

    let failed = files.iter().filter(|file| matches!(file.checked, Checked::Failed(_))).count();
    let outcomes: Vec<Outcome<'_>> = files.into_iter().map(|file| file.outcome).collect();
    project::write_diagnostics(&command.project, &outcomes)?;
    let report = folder.join("report/index.html");
    let text = format!("{}report      {}\n", project::summary(&outcomes), report.display());
    crate::print(&text).map_err(Failure::Input)?;
    let rejected = outcomes.iter().filter(|outcome| outcome.msl().is_none()).count();
    match (rejected, failed) {
        (0, 0) => Ok(()),
        (rejected, 0) => Err(Failure::Input(format!("{rejected} of {} files not translated", outcomes.len()))),
        (_, failed) => Err(Failure::Input(format!(
            "{failed} translations do not compile on the device, which is a defect of dcmetal"
        ))),
    }
}

/// Compiles a translation with all its kernels. What the device cannot do otherwise is a failure of the command.
fn check(device: Option<&Accelerator>, outcome: &Outcome<'_>) -> Result<Checked, Failure> {
    let (Some(device), Some(msl)) = (device, outcome.msl()) else { return Ok(Checked::No) };
    let (fast, _) = outcome.job.unit.with_options(|options| options.fast_relaxed_math);
    let math = if fast { MathMode::Fast } else { MathMode::Safe };
    let options = CompileOptions { name: outcome.job.unit.name(), math_mode: Some(math), ..Default::default() };
    let compiled = device
        .compile_msl_with(msl, &options)
        .and_then(|library| library.kernel_names().iter().try_for_each(|name| library.kernel(name).map(drop)));
    match compiled {
        Ok(()) => Ok(Checked::Passed),
        Err(Error::Compile { log, .. }) => Ok(Checked::Failed(log)),
        Err(error) => match failure(&error) {
            Failure::Input(message) => Ok(Checked::Failed(message)),
            failure => Err(failure),
        },
    }
}

fn write_report(folder: &Path, title: &str, device: Option<&str>, files: &[Ported<'_>]) -> Result<(), String> {
    for file in files {
        let page = report::page_of(&file.outcome.job.output);
        let up = "../".repeat(Path::new(&page).components().count() - 1);
        write_page(&folder.join(&page), &report::file(file, &up))?;
    }
    write_page(&folder.join("index.html"), &report::overview(title, device, files))
}

fn write_page(path: &Path, text: &str) -> Result<(), String> {
    let parent = path.parent().expect("a page lies in a folder");
    std::fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    write_whole(path, |file| file.write_all(text.as_bytes()).map_err(|error| error.to_string()))
}
