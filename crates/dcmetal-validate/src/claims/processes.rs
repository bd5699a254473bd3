//! Claims on new processes: the first accelerator, and kernels that an earlier process left on disk.

use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use dcmetal::{Accelerator, Grid, args};
use serde::{Deserialize, Serialize};

use super::Bench;
use crate::{Measured, Refusal, Spread, time};

/// What a child found; times in seconds.
#[derive(Serialize, Deserialize)]
struct Found {
    /// From the parent's call of the system to main's first line; nothing when the clock that both share was set back meanwhile.
    before_main: Option<f64>,
    /// From there to the accelerator.
    accelerator: f64,
    /// From there until it had filled a buffer.
    filled: f64,
    library: f64,
    kernel: f64,
    hits: u64,
    misses: u64,
    compiled: u64,
}

/// The words of a child: when it was started, and for a kernel a folder and its three numbers.
const WORDS: &str = "START [FOLDER BY PLUS X]";

/// What a process of the program's own does when it is started with the words of a claim; prints nothing, returns what it found.
///
/// # Errors
/// What went wrong, in words.
pub fn child(main: Instant, words: &[String]) -> Result<String, String> {
    let begun = SystemTime::now() - main.elapsed();
    let in_words = |error: dcmetal::Error| error.to_string();
    let [start, rest @ ..] = words else { return Err(format!("expected {WORDS}")) };
    let nanoseconds = start.parse().map_err(|_| format!("expected {WORDS}"))?;
    let started = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    let gpu = Accelerator::system_default().map_err(in_words)?;
    let ready = main.elapsed();
    let mut found = Found {
        before_main: between(started, begun),
        accelerator: ready.as_secs_f64(),
        filled: 0.0,
        library: 0.0,
        kernel: 0.0,
        hits: 0,
        misses: 0,
        compiled: 0,
    };
    match rest {
        [] => fill(&gpu).map_err(in_words)?.then_some(()).ok_or("a buffer that was filled does not hold it")?,
        [folder, numbers @ ..] => {
            let numbers: Vec<u32> = numbers.iter().filter_map(|number| number.parse().ok()).collect();
            let [by, plus, x] = numbers[..] else { return Err(format!("expected {WORDS}")) };
            kernel(&gpu, Path::new(folder), [by, plus, x], &mut found)?;
        }
    }
    found.filled = main.elapsed().as_secs_f64();
    serde_json::to_string(&found).map_err(|error| error.to_string())
}

/// Seconds by the clock on the wall, unless it was set back between.
fn between(then: SystemTime, now: SystemTime) -> Option<f64> {
    now.duration_since(then).ok().map(|time| time.as_secs_f64())
}

/// Whether the device fills a buffer.
fn fill(gpu: &Accelerator) -> dcmetal::Result<bool> {
    let mut y = gpu.buffer_zeroed::<u8>(256)?;
    let mut batch = gpu.batch()?;
    batch.fill(&mut y, 0xA5)?;
    batch.submit()?.wait()?;
    Ok(y.to_vec()? == [0xA5; 256])
}

fn source(by: u32, plus: u32) -> String {
    format!(
        "kernel void k(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {{ y[i] = (y[i] + i) * {by}u + {plus}u; }}"
    )
}

/// Compiles the kernel, or finds it, and tries it on numbers that begin with x.
fn kernel(gpu: &Accelerator, folder: &Path, [by, plus, x]: [u32; 3], found: &mut Found) -> Result<(), String> {
    const LEN: usize = 1024;
    let mut run = || {
        gpu.keep_kernels(folder, 64 << 20)?;
        let start = Instant::now();
        let library = gpu.compile_msl(&source(by, plus))?;
        found.library = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let kernel = library.kernel("k")?;
        found.kernel = start.elapsed().as_secs_f64();
        let mut y = gpu.buffer_from(&[x; LEN])?;
        kernel.launch(Grid::linear(LEN), args![&mut y])?.wait()?;
        y.to_vec()
    };
    let got = run().map_err(|error: dcmetal::Error| error.to_string())?;
    let wanted = |i: usize| x.wrapping_add(i as u32).wrapping_mul(by).wrapping_add(plus);
    if let Some(i) = (0..LEN).find(|&i| got[i] != wanted(i)) {
        return Err(format!("the kernel makes {} at {i}, not {}", got[i], wanted(i)));
    }
    let stats = gpu.kernel_file_stats().ok_or("no kernels are kept")?;
    (found.hits, found.misses, found.compiled) = (stats.hits, stats.misses, stats.compiled);
    Ok(())
}

/// How long a child may take, though it compiles on a machine that is busy.
const LONGEST: Duration = Duration::from_secs(120);

/// What a process wrote and how it ended; it is killed when it has not ended in time. It writes to files, since a pipe is open for as long
/// as any process that it started.
fn ended(mut command: Command, longest: Duration) -> Result<Output, String> {
    let failed = |error: std::io::Error| error.to_string();
    let (mut out, mut err) = (tempfile::tempfile().map_err(failed)?, tempfile::tempfile().map_err(failed)?);
    command.stdout(out.try_clone().map_err(failed)?).stderr(err.try_clone().map_err(failed)?);
    let begun = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if begun.elapsed() >= longest {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            return Err(format!("{command:?} had not ended after {} and was killed", crate::spent(longest)));
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let mut output = Output { status, stdout: Vec::new(), stderr: Vec::new() };
    for (file, text) in [(&mut out, &mut output.stdout), (&mut err, &mut output.stderr)] {
        file.rewind().map_err(failed)?;
        file.read_to_end(text).map_err(failed)?;
    }
    Ok(output)
}

/// Runs a child.
fn started(bench: &Bench<'_>, words: &[String]) -> Result<Found, Refusal> {
    let broken = |why: String| Refusal::Broken(format!("a new process: {why}"));
    let now = SystemTime::UNIX_EPOCH.elapsed().map_err(|error| broken(error.to_string()))?;
    let mut command = Command::new(&bench.options.program);
    command.args(&bench.options.child).arg(now.as_nanos().to_string()).args(words).stdin(Stdio::null());
    let output = ended(command, LONGEST).map_err(broken)?;
    if !output.status.success() {
        return Err(broken(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| broken(error.to_string()))
}

pub(super) fn cold_start(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    started(bench, &[])?;
    let found: Vec<Found> = (0..bench.of(5, 51)).map(|_| started(bench, &[])).collect::<Result<_, _>>()?;
    let before: Vec<f64> = found.iter().filter_map(|found| found.before_main).collect();
    let filled = Spread::of(found.iter().map(|found| found.filled).collect());
    let spread = Spread::of(found.iter().map(|found| found.accelerator).collect());
    Ok(Measured {
        value: spread.median,
        spread: Some(spread),
        verified: vec!["each process had its device fill a buffer and looked".to_owned()],
        apart: vec![
            ("from the start of the process to main (loading, linking)".to_owned(), before_main(before, found.len())),
            ("from main until the device had filled a buffer".to_owned(), time(filled.median)),
        ],
        ..Measured::default()
    })
}

/// The median of those that the clock tells, of so many processes.
fn before_main(told: Vec<f64>, of: usize) -> String {
    let left_out = of - told.len();
    let why = format!("the clock was set back in {left_out} of {of} processes");
    match (told.is_empty(), left_out) {
        (true, _) => format!("not measured: {why}"),
        (false, 0) => time(Spread::of(told).median),
        (false, _) => format!("{}; {why}, which are left out", time(Spread::of(told).median)),
    }
}

pub(super) fn disk_cache(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let place = tempfile::tempdir().map_err(|error| Refusal::Broken(format!("no temporary folder: {error}")))?;
    let folder = place.path().join("kernels").display().to_string();
    let numbers = bench.random.words(2);
    let run = |bench: &mut Bench<'_>| {
        let x = bench.random.words(1)[0];
        let words = [numbers[0], numbers[1], x].map(|number| number.to_string());
        started(bench, &[std::slice::from_ref(&folder), &words[..]].concat())
    };
    let first = run(bench)?;
    if (first.hits, first.compiled) != (0, 1) {
        return Err(Refusal::Broken(format!("the first process found {} and compiled {}", first.hits, first.compiled)));
    }
    let mut found = Vec::new();
    for _ in 0..bench.of(5, 51) {
        let next = run(bench)?;
        if (next.hits, next.misses, next.compiled) != (1, 0, 0) {
            let Found { hits, misses, compiled, .. } = next;
            return Err(Refusal::Broken(format!("a later process: {hits} hits, {misses} misses, {compiled} compiled")));
        }
        found.push(next);
    }
    let spread = Spread::of(found.iter().map(|found| found.kernel).collect());
    let library = Spread::of(found.iter().map(|found| found.library).collect()).median;
    Ok(Measured {
        value: spread.median,
        spread: Some(spread),
        verified: vec![
            format!(
                "{} new processes: each one hit, no miss, no compilation by its statistics; the first one compiled",
                found.len()
            ),
            "each process ran the kernel on numbers of its own and compared the whole output".to_owned(),
        ],
        apart: vec![
            ("the kernel compiled, by the first process".to_owned(), time(first.kernel)),
            ("its source's library made, by the first process".to_owned(), time(first.library)),
            ("its source's library made, by the later ones (Metal's own cache)".to_owned(), time(library)),
        ],
        ..Measured::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_tells_nothing() {
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(10);
        assert_eq!(between(then, then + Duration::from_secs(2)), Some(2.0));
        assert_eq!(between(then, then - Duration::from_secs(2)), None);
        for (told, of, text) in [
            (vec![0.002, 0.002], 2, "2.00 ms"),
            (vec![0.002], 2, "2.00 ms; the clock was set back in 1 of 2 processes, which are left out"),
            (vec![], 2, "not measured: the clock was set back in 2 of 2 processes"),
        ] {
            assert_eq!(before_main(told, of), text);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_process_ends_or_is_killed() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::null());
            command
        };
        let output = ended(shell("echo out; echo err >&2; exit 3"), LONGEST).expect("it ends");
        assert_eq!(
            (output.status.code(), &output.stdout[..], &output.stderr[..]),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        let hangs = ended(shell("exec sleep 999"), Duration::ZERO).expect_err("it hangs");
        assert!(hangs.contains("sleep 999") && hangs.ends_with("had not ended after 0 ns and was killed"), "{hangs}");
    }
}
