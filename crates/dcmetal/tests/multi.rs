//! Several devices at work together, equal and unequal ones. On Linux only, where hostmetal simulates them; each test starts itself again with the
//! environment that asks for them.
#![cfg(target_os = "linux")]

mod common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use common::msl;
use dcmetal::multi::{self, Location, Route, Split, Topology};
use dcmetal::{Accelerator, Error, ErrorKind, Grid, Kernel, PageVec, Result, StorageMode, args};
use hostmetal::faults;
use proptest::prelude::*;

const CHILD: &str = "DCMETAL_TEST_MULTI";

/// Runs `body` in a process of its own that has these devices.
fn on_devices(test: &str, devices: &[&str], body: impl FnOnce(&[Accelerator])) {
    if std::env::var_os(CHILD).is_some() {
        let all = Accelerator::all().expect("devices");
        assert_eq!(all.len(), devices.len());
        return body(&all);
    }
    let mut command = std::process::Command::new(std::env::current_exe().expect("the test's own executable"));
    command.args([test, "--exact", "--nocapture"]).env(CHILD, "1").env("HOSTMETAL_DEVICES", devices.len().to_string());
    for (number, device) in devices.iter().enumerate().filter(|(_, device)| !device.is_empty()) {
        command.env(format!("HOSTMETAL_DEVICE_{number}"), device);
    }
    let output = command.output().expect("the test starts itself");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_topology_is_what_was_asked_for() {
    let devices = [
        "",
        "location=slot,peer_group=2,name=left",
        "location=slot,peer_group=2,name=right",
        "location=external,name=outside",
    ];
    on_devices("a_topology_is_what_was_asked_for", &devices, |all| {
        let topology = Topology::of(all);
        let places: Vec<_> = topology.devices.iter().map(|device| (device.location, device.unified_memory)).collect();
        let [built_in, left, right, outside] = places[..] else { panic!("{places:?}") };
        assert_eq!(built_in, (Location::BuiltIn, true));
        assert!(
            matches!((left, right), ((Location::Slot(one), false), (Location::Slot(other), false)) if one != other)
        );
        assert!(matches!(outside, (Location::External(_), false)));
        let ids: HashSet<u64> = topology.devices.iter().map(|device| device.registry_id).collect();
        assert_eq!(ids.len(), 4, "{topology:?}");
        assert!(all.iter().zip(&topology.devices).all(|(gpu, device)| gpu.registry_id() == device.registry_id));
        // Apple, maxTransferRate: 0 where no memory is apart, or the rate is not known.
        assert!(topology.devices.iter().all(|device| device.max_transfer_rate.is_none()), "{topology:?}");
        let groups: Vec<_> =
            topology.devices.iter().map(|device| device.peer_group.map(|group| (group.index, group.count))).collect();
        assert_eq!(groups, [None, Some((0, 2)), Some((1, 2)), None]);
        for one in 0..4 {
            for other in 0..4 {
                assert_eq!(topology.are_peers(one, other), matches!((one, other), (1, 2) | (2, 1)), "{one} {other}");
            }
        }
        let table = topology.to_string();
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows.len(), 5);
        for (row, words) in
            rows[1..].iter().zip([["built in", "unified"], ["left", "2: 2"], ["right", "own"], ["external", "outside"]])
        {
            assert!(words.iter().all(|word| row.contains(word)), "{table}");
        }
    });
}

const PEERS: [&str; 4] = ["", "location=slot,peer_group=1", "location=slot,peer_group=1", "location=external"];

/// Every way between every two devices in every storage, of lengths around a chunk, from the middle of a buffer to the middle of another.
#[test]
fn copies_bring_what_they_are_to() {
    use StorageMode::{Managed, Private, Shared};
    on_devices("copies_bring_what_they_are_to", &PEERS, |all| {
        let chunk = 4 << 20;
        let numbers: Vec<u32> = (0..chunk as u32 / 2 + 84).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        // The same devices, by other queues.
        let again = Accelerator::all().expect("devices");
        let pairs = all
            .iter()
            .enumerate()
            .flat_map(|source| all.iter().chain(&again).enumerate().map(move |other| (source, other)));
        for ((from, source), (to, destination)) in pairs {
            let to = to % all.len();
            {
                for one in [Shared, Managed, Private] {
                    for other in [Shared, Managed, Private] {
                        let wanted = match (from, to) {
                            _ if from == to => Route::Device,
                            (1, 2) | (2, 1) if one == Private => Route::Peer,
                            _ if one == Private || other == Private => Route::Staged,
                            _ => Route::Host,
                        };
                        let lengths: &[usize] = match (from, to) {
                            (0, 3) | (1, 2) => &[1, 1000, chunk / 4, chunk / 4 + 1, chunk / 2 + 77],
                            _ => &[1, 1000],
                        };
                        for &len in lengths {
                            let name = format!("{len} from {one} of {from} to {other} of {to}");
                            let values = &numbers[..len + 7];
                            let mut x = source.buffer_with::<u32>(len + 7, one).expect("a buffer");
                            x.write_from(values).expect("it is written");
                            let mut y = destination.buffer_with::<u32>(len + 9, other).expect("a buffer");
                            y.write_from(&vec![7; len + 9]).expect("it is written");
                            let copied = multi::copy(
                                x.view(3..3 + len).expect("it fits"),
                                y.view_mut(5..5 + len).expect("it fits"),
                            )
                            .unwrap_or_else(|error| panic!("{name}: {error}"));
                            assert_eq!((copied.route, copied.bytes), (wanted, len as u64 * 4), "{name}");
                            let mut expected = vec![7; len + 9];
                            expected[5..5 + len].copy_from_slice(&values[3..3 + len]);
                            assert!(y.to_vec().expect("it is read") == expected, "{name}");
                        }
                    }
                }
            }
        }
    });
}

/// Lengths that are no whole number of words, in whole buffers, on every route.
fn odd_lengths<T: dcmetal::Pod + PartialEq + std::fmt::Debug>(
    from: &Accelerator,
    to: &Accelerator,
    value: impl Fn(usize) -> T,
) {
    use StorageMode::{Managed, Private, Shared};
    let chunk = (4 << 20) / size_of::<T>();
    let numbers: Vec<T> = (0..chunk + 3).map(value).collect();
    for (one, other) in [(Private, Private), (Private, Shared), (Shared, Private), (Shared, Managed)] {
        for len in [1, 2, 3, 5, 1001, chunk + 1, chunk + 3] {
            let values = &numbers[..len];
            let mut x = from.buffer_with::<T>(len, one).expect("a buffer");
            x.write_from(values).expect("it is written");
            let mut y = to.buffer_with::<T>(len, other).expect("a buffer");
            let copied = multi::copy(&x, &mut y).unwrap_or_else(|error| panic!("{len} from {one} to {other}: {error}"));
            assert!(y.to_vec().expect("it is read") == values, "{len} from {one} to {other} by {}", copied.route);
        }
    }
}

#[test]
fn elements_need_be_no_words() {
    on_devices("elements_need_be_no_words", &PEERS, |all| {
        let again = Accelerator::all().expect("devices");
        for (from, to) in [(&all[0], &all[3]), (&all[1], &all[2]), (&all[0], &all[0]), (&all[3], &again[3])] {
            odd_lengths(from, to, |i| (i * 7 % 251) as u8);
            odd_lengths(from, to, |i| (i * 40_503 % 65_521) as u16);
            odd_lengths(from, to, |i| [i as u8, (i >> 8) as u8, (i * 3) as u8]);
        }
    });
}

const SOURCE: &str = "
kernel void twice(device uint* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2u; }
kernel void over(device int* x [[buffer(0)]], constant int& by [[buffer(1)]], uint i [[thread_position_in_grid]]) { x[i] = 7 / by; }
";

/// A copy comes after what was submitted to write its source, and tells of what went wrong there.
#[test]
fn copies_wait_for_writers() {
    on_devices("copies_wait_for_writers", &PEERS, |all| {
        for (from, to, storage) in [
            (1, 2, StorageMode::Private),
            (0, 3, StorageMode::Private),
            (0, 3, StorageMode::Shared),
            (0, 0, StorageMode::Private),
        ] {
            let twice = msl(&all[from], SOURCE, "twice");
            let mut x = all[from].buffer_with::<u32>(5000, storage).expect("a buffer");
            x.write_from(&[3; 5000]).expect("it is written");
            let mut y = all[to].buffer_with::<u32>(5000, storage).expect("a buffer");
            for _ in 0..10 {
                drop(twice.launch(Grid::linear(5000), args![&mut x]).expect("a launch"));
            }
            multi::copy(&x, &mut y).expect("a copy");
            assert_eq!(y.to_vec().expect("it is read"), [3 << 10; 5000]);
            assert!(matches!(multi::copy(x.view(1..).expect("it fits"), &mut y), Err(Error::LengthMismatch { .. })));

            let over = msl(&all[from], SOURCE, "over");
            let mut x = all[from].buffer_with::<i32>(4, storage).expect("a buffer");
            let mut y = all[to].buffer_with::<i32>(4, storage).expect("a buffer");
            over.launch(Grid::linear(4), args![&mut x, 0]).expect("a launch").wait().expect_err("it divides by zero");
            let error = multi::copy(&x, &mut y).expect_err("the source is not to be trusted");
            assert!(matches!(error, Error::Faulted { .. }), "{error}");
        }
    });
}

/// While a copy is made nobody writes its source, nor uses its destination by way of the host: a batch that is to is refused, or was there before, or
/// comes behind. Either is seen to happen.
#[test]
fn a_copy_is_of_one_moment() {
    on_devices("a_copy_is_of_one_moment", &PEERS, |all| {
        let again = Accelerator::all().expect("devices");
        let all: Vec<_> = all.iter().chain(&again).collect();
        let len = 6 << 20;
        for (from, to, writes_source) in [(1, 2, true), (0, 3, true), (0, 4, true), (0, 3, false)] {
            let disturbed = if writes_source { from } else { to };
            let twice = msl(all[disturbed], SOURCE, "twice");
            let mut x = all[from].buffer_with::<u32>(len, StorageMode::Private).expect("a buffer");
            x.write_from(&vec![1; len]).expect("it is written");
            let mut y = all[to].buffer_with::<u32>(len, StorageMode::Private).expect("a buffer");
            let record = |x: &mut dcmetal::Buffer<u32>, y: &mut dcmetal::Buffer<u32>| {
                let mut batch = all[disturbed].batch().expect("a batch");
                let disturbed = if writes_source { x } else { y };
                batch.launch(&twice, Grid::linear(len), args![disturbed]).expect("a launch");
                batch
            };
            let (begun, mut ran, mut refused) = (AtomicUsize::new(0), 0, 0);
            for round in 0..200 {
                let batch = record(&mut x, &mut y);
                let outcome = std::thread::scope(|scope| {
                    let submitted = scope.spawn(|| {
                        while begun.load(Ordering::Acquire) == round {
                            std::hint::spin_loop();
                        }
                        batch.submit().and_then(|submission| submission.wait())
                    });
                    // Every other time the batch has its chance first.
                    begun.fetch_add(1, Ordering::AcqRel);
                    if round % 2 == 1 {
                        std::thread::yield_now();
                    }
                    let copied = multi::copy(&x, &mut y);
                    assert!(copied.is_ok(), "{copied:?}");
                    submitted.join().expect("it does not panic")
                });
                match outcome {
                    Ok(()) => ran += 1,
                    Err(Error::BufferInUse { by }) => {
                        assert!(by.contains("is being copied"), "{by}");
                        refused += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
                let copied = y.to_vec().expect("it is read");
                assert!(copied[1..] == copied[..len - 1], "from {from} to {to}: a copy is of one moment");
                if round > 4 && ran > 0 && refused > 0 {
                    break;
                }
            }
            assert!(ran > 0 && refused > 0, "from {from} to {to}: {ran} ran, {refused} were refused");
        }
    });
}

/// Each copy by a device takes a time that is known at the least, all six together no more than the call: rates are between what follows from both.
#[test]
fn bandwidth_is_of_copies_that_were_checked() {
    on_devices("bandwidth_is_of_copies_that_were_checked", &PEERS, |all| {
        faults::set("commit:slow=20ms").expect("faults");
        for (from, to, storage, route, least) in [
            (1, 2, StorageMode::Private, Route::Peer, 0.02),
            (0, 3, StorageMode::Private, Route::Staged, 0.02),
            (0, 1, StorageMode::Shared, Route::Host, 0.0),
            (2, 2, StorageMode::Private, Route::Device, 0.02),
            (2, 2, StorageMode::Shared, Route::Device, 0.02),
        ] {
            let started = Instant::now();
            let measured = multi::bandwidth(&all[from], &all[to], storage, (1 << 20) + 2).expect("copies");
            let call = started.elapsed().as_secs_f64();
            let [slowest, median, fastest] = measured.bytes_per_second;
            assert_eq!((measured.route, measured.bytes), (route, (1 << 20) + 4));
            assert!(0.0 < slowest && slowest <= median && median <= fastest, "{measured:?}");
            let bytes = measured.bytes as f64;
            assert!(fastest * least <= bytes, "{measured:?}, of {least} s at the least");
            // Of five copies two are no faster than the fastest, two more no faster than the median; a sixth is not measured.
            let copies = bytes * (2.0 / fastest + 2.0 / median + 1.0 / slowest) + least;
            assert!(copies <= call, "{measured:?}: {copies} s of {call} s");
        }
    });
}

/// A device that goes in the middle of a copy, on either side.
#[test]
fn a_copy_of_a_removed_device_is_an_error() {
    let peer = "location=slot,peer_group=1";
    let going = "location=slot,peer_group=1,removed_after=4";
    let devices = ["", "location=external,removed_after=4", "location=external,removed_after=4", peer, going, going];
    on_devices("a_copy_of_a_removed_device_is_an_error", &devices, |all| {
        for (from, to) in [(0, 1), (2, 0), (3, 4), (5, 3)] {
            let error = multi::bandwidth(&all[from], &all[to], StorageMode::Private, 32 << 20).expect_err("it is gone");
            assert_eq!(error.kind(), ErrorKind::DeviceLost, "{error}");
        }
    });
}

/// One memory of both devices: they take turns at it, in which no two steps may change places. Nothing tracks it, so that events alone order them.
const TURNS: &str = "
kernel void step(constant ulong& x [[buffer(0)]], constant uint& number [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    device uint* y = (device uint*)x;
    y[i] = y[i] * 3u + number;
}
kernel void look(constant ulong& x [[buffer(0)]], device uint* y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = ((const device uint*)x)[i];
}
";

/// An event orders submissions of two devices, both ways.
#[test]
fn events_order_two_devices() {
    on_devices("events_order_two_devices", &["", "location=slot"], |all| {
        let again = Accelerator::all().expect("devices");
        let pages = PageVec::<u32>::zeroed(64).expect("a page");
        let x = pages.as_ptr() as u64;
        let memory = all[0].buffer_no_copy(pages).expect("a buffer");
        let kernels = [msl(&all[0], TURNS, "step"), msl(&all[1], TURNS, "step")];
        let event = all[0].event().expect("an event");
        // The steps of one device are submitted before the first of the other, which waits for the host.
        let mut submissions = Vec::new();
        for side in [1, 0] {
            for step in (side..20).step_by(2) {
                let mut batch = all[side].batch().expect("a batch");
                batch.wait_for(&event, step as u64 + 1).expect("it waits");
                batch.launch(&kernels[side], Grid::linear(64), args![x, step as u32 + 1]).expect("a launch");
                batch.signal(&event, step as u64 + 2).expect("it signals");
                submissions.push(batch.submit().expect("it is submitted"));
            }
        }
        // Work of other queues overtakes them.
        for gpu in &again {
            let mut seen = gpu.buffer_from(&[7u32; 64]).expect("a buffer");
            let looked = msl(gpu, TURNS, "look").launch(Grid::linear(64), args![x, &mut seen]);
            looked.expect("a launch").wait().expect("it ran");
            assert_eq!(seen.to_vec().expect("it is read"), [0; 64], "none has begun");
        }
        event.signal(1).expect("it signals");
        event.wait(21).expect("all have run");
        submissions.into_iter().for_each(|submission| submission.wait().expect("it ran"));
        let wanted = (1..=20).fold(0u32, |all, number| all.wrapping_mul(3).wrapping_add(number));
        assert_eq!(memory.to_vec().expect("it is read"), [wanted; 64]);
    });
}

/// Squares of the numbers from `start` on, made of each row's number: rows that were mixed up would show.
const SQUARES: &str = "
kernel void squares(device ulong* y [[buffer(0)]], constant ulong& first [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    ulong n = first + i;
    y[i] = n * n;
}";

fn squares(all: &[Accelerator], split: &Split, row: usize, out: &mut [u64]) -> Result<multi::Report> {
    let kernels: Vec<_> = all.iter().map(|gpu| msl(gpu, SQUARES, "squares")).collect();
    split.gather(out, row, |part| {
        let mut y = part.accelerator.buffer_zeroed::<u64>(part.rows.len() * row)?;
        let first = (part.rows.start * row) as u64;
        kernels[part.device].launch(Grid::linear(y.len()), args![&mut y, first])?.wait()?;
        Ok(y)
    })
}

fn are_squares(out: &[u64]) -> bool {
    out.iter().enumerate().all(|(n, square)| *square == (n * n) as u64)
}

#[test]
fn work_is_shared_and_gathered() {
    on_devices("work_is_shared_and_gathered", &["", "location=slot", "memory=64M,max_threads=128"], |all| {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases: 64,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let sizes = (0usize..3000, 1usize..20, 1usize..100, 1usize..=3);
        runner
            .run(&sizes, |(rows, row, unit, devices)| {
                let split = Split::new(all[..devices].iter().cloned()).unit(unit);
                let mut out = vec![0; rows * row];
                let report = squares(all, &split, row, &mut out).expect("it is done");
                prop_assert!(are_squares(&out));
                prop_assert_eq!((0..devices).map(|device| report.rows_of(device)).sum::<usize>(), rows);
                prop_assert!(report.failures.is_empty());
                prop_assert!(report.parts.iter().all(|part| part.rows.start % unit == 0));
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{error}"));

        let split = Split::new(all.iter().cloned());
        let mut out = vec![0; 1 << 20];
        squares(all, &split, 1, &mut out).expect("it is done");
        assert!(split.rates().iter().flatten().count() > 0);
        // What no device does better ends it.
        let mut wrong = vec![0u64; 10];
        let error = squares(all, &split, 3, &mut wrong).expect_err("ten elements are no rows of three");
        assert!(matches!(error, Error::LengthMismatch { wanted: 12, got: 10, .. }), "{error}");
        let error = split
            .gather(&mut wrong, 1, |part| part.accelerator.buffer_zeroed(part.rows.len() + 1))
            .expect_err("too many");
        assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        let error =
            split.gather(&mut wrong, 1, |part| part.accelerator.buffer_zeroed::<u64>(0)).expect_err("no buffer");
        assert!(matches!(error, Error::EmptyBuffer), "{error}");
    });
}

/// What a thread reads other threads of the kernel before wrote, and what it writes they read.
const TURNED: &str = "
kernel void square(device const ulong* x [[buffer(0)]], device ulong* y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * x[i];
}
kernel void turn(device const ulong* y [[buffer(0)]], device ulong* z [[buffer(1)]], constant uint& row [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    uint first = i / row * row;
    z[i] = 3 * y[2 * first + row - 1 - i] + y[i];
}
kernel void mix(device const ulong* z [[buffer(0)]], device ulong* y [[buffer(1)]], constant uint& row [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    y[i] = z[i] ^ (5 * z[i / row * row]);
}";

/// The kernels of `TURNED`, on a device.
fn turning(gpu: &Accelerator) -> [Kernel; 3] {
    ["square", "turn", "mix"].map(|name| msl(gpu, TURNED, name))
}

/// The same in Rust.
fn turned(x: &[u64], row: usize) -> Vec<u64> {
    let one = |x: &[u64]| -> Vec<u64> {
        let y = x.iter().map(|x| x.wrapping_mul(*x));
        let z: Vec<u64> = y.clone().rev().zip(y).map(|(other, own)| other.wrapping_mul(3).wrapping_add(own)).collect();
        z.iter().map(|own| own ^ z[0].wrapping_mul(5)).collect()
    };
    x.chunks(row).flat_map(one).collect()
}

/// Parts that are batches of three kernels, of which each needs what the one before it left.
fn are_batches(all: &[Accelerator]) {
    use StorageMode::{Managed, Private, Shared};
    common::overlap(8);
    let kernels: Vec<_> = all.iter().map(turning).collect();
    let mut random = common::Random(8);
    for case in 0..48 {
        let [rows, row, unit] = [3000, 20, 100].map(|most| random.range(1, most) as usize);
        let input: Vec<u64> = (0..rows * row).map(|_| random.next()).collect();
        let (storage, devices) = ([Shared, Managed, Private][case % 3], 1 + case / 3 % all.len());
        let what = format!("{rows} rows of {row} by {unit} on {devices}, {storage}");
        let split = Split::new(all[..devices].iter().cloned()).unit(unit);
        let mut out = vec![0; input.len()];
        let report = split.gather(&mut out, row, |part| {
            let (gpu, [square, turn, mix]) = (part.accelerator, &kernels[part.device]);
            let x = gpu.buffer_from(&input[part.rows.start * row..part.rows.end * row])?;
            let (mut y, mut z) = (gpu.buffer_with(x.len(), storage)?, gpu.buffer_with::<u64>(x.len(), Private)?);
            let (grid, row) = (Grid::linear(x.len()), row as u32);
            let mut batch = gpu.batch()?;
            batch.launch(square, grid, args![&x, &mut y])?;
            batch.launch(turn, grid, args![&y, &mut z, row])?;
            batch.launch(mix, grid, args![&z, &mut y, row])?;
            batch.submit()?.wait()?;
            Ok(y)
        });
        let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(out == turned(&input, row), "{what}");
        assert!(report.failures.is_empty(), "{what}: {report:?}");
        assert_eq!((0..devices).map(|device| report.rows_of(device)).sum::<usize>(), rows, "{what}");
    }
}

#[test]
fn parts_are_batches_of_equal_devices() {
    on_devices("parts_are_batches_of_equal_devices", &["", "", ""], are_batches);
}

#[test]
fn parts_are_batches_of_unequal_devices() {
    let devices = ["", "location=slot", "location=external,memory=64M,max_threads=128"];
    on_devices("parts_are_batches_of_unequal_devices", &devices, are_batches);
}

/// A device with little memory does the parts that fit; the others do the rest.
#[test]
fn a_small_device_takes_small_parts() {
    on_devices("a_small_device_takes_small_parts", &["", "memory=8M,max_buffer=4M"], |all| {
        let kernels: Vec<_> = all.iter().map(|gpu| msl(gpu, SQUARES, "squares")).collect();
        let (split, asked) = (Split::new(all.iter().cloned()), AtomicUsize::new(0));
        let mut out = vec![0; 4 << 20];
        let report = split.gather(&mut out, 1, |part| {
            // More than a part of the small one's memory: it comes first, so that its parts are as large as they can be.
            if part.device == 0 {
                while asked.load(Ordering::Acquire) < 2 {
                    std::thread::yield_now();
                }
            }
            asked.fetch_add(part.device, Ordering::AcqRel);
            let _ballast = (part.device == 1).then(|| part.accelerator.buffer_zeroed::<u8>(4 << 20)).transpose()?;
            let _more = (part.device == 1).then(|| part.accelerator.buffer_zeroed::<u8>(3 << 20)).transpose()?;
            let mut y = part.accelerator.buffer_zeroed::<u64>(part.rows.len())?;
            kernels[part.device].launch(Grid::linear(y.len()), args![&mut y, part.rows.start as u64])?.wait()?;
            Ok(y)
        });
        let report = report.expect("it is done");
        assert!(are_squares(&out));
        assert!(report.failures.iter().all(|(device, _)| *device == 1));
        assert!(!report.failures.is_empty() && report.rows_of(1) > 0, "{:?}", report.failures);
    });
}

/// Devices that really are slow, each submission by so much: what is shared follows from what was measured.
#[test]
fn slow_devices_do_less() {
    /// Rows of a submission, and how much longer it takes at the least, by device.
    const CHUNK: usize = 500;
    const SLOW: [f64; 3] = [0.0, 1e-3, 4e-3];
    on_devices("slow_devices_do_less", &["", "location=slot", "location=external"], |all| {
        faults::set("commit:slow=1ms:device=1; commit:slow=4ms:device=2").expect("faults");
        let kernels: Vec<_> = all.iter().map(|gpu| msl(gpu, SQUARES, "squares")).collect();
        let split = Split::new(all.iter().cloned()).unit(CHUNK);
        let mut out = vec![0; 200 * CHUNK + 77];
        let mut last = None;
        // How fast the first device is depends on what else the machine does: the others are slower than it in one of these calls.
        let followed = (0..50).any(|call| {
            out.fill(0);
            let rates = split.rates();
            let report = split
                .gather(&mut out, 1, |part| {
                    let mut y = part.accelerator.buffer_zeroed::<u64>(part.rows.len())?;
                    for first in (0..y.len()).step_by(CHUNK) {
                        let rows = first..y.len().min(first + CHUNK);
                        let (grid, number) = (Grid::linear(rows.len()), (part.rows.start + first) as u64);
                        kernels[part.device].launch(grid, args![y.view_mut(rows)?, number])?.wait()?;
                    }
                    Ok(y)
                })
                .expect("it is done");
            assert!(are_squares(&out) && report.failures.is_empty());
            let rows = [0, 1, 2].map(|device| report.rows_of(device));
            assert_eq!(rows.iter().sum::<usize>(), out.len());
            for part in &report.parts {
                let least = SLOW[part.device] * part.rows.len().div_ceil(CHUNK) as f64;
                assert!(part.time.as_secs_f64() >= least, "{part:?} took {least} s at the least");
            }

            // Half of a share in proportion to what was measured before; or all that takes a millisecond, if that is more, but no more than the share.
            if let [Some(one), Some(two), Some(three)] = rates[..] {
                let first =
                    report.parts.iter().find(|part| part.rows.start == 0).expect("some device has the first row");
                let rate = [one, two, three][first.device];
                let share = out.len() as f64 * rate / (one + two + three);
                let wanted = (share / 2.0).max(share.min(rate * 1e-3));
                let got = first.rows.len() as f64;
                assert!(wanted <= got && got < wanted + 1.0 + CHUNK as f64, "{first:?} of {rates:?}");
            }
            last = Some((rates, rows));
            call > 0 && rows[0] > 2 * rows[1] && rows[1] > rows[2]
        });
        assert!(followed, "{last:?}");
    });
}

/// Devices that go in the middle of the work: the others do it, and it is told. When all go, that is an error.
#[test]
fn a_removed_device_loses_nothing() {
    let devices = ["", "location=slot,removed_after=1", "location=external,removed_after=3"];
    on_devices("a_removed_device_loses_nothing", &devices, |all| {
        let kernels: Vec<_> = all.iter().map(|gpu| msl(gpu, SQUARES, "squares")).collect();
        let split = Split::new(all.iter().cloned());
        let gone = AtomicUsize::new(0);
        let input: Vec<u64> = (0..300_000).collect();
        let mut out = vec![0; input.len()];
        let report = split.gather(&mut out, 1, |part| {
            // The one that stays leaves the others time to go.
            while part.device == 0 && gone.load(Ordering::Acquire) < 2 && part.rows.start > 0 {
                std::thread::yield_now();
            }
            let attempt = || {
                let mut y = part.accelerator.buffer_zeroed::<u64>(part.rows.len())?;
                kernels[part.device].launch(Grid::linear(y.len()), args![&mut y, input[part.rows.start]])?.wait()?;
                Ok(y)
            };
            attempt().inspect_err(|_: &Error| {
                gone.fetch_add(1, Ordering::AcqRel);
            })
        });
        let report = report.expect("one device is left");
        assert!(are_squares(&out));
        let mut lost: Vec<_> = report.failures.iter().map(|(device, error)| (*device, error.kind())).collect();
        lost.sort_unstable_by_key(|(device, _)| *device);
        assert_eq!(lost, [(1, ErrorKind::DeviceLost), (2, ErrorKind::DeviceLost)]);
        assert_eq!((0..3).map(|device| report.rows_of(device)).sum::<usize>(), input.len());

        // Those that are gone are not asked again.
        let report = squares(all, &split, 1, &mut out).expect("one device is left");
        assert!(report.failures.is_empty() && report.rows_of(0) == input.len());
        let rest = Split::new(all[1..].iter().cloned());
        for _ in 0..2 {
            let error = rest
                .gather(&mut out, 1, |part| part.accelerator.buffer_zeroed(part.rows.len()))
                .expect_err("all are gone");
            assert_eq!(error.kind(), ErrorKind::DeviceLost, "{error}");
        }
    });
}

/// Devices that go when the first kernel of a batch has run and the next has not: what it left is gone too, and others begin with the rows of the host.
#[test]
fn a_device_that_goes_in_the_middle_of_a_batch_loses_nothing() {
    let devices = ["", "location=slot", "location=external"];
    on_devices("a_device_that_goes_in_the_middle_of_a_batch_loses_nothing", &devices, |all| {
        // The batch is the first of its device, what another queue is given meanwhile the second.
        faults::set("commit:remove:device=1:at=2; commit:remove:device=2:at=2").expect("faults");
        let again = Accelerator::all().expect("devices");
        let kernels: Vec<_> = all.iter().zip(&again).map(|(gpu, again)| (turning(gpu), turning(again))).collect();
        let (split, row) = (Split::new(all.iter().cloned()), 3);
        let (halves, through) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let input: Vec<u64> = (0..300_000).collect();
        let mut out = vec![0; input.len()];
        let report = split.gather(&mut out, row, |part| {
            // The one that stays leaves the others time to go.
            let goes = part.device > 0;
            while !goes && through.load(Ordering::Acquire) < 2 && part.rows.start > 0 {
                std::thread::yield_now();
            }
            let attempt = || {
                let (gpu, ([square, turn, mix], [last, ..])) = (part.accelerator, &kernels[part.device]);
                let x = gpu.buffer_from(&input[part.rows.start * row..part.rows.end * row])?;
                let (mut y, mut z) = (gpu.buffer_zeroed(x.len())?, gpu.buffer_zeroed::<u64>(x.len())?);
                let (grid, row) = (Grid::linear(x.len()), row as u32);
                let (ran, held) = (gpu.event()?, gpu.event()?);
                let mut batch = gpu.batch()?;
                batch.launch(square, grid, args![&x, &mut y])?;
                if goes {
                    batch.signal(&ran, 1)?;
                    batch.wait_for(&held, 1)?;
                }
                batch.launch(turn, grid, args![&y, &mut z, row])?;
                batch.launch(mix, grid, args![&z, &mut y, row])?;
                let submission = batch.submit()?;
                if goes {
                    ran.wait(1)?;
                    halves.fetch_add(1, Ordering::AcqRel);
                    let other = &again[part.device];
                    let (x, mut y) = (other.buffer_zeroed::<u64>(1)?, other.buffer_zeroed::<u64>(1)?);
                    if last.launch(Grid::linear(1), args![&x, &mut y])?.wait().is_ok() {
                        held.signal(1)?;
                    }
                }
                submission.wait().map(|()| y)
            };
            let done = attempt();
            through.fetch_add(usize::from(goes), Ordering::AcqRel);
            done
        });
        let report = report.expect("one device is left");
        assert!(out == turned(&input, row));
        let lost: HashSet<_> = report.failures.iter().map(|(device, error)| (*device, error.kind())).collect();
        assert_eq!(lost, HashSet::from([1, 2].map(|device| (device, ErrorKind::DeviceLost))));
        assert_eq!((report.failures.len(), report.rows_of(0)), (2, input.len() / row));
        assert_eq!(halves.into_inner(), 2, "each had run its first kernel");
    });
}

/// Faults that may go away, at random: either all is right, or the error says so.
#[test]
fn faults_end_in_right_rows_or_an_error() {
    on_devices("faults_end_in_right_rows_or_an_error", &["", "location=slot"], |all| {
        let (mut right, mut failed) = (0, 0);
        for seed in 0..40 {
            let chance = [0.02, 0.2, 0.9][seed as usize % 3];
            faults::set(&format!("seed={seed}; commit:error=internal:p={chance}")).expect("faults");
            let mut out = vec![0; 20_000];
            let kernels: Vec<_> = all.iter().map(|gpu| msl(gpu, SQUARES, "squares")).collect();
            let outcome = Split::new(all.iter().cloned()).gather(&mut out, 1, |part| {
                let mut y = part.accelerator.buffer_zeroed::<u64>(part.rows.len())?;
                kernels[part.device].launch(Grid::linear(y.len()), args![&mut y, part.rows.start as u64])?.wait()?;
                Ok(y)
            });
            match outcome {
                Ok(_) => {
                    assert!(are_squares(&out), "seed {seed}");
                    right += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Transient, "seed {seed}: {error}");
                    failed += 1;
                }
            }
        }
        assert!(right > 0 && failed > 0, "{right} right, {failed} failed");
    });
}

#[test]
fn a_panic_of_the_work_ends_all() {
    on_devices("a_panic_of_the_work_ends_all", &["", ""], |all| {
        let split = Split::new(all.iter().cloned());
        let (began, panicked) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let outcome = std::panic::catch_unwind(|| {
            let mut out = vec![0u64; 1000];
            split.gather(&mut out, 1, |part| {
                began.fetch_add(1, Ordering::AcqRel);
                while began.load(Ordering::Acquire) < 2 {
                    std::thread::yield_now();
                }
                assert!(part.device == 0 || panicked.fetch_add(1, Ordering::AcqRel) > 0, "the work's own");
                part.accelerator.buffer_zeroed(part.rows.len())
            })
        });
        assert!(outcome.is_err() && panicked.into_inner() == 1);
    });
}
