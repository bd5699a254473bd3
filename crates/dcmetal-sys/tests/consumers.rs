//! Programs in C and C++ against what `scripts/install` puts into a prefix, which is moved first.
//!
//! Needs what a C developer has: cc, c++, pkg-config, cmake and nm. A tool that is missing fails the test.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/consumers")
}

/// Runs a tool and demands success; its output is in the message when it fails.
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("tools write UTF-8")
}

/// A prefix installed once for this run and then moved: what it holds must not know where it was made.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("consumers");
        let _absent = fs::remove_dir_all(&folder);
        let (first, moved) = (folder.join("first place"), folder.join("prefix"));
        fs::create_dir_all(&folder).expect("a folder");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install");
        let mut install = Command::new(script);
        // What is installed is built as users build it: none of the flags of this test's own build, sanitizers among them.
        let ours = |name: &str| name.starts_with("CARGO_") && name != "CARGO_HOME" && name != "CARGO_TARGET_DIR";
        let flags = ["RUSTFLAGS", "RUSTC_BOOTSTRAP", "DCMETAL_SANITIZE"];
        for name in env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
            if ours(&name) || flags.contains(&name.as_str()) {
                install.env_remove(name);
            }
        }
        run(install.arg("--prefix").arg(&first));
        fs::rename(&first, &moved).expect("it is moved");
        moved
    })
}

fn shared_library() -> PathBuf {
    prefix().join("lib").join(if cfg!(target_os = "macos") { "libdcmetal.dylib" } else { "libdcmetal.so" })
}

fn translator_library() -> PathBuf {
    prefix().join("lib").join(if cfg!(target_os = "macos") { "libclmsl.dylib" } else { "libclmsl.so" })
}

fn pkg_config(arguments: &[&str]) -> Vec<String> {
    pkg_config_of("dcmetal", arguments)
}

fn pkg_config_of(library: &str, arguments: &[&str]) -> Vec<String> {
    let path = prefix().join("lib/pkgconfig");
    let output = run(Command::new("pkg-config").env("PKG_CONFIG_PATH", path).args(arguments).arg(library));
    text(&output).split_whitespace().map(str::to_owned).collect()
}

/// Runs a consumer with the moved library on the loader's path and demands its last line.
fn demand(program: &Path, line: &str) {
    let name = if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };
    let output = run(Command::new(program).env(name, prefix().join("lib")));
    assert_eq!(text(&output).lines().last(), Some(line));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "it is silent on success");
}

fn compile<S: AsRef<OsStr>>(compiler: &str, standard: &str, source: &str, name: &str, arguments: &[S]) -> PathBuf {
    let program = prefix().with_file_name(name);
    let mut command = Command::new(compiler);
    command.args([standard, "-Wall", "-Wextra", "-pedantic", "-Werror"]).arg(source_folder().join(source));
    run(command.args(arguments).arg("-o").arg(&program));
    program
}

#[test]
fn c99_with_pkg_config() {
    let flags = pkg_config(&["--cflags", "--libs"]);
    demand(&compile("cc", "-std=c99", "consumer.c", "c_shared", &flags), "1000 elements are right");
}

#[test]
fn c99_with_pkg_config_and_the_archive() {
    let mut flags = pkg_config(&["--cflags", "--libs", "--static"]);
    for flag in flags.iter_mut().filter(|flag| *flag == "-ldcmetal") {
        *flag = prefix().join("lib/libdcmetal.a").display().to_string();
    }
    let program = compile("cc", "-std=c99", "consumer.c", "c_static", &flags);
    let output = run(Command::new(&program).env_remove("LD_LIBRARY_PATH"));
    assert_eq!(text(&output).trim_end(), "1000 elements are right");
}

#[test]
fn cpp_with_pkg_config() {
    let flags = pkg_config(&["--cflags", "--libs"]);
    demand(&compile("c++", "-std=c++11", "consumer.cpp", "cpp_shared", &flags), "16 sums are right");
}

#[test]
fn translator_in_c99_and_cpp() {
    let flags = pkg_config_of("clmsl", &["--cflags", "--libs"]);
    let line = "a kernel of 1 argument; a rejected program with 1 diagnostic";
    demand(&compile("cc", "-std=c99", "translator.c", "translator_c", &flags), line);
    // The header serves C++ too.
    let mut as_cpp = vec!["-xc++".to_owned()];
    as_cpp.push(source_folder().join("translator.c").display().to_string());
    as_cpp.push("-xnone".to_owned());
    as_cpp.extend(flags);
    let program = prefix().with_file_name("translator_cpp");
    run(Command::new("c++").args(["-std=c++11", "-Wall", "-Wextra", "-Werror"]).args(as_cpp).arg("-o").arg(&program));
    demand(&program, line);
}

#[test]
fn both_with_cmake() {
    let build = prefix().with_file_name("cmake build");
    let prefix_path = format!("-DCMAKE_PREFIX_PATH={}", prefix().display());
    run(Command::new("cmake").arg("-S").arg(source_folder()).arg("-B").arg(&build).arg(prefix_path));
    run(Command::new("cmake").arg("--build").arg(&build));
    for (program, line) in [("c", "1000 elements are right"), ("cpp", "16 sums are right")] {
        demand(&build.join(format!("{program}_shared")), line);
        demand(&build.join(format!("{program}_static")), line);
    }
}

#[test]
fn cmake_refuses_another_version() {
    let folder = prefix().with_file_name("cmake version");
    fs::create_dir_all(&folder).expect("a folder");
    let project = "cmake_minimum_required(VERSION 3.16)\nproject(Other LANGUAGES C)\nfind_package(DCMetal 0.9 CONFIG)\n\
                   if(DCMetal_FOUND)\n  message(FATAL_ERROR \"0.9 was found\")\nendif()\n";
    fs::write(folder.join("CMakeLists.txt"), project).expect("a project");
    let prefix_path = format!("-DCMAKE_PREFIX_PATH={}", prefix().display());
    run(Command::new("cmake").arg("-S").arg(&folder).arg("-B").arg(folder.join("build")).arg(prefix_path));
}

/// What a header declares with the macro `api` before it.
fn declared(header: &str, api: &str) -> BTreeSet<String> {
    let header = fs::read_to_string(prefix().join("include").join(header)).expect("the header");
    let mark = format!("\n{api} ");
    let names = header.split(&mark).skip(1).map(|text| {
        let before = text.split('(').next().expect("a declaration has parameters");
        before.rsplit([' ', '*', '\n']).next().expect("and a name").to_owned()
    });
    names.collect()
}

fn exported(library: &Path) -> BTreeSet<String> {
    let arguments: &[&str] = if cfg!(target_os = "macos") { &["-gU"] } else { &["-D", "--defined-only"] };
    let output = run(Command::new("nm").args(arguments).arg(library));
    text(&output)
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .map(|name| if cfg!(target_os = "macos") { name.trim_start_matches('_').to_owned() } else { name.to_owned() })
        .collect()
}

/// The headers' functions are the whole interface of the shared libraries.
#[test]
fn shared_libraries_export_the_headers_functions() {
    let mut expected = declared("DCMetal.h", "DC_METAL_API");
    expected.extend(declared("DCMetalPerformance.h", "DC_METAL_API"));
    assert!(expected.len() > 90, "{}", expected.len());
    assert_eq!(exported(&shared_library()), expected);
    let expected = declared("clmsl.h", "CLMSL_API");
    assert!(expected.len() >= 12, "{}", expected.len());
    assert_eq!(exported(&translator_library()), expected);
}

#[test]
#[cfg(target_os = "linux")]
fn shared_library_names_its_abi() {
    let output = run(Command::new("readelf").args(["-d", "-W"]).arg(shared_library()));
    let dynamic = text(&output);
    assert!(dynamic.contains("Library soname: [libdcmetal.so.2]"), "{dynamic}");
    assert!(!dynamic.contains("RPATH") && !dynamic.contains("RUNPATH"), "{dynamic}");
    let dynamic = text(&run(Command::new("readelf").args(["-d", "-W"]).arg(translator_library())));
    assert!(dynamic.contains("Library soname: [libclmsl.so.1]"), "{dynamic}");
}

#[test]
fn installed_files_name_no_place() {
    let place = prefix().parent().expect("a folder").display().to_string();
    for file in [
        "lib/pkgconfig/dcmetal.pc",
        "lib/pkgconfig/clmsl.pc",
        "lib/cmake/DCMetal/DCMetalConfig.cmake",
        "include/DCMetal.h",
        "include/DCMetalPerformance.h",
    ] {
        let content = fs::read_to_string(prefix().join(file)).expect("it is installed");
        assert!(!content.contains(&place), "{file}");
    }
}

#[test]
fn install_explains_itself() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install");
    for arguments in [&[][..], &["--prefix"], &["--prefix", ""], &["--where", "x"]] {
        let output = Command::new(&script).args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: scripts/install"));
    }
}
