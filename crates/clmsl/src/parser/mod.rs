//! From tokens to the syntax tree, by recursive descent; operators by precedence climbing.
//!
//! A construct that cannot be parsed is reported once and skipped up to the next `;` or `}`. What OpenCL C or Metal
//! does not have (`goto`, blocks, `double`, images, ...) is recognised here and reported by its name. Typedef names are
//! tracked by scope, because C cannot be parsed without them; everything else about names is `sema`'s business.

mod decl;
mod expr;
mod specs;
mod stmt;
mod types;

use rustc_hash::FxHashMap as HashMap;

pub(crate) use specs::demotion;

use crate::ast::{Ident, Program};
use crate::diagnostic::Diagnostic;
use crate::options::Fp64;
use crate::source::Span;
use crate::token::{Interner, Pragma, Punct, Symbol, Token, TokenKind};

/// How deep constructs may nest. With [`MAX_HEIGHT`] it keeps every recursive stage within the stack `translate` gives them.
pub(crate) const MAX_DEPTH: u32 = 256;
/// How high an expression's tree may grow without nesting, as the sum of many terms does.
pub(crate) const MAX_HEIGHT: u32 = 2048;

/// So many errors end the parse.
const MAX_ERRORS: usize = 100;

/// Words for types that a misspelt one is compared with.
const TYPES: &[&str] = &[
    "__constant",
    "__global",
    "__kernel",
    "__local",
    "__private",
    "char",
    "double",
    "float",
    "float2",
    "float3",
    "float4",
    "half",
    "image2d_t",
    "int",
    "int2",
    "int4",
    "long",
    "sampler_t",
    "short",
    "size_t",
    "struct",
    "typedef",
    "uchar",
    "uchar4",
    "uint",
    "uint2",
    "uint4",
    "ulong",
    "unsigned",
    "ushort",
    "void",
];

/// Words of other languages with which declarations begin.
const FOREIGN: &[(&str, &str)] = &[
    ("__device__", "CUDA"),
    ("__global__", "CUDA"),
    ("__host__", "CUDA"),
    ("__shared__", "CUDA"),
    ("class", "C++"),
    ("namespace", "C++"),
    ("template", "C++"),
    ("typename", "C++"),
    ("using", "C++"),
];

/// A syntax error that has been reported.
struct Reported;

type Parse<T> = Result<T, Reported>;

/// What the parser has to know of a declared name.
#[derive(Clone, Copy, PartialEq)]
enum Declared {
    /// A name that hides a type's.
    Value,
    Type,
    /// A typedef name of a vector, a cast to which may be a literal.
    Vector,
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    names: &'a Interner,
    fp64: Fp64,
    /// Whether the warning of a `double` that became `float` was given.
    demoted: bool,
    diagnostics: Vec<Diagnostic>,
    depth: u32,
    /// Whether something could not be parsed, so that declarations may be missing.
    incomplete: bool,
    /// The limits of `#pragma pack`, each with the position in `tokens` from which on it holds.
    packs: Vec<(usize, u8)>,
    /// Innermost last.
    scopes: Vec<HashMap<Symbol, Declared>>,
}

/// Parses a whole file. `tokens` ends with `Eof`.
pub(crate) fn parse(tokens: &[Token], names: &Interner, fp64: Fp64) -> (Program, Vec<Diagnostic>) {
    // Such a pragma may stand in the middle of anything.
    let pack = |t: &Token| match t.kind {
        TokenKind::Pragma(Pragma::Pack(limit)) => Some(limit),
        _ => None,
    };
    let mut packs = Vec::new();
    let without: Vec<Token>;
    let tokens = if tokens.iter().any(|t| pack(t).is_some()) {
        let mut rest = Vec::with_capacity(tokens.len());
        for token in tokens {
            match pack(token) {
                Some(limit) => packs.push((rest.len(), limit)),
                None => rest.push(*token),
            }
        }
        without = rest;
        &without
    } else {
        tokens
    };
    let mut parser = Parser {
        tokens,
        packs,
        at: 0,
        names,
        fp64,
        demoted: false,
        diagnostics: Vec::new(),
        depth: 0,
        incomplete: false,
        scopes: vec![HashMap::default()],
    };
    let mut program = Program::default();
    while parser.kind() != TokenKind::Eof {
        let start = parser.at;
        match parser.item() {
            Ok(item) => program.items.extend(item),
            Err(Reported) => parser.skip_item(start),
        }
    }
    program.incomplete = parser.incomplete;
    program.demoted = parser.demoted;
    (program, parser.diagnostics)
}

impl<'a> Parser<'a> {
    fn kind(&self) -> TokenKind {
        self.tokens.get(self.at).map_or(TokenKind::Eof, |t| t.kind)
    }

    fn kind_at(&self, ahead: usize) -> TokenKind {
        self.tokens.get(self.at + ahead).map_or(TokenKind::Eof, |t| t.kind)
    }

    /// Where the next token is; at the end, behind the last one.
    fn span(&self) -> Span {
        match self.tokens.get(self.at).or(self.tokens.last()) {
            Some(t) => t.span,
            None => Span::default(),
        }
    }

    /// Where the token before the next one is.
    fn previous_span(&self) -> Span {
        match self.at.checked_sub(1).and_then(|i| self.tokens.get(i)) {
            Some(t) => t.span,
            None => self.span(),
        }
    }

    fn advance(&mut self) {
        if self.kind() != TokenKind::Eof {
            self.at += 1;
        }
    }

    fn is(&self, punct: Punct) -> bool {
        self.kind() == TokenKind::Punct(punct)
    }

    fn eat(&mut self, punct: Punct) -> bool {
        let found = self.is(punct);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, punct: Punct) -> Parse<Span> {
        if self.is(punct) {
            let span = self.span();
            self.advance();
            return Ok(span);
        }
        let found = self.describe();
        let text = punct.text();
        if matches!(punct, Punct::Semi) {
            let span = self.previous_span().end();
            return self.error(span, format!("expected '{text}' before {found}"));
        }
        let span = self.span();
        self.error(span, format!("expected '{text}', found {found}"))
    }

    /// The name at the next token, which may be a keyword.
    fn word(&self) -> Option<&'a str> {
        self.word_at(0)
    }

    fn word_at(&self, ahead: usize) -> Option<&'a str> {
        match self.kind_at(ahead) {
            TokenKind::Ident(symbol) => Some(self.names.name(symbol)),
            _ => None,
        }
    }

    fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.eat_word(word) {
            return Ok(());
        }
        let (span, found) = (self.span(), self.describe());
        self.error(span, format!("expected '{word}', found {found}"))
    }

    /// A name that is not a keyword.
    fn ident(&mut self) -> Parse<Ident> {
        let span = self.span();
        if let TokenKind::Ident(name) = self.kind()
            && !is_keyword(self.names.name(name))
        {
            self.advance();
            return Ok(Ident { name, span });
        }
        let found = self.describe();
        self.error(span, format!("expected a name, found {found}"))
    }

    /// The next token as a message calls it.
    fn describe(&self) -> String {
        match self.kind() {
            TokenKind::Ident(symbol) => format!("'{}'", self.names.name(symbol)),
            TokenKind::Int(_) | TokenKind::Float(_) | TokenKind::Char(_) => "a constant".to_owned(),
            TokenKind::Str(_) => "a string".to_owned(),
            TokenKind::Punct(p) => format!("'{}'", p.text()),
            TokenKind::Pragma(_) => "a pragma".to_owned(),
            TokenKind::Eof => "the end of the file".to_owned(),
        }
    }

    fn report(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(span, message));
        if self.diagnostics.len() >= MAX_ERRORS {
            // What follows is rarely of use, and each message costs time.
            self.incomplete = true;
            self.at = self.tokens.len().saturating_sub(1);
        }
    }

    fn error<T>(&mut self, span: Span, message: impl Into<String>) -> Parse<T> {
        self.report(span, message);
        self.incomplete = true;
        Err(Reported)
    }

    /// Runs `f` one level deeper; too many levels are an error.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span();
            return self.error(span, format!("nested deeper than {MAX_DEPTH} levels, which is not supported"));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    fn enter_scope(&mut self) {
        self.scopes.push(HashMap::default());
    }

    fn leave_scope(&mut self) {
        self.scopes.pop();
    }

    fn declare(&mut self, name: Symbol, declared: Declared) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, declared);
        }
    }

    fn lookup(&self, name: Symbol) -> Option<Declared> {
        self.scopes.iter().rev().find_map(|s| s.get(&name).copied())
    }

    /// Reports a name where a type belongs, by what is behind it: the declared name, or what was to be its type.
    fn unknown_type<T>(&mut self, word: &str) -> Parse<T> {
        let span = self.span();
        if let Some((_, language)) = FOREIGN.iter().find(|(foreign, _)| *foreign == word) {
            return self.error(span, format!("'{word}' is {language}, not OpenCL C"));
        }
        if let TokenKind::Punct(Punct::LParen | Punct::LBracket | Punct::Eq | Punct::Semi) = self.kind_at(1) {
            return self.error(span, format!("expected a type before '{word}'"));
        }
        let question = self.did_you_mean();
        self.error(span, format!("unknown type name '{word}'{question}"))
    }

    /// `; did you mean 'x'?` for a word where a type belongs.
    fn did_you_mean(&self) -> String {
        let declared = self
            .scopes
            .iter()
            .flatten()
            .filter(|(_, kind)| **kind != Declared::Value)
            .map(|(&s, _)| self.names.name(s));
        self.word().map_or(String::new(), |word| crate::suggest::question(word, declared.chain(TYPES.iter().copied())))
    }

    /// Skips to behind the `;` or the matching `}` that ends the statement with the error.
    fn skip_statement(&mut self, start: usize) {
        let mut braces = 0usize;
        let mut parens = 0usize;
        loop {
            match self.kind() {
                TokenKind::Eof => return,
                TokenKind::Punct(Punct::LParen) => parens += 1,
                TokenKind::Punct(Punct::RParen) => parens = parens.saturating_sub(1),
                TokenKind::Punct(Punct::LBrace) => braces += 1,
                TokenKind::Punct(Punct::RBrace) if braces == 0 => {
                    if self.at == start {
                        self.advance();
                    }
                    return;
                }
                TokenKind::Punct(Punct::RBrace) => {
                    braces -= 1;
                    if braces == 0 {
                        self.advance();
                        return;
                    }
                }
                TokenKind::Punct(Punct::Semi) if braces == 0 && parens <= 1 => {
                    self.advance();
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    fn skip_item(&mut self, start: usize) {
        self.skip_statement(start);
        if self.at == start {
            self.advance();
        }
        while self.eat(Punct::RBrace) {}
        self.scopes.truncate(1);
        self.depth = 0;
    }
}

/// Reserved words of OpenCL C that can never be a declared name. Built-in type names are not among them, because real
/// programs redefine some.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "auto"
            | "break"
            | "case"
            | "char"
            | "const"
            | "continue"
            | "default"
            | "do"
            | "double"
            | "else"
            | "enum"
            | "extern"
            | "float"
            | "for"
            | "goto"
            | "if"
            | "inline"
            | "int"
            | "long"
            | "register"
            | "restrict"
            | "return"
            | "short"
            | "signed"
            | "sizeof"
            | "static"
            | "struct"
            | "switch"
            | "typedef"
            | "union"
            | "unsigned"
            | "void"
            | "volatile"
            | "while"
            | "_Bool"
            | "__kernel"
            | "kernel"
            | "__global"
            | "global"
            | "__local"
            | "local"
            | "__constant"
            | "constant"
            | "__private"
            | "private"
            | "__generic"
            | "generic"
            | "__attribute__"
            | "__attribute"
            | "read_only"
            | "write_only"
            | "read_write"
            | "__read_only"
            | "__write_only"
            | "__read_write"
            | "pipe"
            | "asm"
            | "__asm"
            | "__asm__"
            | "__inline"
            | "__inline__"
            | "__restrict"
            | "__restrict__"
            | "__const"
            | "__volatile__"
            | "_Complex"
            | "_Imaginary"
    )
}
