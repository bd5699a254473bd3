//! Grids: how many threads a launch runs, and in threadgroups of which size.
//!
//! A [`Grid`] says either the number of threads (`dispatchThreads:threadsPerThreadgroup:`; the last threadgroup of a
//! dimension may be partial) or the number of whole threadgroups (`dispatchThreadgroups:threadsPerThreadgroup:`).
//! The numbers are checked at the launch, against the kernel; nothing here can fail.
//! See <https://developer.apple.com/documentation/metal/calculating-threadgroup-and-grid-sizes>.

use std::fmt;

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
        Grid { extent: Extent::Threads(threads.into()), threadgroup: None }
    }

    /// This many threadgroups, each of `threads_per_threadgroup` threads.
    pub fn threadgroups(count: impl Into<Size>, threads_per_threadgroup: impl Into<Size>) -> Grid {
        Grid { extent: Extent::Threadgroups(count.into()), threadgroup: Some(threads_per_threadgroup.into()) }
    }

    /// Sets the threads of one threadgroup, OpenCL's local size. Without it the launch chooses
    /// ([`Kernel::threadgroup_for`](crate::Kernel::threadgroup_for) tells what).
    pub fn threadgroup(self, threads: impl Into<Size>) -> Grid {
        Grid { threadgroup: Some(threads.into()), ..self }
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
