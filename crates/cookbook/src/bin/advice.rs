//! What a kernel wastes, told without running it, and a kernel that does not.
//!
//! `advice [KERNEL.cl]`

use std::error::Error;
use std::process::ExitCode;

use dcmetal::analysis::{Chip, Conditions};
use dcmetal::{Accelerator, Grid, Kernel, args};

const PARTICLES: usize = 50_000;
/// Numbers of a particle, and which of them its mass is.
const NUMBERS: usize = 8;
const MASS: usize = 3;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("advice: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("advice.cl").to_owned(),
    };
    let gpu = Accelerator::system_default()?;
    let library = gpu.compile_opencl(&source)?;
    let (before, after) = (library.kernel("weights")?, library.kernel("weights_of_masses")?);
    tell(&before)?;
    if tell(&after)? > 0 {
        return Err("the better kernel could be better".into());
    }

    let particles: Vec<f32> = (0..PARTICLES * NUMBERS).map(|i| (i * 7919 % 10_007) as f32 / 64.0).collect();
    let masses: Vec<f32> = particles.iter().skip(MASS).step_by(NUMBERS).copied().collect();
    let weights: Vec<f32> = masses.iter().map(|mass| mass * 9.80665).collect();
    for (kernel, input) in [(&before, &particles), (&after, &masses)] {
        if run_on(&gpu, kernel, input)? != weights {
            return Err(format!("`{}` computes something else", kernel.name()).into());
        }
    }
    println!("both give the weights of {PARTICLES} particles");
    Ok(())
}

/// Prints what the kernel does to memory and what would make it faster; gives how many advices there are.
fn tell(kernel: &Kernel) -> dcmetal::Result<usize> {
    let roofs = Chip::named("m1").map(|chip| chip.roofs());
    let report = kernel.report(&Conditions { roofs, ..Conditions::default() })?;
    println!("{}:", kernel.name());
    for place in &report.accesses {
        let argument = place.argument.as_deref().unwrap_or("memory of its own");
        let used = place.used_part.map_or("an unknown part".to_owned(), |part| format!("{:.1} %", 100.0 * part));
        println!("  line {}, {argument}: {used} of what is moved is used", place.at.line);
    }
    for advice in &report.advice {
        println!("  {}: {}", advice.rule.name(), advice.text);
    }
    Ok(report.advice.len())
}

fn run_on(gpu: &Accelerator, kernel: &Kernel, input: &[f32]) -> dcmetal::Result<Vec<f32>> {
    let input = gpu.buffer_from(input)?;
    let mut weights = gpu.buffer_zeroed::<f32>(PARTICLES)?;
    kernel.launch(Grid::linear(PARTICLES), args![&input, &mut weights])?.wait()?;
    weights.to_vec()
}
