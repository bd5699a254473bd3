//! Streams: when their batches close, who waits for them, and what becomes of what was not handed over.

mod common;

use std::sync::Mutex;
use std::time::Duration;

use common::{Gate, Random, gpu, msl, refused};
use dcmetal::{Accelerator, Buffer, Error, ErrorKind, Grid, Kernel, StreamLimits, Submission, args};

/// No limit but those that a test sets.
const OPEN: StreamLimits = StreamLimits {
    commands: usize::MAX,
    bytes: u64::MAX,
    age: Duration::MAX,
    in_flight: usize::MAX,
    in_flight_bytes: u64::MAX,
    priority: 0,
};

const SOURCE: &str = "
    kernel void increment(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += 1u; }
    kernel void copy(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) { y[i] = x[i]; }
    kernel void wild(device uint* y [[buffer(0)]]) { *(device uint*)(ulong(y[0]) << 40) = 1u; }";

fn kernel(gpu: &Accelerator, name: &str) -> Kernel {
    msl(gpu, SOURCE, name)
}

fn one() -> Grid {
    Grid::linear(1)
}

/// The commands recorded after each of five launches of 4 bytes, by the limits.
#[test]
fn batches_close_at_their_limits() {
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    for (limits, recorded) in [
        (OPEN, [1, 2, 3, 4, 5]),
        (StreamLimits { commands: 3, ..OPEN }, [1, 2, 0, 1, 2]),
        (StreamLimits { commands: 1, ..OPEN }, [0; 5]),
        (StreamLimits { commands: 0, ..OPEN }, [0; 5]),
        (StreamLimits { bytes: 8, ..OPEN }, [1, 0, 1, 0, 1]),
        (StreamLimits { bytes: 9, ..OPEN }, [1, 2, 0, 1, 2]),
        (StreamLimits { bytes: 9, commands: 2, ..OPEN }, [1, 0, 1, 0, 1]),
        (StreamLimits { age: Duration::ZERO, ..OPEN }, [0; 5]),
    ] {
        let stream = gpu.stream(limits);
        let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
        for wanted in recorded {
            stream.launch(&increment, one(), args![&mut y]).unwrap();
            assert_eq!(stream.recorded(), wanted, "{limits:?}");
        }
        stream.wait().unwrap();
        assert_eq!((stream.recorded(), stream.in_flight()), (0, 0));
        assert_eq!(y.to_vec().unwrap(), [5], "{limits:?}");
    }
}

/// Nobody does anything, and yet they end: again for a batch that is begun after the stream was looked at.
#[test]
fn batches_close_when_they_are_old() {
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    let streams = [1, 2, 3].map(|ms| gpu.stream(StreamLimits { age: Duration::from_millis(ms), ..OPEN }));
    let mut y = gpu.buffer_zeroed::<u32>(3).unwrap();
    for round in 1..=10 {
        for (i, stream) in streams.iter().enumerate() {
            stream.launch(&increment, one(), args![y.view_mut(i..=i).unwrap()]).unwrap();
        }
        while streams.iter().any(|stream| stream.in_flight() > 0) {
            std::thread::yield_now();
        }
        assert_eq!(y.try_read().unwrap()[..], [round; 3]);
    }
}

#[test]
fn whoever_comes_to_a_buffer_comes_after_what_was_recorded() {
    let gpu = gpu();
    let (increment, copy) = (kernel(&gpu, "increment"), kernel(&gpu, "copy"));
    type Come = fn(&Accelerator, &Kernel, &mut Buffer<u32>, &mut Buffer<u32>);
    // Each finds x after the increments and leaves it so in z.
    let cases: [(&str, Come); 8] = [
        ("read", |_, _, x, z| z.write().unwrap()[0] = x.read().unwrap()[0]),
        ("try_read", |_, _, x, z| {
            // The first call hands over, and one of the later finds it done.
            let value = loop {
                match x.try_read() {
                    Ok(seen) => break seen[0],
                    Err(error) => assert!(matches!(error, Error::BufferInUse { .. }), "{error:?}"),
                }
            };
            z.write().unwrap()[0] = value;
        }),
        ("write", |_, _, x, z| {
            let seen = x.write().unwrap();
            z.write().unwrap()[0] = seen[0];
        }),
        ("a launch", |_, copy, x, z| copy.launch(Grid::linear(1), args![&*x, z]).unwrap().wait().unwrap()),
        ("a batch", |gpu, _, x, z| {
            let mut batch = gpu.batch().unwrap();
            batch.copy(&*x, z).unwrap();
            drop(batch.submit().unwrap());
        }),
        ("another stream", |gpu, copy, x, z| {
            gpu.stream(OPEN).launch(copy, Grid::linear(1), args![&*x, z]).unwrap();
        }),
        ("another stream's copy", |gpu, _, x, z| gpu.stream(OPEN).copy(&*x, z).unwrap()),
        ("discard_fault", |_, _, x, z| {
            x.discard_fault();
            z.write().unwrap()[0] = x.try_read().unwrap()[0];
        }),
    ];
    for (name, come) in cases {
        let stream = gpu.stream(OPEN);
        let [mut x, mut z] = [(); 2].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
        for _ in 0..3 {
            stream.launch(&increment, one(), args![&mut x]).unwrap();
        }
        come(&gpu, &copy, &mut x, &mut z);
        assert_eq!(z.to_vec().unwrap(), [3], "{name}");
        assert_eq!(stream.recorded(), 0, "{name}");
        stream.wait().unwrap();
    }
}

#[test]
fn what_is_recorded_reads_what_was_there() {
    let gpu = gpu();
    let copy = kernel(&gpu, "copy");
    type Overwrite = fn(&Accelerator, &mut Buffer<u32>);
    let cases: [(&str, Overwrite); 3] = [
        ("write", |_, x| x.write().unwrap()[0] = 9),
        ("write_from", |_, x| x.write_from(&[9]).unwrap()),
        ("a fill of another stream's", |gpu, x| gpu.stream(OPEN).fill(x, 9).unwrap()),
    ];
    for (name, overwrite) in cases {
        let stream = gpu.stream(OPEN);
        let (mut x, mut z) = (gpu.buffer_from(&[7u32]).unwrap(), gpu.buffer_zeroed::<u32>(1).unwrap());
        stream.launch(&copy, one(), args![&x, &mut z]).unwrap();
        // Reading beside a batch that reads is no reason to hand it over.
        assert_eq!((x.to_vec().unwrap(), stream.recorded()), (vec![7], 1), "{name}");
        overwrite(&gpu, &mut x);
        assert_eq!(z.to_vec().unwrap(), [7], "{name}");
        assert_ne!(x.to_vec().unwrap(), [7], "{name}");
    }
}

#[test]
fn a_stream_that_is_dropped_hands_over() {
    let gpu = gpu();
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    let stream = gpu.stream(OPEN);
    stream.launch(&kernel(&gpu, "increment"), one(), args![&mut y]).unwrap();
    drop((stream, gpu));
    assert_eq!(y.to_vec().unwrap(), [1]);
}

#[test]
fn flushed_work_can_be_awaited() {
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    let stream = gpu.stream(OPEN);
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    assert!(stream.flush().is_none());
    stream.launch(&increment, one(), args![&mut y]).unwrap();
    let submission: Submission = stream.flush().unwrap();
    pollster::block_on(submission).unwrap();
    assert_eq!(y.try_read().unwrap()[..], [1]);
    assert!(stream.flush().is_none());
    // Copies of nothing are commands of no bytes.
    let empty = gpu.buffer_zeroed::<u32>(1).unwrap();
    stream.copy(empty.view(0..0).unwrap(), y.view_mut(1..).unwrap()).unwrap();
    stream.wait().unwrap();
}

#[test]
fn cancelled_commands_never_were() {
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    let stream = gpu.stream(OPEN);
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    assert_eq!(stream.cancel(), 0);
    stream.launch(&increment, one(), args![&mut y]).unwrap();
    let first = stream.flush().unwrap();
    for _ in 0..3 {
        stream.launch(&increment, one(), args![&mut y]).unwrap();
    }
    assert_eq!((stream.cancel(), stream.recorded()), (3, 0));
    assert_eq!(stream.cancel(), 0);
    first.wait().unwrap();
    assert_eq!(stream.in_flight(), 0);
    // Nothing uses it any more, and what comes after goes on as if nothing had been.
    assert_eq!(y.try_write().unwrap()[..], [1]);
    stream.launch(&increment, one(), args![&mut y]).unwrap();
    stream.wait().unwrap();
    assert_eq!((y.to_vec().unwrap(), stream.cancel()), (vec![2], 0));
}

#[test]
fn too_much_in_flight_is_waited_for_or_refused() {
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    for (limits, in_flight) in [
        (StreamLimits { commands: 1, in_flight: 2, ..OPEN }, 2),
        (StreamLimits { commands: 1, in_flight_bytes: 9, ..OPEN }, 3),
        (StreamLimits { commands: 1, in_flight_bytes: 0, ..OPEN }, 1),
        (StreamLimits { commands: 1, in_flight: 0, ..OPEN }, 1),
    ] {
        let mut gate = Gate::new(&gpu);
        let mut held = gpu.buffer_zeroed::<u32>(1).unwrap();
        let gated = gate.start(&mut held).unwrap();
        let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
        let stream = gpu.stream(limits);
        for _ in 0..in_flight {
            stream.try_launch(&increment, one(), args![&mut y]).unwrap();
        }
        let error = refused(stream.try_launch(&increment, one(), args![&mut y]));
        let bytes = 4 * in_flight as u64;
        assert!(
            matches!(error, Error::StreamFull { submissions, bytes: b } if (submissions, b) == (in_flight, bytes)),
            "{error:?}"
        );
        assert_eq!(error.kind(), ErrorKind::Resource);
        let waited = std::thread::scope(|scope| {
            let waited = scope.spawn(|| stream.launch(&increment, one(), args![&mut y]));
            gate.open();
            waited.join().unwrap()
        });
        waited.unwrap();
        gated.wait().unwrap();
        stream.wait().unwrap();
        assert_eq!(y.to_vec().unwrap(), [in_flight as u32 + 1]);
        stream.try_launch(&increment, one(), args![&mut y]).unwrap();
    }
}

/// Threads that wait for the one place record in the batch that the first of them begins, though nobody closes it.
#[test]
fn who_waits_for_room_records_in_the_batch_that_begins() {
    const THREADS: usize = 4;
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    for _ in 0..20 {
        let mut gate = Gate::new(&gpu);
        let mut held = gpu.buffer_zeroed::<u32>(1).unwrap();
        let gated = gate.start(&mut held).unwrap();
        let stream = gpu.stream(StreamLimits { in_flight: 1, ..OPEN });
        let mut first = gpu.buffer_zeroed::<u32>(1).unwrap();
        stream.launch(&increment, one(), args![&mut first]).unwrap();
        drop(stream.flush());
        let mut buffers = [(); THREADS].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
        std::thread::scope(|scope| {
            for y in &mut buffers {
                let (stream, increment) = (&stream, &increment);
                scope.spawn(move || stream.launch(increment, one(), args![y]).unwrap());
            }
            gate.open();
        });
        assert_eq!(stream.recorded(), THREADS);
        stream.wait().unwrap();
        gated.wait().unwrap();
        assert!(buffers.iter().all(|y| y.to_vec().unwrap() == [1]));
    }
}

/// A refused command records nothing, and takes back what it had begun.
#[test]
fn what_is_refused_uses_nothing() {
    let gpu = gpu();
    let (increment, copy) = (kernel(&gpu, "increment"), kernel(&gpu, "copy"));
    let [mut x, mut y, mut z] = [(); 3].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
    // A guard that nobody will drop.
    std::mem::forget(y.write().unwrap());
    let stream = gpu.stream(OPEN);
    stream.launch(&increment, one(), args![&mut z]).unwrap();
    for _ in 0..2 {
        let error = refused(stream.launch(&copy, one(), args![&x, &mut y]));
        assert!(matches!(error, Error::BufferInUse { .. }), "{error:?}");
        let error = refused(stream.launch(&copy, one(), args![&z, &mut y]));
        assert!(matches!(error, Error::BufferInUse { .. }), "{error:?}");
        assert!(refused(stream.launch(&copy, one(), args![&x])).to_string().contains("arguments"));
    }
    assert_eq!(stream.recorded(), 1);
    assert!(x.try_write().is_ok(), "it was to be read");
    stream.wait().unwrap();
    assert_eq!(z.try_write().unwrap()[..], [1]);
    // Neither does the first command of a batch keep a place.
    assert!(refused(stream.launch(&copy, one(), args![&x, &mut y])).to_string().contains("host"));
    assert_eq!(stream.in_flight(), 0);
    let print =
        gpu.compile_opencl(r#"__kernel void print(int n) { printf("%d", n); }"#).unwrap().kernel("print").unwrap();
    assert!(matches!(refused(stream.launch(&print, one(), args![1])), Error::Unsupported { .. }));
}

#[test]
fn the_first_failure_is_told_once_and_stays_in_the_buffers() {
    let gpu = gpu();
    let (increment, wild) = (kernel(&gpu, "increment"), kernel(&gpu, "wild"));
    let streams = [gpu.stream(OPEN), gpu.stream(OPEN)];
    let mut faulted = gpu.buffer_from(&[0x55u32]).unwrap();
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    streams[0].launch(&wild, one(), args![&mut faulted]).unwrap();
    drop(streams[0].flush());
    streams[0].launch(&increment, one(), args![&mut y]).unwrap();
    streams[1].launch(&increment, one(), args![&mut y]).unwrap();
    let error = refused(streams[0].wait());
    assert!(matches!(&error, Error::Submission(error) if error.kernels == ["wild"]), "{error:?}");
    streams.iter().for_each(|stream| stream.wait().unwrap());
    assert_eq!(y.to_vec().unwrap(), [2]);
    assert!(matches!(refused(faulted.read().map(drop)), Error::Faulted { .. }));
    let error = refused(streams[0].launch(&increment, one(), args![&mut faulted]));
    assert!(matches!(error, Error::Faulted { .. }), "{error:?}");
}

/// Threads give work on the same buffers to streams of their own, in turns that the buffers' locks make.
#[test]
fn threads_with_streams_share_buffers() {
    const THREADS: u64 = 4;
    const TURNS: usize = 300;
    let gpu = gpu();
    let (increment, copy) = (kernel(&gpu, "increment"), kernel(&gpu, "copy"));
    let shared = [(); 3].map(|()| Mutex::new((gpu.buffer_zeroed::<u32>(1).unwrap(), 0)));
    std::thread::scope(|scope| {
        for seed in 0..THREADS {
            let (gpu, increment, copy, shared) = (&gpu, &increment, &copy, &shared);
            scope.spawn(move || {
                let mut random = Random(seed);
                let mut seen = gpu.buffer_zeroed::<u32>(1).unwrap();
                let limits = StreamLimits {
                    commands: 1 + seed as usize * 5,
                    in_flight: 3,
                    age: Duration::from_micros(200),
                    priority: seed as u32 % 3,
                    ..OPEN
                };
                let stream = gpu.stream(limits);
                for _ in 0..TURNS {
                    let mut buffer = shared[random.range(0, 3) as usize].lock().unwrap();
                    let (y, count) = &mut *buffer;
                    match random.range(0, 8) {
                        0 => assert_eq!(y.to_vec().unwrap(), [*count]),
                        1 => {
                            stream.launch(copy, one(), args![&*y, &mut seen]).unwrap();
                            let wanted = *count;
                            drop(buffer);
                            assert_eq!(seen.to_vec().unwrap(), [wanted]);
                        }
                        2 => {
                            drop(increment.launch(one(), args![y]).unwrap());
                            *count += 1;
                        }
                        _ => {
                            stream.launch(increment, one(), args![y]).unwrap();
                            *count += 1;
                        }
                    }
                }
                stream.wait().unwrap();
            });
        }
    });
    for buffer in shared {
        let (y, count) = buffer.into_inner().unwrap();
        assert_eq!(y.to_vec().unwrap(), [count]);
    }
}

/// The signal comes after all that the stream was given, in batches handed over before too, and nothing else is needed for it.
#[test]
fn a_signal_is_for_everything_before_it() {
    let gpu = gpu();
    let increment = kernel(&gpu, "increment");
    for commands in [1, 2, 3, usize::MAX] {
        let (stream, event) = (gpu.stream(StreamLimits { commands, ..OPEN }), gpu.event().unwrap());
        let (mut gate, mut y) = (Gate::new(&gpu), gpu.buffer_zeroed::<u32>(1).unwrap());
        let held = gate.start(&mut y).unwrap();
        for round in 1..=4u64 {
            for _ in 0..round {
                stream.launch(&increment, one(), args![&mut y]).unwrap();
            }
            stream.signal(&event, round).unwrap();
            assert_eq!(stream.recorded(), 0, "it ends its batch");
        }
        assert_eq!(event.value().unwrap(), 0, "{commands}");
        gate.open();
        for round in 1..=4u64 {
            event.wait(round).unwrap();
        }
        held.wait().unwrap();
        assert_eq!(y.to_vec().unwrap(), [1 + 1 + 2 + 3 + 4], "{commands}");
        stream.wait().unwrap();
        assert_eq!(stream.in_flight(), 0);
    }
}

/// The host, a stream of another accelerator and this one take turns; what was given before a wait does not wait.
#[test]
fn streams_and_the_host_take_turns() {
    const TURNS: u64 = 20;
    let gpus = [gpu(), gpu()];
    let event = gpus[0].event().unwrap();
    let mut ends = Vec::new();
    for (own, gpu) in gpus.iter().enumerate() {
        let (increment, stream) = (kernel(gpu, "increment"), gpu.stream(OPEN));
        let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
        stream.launch(&increment, one(), args![&mut y]).unwrap();
        for turn in 0..TURNS {
            // 1 is the host's first, 2 and 3 are the streams', 4 is the host's again.
            stream.wait_for(&event, 3 * turn + 1 + own as u64).unwrap();
            assert_eq!(stream.recorded(), 0, "it ends its batch");
            stream.launch(&increment, one(), args![&mut y]).unwrap();
            stream.signal(&event, 3 * turn + 2 + own as u64).unwrap();
        }
        ends.push((stream, y));
    }
    assert_eq!(event.value().unwrap(), 0);
    for turn in 0..TURNS {
        event.signal(3 * turn + 1).unwrap();
        event.wait(3 * turn + 3).unwrap();
        assert_eq!(event.value().unwrap(), 3 * turn + 3);
    }
    for (stream, y) in ends {
        stream.wait().unwrap();
        assert_eq!(y.to_vec().unwrap(), [TURNS as u32 + 1]);
    }
}

/// Whoever waits for a stream that failed gets its error, whichever batch the failure was in and however long ago.
#[test]
fn a_stream_that_fails_poisons_its_events() {
    let gpu = gpu();
    let (wild, increment) = (kernel(&gpu, "wild"), kernel(&gpu, "increment"));
    for (commands, settles) in [(usize::MAX, false), (1, false), (1, true)] {
        let (stream, event) = (gpu.stream(StreamLimits { commands, ..OPEN }), gpu.event().unwrap());
        let [mut bad, mut good] = [u32::MAX, 0].map(|value| gpu.buffer_from(&[value]).unwrap());
        stream.launch(&wild, one(), args![&mut bad]).unwrap();
        while settles && stream.in_flight() > 0 {
            std::thread::yield_now();
        }
        for _ in 0..3 {
            stream.launch(&increment, one(), args![&mut good]).unwrap();
        }
        stream.signal(&event, 1).unwrap();
        let error = refused(event.wait(1));
        let Error::EventFaulted { cause } = &error else { panic!("{commands}: {error:?}") };
        let first = cause.caused_by.as_ref().unwrap_or(cause);
        assert!(first.kernels.iter().any(|name| name == "wild"), "{commands}: {error:?}");
        assert!(matches!(refused(stream.wait()), Error::Submission(_)));
        // Told, and over: but the event stays poisoned, and refuses without losing what was recorded.
        let fresh = gpu.event().unwrap();
        stream.signal(&fresh, 1).unwrap();
        fresh.wait(1).unwrap();
        good.discard_fault();
        stream.launch(&increment, one(), args![&mut good]).unwrap();
        stream.wait_for(&fresh, 1).unwrap();
        let before = (stream.recorded(), stream.in_flight());
        for refusal in [stream.signal(&event, 2), stream.wait_for(&event, 1)] {
            assert!(matches!(refused(refusal), Error::EventFaulted { .. }));
        }
        stream.wait().unwrap();
        assert_eq!((stream.recorded(), stream.in_flight()), (0, 0), "{before:?}");
        assert_eq!(good.to_vec().unwrap().len(), 1);
    }
}

/// Commands behind a wait fail when the event is poisoned, also those of later batches, and those that are given later; until
/// the stream has told.
#[test]
fn what_follows_a_wait_that_was_not_kept_fails() {
    for commands in [1, usize::MAX] {
        let (gpu, other) = (gpu(), gpu());
        let (wild, increment) = (kernel(&other, "wild"), kernel(&gpu, "increment"));
        let event = gpu.event().unwrap();
        let stream = gpu.stream(StreamLimits { commands, ..OPEN });
        let [mut before, mut behind, mut late] = [(); 3].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
        stream.launch(&increment, one(), args![&mut before]).unwrap();
        stream.wait_for(&event, 1).unwrap();
        stream.launch(&increment, one(), args![&mut behind]).unwrap();
        let handed = stream.flush();
        // The other accelerator was to signal.
        let mut bad = other.buffer_from(&[u32::MAX]).unwrap();
        let failing = other.stream(OPEN);
        failing.launch(&wild, one(), args![&mut bad]).unwrap();
        failing.signal(&event, 1).unwrap();
        assert!(failing.wait().is_err());
        while stream.in_flight() > 0 {
            std::thread::yield_now();
        }
        drop(handed);
        assert!(matches!(refused(behind.to_vec()), Error::Faulted { .. }), "{commands}");
        stream.launch(&increment, one(), args![&mut late]).unwrap();
        drop(stream.flush());
        assert!(matches!(refused(late.to_vec()), Error::Faulted { .. }), "{commands}");
        assert!(matches!(refused(stream.wait()), Error::Submission(cause) if cause.caused_by.is_some()));
        late.discard_fault();
        stream.launch(&increment, one(), args![&mut late]).unwrap();
        stream.wait().unwrap();
        assert!(late.to_vec().is_ok());
        assert_eq!(before.to_vec().unwrap(), [1], "it was given before the wait");
    }
}

/// The device has signaled, and Metal is slow to tell that what the signal is for failed: nobody takes the value for sound.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_behind_a_failure_is_never_sound() {
    let gpu = gpu();
    let (wild, stream) = (kernel(&gpu, "wild"), gpu.stream(StreamLimits { commands: 1, ..OPEN }));
    for _ in 0..3 {
        let (mut bad, event) = (gpu.buffer_from(&[u32::MAX]).unwrap(), gpu.event().unwrap());
        // Of the other tests' submissions some may be told of later, which changes nothing for them.
        hostmetal::faults::set("complete:slow=100ms").unwrap();
        stream.launch(&wild, one(), args![&mut bad]).unwrap();
        stream.signal(&event, 1).unwrap();
        let waited = event.wait(1);
        hostmetal::faults::set("").unwrap();
        assert!(matches!(refused(waited), Error::EventFaulted { .. }));
        assert!(stream.wait().is_err());
    }
    // The signal's stream did not fail by itself: it used what another's failure left, in an earlier batch or in the signal's.
    let increment = kernel(&gpu, "increment");
    for commands in [1, 1, usize::MAX, usize::MAX] {
        let (mut bad, event) = (gpu.buffer_from(&[u32::MAX]).unwrap(), gpu.event().unwrap());
        let user = gpu.stream(StreamLimits { commands, ..OPEN });
        // Nothing runs before everything is handed over.
        let (mut gate, mut held) = (Gate::new(&gpu), gpu.buffer_zeroed::<u32>(1).unwrap());
        let gated = gate.start(&mut held).unwrap();
        stream.launch(&wild, one(), args![&mut bad]).unwrap();
        user.launch(&increment, one(), args![&mut bad]).unwrap();
        user.signal(&event, 1).unwrap();
        hostmetal::faults::set("complete:slow=100ms").unwrap();
        gate.open();
        let waited = event.wait(1);
        hostmetal::faults::set("").unwrap();
        assert!(matches!(refused(waited), Error::EventFaulted { .. }), "{commands}");
        assert!(user.wait().is_err() && stream.wait().is_err());
        gated.wait().unwrap();
    }
    // Or it waited for what another's failure let go.
    let other = common::gpu();
    let waits = other.stream(OPEN);
    let (mut bad, poisoned, event) =
        (gpu.buffer_from(&[u32::MAX]).unwrap(), gpu.event().unwrap(), gpu.event().unwrap());
    waits.wait_for(&poisoned, 1).unwrap();
    waits.signal(&event, 1).unwrap();
    hostmetal::faults::set("complete:slow=100ms").unwrap();
    stream.launch(&wild, one(), args![&mut bad]).unwrap();
    stream.signal(&poisoned, 1).unwrap();
    let waited = event.wait(1);
    hostmetal::faults::set("").unwrap();
    assert!(matches!(refused(waited), Error::EventFaulted { .. }));
    assert!(waits.wait().is_err() && stream.wait().is_err());
}

/// It signals in the midst of its commands and then waits for the host, which looks at the event: that its end will be a bad one
/// is no reason to wait for it.
#[test]
fn the_host_does_not_wait_for_what_waits_for_the_host() {
    let gpu = gpu();
    let (wild, increment, event) = (kernel(&gpu, "wild"), kernel(&gpu, "increment"), gpu.event().unwrap());
    let (mut bad, stream) = (gpu.buffer_from(&[u32::MAX]).unwrap(), gpu.stream(OPEN));
    let (mut gate, mut held) = (Gate::new(&gpu), gpu.buffer_zeroed::<u32>(1).unwrap());
    let gated = gate.start(&mut held).unwrap();
    stream.launch(&wild, one(), args![&mut bad]).unwrap();
    let mut batch = gpu.batch().unwrap();
    batch.launch(&increment, one(), args![&mut bad]).unwrap();
    batch.signal(&event, 1).unwrap();
    batch.wait_for(&event, 2).unwrap();
    let submission = batch.submit().unwrap();
    gate.open();
    // What it used may be known to have failed by now, or not yet: then the host lets it go on, else the poison does.
    match event.wait(1) {
        Ok(()) => event.signal(2).unwrap(),
        Err(error) => assert!(matches!(error, Error::EventFaulted { .. }), "{error}"),
    }
    assert!(submission.wait().is_err() && stream.wait().is_err());
    gated.wait().unwrap();
}

/// A wait, and a signal behind it that is to fail with what its stream was given before: neither waits for the other to settle.
#[test]
fn a_wait_ends_before_the_signal_behind_it() {
    let (gpu, other) = (gpu(), gpu());
    let (wild, stream, event) = (kernel(&gpu, "wild"), gpu.stream(OPEN), gpu.event().unwrap());
    let mut bad = gpu.buffer_from(&[u32::MAX]).unwrap();
    stream.launch(&wild, one(), args![&mut bad]).unwrap();
    stream.wait_for(&event, 1).unwrap();
    stream.signal(&event, 2).unwrap();
    // It signals, and is not done before the host lets it: whether the signal is sound nobody knows until then.
    let (hold, mut batch) = (other.event().unwrap(), other.batch().unwrap());
    batch.signal(&event, 1).unwrap();
    batch.wait_for(&hold, 1).unwrap();
    let signals = batch.submit().unwrap();
    while stream.in_flight() > 0 {
        std::thread::yield_now();
    }
    assert!(matches!(refused(event.wait(1)), Error::EventFaulted { .. }));
    assert!(stream.wait().is_err());
    hold.signal(1).unwrap();
    signals.wait().unwrap();
}
