//! The report as one self-contained HTML file: pictures as inline SVG, each with its table.

mod picture;

use std::fmt::Write as _;

use super::advice;
use super::text::{amount, gigabytes, percent};
use crate::analysis::{Analysis, SPREAD_AT};
use crate::simulate::{AtHorizon, Row};
use crate::verdict::Verdict;

/// Candidates with pictures.
const PICTURED: usize = 6;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--line:#d0d7de;--good:#1a7f37;--warn:#9a6700;--bad:#cf222e}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--line:#30363d;--good:#3fb950;--warn:#d29922;--bad:#f85149}}\
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:70rem;margin:0 auto;padding:1rem}\
h1,h2,h3{line-height:1.2}table{border-collapse:collapse;width:100%}th,td{border-bottom:1px solid var(--line);padding:.3rem .5rem;text-align:left;vertical-align:top}\
td.n{text-align:right;font-variant-numeric:tabular-nums}.scroll{overflow-x:auto}svg{max-width:100%;height:auto}\
.Accept{color:var(--good)}.Conditional{color:var(--warn)}.Reject{color:var(--bad)}.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(18rem,1fr));gap:1rem}\
code{overflow-wrap:anywhere}details>summary{cursor:pointer}svg text{fill:var(--ink);font:11px system-ui,sans-serif}\
@media print{body{max-width:none;font-size:11px}details{break-inside:avoid}details:not([open])>*{display:block}section{break-inside:avoid}}";

/// The report as a document.
pub fn render(analysis: &Analysis, title: &str) -> String {
    let mut html = String::with_capacity(64 << 10);
    let _ = write!(
        html,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{0}</title><style>{STYLE}</style></head><body><h1>{0}</h1>",
        escape(title)
    );
    let _ = write!(
        html,
        "<p>{} items of {} bytes on average.</p>",
        amount(analysis.num_docs_total as f64),
        amount(analysis.avg_doc_size_bytes.round())
    );
    recommendation(analysis, &mut html);
    if !analysis.rows.is_empty() {
        candidates(&analysis.rows, &mut html);
        side_by_side(&analysis.rows, &mut html);
        growth(&analysis.rows, &mut html);
        costs(&analysis.rows, &mut html);
        gates(&analysis.rows, &mut html);
        list(
            "How to verify after deployment",
            advice::VERIFY.iter().map(|text| (*text).to_owned()),
            &mut html,
        );
        list(
            "How to migrate a container that exists",
            advice::MIGRATE.iter().map(|text| (*text).to_owned()),
            &mut html,
        );
    }
    spreads(analysis, &mut html);
    paths(analysis, &mut html);
    list("Questions", analysis.questions.iter().cloned(), &mut html);
    list("Notes", analysis.notes.iter().cloned(), &mut html);
    html.push_str("</body></html>\n");
    html
}

/// Text that may stand in HTML.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

fn list(title: &str, sentences: impl Iterator<Item = String>, html: &mut String) {
    let mut sentences = sentences.peekable();
    if sentences.peek().is_none() {
        return;
    }
    let _ = write!(html, "<section><h2>{title}</h2><ul>");
    for text in sentences {
        let _ = write!(html, "<li>{}</li>", escape(&text));
    }
    html.push_str("</ul></section>");
}

fn recommendation(analysis: &Analysis, html: &mut String) {
    match advice::winner(analysis) {
        Some(row) => {
            let _ = write!(
                html,
                "<h2>Recommended: <code>{}</code> <span class=\"{1}\">{1}</span></h2>",
                escape(&row.key),
                row.verdict.word()
            );
        }
        None if analysis.rows.is_empty() => {
            html.push_str("<p>No workload was given: this tells how stored items spread.</p>");
        }
        None => html.push_str("<h2 class=\"Reject\">No key passes every gate</h2>"),
    }
    list("Why", advice::why(analysis).into_iter(), html);
    list(
        "What would change the answer",
        advice::what_would_change(analysis).into_iter(),
        html,
    );
}

/// A table with a heading line; cells that begin with a digit stand to the right.
fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>, html: &mut String) {
    html.push_str("<div class=\"scroll\"><table><thead><tr>");
    for cell in head {
        let _ = write!(html, "<th>{}</th>", escape(cell));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for cell in row {
            let class = if cell.starts_with(|letter: char| letter.is_ascii_digit()) {
                " class=\"n\""
            } else if let Some(verdict) = ["Accept", "Conditional", "Reject"]
                .iter()
                .find(|word| **word == cell)
            {
                let _ = write!(html, "<td class=\"{verdict}\">{cell}</td>");
                continue;
            } else {
                ""
            };
            let _ = write!(html, "<td{class}>{}</td>", escape(&cell));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
}

fn each(row: &Row, of: &dyn Fn(&AtHorizon) -> String) -> String {
    row.horizons.iter().map(of).collect::<Vec<_>>().join(" / ")
}

fn candidates(rows: &[Row], html: &mut String) {
    let names = each(&rows[0], &|at| at.name.clone());
    let _ = write!(html, "<section><h2>Candidates ({})</h2>", escape(&names));
    table(
        &[
            "key",
            "verdict",
            "RU/s total",
            "RU/s needed",
            "429 %",
            "max GB",
            "partitions",
            "alignment × evenness",
            "score",
            "first failing gate",
        ],
        rows.iter().map(|row| {
            vec![
                row.key.clone(),
                row.verdict.word().to_owned(),
                each(row, &|at| amount(at.outcome.total.round())),
                each(row, &|at| amount(at.outcome.needed.round())),
                each(row, &|at| format!("{:.1}", at.outcome.throttled * 100.0)),
                each(row, &|at| gigabytes(at.outcome.largest_gb.estimate)),
                each(row, &|at| at.outcome.partitions.to_string()),
                each(row, &|at| {
                    format!(
                        "{:.2} × {:.2}",
                        at.outcome.alignment(),
                        at.outcome.evenness()
                    )
                }),
                format!("{:.0}", row.score),
                row.first_failure
                    .as_ref()
                    .map_or_else(String::new, |failure| {
                        format!(
                            "{:?} {} at {}: {}",
                            failure.gate,
                            failure.gate.subject(),
                            failure.horizon,
                            failure.reason
                        )
                    }),
            ]
        }),
        html,
    );
    html.push_str("</section>");
}

fn side_by_side(rows: &[Row], html: &mut String) {
    html.push_str("<section><h2>Load on the key space</h2><p>Each row is a physical partition in order of the hash, each column a horizon; the colour is the demand against the partition's budget: up to 50, 100, 200 % and beyond.</p><div class=\"pair\">");
    for row in rows.iter().take(PICTURED) {
        let _ = write!(
            html,
            "<figure><figcaption><code>{}</code> <span class=\"{1}\">{1}</span></figcaption>",
            escape(&row.key),
            row.verdict.word()
        );
        html.push_str(&picture::key_space(row));
        html.push_str("<details><summary>table</summary>");
        let most = row
            .horizons
            .iter()
            .map(|at| at.outcome.demands.len())
            .max()
            .unwrap_or(0);
        table(
            &["partition", "RU/s by horizon", "of its budget"],
            (0..most.min(200)).map(|part| {
                let demand = |at: &AtHorizon| at.outcome.demands.get(part).copied();
                vec![
                    part.to_string(),
                    each(row, &|at| {
                        demand(at).map_or_else(|| "-".to_owned(), |ru| amount(ru.round()))
                    }),
                    each(row, &|at| {
                        demand(at).map_or_else(
                            || "-".to_owned(),
                            |ru| percent(ru / at.outcome.budget().max(1e-9)),
                        )
                    }),
                ]
            }),
            html,
        );
        html.push_str("</details></figure>");
    }
    html.push_str("</div><h3>Heaviest values</h3><div class=\"pair\">");
    for row in rows.iter().take(PICTURED) {
        let _ = write!(
            html,
            "<figure><figcaption><code>{}</code></figcaption>",
            escape(&row.key)
        );
        html.push_str(&picture::heaviest(row));
        html.push_str("<details><summary>table</summary>");
        table(
            &["value", "RU/s", "of a partition's budget"],
            row.heaviest.iter().map(|(name, ru)| {
                let budget = row.horizons.first().map_or(1.0, |at| at.outcome.budget());
                vec![name.clone(), amount(*ru), percent(ru / budget.max(1e-9))]
            }),
            html,
        );
        html.push_str("</details></figure>");
    }
    html.push_str("</div></section>");
}

fn growth(rows: &[Row], html: &mut String) {
    html.push_str("<section><h2>Growth</h2>");
    html.push_str(&picture::growth(&rows[..rows.len().min(PICTURED)]));
    table(
        &[
            "key",
            "horizon",
            "verdict",
            "partitions",
            "budget of one",
            "RU/s needed",
            "provisioned",
            "max GB",
        ],
        rows.iter().take(PICTURED).flat_map(|row| {
            row.horizons.iter().map(|at| {
                vec![
                    row.key.clone(),
                    at.name.clone(),
                    at.verdict.word().to_owned(),
                    at.outcome.partitions.to_string(),
                    amount(at.outcome.budget().round()),
                    amount(at.outcome.needed.round()),
                    amount(at.outcome.provisioned.round()),
                    gigabytes(at.outcome.largest_gb.estimate),
                ]
            })
        }),
        html,
    );
    html.push_str("</section>");
}

fn costs(rows: &[Row], html: &mut String) {
    const AT: [f64; 6] = [1.0, 5.0, 10.0, 20.0, 50.0, 100.0];
    html.push_str("<section><h2>What one request costs as partitions grow</h2>");
    for row in rows.iter().take(2) {
        let _ = write!(html, "<h3><code>{}</code></h3>", escape(&row.key));
        html.push_str(&picture::costs(row));
        table(
            &[
                "pattern", "reach", "rate/s", "charge", "P = 1", "5", "10", "20", "50", "100",
            ],
            row.routes.iter().map(|route| {
                let mut cells = vec![
                    route.pattern.clone(),
                    route.reach.word().to_owned(),
                    amount(route.rate),
                    format!(
                        "{} ({})",
                        amount(route.charge),
                        if route.measured { "measured" } else { "model" }
                    ),
                ];
                cells.extend(
                    AT.iter()
                        .map(|&partitions| amount(route.cost(partitions, 2.7))),
                );
                cells
            }),
            html,
        );
    }
    html.push_str("</section>");
}

fn gates(rows: &[Row], html: &mut String) {
    html.push_str("<section><h2>Gates</h2>");
    for row in rows {
        let findings = row.horizons.iter().flat_map(|at| {
            at.gates
                .iter()
                .filter(|answer| !answer.reason.is_empty())
                .map(move |answer| {
                    vec![
                        at.name.clone(),
                        format!("{:?} {}", answer.gate, answer.gate.subject()),
                        format!("{:?}", answer.finding),
                        answer.reason.clone(),
                    ]
                })
        });
        let findings: Vec<_> = findings.collect();
        if findings.is_empty() {
            continue;
        }
        let open = if row.verdict == Verdict::Conditional {
            " open"
        } else {
            ""
        };
        let _ = write!(
            html,
            "<details{open}><summary><code>{}</code></summary>",
            escape(&row.key)
        );
        table(
            &["horizon", "gate", "finding", "reason"],
            findings.into_iter(),
            html,
        );
        html.push_str("</details>");
    }
    html.push_str("</section>");
}

fn spreads(analysis: &Analysis, html: &mut String) {
    let heads: Vec<String> = SPREAD_AT
        .iter()
        .map(|count| format!("max/mean at {count}"))
        .collect();
    let mut head = vec!["key", "distinct", "effective"];
    head.extend(heads.iter().map(String::as_str));
    head.push("most common values");
    html.push_str("<section><h2>How stored items spread</h2>");
    table(
        &head,
        analysis.spreads.iter().map(|spread| {
            let mut cells = vec![
                spread.key.clone(),
                amount(spread.num_distinct_values.round()),
                amount(spread.effective_values.round()),
            ];
            cells.extend(
                spread
                    .max_over_mean
                    .iter()
                    .map(|ratio| format!("{ratio:.2}")),
            );
            let common = spread.most_common_values.iter().take(3);
            cells.push(
                common
                    .map(|(value, share)| format!("{value} {}", percent(*share)))
                    .collect::<Vec<_>>()
                    .join(", "),
            );
            cells
        }),
        html,
    );
    html.push_str("</section>");
}

fn paths(analysis: &Analysis, html: &mut String) {
    html.push_str("<section><h2>Members of the items</h2><details><summary>table</summary>");
    table(
        &[
            "path",
            "missing",
            "null",
            "string",
            "number",
            "boolean",
            "array",
            "distinct",
            "largest value's share",
        ],
        analysis.paths.iter().map(|path| {
            vec![
                path.path.clone(),
                percent(path.missing),
                percent(path.types.null),
                percent(path.types.string),
                percent(path.types.number),
                percent(path.types.boolean),
                percent(path.types.array),
                amount(path.num_distinct_values.round()),
                percent(path.largest_share.0),
            ]
        }),
        html,
    );
    html.push_str("</details></section>");
}
