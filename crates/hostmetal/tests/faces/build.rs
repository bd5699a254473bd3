//! Compiles native/hostmetal/tests/*.mm as hostmetal's own sources are compiled.

use std::env;
use std::path::Path;

const SOURCES: [&str; 7] =
    ["arguments.mm", "faces.mm", "heaps.mm", "libraries.mm", "objects.mm", "plants.mm", "textures.mm"];

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
    for file in SOURCES.iter().chain(&["faces.h"]) {
        println!("cargo::rerun-if-changed={}", folder.join(file).display());
    }
    if let Ok(include) = env::var("DEP_HOSTMETAL_INCLUDE") {
        println!("cargo::rerun-if-changed={include}");
    }
    build.files(SOURCES.map(|source| folder.join(source))).compile("hostmetal_faces_cases");
}
