//! What reports say: each rule of advice with a kernel to which it applies and one to which it does not, and registers of kernels whose live
//! values are counted by hand.

use std::collections::BTreeSet;

use dcmetal::analysis::{Bound, Chip, Conditions, Core, Limit, Report, Rule};
use dcmetal::clmsl::{Fp64, Options};
use dcmetal::{GpuFamily, Kernel, Size};

use crate::common::gpu;

/// To `bad` every rule applies that MSL can show; `good` does the like, and none applies to it.
const RULES: &str = "#include <metal_stdlib>
using namespace metal;
kernel void bad(device const float* x [[buffer(0)]], device const uint* index [[buffer(1)]],
    device const float* table [[buffer(2)]], constant uint& n [[buffer(3)]], device float* y [[buffer(4)]],
    uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]]) {
    threadgroup float tile[1024];
    tile[l * 32] = x[i * 8];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = exp(sin(tile[l * 32])) + cos(x[index[i]]);
    y[i / n] = sum + table[3];
}
kernel void good(device const float* x [[buffer(0)]], constant float* table [[buffer(1)]], device float* y [[buffer(2)]],
    uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]]) {
    threadgroup float tile[1024];
    tile[l] = x[i] + x[2 * i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float z = tile[l] * 2 + 1, w = z * z + 3, v = w * z + w;
    for (uint k = 0; k < 8; k++) v = v * w + table[k];
    y[i] = v + float(i / 7) + exp(z);
}";

fn kernel(source: &str, name: &str) -> Kernel {
    let library = gpu().compile_msl(source).unwrap_or_else(|error| panic!("{error}"));
    library.kernel(name).unwrap_or_else(|error| panic!("{error}"))
}

fn report(kernel: &Kernel, threads: u64) -> Report {
    let on = Conditions { threadgroup: Size::from([threads, 1, 1]), ..Conditions::default() };
    kernel.report(&on).unwrap_or_else(|error| panic!("{}: {error}", kernel.name()))
}

fn rules(report: &Report) -> BTreeSet<Rule> {
    report.advice.iter().map(|advice| advice.rule).collect()
}

#[test]
fn each_rule_applies_where_it_should_and_not_elsewhere() {
    let bad = kernel(RULES, "bad");
    // 4 KiB of threadgroup memory for 32 threads: 15 SIMD-groups in 60 KiB.
    let in_msl = Rule::ALL.into_iter().filter(|rule| *rule != Rule::Double);
    let told = report(&bad, 32);
    assert_eq!(rules(&told), in_msl.collect(), "{:#?}", told.advice);
    // Each at its place, by line and column of the text.
    let text = |rule: Rule| -> Vec<&str> {
        let all = told.advice.iter().filter(|advice| advice.rule == rule).flat_map(|advice| &advice.at);
        all.map(|at| &RULES.lines().nth(at.line as usize - 1).expect("a line")[at.column as usize - 1..]).collect()
    };
    let begins = |rule, expected: &[&str]| {
        let found = text(rule);
        assert_eq!(found.len(), expected.len(), "{rule:?}: {found:?}");
        expected
            .iter()
            .for_each(|part| assert!(found.iter().any(|text| text.starts_with(part)), "{rule:?}: {found:?}"));
    };
    begins(Rule::Lines, &["x[i * 8]"]);
    begins(Rule::Gather, &["x[index[i]]"]);
    begins(Rule::Division, &["/ n"]);
    begins(Rule::Uniform, &["table[3]"]);
    begins(Rule::Barrier, &["threadgroup_barrier"]);
    begins(Rule::Special, &["exp(", "sin(", "cos("]);
    assert_eq!(text(Rule::Banks).len(), 2);
    // 32 rows of 32 words are in one bank; x uses 4 bytes of 32, and y what cannot be told.
    let lines = told.advice.iter().find(|advice| advice.rule == Rule::Lines).expect("it is there");
    assert!(lines.text.contains("8 lines of 128 bytes and uses 12 %"), "{}", lines.text);
    // A threadgroup of several SIMD-groups needs its barrier.
    assert!(!rules(&report(&bad, 256)).contains(&Rule::Barrier));
    let none = report(&kernel(RULES, "good"), 256);
    assert_eq!(rules(&none), BTreeSet::new(), "{:#?}", none.advice);
}

#[test]
fn doubles_are_advised_against_where_they_are_computed() {
    let source = "kernel void twice(global double* y) { y[get_global_id(0)] *= 2.0; }
        kernel void once(global float* y) { y[get_global_id(0)] *= 2.0f; }";
    let options = Options { fp64: Fp64::Emulate, ..Options::default() };
    let library = gpu().compile_opencl_with("d.cl", source, &options).unwrap_or_else(|error| panic!("{error}"));
    for (name, expected) in [("twice", BTreeSet::from([Rule::Double])), ("once", BTreeSet::new())] {
        let told = report(&library.kernel(name).expect("a kernel"), 256);
        assert_eq!(rules(&told), expected, "{name}: {:#?}", told.advice);
        told.advice.iter().for_each(|advice| assert_eq!(advice.at[0].line, 1, "{advice:?}"));
    }
}

/// Kernels that keep so many values through a loop: numbers of each thread's own, and numbers that all have alike.
fn accumulators(count: usize) -> String {
    let all = |f: &dyn Fn(usize) -> String| (0..count).map(f).collect::<String>();
    let (load, turn, store) = (
        all(&|k| format!("float a{k} = y[i + {k}]; ")),
        all(&|k| format!("a{k} = a{k} * a{} + 1; ", (k + 1) % count)),
        all(&|k| format!("y[i + {k}] = a{k}; ")),
    );
    let (alike, sums) = (all(&|k| format!("float c{k} = c[{k}]; ")), all(&|k| format!("a += c{k} * a; c{k} += 1; ")));
    format!(
        "kernel void own{count}(device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {{
            {load} for (uint r = 0; r < n; r++) {{ {turn} }} {store}
        }}
        kernel void alike{count}(device float* y, constant uint& n, constant float* c, uint i [[thread_position_in_grid]]) {{
            float a = y[i]; {alike} for (uint r = 0; r < n; r++) {{ {sums} }} y[i] = a;
        }}"
    )
}

#[test]
fn registers_are_as_many_as_values_that_live() {
    let counts = [2, 16, 100];
    let source = "#include <metal_stdlib>\nusing namespace metal;\n".to_owned()
        + &counts.map(accumulators).join("\n")
        + "kernel void halves(device half4* y, constant uint& n, uint i [[thread_position_in_grid]]) {
            half4 a = y[i], b = y[i + 1]; for (uint r = 0; r < n; r++) { a = a * b + 1.0h; b = b * a; } y[i] = a + b;
        }
        kernel void private_array(device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {
            float a[40]; for (uint k = 0; k < n; k++) a[k % 40] = y[i + k]; y[i] = a[n % 40];
        }
        kernel void small_array(device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {
            float a[8]; for (uint k = 0; k < 8; k++) a[k] = y[i + k];
            for (uint r = 0; r < n; r++) for (uint k = 0; k < 8; k++) a[k] = a[k] * a[(k + 1) % 8] + 1;
            for (uint k = 0; k < 8; k++) y[i + k] = a[k];
        }";
    let library = gpu().compile_msl(&source).unwrap_or_else(|error| panic!("{error}"));
    let registers = |name: &str| {
        let kernel = library.kernel(name).unwrap_or_else(|error| panic!("{error}"));
        kernel.registers().unwrap_or_else(|error| panic!("{error}")).clone()
    };
    // The values, and at most a handful beside them: the position, a sum on its way.
    let near = |found: u64, values: u64| assert!((values..=values + 5).contains(&found), "{found}, not {values}");
    for count in counts {
        let own = registers(&format!("own{count}"));
        near(own.thread, count as u64);
        assert!(own.uniform <= 16, "{own:?}");
        let alike = registers(&format!("alike{count}"));
        near(alike.thread, 1);
        assert!(alike.uniform >= count as u64 && alike.uniform <= count as u64 + 16, "{alike:?}");
    }
    // Eight numbers of 16 bits are four registers.
    near(registers("halves").thread, 4);
    near(registers("small_array").thread, 8);
    assert_eq!(registers("small_array").private_bytes, 0);
    assert_eq!(registers("private_array").private_bytes, 160);
    let at = registers("own100").at.expect("a place");
    assert_eq!(at.line, 1 + source.lines().position(|line| line.contains("own100")).expect("it is there") as u32 + 1);

    let report = report(&library.kernel("own100").expect("a kernel"), 256);
    assert_eq!(rules(&report), BTreeSet::from([Rule::Occupancy]), "{:#?}", report.advice);
    assert_eq!(report.advice[0].at[0].line, at.line);
    for occupancy in &report.occupancy {
        // 104 registers of 4 bytes are 512 threads (Mesa's table: up to 208 halves), and 100 no more than 576.
        let Core::Threads { threads, limit: Limit::Registers, .. } = occupancy.core else { panic!("{occupancy:?}") };
        assert_eq!(threads, 512, "{occupancy:?}");
    }
}

#[test]
fn what_is_about_the_limit_stands_first() {
    let bad = kernel(RULES, "bad");
    let of = |chip: Option<Chip>| {
        let roofs = chip.map(|chip| chip.roofs());
        let on = Conditions {
            threadgroup: Size::from([32u64, 1, 1]),
            roofs,
            families: vec![GpuFamily::Apple9],
            ..Conditions::default()
        };
        bad.report(&on).expect("it is told")
    };
    let (free, told) = (of(None), of(Chip::named("m1")));
    assert!(free.stand.is_none() && free.advice.iter().all(|advice| !advice.beside_the_limit));
    assert_eq!(told.stand.map(|stand| stand.bound), Some(Bound::Memory));
    let beside: Vec<Rule> =
        told.advice.iter().filter(|advice| advice.beside_the_limit).map(|advice| advice.rule).collect();
    assert_eq!(beside, [Rule::Special, Rule::Division]);
    assert_eq!(beside, told.advice[told.advice.len() - 2..].iter().map(|advice| advice.rule).collect::<Vec<_>>());
    assert!(matches!(told.occupancy[0].core, Core::Unknown(why) if why.contains("Dynamic Caching")));
}

/// Threads of a SIMD-group, bytes of a line, banks and their bytes, as docs/ANALYSIS.md has them: told here again, so that nothing is compared with itself.
const SIMDGROUP: usize = 32;
const LINE: i64 = 128;
const BANKS: i64 = 32;
const BANK: i64 = 4;

/// By enumeration: the least and the most of what the threads of any SIMD-group come to, wherever the memory begins that they share. Each thread's address by its position.
fn enumerated(group: [u64; 3], address: impl Fn([i64; 3]) -> i64, of: impl Fn(&[i64]) -> usize) -> (u64, u64) {
    let [width, height, depth] = group.map(|extent| extent as i64);
    let mut threads = Vec::new();
    for z in 0..depth {
        for y in 0..height {
            threads.extend((0..width).map(|x| address([x, y, z])));
        }
    }
    let whole = threads.len() - threads.len() % SIMDGROUP;
    let threads = if whole > 0 { &threads[..whole] } else { &threads[..] };
    let starts = (0..LINE).step_by(4);
    let all = threads.chunks(SIMDGROUP).flat_map(|lanes| {
        starts.clone().map(|start| of(&lanes.iter().map(|address| address + start).collect::<Vec<_>>()) as u64)
    });
    let all: Vec<u64> = all.collect();
    (*all.iter().min().expect("a SIMD-group"), *all.iter().max().expect("a SIMD-group"))
}

fn lines(addresses: &[i64]) -> usize {
    addresses.iter().map(|address| address.div_euclid(LINE)).collect::<BTreeSet<_>>().len()
}

fn words(addresses: &[i64]) -> usize {
    let words: BTreeSet<i64> = addresses.iter().map(|address| address.div_euclid(BANK)).collect();
    (0..BANKS).map(|bank| words.iter().filter(|word| word.rem_euclid(BANKS) == bank).count()).max().unwrap_or(0)
}

/// One kernel for each index, which writes a float there in device and in threadgroup memory.
fn written(indices: &[&str], opencl: bool) -> String {
    let head = "#include <metal_stdlib>\nusing namespace metal;\n";
    let one = |(number, index): (usize, &&str)| {
        match opencl {
        false => format!(
            "kernel void k{number}(device float* m, constant int& n, device const int* d, uint3 l [[thread_position_in_threadgroup]]) {{
                threadgroup float t[4096]; int x = l.x, y = l.y, z = l.z; m[{index}] = 1; t[{index}] = 1; }}\n"
        ),
        true => format!(
            "kernel void k{number}(global float* m, int n, global const int* d) {{
                local float t[4096]; int x = get_local_id(0), y = get_local_id(1), z = get_local_id(2); m[{index}] = 1; t[{index}] = 1; }}\n"
        ),
    }
    };
    let kernels: String = indices.iter().enumerate().map(one).collect();
    if opencl { kernels } else { head.to_owned() + &kernels }
}

fn of_shape(kernel: &Kernel, group: [u64; 3]) -> Report {
    let on = Conditions { threadgroup: Size::from(group), ..Conditions::default() };
    kernel.report(&on).unwrap_or_else(|error| panic!("{}: {error}", kernel.name()))
}

/// Lines of `m` and words of `t`, and whether both are told.
fn cost(report: &Report) -> ((u64, u64), (u64, u64), bool) {
    let lines = report.accesses.iter().find(|place| place.argument.as_deref() == Some("m")).expect("m");
    let words = report.accesses.iter().find(|place| place.bank_words.is_some()).expect("t");
    assert_eq!(lines.is_told, words.is_told);
    (lines.lines.expect("lines"), words.bank_words.expect("words"), lines.is_told)
}

#[test]
fn simdgroups_of_several_rows_touch_what_all_their_threads_do() {
    type At = fn([i64; 3]) -> i64;
    let cases: [(&str, At); 12] = [
        ("y * 32 + x", |[x, y, _]| y * 32 + x),
        ("y * 33 + x", |[x, y, _]| y * 33 + x),
        ("y * 16 + x", |[x, y, _]| y * 16 + x),
        ("y * 8 + x", |[x, y, _]| y * 8 + x),
        ("y * 64 + x", |[x, y, _]| y * 64 + x),
        ("x * 32 + y", |[x, y, _]| x * 32 + y),
        ("x * 17 + y", |[x, y, _]| x * 17 + y),
        ("2047 - y * 40 - 2 * x", |[x, y, _]| 2047 - y * 40 - 2 * x),
        ("y * 3", |[_, y, _]| y * 3),
        ("x", |[x, _, _]| x),
        ("(z * 4 + y) * 32 + x", |[x, y, z]| (z * 4 + y) * 32 + x),
        ("(z * 4 + y) * 4 + x", |[x, y, z]| (z * 4 + y) * 4 + x),
    ];
    let shapes = [
        [256, 1, 1],
        [16, 16, 1],
        [8, 8, 1],
        [4, 4, 1],
        [32, 2, 1],
        [1, 32, 1],
        [12, 8, 1],
        [48, 4, 1],
        [5, 7, 1],
        [8, 4, 2],
        [4, 4, 4],
        [2, 4, 8],
        [3, 3, 9],
    ];
    let indices = cases.map(|(index, _)| index);
    let gpu = gpu();
    let msl = gpu.compile_msl(&written(&indices, false)).unwrap_or_else(|error| panic!("{error}"));
    let opencl = gpu.compile_opencl(&written(&indices, true)).unwrap_or_else(|error| panic!("{error}"));
    for (number, (index, at)) in cases.iter().enumerate() {
        for group in shapes {
            let address = |position| 4 * at(position);
            let expected = (enumerated(group, address, lines), enumerated(group, address, words));
            let name = format!("k{number}");
            let (found, banks, is_told) = cost(&of_shape(&opencl.kernel(&name).expect("a kernel"), group));
            assert_eq!((found, banks, is_told), (expected.0, expected.1, true), "OpenCL C {index} in {group:?}");
            let (found, banks, is_told) = cost(&of_shape(&msl.kernel(&name).expect("a kernel"), group));
            // Compiled code tells nothing of z.
            if is_told {
                assert_eq!((found, banks), expected, "MSL {index} in {group:?}");
            } else {
                assert!(group[2] > 1, "MSL {index} in {group:?}");
                let spans = |(least, most): (u64, u64), real: (u64, u64)| least <= real.0 && real.1 <= most;
                assert!(spans(found, expected.0) && spans(banks, expected.1), "MSL {index} in {group:?}: {found:?}");
            }
        }
    }
}

/// Counted by hand. A row of 16 floats is half a line and 16 banks, one of 8 a quarter and 8 banks.
#[test]
fn rows_meet_in_banks_and_lie_in_lines_of_their_own() {
    let source = written(
        &["y * 32 + x", "y * 33 + x", "y * 16 + x", "y * 9 + x", "y * n + x", "d[y] + x", "y * 64", "y * 64 + x"],
        false,
    );
    let library = gpu().compile_msl(&source).unwrap_or_else(|error| panic!("{error}"));
    let told = |number: usize, group| cost(&of_shape(&library.kernel(&format!("k{number}")).expect("a kernel"), group));
    let (square, small, wide) = ([16, 16, 1], [8, 8, 1], [32, 2, 1]);
    // Rows a line apart, in the same banks: a line each, and one more where each ends in that of the next.
    assert_eq!(told(0, square), ((2, 3), (2, 2), true));
    assert_eq!(told(0, small), ((4, 5), (4, 4), true));
    // 16 threads, all there are.
    assert_eq!(told(0, [4, 4, 1]), ((4, 5), (4, 4), true));
    assert_eq!(told(0, wide), ((1, 2), (1, 1), true));
    // Two planes of four rows; compiled code does not tell how far apart they are.
    assert_eq!(told(0, [4, 4, 4]), ((4, 10), (4, 8), false));
    // Rows two lines apart share none.
    assert_eq!(told(7, square), ((2, 4), (2, 2), true));
    assert_eq!(told(7, small), ((4, 8), (4, 4), true));
    // One element more does not part rows of 16: banks 0 to 15 and 1 to 16.
    assert_eq!(told(1, square).1, (2, 2));
    // 32 floats behind one another.
    assert_eq!(told(2, square), ((1, 2), (1, 1), true));
    // Rows of 8 begin in banks 0, 9, 18, 27; the last has banks 27 to 31 and 0 to 2.
    assert_eq!(told(3, small).1, (2, 2));
    // Rows nobody knows the distance of may be one, or share nothing.
    for number in [4, 5] {
        assert_eq!(told(number, square), ((1, 4), (1, 2), false));
        assert_eq!(told(number, small), ((1, 8), (1, 4), false));
        assert_eq!(told(number, wide), ((1, 2), (1, 1), true));
    }

    let report = |number: usize, group| of_shape(&library.kernel(&format!("k{number}")).expect("a kernel"), group);
    let of = |report: &Report, rule: Rule| {
        report.advice.iter().find(|advice| advice.rule == rule).map(|advice| advice.text.clone())
    };
    let narrow = report(0, small);
    let text = of(&narrow, Rule::Lines).expect("a quarter of lines");
    assert!(
        text.contains(
            "`m` is reached contiguous, in y 128 bytes apart: a SIMD-group touches 4 lines of 128 bytes and uses 25 %"
        ),
        "{text}"
    );
    let text = of(&narrow, Rule::Banks).expect("conflicts");
    assert!(
        text.contains("4 words of one bank at once, where 1 would do") && text.contains("32 threads wide"),
        "{text}"
    );
    let wide_too = report(0, wide);
    assert!(of(&wide_too, Rule::Lines).is_none() && of(&wide_too, Rule::Banks).is_none());
    // By data are rows, where a SIMD-group has several.
    assert!(of(&report(5, square), Rule::Gather).is_some() && of(&report(5, wide), Rule::Gather).is_none());
    // An address for each row is not one for all.
    let text = of(&report(6, small), Rule::Lines).expect("four lines");
    assert!(text.contains("uniform, in y 256 bytes apart: a SIMD-group touches 4 lines"), "{text}");
    assert!(of(&report(6, wide), Rule::Lines).is_none());
    // Enough threads in a row: the lines of rows at any distance are no fewer.
    let spread = written(&["x * 32 + y * n"], false);
    let spread = of_shape(&gpu().compile_msl(&spread).expect("it compiles").kernel("k0").expect("a kernel"), square);
    let text = of(&spread, Rule::Lines).expect("a line for each of 16");
    assert!(text.contains("touches at least 16 lines of 128 bytes and uses at most 6.2 %"), "{text}");
    let text = of(&spread, Rule::Banks).expect("one bank");
    assert!(text.contains(": at least 16 words of one bank"), "{text}");
}

#[test]
fn what_rows_share_is_no_constant_of_all() {
    let source = "#include <metal_stdlib>\nusing namespace metal;
        kernel void k(device const float* a, device float* y, uint2 p [[thread_position_in_grid]]) { y[p.y * 16 + p.x] = a[p.y * 4]; }";
    let kernel = kernel(source, "k");
    assert!(!rules(&of_shape(&kernel, [16, 16, 1])).contains(&Rule::Uniform));
    assert!(rules(&of_shape(&kernel, [32, 8, 1])).contains(&Rule::Uniform));
}
