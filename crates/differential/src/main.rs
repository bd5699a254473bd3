//! `differential`: random programs on an OpenCL implementation and the device.
//!
//! ```text
//! differential seeds FIRST COUNT          these, and what differs
//! differential seconds FIRST SECONDS      for a time
//! differential show SEED                  the program of a seed
//! differential minimise SEED              the least of it that still goes wrong in the same way
//! differential file SEED FILE             a text in place of the seed's program, with its arguments
//! differential serve                      the process of the OpenCL implementation
//! ```

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use differential::{Campaign, Peer};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let done = match (words.first().map(String::as_str), number(1), number(2)) {
        (Some("serve"), None, None) => differential::serve().map(|()| true).map_err(|error| error.to_string()),
        (Some("show"), Some(seed), None) => {
            print!("{}", clgen::generate(&mut clgen::Choices::of_seed(seed)).source);
            Ok(true)
        }
        (Some("seeds"), Some(first), Some(count)) => campaign(first, count, Duration::MAX),
        (Some("seconds"), Some(first), Some(seconds)) => campaign(first, u64::MAX, Duration::from_secs(seconds)),
        (Some("minimise"), Some(seed), None) => minimise(seed),
        (Some("file"), Some(seed), _) if words.len() == 3 => file(seed, &words[2]),
        _ => {
            Err("usage: differential seeds FIRST COUNT | seconds FIRST SECONDS | show SEED | minimise SEED | file SEED FILE".to_owned())
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(text) => {
            eprintln!("differential: {text}");
            ExitCode::from(2)
        }
    }
}

fn open() -> Result<Campaign, String> {
    let gpu = dcmetal::Accelerator::system_default().map_err(|error| error.to_string())?;
    let executable = std::env::current_exe().map_err(|error| error.to_string())?;
    let start = move || {
        let mut command = Command::new(&executable);
        command.arg("serve");
        command
    };
    Ok(Campaign { gpu, peer: Peer::new(start, Duration::from_secs(60)) })
}

/// Whether all came out alike.
fn campaign(first: u64, count: u64, time: Duration) -> Result<bool, String> {
    let mut campaign = open()?;
    let start = Instant::now();
    let (mut done, mut found) = (0, 0);
    for seed in (first..).take(usize::try_from(count).unwrap_or(usize::MAX)) {
        if start.elapsed() > time {
            break;
        }
        if let Some(finding) = campaign.run(seed) {
            found += 1;
            println!("seed {seed}: {:?}: {}", finding.kind, finding.text);
        }
        done += 1;
        if done % 20 == 0 {
            eprintln!("up to seed {seed}: {done} programs in {} s, {found} findings", start.elapsed().as_secs());
        }
    }
    println!("{done} programs in {} s, {found} findings", start.elapsed().as_secs());
    Ok(found == 0)
}

fn file(seed: u64, path: &str) -> Result<bool, String> {
    let source = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let program = clgen::Program { source, ..clgen::generate(&mut clgen::Choices::of_seed(seed)) };
    let finding = open()?.run_program(&program, seed);
    match &finding {
        None => println!("{path} comes out alike"),
        Some(finding) => println!("{:?}: {}", finding.kind, finding.text),
    }
    Ok(finding.is_none())
}

fn minimise(seed: u64) -> Result<bool, String> {
    let mut campaign = open()?;
    let program = clgen::generate(&mut clgen::Choices::of_seed(seed));
    let Some(finding) = campaign.run_program(&program, seed) else {
        println!("seed {seed} comes out alike");
        return Ok(true);
    };
    let least = campaign.minimise(&program, seed, finding.kind);
    let finding = campaign.run_program(&least, seed).expect("that is what was kept");
    println!("{}\n{:?}: {}", least.source, finding.kind, finding.text);
    Ok(false)
}
