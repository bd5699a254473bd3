//! Macros and their expansion (C99 6.10.3): definitions, calls, arguments, `#` and `##`.

use super::literal::shorten;
use super::{Cx, MAX_ARGUMENT_DEPTH, Stream, TokenStream};
use crate::diagnostic::Diagnostic;
use crate::lexer::{LINE_START, NO_EXPAND, PpKind, PpToken, SPACE, lex_one, spelling};
use crate::source::Span;
use crate::token::{Punct, Symbol};
use std::rc::Rc;

/// A macro.
pub(super) struct Macro {
    pub(super) name: Symbol,
    /// The name in the definition.
    pub(super) span: Span,
    pub(super) kind: MacroKind,
    /// Its replacement list, parameters and operators resolved.
    body: Rc<Vec<PpToken>>,
    /// Not while its replacement is being read.
    pub(super) enabled: bool,
    has_paste: bool,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum MacroKind {
    Object,
    Function {
        params: Vec<Symbol>,
        /// The last parameter takes all arguments that are left.
        variadic: bool,
    },
    Line,
    File,
    Counter,
}

/// An argument of a call; what is made of it is made once.
struct Argument {
    raw: Rc<Vec<PpToken>>,
    /// There is none for the variadic parameter, not even an empty one.
    omitted: bool,
    expanded: Option<Rc<Vec<PpToken>>>,
    string: Option<Symbol>,
}

impl Macro {
    pub(super) fn is_function(&self) -> bool {
        matches!(self.kind, MacroKind::Function { .. })
    }

    /// A macro that is computed where it is used.
    pub(super) fn computed(name: Symbol, kind: MacroKind, file: u32) -> Self {
        Self {
            name,
            span: Span { file, ..Span::default() },
            kind,
            body: Rc::default(),
            enabled: true,
            has_paste: false,
        }
    }

    pub(super) fn is_computed(&self) -> bool {
        matches!(self.kind, MacroKind::Line | MacroKind::File | MacroKind::Counter)
    }

    /// Whether the definitions are the same as 6.10.3p2 has it: blanks may differ in amount, not in presence.
    pub(super) fn same_as(&self, other: &Macro) -> bool {
        self.kind == other.kind
            && self.body.len() == other.body.len()
            && self.body.iter().zip(&*other.body).enumerate().all(|(i, (a, b))| {
                a.kind == b.kind
                    && a.text == b.text
                    && (i == 0 || a.has(SPACE) == b.has(SPACE))
                    && a.flags | SPACE == b.flags | SPACE
            })
    }
}

impl Cx<'_> {
    /// The macro that the tokens behind `#define` make; what is wrong with them is reported.
    pub(super) fn parse_definition(&mut self, name: &PpToken, rest: &[PpToken]) -> Option<Macro> {
        let (kind, body) = match rest.first() {
            Some(open) if open.is(Punct::LParen) && !open.has(SPACE) => {
                let (kind, used) = self.parse_params(name, rest)?;
                (kind, &rest[used..])
            }
            _ => (MacroKind::Object, rest),
        };
        if kind == MacroKind::Object
            && let Some(first) = body.first()
            && !first.has(SPACE)
        {
            let message = "whitespace is required after the macro name";
            self.warn(first.span, message);
        }
        let mut out: Vec<PpToken> = Vec::with_capacity(body.len());
        let (params, variadic) = match &kind {
            MacroKind::Function { params, variadic } => (params.as_slice(), *variadic),
            _ => (&[][..], false),
        };
        let index: rustc_hash::FxHashMap<Symbol, u32> = params.iter().copied().zip(0..).collect();
        let mut has_paste = false;
        let mut tokens = body.iter().peekable();
        while let Some(&token) = tokens.next() {
            let mut token = token;
            token.flags &= !(LINE_START | NO_EXPAND);
            match token.kind {
                PpKind::Ident if token.text == self.known.va_opt => {
                    self.error(token.span, "'__VA_OPT__' is not supported: it is not of C99");
                    return None;
                }
                PpKind::Ident => {
                    if let Some(&param) = index.get(&token.text) {
                        token.kind = PpKind::Param(param);
                    } else if token.text == self.known.va_args && !variadic {
                        let message = "__VA_ARGS__ can only appear in the expansion of a variadic macro";
                        self.warn(token.span, message);
                    }
                }
                PpKind::Punct(Punct::Hash) if kind != MacroKind::Object => {
                    let param = tokens
                        .next()
                        .and_then(|t| Some((index.get(&t.text).copied()?, t)))
                        .filter(|(_, t)| t.kind == PpKind::Ident);
                    let Some((param, operand)) = param else {
                        self.error(token.span, "'#' is not followed by a macro parameter");
                        return None;
                    };
                    token.kind = PpKind::Stringify(param);
                    token.text = operand.text;
                    token.span = token.span.to(operand.span);
                }
                PpKind::Punct(Punct::HashHash) => {
                    let place = match (out.is_empty(), tokens.peek()) {
                        (true, _) => Some("start"),
                        (_, None) => Some("end"),
                        _ => None,
                    };
                    if let Some(place) = place {
                        let message = format!("'##' cannot appear at {place} of macro expansion");
                        self.error(token.span, message);
                        return None;
                    }
                    has_paste = true;
                    token.kind = PpKind::Paste;
                }
                _ => {}
            }
            out.push(token);
        }
        if let Some(first) = out.first_mut() {
            // What stands before the replacement comes from the place of the call.
            first.flags &= !SPACE;
        }
        Some(Macro { name: name.text, span: name.span, kind, body: Rc::new(out), enabled: true, has_paste })
    }

    /// The parameter list that begins with `tokens[0]`, and the number of its tokens.
    fn parse_params(&mut self, name: &PpToken, tokens: &[PpToken]) -> Option<(MacroKind, usize)> {
        let mut params = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        let mut variadic = false;
        let mut at = 1;
        let missing = "missing ')' in macro parameter list";
        loop {
            let Some(token) = tokens.get(at) else {
                self.error(tokens.last().map_or(name.span, |t| t.span), missing);
                return None;
            };
            at += 1;
            match token.kind {
                PpKind::Punct(Punct::RParen) if params.is_empty() => break,
                PpKind::Punct(Punct::Ellipsis) => {
                    params.push(self.known.va_args);
                    variadic = true;
                }
                PpKind::Ident if token.text == self.known.va_args => {
                    let message = "__VA_ARGS__ cannot be the name of a macro parameter";
                    self.error(token.span, message);
                    return None;
                }
                PpKind::Ident => {
                    if !seen.insert(token.text) {
                        let message = format!("duplicate macro parameter name '{}'", self.shown(token));
                        self.error(token.span, message);
                        return None;
                    }
                    params.push(token.text);
                    // GNU: `args...` is the variadic parameter with a name of its own.
                    if tokens.get(at).is_some_and(|t| t.is(Punct::Ellipsis)) {
                        variadic = true;
                        at += 1;
                    }
                }
                _ => {
                    let message = format!("invalid token '{}' in macro parameter list", self.shown(token));
                    self.error(token.span, message);
                    return None;
                }
            }
            let after = tokens.get(at).copied();
            at += 1;
            match after {
                Some(t) if t.is(Punct::RParen) => break,
                Some(t) if t.is(Punct::Comma) && !variadic => {}
                Some(t) if t.is(Punct::Comma) || variadic => {
                    self.error(t.span, missing);
                    return None;
                }
                Some(t) => {
                    self.error(t.span, "expected comma in macro parameter list");
                    return None;
                }
                None => {
                    self.error(tokens.last().map_or(name.span, |t| t.span), missing);
                    return None;
                }
            }
        }
        Some((MacroKind::Function { params, variadic }, at))
    }

    /// Expands `name`, which is that of the macro `id`: its replacement is read next. Gives a token if there is no
    /// replacement list: the value of a computed macro, or the name itself if the call is wrong.
    pub(super) fn expand(&mut self, mut name: PpToken, id: usize) -> Option<PpToken> {
        let (text, kind) = match &self.macros[id].kind {
            MacroKind::Line => (self.current_line(&name).to_string(), PpKind::Number),
            MacroKind::File => {
                let file = self.sources.location(name.span).file;
                (quote(&file), PpKind::Str)
            }
            MacroKind::Counter => {
                self.counter += 1;
                ((self.counter - 1).to_string(), PpKind::Number)
            }
            MacroKind::Object => {
                self.note(&name, name.span, id);
                self.enter(&name, id, &mut []);
                return None;
            }
            MacroKind::Function { .. } => {
                let Some((mut arguments, end)) = self.read_arguments(&name, id) else {
                    name.flags |= NO_EXPAND;
                    return Some(name);
                };
                self.note(&name, name.span.to(end), id);
                self.enter(&name, id, &mut arguments);
                return None;
            }
        };
        self.spend_bytes(text.len(), name.span);
        let text = self.names.intern(&text);
        Some(PpToken { kind, text, ..name })
    }

    fn note(&mut self, name: &PpToken, call: Span, id: usize) {
        let text = self.names.name(name.text);
        self.sources.note_expansion(name.span, call, text, self.macros[id].span);
    }

    /// Makes the replacement of the macro what is read next.
    fn enter(&mut self, name: &PpToken, id: usize, arguments: &mut [Argument]) {
        let shared = arguments.is_empty() && !self.macros[id].has_paste;
        let (tokens, trail) = if shared {
            (self.macros[id].body.clone(), 0)
        } else {
            let (tokens, trail) = self.substitute(name, id, arguments);
            (Rc::new(tokens), trail)
        };
        self.macros[id].enabled = false;
        self.streams.push(Stream::Tokens(TokenStream {
            tokens,
            at: 0,
            // Arguments keep their spans; a shared body has those of the definition.
            stamp: shared.then_some(name.span),
            lead: Some(name.flags & SPACE),
            trail,
            expansion_of: Some(id),
        }));
    }

    /// The line that `__LINE__` has: in a macro, that on which the outermost call ends.
    fn current_line(&self, name: &PpToken) -> u32 {
        let span = match self.sources.expansion(name.span) {
            Some(expansion) => Span { lo: expansion.call.hi.saturating_sub(1), ..expansion.call },
            None => name.span,
        };
        self.sources.location(span).line
    }

    /// Reads the arguments of a call, whose `(` comes next; also gives the span of its `)`. `None` if they do not fit.
    fn read_arguments(&mut self, name: &PpToken, id: usize) -> Option<(Vec<Argument>, Span)> {
        let MacroKind::Function { params, variadic } = &self.macros[id].kind else {
            unreachable!("only calls have arguments");
        };
        let (wanted, variadic) = (params.len(), *variadic);
        self.in_arguments += 1;
        self.next_raw();
        let mut arguments = Vec::new();
        let mut current = Vec::new();
        let mut depth = 0u32;
        let end = loop {
            let mut token = self.next_raw();
            self.spend(1, name.span);
            match token.kind {
                PpKind::Eof | PpKind::Newline => {
                    if token.kind == PpKind::Newline {
                        self.lexer().unread_newline(&token);
                    }
                    self.in_arguments -= 1;
                    let what = "unterminated call of macro";
                    self.argument_error(name, id, what);
                    return None;
                }
                PpKind::Punct(Punct::RParen) if depth == 0 => break token.span,
                PpKind::Punct(Punct::RParen) => depth -= 1,
                PpKind::Punct(Punct::LParen) => depth += 1,
                PpKind::Punct(Punct::Comma) if depth == 0 && !(variadic && arguments.len() + 1 == wanted) => {
                    arguments.push(std::mem::take(&mut current));
                    continue;
                }
                // Reading on may end the replacement that disables it, which must not count.
                PpKind::Ident if self.lookup(token.text).is_some_and(|m| !self.macros[m].enabled) => {
                    token.flags |= NO_EXPAND;
                }
                _ => {}
            }
            current.push(token);
        };
        self.in_arguments -= 1;
        if wanted > 0 || !arguments.is_empty() || !current.is_empty() {
            arguments.push(current);
        }
        let omitted = variadic && arguments.len() + 1 == wanted;
        if omitted {
            arguments.push(Vec::new());
        }
        if arguments.len() != wanted {
            let amount = if arguments.len() < wanted { "few" } else { "many" };
            let what = format!("too {amount} arguments ({}) for macro", arguments.len());
            self.argument_error(name, id, &what);
            return None;
        }
        let argument = |(i, raw)| Argument {
            raw: Rc::new(raw),
            omitted: omitted && i + 1 == wanted,
            expanded: None,
            string: None,
        };
        Some((arguments.into_iter().enumerate().map(argument).collect(), end))
    }

    fn argument_error(&mut self, name: &PpToken, id: usize, what: &str) {
        let shown = self.shown(name);
        let definition = self.macros[id].span;
        self.report(
            Diagnostic::error(name.span, format!("{what} '{shown}'"))
                .with_note(definition, format!("macro '{shown}' defined here")),
        );
    }

    /// The replacement list of the macro with the arguments in it, `#` and `##` done; also the blanks for the token that
    /// follows it.
    fn substitute(&mut self, name: &PpToken, id: usize, arguments: &mut [Argument]) -> (Vec<PpToken>, u8) {
        let body = self.macros[id].body.clone();
        let (wanted, variadic) = match &self.macros[id].kind {
            MacroKind::Function { params, variadic } => (params.len(), *variadic),
            _ => (0, false),
        };
        let mut out: Vec<PpToken> = Vec::with_capacity(body.len());
        // Blanks before an argument that turned out empty go to what follows it.
        let mut pending = 0;
        for (i, &token) in body.iter().enumerate() {
            if self.stopped {
                break;
            }
            let token = PpToken { span: name.span, flags: token.flags | std::mem::take(&mut pending), ..token };
            self.spend(1, name.span);
            match token.kind {
                PpKind::Param(index) => {
                    let argument = &mut arguments[index as usize];
                    let after_paste = i > 0 && body[i - 1].kind == PpKind::Paste;
                    let before_paste = body.get(i + 1).is_some_and(|t| t.kind == PpKind::Paste);
                    let after_comma =
                        after_paste && variadic && index as usize + 1 == wanted && body[i - 2].is(Punct::Comma);
                    let tokens =
                        if after_paste || before_paste { argument.raw.clone() } else { self.expanded(argument) };
                    if after_comma && (argument.omitted || !tokens.is_empty()) {
                        // GNU: `, ## __VA_ARGS__` is not a paste, and without an argument the comma goes too.
                        out.pop();
                        if let (true, Some(comma)) = (tokens.is_empty(), out.last_mut()) {
                            comma.kind = PpKind::Placemarker;
                        }
                    }
                    if tokens.is_empty() && (after_paste || before_paste) {
                        let kind = PpKind::Placemarker;
                        out.push(PpToken { kind, ..token });
                    }
                    self.spend(tokens.len() as u64, name.span);
                    let start = out.len();
                    out.extend_from_slice(&tokens);
                    match out.get_mut(start) {
                        Some(first) => first.flags = first.flags & !SPACE | token.flags & SPACE,
                        None => pending = token.flags & SPACE,
                    }
                }
                PpKind::Stringify(index) => {
                    let text = self.stringified(&mut arguments[index as usize], name.span);
                    let kind = PpKind::Str;
                    out.push(PpToken { kind, text, ..token });
                }
                _ => out.push(token),
            }
        }
        if self.macros[id].has_paste {
            out = self.paste_all(out, name.span);
        }
        out.retain(|t| t.kind != PpKind::Placemarker);
        (out, pending)
    }

    /// The argument with its macros expanded, as if it were all there is (6.10.3.1).
    fn expanded(&mut self, argument: &mut Argument) -> Rc<Vec<PpToken>> {
        if let Some(tokens) = &argument.expanded {
            return tokens.clone();
        }
        let has_macro =
            argument.raw.iter().any(|t| t.kind == PpKind::Ident && !t.has(NO_EXPAND) && self.lookup(t.text).is_some());
        let tokens = match argument.raw.first() {
            Some(first) if has_macro => {
                let span = first.span;
                Rc::new(self.expand_alone(argument.raw.clone(), span))
            }
            _ => argument.raw.clone(),
        };
        argument.expanded = Some(tokens.clone());
        tokens
    }

    fn expand_alone(&mut self, tokens: Rc<Vec<PpToken>>, span: Span) -> Vec<PpToken> {
        if self.argument_depth == MAX_ARGUMENT_DEPTH {
            let message = format!("macro calls within arguments are nested more than {MAX_ARGUMENT_DEPTH} deep");
            self.stop(span, message);
            return Vec::new();
        }
        self.argument_depth += 1;
        let (height, carried) = (self.streams.len(), std::mem::take(&mut self.carried));
        self.streams.push(Stream::Tokens(TokenStream {
            tokens,
            at: 0,
            stamp: None,
            lead: None,
            trail: 0,
            expansion_of: None,
        }));
        let mut out = Vec::new();
        loop {
            let token = self.next();
            if token.kind == PpKind::Eof {
                break;
            }
            out.push(token);
        }
        self.streams.truncate(height);
        self.carried = carried;
        self.argument_depth -= 1;
        out
    }

    /// The string literal that spells the argument (6.10.3.2).
    fn stringified(&mut self, argument: &mut Argument, span: Span) -> Symbol {
        if let Some(string) = argument.string {
            return string;
        }
        let mut text = String::from("\"");
        for (i, token) in argument.raw.iter().enumerate() {
            if i > 0 && token.has(SPACE) {
                text.push(' ');
            }
            let spelled = spelling(token, self.names);
            if spelled.contains(['"', '\'']) {
                escape_into(&mut text, spelled);
            } else {
                text.push_str(spelled);
            }
        }
        if text.bytes().rev().take_while(|&b| b == b'\\').count() % 2 == 1 {
            self.warn(span, "invalid string literal, ignoring final '\\'");
            text.pop();
        }
        text.push('"');
        if !matches!(lex_one(&text), Some((PpKind::Str, _))) {
            self.error(span, "'#' cannot make a string literal of this argument");
            text = "\"\"".to_owned();
        }
        self.spend_bytes(text.len(), span);
        let string = self.names.intern(&text);
        argument.string = Some(string);
        string
    }

    /// Carries out the `##` operators, from left to right.
    fn paste_all(&mut self, tokens: Vec<PpToken>, span: Span) -> Vec<PpToken> {
        let mut out: Vec<PpToken> = Vec::with_capacity(tokens.len());
        let mut tokens = tokens.into_iter();
        while let Some(token) = tokens.next() {
            if token.kind != PpKind::Paste {
                out.push(token);
                continue;
            }
            let Some(mut right) = tokens.next() else {
                break;
            };
            if right.kind == PpKind::Paste {
                right.kind = PpKind::Punct(Punct::HashHash);
            }
            let Some(left) = out.pop() else {
                out.push(right);
                continue;
            };
            if right.kind == PpKind::Placemarker {
                out.push(left);
            } else if left.kind == PpKind::Placemarker {
                let flags = right.flags & !SPACE | left.flags & SPACE;
                out.push(PpToken { flags, ..right });
            } else if let Some(joined) = self.paste(&left, &right, span) {
                out.push(joined);
            } else {
                out.extend([left, right]);
            }
        }
        out
    }

    fn paste(&mut self, left: &PpToken, right: &PpToken, span: Span) -> Option<PpToken> {
        let text = [spelling(left, self.names), spelling(right, self.names)].concat();
        // It is looked at again for each operator of a chain.
        self.spend_bytes(2 * text.len(), span);
        match lex_one(&text) {
            Some((kind, flags)) => {
                let text = match kind {
                    PpKind::Punct(_) => Symbol(0),
                    _ => self.names.intern(&text),
                };
                let flags = left.flags & SPACE | flags;
                Some(PpToken { kind, text, span, flags })
            }
            None => {
                let message = format!("pasting formed '{}', an invalid preprocessing token", shorten(&text));
                self.error(span, message);
                None
            }
        }
    }
}

/// The string literal with this value.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    escape_into(&mut out, text);
    out.push('"');
    out
}

fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
}
