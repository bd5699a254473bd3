//! Which engine runs a kernel whose threads wait for each other, and the plugin of the compiler that one of them needs.
//!
//! Three engines: a kernel without barriers and SIMD-group functions is a loop over its threads. Any other is made into
//! loops between its barriers by an LLVM pass (native/hostmetal/pass), or, where the pass refuses it, runs with a stack
//! per thread. A compiled kernel says itself which it is for (`hm_engine`): `loop`, `pass`, both with ` in tiles` where
//! many threads go through an inner loop at once, or `stack: ` and the reason.
//!
//! The plugin is embedded in this crate, empty when it was built without llvm-19-dev, and written to the cache directory.
//! It is given to a clang of exactly the version of LLVM that it was compiled for, since plugins have no stable interface.

use super::toolchain::{Toolchain, hash, touch};
use super::{CompileFailure, Failure};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

/// The compiled plugin; empty when LLVM's headers were not there when hostmetal was built.
const PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hostmetal_pass.so"));
/// The version of LLVM that it is for.
const LLVM: &str = env!("HOSTMETAL_PASS_LLVM");

/// How the threads of a threadgroup that wait for each other take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Each on a stack of its own, switched at every barrier and SIMD-group function.
    Stack,
    /// In loops from barrier to barrier, made by the LLVM pass; kernels that it refuses take `Stack`.
    Pass,
}

impl Engine {
    /// What `HOSTMETAL_ENGINE` says; `Pass` when it is not set.
    ///
    /// # Errors
    /// `Failure::Toolchain` for any other word than `pass` and `stack`.
    pub fn from_environment() -> Result<Engine, CompileFailure> {
        Engine::named(&std::env::var("HOSTMETAL_ENGINE").unwrap_or_default())
    }

    fn named(word: &str) -> Result<Engine, CompileFailure> {
        match word {
            "" | "pass" => Ok(Engine::Pass),
            "stack" => Ok(Engine::Stack),
            other => Err(CompileFailure {
                kind: Failure::Toolchain,
                log: format!("HOSTMETAL_ENGINE must be 'pass' or 'stack', not '{other}'"),
            }),
        }
    }
}

/// What a compiled kernel says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// No thread waits for another: one loop.
    Loop,
    /// Loops from barrier to barrier.
    Pass,
    /// A stack per thread; why the pass did not serve, or that it was not asked for.
    Stack(String),
}

impl Built {
    /// Reads `hm_engine`; and whether it is in tiles.
    pub(super) fn read(text: &str) -> Result<(Built, bool), String> {
        match text {
            "loop" => Ok((Built::Loop, false)),
            "loop in tiles" => Ok((Built::Loop, true)),
            "pass" => Ok((Built::Pass, false)),
            "pass in tiles" => Ok((Built::Pass, true)),
            _ => match text.strip_prefix("stack: ") {
                Some(why) => Ok((Built::Stack(why.to_owned()), false)),
                None => Err(format!("the compiled kernel names an unknown engine, '{text}'")),
            },
        }
    }
}

impl std::fmt::Display for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Built::Loop => f.write_str("loop"),
            Built::Pass => f.write_str("pass"),
            Built::Stack(why) => write!(f, "stack: {why}"),
        }
    }
}

/// What a line of the compiler's output begins with when the pass refuses a kernel; the reason follows.
pub(super) const REFUSAL: &str = "hostmetal-pass: refused: ";

/// Whether a toolchain can take the plugin, or why not.
pub(super) fn usable(toolchain: &Toolchain) -> Result<(), String> {
    if PLUGIN.is_empty() {
        return Err("hostmetal was built without llvm-19-dev".to_owned());
    }
    let version = toolchain.version().split("clang version ").nth(1).unwrap_or_default();
    if version.split([' ', '+', '-', '~']).next() != Some(LLVM) {
        return Err(format!("the pass is for clang {LLVM}, not {version}"));
    }
    Ok(())
}

/// Whether a compilation with the plugin failed for the plugin: each time, and only with it. What fails for want of time, memory or
/// room on the disk may succeed the next time, and nothing is made of it.
pub(super) fn fails(failure: &CompileFailure) -> bool {
    failure.kind == Failure::Crash
        || failure.kind == Failure::Toolchain && failure.log.contains("unable to load plugin")
}

/// A hash of the plugin.
pub(super) fn fingerprint() -> &'static str {
    static HASH: LazyLock<String> = LazyLock::new(|| hash([PLUGIN]));
    &HASH
}

/// The plugin's path for a toolchain that can take it, or why there is none.
pub(super) fn plugin(toolchain: &Toolchain) -> Result<PathBuf, String> {
    usable(toolchain)?;
    let path = toolchain.cache().join(format!("pass-{}.so", &fingerprint()[..32]));
    if fs::read(&path).is_ok_and(|found| found == PLUGIN) {
        touch(&path);
        return Ok(path);
    }
    let cannot = |error: std::io::Error| format!("cannot write the pass to '{}': {error}", path.display());
    // Renamed when it is complete, so that any number of processes may write it at once.
    let mut made = super::job::file(toolchain.cache()).map_err(cannot)?;
    std::io::Write::write_all(&mut made, PLUGIN).map_err(cannot)?;
    made.persist(&path).map_err(|error| cannot(error.error))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A folder with the plugin in it, where this build has one.
    fn plugin_file() -> Option<(tempfile::TempDir, PathBuf)> {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("pass.so");
        fs::write(&file, PLUGIN).expect("a file");
        (!PLUGIN.is_empty()).then_some((folder, file))
    }

    /// Bodies of a loop over threads `i`, and whether the plugin must keep LLVM from joining some of its accesses. In the others LLVM
    /// joins the four bytes of a pixel.
    const BODIES: [(&str, bool); 12] = [
        // Loads before stores; the same place or another.
        ("Pixel p = in[i]; out[i] = (Pixel){p.z, p.y, p.x, 255 - p.w};", false),
        ("Pixel p = out[i]; out[i] = (Pixel){p.z, p.y, p.x, 255 - p.w};", false),
        // Component by component: whole pixels are aligned, so that x is never y.
        ("out[i].x = in[i].x / 3; out[i].y = in[i].y / 3; out[i].z = in[i].z / 3; out[i].w = in[i].w / 3;", false),
        // A group of stores behind another.
        ("out[i] = (Pixel){i, 1, 2, 3}; other[i] = (Pixel){4, 5, 6, i};", false),
        // A single byte that may be any of those written before.
        ("out[i] = (Pixel){i, i / 2, i / 3, i / 4}; any[i] = any[i + at[i]];", false),
        ("out[i].x = i; out[i].y = 2; out[i].z = any[at[i]]; out[i].w = 4;", true),
        ("out[i].x = i; out[i].y = 2; out[i].z = 3; any[i] = in[i].x + in[i].y + in[i].z + in[i].w;", false),
        // Loads around a store that may change them.
        ("int x = in[i].x; any[at[i]] = x; x += in[i].y; any[at[i] + 1] = x; any[i + 1] = in[i].z + in[i].w;", true),
        ("int x = in[i].x; words[at[i]] = 7; any[i] = x + in[i].y + in[i].z + in[i].w;", true),
        // A second store to a place already written, read in between.
        ("out[i].x = i; out[i].y = any[i]; out[i].z = 1; out[i].w = out[i].x; out[i].x = 7;", true),
        // Unaligned pixels, so that a component may be the one before of the same thread.
        (
            "loose[4 * i] = any[4 * i] / 3; loose[4 * i + 1] = any[4 * i + 1] / 3; loose[4 * i + 2] = any[4 * i + 2] / 3; loose[4 * i + 3] = 3;",
            true,
        ),
        ("words[2 * i] = in[i].x; words[2 * i + 1] = in[i].y; words[2 * i + at[i]] = in[i].z;", true),
    ];

    #[test]
    fn accesses_are_joined_where_that_is_proved() {
        let Some((folder, plugin)) = plugin_file() else { return };
        for (body, kept) in BODIES {
            let source = format!(
                "typedef struct {{ _Alignas(4) unsigned char x; unsigned char y, z, w; }} Pixel; const char hm_engine[] = \"loop\";\n\
                 void run(const Pixel *in, Pixel *out, Pixel *other, unsigned char *any, unsigned char *loose, unsigned *words, const int *at, long n) {{\n\
                 #pragma clang loop vectorize(assume_safety)\n  for (long i = 0; i < n; i++) {{ {body} }}\n}}\n"
            );
            let (from, to) = (folder.path().join("body.c"), folder.path().join("body.ll"));
            fs::write(&from, source).expect("a file");
            let mut command = std::process::Command::new("clang-19");
            command.arg(format!("-fpass-plugin={}", plugin.display()));
            command
                .args([
                    "--target=x86_64-linux-gnu",
                    "-march=x86-64-v4",
                    "-O3",
                    "-fno-strict-aliasing",
                    "-S",
                    "-emit-llvm",
                    "-Werror",
                    "-o",
                ])
                .arg(&to)
                .arg(&from);
            assert!(command.status().expect("clang-19").success(), "{body}");
            let code = fs::read_to_string(&to).expect("the code");
            assert_eq!(code.contains("asm \"\", \"=r,0"), kept, "{body}");
            assert!(kept || code.contains("shufflevector"), "not joined: {body}");
        }
    }

    /// Bodies of loops over threads (`o`, `a`, `b` of `TYPE`, `x` the thread), and whether their stores go around the caches for large grids.
    const STREAMS: &[(&str, &str, bool)] = &[
        ("float", "o[x] = a[x] + b[x];", true),
        ("float", "o[first + x] = 2 * a[first + x] + b[first + x];", true),
        ("unsigned char", "o[first + x] = a[first + x] ^ b[x];", true),
        ("unsigned long", "o[3 + x] = a[x] + 1;", true),
        // The lines are in the cache already.
        ("float", "o[x] += a[x];", false),
        ("float", "o[x] = o[x + 1];", false),
        // Not whole lines, not one behind the other, or nobody knows.
        ("float", "o[2 * x] = a[x];", false),
        ("float", "o[-(long)x] = a[x];", false),
        ("float", "if (a[x] > 0) o[x] = b[x];", false),
        ("float", "o[(unsigned)a[x]] = b[x];", false),
        ("float", "o[0] = a[x];", false),
    ];

    /// The code that `clang` makes with the plugin of a loop over threads, which calls may be for several threadgroups of (`span`).
    fn stream_code(plugin: &Path, folder: &Path, (element, body): (&str, &str), span: u32, target: &[&str]) -> String {
        let source = format!(
            "typedef struct {{ const void *buffer[31], *memory[31]; unsigned numbers[28], stream_bytes; }} Group;\n\
             _Static_assert(__builtin_offsetof(Group, stream_bytes) == 608, \"\");\n\
             const char hm_engine[] = \"loop\"; const unsigned hm_span = {span};\n\
             void hm_kernel_group(const Group *g) {{\n\
             {element} *o = ({element} *)g->buffer[0]; const {element} *a = g->buffer[1], *b = g->buffer[2]; unsigned first = g->numbers[0], w = g->numbers[3], h = g->numbers[4], d = g->numbers[5];\n\
             for (unsigned z = 0; z < d; z++) for (unsigned y = 0; y < h; y++)\n\
             _Pragma(\"clang loop vectorize(assume_safety)\") for (unsigned x = 0; x < w; x++) {{ {body} }}\n}}\n"
        );
        let (from, to) = (folder.join("body.c"), folder.join("body.ll"));
        fs::write(&from, source).expect("a file");
        let mut command = std::process::Command::new("clang-19");
        command.arg(format!("-fpass-plugin={}", plugin.display())).args(target);
        command.args(["-O3", "-fno-strict-aliasing", "-Wno-everything", "-S", "-emit-llvm", "-o"]).arg(&to).arg(&from);
        assert!(command.status().expect("clang-19").success(), "{body}");
        // LLVM checks what it reads.
        let mut command = std::process::Command::new("clang-19");
        command.args(["-c", "-Wno-everything", "-o"]).arg(folder.join("body.o")).arg(&to);
        assert!(command.status().expect("clang-19").success(), "{body}: not valid");
        fs::read_to_string(&to).expect("the code")
    }

    #[test]
    fn whole_lines_are_written_around_the_caches() {
        let Some((folder, plugin)) = plugin_file() else { return };
        let intel = |bits| ["--target=x86_64-linux-gnu", "-march=x86-64-v4", bits];
        let (lines, halves) = (intel("-mprefer-vector-width=512"), intel("-mprefer-vector-width=256"));
        let arm = ["--target=aarch64-linux-gnu"];
        for &(element, body, streams) in STREAMS {
            // Read ahead where an instruction reads a line.
            for (target, ahead) in [(&lines, streams), (&halves, false)] {
                let code = stream_code(&plugin, folder.path(), (element, body), 3, target);
                assert_eq!(code.contains("!nontemporal"), streams, "{body}");
                assert_eq!(code.contains("call void @llvm.x86.sse.sfence()"), streams, "{body}");
                assert_eq!(code.contains("call void @llvm.prefetch.p0("), ahead, "{body}");
            }
            // What may depend on when threads run, and other processors.
            for (span, target) in [(0, &halves[..]), (3, &arm)] {
                let code = stream_code(&plugin, folder.path(), (element, body), span, target);
                assert!(!code.contains("!nontemporal") && !code.contains("sfence"), "{body}");
            }
        }
    }

    /// Bodies with conditions on what is also a part of an index.
    const CONDITIONS: [&str; 3] = [
        "unsigned at = first + x, i = at + y * w; float v = a[i]; if (at != 0 && at != d - 1) v = v * 2 + a[i - 1] + a[i + 1]; o[x] = v;",
        "unsigned at = first + x, i = at + y * w; float v = a[i]; if (at > 3) v = v * 2 + a[i - h]; o[x] = v;",
        "unsigned at = first + x, i = at + y * w; float v = a[i]; if (at < h) v = v * 2 + a[i + h]; o[x] = v;",
    ];

    #[test]
    fn conditions_are_counted_in_vectors() {
        let Some((folder, plugin)) = plugin_file() else { return };
        for body in CONDITIONS {
            let target = ["--target=x86_64-linux-gnu", "-march=x86-64-v3"];
            let code = stream_code(&plugin, folder.path(), ("float", body), 3, &target);
            assert!(code.contains("llvm.masked.load.v8f32"), "{body}: no vectors");
            // The last of eight numbers that were counted one by one.
            assert!(
                !code.lines().any(|line| line.contains(" = insertelement <8 x i32> ") && line.ends_with(", i64 7")),
                "{body}"
            );
        }
    }

    #[test]
    fn engines_have_names() {
        assert_eq!(Engine::named(""), Ok(Engine::Pass));
        assert_eq!(Engine::named("pass"), Ok(Engine::Pass));
        assert_eq!(Engine::named("stack"), Ok(Engine::Stack));
        assert!(Engine::named("Stack").is_err_and(|failure| failure.log.contains("HOSTMETAL_ENGINE")));
        assert_eq!(Built::read("stack: because"), Ok((Built::Stack("because".to_owned()), false)));
        assert_eq!(Built::read("loop in tiles"), Ok((Built::Loop, true)));
        assert!(Built::read("").is_err());
    }
}
