//! The worker threads: all alike, each drives a queue or helps with a large dispatch.
//!
//! Work is handed to a particular worker, the one that became idle last, because it may still be looking (event.rs spins
//! for some microseconds) and its caches are warm. A queue to drive never waits for a worker: when all are busy, perhaps
//! in a callback that blocks, a new one is started. Helpers are only taken while fewer threads compute than
//! HOSTMETAL_THREADS. Idle workers sleep; those beyond what the machine can use end.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::event;
use super::fiber::Place;
use super::guard::{Record, Registration};
use super::share::Share;
use crate::device::worker_threads;
use crate::queue::Queue;

/// What a worker has of its own.
pub(crate) struct Worker {
    pub(crate) place: Box<Place>,
    pub(crate) record: &'static Record,
}

enum Job {
    Drive(Arc<Queue>),
    Help(Arc<Share>),
}

/// Where a worker gets its jobs.
struct Seat {
    job: Mutex<Option<Job>>,
    word: AtomicU32,
}

/// Values of a seat's word.
const EMPTY: u32 = 0;
const GIVEN: u32 = 1;
const ASLEEP: u32 = 2;

/// Idle workers, the one that became idle last at the end.
static IDLE: Mutex<Vec<Arc<Seat>>> = Mutex::new(Vec::new());
/// Threads that compute now: drivers inside a command buffer's commands, and helpers.
static BUSY: AtomicUsize = AtomicUsize::new(0);
/// Idle workers beyond the number of computing threads that are kept for further queues.
const SPARE: usize = 8;
/// For kernels that run as one call per threadgroup.
const STACK: usize = 8 << 20;

fn idle() -> MutexGuard<'static, Vec<Arc<Seat>>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a worker drive the queue.
pub(crate) fn drive(queue: Arc<Queue>) {
    let seat = idle().pop();
    match seat {
        Some(seat) => seat.give(Job::Drive(queue)),
        None => {
            if let Err(Job::Drive(queue)) = start(Job::Drive(queue)) {
                queue.run(None);
            }
        }
    }
}

/// Has up to `count` further workers help, as far as the machine has cores that do not compute. Returns how many.
pub(crate) fn recruit(share: &Arc<Share>, count: usize) -> usize {
    for came in 0..count {
        let room = |busy: usize| (busy < worker_threads()).then_some(busy + 1);
        if BUSY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_err() {
            return came;
        }
        let seat = idle().pop();
        let job = Job::Help(share.clone());
        match seat {
            Some(seat) => seat.give(job),
            None => {
                if start(job).is_err() {
                    BUSY.fetch_sub(1, Ordering::Relaxed);
                    return came;
                }
            }
        }
    }
    count
}

/// Threads that compute now.
pub(super) fn computing() -> usize {
    BUSY.load(Ordering::Relaxed)
}

/// Whether a core is free for a helper.
pub(crate) fn has_room() -> bool {
    computing() < worker_threads()
}

/// Counts the calling driver as computing, until dropped.
pub(crate) struct Computing(());

impl Computing {
    pub(crate) fn new() -> Computing {
        BUSY.fetch_add(1, Ordering::Relaxed);
        Computing(())
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        BUSY.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Seat {
    fn give(&self, job: Job) {
        *self.job.lock().unwrap_or_else(PoisonError::into_inner) = Some(job);
        if self.word.swap(GIVEN, Ordering::AcqRel) == ASLEEP {
            event::wake(&self.word, 1);
        }
    }

    /// Waits for a job, looking for one for as many nanoseconds before it sleeps.
    fn take(&self, look: u64) -> Job {
        if !event::spin_until(&self.word, look, |word| word == GIVEN) {
            let sleep = self.word.compare_exchange(EMPTY, ASLEEP, Ordering::AcqRel, Ordering::Acquire);
            while sleep.is_ok() && self.word.load(Ordering::Acquire) == ASLEEP {
                event::sleep_while(&self.word, ASLEEP, None);
            }
        }
        self.word.store(EMPTY, Ordering::Relaxed);
        let job = self.job.lock().unwrap_or_else(PoisonError::into_inner).take();
        job.unwrap_or_else(|| unreachable!("a seat was woken without a job"))
    }
}

/// Starts a worker with its first job; gives the job back when that is not possible.
fn start(job: Job) -> Result<(), Job> {
    let seat = Arc::new(Seat { job: Mutex::new(Some(job)), word: AtomicU32::new(GIVEN) });
    let own = seat.clone();
    let started = std::thread::Builder::new().name("hostmetal".to_owned()).stack_size(STACK).spawn(move || work(&own));
    if started.is_ok() {
        return Ok(());
    }
    let job = seat.job.lock().unwrap_or_else(PoisonError::into_inner).take();
    Err(job.unwrap_or_else(|| unreachable!("a worker that did not start took its job")))
}

/// The life of a worker thread.
fn work(seat: &Arc<Seat>) {
    let registration = Registration::new();
    let worker = registration
        .as_ref()
        .and_then(|registration| Some(Worker { place: Place::new(registration.record)?, record: registration.record }));
    let Some(mut worker) = worker else {
        // Memory is out: the queue's command buffers fail, a dispatch goes on without this helper.
        match seat.take(event::BRIEF) {
            Job::Drive(queue) => queue.run(None),
            Job::Help(_) => drop(Computing(())),
        }
        return;
    };
    let mut look = event::BRIEF;
    loop {
        match seat.take(look) {
            Job::Drive(queue) => {
                queue.run(Some(&mut worker));
                look = event::BRIEF;
            }
            Job::Help(share) => {
                let computing = Computing(());
                let mut kept = false;
                share.help(&mut worker, || {
                    drop(computing);
                    kept = rest(seat);
                });
                if !kept {
                    return;
                }
                // The next wave of the command buffer, or of the next one, wants help as well.
                look = event::PATIENT;
                continue;
            }
        }
        if !rest(seat) {
            return;
        }
    }
}

/// Makes the worker one of the idle ones, which may be given its next job from now on; false if there are enough.
fn rest(seat: &Arc<Seat>) -> bool {
    let mut idle = idle();
    let wanted = idle.len() < worker_threads() + SPARE;
    if wanted {
        idle.push(seat.clone());
    }
    wanted
}
