//! Indices that are differences, under conditions that keep them from wrapping or do not (native/hostmetal/pass/differences.cpp): each is what 32 bits hold.

use crate::stdlib::{load_on, pipeline};
use crate::support::{Buffer, Queue};
use hostmetal::msl::{Engine, MathMode};

/// A text of a thread's position `t` and of `k`, and what it is.
type Text<T> = (&'static str, fn(u32, u32) -> T);

const CONDITIONS: [Text<bool>; 13] = [
    ("t >= k", |t, k| t >= k),
    ("k <= t", |t, k| k <= t),
    ("t > k", |t, k| t > k),
    ("t < k", |t, k| t < k),
    ("t <= k", |t, k| t <= k),
    ("t != k", |t, k| t != k),
    ("t != 0", |t, _| t != 0),
    ("t > 2", |t, _| t > 2),
    ("t >= 2", |t, _| t >= 2),
    ("t != 2", |t, _| t != 2),
    ("t >= k && t < 50", |t, k| t >= k && t < 50),
    ("t >= k || t == 2", |t, k| t >= k || t == 2),
    ("int(t) >= int(k)", |t, k| t as i32 >= k as i32),
];

const DIFFERENCES: [Text<u32>; 9] = [
    ("t - k", |t, k| t.wrapping_sub(k)),
    ("t - k - 1", |t, k| t.wrapping_sub(k).wrapping_sub(1)),
    ("t - k + 1", |t, k| t.wrapping_sub(k).wrapping_add(1)),
    ("t - 1", |t, _| t.wrapping_sub(1)),
    ("t - 2", |t, _| t.wrapping_sub(2)),
    ("t - 3", |t, _| t.wrapping_sub(3)),
    ("t + 1", |t, _| t + 1),
    ("k - t", |t, k| k.wrapping_sub(t)),
    ("uint(int(t) - int(k))", |t, k| t.wrapping_sub(k)),
];

const LIMITS: [u32; 12] = [0, 1, 2, 3, 31, 32, 33, 99, 255, 0x7fff_ffff, 0x8000_0000, u32::MAX];

/// Threads of a threadgroup.
const SIZES: [[u64; 3]; 6] = [[1, 1, 1], [31, 1, 1], [100, 1, 1], [256, 1, 1], [40, 3, 1], [16, 16, 1]];

#[test]
fn differences_are_of_32_bits() {
    let step = |(at, (condition, _)): (usize, &Text<bool>), difference: &str| {
        format!(
            "  {{ ulong v = 5; if ({condition}) v = ulong({difference}) * 3 + numbers[t];\n\
             \x20 threadgroup_barrier(mem_flags::mem_threadgroup); o[{at} * 256 + i] = v; }}\n"
        )
    };
    // What is read keeps the compiler from computing the difference for all.
    let numbers = Buffer::of(&(0..256).map(|t| t * 100).collect::<Vec<u32>>());
    for (difference, is) in DIFFERENCES {
        let text = format!(
            "kernel void run(device ulong *o, constant uint &limit, const device uint *numbers,\n\
             \x20               uint3 at [[thread_position_in_threadgroup]], uint i [[thread_index_in_threadgroup]]) {{\n\
             \x20 uint t = at.x, k = limit;\n{}}}",
            CONDITIONS.iter().enumerate().map(|one| step(one, difference)).collect::<String>()
        );
        for engine in [Engine::Pass, Engine::Stack] {
            let pipeline = pipeline(load_on(&text, MathMode::Safe, engine));
            for (size, limit) in SIZES.into_iter().flat_map(|size| LIMITS.map(|k| (size, k))) {
                let o = Buffer::of(&[0u64; CONDITIONS.len() * 256]);
                Queue::new()
                    .run(|encoder| {
                        encoder.pipeline(&pipeline);
                        let buffers = [&o, &Buffer::of(&[limit]), &numbers];
                        buffers.iter().enumerate().for_each(|(index, buffer)| encoder.buffer(buffer, index));
                        encoder.groups([1, 1, 1], size);
                    })
                    .assert_completed();
                let got = o.read::<u64>();
                for (at, (condition, holds)) in CONDITIONS.iter().enumerate() {
                    for i in 0..size.iter().product::<u64>() as usize {
                        let t = i as u32 % size[0] as u32;
                        let wanted = if holds(t, limit) { u64::from(is(t, limit)) * 3 + u64::from(t) * 100 } else { 5 };
                        let got = got[at * 256 + i];
                        assert_eq!(
                            got, wanted,
                            "{engine:?}, {size:?}, k = {limit}: {difference} where {condition} of thread {i}"
                        );
                    }
                }
            }
        }
    }
}

/// One that does not wrap is an index as it is, also where the condition is of numbers that the compiler knows.
#[test]
fn what_does_not_wrap_is_read() {
    let text = "kernel void run(device uint *o, constant uint &limit, uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint s[256];
  s[t] = t * 3 + 1;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = 1; k < 256; k *= 2) {
    uint v = t >= k ? s[t - k] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    s[t] += v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  o[t] = s[t];
  for (uint k = 1; k < limit; k *= 2) {
    uint v = t >= k ? s[t - k] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    s[t] += v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  o[256 + t] = s[t];
  o[512 + t] = t > 6 ? s[t - 7] : t;
}";
    let pipeline = pipeline(load_on(text, MathMode::Safe, Engine::Pass));
    for threads in [1, 31, 100, 256] {
        let o = Buffer::of(&[0u32; 768]);
        Queue::new()
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                [&o, &Buffer::of(&[threads])]
                    .iter()
                    .enumerate()
                    .for_each(|(index, buffer)| encoder.buffer(buffer, index));
                encoder.groups([1, 1, 1], [u64::from(threads), 1, 1]);
            })
            .assert_completed();
        let sums = |from: &[u32]| {
            from.iter().scan(0, |sum, one| Some(std::mem::replace(sum, *sum + one) + one)).collect::<Vec<u32>>()
        };
        let once = sums(&(0..threads).map(|t| t * 3 + 1).collect::<Vec<_>>());
        let twice = sums(&once);
        let got = o.read::<u32>();
        for t in 0..threads as usize {
            let behind = if t > 6 { twice[t - 7] } else { t as u32 };
            assert_eq!([got[t], got[256 + t], got[512 + t]], [once[t], twice[t], behind], "thread {t} of {threads}");
        }
    }
}
