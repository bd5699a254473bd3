//! The roofline of a chip, and where a kernel stands below it (Williams, Waterman and Patterson, CACM 52(4), 2009,
//! <https://doi.org/10.1145/1498765.1498785>).
//!
//! Rates of arithmetic are those of `philipturner/metal-benchmarks`, README, "Overview", column GOPS32, which is cores x clock x operations of a core per cycle ("Operations
//! per Second": 256, on A14 128), read at commit dc2adc6 of <https://github.com/philipturner/metal-benchmarks>. Bandwidths are those of
//! `philipturner/applegpuinfo`, Sources/AppleGPUInfo/AppleGPUInfo.swift: twice the memory's clock by the width of its interface, read at commit
//! 1203849 of <https://github.com/philipturner/applegpuinfo>; Apple's own figures round them down (M1 Pro "200GB/s", M1 Max "400GB/s", M2 "100GB/s").

use clmsl::{Intensity, Ratio};

use crate::GpuFamily;

/// What a device can do at most.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofs {
    /// Of what.
    pub name: String,
    /// Operations on `float` in a second.
    pub flops: f64,
    /// Bytes from and to memory in a second.
    pub bytes: f64,
    /// Where both numbers come from.
    pub source: String,
}

/// A chip whose rates somebody published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chip {
    /// As Apple calls it, behind "Apple".
    pub name: &'static str,
    /// The newest family that it supports.
    pub family: GpuFamily,
    /// GPU cores of the largest that is sold under the name.
    pub cores: u32,
    /// Billions of operations on `float` in a second.
    pub gflops: f64,
    /// The memory's clock in MHz, and the width of its interface in bits.
    pub memory: (f64, u32),
}

const fn chip(name: &'static str, family: GpuFamily, cores: u32, gflops: f64, memory: (f64, u32)) -> Chip {
    Chip { name, family, cores, gflops, memory }
}

/// The chips, those of one family together.
pub const CHIPS: [Chip; 8] = [
    chip("A14", GpuFamily::Apple7, 4, 654.0, (2133.0, 64)),
    chip("M1", GpuFamily::Apple7, 8, 2617.0, (2133.0, 128)),
    chip("M1 Pro", GpuFamily::Apple7, 16, 5308.0, (3200.0, 256)),
    chip("M1 Max", GpuFamily::Apple7, 32, 10617.0, (3200.0, 512)),
    chip("M1 Ultra", GpuFamily::Apple7, 64, 21233.0, (3200.0, 1024)),
    chip("M2", GpuFamily::Apple8, 10, 3579.0, (3200.0, 128)),
    chip("M2 Pro", GpuFamily::Apple8, 19, 6800.0, (3200.0, 256)),
    chip("M2 Max", GpuFamily::Apple8, 38, 13600.0, (3200.0, 512)),
];

impl Chip {
    /// The chip of this name, however it is written: `m1-pro`, `M1 Pro`, `m1pro`.
    pub fn named(name: &str) -> Option<Chip> {
        let plain = |name: &str| name.replace([' ', '-', '_'], "").to_ascii_lowercase();
        CHIPS.into_iter().find(|chip| plain(chip.name) == plain(name))
    }

    /// What it can do at most.
    pub fn roofs(&self) -> Roofs {
        let (clock, bits) = self.memory;
        Roofs {
            name: format!("Apple {}, {} GPU cores", self.name, self.cores),
            flops: self.gflops * 1e9,
            bytes: 2.0 * clock * 1e6 * f64::from(bits) / 8.0,
            source: "arithmetic: philipturner/metal-benchmarks, Overview; memory: philipturner/applegpuinfo".to_owned(),
        }
    }
}

/// What lets a kernel be no faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Memory: its intensity is below the ridge.
    Memory,
    /// Arithmetic.
    Arithmetic,
    /// The one or the other, by the rounds of its loops.
    ByRounds,
}

/// Where a kernel stands below roofs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stand {
    /// What limits it.
    pub bound: Bound,
    /// Operations per byte from the least to the most; `None`: without bound.
    pub intensity: (f64, Option<f64>),
    /// Operations in a second that are possible at these.
    pub possible: (f64, f64),
}

impl Roofs {
    /// Operations per byte from which on arithmetic is the limit.
    pub fn ridge(&self) -> f64 {
        self.flops / self.bytes
    }

    /// Operations in a second that are possible with so many per byte.
    pub fn possible(&self, intensity: f64) -> f64 {
        (intensity * self.bytes).min(self.flops)
    }

    /// Where a kernel of this intensity stands; `None` where it is not known, and where no memory is moved.
    pub fn stand(&self, intensity: &Intensity) -> Option<Stand> {
        let (least, most): (Ratio, Ratio) = match intensity {
            Intensity::Exactly(ratio) => (*ratio, *ratio),
            Intensity::Between { least, most, .. } => (*least, *most),
            _ => return None,
        };
        let of = |ratio: Ratio| (ratio.bytes > 0).then(|| ratio.value());
        let low = of(least)?;
        let bound = match (low >= self.ridge(), of(most).is_some_and(|most| most < self.ridge())) {
            (true, _) => Bound::Arithmetic,
            (_, true) => Bound::Memory,
            _ => Bound::ByRounds,
        };
        let possible = (self.possible(low), of(most).map_or(self.flops, |most| self.possible(most)));
        Some(Stand { bound, intensity: (low, of(most)), possible })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// metal-benchmarks: GHz, cores, operations of a core per cycle.
    #[test]
    fn rates_are_clock_times_cores() {
        let clocks = [1.278, 1.278, 1.296, 1.296, 1.296, 1.398, 1.398, 1.398];
        for (chip, clock) in CHIPS.iter().zip(clocks) {
            let per_cycle = if chip.name == "A14" { 128.0 } else { 256.0 };
            let gflops = clock * f64::from(chip.cores) * per_cycle;
            assert!((gflops / chip.gflops - 1.0).abs() < 1e-3, "{}: {gflops}", chip.name);
        }
    }

    /// Apple's own, which it rounds: "up to 200GB/s" (M1 Pro), "400GB/s" (M1 Max), "800GB/s" (M1 Ultra), "100GB/s" (M2), "200GB/s", "400GB/s" (M2 Pro and Max).
    #[test]
    fn bandwidths_are_those_that_apple_rounds() {
        let apples = [
            ("M1 Pro", 200.0),
            ("M1 Max", 400.0),
            ("M1 Ultra", 800.0),
            ("M2", 100.0),
            ("M2 Pro", 200.0),
            ("M2 Max", 400.0),
        ];
        for (name, gigabytes) in apples {
            let own = Chip::named(name).map(|chip| chip.roofs().bytes / 1e9).unwrap_or_default();
            assert!((gigabytes..gigabytes * 1.03).contains(&own), "{name}: {own}");
        }
        assert_eq!(Chip::named("m1-pro").map(|chip| chip.name), Some("M1 Pro"));
        assert_eq!(Chip::named("M2MAX").map(|chip| chip.name), Some("M2 Max"));
        assert_eq!(Chip::named("m9"), None);
    }

    #[test]
    fn a_kernel_stands_left_or_right_of_the_ridge() {
        let roofs = Roofs { name: String::new(), flops: 1000.0, bytes: 100.0, source: String::new() };
        let ratio = |flops, bytes| Ratio { flops, bytes };
        let stand = |intensity| roofs.stand(&intensity).map(|stand| (stand.bound, stand.possible));
        let between = |least, most| Intensity::Between { least, most, limit: None, loops: Vec::new() };
        assert_eq!(stand(Intensity::Exactly(ratio(1, 4))), Some((Bound::Memory, (25.0, 25.0))));
        assert_eq!(stand(Intensity::Exactly(ratio(10, 1))), Some((Bound::Arithmetic, (1000.0, 1000.0))));
        assert_eq!(stand(between(ratio(0, 4), ratio(40, 1))), Some((Bound::ByRounds, (0.0, 1000.0))));
        assert_eq!(stand(between(ratio(1, 4), ratio(1, 0))), Some((Bound::ByRounds, (25.0, 1000.0))));
        assert_eq!(stand(between(ratio(20, 1), ratio(1, 0))), Some((Bound::Arithmetic, (1000.0, 1000.0))));
        assert_eq!(stand(Intensity::Exactly(ratio(0, 4))), Some((Bound::Memory, (0.0, 0.0))));
        for none in [Intensity::NoMemory, Intensity::Unknown, Intensity::Exactly(ratio(4, 0))] {
            assert_eq!(stand(none.clone()), None, "{none:?}");
        }
    }
}
