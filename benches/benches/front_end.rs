//! clmsl against clang's front end on the same files: a whole translation against `clang-19 -fsyntax-only`.
//!
//! Three sides take turns, and their processors' time is measured (user and system), which other programs on the machine
//! disturb less than they do the clock: clmsl as a library (a turn is as many calls as take `TURN`), the process
//! `dcmetal translate` if its release build stands beside this benchmark, and the process clang. clang reads OpenCL C's functions from its tables and a header, which is
//! its own way and part of what a user waits for; the last column is what it takes beyond an empty file.
//!
//! Files: the translator's cases that clang accepts too, and programs that grow from 1 KB to 10 MB: kernels as people
//! write them (`front_end_kernels.cl`, again and again under other names) and generated ones of mixed constructs (`clgen`,
//! whose helpers with unqualified pointers are macros that clang expands once per address space, `PEER`).
//!
//! Nothing is printed of a file whose translation is not right: a case's must be its golden output, a program's must have
//! all its kernels and be the same again. The time for a byte may not change by more than `GROWTH` from one size to one ten
//! times as large, or the run fails.
//!
//! `cargo bench -p dcmetal-benches --bench front_end [-- --short]`; without clang-19 there is nothing to compare with, and
//! that is an error.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const CLANG: &str = "clang-19";

const KERNELS: &str = include_str!("front_end_kernels.cl");

/// Rounds of the sides' turns.
const ROUNDS: usize = 5;
const SHORT_ROUNDS: usize = 3;
/// And for files that take seconds.
const LONG_ROUNDS: usize = 3;

/// Least time of the library's turn, so that it is not the first call after another program used the caches.
const TURN: Duration = Duration::from_millis(5);

/// Sizes of growing programs; the short run takes the first ones.
const SIZES: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
const SHORT_SIZES: usize = 3;

/// Most that the time for a byte may change from 10 KB on when the size grows tenfold. Caches end, and memory comes new from
/// the system; what takes quadratic time would take ten times as long.
const GROWTH: f64 = 2.5;

/// One in so many cases is measured in the short run.
const SHORT_CASES: usize = 20;

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|word| word == "--test") {
        return;
    }
    let short = std::env::args().any(|word| word == "--short");
    let bench = Bench::open(if short { SHORT_ROUNDS } else { ROUNDS });
    println!(
        "{} rounds; medians of processors' time; ratios are clang's time to ours, with 10th and 90th percentiles\n",
        bench.rounds
    );
    bench.cases(if short { SHORT_CASES } else { 1 });
    let sizes = if short { &SIZES[..SHORT_SIZES] } else { &SIZES };
    println!("\n{HEAD}");
    bench.growing("kernels", sizes, &kernels);
    bench.growing("generated", sizes, &|size| clgen::generate_large(&mut clgen::Choices::of_seed(size as u64), size));
    std::fs::remove_dir_all(&bench.folder).expect("it is ours");
}

/// The last two columns: our time for a byte, and clang's beyond that for an empty file.
const HEAD: &str =
    "program        bytes library, ms process, ms   clang, ms   ratio          spread  process  ns/byte  clang's";

/// Copies of the kernels up to a size, to the end of a kernel.
fn kernels(size: usize) -> String {
    let mut out = String::new();
    for copy in 0.. {
        // A kernel ends with a brace in the first column and an empty line.
        for kernel in KERNELS.split_inclusive("\n}\n\n") {
            out.push_str(&kernel.replace('@', &copy.to_string()));
            if out.len() >= size {
                return out;
            }
        }
    }
    unreachable!("copies are counted for ever")
}

struct Bench {
    rounds: usize,
    folder: PathBuf,
    /// What clang takes for an empty file.
    empty: Duration,
    /// `dcmetal`, if it was built.
    dcmetal: Option<PathBuf>,
}

/// Times of one file, a round each.
struct Times {
    library: Vec<Duration>,
    process: Vec<Duration>,
    clang: Vec<Duration>,
}

impl Bench {
    fn open(rounds: usize) -> Bench {
        let folder = std::env::temp_dir().join(format!("front_end-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let empty = folder.join("empty.cl");
        std::fs::write(&empty, "").expect("a file");
        let beside = std::env::current_exe().expect("this program").with_file_name("../dcmetal");
        let empty: Vec<Duration> = (0..rounds).map(|_| clang(&empty).expect("clang accepts an empty file")).collect();
        let bench = Bench { rounds, folder, empty: median(&empty), dcmetal: beside.exists().then_some(beside) };
        if bench.dcmetal.is_none() {
            println!("no release build of dcmetal: the process is not measured (cargo build --release -p dcmetal-cli)");
        }
        bench
    }

    /// The translator's cases without options of their own, each by itself.
    fn cases(&self, step: usize) {
        let mut ratios = Vec::new();
        let mut of_processes = Vec::new();
        for file in own_cases().into_iter().step_by(step) {
            let text = std::fs::read_to_string(&file).expect("a case");
            let golden = std::fs::read_to_string(file.with_extension("msl")).unwrap_or_default();
            let name = file.file_name().expect("a file").to_string_lossy();
            let right = translate(&name, &text).is_some_and(|msl| golden == msl);
            if right && clang(&file).is_some() {
                let times = self.measure(&file, &text, self.rounds);
                ratios.push(ratio(&times.clang, &times.library));
                if self.dcmetal.is_some() {
                    of_processes.push(ratio(&times.clang, &times.process));
                }
            }
        }
        assert!(!ratios.is_empty(), "no case is accepted by both");
        println!("{} cases, library: {}", ratios.len(), distribution(&mut ratios));
        if !of_processes.is_empty() {
            println!("{} cases, process: {}", of_processes.len(), distribution(&mut of_processes));
        }
    }

    /// Programs of growing size.
    fn growing(&self, name: &str, sizes: &[usize], program: &dyn Fn(usize) -> String) {
        let mut before: Option<f64> = None;
        for &size in sizes {
            let text = program(size);
            let file = self.folder.join(format!("{name}{size}.cl"));
            std::fs::write(&file, &text).expect("a file");
            assert!(clang(&file).is_some(), "{CLANG} accepts {}", file.display());
            verify(&text);
            let times =
                self.measure(&file, &text, if size > 500_000 { LONG_ROUNDS.min(self.rounds) } else { self.rounds });
            let per_byte = row(name, text.len(), &times, self.empty);
            if let Some(before) = before {
                let growth = per_byte / before;
                assert!(
                    (1.0 / GROWTH..GROWTH).contains(&growth),
                    "{name}: a byte takes {growth:.2} times as long as in a tenth of the size"
                );
            }
            // Below, what each translation costs whatever its size outweighs the rest.
            before = (size >= 10_000).then_some(per_byte);
        }
    }

    fn measure(&self, file: &Path, text: &str, rounds: usize) -> Times {
        let name = file.to_string_lossy();
        let mut times = Times { library: Vec::new(), process: Vec::new(), clang: Vec::new() };
        // The first round does not count.
        for round in 0..=rounds {
            let library = library(&name, text);
            let process = self.dcmetal.as_deref().map(|program| self.process(program, file));
            let peer = clang(file).expect("it was accepted before");
            if round > 0 {
                times.library.push(library);
                times.process.extend(process);
                times.clang.push(peer);
            }
        }
        times
    }

    fn process(&self, program: &Path, file: &Path) -> Duration {
        let output = self.folder.join("out.metal");
        let mut command = Command::new(program);
        command.arg("translate").arg(file).arg("-o").arg(output);
        run(command).expect("dcmetal accepts what clmsl does")
    }
}

fn clang(file: &Path) -> Option<Duration> {
    let mut command = Command::new(CLANG);
    command.args(["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-fsyntax-only", "-w", "-DPEER"]);
    command.arg(file);
    run(command)
}

/// The processors' time of one translation among those of a turn.
fn library(name: &str, text: &str) -> Duration {
    let start = used(libc::RUSAGE_SELF);
    for calls in 1.. {
        std::hint::black_box(translate(name, text)).expect("it was accepted before");
        let time = used(libc::RUSAGE_SELF) - start;
        if time >= TURN {
            return time / calls;
        }
    }
    unreachable!("time passes")
}

/// The processors' time of a process; `None` if it fails.
fn run(mut command: Command) -> Option<Duration> {
    let start = used(libc::RUSAGE_CHILDREN);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.unwrap_or_else(|error| panic!("{}: {error}", command.get_program().display()));
    status.success().then(|| used(libc::RUSAGE_CHILDREN) - start)
}

/// The processors' time, user and system, that this process or its children have used.
fn used(who: libc::c_int) -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage, of which any bits are a value.
    let status = unsafe { libc::getrusage(who, usage.as_mut_ptr()) };
    assert_eq!(status, 0, "getrusage takes these arguments");
    // SAFETY: zeroed, and filled by the call.
    let usage = unsafe { usage.assume_init() };
    let duration = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    duration(usage.ru_utime) + duration(usage.ru_stime)
}

fn translate(name: &str, text: &str) -> Option<String> {
    clmsl::translate(name, text, &clmsl::Options::default()).msl
}

/// The translation has every kernel of the program, declared and reflected, and is the same again.
fn verify(text: &str) {
    let translation = clmsl::translate("bench.cl", text, &clmsl::Options::default());
    let msl = translation.msl.as_deref().unwrap_or_else(|| panic!("clmsl accepts it: {}", translation.rendered()));
    let kernels = text.matches("__kernel").count();
    assert_eq!(translation.reflection.kernels.len(), kernels, "kernels reflected");
    assert_eq!(msl.matches("\nkernel void ").count(), kernels, "kernels printed");
    assert_eq!(translate("bench.cl", text).as_deref(), Some(msl), "the same again");
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// How much longer they take, by medians.
fn ratio(theirs: &[Duration], ours: &[Duration]) -> f64 {
    median(theirs).as_secs_f64() / median(ours).as_secs_f64()
}

fn distribution(ratios: &mut [f64]) -> String {
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
    let reached = ratios.iter().filter(|&&r| r >= 20.0).count();
    format!(
        "least ratio {:.1}, 10th percentile {:.1}, median {:.1}; {reached} of {} have 20 or more",
        ratios[0],
        at(0.1),
        at(0.5),
        ratios.len()
    )
}

/// Prints a row of the table; returns our nanoseconds for a byte.
fn row(name: &str, bytes: usize, times: &Times, empty: Duration) -> f64 {
    let mut ratios: Vec<f64> =
        times.clang.iter().zip(&times.library).map(|(c, l)| c.as_secs_f64() / l.as_secs_f64()).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
    let per_byte = |time: Duration| time.as_nanos() as f64 / bytes as f64;
    let milliseconds = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1e3);
    let (library, clang) = (median(&times.library), median(&times.clang));
    let (process, as_process) = match times.process.as_slice() {
        [] => ("-".to_owned(), "-".to_owned()),
        process => (milliseconds(median(process)), format!("{:.1}", ratio(&times.clang, process))),
    };
    println!(
        "{name:<10} {bytes:>9} {:>11} {process:>11} {:>11} {:>7.1} {:>15} {as_process:>8} {:>8.0} {:>8.0}",
        milliseconds(library),
        milliseconds(clang),
        ratio(&times.clang, &times.library),
        format!("{:.1} to {:.1}", at(0.1), at(0.9)),
        per_byte(library),
        per_byte(clang.saturating_sub(empty))
    );
    per_byte(library)
}

/// The translator's cases that have no options.
fn own_cases() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/clmsl/tests/cases")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the cases") {
            let path = entry.expect("a directory's entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cl")
                && std::fs::read_to_string(&path).is_ok_and(|text| !text.starts_with("// options:"))
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
