//! The threadgroup of a launch that names none, for a kernel that requires none and was not measured.
//!
//! Apple's advice ("Calculating threadgroup and grid sizes") comes first: the kernel's limit of threads in one dimension, in more the execution
//! width by what it leaves of that limit. What the kernel's analysis finds changes it by two rules, both only where results cannot depend on the
//! size. What they gain, and what was tried beside them, is in docs/PERFORMANCE.md, "Threadgroup sizes".
//!
//! 1. The last threadgroups of an OpenCL C 1.2 kernel may be partial where it cannot see that they are: the advice stays what it is for grids
//!    that no good size divides. "This ensures that you have no underutilized threads" (Apple, there, of partial threadgroups).
//! 2. Where a thread has much work, there are enough threadgroups for every core of a GPU, or processor, to have some: a threadgroup runs on one
//!    (docs/PERFORMANCE.md, "Speed of graphs").

use crate::Size;

/// Threadgroups for each core, so that some may last longer than others.
const EACH: u64 = 4;
/// Cores that a GPU of Apple's is taken to have, which Metal does not tell: from 4 to 80.
const CORES: u64 = 16;
/// Execution widths that a threadgroup has at least: tiles of hostmetal's loops are as wide (docs/HOSTMETAL.md, "Loops or stacks").
const LEAST_WIDTHS: u64 = 2;

/// What a size is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Threads of the grid.
    pub(super) threads: Size,
    /// The most threads that a threadgroup can have.
    pub(super) most: u64,
    /// The device's limit of each side.
    pub(super) sides: Size,
    /// Threads that run in step.
    pub(super) width: u64,
    /// Each side has to divide the grid's.
    pub(super) whole: bool,
    /// Threads have much work, and results do not depend on the size. It counts where threadgroups need not be whole.
    pub(super) spread: bool,
    /// As many threadgroups as there shall be then.
    pub(super) enough: u64,
}

/// As many threadgroups as keep all cores busy: processors, of which hostmetal's devices are made, or a GPU's.
pub(super) fn enough() -> u64 {
    let cores = match cfg!(target_os = "linux") {
        true => std::thread::available_parallelism().map_or(1, |processors| processors.get() as u64),
        false => CORES,
    };
    cores.saturating_mul(EACH)
}

/// The size, and whether it is smaller than Apple's advice so that there are more threadgroups.
pub(super) fn advise(wanted: &Wanted) -> (Size, bool) {
    let &Wanted { threads, most, width, whole, spread, enough, .. } = wanted;
    let advised = filled(wanted, most);
    let Some(all) = threads.volume().filter(|_| spread && !whole) else { return (advised, false) };
    let least = (width * LEAST_WIDTHS).min(most);
    let smaller = filled(wanted, (all / enough).next_multiple_of(width).clamp(least, most));
    if smaller.volume() < advised.volume() { (smaller, true) } else { (advised, false) }
}

/// Apple's advice for so many threads.
fn filled(wanted: &Wanted, most: u64) -> Size {
    let &Wanted { threads, sides, width, whole, .. } = wanted;
    if threads.y == 1 && threads.z == 1 {
        return Size { x: side(threads.x, most.min(sides.x), whole), y: 1, z: 1 };
    }
    let x = side(threads.x, width.min(most).min(sides.x), whole);
    let y = side(threads.y, (most / x).min(sides.y), whole);
    let z = side(threads.z, (most / (x * y)).min(sides.z), whole);
    Size { x, y, z }
}

/// The longest side of a threadgroup within so much room, for so many threads; one that divides them where it must.
pub(super) fn side(threads: u64, room: u64, divides: bool) -> u64 {
    let room = room.min(threads).max(1);
    if !divides {
        return room;
    }
    (1..=room).rev().find(|candidate| threads.is_multiple_of(*candidate)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads, whether whole, whether spread; the size, and whether it was made smaller.
    type Case = ([u64; 3], bool, bool, [u64; 3], bool);

    /// For a limit of 1024 threads, 64 in z, and a width of 32.
    const CASES: &[Case] = &[
        // Apple's advice.
        ([5, 1, 1], false, false, [5, 1, 1], false),
        ([1000, 1, 1], false, false, [1000, 1, 1], false),
        ([1_000_003, 1, 1], false, false, [1024, 1, 1], false),
        ([640, 480, 1], false, false, [32, 32, 1], false),
        ([7, 480, 1], false, false, [7, 146, 1], false),
        ([3, 3, 500], false, false, [3, 3, 64], false),
        // Whole threadgroups: 1366 is 2 * 683, 1000003 a prime.
        ([1000, 1, 1], true, false, [1000, 1, 1], false),
        ([3000, 1, 1], true, false, [1000, 1, 1], false),
        ([1_000_003, 1, 1], true, false, [1, 1, 1], false),
        ([1366, 768, 1], true, false, [2, 384, 1], false),
        ([1366, 768, 1], false, false, [32, 32, 1], false),
        // Threads with much work: 64 threadgroups, of 64 threads at least.
        ([5, 1, 1], false, true, [5, 1, 1], false),
        ([64, 1, 1], false, true, [64, 1, 1], false),
        ([65, 1, 1], false, true, [64, 1, 1], true),
        ([1000, 1, 1], false, true, [64, 1, 1], true),
        ([4097, 1, 1], false, true, [64, 1, 1], true),
        ([10_000, 1, 1], false, true, [160, 1, 1], true),
        ([65_535, 1, 1], false, true, [1024, 1, 1], false),
        ([65_536, 1, 1], false, true, [1024, 1, 1], false),
        ([1_000_003, 1, 1], false, true, [1024, 1, 1], false),
        ([64, 64, 1], false, true, [32, 2, 1], true),
        ([128, 128, 1], false, true, [32, 8, 1], true),
        ([256, 256, 1], false, true, [32, 32, 1], false),
        ([3, 1000, 1], false, true, [3, 21, 1], true),
        ([8, 8, 8], false, true, [8, 8, 1], true),
        // Not where they have to be whole: a prime would leave threadgroups of one thread.
        ([1000, 1, 1], true, true, [1000, 1, 1], false),
        ([1009, 1, 1], true, true, [1009, 1, 1], false),
        // More than a number can be.
        ([u64::MAX, u64::MAX, 1], false, true, [32, 32, 1], false),
    ];

    #[test]
    fn sizes_follow_the_rules() {
        for &(threads, whole, spread, size, smaller) in CASES {
            let sides = Size::from([1024u64, 1024, 64]);
            let wanted = Wanted { threads: threads.into(), most: 1024, sides, width: 32, whole, spread, enough: 64 };
            assert_eq!(advise(&wanted), (size.into(), smaller), "{wanted:?}");
        }
        // A kernel with fewer threads than two widths.
        let sides = Size::from([1024u64, 1024, 64]);
        let few = Wanted {
            threads: [1000, 1, 1u64].into(),
            most: 48,
            sides,
            width: 32,
            whole: false,
            spread: true,
            enough: 64,
        };
        assert_eq!(advise(&few), ([48, 1, 1u64].into(), false));
        // On two processors.
        for (n, size) in [(1000, 128), (2048, 256), (8192, 1024), (100, 64)] {
            let wanted = Wanted { threads: [n, 1, 1u64].into(), most: 1024, enough: 8, ..few };
            assert_eq!(advise(&wanted), ([size, 1, 1u64].into(), size < n.min(1024)), "{n}");
        }
    }
}
