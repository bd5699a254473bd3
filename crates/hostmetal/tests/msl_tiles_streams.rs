//! Tiles that write around the caches (native/hostmetal/pass/streams.cpp): which kernels' code has such stores, and that it writes what it does
//! otherwise, wherever memory begins and however large the grid is.

mod stdlib;
mod support;

use hostmetal::msl::{Built, Checked, CompileOptions, Engine, MathMode, Toolchain, ToolchainOptions};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;
use stdlib::*;
use support::{Buffer, Pipeline, Queue};

/// Set in a process that runs the kernels with the limit it was given.
const CHILD: &str = "HOSTMETAL_TEST_CHILD";
/// Threads of a threadgroup along x and y.
const SIDE: u32 = 16;
/// Threads of the grids: whole threadgroups, of which rows of memory begin with cache lines in some; those of a column of the last are 4 KiB apart.
const GRIDS: &[[u32; 2]] = &[[16, 16], [64, 48], [240, 16], [16, 1024]];
/// Words behind the beginning of a cache line that `out` begins.
const SHIFTS: &[usize] = &[0, 1, 16];
const MARGIN: usize = 64;
const UNTOUCHED: u32 = 0xeeee_eeee;
/// As `n` to kernels.
const ROUNDS: u32 = 3;
/// Words of `out` for each thread, at most.
const WORDS: u32 = 128;

/// What a thread sees: its position, the grid's size, and `a`.
struct Thread<'a> {
    x: u32,
    y: u32,
    w: u32,
    h: u32,
    a: &'a [u32],
}

impl Thread<'_> {
    fn at(&self, x: u32, y: u32) -> u32 {
        self.a[(y * self.w + x) as usize]
    }

    /// The thread at the same place of its threadgroup as this one with its coordinates exchanged.
    fn across(&self) -> [u32; 2] {
        [self.x / SIDE * SIDE + self.y % SIDE, self.y / SIDE * SIDE + self.x % SIDE]
    }
}

struct Case {
    body: &'static str,
    /// Whether tiles have stores around the caches.
    streams: bool,
    /// The words that a thread writes, with their places.
    writes: fn(&Thread) -> Vec<(u32, u32)>,
}

/// `s`: threadgroup memory; `v`: what the thread read of `a`; `t`: what the thread across its threadgroup read.
const CASES: &[Case] = &[
    // A transposition: the threadgroup's place changes, too.
    Case {
        body: "out[(g.x * 16 + l.y) * h + g.y * 16 + l.x] = t;",
        streams: true,
        writes: |c| {
            let [x, y] = c.across();
            vec![((c.x / SIDE * SIDE + c.y % SIDE) * c.h + c.y / SIDE * SIDE + c.x % SIDE, c.at(x, y))]
        },
    },
    // Rows beside each other, and two outputs in one.
    Case {
        body: "out[i] = t * 3;",
        streams: true,
        writes: |c| {
            let [x, y] = c.across();
            vec![(c.y * c.w + c.x, c.at(x, y).wrapping_mul(3))]
        },
    },
    Case {
        body: "out[i] = t; out[w * h + i] = t ^ v;",
        streams: true,
        writes: |c| {
            let ([x, y], i) = (c.across(), c.y * c.w + c.x);
            vec![(i, c.at(x, y)), (c.w * c.h + i, c.at(x, y) ^ c.at(c.x, c.y))]
        },
    },
    // Over and over: the last of the stores to a place stays.
    Case {
        body: "for (uint k = 0; k < n; k++) out[i] = t + k;",
        streams: true,
        writes: |c| {
            let [x, y] = c.across();
            vec![(c.y * c.w + c.x, c.at(x, y).wrapping_add(ROUNDS - 1))]
        },
    },
    // Functions that call each other, and pass on what they were called with.
    Case {
        body: "middle(out + 128 * i, t, v);",
        streams: true,
        writes: |c| {
            let ([x, y], i) = (c.across(), c.y * c.w + c.x);
            let (t, v) = (c.at(x, y), c.at(c.x, c.y));
            let word = |k: u32| if k < 64 { (t ^ v).wrapping_add(k * 3) } else { t.wrapping_add((k - 64) * 5) };
            (0..128).map(|k| (128 * i + k, word(k))).collect()
        },
    },
    // Where all of a tile take a branch; others go through it one by one.
    Case {
        body: "if (v & 1) out[i] = t;",
        streams: true,
        writes: |c| {
            let [x, y] = c.across();
            if c.at(c.x, c.y) & 1 == 1 { vec![(c.y * c.w + c.x, c.at(x, y))] } else { vec![] }
        },
    },
    // What is read is in the cache, before or behind a barrier.
    Case {
        body: "out[i] = out[i] + t;",
        streams: false,
        writes: |c| {
            let [x, y] = c.across();
            vec![(c.y * c.w + c.x, UNTOUCHED.wrapping_add(c.at(x, y)))]
        },
    },
    Case {
        body: "out[i] = t; threadgroup_barrier(mem_flags::mem_device); out[w * h + i] = out[(y / 16 * 16 + l.x) * w + x / 16 * 16 + l.y];",
        streams: false,
        writes: |c| {
            let ([x, y], i) = (c.across(), c.y * c.w + c.x);
            // What the thread across has written is what this one has read.
            vec![(i, c.at(x, y)), (c.w * c.h + i, c.at(c.x, c.y))]
        },
    },
    // Others may wait for what is written.
    Case {
        body: "out[i] = t; threadgroup_barrier(mem_flags::mem_device); if (n == 77) atomic_fetch_add_explicit((device atomic_uint *)other, 1u, memory_order_relaxed);",
        streams: false,
        writes: |c| {
            let [x, y] = c.across();
            vec![(c.y * c.w + c.x, c.at(x, y))]
        },
    },
    Case {
        body: "out[i] = t; threadgroup_barrier(mem_flags::mem_device); if (n == 77) *(volatile device uint *)other = 1;",
        streams: false,
        writes: |c| {
            let [x, y] = c.across();
            vec![(c.y * c.w + c.x, c.at(x, y))]
        },
    },
    // Parts of lines, and vectors of another size.
    Case {
        body: "((device ushort *)out)[i] = t;",
        streams: false,
        writes: |c| {
            let half = |x: u32| {
                let c = Thread { x, ..*c };
                let [x, y] = c.across();
                c.at(x, y) & 0xffff
            };
            let even = c.x & !1;
            vec![((c.y * c.w + even) / 2, half(even) | half(even + 1) << 16)]
        },
    },
    Case {
        body: "out[2 * i] = t;",
        streams: false,
        writes: |c| {
            let [x, y] = c.across();
            vec![(2 * (c.y * c.w + c.x), c.at(x, y))]
        },
    },
    // One of two places.
    Case {
        body: "device uint *to = n == 77 ? other : out; to[i] = t;",
        streams: false,
        writes: |c| {
            let [x, y] = c.across();
            vec![(c.y * c.w + c.x, c.at(x, y))]
        },
    },
];

fn source(case: &Case) -> String {
    format!(
        "#include <metal_stdlib>\nusing namespace metal;\n\
         __attribute__((noinline)) void last(device uint *o, uint first, uint by) {{ for (uint k = 0; k < 64; k++) o[k] = first + k * by; }}\n\
         __attribute__((noinline)) void middle(device uint *o, uint t, uint v) {{ last(o, t ^ v, 3); last(o + 64, t, 5); }}\n\
         kernel void run(device uint *from [[buffer(0)]], const device uint *a [[buffer(1)]], constant uint2 &p [[buffer(2)]], device uint *other [[buffer(3)]], \
         uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]], uint2 g [[threadgroup_position_in_grid]], \
         uint2 l [[thread_position_in_threadgroup]]) {{\n\
         threadgroup uint s[16][17]; uint x = at.x, y = at.y, w = size.x, h = size.y, i = y * w + x, n = p.y; (void)h; (void)n; (void)g; (void)x; (void)y; (void)other;\n\
         device uint *out = from + p.x; uint v = a[i]; s[l.y][l.x] = v; threadgroup_barrier(mem_flags::mem_threadgroup); uint t = s[l.x][l.y];\n\
         {}\n}}\n",
        case.body
    )
}

/// A compiler that also writes the code that the pass has made, as text, to a file.
fn toolchain(folder: &std::path::Path) -> Arc<Toolchain> {
    let clang = folder.join("clang");
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *\" -fpass-plugin=\"*) clang-19 \"$@\" -w -S -emit-llvm -o '{}' || exit;; esac\nexec clang-19 \"$@\"\n",
        folder.join("code.ll").display()
    );
    fs::write(&clang, script).expect("a file");
    fs::set_permissions(&clang, fs::Permissions::from_mode(0o755)).expect("a program");
    let cache = Some(folder.join("cache"));
    let options = ToolchainOptions { clang: Some(clang.into()), cache, ..ToolchainOptions::default() };
    Arc::new(Toolchain::new(&options).expect("clang-19"))
}

/// Whether registers are as long as cache lines: with shorter ones it depends on how many there are.
fn has_long_registers() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[test]
fn tiles_of_whole_lines_write_around_the_caches() {
    if !has_pass() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let toolchain = toolchain(folder.path());
    for case in CASES {
        let checked = Checked::new(&toolchain, &source(case), &CompileOptions::default());
        let loaded = checked.and_then(|checked| checked.build_for("run", &[], Engine::Pass));
        let loaded = loaded.unwrap_or_else(|failure| panic!("{}\n{failure}", case.body));
        // What the pass cannot compile goes to stacks, and has right results.
        assert_eq!(*loaded.built(), Built::Pass, "{}", case.body);
        let file = folder.path().join("code.ll");
        let code = fs::read_to_string(&file).expect("the pass was asked");
        fs::remove_file(&file).expect("it is of this case only");
        assert!(loaded.in_tiles() || case.body.contains("middle"), "{}", case.body);
        let lines = code.lines().filter(|line| line.contains("store <") && line.contains("!nontemporal")).count();
        assert!(lines == 0 || case.streams, "{lines} stores: {}", case.body);
        assert!(lines > 0 || !case.streams || !has_long_registers(), "no such stores: {}", case.body);
    }
}

/// What a kernel reads, and what it leaves in `out` from a place on; nothing where it is silent.
fn reference(case: &Case, [w, h]: [u32; 2]) -> (Vec<u32>, Vec<u32>) {
    let mut random = Random(u64::from(w * 1000 + h));
    let a: Vec<u32> = (0..w * h).map(|_| random.bits() as u32).collect();
    let mut out = vec![UNTOUCHED; (WORDS * w * h) as usize];
    for (x, y) in (0..h).flat_map(|y| (0..w).map(move |x| (x, y))) {
        for (place, word) in (case.writes)(&Thread { x, y, w, h, a: &a }) {
            out[place as usize] = word;
        }
    }
    (a, out)
}

/// Each kernel in both engines, and a kernel behind it in the same command buffer that reads what it wrote.
fn run_all() {
    let copy = "kernel void run(device uint *to [[buffer(0)]], const device uint *from [[buffer(1)]], uint i [[thread_position_in_grid]]) { to[i] = ~from[i]; }";
    let copy = compile(copy, MathMode::Safe);
    for case in CASES {
        let pipelines = [Engine::Pass, Engine::Stack].map(|engine| {
            let checked = hostmetal::msl::check(&source(case), &CompileOptions::default());
            let loaded = checked.and_then(|checked| checked.build_for("run", &[], engine));
            pipeline(loaded.unwrap_or_else(|failure| panic!("{}\n{failure}", case.body)))
        });
        for &grid in GRIDS {
            let (a, out) = reference(case, grid);
            for (pipeline, &shift) in pipelines.iter().flat_map(|one| SHIFTS.iter().map(move |shift| (one, shift))) {
                let place = format!("{grid:?}, {shift} behind a line: {}", case.body);
                run([pipeline, &copy], grid, shift, (&a, &out), &place);
            }
        }
    }
}

fn run([pipeline, copy]: [&Pipeline; 2], [w, h]: [u32; 2], shift: usize, (a, out): (&[u32], &[u32]), place: &str) {
    let begin = MARGIN + shift;
    let words = begin + out.len() + MARGIN;
    let mut expected = vec![UNTOUCHED; words];
    expected[begin..][..out.len()].copy_from_slice(out);
    let (to, from, other) = (Buffer::of(&vec![UNTOUCHED; words]), Buffer::of(a), Buffer::of(&[UNTOUCHED; 16]));
    let copied = Buffer::new(4 * words as u64);
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(pipeline);
            encoder.buffer(&to, 0);
            encoder.buffer(&from, 1);
            encoder.bytes(&[begin as u32, ROUNDS], 2);
            encoder.buffer(&other, 3);
            encoder.threads([u64::from(w), u64::from(h), 1], [u64::from(SIDE), u64::from(SIDE), 1]);
            encoder.pipeline(copy);
            encoder.buffer(&copied, 0);
            encoder.buffer(&to, 1);
            encoder.threads([words as u64, 1, 1], [256, 1, 1]);
        })
        .assert_completed();
    let (got, copied) = (to.read::<u32>(), copied.read::<u32>());
    if got != expected || copied.iter().zip(&expected).any(|(copied, word)| *copied != !word) {
        let i = (0..words).find(|&i| got[i] != expected[i] || copied[i] != !expected[i]).unwrap_or(words);
        panic!("{place}: {i}: {:#x}, and read {:#x}, for {:#x}", got[i], !copied[i], expected[i]);
    }
    assert_eq!(other.read::<u32>(), [UNTOUCHED; 16], "{place}");
}

/// A limit of a byte, so that every grid is large; one between 64 KiB and the sixteen times that lines 4 KiB apart count for; and none.
#[test]
fn stores_around_the_caches_write_the_same() {
    if std::env::var_os(CHILD).is_some() {
        return run_all();
    }
    for limit in ["1", "256K", "0"] {
        let output = Command::new(std::env::current_exe().expect("the test's own executable"))
            .args(["--exact", "stores_around_the_caches_write_the_same", "--nocapture"])
            .envs([(CHILD, "1"), ("HOSTMETAL_STREAM_SIZE", limit)])
            .output()
            .expect("the test's own program runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "HOSTMETAL_STREAM_SIZE={limit}: {text}");
    }
}
