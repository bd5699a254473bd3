//! A service under tokio: clients ask one by one, the device answers in groups, and a submission that fails is done again.
//!
//! `service [KERNEL.metal]`; with hostmetal, `HOSTMETAL_FAULTS=commit:error=internal:at=2` makes the second submission fail.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dcmetal::{Accelerator, Buffer, CompileOptions, Constants, ErrorKind, Grid, Recovery, Result, Submission, args};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Numbers of a request, as in the kernel file.
const LENGTH: usize = 64;
const CLIENTS: usize = 64;
/// Requests of each client.
const REQUESTS: usize = 4;
/// Requests of a submission.
const MOST: usize = 256;
/// Submissions at once: one that runs, and one behind it.
const IN_FLIGHT: usize = 2;
/// A compiler can hang; then the service does not start.
const COMPILE_LIMIT: Duration = Duration::from_secs(600);

/// What clients send.
struct Request {
    values: Vec<f32>,
    answer: oneshot::Sender<Result<Vec<f32>>>,
}

struct Service {
    gpu: Accelerator,
    recovery: Recovery,
    source: String,
    groups: AtomicUsize,
    repeated: AtomicUsize,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime needs no more than memory");
    let Err(error) = runtime.block_on(run()) else { return ExitCode::SUCCESS };
    eprintln!("service: {error}");
    ExitCode::FAILURE
}

async fn run() -> std::result::Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("service.metal").to_owned(),
    };
    let service = Arc::new(Service::new(source).await?);

    // As many requests as may wait; who sends more waits to send.
    let (send, requests) = mpsc::channel(CLIENTS);
    let clients: Vec<_> = (0..CLIENTS).map(|number| tokio::spawn(client(number, send.clone()))).collect();
    drop(send);
    let served = tokio::spawn(serve(Arc::clone(&service), requests));
    for client in clients {
        client.await??;
    }
    served.await?;

    let (groups, repeated) = (service.groups.load(Ordering::Relaxed), service.repeated.load(Ordering::Relaxed));
    println!("{} requests of {CLIENTS} clients, in {groups} groups, {repeated} of them done again", CLIENTS * REQUESTS);
    println!("every answer is within its rounding errors");
    Ok(())
}

/// Answers until nobody can ask any more.
async fn serve(service: Arc<Service>, mut requests: mpsc::Receiver<Request>) {
    let room = Arc::new(Semaphore::new(IN_FLIGHT));
    let mut group = Vec::new();
    loop {
        let place = Arc::clone(&room).acquire_owned().await.expect("nobody closes it");
        // Whatever came while there was no place goes together.
        if requests.recv_many(&mut group, MOST).await == 0 {
            break;
        }
        let (service, group) = (Arc::clone(&service), std::mem::take(&mut group));
        tokio::spawn(async move {
            let input = group.iter().flat_map(|request: &Request| &request.values).copied().collect();
            let answers = service.answers(input).await;
            for (number, Request { answer, .. }) in group.into_iter().enumerate() {
                let part = |answers: &Vec<f32>| answers[number * LENGTH..][..LENGTH].to_vec();
                // Who no longer listens need not be told.
                let _ = answer.send(answers.as_ref().map(part).map_err(Clone::clone));
            }
            drop(place);
        });
    }
}

impl Service {
    async fn new(source: String) -> Result<Service> {
        let gpu = Accelerator::system_default()?;
        // Compiled by a thread of its own; whoever asks for the kernel later finds it.
        let library = gpu.start_msl(&source, &CompileOptions::default(), COMPILE_LIMIT).await?;
        library.start_kernel("softmax", &Constants::new(), COMPILE_LIMIT).await?;
        let recovery = Recovery::new([gpu.clone()]);
        Ok(Service { gpu, recovery, source, groups: AtomicUsize::new(0), repeated: AtomicUsize::new(0) })
    }

    async fn answers(self: Arc<Self>, input: Vec<f32>) -> Result<Vec<f32>> {
        self.groups.fetch_add(1, Ordering::Relaxed);
        let error = match self.answers_at_once(&input).await {
            Err(error) if matches!(error.kind(), ErrorKind::Transient | ErrorKind::Resource) => error,
            done => return done,
        };
        self.repeated.fetch_add(1, Ordering::Relaxed);
        // `Recovery` pauses between tries, on a thread that may sleep.
        let again = tokio::task::spawn_blocking(move || {
            let work = |gpu: &Accelerator| {
                let (submission, output) = launched(gpu, &self.source, &input)?;
                submission.wait()?;
                output.to_vec()
            };
            self.recovery.run(work).map(|done| done.value)
        });
        again.await.unwrap_or(Err(error))
    }

    async fn answers_at_once(&self, input: &[f32]) -> Result<Vec<f32>> {
        let (submission, output) = launched(&self.gpu, &self.source, input)?;
        submission.await?;
        // It is done, so this does not wait.
        output.to_vec()
    }
}

fn launched(gpu: &Accelerator, source: &str, input: &[f32]) -> Result<(Submission, Buffer<f32>)> {
    let softmax = gpu.compile_msl(source)?.kernel("softmax")?;
    let input = gpu.buffer_from(input)?;
    let mut output = gpu.buffer_zeroed::<f32>(input.len())?;
    let grid = Grid::threadgroups((input.len() / LENGTH) as u64, softmax.execution_width());
    let submission = softmax.launch(grid, args![&input, &mut output])?;
    Ok((submission, output))
}

async fn client(number: usize, service: mpsc::Sender<Request>) -> std::result::Result<(), String> {
    for turn in 0..REQUESTS {
        let value = |i: usize| ((i * 37 + number * 11 + turn * 5) % 101) as f32 / 6.0 - 8.0;
        let values: Vec<f32> = (0..LENGTH).map(value).collect();
        let (answer, answered) = oneshot::channel();
        let request = Request { values: values.clone(), answer };
        service.send(request).await.map_err(|_| "nobody serves")?;
        let got = answered.await.map_err(|_| "no answer")?.map_err(|error| error.to_string())?;
        check(&values, &got)?;
    }
    Ok(())
}

fn check(values: &[f32], got: &[f32]) -> std::result::Result<(), String> {
    let powers: Vec<f64> = values.iter().map(|&x| f64::from(x).exp()).collect();
    let sum: f64 = powers.iter().sum();
    for (i, (&got, power)) in got.iter().zip(&powers).enumerate() {
        let (got, wanted) = (f64::from(got), power / sum);
        // Metal's fast exp(x) may be off by 3 + |2x| units in the last place, here 37 of 2^-23; the rest of it are the sum and the quotient.
        let right = (got / wanted - 1.0).abs() <= 1e-5;
        if !right {
            return Err(format!("number {i} of an answer is {got:e}, but should be {wanted:e}"));
        }
    }
    Ok(())
}
