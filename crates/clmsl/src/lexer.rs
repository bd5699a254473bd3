//! Source text to preprocessing tokens (C99 6.4, translation phases 2 and 3), one at a time.
//!
//! Spliced lines (`\` before a line's end, with blanks between allowed, as clang does) are seen through everywhere;
//! comments are blanks; trigraphs are not replaced; digraphs are. The lexer knows no directives: whoever reads a `#` at
//! the start of a line sets `in_directive`, and then the end of the line is a token, once.
//! Text that is no token (an unmatched quote, a stray `\`) is a token of kind `Other`, wrong only if it survives.

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Interner, Punct, Symbol};
use std::cell::Cell;
use std::sync::Arc;

/// What a preprocessing token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PpKind {
    Ident,
    /// A preprocessing number (6.4.8), which need not be a valid constant.
    Number,
    Char,
    Str,
    Punct(Punct),
    Other,
    /// End of the line that a directive is on.
    Newline,
    Eof,
    /// Only in a macro body: the parameter with this index.
    Param(u32),
    /// Only in a macro body: `#` and the parameter with this index.
    Stringify(u32),
    /// Only in a macro body: the `##` operator.
    Paste,
    /// Only between substitution and pasting: the place of an empty argument.
    Placemarker,
    /// A pragma, by its index in the preprocessor's list.
    Pragma(u32),
}

/// First token of its line.
pub(crate) const LINE_START: u8 = 1;
/// Blanks, a comment or a line's end stand before it.
pub(crate) const SPACE: u8 = 2;
/// The name of a macro that must never be expanded (6.10.3.4p2).
pub(crate) const NO_EXPAND: u8 = 4;
/// Written as a digraph.
pub(crate) const DIGRAPH: u8 = 8;

/// A preprocessing token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PpToken {
    pub(crate) kind: PpKind,
    /// Its spelling without splices; that of a punctuator is not kept here (see [`spelling`]).
    pub(crate) text: Symbol,
    pub(crate) span: Span,
    pub(crate) flags: u8,
}

impl PpToken {
    pub(crate) fn is(&self, punct: Punct) -> bool {
        self.kind == PpKind::Punct(punct)
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// How a token was written.
pub(crate) fn spelling<'a>(token: &PpToken, names: &'a Interner) -> &'a str {
    match token.kind {
        PpKind::Punct(p) if token.has(DIGRAPH) => match p {
            Punct::LBracket => "<:",
            Punct::RBracket => ":>",
            Punct::LBrace => "<%",
            Punct::RBrace => "%>",
            Punct::Hash => "%:",
            _ => "%:%:",
        },
        PpKind::Punct(p) => p.text(),
        PpKind::Paste => "##",
        PpKind::Newline | PpKind::Eof | PpKind::Placemarker | PpKind::Pragma(_) => "",
        _ => names.name(token.text),
    }
}

/// A position in a text.
#[derive(Clone, Debug)]
pub(crate) struct Lexer {
    text: Arc<str>,
    file: u32,
    pos: usize,
    at_line_start: bool,
    /// Whether the end of the line is to be a token.
    pub(crate) in_directive: bool,
    /// Bytes looked at.
    steps: Cell<u64>,
}

impl Lexer {
    /// At the start of a text, behind a byte order mark.
    pub(crate) fn new(file: u32, text: Arc<str>) -> Self {
        let pos = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Self { text, file, pos, at_line_start: true, in_directive: false, steps: Cell::new(0) }
    }

    /// Offset behind the last token.
    pub(crate) fn position(&self) -> u32 {
        self.pos as u32
    }

    /// How many bytes were looked at, each as often as it was.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Goes back before `newline`, which this lexer gave.
    pub(crate) fn unread_newline(&mut self, newline: &PpToken) {
        self.pos = newline.span.lo as usize;
        self.in_directive = true;
        self.at_line_start = false;
    }

    /// The next token.
    pub(crate) fn next(&mut self, names: &mut Interner, faults: &mut Vec<Diagnostic>) -> PpToken {
        let mut flags = self.skip_blanks(faults);
        if self.at_line_start {
            flags |= LINE_START | SPACE;
        }
        let lo = self.pos;
        let Some(first) = self.text.as_bytes().get(lo).copied() else {
            let kind = if std::mem::take(&mut self.in_directive) { PpKind::Newline } else { PpKind::Eof };
            return self.token(kind, lo, flags, Symbol(0));
        };
        if is_newline(first) {
            // skip_blanks stops at a line's end only inside a directive.
            self.in_directive = false;
            self.at_line_start = true;
            self.pos = self.newline_end(lo);
            return self.token(PpKind::Newline, lo, flags, Symbol(0));
        }
        self.at_line_start = false;
        let (kind, hi, clean) = self.scan(lo, first);
        if let PpKind::Punct(_) = kind {
            self.pos = hi;
            let (punct_flags, symbol) = (if clean { 0 } else { DIGRAPH }, Symbol(0));
            return self.token(kind, lo, flags | punct_flags, symbol);
        }
        let symbol = if clean { names.intern(&self.text[lo..hi]) } else { names.intern(&self.without_splices(lo, hi)) };
        self.pos = hi;
        self.token(kind, lo, flags, symbol)
    }

    fn token(&self, kind: PpKind, lo: usize, flags: u8, text: Symbol) -> PpToken {
        PpToken { kind, text, span: self.span(lo, self.pos), flags }
    }

    fn span(&self, lo: usize, hi: usize) -> Span {
        Span { file: self.file, lo: lo as u32, hi: hi as u32 }
    }

    /// Whether the next token is `(`; the position stays.
    pub(crate) fn next_is_lparen(&self) -> bool {
        let mut ahead = self.clone();
        ahead.skip_blanks(&mut Vec::new());
        self.steps.set(ahead.steps.get());
        ahead.text.as_bytes().get(ahead.pos) == Some(&b'(')
    }

    /// A header name (6.4.7), if one stands here: its text without the delimiters, and whether these are `<>`.
    pub(crate) fn header_name(&mut self, faults: &mut Vec<Diagnostic>) -> Option<(String, bool, Span)> {
        self.skip_blanks(faults);
        let lo = self.pos;
        let close = match self.text.as_bytes().get(lo)? {
            b'<' => b'>',
            b'"' => b'"',
            _ => return None,
        };
        let mut at = lo + 1;
        loop {
            let (b, next) = self.byte(at)?;
            if is_newline(b) {
                return None;
            }
            at = next;
            if b == close {
                break;
            }
        }
        self.pos = at;
        let text = self.without_splices(lo + 1, at - 1);
        Some((text, close == b'>', self.span(lo, at)))
    }

    /// The rest of the line as it is written, without blanks around it; the position goes to the line's end.
    pub(crate) fn rest_of_line(&mut self) -> String {
        let lo = self.pos;
        let mut at = lo;
        while let Some((b, next)) = self.byte(at) {
            if is_newline(b) {
                at = next - 1;
                break;
            }
            at = next;
        }
        self.pos = at;
        self.without_splices(lo, at).trim().to_owned()
    }

    /// Goes over blanks, comments and, outside of directives, ends of lines; returns `SPACE` if there were any.
    fn skip_blanks(&mut self, faults: &mut Vec<Diagnostic>) -> u8 {
        let mut flags = 0;
        while let Some(&b) = self.text.as_bytes().get(self.pos) {
            self.steps.update(|n| n + 1);
            match b {
                b' ' | b'\t' | 0x0b | 0x0c | 0 => self.pos += 1,
                b'\n' | b'\r' => {
                    if self.in_directive {
                        break;
                    }
                    self.pos += 1;
                    self.at_line_start = true;
                }
                b'\\' => match self.splice_end(self.pos) {
                    Some(end) => {
                        self.pos = end;
                        continue;
                    }
                    None => break,
                },
                b'/' => match self.byte(self.pos + 1) {
                    Some((b'/', next)) => self.skip_line_comment(next),
                    Some((b'*', next)) => self.skip_block_comment(next, faults),
                    _ => break,
                },
                _ => break,
            }
            flags = SPACE;
        }
        flags
    }

    fn skip_line_comment(&mut self, from: usize) {
        self.pos = from;
        while let Some((b, next)) = self.byte(self.pos) {
            if is_newline(b) {
                // Not `self.pos`, which is before the splices that lead to this line's end.
                self.pos = next - 1;
                return;
            }
            self.pos = next;
        }
        self.pos = self.text.len();
    }

    fn skip_block_comment(&mut self, from: usize, faults: &mut Vec<Diagnostic>) {
        let start = self.pos;
        let mut at = from;
        let mut after_star = false;
        while let Some((b, next)) = self.byte(at) {
            at = next;
            if after_star && b == b'/' {
                self.pos = at;
                return;
            }
            after_star = b == b'*';
        }
        self.pos = self.text.len();
        faults.push(Diagnostic::error(self.span(start, start + 2), "unterminated /* comment"));
    }

    /// Kind and end of the token at `lo`. The last value tells whether its spelling is the text in between
    /// (no splices), and for a punctuator, whether it is no digraph.
    fn scan(&self, lo: usize, first: u8) -> (PpKind, usize, bool) {
        match first {
            b'L' => match self.byte(lo + 1) {
                Some((quote @ (b'"' | b'\''), next)) => self.quoted(next, quote, next == lo + 2),
                _ => self.ident(lo),
            },
            b if is_ident_start(b) => self.ident(lo),
            b'0'..=b'9' => self.number(lo),
            b'.' if matches!(self.byte(lo + 1), Some((b'0'..=b'9', _))) => self.number(lo),
            b'"' | b'\'' => self.quoted(lo + 1, first, true),
            _ => self.punct(lo, first).unwrap_or_else(|| {
                let len = self.text[lo..].chars().next().map_or(1, char::len_utf8);
                (PpKind::Other, lo + len, true)
            }),
        }
    }

    fn ident(&self, lo: usize) -> (PpKind, usize, bool) {
        let (mut at, mut clean) = (lo, true);
        while let Some((b, next)) = self.byte(at) {
            if !is_ident_start(b) && !b.is_ascii_digit() {
                break;
            }
            clean &= next == at + 1;
            at = next;
        }
        (PpKind::Ident, at, clean)
    }

    fn number(&self, lo: usize) -> (PpKind, usize, bool) {
        let (mut at, mut clean, mut previous) = (lo, true, 0);
        while let Some((b, next)) = self.byte(at) {
            let signed_exponent = matches!(b, b'+' | b'-') && matches!(previous, b'e' | b'E' | b'p' | b'P');
            if !(b.is_ascii_alphanumeric() || b == b'_' || b == b'.' || signed_exponent) {
                break;
            }
            clean &= next == at + 1;
            (at, previous) = (next, b);
        }
        (PpKind::Number, at, clean)
    }

    /// A character constant or string literal whose first character is at `at`. One that does not end on its line is
    /// of kind `Other` and goes to the line's end.
    fn quoted(&self, mut at: usize, quote: u8, mut clean: bool) -> (PpKind, usize, bool) {
        let mut escaped = false;
        while let Some((b, next)) = self.byte(at) {
            if is_newline(b) {
                break;
            }
            clean &= next == at + 1;
            at = next;
            if b == quote && !escaped {
                let kind = if quote == b'"' { PpKind::Str } else { PpKind::Char };
                return (kind, at, clean);
            }
            escaped = b == b'\\' && !escaped;
        }
        (PpKind::Other, at, clean)
    }

    /// The longest punctuator at `lo`.
    fn punct(&self, lo: usize, first: u8) -> Option<(PpKind, usize, bool)> {
        use Punct::*;
        let after_first = lo + 1;
        let (second, after_second) = self.byte(after_first).unwrap_or((0, after_first));
        let third = || self.byte(after_second).unwrap_or((0, after_second));
        let one = |p| Some((PpKind::Punct(p), after_first, true));
        let two = |p| Some((PpKind::Punct(p), after_second, true));
        let digraph = |p, end| Some((PpKind::Punct(p), end, false));
        let three = |p| Some((PpKind::Punct(p), third().1, true));
        match (first, second) {
            (b'(', _) => one(LParen),
            (b')', _) => one(RParen),
            (b'[', _) => one(LBracket),
            (b']', _) => one(RBracket),
            (b'{', _) => one(LBrace),
            (b'}', _) => one(RBrace),
            (b'~', _) => one(Tilde),
            (b'?', _) => one(Question),
            (b';', _) => one(Semi),
            (b',', _) => one(Comma),
            (b'.', b'.') if third().0 == b'.' => three(Ellipsis),
            (b'.', _) => one(Dot),
            (b'-', b'>') => two(Arrow),
            (b'-', b'-') => two(MinusMinus),
            (b'-', b'=') => two(MinusEq),
            (b'-', _) => one(Minus),
            (b'+', b'+') => two(PlusPlus),
            (b'+', b'=') => two(PlusEq),
            (b'+', _) => one(Plus),
            (b'&', b'&') => two(AmpAmp),
            (b'&', b'=') => two(AmpEq),
            (b'&', _) => one(Amp),
            (b'|', b'|') => two(PipePipe),
            (b'|', b'=') => two(PipeEq),
            (b'|', _) => one(Pipe),
            (b'*', b'=') => two(StarEq),
            (b'*', _) => one(Star),
            (b'!', b'=') => two(Ne),
            (b'!', _) => one(Bang),
            (b'/', b'=') => two(SlashEq),
            (b'/', _) => one(Slash),
            (b'%', b'=') => two(PercentEq),
            (b'%', b'>') => digraph(RBrace, after_second),
            (b'%', b':') => match third() {
                (b'%', end) => match self.byte(end) {
                    Some((b':', end)) => digraph(HashHash, end),
                    _ => digraph(Hash, after_second),
                },
                _ => digraph(Hash, after_second),
            },
            (b'%', _) => one(Percent),
            (b'<', b'<') if third().0 == b'=' => three(ShlEq),
            (b'<', b'<') => two(Shl),
            (b'<', b'=') => two(Le),
            (b'<', b':') => digraph(LBracket, after_second),
            (b'<', b'%') => digraph(LBrace, after_second),
            (b'<', _) => one(Lt),
            (b'>', b'>') if third().0 == b'=' => three(ShrEq),
            (b'>', b'>') => two(Shr),
            (b'>', b'=') => two(Ge),
            (b'>', _) => one(Gt),
            (b'^', b'=') => two(CaretEq),
            (b'^', _) => one(Caret),
            (b':', b'>') => digraph(RBracket, after_second),
            (b':', _) => one(Colon),
            (b'=', b'=') => two(EqEq),
            (b'=', _) => one(Eq),
            (b'#', b'#') => two(HashHash),
            (b'#', _) => one(Hash),
            _ => None,
        }
    }

    /// The byte at `at`, behind splices, and the offset behind it.
    fn byte(&self, mut at: usize) -> Option<(u8, usize)> {
        let bytes = self.text.as_bytes();
        loop {
            let b = *bytes.get(at)?;
            self.steps.update(|n| n + 1);
            match b {
                b'\\' => match self.splice_end(at) {
                    Some(end) => at = end,
                    None => return Some((b, at + 1)),
                },
                _ => return Some((b, at + 1)),
            }
        }
    }

    /// Offset behind the splice that begins with the `\` at `at`, if it is one.
    fn splice_end(&self, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut i = at + 1;
        while matches!(bytes.get(i), Some(b' ' | b'\t' | 0x0b | 0x0c)) {
            i += 1;
        }
        self.steps.update(|n| n + (i - at) as u64);
        match bytes.get(i)? {
            b'\n' | b'\r' => Some(self.newline_end(i)),
            _ => None,
        }
    }

    fn newline_end(&self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        at + 1 + usize::from(bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n'))
    }

    fn without_splices(&self, lo: usize, hi: usize) -> String {
        let mut bytes = Vec::with_capacity(hi - lo);
        let mut at = lo;
        while let Some((b, next)) = self.byte(at) {
            if next > hi {
                break;
            }
            bytes.push(b);
            at = next;
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The kind and flags of a text that is exactly one token, as `##` needs to know.
pub(crate) fn lex_one(text: &str) -> Option<(PpKind, u8)> {
    let lexer = Lexer::new(0, Arc::from(text));
    let first = *text.as_bytes().first()?;
    if text.starts_with("//") || text.starts_with("/*") {
        return None;
    }
    let (kind, hi, plain) = lexer.scan(0, first);
    let flags = match kind {
        PpKind::Other => return None,
        PpKind::Punct(_) if !plain => DIGRAPH,
        _ => 0,
    };
    (hi == text.len()).then_some((kind, flags))
}

fn is_newline(b: u8) -> bool {
    b == b'\n' || b == b'\r'
}

/// Letters, `_`, and `$` as clang has it.
fn is_ident_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b == b'$'
}
