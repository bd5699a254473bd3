//! Measured threadgroup sizes: which candidates there are, which one is the fastest, and where that is remembered.
//!
//! A kernel runs many times when it is measured, so it runs on copies of what it may write, which are made anew before each
//! run: every run finds what a launch would find, and the caller's memory stays as it is. Candidates take turns, so that
//! what else the machine does meets all of them. What is remembered is used by launches over grids of the same class whose
//! threadgroup nobody names; so only a kernel whose results do not depend on the size may be measured.

use std::cmp::Reverse;
use std::fmt;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::advice::side;
use super::check::check_threadgroup;
use super::disk::Key;
use super::{Arg, Argument, ArgumentKind, CompiledKernel, Kept, Kernel, KernelFiles, Passed, Pipeline, check};
use crate::grid::Extent;
use crate::memory::AllocationRef;
use crate::raw::host::lock;
use crate::sync::{AtomicBool, Mutex, Ordering, processors};
use crate::{Buffer, Error, Grid, Result, Size, Texture};

/// How [`Kernel::tune`] measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TuneOptions {
    /// No run begins after this time; 2 seconds by default. A kernel that takes longer for three runs of each candidate is
    /// not measured.
    pub time: Duration,
    /// The most runs of one candidate, 15 by default; at least 3 are made.
    pub runs: usize,
    /// The caller says that the kernel's results do not depend on the size of its threadgroups, and that what it is passed (threadgroup
    /// memory above all) is enough for any size: here, and by every launch over grids of the class that names no size, from now on, in
    /// every program that shares the folder of [`keep_kernels`](crate::Accelerator::keep_kernels). It is needed where dcmetal cannot know it: for MSL on Apple's Metal, and
    /// for kernels with barriers and the like. What is said wrongly makes later launches wrong.
    pub any_size: bool,
}

impl Default for TuneOptions {
    fn default() -> TuneOptions {
        TuneOptions { time: Duration::from_secs(2), runs: 15, any_size: false }
    }
}

/// What [`Kernel::tune`] found. Printed, it is a table of the candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// The kernel's name.
    pub kernel: String,
    /// The threads of the grid.
    pub threads: Size,
    /// The fastest threadgroup.
    pub size: Size,
    /// The median of its runs' times on the device.
    pub time: Duration,
    /// What was measured, the fastest first. Empty where the size was remembered, and nothing was run.
    pub candidates: Vec<Candidate>,
}

/// A threadgroup that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Threads in each dimension.
    pub size: Size,
    /// The time of each run on the device, in order. One that was much slower than others was run less often.
    pub times: Vec<Duration>,
    /// It is what a launch would choose without a measurement.
    pub advised: bool,
}

impl Candidate {
    /// The median of the times.
    pub fn median(&self) -> Duration {
        median(&self.times)
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`, {} threads: {} in {:?}", self.kernel, self.threads, self.size, self.time)?;
        if self.candidates.is_empty() {
            return f.write_str(", remembered");
        }
        for candidate in &self.candidates {
            let Candidate { size, times, advised } = candidate;
            let advised = if *advised { ", advised" } else { "" };
            let (median, runs) = (candidate.median(), times.len());
            write!(f, "\n  {:<12} median {median:?} of {runs} runs{advised}", size.to_string())?;
        }
        Ok(())
    }
}

/// Grids that share what was measured for one of them: as many threads in each dimension up to the next power of two, or,
/// where threadgroups must be whole, exactly as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct GridClass([u64; 3]);

impl GridClass {
    pub(super) fn of(threads: Size, whole_threadgroups: bool) -> GridClass {
        let class = |n: u64| if whole_threadgroups { n } else { n.next_power_of_two() };
        GridClass(threads.to_array().map(class))
    }
}

/// A measured size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tuned {
    pub(super) class: GridClass,
    pub(super) size: Size,
    pub(super) time: Duration,
    /// Somebody vouched for it ([`TuneOptions::any_size`]).
    pub(super) vouched: bool,
}

const HEADER: &str = "dcmetal threadgroup 1";

impl Tuned {
    /// As a file holds it.
    pub(super) fn to_text(self) -> String {
        let Tuned { class: GridClass([a, b, c]), size: Size { x, y, z }, time, vouched } = self;
        format!("{HEADER}\ngrid {a} {b} {c}\nsize {x} {y} {z}\nnanoseconds {}\nvouched {vouched}\n", time.as_nanos())
    }

    /// `None` for what no [`Tuned::to_text`] wrote.
    pub(super) fn of_text(text: &str) -> Option<Tuned> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        if lines.next()? != HEADER {
            return None;
        }
        let mut value = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(' ');
        let three = |text: &str| {
            let numbers: Option<Vec<u64>> = text.split(' ').map(|number| number.parse().ok()).collect();
            <[u64; 3]>::try_from(numbers?).ok()
        };
        let (grid, size) = (three(value("grid")?)?, three(value("size")?)?);
        let time = Duration::from_nanos(value("nanoseconds")?.parse().ok()?);
        let vouched = value("vouched")?.parse().ok()?;
        let tuned = Tuned { class: GridClass(grid), size: size.into(), time, vouched };
        // What is written has one form.
        (tuned.to_text() == text).then_some(tuned)
    }
}

/// The sizes that were measured for one kernel.
pub(super) struct Tunings {
    /// Whether there are any: most kernels have none, and a launch need not look.
    any: AtomicBool,
    found: Mutex<FxHashMap<GridClass, Tuned>>,
    /// The name of its files' key, where kernels are kept.
    key: Option<String>,
}

impl Tunings {
    pub(super) fn new(key: Option<String>) -> Tunings {
        Tunings { any: AtomicBool::new(false), found: Mutex::default(), key }
    }

    fn find(&self, class: GridClass) -> Option<Tuned> {
        let found = || lock(&self.found).get(&class).copied();
        if self.any.load(Ordering::Relaxed) { found() } else { None }
    }

    fn put(&self, tuned: Tuned) {
        lock(&self.found).insert(tuned.class, tuned);
        self.any.store(true, Ordering::Relaxed);
    }
}

/// The name of the files for what was measured of a kernel, from its own key.
pub(super) fn tuning_key(mut kernel: Key) -> String {
    kernel.part(HEADER.as_bytes());
    // hostmetal's devices are made of processors, as many as the process may use.
    kernel.part(&processors().to_le_bytes());
    kernel.name()
}

impl CompiledKernel {
    /// Takes what earlier processes measured.
    pub(super) fn load_tunings(&self, files: &KernelFiles) {
        let Some(key) = &self.tunings.key else { return };
        // A file may say anything.
        let usable = |tuned: &Tuned| tuned.vouched || self.depends_on_size().is_none();
        files.tunings(key).into_iter().filter(usable).for_each(|tuned| self.tunings.put(tuned));
    }

    /// Why its results may depend on the size of threadgroups. `None`: they cannot.
    fn depends_on_size(&self) -> Option<String> {
        let Ok(analysed) = self.analysed() else {
            let memory = |argument: &Argument| argument.kind == ArgumentKind::Threadgroup;
            return Some(match self.static_threadgroup_memory > 0 || self.arguments.iter().any(memory) {
                true => "it uses threadgroup memory".to_owned(),
                false => "what it does with threadgroups is unknown".to_owned(),
            });
        };
        let kinds: Vec<String> = analysed.kernel.group_dependences().iter().map(ToString::to_string).collect();
        (!kinds.is_empty()).then(|| format!("it uses {}", kinds.join(", ")))
    }
}

impl Pipeline {
    /// What was measured for such grids, if this one may use it.
    pub(super) fn tuned(&self, threads: Size) -> Option<Tuned> {
        let tuned = self.tunings.find(GridClass::of(threads, self.chooses_whole))?;
        let sides = tuned.size.to_array();
        let within = sides.iter().zip(threads.to_array()).all(|(side, n)| (1..=n).contains(side));
        (within && check_threadgroup(self, threads, tuned.size, self.chooses_whole).is_ok()).then_some(tuned)
    }

    fn remember(&self, tuned: Tuned) {
        self.tunings.put(tuned);
        if let (Some(files), Some(key)) = (self.accelerator.kernel_files(), &self.tunings.key) {
            files.keep_tuning(key, tuned);
        }
    }
}

impl Kernel {
    /// Measures which threadgroup is the fastest for launches like this one. From then on launches over grids of the same class use
    /// it, unless they name a threadgroup: as many threads in each dimension, up to the next power of two (where threadgroups
    /// must be whole, [`ThreadgroupChoice::whole_threadgroups`](crate::ThreadgroupChoice::whole_threadgroups), exactly as many). A size that was measured before is found again, also by a later
    /// process when [`Accelerator::keep_kernels`](crate::Accelerator::keep_kernels) was called before the kernel was made.
    ///
    /// The kernel runs on copies of what it was passed for writing, made anew before each run: the caller's buffers and textures
    /// stay as they are. What it prints is not kept. Copies, and the waiting for them, are not in the times, which are the
    /// device's ([`Submission::gpu_time`](crate::Submission::gpu_time)); they count as [`TuneOptions::time`].
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let source = "kernel void twice(global float *y) { y[get_global_id(0)] *= 2.0f; }";
    /// let twice = gpu.compile_opencl(source)?.kernel("twice")?;
    /// let (grid, mut y) = (Grid::linear(4096), gpu.buffer_from(&[1.0f32; 4096])?);
    /// let tuning = twice.tune(grid, args![&mut y], &TuneOptions::default())?;
    /// println!("{tuning}");
    /// assert_eq!(twice.threadgroup_for(&grid)?, tuning.size);
    /// assert_eq!(y.to_vec()?, [1.0; 4096]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotTunable`] where the results may depend on the size and [`TuneOptions::any_size`] does not say otherwise, where
    /// there is nothing to choose, or not enough time; [`Error::Unsupported`] where the platform tells no times; else as
    /// [`Kernel::launch`] and its submission.
    pub fn tune<'a>(&self, grid: Grid, args: impl AsRef<[Arg<'a>]>, options: &TuneOptions) -> Result<Tuning> {
        let (args, pipeline) = (args.as_ref(), self.pipeline());
        let refused = |why: &str| Error::NotTunable { kernel: self.name().to_owned(), why: why.to_owned() };
        check(self, &grid, args)?;
        let (Extent::Threads(threads), None) = (grid.extent, grid.threadgroup) else {
            return Err(refused("the grid names the threadgroup"));
        };
        if pipeline.required_threadgroup.is_some() {
            return Err(refused("it requires its threadgroup"));
        }
        if let (false, Some(why)) = (options.any_size, pipeline.depends_on_size()) {
            return Err(refused(&format!("its results may depend on the size of threadgroups: {why}")));
        }
        let kernel = self.name().to_owned();
        if let Some(Tuned { size, time, .. }) = pipeline.tuned(threads) {
            return Ok(Tuning { kernel, threads, size, time, candidates: Vec::new() });
        }
        let sizes = candidates(pipeline, threads);
        let mut trial = Trial::new(self, args)?;
        let begun = Instant::now();
        let run = |at: usize| trial.run(self, grid.threadgroup(sizes[at]).partial());
        let times = measure(sizes.len(), options, run, || begun.elapsed())?;
        let times = times
            .ok_or_else(|| refused(&format!("three runs of each threadgroup take longer than {:?}", options.time)))?;
        let measured = sizes.iter().zip(times).enumerate();
        let mut candidates: Vec<Candidate> =
            measured.map(|(at, (&size, times))| Candidate { size, times, advised: at == 0 }).collect();
        // Those that were run to the end first; stable, so that among equals the advice is first.
        candidates.sort_by_key(|candidate| (Reverse(candidate.times.len()), candidate.median()));
        let (size, time) = (candidates[0].size, candidates[0].median());
        if time.is_zero() {
            let text = "the device says that it took no time".to_owned();
            return Err(Error::Unsupported { what: format!("tuning kernel `{kernel}`"), text });
        }
        let class = GridClass::of(threads, pipeline.chooses_whole);
        pipeline.remember(Tuned { class, size, time, vouched: options.any_size });
        Ok(Tuning { kernel, threads, size, time, candidates })
    }
}

/// Threadgroups to try, the advised one first: multiples of the execution width by powers of two, in different shapes.
fn candidates(pipeline: &Pipeline, threads: Size) -> Vec<Size> {
    let mut sizes = vec![pipeline.advised(threads).0];
    let width = pipeline.execution_width.min(pipeline.max_threads);
    let doubled =
        |from: u64, to: u64| std::iter::successors(Some(from), |n| n.checked_mul(2)).take_while(move |n| *n <= to);
    for volume in doubled(width, pipeline.max_threads) {
        for x in doubled((width / 4).max(1), volume) {
            for y in doubled(1, volume / x) {
                let size = fit(pipeline, threads, Size { x, y, z: volume / x / y });
                // What the grid or its divisors cut to a half or less was tried as a smaller volume.
                let large = size.volume().is_some_and(|cut| cut > volume / 2);
                if large
                    && check_threadgroup(pipeline, threads, size, pipeline.chooses_whole).is_ok()
                    && !sizes.contains(&size)
                {
                    sizes.push(size);
                }
            }
        }
    }
    sizes
}

/// The threadgroup within the grid, and dividing it where it must.
fn fit(pipeline: &Pipeline, threads: Size, size: Size) -> Size {
    let limit = pipeline.accelerator.limits().max_threads_per_threadgroup.to_array();
    let [x, y, z] = [0, 1, 2].map(|at| {
        let n = threads.to_array()[at];
        side(n, size.to_array()[at].min(limit[at]), pipeline.chooses_whole)
    });
    Size { x, y, z }
}

/// The fewest runs that a median is made of.
const LEAST_RUNS: usize = 3;
/// Candidates that are left after the first turn.
const LEFT: usize = 16;

/// The times of candidates that take turns. After the first turn those are left that take at most three times as long as the
/// best, sixteen of them and the advised one; after the third and each later one those that are at most a quarter slower. A
/// turn that the time does not allow is not counted. `None`: not even three turns of those that were left.
pub(crate) fn measure(
    candidates: usize,
    options: &TuneOptions,
    mut run: impl FnMut(usize) -> Result<Duration>,
    clock: impl Fn() -> Duration,
) -> Result<Option<Vec<Vec<Duration>>>> {
    let mut times = vec![Vec::new(); candidates];
    let mut left: Vec<usize> = (0..candidates).collect();
    // What is done once only is not measured.
    run(0)?;
    for turn in 1..=options.runs.max(LEAST_RUNS) {
        let mut found = Vec::with_capacity(left.len());
        for &candidate in &left {
            if clock() >= options.time {
                return Ok((turn > LEAST_RUNS).then_some(times));
            }
            found.push(run(candidate)?);
        }
        for (&candidate, time) in left.iter().zip(found) {
            times[candidate].push(time);
        }
        let best = left.iter().map(|&candidate| median(&times[candidate])).min().unwrap_or_default();
        let slowest = match turn {
            1 => best * 3,
            LEAST_RUNS.. => best + best / 4,
            _ => continue,
        };
        left.retain(|&candidate| median(&times[candidate]) <= slowest);
        if turn == 1 && left.len() > LEFT {
            left.sort_by_key(|&candidate| (candidate > 0, times[candidate][0]));
            left.truncate(LEFT + usize::from(left[0] == 0));
            left.sort_unstable();
        }
        if turn >= LEAST_RUNS && left.len() == 1 {
            break;
        }
    }
    Ok(Some(times))
}

/// The lower of the two in the middle.
pub(crate) fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

/// The arguments of a launch with copies of what it may write.
struct Trial {
    args: Vec<Kept>,
    buffers: Vec<(AllocationRef, Buffer<u8>)>,
    textures: Vec<(Vec<u8>, Texture)>,
}

impl Trial {
    fn new(kernel: &Kernel, args: &[Arg<'_>]) -> Result<Trial> {
        let gpu = kernel.accelerator();
        let mut trial = Trial { args: args.iter().map(Kept::new).collect(), buffers: Vec::new(), textures: Vec::new() };
        for arg in args {
            match &arg.passed {
                Passed::Buffer(buffer) if buffer.writable => {
                    let known = trial.buffers.iter().any(|(original, _)| original.is(buffer.allocation));
                    if !known {
                        let (bytes, storage) = (buffer.allocation.data_bytes(), buffer.allocation.memory().storage());
                        trial.buffers.push((buffer.allocation.clone(), gpu.buffer_with(bytes, storage)?));
                    }
                }
                _ => {}
            }
        }
        for kept in &mut trial.args {
            match kept {
                // Every argument in an allocation that is written: parts of one buffer stay parts of one.
                Kept::Buffer { allocation, .. } => {
                    let copy = trial.buffers.iter().find(|(original, _)| original.is(allocation));
                    if let Some((_, copy)) = copy {
                        *allocation = copy.allocation().clone();
                    }
                }
                Kept::Texture { texture, writable: true } => {
                    let texels = texture.to_vec::<u8>()?;
                    let copy = gpu.texture_from(texture.descriptor(), &texels)?;
                    *texture = copy.share();
                    trial.textures.push((texels, copy));
                }
                _ => {}
            }
        }
        Ok(trial)
    }

    /// The time of one run, of which nothing is left.
    fn run(&mut self, kernel: &Kernel, grid: Grid) -> Result<Duration> {
        let gpu = kernel.accelerator();
        if !self.buffers.is_empty() {
            let mut batch = gpu.batch()?;
            for (original, copy) in &self.buffers {
                batch.copy_range((original, 0), (copy.allocation(), 0), original.data_bytes())?;
            }
            batch.submit()?.wait()?;
        }
        for (texels, copy) in &mut self.textures {
            copy.write_from(texels)?;
        }
        let args: Vec<Arg<'_>> =
            self.args.iter().map(|kept| kept.arg(|_| unreachable!("a launch takes no memory of graphs"))).collect();
        let submission = kernel.launch(grid, args)?;
        submission.wait()?;
        submission.gpu_time()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;
    use crate::{Accelerator, args};

    fn millis(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Times by candidate in milliseconds, time allowed, runs allowed; the runs that are made, and the times by candidate.
    type Case = (&'static str, &'static [u64], u64, usize, &'static [usize], Option<&'static [usize]>);

    const CASES: &[Case] = &[
        ("one", &[7], 1000, 15, &[0, 0, 0, 0], Some(&[3])),
        // The third leaves after a turn, the first after three; then the second is alone.
        ("slow ones leave", &[10, 5, 16], 1000, 15, &[0, 0, 1, 2, 0, 1, 0, 1], Some(&[3, 3, 1])),
        ("what is little slower stays", &[10, 12], 1000, 5, &[0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1], Some(&[5, 5])),
        ("three runs at least", &[10, 10], 1000, 0, &[0, 0, 1, 0, 1, 0, 1], Some(&[3, 3])),
        // 10 to begin with, then 20 a turn: the fourth turn begins at 70 and has no time for its second run.
        ("a turn that is cut does not count", &[10, 10], 75, 15, &[0, 0, 1, 0, 1, 0, 1, 0], Some(&[3, 3])),
        ("not enough time", &[10, 10], 55, 15, &[0, 0, 1, 0, 1, 0], None),
        ("no time", &[10, 10], 0, 15, &[0], None),
    ];

    fn run(times: &[u64], time: u64, runs: usize) -> (Vec<usize>, Option<Vec<Vec<Duration>>>) {
        let (now, made) = (Cell::new(0), RefCell::new(Vec::new()));
        let run = |at: usize| {
            made.borrow_mut().push(at);
            now.set(now.get() + times[at]);
            Ok(millis(times[at]))
        };
        let options = TuneOptions { time: millis(time), runs, any_size: false };
        let found = measure(times.len(), &options, run, || millis(now.get())).expect("no run fails");
        (made.into_inner(), found)
    }

    #[test]
    fn candidates_take_turns_within_the_time() {
        for &(name, times, time, runs, wanted, counts) in CASES {
            let (made, found) = run(times, time, runs);
            assert_eq!(made, wanted, "{name}");
            let found = found.map(|found| found.iter().map(Vec::len).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), counts, "{name}");
        }
        // Of many the best sixteen go on, and the advised one.
        let times: Vec<u64> = (0..40).map(|at| if at == 0 { 145 } else { 140 - at }).collect();
        let (_, found) = run(&times, 1_000_000, 3);
        let counts: Vec<usize> = found.expect("time enough").iter().map(Vec::len).collect();
        let wanted: Vec<usize> = (0..40).map(|at| if at == 0 || at >= 24 { 3 } else { 1 }).collect();
        assert_eq!(counts, wanted);
        let failing = |_| Err(Error::EmptyBuffer);
        assert!(matches!(measure(2, &TuneOptions::default(), failing, || millis(0)), Err(Error::EmptyBuffer)));
    }

    #[test]
    fn medians_are_the_lower_of_the_two_in_the_middle() {
        for (times, wanted) in [(&[3u64][..], 3), (&[9, 1], 1), (&[5, 1, 9], 5), (&[4, 8, 2, 6], 4)] {
            let times: Vec<Duration> = times.iter().copied().map(millis).collect();
            assert_eq!(median(&times), millis(wanted));
        }
    }

    #[test]
    fn grids_of_a_class_have_one_power_of_two_or_are_equal() {
        let class = |n: u64, whole| GridClass::of(Size { x: n, y: 1, z: n + 2 }, whole);
        assert_eq!(class(1000, false), class(1020, false));
        assert_eq!(class(513, false), class(1022, false));
        assert_ne!(class(512, false), class(513, false));
        assert_ne!(class(1000, true), class(1001, true));
        assert_eq!(class(1000, true), class(1000, true));
    }

    #[test]
    fn texts_are_read_as_they_were_written_and_no_others() {
        let class = GridClass([1024, 1, u64::MAX]);
        let tuned = Tuned { class, size: Size { x: 64, y: 2, z: 1 }, time: millis(3), vouched: true };
        let text =
            "dcmetal threadgroup 1\ngrid 1024 1 18446744073709551615\nsize 64 2 1\nnanoseconds 3000000\nvouched true\n";
        assert_eq!((tuned.to_text(), Tuned::of_text(text)), (text.to_owned(), Some(tuned)));
        for (from, to) in [
            ("dcmetal threadgroup 1", "dcmetal threadgroup 2"),
            ("1024 1 1", "1024 1"),
            ("size 64 2 1", "size 64 2 1 1"),
            ("size 64", "size 064"),
            ("size 64", "size +64"),
            ("size 64", "size -64"),
            ("size", "Size"),
            ("18446744073709551615", "18446744073709551616"),
            ("true", "yes"),
            ("vouched true\n", "vouched true"),
            ("vouched true\n", "vouched true\n\n"),
            ("vouched true\n", ""),
            ("3000000", "3e6"),
        ] {
            assert!(text.contains(from));
            assert_eq!(Tuned::of_text(&text.replacen(from, to, 1)), None, "{from:?} as {to:?}");
        }
    }

    /// What a launch really uses, by a kernel that tells.
    #[test]
    fn launches_use_what_was_measured() {
        let gpu = Accelerator::system_default().expect("a Metal device");
        let source = "kernel void k(global uint* y) { y[get_global_id(0)] = (uint)get_local_size(0); }";
        let library = gpu.compile_opencl(source).unwrap_or_else(|error| panic!("{error}"));
        let kernel = library.kernel("k").unwrap_or_else(|error| panic!("{error}"));
        let mut y = gpu.buffer_zeroed::<u32>(96).expect("a buffer");
        let mut seen = |grid: Grid| {
            kernel.launch(grid, args![&mut y]).and_then(|submission| submission.wait()).expect("it runs");
            let seen = y.to_vec().expect("it ran");
            (seen[0], kernel.threadgroup_for(&grid).map(|size| size.x).expect("it fits"))
        };
        let grid = Grid::linear(96);
        assert_eq!(seen(grid), (96, 96), "advised");
        let class = GridClass::of(Size::from(96u32), true);
        let remember = |size: [u64; 3]| {
            kernel.pipeline().remember(Tuned { class, size: size.into(), time: millis(1), vouched: true });
        };
        remember([32, 1, 1]);
        assert_eq!(seen(grid), (32, 32), "measured");
        assert_eq!(seen(grid.threadgroup(48u32)), (48, 48), "named");
        assert_eq!(seen(Grid::linear(95)), (95, 95), "another grid");
        remember([16, 1, 1]);
        assert_eq!(seen(grid), (16, 16), "measured again");
        // What fits no launch is not used.
        for size in [[0, 1, 1], [64, 1, 1], [96, 2, 1], [192, 1, 1], [u64::MAX, 1, 1]] {
            remember(size);
            assert_eq!(seen(grid), (96, 96), "{size:?}");
        }
    }
}
