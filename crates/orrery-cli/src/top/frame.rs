//! One frame of `orrery top`: a pure function of what the server answered.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::report::{bytes, count};

/// How a frame looks.
#[derive(Debug, Clone)]
pub struct View {
    /// Only containers whose name contains this.
    pub name: Option<String>,
    /// Most ranges of a container.
    pub ranges: usize,
    /// Most keys and queries of a container.
    pub top: usize,
    /// Columns.
    pub width: usize,
    /// Whether to colour.
    pub is_coloured: bool,
}

/// Cells of a bar.
const BAR: usize = 30;

/// A range with the figures that matter here.
struct Row<'j> {
    range: &'j Json,
    /// Charge and refusals of the last whole second.
    last: (f64, u64),
    normalized: Option<f64>,
    refused: u64,
}

impl View {
    /// The frame's text, each line ended.
    pub fn frame(&self, answer: &Json) -> String {
        let mut text = String::new();
        let now = answer["now"].as_u64().unwrap_or(0);
        let throttle = answer["throttle"].as_bool().unwrap_or(false);
        let containers: Vec<&Json> = list(answer, "containers")
            .filter(|container| self.wants(container))
            .collect();
        let (charge, refused) = containers
            .iter()
            .flat_map(|container| list(container, "ranges"))
            .map(|range| last_second(range, now))
            .fold((0.0, 0), |sum, last| (sum.0 + last.0, sum.1 + last.1));
        let region = answer["region"].as_str();
        let region = region.map_or_else(String::new, |name| format!("{name}  "));
        let _ = writeln!(
            text,
            "OrreryDB  {region}{} containers  {} RU/s  {} x 429/s  throttling {}",
            containers.len(),
            units(charge),
            count(refused),
            if throttle { "on" } else { "off" },
        );
        for container in containers {
            text.push('\n');
            self.container(container, now, &mut text);
        }
        self.cut(&text)
    }

    fn wants(&self, container: &Json) -> bool {
        let shown = name(container);
        self.name.as_ref().is_none_or(|part| shown.contains(part))
    }

    fn container(&self, container: &Json, now: u64, text: &mut String) {
        let rate = match (&container["rate"], &container["scaledRate"]) {
            (Json::Null, _) => "no limit".to_owned(),
            (rate, scaled) if scaled == rate => format!("{} RU/s", whole(rate)),
            (rate, scaled) => format!("{} of {} RU/s", whole(scaled), whole(rate)),
        };
        let mut rows: Vec<Row<'_>> = list(container, "ranges")
            .map(|range| row(range, now))
            .collect();
        let used: f64 = rows.iter().map(|row| row.last.0).sum();
        let provision = container["provision"].as_str().unwrap_or_default();
        let _ = writeln!(
            text,
            "{}  {provision} {rate}, {} ranges, {} RU/s used",
            self.bold(&name(container)),
            rows.len(),
            units(used),
        );
        let hidden = rows.len().saturating_sub(self.ranges);
        if hidden > 0 {
            // The busiest stay, in the order of key space.
            rows.sort_by(|a, b| busy(b).total_cmp(&busy(a)));
            rows.truncate(self.ranges);
            rows.sort_by_key(|row| row.range["minInclusive"].as_str().map(str::to_owned));
        }
        for row in &rows {
            self.range(row, text);
        }
        if hidden > 0 {
            let _ = writeln!(text, "  ... and {hidden} ranges that are less busy");
        }
        self.keys(container, text);
        self.queries(container, text);
    }

    fn range(&self, row: &Row<'_>, text: &mut String) {
        let budget = row.range["budget"].as_f64();
        let share = budget.map_or(0.0, |budget| row.last.0 / budget.max(0.01));
        let of = budget.map_or_else(
            || "no limit".to_owned(),
            |budget| format!("of {}", units(budget)),
        );
        let size = row.range["itemBytes"].as_u64().unwrap_or(0)
            + row.range["indexBytes"].as_u64().unwrap_or(0);
        let highest = row
            .normalized
            .map_or_else(String::new, |share| format!("max {share:>3.0} %"));
        let refused = match (row.last.1, row.refused) {
            (0, 0) => String::new(),
            (now, all) => self.red(&format!(
                "  429: {} now, {} last minute",
                count(now),
                count(all)
            )),
        };
        let _ = writeln!(
            text,
            "  {:>4} {} {:>9} {of:<11} {highest:<9} {:>9}{refused}",
            row.range["id"].as_str().unwrap_or("?"),
            self.bar(share),
            units(row.last.0),
            bytes(size),
        );
    }

    /// The hottest keys over all ranges, by what they took of late and how often they were refused.
    fn keys(&self, container: &Json, text: &mut String) {
        let mut keys: Vec<(&Json, &Json)> = list(container, "ranges")
            .flat_map(|range| list(range, "keys").map(move |key| (&range["id"], key)))
            .collect();
        let weight = |key: &Json| {
            let charge = key["charge"].as_f64().unwrap_or(0.0);
            charge + key["refused"].as_f64().unwrap_or(0.0)
        };
        keys.sort_by(|(_, a), (_, b)| weight(b).total_cmp(&weight(a)));
        keys.truncate(self.top);
        if !keys.is_empty() {
            text.push_str("  hottest keys\n");
        }
        for (range, key) in keys {
            let shown = match &key["key"] {
                Json::Null => format!("hash {}", key["epk"].as_str().unwrap_or_default()),
                values => values.to_string(),
            };
            let _ = writeln!(
                text,
                "    {:<40} range {:<4} {:>5.1} % of it, {} x 429",
                cut(&shown, 40),
                range.as_str().unwrap_or("?"),
                key["share"].as_f64().unwrap_or(0.0),
                whole(&key["refused"]),
            );
        }
    }

    fn queries(&self, container: &Json, text: &mut String) {
        let mut queries = list(container, "queries").take(self.top).peekable();
        if queries.peek().is_some() {
            text.push_str("  heaviest queries\n");
        }
        for query in queries {
            let pages = query["pages"].as_f64().unwrap_or(0.0).max(1.0);
            let charge = query["charge"].as_f64().unwrap_or(0.0);
            let _ = writeln!(
                text,
                "    {:>10} RU  {:>8} pages of {:>7}  {:>3} ranges  {}",
                units(charge),
                whole(&query["pages"]),
                units(charge / pages),
                list(query, "ranges").count(),
                query["text"].as_str().unwrap_or_default(),
            );
        }
    }

    fn bar(&self, share: f64) -> String {
        let filled = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
        let bar = format!("[{}{}]", "#".repeat(filled), ".".repeat(BAR - filled));
        if share >= 1.0 { self.red(&bar) } else { bar }
    }

    fn red(&self, text: &str) -> String {
        self.style("31", text)
    }

    fn bold(&self, text: &str) -> String {
        self.style("1", text)
    }

    fn style(&self, code: &str, text: &str) -> String {
        if self.is_coloured {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Lines no longer than the terminal; escape sequences take no columns.
    fn cut(&self, text: &str) -> String {
        let mut all = String::with_capacity(text.len());
        for line in text.lines() {
            let (mut columns, mut inside) = (0, false);
            for character in line.chars() {
                if character == '\x1b' {
                    inside = true;
                }
                if inside || columns < self.width {
                    all.push(character);
                }
                if !inside {
                    columns += 1;
                } else if character == 'm' {
                    inside = false;
                }
            }
            all.push('\n');
        }
        all
    }
}

fn list<'j>(value: &'j Json, member: &str) -> impl Iterator<Item = &'j Json> {
    value[member].as_array().into_iter().flatten()
}

fn name(container: &Json) -> String {
    let link = container["container"].as_str().unwrap_or_default();
    link.trim_start_matches("dbs/").replace("/colls/", "/")
}

fn row(range: &Json, now: u64) -> Row<'_> {
    let refused = list(range, "seconds").filter_map(|second| second["refused"].as_u64());
    Row {
        range,
        last: last_second(range, now),
        normalized: range["normalized"].as_f64(),
        refused: refused.sum(),
    }
}

/// Charge and refusals of the second before `now`, which is over.
fn last_second(range: &Json, now: u64) -> (f64, u64) {
    let before = now.saturating_sub(1);
    list(range, "seconds")
        .find(|second| second["second"].as_u64() == Some(before))
        .map_or((0.0, 0), |second| {
            let charge = second["charge"].as_f64().unwrap_or(0.0);
            (charge, second["refused"].as_u64().unwrap_or(0))
        })
}

fn busy(row: &Row<'_>) -> f64 {
    row.normalized.unwrap_or(0.0) + row.refused as f64
}

fn units(charge: f64) -> String {
    if charge >= 1_000.0 {
        count(charge.round() as u64)
    } else {
        format!("{charge:.1}")
    }
}

fn whole(number: &Json) -> String {
    count(number.as_f64().unwrap_or(0.0).round() as u64)
}

fn cut(text: &str, columns: usize) -> String {
    text.chars().take(columns).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view() -> View {
        View {
            name: None,
            ranges: 1,
            top: 2,
            width: 200,
            is_coloured: false,
        }
    }

    fn answer() -> Json {
        json!({
            "now": 100, "throttle": true,
            "containers": [{
                "container": "dbs/shop/colls/orders", "provision": "manual", "rate": 20,
                "scaledRate": 20, "throttle": true, "normalized": 100.0,
                "ranges": [
                    {"id": "0", "minInclusive": "", "budget": 10.0, "normalized": 20.0,
                     "itemBytes": 0, "indexBytes": 0, "seconds": [], "keys": []},
                    {"id": "1", "minInclusive": "1F", "budget": 10.0, "normalized": 100.0,
                     "itemBytes": 2048, "indexBytes": 0,
                     "seconds": [{"second": 99, "charge": 10.0, "requests": 10, "refused": 30}],
                     "keys": [{"key": ["open"], "epk": "2A", "charge": 10.0, "refused": 30,
                               "requests": 10, "share": 97.5}]},
                ],
                "queries": [{"text": "SELECT * FROM c", "pages": 4, "charge": 12.0, "rows": 4,
                             "ranges": ["0", "1"]}],
            }],
        })
    }

    #[test]
    fn a_frame_shows_the_hot_range_its_key_and_the_query() {
        let frame = view().frame(&answer());
        for part in [
            "1 containers  10.0 RU/s  30 x 429/s  throttling on",
            "shop/orders  manual 20 RU/s, 2 ranges",
            &format!("[{}]", "#".repeat(BAR)),
            "429: 30 now, 30 last minute",
            "... and 1 ranges that are less busy",
            "[\"open\"]",
            "97.5 % of it, 30 x 429",
            "12.0 RU",
            "2 ranges  SELECT * FROM c",
        ] {
            assert!(frame.contains(part), "{part}: {frame}");
        }
        assert!(!frame.contains('\x1b'));
    }

    #[test]
    fn lines_end_with_the_terminal_and_colours_take_no_room() {
        let narrow = View {
            width: 30,
            is_coloured: true,
            ..view()
        };
        for line in narrow.frame(&answer()).lines() {
            let plain = line
                .replace("\x1b[31m", "")
                .replace("\x1b[1m", "")
                .replace("\x1b[0m", "");
            assert!(plain.chars().count() <= 30, "{plain}");
        }
        let none = View {
            name: Some("other".to_owned()),
            ..view()
        };
        assert_eq!(none.frame(&answer()).lines().count(), 1);
    }
}
