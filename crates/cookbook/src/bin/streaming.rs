//! Data larger than the device's memory: a histogram of what comes from a reader, through three buffers in turns.
//!
//! `streaming [KERNEL.metal]`; with hostmetal, `HOSTMETAL_MEMORY=4M` makes the device small.

use std::error::Error;
use std::io::{self, Read};
use std::process::ExitCode;

use dcmetal::{Accelerator, Buffer, Grid, PageVec, StreamLimits, args};

const DATA: u64 = 24 << 20;
const SLOTS: usize = 3;
const CHUNK: usize = 1 << 20;
/// Bytes after which the device's counts go to the host's. At most `u32::MAX`, so that none overflows; each time the host waits.
const COLLECT: usize = 16 << 20;
const THREADGROUPS: usize = 16;
const THREADS: usize = 256;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("streaming: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("streaming.metal").to_owned(),
    };
    let gpu = Accelerator::system_default()?;
    let (counts, most) = histogram(&gpu, &source, Noise(1).take(DATA))?;
    check(&counts)?;
    // Three slots and the bins, each in whole pages.
    let allowed = (SLOTS * CHUNK + (64 << 10)) as u64;
    if most > allowed {
        return Err(format!("the device held {most} bytes, not {allowed} at most").into());
    }
    let mib = |bytes: u64| bytes >> 20;
    println!("device: {} MiB; data: {} MiB", mib(gpu.limits().recommended_working_set), mib(DATA));
    println!("never more than {} MiB and 64 KiB on the device, by its own account", (SLOTS * CHUNK) >> 20);
    println!("every count is the host's");
    Ok(())
}

/// How often each byte occurs, and the most bytes that the device held.
fn histogram(gpu: &Accelerator, source: &str, mut input: impl Read) -> Result<([u64; 256], u64), Box<dyn Error>> {
    let count = gpu.compile_msl(source)?.kernel("count")?;
    let mut bins = gpu.buffer_zeroed::<u32>(256)?;
    // The reader writes to pages that the device reads in place: no copy in between.
    let slot = |_| gpu.buffer_no_copy(PageVec::<u8>::zeroed(CHUNK)?);
    let mut slots = (0..SLOTS).map(slot).collect::<dcmetal::Result<Vec<_>>>()?;
    let stream = gpu.stream(StreamLimits { commands: 1, ..StreamLimits::default() });

    let (mut counts, mut uncollected, mut most) = ([0; 256], 0, 0);
    for turn in 0.. {
        let slot = &mut slots[turn % SLOTS];
        // Waits until the device has read what was in the slot before; it has the other slots to go on with.
        let bytes = fill(&mut slot.write()?, &mut input)?;
        if bytes == 0 {
            break;
        }
        if uncollected + bytes > COLLECT {
            collect(&mut bins, &mut counts)?;
            uncollected = 0;
        }
        let grid = Grid::threadgroups(THREADGROUPS, THREADS);
        stream.launch(&count, grid, args![slot.view(..bytes)?, &mut bins, bytes as u32])?;
        uncollected += bytes;
        most = most.max(gpu.allocated_bytes());
    }
    stream.wait()?;
    collect(&mut bins, &mut counts)?;
    Ok((counts, most))
}

/// Adds the device's counts, of 32 bits, to the host's. Waits for what was launched.
fn collect(bins: &mut Buffer<u32>, counts: &mut [u64; 256]) -> dcmetal::Result<()> {
    let mut bins = bins.write()?;
    counts.iter_mut().zip(bins.iter_mut()).for_each(|(count, bin)| *count += u64::from(std::mem::take(bin)));
    Ok(())
}

/// Reads until the slot is full or the input ends.
fn fill(slot: &mut [u8], input: &mut impl Read) -> io::Result<usize> {
    let mut filled = 0;
    while filled < slot.len() {
        match input.read(&mut slot[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn check(counts: &[u64; 256]) -> Result<(), Box<dyn Error>> {
    let mut wanted = [0u64; 256];
    let (mut input, mut block) = (Noise(1).take(DATA), [0; 4096]);
    loop {
        let bytes = input.read(&mut block)?;
        if bytes == 0 {
            break;
        }
        block[..bytes].iter().for_each(|&byte| wanted[usize::from(byte)] += 1);
    }
    match (0..256).find(|&byte| counts[byte] != wanted[byte]) {
        Some(byte) => Err(format!("byte {byte}: {} times, but it occurs {}", counts[byte], wanted[byte]).into()),
        None => Ok(()),
    }
}

/// Bytes without end, in which small ones are more frequent: splitmix64's (<https://prng.di.unimi.it/splitmix64.c>), two of them by `&`.
struct Noise(u64);

impl Read for Noise {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        for part in to.chunks_mut(4) {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            part.copy_from_slice(&((z ^ (z >> 31)) & (z >> 32)).to_le_bytes()[..part.len()]);
        }
        Ok(to.len())
    }
}
