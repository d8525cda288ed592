//! The lines of a trace.

use std::io::Write as _;

use orrery_engine::Container;
use orrery_engine::statistics::sizes::RangeSizes;
use orrery_gateway::trace::{Part, Query, Record};
use orrery_model::charge::Charge;
use orrery_model::json;
use orrery_model::partition_key::PartitionKey;
use orrery_model::value::{Number, Value};
use orrery_sql::shape;

use super::hashing::KeyHasher;

/// The version of the format.
const VERSION: u32 = 1;

/// Writes lines.
pub struct Lines {
    hasher: Option<KeyHasher>,
}

/// Appends a number; requests have too many of them for the formatter.
fn number(value: u64, line: &mut Vec<u8>) {
    let value = Number::Int(i64::try_from(value).unwrap_or(i64::MAX));
    json::write_number(value, line);
}

/// Appends a charge, with at most two decimals.
fn charge(charge: Charge, line: &mut Vec<u8>) {
    let Some(hundredths) = charge.hundredths() else {
        let _ = write!(line, "{charge}");
        return;
    };
    number(hundredths / 100, line);
    let digit = |value: u64| b'0' + (value % 10) as u8;
    match (digit(hundredths / 10), digit(hundredths)) {
        (b'0', b'0') => {}
        (tenths, b'0') => line.extend_from_slice(&[b'.', tenths]),
        (tenths, rest) => line.extend_from_slice(&[b'.', tenths, rest]),
    }
}

impl Lines {
    /// Lines with hashes in the place of values, or with the values.
    pub fn new(hasher: Option<KeyHasher>) -> Self {
        Self { hasher }
    }

    /// The first line of a file.
    pub fn head(&self) -> Vec<u8> {
        let hashed = self.hasher.is_some();
        let server = env!("CARGO_PKG_VERSION");
        format!("{{\"orreryTrace\":{VERSION},\"server\":\"{server}\",\"hashedKeys\":{hashed}}}\n")
            .into_bytes()
    }

    /// A container: its key paths, rate and ranges.
    pub fn container(container: &Container, line: &mut Vec<u8>) {
        let state = container.state();
        let map = container.ranges();
        let provision = container.throughput().provision();
        line.extend_from_slice(b"{\"container\":");
        json::write_string(container.alt_path(), line);
        line.extend_from_slice(b",\"partitionKey\":");
        json::write(&state.key_definition().to_value(), line);
        let name = provision.name();
        let _ = write!(line, ",\"provision\":\"{name}\"");
        if let Some(rate) = provision.rate(map.partitions().len() as u32) {
            let _ = write!(line, ",\"rate\":{rate}");
        }
        line.extend_from_slice(b",\"ranges\":[");
        for (place, partition) in map.partitions().iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let (id, space) = (partition.id(), partition.range());
            let _ = write!(
                line,
                "{comma}{{\"id\":\"{id}\",\"min\":\"{}\",\"max\":\"{}\"}}",
                space.min, space.max
            );
        }
        line.extend_from_slice(b"]}\n");
    }

    /// The sizes of a container's physical partitions at a time, with the logical ones that stand
    /// out.
    pub fn sizes(
        &self,
        container: &Container,
        now_us: u64,
        ranges: &[RangeSizes],
        line: &mut Vec<u8>,
    ) {
        line.extend_from_slice(b"{\"sizes\":");
        json::write_string(container.alt_path(), line);
        let _ = write!(line, ",\"t\":{now_us},\"ranges\":[");
        for (place, range) in ranges.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let _ = write!(
                line,
                "{comma}{{\"id\":\"{}\",\"items\":{},\"bytes\":{},\"keys\":[",
                range.id,
                range.counters.items,
                range.counters.total_bytes()
            );
            for (place, named) in range.named.iter().enumerate() {
                let comma = if place > 0 { "," } else { "" };
                let (items, bytes) = (named.items, named.bytes);
                let _ = write!(line, "{comma}{{\"items\":{items},\"bytes\":{bytes}");
                self.key(&named.key, line);
                line.push(b'}');
            }
            line.extend_from_slice(b"]}");
        }
        line.extend_from_slice(b"]}\n");
    }

    /// A request.
    pub fn request(&self, record: &Record<'_>, line: &mut Vec<u8>) {
        line.extend_from_slice(b"{\"t\":");
        number(record.started_us, line);
        line.extend_from_slice(b",\"us\":");
        number(record.took_us, line);
        line.extend_from_slice(b",\"op\":\"");
        line.extend_from_slice(record.operation.as_bytes());
        line.extend_from_slice(b"\",\"in\":");
        json::write_string(record.container.alt_path(), line);
        if let Some(range) = record.range {
            line.extend_from_slice(b",\"range\":\"");
            number(range.0.into(), line);
            line.push(b'"');
        }
        line.extend_from_slice(b",\"status\":");
        number(record.status.into(), line);
        if record.sub_status != 0 {
            line.extend_from_slice(b",\"sub\":");
            number(record.sub_status.into(), line);
        }
        line.extend_from_slice(b",\"ru\":");
        charge(record.charge, line);
        line.extend_from_slice(b",\"req\":");
        number(record.request_bytes as u64, line);
        line.extend_from_slice(b",\"res\":");
        number(record.response_bytes as u64, line);
        if let Some(key) = record.key {
            self.key(key, line);
        }
        if let Some(id) = record.id {
            self.id(id, line);
        }
        if let Some(query) = &record.query {
            self.query(query, line);
        }
        if let Some(items) = record.items {
            line.extend_from_slice(b",\"items\":");
            number(items.into(), line);
        }
        if record.is_continued {
            line.extend_from_slice(b",\"more\":true");
        }
        if !record.parts.is_empty() {
            self.parts(record.parts, line);
        }
        line.extend_from_slice(b",\"act\":\"");
        line.extend_from_slice(record.activity.as_bytes());
        line.push(b'"');
        let clients = [
            (&b",\"corr\":"[..], record.correlated),
            (&b",\"ua\":"[..], record.user_agent),
        ];
        for (name, value) in clients {
            if let Some(value) = value {
                line.extend_from_slice(name);
                json::write_string(value, line);
            }
        }
        line.extend_from_slice(b"}\n");
    }

    /// The values of a key, as the header has them.
    fn key(&self, key: &PartitionKey, line: &mut Vec<u8>) {
        line.extend_from_slice(b",\"key\":[");
        for (place, component) in key.components().iter().enumerate() {
            if place > 0 {
                line.push(b',');
            }
            self.value(&component.to_value(), line);
        }
        line.push(b']');
    }

    fn id(&self, id: &str, line: &mut Vec<u8>) {
        line.extend_from_slice(b",\"id\":");
        self.value(&Value::from(id), line);
    }

    fn query(&self, query: &Query<'_>, line: &mut Vec<u8>) {
        line.extend_from_slice(b",\"sql\":");
        if self.hasher.is_some() {
            json::write_string(&shape::of(query.text), line);
        } else {
            json::write_string(query.text, line);
        }
        if query.parameters.is_empty() {
            return;
        }
        line.extend_from_slice(b",\"params\":{");
        for (place, (name, value)) in query.parameters.iter().enumerate() {
            if place > 0 {
                line.push(b',');
            }
            json::write_string(name, line);
            line.push(b':');
            self.value(value, line);
        }
        line.push(b'}');
    }

    fn parts(&self, parts: &[Part], line: &mut Vec<u8>) {
        line.extend_from_slice(b",\"ops\":[");
        for (place, part) in parts.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let Part {
                operation,
                status,
                charge,
                ..
            } = part;
            let _ = write!(
                line,
                "{comma}{{\"op\":\"{operation}\",\"status\":{status},\"ru\":{charge}"
            );
            if let Some(key) = &part.key {
                self.key(key, line);
            }
            if let Some(id) = &part.id {
                self.id(id, line);
            }
            line.push(b'}');
        }
        line.push(b']');
    }

    /// A value, or its hash. What tells nothing (undefined, null, booleans) stays.
    fn value(&self, value: &Value<'_>, line: &mut Vec<u8>) {
        match (&self.hasher, value) {
            (Some(hasher), Value::String(text)) => {
                json::write_string(&hasher.hash(text.as_bytes()), line);
            }
            (Some(hasher), Value::Number(_)) => {
                let text = json::to_string(value);
                json::write_string(&hasher.hash(text.as_bytes()), line);
            }
            (Some(_), Value::Array(values)) => {
                line.push(b'[');
                for (place, value) in values.iter().enumerate() {
                    if place > 0 {
                        line.push(b',');
                    }
                    self.value(value, line);
                }
                line.push(b']');
            }
            (Some(hasher), Value::Object(object)) if !object.is_empty() => {
                let text = json::to_string(value);
                json::write_string(&hasher.hash(text.as_bytes()), line);
            }
            _ => json::write(value, line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_look_as_in_answers() {
        for units in [0.0, 1.0, 1.04, 2.5, 10.1, 1234.567, 1e300, -1.0] {
            let mut line = Vec::new();
            charge(Charge(units), &mut line);
            assert_eq!(line, Charge(units).to_string().as_bytes());
        }
    }
}
