//! Declarations (C99 §6.7): functions, variables, declarators, parameters, initialisers.

use super::specs::{access_word, space_word};
use super::types::builtin_type;
use super::{Declared, Parse, Parser};
use crate::ast::{
    Attribute, Declaration, Declarator, Derived, Designator, FunctionDef, Ident, Init, InitDeclarator, InitList, Item,
    Param, Specs, Storage, TypeName,
};
use crate::source::Span;
use crate::token::{Punct, TokenKind};
use crate::types::Quals;

impl Parser<'_> {
    /// Whether the token `ahead` begins a type name.
    pub(super) fn starts_type(&self, ahead: usize) -> bool {
        let TokenKind::Ident(symbol) = self.kind_at(ahead) else { return false };
        let word = self.names.name(symbol);
        match word {
            "void" | "char" | "short" | "int" | "long" | "float" | "double" | "signed" | "unsigned" | "struct"
            | "union" | "enum" | "const" | "volatile" | "restrict" | "__const" | "__restrict" | "__restrict__"
            | "__volatile__" | "_Complex" | "_Imaginary" => true,
            _ if space_word(word).is_some() || access_word(word).is_some() => true,
            _ => match self.lookup(symbol) {
                Some(declared) => declared != Declared::Value,
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
                self.declare(name.name, Declared::Value);
            }
            let body = self.block_in_scope();
            self.leave_scope();
            return Ok(Some(Item::Function(FunctionDef { specs, declarator, body: body? })));
        }
        let is_function = matches!(declarator.derived.first(), Some(Derived::Function { .. }));
        if is_function && !self.is(Punct::Semi) && !self.is(Punct::Comma) {
            let (span, found) = (self.previous_span().end(), self.describe());
            return self.error(span, format!("expected ';' or the body of the function before {found}"));
        }
        self.declarators(specs, declarator, start).map(|d| Some(Item::Declaration(d)))
    }

    fn not_a_type<T>(&mut self, wanted: &str) -> Parse<T> {
        let (span, found) = (self.span(), self.describe());
        match self.word() {
            Some(word) if !super::is_keyword(word) => self.unknown_type(word),
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
        if self.is(Punct::LBrace) && matches!(first.derived.first(), Some(Derived::Function { .. })) {
            return self.error(first.span, "a function cannot be defined in a function; is a '}' missing before it?");
        }
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
            let declared = match specs.storage {
                Some((Storage::Typedef, _)) if declarator.derived.is_empty() && self.is_vector(&specs.ty) => {
                    Declared::Vector
                }
                Some((Storage::Typedef, _)) => Declared::Type,
                _ => Declared::Value,
            };
            self.declare(name.name, declared);
        }
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
                if p.is(Punct::Amp) {
                    let span = p.span();
                    return p.error(span, "references are not supported: they are C++, not OpenCL C");
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
