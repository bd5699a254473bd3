//! Random kernels with loops that all threads go through alike, in tiles (native/hostmetal/pass/tiles.cpp) and without, against an interpreter that
//! executes them thread by thread.
//!
//! Threads only meet at the barriers of an exchange, which no loop contains; some variables are set by some threads only, and read by them behind it. Half
//! of the kernels say of their pointers that they are `__restrict`. `HOSTMETAL_SEEDS` says how many kernels are tried, 40 when it is not
//! set, and `HOSTMETAL_FIRST_SEED` with which to begin.

use crate::stdlib::*;
use crate::support::{Buffer, Queue};
use hostmetal::msl::{Engine, MathMode};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Variables of a thread, `h0` and so on.
const VARIABLES: u32 = 3;
/// Words of `a`, more than any index reaches.
const WORDS: usize = 1 << 14;
const N: u32 = 17;
const P: [u32; 8] = [3, 1, 4, 1, 5, 9, 2, 6];

#[derive(Clone, Copy)]
enum Value {
    Variable(u32),
    X,
    Y,
    /// The number in the threadgroup.
    T,
    Counter(u32),
    Constant(u32),
    /// `p[k]`, which the host gives.
    Given(u32),
    N,
}

enum Statement {
    /// Arithmetic of a kind, into a variable.
    Mix { to: u32, kind: u32, left: Value, right: Value },
    /// From memory, where a kind of index says.
    Load { to: u32, kind: u32, counter: Value, offset: u32 },
    /// `if (left < right) to = from; else to += other;`
    Choose { to: u32, left: Value, right: Value, from: Value, other: Value },
    /// `count % 6` rounds, in several forms.
    Loop { id: u32, form: u32, count: Value, body: Vec<Statement> },
    /// `if ((value & bit) != 0) break;`, or continue, for all threads or some.
    Leave { value: Value, bit: u32, to_end: bool },
    /// `mine[i] = mine[i] * 3 + value`, with an index of 32 or 64 bits.
    Store { value: Value, long: bool },
    /// Each thread's own rounds: where they hold nothing that forbids it, threads go through them together.
    Own { id: u32, body: Vec<Statement> },
    /// Threads beyond a line leave 77 and go.
    Guard { x: u32, y: u32, limit: u32 },
    /// Through threadgroup memory: with a loop over all of the threadgroup, or with the next thread, a column for each `x` being
    /// written or read.
    Exchange { id: u32, to: u32, from: u32, form: u32 },
    /// A variable that is set by the threads of a condition of their own, and added to one of the thread's by the same behind the body, in which all
    /// threads exchange something.
    Partly { id: u32, to: u32, from: Value, bit: u32, body: Vec<Statement> },
}

struct Generator {
    random: Random,
    id: u32,
    counters: Vec<u32>,
    waits: bool,
}

impl Generator {
    fn below(&mut self, limit: u32) -> u32 {
        (self.random.bits() % u64::from(limit)) as u32
    }

    fn counter(&mut self) -> Value {
        if self.counters.is_empty() {
            return Value::Constant(self.below(5));
        }
        let number = self.below(self.counters.len() as u32);
        Value::Counter(self.counters[number as usize])
    }

    /// The same for all threads.
    fn common(&mut self) -> Value {
        match self.below(4) {
            0 => Value::Given(self.below(8)),
            1 => Value::N,
            2 => Value::Constant(self.below(50)),
            _ => self.counter(),
        }
    }

    fn value(&mut self) -> Value {
        match self.below(10) {
            0 => Value::X,
            1 => Value::Y,
            2 => Value::T,
            3..=5 => self.common(),
            _ => Value::Variable(self.below(VARIABLES)),
        }
    }

    fn block(&mut self, depth: u32, in_loop: bool) -> Vec<Statement> {
        (0..1 + self.below(4)).map(|_| self.statement(depth, in_loop)).collect()
    }

    fn statement(&mut self, depth: u32, in_loop: bool) -> Statement {
        self.id += 1;
        let (id, to) = (self.id, self.below(VARIABLES));
        match self.below(24) {
            0..=5 => Statement::Load { to, kind: self.below(8), counter: self.counter(), offset: self.below(40) },
            6 | 7 => {
                let (left, right, from, other) = (self.value(), self.value(), self.value(), self.value());
                Statement::Choose { to, left, right, from, other }
            }
            8..=13 if depth > 0 => {
                let count = if self.below(8) == 0 { Value::Y } else { self.common() };
                let form = self.below(3);
                self.counters.push(id);
                let body = self.block(depth - 1, true);
                self.counters.pop();
                Statement::Loop { id, form, count, body }
            }
            14 if in_loop => {
                let value = if self.below(3) == 0 { self.value() } else { self.common() };
                Statement::Leave { value, bit: 1 << self.below(3), to_end: self.below(2) == 0 }
            }
            15 if self.below(2) == 0 => Statement::Store { value: self.value(), long: self.below(2) == 0 },
            16 if depth > 0 && self.below(2) == 0 => Statement::Own { id, body: self.block(depth - 1, true) },
            17 if !in_loop && !self.waits => {
                Statement::Guard { x: self.below(4), y: self.below(9), limit: 20 + self.below(200) }
            }
            18 | 19 if !in_loop && self.waits => {
                if depth > 0 && self.below(3) == 0 {
                    let mut body = self.block(depth - 1, false);
                    self.id += 1;
                    body.push(Statement::Exchange {
                        id: self.id,
                        to,
                        from: self.below(VARIABLES),
                        form: self.below(4),
                    });
                    let from = if self.below(2) == 0 { self.common() } else { self.value() };
                    return Statement::Partly { id, to: self.below(VARIABLES), from, bit: 1 << self.below(5), body };
                }
                Statement::Exchange { id, to, from: self.below(VARIABLES), form: self.below(4) }
            }
            _ => Statement::Mix { to, kind: self.below(8), left: self.value(), right: self.value() },
        }
    }
}

// ---------------------------------------------------------------- the text

fn spelled(value: Value) -> String {
    match value {
        Value::Variable(number) => format!("h{number}"),
        Value::X => "x".to_owned(),
        Value::Y => "y".to_owned(),
        Value::T => "t".to_owned(),
        Value::Counter(id) => format!("k{id}"),
        Value::Constant(value) => format!("{value}u"),
        Value::Given(k) => format!("p[{k}]"),
        Value::N => "n".to_owned(),
    }
}

fn print(text: &mut String, block: &[Statement]) {
    const WAIT: &str = "threadgroup_barrier(mem_flags::mem_threadgroup);";
    for statement in block {
        match statement {
            Statement::Mix { to, kind, left, right } => {
                let (l, r) = (spelled(*left), spelled(*right));
                let value = match kind {
                    0 => format!("(h{to} ^ {l}) * 0x9e3779b1u + {r}"),
                    1 => format!("({l} + {r} * 3) ^ (h{to} >> 5)"),
                    2 => format!("h{to} * 5 + uint((ulong({l}) * 0x10001ul + {r}) >> 9)"),
                    3 => format!("h{to} - uint(int(short(ushort({l}))) >> 2) * {r}"),
                    4 => format!("min(h{to}, {l}) + max({r}, 7u)"),
                    // Wraps around for some lanes and not for others.
                    5 => format!("h{to} + uint(ulong(x + {l} * 0x0fffffffu - 8) * 5 >> 3)"),
                    6 => format!("h{to} ^ uint(long(int(t * 2 + 0x7ffffff0u - {l})) * 5 >> 4)"),
                    _ => format!("popcount({l}) + clz({r}) + abs(int(h{to}))"),
                };
                write!(text, "h{to} = {value}; ")
            }
            Statement::Load { to, kind, counter, offset } => {
                let c = spelled(*counter);
                let value = match kind {
                    0 => format!("a[{c} * w + x + {offset}]"),
                    1 => format!("a[y * 16 + {c} + {offset}]"),
                    2 => format!("((const device uchar *)a)[{c} * w + x + {offset}]"),
                    3 => format!("*(a + {offset} + x + ulong({c}) * 8)"),
                    4 => format!("a[{offset}]"),
                    5 => format!("uint(((const device ushort *)(a + {offset}))[t + {c}])"),
                    6 => format!("at(a, {c} * w + x + {offset})"),
                    _ => format!("a[int(x + {offset} + 8) - int({c})]"),
                };
                write!(text, "h{to} += {value}; ")
            }
            Statement::Choose { to, left, right, from, other } => {
                let (l, r, f, o) = (spelled(*left), spelled(*right), spelled(*from), spelled(*other));
                write!(text, "if ({l} < {r}) h{to} = {f}; else h{to} += {o}; ")
            }
            Statement::Loop { id, form, count, body } => {
                let count = format!("({}) % 6", spelled(*count));
                match form {
                    0 => write!(text, "for (uint k{id} = 0; k{id} < {count}; k{id}++) {{ "),
                    1 => write!(text, "{{ uint k{id} = ~0u, n{id} = {count}; while (++k{id} < n{id}) {{ "),
                    _ => write!(text, "{{ uint k{id} = ~0u, n{id} = {count}; if (n{id} > 0) do {{ k{id}++; "),
                }
                .expect("a string");
                print(text, body);
                match form {
                    0 => write!(text, "}} "),
                    1 => write!(text, "}} }} "),
                    _ => write!(text, "}} while (k{id} + 1 < n{id}); }} "),
                }
            }
            Statement::Leave { value, bit, to_end } => {
                let word = if *to_end { "break" } else { "continue" };
                write!(text, "if ((({}) & {bit}u) != 0) {word}; ", spelled(*value))
            }
            Statement::Store { value, long } => {
                let index = if *long { "ulong(i)" } else { "i" };
                write!(text, "mine[{index}] = mine[{index}] * 3 + {}; ", spelled(*value))
            }
            Statement::Own { id, body } => {
                write!(text, "for (uint j{id} = h0 % 4; j{id} > 0; j{id}--) {{ ").expect("a string");
                print(text, body);
                write!(text, "}} ")
            }
            Statement::Guard { x, y, limit } => {
                write!(text, "if (x * {x} + y * {y} > {limit}) {{ out[i] = 77; return; }} ")
            }
            Statement::Partly { id, to, from, bit, body } => {
                let from = spelled(*from);
                write!(text, "{{ uint v{id}; if ((t & {bit}u) != 0) v{id} = {from} ^ {id}; ").expect("a string");
                print(text, body);
                write!(text, "if ((t & {bit}u) != 0) h{to} += v{id} * 5; }} ")
            }
            Statement::Exchange { id, to, from, form: 3 } => {
                write!(text, "h{to} = next(s, h{from} + {id}, h{to}, t, m) + x; ")
            }
            Statement::Exchange { id, to, from, form: 0 } => write!(
                text,
                "s[t] = h{from}; {WAIT} for (uint k{id} = 0; k{id} < m; k{id}++) h{to} = (h{to} ^ s[k{id}]) * 3 + x; {WAIT} "
            ),
            Statement::Exchange { id, to, from, form } => {
                let (own, other, far) = ("c[l.x][l.y]", "c[o % size.x][o / size.x]", if *form == 1 { "1" } else { "m - 1" });
                let (write, read) = if *form == 1 { (own, other) } else { (other, own) };
                write!(
                    text,
                    "{{ uint o = (t + {far}) % m; (void)o; {write} = h{from} + {id}; {WAIT} h{to} = (h{to} ^ {read}) * 3 + x; {WAIT} }} "
                )
            }
        }
        .expect("a string");
    }
}

// ---------------------------------------------------------------- the interpreter

#[derive(Clone)]
struct Thread {
    x: u32,
    y: u32,
    t: u32,
    h: [u32; VARIABLES as usize],
    mine: u32,
    /// What it leaves, once it has gone.
    gone: Option<u32>,
    counters: Vec<(u32, u32)>,
}

struct Machine<'a> {
    a: &'a [u32],
    w: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Left {
    Break,
    Continue,
}

fn value(thread: &Thread, value: Value) -> u32 {
    match value {
        Value::Variable(number) => thread.h[number as usize],
        Value::X => thread.x,
        Value::Y => thread.y,
        Value::T => thread.t,
        Value::Counter(id) => thread.counters.iter().rev().find(|(of, _)| *of == id).expect("a counter").1,
        Value::Constant(value) => value,
        Value::Given(k) => P[k as usize],
        Value::N => N,
    }
}

impl Machine<'_> {
    fn load(&self, thread: &Thread, kind: u32, c: u32, offset: u32) -> u32 {
        let (x, y, t) = (thread.x, thread.y, thread.t);
        match kind {
            0 | 6 => self.a[(c * self.w + x + offset) as usize],
            1 => self.a[(y * 16 + c + offset) as usize],
            2 => {
                let at = c * self.w + x + offset;
                self.a[at as usize / 4] >> (at % 4 * 8) & 0xff
            }
            3 => self.a[(offset + x + c * 8) as usize],
            4 => self.a[offset as usize],
            5 => {
                let at = 2 * offset + t + c;
                self.a[at as usize / 2] >> (at % 2 * 16) & 0xffff
            }
            _ => self.a[(x + offset + 8) as usize - c as usize],
        }
    }

    fn step(&self, thread: &mut Thread, statement: &Statement) -> Option<Left> {
        match statement {
            Statement::Mix { to, kind, left, right } => {
                let (l, r, h) = (value(thread, *left), value(thread, *right), thread.h[*to as usize]);
                thread.h[*to as usize] = match kind {
                    0 => (h ^ l).wrapping_mul(0x9e37_79b1).wrapping_add(r),
                    1 => l.wrapping_add(r.wrapping_mul(3)) ^ (h >> 5),
                    2 => h.wrapping_mul(5).wrapping_add(((u64::from(l) * 0x10001 + u64::from(r)) >> 9) as u32),
                    3 => h.wrapping_sub(((i32::from(l as u16 as i16) >> 2) as u32).wrapping_mul(r)),
                    4 => h.min(l).wrapping_add(r.max(7)),
                    5 => {
                        let j = thread.x.wrapping_add(l.wrapping_mul(0x0fff_ffff)).wrapping_sub(8);
                        h.wrapping_add(((u64::from(j) * 5) >> 3) as u32)
                    }
                    6 => {
                        let j = (thread.t * 2).wrapping_add(0x7fff_fff0).wrapping_sub(l) as i32;
                        h ^ ((i64::from(j) * 5) >> 4) as u32
                    }
                    _ => (l.count_ones() + r.leading_zeros()).wrapping_add((h as i32).unsigned_abs()),
                };
            }
            Statement::Load { to, kind, counter, offset } => {
                let loaded = self.load(thread, *kind, value(thread, *counter), *offset);
                thread.h[*to as usize] = thread.h[*to as usize].wrapping_add(loaded);
            }
            Statement::Choose { to, left, right, from, other } => {
                let (f, o) = (value(thread, *from), value(thread, *other));
                let less = value(thread, *left) < value(thread, *right);
                let h = &mut thread.h[*to as usize];
                *h = if less { f } else { h.wrapping_add(o) };
            }
            Statement::Loop { id, count, body, .. } => {
                thread.counters.push((*id, 0));
                let once = value(thread, *count) % 6;
                let mut round = 0;
                while round < once {
                    thread.counters.last_mut().expect("this loop's").1 = round;
                    let left = body.iter().find_map(|inner| self.step(thread, inner));
                    if left == Some(Left::Break) {
                        break;
                    }
                    round += 1;
                }
                thread.counters.pop();
            }
            Statement::Leave { value: decides, bit, to_end } => {
                if value(thread, *decides) & bit != 0 {
                    return Some(if *to_end { Left::Break } else { Left::Continue });
                }
            }
            Statement::Store { value: stored, .. } => {
                thread.mine = thread.mine.wrapping_mul(3).wrapping_add(value(thread, *stored));
            }
            Statement::Own { body, .. } => {
                for _ in 0..thread.h[0] % 4 {
                    if body.iter().find_map(|inner| self.step(thread, inner)) == Some(Left::Break) {
                        break;
                    }
                }
            }
            Statement::Guard { x, y, limit } => {
                if thread.x * x + thread.y * y > *limit {
                    thread.gone = Some(77);
                }
            }
            Statement::Exchange { .. } | Statement::Partly { .. } => unreachable!("all threads do this together"),
        }
        None
    }

    fn run(&self, threads: &mut [Thread], program: &[Statement]) {
        for statement in program {
            if let Statement::Partly { id, to, from, bit, body } = statement {
                let set: Vec<u32> = threads.iter().map(|thread| value(thread, *from) ^ id).collect();
                self.run(threads, body);
                for (thread, v) in threads.iter_mut().zip(set).filter(|(thread, _)| thread.t & bit != 0) {
                    thread.h[*to as usize] = thread.h[*to as usize].wrapping_add(v.wrapping_mul(5));
                }
                continue;
            }
            if let Statement::Exchange { id, to, from, form } = statement {
                let shared: Vec<u32> = threads.iter().map(|thread| thread.h[*from as usize]).collect();
                for thread in &mut *threads {
                    let start = thread.h[*to as usize];
                    let x = thread.x;
                    let next = shared[(thread.t as usize + 1) % shared.len()].wrapping_add(*id);
                    let read = if *form == 0 { shared.as_slice() } else { &[next] };
                    thread.h[*to as usize] = read.iter().fold(start, |h, s| (h ^ s).wrapping_mul(3).wrapping_add(x));
                }
                continue;
            }
            for thread in threads.iter_mut().filter(|thread| thread.gone.is_none()) {
                self.step(thread, statement);
            }
        }
    }
}

// ---------------------------------------------------------------- the comparison

/// A grid and the size of its threadgroups.
type Shape = ([u64; 3], [u64; 3]);
const SHAPES: [Shape; 10] = [
    ([32, 48, 1], [16, 16, 1]),
    ([100, 3, 1], [50, 3, 1]),
    ([126, 2, 1], [42, 1, 1]),
    ([40, 16, 1], [16, 8, 1]),
    ([128, 1, 1], [64, 1, 1]),
    ([64, 2, 1], [32, 2, 1]),
    ([48, 12, 1], [16, 4, 1]),
    ([24, 8, 1], [8, 8, 1]),
    ([72, 6, 1], [16, 4, 1]),
    ([37, 3, 1], [20, 2, 1]),
];

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// One kernel with and without tiles: whether it got them, and what went wrong.
fn check(seed: u64, words: &[u32], a: &Buffer) -> (bool, String) {
    let mut generator = Generator { random: Random(seed + 1), id: 0, counters: Vec::new(), waits: seed % 3 == 2 };
    let mut program = Vec::new();
    for _ in 0..2 {
        program.extend(generator.block(2, false));
        let id = generator.id + 1;
        generator.id = id;
        generator.counters.push(id);
        let body = generator.block(1, true);
        generator.counters.pop();
        program.push(Statement::Loop { id, form: 0, count: Value::N, body });
    }
    let restrict = if seed % 2 == 1 { "__restrict" } else { "" };
    let mut source = format!(
        "uint at(const device uint *{restrict} a, uint i) {{ return a[i]; }}\n\
         uint next(threadgroup uint *{restrict} s, uint own, uint h, uint t, uint m) {{ s[t] = own; threadgroup_barrier(mem_flags::mem_threadgroup); uint v = s[(t + 1) % m]; threadgroup_barrier(mem_flags::mem_threadgroup); return (h ^ v) * 3; }}\n\
         kernel void run(device uint *{restrict} out [[buffer(0)]], device uint *{restrict} mine [[buffer(1)]], const device uint *{restrict} a [[buffer(2)]], constant uint *{restrict} p [[buffer(3)]], constant uint &n [[buffer(4)]],\n\
         \x20 uint2 place [[thread_position_in_grid]], uint2 grid [[threads_per_grid]], uint2 size [[threads_per_threadgroup]], uint2 l [[thread_position_in_threadgroup]], uint t [[thread_index_in_threadgroup]]) {{\n\
         \x20 uint x = place.x, y = place.y, w = grid.x, i = y * w + x, m = size.x * size.y, h0 = i * 2654435761u, h1 = x, h2 = t * 7; (void)m; (void)a; (void)p; (void)l;\n"
    );
    if generator.waits {
        source.push_str("  threadgroup uint s[256], c[64][17]; (void)s; (void)c;\n");
    }
    source.push_str("  ");
    print(&mut source, &program);
    source.push_str("\n  out[i] = h0 + h1 * 5 + h2 * 7 + mine[i];\n}\n");
    let (mut wrong, mut tiles) = (String::new(), false);
    for engine in [Engine::Pass, Engine::Stack] {
        let loaded = load(&source, MathMode::Safe, engine);
        tiles |= loaded.in_tiles();
        let built = format!("{}, in tiles: {}", loaded.built(), loaded.in_tiles());
        let pipeline = pipeline(loaded);
        for (grid, size) in SHAPES {
            let total = grid.iter().product::<u64>() as usize;
            let mut expected = vec![0; total];
            let machine = Machine { a: words, w: grid[0] as u32 };
            for first_y in (0..grid[1]).step_by(size[1] as usize) {
                for first_x in (0..grid[0]).step_by(size[0] as usize) {
                    let mut threads = Vec::new();
                    for y in first_y..(first_y + size[1]).min(grid[1]) {
                        for x in first_x..(first_x + size[0]).min(grid[0]) {
                            let (x, y, t) = (x as u32, y as u32, threads.len() as u32);
                            let h = [(y * machine.w + x).wrapping_mul(2_654_435_761), x, t * 7];
                            threads.push(Thread { x, y, t, h, mine: 11, gone: None, counters: Vec::new() });
                        }
                    }
                    machine.run(&mut threads, &program);
                    for thread in threads {
                        let [h0, h1, h2] = thread.h;
                        let sum = h0.wrapping_add(h1.wrapping_mul(5)).wrapping_add(h2.wrapping_mul(7));
                        expected[(thread.y * machine.w + thread.x) as usize] =
                            thread.gone.unwrap_or(sum.wrapping_add(thread.mine));
                    }
                }
            }
            let (out, mine, p) = (Buffer::new((total * 4) as u64), Buffer::of(&vec![11u32; total]), Buffer::of(&P));
            Queue::new()
                .run(|encoder| {
                    encoder.pipeline(&pipeline);
                    for (index, buffer) in [&out, &mine, a, &p].into_iter().enumerate() {
                        encoder.buffer(buffer, index);
                    }
                    encoder.bytes(&N, 4);
                    encoder.threads(grid, size);
                })
                .assert_completed();
            let got: Vec<u32> = out.read();
            if let Some(at) = (0..total).find(|&at| got[at] != expected[at]) {
                writeln!(
                    wrong,
                    "seed {seed}, {grid:?} by {size:?}, {engine:?} ({built}), at {at}: {} for {}\n{source}",
                    got[at], expected[at]
                )
                .expect("a string");
                break;
            }
        }
    }
    (tiles, wrong)
}

#[test]
fn random_loops() {
    let first = setting("HOSTMETAL_FIRST_SEED", 0);
    let seeds = setting("HOSTMETAL_SEEDS", 40);
    let mut random = Random(7);
    let words: Vec<u32> = (0..WORDS).map(|_| random.bits() as u32).collect();
    let next = AtomicU64::new(first);
    let (wrong, in_tiles) = (Mutex::new(String::new()), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                let a = Buffer::of(&words);
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        return;
                    }
                    let (tiles, text) = check(seed, &words, &a);
                    in_tiles.fetch_add(u64::from(tiles), Ordering::Relaxed);
                    wrong.lock().expect("no thread has panicked").push_str(&text);
                }
            });
        }
    });
    let (wrong, in_tiles) = (wrong.into_inner().expect("no thread has panicked"), in_tiles.into_inner());
    assert!(wrong.is_empty(), "{wrong}");
    // Without llvm-19-dev there is no pass, and no tiles.
    assert!(in_tiles * 4 >= seeds || !has_pass(), "{in_tiles} of {seeds} kernels got tiles");
    println!("{in_tiles} of {seeds} kernels in tiles");
}
