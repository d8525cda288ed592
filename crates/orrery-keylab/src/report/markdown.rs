//! The report as Markdown, for a pull request.

use std::fmt::Write as _;

use super::advice;
use super::text::{amount, gigabytes};
use crate::analysis::{Analysis, SPREAD_AT};
use crate::simulate::{AtHorizon, Row};

/// The report as text.
pub fn render(analysis: &Analysis) -> String {
    let mut text = String::from("# Partition key\n\n");
    let _ = match advice::winner(analysis) {
        Some(row) => writeln!(
            text,
            "**Recommended: `{}`** ({})\n",
            row.key,
            row.verdict.word()
        ),
        None if analysis.rows.is_empty() => writeln!(
            text,
            "No workload was given: this tells how stored items spread.\n"
        ),
        None => writeln!(text, "**No key passes every gate.**\n"),
    };
    for sentence in advice::why(analysis) {
        let _ = writeln!(text, "- {sentence}");
    }
    if !analysis.rows.is_empty() {
        candidates(&analysis.rows, &mut text);
        list(
            "What would change the answer",
            &advice::what_would_change(analysis),
            &mut text,
        );
        routes(&analysis.rows[0], &mut text);
        list(
            "How to verify after deployment",
            &advice::VERIFY.map(str::to_owned),
            &mut text,
        );
        list(
            "How to migrate a container that exists",
            &advice::MIGRATE.map(str::to_owned),
            &mut text,
        );
    }
    let excluded: Vec<String> = analysis
        .excluded
        .iter()
        .map(|excluded| format!("`{}` {}", excluded.key, excluded.reason))
        .collect();
    list("Not among the candidates", &excluded, &mut text);
    spreads(analysis, &mut text);
    list("Questions", &analysis.questions, &mut text);
    list("Notes", &analysis.notes, &mut text);
    text
}

fn list(title: &str, sentences: &[String], text: &mut String) {
    if sentences.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n## {title}\n");
    for sentence in sentences {
        let _ = writeln!(text, "- {sentence}");
    }
}

fn candidates(rows: &[Row], text: &mut String) {
    let names: Vec<&str> = rows[0].horizons.iter().map(|at| at.name.as_str()).collect();
    let _ = writeln!(
        text,
        "\n## Candidates ({})\n\n| key | verdict | RU/s total | RU/s needed | 429 % | max GB | partitions | score | first failing gate, or condition |\n|---|---|---|---|---|---|---|---|---|",
        names.join(" / ")
    );
    for row in rows {
        let each = |of: &dyn Fn(&AtHorizon) -> String| {
            row.horizons.iter().map(of).collect::<Vec<_>>().join(" / ")
        };
        let _ = writeln!(
            text,
            "| `{}` | **{}** | {} | {} | {} | {} | {} | {:.0} | {} |",
            row.key,
            row.verdict.word(),
            each(&|at| amount(at.outcome.total.round())),
            each(&|at| amount(at.outcome.needed.round())),
            each(&|at| format!("{:.1}", at.outcome.throttled * 100.0)),
            each(&|at| gigabytes(at.outcome.largest_gb.estimate)),
            each(&|at| at.outcome.partitions.to_string()),
            row.score,
            advice::objection(row).replace('|', "\\|")
        );
    }
}

fn routes(row: &Row, text: &mut String) {
    const AT: [f64; 6] = [1.0, 5.0, 10.0, 20.0, 50.0, 100.0];
    let _ = writeln!(
        text,
        "\n## Requests under `{}`, and what one costs as partitions grow\n\n| pattern | reach | rate/s | charge | P = 1 | 5 | 10 | 20 | 50 | 100 |\n|---|---|---|---|---|---|---|---|---|---|",
        row.key
    );
    for route in &row.routes {
        let costs: Vec<String> = AT
            .iter()
            .map(|&partitions| amount(route.cost(partitions, 2.7)))
            .collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} ({}) | {} |",
            route.pattern,
            route.reach.word(),
            amount(route.rate),
            amount(route.charge),
            if route.measured { "measured" } else { "model" },
            costs.join(" | ")
        );
    }
}

fn spreads(analysis: &Analysis, text: &mut String) {
    let heads: Vec<String> = SPREAD_AT
        .iter()
        .map(|count| format!("P = {count}"))
        .collect();
    let _ = writeln!(
        text,
        "\n## How stored items spread (fullest partition over the mean)\n\n| key | distinct | effective | {} | most common values |\n|---|---|---|{}---|",
        heads.join(" | "),
        "---|".repeat(SPREAD_AT.len())
    );
    for spread in &analysis.spreads {
        let ratios: Vec<String> = spread
            .max_over_mean
            .iter()
            .map(|ratio| format!("{ratio:.2}"))
            .collect();
        let common: Vec<String> = spread
            .most_common_values
            .iter()
            .take(3)
            .map(|(value, share)| {
                format!(
                    "{} {}",
                    value.replace('|', "\\|"),
                    super::text::percent(*share)
                )
            })
            .collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} |",
            spread.key,
            amount(spread.num_distinct_values.round()),
            amount(spread.effective_values.round()),
            ratios.join(" | "),
            common.join(", ")
        );
    }
}
