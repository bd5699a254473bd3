//! Which threadgroup a launch uses, and why.

use std::fmt;
use std::time::Duration;

use clmsl::{FactKind, Location};

use super::advice::{Wanted, advise};
use super::analysis::{Analysed, Lies, Much};
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
    /// Whether a size that is chosen divides the grid, so that every threadgroup is whole: in OpenCL C 1.2, where results can depend on the size
    /// (`dependence`), or on a device without partial threadgroups.
    pub whole_threadgroups: bool,
    /// It would be so, but results cannot depend on the size, as the analysis shows: the last threadgroups may be partial.
    pub partial_by_analysis: bool,
    /// By what results can depend on the size, and the first place of it; `None` where nothing is known.
    pub dependence: Option<(FactKind, Location)>,
    /// What makes a thread's work much, where something does.
    pub work: Option<ThreadWork>,
    /// How memory lies to the threads of two dimensions, where each has its own and all of it lies so.
    pub layout: Option<MemoryLayout>,
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
    /// Smaller than that, so that there are more threadgroups for the cores of a GPU, or processors, each of which runs one at a time: the kernel's
    /// analysis shows that a thread has much work ([`ThreadgroupChoice::work`]), and that results do not depend on the size.
    Spread,
    /// Up to eight execution widths wide: the kernel's analysis shows that its memory lies along x ([`ThreadgroupChoice::layout`]), and that results do not depend on the size.
    Wide,
    /// Four threads wide, and tall: its memory lies along y; or eight where some lies along x. Wider where the grid is not tall.
    Tall,
}

/// How the memory that a kernel's threads have for themselves lies in a grid of two dimensions: along the direction whose neighbours' addresses are
/// side by side, where those of the other direction's are far apart. With the first place of the text that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryLayout {
    /// All of it along x.
    Rows(Location),
    /// All of it along y.
    Columns(Location),
    /// Some of it along x, some along y.
    Both {
        /// Along x.
        rows: Location,
        /// Along y.
        columns: Location,
    },
}

impl fmt::Display for MemoryLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryLayout::Rows(at) => {
                write!(f, "each thread's memory is beside that of its neighbour in x ({})", place(at))
            }
            MemoryLayout::Columns(at) => {
                write!(f, "each thread's memory is beside that of its neighbour in y ({})", place(at))
            }
            MemoryLayout::Both { rows, columns } => write!(
                f,
                "each thread's memory is beside that of its neighbour in x ({}), and in y ({})",
                place(rows),
                place(columns)
            ),
        }
    }
}

/// What makes a thread's work much.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadWork {
    /// A loop whose rounds the text does not tell.
    Loop(Location),
    /// So many operations.
    Operations(u64),
}

impl fmt::Display for ThreadWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThreadWork::Loop(at) => {
                write!(f, "each thread runs a loop whose rounds the text does not tell ({})", place(at))
            }
            ThreadWork::Operations(count) => write!(f, "each thread has {count} operations"),
        }
    }
}

fn place(Location { file, line, .. }: &Location) -> String {
    format!("{file}:{line}")
}

impl Pipeline {
    /// The threadgroup where none is named, required or measured. Nobody is asked for an analysis here: launches come by.
    pub(super) fn advised(&self, threads: Size) -> (Size, ThreadgroupReason) {
        let wanted = Wanted {
            threads,
            most: self.max_threads,
            sides: self.accelerator.limits().max_threads_per_threadgroup,
            width: self.execution_width,
            whole: self.chooses_whole,
            spread: self.analysis.get().is_some_and(|analysed| analysed.findings.spreads()),
            enough: self.enough,
            lies: self.analysis.get().and_then(|analysed| analysed.findings.follows()),
        };
        advise(&wanted)
    }
}

impl ThreadgroupChoice {
    pub(super) fn new(
        pipeline: &Pipeline,
        analysed: Option<&Analysed>,
        threads: Size,
        size: Size,
        reason: ThreadgroupReason,
    ) -> ThreadgroupChoice {
        let at = |span| analysed.map(|analysed| analysed.sources.location(span));
        let findings = analysed.map(|analysed| analysed.findings);
        ThreadgroupChoice {
            size,
            reason,
            threads,
            max_threads: pipeline.max_threads,
            execution_width: pipeline.execution_width,
            whole_threadgroups: pipeline.chooses_whole,
            partial_by_analysis: pipeline.uniform_threadgroups && !pipeline.chooses_whole,
            dependence: findings
                .and_then(|findings| findings.dependence)
                .and_then(|fact| Some((fact.kind, at(fact.span)?))),
            work: findings.and_then(|findings| findings.work).and_then(|work| match work {
                Much::Loop(span) => at(span).map(ThreadWork::Loop),
                Much::Operations(count) => Some(ThreadWork::Operations(count)),
            }),
            layout: findings.and_then(|findings| findings.lies).and_then(|lies| {
                Some(match lies {
                    Lies::Rows(span) => MemoryLayout::Rows(at(span)?),
                    Lies::Columns(span) => MemoryLayout::Columns(at(span)?),
                    Lies::Both { rows, columns } => MemoryLayout::Both { rows: at(rows)?, columns: at(columns)? },
                })
            }),
            threadgroup_memory: pipeline.static_threadgroup_memory,
            more_by_arguments: pipeline.arguments.iter().any(|argument| argument.kind == ArgumentKind::Threadgroup),
            threadgroup_memory_limit: pipeline.accelerator.limits().max_threadgroup_memory,
            barriers: analysed.map(|analysed| {
                // Functions of the work-group wait as well.
                let kinds = [FactKind::Barrier, FactKind::WorkGroup];
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
                    f.write_str(" and that divide it, as OpenCL C 1.2 has whole work-groups only and ")?;
                    match &self.dependence {
                        Some((kind, at)) => write!(f, "the kernel has {kind} ({})", place(at))?,
                        None => f.write_str("the device no others")?,
                    }
                }
            }
            ThreadgroupReason::Spread => {
                let groups = threads.to_array().into_iter().zip(size.to_array()).map(|(n, side)| n.div_ceil(side));
                write!(f, "few, so that all cores have some of {} threadgroups", groups.product::<u64>())?;
                if let Some(work) = &self.work {
                    write!(f, ", as {work}")?;
                }
                if let Some(layout) = self.layout.as_ref().filter(|_| threads.y > 1 && threads.z == 1) {
                    write!(f, "; they lie as memory does: {layout}")?;
                }
            }
            ThreadgroupReason::Wide | ThreadgroupReason::Tall => {
                f.write_str(if self.reason == ThreadgroupReason::Wide { "wide" } else { "tall" })?;
                if let Some(layout) = &self.layout {
                    write!(f, ", as {layout}")?;
                }
            }
        }
        let is_whole = threads.to_array().iter().zip(size.to_array()).all(|(n, side)| n.is_multiple_of(side));
        if self.partial_by_analysis && !is_whole {
            f.write_str("; the last are partial, since nothing in the kernel depends on work-groups")?;
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
