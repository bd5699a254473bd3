//! [`Compilation`]: a library or kernel that is being made in the background.
//!
//! A thread makes it, by the calls that make it for a caller who waits. Metal's own methods with completion handlers would
//! serve a part only: the translation of OpenCL C, values of function constants by archives, and the archives themselves have
//! none, and what they call must not block a thread of Metal's. Who asks for what is being made already gets no thread, but
//! is told by the one that makes it ([`Memo`](crate::memo::Memo)).
//!
//! Three may end one: the thread, the limit ([`Ages`](crate::command::Ages)), and the panic of the thread. The first counts.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{Ending, Timed, wake};
use crate::memo::{Asked, Making, Outcome};
use crate::{Accelerator, Error, Result};

/// What is made in the background.
pub(super) trait Job: Send + 'static {
    type Key: Send + 'static;
    type Kept: Clone + Send + 'static;
    type Made: Clone + Send + 'static;

    /// Whether it is there, or is being made.
    fn ask(&self) -> Asked<Self::Key, Self::Kept>;
    /// Makes it, once at most.
    fn make(&self) -> Result<Self::Kept>;
    /// What the caller wanted of what was made.
    fn made(&self, kept: Self::Kept) -> Result<Self::Made>;
}

/// A [`Library`](crate::Library) or [`Kernel`](crate::Kernel) that is being made in the background: wait for it, or `.await` it on any
/// executor.
///
/// It was given a limit, counted from the call that started it: when it is not there by then, this ends with
/// [`Error::CompileTimeout`]. `Duration::MAX` is no limit. Nothing stops a compiler of Metal's, which goes on, and so it does
/// when this is dropped, which nobody is told. What it makes is kept as if somebody waited for it: whoever asks for the same
/// again finds it, or waits for the compilation that is under way. Each of those who wait has a limit of their own.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// # use std::time::Duration;
/// let gpu = Accelerator::system_default()?;
/// let limit = Duration::from_secs(60);
/// let made = async {
///     let library = gpu.start_msl("kernel void nothing() {}", &CompileOptions::default(), limit).await?;
///     library.start_kernel("nothing", &Constants::new(), limit).await
/// };
/// assert_eq!(pollster::block_on(made)?.name(), "nothing");
/// # Ok(()) }
/// ```
#[must_use = "wait for it, await it, or drop it on purpose"]
pub struct Compilation<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    what: String,
    limit: Duration,
    ending: Ending<Outcome<T>, ()>,
}

impl<T: Clone> Shared<T> {
    /// Ends it, unless it has ended. The lock of nothing may be held: wakers are the user's code.
    fn end(&self, outcome: Outcome<T>) {
        let told = self.ending.end_first(outcome);
        told.and_then(|(waker, _)| waker).into_iter().for_each(wake);
    }

    fn result(&self, outcome: Outcome<T>) -> Result<T> {
        outcome.unwrap_or_else(|| panic!("the thread that compiled {} panicked", self.what))
    }
}

/// Its limit is over.
impl<T: Clone + Send> Timed for Shared<T> {
    fn turn(&self, _now: Instant) -> Option<Instant> {
        self.end(Some(Err(Error::CompileTimeout { what: self.what.clone(), waited: self.limit })));
        None
    }
}

impl<T: Clone + Send + 'static> Compilation<T> {
    pub(super) fn start<J: Job<Made = T>>(
        accelerator: &Accelerator,
        what: String,
        limit: Duration,
        job: J,
    ) -> Compilation<T> {
        let shared = Arc::new(Shared { what, limit, ending: Ending::default() });
        let weak: Weak<Shared<T>> = Arc::downgrade(&shared);
        // A limit beyond what the clock can count is none.
        let due = Instant::now().checked_add(limit).filter(|_| limit != Duration::MAX);
        Request { job, shared: weak.clone() }.begin();
        // What is there needs no limit.
        if let Some(due) = due.filter(|_| !shared.ending.has_ended())
            && let Err(error) = accelerator.ages().add(due, weak)
        {
            shared.end(Some(Err(no_thread(&error))));
        }
        Compilation { shared }
    }

    /// One that was over before it began.
    pub(super) fn ended(what: String, limit: Duration, result: Result<T>) -> Compilation<T> {
        let shared = Shared { what, limit, ending: Ending::default() };
        shared.end(Some(result));
        Compilation { shared: Arc::new(shared) }
    }

    /// Waits until it is there, it has failed, or the limit is over.
    ///
    /// # Errors
    /// Those of the call that makes it at once; [`Error::CompileTimeout`]; [`Error::NoThread`] when the system starts no thread for
    /// it. Every call gives the same.
    ///
    /// # Panics
    /// When the thread that makes it panicked: a defect of this crate.
    pub fn wait(&self) -> Result<T> {
        self.shared.result(self.shared.ending.wait())
    }

    /// Whether [`Compilation::wait`] would return at once.
    pub fn is_done(&self) -> bool {
        self.shared.ending.has_ended()
    }
}

/// Completes as [`Compilation::wait`] returns. Each poll replaces the waker; it is called at most once.
impl<T: Clone + Send + 'static> Future for Compilation<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        self.shared.ending.poll(cx).map(|outcome| self.shared.result(outcome))
    }
}

impl<T: Clone> fmt::Debug for Compilation<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.shared.ending.has_ended();
        f.debug_struct("Compilation").field("what", &self.shared.what).field("done", &done).finish()
    }
}

/// A job, and who is to be told of it. It does not keep those who lost interest.
struct Request<J: Job> {
    job: J,
    shared: Weak<Shared<J::Made>>,
}

impl<J: Job> Request<J> {
    /// Takes what is there, waits with others, or starts a thread.
    fn begin(self) {
        match self.job.ask() {
            Asked::Ready(kept) => self.end(Ok(kept)),
            Asked::Pending(waiting) => {
                let told = move |outcome: Outcome<J::Kept>| match outcome {
                    Some(outcome) => self.end(outcome),
                    // Whoever made it panicked; perhaps it was for a reason of its own.
                    None => self.begin(),
                };
                if let Some((told, outcome)) = waiting.follow(Box::new(told)) {
                    told(outcome);
                }
            }
            Asked::Make(making) => self.make(making),
        }
    }

    fn make(self, making: Making<J::Key, J::Kept>) {
        // The work is handed to a thread that is there, so that it comes back when there is none.
        let (give, take) = channel::<(Request<J>, Making<J::Key, J::Kept>)>();
        let work = move || {
            if let Ok((request, making)) = take.recv() {
                let outcome = making.end(request.job.make());
                request.end(outcome);
            }
        };
        match thread::Builder::new().name("dcmetal compiles".to_owned()).spawn(work) {
            Ok(_) => drop(give.send((self, making))),
            Err(error) => {
                let outcome = making.end(Err(no_thread(&error)));
                self.end(outcome);
            }
        }
    }

    fn end(self, outcome: Result<J::Kept>) {
        if let Some(shared) = self.shared.upgrade() {
            shared.end(Some(outcome.and_then(|kept| self.job.made(kept))));
        }
    }
}

/// Whoever waits for what nobody makes any more is told that.
impl<J: Job> Drop for Request<J> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.end(None);
        }
    }
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::NoThread { call: "compile in the background", text: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender};
    use std::sync::{Mutex, PoisonError};
    use std::task::{Wake, Waker};

    use super::*;
    use crate::memo::Memo;

    /// Makes what its test sends it; when nobody will send any more, it panics.
    struct Sent {
        memo: Memo<(), u32>,
        value: Arc<Mutex<Receiver<Result<u32>>>>,
        made: Arc<AtomicUsize>,
    }

    impl Job for Sent {
        type Key = ();
        type Kept = u32;
        type Made = u32;

        fn ask(&self) -> Asked<(), u32> {
            self.memo.ask(0, |()| true, || ())
        }

        fn make(&self) -> Result<u32> {
            self.made.fetch_add(1, Ordering::SeqCst);
            let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
            value.recv().unwrap_or_else(|_| std::panic::resume_unwind(Box::new("on purpose")))
        }

        fn made(&self, kept: u32) -> Result<u32> {
            Ok(kept + 1)
        }
    }

    struct Bench {
        gpu: Accelerator,
        memo: Memo<(), u32>,
        send: Option<Sender<Result<u32>>>,
        value: Arc<Mutex<Receiver<Result<u32>>>>,
        made: Arc<AtomicUsize>,
    }

    impl Bench {
        fn new() -> Bench {
            let (send, value) = channel();
            Bench {
                gpu: Accelerator::system_default().expect("a Metal device"),
                memo: Memo::new(4),
                send: Some(send),
                value: Arc::new(Mutex::new(value)),
                made: Arc::default(),
            }
        }

        fn start(&self, limit: Duration) -> Compilation<u32> {
            let (memo, value, made) = (self.memo.clone(), Arc::clone(&self.value), Arc::clone(&self.made));
            Compilation::start(&self.gpu, "it".to_owned(), limit, Sent { memo, value, made })
        }

        fn send(&self, value: Result<u32>) {
            self.send.as_ref().expect("not closed").send(value).expect("a receiver");
        }

        fn times_made(&self) -> usize {
            self.made.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn all_who_ask_get_what_one_makes() {
        for value in [Ok(5), Err(Error::EmptyBuffer)] {
            let bench = Bench::new();
            let asked: Vec<_> = (0..4).map(|_| bench.start(Duration::MAX)).collect();
            assert!(asked.iter().all(|one| !one.is_done()));
            bench.send(value.clone());
            for one in &asked {
                // However often it is asked.
                for _ in 0..2 {
                    assert_eq!(one.wait().ok(), value.as_ref().ok().map(|kept| kept + 1));
                }
            }
            assert_eq!((bench.times_made(), bench.memo.stats().joined), (1, 3));
            if value.is_ok() {
                for limit in [Duration::ZERO, Duration::from_secs(3600)] {
                    assert_eq!(bench.start(limit).wait().ok(), Some(6), "what is there is in time");
                }
                assert_eq!(bench.gpu.ages().waiting(), 0, "and has no limit");
            }
        }
    }

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("a waker of the user's");
        }
    }

    /// The compiler still works when its limit is over, and what it makes is found by the next.
    #[test]
    fn what_takes_too_long_is_told_and_kept() {
        let bench = Bench::new();
        let (patient, _hour) = (bench.start(Duration::MAX), bench.start(Duration::from_secs(3600)));
        let mut late = Box::pin(bench.start(Duration::from_millis(5)));
        let counted = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&counted));
        let polled = late.as_mut().poll(&mut Context::from_waker(&waker));
        let error = late.wait().expect_err("nothing was sent");
        assert!(matches!(&error, Error::CompileTimeout { waited, .. } if *waited == Duration::from_millis(5)));
        assert_eq!(error.kind(), crate::ErrorKind::Timeout);
        assert_eq!(error.to_string(), "it was not compiled within 5ms; its compilation goes on");
        // The thread of limits is alive although a waker panicked there.
        assert!(bench.start(Duration::from_millis(1)).wait().is_err());
        assert!(counted.0.load(Ordering::SeqCst) == usize::from(polled.is_pending()));
        assert!(!patient.is_done());
        bench.send(Ok(7));
        assert_eq!(patient.wait().ok(), Some(8));
        assert!(matches!(late.wait(), Err(Error::CompileTimeout { .. })), "the first end counts");
        assert_eq!((bench.start(Duration::MAX).wait().ok(), bench.times_made()), (Some(8), 1));
    }

    #[test]
    fn dropping_it_changes_nothing_for_others() {
        let bench = Bench::new();
        drop(bench.start(Duration::from_secs(3600)));
        let joined = bench.start(Duration::MAX);
        bench.send(Ok(1));
        assert_eq!((joined.wait().ok(), bench.times_made()), (Some(2), 1));
    }

    /// Whoever joined a compilation that panicked makes it instead; who began it is told.
    #[test]
    fn a_panic_is_told_to_who_began_it() {
        let mut bench = Bench::new();
        let own = bench.start(Duration::MAX);
        let joined = bench.start(Duration::MAX);
        bench.send = None;
        for one in [own, joined] {
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| one.wait())).expect_err("it panicked");
            assert_eq!(
                panic.downcast_ref::<String>().map(String::as_str),
                Some("the thread that compiled it panicked")
            );
        }
        assert_eq!((bench.times_made(), bench.memo.stats().kept), (2, 0));
    }
}
