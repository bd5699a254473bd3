//! Compiles an MSL file with hostmetal and lists its kernels and their arguments.
//!
//! `cargo run -p hostmetal --example check -- FILE.metal [-D NAME=VALUE]... [--safe] [--no-build]`

use hostmetal::msl::{BindingKind, CompileOptions, DataType, MathMode, check};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut options = CompileOptions::default();
    let mut build = true;
    let mut file = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--safe" => options.math_mode = MathMode::Safe,
            "--no-build" => build = false,
            "-D" => {
                let text = arguments.next().unwrap_or_default();
                let (name, value) = text.split_once('=').unwrap_or((&text, "1"));
                options.macros.push((name.to_owned(), value.to_owned()));
            }
            _ => file = Some(argument),
        }
    }
    let Some(file) = file else {
        eprintln!("usage: check FILE.metal [-D NAME=VALUE]... [--safe] [--no-build]");
        return ExitCode::from(2);
    };
    let source = match std::fs::read_to_string(&file) {
        Ok(source) => source,
        Err(error) => {
            eprintln!("{file}: {error}");
            return ExitCode::from(2);
        }
    };
    let checked = match check(&source, &options) {
        Ok(checked) => checked,
        Err(failure) => {
            eprintln!("{:?}\n{failure}", failure.kind);
            return ExitCode::FAILURE;
        }
    };
    if let Some(warnings) = checked.warnings() {
        eprint!("{warnings}");
    }
    println!("{} kernels", checked.kernels().len());
    let mut failed = 0;
    for kernel in checked.kernels() {
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
        if !build || kernel.constants.iter().any(|c| c.required) {
            continue;
        }
        match checked.build(&kernel.name, &[]) {
            Ok(loaded) => {
                println!("  {:?}", loaded.entry());
                for b in loaded.bindings() {
                    let kind = if b.kind == BindingKind::Buffer { "buffer" } else { "threadgroup" };
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
                    println!(
                        "  threadgroup variable {}: {} bytes, aligned to {}",
                        variable.id, variable.size, variable.alignment
                    );
                }
            }
            Err(failure) => {
                failed += 1;
                eprintln!("{}: {:?}\n{failure}", kernel.name, failure.kind);
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn spelled(data_type: DataType) -> String {
    data_type.spelling().unwrap_or_else(|| format!("MTLDataType {}", data_type.0))
}
