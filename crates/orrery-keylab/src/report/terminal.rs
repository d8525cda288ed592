//! The report for a terminal: a ranked table, the facts that decided, what would change the
//! answer, and a small chart for each candidate.

use std::fmt::Write as _;

use super::advice;
use super::table::align;
use super::text::{amount, gigabytes, shortened};
use crate::analysis::{Analysis, SPREAD_AT};
use crate::simulate::{AtHorizon, Row};

/// Candidates that are shown.
const SHOWN: usize = 12;
/// Letters of a value.
const VALUE: usize = 24;
/// Columns of a chart.
const CHART: usize = 24;
/// Bars from empty to the budget, and beyond it.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The report as text.
pub fn render(analysis: &Analysis) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} items, {} bytes on average, {} paths",
        amount(analysis.num_docs_total as f64),
        amount(analysis.avg_doc_size_bytes.round()),
        analysis.paths.len()
    );
    text.push('\n');
    if analysis.rows.is_empty() {
        without_workload(analysis, &mut text);
    } else {
        ranked(analysis, &mut text);
    }
    for note in &analysis.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn ranked(analysis: &Analysis, text: &mut String) {
    let names: Vec<&str> = analysis.rows[0]
        .horizons
        .iter()
        .map(|at| at.name.as_str())
        .collect();
    let heading = |what: &str| format!("{what} {}", names.join(" / "));
    let mut lines = vec![vec![
        "key".to_owned(),
        "verdict".to_owned(),
        "score".to_owned(),
        heading("RU/s needed"),
        "429 %".to_owned(),
        "max GB".to_owned(),
        "load by partition against its budget".to_owned(),
    ]];
    for row in analysis.rows.iter().take(SHOWN) {
        let each = |of: &dyn Fn(&AtHorizon) -> String| {
            row.horizons.iter().map(of).collect::<Vec<_>>().join(" / ")
        };
        lines.push(vec![
            row.key.clone(),
            row.verdict.word().to_owned(),
            format!("{:.0}", row.score),
            each(&|at| amount(at.outcome.needed.round())),
            each(&|at| format!("{:.1}", at.outcome.throttled * 100.0)),
            each(&|at| gigabytes(at.outcome.largest_gb.estimate)),
            chart(row),
        ]);
    }
    text.push_str(&align(&lines));
    if analysis.rows.len() > SHOWN {
        let _ = writeln!(
            text,
            "and {} more (--json shows all)",
            analysis.rows.len() - SHOWN
        );
    }
    let _ = match advice::winner(analysis) {
        Some(row) => writeln!(text, "\nrecommended: {} ({})", row.key, row.verdict.word()),
        None => writeln!(text, "\nrecommended: none"),
    };
    section("why", &advice::why(analysis), text);
    section(
        "what would change the answer",
        &advice::what_would_change(analysis),
        text,
    );
    text.push('\n');
}

fn section(title: &str, sentences: &[String], text: &mut String) {
    if sentences.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    for sentence in sentences {
        let _ = writeln!(text, "  - {sentence}");
    }
}

/// Bars of the demand of every partition against its budget at the last horizon; `!` marks those
/// beyond it.
fn chart(row: &Row) -> String {
    let Some(last) = row.horizons.last() else {
        return String::new();
    };
    let outcome = &last.outcome;
    let budget = outcome.budget();
    let columns = outcome.demands.len().min(CHART);
    let mut text = String::from("|");
    for column in 0..columns {
        let from = column * outcome.demands.len() / columns;
        let to = ((column + 1) * outcome.demands.len() / columns).max(from + 1);
        let most = outcome.demands[from..to]
            .iter()
            .copied()
            .fold(0.0, f64::max);
        let share = if budget > 0.0 { most / budget } else { 0.0 };
        if share > 1.0 {
            text.push('!');
        } else {
            text.push(BARS[(share * 8.0).round().clamp(0.0, 8.0) as usize]);
        }
    }
    text.push('|');
    text
}

fn without_workload(analysis: &Analysis, text: &mut String) {
    let mut lines = vec![
        [
            "key",
            "distinct",
            "effective",
            "top value",
            "its share",
            "max/mean at 5 / 10 / 40 partitions",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    debug_assert_eq!(SPREAD_AT, [5, 10, 40]);
    let mut spreads: Vec<_> = analysis.spreads.iter().collect();
    spreads.sort_by(|left, right| right.effective_values.total_cmp(&left.effective_values));
    for spread in spreads.iter().take(2 * SHOWN) {
        let (top, share) = spread
            .most_common_values
            .first()
            .cloned()
            .unwrap_or_default();
        let ratios: Vec<String> = spread
            .max_over_mean
            .iter()
            .map(|ratio| format!("{ratio:.2}"))
            .collect();
        lines.push(vec![
            spread.key.clone(),
            amount(spread.num_distinct_values.round()),
            amount(spread.effective_values.round()),
            shortened(&top, VALUE),
            super::text::percent(share),
            ratios.join(" / "),
        ]);
    }
    text.push_str(&align(&lines));
    text.push_str("\nThe data alone tells how stored items would spread, which values are heavy, and what is missing.\nIt cannot tell which requests reach one partition, what they cost, or what happens when it grows.\nThree questions decide:\n");
    for question in &analysis.questions {
        let _ = writeln!(text, "  - {question}");
    }
    text.push_str("`orrery keylab init` writes a workload file to fill in.\n");
}
