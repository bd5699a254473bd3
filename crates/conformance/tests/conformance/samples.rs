//! Which numbers the floating-point functions are tried on: every exponent, both signs, subnormal and special numbers, and the
//! places where functions are hard to compute.

use crate::ulp::{Format, power_of_two};

/// splitmix64, <https://prng.di.unimi.it/splitmix64.c>.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In `low..high`.
    pub(crate) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 * power_of_two(-53))
    }

    /// Any pattern of bits.
    pub(crate) fn number(&mut self, format: Format) -> f64 {
        let bits = self.next();
        match format {
            Format::Float => f64::from(f32::from_bits(bits as u32)),
            Format::Half => half::f16::from_bits(bits as u16).to_f64(),
        }
    }
}

/// Numbers that functions treat in a way of their own, and their neighbours.
pub(crate) fn special(format: Format) -> Vec<f64> {
    let largest = power_of_two(format.highest()) * (2.0 - power_of_two(1 - format.digits()));
    let tiniest = power_of_two(format.lowest() + 1 - format.digits());
    let normal = power_of_two(format.lowest());
    let mut list = vec![
        0.0,
        tiniest,
        normal - tiniest,
        normal,
        normal + tiniest,
        largest,
        f64::INFINITY,
        f64::NAN,
        power_of_two(format.digits() - 2) + 0.5,
        power_of_two(format.digits() - 1) + 1.0,
        power_of_two(format.digits()) - 1.0,
        power_of_two(format.digits()) + 2.0,
    ];
    for middle in [0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 10.0, 35.0, 64.0] {
        list.extend([format.round(middle), next(format, middle, 1), next(format, middle, -1)]);
    }
    list.iter().flat_map(|x| [*x, -*x]).collect()
}

/// The number some steps away from `x` (rounded), in the direction of infinity or of zero.
pub(crate) fn next(format: Format, x: f64, steps: i32) -> f64 {
    match format {
        Format::Float => f64::from(f32::from_bits((x as f32).to_bits().wrapping_add_signed(steps))),
        Format::Half => {
            half::f16::from_bits(half::f16::from_f64(x).to_bits().wrapping_add_signed(steps as i16)).to_f64()
        }
    }
}

/// For functions of one number; `dense` are intervals that get more.
pub(crate) fn one(format: Format, dense: &[(f64, f64)], count: usize) -> Vec<f64> {
    let mut random = Random(1);
    let mut list = special(format);
    // Every exponent, with the ends of its range and a few numbers in between.
    let each = (count / 2 / (2 * (format.highest() - format.lowest() + 2) as usize)).max(3);
    for exponent in format.lowest() - 1..=format.highest() {
        for at in 0..each {
            let fraction = match at {
                0 => 0.0,
                1 => 1.0 - power_of_two(1 - format.digits()),
                _ => random.within(0.0, 1.0),
            };
            let x = match exponent < format.lowest() {
                true => fraction * power_of_two(format.lowest()),
                false => (1.0 + fraction) * power_of_two(exponent),
            };
            list.extend([format.round(x), format.round(-x)]);
        }
    }
    for (low, high) in dense {
        for _ in 0..count / 4 / dense.len() {
            list.push(format.round(random.within(*low, *high)));
        }
    }
    // Around multiples of pi/2, of 1/2, and powers of 2 and 10.
    for k in 1..count / 64 {
        let k = k as f64;
        for x in [k * std::f64::consts::FRAC_PI_2, k * 0.5, (k - 150.0) * std::f64::consts::LOG2_10] {
            for step in -1..=1 {
                list.extend([next(format, x, step), -next(format, x, step)]);
            }
        }
    }
    // Floats next to large multiples of pi/2: continued fractions of 2^k / (pi/2) give them; the worst is 0x1.88546p+93 or so
    // of its binade (Muller, Elementary Functions, table 11.1).
    list.extend([16367173.0 * power_of_two(72), 1e10, 1e22, 1e30, 3e38].map(|x| format.round(x)));
    while list.len() < count {
        list.push(random.number(format));
    }
    list
}

/// For functions of several numbers: all combinations of special ones, then random ones, many of them close to each other.
pub(crate) fn several(format: Format, arity: usize, dense: &[(f64, f64)], count: usize) -> Vec<Vec<f64>> {
    let mut random = Random(arity as u64);
    let special: Vec<f64> = match arity {
        2 => special(format),
        // Some, for there are many combinations.
        _ => special(format).into_iter().step_by(5).collect(),
    };
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); arity];
    for at in 0..special.len().pow(arity as u32) {
        let mut rest = at;
        for column in &mut columns {
            column.push(special[rest % special.len()]);
            rest /= special.len();
        }
    }
    for at in 0..count {
        let first = random.number(format);
        for (position, column) in columns.iter_mut().enumerate() {
            let x = match at % 4 {
                0 => random.number(format),
                1 if position > 0 => {
                    let scale = power_of_two((random.next() % 41) as i32 - 20);
                    format.round(first * scale * random.within(-1.0, 1.0))
                }
                2 if !dense.is_empty() => {
                    let (low, high) = dense[position % dense.len()];
                    format.round(random.within(low, high))
                }
                3 => format.round(random.within(-40.0, 40.0)),
                _ => first,
            };
            column.push(x);
        }
    }
    columns
}

/// Integers for `pown`, `rootn`, `ldexp`.
pub(crate) fn integers(count: usize) -> Vec<f64> {
    let mut random = Random(7);
    let special =
        [0, 1, -1, 2, -2, 3, -3, 5, 24, 127, -126, -149, 1 << 24, (1 << 24) + 1, i32::MAX, i32::MIN, i32::MIN + 1];
    let mut list: Vec<f64> = special.iter().map(|n| f64::from(*n)).collect();
    while list.len() < count {
        let bits = random.next();
        list.push(f64::from((bits as i32) >> ((bits >> 32) % 32)));
    }
    list
}
