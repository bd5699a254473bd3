//! Hostmetal's Metal classes as a program sees them: the Objective-C++ cases of native/hostmetal/tests, run in a process of
//! their own, so that what the Objective-C runtime writes to stderr (an object autoreleased without a pool, an uncaught
//! exception) counts as well.

use std::ffi::CString;
use std::process::{Command, ExitCode};

const CHILD: &str = "--run-cases";
/// Makes the mistake that the next argument names.
const PLANT: &str = "--plant";
/// UTF-16, which GNUstep's strings are of; left to itself it has glibc load 36.
const MOST_LOADED: u64 = 1;
/// GNUstep says this of a pool whose drain raised; one case makes that happen.
const OF_A_RAISING_POOL: &str = "nil object encountered in autorelease pool";

/// A process of cases.
struct Process {
    group: usize,
    environment: &'static [(&'static str, &'static str)],
    /// What it writes to stderr, besides what any of them may.
    says: &'static [&'static str],
}

const PROCESSES: [Process; 9] = [
    Process {
        group: hostmetal_faces::ONE_DEVICE,
        environment: &[],
        // To those who ask for it by calls that cannot fail.
        says: &["hostmetal: nothing is captured: there is no capture tool"; 3],
    },
    Process {
        group: hostmetal_faces::SEVERAL_DEVICES,
        environment: &[
            ("HOSTMETAL_DEVICES", "3"),
            ("HOSTMETAL_MEMORY", "256M"),
            (
                "HOSTMETAL_DEVICE_1",
                "name=small one,memory=16M,max_buffer=8M,working_set=12M,threadgroup_memory=16K,max_threads=256,\
                 family=mac2,location=external,low_power=yes,peer_group=6",
            ),
            ("HOSTMETAL_DEVICE_0", "peer_group=5"),
            ("HOSTMETAL_DEVICE_2", "family=apple3,location=external,peer_group=5"),
        ],
        says: &[],
    },
    Process {
        group: hostmetal_faces::NO_DEVICE,
        environment: &[("HOSTMETAL_DEVICES", "2"), ("HOSTMETAL_DEVICE_1", "memory=lots")],
        says: &[
            "hostmetal: there are no devices: HOSTMETAL_DEVICE_1=\"memory=lots\": memory: expected a number of bytes, \
                 such as 4096, 64K, 256M or 2G",
        ],
    },
    Process {
        group: hostmetal_faces::NO_DEVICE,
        environment: &[("HOSTMETAL_FAULTS", "commit:p=0.5; buffer:p=2")],
        says: &[
            "hostmetal: there are no devices: HOSTMETAL_FAULTS=\"commit:p=0.5; buffer:p=2\": `buffer:p=2`: p: expected a probability \
                 from 0 to 1",
        ],
    },
    Process { group: hostmetal_faces::UNVALIDATED, environment: &[("MTL_DEBUG_LAYER", "0")], says: &[] },
    Process {
        group: hostmetal_faces::LOGGED,
        environment: &[("MTL_LOG_LEVEL", "MTLLogLevelNotice")],
        says: &["notice [com.example:faces] seven 7", "error two", "fault lines"],
    },
    Process {
        group: hostmetal_faces::LOGGED,
        environment: &[("MTL_LOG_LEVEL", "Loud"), ("MTL_LOG_BUFFER_SIZE", "1000")],
        says: &[
            "hostmetal: MTL_LOG_LEVEL=\"Loud\" is none of Metal's levels, such as MTLLogLevelInfo: all messages are kept",
            "hostmetal: no messages are kept: MTL_LOG_BUFFER_SIZE=\"1000\": bufferSize (1000) must be at least 1024 and at \
                 most 1073741824",
        ],
    },
    Process {
        group: hostmetal_faces::REMOVED_DEVICES,
        environment: &[
            ("HOSTMETAL_DEVICES", "2"),
            ("HOSTMETAL_DEVICE_1", "location=external,removed_after=2"),
            ("HOSTMETAL_WATCHDOG", "0"),
        ],
        says: &[],
    },
    Process { group: hostmetal_faces::OVERLAPPED, environment: &[("HOSTMETAL_OVERLAP", "3")], says: &[] },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == PLANT) {
        return plant(arguments.get(at + 1).map_or("", String::as_str));
    }
    if let Some(at) = arguments.iter().position(|argument| argument == CHILD) {
        return run_cases(arguments[at + 1].parse().expect("the number of a group"));
    }
    // Each of them runs, whatever became of those before it.
    let failed = PROCESSES.iter().filter(|process| !check_child(process)).count();
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// For scripts/sanitize: the sanitizer must end the process.
fn plant(name: &str) -> ExitCode {
    let name = CString::new(name).expect("an argument has no NUL");
    if hostmetal_faces::plant(&name) {
        return ExitCode::SUCCESS;
    }
    println!("there is no mistake {name:?}");
    ExitCode::from(2)
}

fn run_cases(group: usize) -> ExitCode {
    let mut failed = 0;
    let loaded = hostmetal_faces::begin();
    if loaded > MOST_LOADED {
        println!("{loaded} libraries were loaded for the first device");
        failed += 1;
    }
    let mut number = 0;
    while let Some(name) = hostmetal_faces::name(group, number) {
        let notes = hostmetal_faces::run(group, number);
        println!("case {name} ... {}", if notes.is_empty() { "ok" } else { "FAILED" });
        print!("{notes}");
        failed += usize::from(!notes.is_empty());
        number += 1;
    }
    println!("{number} cases, {failed} failed");
    if failed == 0 && number > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check_child(process: &Process) -> bool {
    let this = std::env::current_exe().expect("the test's own executable");
    let mut command = Command::new(this);
    command.args([CHILD, &process.group.to_string()]).envs(process.environment.iter().copied());
    let output = command.output().expect("the test starts itself");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        println!("{errors}\nthe cases ended with {}", output.status);
        return false;
    }
    let own: Vec<&str> = errors.lines().filter(|line| *line != OF_A_RAISING_POOL && !of_a_sanitizer(line)).collect();
    if own != process.says {
        println!("{:?} may be written to stderr, and nothing else, but there is:\n{errors}", process.says);
    }
    own == process.says
}

/// What AddressSanitizer says of a kernel's fault, which leaves a stack that it does not know.
fn of_a_sanitizer(line: &str) -> bool {
    let texts = [
        "WARNING: ASan is ignoring requested __asan_handle_no_return",
        "False positive error reports",
        "For details see",
    ];
    texts.iter().any(|text| line.contains(text))
}
