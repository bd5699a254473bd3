//! Conditions on positions that are indices as well (native/hostmetal/pass/conditions.cpp): whatever is computed again for them is what the indices are made of.

use crate::stdlib::{load, load_on, pipeline};
use crate::support::{Buffer, Queue};
use hostmetal::msl::{Engine, MathMode};

/// A condition on a position `x` in a row of `n` and a number `k`, and when it holds.
type Condition = (&'static str, fn(u32, u32, u32) -> bool);

const CONDITIONS: [Condition; 14] = [
    ("x == 0 || x == n - 1", |x, n, _| x == 0 || x == n - 1),
    ("x != 0 && x != n - 1", |x, n, _| x != 0 && x != n - 1),
    ("x > 0 && x < n - 1", |x, n, _| x > 0 && x < n - 1),
    ("x >= k && x + k < n", |x, n, k| x >= k && x + k < n),
    ("x - k < 7", |x, _, k| x.wrapping_sub(k) < 7),
    ("(x & 3) == 1", |x, _, _| x & 3 == 1),
    ("((x + k) & 1) == 0", |x, _, k| (x + k) & 1 == 0),
    ("x * 3 > n", |x, n, _| x * 3 > n),
    ("(x << 2) + k < n", |x, n, k| (x << 2) + k < n),
    ("((x ^ k) | 4) == 6", |x, _, k| (x ^ k) | 4 == 6),
    ("(x >> 2) == k", |x, _, k| x >> 2 == k),
    ("x % 5 == k", |x, _, k| x % 5 == k),
    ("int(x) - int(k) > 3", |x, _, k| x as i32 - k as i32 > 3),
    ("uchar(x + 250) < 9", |x, _, _| ((x + 250) as u8) < 9),
];

const WIDTHS: [u32; 7] = [1, 2, 7, 31, 64, 100, 300];
const HEIGHT: u32 = 3;

#[test]
fn conditions_are_of_the_position_that_is_read() {
    let barrier = "  threadgroup_barrier(mem_flags::mem_none);\n";
    let ways = [("", Engine::Pass), (barrier, Engine::Pass), (barrier, Engine::Stack)];
    for ((condition, holds), (barrier, engine)) in CONDITIONS.into_iter().flat_map(|one| ways.map(|way| (one, way))) {
        // Rows are `n` wide, and there is one in front and one behind.
        let text = format!(
            "kernel void run(const device uint *a, device uint *o, constant uint &n, constant uint &k, uint2 at [[thread_position_in_grid]]) {{\n\
             \x20 uint x = at.x, i = (at.y + 1) * n + x, v = a[i];\n{barrier}\
             \x20 if ({condition}) v = v * 2 + a[i - 1] + a[i + 1] + a[i - n] + a[i + n];\n\
             \x20 o[at.y * n + x] = v;\n}}"
        );
        let load = if barrier.is_empty() { load } else { load_on };
        let pipeline = pipeline(load(&text, MathMode::Safe, engine));
        for (n, k, group) in
            WIDTHS.into_iter().flat_map(|n| [(n, 0, [8, 3]), (n, 1, [32, 1]), (n, 2, [5, 2]), (n, 4, [64, 1])])
        {
            let a: Vec<u32> = (0..(HEIGHT + 2) * n).map(|i| i * i * 7 + 3).collect();
            let o = Buffer::of(&vec![0u32; (HEIGHT * n) as usize]);
            Queue::new()
                .run(|encoder| {
                    encoder.pipeline(&pipeline);
                    let buffers = [&Buffer::of(&a), &o, &Buffer::of(&[n]), &Buffer::of(&[k])];
                    buffers.iter().enumerate().for_each(|(index, buffer)| encoder.buffer(buffer, index));
                    encoder.threads([u64::from(n), u64::from(HEIGHT), 1], [group[0], group[1], 1]);
                })
                .assert_completed();
            let wanted = |place: usize| {
                let (i, n) = (place + n as usize, n as usize);
                let around = a[i - 1] + a[i + 1] + a[i - n] + a[i + n];
                if holds(place as u32 % n as u32, n as u32, k) { a[i] * 2 + around } else { a[i] }
            };
            let wanted: Vec<u32> = (0..(HEIGHT * n) as usize).map(wanted).collect();
            assert_eq!(o.read::<u32>(), wanted, "{engine:?}, {n} wide, k = {k}, groups of {group:?}: {condition}");
        }
    }
}
