//! The C interface and its header name the same functions.

use std::collections::BTreeSet;

const HEADER: &str = include_str!("../../../native/hostmetal/engine.h");
const SOURCES: &[&str] = &[
    include_str!("../src/ffi/mod.rs"),
    include_str!("../src/ffi/archive.rs"),
    include_str!("../src/ffi/arguments.rs"),
    include_str!("../src/ffi/commands.rs"),
    include_str!("../src/ffi/compile.rs"),
    include_str!("../src/ffi/faults.rs"),
    include_str!("../src/ffi/functions.rs"),
    include_str!("../src/ffi/graph.rs"),
    include_str!("../src/ffi/heap.rs"),
    include_str!("../src/ffi/io.rs"),
    include_str!("../src/ffi/log.rs"),
    include_str!("../src/ffi/performance.rs"),
    include_str!("../src/ffi/stitch.rs"),
    include_str!("../src/ffi/submit.rs"),
    include_str!("../src/ffi/sync.rs"),
    include_str!("../src/ffi/texture.rs"),
];

/// The names that begin with `hm_` and are followed by `after`, behind `before`.
fn names<'a>(text: &'a str, before: &str) -> BTreeSet<&'a str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines
        .flat_map(|line| line.match_indices("hm_").map(move |(at, _)| (line, at)))
        .filter(|(line, at)| line[..*at].ends_with(before))
        .filter_map(|(line, at)| line[at..].split_once('(').map(|(name, _)| name))
        .filter(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
        .collect()
}

#[test]
fn every_function_of_the_header_exists_and_no_other() {
    let declared = names(HEADER, "");
    let exported: BTreeSet<&str> = SOURCES.iter().flat_map(|source| names(source, "extern \"C\" fn ")).collect();
    assert!(declared.len() > 50, "the header was not read: {declared:?}");
    assert_eq!(declared, exported);
}
