//! The diagnostics of many files as SARIF 2.1.0 (OASIS standard, for code review tools) and as plain JSON.

use clmsl::{Diagnostic, Severity, Sources, Span};
use serde_json::{Value, json};

use crate::project::Outcome;

/// The JSON that `--diagnostics FILE.json` writes: per file its state and messages.
pub(crate) fn json(outcomes: &[Outcome<'_>]) -> Value {
    let file = |outcome: &Outcome<'_>| match &outcome.result {
        Err(error) => json!({ "file": outcome.job.unit.name(), "translated": false, "error": error }),
        Ok(done) => {
            let sources = &done.translation.sources;
            let list: Vec<Value> = done.translation.diagnostics.iter().map(|d| json_one(d, sources)).collect();
            json!({
                "file": outcome.job.unit.name(),
                "translated": outcome.msl().is_some(),
                "kernels": outcome.kernels(),
                "diagnostics": list,
            })
        }
    };
    json!({ "files": outcomes.iter().map(file).collect::<Vec<_>>() })
}

fn json_one(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let place = |span: Span| {
        let at = sources.location(span);
        json!({ "file": at.file, "line": at.line, "column": at.column })
    };
    let note = |(span, message): &(Span, String)| json!({ "message": message, "at": place(*span) });
    json!({
        "severity": diagnostic.severity.to_string(),
        "message": diagnostic.message,
        "at": place(diagnostic.span),
        "notes": diagnostic.notes.iter().map(note).collect::<Vec<_>>(),
    })
}

/// One SARIF log with one run.
pub(crate) fn sarif(outcomes: &[Outcome<'_>]) -> Value {
    let results: Vec<Value> = outcomes.iter().flat_map(results).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "dcmetal translate",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": [
                    { "id": "rejected", "shortDescription": { "text": "The program was not translated" } },
                    { "id": "warning", "shortDescription": { "text": "The program was translated and may not mean what was meant" } },
                    { "id": "unreadable", "shortDescription": { "text": "A file cannot be read" } },
                ],
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn results(outcome: &Outcome<'_>) -> Vec<Value> {
    match &outcome.result {
        Err(error) => vec![json!({
            "ruleId": "unreadable",
            "level": "error",
            "message": { "text": error },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(&outcome.job.unit.name()) } } }],
        })],
        Ok(done) => {
            let sources = &done.translation.sources;
            done.translation.diagnostics.iter().map(|diagnostic| result(diagnostic, sources)).collect()
        }
    }
}

fn result(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let (rule, level) = match diagnostic.severity {
        Severity::Error => ("rejected", "error"),
        Severity::Warning => ("warning", "warning"),
        Severity::Note => ("warning", "note"),
    };
    let related = |(index, (span, message)): (usize, &(Span, String))| {
        let mut location = location(*span, sources);
        location["id"] = json!(index);
        location["message"] = json!({ "text": message });
        location
    };
    json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": diagnostic.message },
        "locations": [location(diagnostic.span, sources)],
        "relatedLocations": diagnostic.notes.iter().enumerate().map(related).collect::<Vec<_>>(),
    })
}

/// A SARIF location; columns count characters, as `columnKind` says.
fn location(span: Span, sources: &Sources) -> Value {
    let place = sources.location(span);
    let (line, offset) = sources.line_text(span).unwrap_or_default();
    let from = line[..offset].chars().count() + 1;
    let end = (offset + (span.hi - span.lo) as usize).min(line.len());
    let marked = line.get(offset..end).map_or(0, |text| text.chars().count());
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&place.file) },
            // A #line directive may ask for line 0, which SARIF does not have.
            "region": { "startLine": place.line.max(1), "startColumn": from, "endColumn": from + marked },
        },
    })
}

/// A path as a relative reference (RFC 3986 §4.2): what is not plain becomes `%XX`.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("a b/ü.cl"), "a%20b/%C3%BC.cl");
    }
}
