//! `dcmetal translate`: OpenCL C in, Metal Shading Language out.

use crate::cli::Translate;
use crate::failure::Failure;
use crate::files::write_whole;
use crate::project::{self, Outcome};

pub(crate) fn translate(command: &Translate) -> Result<(), Failure> {
    let jobs = project::jobs(&command.inputs, &command.flags, &command.project)?;
    let one = matches!(&command.inputs[..], [input] if !input.is_dir()) && command.project.commands.is_none();
    if !one && command.reflect.is_some() {
        return Err(Failure::Input("--reflect is for one file; with several, -o OUT gets a NAME.json of each".into()));
    }
    let folder = command.output.as_ref().filter(|_| !one);
    let done = project::translate_all(jobs, &command.project, |outcome| match folder {
        Some(folder) => project::write(outcome, folder),
        None => Ok(()),
    });
    let mut outcomes = Vec::with_capacity(done.len());
    for (outcome, written) in done {
        outcome.show();
        written.map_err(Failure::Input)?;
        outcomes.push(outcome);
    }
    project::write_diagnostics(&command.project, &outcomes)?;
    if one {
        return single(command, &outcomes[0]);
    }
    crate::print(project::summary(&outcomes)).map_err(Failure::Input)?;
    match outcomes.iter().filter(|outcome| outcome.msl().is_none()).count() {
        0 => Ok(()),
        rejected => Err(Failure::Input(format!("{rejected} of {} files not translated", outcomes.len()))),
    }
}

/// The results of a translation of one file, where the command wants them.
fn single(command: &Translate, outcome: &Outcome<'_>) -> Result<(), Failure> {
    let name = outcome.job.unit.name();
    let Ok(translated) = &outcome.result else { return Err(Failure::Input(format!("{name}: not translated"))) };
    let Some(msl) = &translated.translation.msl else {
        let errors = translated.translation.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
        let s = if errors == 1 { "" } else { "s" };
        return Err(Failure::Input(format!("{name}: not translated, {errors} error{s}")));
    };
    if let Some(path) = &command.reflect {
        project::write_json(path, &translated.translation.reflection).map_err(Failure::Input)?;
    }
    match &command.output {
        Some(path) => write_whole(path, |file| file.write_all(msl.as_bytes()).map_err(|error| error.to_string())),
        None => crate::print(msl),
    }
    .map_err(Failure::Input)
}
