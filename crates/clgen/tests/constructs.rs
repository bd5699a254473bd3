//! What generated programs are made of: every construct that they are meant to have occurs, and clang accepts them.

use std::io::Write;
use std::process::{Command, Stdio};

use clgen::{Arg, Choices, Program, generate, generate_large};

/// Programs looked at.
const PROGRAMS: u64 = 600;

/// A construct and words that are in one line of each program that has it, in this order.
#[rustfmt::skip]
const CONSTRUCTS: &[(&str, &[&str])] = &[
    ("images of one dimension", &["__kernel", "read_only image1d_t"]),
    ("buffers as images", &["__kernel", "read_only image1d_buffer_t"]),
    ("arrays of images of one dimension", &["__kernel", "read_only image1d_array_t"]),
    ("images of two dimensions", &["__kernel", "read_only image2d_t"]),
    ("arrays of images", &["__kernel", "read_only image2d_array_t"]),
    ("images of three dimensions", &["__kernel", "read_only image3d_t"]),
    ("written images of one dimension", &["__kernel", "write_only image1d_t"]),
    ("written buffers", &["__kernel", "write_only image1d_buffer_t"]),
    ("written arrays of one dimension", &["__kernel", "write_only image1d_array_t"]),
    ("written arrays", &["__kernel", "write_only image2d_array_t"]),
    ("written images of three dimensions", &["__kernel", "write_only image3d_t"]),
    ("images through helpers", &["(read_only image3d_t im, sampler_t s, int4 at)"]),
    ("samplers as arguments", &["__kernel", ", sampler_t "]),
    ("linear filters", &["__constant sampler_t", "CLK_FILTER_LINEAR"]),
    ("coordinates that repeat", &["CLK_ADDRESS_REPEAT"]),
    ("filtered fractions, scaled back", &["convert_int4_rte(read_imagef(", " * 16320.0f"]),
    ("texels that are written", &["write_imageui("]),
    ("sizes of arrays of images", &["get_image_array_size("]),
    ("grids of two dimensions", &["get_group_id(0) + get_group_id(1) *"]),
    ("grids of three dimensions", &["get_local_id(1) + get_local_id(2) *"]),
    ("jumps out of statements", &["goto L"]),
    ("loops made of jumps", &["if (i", "++ <", ") goto L"]),
    ("a switch that enters a loop", &["ENTER_CASE(j"]),
    ("jumps into loops", &["ENTER_JUMP(j"]),
    ("tables of structures", &["__constant struct", "[2] = { {"]),
    ("tables of tables", &["__constant", "[2][4] = { {"]),
    ("strings", &["__constant char", "[8] = \"a text\""]),
    ("structures by value", &["(struct R", " x"]),
    ("structures by pointer", &["(struct R", "* q"]),
    ("structures in global memory by pointer", &["(__global struct R", "* q"]),
    ("structures in constant memory by pointer", &["(__constant struct R", "* q"]),
    ("pointers to constants", &["(__global const", "* q"]),
    ("pointers to local memory", &["(__local ", "* q"]),
    ("pointers to private memory", &["(__private ", "* q"]),
    ("calls with the address of a structure", &["= w", "(&r"]),
    ("members of what a function returns", &["h", ").f0"]),
    ("arrays of structures", &["[get_global_id(0) & 1]."]),
    ("one of two pointers", &["* p", " ? ", " : &"]),
    ("pointers that move", &["for (", "* p", "; p", "++)"]),
    ("returns from within loops", &["        if (", ") return "]),
    ("kernels left early", &["    if (", ") return;"]),
    ("unions", &["union"]),
    ("vectors of three", &["uchar3"]),
    ("wide vectors", &["float16"]),
    ("shuffles", &["shuffle2("]),
    ("copies by the work-group", &["async_work_group_copy("]),
    ("copies with strides", &["async_work_group_strided_copy("]),
    ("atomic sums in global memory", &["atomic_add(&acc"]),
    ("atomic sums in local memory", &["atomic_add(&c"]),
    ("comparing and exchanging until it holds", &["atomic_cmpxchg(&acc[0]", "while ("]),
    ("atomic operations on one's own", &["= atomic_xchg(&"]),
    ("functions of sub-groups", &["sub_group_scan_inclusive_"]),
    ("functions of work-groups", &["work_group_reduce_"]),
    ("work_group_broadcast in dimensions", &["work_group_broadcast(", ", 0, "]),
    ("bits as another type", &["as_ushort4("]),
    ("saturated and rounded conversions", &["convert_uchar", "_sat_rtn("]),
    ("halves loaded", &["vload_half4("]),
    ("aligned halves loaded", &["vloada_half4("]),
    ("halves stored, rounded to nearest", &["vstore_half", "_rte("]),
    ("halves stored, rounded to zero", &["vstore_half", "_rtz("]),
    ("halves stored, rounded up", &["vstore_half", "_rtp("]),
    ("halves stored, rounded down", &["vstore_half", "_rtn("]),
    ("aligned halves stored", &["vstorea_half"]),
    ("printf of numbers", &["printf(", "%", "d"]),
    ("printf of vectors", &["printf(\"", "%", "v4hl"]),
    ("printf of strings", &["printf(\"", "s", "\"a longer text\""]),
    ("exact functions of floats", &["fmod("]),
    ("exponents", &["ldexp("]),
    ("results through pointers", &["= frexp("]),
    ("double", &["convert_double"]),
];

fn programs() -> Vec<Program> {
    (0..PROGRAMS).map(|seed| generate(&mut Choices::of_seed(seed))).collect()
}

fn has(line: &str, words: &[&str]) -> bool {
    let mut rest = line;
    words.iter().all(|word| match rest.split_once(word) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

#[test]
fn every_construct_occurs() {
    let programs = programs();
    let mut missing = Vec::new();
    for (construct, words) in CONSTRUCTS {
        let count = programs.iter().filter(|p| p.source.lines().any(|line| has(line, words))).count();
        if count == 0 {
            missing.push(*construct);
        }
    }
    assert!(missing.is_empty(), "in {PROGRAMS} programs there are no {missing:?}");
}

/// A label in a block further in than a jump to it: the block is one that begins behind the jump.
#[test]
fn some_jumps_lead_into_statements() {
    let into = |source: &str| {
        let lines: Vec<&str> = source.lines().collect();
        let indent = |line: &str| line.len() - line.trim_start().len();
        lines.iter().enumerate().any(|(at, line)| {
            let Some((_, label)) = line.trim_end_matches(" \\").split_once("goto ") else { return false };
            let label = label.replace(';', ": ;");
            let target = lines[at..].iter().position(|line| line.trim_start().starts_with(&label));
            target.is_some_and(|to| indent(lines[at + to]) > indent(line))
        })
    };
    let count = programs().iter().filter(|p| into(&p.source)).count();
    assert!(count * 50 > PROGRAMS as usize, "{count} of {PROGRAMS}");
}

/// PoCL takes jumps wrongly where work-items wait for each other (`jump`).
#[test]
fn kernels_with_barriers_have_no_loops_made_of_jumps() {
    for program in programs() {
        let backward = program.source.lines().any(|line| has(line, &["if (", "++ <", "goto L"]));
        let irreducible = program.source.contains("ENTER_DO(j");
        assert!(!(backward || irreducible) || !program.source.contains("barrier("), "{}", program.source);
    }
}

#[test]
fn arguments_are_of_every_kind() {
    let programs = programs();
    let any = |test: &dyn Fn(&Program) -> bool| programs.iter().any(test);
    for dimensions in 1..=3 {
        assert!(any(&|p| p.dimensions == dimensions && p.group.iter().product::<u64>() > 1));
    }
    let image = |wanted: &str, linear: bool| {
        any(&|p| {
            p.args
                .iter()
                .any(|arg| matches!(arg, Arg::Image { kind, small, .. } if *kind == wanted && *small == linear))
        })
    };
    for kind in ["texture1d", "texture_buffer", "texture1d_array", "texture2d", "texture2d_array", "texture3d"] {
        assert!(image(kind, false) && image(kind, true), "{kind}");
    }
    assert!(any(&|p| p.args.iter().any(|arg| matches!(arg, Arg::Sampler(number) if number & 0x20 != 0))));
}

#[test]
fn clang_accepts_programs() {
    let large = generate_large(&mut Choices::of_seed(7), 150_000);
    let doubles = programs().into_iter().filter(|p| p.double).take(6).map(|p| p.source);
    for source in doubles.chain([large]) {
        let mut clang = Command::new("clang-19")
            .args(["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-fsyntax-only", "-w", "-DPEER"])
            .args(["-target", "spir64", "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("clang-19, which hostmetal compiles with");
        clang.stdin.take().expect("it is piped").write_all(source.as_bytes()).expect("clang reads all of it");
        let output = clang.wait_with_output().expect("it was started");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}", text.lines().take(20).collect::<Vec<_>>().join("\n"));
    }
}
