//! What is concurrent about submissions that settle, events, streams and groups of them, a queue's slots, the pool of fences and events, and the guards of memory, as
//! models that shuttle runs under many schedules. The crate itself is compiled here, all of it, with shuttle's locks ([`sync`]) and with a Metal of the
//! models' own behind the C ABI ([`sys`]), whose queues and completion handlers are shuttle's threads. A thread that nobody wakes is a deadlock, which
//! shuttle reports; so is a submission that nobody settles. shuttle's atomics are sequentially consistent: it says nothing of weaker orders.
//!
//! Under Miri (`scripts/miri`) the same models run with std's threads, each once for a seed ([`schedule`]): it reports accesses of host and device that nothing keeps apart,
//! pointers that are used too long, what is freed twice or never, and deadlocks; and it knows weaker orders.
//!
//! It has no harness: with one the crate's own tests would run here too, without shuttle. Arguments choose models by parts of their names.

#![allow(dead_code, unused_imports, unreachable_pub, reason = "the models use a part of the crate")]
#![allow(clippy::large_enum_variant, reason = "shuttle's locks are larger than the crate's")]

use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};

/// In place of the crate's.
mod sync {
    use std::io;

    pub(crate) use std::sync::{PoisonError, Weak};

    pub(crate) use crate::schedule::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use crate::schedule::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use crate::schedule::thread::{Scope, scope, yield_now};
    pub(crate) use crate::schedule::thread_number;

    /// Few, so that a queue is soon full.
    pub(crate) const QUEUE_CAPACITY: usize = 6;

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn processors() -> usize {
        2
    }

    /// A look of no length: the schedule says whether it sees anything.
    pub(crate) fn look(done: impl Fn() -> bool) {
        done();
    }

    /// As where the system has no room for a thread: those that nobody waits for count time, which does not pass here.
    pub(crate) fn spawn(_name: &str, _work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    pub(crate) fn spawn_scoped<'scope>(
        scope: &'scope Scope<'scope, '_>,
        _name: &str,
        work: impl FnOnce() + Send + 'scope,
    ) -> io::Result<()> {
        scope.spawn(work);
        Ok(())
    }
}

mod schedule;
mod sys;

#[path = "../../src/accelerator.rs"]
mod accelerator;
#[path = "../../src/analysis/mod.rs"]
pub mod analysis;
#[path = "../../src/command/mod.rs"]
mod command;
#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/event.rs"]
mod event;
#[path = "../../src/graph/mod.rs"]
mod graph;
#[path = "../../src/grid.rs"]
mod grid;
#[path = "../../src/kernel/mod.rs"]
mod kernel;
#[path = "../../src/memo.rs"]
mod memo;
#[path = "../../src/memory/mod.rs"]
mod memory;
#[path = "../../src/multi/mod.rs"]
pub mod multi;
#[path = "../../src/nested/mod.rs"]
pub mod nested;
#[path = "../../src/pool/mod.rs"]
mod pool;
#[path = "../../src/print/mod.rs"]
mod print;
#[path = "../../src/raw/mod.rs"]
mod raw;
#[path = "../../src/recovery/mod.rs"]
mod recovery;
#[path = "../../src/telemetry/mod.rs"]
pub mod telemetry;
#[path = "../../src/tensor/mod.rs"]
pub mod tensor;

// What the crate exports, by which its modules know each other.
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

mod events;
mod memories;
mod plants;
mod streams;
mod submissions;

/// What must hold, and a program that asserts it.
type Model = (&'static str, fn());

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let [option, plant, ..] = &asked[..]
        && option == "--plant"
    {
        return plants::run(plant);
    }
    let asked: Vec<String> = asked.into_iter().filter(|argument| !argument.starts_with('-')).collect();
    let models = [submissions::MODELS, events::MODELS, streams::MODELS, memories::MODELS].concat();
    let chosen = |name: &str| asked.is_empty() || asked.iter().any(|part| name.contains(part.as_str()));
    for (name, model) in models.into_iter().filter(|(name, _)| chosen(name)) {
        println!("model {name}");
        schedule::check(model);
    }
}

fn gpu() -> Accelerator {
    Accelerator::system_default().expect("a device")
}

/// Zeros of a length that the device writes in several steps.
fn buffer(gpu: &Accelerator) -> Buffer<u32> {
    gpu.buffer_zeroed(2).expect("a buffer")
}

/// What a fill with this byte leaves in a [`buffer`].
fn filled(value: u8) -> [u32; 2] {
    [u32::from_ne_bytes([value; 4]); 2]
}

/// A submission of one fill.
fn fill(gpu: &Accelerator, buffer: &mut Buffer<u32>, value: u8) -> Result<Submission> {
    let mut batch = gpu.batch()?;
    batch.fill(buffer, value)?;
    batch.submit()
}

/// A submission of one copy.
fn copy(gpu: &Accelerator, from: &Buffer<u32>, to: &mut Buffer<u32>) -> Result<Submission> {
    let mut batch = gpu.batch()?;
    batch.copy(from, to)?;
    batch.submit()
}

/// The failure that somebody was told.
fn failure(told: Result<()>) -> sync::Arc<SubmissionError> {
    match told {
        Err(Error::Submission(error) | Error::Faulted { cause: error } | Error::EventFaulted { cause: error }) => error,
        told => panic!("{told:?} and no failure of a submission"),
    }
}

/// An executor of one task.
fn block_on(submission: Submission) -> Result<()> {
    struct Task(sync::Mutex<bool>, sync::Condvar);
    impl Wake for Task {
        fn wake(self: std::sync::Arc<Self>) {
            *sync::lock(&self.0) = true;
            self.1.notify_one();
        }
    }
    let task = std::sync::Arc::new(Task(sync::Mutex::new(false), sync::Condvar::new()));
    let waker = Waker::from(std::sync::Arc::clone(&task));
    let mut submission = pin!(submission);
    loop {
        if let Poll::Ready(outcome) = submission.as_mut().poll(&mut Context::from_waker(&waker)) {
            return outcome;
        }
        let mut woken = sync::lock(&task.0);
        while !std::mem::take(&mut *woken) {
            woken = task.1.wait(woken).expect("nobody panics");
        }
    }
}
