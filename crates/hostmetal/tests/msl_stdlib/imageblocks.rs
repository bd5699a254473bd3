//! Imageblocks (MSL 6.13): what threads of a threadgroup find in each other's pixels, and where slices of them come to in textures. Which formats
//! they are stored in is tested with textures (texture.rs).

use std::collections::BTreeSet;

use hostmetal::ffi::HMTextureDescriptor;
use hostmetal::msl::{Engine, MathMode};

use crate::stdlib::catalog::features;
use crate::stdlib::{load_on, pipeline};
use crate::support::*;

const ENGINES: [Engine; 2] = [Engine::Stack, Engine::Pass];

/// Each thread fills its pixel and looks at that of the thread behind it in both directions, which it then changes.
const PIXELS: &str = "\
struct Inner { packed_float3 d; uchar e[3]; };
struct Pixel { half4 a; int b; rgba8unorm<half4> c [[raster_order_group(0)]]; Inner in; };
template <class T> int sum(const imageblock<T> block, ushort2 at) { const threadgroup_imageblock T *p = block.data(at); return p->b + p->in.e[2]; }
static void add(thread imageblock<Pixel, imageblock_layout_explicit> &block, ushort2 at, int n) { block.data(at)->b += n; }
kernel void run(imageblock<Pixel> block, device int *out [[buffer(0)]], threadgroup int *dynamic [[threadgroup(3)]],
                ushort2 l [[thread_position_in_threadgroup]], ushort2 n [[threads_per_threadgroup]], ushort2 g [[thread_position_in_grid]],
                ushort2 whole [[threads_per_grid]], ushort k [[thread_index_in_threadgroup]]) {
  threadgroup int fixed[64];
  int i = g.y * whole.x + g.x;
  threadgroup_imageblock Pixel *p = block.data(l);
  p->a = half4(l.x, l.y, 1, 2); p->b = i; p->c = half4(0.2h, 0.4h, 0.6h, 0.8h); p->in.d = packed_float3(g.x, g.y, 7); p->in.e[2] = uchar(k);
  fixed[k] = i + 1000; dynamic[k] = i + 2000;
  threadgroup_barrier(mem_flags::mem_threadgroup_imageblock | mem_flags::mem_threadgroup);
  ushort2 next((l.x + 1) % n.x, (l.y + 1) % n.y);
  const threadgroup_imageblock Pixel &q = *block.data(next, 0, imageblock_data_rate::color);
  device int *own = out + i * 11;
  own[0] = sum(block, next);
  own[1] = int(q.a.x + 16 * q.a.y);
  own[2] = int(q.in.d[0] + 100 * q.in.d[1] + 10000 * q.in.d[2]);
  own[3] = int(rint(half4(q.c).y * 255));
  own[4] = fixed[next.y * n.x + next.x];
  own[5] = dynamic[next.y * n.x + next.x];
  own[6] = block.get_width() * 100 + block.get_height();
  own[7] = block.get_num_samples() * 100 + block.get_num_colors(l) * 10 + block.get_color_coverage_mask(l, 0);
  threadgroup_barrier(mem_flags::mem_threadgroup_imageblock);
  add(block, next, 5);
  threadgroup_barrier(mem_flags::mem_threadgroup_imageblock);
  own[8] = p->b;
  Pixel made = *p; made.b = -i;
  block.write(made, l, 0); own[9] = p->b;
  block.write(made, l, 1); own[10] = p->b;
}
";

/// Grid, threadgroup, imageblock.
const SHAPES: &[([usize; 2], [usize; 2], [usize; 2])] =
    &[([16, 8], [8, 4], [8, 4]), ([13, 9], [8, 4], [16, 8]), ([5, 3], [4, 2], [4, 4]), ([64, 1], [32, 1], [32, 1])];

#[test]
fn pixels_belong_to_the_threadgroup() {
    for engine in ENGINES {
        let pipeline = pipeline(load_on(PIXELS, MathMode::Safe, engine));
        for &(grid, size, block) in SHAPES {
            let out = Buffer::new((grid[0] * grid[1] * 11 * 4) as u64);
            Queue::new()
                .run(|encoder| {
                    encoder.pipeline(&pipeline);
                    encoder.buffer(&out, 0);
                    encoder.memory(256, 3);
                    encoder.imageblock(block[0] as u64, block[1] as u64);
                    encoder.threads([grid[0] as u64, grid[1] as u64, 1], [size[0] as u64, size[1] as u64, 1]);
                })
                .assert_completed();
            for (i, got) in out.read::<[i32; 11]>().into_iter().enumerate() {
                let at = [i % grid[0], i / grid[0]];
                // Of its threadgroup: the first thread, and how many they are.
                let first: [usize; 2] = std::array::from_fn(|axis| at[axis] / size[axis] * size[axis]);
                let n: [usize; 2] = std::array::from_fn(|axis| size[axis].min(grid[axis] - first[axis]));
                let next: [usize; 2] = std::array::from_fn(|axis| (at[axis] - first[axis] + 1) % n[axis]);
                let other = [first[0] + next[0], first[1] + next[1]];
                let [i, j] = [at, other].map(|[x, y]| (y * grid[0] + x) as i32);
                let expected = [
                    j + (next[1] * n[0] + next[0]) as i32,
                    (next[0] + 16 * next[1]) as i32,
                    (other[0] + 100 * other[1] + 70000) as i32,
                    102, // 0.4 is nearest to 102 / 255
                    j + 1000,
                    j + 2000,
                    (block[0] * 100 + block[1]) as i32,
                    111,
                    i + 5,
                    i + 5,
                    -i,
                ];
                assert_eq!(got, expected, "thread {at:?} of {grid:?} in {size:?}, imageblock {block:?}, {engine:?}");
            }
        }
    }
}

/// As large as the threadgroup's memory: 32 x 32 pixels of 32 bytes.
#[test]
fn an_imageblock_may_take_all_memory() {
    let source = "struct Pixel { float4 a; uint4 b; };\n\
        kernel void run(imageblock<Pixel> block, device uint *out [[buffer(0)]], ushort2 l [[thread_position_in_threadgroup]]) {\n\
          ushort2 turned(l.y, l.x); block.data(turned)->a = float4(l.x); block.data(turned)->b = uint4(l.y * 32 + l.x);\n\
          threadgroup_barrier(mem_flags::mem_threadgroup_imageblock); out[l.y * 32 + l.x] = block.data(l)->b.w + uint(block.data(l)->a.w); }";
    for engine in ENGINES {
        let out = Buffer::new(4096);
        Queue::new()
            .run(|encoder| {
                encoder.pipeline(&pipeline(load_on(source, MathMode::Fast, engine)));
                encoder.buffer(&out, 0);
                encoder.imageblock(32, 32);
                encoder.threads([32, 32, 1], [32, 32, 1]);
            })
            .assert_completed();
        // The pixel at (x, y) is the thread's at (y, x).
        let expected: Vec<u32> = (0..1024).map(|k| (k % 32) * 32 + k / 32 + k / 32).collect();
        assert_eq!(out.read::<u32>(), expected, "{engine:?}");
    }
}

const SLICES: &str = "\
struct Pixel { uchar before; int n; uchar behind; };
kernel void run(imageblock<Pixel> block, texture1d<int, access::write> line [[texture(0)]], texture1d_array<int, access::write> lines [[texture(1)]],
                texture2d<int, access::write> flat [[texture(2)]], texture2d_array<int, access::read_write> flats [[texture(3)]],
                texture3d<int, access::write> deep [[texture(4)]], texturecube<int, access::write> cube [[texture(5)]],
                texturecube_array<int, access::write> cubes [[texture(6)]], ushort2 l [[thread_position_in_threadgroup]]) {
  threadgroup_imageblock Pixel *p = block.data(l);
  p->before = 1; p->n = l.y * 100 + l.x + 1; p->behind = 2;
  threadgroup_barrier(mem_flags::mem_threadgroup_imageblock);
  if (all(l == ushort2(0))) {
    auto part = block.slice(block.data(ushort2(3, 1))->n, ushort2(3, 2));
    line.write(block.slice(p->n, ushort2(4, 1)), 1u);
    line.write(block.slice(p->n, ushort2(1)), ushort(7));
    lines.write(block.slice(p->n, ushort2(2, 1)), ushort(2), ushort(1));
    lines.write(block.slice(p->n, ushort2(1)), 7u, 0u);
    flat.write(part, uint2(5, 6), 1);
    flat.write(block.slice(p->n, ushort2(100, 100)), ushort2(8, 12));
    flats.write(block.slice(p->n), ushort2(1, 2), 2);
    flats.write(part, uint2(6, 7), 0u);
    deep.write(part, uint3(1, 2, 3));
    deep.write(part, ushort3(0));
    cube.write(part, ushort2(0, 1), 4);
    cube.write(part, uint2(1, 1), 0u);
    cubes.write(part, uint2(2, 0), 3u, 1u);
    cubes.write(part, ushort2(0), 5, 0);
  }
}
";

/// Of a write: the texture, its slice and level, where the region begins, and its size.
type Write = (usize, u64, u64, [usize; 3], [usize; 2]);
/// The imageblock has 8 x 4 pixels.
const REGIONS: &[Write] = &[
    (0, 0, 0, [1, 0, 0], [4, 1]),
    (0, 0, 0, [7, 0, 0], [1, 1]),
    (1, 1, 0, [2, 0, 0], [2, 1]),
    (1, 0, 0, [7, 0, 0], [1, 1]),
    (2, 0, 1, [5, 6, 0], [3, 2]),
    (2, 0, 0, [8, 12, 0], [8, 4]),
    (3, 2, 0, [1, 2, 0], [8, 4]),
    // Beyond the edge nothing is written.
    (3, 0, 0, [6, 7, 0], [3, 2]),
    (4, 0, 0, [1, 2, 3], [3, 2]),
    (4, 0, 0, [0, 0, 0], [3, 2]),
    (5, 4, 0, [0, 1, 0], [3, 2]),
    (5, 0, 0, [1, 1, 0], [3, 2]),
    (6, 9, 0, [2, 0, 0], [3, 2]),
    (6, 5, 0, [0, 0, 0], [3, 2]),
];

#[test]
fn a_slice_comes_to_its_place_in_every_texture() {
    let of = |kind: u32, size: [u64; 3], slices: u64, levels: u64| HMTextureDescriptor {
        slices,
        levels,
        ..texture(kind, 54, size)
    };
    // Slices that there are, levels.
    let textures = [
        (of(TEXTURE_1D, [8, 1, 1], 1, 1), 1, 1),
        (of(TEXTURE_1D_ARRAY, [8, 1, 1], 2, 1), 2, 1),
        (of(TEXTURE_2D, [16, 16, 1], 1, 2), 1, 2),
        (of(TEXTURE_2D_ARRAY, [9, 8, 1], 3, 1), 3, 1),
        (of(TEXTURE_3D, [4, 8, 4], 1, 1), 1, 1),
        (of(TEXTURE_CUBE, [4, 4, 1], 1, 1), 6, 1),
        (of(TEXTURE_CUBE_ARRAY, [4, 4, 1], 2, 1), 12, 1),
    ];
    for engine in ENGINES {
        let pipeline = pipeline(load_on(SLICES, MathMode::Fast, engine));
        let made = textures.map(|(descriptor, ..)| Texture::new(&descriptor));
        Queue::new()
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                made.iter().enumerate().for_each(|(index, texture)| encoder.texture(texture, index));
                encoder.imageblock(8, 4);
                encoder.threads([8, 4, 1], [8, 4, 1]);
            })
            .assert_completed();
        for (number, (descriptor, slices, levels)) in textures.iter().enumerate() {
            for (slice, level) in (0..*slices).flat_map(|slice| (0..*levels).map(move |level| (slice, level))) {
                let size = descriptor.size.map(|extent| (extent >> level).max(1) as usize);
                let mut expected = vec![0i32; size.iter().product()];
                for &(.., begin, region) in REGIONS.iter().filter(|r| (r.0, r.1, r.2) == (number, slice, level)) {
                    for (x, y) in (0..region[1]).flat_map(|y| (0..region[0]).map(move |x| (x, y))) {
                        let at = [begin[0] + x, begin[1] + y, begin[2]];
                        if at[0] < size[0] && at[1] < size[1] {
                            expected[(at[2] * size[1] + at[1]) * size[0] + at[0]] = (y * 100 + x + 1) as i32;
                        }
                    }
                }
                let got: Vec<i32> = made[number].read(slice, level, 1);
                assert_eq!(got, expected, "texture {number}, slice {slice}, level {level}, {engine:?}");
            }
        }
    }
}

pub(crate) fn covered() -> BTreeSet<(String, String)> {
    [PIXELS, SLICES].into_iter().flat_map(features).map(|name| (name, String::new())).collect()
}
