//! The peer's process from outside: started when needed, given time, and its end an outcome like any other.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::job::{Launch, Program, Ran};
use crate::opencl::{Answer, Job, MARK};

/// An OpenCL implementation in a process of its own.
pub struct Peer {
    start: Box<dyn Fn() -> Command + Send>,
    timeout: Duration,
    running: Option<Running>,
}

struct Running {
    child: Child,
    input: ChildStdin,
    /// Each with what was printed before it.
    answers: Receiver<(Vec<u8>, Answer)>,
    /// What it last said on standard error.
    last_words: Arc<Mutex<Vec<u8>>>,
}

/// Why the peer gives no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerError {
    /// The machine has no OpenCL implementation.
    Missing(String),
    /// It does not build the program; its log.
    NotBuilt(String),
    /// It refuses or fails the launch of that index.
    Failed(usize, String),
    /// Its process ended during the launch of that index, or before the first (`None`).
    Crashed(Option<usize>, String),
    /// It did not answer in time, as `Crashed`.
    TimedOut(Option<usize>),
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |launch: &Option<usize>| match launch {
            Some(launch) => format!("in launch {launch}"),
            None => "while it built the program".to_owned(),
        };
        match self {
            PeerError::Missing(text) => write!(f, "there is no OpenCL implementation: {text}"),
            PeerError::NotBuilt(log) => write!(f, "the OpenCL implementation does not build the program: {log}"),
            PeerError::Failed(launch, text) => write!(f, "the OpenCL implementation fails launch {launch}: {text}"),
            PeerError::Crashed(launch, text) => write!(f, "the OpenCL implementation crashed {}: {text}", at(launch)),
            PeerError::TimedOut(launch) => write!(f, "the OpenCL implementation did not end {}", at(launch)),
        }
    }
}

impl std::error::Error for PeerError {}

impl Peer {
    /// A peer whose process `start` describes; it must call [`serve`](crate::serve). Each build and each launch may take
    /// `timeout`.
    pub fn new(start: impl Fn() -> Command + Send + 'static, timeout: Duration) -> Peer {
        Peer { start: Box::new(start), timeout, running: None }
    }

    /// Builds the program and runs the launches in order.
    ///
    /// # Errors
    /// The first thing that went wrong.
    pub fn run(&mut self, program: &Program, launches: &[Launch]) -> Result<Vec<Ran>, PeerError> {
        let job = Job { program: program.clone(), launches: launches.to_vec() };
        let line = serde_json::to_string(&job).expect("a job is plain data") + "\n";
        if self.running.is_none() {
            self.running = Some(Running::start((self.start)()));
        }
        let running = self.running.as_mut().expect("it was started");
        // A write that fails means that the process has ended: the answers say so.
        let _ = running.input.write_all(line.as_bytes());
        match self.answer(None)?.1 {
            Answer::Built => {}
            Answer::Missing(text) => return Err(PeerError::Missing(text)),
            Answer::NotBuilt(log) => return Err(PeerError::NotBuilt(log)),
            Answer::Ran(_) | Answer::Failed(_) => unreachable!("the build is answered first"),
        }
        let mut outputs = Vec::new();
        let mut failed = None;
        for launch in 0..launches.len() {
            match self.answer(Some(launch))? {
                (printed, Answer::Ran(output)) => outputs.push(Ran::new(output, &printed)),
                (_, Answer::Failed(text)) => failed = failed.or(Some(PeerError::Failed(launch, text))),
                _ => unreachable!("the build was answered"),
            }
        }
        failed.map_or(Ok(outputs), Err)
    }

    fn answer(&mut self, launch: Option<usize>) -> Result<(Vec<u8>, Answer), PeerError> {
        let running = self.running.as_mut().expect("a job was sent to it");
        let error = match running.answers.recv_timeout(self.timeout) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Timeout) => PeerError::TimedOut(launch),
            Err(RecvTimeoutError::Disconnected) => PeerError::Crashed(launch, running.epitaph()),
        };
        // The next job gets a new process.
        self.running = None;
        Err(error)
    }
}

impl Running {
    fn start(mut command: Command) -> Running {
        // PoCL would keep every kernel on disk for ever.
        command.env("POCL_KERNEL_CACHE", "0");
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("the peer's process {command:?}: {error}"));
        let input = child.stdin.take().expect("it is piped");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (send, answers) = channel();
        std::thread::spawn(move || {
            loop {
                let (mut printed, mut line) = (Vec::new(), Vec::new());
                let read = output.read_until(MARK, &mut printed).and_then(|_| output.read_until(b'\n', &mut line));
                printed.pop();
                // The end, or what is no answer: the process is gone.
                let Some(answer) = read.ok().and_then(|_| serde_json::from_slice(&line).ok()) else { return };
                if send.send((printed, answer)).is_err() {
                    return;
                }
            }
        });
        let last_words = Arc::new(Mutex::new(Vec::new()));
        let mut errors = child.stderr.take().expect("it is piped");
        let keep = last_words.clone();
        std::thread::spawn(move || {
            let mut part = [0; 1024];
            while let Ok(count @ 1..) = errors.read(&mut part) {
                let mut kept = keep.lock().expect("no panic holds it");
                kept.extend_from_slice(&part[..count]);
                let surplus = kept.len().saturating_sub(2000);
                kept.drain(..surplus);
            }
        });
        Running { child, input, answers, last_words }
    }

    /// How the process ended and what it said.
    fn epitaph(&mut self) -> String {
        let status = self.child.wait().map_or_else(|error| error.to_string(), |status: ExitStatus| status.to_string());
        let words = self.last_words.lock().expect("no panic holds it");
        format!("{status}; {}", String::from_utf8_lossy(&words).trim())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
