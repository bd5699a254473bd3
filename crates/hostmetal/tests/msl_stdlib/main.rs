//! Every function of our metal_stdlib has executed cases with expected values from a reference of its own: each use in stdlib/coverage.txt, the list of
//! what MSL 3.2 gives a compute kernel, has a row here, in one of the tables of the modules, which are what the tests run.

#[path = "../stdlib/mod.rs"]
mod stdlib;
#[path = "../support/mod.rs"]
mod support;

mod atomic;
mod constants;
mod coverage;
mod curves;
mod edges;
mod effects;
mod float;
mod groups;
mod headers;
mod imageblocks;
mod integer;
mod matrix;
mod mixed;
mod number;
mod pack;
mod pixel;
mod sampler;
mod swizzle;
mod texture;
mod texture_kinds;
mod textures;
mod tiles;
mod types;
mod uses;
mod vectors;

use std::collections::{BTreeMap, BTreeSet};

use number::{FLOAT, FLOATS, INTEGERS};
use stdlib::catalog::{Line, features, fill, lines, spaces, texture_functions, types_of};

/// A function, operator or the like, and the type it is used with; no type where its name says all.
type Feature = (String, String);

/// What the tables have.
fn covered() -> BTreeSet<Feature> {
    let mut all = BTreeSet::new();
    for t in INTEGERS {
        integer::uses(t).iter().for_each(|u| all.extend(u.0.covers()));
    }
    for t in FLOATS {
        let spaces = if t == FLOAT { &["", "fast::", "precise::"][..] } else { &[""] };
        float::uses(t, spaces).iter().for_each(|u| all.extend(u.0.covers()));
        vectors::uses(t).iter().for_each(|u| all.extend(u.0.covers()));
        curves::uses(t).iter().for_each(|u| all.extend(u.0.covers()));
    }
    vectors::boolean_uses().iter().for_each(|u| all.extend(u.0.covers()));
    for operand in types_of(groups::TYPES) {
        groups::uses(&operand).iter().for_each(|u| all.extend(u.0.covers()));
    }
    all.extend(matrix::covered());
    all.extend(pack::covered());
    all.extend(atomic::covered());
    all.extend(types::covered());
    all.extend(constants::covered());
    all.extend(tiles::covered());
    all.extend(textures::covered());
    all.extend(imageblocks::covered());
    all
}

/// What has an effect and no value, and the test of that effect in effects.rs.
const EFFECTS: &[(&str, &str)] = &[
    ("threadgroup_barrier", "threads_see_each_other_behind_a_barrier"),
    ("simdgroup_barrier", "lanes_see_each_other_behind_a_barrier"),
    ("atomic_thread_fence", "fences_keep_the_order_of_a_store_and_a_load"),
    (".log", "messages_leave_the_results_alone"),
    (".log_debug", "messages_leave_the_results_alone"),
    (".log_info", "messages_leave_the_results_alone"),
    (".log_error", "messages_leave_the_results_alone"),
    (".log_fault", "messages_leave_the_results_alone"),
    (".log_with_type", "messages_leave_the_results_alone"),
];

/// What a kernel does with an indirect command buffer, which has to be executed by the host, and the file of native/hostmetal/tests whose
/// kernels do it.
const COMMANDS: &[(&str, &[&str])] = &[
    (
        include_str!("../../../../native/hostmetal/tests/commands.mm"),
        &[
            "compute_command",
            ".reset",
            ".copy_command",
            ".set_compute_pipeline_state",
            ".set_kernel_buffer",
            ".set_threadgroup_memory_length",
            ".set_barrier",
            ".clear_barrier",
            ".concurrent_dispatch_threadgroups",
            ".concurrent_dispatch_threads",
            "is_null_compute_pipeline_state",
        ],
    ),
    (include_str!("../../../../native/hostmetal/tests/imageblocks.mm"), &[".set_imageblock_size"]),
    (include_str!("../../../../native/hostmetal/tests/stage.mm"), &[".set_stage_in_region"]),
];

/// Constants: words of capitals.
fn constants_in(body: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_constant = |w: &&str| {
        w.len() > 2 && w.starts_with(|c: char| c.is_ascii_uppercase()) && !w.contains(|c: char| c.is_ascii_lowercase())
    };
    body.split(|c| !word(c)).filter(is_constant).map(str::to_owned).collect()
}

/// What a line of the list is a use of, with one type.
fn features_of(line: &Line, t: &str, body: &str) -> Vec<Feature> {
    if line.section.starts_with("6.12") {
        return texture_functions(&fill(line.parameters, t, ""), body).into_iter().collect();
    }
    let library = line.section.starts_with('6');
    // Of the language, what has no type is the compiler's matter; of the library, what joins several functions in a line is.
    let counts = |name: &str| if library { !name.starts_with("operator") } else { !t.is_empty() };
    let memory = if line.parameters.contains("threadgroup") { "threadgroup" } else { "device" };
    let operand = if line.section == "6.15.4" { format!("{memory} {t}") } else { t.to_owned() };
    let constants = if t.is_empty() { constants_in(body) } else { BTreeSet::new() };
    let typed = features(body).into_iter().filter(|name| counts(name)).map(|name| (name, operand.clone()));
    typed.chain(constants.into_iter().map(|name| (name, String::new()))).collect()
}

/// What the list has, each with the line it is from.
fn required() -> BTreeMap<Feature, String> {
    let mut all = BTreeMap::new();
    for line in lines().iter().filter(|l| !l.missing && !l.body.starts_with("static_assert")) {
        for (t, space) in line.types.iter().flat_map(|t| spaces(line.body).iter().map(move |space| (t, space))) {
            let body = fill(line.body, t, space);
            all.extend(features_of(line, t, &body).into_iter().map(|feature| (feature, body.clone())));
        }
    }
    all
}

/// Whether the tables have a feature with its type.
fn has(covered: &BTreeSet<Feature>, (name, operand): &Feature) -> bool {
    if operand.is_empty() {
        covered.iter().any(|c| c.0 == *name)
    } else {
        covered.contains(&(name.clone(), operand.clone()))
    }
}

#[test]
fn everything_has_a_value_case() {
    let covered = covered();
    let effects = include_str!("effects.rs");
    for (name, test) in EFFECTS {
        let body = effects.split(&format!("fn {test}()")).nth(1).unwrap_or_else(|| panic!("no test {test}"));
        assert!(body.split("#[test]").next().is_some_and(|b| b.contains(name)), "{test} is none of {name}");
    }
    for (text, names) in COMMANDS {
        let unused: Vec<_> = names.iter().filter(|name| !text.contains(&format!("{name}("))).collect();
        assert!(unused.is_empty(), "no kernel of the classes' tests has {unused:?}");
    }
    let by_host = |name: &str| COMMANDS.iter().any(|(_, names)| names.contains(&name));
    let without: Vec<String> = required()
        .iter()
        .filter(|(feature, _)| !has(&covered, feature) && !EFFECTS.iter().any(|e| e.0 == feature.0))
        .filter(|(feature, _)| !by_host(&feature.0))
        .map(|((name, operand), line)| format!("{name} of {operand:?}: {line}"))
        .collect();
    assert!(without.is_empty(), "{} without a value:\n{}", without.len(), without.join("\n"));
}
