//! Hostmetal's Metal classes as a program sees them: the Objective-C++ cases of native/hostmetal/tests, run in a process of
//! their own, so that what the Objective-C runtime writes to stderr (an object autoreleased without a pool, an uncaught
//! exception) counts as well.

use std::ffi::CString;
use std::process::{Command, ExitCode};

const CHILD: &str = "--run-cases";
/// Makes the mistake that the next argument names.
const PLANT: &str = "--plant";
/// GNUstep says this of a pool whose drain raised; one case makes that happen.
const OF_A_RAISING_POOL: &str = "nil object encountered in autorelease pool";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().position(|argument| argument == PLANT) {
        Some(at) => plant(arguments.get(at + 1).map_or("", String::as_str)),
        None if arguments.iter().any(|argument| argument == CHILD) => run_cases(),
        None => check_child(),
    }
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

fn run_cases() -> ExitCode {
    let mut failed = 0;
    let mut number = 0;
    while let Some(name) = hostmetal_faces::name(number) {
        let notes = hostmetal_faces::run(number);
        println!("case {name} ... {}", if notes.is_empty() { "ok" } else { "FAILED" });
        print!("{notes}");
        failed += usize::from(!notes.is_empty());
        number += 1;
    }
    println!("{number} cases, {failed} failed");
    if failed == 0 && number > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check_child() -> ExitCode {
    let this = std::env::current_exe().expect("the test's own executable");
    let output = Command::new(this).arg(CHILD).output().expect("the test starts itself");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        println!("{errors}\nthe cases ended with {}", output.status);
        return ExitCode::FAILURE;
    }
    if errors.lines().any(|line| line != OF_A_RAISING_POOL && !of_a_sanitizer(line)) {
        println!("nothing else may be written to stderr, but there is:\n{errors}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
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
