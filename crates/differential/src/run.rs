//! Launches on both sides, and in what they differ.

use std::fmt;

use crate::device::Translated;
use crate::differ::{Difference, differences};
use crate::job::{Launch, Program, Ran};
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
    /// What was printed: the first line that only one side has, and which side that is.
    Printed(String, &'static str),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { launch, kernel, what } = self;
        match what {
            What::Failed(text) => write!(f, "launch {launch} ({kernel}): {text}"),
            What::Printed(line, side) => write!(f, "launch {launch} ({kernel}): only {side} prints `{line}`"),
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
    Ok(mismatches(translated, runs, &peer.run(program, &launches)?, ulp))
}

/// Runs everything on the device; in what it differs from what the peer did.
pub(crate) fn mismatches(translated: &Translated, runs: &[Run], theirs: &[Ran], ulp: u64) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    for (index, (run, theirs)) in runs.iter().zip(theirs).enumerate() {
        let mut found = |what| mismatches.push(Mismatch { launch: index, kernel: run.launch.kernel.clone(), what });
        let (ours, kernel) = match (translated.run(&run.launch), translated.kernel(&run.launch.kernel)) {
            (Ok(ours), Ok(kernel)) => (ours, kernel),
            (Err(text), _) | (_, Err(text)) => {
                found(What::Failed(text));
                continue;
            }
        };
        if let Some((line, side)) = only_one(&ours.printed, &theirs.printed) {
            found(What::Printed(line.clone(), side));
        }
        for (argument, (ours, theirs)) in kernel.arguments().iter().zip(ours.outputs.iter().zip(&theirs.outputs)) {
            let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
            let shape = &run.shapes[argument.position];
            if let Some(difference) = differences(ours, theirs, shape, ulp) {
                found(What::Buffer(argument.name.clone(), difference));
            }
        }
    }
    mismatches
}

/// The first line of two sorted lists that the other has not, and whose it is.
fn only_one<'l>(device: &'l [String], peer: &'l [String]) -> Option<(&'l String, &'static str)> {
    let at = (0..).find(|&at| device.get(at) != peer.get(at) || device.get(at).is_none()).expect("lists end");
    match (device.get(at), peer.get(at)) {
        (Some(ours), Some(theirs)) if theirs < ours => Some((theirs, "OpenCL")),
        (Some(ours), _) => Some((ours, "the device")),
        (None, theirs) => theirs.map(|line| (line, "OpenCL")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_one_side_is_found() {
        let lines = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        let only = |a, b| only_one(&lines(a), &lines(b)).map(|(line, side)| format!("{line} {side}"));
        assert_eq!(only("abc", "abc"), None);
        assert_eq!(only("abc", "ac").as_deref(), Some("b the device"));
        assert_eq!(only("ac", "abc").as_deref(), Some("b OpenCL"));
        assert_eq!(only("a", "ab").as_deref(), Some("b OpenCL"));
        assert_eq!(only("aab", "ab").as_deref(), Some("a the device"));
    }
}
