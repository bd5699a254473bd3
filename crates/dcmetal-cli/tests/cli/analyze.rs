//! `dcmetal analyze`: what it prints, its JSON, its page, and what it measures.

#[cfg(target_os = "linux")]
use serde_json::Value;

use super::{dcmetal, files, text};

fn out(line: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = dcmetal(folder.path(), line);
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    assert!(files(folder.path()).is_empty(), "{line}");
    text(&output.stdout)
}

#[cfg(target_os = "linux")]
fn json(line: &str) -> Value {
    let printed = out(line);
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{line}: {error}: {printed}"))
}

/// A float for each thread, 256 bytes from its neighbour's: 32 lines of 128 bytes for 32 floats, 1/32 of them used.
#[test]
fn advice_names_line_cost_and_what_limits() {
    let printed = out("analyze @columns.metal --family apple8,apple9 --device m2");
    for expected in [
        "kernel columns, threadgroups of 256x1x1\n",
        "  8:",
        "  writes y  contiguous ",
        "256 bytes apart",
        "32 lines, 3.1 % used",
        "a core of Apple9: no source: ",
        "memory limits it on Apple M2, 10 GPU cores (ridge at 35.0 flops per byte)",
        "1. lines, line 8:",
        "Neighbours in y are side by side",
        "not measured: --measure runs it",
    ] {
        assert!(printed.contains(expected), "no {expected:?} in\n{printed}");
    }
    // The same of OpenCL C, and no advice where there is nothing to say.
    let printed = out("analyze @scale.cl --kernel scale");
    assert!(printed.contains("  5:20 ") && printed.contains("  no advice\n"), "{printed}");
}

/// Four rows of 8 threads: of `y` each a quarter of a line, of `x` each the next column of the same 8 lines.
#[test]
fn rows_of_a_simdgroup_are_told() {
    let printed = out("analyze @columns.metal --local 8,8");
    for expected in [
        "contiguous, in y 256 bytes apart  4 to 8 lines, 25 % used\n",
        "256 bytes apart, in y contiguous  8 to 16 lines, 12 % used\n",
        "a SIMD-group touches 4 lines of 128 bytes and uses 25 % of them. Neighbours in x are side by side",
    ] {
        assert!(printed.contains(expected), "no {expected:?} in\n{printed}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn json_has_all_that_is_told() {
    for file in ["scale.cl", "scale.metal"] {
        let document = json(&format!("analyze @{file} --json"));
        assert_eq!(document["roofline"]["flops_per_second"], 2617e9);
        assert!(document["roofline"]["source"].as_str().unwrap().contains("metal-benchmarks"));
        let kernel = &document["kernels"][0];
        assert_eq!(kernel["name"], "scale");
        assert_eq!(kernel["threadgroup"], serde_json::json!([256, 1, 1]));
        assert!((1..=8).contains(&kernel["registers"]["thread"].as_u64().unwrap()), "{}", kernel["registers"]);
        let families: Vec<&str> =
            kernel["occupancy"].as_array().unwrap().iter().map(|of| of["family"].as_str().unwrap()).collect();
        assert_eq!(families, ["Apple7", "Apple8", "Apple9"]);
        assert_eq!(
            (&kernel["occupancy"][0]["threads"], &kernel["occupancy"][2]["threads"]),
            (&3072.into(), &Value::Null)
        );
        // A multiplication for a float read and one written.
        assert_eq!(kernel["intensity"]["flops_per_byte"], 0.125);
        assert_eq!(kernel["stand"]["bound"], "memory");
        assert_eq!(kernel["stand"]["flops_per_second"][0].as_f64().unwrap(), 0.125 * 2.0 * 2133e6 * 16.0);
        assert_eq!((&kernel["advice"], &kernel["measured"]), (&serde_json::json!([]), &Value::Null));
        let device: Vec<&Value> = kernel["accesses"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|access| access["address_space"] == "global")
            .collect();
        assert_eq!(device.len(), 2, "{device:?}");
        for access in device {
            assert_eq!((&access["pattern"], &access["used_part"]), (&"contiguous".into(), &1.0.into()), "{access}");
            assert_eq!(access["lines"], serde_json::json!([1, 2]));
            assert!(access["at"]["line"].as_u64() >= Some(5) && access["at"]["column"].as_u64() > Some(0), "{access}");
        }
    }
}

/// 64 x 64 threads: 128 SIMD-groups, each of which reads 32 lines and writes one.
#[cfg(target_os = "linux")]
#[test]
fn what_is_measured_is_counted_and_compared() {
    let words = "--measure --global 64,64 --local 32,4 --arg random=f32:4096:1 --arg zeros=f32:4096";
    let document = json(&format!("analyze @columns.metal {words} --json"));
    let kernel = &document["kernels"][0];
    for access in kernel["accesses"].as_array().unwrap() {
        let lines = if access["argument"] == "x" { 4096 } else { 128 };
        let counted = &access["counted"];
        assert_eq!((&counted["simdgroups"], &counted["lines"]), (&128.into(), &lines.into()), "{access}");
        assert_eq!(counted["bytes"], 4 * 4096);
    }
    let found: Vec<&str> =
        kernel["advice"][0]["measured"].as_array().unwrap().iter().map(|found| found.as_str().unwrap()).collect();
    assert!(found[0].contains("touched 4096 lines, 524288 bytes, for 16384 bytes (3 %)"), "{found:?}");
    assert!(
        found.iter().any(|found| found.starts_with("timed: ") && found.contains("all compute the same")),
        "{found:?}"
    );
    let shapes = kernel["measured"]["threadgroups"].as_array().unwrap();
    assert!(shapes.len() >= 3 && shapes.iter().all(|shape| shape["equal"] == true), "{shapes:?}");
    assert_eq!(shapes.iter().filter(|shape| shape["advised"] == true).count(), 1);
}

#[test]
fn the_page_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let output = dcmetal(folder.path(), "analyze @columns.metal --html columns.html");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(files(folder.path()), ["columns.html"]);
    let page = std::fs::read_to_string(folder.path().join("columns.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.len() < 100_000, "{}", page.len());
    for expected in ["<svg", "href=\"#L8\"", "id=\"L8\" class=\"warning\"", "Dynamic Caching", "32 lines, 3.1 % used"] {
        assert!(page.contains(expected), "no {expected}");
    }
    for outside in ["<script", "<link", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// Kernel, its arguments, the rule, the change that is tried, and what it computes; or why there is none.
#[cfg(target_os = "linux")]
type Case = (&'static str, &'static str, &'static str, Result<(&'static str, &'static str), &'static str>);

#[cfg(target_os = "linux")]
const TRIALS: &[Case] = &[
    (
        "advice.metal --kernel banks",
        "--global 64,32 --local 32,32 --arg random=f32:2048:1 --arg zeros=f32:2048",
        "banks",
        Ok(("with `tile[32][33]`", "equal")),
    ),
    (
        "advice.cl --kernel banks",
        "--global 64,32 --arg random=f32:2048:1 --arg zeros=f32:2048",
        "banks",
        Ok(("with `tile[32][33]`", "equal")),
    ),
    (
        "advice.metal --kernel shared_values",
        "--global 3000 --arg random=f32:4:1 --arg zeros=f32:3000 --arg u32=7",
        "uniform",
        Ok(("with `table` in constant memory", "equal")),
    ),
    (
        "advice.metal --kernel shared_values",
        "--global 3000 --arg random=f32:4:1 --arg zeros=f32:3000 --arg u32=7",
        "division",
        Ok(("with `n` = 7 known to the compiler", "equal")),
    ),
    (
        "advice.cl --kernel shared_values",
        "--global 3000 --arg random=f32:4:1 --arg zeros=f32:3000 --arg u32=7",
        "uniform",
        Ok(("with `table` in constant memory", "equal")),
    ),
    (
        "advice.cl --kernel shared_values",
        "--global 3000 --arg random=f32:4:1 --arg zeros=f32:3000 --arg u32=7",
        "division",
        Ok(("with `n` = 7 known to the compiler", "equal")),
    ),
    (
        "advice.metal --kernel barrier",
        "--global 640 --local 32 --arg zeros=f32:640",
        "barrier",
        Ok(("with `simdgroup_barrier`", "equal")),
    ),
    (
        "advice.cl --kernel one_group",
        "--global 640 --arg zeros=f32:640",
        "barrier",
        Ok(("with `sub_group_barrier`", "equal")),
    ),
    (
        "doubles.cl --fp64 emulate",
        "--global 500 --arg random=f64:500:1 --arg zeros=f64:500 --arg f64=0.7",
        "double",
        Ok(("with float for double", "differ")),
    ),
    (
        "advice.metal --kernel not_const",
        "--global 256 --arg random=u32:256:1 --arg zeros=u32:256",
        "uniform",
        Ok(("with `table` in constant memory", "equal")),
    ),
    (
        "advice.cl --kernel twice",
        "--global 640 --arg zeros=u32:640 --arg u32=7",
        "division",
        Err("with `n` = 7 known to the compiler what the advice is about is as it was"),
    ),
    (
        "advice.metal --kernel passes_on",
        "--global 640 --arg random=f32:4:1 --arg zeros=f32:640",
        "uniform",
        Err("with `table` in constant memory it does not compile: no matching function for call to 'first'"),
    ),
];

#[cfg(target_os = "linux")]
#[test]
fn advice_is_tried_where_a_change_of_the_text_follows_it() {
    for (kernel, words, rule, expected) in TRIALS {
        let document = json(&format!("analyze @{kernel} --measure {words} --json"));
        let kernel = &document["kernels"][0];
        let trials = kernel["measured"]["trials"].as_array().unwrap();
        let trial = trials.iter().find(|trial| trial["rule"] == *rule);
        let trial = trial.unwrap_or_else(|| panic!("{rule} is not tried in {kernel:#}"));
        let advice = kernel["advice"].as_array().unwrap().iter().find(|advice| advice["rule"] == *rule).unwrap();
        match expected {
            Ok((change, outputs)) => {
                assert_eq!((&trial["change"], &trial["outputs"]), (&(*change).into(), &(*outputs).into()), "{trial}");
                assert!(trial["runs"].as_u64() >= Some(3) && trial["seconds"].as_f64() > Some(0.0), "{trial}");
                let found = advice["measured"].to_string();
                assert!(found.contains(&format!("tried: {change} it takes ")), "{found}");
                if *rule == "banks" {
                    // Of the columns, before and after.
                    let counted = |what: &str, words: u32| {
                        format!("{what}: 64 SIMD-groups asked for {words} to {words} words of one bank")
                    };
                    assert!(
                        found.contains(&counted("counted", 32)) && found.contains(&counted("counted then", 1)),
                        "{found}"
                    );
                }
            }
            Err(why) => {
                assert!(trial["not_tried"].as_str().is_some_and(|told| told.starts_with(why)), "{trial}");
                assert_eq!(advice["not_measured"], trial["not_tried"]);
            }
        }
    }
}
