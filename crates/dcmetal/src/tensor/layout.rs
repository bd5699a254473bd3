//! Where the elements of a tensor lie in its buffer: extents and strides of up to four axes, all checked when they are made.

use std::fmt;
use std::ops::RangeBounds;

use crate::memory::bounds;
use crate::{Error, Result};

/// The most axes of a tensor.
pub const MAX_RANK: usize = 4;

/// Extents and strides count in elements, the last axis first in memory where nothing else is said. Kernels count extents, strides and
/// places within a matrix in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    rank: usize,
    extents: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
}

/// Extents for people: `2x3x4`, and `scalar` for none.
pub(super) struct Shape<'a>(pub(super) &'a [usize]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("scalar");
        }
        for (at, extent) in self.0.iter().enumerate() {
            write!(f, "{}{extent}", if at > 0 { "x" } else { "" })?;
        }
        Ok(())
    }
}

pub(super) fn wrong(operation: &'static str, text: String) -> Error {
    Error::Shape { operation, text }
}

/// What kernels count in 32 bits.
pub(super) const LIMIT: usize = i32::MAX as usize;

impl Layout {
    /// Row-major, without gaps.
    pub(super) fn rows(extents: &[usize]) -> Result<Layout> {
        let mut strides = [0; MAX_RANK];
        let mut stride = 1usize;
        for (to, &extent) in strides.iter_mut().zip(extents.iter().rev()) {
            *to = stride;
            stride = stride.saturating_mul(extent);
        }
        let known = extents.len().min(MAX_RANK);
        strides[..known].reverse();
        Layout::strided(extents, &strides[..known])
    }

    pub(super) fn strided(extents: &[usize], strides: &[usize]) -> Result<Layout> {
        if extents.len() > MAX_RANK {
            return Err(wrong("a tensor", format!("{} has more than {MAX_RANK} axes", Shape(extents))));
        }
        if extents.len() != strides.len() {
            let text = format!("{} has {} axes, {} strides are given", Shape(extents), extents.len(), strides.len());
            return Err(wrong("a tensor", text));
        }
        if extents.contains(&0) {
            return Err(wrong("a tensor", format!("{} has no elements", Shape(extents))));
        }
        let mut layout = Layout { rank: extents.len(), extents: [1; MAX_RANK], strides: [0; MAX_RANK] };
        for (at, (&extent, &stride)) in extents.iter().zip(strides).enumerate() {
            if extent > LIMIT || stride > LIMIT {
                let text = format!("axis {at} has {extent} elements at a stride of {stride}; either may be {LIMIT}");
                return Err(wrong("a tensor", text));
            }
            layout.extents[at] = extent;
            layout.strides[at] = stride;
        }
        Ok(layout)
    }

    pub(super) fn extents(&self) -> &[usize] {
        &self.extents[..self.rank]
    }

    pub(super) fn strides(&self) -> &[usize] {
        &self.strides[..self.rank]
    }

    pub(super) fn shape(&self) -> Shape<'_> {
        Shape(self.extents())
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// Elements. Only of a broadcast tensor they may be more than memory has.
    pub(super) fn count(&self) -> usize {
        self.extents.iter().fold(1, |count, &extent| count.saturating_mul(extent))
    }

    /// Elements of a buffer from the first to the last one that it reaches.
    pub(super) fn reach(&self) -> usize {
        let steps = self.extents.iter().zip(&self.strides);
        steps.fold(1, |reach: usize, (extent, stride)| reach.saturating_add((extent - 1).saturating_mul(*stride)))
    }

    /// Whether no two places are the same element: each stride reaches over all that the smaller ones reach.
    pub(super) fn is_injective(&self) -> bool {
        let mut axes: Vec<(usize, usize)> = self.strides.iter().copied().zip(self.extents).collect();
        axes.retain(|(_, extent)| *extent > 1);
        axes.sort_unstable();
        let mut reach = 0usize;
        axes.into_iter().all(|(stride, extent)| {
            let free = stride > reach;
            reach = reach.saturating_add(stride.saturating_mul(extent - 1));
            free
        })
    }

    /// Whether the elements follow each other in row-major order without gaps.
    pub(super) fn is_contiguous(&self) -> bool {
        let mut stride = 1;
        self.extents().iter().zip(self.strides()).rev().all(|(&extent, &own)| {
            let fits = extent == 1 || own == stride;
            stride = stride.saturating_mul(extent);
            fits
        })
    }

    /// Elements of one axis as a matrix of one column.
    pub(super) fn as_column(&self) -> Layout {
        assert_eq!(self.rank, 1, "a vector");
        let mut column = *self;
        column.rank = 2;
        (column.extents[1], column.strides[1]) = (1, 1);
        column
    }

    pub(super) fn permuted(&self, axes: &[usize]) -> Result<Layout> {
        let mut seen = [false; MAX_RANK];
        let known = axes.len() == self.rank
            && axes.iter().all(|&axis| axis < self.rank && !std::mem::replace(&mut seen[axis], true));
        if !known {
            let text = format!("the axes {axes:?} are no order of the {} of {}", self.rank, self.shape());
            return Err(wrong("permuted", text));
        }
        let mut layout = *self;
        for (to, &from) in axes.iter().enumerate() {
            layout.extents[to] = self.extents[from];
            layout.strides[to] = self.strides[from];
        }
        Ok(layout)
    }

    /// The last two axes exchanged.
    pub(super) fn transposed(&self) -> Result<Layout> {
        let Some(last) = self.rank.checked_sub(1).filter(|&last| last > 0) else {
            return Err(wrong("transposed", format!("{} has no two axes", self.shape())));
        };
        let mut layout = *self;
        layout.extents.swap(last - 1, last);
        layout.strides.swap(last - 1, last);
        Ok(layout)
    }

    /// A range of an axis, and the place of its first element.
    pub(super) fn sliced(&self, axis: usize, range: impl RangeBounds<usize>) -> Result<(usize, Layout)> {
        if axis >= self.rank {
            return Err(wrong("slice", format!("{} has no axis {axis}", self.shape())));
        }
        let (start, end) = bounds(range, self.extents[axis])?;
        if start == end {
            return Err(wrong("slice", format!("{start}..{end} of axis {axis} of {} is empty", self.shape())));
        }
        let mut layout = *self;
        layout.extents[axis] = end - start;
        Ok((start * self.strides[axis], layout))
    }

    pub(super) fn reshaped(&self, extents: &[usize]) -> Result<Layout> {
        let layout = Layout::rows(extents)?;
        if layout.count() != self.count() || !self.is_contiguous() {
            let gaps = if self.is_contiguous() { "" } else { ", whose elements do not follow each other," };
            return Err(wrong("reshaped", format!("{}{gaps} cannot be {}", self.shape(), layout.shape())));
        }
        Ok(layout)
    }

    /// Extents of 1, and missing ones in front, repeated.
    pub(super) fn broadcast(&self, extents: &[usize]) -> Result<Layout> {
        let refused = || wrong("broadcast", format!("{} cannot be {}", self.shape(), Shape(extents)));
        let more = extents.len().checked_sub(self.rank).ok_or_else(refused)?;
        let mut strides = vec![0; extents.len()];
        for at in 0..self.rank {
            let (own, wanted) = (self.extents[at], extents[more + at]);
            if own != wanted && own != 1 {
                return Err(refused());
            }
            strides[more + at] = if own == 1 { 0 } else { self.strides[at] };
        }
        Layout::strided(extents, &strides)
    }

    /// The extents with one axis removed.
    pub(super) fn without(&self, axis: usize) -> Layout {
        let mut layout = Layout { rank: self.rank - 1, extents: [1; MAX_RANK], strides: [0; MAX_RANK] };
        for (to, from) in (0..self.rank).filter(|&at| at != axis).enumerate() {
            layout.extents[to] = self.extents[from];
            layout.strides[to] = self.strides[from];
        }
        layout
    }

    /// Extent and stride of the axes, in front of them as many of extent 1 as four lack.
    pub(super) fn padded(&self) -> ([u32; MAX_RANK], [u32; MAX_RANK]) {
        let more = MAX_RANK - self.rank;
        let mut result = ([1; MAX_RANK], [0; MAX_RANK]);
        for at in 0..self.rank {
            // `strided` keeps both within 31 bits.
            result.0[more + at] = self.extents[at] as u32;
            result.1[more + at] = self.strides[at] as u32;
        }
        result
    }

    /// Places of the elements in row-major order.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + '_ {
        let Layout { extents: [a, b, c, d], strides: [i, j, k, l], .. } = *self;
        let plane = move |at: usize| (0..c).flat_map(move |z| (0..d).map(move |w| at + z * k + w * l));
        (0..a).flat_map(move |x| (0..b).flat_map(move |y| plane(x * i + y * j)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(extents: &[usize]) -> Layout {
        Layout::rows(extents).unwrap_or_else(|error| panic!("{error}"))
    }

    fn strided(extents: &[usize], strides: &[usize]) -> Layout {
        Layout::strided(extents, strides).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn rows_follow_each_other() {
        let layout = rows(&[2, 3, 4]);
        assert_eq!((layout.strides(), layout.count(), layout.reach()), (&[12, 4, 1][..], 24, 24));
        assert_eq!(layout.places().collect::<Vec<_>>(), (0..24).collect::<Vec<_>>());
        assert_eq!((rows(&[]).count(), rows(&[]).shape().to_string()), (1, "scalar".to_owned()));
        assert_eq!(layout.padded(), ([1, 2, 3, 4], [0, 12, 4, 1]));
    }

    #[test]
    fn places_are_those_of_the_axes() {
        let layout = strided(&[2, 3], &[1, 10]);
        assert_eq!(layout.places().collect::<Vec<_>>(), [0, 10, 20, 1, 11, 21]);
        assert_eq!(layout.reach(), 22);
        let transposed = layout.transposed().unwrap();
        assert_eq!(transposed.places().collect::<Vec<_>>(), [0, 1, 10, 11, 20, 21]);
        let (at, part) = rows(&[4, 5]).sliced(0, 1..3).unwrap();
        assert_eq!((at, part.extents(), part.strides()), (5, &[2, 5][..], &[5, 1][..]));
        assert_eq!(rows(&[3]).broadcast(&[2, 3]).unwrap().places().collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
        assert_eq!(rows(&[2, 3, 4]).permuted(&[2, 0, 1]).unwrap().strides(), [1, 12, 4]);
        assert_eq!(rows(&[2, 3, 4]).without(1).extents(), [2, 4]);
    }

    #[test]
    fn places_that_meet_are_told_from_others() {
        let cases: &[(&[usize], &[usize], bool)] = &[
            (&[2, 3], &[3, 1], true),
            (&[2, 3], &[1, 2], true),
            (&[2, 3], &[2, 1], false),
            (&[2, 3], &[0, 1], false),
            (&[1, 3], &[0, 1], true),
            (&[2, 3], &[8, 0], false),
            (&[], &[], true),
        ];
        for &(extents, strides, wanted) in cases {
            assert_eq!(strided(extents, strides).is_injective(), wanted, "{extents:?} {strides:?}");
        }
    }

    #[test]
    fn what_cannot_be_is_told_with_its_shape() {
        let text = |result: Result<Layout>| result.expect_err("it cannot be").to_string();
        assert_eq!(text(Layout::rows(&[1, 2, 3, 4, 5])), "a tensor: 1x2x3x4x5 has more than 4 axes");
        assert_eq!(text(Layout::rows(&[2, 0])), "a tensor: 2x0 has no elements");
        assert_eq!(text(Layout::strided(&[2, 3], &[1])), "a tensor: 2x3 has 2 axes, 1 strides are given");
        let large = "a tensor: axis 0 has 2147483648 elements at a stride of 1; either may be 2147483647";
        assert_eq!(text(Layout::rows(&[1 << 31])), large);
        let layout = rows(&[2, 3]);
        assert_eq!(text(layout.permuted(&[0, 0])), "permuted: the axes [0, 0] are no order of the 2 of 2x3");
        assert_eq!(text(layout.reshaped(&[4])), "reshaped: 2x3 cannot be 4");
        let turned = layout.transposed().unwrap().reshaped(&[6]);
        assert_eq!(text(turned), "reshaped: 3x2, whose elements do not follow each other, cannot be 6");
        assert_eq!(text(layout.broadcast(&[2, 4])), "broadcast: 2x3 cannot be 2x4");
        assert_eq!(text(rows(&[3]).transposed()), "transposed: 3 has no two axes");
        assert_eq!(text(layout.sliced(0, 1..1).map(|part| part.1)), "slice: 1..1 of axis 0 of 2x3 is empty");
        assert!(matches!(layout.sliced(1, 2..4), Err(Error::OutOfBounds { start: 2, end: 4, len: 3 })));
    }
}
