//! Columns of text, each as wide as its widest cell.

/// Lays out `rows`; the first is the heading.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text += cells.join("  ").trim_end();
        text += "\n";
    }
    text
}

/// Bytes in the largest binary unit that keeps at least one whole.
pub(crate) fn bytes(count: u64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if count >> shift > 0 {
            let whole = count as f64 / f64::from(1u32 << shift);
            return if count & ((1 << shift) - 1) == 0 {
                format!("{whole} {unit}")
            } else {
                format!("{whole:.1} {unit}")
            };
        }
    }
    format!("{count} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".into(), "bb".into()], vec!["ccc".into(), "d".into()]];
        assert_eq!(table(&rows), "a    bb\nccc  d\n");
    }

    #[test]
    fn units() {
        for (count, text) in
            [(0, "0 bytes"), (1023, "1023 bytes"), (32768, "32 KiB"), (1536, "1.5 KiB"), (1 << 30, "1 GiB")]
        {
            assert_eq!(bytes(count), text);
        }
    }
}
