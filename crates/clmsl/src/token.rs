//! Tokens as the parser reads them: what is left when the preprocessor is done (C99 translation phase 7).
//!
//! Keywords are identifiers here; the parser tells them apart. Literals carry their values. Pragmas that mean something
//! to OpenCL C are tokens; the others are gone.

use crate::source::Span;
use rustc_hash::FxHashMap as HashMap;
use std::sync::Arc;

/// An interned text; equal texts of one [`Interner`] have equal symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub u32);

/// The bytes of a string literal in an [`Interner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StrId(pub u32);

/// The table of names and string literals of one translation.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    names: Vec<Arc<str>>,
    symbols: HashMap<Arc<str>, Symbol>,
    strings: Vec<Vec<u8>>,
}

impl Interner {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The symbol of a text, new or known.
    ///
    /// # Panics
    /// If there are 2³² different texts.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(&symbol) = self.symbols.get(text) {
            return symbol;
        }
        let symbol = Symbol(u32::try_from(self.names.len()).expect("fewer than 2^32 names"));
        let name: Arc<str> = Arc::from(text);
        self.names.push(name.clone());
        self.symbols.insert(name, symbol);
        symbol
    }

    /// The symbol of a text, if it was interned.
    pub fn get(&self, text: &str) -> Option<Symbol> {
        self.symbols.get(text).copied()
    }

    /// The text of a symbol.
    ///
    /// # Panics
    /// If the symbol is of another table.
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.names[symbol.0 as usize]
    }

    /// Keeps the bytes of a string literal.
    ///
    /// # Panics
    /// If there are 2³² literals.
    pub fn add_bytes(&mut self, bytes: Vec<u8>) -> StrId {
        let id = StrId(u32::try_from(self.strings.len()).expect("fewer than 2^32 strings"));
        self.strings.push(bytes);
        id
    }

    /// The bytes of a string literal, escapes decoded, without the terminating zero.
    ///
    /// # Panics
    /// If the id is of another table.
    pub fn bytes(&self, id: StrId) -> &[u8] {
        &self.strings[id.0 as usize]
    }

    /// More bytes for a string literal: the one that follows it.
    pub(crate) fn append_bytes(&mut self, id: StrId, bytes: &[u8]) {
        self.strings[id.0 as usize].extend_from_slice(bytes);
    }
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where the user wrote it; for one that a macro made, the macro's name where it was used.
    pub span: Span,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TokenKind {
    /// A name or keyword.
    Ident(Symbol),
    /// An integer constant.
    Int(IntLiteral),
    /// A floating constant.
    Float(FloatLiteral),
    /// A character constant; its type is `int`, its value that of a signed `char`.
    Char(i32),
    /// A string literal; adjacent ones are joined.
    Str(StrId),
    /// An operator or punctuator.
    Punct(Punct),
    /// A pragma that means something.
    Pragma(Pragma),
    /// The end; the last token, once.
    Eof,
}

/// The base an integer constant was written in; it decides which types are tried (C99 6.4.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// `0b101`, an extension.
    Binary,
    /// `017`; also `0`.
    Octal,
    /// `15`
    Decimal,
    /// `0xf`
    Hexadecimal,
}

/// Suffix of an integer constant. `long` has 64 bits in OpenCL C; `LL` counts as `L`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntSuffix {
    /// `u`
    pub unsigned: bool,
    /// `l`
    pub long: bool,
}

/// An integer constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntLiteral {
    /// The value; one that does not fit is an error of the preprocessor.
    pub value: u64,
    /// How it was written.
    pub base: Base,
    /// What it was marked with.
    pub suffix: IntSuffix,
}

/// Suffix of a floating constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatSuffix {
    /// None: `double` where there is one, else `float`.
    None,
    /// `f`
    F,
    /// `h`, of cl_khr_fp16.
    H,
}

/// A floating constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatLiteral {
    /// The text rounded once to double precision.
    pub double: f64,
    /// The text rounded once to single precision; infinite if it is too large.
    pub single: f32,
    /// The text rounded once to half precision, as bits; infinite if it is too large.
    pub half: u16,
    /// What it was marked with.
    pub suffix: FloatSuffix,
    /// Whether it was written in base 16.
    pub hexadecimal: bool,
    /// The text without the suffix.
    pub text: Symbol,
}

/// A pragma that means something to OpenCL C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pragma {
    /// `#pragma OPENCL EXTENSION name : enable` (or `disable`, `begin`, `end`).
    Extension {
        /// The extension, or `all`.
        name: Symbol,
        /// `enable` or `begin`.
        enable: bool,
    },
    /// `#pragma OPENCL FP_CONTRACT ON` (or `OFF`, `DEFAULT`; also with `STDC`): `None` is `DEFAULT`.
    FpContract(Option<bool>),
    /// Members of the structures behind it are aligned to at most so many bytes, as `#pragma pack(n)` says, or its `push`
    /// and `pop`; no limit if 0.
    Pack(u8),
    /// `#pragma unroll`, without or with the factor; `#pragma nounroll` is factor 1.
    Unroll(Option<u32>),
}

macro_rules! puncts {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// The punctuators of C99 (6.4.6); a digraph is what it stands for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Punct {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Punct {
            /// Every punctuator.
            pub const ALL: &'static [Punct] = &[$(Punct::$name,)*];

            /// How it is written.
            pub fn text(self) -> &'static str {
                match self {
                    $(Punct::$name => $text,)*
                }
            }
        }
    };
}

puncts! {
    LParen "(",
    RParen ")",
    LBracket "[",
    RBracket "]",
    LBrace "{",
    RBrace "}",
    Dot ".",
    Arrow "->",
    PlusPlus "++",
    MinusMinus "--",
    Amp "&",
    Star "*",
    Plus "+",
    Minus "-",
    Tilde "~",
    Bang "!",
    Slash "/",
    Percent "%",
    Shl "<<",
    Shr ">>",
    Lt "<",
    Gt ">",
    Le "<=",
    Ge ">=",
    EqEq "==",
    Ne "!=",
    Caret "^",
    Pipe "|",
    AmpAmp "&&",
    PipePipe "||",
    Question "?",
    Colon ":",
    Semi ";",
    Ellipsis "...",
    Eq "=",
    StarEq "*=",
    SlashEq "/=",
    PercentEq "%=",
    PlusEq "+=",
    MinusEq "-=",
    ShlEq "<<=",
    ShrEq ">>=",
    AmpEq "&=",
    CaretEq "^=",
    PipeEq "|=",
    Comma ",",
    Hash "#",
    HashHash "##",
}
