//! Formats of `printf`, taken apart (OpenCL C 3.0 §6.15.14.2). The device writes the arguments, the host formats them.

use serde::Serialize;

/// A format with its conversions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrintFormat {
    /// As the source has it, escapes decoded.
    pub text: String,
    /// What it prints, in order.
    pub pieces: Vec<PrintPiece>,
}

impl PrintFormat {
    /// Takes a format apart. A vector without a length modifier counts as one of 32-bit components, which a call's
    /// argument may change.
    ///
    /// # Errors
    /// What is no conversion of OpenCL C, in words.
    pub fn parse(text: &str) -> Result<PrintFormat, String> {
        parse(text).map(|(format, _)| format)
    }
}

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PrintPiece {
    /// Printed as it stands.
    Text(String),
    /// Prints an argument.
    Conversion(Conversion),
}

/// One conversion of a format.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Conversion {
    /// `-`: to the left of the field.
    pub left: bool,
    /// `+`: a sign in any case.
    pub plus: bool,
    /// A space in place of a plus.
    pub space: bool,
    /// `#`: the alternative form.
    pub alternate: bool,
    /// `0`: zeros fill the field.
    pub zero: bool,
    /// Least number of characters; 0 if none is given.
    pub width: u32,
    /// What stands behind the point.
    pub precision: Option<u32>,
    /// Components of the argument: 1 for a scalar.
    pub lanes: u8,
    /// What a component is.
    pub value: PrintValue,
    /// The letter: one of `diouxXfFeEgGaAcsp`.
    pub specifier: char,
}

/// What a component of a printed argument is, in the words of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PrintValue {
    /// The lowest 8 bits of a word.
    Int8,
    /// The lowest 16 bits of a word.
    Int16,
    /// A word.
    #[default]
    Int32,
    /// Two words, the lower first.
    Int64,
    /// A word: the bits of a `float`; a `half` is converted to one.
    Float,
    /// Two words, the lower first: the bits of an emulated `double`.
    Double,
    /// A word with the number of bytes, and these, four in a word, the first the lowest.
    String,
    /// Two words, the lower first: an address.
    Pointer,
}

/// Widths and precisions beyond this are refused; C promises no more characters per conversion (C99 §7.19.6.1).
const MAX_FIELD: u32 = 4095;

/// A length modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    None,
    /// `hh`
    Char,
    /// `h`
    Short,
    /// `hl`
    Int,
    /// `l`
    Long,
}

/// Takes a format apart. With each conversion comes its length modifier.
pub(crate) fn parse(text: &str) -> Result<(PrintFormat, Vec<Length>), String> {
    let mut format = PrintFormat { text: text.to_owned(), pieces: Vec::new() };
    let mut lengths = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            plain.push('%');
            rest = after;
            continue;
        }
        if !plain.is_empty() {
            format.pieces.push(PrintPiece::Text(std::mem::take(&mut plain)));
        }
        let mut scan = Scan { text: after, at: 0 };
        let (conversion, length) = scan.conversion()?;
        format.pieces.push(PrintPiece::Conversion(conversion));
        lengths.push(length);
        rest = &after[scan.at..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        format.pieces.push(PrintPiece::Text(plain));
    }
    Ok((format, lengths))
}

/// A conversion behind its `%`.
struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl Scan<'_> {
    fn next(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn accept(&mut self, word: &str) -> bool {
        let found = self.text[self.at..].starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn number(&mut self) -> Result<Option<u32>, String> {
        let rest = &self.text[self.at..];
        let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
        self.at += digits.len();
        if digits.is_empty() {
            return Ok(None);
        }
        match digits.parse() {
            Ok(n) if n <= MAX_FIELD => Ok(Some(n)),
            _ => Err(format!("a width or precision above {MAX_FIELD} is not supported")),
        }
    }

    /// The conversion as far as it was read, for messages.
    fn shown(&self) -> &str {
        &self.text[..self.at]
    }

    fn conversion(&mut self) -> Result<(Conversion, Length), String> {
        let mut c = Conversion { lanes: 1, ..Conversion::default() };
        loop {
            match self.next() {
                Some('-') => c.left = true,
                Some('+') => c.plus = true,
                Some(' ') => c.space = true,
                Some('#') => c.alternate = true,
                Some('0') => c.zero = true,
                _ => break,
            }
            self.at += 1;
        }
        self.refuse_star()?;
        c.width = self.number()?.unwrap_or(0);
        if self.accept(".") {
            self.refuse_star()?;
            c.precision = Some(self.number()?.unwrap_or(0));
        }
        if self.accept("v") {
            c.lanes = match self.number()? {
                Some(n @ (2 | 3 | 4 | 8 | 16)) => n as u8,
                _ => return Err(format!("'%{}': a vector has 2, 3, 4, 8 or 16 components", self.shown())),
            };
        }
        let length = self.length();
        let Some(specifier) = self.next() else {
            return Err(format!("the format ends within the conversion '%{}'", self.shown()));
        };
        self.at += specifier.len_utf8();
        c.specifier = specifier;
        let shown = self.shown().to_owned();
        let is_vector = c.lanes > 1;
        c.value = match (specifier, length) {
            ('n', _) => return Err(format!("'%{shown}' is not supported (OpenCL C has no %n)")),
            ('d' | 'i' | 'o' | 'u' | 'x' | 'X', Length::Char) => PrintValue::Int8,
            ('d' | 'i' | 'o' | 'u' | 'x' | 'X', Length::Short) => PrintValue::Int16,
            ('d' | 'i' | 'o' | 'u' | 'x' | 'X', Length::None) => PrintValue::Int32,
            ('d' | 'i' | 'o' | 'u' | 'x' | 'X', Length::Int) if is_vector => PrintValue::Int32,
            ('d' | 'i' | 'o' | 'u' | 'x' | 'X', Length::Long) => PrintValue::Int64,
            ('f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A', Length::None | Length::Long) => PrintValue::Float,
            ('f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A', Length::Short | Length::Int) if is_vector => {
                PrintValue::Float
            }
            ('c', Length::None) if !is_vector => PrintValue::Int8,
            ('s', Length::None) if !is_vector => PrintValue::String,
            ('p', Length::None) if !is_vector => PrintValue::Pointer,
            _ => return Err(format!("'%{shown}' is not a conversion of OpenCL C")),
        };
        Ok((c, length))
    }

    fn refuse_star(&self) -> Result<(), String> {
        match self.next() {
            Some('*') => Err("'*' as a width or precision is not supported (OpenCL C has none)".to_owned()),
            _ => Ok(()),
        }
    }

    /// `ll`, `z` and `t` are 64 bits wide here as `l` is.
    fn length(&mut self) -> Length {
        for (word, length) in [
            ("hh", Length::Char),
            ("hl", Length::Int),
            ("h", Length::Short),
            ("ll", Length::Long),
            ("l", Length::Long),
            ("z", Length::Long),
            ("t", Length::Long),
        ] {
            if self.accept(word) {
                return length;
            }
        }
        Length::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_taken_apart() {
        let (format, lengths) = parse("a%%b %-+ #05.3v4hlf%hhd%s\n").expect("it is a format");
        let [
            PrintPiece::Text(a),
            PrintPiece::Conversion(b),
            PrintPiece::Conversion(c),
            PrintPiece::Conversion(d),
            PrintPiece::Text(e),
        ] = format.pieces.as_slice()
        else {
            panic!("{format:?}")
        };
        assert_eq!((a.as_str(), e.as_str()), ("a%b ", "\n"));
        assert!(b.left && b.plus && b.space && b.alternate && b.zero);
        assert_eq!((b.width, b.precision, b.lanes, b.value, b.specifier), (5, Some(3), 4, PrintValue::Float, 'f'));
        assert_eq!((c.value, c.specifier, d.value), (PrintValue::Int8, 'd', PrintValue::String));
        assert_eq!(lengths, [Length::Int, Length::Char, Length::None]);
    }

    #[test]
    fn what_is_no_conversion_is_refused() {
        for wrong in
            ["%", "%5", "%y", "%n", "%*d", "%.*f", "%v5d", "%v4c", "%v2s", "%hf", "%lc", "%hld", "%4096d", "%vd", "%é"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
