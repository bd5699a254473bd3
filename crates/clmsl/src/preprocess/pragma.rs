//! Pragmas (OpenCL C 3.0 §6.11 and C99 6.10.6), written `#pragma` or `_Pragma("...")`.
//!
//! Those that would change what the program means and are not carried out are errors; hints to other compilers are gone.

use super::Cx;
use super::extensions;
use crate::lexer::{Lexer, PpKind, PpToken, SPACE};
use crate::source::Span;
use crate::token::{Pragma, Punct, Symbol};

impl Cx<'_> {
    /// The rest of a `#pragma` line; `at` is its beginning.
    pub(super) fn pragma_directive(&mut self, at: Span) -> Option<PpToken> {
        let first = self.next_raw();
        if matches!(first.kind, PpKind::Newline | PpKind::Eof) {
            return None;
        }
        let expand =
            first.kind == PpKind::Ident && matches!(self.names.name(first.text), "unroll" | "nounroll" | "pack");
        let rest = if expand { self.expanded_line() } else { self.raw_line() };
        self.pragma(at.to(first.span), &first, &rest)
    }

    /// `_Pragma` and what follows it: the string's text is a pragma (6.10.9).
    pub(super) fn pragma_operator(&mut self, name: &PpToken) -> Option<PpToken> {
        let mut string = None;
        if self.next_is_lparen() {
            self.next_raw();
            let token = self.next_raw();
            if token.kind == PpKind::Str && self.next_raw().is(Punct::RParen) {
                string = Some(token);
            }
        }
        let Some(string) = string else {
            self.error(name.span, "_Pragma takes a parenthesized string literal");
            return None;
        };
        let literal = self.names.name(string.text);
        self.spend_bytes(literal.len(), name.span);
        let literal = self.names.name(string.text).trim_start_matches('L');
        let quoted = &literal[1..literal.len() - 1];
        let text = quoted.replace("\\\"", "\"").replace("\\\\", "\\");
        let file = self.sources.add_virtual("<_Pragma>", &text, Some(name.span))?;
        let mut lexer = Lexer::new(file, self.sources.text(file));
        lexer.in_directive = true;
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next(self.names, &mut self.diagnostics);
            if token.kind == PpKind::Newline {
                break;
            }
            tokens.push(PpToken { span: name.span, ..token });
        }
        let (first, rest) = tokens.split_first()?;
        self.pragma(name.span, first, rest)
    }

    /// What a pragma does; one that means something to later stages is a token.
    fn pragma(&mut self, at: Span, first: &PpToken, rest: &[PpToken]) -> Option<PpToken> {
        if first.kind != PpKind::Ident {
            return None;
        }
        let second = rest
            .first()
            .filter(|t| t.kind == PpKind::Ident)
            .map(|t| self.names.name(t.text).to_owned())
            .unwrap_or_default();
        let word = self.names.name(first.text).to_owned();
        let pragma = match (word.as_str(), second.as_str()) {
            ("OPENCL", "EXTENSION") => self.extension(at, rest.get(1..).unwrap_or(&[]))?,
            ("OPENCL", "SELECT_ROUNDING_MODE") => {
                self.error(at, "#pragma OPENCL SELECT_ROUNDING_MODE is not supported: Metal rounds to nearest");
                return None;
            }
            ("OPENCL" | "STDC", "FP_CONTRACT") => {
                let state = rest.get(1).filter(|t| t.kind == PpKind::Ident);
                match state.map(|t| self.names.name(t.text)) {
                    Some("ON") => Pragma::FpContract(Some(true)),
                    Some("OFF") => Pragma::FpContract(Some(false)),
                    Some("DEFAULT") => Pragma::FpContract(None),
                    _ => {
                        let message = format!("expected 'ON', 'OFF' or 'DEFAULT' in '#pragma {word} FP_CONTRACT'");
                        self.error(at, message);
                        return None;
                    }
                }
            }
            ("unroll", _) => self.unroll(at, rest),
            ("nounroll", _) => Pragma::Unroll(Some(1)),
            ("once", _) => {
                let file = self.file().file;
                let name = self.sources.name(file).to_owned();
                self.once.insert(name);
                return None;
            }
            ("push_macro" | "pop_macro", _) => {
                self.push_or_pop(at, &word, rest);
                return None;
            }
            ("pack", _) => self.pack(at, rest)?,
            ("clang", "attribute") | ("options", "align") | ("weak" | "redefine_extname" | "ms_struct", _) => {
                let name = format!("{word} {second}");
                let name = if matches!(word.as_str(), "clang" | "options") { name } else { word };
                self.error(at, format!("#pragma {name} is not supported"));
                return None;
            }
            _ => return None,
        };
        let index = u32::try_from(self.pragmas.len()).expect("a pragma has a byte of source");
        self.pragmas.push(pragma);
        Some(PpToken { kind: PpKind::Pragma(index), text: Symbol(0), span: at, flags: SPACE })
    }

    /// `name : behaviour`
    fn extension(&mut self, at: Span, rest: &[PpToken]) -> Option<Pragma> {
        if let [name, colon, behaviour, ..] = rest
            && name.kind == PpKind::Ident
            && behaviour.kind == PpKind::Ident
            && colon.is(Punct::Colon)
        {
            let enable = match self.names.name(behaviour.text) {
                "enable" | "begin" => Some(true),
                "disable" | "end" => Some(false),
                _ => None,
            };
            if let Some(enable) = enable {
                let name = name.text;
                let text = self.names.name(name);
                let lacking = match (enable, text) {
                    (true, "all") => {
                        self.error(at, "'all' extensions can only be disabled");
                        None
                    }
                    (true, text) => extensions::lacking(text, self.options),
                    (false, _) => None,
                };
                if let Some(lacking) = lacking {
                    self.warn(at, lacking);
                }
                return Some(Pragma::Extension { name, enable });
            }
            let message = format!(
                "expected 'enable', 'disable', 'begin' or 'end' in '#pragma OPENCL EXTENSION', not '{}'",
                self.shown(behaviour)
            );
            self.error(behaviour.span, message);
            return None;
        }
        self.error(at, "expected 'name : enable' after '#pragma OPENCL EXTENSION'");
        None
    }

    /// `pack()`, `pack(2)`, `pack(push)`, `pack(push, name, 2)`, `pack(pop)`, `pack(pop, name, 2)`.
    fn pack(&mut self, at: Span, rest: &[PpToken]) -> Option<Pragma> {
        let inner = match rest {
            [open, inner @ .., close] if open.is(Punct::LParen) && close.is(Punct::RParen) => inner,
            _ => {
                self.error(at, "expected '(...)' after '#pragma pack'");
                return None;
            }
        };
        let mut limit = None;
        let mut words = Vec::new();
        for part in inner.split(|t| t.is(Punct::Comma)) {
            match part {
                [] if inner.is_empty() => limit = Some(0),
                [number] if number.kind == PpKind::Number && limit.is_none() => {
                    limit = match self.names.name(number.text) {
                        "0" => Some(0),
                        text => text.parse().ok().filter(|n| matches!(n, 1 | 2 | 4 | 8 | 16)),
                    };
                    if limit.is_none() {
                        self.error(number.span, "#pragma pack takes 1, 2, 4, 8 or 16");
                        return None;
                    }
                }
                [word] if word.kind == PpKind::Ident && limit.is_none() => words.push(word.text),
                _ => {
                    self.error(at, "expected 'push', 'pop', a name or a number in '#pragma pack'");
                    return None;
                }
            }
        }
        let action = words.first().map(|w| self.names.name(*w).to_owned());
        let label = words.get(1).copied();
        match action.as_deref() {
            None => {}
            Some("push") if words.len() <= 2 => self.packs.push((label, self.pack)),
            Some("pop") if words.len() <= 2 => {
                let at_label = self.packs.iter().rposition(|(name, _)| label.is_none() || *name == label);
                match at_label {
                    Some(index) => {
                        self.pack = self.packs[index].1;
                        self.packs.truncate(index);
                    }
                    None => self.warn(at, "#pragma pack(pop) without a matching push"),
                }
            }
            Some(_) => {
                self.error(at, "expected 'push' or 'pop' in '#pragma pack'");
                return None;
            }
        }
        self.pack = limit.unwrap_or(self.pack);
        Some(Pragma::Pack(self.pack))
    }

    /// `unroll`, `unroll 4`, `unroll(4)`. A factor that the preprocessor cannot compute is left to the compiler.
    fn unroll(&mut self, at: Span, rest: &[PpToken]) -> Pragma {
        let number = |t: &PpToken| matches!(t.kind, PpKind::Number | PpKind::Punct(_));
        if rest.is_empty() {
            return Pragma::Unroll(None);
        }
        if !rest.iter().all(number) {
            let message = "the factor of #pragma unroll is not a constant of the preprocessor and is ignored";
            self.warn(at, message);
            return Pragma::Unroll(None);
        }
        let factor = self.constant(rest.to_vec(), at);
        match factor.map(u32::try_from) {
            Some(Ok(factor)) if factor > 0 => Pragma::Unroll(Some(factor)),
            Some(_) => {
                self.error(at, "the factor of #pragma unroll must be from 1 to 4294967295");
                Pragma::Unroll(None)
            }
            None => Pragma::Unroll(None),
        }
    }

    /// `push_macro("N")` keeps the definition of `N`, `pop_macro("N")` brings it back.
    fn push_or_pop(&mut self, at: Span, word: &str, rest: &[PpToken]) {
        let name = match rest {
            [open, name, close] if open.is(Punct::LParen) && name.kind == PpKind::Str && close.is(Punct::RParen) => {
                self.string(name).and_then(|b| String::from_utf8(b).ok())
            }
            _ => None,
        };
        let Some(name) = name else {
            self.error(at, format!("expected '#pragma {word}(\"name\")'"));
            return;
        };
        let symbol = self.names.intern(&name);
        if word == "push_macro" {
            let current = self.lookup(symbol);
            self.saved.entry(symbol).or_default().push(current);
        } else {
            match self.saved.get_mut(&symbol).and_then(Vec::pop) {
                Some(saved) => {
                    self.set_macro(symbol, saved);
                }
                None => self.warn(at, "#pragma pop_macro without a matching push_macro"),
            }
        }
    }
}
