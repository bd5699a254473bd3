//! Metal Performance Shaders: products of matrices, and what they refuse.

use std::collections::HashSet;
use std::ptr;

use dcmetal_sys::*;

use crate::buffer::Pages;
use crate::support::*;

const STATE: DCMetalStatus = DC_METAL_INVALID_STATE;
const INVALID: DCMetalStatus = DC_METAL_INVALID_ARGUMENT;
const OVERLAPS: &str = "the result overlaps another matrix";
const ROWS_OVERLAP: &str = "source and result overlap";

/// m x k by k x n, neither transposed.
pub(crate) fn descriptor(rows: u64, columns: u64, interior: u64) -> DCMetalMultiplicationDescriptor {
    DCMetalMultiplicationDescriptor {
        transpose_left: false,
        transpose_right: false,
        rows,
        columns,
        interior,
        alpha: 1.0,
        beta: 0.0,
    }
}

pub(crate) fn made(
    gpu: &Gpu,
    descriptor: &DCMetalMultiplicationDescriptor,
) -> Result<Owned<DCMetalMultiplication>, Failure> {
    create(|out, error| dc!(DCMetalMultiplication_Create(gpu.device.0, descriptor, out, error)))
}

/// Rows of floats without gaps.
pub(crate) fn matrix(buffer: &Owned<DCMetalBuffer>, rows: u64, columns: u64) -> DCMetalMatrix {
    DCMetalMatrix {
        buffer: buffer.0,
        offset: 0,
        rows,
        columns,
        row_bytes: 4 * columns,
        matrices: 1,
        matrix_bytes: 0,
        number: DC_METAL_NUMBER_FLOAT32,
    }
}

pub(crate) fn encode(
    multiplication: &Owned<DCMetalMultiplication>,
    command_buffer: &Owned<DCMetalCommandBuffer>,
    [left, right, result]: [&DCMetalMatrix; 3],
) -> Result<(), Failure> {
    attempt(|error| dc!(DCMetalMultiplication_Encode(multiplication.0, command_buffer.0, left, right, result, error)))
}

pub(crate) fn products_of_matrices() {
    let gpu = Gpu::new();
    assert!(dc!(DCMetalDevice_SupportsPerformanceShaders(gpu.device.0)));
    assert!(!dc!(DCMetalDevice_SupportsPerformanceShaders(ptr::null_mut())));
    // Two products of a 2x3, by columns, and a 3x2, of which each row has a gap, behind one number.
    let a: Vec<f32> = (0..12u8).map(f32::from).collect();
    let b: Vec<f32> = (0..19u8).map(f32::from).collect();
    let (left, right, result) = (gpu.buffer_of(&a), gpu.buffer_of(&b), gpu.buffer_of(&[1.0f32; 9]));
    let what = DCMetalMultiplicationDescriptor { transpose_left: true, alpha: 2.0, beta: 3.0, ..descriptor(2, 2, 3) };
    let multiplication = made(&gpu, &what).expect("a kernel");
    let two = |matrix: DCMetalMatrix, matrix_bytes: u64| DCMetalMatrix { matrices: 2, matrix_bytes, ..matrix };
    let of_left = two(matrix(&left, 3, 2), 24);
    let of_right = DCMetalMatrix { offset: 4, row_bytes: 12, ..two(matrix(&right, 3, 2), 36) };
    let of_result = DCMetalMatrix { offset: 4, ..two(matrix(&result, 2, 2), 16) };
    let command_buffer = gpu.command_buffer();
    encode(&multiplication, &command_buffer, [&of_left, &of_right, &of_result]).expect("it is encoded");
    drop(multiplication);
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    let mut wanted = vec![1.0f32];
    for (number, row, column) in (0..8).map(|at| (at / 4, at / 2 % 2, at % 2)) {
        let terms = (0..3).map(|p| a[number * 6 + p * 2 + row] * b[1 + number * 9 + p * 3 + column]);
        wanted.push(2.0 * terms.sum::<f32>() + 3.0);
    }
    assert_eq!(contents::<f32>(&result), wanted);
}

pub(crate) fn products_of_halves() {
    let gpu = Gpu::new();
    // 1, 2 and 0.5 by 4: NaN in the result is not read.
    let (left, right) = (gpu.buffer_of(&[0x3c00u16, 0x4000, 0x3800]), gpu.buffer_of(&[0x4400u16]));
    let (halves, floats) = (gpu.buffer_of(&[0x7e00u16; 3]), gpu.buffer_of(&[f32::NAN; 3]));
    let multiplication = made(&gpu, &descriptor(3, 1, 1)).expect("a kernel");
    let half = |buffer: &Owned<DCMetalBuffer>, rows: u64| DCMetalMatrix {
        row_bytes: 2,
        number: DC_METAL_NUMBER_FLOAT16,
        ..matrix(buffer, rows, 1)
    };
    let command_buffer = gpu.command_buffer();
    let (a, b) = (half(&left, 3), half(&right, 1));
    encode(&multiplication, &command_buffer, [&a, &b, &half(&halves, 3)]).expect("halves to halves");
    encode(&multiplication, &command_buffer, [&a, &b, &matrix(&floats, 3, 1)]).expect("halves to floats");
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    assert_eq!(contents::<u16>(&halves), [0x4400, 0x4800, 0x4000]);
    assert_eq!(contents::<f32>(&floats), [4.0, 8.0, 2.0]);
}

pub(crate) fn products_that_cannot_be_are_refused() {
    let gpu = Gpu::new();
    for size in [(0, 1, 1), (1, 0, 1), (1, 1, 0)] {
        refused(INVALID, made(&gpu, &descriptor(size.0, size.1, size.2)));
    }
    let null = ptr::null();
    refused(INVALID, create(|out, error| dc!(DCMetalMultiplication_Create(gpu.device.0, null, out, error))));
    let what = descriptor(2, 2, 2);
    let of_null =
        |out: *mut DCMetalMultiplication, error| dc!(DCMetalMultiplication_Create(ptr::null_mut(), &what, out, error));
    refused(INVALID, create(of_null));
    let multiplication = made(&gpu, &what).expect("a kernel");
    let (buffer, command_buffer) = (gpu.buffer(64), gpu.command_buffer());
    let fine = matrix(&buffer, 2, 2);
    let wrong = [
        DCMetalMatrix { buffer: ptr::null_mut(), ..fine },
        DCMetalMatrix { rows: 0, ..fine },
        DCMetalMatrix { rows: 3, ..fine },
        DCMetalMatrix { columns: 1, ..fine },
        DCMetalMatrix { offset: 2, ..fine },
        DCMetalMatrix { row_bytes: 10, ..fine },
        DCMetalMatrix { row_bytes: 4, ..fine },
        DCMetalMatrix { offset: 52, ..fine },
        DCMetalMatrix { offset: u64::MAX - 3, ..fine },
        DCMetalMatrix { row_bytes: u64::MAX - 3, ..fine },
        DCMetalMatrix { row_bytes: 60, ..fine },
        DCMetalMatrix { matrices: 0, ..fine },
        DCMetalMatrix { matrices: 2, matrix_bytes: 8, ..fine },
        DCMetalMatrix { matrices: 2, matrix_bytes: 20, ..fine },
        DCMetalMatrix { matrices: 2, matrix_bytes: 16, ..fine },
        DCMetalMatrix { matrices: 5, matrix_bytes: 16, ..fine },
        DCMetalMatrix { number: DCMetalNumber(0x2000_0020), ..fine },
        DCMetalMatrix { number: DC_METAL_NUMBER_FLOAT16, ..fine },
        DCMetalMatrix { number: DC_METAL_NUMBER_BFLOAT16, ..fine },
    ];
    // The last byte may be used.
    let last = DCMetalMatrix { offset: 48, ..fine };
    for wrong in &wrong {
        for at in 0..3 {
            let mut matrices = [&fine, &fine, &last];
            matrices[at] = wrong;
            let said = refused(INVALID, encode(&multiplication, &command_buffer, matrices));
            assert_ne!(said, OVERLAPS);
        }
    }
    let null = ptr::null();
    refused(
        INVALID,
        attempt(|error| {
            dc!(DCMetalMultiplication_Encode(multiplication.0, command_buffer.0, &fine, &fine, null, error))
        }),
    );
    encode(&multiplication, &command_buffer, [&fine, &fine, &last]).expect("it fits");
    let encoder = compute_encoder(&command_buffer);
    refused(STATE, encode(&multiplication, &command_buffer, [&fine, &fine, &last]));
    end(&encoder);
    commit(&command_buffer);
    refused(STATE, encode(&multiplication, &command_buffer, [&fine, &fine, &last]));
    wait(&command_buffer).expect("it completes");
}

pub(crate) fn softmax(gpu: &Gpu) -> Result<Owned<DCMetalRowKernel>, Failure> {
    create(|out, error| dc!(DCMetalRowKernel_CreateSoftMax(gpu.device.0, out, error)))
}

fn neuron(gpu: &Gpu, neuron: DCMetalNeuron, [a, b]: [f32; 2]) -> Result<Owned<DCMetalRowKernel>, Failure> {
    create(|out, error| dc!(DCMetalRowKernel_CreateNeuron(gpu.device.0, neuron, a, b, out, error)))
}

pub(crate) fn encode_rows(
    kernel: &Owned<DCMetalRowKernel>,
    command_buffer: &Owned<DCMetalCommandBuffer>,
    [source, result]: [&DCMetalMatrix; 2],
) -> Result<(), Failure> {
    attempt(|error| dc!(DCMetalRowKernel_Encode(kernel.0, command_buffer.0, source, result, error)))
}

/// A kernel, and what it computes.
type Neuron = (Owned<DCMetalRowKernel>, fn(f64) -> f64);

pub(crate) fn functions_of_rows() {
    let gpu = Gpu::new();
    let numbers = [1.0f32, -2.0, 0.5, 3.0, 0.0, -1.0];
    let source = gpu.buffer_of(&numbers);
    let of_source = matrix(&source, 2, 3);
    let kernels: [Neuron; 4] = [
        (neuron(&gpu, DC_METAL_NEURON_RELU, [0.25, 0.0]).expect("a kernel"), |x| if x < 0.0 { 0.25 * x } else { x }),
        (neuron(&gpu, DC_METAL_NEURON_SIGMOID, [0.0; 2]).expect("a kernel"), |x| 1.0 / (1.0 + (-x).exp())),
        (neuron(&gpu, DC_METAL_NEURON_TANH, [2.0, 0.5]).expect("a kernel"), |x| 2.0 * (0.5 * x).tanh()),
        // By a table of the normal distribution, at the numbers above.
        (neuron(&gpu, DC_METAL_NEURON_GELU, [0.0; 2]).expect("a kernel"), |x| {
            let shares = [(1.0, 0.8413447461), (-2.0, 0.0227501319), (0.5, 0.6914624613), (3.0, 0.9986501020)];
            let more = [(0.0, 0.5), (-1.0, 0.1586552539)];
            let known = shares.iter().chain(&more).find(|(at, _)| *at == x).expect("it is in the table");
            x * known.1
        }),
    ];
    let near = |got: &[f32], wanted: Vec<f64>| {
        for (got, wanted) in got.iter().zip(wanted) {
            assert!((f64::from(*got) - wanted).abs() <= 1e-6 * wanted.abs(), "{got}, not {wanted}");
        }
    };
    for (kernel, function) in kernels {
        let (result, command_buffer) = (gpu.buffer(24), gpu.command_buffer());
        encode_rows(&kernel, &command_buffer, [&of_source, &matrix(&result, 2, 3)]).expect("it is encoded");
        drop(kernel);
        commit(&command_buffer);
        wait(&command_buffer).expect("it completes");
        near(&contents::<f32>(&result), numbers.iter().map(|x| function(f64::from(*x))).collect());
    }
    let (result, command_buffer) = (gpu.buffer(24), gpu.command_buffer());
    let kernel = softmax(&gpu).expect("a kernel");
    encode_rows(&kernel, &command_buffer, [&of_source, &matrix(&result, 2, 3)]).expect("it is encoded");
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    let rows = numbers.chunks(3).flat_map(|row| {
        let sum: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
        row.iter().map(move |x| f64::from(*x).exp() / sum)
    });
    near(&contents::<f32>(&result), rows.collect());
}

pub(crate) fn functions_of_rows_that_cannot_be_are_refused() {
    let gpu = Gpu::new();
    refused(INVALID, neuron(&gpu, DCMetalNeuron(10), [0.0; 2]));
    let null = ptr::null_mut();
    refused(INVALID, create(|out: *mut DCMetalRowKernel, error| dc!(DCMetalRowKernel_CreateSoftMax(null, out, error))));
    let kernel = softmax(&gpu).expect("a kernel");
    let (buffer, command_buffer) = (gpu.buffer(64), gpu.command_buffer());
    let fine = matrix(&buffer, 2, 2);
    let wrong = [
        DCMetalMatrix { buffer: ptr::null_mut(), ..fine },
        DCMetalMatrix { rows: 3, ..fine },
        DCMetalMatrix { columns: 1, ..fine },
        DCMetalMatrix { offset: 52, ..fine },
        DCMetalMatrix { matrices: 2, matrix_bytes: 16, ..fine },
        DCMetalMatrix { number: DC_METAL_NUMBER_FLOAT16, ..fine },
    ];
    let last = DCMetalMatrix { offset: 48, ..fine };
    for wrong in &wrong {
        for matrices in [[wrong, &last], [&last, wrong]] {
            let said = refused(INVALID, encode_rows(&kernel, &command_buffer, matrices));
            assert_ne!(said, ROWS_OVERLAP);
        }
    }
    let encoder = compute_encoder(&command_buffer);
    refused(STATE, encode_rows(&kernel, &command_buffer, [&fine, &last]));
    end(&encoder);
    commit(&command_buffer);
    refused(STATE, encode_rows(&kernel, &command_buffer, [&fine, &last]));
    wait(&command_buffer).expect("it completes");
}

/// The bytes of a matrix, in memory in which its buffer begins at `start`.
fn bytes_of(matrix: &DCMetalMatrix, start: u64) -> HashSet<u64> {
    let rows = (0..matrix.matrices).flat_map(|number| (0..matrix.rows).map(move |row| (number, row)));
    let begin =
        |(number, row): (u64, u64)| start + matrix.offset + number * matrix.matrix_bytes + row * matrix.row_bytes;
    rows.flat_map(|row| begin(row)..begin(row) + 4 * matrix.columns).collect()
}

/// Rows of one matrix may lie in the gaps between another's; whether they meet is asked byte by byte here.
pub(crate) fn results_overlap_nothing() {
    let gpu = Gpu::new();
    let pages = Pages::new(2);
    let page = pages.length() / 2;
    let from = |start: u64| {
        let length = pages.length() - start;
        pages.buffer_of(gpu.device.0, pages.start.wrapping_add(start as usize), length, DC_METAL_STORAGE_SHARED, None)
    };
    let over = [0, page].map(|start| (from(start).expect("a buffer"), start));
    let alone = (gpu.buffer(2 * page), 1 << 40);
    let kernel = softmax(&gpu).expect("a kernel");
    // x * 6364136223846793005 + 1442695040888963407, of which the upper bits are used (Knuth, MMIX).
    let mut state = 1u64;
    let mut below = |count: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % count
    };
    let mut met = [0; 2];
    for _ in 0..4000 {
        let (rows, columns, matrices) = (1 + below(3), 1 + below(3), 1 + below(2));
        let mut any = |buffers: [&(Owned<DCMetalBuffer>, u64); 3]| {
            let (buffer, start) = buffers[below(3) as usize];
            let row_bytes = 4 * (columns + below(5));
            let offset = if *start == 0 { page } else { 0 } + 4 * below(24);
            let matrix_bytes = row_bytes * (rows + below(2));
            let one = DCMetalMatrix { offset, row_bytes, matrices, matrix_bytes, ..matrix(buffer, rows, columns) };
            let bytes = bytes_of(&one, *start);
            (one, bytes)
        };
        let (source, read) = any([&over[0], &over[1], &alone]);
        let (result, written) = any([&over[1], &over[1], &over[0]]);
        let overlap = !read.is_disjoint(&written);
        met[usize::from(overlap)] += 1;
        let command_buffer = gpu.command_buffer();
        let of_rows = encode_rows(&kernel, &command_buffer, [&source, &result]);
        // The other factor is what the first is not.
        let multiplication = made(&gpu, &descriptor(rows, columns, columns)).expect("a kernel");
        let square = DCMetalMatrix {
            buffer: alone.0.0,
            offset: page,
            rows: columns,
            row_bytes: 64,
            matrix_bytes: 256,
            ..source
        };
        let of_left = encode(&multiplication, &command_buffer, [&source, &square, &result]);
        let multiplication = made(&gpu, &descriptor(rows, columns, rows)).expect("a kernel");
        let square = DCMetalMatrix { columns: rows, rows, ..square };
        let of_right = encode(&multiplication, &command_buffer, [&square, &source, &result]);
        for (encoded, words) in [(of_rows, ROWS_OVERLAP), (of_left, OVERLAPS), (of_right, OVERLAPS)] {
            if overlap {
                assert_eq!(refused(INVALID, encoded), words, "{source:?}, {result:?}");
            } else {
                encoded.unwrap_or_else(|failure| panic!("{failure:?}: {source:?}, {result:?}"));
            }
        }
    }
    assert!(met.iter().all(|&count| count > 200), "{met:?} did not and did overlap");
}
