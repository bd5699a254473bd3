//! Conditions on a thread's position or a loop's counter against something that is the same for all (native/hostmetal/pass/ranges.cpp): whichever threads or rounds
//! they hold of, those and no others do what is asked.

use crate::stdlib::{load, load_on, pipeline};
use crate::support::{Buffer, Pipeline, Queue};
use hostmetal::msl::{Engine, MathMode};

/// A condition, and when it holds.
type Condition = (&'static str, fn(u32, u32) -> bool);

const CONDITIONS: &[Condition] = &[
    ("t < k", |t, k| t < k),
    ("t <= k", |t, k| t <= k),
    ("t > k", |t, k| t > k),
    ("t >= k", |t, k| t >= k),
    ("t == k", |t, k| t == k),
    ("t != k", |t, k| t != k),
    ("k < t", |t, k| k < t),
    ("k <= t", |t, k| k <= t),
    ("k > t", |t, k| k > t),
    ("k >= t", |t, k| k >= t),
    ("!(t < k)", |t, k| t >= k),
    ("!(k == t)", |t, k| t != k),
    ("t == 0", |t, _| t == 0),
    ("t < 0", |_, _| false),
    ("t >= 0", |_, _| true),
    ("t < k / 2", |t, k| t < k / 2),
    ("t < k + 1", |t, k| t < k.wrapping_add(1)),
    ("t + 3 < k", |t, k| t + 3 < k),
    ("t - 3 < k", |t, k| t.wrapping_sub(3) < k),
    ("2 * t < k", |t, k| 2 * t < k),
    ("int(t) < int(k)", |t, k| (t as i32) < k as i32),
    ("int(t) > int(k)", |t, k| t as i32 > k as i32),
    ("ushort(t) < ushort(k)", |t, k| (t as u16) < k as u16),
    ("uchar(t) >= uchar(k)", |t, k| t as u8 >= k as u8),
    ("ulong(t) < ulong(k)", |t, k| t < k),
    ("float(t) < float(k)", |t, k| (t as f32) < k as f32),
    ("t < k && t > 2", |t, k| t < k && t > 2),
    ("t < k || t == 5", |t, k| t < k || t == 5),
    ("(t & 7) < k", |t, k| (t & 7) < k),
    ("t < k - t", |t, k| t < k.wrapping_sub(t)),
];

const LIMITS: [u32; 16] = [0, 1, 2, 3, 5, 16, 31, 32, 33, 99, 100, 255, 256, 0x7fff_ffff, 0x8000_0000, u32::MAX];

/// Conditions of a kernel.
const PART: usize = 10;

/// What is there before, and what the nth condition has done where it holds.
const BEFORE: u32 = 1_000_000;

fn expected(at: usize, holds: bool, t: u32) -> u32 {
    if holds { BEFORE + t * 7 + at as u32 } else { BEFORE }
}

/// Threads of a threadgroup.
const SIZES: [[u64; 3]; 9] =
    [[1, 1, 1], [2, 1, 1], [31, 1, 1], [32, 1, 1], [100, 1, 1], [256, 1, 1], [40, 3, 1], [16, 16, 1], [7, 5, 2]];

#[test]
fn threads_do_what_holds_of_them() {
    let step = |(at, (condition, _)): (usize, &Condition)| {
        format!(
            "  s[i] = {BEFORE}; threadgroup_barrier(mem_flags::mem_threadgroup); if ({condition}) s[i] += t * 7 + {at};\n\
             \x20 threadgroup_barrier(mem_flags::mem_threadgroup); o[{at} * 256 + i] = s[i];\n"
        )
    };
    for conditions in CONDITIONS.chunks(PART) {
        let text = format!(
            "kernel void run(device uint *o, constant uint &k, uint3 at [[thread_position_in_threadgroup]], uint i [[thread_index_in_threadgroup]]) {{\n\
             \x20 threadgroup uint s[256]; uint t = at.x;\n{}}}",
            conditions.iter().enumerate().map(step).collect::<String>()
        );
        for engine in [Engine::Pass, Engine::Stack] {
            let pipeline = pipeline(load_on(&text, MathMode::Safe, engine));
            for (size, limit) in SIZES.into_iter().flat_map(|size| LIMITS.map(|k| (size, k))) {
                let o = Buffer::of(&[0u32; PART * 256]);
                run(&pipeline, &[&o, &Buffer::of(&[limit])], size);
                let got = o.read::<u32>();
                for (at, (condition, holds)) in conditions.iter().enumerate() {
                    for i in 0..size.iter().product::<u64>() as usize {
                        let t = i as u32 % size[0] as u32;
                        let (got, wanted) = (got[at * 256 + i], expected(at, holds(t, limit), t));
                        assert_eq!(got, wanted, "{engine:?}, {size:?}, k = {limit}: {condition} of thread {i}");
                    }
                }
            }
        }
    }
}

/// A loop of each thread's own, in kernels without barriers.
#[test]
fn rounds_do_what_holds_of_them() {
    let step = |(at, (condition, _)): (usize, &Condition)| {
        format!("  for (uint t = 0; t < n; t++) {{ if ({condition}) o[{at} * 256 + t] += t * 7 + {at}; }}\n")
    };
    for conditions in CONDITIONS.chunks(PART) {
        let text = format!(
            "kernel void run(device uint *o, constant uint &limit, constant uint &rounds) {{\n  uint k = limit, n = rounds;\n{}}}",
            conditions.iter().enumerate().map(step).collect::<String>()
        );
        let pipeline = pipeline(load(&text, MathMode::Safe, Engine::Pass));
        for (rounds, limit) in [0, 1, 2, 31, 100, 256].into_iter().flat_map(|n| LIMITS.map(|k| (n, k))) {
            let o = Buffer::of(&[BEFORE; PART * 256]);
            run(&pipeline, &[&o, &Buffer::of(&[limit]), &Buffer::of(&[rounds])], [1, 1, 1]);
            let got = o.read::<u32>();
            for (at, (condition, holds)) in conditions.iter().enumerate() {
                for t in 0..256 {
                    let wanted = expected(at, t < rounds && holds(t, limit), t);
                    let got = got[at * 256 + t as usize];
                    assert_eq!(got, wanted, "{rounds} rounds, k = {limit}: {condition} of round {t}");
                }
            }
        }
    }
}

/// One threadgroup.
fn run(pipeline: &Pipeline, buffers: &[&Buffer], size: [u64; 3]) {
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(pipeline);
            buffers.iter().enumerate().for_each(|(index, buffer)| encoder.buffer(buffer, index));
            encoder.groups([1, 1, 1], size);
        })
        .assert_completed();
}
