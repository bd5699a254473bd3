//! Kernels in a folder: later processes run no device compiler, and nothing wrong in the folder is ever used.
#![cfg(target_os = "linux")] // the engine's own cache can be off, and its compiler watched

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use common::{Random, refused};
use dcmetal::{Accelerator, CompileOptions, Constants, Error, Grid, KernelFileStats, MathMode, args};

const NO_LIMIT: u64 = u64::MAX;
const FOLDER: &str = "DCMETAL_TEST_KERNELS";
const KILLER: &str = "DCMETAL_TEST_KILLER";
const LIMIT: &str = "DCMETAL_TEST_LIMIT";

const SOURCE: &str = "constant uint by [[function_constant(0)]];
    constant uint plus = is_function_constant_defined(by) ? by : PLUS;
    kernel void scale(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = y[i] * 3 + plus; }
    kernel void add(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += plus; }";
const OPENCL: &str = "kernel void shift(global uint* y) { y[get_global_id(0)] <<= 2; }";

/// What the kernels below make of 5, in the order of their compilation.
const RESULTS: [u32; 7] = [16, 17, 24, 6, 7, 20, 16];

fn accelerator(folder: &Path, limit: u64) -> Accelerator {
    let gpu = Accelerator::system_default().expect("a Metal device");
    gpu.keep_kernels(folder, limit).unwrap_or_else(|error| panic!("{error}"));
    gpu
}

/// Compiles kernels that differ in one thing each, and checks what they do.
fn run(gpu: &Accelerator) -> KernelFileStats {
    let options = |plus: &str, math_mode| CompileOptions {
        macros: vec![("PLUS".to_owned(), plus.to_owned())],
        math_mode,
        ..CompileOptions::default()
    };
    let one = gpu.compile_msl_with(SOURCE, &options("1", None)).unwrap_or_else(|error| panic!("{error}"));
    let two = gpu.compile_msl_with(SOURCE, &options("2", None)).unwrap_or_else(|error| panic!("{error}"));
    let safe = gpu.compile_msl_with(SOURCE, &options("1", Some(MathMode::Safe))).unwrap();
    let opencl = gpu.compile_opencl(OPENCL).unwrap_or_else(|error| panic!("{error}"));
    let nine = Constants::new().at(0, 9u32);
    let kernels = [
        one.kernel("scale"),
        two.kernel("scale"),
        one.kernel_with("scale", &nine),
        one.kernel("add"),
        two.kernel("add"),
        opencl.kernel("shift"),
        safe.kernel("scale"),
    ];
    for (number, (kernel, wanted)) in kernels.into_iter().zip(RESULTS).enumerate() {
        let mut y = gpu.buffer_from(&[5u32; 3]).unwrap();
        let kernel = kernel.unwrap_or_else(|error| panic!("{number}: {error}"));
        kernel.launch(Grid::linear(3), args![&mut y]).unwrap().wait().unwrap();
        assert_eq!(y.to_vec().unwrap(), [wanted; 3], "kernel {number}");
    }
    gpu.kernel_file_stats().expect("kernels are kept")
}

const COUNT: u64 = RESULTS.len() as u64;

/// The files, by name.
fn files(folder: &Path) -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path())).collect()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a/kernels");
    (place, folder)
}

/// Runs when this test starts itself as another process, with a folder.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    // The process that wants this to go on until it is killed.
    let killer = std::env::var(KILLER).ok();
    let limit = std::env::var(LIMIT).map_or(NO_LIMIT, |limit| limit.parse().expect("a number of bytes"));
    loop {
        // With a limit, always something to write, behind which it evicts.
        if let Some(path) = (limit < NO_LIMIT).then(|| files(Path::new(&folder)).pop_first()).flatten() {
            let _ = fs::remove_file(path.1);
        }
        let stats = run(&accelerator(Path::new(&folder), limit));
        let KernelFileStats { hits, misses, compiled, rejected, .. } = stats;
        println!("\nchild: {hits} hits {misses} misses {compiled} compiled {rejected} rejected");
        if killer != Some(parent_id().to_string()) {
            break;
        }
    }
}

fn child_command(folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "child", "--nocapture"]).env(FOLDER, folder);
    command
}

#[test]
fn another_process_runs_no_device_compiler() {
    let (place, folder) = folder();
    // A compiler that says what it was started for.
    let (log, script) = (place.path().join("log"), place.path().join("clang"));
    let text = format!("#!/bin/sh\necho \"$@\" >> '{}'\nexec clang-19 \"$@\"\n", log.display());
    let mut kernels = Vec::new();
    let (none, all) = ("child: 0 hits 7 misses 7 compiled", "child: 7 hits 0 misses 0 compiled");
    // The text of a compiler that is a script is its version: the second does not take what the first made, and leaves it there.
    for (version, wanted) in [("", none), ("", all), ("# 2\n", none), ("", all), ("# 2\n", all)] {
        fs::write(&script, format!("{text}{version}")).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(&log, "").unwrap();
        let mut command = child_command(&folder);
        let output = command.env("HOSTMETAL_CACHE_SIZE", "0").env("HOSTMETAL_CLANG", &script).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && told.contains(wanted), "{wanted}: {told}");
        // What makes a kernel's code makes a shared object; libraries are only checked.
        kernels.push(fs::read_to_string(&log).unwrap().lines().filter(|line| line.contains("-shared")).count());
    }
    assert!(kernels[0] >= RESULTS.len(), "{kernels:?}");
    assert_eq!(kernels[1..], [0, kernels[0], 0, 0]);
    // Where the engine keeps what it compiles, too, a later process runs no compiler for anything, its libraries included.
    let mut runs = Vec::new();
    for _ in 0..2 {
        fs::write(&log, "").unwrap();
        let mut command = child_command(&folder);
        command.env("HOSTMETAL_CACHE_DIR", place.path().join("cache")).env_remove("HOSTMETAL_CACHE_SIZE");
        let output = command.env("HOSTMETAL_CLANG", &script).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && told.contains(all), "{told}");
        // A compiler that is a script is asked for its version each time.
        runs.push(fs::read_to_string(&log).unwrap().lines().filter(|line| *line != "--version").count());
    }
    assert!(runs[0] > 0 && runs[1] == 0, "{runs:?}");
}

/// What a process is told of the kernel's release becomes one of Linux 2.6 (`personality(2)`, UNAME26).
fn as_an_older_system() -> std::io::Result<()> {
    // SAFETY: a system call on a number.
    match unsafe { libc::personality(0x20000) } {
        0.. => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// A device of another name or family, or another build of the system, takes nothing of what the first left, and leaves it there.
#[test]
fn another_device_or_system_has_files_of_its_own() {
    let (_place, folder) = folder();
    let device = "HOSTMETAL_DEVICE_0";
    let others = [None, Some("name=another"), Some("family=apple6")];
    let cases: Vec<_> = others.into_iter().map(|other| (other, false)).chain([(None, true)]).collect();
    let (none, all) = ("child: 0 hits 7 misses 7 compiled", "child: 7 hits 0 misses 0 compiled");
    for wanted in [none, all] {
        for (other, old) in &cases {
            let mut command = child_command(&folder);
            command.env("HOSTMETAL_DEVICES", "1").env_remove(device);
            command.envs(other.map(|other| (device, other)));
            if *old {
                // SAFETY: it allocates nothing and takes no lock.
                unsafe { command.pre_exec(as_an_older_system) };
            }
            let output = command.output().unwrap();
            let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && told.contains(wanted), "{other:?}, {old}: {wanted}: {told}");
        }
    }
    assert_eq!(files(&folder).len(), cases.len() * RESULTS.len());
}

#[test]
fn files_are_private_and_named_by_their_content() {
    let (_place, folder) = folder();
    let first = run(&accelerator(&folder, NO_LIMIT));
    assert_eq!((first.hits, first.misses, first.compiled, first.written), (0, COUNT, COUNT, COUNT));
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&folder), 0o700);
    let before = files(&folder);
    assert_eq!(before.len() as u64, COUNT);
    for (name, path) in &before {
        assert!(name.len() == 64 + 1 + 64 + 8 && name.ends_with(".archive"), "{name}");
        assert_eq!(mode(path), 0o600);
    }
    let second = run(&accelerator(&folder, NO_LIMIT));
    let none = KernelFileStats::default();
    assert_eq!(second, KernelFileStats { hits: COUNT, ..none });
    assert_eq!(files(&folder).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
}

#[test]
fn what_is_wrong_is_made_again() {
    type Harm = fn(&Path, &Path);
    let harms: [(&str, Harm); 8] = [
        ("a changed byte", |file, _| {
            let mut bytes = fs::read(file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(file, bytes).unwrap();
        }),
        ("a file that was cut", |file, _| {
            let bytes = fs::read(file).unwrap();
            fs::write(file, &bytes[..bytes.len() - 1]).unwrap();
        }),
        ("a name with another hash", |file, folder| {
            let name = file.file_name().unwrap().to_str().unwrap();
            let digit = if name.as_bytes()[65] == b'0' { '1' } else { '0' };
            fs::rename(file, folder.join(format!("{}{digit}{}", &name[..65], &name[66..]))).unwrap();
        }),
        ("an empty file", |file, _| fs::write(file, "").unwrap()),
        ("a file that others may write", |file, _| {
            fs::set_permissions(file, fs::Permissions::from_mode(0o622)).unwrap();
        }),
        ("a link", |file, folder| {
            let aside = folder.join("aside");
            fs::rename(file, &aside).unwrap();
            symlink(aside, file).unwrap();
        }),
        ("a folder", |file, _| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        }),
        ("another kernel's file under a name that fits", |file, folder| {
            // The hash of its bytes is right, and it is an archive: Metal misses the function in it.
            let name = file.file_name().unwrap().to_str().unwrap();
            let other = files(folder).into_iter().find(|(other, _)| other[..64] != name[..64]).unwrap();
            fs::copy(&other.1, folder.join(format!("{}{}", &name[..64], &other.0[64..]))).unwrap();
            fs::remove_file(file).unwrap();
        }),
    ];
    for (name, harm) in harms {
        let (_place, folder) = folder();
        run(&accelerator(&folder, NO_LIMIT));
        let victim = files(&folder).into_values().next().unwrap();
        harm(&victim, &folder);
        let stats = run(&accelerator(&folder, NO_LIMIT));
        assert_eq!((stats.hits, stats.misses), (COUNT - 1, 1), "{name}: {stats:?}");
        if name == "a folder" {
            // It is not removed and cannot be replaced; the kernel runs all the same.
            assert_eq!((stats.rejected, stats.written, stats.unwritten), (0, 0, 1), "{name}");
            continue;
        }
        assert_eq!((stats.rejected, stats.written, stats.unwritten), (1, 1, 0), "{name}");
        assert_eq!(run(&accelerator(&folder, NO_LIMIT)).hits, COUNT, "{name}");
    }
}

/// A failure of Metal's that may go away by itself says nothing of the file.
#[test]
fn what_cannot_be_looked_at_now_stays() {
    let (_place, folder) = folder();
    run(&accelerator(&folder, NO_LIMIT));
    for rule in ["pipeline:error=internal:times=1", "archive:error=internal_error:times=1"] {
        let output = child_command(&folder).env("HOSTMETAL_FAULTS", rule).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let wanted = "child: 6 hits 1 misses 1 compiled 0 rejected";
        assert!(output.status.success() && told.contains(wanted), "{rule}: {told}");
    }
}

#[test]
fn a_folder_of_others_is_refused() {
    let (place, folder) = folder();
    for mode in [0o755, 0o770, 0o701] {
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        let gpu = Accelerator::system_default().unwrap();
        let error = refused(gpu.keep_kernels(&folder, NO_LIMIT));
        assert!(matches!(&error, Error::KernelFolder { text, .. } if text.contains("mode")), "{error}");
        assert_eq!(gpu.kernel_file_stats(), None);
    }
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let gpu = Accelerator::system_default().unwrap();
    assert!(matches!(refused(gpu.keep_kernels(&file, NO_LIMIT)), Error::KernelFolder { .. }));
    // Metal could not be told its name.
    let name = std::ffi::OsStr::from_bytes(b"k\xff");
    assert!(matches!(refused(gpu.keep_kernels(place.path().join(name), NO_LIMIT)), Error::KernelFolder { .. }));
    // A second folder for the same accelerator is a mistake.
    gpu.keep_kernels(place.path().join("good"), NO_LIMIT).unwrap();
    assert!(matches!(refused(gpu.keep_kernels(&folder, NO_LIMIT)), Error::KernelFolder { .. }));
}

#[test]
fn the_least_recently_used_go_first() {
    let (_place, folder) = folder();
    run(&accelerator(&folder, NO_LIMIT));
    let all = files(&folder);
    let bytes: u64 = all.values().map(|path| fs::metadata(path).unwrap().len()).sum();
    let old = |days: u64| SystemTime::now() - Duration::from_secs(days * 86_400);
    let modified = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    for path in all.values() {
        fs::File::open(path).unwrap().set_modified(old(50)).unwrap();
    }
    run(&accelerator(&folder, NO_LIMIT));
    assert!(all.values().all(|path| modified(path) > old(1)), "a file that is used says so");
    // Ages by name, so that the order is known.
    for (number, path) in all.values().enumerate() {
        fs::File::open(path).unwrap().set_modified(old(100 - number as u64)).unwrap();
    }
    let notes = folder.join("notes.txt");
    let abandoned = ["new-1-1", "new-1-1-0123456789abcdef", ".hostmetal-abcdef"].map(|name| folder.join(name));
    let fresh = ["new-1-2-0123456789abcdef", ".hostmetal-fedcba"].map(|name| folder.join(name));
    for path in [&notes].into_iter().chain(&abandoned).chain(&fresh) {
        fs::write(path, "x").unwrap();
    }
    for path in [&notes].into_iter().chain(&abandoned) {
        fs::File::open(path).unwrap().set_modified(old(1)).unwrap();
    }
    // One more kernel, with room for all but two of the others.
    let first: Vec<&String> = all.keys().take(2).collect();
    let two: u64 = first.iter().map(|name| fs::metadata(&all[*name]).unwrap().len()).sum();
    let gpu = accelerator(&folder, bytes - two / 2);
    gpu.compile_msl("kernel void extra(device uint* y [[buffer(0)]]) { y[0] = 1; }").unwrap().kernel("extra").unwrap();
    let left = files(&folder);
    assert!(first.iter().all(|name| !left.contains_key(*name)), "the oldest two have gone");
    let stats = gpu.kernel_file_stats().unwrap();
    assert!(stats.evicted >= 2 && stats.written == 1, "{stats:?}");
    let size: u64 =
        left.iter().filter(|file| file.0.ends_with("archive")).map(|file| fs::metadata(file.1).unwrap().len()).sum();
    assert!(size <= bytes - two / 2 && size > 0);
    assert!(
        notes.exists() && fresh.iter().all(|path| path.exists()),
        "what is not ours stays, and what is being written"
    );
    assert!(!abandoned.iter().any(|path| path.exists()), "what killed processes left goes");
    // Nothing has room: the newest stays all the same.
    let (_place, folder) = self::folder();
    let stats = run(&accelerator(&folder, 0));
    assert_eq!((stats.written, stats.evicted), (COUNT, COUNT - 1));
    assert_eq!(files(&folder).len(), 1);
}

#[test]
fn processes_share_a_folder() {
    let (_place, folder) = folder();
    let children: Vec<_> =
        (0..4).map(|_| child_command(&folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(files(&folder).keys().all(|name| name.ends_with(".archive")), "nothing unfinished is left");
    let stats = run(&accelerator(&folder, NO_LIMIT));
    assert_eq!((stats.hits, stats.rejected), (COUNT, 0));
}

/// Another process has room for nothing: it evicts whatever this one looks for, writes, or has just found.
#[test]
fn what_another_process_evicts_is_found_or_made() {
    let (_place, folder) = folder();
    let mut command = child_command(&folder);
    command.env(KILLER, std::process::id().to_string()).env(LIMIT, "0").stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (mut hits, mut misses) = (0, 0);
    while hits < COUNT || misses < COUNT {
        let stats = run(&accelerator(&folder, NO_LIMIT));
        assert_eq!((stats.hits + stats.misses, stats.rejected, stats.unwritten), (COUNT, 0, 0), "{stats:?}");
        hits += stats.hits;
        misses += stats.misses;
        assert!(child.try_wait().unwrap().is_none(), "the other process has failed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    run(&accelerator(&folder, NO_LIMIT));
    assert_eq!(run(&accelerator(&folder, NO_LIMIT)).hits, COUNT, "what is left is whole");
}

/// Killed at any moment, a process leaves a folder that others can use. `DCMETAL_KILLS` says how many are killed, 12 by default.
#[test]
fn killed_processes_do_no_harm() {
    let (_place, folder) = folder();
    let kills = std::env::var("DCMETAL_KILLS").map_or(12, |count| count.parse().expect("DCMETAL_KILLS is a number"));
    let unfinished = || -> BTreeSet<_> {
        let names = fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.file_name()));
        let is =
            |name: &OsString| [&b"new-"[..], b".hostmetal-"].iter().any(|begin| name.as_bytes().starts_with(begin));
        names.filter(is).collect()
    };
    let (mut random, mut interrupted) = (Random(kills), 0);
    for round in 0..kills {
        let mut command = child_command(&folder);
        let mut child = command
            .env(KILLER, std::process::id().to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Files come and go, so that the child has something to write; the moment differs from round to round.
        let (before, mut seen) = (unfinished(), 0);
        // In every other round it is killed as soon as a file that it writes is seen, in the others at any moment.
        let watched = round % 2 == 1;
        while seen <= round % 7 || watched && unfinished().is_subset(&before) {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "archive") && fs::remove_file(path).is_ok() {
                    seen += 1;
                }
            }
            assert!(child.try_wait().unwrap().is_none(), "round {round}: the child has failed");
        }
        // The next file is written meanwhile, for some 100 us.
        for _ in 0..if watched { 0 } else { random.range(0, 64) } {
            let _ = fs::read_dir(&folder).unwrap().count();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        interrupted += usize::from(!unfinished().is_subset(&before));
        let stats = run(&accelerator(&folder, NO_LIMIT));
        assert_eq!(stats.rejected, 0, "round {round}: {stats:?}");
        assert_eq!(run(&accelerator(&folder, NO_LIMIT)).hits, COUNT, "round {round}");
    }
    println!("{interrupted} of {kills} processes were killed while they wrote a file");
    assert!(interrupted > 0, "no moment was the right one");
}
