//! Compiles native/hostmetal/standalone as hostmetal's own sources are compiled.

use std::env;
use std::path::Path;

fn main() {
    // On macOS, and for its documentation, hostmetal compiles nothing either.
    let (Ok(clang), Ok(flags)) = (env::var("DEP_HOSTMETAL_CXX"), env::var("DEP_HOSTMETAL_OBJCXX_FLAGS")) else {
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hostmetal/native/hostmetal/standalone");
    println!("cargo::rerun-if-changed={}", folder.display());
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let mut build = cc::Build::new();
    build.cpp(true).compiler(clang).warnings(true).extra_warnings(true).warnings_into_errors(true);
    build.file(folder.join(format!("message_{architecture}.s")));
    for file in ["classes.cpp", "counting.mm", "pools.mm", "strings.mm"] {
        build.file(folder.join(file));
    }
    for flag in flags.split('\u{1f}') {
        build.flag(flag);
    }
    // No option but the target's means anything to the assembler.
    build.flag("-Wno-unused-command-line-argument");
    build.compile("hostmetal_standalone");
}
