//! The value of the expression behind `#if` (C99 6.10.1): all integers have 64 bits, as `long` and `ulong` in OpenCL C.

use super::{Cx, literal};
use crate::lexer::{PpKind, PpToken};
use crate::source::Span;
use crate::token::{Base, Punct};

/// Parentheses and `?:` within each other.
const MAX_DEPTH: u32 = 200;

#[derive(Clone, Copy)]
struct Value {
    bits: u64,
    unsigned: bool,
}

impl Value {
    fn signed(value: i64) -> Self {
        Self { bits: value.cast_unsigned(), unsigned: false }
    }

    fn is_true(self) -> bool {
        self.bits != 0
    }
}

impl Cx<'_> {
    /// Whether the expression up to the line's end is not zero; false if it is wrong. `at` is the directive's name.
    pub(super) fn condition(&mut self, at: Span) -> bool {
        let mut tokens = Vec::new();
        let errors = self.errors;
        loop {
            let token = self.next();
            match token.kind {
                PpKind::Newline | PpKind::Eof => break,
                PpKind::Ident if token.text == self.known.defined => match self.defined(&token) {
                    Some(token) => tokens.push(token),
                    None => return false,
                },
                _ => tokens.push(token),
            }
        }
        if self.stopped || self.errors != errors {
            return false;
        }
        let end = tokens.last().map_or(at, |t| t.span).end();
        let mut expression = Expression { cx: self, tokens, at: 0, end, depth: 0, dead: 0 };
        let Some(value) = expression.comma() else {
            return false;
        };
        if let Some(token) = expression.peek() {
            let message = format!("token '{}' is not expected in a preprocessor expression", self.shown(&token));
            self.error(token.span, message);
            return false;
        }
        value.is_true()
    }

    /// What `defined X` or `defined(X)` is, as a number.
    fn defined(&mut self, operator: &PpToken) -> Option<PpToken> {
        let mut name = self.next_raw();
        let parenthesis = name.is(Punct::LParen);
        if parenthesis {
            name = self.next_raw();
        }
        if name.kind != PpKind::Ident {
            let what = match name.kind {
                PpKind::Newline | PpKind::Eof => "macro name missing behind 'defined'",
                _ => "macro name must be an identifier",
            };
            self.error(name.span, what);
            return None;
        }
        if parenthesis {
            let close = self.next_raw();
            if !close.is(Punct::RParen) {
                self.error(close.span, "missing ')' after 'defined'");
                return None;
            }
        }
        let value = self.lookup(name.text).is_some();
        Some(PpToken { kind: PpKind::Number, text: self.names.intern(if value { "1" } else { "0" }), ..*operator })
    }

    /// The value of an expression without line's end: the factor of `#pragma unroll`.
    pub(super) fn constant(&mut self, tokens: Vec<PpToken>, at: Span) -> Option<i64> {
        let end = tokens.last().map_or(at, |t| t.span).end();
        let mut expression = Expression { cx: self, tokens, at: 0, end, depth: 0, dead: 0 };
        let value = expression.comma()?;
        match expression.peek() {
            None => Some(value.bits.cast_signed()),
            Some(token) => {
                let message = format!("unexpected '{}' behind the expression", self.shown(&token));
                self.error(token.span, message);
                None
            }
        }
    }
}

/// An expression being computed. Functions give `None` behind an error they reported.
struct Expression<'c, 'a> {
    cx: &'c mut Cx<'a>,
    tokens: Vec<PpToken>,
    at: usize,
    end: Span,
    depth: u32,
    /// Operands around this one that decided the result already: nothing here is an error of arithmetic.
    dead: u32,
}

/// Operator, precedence, whether its left side has decided.
type Pending = (Punct, Span, u8, bool);

fn precedence(punct: Punct) -> u8 {
    use Punct::*;
    match punct {
        Star | Slash | Percent => 10,
        Plus | Minus => 9,
        Shl | Shr => 8,
        Lt | Gt | Le | Ge => 7,
        EqEq | Ne => 6,
        Amp => 5,
        Caret => 4,
        Pipe => 3,
        AmpAmp => 2,
        PipePipe => 1,
        _ => 0,
    }
}

impl Expression<'_, '_> {
    fn peek(&self) -> Option<PpToken> {
        self.tokens.get(self.at).copied()
    }

    fn accept(&mut self, punct: Punct) -> bool {
        let found = self.peek().is_some_and(|t| t.is(punct));
        self.at += usize::from(found);
        found
    }

    fn fail<T>(&mut self, span: Span, message: impl Into<String>) -> Option<T> {
        self.cx.error(span, message);
        None
    }

    fn comma(&mut self) -> Option<Value> {
        let mut value = self.conditional()?;
        while self.accept(Punct::Comma) {
            value = self.conditional()?;
        }
        Some(value)
    }

    fn conditional(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let span = self.peek().map_or(self.end, |t| t.span);
            return self.fail(span, format!("preprocessor expression nested more than {MAX_DEPTH} deep"));
        }
        let condition = self.binary()?;
        let value = if self.accept(Punct::Question) {
            self.dead += u32::from(!condition.is_true());
            let yes = self.comma()?;
            self.dead -= u32::from(!condition.is_true());
            if !self.accept(Punct::Colon) {
                let span = self.peek().map_or(self.end, |t| t.span);
                return self.fail(span, "expected ':' in preprocessor expression");
            }
            self.dead += u32::from(condition.is_true());
            let no = self.conditional()?;
            self.dead -= u32::from(condition.is_true());
            let chosen = if condition.is_true() { yes } else { no };
            Value { unsigned: yes.unsigned || no.unsigned, ..chosen }
        } else {
            condition
        };
        self.depth -= 1;
        Some(value)
    }

    /// Binary operators, with a stack of those that wait for their right side.
    fn binary(&mut self) -> Option<Value> {
        let mut operands = Vec::new();
        let mut pending: Vec<Pending> = Vec::new();
        let mut right = self.unary()?;
        loop {
            let next = self.peek().and_then(|t| match t.kind {
                PpKind::Punct(p) if precedence(p) > 0 => Some((p, t.span)),
                _ => None,
            });
            let level = next.map_or(0, |(p, _)| precedence(p));
            while let Some(&(punct, span, above, decided)) = pending.last() {
                if above < level {
                    break;
                }
                pending.pop();
                self.dead -= u32::from(decided);
                let left = operands.pop().unwrap_or(right);
                right = self.apply(punct, span, left, right)?;
            }
            let Some((punct, span)) = next else {
                return Some(right);
            };
            self.at += 1;
            let decided = match punct {
                Punct::AmpAmp => !right.is_true(),
                Punct::PipePipe => right.is_true(),
                _ => false,
            };
            self.dead += u32::from(decided);
            pending.push((punct, span, level, decided));
            operands.push(right);
            right = self.unary()?;
        }
    }

    fn unary(&mut self) -> Option<Value> {
        let start = self.at;
        while let Some(token) = self.peek()
            && let PpKind::Punct(Punct::Plus | Punct::Minus | Punct::Bang | Punct::Tilde) = token.kind
        {
            self.at += 1;
        }
        let operators = start..self.at;
        let mut value = self.primary()?;
        for at in operators.rev() {
            let token = self.tokens[at];
            value = match token.kind {
                PpKind::Punct(Punct::Minus) => {
                    if !value.unsigned && value.bits == 1 << 63 {
                        self.overflow(token.span);
                    }
                    Value { bits: value.bits.wrapping_neg(), ..value }
                }
                PpKind::Punct(Punct::Bang) => Value::signed(i64::from(!value.is_true())),
                PpKind::Punct(Punct::Tilde) => Value { bits: !value.bits, ..value },
                _ => value,
            };
        }
        Some(value)
    }

    fn primary(&mut self) -> Option<Value> {
        let Some(token) = self.peek() else {
            return self.fail(self.end, "expected value in preprocessor expression");
        };
        self.at += 1;
        match token.kind {
            PpKind::Number => self.number(&token),
            PpKind::Char => self.cx.character(&token).map(|c| Value::signed(i64::from(c))),
            PpKind::Ident if self.peek().is_some_and(|t| t.is(Punct::LParen)) => {
                let shown = self.cx.shown(&token);
                // Clang's question for functions that are none of OpenCL C's: there are none.
                if shown == "__has_builtin" {
                    self.at += 1;
                    let name = self.peek().filter(|t| t.kind == PpKind::Ident);
                    self.at += 1;
                    if name.is_some() && self.accept(Punct::RParen) {
                        return Some(Value::signed(0));
                    }
                    return self.fail(token.span, "expected a name in parentheses after '__has_builtin'");
                }
                self.fail(token.span, format!("function-like macro '{shown}' is not defined"))
            }
            // OpenCL C: `true` is 1 as it is in C++; other names are 0.
            PpKind::Ident => Some(Value::signed(i64::from(token.text == self.cx.known.truth))),
            PpKind::Punct(Punct::LParen) => {
                let value = self.comma()?;
                if self.accept(Punct::RParen) {
                    return Some(value);
                }
                let span = self.peek().map_or(self.end, |t| t.span);
                self.fail(span, "expected ')' in preprocessor expression")
            }
            _ => {
                let shown = self.cx.shown(&token);
                self.fail(token.span, format!("invalid token '{shown}' in a preprocessor expression"))
            }
        }
    }

    fn number(&mut self, token: &PpToken) -> Option<Value> {
        let text = self.cx.names.name(token.text);
        self.cx.spend_bytes(text.len(), token.span);
        match literal::number(self.cx.names.name(token.text)) {
            Ok(literal::Number::Int(int)) => {
                let large = int.value > i64::MAX as u64;
                if large && !int.suffix.unsigned && int.base == Base::Decimal {
                    self.cx.warn(
                        token.span,
                        "integer literal is too large to be represented in a signed integer type, \
                         interpreting as unsigned",
                    );
                }
                Some(Value { bits: int.value, unsigned: int.suffix.unsigned || large })
            }
            Ok(literal::Number::Float { .. }) => {
                self.fail(token.span, "floating point literal in preprocessor expression")
            }
            Err(message) => self.fail(token.span, message),
        }
    }

    fn overflow(&mut self, span: Span) {
        if self.dead == 0 {
            self.cx.warn(span, "integer overflow in preprocessor expression");
        }
    }

    fn apply(&mut self, punct: Punct, span: Span, left: Value, right: Value) -> Option<Value> {
        use Punct::*;
        let unsigned = left.unsigned || right.unsigned;
        let (a, b) = (left.bits.cast_signed(), right.bits.cast_signed());
        let truth = |v: bool| Some(Value::signed(i64::from(v)));
        let less = |l: Value, r: Value| match unsigned {
            true => l.bits < r.bits,
            false => l.bits.cast_signed() < r.bits.cast_signed(),
        };
        let (bits, overflow) = match punct {
            PipePipe => return truth(left.is_true() || right.is_true()),
            AmpAmp => return truth(left.is_true() && right.is_true()),
            EqEq => return truth(left.bits == right.bits),
            Ne => return truth(left.bits != right.bits),
            Lt => return truth(less(left, right)),
            Gt => return truth(less(right, left)),
            Le => return truth(!less(right, left)),
            Ge => return truth(!less(left, right)),
            Pipe => (left.bits | right.bits, false),
            Caret => (left.bits ^ right.bits, false),
            Amp => (left.bits & right.bits, false),
            Shl | Shr => return Some(self.shift(punct, span, left, right)),
            Plus => (left.bits.wrapping_add(right.bits), a.checked_add(b).is_none()),
            Minus => (left.bits.wrapping_sub(right.bits), a.checked_sub(b).is_none()),
            Star => (left.bits.wrapping_mul(right.bits), a.checked_mul(b).is_none()),
            Slash | Percent if right.bits == 0 => {
                if self.dead == 0 {
                    let what = if punct == Slash { "division" } else { "remainder" };
                    return self.fail(span, format!("{what} by zero in preprocessor expression"));
                }
                (0, false)
            }
            Slash if unsigned => (left.bits / right.bits, false),
            Slash => (a.wrapping_div(b).cast_unsigned(), a.checked_div(b).is_none()),
            Percent if unsigned => (left.bits % right.bits, false),
            Percent => (a.wrapping_rem(b).cast_unsigned(), a.checked_rem(b).is_none()),
            _ => unreachable!("it has a precedence"),
        };
        if overflow && !unsigned {
            self.overflow(span);
        }
        Some(Value { bits, unsigned })
    }

    /// A shift; an amount that is negative or too large counts as 63, as clang has it, with a warning.
    fn shift(&mut self, punct: Punct, span: Span, left: Value, right: Value) -> Value {
        let amount = u32::try_from(right.bits).unwrap_or(64).min(64);
        if amount == 64 {
            self.overflow(span);
        }
        let amount = amount.min(63);
        let bits = match (punct, left.unsigned) {
            (Punct::Shl, _) => left.bits << amount,
            (_, true) => left.bits >> amount,
            (_, false) => (left.bits.cast_signed() >> amount).cast_unsigned(),
        };
        Value { bits, ..left }
    }
}
