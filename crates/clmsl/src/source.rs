//! The source table: every text a [`Span`] can point into, and how a span becomes a line that a person can open.
//!
//! A file is entered once per inclusion (its text is shared), so that a span also tells through which `#include` it
//! came. Texts that no file holds have entries too: built-in macros, `-D` definitions, and the results of `##`.
//! A token that a macro made has the span of the macro's name where the user wrote it; [`Sources::expansion`] leads from
//! there to the definition. `#line` changes what [`Sources::location`] answers, never a span.

use rustc_hash::FxHashMap as HashMap;
use std::sync::Arc;

/// A range of bytes of one source file. The default is the empty range at the start of file 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Index into [`Sources`].
    pub file: u32,
    /// Offset of the first byte.
    pub lo: u32,
    /// Offset behind the last byte; at least `lo`.
    pub hi: u32,
}

impl Span {
    /// The range from the start of `self` to the end of `other`; `self` alone if they are in different files or
    /// `other` ends before `self` begins (one of them was made by a macro elsewhere).
    pub fn to(self, other: Span) -> Span {
        if self.file == other.file && other.hi >= self.lo {
            Span { file: self.file, lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
        } else {
            self
        }
    }

    /// The empty range behind `self`: where something is missing.
    pub fn end(self) -> Span {
        Span { lo: self.hi, ..self }
    }

    /// The empty range at the start of `self`.
    pub fn start(self) -> Span {
        Span { hi: self.lo, ..self }
    }
}

/// Where a span begins, as `#line` directives want it called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Name of the file: the one given to the translator or by the include callback, or that of a `#line` directive.
    pub file: String,
    /// Line, from 1; a `#line` directive may make it 0.
    pub line: u32,
    /// Column, from 1, in bytes, as clang counts.
    pub column: u32,
}

/// A macro expansion as the user wrote it in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The macro's name.
    pub name: String,
    /// The macro's name in its definition.
    pub definition: Span,
    /// The whole invocation, with the arguments.
    pub call: Span,
}

/// What a `#line` directive set: from the byte `from` on, lines count from `line`.
#[derive(Clone, Debug)]
struct LineMark {
    from: u32,
    line: u32,
    name: Option<Arc<str>>,
}

/// One entry of the table.
#[derive(Clone, Debug)]
struct SourceFile {
    name: String,
    text: Arc<str>,
    line_starts: Arc<[u32]>,
    included_at: Option<Span>,
    marks: Vec<LineMark>,
    is_virtual: bool,
}

/// The files of one translation and the macro expansions in them.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
    /// Files by name, to share the text of those included many times.
    by_name: HashMap<String, u32>,
    /// Outermost expansions by file and offset of the macro's name.
    expansions: HashMap<(u32, u32), Expansion>,
}

impl Sources {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Enters a source file, `included_at` being its `#include` directive; returns its index.
    /// `None` if the text has 4 GiB or more, which a [`Span`] cannot address.
    pub fn add(&mut self, name: &str, text: &str, included_at: Option<Span>) -> Option<u32> {
        if u32::try_from(text.len()).map_or(true, |n| n == u32::MAX) {
            return None;
        }
        let shared = self
            .by_name
            .get(name)
            .and_then(|&f| self.files.get(f as usize))
            .filter(|f| *f.text == *text)
            .map(|f| (f.text.clone(), f.line_starts.clone()));
        let (text, line_starts) = shared.unwrap_or_else(|| (Arc::from(text), Arc::from(line_starts(text))));
        let file = self.push(SourceFile {
            name: name.to_owned(),
            text,
            line_starts,
            included_at,
            marks: Vec::new(),
            is_virtual: false,
        });
        self.by_name.insert(name.to_owned(), file);
        Some(file)
    }

    /// Enters a text that no file holds, such as a `-D` definition; `made_at` is where it came from, if from a source.
    pub fn add_virtual(&mut self, name: &str, text: &str, made_at: Option<Span>) -> Option<u32> {
        if u32::try_from(text.len()).map_or(true, |n| n == u32::MAX) {
            return None;
        }
        Some(self.push(SourceFile {
            name: name.to_owned(),
            text: Arc::from(text),
            line_starts: Arc::from(line_starts(text)),
            included_at: made_at,
            marks: Vec::new(),
            is_virtual: true,
        }))
    }

    fn push(&mut self, file: SourceFile) -> u32 {
        let index = u32::try_from(self.files.len()).expect("the preprocessor limits the number of inclusions");
        self.files.push(file);
        index
    }

    /// Whole text of a file.
    ///
    /// # Panics
    /// If `file` is not an index of this table.
    pub fn text(&self, file: u32) -> Arc<str> {
        self.files[file as usize].text.clone()
    }

    /// Name of a file as it was entered, without regard to `#line`; empty for an index not in the table.
    pub fn name(&self, file: u32) -> &str {
        self.files.get(file as usize).map_or("", |f| &f.name)
    }

    /// Whether the file is one that the user cannot open (built-in macros, `-D` definitions).
    pub fn is_virtual(&self, file: u32) -> bool {
        self.files.get(file as usize).is_some_and(|f| f.is_virtual)
    }

    /// The `#include` directive that brought the file in; `None` for the main file.
    pub fn included_at(&self, file: u32) -> Option<Span> {
        self.files.get(file as usize).and_then(|f| f.included_at)
    }

    /// The text of a span; empty if the span is not one of this table.
    pub fn snippet(&self, span: Span) -> &str {
        self.files.get(span.file as usize).and_then(|f| f.text.get(span.lo as usize..span.hi as usize)).unwrap_or("")
    }

    /// Where a span begins, found in logarithmic time. An offset behind the end counts as the end; an unknown file gives an empty name and line 0.
    pub fn location(&self, span: Span) -> Location {
        let (file, line) = self.line(span);
        let column = self.line_text(span).map_or(0, |(_, offset)| 1 + offset as u32);
        Location { file: file.to_owned(), line, column }
    }

    /// Name of the file and number of the line in which a span begins, as [`Sources::location`] has them.
    pub(crate) fn line(&self, span: Span) -> (&str, u32) {
        let Some(file) = self.files.get(span.file as usize) else {
            return ("", 0);
        };
        let line = file.line_number(span.lo);
        let mark_index = file.marks.partition_point(|m| m.from <= span.lo);
        match mark_index.checked_sub(1).map(|i| &file.marks[i]) {
            None => (&file.name, line),
            Some(mark) => {
                let name = mark.name.as_deref().unwrap_or(&file.name);
                (name, mark.line.saturating_add(line - file.line_number(mark.from)))
            }
        }
    }

    /// The source line (without its end) in which the span begins, and the span's offset in it in bytes.
    /// `None` if the span is not one of this table.
    pub fn line_text(&self, span: Span) -> Option<(&str, usize)> {
        self.files.get(span.file as usize).map(|file| file.line_of(span.lo))
    }

    /// Number of the line that holds the byte, from 1, without regard to `#line`; 0 for an unknown file.
    pub fn physical_line(&self, file: u32, offset: u32) -> u32 {
        self.files.get(file as usize).map_or(0, |f| f.line_number(offset))
    }

    /// From the byte `from` of `file` on (the start of a line), lines count from `line`, in the file `name` if given.
    /// Without a name, one set before stays.
    pub fn set_line(&mut self, file: u32, from: u32, line: u32, name: Option<String>) {
        if let Some(file) = self.files.get_mut(file as usize) {
            let name = name.map(Arc::from).or_else(|| file.marks.last().and_then(|m| m.name.clone()));
            file.marks.push(LineMark { from, line, name });
        }
    }

    /// Notes that the macro `name` was expanded at `call`; the first (outermost) expansion at a place is kept.
    /// `site` is the macro's name at that place.
    pub fn note_expansion(&mut self, site: Span, call: Span, name: &str, definition: Span) {
        self.expansions.entry((site.file, site.lo)).or_insert_with(|| Expansion {
            name: name.to_owned(),
            definition,
            call,
        });
    }

    /// The macro expansion that made a token with this span, if one did.
    pub fn expansion(&self, span: Span) -> Option<&Expansion> {
        self.expansions.get(&(span.file, span.lo))
    }
}

impl SourceFile {
    /// Number of the line (from 1) that holds `offset`.
    fn line_number(&self, offset: u32) -> u32 {
        self.line_starts.partition_point(|&s| s <= offset) as u32
    }

    /// The text without its end of the line that holds `offset`, and the offset in it, moved back to the start of a
    /// character.
    fn line_of(&self, offset: u32) -> (&str, usize) {
        let offset = offset.min(self.text.len() as u32);
        let index = self.line_number(offset) as usize;
        let start = self.line_starts[index - 1] as usize;
        let end = self.line_starts.get(index).map_or(self.text.len(), |&e| e as usize);
        let line = self.text[start..end].trim_end_matches(['\n', '\r']);
        let mut within = (offset as usize - start).min(line.len());
        while !line.is_char_boundary(within) {
            within -= 1;
        }
        (line, within)
    }
}

/// Offsets of the first byte of each line; a line ends with `\n`, `\r\n` or `\r`.
fn line_starts(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for (i, &b) in bytes.iter().enumerate() {
        if b == b'\n' || (b == b'\r' && bytes.get(i + 1) != Some(&b'\n')) {
            starts.push(i as u32 + 1);
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(file: u32, lo: u32) -> Span {
        Span { file, lo, hi: lo }
    }

    #[test]
    fn location_counts_lines_and_bytes() {
        let mut sources = Sources::new();
        let file = sources.add("a.cl", "x\r\n\té y\rz\n", None).unwrap();
        let place = |lo| {
            let l = sources.location(at(file, lo));
            (l.line, l.column)
        };
        assert_eq!(place(0), (1, 1));
        assert_eq!(place(3), (2, 1));
        assert_eq!(place(7), (2, 5)); // behind a tab, a two-byte character and a space
        assert_eq!(place(5), (2, 2)); // inside the character: its start
        assert_eq!(place(9), (3, 1));
        assert_eq!(place(11), (4, 1));
        assert_eq!(place(99), (4, 1));
    }

    #[test]
    fn line_marks_rename_what_follows() {
        let mut sources = Sources::new();
        let file = sources.add("a.cl", "1\n2\n3\n4\n5\n", None).unwrap();
        sources.set_line(file, 4, 100, Some("b.cl".into()));
        sources.set_line(file, 8, 7, None);
        let place = |lo| {
            let l = sources.location(at(file, lo));
            (l.file, l.line)
        };
        assert_eq!(place(2), ("a.cl".into(), 2));
        assert_eq!(place(4), ("b.cl".into(), 100));
        assert_eq!(place(6), ("b.cl".into(), 101));
        assert_eq!(place(8), ("b.cl".into(), 7));
        assert_eq!(sources.physical_line(file, 8), 5);
    }

    #[test]
    fn an_included_file_shares_its_text() {
        let mut sources = Sources::new();
        let a = sources.add("h", "int x;", None).unwrap();
        let b = sources.add("h", "int x;", Some(at(a, 1))).unwrap();
        let c = sources.add("h", "int y;", Some(at(a, 2))).unwrap();
        assert!(Arc::ptr_eq(&sources.text(a), &sources.text(b)));
        assert_eq!(&*sources.text(c), "int y;");
        assert_eq!(sources.included_at(b), Some(at(a, 1)));
    }

    #[test]
    fn a_span_of_another_table_is_harmless() {
        let sources = Sources::new();
        assert_eq!(sources.location(at(3, 9)).line, 0);
        assert_eq!(sources.snippet(at(3, 9)), "");
        assert_eq!(sources.line_text(at(3, 9)), None);
    }
}
