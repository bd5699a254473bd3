//! Compiles the Objective-C++ of the C ABI (native/DCMetal*.mm) and reads its header into Rust bindings.
//!
//! On Linux the flags for Objective-C++ and the Metal headers come from the crate `hostmetal` (`DEP_HOSTMETAL_*`).
//! `DCMETAL_CLANGXX` names another clang++; whichever it is, it is tried on a few lines first. What is missing is
//! reported in one message with the command that installs it. A build for docs.rs needs none of it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

const SOURCES: [&str; 5] =
    ["DCMetalDevice.mm", "DCMetalBuffer.mm", "DCMetalLibrary.mm", "DCMetalCommand.mm", "DCMetalEncoder.mm"];
const HEADER: &str = "include/DCMetal.h";
const DOCS_BINDINGS: &str = "src/bindings_docs.rs";

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let bindings = out.join("bindings.rs");
    for name in ["DCMETAL_CLANGXX", "DOCS_RS", "LIBCLANG_PATH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        println!("cargo::rerun-if-changed={DOCS_BINDINGS}");
        if let Err(error) = fs::copy(root.join(DOCS_BINDINGS), &bindings) {
            stop(&[format!("{DOCS_BINDINGS}: {error}")]);
        }
        return;
    }
    let native = root.join("native");
    for file in SOURCES.iter().chain(&["DCMetalShim.h", HEADER]) {
        println!("cargo::rerun-if-changed={}", native.join(file).display());
    }
    let target = Target::detect();
    let clang = clang(&target);
    check_tools(&target, &clang, &out);
    compile(&target, &clang, &native);
    generate(&native.join(HEADER), &bindings);
    println!("cargo::metadata=include={}", native.join("include").display());
    println!("cargo::rustc-env=DCMETAL_SYS_BINDINGS={}", bindings.display());
    println!("cargo::rustc-env=DCMETAL_SYS_CLANGXX={clang}");
}

/// A variable that cargo sets for every build script.
fn variable(name: &str) -> String {
    match env::var(name) {
        Ok(value) => value,
        Err(error) => stop(&[format!("{name}: {error}")]),
    }
}

/// Ends the build with these lines as cargo's error.
fn stop(lines: &[String]) -> ! {
    for line in lines {
        println!("cargo::error={line}");
    }
    exit(1)
}

/// What the system compiled for asks of the compiler.
struct Target {
    macos: bool,
    flags: Vec<String>,
}

impl Target {
    fn detect() -> Self {
        let macos = variable("CARGO_CFG_TARGET_OS") == "macos";
        let mut flags = vec!["-std=c++17".into(), "-fblocks".into(), "-fno-objc-arc".into()];
        flags.extend(["-fexceptions".into(), "-fobjc-exceptions".into(), "-fvisibility=hidden".into()]);
        if !macos {
            // One flag a line: paths may hold spaces.
            flags.extend(variable("DEP_HOSTMETAL_OBJCXX_FLAGS").split('\u{1f}').map(String::from));
        }
        Self { macos, flags }
    }

    fn install_command(&self) -> &'static str {
        if self.macos {
            "xcode-select --install"
        } else {
            "sudo apt-get install clang-19 libclang-19-dev gobjc++ libgnustep-base-dev"
        }
    }
}

/// The clang++ to use: `DCMETAL_CLANGXX`, else the one the design is tested with, else whatever the system calls clang++.
fn clang(target: &Target) -> String {
    if let Ok(named) = env::var("DCMETAL_CLANGXX") {
        return named;
    }
    let candidates: &[&str] = if target.macos { &["clang++"] } else { &["clang++-19", "clang++"] };
    let runs = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    candidates.iter().find(runs).unwrap_or(&candidates[0]).to_string()
}

/// Tries the compiler on what the sources use and looks for libclang; ends the build when either is missing.
fn check_tools(target: &Target, clang: &str, out: &Path) {
    let mut missing = Vec::new();
    if let Err(why) = try_compiler(target, clang, out) {
        missing.push(format!("an Objective-C++ compiler with Foundation: {why}"));
    }
    if let Err(why) = try_libclang() {
        missing.push(format!("libclang, which reads the C header for the bindings: {why}"));
    }
    if missing.is_empty() {
        return;
    }
    let mut lines = vec!["dcmetal-sys cannot be built; missing on this machine:".to_owned()];
    lines.extend(missing.iter().map(|what| format!("  * {what}")));
    lines.push(format!("install: {}", target.install_command()));
    lines.push("another clang is used with DCMETAL_CLANGXX=path/to/clang++ (and LIBCLANG_PATH for its library)".into());
    stop(&lines);
}

fn try_compiler(target: &Target, clang: &str, out: &Path) -> Result<(), String> {
    let probe = out.join("probe.mm");
    let text = "#import <Foundation/Foundation.h>\n\
                NSUInteger probe(NSString *text) {\n\
                  __block NSUInteger length = 0;\n\
                  @autoreleasepool { @try { ^{ length = [text length]; }(); } @catch (NSException *e) { (void)e; } }\n\
                  return length;\n\
                }\n";
    fs::write(&probe, text).map_err(|error| format!("{}: {error}", probe.display()))?;
    let mut command = Command::new(clang);
    command.args(["-x", "objective-c++", "-fsyntax-only"]).args(&target.flags).arg(&probe);
    let output = command.output().map_err(|error| format!("{clang}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| line.contains("error")).unwrap_or("it failed without a message");
    Err(format!("{clang}: {first}"))
}

/// bindgen panics when it finds no libclang; its words are kept for the message, its backtrace is not printed.
fn try_libclang() -> Result<(), String> {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let found = std::panic::catch_unwind(bindgen::clang_version);
    std::panic::set_hook(print);
    found.map(drop).map_err(|cause| match cause.downcast::<String>() {
        Ok(text) => text.lines().next().unwrap_or_default().to_owned(),
        Err(_) => "it cannot be loaded".to_owned(),
    })
}

fn compile(target: &Target, clang: &str, native: &Path) {
    if target.macos && env::var_os("MACOSX_DEPLOYMENT_TARGET").is_none() {
        // SAFETY: the build script has one thread. cc reads the variable; rustc's default is older than MTLBinding.
        unsafe { env::set_var("MACOSX_DEPLOYMENT_TARGET", "13.0") };
    }
    let mut build = cc::Build::new();
    build.cpp(true).compiler(clang).std("c++17").warnings(true).extra_warnings(true).warnings_into_errors(true);
    build.include(native.join("include")).flag("-pthread");
    for flag in &target.flags {
        build.flag(flag);
    }
    for source in SOURCES {
        build.file(native.join(source));
    }
    if let Err(error) = build.try_compile("dcmetal_shim") {
        stop(&[format!("{clang} could not compile native/DCMetal*.mm: {error}")]);
    }
    if target.macos {
        println!("cargo::rustc-link-lib=framework=Metal");
        println!("cargo::rustc-link-lib=framework=Foundation");
        println!("cargo::rustc-link-lib=objc");
    }
}

/// The header's comments as they are, less the rules between its sections.
#[derive(Debug)]
struct Comments;

impl bindgen::callbacks::ParseCallbacks for Comments {
    fn process_comment(&self, comment: &str) -> Option<String> {
        let rule = |line: &&str| line.trim_start().starts_with("-----");
        let lines: Vec<&str> = comment.lines().filter(|line| !rule(line)).map(str::trim_end).collect();
        Some(lines.join("\n"))
    }
}

fn generate(header: &Path, bindings: &Path) {
    let generated = bindgen::Builder::default()
        .header(header.display().to_string())
        .clang_arg("-fparse-all-comments")
        .allowlist_function("DCMetal.*")
        .allowlist_type("DCMetal.*")
        .allowlist_var("DC_METAL_.*")
        .newtype_global_enum(".*")
        .prepend_enum_name(false)
        .parse_callbacks(Box::new(Comments))
        .derive_default(true)
        .derive_eq(true)
        .derive_hash(true)
        .rust_edition(bindgen::RustEdition::Edition2024)
        .formatter(bindgen::Formatter::Prettyplease)
        .generate();
    let written = generated
        .map_err(|error| error.to_string())
        .and_then(|text| text.write_to_file(bindings).map_err(|error| error.to_string()));
    if let Err(error) = written {
        stop(&[format!("bindings of {}: {error}", header.display())]);
    }
}
