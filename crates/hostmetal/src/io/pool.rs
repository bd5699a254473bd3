//! The threads that load: at most `MOST`, started for jobs and ended when there are none. A thread that is in a callback of the
//! program's is not counted, so that what a callback waits for is loaded by others.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::{CommandBuffer, End, Load, Queue};

/// Threads; more than one disk serves well.
const MOST: usize = 8;

/// What a thread does next. Command buffers come with their tickets.
pub(super) enum Job {
    Load(Arc<CommandBuffer>, u64, Load),
    End(Arc<CommandBuffer>, u64, End),
    /// Looks at what is due.
    Look(Arc<Queue>),
}

impl Job {
    fn run(self) {
        match self {
            Job::Load(buffer, ticket, load) => {
                let outcome = buffer.load(&load);
                drop(load);
                buffer.queue.loaded(ticket, outcome);
            }
            Job::End(buffer, ticket, end) => buffer.end(ticket, end),
            Job::Look(queue) => queue.advance(),
        }
    }
}

struct Pool {
    /// By priority, the highest first.
    jobs: [VecDeque<Job>; 3],
    threads: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { jobs: [const { VecDeque::new() }; 3], threads: 0 });

thread_local! {
    /// Whether this is one of the threads.
    static HERE: Cell<bool> = const { Cell::new(false) };
}

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Starts threads for the jobs, but for those that `helpers` threads will come for.
    fn start(&mut self, helpers: usize) {
        let jobs: usize = self.jobs.iter().map(VecDeque::len).sum();
        for _ in helpers..jobs {
            if self.threads >= MOST || thread::Builder::new().name("hostmetal I/O".to_owned()).spawn(work).is_err() {
                break;
            }
            self.threads += 1;
        }
    }
}

/// Adds jobs of a priority. Where no thread can be started, and there is none, they are done here.
pub(super) fn add(priority: usize, jobs: Vec<Job>) {
    let mut pool = pool();
    pool.jobs[priority].extend(jobs);
    pool.start(usize::from(HERE.get()));
    let alone = pool.threads == 0 && !HERE.get();
    if alone {
        pool.threads += 1;
    }
    drop(pool);
    if alone {
        work();
        HERE.set(false);
    }
}

fn work() {
    HERE.set(true);
    loop {
        let mut pool = pool();
        let job = if pool.threads > MOST { None } else { pool.jobs.iter_mut().find_map(VecDeque::pop_front) };
        let Some(job) = job else {
            pool.threads -= 1;
            return;
        };
        drop(pool);
        job.run();
    }
}

/// Calls the program, on one of the threads, which is not counted meanwhile.
pub(super) fn outside(call: impl FnOnce()) {
    let mut pool = pool();
    pool.threads -= 1;
    pool.start(0);
    drop(pool);
    HERE.set(false);
    call();
    HERE.set(true);
    self::pool().threads += 1;
}
