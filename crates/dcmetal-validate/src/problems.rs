//! The work: kernels by name, sizes that grow, inputs, and what the outputs must be, computed here in 64-bit floats.

/// One kernel's work at one size. All memory is in words of 32 bits.
pub struct Problem {
    pub inputs: Vec<Vec<u32>>,
    /// Words of the output.
    pub output: usize,
    /// What the output is before a run: poison, or what a kernel adds to.
    pub before: u32,
    /// The kernel's number.
    pub n: u32,
    pub grid: (usize, usize, usize),
    pub threadgroup: (usize, usize, usize),
    /// Items of the plain loop.
    pub items: u64,
    /// Bytes that must be moved at least, and floating-point operations that must be done at least.
    pub bytes: f64,
    pub flops: f64,
    /// What time must grow with.
    pub work: f64,
    pub expected: Expected,
}

/// What an output must be.
pub enum Expected {
    /// These words.
    Words(Vec<u32>),
    /// Floats within this much of the greater of 1 and the number.
    Floats(Vec<f64>, f64),
}

/// A kernel of kernels.metal, kernels.cl and kernels.cpp, and the sizes it is run at.
pub struct Kernel {
    pub name: &'static str,
    pub title: &'static str,
    /// Its threads wait for each other.
    pub barriers: bool,
    pub sizes: &'static [usize],
    pub problem: fn(usize, &mut Random) -> Problem,
}

const LINEAR: &[usize] = &[1 << 16, 1 << 20, 1 << 24];
const SQUARES: &[usize] = &[256, 1024, 4096];
const PRODUCTS: &[usize] = &[128, 256, 512];

macro_rules! kernels {
    ($($name:ident: $title:literal, $barriers:literal, $sizes:expr;)*) => {
        &[$(Kernel { name: stringify!($name), title: $title, barriers: $barriers, sizes: $sizes, problem: $name }),*]
    };
}
pub const KERNELS: &[Kernel] = kernels! {
    vector_add: "vector addition", false, LINEAR;
    saxpy: "saxpy", false, LINEAR;
    stencil: "stencil of five points", false, SQUARES;
    black_scholes: "Black-Scholes", false, &[1 << 14, 1 << 18, 1 << 22];
    mandelbrot: "Mandelbrot set, integers", false, &[128, 512, 2048];
    grey: "grey of RGBA bytes", false, LINEAR;
    histogram: "histogram by atomics", false, LINEAR;
    matrix_product: "matrix product, naive", false, PRODUCTS;
    tiled_product: "matrix product, tiled", true, PRODUCTS;
    transposition: "transposition, tiled", true, SQUARES;
    tree_sum: "sum, tree", true, LINEAR;
    simd_group_sum: "sum, simd_sum (PoCL: tree)", true, LINEAR;
    scan: "scan of threadgroups", true, LINEAR;
    softmax: "softmax of rows", true, &[1 << 6, 1 << 10, 1 << 14];
    bodies: "forces of n bodies", true, &[1024, 4096, 16384];
};

/// Numbers from a seed (SplitMix64: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
pub struct Random(pub u64);

impl Random {
    /// The next 32 bits.
    pub fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 32) as u32
    }

    /// So many words.
    pub fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.word()).collect()
    }

    /// Floats from low to high, as words.
    fn floats(&mut self, count: usize, low: f32, high: f32) -> Vec<u32> {
        let next = |random: &mut Random| low + (high - low) * (random.word() >> 8) as f32 / (1u32 << 24) as f32;
        (0..count).map(|_| next(self).to_bits()).collect()
    }
}

/// Words as the 64-bit floats that they stand for.
fn numbers(words: &[u32]) -> Vec<f64> {
    words.iter().map(|&word| f64::from(f32::from_bits(word))).collect()
}

const POISON: u32 = 0xdead_beef;

/// A problem of `count` threads in groups of 256, with as many items, one output word each.
fn linear(count: usize, inputs: Vec<Vec<u32>>, flops: f64, expected: Expected) -> Problem {
    let words = inputs.iter().map(Vec::len).sum::<usize>();
    Problem {
        inputs,
        output: count,
        before: POISON,
        n: count as u32,
        grid: (count, 1, 1),
        threadgroup: (256, 1, 1),
        items: count as u64,
        bytes: (words + count) as f64 * 4.0,
        flops: flops * count as f64,
        work: count as f64,
        expected,
    }
}

/// A problem of a square of threads in groups of 16 by 16, with a row an item.
fn square(edge: usize, inputs: Vec<Vec<u32>>, flops: f64, expected: Expected) -> Problem {
    let mut problem = linear(edge * edge, inputs, flops, expected);
    (problem.n, problem.grid, problem.threadgroup) = (edge as u32, (edge, edge, 1), (16, 16, 1));
    problem.items = edge as u64;
    problem
}

fn vector_add(count: usize, random: &mut Random) -> Problem {
    let (a, b) = (random.floats(count, -1.0, 1.0), random.floats(count, -1.0, 1.0));
    let expected = numbers(&a).iter().zip(numbers(&b)).map(|(a, b)| a + b).collect();
    linear(count, vec![a, b], 1.0, Expected::Floats(expected, 1e-6))
}

fn saxpy(count: usize, random: &mut Random) -> Problem {
    let (a, b) = (random.floats(count, -1.0, 1.0), random.floats(count, -1.0, 1.0));
    let expected = numbers(&a).iter().zip(numbers(&b)).map(|(a, b)| 2.5 * a + b).collect();
    linear(count, vec![a, b], 2.0, Expected::Floats(expected, 1e-6))
}

fn stencil(edge: usize, random: &mut Random) -> Problem {
    let a = random.floats(edge * edge, -1.0, 1.0);
    let from = numbers(&a);
    let at = |i: usize| {
        let (x, y) = (i % edge, i / edge);
        if x == 0 || y == 0 || x == edge - 1 || y == edge - 1 {
            return from[i];
        }
        0.5 * from[i] + 0.125 * (from[i - 1] + from[i + 1] + from[i - edge] + from[i + edge])
    };
    let expected = (0..edge * edge).map(at).collect();
    square(edge, vec![a], 6.0, Expected::Floats(expected, 1e-6))
}

/// The normal distribution to the seven digits of the kernels' polynomial (Abramowitz and Stegun 26.2.17).
fn normal_cdf(x: f64) -> f64 {
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let series = k * (0.319_381_53 + k * (-0.356_563_78 + k * (1.781_477_9 + k * (-1.821_255_9 + k * 1.330_274_4))));
    let tail = 0.398_942_28 * (-0.5 * x * x).exp() * series;
    if x < 0.0 { tail } else { 1.0 - tail }
}

fn black_scholes(count: usize, random: &mut Random) -> Problem {
    let (price, years) = (random.floats(count, 50.0, 150.0), random.floats(count, 0.25, 5.0));
    let (strike, rate, sigma) = (100.0, 0.02, 0.3);
    let value = |s: f64, t: f64| {
        let d1 = ((s / strike).ln() + (rate + 0.5 * sigma * sigma) * t) / (sigma * t.sqrt());
        s * normal_cdf(d1) - strike * (-rate * t).exp() * normal_cdf(d1 - sigma * t.sqrt())
    };
    let expected = numbers(&price).iter().zip(numbers(&years)).map(|(&s, t)| value(s, t)).collect();
    // Functions count as nothing, since how many operations they take is the library's affair.
    linear(count, vec![price, years], 40.0, Expected::Floats(expected, 1e-3))
}

fn mandelbrot(edge: usize, _: &mut Random) -> Problem {
    let at = |i: usize| {
        let (cx, cy) = ((i % edge * 12288 / edge) as i32 - 8192, (i / edge * 12288 / edge) as i32 - 6144);
        let (mut x, mut y, mut count) = (0i32, 0i32, 0u32);
        while count < 256 {
            let (xx, yy) = ((x * x) >> 12, (y * y) >> 12);
            if xx + yy > 16384 {
                break;
            }
            y = ((x * y) >> 11) + cy;
            x = xx - yy + cx;
            count += 1;
        }
        count
    };
    square(edge, vec![], 0.0, Expected::Words((0..edge * edge).map(at).collect()))
}

fn grey(count: usize, random: &mut Random) -> Problem {
    let a = random.words(count);
    let of = |&word: &u32| {
        let [r, g, b, alpha] = word.to_le_bytes();
        let y = ((77 * u32::from(r) + 150 * u32::from(g) + 29 * u32::from(b)) >> 8) as u8;
        u32::from_le_bytes([y, y, y, alpha])
    };
    let expected = a.iter().map(of).collect();
    linear(count, vec![a], 0.0, Expected::Words(expected))
}

fn histogram(count: usize, random: &mut Random) -> Problem {
    let a = random.words(count);
    let mut expected = vec![0; 256];
    for word in &a {
        expected[(word & 255) as usize] += 1;
    }
    let mut problem = linear(count, vec![a], 0.0, Expected::Words(expected));
    (problem.output, problem.before, problem.bytes) = (256, 0, count as f64 * 4.0);
    problem
}

fn product_of(edge: usize, random: &mut Random) -> Problem {
    let (a, b) = (random.floats(edge * edge, -1.0, 1.0), random.floats(edge * edge, -1.0, 1.0));
    let (left, right) = (numbers(&a), numbers(&b));
    let mut expected = vec![0.0; edge * edge];
    for (row, out) in expected.chunks_mut(edge).enumerate() {
        for k in 0..edge {
            let factor = left[row * edge + k];
            out.iter_mut().zip(&right[k * edge..]).for_each(|(sum, &other)| *sum += factor * other);
        }
    }
    let mut problem = square(edge, vec![a, b], 2.0 * edge as f64, Expected::Floats(expected, 1e-4));
    problem.work = (edge * edge * edge) as f64;
    problem
}

fn matrix_product(edge: usize, random: &mut Random) -> Problem {
    product_of(edge, random)
}

fn tiled_product(edge: usize, random: &mut Random) -> Problem {
    Problem { items: edge as u64 / 16, ..product_of(edge, random) }
}

fn transposition(edge: usize, random: &mut Random) -> Problem {
    let a = random.words(edge * edge);
    let expected = (0..edge * edge).map(|i| a[i % edge * edge + i / edge]).collect();
    Problem { items: edge as u64 / 16, ..square(edge, vec![a], 0.0, Expected::Words(expected)) }
}

fn tree_sum(count: usize, random: &mut Random) -> Problem {
    let a = random.floats(count, -1.0, 1.0);
    let expected = numbers(&a).chunks(256).map(|chunk| chunk.iter().sum()).collect();
    let problem = linear(count, vec![a], 1.0 - 1.0 / 256.0, Expected::Floats(expected, 1e-4));
    let groups = count / 256;
    Problem { output: groups, items: groups as u64, bytes: (count + groups) as f64 * 4.0, ..problem }
}

fn simd_group_sum(count: usize, random: &mut Random) -> Problem {
    tree_sum(count, random)
}

fn scan(count: usize, random: &mut Random) -> Problem {
    let a = random.floats(count, -1.0, 1.0);
    let sums = |chunk: &[f64]| -> Vec<f64> {
        let running = |sum: &mut f64, number: &f64| {
            *sum += number;
            Some(*sum)
        };
        chunk.iter().scan(0.0, running).collect()
    };
    let expected = numbers(&a).chunks(256).flat_map(sums).collect();
    let problem = linear(count, vec![a], 1.0 - 1.0 / 256.0, Expected::Floats(expected, 1e-4));
    Problem { items: count as u64 / 256, ..problem }
}

fn softmax(rows: usize, random: &mut Random) -> Problem {
    let a = random.floats(rows * 1024, -4.0, 4.0);
    let of_row = |row: &[f64]| {
        let most = row.iter().copied().fold(f64::MIN, f64::max);
        let powers: Vec<f64> = row.iter().map(|x| (x - most).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(|power| power / sum).collect::<Vec<f64>>()
    };
    let expected = numbers(&a).chunks(1024).flat_map(of_row).collect();
    let problem = linear(rows * 1024, vec![a], 4.0, Expected::Floats(expected, 1e-6));
    Problem { grid: (rows * 256, 1, 1), items: rows as u64, ..problem }
}

fn bodies(count: usize, random: &mut Random) -> Problem {
    let a = random.floats(count * 4, 0.0, 1.0);
    let from = numbers(&a);
    let force = |here: &[f64]| {
        let mut force = [0.0; 4];
        for there in from.chunks_exact(4) {
            let d = [there[0] - here[0], there[1] - here[1], there[2] - here[2]];
            let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01).sqrt();
            let scale = there[3] * inverse * inverse * inverse;
            (0..3).for_each(|axis| force[axis] += d[axis] * scale);
        }
        force
    };
    let expected = from.chunks_exact(4).flat_map(force).collect();
    // Forces of some fifty thousand in sum cancel to less than one: six digits of the sum are two behind the point.
    let problem = linear(count, vec![a], 18.0 * count as f64, Expected::Floats(expected, 1e-2));
    Problem { output: count * 4, bytes: count as f64 * 32.0, work: (count * count) as f64, ..problem }
}

impl Problem {
    /// Compares an output with what it must be, word by word.
    ///
    /// # Errors
    /// The first that differs.
    pub fn verify(&self, got: &[u32]) -> Result<(), String> {
        if got.len() != self.output {
            return Err(format!("{} words of output instead of {}", got.len(), self.output));
        }
        match &self.expected {
            Expected::Words(words) => {
                let wrong = got.iter().zip(words).enumerate().find(|(_, (got, word))| got != word);
                wrong.map_or(Ok(()), |(i, (got, word))| Err(format!("[{i}] is {got:#x}, not {word:#x}")))
            }
            Expected::Floats(floats, tolerance) => {
                let off = |got: u32, float: f64| (f64::from(f32::from_bits(got)) - float).abs() / float.abs().max(1.0);
                // A NaN is off too, whatever it is compared with.
                let near = |got: u32, float: f64| off(got, float) <= *tolerance;
                let wrong = got.iter().zip(floats).enumerate().find(|(_, (got, float))| !near(**got, **float));
                wrong.map_or(Ok(()), |(i, (got, float))| Err(format!("[{i}] is {}, not {float}", f32::from_bits(*got))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_word_is_found() {
        for kernel in KERNELS {
            let problem = (kernel.problem)(kernel.sizes[0], &mut Random(7));
            let right: Vec<u32> = match &problem.expected {
                Expected::Words(words) => words.clone(),
                Expected::Floats(floats, _) => floats.iter().map(|&float| (float as f32).to_bits()).collect(),
            };
            assert_eq!(problem.verify(&right), Ok(()), "{}", kernel.name);
            for at in [0, right.len() / 2, right.len() - 1] {
                for wrong in [POISON, f32::NAN.to_bits()] {
                    let mut words = right.clone();
                    words[at] = wrong;
                    let told = problem.verify(&words).expect_err(kernel.name);
                    assert!(told.starts_with(&format!("[{at}] is ")), "{}: {told}", kernel.name);
                }
            }
            assert!(problem.verify(&right[1..]).is_err(), "{}: a word is missing", kernel.name);
        }
    }

    #[test]
    fn inputs_differ_by_seed() {
        assert_eq!(Random(7).words(4), Random(7).words(4));
        assert_ne!(Random(7).words(4), Random(8).words(4));
    }
}
