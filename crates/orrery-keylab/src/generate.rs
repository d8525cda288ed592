//! Data and workload of a scenario, from a seed: items one at a time, and the workload file that
//! `analyze` takes.

use std::fmt::Write as _;

use orrery_model::json;
use orrery_model::partition_key::KeyComponent;
use orrery_model::value::{Object, Value};

use crate::error::KeylabError;
use crate::scenario::{FieldSpec, PatternSpec, Placement, Scenario};
use crate::shares::ValueSet;
use crate::value_format::{ValueFormat, mix};
use crate::verify::items::owned;

/// A generator of items.
pub struct Generator {
    fields: Vec<Field>,
    item_bytes: usize,
    state: u64,
    next: u64,
}

struct Field {
    path: Vec<String>,
    source: Source,
}

enum Source {
    /// Another value for every item.
    Unique(ValueFormat, u64),
    /// Values with the sums of their shares.
    Drawn(Vec<KeyComponent>, Vec<f64>, Option<Law>),
}

/// Values beyond those that are placed: each placed one stands for several.
struct Law {
    format: ValueFormat,
    start: u64,
    placed: u64,
    stands_for: u64,
}

impl Generator {
    /// A generator of the scenario's items.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Self, KeylabError> {
        let mut fields = Vec::with_capacity(scenario.fields.len());
        for (name, spec) in &scenario.fields {
            let at = format!("fields.{name}");
            fields.push(Field {
                path: name.split('/').map(str::to_owned).collect(),
                source: source(spec, &at)?,
            });
        }
        Ok(Self {
            fields,
            item_bytes: scenario.item_bytes,
            state: mix(seed),
            next: 0,
        })
    }

    /// A number from 0 up to, without, 1.
    fn random(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.state) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next item as JSON text; filled up to the scenario's size.
    pub fn item(&mut self) -> Vec<u8> {
        let number = self.next;
        self.next += 1;
        let mut item = Object::new();
        for at in 0..self.fields.len() {
            let (share, spread) = (self.random(), self.random());
            let field = &self.fields[at];
            let value = match &field.source {
                Source::Unique(format, start) => {
                    Value::from(format.value(start.wrapping_add(number)))
                }
                Source::Drawn(values, sums, law) => {
                    let place = sums
                        .partition_point(|sum| *sum <= share)
                        .min(values.len() - 1);
                    match law {
                        Some(law) if (place as u64) < law.placed => {
                            let among = (spread * law.stands_for as f64) as u64;
                            let number = law.start + place as u64 + among * law.placed;
                            Value::from(law.format.value(number))
                        }
                        _ => owned(&values[place]),
                    }
                }
            };
            if !value.is_undefined() {
                insert(&mut item, &field.path, value);
            }
        }
        if item.get("id").is_none() {
            item.insert("id", format!("{:016x}{number:016x}", mix(self.state)));
        }
        let mut text = Vec::with_capacity(self.item_bytes + 64);
        json::write(&Value::Object(item), &mut text);
        fill(&mut text, self.item_bytes);
        text
    }
}

/// Makes the text as long as wanted with a member that nobody reads.
pub(crate) fn fill(text: &mut Vec<u8>, wanted: usize) {
    const OPEN: &[u8] = b",\"filler\":\"";
    let missing = wanted.saturating_sub(text.len() + OPEN.len() + 1);
    if missing == 0 {
        return;
    }
    text.pop();
    text.extend_from_slice(OPEN);
    text.resize(text.len() + missing, b'x');
    text.extend_from_slice(b"\"}");
}

pub(crate) fn insert(object: &mut Object<'static>, path: &[String], value: Value<'static>) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        object.insert(name.clone(), value);
        return;
    }
    let mut inner = match object.remove(name) {
        Some(Value::Object(inner)) => inner,
        _ => Object::new(),
    };
    insert(&mut inner, rest, value);
    object.insert(name.clone(), Value::Object(inner));
}

fn source(spec: &FieldSpec, at: &str) -> Result<Source, KeylabError> {
    let format =
        |text: &str| ValueFormat::parse(text).map_err(|message| KeylabError::invalid(at, message));
    if let (true, Some(text)) = (spec.unique, &spec.format) {
        return Ok(Source::Unique(format(text)?, spec.start.unwrap_or(0)));
    }
    let set = ValueSet::of(spec, None, at)?;
    let mut sum = 0.0;
    let sums = set
        .stored
        .iter()
        .map(|share| {
            sum += share;
            sum
        })
        .collect();
    let law = match (&spec.format, spec.count, spec.placed) {
        (Some(text), Some(count), Some(placed)) if placed < count && placed > 0 => Some(Law {
            format: format(text)?,
            start: spec.start.unwrap_or(0),
            placed,
            stands_for: (count / placed).max(1),
        }),
        _ => None,
    };
    Ok(Source::Drawn(set.values, sums, law))
}

/// A pattern whose shares add up to 1: weights in a scenario, they are parts of the whole in a
/// workload.
fn of_whole(pattern: &PatternSpec) -> PatternSpec {
    let mut pattern = pattern.clone();
    for placement in pattern.at.values_mut() {
        if let Placement::Shares(shares) = placement {
            let total: f64 = shares.values().sum();
            for share in shares.values_mut() {
                *share /= total;
            }
        }
    }
    pattern
}

/// The workload file of a scenario.
pub fn workload(scenario: &Scenario) -> Result<String, serde_json::Error> {
    // JSON is YAML: the patterns are written as one line each.
    let mut text = format!(
        "# Workload of the scenario {}.\nworkload:\n",
        scenario.name.replace('\n', " ")
    );
    for pattern in &scenario.workload {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  - {}", serde_json::to_string(&of_whole(pattern))?);
    }
    text.push_str("horizons:\n");
    for horizon in &scenario.horizons {
        let mut horizon = horizon.clone();
        horizon.counts.clear();
        let _ = writeln!(text, "  - {}", serde_json::to_string(&horizon)?);
    }
    let _ = writeln!(
        text,
        "container: {}",
        serde_json::to_string(&scenario.container)?
    );
    let _ = writeln!(text, "indexedTerms: {}", scenario.indexed_terms);
    text.push_str("candidates:\n");
    for candidate in &scenario.candidates {
        let _ = writeln!(text, "  - {}", serde_json::to_string(&candidate.key)?);
    }
    Ok(text)
}
