//! Threadgroup sizes: what launches choose and why, what is measured, and where that is remembered.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::{gpu, msl, refused};
use dcmetal::clmsl::{self, FactKind};
use dcmetal::{
    Accelerator, Arg, Error, Grid, Kernel, PixelFormat, Size, TextureDescriptor, ThreadgroupReason, TuneOptions,
    Tuning, args,
};
use sha2::{Digest, Sha256};

const FOLDER: &str = "DCMETAL_TEST_TUNINGS";

const PLAIN: &str = "kernel void k(global uint* y) { y[get_global_id(0)] += 1; }";
/// What each thread sees of its threadgroup.
const SEES: &str = "kernel void k(global uint* y) { y[get_global_id(0)] = (uint)get_local_size(0); }";
const LOOPS: &str = "kernel void k(global uint* y, uint n) {
    uint sum = 0;
    for (uint i = 0; i < n; i++) sum += i ^ get_global_id(0);
    y[get_global_id(0)] = sum; }";
const LOOPS_AND_SEES: &str = "kernel void k(global uint* y, uint n) {
    for (uint i = 0; i < n; i++) y[get_global_id(0)] += (uint)get_local_size(0); }";
const LONG: &str = "kernel void k(global float* y) {
    float x = y[get_global_id(0)];
    for (int i = 0; i < 200; i++) x = x * 0.5f + 1.0f;
    y[get_global_id(0)] = x; }";
const LOCAL: &str =
    "kernel void k(global uint* y) { local uint t[256]; t[0] = 1; barrier(CLK_LOCAL_MEM_FENCE); y[0] = t[0]; }";
const REQUIRED: &str =
    "__attribute__((reqd_work_group_size(8, 1, 1))) kernel void k(global uint* y) { y[get_global_id(0)] = 1; }";
/// What each thread has for itself, in rows, in columns, turned; and what threads share, or have by several places.
const ROWS: &str = "kernel void k(global const float* x, global float* y, uint w) {
    size_t at = get_global_id(1) * w + get_global_id(0);
    y[at] =
        x[at] + x[0]; }";
const COLUMNS: &str = "kernel void k(global const float* x, global float* y, uint w) {
    size_t at = get_global_id(0) * w + get_global_id(1);
    y[at] = x[at]; }";
const TURNED: &str = "kernel void k(global const float* x, global float* y, uint w) {
    float v = x[get_global_id(1) * w + get_global_id(0)];
    y[get_global_id(0) * w + get_global_id(1)] = v; }";
const ROUNDS_OF_ROWS: &str = "kernel void k(global uint* y, uint w) {
    size_t at = get_global_id(1) * w + get_global_id(0);
    uint sum = y[at];
    for (uint i = 0; i < w; i++) sum += i ^ w;
    y[at] = sum; }";
/// Of two dimensions, with a body in which `at` is the place of the thread in rows, and `i` and `j` its position.
const NO_LAYOUT: [&str; 10] = [
    // A stencil; rows and one of them for all; a product; places by data; a loop over a column; what the group's size decides.
    "y[at] = x[at] + x[at + 1];",
    "y[at] = x[at] + z[i];",
    "float s = 0; for (uint k = 0; k < w; k++) s += x[j * w + k] * z[k * w + i]; y[at] = s;",
    "y[at] = x[(size_t)z[at]];",
    "float s = 0; for (uint k = 0; k < w; k++) s += x[k * w * w + at]; y[at] = s;",
    "float s = 0; for (uint k = 0; k < 4; k++) s += x[k * w + at]; y[at] = s;",
    "y[at] = get_local_id(0);",
    "y[i] = x[j];",
    "y[at % 7] = 1;",
    // One place that is come to in a loop too.
    "float s = of(x, at); for (uint k = 0; k < w; k++) s += of(x, at); y[at] = s;",
];
const MSL: &str = "kernel void k(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += 1; }";
const MSL_LOOPS: &str = "kernel void k(device uint* y [[buffer(0)]], constant uint& n [[buffer(1)]],
    uint i [[thread_position_in_grid]]) {
    uint sum = 0;
    for (uint k = 0; k < n; k++) sum += k ^ i;
    y[i] = sum; }";
const MSL_SEES: &str = "kernel void k(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]], \
    uint n [[threads_per_threadgroup]]) { y[i] = n; }";
const MSL_LOCAL: &str =
    "kernel void k(device uint* y [[buffer(0)]], threadgroup uint* t [[threadgroup(0)]]) { t[0] = 1; y[0] = t[0]; }";

fn opencl(gpu: &Accelerator, source: &str) -> Kernel {
    let library = gpu.compile_opencl(source).unwrap_or_else(|error| panic!("{error}"));
    library.kernel("k").unwrap_or_else(|error| panic!("{error}"))
}

fn newer(gpu: &Accelerator, source: &str) -> Kernel {
    let options = clmsl::Options { std: clmsl::Std::Cl20, ..Default::default() };
    let library = gpu.compile_opencl_with("k.cl", source, &options).unwrap_or_else(|error| panic!("{error}"));
    library.kernel("k").unwrap_or_else(|error| panic!("{error}"))
}

/// With time for machines that are busy with other things.
fn patient() -> TuneOptions {
    TuneOptions { time: Duration::from_secs(600), ..TuneOptions::default() }
}

fn vouched() -> TuneOptions {
    TuneOptions { any_size: true, ..patient() }
}

#[test]
fn choices_name_the_facts_they_rest_on() {
    let gpu = gpu();
    let (old, new, sees, local, required) =
        (opencl(&gpu, PLAIN), newer(&gpu, PLAIN), opencl(&gpu, SEES), opencl(&gpu, LOCAL), opencl(&gpu, REQUIRED));
    let (plain, dynamic) = (msl(&gpu, MSL, "k"), msl(&gpu, MSL_LOCAL, "k"));
    let (loops, loops_and_sees, long) = (opencl(&gpu, LOOPS), opencl(&gpu, LOOPS_AND_SEES), opencl(&gpu, LONG));
    let limits = gpu.limits();
    let most = new.max_threads_per_threadgroup().min(limits.max_threads_per_threadgroup.x);
    let width = new.execution_width();
    assert!(most == 1024 && width == 32, "these cases are for such devices");
    let bytes = limits.max_threadgroup_memory;
    let dynamic_barriers = if cfg!(target_os = "linux") { "no barriers" } else { "barriers unknown" };
    use ThreadgroupReason::{Advised, Grid as Named, Required, Spread, Tall, Wide};
    let (rows, columns, turned, rounds_of_rows) =
        (opencl(&gpu, ROWS), opencl(&gpu, COLUMNS), opencl(&gpu, TURNED), opencl(&gpu, ROUNDS_OF_ROWS));
    let cases: &[(&Kernel, Grid, Size, ThreadgroupReason, &[&str])] = &[
        (
            &new,
            Grid::linear(5),
            5u32.into(),
            Advised,
            &["5x1x1 of a grid of 5x1x1 threads: all threads", "no barriers"],
        ),
        (&new, Grid::linear(1_000_003), most.into(), Advised, &["the most threads that kernel and device allow; "]),
        (
            &new,
            Grid::linear(31),
            31u32.into(),
            Advised,
            &[&format!("({} places of each", 31u64.next_multiple_of(width) - 31)],
        ),
        (
            &sees,
            Grid::linear(3 * 1021),
            1021u32.into(),
            Advised,
            &[
                "that divide it",
                "OpenCL C 1.2",
                "and the kernel has a position or size of work-groups (OpenCL source:1)",
            ],
        ),
        (&old, Grid::linear(2048), most.into(), Advised, &["allow; the kernel's limit"]),
        (&old, Grid::linear(2003), most.into(), Advised, &["allow; the last are partial, since nothing in the kernel"]),
        (&new, Grid::threads((640u32, 480u32)), (width, most / width).into(), Advised, &["the execution width, by"]),
        (
            &sees,
            Grid::threads((33u32, 2u32)),
            (11u32, 2u32).into(),
            Advised,
            &["the execution width, by", "that divide it"],
        ),
        (&new, Grid::linear(64).threadgroup(7u32), 7u32.into(), Named, &["named by the grid"]),
        (
            &new,
            Grid::threadgroups(3u32, 9u32),
            9u32.into(),
            Named,
            &["9x1x1 of a grid of 27x1x1 threads: named by the grid"],
        ),
        (&required, Grid::linear(64), 8u32.into(), Required, &["required by the kernel", "no barriers"]),
        (
            &local,
            Grid::linear(32),
            32u32.into(),
            Advised,
            &[&format!("1024 of {bytes} bytes of threadgroup memory; 1 barrier")],
        ),
        (&dynamic, Grid::linear(32), 32u32.into(), Advised, &["more by arguments", dynamic_barriers]),
        (
            &loops,
            Grid::linear(203),
            64u32.into(),
            Spread,
            &["have some of 4 threadgroups, as each thread runs a loop", "(OpenCL source:3); the last are partial"],
        ),
        (&loops, Grid::linear(1 << 30), most.into(), Advised, &["the most threads that kernel and device allow; "]),
        (&loops, Grid::linear(2003).threadgroup(1u32), 1u32.into(), Named, &["named by the grid; "]),
        (&long, Grid::threads((width, 6u64)), (width, 2u64).into(), Spread, &["as each thread has 600 operations"]),
        (&loops_and_sees, Grid::linear(1000), 1000u32.into(), Advised, &["all threads of the grid"]),
        (
            &rows,
            Grid::threads((2048u32, 512u32)),
            (256u32, 4u32).into(),
            Wide,
            &[": wide, as each thread's memory is beside that of its neighbour in x (OpenCL source:3); the kernel's"],
        ),
        (&rows, Grid::threads((2003u32, 3u32)), (256u32, 3u32).into(), Wide, &["; the last are partial, since"]),
        (&rows, Grid::linear(64), 64u32.into(), Advised, &["all threads of the grid"]),
        (
            &columns,
            Grid::threads((2048u32, 512u32)),
            (4u32, 256u32).into(),
            Tall,
            &[": tall, as each thread's memory is beside that of its neighbour in y (OpenCL source:3); the kernel's"],
        ),
        (
            &turned,
            Grid::threads((2048u32, 512u32)),
            (8u32, 128u32).into(),
            Tall,
            &["in x (OpenCL source:2), and in y (OpenCL source:3); "],
        ),
        (&turned, Grid::threads((64u32, 64u32)).threadgroup((4u32, 4u32)), (4u32, 4u32).into(), Named, &["named by"]),
        (
            &rounds_of_rows,
            Grid::threads((64u32, 4u32)),
            (64u32, 1u32).into(),
            Spread,
            &["(OpenCL source:4); they lie as memory does: each thread's memory is beside that of its neighbour in x"],
        ),
    ];
    for &(kernel, grid, size, reason, words) in cases {
        let choice = kernel.threadgroup_choice(&grid).unwrap_or_else(|error| panic!("{grid}: {error}"));
        assert_eq!((choice.size, choice.reason), (size, reason), "{grid}: {choice}");
        assert_eq!(kernel.threadgroup_for(&grid).unwrap(), size, "{grid}");
        let text = choice.to_string();
        for word in words {
            assert!(text.contains(word), "{grid}: {word:?} in {text:?}");
        }
        assert!(
            text.contains(&format!("the kernel's limit is {} threads", kernel.max_threads_per_threadgroup())),
            "{text}"
        );
    }
    assert!(matches!(refused(new.threadgroup_choice(&Grid::linear(0))), Error::GridZero { .. }));
    // OpenCL C's own, named sizes are whole all the same.
    assert!(matches!(
        refused(loops.threadgroup_for(&Grid::linear(2003).threadgroup(64u32))),
        Error::ThreadgroupUneven { .. }
    ));
    let partial = |kernel: &Kernel| kernel.threadgroup_for(&Grid::linear(2003).threadgroup(64u32).partial());
    assert_eq!(partial(&loops).unwrap(), 64u32.into());
    assert!(matches!(refused(partial(&sees)), Error::ThreadgroupUneven { .. }));
    let facts = |kernel: &Kernel| kernel.analysis().map(|analysis| analysis.group_dependences()).ok();
    assert_eq!(facts(&new), Some(vec![]));
    assert_eq!(facts(&sees), Some(vec![FactKind::GroupPosition]));
    assert_eq!(facts(&local), Some(vec![FactKind::Barrier, FactKind::LocalMemory]));
    // Apple's Metal tells nothing of MSL.
    let of_msl = cfg!(target_os = "linux");
    assert_eq!(facts(&plain), of_msl.then(Vec::new));
    assert_eq!(facts(&dynamic), of_msl.then(|| vec![FactKind::LocalMemory]));
}

#[test]
fn threadgroups_lie_as_memory_only_where_each_thread_has_its_own() {
    let gpu = gpu();
    let grid = Grid::threads((2048u32, 512u32));
    for body in NO_LAYOUT {
        let source = format!(
            "float of(global const float* p, size_t k) {{ return p[k]; }}
             kernel void k(global const float* x, global const float* z, global float* y, uint w) {{
             size_t i = get_global_id(0), j = get_global_id(1), at = j * w + i; {body} }}"
        );
        let kernel = opencl(&gpu, &source);
        let choice = kernel.threadgroup_choice(&grid).unwrap();
        // What the group's size decides lies in rows all the same.
        assert_eq!(choice.layout.is_some(), body.contains("local_id"), "{body}");
        let width = kernel.execution_width();
        assert_eq!((choice.reason, choice.size.x), (ThreadgroupReason::Advised, width), "{body}: {choice}");
    }
}

/// A launch asks nobody: of MSL the analysis counts from when it is known, and on Apple's Metal it never is.
#[test]
fn threadgroups_of_msl_lie_as_memory_once_that_is_known() {
    let gpu = gpu();
    let source = "kernel void k(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
    constant uint& w [[buffer(2)]], uint2 at [[thread_position_in_grid]]) {
    y[at.x * w + at.y] = x[at.y * w + at.x]; }";
    let kernel = msl(&gpu, source, "k");
    let grid = Grid::threads((2048u32, 512u32));
    let width = kernel.execution_width();
    let advised = Size::from((width, kernel.max_threads_per_threadgroup() / width));
    assert_eq!(kernel.threadgroup_for(&grid).unwrap(), advised);
    let choice = kernel.threadgroup_choice(&grid).unwrap();
    if cfg!(target_os = "macos") {
        assert_eq!((choice.size, choice.reason), (advised, ThreadgroupReason::Advised), "{choice}");
        return;
    }
    assert_eq!((choice.size, choice.reason), ((8u32, 128u32).into(), ThreadgroupReason::Tall), "{choice}");
    assert!(choice.to_string().contains("in x (MSL source:3), and in y (MSL source:3)"), "{choice}");
    let (w, h) = (100u32, 70u32);
    let x: Vec<f32> = (0..w * h).map(|i| i as f32).collect();
    let (from, mut to) = (gpu.buffer_from(&x).unwrap(), gpu.buffer_zeroed::<f32>(x.len()).unwrap());
    let of = kernel.threadgroup_choice(&Grid::threads((w, w))).unwrap();
    assert_eq!((of.size, of.reason), ((8u32, 100u32).into(), ThreadgroupReason::Tall), "{of}");
    // A square of the first `h` columns and rows.
    kernel.launch(Grid::threads((h, h)), args![&from, &mut to, w]).unwrap().wait().unwrap();
    let to = to.to_vec().unwrap();
    for at in 0..(h - 1) * w {
        let (i, j) = (at / w, at % w);
        let expected = if j < h { x[(j * w + i) as usize] } else { 0.0 };
        assert_eq!(to[at as usize], expected, "{i} {j}");
    }
}

#[test]
fn what_may_depend_on_the_size_is_not_tuned() {
    let gpu = gpu();
    let grid = Grid::linear(64);
    let on_hostmetal = cfg!(target_os = "linux");
    let unknown = if on_hostmetal { "a position or size of work-groups" } else { "is unknown" };
    let memory = if on_hostmetal { "it uses local memory" } else { "it uses threadgroup memory" };
    let cases: [(&str, Kernel, Grid, &[&str]); 8] = [
        ("positions", opencl(&gpu, SEES), grid, &["its results may depend", "a position or size of work-groups"]),
        ("barriers", opencl(&gpu, LOCAL), grid, &["its results may depend", "a barrier, local memory"]),
        ("MSL", msl(&gpu, MSL_SEES, "k"), grid, &["its results may depend", unknown]),
        ("required", opencl(&gpu, REQUIRED), grid, &["it requires its threadgroup"]),
        ("named", opencl(&gpu, PLAIN), grid.threadgroup(8u32), &["the grid names the threadgroup"]),
        ("threadgroups", opencl(&gpu, PLAIN), Grid::threadgroups(8u32, 8u32), &["the grid names the threadgroup"]),
        ("no time", opencl(&gpu, PLAIN), grid, &["three runs of each", "0ns"]),
        (
            "fences",
            opencl(&gpu, "kernel void k(global uint* y) { mem_fence(CLK_GLOBAL_MEM_FENCE); y[0] = 1; }"),
            grid,
            &["a fence"],
        ),
    ];
    for (name, kernel, grid, words) in cases {
        let mut y = gpu.buffer_zeroed::<u32>(64).unwrap();
        let time = if name == "no time" { Duration::ZERO } else { Duration::from_secs(60) };
        let options = TuneOptions { time, ..TuneOptions::default() };
        let error = refused(kernel.tune(grid, args![&mut y], &options));
        assert!(matches!(error, Error::NotTunable { .. }), "{name}: {error}");
        for word in words {
            assert!(error.to_string().contains(word), "{name}: {word:?} in {error}");
        }
        assert_eq!(y.to_vec().unwrap(), [0; 64], "{name}");
        let reason = kernel.threadgroup_choice(&grid).unwrap().reason;
        assert!(!matches!(reason, ThreadgroupReason::Measured { .. }), "{name}");
    }
    let local = msl(&gpu, MSL_LOCAL, "k");
    let mut y = gpu.buffer_zeroed::<u32>(64).unwrap();
    let error = refused(local.tune(grid, args![&mut y, Arg::threadgroup::<u32>(4)], &patient()));
    assert!(error.to_string().contains(memory), "{error}");
    // What a launch would refuse, tuning refuses.
    let error = refused(opencl(&gpu, PLAIN).tune(grid, args![&y], &patient()));
    assert!(matches!(error, Error::ArgumentReadOnly { .. }), "{error}");
}

/// What is known of MSL counts once it was asked for, and not before: a launch does not wait for it.
#[test]
fn launches_choose_by_what_is_known_of_msl() {
    let gpu = gpu();
    let kernel = msl(&gpu, MSL_LOOPS, "k");
    let grid = Grid::linear(200);
    let mut y = gpu.buffer_zeroed::<u32>(200).unwrap();
    let sums = |n: u32| (0..200).map(|i| (0..n).map(|k| k ^ i).sum::<u32>()).collect::<Vec<_>>();
    kernel.launch(grid, args![&mut y, 5u32]).unwrap().wait().unwrap();
    assert_eq!((kernel.threadgroup_for(&grid).unwrap(), y.to_vec().unwrap()), (200u32.into(), sums(5)));
    let choice = kernel.threadgroup_choice(&grid).unwrap();
    match cfg!(target_os = "linux") {
        true => {
            assert_eq!((choice.size, choice.reason), (64u32.into(), ThreadgroupReason::Spread), "{choice}");
            let text = choice.to_string();
            assert!(text.contains("some of 4 threadgroups") && text.contains("(MSL source:4)"), "{text}");
        }
        false => assert_eq!(choice.reason, ThreadgroupReason::Advised, "{choice}"),
    }
    assert_eq!(kernel.threadgroup_for(&grid).unwrap(), choice.size);
    kernel.launch(grid, args![&mut y, 7u32]).unwrap().wait().unwrap();
    assert_eq!(y.to_vec().unwrap(), sums(7));
}

/// Each thread of the grid runs once and no other does, where threadgroups of OpenCL C 1.2 are partial and where they are small.
#[test]
fn every_thread_of_a_chosen_threadgroup_runs_once() {
    let gpu = gpu();
    let source = "kernel void k(global uint* y, global uint* count, uint n) {
        size_t at = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
        atomic_inc(count);
        for (uint i = 0; i < n; i++) y[at] += i; }";
    let kernel = opencl(&gpu, source);
    for threads in [[2003u32, 1, 1], [1366, 3, 1], [37, 41, 1], [5, 7, 11], [1, 1, 1], [70_001, 1, 1]] {
        let all = threads.iter().product::<u32>();
        let mut y = gpu.buffer_zeroed::<u32>(all as usize).unwrap();
        let mut count = gpu.buffer_zeroed::<u32>(1).unwrap();
        let grid = Grid::threads(threads);
        kernel.launch(grid, args![&mut y, &mut count, 4u32]).unwrap().wait().unwrap();
        assert_eq!(count.to_vec().unwrap(), [all], "{grid}");
        assert!(y.to_vec().unwrap().iter().all(|sum| *sum == 1 + 2 + 3), "{grid}");
        let choice = kernel.threadgroup_choice(&grid).unwrap();
        assert!(choice.partial_by_analysis && !choice.whole_threadgroups, "{choice}");
    }
}

/// Whether it is known that its results do not depend on the size.
fn is_free(kernel: &Kernel) -> bool {
    kernel.analysis().is_ok_and(|analysis| analysis.group_dependences().is_empty())
}

fn check(kernel: &Kernel, grid: Grid, tuning: &Tuning) {
    let choice = kernel.threadgroup_choice(&grid).unwrap();
    let reason = ThreadgroupReason::Measured { time: tuning.time, vouched: !is_free(kernel) };
    assert_eq!((choice.size, choice.reason), (tuning.size, reason), "{choice}");
    assert!(choice.to_string().contains("measured as the fastest for such grids"), "{choice}");
    let best = &tuning.candidates[0];
    assert_eq!((best.size, best.median()), (tuning.size, tuning.time));
    assert_eq!(tuning.candidates.iter().filter(|candidate| candidate.advised).count(), 1);
    let text = tuning.to_string();
    for candidate in &tuning.candidates {
        assert!(candidate.times.len() <= best.times.len() && text.contains(&candidate.size.to_string()), "{text}");
        assert!(candidate.times.len() < best.times.len() || candidate.median() >= tuning.time, "{text}");
    }
}

/// Each run takes places by an atomic counter, in as many as there are: a second run on the same memory would go beyond it.
#[test]
fn memory_is_what_it_was_before() {
    let gpu = gpu();
    let source =
        "kernel void k(global uint* all, global uint* count, global const uint* x, write_only image2d_t image) {
        uint i = get_global_id(0), place = atomic_inc(count);
        all[place < 64 ? place : 1ul << 60] = x[i] * 2 + place;
        write_imageui(image, (int2)(i % 8, i / 8), (uint4)(count[0]));
    }";
    let kernel = opencl(&gpu, source);
    let xs: Vec<u32> = (0..64).collect();
    let mut memory = gpu.buffer_from(&vec![7u32; 128]).unwrap();
    let x = gpu.buffer_from(&xs).unwrap();
    let mut image = gpu.texture_from(&TextureDescriptor::d2(PixelFormat::R32Uint, 8, 8), &vec![9u32; 64]).unwrap();
    // The counter and the places are parts of one buffer.
    memory.write().unwrap()[..64].fill(0);
    let grid = Grid::linear(64);
    let (mut count, mut all) = memory.split_at_mut(64).unwrap();
    let tuning = kernel.tune(grid, args![all.reborrow(), count.reborrow(), &x, &mut image], &patient()).unwrap();
    check(&kernel, grid, &tuning);
    let before: Vec<u32> = [vec![0; 64], vec![7; 64]].concat();
    assert_eq!(memory.to_vec().unwrap(), before);
    assert_eq!(image.to_vec::<u32>().unwrap(), vec![9u32; 64]);
    assert_eq!(x.to_vec().unwrap(), xs);
    // And the kernel does its work afterwards, once.
    let (mut count, mut all) = memory.split_at_mut(64).unwrap();
    kernel.launch(grid, args![all.reborrow(), count.reborrow(), &x, &mut image]).unwrap().wait().unwrap();
    let after = memory.to_vec().unwrap();
    assert_eq!(after[0], 64);
    let sum: u32 = after[64..].iter().sum();
    assert_eq!(sum, xs.iter().sum::<u32>() * 2 + xs.iter().sum::<u32>());
}

#[test]
fn shapes_are_measured_within_the_limits() {
    let gpu = gpu();
    let source = "kernel void k(global uint* y) {
        y[(get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0)] = 1; }";
    for (grid, whole, version) in [
        (Grid::linear(1000), true, opencl as fn(&Accelerator, &str) -> Kernel),
        (Grid::linear(1000), false, newer),
        (Grid::linear(1009), false, opencl),
        (Grid::threads((64u32, 48u32)), true, opencl),
        (Grid::threads((61u32, 47u32)), false, newer),
        (Grid::threads((61u32, 47u32)), false, opencl),
        (Grid::threads((17u32, 16u32, 15u32)), false, newer),
        (Grid::linear(1), true, opencl),
    ] {
        // Whole where the kernel can tell.
        let tells = source.replace("{", "{ if (get_local_size(0) > 0)");
        let kernel = version(&gpu, if whole { &tells } else { source });
        let mut y = gpu.buffer_zeroed::<u32>(8192).unwrap();
        let options = TuneOptions { runs: 3, any_size: whole, ..patient() };
        let advised = kernel.threadgroup_for(&grid).unwrap();
        let tuning = kernel.tune(grid, args![&mut y], &options).unwrap_or_else(|error| panic!("{grid}: {error}"));
        check(&kernel, grid, &tuning);
        let threads = tuning.threads.to_array();
        for (at, candidate) in tuning.candidates.iter().enumerate() {
            let size = candidate.size;
            assert_eq!(candidate.advised, size == advised, "{grid}: {tuning}");
            assert!(tuning.candidates[..at].iter().all(|other| other.size != size), "{grid}: {tuning}");
            assert!(size.volume().unwrap() <= kernel.max_threads_per_threadgroup(), "{grid}: {size}");
            for (side, n) in size.to_array().into_iter().zip(threads) {
                assert!(side <= n && (!whole || n % side == 0), "{grid}: {size}");
            }
            assert!((1..=3).contains(&candidate.times.len()), "{grid}: {tuning}");
        }
        assert!(tuning.candidates.len() > 2 || grid == Grid::linear(1), "{grid}: {tuning}");
        assert_eq!(y.to_vec().unwrap(), vec![0; 8192], "{grid}");
        // It is measured once.
        let again = kernel.tune(grid, args![&mut y], &options).unwrap();
        assert_eq!((again.size, again.time, again.candidates.len()), (tuning.size, tuning.time, 0));
        assert!(again.to_string().ends_with("remembered"), "{again}");
    }
}

#[test]
fn who_vouches_may_tune_what_may_depend_on_the_size() {
    let gpu = gpu();
    let kernel = newer(&gpu, "kernel void k(global uint* y) { if (get_local_size(0) > 0) y[get_global_id(0)] += 1; }");
    let mut y = gpu.buffer_zeroed::<u32>(4096).unwrap();
    let grid = Grid::linear(4096);
    let tuning = kernel.tune(grid, args![&mut y], &vouched()).unwrap();
    check(&kernel, grid, &tuning);
    let choice = kernel.threadgroup_choice(&grid).unwrap().to_string();
    assert!(choice.contains("the caller said that any size gives the same results"), "{choice}");
    kernel.launch(grid, args![&mut y]).unwrap().wait().unwrap();
    assert_eq!(y.to_vec().unwrap(), [1; 4096]);
    // Grids of the same class use it, others do not, and whoever names a threadgroup has it.
    let reason = |grid: Grid| kernel.threadgroup_choice(&grid).unwrap().reason;
    assert!(matches!(reason(Grid::linear(2049)), ThreadgroupReason::Measured { .. }));
    for grid in [Grid::linear(2048), Grid::linear(4097), Grid::threads((4096u32, 2u32))] {
        assert_eq!(reason(grid), ThreadgroupReason::Advised, "{grid}");
    }
    assert_eq!(reason(grid.threadgroup(32u32)), ThreadgroupReason::Grid);
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("kernels");
    (place, folder)
}

/// The files of measured sizes, by name.
fn files(folder: &Path) -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files = entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path()));
    files.filter(|(name, _)| name.ends_with(".threadgroup")).collect()
}

/// What this process tunes with a folder: by a kernel whose results cannot depend on the size, and one that is vouched for.
fn tune(folder: &Path, width: usize) -> [Tuning; 2] {
    let gpu = gpu();
    gpu.keep_kernels(folder, u64::MAX).unwrap();
    let mut y = gpu.buffer_zeroed::<u32>(width).unwrap();
    let grid = Grid::linear(width);
    [(opencl(&gpu, PLAIN), patient()), (opencl(&gpu, SEES), vouched())].map(|(kernel, options)| {
        let kept = kernel.threadgroup_choice(&grid).unwrap();
        let tuning = kernel.tune(grid, args![&mut y], &options).unwrap();
        let known = matches!(kept.reason, ThreadgroupReason::Measured { .. });
        assert_eq!(known, tuning.candidates.is_empty(), "launches use it before anybody asks: {kept}");
        assert_eq!(kernel.threadgroup_for(&grid).unwrap(), tuning.size);
        tuning
    })
}

/// Runs when this test starts itself as another process, with a folder.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    for tuning in tune(Path::new(&folder), 1024) {
        println!("\nchild: {} {:?} {}", tuning.size, tuning.time, tuning.candidates.len());
    }
}

fn in_another_process(folder: &Path) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    let output = command.args(["--exact", "child", "--nocapture"]).env(FOLDER, folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    told.lines().filter_map(|line| line.strip_prefix("child: ")).map(str::to_owned).collect()
}

#[test]
fn another_process_does_not_measure() {
    let (_place, folder) = folder();
    let first = tune(&folder, 1024);
    assert!(first.iter().all(|tuning| !tuning.candidates.is_empty()));
    let wanted: Vec<String> = first.iter().map(|tuning| format!("{} {:?} 0", tuning.size, tuning.time)).collect();
    assert_eq!(in_another_process(&folder), wanted);
    let files = files(&folder);
    assert_eq!(files.len(), 2);
    for path in files.values() {
        assert_eq!(fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777, 0o600);
    }
    // Of another class of grids: a file of its own.
    tune(&folder, 512);
    assert_eq!(self::files(&folder).len(), 4);
    assert_eq!(in_another_process(&folder), wanted);
}

/// Puts a text where that of a file was, under a name that fits it.
fn forge(path: &Path, text: &str) {
    let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = path.file_name().unwrap().to_str().unwrap();
    let forged = path.with_file_name(format!("{}-{hash}.threadgroup", &name[..64]));
    fs::write(&forged, text).unwrap();
    fs::set_permissions(&forged, fs::Permissions::from_mode(0o600)).unwrap();
    if forged != path {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_is_wrong_is_measured_again() {
    type Harm = fn(&Path);
    let harms: &[(&str, Harm)] = &[
        ("a changed byte", |file| {
            let mut bytes = fs::read(file).unwrap();
            bytes[30] ^= 1;
            fs::write(file, bytes).unwrap();
        }),
        ("an empty file", |file| fs::write(file, "").unwrap()),
        ("a file that others may write", |file| fs::set_permissions(file, fs::Permissions::from_mode(0o622)).unwrap()),
        ("a link", |file| {
            let aside = file.with_file_name("aside");
            fs::rename(file, &aside).unwrap();
            symlink(aside, file).unwrap();
        }),
        ("a text that says something else", |file| forge(file, "dcmetal threadgroup 2\n")),
        ("a text of another form", |file| forge(file, &fs::read_to_string(file).unwrap().replace("size ", "size 0"))),
        ("no text", |file| {
            forge(file, "x");
            let name = file.file_name().unwrap().to_str().unwrap();
            let bytes = [0xFFu8; 100];
            let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            let path = file.with_file_name(format!("{}-{hash}.threadgroup", &name[..64]));
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }),
        ("a size of nothing", |file| change_size(file, "0 1 1")),
        ("a size beyond every limit", |file| change_size(file, "1000000000 1 1")),
        ("a size whose product is too large to be a number", |file| {
            change_size(file, "18446744073709551615 18446744073709551615 1");
        }),
        ("a size of two dimensions", |file| change_size(file, "32 2 1")),
        ("nobody vouches", |file| {
            let text = fs::read_to_string(file).unwrap();
            // The other kernel's file says so already: then it is as good as before.
            forge(file, &text.replace("vouched true", "vouched false"));
        }),
    ];
    let (_place, good) = folder();
    let first = tune(&good, 1024);
    for (name, harm) in harms {
        let (_place, folder) = folder();
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        for entry in fs::read_dir(&good).unwrap().map(|entry| entry.unwrap()) {
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        files(&folder).into_values().for_each(|file| harm(&file));
        let [plain, sees] = tune(&folder, 1024);
        let measured = [&plain, &sees].map(|tuning| !tuning.candidates.is_empty());
        assert_eq!(measured, [*name != "nobody vouches", true], "{name}");
        if !measured[0] {
            assert_eq!(plain.size, first[0].size, "{name}");
        }
        let wanted: Vec<String> =
            [&plain, &sees].iter().map(|tuning| format!("{} {:?} 0", tuning.size, tuning.time)).collect();
        assert_eq!(in_another_process(&folder), wanted, "{name}");
        assert_eq!(files(&folder).len(), 2, "{name}");
    }
}

fn change_size(file: &Path, size: &str) {
    let text = fs::read_to_string(file).unwrap();
    let line = text.lines().find(|line| line.starts_with("size ")).unwrap();
    forge(file, &text.replace(line, &format!("size {size}")));
}

#[test]
fn a_kernel_that_fails_is_not_tuned() {
    let gpu = gpu();
    let kernel = opencl(&gpu, "kernel void k(global uint* y, ulong far) { y[get_global_id(0) + far] = 1; }");
    let mut y = gpu.buffer_from(&[3u32; 256]).unwrap();
    let grid = Grid::linear(256);
    let error = refused(kernel.tune(grid, args![&mut y, 1u64 << 60], &patient()));
    assert!(matches!(error, Error::Submission(_)), "{error}");
    assert_eq!(y.to_vec().unwrap(), [3; 256], "its own memory is not what failed");
    assert_eq!(kernel.threadgroup_choice(&grid).unwrap().reason, ThreadgroupReason::Advised);
    // It may be tuned where it does not fail.
    check(&kernel, grid, &kernel.tune(grid, args![&mut y, 0u64], &patient()).unwrap());
    assert_eq!(y.to_vec().unwrap(), [3; 256]);
}
