//! Every case of the translator that runs, on PoCL and on the device, with the data of its run lines and with random data.
//!
//! Each `// run:` line (`crates/dcmetal/tests/translated.rs` says how they are written) gives the shapes and the scalars.
//! It is run as it stands, then with tame and then with wild numbers in its buffers and in its floats by value
//! (`differential::vary`); integers by value stay, since they are mostly sizes. A line in the case says otherwise:
//!
//! `// differential: [tame] [fixed=ARG,...] [free=ARG,...] [ulp=N] [given] [skip]: why`
//!
//! `tame`: no wild numbers. `fixed`: these arguments stay as given. `free`: these integers by value vary too. `ulp`: so many
//! units in the last place between floats are accepted, where 4 are otherwise. `given`: nothing varies. `skip`: nothing is
//! compared, because OpenCL C leaves the result open.

#[path = "../../dcmetal/tests/common/run_line.rs"]
#[allow(dead_code, reason = "the expected values are the other test's")]
mod run_line;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dcmetal::{Accelerator, Argument, ArgumentKind, Kernel, Scalar};
use differential::{Image, Launch, Mismatch, Peer, Program, Random, Run, Shape, Translated, Value, compare, vary};
use run_line::{RunLine, bits, numbers};

/// Cases that PoCL 3.1 does not build or gets wrong: the case, words of what then is said, and what is wrong. The words must
/// be said, so a line that is no longer needed is found.
#[rustfmt::skip]
const PEER_IS_WRONG: &[(&str, &str, &str)] = &[
    ("address_space/generic_pointers", "changes address space of pointer", "it has no generic address space"),
    ("address_space/helper_per_combination", "changes address space of pointer", "it has no generic address space"),
    ("address_space/inference_through_calls", "changes address space of pointer", "it has no generic address space"),
    ("address_space/local_in_inner_scope", "can only be declared in the outermost scope", "clang wants them outermost"),
    ("atomic/through_helper_in_both_spaces", "no matching function for call", "it has no generic address space"),
    ("control/switch", "label at end of compound statement", "C23's label before a closing brace, which we accept"),
    ("integer/bit_fields", "it is supported", "it has no extended bit operations"),
    ("memory/async_lines", "async_work_group_copy_2D2D", "it has no copies of lines"),
    ("memory/async_copy_fence", "async_work_group_copy_fence", "it has no fence of copies"),
    ("options/version_1_0", "Invalid build option", "it has no OpenCL C 1.0"),
    ("options/extensions", "half is supported", "it has no half"),
    ("integer/products_of_24_bits_of_ids", "call to '_cl_mul24' is ambiguous", "other drivers take a size_t for a uint"),
    ("integer/dot_products", "the extension is there", "it has no dot products of bytes"),
    ("control/pragma_before_a_loop_body", "can only appear at file scope", "clang wants FP_CONTRACT before statements"),
    ("group/sub_group", "undeclared identifier 'get_sub_group_size'", "it has no sub-groups"),
    ("group/broadcast_types", "undeclared identifier 'sub_group_broadcast'", "it has no sub-groups"),
    ("group/blocks", "undeclared identifier 'intel_sub_group_block_read4'", "it has no sub-groups"),
    ("group/clusters", "undeclared identifier 'sub_group_clustered_reduce_add'", "it has no sub-groups"),
    ("group/doubles", "undeclared identifier 'sub_group_reduce_max'", "it has no sub-groups"),
    ("group/narrow_where_lanes_part", "undeclared identifier 'sub_group_scan_inclusive_add'", "it has no sub-groups"),
    ("group/non_uniform", "undeclared identifier 'sub_group_non_uniform_scan_inclusive_min'", "it has no sub-groups"),
    ("group/work_group_arithmetic", "undeclared identifier 'work_group_reduce_and'", "it has no functions of a work-group"),
    ("group/required_sub_group_size", "undeclared identifier 'sub_group_shuffle_xor'", "it has no sub-groups"),
    ("group/work_group", "Cannot find symbol _Z20work_group_broadcast", "it has no functions of a work-group"),
    ("image/border_colours", "clCreateImage", "it has no images of two components, and none of its borders is opaque"),
    ("image/depth", "Cannot find symbol", "it has no depth images"),
    ("image/formats", "undefined symbol", "it has no queries of image1d_buffer_t"),
    ("image/half", "write_imageh", "it has no half"),
    ("image/rounded_layers", "on OpenCL", "it rounds to the layer above"),
    ("kernels/gaussian_blur", "changes address space of pointer", "it has no generic address space"),
    ("kernels/struct_params", "out[1] is 159.0", "work-items share a structure by value that the kernel writes to"),
    ("options/defines", "macro name must be an identifier", "it takes no macros with parameters in -D"),
    ("options/infinities_under_fast_math", "not a compile-time constant", "its INFINITY is a function call"),
    ("options/promises_of_newer_versions", "CL_INVALID_BUILD_OPTIONS", "it knows neither option"),
    ("types/alignment_unions_and_half", "unsupported OpenCL extension 'cl_khr_fp16'", "it has no half"),
    ("atomic/c11_message_passing", "_cl_atomic", "its atomic functions want pointers without an address space"),
    ("atomic/c11_operations", "_cl_atomic", "its atomic functions want pointers without an address space"),
    ("convert/directed_rounding", "unknown type name 'half16'", "it has no half"),
    ("convert/half_memory_directed", "__private half", "it has no half"),
    ("printf/all_conversions", "__private half", "it has no half"),
    ("printf/strings", "changes address space of pointer", "it has no generic address space"),
    ("types/array_literals", "changes address space of pointer", "its literals lie in no address space"),
    ("types/strings", "changes address space of pointer", "it has no generic address space"),
    ("types/constant_expressions", "not a compile-time constant", "its as_T and convert_T are function calls"),
    ("vector/three_component", "items[3] is 0.0", "it writes the padding behind a float3 in a structure"),
    ("work_item/called_kernel_with_local_memory", "on the device, 1000 on OpenCL", "a called kernel loses its local memory"),
    ("work_item/functions_in_helpers", "sizes[8] is 111", "beyond the third dimension its sizes are 0 instead of 1"),
    ("double/single_constants", "on the device, 0.1 (", "-cl-single-precision-constant changes nothing"),
    ("double/printf", "only the device prints `0.100000000000000006 -1e+300", "its printf has no more than a double's digits"),
    ("types/constant_functions", "not a compile-time constant", "its functions are no constant expressions"),
    ("math/edge_cases", "call to '_cl_pown' is ambiguous", "its pown wants exactly an int"),
    ("math/nan_codes", "call to '_cl_nan' is ambiguous", "its nan wants exactly an unsigned number"),
    ("math/half", "unknown type name 'half4'", "it has no half"),
    ("math/half_as_float", "requires cl_khr_fp16", "it has no half"),
    ("math/half_wide", "undeclared identifier 'half8'", "it has no half"),
    ("math/half_geometric", "unknown type name 'half4'", "it has no half"),
    ("types/half_constants", "unsupported OpenCL extension 'cl_khr_fp16'", "it has no half"),
];

/// Rounds of random data, tame and wild.
const TAME: u64 = 2;
const WILD: u64 = 4;

#[test]
fn translations_compute_what_the_originals_compute() {
    let gpu = Accelerator::system_default().expect("a Metal device");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clmsl/tests/cases");
    let only = std::env::var("CASE").unwrap_or_default();
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.retain(|file| file.strip_prefix(&folder).expect("it was found there").to_string_lossy().contains(&only));
    files.sort();
    let (next, launches, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let mut peer = peer();
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = file.strip_prefix(&folder).expect("it was found there").with_extension("");
                    let name = name.to_str().expect("it is UTF-8");
                    let result = run_case(&gpu, &mut peer, file);
                    let known = PEER_IS_WRONG.iter().find(|(case, ..)| *case == name);
                    let complaint = match (result, known) {
                        (Ok(count), None) => {
                            launches.fetch_add(count, Ordering::Relaxed);
                            continue;
                        }
                        (Ok(_), Some(_)) => "PoCL is said to be wrong, and is not".to_owned(),
                        (Err(text), Some((_, words, _))) if text.contains(words) => continue,
                        (Err(text), _) => text,
                    };
                    wrong.lock().expect("no panic holds it").push(format!("{name}: {complaint}"));
                }
            });
        }
    });
    let (mut wrong, launches) = (wrong.into_inner().expect("no panic holds it"), launches.into_inner());
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), files.len(), wrong.join("\n"));
    assert!(launches > 0, "nothing ran under {}", folder.display());
}

fn peer() -> Peer {
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_differential"));
        command.arg("serve");
        command
    };
    Peer::new(start, Duration::from_secs(60))
}

/// The cases that translate below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a directory's entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "cl") && path.with_extension("msl").exists() {
            files.push(path);
        }
    }
}

/// What a case's `// differential:` line says.
struct Policy {
    skip: bool,
    tame: bool,
    given: bool,
    fixed: Vec<String>,
    free: Vec<String>,
    ulp: u64,
}

fn policy(source: &str) -> Result<Policy, String> {
    let mut policy = Policy { skip: false, tame: false, given: false, fixed: Vec::new(), free: Vec::new(), ulp: 4 };
    let mut lines = source.lines().filter_map(|line| line.trim().strip_prefix("// differential:"));
    let Some(line) = lines.next() else { return Ok(policy) };
    let (words, why) = line.split_once(": ").ok_or("the differential line gives no reason")?;
    if why.trim().is_empty() || lines.next().is_some() {
        return Err("one differential line, with a reason".to_owned());
    }
    let names = |list: &str| list.split(',').map(str::to_owned).collect();
    for word in words.split_whitespace() {
        match word.split_once('=') {
            None if word == "tame" => policy.tame = true,
            None if word == "skip" => policy.skip = true,
            None if word == "given" => policy.given = true,
            Some(("fixed", list)) => policy.fixed = names(list),
            Some(("free", list)) => policy.free = names(list),
            Some(("ulp", count)) => policy.ulp = count.parse().map_err(|error| format!("ulp: {error}"))?,
            _ => return Err(format!("`{word}` in the differential line")),
        }
    }
    Ok(policy)
}

/// Runs a case; returns how many launches were compared.
fn run_case(gpu: &Accelerator, peer: &mut Peer, file: &Path) -> Result<usize, String> {
    let source = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let policy = policy(&source)?;
    if policy.skip {
        return Ok(0);
    }
    let folder = file.parent().expect("a file has a folder").to_owned();
    let program = Program {
        name: file.file_name().expect("a file has a name").to_string_lossy().into_owned(),
        options: run_line::options(&source).to_owned(),
        peer_options: String::new(),
        include: vec![folder],
        source,
    };
    let translated = Translated::compile(gpu, &program)?;
    let mut runs = Vec::new();
    let mut unused: Vec<&String> = policy.fixed.iter().chain(&policy.free).collect();
    for line in run_line::lines(&program.source) {
        let run = run_line::parse(line)?;
        let kernel = translated.kernel(&run.kernel)?;
        let wanted = run.group.map(|group| group.to_array());
        let group = translated.group_for(&kernel, run.grid.to_array(), run.dimensions, wanted)?;
        let shaped: Vec<(Value, Shape)> =
            kernel.arguments().iter().map(|a| given(a, &run)).collect::<Result<_, _>>()?;
        let (args, shapes): (Vec<Value>, Vec<Shape>) = shaped.into_iter().unzip();
        unused.retain(|name| kernel.arguments().iter().all(|argument| argument.name != **name));
        let launch = Launch { kernel: run.kernel, grid: run.grid.to_array(), dimensions: run.dimensions, group, args };
        let wild = if policy.tame { 0 } else { WILD };
        let rounds = if policy.given { 0 } else { TAME + wild };
        let mut random = Random::new(runs.len() as u64);
        for round in 0..=rounds {
            let mut launch = launch.clone();
            if round > 0 {
                vary_launch(&mut launch, &kernel, &shapes, &policy, round > TAME, &mut random);
            }
            runs.push(Run { launch, shapes: shapes.clone() });
        }
    }
    if let Some(name) = unused.first() {
        return Err(format!("the differential line names `{name}`, which no kernel has"));
    }
    let found = compare(&translated, peer, &program, &runs, policy.ulp).map_err(|error| error.to_string())?;
    let wrong: Vec<String> = found.iter().map(Mismatch::to_string).collect();
    if wrong.is_empty() { Ok(runs.len()) } else { Err(wrong.join("\n    ")) }
}

/// The argument that a run line gives, and the numbers in it.
fn given(argument: &Argument, run: &RunLine) -> Result<(Value, Shape), String> {
    let value = run.given.iter().find(|(name, _)| *name == argument.name).map(|(_, value)| value.as_str());
    let value = value.ok_or_else(|| format!("no value for `{}`", argument.name))?;
    if argument.kind == ArgumentKind::Threadgroup {
        let bytes = value.strip_prefix("local:").and_then(|bytes| bytes.parse().ok());
        let bytes = bytes.ok_or_else(|| format!("`{}` wants local:N", argument.name))?;
        return Ok((Value::Local(bytes), Shape::list([])));
    }
    if let ArgumentKind::Texture { kind } = argument.kind {
        let picture = run_line::picture(value)?;
        let image =
            Image { kind: kind.name().to_owned(), format: picture.format, size: picture.size, bytes: picture.bytes };
        return Ok((Value::Image(image), Shape::of(picture.scalar, 1)));
    }
    if argument.kind == ArgumentKind::Sampler {
        return Ok((Value::Sampler(run_line::sampler(value)?), Shape::list([])));
    }
    let numbers = numbers(argument, value)?;
    let mut bytes = Vec::new();
    for (scalar, number) in &numbers {
        bytes.extend(bits(*scalar, number)?);
    }
    let shape = match argument.scalar {
        Some(_) => Shape::of_argument(argument),
        None => Shape::list(numbers.iter().map(|(scalar, _)| *scalar)),
    };
    if argument.kind == ArgumentKind::Buffer {
        return Ok((Value::Buffer(bytes), shape));
    }
    bytes.resize(argument.size as usize, 0);
    Ok((Value::Bytes(bytes), shape))
}

fn vary_launch(
    launch: &mut Launch,
    kernel: &Kernel,
    shapes: &[Shape],
    policy: &Policy,
    wild: bool,
    random: &mut Random,
) {
    for (argument, (value, shape)) in kernel.arguments().iter().zip(launch.args.iter_mut().zip(shapes)) {
        let float = matches!(argument.scalar, Some(Scalar::F64 | Scalar::F32 | Scalar::F16));
        let memory = matches!(argument.kind, ArgumentKind::Buffer | ArgumentKind::Texture { .. });
        let varies = memory || float || policy.free.contains(&argument.name);
        if !varies || policy.fixed.contains(&argument.name) {
            continue;
        }
        if let Value::Buffer(bytes) | Value::Bytes(bytes) | Value::Image(Image { bytes, .. }) = value {
            vary(bytes, shape, wild, random);
        }
    }
}
