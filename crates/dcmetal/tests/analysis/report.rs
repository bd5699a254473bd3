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
