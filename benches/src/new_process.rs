//! The work of the bench `new_process`, which one program does with dcmetal and another one with OpenCL.

/// Sums of 256 numbers each, in local memory.
pub const SOURCE: &str = "\
kernel void sums(global const uint *x, global uint *sum, uint n) {
  local uint part[256];
  size_t i = get_global_id(0), at = get_local_id(0);
  part[at] = i < n ? x[i] * x[i] : 0;
  for (uint step = 128; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at < step)
      part[at] += part[at + step];
  }
  if (at == 0)
    sum[get_group_id(0)] = part[0];
}
";

/// Threads of a threadgroup.
pub const THREADS: usize = 256;
/// How many numbers are summed: no multiple of the threads.
pub const NUMBERS: usize = 100_003;

/// What is summed.
pub fn numbers() -> Vec<u32> {
    (0..NUMBERS as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 24).collect()
}

/// The sum of the squares.
pub fn expected() -> u32 {
    numbers().iter().map(|x| x * x).sum()
}
