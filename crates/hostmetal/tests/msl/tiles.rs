//! Loops that many threads go through at once (native/hostmetal/pass/tiles.cpp): kernels whose results are known, in tiles, as a plain loop or on
//! stacks; and kernels that must not get tiles.

use crate::stdlib::*;
use crate::support::{Buffer, Pipeline, Queue};
use hostmetal::msl::{Built, Engine, MathMode};
use std::fmt::Write;

/// The parameters of the kernels here: `x`, `y`, `w` threads in x; `i` counts through the grid, `t` through the threadgroup.
const PARAMETERS: &str = "device uint *out [[buffer(0)]], const device uint *a [[buffer(1)]], constant uint &n [[buffer(2)]], constant uint *p [[buffer(3)]], \
     uint3 place [[thread_position_in_grid]], uint3 grid [[threads_per_grid]], uint3 size [[threads_per_threadgroup]], \
     uint3 l [[thread_position_in_threadgroup]], \
     uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]";
const BEGIN: &str = "uint x = place.x, y = place.y, w = grid.x, i = (place.z * grid.y + y) * w + x; uint m = size.x * size.y * size.z; \
     (void)x; (void)y; (void)w; (void)i; (void)m; (void)lane; (void)simdgroup; (void)t; (void)l;";

const N: u32 = 19;
const P: [u32; 4] = [3, 1, 4, 1];
/// Words of `a`: more than any grid here has threads times `N`.
const WORDS: usize = 1 << 16;

/// A grid and the size of its threadgroups: some that a tile fits in several ways, some whose rows end in a part of a tile, and some that none fits.
type Shape = ([u64; 3], [u64; 3]);
const SHAPES: [Shape; 14] = [
    ([256, 1, 1], [128, 1, 1]),
    ([64, 3, 1], [64, 1, 1]),
    ([48, 8, 1], [16, 8, 1]),
    ([16, 4, 3], [16, 4, 2]),
    ([16, 16, 1], [8, 8, 1]),
    ([96, 3, 1], [48, 3, 1]),
    ([150, 2, 1], [64, 1, 1]),
    ([40, 18, 1], [16, 16, 1]),
    ([75, 1, 1], [32, 1, 1]),
    ([5, 6, 3], [3, 4, 2]),
    ([2, 70, 1], [1, 64, 1]),
    ([200, 2, 1], [100, 2, 1]),
    ([250, 2, 1], [250, 1, 1]),
    ([58, 2, 3], [29, 2, 3]),
];

/// A thread as the references see it.
struct Thread<'a> {
    x: u32,
    y: u32,
    w: u32,
    i: u32,
    /// In the threadgroup, of `m` threads whose numbers in the grid are `others`.
    t: u32,
    local: [u32; 3],
    others: &'a [u32],
    a: &'a [u32],
}

impl Thread<'_> {
    /// What `a` has for the thread that comes so many behind this one in the threadgroup, around its end.
    fn behind(&self, count: u32) -> u32 {
        self.a[self.others[(self.t + count) as usize % self.others.len()] as usize]
    }
}

/// What each thread leaves in `out[i]`.
fn expected((grid, size): Shape, a: &[u32], reference: fn(&Thread) -> u32) -> Vec<u32> {
    let mut out = vec![0; grid.iter().product::<u64>() as usize];
    let count: Vec<u64> = (0..3).map(|axis| grid[axis].div_ceil(size[axis])).collect();
    for number in 0..count.iter().product() {
        let position = [number % count[0], number / count[0] % count[1], number / count[0] / count[1]];
        let range = |axis: usize| position[axis] * size[axis]..((position[axis] + 1) * size[axis]).min(grid[axis]);
        let mut places = Vec::new();
        for z in range(2) {
            for y in range(1) {
                places.extend(range(0).map(|x| (x as u32, y as u32, ((z * grid[1] + y) * grid[0] + x) as u32)));
            }
        }
        let others: Vec<u32> = places.iter().map(|place| place.2).collect();
        for (t, &(x, y, i)) in places.iter().enumerate() {
            let z = i / (grid[0] * grid[1]) as u32;
            let local = [0, 1, 2].map(|axis| [x, y, z][axis] - range(axis).start as u32);
            out[i as usize] = reference(&Thread { x, y, w: grid[0] as u32, i, t: t as u32, local, others: &others, a });
        }
    }
    out
}

fn dispatch(pipeline: &Pipeline, (grid, size): Shape, a: &Buffer) -> Vec<u32> {
    let out = Buffer::of(&vec![0xabcd_ef01_u32; grid.iter().product::<u64>() as usize]);
    let p = Buffer::of(&P);
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(pipeline);
            encoder.buffer(&out, 0);
            encoder.buffer(a, 1);
            encoder.bytes(&N, 2);
            encoder.buffer(&p, 3);
            encoder.threads(grid, size);
        })
        .assert_completed();
    out.read()
}

type Reference = fn(&Thread) -> u32;

/// Statements and what they leave in `out[i]`, of kernels that get tiles.
const TILED: &[(&str, Reference)] = &[
    // Where each row reads is found before the barrier, with few instructions for each thread and many that are the same for all.
    (
        "uint s = 0; for (uint r = 0; r < 3; r++) { const uint from = min((y * p[0] + p[1]) * p[2] - p[3], n * 4) + min(y * p[3] + p[2] % n, n); \
         threadgroup_barrier(mem_flags::mem_none); for (uint k = 0; k < n; k++) s = s * 3 + (a[from + k] ^ r); } out[i] = s;",
        |t| {
            let from = ((t.y * P[0] + P[1]) * P[2] - P[3]).min(N * 4) + (t.y * P[3] + P[2] % N).min(N);
            (0..3)
                .fold(0u32, |s, r| (0..N).fold(s, |s, k| s.wrapping_mul(3).wrapping_add(t.a[(from + k) as usize] ^ r)))
        },
    ),
    // Rounds of each thread's own behind a barrier, from where it found before.
    (
        "const device uint *row = a + ((y * p[0]) ^ p[1]); out[i] = *row; threadgroup_barrier(mem_flags::mem_none); \
         uint s = 0; for (uint k = 0; k < x % 7; k++) s = s * 3 + row[k]; out[i] += s;",
        |t| {
            let row = ((t.y * P[0]) ^ P[1]) as usize;
            (0..(t.x % 7) as usize)
                .fold(0u32, |s, k| s.wrapping_mul(3).wrapping_add(t.a[row + k]))
                .wrapping_add(t.a[row])
        },
    ),
    // Each thread's own count.
    ("uint s = 0; for (uint k = 0; k < x % 7; k++) s += a[k]; out[i] = s;", |t| {
        (0..t.x % 7).fold(0u32, |s, k| s.wrapping_add(t.a[k as usize]))
    }),
    ("uint h = i, k = 0; while ((h & 31) != 7 && k < n) { h = h * 5 + 3; k++; } out[i] = h;", |t| {
        let (mut h, mut k) = (t.i, 0);
        while h & 31 != 7 && k < N {
            (h, k) = (h.wrapping_mul(5).wrapping_add(3), k + 1);
        }
        h
    }),
    // Two ends, with code of their own, and a third.
    (
        "uint s = i, r = 1; for (uint k = 0; k < n; k++) { s = s * 5 + a[k]; if ((s & 15) == 3) { r = s * 7 + k; break; } if ((s & 15) == 9) { r = k ^ 77; break; } } out[i] = r + s;",
        |t| {
            let (mut s, mut r) = (t.i, 1u32);
            for k in 0..N {
                s = s.wrapping_mul(5).wrapping_add(t.a[k as usize]);
                if s & 15 == 3 {
                    r = s.wrapping_mul(7).wrapping_add(k);
                    break;
                }
                if s & 15 == 9 {
                    r = k ^ 77;
                    break;
                }
            }
            r.wrapping_add(s)
        },
    ),
    // Each thread's own way in rounds that are all threads', with reads on both.
    (
        "uint s = x; for (uint k = 0; k < n; k++) { if ((a[k * w + x] & 1) != 0) { s = s * 3 + a[(k + 1) * w + x]; } else if ((s & 2) != 0) { s ^= a[k]; continue; } s += k; } out[i] = s;",
        |t| {
            let at = |k: u32| t.a[(k * t.w + t.x) as usize];
            let mut s = t.x;
            for k in 0..N {
                if at(k) & 1 != 0 {
                    s = s.wrapping_mul(3).wrapping_add(at(k + 1));
                } else if s & 2 != 0 {
                    s ^= t.a[k as usize];
                    continue;
                }
                s = s.wrapping_add(k);
            }
            s
        },
    ),
    // The buffer ends in the middle of the lanes of the last round.
    ("uint s = 0; for (uint j = 65536 - 3 * w + x + y * 5; j < 65536; j += w) s = s * 3 + a[j]; out[i] = s;", |t| {
        (WORDS - (3 * t.w) as usize + (t.x + t.y * 5) as usize..WORDS)
            .step_by(t.w as usize)
            .fold(0u32, |s, j| s.wrapping_mul(3).wrapping_add(t.a[j]))
    }),
    // What no thread reads is not there: at one address for all, and at each thread's own.
    (
        "uint s = 0, f = p[1] * 5000000; for (uint k = 0; k < n + x % 3; k++) { s = s * 3 + k; if ((a[k * w + x] & 31) > p[2] * 10) s += a[f + k]; } out[i] = s;",
        |t| (0..N + t.x % 3).fold(0u32, |s, k| s.wrapping_mul(3).wrapping_add(k)),
    ),
    (
        "uint s = 0, f = p[1] * 5000000; for (uint k = 0; k < n + x % 3; k++) { s = s * 3 + k; if ((x + k) % 64 > p[2] * 16) s += a[f + x * x]; } out[i] = s;",
        |t| (0..N + t.x % 3).fold(0u32, |s, k| s.wrapping_mul(3).wrapping_add(k)),
    ),
    // A search: one read from anywhere.
    (
        "uint lo = 0, hi = 4096, v = i * 40503 % 70000; while (lo < hi) { uint m = (lo + hi) / 2; if ((a[m] & 15) + m * 16 < v) lo = m + 1; else hi = m; } out[i] = lo;",
        |t| {
            let (v, mut lo, mut hi) = (t.i.wrapping_mul(40503) % 70000, 0u32, 4096u32);
            while lo < hi {
                let m = (lo + hi) / 2;
                if (t.a[m as usize] & 15) + m * 16 < v { lo = m + 1 } else { hi = m }
            }
            lo
        },
    ),
    // In rounds of all, and numbers of several sizes that are used behind.
    (
        "ulong q = 0; uchar b = 0; bool f = false; half g = 0; uint h = 0; for (uint k = 0; k < n; k++) { uint j = 0; for (; j < (x ^ k) % 5; j++) { h = h * 5 + j + k; q += ulong(h) << 9; b = uchar(b * 3 + h); f = (h & 4) != 0; g = half(h & 63); } h += j; } out[i] = h + uint(q >> 13) + b + (f ? 1000 : 1) + uint(g) * 3;",
        |t| {
            let (mut l, mut b, mut f, mut g, mut h) = (0u64, 0u8, false, 0u32, 0u32);
            for k in 0..N {
                let rounds = (t.x ^ k) % 5;
                for j in 0..rounds {
                    h = h.wrapping_mul(5).wrapping_add(j + k);
                    l = l.wrapping_add(u64::from(h) << 9);
                    b = b.wrapping_mul(3).wrapping_add(h as u8);
                    f = h & 4 != 0;
                    g = h & 63;
                }
                h = h.wrapping_add(rounds);
            }
            h.wrapping_add((l >> 13) as u32)
                .wrapping_add(u32::from(b))
                .wrapping_add(if f { 1000 } else { 1 })
                .wrapping_add(g * 3)
        },
    ),
    // Promises that hold of the threads of a condition alone, which the first of a tile do not meet.
    (
        "int j = int(x) - 3; uint s = 0; if (j >= 0 && j < 1000) { const device uint *q = a + j * 4; uint k = 0; do { uint v = q[k]; s = s * 3 + v; if (v == p[0]) break; } while (++k < n); } out[i] = s;",
        |t| {
            let mut s = 0u32;
            if (3..1003).contains(&t.x) {
                for k in 0..N {
                    let v = t.a[((t.x - 3) * 4 + k) as usize];
                    s = s.wrapping_mul(3).wrapping_add(v);
                    if v == P[0] {
                        break;
                    }
                }
            }
            s
        },
    ),
    // Quotients by what a row alone has, when other rows still go on.
    ("uint s = 0, k = 0; do { s = s * 3 + 1000 / (y + 1 - k); k++; } while (k <= y && s != x); out[i] = s;", |t| {
        let (mut s, mut k) = (0u32, 0);
        loop {
            s = s.wrapping_mul(3).wrapping_add(1000 / (t.y + 1 - k));
            k += 1;
            if k > t.y || s == t.x {
                return s;
            }
        }
    }),
    // A quotient of what is the same for all, in a round that some thread does.
    ("uint s = 0; for (uint k = 0; k < x % 5 + 1; k++) s = s * 3 + p[0] * 1000 / (k + p[2] - 3); out[i] = s;", |t| {
        (0..t.x % 5 + 1).fold(0u32, |s, k| s.wrapping_mul(3).wrapping_add(3000 / (k + 1)))
    }),
    // A product: rows of one matrix are the same for lanes, the other's columns consecutive.
    ("uint s = 0; for (uint k = 0; k < n; k++) s += a[y * n + k] * a[k * w + x]; out[i] = s;", |t| {
        (0..N)
            .fold(0u32, |s, k| s.wrapping_add(t.a[(t.y * N + k) as usize].wrapping_mul(t.a[(k * t.w + t.x) as usize])))
    }),
    // No memory at all.
    ("uint h = i; for (uint k = 0; k < n; k++) h = (h ^ k) * 0x9e3779b1u + (h >> 7); out[i] = h;", |t| {
        (0..N).fold(t.i, |h, k| (h ^ k).wrapping_mul(0x9e37_79b1).wrapping_add(h >> 7))
    }),
    // Loops in loops, one whose count is the other's counter.
    (
        "uint h = x; for (uint k = 0; k < n; k++) { for (uint j = 0; j < k; j++) h = h * 5 + a[j * w + x]; h ^= y; } out[i] = h;",
        |t| {
            (0..N).fold(t.x, |h, k| {
                (0..k).fold(h, |h, j| h.wrapping_mul(5).wrapping_add(t.a[(j * t.w + t.x) as usize])) ^ t.y
            })
        },
    ),
    // A guard that some threads do not pass, so that some tiles give up.
    (
        "if (x * 3 + y >= 100) { out[i] = 7; return; } uint s = i; for (uint k = 0; k < n; k++) s = s * 3 + a[k]; out[i] = s;",
        |t| {
            if t.x * 3 + t.y >= 100 {
                7
            } else {
                (0..N).fold(t.i, |s, k| s.wrapping_mul(3).wrapping_add(t.a[k as usize]))
            }
        },
    ),
    // A count that depends on the row.
    ("uint s = 1; for (uint k = 0; k < y % 8 + 3; k++) s = s * 7 + a[k * w + x]; out[i] = s;", |t| {
        (0..t.y % 8 + 3).fold(1u32, |s, k| s.wrapping_mul(7).wrapping_add(t.a[(k * t.w + t.x) as usize]))
    }),
    // The least, and where it is.
    (
        "uint least = ~0u, where = 0; for (uint k = 0; k < n; k++) { uint v = a[k * w + x]; if (v < least) { least = v; where = k; } } out[i] = where;",
        |t| (0..N).min_by_key(|k| t.a[(k * t.w + t.x) as usize]).expect("some"),
    ),
    // Numbers that wrap around within a tile, made longer.
    (
        "uint s = 0; for (uint k = 0; k < n; k++) { uint j = x + k * 0x1fffffffu; s += uint(ulong(j) * 5 >> 5) ^ k; } out[i] = s;",
        |t| {
            (0..N).fold(0u32, |s, k| {
                let j = t.x.wrapping_add(k.wrapping_mul(0x1fff_ffff));
                s.wrapping_add(((u64::from(j) * 5) >> 5) as u32 ^ k)
            })
        },
    ),
    // Signed ones, downwards from lane to lane; and narrow ones.
    (
        "uint s = 0; for (uint k = 0; k < n; k++) { short j = short(ushort(k * 3000u - x)); s = s * 3 + uint(long(j) * 5 >> 2); } out[i] = s;",
        |t| {
            (0..N).fold(0u32, |s, k| {
                let j = (k * 3000).wrapping_sub(t.x) as u16 as i16;
                s.wrapping_mul(3).wrapping_add(((i64::from(j) * 5) >> 2) as u32)
            })
        },
    ),
    // Backwards, and by pointers that move.
    (
        "const device uint *q = a + x; uint s = 0; for (uint k = n; k > 0; k--) { s = s * 3 + *q; q += w; } out[i] = s;",
        |t| (0..N).fold(0u32, |s, k| s.wrapping_mul(3).wrapping_add(t.a[(k * t.w + t.x) as usize])),
    ),
    // Bytes, halves and long words.
    (
        "const device uchar *b = (const device uchar *)a; const device ulong *v = (const device ulong *)a; ulong s = 0; for (uint k = 0; k < n; k++) s = s * 3 + b[k * w + x] + (v[x + k] >> 40); out[i] = uint(s >> 3);",
        |t| {
            let byte = |at: u32| u64::from(t.a[at as usize / 4] >> (at % 4 * 8) & 255);
            let long = |at: u32| u64::from(t.a[at as usize * 2]) | u64::from(t.a[at as usize * 2 + 1]) << 32;
            ((0..N).fold(0u64, |s, k| {
                s.wrapping_mul(3).wrapping_add(byte(k * t.w + t.x)).wrapping_add(long(t.x + k) >> 40)
            }) >> 3) as u32
        },
    ),
    // Positions in the threadgroup and SIMD-group; each thread's first word is gathered.
    ("uint h = a[i * 3] + lane * 7 + simdgroup * 1000; for (uint k = 0; k < n; k++) h = h * 3 + t; out[i] = h;", |t| {
        let first = t.a[t.i as usize * 3].wrapping_add(t.t % 32 * 7).wrapping_add(t.t / 32 * 1000);
        (0..N).fold(first, |h, _| h.wrapping_mul(3).wrapping_add(t.t))
    }),
    // What is decided by memory, alike for all; and a way out of the loop.
    (
        "uint s = x; for (uint k = 0; k < n; k++) { if (a[k] % 11 == 3) break; if ((p[k & 3] & 1) != 0) s = s * 9 + k; else s ^= a[x + k]; } out[i] = s;",
        |t| {
            let mut s = t.x;
            for k in (0..N).take_while(|&k| t.a[k as usize] % 11 != 3) {
                s = if P[k as usize & 3] & 1 != 0 {
                    s.wrapping_mul(9).wrapping_add(k)
                } else {
                    s ^ t.a[(t.x + k) as usize]
                };
            }
            s
        },
    ),
    // A store in the loop whose index is known not to wrap, read again by the same thread.
    ("ulong at = i; for (uint k = 0; k < n; k++) out[at] = k == 0 ? x : out[at] * 3 + k;", |t| {
        (1..N).fold(t.x, |s, k| s.wrapping_mul(3).wrapping_add(k))
    }),
    // Vectors of MSL, and functions with vector forms.
    (
        "float4 s = float4(x, y, 1, 0); for (uint k = 0; k < n; k++) s = fma(s.wxyz, float4(0.5f), float4(floor(float(x + k) / 4))); out[i] = uint(s.x + s.y + s.z + s.w);",
        |t| {
            let mut s = [t.x as f32, t.y as f32, 1.0, 0.0];
            for k in 0..N {
                let more = ((t.x + k) as f32 / 4.0).floor();
                s = [s[3], s[0], s[1], s[2]].map(|v: f32| v.mul_add(0.5, more));
            }
            (s[0] + s[1] + s[2] + s[3]) as u32
        },
    ),
    // Behind barriers, what each thread keeps is one of the loop's values.
    (
        "threadgroup uint s[256]; s[t] = a[i]; threadgroup_barrier(mem_flags::mem_threadgroup); uint h = x; for (uint k = 0; k < m; k++) h = h * 3 + s[k]; \
      threadgroup_barrier(mem_flags::mem_threadgroup); s[t] = h; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = s[m - 1 - t] + h;",
        |t| {
            let value = |x: u32| t.others.iter().fold(x, |h, &o| h.wrapping_mul(3).wrapping_add(t.a[o as usize]));
            let other = t.others[t.others.len() - 1 - t.t as usize];
            value(other % t.w).wrapping_add(value(t.x))
        },
    ),
    // What is clamped before a loop with barriers is clamped again behind them, and what lies beside it is seen to.
    (
        "uint h = 0; for (uint j = 0; j < n; j += 8) { threadgroup_barrier(mem_flags::mem_none); \
      for (uint k = 0; k < n; k++) h = h * 3 + a[min(y, 2u) * 64 + x + j + k]; } out[i] = h;",
        |t| {
            let rounds = (0..N).step_by(8).flat_map(|j| (0..N).map(move |k| j + k));
            rounds.fold(0u32, |h, at| h.wrapping_mul(3).wrapping_add(t.a[(t.y.min(2) * 64 + t.x + at) as usize]))
        },
    ),
    // A loop with barriers around one without.
    (
        "threadgroup uint s[256]; uint h = 0; for (uint j = 0; j < n; j += 8) { s[t] = a[i + j]; threadgroup_barrier(mem_flags::mem_threadgroup); \
      for (uint k = 0; k < m; k++) h = (h ^ s[k]) * 5 + i; threadgroup_barrier(mem_flags::mem_threadgroup); } out[i] = h;",
        |t| {
            (0..N).step_by(8).fold(0u32, |h, j| {
                t.others.iter().fold(h, |h, &o| (h ^ t.a[(o + j) as usize]).wrapping_mul(5).wrapping_add(t.i))
            })
        },
    ),
];

fn source(body: &str) -> String {
    format!("kernel void run({PARAMETERS}) {{ {BEGIN}\n  {body}\n}}\n")
}

fn words() -> Vec<u32> {
    let mut random = Random(1);
    (0..WORDS).map(|_| random.bits() as u32).collect()
}

/// Grids whose threadgroups have squares of threads, in threadgroups that tiles for columns fit and others.
const SQUARES: [Shape; 9] = [
    ([48, 32, 1], [16, 16, 1]),
    ([64, 24, 1], [32, 8, 1]),
    ([40, 18, 1], [16, 16, 1]),
    ([16, 16, 1], [8, 8, 1]),
    ([16, 16, 4], [8, 8, 2]),
    ([32, 16, 2], [16, 16, 2]),
    ([32, 64, 1], [32, 32, 1]),
    ([20, 10, 1], [5, 2, 1]),
    ([32, 12, 1], [16, 4, 1]),
];

/// The same without loops, of kernels that get tiles because a lane's accesses follow each other from row to row. `o` is the
/// thread 5 behind, at another place of the memory that one of the two goes through by columns.
const COLUMNS: &[(&str, Reference)] = &[
    // Written by columns; of each size.
    ("threadgroup uint s[2][32][33]; s[l.z][l.x][l.y] = a[i]; WAIT out[i] = s[o.z][o.x][o.y];", |t| t.behind(5)),
    ("threadgroup uchar s[2][32][40]; s[l.z][l.x][l.y] = a[i]; WAIT out[i] = s[o.z][o.x][o.y];", |t| {
        t.behind(5) & 0xff
    }),
    ("threadgroup short s[2][32][32]; s[l.z][l.x][l.y] = a[i]; WAIT out[i] = s[o.z][o.x][o.y];", |t| {
        t.behind(5) as u16 as i16 as i32 as u32
    }),
    (
        "threadgroup ulong s[2][32][34]; s[l.z][l.x][l.y] = a[i] * 0x10001ul; WAIT out[i] = uint(s[o.z][o.x][o.y] >> 9);",
        |t| ((u64::from(t.behind(5)) * 0x1_0001) >> 9) as u32,
    ),
    // Read by columns.
    ("threadgroup uint s[2][32][33]; s[o.z][o.x][o.y] = a[i]; WAIT out[i] = s[l.z][l.x][l.y] * 3 + y;", |t| {
        t.behind(t.others.len() as u32 * 5 - 5).wrapping_mul(3).wrapping_add(t.y)
    }),
    ("threadgroup uchar s[2][32][33]; s[o.z][o.x][o.y] = a[i]; WAIT out[i] = s[l.z][l.x][l.y] * 3 + y;", |t| {
        (t.behind(t.others.len() as u32 * 5 - 5) & 0xff) * 3 + t.y
    }),
    ("threadgroup half s[2][32][36]; s[o.z][o.x][o.y] = a[i] & 1023; WAIT out[i] = uint(s[l.z][l.x][l.y]) + x;", |t| {
        (t.behind(t.others.len() as u32 * 5 - 5) & 1023) + t.x
    }),
    (
        "threadgroup ulong s[2][32][32]; s[o.z][o.x][o.y] = a[i] * 0x10001ul; WAIT out[i] = uint(s[l.z][l.x][l.y] >> 9);",
        |t| ((u64::from(t.behind(t.others.len() as u32 * 5 - 5)) * 0x1_0001) >> 9) as u32,
    ),
    // Columns that lie on each other, and in the order against the lanes'.
    (
        "threadgroup uint s[4096]; s[(31 - o.x) * 40 + o.y + o.z * 2000] = a[i]; WAIT out[i] = s[(31 - l.x) * 40 + l.y + l.z * 2000];",
        |t| t.behind(t.others.len() as u32 * 5 - 5),
    ),
    ("threadgroup_barrier(mem_flags::mem_none); out[i] = a[l.x * 3 + l.y + 7];", |t| {
        t.a[(t.local[0] * 3 + t.local[1] + 7) as usize]
    }),
    // Read, changed and written in one go; both ways.
    (
        "threadgroup uint s[2][32][33]; s[o.z][o.x][o.y] = a[i]; WAIT s[l.z][l.x][l.y] = s[l.z][l.x][l.y] * 5 + x; WAIT out[i] = s[o.z][o.x][o.y] + y;",
        |t| {
            let other = t.others[(t.t as usize + 5) % t.others.len()];
            t.a[t.i as usize].wrapping_mul(5).wrapping_add(other % t.w).wrapping_add(t.y)
        },
    ),
    // A guard that parts the threads of some tiles.
    (
        "threadgroup uint s[2][32][33]; s[o.z][o.x][o.y] = a[i]; WAIT if (x + y * 3 < 50) out[i] = s[l.z][l.x][l.y]; else out[i] = 1;",
        |t| if t.x + t.y * 3 < 50 { t.behind(t.others.len() as u32 * 5 - 5) } else { 1 },
    ),
    // In a loop.
    (
        "threadgroup uint s[2][32][56]; for (uint k = t; k < 2 * 32 * 56; k += m) (&s[0][0][0])[k] = a[k]; WAIT uint h = 0; \
         for (uint k = 0; k < n; k++) h = h * 3 + s[l.z][l.x][l.y + k]; out[i] = h;",
        |t| {
            let first = (t.local[2] * 32 + t.local[0]) * 56 + t.local[1];
            (0..N).fold(0u32, |h, k| h.wrapping_mul(3).wrapping_add(t.a[(first + k) as usize]))
        },
    ),
];

/// Much the same, of kernels that get none.
const NO_COLUMNS: &[(&str, Reference)] = &[
    // With gaps, in the other direction, and with a distance that the code does not know.
    ("threadgroup uint s[2][32][66]; s[o.z][o.x][o.y * 2] = a[i]; WAIT out[i] = s[l.z][l.x][l.y * 2];", |t| {
        t.behind(t.others.len() as u32 * 5 - 5)
    }),
    ("threadgroup ushort s[2][32][66]; s[l.z][l.x][l.y * 2] = a[i]; WAIT out[i] = s[o.z][o.x][o.y * 2];", |t| {
        t.behind(5) & 0xffff
    }),
    ("threadgroup uint s[2][32][33]; s[o.z][o.x][31 - o.y] = a[i]; WAIT out[i] = s[l.z][l.x][31 - l.y];", |t| {
        t.behind(t.others.len() as u32 * 5 - 5)
    }),
    (
        "threadgroup uint s[2048]; s[o.z * 1024 + o.x * size.y + o.y] = a[i]; WAIT out[i] = s[l.z * 1024 + l.x * size.y + l.y];",
        |t| t.behind(t.others.len() as u32 * 5 - 5),
    ),
    // Much to compute.
    (
        "threadgroup uint s[2][32][33]; s[o.z][o.x][o.y] = a[i]; WAIT uint h = s[l.z][l.x][l.y]; \
         for (uint k = 0; k < 12; k++) h = (h ^ h >> 7) * (k + x); out[i] = h;",
        |t| {
            let first = t.behind(t.others.len() as u32 * 5 - 5);
            (0..12).fold(first, |h, k| (h ^ h >> 7).wrapping_mul(k + t.x))
        },
    ),
];

#[test]
fn columns_in_tiles() {
    let wait = "threadgroup_barrier(mem_flags::mem_threadgroup);";
    let other =
        "uint o_ = (t + 5) % m; uint3 o = uint3(o_ % size.x, o_ / size.x % size.y, o_ / (size.x * size.y)); (void)o; ";
    let text = |body: &str| format!("{other}{}", body.replace("WAIT", wait));
    in_tiles(COLUMNS, &SQUARES, true, text);
    in_tiles(NO_COLUMNS, &SQUARES, false, text);
}

#[test]
fn kernels_in_tiles() {
    in_tiles(TILED, &SHAPES, true, str::to_owned);
}

fn in_tiles(kernels: &[(&str, Reference)], shapes: &[Shape], tiled: bool, text: impl Fn(&str) -> String) {
    let tiled = tiled && has_pass();
    let (words, mut wrong) = (words(), String::new());
    let a = Buffer::of(&words);
    for (body, reference) in kernels {
        let body = text(body);
        for engine in [Engine::Pass, Engine::Stack] {
            let loaded = load(&source(&body), MathMode::Safe, engine);
            if loaded.in_tiles() != (tiled && engine == Engine::Pass) {
                writeln!(wrong, "{engine:?}: {}, in tiles: {}: {body}", loaded.built(), loaded.in_tiles())
                    .expect("a string");
            }
            let pipeline = pipeline(loaded);
            for &shape in shapes {
                let (got, expected) = (dispatch(&pipeline, shape, &a), expected(shape, &words, *reference));
                if let Some(at) = (0..got.len()).find(|&at| got[at] != expected[at]) {
                    writeln!(wrong, "{engine:?}, {shape:?}, {at}: {} for {}: {body}", got[at], expected[at])
                        .expect("a string");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Kernels that get no tiles, and what they leave in `out[i]`.
const PLAIN: &[(&str, Reference)] = &[
    // A cycle that is entered in two places.
    (
        "uint s = 0, c = n; switch (x & 1) { case 0: do { s = s * 3 + 1; case 1: s += c; } while (--c); } out[i] = s;",
        |t| {
            (0..N).fold(0u32, |s, round| {
                let first = if t.x & 1 == 0 || round > 0 { s.wrapping_mul(3).wrapping_add(1) } else { s };
                first.wrapping_add(N - round)
            })
        },
    ),
    // Each thread's own count, with reads from anywhere; with quotients; around another loop; with writes.
    (
        "uint s = 0; for (uint k = 0; k < x % 7; k++) s += a[a[x + k] & 0xffff] + a[a[x * 3 + k] & 0xff]; out[i] = s;",
        |t| {
            (0..t.x % 7).fold(0u32, |s, k| {
                s.wrapping_add(t.a[t.a[(t.x + k) as usize] as usize & 0xffff])
                    .wrapping_add(t.a[t.a[(t.x * 3 + k) as usize] as usize & 0xff])
            })
        },
    ),
    (
        "uint s = i; for (uint k = 0; k < x % 7; k++) { if (s % 3 == 1) s = 1000 / (x % 7 - k); s += k; } out[i] = s;",
        |t| (0..t.x % 7).fold(t.i, |s, k| (if s % 3 == 1 { 1000 / (t.x % 7 - k) } else { s }) + k),
    ),
    ("uint s = i; for (uint k = 0; k < x % 7; k++) for (uint j = 0; j < n; j++) s = s * 5 + j; out[i] = s;", |t| {
        (0..t.x % 7).fold(t.i, |s, _| (0..N).fold(s, |s, j| s.wrapping_mul(5).wrapping_add(j)))
    }),
    ("out[i] = 1; for (uint k = 0; k < x % 7; k++) out[i] = out[i] * 3 + a[k];", |t| {
        (0..t.x % 7).fold(1u32, |s, k| s.wrapping_mul(3).wrapping_add(t.a[k as usize]))
    }),
    // Far from lane to lane: better along the loop.
    ("uint s = 0; for (uint k = 0; k < n; k++) s += a[i * n + k]; out[i] = s;", |t| {
        (0..N).fold(0u32, |s, k| s.wrapping_add(t.a[(t.i * N + k) as usize]))
    }),
    // Anywhere.
    ("uint s = 0; for (uint k = 0; k < n; k++) s += a[a[x + k] & 0xffff]; out[i] = s;", |t| {
        (0..N).fold(0u32, |s, k| s.wrapping_add(t.a[t.a[(t.x + k) as usize] as usize & 0xffff]))
    }),
    // Atomics, and their memory read as plain.
    (
        "device atomic_uint *c = (device atomic_uint *)(out + i); atomic_store_explicit(c, x, memory_order_relaxed); for (uint k = 0; k < n; k++) atomic_fetch_add_explicit(c, k, memory_order_relaxed);",
        |t| t.x + N * (N - 1) / 2,
    ),
    // Volatile.
    ("volatile device uint *v = out + i; *v = x; for (uint k = 0; k < n; k++) *v = *v * 3 + k;", |t| {
        (0..N).fold(t.x, |s, k| s.wrapping_mul(3).wrapping_add(k))
    }),
    // Private memory that is indexed at run time.
    (
        "uint b[8]; for (uint k = 0; k < 8; k++) b[k] = x + k; for (uint k = 0; k < n; k++) b[(x + k) & 7] = b[(x * k) & 7] * 3 + k; out[i] = b[y & 7];",
        |t| {
            let mut b: [u32; 8] = std::array::from_fn(|k| t.x + k as u32);
            for k in 0..N {
                b[(t.x + k) as usize & 7] = b[(t.x * k) as usize & 7].wrapping_mul(3).wrapping_add(k);
            }
            b[t.y as usize & 7]
        },
    ),
    // Quotients have no vector form.
    ("uint s = i; for (uint k = 0; k < n; k++) s = s / (x + k + 1) + k * 1000; out[i] = s;", |t| {
        (0..N).fold(t.i, |s, k| s / (t.x + k + 1) + k * 1000)
    }),
    // Each thread's own decision behind the loop, and in it.
    ("out[i] = 1; uint s = 0; for (uint k = 0; k < n; k++) s = s * 3 + a[x + k]; if ((s & 1) != 0) out[i] = s;", |t| {
        let s = (0..N).fold(0u32, |s, k| s.wrapping_mul(3).wrapping_add(t.a[(t.x + k) as usize]));
        if s & 1 != 0 { s } else { 1 }
    }),
    ("uint s = x; out[i] = 0; for (uint k = 0; k < n; k++) { s = s * 3 + k; if ((s & 8) != 0) out[i] += s; }", |t| {
        let (mut s, mut sum) = (t.x, 0u32);
        for k in 0..N {
            s = s.wrapping_mul(3).wrapping_add(k);
            sum = if s & 8 != 0 { sum.wrapping_add(s) } else { sum };
        }
        sum
    }),
    // No loop.
    ("out[i] = a[x] * 3;", |t| t.a[t.x as usize].wrapping_mul(3)),
];

#[test]
fn kernels_without_tiles() {
    let (words, mut wrong) = (words(), String::new());
    let a = Buffer::of(&words);
    for (body, reference) in PLAIN {
        let loaded = load(&source(body), MathMode::Safe, Engine::Pass);
        if loaded.in_tiles() || *loaded.built() != Built::Loop {
            writeln!(wrong, "{}, in tiles: {}: {body}", loaded.built(), loaded.in_tiles()).expect("a string");
        }
        let pipeline = pipeline(loaded);
        for shape in SHAPES {
            let (got, expected) = (dispatch(&pipeline, shape, &a), expected(shape, &words, *reference));
            if let Some(at) = (0..got.len()).find(|&at| got[at] != expected[at]) {
                writeln!(wrong, "{shape:?}, {at}: {} for {}: {body}", got[at], expected[at]).expect("a string");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A kernel whose threads go through a loop at once, until one of them faults: the statements, and a part of the error.
const FAULTS: &[(&str, &str)] = &[
    ("uint s = 0; for (uint k = 0; k < n; k++) s += a[ulong(k) * (p[0] << 30) + x]; out[i] = s;", "threadgroup ("),
    (
        "if (x < 64) return; uint s = 0; for (uint k = 0; k < n; k++) s = s * 3 + a[k]; out[s * 0ul + (1ul << 40) + x] = s;",
        "threadgroup (1, 0, 0)",
    ),
    (
        "uint s = p[0], d = p[0] - 3; for (uint k = 0; k < n; k++) s = s * 3 + n / (d * k); out[i] = s + x;",
        "division by zero",
    ),
];

#[test]
fn faults_in_tiles_are_told() {
    let pass = has_pass();
    let a = Buffer::of(&words());
    for (body, part) in FAULTS {
        let loaded = load(&source(body), MathMode::Safe, Engine::Pass);
        assert_eq!(loaded.in_tiles(), pass, "{body}");
        let pipeline = pipeline(loaded);
        let (out, p) = (Buffer::new(512), Buffer::of(&P));
        let done = Queue::new().run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&out, 0);
            encoder.buffer(&a, 1);
            encoder.bytes(&N, 2);
            encoder.buffer(&p, 3);
            encoder.threads([128, 1, 1], [64, 1, 1]);
        });
        assert_eq!(done.status(), crate::support::ERROR, "{body}");
        let (_, text) = done.error().expect("an error");
        assert!(text.contains("kernel \"run\"") && text.contains(part), "{text}: {body}");
    }
}

/// Functions of numbers in a loop; whether they have vector forms, without fast arithmetic and with it; and their values.
type Function = (&'static str, [bool; 2], fn(f64) -> f64);
const FUNCTIONS: &[Function] =
    &[
        ("exp(v)", [false, true], f64::exp),
        ("log(v + 4)", [false, true], |v| (v + 4.0).ln()),
        ("sin(v)", [false, true], f64::sin),
        ("cos(v)", [false, true], f64::cos),
        ("sqrt(v + 4)", [true, true], |v| (v + 4.0).sqrt()),
        ("pow(v + 4, 1.5f)", [false, true], |v| (v + 4.0).powf(1.5)),
        ("fabs(v) + floor(v) + ceil(v * 2) + trunc(v * 3) + rint(v * 5)", [true, true], |v| {
            v.abs() + v.floor() + (v * 2.0).ceil() + (v * 3.0).trunc() + (v * 5.0).round_ties_even()
        }),
        ("clamp(v, -1.0f, 2.0f) + copysign(3.0f, v) + fma(v, v, v)", [true, true], |v| {
            v.clamp(-1.0, 2.0) + 3f64.copysign(v) + v * v + v
        }),
        ("isnan(v) ? 9.0f : isinf(v) ? 8.0f : select(v, 0.0f, signbit(v))", [true, true], |v| {
            if v < 0.0 { 0.0 } else { v }
        }),
        ("float(half(v)) * 0 + float(uchar(v + 5)) + float(long(v * 1000) / 25500000)", [false, false], |v| {
            (v + 5.0).trunc()
        }),
        ("exp2(v) + log2(v + 4)", [false, false], |v| v.exp2() + (v + 4.0).log2()),
    ];

#[test]
fn functions_in_tiles() {
    let pass = has_pass();
    for (function, tiles, exact) in FUNCTIONS {
        for mode in ALL_MODES {
            let text = format!(
                "kernel void run(device float *out [[buffer(0)]], const device float *a [[buffer(1)]], constant uint &n [[buffer(2)]], uint i [[thread_position_in_grid]]) {{\n\
                 \x20 float s = 0; for (uint k = 0; k < n; k++) {{ float v = a[k * 128 + i]; s += {function}; }} out[i] = s; }}"
            );
            let loaded = load(&text, mode, Engine::Pass);
            assert_eq!(loaded.in_tiles(), pass && tiles[usize::from(mode == MathMode::Fast)], "{mode:?}: {function}");
            let pipeline = pipeline(loaded);
            let mut random = Random(5);
            let values: Vec<f32> = (0..N as usize * 128).map(|_| random.between(-3.0, 3.0)).collect();
            let (out, a) = (Buffer::new(512), Buffer::of(&values));
            Queue::new()
                .run(|encoder| {
                    encoder.pipeline(&pipeline);
                    encoder.buffer(&out, 0);
                    encoder.buffer(&a, 1);
                    encoder.bytes(&N, 2);
                    encoder.threads([128, 1, 1], [64, 1, 1]);
                })
                .assert_completed();
            for (i, got) in out.read::<f32>().into_iter().enumerate() {
                let terms: Vec<f64> = (0..N as usize).map(|k| exact(f64::from(values[k * 128 + i]))).collect();
                let (sum, size) = (terms.iter().sum::<f64>(), terms.iter().map(|term| term.abs()).sum::<f64>() + 1.0);
                assert!((f64::from(got) - sum).abs() <= size * 1e-5, "{mode:?}, {i}: {got} for {sum}: {function}");
            }
        }
    }
}
