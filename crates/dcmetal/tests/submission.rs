//! Submissions: every way to wait, to drop, and to fail.

mod common;

use std::future::Future;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use common::{Gate, gpu, leak, msl, refused};
use dcmetal::{Accelerator, EncoderState, Error, ErrorKind, Grid, Kernel, Submission, SubmissionError, args};

const INCREMENT: &str =
    "kernel void increment(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += 1u; }";

fn increment(gpu: &Accelerator) -> Kernel {
    msl(gpu, INCREMENT, "increment")
}

#[test]
fn every_way_to_wait_gives_the_same() {
    let gpu = gpu();
    let increment = increment(&gpu);
    let mut y = gpu.buffer_zeroed::<u32>(100).unwrap();
    let first = increment.launch(Grid::linear(100), args![&mut y]).unwrap();
    first.wait().unwrap();
    first.wait().unwrap();
    assert!(first.is_done());
    let second = increment.launch(Grid::linear(100), args![&mut y]).unwrap();
    second.wait_timeout(Duration::MAX).unwrap();
    second.wait_timeout(Duration::ZERO).unwrap();
    let third = increment.launch(Grid::linear(100), args![&mut y]).unwrap();
    pollster::block_on(third).unwrap();
    assert_eq!(y.to_vec().unwrap(), [3; 100]);
    match first.gpu_time() {
        Ok(time) => assert!(time < Duration::from_secs(3600), "{time:?}"),
        Err(error) => assert!(matches!(error, Error::Unsupported { .. }), "{error:?}"),
    }
}

#[test]
fn an_empty_batch_is_a_submission() {
    let gpu = gpu();
    gpu.batch().unwrap().submit().unwrap().wait().unwrap();
    drop(gpu.batch().unwrap());
}

#[test]
fn a_batch_runs_in_order() {
    let gpu = gpu();
    let scale = msl(
        &gpu,
        "kernel void f(device uint* y [[buffer(0)]], constant uint& a [[buffer(1)]], constant uint& b [[buffer(2)]],
                       uint i [[thread_position_in_grid]]) { y[i] = y[i] * a + b; }",
        "f",
    );
    let mut y = gpu.buffer_from(&(0u32..64).collect::<Vec<_>>()).unwrap();
    let mut z = gpu.buffer_zeroed::<u32>(64).unwrap();
    let mut wanted: Vec<u32> = (0..64).collect();
    let mut batch = gpu.batch().unwrap();
    for step in 1..200u32 {
        batch.launch(&scale, Grid::linear(64), args![&mut y, step, step + 7]).unwrap();
        wanted.iter_mut().for_each(|v| *v = v.wrapping_mul(step).wrapping_add(step + 7));
        if step % 50 == 0 {
            // Copies and launches alternate: encoders begin and end.
            batch.copy(&y, &mut z).unwrap();
            batch.fill(y.view_mut(0..8).unwrap(), 0).unwrap();
            wanted[..8].fill(0);
        }
    }
    batch.submit().unwrap().wait().unwrap();
    assert_eq!(y.to_vec().unwrap(), wanted);
}

#[test]
fn a_timeout_leaves_the_work_running() {
    let gpu = gpu();
    let mut gate = Gate::new(&gpu);
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    let submission = gate.start(&mut y).unwrap();
    let error = refused(submission.wait_timeout(Duration::from_millis(1)));
    assert!(matches!(error, Error::Timeout { waited } if waited == Duration::from_millis(1)), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(!submission.is_done());
    assert!(matches!(submission.gpu_time(), Err(Error::NotFinished)));
    gate.open();
    submission.wait().unwrap();
    assert_eq!(y.to_vec().unwrap(), [1]);
}

#[test]
fn a_leaked_submission_is_a_submission() {
    let gpu = gpu();
    let increment = increment(&gpu);
    let mut y = gpu.buffer_zeroed::<u32>(10).unwrap();
    leak(increment.launch(Grid::linear(10), args![&mut y]).unwrap());
    assert_eq!(y.to_vec().unwrap(), [1; 10]);
    // The accelerator may go first.
    let submission = increment.launch(Grid::linear(10), args![&mut y]).unwrap();
    drop((increment, gpu));
    submission.wait().unwrap();
    assert_eq!(y.to_vec().unwrap(), [2; 10]);
}

/// Counts its calls and wakes a thread.
struct Counter {
    calls: AtomicUsize,
    thread: Thread,
}

impl Counter {
    fn new() -> Arc<Counter> {
        Arc::new(Counter { calls: AtomicUsize::new(0), thread: std::thread::current() })
    }
}

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.thread.unpark();
    }
}

#[test]
fn the_last_waker_is_called_exactly_once() {
    let gpu = gpu();
    let mut gate = Gate::new(&gpu);
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    let mut submission = pin!(gate.start(&mut y).unwrap());
    let (stale, current) = (Counter::new(), Counter::new());
    let wakers = [Waker::from(Arc::clone(&stale)), Waker::from(Arc::clone(&current))];
    for waker in [&wakers[0], &wakers[1], &wakers[1]] {
        assert!(submission.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    }
    assert_eq!(current.calls.load(Ordering::SeqCst), 0, "woken before it was done");
    gate.open();
    while current.calls.load(Ordering::SeqCst) == 0 {
        std::thread::park();
    }
    let done = submission.as_mut().poll(&mut Context::from_waker(&wakers[1]));
    assert!(matches!(done, Poll::Ready(Ok(()))), "{done:?}");
    // A later submission's completion comes after everything of this one's.
    gpu.batch().unwrap().submit().unwrap().wait().unwrap();
    assert_eq!(current.calls.load(Ordering::SeqCst), 1);
    assert_eq!(stale.calls.load(Ordering::SeqCst), 0);
}

#[test]
fn a_waker_that_panics_breaks_nothing() {
    struct Panics(Thread);
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
            panic!("a waker of the user's");
        }
    }
    let gpu = gpu();
    let mut gate = Gate::new(&gpu);
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    let mut submission = pin!(gate.start(&mut y).unwrap());
    let waker = Waker::from(Arc::new(Panics(std::thread::current())));
    assert!(submission.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    gate.open();
    submission.wait().unwrap();
    let mut again = gpu.buffer_zeroed::<u32>(1).unwrap();
    increment(&gpu).launch(Grid::linear(1), args![&mut again]).unwrap().wait().unwrap();
    assert_eq!((y.to_vec().unwrap(), again.to_vec().unwrap()), (vec![1], vec![1]));
}

#[test]
fn futures_of_many_submissions_complete_in_any_order_of_polling() {
    let gpu = gpu();
    let increment = increment(&gpu);
    let mut buffers: Vec<_> = (0..50).map(|_| gpu.buffer_zeroed::<u32>(10).unwrap()).collect();
    let submissions: Vec<Submission> =
        buffers.iter_mut().map(|y| increment.launch(Grid::linear(10), args![y]).unwrap()).collect();
    pollster::block_on(async {
        for submission in submissions.into_iter().rev() {
            submission.await.unwrap();
        }
    });
    assert!(buffers.iter().all(|y| y.to_vec().unwrap() == [1; 10]));
}

/// Tasks of a runtime with several threads, some of whose futures are dropped between two polls.
#[test]
fn futures_are_awaited_and_dropped_under_tokio() {
    let gpu = gpu();
    let increment = increment(&gpu);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_time().build().unwrap();
    let mut gate = Gate::new(&gpu);
    let mut held = gpu.buffer_zeroed::<u32>(1).unwrap();
    let gated = gate.start(&mut held).unwrap();
    runtime.block_on(async {
        let (gpu, increment) = (&gpu, &increment);
        // What stands behind the closed gate does not end; its future does, and its work goes on.
        let mut behind = gpu.buffer_zeroed::<u32>(1).unwrap();
        let impatient = increment.launch(Grid::linear(1), args![&mut behind]).unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(1), impatient).await.is_err());
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let (gpu, increment) = (gpu.clone(), increment.clone());
                tokio::spawn(async move {
                    let mut y = gpu.buffer_zeroed::<u32>(10).unwrap();
                    for _ in 0..10 {
                        increment.launch(Grid::linear(10), args![&mut y]).unwrap().await.unwrap();
                    }
                    y.to_vec().unwrap()
                })
            })
            .collect();
        gate.open();
        gated.await.unwrap();
        for task in tasks {
            assert_eq!(task.await.unwrap(), [10; 10]);
        }
        assert_eq!(behind.to_vec().unwrap(), [1]);
    });
}

#[test]
fn more_submissions_than_the_queue_holds() {
    let gpu = gpu();
    let increment = increment(&gpu);
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    for _ in 0..3000 {
        drop(increment.launch(Grid::linear(1), args![&mut y]).unwrap());
    }
    assert_eq!(y.to_vec().unwrap(), [3000]);
}

#[test]
fn too_many_open_batches_are_an_error_not_a_hang() {
    let gpu = gpu();
    let mut open = Vec::new();
    let limit = loop {
        match gpu.batch() {
            Ok(batch) => open.push(batch),
            Err(Error::TooManyBatches { limit }) => break limit,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(open.len(), limit);
    open.pop();
    gpu.batch().unwrap().submit().unwrap().wait().unwrap();
}

/// A submission that fails on the device, with the buffers it was to write: on hostmetal the watchdog ends it.
#[test]
fn a_kernel_without_end_fails_and_its_buffers_say_so() {
    const CHILD: &str = "DCMETAL_TEST_CHILD";
    if std::env::var_os(CHILD).is_none() {
        // The watchdog's limit is read at the start of a process, so the test runs in one of its own.
        let program = std::env::current_exe().expect("this test");
        let name = "a_kernel_without_end_fails_and_its_buffers_say_so";
        let output = Command::new(program)
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "1")
            .env("HOSTMETAL_WATCHDOG", "10")
            .output()
            .expect("a child process");
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        return;
    }
    let gpu = gpu();
    let endless = msl(
        &gpu,
        "#include <metal_stdlib>
        using namespace metal;
        kernel void endless(device atomic_uint* y [[buffer(0)]]) {
            while (atomic_load_explicit(y, memory_order_relaxed) == 0u) {}
        }",
        "endless",
    );
    let increment = increment(&gpu);
    let copy = msl(
        &gpu,
        "kernel void copy(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]]) { y[0] = x[0]; }",
        "copy",
    );
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    let mut z = gpu.buffer_zeroed::<u32>(1).unwrap();
    let mut apart = gpu.buffer_zeroed::<u32>(1).unwrap();
    let faulty = endless.launch(Grid::linear(1), args![&mut y]).unwrap();
    // In flight behind it: one that uses what it writes, one that uses that, and one that has nothing to do with it.
    let second = copy.launch(Grid::linear(1), args![&y, &mut z]).unwrap();
    let third = increment.launch(Grid::linear(1), args![&mut z]).unwrap();
    let independent = increment.launch(Grid::linear(1), args![&mut apart]).unwrap();

    let error = submission_error(faulty.wait());
    assert_eq!(error.kernels, ["endless"]);
    assert!(!error.text.is_empty() && !error.domain.is_empty(), "{error:?}");
    assert!(error.caused_by.is_none());
    assert!(
        error.encoders.iter().any(|encoder| encoder.label == "endless" && encoder.state == EncoderState::Faulted),
        "{error:?}"
    );
    assert_eq!(submission_error(faulty.wait()), error, "the first error stays");
    assert_eq!(submission_error(pollster::block_on(faulty)), error);

    // What used its results failed too, and says why.
    let cause = submission_error(second.wait()).caused_by.clone().expect("a cause");
    assert_eq!(*cause, *error);
    let cause = submission_error(third.wait()).caused_by.clone().expect("a cause");
    assert_eq!(cause.kernels, ["copy"]);
    independent.wait().unwrap();
    assert_eq!(apart.to_vec().unwrap(), [1]);

    // Nobody gets at what they left, not even a new submission.
    for buffer in [&y, &z] {
        assert!(matches!(buffer.read(), Err(Error::Faulted { .. })));
        assert!(matches!(buffer.to_vec(), Err(Error::Faulted { .. })));
    }
    assert!(matches!(y.write(), Err(Error::Faulted { .. })));
    let error = refused(copy.launch(Grid::linear(1), args![&y, &mut apart]));
    assert!(matches!(&error, Error::Faulted { cause } if cause.kernels == ["endless"]), "{error:?}");
    assert!(error.to_string().contains("`endless`"), "{error}");
    assert_eq!(apart.to_vec().unwrap(), [1], "a refused launch taints nothing");

    // Until it is written anew, or on purpose.
    y.write_from(&[7]).unwrap();
    copy.launch(Grid::linear(1), args![&y, &mut apart]).unwrap().wait().unwrap();
    assert_eq!(apart.to_vec().unwrap(), [7]);
    z.discard_fault();
    assert!(z.read().is_ok());
}

fn submission_error(outcome: dcmetal::Result<()>) -> Arc<SubmissionError> {
    match outcome {
        Err(Error::Submission(error)) => error,
        other => panic!("it must fail on the device: {other:?}"),
    }
}
