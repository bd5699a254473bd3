//! Claims on pools, memory used in place, and branches of graphs.

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use dcmetal::{Accelerator, Buffer, BufferPool, Grid, PageVec, PoolLimits, PoolStats, args};

use super::Bench;
use crate::measure::{Calls, alternated};
use crate::roofs::Roofs;
use crate::{Measured, Point, Rate, Refusal, SLACK, branches, spent};

/// Bytes of a buffer.
const BYTES: usize = 4096;

pub(super) fn pool_allocations(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let requests = bench.of(2_000u64, 20_000);
    let pool = bench.gpu.pool(PoolLimits::default());
    let seed = bench.random.words(1)[0];
    let native = Native::count()?;
    for step in 0..requests as usize {
        let words = [256, 1000, 5000, 70_000][step % 4];
        let value = seed.wrapping_add(step as u32);
        let mut buffer = pool.buffer::<u32>(words)?;
        buffer.write()?[words - 1] = value;
        if buffer.read()?[words - 1] != value {
            return Err(Refusal::Broken(format!(
                "a buffer of the pool does not hold what was written, in step {step}"
            )));
        }
    }
    let native = native.end();
    let PoolStats { hits, misses, used_buffers, .. } = pool.stats();
    if hits + misses != requests || used_buffers != 0 {
        return Err(Refusal::Broken(format!(
            "{hits} hits and {misses} misses of {requests} requests, {used_buffers} buffers not back"
        )));
    }
    let mut verified = vec!["each buffer held what was written to it".to_owned()];
    if let Some(native) = native {
        if native != misses {
            return Err(Refusal::Broken(format!("Metal was asked for {native} buffers, the pool counts {misses}")));
        }
        verified.push(format!("Metal was asked for {native} buffers, as the pool says"));
    }
    let value = hits as f64 / requests as f64;
    Ok(Measured {
        value,
        rates: vec![Rate::share(value, "% saved", "no allocation at all")],
        verified,
        apart: vec![("requests".to_owned(), requests.to_string()), ("allocations".to_owned(), misses.to_string())],
        ..Measured::default()
    })
}

/// What Metal itself is asked for, where it tells.
struct Native;

#[cfg(target_os = "linux")]
impl Native {
    fn count() -> Result<Native, Refusal> {
        // Rules of a seed alone make nothing fail, but count.
        hostmetal::faults::set("seed=1").map_err(Refusal::Broken)?;
        Ok(Native)
    }

    fn end(self) -> Option<u64> {
        hostmetal::faults::counts("buffer").map(|counts| counts.events)
    }
}

#[cfg(target_os = "linux")]
impl Drop for Native {
    fn drop(&mut self) {
        hostmetal::faults::set("").expect("no rules are always fine");
    }
}

#[cfg(not(target_os = "linux"))]
impl Native {
    fn count() -> Result<Native, Refusal> {
        Ok(Native)
    }

    fn end(self) -> Option<u64> {
        None
    }
}

pub(super) fn pool_hit(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let pool = bench.gpu.pool(PoolLimits::default());
    let value = bench.random.words(1)[0];
    pool.buffer_from(&[value; BYTES / 4])?;
    let mut asked = 1;
    let calls = Calls::time(bench.many(), |n| {
        asked += n;
        let start = Instant::now();
        for _ in 0..n {
            drop(black_box(pool.buffer::<u8>(BYTES)?));
        }
        Ok::<_, dcmetal::Error>(start.elapsed())
    })?;
    let PoolStats { hits, misses, used_buffers, .. } = pool.stats();
    if (hits, misses, used_buffers) != (asked - 1, 1, 0) {
        return Err(Refusal::Broken(format!(
            "{hits} hits and {misses} misses of {asked} requests, {used_buffers} buffers not back"
        )));
    }
    // Memory that comes from the shelf is the memory that went there.
    if pool.buffer::<u32>(BYTES / 4)?.to_vec()? != [value; BYTES / 4] {
        return Err(Refusal::Broken("what the pool hands out is not what it was given".to_owned()));
    }
    let verified =
        format!("{hits} hits and 1 allocation of {asked} requests; the memory handed out is the one that came back");
    let mut measured = Measured::of_calls(calls, verified);
    measured.rates.push(super::calls::locks(bench, 1.0 / measured.value)?);
    let gpu = bench.gpu;
    let native = Calls::time(bench.many(), |n| {
        let start = Instant::now();
        for _ in 0..n {
            drop(black_box(gpu.buffer_zeroed::<u8>(BYTES)?));
        }
        Ok::<_, dcmetal::Error>(start.elapsed())
    })?;
    measured.apart.push(("allocated by Metal and released".to_owned(), crate::time(native.seconds.median)));
    Ok(measured)
}

/// How long two threads with one pool take at most, in times of two threads with a pool and an accelerator each: what else the machine does, and what
/// processors share, is in both. With one lock for all threads, a pool's shelves alone take 8 times as long (two cores, optimised).
pub(super) const CONTENTION: f64 = 1.5;

pub(super) fn pool_threads(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    if crate::processors() < 2 {
        let why = "there is one processor, so two threads cannot run at the same time";
        return Err(Refusal::NotMeasured(why.to_owned()));
    }
    let accelerators = [Accelerator::system_default()?, Accelerator::system_default()?];
    let [shared, first, second] =
        [bench.gpu, &accelerators[0], &accelerators[1]].map(|gpu| gpu.pool(PoolLimits::default()));
    // The turns that count have as many hits as the longest of these.
    let together = Calls::time(bench.many(), |n| at_once([&shared, &shared], n))?;
    let (rounds, n) = (bench.of(15, 101), together.most);
    let before = requests([&shared])?;
    let ratio = alternated(rounds, || at_once([&shared, &shared], n), || at_once([&first, &second], n))?;
    // One round more does not count, and the threads of each begin with a buffer.
    let wanted = (rounds as u64 + 1) * 2 * (n + 1);
    let got = [requests([&shared])? - before, requests([&first, &second])?];
    if got != [wanted; 2] {
        return Err(Refusal::Broken(format!("the pools counted {got:?} requests, not {wanted} each")));
    }
    let each = |turn: Duration| crate::time(turn.as_secs_f64() / n as f64);
    let apart = vec![
        ("hits of each thread in a turn".to_owned(), n.to_string()),
        ("two threads, one pool: a hit".to_owned(), each(ratio.ours)),
        ("two threads, two pools: a hit".to_owned(), each(ratio.peer)),
    ];
    Ok(Measured {
        value: ratio.ratio.median,
        spread: Some(ratio.ratio),
        points: together.points,
        rates: vec![as_fast(ratio.ratio.median)],
        verified: vec![format!("{} requests by the pools' counts, hits but for one in a hundred at most", 2 * wanted)],
        apart,
        ..Measured::default()
    })
}

/// What was asked of these pools, which nobody uses. Almost all of it must have been there.
fn requests<const N: usize>(pools: [&BufferPool; N]) -> Result<u64, Refusal> {
    let mut all = 0;
    for PoolStats { hits, misses, used_buffers, .. } in pools.map(BufferPool::stats) {
        if misses * 100 > hits || used_buffers != 0 {
            let told = format!("{hits} hits and {misses} misses of two threads, {used_buffers} buffers not back");
            return Err(Refusal::Broken(told));
        }
        all += hits + misses;
    }
    Ok(all)
}

/// How fast two threads with one pool are, to those with two. Sharing saves nothing: what is beyond one is noise of the turns.
fn as_fast(times: f64) -> Rate {
    let roof_is = "two threads that share nothing".to_owned();
    Rate { value: 1.0 / times, roof: 1.0, slack: SLACK, unit: "times as fast", roof_is }
}

/// The time in which each of two threads has taken a buffer of its pool and given it back `n` times.
fn at_once(pools: [&BufferPool; 2], n: u64) -> Result<Duration, dcmetal::Error> {
    let start = &Barrier::new(pools.len());
    let times = std::thread::scope(|scope| {
        let hits = |pool: &BufferPool| {
            // Kept until each thread has one: then each finds its own.
            let own = pool.buffer::<u8>(BYTES);
            start.wait();
            drop(own?);
            let start = Instant::now();
            for _ in 0..n {
                drop(black_box(pool.buffer::<u8>(BYTES)?));
            }
            Ok(start.elapsed())
        };
        let running = pools.map(|pool| scope.spawn(move || hits(pool)));
        running.map(|thread| thread.join().expect("no panic")).into_iter().collect::<Result<Vec<_>, _>>()
    })?;
    Ok(times.into_iter().max().unwrap_or_default())
}

const SCALE: &str = "kernel void scale(device uint* y [[buffer(0)]], constant uint& by [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = y[i] * by + 1u;
}";

pub(super) fn unified(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let gpu = bench.gpu;
    if !gpu.limits().unified_memory {
        return Err(Refusal::NotMeasured("host and device have memories of their own".to_owned()));
    }
    let fixed = bench.launch()?;
    let scale = gpu.compile_msl(SCALE)?.kernel("scale")?;
    let mut measured = Measured { fixed, ..Measured::default() };
    let (mut runs, mut compared) = (0, 0);
    for &len in bench.of(&[1usize << 16, 1 << 20][..], &[1 << 18, 1 << 21, 1 << 24]) {
        let rounds = bench.of(5, 21);
        // Odd and not one: what a launch did not reach cannot be right.
        let by = bench.random.words(1)[0] | 3;
        let random = RefCell::new(&mut bench.random);
        let mut check = |input: &[u32], output: &[u32]| {
            let right = |(x, y): (&u32, &u32)| *y == x.wrapping_mul(by).wrapping_add(1);
            (runs, compared) = (runs + 1, compared + output.len());
            match input.len() == output.len() && input.iter().zip(output).all(right) {
                true => Ok(()),
                false => Err(Refusal::Broken(format!("wrong output at {len} words"))),
            }
        };
        let check = RefCell::new(&mut check);
        let in_place = || {
            let input = random.borrow_mut().words(len);
            let pages = PageVec::from_slice(&input)?;
            let start = Instant::now();
            let mut y = gpu.buffer_no_copy(pages)?;
            scale.launch(Grid::linear(len), args![&mut y, by])?.wait()?;
            let output = y.read()?;
            let spent = start.elapsed();
            check.borrow_mut()(&input, &output)?;
            Ok::<Duration, Refusal>(spent)
        };
        let copied = || {
            let input = random.borrow_mut().words(len);
            let start = Instant::now();
            let mut y = gpu.buffer_from(&input)?;
            scale.launch(Grid::linear(len), args![&mut y, by])?.wait()?;
            let output = y.to_vec()?;
            let spent = start.elapsed();
            check.borrow_mut()(&input, &output)?;
            Ok::<Duration, Refusal>(spent)
        };
        let ratio = alternated(rounds, in_place, copied)?;
        let bytes = len as f64 * 4.0;
        let seconds = ratio.ours.as_secs_f64();
        measured.points.push(Point { work: len as f64, seconds: ratio.fastest.as_secs_f64() });
        // The ratio is ours to the copies'; the claim is the other way round.
        let times = ratio.ratio.inverse();
        (measured.value, measured.spread) = (times.median, Some(times));
        let mebi = |bytes: f64| format!("{:.2} MiB", bytes / f64::from(1 << 20));
        let moved = format!(
            "in place {} for {} read and written, copied {} for {}: {:.2}x ({:.2} to {:.2})",
            spent(ratio.ours),
            mebi(2.0 * bytes),
            spent(ratio.peer),
            mebi(6.0 * bytes),
            times.median,
            times.p10,
            times.p90
        );
        measured.apart.push((format!("buffer of {}", mebi(bytes)), moved));
        let roofs = Roofs::of(gpu);
        let (roof, roof_is) = (roofs.bytes(2.0 * bytes)? / 1e9, roofs.bytes_are().to_owned());
        measured.rates = vec![Rate { value: 2.0 * bytes / seconds / 1e9, roof, slack: SLACK, unit: "GB/s", roof_is }];
    }
    measured.verified.push(format!("{compared} words, the whole outputs of {runs} runs on inputs of their own"));
    Ok(measured)
}

pub(super) fn graph_branches(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let processors = crate::processors();
    if cfg!(target_os = "linux") && processors < 2 {
        return Err(Refusal::NotMeasured("there is one processor, so branches cannot run at the same time".to_owned()));
    }
    let fixed = bench.launch()?;
    let gpu = bench.gpu;
    let kernel = branches::kernel(gpu)?;
    let mut measured = Measured { fixed, ..Measured::default() };
    let (largest, mut verified) = (bench.of(2_000, 20_000), 0);
    for rounds in [largest / 4, largest] {
        let values = bench.random.words(branches::LEN);
        let wanted = branches::expected(&values, rounds);
        let x = gpu.buffer_from(&values)?;
        let end = || gpu.buffer_zeroed::<u32>(branches::LEN);
        let ends = || Ok::<_, dcmetal::Error>([end()?, end()?]);
        let (mut beside, mut behind) = (ends()?, ends()?);
        let mut parallel = branches::graph(gpu, &kernel, &x, &mut beside, false, rounds)?;
        let mut serial = branches::graph(gpu, &kernel, &x, &mut behind, true, rounds)?;
        let runs = Cell::new(0);
        let run = |graph: &mut dcmetal::Graph, ends: &mut [Buffer<u32>; 2]| {
            branches::poison(ends)?;
            let start = Instant::now();
            graph.submit()?.wait()?;
            let spent = start.elapsed();
            branches::verify(&wanted, ends).map_err(Refusal::Broken)?;
            runs.set(runs.get() + 1);
            Ok::<Duration, Refusal>(spent)
        };
        let rounds_of_turns = bench.of(9, 101);
        let ratio = alternated(rounds_of_turns, || run(&mut parallel, &mut beside), || run(&mut serial, &mut behind))?;
        verified += runs.get();
        measured.points.push(Point { work: rounds.into(), seconds: ratio.fastest.as_secs_f64() });
        let times = ratio.ratio.inverse();
        (measured.value, measured.spread) = (times.median, Some(times));
        let times = format!("beside {}, in a row {}", spent(ratio.ours), spent(ratio.peer));
        measured.apart.push((format!("{rounds} rounds a node"), times));
    }
    measured
        .verified
        .push(format!("both branches' whole results after each of {verified} runs, over poison, against the host's"));
    measured.rates.push(faster(measured.value));
    Ok(measured)
}

/// How many times faster two branches are beside each other. Two is arithmetic, not measured: it leaves room for noise of the turns only.
fn faster(times: f64) -> Rate {
    Rate { value: times, roof: 2.0, slack: 1.1, unit: "times", roof_is: "two branches".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Goal, Verdict, judge};

    #[test]
    fn who_shares_a_pool_is_no_faster_and_hardly_slower() {
        for (times, verdict) in [
            (0.6, Verdict::Broken),
            (0.7, Verdict::Reached),
            (1.0, Verdict::Reached),
            (1.5, Verdict::Reached),
            (1.6, Verdict::Missed),
            (8.0, Verdict::Missed),
        ] {
            let (rates, verified) = (vec![as_fast(times)], vec!["all".to_owned()]);
            let measured = Measured { value: times, rates, verified, ..Measured::default() };
            let (got, why) = judge(Goal::AtMost(CONTENTION), &measured);
            assert_eq!(got, verdict, "{times}: {why}");
        }
    }

    #[test]
    fn two_branches_save_half_at_most() {
        for (times, verdict) in [
            (1.0, Verdict::Missed),
            (1.9, Verdict::Reached),
            (2.1, Verdict::Reached),
            (2.3, Verdict::Broken),
            (2.9, Verdict::Broken),
        ] {
            let (rates, verified) = (vec![faster(times)], vec!["all".to_owned()]);
            let measured = Measured { value: times, rates, verified, ..Measured::default() };
            let (got, why) = judge(Goal::AtLeast(1.7), &measured);
            assert_eq!(got, verdict, "{times}: {why}");
        }
    }
}
