//! Grids: how many threads a launch runs, and in threadgroups of which size.
//!
//! A [`Grid`] says either the number of threads (`dispatchThreads:threadsPerThreadgroup:`; the last threadgroup of a
//! dimension may be partial) or the number of whole threadgroups (`dispatchThreadgroups:threadsPerThreadgroup:`).
//! The numbers are checked at the launch, against the kernel; nothing here can fail.
//! See <https://developer.apple.com/documentation/metal/calculating-threadgroup-and-grid-sizes>.

use std::fmt;

use crate::View;

/// A three-dimensional count, Metal's `MTLSize`.
///
/// ```
/// use dcmetal::Size;
/// assert_eq!(Size::from(7u32), Size { x: 7, y: 1, z: 1 });
/// assert_eq!(Size::from((4usize, 2usize)).to_string(), "4x2x1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Along the first dimension, OpenCL's dimension 0.
    pub x: u64,
    /// Along the second dimension.
    pub y: u64,
    /// Along the third dimension.
    pub z: u64,
}

impl Size {
    /// `x * y * z`, or `None` where that does not fit.
    pub fn volume(self) -> Option<u64> {
        self.x.checked_mul(self.y)?.checked_mul(self.z)
    }

    /// The three numbers in order.
    pub fn to_array(self) -> [u64; 3] {
        [self.x, self.y, self.z]
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.x, self.y, self.z)
    }
}

impl From<[u64; 3]> for Size {
    fn from([x, y, z]: [u64; 3]) -> Self {
        Size { x, y, z }
    }
}

impl From<[u32; 3]> for Size {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Size { x: x.into(), y: y.into(), z: z.into() }
    }
}

macro_rules! size_from {
    ($($number:ty),*) => {$(
        impl From<$number> for Size {
            fn from(x: $number) -> Self {
                Size { x: x as u64, y: 1, z: 1 }
            }
        }
        impl From<($number, $number)> for Size {
            fn from((x, y): ($number, $number)) -> Self {
                Size { x: x as u64, y: y as u64, z: 1 }
            }
        }
        impl From<($number, $number, $number)> for Size {
            fn from((x, y, z): ($number, $number, $number)) -> Self {
                Size { x: x as u64, y: y as u64, z: z as u64 }
            }
        }
    )*};
}
size_from!(u32, u64, usize);

/// How many threads a launch runs, and how they are grouped.
///
/// ```
/// use dcmetal::Grid;
/// let _ = Grid::linear(1000);                                   // 1000 threads, threadgroups chosen by the launch
/// let _ = Grid::threads((640usize, 480usize)).threadgroup((16usize, 16usize));
/// let _ = Grid::threadgroups(10u32, 64u32);                     // 640 threads
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub(crate) extent: Extent,
    pub(crate) threadgroup: Option<Size>,
    /// The threadgroup is taken as one that a launch chooses.
    pub(crate) partial: bool,
    /// Set when it differs from what the extent shows.
    work_dim: Option<u32>,
}

/// What the extent of a grid counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Threads(Size),
    Threadgroups(Size),
}

impl Grid {
    /// `count` threads in one dimension.
    pub fn linear(count: usize) -> Grid {
        Grid::threads(count)
    }

    /// This many threads in each dimension.
    pub fn threads(threads: impl Into<Size>) -> Grid {
        Grid { extent: Extent::Threads(threads.into()), threadgroup: None, partial: false, work_dim: None }
    }

    /// This many threadgroups, each of `threads_per_threadgroup` threads.
    pub fn threadgroups(count: impl Into<Size>, threads_per_threadgroup: impl Into<Size>) -> Grid {
        let threadgroup = Some(threads_per_threadgroup.into());
        Grid { extent: Extent::Threadgroups(count.into()), threadgroup, partial: false, work_dim: None }
    }

    /// Sets the threads of one threadgroup, OpenCL's local size. Without it the launch chooses
    /// ([`Kernel::threadgroup_for`](crate::Kernel::threadgroup_for) tells what).
    pub fn threadgroup(self, threads: impl Into<Size>) -> Grid {
        Grid { threadgroup: Some(threads.into()), ..self }
    }

    /// Lets the last threadgroups be partial as those of a launch that chooses are: before OpenCL C 2.0 a threadgroup that is named must divide the grid
    /// (OpenCL 1.2, section 5.8), though what a kernel computes may not depend on it. Where it may, by the kernel's analysis, and where the device has
    /// no partial threadgroups, it must divide the grid still. MSL and OpenCL C 2.0 ask for nothing.
    pub fn partial(self) -> Grid {
        Grid { partial: true, ..self }
    }

    /// Sets what OpenCL C's `get_work_dim` returns, 1 to 3 (others count as the nearest). Without it that is the number
    /// of the last dimension longer than 1: only a launch like 5 by 1, meant as two-dimensional, needs it.
    pub fn work_dim(self, dimensions: u32) -> Grid {
        Grid { work_dim: Some(dimensions.clamp(1, 3)), ..self }
    }

    pub(crate) fn dimensions(&self) -> u32 {
        let (Extent::Threads(extent) | Extent::Threadgroups(extent)) = self.extent;
        // Of a grid that is as one whose threadgroup is chosen, that shows nothing.
        let group = self.threadgroup.filter(|_| !self.partial).unwrap_or(Size { x: 1, y: 1, z: 1 });
        let shown = match (extent.y.max(group.y), extent.z.max(group.z)) {
            (0..=1, 0..=1) => 1,
            (_, 0..=1) => 2,
            _ => 3,
        };
        self.work_dim.unwrap_or(shown)
    }
}

/// A grid whose number of threadgroups is in a buffer when the launch runs: what an earlier kernel wrote, or the host.
///
/// The number is read on the device, behind everything that was recorded before and writes it. Threadgroups of 0 are none, and nothing runs.
/// What would be 2^32 threads or more along an axis is an error on hostmetal and undefined on Apple's Metal, unless a maximum is declared
/// ([`IndirectGrid::at_most`]).
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let source = "kernel void plan(device uint *n [[buffer(0)]]) { n[0] = 3; n[1] = n[2] = 1; }
///               kernel void fill(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = i; }";
/// let library = gpu.compile_msl(source)?;
/// let (plan, fill) = (library.kernel("plan")?, library.kernel("fill")?);
/// let (mut count, mut y) = (gpu.buffer_zeroed::<[u32; 3]>(1)?, gpu.buffer_zeroed::<u32>(8)?);
/// let mut batch = gpu.batch()?;
/// batch.launch(&plan, Grid::linear(1), args![&mut count])?;
/// batch.launch_indirect(&fill, IndirectGrid::new(&count, 2u32).at_most(4u32), args![&mut y])?;
/// batch.submit()?.wait()?;
/// assert_eq!(y.to_vec()?, [0, 1, 2, 3, 4, 5, 0, 0]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
pub struct IndirectGrid<'a> {
    pub(crate) count: View<'a, [u32; 3]>,
    pub(crate) threadgroup: Size,
    pub(crate) most: Option<Size>,
    work_dim: Option<u32>,
}

impl<'a> IndirectGrid<'a> {
    /// As many threadgroups as the first element of `count` says, each of `threads_per_threadgroup` threads. Any storage mode will do.
    pub fn new(count: impl Into<View<'a, [u32; 3]>>, threads_per_threadgroup: impl Into<Size>) -> IndirectGrid<'a> {
        IndirectGrid { count: count.into(), threadgroup: threads_per_threadgroup.into(), most: None, work_dim: None }
    }

    /// Declares the most threadgroups along each axis. More of them do not run: the submission fails and says how many there were. A small
    /// kernel (`dcmetal_guard`) looks at them before.
    pub fn at_most(self, threadgroups: impl Into<Size>) -> IndirectGrid<'a> {
        IndirectGrid { most: Some(threadgroups.into()), ..self }
    }

    /// As [`Grid::work_dim`]; without it the declared maximum and the threadgroup show how many dimensions there are.
    pub fn work_dim(self, dimensions: u32) -> IndirectGrid<'a> {
        IndirectGrid { work_dim: Some(dimensions), ..self }
    }

    /// With these threadgroups.
    pub(crate) fn of(&self, threadgroups: impl Into<Size>) -> Grid {
        let grid = Grid::threadgroups(threadgroups, self.threadgroup);
        // As the largest has: what is there when it runs says nothing.
        grid.work_dim(self.work_dim.unwrap_or_else(|| self.shape().dimensions()))
    }

    fn shape(&self) -> Grid {
        Grid::threadgroups(self.most.unwrap_or(Size { x: 1, y: 1, z: 1 }), self.threadgroup)
    }

    /// The largest that was declared; without that the smallest.
    pub(crate) fn largest(&self) -> Grid {
        self.of(self.most.unwrap_or(Size { x: 1, y: 1, z: 1 }))
    }
}

impl fmt::Debug for IndirectGrid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threadgroup, most, .. } = self;
        f.debug_struct("IndirectGrid").field("threadgroup", threadgroup).field("most", most).finish_non_exhaustive()
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extent {
            Extent::Threads(size) => write!(f, "{size} threads")?,
            Extent::Threadgroups(size) => write!(f, "{size} threadgroups")?,
        }
        match self.threadgroup {
            Some(size) => write!(f, " of {size}"),
            None => Ok(()),
        }
    }
}
