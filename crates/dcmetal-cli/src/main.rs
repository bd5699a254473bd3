//! The `dcmetal` command: one module per subcommand, the command line itself in `cli`.
#![forbid(unsafe_code)]

mod analysis;
mod analyze;
mod array;
mod check;
mod cli;
mod compare;
mod compile;
mod devices;
mod difference;
mod failure;
mod files;
mod highlight;
mod log;
mod port;
mod progress;
mod project;
mod report;
mod run;
mod sarif;
mod source;
mod spec;
mod table;
mod texture;
mod trace;
mod translate;
mod validate;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    // A measurement of how a process begins: nothing may come before it.
    let begun = Instant::now();
    env_logger::init();
    let done = match Cli::parse().command {
        Command::Devices(command) => devices::devices(&command),
        Command::Translate(command) => translate::translate(&command),
        Command::Port(command) => port::port(&command),
        Command::Check(command) => check::check(&command),
        Command::Analyze(command) => analyze::analyze(&command),
        Command::Run(command) => run::run(&command),
        Command::Trace(command) => trace::trace(&command),
        Command::Compare(command) => compare::compare(&command),
        Command::OpenclPeer => compare::serve(),
        Command::Validate(command) => validate::validate(&command),
        Command::ValidateChild { words } => validate::child(begun, &words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            anstream::eprintln!("{}", log::error(failure.message()));
            failure.exit_code()
        }
    }
}

/// Prints to standard output; a reader that went away (`| head`) is no error.
fn print(text: impl AsRef<[u8]>) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_ref()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}
