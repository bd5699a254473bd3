//! The same kernel in OpenCL C and in MSL: both must give what a plain Rust reference gives, on seeded random inputs of
//! several sizes, into poisoned outputs.

mod common;

use bytemuck::{Pod, Zeroable};
use common::{Random, gpu, poisoned};
use dcmetal::{Accelerator, Arg, CompileOptions, Grid, Kernel, MathMode, args};

/// One launch on inputs from the seed; returns what the device gave and what is right, as bytes.
type Run = fn(&Accelerator, &Kernel, &mut Random) -> (Vec<u8>, Vec<u8>);

struct Pair {
    kernel: &'static str,
    opencl: &'static str,
    msl: &'static str,
    run: Run,
}

macro_rules! pairs {
    ($($kernel:ident),* $(,)?) => {
        &[$(Pair {
            kernel: stringify!($kernel),
            opencl: include_str!(concat!("kernels/", stringify!($kernel), ".cl")),
            msl: include_str!(concat!("kernels/", stringify!($kernel), ".metal")),
            run: $kernel,
        }),*]
    };
}

const PAIRS: &[Pair] = pairs![
    saxpy, mix4, stencil, transpose, matmul, reduce, histogram, scan, mandelbrot, bits, particles, grey, volume,
];

const SEEDS: [u64; 4] = [1, 2, 3, 4];

#[test]
fn both_languages_give_the_reference() {
    let gpu = gpu();
    let precise = CompileOptions { math_mode: Some(MathMode::Safe), ..CompileOptions::default() };
    let mut wrong = Vec::new();
    for pair in PAIRS {
        let opencl = gpu.compile_opencl_with(&format!("{}.cl", pair.kernel), pair.opencl, &Default::default());
        let msl = gpu.compile_msl_with(pair.msl, &precise);
        for (language, library) in [("cl", opencl), ("metal", msl)] {
            match library.and_then(|library| library.kernel(pair.kernel)) {
                Ok(kernel) => wrong.extend(SEEDS.iter().filter_map(|&seed| {
                    let (got, wanted) = (pair.run)(&gpu, &kernel, &mut Random(seed));
                    let differs = difference(&got, &wanted)?;
                    Some(format!("{}.{language}, seed {seed}: {differs}", pair.kernel))
                })),
                Err(error) => wrong.push(format!("{}.{language}: {error}", pair.kernel)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn difference(got: &[u8], wanted: &[u8]) -> Option<String> {
    if got.len() != wanted.len() {
        return Some(format!("{} bytes instead of {}", got.len(), wanted.len()));
    }
    let at = (0..got.len()).find(|&at| got[at] != wanted[at])?;
    Some(format!("byte {at} of {} differs", got.len()))
}

/// Every file under tests/kernels belongs to a pair.
#[test]
fn every_kernel_file_is_used() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .expect("tests/kernels")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    let mut wanted: Vec<String> =
        PAIRS.iter().flat_map(|pair| [format!("{}.cl", pair.kernel), format!("{}.metal", pair.kernel)]).collect();
    files.sort();
    wanted.sort();
    assert_eq!(files, wanted);
}

fn bytes<T: Pod>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

fn launch<'a>(kernel: &Kernel, grid: Grid, args: impl AsRef<[Arg<'a>]>) {
    let done = kernel.launch(grid, args).and_then(|submission| submission.wait());
    done.unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
}

/// Sizes with and without a remainder.
fn len(random: &mut Random) -> usize {
    random.range(1, 3000) as usize
}

fn saxpy(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let n = len(random);
    let (xs, ys) = (random.whole_floats(n), random.whole_floats(n));
    let a = random.range(-4, 5) as f32;
    let x = gpu.buffer_from(&xs).unwrap();
    let mut y = gpu.buffer_from(&ys).unwrap();
    // More threads than elements: the kernel's own bound counts.
    launch(kernel, Grid::linear(n.next_multiple_of(64)).threadgroup(64u32), args![&x, &mut y, a, n as u32]);
    let wanted: Vec<f32> = xs.iter().zip(&ys).map(|(x, y)| a * x + y).collect();
    (bytes(&y.to_vec().unwrap()), bytes(&wanted))
}

fn mix4(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let n = len(random);
    let xs = random.ints(n * 4);
    let bias = [1, -2, 30, random.range(-9, 10) as i32];
    let x = gpu.buffer_from(&xs).unwrap();
    let mut y = poisoned::<[i32; 4]>(gpu, n);
    launch(kernel, Grid::linear(n), args![&x, &mut y, bias]);
    let wanted: Vec<i32> = xs
        .chunks(4)
        .flat_map(|v| {
            let mut r: Vec<i32> = (0..4).map(|i| v[i] * 3 + v[3 - i] - bias[i]).collect();
            r[0] += v[2];
            r[1] += v[3];
            [r[2], r[3], r[0], r[1]]
        })
        .collect();
    (bytes(&y.to_vec().unwrap()), bytes(&wanted))
}

fn stencil(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let (w, h) = (random.range(1, 70) as usize, random.range(1, 70) as usize);
    let image = random.whole_floats(w * h);
    let input = gpu.buffer_from(&image).unwrap();
    let mut output = poisoned::<f32>(gpu, w * h);
    launch(kernel, Grid::threads((w, h)), args![&input, &mut output, [w as i32, h as i32]]);
    let at = |x: i64, y: i64| image[y.clamp(0, h as i64 - 1) as usize * w + x.clamp(0, w as i64 - 1) as usize];
    let mut wanted = Vec::new();
    for y in 0..h as i64 {
        for x in 0..w as i64 {
            let mut sixteenths = 0.0;
            for (dy, wy) in [(-1, 1.0), (0, 2.0), (1, 1.0)] {
                for (dx, wx) in [(-1, 1.0), (0, 2.0), (1, 1.0)] {
                    sixteenths += wx * wy * at(x + dx, y + dy);
                }
            }
            wanted.push(sixteenths / 16.0);
        }
    }
    // -0.0 and 0.0 are the same sum.
    let positive = |values: Vec<f32>| values.into_iter().map(|v| v + 0.0).collect::<Vec<f32>>();
    (bytes(&positive(output.to_vec().unwrap())), bytes(&positive(wanted)))
}

fn transpose(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let (w, h) = (random.range(1, 70) as usize, random.range(1, 70) as usize);
    let values = random.words(w * h);
    let input = gpu.buffer_from(&values).unwrap();
    let mut output = poisoned::<u32>(gpu, w * h);
    let grid = Grid::threadgroups((w.div_ceil(8), h.div_ceil(8)), (8usize, 8usize));
    launch(kernel, grid, args![&input, &mut output, w as u32, h as u32]);
    let wanted: Vec<u32> = (0..w).flat_map(|x| (0..h).map(move |y| (x, y))).map(|(x, y)| values[y * w + x]).collect();
    (bytes(&output.to_vec().unwrap()), bytes(&wanted))
}

fn matmul(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let n = 4 * random.range(1, 9) as usize;
    let (av, bv) = (random.whole_floats(n * n), random.whole_floats(n * n));
    let (a, b) = (gpu.buffer_from(&av).unwrap(), gpu.buffer_from(&bv).unwrap());
    let mut c = poisoned::<f32>(gpu, n * n);
    launch(kernel, Grid::threads((n, n)).threadgroup((4usize, 4usize)), args![&a, &b, &mut c, n as u32]);
    let mut wanted = vec![0i64; n * n];
    for y in 0..n {
        for x in 0..n {
            wanted[y * n + x] = (0..n).map(|k| av[y * n + k] as i64 * bv[k * n + x] as i64).sum();
        }
    }
    let wanted: Vec<f32> = wanted.into_iter().map(|v| v as f32).collect();
    let got: Vec<f32> = c.to_vec().unwrap().into_iter().map(|v| v + 0.0).collect();
    (bytes(&got), bytes(&wanted))
}

fn reduce(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let (n, group) = (len(random), 64usize);
    let values = random.ints(n);
    let groups = n.div_ceil(group);
    let x = gpu.buffer_from(&values).unwrap();
    let mut sums = poisoned::<i32>(gpu, groups);
    let grid = Grid::threadgroups(groups, group);
    launch(kernel, grid, args![&x, &mut sums, n as u32, Arg::threadgroup::<i32>(group)]);
    let wanted: Vec<i32> = values.chunks(group).map(|part| part.iter().sum()).collect();
    (bytes(&sums.to_vec().unwrap()), bytes(&wanted))
}

fn histogram(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let n = len(random);
    // Few different values, so that threads meet.
    let values: Vec<u8> = random.bytes(n).into_iter().map(|v| v % 11 * 23).collect();
    let x = gpu.buffer_from(&values).unwrap();
    let mut bins = gpu.buffer_zeroed::<u32>(256).unwrap();
    launch(kernel, Grid::threadgroups(n.div_ceil(96), 96usize), args![&x, &mut bins, n as u32]);
    let mut wanted = [0u32; 256];
    values.iter().for_each(|&v| wanted[usize::from(v)] += 1);
    (bytes(&bins.to_vec().unwrap()), bytes(&wanted))
}

fn scan(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    // Threadgroups that are no power of two.
    let (group, groups) = (random.range(1, 100) as usize, random.range(1, 20) as usize);
    let values = random.words(group * groups);
    let mut x = gpu.buffer_from(&values).unwrap();
    launch(kernel, Grid::threadgroups(groups, group), args![&mut x, Arg::threadgroup::<u32>(group)]);
    let running = |sum: &mut u32, v: &u32| {
        *sum = sum.wrapping_add(*v);
        Some(*sum)
    };
    let wanted: Vec<u32> = values.chunks(group).flat_map(|part| part.iter().scan(0u32, running)).collect();
    (bytes(&x.to_vec().unwrap()), bytes(&wanted))
}

fn mandelbrot(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let (w, h) = (random.range(1, 60) as usize, random.range(1, 60) as usize);
    let (origin, step, limit) = ([-8192, -5000], random.range(60, 200) as i32, 100);
    let mut output = poisoned::<u16>(gpu, w * h);
    launch(kernel, Grid::threads((w, h)), args![&mut output, origin, step, limit]);
    let mut wanted = Vec::new();
    for py in 0..h as i32 {
        for px in 0..w as i32 {
            let (cx, cy) = (origin[0] + px * step, origin[1] + py * step);
            let (mut x, mut y, mut n) = (0i32, 0i32, 0u16);
            while i32::from(n) < limit && (x * x + y * y) >> 12 <= 4 << 12 {
                (x, y) = (((x * x - y * y) >> 12) + cx, ((2 * x * y) >> 12) + cy);
                n += 1;
            }
            wanted.push(n);
        }
    }
    (bytes(&output.to_vec().unwrap()), bytes(&wanted))
}

fn bits(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let n = len(random);
    let mut values = random.words(n);
    values.extend([0, 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX]);
    let x = gpu.buffer_from(&values).unwrap();
    let mut y = poisoned::<u32>(gpu, values.len());
    launch(kernel, Grid::linear(values.len()), args![&x, &mut y]);
    let reference = |&v: &u32| {
        let mut r = v.count_ones() + 100 * v.leading_zeros();
        r ^= v.rotate_left(7);
        r = r.wrapping_add(((u64::from(v) * 0x9E37_79B9) >> 32) as u32);
        r ^= (v as i32).abs_diff(12345);
        r.wrapping_add(v.saturating_add(0x8000_0000) ^ v.max(!v))
    };
    let wanted: Vec<u32> = values.iter().map(reference).collect();
    (bytes(&y.to_vec().unwrap()), bytes(&wanted))
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Particle {
    position: [f32; 2],
    velocity: [f32; 2],
    bounces: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct World {
    gravity: f32,
    floor: f32,
    steps: u32,
}

fn particles(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let n = random.range(1, 500) as usize;
    let mut wanted: Vec<Particle> = (0..n)
        .map(|_| {
            let f = random.whole_floats(4);
            Particle { position: [f[0], f[1]], velocity: [f[2], f[3]], bounces: 0 }
        })
        .collect();
    let world = World { gravity: 0.5, floor: -16.0, steps: 40 };
    let mut all = gpu.buffer_from(&wanted).unwrap();
    launch(kernel, Grid::linear(n), args![&mut all, Arg::value(world)]);
    for p in &mut wanted {
        for _ in 0..world.steps {
            p.velocity[1] -= world.gravity;
            p.position[0] += p.velocity[0];
            p.position[1] += p.velocity[1];
            if p.position[1] < world.floor {
                p.position[1] = world.floor;
                p.velocity[1] = -p.velocity[1];
                p.bounces += 1;
            }
        }
    }
    (bytes(&all.to_vec().unwrap()), bytes(&wanted))
}

fn grey(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let n = len(random);
    let pixels = random.bytes(n * 4);
    let rgba = gpu.buffer_from(&pixels).unwrap();
    let mut out = poisoned::<u8>(gpu, n);
    launch(kernel, Grid::linear(n), args![&rgba, &mut out]);
    let weigh = |p: &[u8]| (u32::from(p[0]) * 77 + u32::from(p[1]) * 150 + u32::from(p[2]) * 29) >> 8;
    let wanted: Vec<u8> = pixels.chunks(4).map(|p| weigh(p) as u8).collect();
    (bytes(&out.to_vec().unwrap()), bytes(&wanted))
}

fn volume(gpu: &Accelerator, kernel: &Kernel, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let [w, h, d] = [(); 3].map(|()| random.range(1, 14) as usize);
    let scale = random.range(-1_000_000_000_000, 1_000_000_000_000);
    let mut out = poisoned::<i64>(gpu, w * h * d);
    launch(kernel, Grid::threads((w, h, d)), args![&mut out, scale]);
    let mut wanted = Vec::new();
    for z in 0..d as i64 {
        for y in 0..h as i64 {
            for x in 0..w as i64 {
                wanted.push(scale * (x + 1) - y * 1000 + (z << 40));
            }
        }
    }
    (bytes(&out.to_vec().unwrap()), bytes(&wanted))
}
