//! Which implementation is the faster for an operation: measured when it is asked for, and remembered for operations of its class. Of products choice.rs knows more.
//!
//! A class is what times depend on: the operation with its options, types, whether elements follow each other, and extents up to the next power of two. What was
//! measured lies in the folder of [`keep_kernels`](crate::Accelerator::keep_kernels) as well, as it does of products.

use std::fmt;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::layout::{Layout, MAX_RANK};
use super::{Implementation, Operation};
use crate::kernel::{KernelFiles, Scalar, measure, median};
use crate::raw::host::lock;
use crate::sync::{Mutex, processors};
use crate::{Accelerator, Error, Result, TuneOptions};

/// Options of an operation that its time depends on.
const OPTIONS: usize = 11;

/// Operations that share what was measured for one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Class {
    operation: &'static str,
    /// Of arguments and results.
    scalars: [Scalar; 2],
    rank: usize,
    /// Of the largest argument, up to the next power of two.
    extents: [usize; MAX_RANK],
    /// Its elements, and those of the result, follow each other.
    in_line: [bool; 2],
    options: [usize; OPTIONS],
}

impl Class {
    /// # Panics
    /// For more options than a class has.
    pub(super) fn of(operation: &'static str, scalars: [Scalar; 2], [x, y]: [&Layout; 2], options: &[usize]) -> Class {
        let mut class = Class {
            operation,
            scalars,
            rank: x.rank(),
            extents: [1; MAX_RANK],
            in_line: [x.is_contiguous(), y.is_contiguous()],
            options: [0; OPTIONS],
        };
        for (to, extent) in class.extents.iter_mut().zip(x.extents()) {
            *to = extent.next_power_of_two();
        }
        class.options[..options.len()].copy_from_slice(options);
        class
    }

    /// The name of its file's key.
    fn key(&self, files: &KernelFiles) -> String {
        let mut key = files.key();
        key.part(b"dcmetal operation 1");
        key.part(format!("{self:?} of {}", processors()).as_bytes());
        key.name()
    }
}

/// What an accelerator knows of operations other than products.
#[derive(Default)]
pub(crate) struct OperationChoices {
    /// The faster; `None` for a class of which nothing is in the folder.
    known: Mutex<FxHashMap<Class, Option<Implementation>>>,
}

impl OperationChoices {
    fn find(&self, gpu: &Accelerator, class: Class) -> Option<Implementation> {
        if let Some(known) = lock(&self.known).get(&class) {
            return *known;
        }
        let files = gpu.kernel_files()?;
        let found = files.choice(&class.key(files)).and_then(|text| of_text(&text));
        lock(&self.known).insert(class, found);
        found
    }

    fn remember(&self, gpu: &Accelerator, class: Class, faster: Implementation) {
        if let Some(files) = gpu.kernel_files() {
            files.keep_choice(&class.key(files), &format!("{faster:?}\n"));
        }
        lock(&self.known).insert(class, Some(faster));
    }
}

const BOTH: [Implementation; 2] = [Implementation::Kernels, Implementation::PerformanceShaders];

/// `None` for what was not written of an implementation.
fn of_text(text: &str) -> Option<Implementation> {
    BOTH.into_iter().find(|one| format!("{one:?}\n") == text)
}

/// The operation by what is asked for, or by what was measured to be the faster if it can: `make` makes it by either.
pub(super) fn choose<'a>(
    (gpu, class, by): (&Accelerator, Class, Implementation),
    make: impl Fn(Implementation) -> Result<Operation<'a>>,
) -> Result<Operation<'a>> {
    let by_shaders = || gpu.choices().find(gpu, class) == Some(Implementation::PerformanceShaders);
    let mut operation = match by {
        Implementation::Measured if by_shaders() => match make(Implementation::PerformanceShaders) {
            Err(Error::Unsupported { .. }) => make(Implementation::Kernels)?,
            made => made?.or_kernels(|| make(Implementation::Kernels))?,
        },
        Implementation::Measured => make(Implementation::Kernels)?,
        _ => make(by)?,
    };
    operation.class = Some(class);
    Ok(operation)
}

/// One run of an operation that [`tune_operation`] measures.
#[derive(Debug)]
pub struct Trial {
    by: Implementation,
    ran: Option<(Accelerator, Class, Duration)>,
}

impl Trial {
    /// What the operation is to be made by.
    pub fn implementation(&self) -> Implementation {
        self.by
    }

    /// Runs the operation to its end.
    ///
    /// # Errors
    /// As [`Operation::submit`], and of what was submitted; [`Error::NotTunable`] for an operation that is not [by what is asked for](Trial::implementation), a product (which
    /// [`tune_product`](super::tune_product) measures), and what has kernels alone.
    pub fn run(&mut self, operation: Operation<'_>) -> Result<()> {
        let refused = |why: &str| Error::NotTunable { kernel: "operation".to_owned(), why: why.to_owned() };
        let class = operation
            .class
            .ok_or_else(|| refused("it is a product, which `tune_product` measures, or has one implementation"))?;
        if operation.implementation() != self.by {
            return Err(refused("it is not by what the trial asks for"));
        }
        let gpu = operation.accelerator.clone();
        let submission = operation.submit()?;
        submission.wait()?;
        self.ran = Some((gpu, class, submission.gpu_time()?));
        Ok(())
    }
}

/// What [`tune_operation`] found. Printed, it is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationTuning {
    /// The faster.
    pub implementation: Implementation,
    /// Each implementation with the times of its runs on the device, the faster first; Metal Performance Shaders where they can compute the operation. Empty where the
    /// faster was remembered, and nothing was measured.
    pub candidates: Vec<(Implementation, Vec<Duration>)>,
}

impl fmt::Display for OperationTuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.implementation)?;
        if self.candidates.is_empty() {
            return f.write_str(", remembered");
        }
        for (by, times) in &self.candidates {
            write!(f, "\n  {by:?}: median {:?} of {} runs", median(times), times.len())?;
        }
        Ok(())
    }
}

/// Measures which implementation of an operation is the faster. From then on operations of its class use it on this accelerator, unless they say what to use: of the same
/// types and options, with elements that follow each other or do not, as here, and with extents up to the same powers of two. With
/// [`keep_kernels`](crate::Accelerator::keep_kernels), called before, later processes use it too. Of products [`tune_product`](super::tune_product) measures more.
///
/// `run` makes the operation anew for each run, by what the [`Trial`] asks for, and gives it to the trial. What it writes is written, each time, and a
/// product that adds to what y holds adds to what the run before left there: give it tensors of its own, as large as those that are meant. A graph is measured as it is run, in a submission of its own, which is not in the time: times are the device's
/// ([`Submission::gpu_time`](crate::Submission::gpu_time)). [`TuneOptions::any_size`] means nothing here.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// use dcmetal::tensor::{Tensor, TensorMut, softmax, softmax_by, tune_operation};
/// let gpu = dcmetal::Accelerator::system_default()?;
/// let (x, mut y) = (gpu.buffer_from(&[1.0f32; 4096])?, gpu.buffer_zeroed::<f32>(4096)?);
/// let (x, mut y) = (Tensor::new(&x, &[64, 64])?, TensorMut::new(&mut y, &[64, 64])?);
/// let options = dcmetal::TuneOptions::default();
/// let tuning = tune_operation(&options, |trial| trial.run(softmax_by(x, y.reborrow(), trial.implementation())?))?;
/// println!("{tuning}");
/// assert_eq!(softmax(x, y)?.implementation(), tuning.implementation);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of `run`, but for [`Error::Unsupported`] of what Metal Performance Shaders cannot compute; [`Error::NotTunable`] where it runs nothing, or something of another class each time, and where there is
/// not enough time; [`Error::Unsupported`] where the platform tells no times.
pub fn tune_operation(options: &TuneOptions, mut run: impl FnMut(&mut Trial) -> Result<()>) -> Result<OperationTuning> {
    let refused = |why: String| Error::NotTunable { kernel: "operation".to_owned(), why };
    let mut run = |by: Implementation| {
        let mut trial = Trial { by, ran: None };
        run(&mut trial)?;
        trial.ran.ok_or_else(|| refused("nothing was run".to_owned()))
    };
    let (gpu, class, _) = run(Implementation::Kernels)?;
    if let Some(implementation) = gpu.choices().find(&gpu, class) {
        return Ok(OperationTuning { implementation, candidates: Vec::new() });
    }
    let mut run = |by: Implementation| match run(by)? {
        (other, of, time) if other.is(&gpu) && of == class => Ok(time),
        _ => Err(refused("it was of another class each time".to_owned())),
    };
    let all = match run(Implementation::PerformanceShaders) {
        Err(Error::Unsupported { .. }) => &BOTH[..1],
        outcome => outcome.map(|_| &BOTH[..])?,
    };
    let begun = Instant::now();
    let times = measure(all.len(), options, |at| run(all[at]), || begun.elapsed())?;
    let times = times
        .ok_or_else(|| refused(format!("three runs of each implementation take longer than {:?}", options.time)))?;
    let mut candidates: Vec<(Implementation, Vec<Duration>)> = all.iter().copied().zip(times).collect();
    candidates.sort_by_key(|(_, times)| (std::cmp::Reverse(times.len()), median(times)));
    if median(&candidates[0].1).is_zero() {
        let text = "the device says that it took no time".to_owned();
        return Err(Error::Unsupported { what: "tuning an operation".to_owned(), text });
    }
    gpu.choices().remember(&gpu, class, candidates[0].0);
    Ok(OperationTuning { implementation: candidates[0].0, candidates })
}

#[cfg(test)]
#[path = "measured_tests.rs"]
mod tests;
