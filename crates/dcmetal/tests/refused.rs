//! Commits that Metal refuses: the submissions have failed, and the user's code that is told (the logger, who waits for an event) may
//! use everything, the same stream too: it is called under none of this crate's locks.
#![cfg(target_os = "linux")]

mod common;

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

use common::{Gate, gpu};
use dcmetal::{Accelerator, Buffer, Error, Event, Stream, StreamLimits};
use hostmetal::faults;

/// Far longer than anything takes: what is not done then hangs.
const PATIENCE: Duration = Duration::from_secs(60);

type Listener = Box<dyn FnOnce(&str) + Send>;

/// Is called with the next warning of a submission's.
static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.target() == "dcmetal::submission" && record.level() == log::Level::Warn {
            let listener = LISTENER.lock().unwrap().take();
            if let Some(listener) = listener {
                listener(&record.args().to_string());
            }
        }
    }

    fn flush(&self) {}
}

/// What has a stream hand over the batch that fills `x`.
struct Case {
    name: &'static str,
    limits: StreamLimits,
    close: fn(&Accelerator, &Stream, &Buffer<u32>, &Event),
}

const OPEN: StreamLimits = StreamLimits {
    commands: 64,
    bytes: 1 << 30,
    age: Duration::MAX,
    in_flight: 1,
    in_flight_bytes: 1 << 30,
    priority: 0,
};

const CASES: &[Case] = &[
    Case { name: "flush", limits: OPEN, close: |_, stream, _, _| drop(stream.flush()) },
    Case { name: "the last command", limits: StreamLimits { commands: 1, ..OPEN }, close: |_, _, _, _| {} },
    Case { name: "age", limits: StreamLimits { age: Duration::from_micros(100), ..OPEN }, close: |_, _, _, _| {} },
    Case { name: "a signal", limits: OPEN, close: |_, stream, _, event| stream.signal(event, 1).unwrap() },
    Case { name: "a wait", limits: OPEN, close: |_, stream, _, event| stream.wait_for(event, 0).unwrap() },
    Case {
        name: "a batch of a lower priority",
        limits: StreamLimits { priority: 1, ..OPEN },
        close: |gpu, stream, _, _| {
            let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
            let lower = gpu.stream(OPEN);
            lower.fill(&mut y, 5).unwrap();
            assert_eq!(stream.recorded(), 1);
            lower.wait().unwrap();
        },
    },
    Case {
        name: "a batch of no stream's",
        limits: StreamLimits { priority: 1, ..OPEN },
        close: |gpu, _, _, _| gpu.batch().unwrap().submit().unwrap().wait().unwrap(),
    },
    Case {
        name: "who reads what it writes",
        limits: OPEN,
        close: |_, _, x, _| assert!(matches!(x.to_vec(), Err(Error::Faulted { .. }))),
    },
    Case {
        name: "another stream",
        limits: OPEN,
        close: |gpu, _, x, _| {
            let mut copy = gpu.buffer_zeroed::<u32>(1).unwrap();
            let outcome = gpu.stream(OPEN).copy(x, &mut copy);
            assert!(matches!(outcome, Err(Error::Faulted { .. })), "{outcome:?}");
        },
    },
];

/// Uses the stream in every way, and waits for it.
fn use_all(stream: &Weak<Stream>, z: &mut Buffer<u32>) {
    let stream = stream.upgrade().expect("the case has it");
    assert!(format!("{stream:?}").contains("recorded"));
    stream.fill(&mut *z, 3).unwrap();
    drop(stream.flush());
    // Room for one batch: the refused one has left its place.
    stream.fill(z, 4).unwrap();
    let told = stream.wait();
    assert!(matches!(&told, Err(Error::Submission(error)) if error.text.contains("the commit is refused")), "{told:?}");
    stream.wait().unwrap();
}

fn case(case: &Case, done: &Sender<()>) {
    let (gpu, event) = (gpu(), gpu().event().unwrap());
    let stream = Arc::new(gpu.stream(case.limits));
    let [mut x, mut z] = [(); 2].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
    let (told, tells) = channel();
    let user = Arc::downgrade(&stream);
    *LISTENER.lock().unwrap() = Some(Box::new(move |words| {
        assert!(words.contains("the commit is refused"), "{words}");
        use_all(&user, &mut z);
        told.send(z.to_vec().unwrap()).unwrap();
    }));
    faults::set("commit:refuse:at=1").unwrap();
    stream.fill(&mut x, 1).unwrap();
    (case.close)(&gpu, &stream, &x, &event);
    assert_eq!(tells.recv().expect("the logger is called, and does not fail"), [0x0404_0404]);
    assert_eq!(faults::counts("commit").unwrap().injected, 1);
    let read = x.to_vec();
    assert!(matches!(&read, Err(Error::Faulted { .. })), "{read:?}");
    stream.wait().unwrap();
    done.send(()).unwrap();
}

/// Who waits for an event that goes with a batch which could not be submitted is called by who submits it.
fn batch(done: &Sender<()>) {
    let gpu = gpu();
    let event = gpu.event().unwrap();
    let mut batch = gpu.batch().unwrap();
    batch.signal(&event, 1).unwrap();
    let (told, tells) = channel();
    let other = gpu.clone();
    event
        .on_reached(1, move |outcome| {
            let mut y = other.buffer_zeroed::<u32>(1).unwrap();
            let mut batch = other.batch().unwrap();
            batch.fill(&mut y, 2).unwrap();
            batch.submit().unwrap().wait().unwrap();
            told.send((outcome.is_err(), y.to_vec().unwrap())).unwrap();
        })
        .unwrap();
    drop(event);
    faults::set("commit:refuse:at=1").unwrap();
    let outcome = batch.submit();
    assert!(
        matches!(&outcome, Err(Error::Metal { text, .. }) if text.contains("the commit is refused")),
        "{outcome:?}"
    );
    assert_eq!(tells.recv().unwrap(), (true, vec![0x0202_0202]));
    done.send(()).unwrap();
}

/// Who waits for an event that goes with a submission which failed is called when that has left its place.
fn failed(done: &Sender<()>) {
    let gpu = gpu();
    let (stream, event) = (Arc::new(gpu.stream(OPEN)), gpu.event().unwrap());
    let mut gate = Gate::new(&gpu);
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    let gated = gate.start(&mut y).unwrap();
    faults::set("commit:error=page_fault:at=1").unwrap();
    stream.wait_for(&event, 0).unwrap();
    let (told, tells) = channel();
    let (user, other) = (Arc::clone(&stream), gpu.clone());
    event
        .on_reached(5, move |outcome| {
            let mut z = other.buffer_zeroed::<u32>(1).unwrap();
            user.fill(&mut z, 1).unwrap();
            told.send(outcome.is_err()).unwrap();
        })
        .unwrap();
    drop(event);
    gate.open();
    assert!(tells.recv().unwrap());
    assert_eq!(faults::counts("commit").unwrap().injected, 1);
    gated.wait().unwrap();
    assert!(stream.wait().is_err());
    done.send(()).unwrap();
}

/// A refused batch that went before another stream's is told of under neither's lock.
fn above(done: &Sender<()>) {
    let gpu = gpu();
    let higher = gpu.stream(StreamLimits { priority: 1, ..OPEN });
    let lower = Arc::new(gpu.stream(OPEN));
    let [mut x, mut y, mut z] = [(); 3].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
    let (told, tells) = channel();
    let user = Arc::downgrade(&lower);
    *LISTENER.lock().unwrap() = Some(Box::new(move |_| {
        let lower = user.upgrade().expect("the case has it");
        lower.fill(&mut z, 3).unwrap();
        lower.wait().unwrap();
        told.send(z.to_vec().unwrap()).unwrap();
    }));
    higher.fill(&mut x, 1).unwrap();
    lower.fill(&mut y, 2).unwrap();
    faults::set("commit:refuse:at=1").unwrap();
    drop(lower.flush());
    assert_eq!(tells.recv().expect("the logger is called, and does not fail"), [0x0303_0303]);
    assert_eq!(y.to_vec().unwrap(), [0x0202_0202]);
    assert!(higher.wait().is_err());
    done.send(()).unwrap();
}

#[test]
fn who_is_told_of_a_refused_commit_may_use_everything() {
    log::set_logger(&Logger).expect("the only logger");
    log::set_max_level(log::LevelFilter::Warn);
    let bounded = |name: &str, part: Box<dyn FnOnce(Sender<()>) + Send>| {
        let (done, ended) = channel();
        thread::spawn(move || part(done));
        ended.recv_timeout(PATIENCE).unwrap_or_else(|why| panic!("{name}: {why}"));
    };
    for one in CASES {
        bounded(one.name, Box::new(|done| case(one, &done)));
    }
    bounded("a batch", Box::new(|done| batch(&done)));
    bounded("a failure", Box::new(|done| failed(&done)));
    bounded("a batch that went first", Box::new(|done| above(&done)));
    faults::set("").unwrap();
}
