//! Compiles MSL files with hostmetal and lists their kernels and arguments.
//!
//! `cargo run -p hostmetal --example check -- FILE.metal... [-D NAME=VALUE]... [--safe] [--no-build] [--analysis] [--brief [--every N]]`
//!
//! `--analysis` prints what each kernel does (docs/HOSTMETAL.md, "What a kernel does") instead; with `--brief` how long that took.
//! `--no-build` checks without generating code. `--brief` prints a line per file and per kernel that fails, with the first
//! error of each, for running over many files; it gives function constants that need a value zero.
//! `--every N` compiles each N-th kernel only.

use hostmetal::msl::{BindingKind, Checked, CompileFailure, CompileOptions, ConstantKey, ConstantValue, DataType};
use hostmetal::msl::{KernelInfo, MathMode, check};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const USAGE: &str =
    "usage: check FILE.metal... [-D NAME=VALUE]... [--safe] [--no-build] [--analysis] [--brief [--every N]]";

fn main() -> ExitCode {
    let mut options = CompileOptions::default();
    let (mut build, mut analysis, mut brief, mut every) = (true, false, false, 1);
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--safe" => options.math_mode = MathMode::Safe,
            "--no-build" => build = false,
            "--analysis" => analysis = true,
            "--brief" => brief = true,
            "--every" => every = arguments.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0).unwrap_or(1),
            "-D" => {
                let text = arguments.next().unwrap_or_default();
                let (name, value) = text.split_once('=').unwrap_or((&text, "1"));
                options.macros.push((name.to_owned(), value.to_owned()));
            }
            _ => files.push(argument),
        }
    }
    if files.is_empty() {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    let failed = AtomicUsize::new(0);
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let told = match std::fs::read_to_string(file) {
                Err(error) => Err(error.to_string()),
                Ok(source) if analysis => analyses(&source, &options, if brief { Some(every) } else { None }),
                Ok(source) if brief => summary(file, &source, &options, if build { every } else { usize::MAX }),
                Ok(source) => whole(&source, &options, build),
            };
            if let Err(text) = told {
                failed.fetch_add(1, Ordering::Relaxed);
                eprintln!("{file}: {text}");
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = if brief { std::thread::available_parallelism().map_or(1, |n| n.get()) } else { 1 };
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    if failed.into_inner() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One line for the file, one for each kernel that does not compile.
fn summary(file: &str, source: &str, options: &CompileOptions, every: usize) -> Result<(), String> {
    let first = |failure: &CompileFailure| {
        let error = failure.log.lines().find(|line| line.contains("error")).or(failure.log.lines().next());
        format!("{:?}: {}", failure.kind, error.unwrap_or_default())
    };
    let started = Instant::now();
    let checked = match check(source, options) {
        Ok(checked) => checked,
        Err(failure) => {
            println!("fail {file} {:.1} s {}", started.elapsed().as_secs_f32(), first(&failure));
            return Ok(());
        }
    };
    let mut compiled = 0;
    let build = every < usize::MAX;
    for kernel in checked.kernels().iter().filter(|one| !one.visible).step_by(every).filter(|_| build) {
        match checked.build(&kernel.name, &zeros(kernel)) {
            Ok(loaded) => {
                compiled += 1;
                println!("kernel {file} {} {}", kernel.name, loaded.built());
            }
            Err(failure) => println!("fail {file} {} {}", kernel.name, first(&failure)),
        }
    }
    let (count, time) = (checked.kernels().len(), started.elapsed().as_secs_f32());
    println!("ok {file} {time:.1} s, {count} kernels, {compiled} compiled");
    Ok(())
}

/// What the kernels do, or, of every so many of them, how long it took to tell.
fn analyses(source: &str, options: &CompileOptions, every: Option<usize>) -> Result<(), String> {
    let checked = check(source, options).map_err(|failure| format!("{:?}\n{failure}", failure.kind))?;
    let mut failed = 0;
    for kernel in checked.kernels().iter().filter(|one| !one.visible).step_by(every.unwrap_or(1)) {
        let started = Instant::now();
        let told = checked.analysis(&kernel.name, &zeros(kernel));
        let (name, time) = (&kernel.name, started.elapsed().as_secs_f32());
        match told {
            Ok(text) if every.is_some() => println!("told {time:.1} s, {} lines: {name}", text.lines().count()),
            Ok(text) => println!("kernel {name}\n{text}"),
            Err(failure) => {
                println!("fail {name} {failure}");
                failed += 1;
            }
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("of {failed} kernels it is not known what they do")) }
}

/// Zero for each function constant that must have a value.
fn zeros(kernel: &KernelInfo) -> Vec<ConstantValue> {
    let value = |data_type: DataType, index| ConstantValue {
        key: ConstantKey::Index(index),
        data_type,
        bytes: vec![0; data_type.value_size().unwrap_or(0)],
    };
    kernel.constants.iter().filter(|c| c.required).map(|c| value(c.data_type, c.index)).collect()
}

/// Everything about one file.
fn whole(source: &str, options: &CompileOptions, build: bool) -> Result<(), String> {
    let checked = check(source, options).map_err(|failure| format!("{:?}\n{failure}", failure.kind))?;
    if let Some(warnings) = checked.warnings() {
        eprint!("{warnings}");
    }
    println!("{} kernels", checked.kernels().len());
    let mut failed = 0;
    for kernel in checked.kernels().iter().filter(|one| !one.visible) {
        println!("kernel {}", kernel.name);
        for constant in &kernel.constants {
            let required = if constant.required { ", required" } else { "" };
            println!(
                "  constant {} {} (index {}{required})",
                spelled(constant.data_type),
                constant.name,
                constant.index
            );
        }
        if build && !kernel.constants.iter().any(|c| c.required) && !describe(&checked, &kernel.name) {
            failed += 1;
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} kernels do not compile")) }
}

/// Compiles one kernel and prints its arguments.
fn describe(checked: &Checked, kernel: &str) -> bool {
    let loaded = match checked.build(kernel, &[]) {
        Ok(loaded) => loaded,
        Err(failure) => {
            eprintln!("{kernel}: {:?}\n{failure}", failure.kind);
            return false;
        }
    };
    println!("  {:?}", loaded.entry());
    for b in loaded.bindings() {
        let kind = match b.kind {
            BindingKind::Buffer => "buffer",
            BindingKind::ThreadgroupMemory => "threadgroup",
            BindingKind::Texture => "texture",
            BindingKind::Sampler => "sampler",
            BindingKind::Imageblock => "imageblock",
            BindingKind::VisibleFunctionTable => "functions",
        };
        let mark = if b.pointer { '*' } else { '&' };
        println!(
            "  {kind}({}) {} {mark}{} {:?}, {} bytes, aligned to {}",
            b.index,
            spelled(b.data_type),
            b.name,
            b.access,
            b.data_size,
            b.alignment
        );
    }
    for variable in loaded.threadgroup_variables() {
        println!("  threadgroup variable {}: {} bytes, aligned to {}", variable.id, variable.size, variable.alignment);
    }
    true
}

fn spelled(data_type: DataType) -> String {
    data_type.spelling().unwrap_or_else(|| format!("MTLDataType {}", data_type.0))
}
