//! Every function that Clang's header declares for OpenCL C, with the extensions that docs/TRANSLATION.md says are there, is
//! translated for every type that it is declared for.
//!
//! A declaration becomes a kernel that calls the function with its own parameters and stores what it returns. Whether the
//! result is right is the business of the executed cases and of the conformance tests.

use std::path::Path;
use std::process::{Command, Stdio};

/// Words that may stand before or behind the name of a type.
const QUALIFIERS: &[&str] = &[
    "const",
    "volatile",
    "unsigned",
    "__global",
    "__local",
    "__private",
    "__constant",
    "read_only",
    "write_only",
    "read_write",
    "__read_only",
    "__write_only",
    "__read_write",
];

/// The macros that the page says are defined, without `--fp64`.
fn announced() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TRANSLATION.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let (_, section) = page.split_once("\n## Extensions and features\n").expect("the section");
    let rows = section.lines().filter(|row| row.contains("| always |") || row.contains("| with OpenCL C 3.0 |"));
    rows.map(|row| row.split('`').nth(1).expect("a macro").to_owned()).collect()
}

/// The header as the preprocessor leaves it; nothing if there is no clang.
fn header(std: &str, macros: &[String]) -> Option<String> {
    let folder = Command::new("clang-19").arg("-print-resource-dir").output().ok()?;
    let folder = String::from_utf8(folder.stdout).expect("a path");
    let header = |name: &str| format!("{}/include/{name}", folder.trim());
    let mut command = Command::new("clang-19");
    command.args(["-x", "cl", "-target", "x86_64", "-E", "-P", "-Xclang", "-cl-ext=-all"]);
    command.arg(format!("-cl-std={std}")).args(["-include", &header("opencl-c-base.h")]);
    command.args(macros.iter().map(|name| format!("-D{name}"))).arg(header("opencl-c.h"));
    let output = command.stdin(Stdio::null()).output().expect("clang runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("text"))
}

/// The text without `__attribute__((...))`.
fn without_attributes(text: &str) -> String {
    let mut parts = text.split("__attribute__((");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find("))").expect("the end of an attribute");
        out.push_str(&part[end + 2..]);
    }
    out
}

/// A parameter's type without its name.
fn type_of(parameter: &str) -> String {
    let spaced = parameter.replace('*', " * ");
    let (mut words, mut named) = (Vec::new(), false);
    for word in spaced.split_whitespace() {
        let around = word == "*" || QUALIFIERS.contains(&word);
        if !around && named {
            break;
        }
        named |= !around;
        words.push(word);
    }
    words.join(" ")
}

/// The kernel that calls what is declared; nothing for a variadic function.
fn kernel(declaration: &str, number: usize) -> Option<String> {
    let text = without_attributes(declaration);
    let (before, parameters) = text.split_once('(')?;
    let parameters = parameters.rsplit_once(')')?.0;
    if parameters.contains("...") {
        return None;
    }
    let before = before.trim();
    let (ret, name) = before.rsplit_once(|c: char| c.is_whitespace() || c == '*').expect("a result and a name");
    let ret = ret.trim();
    let types: Vec<String> = parameters.split(',').map(type_of).filter(|ty| !ty.is_empty() && ty != "void").collect();
    let (mut takes, mut variables, mut passes) = (Vec::new(), String::new(), Vec::new());
    for (i, ty) in types.iter().enumerate() {
        let is_pointer = ty.contains('*');
        let in_memory = ["__global", "__local", "__constant"].iter().any(|space| ty.contains(space));
        passes.push(match ty.as_str() {
            "cl_mem_fence_flags" => "CLK_LOCAL_MEM_FENCE".to_owned(),
            "memory_order" => "memory_order_relaxed".to_owned(),
            "memory_scope" => "memory_scope_device".to_owned(),
            "uint" if name.contains("clustered") && i + 1 == types.len() => "8u".to_owned(),
            _ => format!("a{i}"),
        });
        if is_pointer && !in_memory {
            let words = ty.replace('*', "");
            let words = words.split_whitespace().filter(|w| !matches!(*w, "const" | "volatile" | "__private"));
            let element = words.collect::<Vec<_>>().join(" ");
            match element.starts_with("atomic_") || element == "void" {
                true => takes.push(format!("__global {ty} a{i}")),
                false => variables += &format!("{element} a{i}[4] = {{0}}; "),
            }
        } else if ty == "event_t" {
            variables += &format!("event_t a{i} = 0; ");
        } else {
            let ty = if matches!(ty.as_str(), "bool" | "size_t" | "ptrdiff_t") { "ulong" } else { ty };
            takes.push(format!("{ty} a{i}"));
        }
    }
    let call = format!("{name}({})", passes.join(", "));
    let body = match ret {
        "void" | "event_t" => call,
        _ if before.contains('*') => call,
        "bool" | "size_t" => format!("*out = (int){call}"),
        _ => format!("*out = {call}"),
    };
    let ret = if matches!(ret, "void" | "event_t" | "bool" | "size_t") || before.contains('*') { "int" } else { ret };
    takes.push(format!("__global {ret}* out"));
    Some(format!("__kernel void k{number}({}) {{ {variables}{body}; }} // {}\n", takes.join(", "), text.trim()))
}

#[test]
fn every_declared_function_is_translated() {
    for std in ["CL1.2", "CL3.0"] {
        let Some(header) = header(std, &announced()) else { return };
        let lines: Vec<&str> = header.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
        let flat = lines.join(" ");
        let declared = flat.split(';').filter(|text| text.contains("__attribute__((overloadable))"));
        let kernels: Vec<String> = declared.enumerate().filter_map(|(n, text)| kernel(text, n)).collect();
        assert!(kernels.len() > 9000, "only {} functions are declared for {std}", kernels.len());
        let build = clmsl::Options::parse_build_options(&format!("-cl-std={std}")).expect("an option");
        // Fewer than the errors after which a translation ends.
        for some in kernels.chunks(50) {
            let translation = clmsl::translate("header.cl", &some.concat(), &build.options);
            assert!(translation.msl.is_some(), "{std}:\n{}", translation.rendered());
        }
    }
}
