//! `dcmetal validate`: the claims of dcmetal's speed, measured by `dcmetal_validate`, as a table, JSON, and a page.

mod chart;
mod page;

use std::time::{Instant, SystemTime};

use dcmetal_validate::{Goal, Growth, Options, Report, Row, Verdict, figure, growth, names};

use crate::cli::Validate;
use crate::compile::failure;
use crate::failure::Failure;
use crate::table::table;

pub(crate) fn validate(command: &Validate) -> Result<(), Failure> {
    let names = names();
    if command.list {
        return crate::print(names.join("\n") + "\n").map_err(Failure::Input);
    }
    if let Some(unknown) = command.only.iter().find(|only| *only != "kernels" && !names.contains(only)) {
        return Err(Failure::Input(format!(
            "--only {unknown}: there is no such claim; `dcmetal validate --list` lists them"
        )));
    }
    // A file that cannot be written is told before minutes are spent.
    for path in [&command.json, &command.html].into_iter().flatten() {
        std::fs::write(path, "").map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    }
    let now = || SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
    let program = std::env::current_exe().map_err(|error| Failure::Input(format!("this program's name: {error}")))?;
    let options = Options {
        quick: command.quick,
        only: command.only.clone(),
        seed: command.seed.unwrap_or_else(now),
        program,
        child: vec!["validate-child".to_owned()],
    };
    let mut progress = None;
    let report = dcmetal_validate::validate(
        &options,
        |title| progress = Some(crate::progress::Progress::start(title.to_owned())),
        |_| (),
    );
    drop(progress);
    let report = report.map_err(|error| failure(&error))?;
    let write = |path: &Option<std::path::PathBuf>, text: &dyn Fn() -> Result<String, String>| {
        let Some(path) = path else { return Ok(()) };
        let told = |error: String| Failure::Input(format!("{}: {error}", path.display()));
        std::fs::write(path, text().map_err(told)?).map_err(|error| told(error.to_string()))
    };
    write(&command.json, &|| serde_json::to_string_pretty(&report).map_err(|error| error.to_string()))?;
    write(&command.html, &|| page::page(&report))?;
    crate::print(text(&report)).map_err(Failure::Input)?;
    ended(&report)
}

/// What the exit code says.
fn ended(report: &Report) -> Result<(), Failure> {
    let of = |verdict: Verdict| {
        let names: Vec<&str> =
            report.rows.iter().filter(|row| row.verdict == verdict).map(|row| row.name.as_str()).collect();
        names.join(", ")
    };
    match report.verdict {
        Verdict::Reached => Ok(()),
        Verdict::Missed => Err(Failure::Missed(format!("missed: {}", of(Verdict::Missed)))),
        Verdict::Broken => Err(Failure::Broken(format!("broken: {}", of(Verdict::Broken)))),
        Verdict::NotMeasured => Err(Failure::Missed("nothing was measured".to_owned())),
    }
}

/// A process of which the parent measures how it begins.
pub(crate) fn child(main: Instant, words: &[String]) -> Result<(), Failure> {
    let found = dcmetal_validate::child(main, words).map_err(Failure::Device)?;
    crate::print(found).map_err(Failure::Input)
}

/// The goal for people.
fn goal(row: &Row) -> String {
    match row.goal {
        Goal::AtMost(most) => format!("<= {}", figure(most, row.unit)),
        Goal::AtLeast(least) => format!(">= {}", figure(least, row.unit)),
        Goal::Sound => "verified".to_owned(),
    }
}

/// The figure and its slow end.
fn figures(row: &Row) -> [String; 2] {
    let Some(measured) = &row.measured else { return ["-".to_owned(), "-".to_owned()] };
    let slow = measured.spread.map_or_else(|| "-".to_owned(), |spread| figure(spread.p99, row.unit));
    [figure(measured.value, row.unit), slow]
}

/// Rates beside their roofs, and how time grew.
fn evidence(row: &Row) -> String {
    let Some(measured) = &row.measured else { return row.why.clone() };
    let mut words: Vec<String> = Vec::new();
    if !row.why.is_empty() {
        words.push(row.why.clone());
    }
    words.extend(measured.rates.iter().map(|rate| {
        format!("{:.1} {} of {:.1} ({:.0} %)", rate.value, rate.unit, rate.roof, rate.value / rate.roof * 100.0)
    }));
    if let Growth::Power(power) = growth(&measured.points, measured.fixed) {
        words.push(format!("time ~ work^{power:.2}"));
    }
    words.join("; ")
}

/// What a reader must know of where the figures come from.
fn caveats(report: &Report) -> Vec<String> {
    let machine = &report.machine;
    let mut list = Vec::new();
    if !machine.optimised {
        list.push("This is a build without optimisation: the host's part of the figures is not dcmetal's.".to_owned());
    }
    if let Some(load) = machine.load
        && load > 0.5
    {
        list.push(format!(
            "The machine had other work (load {load:.1} on {} processors): figures are worse than its own.",
            machine.processors
        ));
    }
    if report.quick {
        list.push("Measured quickly, at small sizes and with few turns: percentiles are rough.".to_owned());
    }
    list
}

fn text(report: &Report) -> String {
    let machine = &report.machine;
    let mut out = format!(
        "{} ({}, {} processors), dcmetal {}, seed {}\n",
        machine.device, machine.system, machine.processors, machine.version, report.seed
    );
    for caveat in caveats(report) {
        out += &format!("note: {caveat}\n");
    }
    let head = ["claim", "goal", "median", "p99", "verdict", "evidence"].map(str::to_owned).to_vec();
    let asked = |row: &&Row| row.why != "left out by --only";
    let rows = report.rows.iter().filter(asked).map(|row| {
        let [median, slow] = figures(row);
        vec![row.name.clone(), goal(row), median, slow, row.verdict.words().to_owned(), evidence(row)]
    });
    out += "\n";
    out += &table(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
    out += "\n";
    let mut how = "";
    for row in report.rows.iter().filter(asked) {
        let Some(measured) = &row.measured else { continue };
        out += &format!("{}: {}\n", row.name, row.title);
        if !row.theirs.is_empty() {
            out += &format!("  source documents: {}\n", row.theirs);
        }
        // All kernels are measured alike.
        if how != row.how {
            how = row.how;
            out += &format!("  how: {how}\n");
        }
        for verified in &measured.verified {
            out += &format!("  verified: {verified}\n");
        }
        for (name, value) in &measured.apart {
            out += &format!("  apart: {name}: {value}\n");
        }
    }
    out += "\nnot measured:\n";
    for row in report.rows.iter().filter(asked).filter(|row| row.verdict == Verdict::NotMeasured) {
        out += &format!("  {}: {}\n", row.name, row.why);
    }
    let left_out = report.rows.len() - report.rows.iter().filter(asked).count();
    if left_out > 0 {
        out += &format!("  {left_out} claims that --only leaves out\n");
    }
    for what in &report.not_covered {
        out += &format!("  {what}\n");
    }
    let count = |verdict| report.rows.iter().filter(|row| row.verdict == verdict).count();
    let counts = [Verdict::Reached, Verdict::Missed, Verdict::Broken, Verdict::NotMeasured]
        .map(|verdict| format!("{} {}", count(verdict), verdict.words()));
    out + &format!("\n{}\n", counts.join(", "))
}

#[cfg(test)]
mod tests {
    use std::process::ExitCode;

    use dcmetal_validate::Machine;

    use super::*;

    #[test]
    fn the_exit_code_is_the_verdict_s() {
        for (verdict, wanted) in [
            (Verdict::Reached, None),
            (Verdict::Missed, Some((ExitCode::from(5), "missed: "))),
            (Verdict::Broken, Some((ExitCode::from(6), "broken: "))),
            (Verdict::NotMeasured, Some((ExitCode::from(5), "nothing was measured"))),
        ] {
            let machine = Machine {
                device: String::new(),
                system: String::new(),
                processors: 1,
                load: None,
                optimised: true,
                version: "",
                begun: 0,
            };
            let report = Report { machine, quick: true, seed: 0, rows: Vec::new(), not_covered: Vec::new(), verdict };
            let failure = ended(&report).err();
            let got = failure.as_ref().map(|failure| (failure.exit_code(), failure.message()));
            assert_eq!(got, wanted, "{verdict:?}");
        }
    }
}
