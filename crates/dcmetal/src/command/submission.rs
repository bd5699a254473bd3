//! Submissions: work that was handed to the device.
//!
//! [`Inflight`] is the shared record of one committed command buffer. Metal's completion handler *settles* it, once:
//! it ends the buffers' uses, lets go of everything the work needed, sets the outcome, and wakes who waits. All of
//! that depends on the handler alone, so a [`Submission`] may be dropped, leaked, or waited for in any order.
//!
//! A submission that used what a failed one wrote has failed too, even if its own commands completed. Its settling
//! therefore looks at the submissions it depends on, and if one of them is not settled yet (Metal promises no order
//! among the handlers of different command buffers) it is done by the one that settles last.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::kernel::Kernel;
use crate::memory::Allocation;
use crate::print::{PrintBuffer, Printed};
use crate::raw::Failure;
use crate::raw::command::Committed;
use crate::raw::host::{DeviceUse, lock};
use crate::{EncoderReport, EncoderState, Error, Result, SubmissionError};

/// What a submission needs until the device is done.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) buffers: Vec<(Arc<Allocation>, DeviceUse)>,
    /// Keeps the pipelines alive; their names go into errors.
    pub(crate) kernels: Vec<Kernel>,
    /// The label of each encoder, in order.
    pub(crate) encoders: Vec<String>,
    /// The submissions in flight whose results it uses.
    pub(crate) after: Vec<Arc<Inflight>>,
}

/// The command buffer's own outcome.
type Own = std::result::Result<(), Failure>;
/// The submission's outcome.
type Outcome = std::result::Result<(), Arc<SubmissionError>>;

#[derive(Default)]
struct State {
    held: Held,
    outcome: Option<Outcome>,
    /// Completed submissions that cannot settle before this one.
    followers: Vec<(Arc<Inflight>, Own)>,
    waker: Option<Waker>,
}

/// One submission, shared by its handle, Metal's completion handler and the buffers it writes.
#[derive(Default)]
pub(crate) struct Inflight {
    state: Mutex<State>,
    settled: Condvar,
    /// Set right after the commit.
    command_buffer: OnceLock<Committed>,
}

impl Inflight {
    /// Fills in what it needs, before the commit.
    pub(crate) fn hold(&self, held: Held) {
        lock(&self.state).held = held;
    }

    /// Takes back what `hold` gave, when there is no commit after all.
    pub(crate) fn release(&self) -> Held {
        std::mem::take(&mut lock(&self.state).held)
    }

    pub(crate) fn committed(&self, command_buffer: Committed) {
        let first = self.command_buffer.set(command_buffer).is_ok();
        assert!(first, "a submission is committed once");
    }

    pub(crate) fn is_settled(&self) -> bool {
        lock(&self.state).outcome.is_some()
    }

    /// Metal's completion handler: `own` is the command buffer's outcome.
    pub(crate) fn complete(self: Arc<Self>, own: Own) {
        let (mut ready, mut wakers) = (vec![(self, own)], Vec::new());
        while let Some((flight, own)) = ready.pop() {
            ready.extend(flight.settle(own, &mut wakers));
        }
        // Last, each by itself: these are the user's code and may panic, which must keep nobody else from waking.
        for waker in wakers {
            // The panic belongs to no caller; the panic hook has reported it.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }

    /// Settles, unless a submission it depends on has to settle first. Returns those that waited for this one.
    fn settle(self: Arc<Self>, own: Own, wakers: &mut Vec<Waker>) -> Vec<(Arc<Inflight>, Own)> {
        let mut cause = None;
        let after = lock(&self.state).held.after.clone();
        for earlier in after {
            let mut state = lock(&earlier.state);
            match &state.outcome {
                Some(Ok(())) => {}
                Some(Err(error)) => cause = cause.or_else(|| Some(Arc::clone(error))),
                None => {
                    state.followers.push((self, own));
                    return Vec::new();
                }
            }
        }
        let held = self.release();
        let outcome = match own {
            Err(failure) => Err(Arc::new(submission_error(&held, failure))),
            Ok(()) => match cause {
                Some(cause) => Err(Arc::new(dependency_error(&held, cause))),
                None => Ok(()),
            },
        };
        for (allocation, kind) in &held.buffers {
            allocation.tracked().end_device(*kind, &self, outcome.as_ref().err());
        }
        // Pooled buffers go home before anybody learns that the submission is done.
        drop(held);
        let mut state = lock(&self.state);
        assert!(state.outcome.is_none(), "a submission settles once");
        state.outcome = Some(outcome);
        wakers.extend(state.waker.take());
        let followers = std::mem::take(&mut state.followers);
        drop(state);
        self.settled.notify_all();
        followers
    }
}

/// The error of a submission whose command buffer failed.
fn submission_error(held: &Held, failure: Failure) -> SubmissionError {
    SubmissionError {
        kernels: kernel_names(held),
        encoders: failure.encoders,
        domain: failure.domain,
        code: failure.code,
        text: failure.text,
        caused_by: None,
    }
}

/// The error of a submission that ran on what a failed one left.
fn dependency_error(held: &Held, cause: Arc<SubmissionError>) -> SubmissionError {
    SubmissionError {
        kernels: kernel_names(held),
        encoders: held
            .encoders
            .iter()
            .map(|label| EncoderReport { label: label.clone(), state: EncoderState::Affected })
            .collect(),
        domain: cause.domain.clone(),
        code: cause.code,
        text: "it used a buffer that an earlier submission was to write, and that one failed".to_owned(),
        caused_by: Some(cause),
    }
}

fn kernel_names(held: &Held) -> Vec<String> {
    held.kernels.iter().map(|kernel| kernel.name().to_owned()).collect()
}

/// Work that was handed to the device: wait for it, wait for a while, or `.await` it on any executor.
///
/// The work runs whether or not this object exists. It and every buffer stay alive until the device is done; dropping
/// a submission neither waits nor cancels. Whoever drops it without waiting learns of a failure from the buffers:
/// reading one that a failed submission was to write is [`Error::Faulted`].
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let twice = gpu.compile_msl(
///     "kernel void twice(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2.0f; }",
/// )?.kernel("twice")?;
/// let mut x = gpu.buffer_from(&[1.0f32, 2.0])?;
/// let submission = twice.launch(Grid::linear(2), args![&mut x])?;
/// pollster::block_on(submission)?;
/// assert_eq!(x.to_vec()?, [2.0, 4.0]);
/// # Ok(()) }
/// ```
#[must_use = "wait for it, await it, or drop it on purpose"]
pub struct Submission {
    flight: Arc<Inflight>,
    prints: Vec<PrintBuffer>,
}

impl Submission {
    pub(super) fn new(flight: Arc<Inflight>, prints: Vec<PrintBuffer>) -> Submission {
        Submission { flight, prints }
    }

    /// Waits until the device is done.
    ///
    /// Not to be called from a waker of another submission: it would block the thread that Metal reports from.
    ///
    /// # Errors
    /// [`Error::Submission`] when it failed on the device; every call gives the same, first error.
    pub fn wait(&self) -> Result<()> {
        let mut state = lock(&self.flight.state);
        loop {
            if let Some(outcome) = &state.outcome {
                return outcome.clone().map_err(Error::Submission);
            }
            state = self.flight.settled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// As [`Submission::wait`], for at most `limit`.
    ///
    /// # Errors
    /// [`Error::Timeout`] when it is still running then; it keeps running, and a later wait tells how it ended.
    pub fn wait_timeout(&self, limit: Duration) -> Result<()> {
        // A limit beyond what the clock can count is no limit.
        let Some(deadline) = Instant::now().checked_add(limit) else { return self.wait() };
        let mut state = lock(&self.flight.state);
        loop {
            if let Some(outcome) = &state.outcome {
                return outcome.clone().map_err(Error::Submission);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Timeout { waited: limit });
            }
            state = self.flight.settled.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the device is done, well or not.
    pub fn is_done(&self) -> bool {
        self.flight.is_settled()
    }

    /// Waits, and gives what the kernels printed with OpenCL C's `printf`. Every call gives the same.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let source = r#"__kernel void greet(int n) { printf("hello %d\n", n); }"#;
    /// let greet = gpu.compile_opencl(source)?.kernel("greet")?;
    /// let printed = greet.launch(Grid::linear(1), args![3])?.printed()?;
    /// assert_eq!((printed.to_string().as_str(), printed.lost), ("hello 3\n", 0));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Submission::wait`]; [`Error::PrintBuffer`] when a kernel wrote over what had been printed.
    pub fn printed(&self) -> Result<Printed> {
        self.wait()?;
        let mut printed = Printed::default();
        for prints in &self.prints {
            prints.read(&mut printed)?;
        }
        Ok(printed)
    }

    /// How long the device worked on it, from Metal's `GPUStartTime` and `GPUEndTime`.
    ///
    /// # Errors
    /// [`Error::NotFinished`] before it is done, [`Error::Unsupported`] where the platform tells no times.
    pub fn gpu_time(&self) -> Result<Duration> {
        if !self.is_done() {
            return Err(Error::NotFinished);
        }
        let committed = self.flight.command_buffer.get().expect("a submission exists only after its commit");
        committed.gpu_time().map_err(|failure| failure.during("the time of a submission"))
    }
}

/// Completes when the device is done. Each poll replaces the waker; it is called at most once.
impl Future for Submission {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        // A waker's clone and drop are the executor's code: not under the lock.
        let waker = cx.waker().clone();
        let mut state = lock(&self.flight.state);
        if let Some(outcome) = &state.outcome {
            return Poll::Ready(outcome.clone().map_err(Error::Submission));
        }
        let stale = state.waker.replace(waker);
        drop(state);
        drop(stale);
        Poll::Pending
    }
}

impl std::fmt::Debug for Submission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernels = kernel_names(&lock(&self.flight.state).held);
        f.debug_struct("Submission").field("done", &self.is_done()).field("kernels", &kernels).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    fn flight(after: &[&Arc<Inflight>]) -> Arc<Inflight> {
        let flight = Arc::new(Inflight::default());
        let after = after.iter().map(|&flight| Arc::clone(flight)).collect();
        flight.hold(Held { after, ..Held::default() });
        flight
    }

    fn outcome(flight: &Arc<Inflight>) -> Option<Outcome> {
        lock(&flight.state).outcome.clone()
    }

    fn failure() -> Failure {
        Failure::for_tests("it broke")
    }

    /// Metal may call the handlers of two command buffers in any order.
    #[test]
    fn a_submission_settles_after_those_it_depends_on() {
        let first = flight(&[]);
        let second = flight(&[&first]);
        let third = flight(&[&first, &second]);
        let apart = flight(&[]);
        for flight in [&third, &second, &apart] {
            Arc::clone(flight).complete(Ok(()));
        }
        assert!(outcome(&third).is_none() && outcome(&second).is_none());
        assert_eq!(outcome(&apart), Some(Ok(())));
        Arc::clone(&first).complete(Err(failure()));
        let first = outcome(&first).expect("settled").expect_err("failed");
        assert_eq!((first.text.as_str(), &first.caused_by), ("it broke", &None));
        let second = outcome(&second).expect("settled").expect_err("its input failed");
        assert_eq!(second.caused_by.as_ref(), Some(&first));
        let third = outcome(&third).expect("settled").expect_err("its input failed");
        assert_eq!(third.caused_by.as_ref(), Some(&first));
    }

    #[test]
    fn its_own_failure_comes_first() {
        let first = flight(&[]);
        let second = flight(&[&first]);
        Arc::clone(&first).complete(Err(failure()));
        Arc::clone(&second).complete(Err(Failure::for_tests("this one too")));
        let error = outcome(&second).expect("settled").expect_err("failed");
        assert_eq!((error.text.as_str(), &error.caused_by), ("this one too", &None));
    }

    #[test]
    fn what_follows_a_success_succeeds() {
        let first = flight(&[]);
        let second = flight(&[&first]);
        Arc::clone(&second).complete(Ok(()));
        Arc::clone(&first).complete(Ok(()));
        assert_eq!((outcome(&first), outcome(&second)), (Some(Ok(())), Some(Ok(()))));
        assert!(lock(&second.state).held.after.is_empty(), "a settled submission keeps no other alive");
    }

    struct Loud(AtomicUsize);

    impl Wake for Loud {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("a waker of the user's");
        }
    }

    /// A waker that panics keeps neither the submissions that waited for its own nor their wakers from theirs.
    #[test]
    fn every_waker_is_called_whatever_the_others_do() {
        let first = flight(&[]);
        let second = flight(&[&first]);
        let loud = [Arc::new(Loud(AtomicUsize::new(0))), Arc::new(Loud(AtomicUsize::new(0)))];
        for (flight, loud) in [&first, &second].into_iter().zip(&loud) {
            let mut submission = std::pin::pin!(Submission::new(Arc::clone(flight), Vec::new()));
            let waker = Waker::from(Arc::clone(loud));
            assert!(submission.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        Arc::clone(&second).complete(Ok(()));
        Arc::clone(&first).complete(Ok(()));
        assert_eq!(outcome(&second), Some(Ok(())));
        assert_eq!(loud.map(|loud| loud.0.load(Ordering::SeqCst)), [1, 1]);
    }
}
