//! The threadgroup of a launch that names none, for a kernel that requires none and was not measured.
//!
//! Apple's advice ("Calculating threadgroup and grid sizes") comes first: the kernel's limit of threads in one dimension, in more the execution
//! width by what it leaves of that limit. What the kernel's analysis finds changes it by three rules, all only where results cannot depend on the
//! size. What they gain, and what was tried beside them, is in docs/PERFORMANCE.md, "Threadgroup sizes".
//!
//! 1. The last threadgroups of an OpenCL C 1.2 kernel may be partial where it cannot see that they are: the advice stays what it is for grids
//!    that no good size divides. "This ensures that you have no underutilized threads" (Apple, there, of partial threadgroups).
//! 2. Where a thread has much work, there are enough threadgroups for every core of a GPU, or processor, to have some: a threadgroup runs on one
//!    (docs/PERFORMANCE.md, "Speed of graphs").
//! 3. In two dimensions threadgroups lie as memory does where each thread reaches its own part of it, each place of the text once (`Findings::lies`):
//!    wide where all of it lies along x, tall where some lies along y. A tall one is some threads wide all the same, and a SIMD-group a block: one
//!    of 8 by 4 threads that turns a matrix of `float` touches 4 + 8 cache lines, one of 32 by 1 touches 1 + 32. The widths are those that were the fastest.

use super::analysis::Lies;
use super::choice::ThreadgroupReason;
use crate::Size;
use crate::sync::processors;

/// Execution widths in x of a wide threadgroup.
const WIDTHS_OF_ROWS: u64 = 8;
/// Threads in x of a tall threadgroup where all memory lies along y: a divisor of Apple's execution width, 32.
const OF_COLUMNS: u64 = 4;
/// The same where some lies along x.
const OF_BOTH: u64 = 8;
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
    /// How memory lies to the threads, where they follow it and results do not depend on the size.
    pub(super) lies: Option<Lies>,
}

/// As many threadgroups as keep all cores busy: processors, of which hostmetal's devices are made, or a GPU's.
pub(super) fn enough() -> u64 {
    let cores = match cfg!(target_os = "linux") {
        true => processors() as u64,
        false => CORES,
    };
    cores.saturating_mul(EACH)
}

/// The size, and the rule that it is of.
pub(super) fn advise(wanted: &Wanted) -> (Size, ThreadgroupReason) {
    let &Wanted { threads, most, width, whole, spread, enough, .. } = wanted;
    let (size, reason) = laid(wanted, most);
    let Some(all) = threads.volume().filter(|_| spread && !whole) else { return (size, reason) };
    let least = (width * LEAST_WIDTHS).min(most);
    let (smaller, _) = laid(wanted, (all / enough).next_multiple_of(width).clamp(least, most));
    if smaller.volume() < size.volume() { (smaller, ThreadgroupReason::Spread) } else { (size, reason) }
}

/// So many threads, as memory lies.
fn laid(wanted: &Wanted, most: u64) -> (Size, ThreadgroupReason) {
    let &Wanted { threads, lies, .. } = wanted;
    let advised = filled(wanted, most);
    let (size, reason) = match lies.filter(|_| threads.y > 1 && threads.z == 1) {
        Some(Lies::Rows(_)) => (wide(wanted, most), ThreadgroupReason::Wide),
        Some(Lies::Columns(_)) => (tall(wanted, most, OF_COLUMNS), ThreadgroupReason::Tall),
        Some(Lies::Both { .. }) => (tall(wanted, most, OF_BOTH), ThreadgroupReason::Tall),
        None => return (advised, ThreadgroupReason::Advised),
    };
    if size == advised { (advised, ThreadgroupReason::Advised) } else { (size, reason) }
}

/// As wide as the grid, or `WIDTHS_OF_ROWS`, or somewhat less so that the last in a row is not much narrower.
fn wide(wanted: &Wanted, most: u64) -> Size {
    let &Wanted { threads, sides, width, whole, .. } = wanted;
    let x = part(threads.x, (width * WIDTHS_OF_ROWS).min(most).min(sides.x), width, whole);
    let y = side(threads.y, (most / x).min(sides.y), whole);
    Size { x, y, z: 1 }
}

/// So many threads wide, and wider only where the grid is not tall enough.
fn tall(wanted: &Wanted, most: u64, across: u64) -> Size {
    let &Wanted { threads, sides, width, whole, .. } = wanted;
    let least = side(threads.x, across.min(most).min(sides.x), whole);
    let y = part(threads.y, (most / least).min(sides.y), width.div_ceil(across), whole);
    let x = side(threads.x, (most / y / across * across).max(least).min(sides.x), whole);
    Size { x, y, z: 1 }
}

/// A side within so much room that leaves parts of about one size of so many threads, each but the last a multiple of `step`.
fn part(threads: u64, room: u64, step: u64, divides: bool) -> u64 {
    if divides || threads <= room || room < step {
        return side(threads, room, divides);
    }
    let room = room / step * step;
    threads.div_ceil(threads.div_ceil(room)).next_multiple_of(step)
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

    use crate::kernel::{ThreadgroupReason::*, analysis::tests::ANYWHERE};

    /// Threads, whether whole, whether spread; the size, and whether it was made smaller.
    type Case = ([u64; 3], bool, bool, [u64; 3], bool);

    const ROWS: Lies = Lies::Rows(ANYWHERE);
    const COLUMNS: Lies = Lies::Columns(ANYWHERE);
    const BOTH: Lies = Lies::Both { rows: ANYWHERE, columns: ANYWHERE };
    /// How memory lies, threads, whether whole, whether spread; the size, and its reason.
    type Laid = (Lies, [u64; 3], bool, bool, [u64; 3], ThreadgroupReason);

    /// For the same device.
    const LAID: &[Laid] = &[
        (ROWS, [2048, 2048, 1], false, false, [256, 4, 1], Wide),
        (ROWS, [1024, 3, 1], false, false, [256, 3, 1], Wide),
        // Four of 224 threads and one of 129; in whole ones 1366 is 2 * 683.
        (ROWS, [1025, 768, 1], false, false, [224, 4, 1], Wide),
        (ROWS, [1366, 768, 1], false, false, [256, 4, 1], Wide),
        (ROWS, [1366, 768, 1], true, false, [2, 384, 1], Advised),
        (ROWS, [1360, 768, 1], true, false, [170, 6, 1], Wide),
        // More rows where one is short.
        (ROWS, [100, 768, 1], false, false, [100, 10, 1], Wide),
        (ROWS, [640, 480, 1], false, false, [224, 4, 1], Wide),
        (ROWS, [64, 480, 1], false, false, [64, 16, 1], Wide),
        // That is Apple's advice.
        (ROWS, [32, 480, 1], false, false, [32, 32, 1], Advised),
        (ROWS, [7, 480, 1], false, false, [7, 146, 1], Advised),
        (COLUMNS, [2048, 2048, 1], false, false, [4, 256, 1], Tall),
        (BOTH, [2048, 2048, 1], false, false, [8, 128, 1], Tall),
        // Six of 128; in whole ones 1366 is 2 * 683, 768 is 2 * 384.
        (BOTH, [1366, 768, 1], false, false, [8, 128, 1], Tall),
        (BOTH, [1366, 768, 1], true, false, [2, 384, 1], Advised),
        (BOTH, [1360, 768, 1], true, false, [8, 128, 1], Tall),
        // Two of 68 and 62, of 152 and 148.
        (BOTH, [1366, 130, 1], false, false, [8, 68, 1], Tall),
        (COLUMNS, [1366, 300, 1], false, false, [4, 152, 1], Tall),
        (BOTH, [5, 2048, 1], false, false, [5, 188, 1], Tall),
        // Wider where it is not tall.
        (COLUMNS, [2048, 10, 1], false, false, [100, 10, 1], Tall),
        (COLUMNS, [64, 64, 1], false, false, [16, 64, 1], Tall),
        (COLUMNS, [3, 3, 1], false, false, [3, 3, 1], Advised),
        // One dimension, or three.
        (ROWS, [2048, 1, 1], false, false, [1024, 1, 1], Advised),
        (COLUMNS, [2048, 1, 1], false, false, [1024, 1, 1], Advised),
        (ROWS, [640, 480, 2], false, false, [32, 32, 1], Advised),
        (COLUMNS, [640, 480, 2], false, false, [32, 32, 1], Advised),
        // Threads with much work: 64 threadgroups.
        (ROWS, [128, 128, 1], false, true, [128, 2, 1], Spread),
        (COLUMNS, [128, 128, 1], false, true, [4, 64, 1], Spread),
        (ROWS, [2048, 2048, 1], false, true, [256, 4, 1], Wide),
        (ROWS, [u64::MAX, u64::MAX, 1], false, true, [256, 4, 1], Wide),
        (BOTH, [u64::MAX, u64::MAX, 1], false, true, [8, 128, 1], Tall),
    ];

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

    fn wanted(threads: [u64; 3], whole: bool, spread: bool, lies: Option<Lies>) -> Wanted {
        let sides = Size::from([1024u64, 1024, 64]);
        Wanted { threads: threads.into(), most: 1024, sides, width: 32, whole, spread, enough: 64, lies }
    }

    #[test]
    fn sizes_follow_the_rules() {
        for &(threads, whole, spread, size, smaller) in CASES {
            let wanted = wanted(threads, whole, spread, None);
            assert_eq!(advise(&wanted), (size.into(), if smaller { Spread } else { Advised }), "{wanted:?}");
        }
        for &(lies, threads, whole, spread, size, reason) in LAID {
            let wanted = wanted(threads, whole, spread, Some(lies));
            assert_eq!(advise(&wanted), (size.into(), reason), "{wanted:?}");
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
            lies: None,
        };
        assert_eq!(advise(&few), ([48, 1, 1u64].into(), Advised));
        let plane = Wanted { threads: [1000, 1000, 1u64].into(), spread: false, ..few };
        assert_eq!(advise(&Wanted { lies: Some(ROWS), ..plane }), ([32, 1, 1u64].into(), Advised));
        assert_eq!(advise(&Wanted { lies: Some(COLUMNS), ..plane }), ([4, 8, 1u64].into(), Tall));
        // On two processors.
        for (n, size) in [(1000, 128), (2048, 256), (8192, 1024), (100, 64)] {
            let wanted = Wanted { threads: [n, 1, 1u64].into(), most: 1024, enough: 8, ..few };
            assert_eq!(
                advise(&wanted),
                ([size, 1, 1u64].into(), if size < n.min(1024) { Spread } else { Advised }),
                "{n}"
            );
        }
    }
}
