//! `docs/TRANSLATION.md` says no more than the cases show.
//!
//! Every row has modules and cases that exist; the constructs in backticks in its first column occur in the cases: in the
//! source of one that translates if the status is *kept*, in the diagnostics of one that does not if it is *refused*.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// One row of the tables.
struct Row {
    line: usize,
    constructs: Vec<String>,
    modules: Vec<String>,
    status: String,
    cases: Vec<String>,
}

/// What stands in backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn rows() -> Vec<Row> {
    let path = root().join("../../docs/TRANSLATION.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut out = Vec::new();
    // The table of macros has a test of its own.
    let (text, _) = text.split_once("\n## Extensions and features\n").expect("the section behind the tables");
    for (number, line) in text.lines().enumerate().filter(|(_, l)| l.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [constructs, _, modules, status, cases] = cells.as_slice() else {
            panic!("line {}: a row has five cells, this one {}", number + 1, cells.len());
        };
        if matches!(*status, "status" | "---") {
            continue;
        }
        out.push(Row {
            line: number + 1,
            constructs: quoted(constructs),
            modules: quoted(modules),
            status: (*status).to_owned(),
            cases: quoted(cases),
        });
    }
    assert!(out.len() > 50, "only {} rows were found", out.len());
    out
}

fn case(name: &str, extension: &str) -> PathBuf {
    root().join("tests/cases").join(format!("{name}.{extension}"))
}

/// Whether the text has the construct as a whole word.
fn has(text: &str, construct: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let (first, last) = (construct.chars().next(), construct.chars().next_back());
    text.match_indices(construct).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + construct.len()..].chars().next());
        let (joined_before, joined_after) = (part(first) && part(before), part(last) && part(after));
        !joined_before && !joined_after
    })
}

#[test]
fn every_row_is_shown_by_its_cases() {
    let mut wrong = Vec::new();
    for row in rows() {
        let extension = match row.status.as_str() {
            "kept" => "msl",
            "refused" => "err",
            other => panic!("line {}: the status '{other}' is neither kept nor refused", row.line),
        };
        let mut shown = String::new();
        for name in &row.cases {
            match fs::read_to_string(case(name, extension)) {
                // The source shows what is kept, the diagnostics' first lines what is refused: not the quoted source.
                Ok(diagnostics) if extension == "err" => {
                    shown.extend(diagnostics.lines().filter(|l| l.contains(": error: ")).flat_map(|l| [l, "\n"]));
                }
                Ok(_) => {
                    let source = fs::read_to_string(case(name, "cl")).expect("a case has a source");
                    let code = source.lines().filter(|l| l.starts_with("// options:") || !l.starts_with("//"));
                    shown.extend(code.flat_map(|l| [l, "\n"]));
                }
                Err(_) => wrong.push(format!("line {}: there is no case {name}.{extension}", row.line)),
            }
        }
        if row.cases.is_empty() || row.modules.is_empty() {
            wrong.push(format!("line {}: no case or no module", row.line));
        }
        if row.status == "refused" && row.constructs.is_empty() {
            wrong.push(format!("line {}: names no construct", row.line));
        }
        for construct in row.constructs.iter().filter(|c| !has(&shown, c)) {
            wrong.push(format!("line {}: no case of the row shows '{construct}'", row.line));
        }
        for module in &row.modules {
            let path = root().join("src").join(module);
            if !path.is_dir() && !path.with_extension("rs").is_file() {
                wrong.push(format!("line {}: there is no module {module}", row.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Cases of single constructs, as opposed to whole kernels, belong to a row.
#[test]
fn every_case_that_translates_is_in_the_table() {
    let named: BTreeSet<String> = rows().into_iter().flat_map(|r| r.cases).collect();
    let cases = root().join("tests/cases");
    let mut missing = Vec::new();
    for folder in fs::read_dir(&cases).expect("the folder of cases can be read") {
        let folder = folder.expect("the folder of cases can be read").path();
        let Some(group) = folder.file_name().and_then(|n| n.to_str()).filter(|n| !matches!(*n, "kernels" | "errors"))
        else {
            continue;
        };
        for file in fs::read_dir(&folder).expect("a folder of cases can be read") {
            let file = file.expect("a folder of cases can be read").path();
            let stem = file.file_stem().and_then(|n| n.to_str()).expect("names of cases are text");
            let name = format!("{group}/{stem}");
            if file.extension().is_some_and(|e| e == "msl") && !named.contains(&name) {
                missing.push(name);
            }
        }
    }
    assert!(missing.is_empty(), "not in docs/TRANSLATION.md: {}", missing.join(", "));
}
