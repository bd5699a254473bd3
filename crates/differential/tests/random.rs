//! Random programs on PoCL and on the device: some that are the same in every run. `differential seconds FIRST SECONDS` runs
//! others, for as long as one likes.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use differential::{Campaign, Kind, Peer};

const PROGRAMS: u64 = 24;

fn campaign() -> Campaign {
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_differential"));
        command.arg("serve");
        command
    };
    let gpu = dcmetal::Accelerator::system_default().expect("a Metal device");
    Campaign { gpu, peer: Peer::new(start, Duration::from_secs(60)) }
}

#[test]
fn random_programs_compute_the_same() {
    let (next, wrong) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let mut campaign = campaign();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= PROGRAMS {
                        return;
                    }
                    if let Some(finding) = campaign.run(seed) {
                        let text = format!("seed {seed}: {:?}: {}", finding.kind, finding.text);
                        wrong.lock().expect("no panic holds it").push(text);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic holds it");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The whole way, with a program that is two programs.
#[test]
fn a_difference_is_found_and_made_small() {
    // On one line, for without its return it would differ by itself.
    let source = "int idle(int x) { return x * 3; }\n__kernel void k(__global int* x)\n{\nint y = idle(2);\n{\ny += 1;\n}\n\
        #ifdef PEER\nx[1] = 5;\n#else\nx[1] = 6;\n#endif\nx[0] = y;\n}\n";
    let args = vec![clgen::Arg::Buffer(vec![Some(clgen::Scalar::Int)], 4)];
    let program =
        clgen::Program { source: source.to_owned(), double: false, dimensions: 1, grid: [1; 3], group: [1; 3], args };
    let mut campaign = campaign();
    let finding = campaign.run_program(&program, 1).expect("it differs");
    assert_eq!(finding.kind, Kind::Differs);
    assert!(finding.text.starts_with("launch 0 (k): x[1] is 6 on the device, 5 on OpenCL; 1 of 4"), "{}", finding.text);
    let least = campaign.minimise(&program, 1, finding.kind);
    assert!(least.source.lines().count() <= 8, "{}", least.source);
    assert_eq!(campaign.run_program(&least, 1).map(|finding| finding.kind), Some(Kind::Differs));
}
