//! What kernels print with OpenCL C's `printf`: the buffer that they write records to, and the text these make.

mod format;

use std::fmt;
use std::sync::Arc;

use clmsl::{PrintFormat, PrintPiece};

use crate::memory::AllocationRef;
use crate::{Accelerator, Buffer, Error, Result};

/// How a kernel prints.
#[derive(Clone)]
pub(crate) struct Printing {
    /// The buffer index at which it wants its buffer.
    pub(crate) slot: usize,
    /// Bytes of that buffer.
    pub(crate) bytes: u64,
    /// Those of its library.
    pub(crate) formats: Arc<[PrintFormat]>,
}

/// Words before the records: how many are taken, how many there are, how many records did not fit.
const HEADER: usize = 3;

/// A buffer that the kernels of one library print to.
pub(crate) struct PrintBuffer {
    formats: Arc<[PrintFormat]>,
    buffer: Buffer<u32>,
}

impl PrintBuffer {
    pub(crate) fn new(accelerator: &Accelerator, printing: &Printing) -> Result<PrintBuffer> {
        let mut buffer = accelerator.staging().buffer::<u32>(accelerator, (printing.bytes / 4) as usize)?;
        let room = (buffer.len() - HEADER) as u32;
        // The records of somebody else's that may lie behind are not read.
        buffer.write()?[..HEADER].copy_from_slice(&[0, room, 0]);
        Ok(PrintBuffer { formats: Arc::clone(&printing.formats), buffer })
    }

    /// Whether it is for this library's kernels.
    pub(crate) fn is_for(&self, printing: &Printing) -> bool {
        Arc::ptr_eq(&self.formats, &printing.formats)
    }

    pub(crate) fn allocation(&self) -> &AllocationRef {
        self.buffer.allocation()
    }

    /// Adds what was printed, once the device is done.
    pub(crate) fn read(&self, printed: &mut Printed) -> Result<()> {
        text(&self.buffer.read()?, &self.formats, printed).ok_or(Error::PrintBuffer)
    }
}

/// What the kernels of a submission printed with `printf`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text as bytes: `%c` prints any. What one work-item printed is in its order, and what one launch printed is
    /// before what later launches of kernels of the same library printed.
    pub bytes: Vec<u8>,
    /// Calls whose output is missing because the buffer was full (`printf` returned -1 there); from 2³¹ on the least
    /// number of them.
    pub lost: u32,
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.bytes))
    }
}

/// Formats the records of a buffer. `None` if they are none, because a kernel wrote over them.
fn text(words: &[u32], formats: &[PrintFormat], printed: &mut Printed) -> Option<()> {
    let (header, records) = words.split_at_checked(HEADER)?;
    printed.lost = printed.lost.saturating_add(header[2]);
    let mut words = records.get(..header[0] as usize)?.iter().copied();
    while let Some(number) = words.next() {
        for piece in &formats.get(number as usize)?.pieces {
            match piece {
                PrintPiece::Text(text) => printed.bytes.extend_from_slice(text.as_bytes()),
                PrintPiece::Conversion(conversion) => format::convert(conversion, &mut words, &mut printed.bytes)?,
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats(texts: &[&str]) -> Vec<PrintFormat> {
        texts.iter().map(|text| PrintFormat::parse(text).expect("a format")).collect()
    }

    #[test]
    fn records_become_text() {
        let formats = formats(&["a=%d %s", "%lx|%v2hlf\n", "%p %5.1v2d %c"]);
        let mut printed = Printed { lost: 1, ..Printed::default() };
        let one = 1.0f32.to_bits();
        let mut words = vec![0, 100, 2, 1, 0x89AB_CDEF, 0x0123_4567, one, one, 2, 0x10, 0, 7, 0x8000_0000, 0x41];
        words[0] = (words.len() - HEADER) as u32;
        assert_eq!(text(&words, &formats, &mut printed), Some(()));
        assert_eq!(printed.to_string(), "123456789abcdef|1.000000,1.000000\n0x10     7,-2147483648 A");
        assert_eq!(printed.lost, 3);
    }

    #[test]
    fn texts_have_as_many_bytes_as_they_say() {
        let formats = formats(&["%s%-4s%3.1s|"]);
        let mut printed = Printed::default();
        let words = [7, 100, 0, 0, 5, u32::from_le_bytes(*b"abcd"), u32::from_le_bytes(*b"e!!!"), 0, 1, 0x5A];
        assert_eq!(text(&words, &formats, &mut printed), Some(()));
        assert_eq!(printed.to_string(), "abcde      Z|");
    }

    #[test]
    fn what_is_no_record_is_an_error() {
        let formats = formats(&["%d\n", "%s"]);
        let wrong = |words: &[u32]| text(words, &formats, &mut Printed::default()).is_none();
        assert!(!wrong(&[0, 4, 0]) && !wrong(&[2, 4, 0, 0, 5]));
        assert!(wrong(&[]) && wrong(&[3, 4, 0, 0, 5]), "more words than there are");
        assert!(wrong(&[2, 4, 0, 2, 5]), "no such format");
        assert!(!wrong(&[3, 4, 0, 1, 4, 0x4141_4141]));
        assert!(wrong(&[3, 4, 0, 1, 5, 0x4141_4141]), "a text that is cut off");
        assert!(wrong(&[3, 4, 0, 1, u32::MAX, 0x4141_4141]), "a text longer than memory");
        assert!(wrong(&[1, 4, 0, 0, 5]), "a record that is cut off");
    }
}
