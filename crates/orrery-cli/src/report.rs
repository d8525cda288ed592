//! Numbers as people read them, and the words that several commands share.

/// The properties that the service adds to an item; `_lsn` only in change feeds.
pub const SYSTEM_PROPERTIES: [&str; 6] = ["_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"];

/// A count with thousands separators.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 item`, `2 items`.
pub fn plural(number: u64, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{} {noun}s", count(number))
    }
}

/// A span in the unit that fits: `850 µs`, `12.3 ms`, `4.56 s`, `3 min 20 s`.
pub fn span(nanoseconds: u64) -> String {
    let seconds = nanoseconds as f64 / 1e9;
    if nanoseconds < 1_000_000 {
        format!("{} µs", nanoseconds / 1_000)
    } else if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else if seconds < 120.0 {
        format!("{seconds:.2} s")
    } else {
        let whole = seconds.round() as u64;
        format!("{} min {} s", whole / 60, whole % 60)
    }
}

/// A size in the unit that fits: `50 GB`, `51.2 MB`.
pub fn bytes(number: u64) -> String {
    let units = [("GB", 30), ("MB", 20), ("KB", 10)];
    let unit = units.iter().find(|(_, shift)| number >> shift > 0);
    let Some((name, shift)) = unit else {
        return format!("{number} bytes");
    };
    let size = number as f64 / (1_u64 << shift) as f64;
    format!("{} {name}", (size * 10.0).round() / 10.0)
}

/// Aligns the cells of a table: the first column to the left, the others to the right.
pub fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let padding = " ".repeat(widths[column] - cell.chars().count());
            if column == 0 {
                line.push_str(cell);
                line.push_str(&padding);
            } else {
                line.push_str("  ");
                line.push_str(&padding);
                line.push_str(cell);
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_spans_read_well() {
        assert_eq!(
            [count(7), count(1234), count(1_234_567)],
            ["7", "1,234", "1,234,567"]
        );
        assert_eq!(
            [plural(1, "item"), plural(2000, "item")],
            ["1 item", "2,000 items"]
        );
        assert_eq!(
            [bytes(50 << 30), bytes((50 << 30) / 1000), bytes(7)],
            ["50 GB", "51.2 MB", "7 bytes"]
        );
        assert_eq!(span(850_000), "850 µs");
        assert_eq!(span(12_340_000), "12.3 ms");
        assert_eq!(span(4_560_000_000), "4.56 s");
        assert_eq!(span(200_000_000_000), "3 min 20 s");
    }

    #[test]
    fn tables_align() {
        let rows = [
            vec!["a".to_owned(), "10".to_owned()],
            vec!["long".to_owned(), "1".to_owned()],
        ];
        assert_eq!(align(&rows), "a     10\nlong   1\n");
    }
}
