//! Everything that MSL 3.2 gives a compute kernel is there: each line of stdlib/coverage.txt, a list made from the specification's tables,
//! compiles with every one of its types and has the type that the specification says. Values are tested
//! in main.rs, which reads the same list.
//!
//! Lines that begin with `!` are what is missing. They must not compile, and be refused by a message that names what is not there: who adds
//! one takes the mark away.

use crate::stdlib::catalog::{Line, fill, lines, spaces};
use hostmetal::msl::{CompileOptions, check};
use std::collections::BTreeSet;

/// One function per line of source, in which the use stands.
fn uses(line: &Line, number: &mut usize) -> Vec<String> {
    let mut all = Vec::new();
    for t in &line.types {
        for space in spaces(line.body) {
            *number += 1;
            let fill = |text: &str| fill(text, t, space);
            let (parameters, body, result) = (fill(line.parameters), fill(line.body), fill(line.result));
            let values = if t.is_empty() {
                String::new()
            } else {
                format!("{t} a = {t}(1), b = {t}(1), c = a, d = b; keep(a, b, c, d); ")
            };
            let (statements, expression) = body.rsplit_once("; ").unwrap_or(("", &body));
            let last = if result == "void" {
                format!("{expression};")
            } else {
                format!(
                    "keep({expression}); static_assert(is_same_v<decltype(value({expression})), {result}>, \"result\");"
                )
            };
            all.push(format!("void use_{number}({parameters}) {{ {values}{statements}; {last} }}"));
        }
    }
    all
}

const PRELUDE: &str = "#include <metal_stdlib>\nusing namespace metal;\nstruct Pixel { half4 a; int b; };\ntemplate <class... T> void keep(T...) {}\ntemplate <class T> T value(T);\n";

/// What the compiler says of a source, and the numbers of the lines it says it of.
fn complaints(source: &str) -> (String, BTreeSet<usize>) {
    let log = check(source, &CompileOptions::default()).err().map(|failure| failure.log).unwrap_or_default();
    let number = |line: &str| line.strip_prefix("program_source:")?.split(':').next()?.parse::<usize>().ok();
    let numbers = log.lines().filter(|l| l.contains("error:")).filter_map(number).collect();
    (log, numbers)
}

#[test]
fn everything_that_is_not_missing_compiles() {
    let (mut number, mut all) = (0, Vec::new());
    for line in lines().iter().filter(|l| !l.missing) {
        all.extend(uses(line, &mut number));
    }
    assert!(all.len() > 3000, "{} uses: the list is cut", all.len());
    let logs: String = all
        .chunks(700)
        .map(|part| complaints(&format!("{PRELUDE}{}\nkernel void run() {{}}\n", part.join("\n"))).0)
        .collect();
    assert!(logs.is_empty(), "{logs}");
}

#[test]
fn what_is_missing_does_not_compile() {
    let lines = lines();
    let missing: Vec<&Line> = lines.iter().filter(|l| l.missing).collect();
    assert!(missing.len() >= 20, "{} lines: what hostmetal does not have is not listed", missing.len());
    for line in missing {
        let source = format!("{PRELUDE}void use({}) {{ {}; }}\nkernel void run() {{}}\n", line.parameters, line.body);
        let (log, wrong) = complaints(&source);
        let at = PRELUDE.lines().count() + 1;
        assert!(wrong.contains(&at), "this compiles, so it is not missing: {}\n{log}", line.body);
        let named = |said: &str| said.contains("error:") && said.contains(line.result);
        assert!(log.lines().any(named), "nothing says '{}' of {}\n{log}", line.result, line.body);
    }
}
