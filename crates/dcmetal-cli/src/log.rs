//! Compiler messages as the terminal shows them: the severity coloured, the caret line green. Only the colour is added;
//! anstream removes it again where the output is no terminal.

use anstyle::{AnsiColor, Style};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Magenta.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const CARET: Style = AnsiColor::Green.on_default().bold();
const BOLD: Style = Style::new().bold();

/// Colours the text of `clmsl` or of Metal's compiler, `file:line:col: error: text` with source and caret lines.
pub(crate) fn coloured(log: &str) -> String {
    log.lines().map(|line| coloured_line(line) + "\n").collect()
}

fn coloured_line(line: &str) -> String {
    if let Some((place, severity, style, message)) = header(line) {
        return format!("{BOLD}{place}{BOLD:#} {style}{severity}:{style:#} {BOLD}{message}{BOLD:#}");
    }
    if line.contains('^') && line.chars().all(|c| matches!(c, ' ' | '^' | '~')) {
        return format!("{CARET}{line}{CARET:#}");
    }
    line.to_owned()
}

/// Splits `file:line:col: severity: message`.
fn header(line: &str) -> Option<(&str, &str, Style, &str)> {
    for (severity, style) in [("error", ERROR), ("warning", WARNING), ("note", NOTE)] {
        let mark = format!(": {severity}: ");
        if let Some(at) = line.find(&mark) {
            let mut numbers = line[..at].rsplitn(3, ':');
            let numeric =
                |text: Option<&str>| text.is_some_and(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit()));
            if numeric(numbers.next()) && numeric(numbers.next()) && numbers.next().is_some() {
                return Some((&line[..=at], severity, style, &line[at + mark.len()..]));
            }
        }
    }
    None
}

/// `error: message` in front of a failure that has no place in a file.
pub(crate) fn error(message: &str) -> String {
    format!("{ERROR}error:{ERROR:#} {message}")
}

/// `warning: message`
pub(crate) fn warning(message: &str) -> String {
    format!("{WARNING}warning:{WARNING:#} {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colour_is_added() {
        let log = "a b.cl:3:9: error: use of 'z'\n    y = z;\n        ^\nx.h:1:1: note: here\nplain: error: no place\n";
        let bytes = coloured(log).into_bytes();
        let plain = anstream::adapter::strip_bytes(&bytes).into_vec();
        assert_eq!(String::from_utf8(plain).unwrap(), log);
        assert!(coloured(log).contains("\u{1b}[32m"), "{:?}", coloured(log));
        assert!(!coloured("plain: error: no place").contains('\u{1b}'));
    }
}
