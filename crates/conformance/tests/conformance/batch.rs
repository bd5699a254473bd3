//! Many small programs per compiled kernel: a [`Job`] is one OpenCL C statement over columns of numbers, a function that the
//! library's only kernel calls by its number. A kernel for each would start the compiler thousands of times.
//!
//! A job's inputs are `a`, `b`, `c`, ..., its outputs `r`, `s`, `t`, all `__global` pointers to scalars, and `i` is the
//! work-item's number. So a statement such as `vstore4(pow(vload4(i, a), vload4(i, b)), i, r)` runs over the same
//! columns as `r[i] = pow(a[i], b[i])`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use dcmetal::{Accelerator, Grid, Kernel, Scalar, args, clmsl};

/// Numbers of one type.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) scalar: Scalar,
    pub(crate) bytes: Vec<u8>,
}

impl Column {
    /// The numbers rounded to the type, which hold them exactly as a rule.
    pub(crate) fn new(scalar: Scalar, numbers: impl IntoIterator<Item = f64>) -> Column {
        let mut bytes = Vec::new();
        for number in numbers {
            match scalar {
                Scalar::F32 => bytes.extend((number as f32).to_ne_bytes()),
                Scalar::F16 => bytes.extend(half::f16::from_f64(number).to_ne_bytes()),
                Scalar::I32 => bytes.extend((number as i32).to_ne_bytes()),
                Scalar::U32 => bytes.extend((number as u32).to_ne_bytes()),
                Scalar::U16 => bytes.extend((number as u16).to_ne_bytes()),
                other => unreachable!("no column of {other} is made of numbers"),
            }
        }
        Column { scalar, bytes }
    }

    /// The number at `index`.
    pub(crate) fn get(&self, index: usize) -> f64 {
        let size = self.scalar.size();
        let bytes = &self.bytes[index * size..][..size];
        match self.scalar {
            Scalar::F32 => f64::from(f32::from_ne_bytes(bytes.try_into().expect("four bytes"))),
            Scalar::F16 => half::f16::from_ne_bytes(bytes.try_into().expect("two bytes")).to_f64(),
            Scalar::I32 => f64::from(i32::from_ne_bytes(bytes.try_into().expect("four bytes"))),
            Scalar::U32 => f64::from(u32::from_ne_bytes(bytes.try_into().expect("four bytes"))),
            Scalar::U16 => f64::from(u16::from_ne_bytes(bytes.try_into().expect("two bytes"))),
            other => unreachable!("no column of {other} is read as numbers"),
        }
    }
}

/// OpenCL C's name of a type.
pub(crate) fn type_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::F32 => "float",
        Scalar::F16 => "half",
        Scalar::I8 => "char",
        Scalar::U8 => "uchar",
        Scalar::I16 => "short",
        Scalar::U16 => "ushort",
        Scalar::I32 => "int",
        Scalar::U32 => "uint",
        Scalar::I64 => "long",
        Scalar::U64 => "ulong",
        other => unreachable!("{other} is no type of OpenCL C's memory"),
    }
}

/// What to run.
pub(crate) struct Job<'a> {
    /// What messages call it.
    pub(crate) label: String,
    /// The function's body, without a semicolon at the end.
    pub(crate) statement: String,
    pub(crate) inputs: Vec<&'a Column>,
    /// Type and length of each output.
    pub(crate) outputs: Vec<(Scalar, usize)>,
    pub(crate) work_items: usize,
}

const INPUTS: [&str; 4] = ["a", "b", "c", "d"];
const OUTPUTS: [&str; 3] = ["r", "s", "t"];

/// Jobs per library: few enough that a message is readable, many enough that the compiler's start does not count.
const JOBS: usize = 24;

/// Runs all jobs; `done` gets each job's outputs, from several threads and in any order. Returns what went wrong.
pub(crate) fn run(
    gpu: &Accelerator,
    options: &str,
    jobs: &[Job<'_>],
    done: impl Fn(usize, &[Column]) + Sync,
) -> Vec<String> {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let chunks: Vec<&[Job<'_>]> = jobs.chunks(JOBS).collect();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(chunk) = chunks.get(at) else { break };
                    if let Err(message) = run_library(gpu, options, chunk, |job, out| done(at * JOBS + job, out)) {
                        wrong.lock().expect("no panic holds it").push(message);
                    }
                }
            });
        }
    });
    wrong.into_inner().expect("no panic holds it")
}

fn run_library(
    gpu: &Accelerator,
    options: &str,
    jobs: &[Job<'_>],
    done: impl Fn(usize, &[Column]),
) -> Result<(), String> {
    let mut source = String::from("#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
    let mut cases = String::new();
    for (number, job) in jobs.iter().enumerate() {
        let inputs: Vec<_> = INPUTS.iter().zip(&job.inputs).map(|(n, c)| (*n, "in", type_name(c.scalar))).collect();
        let outputs: Vec<_> = OUTPUTS.iter().zip(&job.outputs).map(|(n, o)| (*n, "out", type_name(o.0))).collect();
        let quals = |memory: &str| if memory == "in" { "__global const" } else { "__global" };
        let columns = || inputs.iter().chain(&outputs);
        let parameters: Vec<String> = columns().map(|(n, memory, ty)| format!("{} {ty} *{n}", quals(memory))).collect();
        let mut at = BTreeMap::new();
        let arguments: Vec<String> = columns()
            .map(|(_, memory, ty)| {
                let number = at.entry(memory).and_modify(|n| *n += 1).or_insert(0);
                format!("({} {ty} *)({memory} + {memory}_at[{number}])", quals(memory))
            })
            .collect();
        let _ = writeln!(source, "// {}", job.label);
        let _ = writeln!(source, "void k{number}(size_t i, {})\n{{\n  {};\n}}", parameters.join(", "), job.statement);
        let _ = writeln!(cases, "    case {number}: k{number}(i, {}); break;", arguments.join(", "));
    }
    let _ = writeln!(
        source,
        "__kernel void batch(int number, __global const char *in, __global const uint *in_at, __global char *out,
                    __global const uint *out_at)\n{{\n  size_t i = get_global_id(0);\n  switch (number) {{\n{cases}  }}\n}}"
    );
    let of = |text: String| format!("{} to {}: {text}", jobs[0].label, jobs[jobs.len() - 1].label);
    let build = clmsl::Options::parse_build_options(options).map_err(|error| error.to_string())?;
    let library =
        gpu.compile_opencl_with("batch.cl", &source, &build.options).map_err(|error| of(error.to_string()))?;
    let kernel = library.kernel("batch").map_err(|error| of(error.to_string()))?;
    for (number, job) in jobs.iter().enumerate() {
        let columns = run_job(gpu, &kernel, number, job).map_err(|error| format!("{}: {error}", job.label))?;
        done(number, &columns);
    }
    Ok(())
}

fn run_job(gpu: &Accelerator, kernel: &Kernel, number: usize, job: &Job<'_>) -> dcmetal::Result<Vec<Column>> {
    let inputs: Vec<&[u8]> = job.inputs.iter().map(|column| column.bytes.as_slice()).collect();
    // What no kernel writes by chance: NaN in every type of number.
    let poison: Vec<Vec<u8>> = job.outputs.iter().map(|(scalar, len)| vec![0xFF; scalar.size() * len]).collect();
    let poison: Vec<&[u8]> = poison.iter().map(Vec::as_slice).collect();
    let ((input, inputs_at), (output, outputs_at)) = (joined(&inputs), joined(&poison));
    let (input, inputs_at, starts) =
        (gpu.buffer_from(&input)?, gpu.buffer_from(&inputs_at)?, gpu.buffer_from(&outputs_at)?);
    let mut output = gpu.buffer_from(&output)?;
    let args = args![number as i32, &input, &inputs_at, &mut output, &starts];
    kernel.launch(Grid::linear(job.work_items), args)?.wait()?;
    let bytes = output.to_vec()?;
    let column = |(&at, (scalar, len)): (&u32, &(Scalar, usize))| Column {
        scalar: *scalar,
        bytes: bytes[at as usize..][..scalar.size() * len].to_vec(),
    };
    Ok(outputs_at.iter().zip(&job.outputs).map(column).collect())
}

/// Columns in one buffer, each aligned for any type, and where they begin.
fn joined(columns: &[&[u8]]) -> (Vec<u8>, Vec<u32>) {
    let (mut bytes, mut starts) = (Vec::new(), Vec::new());
    for column in columns {
        bytes.resize(bytes.len().next_multiple_of(256), 0xFF);
        starts.push(bytes.len() as u32);
        bytes.extend_from_slice(column);
    }
    (bytes, starts)
}
