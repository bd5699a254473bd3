//! `printf` from OpenCL C: what a submission gives, when its buffer is full, and in batches of several libraries.

mod common;

use common::gpu;
use dcmetal::{Grid, args};

/// A buffer of 1 MiB has room for 2^18 words without the three of its header; each of these records takes three.
#[test]
fn what_does_not_fit_is_counted_and_printf_says_so() {
    let gpu = gpu();
    let source = r#"__kernel void k(__global int* failed, int lines) {
        for (int i = 0; i < lines; i++)
            if (printf("%d %d\n", (int)get_global_id(0), i) == -1) failed[get_global_id(0)]++;
    }"#;
    let kernel = gpu.compile_opencl(source).and_then(|library| library.kernel("k")).expect("it compiles");
    let fit = (1usize << 18).wrapping_sub(3) / 3;
    let (items, lines) = (64, 2000);
    let mut failed = gpu.buffer_zeroed::<i32>(items).expect("memory");
    let printed = kernel
        .launch(Grid::linear(items).threadgroup(32u64), args![&mut failed, lines])
        .and_then(|submission| submission.printed())
        .expect("it runs");
    let text = String::from_utf8(printed.bytes).expect("text");
    assert_eq!(text.lines().count(), fit);
    assert_eq!(printed.lost as usize, items * lines as usize - fit);
    let failed = failed.to_vec().expect("it ran");
    assert_eq!(failed.iter().sum::<i32>() as usize, printed.lost as usize);
    // Each work-item's lines come in its order, and what is lost is lost at the end.
    let mut next = vec![0; items];
    for line in text.lines() {
        let (item, i) = line.split_once(' ').expect("two numbers");
        let item: usize = item.parse().expect("a number");
        assert_eq!(i.parse(), Ok(next[item]), "of work-item {item}");
        next[item] += 1;
    }
    for (next, failed) in next.iter().zip(&failed) {
        assert_eq!(next + failed, lines);
    }
}

/// As many bytes as the buffer has words for, with the format's number and their own, are two words too many.
#[test]
fn a_text_without_an_end_is_a_record_that_does_not_fit() {
    let gpu = gpu();
    let source = r#"__kernel void k(__global char* text, __global int* result) {
        result[0] = printf("%s\n", text);
        result[1] = printf("%.3s\n", text);
        text[40000] = 0;
        result[2] = printf("%s\n", text);
    }"#;
    let kernel = gpu.compile_opencl(source).and_then(|library| library.kernel("k")).expect("it compiles");
    let mut text = gpu.buffer_from(&vec![b'x' as i8; 2 << 20]).expect("memory");
    let mut result = gpu.buffer_zeroed::<i32>(3).expect("memory");
    let printed = kernel
        .launch(Grid::linear(1), args![&mut text, &mut result])
        .and_then(|submission| submission.printed())
        .expect("it runs");
    assert_eq!(printed.bytes, [b"xxx\n".as_slice(), &[b'x'; 40000], b"\n"].concat());
    assert_eq!(printed.lost, 1);
    assert_eq!(result.to_vec().expect("it ran"), [-1, 0, 0]);
}

#[test]
fn a_batch_keeps_the_order_of_a_library_s_launches() {
    let gpu = gpu();
    let library = |source: &str| gpu.compile_opencl(source).expect("it compiles");
    let first = library(
        r#"__kernel void a(int n) { printf("a%d ", n); } __kernel void b(int n) { printf("other"); printf("b%d ", n); }"#,
    );
    let second = library(r#"__kernel void c(int n, int z) { printf("%c%d\n", 'c', n); }"#);
    let quiet = gpu.compile_msl("kernel void quiet() {}").expect("it compiles");
    let kernel = |library: &dcmetal::Library, name| library.kernel(name).expect("it is there");
    let mut batch = gpu.batch().expect("a batch");
    for n in 0..3 {
        batch.launch(&kernel(&first, "a"), Grid::linear(1), args![n]).expect("it fits");
        batch.launch(&kernel(&second, "c"), Grid::linear(1), args![n, 0]).expect("it fits");
        batch.launch(&kernel(&quiet, "quiet"), Grid::linear(1), args![]).expect("it fits");
        batch.launch(&kernel(&first, "b"), Grid::linear(1), args![n]).expect("it fits");
    }
    let submission = batch.submit().expect("it is submitted");
    let printed = submission.printed().expect("it runs");
    assert_eq!(printed.to_string(), "a0 otherb0 a1 otherb1 a2 otherb2 c0\nc1\nc2\n");
    assert_eq!(submission.printed().expect("again"), printed);
    let submission = kernel(&quiet, "quiet").launch(Grid::linear(1), args![]).expect("it fits");
    assert_eq!(submission.printed().expect("it runs").bytes, b"");
}
