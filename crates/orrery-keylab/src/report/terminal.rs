//! The report for a terminal: a ranked table, the facts that decided, what would change the
//! answer, and a small chart for each candidate.

use std::fmt::Write as _;

use super::table::align;
use super::text::{amount, gigabytes, shortened};
use super::{advice, legend};
use crate::analysis::{Analysis, SPREAD_AT};
use crate::simulate::{AtHorizon, Row};
use crate::verdict::Verdict;

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
    let shown = shown(&analysis.rows);
    for row in &shown {
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
    beside_table(analysis, &shown, text);
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

/// The rows that are shown: the best ones, and of keys that are made from one field no more than
/// two, which differ little.
fn shown(rows: &[Row]) -> Vec<&Row> {
    const VARIANTS: usize = 2;
    let mut made: Vec<&str> = Vec::new();
    let mut shown = Vec::new();
    for row in rows {
        if row.complexity > 0 {
            let base = base(row);
            if made.iter().filter(|other| **other == base).count() >= VARIANTS {
                continue;
            }
            made.push(base);
        }
        shown.push(row);
    }
    shown.truncate(SHOWN);
    shown
}

/// The field that a key is made from in the first place.
fn base(row: &Row) -> &str {
    let fields = row.definition.fields();
    let first = fields.first().copied().unwrap_or_default();
    first.split('@').next().unwrap_or_default()
}

/// What stands under the table: what is not in it, conditions, and what the words mean.
fn beside_table(analysis: &Analysis, shown: &[&Row], text: &mut String) {
    let more = analysis.rows.len() - shown.len();
    // Writing to a string cannot fail.
    if more > 0 {
        let _ = writeln!(
            text,
            "and {more} more, mostly variants of these (--json and --out show all; --key KEY explains one)"
        );
    }
    for excluded in analysis.excluded.iter().take(SHOWN) {
        let _ = writeln!(
            text,
            "not in the table: {} {}",
            excluded.key, excluded.reason
        );
    }
    let mut conditions: Vec<(String, Vec<&str>)> = Vec::new();
    for row in shown
        .iter()
        .filter(|row| row.verdict == Verdict::Conditional)
    {
        let wanted: Vec<String> = advice::conditions(row)
            .into_iter()
            .map(|(at, condition)| format!("at {}, {condition}", at.name))
            .collect();
        let wanted = wanted.join("; ");
        match conditions.iter_mut().find(|(known, _)| *known == wanted) {
            Some((_, keys)) => keys.push(&row.key),
            None => conditions.push((wanted, vec![&row.key])),
        }
    }
    for (condition, keys) in conditions {
        let _ = writeln!(text, "condition of {}: {condition}", keys.join(", "));
    }
    text.push('\n');
    for line in legend::RANKED.iter().map(|line| (*line).to_owned()) {
        let _ = writeln!(text, "  {line}");
    }
    let gates = legend::gates(shown);
    if !gates.is_empty() {
        let _ = writeln!(text, "  {}", gates.join("; "));
    }
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
    text.push('\n');
    for line in legend::SPREAD {
        let _ = writeln!(text, "  {line}");
    }
    text.push_str("\nThe data alone tells how stored items would spread, which values are heavy, and what is missing.\nIt cannot tell which requests reach one partition, what they cost, or what happens when it grows.\nThree questions decide:\n");
    for question in &analysis.questions {
        let _ = writeln!(text, "  - {question}");
    }
    text.push_str("`orrery keylab init` writes a workload file to fill in.\n");
}
