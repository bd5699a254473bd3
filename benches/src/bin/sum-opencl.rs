//! OpenCL C to a result with the first OpenCL device, for the bench `new_process`: prints a sum, or nothing without a device.

use dcmetal_benches::new_process::{NUMBERS, SOURCE, THREADS, numbers};
use dcmetal_benches::opencl::Work;

fn main() {
    let groups = NUMBERS.div_ceil(THREADS);
    let global = [groups * THREADS, 1, 1];
    let work = Work::open(SOURCE, "sums", &[&numbers()], groups, NUMBERS as u32, global, [THREADS, 1, 1]);
    let Some(work) = work else { return };
    work.run();
    println!("{}", work.read_output().iter().sum::<u32>());
}
