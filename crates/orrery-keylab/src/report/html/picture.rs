//! Pictures as SVG: fixed colours by share of the budget, so that two candidates can be compared.

use std::fmt::Write as _;

use super::escape;
use crate::report::text::amount;
use crate::simulate::Row;

/// Colours up to 50, 100 and 200 % of the budget, and beyond.
const STOPS: [(f64, &str); 4] = [
    (0.5, "#2c7fb8"),
    (1.0, "#7fcdbb"),
    (2.0, "#fd8d3c"),
    (f64::INFINITY, "#bd0026"),
];
/// Colours of lines.
const LINES: [&str; 6] = [
    "#2c7fb8", "#d95f0e", "#31a354", "#756bb1", "#bd0026", "#636363",
];

fn colour(share: f64) -> &'static str {
    STOPS
        .iter()
        .find(|(stop, _)| share <= *stop)
        .map_or("#bd0026", |(_, colour)| colour)
}

/// The key space cut at physical partitions, a column for each horizon.
pub(super) fn key_space(row: &Row) -> String {
    const WIDTH: usize = 320;
    const HEIGHT: usize = 240;
    let columns = row.horizons.len().max(1);
    let wide = WIDTH / columns;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"load of each partition of {}\">",
        HEIGHT + 16,
        escape(&row.key)
    );
    for (at, horizon) in row.horizons.iter().enumerate() {
        let outcome = &horizon.outcome;
        let parts = outcome.demands.len();
        let shown = parts.min(HEIGHT);
        let budget = outcome.budget().max(1e-9);
        for line in 0..shown {
            let (from, to) = (line * parts / shown, ((line + 1) * parts / shown).max(1));
            let most = outcome.demands[from..to.max(from + 1)]
                .iter()
                .copied()
                .fold(0.0, f64::max);
            let (top, bottom) = (line * HEIGHT / shown, (line + 1) * HEIGHT / shown);
            let _ = write!(
                svg,
                "<rect x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>partition {from}: {} RU/s, {:.0} %</title></rect>",
                at * wide,
                wide.saturating_sub(4),
                (bottom - top).max(1),
                colour(most / budget),
                amount(most.round()),
                most / budget * 100.0
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\">{} ({parts})</text>",
            at * wide,
            HEIGHT + 13,
            escape(&horizon.name)
        );
    }
    svg.push_str("</svg>");
    svg
}

/// The heaviest values against the budget of a partition.
pub(super) fn heaviest(row: &Row) -> String {
    const WIDTH: f64 = 320.0;
    const LINE: usize = 12;
    let budget = row
        .horizons
        .first()
        .map_or(1.0, |at| at.outcome.budget())
        .max(1e-9);
    let values = &row.heaviest;
    let most = values.iter().map(|(_, ru)| *ru).fold(budget, f64::max);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"heaviest values of {}\">",
        values.len() * LINE + 4,
        escape(&row.key)
    );
    for (at, (name, ru)) in values.iter().enumerate() {
        let _ = write!(
            svg,
            "<rect x=\"0\" y=\"{}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\"><title>{}: {} RU/s</title></rect>",
            at * LINE,
            (ru / most * WIDTH).max(0.5),
            LINE - 2,
            colour(ru / budget),
            escape(name),
            amount(*ru)
        );
    }
    let _ = write!(
        svg,
        "<line x1=\"{0:.1}\" y1=\"0\" x2=\"{0:.1}\" y2=\"{1}\" stroke=\"currentColor\" stroke-dasharray=\"3 3\"/></svg>",
        budget / most * WIDTH,
        values.len() * LINE
    );
    svg
}

/// Lines over named or numbered places, with a legend.
fn lines(label: &str, places: &[String], series: &[(String, Vec<f64>)]) -> String {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 220.0;
    let most = series
        .iter()
        .flat_map(|(_, values)| values)
        .copied()
        .fold(1.0, f64::max);
    let x = |at: usize| 50.0 + (WIDTH - 60.0) * at as f64 / (places.len().max(2) - 1) as f64;
    // Costs span decades: the axis is logarithmic.
    let scale = |value: f64| (value.max(0.0) + 1.0).ln() / (most + 1.0).ln();
    let y = |value: f64| HEIGHT - (HEIGHT - 20.0) * scale(value);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\">",
        HEIGHT + 24.0 + 14.0 * series.len() as f64,
        escape(label)
    );
    for (at, place) in places.iter().enumerate() {
        let _ = write!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            x(at) - 8.0,
            HEIGHT + 14.0,
            escape(place)
        );
    }
    let _ = write!(
        svg,
        "<text x=\"0\" y=\"16\">{}</text>",
        amount(most.round())
    );
    for (at, (name, values)) in series.iter().enumerate() {
        let colour = LINES[at % LINES.len()];
        let points: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(at, value)| format!("{:.1},{:.1}", x(at), y(*value)))
            .collect();
        let _ = write!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        let below = HEIGHT + 30.0 + 14.0 * at as f64;
        let _ = write!(
            svg,
            "<rect x=\"50\" y=\"{:.0}\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"66\" y=\"{:.0}\">{}</text>",
            below - 9.0,
            below,
            escape(name)
        );
    }
    svg.push_str("</svg>");
    svg
}

/// Request units needed by horizon, against those provisioned.
pub(super) fn growth(rows: &[Row]) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let places: Vec<String> = first.horizons.iter().map(|at| at.name.clone()).collect();
    let mut series: Vec<(String, Vec<f64>)> = rows
        .iter()
        .map(|row| {
            (
                row.key.clone(),
                row.horizons.iter().map(|at| at.outcome.needed).collect(),
            )
        })
        .collect();
    let provisioned = first
        .horizons
        .iter()
        .map(|at| at.outcome.provisioned)
        .collect();
    series.push(("provisioned".to_owned(), provisioned));
    lines("RU/s needed by horizon", &places, &series)
}

/// The cost of one request of each pattern by partitions.
pub(super) fn costs(row: &Row) -> String {
    const AT: [f64; 6] = [1.0, 5.0, 10.0, 20.0, 50.0, 100.0];
    let series: Vec<(String, Vec<f64>)> = row
        .routes
        .iter()
        .map(|route| {
            let costs = AT
                .iter()
                .map(|&partitions| route.cost(partitions, 2.7))
                .collect();
            (format!("{} ({})", route.pattern, route.reach.word()), costs)
        })
        .collect();
    let places: Vec<String> = AT
        .iter()
        .map(|partitions| format!("{partitions:.0}"))
        .collect();
    lines("RU of one request by partitions", &places, &series)
}
