//! Streams and groups of them: an order that everybody sees, whoever closes batches and when; failures that are told, once; room for what is in flight.

use std::time::Duration;

use crate::schedule::thread;
use crate::sync::Arc;
use crate::sys::{FAILS, REFUSED};
use crate::{Accelerator, Model, Stream, StreamLimits, buffer, failure, filled, gpu};

pub(crate) const MODELS: &[Model] = &[
    ("what a stream was given comes first, whoever hands it over", handed_over),
    ("streams that wait for each other's batches hand them over", crossed),
    ("threads share a stream, and somebody cancels", shared),
    ("a stream with room for one lets all in at last", room),
    ("a failure is told to a wait, and not to the next", told_once),
    ("a batch that Metal refused has failed", refused),
    ("work of a higher priority is handed over first", priority),
    ("a group's signal is for all of its streams", || group(1)),
    ("a group's signal fails with any of its streams", || group(FAILS)),
    ("a group tells the first failure", first_of_group),
];

/// Batches close when they are full, or somebody closes them.
fn stream(gpu: &Accelerator, commands: usize) -> Stream {
    gpu.stream(limits(commands))
}

fn limits(commands: usize) -> StreamLimits {
    StreamLimits { commands, age: Duration::MAX, ..StreamLimits::default() }
}

/// One stream fills, two others copy that, and the host reads it, all at once: the fill may still lie in its batch.
fn handed_over() {
    let gpu = gpu();
    let mut x = buffer(&gpu);
    let first = stream(&gpu, 64);
    first.fill(&mut x, 1).unwrap();
    let x = Arc::new(x);
    let copies = [1, 64].map(|commands| {
        let (gpu, x) = (gpu.clone(), Arc::clone(&x));
        thread::spawn(move || {
            let (stream, mut y) = (stream(&gpu, commands), buffer(&gpu));
            stream.copy(&*x, &mut y).unwrap();
            assert_eq!(y.to_vec().unwrap(), filled(1), "the copy overtook the fill");
        })
    });
    assert_eq!(x.to_vec().unwrap(), filled(1));
    copies.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(first.recorded(), 0);
}

/// Each has in its open batch what the other one wants.
fn crossed() {
    let gpu = gpu();
    let memories = [buffer(&gpu), buffer(&gpu)];
    let threads = [0, 1].map(|own| {
        let (gpu, memories) = (gpu.clone(), memories.each_ref().map(|memory| memory.allocation().clone()));
        thread::spawn(move || {
            let stream = stream(&gpu, 64);
            for memory in [own, 1 - own] {
                let mut whole = crate::ViewMut::<u32>::new(&memories[memory], 0, 2);
                stream.fill(whole.reborrow(), 1 + own as u8).unwrap();
            }
            stream.wait().unwrap();
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    for memory in memories {
        let left = memory.to_vec().unwrap();
        assert!([1, 2].iter().any(|value| left == filled(*value)), "{left:?}");
    }
}

/// Commands are in the order in which they were given, and what was forgotten is forgotten whole.
fn shared() {
    let gpu = gpu();
    let stream = Arc::new(stream(&gpu, 2));
    let threads = [1, 2].map(|value| {
        let (gpu, stream) = (gpu.clone(), Arc::clone(&stream));
        thread::spawn(move || {
            let (mut x, mut y) = (buffer(&gpu), buffer(&gpu));
            stream.fill(&mut x, value).unwrap();
            stream.copy(&x, &mut y).unwrap();
            (value, x.to_vec().unwrap(), y.to_vec().unwrap())
        })
    });
    let cancels = {
        let stream = Arc::clone(&stream);
        thread::spawn(move || stream.cancel())
    };
    let seen = threads.map(|thread| thread.join().unwrap());
    let cancelled = cancels.join().unwrap();
    stream.wait().unwrap();
    let mut missed = 0;
    for (value, x, y) in seen {
        let [filled_x, filled_y] = [&x, &y].map(|left| {
            assert!(*left == filled(value) || *left == [0; 2], "{left:?}");
            *left == filled(value)
        });
        // A copy of what was forgotten copies zeros.
        missed += usize::from(!filled_x) + usize::from(!filled_y && filled_x);
        assert!(filled_x || !filled_y);
    }
    assert!(missed <= cancelled, "{missed} commands are missing, {cancelled} were forgotten");
    assert_eq!(stream.in_flight(), 0);
}

fn room() {
    let gpu = gpu();
    let stream = Arc::new(gpu.stream(StreamLimits { in_flight: 1, ..limits(1) }));
    let threads = [1, 2].map(|value| {
        let (gpu, stream) = (gpu.clone(), Arc::clone(&stream));
        thread::spawn(move || {
            let mut x = buffer(&gpu);
            for value in [7, value] {
                stream.fill(&mut x, value).unwrap();
                assert!(stream.in_flight() <= 1, "more is in flight than there is room for");
            }
            assert_eq!(x.to_vec().unwrap(), filled(value));
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    stream.wait().unwrap();
    assert_eq!(stream.in_flight(), 0);
}

/// Of two waits at once one at least is told; what comes later is not, and what fails later is.
fn told_once() {
    let gpu = gpu();
    let stream = Arc::new(stream(&gpu, 1));
    let (mut x, mut y) = (buffer(&gpu), buffer(&gpu));
    stream.fill(&mut x, FAILS).unwrap();
    stream.fill(&mut y, 1).unwrap();
    let other = {
        let stream = Arc::clone(&stream);
        thread::spawn(move || stream.wait())
    };
    let told = [stream.wait(), other.join().unwrap()];
    assert!(told.iter().any(|told| told.is_err()), "nobody was told");
    told.into_iter().filter(|told| told.is_err()).for_each(|told| assert_eq!(failure(told).caused_by, None));
    stream.wait().unwrap();
    assert_eq!(y.to_vec().unwrap(), filled(1));
    stream.fill(&mut y, FAILS).unwrap();
    drop(failure(stream.wait()));
}

/// Nobody waits for it, and who uses what it was to write has its failure.
fn refused() {
    let gpu = gpu();
    let first = stream(&gpu, 64);
    let (mut x, mut y) = (buffer(&gpu), buffer(&gpu));
    first.fill(&mut x, REFUSED).unwrap();
    let copies = {
        let gpu = gpu.clone();
        thread::spawn(move || {
            let stream = stream(&gpu, 64);
            // Where it has failed already, the copy is refused.
            let copied = stream.copy(&x, &mut y).and_then(|()| stream.wait());
            drop(failure(copied));
        })
    };
    let told = first.wait();
    assert!(failure(told).caused_by.is_none());
    copies.join().unwrap();
}

/// Work that another stream and a batch hand over does not overtake what the stream with a priority was given before.
fn priority() {
    let gpu = gpu();
    let urgent = gpu.stream(StreamLimits { priority: 1, ..limits(64) });
    let event = gpu.event().unwrap();
    let (mut x, mut y) = (buffer(&gpu), buffer(&gpu));
    urgent.fill(&mut x, 1).unwrap();
    let lower = {
        let (gpu, event) = (gpu.clone(), event.clone());
        thread::spawn(move || {
            let stream = stream(&gpu, 64);
            stream.fill(&mut y, 2).unwrap();
            stream.signal(&event, 1).unwrap();
        })
    };
    // The queue's order is that of handing over: what was handed over before the signal has run by then.
    event.wait(1).unwrap();
    assert_eq!(urgent.recorded(), 0, "it was overtaken");
    lower.join().unwrap();
    assert_eq!(x.to_vec().unwrap(), filled(1));
}

fn group(value: u8) {
    let gpu = gpu();
    let group = Arc::new(gpu.stream_group(2, limits(64)));
    let event = gpu.event().unwrap();
    let mut halves = [buffer(&gpu), buffer(&gpu)];
    for (stream, (half, value)) in group.streams().iter().zip(halves.iter_mut().zip([value, 2])) {
        stream.fill(half, value).unwrap();
    }
    let closes = {
        let group = Arc::clone(&group);
        thread::spawn(move || drop(group.flush()))
    };
    let signaled = group.signal(&event, 1);
    let told = signaled.and_then(|()| event.wait(1));
    closes.join().unwrap();
    match value {
        FAILS => drop(failure(told)),
        value => {
            told.unwrap();
            assert_eq!(halves.map(|half| half.to_vec().unwrap()), [filled(value), filled(2)]);
        }
    }
    assert_eq!(group.wait().is_ok(), value != FAILS);
}

/// One stream's work uses what another's failed to write: what is told is what failed by itself.
fn first_of_group() {
    let gpu = gpu();
    let group = Arc::new(gpu.stream_group(2, limits(1)));
    let (mut x, mut y) = (buffer(&gpu), buffer(&gpu));
    let [one, other] = group.streams() else { unreachable!("two streams") };
    other.fill(&mut x, FAILS).unwrap();
    if let Err(told) = one.copy(&x, &mut y) {
        return drop(failure(Err(told)));
    }
    let looks = {
        let group = Arc::clone(&group);
        thread::spawn(move || drop(group.flush()))
    };
    let told = failure(group.wait());
    assert_eq!(told.caused_by, None, "what failed by itself is told");
    group.wait().unwrap();
    looks.join().unwrap();
}
