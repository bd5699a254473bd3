//! The assembly of each architecture assembles, wherever this runs, and both define the same functions.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

fn source(architecture: &str) -> String {
    let path = format!("{}/src/executor/context_{architecture}.s", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the crate has the file")
}

fn assemble(architecture: &str, source: &Path) -> (bool, String) {
    let clang = std::env::var("HOSTMETAL_CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let output = Command::new(clang)
        .arg(format!("--target={architecture}-linux-gnu"))
        .args(["-Werror", "-c", "-o", "/dev/null"])
        .arg(source)
        .output()
        .expect("hostmetal needs clang, so its tests have it");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_assembly_of_each_architecture_assembles() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    for architecture in ARCHITECTURES {
        let file = directory.path().join(format!("{architecture}.s"));
        std::fs::write(&file, source(architecture)).expect("the directory is ours");
        assert_eq!(assemble(architecture, &file), (true, String::new()));
    }
    // One for the other is refused, so the check can fail.
    assert!(!assemble("aarch64", &directory.path().join("x86_64.s")).0);
}

#[test]
fn both_architectures_define_the_same_functions() {
    let [x86_64, aarch64] = ARCHITECTURES.map(|architecture| {
        let text = source(architecture);
        let names = text.lines().filter_map(|line| line.trim().strip_prefix(".globl "));
        names.map(str::to_owned).collect::<BTreeSet<_>>()
    });
    assert!(x86_64.len() > 8);
    assert_eq!(x86_64, aarch64);
}
