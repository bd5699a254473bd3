//! An image pipeline: a photograph is blurred along rows, blurred along columns, and sharpened with what that took away.
//!
//! `images PHOTO.png SHARPENED.png [KERNELS.metal]`

use std::error::Error;
use std::process::ExitCode;

use dcmetal::{Accelerator, Grid, PixelFormat, TextureDescriptor, args};
use image::RgbaImage;

const AMOUNT: f32 = 1.0;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("images: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(input), Some(output)) = (words.next(), words.next()) else {
        return Err("usage: images PHOTO.png SHARPENED.png [KERNELS.metal]".into());
    };
    let source = match words.next() {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("images.metal").to_owned(),
    };
    let photo = image::open(input)?.into_rgba8();
    let gpu = Accelerator::system_default()?;
    let sharp = sharpened(&gpu, &source, &photo)?;
    check(&photo, &sharp)?;
    sharp.save(output)?;
    println!("{} x {} pixels: 3 dispatches, 1 submission", photo.width(), photo.height());
    println!("every channel of every pixel is within its rounding errors");
    Ok(())
}

fn sharpened(gpu: &Accelerator, source: &str, photo: &RgbaImage) -> Result<RgbaImage, Box<dyn Error>> {
    let library = gpu.compile_msl(source)?;
    let (blur_rows, blur_columns) = (library.kernel("blur_rows")?, library.kernel("blur_columns")?);
    let sharpen = library.kernel("sharpen")?;

    let (width, height) = (photo.width() as usize, photo.height() as usize);
    // Kernels read and write sRGB as linear light: the texture unit converts.
    let pixels = TextureDescriptor::d2(PixelFormat::RGBA8Unorm_sRGB, width, height);
    let halves = TextureDescriptor::d2(PixelFormat::RGBA16Float, width, height);
    let input = gpu.texture_from(&pixels, photo.as_raw())?;
    let (mut rows, mut blurred) = (gpu.texture(&halves)?, gpu.texture(&halves)?);
    let mut output = gpu.texture(&pixels)?;

    let grid = Grid::threads((width, height));
    let mut batch = gpu.batch()?;
    batch.launch(&blur_rows, grid, args![&input, &mut rows])?;
    batch.launch(&blur_columns, grid, args![&rows, &mut blurred])?;
    // Metal numbers buffers, textures and samplers apart, and so a launch takes first the one, then the other.
    batch.launch(&sharpen, grid, args![AMOUNT, &input, &blurred, &mut output])?;
    batch.submit()?.wait()?;
    Ok(RgbaImage::from_raw(photo.width(), photo.height(), output.to_vec()?).ok_or("an image of another size")?)
}

/// The same in double precision, with the published filter (Burt and Adelson, "The Laplacian Pyramid as a Compact Image Code",
/// 1983, a = 0.375) and the published transfer function (IEC 61966-2-1).
fn check(photo: &RgbaImage, sharp: &RgbaImage) -> Result<(), Box<dyn Error>> {
    const FILTER: [f64; 5] = [0.0625, 0.25, 0.375, 0.25, 0.0625];
    // Two stores in half precision, each off by at most a unit in its last place of values below 1, and a little for single
    // precision. Then the last store rounds; Metal allows 0.6 of a level for that.
    let (light, level) = (2.0 / 2048.0 + 1e-5, 0.6 + 1e-3);

    let (width, height) = (photo.width() as usize, photo.height() as usize);
    let decoded: Vec<f64> = (0..=255u8).map(|level| linear(f64::from(level) / 255.0)).collect();
    for channel in 0..4 {
        let input: Vec<f64> = photo.pixels().map(|pixel| decoded[usize::from(pixel[channel])]).collect();
        let clamped = |at: usize, i: usize, end: usize| (at + i).saturating_sub(2).min(end - 1);
        let blur = |from: &[f64], across: bool| -> Vec<f64> {
            let at = |x: usize, y: usize, i: usize| match across {
                true => from[y * width + clamped(x, i, width)],
                false => from[clamped(y, i, height) * width + x],
            };
            let sum = |x, y| FILTER.iter().enumerate().map(|(i, weight)| weight * at(x, y, i)).sum();
            (0..width * height).map(|pixel| sum(pixel % width, pixel / width)).collect()
        };
        let blurred = blur(&blur(&input, true), false);
        for (number, (pixel, got)) in photo.pixels().zip(sharp.pixels()).enumerate() {
            let got = f64::from(got[channel]);
            // Alpha is no light, and nothing changes it.
            let (low, high) = if channel == 3 {
                (f64::from(pixel[3]), f64::from(pixel[3]))
            } else {
                let value = input[number] + f64::from(AMOUNT) * (input[number] - blurred[number]);
                (255.0 * encoded(value - light) - level, 255.0 * encoded(value + light) + level)
            };
            if !(low..=high).contains(&got) {
                let place = format!("pixel ({}, {}), channel {channel}", number % width, number / width);
                return Err(format!("{place}: {got}, but the reference is from {low:.2} to {high:.2}").into());
            }
        }
    }
    Ok(())
}

fn linear(encoded: f64) -> f64 {
    if encoded <= 0.04045 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

fn encoded(linear: f64) -> f64 {
    let linear = linear.clamp(0.0, 1.0);
    if linear <= 0.0031308 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}
