//! Priorities of streams: what is handed over before what.

mod common;

use std::time::{Duration, Instant};

use common::{Gate, gpu, msl};
use dcmetal::{Accelerator, Event, Grid, Kernel, Stream, StreamLimits, args};

/// No limit but those that a test sets.
const OPEN: StreamLimits = StreamLimits {
    commands: usize::MAX,
    bytes: u64::MAX,
    age: Duration::MAX,
    in_flight: usize::MAX,
    in_flight_bytes: u64::MAX,
    priority: 0,
};

/// Far longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn increment(gpu: &Accelerator) -> Kernel {
    msl(gpu, "kernel void increment(device uint* y [[buffer(0)]]) { y[0] += 1u; }", "increment")
}

fn one() -> Grid {
    Grid::linear(1)
}

/// However the batch of the one stream comes to be handed over, that of the other is before it, exactly if its priority is higher.
#[test]
fn what_is_above_is_handed_over_first() {
    let gpu = gpu();
    let increment = increment(&gpu);
    type Close = fn(&Accelerator, Stream, &Event);
    let closes: [(&str, StreamLimits, Close); 8] = [
        ("flush", OPEN, |_, stream, _| drop(stream.flush())),
        ("wait", OPEN, |_, stream, _| stream.wait().unwrap()),
        ("drop", OPEN, |_, stream, _| drop(stream)),
        ("the last command", StreamLimits { commands: 1, ..OPEN }, |_, _, _| {}),
        ("bytes", StreamLimits { bytes: 4, ..OPEN }, |_, _, _| {}),
        ("age", StreamLimits { age: Duration::from_micros(100), ..OPEN }, |_, stream, _| {
            while stream.recorded() > 0 {
                std::thread::yield_now();
            }
        }),
        ("a signal", OPEN, |_, stream, event| stream.signal(event, 1).unwrap()),
        ("a wait", OPEN, |_, stream, event| stream.wait_for(event, 0).unwrap()),
    ];
    for (own, other, first) in
        [(0, 0, false), (0, 1, true), (1, 0, false), (1, 1, false), (1, 2, true), (2, 1, false), (0, u32::MAX, true)]
    {
        for (name, limits, close) in closes {
            let [mut x, mut y] = [(); 2].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
            let event = gpu.event().unwrap();
            let above = gpu.stream(StreamLimits { priority: other, ..OPEN });
            let stream = gpu.stream(StreamLimits { priority: own, ..limits });
            above.launch(&increment, one(), args![&mut x]).unwrap();
            stream.launch(&increment, one(), args![&mut y]).unwrap();
            close(&gpu, stream, &event);
            assert_eq!(above.recorded(), usize::from(!first), "{name}: {own} and {other}");
            above.wait().unwrap();
            assert_eq!([x.to_vec().unwrap(), y.to_vec().unwrap()], [[1], [1]], "{name}: {own} and {other}");
        }
    }
}

/// Work of no stream has the lowest priority.
#[test]
fn what_no_stream_has_is_handed_over_last() {
    let gpu = gpu();
    let increment = increment(&gpu);
    type Submit = fn(&Accelerator, &Kernel);
    let submits: [(&str, Submit); 2] = [
        ("a launch", |gpu, increment| {
            let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
            increment.launch(one(), args![&mut y]).unwrap().wait().unwrap();
        }),
        ("a batch", |gpu, _| gpu.batch().unwrap().submit().unwrap().wait().unwrap()),
    ];
    for (name, submit) in submits {
        for (priority, recorded) in [(0, 1), (1, 0), (2, 0)] {
            let mut x = gpu.buffer_zeroed::<u32>(1).unwrap();
            let stream = gpu.stream(StreamLimits { priority, ..OPEN });
            stream.launch(&increment, one(), args![&mut x]).unwrap();
            submit(&gpu, &increment);
            assert_eq!(stream.recorded(), recorded, "{name}: {priority}");
            stream.wait().unwrap();
            assert_eq!(x.to_vec().unwrap(), [1]);
        }
    }
}

/// A stream that stops the queue stops nothing that a higher one was given before, and what is handed over behind the stop is behind it.
#[test]
fn a_wait_stops_nothing_above_it() {
    let gpu = gpu();
    let (increment, event) = (increment(&gpu), gpu.event().unwrap());
    let [mut x, mut y, mut z] = [(); 3].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
    let above = gpu.stream(StreamLimits { priority: 1, ..OPEN });
    let stream = gpu.stream(OPEN);
    above.launch(&increment, one(), args![&mut x]).unwrap();
    stream.wait_for(&event, 1).unwrap();
    assert_eq!(above.recorded(), 0);
    above.launch(&increment, one(), args![&mut z]).unwrap();
    stream.launch(&increment, one(), args![&mut y]).unwrap();
    let behind = stream.flush().unwrap();
    assert_eq!(x.to_vec().unwrap(), [1]);
    assert!(!behind.is_done() && z.try_read().is_err());
    event.signal(1).unwrap();
    above.wait().unwrap();
    stream.wait().unwrap();
    assert_eq!([y.to_vec().unwrap(), z.to_vec().unwrap()], [[1], [1]]);
}

/// Of several above it the highest goes first, whenever it was made and launched to: the others' first work is held.
#[test]
fn the_highest_goes_first() {
    let gpu = gpu();
    let increment = increment(&gpu);
    let gated = msl(
        &gpu,
        "#include <metal_stdlib>
        using namespace metal;
        kernel void gated(device atomic_uint* gate [[buffer(0)]], device uint* y [[buffer(1)]]) {
            while (atomic_load_explicit(gate, memory_order_relaxed) == 0u) {}
            y[0] += 1u;
        }",
        "gated",
    );
    for priorities in [[1, 2, 3], [3, 2, 1], [2, 3, 1], [2, 2, 4]] {
        let mut gate = Gate::new(&gpu);
        let highest = priorities.into_iter().max().unwrap();
        let mut buffers = [(); 3].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
        let streams = priorities.map(|priority| gpu.stream(StreamLimits { priority, ..OPEN }));
        let lowest = gpu.stream(OPEN);
        let mut held = false;
        for ((stream, y), priority) in streams.iter().zip(&mut buffers).zip(priorities) {
            if priority != highest && !held {
                stream.launch(&gated, one(), args![gate.buffer_mut(), y]).unwrap();
                held = true;
            } else {
                stream.launch(&increment, one(), args![y]).unwrap();
            }
        }
        let mut last = gpu.buffer_zeroed::<u32>(1).unwrap();
        lowest.launch(&increment, one(), args![&mut last]).unwrap();
        drop(lowest.flush());
        assert!(streams.iter().all(|stream| stream.recorded() == 0), "{priorities:?}");
        let at = priorities.iter().position(|priority| *priority == highest).unwrap();
        let begun = Instant::now();
        while buffers[at].try_read().is_err() {
            assert!(begun.elapsed() < PATIENCE, "{priorities:?}: it is behind what is held");
            std::thread::yield_now();
        }
        assert!(last.try_read().is_err());
        gate.open();
        streams.iter().for_each(|stream| stream.wait().unwrap());
        assert!(buffers.iter().chain([&last]).all(|y| y.to_vec().unwrap() == [1]), "{priorities:?}");
    }
}

/// Who goes first and conflicts with what is recorded behind it: the order in which they were given.
#[test]
fn what_conflicts_stays_in_its_order() {
    let gpu = gpu();
    let three = msl(&gpu, "kernel void three(device uint* y [[buffer(0)]]) { y[0] = y[0] * 3u + 1u; }", "three");
    let streams = [0, 1, 2].map(|priority| gpu.stream(StreamLimits { priority, ..OPEN }));
    let mut random = common::Random(7);
    let mut buffers = [(); 3].map(|()| gpu.buffer_zeroed::<u32>(1).unwrap());
    let mut wanted = [0u32; 3];
    for turn in 0..300 {
        let [at, stream] = [(); 2].map(|()| random.range(0, 3) as usize);
        match random.range(0, 4) {
            0 => {
                streams[stream].fill(&mut buffers[at], turn as u8).unwrap();
                wanted[at] = u32::from_ne_bytes([turn as u8; 4]);
            }
            1 => drop(streams[stream].flush()),
            _ => {
                streams[stream].launch(&three, one(), args![&mut buffers[at]]).unwrap();
                wanted[at] = wanted[at].wrapping_mul(3).wrapping_add(1);
            }
        }
    }
    streams.iter().for_each(|stream| stream.wait().unwrap());
    assert_eq!(buffers.map(|y| y.to_vec().unwrap()[0]), wanted);
}

/// A stream that is gone is nobody's to hand over.
#[test]
fn streams_with_a_priority_come_and_go() {
    let gpu = gpu();
    let increment = increment(&gpu);
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    for turn in 0..50 {
        let above = gpu.stream(StreamLimits { priority: 1 + turn % 3, ..OPEN });
        above.launch(&increment, one(), args![&mut y]).unwrap();
        if turn % 2 == 0 {
            drop(above);
        }
        drop(gpu.batch().unwrap().submit().unwrap());
    }
    assert_eq!(y.to_vec().unwrap(), [50]);
}
