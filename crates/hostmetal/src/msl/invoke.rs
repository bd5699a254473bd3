//! What clang is asked: to preprocess, to check, to compile.

use super::archive::Archives;
use super::diagnose::{Finding, SOURCE_NAME, read_clang};
use super::rewrite::{Edits, emit};
use super::store::Record;
use super::token::Stream;
use super::toolchain::{Toolchain, language_flags, libraries};
use super::{Arithmetic, CompileFailure, CompileOptions, Failure, engine};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;

/// What clang refuses by default, and so Apple's compiler does, though it has names among the warnings.
const REFUSALS: [&str; 2] = ["-Werror=address-of-temporary", "-Werror=c++11-narrowing"];
/// The rewritten source's name in its job directory.
pub(super) const PROGRAM: &str = "program.clcpp";
/// The shared object's name in a job directory.
pub(super) const OBJECT: &str = "kernel.so";
/// Warnings worth telling: what Apple's compiler shows by default and the rewrite cannot cause.
const WARNINGS: [&str; 17] = [
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
    "-Wuser-defined-warnings",
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
    let mut own: Vec<String> = Vec::new();
    for (name, value) in &options.macros {
        let valid = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
        if !valid || value.contains(['\n', '\r', '\0']) {
            return Err(source_failure(format!("'{name}' = '{value}' is no preprocessor macro")));
        }
        own.push(format!("-D{name}={value}"));
    }
    // Without the place of our headers: their texts are part of every key.
    let headers = toolchain.headers().as_os_str();
    let flags = toolchain.preprocess_flags(options.language_version, options.math_mode);
    let flags: Vec<_> = flags.iter().filter(|flag| *flag != headers).map(|flag| flag.to_string_lossy()).collect();
    let setting = flags.join("\n");
    let mut parts = vec!["preprocess", source, &setting];
    parts.extend(own.iter().map(String::as_str));
    let key = toolchain.key(&parts);
    let lasting = is_lasting(source) && own.iter().all(|text| is_lasting(text));
    let record = match lasting.then(|| toolchain.store().get(&key)).flatten() {
        Some(record) => record,
        None => {
            let record = expand(toolchain, source, options, &own)?;
            if lasting && record.success {
                toolchain.store().put(&key, &record);
            }
            record
        }
    };
    if !record.success {
        return Err(source_failure(record.output));
    }
    let text = String::from_utf8(record.file)
        .map_err(|_| source_failure(format!("{SOURCE_NAME}: error: the source is not UTF-8\n")))?;
    Ok((text, record.output))
}

fn expand(
    toolchain: &Toolchain,
    source: &str,
    options: &CompileOptions,
    macros: &[String],
) -> Result<Record, CompileFailure> {
    let job = toolchain.job()?;
    let mended = toolchain.mended();
    let broken = |e: std::io::Error| CompileFailure {
        kind: Failure::Toolchain,
        log: format!("cannot write to '{}': {e}", job.path().display()),
    };
    fs::write(job.path().join(SOURCE_NAME), source).map_err(broken)?;
    let mut flags = toolchain.preprocess_flags(options.language_version, options.math_mode);
    flags.extend(macros.iter().map(OsString::from));
    flags.extend([
        OsString::from("-o"),
        "expanded".into(),
        "-Wno-everything".into(),
        "-W#warnings".into(),
        SOURCE_NAME.into(),
    ]);
    let mut finished = toolchain.clang(job.path(), flags.clone())?;
    if !finished.success && toolchain.mend_headers()? != mended {
        // Something had changed or removed our headers.
        finished = toolchain.clang(job.path(), flags)?;
    }
    if !finished.success && !finished.output.contains("error:") {
        let log = format!("{} failed:\n{}", toolchain.version(), finished.output);
        return Err(CompileFailure { kind: Failure::Toolchain, log });
    }
    // Our own headers go by their names, wherever they lie on this machine.
    let output = finished.output.replace(&format!("{}/", toolchain.headers().display()), "");
    let output = output.lines().filter(|l| !l.ends_with("generated.")).map(|l| format!("{l}\n")).collect();
    let file = if finished.success { fs::read(job.path().join("expanded")).map_err(broken)? } else { Vec::new() };
    Ok(Record { success: finished.success, output, file })
}

/// Whether what a source expands to depends on nothing but the source: it asks neither for the time nor for a file that is
/// not one of our headers. True too seldom rather than too often.
pub(super) fn is_lasting(source: &str) -> bool {
    let source = spliced(source);
    if ["__DATE__", "__TIME__", "__TIMESTAMP__"].iter().any(|word| source.contains(word)) {
        return false;
    }
    // Of each directive or question that may name a file, the name: it must be in angle brackets and inside our folder.
    ["include", "import", "embed"].iter().all(|word| {
        source.match_indices(word).all(|(at, _)| {
            let blanks = [' ', '\t', '\x0b', '\x0c', '\r'];
            let before = source[..at].trim_end_matches(blanks);
            let directive =
                before.ends_with(['#', ':', '=', '\n']) || before.ends_with("*/") || before.ends_with("__has_");
            if !directive {
                return true;
            }
            let rest = source[at + word.len()..]
                .trim_start_matches("_next")
                .trim_start_matches(blanks)
                .trim_start_matches('(')
                .trim_start_matches(blanks);
            let name = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')).map(|(name, _)| name);
            name.is_some_and(|name| !name.starts_with('/') && !name.contains("..") && !name.contains('\n'))
        })
    })
}

/// The text with its lines joined where a backslash ends one, behind which there may be blanks, as clang joins them.
fn spliced(source: &str) -> String {
    let mut joined = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find('\\') {
        joined.push_str(&rest[..at]);
        let behind = rest[at + 1..].trim_start_matches([' ', '\t', '\x0b', '\x0c', '\r']);
        rest = match behind.strip_prefix('\n') {
            Some(next) => next,
            None => {
                joined.push('\\');
                &rest[at + 1..]
            }
        };
    }
    joined + rest
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
    let request =
        Request { math: options.arithmetic(), text: &text, flags: &["-fsyntax-only"], pass: false, object: false };
    let record = compile(toolchain, &request, str::to_owned, &Archives::default())?;
    Ok(read_clang(&record.output, PROGRAM, &map))
}

/// Functions of the source are the program's own: what the kernel does not reach is not even generated.
pub(super) const HEAD: &str = "#pragma clang attribute push(__attribute__((internal_linkage)), apply_to = function)\n";
/// As a pragma between other tokens.
pub(super) const INTERNAL: &str = "clang attribute push(__attribute__((internal_linkage)), apply_to = function)";
pub(super) const FOOT: &str = "\n#pragma clang attribute pop\n";

/// What clang is asked to do with a rewritten text.
pub(super) struct Request<'a> {
    pub(super) math: Arithmetic,
    pub(super) text: &'a str,
    /// Besides those of the arithmetic.
    pub(super) flags: &'a [&'a str],
    /// With the LLVM pass (engine.rs).
    pub(super) pass: bool,
    /// Makes a shared object instead of looking only.
    pub(super) object: bool,
}

impl Request<'_> {
    /// The key of what clang makes of it.
    pub(super) fn key(&self, toolchain: &Toolchain) -> String {
        let flags = language_flags(self.math).join("\n");
        let own = [self.flags, &WARNINGS, &REFUSALS, libraries()].map(|flags| flags.join("\n"));
        let pass = if self.pass { engine::fingerprint() } else { "" };
        let kind = if self.object { "object" } else { "syntax" };
        toolchain.key(&[kind, &flags, &own[0], &own[1], &own[2], &own[3], pass, self.text])
    }
}

/// What clang makes of a rewritten text, from an archive or the cache when it is there. `keep` takes from its output what is needed. The
/// record succeeds, or what it says is about the text.
pub(super) fn compile(
    toolchain: &Toolchain,
    request: &Request,
    keep: fn(&str) -> String,
    archives: &Archives,
) -> Result<Record, CompileFailure> {
    kept(
        toolchain,
        &request.key(toolchain),
        keep,
        archives,
        || run(toolchain, request),
        |record| {
            // Whatever else may have gone wrong can go right the next time.
            let of_text = |line: &str| !line.contains("error: ") || line.starts_with(PROGRAM);
            !request.object && record.output.lines().all(of_text)
        },
    )
}

/// What is kept under a key, in an archive or the cache, or what `make` makes; that is kept when it succeeds or lasts.
pub(super) fn kept(
    toolchain: &Toolchain,
    key: &str,
    keep: fn(&str) -> String,
    archives: &Archives,
    make: impl FnOnce() -> Result<Record, CompileFailure>,
    lasts: impl FnOnce(&Record) -> bool,
) -> Result<Record, CompileFailure> {
    let record = match archives.find(key) {
        Some(record) => record,
        None if archives.only => {
            let log = "it is not in the binary archives, for this compiler and this processor".to_owned();
            return Err(CompileFailure { kind: Failure::ArchiveMiss, log });
        }
        None => match toolchain.store().get(key) {
            Some(record) => record,
            None => {
                let made = make()?;
                let output = if made.success { keep(&made.output) } else { made.output };
                let record = Record { output, ..made };
                if record.success || lasts(&record) {
                    toolchain.store().put(key, &record);
                }
                record
            }
        },
    };
    if let Some(archive) = archives.into {
        archive.insert(key, &record);
    }
    Ok(record)
}

/// Runs clang on a rewritten text, again when it does not accept the precompiled header, which other processes may replace too.
pub(super) fn run(toolchain: &Toolchain, request: &Request) -> Result<Record, CompileFailure> {
    for attempt in 0.. {
        let job = toolchain.job()?;
        let broken = |e: std::io::Error| CompileFailure {
            kind: Failure::Toolchain,
            log: format!("cannot write to '{}': {e}", job.path().display()),
        };
        fs::write(job.path().join(PROGRAM), request.text).map_err(broken)?;
        let (mut arguments, generation) = toolchain.compile_flags(request.math)?;
        arguments.extend(WARNINGS.iter().chain(&REFUSALS).map(OsString::from));
        arguments.extend(request.flags.iter().map(OsString::from));
        if request.pass {
            let plugin = engine::plugin(toolchain)
                .map_err(|log| CompileFailure { kind: Failure::Toolchain, log })?
                .into_os_string();
            let mut argument = OsString::from("-fpass-plugin=");
            argument.push(plugin);
            arguments.push(argument);
        }
        arguments.push(PROGRAM.into());
        if request.object {
            arguments.extend([OsString::from("-o"), OBJECT.into()]);
            arguments.extend(libraries().iter().map(OsString::from));
        }
        let finished = toolchain.clang(job.path(), arguments)?;
        let stale = ["PCH file", "precompiled", "AST file", ".pch'"].iter().any(|word| finished.output.contains(word));
        if !finished.success && stale && attempt < 2 {
            toolchain.renew(request.math, generation);
            continue;
        }
        if !finished.success && !finished.output.contains(&format!("{PROGRAM}:")) {
            return Err(failed(toolchain, &finished.output));
        }
        let made = request.object && finished.success;
        let file = if made { fs::read(job.path().join(OBJECT)).map_err(broken)? } else { Vec::new() };
        return Ok(Record { success: finished.success, output: finished.output, file });
    }
    unreachable!("the loop ends in its third round")
}

/// What to say of a failure that no line of the source is named for.
pub(super) fn failed(toolchain: &Toolchain, output: &str) -> CompileFailure {
    let missing = output.lines().filter_map(|line| line.split_once("undefined symbol: ")).map(|found| found.1);
    let missing: BTreeSet<&str> = missing.collect();
    if missing.is_empty() {
        let log = format!("{} failed:\n{}", toolchain.version(), explain(output));
        return CompileFailure { kind: Failure::Toolchain, log };
    }
    source_failure(format!("Undefined symbols: {}", missing.into_iter().collect::<Vec<_>>().join(", ")))
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

#[cfg(test)]
mod tests {
    use super::is_lasting;

    #[test]
    fn what_depends_on_files_or_the_time_does_not_last() {
        let cases = [
            ("#include <metal_stdlib>\nkernel void k() {}", true),
            ("# include <simd/simd.h>\n#if __has_include(<metal_tensor>)\n#endif", true),
            ("// what we include \"here\"\nint import_all;", true),
            ("#include \"other.h\"", false),
            ("#include </etc/passwd>", false),
            ("#  import <../other>", false),
            ("#include NAME", false),
            ("%:include \"a\"", false),
            ("??=include \"a\"", false),
            ("#/* */include \"a\"", false),
            ("#\\\ninclude \"a\"", false),
            ("#inc\\\r\nlude \"a\"", false),
            ("#inc\\ \t\nlude \"a\"", false),
            ("#define A \\ x\n#define B \\\\\nint a;", true),
            ("#include\\\n_next \"a\"", false),
            ("#if __has_include(\"/tmp/x\")", false),
            ("#if __has_include_next( </tmp/x>)", false),
            ("#embed \"x\"", false),
            ("char t[] = __TIME__;", false),
            ("#define WHEN __DATE__", false),
        ];
        for (source, expected) in cases {
            assert_eq!(is_lasting(source), expected, "{source:?}");
        }
    }
}
