//! The compiler as a process: missing, wrong, slow, crashing; and its cache: shared, broken, not ours.

use hostmetal::msl::{Built, Checked, CompileFailure, CompileOptions, Engine, Failure, Toolchain, ToolchainOptions};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

const SOURCE: &str = "kernel void k(device float *p, uint i [[thread_position_in_grid]]) { p[i] = 1; }";

fn toolchain(options: &ToolchainOptions) -> Result<Arc<Toolchain>, CompileFailure> {
    Toolchain::new(options).map(Arc::new)
}

fn in_cache(cache: &Path) -> ToolchainOptions {
    ToolchainOptions { cache: Some(cache.to_owned()), ..ToolchainOptions::default() }
}

/// A script in place of clang that answers `--version` like clang 19 and then does what `body` says.
fn script(directory: &Path, version: &str, body: &str) -> PathBuf {
    let path = directory.join("clang");
    let text = format!("#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{version}'; exit 0; fi\n{body}\n");
    // By a process of its own: one that another test starts meanwhile would inherit the open file, which cannot be run then.
    let write = "printf %s \"$2\" > \"$1\" && chmod 755 \"$1\"";
    assert!(Command::new("sh").args(["-c", write, "sh"]).arg(&path).arg(text).status().unwrap().success());
    path
}

fn with_script(directory: &Path, version: &str, body: &str) -> Result<Arc<Toolchain>, CompileFailure> {
    with_deadline(directory, version, body, None)
}

fn with_deadline(
    directory: &Path,
    version: &str,
    body: &str,
    deadline: Option<Duration>,
) -> Result<Arc<Toolchain>, CompileFailure> {
    let clang = Some(script(directory, version, body).into());
    toolchain(&ToolchainOptions { clang, deadline, ..in_cache(&directory.join("cache")) })
}

/// Of a compiler that is to be stopped.
const STOP: Duration = Duration::from_secs(3);

/// Entries of a cache directory without their hashes, and without the pass, which some builds have not.
fn entries(cache: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(cache)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap().split('-').next().unwrap().to_owned())
        .filter(|name| name != "pass")
        .collect();
    names.sort();
    names
}

/// The entry of a cache directory whose name begins so.
fn entry(cache: &Path, prefix: &str) -> PathBuf {
    let mut found = fs::read_dir(cache).unwrap().map(|e| e.unwrap().path());
    found.find(|p| p.file_name().unwrap().to_str().unwrap().starts_with(prefix)).unwrap()
}

/// The same program never twice: what was compiled once is not compiled again.
fn another() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(2);
    SOURCE.replace("= 1", &format!("= {}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

fn compiles(toolchain: &Arc<Toolchain>, source: &str) {
    Checked::new(toolchain, source, &CompileOptions::default()).unwrap().build("k", &[]).unwrap();
}

#[test]
fn a_missing_compiler_is_named_with_the_package_to_install() {
    let place = tempfile::tempdir().unwrap();
    let options = ToolchainOptions { clang: Some("/nowhere/clang-99".into()), ..in_cache(place.path()) };
    let failure = toolchain(&options).unwrap_err();
    assert_eq!(failure.kind, Failure::Toolchain);
    for part in ["/nowhere/clang-99", "apt install clang-19 lld-19", "HOSTMETAL_CLANG"] {
        assert!(failure.log.contains(part), "{}", failure.log);
    }
    assert_eq!(entries(place.path()), [""; 0]);
}

#[test]
fn an_unsuitable_compiler_is_refused() {
    let cases = [
        ("Debian clang version 14.0.6", "is too old: Debian clang version 14.0.6, at least clang 17 is needed"),
        ("gcc (Debian 12.2.0) 12.2.0", "is not clang"),
    ];
    for (version, expected) in cases {
        let place = tempfile::tempdir().unwrap();
        let failure = with_script(place.path(), version, "").unwrap_err();
        assert_eq!(failure.kind, Failure::Toolchain);
        assert!(failure.log.contains(expected), "{}", failure.log);
    }
}

#[test]
fn a_slow_compiler_is_stopped_with_all_its_children() {
    let place = tempfile::tempdir().unwrap();
    let (fifo, marker, told) = (place.path().join("alive"), place.path().join("survived"), place.path().join("told"));
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // The child holds the fifo open; it is closed when the last process of the group is gone.
    let body = format!(
        ": > \"$TMPDIR/half-done.o\"; echo \"$TMPDIR\" > '{}'\nexec 9>'{}'\n(sleep 30; : > '{}') &\nsleep 30",
        told.display(),
        fifo.display(),
        marker.display()
    );
    let toolchain = with_deadline(place.path(), "clang version 19.1.7", &body, Some(STOP)).unwrap();
    // Opened without waiting for the child, which may not come so far.
    let mut reader = fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(fifo).unwrap();
    let failure = Checked::new(&toolchain, SOURCE, &CompileOptions::default()).unwrap_err();
    assert_eq!(failure.kind, Failure::Deadline);
    assert!(failure.log.contains("was stopped: it took longer than 3 s"), "{}", failure.log);
    // SAFETY: the descriptor is open; from now on reading waits.
    assert_eq!(unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, 0) }, 0);
    reader.read_to_string(&mut String::new()).unwrap();
    assert!(!marker.exists(), "a child of the compiler outlived the deadline");
    // What the compiler had begun lay where it is removed.
    let intermediate = fs::read_to_string(told).unwrap();
    assert!(
        Path::new(intermediate.trim()).starts_with(place.path().join("cache").canonicalize().unwrap()),
        "{intermediate}"
    );
    assert_eq!(entries(&place.path().join("cache")), ["headers"]);
}

#[test]
fn a_crashing_compiler_is_told_by_its_signal() {
    let bodies = [
        ("kill -SEGV $$", "SIGSEGV"),
        ("kill -ABRT $$", "SIGABRT"),
        // The driver survives the tool that it started.
        (
            "echo 'error: clang frontend command failed with exit code 139 (use -v to see invocation)' >&2; exit 139",
            "SIGSEGV",
        ),
    ];
    for (body, signal) in bodies {
        let place = tempfile::tempdir().unwrap();
        let toolchain = with_script(place.path(), "clang version 19.1.7", body).unwrap();
        let failure = Checked::new(&toolchain, SOURCE, &CompileOptions::default()).unwrap_err();
        assert_eq!(failure.kind, Failure::Crash, "{}", failure.log);
        assert!(failure.log.contains(&format!("crashed ({signal})")), "{}", failure.log);
        assert_eq!(entries(&place.path().join("cache")), ["headers"]);
    }
}

/// Whatever the plugin does to the compiler, each kind of kernel is compiled without it.
#[test]
fn a_compiler_that_crashes_with_the_pass_is_asked_without_it() {
    let bodies = [
        // Without a loop, with one that threads go through at once, with one that keeps private memory; and with a barrier.
        ("p[i] = 1;", true),
        ("float s = 0; for (uint k = 0; k < n; k++) s = s * 3 + p[k]; p[i + 64] = s;", true),
        ("float b[9]; for (uint k = 0; k < 9; k++) b[k] = p[i + k]; p[i + 64] = b[uint(p[i]) % 9];", true),
        ("threadgroup_barrier(mem_flags::mem_device); p[i] = 1;", false),
    ];
    let faults = [
        ("kill -SEGV $$", "SIGSEGV"),
        (
            "echo 'error: clang frontend command failed with exit code 134 (use -v to see invocation)' >&2; exit 134",
            "SIGABRT",
        ),
    ];
    // The script's version must be the compiler's own, for then it is given the plugin.
    let real = Command::new("clang-19").arg("--version").output().unwrap();
    let version = String::from_utf8(real.stdout).unwrap().lines().next().unwrap().to_owned();
    for (fault, signal) in faults {
        let place = tempfile::tempdir().unwrap();
        let asked = place.path().join("asked");
        let body =
            format!("case \"$*\" in *-fpass-plugin=*) : > '{}'; {fault};; esac\nexec clang-19 \"$@\"", asked.display());
        let clang = Some(script(place.path(), &version, &body).into());
        let options = ToolchainOptions { clang, ..in_cache(&place.path().join("cache")) };
        let toolchain = toolchain(&options).unwrap();
        for (body, alone) in bodies {
            let source = format!(
                "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *p, constant uint &n, uint i [[thread_position_in_grid]]) {{ {body} }}"
            );
            let kernel = Checked::new(&toolchain, &source, &CompileOptions::default())
                .unwrap()
                .build_for("k", &[], Engine::Pass)
                .unwrap_or_else(|failure| panic!("{failure}: {body}"));
            match kernel.built() {
                Built::Loop => assert!(alone && !kernel.in_tiles(), "{body}"),
                Built::Stack(why) => {
                    let told = why.contains(&format!("crashed ({signal})")) || why.contains("without llvm-19-dev");
                    assert!(!alone && told, "{why}: {body}");
                    // With the pass there was a crash to get over.
                    assert_eq!(asked.exists(), !why.contains("without llvm-19-dev"));
                }
                Built::Pass => panic!("it was built by a pass that crashed: {body}"),
            }
        }
    }
}

/// What ends a compilation from outside is told, and the next one is right: no slower code comes of it, no unchecked program.
#[test]
fn a_compiler_that_is_ended_from_outside_is_asked_again() {
    let real = Command::new("clang-19").arg("--version").output().unwrap();
    let version = String::from_utf8(real.stdout).unwrap().lines().next().unwrap().to_owned();
    let place = tempfile::tempdir().unwrap();
    let [run, end, ended] = ["run", "end", "ended"].map(|name| place.path().join(name));
    // The first run like that ends as it is told.
    let body = format!(
        "if [ ! -e '{2}' ]; then run=$(cat '{0}'); case \"$*\" in $run) : > '{2}'; . '{1}';; esac; fi\nexec clang-19 \"$@\"",
        run.display(),
        end.display(),
        ended.display()
    );
    let clang = Some(script(place.path(), &version, &body).into());
    let toolchain = toolchain(&ToolchainOptions { clang, ..in_cache(&place.path().join("cache")) }).unwrap();
    let cases = [
        ("*-fpass-plugin=*", "p[i] = 1;"),
        ("*-fpass-plugin=*", "float s = 0; for (uint k = 0; k < n; k++) s = s * 3 + p[k]; p[i + 64] = s;"),
        ("*-fpass-plugin=*", "threadgroup_barrier(mem_flags::mem_device); p[i] = 1;"),
        ("*-fshow-overloads=all*", "float one = 1; thread float *q = &one; p[i] = *q;"),
    ];
    let ends = [
        ("kill -KILL $$", "SIGKILL"),
        (
            "echo 'clang: error: unable to execute command: Killed\nclang: error: linker command failed due to signal' >&2; exit 254",
            "SIGKILL",
        ),
        (
            "echo 'fatal error: error in backend: IO failure on output stream: No space left on device\nclang: error: clang frontend command failed with exit code 70' >&2; exit 70",
            "No space left",
        ),
    ];
    for (number, (how, told)) in ends.into_iter().enumerate() {
        for (which, body) in cases {
            for (path, text) in [(&run, which), (&end, how)] {
                fs::write(path, text).unwrap();
            }
            let source = format!(
                "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *p, constant uint &n, uint i [[thread_position_in_grid]]) {{ {body} p[i + 99] = {number}; }}"
            );
            let build =
                || Checked::new(&toolchain, &source, &CompileOptions::default())?.build_for("k", &[], Engine::Pass);
            let first = build();
            if ended.exists() {
                let failure = first.expect_err("its compiler was ended");
                assert!(failure.kind == Failure::Toolchain && failure.log.contains(told), "{failure}: {body}");
                let kernel = build().unwrap_or_else(|failure| panic!("{failure}: {body}"));
                assert!(!matches!(kernel.built(), Built::Stack(_)), "{}: {body}", kernel.built());
                fs::remove_file(&ended).unwrap();
            } else {
                let kernel = first.unwrap_or_else(|failure| panic!("{failure}: {body}"));
                let without = matches!(kernel.built(), Built::Loop | Built::Stack(_)) && !has_pass(&toolchain);
                assert!(which.contains("pass") && without, "{body}");
            }
        }
    }
}

/// Whether hostmetal was built with llvm-19-dev.
fn has_pass(toolchain: &Toolchain) -> bool {
    fs::read_dir(toolchain.cache()).unwrap().any(|e| e.unwrap().file_name().to_str().unwrap().starts_with("pass-"))
}

#[test]
fn a_compiler_that_fails_without_a_word_about_the_source_is_a_toolchain_failure() {
    let place = tempfile::tempdir().unwrap();
    // Preprocessing works, nothing else does.
    let body = "for a; do [ \"$a\" = -E ] && exec clang-19 \"$@\"; done; echo 'clang: error: out of order' >&2; exit 1";
    let failure = Checked::new(
        &with_script(place.path(), "clang version 19.1.7", body).unwrap(),
        SOURCE,
        &CompileOptions::default(),
    )
    .unwrap_err();
    assert_eq!(failure.kind, Failure::Toolchain);
    assert!(failure.log.contains("out of order"), "{}", failure.log);
}

#[test]
fn a_compiler_that_fails_without_any_word_is_told_with_the_room_on_disk() {
    let of_preprocessing = "exit 1";
    let of_checking = "for a; do [ \"$a\" = -E ] && exec clang-19 \"$@\"; done; exit 1";
    for body in [of_preprocessing, of_checking] {
        let place = tempfile::tempdir().unwrap();
        let toolchain = with_script(place.path(), "clang version 19.1.7", body).unwrap();
        let failure = Checked::new(&toolchain, SOURCE, &CompileOptions::default()).unwrap_err();
        assert_eq!(failure.kind, Failure::Toolchain);
        assert!(failure.log.contains("it said nothing") && failure.log.contains(" bytes free"), "{}", failure.log);
    }
}

#[test]
fn endless_output_of_a_compiler_is_cut() {
    let place = tempfile::tempdir().unwrap();
    let failure = Checked::new(
        &with_deadline(place.path(), "clang version 19.1.7", "exec yes", Some(STOP)).unwrap(),
        SOURCE,
        &CompileOptions::default(),
    )
    .unwrap_err();
    assert!(matches!(failure.kind, Failure::Deadline | Failure::Crash), "{failure:?}");
    assert!(failure.log.len() < 1 << 21);
    assert_eq!(entries(&place.path().join("cache")), ["headers"]);
}

#[test]
fn a_kernel_is_compiled_again_only_when_its_threads_keep_memory() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let body =
        format!("for a; do [ \"$a\" = -shared ] && echo linked >> '{}'; done\nexec clang-19 \"$@\"", log.display());
    let clang = Some(script(place.path(), "clang version 19.1.7", &body).into());
    let options = ToolchainOptions { clang, ..in_cache(&place.path().join("cache")) };
    let toolchain = toolchain(&options).unwrap();
    let cases = [
        (1, SOURCE),
        // A constant that is indexed is copied for the whole threadgroup.
        (
            1,
            "struct P { float w[9]; int n; }; kernel void k(device float *p, constant P &c, uint i [[thread_position_in_grid]]) { float s = 0; for (int j = 0; j < c.n; j++) s += c.w[j]; p[i] = s; }",
        ),
        // An array of each thread.
        (
            2,
            "kernel void k(device uint *p, uint i [[thread_position_in_grid]]) { uint v = p[i], t[4] = {v, v * 2, v * 3, v * 5}; p[i] = t[v % 4]; }",
        ),
    ];
    for (expected, source) in cases {
        let _ = fs::remove_file(&log);
        compiles(&toolchain, source);
        assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), expected, "{source}");
    }
}

#[test]
fn nothing_is_left_behind_whatever_becomes_of_a_source() {
    let place = tempfile::tempdir().unwrap();
    let toolchain = toolchain(&in_cache(place.path())).unwrap();
    compiles(&toolchain, SOURCE);
    for bad in
        ["#error no", "kernel void k(device float *p) { p[0] = q; }", "double d;", "kernel void k(device float *p) {"]
    {
        let failure = Checked::new(&toolchain, bad, &CompileOptions::default()).unwrap_err();
        assert_eq!(failure.kind, Failure::Source);
        assert!(!failure.log.contains(place.path().to_str().unwrap()), "{}", failure.log);
    }
    assert_eq!(entries(place.path()), ["headers", "made", "pch"]);
    let mode = fs::metadata(place.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_broken_precompiled_header_is_made_anew() {
    let place = tempfile::tempdir().unwrap();
    compiles(&toolchain(&in_cache(place.path())).unwrap(), SOURCE);
    let file = entry(place.path(), "pch-").join("prefix.pch");
    let good = fs::read(&file).unwrap();
    let breaks: [fn(&Path, &[u8]); 4] = [
        |file, good| fs::write(file, vec![b'x'; good.len()]).unwrap(),
        |file, good| fs::write(file, &good[..good.len() / 2]).unwrap(),
        |file, good| {
            let mut flipped = good.to_vec();
            flipped[good.len() / 3] ^= 0x40;
            fs::write(file, flipped).unwrap();
        },
        |file, _| fs::remove_file(file).unwrap(),
    ];
    for (number, damage) in breaks.iter().enumerate() {
        damage(&file, &good);
        compiles(&toolchain(&in_cache(place.path())).unwrap(), &another());
        assert_eq!(fs::read(&file).unwrap().len(), good.len(), "damage {number}");

        // Now behind the back of a toolchain that has checked it.
        let running = toolchain(&in_cache(place.path())).unwrap();
        compiles(&running, &another());
        if number != 2 {
            damage(&file, &good);
            compiles(&running, &another());
            assert_eq!(fs::read(&file).unwrap().len(), good.len(), "damage {number}");
        }
    }
    assert_eq!(entries(place.path()), ["headers", "made", "pch"]);
}

/// As when another process replaces it twice.
#[test]
fn a_precompiled_header_that_is_not_accepted_twice_is_made_a_third_time() {
    let place = tempfile::tempdir().unwrap();
    let refused = place.path().join("refused");
    let body = format!(
        "case \"$*\" in *-include-pch*) if [ \"$(cat '{0}' 2>/dev/null)\" != xx ]; then printf x >> '{0}'; echo 'fatal error: PCH file is out of date'; exit 1; fi;; esac\nexec clang-19 \"$@\"",
        refused.display()
    );
    let clang = Some(script(place.path(), "clang version 19.1.7", &body).into());
    let toolchain = toolchain(&ToolchainOptions { clang, ..in_cache(&place.path().join("cache")) }).unwrap();
    compiles(&toolchain, SOURCE);
    assert_eq!(fs::read_to_string(refused).unwrap(), "xx");
}

#[test]
fn what_is_in_use_is_marked_as_such() {
    let place = tempfile::tempdir().unwrap();
    compiles(&toolchain(&in_cache(place.path())).unwrap(), SOURCE);
    let used = ["headers-", "pch-"].map(|kind| entry(place.path(), kind));
    let long_ago = SystemTime::now() - Duration::from_secs(50 * 24 * 3600);
    for path in &used {
        fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
    }
    compiles(&toolchain(&in_cache(place.path())).unwrap(), &another());
    for path in &used {
        let age = fs::metadata(path).unwrap().modified().unwrap().duration_since(long_ago).unwrap();
        assert!(age > Duration::from_secs(49 * 24 * 3600), "{}", path.display());
    }
}

#[test]
fn changed_headers_are_put_right() {
    let place = tempfile::tempdir().unwrap();
    let first = toolchain(&in_cache(place.path())).unwrap();
    let headers = entry(place.path(), "headers-");
    let file = headers.join("metal_stdlib");
    let good = fs::read(&file).unwrap();
    fs::write(&file, "#error not ours\n").unwrap();
    compiles(&first, SOURCE);
    assert_eq!(fs::read(&file).unwrap(), good);
    fs::remove_file(&file).unwrap();
    compiles(&toolchain(&in_cache(place.path())).unwrap(), &another());
    assert_eq!(fs::read(&file).unwrap(), good);
    // Of a toolchain that is in use: what it has not preprocessed before asks for them.
    fs::remove_dir_all(&headers).unwrap();
    compiles(&first, &format!("#include <metal_stdlib>\n{}", another()));
    assert_eq!(fs::read(&file).unwrap(), good);
}

#[test]
fn a_cache_directory_of_somebody_else_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let open = place.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let link = place.path().join("link");
    symlink(place.path(), &link).unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    for (path, why) in [(&open, "others may write to it"), (&link, "it is a link"), (&file, "")] {
        let failure = toolchain(&in_cache(path)).unwrap_err();
        assert_eq!(failure.kind, Failure::Toolchain);
        assert!(failure.log.contains(path.to_str().unwrap()) && failure.log.contains(why), "{}", failure.log);
    }
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
}

/// Run as a process of its own by the next test; does nothing otherwise.
#[test]
fn child_process() {
    if std::env::var_os("HOSTMETAL_TEST_CHILD").is_some() {
        compiles(&Toolchain::shared().unwrap(), SOURCE);
    }
}

#[test]
fn several_processes_fill_one_cache_at_once() {
    let place = tempfile::tempdir().unwrap();
    let cache = place.path().join("cache");
    let mut children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command
                .args(["--exact", "child_process"])
                .env("HOSTMETAL_TEST_CHILD", "1")
                .env("HOSTMETAL_CACHE_DIR", &cache);
            command.spawn().unwrap()
        })
        .collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(entries(&cache), ["headers", "made", "pch"]);
    compiles(&toolchain(&in_cache(&cache)).unwrap(), &another());
}

#[test]
fn the_deadline_variable_must_be_a_number_of_seconds() {
    for (value, success) in [("soon", false), ("0", false), ("-1", false), ("600", true)] {
        let place = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "child_process"])
            .env("HOSTMETAL_TEST_CHILD", "1")
            .env("HOSTMETAL_CACHE_DIR", place.path());
        let output = command.env("HOSTMETAL_COMPILE_TIMEOUT", value).output().unwrap();
        assert_eq!(output.status.success(), success, "{value}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.contains("must be a number of seconds above 0"), !success, "{text}");
    }
}

#[test]
fn threads_compile_different_sources_at_once() {
    let place = tempfile::tempdir().unwrap();
    let toolchain = toolchain(&in_cache(place.path())).unwrap();
    std::thread::scope(|scope| {
        for number in 0..6 {
            let toolchain = &toolchain;
            scope.spawn(move || {
                let source = format!("kernel void k{number}(device float *p) {{ p[0] = {number}; }}");
                let checked = Checked::new(toolchain, &source, &CompileOptions::default()).unwrap();
                assert_eq!(checked.kernels()[0].name, format!("k{number}"));
                checked.build(&format!("k{number}"), &[]).unwrap();
            });
        }
    });
    assert_eq!(entries(place.path()), ["headers", "made", "pch"]);
}

/// What is in native/hostmetal/msl is what gets embedded.
#[test]
fn every_header_is_embedded() {
    fn collect(directory: &Path, prefix: &str, names: &mut BTreeSet<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                collect(&entry.path(), &format!("{name}/"), names);
            } else if !name.ends_with(".py") && !name.ends_with(".md") && !name.starts_with('.') {
                names.insert(name);
            }
        }
    }
    let place = tempfile::tempdir().unwrap();
    toolchain(&in_cache(place.path())).unwrap();
    let (mut written, mut owned) = (BTreeSet::new(), BTreeSet::new());
    collect(&entry(place.path(), "headers-"), "", &mut written);
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../native/hostmetal/msl"), "", &mut owned);
    assert!(owned.is_subset(&written), "not embedded: {:?}", owned.difference(&written).collect::<Vec<_>>());
}
