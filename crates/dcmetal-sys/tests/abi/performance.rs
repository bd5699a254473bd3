//! Metal Performance Shaders: products of matrices, and what they refuse.

use std::ptr;

use dcmetal_sys::*;

use crate::support::*;

const STATE: DCMetalStatus = DC_METAL_INVALID_STATE;
const INVALID: DCMetalStatus = DC_METAL_INVALID_ARGUMENT;

/// m x k by k x n, neither transposed.
fn descriptor(rows: u64, columns: u64, interior: u64) -> DCMetalMultiplicationDescriptor {
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

fn made(gpu: &Gpu, descriptor: &DCMetalMultiplicationDescriptor) -> Result<Owned<DCMetalMultiplication>, Failure> {
    create(|out, error| dc!(DCMetalMultiplication_Create(gpu.device.0, descriptor, out, error)))
}

/// Rows of floats without gaps.
fn matrix(buffer: &Owned<DCMetalBuffer>, rows: u64, columns: u64) -> DCMetalMatrix {
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

fn encode(
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
    ];
    for wrong in &wrong {
        for at in 0..3 {
            let mut matrices = [&fine; 3];
            matrices[at] = wrong;
            refused(INVALID, encode(&multiplication, &command_buffer, matrices));
        }
    }
    let null = ptr::null();
    refused(
        INVALID,
        attempt(|error| {
            dc!(DCMetalMultiplication_Encode(multiplication.0, command_buffer.0, &fine, &fine, null, error))
        }),
    );
    // The last byte may be used.
    let last = DCMetalMatrix { offset: 48, ..fine };
    encode(&multiplication, &command_buffer, [&fine, &fine, &last]).expect("it fits");
    let encoder = compute_encoder(&command_buffer);
    refused(STATE, encode(&multiplication, &command_buffer, [&fine, &fine, &last]));
    end(&encoder);
    commit(&command_buffer);
    refused(STATE, encode(&multiplication, &command_buffer, [&fine, &fine, &last]));
    wait(&command_buffer).expect("it completes");
}
