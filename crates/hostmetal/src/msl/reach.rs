//! What a kernel may reach, by name: an over-approximation that needs no types.
//!
//! A declaration reaches every declaration that defines a name it mentions; a class reaches all of its members; free
//! operators are reached by everything. So nothing reachable is missed as long as code is reached by name, and a false
//! answer only costs speed (stack-switched threads where a loop would do) or lists one function constant too many.
//!
//! What a kernel does not reach is not compiled with it either. There our own headers count too, which find functions by
//! the types of their arguments, and so does every token that belongs to no declaration. Clang refuses a program in which
//! something is missing all the same (two ways to name a function's type that are not understood here, say); then it gets
//! the whole one.

use super::headers::HEADERS;
use super::scan::Program;
use super::token::{Kind, Stream};
use rustc_hash::FxHashSet;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// What one region mentions.
#[derive(Default)]
struct Mentions {
    regions: Vec<usize>,
    synchronises: bool,
    loops: bool,
    constants: Vec<usize>,
}

/// The mentions of every region.
pub(crate) struct Reach {
    mentions: Vec<Mentions>,
    /// Regions of free operators.
    operators: Vec<usize>,
    /// Regions that are needed whatever is reached.
    always: Vec<usize>,
}

/// The words of our headers, and what a loop over a range calls. The first source of a new process waits for them.
static USUAL: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    let lines = HEADERS.iter().flat_map(|(_, text)| text.lines()).map(str::as_bytes);
    let code = lines.map(|line| &line[..line.windows(2).position(|two| two == b"//").unwrap_or(line.len())]);
    let words = code.flat_map(|code| code.split(|c| *c != b'_' && !c.is_ascii_alphanumeric()));
    words.filter_map(|word| str::from_utf8(word).ok()).chain(["begin", "end"]).collect()
});

/// What is reachable from some tokens.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    /// A function that makes threads wait for each other may be called.
    pub(crate) synchronises: bool,
    /// There may be a loop.
    pub(crate) loops: bool,
    /// Indices into the list of function constants, ascending.
    pub(crate) constants: Vec<usize>,
    /// Whether each region is reached.
    pub(crate) regions: Vec<bool>,
    /// Whether each region is needed to compile it.
    pub(crate) needed: Vec<bool>,
}

/// SIMD-group and quad-group functions and types (MSL 6.9.2 to 6.9.4) that need not be followed by `(`.
const SYNCHRONISING: [&str; 23] = [
    "threadgroup_barrier",
    "simdgroup_barrier",
    "simdgroup_matrix",
    "simdgroup_float8x8",
    "simdgroup_half8x8",
    "simdgroup_bfloat8x8",
    "simdgroup_load",
    "simdgroup_store",
    "simdgroup_multiply",
    "simdgroup_multiply_accumulate",
    "simdgroup_event",
    "simdgroup_async_copy",
    "make_filled_simdgroup_matrix",
    "simd_vote",
    "quad_vote",
    "simd_sum",
    "simd_max",
    "simd_min",
    "simd_shuffle",
    "simd_shuffle_down",
    "simd_shuffle_up",
    "simd_shuffle_xor",
    "simd_broadcast",
];

/// Whether the identifier at `i` may name something that makes threads wait for each other.
pub(super) fn synchronises(stream: &Stream, i: usize) -> bool {
    let word = stream.at(i);
    let family = word.starts_with("simd_")
        || word.starts_with("quad_")
        || word.starts_with("simdgroup_")
        || word.starts_with("make_filled_simdgroup");
    if word.starts_with("__metal_") {
        return ["simd", "quad", "barrier"].iter().any(|part| word.contains(part));
    }
    SYNCHRONISING.contains(&word)
        || (family && (stream.is(i + 1, "(") || stream.is(i + 1, "<") && template_call(stream, i + 1)))
        || (word.ends_with("_barrier") && stream.is(i + 1, "("))
}

/// `simd_sum<float>(`, as opposed to `simd_lane < n`.
fn template_call(stream: &Stream, open: usize) -> bool {
    stream.angle_close(open, stream.len()).is_some_and(|close| matches!(stream.at(close + 1), "(" | "::"))
}

impl Reach {
    /// `constants` maps the name of each function constant to its number; `removed` are the tokens of statements that clang does not see.
    pub(crate) fn new(
        stream: &Stream,
        program: &Program,
        constants: &HashMap<&str, usize>,
        removed: &[(usize, usize)],
    ) -> Self {
        let mut defining: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut operators = Vec::new();
        for (number, region) in program.regions.iter().enumerate() {
            for &name in &region.names {
                defining.entry(stream.at(name)).or_default().push(number);
                if stream.is(name, "operator") {
                    operators.push(number);
                }
            }
        }
        let mentions =
            program.regions.iter().map(|region| mentions(stream, region.range, &defining, constants)).collect();
        let mut outside = vec![true; stream.len()];
        for &(start, end) in program.regions.iter().map(|region| &region.range).chain(removed) {
            outside[start..(end + 1).min(stream.len())].fill(false);
        }
        let words = (0..stream.len()).filter(|&i| outside[i]).map(|i| stream.at(i));
        let always = words.chain(USUAL.iter().copied()).filter_map(|word| defining.get(word)).flatten().copied();
        let always = always.collect();
        Self { mentions, operators, always }
    }

    /// What the tokens of the given ranges reach.
    pub(crate) fn from(
        &self,
        stream: &Stream,
        program: &Program,
        ranges: &[(usize, usize)],
        constants: &HashMap<&str, usize>,
    ) -> Reached {
        let mut defining: HashMap<&str, Vec<usize>> = HashMap::new();
        let wanted: HashSet<&str> = ranges
            .iter()
            .flat_map(|&(start, end)| start..end)
            .filter(|&i| stream.is_ident(i))
            .map(|i| stream.at(i))
            .collect();
        for (number, region) in program.regions.iter().enumerate() {
            for &name in &region.names {
                if wanted.contains(stream.at(name)) {
                    defining.entry(stream.at(name)).or_default().push(number);
                }
            }
        }
        let mut reached = Reached::default();
        let mut seen = vec![false; self.mentions.len()];
        let mut open: Vec<usize> = self.operators.clone();
        for &range in ranges {
            let own = mentions(stream, range, &defining, constants);
            reached.synchronises |= own.synchronises;
            reached.loops |= own.loops;
            reached.constants.extend(own.constants);
            open.extend(own.regions);
        }
        while let Some(region) = open.pop() {
            if std::mem::replace(&mut seen[region], true) {
                continue;
            }
            let mentions = &self.mentions[region];
            reached.synchronises |= mentions.synchronises;
            reached.loops |= mentions.loops;
            reached.constants.extend(&mentions.constants);
            open.extend(&mentions.regions);
        }
        reached.regions = seen.clone();
        // What is reached is needed, and what is needed besides needs more.
        let mut needed = self.always.clone();
        while let Some(region) = needed.pop() {
            if !std::mem::replace(&mut seen[region], true) {
                needed.extend(&self.mentions[region].regions);
            }
        }
        reached.needed = seen;
        reached.constants.sort_unstable();
        reached.constants.dedup();
        reached
    }
}

fn mentions(
    stream: &Stream,
    (start, end): (usize, usize),
    defining: &HashMap<&str, Vec<usize>>,
    constants: &HashMap<&str, usize>,
) -> Mentions {
    let mut found = Mentions::default();
    let mut i = start;
    while i < end {
        // Attributes name no code, except the constant that switches an argument on.
        let attribute = stream.attribute(i);
        let range = i..attribute.unwrap_or(i + 1);
        for j in range.clone() {
            if stream.kind(j) != Some(Kind::Ident) {
                continue;
            }
            let word = stream.at(j);
            if let Some(&constant) = constants.get(word) {
                found.constants.push(constant);
            }
            if attribute.is_none() {
                found.loops |= matches!(word, "for" | "while");
                found.synchronises |= synchronises(stream, j);
            }
            if let Some(regions) = defining.get(word) {
                found.regions.extend(regions);
            }
        }
        i = range.end;
    }
    found.regions.sort_unstable();
    found.regions.dedup();
    found.constants.sort_unstable();
    found.constants.dedup();
    found
}
