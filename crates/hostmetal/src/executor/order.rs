//! The order in which the threadgroups of a dispatch run, as numbers.
//!
//! Metal leaves it open. Here a grid with one row begins its threadgroups in the order of their positions: programs whose threadgroups wait for those
//! before them rely on that. Threadgroups that one call may run (`Span`) follow each other along rows. Others go block by block: a kernel
//! that reads along rows and writes along columns, as a transposition does, or the other way round, comes back to a cache line
//! and a page while they are cached, and one that does neither loses nothing.

use crate::encode::Dispatch;

/// Threadgroups of a block along x, and along y.
pub(crate) const BLOCK: u64 = 16;

/// Position of the threadgroup with a number; `spans`: along rows.
pub(crate) fn position(number: u64, dispatch: &Dispatch, spans: bool) -> [u32; 3] {
    let [width, height, _] = dispatch.groups.map(u64::from);
    let (layer, number) = (number / (width * height), number % (width * height));
    if spans || height == 1 {
        return [number % width, number / width, layer].map(|at| at as u32);
    }
    // Bands of rows, and blocks of a band; the last of each may be smaller.
    let (band, number) = (number / (width * BLOCK), number % (width * BLOCK));
    let rows = BLOCK.min(height - band * BLOCK);
    let (block, number) = (number / (rows * BLOCK), number % (rows * BLOCK));
    let columns = BLOCK.min(width - block * BLOCK);
    [block * BLOCK + number % columns, band * BLOCK + number / columns, layer].map(|at| at as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    fn grid(groups: [u32; 3]) -> Dispatch {
        Dispatch {
            pipeline: 0,
            first_argument: 0,
            arguments: 0,
            memory: 0,
            threads: groups.map(|count| count * 2),
            group_size: [2; 3],
            groups,
            indirect: ptr::null(),
            region: 0,
            strides: 0,
        }
    }

    /// Each threadgroup has one number, along rows or in blocks, at grids that blocks divide and others.
    #[test]
    fn numbers_are_positions() {
        for groups in [[1, 1, 1], [40, 1, 1], [1, 40, 1], [16, 16, 2], [33, 50, 1], [7, 3, 3], [16, 17, 1], [48, 31, 2]]
        {
            let dispatch = grid(groups);
            let [width, height, depth] = groups;
            for spans in [false, true] {
                let mut seen = std::collections::HashSet::new();
                for number in 0..dispatch.group_count() {
                    let at @ [x, y, z] = position(number, &dispatch, spans);
                    assert!(x < width && y < height && z < depth, "{number} of {groups:?}: {at:?}");
                    assert!(seen.insert(at), "{number} of {groups:?}: {at:?} again");
                }
            }
        }
        let numbers = |spans| [0, 1, 16, 255, 256, 33 * 16].map(|number| position(number, &grid([33, 50, 1]), spans));
        let rows = [[0, 0, 0], [1, 0, 0], [16, 0, 0], [24, 7, 0], [25, 7, 0], [0, 16, 0]];
        assert_eq!(numbers(true), rows);
        assert_eq!(numbers(false), [[0, 0, 0], [1, 0, 0], [0, 1, 0], [15, 15, 0], [16, 0, 0], [0, 16, 0]]);
    }
}
