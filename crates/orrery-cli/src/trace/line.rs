//! The lines of a trace.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;

use orrery_engine::Container;
use orrery_engine::throughput::provision::Provision;
use orrery_gateway::trace::{Part, Query, Record};
use orrery_model::json;
use orrery_model::partition_key::PartitionKey;
use orrery_model::value::Value;
use orrery_sql::shape;

use super::hashing::KeyHasher;

/// The version of the format.
const VERSION: u32 = 1;

/// Writes lines.
pub struct Lines {
    hasher: Option<KeyHasher>,
}

/// What a container's line shows, as a number to compare.
pub fn stamp(map_version: u64, provision: Provision) -> u64 {
    let mut hasher = DefaultHasher::new();
    map_version.hash(&mut hasher);
    provision.name().hash(&mut hasher);
    provision.rate(1).hash(&mut hasher);
    hasher.finish()
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
    pub fn container(&self, container: &Container, line: &mut Vec<u8>) {
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

    /// A request.
    pub fn request(&self, record: &Record<'_>, line: &mut Vec<u8>) {
        let Record {
            started_us,
            took_us,
            operation,
            status,
            charge,
            request_bytes,
            response_bytes,
            ..
        } = record;
        let _ = write!(
            line,
            "{{\"t\":{started_us},\"us\":{took_us},\"op\":\"{operation}\",\"in\":"
        );
        json::write_string(record.container.alt_path(), line);
        if let Some(range) = record.range {
            let _ = write!(line, ",\"range\":\"{range}\"");
        }
        let _ = write!(line, ",\"status\":{status}");
        if record.sub_status != 0 {
            let _ = write!(line, ",\"sub\":{}", record.sub_status);
        }
        let _ = write!(
            line,
            ",\"ru\":{charge},\"req\":{request_bytes},\"res\":{response_bytes}"
        );
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
            let _ = write!(line, ",\"items\":{items}");
        }
        if record.is_continued {
            line.extend_from_slice(b",\"more\":true");
        }
        if !record.parts.is_empty() {
            self.parts(record.parts, line);
        }
        let _ = write!(line, ",\"act\":\"{}\"", record.activity);
        for (name, value) in [("corr", record.correlated), ("ua", record.user_agent)] {
            if let Some(value) = value {
                let _ = write!(line, ",\"{name}\":");
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
