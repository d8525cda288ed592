//! The table of a simulation.

use super::text::{amount, gigabytes};
use crate::simulate::{AtHorizon, Row, Simulation};

/// The table as text with aligned columns.
pub fn render(simulation: &Simulation) -> String {
    let mut lines = vec![
        [
            "candidate",
            "verdict",
            "by horizon",
            "partitions",
            "RU/s total",
            "RU/s needed",
            "429 %",
            "max GB",
            "score",
            "first failing gate",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    lines.extend(simulation.rows.iter().map(cells));
    format!("{}\n{}", simulation.name, align(&lines))
}

fn cells(row: &Row) -> Vec<String> {
    let each = |of: &dyn Fn(&AtHorizon) -> String| {
        row.horizons.iter().map(of).collect::<Vec<_>>().join(" / ")
    };
    vec![
        row.key.clone(),
        row.verdict.word().to_owned(),
        each(&|at| at.verdict.letter().to_string()),
        each(&|at| at.outcome.partitions.to_string()),
        each(&|at| amount(at.outcome.total.round())),
        each(&|at| amount(at.outcome.needed.round())),
        each(&|at| format!("{:.1}", at.outcome.throttled * 100.0)),
        each(&|at| gigabytes(at.outcome.largest_gb.estimate)),
        each(&|at| format!("{:.0}", at.outcome.score())),
        row.first_failure
            .as_ref()
            .map_or_else(String::new, |failure| {
                format!(
                    "{:?} {} at {}",
                    failure.gate,
                    failure.gate.subject(),
                    failure.horizon
                )
            }),
    ]
}

/// Columns side by side; the first and last flush left.
pub fn align(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (column, cell) in line.iter().enumerate() {
            let padding = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            if column > 0 {
                row.push_str("  ");
            }
            if column == 0 || column + 1 == columns {
                row.push_str(cell);
                row.push_str(&padding);
            } else {
                row.push_str(&padding);
                row.push_str(cell);
            }
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}
