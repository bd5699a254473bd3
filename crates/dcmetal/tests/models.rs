//! What is concurrent about endings, back-pressure, pools, caches, histograms and a graph's steps of the host's, as models that shuttle runs under many
//! schedules: the modules themselves, compiled with shuttle's locks. A thread that nobody wakes is a deadlock, which shuttle reports. The
//! modules that call Metal between their locks (submissions that settle, events, streams, the guards of memory) have theirs in `schedules`. shuttle's atomics are sequentially consistent: it says nothing of weaker orders.

use std::task::{Context, Poll, Wake, Waker};

use account::Account;
use dcmetal::{Error, PoolStats};
use ending::Ending;
use memo::{Asked, Memo, Outcome};
use room::Room;
use shelves::{Bytes, Owner};
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shuttle::{check_pct, check_random, thread};
use sync::Arc;

/// In place of the crate's.
mod sync {
    pub(crate) use std::sync::{PoisonError, Weak};

    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use shuttle::thread::{Scope, scope};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A look of no length: the schedule says whether it sees anything.
    pub(crate) fn look(done: impl Fn() -> bool) {
        done();
    }

    /// As where the system has no room for a thread now and then.
    pub(crate) fn spawn_scoped<'scope>(
        scope: &'scope Scope<'scope, '_>,
        _name: &str,
        work: impl FnOnce() + Send + 'scope,
    ) -> std::io::Result<()> {
        if shuttle::rand::Rng::gen_range(&mut shuttle::rand::thread_rng(), 0..4) == 0 {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        scope.spawn(work);
        Ok(())
    }

    pub(crate) fn thread_number() -> usize {
        shuttle::current::me().into()
    }
}

/// Where the crate has it.
mod command {
    pub(crate) use crate::ending::Ending;
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
#[allow(dead_code, unreachable_pub, reason = "the models use a part of what the crate exports")]
#[path = "../src/memo.rs"]
mod memo;
#[allow(dead_code, reason = "the models use a part")]
#[path = "../src/command/room.rs"]
mod room;
#[allow(dead_code, reason = "the models use a part")]
#[path = "../src/pool/shelves.rs"]
mod shelves;

#[path = "../src/graph/steps.rs"]
mod steps;

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
        // Submissions 0 and 1 follow nobody, and 2 follows both.
        let settle = |flights: &[Flight; 2], follower: &Flight, at: usize| {
            let earlier = if at == 2 { &flights[..] } else { &[] };
            let mut seen = Vec::new();
            let Some(at) = ending::follow_all(earlier, at, |place, outcome| seen.push((place, outcome))) else {
                return Vec::new();
            };
            if at < 2 {
                return flights[at].end(at as u32).1;
            }
            assert_eq!(seen, [(0, 0), (1, 1)]);
            follower.end(9).1
        };
        let threads: Vec<_> = (0..3)
            .map(|at| {
                let (flights, follower) = (Arc::clone(&flights), Arc::clone(&follower));
                thread::spawn(move || ending::settle_all(at, |at| settle(&flights, &follower, at)))
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
                        room.leave(10);
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
        // The commands of the batch in the making, if there is one.
        let open = Arc::new(sync::Mutex::new(None::<usize>));
        assert!(room.enter(0), "a submission in flight");
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (room, open) = (Arc::clone(&room), Arc::clone(&open));
                thread::spawn(move || {
                    let enter = |begun| Ok::<_, ()>(room.enter(begun));
                    let mut state = room.opened(&open, |state| state, enter, || Ok(0)).expect("nothing fails");
                    *state.as_mut().expect("it was just opened") += 1;
                })
            })
            .collect();
        room.leave(0);
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
        let account = Arc::new(Account::new(u64::MAX, u64::MAX));
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

/// Memory that counts itself, and that has one user at a time.
struct Piece {
    used: AtomicBool,
    alive: Arc<AtomicUsize>,
}

impl Piece {
    const BYTES: usize = 256;
    const ASKED: usize = 200;

    fn new(alive: &Arc<AtomicUsize>) -> Piece {
        alive.fetch_add(1, Ordering::SeqCst);
        Piece { used: AtomicBool::new(false), alive: Arc::clone(alive) }
    }

    /// The class of all of them.
    fn bytes() -> Bytes {
        assert_eq!(shelves::class(Piece::ASKED), (0, Piece::BYTES));
        Bytes::own(Piece::BYTES)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        assert!(!self.used.load(Ordering::SeqCst), "it was released while it was used");
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Threads take, allocate and give back while another ages and trims: each piece has one user, and at the end the figures are
/// those of what is there, and that is within the limit.
#[test]
fn shelves_lend_each_piece_to_one_and_lose_none() {
    type Two = Owner<Piece, 2>;
    fn buffer(shelves: &Two, alive: &Arc<AtomicUsize>) {
        let (piece, part) = shelves.take(0, Piece::BYTES, Piece::ASKED).unwrap_or_else(|| {
            shelves.make_room(Piece::BYTES);
            let piece = Piece::new(alive);
            (piece, shelves.lend_new(Piece::bytes(), Piece::ASKED))
        });
        assert!(!piece.used.swap(true, Ordering::SeqCst), "two users of one piece");
        piece.used.store(false, Ordering::SeqCst);
        part.put_back(piece, Piece::bytes(), Piece::ASKED);
    }
    const THREADS: u64 = 3;
    const EACH: u64 = 2;
    for limit in 1..THREADS {
        check(move || {
            let account = Arc::new(Account::new(limit * Piece::BYTES as u64, u64::MAX));
            let shelves = Arc::new(Two::new(Arc::clone(&account)));
            let alive = Arc::new(AtomicUsize::new(0));
            let mut threads: Vec<_> = (0..THREADS)
                .map(|_| {
                    let (shelves, alive) = (Arc::clone(&shelves), Arc::clone(&alive));
                    thread::spawn(move || (0..EACH).for_each(|_| buffer(&shelves, &alive)))
                })
                .collect();
            let looked = Arc::clone(&shelves);
            threads.push(thread::spawn(move || {
                looked.tick();
                looked.release_older(1);
                looked.trim(Piece::BYTES as u64);
            }));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            let stats = shelves.stats();
            assert_eq!(stats.hits + stats.misses, THREADS * EACH);
            assert_eq!((stats.used_buffers, stats.used_bytes, stats.waste_bytes), (0, 0, 0));
            assert_eq!(stats.idle_buffers + stats.released, stats.misses);
            assert_eq!(alive.load(Ordering::SeqCst) as u64, stats.idle_buffers);
            assert_eq!(account.bytes(), stats.idle_bytes);
            assert!(stats.idle_buffers <= limit, "{stats:?}");
            drop(shelves);
            assert_eq!((alive.load(Ordering::SeqCst), account.bytes()), (0, 0));
        });
    }
}

/// Of two threads that ask for one idle piece, which is in the part of neither, one gets it: never both, and never neither.
#[test]
fn one_of_two_gets_the_last_piece() {
    check(|| {
        let account = Arc::new(Account::new(u64::MAX, u64::MAX));
        let shelves = Arc::new(Owner::<u32, 3>::new(account));
        shelves.lend_new(Piece::bytes(), Piece::ASKED).put_back(7, Piece::bytes(), Piece::ASKED);
        let threads = [(); 2].map(|()| {
            let shelves = Arc::clone(&shelves);
            thread::spawn(move || shelves.take(0, Piece::BYTES, Piece::ASKED).map(|(piece, _part)| piece))
        });
        let taken: Vec<u32> = threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(taken, [7]);
        let stats = shelves.stats();
        assert_eq!((stats.hits, stats.misses, stats.used_buffers, stats.idle_buffers), (1, 1, 1, 0));
    });
}

/// A pool closes while its buffers come back: whoever is second releases them, though other buffers keep the part that they came to.
#[test]
fn what_comes_back_while_a_pool_closes_is_released() {
    check(|| {
        let account = Arc::new(Account::new(u64::MAX, u64::MAX));
        let shelves = Owner::<Piece, 2>::new(Arc::clone(&account));
        let alive = Arc::new(AtomicUsize::new(0));
        let parts = [(); 2].map(|()| shelves.lend_new(Piece::bytes(), Piece::ASKED));
        let threads = parts.each_ref().map(|part| {
            let (part, piece) = (Arc::clone(part), Piece::new(&alive));
            thread::spawn(move || part.put_back(piece, Piece::bytes(), Piece::ASKED))
        });
        drop(shelves);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((alive.load(Ordering::SeqCst), account.bytes()), (0, 0), "something stayed on a shelf");
        drop(parts);
    });
}

/// A pool's memory is released when its last user lets it go, on that thread, whatever the keeper has in its hands.
#[test]
fn nothing_of_a_pool_is_left_when_it_has_closed() {
    check(|| {
        let account = Arc::new(Account::new(u64::MAX, u64::MAX));
        let shelves = Owner::<Piece, 2>::new(Arc::clone(&account));
        let alive = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            shelves.lend_new(Piece::bytes(), Piece::ASKED).put_back(Piece::new(&alive), Piece::bytes(), Piece::ASKED);
        }
        let looked_at = Arc::clone(shelves.shelves());
        let keeper = thread::spawn(move || {
            looked_at.tick();
            looked_at.release_older(1);
        });
        drop(shelves);
        assert_eq!((alive.load(Ordering::SeqCst), account.bytes()), (0, 0));
        keeper.join().unwrap();
    });
}

/// A device with room for two pieces, both idle: two threads that run out of it at once, while the keeper releases as well, both get theirs.
#[test]
fn who_runs_out_of_memory_gets_what_another_releases() {
    check(|| {
        let shelves = Arc::new(Owner::<Piece, 2>::new(Arc::new(Account::new(u64::MAX, u64::MAX))));
        let alive = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            shelves.lend_new(Piece::bytes(), Piece::ASKED).put_back(Piece::new(&alive), Piece::bytes(), Piece::ASKED);
        }
        let users = [(); 2].map(|()| {
            let (shelves, alive) = (Arc::clone(&shelves), Arc::clone(&alive));
            thread::spawn(move || {
                let is_room = |alive| (alive < 2).then_some(alive + 1);
                let make = || alive.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_room);
                shelves::Shelves::make(&[Arc::clone(shelves.shelves())], make, |_| true).is_ok()
            })
        });
        let keeper = thread::spawn(move || {
            shelves.tick();
            shelves.release_older(1);
        });
        assert_eq!(users.map(|user| user.join().unwrap()), [true; 2]);
        keeper.join().unwrap();
    });
}

/// One hash for all keys: what is found is decided by the comparison.
fn get(memo: &Memo<u32, u32>, key: u32, make: impl FnOnce() -> Result<u32, Error>) -> Result<u32, Error> {
    memo.get(0, |own| *own == key, || key, make)
}

/// A source is compiled once for all who ask for it at once, waiting or to be told, and a failure is that of all who waited.
#[test]
fn what_several_ask_for_is_made_once() {
    for fails in [false, true] {
        let make = move |made: &AtomicUsize| {
            made.fetch_add(1, Ordering::SeqCst);
            thread::yield_now();
            if fails { Err(Error::EmptyBuffer) } else { Ok(5) }
        };
        let is_right = move |outcome: &Result<u32, Error>| match outcome {
            Ok(value) => !fails && *value == 5,
            Err(error) => fails && matches!(error, Error::EmptyBuffer),
        };
        check(move || {
            let (memo, made, told) = (Memo::new(4), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let mut threads: Vec<_> = (0..2)
                .map(|_| {
                    let (memo, made) = (memo.clone(), Arc::clone(&made));
                    thread::spawn(move || assert!(is_right(&get(&memo, 1, || make(&made)))))
                })
                .collect();
            let (asked, makes, tells) = (memo.clone(), Arc::clone(&made), Arc::clone(&told));
            threads.push(thread::spawn(move || {
                let tell = move |outcome: Outcome<u32>| {
                    assert!(outcome.as_ref().is_some_and(is_right));
                    tells.fetch_add(1, Ordering::SeqCst);
                };
                match asked.ask(0, |own| *own == 1, || 1) {
                    Asked::Ready(value) => tell(Some(Ok(value))),
                    Asked::Make(making) => tell(Some(making.end(make(&makes)))),
                    Asked::Pending(waiting) => {
                        if let Some((tell, outcome)) = waiting.follow(Box::new(tell)) {
                            tell(outcome);
                        }
                    }
                }
            }));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(told.load(Ordering::SeqCst), 1, "who is to be told is, and once");
            let (stats, made) = (memo.stats(), made.load(Ordering::SeqCst) as u64);
            assert_eq!((stats.misses, stats.hits + stats.joined), (made, 3 - made));
            match fails {
                false => assert_eq!((made, stats.kept, memo.find(0, |own| *own == 1)), (1, 1, Some(5))),
                true => assert_eq!((stats.hits, stats.kept), (0, 0), "what failed is not kept"),
            }
        });
    }
}

/// A maker that panics ends without an outcome, as one does whose `Making` is dropped: one of those who wait for it makes it.
#[test]
fn when_a_maker_panics_one_who_waited_makes_it() {
    check(|| {
        let (memo, made) = (Memo::new(4), Arc::new(AtomicUsize::new(0)));
        let asked = memo.clone();
        let panics = thread::spawn(move || match asked.ask(0, |own| *own == 1, || 1) {
            Asked::Make(making) => {
                thread::yield_now();
                drop(making);
                1
            }
            Asked::Ready(value) => {
                assert_eq!(value, 6);
                0
            }
            Asked::Pending(waiting) => {
                assert!(matches!(waiting.wait(), Some(Ok(6))));
                0
            }
        });
        let others = [(); 2].map(|()| {
            let (memo, made) = (memo.clone(), Arc::clone(&made));
            let make = move || {
                made.fetch_add(1, Ordering::SeqCst);
                Ok(6)
            };
            thread::spawn(move || get(&memo, 1, make).unwrap())
        });
        assert_eq!(others.map(|thread| thread.join().unwrap()), [6, 6]);
        let panicked = panics.join().unwrap();
        assert_eq!((made.load(Ordering::SeqCst), memo.stats().misses), (1, 1 + panicked));
        assert_eq!(memo.find(0, |own| *own == 1), Some(6));
    });
}

/// Room for one value and two that are made at once: who asks gets its own, and what goes is counted.
#[test]
fn values_that_are_being_made_make_no_room() {
    check(|| {
        let memo = Memo::new(1);
        let threads = [1, 2, 1].map(|key| {
            let memo = memo.clone();
            thread::spawn(move || assert_eq!(get(&memo, key, || Ok(key * 10)).unwrap(), key * 10))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let stats = memo.stats();
        assert_eq!((stats.kept, stats.kept + stats.evicted), (1, stats.misses), "{stats:?}");
        assert_eq!(stats.hits + stats.joined + stats.misses, 3);
    });
}

/// A row of steps ends as its steps one after the other do, whichever fail, on no more threads than allowed, and none is left waiting.
#[test]
fn steps_end_as_one_after_the_other() {
    let rows: [&[&[usize]]; 5] = [
        &[&[], &[], &[]],
        &[&[], &[0], &[], &[1, 2]],
        &[&[], &[], &[0, 1], &[]],
        &[&[], &[0], &[1]],
        &[&[], &[], &[], &[]],
    ];
    for row in rows {
        let before: Vec<Vec<usize>> = row.iter().map(|before| before.to_vec()).collect();
        for (threads, fails) in [(2, 0), (3, 0), (2, 0b0010), (3, 0b0101), (2, 0b1000)] {
            let (before, fails) = (before.clone(), move |at: usize| fails >> at & 1 == 1);
            check(move || {
                // The scheduler wants another thread, also where there is no room for one.
                let other = thread::spawn(|| ());
                let (now, ran) = (AtomicUsize::new(0), sync::Mutex::new(vec![false; before.len()]));
                let outcome = steps::run(&before, threads, |at| {
                    assert!(now.fetch_add(1, Ordering::SeqCst) < threads, "more at once than allowed");
                    assert!(before[at].iter().all(|&earlier| sync::lock(&ran)[earlier]), "what it waits for has run");
                    thread::yield_now();
                    let outcome = if fails(at) { Err(at) } else { Ok(()) };
                    sync::lock(&ran)[at] = outcome.is_ok();
                    now.fetch_sub(1, Ordering::SeqCst);
                    outcome
                });
                let first = (0..before.len()).find(|&at| fails(at));
                assert_eq!(outcome, first.map_or(Ok(()), Err));
                assert!(sync::lock(&ran)[..first.unwrap_or(before.len())].iter().all(|ran| *ran), "all before it ran");
                other.join().unwrap();
            });
        }
    }
}
