//! The demonstration: OpenCL C kernels on a photograph and on matrices, each result verified against a plain
//! double-precision reference on the CPU.
//!
//! `demo FOLDER` writes `blurred.png`, `edges.png` and `edges.npy` (the reference, for `dcmetal run --check`) there.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dcmetal::{Accelerator, Grid, Size, args};
use image::{GrayImage, RgbaImage};
use npyz::WriterBuilder;
use rand::{Rng, SeedableRng};

const GROUP: usize = 64;
const SIGMA: f64 = 3.0;
const RADIUS: usize = 9;

/// One line of the table.
struct Row {
    work: String,
    compile: Duration,
    device: Duration,
    reference: Duration,
    worst: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: demo FOLDER")?;
    std::fs::create_dir_all(&folder)?;
    let gpu = Accelerator::system_default()?;
    println!("device: {}\n", gpu.name());

    let photo = image::load_from_memory(include_bytes!("../demo/chelsea.png"))?.into_rgba8();
    let rows = [blur(&gpu, &photo, &folder)?, sobel(&gpu, &photo, &folder)?, matmul(&gpu)?];

    println!("{:34} {:>10} {:>10} {:>10}  verified", "kernels", "compile", "device", "plain CPU");
    for Row { work, compile, device, reference, worst } in rows {
        println!("{work:34} {compile:>10.1?} {device:>10.2?} {reference:>10.2?}  {worst}");
    }
    println!("\n`plain CPU` is the reference itself: straightforward double-precision Rust on one thread.");
    println!("written: {}, {}", folder.join("blurred.png").display(), folder.join("edges.png").display());
    Ok(())
}

/// Runs `work` once to warm up and five times more; the median of the times it returns.
fn median(mut work: impl FnMut() -> dcmetal::Result<Duration>) -> dcmetal::Result<Duration> {
    work()?;
    let mut times = (0..5).map(|_| work()).collect::<dcmetal::Result<Vec<_>>>()?;
    times.sort();
    Ok(times[2])
}

fn weights() -> Vec<f64> {
    let weight = |i: f64| (-i * i / (2.0 * SIGMA * SIGMA)).exp();
    let weights: Vec<f64> = (0..=2 * RADIUS).map(|i| weight(i as f64 - RADIUS as f64)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

fn blur(gpu: &Accelerator, photo: &RgbaImage, folder: &Path) -> Result<Row, Box<dyn Error>> {
    let (width, height) = (photo.width() as usize, photo.height() as usize);
    let start = Instant::now();
    let library = gpu.compile_opencl_with("blur.cl", include_str!("../demo/blur.cl"), &Default::default())?;
    let (by_row, by_column) = (library.kernel("blur_rows")?, library.kernel("blur_columns")?);
    let compile = start.elapsed();

    let source = gpu.buffer_from(photo.as_raw())?;
    let mut between = gpu.buffer_zeroed::<[f32; 4]>(width * height)?;
    let mut result = gpu.buffer_zeroed::<u8>(4 * width * height)?;
    let weights = weights();
    let single: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
    let single = gpu.buffer_from(&single)?;
    let (radius, w, h) = (RADIUS as i32, width as i32, height as i32);
    let rows = Grid::threads(Size::from((width.next_multiple_of(GROUP), height)));
    let columns = Grid::threads(Size::from((width, height.next_multiple_of(GROUP))));
    let device = median(|| {
        let mut batch = gpu.batch()?;
        batch.launch(&by_row, rows, args![&source, &mut between, &single, radius, w, h])?;
        batch.launch(&by_column, columns, args![&between, &mut result, &single, radius, w, h])?;
        let submission = batch.submit()?;
        submission.wait()?;
        submission.gpu_time()
    })?;

    let start = Instant::now();
    let expected = reference_blur(photo.as_raw(), width, height, &weights);
    let reference = start.elapsed();
    let got = result.to_vec()?;
    let worst = got.iter().zip(&expected).map(|(got, expected)| (f64::from(*got) - expected).abs()).fold(0.0, f64::max);
    // Rounding to whole levels alone is half a level.
    if worst > 0.51 {
        return Err(format!("the blurred image differs from the reference by {worst} levels").into());
    }
    RgbaImage::from_raw(photo.width(), photo.height(), got).ok_or("an image")?.save(folder.join("blurred.png"))?;
    let work = format!("Gaussian blur, {width}x{height}, radius {RADIUS}");
    Ok(Row { work, compile, device, reference, worst: format!("within {worst:.3} levels of 255") })
}

fn reference_blur(pixels: &[u8], width: usize, height: usize, weights: &[f64]) -> Vec<f64> {
    let clamped = |at: usize, i: usize, end: usize| (at + i).saturating_sub(RADIUS).min(end - 1);
    let mut between = vec![0.0; pixels.len()];
    let mut result = vec![0.0; pixels.len()];
    for y in 0..height {
        for x in 0..width {
            for c in 0..4 {
                let at = |i| f64::from(pixels[4 * (y * width + clamped(x, i, width)) + c]);
                between[4 * (y * width + x) + c] = weights.iter().enumerate().map(|(i, weight)| weight * at(i)).sum();
            }
        }
    }
    for y in 0..height {
        for x in 0..width {
            for c in 0..4 {
                let at = |i| between[4 * (clamped(y, i, height) * width + x) + c];
                result[4 * (y * width + x) + c] = weights.iter().enumerate().map(|(i, weight)| weight * at(i)).sum();
            }
        }
    }
    result
}

fn sobel(gpu: &Accelerator, photo: &RgbaImage, folder: &Path) -> Result<Row, Box<dyn Error>> {
    let (width, height) = (photo.width() as usize, photo.height() as usize);
    let start = Instant::now();
    let library = gpu.compile_opencl_with("sobel.cl", include_str!("../demo/sobel.cl"), &Default::default())?;
    let kernel = library.kernel("sobel")?;
    let compile = start.elapsed();

    let source = gpu.buffer_from(photo.as_raw())?;
    let mut result = gpu.buffer_zeroed::<u8>(width * height)?;
    let grid = Grid::threads(Size::from((width, height)));
    let device = median(|| {
        let submission = kernel.launch(grid, args![&source, &mut result, width as i32, height as i32])?;
        submission.wait()?;
        submission.gpu_time()
    })?;

    let start = Instant::now();
    let expected = reference_sobel(photo.as_raw(), width, height);
    let reference = start.elapsed();
    let got = result.to_vec()?;
    let worst = got.iter().zip(&expected).map(|(got, expected)| (f64::from(*got) - expected).abs()).fold(0.0, f64::max);
    if worst > 0.51 {
        return Err(format!("the edges differ from the reference by {worst} levels").into());
    }
    GrayImage::from_raw(photo.width(), photo.height(), got).ok_or("an image")?.save(folder.join("edges.png"))?;
    let file = std::fs::File::create(folder.join("edges.npy"))?;
    let shape = [height as u64, width as u64];
    let mut npy = npyz::WriteOptions::<f64>::new().default_dtype().shape(&shape).writer(file).begin_nd()?;
    npy.extend(expected)?;
    npy.finish()?;
    let work = format!("Sobel filter, {width}x{height}");
    Ok(Row { work, compile, device, reference, worst: format!("within {worst:.3} levels of 255") })
}

/// The filter's value before rounding, at most 255.
fn reference_sobel(pixels: &[u8], width: usize, height: usize) -> Vec<f64> {
    let at = |x: usize, y: usize, dx: usize, dy: usize| {
        let x = (x + dx).saturating_sub(1).min(width - 1);
        let y = (y + dy).saturating_sub(1).min(height - 1);
        let channel = |c| f64::from(pixels[4 * (y * width + x) + c]);
        0.299 * channel(0) + 0.587 * channel(1) + 0.114 * channel(2)
    };
    let mut result = Vec::with_capacity(width * height);
    for y in 0..height {
        for x in 0..width {
            let (mut across, mut down) = (0.0, 0.0);
            for (i, weight) in [1.0, 2.0, 1.0].into_iter().enumerate() {
                across += weight * (at(x, y, 2, i) - at(x, y, 0, i));
                down += weight * (at(x, y, i, 2) - at(x, y, i, 0));
            }
            result.push(across.hypot(down).min(255.0));
        }
    }
    result
}

fn matmul(gpu: &Accelerator) -> Result<Row, Box<dyn Error>> {
    // No multiples of the tile: the kernel must take any sizes.
    let (m, n, k) = (500usize, 530, 510);
    let start = Instant::now();
    let library = gpu.compile_opencl_with("matmul.cl", include_str!("../demo/matmul.cl"), &Default::default())?;
    let kernel = library.kernel("matmul")?;
    let compile = start.elapsed();

    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let mut matrix = |elements: usize| -> Vec<f32> {
        (0..elements).map(|_| (random.next_u32() >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
    };
    let (a, b) = (matrix(m * k), matrix(k * n));
    let (device_a, device_b) = (gpu.buffer_from(&a)?, gpu.buffer_from(&b)?);
    let mut result = gpu.buffer_from(&vec![f32::NAN; m * n])?;
    let grid = Grid::threads(Size::from((n.next_multiple_of(16), m.next_multiple_of(16))));
    let device = median(|| {
        let arguments = args![&device_a, &device_b, &mut result, m as u32, n as u32, k as u32];
        let submission = kernel.launch(grid, arguments)?;
        submission.wait()?;
        submission.gpu_time()
    })?;

    let start = Instant::now();
    let mut worst = 0.0f64;
    let got = result.to_vec()?;
    for row in 0..m {
        for column in 0..n {
            // The error of a sum is measured against the sum of the magnitudes (Higham, "Accuracy and Stability of
            // Numerical Algorithms", section 3.1).
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for i in 0..k {
                let product = f64::from(a[row * k + i]) * f64::from(b[i * n + column]);
                sum += product;
                magnitude += product.abs();
            }
            let error = (f64::from(got[row * n + column]) - sum).abs() / magnitude;
            worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
        }
    }
    let reference = start.elapsed();
    // k roundings of at most 2^-24 each.
    if worst > k as f64 / f64::from(1u32 << 24) {
        return Err(format!("the matrix product's relative error is {worst:.1e}").into());
    }
    let work = format!("matrix product, {m}x{k} by {k}x{n}");
    Ok(Row { work, compile, device, reference, worst: format!("relative error within {worst:.1e}") })
}
