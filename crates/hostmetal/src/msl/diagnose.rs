//! Diagnostics in Apple's format: `program_source:3:5: error: text`, the source line, a caret.
//!
//! clang sees rewritten text, so its places are mapped back twice: from the rewritten text to the token of the
//! preprocessed text, and from
//! there to the column in the user's own line (macro expansion shifts columns: the tokens of both lines are aligned).

use super::token::{Kind, Stream};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

/// The name Apple's compiler gives to source that came as a string.
pub(crate) const SOURCE_NAME: &str = "program_source";
/// As many findings as are printed.
pub(crate) const MOST_FINDINGS: usize = 100;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    Error,
    Warning,
    Note,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A finding about a token of the preprocessed source.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// The token; none when there is no place to point at.
    pub(crate) token: Option<usize>,
    /// Bytes into the token.
    pub(crate) offset: u32,
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn error(token: usize, text: impl Into<String>) -> Self {
        Self { severity: Severity::Error, token: Some(token), offset: 0, text: text.into() }
    }

    pub(crate) fn warning(token: usize, text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, token: Some(token), offset: 0, text: text.into() }
    }
}

/// Where the rewritten text came from: places in it in ascending order, with the token that each came from.
#[derive(Default)]
pub(crate) struct Map {
    /// Line, column (both from 1), token, whether the text is the token itself.
    pub(crate) segments: Vec<(u32, u32, usize, bool)>,
}

impl Map {
    /// The token at or before a place of the rewritten text, and the offset into it.
    pub(super) fn origin(&self, line: u32, column: u32) -> Option<(usize, u32)> {
        let behind = self.segments.partition_point(|&(l, c, _, _)| (l, c) <= (line, column));
        let &(l, c, token, exact) = self.segments.get(behind.checked_sub(1)?)?;
        Some((token, if exact && l == line { column - c } else { 0 }))
    }
}

/// The user's own text, to show lines of and to find columns in.
pub(crate) struct Original<'a> {
    lines: Vec<&'a str>,
    /// Presumed file and line (as `#line` says) to index of the physical line.
    physical: HashMap<(String, u32), usize>,
}

impl<'a> Original<'a> {
    /// Reads the lines and the `#line` directives of a source text.
    pub(crate) fn new(source: &'a str) -> Self {
        let lines: Vec<&str> = source.lines().collect();
        let mut physical = HashMap::new();
        let (mut file, mut line) = (SOURCE_NAME.to_owned(), 1u32);
        for (index, text) in lines.iter().enumerate() {
            if let Some((number, name)) = line_directive(text) {
                file = name.unwrap_or(file);
                line = number;
                continue;
            }
            physical.entry((file.clone(), line)).or_insert(index);
            line = line.wrapping_add(1);
        }
        Self { lines, physical }
    }

    fn line(&self, file: &str, line: u32) -> Option<(usize, &'a str)> {
        let index = *self.physical.get(&(file.to_owned(), line))?;
        Some((index, self.lines[index]))
    }
}

fn line_directive(text: &str) -> Option<(u32, Option<String>)> {
    let rest = text.trim_start().strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let number = digits.parse().ok()?;
    let name = rest[digits.len()..].trim().strip_prefix('"').and_then(|n| n.split('"').next()).map(str::to_owned);
    Some((number, name))
}

/// Turns findings into text.
pub(crate) struct Printer<'a> {
    stream: &'a Stream,
    original: Original<'a>,
    /// Columns of the tokens of preprocessed lines that were asked for, by the first token.
    columns: RefCell<BTreeMap<usize, Vec<u32>>>,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(stream: &'a Stream, source: &'a str) -> Self {
        Self { stream, original: Original::new(source), columns: RefCell::default() }
    }

    /// `file:line:column: severity: text`, the line, the caret.
    pub(crate) fn print(&self, finding: &Finding) -> String {
        let mut out = String::new();
        let place = finding.token.and_then(|t| self.stream.tokens.get(t).map(|token| (t, token)));
        let Some((index, token)) = place else {
            return format!("{SOURCE_NAME}: {}: {}\n", finding.severity.word(), finding.text);
        };
        let file = &self.stream.files[token.file as usize];
        let found = self.original.line(file, token.line);
        let column = found.map_or(token.column, |(_, line)| self.column(index, line)) + finding.offset;
        out.push_str(&format!("{file}:{}:{column}: {}: {}\n", token.line, finding.severity.word(), finding.text));
        if let Some((_, line)) = found {
            let line = line.trim_end();
            let before = line.get(..(column as usize - 1).min(line.len())).unwrap_or(line);
            let pad: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            out.push_str(&format!("{line}\n{pad}^\n"));
        }
        out
    }

    /// Line and column of a token in the user's text, both from 1. Of what another file brings it is the directive that
    /// includes the file.
    pub(crate) fn place(&self, index: usize, offset: u32) -> (u32, u32) {
        let Some(token) = self.stream.tokens.get(index) else { return (1, 1) };
        let line = |file: u32, line| self.original.line(&self.stream.files[file as usize], line);
        if let Some((at, line)) = line(token.file, token.line) {
            return (at as u32 + 1, self.column(index, line) + offset);
        }
        match self.stream.included(index).and_then(|from| line(from.file, from.line)) {
            Some((at, line)) => (at as u32 + 1, (line.len() - line.trim_start().len()) as u32 + 1),
            None => (token.line, token.column + offset),
        }
    }

    /// The column in the user's line of a token of the preprocessed line.
    fn column(&self, index: usize, line: &str) -> u32 {
        let mut known = self.columns.borrow_mut();
        if let Some((first, columns)) = known.range(..=index).next_back()
            && let Some(column) = columns.get(index - first)
        {
            return *column;
        }
        let token = &self.stream.tokens[index];
        let same_line = |i: usize| self.stream.tokens[i].line == token.line && self.stream.tokens[i].file == token.file;
        let first = (0..index).rev().take_while(|&i| same_line(i)).last().unwrap_or(index);
        let last = (index..self.stream.len()).take_while(|&i| same_line(i)).last().unwrap_or(index);
        let columns = self.columns(first, last, line);
        let column = columns[index - first];
        known.insert(first, columns);
        column
    }

    /// Of the tokens `first` to `last`, which are a preprocessed line: both lines' tokens are walked side by side; a run that
    /// only the preprocessed line has is a macro's expansion and takes the column of the macro's name.
    fn columns(&self, first: usize, last: usize, line: &str) -> Vec<u32> {
        // Enormous differences are not worth a table of their square.
        const LARGEST: usize = 1 << 22;
        let user = Stream::new(line.to_owned());
        let mine: Vec<&str> = (first..=last).map(|i| self.stream.at(i)).collect();
        let mut columns: Vec<u32> = (first..=last).map(|i| self.stream.tokens[i].column).collect();
        let (n, m) = (mine.len(), user.len());
        if m == 0 {
            return columns;
        }
        // What both begin and end with needs no table.
        let begin = (0..n.min(m)).take_while(|&i| mine[i] == user.at(i)).count();
        let end = (1..=n.min(m) - begin).take_while(|&i| mine[n - i] == user.at(m - i)).count();
        for i in (0..begin).chain(n - end..n) {
            columns[i] = user.tokens[if i < begin { i } else { m + i - n }].column;
        }
        let (rows, lanes) = (n - end - begin, m - end - begin);
        if rows * lanes > LARGEST {
            return columns;
        }
        // Longest common subsequence, from the back, so that the walk goes forward.
        let mut length = vec![vec![0u16; lanes + 1]; rows + 1];
        for a in (0..rows).rev() {
            for b in (0..lanes).rev() {
                length[a][b] = if mine[begin + a] == user.at(begin + b) {
                    length[a + 1][b + 1] + 1
                } else {
                    length[a + 1][b].max(length[a][b + 1])
                };
            }
        }
        let (mut a, mut b) = (0, 0);
        while a < rows {
            // Only in the expansion: the macro's name is the next token of the user's line that has no partner.
            let here = user.tokens[(begin + b).min(m - 1)].column;
            if b == lanes {
                columns[begin + a] = here;
                a += 1;
            } else if mine[begin + a] == user.at(begin + b) {
                columns[begin + a] = here;
                a += 1;
                b += 1;
            } else if length[a + 1][b] >= length[a][b + 1] {
                columns[begin + a] = here;
                a += 1;
            } else {
                b += 1;
            }
        }
        for i in first..=last {
            if self.stream.kind(i) == Some(Kind::Pragma) {
                columns[i - first] = self.stream.tokens[i].column;
            }
        }
        columns
    }
}

/// Findings as a compiler prints them, in the order given; of too many, warnings are the first that are not shown.
pub(crate) fn print(stream: &Stream, source: &str, findings: &[Finding]) -> String {
    let printer = Printer::new(stream, source);
    let mut room = MOST_FINDINGS.saturating_sub(findings.iter().filter(|f| f.severity == Severity::Error).count());
    let mut shown = |f: &&Finding| {
        let fits = f.severity == Severity::Error || room > 0;
        room -= usize::from(fits && f.severity != Severity::Error);
        fits
    };
    let mut log: String = findings.iter().filter(|f| shown(f)).take(MOST_FINDINGS).map(|f| printer.print(f)).collect();
    if findings.len() > MOST_FINDINGS {
        log.push_str(&format!(
            "{SOURCE_NAME}: note: {} more diagnostics are not shown\n",
            findings.len() - MOST_FINDINGS
        ));
    }
    log
}

/// What clang said about the rewritten text: `<file>:<line>:<column>: error: text` lines.
pub(crate) fn read_clang(output: &str, file: &str, map: &Map) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for line in output.lines() {
        let Some((place, severity, text)) = split_severity(line) else { continue };
        let token = place.strip_prefix(file).and_then(|rest| rest.strip_prefix(':')).and_then(|rest| {
            let mut numbers = rest.split(':');
            let line = numbers.next()?.parse().ok()?;
            let column = numbers.next()?.parse().ok()?;
            map.origin(line, column)
        });
        // Words of MSL that hostmetal_language.h renames.
        let text = tidy(text).replace("__id_", "");
        let text = match token {
            Some(_) => text,
            None if line.contains("static assertion failed") => text,
            // In our headers: name the header, not its path on this machine.
            None => match place.rsplit('/').next().map(|p| p.split(':').next().unwrap_or(p)) {
                Some(header) if !header.is_empty() && severity == Severity::Note => continue_note(header, &text),
                Some(header) if !header.is_empty() => format!("{text} (in {header})"),
                _ => text,
            },
        };
        findings.push(Finding { severity, token: token.map(|t| t.0), offset: token.map_or(0, |t| t.1), text });
    }
    // An error inside a header is told at the user's line that caused it: the first note that has one.
    for i in 0..findings.len() {
        if findings[i].token.is_none() && findings[i].severity != Severity::Note {
            let note =
                findings[i + 1..].iter().take_while(|f| f.severity == Severity::Note).find(|f| f.token.is_some());
            let (token, offset) = note.map_or((None, 0), |n| (n.token, n.offset));
            findings[i].token = token;
            findings[i].offset = offset;
        }
    }
    findings.retain(|f| f.token.is_some() || f.severity != Severity::Note);
    findings
}

fn continue_note(header: &str, text: &str) -> String {
    format!("{text} (in {header})")
}

fn split_severity(line: &str) -> Option<(&str, Severity, &str)> {
    let kinds = [
        ("fatal error: ", Severity::Error),
        ("error: ", Severity::Error),
        ("warning: ", Severity::Warning),
        ("note: ", Severity::Note),
    ];
    kinds
        .iter()
        .filter_map(|(word, severity)| {
            if let Some(text) = line.strip_prefix(word) {
                return Some((0, "", *severity, text));
            }
            let at = line.find(&format!(": {word}"))?;
            Some((at, &line[..at], *severity, &line[at + 2 + word.len()..]))
        })
        .min_by_key(|found| found.0)
        .map(|(_, place, severity, text)| (place, severity, text))
}

/// Clang's words for the address spaces in Metal's.
fn tidy(text: &str) -> String {
    // Our own assertions say all that matters themselves.
    let text = match text.strip_prefix("static assertion failed due to requirement '").and_then(|t| t.split_once("': "))
    {
        Some((_, own)) => own,
        None => text,
    };
    const WORDS: [(&str, &str); 22] = [
        ("'__private'", "'thread'"),
        ("'__global_host'", "'device'"),
        ("'__global_device'", "'constant'"),
        ("const __attribute__((opencl_global_device)) ", "constant "),
        ("__attribute__((opencl_global_device)) const ", "constant "),
        ("const __global_device ", "constant "),
        ("__global_device const ", "constant "),
        ("__global_device ", "constant "),
        ("'__global'", "'constant'"),
        ("'__local'", "'threadgroup'"),
        ("*__private", "*"),
        ("&__private", "&"),
        ("const __global ", "constant "),
        ("__global const ", "constant "),
        ("__attribute__((opencl_global_host)) ", "device "),
        ("__global_host ", "device "),
        ("__host ", "device "),
        ("__global ", "device "),
        ("__local ", "threadgroup "),
        ("__private ", "thread "),
        ("__generic ", ""),
        ("__constant ", "constant "),
    ];
    WORDS
        .iter()
        .fold(text.to_owned(), |text, (from, to)| if text.contains(from) { text.replace(from, to) } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place of each token that is spelled so.
    fn places(printer: &Printer, spelling: &str) -> Vec<(u32, u32)> {
        let stream = printer.stream;
        (0..stream.len()).filter(|&i| stream.is(i, spelling)).map(|i| printer.place(i, 0)).collect()
    }

    #[test]
    fn what_a_file_brings_is_where_the_file_is_included() {
        let source = "int a;\n  #include \"x.h\"\n#line 90 \"mine.metal\"\nint e;\n#include \"x.h\"\nint f;";
        let x = "int b;\n\n# 1 \"./y \\\"1\\\".h\" 1\nint c;\n# 4 \"./x.h\" 2\nint d;\n";
        let expanded = format!(
            "# 1 \"program_source\"\n# 1 \"<built-in>\" 1\n# 1 \"metal_macros.h\" 1\n# 2 \"<built-in>\" 2\n\
             # 1 \"program_source\" 2\nint a;\n# 1 \"./x.h\" 1\n{x}# 3 \"program_source\" 2\n\n\
             # 90 \"mine.metal\"\nint e;\n# 1 \"./x.h\" 1\n{x}# 92 \"mine.metal\" 2\nint f;"
        );
        let stream = Stream::new(expanded);
        let printer = Printer::new(&stream, source);
        let twice = vec![(2, 3), (5, 1)];
        let expected = [("a", vec![(1, 5)]), ("b", twice.clone()), ("c", twice.clone()), ("d", twice)];
        for (spelling, expected) in expected.into_iter().chain([("e", vec![(4, 5)]), ("f", vec![(6, 5)])]) {
            assert_eq!(places(&printer, spelling), expected, "{spelling}");
        }
    }

    #[test]
    fn lines_are_walked_once_and_may_be_enormous() {
        // `M` is `x + y`, and in the middle of 8000 tokens.
        let many = "a += b; ".repeat(1000);
        let (source, expanded) = (format!("{many}M; {many}"), format!("# 1 \"program_source\"\n{many}x + y; {many}"));
        let stream = Stream::new(expanded);
        let printer = Printer::new(&stream, &source);
        let expected: Vec<(u32, u32)> = source.match_indices("b;").map(|(at, _)| (1, at as u32 + 1)).collect();
        assert_eq!(places(&printer, "b"), expected);
        assert_eq!(places(&printer, "y"), [(1, many.len() as u32 + 1)]);
        assert_eq!(printer.columns.borrow().len(), 1);
    }
}
