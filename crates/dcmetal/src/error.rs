//! Everything that can go wrong, as one enum: what was asked, what was wanted, what was got, and Metal's own words.
//!
//! A wrong kernel or launch is told before anything runs. A submission that failed on the device is
//! [`Error::Submission`]; the buffers it was to write then answer [`Error::Faulted`] instead of handing out what it left.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{Access, ArgumentKind, PixelFormat, Size, StorageMode};

/// `std::result::Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An argument of a kernel: where an argument error points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kernel's name, as the caller wrote it.
    pub kernel: String,
    /// The argument's name in the kernel's source.
    pub argument: String,
    /// Its position in the argument list, from 0.
    pub position: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`, argument {} (`{}`)", self.kernel, self.position, self.argument)
    }
}

/// Why a call of this crate did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This machine has no Metal device, or no longer the one that something was asked of.
    #[error("no Metal device: {text}")]
    NoDevice {
        /// Metal's words.
        text: String,
    },
    /// Metal refused a call for a reason that has no variant of its own.
    #[error("{call}: {text} ({domain}, code {code})")]
    Metal {
        /// What was being done.
        call: &'static str,
        /// The `NSError`'s domain, an exception's name, or `DCMetal`.
        domain: String,
        /// The code within the domain.
        code: i64,
        /// Metal's words.
        text: String,
    },
    /// Metal had no memory for an object.
    #[error("out of memory: {bytes} bytes: {text}")]
    OutOfMemory {
        /// How much was asked for.
        bytes: u64,
        /// Metal's words.
        text: String,
    },
    /// The device, the system, or this crate cannot do what was asked.
    #[error("{what} is not supported: {text}")]
    Unsupported {
        /// What was asked.
        what: String,
        /// Why not, or Metal's words.
        text: String,
    },

    /// MSL source did not compile.
    #[error("{name} does not compile:\n{log}")]
    Compile {
        /// The source's name from the compile options.
        name: String,
        /// The compiler's whole log.
        log: String,
    },
    /// OpenCL C source has errors.
    #[error("{diagnostics}")]
    OpenCl {
        /// The source's name.
        name: String,
        /// Every diagnostic as `file:line:col: error: text` with the source line and a caret.
        diagnostics: String,
        /// How many of them are errors.
        errors: usize,
    },
    /// Metal's compiler rejected what the translator made of accepted OpenCL C: a defect of the translator.
    #[error(
        "{name}: the translation to MSL was rejected by Metal's compiler (a defect of dcmetal, please report it):\n{log}"
    )]
    TranslationRejected {
        /// The OpenCL C source's name.
        name: String,
        /// The compiler's whole log.
        log: String,
    },
    /// A library has no kernel of that name.
    #[error("{library} has no kernel `{kernel}`; it has: {}", names(.known))]
    KernelNotFound {
        /// The name asked for.
        kernel: String,
        /// The library's name.
        library: String,
        /// The kernels it has.
        known: Vec<String>,
    },
    /// Metal could not make a pipeline of a kernel.
    #[error("kernel `{kernel}`: no pipeline: {text} ({domain}, code {code})")]
    Pipeline {
        /// The kernel's name.
        kernel: String,
        /// The `NSError`'s domain.
        domain: String,
        /// The code within the domain.
        code: i64,
        /// Metal's words.
        text: String,
    },

    /// A launch with too few or too many arguments.
    #[error("kernel `{kernel}` takes {wanted} arguments ({}), got {got}", names(.arguments))]
    ArgumentCount {
        /// The kernel's name.
        kernel: String,
        /// How many it takes.
        wanted: usize,
        /// How many were given.
        got: usize,
        /// Their names in order.
        arguments: Vec<String>,
    },
    /// A buffer where a value is wanted, or the like.
    #[error("{place}: wants {wanted}, got {got}")]
    ArgumentKind {
        /// Which argument.
        place: Box<Place>,
        /// What the kernel declares.
        wanted: ArgumentKind,
        /// What was given.
        got: &'static str,
    },
    /// Elements or a value of another type than the kernel declares.
    #[error("{place}: wants `{wanted}`, got `{got}`{}", hint(.wanted, .got))]
    ArgumentType {
        /// Which argument.
        place: Box<Place>,
        /// The type in the kernel.
        wanted: String,
        /// The type that was given.
        got: String,
    },
    /// A value whose size differs from the parameter's.
    #[error("{place}: wants a value of {wanted} bytes, got {got}")]
    ArgumentSize {
        /// Which argument.
        place: Box<Place>,
        /// The parameter's size in bytes.
        wanted: u64,
        /// The value's size in bytes.
        got: u64,
    },
    /// A value above the 4096 bytes that Metal copies into a command; a buffer takes more.
    #[error("{place}: a value of {got} bytes is above Metal's limit of {limit}; pass a buffer")]
    ValueTooLarge {
        /// Which argument.
        place: Box<Place>,
        /// The value's size in bytes.
        got: u64,
        /// Metal's limit in bytes.
        limit: u64,
    },
    /// A buffer or view that does not hold even one element of the kernel's type.
    #[error("{place}: one element has {wanted} bytes, the buffer has {got}")]
    BufferTooShort {
        /// Which argument.
        place: Box<Place>,
        /// One element's size in bytes.
        wanted: u64,
        /// The buffer's or view's size in bytes.
        got: u64,
    },
    /// A view that begins at an offset the kernel's type cannot be at.
    #[error("{place}: wants an alignment of {wanted} bytes, the view begins at byte {got}")]
    ArgumentAlignment {
        /// Which argument.
        place: Box<Place>,
        /// The alignment of the kernel's type in bytes.
        wanted: u64,
        /// The view's offset in its buffer in bytes.
        got: u64,
    },
    /// A kernel writes what it was only lent for reading (`&buffer`, a view, or a value).
    #[error("{place}: the kernel has {access} access, got {got}; pass `&mut`")]
    ArgumentReadOnly {
        /// Which argument.
        place: Box<Place>,
        /// How the kernel uses it.
        access: Access,
        /// What was given.
        got: &'static str,
    },
    /// Texels read or written as a type whose size does not divide theirs.
    #[error("texels of {format} have {wanted} bytes, `{name}` has {got}")]
    TexelSize {
        /// The texture's format.
        format: PixelFormat,
        /// Bytes of a texel.
        wanted: usize,
        /// The type.
        name: &'static str,
        /// Its size in bytes.
        got: usize,
    },
    /// A kernel, buffer or batch that belongs to another [`Accelerator`](crate::Accelerator).
    #[error("{what} belongs to another accelerator")]
    Foreign {
        /// What it is.
        what: String,
    },

    /// A grid or threadgroup with a dimension of 0.
    #[error("kernel `{kernel}`: {what} of {got}: no dimension may be 0")]
    GridZero {
        /// The kernel's name.
        kernel: String,
        /// `a grid` or `a threadgroup`.
        what: &'static str,
        /// What was given.
        got: Size,
    },
    /// More threads in one dimension than a thread position can count.
    #[error("kernel `{kernel}`: a grid of {got} threads; a dimension has at most {limit}")]
    GridTooLarge {
        /// The kernel's name.
        kernel: String,
        /// The threads of the grid, or `u64::MAX` where they do not fit.
        got: Size,
        /// The limit of one dimension.
        limit: u64,
    },
    /// A threadgroup above the limit of the device or of the kernel's pipeline.
    #[error("kernel `{kernel}`: a threadgroup of {got}: the {what} is {limit}")]
    ThreadgroupTooLarge {
        /// The kernel's name.
        kernel: String,
        /// The threadgroup given.
        got: Size,
        /// Which limit.
        what: &'static str,
        /// Its value: threads.
        limit: u64,
    },
    /// A kernel declared with `reqd_work_group_size` was given another size.
    #[error("kernel `{kernel}` requires threadgroups of {wanted}, got {got}")]
    ThreadgroupRequired {
        /// The kernel's name.
        kernel: String,
        /// The size in its attribute.
        wanted: Size,
        /// The threadgroup given.
        got: Size,
    },
    /// A kernel declared with `intel_reqd_sub_group_size` on a device whose SIMD groups have another width.
    #[error("kernel `{kernel}` requires sub-groups of {wanted}, the SIMD groups of its pipeline have {got} threads")]
    SubGroupSizeRequired {
        /// The kernel's name.
        kernel: String,
        /// The size in its attribute.
        wanted: u32,
        /// The pipeline's thread execution width.
        got: u64,
    },
    /// An OpenCL C 1.2 kernel whose global size is no multiple of the local size.
    #[error(
        "kernel `{kernel}`: OpenCL C 1.2 wants a grid that is a multiple of the threadgroup, got {threads} threads in threadgroups of {threadgroup}"
    )]
    ThreadgroupUneven {
        /// The kernel's name.
        kernel: String,
        /// The grid.
        threads: Size,
        /// The threadgroup.
        threadgroup: Size,
    },
    /// A kernel's threadgroup cannot be chosen by measuring ([`Kernel::tune`](crate::Kernel::tune)).
    #[error("kernel `{kernel}` cannot be tuned: {why}")]
    NotTunable {
        /// The kernel's name.
        kernel: String,
        /// Why not.
        why: String,
    },
    /// More threadgroup memory than the device has.
    #[error(
        "kernel `{kernel}`: {fixed} bytes of threadgroup memory in the kernel and {dynamic} by arguments; the device has {limit}"
    )]
    ThreadgroupMemory {
        /// The kernel's name.
        kernel: String,
        /// Declared in the kernel, bytes.
        fixed: u64,
        /// From the arguments, each rounded up to 16 bytes.
        dynamic: u64,
        /// The device's limit in bytes.
        limit: u64,
    },

    /// A buffer without elements; Metal has none.
    #[error("a buffer of 0 bytes")]
    EmptyBuffer,
    /// A buffer above the device's limit.
    #[error("a buffer of {bytes} bytes; the device's limit is {limit}")]
    BufferTooLarge {
        /// What was asked for; `u64::MAX` where it does not fit.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A range outside a buffer.
    #[error("elements {start}..{end} of a buffer of {len}")]
    OutOfBounds {
        /// First element.
        start: usize,
        /// One past the last.
        end: usize,
        /// The buffer's length in elements.
        len: usize,
    },
    /// Two lengths that must agree.
    #[error("{what}: wants {wanted} elements, got {got}")]
    LengthMismatch {
        /// What was being done.
        what: &'static str,
        /// The length it takes.
        wanted: usize,
        /// The length given.
        got: usize,
    },
    /// A tensor that cannot be, or tensors that an operation cannot be of.
    #[error("{operation}: {text}")]
    Shape {
        /// The operation ([`tensor`](crate::tensor)), or `a tensor`.
        operation: &'static str,
        /// What does not fit, with the shapes.
        text: String,
    },
    /// A view of another type, a copy or a fill that begins or ends between two units.
    #[error("{what}: byte {offset} is no multiple of {wanted}")]
    Alignment {
        /// What was being done.
        what: &'static str,
        /// The unit in bytes.
        wanted: usize,
        /// The offset or length in bytes.
        offset: usize,
    },
    /// The host asked for the contents of a buffer it cannot see.
    #[error("a buffer of {storage} storage has no contents on the host; use `to_vec`, `write_from` or `Batch::copy`")]
    NotHostVisible {
        /// The buffer's storage mode.
        storage: StorageMode,
    },
    /// The buffer is in use on the other side.
    #[error("the buffer {by}")]
    BufferInUse {
        /// Who uses it.
        by: &'static str,
    },
    /// The buffer holds what a failed submission left in it.
    #[error("the buffer was to be written by a submission that failed: {cause}")]
    Faulted {
        /// That submission's error.
        cause: Arc<SubmissionError>,
    },

    /// A submission that was to signal the event failed first, so the value will not be reached.
    #[error("the event was to be signaled by a submission that failed: {cause}")]
    EventFaulted {
        /// That submission's error.
        cause: Arc<SubmissionError>,
    },
    /// Nobody can signal the event any more: every clone of it and every submission that uses it have gone.
    #[error("the event was dropped before it had the value")]
    EventDropped,

    /// A folder cannot be used to keep kernels in.
    #[error("kernels cannot be kept in {}: {text}", folder.display())]
    KernelFolder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        text: String,
    },

    /// A submission failed on the device.
    #[error("{0}")]
    Submission(Arc<SubmissionError>),
    /// A submission did not finish in time; it keeps running.
    #[error("the submission did not finish within {waited:?}; it is still running")]
    Timeout {
        /// The limit given.
        waited: Duration,
    },
    /// A library or kernel was not made in time. Its compilation goes on, and what it makes is kept for whoever asks next.
    #[error("{what} was not compiled within {waited:?}; its compilation goes on")]
    CompileTimeout {
        /// The source's or the kernel's name.
        what: String,
        /// The limit given.
        waited: Duration,
    },
    /// The system starts no more threads for this process.
    #[error("no thread to {call}: {text}")]
    NoThread {
        /// What was being done.
        call: &'static str,
        /// The system's words.
        text: String,
    },
    /// A figure that exists only when the submission has finished.
    #[error("the submission has not finished")]
    NotFinished,
    /// What a kernel had printed is gone: it wrote outside its own buffers.
    #[error("what was printed cannot be read: a kernel wrote over it")]
    PrintBuffer,
    /// Every device failed again and again lately and is left alone for a while
    /// ([`Recovery`](crate::Recovery)).
    #[error("every device failed repeatedly and is left alone for a while")]
    DevicesPaused,
    /// Nodes of a graph wait for each other.
    #[error("nodes of the graph wait for each other: {}, and again", names(.nodes))]
    GraphCycle {
        /// Each waits for the one before it, and the first for the last.
        nodes: Vec<String>,
    },
    /// Two nodes of a graph write the same memory, and nothing says which of them comes last: see [`GraphBuilder`](crate::GraphBuilder).
    #[error(
        "{second} overwrites what {first} writes to `{memory}`, bytes {} to {}, before anybody reads it; where that is meant, `order` the two",
        .bytes.start, .bytes.end
    )]
    GraphOverwritten {
        /// The node recorded first.
        first: String,
        /// The other.
        second: String,
        /// What they write.
        memory: String,
        /// And which part of it.
        bytes: Range<usize>,
    },
    /// A node of a graph reads memory of the graph's that no node before it writes.
    #[error("{node} reads `{memory}`, and no node before it writes all of that")]
    GraphUnwritten {
        /// The node.
        node: String,
        /// What it reads.
        memory: String,
    },
    /// A node of a graph writes bytes that it also uses otherwise.
    #[error("{node} is given the same part of `{memory}` twice and writes it")]
    GraphAliased {
        /// The node.
        node: String,
        /// What it was given.
        memory: String,
    },
    /// A node or memory of another graph.
    #[error("{what} belongs to another graph")]
    GraphForeign {
        /// What it is.
        what: String,
    },
    /// A step of the host's in a graph ended with an error.
    #[error("the step `{step}` failed: {text}")]
    HostStep {
        /// The step.
        step: String,
        /// Its error.
        text: String,
    },
    /// A stream has so much in flight that it takes no further launch without waiting.
    #[error("the stream has {submissions} submissions of {bytes} bytes in flight")]
    StreamFull {
        /// Batches in the making and submissions uncompleted.
        submissions: usize,
        /// Bytes of the submissions.
        bytes: u64,
    },
    /// More batches open at once than Metal's queue has command buffers for.
    #[error("{limit} batches are open; submit or drop one first")]
    TooManyBatches {
        /// How many may be open.
        limit: usize,
    },
    /// The queue is full of submissions behind one that waits for an event's value, which nothing that was submitted signals: one more would wait for
    /// somebody who may be the very thread that asks.
    #[error(
        "the queue is full: its {limit} submissions stand behind one that waits for an event, which nothing submitted signals"
    )]
    QueueFull {
        /// How many it holds.
        limit: usize,
    },
}

/// Whose move it is after an error, for exit codes and retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The kernel's source or the launch is wrong; the same call fails again.
    User,
    /// The device, Metal or the machine failed, or the kernel did while it ran; the same call will most likely fail again.
    Device,
    /// The device or Metal failed in a way that is not the work's: the same call may succeed.
    Transient,
    /// Memory, or another thing of which there is so much, is used up; the same call may succeed once some is given back.
    Resource,
    /// The device is gone, or no longer open to this process.
    DeviceLost,
    /// Time ran out; the work is still running.
    Timeout,
    /// Not possible on this device, or not covered.
    Unsupported,
}

impl Error {
    /// Whose move it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::OutOfMemory { .. }
            | Error::TooManyBatches { .. }
            | Error::QueueFull { .. }
            | Error::StreamFull { .. }
            | Error::NoThread { .. } => ErrorKind::Resource,
            Error::DevicesPaused => ErrorKind::Transient,
            Error::NoDevice { .. } => ErrorKind::DeviceLost,
            Error::Faulted { cause } | Error::EventFaulted { cause } | Error::Submission(cause) => cause.kind(),
            Error::Metal { domain, code, .. } | Error::Pipeline { domain, code, .. } => of_metal(domain, *code),
            Error::TranslationRejected { .. } => ErrorKind::Device,
            Error::Timeout { .. } | Error::CompileTimeout { .. } | Error::NotFinished => ErrorKind::Timeout,
            Error::Unsupported { .. } | Error::SubGroupSizeRequired { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::User,
        }
    }
}

/// What an error of Metal's means that came from a call, not from a command buffer (Apple, `MTLLibraryError.Code`, `MTLBinaryArchiveError.Code`).
pub(crate) fn of_metal(domain: &str, code: i64) -> ErrorKind {
    const NO_OBJECT: i64 = dcmetal_sys::DC_METAL_OUT_OF_MEMORY.0 as i64;
    match (domain, code) {
        // No queue, command buffer or encoder: Metal's answer when there are too many, or no memory for them.
        ("DCMetal", NO_OBJECT) => ErrorKind::Resource,
        ("MTLLibraryErrorDomain", 1) => ErrorKind::Unsupported,
        // Internal: the compiler failed, not the source.
        ("MTLLibraryErrorDomain", 2) | ("MTLBinaryArchiveDomain", 4) => ErrorKind::Transient,
        // No such function, no such file; a file that is no archive, what cannot be in one, what does not compile for one.
        ("MTLLibraryErrorDomain", 5 | 6) | ("MTLBinaryArchiveDomain", 1..=3) => ErrorKind::User,
        // Among others code that a library took and the device's compiler does not (3), which another device's may.
        _ => ErrorKind::Device,
    }
}

/// How a command encoder of a failed submission ended, Metal's `MTLCommandEncoderErrorState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncoderState {
    /// Metal does not tell.
    Unknown,
    /// Its commands completed.
    Completed,
    /// Its commands were affected by a fault elsewhere.
    Affected,
    /// It had not started.
    Pending,
    /// The fault is in it.
    Faulted,
}

/// One encoder of a failed submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncoderReport {
    /// Its label: the names of the kernels it ran, or what it copied.
    pub label: String,
    /// How it ended.
    pub state: EncoderState,
}

/// What Metal said about a submission that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmissionError {
    /// The kernels it launched, each once, in order.
    pub kernels: Vec<String>,
    /// Its encoders, in order, as far as Metal names them.
    pub encoders: Vec<EncoderReport>,
    /// The `NSError`'s domain, usually `MTLCommandBufferErrorDomain`.
    pub domain: String,
    /// The code within the domain, for instance a `MTLCommandBufferError`.
    pub code: i64,
    /// Metal's words.
    pub text: String,
    /// What it was made of, a line for each command with its arguments, the last 1,000: empty unless
    /// [`Accelerator::set_history`](crate::Accelerator::set_history) asked for it. Printed by `{:#}`.
    pub commands: Vec<String>,
    /// The earlier submission whose results this one was to use, when that one failed and this one by itself did not.
    pub caused_by: Option<Arc<SubmissionError>>,
}

impl SubmissionError {
    /// What `MTLCommandBufferError` makes of it (Apple, `MTLCommandBufferError.Code`), of the first failure when this one followed from it.
    pub fn kind(&self) -> ErrorKind {
        if let Some(cause) = &self.caused_by {
            return cause.kind();
        }
        if self.domain != "MTLCommandBufferErrorDomain" {
            return ErrorKind::Device;
        }
        match self.code {
            // Internal: also what a GPU reports to those whose work it dropped for somebody else's fault ("InnocentVictim").
            // Not permitted: work in the background, which is permitted again later.
            1 | 7 => ErrorKind::Transient,
            // Out of memory; memory-less storage used up.
            8 | 10 => ErrorKind::Resource,
            // Access revoked; device removed.
            4 | 11 => ErrorKind::DeviceLost,
            // Timeout, page fault, invalid resource, stack overflow: the kernel's doing.
            _ => ErrorKind::Device,
        }
    }
}

impl fmt::Display for SubmissionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kernels.as_slice() {
            [] => write!(f, "the submission failed: ")?,
            [kernel] => write!(f, "kernel `{kernel}` failed: ")?,
            kernels => write!(f, "the submission of kernels {} failed: ", names(kernels))?,
        }
        write!(f, "{} ({}, code {})", self.text, self.domain, self.code)?;
        for encoder in self.encoders.iter().filter(|e| e.state == EncoderState::Faulted) {
            write!(f, "; faulted encoder: {}", encoder.label)?;
        }
        if f.alternate() {
            self.commands.iter().try_for_each(|command| write!(f, "\n  {command}"))?;
        }
        match &self.caused_by {
            Some(cause) if f.alternate() => write!(f, "\nbecause {cause:#}"),
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SubmissionError {}

/// `` `a`, `b` ``, or `none`.
fn names(list: &[String]) -> String {
    if list.is_empty() {
        return "none".to_owned();
    }
    list.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A way out where two integer types differ in their sign only.
fn hint(wanted: &str, got: &str) -> &'static str {
    let bare = |name: &str| name.trim_start_matches('u').trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let integers = ["char", "short", "int", "long"];
    if wanted != got && bare(wanted) == bare(got) && integers.contains(&bare(wanted).as_str()) {
        "; `reinterpret` makes a view of the other type"
    } else {
        ""
    }
}
