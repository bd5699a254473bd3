//! Kernels with barriers and SIMD-group functions: loops that the LLVM pass makes, against a stack per thread, and against PoCL with
//! the same algorithm in OpenCL C, on the same threads in the same run. Every output is verified before a figure is printed.
//!
//! `cargo bench -p dcmetal-benches --bench barriers [-- [--short] [PART OF A NAME]...]`

#[cfg(target_os = "linux")]
#[path = "barriers/kernels.rs"]
mod kernels;
#[cfg(target_os = "linux")]
#[path = "../../crates/hostmetal/tests/stdlib/mod.rs"]
mod stdlib;
#[cfg(target_os = "linux")]
#[path = "../../crates/hostmetal/tests/support/mod.rs"]
mod support;

fn main() {
    #[cfg(target_os = "linux")]
    kernels::main();
    #[cfg(not(target_os = "linux"))]
    println!("barriers: hostmetal, whose engines are compared, is for Linux");
}
