//! Kernels with divergent loops around SIMD-group functions, against an execution in lockstep: lanes that part in a branch meet
//! behind it, lanes that stay in a loop meet at the end of each iteration.

use crate::stdlib::*;
use crate::support::Buffer;
use hostmetal::msl::MathMode;
use std::fmt::Write;

/// Threads of a threadgroup: two whole SIMD-groups; then partial ones.
const THREADS: [usize; 4] = [64, 50, 32, 7];

/// Runs the kernel `run`, which writes `per_thread` numbers of each thread.
fn results(source: &str, per_thread: usize, threads: usize) -> Vec<u32> {
    let out = Buffer::new((per_thread * threads * 4) as u64);
    run(&compile(source, MathMode::Safe), &[&out, &Buffer::of(&[7u32])], threads, threads);
    out.read::<u32>()
}

// ---------------------------------------------------------------- by hand

/// The lanes of one SIMD-group, each with a number.
struct Lanes {
    /// The lanes that exist.
    all: u32,
    s: [u32; 32],
}

fn select(lanes: u32, holds: impl Fn(u32) -> bool) -> u32 {
    (0..32).filter(|&lane| lanes >> lane & 1 != 0 && holds(lane)).fold(0, |mask, lane| mask | 1 << lane)
}

impl Lanes {
    /// `s = s * 3 + simd_sum(v(lane))` of the lanes `active`.
    fn sum(&mut self, active: u32, v: impl Fn(u32) -> u32) {
        self.meet(active, 32, |lanes| (0..32).filter(|l| lanes >> l & 1 != 0).map(&v).sum());
    }

    fn quad_sum(&mut self, active: u32, v: impl Fn(u32) -> u32) {
        self.meet(active, 4, |lanes| (0..32).filter(|l| lanes >> l & 1 != 0).map(&v).sum());
    }

    fn meet(&mut self, active: u32, width: u32, value: impl Fn(u32) -> u32) {
        for first in (0..32).step_by(width as usize) {
            let lanes = active & (u32::MAX >> (32 - width)) << first;
            for lane in 0..32 {
                if lanes >> lane & 1 != 0 {
                    let s = &mut self.s[lane as usize];
                    *s = s.wrapping_mul(3).wrapping_add(value(lanes));
                }
            }
        }
    }
}

type Reference = fn(&mut Lanes);

/// The reference of most loops: seven iterations, in each the lanes of one parity.
fn alternate(lanes: &mut Lanes) {
    for i in 0..7 {
        lanes.sum(select(lanes.all, |lane| (lane + i) & 1 == 1), |lane| lane * 5 + i);
    }
}

/// As many iterations as the lane's number modulo 5, in each the lanes of one parity.
fn divergent(lanes: &mut Lanes) {
    for i in 0..5 {
        let inside = select(lanes.all, |lane| i < lane % 5);
        lanes.sum(select(inside, |lane| (lane + i) & 1 == 1), |lane| lane * 5 + i);
    }
    let all = lanes.all;
    lanes.sum(all, |lane| lane);
}

const OP: &str = "s = s * 3 + simd_sum(lane * 5 + i);";

/// Declarations, the body of the kernel, and what it computes in `s`. OP stands for the operation with `lane` and `i`.
const KERNELS: &[(&str, &str, Reference)] = &[
    ("", "for (uint i = 0; i < 7; i++) { if ((lane + i) & 1) OP }", alternate),
    ("", "for (uint i = 0; i < 7; i++) if ((lane + i) & 1) { OP } else s += 0;", alternate),
    ("", "uint i = 0; for (; i < 7;) { if ((lane + i) & 1) OP i++; }", alternate),
    ("", "for (uint i = 0, j = 9; i < 7; i++, j--) { if (!((lane + i) & 1)) continue; OP }", alternate),
    ("", "for (uint i = 0; i < 7; i++) { if (!((lane + i) & 1)) { if (lane < 99) continue; } OP }", alternate),
    ("", "uint i = 0; while (i < 7) { if ((lane + i) & 1) OP i++; }", alternate),
    ("", "uint i = 0; while (i < 7) { uint j = i++; if (!((lane + j) & 1)) continue; { uint i = j; OP } }", alternate),
    ("", "uint left = 7; while (uint now = left--) { uint i = 7 - now; if ((lane + i) & 1) OP }", alternate),
    ("", "uint i = 0; do { if ((lane + i) & 1) OP i++; } while (i < 7);", alternate),
    ("", "uint i = 0; do if ((lane + i) & 1) OP while (++i < 7);", alternate),
    ("", "uint j = 0; do { uint i = j; if (!((lane + i) & 1)) continue; OP } while (++j < 7);", alternate),
    ("", "uint i = 0; while (true) { if (i == 7) break; if ((lane + i) & 1) OP i++; }", alternate),
    ("", "uint a[7] = {0, 1, 2, 3, 4, 5, 6}; for (uint i : a) { if ((lane + i) & 1) OP }", alternate),
    ("", "uint a[7] = {0, 1, 2, 3, 4, 5, 6}; for (uint i : a) { if (!((lane + i) & 1)) continue; OP }", alternate),
    ("", "uint a[7] = {0, 1, 2, 3, 4, 5, 6}; for (uint i : a) if ((lane + i) & 1) OP", alternate),
    ("", "for (uint i = 0; i < 7; i++) switch ((lane + i) & 1) { case 1: OP break; default: break; }", alternate),
    ("", "for (uint i = 0; i < 7; i++) s = ((lane + i) & 1) ? s * 3 + simd_sum(lane * 5 + i) : s;", alternate),
    (
        "",
        "for (uint i = 0; i < 7; i++) { uint t = 0; bool b = ((lane + i) & 1) && ((t = simd_sum(lane * 5 + i)), true); if (b) s = s * 3 + t; }",
        alternate,
    ),
    (
        "",
        "for (uint i = 0; i < 7; i++) { auto f = [&](uint x) { s = s * 3 + simd_sum(x); }; if ((lane + i) & 1) f(lane * 5 + i); }",
        alternate,
    ),
    (
        "",
        "auto f = [&](uint x) { s = s * 3 + simd_sum(x); }; for (uint i = 0; i < 7; i++) if ((lane + i) & 1) f(lane * 5 + i);",
        alternate,
    ),
    ("", "auto f = [&]() { for (uint i = 0; i < 7; i++) if ((lane + i) & 1) OP }; f();", alternate),
    (
        "uint help(uint x) { return simd_sum(x); }",
        "for (uint i = 0; i < 7; i++) if ((lane + i) & 1) s = s * 3 + help(lane * 5 + i);",
        alternate,
    ),
    (
        "void help(thread uint &s, uint lane, uint i) { if ((lane + i) & 1) OP }",
        "for (uint i = 0; i < 7; i++) help(s, lane, i);",
        alternate,
    ),
    (
        "void help(thread uint &s, uint lane, uint i) { if (((lane + i) & 1) == 0) return; OP }",
        "for (uint i = 0; i < 7; i++) help(s, lane, i);",
        alternate,
    ),
    (
        "uint help(uint lane) { uint s = 0; for (uint i = 0; i < 7; i++) { if ((lane + i) & 1) OP } return s; }",
        "s = help(lane);",
        alternate,
    ),
    (
        "template <typename T, int N> T help(T lane) { T s = 0; for (T i = 0; i < T(N); i++) { if ((lane + i) & 1) OP } return s; }",
        "s = help<uint, 7>(lane);",
        alternate,
    ),
    (
        "struct S { uint s; void go(uint lane, uint n) { for (uint i = 0; i < n; i++) if ((lane + i) & 1) OP } };",
        "S x = {0}; x.go(lane, 7); s = x.s;",
        alternate,
    ),
    (
        "struct S { uint s; void go(uint lane, uint i) thread { OP } };",
        "S x = {0}; for (uint i = 0; i < 7; i++) if ((lane + i) & 1) x.go(lane, i); s = x.s;",
        alternate,
    ),
    (
        "struct S { uint operator()(uint x) const { return simd_sum(x); } };",
        "S f; for (uint i = 0; i < 7; i++) if ((lane + i) & 1) s = s * 3 + f(lane * 5 + i);",
        alternate,
    ),
    (
        "template <typename F> void each(uint n, F f) { for (uint i = 0; i < n; i++) f(i); }",
        "each(7, [&](uint i) { if ((lane + i) & 1) OP });",
        alternate,
    ),
    (
        "template <typename F> void each(uint n, uint lane, F f) { for (uint i = 0; i < n; i++) if ((lane + i) & 1) f(i); }",
        "each(7, lane, [&](uint i) { OP });",
        alternate,
    ),
    (
        "uint add(uint x) { return simd_sum(x); }\ntemplate <uint (*f)(uint)> void each(thread uint &s, uint lane) { for (uint i = 0; i < 7; i++) if ((lane + i) & 1) s = s * 3 + f(lane * 5 + i); }",
        "each<add>(s, lane);",
        alternate,
    ),
    (
        "using Alias = struct Op { static uint go(uint x) { return simd_sum(x); } };",
        "for (uint i = 0; i < 7; i++) if ((lane + i) & 1) s = s * 3 + Alias::go(lane * 5 + i);",
        alternate,
    ),
    (
        "",
        "for (uint i = 0; i < 7; i++) { threadgroup_barrier(mem_flags::mem_none); if ((lane + i) & 1) OP threadgroup_barrier(mem_flags::mem_none); }",
        alternate,
    ),
    (
        "",
        "for (uint i = 0; i < 7; i++) { threadgroup_barrier(mem_flags::mem_none); if ((lane + i) & 1) OP }",
        alternate,
    ),
    // The increment has an operation of its own.
    ("", "for (uint i = 0; i < 7; i += simd_min(1u)) { if ((lane + i) & 1) OP }", alternate),
    (
        "",
        "uint t = 0; for (uint i = 0; i < 7; i++, t = ((lane + i) & 1) ? simd_max(lane) : 0) { if ((lane + i) & 1) OP }",
        alternate,
    ),
    ("", "uint i = 0; do { if ((lane + i) & 1) OP i++; } while (lane % 3 == 0 ? i < 7 : simd_max(i) < 7);", alternate),
    ("", "uint i = 0; while (lane % 3 == 0 ? i < 7 : simd_max(i) < 7) { if ((lane + i) & 1) OP i++; }", alternate),
    // Lanes leave at different times, and meet behind the loop.
    ("", "for (uint i = 0; i < lane % 5; i++) { if ((lane + i) & 1) OP } s = s * 3 + simd_sum(lane);", divergent),
    (
        "",
        "for (uint i = 0; true; i++) { if (i >= lane % 5) break; if ((lane + i) & 1) OP } s = s * 3 + simd_sum(lane);",
        divergent,
    ),
    ("", "uint i = 0; while (i < lane % 5) { if ((lane + i) & 1) OP i++; } s = s * 3 + simd_sum(lane);", divergent),
    (
        "",
        "uint i = 0; if (lane % 5) do { if ((lane + i) & 1) OP } while (++i < lane % 5); s = s * 3 + simd_sum(lane);",
        divergent,
    ),
    (
        "void help(thread uint &s, uint lane) { for (uint i = 0; true; i++) { if (i >= lane % 5) return; if ((lane + i) & 1) OP } }",
        "help(s, lane); s = s * 3 + simd_sum(lane);",
        divergent,
    ),
    // An operation on the way out: the lanes that leave in one iteration.
    ("", "for (uint i = 0; i < 7; i++) { if (lane % 4 == i) { OP break; } }", |lanes| {
        for i in 0..4 {
            lanes.sum(select(lanes.all, |lane| lane % 4 == i), |lane| lane * 5 + i);
        }
    }),
    (
        "void help(thread uint &s, uint lane) { for (uint i = 0; i < 7; i++) { if (lane % 4 == i) { OP return; } } }",
        "help(s, lane); s = s * 3 + simd_sum(lane);",
        |lanes| {
            let all = lanes.all;
            for i in 0..4 {
                lanes.sum(select(all, |lane| lane % 4 == i), |lane| lane * 5 + i);
            }
            lanes.sum(all, |lane| lane);
        },
    ),
    // One loop in another, both with trip counts of their own.
    ("", "for (uint j = 0; j < 3 + lane % 2; j++) for (uint i = 0; i < (lane + j) % 4; i++) OP", |lanes| {
        for j in 0..4 {
            let outer = select(lanes.all, |lane| j < 3 + lane % 2);
            for i in 0..4 {
                lanes.sum(select(outer, |lane| i < (lane + j) % 4), |lane| lane * 5 + i);
            }
        }
    }),
    (
        "",
        "for (uint j = 0; j < 4; j++) { uint i = j; if (lane % 3 == j % 3) OP while (i < lane % 4) { if (lane & 4) OP i++; } if (lane % 3 == 1) continue; OP }",
        |lanes| {
            for j in 0..4 {
                let all = lanes.all;
                lanes.sum(select(all, |lane| lane % 3 == j % 3), |lane| lane * 5 + j);
                for i in j..4 {
                    lanes.sum(select(all, |lane| i < lane % 4 && lane & 4 != 0), |lane| lane * 5 + i);
                }
                lanes.sum(select(all, |lane| lane % 3 != 1), |lane| lane * 5 + j.max(lane % 4));
            }
        },
    ),
    // One helper in both arms of a branch.
    (
        "__attribute__((noinline)) void help(thread uint &s, uint lane, uint n) { for (uint i = 0; i < n; i++) { if ((lane + i) & 1) OP } }",
        "if (lane % 3) help(s, lane, 4); else help(s, lane, 3);",
        |lanes| {
            for (part, n) in
                [(select(lanes.all, |lane| lane % 3 != 0), 4), (select(lanes.all, |lane| lane % 3 == 0), 3)]
            {
                for i in 0..n {
                    lanes.sum(select(part, |lane| (lane + i) & 1 == 1), |lane| lane * 5 + i);
                }
            }
        },
    ),
    // Quads, and both.
    ("", "for (uint i = 0; i < 7; i++) { if ((lane + i) & 1) s = s * 3 + quad_sum(lane * 5 + i); }", |lanes| {
        for i in 0..7 {
            lanes.quad_sum(select(lanes.all, |lane| (lane + i) & 1 == 1), |lane| lane * 5 + i);
        }
    }),
    (
        "",
        "for (uint i = 0; i < lane % 6; i++) { if ((lane / 2 + i) & 1) { s = s * 3 + quad_sum(lane + i); continue; } OP }",
        |lanes| {
            for i in 0..6 {
                let inside = select(lanes.all, |lane| i < lane % 6);
                let first = select(inside, |lane| (lane / 2 + i) & 1 == 1);
                lanes.quad_sum(first, |lane| lane + i);
                lanes.sum(inside & !first, |lane| lane * 5 + i);
            }
        },
    ),
    // What a loop returns.
    (
        "uint help(uint s, uint lane) { for (uint i = 0; true; i++) { if (lane % 4 == i) return s * 3 + simd_sum(lane * 5 + i); } }",
        "s = help(s, lane);",
        leave_with_sum,
    ),
    (
        "uint help(uint s, uint lane) { uint i = 0; while (true) { if (lane % 4 != i) { i++; continue; } return s * 3 + simd_sum(lane * 5 + i); } }",
        "s = help(s, lane);",
        leave_with_sum,
    ),
    (
        "ulong help(ushort s, uint lane) { uint i = 0; do { if (lane % 4 == i) { return s * 3u + simd_sum(lane * 5 + i); } } while (++i < 4); return 77; }",
        "s = uint(help(s, lane));",
        leave_with_sum,
    ),
    (
        "",
        "auto help = [&]() -> uint { for (uint i = 0; true; i++) if (lane % 4 == i) return s * 3 + simd_sum(lane * 5 + i); }; s = help();",
        leave_with_sum,
    ),
    (
        "void add(thread uint &s, uint lane, uint i) { OP }\nvoid help(thread uint &s, uint lane) { for (uint i = 0; true; i++) if (lane % 4 == i) return add(s, lane, i); }",
        "help(s, lane);",
        leave_with_sum,
    ),
    (
        "struct Two { uint a, b; Two(uint x, uint y) : a(x), b(y) {} };\nTwo help(uint s, uint lane) { for (uint i = 0; true; i++) if (lane % 4 == i) return Two(s * 3 + simd_sum(lane * 5 + i), 1); }",
        "s = help(s, lane).a;",
        leave_with_sum,
    ),
    (
        "uint help(uint s, uint lane) { for (uint i = 0; i < 9; i++) { if (lane % 4 == i) return s * 3 + simd_sum(lane * 5 + i); OP } return s; }",
        "s = help(s, lane);",
        |lanes| {
            for i in 0..4 {
                let inside = select(lanes.all, |lane| lane % 4 >= i);
                let leaving = select(inside, |lane| lane % 4 == i);
                lanes.sum(leaving, |lane| lane * 5 + i);
                lanes.sum(inside & !leaving, |lane| lane * 5 + i);
            }
        },
    ),
];

/// As `divergent` leaves a loop, but what a lane leaves with is the operation's result.
fn leave_with_sum(lanes: &mut Lanes) {
    for i in 0..4 {
        lanes.sum(select(lanes.all, |lane| lane % 4 == i), |lane| lane * 5 + i);
    }
}

/// What a kernel is to write: the reference of each SIMD-group.
fn expected(reference: Reference, threads: usize) -> Vec<u32> {
    (0..threads)
        .step_by(32)
        .flat_map(|first| {
            let count = (threads - first).min(32);
            let mut lanes = Lanes { all: u32::MAX >> (32 - count), s: [0; 32] };
            reference(&mut lanes);
            lanes.s[..count].to_vec()
        })
        .collect()
}

#[test]
fn loops_by_hand() {
    let mut wrong = String::new();
    for (declarations, body, reference) in KERNELS {
        // Not known when the loops are compiled, or they would be unrolled.
        let body = &body.replace("< 7", "< seven").replace("== 7", "== seven").replace("left = 7", "left = seven");
        let source = format!(
            "{declarations}\nkernel void run(device uint *out [[buffer(0)]], constant uint &seven [[buffer(1)]], uint place [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {{\n\
               uint s = 0;\n  {body}\n  out[place] = s;\n}}\n"
        )
        .replace("OP\n", &format!("{OP}\n")).replace("OP ", &format!("{OP} "));
        for threads in THREADS {
            if results(&source, 1, threads) != expected(*reference, threads) {
                writeln!(wrong, "with {threads} threads: {declarations}\n  {body}").expect("a string");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

// ---------------------------------------------------------------- at random

/// A statement of a random program over the number `h` of each lane.
enum Statement {
    /// `h = h * 3 + operation(h ^ id)`
    Operation {
        id: u32,
        kind: u32,
    },
    If {
        condition: u32,
        yes: Vec<Statement>,
        no: Vec<Statement>,
    },
    /// As many rounds as `h` tells in the beginning, up to 3; always 3 in the last two forms.
    Loop {
        id: u32,
        form: u32,
        body: Vec<Statement>,
    },
    /// `if (condition) break;`, `continue` or `return`.
    Leave {
        condition: u32,
        how: Leave,
    },
    Call {
        function: usize,
    },
}

#[derive(Clone, Copy, PartialEq)]
enum Leave {
    Break,
    Continue,
    Return,
}

struct Generator {
    random: Random,
    id: u32,
    functions: Vec<Vec<Statement>>,
}

impl Generator {
    fn below(&mut self, limit: u64) -> u32 {
        (self.random.bits() % limit) as u32
    }

    fn block(&mut self, depth: u32, in_loop: bool) -> Vec<Statement> {
        (0..1 + self.below(3)).map(|_| self.statement(depth, in_loop)).collect()
    }

    fn statement(&mut self, depth: u32, in_loop: bool) -> Statement {
        self.id += 1;
        let id = self.id;
        match self.below(12) {
            0..=2 if depth > 0 => {
                let condition = self.random.bits() as u32;
                let yes = self.block(depth - 1, in_loop);
                let no = if self.below(2) == 0 { Vec::new() } else { self.block(depth - 1, in_loop) };
                Statement::If { condition, yes, no }
            }
            3..=6 if depth > 0 => Statement::Loop { id, form: self.below(6), body: self.block(depth - 1, true) },
            7 | 8 if in_loop => {
                let how = [Leave::Break, Leave::Continue, Leave::Return][self.below(3) as usize];
                Statement::Leave { condition: self.random.bits() as u32, how }
            }
            9 if !self.functions.is_empty() => {
                let count = self.functions.len() as u64;
                Statement::Call { function: self.below(count) as usize }
            }
            _ => Statement::Operation { id, kind: self.below(4) },
        }
    }
}

fn holds(condition: u32, h: u32) -> bool {
    (h ^ condition).wrapping_mul(0x85eb_ca6b) >> 28 < 8
}

fn rounds(id: u32, h: u32) -> u32 {
    (h ^ id).wrapping_mul(0x9e37_79b9) >> 30
}

fn print(text: &mut String, block: &[Statement], name: &str) {
    for statement in block {
        match statement {
            Statement::Operation { id, kind } => {
                let call = ["simd_sum", "quad_sum", "simd_max", "simd_prefix_inclusive_sum"][*kind as usize];
                write!(text, "h = h * 3 + {call}(h ^ {id}u); ").expect("a string");
            }
            Statement::If { condition, yes, no } => {
                write!(text, "if (holds({condition}u, h)) {{ ").expect("a string");
                print(text, yes, name);
                text.push_str(if no.is_empty() { "} " } else { "} else { " });
                print(text, no, name);
                text.push_str(if no.is_empty() { "" } else { "} " });
            }
            Statement::Loop { id, form, body } => {
                let (i, n) = (format!("i{id}"), format!("n{id}"));
                write!(text, "uint {n} = (h ^ {id}u) * 0x9e3779b9u >> 30; ").expect("a string");
                match form {
                    0 => write!(text, "for (uint {i} = 0; {i} < {n}; {i}++) {{ "),
                    1 => write!(text, "while ({n}-- > 0) {{ "),
                    2 => write!(text, "if ({n} > 0) do {{ "),
                    3 => write!(text, "for (uint {i} = 0; true; {i}++) {{ if ({i} == {n}) break; "),
                    4 => write!(text, "for (uint {i} = 0; {i} < 3; {i}++) {{ h += {n}; "),
                    _ => write!(text, "uint a{id}[3] = {{{n}, {n}, {n}}}; for (uint {i} : a{id}) {{ h += {i}; "),
                }
                .expect("a string");
                print(text, body, name);
                match form {
                    2 => write!(text, "}} while (--{n} > 0); "),
                    _ => write!(text, "}} "),
                }
                .expect("a string");
            }
            Statement::Leave { condition, how } => {
                let word = match how {
                    Leave::Break => "break",
                    Leave::Continue => "continue",
                    Leave::Return => "return",
                };
                write!(text, "if (holds({condition}u, h)) {word}; ").expect("a string");
            }
            Statement::Call { function } => write!(text, "{name}_{function}(h); ").expect("a string"),
        }
    }
}

/// The lanes of a block that leave it early.
#[derive(Default)]
struct Left {
    broken: u32,
    continued: u32,
    returned: u32,
}

impl Lanes {
    /// Executes a block in lockstep; the lanes that come to its end.
    fn execute(&mut self, functions: &[Vec<Statement>], block: &[Statement], mut active: u32, left: &mut Left) -> u32 {
        for statement in block {
            match statement {
                Statement::Operation { id, kind } => {
                    let before = self.s;
                    let value = |lane: u32| before[lane as usize] ^ id;
                    let total =
                        |lanes: u32| (0..32).filter(|l| lanes >> l & 1 != 0).map(value).fold(0, u32::wrapping_add);
                    match kind {
                        0 => self.meet(active, 32, total),
                        1 => self.meet(active, 4, total),
                        2 => self.meet(active, 32, |lanes| {
                            (0..32).filter(|l| lanes >> l & 1 != 0).map(value).max().unwrap_or(0)
                        }),
                        _ => {
                            for lane in (0..32u32).filter(|l| active >> l & 1 != 0) {
                                let sum = total(active & (u32::MAX >> (31 - lane)));
                                self.s[lane as usize] = before[lane as usize].wrapping_mul(3).wrapping_add(sum);
                            }
                        }
                    }
                }
                Statement::If { condition, yes, no } => {
                    let taken = select(active, |lane| holds(*condition, self.s[lane as usize]));
                    let rest = self.execute(functions, no, active & !taken, left);
                    active = self.execute(functions, yes, taken, left) | rest;
                }
                Statement::Loop { id, form, body } => {
                    let told = self.s.map(|h| rounds(*id, h));
                    let trips = if *form < 4 { told } else { [3; 32] };
                    let (mut inside, mut behind) = (active, 0);
                    for round in 0.. {
                        let going = select(inside, |lane| round < trips[lane as usize]);
                        behind |= inside & !going;
                        if going == 0 {
                            break;
                        }
                        for lane in (0..32).filter(|l| *form >= 4 && going >> l & 1 != 0) {
                            self.s[lane] = self.s[lane].wrapping_add(told[lane]);
                        }
                        let mut own = Left::default();
                        let end = self.execute(functions, body, going, &mut own);
                        inside = end | own.continued;
                        behind |= own.broken;
                        left.returned |= own.returned;
                    }
                    active = behind;
                }
                Statement::Leave { condition, how } => {
                    let going = select(active, |lane| holds(*condition, self.s[lane as usize]));
                    match how {
                        Leave::Break => left.broken |= going,
                        Leave::Continue => left.continued |= going,
                        Leave::Return => left.returned |= going,
                    }
                    active &= !going;
                }
                Statement::Call { function } => {
                    let mut own = Left::default();
                    active = self.execute(functions, &functions[*function], active, &mut own) | own.returned;
                }
            }
            if active == 0 {
                break;
            }
        }
        active
    }
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Programs, 15 in a kernel; each starts from numbers of its own. `HOSTMETAL_SEEDS` says how many kernels are tried, 20 when it is not set,
/// from the number `HOSTMETAL_FIRST_SEED` on, 0 when it is not.
#[test]
fn random_programs() {
    const PROGRAMS: usize = 15;
    let mut wrong = String::new();
    let first_seed = setting("HOSTMETAL_FIRST_SEED", 0);
    for seed in first_seed..first_seed + setting("HOSTMETAL_SEEDS", 20) {
        let mut source = "bool holds(uint c, uint h) { return (h ^ c) * 0x85ebca6bu >> 28 < 8; }\n".to_owned();
        let mut calls = String::new();
        let mut programs = Vec::new();
        for p in 0..PROGRAMS {
            let mut generator = Generator { random: Random((seed * 100 + p) as u64), id: 0, functions: Vec::new() };
            for depth in [1, 2, 3] {
                let function = generator.block(depth, false);
                write!(source, "void p{p}_{}(thread uint &h) {{ ", generator.functions.len()).expect("a string");
                print(&mut source, &function, &format!("p{p}"));
                source.push_str("}\n");
                generator.functions.push(function);
            }
            writeln!(calls, "  h = place * 2654435761u + {p}u; p{p}_2(h); out[{p} * n + place] = h;")
                .expect("a string");
            programs.push(generator.functions);
        }
        write!(source, "kernel void run(device uint *out [[buffer(0)]], constant uint &seven [[buffer(1)]], uint place [[thread_position_in_grid]], uint n [[threads_per_grid]]) {{\n  uint h;\n{calls}}}\n").expect("a string");
        for threads in [64, 43] {
            let got = results(&source, PROGRAMS, threads);
            for (p, functions) in programs.iter().enumerate() {
                let mut expected = Vec::new();
                for first in (0..threads).step_by(32) {
                    let count = (threads - first).min(32);
                    let s = std::array::from_fn(|l| {
                        ((first + l) as u32).wrapping_mul(2_654_435_761).wrapping_add(p as u32)
                    });
                    let mut lanes = Lanes { all: u32::MAX >> (32 - count), s };
                    lanes.execute(functions, &functions[2], lanes.all, &mut Left::default());
                    expected.extend(&lanes.s[..count]);
                }
                if got[p * threads..(p + 1) * threads] != expected {
                    writeln!(wrong, "seed {seed}, program {p}, {threads} threads").expect("a string");
                    let own = source.lines().filter(|l| l.starts_with(&format!("void p{p}_")));
                    wrong.extend(own.flat_map(|l| [l, "\n"]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
