//! Colours of C-like source in a report: comments, words of the language, numbers, strings, preprocessor lines.

/// What a piece of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Plain,
    Comment,
    Word,
    Number,
    Text,
    Directive,
}

impl Class {
    /// Name of its style in the report.
    pub(crate) fn style(self) -> &'static str {
        match self {
            Class::Plain => "",
            Class::Comment => "c",
            Class::Word => "w",
            Class::Number => "n",
            Class::Text => "t",
            Class::Directive => "d",
        }
    }
}

const WORDS: &[&str] = &[
    "__attribute__",
    "__constant",
    "__global",
    "__kernel",
    "__local",
    "__private",
    "__read_only",
    "__write_only",
    "__read_write",
    "break",
    "case",
    "const",
    "constant",
    "continue",
    "default",
    "device",
    "do",
    "else",
    "enum",
    "for",
    "global",
    "goto",
    "if",
    "inline",
    "kernel",
    "local",
    "private",
    "return",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "thread",
    "threadgroup",
    "typedef",
    "typename",
    "union",
    "void",
    "volatile",
    "while",
];

/// Splits a line; `in_comment` says whether it begins inside a `/* */` and is left saying whether the next does.
pub(crate) fn split<'a>(line: &'a str, in_comment: &mut bool) -> Vec<(Class, &'a str)> {
    let mut pieces = Vec::new();
    let mut rest = line;
    if !*in_comment && line.trim_start().starts_with('#') {
        let end = line.find("//").or_else(|| line.find("/*")).unwrap_or(line.len());
        pieces.push((Class::Directive, &line[..end]));
        rest = &line[end..];
    }
    while !rest.is_empty() {
        let (class, length) = piece(rest, in_comment);
        let (text, behind) = rest.split_at(length);
        match pieces.last_mut() {
            Some((Class::Plain, last)) if class == Class::Plain => {
                // Both lie side by side in the line.
                let start = line.len() - rest.len() - last.len();
                *last = &line[start..line.len() - behind.len()];
            }
            _ => pieces.push((class, text)),
        }
        rest = behind;
    }
    pieces
}

/// Class and bytes of what `text` begins with.
fn piece(text: &str, in_comment: &mut bool) -> (Class, usize) {
    let run = |from: usize, f: fn(char) -> bool| text[from..].find(|c| !f(c)).map_or(text.len(), |at| from + at);
    if *in_comment || text.starts_with("/*") {
        let from = if *in_comment { 0 } else { 2 };
        let end = text[from..].find("*/").map(|at| from + at + 2);
        *in_comment = end.is_none();
        return (Class::Comment, end.unwrap_or(text.len()));
    }
    if text.starts_with("//") {
        return (Class::Comment, text.len());
    }
    let first = text.chars().next().unwrap_or(' ');
    match first {
        '"' | '\'' => (Class::Text, literal(text, first)),
        '0'..='9' => (Class::Number, run(0, |c| c.is_ascii_alphanumeric() || c == '.')),
        _ if first.is_alphabetic() || first == '_' => {
            let end = run(0, |c| c.is_alphanumeric() || c == '_');
            (if WORDS.contains(&&text[..end]) { Class::Word } else { Class::Plain }, end)
        }
        _ => (Class::Plain, first.len_utf8()),
    }
}

/// Bytes of a string or character literal, which may lack its end.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Class::*;

    #[test]
    fn lines() {
        let cases: &[(&str, &[(Class, &str)])] = &[
            ("int x = 1.5f; // one", &[(Plain, "int x = "), (Number, "1.5f"), (Plain, "; "), (Comment, "// one")]),
            ("  #define N 4 // four", &[(Directive, "  #define N 4 "), (Comment, "// four")]),
            ("__kernel void f", &[(Word, "__kernel"), (Plain, " "), (Word, "void"), (Plain, " f")]),
            ("c = '\\''; s = \"a\\\"", &[(Plain, "c = "), (Text, "'\\''"), (Plain, "; s = "), (Text, "\"a\\\"")]),
            ("ä = ü", &[(Plain, "ä = ü")]),
            ("", &[]),
        ];
        for (line, pieces) in cases {
            assert_eq!(split(line, &mut false), *pieces, "{line}");
        }
    }

    #[test]
    fn comments_go_over_lines() {
        let mut inside = false;
        assert_eq!(split("a /* b", &mut inside), [(Plain, "a "), (Comment, "/* b")]);
        assert!(inside);
        assert_eq!(split("# c */ if", &mut inside), [(Comment, "# c */"), (Plain, " "), (Word, "if")]);
        assert!(!inside);
    }
}
