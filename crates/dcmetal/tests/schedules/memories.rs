//! Memory that host and device share: guards and submissions keep off each other, nobody sees half of what another one writes, and what a pool or the staging of
//! private memory lends again is not in use.

use std::ptr::NonNull;

use crate::raw::host::{Patience, Tracked};
use crate::schedule::thread;
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::sys::FAILS;
use crate::{Error, Model, PageVec, PoolLimits, StorageMode, buffer, failure, filled, gpu};

pub(crate) const MODELS: &[Model] = &[
    ("a guard for reading sees all of a write or nothing", reads),
    ("a guard for writing is alone", writes),
    ("guards that do not wait", refuses),
    ("a failure is seen by who reads, until it is overwritten", faulted),
    ("what a pool lends again nobody uses", pooled),
    ("private memory is copied by memory that nobody else uses", staged),
    ("memory that is not copied goes to its owner when nobody uses it", not_copied),
];

/// A fill that may be refused, of memory whose guards others hold.
fn fill(gpu: &crate::Accelerator, memory: &crate::memory::AllocationRef, value: u8) -> crate::Result<()> {
    let mut batch = gpu.batch()?;
    batch.fill_range((memory, 0), 8, value)?;
    batch.submit().map(drop)
}

fn read(memory: &Tracked) -> crate::Result<Vec<u32>> {
    let guard = memory.read::<u32>(0, 2, Patience::Wait)?.expect("it is shared");
    let first = guard[0];
    thread::yield_now();
    Ok(vec![first, guard[1]])
}

/// Whether a submission was refused because of a guard.
fn met(filled: crate::Result<()>) -> bool {
    match filled {
        Ok(()) => false,
        Err(Error::BufferInUse { .. }) => true,
        Err(other) => panic!("{other}"),
    }
}

fn reads() {
    let gpu = gpu();
    let x = buffer(&gpu);
    let reads = [(); 2].map(|()| {
        let x = x.allocation().clone();
        thread::spawn(move || {
            let seen = read(x.tracked()).unwrap();
            assert!([0, 1, 2].iter().any(|value| seen == filled(*value)), "{seen:?}");
        })
    });
    let fills = [1, 2].map(|value| (value, met(fill(&gpu, x.allocation(), value))));
    reads.into_iter().for_each(|thread| thread.join().unwrap());
    let last = fills.iter().rfind(|(_, met)| !met).map_or(0, |(value, _)| *value);
    assert_eq!(x.to_vec().unwrap(), filled(last));
}

/// The host writes what it finds, one more, while the device fills, and another thread of the host does the same: it is refused while the other writes.
fn writes() {
    let gpu = gpu();
    let x = buffer(&gpu);
    let adds = [(); 2].map(|()| {
        let x = x.allocation().clone();
        thread::spawn(move || {
            let mut guard = match x.tracked().write::<u32>(0, 2, Patience::Wait, false) {
                Ok(guard) => guard.expect("it is shared"),
                Err(Error::BufferInUse { .. }) => return,
                Err(other) => panic!("{other}"),
            };
            let found = guard.to_vec();
            assert_eq!(found[0], found[1], "half of what another one writes");
            for at in 0..2 {
                thread::yield_now();
                assert_eq!(guard[at], found[at], "somebody else wrote");
                guard[at] += 1;
            }
        })
    });
    met(fill(&gpu, x.allocation(), 1));
    adds.into_iter().for_each(|thread| thread.join().unwrap());
    let left = x.to_vec().unwrap();
    assert_eq!(left[0], left[1]);
}

fn refuses() {
    let gpu = gpu();
    let mut x = buffer(&gpu);
    let submission = crate::fill(&gpu, &mut x, 1).unwrap();
    let looks = {
        let x = x.allocation().clone();
        thread::spawn(move || match x.tracked().read::<u32>(0, 2, Patience::Refuse) {
            Ok(guard) => assert_eq!(guard.expect("it is shared")[..], filled(1)),
            Err(Error::BufferInUse { .. }) => (),
            Err(other) => panic!("{other}"),
        })
    };
    submission.wait().unwrap();
    looks.join().unwrap();
    assert_eq!(x.try_write().unwrap()[..], filled(1), "who waited may");
}

fn faulted() {
    let gpu = gpu();
    let mut x = buffer(&gpu);
    drop(crate::fill(&gpu, &mut x, FAILS).unwrap());
    let looks = {
        let x = x.allocation().clone();
        thread::spawn(move || drop(failure(read(x.tracked()).map(drop))))
    };
    looks.join().unwrap();
    let again = {
        let (gpu, x) = (gpu.clone(), x.allocation().clone());
        thread::spawn(move || fill(&gpu, &x, 1))
    };
    let written = x.write_from(&filled(2));
    match again.join().unwrap() {
        // It came after.
        Ok(()) => assert!(x.to_vec().is_ok_and(|left| left == filled(1) || left == filled(2))),
        Err(Error::Faulted { .. } | Error::BufferInUse { .. }) => assert_eq!(x.to_vec().unwrap(), filled(2)),
        Err(other) => panic!("{other}"),
    }
    written.unwrap();
}

/// Two threads take buffers, have the device fill them and let them go at once.
fn pooled() {
    let gpu = gpu();
    let pool = gpu.pool(PoolLimits { heaps: false, ..PoolLimits::default() });
    let threads = [1, 2].map(|value| {
        let (gpu, pool) = (gpu.clone(), pool.clone());
        thread::spawn(move || {
            let mut submissions = Vec::new();
            for _ in 0..2 {
                let mut lost = pool.buffer::<u32>(2).unwrap();
                submissions.push(crate::fill(&gpu, &mut lost, 9).unwrap());
                drop(lost);
                let mut own = pool.buffer::<u32>(2).unwrap();
                own.write_from(&filled(value)).unwrap();
                thread::yield_now();
                assert_eq!(own.to_vec().unwrap(), filled(value), "somebody else has this buffer");
            }
            submissions.into_iter().for_each(|submission| submission.wait().unwrap());
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(pool.stats().used_buffers, 0, "who was told that it is done finds its memory in the pool");
}

fn staged() {
    let gpu = gpu();
    let threads = [1, 2].map(|value| {
        let gpu = gpu.clone();
        thread::spawn(move || {
            let mut x = gpu.buffer_with::<u32>(2, StorageMode::Private).unwrap();
            x.write_from(&filled(value)).unwrap();
            assert_eq!(x.to_vec().unwrap(), filled(value));
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(gpu.staging_stats().used_buffers, 0);
}

/// Pages of somebody else's: the device fills and copies them, the host reads them, and their last handle goes meanwhile.
fn not_copied() {
    struct Owner {
        pages: PageVec<u32>,
        has_them: Arc<AtomicBool>,
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            assert_eq!(self.pages[..2], filled(1), "the device is done with them");
            self.has_them.store(true, Ordering::SeqCst);
        }
    }
    let gpu = gpu();
    let has_them = Arc::new(AtomicBool::new(false));
    // Whole pages, whatever their size.
    let mut pages = PageVec::zeroed(1 << 14).unwrap();
    let (start, len) = (NonNull::new(pages.as_mut_ptr()).unwrap(), pages.len());
    let owner = Owner { pages, has_them: Arc::clone(&has_them) };
    // SAFETY: whole pages, which live in the owner, and whom nobody else reaches from now on.
    let ours = unsafe { PageVec::from_raw(start, len, owner) }.unwrap();
    let (x, mut y) = (gpu.buffer_no_copy(ours).unwrap(), buffer(&gpu));
    fill(&gpu, x.allocation(), 1).unwrap();
    let reads = {
        let x = x.allocation().clone();
        thread::spawn(move || assert_eq!(read(x.tracked()).unwrap(), filled(1)))
    };
    let mut batch = gpu.batch().unwrap();
    batch.copy_range((x.allocation(), 0), (y.allocation(), 0), 8).unwrap();
    let copied = batch.submit().unwrap();
    drop(x);
    reads.join().unwrap();
    copied.wait().unwrap();
    assert_eq!(y.write().unwrap()[..], filled(1));
    while !has_them.load(Ordering::SeqCst) {
        thread::yield_now();
    }
}
