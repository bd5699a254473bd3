//! Compiles the Objective-C++ of the C ABI (native/DCMetal*.mm) and reads its header into Rust bindings.
//!
//! On Linux the compiler, its flags and the Metal headers come from the crate `hostmetal` (`DEP_HOSTMETAL_*`), which has tried
//! them. `DCMETAL_CLANGXX` names another clang++. What is missing is reported in one message with the command that installs
//! it. A build for docs.rs needs none of it.
//!
//! Dependants get `DEP_DCMETAL_INCLUDE`, the folder of `DCMetal.h`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

const SOURCES: [&str; 12] = [
    "DCMetalDevice.mm",
    "DCMetalBuffer.mm",
    "DCMetalHeap.mm",
    "DCMetalLibrary.mm",
    "DCMetalArchive.mm",
    "DCMetalEvent.mm",
    "DCMetalCommand.mm",
    "DCMetalEncoder.mm",
    "DCMetalIndirect.mm",
    "DCMetalPerformance.mm",
    "DCMetalGraph.mm",
    "DCMetalTexture.mm",
];
/// The first includes the second.
const HEADERS: [&str; 2] = ["include/DCMetal.h", "include/DCMetalPerformance.h"];
const DOCS_BINDINGS: &str = "src/bindings_docs.rs";
const INSTALL: &str = "sudo apt-get install clang-19 libclang-19-dev gobjc++ libgnustep-base-dev";
const INSTALL_MACOS: &str = "xcode-select --install";

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
    for file in SOURCES.iter().chain(&["DCMetalShim.h", "hostmetal/pool.h"]).chain(&HEADERS) {
        println!("cargo::rerun-if-changed={}", native.join(file).display());
    }
    let tools = tools();
    check(&tools, &out);
    compile(&tools, &native);
    generate(&native.join(HEADERS[0]), &bindings);
    println!("cargo::metadata=INCLUDE={}", native.join("include").display());
    println!("cargo::rustc-env=DCMETAL_SYS_BINDINGS={}", bindings.display());
}

/// A variable that cargo sets for every build script.
fn variable(name: &str) -> String {
    match env::var(name) {
        Ok(value) => value,
        Err(error) => stop(&[format!("{name}: {error}")]),
    }
}

/// Ends the build with these lines as cargo's error. (Cargo fails a build for `cargo::error`; a script that also exits with a
/// failure has all its output printed above the message.)
fn stop(lines: &[String]) -> ! {
    for line in lines {
        println!("cargo::error={line}");
    }
    exit(0)
}

/// The compiler and what the system compiled for asks of it.
struct Tools {
    macos: bool,
    clang: String,
    flags: Vec<String>,
}

/// On Linux `hostmetal` has chosen and tried them.
fn tools() -> Tools {
    if variable("CARGO_CFG_TARGET_OS") == "macos" {
        let flags =
            ["-std=c++17", "-fblocks", "-fno-objc-arc", "-fexceptions", "-fobjc-exceptions", "-fvisibility=hidden"];
        let clang = env::var("DCMETAL_CLANGXX").unwrap_or_else(|_| "clang++".into());
        return Tools { macos: true, clang, flags: flags.map(String::from).into() };
    }
    let flags = variable("DEP_HOSTMETAL_OBJCXX_FLAGS").split('\u{1f}').map(String::from).collect();
    Tools { macos: false, clang: variable("DEP_HOSTMETAL_CXX"), flags }
}

/// Looks for everything that is needed, so that one message names all that is missing.
fn check(tools: &Tools, out: &Path) {
    let mut missing = Vec::new();
    if tools.macos {
        missing.extend(try_compiler(tools, out).err().map(|why| format!("Objective-C++ with Metal: {why}")));
    }
    missing.extend(try_libclang().err().map(|why| format!("libclang, which reads the C header: {why}")));
    if missing.is_empty() {
        return;
    }
    let mut lines = vec!["dcmetal-sys cannot be built; missing or not working on this machine:".to_owned()];
    lines.extend(missing.iter().map(|what| format!("  * {what}")));
    lines.push(format!("install: {}", if tools.macos { INSTALL_MACOS } else { INSTALL }));
    lines.push(
        "another clang is used with DCMETAL_CLANGXX=path/to/clang++ (and LIBCLANG_PATH=folder of libclang)".into(),
    );
    stop(&lines);
}

fn try_compiler(tools: &Tools, out: &Path) -> Result<(), String> {
    let probe = out.join("probe.mm");
    let text = "#import <Metal/Metal.h>\nvoid probe(void) { @autoreleasepool { ^{ (void)MTLCopyAllDevices; }(); } }\n";
    fs::write(&probe, text).map_err(|error| format!("{}: {error}", probe.display()))?;
    let mut command = Command::new(&tools.clang);
    command.args(["-x", "objective-c++", "-fsyntax-only"]).args(&tools.flags).arg(&probe);
    let output = command.output().map_err(|error| format!("{}: {error}", tools.clang))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| line.contains("error")).unwrap_or("it failed without a message");
    Err(format!("{}: {first}", tools.clang))
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

fn compile(tools: &Tools, native: &Path) {
    if tools.macos && env::var_os("MACOSX_DEPLOYMENT_TARGET").is_none() {
        // SAFETY: the build script has one thread. cc reads the variable; rustc's default is older than MTLBinding.
        unsafe { env::set_var("MACOSX_DEPLOYMENT_TARGET", "13.0") };
    }
    let mut build = cc::Build::new();
    build.cpp(true).compiler(&tools.clang).warnings(true).extra_warnings(true).warnings_into_errors(true);
    build.include(native.join("include")).flag("-pthread");
    for flag in &tools.flags {
        build.flag(flag);
    }
    for source in SOURCES {
        build.file(native.join(source));
    }
    if let Err(error) = build.try_compile("dcmetal_shim") {
        stop(&[format!("{} could not compile native/DCMetal*.mm: {error}", tools.clang)]);
    }
    if tools.macos {
        println!("cargo::rustc-link-lib=framework=Metal");
        println!("cargo::rustc-link-lib=framework=MetalPerformanceShaders");
        println!("cargo::rustc-link-lib=framework=MetalPerformanceShadersGraph");
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
