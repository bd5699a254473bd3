//! The report of a port, as HTML pages that need nothing else: an overview, and for each file the source beside its
//! translation, line by line as the translation's `#line` directives say. What was rejected is marked where it stands.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use clmsl::{Diagnostic, Severity, Sources};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::highlight::split;
use crate::port::{Checked, Ported};
use crate::project::{self, Translated};

/// A page with its style; `root` leads back to the overview's folder.
pub(crate) fn page(title: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(include_str!("report.css"))) }
            }
            body { (body) }
        }
    }
    .into_string()
}

/// Where the page of a file lies below the report's folder.
pub(crate) fn page_of(output: &Path) -> String {
    format!("files/{}", output.with_extension("html").display())
}

/// The overview.
pub(crate) fn overview(title: &str, device: Option<&str>, files: &[Ported<'_>]) -> String {
    let translated = files.iter().filter(|file| file.outcome.msl().is_some()).count();
    let kernels: usize = files.iter().map(|file| file.outcome.kernels()).sum();
    let failed = files.iter().filter(|file| matches!(file.checked, Checked::Failed(_))).count();
    let reasons = project::reasons(files.iter().map(|file| &file.outcome));
    let body = html! {
        h1 { (title) }
        p.faint { "OpenCL C to Metal Shading Language, by dcmetal " (env!("CARGO_PKG_VERSION")) }
        ul.totals {
            li { b { (files.len()) } "files" }
            li { b.good { (translated) } "translated" }
            li { b { (kernels) } "kernels in them" }
            li { b.bad[translated < files.len()] { (files.len() - translated) } "rejected" }
            @if let Some(device) = device {
                li { b.bad[failed > 0] { (translated - failed) } "compile on " (device) }
            }
        }
        @if device.is_none() { p.faint { "The translations were not compiled." } }
        @if !reasons.is_empty() {
            h2 { "Why files were rejected" }
            p.faint { "By the first error of each file." }
            div.wide { table.list {
                tr { th { "Files" } th { "Reason" } }
                @for (reason, count) in &reasons { tr { td.number { (count) } td { (reason) } } }
            } }
        }
        h2 { "Files" }
        div.wide { table.list {
            tr { th { "File" } th { "Translation" } th { "Kernels" } th { "Errors" } th { "Warnings" } }
            @for file in files { (row(file)) }
        } }
    };
    page(title, &body)
}

fn row(file: &Ported<'_>) -> Markup {
    let count = |severity| match &file.outcome.result {
        Ok(done) => done.translation.diagnostics.iter().filter(|d| d.severity == severity).count(),
        Err(_) => 0,
    };
    let number = |n: usize| if n == 0 { String::new() } else { n.to_string() };
    html! { tr {
        td { a href=(page_of(&file.outcome.job.output)) { (file.outcome.job.unit.name()) } }
        td { (state(file)) }
        td.number { (number(file.outcome.kernels())) }
        td.number { (number(count(Severity::Error))) }
        td.number { (number(count(Severity::Warning))) }
    } }
}

fn state(file: &Ported<'_>) -> Markup {
    match (&file.outcome.result, &file.checked) {
        (Err(_), _) => html! { span.bad { "not readable" } },
        (Ok(done), _) if done.translation.msl.is_none() => html! { span.bad { "rejected" } },
        (_, Checked::Passed) => html! { span.good { "translated, compiles" } },
        (_, Checked::Failed(_)) => html! { span.bad { "translated, does not compile" } },
        (_, Checked::No) => html! { span.good { "translated" } },
    }
}

/// The page of one file; `up` leads to the overview's folder.
pub(crate) fn file(file: &Ported<'_>, up: &str) -> String {
    let name = file.outcome.job.unit.name();
    let body = html! {
        p { a href=(format!("{up}index.html")) { "Overview" } }
        h1 { (name) }
        p { (state(file)) }
        @if file.outcome.msl().is_some() {
            @let result = format!("{up}../{}", file.outcome.job.output.display());
            p { a href=(result) { "Translation" } ", " a href=(Path::new(&result).with_extension("json").display()) { "reflection" } }
        }
        @if let Checked::Failed(log) = &file.checked {
            h2 { "What the device's compiler says" }
            pre { (log) }
        }
        @match &file.outcome.result {
            Err(error) => p.bad { (error) },
            Ok(done) => (content(&name, done)),
        }
    };
    page(&name, &body)
}

fn content(name: &str, done: &Translated) -> Markup {
    let sources = &done.translation.sources;
    let (here, elsewhere): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
        done.translation.diagnostics.iter().partition(|diagnostic| diagnostic.span.file == 0);
    html! {
        @for message in &done.unreadable { p.bad { (message) } }
        @if !elsewhere.is_empty() {
            h2 { "In included files" }
            @for diagnostic in elsewhere { pre { (sources.render(diagnostic)) } }
        }
        @match &done.translation.msl {
            None => (rejected(&done.text, &here, sources)),
            Some(msl) => (side_by_side(name, &done.text, msl, &here, sources)),
        }
    }
}

/// Diagnostics by the line of the file they stand in.
fn by_line<'d>(diagnostics: &[&'d Diagnostic], sources: &Sources) -> BTreeMap<u32, Vec<&'d Diagnostic>> {
    let mut lines: BTreeMap<u32, Vec<&Diagnostic>> = BTreeMap::new();
    for diagnostic in diagnostics {
        lines.entry(sources.physical_line(diagnostic.span.file, diagnostic.span.lo)).or_default().push(diagnostic);
    }
    lines
}

/// The class of the row of a line with messages.
fn marked(messages: Option<&Vec<&Diagnostic>>) -> &'static str {
    match messages.and_then(|list| list.iter().map(|diagnostic| diagnostic.severity).min()) {
        Some(Severity::Error) => "error",
        Some(_) => "warning",
        None => "",
    }
}

fn said(messages: Option<&Vec<&Diagnostic>>, sources: &Sources, columns: usize) -> Markup {
    html! { @for diagnostic in messages.into_iter().flatten() {
        tr class=(format!("said {}", diagnostic.severity)) {
            td.line {}
            td colspan=(columns - 1) {
                b { (diagnostic.severity) ": " } (diagnostic.message)
                @for (span, note) in &diagnostic.notes {
                    @let place = sources.location(*span);
                    br; span.faint { "note: " (note) " (" (place.file) ":" (place.line) ")" }
                }
            }
        }
    } }
}

/// A line in colours.
pub(crate) fn coloured(line: &str, in_comment: &mut bool) -> Markup {
    underlined(line, in_comment, 0..0)
}

/// A line in colours, underlined where a message is about it.
fn underlined(line: &str, in_comment: &mut bool, about: Range<usize>) -> Markup {
    let mut at = 0;
    let mut parts = Vec::new();
    for (class, text) in split(line, in_comment) {
        let cuts = [about.start, about.end].map(|cut| cut.clamp(at, at + text.len()) - at);
        parts.push((class.style().to_owned(), &text[..cuts[0]]));
        parts.push((format!("mark {}", class.style()), &text[cuts[0]..cuts[1]]));
        parts.push((class.style().to_owned(), &text[cuts[1]..]));
        at += text.len();
    }
    html! { @for (style, text) in parts.iter().filter(|(_, text)| !text.is_empty()) {
        @if style.is_empty() { (text) } @else { span class=(style.trim_end()) { (text) } }
    } }
}

/// The bytes of the line that its first message is about.
fn about(messages: Option<&Vec<&Diagnostic>>, sources: &Sources) -> Range<usize> {
    let Some(span) = messages.and_then(|list| list.first()).map(|diagnostic| diagnostic.span) else { return 0..0 };
    let Some((line, from)) = sources.line_text(span) else { return 0..0 };
    let mut to = (from + (span.hi - span.lo) as usize).min(line.len());
    while !line.is_char_boundary(to) {
        to -= 1;
    }
    from..to.max(from)
}

fn rejected(text: &str, diagnostics: &[&Diagnostic], sources: &Sources) -> Markup {
    let messages = by_line(diagnostics, sources);
    let mut in_comment = false;
    html! { table.code {
        tr { th {} th { "OpenCL C" } }
        @for (number, line) in (1u32..).zip(text.lines()) {
            @let messages = messages.get(&number);
            tr class=(marked(messages)) {
                td.line { (number) }
                td { (underlined(line, &mut in_comment, about(messages, sources))) }
            }
            (said(messages, sources, 2))
        }
    } }
}

/// One line of a translation and where `#line` says that it comes from.
#[derive(Debug, PartialEq, Eq)]
struct Origin<'m> {
    /// `None`: nowhere, the text before the first `#line`.
    file: Option<&'m str>,
    line: u32,
    text: &'m str,
}

/// The lines of a translation without its `#line` directives.
fn origins(msl: &str) -> Vec<Origin<'_>> {
    let (mut file, mut line) = (None, 0);
    let mut out = Vec::new();
    for text in msl.lines() {
        if let Some((number, name)) = text.strip_prefix("#line ").and_then(|rest| rest.split_once(' ')) {
            line = number.parse().unwrap_or(0);
            file = Some(name.trim_matches('"'));
            continue;
        }
        out.push(Origin { file, line, text });
        line = line.saturating_add(1);
    }
    out
}

/// Whether a `#line` name is one of the prelude's.
fn is_prelude(file: Option<&str>) -> bool {
    file.is_none_or(|file| file.starts_with("<clmsl"))
}

/// A row: a line of the source, by number, or a note of where the other side comes from; and a line of the translation.
#[derive(Debug, PartialEq, Eq)]
struct Row<'m> {
    source: Option<u32>,
    from: Option<(&'m str, u32)>,
    result: Option<&'m str>,
}

/// Sets source lines 1 to `count` beside the lines made from them. A translation goes back in the source where functions
/// were copied or moved: such lines stand alone.
fn align<'m>(name: &str, count: u32, lines: &[Origin<'m>]) -> Vec<Row<'m>> {
    let mut rows = Vec::new();
    let mut next = 1;
    let source_only = |line| Row { source: Some(line), from: None, result: None };
    for origin in lines.iter().filter(|origin| !is_prelude(origin.file)) {
        let own = origin.file == Some(name);
        let (from, source) = match origin.line {
            line if own && (next..=count).contains(&line) => {
                rows.extend((next..line).map(source_only));
                next = line + 1;
                (None, Some(line))
            }
            line => (origin.file.map(|file| (file, line)).filter(|_| !origin.text.trim().is_empty()), None),
        };
        rows.push(Row { source, from, result: Some(origin.text) });
    }
    rows.extend((next..=count).map(source_only));
    rows
}

fn side_by_side(name: &str, text: &str, msl: &str, diagnostics: &[&Diagnostic], sources: &Sources) -> Markup {
    let messages = by_line(diagnostics, sources);
    let lines: Vec<&str> = text.lines().collect();
    let origins = origins(msl);
    let rows = align(name, lines.len() as u32, &origins);
    let prelude: Vec<&str> = origins.iter().filter(|o| is_prelude(o.file)).map(|o| o.text).collect();
    let (mut source_comment, mut result_comment) = (false, false);
    html! {
        @if prelude.len() > 1 {
            details { summary { "Before it: the header and " (prelude.len() - 1) " lines of functions that Metal lacks" }
                pre { @for line in prelude { (line) "\n" } }
            }
        }
        table.code.pair {
            tr { th {} th { "OpenCL C" } th {} th { "Metal Shading Language" } }
            @for row in rows {
                @let found = row.source.and_then(|number| messages.get(&number));
                tr class=(marked(found)) {
                    @match (row.source, row.from) {
                        (Some(number), _) => {
                            td.line { (number) }
                            td { (underlined(lines[number as usize - 1], &mut source_comment, about(found, sources))) }
                        }
                        (None, Some((file, line))) if file == name => { td.line {} td.faint { "from line " (line) } }
                        (None, Some((file, line))) => { td.line {} td.faint { "from " (file) ":" (line) } }
                        (None, None) => { td.line {} td {} }
                    }
                    td.line {} td { (coloured(row.result.unwrap_or(""), &mut result_comment)) }
                }
                (said(found, sources, 4))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_beside_what_they_come_from() {
        let msl = "#include <metal_stdlib>\n#line 7 \"<clmsl divide>\"\nint clmsl_div();\n#line 2 \"k.cl\"\nb\nc\n\
                   #line 9 \"h.h\"\nh\n#line 2 \"k.cl\"\nagain\n#line 5 \"k.cl\"\ne\n";
        let rows = align("k.cl", 6, &origins(msl));
        let short: Vec<_> = rows.iter().map(|r| (r.source.unwrap_or(0), r.from, r.result.unwrap_or("-"))).collect();
        assert_eq!(
            short,
            [
                (1, None, "-"),
                (2, None, "b"),
                (3, None, "c"),
                (0, Some(("h.h", 9)), "h"),
                (0, Some(("k.cl", 2)), "again"),
                (4, None, "-"),
                (5, None, "e"),
                (6, None, "-"),
            ]
        );
    }

    #[test]
    fn text_is_escaped() {
        let mut inside = false;
        assert_eq!(
            coloured("a<b> & \"</script>\"", &mut inside).into_string(),
            "a&lt;b&gt; &amp; <span class=\"t\">&quot;&lt;/script&gt;&quot;</span>"
        );
    }
}
