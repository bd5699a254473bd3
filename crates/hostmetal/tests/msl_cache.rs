//! What the compiler made is kept on disk: who finds it there starts no compiler, and never runs anything else than what was
//! made. The compiler here is a program that notes each run and becomes clang.

mod stdlib;
mod support;

use hostmetal::msl::{
    Archive, Archives, Built, Checked, CompileOptions, Failure, LoadedKernel, Toolchain, ToolchainOptions, With,
};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use support::{Buffer, Queue};

/// Each kernel here gives thread i of 64 the value 3 i + 1.
const LOOP: &str = "kernel void run(device int *p, uint i [[thread_position_in_grid]]) { p[i] = int(i) * 3 + 1; }";
const BARRIER: &str = "kernel void run(device int *p, uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) \
     { threadgroup int s[64]; s[63 - t] = int(63 - t) * 3 + 1; threadgroup_barrier(mem_flags::mem_threadgroup); p[i] = s[i]; }";
/// The pass refuses it: not all threads come to the barrier.
const REFUSED: &str = "kernel void run(device int *p, uint i [[thread_position_in_grid]]) \
     { if (p[i] == 0) threadgroup_barrier(mem_flags::mem_device); p[i] = int(i) * 3 + 1; }";
/// Compiled again, since its threads keep an array.
const ARRAY: &str = "kernel void run(device int *p, uint i [[thread_position_in_grid]]) \
     { int t[8]; for (int j = 0; j < 8; j++) t[j] = p[i] + j; p[i] = t[i % 8] + int(i) * 3 + 1 - int(i % 8); }";
/// Clang is asked again, since it does not accept operands in two address spaces.
const REPAIRED: &str = "kernel void run(device int *p, constant int &zero, uint i [[thread_position_in_grid]]) \
     { int own[2] = {int(i) * 3 + 1, 0}; p[i] = i < 64 ? own[0] : zero; }";
const SOURCES: [&str; 5] = [LOOP, BARRIER, REFUSED, ARRAY, REPAIRED];

fn source(body: &str) -> String {
    format!("#include <metal_stdlib>\nusing namespace metal;\n{body}")
}

fn build(toolchain: &Arc<Toolchain>, body: &str) -> LoadedKernel {
    let checked = Checked::new(toolchain, &source(body), &CompileOptions::default());
    checked.and_then(|checked| checked.build("run", &[])).unwrap_or_else(|failure| panic!("{failure}"))
}

fn computes(kernel: LoadedKernel) {
    let bindings = kernel.bindings().len();
    let pipeline = stdlib::pipeline(kernel);
    let out = Buffer::new(256);
    let queue = Queue::new();
    queue
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&out, 0);
            if bindings > 1 {
                encoder.bytes(&0i32, 1);
            }
            encoder.threads([64, 1, 1], [64, 1, 1]);
        })
        .assert_completed();
    assert_eq!(out.read::<i32>(), (0..64).map(|i| i * 3 + 1).collect::<Vec<i32>>());
}

/// A place with a compiler that notes its runs, and a cache.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "#include <fcntl.h>\n#include <string.h>\n#include <unistd.h>\n\
             int main(int n, char **a) {{\n  char what[64] = \"other\\n\";\n\
             \x20 for (int i = 1; i < n; i++) {{\n\
             \x20   if (!strcmp(a[i], \"-shared\")) strcpy(what, \"object\\n\");\n\
             \x20   if (!strcmp(a[i], \"--version\")) strcpy(what, \"version\\n\");\n  }}\n\
             \x20 int f = open(\"{}\", O_WRONLY | O_CREAT | O_APPEND, 0600);\n\
             \x20 if (write(f, what, strlen(what)) < 0) return 1;\n\
             \x20 execvp(\"clang-19\", a);\n  return 127;\n}}\n",
            folder.path().join("runs").display()
        );
        fs::write(folder.path().join("clang.c"), text).unwrap();
        let mut command = Command::new("clang-19");
        command.arg(folder.path().join("clang.c")).arg("-o").arg(folder.path().join("clang"));
        assert!(command.status().unwrap().success());
        Place { folder }
    }

    fn clang(&self) -> PathBuf {
        self.folder.path().join("clang")
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn toolchain(&self) -> Arc<Toolchain> {
        let options = ToolchainOptions {
            clang: Some(self.clang().into()),
            cache: Some(self.cache()),
            ..ToolchainOptions::default()
        };
        Arc::new(Toolchain::new(&options).unwrap())
    }

    /// A process that compiles and runs every source.
    fn process(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child_process"]).env("HOSTMETAL_TEST_CHILD", "1");
        command.env("HOSTMETAL_CLANG", self.clang()).env("HOSTMETAL_CACHE_DIR", self.cache());
        command
    }

    fn run_process(&self) {
        let output = self.process().output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    /// What the compiler was started for since the last call.
    fn runs(&self) -> Vec<String> {
        let path = self.folder.path().join("runs");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(&path);
        text.lines().map(str::to_owned).collect()
    }

    fn records(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> =
            fs::read_dir(self.cache().join("made")).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found
    }
}

fn objects(runs: &[String]) -> usize {
    runs.iter().filter(|run| *run == "object").count()
}

/// Run as a process of its own by the other tests; does nothing otherwise.
#[test]
fn child_process() {
    if std::env::var_os("HOSTMETAL_TEST_CHILD").is_some() {
        let toolchain = Toolchain::shared().unwrap();
        SOURCES.iter().for_each(|source| computes(build(&toolchain, source)));
    }
}

/// Which arguments the code uses is told by what is kept.
#[test]
fn what_is_used_is_known_without_a_compiler() {
    let place = Place::new();
    let text = "kernel void run(device int *p, constant int &spare, uint i [[thread_position_in_grid]]) { p[i] = 1; }";
    let first = build(&place.toolchain(), text);
    place.runs();
    let second = build(&place.toolchain(), text);
    assert_eq!(objects(&place.runs()), 0);
    assert_eq!(first.bindings(), second.bindings());
    assert!(second.bindings()[0].used);
}

#[test]
fn a_second_process_starts_no_compiler() {
    let place = Place::new();
    place.run_process();
    // One for each kernel; one more for the array; with the pass one more for what waits and is refused, and one for what
    // has a loop and gets no tiles.
    let first = place.runs();
    let passes = matches!(build(&place.toolchain(), BARRIER).built(), Built::Pass);
    assert_eq!(objects(&first), 6 + 2 * usize::from(passes));
    assert_eq!(place.runs(), [""; 0], "this process is a second one");
    place.run_process();
    assert_eq!(place.runs(), [""; 0]);
    for path in place.records() {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    }
}

#[test]
fn another_version_option_or_engine_is_another_result() {
    let place = Place::new();
    let toolchain = place.toolchain();
    let text = source(BARRIER);
    let safe = CompileOptions { math_mode: hostmetal::msl::MathMode::Safe, ..CompileOptions::default() };
    let defined = CompileOptions { macros: vec![("N".to_owned(), "1".to_owned())], ..CompileOptions::default() };
    let names_n = format!("#ifdef N\n{}\n#else\n{text}\n#endif\n", text.replace("* 3 + 1", "* 3 + N"));
    for (number, options) in [CompileOptions::default(), safe, defined].iter().enumerate() {
        computes(Checked::new(&toolchain, &names_n, options).unwrap().build("run", &[]).unwrap());
        assert_eq!(objects(&place.runs()), 1, "{number}");
    }
    let checked = Checked::new(&toolchain, &names_n, &CompileOptions::default()).unwrap();
    computes(checked.build_for("run", &[], hostmetal::msl::Engine::Stack).unwrap());
    let passes = matches!(checked.build("run", &[]).unwrap().built(), Built::Pass);
    assert_eq!(objects(&place.runs()), usize::from(passes));
}

#[test]
fn a_cache_of_size_0_keeps_no_results() {
    let place = Place::new();
    let process = |size: &str| place.process().env("HOSTMETAL_CACHE_SIZE", size).output().unwrap();
    assert!(process("0").status.success());
    let first = objects(&place.runs());
    assert!(process("0").status.success());
    assert_eq!(objects(&place.runs()), first);
    assert!(!place.cache().join("made").exists());
    let refused = process("some");
    assert!(!refused.status.success());
    let text = String::from_utf8_lossy(&refused.stdout).into_owned() + &String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("HOSTMETAL_CACHE_SIZE must be a number of bytes"), "{text}");
}

#[test]
fn only_the_kernel_asked_for_is_compiled_and_only_once() {
    let place = Place::new();
    let toolchain = place.toolchain();
    let many: String = (0..5).map(|n| LOOP.replace("run", &format!("run{n}"))).collect();
    let checked = Checked::new(&toolchain, &source(&many), &CompileOptions::default()).unwrap();
    assert_eq!(objects(&place.runs()), 0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| computes(checked.build("run3", &[]).unwrap()));
        }
    });
    assert_eq!(objects(&place.runs()), 1);
    let object = place
        .records()
        .iter()
        .map(|path| fs::read(path).unwrap())
        .find(|bytes| bytes.windows(4).any(|part| part == b"\x7fELF"));
    let object = object.expect("the object is kept");
    let has = |name: &str| object.windows(name.len()).any(|part| part == name.as_bytes());
    assert!(has("hm_kernel_group") && !has("run1") && !has("run4"));
}

#[test]
fn broken_records_are_made_anew() {
    let place = Place::new();
    place.run_process();
    let compiled = objects(&place.runs());
    type Damage = (&'static str, fn(&Path));
    let damages: [Damage; 5] = [
        ("truncated", |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() * 2 / 3]).unwrap();
        }),
        ("a bit of it flipped", |path| {
            let mut bytes = fs::read(path).unwrap();
            let at = bytes.len() / 2;
            bytes[at] ^= 4;
            fs::write(path, bytes).unwrap();
        }),
        ("empty", |path| fs::write(path, "").unwrap()),
        ("a directory", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir_all(path.join("deeper")).unwrap();
        }),
        ("gone", |path| fs::remove_file(path).unwrap()),
    ];
    for (what, damage) in damages {
        let before = place.records();
        before.iter().for_each(|path| damage(path));
        place.run_process();
        assert_eq!(objects(&place.runs()), compiled, "{what}");
        assert_eq!(place.records(), before, "{what}");
        place.run_process();
        assert_eq!(place.runs(), [""; 0], "{what}");
    }
}

#[test]
fn one_kernel_s_record_is_not_another_s() {
    let place = Place::new();
    let toolchain = place.toolchain();
    computes(build(&toolchain, LOOP));
    let first = place.records();
    build(&toolchain, &LOOP.replace("* 3 + 1", "* 5 + 2"));
    let other: Vec<PathBuf> = place.records().into_iter().filter(|path| !first.contains(path)).collect();
    // Each record of the second kernel in the place of each of the first.
    for one in &first {
        for two in &other {
            let good = fs::read(one).unwrap();
            fs::copy(two, one).unwrap();
            // In another process, since this one remembers.
            place.run_process();
            fs::write(one, good).unwrap();
        }
    }
}

#[test]
fn loaded_code_needs_no_cache() {
    let (one, two) = (Place::new(), Place::new());
    let kernels = [build(&one.toolchain(), BARRIER), build(&two.toolchain(), BARRIER)];
    for place in [&one, &two] {
        for path in place.records() {
            // In place: whoever had mapped it would now run this.
            let length = fs::metadata(&path).unwrap().len() as usize;
            fs::write(&path, vec![0xcc; length]).unwrap();
        }
        fs::remove_dir_all(place.cache()).unwrap();
    }
    // The same code twice, side by side.
    let [first, second] = kernels;
    computes(first.clone());
    computes(second);
    computes(first);
}

#[test]
fn processes_that_start_together_leave_one_whole_cache() {
    let place = Place::new();
    let mut children: Vec<_> = (0..3).map(|_| place.process().spawn().unwrap()).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    place.runs();
    place.run_process();
    assert_eq!(place.runs(), [""; 0]);
    let left = fs::read_dir(place.cache()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.starts_with("job-")).count(), 0);
}

#[test]
fn a_source_that_reads_a_file_is_read_anew() {
    let place = Place::new();
    let toolchain = place.toolchain();
    let header = place.folder.path().join("value.h");
    let text = source(&format!("#include \"{}\"\n{}", header.display(), LOOP.replace("* 3 + 1", "* FACTOR + 1")));
    fs::write(&header, "#define FACTOR 4\n").unwrap();
    let options = CompileOptions::default();
    Checked::new(&toolchain, &text, &options).unwrap().build("run", &[]).unwrap();
    fs::write(&header, "#define FACTOR 3\n").unwrap();
    computes(Checked::new(&toolchain, &text, &options).unwrap().build("run", &[]).unwrap());
}

fn with(archives: Archives) -> With {
    With { archives, ..With::default() }
}

#[test]
fn what_is_in_an_archive_is_not_compiled() {
    let place = Place::new();
    let toolchain = |size: u64| {
        let options = ToolchainOptions {
            clang: Some(place.clang().into()),
            cache: Some(place.cache()),
            cache_size: Some(size),
            ..ToolchainOptions::default()
        };
        Arc::new(Toolchain::new(&options).unwrap())
    };
    // Without records on disk every compilation shows.
    let none = toolchain(0);
    let archive = Archive::default();
    for body in SOURCES {
        let checked = Checked::new(&none, &source(body), &CompileOptions::default()).unwrap();
        let only = |archive: &Archive| {
            checked.build_with("run", &[], &with(Archives { search: &[archive], only: true, into: None }))
        };
        assert_eq!(only(&archive).unwrap_err().kind, Failure::ArchiveMiss, "{body}");
        checked.build_with("run", &[], &with(Archives { into: Some(&archive), ..Archives::default() })).unwrap();
        place.runs();
        let read = Archive::decode(&archive.encode()).expect("it is an archive");
        computes(only(&read).unwrap());
        computes(checked.build_with("run", &[], &with(Archives { search: &[&read], ..Archives::default() })).unwrap());
        assert_eq!(place.runs(), [""; 0], "{body}");
    }
    // For another processor or compiler it is a miss: here the compiler says that it is of another version.
    let script = place.folder.path().join("other");
    let text =
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'clang version 19.1.99'; exit 0; fi\nexec clang-19 \"$@\"\n";
    // By a process of its own: one that another test starts meanwhile would inherit the open file, which cannot be run then.
    let write = "printf %s \"$2\" > \"$1\" && chmod 755 \"$1\"";
    assert!(Command::new("sh").args(["-c", write, "sh"]).arg(&script).arg(text).status().unwrap().success());
    let options =
        ToolchainOptions { clang: Some(script.into()), cache: Some(place.cache()), ..ToolchainOptions::default() };
    let other = Arc::new(Toolchain::new(&options).unwrap());
    let checked = Checked::new(&other, &source(LOOP), &CompileOptions::default()).unwrap();
    let missed = checked.build_with("run", &[], &with(Archives { search: &[&archive], only: true, into: None }));
    assert_eq!(missed.unwrap_err().kind, Failure::ArchiveMiss);
    computes(checked.build_with("run", &[], &with(Archives { search: &[&archive], ..Archives::default() })).unwrap());
}
