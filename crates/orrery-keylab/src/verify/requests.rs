//! Requests as an application would make them under a key, drawn from a seed: which values they
//! name follows from the shares, which text they send from the pattern's own condition.

use orrery_model::epk::EffectivePartitionKey;
use orrery_model::partition_key::KeyComponent;
use orrery_model::value::Value;
use rustc_hash::FxHashMap;

use super::items;
use super::places::position;
use super::request::{Action, Address, Question, Request};
use super::values::{Member, Random};
use crate::demand::Demand;
use crate::layout::{Route, joined, labels};
use crate::placement::version2;
use crate::routing::{Operand, Reach};
use crate::scenario::{KeySpec, LabelRule, Operation, ScalarValue};

/// A parameter that carries a made key.
const KEY_PARAMETER: &str = "@partitionKey";
/// Operations of the largest batch.
const MOST_OPERATIONS: u64 = 100;
/// Draws until two parameters of one condition differ.
const DRAWS: usize = 20;

/// What requests are drawn from.
pub struct Requests<'a> {
    key: &'a KeySpec,
    demands: Vec<Demand<'a>>,
    shapes: Vec<Shape>,
    members: Vec<Member>,
    /// The members that make the key, in order.
    key_members: Vec<usize>,
    /// The place of `id` among the members.
    id: Option<usize>,
    /// Rows of a sample that suit each pattern, with the bytes of every row; empty for scenarios.
    rows: Vec<Vec<u32>>,
    row_bytes: Vec<u32>,
    item_bytes: usize,
    labels: FxHashMap<Vec<u8>, Vec<KeyComponent>>,
    random: Random,
    created: u64,
}

struct Shape {
    reach: Reach,
    /// The place of each member in the condition.
    operands: Vec<Option<Vec<Operand>>>,
}

/// Where the values come from.
pub struct Source {
    /// The members of an item.
    pub members: Vec<Member>,
    /// How many rows of a sample there are, with their bytes; empty for shares.
    pub row_bytes: Vec<u32>,
    /// Bytes of an item.
    pub item_bytes: usize,
}

impl<'a> Requests<'a> {
    /// Requests of a workload.
    pub fn new(
        key: &'a KeySpec,
        demands: Vec<Demand<'a>>,
        routes: &[Route],
        source: Source,
        seed: u64,
    ) -> Self {
        let Source {
            members,
            row_bytes,
            item_bytes,
        } = source;
        let shapes: Vec<Shape> = demands
            .iter()
            .zip(routes)
            .map(|(demand, route)| Shape {
                reach: route.reach,
                operands: members
                    .iter()
                    .map(|member| demand.filter.as_ref()?.operands(&member.name))
                    .collect(),
            })
            .collect();
        let place = |name: &str| members.iter().position(|member| member.name == name);
        let fit = |shape: &Shape| -> Vec<u32> {
            let fits = |row: usize| {
                members
                    .iter()
                    .zip(&shape.operands)
                    .all(|(member, operands)| {
                        operands
                            .as_ref()
                            .is_none_or(|operands| member.row_is(row, given(operands).as_deref()))
                    })
            };
            (0..row_bytes.len() as u32)
                .filter(|&row| fits(row as usize))
                .collect()
        };
        Self {
            key_members: key.fields().into_iter().filter_map(place).collect(),
            id: place("id"),
            rows: shapes.iter().map(fit).collect(),
            key,
            demands,
            shapes,
            members,
            row_bytes,
            item_bytes,
            labels: FxHashMap::default(),
            random: Random::new(seed),
            created: 0,
        }
    }

    /// The name of the member that a made key stands in; `None` for natural keys.
    pub fn made_member(&self) -> Option<&'static str> {
        let is_natural = matches!(self.key, KeySpec::Path(_) | KeySpec::Hierarchy(_));
        (!is_natural).then_some(MADE_MEMBER)
    }

    /// Starts the same sequence again, or another one, whose new items are numbered from here on.
    pub fn restart(&mut self, seed: u64, first: u64) {
        self.random = Random::new(seed);
        self.created = first;
    }

    /// Seconds to the next of so many requests a second.
    pub fn pause(&mut self, rate: f64) -> f64 {
        -(1.0 - self.random.share()).ln() / rate
    }

    /// The next request of the whole workload.
    pub fn draw(&mut self) -> Request {
        let total: f64 = self.demands.iter().map(|demand| demand.rate).sum();
        let mut at = self.random.share() * total;
        let pattern = self
            .demands
            .iter()
            .position(|demand| {
                at -= demand.rate;
                at < 0.0
            })
            .unwrap_or_default();
        self.of_pattern(pattern)
    }

    /// The next request of one pattern.
    pub fn of_pattern(&mut self, pattern: usize) -> Request {
        let row = self.row(pattern);
        let operation = self.demands[pattern].pattern.op;
        let action = match (operation, self.shapes[pattern].reach) {
            (Operation::Point, Reach::Point) => Action::Read(self.address(pattern, row)),
            (Operation::Point | Operation::Query, _) => Action::Query(self.questions(pattern, row)),
            (Operation::Create, _) => Action::Create(self.new_items(pattern, row)),
            (Operation::Batch, _) => {
                let count = self.demands[pattern].pattern.batch.unwrap_or(1);
                let items: Vec<(Address, Vec<u8>)> = (0..count.clamp(1, MOST_OPERATIONS))
                    .flat_map(|_| self.new_items(pattern, row))
                    .collect();
                self.batch(items)
            }
            (Operation::Replace, _) => {
                let address = self.address(pattern, row);
                let version = 1 + self.random.bits() % 1_000_000;
                let body = self.body(&address, version);
                Action::Replace(address, body)
            }
            (Operation::Patch, _) => {
                let version = 1 + self.random.bits() % 1_000_000;
                let body = format!(
                    r#"{{"operations":[{{"op":"set","path":"/version","value":{version}}}]}}"#
                );
                Action::Patch(self.address(pattern, row), body.into_bytes())
            }
            (Operation::Delete, _) => {
                // Each item ends once.
                let (address, _) = self.new_items(pattern, row).swap_remove(0);
                Action::Delete(address)
            }
        };
        Request { pattern, action }
    }

    /// An item to load, the `number`th.
    pub fn item(&mut self, number: u64) -> (Address, Vec<u8>) {
        let row = self.random.below(self.row_bytes.len());
        let values: Vec<KeyComponent> = self
            .members
            .iter()
            .map(|member| member.of_item(number, row, &mut self.random))
            .collect();
        let id = self
            .id_of(&values)
            .unwrap_or_else(|| format!("item-{number}"));
        let key = self.full_key(&values);
        let address = Address { key, id, values };
        let bytes = self
            .row_bytes
            .get(row)
            .map_or(self.item_bytes, |&bytes| bytes as usize);
        let body = self.text(&address, 0, bytes);
        (address, body)
    }

    /// The text of an item that must be there before a request.
    pub fn body(&self, address: &Address, version: u64) -> Vec<u8> {
        self.text(address, version, self.item_bytes)
    }

    fn text(&self, address: &Address, version: u64, bytes: usize) -> Vec<u8> {
        let members = self.members.iter().map(|member| member.name.as_str());
        let made = self
            .made_member()
            .and_then(|name| Some((name, address.key.first()?)));
        items::text(
            &address.id,
            members.zip(&address.values),
            made,
            version,
            bytes,
        )
    }

    fn row(&mut self, pattern: usize) -> usize {
        match self.rows.get(pattern) {
            Some(rows) if !rows.is_empty() => rows[self.random.below(rows.len())] as usize,
            _ => 0,
        }
    }

    /// New items as one transaction in the key of the first; one by one where the id is a part of
    /// the key, since no two items share a key then.
    fn batch(&self, items: Vec<(Address, Vec<u8>)>) -> Action {
        let Some(first) = items.first().map(|(address, _)| address.clone()) else {
            return Action::Create(items);
        };
        if self.id.is_some_and(|id| self.key_members.contains(&id)) {
            return Action::Create(items);
        }
        let bodies = items.into_iter().map(|(mut address, _)| {
            address.key.clone_from(&first.key);
            for &member in &self.key_members {
                address.values[member].clone_from(&first.values[member]);
            }
            self.body(&address, 0)
        });
        Action::Batch(first.key.clone(), bodies.collect())
    }

    /// The id among the values, if the items have one.
    fn id_of(&self, values: &[KeyComponent]) -> Option<String> {
        match values.get(self.id?)? {
            KeyComponent::String(id) => Some(id.clone()),
            _ => None,
        }
    }

    /// The one item of a logical partition that reads and changes want.
    fn address(&mut self, pattern: usize, row: usize) -> Address {
        let mut values: Vec<KeyComponent> = self
            .members
            .iter()
            .map(|member| member.of_request(pattern, row, &mut self.random))
            .collect();
        let key = self.full_key(&values);
        let in_key = self.id.filter(|id| self.key_members.contains(id));
        let id = in_key.and_then(|_| self.id_of(&values)).unwrap_or_else(|| {
            let position = EffectivePartitionKey::from_bytes(position(&key));
            format!("target-{}", position.to_hex())
        });
        if let Some(at) = self.id {
            values[at] = KeyComponent::String(id.clone());
        }
        Address { key, id, values }
    }

    fn new_items(&mut self, pattern: usize, row: usize) -> Vec<(Address, Vec<u8>)> {
        let number = self.created;
        self.created += 1;
        let mut values: Vec<KeyComponent> = self
            .members
            .iter()
            .map(|member| member.of_new_item(pattern, number, row, &mut self.random))
            .collect();
        // Rows of a sample have ids that are there already.
        let is_of_row = !self.row_bytes.is_empty();
        let known = self.id_of(&values).filter(|_| !is_of_row);
        let id = known.unwrap_or_else(|| format!("new-{number}"));
        if let Some(at) = self.id {
            values[at] = KeyComponent::String(id.clone());
        }
        let keys = match self.key {
            KeySpec::Copies { copies }
                if self.value(&values) == Some(&copies.value.component()) =>
            {
                self.all_labels(&values)
                    .into_iter()
                    .map(|label| vec![label])
                    .collect()
            }
            _ => vec![self.full_key(&values)],
        };
        keys.into_iter()
            .map(|key| {
                let address = Address {
                    key,
                    id: id.clone(),
                    values: values.clone(),
                };
                let body = self.body(&address, 0);
                (address, body)
            })
            .collect()
    }

    fn value<'v>(&self, values: &'v [KeyComponent]) -> Option<&'v KeyComponent> {
        values.get(*self.key_members.first()?)
    }

    /// The key of an item with these values; a label is drawn, as the hash of many values would.
    fn full_key(&mut self, values: &[KeyComponent]) -> Vec<KeyComponent> {
        let parts: Vec<KeyComponent> = self
            .key_members
            .iter()
            .map(|&member| values[member].clone())
            .collect();
        match self.key {
            KeySpec::Path(_) | KeySpec::Hierarchy(_) => parts,
            KeySpec::Concat { concat } => vec![joined(parts.iter(), &concat.separator)],
            KeySpec::Suffix { .. } | KeySpec::Copies { .. } => {
                let labels = self.labels_of(&parts[0]);
                let label = match labels {
                    Some(labels) => labels[self.random.below(labels.len())].clone(),
                    None => parts[0].clone(),
                };
                vec![label]
            }
        }
    }

    fn all_labels(&mut self, values: &[KeyComponent]) -> Vec<KeyComponent> {
        match self.value(values).cloned() {
            Some(value) => self.labels_of(&value).unwrap_or_else(|| vec![value]),
            None => Vec::new(),
        }
    }

    /// The labelled values of one value; `None` when it has no labels.
    fn labels_of(&mut self, value: &KeyComponent) -> Option<Vec<KeyComponent>> {
        let (count, start, rule, separator): (u64, u64, LabelRule, &str) = match self.key {
            KeySpec::Suffix { suffix } => {
                let only = || suffix.only.iter().map(ScalarValue::component);
                if !suffix.only.is_empty() && !only().any(|only| only == *value) {
                    return None;
                }
                (
                    suffix.buckets,
                    suffix.start,
                    suffix.labels,
                    &suffix.separator,
                )
            }
            KeySpec::Copies { copies } if copies.value.component() == *value => {
                (copies.count, copies.start, copies.labels, &copies.separator)
            }
            _ => return None,
        };
        let known = self
            .labels
            .entry(position(std::slice::from_ref(value)))
            .or_insert_with(|| labels(value, separator, count, start, rule, &version2));
        Some(known.clone())
    }

    /// The queries that one request of a pattern becomes.
    fn questions(&mut self, pattern: usize, row: usize) -> Vec<Question> {
        let (parameters, values) = self.bind(pattern, row);
        let filter = self.demands[pattern].filter.clone();
        let text = filter.as_ref().map_or_else(
            || "SELECT * FROM c".to_owned(),
            |filter| filter.text().to_owned(),
        );
        let question = |text: String, parameters, keys| Question {
            text,
            parameters,
            keys,
        };
        let reach = self.shapes[pattern].reach;
        if reach == Reach::FanOut {
            return vec![question(text, parameters, None)];
        }
        let whole = self.combinations(&values, reach);
        if self.made_member().is_none() {
            return vec![question(text, parameters, Some(whole))];
        }
        let keys = self.made_keys(pattern, whole);
        keys.into_iter()
            .map(|key| {
                let mut parameters = parameters.clone();
                parameters.push((KEY_PARAMETER.to_owned(), items::owned(&key)));
                let own = format!("c.{MADE_MEMBER} = {KEY_PARAMETER}");
                let text = match text.split_once(" WHERE ") {
                    Some((before, condition)) => {
                        format!("{before} WHERE {own} AND ({condition})")
                    }
                    None => format!("SELECT * FROM c WHERE {own}"),
                };
                question(text, parameters, Some(vec![vec![key]]))
            })
            .collect()
    }

    /// Values for the parameters of a condition; and for each member of the key the values that
    /// the request names, if any.
    #[allow(clippy::type_complexity)] // named nowhere else
    fn bind(
        &mut self,
        pattern: usize,
        row: usize,
    ) -> (
        Vec<(String, Value<'static>)>,
        Vec<Option<Vec<KeyComponent>>>,
    ) {
        let filter = self.demands[pattern].filter.as_ref();
        let mut parameters = filter.map_or_else(Vec::new, |filter| filter.parameters().to_vec());
        let mut named = vec![None; self.key_members.len()];
        for at in 0..self.members.len() {
            let Some(operands) = self.shapes[pattern].operands[at].clone() else {
                continue;
            };
            let mut values: Vec<KeyComponent> = Vec::with_capacity(operands.len());
            for operand in operands {
                let value = match operand {
                    Operand::Value(value) => value,
                    Operand::Parameter(name) => {
                        let value = self.another(pattern, at, row, &values);
                        if let Some(known) = parameters.iter_mut().find(|known| known.0 == name) {
                            known.1 = items::owned(&value);
                        }
                        value
                    }
                };
                values.push(value);
            }
            if let Some(place) = self.key_members.iter().position(|member| *member == at) {
                named[place] = Some(values);
            }
        }
        (parameters, named)
    }

    /// A value that the request does not name yet, if there is one.
    fn another(
        &mut self,
        pattern: usize,
        member: usize,
        row: usize,
        named: &[KeyComponent],
    ) -> KeyComponent {
        let mut row = row;
        let mut value = KeyComponent::Undefined;
        for _ in 0..DRAWS {
            value = self.members[member].of_request(pattern, row, &mut self.random);
            if !named.contains(&value) {
                break;
            }
            row = self.row(pattern);
        }
        value
    }

    /// The keys or prefixes that a request names, out of the values of each part.
    fn combinations(
        &self,
        named: &[Option<Vec<KeyComponent>>],
        reach: Reach,
    ) -> Vec<Vec<KeyComponent>> {
        let mut keys: Vec<Vec<KeyComponent>> = vec![Vec::new()];
        for (&member, values) in self.key_members.iter().zip(named) {
            let values = match values {
                Some(values) => values.as_slice(),
                // The application lists a closed set.
                None if matches!(reach, Reach::Values(_)) && self.made_member().is_some() => {
                    self.members[member].values()
                }
                None => break,
            };
            keys = keys
                .iter()
                .flat_map(|key| {
                    values.iter().map(|value| {
                        let mut key = key.clone();
                        key.push(value.clone());
                        key
                    })
                })
                .collect();
        }
        keys
    }

    /// The values of a made key that a request has to ask for.
    fn made_keys(&mut self, pattern: usize, parts: Vec<Vec<KeyComponent>>) -> Vec<KeyComponent> {
        if let KeySpec::Concat { concat } = self.key {
            return parts
                .iter()
                .map(|parts| joined(parts.iter(), &concat.separator))
                .collect();
        }
        let most = self.demands[pattern].most_visits.unwrap_or(f64::INFINITY);
        let is_one = matches!(self.shapes[pattern].reach, Reach::Single | Reach::Point)
            || matches!(self.key, KeySpec::Copies { .. });
        let mut keys = Vec::new();
        for part in parts
            .into_iter()
            .filter_map(|parts| parts.into_iter().next())
        {
            match self.labels_of(&part) {
                None => keys.push(part),
                Some(labels) if is_one => {
                    keys.push(labels[self.random.below(labels.len())].clone());
                }
                Some(labels) => {
                    // A page that is full before the last label leaves the others alone.
                    let count = labels.len().min(most.min(1e9) as usize).max(1);
                    let from = self.random.below(labels.len());
                    let chosen = (0..count).map(|at| labels[(from + at) % labels.len()].clone());
                    keys.extend(chosen);
                }
            }
        }
        keys
    }
}

/// The member in which a made key is stored.
pub const MADE_MEMBER: &str = "partitionKey";

/// The values of a condition when the text gives all of them.
fn given(operands: &[Operand]) -> Option<Vec<KeyComponent>> {
    operands
        .iter()
        .map(|operand| match operand {
            Operand::Value(value) => Some(value.clone()),
            Operand::Parameter(_) => None,
        })
        .collect()
}
