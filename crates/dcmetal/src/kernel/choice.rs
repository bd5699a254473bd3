//! Which threadgroup a launch uses, and why.

use std::fmt;
use std::time::Duration;

use super::{ArgumentKind, Pipeline};
use crate::Size;

/// The threads of a threadgroup that a launch uses, and what that rests on
/// ([`Kernel::threadgroup_choice`](crate::Kernel::threadgroup_choice)). Printed, it is one line that names the facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadgroupChoice {
    /// Threads in each dimension.
    pub size: Size,
    /// Why these.
    pub reason: ThreadgroupReason,
    /// Threads of the grid.
    pub threads: Size,
    /// The most threads that a threadgroup of this kernel can have on this device.
    pub max_threads: u64,
    /// Threads that the device runs in step.
    pub execution_width: u64,
    /// Whether every threadgroup must be whole (OpenCL C 1.2), so that each side divides the grid's.
    pub whole_threadgroups: bool,
    /// Bytes of threadgroup memory that the kernel itself declares.
    pub threadgroup_memory: u64,
    /// Whether a launch gives it more, by arguments.
    pub more_by_arguments: bool,
    /// Bytes of threadgroup memory that the device has.
    pub threadgroup_memory_limit: u64,
    /// At how many places of the source the threads of a threadgroup wait for each other; `None` where
    /// [`Kernel::analysis`](crate::Kernel::analysis) fails, as it does for MSL on Apple's Metal.
    pub barriers: Option<usize>,
}

/// Why a launch uses a threadgroup size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadgroupReason {
    /// The grid names it.
    Grid,
    /// The kernel insists on it (OpenCL C's `reqd_work_group_size`).
    Required,
    /// It was the fastest of those that [`Kernel::tune`](crate::Kernel::tune) measured for a grid like this one, in this process or
    /// in one before.
    Measured {
        /// The median of its times.
        time: Duration,
        /// The caller said that the kernel's results do not depend on the size
        /// ([`TuneOptions::any_size`](crate::TuneOptions::any_size)).
        vouched: bool,
    },
    /// Apple's advice ("Calculating threadgroup and grid sizes"): in one dimension the kernel's limit of threads; in more the
    /// execution width, by what it leaves of that limit.
    Advised,
}

impl ThreadgroupChoice {
    pub(super) fn new(pipeline: &Pipeline, threads: Size, size: Size, reason: ThreadgroupReason) -> ThreadgroupChoice {
        ThreadgroupChoice {
            size,
            reason,
            threads,
            max_threads: pipeline.max_threads,
            execution_width: pipeline.execution_width,
            whole_threadgroups: pipeline.uniform_threadgroups,
            threadgroup_memory: pipeline.static_threadgroup_memory,
            more_by_arguments: pipeline.arguments.iter().any(|argument| argument.kind == ArgumentKind::Threadgroup),
            threadgroup_memory_limit: pipeline.accelerator.limits().max_threadgroup_memory,
            barriers: pipeline.analysed().ok().map(|analysed| {
                // Functions of the work-group wait as well.
                let kinds = [clmsl::FactKind::Barrier, clmsl::FactKind::WorkGroup];
                kinds.map(|kind| analysed.kernel.count(kind)).iter().sum()
            }),
        }
    }
}

impl fmt::Display for ThreadgroupChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &ThreadgroupChoice { size, threads, max_threads, execution_width, .. } = self;
        write!(f, "{size} of a grid of {threads} threads: ")?;
        match self.reason {
            ThreadgroupReason::Grid => f.write_str("named by the grid")?,
            ThreadgroupReason::Required => f.write_str("required by the kernel")?,
            ThreadgroupReason::Measured { time, vouched } => {
                write!(f, "measured as the fastest for such grids, {time:?}")?;
                if vouched {
                    f.write_str(", where the caller said that any size gives the same results")?;
                }
            }
            ThreadgroupReason::Advised => {
                f.write_str(match (threads.y, threads.z) {
                    (1, 1) if size == threads => "all threads of the grid, which the limits of kernel and device allow",
                    (1, 1) => "the most threads that kernel and device allow",
                    _ => "the execution width, by what it leaves of the kernel's threads, within the grid",
                })?;
                if self.whole_threadgroups && size != threads {
                    f.write_str(" and that divide it, as OpenCL C 1.2 has whole work-groups only")?;
                }
            }
        }
        write!(f, "; the kernel's limit is {max_threads} threads, the execution width {execution_width}")?;
        let idle = size.volume().map_or(0, |volume| volume.next_multiple_of(execution_width) - volume);
        if idle > 0 {
            write!(f, " ({idle} places of each threadgroup stay idle)")?;
        }
        write!(f, "; {} of {} bytes of threadgroup memory", self.threadgroup_memory, self.threadgroup_memory_limit)?;
        if self.more_by_arguments {
            f.write_str(", more by arguments")?;
        }
        match self.barriers {
            None => f.write_str("; barriers unknown"),
            Some(0) => f.write_str("; no barriers"),
            Some(1) => f.write_str("; 1 barrier"),
            Some(count) => write!(f, "; {count} barriers"),
        }
    }
}
