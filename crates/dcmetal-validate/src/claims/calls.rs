//! Claims on what a call costs the host: look-ups, command buffers, launches, submissions.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dcmetal::{Accelerator, Batch, Buffer, Grid, Kernel, Result, StreamLimits, args};

use super::Bench;
use crate::measure::Calls;
use crate::{Measured, Rate, Refusal, SLACK, c_abi, time};

/// Adds one to a number: what was launched can be counted.
const COUNT: &str = "kernel void count(device uint* y [[buffer(0)]]) { y[0] += 1u; }";

/// Launches of a batch.
const LAUNCHES: u64 = 1000;

/// A kernel that counts its launches from a number that nobody could guess.
struct Counter {
    kernel: Kernel,
    y: Buffer<u32>,
    wanted: u32,
}

impl Counter {
    fn new(bench: &mut Bench<'_>) -> Result<Counter> {
        let kernel = bench.gpu.compile_msl(COUNT)?.kernel("count")?;
        let wanted = bench.random.words(1)[0];
        Ok(Counter { kernel, y: bench.gpu.buffer_from(&[wanted])?, wanted })
    }

    fn add(&mut self, launches: u64) {
        self.wanted = self.wanted.wrapping_add(launches as u32);
    }

    /// Whether every launch ran exactly once.
    fn verify(&self) -> Result<String, Refusal> {
        let got = self.y.to_vec()?[0];
        if got != self.wanted {
            return Err(Refusal::Broken(format!("the kernel counted to {got}, not to {}", self.wanted)));
        }
        Ok("every launch counted by the kernel".to_owned())
    }
}

pub(super) fn memory_cache(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let (gpu, effort) = (bench.gpu, bench.many());
    let [by, plus, x] = bench.random.words(3)[..] else { unreachable!("three words") };
    let source = format!("kernel void k(device uint* y [[buffer(0)]]) {{ y[0] = y[0] * {by}u + {plus}u; }}");
    let found = || gpu.compile_msl(&source)?.kernel("k");
    let start = Instant::now();
    found()?;
    let first = start.elapsed();
    let before = gpu.source_stats();
    let mut asked = 0;
    let calls = Calls::time(effort, |n| {
        asked += n;
        let start = Instant::now();
        for _ in 0..n {
            drop(black_box(found()?));
        }
        Ok::<_, dcmetal::Error>(start.elapsed())
    })?;
    let after = gpu.source_stats();
    let (hits, misses) = (after.hits - before.hits, after.misses - before.misses);
    if (hits, misses) != (asked, 0) {
        return Err(Refusal::Broken(format!("of {asked} look-ups {hits} hit and {misses} missed")));
    }
    let mut y = gpu.buffer_from(&[x])?;
    found()?.launch(Grid::linear(1), args![&mut y])?.wait()?;
    let (got, wanted) = (y.to_vec()?[0], x.wrapping_mul(by).wrapping_add(plus));
    if got != wanted {
        return Err(Refusal::Broken(format!("the kernel that was found makes {got}, not {wanted}")));
    }
    let verified =
        format!("{asked} look-ups, {hits} hits by the cache's count; the kernel that was found computes what it must");
    let mut measured = Measured::of_calls(calls, verified);
    measured.apart.push(("the first time: compiled".to_owned(), crate::spent(first)));
    Ok(measured)
}

pub(super) fn command_buffer(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let device = c_abi::Device::open();
    let (pipeline, buffer) = (device.pipeline(COUNT, "count"), device.buffer(4));
    let Ok(calls) = Calls::time(bench.many(), |n| {
        let start = Instant::now();
        (0..n).for_each(|_| drop(black_box(device.command_buffer())));
        Ok::<_, std::convert::Infallible>(start.elapsed())
    });
    let launches = 1 + bench.random.words(1)[0] % 100;
    let mut last = device.command_buffer();
    device.encode(&mut last, &pipeline, &buffer, launches.into());
    device.finish(last);
    let counted = buffer.first_u32();
    if counted != launches {
        return Err(Refusal::Broken(format!("a command buffer ran {counted} launches of {launches}")));
    }
    let verified = format!("one acquired after them ran {launches} launches, each counted by the kernel");
    Ok(Measured::of_calls(calls, verified))
}

pub(super) fn encode(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let mut counter = Counter::new(bench)?;
    let (gpu, effort) = (bench.gpu, bench.many());
    let (mut recorded, mut ran) = (Duration::ZERO, Duration::ZERO);
    let calls = Calls::time(effort, |n| {
        counter.add(n);
        let (kernel, y) = (&counter.kernel, &mut counter.y);
        let (record, run) = batches(gpu, n, |batch| batch.launch(kernel, Grid::linear(1), args![&mut *y]))?;
        recorded += record;
        ran += run;
        Ok::<_, dcmetal::Error>(record)
    })?;
    let mut measured = Measured::of_calls(calls, counter.verify()?);
    measured.rates.push(beside(1.0 / measured.value, &bare_dispatches(bench)?));
    let share = format!("{:.2} of the time of encoding", ran.as_secs_f64() / recorded.as_secs_f64());
    measured.apart.push(("submission and execution of the batches".to_owned(), share));
    Ok(measured)
}

/// The time that so many commands take to be recorded, in batches, and that of submitting and waiting.
fn batches(
    gpu: &Accelerator,
    times: u64,
    mut record: impl FnMut(&mut Batch) -> Result<()>,
) -> Result<(Duration, Duration)> {
    let (mut recorded, mut ran) = (Duration::ZERO, Duration::ZERO);
    for first in (0..times).step_by(LAUNCHES as usize) {
        let mut batch = gpu.batch()?;
        let start = Instant::now();
        for _ in first..(first + LAUNCHES).min(times) {
            record(&mut batch)?;
        }
        recorded += start.elapsed();
        let start = Instant::now();
        batch.submit()?.wait()?;
        ran += start.elapsed();
    }
    Ok((recorded, ran))
}

pub(super) fn round_trip(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let gpu = bench.gpu;
    let calls = Calls::time(bench.single(), |n| {
        let start = Instant::now();
        for _ in 0..n {
            gpu.batch()?.submit()?.wait()?;
        }
        Ok::<_, dcmetal::Error>(start.elapsed())
    })?;
    // What is empty has no output: the same queue still runs what it is given, in order.
    let mut counter = Counter::new(bench)?;
    counter.add(1);
    counter.kernel.launch(Grid::linear(1), args![&mut counter.y])?.wait()?;
    counter.verify()?;
    let mut measured =
        Measured::of_calls(calls, "every batch completed; a launch after them ran, counted by the kernel".to_owned());
    let launch = bench.launch()?;
    measured.apart.push(("with a launch of one thread in it".to_owned(), time(launch)));
    Ok(measured)
}

/// Seconds of a launch of one thread, waited for.
pub(super) fn launch(bench: &mut Bench<'_>) -> Result<f64, Refusal> {
    let mut counter = Counter::new(bench)?;
    let calls = Calls::time(bench.single(), |n| {
        counter.add(n);
        let start = Instant::now();
        for _ in 0..n {
            counter.kernel.launch(Grid::linear(1), args![&mut counter.y])?.wait()?;
        }
        Ok::<_, dcmetal::Error>(start.elapsed())
    })?;
    counter.verify()?;
    Ok(calls.seconds.median)
}

pub(super) fn dispatches(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let mut counter = Counter::new(bench)?;
    let stream = bench.gpu.stream(StreamLimits { commands: LAUNCHES as usize, ..StreamLimits::default() });
    let (mut given, mut done) = (Duration::ZERO, Duration::ZERO);
    let calls = Calls::time(bench.many(), |n| {
        counter.add(n);
        let start = Instant::now();
        for _ in 0..n {
            stream.launch(&counter.kernel, Grid::linear(1), args![&mut counter.y])?;
        }
        let spent = start.elapsed();
        stream.wait()?;
        given += spent;
        done += start.elapsed();
        Ok::<_, dcmetal::Error>(spent)
    })?;
    let mut measured = Measured::of_calls(calls, counter.verify()?).a_second();
    let rate = measured.value * given.as_secs_f64() / done.as_secs_f64();
    measured.apart.push(("until all have run".to_owned(), crate::figure(rate, crate::Unit::PerSecond)));
    measured.rates.push(beside(measured.value, &bare_dispatches(bench)?));
    Ok(measured)
}

pub(super) fn submissions(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let mut counter = Counter::new(bench)?;
    let calls = Calls::time(bench.many(), |n| {
        counter.add(n);
        let start = Instant::now();
        for _ in 0..n {
            drop(counter.kernel.launch(Grid::linear(1), args![&mut counter.y])?);
        }
        drop(counter.y.read()?);
        Ok::<_, dcmetal::Error>(start.elapsed())
    })?;
    let mut measured = Measured::of_calls(calls, counter.verify()?).a_second();
    measured.rates.push(beside(measured.value, &bare_command_buffers(bench)?));
    Ok(measured)
}

/// The most calls in a second, of those that a claim cannot do without.
struct Bare {
    a_second: f64,
    what: &'static str,
}

/// A rate of calls beside that of the bare ones. Those are of the fastest turn, since nothing makes a turn too short.
fn beside(rate: f64, bare: &Bare) -> Rate {
    let (value, roof) = (rate / 1e6, bare.a_second / 1e6);
    Rate { value, roof, slack: SLACK, unit: "million/s", roof_is: bare.what.to_owned() }
}

impl Bare {
    fn of(calls: &Calls, what: &'static str) -> Bare {
        Bare { a_second: 1.0 / calls.seconds.best, what }
    }
}

/// Dispatches through the C ABI that set nothing and look for no conflicts: any launch makes one.
fn bare_dispatches(bench: &mut Bench<'_>) -> Result<Bare, Refusal> {
    let device = c_abi::Device::open();
    let (pipeline, buffer) = (device.pipeline(COUNT, "count"), device.buffer(4));
    let mut wanted = 0u32;
    let Ok(calls) = Calls::time(bench.many(), |n| {
        let mut spent = Duration::ZERO;
        for first in (0..n).step_by(LAUNCHES as usize) {
            let launches = LAUNCHES.min(n - first);
            wanted = wanted.wrapping_add(launches as u32);
            let mut command_buffer = device.command_buffer();
            let start = Instant::now();
            device.encode(&mut command_buffer, &pipeline, &buffer, launches);
            spent += start.elapsed();
            device.finish(command_buffer);
        }
        Ok::<_, std::convert::Infallible>(spent)
    });
    let counted = buffer.first_u32();
    if counted != wanted {
        return Err(Refusal::Broken(format!("the roofline's dispatches counted to {counted}, not to {wanted}")));
    }
    Ok(Bare::of(&calls, "bare dispatches through the C ABI, 1000 an encoder"))
}

/// Command buffers that may be open at once: few enough for any queue.
const OPEN: u64 = 32;

/// Command buffers through the C ABI, each made and given a dispatch: any launch by itself needs one, which is committed, run and told of besides.
fn bare_command_buffers(bench: &mut Bench<'_>) -> Result<Bare, Refusal> {
    let device = c_abi::Device::open();
    let (pipeline, buffer) = (device.pipeline(COUNT, "count"), device.buffer(4));
    let (mut wanted, mut made) = (0u32, Vec::new());
    let Ok(calls) = Calls::time(bench.many(), |n| {
        let mut spent = Duration::ZERO;
        for first in (0..n).step_by(OPEN as usize) {
            let start = Instant::now();
            for _ in 0..OPEN.min(n - first) {
                let mut command_buffer = device.command_buffer();
                device.encode(&mut command_buffer, &pipeline, &buffer, 1);
                made.push(command_buffer);
            }
            spent += start.elapsed();
            // The last of them shows that they are what is to be run; the others are let go of.
            wanted = wanted.wrapping_add(1);
            made.drain(..).next_back().into_iter().for_each(|last| device.finish(last));
        }
        Ok::<_, std::convert::Infallible>(spent)
    });
    let counted = buffer.first_u32();
    if counted != wanted {
        return Err(Refusal::Broken(format!("the roofline's command buffers counted to {counted}, not to {wanted}")));
    }
    Ok(Bare::of(&calls, "bare command buffers through the C ABI, each with a dispatch, not committed"))
}

/// What a look into a pool, and the way back, cannot do without: a lock that nobody else wants, taken and given back twice.
pub(super) fn locks(bench: &mut Bench<'_>, rate: f64) -> Result<Rate, Refusal> {
    let lock = Mutex::new(0u64);
    let mut wanted = 0;
    let Ok(calls) = Calls::time(bench.many(), |n| {
        wanted += 2 * n;
        let start = Instant::now();
        for _ in 0..2 * n {
            *black_box(&lock).lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        Ok::<_, std::convert::Infallible>(start.elapsed())
    });
    let counted = *lock.lock().unwrap_or_else(PoisonError::into_inner);
    if counted != wanted {
        return Err(Refusal::Broken(format!("the roofline's locks counted to {counted}, not to {wanted}")));
    }
    Ok(beside(rate, &Bare::of(&calls, "a lock that nobody else wants, taken and given back twice")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Goal, Verdict, judge};

    /// A claim that is more often than what it needs cannot be true.
    #[test]
    fn no_rate_of_calls_is_above_that_of_the_bare_ones() {
        let bare = Bare { a_second: 2e6, what: "bare calls" };
        for (rate, verdict) in [(1e6, Verdict::Reached), (2.9e6, Verdict::Reached), (3.1e6, Verdict::Broken)] {
            let measured = Measured {
                value: rate,
                rates: vec![beside(rate, &bare)],
                verified: vec!["all".to_owned()],
                ..Measured::default()
            };
            let (got, why) = judge(Goal::AtLeast(1e5), &measured);
            assert_eq!(got, verdict, "{rate}: {why}");
            assert_eq!(
                why.contains("million/s are above the roofline, 2.0000 million/s (bare calls)"),
                got == Verdict::Broken
            );
        }
    }
}
