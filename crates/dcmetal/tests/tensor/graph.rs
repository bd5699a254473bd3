//! Convolution and pooling by Metal Performance Shaders Graph: what is refused, in what order they run, and what they ask to be committed.

use dcmetal::tensor::{
    Convolution, Implementation, Operation, Pool, Pooling, Steps, Tensor, TensorMut, convolution_by, pool_by,
};
use dcmetal::{Buffer, Error, Result};

use crate::random::gpu;

const BY: Implementation = Implementation::PerformanceShaders;
/// A pool that gives what it is given.
const ALIKE: Pool =
    Pool { pooling: Pooling::Max, window: [1; 2], steps: Steps { stride: [1; 2], padding: [0; 2], dilation: [1; 2] } };

fn numbers(count: usize) -> Buffer<f32> {
    let numbers: Vec<f32> = (0..count).map(|at| at as f32).collect();
    gpu().buffer_from(&numbers).expect("a buffer")
}

#[test]
fn what_a_graph_does_not_take_is_told() {
    let (x, w, mut y) = (numbers(64), numbers(4), numbers(64));
    let shape = [1, 4, 4, 2];
    let told = |operation: Result<Operation<'_>>| operation.expect_err("it is refused").to_string();
    let one = Convolution::default();
    let in_line = Tensor::new(x.view(..32).expect("within"), &shape).expect("a tensor");
    let apart = Tensor::strided(&x, &shape, &[64, 16, 4, 1]).expect("a tensor");
    let weights = Tensor::new(&w, &[1, 1, 2, 2]).expect("a tensor");
    let to = |y: &mut Buffer<f32>, strides: [usize; 4], by: &dyn Fn(TensorMut<'_, f32>) -> String| {
        by(TensorMut::strided(y, &shape, &strides).expect("a tensor"))
    };
    let rows = [32, 8, 2, 1];
    let refusal =
        |operation: &str, why: &str| format!("this {operation} by Metal Performance Shaders is not supported: {why}");
    let text = to(&mut y, rows, &|y| told(convolution_by(apart, weights, y, &one, BY)));
    let why = "x is 1x4x4x2 at strides [64, 16, 4, 1]: elements are to follow each other";
    assert_eq!(text, refusal("convolution", why));
    let text = to(&mut y, rows, &|y| {
        told(convolution_by(in_line, weights.permuted(&[0, 1, 3, 2]).expect("a tensor"), y, &one, BY))
    });
    assert_eq!(text, refusal("convolution", "w is 1x1x2x2 at strides [4, 4, 1, 2]: elements are to follow each other"));
    let text = to(&mut y, [64, 16, 4, 1], &|y| told(convolution_by(in_line, weights, y, &one, BY)));
    let why = "y is 1x4x4x2 at strides [64, 16, 4, 1]: elements are to follow each other";
    assert_eq!(text, refusal("convolution", why));
    let text = to(&mut y, rows, &|y| told(pool_by(apart, y, &ALIKE, BY)));
    let why = "x is 1x4x4x2 at strides [64, 16, 4, 1]: elements are to follow each other";
    assert_eq!(text, refusal("pool", why));
    // What no implementation takes is no matter of this one.
    let text = to(&mut y, rows, &|y| told(convolution_by(in_line, weights, y, &Convolution { groups: 2, ..one }, BY)));
    assert!(text.starts_with("convolution: x is 1x4x4x2"), "{text}");
}

#[test]
fn graphs_are_submitted_alone() {
    let (gpu, x, mut y) = (gpu(), numbers(8), numbers(8));
    let mut pooling = |run: &dyn Fn(Operation<'_>) -> Result<()>| {
        let from = Tensor::new(&x, &[1, 2, 4, 1]).expect("a tensor");
        let to = TensorMut::new(&mut y, &[1, 2, 4, 1]).expect("a tensor");
        let operation = pool_by(from, to, &ALIKE, BY).expect("an operation");
        assert_eq!(format!("{operation:?}"), "[MPSGraph max pooling 1x2x4x1]");
        assert_eq!(operation.launches().count(), 0);
        run(operation)
    };
    let mut batch = gpu.batch().expect("a batch");
    let recorded = std::cell::RefCell::new(&mut batch);
    let error = pooling(&|operation| operation.record(&mut recorded.borrow_mut())).expect_err("it is refused");
    let wanted = "this pool by Metal Performance Shaders in a batch or a stream is not supported: a graph's command buffer retains what it uses: submit it alone";
    assert_eq!(error.to_string(), wanted);
    let stream = gpu.stream(dcmetal::StreamLimits::default());
    let error = pooling(&|operation| operation.stream(&stream)).expect_err("it is refused");
    assert_eq!(error.to_string(), wanted);
    assert!(matches!(error, Error::Unsupported { .. }));
    // The batch goes on.
    batch.submit().and_then(|submission| submission.wait()).expect("it is empty");
    pooling(&|operation| operation.submit()?.wait()).expect("alone it runs");
    assert_eq!(y.to_vec().expect("it ran"), x.to_vec().expect("it ran"));
}

/// 2 x + 1 of 4 x 4 numbers, then the largest of each 2 x 2, behind a copy of x, with no wait in between.
fn chain() -> Result<Vec<f32>> {
    let (gpu, source) = (gpu(), numbers(16));
    let (mut x, mut y, mut z) =
        (gpu.buffer_zeroed::<f32>(16)?, gpu.buffer_zeroed::<f32>(17)?, gpu.buffer_zeroed::<f32>(4)?);
    let (weights, bias) = (gpu.buffer_from(&[2.0f32])?, gpu.buffer_from(&[1.0f32])?);
    let mut batch = gpu.batch()?;
    batch.copy(&source, &mut x)?;
    drop(batch.submit()?);
    let options = Convolution { bias: Some(Tensor::new(&bias, &[1])?), ..Convolution::default() };
    let to = TensorMut::new(y.view_mut(1..)?, &[1, 4, 4, 1])?;
    drop(convolution_by(Tensor::new(&x, &[1, 4, 4, 1])?, Tensor::new(&weights, &[1; 4])?, to, &options, BY)?.submit()?);
    let two = Pool { window: [2; 2], steps: Steps { stride: [2; 2], ..Steps::default() }, ..ALIKE };
    let from = Tensor::new(y.view(1..)?, &[1, 4, 4, 1])?;
    drop(pool_by(from, TensorMut::new(&mut z, &[1, 2, 2, 1])?, &two, BY)?.submit()?);
    z.to_vec()
}

#[test]
fn graphs_run_behind_what_was_submitted_before() {
    assert_eq!(chain().expect("it runs"), [11.0, 15.0, 27.0, 31.0]);
}

/// In a child, in which hostmetal asks for a commit between a graph's steps, and faults meet nobody else.
#[cfg(target_os = "linux")]
#[test]
fn a_graph_is_one_command_buffer() {
    const COMMITS: &str = "HOSTMETAL_GRAPH_COMMITS";
    if std::env::var_os(COMMITS).is_none() {
        let mut child = std::process::Command::new(std::env::current_exe().expect("this test"));
        let output = child
            .args(["graph::a_graph_is_one_command_buffer", "--exact"])
            .env(COMMITS, "1")
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    assert_eq!(chain().expect("it runs"), [11.0, 15.0, 27.0, 31.0]);
    crate::convolution::convolve_by_graphs(1);
    // The sum of products, and its bias.
    let (x, bias, mut y) = (numbers(4), numbers(1), numbers(4));
    let options = Convolution { bias: Some(Tensor::new(&bias, &[1]).expect("a tensor")), ..Convolution::default() };
    let from = Tensor::new(&x, &[1, 2, 2, 1]).expect("a tensor");
    let weights = Tensor::new(x.view(1..2).expect("within"), &[1; 4]).expect("a tensor");
    let mut convolve = || {
        let to = TensorMut::new(&mut y, &[1, 2, 2, 1]).expect("a tensor");
        let operation = convolution_by(from, weights, to, &options, BY).expect("an operation");
        operation.submit().expect("it is submitted").wait()
    };
    // A second commit would fail.
    hostmetal::faults::set("commit:error=internal:at=2").expect("a rule");
    convolve().expect("it runs");
    hostmetal::faults::set("commit:error=internal:at=1").expect("a rule");
    let error = convolve().expect_err("it fails");
    hostmetal::faults::set("").expect("no rules");
    assert!(matches!(error, Error::Submission(_)), "{error:?}");
    assert!(matches!(y.to_vec(), Err(Error::Faulted { .. })), "what it left is not read");
}

/// The next one finds an executable that works.
#[cfg(target_os = "linux")]
#[test]
fn a_graph_without_an_encoder_is_no_memory() {
    const CHILD: &str = "DCMETAL_TEST_GRAPH_FAULT";
    if std::env::var_os(CHILD).is_none() {
        let mut child = std::process::Command::new(std::env::current_exe().expect("this test"));
        let name = "graph::a_graph_without_an_encoder_is_no_memory";
        let output = child.args([name, "--exact"]).env(CHILD, "1").output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let (x, mut y) = (numbers(8), numbers(8));
    let from = Tensor::new(&x, &[1, 2, 4, 1]).expect("a tensor");
    let mut pool = || {
        let to = TensorMut::new(&mut y, &[1, 2, 4, 1]).expect("a tensor");
        pool_by(from, to, &ALIKE, BY).expect("an operation").submit()
    };
    hostmetal::faults::set("encoder:at=1").expect("a rule");
    let error = pool().expect_err("there is no encoder");
    hostmetal::faults::set("").expect("no rules");
    assert_eq!(error.kind(), dcmetal::ErrorKind::Resource, "{error}");
    pool().expect("the next is submitted").wait().expect("it runs");
    assert_eq!(y.to_vec().expect("it ran"), x.to_vec().expect("it ran"));
}
