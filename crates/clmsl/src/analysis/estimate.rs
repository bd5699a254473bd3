//! What an access costs a device, estimated from its pattern: how much of what memory moves is used, and how often banks are asked twice.
//!
//! Lanes are neighbours in the sense of [`AccessPattern`], which run in step; the first of them is taken to begin where a segment, or bank 0,
//! begins. Caches are not modelled.

use std::collections::{BTreeMap, BTreeSet};

use super::access::{AccessPattern, MemoryAccess};

/// More lanes than any device runs in step.
const MOST_LANES: u32 = 1024;
/// More bytes than one lane reads or writes at once, but for copies of structures.
const MOST_BYTES: u64 = 1 << 16;

impl MemoryAccess {
    /// Where each lane's access begins, from that of the first; `None` where the pattern does not tell.
    fn starts(&self, lanes: u32) -> Option<Vec<i128>> {
        let step = match self.pattern {
            AccessPattern::Uniform => 0,
            AccessPattern::Contiguous => i128::from(self.bytes),
            AccessPattern::Strided(step) => i128::from(step),
            AccessPattern::Even | AccessPattern::Gather | AccessPattern::Unknown => return None,
        };
        let known = (1..=MOST_BYTES).contains(&self.bytes) && (1..=MOST_LANES).contains(&lanes);
        known.then(|| (0..i128::from(lanes)).map(|lane| lane * step).collect())
    }

    /// What part of the bytes that memory moves in whole segments is used when so many lanes do this access at once: from near 0 to 1, which
    /// it has for contiguous accesses of whole segments. `None` where the pattern or the number of bytes is not known.
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
    pub fn used_part(&self, lanes: u32, segment: u64) -> Option<f64> {
        let (segment, bytes) = (i128::from(segment.max(1)), i128::from(self.bytes));
        let starts = self.starts(lanes)?;
        let (mut segments, mut used) = (BTreeSet::new(), 0);
        // Bytes that several lanes use count once.
        let mut end = i128::MIN;
        let mut sorted = starts;
        sorted.sort_unstable();
        for start in sorted {
            used += start + bytes - start.max(end);
            end = start + bytes;
            segments.extend(start.div_euclid(segment)..=(end - 1).div_euclid(segment));
        }
        Some(used as f64 / (segments.len() as i128 * segment) as f64)
    }

    /// How many segments so many lanes touch that do this access at once, at least and at most: it depends on where the first of them begins, which may be any
    /// multiple of the largest power of two that the access's bytes and its step are multiples of. `None` where the pattern or the number of bytes is
    /// not known.
    ///
    /// ```
    /// let source = "kernel void k(global float* x, global float* y) { y[get_global_id(0)] = x[8 * get_global_id(0)]; }";
    /// let translation = clmsl::translate("k.cl", source, &clmsl::Options::default());
    /// let accesses = &translation.analysis.kernel("k").unwrap().accesses;
    /// let segments: Vec<_> = accesses.iter().map(|access| access.segments(32, 128)).collect();
    /// assert_eq!(segments, [Some((1, 2)), Some((8, 9))]); // 128 bytes of y in a row, and of x a float of every 32 bytes
    /// ```
    pub fn segments(&self, lanes: u32, segment: u64) -> Option<(u64, u64)> {
        let (starts, segment) = (self.starts(lanes)?, i128::from(segment.max(1)));
        let count = |offset| pieces(&starts, self.bytes, offset, segment).len() as u64;
        Some(extremes(self.offsets(&starts, segment).map(count)))
    }

    /// How many words lie in the bank that most of the lanes' words lie in, at least and at most, in memory of so many banks, each of `width` bytes; as in
    /// [`MemoryAccess::segments`].
    pub fn bank_words(&self, lanes: u32, banks: u32, width: u64) -> Option<(u64, u64)> {
        let (starts, banks, width) = (self.starts(lanes)?, i128::from(banks.max(1)), i128::from(width.max(1)));
        let most = |offset| {
            let mut asked: BTreeMap<i128, u64> = BTreeMap::new();
            let words = pieces(&starts, self.bytes, offset, width);
            words.iter().for_each(|word| *asked.entry(word.rem_euclid(banks)).or_default() += 1);
            asked.values().copied().max().unwrap_or(0)
        };
        Some(extremes(self.offsets(&starts, width).map(most)))
    }

    /// Where in a piece of this size the first lane's access may begin.
    fn offsets(&self, starts: &[i128], piece: i128) -> impl Iterator<Item = i128> {
        let step = starts.get(1).zip(starts.first()).map_or(0, |(second, first)| second - first);
        let unit = 1i128 << (i128::from(self.bytes) | step).trailing_zeros().min(64);
        (0..piece).step_by(usize::try_from(unit).unwrap_or(usize::MAX))
    }

    /// How many times as long the access takes as one without conflicts, when so many lanes do it at once in memory of so many banks, each of
    /// `width` bytes: 1 when no bank is asked for more words than it has to be. Lanes that ask for the same word share it. `None` where the
    /// pattern or the number of bytes is not known.
    ///
    /// Most GPUs have 32 banks of 4 bytes (NVIDIA, "CUDA C++ Programming Guide", Shared Memory; Apple publishes no number).
    pub fn bank_conflicts(&self, lanes: u32, banks: u32, width: u64) -> Option<f64> {
        let (banks, width, bytes) = (i128::from(banks.max(1)), i128::from(width.max(1)), i128::from(self.bytes));
        let mut words: BTreeSet<i128> = BTreeSet::new();
        for start in self.starts(lanes)? {
            words.extend(start.div_euclid(width)..=(start + bytes - 1).div_euclid(width));
        }
        let mut asked: BTreeMap<i128, usize> = BTreeMap::new();
        words.iter().for_each(|word| *asked.entry(word.rem_euclid(banks)).or_default() += 1);
        let most = asked.values().copied().max().unwrap_or(1);
        Some(most as f64 / words.len().div_ceil(banks as usize) as f64)
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
}
