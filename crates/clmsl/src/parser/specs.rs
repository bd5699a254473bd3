//! Specifiers of declarations (C99 §6.7.1 to §6.7.4): type words, qualifiers, address spaces, attributes, structures,
//! enumerations.

use super::types::{BuiltinType, builtin_type};
use super::{Declared, Parse, Parser};
use crate::ast::{Attribute, EnumSpec, FieldDecl, Ident, Specs, Storage, StructSpec, TypeSpec};
use crate::diagnostic::Diagnostic;
use crate::options::Fp64;
use crate::source::Span;
use crate::token::{Punct, TokenKind};
use crate::types::{ImageAccess, Quals, Scalar, Space};

/// The C keywords among the type specifiers, counted as they are read.
#[derive(Default)]
struct Words {
    char: u8,
    short: u8,
    int: u8,
    long: u8,
    float: u8,
    signed: u8,
    unsigned: u8,
}

impl Parser<'_> {
    pub(super) fn specs(&mut self) -> Parse<Specs> {
        let start = self.span();
        let mut specs = Specs {
            ty: TypeSpec::Unsupported,
            quals: Quals::default(),
            space: None,
            storage: None,
            access: None,
            kernel: None,
            attributes: Vec::new(),
            span: start,
        };
        let mut words = Words::default();
        let mut seen_words = false;
        let mut named: Option<TypeSpec> = None;
        while let TokenKind::Ident(symbol) = self.kind() {
            let span = self.span();
            let word = self.names.name(symbol);
            let count = match word {
                "char" => Some(&mut words.char),
                "short" => Some(&mut words.short),
                "int" => Some(&mut words.int),
                "long" => Some(&mut words.long),
                "float" => Some(&mut words.float),
                "signed" => Some(&mut words.signed),
                "unsigned" => Some(&mut words.unsigned),
                _ => None,
            };
            if let Some(count) = count {
                *count = count.saturating_add(1);
                seen_words = true;
                self.advance();
                continue;
            }
            match word {
                "struct" | "union" => named = Some(TypeSpec::Struct(Box::new(self.struct_spec()?))),
                "enum" => named = Some(TypeSpec::Enum(Box::new(self.enum_spec()?))),
                "void" => {
                    named = Some(TypeSpec::Void);
                    self.advance();
                }
                "double" => {
                    named = Some(self.double(TypeSpec::Scalar(Scalar::Double), "double", span));
                    self.advance();
                }
                "_Complex" | "_Imaginary" => {
                    return self.error(span, format!("'{word}' is not OpenCL C"));
                }
                "const" | "__const" | "volatile" | "__volatile__" | "restrict" | "__restrict" | "__restrict__" => {
                    let quals = self.quals();
                    specs.quals = specs.quals.union(quals);
                }
                "typedef" => self.set_storage(&mut specs, Storage::Typedef),
                "static" => self.set_storage(&mut specs, Storage::Static),
                "extern" => self.set_storage(&mut specs, Storage::Extern),
                "inline" | "__inline" | "__inline__" => self.advance(),
                "auto" | "register" => {
                    return self.error(span, format!("'{word}' is not allowed in OpenCL C (§6.8)"));
                }
                "pipe" => return self.error(span, "'pipe' is not supported: Metal has no pipes"),
                "__kernel" | "kernel" => {
                    specs.kernel = Some(span);
                    self.advance();
                }
                "__attribute__" | "__attribute" => self.attributes(&mut specs.attributes)?,
                _ if space_word(word).is_some() => self.space(&mut specs.space)?,
                _ if access_word(word).is_some() => self.access(&mut specs),
                _ if named.is_some() || seen_words => break,
                _ => match self.type_word(symbol, span)? {
                    Some(spec) => named = Some(spec),
                    None => break,
                },
            }
        }
        specs.span = start.to(self.previous_span());
        specs.ty = self.finish_type(named, seen_words.then_some(words), specs.span)?;
        Ok(specs)
    }

    /// A typedef name or a built-in type that is one word.
    fn type_word(&mut self, symbol: crate::token::Symbol, span: Span) -> Parse<Option<TypeSpec>> {
        match self.lookup(symbol) {
            Some(Declared::Type | Declared::Vector) => {
                self.advance();
                Ok(Some(TypeSpec::Typedef(Ident { name: symbol, span })))
            }
            Some(Declared::Value) => Ok(None),
            None => match builtin_type(self.names.name(symbol)) {
                Some(BuiltinType::Spec(spec)) => {
                    self.advance();
                    Ok(Some(self.double(spec, self.names.name(symbol), span)))
                }
                Some(BuiltinType::Refused(reason)) => {
                    self.advance();
                    self.report(span, reason);
                    Ok(Some(TypeSpec::Unsupported))
                }
                None => Ok(None),
            },
        }
    }

    /// The type, or what the option `--fp64` makes of it if it is one of `double`.
    fn double(&mut self, spec: TypeSpec, name: &str, span: Span) -> TypeSpec {
        let lanes = match spec {
            TypeSpec::Scalar(Scalar::Double) => 1,
            TypeSpec::Vector(Scalar::Double, lanes) => lanes,
            other => return other,
        };
        match self.fp64 {
            Fp64::Reject => {
                self.report(span, format!("'{name}' is not supported: Metal has no 64-bit floating point"));
                TypeSpec::Unsupported
            }
            Fp64::Float => {
                if !std::mem::replace(&mut self.demoted, true) {
                    self.diagnostics.push(Diagnostic::warning(span, demotion(name)));
                }
                TypeSpec::Demoted(lanes)
            }
            Fp64::Emulate => spec,
        }
    }

    /// Whether the specifiers alone name a vector.
    pub(super) fn is_vector(&self, spec: &TypeSpec) -> bool {
        match spec {
            TypeSpec::Vector(..) => true,
            TypeSpec::Demoted(lanes) => *lanes > 1,
            TypeSpec::Typedef(name) => self.lookup(name.name) == Some(Declared::Vector),
            _ => false,
        }
    }

    fn finish_type(&mut self, named: Option<TypeSpec>, words: Option<Words>, span: Span) -> Parse<TypeSpec> {
        let words = match (named, words) {
            (Some(spec), None) => return Ok(spec),
            // `unsigned size_t` and the like; `unsigned half` is nonsense as well.
            (Some(_), Some(_)) => return self.error(span, "two types in one declaration"),
            (None, None) => {
                return match self.word() {
                    Some(word) if !super::is_keyword(word) => self.unknown_type(word),
                    _ => {
                        let (at, found) = (self.span(), self.describe());
                        self.error(at, format!("expected a type before {found}"))
                    }
                };
            }
            (None, Some(words)) => words,
        };
        let unsigned = words.unsigned > 0;
        let pick = |signed, other| if unsigned { other } else { signed };
        let bases = [words.char, words.short, words.float].iter().filter(|&&n| n > 0).count();
        let valid = bases <= 1
            && words.int <= 1
            && words.char <= 1
            && words.short <= 1
            && words.float <= 1
            && words.long <= 2
            && words.signed + words.unsigned <= 1
            && !(words.long > 0 && bases > 0)
            && !(words.int > 0 && words.char + words.float > 0)
            && !(words.float > 0 && words.signed + words.unsigned > 0);
        if !valid {
            return self.error(span, "these type words cannot be combined");
        }
        Ok(TypeSpec::Scalar(if words.char > 0 {
            pick(Scalar::Char, Scalar::UChar)
        } else if words.short > 0 {
            pick(Scalar::Short, Scalar::UShort)
        } else if words.float > 0 {
            Scalar::Float
        } else if words.long > 0 {
            pick(Scalar::Long, Scalar::ULong)
        } else {
            pick(Scalar::Int, Scalar::UInt)
        }))
    }

    fn set_storage(&mut self, specs: &mut Specs, storage: Storage) {
        let span = self.span();
        if specs.storage.is_some() {
            self.report(span, "two storage classes in one declaration");
        }
        specs.storage = Some((storage, span));
        self.advance();
    }

    /// An address space word; the generic one means the same as none.
    pub(super) fn space(&mut self, slot: &mut Option<(Space, Span)>) -> Parse<()> {
        let span = self.span();
        let space = self.word().and_then(space_word);
        self.advance();
        let Some(Some(space)) = space else { return Ok(()) };
        if let Some((old, _)) = *slot
            && old != space
        {
            return self.error(span, "two address spaces in one declaration");
        }
        *slot = Some((space, span));
        Ok(())
    }

    fn access(&mut self, specs: &mut Specs) {
        let span = self.span();
        let access = self.word().and_then(access_word);
        self.advance();
        if let (Some((old, _)), Some(new)) = (specs.access, access)
            && old != new
        {
            self.report(span, "two access qualifiers in one declaration");
        }
        specs.access = access.map(|a| (a, span));
    }

    pub(super) fn quals(&mut self) -> Quals {
        let mut quals = Quals::default();
        while let Some(word) = self.word() {
            match word {
                "const" | "__const" => quals.is_const = true,
                "volatile" | "__volatile__" => quals.is_volatile = true,
                "restrict" | "__restrict" | "__restrict__" => quals.is_restrict = true,
                _ => break,
            }
            self.advance();
        }
        quals
    }

    pub(super) fn attributes(&mut self, out: &mut Vec<Attribute>) -> Parse<()> {
        while self.is_word("__attribute__") || self.is_word("__attribute") {
            self.advance();
            self.expect(Punct::LParen)?;
            self.expect(Punct::LParen)?;
            while !self.is(Punct::RParen) {
                let name = self.member_word()?;
                let mut attribute = Attribute { name, args: Vec::new(), type_arg: None };
                if self.eat(Punct::LParen) {
                    while !self.is(Punct::RParen) {
                        if self.starts_type(0) {
                            attribute.type_arg = Some(Box::new(self.type_name()?));
                        } else {
                            attribute.args.push(self.assignment()?);
                        }
                        if !self.eat(Punct::Comma) {
                            break;
                        }
                    }
                    self.expect(Punct::RParen)?;
                }
                out.push(attribute);
                if !self.eat(Punct::Comma) {
                    break;
                }
            }
            self.expect(Punct::RParen)?;
            self.expect(Punct::RParen)?;
        }
        Ok(())
    }

    fn member_word(&mut self) -> Parse<Ident> {
        let span = self.span();
        if let TokenKind::Ident(name) = self.kind() {
            self.advance();
            return Ok(Ident { name, span });
        }
        let found = self.describe();
        self.error(span, format!("expected the name of an attribute, found {found}"))
    }

    pub(super) fn struct_spec(&mut self) -> Parse<StructSpec> {
        let start = self.span();
        let is_union = self.is_word("union");
        self.advance();
        let mut attributes = Vec::new();
        self.attributes(&mut attributes)?;
        let tag = if self.is(Punct::LBrace) { None } else { Some(self.ident()?) };
        let mut fields = None;
        let limits = self.packs.partition_point(|&(from, _)| from <= self.at);
        let max_align = self.packs[..limits].last().map_or(0, |&(_, limit)| limit);
        if self.eat(Punct::LBrace) {
            let mut list = Vec::new();
            while !self.eat(Punct::RBrace) {
                let field = self.nested(Self::field)?;
                list.push(field);
            }
            self.attributes(&mut attributes)?;
            fields = Some(list);
        }
        let span = start.to(self.previous_span());
        Ok(StructSpec { is_union, tag, fields, attributes, max_align, span })
    }

    fn field(&mut self) -> Parse<FieldDecl> {
        let specs = self.specs()?;
        let mut declarators = Vec::new();
        while !self.is(Punct::Semi) {
            if !self.is(Punct::Colon) {
                declarators.push(self.declarator()?);
            }
            if self.is(Punct::Colon) {
                self.report(self.span(), "bit-fields are not supported (OpenCL C 3.0 §6.11.c)");
                // Its width says nothing about the rest.
                self.advance();
                self.conditional()?;
            }
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.expect(Punct::Semi)?;
        Ok(FieldDecl { specs, declarators })
    }

    pub(super) fn enum_spec(&mut self) -> Parse<EnumSpec> {
        self.advance();
        let mut attributes = Vec::new();
        self.attributes(&mut attributes)?;
        let tag = if self.is(Punct::LBrace) { None } else { Some(self.ident()?) };
        let mut constants = None;
        if self.eat(Punct::LBrace) {
            let mut list = Vec::new();
            while !self.eat(Punct::RBrace) {
                let name = self.ident()?;
                self.declare(name.name, Declared::Value);
                let value = if self.eat(Punct::Eq) { Some(self.conditional()?) } else { None };
                list.push((name, value));
                if !self.eat(Punct::Comma) {
                    self.expect(Punct::RBrace)?;
                    break;
                }
            }
            self.attributes(&mut attributes)?;
            constants = Some(list);
        }
        Ok(EnumSpec { tag, constants, attributes })
    }
}

/// What is said once if `--fp64 float` changes a program.
pub(crate) fn demotion(name: &str) -> String {
    format!(
        "'{name}': double is float in this translation (--fp64 float); its elements are 4 bytes wide, also in buffers"
    )
}

/// `Some(Some(space))` for an address space word, `Some(None)` for the generic one.
pub(super) fn space_word(word: &str) -> Option<Option<Space>> {
    Some(match word {
        "__global" | "global" => Some(Space::Global),
        "__local" | "local" => Some(Space::Local),
        "__constant" | "constant" => Some(Space::Constant),
        "__private" | "private" => Some(Space::Private),
        "__generic" | "generic" => None,
        _ => return None,
    })
}

/// The access qualifiers of images.
pub(super) fn access_word(word: &str) -> Option<ImageAccess> {
    Some(match word {
        "__read_only" | "read_only" => ImageAccess::ReadOnly,
        "__write_only" | "write_only" => ImageAccess::WriteOnly,
        "__read_write" | "read_write" => ImageAccess::ReadWrite,
        _ => return None,
    })
}
