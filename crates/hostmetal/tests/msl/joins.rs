//! Accesses of one thread that LLVM's vectoriser may join (native/hostmetal/pass/joins.cpp): random programs that write and read elements of
//! their own, at constant places and at places known only when they run, through two pointers that may be one; against an interpreter.
//!
//! In kernels without barriers, which hold one program, and with barriers, between which each loop is one. `HOSTMETAL_SEEDS` says how many
//! kernels of each are tried, `HOSTMETAL_FIRST_SEED` with which to begin.

use crate::stdlib::*;
use crate::support::{Buffer, Queue};
use hostmetal::msl::{Engine, MathMode};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const THREADS: usize = 160;
const PROGRAMS: usize = 6;

/// Where in a thread's elements: at a constant, or at a number modulo their count.
#[derive(Clone, Copy)]
enum Place {
    At(u32),
    /// `v % count`
    Value,
    /// `at[i] % count`
    Given,
}

#[derive(Clone, Copy)]
struct Element {
    /// The second pointer, which lies `shift` elements behind the first.
    second: bool,
    place: Place,
}

enum Statement {
    /// `e = (T)(v + k)`
    Store {
        to: Element,
        k: u32,
    },
    /// `v = v * 3 + e`
    Load {
        from: Element,
    },
    /// `e = f + k`
    Copy {
        to: Element,
        from: Element,
        k: u32,
    },
    /// `e_k = f_k + v` for all k, where `f` is the other pointer's.
    Row {
        second: bool,
    },
    If {
        bit: u32,
        yes: Vec<Statement>,
        no: Vec<Statement>,
    },
}

struct Program {
    body: Vec<Statement>,
    kind: &'static str,
    mask: u32,
    /// Elements of a thread, and how many of them the second pointer has.
    stride: u32,
    shift: u32,
    /// The type of the thread's number.
    index: &'static str,
}

fn below(random: &mut Random, limit: u32) -> u32 {
    (random.bits() % u64::from(limit)) as u32
}

impl Program {
    fn new(random: &mut Random, shift: u32) -> Self {
        let (kind, mask) = [("uchar", 0xff), ("ushort", 0xffff), ("uint", !0)][below(random, 3) as usize];
        let stride = [2, 3, 4, 4, 8][below(random, 5) as usize];
        let index = ["uint", "ulong"][below(random, 2) as usize];
        let mut program = Self { body: Vec::new(), kind, mask, stride, shift, index };
        let length = 3 + below(random, 8);
        program.body = (0..length).map(|_| program.statement(random, true)).collect();
        program
    }

    /// How many elements of a thread a pointer reaches.
    fn count(&self, second: bool) -> u32 {
        if second { self.stride - self.shift } else { self.stride }
    }

    fn element(&self, random: &mut Random) -> Element {
        let second = below(random, 2) == 1;
        let place = match below(random, 6) {
            0 => Place::Value,
            1 => Place::Given,
            _ => Place::At(below(random, self.count(second))),
        };
        Element { second, place }
    }

    fn statement(&self, random: &mut Random, outside: bool) -> Statement {
        match below(random, if outside { 12 } else { 10 }) {
            0..=2 => Statement::Store { to: self.element(random), k: below(random, 100) },
            3..=5 => Statement::Load { from: self.element(random) },
            6..=8 => Statement::Copy { to: self.element(random), from: self.element(random), k: below(random, 9) },
            9 => Statement::Row { second: below(random, 2) == 1 },
            _ => {
                let mut block = || (0..1 + below(random, 3)).map(|_| self.statement(random, false)).collect();
                let (yes, no) = (block(), block());
                Statement::If { bit: 1 << below(random, 3), yes, no }
            }
        }
    }

    fn spelled(&self, element: Element) -> String {
        let count = self.count(element.second);
        let place = match element.place {
            Place::At(k) => k.to_string(),
            Place::Value => format!("v % {count}"),
            Place::Given => format!("at[i] % {count}"),
        };
        format!("{}[{} * i + {place}]", if element.second { "d" } else { "c" }, self.stride)
    }

    fn print(&self, text: &mut String, block: &[Statement]) {
        let (kind, stride) = (self.kind, self.stride);
        for statement in block {
            match statement {
                Statement::Store { to, k } => write!(text, "{} = ({kind})(v + {k}); ", self.spelled(*to)),
                Statement::Load { from } => write!(text, "v = v * 3 + {}; ", self.spelled(*from)),
                Statement::Copy { to, from, k } => {
                    write!(text, "{} = ({kind})({} + {k}); ", self.spelled(*to), self.spelled(*from))
                }
                Statement::Row { second } => {
                    let (to, from) = if *second { ("d", "c") } else { ("c", "d") };
                    let count = stride - self.shift;
                    write!(text, "for (uint k = 0; k < {count}; k++) {to}[{stride} * i + k] = ({kind})({from}[{stride} * i + k] + v); ")
                }
                Statement::If { bit, yes, no } => {
                    write!(text, "if ((v & {bit}) != 0) {{ ").expect("a string");
                    self.print(text, yes);
                    text.push_str("} else { ");
                    self.print(text, no);
                    write!(text, "}} ")
                }
            }
            .expect("a string");
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{{ {0} i = place; device {1} *c = (device {1} *)a, *d = (device {1} *)b + {2} * shift; uint v = place * 7 + 1; ",
            self.index, self.kind, self.shift
        );
        self.print(&mut text, &self.body);
        text.push_str("out[place] += v; }");
        text
    }

    fn at(&self, element: Element, v: u32, given: u32) -> usize {
        let count = self.count(element.second);
        let place = match element.place {
            Place::At(k) => k,
            Place::Value => v % count,
            Place::Given => given % count,
        };
        (place + if element.second { self.shift } else { 0 }) as usize
    }

    /// Executes a block for a thread whose elements are `own`; its `v`.
    fn execute(&self, block: &[Statement], own: &mut [u32], mut v: u32, given: u32) -> u32 {
        for statement in block {
            match statement {
                Statement::Store { to, k } => own[self.at(*to, v, given)] = v.wrapping_add(*k) & self.mask,
                Statement::Load { from } => {
                    v = v.wrapping_mul(3).wrapping_add(own[self.at(*from, v, given)]);
                }
                Statement::Copy { to, from, k } => {
                    own[self.at(*to, v, given)] = own[self.at(*from, v, given)].wrapping_add(*k) & self.mask;
                }
                Statement::Row { second } => {
                    for k in 0..(self.stride - self.shift) as usize {
                        let (first, other) = (k, k + self.shift as usize);
                        let (to, from) = if *second { (other, first) } else { (first, other) };
                        own[to] = own[from].wrapping_add(v) & self.mask;
                    }
                }
                Statement::If { bit, yes, no } => {
                    v = self.execute(if v & bit != 0 { yes } else { no }, own, v, given);
                }
            }
        }
        v
    }
}

/// One kernel of some programs, on memory that both pointers share; what went wrong.
fn check(seed: u64, programs: usize) -> String {
    let mut random = Random(seed);
    let shift = below(&mut random, 2);
    let programs: Vec<Program> = (0..programs).map(|_| Program::new(&mut random, shift)).collect();
    let wait = if programs.len() > 1 { "threadgroup_barrier(mem_flags::mem_device);" } else { "" };
    let texts: Vec<String> = programs.iter().map(|program| format!("{wait} {}", program.text())).collect();
    let source = format!(
        "kernel void run(device void *a [[buffer(0)]], device void *b [[buffer(1)]], const device uint *at [[buffer(2)]], device uint *out [[buffer(3)]],\n\
         \x20 constant uint &shift [[buffer(4)]], uint place [[thread_position_in_grid]]) {{\n  {}\n}}\n",
        texts.join("\n  ")
    );
    let at: Vec<u32> = (0..THREADS).map(|_| below(&mut random, 1000)).collect();
    let mut bytes: Vec<u8> = (0..THREADS * 32).map(|_| random.bits() as u8).collect();
    let (a, given, out) = (Buffer::of(&bytes), Buffer::of(&at), Buffer::new(THREADS as u64 * 4));
    let pipeline = pipeline(load(&source, MathMode::Safe, Engine::Pass));
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            for (index, buffer) in [&a, &a, &given, &out].into_iter().enumerate() {
                encoder.buffer(buffer, index);
            }
            encoder.bytes(&shift, 4);
            // One threadgroup: programs of one kernel give a thread different bytes.
            encoder.threads([THREADS as u64, 1, 1], [THREADS as u64, 1, 1]);
        })
        .assert_completed();
    let mut expected = vec![0u32; THREADS];
    for program in &programs {
        let width = (32 - program.mask.leading_zeros() as usize) / 8;
        let size = program.stride as usize * width;
        for (i, own) in bytes.chunks_exact_mut(size).take(THREADS).enumerate() {
            let mut elements: Vec<u32> =
                own.chunks_exact(width).map(|e| e.iter().rev().fold(0, |n, &byte| n << 8 | u32::from(byte))).collect();
            let v = program.execute(&program.body, &mut elements, i as u32 * 7 + 1, at[i]);
            expected[i] = expected[i].wrapping_add(v);
            for (to, element) in own.chunks_exact_mut(width).zip(&elements) {
                to.copy_from_slice(&element.to_le_bytes()[..width]);
            }
        }
    }
    match a.read::<u8>() == bytes && out.read::<u32>() == expected {
        true => String::new(),
        false => format!("seed {seed}, {} programs:\n{source}\n", programs.len()),
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn joined_accesses_keep_a_threads_order() {
    let first = setting("HOSTMETAL_FIRST_SEED", 0);
    let seeds = setting("HOSTMETAL_SEEDS", 24);
    let next = AtomicU64::new(first);
    let wrong = Mutex::new(String::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        return;
                    }
                    for programs in [1, PROGRAMS] {
                        wrong.lock().expect("no thread has panicked").push_str(&check(seed, programs));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no thread has panicked");
    assert!(wrong.is_empty(), "{wrong}");
}

/// What only tells the compiler something: a helper in front, what follows the first two stores, and its parameters' qualifier.
const TELLINGS: &[(&str, &str, &str)] = &[
    ("", "", ""),
    ("", "", "__restrict"),
    ("", "__builtin_assume(i < 100000);", ""),
    ("", "__builtin_assume(at[i] < 100000);", ""),
    ("", "if (at[i] < 640) {} else __builtin_unreachable();", ""),
    ("uint checked(uint a) { if (a < 640) return a; __builtin_unreachable(); }", "(void)checked(at[i]);", ""),
];

/// A thread reads its own byte behind the store to it.
#[test]
fn what_tells_the_compiler_something_moves_no_access() {
    let at: Vec<u32> = (0..THREADS as u32).map(|i| 4 * i).collect();
    let expected: Vec<u8> = (0..THREADS).flat_map(|i| [i as u8 + 1, 2, i as u8 + 1, 4]).collect();
    for (helper, telling, qualifier) in TELLINGS {
        let text = format!(
            "{helper}\nvoid body(device uchar4 *{qualifier} out, const device uint *{qualifier} at, uint i) {{
               device uchar *any = (device uchar *)out;
               out[i].x = i + 1; out[i].y = 2; {telling} out[i].z = any[at[i]]; out[i].w = 4;
             }}
             kernel void run(device uchar4 *out [[buffer(0)]], device const uint *at [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {{ body(out, at, i); }}"
        );
        let pipeline = pipeline(load(&text, MathMode::Safe, Engine::Pass));
        let (out, at) = (Buffer::new(4 * THREADS as u64), Buffer::of(&at));
        Queue::new()
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.buffer(&out, 0);
                encoder.buffer(&at, 1);
                encoder.threads([THREADS as u64, 1, 1], [THREADS as u64 / 2, 1, 1]);
            })
            .assert_completed();
        assert_eq!(out.read::<u8>(), expected, "{text}");
    }
}
