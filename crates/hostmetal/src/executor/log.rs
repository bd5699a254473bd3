//! Logs: where the messages of kernels' `os_log` lie until their command buffer has completed (MTLLogState).
//!
//! A kernel that logs may be interrupted anywhere (guard.rs), so a message is written without a lock: its room is taken from
//! `used`, filled, and marked at its first word once it is whole; what was left half written is not marked. Messages are taken out
//! when no command buffer with this log runs any more, so that nobody writes meanwhile: Metal's documentation allows the delay
//! ("Logging shader debug messages").
//!
//! C's own snprintf prints the conversions, as the specification refers to C's printf.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::fiber;
use crate::memory::Mapping;
use crate::msl::logging::{Conversion, Format, MAX_FIELD, Piece};

/// The formats of a library's messages.
type Formats = Arc<[Format]>;

/// Bytes of a log (Metal's documentation: "The minimum capacity is 1 KB, and the maximum is 1 GB").
pub(crate) const SIZES: std::ops::RangeInclusive<u64> = 1 << 10..=1 << 30;
/// As many bytes of a subsystem and of a category are kept (as above: "less than 1024 characters per message").
const LONGEST: usize = 1023;
/// Words of a message before its arguments: number of the formats and of the format; level and lengths.
const HEAD: usize = 2;
/// The length of a text that is not there.
const NONE: u64 = 0xffff;

/// A message as the program is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) subsystem: Option<CString>,
    pub(crate) category: Option<CString>,
    /// MTLLogLevel.
    pub(crate) level: u32,
    pub(crate) text: CString,
}

/// An MTLLogState.
pub(crate) struct Log {
    /// MTLLogLevel: messages below it are not kept.
    level: u32,
    /// `capacity` words of 8 bytes for messages, and behind them as many of 4 bytes: at a message's first word its length.
    memory: Mapping,
    capacity: usize,
    used: AtomicUsize,
    /// A message had no room: the others behind it are dropped too.
    full: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Command buffers that run.
    running: usize,
    /// Those whose numbers messages have.
    formats: Vec<Formats>,
    /// Messages that were taken out.
    messages: Vec<Message>,
}

impl Log {
    /// None when memory is out. The size is one of `SIZES`.
    pub(crate) fn new(level: u32, size: u64) -> Option<Log> {
        let capacity = usize::try_from(size / 8).ok()?;
        let memory = Mapping::new(capacity * 12)?;
        let (used, full) = (AtomicUsize::new(0), AtomicBool::new(false));
        Some(Log { level, memory, capacity, used, full, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < self.capacity, "a word beyond the log");
        // SAFETY: the mapping has so many aligned words, and all of them are only used as atomics while it is shared.
        unsafe { &*self.memory.data().cast::<AtomicU64>().wrapping_add(at) }
    }

    fn length(&self, at: usize) -> &AtomicU32 {
        assert!(at < self.capacity, "a length beyond the log");
        // SAFETY: as in `word`; the lengths lie behind the words.
        unsafe { &*self.memory.data().wrapping_add(self.capacity * 8).cast::<AtomicU32>().wrapping_add(at) }
    }

    /// A command buffer begins to run.
    pub(crate) fn begin(&self) {
        self.state().running += 1;
    }

    /// The number that messages with these formats have; it holds until the command buffer that asks has ended.
    pub(crate) fn number(&self, formats: &Formats) -> u32 {
        let mut state = self.state();
        let known = state.formats.iter().position(|known| Arc::ptr_eq(known, formats));
        known.unwrap_or_else(|| {
            state.formats.push(formats.clone());
            state.formats.len() - 1
        }) as u32
    }

    /// A command buffer has run: takes the messages out if it was the last.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.running -= 1;
        if state.running > 0 {
            return;
        }
        let used = self.used.swap(0, Ordering::Acquire);
        let mut at = 0;
        while at < used {
            let length = self.length(at).swap(0, Ordering::Acquire) as usize;
            if length > 0 {
                let words: Vec<u64> = (at..at + length).map(|at| self.word(at).load(Ordering::Relaxed)).collect();
                let message = read(&words, &state.formats);
                state.messages.extend(message);
            }
            at += length.max(1);
        }
        state.formats.clear();
        self.full.store(false, Ordering::Relaxed);
    }

    /// The messages that no call has given yet.
    pub(crate) fn take(&self) -> Vec<Message> {
        std::mem::take(&mut self.state().messages)
    }

    /// Room for a message; none when there is not enough, or was not before.
    fn reserve(&self, length: usize) -> Option<usize> {
        if self.full.load(Ordering::Relaxed) {
            return None;
        }
        let take = |used: usize| used.checked_add(length).filter(|end| *end <= self.capacity);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        if taken.is_err() {
            self.full.store(true, Ordering::Relaxed);
        }
        taken.ok()
    }
}

/// What a kernel calls (`hm_log` in hostmetal_runtime.h): it owns, locks and allocates nothing.
///
/// # Safety
/// Called by a kernel that the executor runs: the texts end with NUL or are NULL, and there are `count` words.
pub(crate) unsafe extern "C" fn log(
    format: u32,
    level: u32,
    subsystem: *const c_char,
    category: *const c_char,
    count: u32,
    words: *const u64,
) {
    let (log, formats) = fiber::log();
    // SAFETY: the recording that runs keeps it.
    let Some(log) = (unsafe { log.as_ref() }) else { return };
    // log_type counts from 0 to 4, MTLLogLevel from 1.
    let level = level.min(4) + 1;
    if level < log.level {
        return;
    }
    // SAFETY: as the caller promises.
    let subsystem = unsafe { text(subsystem) };
    // SAFETY: as the caller promises.
    let category = unsafe { text(category) };
    let texts = [subsystem, category].map(|text| text.map_or(0, |text| text.len().div_ceil(8)));
    let length = HEAD + count as usize + texts[0] + texts[1];
    let Some(start) = log.reserve(length) else { return };
    let mut at = start;
    let mut put = |word: u64| {
        log.word(at).store(word, Ordering::Relaxed);
        at += 1;
    };
    let bytes = |text: Option<&[u8]>| text.map_or(NONE, |text| text.len() as u64);
    put(u64::from(formats) << 32 | u64::from(format));
    put(u64::from(level) << 32 | bytes(subsystem) << 16 | bytes(category));
    for number in 0..count as usize {
        // SAFETY: as the caller promises.
        put(unsafe { words.wrapping_add(number).read() });
    }
    for text in [subsystem, category].into_iter().flatten() {
        for part in text.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            put(u64::from_le_bytes(word));
        }
    }
    log.length(start).store(length as u32, Ordering::Release);
}

/// # Safety
/// The text is NULL or ends with NUL, and lives as long as the result is used.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    Some(&bytes[..bytes.len().min(LONGEST)])
}

/// The message in a log's words; none when they are not as `log` writes them.
fn read(words: &[u64], formats: &[Formats]) -> Option<Message> {
    let &[format, head, ref rest @ ..] = words else { return None };
    let format = formats.get((format >> 32) as usize)?.get(format as u32 as usize)?;
    let (arguments, mut rest) = rest.split_at_checked(format.words())?;
    let mut text = |length: u64| {
        if length == NONE {
            return Some(None);
        }
        let (own, others) = rest.split_at_checked((length as usize).div_ceil(8))?;
        rest = others;
        let mut bytes: Vec<u8> = own.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(length as usize);
        Some(Some(unicode(&bytes)))
    };
    let (subsystem, category) = (text(head >> 16 & 0xffff)?, text(head & 0xffff)?);
    let mut bytes = Vec::new();
    let mut arguments = arguments.iter().copied();
    let _locale = CLocale::enter();
    for piece in &format.pieces {
        match piece {
            Piece::Text(text) => bytes.extend_from_slice(text),
            Piece::Conversion(conversion) => print(conversion, &mut arguments, &mut bytes)?,
        }
    }
    Some(Message { subsystem, category, level: (head >> 32) as u32, text: unicode(&bytes) })
}

/// Text for the program: NULs end C's texts, so they are left out.
fn unicode(bytes: &[u8]) -> CString {
    let text: String = String::from_utf8_lossy(bytes).chars().filter(|c| *c != '\0').collect();
    CString::new(text).unwrap_or_default()
}

/// The locale "C" of the calling thread, as long as this lives: no program's decimal comma comes into a message.
struct CLocale(libc::locale_t);

impl CLocale {
    fn enter() -> CLocale {
        static C: OnceLock<usize> = OnceLock::new();
        // SAFETY: the name ends with NUL; there is no base.
        let c =
            *C.get_or_init(|| unsafe { libc::newlocale(libc::LC_ALL_MASK, c"C".as_ptr(), ptr::null_mut()) } as usize);
        // SAFETY: a locale that lives as long as the process, or NULL, which changes nothing.
        CLocale(unsafe { libc::uselocale(c as libc::locale_t) })
    }
}

impl Drop for CLocale {
    fn drop(&mut self) {
        // SAFETY: what the thread had before.
        unsafe { libc::uselocale(self.0) };
    }
}

/// Prints an argument; none when there are not enough words.
fn print(conversion: &Conversion, words: &mut impl Iterator<Item = u64>, out: &mut Vec<u8>) -> Option<()> {
    let mut stars = [0; 2];
    for star in &mut stars[..conversion.stars] {
        *star = (words.next()? as i32).clamp(-MAX_FIELD, MAX_FIELD);
    }
    for lane in 0..conversion.lanes {
        if lane > 0 {
            out.push(b',');
        }
        let word = words.next()?;
        let Conversion { field, stars: count, size, letter, .. } = conversion;
        let stars = &stars[..*count];
        if conversion.is_float() {
            snprintf(&format!("%{field}{letter}"), stars, f64::from(f32::from_bits(word as u32)), out);
        } else if *letter == 'p' {
            let text = CString::new(format!("{word:#x}")).unwrap_or_default();
            snprintf(
                &format!("%{}s", field.split('.').next().unwrap_or("")),
                &stars[..stars.len().min(1)],
                text.as_ptr(),
                out,
            );
        } else if *letter == 'c' {
            snprintf(&format!("%{field}c"), stars, word as c_int, out);
        } else {
            let unused = if *size == 0 { 0 } else { 64 - size * 8 };
            let value = match letter {
                'd' | 'i' => (word << unused).cast_signed() >> unused,
                _ => (word << unused >> unused).cast_signed(),
            };
            snprintf(&format!("%{field}ll{letter}"), stars, value, out);
        }
    }
    Some(())
}

/// A variadic argument of C.
trait Variadic: Copy {}
impl Variadic for f64 {}
impl Variadic for i64 {}
impl Variadic for c_int {}
impl Variadic for *const c_char {}

/// Prints one conversion with C's own function. The format is one for the value's type, with as many `*` as there are stars.
fn snprintf(format: &str, stars: &[c_int], value: impl Variadic, out: &mut Vec<u8>) {
    let format = CString::new(format).unwrap_or_default();
    let call = |place: *mut c_char, room: usize| match *stars {
        // SAFETY: the format is one for these arguments, and there is so much room.
        [] => unsafe { libc::snprintf(place, room, format.as_ptr(), value) },
        // SAFETY: as above.
        [one] => unsafe { libc::snprintf(place, room, format.as_ptr(), one, value) },
        // SAFETY: as above.
        [one, two, ..] => unsafe { libc::snprintf(place, room, format.as_ptr(), one, two, value) },
    };
    let length = usize::try_from(call(ptr::null_mut(), 0)).unwrap_or(0);
    let start = out.len();
    // Its NUL is dropped again.
    out.resize(start + length + 1, 0);
    call(out[start..].as_mut_ptr().cast(), length + 1);
    out.truncate(start + length);
}
