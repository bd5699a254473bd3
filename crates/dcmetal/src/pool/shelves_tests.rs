//! Classes, and shelves against lists.

use std::sync::Arc;

use proptest::prelude::*;

use super::account::Account;
use super::shelves::{Bytes, MIN_CLASS_LOG2, Owner, PARTS, Part, class};

#[test]
fn a_class_holds_its_sizes_and_wastes_less_than_a_quarter() {
    let mut last = 0;
    for bytes in (1..70_000).chain((1 << 30) - 3..(1 << 30) + 3) {
        let (index, size) = class(bytes);
        assert!(size >= bytes, "{bytes} in a class of {size}");
        assert!(bytes <= 1 << MIN_CLASS_LOG2 || (size - bytes) * 4 < size, "{bytes} in a class of {size}");
        assert_eq!(class(size), (index, size), "a class's own size is in it");
        assert!(index >= last, "{bytes} in class {index} after {last}");
        last = index;
    }
    assert_eq!([class(1), class(256), class(257), class(512)], [(0, 256), (0, 256), (1, 320), (4, 512)]);
}

/// What a user of the shelves does.
#[derive(Clone, Debug)]
enum Step {
    Ask(usize),
    /// Gives back one of those in use.
    Return(usize),
    Tick,
    Age(u64),
    Trim(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (1usize..5000).prop_map(Step::Ask),
        4 => any::<usize>().prop_map(Step::Return),
        1 => Just(Step::Tick),
        1 => (0u64..4).prop_map(Step::Age),
        1 => (0u64..8000).prop_map(Step::Trim),
    ]
}

/// One piece of memory, by number.
struct Piece {
    number: usize,
    bytes: usize,
}

const LIMITS: (u64, u64) = (20_000, 9);

fn shelves<M>(max_bytes: u64, max_pieces: u64) -> Owner<M> {
    Owner::new(Arc::new(Account::new(max_bytes, max_pieces)))
}

proptest! {
    /// Against lists of what is used and what is idle since when.
    #[test]
    fn shelves_are_what_lists_would_be(steps in prop::collection::vec(step(), 1..200)) {
        let shelves = shelves::<Piece>(LIMITS.0, LIMITS.1);
        let mut used: Vec<(Piece, usize, Arc<Part<Piece>>)> = Vec::new();
        let mut idle: Vec<(usize, usize, u64)> = Vec::new();
        let (mut now, mut made, mut hits, mut released) = (0u64, 0usize, 0u64, 0u64);
        // The most pieces and bytes: held, and used.
        let (mut most_held, mut most_used) = ((0, 0), (0, 0));
        for step in steps {
            match step {
                Step::Ask(asked) => {
                    let (class, size) = class(asked);
                    let wanted = idle.iter().rposition(|piece| piece.1 == size);
                    match (shelves.take(class, size, asked), wanted) {
                        (Some((piece, part)), Some(at)) => {
                            prop_assert_eq!(piece.number, idle.remove(at).0, "the last that came back");
                            hits += 1;
                            used.push((piece, asked, part));
                        }
                        (None, None) => {
                            shelves.make_room(size);
                            let over = |idle: &[(usize, usize, u64)]| {
                                let bytes = used.iter().map(|u| u.0.bytes).chain(idle.iter().map(|i| i.1)).sum::<usize>();
                                (bytes + size) as u64 > LIMITS.0 || (used.len() + idle.len() + 1) as u64 > LIMITS.1
                            };
                            while over(&idle) && !idle.is_empty() {
                                let largest = idle.iter().map(|piece| piece.1).max();
                                let at = idle.iter().position(|piece| Some(piece.1) == largest);
                                idle.remove(at.expect("the largest is there"));
                                released += 1;
                            }
                            used.push((Piece { number: made, bytes: size }, asked, shelves.lend_new(Bytes::own(size), asked)));
                            made += 1;
                        }
                        (found, wanted) => prop_assert!(false, "found {}, wanted {wanted:?}", found.is_some()),
                    }
                }
                Step::Return(which) if !used.is_empty() => {
                    let bytes = used.iter().map(|u| u.0.bytes).chain(idle.iter().map(|i| i.1)).sum::<usize>() as u64;
                    let keep = bytes <= LIMITS.0 && (used.len() + idle.len()) as u64 <= LIMITS.1;
                    let (piece, asked, part) = used.swap_remove(which % used.len());
                    match keep {
                        true => idle.push((piece.number, piece.bytes, now)),
                        false => released += 1,
                    }
                    let bytes = Bytes::own(piece.bytes);
                    part.put_back(piece, bytes, asked);
                }
                Step::Return(_) => {}
                Step::Tick => {
                    shelves.tick();
                    now += 1;
                }
                Step::Age(ticks) => {
                    let old = |piece: &(usize, usize, u64)| now >= ticks && piece.2 <= now - ticks;
                    let bytes: usize = idle.extract_if(.., |piece| old(piece)).map(|piece| (released += 1, piece.1).1).sum();
                    prop_assert_eq!(shelves.release_older(ticks), bytes as u64);
                }
                Step::Trim(keep) => {
                    let before = idle.iter().map(|piece| piece.1 as u64).sum::<u64>();
                    let freed = shelves.trim(keep);
                    let mut left = before;
                    while left > keep {
                        let largest = idle.iter().map(|piece| piece.1).max().expect("something is left");
                        let at = idle.iter().position(|piece| piece.1 == largest).expect("the largest is there");
                        left -= idle.remove(at).1 as u64;
                        released += 1;
                    }
                    prop_assert_eq!(freed, before - left);
                }
            }
            let sum = |bytes: &mut dyn Iterator<Item = usize>| bytes.sum::<usize>() as u64;
            let stats = shelves.stats();
            let (used_bytes, idle_bytes) =
                (sum(&mut used.iter().map(|u| u.0.bytes)), sum(&mut idle.iter().map(|i| i.1)));
            prop_assert_eq!((stats.hits, stats.misses, stats.released), (hits, made as u64, released));
            prop_assert_eq!((stats.used_buffers, stats.used_bytes), (used.len() as u64, used_bytes));
            prop_assert_eq!((stats.idle_buffers, stats.idle_bytes), (idle.len() as u64, idle_bytes));
            prop_assert_eq!(stats.waste_bytes, used_bytes - sum(&mut used.iter().map(|u| u.1)));
            prop_assert_eq!(shelves.held_bytes(), used_bytes + idle_bytes);
            let most = |(pieces, bytes): &mut (u64, u64), with: &[usize], sum| {
                (*pieces, *bytes) = ((*pieces).max(with.iter().sum::<usize>() as u64), (*bytes).max(sum));
            };
            most(&mut most_held, &[used.len(), idle.len()], used_bytes + idle_bytes);
            most(&mut most_used, &[used.len()], used_bytes);
            prop_assert_eq!((stats.peak_buffers, stats.peak_bytes), most_held);
            prop_assert_eq!((stats.peak_used_buffers, stats.peak_used_bytes), most_used);
        }
    }
}

#[test]
fn what_one_thread_gave_back_another_gets() {
    let shelves = shelves::<u32>(u64::MAX, u64::MAX);
    let bytes = Bytes::own(1024);
    std::thread::scope(|scope| {
        scope.spawn(|| shelves.lend_new(bytes, 1000).put_back(7, bytes, 1000));
    });
    let (class, size) = class(1000);
    let taken: Vec<u32> = std::thread::scope(|scope| {
        // More threads than parts, so that one of them has another part.
        let threads: Vec<_> = (0..PARTS + 1)
            .map(|_| scope.spawn(|| shelves.take(class, size, 900).map(|(memory, _part)| memory)))
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().expect("it does not panic")).collect()
    });
    assert_eq!(taken, [7], "one of them, and only one");
    let stats = shelves.stats();
    assert_eq!((stats.hits, stats.used_bytes, stats.waste_bytes), (1, 1024, 124));
    assert_eq!((stats.peak_used_buffers, stats.peak_used_bytes), (1, 1024), "there is one piece, whoever had it");
}

/// Threads of one part or of several: what is told lies between what was used at once and what was held at once.
#[test]
fn the_most_that_threads_use_is_told_within_bounds() {
    // Whether all is in use at once, whether what is idle is released between, and the most that is used and held.
    for (at_once, released, used, held) in [(true, false, 5, 5), (false, false, 3, 5), (false, true, 3, 3)] {
        let shelves = shelves::<u32>(u64::MAX, u64::MAX);
        let mut lent = Vec::new();
        // Sizes of their own, so that nobody finds what another gave back.
        for (pieces, size) in [(3, 256), (2, 512)] {
            let bytes = Bytes::own(size);
            let lend = || (0..pieces).map(|_| shelves.lend_new(bytes, size)).collect::<Vec<_>>();
            let parts = std::thread::scope(|scope| scope.spawn(lend).join().expect("it does not panic"));
            let put_back = move || parts.iter().for_each(|part| part.put_back(0, bytes, size));
            if at_once {
                lent.push(put_back)
            } else {
                put_back()
            }
            if released {
                shelves.trim(0);
            }
        }
        lent.iter().for_each(|put_back| put_back());
        let stats = shelves.stats();
        assert_eq!(stats.peak_buffers, held);
        assert!((used..=held).contains(&stats.peak_used_buffers), "{stats:?}");
        let used_bytes = if at_once { 3 * 256 + 2 * 512 } else { 2 * 512 };
        assert!((used_bytes..=stats.peak_bytes).contains(&stats.peak_used_bytes), "{stats:?}");
    }
}

#[test]
fn what_comes_back_after_the_pool_is_released() {
    let alive = Arc::new(());
    let (shelves, bytes) = (shelves::<Arc<()>>(u64::MAX, u64::MAX), Bytes::own(256));
    let (first, second) = (shelves.lend_new(bytes, 1), shelves.lend_new(bytes, 1));
    first.put_back(Arc::clone(&alive), bytes, 1);
    // As the keeper has them, and who reads their figures.
    let looked_at = Arc::clone(shelves.shelves());
    assert!(!looked_at.is_closed());
    drop(shelves);
    assert_eq!(Arc::strong_count(&alive), 1, "idle memory goes with the pool, whoever looks at it");
    assert!(looked_at.is_closed());
    second.put_back(Arc::clone(&alive), bytes, 1);
    assert_eq!(Arc::strong_count(&alive), 1);
}
