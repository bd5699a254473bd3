//! A kernel that is kept in a folder, with everything about it that can fail: a binary archive that cannot be made, added to, written or read, a pipeline that cannot be
//! made of one, a file that is not what it was or somebody else's, a folder that takes none. The data is right each time, and what was wrong is made again.
//!
//! The table is that of docs/RECOVERY.md; `UPDATE_EXPECT=1` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use dcmetal::{Accelerator, Grid, KernelFileStats, args};
use sha2::{Digest, Sha256};

use crate::matrix::in_document;
use crate::works::SIZE;
use crate::{all_is_given_back, injected, input, set};

const SOURCE: &str = "
kernel void kept(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * 5u + 3u;
}
kernel void other(device uint* y [[buffer(0)]]) { y[0] = 1u; }
";

/// What happens to a folder before a kernel is looked for in it.
enum Harm {
    /// A rule for one of the calls, and their number.
    Rule(&'static str, u64),
    /// To the file, in that folder.
    File(fn(&Path, &Path)),
    /// To the folder, which the accelerator has opened and which has no file.
    Folder(fn(&Path)),
}
use Harm::{File, Folder, Rule};

struct Case {
    name: &'static str,
    /// Whether an earlier process has written the kernel's file.
    is_there: bool,
    harm: Harm,
}

const fn new(name: &'static str, harm: Harm) -> Case {
    Case { name, is_there: false, harm }
}

const fn there(name: &'static str, harm: Harm) -> Case {
    Case { name, is_there: true, harm }
}

/// In the table's order. Calls that make, add to and write an archive are the first three.
const CASES: &[Case] = &[
    new("nothing", Rule("seed=1", 0)),
    new("make: internal_error", Rule("archive:error=internal_error:at=1", 1)),
    new("make: invalid_file", Rule("archive:error=invalid_file:at=1", 1)),
    new("make: compilation_failure", Rule("archive:error=compilation_failure:at=1", 1)),
    new("add: internal_error", Rule("archive:error=internal_error:at=2", 1)),
    new("add: invalid_file", Rule("archive:error=invalid_file:at=2", 1)),
    new("add: compilation_failure", Rule("archive:error=compilation_failure:at=2", 1)),
    new("write: internal_error", Rule("archive:error=internal_error:at=3", 1)),
    new("write: invalid_file", Rule("archive:error=invalid_file:at=3", 1)),
    new("write: compilation_failure", Rule("archive:error=compilation_failure:at=3", 1)),
    new("the folder has gone", Folder(|folder| fs::remove_dir_all(folder).expect("it is there"))),
    new(
        "a file is in the folder's place",
        Folder(|folder| {
            fs::remove_dir_all(folder).expect("it is there");
            fs::write(folder, "").expect("a file");
        }),
    ),
    there("nothing, and its file is there", Rule("seed=1", 0)),
    there("read: internal_error", Rule("archive:error=internal_error:at=1", 1)),
    there("read: invalid_file", Rule("archive:error=invalid_file:at=1", 1)),
    there("read: compilation_failure", Rule("archive:error=compilation_failure:at=1", 1)),
    there("read, and then make: internal_error", Rule("archive:error=internal_error:times=2", 2)),
    there("every call: invalid_file", Rule("archive:error=invalid_file", 2)),
    there("the pipeline of it: internal", Rule("pipeline:error=internal:at=1", 1)),
    there("the pipeline of it: compile_failure", Rule("pipeline:error=compile_failure:at=1", 1)),
    there("the pipeline of it: unsupported", Rule("pipeline:error=unsupported:at=1", 1)),
    there(
        "a file with another byte",
        File(|file, _| {
            let mut bytes = fs::read(file).expect("it is there");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(file, bytes).expect("it is written");
        }),
    ),
    there(
        "a file that was cut",
        File(|file, _| {
            let bytes = fs::read(file).expect("it is there");
            fs::write(file, &bytes[..bytes.len() / 2]).expect("it is written");
        }),
    ),
    there("an empty file", File(|file, _| fs::write(file, "").expect("it is written"))),
    there(
        "another program's bytes under a name that fits",
        File(|file, folder| replace(file, folder, b"MTLB of somebody else's")),
    ),
    there(
        "an archive with another byte under a name that fits",
        File(|file, folder| {
            let mut bytes = fs::read(file).expect("it is there");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            replace(file, folder, &bytes);
        }),
    ),
    there(
        "another kernel's archive under a name that fits",
        File(|file, folder| {
            let place = tempfile::tempdir().expect("a folder");
            let elsewhere = place.path().join("kernels");
            let gpu = Accelerator::all().expect("devices").swap_remove(0);
            gpu.keep_kernels(&elsewhere, u64::MAX).expect("a folder");
            gpu.compile_msl(SOURCE).and_then(|library| library.kernel("other")).expect("it compiles");
            replace(file, folder, &fs::read(only(&elsewhere)).expect("it is there"));
        }),
    ),
    there(
        "a file that others may write",
        File(|file, _| {
            fs::set_permissions(file, fs::Permissions::from_mode(0o622)).expect("it is ours");
        }),
    ),
    there(
        "a link",
        File(|file, folder| {
            let aside = folder.join("aside");
            fs::rename(file, &aside).expect("it is ours");
            symlink(aside, file).expect("a link");
        }),
    ),
    there(
        "a folder in its place",
        File(|file, _| {
            fs::remove_file(file).expect("it is ours");
            fs::create_dir(file).expect("a folder");
        }),
    ),
];

/// Other bytes in the place of a kernel's file, whose name says that they are right.
fn replace(file: &Path, folder: &Path, bytes: &[u8]) {
    let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = file.file_name().and_then(|name| name.to_str()).expect("a kernel's name");
    fs::remove_file(file).expect("it is ours");
    let file = folder.join(format!("{}-{hash}.archive", &name[..64]));
    fs::write(&file, bytes).expect("it is written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
}

/// The file of a folder that has one.
fn only(folder: &Path) -> PathBuf {
    let mut files = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let file = files.next().expect("a file");
    assert!(files.next().is_none(), "one kernel has one file");
    file
}

/// What a process does: an accelerator of its own, which knows nothing but the folder. The data is right, whatever happens.
fn process(device: usize, folder: &Path, harm: &Harm, seed: u64) -> KernelFileStats {
    let gpu = Accelerator::all().expect("devices").swap_remove(device);
    gpu.keep_kernels(folder, u64::MAX).expect("a folder of ours");
    if let Folder(harm) = harm {
        harm(folder);
    }
    let library = gpu.compile_msl(SOURCE).expect("it compiles");
    if let Rule(rule, _) = harm {
        set(rule);
    }
    let kernel = library.kernel("kept").expect("a kernel, whatever becomes of its file");
    if let Rule(rule, times) = harm {
        let site = rule.split(':').next().expect("a site");
        assert!(*times == 0 || injected(site) == *times, "{rule}: it was there");
        set("");
    }
    let x = input(seed);
    let from = gpu.buffer_from(&x).expect("a buffer");
    let mut to = gpu.buffer_from(&vec![0xdead_beefu32; SIZE]).expect("a buffer");
    kernel.launch(Grid::linear(SIZE), args![&from, &mut to]).and_then(|ran| ran.wait()).expect("it runs");
    let expected: Vec<u32> = x.iter().map(|x| x.wrapping_mul(5).wrapping_add(3)).collect();
    assert!(to.to_vec().expect("it ran") == expected, "wrong data");
    gpu.kernel_file_stats().expect("kernels are kept")
}

/// What became of all runs of a case.
#[derive(Default)]
struct Became {
    runs: u64,
    first: KernelFileStats,
    next_hits: u64,
    last_hits: u64,
}

fn run(case: &Case, device: usize, became: &mut Became) {
    let (place, seed) = (tempfile::tempdir().expect("a folder"), became.runs);
    let folder = place.path().join("kernels");
    let well = Rule("seed=1", 0);
    if case.is_there {
        process(device, &folder, &well, seed);
        if let File(harm) = &case.harm {
            harm(&only(&folder), &folder);
        }
    }
    let all = Accelerator::all().expect("devices");
    let before = all.iter().map(Accelerator::allocated_bytes).sum();
    let first = process(device, &folder, &case.harm, seed);
    let name = || format!("{}, device {device}: {first:?}", case.name);
    assert_eq!((first.hits + first.misses, first.compiled), (1, first.misses), "{}", name());
    assert_eq!((first.written + first.unwritten, first.evicted), (first.misses, 0), "{}", name());
    // What was found wrong has gone, and what was written is right.
    let is_left = fs::read_dir(&folder).into_iter().flatten().any(|entry| {
        let path = entry.expect("an entry").path();
        path.extension().is_some_and(|extension| extension == "archive") && path.is_file()
    });
    assert!(is_left || first.written == 0, "{}", name());
    if matches!(case.harm, Folder(_)) {
        // There is nothing to be found, and whoever opens the folder now is told.
        let _ = fs::remove_file(&folder);
    }
    let next = process(device, &folder, &well, seed);
    assert_eq!(next.hits, u64::from(is_left), "{}: {next:?}", name());
    let last = process(device, &folder, &well, seed);
    all_is_given_back(&all, before);
    became.runs += 1;
    became.next_hits += next.hits;
    became.last_hits += last.hits;
    let sum = &mut became.first;
    for (sum, one) in [
        (&mut sum.hits, first.hits),
        (&mut sum.compiled, first.compiled),
        (&mut sum.written, first.written),
        (&mut sum.unwritten, first.unwritten),
        (&mut sum.rejected, first.rejected),
    ] {
        *sum += one;
    }
}

pub(crate) fn kernels_in_a_folder() {
    let mut cases: BTreeMap<usize, Became> = BTreeMap::new();
    for (number, case) in CASES.iter().enumerate() {
        for device in 0..2 {
            run(case, device, cases.entry(number).or_default());
        }
    }
    let mut table = "| what fails | runs | right data | found | compiled | written | not written | removed | found by the next | by the one after |\n\
                     | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for (number, Became { runs, first, next_hits, last_hits }) in cases {
        let KernelFileStats { hits, compiled, written, unwritten, rejected, .. } = first;
        let name = CASES[number].name;
        writeln!(
            table,
            "| {name} | {runs} | {runs} | {hits} | {compiled} | {written} | {unwritten} | {rejected} | {next_hits} | {last_hits} |"
        )
        .expect("a String grows");
    }
    println!("{table}");
    in_document(&table);
}
