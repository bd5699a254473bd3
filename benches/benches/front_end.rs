//! clmsl against clang's front end on the same files: translation in this process against `clang-19 -fsyntax-only`.
//!
//! Printed for each file: its size, the time of clmsl, that of the whole clang process, and what clang takes beyond an empty
//! file (its start and the header of OpenCL C's functions, which clmsl has no need to read). Medians of runs that alternate.
//! Files are the translator's cases that clang accepts, together, and generated programs of 1 KB to 10 MB. A figure is printed
//! only if both accepted the file. Helpers with unqualified pointers are macros that clang expands once per address space (`PEER`). Without clang-19 there is nothing to compare with, and that is an error.
//!
//! `cargo bench -p dcmetal-benches --bench front_end`

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CLANG: &str = "clang-19";

/// Runs of each, and of files that take long.
const RUNS: usize = 11;
const LONG: usize = 3;

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|word| word == "--test") {
        return;
    }
    let folder = std::env::temp_dir().join(format!("front_end-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let empty = folder.join("empty.cl");
    std::fs::write(&empty, "").expect("a file");
    clang(&empty).expect("clang-19 accepts an empty file");

    println!(
        "{:<24} {:>10} {:>11} {:>11} {:>11} {:>8} {:>8}",
        "file", "bytes", "clmsl", "clang", "- empty", "ratio", "- empty"
    );
    let mut ratios = Vec::new();
    let (mut cases, mut sum) = (0, [Duration::ZERO; 3]);
    for file in own_cases() {
        let text = std::fs::read_to_string(&file).expect("a case");
        if clang(&file).is_some() && translated(&text).is_some() {
            let times = measure(&file, &text, &empty, RUNS);
            ratios.push(ratio(times[1], times[0]));
            sum = [sum[0] + times[0], sum[1] + times[1], sum[2] + times[2]];
            cases += 1;
        }
    }
    ratios.sort_by(f64::total_cmp);
    row(&format!("{cases} cases, together"), 0, sum);
    println!("least ratio of a case {:.0}, median {:.0}", ratios[0], ratios[ratios.len() / 2]);
    for size in [1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
        let text = clgen::generate_large(&mut clgen::Choices::of_seed(size as u64), size);
        let file = folder.join(format!("generated{size}.cl"));
        std::fs::write(&file, &text).expect("a file");
        assert!(clang(&file).is_some(), "clang accepts what is generated");
        assert!(translated(&text).is_some(), "so does clmsl");
        row(
            &format!("generated, {size} bytes"),
            text.len(),
            measure(&file, &text, &empty, if size > 500_000 { LONG } else { RUNS }),
        );
    }
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

/// Medians: clmsl, clang, clang on an empty file.
fn measure(file: &Path, text: &str, empty: &Path, runs: usize) -> [Duration; 3] {
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..runs {
        times[0].push(translated(text).expect("it was accepted before"));
        times[1].push(clang(file).expect("it was accepted before"));
        times[2].push(clang(empty).expect("it was accepted before"));
    }
    times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    })
}

fn translated(text: &str) -> Option<Duration> {
    let start = Instant::now();
    let translation = clmsl::translate("bench.cl", text, &clmsl::Options::default());
    let time = start.elapsed();
    translation.msl.is_some().then_some(time)
}

fn clang(file: &Path) -> Option<Duration> {
    let start = Instant::now();
    let status = Command::new(CLANG)
        .args(["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-fsyntax-only", "-w", "-DPEER"])
        .arg(file)
        .stderr(Stdio::null())
        .status()
        .unwrap_or_else(|error| panic!("{CLANG}: {error}"));
    status.success().then(|| start.elapsed())
}

fn ratio(theirs: Duration, ours: Duration) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64()
}

fn row(name: &str, bytes: usize, [ours, theirs, empty]: [Duration; 3]) {
    let beyond = theirs.saturating_sub(empty);
    println!(
        "{name:<24} {bytes:>10} {:>11} {:>11} {:>11} {:>8.1} {:>8.1}",
        format!("{ours:.2?}"),
        format!("{theirs:.2?}"),
        format!("{beyond:.2?}"),
        ratio(theirs, ours),
        ratio(beyond, ours)
    );
}

/// The translator's cases.
fn own_cases() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/clmsl/tests/cases")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the cases") {
            let path = entry.expect("a directory's entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cl") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
