//! OpenCL C to a result with dcmetal, for the bench `new_process`: prints a sum.

use dcmetal::{Accelerator, Grid, args};
use dcmetal_benches::new_process::{NUMBERS, SOURCE, THREADS, numbers};

fn main() -> dcmetal::Result<()> {
    let gpu = Accelerator::system_default()?;
    let kernel = gpu.compile_opencl(SOURCE)?.kernel("sums")?;
    let groups = NUMBERS.div_ceil(THREADS);
    let (x, mut sum) = (gpu.buffer_from(&numbers())?, gpu.buffer_zeroed::<u32>(groups)?);
    let grid = Grid::threadgroups(groups, THREADS);
    kernel.launch(grid, args![&x, &mut sum, NUMBERS as u32])?.wait()?;
    println!("{}", sum.to_vec()?.iter().sum::<u32>());
    Ok(())
}
