//! The assembly of each architecture assembles, wherever this runs, and both define the same functions; contexts come back and messages
//! arrive, on another architecture under QEMU.
//!
//! Two pairs of files: the switch of stacks, and the sending of messages for libMetal.so.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

const FILES: [&str; 2] = ["src/executor/context", "native/hostmetal/standalone/message"];

fn source(file: &str, architecture: &str) -> String {
    let path = format!("{}/{file}_{architecture}.s", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the crate has the file")
}

fn assemble(architecture: &str, source: &Path, object: &Path) -> (bool, String) {
    let clang = std::env::var("HOSTMETAL_CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let output = Command::new(clang)
        .arg(format!("--target={architecture}-linux-gnu"))
        .args(["-Werror", "-c", "-o"])
        .arg(object)
        .arg(source)
        .output()
        .expect("hostmetal needs clang, so its tests have it");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_assembly_of_each_architecture_assembles() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let file = directory.path().join("assembly.s");
    for name in FILES {
        for architecture in ARCHITECTURES {
            std::fs::write(&file, source(name, architecture)).expect("the directory is ours");
            assert_eq!(assemble(architecture, &file, Path::new("/dev/null")), (true, String::new()));
        }
        // One for the other is refused, so the check can fail.
        assert!(!assemble("x86_64", &file, Path::new("/dev/null")).0);
    }
}

#[test]
fn both_architectures_define_the_same_functions() {
    for (file, least) in FILES.into_iter().zip([9, 3]) {
        let [mut x86_64, aarch64] = ARCHITECTURES.map(|architecture| {
            let text = source(file, architecture);
            let names = text.lines().filter_map(|line| {
                let line = line.trim();
                line.strip_prefix(".globl ").or_else(|| line.strip_prefix("BEGIN "))
            });
            names.filter(|name| !name.contains('\\')).map(str::to_owned).collect::<BTreeSet<_>>()
        });
        // A structure has its place in an argument only there.
        x86_64.retain(|name| !name.ends_with("_stret"));
        assert!(x86_64.len() >= least, "{x86_64:?}");
        assert_eq!(x86_64, aarch64);
    }
}

/// Runs tests/NAME.c with the assembly on both architectures; on success it prints this line alone.
fn runs(name: &str, file: &str, line: &str) {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let program = directory.path().join(name);
    let main = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name).with_extension("c");
    for architecture in ARCHITECTURES {
        let own = architecture == std::env::consts::ARCH;
        let compiler = if own { "cc".to_owned() } else { format!("{architecture}-linux-gnu-gcc") };
        let runner = (!own).then(|| format!("qemu-{architecture}"));
        let needed = [Some(&compiler), runner.as_ref()];
        let missing = needed.into_iter().flatten().find(|tool| Command::new(tool).arg("--version").output().is_err());
        if let Some(tool) = missing {
            println!("skipped: {name} on {architecture} need '{tool}' (on Debian for x86-64: scripts/setup --test)");
            continue;
        }
        let (assembly, object) = (directory.path().join("assembly.s"), directory.path().join("assembly.o"));
        std::fs::write(&assembly, source(file, architecture)).expect("the directory is ours");
        assert_eq!(assemble(architecture, &assembly, &object), (true, String::new()));
        let flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-static", "-z", "noexecstack", "-o"];
        let mut command = Command::new(&compiler);
        command.args(flags).arg(&program).arg(&main).arg(&object).arg("-lm");
        let output = command.output().expect("the compiler is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut command = Command::new(runner.as_deref().map_or(program.as_path(), Path::new));
        command.args(runner.is_some().then_some(&program)).current_dir(directory.path());
        let output = command.output().expect("the program is there");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text == line, "{architecture}: {text}{}", output.status);
    }
}

#[test]
fn contexts_come_back() {
    runs("contexts", FILES[0], "every context came back\n");
}

#[test]
fn messages_arrive_with_their_arguments() {
    runs("messages", FILES[1], "every message arrived\n");
}
