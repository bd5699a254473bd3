//! What a kernel's analysis means for GPUs: what each access to memory costs, how many threads a core holds, what limits the kernel on a device, and
//! what would make it faster. docs/ANALYSIS.md has the rules, their thresholds and the sources of all numbers.
//!
//! ```
//! # fn main() -> dcmetal::Result<()> {
//! # use dcmetal::{*, analysis::*};
//! let gpu = Accelerator::system_default()?;
//! let source = "kernel void every8th(global const float* x, global float* y) { y[get_global_id(0)] = x[8 * get_global_id(0)]; }";
//! let kernel = gpu.compile_opencl(source)?.kernel("every8th")?;
//! let report = kernel.report(&Conditions { roofs: Chip::named("m1").map(|chip| chip.roofs()), ..Conditions::default() })?;
//! assert_eq!(report.accesses[1].used_part, Some(0.125)); // 4 bytes of every 32
//! assert_eq!(report.advice[0].rule, Rule::Lines);
//! assert_eq!(report.advice[0].at[0].line, 1);
//! # Ok(()) }
//! ```

mod advice;
mod occupancy;
mod roofline;

pub use advice::{Advice, Rule};
pub use occupancy::{Core, ENOUGH_SIMDGROUPS, Limit, Occupancy, occupancy};
pub use roofline::{Bound, CHIPS, Chip, Roofs, Stand};

use clmsl::{AccessPattern, AddressSpace, Intensity, Lanes, Location, MemoryAccess};

use crate::{GpuFamily, Kernel, Registers, Result, Size};

/// Bytes that memory moves together ([metal-benchmarks](https://github.com/philipturner/metal-benchmarks), "Global Cache Line").
pub const LINE: u64 = 128;
/// Threads of a SIMD-group.
pub const LANES: u32 = 32;
/// Banks of threadgroup memory, and their bytes: those of most GPUs, as nobody published Apple's.
pub const BANKS: u32 = 32;
/// See [`BANKS`].
pub const BANK: u64 = 4;

/// For what a report is.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Threads of a threadgroup.
    pub threadgroup: Size,
    /// Bytes of threadgroup memory that a launch gives it, beside what the kernel declares.
    pub threadgroup_memory: u64,
    /// For which occupancy is told.
    pub families: Vec<GpuFamily>,
    /// The device on whose roofline the kernel is placed.
    pub roofs: Option<Roofs>,
}

impl Default for Conditions {
    /// 256 threads in a row, Apple7 and Apple8, no roofline.
    fn default() -> Conditions {
        Conditions {
            threadgroup: Size { x: 256, y: 1, z: 1 },
            threadgroup_memory: 0,
            families: vec![GpuFamily::Apple7, GpuFamily::Apple8],
            roofs: None,
        }
    }
}

/// What is told of a kernel.
#[derive(Clone, Debug)]
pub struct Report {
    /// In the order of the source.
    pub accesses: Vec<Place>,
    /// What a thread needs, or why that is not told.
    pub registers: std::result::Result<Registers, String>,
    /// Of each family asked for.
    pub occupancy: Vec<Occupancy>,
    /// Operations per byte.
    pub intensity: Intensity,
    /// Where it stands below the roofs asked for; `None` where there are none, or the intensity is not known.
    pub stand: Option<Stand>,
    /// What would make it faster, the most important first.
    pub advice: Vec<Advice>,
}

/// A place of the source that reads or writes memory.
#[derive(Clone, Debug)]
pub struct Place {
    /// What the analysis says.
    pub access: MemoryAccess,
    /// The name of the kernel's parameter.
    pub argument: Option<String>,
    /// Where.
    pub at: Location,
    /// How the addresses of threads of one SIMD-group lie whose positions in y differ by 1; `None` where it has one row.
    pub in_y: Option<AccessPattern>,
    /// The same in z.
    pub in_z: Option<AccessPattern>,
    /// It is known how far apart its rows and planes lie. Else the least of what follows is that of rows at the same addresses, and the most that of rows
    /// that share nothing.
    pub is_told: bool,
    /// Lines of [`LINE`] bytes that a SIMD-group touches, least and most; of memory that is moved in lines.
    pub lines: Option<(u64, u64)>,
    /// What part of them it uses; at most, where it is not told how rows lie.
    pub used_part: Option<f64>,
    /// Of threadgroup memory: words in the one of [`BANKS`] banks that has most of them, least and most. 1 is free of conflicts.
    pub bank_words: Option<(u64, u64)>,
}

impl Place {
    fn new(kernel: &Kernel, access: &MemoryAccess, lanes: Lanes) -> Place {
        let argument = access.argument.and_then(|at| kernel.arguments().get(at as usize));
        let is_local = access.address_space == AddressSpace::Local;
        Place {
            access: *access,
            argument: argument.map(|argument| argument.name.clone()),
            at: kernel.location(access.span).unwrap_or_else(|| unreachable!("the kernel was analysed")),
            in_y: lanes.differ_in(1).then(|| access.pattern_y.unwrap_or(AccessPattern::Uniform)),
            in_z: lanes.differ_in(2).then(|| access.pattern_z.unwrap_or(AccessPattern::Uniform)),
            is_told: access.is_told(lanes),
            lines: access.segments(lanes, LINE).filter(|_| !is_local),
            used_part: access.used_part(lanes, LINE).filter(|_| !is_local),
            bank_words: access.bank_words(lanes, BANKS, BANK).filter(|_| is_local),
        }
    }

    /// Whether all threads of a SIMD-group have one address.
    pub fn is_uniform(&self) -> bool {
        self.others().chain([self.access.pattern]).all(|pattern| pattern == AccessPattern::Uniform)
    }

    /// Whether data decide where threads of a SIMD-group reach, and no pattern tells it.
    pub fn is_gathered(&self) -> bool {
        let is_gather = |pattern| pattern == AccessPattern::Gather;
        self.others().any(is_gather) || (self.lines.is_none() && is_gather(self.access.pattern))
    }

    fn others(&self) -> impl Iterator<Item = AccessPattern> {
        self.in_y.into_iter().chain(self.in_z)
    }

    /// How the addresses of a SIMD-group's threads lie, in words: `contiguous, in y 256 bytes apart`.
    pub fn pattern(&self) -> String {
        let other = |name, pattern: Option<AccessPattern>| {
            pattern.map_or_else(String::new, |pattern| format!(", in {name} {pattern}"))
        };
        format!("{}{}{}", self.access.pattern, other("y", self.in_y), other("z", self.in_z))
    }
}

impl Kernel {
    /// What its analysis means for GPUs: see [`analysis`](crate::analysis). It asks for [`Kernel::analysis`] and [`Kernel::registers`]; where the platform does not tell the
    /// latter, neither they nor occupancy are told.
    ///
    /// # Errors
    /// As [`Kernel::analysis`].
    pub fn report(&self, on: &Conditions) -> Result<Report> {
        let analysis = self.analysis()?;
        let registers = self.registers().cloned().map_err(|error| error.to_string());
        let lanes = Lanes::of(LANES, on.threadgroup.to_array());
        let accesses: Vec<Place> = analysis.accesses.iter().map(|access| Place::new(self, access, lanes)).collect();
        let memory = self.static_threadgroup_memory() + on.threadgroup_memory;
        let needed = registers.as_ref().ok().map(|registers| registers.thread);
        let occupancy: Vec<Occupancy> =
            on.families.iter().map(|family| occupancy(*family, needed, memory, on.threadgroup)).collect();
        let intensity = analysis.intensity();
        let stand = on.roofs.as_ref().and_then(|roofs| roofs.stand(&intensity));
        let mut report = Report { accesses, registers, occupancy, intensity, stand, advice: Vec::new() };
        report.advice = advice::advise(self, analysis, on, &report);
        Ok(report)
    }
}
