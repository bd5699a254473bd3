//! Two branches of a graph, beside each other or one behind the other.
//!
//! Each node is one threadgroup, so that on a CPU a branch by itself keeps one processor busy. Two branches can at best take half the time.

use dcmetal::{Accelerator, Buffer, Graph, Grid, Kernel, Result, Transient};

/// Elements of a node: threads, all in one threadgroup.
pub const LEN: usize = 256;
/// Nodes of a branch.
pub const LENGTH: usize = 8;

const SOURCE: &str = "
    kernel void step(device uint* y [[buffer(0)]], device const uint* x [[buffer(1)]], constant uint& rounds [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
        uint v = x[i];
        for (uint r = 0; r < rounds; r++) v = v * 1664525u + 1013904223u + (v >> 7);
        y[i] = v;
    }";

/// The kernel of the nodes.
///
/// # Errors
/// When it does not compile on this device.
pub fn kernel(gpu: &Accelerator) -> Result<Kernel> {
    gpu.compile_msl(SOURCE)?.kernel("step")
}

/// What the branches make of one element.
pub fn reference(x: u32, rounds: u32) -> u32 {
    (0..LENGTH as u32 * rounds)
        .fold(x, |v, _| v.wrapping_mul(1_664_525).wrapping_add(1_013_904_223).wrapping_add(v >> 7))
}

/// Two branches of [`LENGTH`] nodes each; one behind the other if `ordered`.
///
/// # Errors
/// When there is no memory for what they hand on.
pub fn graph(
    gpu: &Accelerator,
    kernel: &Kernel,
    x: &Buffer<u32>,
    ends: &mut [Buffer<u32>; 2],
    ordered: bool,
    rounds: u32,
) -> Result<Graph> {
    let mut graph = gpu.graph();
    let grid = Grid::linear(LEN).threadgroup(LEN);
    let mut last = None;
    for end in ends {
        let mut before = None;
        for at in 0..LENGTH {
            let link = graph.transient::<u32>("link", LEN)?;
            let from = before.map_or_else(|| x.into(), |link: Transient<u32>| link.read());
            let to = if at + 1 == LENGTH { (&mut *end).into() } else { link.write() };
            let node = graph.launch(kernel, grid, [to, from, rounds.into()])?;
            if let (Some(last), true, true) = (last, ordered, at == 0) {
                graph.order(last, node)?;
            }
            before = Some(link);
            last = Some(node);
        }
    }
    graph.build()
}

/// What both branches make of these elements.
pub fn expected(x: &[u32], rounds: u32) -> Vec<u32> {
    x.iter().map(|&x| reference(x, rounds)).collect()
}

/// Overwrites what the branches are to write, so that a run which did not happen is seen.
///
/// # Errors
/// When a submission that uses it failed.
pub fn poison(ends: &mut [Buffer<u32>; 2]) -> Result<()> {
    ends.iter_mut().try_for_each(|end| end.write_from(&[0xdead_beef; LEN]))
}

/// Whether both branches made of each element what they must, which [`expected`] tells.
///
/// # Errors
/// The first element that differs, or why there is none to see.
pub fn verify(wanted: &[u32], ends: &[Buffer<u32>; 2]) -> Result<(), String> {
    for (branch, end) in ends.iter().enumerate() {
        let got = end.to_vec().map_err(|error| error.to_string())?;
        if let Some(i) = (0..LEN).find(|&i| got[i] != wanted[i]) {
            return Err(format!("branch {branch}: [{i}] is {}, not {}", got[i], wanted[i]));
        }
    }
    Ok(())
}
