//! [`Hazards`]: which launches of a concurrent encoder must wait for which, from the bytes that they read and write.
//!
//! A concurrent encoder (`MTLDispatchTypeConcurrent`) may run its dispatches at the same time and in any order, except that
//! a memory barrier keeps those before it apart from those behind it. One is due exactly where a launch reads what another
//! has written since the last barrier, or writes what another has read or written: the same bytes of the same memory,
//! so that views which share nothing do not wait for each other. A texture counts as a whole.
//!
//! Barriers have a scope, buffers or textures (`MTLBarrierScope`), and each scope forgets on its own.
//! What an encoder wrote is kept apart from what later encoders do by Metal itself, which tracks the hazards of all our memory: "prevents
//! subsequent commands from running until write operations complete" (Apple, `MTLHazardTrackingMode`).
//! <https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/memorybarrier(scope:)>

use std::ops::Range;

use rustc_hash::FxHashMap;

/// What a launch does with a part of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    /// Which memory: the address of its `Allocation`, which the batch keeps.
    pub(crate) memory: usize,
    /// In bytes; not empty.
    pub(crate) bytes: Range<usize>,
    pub(crate) scope: Scope,
    pub(crate) writes: bool,
}

/// Kinds of resources, bits of `MTLBarrierScope`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope(u8);

impl Scope {
    pub(crate) const NONE: Scope = Scope(0);
    pub(crate) const BUFFERS: Scope = Scope(1);
    pub(crate) const TEXTURES: Scope = Scope(2);
    pub(crate) const ALL: Scope = Scope(3);

    pub(crate) fn has(self, other: Scope) -> bool {
        self.0 & other.0 != 0
    }

    fn with(self, other: Scope) -> Scope {
        Scope(self.0 | other.0)
    }
}

/// What was touched since the last barriers of an encoder.
#[derive(Default)]
pub(crate) struct Hazards {
    memories: FxHashMap<usize, Touched>,
    /// How many barriers there were, of each scope.
    barriers: [u64; 2],
}

/// Of one memory.
#[derive(Default)]
struct Touched {
    /// The number of barriers when this was noted; after a further one it counts for nothing.
    barriers: u64,
    reads: Ranges,
    writes: Ranges,
}

impl Hazards {
    /// The barrier that a launch needs before it.
    pub(crate) fn barrier_for(&self, touches: impl Iterator<Item = Touch>) -> Scope {
        touches.fold(Scope::NONE, |scope, touch| match self.conflicts(&touch) {
            true => scope.with(touch.scope),
            false => scope,
        })
    }

    fn conflicts(&self, touch: &Touch) -> bool {
        let Some(touched) = self.memories.get(&touch.memory) else { return false };
        touched.barriers == self.barriers_of(touch.scope)
            && (touched.writes.overlap(&touch.bytes) || touch.writes && touched.reads.overlap(&touch.bytes))
    }

    /// There is a barrier now.
    pub(crate) fn barrier(&mut self, scope: Scope) {
        for (at, of) in [Scope::BUFFERS, Scope::TEXTURES].into_iter().enumerate() {
            self.barriers[at] += u64::from(scope.has(of));
        }
    }

    /// There is a launch now that touches this.
    pub(crate) fn note(&mut self, touch: Touch) {
        let barriers = self.barriers_of(touch.scope);
        let touched = self.memories.entry(touch.memory).or_default();
        if touched.barriers != barriers {
            touched.barriers = barriers;
            touched.reads.0.clear();
            touched.writes.0.clear();
        }
        let ranges = if touch.writes { &mut touched.writes } else { &mut touched.reads };
        ranges.add(touch.bytes);
    }

    /// What was noted of buffers since the last barrier, the same bytes once.
    pub(crate) fn touched(&self) -> Vec<Touch> {
        let barriers = self.barriers_of(Scope::BUFFERS);
        let touched = self.memories.iter().filter(|(_, touched)| touched.barriers == barriers);
        let both = touched.flat_map(|(&memory, touched)| {
            [(&touched.reads, false), (&touched.writes, true)].map(|(ranges, writes)| (memory, ranges, writes))
        });
        both.flat_map(|(memory, ranges, writes)| {
            ranges.0.iter().map(move |bytes| Touch { memory, bytes: bytes.clone(), scope: Scope::BUFFERS, writes })
        })
        .collect()
    }

    /// How many barriers there were, of buffers and of textures.
    #[cfg(test)]
    pub(super) fn barriers(&self) -> [u64; 2] {
        self.barriers
    }

    fn barriers_of(&self, scope: Scope) -> u64 {
        self.barriers[usize::from(scope == Scope::TEXTURES)]
    }
}

/// A set of bytes: ranges in order, with a gap before each but the first. Views side by side are one range.
#[derive(Default)]
struct Ranges(Vec<Range<usize>>);

impl Ranges {
    fn overlap(&self, bytes: &Range<usize>) -> bool {
        let at = self.0.partition_point(|range| range.end <= bytes.start);
        self.0.get(at).is_some_and(|range| range.start < bytes.end)
    }

    fn add(&mut self, bytes: Range<usize>) {
        let first = self.0.partition_point(|range| range.end < bytes.start);
        let end = first + self.0[first..].partition_point(|range| range.start <= bytes.end);
        if first == end {
            self.0.insert(first, bytes);
            return;
        }
        let joined = self.0[first].start.min(bytes.start)..self.0[end - 1].end.max(bytes.end);
        self.0[first] = joined;
        self.0.drain(first + 1..end);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn ranges() -> impl Strategy<Value = Range<usize>> {
        (0usize..60, 1usize..12).prop_map(|(start, len)| start..start + len)
    }

    fn touches() -> impl Strategy<Value = Vec<Touch>> {
        let one = (0usize..5, ranges(), any::<bool>()).prop_map(|(memory, bytes, writes)| Touch {
            memory,
            // The last is a texture.
            bytes: if memory == 4 { 0..usize::MAX } else { bytes },
            scope: if memory == 4 { Scope::TEXTURES } else { Scope::BUFFERS },
            writes,
        });
        vec(one, 0..5)
    }

    proptest! {
        #[test]
        fn ranges_are_the_set_of_their_bytes(added in vec(ranges(), 0..30), asked in ranges()) {
            let (mut set, mut bytes) = (Ranges::default(), [false; 80]);
            for range in added {
                bytes[range.clone()].fill(true);
                set.add(range);
                prop_assert!(set.0.is_sorted_by(|a, b| a.end < b.start), "{:?}", set.0);
                prop_assert_eq!(set.0.iter().map(|range| range.len()).sum::<usize>(), bytes.iter().filter(|b| **b).count());
            }
            prop_assert_eq!(set.overlap(&asked), bytes[asked].contains(&true));
        }

        /// Against every pair of launches: a barrier between two that conflict, and none that no pair needs.
        #[test]
        fn barriers_are_where_launches_conflict_and_nowhere_else(launches in vec(touches(), 0..40)) {
            let conflict = |a: &Touch, b: &Touch| {
                let meet = a.memory == b.memory && a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end;
                meet && (a.writes || b.writes)
            };
            let mut hazards = Hazards::default();
            // Of each launch, the barriers of buffers and of textures before it.
            let mut before: Vec<[usize; 2]> = Vec::new();
            let mut count = [0, 0];
            for (at, launch) in launches.iter().enumerate() {
                let barrier = hazards.barrier_for(launch.iter().cloned());
                hazards.barrier(barrier);
                for (which, scope) in [Scope::BUFFERS, Scope::TEXTURES].into_iter().enumerate() {
                    let since_last = (0..at).filter(|earlier| before[*earlier][which] == count[which]);
                    let needed = since_last.into_iter().any(|earlier| {
                        let pairs = launches[earlier].iter().flat_map(|a| launch.iter().map(move |b| (a, b)));
                        pairs.into_iter().any(|(a, b)| a.scope == scope && conflict(a, b))
                    });
                    prop_assert_eq!(barrier.has(scope), needed, "launch {}", at);
                    count[which] += usize::from(barrier.has(scope));
                }
                before.push(count);
                launch.iter().cloned().for_each(|touch| hazards.note(touch));
            }
        }
    }
}
