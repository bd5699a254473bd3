//! Runs a compiler in a process of its own: process group, no input, a deadline, limits on memory, core files and
//! output.
//!
//! Output goes to a file in the job's temporary directory, not to a pipe, so that nothing a compiler leaves behind can
//! keep us waiting.
//! On the deadline the whole group is killed. The directory is removed when the job ends, however it ends.

use super::{CompileFailure, Failure};
use crate::executor::event::cores;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// As much of a compiler's output as is kept.
const OUTPUT_CAP: u64 = 1 << 20;
/// The most address space one compiler process may use; the largest known source (ggml-metal, 689 kernels) takes 0.3
/// GB.
const MEMORY_CAP: u64 = 8 << 30;
/// The most bytes one compiler may write to a file.
const FILE_CAP: u64 = 1 << 30;

/// What a compiler run ended with.
pub(crate) struct Finished {
    /// Exit status 0.
    pub(crate) success: bool,
    /// Standard output and standard error, at most 1 MiB.
    pub(crate) output: String,
}

/// Runs a command in `directory` until it ends or `deadline` has passed.
///
/// # Errors
/// `Toolchain` when it cannot be started or is ended from outside, `Deadline` when it takes too long, `Crash` when a signal of its own
/// ends it.
pub(crate) fn run(mut command: Command, directory: &Path, deadline: Duration) -> Result<Finished, CompileFailure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let path = directory.join("output.txt");
    let broken = |what: &str, error: &dyn std::fmt::Display| CompileFailure {
        kind: Failure::Toolchain,
        log: format!("{what} '{program}': {error}"),
    };
    let output = File::create(&path).map_err(|e| broken("cannot record the output of", &e))?;
    let errors = output.try_clone().map_err(|e| broken("cannot record the output of", &e))?;
    command.current_dir(directory).stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
    let _turn = Turn::wait();
    let started = Instant::now();
    let mut child = command.spawn().map_err(|e| {
        let hint = if e.kind() == ErrorKind::NotFound {
            " (on Debian: apt install clang-19 lld-19, or set HOSTMETAL_CLANG)"
        } else {
            ""
        };
        broken("cannot run the compiler", &format!("{e}{hint}"))
    })?;
    limit(&child);
    let Some(status) = wait(&mut child, started + deadline).map_err(|e| broken("cannot wait for", &e))? else {
        return Err(CompileFailure {
            kind: Failure::Deadline,
            log: format!("the compiler '{program}' was stopped: it took longer than {} s", deadline.as_secs_f32()),
        });
    };
    let mut text = Vec::new();
    let file = File::open(&path).map_err(|e| broken("cannot read the output of", &e))?;
    file.take(OUTPUT_CAP).read_to_end(&mut text).map_err(|e| broken("cannot read the output of", &e))?;
    let mut output = String::from_utf8_lossy(&text).into_owned();
    if !status.success() && output.trim().is_empty() {
        // Its words go to the disk as well.
        let free = rustix::fs::statvfs(directory).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        output = format!("(it said nothing; the disk of '{}' has {free} bytes free)\n", directory.display());
    }
    if let Some(failure) = crash(&program, status, &output) {
        return Err(failure);
    }
    Ok(Finished { success: status.success(), output })
}

/// Compilers that run now; more than the machine has processors only get in each other's way. Waiting for a turn does not
/// count against the deadline.
static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// How many run at a time.
pub(crate) fn compilers() -> usize {
    cores()
}

struct Turn(());

impl Turn {
    fn wait() -> Turn {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let most = compilers();
        let full = |running: &mut usize| *running >= most;
        *ENDED.wait_while(running, full).unwrap_or_else(PoisonError::into_inner) += 1;
        Turn(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}

/// Limits what the child may use. It runs already: what it does in the microseconds before is bounded by nothing it
/// could misuse.
fn limit(child: &Child) {
    let Some(pid) = Pid::from_raw(child.id().cast_signed()) else { return };
    for (resource, most) in [(Resource::Core, 0), (Resource::As, MEMORY_CAP), (Resource::Fsize, FILE_CAP)] {
        // A stricter limit that is already in force stays; a child that has ended needs none.
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        let _ = rustix::process::prlimit(Some(pid), resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
}

/// Waits for the child; kills its group and returns none when the time is over. Leaves no process behind.
fn wait(child: &mut Child, end: Instant) -> std::io::Result<Option<ExitStatus>> {
    let pid = Pid::from_raw(child.id().cast_signed());
    let pidfd = pid.and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match &pidfd {
            Some(fd) => {
                let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
                match rustix::event::poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&timeout)) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => {
                        kill(child, pid);
                        return Err(error.into());
                    }
                }
            }
            // A kernel without pidfd_open (before Linux 5.3).
            None => std::thread::sleep(left.min(Duration::from_millis(2))),
        }
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            kill(child, pid);
            return Ok(None);
        }
    }
}

fn kill(child: &mut Child, group: Option<Pid>) {
    if let Some(group) = group {
        // The group may have gone in between; the child itself is still ours to wait for.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Signals that end a compiler from outside, as where memory is out, and the driver's words for a tool that they have ended.
const OUTSIDE: [(i32, &str); 3] = [(9, "Killed"), (15, "Terminated"), (24, "CPU time limit exceeded")];

/// The driver calls it a crash too when what it started could not write its file.
const FULL: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// The failure when the compiler, or a program that it started, was ended by a signal.
fn crash(program: &str, status: ExitStatus, output: &str) -> Option<CompileFailure> {
    let signal = status.signal().or_else(|| {
        // The driver reports the death of a tool it started as exit status 128 + n or -n.
        let code = status.code()?;
        let crashed = output.contains("due to signal")
            || output.contains("clang frontend command failed")
            || output.contains("Stack dump:");
        let told = OUTSIDE.iter().find(|(_, words)| output.contains(&format!("unable to execute command: {words}")));
        let signal = told.map_or(code - 128, |(signal, _)| *signal);
        (crashed || (code > 128 && code < 160)).then_some(if (1..32).contains(&signal) { signal } else { 0 })
    })?;
    let name = match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        _ => "a fatal signal",
    };
    let outside =
        OUTSIDE.iter().any(|(number, _)| *number == signal) || FULL.iter().any(|words| output.contains(words));
    let (kind, mut log) = if outside {
        (
            Failure::Toolchain,
            format!(
                "the compiler '{program}' was ended by the system ({name}), as happens where memory or the disk is full"
            ),
        )
    } else {
        let why = "this is a fault of the compiler, not necessarily of the source";
        (Failure::Crash, format!("the compiler '{program}' crashed ({name}); {why}"))
    };
    let told: Vec<&str> = output
        .lines()
        .filter(|l| l.contains("error:") || l.starts_with(|c: char| c.is_ascii_digit()))
        .take(8)
        .collect();
    if !told.is_empty() {
        log.push_str("; it said:\n");
        log.push_str(&told.join("\n"));
    }
    Some(CompileFailure { kind, log })
}
