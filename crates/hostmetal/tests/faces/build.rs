//! Compiles native/hostmetal/tests/*.mm as hostmetal's own sources are compiled.

use std::env;
use std::fs;
use std::path::Path;

fn main() {
    // On macOS, and for its documentation, hostmetal compiles nothing either.
    let (Ok(clang), Ok(flags)) = (env::var("DEP_HOSTMETAL_CXX"), env::var("DEP_HOSTMETAL_OBJCXX_FLAGS")) else {
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../native/hostmetal/tests");
    let mut build = cc::Build::new();
    build.cpp(true).compiler(clang).warnings(true).extra_warnings(true).warnings_into_errors(true);
    for flag in flags.split('\u{1f}') {
        build.flag(flag);
    }
    println!("cargo::rerun-if-changed={}", folder.display());
    let files = fs::read_dir(&folder).expect("the folder of the cases").flatten().map(|entry| entry.path());
    let mut sources: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "mm")).collect();
    sources.sort();
    if let Ok(include) = env::var("DEP_HOSTMETAL_INCLUDE") {
        println!("cargo::rerun-if-changed={include}");
    }
    build.files(sources).compile("hostmetal_faces_cases");
}
