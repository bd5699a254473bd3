//! Messages of `os_log` (MSL specification 6.19): their formats, which the host prints with, and what the code is told of them.
//!
//! `x.log_info("%d of %v4hlf", i, v)` becomes `x.log_info(::hostmetal::logged<7, true, 262401u, 263170u>{"%d of %v4hlf"}, i, v)`: the
//! format's number, whether messages are kept (`MTLCompileOptions.enableLogging`), and what each argument is printed as, which
//! metal_logging compares with the argument's type. A method of the program's own that has such a name gets the text, as it was.
//!
//! A conversion is what C's printf knows (C17 7.23.6.1), with `%v4` and the length `hl` of OpenCL C; `%n` and `%s` are refused, as the
//! specification says, and what Apple's `os_log` for processors adds to them (`%@`, `%{public}d`, `%m`).

use super::diagnose::Finding;
use super::rewrite::Edits;
use super::token::{Kind, Stream};
use std::sync::Arc;

/// The formats of a library's messages, none of one that keeps no messages.
#[derive(Clone, Debug, Default)]
pub struct Formats(pub(crate) Option<Arc<[Format]>>);

/// A format taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Printed as it stands.
    Text(Vec<u8>),
    Conversion(Conversion),
}

/// One conversion of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    /// Flags, width and precision, as they stand between `%` and the length; `*` for what arguments say.
    pub(crate) field: String,
    /// Number of `*`.
    pub(crate) stars: usize,
    /// Components of the argument: 1 for a scalar.
    pub(crate) lanes: u32,
    /// Bytes of an integer, and of a vector's floating-point numbers where they are told; else 0.
    pub(crate) size: u32,
    /// One of `diouxXcfFeEgGaAp`.
    pub(crate) letter: char,
}

/// The longest field, and the most digits, that C promises to print (C17 7.23.6.1).
pub(crate) const MAX_FIELD: i32 = 4095;

impl Conversion {
    pub(crate) fn is_float(&self) -> bool {
        matches!(self.letter, 'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A')
    }

    /// The kinds of the arguments that it takes (`hostmetal::printed`).
    fn kinds(&self) -> impl Iterator<Item = u32> + use<> {
        let what = match self.letter {
            'p' => 3,
            _ if self.is_float() => 2,
            _ => 1,
        };
        let int = 1 | 1 << 8 | 4 << 16;
        std::iter::repeat_n(int, self.stars).chain([what | self.lanes << 8 | self.size << 16])
    }
}

impl Format {
    /// # Errors
    /// What is no conversion, in words.
    pub(crate) fn parse(text: &[u8]) -> Result<Format, String> {
        let mut pieces = Vec::new();
        let mut plain = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let byte = text[at];
            at += 1;
            if byte != b'%' {
                plain.push(byte);
            } else if text.get(at) == Some(&b'%') {
                plain.push(b'%');
                at += 1;
            } else {
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(Piece::Conversion(Scan { text, at: &mut at }.conversion()?));
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Format { pieces })
    }

    fn kinds(&self) -> impl Iterator<Item = u32> {
        let conversions = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Conversion(conversion) => Some(conversion),
            Piece::Text(_) => None,
        });
        conversions.flat_map(Conversion::kinds)
    }

    /// Words of the arguments.
    pub(crate) fn words(&self) -> usize {
        self.kinds().map(|kind| (kind >> 8 & 0xff) as usize).sum()
    }
}

/// A conversion behind its `%`.
struct Scan<'a> {
    text: &'a [u8],
    at: &'a mut usize,
}

impl Scan<'_> {
    fn next(&self) -> u8 {
        self.text.get(*self.at).copied().unwrap_or(0)
    }

    fn accept(&mut self, word: &str) -> bool {
        let found = self.text[*self.at..].starts_with(word.as_bytes());
        *self.at += if found { word.len() } else { 0 };
        found
    }

    fn number(&mut self) -> Result<String, String> {
        let mut digits = String::new();
        while self.next().is_ascii_digit() {
            digits.push(char::from(self.next()));
            *self.at += 1;
        }
        match digits.parse() {
            Ok(0..=MAX_FIELD) => Ok(digits),
            Err(_) if digits.is_empty() => Ok(digits),
            _ => Err(format!("a width or precision above {MAX_FIELD} is not supported")),
        }
    }

    fn number_or_star(&mut self, stars: &mut usize) -> Result<String, String> {
        if self.accept("*") {
            *stars += 1;
            return Ok("*".to_owned());
        }
        self.number()
    }

    fn conversion(&mut self) -> Result<Conversion, String> {
        let start = *self.at;
        let (mut field, mut stars) = (String::new(), 0);
        while b"-+ #0".contains(&self.next()) {
            field.push(char::from(self.next()));
            *self.at += 1;
        }
        field.push_str(&self.number_or_star(&mut stars)?);
        if self.accept(".") {
            field.push('.');
            field.push_str(&self.number_or_star(&mut stars)?);
        }
        let is_vector = self.accept("v");
        let lanes = if is_vector { self.number()?.parse().unwrap_or(0) } else { 1 };
        if is_vector && !(2..=4).contains(&lanes) {
            return Err("a vector in a message has 2, 3 or 4 components".to_owned());
        }
        // Bytes of an integer and of a floating-point number, 0 where there is none such.
        let lengths =
            [("hh", 1, 0), ("hl", 4, 4), ("h", 2, 2), ("ll", 8, 0), ("l", 8, 8), ("j", 8, 0), ("z", 8, 0), ("t", 8, 0)];
        let length = lengths.into_iter().find(|(word, ..)| self.accept(word));
        let letter = char::from(self.next());
        let shown = || {
            let end = (*self.at + 1).min(self.text.len());
            format!("'%{}'", String::from_utf8_lossy(&self.text[start..end]))
        };
        let size = match (letter, length) {
            ('\0', _) => return Err(format!("the format ends within the conversion {}", shown())),
            ('s' | 'S' | 'n' | '@' | 'm' | 'P' | '{', _) => {
                return Err(format!("{} is not supported in messages (MSL 6.19)", shown()));
            }
            ('d' | 'i' | 'o' | 'u' | 'x' | 'X', None) => 4,
            ('d' | 'i' | 'o' | 'u' | 'x' | 'X', Some((_, size, _))) => size,
            // A scalar is a double by then (default argument promotion), which `l` does not change.
            ('f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A', None) => 0,
            ('f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A', Some(("l" | "hl", ..))) if !is_vector => 0,
            ('f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A', Some((_, _, size @ 1..))) if is_vector => size,
            ('c', None) if !is_vector => 4,
            ('p', None) if !is_vector => 0,
            _ => return Err(format!("{} is no conversion", shown())),
        };
        *self.at += 1;
        Ok(Conversion { field, stars, lanes, size, letter })
    }
}

/// The methods that log, and which of their arguments is the format.
const METHODS: [(&str, usize); 6] =
    [("log", 0), ("log_debug", 0), ("log_info", 0), ("log_error", 0), ("log_fault", 0), ("log_with_type", 1)];

/// Takes the formats of all messages apart, in the order of their numbers, and tells the code of them.
pub(crate) fn rewrite(stream: &Stream, edits: &mut Edits, enabled: bool, findings: &mut Vec<Finding>) -> Formats {
    let mut formats = Vec::new();
    for i in 1..stream.len() {
        let Some((_, position)) = METHODS.iter().find(|(name, _)| stream.is(i, name)) else { continue };
        if !matches!(stream.at(i - 1), "." | "->") || !stream.is(i + 1, "(") || stream.mate[i + 1] >= stream.len() {
            continue;
        }
        let Some(&(from, to)) = stream.split(i + 2, stream.mate[i + 1]).get(*position) else { continue };
        let literals = || (from..to).filter(|&j| stream.kind(j) != Some(Kind::Pragma));
        if from == to || !literals().all(|j| stream.kind(j) == Some(Kind::Text)) {
            continue;
        }
        let Some(text) = literals().map(|j| decode(stream.at(j))).collect::<Option<Vec<_>>>() else { continue };
        match Format::parse(&text.concat()) {
            Ok(format) => {
                let kinds: String = format.kinds().map(|kind| format!(", {kind}u")).collect();
                let number = formats.len();
                edits.before(from, &format!("::hostmetal::logged<{number}, {enabled}{kinds}>{{"));
                edits.behind(to - 1, "}");
                formats.push(format);
            }
            Err(why) => findings.push(Finding::error(from, why)),
        }
    }
    Formats((enabled && !formats.is_empty()).then(|| formats.into()))
}

/// The bytes of a string literal; none for other literals, and for what is no literal of `char`.
fn decode(literal: &str) -> Option<Vec<u8>> {
    let literal = literal.strip_prefix("u8").unwrap_or(literal);
    if let Some(raw) = literal.strip_prefix("R\"") {
        let (mark, rest) = raw.split_once('(')?;
        return Some(rest.strip_suffix(&format!("){mark}\""))?.as_bytes().to_vec());
    }
    let mut rest = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::new();
    while let Some((before, escape)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let letter = escape.chars().next()?;
        let digits = |from: usize, most: usize, radix: u32| {
            let all = escape.get(from..).unwrap_or("");
            let count = all.chars().take(most).take_while(|c| c.is_digit(radix)).count();
            u32::from_str_radix(&all[..count], radix).ok().map(|value| (value, from + count))
        };
        let length = match letter {
            'x' => {
                let (value, length) = digits(1, usize::MAX, 16)?;
                bytes.push(value as u8);
                length
            }
            '0'..='7' => {
                let (value, length) = digits(0, 3, 8)?;
                bytes.push(value as u8);
                length
            }
            'u' | 'U' => {
                let (value, length) = digits(1, if letter == 'u' { 4 } else { 8 }, 16)?;
                bytes.extend_from_slice(char::from_u32(value)?.encode_utf8(&mut [0; 4]).as_bytes());
                length
            }
            _ => {
                let simple = [('n', 10), ('t', 9), ('r', 13), ('a', 7), ('b', 8), ('f', 12), ('v', 11), ('e', 27)];
                match simple.iter().find(|(name, _)| *name == letter) {
                    Some((_, byte)) => bytes.push(*byte),
                    None => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
                }
                letter.len_utf8()
            }
        };
        rest = &escape[length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_decoded_as_c_has_them() {
        let cases: [(&str, Option<&[u8]>); 9] = [
            ("\"a\\tb\\\"\\\\\\x41\\101\\0\"", Some(b"a\tb\"\\AA\0")),
            ("\"\\u00e9\\U0001F600\"", Some("\u{e9}\u{1f600}".as_bytes())),
            ("u8\"\u{e9}\"", Some("\u{e9}".as_bytes())),
            ("R\"(a\\n)\"", Some(b"a\\n")),
            ("R\"x(a)\")x\"", Some(b"a)\"")),
            ("\"\\1234\"", Some(b"S4")),
            ("'a'", None),
            ("L\"a\"", None),
            ("\"\\xff\"", Some(b"\xff")),
        ];
        for (literal, expected) in cases {
            assert_eq!(decode(literal).as_deref(), expected, "{literal}");
        }
    }

    #[test]
    fn formats_are_taken_apart() {
        let Ok(format) = Format::parse(b"a%%b %-+ #05.3v4hlf%*.*hhd") else { panic!("it is a format") };
        let [Piece::Text(text), Piece::Conversion(vector), Piece::Conversion(stars)] = format.pieces.as_slice() else {
            panic!("{format:?}")
        };
        assert_eq!(text, b"a%b ");
        assert_eq!((vector.field.as_str(), vector.lanes, vector.size, vector.letter), ("-+ #05.3", 4, 4, 'f'));
        assert_eq!((stars.field.as_str(), stars.stars, stars.size, stars.letter), ("*.*", 2, 1, 'd'));
        assert_eq!(format.words(), 4 + 3);
    }

    #[test]
    fn what_is_no_conversion_is_refused() {
        let cases = [
            "%",
            "%5",
            "%y",
            "%n",
            "%s",
            "%.*s",
            "%@",
            "%.*P",
            "%{public}d",
            "%m",
            "%v5d",
            "%v1d",
            "%vd",
            "%v16f",
            "%v4c",
            "%v2s",
            "%v2p",
            "%hf",
            "%lc",
            "%hp",
            "%4096d",
            "%.4096f",
            "%99999999999d",
            "%Lf",
            "%v4llf",
            "%v2hhf",
        ];
        for wrong in cases {
            assert!(Format::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        for right in
            ["%hld", "%lld", "%zu", "%jd", "%tx", "%hlf", "%lf", "%v3hd", "%v2hf", "%v4lu", "%v4f", "%v3d", "%c", "%p"]
        {
            assert!(Format::parse(right.as_bytes()).is_ok(), "{right}");
        }
    }
}
