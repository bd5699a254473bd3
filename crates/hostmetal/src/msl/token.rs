//! Tokens of preprocessed MSL, with the place in the user's source that each came from.
//!
//! The text is what `clang -E` wrote: macros are expanded, comments are gone, line markers (`# 12 "file"`) say where
//! the next line
//! came from. Every token remembers presumed file, line and column; the bytes between tokens stay untouched in
//! `Stream::text`, so
//! that a rewrite can copy them. One pass, O(n).

/// What a token is; keywords are identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ident,
    Number,
    /// A string or character literal.
    Text,
    Punct,
    /// A whole `#pragma` line (without its newline).
    Pragma,
}

/// One token: a range of `Stream::text` and its presumed place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) file: u32,
    pub(crate) line: u32,
    /// 1-based, in bytes, in the preprocessed line.
    pub(crate) column: u32,
}

/// Tokens of a file that the source includes, and of files that this one includes: where the source does so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Included {
    start: usize,
    end: usize,
    pub(crate) file: u32,
    pub(crate) line: u32,
}

/// No partner: the value of `Stream::mate` for everything but matched brackets.
pub(crate) const NONE: usize = usize::MAX;

/// The tokens of one preprocessed source.
pub(crate) struct Stream {
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    pub(crate) files: Vec<String>,
    /// In ascending order; without those that brought no token.
    included: Vec<Included>,
    /// For each `(`, `[`, `{` and its closer the index of the other, else `NONE`.
    pub(crate) mate: Vec<usize>,
    /// The first bracket without a partner.
    pub(crate) unbalanced: Option<usize>,
}

impl Stream {
    /// Cuts preprocessed text into tokens.
    pub(crate) fn new(text: String) -> Self {
        let mut cutter = Cutter {
            bytes: text.as_bytes(),
            at: 0,
            line_start: 0,
            file: 0,
            line: 1,
            files: vec![String::new()],
            tokens: Vec::new(),
            depth: 0,
            included: Vec::new(),
        };
        cutter.run();
        let (tokens, files, included) = (cutter.tokens, cutter.files, cutter.included);
        let (mate, unbalanced) = pair(&text, &tokens);
        Self { text, tokens, files, included, mate, unbalanced }
    }

    /// Where the source includes the file that token `i` is from, if it is from another.
    pub(crate) fn included(&self, i: usize) -> Option<Included> {
        let behind = self.included.partition_point(|from| from.start <= i);
        self.included.get(behind.checked_sub(1)?).filter(|from| i < from.end).copied()
    }

    /// The number of tokens.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The spelling of token `i`; empty behind the end.
    pub(crate) fn at(&self, i: usize) -> &str {
        self.tokens.get(i).map_or("", |t| &self.text[t.start as usize..t.end as usize])
    }

    /// Whether token `i` is spelled so.
    pub(crate) fn is(&self, i: usize, spelling: &str) -> bool {
        self.at(i) == spelling
    }

    /// Whether token `i` is an identifier or keyword.
    pub(crate) fn is_ident(&self, i: usize) -> bool {
        self.tokens.get(i).is_some_and(|t| t.kind == Kind::Ident)
    }

    /// The kind of token `i`.
    pub(crate) fn kind(&self, i: usize) -> Option<Kind> {
        self.tokens.get(i).map(|t| t.kind)
    }

    /// The token before `i` that is no pragma.
    pub(crate) fn before(&self, i: usize) -> Option<usize> {
        (0..i).rev().find(|&j| self.tokens[j].kind != Kind::Pragma)
    }

    /// The token behind the group that `i` opens, or behind `i` itself.
    pub(crate) fn skip(&self, i: usize) -> usize {
        match self.at(i) {
            "(" | "[" | "{" if self.mate[i] != NONE => self.mate[i] + 1,
            _ => i + 1,
        }
    }

    /// Whether `[[` stands at `i`, and if so the index behind its `]]`.
    pub(crate) fn attribute(&self, i: usize) -> Option<usize> {
        if self.is(i, "[")
            && self.is(i + 1, "[")
            && self.mate[i] != NONE
            && self.mate[i] == self.mate[i + 1].wrapping_add(1)
        {
            Some(self.mate[i] + 1)
        } else {
            None
        }
    }

    /// The `>` that closes the `<` at `open`, when it closes before `end` and before any `;`.
    pub(crate) fn angle_close(&self, open: usize, end: usize) -> Option<usize> {
        let mut depth = 0usize;
        let mut i = open;
        while i < end {
            match self.at(i) {
                "<" => depth += 1,
                ">" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(i);
                    }
                }
                ";" | "}" | ")" | "]" => return None,
                "(" | "[" | "{" => {
                    if self.mate[i] == NONE {
                        return None;
                    }
                    i = self.mate[i];
                }
                _ => {}
            }
            i += 1;
        }
        None
    }

    /// The `<` that opens what the `>` at `close` closes, looking no further back than `start`.
    pub(crate) fn angle_open(&self, close: usize, start: usize) -> Option<usize> {
        let mut depth = 0usize;
        let mut i = close;
        loop {
            match self.at(i) {
                ">" => depth += 1,
                "<" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(i);
                    }
                }
                ";" | "{" | "(" | "[" => return None,
                ")" | "]" | "}" => {
                    if self.mate[i] == NONE {
                        return None;
                    }
                    i = self.mate[i];
                }
                _ => {}
            }
            if i <= start {
                return None;
            }
            i -= 1;
        }
    }

    /// The parts of `start..end` between commas outside of all brackets.
    pub(crate) fn split(&self, start: usize, end: usize) -> Vec<(usize, usize)> {
        let mut parts = Vec::new();
        let (mut from, mut i) = (start, start);
        while i < end {
            match self.at(i) {
                "(" | "[" | "{" => {
                    i = self.skip(i);
                    continue;
                }
                "<" if i > start && (self.is_ident(i - 1)) => {
                    if let Some(close) = self.angle_close(i, end) {
                        i = close + 1;
                        continue;
                    }
                }
                "," => {
                    parts.push((from, i));
                    from = i + 1;
                }
                _ => {}
            }
            i += 1;
        }
        if from < end {
            parts.push((from, end));
        }
        parts
    }

    /// The spellings of `start..end`, with single blanks between.
    pub(crate) fn words(&self, start: usize, end: usize) -> String {
        let mut text = String::new();
        for i in start..end.min(self.len()) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(self.at(i));
        }
        text
    }
}

struct Cutter<'a> {
    bytes: &'a [u8],
    at: usize,
    line_start: usize,
    file: u32,
    line: u32,
    files: Vec<String>,
    tokens: Vec<Token>,
    /// Of files that are in each other.
    depth: u32,
    included: Vec<Included>,
}

/// Longest first.
const PUNCTUATION: [&str; 22] = [
    "...", "<<=", ">>=", "->*", "->", "::", "<<", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=",
    "/=", "%=", "^=", "|=",
];

impl Cutter<'_> {
    fn run(&mut self) {
        let mut fresh = true; // only blanks so far on this line
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.line += 1;
                    self.line_start = self.at;
                    fresh = true;
                    continue;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {
                    self.at += 1;
                    continue;
                }
                b'#' if fresh => {
                    self.directive();
                    continue;
                }
                _ => {}
            }
            fresh = false;
            let start = self.at;
            let kind = self.token(byte);
            self.push(kind, start);
        }
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.tokens.push(Token {
            kind,
            start: start as u32,
            end: self.at as u32,
            file: self.file,
            line: self.line,
            column: (start - self.line_start + 1) as u32,
        });
    }

    /// A `#` line: a line marker moves the presumed place, a pragma is a token, anything else has no meaning after
    /// `-E`.
    fn directive(&mut self) {
        let start = self.at;
        while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
            self.at += 1;
        }
        let body = String::from_utf8_lossy(&self.bytes[start + 1..self.at]);
        let body = body.trim_start();
        if body.starts_with("pragma") {
            self.push(Kind::Pragma, start);
            return;
        }
        let body = body.strip_prefix("line").unwrap_or(body).trim_start();
        let digits: String = body.chars().take_while(char::is_ascii_digit).collect();
        let Ok(line) = digits.parse::<u32>() else { return };
        if let Some(quoted) = body[digits.len()..].trim_start().strip_prefix('"') {
            let (name, flags) = unescape(quoted);
            self.enter_or_leave(flags.split(' ').find(|flag| matches!(*flag, "1" | "2")));
            self.file = match self.files.iter().position(|f| *f == name) {
                Some(known) => known as u32,
                None => {
                    self.files.push(name);
                    (self.files.len() - 1) as u32
                }
            };
        }
        self.line = line.wrapping_sub(1);
    }

    /// Flag 1 of a line marker is the beginning of a file, flag 2 what is behind its end.
    fn enter_or_leave(&mut self, flag: Option<&str>) {
        let here = self.tokens.len();
        match flag {
            Some("1") => {
                if self.depth == 0 {
                    self.included.push(Included { start: here, end: usize::MAX, file: self.file, line: self.line });
                }
                self.depth += 1;
            }
            Some(_) if self.depth > 0 => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.included.pop_if(|from| from.start == here);
                    if let Some(from) = self.included.last_mut().filter(|from| from.end == usize::MAX) {
                        from.end = here;
                    }
                }
            }
            _ => {}
        }
    }

    fn token(&mut self, first: u8) -> Kind {
        let rest = &self.bytes[self.at..];
        let next = rest.get(1).copied().unwrap_or(0);
        if first == b'_' || first.is_ascii_alphabetic() || first >= 0x80 {
            while self.bytes.get(self.at).is_some_and(|b| *b == b'_' || b.is_ascii_alphanumeric() || *b >= 0x80) {
                self.at += 1;
            }
            return Kind::Ident;
        }
        if first.is_ascii_digit() || (first == b'.' && next.is_ascii_digit()) {
            self.at += 1;
            while let Some(&b) = self.bytes.get(self.at) {
                let sign = matches!(b, b'+' | b'-') && matches!(self.bytes[self.at - 1], b'e' | b'E' | b'p' | b'P');
                if !(sign || b == b'.' || b == b'_' || b == b'\'' || b.is_ascii_alphanumeric()) {
                    break;
                }
                self.at += 1;
            }
            return Kind::Number;
        }
        if first == b'"' || first == b'\'' {
            self.at += 1;
            while let Some(&b) = self.bytes.get(self.at) {
                if b == b'\n' {
                    break;
                }
                self.at += if b == b'\\' { 2 } else { 1 };
                if b == first {
                    break;
                }
            }
            self.at = self.at.min(self.bytes.len());
            return Kind::Text;
        }
        let long = PUNCTUATION.iter().find(|p| rest.starts_with(p.as_bytes()));
        self.at += long.map_or(1, |p| p.len());
        Kind::Punct
    }
}

/// The name that a quotation mark ends, and what is behind it.
fn unescape(quoted: &str) -> (String, &str) {
    let mut name = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => name.extend(chars.next()),
            _ => name.push(c),
        }
    }
    (name, chars.as_str())
}

fn pair(text: &str, tokens: &[Token]) -> (Vec<usize>, Option<usize>) {
    let mut mate = vec![NONE; tokens.len()];
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut unbalanced = None;
    for (i, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Punct || token.end - token.start != 1 {
            continue;
        }
        let closer = match text.as_bytes()[token.start as usize] {
            b'(' => b')',
            b'[' => b']',
            b'{' => b'}',
            c @ (b')' | b']' | b'}') => {
                match open.last() {
                    Some(&(j, expected)) if expected == c => {
                        open.pop();
                        mate[i] = j;
                        mate[j] = i;
                    }
                    _ => unbalanced = unbalanced.or(Some(i)),
                }
                continue;
            }
            _ => continue,
        };
        open.push((i, closer));
    }
    let rest = open.first().map(|&(i, _)| i);
    (mate, unbalanced.or(rest))
}
