//! How submissions settle: in their order, whatever the order of Metal's handlers; the first failure is that of all who used what it was to write. And the
//! places of a queue.

use crate::schedule::thread;
use crate::sync::Arc;
use crate::sys::{FAILS, REFUSED};
use crate::{Error, Model, Result, block_on, buffer, copy, failure, fill, filled, gpu};

pub(crate) const MODELS: &[Model] = &[
    ("a submission ends after those it depends on", in_order),
    ("the first failure is everybody's", first_failure),
    ("a submission that fails by itself tells that", own_failure),
    ("what was refused is taken back", refused),
    ("several threads submit", several_threads),
    ("memory outlives its last handle while the device uses it", kept),
    ("a queue full of waits is an error to who could end them", full),
    ("a queue that will have room is waited for", room),
];

/// Who learns of the last has the results of all: what they used is free, though an earlier one may be a step from telling so itself.
fn in_order() {
    let gpu = gpu();
    let (mut x, mut y, mut z) = (buffer(&gpu), buffer(&gpu), buffer(&gpu));
    let first = fill(&gpu, &mut x, 1).unwrap();
    let second = copy(&gpu, &x, &mut y).unwrap();
    let third = copy(&gpu, &y, &mut z).unwrap();
    let told = thread::spawn(move || block_on(third));
    told.join().unwrap().unwrap();
    assert_eq!(z.try_read().unwrap()[..], filled(1));
    for written in [&x, &y] {
        assert_eq!(written.try_read().unwrap()[..], filled(1), "an earlier one still writes");
    }
    [first, second].into_iter().for_each(|earlier| earlier.wait().unwrap());
}

/// Three in a row, of which the first fails. Each is waited for by a thread, and the buffers tell too.
fn first_failure() {
    let gpu = gpu();
    let (mut x, mut y, mut z) = (buffer(&gpu), buffer(&gpu), buffer(&gpu));
    let first = fill(&gpu, &mut x, FAILS).unwrap();
    // Where the failure is known already, nothing is submitted.
    let second = copy(&gpu, &x, &mut y);
    let third = copy(&gpu, &y, &mut z);
    let submitted = third.is_ok();
    let [second, third] = [second, third].map(|submission| {
        let told = || submission.and_then(block_on);
        thread::spawn(told)
    });
    let root = failure(first.wait());
    assert_eq!(root.caused_by, None);
    assert_eq!(failure(x.to_vec().map(drop)), root);
    let is_root = |error: &Arc<crate::SubmissionError>| *error == root || error.caused_by.as_ref() == Some(&root);
    let second = second.join().unwrap();
    assert!(is_root(&failure(second)));
    match third.join().unwrap() {
        // The second was not submitted, so that y is what it was.
        Ok(()) => assert_eq!((y.to_vec().unwrap(), z.to_vec().unwrap()), (vec![0; 2], vec![0; 2])),
        told => {
            let third = failure(told);
            assert!(is_root(&third) || third.caused_by.as_ref().is_some_and(is_root), "{third:?}");
            assert_eq!(z.to_vec().is_err(), submitted, "what was submitted has left nothing to trust");
        }
    }
}

/// One that fails by itself does not wait for what it used, and its own words are told by whoever asks.
fn own_failure() {
    let gpu = gpu();
    let (mut x, mut y) = (buffer(&gpu), buffer(&gpu));
    let first = fill(&gpu, &mut x, FAILS).unwrap();
    let mut batch = gpu.batch().unwrap();
    batch.copy(&x, &mut y).unwrap();
    batch.fill(&mut y, FAILS).unwrap();
    let second = match batch.submit() {
        Ok(second) => second,
        Err(told) => return drop(failure(Err(told))),
    };
    let waits = thread::spawn(move || failure(second.wait()));
    let second = waits.join().unwrap();
    assert_eq!(second.caused_by, None);
    assert_eq!(failure(y.to_vec().map(drop)), second, "the first that failed is told of the buffer");
    assert_eq!(failure(first.wait()).caused_by, None);
}

/// Nobody depends on a submission that Metal did not take, though another thread submits at the same time.
fn refused() {
    let gpu = gpu();
    let (mut x, y, mut z) = (buffer(&gpu), buffer(&gpu), buffer(&gpu));
    fill(&gpu, &mut x, 1).unwrap().wait().unwrap();
    let allocation = y.allocation().clone();
    let (other, source) = (gpu.clone(), x.allocation().clone());
    let reads = thread::spawn(move || {
        let mut batch = other.batch()?;
        batch.copy_range((&source, 0), (&allocation, 0), 8)?;
        batch.submit()?.wait()
    });
    assert!(matches!(fill(&gpu, &mut x, REFUSED), Err(Error::Metal { .. })));
    reads.join().unwrap().unwrap();
    assert_eq!(x.to_vec().unwrap(), filled(1));
    copy(&gpu, &y, &mut z).unwrap().wait().unwrap();
    assert_eq!(z.to_vec().unwrap(), filled(1));
}

/// Fills of one buffer by two threads, and copies of it: what is copied is all of one of them.
fn several_threads() {
    let gpu = gpu();
    let x = buffer(&gpu);
    let threads = [1, 2].map(|value| {
        let (gpu, x) = (gpu.clone(), x.allocation().clone());
        thread::spawn(move || {
            let mut seen = buffer(&gpu);
            let mut batch = gpu.batch().unwrap();
            batch.fill_range((&x, 0), 8, value).unwrap();
            let filled = batch.submit().unwrap();
            let mut batch = gpu.batch().unwrap();
            batch.copy_range((&x, 0), (seen.allocation(), 0), 8).unwrap();
            batch.submit().unwrap().wait().unwrap();
            filled.wait().unwrap();
            let seen = seen.write().unwrap().to_vec();
            assert!([1, 2].iter().any(|value| seen == crate::filled(*value)), "{seen:?}");
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// What Metal does not keep is kept for it.
fn kept() {
    let gpu = gpu();
    let (mut x, mut y) = (buffer(&gpu), buffer(&gpu));
    drop(fill(&gpu, &mut x, 3).unwrap());
    let last = copy(&gpu, &x, &mut y).unwrap();
    drop((x, gpu));
    let gone = thread::spawn(move || drop(y));
    last.wait().unwrap();
    gone.join().unwrap();
}

/// Two threads fill the queue behind an event that only they would signal, while a batch that nobody submits has a place too. Whoever is refused signals, and
/// everything ends.
fn full() {
    let gpu = gpu();
    let open = gpu.batch().unwrap();
    let event = gpu.event().unwrap();
    let refused = [(); 2].map(|()| {
        let (gpu, event) = (gpu.clone(), event.clone());
        thread::spawn(move || {
            let mut submissions = Vec::new();
            let refused = loop {
                let wait = || -> Result<crate::Submission> {
                    let mut batch = gpu.batch()?;
                    batch.wait_for(&event, 1)?;
                    batch.submit()
                };
                match wait() {
                    Ok(submission) => submissions.push(submission),
                    Err(error) => break error,
                }
                if submissions.len() > crate::sync::QUEUE_CAPACITY {
                    break Error::NotFinished;
                }
            };
            event.signal(1).unwrap();
            submissions.into_iter().for_each(|submission| submission.wait().unwrap());
            matches!(refused, Error::QueueFull { .. })
        })
    });
    let refused = refused.map(|thread| thread.join().unwrap());
    assert!(refused.contains(&true), "somebody found the queue full");
    drop(open);
    gpu.batch().unwrap().submit().unwrap().wait().unwrap();
}

/// Submissions behind a wait that a submission of another queue ends: nobody is refused.
fn room() {
    let (gpu, other) = (gpu(), gpu());
    let event = gpu.event().unwrap();
    let mut sender = other.batch().unwrap();
    sender.signal(&event, 1).unwrap();
    let sender = sender.submit().unwrap();
    let mut x = buffer(&gpu);
    let waits = thread::spawn(move || {
        for _ in 0..2 * crate::sync::QUEUE_CAPACITY {
            let mut batch = gpu.batch().unwrap();
            batch.wait_for(&event, 1).unwrap();
            batch.fill(&mut x, 4).unwrap();
            drop(batch.submit().unwrap());
        }
        assert_eq!(x.to_vec().unwrap(), filled(4));
    });
    sender.wait().unwrap();
    waits.join().unwrap();
}
