//! `dcmetal validate` as a person runs it, once, quickly: what it measures it has verified, and figures, verdicts and exit code agree.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn dcmetal(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dcmetal")).args(words).current_dir(folder).output().expect("dcmetal starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Rows that a quick run here measures; the others stay in the report and say that they were left out.
const ASKED: [&str; 17] = [
    "memory-cache",
    "disk-cache",
    "command-buffer",
    "cold-start",
    "pool-allocations",
    "pool-hit",
    "pool-threads",
    "unified",
    "graph-branches",
    "encode",
    "round-trip",
    "dispatches",
    "submissions",
    "telemetry",
    "recovery",
    "kernel-saxpy",
    "kernel-histogram",
];

/// What a verdict must be by the row's own numbers, as far as they alone tell.
fn by_numbers(row: &Value) -> &'static str {
    let measured = &row["measured"];
    if measured.is_null() {
        // Why is all there is.
        return if row["verdict"] == "broken" { "broken" } else { "not_measured" };
    }
    let value = measured["value"].as_f64().unwrap();
    let above = |rate: &Value| {
        rate["value"].as_f64().unwrap() > rate["slack"].as_f64().unwrap() * rate["roof"].as_f64().unwrap()
    };
    if measured["rates"].as_array().unwrap().iter().any(above) {
        return "broken";
    }
    let within = match (row["goal"]["at_most"].as_f64(), row["goal"]["at_least"].as_f64()) {
        (Some(most), None) => value <= most,
        (None, Some(least)) => value >= least,
        _ => row["goal"] == "sound",
    };
    if within { "reached" } else { "missed" }
}

#[test]
fn figures_verdicts_and_exit_code_agree() {
    let folder = tempfile::tempdir().unwrap();
    let list = dcmetal(folder.path(), &["validate", "--list"]);
    let names: Vec<String> = text(&list.stdout).lines().map(str::to_owned).collect();
    assert!(ASKED.iter().all(|asked| names.iter().any(|name| name == asked)), "{names:?}");

    let words = [
        &["validate", "--quick", "--seed", "7", "--json", "figures.json", "--html", "figures.html", "--only"],
        &ASKED[..],
    ]
    .concat();
    let output = dcmetal(folder.path(), &words);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let report: Value = serde_json::from_slice(&std::fs::read(folder.path().join("figures.json")).unwrap())
        .unwrap_or_else(|error| panic!("{error}: {err}"));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["name"].as_str().unwrap()).collect::<Vec<_>>(), names);

    page_is_whole(&std::fs::read_to_string(folder.path().join("figures.html")).unwrap(), &names);

    let mut verdicts = BTreeMap::<&str, usize>::new();
    for row in rows {
        let name = row["name"].as_str().unwrap();
        let (verdict, why) = (row["verdict"].as_str().unwrap(), row["why"].as_str().unwrap());
        *verdicts.entry(verdict).or_default() += 1;
        if !ASKED.contains(&name) {
            assert_eq!((verdict, why), ("not_measured", "left out by --only"), "{name}");
            continue;
        }
        // A busy machine can make a figure miss its goal, or hide that time grows; it cannot make an output wrong.
        let by_numbers = by_numbers(row);
        let hidden = matches!(verdict, "not_measured" | "broken") && why.contains("time");
        assert!(verdict == by_numbers || hidden, "{name}: {verdict}, by its numbers {by_numbers}: {why}");
        assert!(!why.contains("wrong") && !why.contains("counted to"), "{name}: {why}");
        assert_eq!(why.is_empty(), matches!(verdict, "reached" | "missed"), "{name}: {verdict}: {why}");
        let measured = &row["measured"];
        if measured.is_null() {
            assert!(["telemetry", "graph-branches", "pool-threads"].contains(&name), "{name} was not measured: {why}");
            continue;
        }
        assert!(!measured["verified"].as_array().unwrap().is_empty(), "{name}: nothing was verified");
        let line = out.lines().find(|line| line.split_whitespace().next() == Some(name));
        assert!(line.is_some_and(|line| line.contains(&verdict.replace('_', " "))), "{name}:\n{out}");
    }
    // What is rated is beside what the machine can do: all that is so many in a second, and these.
    let rated = |row: &&Value| {
        let named = ["kernel-saxpy", "encode", "pool-hit"].iter().any(|name| row["name"] == *name);
        named || row["unit"] == "per_second" && !row["measured"].is_null()
    };
    for row in rows.iter().filter(rated) {
        let rates = row["measured"]["rates"].as_array().unwrap();
        assert!(!rates.is_empty(), "{row:#}");
        for rate in rates {
            assert!(rate["value"].as_f64().unwrap() > 0.0 && rate["roof"].as_f64().unwrap() > 0.0, "{rate}");
        }
    }
    // What no clock decides: these are reached on every machine.
    for name in ["pool-allocations", "recovery"] {
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        let here = name != "recovery" || cfg!(target_os = "linux");
        assert_eq!(row["verdict"], if here { "reached" } else { "not_measured" }, "{row:#}");
    }
    let (code, worst) = match (verdicts.contains_key("broken"), verdicts.contains_key("missed")) {
        (true, _) => (6, "broken"),
        (false, true) => (5, "missed"),
        (false, false) => (0, "reached"),
    };
    assert_eq!((output.status.code(), report["verdict"].as_str()), (Some(code), Some(worst)), "{out}{err}");
}

/// The page has every row and every chart in it, needs nothing from elsewhere, and shows text as text.
fn page_is_whole(page: &str, names: &[String]) {
    for name in names {
        assert!(page.contains(&format!("<div class=\"faint\">{name}</div>")), "{name} is not in the page");
    }
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<caption") && page.contains("scope=\"col\""));
    // The figures against their goals, and two kernels over their sizes.
    assert_eq!(page.matches("<svg").count(), 3);
    for elsewhere in ["<script", "<link", "<img", "src=", "@import", "url("] {
        assert!(!page.contains(elsewhere), "{elsewhere} in the page");
    }
    assert!(page.contains("&lt;= 500 ns") && !page.contains("<= "), "text is escaped");
}

/// The statistics say that later processes compile nothing; so does the compiler, which they only ask for its version.
#[cfg(target_os = "linux")]
#[test]
fn later_processes_run_no_compiler() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (log, script) = (folder.path().join("log"), folder.path().join("clang"));
    std::fs::write(&script, format!("#!/bin/sh\necho \"$@\" >> '{}'\nexec clang-19 \"$@\"\n", log.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dcmetal"));
    command.args(["validate", "--quick", "--only", "disk-cache"]).env("HOSTMETAL_CLANG", &script);
    let output = command.output().expect("dcmetal starts");
    assert!(text(&output.stdout).contains("5 new processes: each one hit"), "{}", text(&output.stdout));
    let log = std::fs::read_to_string(log).unwrap();
    let mut started = log.lines().enumerate().filter(|(_, line)| *line == "--version").map(|(at, _)| at);
    let second = started.nth(1).expect("several processes");
    assert!(log.lines().take(second).any(|line| line.contains("-shared")), "the first compiles: {log}");
    assert!(log.lines().skip(second).all(|line| line == "--version"), "later ones do not: {log}");
}

/// Command line, exit code, and what standard error says.
#[test]
fn what_cannot_be_measured_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (words, code, says) in [
        (&["validate", "--only", "speed"][..], 1, "--only speed: there is no such claim"),
        (&["validate", "--only", "pool-hit", "--json", "none/figures.json"], 1, "none/figures.json: No such file"),
        (&["validate-child"], 3, "expected START"),
        (&["validate-child", "1", "folder", "1", "2"], 3, "expected START"),
    ] {
        let output = dcmetal(folder.path(), words);
        let err = text(&output.stderr);
        assert!(
            output.status.code() == Some(code) && err.contains(says),
            "{words:?}: {:?}: {err}",
            output.status.code()
        );
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
