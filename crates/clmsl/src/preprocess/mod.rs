//! The preprocessor: C99 6.10 with the macros and pragmas of OpenCL C (6.10 and 6.11 there).
//!
//! A stack of streams feeds one token at a time: files at the bottom, on top of them the replacement lists of the macros
//! being expanded. A macro is disabled while its replacement is on the stack, and a name met while its macro is
//! disabled is never expanded later (6.10.3.4). When a replacement runs out, what follows it in the stream
//! below may complete a call, as clang does it. Files: `directive` (lines with `#`), `pragma`, `condition` (`#if`),
//! `expand` (calls, `#`, `##`), `literal` (values), `predefined` (what is defined before the first line).
//!
//! Work is counted: what macros produce and what is included has a limit, so that no input takes more than linear time
//! times a constant. A failed limit is an error and ends the token list.

mod condition;
mod directive;
mod expand;
mod extensions;
mod literal;
mod pragma;
mod predefined;

pub(crate) use predefined::is_number_of_double;

use crate::diagnostic::{Diagnostic, Severity};
use crate::lexer::{Lexer, NO_EXPAND, PpKind, PpToken, SPACE, spelling};
use crate::options::Options;
use crate::source::{Sources, Span};
use crate::token::{FloatLiteral, Interner, Pragma, Punct, Symbol, Token, TokenKind};
use expand::Macro;
use literal::shorten;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

/// Tokens that macros may produce in one translation; long spellings count once per four bytes.
const MAX_EXPANDED: u64 = 1 << 22;
/// Bytes of all files together, each as often as it is included.
const MAX_SOURCE: u64 = 64 << 20;
/// Inclusions in all.
const MAX_INCLUSIONS: u32 = 1 << 14;
/// Files that may be open at once.
const MAX_INCLUDE_DEPTH: usize = 200;
/// Macro calls within arguments of macro calls within ...
const MAX_ARGUMENT_DEPTH: u32 = 200;
/// Errors, and warnings, that are kept.
const MAX_DIAGNOSTICS: usize = 200;

/// The tokens of a translation unit, the last one [`TokenKind::Eof`], and what is wrong with it.
///
/// `name` is what the source is called in messages. If a limit is exceeded, only the end is left of the tokens.
pub fn preprocess(
    name: &str,
    source: &str,
    options: &Options<'_>,
    sources: &mut Sources,
    names: &mut Interner,
) -> (Vec<Token>, Vec<Diagnostic>) {
    let (tokens, diagnostics, _) = preprocess_counted(name, source, options, sources, names);
    (tokens, diagnostics)
}

/// How much was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Looks at bytes of source.
    pub steps: u64,
    /// Tokens that macros produced; long spellings count once per four bytes.
    pub expanded: u64,
}

/// The same as [`preprocess`], and the work it took: that this grows as the source does can be tested without a clock.
pub fn preprocess_counted(
    name: &str,
    source: &str,
    options: &Options<'_>,
    sources: &mut Sources,
    names: &mut Interner,
) -> (Vec<Token>, Vec<Diagnostic>, Work) {
    let mut cx = Cx {
        known: Known::new(names),
        sources,
        names,
        options,
        diagnostics: Vec::new(),
        errors: 0,
        streams: Vec::new(),
        macros: Vec::new(),
        table: Vec::new(),
        saved: HashMap::default(),
        pack: 0,
        packs: Vec::new(),
        once: HashSet::default(),
        pragmas: Vec::new(),
        counter: 0,
        expanded: 0,
        steps: 0,
        source_bytes: 0,
        inclusions: 0,
        carried: 0,
        in_arguments: 0,
        argument_depth: 0,
        directive_depth: 0,
        builtin_file: 0,
        stopped: false,
    };
    let tokens = cx.run(name, source);
    let left = cx.streams.iter().map(|stream| match stream {
        Stream::File(stream) => stream.lexer.steps(),
        Stream::Tokens(_) => 0,
    });
    let work = Work { steps: cx.steps + left.sum::<u64>(), expanded: cx.expanded };
    (tokens, cx.diagnostics, work)
}

/// Names that mean something here.
struct Known {
    defined: Symbol,
    pragma: Symbol,
    va_args: Symbol,
    va_opt: Symbol,
    truth: Symbol,
}

impl Known {
    fn new(names: &mut Interner) -> Self {
        Self {
            defined: names.intern("defined"),
            pragma: names.intern("_Pragma"),
            va_args: names.intern("__VA_ARGS__"),
            va_opt: names.intern("__VA_OPT__"),
            truth: names.intern("true"),
        }
    }
}

/// A group of an `#if` that is open.
struct Condition {
    /// The `#if`.
    at: Span,
    /// One of its groups was active.
    taken: bool,
    seen_else: bool,
}

struct FileStream {
    lexer: Lexer,
    file: u32,
    conditions: Vec<Condition>,
}

struct TokenStream {
    tokens: Rc<Vec<PpToken>>,
    at: usize,
    /// The span that all tokens get, if they do not have theirs.
    stamp: Option<Span>,
    /// Blanks that stood before the macro's name, until a token has them.
    lead: Option<u8>,
    /// Blanks for the token that follows the stream.
    trail: u8,
    /// The macro that comes back when the stream ends. `None` for an argument being expanded, which ends in an `Eof`.
    expansion_of: Option<usize>,
}

enum Stream {
    File(FileStream),
    Tokens(TokenStream),
}

/// The state of a run.
struct Cx<'a> {
    known: Known,
    sources: &'a mut Sources,
    names: &'a mut Interner,
    options: &'a Options<'a>,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    streams: Vec<Stream>,
    /// All macros that ever were, so that one can end while it is expanded.
    macros: Vec<Macro>,
    /// The macro of each name.
    table: Vec<Option<usize>>,
    /// `#pragma push_macro`.
    saved: HashMap<Symbol, Vec<Option<usize>>>,
    /// What `#pragma pack` says now, and what its `push` keeps, under a name if it has one.
    pack: u8,
    packs: Vec<(Option<Symbol>, u8)>,
    /// Names of the files with `#pragma once`.
    once: HashSet<String>,
    pragmas: Vec<Pragma>,
    /// `__COUNTER__`
    counter: u32,
    expanded: u64,
    /// Of the files that are read already.
    steps: u64,
    source_bytes: u64,
    inclusions: u32,
    /// Blanks left over from a replacement without tokens.
    carried: u8,
    /// Whether arguments are being read (their files must not end).
    in_arguments: u32,
    argument_depth: u32,
    directive_depth: u32,
    builtin_file: u32,
    stopped: bool,
}

impl Cx<'_> {
    fn run(&mut self, name: &str, source: &str) -> Vec<Token> {
        let end = match self.sources.add(name, source, None) {
            Some(file) => {
                self.open(file, source.len());
                self.open_definitions();
                Span { file, lo: source.len() as u32, hi: source.len() as u32 }
            }
            None => {
                self.error(Span::default(), "the source has 4 GiB or more");
                Span::default()
            }
        };
        let mut tokens = Vec::new();
        while !self.streams.is_empty() {
            let token = self.next();
            if token.kind == PpKind::Eof {
                break;
            }
            self.emit(token, &mut tokens);
        }
        if self.stopped {
            tokens.clear();
        }
        tokens.push(Token { kind: TokenKind::Eof, span: end });
        tokens
    }

    fn open(&mut self, file: u32, bytes: usize) {
        self.source_bytes += bytes as u64;
        if self.source_bytes > MAX_SOURCE {
            let span = self.sources.included_at(file).unwrap_or_default();
            let limit = MAX_SOURCE >> 20;
            self.stop(span, format!("the source with all that it includes has more than {limit} MiB"));
            return;
        }
        let lexer = Lexer::new(file, self.sources.text(file));
        self.streams.push(Stream::File(FileStream { lexer, file, conditions: Vec::new() }));
    }

    /// The next token, without expanding it; directives are carried out.
    fn next_raw(&mut self) -> PpToken {
        loop {
            if self.stopped {
                return eof();
            }
            let bottom = self.streams.len() == 1;
            match self.streams.last_mut() {
                None => return eof(),
                Some(Stream::Tokens(stream)) => {
                    if let Some(token) = stream.tokens.get(stream.at) {
                        let mut token = *token;
                        stream.at += 1;
                        if let Some(site) = stream.stamp {
                            token.span = site;
                        }
                        if let Some(lead) = stream.lead.take() {
                            token.flags = token.flags & !SPACE | lead;
                        }
                        token.flags |= std::mem::take(&mut self.carried);
                        self.spend(1, token.span);
                        return token;
                    }
                    let Some(id) = stream.expansion_of else {
                        return eof();
                    };
                    self.carried |= stream.lead.unwrap_or(0) | stream.trail;
                    self.macros[id].enabled = true;
                    self.streams.pop();
                }
                Some(Stream::File(stream)) => {
                    let directive = !stream.lexer.in_directive;
                    let mut token = stream.lexer.next(self.names, &mut self.diagnostics);
                    match token.kind {
                        PpKind::Punct(Punct::Hash) if directive && token.has(crate::lexer::LINE_START) => {
                            if let Some(pragma) = self.directive(&token) {
                                return pragma;
                            }
                        }
                        PpKind::Eof if self.in_arguments > 0 => return token,
                        PpKind::Eof => {
                            self.steps += stream.lexer.steps();
                            let open = std::mem::take(&mut stream.conditions);
                            for condition in open {
                                self.error(condition.at, "unterminated conditional directive");
                            }
                            self.streams.pop();
                            if bottom {
                                return token;
                            }
                        }
                        _ => {
                            token.flags |= std::mem::take(&mut self.carried);
                            return token;
                        }
                    }
                }
            }
        }
    }

    /// The next token of the result: macros are expanded.
    fn next(&mut self) -> PpToken {
        loop {
            let mut token = self.next_raw();
            if token.kind != PpKind::Ident || token.has(NO_EXPAND) {
                return token;
            }
            if token.text == self.known.pragma && self.argument_depth == 0 && self.directive_depth == 0 {
                match self.pragma_operator(&token) {
                    Some(pragma) => return pragma,
                    None => continue,
                }
            }
            let Some(id) = self.lookup(token.text) else {
                return token;
            };
            if !self.macros[id].enabled {
                token.flags |= NO_EXPAND;
                return token;
            }
            if self.macros[id].is_function() && !self.next_is_lparen() {
                return token;
            }
            if let Some(token) = self.expand(token, id) {
                return token;
            }
        }
    }

    /// Whether the next token is `(`, looking through replacements that have run out but not out of a file.
    fn next_is_lparen(&self) -> bool {
        for stream in self.streams.iter().rev() {
            match stream {
                Stream::File(stream) => return stream.lexer.next_is_lparen(),
                Stream::Tokens(stream) => match stream.tokens.get(stream.at) {
                    Some(token) => return token.is(Punct::LParen),
                    None if stream.expansion_of.is_none() => return false,
                    None => {}
                },
            }
        }
        false
    }

    fn lookup(&self, name: Symbol) -> Option<usize> {
        self.table.get(name.0 as usize).copied().flatten()
    }

    /// Makes `id` the macro of `name`, or takes the name away; returns the one before.
    fn set_macro(&mut self, name: Symbol, id: Option<usize>) -> Option<usize> {
        let index = name.0 as usize;
        if self.table.len() <= index {
            self.table.resize(index + 1, None);
        }
        std::mem::replace(&mut self.table[index], id)
    }

    /// Counts tokens that a macro made.
    fn spend(&mut self, tokens: u64, span: Span) {
        self.expanded += tokens;
        if self.expanded > MAX_EXPANDED {
            self.stop(span, format!("macro expansion produces more than {MAX_EXPANDED} tokens"));
        }
    }

    fn spend_bytes(&mut self, bytes: usize, span: Span) {
        self.spend(bytes as u64 / 4, span);
    }

    /// An error after which there is no going on.
    fn stop(&mut self, span: Span, message: impl Into<String>) {
        if !self.stopped {
            self.stopped = true;
            self.diagnostics.push(Diagnostic::error(span, message));
        }
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(span, message));
    }

    fn warn(&mut self, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::warning(span, message));
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.stopped {
            return;
        }
        let span = diagnostic.span;
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
            self.diagnostics.push(diagnostic);
            if self.errors == MAX_DIAGNOSTICS {
                self.stop(span, "too many errors");
            }
        } else {
            match (self.diagnostics.len() - self.errors).cmp(&MAX_DIAGNOSTICS) {
                std::cmp::Ordering::Less => self.diagnostics.push(diagnostic),
                std::cmp::Ordering::Equal => self.diagnostics.push(Diagnostic::warning(
                    span,
                    "too many warnings; those of the preprocessor from here on are not shown",
                )),
                std::cmp::Ordering::Greater => {}
            }
        }
    }

    /// A token's spelling as it is shown in a message.
    fn shown(&self, token: &PpToken) -> String {
        shorten(spelling(token, self.names))
    }

    /// Adds a token to the result.
    fn emit(&mut self, token: PpToken, tokens: &mut Vec<Token>) {
        let span = token.span;
        let kind = match token.kind {
            PpKind::Ident => TokenKind::Ident(token.text),
            PpKind::Punct(punct) => TokenKind::Punct(punct),
            PpKind::Pragma(index) => TokenKind::Pragma(self.pragmas[index as usize]),
            PpKind::Number => match self.number(&token) {
                Some(kind) => kind,
                None => return,
            },
            PpKind::Char => TokenKind::Char(self.character(&token).unwrap_or(0)),
            PpKind::Str => {
                let Some(bytes) = self.string(&token) else {
                    return;
                };
                if let Some(Token { kind: TokenKind::Str(id), span: before }) = tokens.last_mut() {
                    self.names.append_bytes(*id, &bytes);
                    *before = before.to(span);
                    return;
                }
                TokenKind::Str(self.names.add_bytes(bytes))
            }
            PpKind::Other => {
                self.stray(&token);
                return;
            }
            PpKind::Newline | PpKind::Eof | PpKind::Placemarker => return,
            PpKind::Param(_) | PpKind::Stringify(_) | PpKind::Paste => {
                unreachable!("substitution leaves none of these")
            }
        };
        tokens.push(Token { kind, span });
    }

    /// Text that is no token.
    fn stray(&mut self, token: &PpToken) {
        let text = spelling(token, self.names);
        let message = match text.trim_start_matches('L').chars().next() {
            Some(quote @ ('"' | '\'')) => format!("missing terminating {quote} character"),
            Some(c) if !c.is_ascii() => {
                format!("unexpected character '{c}' (U+{:04X}): OpenCL C has no non-ASCII names", u32::from(c))
            }
            Some(c) => format!("unexpected character '{}'", c.escape_default()),
            None => return,
        };
        self.error(token.span, message);
    }

    fn number(&mut self, token: &PpToken) -> Option<TokenKind> {
        self.spend_bytes(self.names.name(token.text).len(), token.span);
        let text = self.names.name(token.text).to_owned();
        match literal::number(&text) {
            Ok(literal::Number::Int(int)) => Some(TokenKind::Int(int)),
            Ok(literal::Number::Float { double, single, half, suffix, hexadecimal, text }) => {
                Some(TokenKind::Float(FloatLiteral {
                    double,
                    single,
                    half,
                    suffix,
                    hexadecimal,
                    text: self.names.intern(text),
                }))
            }
            Err(message) => {
                self.error(token.span, message);
                // A number stands there; which one does not matter any more.
                literal::number("0").ok().and_then(|zero| match zero {
                    literal::Number::Int(int) => Some(TokenKind::Int(int)),
                    literal::Number::Float { .. } => None,
                })
            }
        }
    }

    fn character(&mut self, token: &PpToken) -> Option<i32> {
        self.spend_bytes(self.names.name(token.text).len(), token.span);
        match literal::character(self.names.name(token.text)) {
            Ok((value, warnings)) => {
                for warning in warnings {
                    self.warn(token.span, warning);
                }
                Some(value)
            }
            Err(message) => {
                self.error(token.span, message);
                None
            }
        }
    }

    fn string(&mut self, token: &PpToken) -> Option<Vec<u8>> {
        self.spend_bytes(self.names.name(token.text).len(), token.span);
        match literal::decode(self.names.name(token.text)) {
            Ok(literal::Decoded { bytes, warnings }) => {
                for warning in warnings {
                    self.warn(token.span, warning);
                }
                Some(bytes)
            }
            Err(message) => {
                self.error(token.span, message);
                None
            }
        }
    }
}

fn eof() -> PpToken {
    PpToken { kind: PpKind::Eof, text: Symbol(0), span: Span::default(), flags: 0 }
}
