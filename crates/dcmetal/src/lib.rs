//! GPU compute on Apple Metal: typed buffers, checked launches, honest results.
//!
//! ```
//! use dcmetal::{Accelerator, Grid, args};
//!
//! # fn main() -> dcmetal::Result<()> {
//! let gpu = Accelerator::system_default()?;
//! let saxpy = gpu
//!     .compile_opencl(
//!         "__kernel void saxpy(__global const float *x, __global float *y, float a) {
//!              size_t i = get_global_id(0);
//!              y[i] = a * x[i] + y[i];
//!          }",
//!     )?
//!     .kernel("saxpy")?;
//! let x = gpu.buffer_from(&[1.0f32, 2.0, 3.0, 4.0])?;
//! let mut y = gpu.buffer_zeroed::<f32>(4)?;
//! saxpy.launch(Grid::linear(4), args![&x, &mut y, 2.0f32])?.wait()?;
//! assert_eq!(y.read()?[..], [2.0, 4.0, 6.0, 8.0]);
//! # Ok(()) }
//! ```
//!
//! An [`Accelerator`] is a device with a queue. It compiles a [`Library`] from Metal Shading Language or OpenCL C, whose
//! [`Kernel`]s are launched over a [`Grid`] with [`args!`]. Every launch is checked against what the compiler says the
//! kernel takes, before anything runs. Launches, copies and fills that belong together are recorded in a [`Batch`], and
//! in a [`Graph`] when they are to run again and again; a [`Stream`] makes batches by itself, and a [`StreamGroup`]
//! is several of them for work that several threads give or that fails apart. What was handed to the device is a [`Submission`]: waited for, waited for with a limit, or awaited.
//!
//! The host and the device never meet in a [`Buffer`]: reading waits for submissions that write it, and a submission is
//! refused while a guard is alive. A submission that fails is an error to whoever waits for it, and the buffers it was
//! to write answer [`Error::Faulted`].
//!
//! What is trusted: the kernels. Like a linked C function a kernel can index past its arguments or cast a `const` away, and
//! no host-side check sees that. Everything else that safe code can do with these types is checked.
//!
//! On a Mac this is Apple's Metal; on Linux hostmetal, which runs the same kernels on the CPU.

#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]
#![deny(unsafe_code)]

mod accelerator;
pub mod analysis;
mod command;
mod error;
mod event;
mod graph;
mod grid;
mod kernel;
mod memo;
#[cfg(test)]
mod memo_tests;
mod memory;
pub mod multi;
pub mod nested;
mod pool;
mod print;
#[expect(unsafe_code, reason = "the only module that calls C; each block is argued")]
mod raw;
mod recovery;
mod sync;
pub mod telemetry;
pub mod tensor;

// The C ABI, by a name of the crate's own: `tests/schedules` has a Metal of its own behind it.
use dcmetal_sys as sys;

pub use accelerator::{Accelerator, GpuFamily, Limits};
pub use bytemuck::{self, Pod};
pub use clmsl;
pub use command::{Batch, Stream, StreamGroup, StreamLimits, Submission};
pub use error::{EncoderReport, EncoderState, Error, ErrorKind, Place, Result, SubmissionError};
pub use event::Event;
pub use graph::{Graph, GraphBuilder, HostMemory, Node, Replay, ReplayStats, Transient};
pub use grid::{Grid, IndirectGrid, Size};
pub use kernel::{
    Access, Arg, Argument, ArgumentKind, COOPERATIVE, Candidate, Compilation, CompileOptions, ConstantValue, Constants,
    Kernel, KernelFileStats, Library, MathMode, MemoryLayout, Registers, Scalar, TextureKind, TextureSlot, ThreadWork,
    ThreadgroupChoice, ThreadgroupReason, TuneOptions, Tuning,
};
pub use memo::CacheStats;
pub use memory::{
    AddressMode, BorderColor, Buffer, Filter, HostUse, PixelFormat, Sampler, SamplerDescriptor, StorageChoice,
    StorageMode, Texture, TextureDescriptor, View, ViewMut,
};
pub use pool::{BufferPool, PoolLimits, PoolStats};
pub use print::Printed;
pub use raw::host::{ReadGuard, WriteGuard};
pub use raw::pages::PageVec;
pub use recovery::{BreakerLimits, Origin, Recovered, Recovery, Retries};
