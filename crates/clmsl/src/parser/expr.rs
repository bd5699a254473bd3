//! Expressions (C99 §6.5) and OpenCL's vector literals (OpenCL C 3.0 §6.4.1).

use super::{MAX_HEIGHT, Parse, Parser};
use crate::ast::{BinaryOp, Expr, ExprKind, Ident, TypeName, TypeSpec, UnaryOp};
use crate::source::Span;
use crate::token::{Punct, TokenKind};

fn binary_op(punct: Punct) -> Option<(BinaryOp, u8)> {
    Some(match punct {
        Punct::Star => (BinaryOp::Mul, 10),
        Punct::Slash => (BinaryOp::Div, 10),
        Punct::Percent => (BinaryOp::Rem, 10),
        Punct::Plus => (BinaryOp::Add, 9),
        Punct::Minus => (BinaryOp::Sub, 9),
        Punct::Shl => (BinaryOp::Shl, 8),
        Punct::Shr => (BinaryOp::Shr, 8),
        Punct::Lt => (BinaryOp::Lt, 7),
        Punct::Gt => (BinaryOp::Gt, 7),
        Punct::Le => (BinaryOp::Le, 7),
        Punct::Ge => (BinaryOp::Ge, 7),
        Punct::EqEq => (BinaryOp::Eq, 6),
        Punct::Ne => (BinaryOp::Ne, 6),
        Punct::Amp => (BinaryOp::And, 5),
        Punct::Caret => (BinaryOp::Xor, 4),
        Punct::Pipe => (BinaryOp::Or, 3),
        Punct::AmpAmp => (BinaryOp::LogicalAnd, 2),
        Punct::PipePipe => (BinaryOp::LogicalOr, 1),
        _ => return None,
    })
}

fn assign_op(punct: Punct) -> Option<Option<BinaryOp>> {
    Some(match punct {
        Punct::Eq => None,
        Punct::StarEq => Some(BinaryOp::Mul),
        Punct::SlashEq => Some(BinaryOp::Div),
        Punct::PercentEq => Some(BinaryOp::Rem),
        Punct::PlusEq => Some(BinaryOp::Add),
        Punct::MinusEq => Some(BinaryOp::Sub),
        Punct::ShlEq => Some(BinaryOp::Shl),
        Punct::ShrEq => Some(BinaryOp::Shr),
        Punct::AmpEq => Some(BinaryOp::And),
        Punct::CaretEq => Some(BinaryOp::Xor),
        Punct::PipeEq => Some(BinaryOp::Or),
        _ => return None,
    })
}

impl Parser<'_> {
    /// An expression with commas.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        let mut left = self.assignment()?;
        while self.eat(Punct::Comma) {
            let right = self.assignment()?;
            let span = left.span.to(right.span);
            let height = 1 + left.height.max(right.height);
            left = self.node(ExprKind::Comma(Box::new(left), Box::new(right)), span, height)?;
        }
        Ok(left)
    }

    /// Makes a node, refusing trees that later stages could not walk.
    fn node(&mut self, kind: ExprKind, span: Span, height: u32) -> Parse<Expr> {
        if height > MAX_HEIGHT {
            return self.error(span, format!("expression of more than {MAX_HEIGHT} levels, which is not supported"));
        }
        Ok(Expr { kind, span, height })
    }

    /// An expression without commas at its top.
    pub(super) fn assignment(&mut self) -> Parse<Expr> {
        self.nested(|p| {
            let left = p.conditional()?;
            let TokenKind::Punct(punct) = p.kind() else { return Ok(left) };
            let Some(op) = assign_op(punct) else { return Ok(left) };
            p.advance();
            let right = p.assignment()?;
            let span = left.span.to(right.span);
            let height = 1 + left.height.max(right.height);
            p.node(ExprKind::Assign(op, Box::new(left), Box::new(right)), span, height)
        })
    }

    /// An expression as constants are written: no assignment, no comma.
    pub(super) fn conditional(&mut self) -> Parse<Expr> {
        let cond = self.binary(1)?;
        if !self.eat(Punct::Question) {
            return Ok(cond);
        }
        let yes = if self.is(Punct::Colon) { None } else { Some(Box::new(self.nested(Self::expr)?)) };
        self.expect(Punct::Colon)?;
        let no = self.nested(Self::conditional)?;
        let span = cond.span.to(no.span);
        let height = 1 + cond.height.max(yes.as_ref().map_or(0, |yes| yes.height)).max(no.height);
        self.node(ExprKind::Cond(Box::new(cond), yes, Box::new(no)), span, height)
    }

    fn binary(&mut self, min: u8) -> Parse<Expr> {
        let mut left = self.cast()?;
        while let TokenKind::Punct(punct) = self.kind()
            && let Some((op, precedence)) = binary_op(punct)
            && precedence >= min
        {
            self.advance();
            let right = self.binary(precedence + 1)?;
            let span = left.span.to(right.span);
            let height = 1 + left.height.max(right.height);
            left = self.node(ExprKind::Binary(op, Box::new(left), Box::new(right)), span, height)?;
        }
        Ok(left)
    }

    /// A cast, vector literal or compound literal, or an expression with prefix operators.
    fn cast(&mut self) -> Parse<Expr> {
        let start = self.span();
        if !(self.is(Punct::LParen) && self.starts_type(1)) {
            return self.unary();
        }
        self.advance();
        let ty = Box::new(self.type_name()?);
        self.expect(Punct::RParen)?;
        if self.is(Punct::LBrace) {
            let literal = self.compound_literal(ty, start)?;
            return self.postfix_of(literal);
        }
        if self.is(Punct::LParen) && self.may_be_literal(&ty) && !self.starts_type(1) {
            return self.vector_literal(ty, start);
        }
        let operand = self.nested(Self::cast)?;
        let span = start.to(operand.span);
        let height = 1 + operand.height;
        self.node(ExprKind::Cast(ty, Box::new(operand)), span, height)
    }

    fn compound_literal(&mut self, ty: Box<TypeName>, start: Span) -> Parse<Expr> {
        let list = self.init_list()?;
        let span = start.to(list.span);
        self.node(ExprKind::CompoundLiteral(ty, list), span, 1)
    }

    /// Whether what follows the type in parentheses is its literal: if it is a vector's, or one that has been refused.
    fn may_be_literal(&self, ty: &TypeName) -> bool {
        ty.declarator.derived.is_empty()
            && (self.is_vector(&ty.specs.ty) || matches!(ty.specs.ty, TypeSpec::Unsupported))
    }

    /// `(type)(a, b, ...)` of a vector. A selection that follows is one of the vector, as Clang has it also where there is
    /// one element; of a cast it would be one of the operand.
    fn vector_literal(&mut self, ty: Box<TypeName>, start: Span) -> Parse<Expr> {
        let open = self.span();
        self.advance();
        let mut elements = vec![self.assignment()?];
        while self.eat(Punct::Comma) {
            elements.push(self.assignment()?);
        }
        let close = self.expect(Punct::RParen)?;
        let height = 1 + elements.iter().map(|e| e.height).max().unwrap_or(0);
        if let [one] = elements.as_mut_slice() {
            one.span = open.to(close);
        }
        let literal = self.node(ExprKind::VectorLiteral(ty, elements), start.to(close), height)?;
        self.postfix_of(literal)
    }

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.span();
        if let TokenKind::Punct(punct) = self.kind() {
            let op = match punct {
                Punct::Plus => UnaryOp::Plus,
                Punct::Minus => UnaryOp::Neg,
                Punct::Bang => UnaryOp::Not,
                Punct::Tilde => UnaryOp::BitNot,
                Punct::Star => UnaryOp::Deref,
                Punct::Amp => UnaryOp::AddressOf,
                Punct::PlusPlus | Punct::MinusMinus => {
                    self.advance();
                    let place = self.nested(Self::unary)?;
                    let span = start.to(place.span);
                    let height = 1 + place.height;
                    let increment = punct == Punct::PlusPlus;
                    return self.node(ExprKind::PreStep { increment, place: Box::new(place) }, span, height);
                }
                Punct::Caret => {
                    return self.error(start, "blocks are not supported (Metal has no device-side enqueue)");
                }
                _ => return self.postfix(),
            };
            self.advance();
            let operand = self.nested(Self::cast)?;
            let span = start.to(operand.span);
            let height = 1 + operand.height;
            return self.node(ExprKind::Unary(op, Box::new(operand)), span, height);
        }
        if self.is_word("sizeof") {
            return self.measure(start, ExprKind::SizeofType, ExprKind::SizeofExpr);
        }
        if self.is_word("vec_step") {
            return self.measure(start, ExprKind::VecStepType, ExprKind::VecStepExpr);
        }
        self.postfix()
    }

    /// `sizeof` or `vec_step` of a type or of an expression.
    fn measure(
        &mut self,
        start: Span,
        of_type: fn(Box<TypeName>) -> ExprKind,
        of_expr: fn(Box<Expr>) -> ExprKind,
    ) -> Parse<Expr> {
        self.advance();
        if self.is(Punct::LParen) && self.starts_type(1) {
            self.advance();
            let ty = Box::new(self.type_name()?);
            let close = self.expect(Punct::RParen)?;
            return self.node(of_type(ty), start.to(close), 1);
        }
        let operand = self.nested(Self::unary)?;
        let span = start.to(operand.span);
        let height = 1 + operand.height;
        self.node(of_expr(Box::new(operand)), span, height)
    }

    fn postfix(&mut self) -> Parse<Expr> {
        let base = self.primary()?;
        self.postfix_of(base)
    }

    fn postfix_of(&mut self, mut base: Expr) -> Parse<Expr> {
        loop {
            let TokenKind::Punct(punct) = self.kind() else { return Ok(base) };
            let start = base.span;
            let mut height = 1 + base.height;
            let kind = match punct {
                Punct::LBracket => {
                    self.advance();
                    let index = self.expr()?;
                    self.expect(Punct::RBracket)?;
                    height = height.max(1 + index.height);
                    ExprKind::Index(Box::new(base), Box::new(index))
                }
                Punct::LParen => {
                    self.advance();
                    let mut args = Vec::new();
                    if !self.is(Punct::RParen) {
                        args.push(self.argument()?);
                        while self.eat(Punct::Comma) {
                            args.push(self.argument()?);
                        }
                    }
                    self.expect(Punct::RParen)?;
                    height = height.max(1 + args.iter().map(|a| a.height).max().unwrap_or(0));
                    ExprKind::Call(Box::new(base), args)
                }
                Punct::Dot | Punct::Arrow => {
                    self.advance();
                    let name = self.member_name()?;
                    ExprKind::Member { base: Box::new(base), name, arrow: punct == Punct::Arrow }
                }
                Punct::PlusPlus | Punct::MinusMinus => {
                    self.advance();
                    ExprKind::PostStep { increment: punct == Punct::PlusPlus, place: Box::new(base) }
                }
                _ => return Ok(base),
            };
            let span = start.to(self.previous_span());
            base = self.node(kind, span, height)?;
        }
    }

    /// A member name may be any word, since keywords of OpenCL such as `global` are names in other headers.
    fn member_name(&mut self) -> Parse<Ident> {
        let span = self.span();
        if let TokenKind::Ident(name) = self.kind() {
            self.advance();
            return Ok(Ident { name, span });
        }
        let found = self.describe();
        self.error(span, format!("expected the name of a member, found {found}"))
    }

    fn argument(&mut self) -> Parse<Expr> {
        if self.starts_type(0) {
            let span = self.span();
            return self.error(span, "expected an expression, found a type");
        }
        self.assignment()
    }

    fn primary(&mut self) -> Parse<Expr> {
        let span = self.span();
        let kind = match self.kind() {
            TokenKind::Int(literal) => ExprKind::Int(literal),
            TokenKind::Float(literal) => ExprKind::Float(literal),
            TokenKind::Char(value) => ExprKind::Char(value),
            TokenKind::Str(id) => ExprKind::Str(id),
            TokenKind::Punct(Punct::LParen) => return self.parenthesised(),
            TokenKind::Ident(symbol) if !super::is_keyword(self.names.name(symbol)) => {
                if self.starts_type(0) {
                    let found = self.describe();
                    let hint = match (self.kind_at(1), self.word()) {
                        (TokenKind::Punct(Punct::LParen), Some(word)) => format!("; a value of it is '({word})(...)'"),
                        _ => String::new(),
                    };
                    return self.error(span, format!("expected an expression, found the type {found}{hint}"));
                }
                ExprKind::Ident(symbol)
            }
            _ => {
                let found = self.describe();
                return self.error(span, format!("expected an expression, found {found}"));
            }
        };
        self.advance();
        Ok(Expr { kind, span, height: 1 })
    }

    fn parenthesised(&mut self) -> Parse<Expr> {
        let open = self.span();
        self.advance();
        if self.is(Punct::LBrace) {
            return self.error(open, "statement expressions are not supported (they are not OpenCL C)");
        }
        let mut inner = self.nested(Self::expr)?;
        let close = self.expect(Punct::RParen)?;
        inner.span = open.to(close);
        Ok(inner)
    }
}
