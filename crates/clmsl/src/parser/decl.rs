//! Declarations (C99 §6.7): specifiers, declarators, structures, enumerations, attributes, initialisers.

use super::types::{BuiltinType, builtin_type, double_reason};
use super::{Parse, Parser};
use crate::ast::{
    Attribute, Declaration, Declarator, Derived, Designator, EnumSpec, FieldDecl, FunctionDef, Ident, Init,
    InitDeclarator, InitList, Item, Param, Specs, Storage, StructSpec, TypeName, TypeSpec,
};
use crate::source::Span;
use crate::token::{Punct, TokenKind};
use crate::types::{Quals, Scalar, Space};

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
    /// Whether the token `ahead` begins a type name.
    pub(super) fn starts_type(&self, ahead: usize) -> bool {
        let TokenKind::Ident(symbol) = self.kind_at(ahead) else { return false };
        let word = self.names.name(symbol);
        match word {
            "void" | "char" | "short" | "int" | "long" | "float" | "double" | "signed" | "unsigned" | "struct"
            | "union" | "enum" | "const" | "volatile" | "restrict" | "__const" | "__restrict" | "__restrict__"
            | "__volatile__" | "_Complex" | "_Imaginary" => true,
            _ if space_word(word).is_some() || access_word(word) => true,
            _ => match self.lookup(symbol) {
                Some(is_typedef) => is_typedef,
                None => builtin_type(word).is_some(),
            },
        }
    }

    /// Whether a declaration begins here.
    pub(super) fn starts_declaration(&self) -> bool {
        if self.starts_type(0) {
            return true;
        }
        self.word().is_some_and(|w| {
            matches!(
                w,
                "typedef"
                    | "static"
                    | "extern"
                    | "inline"
                    | "__inline"
                    | "__inline__"
                    | "auto"
                    | "register"
                    | "__kernel"
                    | "kernel"
                    | "__attribute__"
                    | "__attribute"
                    | "pipe"
            )
        })
    }

    /// A function or declaration at program scope; `None` for a stray `;` or pragma.
    pub(super) fn item(&mut self) -> Parse<Option<Item>> {
        if self.eat(Punct::Semi) {
            return Ok(None);
        }
        if let TokenKind::Pragma(_) = self.kind() {
            self.advance();
            return Ok(None);
        }
        let start = self.span();
        if !self.starts_declaration() {
            return self.not_a_type("a declaration");
        }
        let specs = self.specs()?;
        if self.eat(Punct::Semi) {
            let span = start.to(self.previous_span());
            return Ok(Some(Item::Declaration(Declaration { specs, declarators: Vec::new(), span })));
        }
        let declarator = self.declarator()?;
        if self.is(Punct::LBrace)
            && let Some(Derived::Function { params, .. }) = declarator.derived.first()
        {
            let names: Vec<_> = params.iter().filter_map(|p| p.declarator.name).collect();
            self.declare_one(&specs, &declarator);
            self.enter_scope();
            for name in names {
                self.declare(name.name, false);
            }
            let body = self.block_in_scope();
            self.leave_scope();
            return Ok(Some(Item::Function(FunctionDef { specs, declarator, body: body? })));
        }
        self.declarators(specs, declarator, start).map(|d| Some(Item::Declaration(d)))
    }

    fn not_a_type<T>(&mut self, wanted: &str) -> Parse<T> {
        let (span, found) = (self.span(), self.describe());
        match self.kind() {
            TokenKind::Ident(_) => self.error(span, format!("unknown type name {found}")),
            _ => self.error(span, format!("expected {wanted}, found {found}")),
        }
    }

    /// A declaration inside a function.
    pub(super) fn declaration(&mut self) -> Parse<Declaration> {
        let start = self.span();
        let specs = self.specs()?;
        if self.eat(Punct::Semi) {
            return Ok(Declaration { specs, declarators: Vec::new(), span: start.to(self.previous_span()) });
        }
        let first = self.declarator()?;
        self.declarators(specs, first, start)
    }

    fn declarators(&mut self, specs: Specs, first: Declarator, start: Span) -> Parse<Declaration> {
        let mut declarators = Vec::new();
        let mut next = first;
        loop {
            self.declare_one(&specs, &next);
            let init = if self.eat(Punct::Eq) { Some(self.init()?) } else { None };
            declarators.push(InitDeclarator { declarator: next, init });
            if !self.eat(Punct::Comma) {
                break;
            }
            next = self.declarator()?;
        }
        self.expect(Punct::Semi)?;
        Ok(Declaration { specs, declarators, span: start.to(self.previous_span()) })
    }

    fn declare_one(&mut self, specs: &Specs, declarator: &Declarator) {
        if let Some(name) = declarator.name {
            self.declare(name.name, matches!(specs.storage, Some((Storage::Typedef, _))));
        }
    }

    fn specs(&mut self) -> Parse<Specs> {
        let start = self.span();
        let mut specs = Specs {
            ty: TypeSpec::Unsupported,
            quals: Quals::default(),
            space: None,
            storage: None,
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
                "struct" | "union" => named = Some(TypeSpec::Struct(self.struct_spec()?)),
                "enum" => named = Some(TypeSpec::Enum(self.enum_spec()?)),
                "void" => {
                    named = Some(TypeSpec::Void);
                    self.advance();
                }
                "double" => {
                    self.report(span, double_reason("double"));
                    named = Some(TypeSpec::Unsupported);
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
                _ if access_word(word) => self.advance(),
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
            Some(true) => {
                self.advance();
                Ok(Some(TypeSpec::Typedef(Ident { name: symbol, span })))
            }
            Some(false) => Ok(None),
            None => match builtin_type(self.names.name(symbol)) {
                Some(BuiltinType::Spec(spec)) => {
                    self.advance();
                    Ok(Some(spec))
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

    fn finish_type(&mut self, named: Option<TypeSpec>, words: Option<Words>, span: Span) -> Parse<TypeSpec> {
        let words = match (named, words) {
            (Some(spec), None) => return Ok(spec),
            // `unsigned size_t` and the like; `unsigned half` is nonsense as well.
            (Some(_), Some(_)) => return self.error(span, "two types in one declaration"),
            (None, None) => {
                let found = self.describe();
                let at = self.span();
                return self.error(at, format!("unknown type name {found}"));
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
    fn space(&mut self, slot: &mut Option<(Space, Span)>) -> Parse<()> {
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

    fn quals(&mut self) -> Quals {
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

    /// A declarator; the name may be missing (in a prototype or a type name).
    pub(super) fn declarator(&mut self) -> Parse<Declarator> {
        self.nested(|p| {
            let start = p.span();
            let mut pointers = Vec::new();
            let mut attributes = Vec::new();
            loop {
                if p.is(Punct::Caret) {
                    let span = p.span();
                    return p.error(span, "blocks are not supported (Metal has no device-side enqueue)");
                }
                if !p.eat(Punct::Star) {
                    break;
                }
                pointers.push(p.pointer_suffix(&mut attributes)?);
                if pointers.len() > 16 {
                    return p.error(start, "more than 16 levels of pointers are not supported");
                }
            }
            let mut out = Declarator { name: None, derived: Vec::new(), attributes, span: start };
            p.attributes(&mut out.attributes)?;
            let nested = p.is(Punct::LParen) && p.parenthesis_is_declarator();
            if nested {
                p.advance();
                let inner = p.declarator()?;
                p.expect(Punct::RParen)?;
                out.name = inner.name;
                out.derived = inner.derived;
                out.attributes.extend(inner.attributes);
            } else if let TokenKind::Ident(symbol) = p.kind()
                && !super::is_keyword(p.names.name(symbol))
            {
                out.name = Some(Ident { name: symbol, span: p.span() });
                p.advance();
            }
            p.suffixes(&mut out)?;
            p.attributes(&mut out.attributes)?;
            out.derived.extend(pointers.into_iter().rev());
            out.span = start.to(p.previous_span());
            if out.derived.len() > 32 {
                return p.error(start, "declarator with more than 32 parts is not supported");
            }
            Ok(out)
        })
    }

    /// What may follow a `*`.
    fn pointer_suffix(&mut self, attributes: &mut Vec<Attribute>) -> Parse<Derived> {
        let mut quals = Quals::default();
        let mut space = None;
        loop {
            quals = quals.union(self.quals());
            match self.word() {
                Some(word) if space_word(word).is_some() => self.space(&mut space)?,
                Some("__attribute__" | "__attribute") => self.attributes(attributes)?,
                _ => return Ok(Derived::Pointer { quals, space }),
            }
        }
    }

    /// Whether `(` after the pointers groups a declarator rather than opening a parameter list.
    fn parenthesis_is_declarator(&self) -> bool {
        match self.kind_at(1) {
            TokenKind::Punct(Punct::Star | Punct::LParen | Punct::Caret) => true,
            TokenKind::Ident(_) => !self.starts_type(1),
            _ => false,
        }
    }

    fn suffixes(&mut self, out: &mut Declarator) -> Parse<()> {
        loop {
            let start = self.span();
            if self.eat(Punct::LBracket) {
                self.quals();
                if self.eat_word("static") {
                    self.quals();
                }
                let size = if self.is(Punct::RBracket) { None } else { Some(self.assignment()?) };
                self.expect(Punct::RBracket)?;
                out.derived.push(Derived::Array { size, span: start.to(self.previous_span()) });
            } else if self.eat(Punct::LParen) {
                let params = self.params()?;
                out.derived.push(Derived::Function { params, span: start.to(self.previous_span()) });
            } else {
                return Ok(());
            }
        }
    }

    fn params(&mut self) -> Parse<Vec<Param>> {
        let mut params = Vec::new();
        if self.eat(Punct::RParen) {
            return Ok(params);
        }
        if self.is_word("void") && self.kind_at(1) == TokenKind::Punct(Punct::RParen) {
            self.advance();
            self.advance();
            return Ok(params);
        }
        loop {
            if self.is(Punct::Ellipsis) {
                let span = self.span();
                return self.error(span, "variadic functions are not supported (OpenCL C 3.0 §6.11.g)");
            }
            if !self.starts_declaration() {
                return self.not_a_type("a parameter");
            }
            let specs = self.specs()?;
            let declarator = self.declarator()?;
            params.push(Param { specs, declarator });
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.expect(Punct::RParen)?;
        Ok(params)
    }

    /// A type as casts write it.
    pub(super) fn type_name(&mut self) -> Parse<TypeName> {
        let specs = self.specs()?;
        let declarator = self.declarator()?;
        if let Some(name) = declarator.name {
            return self.error(name.span, "a type name cannot declare a variable");
        }
        let span = specs.span.to(self.previous_span());
        Ok(TypeName { specs, declarator, span })
    }

    fn struct_spec(&mut self) -> Parse<StructSpec> {
        let start = self.span();
        let is_union = self.is_word("union");
        self.advance();
        let mut attributes = Vec::new();
        self.attributes(&mut attributes)?;
        let tag = if self.is(Punct::LBrace) { None } else { Some(self.ident()?) };
        let mut fields = None;
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
        Ok(StructSpec { is_union, tag, fields, attributes, span })
    }

    fn field(&mut self) -> Parse<FieldDecl> {
        let specs = self.specs()?;
        let mut declarators = Vec::new();
        while !self.is(Punct::Semi) {
            declarators.push(self.declarator()?);
            if self.is(Punct::Colon) {
                let span = self.span();
                return self.error(span, "bit-fields are not supported (OpenCL C 3.0 §6.11.c)");
            }
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.expect(Punct::Semi)?;
        Ok(FieldDecl { specs, declarators })
    }

    fn enum_spec(&mut self) -> Parse<EnumSpec> {
        self.advance();
        let mut ignored = Vec::new();
        self.attributes(&mut ignored)?;
        let tag = if self.is(Punct::LBrace) { None } else { Some(self.ident()?) };
        let mut constants = None;
        if self.eat(Punct::LBrace) {
            let mut list = Vec::new();
            while !self.eat(Punct::RBrace) {
                let name = self.ident()?;
                self.declare(name.name, false);
                let value = if self.eat(Punct::Eq) { Some(self.conditional()?) } else { None };
                list.push((name, value));
                if !self.eat(Punct::Comma) {
                    self.expect(Punct::RBrace)?;
                    break;
                }
            }
            constants = Some(list);
        }
        Ok(EnumSpec { tag, constants })
    }

    fn init(&mut self) -> Parse<Init> {
        if self.is(Punct::LBrace) {
            return Ok(Init::List(self.init_list()?));
        }
        Ok(Init::Expr(self.assignment()?))
    }

    /// `{ ... }`
    pub(super) fn init_list(&mut self) -> Parse<InitList> {
        self.nested(|p| {
            let start = p.expect(Punct::LBrace)?;
            let mut items = Vec::new();
            while !p.is(Punct::RBrace) {
                let mut designators = Vec::new();
                loop {
                    let at = p.span();
                    if p.eat(Punct::Dot) {
                        designators.push(Designator::Field(p.ident()?));
                    } else if p.eat(Punct::LBracket) {
                        let index = p.conditional()?;
                        p.expect(Punct::RBracket)?;
                        designators.push(Designator::Index(index, at.to(p.previous_span())));
                    } else {
                        break;
                    }
                }
                if !designators.is_empty() {
                    p.expect(Punct::Eq)?;
                }
                items.push((designators, p.init()?));
                if !p.eat(Punct::Comma) {
                    break;
                }
            }
            let end = p.expect(Punct::RBrace)?;
            Ok(InitList { items, span: start.to(end) })
        })
    }
}

/// `Some(Some(space))` for an address space word, `Some(None)` for the generic one.
fn space_word(word: &str) -> Option<Option<Space>> {
    Some(match word {
        "__global" | "global" => Some(Space::Global),
        "__local" | "local" => Some(Space::Local),
        "__constant" | "constant" => Some(Space::Constant),
        "__private" | "private" => Some(Space::Private),
        "__generic" | "generic" => None,
        _ => return None,
    })
}

/// Access qualifiers belong to images, which are refused by their type.
fn access_word(word: &str) -> bool {
    matches!(word, "read_only" | "write_only" | "read_write" | "__read_only" | "__write_only" | "__read_write")
}
