//! What an access costs a device, estimated from its patterns: how much of what memory moves is used, and how often banks are asked twice.
//!
//! Lanes run in step; what they touch depends on where in their work-group they are. If it is not known how far apart its rows or planes lie, an estimate
//! has the least and the most that there can be: rows that touch the same, and rows that share nothing. Caches are not modelled.

use std::collections::{BTreeMap, BTreeSet};

use super::access::{AccessPattern, MemoryAccess};

/// More lanes than any device runs in step.
const MOST_LANES: u32 = 1024;
/// More work-items than any work-group of Metal has.
const MOST_ITEMS: u64 = 1024;
/// More bytes than one lane reads or writes at once, but for copies of structures.
const MOST_BYTES: u64 = 1 << 16;

/// Work-items of one group that run in step: a sub-group, which Metal calls a SIMD-group.
///
/// Sub-groups have consecutive work-items in linear order, dimension 0 first (MSL specification, 5.2.3.6 "Compute Function Input Attributes",
/// `thread_index_in_threadgroup`): in a work-group of 8 x 8 one of 32 has four rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    count: u32,
    group: [u64; 3],
}

impl From<u32> for Lanes {
    /// So many in a row.
    fn from(count: u32) -> Lanes {
        Lanes::of(count, [count.into(), 1, 1])
    }
}

/// Where lanes are, seen from the first of them.
type Positions = Vec<[i128; 3]>;

impl Lanes {
    /// So many of a work-group of this size; of a smaller one all.
    pub fn of(count: u32, group: [u64; 3]) -> Lanes {
        Lanes { count, group: group.map(|extent| extent.max(1)) }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        let [x, y, z] = self.group;
        x.saturating_mul(y).saturating_mul(z).min(self.count.into())
    }

    /// Whether the ids of some of them differ in this dimension.
    pub fn differ_in(&self, dimension: usize) -> bool {
        self.positions().keys().flatten().any(|position| position.get(dimension).is_some_and(|at| *at != 0))
    }

    /// Those of the work-group's whole sub-groups, and how many sub-groups lie so.
    fn positions(&self) -> BTreeMap<Positions, u64> {
        let [x, y, z] = self.group;
        let (plane, count) = (x.saturating_mul(y), self.count());
        let at = |item: u64| [item % x, item / x % y, item / plane].map(i128::from);
        let mut all = BTreeMap::new();
        let starts = (0..plane.saturating_mul(z).min(MOST_ITEMS)).step_by(usize::try_from(count).unwrap_or(1).max(1));
        for start in starts.filter(|start| start + count <= plane.saturating_mul(z)) {
            let first = at(start);
            let of = |item| std::array::from_fn(|dimension| at(item)[dimension] - first[dimension]);
            *all.entry((start..start + count).map(of).collect()).or_default() += 1;
        }
        all
    }
}

/// How many bytes there are from a neighbour to the next; `None` where the pattern does not tell.
fn step(pattern: AccessPattern, bytes: u64) -> Option<i128> {
    match pattern {
        AccessPattern::Uniform => Some(0),
        AccessPattern::Contiguous => Some(i128::from(bytes)),
        AccessPattern::Strided(step) => Some(i128::from(step)),
        AccessPattern::Even | AccessPattern::Gather | AccessPattern::Unknown => None,
    }
}

/// Of one sub-group: where its lanes' accesses begin, those apart whose distance is not known.
type Parts = Vec<Vec<i128>>;

impl MemoryAccess {
    /// By how much neighbours in each dimension are apart.
    fn steps(&self) -> [Option<i128>; 3] {
        let others = [self.pattern_y, self.pattern_z].map(|other| other.unwrap_or(AccessPattern::Uniform));
        [self.pattern, others[0], others[1]].map(|pattern| step(pattern, self.bytes))
    }

    /// Whether it is known how far apart rows and planes of the lanes lie; else what is estimated of them is between what and what it is.
    pub fn is_told(&self, lanes: impl Into<Lanes>) -> bool {
        let (steps, lanes) = (self.steps(), lanes.into());
        (1..3).all(|dimension| steps[dimension].is_some() || !lanes.differ_in(dimension))
    }

    /// Of each kind of sub-group, with their number; `None` where the pattern in dimension 0 does not tell.
    fn parts(&self, lanes: Lanes) -> Option<Vec<(Parts, u64)>> {
        if !(1..=MOST_BYTES).contains(&self.bytes) || !(1..=MOST_LANES).contains(&lanes.count) {
            return None;
        }
        let steps = self.steps();
        let of = |(positions, times): (Positions, u64)| {
            let mut parts: BTreeMap<[i128; 3], Vec<i128>> = BTreeMap::new();
            for position in positions {
                let (mut unknown, mut start) = ([0; 3], 0);
                for (dimension, at) in position.into_iter().enumerate() {
                    match steps[dimension] {
                        Some(step) => start += at * step,
                        None => unknown[dimension] = at,
                    }
                }
                if unknown[0] != 0 {
                    return None;
                }
                parts.entry(unknown).or_default().push(start);
            }
            Some((parts.into_values().collect(), times))
        };
        lanes.positions().into_iter().map(of).collect()
    }

    /// What part of the bytes that memory moves in whole segments is used when so many lanes do this access at once: from near 0 to 1, which
    /// it has for contiguous accesses of whole segments. `None` where the pattern or the number of bytes is not known; where only that in dimension 1 or 2 is
    /// not, it is the most there can be. The first lane is taken to begin where a segment does.
    ///
    /// A segment is what the device's memory moves at least, 32 to 128 bytes on most. A uniform access counts the bytes of one lane.
    ///
    /// ```
    /// let source = "kernel void k(global float* x, global float* y) { y[get_global_id(0)] = x[8 * get_global_id(0)]; }";
    /// let translation = clmsl::translate("k.cl", source, &clmsl::Options::default());
    /// let accesses = &translation.analysis.kernel("k").unwrap().accesses;
    /// let used: Vec<_> = accesses.iter().map(|access| access.used_part(32, 64)).collect();
    /// assert_eq!(used, [Some(1.0), Some(0.125)]); // of y all, of x 4 bytes of every 32
    /// ```
    pub fn used_part(&self, lanes: impl Into<Lanes>, segment: u64) -> Option<f64> {
        let (size, bytes) = (i128::from(segment.max(1)), i128::from(self.bytes));
        let (mut used, mut moved) = (0.0, 0.0);
        for (parts, times) in self.parts(lanes.into())? {
            let asked: i128 = parts.iter().map(|starts| covered(starts, bytes)).sum();
            let segments = match &parts[..] {
                [starts] => pieces(starts, self.bytes, 0, size).len() as u64,
                parts => together(parts.iter().map(|starts| self.touched(starts, size))).0,
            };
            used += times as f64 * asked as f64;
            moved += times as f64 * segments as f64 * size as f64;
        }
        Some((used / moved).min(1.0))
    }

    /// How many segments so many lanes touch that do this access at once, at least and at most: it depends on where the first of them begins, which may be any
    /// multiple of the largest power of two that the access's bytes and the distances are multiples of, and on the sub-group, if those of a work-group lie differently.
    /// `None` where the pattern or the number of bytes is not known; a distance in dimension 1 or 2 that is not may be any.
    ///
    /// ```
    /// let source = "kernel void k(global float* x, global float* y) { y[get_global_id(0)] = x[8 * get_global_id(0)]; }";
    /// let translation = clmsl::translate("k.cl", source, &clmsl::Options::default());
    /// let accesses = &translation.analysis.kernel("k").unwrap().accesses;
    /// let segments: Vec<_> = accesses.iter().map(|access| access.segments(32, 128)).collect();
    /// assert_eq!(segments, [Some((1, 2)), Some((8, 9))]); // 128 bytes of y in a row, and of x a float of every 32 bytes
    ///
    /// let rows = "kernel void k(global float* y) { y[get_global_id(1) * 1024 + get_global_id(0)] = 0; }";
    /// let translation = clmsl::translate("k.cl", rows, &clmsl::Options::default());
    /// let access = &translation.analysis.kernel("k").unwrap().accesses[0];
    /// assert_eq!(access.segments(clmsl::Lanes::of(32, [8, 8, 1]), 128), Some((4, 8))); // four rows of 32 bytes
    /// ```
    pub fn segments(&self, lanes: impl Into<Lanes>, segment: u64) -> Option<(u64, u64)> {
        let size = i128::from(segment.max(1));
        self.extremes(lanes.into(), |starts| self.touched(starts, size))
    }

    /// How many words lie in the bank that most of the lanes' words lie in, at least and at most, in memory of so many banks, each of `width` bytes; as in
    /// [`MemoryAccess::segments`].
    pub fn bank_words(&self, lanes: impl Into<Lanes>, banks: u32, width: u64) -> Option<(u64, u64)> {
        let (banks, width) = (i128::from(banks.max(1)), i128::from(width.max(1)));
        let most = |starts: &[i128], offset| fullest(&pieces(starts, self.bytes, offset, width), banks);
        self.extremes(lanes.into(), |starts| extremes(self.offsets(starts, width).map(|offset| most(starts, offset))))
    }

    /// The least and the most of all sub-groups, each by its parts.
    fn extremes(&self, lanes: Lanes, of: impl Fn(&[i128]) -> (u64, u64)) -> Option<(u64, u64)> {
        let groups = self.parts(lanes)?.into_iter().map(|(parts, _)| together(parts.iter().map(|starts| of(starts))));
        Some(groups.fold((u64::MAX, 0), |(least, most), (low, high)| (least.min(low), most.max(high))))
    }

    /// How many pieces of this size they touch, at least and at most.
    fn touched(&self, starts: &[i128], size: i128) -> (u64, u64) {
        extremes(self.offsets(starts, size).map(|offset| pieces(starts, self.bytes, offset, size).len() as u64))
    }

    /// Where in a piece of this size the first lane's access may begin.
    fn offsets(&self, starts: &[i128], piece: i128) -> impl Iterator<Item = i128> {
        let first = starts.first().copied().unwrap_or(0);
        let bits = starts.iter().fold(i128::from(self.bytes), |bits, start| bits | (start - first));
        let unit = 1i128 << bits.trailing_zeros().min(64);
        (0..piece).step_by(usize::try_from(unit).unwrap_or(usize::MAX)).map(move |offset| offset - first)
    }

    /// How many times as long the access takes as one without conflicts, when so many lanes do it at once in memory of so many banks, each of
    /// `width` bytes: 1 when no bank is asked for more words than it has to be; of the sub-group that takes longest. Lanes that ask for the same word share it. `None` where
    /// the pattern, in any dimension in which lanes differ, or the number of bytes is not known.
    ///
    /// Most GPUs have 32 banks of 4 bytes (NVIDIA, "CUDA C++ Programming Guide", Shared Memory; Apple publishes no number).
    pub fn bank_conflicts(&self, lanes: impl Into<Lanes>, banks: u32, width: u64) -> Option<f64> {
        let (banks, width) = (i128::from(banks.max(1)), i128::from(width.max(1)));
        let mut worst: f64 = 1.0;
        for (parts, _) in self.parts(lanes.into())? {
            let [starts] = &parts[..] else { return None };
            let words = pieces(starts, self.bytes, 0, width);
            worst = worst.max(fullest(&words, banks) as f64 / words.len().div_ceil(banks as usize) as f64);
        }
        Some(worst)
    }
}

/// The pieces of this size that accesses of so many bytes touch.
fn pieces(starts: &[i128], bytes: u64, offset: i128, size: i128) -> BTreeSet<i128> {
    let touched = |start: &i128| {
        let start = start + offset;
        start.div_euclid(size)..=(start + i128::from(bytes) - 1).div_euclid(size)
    };
    starts.iter().flat_map(touched).collect()
}

/// How many words lie in the bank with most of them.
fn fullest(words: &BTreeSet<i128>, banks: i128) -> u64 {
    let mut asked: BTreeMap<i128, u64> = BTreeMap::new();
    words.iter().for_each(|word| *asked.entry(word.rem_euclid(banks)).or_default() += 1);
    asked.values().copied().max().unwrap_or(0)
}

/// How many bytes accesses use; those that several use count once.
fn covered(starts: &[i128], bytes: i128) -> i128 {
    let (mut sorted, mut used, mut end) = (starts.to_vec(), 0, i128::MIN);
    sorted.sort_unstable();
    for start in sorted {
        used += start + bytes - start.max(end);
        end = start + bytes;
    }
    used
}

/// Of parts whose distance nobody knows: as few as the one with most, as many as all.
fn together(parts: impl Iterator<Item = (u64, u64)>) -> (u64, u64) {
    parts.fold((0, 0), |(least, most), (low, high)| (least.max(low), most + high))
}

fn extremes(numbers: impl Iterator<Item = u64>) -> (u64, u64) {
    numbers.fold((u64::MAX, 0), |(least, most), number| (least.min(number), most.max(number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reflect::AddressSpace;
    use crate::source::Span;

    fn access(bytes: u64, pattern: AccessPattern) -> MemoryAccess {
        let (address_space, span) = (AddressSpace::Global, Span::default());
        MemoryAccess {
            argument: None,
            address_space,
            reads: true,
            writes: false,
            bytes,
            pattern,
            pattern_y: None,
            pattern_z: None,
            span,
        }
    }

    use AccessPattern::{Contiguous, Even, Gather, Strided, Uniform, Unknown};

    #[test]
    fn of_each_segment_the_bytes_that_lanes_ask_for_are_used() {
        let cases = [
            (4, Contiguous, Some(1.0)),
            (1, Contiguous, Some(0.5)),
            (4, Uniform, Some(4.0 / 64.0)),
            (4, Strided(-4), Some(128.0 / 192.0)),
            // Of every 8 bytes 4; of every line of 64 one float.
            (4, Strided(8), Some(0.5)),
            (4, Strided(64), Some(1.0 / 16.0)),
            (4, Strided(4096), Some(1.0 / 16.0)),
            // Overlapping windows of 16 bytes: 31 * 4 + 16 bytes in 3 lines.
            (16, Strided(4), Some(140.0 / 192.0)),
            (12, Strided(16), Some(0.75)),
            // Across lines' ends: 31 * 60 + 8 bytes are 30 lines.
            (8, Strided(60), Some(256.0 / (30.0 * 64.0))),
            (4, Even, None),
            (4, Gather, None),
            (4, Unknown, None),
            (0, Strided(4), None),
        ];
        for (bytes, pattern, expected) in cases {
            assert_eq!(access(bytes, pattern).used_part(32, 64), expected, "{bytes} bytes {pattern}");
        }
    }

    #[test]
    fn where_lanes_begin_decides_how_much_they_touch() {
        let cases = [
            // 128 bytes in a row are in one line or two.
            (4, Contiguous, Some((1, 2)), Some((1, 1))),
            (16, Contiguous, Some((4, 5)), Some((4, 4))),
            (4, Uniform, Some((1, 1)), Some((1, 1))),
            (4, Strided(-4), Some((1, 2)), Some((1, 1))),
            (4, Strided(8), Some((2, 3)), Some((2, 2))),
            (4, Strided(128), Some((32, 32)), Some((32, 32))),
            (4, Strided(132), Some((32, 32)), Some((1, 1))),
            // 384 bytes in a row, each lane's 12 at a multiple of 4.
            (12, Contiguous, Some((3, 4)), Some((3, 3))),
            (1, Contiguous, Some((1, 2)), Some((1, 1))),
            // 28 bytes at a multiple of 4 may lie across the end of a line.
            (28, Uniform, Some((1, 2)), Some((1, 1))),
            (4, Gather, None, None),
        ];
        for (bytes, pattern, lines, words) in cases {
            assert_eq!(access(bytes, pattern).segments(32, 128), lines, "{bytes} bytes {pattern}");
            assert_eq!(access(bytes, pattern).bank_words(32, 32, 4), words, "{bytes} bytes {pattern}");
        }
    }

    #[test]
    fn banks_are_asked_as_often_as_their_words_lie_in_them() {
        let cases = [
            (4, Contiguous, Some(1.0)),
            (4, Uniform, Some(1.0)),
            (4, Strided(8), Some(2.0)),
            (4, Strided(64), Some(16.0)),
            (4, Strided(128), Some(32.0)),
            // A column of a tile with a word more in each row.
            (4, Strided(132), Some(1.0)),
            (4, Strided(12), Some(1.0)),
            // float4: 128 words in 32 banks, four rounds that nothing can save.
            (16, Contiguous, Some(1.0)),
            (16, Strided(32), Some(2.0)),
            // Four lanes share a word.
            (1, Contiguous, Some(1.0)),
            (2, Strided(2), Some(1.0)),
            (4, Gather, None),
        ];
        for (bytes, pattern, expected) in cases {
            assert_eq!(access(bytes, pattern).bank_conflicts(32, 32, 4), expected, "{bytes} bytes {pattern}");
        }
    }

    #[test]
    fn lanes_of_several_rows_touch_what_all_of_them_do() {
        let of = |y, z| MemoryAccess { pattern_y: Some(y), pattern_z: Some(z), ..access(4, Contiguous) };
        let cases = [
            // Two rows of 64 bytes: behind one another, in the same banks, by a line and a bank apart.
            ([16, 16, 1], of(Strided(64), Uniform), (1, 2), (1, 1)),
            ([16, 16, 1], of(Strided(128), Uniform), (2, 3), (2, 2)),
            ([16, 16, 1], of(Strided(132), Uniform), (2, 3), (2, 2)),
            // Four, the same for all.
            ([8, 8, 1], of(Uniform, Uniform), (1, 2), (1, 1)),
            // Whole rows.
            ([32, 2, 1], of(Strided(4096), Unknown), (1, 2), (1, 1)),
            ([64, 4, 1], of(Unknown, Unknown), (1, 2), (1, 1)),
            // 12, 12 and 8, or 4, 12, 12 and 4, or 8, 12 and 12 of a row.
            ([12, 8, 1], of(Strided(4096), Uniform), (3, 7), (3, 3)),
            // Two planes of four rows.
            ([4, 4, 4], of(Strided(128), Strided(512)), (8, 9), (8, 8)),
            ([4, 4, 4], of(Strided(16), Strided(64)), (1, 2), (1, 1)),
            ([4, 4, 4], of(Strided(16), Unknown), (1, 4), (1, 2)),
            // Four rows of which each may be anywhere.
            ([8, 8, 1], of(Even, Uniform), (1, 8), (1, 4)),
            ([8, 8, 1], of(Gather, Uniform), (1, 8), (1, 4)),
            // Neighbours in x there are none.
            ([1, 64, 1], MemoryAccess { pattern: Unknown, ..of(Strided(256), Uniform) }, (32, 32), (32, 32)),
        ];
        for (group, access, lines, words) in cases {
            let lanes = Lanes::of(32, group);
            assert_eq!(access.segments(lanes, 128), Some(lines), "{access:?} in {group:?}");
            assert_eq!(access.bank_words(lanes, 32, 4), Some(words), "{access:?} in {group:?}");
        }
        let used = |group, access: MemoryAccess| access.used_part(Lanes::of(32, group), 128);
        assert_eq!(used([8, 8, 1], of(Strided(128), Uniform)), Some(0.25));
        // All of one line, if the rows are behind one another.
        assert_eq!(used([8, 8, 1], of(Even, Uniform)), Some(1.0));
        assert_eq!(used([8, 8, 1], MemoryAccess { pattern: Strided(128), ..of(Even, Uniform) }), Some(0.125));
        assert_eq!(used([8, 8, 1], MemoryAccess { pattern: Even, ..of(Uniform, Uniform) }), None);
        let conflicts = |access: MemoryAccess| access.bank_conflicts(Lanes::of(32, [16, 16, 1]), 32, 4);
        assert_eq!((conflicts(of(Strided(128), Uniform)), conflicts(of(Even, Uniform))), (Some(2.0), None));
    }
}
