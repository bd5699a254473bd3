//! The kernels of this bench, their launches and references.

use crate::support::{Buffer, Pipeline, Queue};
use dcmetal_benches::{is_short, opencl};
use dcmetal_validate::measure::paired;
use hostmetal::msl::{Engine, MathMode};

/// So many times fewer threads have those of one dimension in a short run: a stack for each takes seconds.
const SHORTER: usize = 64;

/// The same work in both languages: over buffers `in`, `more` and `out`, and the number of elements of a row.
#[derive(Clone, Copy)]
struct Work {
    name: &'static str,
    msl: &'static str,
    /// Absent where OpenCL C on this peer has no such functions.
    cl: Option<&'static str>,
    grid: [u64; 3],
    size: [u64; 3],
    input: usize,
    output: usize,
    row: u32,
    /// What element i of the output is, from the two inputs.
    expected: fn(&[f32], &[f32], usize) -> f64,
    tolerance: f64,
}

const MATMUL_MSL: &str = "kernel void run(const device float *a [[buffer(0)]], const device float *b [[buffer(1)]], device float *c [[buffer(2)]], constant uint &n [[buffer(3)]],\n\
   uint2 g [[thread_position_in_grid]], uint2 l [[thread_position_in_threadgroup]]) {\n\
   threadgroup float as[16][16], bs[16][16]; float acc = 0;\n\
   for (uint t = 0; t < n / 16; t++) { as[l.y][l.x] = a[g.y * n + t * 16 + l.x]; bs[l.y][l.x] = b[(t * 16 + l.y) * n + g.x]; threadgroup_barrier(mem_flags::mem_threadgroup);\n\
     for (uint k = 0; k < 16; k++) acc += as[l.y][k] * bs[k][l.x]; threadgroup_barrier(mem_flags::mem_threadgroup); }\n\
   c[g.y * n + g.x] = acc; }";
const MATMUL_CL: &str = "kernel void run(global const float *a, global const float *b, global float *c, uint n) {\n\
   local float as[16][16], bs[16][16]; float acc = 0; uint gx = get_global_id(0), gy = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);\n\
   for (uint t = 0; t < n / 16; t++) { as[ly][lx] = a[gy * n + t * 16 + lx]; bs[ly][lx] = b[(t * 16 + ly) * n + gx]; barrier(CLK_LOCAL_MEM_FENCE);\n\
     for (uint k = 0; k < 16; k++) acc += as[ly][k] * bs[k][lx]; barrier(CLK_LOCAL_MEM_FENCE); }\n\
   c[gy * n + gx] = acc; }";
const TREE_MSL: &str = "kernel void run(const device float *a [[buffer(0)]], const device float *b [[buffer(1)]], device float *c [[buffer(2)]], constant uint &n [[buffer(3)]],\n\
   uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint size [[threads_per_threadgroup]]) {\n\
   threadgroup float s[256]; s[t] = a[i] * b[i]; threadgroup_barrier(mem_flags::mem_threadgroup);\n\
   for (uint k = size / 2; k > 0; k /= 2) { if (t < k) s[t] += s[t + k]; threadgroup_barrier(mem_flags::mem_threadgroup); }\n\
   if (t == 0) c[g] = s[0]; }";
const TREE_CL: &str = "kernel void run(global const float *a, global const float *b, global float *c, uint n) {\n\
   local float s[256]; uint i = get_global_id(0), t = get_local_id(0), size = get_local_size(0); s[t] = a[i] * b[i]; barrier(CLK_LOCAL_MEM_FENCE);\n\
   for (uint k = size / 2; k > 0; k /= 2) { if (t < k) s[t] += s[t + k]; barrier(CLK_LOCAL_MEM_FENCE); }\n\
   if (t == 0) c[get_group_id(0)] = s[0]; }";
const SCAN_MSL: &str = "kernel void run(const device float *a [[buffer(0)]], const device float *b [[buffer(1)]], device float *c [[buffer(2)]], constant uint &n [[buffer(3)]],\n\
   uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint size [[threads_per_threadgroup]]) {\n\
   threadgroup float s[256]; s[t] = a[i]; threadgroup_barrier(mem_flags::mem_threadgroup);\n\
   for (uint k = 1; k < size; k *= 2) { float v = t >= k ? s[t - k] : 0; threadgroup_barrier(mem_flags::mem_threadgroup); s[t] += v; threadgroup_barrier(mem_flags::mem_threadgroup); }\n\
   c[i] = s[t] + b[i]; }";
const SCAN_CL: &str = "kernel void run(global const float *a, global const float *b, global float *c, uint n) {\n\
   local float s[256]; uint i = get_global_id(0), t = get_local_id(0), size = get_local_size(0); s[t] = a[i]; barrier(CLK_LOCAL_MEM_FENCE);\n\
   for (uint k = 1; k < size; k *= 2) { float v = t >= k ? s[t - k] : 0; barrier(CLK_LOCAL_MEM_FENCE); s[t] += v; barrier(CLK_LOCAL_MEM_FENCE); }\n\
   c[i] = s[t] + b[i]; }";
const SIMD_MSL: &str = "kernel void run(const device float *a [[buffer(0)]], const device float *b [[buffer(1)]], device float *c [[buffer(2)]], constant uint &n [[buffer(3)]],\n\
   uint i [[thread_position_in_grid]], uint g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]], uint simdgroups [[simdgroups_per_threadgroup]]) {\n\
   threadgroup float s[32]; float v = simd_sum(a[i] * b[i]); if (lane == 0) s[simdgroup] = v; threadgroup_barrier(mem_flags::mem_threadgroup);\n\
   if (simdgroup == 0) { v = simd_sum(lane < simdgroups ? s[lane] : 0); if (lane == 0) c[g] = v; } }";

fn product_of(a: &[f32], b: &[f32], i: usize) -> f64 {
    let (y, x) = (i / 512, i % 512);
    (0..512).map(|k| f64::from(a[y * 512 + k]) * f64::from(b[k * 512 + x])).sum()
}

fn sum_of(a: &[f32], b: &[f32], i: usize) -> f64 {
    (i * 256..(i + 1) * 256).map(|k| f64::from(a[k]) * f64::from(b[k])).sum()
}

fn scan_of(a: &[f32], b: &[f32], i: usize) -> f64 {
    (i / 256 * 256..=i).map(|k| f64::from(a[k])).sum::<f64>() + f64::from(b[i])
}

const MANY: usize = 1 << 22;
const WORKS: &[Work] = &[
    Work {
        name: "tiled matrix product, 512",
        msl: MATMUL_MSL,
        cl: Some(MATMUL_CL),
        grid: [512, 512, 1],
        size: [16, 16, 1],
        input: 512 * 512,
        output: 512 * 512,
        row: 512,
        expected: product_of,
        tolerance: 1e-4,
    },
    Work {
        name: "tree reduction, 4 Mi",
        msl: TREE_MSL,
        cl: Some(TREE_CL),
        grid: [MANY as u64, 1, 1],
        size: [256, 1, 1],
        input: MANY,
        output: MANY / 256,
        row: MANY as u32,
        expected: sum_of,
        tolerance: 1e-4,
    },
    Work {
        name: "scan of threadgroups, 4 Mi",
        msl: SCAN_MSL,
        cl: Some(SCAN_CL),
        grid: [MANY as u64, 1, 1],
        size: [256, 1, 1],
        input: MANY,
        output: MANY,
        row: MANY as u32,
        expected: scan_of,
        tolerance: 1e-4,
    },
    // PoCL 3.1 has no sub-groups: its tree is compared with simd_sum.
    Work {
        name: "reduction by simd_sum, 4 Mi (PoCL: tree)",
        msl: SIMD_MSL,
        cl: Some(TREE_CL),
        grid: [MANY as u64, 1, 1],
        size: [256, 1, 1],
        input: MANY,
        output: MANY / 256,
        row: MANY as u32,
        expected: sum_of,
        tolerance: 1e-4,
    },
];

impl Work {
    /// All but the matrix.
    fn shorter(self) -> Work {
        if self.grid[1] > 1 {
            return self;
        }
        let Work { grid: [threads, ..], input, output, row, .. } = self;
        let (input, output, row) = (input / SHORTER, output / SHORTER, row / SHORTER as u32);
        Work { grid: [threads / SHORTER as u64, 1, 1], input, output, row, ..self }
    }
}

/// Compares an output with the reference at every place.
fn verify(work: &Work, who: &str, a: &[f32], b: &[f32], got: &[f32]) {
    assert_eq!(got.len(), work.output, "{}: elements", work.name);
    for (i, &value) in got.iter().enumerate() {
        let expected = (work.expected)(a, b, i);
        let error = (f64::from(value) - expected).abs();
        assert!(
            error <= work.tolerance * expected.abs().max(1.0),
            "{}, {who}: [{i}] is {value}, not {expected}",
            work.name
        );
    }
}

pub(crate) fn main() {
    let queue = Queue::new();
    if is_short() {
        println!("short: of 4 Mi threads a {SHORTER}th, and one turn of each side");
    }
    // cargo adds `--bench`; anything else is a part of the names of those to run.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    for work in WORKS.iter().filter(|work| wanted.is_empty() || wanted.iter().any(|part| work.name.contains(part))) {
        let work = &if is_short() { work.shorter() } else { *work };
        let mut random = crate::stdlib::Random(7);
        let mut numbers = || (0..work.input).map(|_| random.between(-1.0, 1.0)).collect::<Vec<f32>>();
        let (a, b) = (numbers(), numbers());
        let inputs = [Buffer::of(&a), Buffer::of(&b)];
        let run = |pipeline: &Pipeline, out: &Buffer| {
            let done = queue.run(|encoder| {
                encoder.pipeline(pipeline);
                encoder.buffer(&inputs[0], 0);
                encoder.buffer(&inputs[1], 1);
                encoder.buffer(out, 2);
                encoder.bytes(&work.row, 3);
                encoder.threads(work.grid, work.size);
            });
            done.assert_completed();
        };
        let sides = [Engine::Pass, Engine::Stack].map(|engine| {
            let loaded = crate::stdlib::load(work.msl, MathMode::Fast, engine);
            println!("{}: {engine:?} was built for {}", work.name, loaded.built());
            let (pipeline, out) = (crate::stdlib::pipeline(loaded), Buffer::new(work.output as u64 * 4));
            run(&pipeline, &out);
            verify(work, &format!("{engine:?}"), &a, &b, &out.read::<f32>());
            (pipeline, out)
        });
        let pass = || run(&sides[0].0, &sides[0].1);
        let rounds = if is_short() { 1 } else { 9 };
        println!("{}: pass against stacks: {}", work.name, paired(rounds, 1, pass, || run(&sides[1].0, &sides[1].1)));
        let words = |floats: &[f32]| floats.iter().map(|float| float.to_bits()).collect::<Vec<u32>>();
        let (grid, size) = (work.grid.map(|n| n as usize), work.size.map(|n| n as usize));
        let open = |cl| opencl::Work::open(cl, "run", &[&words(&a), &words(&b)], work.output, work.row, grid, size);
        match work.cl.and_then(open) {
            None => println!("{}: no OpenCL implementation to compare with", work.name),
            Some(mut peer) => {
                peer.write_output(u32::MAX);
                peer.run();
                let output: Vec<f32> = peer.read_output().into_iter().map(f32::from_bits).collect();
                verify(work, "the peer", &a, &b, &output);
                let ratio = paired(if is_short() { 1 } else { 15 }, 1, pass, || peer.run());
                println!("{}: pass against {}: {ratio}", work.name, peer.name());
            }
        }
        for (side, engine) in sides.iter().zip(["pass", "stacks"]) {
            verify(work, engine, &a, &b, &side.1.read::<f32>());
        }
    }
}
