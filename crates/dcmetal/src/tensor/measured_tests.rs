use super::*;
use crate::Buffer;
use crate::tensor::{
    Activation, Affine, Channels, Convolution, Pool, Pooling, Reduction, Steps, Tensor, TensorMut, activate,
    activate_in_place, argmax, batch_norm, batch_statistics, convolution, layer_norm, pool, product, reduce,
    reduce_all, reduce_all_by, reduce_by, softmax, softmax_by, vector_product,
};
use half::{bf16, f16};

const SHADERS: Implementation = Implementation::PerformanceShaders;

fn gpu() -> Accelerator {
    Accelerator::system_default().expect("a Metal device")
}

fn buffer(gpu: &Accelerator, count: usize) -> Buffer<f32> {
    gpu.buffer_from(&(0..count).map(|at| at as f32).collect::<Vec<_>>()).expect("a buffer")
}

/// Kernels may have to be compiled meanwhile.
fn options() -> TuneOptions {
    TuneOptions { time: Duration::from_secs(600), ..TuneOptions::default() }
}

#[test]
fn texts_are_read_as_they_were_written_and_no_others() {
    for by in BOTH {
        assert_eq!(of_text(&format!("{by:?}\n")), Some(by));
    }
    for text in ["", "\n", "Kernels", "kernels\n", "Measured\n", "Kernels\nKernels\n"] {
        assert_eq!(of_text(text), None, "{text:?}");
    }
}

#[test]
fn every_operation_of_two_implementations_takes_what_was_measured_for_its_class() {
    let gpu = gpu();
    let (x, w) = (buffer(&gpu, 36), buffer(&gpu, 36));
    let (mut y, mut z) = (buffer(&gpu, 36), buffer(&gpu, 36));
    let image = Tensor::new(&x, &[1, 3, 4, 3]).expect("it fits");
    let weights = Tensor::new(w.view(..9).expect("within"), &[1, 1, 3, 3]).expect("it fits");
    let line = |count: usize| Tensor::new(w.view(..count).expect("within"), &[count]).expect("it fits");
    let all = Steps::default();
    let one = Pool { pooling: Pooling::Max, window: [1; 2], steps: all };
    let channels = || Channels { axis: 3, mean: line(3), variance: line(3), affine: Affine::default() };
    macro_rules! check {
        ($shape:expr, |$y:ident| $made:expr) => {
            let mut made = || {
                let $y = TensorMut::new(y.view_mut(..$shape.iter().product::<usize>())?, &$shape)?;
                let operation: Operation<'_> = $made?;
                Ok::<_, Error>((
                    operation.class.expect("it has two"),
                    operation.implementation(),
                    format!("{operation:?}"),
                ))
            };
            let (class, before, _) = made().expect("an operation");
            assert_eq!(before, Implementation::Kernels, "{class:?}");
            gpu.choices().remember(&gpu, class, SHADERS);
            let (_, after, text) = made().expect("an operation");
            assert_eq!(after, SHADERS, "{class:?}");
            assert!(text.starts_with("[MPS"), "{text}");
        };
    }
    let rows = Tensor::new(&x, &[4, 9]).expect("it fits");
    check!([1, 3, 4, 3], |y| softmax(image, y));
    check!([1, 3, 4, 3], |y| activate(Activation::Tanh, image, y));
    check!([4], |y| vector_product(rows, line(9), y));
    check!([1, 3, 4, 3], |y| convolution(image, weights, y, &Convolution::default()));
    check!([1, 3, 4, 3], |y| pool(image, y, &one));
    check!([1, 3, 4, 3], |y| layer_norm(image, &Affine::default(), 0.0, y));
    check!([1, 3, 4, 3], |y| batch_norm(image, &channels(), 0.0, y));
    check!([3], |y| batch_statistics(image, 3, TensorMut::new(z.view_mut(..3)?, &[3])?, y));
    check!([4], |y| reduce(Reduction::Sum, rows, 1, y));
    check!([1], |y| reduce_all(Reduction::Sum, rows, y));
    // Other options, other classes.
    let to = TensorMut::new(y.view_mut(..4).expect("within"), &[4]).expect("it fits");
    let mean = reduce(Reduction::Mean, rows, 1, to).expect("an operation");
    assert_eq!(mean.implementation(), Implementation::Kernels);
    let to = TensorMut::new(y.view_mut(..4).expect("within"), &[4]).expect("it fits");
    let forced = reduce_by(Reduction::Sum, rows, 1, to, Implementation::Kernels).expect("an operation");
    assert_eq!(forced.implementation(), Implementation::Kernels);
}

#[test]
fn a_graph_that_was_measured_to_be_the_faster_leaves_batches_the_kernels() {
    let gpu = gpu();
    let (x, mut y) = (buffer(&gpu, 12), buffer(&gpu, 3));
    let rows = Tensor::new(&x, &[3, 4]).expect("it fits");
    fn sum<'a>(rows: Tensor<'a, f32>, y: &'a mut Buffer<f32>) -> Operation<'a> {
        reduce(Reduction::Sum, rows, 1, TensorMut::new(y, &[3]).expect("it fits")).expect("an operation")
    }
    let class = sum(rows, &mut y).class.expect("it has two implementations");
    gpu.choices().remember(&gpu, class, SHADERS);
    let operation = sum(rows, &mut y);
    assert_eq!(format!("{operation:?}"), "[MPSGraph sum 3x4 over 1]");
    assert_eq!((operation.implementation(), operation.launches().count()), (SHADERS, 1));
    operation.submit().and_then(|ran| ran.wait()).expect("it runs");
    assert_eq!(y.to_vec().expect("it ran"), [6.0, 22.0, 38.0]);
    y.write_from(&[0.0; 3]).expect("nobody uses it");
    let mut batch = gpu.batch().expect("a batch");
    sum(rows, &mut y).record(&mut batch).expect("by kernels");
    batch.submit().and_then(|ran| ran.wait()).expect("it runs");
    assert_eq!(y.to_vec().expect("it ran"), [6.0, 22.0, 38.0]);
    y.write_from(&[0.0; 3]).expect("nobody uses it");
    let stream = gpu.stream(crate::StreamLimits::default());
    sum(rows, &mut y).stream(&stream).expect("by kernels");
    drop(stream);
    assert_eq!(y.to_vec().expect("it ran"), [6.0, 22.0, 38.0]);
    // Asked for by name it is nothing but the graph.
    let to = TensorMut::new(&mut y, &[3]).expect("it fits");
    let operation = reduce_by(Reduction::Sum, rows, 1, to, SHADERS).expect("an operation");
    assert_eq!(operation.launches().count(), 0);
    let mut batch = gpu.batch().expect("a batch");
    assert!(matches!(operation.record(&mut batch), Err(Error::Unsupported { .. })));
}

#[test]
fn what_performance_shaders_cannot_compute_is_the_kernels() {
    let gpu = gpu();
    let (x, mut y) = (buffer(&gpu, 12), gpu.buffer_zeroed::<f16>(3).expect("a buffer"));
    let rows = Tensor::new(&x, &[3, 4]).expect("it fits");
    fn largest<'a>(rows: Tensor<'a, f32>, y: &'a mut Buffer<f16>) -> Operation<'a> {
        reduce(Reduction::Max, rows, 1, TensorMut::new(y, &[3]).expect("it fits")).expect("an operation")
    }
    let class = largest(rows, &mut y).class.expect("it has two implementations");
    gpu.choices().remember(&gpu, class, SHADERS);
    let operation = largest(rows, &mut y);
    assert_eq!(operation.implementation(), Implementation::Kernels);
    operation.submit().and_then(|ran| ran.wait()).expect("it runs");
    assert_eq!(y.to_vec().expect("it ran"), [3.0, 7.0, 11.0].map(f16::from_f32));
}

#[test]
fn what_was_measured_is_used_for_its_class_and_by_later_accelerators() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || {
        let gpu = gpu();
        gpu.keep_kernels(folder.path().join("kernels"), 1 << 20).expect("a folder of this user's");
        gpu
    };
    let used = |gpu: &Accelerator, shape: [usize; 2], turned: bool| {
        let (x, mut y) = (buffer(gpu, shape[0] * shape[1]), buffer(gpu, 1));
        let rows = Tensor::new(&x, &shape).expect("it fits");
        let rows = if turned { rows.transposed().expect("two axes") } else { rows };
        let operation = reduce_all(Reduction::Min, rows, TensorMut::new(&mut y, &[]).expect("it fits"));
        let operation = operation.expect("an operation");
        (operation.implementation(), operation.class.expect("it has two"))
    };
    let first = open();
    let (before, class) = used(&first, [30, 5], false);
    assert_eq!(before, Implementation::Kernels);
    first.choices().remember(&first, class, SHADERS);
    for gpu in [first, open()] {
        assert_eq!(used(&gpu, [30, 5], false).0, SHADERS);
        assert_eq!(used(&gpu, [17, 8], false).0, SHADERS, "of the same class");
        assert_eq!(used(&gpu, [33, 5], false).0, Implementation::Kernels, "larger");
        assert_eq!(used(&gpu, [5, 30], true).1, Class { in_line: [false, true], ..class }, "turned");
    }
}

#[test]
fn both_are_measured_once_and_the_faster_is_used() {
    let gpu = gpu();
    let (x, mut y) = (buffer(&gpu, 512), buffer(&gpu, 512));
    let rows = Tensor::new(&x, &[16, 32]).expect("it fits");
    let mut y = TensorMut::new(&mut y, &[16, 32]).expect("it fits");
    let runs = std::cell::Cell::new(0);
    let mut tune = || {
        tune_operation(&options(), |trial| {
            runs.set(runs.get() + 1);
            trial.run(softmax_by(rows, y.reborrow(), trial.implementation())?)
        })
        .expect("there is time")
    };
    let tuning = tune();
    let mut of: Vec<Implementation> = tuning.candidates.iter().map(|(by, _)| *by).collect();
    assert_eq!((of[0], of.len()), (tuning.implementation, 2));
    of.sort_by_key(|by| BOTH.iter().position(|other| other == by));
    assert_eq!(of, BOTH);
    assert!(tuning.candidates.iter().all(|(_, times)| !times.is_empty()));
    // One for the class, one to see whether both can, one in advance: those are not measured.
    let measured: usize = tuning.candidates.iter().map(|(_, times)| times.len()).sum();
    assert_eq!(runs.replace(0), measured + 3);
    let lines: Vec<String> = tuning.to_string().lines().map(str::to_owned).collect();
    assert_eq!((lines[0].clone(), lines.len()), (format!("{:?}", tuning.implementation), 3));
    assert!(lines[1].starts_with(&format!("  {:?}: median ", tuning.implementation)), "{lines:?}");
    let again = tune();
    assert_eq!(again, OperationTuning { implementation: tuning.implementation, candidates: Vec::new() });
    assert_eq!((runs.get(), again.to_string()), (1, format!("{:?}, remembered", tuning.implementation)));
    assert_eq!(softmax(rows, y).expect("an operation").implementation(), tuning.implementation);
}

#[test]
fn graphs_are_measured_too_and_kernels_alone_where_there_is_nothing_else() {
    let gpu = gpu();
    let (x, mut y) = (buffer(&gpu, 512), buffer(&gpu, 1));
    let line = Tensor::new(&x, &[512]).expect("it fits");
    let tuning = tune_operation(&options(), |trial| {
        trial.run(reduce_all_by(Reduction::Sum, line, TensorMut::new(&mut y, &[1])?, trial.implementation())?)
    });
    assert_eq!(tuning.expect("there is time").candidates.len(), 2);
    let (x, mut y) = (gpu.buffer_zeroed::<bf16>(8).expect("x"), gpu.buffer_zeroed::<bf16>(8).expect("y"));
    let row = Tensor::new(&x, &[8]).expect("it fits");
    let tuning = tune_operation(&options(), |trial| {
        trial.run(softmax_by(row, TensorMut::new(&mut y, &[8])?, trial.implementation())?)
    });
    let of: Vec<Implementation> = tuning.expect("there is time").candidates.iter().map(|(by, _)| *by).collect();
    assert_eq!(of, [Implementation::Kernels]);
}

#[test]
fn what_cannot_be_measured_is_told() {
    let gpu = gpu();
    let (x, mut y) = (buffer(&gpu, 16), buffer(&gpu, 16));
    let mut place = gpu.buffer_zeroed::<u32>(4).expect("a buffer");
    let square = Tensor::new(&x, &[4, 4]).expect("it fits");
    let told = |run: &mut dyn FnMut(&mut Trial) -> Result<()>| {
        tune_operation(&options(), run).expect_err("it is refused").to_string()
    };
    let one =
        "kernel `operation` cannot be tuned: it is a product, which `tune_product` measures, or has one implementation";
    assert_eq!(told(&mut |trial| trial.run(product(square, square, TensorMut::new(&mut y, &[4, 4])?)?)), one);
    assert_eq!(told(&mut |trial| trial.run(argmax(square, 0, TensorMut::new(&mut place, &[4])?)?)), one);
    let relu = Activation::Relu;
    assert_eq!(told(&mut |trial| trial.run(activate_in_place(relu, TensorMut::new(&mut y, &[4, 4])?)?)), one);
    assert_eq!(told(&mut |_| Ok(())), "kernel `operation` cannot be tuned: nothing was run");
    let mut sum = |trial: &mut Trial, axis, by| {
        trial.run(reduce_by(Reduction::Sum, square, axis, TensorMut::new(y.view_mut(..4)?, &[4])?, by)?)
    };
    let text = "kernel `operation` cannot be tuned: it is not by what the trial asks for";
    assert_eq!(told(&mut |trial| sum(trial, 0, SHADERS)), text);
    let mut axis = 1;
    let text = "kernel `operation` cannot be tuned: it was of another class each time";
    assert_eq!(
        told(&mut |trial| {
            axis = 1 - axis;
            sum(trial, axis, trial.implementation())
        }),
        text
    );
    // What is wrong with an operation is its own error.
    let text = told(&mut |trial| sum(trial, 2, trial.implementation()));
    assert_eq!(text, "reduction: x is 4x4 and has no axis 2");
}
