//! Statements (C99 §6.8).

use super::{Parse, Parser, Reported};
use crate::ast::{Block, Stmt, StmtKind};
use crate::source::Span;
use crate::token::{Punct, TokenKind};

impl Parser<'_> {
    /// `{ ... }`; opens a scope.
    pub(super) fn block(&mut self) -> Parse<Block> {
        self.enter_scope();
        let result = self.block_in_scope();
        self.leave_scope();
        result
    }

    /// `{ ... }` in the scope of the caller (a function's parameters share the scope of its body).
    pub(super) fn block_in_scope(&mut self) -> Parse<Block> {
        let start = self.expect(Punct::LBrace)?;
        let mut stmts = Vec::new();
        loop {
            if self.is(Punct::RBrace) {
                let end = self.span();
                self.advance();
                return Ok(Block { stmts, span: start.to(end), end });
            }
            if self.kind() == TokenKind::Eof {
                self.diagnostics.push(
                    crate::diagnostic::Diagnostic::error(self.span(), "expected '}', found the end of the file")
                        .with_note(start, "to match this '{'"),
                );
                self.incomplete = true;
                return Err(Reported);
            }
            let at = self.at;
            let (depth, scopes) = (self.depth, self.scopes.len());
            match self.statement() {
                Ok(stmt) => stmts.push(stmt),
                Err(Reported) => {
                    self.depth = depth;
                    self.scopes.truncate(scopes);
                    let span = self.span();
                    self.skip_statement(at);
                    if self.at == at {
                        self.advance();
                    }
                    stmts.push(Stmt { kind: StmtKind::Error, span });
                }
            }
        }
    }

    /// A statement or a declaration.
    fn statement(&mut self) -> Parse<Stmt> {
        self.nested(Self::statement_inner)
    }

    fn statement_inner(&mut self) -> Parse<Stmt> {
        let start = self.span();
        match self.kind() {
            TokenKind::Punct(Punct::Semi) => {
                self.advance();
                return Ok(Stmt { kind: StmtKind::Empty, span: start });
            }
            TokenKind::Punct(Punct::LBrace) => {
                let block = self.block()?;
                return Ok(Stmt { span: block.span, kind: StmtKind::Block(block) });
            }
            TokenKind::Pragma(_) => {
                // It belongs to the statement behind it, which may be what a loop governs.
                while let TokenKind::Pragma(_) = self.kind() {
                    self.advance();
                }
                if self.is(Punct::RBrace) || self.kind() == TokenKind::Eof {
                    return Ok(Stmt { kind: StmtKind::Empty, span: start });
                }
                return self.statement_inner();
            }
            TokenKind::Ident(_) => {
                // Attributes of statements are hints, such as `opencl_unroll_hint`.
                if self.is_word("__attribute__") || self.is_word("__attribute") {
                    let mut attributes = Vec::new();
                    self.attributes(&mut attributes)?;
                    let mut statement = self.statement_inner()?;
                    if let StmtKind::Decl(declaration) = &mut statement.kind {
                        declaration.specs.attributes.append(&mut attributes);
                    }
                    return Ok(statement);
                }
                if let Some(kind) = self.keyword_statement(start)? {
                    return Ok(Stmt { kind, span: start.to(self.previous_span()) });
                }
            }
            _ => {}
        }
        if self.starts_declaration() {
            let declaration = self.declaration()?;
            return Ok(Stmt { span: declaration.span, kind: StmtKind::Decl(Box::new(declaration)) });
        }
        if let (Some(word), TokenKind::Ident(_)) = (self.word(), self.kind_at(1)) {
            return self.unknown_type(word);
        }
        if self.is(Punct::LParen)
            && self.kind_at(1) == TokenKind::Punct(Punct::LBrace)
            && let Some(stmt) = self.block_in_parentheses()?
        {
            return Ok(stmt);
        }
        let expr = self.expr()?;
        self.expect(Punct::Semi)?;
        Ok(Stmt { span: expr.span, kind: StmtKind::Expr(expr) })
    }

    /// `({ ... });`, a statement expression of GNU C whose value is not used: a block. What is more is left to `expr`.
    fn block_in_parentheses(&mut self) -> Parse<Option<Stmt>> {
        let start = self.at;
        self.advance();
        let block = self.block()?;
        if self.is(Punct::RParen) && self.kind_at(1) == TokenKind::Punct(Punct::Semi) {
            self.advance();
            self.advance();
            return Ok(Some(Stmt { span: block.span, kind: StmtKind::Block(block) }));
        }
        self.at = start;
        Ok(None)
    }

    /// A statement that begins with a keyword or a label.
    fn keyword_statement(&mut self, start: Span) -> Parse<Option<StmtKind>> {
        let Some(word) = self.word() else { return Ok(None) };
        let kind = match word {
            "if" => self.if_chain()?,
            "while" => {
                self.advance();
                let cond = self.condition()?;
                StmtKind::While(cond, Box::new(self.body()?))
            }
            "do" => {
                self.advance();
                let body = self.body()?;
                self.expect_word("while")?;
                let cond = self.condition()?;
                self.expect(Punct::Semi)?;
                StmtKind::DoWhile(Box::new(body), cond)
            }
            "for" => self.for_statement()?,
            "switch" => {
                self.advance();
                let value = self.condition()?;
                StmtKind::Switch(value, Box::new(self.body()?))
            }
            "case" => {
                self.advance();
                let value = self.conditional()?;
                let last = if self.eat(Punct::Ellipsis) { Some(self.conditional()?) } else { None };
                self.expect(Punct::Colon)?;
                StmtKind::Case(value, last, Box::new(self.labelled()?))
            }
            "default" => {
                self.advance();
                self.expect(Punct::Colon)?;
                StmtKind::Default(Box::new(self.labelled()?))
            }
            "break" | "continue" => {
                let kind = if word == "break" { StmtKind::Break } else { StmtKind::Continue };
                self.advance();
                self.expect(Punct::Semi)?;
                kind
            }
            "return" => {
                self.advance();
                let value = if self.is(Punct::Semi) { None } else { Some(self.expr()?) };
                self.expect(Punct::Semi)?;
                StmtKind::Return(value)
            }
            "goto" => {
                self.advance();
                let label = self.ident()?;
                self.expect(Punct::Semi)?;
                StmtKind::Goto(label)
            }
            "else" => return self.error(start, "expected a statement, found 'else'"),
            "asm" | "__asm" | "__asm__" => {
                return self.error(start, "inline assembly is not supported (it is not OpenCL C)");
            }
            _ if self.kind_at(1) == TokenKind::Punct(Punct::Colon) && !super::is_keyword(word) => {
                let label = self.ident()?;
                self.advance();
                self.attributes(&mut Vec::new())?;
                StmtKind::Label(label, Box::new(self.labelled()?))
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    /// What a label stands before; a label before `}` stands before nothing.
    fn labelled(&mut self) -> Parse<Stmt> {
        if self.is(Punct::RBrace) {
            return Ok(Stmt { kind: StmtKind::Empty, span: self.previous_span() });
        }
        self.statement()
    }

    fn condition(&mut self) -> Parse<crate::ast::Expr> {
        self.expect(Punct::LParen)?;
        let cond = self.expr()?;
        self.expect(Punct::RParen)?;
        Ok(cond)
    }

    /// The statement a loop or `if` governs, in a scope of its own.
    fn body(&mut self) -> Parse<Stmt> {
        self.enter_scope();
        let result = self.statement();
        self.leave_scope();
        result
    }

    fn if_chain(&mut self) -> Parse<StmtKind> {
        let mut arms = Vec::new();
        loop {
            self.expect_word("if")?;
            let cond = self.condition()?;
            arms.push((cond, self.body()?));
            if !self.eat_word("else") {
                return Ok(StmtKind::If { arms, otherwise: None });
            }
            if !self.is_word("if") {
                let otherwise = Some(Box::new(self.body()?));
                return Ok(StmtKind::If { arms, otherwise });
            }
        }
    }

    fn for_statement(&mut self) -> Parse<StmtKind> {
        self.advance();
        self.expect(Punct::LParen)?;
        self.enter_scope();
        let result = self.for_rest();
        self.leave_scope();
        result
    }

    fn for_rest(&mut self) -> Parse<StmtKind> {
        let start = self.span();
        let init = if self.eat(Punct::Semi) {
            None
        } else if self.starts_declaration() {
            let declaration = self.declaration()?;
            Some(Box::new(Stmt { span: declaration.span, kind: StmtKind::Decl(Box::new(declaration)) }))
        } else {
            let expr = self.expr()?;
            self.expect(Punct::Semi)?;
            Some(Box::new(Stmt { span: start, kind: StmtKind::Expr(expr) }))
        };
        let cond = if self.is(Punct::Semi) { None } else { Some(self.expr()?) };
        self.expect(Punct::Semi)?;
        let step = if self.is(Punct::RParen) { None } else { Some(self.expr()?) };
        self.expect(Punct::RParen)?;
        let body = Box::new(self.body()?);
        Ok(StmtKind::For { init, cond, step, body })
    }
}
