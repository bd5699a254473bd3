//! docs/COOKBOOK.md shows what there is: its code is the programs', its output is what they print, and they notice a kernel that is wrong.
//!
//! In the document, `<!-- FILE: BEGINNING -->` in front of a block of code says that it is the item of `crates/cookbook/src/bin/FILE`
//! that begins so, up to the first line that ends it; `<!-- FILE -->` is all of the file. A `console` block is commands, run in
//! this order in the root of the repository with another folder in place of `/tmp`, each with what it prints. `UPDATE_EXPECT=1`
//! writes both anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAMS: &[(&str, &str)] = &[
    ("advice", env!("CARGO_BIN_EXE_advice")),
    ("arrays", env!("CARGO_BIN_EXE_arrays")),
    ("attention", env!("CARGO_BIN_EXE_attention")),
    ("devices", env!("CARGO_BIN_EXE_devices")),
    ("filter", env!("CARGO_BIN_EXE_filter")),
    ("images", env!("CARGO_BIN_EXE_images")),
    ("integral", env!("CARGO_BIN_EXE_integral")),
    ("matrix", env!("CARGO_BIN_EXE_matrix")),
    ("network", env!("CARGO_BIN_EXE_network")),
    ("particles", env!("CARGO_BIN_EXE_particles")),
    ("porting", env!("CARGO_BIN_EXE_porting")),
    ("quadtree", env!("CARGO_BIN_EXE_quadtree")),
    ("reduction", env!("CARGO_BIN_EXE_reduction")),
    ("service", env!("CARGO_BIN_EXE_service")),
    ("solver", env!("CARGO_BIN_EXE_solver")),
    ("streaming", env!("CARGO_BIN_EXE_streaming")),
    ("sums", env!("CARGO_BIN_EXE_sums")),
];

/// A line of the kernel file, what it becomes, and what the program must say to that.
struct Broken {
    program: &'static str,
    /// Arguments in front of the kernel file's; `/tmp` is the test's folder.
    args: &'static [&'static str],
    kernel: &'static str,
    line: &'static str,
    becomes: &'static str,
    told: &'static str,
}

const BROKEN: &[Broken] = &[
    Broken {
        program: "advice",
        args: &[],
        kernel: "advice.cl",
        line: "8 * i + 3",
        becomes: "8 * i + 4",
        told: "computes something else",
    },
    Broken {
        program: "advice",
        args: &[],
        kernel: "advice.cl",
        line: "masses[i]",
        becomes: "masses[4 * i]",
        told: "could be better",
    },
    Broken {
        program: "arrays",
        args: &[],
        kernel: "arrays.metal",
        line: "sum / rows",
        becomes: "sum / (rows + 1)",
        told: "off its mean",
    },
    Broken {
        program: "arrays",
        args: &[],
        kernel: "arrays.metal",
        line: "float sum = 0",
        becomes: "float sum = 1",
        told: "off its mean",
    },
    Broken {
        program: "attention",
        args: &["/tmp/attention"],
        kernel: "attention.metal",
        line: "at.x > at.y",
        becomes: "at.x >= at.y",
        told: "NaN, but the sum is",
    },
    Broken {
        program: "attention",
        args: &["/tmp/attention"],
        kernel: "attention.metal",
        line: "at.x > at.y",
        becomes: "at.x > at.y + 1",
        told: "but the sum is",
    },
    Broken {
        program: "devices",
        args: &[],
        kernel: "devices.metal",
        line: "first + i",
        becomes: "i",
        told: "is nearer",
    },
    Broken {
        program: "devices",
        args: &[],
        kernel: "devices.metal",
        line: "distance < least",
        becomes: "distance <= least",
        told: "is nearer",
    },
    Broken {
        program: "filter",
        args: &[],
        kernel: "filter.metal",
        line: "threadgroup_number > 0 ? counts[threadgroup_number - 1] : 0",
        becomes: "counts[threadgroup_number]",
        told: "and not",
    },
    Broken {
        program: "filter",
        args: &[],
        kernel: "filter.metal",
        line: "at < n ? counts[at] : 0",
        becomes: "at + 1 < n ? counts[at] : 0",
        told: "and not",
    },
    Broken {
        program: "images",
        args: &["crates/dcmetal-cli/demo/chelsea.png", "/tmp/sharp.png"],
        kernel: "images.metal",
        line: "{1.0f / 16, 4.0f / 16, 6.0f / 16, 4.0f / 16, 1.0f / 16}",
        becomes: "{2.0f / 16, 3.0f / 16, 6.0f / 16, 3.0f / 16, 2.0f / 16}",
        told: "but the reference is from",
    },
    Broken {
        program: "images",
        args: &["crates/dcmetal-cli/demo/chelsea.png", "/tmp/sharp.png"],
        kernel: "images.metal",
        line: "weighted(from, at, int2(0, 1))",
        becomes: "weighted(from, at, int2(1, 0))",
        told: "but the reference is from",
    },
    Broken {
        program: "integral",
        args: &[],
        kernel: "integral.metal",
        line: "next[at + 1] = {middle, right}",
        becomes: "next[at + 1] = {left, middle}",
        told: "do not make up the whole",
    },
    Broken {
        program: "integral",
        args: &[],
        kernel: "integral.metal",
        line: "(at + 2 + threads - 1) / threads",
        becomes: "(at + threads - 1) / threads",
        told: "do not make up the whole",
    },
    Broken {
        program: "matrix",
        args: &["/tmp/kernels"],
        kernel: "matrix.metal",
        line: "start < k; start += TILE",
        becomes: "start + TILE < k; start += TILE",
        told: "but the sum is",
    },
    Broken {
        program: "matrix",
        args: &["/tmp/kernels"],
        kernel: "matrix.metal",
        line: "if (at.y < m && at.x < n)",
        becomes: "if (at.y < m && at.x + 1 < n)",
        told: "row 0, column 169: NaN",
    },
    Broken {
        program: "quadtree",
        args: &[],
        kernel: "quadtree.metal",
        line: "q / 2 * half_size",
        becomes: "q % 2 * half_size",
        told: "are not the",
    },
    Broken {
        program: "quadtree",
        args: &[],
        kernel: "quadtree.metal",
        line: "totals[q] > MOST",
        becomes: "totals[q] >= MOST",
        told: "are not the",
    },
    Broken {
        program: "network",
        args: &[],
        kernel: "network.metal",
        line: "+= bias[at.x]",
        becomes: "+= bias[at.x / 2]",
        told: "but the share is",
    },
    Broken {
        program: "network",
        args: &[],
        kernel: "network.metal",
        line: "at.y * grid.x + at.x",
        becomes: "at.x * grid.y + at.y",
        told: "but the share is",
    },
    Broken {
        program: "reduction",
        args: &[],
        kernel: "reduction.metal",
        line: "i < count",
        becomes: "i + 1 < count",
        told: "but the sum is",
    },
    Broken {
        program: "reduction",
        args: &[],
        kernel: "reduction.metal",
        line: "lane < simdgroups",
        becomes: "lane + 1 < simdgroups",
        told: "but the sum is",
    },
    Broken {
        program: "particles",
        args: &[],
        kernel: "particles.metal",
        line: "nearness * nearness * nearness * way",
        becomes: "nearness * nearness * way",
        told: "a body on a circle",
    },
    Broken {
        program: "particles",
        args: &[],
        kernel: "particles.metal",
        line: "time * velocity[i].xyz",
        becomes: "0.999f * time * velocity[i].xyz",
        told: "a body on a circle",
    },
    Broken {
        program: "particles",
        args: &[],
        kernel: "particles.metal",
        line: "j < count",
        becomes: "j + 2 < count + 2 * (count < 3)",
        told: "energy has changed",
    },
    Broken {
        program: "particles",
        args: &[],
        kernel: "particles.metal",
        line: "velocity[i].xyz += time * pull",
        becomes: "velocity[i].xyz += abs(time) * pull",
        told: "does not get back",
    },
    Broken {
        program: "streaming",
        args: &[],
        kernel: "streaming.metal",
        line: "i < size",
        becomes: "i + 1 < size",
        told: "but it occurs",
    },
    Broken {
        program: "streaming",
        args: &[],
        kernel: "streaming.metal",
        line: "own[bytes[i]]",
        becomes: "own[bytes[i] & 127]",
        told: "but it occurs",
    },
    Broken {
        program: "service",
        args: &[],
        kernel: "service.metal",
        line: "sum = simd_sum(sum)",
        becomes: "sum = simd_sum(sum) + 0.001f",
        told: "of an answer is",
    },
    Broken {
        program: "service",
        args: &[],
        kernel: "service.metal",
        line: "to[row * LENGTH + i] =",
        becomes: "to[(row / 2) * LENGTH + i] =",
        told: "of an answer is",
    },
    Broken {
        program: "porting",
        args: &[],
        kernel: "porting.cl",
        line: "4.0f * here",
        becomes: "3.99f * here",
        told: "but should be at",
    },
    Broken {
        program: "porting",
        args: &[],
        kernel: "porting.cl",
        line: "if (j == 1) tile[i]",
        becomes: "if (j == 2) tile[i]",
        told: "but should be at",
    },
    Broken {
        program: "solver",
        args: &[],
        kernel: "solver.metal",
        line: "i < rows",
        becomes: "i + 1 < rows",
        told: "but should be",
    },
    Broken {
        program: "solver",
        args: &[],
        kernel: "solver.metal",
        line: "rest / matrix",
        becomes: "0.999f * rest / matrix",
        told: "but should be",
    },
    Broken {
        program: "sums",
        args: &[],
        kernel: "sums.cl",
        line: "other < group",
        becomes: "other <= group",
        told: "numbers make",
    },
    Broken {
        program: "sums",
        args: &[],
        kernel: "sums.cl",
        line: "l >= distance",
        becomes: "l > distance",
        told: "numbers make",
    },
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn source(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn run(program: &str, environment: &[(&str, &str)], args: &[String]) -> Output {
    let (_, path) = PROGRAMS.iter().find(|known| known.0 == program).unwrap_or_else(|| panic!("no `{program}`"));
    let mut command = Command::new(path);
    command.current_dir(root()).args(args).envs(environment.iter().copied());
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// The lines from the one that begins so, with the comments and attributes in front of it, to the one that ends the item.
fn item(file: &str, beginning: &str) -> String {
    let text = source(file);
    let lines: Vec<&str> = text.lines().collect();
    let begins: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].starts_with(beginning)).collect();
    let &[at] = &begins[..] else { panic!("{file} has {} lines that begin `{beginning}`", begins.len()) };
    let outside = |line: &&&str| line.starts_with("//") || line.starts_with("#[");
    let first = at - lines[..at].iter().rev().take_while(outside).count();
    let ends = |line: &&str| ["}", "};", ")", ");", "];"].contains(line);
    let last = if lines[at].ends_with(';') { Some(0) } else { lines[at..].iter().position(ends) };
    let last = at + last.unwrap_or_else(|| panic!("{file}: `{beginning}` has no end"));
    lines[first..=last].join("\n") + "\n"
}

/// What a `console` block becomes: its commands with what they print now.
fn transcript(block: &str, folder: &str) -> String {
    let mut out = String::new();
    for entry in block.split("$ ").skip(1) {
        let line = entry.lines().next().unwrap_or("");
        let words: Vec<&str> = line.split(' ').collect();
        let environment: Vec<(&str, &str)> = words.iter().map_while(|word| word.split_once('=')).collect();
        let (command, after) = words[environment.len()..].split_at(6);
        let ["cargo", "run", "-qp", "dcmetal-cookbook", "--bin", program] = command else {
            panic!("`{line}` runs no program of the book")
        };
        let args: Vec<String> = after.iter().skip(1).map(|word| word.replacen("/tmp", folder, 1)).collect();
        let output = run(program, &environment, &args);
        let (printed, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // A command that shall fail says so itself.
        assert_eq!(output.status.success(), told.is_empty(), "`{line}`: {}\n{printed}{told}", output.status);
        if cfg!(target_os = "macos") && !environment.is_empty() {
            // These variables are hostmetal's: what they show is seen on Linux alone.
            write!(out, "$ {}\n\n", entry.trim_end()).expect("strings take everything");
        } else {
            writeln!(out, "$ {line}\n{printed}{told}").expect("strings take everything");
        }
    }
    out.trim_end().to_owned() + "\n"
}

#[test]
fn the_book_shows_the_programs_and_what_they_print() {
    let path = root().join("docs/COOKBOOK.md");
    let book = std::fs::read_to_string(&path).expect("the book");
    let folder = tempfile::tempdir().expect("a folder");
    let (mut out, mut mark, mut blocks) = (String::new(), None, 0);
    let mut lines = book.lines();
    while let Some(line) = lines.next() {
        writeln!(out, "{line}").expect("strings take everything");
        let comment = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->"));
        if let Some(language) = line.strip_prefix("```") {
            let block: String =
                lines.by_ref().take_while(|line| *line != "```").flat_map(|line| [line, "\n"]).collect();
            blocks += 1;
            out += &match (mark, language) {
                (None, "console") => transcript(&block, folder.path().to_str().expect("a name in UTF-8")),
                (Some(mark), _) => match str::split_once(mark, ": ") {
                    Some((file, beginning)) => item(file, beginning),
                    None => source(mark),
                },
                (None, _) => panic!("nothing says where this is from:\n{block}"),
            };
            out += "```\n";
        }
        mark = comment;
    }
    assert!(blocks > 0, "a book without code");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &out).expect("the book can be written");
        return;
    }
    for (number, (is, wanted)) in book.lines().zip(out.lines()).enumerate() {
        assert_eq!(is, wanted, "docs/COOKBOOK.md:{}: UPDATE_EXPECT=1 writes it anew", number + 1);
    }
    assert_eq!(book.lines().count(), out.lines().count(), "the book ends elsewhere; UPDATE_EXPECT=1 writes it anew");
}

#[test]
fn every_program_is_in_the_book_and_has_a_kernel_that_it_must_find_wrong() {
    let book = std::fs::read_to_string(root().join("docs/COOKBOOK.md")).expect("the book");
    let folder = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin")).expect("the programs");
    let files = folder.map(|file| file.expect("a file").file_name().into_string().expect("a name in UTF-8"));
    let there: BTreeSet<String> = files.filter_map(|file| Some(file.strip_suffix(".rs")?.to_owned())).collect();
    let known: BTreeSet<String> = PROGRAMS.iter().map(|program| program.0.to_owned()).collect();
    assert_eq!(there, known);
    for name in &known {
        assert!(book.contains(&format!("--bin {name}")), "{name} is not in the book");
        assert!(BROKEN.iter().any(|broken| broken.program == *name), "nobody tries {name} with a wrong kernel");
    }
}

#[test]
fn a_wrong_kernel_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, Broken { program, args, kernel, line, becomes, told }) in BROKEN.iter().enumerate() {
        let text = source(kernel);
        assert_eq!(text.matches(line).count(), 1, "{kernel}: `{line}`");
        let file = folder.path().join(format!("{number}-{kernel}"));
        std::fs::write(&file, text.replace(line, becomes)).expect("a file");
        let at = |word: &str| word.replacen("/tmp", folder.path().to_str().expect("a name in UTF-8"), 1);
        let mut args: Vec<String> = args.iter().map(|word| at(word)).collect();
        args.push(file.to_str().expect("a name in UTF-8").to_owned());
        let output = run(program, &[], &args);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{program} with `{becomes}` did not fail: {text}");
        assert!(text.contains(told), "{program} with `{becomes}`: {text}");
    }
}

/// Of the table of calls, the left side is in the OpenCL program and the right one in its port, but for where lines break.
#[test]
fn the_calls_of_the_port_are_those_of_the_programs() {
    let book = std::fs::read_to_string(root().join("docs/COOKBOOK.md")).expect("the book");
    let together = |text: &str| text.split_whitespace().collect::<String>();
    let sides = ["porting_before.c", "porting.rs"].map(|file| together(&source(file)));
    let rows: Vec<&str> =
        book.lines().filter(|line| line.starts_with("| `cl") || line.starts_with("| `const")).collect();
    assert!(rows.len() > 5, "the table is somewhere else");
    for row in rows {
        let row = row.replace("\\|", "\0");
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        assert_eq!(cells.len(), 2, "{row}");
        for (cell, side) in cells.iter().zip(&sides) {
            for code in cell.split('`').skip(1).step_by(2) {
                assert!(side.contains(&together(&code.replace('\0', "|"))), "no program has `{code}`");
            }
        }
    }
}

/// Where there is an OpenCL, the program that was ported prints what its port does.
#[test]
#[cfg(target_os = "linux")]
fn the_ported_program_prints_the_same() {
    if !Path::new("/usr/include/CL/cl.h").exists() {
        eprintln!("left out, since there is no OpenCL to build the program with (scripts/setup --test installs one)");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let before = folder.path().join("before");
    let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin");
    let mut compile = Command::new("cc");
    compile.args(["-Wall", "-Werror"]).arg(bin.join("porting_before.c")).args(["-lOpenCL", "-lm", "-o"]).arg(&before);
    assert!(compile.status().expect("a C compiler").success(), "porting_before.c does not compile");
    let before = Command::new(&before).arg(bin.join("porting.cl")).output().expect("it runs");
    assert!(before.status.success(), "{}", String::from_utf8_lossy(&before.stderr));
    let after = run("porting", &[], &[]);
    assert_eq!(String::from_utf8_lossy(&before.stdout), String::from_utf8_lossy(&after.stdout));
}
