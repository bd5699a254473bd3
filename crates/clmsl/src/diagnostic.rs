//! What is wrong with a kernel, where, and how it is shown: `file:line:col: error: text`, the source line, a caret.
//!
//! Stages return `(T, Vec<Diagnostic>)` and go on behind an error. Rendering needs the [`Sources`] the spans point into;
//! it adds a note for a place that a macro made and one for each `#include` that led to it. There is no colour.

use crate::source::{Sources, Span};
use std::fmt;
use std::fmt::Write as _;

/// How bad a diagnostic is, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// There is no output.
    Error,
    /// The output is what the source says, which may not be what was meant.
    Warning,
    /// Says more about another diagnostic.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// One message about the user's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether there can be output.
    pub severity: Severity,
    /// What the message is about.
    pub span: Span,
    /// One sentence without a full stop; names the construct.
    pub message: String,
    /// Further places, each with its sentence.
    pub notes: Vec<(Span, String)>,
}

impl Diagnostic {
    /// An error without notes.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, span, message.into())
    }

    /// A warning without notes.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, span, message.into())
    }

    fn new(severity: Severity, span: Span, message: String) -> Self {
        Self { severity, span, message, notes: Vec::new() }
    }

    /// The same with one more note.
    pub fn with_note(mut self, span: Span, message: impl Into<String>) -> Self {
        self.notes.push((span, message.into()));
        self
    }

    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// A tab in a shown line goes to the next multiple of this many columns.
const TAB: usize = 8;
/// A line with more characters is shown in part, around the span.
const MAX_SHOWN: usize = 400;
/// At most this many `#include` directives are listed for one diagnostic.
const MAX_INCLUDE_NOTES: usize = 8;

impl Sources {
    /// The diagnostic and its notes as text, ending with a line break:
    /// ```text
    /// saxpy.cl:3:9: error: use of undeclared identifier 'z'
    ///     y = z;
    ///         ^
    /// ```
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        let mut out = String::new();
        let severity = diagnostic.severity;
        self.render_one(&mut out, severity, diagnostic.span, &diagnostic.message);
        if let Some(expansion) = self.expansion(diagnostic.span)
            && diagnostic.span.hi <= expansion.call.lo + expansion.name.len() as u32
        {
            let message = format!("in expansion of macro '{}'", expansion.name);
            self.render_one(&mut out, Severity::Note, expansion.definition, &message);
        }
        for (span, message) in &diagnostic.notes {
            self.render_one(&mut out, Severity::Note, *span, message);
        }
        let mut file = diagnostic.span.file;
        for _ in 0..MAX_INCLUDE_NOTES {
            let Some(at) = self.included_at(file) else {
                break;
            };
            let message = format!("'{}' is included here", self.name(file));
            self.render_one(&mut out, Severity::Note, at, &message);
            file = at.file;
        }
        out
    }

    fn render_one(&self, out: &mut String, severity: Severity, span: Span, message: &str) {
        let place = self.location(span);
        let _ = writeln!(out, "{}:{}:{}: {severity}: {message}", place.file, place.line, place.column);
        let Some((line, offset)) = self.line_text(span) else {
            return;
        };
        let end = (offset + (span.hi.saturating_sub(span.lo)) as usize).min(line.len());
        let (shown, marks) = expand(line, offset, end);
        if shown.trim().is_empty() {
            return;
        }
        let _ = writeln!(out, "{shown}\n{marks}");
    }
}

/// The line with tabs as spaces and the line below it: `^` under the character at `lo`, `~` under the rest up to `hi`.
fn expand(line: &str, lo: usize, hi: usize) -> (String, String) {
    let before = line[..lo].chars().count();
    let skip = before.saturating_sub(MAX_SHOWN / 2);
    let (mut shown, mut marks) = (String::new(), String::new());
    let mut column = 0;
    let mut rest = line.char_indices().skip(skip).peekable();
    for (at, c) in rest.by_ref().take(MAX_SHOWN) {
        let width = if c == '\t' { TAB - column % TAB } else { 1 };
        column += width;
        for i in 0..width {
            shown.push(match c {
                '\t' => ' ',
                c if c.is_control() => '\u{fffd}',
                c => c,
            });
            if at == lo && i == 0 {
                marks.push('^');
            } else if at >= lo && at < hi {
                marks.push('~');
            } else if at < lo {
                marks.push(' ');
            }
        }
    }
    if marks.len() == column && lo >= line.len() && rest.peek().is_none() {
        marks.push('^');
    }
    (shown, marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, lo: u32, hi: u32) -> String {
        let mut sources = Sources::new();
        let file = sources.add("k.cl", text, None).unwrap();
        sources.render(&Diagnostic::error(Span { file, lo, hi }, "bad"))
    }

    #[test]
    fn caret_and_rest_of_the_span() {
        assert_eq!(shown("int foo;\n", 4, 7), "k.cl:1:5: error: bad\nint foo;\n    ^~~\n");
    }

    #[test]
    fn tabs_go_to_multiples_of_eight() {
        assert_eq!(shown("a\tb\tc", 2, 5), "k.cl:1:3: error: bad\na       b       c\n        ^~~~~~~~~\n");
    }

    #[test]
    fn a_span_over_lines_is_marked_on_its_first() {
        assert_eq!(shown("a b\nc", 2, 5), "k.cl:1:3: error: bad\na b\n  ^\n");
    }

    #[test]
    fn the_end_of_the_line_can_be_marked() {
        assert_eq!(shown("ab\nc", 2, 2), "k.cl:1:3: error: bad\nab\n  ^\n");
    }

    #[test]
    fn a_long_line_is_shown_in_part() {
        let text = format!("{}X{}", "a".repeat(10_000), "b".repeat(10_000));
        let out = shown(&text, 10_000, 10_001);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[0], "k.cl:1:10001: error: bad");
        assert_eq!(lines[1].len(), MAX_SHOWN);
        assert_eq!(lines[1].find('X'), lines[2].find('^'));
    }

    #[test]
    fn includes_and_macros_are_noted() {
        let mut sources = Sources::new();
        let main = sources.add("m.cl", "#include \"h\"\n", None).unwrap();
        let site = Span { file: main, lo: 0, hi: 12 };
        let header = sources.add("h", "#define M x\nM;\n", Some(site)).unwrap();
        let span = |lo, hi| Span { file: header, lo, hi };
        sources.note_expansion(span(12, 13), span(12, 13), "M", span(8, 9));
        let text = sources.render(&Diagnostic::warning(span(12, 13), "odd"));
        assert_eq!(
            text,
            "h:2:1: warning: odd\nM;\n^\n\
             h:1:9: note: in expansion of macro 'M'\n#define M x\n        ^\n\
             m.cl:1:1: note: 'h' is included here\n#include \"h\"\n^~~~~~~~~~~~\n"
        );
    }
}
