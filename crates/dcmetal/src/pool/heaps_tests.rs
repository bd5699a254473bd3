//! [`Heaps`] against lists of what lies where. Beside it and not in it, because `tests/models.rs` compiles it with other locks.

use proptest::prelude::*;

use super::account::{Account, HeapFigures};
use super::heaps::{Heaps, Share};
use crate::raw::host::lock;
use crate::sync::{Arc, Mutex, MutexGuard};

/// Bytes of a heap, and of the largest buffer in one.
const HEAP: u64 = 1000;
const MOST: u64 = 300;
/// Three heaps are within it.
const LIMIT: u64 = 3500;

/// The bytes that are used of each heap that was ever made; `None` when it is gone.
#[derive(Clone, Default)]
struct World(Arc<Mutex<Vec<Option<u64>>>>);

impl World {
    fn used(&self) -> MutexGuard<'_, Vec<Option<u64>>> {
        lock(&self.0)
    }

    fn alive(&self) -> Vec<u64> {
        self.used().iter().copied().flatten().collect()
    }
}

struct Heap {
    number: usize,
    world: World,
}

impl Drop for Heap {
    fn drop(&mut self) {
        assert_eq!(self.world.used()[self.number].take(), Some(0), "a heap went before its last buffer");
    }
}

struct Piece {
    number: usize,
    bytes: u64,
    world: World,
}

impl Drop for Piece {
    fn drop(&mut self) {
        let mut used = self.world.used();
        *used[self.number].as_mut().expect("its heap is there") -= self.bytes;
    }
}

impl Heap {
    fn open(world: &World, bytes: u64) -> Heap {
        assert_eq!(bytes, HEAP);
        let mut used = world.used();
        used.push(Some(0));
        Heap { number: used.len() - 1, world: world.clone() }
    }

    fn piece(&self, bytes: u64) -> Option<Piece> {
        let mut used = self.world.used();
        let used = used[self.number].as_mut().expect("it is there");
        (*used + bytes <= HEAP).then(|| {
            *used += bytes;
            Piece { number: self.number, bytes, world: self.world.clone() }
        })
    }
}

fn take(heaps: &Heaps<Heap>, world: &World, bytes: u64) -> Option<(Piece, Share<Heap>)> {
    let open = |size| Ok::<_, ()>(Some((Heap::open(world, size), size)));
    heaps.take(bytes, open, |heap| Ok(heap.piece(bytes))).expect("nothing fails")
}

proptest! {
    #[test]
    fn heaps_are_filled_before_there_are_more_and_go_with_their_last_buffer(
        steps in prop::collection::vec((prop::bool::weighted(0.6), 1..=MOST, any::<usize>()), 1..300)
    ) {
        let (world, account) = (World::default(), Arc::new(Account::new(LIMIT, u64::MAX)));
        let heaps = Heaps::<Heap>::new(HEAP, &account);
        let mut lent: Vec<(Piece, Share<Heap>)> = Vec::new();
        for (asks, bytes, which) in steps {
            let before = world.alive();
            if asks {
                let made = world.used().len();
                let taken = take(&heaps, &world, bytes);
                if taken.is_none() || world.used().len() > made {
                    prop_assert!(before.iter().all(|used| used + MOST > HEAP), "there was room: {:?}", before);
                }
                prop_assert_eq!(taken.is_none(), world.alive() == before);
                if taken.is_none() {
                    prop_assert_eq!(before.len(), 3, "the limit is not reached");
                }
                lent.extend(taken);
            } else if !lent.is_empty() {
                let at = which % lent.len();
                drop(lent.swap_remove(at));
            }
            let used = world.alive();
            prop_assert!(!used.contains(&0), "a heap without buffers is kept");
            let (count, sum) = (used.len() as u64, used.iter().sum::<u64>());
            prop_assert_eq!(sum, lent.iter().map(|(piece, _)| piece.bytes).sum::<u64>());
            let figures = HeapFigures { heaps: count, bytes: count * HEAP, free_bytes: count * HEAP - sum };
            prop_assert_eq!((account.heaps(), account.bytes()), (figures, count * HEAP));
        }
        drop(lent);
        prop_assert_eq!((account.heaps(), world.alive()), (HeapFigures::default(), vec![]));
        prop_assert!(account.peak_bytes() <= LIMIT);
    }
}

/// What cannot be made, and how: none is counted, and no failure is swallowed.
#[test]
fn what_was_not_made_is_not_there() {
    let (world, account) = (World::default(), Arc::new(Account::new(u64::MAX, u64::MAX)));
    let heaps = Heaps::<Heap>::new(HEAP, &account);
    let open = |size| Ok(Some((Heap::open(&world, size), size)));
    assert!(heaps.take(1, |_| Ok::<_, u32>(None), |heap| Ok(heap.piece(1))).expect("no failure").is_none());
    assert_eq!(heaps.take(1, |_| Err(1), |heap| Ok(heap.piece(1))).err(), Some(1));
    assert!(heaps.take(1, open, |_| Ok::<Option<()>, u32>(None)).expect("no failure").is_none());
    assert_eq!(heaps.take(1, open, |_| Err::<Option<()>, u32>(2)).err(), Some(2));
    assert_eq!((account.heaps(), world.alive()), (HeapFigures::default(), vec![]));
    // A size that Metal rounded up counts.
    let large = |size| Ok::<_, u32>(Some((Heap::open(&world, size), 2 * size)));
    let taken = heaps.take(1, large, |heap| Ok(heap.piece(1))).expect("no failure");
    assert_eq!(account.heaps(), HeapFigures { heaps: 1, bytes: 2 * HEAP, free_bytes: 2 * HEAP - 1 });
    // Whoever failed to make a part of it may not be the last: it has room all the same.
    assert_eq!(heaps.take(1, open, |_| Err::<Option<()>, u32>(2)).err(), Some(2));
    let next = heaps.take(1, |_| Err(3), |heap| Ok(heap.piece(1))).expect("room in the first");
    drop((taken, next));
    assert_eq!((account.heaps(), world.alive()), (HeapFigures::default(), vec![]));
}
