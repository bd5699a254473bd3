//! What clang is asked: to preprocess, to check, to compile.

use super::diagnose::{Finding, SOURCE_NAME, read_clang};
use super::rewrite::{Edits, emit};
use super::token::Stream;
use super::toolchain::{Toolchain, libraries};
use super::{CompileFailure, CompileOptions, Failure};
use std::ffi::OsString;
use std::fs;

/// The rewritten source's name in its job directory.
pub(super) const PROGRAM: &str = "program.clcpp";
/// Warnings worth telling: what Apple's compiler shows by default and the rewrite cannot cause.
const WARNINGS: [&str; 16] = [
    "-Wreturn-type",
    "-Wuninitialized",
    "-Wsometimes-uninitialized",
    "-Wunused-variable",
    "-Wno-unused-const-variable",
    "-Wshift-count-overflow",
    "-Wshift-count-negative",
    "-Wdivision-by-zero",
    "-Warray-bounds",
    "-Wtautological-compare",
    "-Winfinite-recursion",
    "-Wparentheses",
    "-Wswitch",
    "-Wunsequenced",
    "-Wconstant-conversion",
    "-Wself-assign",
];
/// A failure that is the source's.
pub(super) fn source_failure(log: impl Into<String>) -> CompileFailure {
    CompileFailure { kind: Failure::Source, log: log.into() }
}

/// Expands macros and includes. The second text is what the preprocessor warns of.
pub(super) fn preprocess(
    toolchain: &Toolchain,
    source: &str,
    options: &CompileOptions,
) -> Result<(String, String), CompileFailure> {
    let job = toolchain.job()?;
    let broken = |e: std::io::Error| CompileFailure {
        kind: Failure::Toolchain,
        log: format!("cannot write to '{}': {e}", job.path().display()),
    };
    fs::write(job.path().join(SOURCE_NAME), source).map_err(broken)?;
    let mut flags = toolchain.preprocess_flags(options.language_version, options.math_mode);
    for (name, value) in &options.macros {
        let valid = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
        if !valid || value.contains(['\n', '\r', '\0']) {
            return Err(source_failure(format!("'{name}' = '{value}' is no preprocessor macro")));
        }
        flags.push(format!("-D{name}={value}").into());
    }
    flags.extend([
        OsString::from("-o"),
        "expanded".into(),
        "-Wno-everything".into(),
        "-W#warnings".into(),
        SOURCE_NAME.into(),
    ]);
    let finished = toolchain.clang(job.path(), flags)?;
    // Our own headers go by their names, wherever they lie on this machine.
    let output = finished.output.replace(&format!("{}/", toolchain.headers().display()), "");
    let log: String = output.lines().filter(|l| !l.ends_with("generated.")).map(|l| format!("{l}\n")).collect();
    if !finished.success {
        return Err(source_failure(log));
    }
    let text = fs::read(job.path().join("expanded")).map_err(broken)?;
    let text = String::from_utf8(text)
        .map_err(|_| source_failure(format!("{SOURCE_NAME}: error: the source is not UTF-8\n")))?;
    Ok((text, log))
}

/// What clang finds in the rewritten text.
pub(super) fn syntax(
    toolchain: &Toolchain,
    options: &CompileOptions,
    stream: &Stream,
    edits: &Edits,
    tail: &[(usize, String)],
) -> Result<Vec<Finding>, CompileFailure> {
    let (text, map) = emit(stream, edits, HEAD, tail);
    let (_, output) = compile(toolchain, options, &text, &["-fsyntax-only"], None)?;
    Ok(read_clang(&output, PROGRAM, &map))
}

/// Functions of the source are the program's own: what the kernel does not reach is not even generated.
pub(super) const HEAD: &str = "#pragma clang attribute push(__attribute__((internal_linkage)), apply_to = function)\n";
pub(super) const FOOT: &str = "\n#pragma clang attribute pop\n";

/// Runs clang on a rewritten text, once more when it does not accept the precompiled header. With `output`, that file's
/// path is the directory to keep.
pub(super) fn compile(
    toolchain: &Toolchain,
    options: &CompileOptions,
    text: &str,
    flags: &[&str],
    output: Option<&str>,
) -> Result<(Option<tempfile::TempDir>, String), CompileFailure> {
    for attempt in 0.. {
        let job = toolchain.job()?;
        let broken = |e: std::io::Error| CompileFailure {
            kind: Failure::Toolchain,
            log: format!("cannot write to '{}': {e}", job.path().display()),
        };
        fs::write(job.path().join(PROGRAM), text).map_err(broken)?;
        let mut arguments = toolchain.compile_flags(options.math_mode)?;
        arguments.extend(WARNINGS.iter().map(OsString::from));
        arguments.extend(flags.iter().map(OsString::from));
        arguments.push(PROGRAM.into());
        if let Some(output) = output {
            arguments.extend([OsString::from("-o"), output.into()]);
            arguments.extend(libraries().iter().map(OsString::from));
        }
        let finished = toolchain.clang(job.path(), arguments)?;
        let stale = ["PCH file", "precompiled", "AST file", ".pch'"].iter().any(|word| finished.output.contains(word));
        if !finished.success && stale && attempt == 0 {
            toolchain.renew(options.math_mode);
            continue;
        }
        if !finished.success && !finished.output.contains(&format!("{PROGRAM}:")) {
            return Err(CompileFailure {
                kind: Failure::Toolchain,
                log: format!("{} failed:\n{}", toolchain.version(), explain(&finished.output)),
            });
        }
        if !finished.success && output.is_some() {
            return Ok((None, finished.output));
        }
        return Ok((Some(job), finished.output));
    }
    unreachable!("the loop ends in its second round")
}

/// Adds what to do when the linker is missing.
fn explain(output: &str) -> String {
    if output.contains("invalid linker name")
        || output.contains("unable to execute command")
        || output.contains("ld.lld") && output.contains("No such file")
    {
        return format!("{output}(on Debian: apt install lld-19)\n");
    }
    output.to_owned()
}
