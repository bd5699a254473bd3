//! Golden pairs: every `cases/**/x.cl` has `x.msl`, the exact output, or `x.err`, the exact diagnostics.
//!
//! The first line may be `// options: -cl-std=CL2.0 -DN=4`. `// run:` lines are executed
//! by the tests of crate dcmetal; here their form is checked, and that every positive case has one:
//! `// run: KERNEL grid=X[,Y[,Z]] [group=X[,Y[,Z]]] ARG=VALUE ... -> ARG=VALUE ...`, without blanks inside a value. A value is
//! a scalar (`a=2`), components or elements (`v=[1,2,3,4]`; a buffer of vectors lists all components, four for a vector of
//! three), a local size in bytes (`s=local:64`), or typed fields of structures one behind the other, padding included
//! (`p={f32:1.5,i32:2,u8:7}`), an image (`i=rgba8unorm:2x1:[0,0,0,255,1,2,3,4]`) or a sampler (`s=clamp|linear|normalized`). Floats may be `nan`, `inf`, `-inf`; an expected list may be shorter than the buffer. Integers
//! must be equal, floats within 4e-6 of their size or 1e-6. `prints="..."` is what is printed. `UPDATE_EXPECT=1` rewrites the expectations.

use std::fs;
use std::path::{Path, PathBuf};

use clmsl::{Options, Translation, translate};

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut out = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder of cases can be read") {
            let path = entry.expect("the folder of cases can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "cl") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

fn options(source: &str) -> Options<'static> {
    let line = source.lines().next().unwrap_or_default();
    let text = line.strip_prefix("// options:").unwrap_or_default();
    Options::parse_build_options(text).expect("the options of a case are valid").options
}

/// Translates under the file's own name, so that outputs do not depend on the folder.
fn run(path: &Path, source: &str) -> Translation {
    let name = path.file_name().expect("a file has a name").to_string_lossy();
    translate(&name, source, &options(source))
}

#[test]
fn every_case_gives_what_is_expected() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut wrong = Vec::new();
    let cases = cases();
    for path in &cases {
        let source = fs::read_to_string(path).expect("a case can be read");
        let translation = run(path, &source);
        let rendered = translation.rendered();
        let (kind, other, actual) = match &translation.msl {
            Some(msl) => {
                ("msl", "err", if rendered.is_empty() { msl.clone() } else { format!("{msl}/*\n{rendered}*/\n") })
            }
            None => ("err", "msl", rendered),
        };
        let expected_path = path.with_extension(kind);
        let stray = path.with_extension(other);
        if update {
            fs::write(&expected_path, &actual).expect("an expectation can be written");
            let _ = fs::remove_file(stray);
            continue;
        }
        let expected = fs::read_to_string(&expected_path).unwrap_or_default();
        if expected != actual || stray.exists() {
            wrong.push(format!("{}:\n{}", path.display(), first_difference(&expected, &actual)));
        }
    }
    assert!(cases.len() >= 80, "only {} cases were found", cases.len());
    assert!(wrong.is_empty(), "{} cases differ (UPDATE_EXPECT=1 rewrites):\n{}", wrong.len(), wrong.join("\n"));
}

fn first_difference(expected: &str, actual: &str) -> String {
    let mut lines = (1..).zip(expected.lines().map(Some).chain(std::iter::repeat(None)).zip(actual.lines()));
    match lines.find(|(_, (e, a))| *e != Some(*a)) {
        Some((n, (e, a))) => format!("  line {n}\n  expected: {}\n  actual:   {a}", e.unwrap_or("(nothing)")),
        None => "  the output ends early, or there is an expectation of the other kind".to_owned(),
    }
}

#[test]
fn output_is_the_same_each_time() {
    for path in cases() {
        let source = fs::read_to_string(&path).expect("a case can be read");
        assert_eq!(run(&path, &source).msl, run(&path, &source).msl, "{}", path.display());
    }
}

#[test]
fn run_lines_name_kernels_and_arguments() {
    for path in cases() {
        let source = fs::read_to_string(&path).expect("a case can be read");
        let translation = run(&path, &source);
        let lines: Vec<&str> = source.lines().filter_map(|l| l.strip_prefix("// run: ")).collect();
        if translation.msl.is_none() {
            assert!(lines.is_empty(), "{}: a case that is rejected cannot run", path.display());
            continue;
        }
        assert!(!lines.is_empty(), "{} has no run line", path.display());
        for line in lines {
            check_run_line(&translation, line).unwrap_or_else(|e| panic!("{}: {e}: {line}", path.display()));
        }
    }
}

/// `KERNEL grid=4[,..] [group=2] ARG=VALUE ... -> ARG=[...]`
fn check_run_line(translation: &Translation, line: &str) -> Result<(), String> {
    let (inputs, outputs) = line.split_once(" -> ").ok_or("no ' -> '")?;
    let mut words = inputs.split_whitespace();
    let kernel = words.next().ok_or("no kernel")?;
    let kernel = translation.reflection.kernel(kernel).ok_or("no such kernel")?;
    let mut given = Vec::new();
    let mut grid = false;
    for word in words {
        let (name, _) = word.split_once('=').ok_or("a word without '='")?;
        match name {
            "grid" => grid = true,
            "group" => {}
            _ => given.push(name),
        }
    }
    let mut names: Vec<&str> = kernel.args.iter().map(|a| a.name.as_str()).collect();
    names.sort_unstable();
    given.sort_unstable();
    if !grid || names != given {
        return Err(format!("arguments {given:?}, the kernel has {names:?}, grid given: {grid}"));
    }
    for word in outputs.split_whitespace() {
        let (name, values) = word.split_once('=').ok_or("an output without '='")?;
        if matches!(name, "prints" | "prints_lines") && values.starts_with('"') && values.ends_with('"') {
            continue;
        }
        let list =
            (values.starts_with('[') && values.ends_with(']')) || (values.starts_with('{') && values.ends_with('}'));
        if !names.contains(&name) || !list {
            return Err(format!("output '{word}'"));
        }
    }
    Ok(())
}

#[test]
fn reflection_serialises() {
    let source = "typedef struct { float4 v; int n; } P;\n\
        __attribute__((reqd_work_group_size(8, 1, 1), intel_reqd_sub_group_size(32)))\n\
        __kernel void k(__global const float3* a, __constant P* p, __local int* s, P q, uchar4 c, __global void* v) {\n\
          __local float t[5]; t[0] = 1; s[0] = get_work_dim(); }";
    let translation = translate("k.cl", source, &Options::default());
    assert_eq!(translation.rendered(), "");
    let json = serde_json::to_value(&translation.reflection).expect("reflection serialises");
    let kernel = &json["kernels"][0];
    assert_eq!(kernel["name"], "k");
    assert_eq!(kernel["local_memory"], 20);
    assert_eq!(kernel["reqd_work_group_size"], serde_json::json!([8, 1, 1]));
    assert_eq!(kernel["reqd_sub_group_size"], 32);
    assert_eq!(kernel["hidden"], serde_json::json!([{"kind": "work_dim", "slot": 5, "size": 4}]));
    let arg = |i: usize| kernel["args"][i].clone();
    assert_eq!(
        arg(0),
        serde_json::json!({"name": "a", "index": 0, "slot": 0, "offset": 0, "kind": "buffer",
            "type_name": "__global const float3*", "size": 16, "align": 16, "address_space": "global", "access": "readonly",
            "element": {"scalar": "float", "lanes": 3}, "image": null})
    );
    assert_eq!(arg(1)["kind"], "constant");
    assert_eq!(arg(1)["size"], 32);
    assert_eq!(arg(1)["element"], serde_json::Value::Null);
    assert_eq!((arg(2)["kind"].clone(), arg(2)["slot"].clone()), ("local".into(), 0.into()));
    assert_eq!(
        (arg(3)["kind"].clone(), arg(3)["slot"].clone(), arg(3)["index"].clone()),
        ("value".into(), 2.into(), 3.into())
    );
    assert_eq!((arg(4)["size"].clone(), arg(4)["slot"].clone()), (4.into(), 3.into()));
    assert_eq!((arg(5)["size"].clone(), arg(5)["access"].clone()), (0.into(), "readonly".into()));
    assert_eq!(arg(5)["type_name"], "__global void*");
}

#[test]
fn images_and_samplers_are_reflected() {
    let source = "int tint(image2d_t i) { return get_image_channel_order(i); }\n\
        __kernel void k(sampler_t s, write_only image3d_t out, read_only image1d_buffer_t in, int n, image2d_depth_t d,\n\
          image2d_t shape) {\n\
          write_imageui(out, (int4)(n), read_imageui(in, n)); write_imageui(out, (int4)(tint(shape)), 0); }";
    let translation = translate("k.cl", source, &Options::default());
    assert_eq!(translation.rendered(), "");
    let json = serde_json::to_value(&translation.reflection).expect("reflection serialises");
    let kernel = &json["kernels"][0];
    let arg = |i: usize| kernel["args"][i].clone();
    assert_eq!(
        arg(0),
        serde_json::json!({"name": "s", "index": 0, "slot": 0, "offset": 0, "kind": "sampler", "type_name": "sampler_t",
            "size": 4, "align": 4, "address_space": "private", "access": "readonly",
            "element": {"scalar": "uint", "lanes": 1}, "image": null})
    );
    assert_eq!(
        arg(1),
        serde_json::json!({"name": "out", "index": 1, "slot": 0, "offset": 0, "kind": "image",
            "type_name": "write_only image3d_t", "size": 0, "align": 1, "address_space": "global", "access": "writeonly", "element": null,
            "image": {"dimension": "image3d", "textures": [{"component": "uint", "slot": 0}], "depth": false}})
    );
    assert_eq!((arg(2)["slot"].clone(), arg(2)["image"]["dimension"].clone()), (1.into(), "image1d_buffer".into()));
    assert_eq!((arg(3)["slot"].clone(), arg(3)["kind"].clone()), (1.into(), "value".into()));
    // Nothing is done with it, and of the next one only the host knows what is asked.
    let depth = serde_json::json!({"dimension": "image2d", "textures": [], "depth": true});
    assert_eq!((arg(4)["slot"].clone(), arg(4)["image"].clone()), (2.into(), depth));
    assert_eq!((arg(5)["slot"].clone(), arg(5)["image"]["textures"].clone()), (3.into(), serde_json::json!([])));
    assert_eq!(kernel["hidden"], serde_json::json!([{"kind": "image_formats", "slot": 2, "size": 32}]));
}
