//! Lines that begin with `#` (C99 6.10), except for what `#pragma` says and how `#if` is computed.

use super::expand::Macro;
use super::literal::shorten;
use super::{Condition, Cx, FileStream, MAX_INCLUDE_DEPTH, MAX_INCLUSIONS, Stream};
use crate::diagnostic::Diagnostic;
use crate::lexer::{LINE_START, Lexer, PpKind, PpToken, SPACE, spelling};
use crate::options::IncludeRequest;
use crate::source::Span;
use crate::token::Punct;

impl Cx<'_> {
    /// Carries out the directive that `hash` begins. A pragma that means something gives a token.
    pub(super) fn directive(&mut self, hash: &PpToken) -> Option<PpToken> {
        let in_arguments = std::mem::take(&mut self.in_arguments);
        let carried = std::mem::take(&mut self.carried);
        self.directive_depth += 1;
        self.lexer().in_directive = true;
        let name = self.next_raw();
        let mut pragma = None;
        match name.kind {
            PpKind::Newline | PpKind::Eof => {}
            // What a preprocessor leaves behind: `# 12 "file" 1`.
            PpKind::Number => self.line(&name, Some(name), true),
            PpKind::Ident => {
                let word = self.names.name(name.text).to_owned();
                match word.as_str() {
                    "include" | "pragma" if in_arguments > 0 => {
                        let message = format!("embedding a #{word} directive within macro arguments is not supported");
                        self.error(name.span, message);
                    }
                    "define" => self.define(),
                    "undef" => self.undef(),
                    "include" => self.include(hash.span.to(name.span)),
                    "if" => {
                        let active = self.condition(name.span);
                        self.open_condition(hash.span.to(name.span), active);
                    }
                    "ifdef" | "ifndef" => {
                        let active = self.is_defined(&name).map(|d| d == (word == "ifdef"));
                        self.open_condition(hash.span.to(name.span), active.unwrap_or(false));
                    }
                    "elif" | "elifdef" | "elifndef" | "else" => self.end_group(&name, &word),
                    "endif" => {
                        self.end_line("#endif");
                        if self.file().conditions.pop().is_none() {
                            self.error(name.span, "#endif without #if");
                        }
                    }
                    "line" => self.line(&name, None, false),
                    "error" | "warning" => {
                        let text = shorten(&self.lexer().rest_of_line());
                        let span = hash.span.to(name.span);
                        if word == "error" {
                            self.error(span, format!("#error {text}"));
                        } else {
                            self.warn(span, format!("#warning {text}"));
                        }
                    }
                    "pragma" => pragma = self.pragma_directive(hash.span.to(name.span)),
                    _ => {
                        let message = format!("invalid preprocessing directive '#{}'", shorten(&word));
                        self.error(name.span, message);
                    }
                }
            }
            _ => {
                let message = format!("invalid preprocessing directive '#{}'", self.shown(&name));
                self.error(name.span, message);
            }
        }
        self.skip_line();
        self.directive_depth -= 1;
        self.carried = carried;
        self.in_arguments = in_arguments;
        pragma
    }

    /// The file that is being read.
    ///
    /// # Panics
    /// If there is none: directives are in files.
    pub(super) fn file(&mut self) -> &mut FileStream {
        self.streams
            .iter_mut()
            .rev()
            .find_map(|stream| match stream {
                Stream::File(file) => Some(file),
                Stream::Tokens(_) => None,
            })
            .expect("directives are in files")
    }

    pub(super) fn lexer(&mut self) -> &mut Lexer {
        &mut self.file().lexer
    }

    /// The next token of the file itself.
    fn lex(&mut self) -> PpToken {
        let file = self.streams.iter_mut().rev().find_map(|stream| match stream {
            Stream::File(file) => Some(file),
            Stream::Tokens(_) => None,
        });
        let file = file.expect("directives are in files");
        file.lexer.next(self.names, &mut self.diagnostics)
    }

    /// Goes behind the end of the directive, if that was not read. An `#include` has opened its file by then, which is
    /// in no directive.
    fn skip_line(&mut self) {
        while self.lexer().in_directive {
            self.lex();
        }
    }

    /// The tokens up to the end of the line, not expanded.
    pub(super) fn raw_line(&mut self) -> Vec<PpToken> {
        let mut tokens = Vec::new();
        loop {
            let token = self.next_raw();
            if matches!(token.kind, PpKind::Newline | PpKind::Eof) {
                return tokens;
            }
            tokens.push(token);
        }
    }

    /// The tokens up to the end of the line, expanded.
    pub(super) fn expanded_line(&mut self) -> Vec<PpToken> {
        let mut tokens = Vec::new();
        loop {
            let token = self.next();
            if matches!(token.kind, PpKind::Newline | PpKind::Eof) {
                return tokens;
            }
            tokens.push(token);
        }
    }

    /// Warns of tokens that do not belong to the directive.
    fn end_line(&mut self, directive: &str) {
        if let Some(token) = self.raw_line().first() {
            let message = format!("extra tokens at end of {directive} directive");
            self.warn(token.span, message);
        }
    }

    /// The macro name that comes next; an error if there is none.
    fn macro_name(&mut self) -> Option<PpToken> {
        let token = self.next_raw();
        let message = match token.kind {
            PpKind::Ident if token.text == self.known.defined => "'defined' cannot be used as a macro name",
            PpKind::Ident => return Some(token),
            PpKind::Newline | PpKind::Eof => "macro name missing",
            _ => "macro name must be an identifier",
        };
        self.error(token.span, message);
        None
    }

    fn define(&mut self) {
        let Some(name) = self.macro_name() else {
            return;
        };
        let rest = self.raw_line();
        let Some(new) = self.parse_definition(&name, &rest) else {
            return;
        };
        let id = self.macros.len();
        if let Some(old) = self.lookup(name.text) {
            self.check_redefinition(&new, old);
        }
        self.macros.push(new);
        self.set_macro(name.text, Some(id));
    }

    fn check_redefinition(&mut self, new: &Macro, old: usize) {
        let old = &self.macros[old];
        if new.same_as(old) {
            return;
        }
        let text = self.names.name(new.name);
        let shown = shorten(text);
        if old.span.file == self.builtin_file {
            // Programs may have their own `NULL` or `M_PI_F`; the names with underscores are the language's.
            if old.is_computed() || text.starts_with("__") || text.starts_with("CL_VERSION") {
                self.warn(new.span, format!("redefining builtin macro '{shown}'"));
            }
            return;
        }
        let note = old.span;
        self.report(
            Diagnostic::warning(new.span, format!("'{shown}' macro redefined"))
                .with_note(note, "previous definition is here"),
        );
    }

    fn undef(&mut self) {
        let Some(name) = self.macro_name() else {
            return;
        };
        self.end_line("#undef");
        if let Some(old) = self.set_macro(name.text, None)
            && self.macros[old].is_computed()
        {
            let message = format!("undefining builtin macro '{}'", self.shown(&name));
            self.warn(name.span, message);
        }
    }

    fn include(&mut self, at: Span) {
        let faults = &mut Vec::new();
        let header = self.lexer().header_name(faults);
        self.diagnostics.append(faults);
        let header = match header {
            Some(header) => {
                self.end_line("#include");
                Some(header)
            }
            None => self.computed_header(),
        };
        let Some((path, angled, path_span)) = header else {
            self.error(at, "expected \"FILENAME\" or <FILENAME>");
            return;
        };
        if path.is_empty() {
            self.error(path_span, "empty filename");
            return;
        }
        let shown = shorten(&path);
        let depth = self.streams.len();
        if depth >= MAX_INCLUDE_DEPTH {
            let message = format!("'{shown}': #include nested more than {MAX_INCLUDE_DEPTH} deep");
            self.stop(path_span, message);
            return;
        }
        let Some(callback) = self.options.include else {
            let message = format!("'{shown}' file not found: this translation has no access to files");
            self.error(path_span, message);
            return;
        };
        let from = self.file().file;
        let found = callback(&IncludeRequest { path: &path, angled, from: self.sources.name(from) });
        let Some(found) = found else {
            self.error(path_span, format!("'{shown}' file not found"));
            return;
        };
        if self.once.contains(&found.name) {
            return;
        }
        self.inclusions += 1;
        if self.inclusions > MAX_INCLUSIONS {
            self.stop(path_span, format!("more than {MAX_INCLUSIONS} files are included"));
            return;
        }
        // The rest of the line belongs to this file, not to the one opened now.
        self.skip_line();
        let bytes = found.text.len();
        match self.sources.add(&found.name, &found.text, Some(at.to(path_span))) {
            Some(file) => self.open(file, bytes),
            None => self.error(path_span, format!("'{shown}' has 4 GiB or more")),
        }
    }

    /// The header that the macros behind `#include` name (6.10.2p4).
    fn computed_header(&mut self) -> Option<(String, bool, Span)> {
        let tokens = self.expanded_line();
        let first = tokens.first()?;
        match first.kind {
            PpKind::Str => {
                let text = self.names.name(first.text);
                let path = text.strip_prefix('"')?.strip_suffix('"')?.to_owned();
                Some((path, false, first.span))
            }
            PpKind::Punct(Punct::Lt) => {
                let end = tokens.iter().position(|t| t.is(Punct::Gt))?;
                let mut path = String::new();
                for (i, token) in tokens[1..end].iter().enumerate() {
                    if i > 0 && token.has(SPACE) {
                        path.push(' ');
                    }
                    path.push_str(spelling(token, self.names));
                    self.spend_bytes(spelling(token, self.names).len(), first.span);
                }
                Some((path, true, first.span.to(tokens[end].span)))
            }
            _ => None,
        }
    }

    /// `#line 12 "file"`; `first` is the number if it was read already. `marker` allows flags behind it.
    fn line(&mut self, at: &PpToken, first: Option<PpToken>, marker: bool) {
        let mut tokens = match marker {
            true => self.raw_line(),
            false => self.expanded_line(),
        }
        .into_iter();
        let number = first.or_else(|| tokens.next());
        let value = number
            .filter(|t| t.kind == PpKind::Number)
            .map(|t| self.names.name(t.text))
            .filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|text| text.parse::<u32>().ok())
            .filter(|&line| line <= i32::MAX as u32);
        let span = number.map_or(at.span.end(), |t| t.span);
        let Some(line) = value else {
            let message = "#line directive requires a positive integer argument below 2147483648";
            self.error(span, message);
            return;
        };
        let name = match tokens.next() {
            None => None,
            Some(token) if token.kind == PpKind::Str => match self.string(&token) {
                Some(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
                None => return,
            },
            Some(token) => {
                self.error(token.span, "invalid filename for #line directive");
                return;
            }
        };
        if let (Some(token), false) = (tokens.next(), marker) {
            self.warn(token.span, "extra tokens at end of #line directive");
        }
        let (file, from) = (self.file().file, self.lexer().position());
        self.sources.set_line(file, from, line, name);
    }

    /// Whether the macro named behind `#ifdef` is defined; an error if there is no name.
    fn is_defined(&mut self, directive: &PpToken) -> Option<bool> {
        let name = self.macro_name()?;
        let directive = format!("#{}", self.shown(directive));
        self.end_line(&directive);
        Some(self.lookup(name.text).is_some())
    }

    fn open_condition(&mut self, at: Span, active: bool) {
        self.skip_line();
        self.file().conditions.push(Condition { at, taken: active, seen_else: false });
        if !active {
            self.skip_group();
        }
    }

    /// `#elif` or `#else` behind an active group.
    fn end_group(&mut self, name: &PpToken, word: &str) {
        self.skip_line();
        match self.file().conditions.last_mut() {
            None => {
                self.error(name.span, format!("#{word} without #if"));
                return;
            }
            Some(condition) if condition.seen_else => {
                self.error(name.span, format!("#{word} after #else"));
            }
            Some(condition) => condition.seen_else = word == "else",
        }
        self.skip_group();
    }

    /// Goes over inactive groups, to behind the directive that ends them.
    fn skip_group(&mut self) {
        let mut depth = 0u32;
        loop {
            if self.stopped {
                return;
            }
            let hash = self.lex();
            if hash.kind == PpKind::Eof {
                return;
            }
            if !(hash.is(Punct::Hash) && hash.has(LINE_START)) {
                continue;
            }
            self.lexer().in_directive = true;
            let name = self.lex();
            let word = match name.kind {
                PpKind::Ident => self.names.name(name.text).to_owned(),
                _ => String::new(),
            };
            let mut active = false;
            match word.as_str() {
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" if depth > 0 => depth -= 1,
                "endif" => {
                    self.end_line("#endif");
                    self.file().conditions.pop();
                    return;
                }
                "else" | "elif" | "elifdef" | "elifndef" if depth == 0 => {
                    active = self.next_group(&name, &word);
                }
                _ => {}
            }
            self.skip_line();
            if active {
                return;
            }
        }
    }

    /// Whether the group that `#else` or `#elif` begins behind an inactive one is active.
    fn next_group(&mut self, name: &PpToken, word: &str) -> bool {
        let Some(condition) = self.file().conditions.last_mut() else {
            return true;
        };
        let (taken, seen_else) = (condition.taken, condition.seen_else);
        condition.seen_else |= word == "else";
        if seen_else {
            self.error(name.span, format!("#{word} after #else"));
            return false;
        }
        let active = !taken
            && match word {
                "else" => {
                    self.end_line("#else");
                    true
                }
                "elif" => self.condition(name.span),
                _ => self.is_defined(name) == Some(word == "elifdef"),
            };
        if let Some(condition) = self.file().conditions.last_mut() {
            condition.taken |= active;
        }
        active
    }
}
