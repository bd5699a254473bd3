//! Launches on both sides, and in what they differ.

use std::fmt;

use crate::device::Translated;
use crate::differ::{Difference, differences};
use crate::job::{Launch, Program};
use crate::peer::{Peer, PeerError};
use crate::vary::Shape;

/// A launch and the numbers in its arguments, one shape for each.
#[derive(Clone, Debug)]
pub struct Run {
    /// What is launched.
    pub launch: Launch,
    /// What its arguments hold.
    pub shapes: Vec<Shape>,
}

/// One launch that did not come out alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Which of the launches.
    pub launch: usize,
    /// Its kernel.
    pub kernel: String,
    /// In what.
    pub what: What,
}

/// In what a launch did not come out alike.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The device failed it, the peer did not.
    Failed(String),
    /// A buffer, by the argument's name.
    Buffer(String, Difference),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { launch, kernel, what } = self;
        match what {
            What::Failed(text) => write!(f, "launch {launch} ({kernel}): {text}"),
            What::Buffer(name, difference) => write!(f, "launch {launch} ({kernel}): {name}{difference}"),
        }
    }
}

/// Runs everything on both sides; `ulp` as in [`differences`].
///
/// # Errors
/// When the peer gives no result to compare with.
pub fn compare(
    translated: &Translated,
    peer: &mut Peer,
    program: &Program,
    runs: &[Run],
    ulp: u64,
) -> Result<Vec<Mismatch>, PeerError> {
    let launches: Vec<Launch> = runs.iter().map(|run| run.launch.clone()).collect();
    let theirs = peer.run(program, &launches)?;
    let mut mismatches = Vec::new();
    for (index, (run, theirs)) in runs.iter().zip(&theirs).enumerate() {
        let mut found = |what| mismatches.push(Mismatch { launch: index, kernel: run.launch.kernel.clone(), what });
        let (ours, kernel) = match (translated.run(&run.launch), translated.kernel(&run.launch.kernel)) {
            (Ok(ours), Ok(kernel)) => (ours, kernel),
            (Err(text), _) | (_, Err(text)) => {
                found(What::Failed(text));
                continue;
            }
        };
        for (argument, (ours, theirs)) in kernel.arguments().iter().zip(ours.iter().zip(theirs)) {
            let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
            let shape = &run.shapes[argument.position];
            if let Some(difference) = differences(ours, theirs, shape, ulp) {
                found(What::Buffer(argument.name.clone(), difference));
            }
        }
    }
    Ok(mismatches)
}
