//! Why the command failed, as its exit code tells.

use std::process::ExitCode;

/// A failure with its message; [`Failure::exit_code`] is documented in `dcmetal --help`.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the user gave cannot work: a missing file, a kernel that does not compile, an argument that does not fit.
    Input(String),
    /// The device could not do it: none present, out of memory, a fault, the deadline.
    Device(String),
    /// The run went well and the result differs from what `--check` names.
    Mismatch(String),
    /// A claim was measured and is not reached, or nothing could be measured.
    Missed(String),
    /// A measurement that cannot be true, or whose work failed.
    Broken(String),
}

impl Failure {
    pub(crate) fn message(&self) -> &str {
        match self {
            Failure::Input(message)
            | Failure::Device(message)
            | Failure::Mismatch(message)
            | Failure::Missed(message)
            | Failure::Broken(message) => message,
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        // 2 is clap's, for a command line it cannot read.
        ExitCode::from(match self {
            Failure::Input(_) => 1,
            Failure::Device(_) => 3,
            Failure::Mismatch(_) => 4,
            Failure::Missed(_) => 5,
            Failure::Broken(_) => 6,
        })
    }
}
