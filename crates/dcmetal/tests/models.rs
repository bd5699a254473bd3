//! What is concurrent about submissions, streams and pools, as models that shuttle runs under many schedules: the modules themselves,
//! compiled with shuttle's locks. A thread that nobody wakes is a deadlock, which shuttle reports.

use std::task::{Context, Poll, Wake, Waker};

use dcmetal::SubmissionError;
use ending::Ending;
use room::Room;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::{check_pct, check_random, thread};
use sync::Arc;

/// In place of the crate's.
mod sync {
    pub(crate) use std::sync::{PoisonError, Weak};

    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
}

#[allow(dead_code, reason = "the models use a part")]
#[path = "../src/pool/account.rs"]
mod account;
#[allow(dead_code, reason = "the models use a part")]
#[path = "../src/command/ending.rs"]
mod ending;
#[allow(dead_code, reason = "the models use a part")]
#[path = "../src/pool/heaps.rs"]
mod heaps;
#[allow(dead_code, unreachable_pub, reason = "the models use a part of what the crate exports")]
#[path = "../src/telemetry/histogram.rs"]
mod histogram;
#[allow(dead_code, reason = "the models use a part")]
#[path = "../src/command/room.rs"]
mod room;

/// Under random schedules, and under some with few preemptions at the worst places.
fn check(model: impl Fn() + Send + Sync + Clone + 'static) {
    check_random(model.clone(), 1000);
    check_pct(model, 1000, 3);
}

/// An executor of one task: `wake` lets it poll again.
#[derive(Default)]
struct Task {
    woken: sync::Mutex<bool>,
    changed: sync::Condvar,
    calls: AtomicUsize,
}

/// shuttle's `Arc` is not what `Waker::from` takes.
struct ByTask(Arc<Task>);

impl Wake for ByTask {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        *self.0.woken.lock().unwrap() = true;
        self.0.changed.notify_one();
    }
}

fn block_on<T: Clone, F>(ending: &Ending<T, F>) -> T {
    let task = Arc::new(Task::default());
    let waker = Waker::from(std::sync::Arc::new(ByTask(Arc::clone(&task))));
    loop {
        if let Poll::Ready(outcome) = ending.poll(&mut Context::from_waker(&waker)) {
            assert!(task.calls.load(Ordering::SeqCst) <= 1, "a waker is called at most once");
            return outcome;
        }
        let mut woken = task.woken.lock().unwrap();
        while !*woken {
            woken = task.changed.wait(woken).unwrap();
        }
    }
}

/// One task awaits, another thread waits, a third looks, while Metal's handler ends it.
#[test]
fn who_looks_before_the_end_is_told() {
    check(|| {
        let ending = Arc::new(Ending::<u32, ()>::default());
        let (polled, waited) = (Arc::clone(&ending), Arc::clone(&ending));
        let polls = thread::spawn(move || block_on(&polled));
        let waits = thread::spawn(move || waited.wait());
        let ends = Arc::clone(&ending);
        let handler = thread::spawn(move || {
            let (waker, _) = ends.end(7);
            waker.into_iter().for_each(Waker::wake);
        });
        let follows = ending.follow(());
        assert!(follows.is_none_or(|(_, outcome)| outcome == 7));
        assert_eq!((polls.join().unwrap(), waits.join().unwrap()), (7, 7));
        handler.join().unwrap();
        assert!(ending.has_ended());
    });
}

/// A task that was polled by one executor and is awaited by another: the last is woken.
#[test]
fn a_task_that_moves_is_woken_where_it_went() {
    check(|| {
        let ending = Arc::new(Ending::<u32, ()>::default());
        let ends = Arc::clone(&ending);
        let handler = thread::spawn(move || ends.end(7).0.into_iter().for_each(Waker::wake));
        let before = Waker::noop();
        let _ = ending.poll(&mut Context::from_waker(before));
        let moved = Arc::clone(&ending);
        assert_eq!(thread::spawn(move || block_on(&moved)).join().unwrap(), 7);
        handler.join().unwrap();
    });
}

/// A compilation's thread and its limit end it at once, and those who look agree on which was first.
#[test]
fn the_first_of_several_ends_counts() {
    check(|| {
        let ending = Arc::new(Ending::<u32, ()>::default());
        let (polled, waited) = (Arc::clone(&ending), Arc::clone(&ending));
        let looks = [thread::spawn(move || block_on(&polled)), thread::spawn(move || waited.wait())];
        let ends = [1, 2].map(|outcome| {
            let ending = Arc::clone(&ending);
            thread::spawn(move || {
                let told = ending.end_first(outcome);
                let first = told.is_some();
                told.and_then(|(waker, _)| waker).into_iter().for_each(ending::wake);
                first.then_some(outcome)
            })
        });
        let ends = ends.map(|thread| thread.join().unwrap());
        let firsts: Vec<u32> = ends.into_iter().flatten().collect();
        assert_eq!(firsts.len(), 1, "one is first");
        assert_eq!(looks.map(|thread| thread.join().unwrap()), [firsts[0]; 2]);
    });
}

/// A submission that depends on two ends by whoever of the three completes last, once.
#[test]
fn followers_are_settled_by_whoever_ends_last() {
    type Flight = Ending<u32, usize>;
    check(|| {
        let flights = Arc::new([Flight::default(), Flight::default()]);
        let follower = Arc::new(Flight::default());
        // `settle` of submissions, for one that follows both.
        let settle = |flights: &[Flight; 2], follower: &Flight| {
            for flight in flights {
                if flight.follow(2).is_none() {
                    return;
                }
            }
            follower.end(9);
        };
        let threads: Vec<_> = (0..3)
            .map(|at| {
                let (flights, follower) = (Arc::clone(&flights), Arc::clone(&follower));
                thread::spawn(move || {
                    if at == 2 {
                        return settle(&flights, &follower);
                    }
                    let (_, followers) = flights[at].end(at as u32);
                    followers.iter().for_each(|_| settle(&flights, &follower));
                })
            })
            .collect();
        assert_eq!(follower.wait(), 9);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// As many as the limits allow are in, and everybody gets in at last.
#[test]
fn a_room_lets_in_as_many_as_fit_and_wakes_who_waits() {
    for (submissions, bytes, most) in [(1, u64::MAX, 1), (2, u64::MAX, 2), (3, 10, 1), (3, 11, 2)] {
        check(move || {
            let room = Arc::new(Room::new(submissions, bytes));
            let inside = Arc::new(AtomicUsize::new(0));
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (room, inside) = (Arc::clone(&room), Arc::clone(&inside));
                    thread::spawn(move || {
                        assert!(room.enter(0), "no batch begins");
                        room.add(10);
                        // Those who are in and not yet counted by bytes are as many as the other limit allows.
                        let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                        assert!(now <= submissions.min(3), "{now} are in");
                        inside.fetch_sub(1, Ordering::SeqCst);
                        room.leave(10, None);
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(room.taken(), (0, 0));
            let got_in = (0..3).take_while(|_| room.try_enter().map(|()| room.add(10)).is_ok()).count();
            assert_eq!(got_in, most);
        });
    }
}

/// Two threads record in one batch that nobody closes, and for which there is one place: the one that came second needs none.
#[test]
fn a_batch_that_begins_takes_in_who_waits_for_room() {
    check(|| {
        let room = Arc::new(Room::new(1, u64::MAX));
        // The commands of the batch in the making, if there is one: `opened` and `record` of streams.
        let open = Arc::new(sync::Mutex::new(None::<usize>));
        assert!(room.enter(0), "a submission in flight");
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (room, open) = (Arc::clone(&room), Arc::clone(&open));
                thread::spawn(move || {
                    loop {
                        let mut state = open.lock().unwrap();
                        if let Some(commands) = state.as_mut() {
                            *commands += 1;
                            return;
                        }
                        let begun = room.begun();
                        drop(state);
                        if !room.enter(begun) {
                            continue;
                        }
                        let mut state = open.lock().unwrap();
                        assert!(state.is_none(), "there is one place");
                        *state = Some(1);
                        room.begin();
                        return;
                    }
                })
            })
            .collect();
        room.leave(0, None);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*open.lock().unwrap(), Some(2));
    });
}

/// Threads record while another reads: every distribution that is read is one of recorded values, none is lost.
#[test]
fn a_histogram_loses_nothing() {
    let model = || {
        let recorded = Arc::new(histogram::Recorded::default());
        let threads: Vec<_> = [[3, 1000], [3, 70]]
            .map(|values| {
                let recorded = Arc::clone(&recorded);
                thread::spawn(move || values.iter().for_each(|value| recorded.record(*value)))
            })
            .into();
        let between = recorded.read();
        assert!(between.count() <= 4);
        assert_eq!(between.percentile(0.0).is_some(), between.count() > 0);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let read = recorded.read();
        assert_eq!((read.count(), read.sum().as_nanos(), read.max().as_nanos()), (4, 1076, 1000));
        assert_eq!(read.percentile(50.0).map(|median| median.as_nanos()), Some(3));
        assert!(between.count() == 0 || between.percentile(100.0) <= read.percentile(100.0));
    };
    // Each reading looks at every bucket, which is a step of its own for shuttle.
    check_random(model, 200);
    check_pct(model, 200, 3);
}

/// A heap with room for two buffers, and how many it has.
struct TwoRooms(Arc<AtomicUsize>);

impl TwoRooms {
    fn room(&self) -> Option<Part> {
        let free = self.0.load(Ordering::SeqCst) < 2;
        free.then(|| {
            self.0.fetch_add(1, Ordering::SeqCst);
            Part(Arc::clone(&self.0))
        })
    }
}

impl Drop for TwoRooms {
    fn drop(&mut self) {
        assert_eq!(self.0.load(Ordering::SeqCst), 0, "a heap went before its buffers");
    }
}

struct Part(Arc<AtomicUsize>);

impl Drop for Part {
    fn drop(&mut self) {
        assert!(self.0.fetch_sub(1, Ordering::SeqCst) <= 2);
    }
}

/// Threads make and release buffers of heaps: no heap is there without a buffer, and room that came back is found again.
#[test]
fn heaps_go_with_their_last_buffer_and_room_in_them_is_found() {
    check(|| {
        let account = Arc::new(account::Account::new(u64::MAX, u64::MAX));
        let heaps = Arc::new(heaps::Heaps::<TwoRooms>::new(100, &account));
        let take = |heaps: &heaps::Heaps<TwoRooms>| {
            let open = |size| Ok::<_, ()>(Some((TwoRooms(Arc::default()), size)));
            heaps.take(50, open, |heap| Ok(heap.room())).unwrap().expect("there is no limit")
        };
        let kept = take(&heaps);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (heaps, account) = (Arc::clone(&heaps), Arc::clone(&account));
                thread::spawn(move || {
                    let first = take(&heaps);
                    let second = take(&heaps);
                    drop(first);
                    let figures = account.heaps();
                    assert!(figures.heaps <= 6, "{figures:?}");
                    drop(second);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let one = account::HeapFigures { heaps: 1, bytes: 100, free_bytes: 50 };
        assert_eq!((account.heaps(), account.bytes()), (one, 100));
        let again = take(&heaps);
        assert_eq!(account.heaps(), account::HeapFigures { free_bytes: 0, ..one }, "its room was not found");
        drop((kept, again));
        assert_eq!((account.heaps(), account.bytes()), (account::HeapFigures::default(), 0));
    });
}
