//! Kernels that count what they do: what each of their counters stands for.
//!
//! The pass (native/hostmetal/pass/counts.cpp) puts counters into the code of one thread where its analysis (analysis.rs) sees accesses, operations and
//! loops, so that what is told of a kernel can be compared with what it does. The executor (executor/counting.rs) reads them.

use super::analysis::{Counts, LINE, Place, Reader};
use super::{CompileFailure, Failure};

/// An access of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) place: Place,
    /// `device`, `constant` or `threadgroup`.
    pub(crate) space: &'static str,
    /// The parameter's name, or `-`.
    pub(crate) argument: String,
    /// `read`, `write` or `both`.
    pub(crate) usage: String,
    /// Of one thread; 0 where the text does not tell.
    pub(crate) bytes: u64,
    /// What the analysis says of the distance between neighbours: a number of bytes, or a word.
    pub(crate) step: String,
}

/// What a kernel's counters stand for, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) sites: Vec<Site>,
    /// What one run of each block does.
    pub(crate) blocks: Vec<Counts>,
    /// Where the loops are, whose counters are behind those of the blocks.
    pub(crate) loops: Vec<Place>,
    /// Places whose work or memory is not counted.
    pub(crate) uncounted: Vec<Place>,
}

impl Counters {
    /// How many numbers a thread hands over when it ends.
    pub(crate) fn number(&self) -> usize {
        self.blocks.len() + self.loops.len()
    }
}

impl Reader<'_> {
    /// What the pass says that it made counters for.
    pub(super) fn counters(&self, output: &str) -> Result<Counters, CompileFailure> {
        let mut counters = Counters::default();
        let mut is_whole = false;
        for line in output.lines().filter_map(|line| line.strip_prefix(LINE)) {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
            let read = match words[0] {
                "site" => (|| {
                    let (space, argument) = self.memory(words.get(1)?)?;
                    counters.sites.push(Site {
                        place: self.place(&words, 6)?,
                        space,
                        argument: argument.to_owned(),
                        usage: (*words.get(2)?).to_owned(),
                        bytes: number(3)?,
                        step: (*words.get(4)?).to_owned(),
                    });
                    Some(())
                })(),
                "block" => (|| {
                    counters.blocks.push(Counts { flops: number(1)?, special: 0, integer: number(2)? });
                    Some(())
                })(),
                "call" => counters.blocks.last_mut().and_then(|counts| counts.add_call(&words)),
                "loop" => self.place(&words, 1).map(|place| counters.loops.push(place)),
                "uncounted" => self.place(&words, 1).map(|place| counters.uncounted.push(place)),
                "counted" => {
                    is_whole = true;
                    Some(())
                }
                _ => None,
            };
            if read.is_none() {
                return Err(unknown(line));
            }
        }
        if is_whole { Ok(counters) } else { Err(unknown("")) }
    }
}

fn unknown(line: &str) -> CompileFailure {
    let log = format!("the pass told of the kernel's counters in a way that is not known: '{line}'");
    CompileFailure { kind: Failure::Toolchain, log }
}
