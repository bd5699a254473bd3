//! How many threads of a kernel one core of a GPU holds at the same time.
//!
//! Apple publishes none of what decides it. What others measured is taken, and where nobody did, nothing is told:
//!
//! * `philipturner/metal-benchmarks`, README, "On-Chip Memory", column "Apple 7, 8", per core: "Max Threads 384-3072", "Register File ~208 KB", "Shared Memory ~60 KB"
//!   (<https://github.com/philipturner/metal-benchmarks>, read at commit dc2adc6).
//! * Mesa, `src/asahi/compiler/agx_performance.c`: the most threads by 16-bit registers of a thread, on the same GPUs: 1024 threads with up to 104,
//!   896 with 112, 832 with 128, 768 with 136, 704 with 144, 640 with 160, 576 with 184, 512 with 208, 448 with 232, 384 with 256.
//!
//! Both agree: 104 registers of 2 bytes for 1024 threads are 208 KiB. Mesa's table is what fits into 208 KiB with registers in portions of
//! eight and threads in portions of 64, and below 104 registers the same is taken, up to the 3072 threads of the other.

use crate::{GpuFamily, Size};

/// Bytes of registers of a core.
const REGISTER_FILE: u64 = 208 << 10;
/// Bytes of threadgroup memory of a core.
const THREADGROUP_MEMORY: u64 = 60 << 10;
/// Threads of a core, whatever they need.
const MOST_THREADS: u64 = 3072;
/// 16-bit registers of a thread; what needs more is kept in memory.
const MOST_REGISTERS: u64 = 256;
/// 16-bit registers that are given to a thread together.
const REGISTERS_TOGETHER: u64 = 8;
/// Threads for which registers are given together.
const THREADS_TOGETHER: u64 = 64;
/// Threads of a SIMD-group.
const LANES: u64 = 32;

/// SIMD-groups of a core from which on more make no difference to arithmetic: "ALU utilization maxes out at 24 simds/core"
/// (metal-benchmarks, "ALU Bottlenecks").
pub const ENOUGH_SIMDGROUPS: u64 = 24;

/// What one core of a family holds of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// The family.
    pub family: GpuFamily,
    /// What is known.
    pub core: Core,
}

/// What is known of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Core {
    /// It can be told.
    Threads {
        /// Threads at the same time, in whole threadgroups.
        threads: u64,
        /// Of so many that a core can hold of any kernel.
        of: u64,
        /// What lets no more in.
        limit: Limit,
    },
    /// It cannot, for this reason.
    Unknown(&'static str),
}

/// What limits the threads of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Nothing does: the core holds all threads that it can.
    Nothing,
    /// The registers of a thread.
    Registers,
    /// They are more than a thread can have; the rest is kept in memory.
    Spills,
    /// The memory of a threadgroup.
    ThreadgroupMemory,
    /// The size of a threadgroup, of which no further one fits.
    ThreadgroupSize,
}

impl Limit {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Limit::Nothing => "nothing",
            Limit::Registers => "registers",
            Limit::Spills => "registers, which do not suffice",
            Limit::ThreadgroupMemory => "threadgroup memory",
            Limit::ThreadgroupSize => "the size of threadgroups",
        }
    }
}

/// What a core of this family holds of threadgroups of this size, whose threads need so many 32-bit registers (if that is known), and which have so many bytes of
/// threadgroup memory.
pub fn occupancy(family: GpuFamily, registers: Option<u64>, threadgroup_memory: u64, threadgroup: Size) -> Occupancy {
    let core = match family {
        GpuFamily::Apple7 | GpuFamily::Apple8 => match registers {
            Some(registers) => measured(registers, threadgroup_memory, threadgroup),
            None => Core::Unknown("the registers are not told"),
        },
        GpuFamily::Apple9 => Core::Unknown(
            "no source: registers, threadgroup memory and cache share one memory from this family on (Dynamic Caching), and nobody published its size",
        ),
        _ => Core::Unknown("no source"),
    };
    Occupancy { family, core }
}

/// The most threads of a core by the 32-bit registers of each.
fn threads_by_registers(registers: u64) -> u64 {
    let halves = registers.saturating_mul(2).clamp(1, MOST_REGISTERS).next_multiple_of(REGISTERS_TOGETHER);
    (REGISTER_FILE / (2 * halves) / THREADS_TOGETHER * THREADS_TOGETHER).min(MOST_THREADS)
}

fn measured(registers: u64, threadgroup_memory: u64, threadgroup: Size) -> Core {
    // SIMD-groups are whole.
    let size = threadgroup.volume().unwrap_or(u64::MAX).max(1).checked_next_multiple_of(LANES).unwrap_or(u64::MAX);
    let by_registers = threads_by_registers(registers);
    let by_memory = THREADGROUP_MEMORY.checked_div(threadgroup_memory).unwrap_or(u64::MAX);
    let groups = (by_registers / size).min(by_memory);
    let limit = if by_memory < by_registers / size {
        Limit::ThreadgroupMemory
    } else if registers.saturating_mul(2) > MOST_REGISTERS {
        Limit::Spills
    } else if by_registers < MOST_THREADS {
        Limit::Registers
    } else if groups * size < MOST_THREADS {
        Limit::ThreadgroupSize
    } else {
        Limit::Nothing
    };
    Core::Threads { threads: groups * size, of: MOST_THREADS, limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mesa, src/asahi/compiler/agx_performance.c: 16-bit registers, threads.
    #[test]
    fn threads_are_those_of_mesa_s_table() {
        let table = [
            (104, 1024),
            (112, 896),
            (128, 832),
            (136, 768),
            (144, 704),
            (160, 640),
            (184, 576),
            (208, 512),
            (232, 448),
            (256, 384),
        ];
        let mut least = 104;
        for (most, threads) in table {
            for halves in (least..=most).step_by(2) {
                assert_eq!(threads_by_registers(halves / 2), threads, "{halves}");
            }
            least = most + 2;
        }
        // metal-benchmarks: 384-3072.
        assert_eq!((threads_by_registers(0), threads_by_registers(16)), (3072, 3072));
        assert_eq!((threads_by_registers(128), threads_by_registers(1 << 40)), (384, 384));
    }

    #[test]
    fn what_limits_is_named() {
        let told = |registers, memory, size: u64| match occupancy(
            GpuFamily::Apple8,
            Some(registers),
            memory,
            Size::from([size, 1, 1]),
        )
        .core
        {
            Core::Threads { threads, limit, .. } => (threads, limit),
            Core::Unknown(why) => panic!("{why}"),
        };
        assert_eq!(told(10, 0, 256), (3072, Limit::Nothing));
        // 1024 threads with 52 registers.
        assert_eq!(told(52, 0, 256), (1024, Limit::Registers));
        // Of 448 threads no second threadgroup of 256.
        assert_eq!(told(116, 0, 256), (256, Limit::Registers));
        assert_eq!(told(200, 0, 128), (384, Limit::Spills));
        // Three times 20 KiB are 60 KiB.
        assert_eq!(told(10, 20 << 10, 128), (3 * 128, Limit::ThreadgroupMemory));
        assert_eq!(told(10, 61 << 10, 128), (0, Limit::ThreadgroupMemory));
        // 4 times 640, and no fifth.
        assert_eq!(told(10, 0, 640), (2560, Limit::ThreadgroupSize));
        // A SIMD-group of which one thread runs is one.
        assert_eq!(told(10, 0, 1), (3072, Limit::Nothing));
        assert_eq!(told(10, 1, u64::MAX), (0, Limit::ThreadgroupSize));
    }

    #[test]
    fn what_has_no_source_has_no_number() {
        for family in GpuFamily::ALL {
            let known = matches!(occupancy(family, Some(8), 0, Size::from([32u64, 1, 1])).core, Core::Threads { .. });
            assert_eq!(known, matches!(family, GpuFamily::Apple7 | GpuFamily::Apple8), "{family}");
        }
        let untold = occupancy(GpuFamily::Apple7, None, 0, Size::from([32u64, 1, 1]));
        assert_eq!(untold.core, Core::Unknown("the registers are not told"));
    }
}
