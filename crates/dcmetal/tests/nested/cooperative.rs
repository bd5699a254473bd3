//! The prelude `dcmetal::COOPERATIVE`: tiles, SIMD-groups and threadgroups of threads, compared with the same in Rust.

use bytemuck::Pod;
use dcmetal::{Accelerator, Grid, args};
use half::f16;

use crate::common::{Random, gpu, msl, poisoned};

const COOPERATING: &str = "
using namespace dcmetal;
template <uint W> void all_of(device const uint *x, device const float *f, device uint *y, uint i, uint lane, uint n) {
    tile<W> t(lane);
    uint v = x[i];
    y[0 * n + i] = t.template reduce<add>(v);
    y[1 * n + i] = t.template reduce<least>(v);
    y[2 * n + i] = t.template reduce<most>(v);
    y[3 * n + i] = t.template reduce<bit_xor>(v);
    y[4 * n + i] = t.template inclusive_scan<add>(v);
    y[5 * n + i] = t.template exclusive_scan<most>(v, 7u);
    y[6 * n + i] = t.shuffle(v, t.thread_rank() * 3 + 1);
    y[7 * n + i] = t.broadcast(v, W - 1);
    y[8 * n + i] = t.shuffle_up(v, 2);
    y[9 * n + i] = t.shuffle_down(v, 1);
    y[10 * n + i] = t.ballot(v % 3 == 0);
    y[11 * n + i] = uint(t.any(v % 7 == 0)) + 2 * uint(t.all(v % 7 != 0)) + 4 * t.rank() + 1000 * t.size();
    y[12 * n + i] = as_type<uint>(t.sum(f[i]));
    y[13 * n + i] = t.shuffle_xor(v, 1);
    y[14 * n + i] = t.template reduce<multiply>(v | 1);
    y[15 * n + i] = t.template reduce<bit_and>(v | 0xF0u);
    y[16 * n + i] = t.template reduce<bit_or>(v & 0xF0F0u);
    ushort2 both = t.sum(ushort2(v, v >> 16));
    y[17 * n + i] = both.x | uint(both.y) << 16;
    y[18 * n + i] = t.template exclusive_scan<add>(v, 9u);
    y[19 * n + i] = t.template exclusive_scan<multiply>(v | 1, 9u);
}
kernel void tiles(device const uint *x [[buffer(0)]], device const float *f [[buffer(1)]], device uint *y [[buffer(2)]],
                  constant uint &w [[buffer(3)]], uint i [[thread_position_in_grid]], uint n [[threads_per_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
    switch (w) {
    case 2: all_of<2>(x, f, y, i, lane, n); break;
    case 4: all_of<4>(x, f, y, i, lane, n); break;
    case 8: all_of<8>(x, f, y, i, lane, n); break;
    case 16: all_of<16>(x, f, y, i, lane, n); break;
    case 32: all_of<32>(x, f, y, i, lane, n); break;
    }
}
kernel void threadgroups(device const uint *x [[buffer(0)]], device const float *f [[buffer(1)]], device uint *y [[buffer(2)]],
                         uint i [[thread_position_in_grid]], uint n [[threads_per_grid]], uint lane [[thread_index_in_simdgroup]],
                         uint number [[simdgroup_index_in_threadgroup]], uint count [[simdgroups_per_threadgroup]]) {
    threadgroup uint parts[32];
    threadgroup float parts_of_floats[32];
    group g(lane, number, count);
    y[i] = g.sum(x[i], parts);
    y[n + i] = g.reduce<most>(x[i], parts);
    y[2 * n + i] = g.inclusive_scan<add>(x[i], parts);
    y[3 * n + i] = g.inclusive_scan<most>(x[i] >> 5, parts);
    y[4 * n + i] = g.reduce<bit_xor>(x[i], parts);
    y[5 * n + i] = g.reduce<bit_and>(x[i] | 0xF0u, parts);
    y[6 * n + i] = g.inclusive_scan<multiply>(x[i] | 1, parts);
    y[7 * n + i] = as_type<uint>(g.sum(f[i], parts_of_floats));
    y[8 * n + i] = g.reduce<least>(x[i], parts);
    y[9 * n + i] = g.reduce<multiply>(x[i] | 1, parts);
    y[10 * n + i] = g.reduce<bit_or>(x[i] & 0xF0F0u, parts);
    y[11 * n + i] = g.inclusive_scan<least>(x[i], parts);
    y[12 * n + i] = g.inclusive_scan<bit_and>(x[i] | 0xF0u, parts);
    y[13 * n + i] = g.inclusive_scan<bit_or>(x[i] >> 7 & 0xF0F0u, parts);
    y[14 * n + i] = g.inclusive_scan<bit_xor>(x[i], parts);
    // Of the thread at the other end, by way of the device's memory.
    uint own = number * 32 + lane, other = i - own + count * 32 - 1 - own;
    y[15 * n + i] = x[i] ^ 1;
    g.sync_device();
    y[16 * n + i] = y[15 * n + other];
}
template <class T> void of_type(T v, T w, device T *y, threadgroup T *parts, uint i, uint n, tile<8> t, group g) {
    y[0 * n + i] = t.template inclusive_scan<add>(v);
    y[1 * n + i] = t.template exclusive_scan<least>(v, T(0));
    y[2 * n + i] = g.template reduce<least>(v, parts);
    y[3 * n + i] = g.template reduce<most>(v, parts);
    y[4 * n + i] = g.sum(v, parts);
    y[5 * n + i] = g.template reduce<multiply>(w, parts);
    y[6 * n + i] = g.template inclusive_scan<add>(v, parts);
    y[7 * n + i] = g.template inclusive_scan<least>(v, parts);
    y[8 * n + i] = g.template inclusive_scan<most>(v, parts);
    y[9 * n + i] = g.template inclusive_scan<multiply>(w, parts);
}
#define OF_TYPE(T)                                                                                                                   \\
    kernel void of_##T(device const T *v [[buffer(0)]], device const T *w [[buffer(1)]], device T *y [[buffer(2)]],                  \\
                           uint i [[thread_position_in_grid]], uint n [[threads_per_grid]], uint lane [[thread_index_in_simdgroup]], \\
                           uint number [[simdgroup_index_in_threadgroup]], uint count [[simdgroups_per_threadgroup]]) {              \\
        threadgroup T parts[32];                                                                                                     \\
        of_type<T>(v[i], w[i], y, parts, i, n, tile<8>(lane), group(lane, number, count));                                           \\
    }
OF_TYPE(int) OF_TYPE(half) OF_TYPE(float) OF_TYPE(float4)
";

fn source() -> String {
    format!("{}{COOPERATING}", dcmetal::COOPERATIVE)
}

/// What the kernel `tiles` writes for a tile of `x` and `f`.
fn tile_of(x: &[u32], f: &[f32], number: usize) -> Vec<Vec<u32>> {
    let n = x.len();
    let bits =
        |holds: &dyn Fn(u32) -> bool| x.iter().enumerate().fold(0u32, |all, (i, v)| all | u32::from(holds(*v)) << i);
    let word = u32::from(x.iter().any(|v| v % 7 == 0)) + 2 * u32::from(x.iter().all(|v| v % 7 != 0));
    let by_thread = |i: usize| {
        vec![
            x.iter().fold(0, |all: u32, v| all.wrapping_add(*v)),
            *x.iter().min().expect("a thread"),
            *x.iter().max().expect("a thread"),
            x.iter().fold(0, |all, v| all ^ v),
            x[..=i].iter().fold(0, |all: u32, v| all.wrapping_add(*v)),
            x[..i].iter().max().copied().unwrap_or(7),
            x[(i * 3 + 1) % n],
            x[n - 1],
            if i >= 2 { x[i - 2] } else { x[i] },
            if i + 1 < n { x[i + 1] } else { x[i] },
            bits(&|v| v % 3 == 0),
            word + 4 * (number % (32 / n)) as u32 + 1000 * n as u32,
            tree_of(f, |a, b| a + b).to_bits(),
            x[i ^ 1],
            x.iter().fold(1, |all: u32, v| all.wrapping_mul(v | 1)),
            x.iter().fold(u32::MAX, |all, v| all & (v | 0xF0)),
            x.iter().fold(0, |all, v| all | v & 0xF0F0),
            x.iter().fold(0, |all: u32, v| all.wrapping_add(*v) & 0xFFFF)
                | x.iter().fold(0, |all: u32, v| all.wrapping_add(v >> 16)) << 16,
            if i == 0 { 9 } else { x[..i].iter().fold(0, |all: u32, v| all.wrapping_add(*v)) },
            if i == 0 { 9 } else { x[..i].iter().fold(1, |all: u32, v| all.wrapping_mul(v | 1)) },
        ]
    };
    (0..n).map(by_thread).collect()
}

/// Run in this process, and in another one by hostmetal's other engine.
fn tiles_and_threadgroups() {
    let gpu = gpu();
    let [tiles, threadgroups] = ["tiles", "threadgroups"].map(|name| msl(&gpu, &source(), name));
    let mut random = Random(5);
    let n = 3072;
    let values: Vec<u32> = (0..n).map(|_| random.next() as u32).collect();
    let floats: Vec<f32> = (0..n).map(|_| random.range(-1 << 20, 1 << 20) as f32 / 1021.0).collect();
    let (x, f) = (gpu.buffer_from(&values).expect("a buffer"), gpu.buffer_from(&floats).expect("a buffer"));
    let grid = Grid::linear(n).threadgroup(96u32);
    for width in [2, 4, 8, 16, 32usize] {
        let mut y = poisoned::<u32>(&gpu, 20 * n);
        tiles
            .launch(grid, args![&x, &f, &mut y, width as u32])
            .and_then(|s| s.wait())
            .unwrap_or_else(|e| panic!("{e}"));
        let got = y.to_vec().expect("values");
        for (number, (x, f)) in values.chunks(width).zip(floats.chunks(width)).enumerate() {
            for (at, wanted) in tile_of(x, f, number).into_iter().enumerate() {
                let thread = number * width + at;
                let got: Vec<u32> = (0..20).map(|op| got[op * n + thread]).collect();
                assert_eq!(got, wanted, "thread {thread} of tiles of {width}");
            }
        }
    }
    for group in [32, 96, 1024] {
        let mut y = poisoned::<u32>(&gpu, 17 * n);
        let grid = Grid::linear(n).threadgroup(group as u32);
        threadgroups.launch(grid, args![&x, &f, &mut y]).and_then(|s| s.wait()).unwrap_or_else(|e| panic!("{e}"));
        let got = y.to_vec().expect("values");
        for (number, (x, f)) in values.chunks(group).zip(floats.chunks(group)).enumerate() {
            for (at, wanted) in threadgroup_of(x, f).into_iter().enumerate() {
                let thread = number * group + at;
                let got: Vec<u32> = (0..17).map(|op| got[op * n + thread]).collect();
                assert_eq!(got, wanted, "thread {thread} of threadgroups of {group}");
            }
        }
    }
    let mut near_one = |_| random.range(900, 1101) as f32 / if random.range(0, 2) == 0 { -1000.0 } else { 1000.0 };
    let floats: Vec<f32> = (0..4 * n).map(&mut near_one).collect();
    let halves: Vec<f16> = floats.iter().map(|value| f16::from_f32(*value)).collect();
    let vectors: Vec<[f32; 4]> = floats.chunks(4).map(|four| [four[0], four[1], four[2], four[3]]).collect();
    let ints: Vec<i32> = values.iter().map(|value| *value as i32 >> 12).collect();
    let signs: Vec<i32> = values.iter().map(|value| if value % 2 == 0 { -1 } else { 1 }).collect();
    of_type(&gpu, "int", [&ints, &signs], [|a, b| a + b, |a, b| a * b, Ord::min, Ord::max]);
    of_type(&gpu, "half", [&halves[..n]; 2], [|a, b| a + b, |a, b| a * b, f16::min, f16::max]);
    of_type(&gpu, "float", [&floats[..n]; 2], [|a, b| a + b, |a, b| a * b, f32::min, f32::max]);
    fn each(a: [f32; 4], b: [f32; 4], of: fn(f32, f32) -> f32) -> [f32; 4] {
        std::array::from_fn(|i| of(a[i], b[i]))
    }
    of_type(
        &gpu,
        "float4",
        [&vectors; 2],
        [
            |a, b| each(a, b, |a, b| a + b),
            |a, b| each(a, b, |a, b| a * b),
            |a, b| each(a, b, f32::min),
            |a, b| each(a, b, f32::max),
        ],
    );
}

/// What the kernel `threadgroups` writes for a threadgroup of `x` and `f`.
fn threadgroup_of(x: &[u32], f: &[f32]) -> Vec<Vec<u32>> {
    let scan = |of: fn(u32, u32) -> u32, value: fn(u32) -> u32| -> Vec<u32> {
        let next = |all: &mut Option<u32>, x: &u32| {
            *all = Some(all.map_or(value(*x), |all| of(all, value(*x))));
            *all
        };
        x.iter().scan(None, next).collect()
    };
    let all =
        |of: fn(u32, u32) -> u32, value: fn(u32) -> u32| x.iter().map(|x| value(*x)).reduce(of).expect("a thread");
    let sum_of_floats = group_of(f, |a, b| a + b).0.to_bits();
    // For all threads alike, and for each.
    let alike = |value: u32| vec![value; x.len()];
    let rows = [
        alike(all(u32::wrapping_add, |x| x)),
        alike(all(u32::max, |x| x)),
        scan(u32::wrapping_add, |x| x),
        scan(u32::max, |x| x >> 5),
        alike(all(|a, b| a ^ b, |x| x)),
        alike(all(|a, b| a & b, |x| x | 0xF0)),
        scan(u32::wrapping_mul, |x| x | 1),
        alike(sum_of_floats),
        alike(all(u32::min, |x| x)),
        alike(all(u32::wrapping_mul, |x| x | 1)),
        alike(all(|a, b| a | b, |x| x & 0xF0F0)),
        scan(u32::min, |x| x),
        scan(|a, b| a & b, |x| x | 0xF0),
        scan(|a, b| a | b, |x| x >> 7 & 0xF0F0),
        scan(|a, b| a ^ b, |x| x),
        x.iter().map(|x| x ^ 1).collect(),
        x.iter().rev().map(|x| x ^ 1).collect(),
    ];
    (0..x.len()).map(|at| rows.iter().map(|row| row[at]).collect()).collect()
}

/// Compares a kernel `of_...` with the same by addition, multiplication, minimum and maximum, in threadgroups of one SIMD-group and of 32.
fn of_type<T: Pod + PartialEq + std::fmt::Debug>(
    gpu: &Accelerator,
    name: &str,
    given: [&[T]; 2],
    [add, multiply, least, most]: [fn(T, T) -> T; 4],
) {
    let n = given[0].len();
    let kernel = msl(gpu, &source(), &format!("of_{name}"));
    let buffers = given.map(|values| gpu.buffer_from(values).expect("a buffer"));
    for group in [32, 1024] {
        let mut y = poisoned::<T>(gpu, 10 * n);
        let launched =
            kernel.launch(Grid::linear(n).threadgroup(group as u32), args![&buffers[0], &buffers[1], &mut y]);
        launched.and_then(|s| s.wait()).unwrap_or_else(|e| panic!("{e}"));
        let got = y.to_vec().expect("values");
        // Of the tiles or threadgroups, one behind the other.
        let each =
            |at: usize, width: usize, of: &dyn Fn(&[T]) -> Vec<T>| given[at].chunks(width).flat_map(of).collect();
        let alike = |part: &[T], value: T| vec![value; part.len()];
        let shifted = |part: &[T]| [&[T::zeroed()], &scan_of(part, least)[..part.len() - 1]].concat();
        let rows: [Vec<T>; 10] = [
            each(0, 8, &|part| scan_of(part, add)),
            each(0, 8, &shifted),
            each(0, group, &|part| alike(part, group_of(part, least).0)),
            each(0, group, &|part| alike(part, group_of(part, most).0)),
            each(0, group, &|part| alike(part, group_of(part, add).0)),
            each(1, group, &|part| alike(part, group_of(part, multiply).0)),
            each(0, group, &|part| group_of(part, add).1),
            each(0, group, &|part| group_of(part, least).1),
            each(0, group, &|part| group_of(part, most).1),
            each(1, group, &|part| group_of(part, multiply).1),
        ];
        for (op, wanted) in rows.iter().enumerate() {
            assert_eq!(&got[op * n..(op + 1) * n], wanted, "{op} of {name} in threadgroups of {group}");
        }
    }
}

/// Of values in the order that the prelude promises.
fn tree_of<T: Copy>(values: &[T], of: impl Fn(T, T) -> T + Copy) -> T {
    match values {
        [one] => *one,
        _ => {
            let (low, high) = values.split_at(values.len() / 2);
            tree_of(&low.iter().zip(high).map(|(a, b)| of(*a, *b)).collect::<Vec<_>>(), of)
        }
    }
}

/// The scan of a tile, the same.
fn scan_of<T: Copy>(values: &[T], of: fn(T, T) -> T) -> Vec<T> {
    let mut all = values.to_vec();
    let mut step = 1;
    while step < all.len() {
        all = (0..all.len()).map(|i| if i < step { all[i] } else { of(all[i - step], all[i]) }).collect();
        step *= 2;
    }
    all
}

/// All of a threadgroup, and its scan: of those of its SIMD-groups, of which some are not there.
fn group_of<T: Copy>(values: &[T], of: fn(T, T) -> T) -> (T, Vec<T>) {
    let mut parts: Vec<Option<T>> = values.chunks(32).map(|part| Some(tree_of(part, of))).collect();
    parts.resize(32, None);
    let either = |a: Option<T>, b: Option<T>| a.zip(b).map(|(a, b)| of(a, b)).or(a).or(b);
    let scans: Vec<Vec<T>> = values.chunks(32).map(|part| scan_of(part, of)).collect();
    let before = scan_of(&scans.iter().map(|scan| scan[scan.len() - 1]).collect::<Vec<_>>(), of);
    let own = |(number, scan): (usize, &Vec<T>)| -> Vec<T> {
        scan.iter().map(|value| if number > 0 { of(before[number - 1], *value) } else { *value }).collect()
    };
    (tree_of(&parts, either).expect("a SIMD-group"), scans.iter().enumerate().flat_map(own).collect())
}

#[test]
fn tiles_and_threadgroups_do_what_they_say() {
    tiles_and_threadgroups();
    if cfg!(target_os = "linux") && std::env::var_os("HOSTMETAL_ENGINE").is_none() {
        let this = std::env::current_exe().expect("a path");
        let mut again = std::process::Command::new(this);
        again
            .args(["--exact", "cooperative::tiles_and_threadgroups_do_what_they_say"])
            .env("HOSTMETAL_ENGINE", "stack");
        let output = again.output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// With its line, of the text that was compiled, and its column.
#[test]
fn a_barrier_of_a_grid_in_msl_is_refused_where_it_stands() {
    let gpu = gpu();
    let lines = dcmetal::COOPERATIVE.lines().count();
    let wanted = "is unavailable: MSL has no barrier of a grid, since Metal promises no progress between threadgroups: launch one kernel up to there and another behind it, write the kernel in OpenCL C, which is cut at dc_grid_barrier(), or launch one threadgroup and use dcmetal::group::sync_device()";
    for (statement, column, name) in [
        ("    dcmetal::grid all(lane, i); all.sync();", 14, "grid"),
        ("    dcmetal::grid all; all.sync();", 14, "grid"),
        ("    dc_grid_barrier();", 5, "dc_grid_barrier"),
    ] {
        let source = format!(
            "{}kernel void k(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]],\n    uint lane [[thread_index_in_simdgroup]]) {{\n{statement}\n    y[i] = lane;\n}}\n",
            dcmetal::COOPERATIVE
        );
        let error = gpu.compile_msl(&source).expect_err(statement).to_string();
        let place = format!(":{}:{column}: error: '{name}' {wanted}", lines + 3);
        assert!(error.contains(&place) && error.contains(statement), "{statement}: {error}");
    }
}
