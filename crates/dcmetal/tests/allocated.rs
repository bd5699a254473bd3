//! What is freed and when, by the device's count of this process's bytes; one test, so that nobody else allocates.

mod common;

use common::{Gate, Random, gpu, limits, msl};
use dcmetal::tensor::{
    Activation, Affine, Channels, Convolution, Implementation, Operation, Pool, Pooling, Product, Reduction, Steps,
    Tensor, TensorMut, activate_by, activate_in_place, argmax, batch_norm, batch_statistics, convolution_by,
    layer_norm, pool_by, product_with, reduce, reduce_all, softmax_by, vector_product_by,
};
use dcmetal::{Accelerator, Buffer, Grid, Kernel, PageVec, PoolLimits, Result, Submission, args};

#[test]
fn memory_is_held_as_long_as_it_is_needed_and_no_longer() {
    allocated_bytes_count();
    nothing_is_freed_while_the_device_uses_it();
    pages_are_freed_with_their_buffer();
    trim_gives_memory_back();
    buffers_outlive_their_pool();
    heaps_count_as_a_whole_and_go_with_their_buffers();
    limits_hold_for_what_the_device_gave();
    a_loop_of_everything_leaves_nothing_behind();
    tensors_are_not_copied();
}

fn increment(gpu: &Accelerator) -> Kernel {
    let source =
        "kernel void increment(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += 1u; }";
    msl(gpu, source, "increment")
}

/// Waits for one more submission: what came before it has ended, its completion handlers included.
fn everything_is_done(gpu: &Accelerator) {
    gpu.batch().unwrap().submit().unwrap().wait().unwrap();
}

fn allocated_bytes_count() {
    let gpu = gpu();
    let before = gpu.allocated_bytes();
    let buffer = gpu.buffer_zeroed::<u8>(1 << 20).unwrap();
    assert!(gpu.allocated_bytes() >= before + (1 << 20));
    drop(buffer);
    assert!(gpu.allocated_bytes() < before + (1 << 20));
}

fn nothing_is_freed_while_the_device_uses_it() {
    let gpu = gpu();
    let mut gate = Gate::new(&gpu);
    let mut first = gpu.buffer_zeroed::<u32>(1).unwrap();
    let before = gate.start(&mut first).unwrap();
    // Behind the gate: a submission whose buffer, kernel and handle are all gone before it runs.
    let held = gpu.allocated_bytes();
    let increment = increment(&gpu);
    let mut lost = gpu.buffer_zeroed::<u32>(1 << 20).unwrap();
    let copy = {
        let mut kept = gpu.buffer_zeroed::<u32>(1 << 20).unwrap();
        let mut batch = gpu.batch().unwrap();
        batch.launch(&increment, Grid::linear(1 << 20), args![&mut lost]).unwrap();
        batch.copy(&lost, &mut kept).unwrap();
        drop(batch.submit().unwrap());
        kept
    };
    drop((lost, increment));
    assert!(gpu.allocated_bytes() >= held + (8 << 20), "memory in flight was freed");
    drop(before);
    gate.open();
    assert!(copy.read().unwrap().iter().all(|&v| v == 1));
    drop(copy);
    everything_is_done(&gpu);
    assert!(gpu.allocated_bytes() < held + (8 << 20), "memory was leaked");
}

fn pages_are_freed_with_their_buffer() {
    let gpu = gpu();
    let before = gpu.allocated_bytes();
    drop(gpu.buffer_no_copy(PageVec::<u8>::zeroed(1 << 20).unwrap()).unwrap());
    assert!(gpu.allocated_bytes() < before + (1 << 20));
}

fn trim_gives_memory_back() {
    let gpu = gpu();
    let pool = gpu.pool(limits());
    let before = gpu.allocated_bytes();
    let sizes = [1 << 20, 3 << 20, 1 << 18];
    drop(sizes.map(|size| pool.buffer_zeroed::<u8>(size).unwrap()));
    let held: u64 = sizes.iter().map(|&size| size as u64).sum();
    assert_eq!(pool.stats().idle_bytes, held);
    assert!(gpu.allocated_bytes() >= before + held);
    // The largest first, as much as needed.
    assert_eq!(pool.trim(2 << 20), 3 << 20);
    assert_eq!(pool.stats().idle_buffers, 2);
    assert_eq!(pool.trim(0), held - (3 << 20));
    assert_eq!((pool.stats().idle_bytes, pool.trim(0)), (0, 0));
    assert!(gpu.allocated_bytes() < before + (1 << 18));
}

fn buffers_outlive_their_pool() {
    let gpu = gpu();
    let before = gpu.allocated_bytes();
    let buffer = gpu.pool(limits()).buffer_from(&[7u32; 1 << 18]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [7; 1 << 18]);
    drop(buffer);
    assert!(gpu.allocated_bytes() < before + (1 << 20), "the pool of the last buffer was leaked");
}

fn heaps_count_as_a_whole_and_go_with_their_buffers() {
    let gpu = gpu();
    let before = gpu.allocated_bytes();
    let pool = gpu.pool(PoolLimits { heaps: true, ..limits() });
    let held = || {
        let stats = pool.stats();
        assert_eq!(gpu.allocated_bytes() - before, stats.heap_bytes);
        assert_eq!(stats.heap_bytes - stats.heap_free_bytes, stats.used_bytes + stats.idle_bytes);
        (stats.heaps, stats.heap_bytes)
    };
    let first = pool.buffer_from(&[7u32; 64]).unwrap();
    let (one, heap) = held();
    assert_eq!((one, pool.stats().peak_bytes), (1, heap));
    let mut buffers = Vec::new();
    while held() == (1, heap) {
        buffers.push(pool.buffer_from(&[9u32; 64]).unwrap());
    }
    assert_eq!((held(), pool.stats().peak_bytes), ((2, 2 * heap), 2 * heap));
    // A buffer in each of them keeps both.
    let last = buffers.pop().expect("it was the one too many");
    drop(buffers);
    pool.trim(0);
    assert_eq!(held(), (2, 2 * heap));
    assert_eq!((first.to_vec().unwrap(), last.to_vec().unwrap()), (vec![7; 64], vec![9; 64]));
    drop(last);
    pool.trim(0);
    assert_eq!(held(), (1, heap));
    // Behind the gate the device keeps one, whoever lets go of it.
    let mut gate = Gate::new(&gpu);
    let (mut first, with_gate) = (first, gpu.allocated_bytes());
    let submission = gate.start(&mut first).unwrap();
    drop((first, pool));
    assert_eq!(gpu.allocated_bytes(), with_gate);
    gate.open();
    submission.wait().unwrap();
    drop((submission, gate));
    everything_is_done(&gpu);
    assert!(gpu.allocated_bytes() <= before, "the heap was leaked");
}

/// What is kept is within the limit by the device's own count, with and without heaps.
fn limits_hold_for_what_the_device_gave() {
    const LIMIT: u64 = 4 << 20;
    let gpu = gpu();
    for heaps in [false, true] {
        let before = gpu.allocated_bytes();
        let pool = gpu.pool(PoolLimits { bytes: LIMIT, heaps, ..limits() });
        let (mut random, mut lent, mut most) = (Random(5), Vec::new(), 0);
        for step in 0..4800 {
            // Classes of whole pages, which Metal does not round up; the small ones in heaps and, near the limit, by themselves.
            let small = heaps && random.range(0, 3) > 0;
            let bytes = if small { random.range(3585, 4097) } else { 16384 * random.range(1, 5) };
            lent.push(pool.buffer::<u8>(bytes as usize).unwrap());
            while lent.len() > [20, 300, 60, 0][step / 400 % 4] {
                drop(lent.swap_remove(random.range(0, lent.len() as i64) as usize));
            }
            let (given, stats) = (gpu.allocated_bytes() - before, pool.stats());
            assert!(given <= stats.peak_bytes, "{given} of {stats:?}");
            if lent.is_empty() {
                assert!(given <= LIMIT, "{given} kept: {stats:?}");
            }
            most = most.max(stats.heaps);
        }
        let stats = pool.stats();
        assert!(stats.peak_bytes > LIMIT && stats.released > 0 && stats.hits > 0, "{stats:?}");
        assert_eq!(most > 1, heaps);
        drop(pool);
        assert_eq!(gpu.allocated_bytes(), before);
    }
}

fn a_loop_of_everything_leaves_nothing_behind() {
    let gpu = gpu();
    let increment = increment(&gpu);
    let pool = gpu.pool(limits());
    let before = gpu.allocated_bytes();
    for round in 0..200 {
        let mut x = gpu.buffer_zeroed::<u32>(1 << 14).unwrap();
        let mut y = pool.buffer_zeroed::<u32>(1 << 14).unwrap();
        let mut batch = gpu.batch().unwrap();
        batch.launch(&increment, Grid::linear(1 << 14), args![&mut x]).unwrap();
        batch.copy(&x, &mut y).unwrap();
        if round % 3 == 0 {
            let guard = y.read().unwrap();
            assert!(batch.submit().is_err(), "a guard is alive");
            drop(guard);
        } else {
            drop(batch.submit().unwrap());
        }
    }
    everything_is_done(&gpu);
    pool.trim(0);
    assert!(gpu.allocated_bytes() <= before, "{} bytes more", gpu.allocated_bytes() - before);
}

/// Elements of a tensor that counts: 4 MiB.
const ELEMENTS: usize = 1 << 20;

/// Submits an operation whose results are in one or both.
type Submit<'a> = &'a dyn Fn(&mut Buffer<f32>, &mut Buffer<f32>) -> Result<Submission>;

/// What is allocated while an operation waits behind a gate, its results and its arguments apart.
fn tensors_are_not_copied() {
    let gpu = gpu();
    let numbers = |count: usize| gpu.buffer_from(&vec![0.5f32; count]).unwrap();
    let (x, w, line, shift) = (numbers(ELEMENTS), numbers(ELEMENTS), numbers(1024), numbers(16));
    let (mut y, mut other) = (numbers(ELEMENTS), numbers(1024));
    let matrix = |of| Tensor::new(of, &[1024, 1024]).unwrap();
    let image = |of| Tensor::new(of, &[1, 256, 256, 16]).unwrap();
    let steps = Steps { padding: [1; 2], ..Steps::default() };
    let mut allocates = |make: Submit<'_>| {
        // Kernels are compiled, and graphs.
        make(&mut y, &mut other).unwrap().wait().unwrap();
        everything_is_done(&gpu);
        let mut gate = Gate::new(&gpu);
        let mut first = gpu.buffer_zeroed::<u32>(1).unwrap();
        let before = gate.start(&mut first).unwrap();
        let held = gpu.allocated_bytes();
        let submission = make(&mut y, &mut other).unwrap();
        let more = gpu.allocated_bytes() - held;
        gate.open();
        before.wait().unwrap();
        submission.wait().unwrap();
        more
    };
    // What a graph computes in steps is in memory of Metal's between them, which is told by the same count.
    #[cfg(target_os = "linux")]
    {
        let more = allocates(&|y, _| {
            let weights = Tensor::new(w.view(..9 * 256).unwrap(), &[3, 3, 16, 16]).unwrap();
            let bias = Some(Tensor::new(&shift, &[16]).unwrap());
            let to = TensorMut::new(y, &[1, 256, 256, 16]).unwrap();
            let options = Convolution { steps, bias, ..Convolution::default() };
            convolution_by(image(&x), weights, to, &options, Implementation::PerformanceShaders)
                .and_then(Operation::submit)
        });
        assert!(more >= 4 * ELEMENTS as u64, "{more}");
    }
    let mut holds = |name: &str, make: Submit<'_>| {
        let more = allocates(make);
        assert!(more < ELEMENTS as u64, "{name} has {more} bytes of its own in use");
    };
    for by in [Implementation::Kernels, Implementation::PerformanceShaders] {
        let told = |name: &str| format!("{name} by {by:?}");
        holds(&told("a product"), &|y, _| {
            let few = Tensor::new(w.view(..16 * 1024).unwrap(), &[16, 1024]).unwrap().transposed().unwrap();
            let to = TensorMut::new(y.view_mut(..1024 * 16).unwrap(), &[1024, 16]).unwrap();
            let options = Product { implementation: by, ..Product::default() };
            product_with(matrix(&x), few, to, &options).and_then(Operation::submit)
        });
        holds(&told("a product with a vector"), &|_, y| {
            let (line, to) = (Tensor::new(&line, &[1024]).unwrap(), TensorMut::new(y, &[1024]).unwrap());
            vector_product_by(matrix(&x), line, to, [1.0, 0.0], by).and_then(Operation::submit)
        });
        holds(&told("a convolution"), &|y, _| {
            let weights = Tensor::new(w.view(..9 * 256).unwrap(), &[3, 3, 16, 16]).unwrap();
            let to = TensorMut::new(y, &[1, 256, 256, 16]).unwrap();
            convolution_by(image(&x), weights, to, &Convolution { steps, ..Convolution::default() }, by)
                .and_then(Operation::submit)
        });
        holds(&told("a pool"), &|y, _| {
            let to = TensorMut::new(y, &[1, 256, 256, 16]).unwrap();
            pool_by(image(&x), to, &Pool { pooling: Pooling::Mean, window: [3; 2], steps }, by)
                .and_then(Operation::submit)
        });
        holds(&told("softmax"), &|y, _| {
            softmax_by(matrix(&x), TensorMut::new(y, &[1024, 1024]).unwrap(), by).and_then(Operation::submit)
        });
        holds(&told("an activation"), &|y, _| {
            activate_by(Activation::Tanh, matrix(&x), TensorMut::new(y, &[1024, 1024]).unwrap(), by)
                .and_then(Operation::submit)
        });
    }
    holds("an activation in place", &|y, _| {
        activate_in_place(Activation::Gelu, TensorMut::new(y, &[1024, 1024]).unwrap()).and_then(Operation::submit)
    });
    let affine = |scale, shift| Affine { scale: Some(scale), shift: Some(shift) };
    holds("layer normalisation", &|y, _| {
        let line = Tensor::new(&line, &[1024]).unwrap();
        layer_norm(matrix(&x), &affine(line, line), 1e-5, TensorMut::new(y, &[1024, 1024]).unwrap())
            .and_then(Operation::submit)
    });
    holds("batch normalisation", &|y, _| {
        let line = Tensor::new(&shift, &[16]).unwrap();
        let channels = Channels { axis: 3, mean: line, variance: line, affine: affine(line, line) };
        batch_norm(image(&x), &channels, 1e-5, TensorMut::new(y, &[1, 256, 256, 16]).unwrap())
            .and_then(Operation::submit)
    });
    holds("statistics", &|y, other| {
        let to = |of| TensorMut::new(of, &[16]).unwrap();
        let (mean, variance) = (y.view_mut(..16).unwrap(), other.view_mut(..16).unwrap());
        batch_statistics(image(&x), 3, TensorMut::new(mean, &[16]).unwrap(), to(variance)).and_then(Operation::submit)
    });
    holds("a sum", &|_, y| {
        reduce(Reduction::Sum, matrix(&x), 1, TensorMut::new(y, &[1024]).unwrap()).and_then(Operation::submit)
    });
    holds("a sum of columns", &|_, y| {
        reduce(Reduction::Sum, matrix(&x), 0, TensorMut::new(y, &[1024]).unwrap()).and_then(Operation::submit)
    });
    holds("the sum of all", &|_, y| {
        reduce_all(Reduction::Sum, matrix(&x), TensorMut::new(y.view_mut(..1).unwrap(), &[1]).unwrap())
            .and_then(Operation::submit)
    });
    let mut numbers = gpu.buffer_zeroed::<u32>(1024).unwrap();
    let held = gpu.allocated_bytes();
    let largest = argmax(matrix(&x), 1, TensorMut::new(&mut numbers, &[1024]).unwrap()).unwrap();
    let submission = largest.submit().unwrap();
    assert!(gpu.allocated_bytes() - held < ELEMENTS as u64);
    submission.wait().unwrap();
}
