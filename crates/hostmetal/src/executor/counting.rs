//! Counts of what kernels do (`HOSTMETAL_COUNTS`), for analyses to be compared with.
//!
//! Kernels are compiled with counters (native/hostmetal/pass/counts.cpp), and run one thread after another, as far as barriers and SIMD-group functions let them,
//! threadgroup after threadgroup, on one worker. A kernel's accesses are recorded one by one, without a lock or an allocation, since a kernel may be left anywhere
//! (guard.rs), and put together when its threadgroup has ended. A dispatch that has run is a line of JSON in the file that the variable names;
//! docs/HOSTMETAL.md says what is in it.

use std::ffi::c_void;
use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::fiber;
use crate::device::SIMD_WIDTH;
use crate::memory::Mapping;
use crate::msl::{Counters, Counting, Site};

/// Accesses of one threadgroup that are kept.
const MOST: usize = 1 << 25;
/// Bytes that memory moves together, and the banks of threadgroup memory with their bytes: docs/ANALYSIS.md has the sources.
const LINE: u64 = 128;
const BANKS: usize = 32;
const BANK: u64 = 4;

/// The file of `HOSTMETAL_COUNTS`; none where nothing shall be counted.
pub(crate) fn file() -> Option<&'static PathBuf> {
    static FILE: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let name = std::env::var_os("HOSTMETAL_COUNTS").filter(|name| !name.is_empty())?;
        Some(PathBuf::from(name))
    });
    FILE.as_ref()
}

/// An access of one thread.
#[repr(C)]
#[derive(Clone, Copy)]
struct Record {
    site: u32,
    thread: u32,
    /// Of the loops around it.
    round: u64,
    address: u64,
    bytes: u64,
}

/// What a worker records of the threadgroup that it runs.
pub(crate) struct Recorder {
    records: Mapping,
    used: usize,
    /// Some had no room.
    lost: bool,
    /// What the counters of blocks and loops came to.
    sums: Vec<u64>,
}

impl Recorder {
    /// None when memory is out.
    fn new() -> Option<Recorder> {
        let records = Mapping::new(MOST * size_of::<Record>())?;
        Some(Recorder { records, used: 0, lost: false, sums: Vec::new() })
    }

    /// Before a threadgroup with so many counters of blocks and loops.
    fn begin(&mut self, number: usize) {
        (self.used, self.lost) = (0, false);
        self.sums.clear();
        self.sums.resize(number, 0);
    }

    fn put(&mut self, record: Record) {
        if self.used >= MOST {
            self.lost = true;
            return;
        }
        // SAFETY: the mapping has room for `MOST` of them, and is aligned to pages.
        unsafe { self.records.data().cast::<Record>().wrapping_add(self.used).write(record) };
        self.used += 1;
    }

    fn records(&mut self) -> &mut [Record] {
        // SAFETY: so many were written.
        unsafe { std::slice::from_raw_parts_mut(self.records.data().cast::<Record>(), self.used) }
    }
}

/// See `RuntimeTable::count`.
pub(crate) unsafe extern "C" fn count(site: u32, thread: u32, round: u64, address: *const c_void, bytes: u64) {
    let recorder = fiber::recorder();
    // SAFETY: it is the running worker's, which nobody else uses meanwhile.
    if let Some(own) = unsafe { recorder.as_mut() } {
        own.put(Record { site, thread, round, address: address as u64, bytes });
    }
}

/// See `RuntimeTable::finish`.
pub(crate) unsafe extern "C" fn finish(_thread: u32, counters: *const u64, number: u64) {
    let recorder = fiber::recorder();
    // SAFETY: as in `count`.
    let Some(own) = (unsafe { recorder.as_mut() }) else { return };
    for (at, sum) in own.sums.iter_mut().enumerate().take(number as usize) {
        // SAFETY: the kernel has so many.
        *sum += unsafe { counters.wrapping_add(at).read() };
    }
}

/// The least and the most of several numbers.
#[derive(Clone, Copy)]
struct Range<T>(Option<(T, T)>);

impl<T> Default for Range<T> {
    fn default() -> Self {
        Range(None)
    }
}

impl<T: Ord + Copy> Range<T> {
    fn add(&mut self, number: T) {
        let (least, most) = self.0.unwrap_or((number, number));
        self.0 = Some((least.min(number), most.max(number)));
    }
}

impl<T: std::fmt::Display> std::fmt::Display for Range<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some((least, most)) => write!(f, "[{least},{most}]"),
            None => f.write_str("null"),
        }
    }
}

/// What an access came to.
#[derive(Clone, Default)]
struct Sum {
    executions: u64,
    bytes: u64,
    /// Of one thread.
    by_thread: Range<u64>,
    /// SIMD-groups that did it, once for each round.
    times: u64,
    /// Lines that these touched.
    lines: u64,
    /// How far the addresses of neighbours in x, y and z are apart.
    distances: [Range<i64>; 3],
    /// Where all lanes did it: how often, lines, and words in the bank with the most.
    full: u64,
    full_lines: Range<u64>,
    full_words: Range<u64>,
    /// Of any.
    words: Range<u64>,
}

/// Before a threadgroup of a kernel that may count; what is wrong, if it cannot be.
pub(crate) fn begin(recorder: &mut Option<Recorder>, counting: &Counting) -> Result<(), String> {
    let Counting::Counts(counters) = counting else { return Ok(()) };
    if recorder.is_none() {
        *recorder = Recorder::new();
    }
    let own = recorder.as_mut().ok_or("no memory for a threadgroup's accesses")?;
    own.begin(counters.number());
    Ok(())
}

/// Behind it: adds it to what the dispatch came to.
pub(crate) fn add(
    recorder: &mut Option<Recorder>,
    counting: &Counting,
    counted: &mut Option<Counted>,
    size: [u32; 3],
) -> Result<(), String> {
    let (Counting::Counts(counters), Some(recorder)) = (counting, recorder) else { return Ok(()) };
    counted.get_or_insert_with(|| Counted::new(counters)).add(recorder, counters, size)
}

/// What a dispatch came to so far.
pub(crate) struct Counted {
    accesses: Vec<Sum>,
    sums: Vec<u64>,
    threads: u64,
}

impl Counted {
    fn new(counters: &Counters) -> Counted {
        Counted { accesses: vec![Sum::default(); counters.sites.len()], sums: vec![0; counters.number()], threads: 0 }
    }

    /// With a threadgroup that has run; what is wrong, if its counts cannot be had.
    fn add(&mut self, recorder: &mut Recorder, counters: &Counters, size: [u32; 3]) -> Result<(), String> {
        if recorder.lost {
            return Err(format!("a threadgroup has more than the {MOST} accesses that are counted"));
        }
        let threads = u64::from(size.iter().product::<u32>());
        self.threads += threads;
        for (sum, own) in self.sums.iter_mut().zip(&recorder.sums) {
            *sum += own;
        }
        let records = recorder.records();
        records.sort_by_key(|record| (record.site, record.thread));
        for (sum, site) in self.accesses.iter_mut().zip(0..) {
            let own = of(records, |record| record.site.cmp(&site));
            let mut active = 0;
            for thread in own.chunk_by(|a, b| a.thread == b.thread) {
                active += 1;
                sum.by_thread.add(thread.len() as u64);
            }
            if active < threads {
                sum.by_thread.add(0);
            }
            sum.executions += own.len() as u64;
            sum.bytes += own.iter().map(|record| record.bytes).sum::<u64>();
        }
        let group = |record: &Record| (record.site, record.thread / SIMD_WIDTH, record.round);
        records.sort_by_key(|record| (group(record), record.thread));
        for together in records.chunk_by(|a, b| group(a) == group(b)) {
            let Some((sum, site)) =
                self.accesses.get_mut(together[0].site as usize).zip(counters.sites.get(together[0].site as usize))
            else {
                return Err("a kernel counted an access that it does not have".to_owned());
            };
            let mut lanes: Vec<&[Record]> = together.chunk_by(|a, b| a.thread == b.thread).collect();
            // The same place of the code several times in one round, as where control flow is no loop.
            while !lanes.is_empty() {
                let once: Vec<Record> = lanes.iter().map(|records| records[0]).collect();
                sum.add(&once, site, size);
                lanes.iter_mut().for_each(|records| *records = &records[1..]);
                lanes.retain(|records| !records.is_empty());
            }
        }
        Ok(())
    }
}

/// Those of sorted ones that are asked for.
fn of(records: &[Record], compare: impl Fn(&Record) -> std::cmp::Ordering) -> &[Record] {
    let start = records.partition_point(|record| compare(record).is_lt());
    let end = records.partition_point(|record| compare(record).is_le());
    &records[start..end]
}

/// How many pieces of this size the accesses touch.
fn pieces(records: &[Record], size: u64) -> Vec<u64> {
    let touched = |record: &Record| record.address / size..(record.address + record.bytes).div_ceil(size);
    let mut all: Vec<u64> = records.iter().flat_map(touched).collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Sum {
    /// With what the lanes of a SIMD-group do together, in their order.
    fn add(&mut self, lanes: &[Record], site: &Site, size: [u32; 3]) {
        self.times += 1;
        let mut step = 1;
        for (distance, extent) in self.distances.iter_mut().zip(size) {
            for lane in lanes.iter().filter(|lane| lane.thread / step % extent + 1 < extent) {
                if let Ok(next) = lanes.binary_search_by_key(&(lane.thread + step), |other| other.thread) {
                    distance.add(lanes[next].address.wrapping_sub(lane.address).cast_signed());
                }
            }
            step *= extent;
        }
        let is_full = lanes.len() == SIMD_WIDTH as usize;
        self.full += u64::from(is_full);
        if site.space == "threadgroup" {
            let mut banks = [0; BANKS];
            pieces(lanes, BANK).iter().for_each(|word| banks[*word as usize % BANKS] += 1);
            let most = banks.iter().copied().max().unwrap_or(0);
            self.words.add(most);
            if is_full {
                self.full_words.add(most);
            }
        } else {
            let lines = pieces(lanes, LINE).len() as u64;
            self.lines += lines;
            if is_full {
                self.full_lines.add(lines);
            }
        }
    }
}

/// A dispatch, for its line in the file.
pub(crate) struct Dispatched<'a> {
    pub(crate) kernel: &'a str,
    pub(crate) threads: [u32; 3],
    pub(crate) threadgroup: [u32; 3],
}

/// Writes what a dispatch came to; why it could not.
pub(crate) fn tell(dispatched: &Dispatched, counting: &Counting, counted: Option<&Counted>) -> Result<(), String> {
    let Some(path) = file() else { return Ok(()) };
    let text = match (counting, counted) {
        (Counting::No, _) => return Ok(()),
        (Counting::Cannot(why), _) => format!("{},\"not_counted\":{}}}\n", head(dispatched), quoted(why)),
        (Counting::Counts(counters), Some(counted)) => format!("{}{}", head(dispatched), body(counters, counted)),
        (Counting::Counts(_), None) => return Ok(()),
    };
    static WRITING: Mutex<()> = Mutex::new(());
    let _one = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| format!("{}: {error}", path.display()))
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

fn head(Dispatched { kernel, threads, threadgroup }: &Dispatched) -> String {
    format!("{{\"kernel\":{},\"threads\":{threads:?},\"threadgroup\":{threadgroup:?}", quoted(kernel))
}

fn body(counters: &Counters, counted: &Counted) -> String {
    let Counted { accesses, sums, threads } = counted;
    let place = |(line, column): (u32, u32)| format!("\"line\":{line},\"column\":{column}");
    let access = |(site, sum): (&Site, &Sum)| {
        let Site { space, argument, usage, bytes, step, .. } = site;
        let Sum { executions, by_thread, times, lines, distances, full, full_lines, full_words, words, .. } = sum;
        let [distance, distance_y, distance_z] = distances;
        format!(
            "{{{},\"space\":\"{space}\",\"argument\":{},\"use\":\"{usage}\",\"bytes\":{bytes},\"step\":\"{step}\",\
             \"executions\":{executions},\"by_thread\":{by_thread},\"moved\":{},\"times\":{times},\"distance\":{distance},\
             \"distance_y\":{distance_y},\"distance_z\":{distance_z},\"lines\":{lines},\"words\":{words},\"full\":{full},\"full_lines\":{full_lines},\"full_words\":{full_words}}}",
            place(site.place),
            quoted(argument),
            sum.bytes
        )
    };
    let accesses_text: Vec<String> = counters.sites.iter().zip(accesses).map(access).collect();
    let (blocks, rounds) = sums.split_at(counters.blocks.len());
    let total = |of: fn(&crate::msl::Counts) -> u64| {
        counters
            .blocks
            .iter()
            .zip(blocks)
            .fold(0u64, |sum, (counts, times)| sum.saturating_add(of(counts).saturating_mul(*times)))
    };
    let moved = |usage: &str| {
        let sites = counters.sites.iter().zip(accesses);
        let of_device =
            sites.filter(|(site, _)| site.space == "device" && (site.usage == usage || site.usage == "both"));
        of_device.map(|(_, sum)| sum.bytes).sum::<u64>()
    };
    let loops: Vec<String> = counters
        .loops
        .iter()
        .zip(rounds)
        .map(|(at, rounds)| format!("{{{},\"rounds\":{rounds}}}", place(*at)))
        .collect();
    let uncounted: Vec<String> = counters.uncounted.iter().map(|at| format!("{{{}}}", place(*at))).collect();
    format!(
        ",\"ran\":{threads},\"accesses\":[{}],\"loops\":[{}],\"work\":{{\"flops\":{},\"special\":{},\"integer\":{},\
         \"bytes_read\":{},\"bytes_written\":{}}},\"uncounted\":[{}]}}\n",
        accesses_text.join(","),
        loops.join(","),
        total(|counts| counts.flops),
        total(|counts| counts.special),
        total(|counts| counts.integer),
        moved("read"),
        moved("write"),
        uncounted.join(",")
    )
}
