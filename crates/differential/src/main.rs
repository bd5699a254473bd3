//! `differential serve`: the peer's process of the tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve"] => match differential::serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("differential: {error}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("usage: differential serve");
            ExitCode::from(2)
        }
    }
}
