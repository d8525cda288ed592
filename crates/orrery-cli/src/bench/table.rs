//! The figures of the benches as a table and as JSON.

use serde_json::{Value as Json, json};

use crate::report::align;

/// Which way a figure must lie from its bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// At least so much.
    AtLeast(f64),
    /// At most so much.
    AtMost(f64),
    /// Only shown.
    None,
}

/// One figure.
#[derive(Debug, Clone)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// Our figure, in words.
    pub ours: String,
    /// The floor, in words; empty for absolute figures.
    pub floor: String,
    /// The ratio, or the absolute figure, that the bar is about.
    pub figure: f64,
    /// Its unit; empty for ratios.
    pub unit: &'static str,
    /// The bar.
    pub bar: Bar,
}

impl Row {
    fn verdict(&self) -> &'static str {
        match self.bar {
            Bar::AtLeast(bar) if self.figure < bar => "MISSED",
            Bar::AtMost(bar) if self.figure > bar => "MISSED",
            Bar::AtLeast(_) | Bar::AtMost(_) => "ok",
            Bar::None => "",
        }
    }

    fn bar_text(&self) -> String {
        match self.bar {
            Bar::AtLeast(bar) => format!(">= {bar}{}", self.unit),
            Bar::AtMost(bar) => format!("<= {bar}{}", self.unit),
            Bar::None => String::new(),
        }
    }
}

/// All figures.
#[derive(Debug, Default)]
pub struct Table {
    /// In the order of measurement.
    pub rows: Vec<Row>,
}

impl Table {
    /// For people.
    pub fn to_text(&self) -> String {
        let header = ["bench", "ours", "floor", "figure", "bar", ""]
            .map(str::to_owned)
            .to_vec();
        let rows: Vec<Vec<String>> = std::iter::once(header)
            .chain(self.rows.iter().map(|row| {
                vec![
                    row.name.clone(),
                    row.ours.clone(),
                    row.floor.clone(),
                    format!("{:.2}{}", row.figure, row.unit),
                    row.bar_text(),
                    row.verdict().to_owned(),
                ]
            }))
            .collect();
        align(&rows)
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        let rows: Vec<Json> = self
            .rows
            .iter()
            .map(|row| {
                json!({
                    "bench": row.name,
                    "ours": row.ours,
                    "floor": row.floor,
                    "figure": row.figure,
                    "unit": row.unit,
                    "bar": row.bar_text(),
                    "met": row.verdict() != "MISSED",
                })
            })
            .collect();
        json!({ "rows": rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_bar() {
        let row = |figure, bar| Row {
            name: "x".to_owned(),
            ours: String::new(),
            floor: String::new(),
            figure,
            unit: "",
            bar,
        };
        assert_eq!(row(0.5, Bar::AtLeast(0.6)).verdict(), "MISSED");
        assert_eq!(row(0.6, Bar::AtLeast(0.6)).verdict(), "ok");
        assert_eq!(row(41.0, Bar::AtMost(40.0)).verdict(), "MISSED");
        assert_eq!(row(1.0, Bar::None).verdict(), "");
    }
}
