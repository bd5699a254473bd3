//! An OpenCL program, ported: the kernel file is the same, the host's part is dcmetal's. What it was is `porting_before.c`.
//!
//! `porting [KERNEL.cl]`

use std::error::Error;
use std::f64::consts::PI;
use std::process::ExitCode;

use dcmetal::{Accelerator, Arg, Grid, args};

const WIDTH: usize = 90;
const HEIGHT: usize = 70;
const STEPS: usize = 100;
const GROUP: usize = 16;
const RATE: f32 = 0.2;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("porting: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("porting.cl").to_owned(),
    };
    let plate: Vec<f32> = (0..WIDTH * HEIGHT).map(|at| wave(at) as f32).collect();
    let plate = heated(&source, &plate)?;
    check(&plate)?;
    println!("{STEPS} steps, the middle is at {:.4}", plate[HEIGHT / 2 * WIDTH + WIDTH / 2]);
    Ok(())
}

fn heated(source: &str, plate: &[f32]) -> dcmetal::Result<Vec<f32>> {
    let gpu = Accelerator::system_default()?;
    let program = gpu.compile_opencl(source)?;
    let heat = program.kernel("heat")?;
    let mut now = gpu.buffer_from(plate)?;
    let mut next = gpu.buffer_zeroed::<f32>(plate.len())?;

    let global = (WIDTH.next_multiple_of(GROUP), HEIGHT.next_multiple_of(GROUP));
    let grid = Grid::threads(global).threadgroup((GROUP, GROUP));
    let (width, height) = (WIDTH as i32, HEIGHT as i32);
    let mut batch = gpu.batch()?;
    for _ in 0..STEPS {
        let tile = Arg::threadgroup::<f32>((GROUP + 2) * (GROUP + 2));
        batch.launch(&heat, grid, args![&now, &mut next, tile, width, height, RATE])?;
        std::mem::swap(&mut now, &mut next);
    }
    batch.submit()?.wait()?;
    now.to_vec()
}

/// A wave that is 0 at the plate's edge: what a step does to it is known, it makes it smaller everywhere by one factor.
fn wave(at: usize) -> f64 {
    let part = |i: usize, count: usize| (PI * (i + 1) as f64 / (count + 1) as f64).sin();
    part(at % WIDTH, WIDTH) * part(at / WIDTH, HEIGHT)
}

fn check(plate: &[f32]) -> Result<(), Box<dyn Error>> {
    let part = |count: usize| (PI / 2.0 / (count + 1) as f64).sin().powi(2);
    let factor = 1.0 - 4.0 * f64::from(RATE) * (part(WIDTH) + part(HEIGHT));
    // A step rounds numbers below 4 some six times.
    let allowed = STEPS as f64 * 6.0 * 4.0 * f64::from(f32::EPSILON / 2.0);
    for (at, &got) in plate.iter().enumerate() {
        let wanted = wave(at) * factor.powi(STEPS as i32);
        // So that a NaN is wrong too.
        let right = (f64::from(got) - wanted).abs() <= allowed;
        if !right {
            return Err(format!("({}, {}) is at {got}, but should be at {wanted}", at % WIDTH, at / WIDTH).into());
        }
    }
    Ok(())
}
