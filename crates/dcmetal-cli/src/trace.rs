//! `dcmetal trace`: a run, and a trace file of it.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;

use clap::Parser;
use dcmetal::telemetry::chrome_trace;

use crate::cli::{Cli, Command, Trace};
use crate::compile::default_device;
use crate::failure::Failure;
use crate::run::run_on;

/// More than a run makes.
const SPANS: usize = 100_000;

pub(crate) fn trace(command: &Trace) -> Result<(), Failure> {
    // The words of `run`, read as if they had been given to it.
    let words = ["dcmetal", "run"].into_iter().map(OsString::from).chain(command.run.iter().cloned());
    let Command::Run(run) = Cli::parse_from(words).command else { unreachable!("the second word is `run`") };
    let device = default_device()?;
    let failed = |error: std::io::Error| Failure::Input(format!("{}: {error}", command.output.display()));
    // Before the run, whose trace would be lost.
    let mut file = File::create(&command.output).map_err(failed)?;
    let telemetry = device.telemetry();
    telemetry.record_spans(SPANS);
    let outcome = run_on(&device, &run);
    let text = chrome_trace(device.name(), &telemetry.take_spans());
    let written = file.write_all(text.as_bytes()).map_err(failed);
    // Why a run failed is more than that its trace could not be written.
    outcome.and(written)
}
