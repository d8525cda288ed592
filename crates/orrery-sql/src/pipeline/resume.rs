//! Where a page starts: our own resume state, and the `resumeFilter` of a request.

use super::ExecutionError;
use super::place::SortPlace;
use super::sorter::compare_key;
use crate::program::node::SortKey;
use orrery_model::distinct_hash;
use orrery_model::value::Value;
use std::cmp::Ordering;

/// What a continuation keeps of a pipeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Rows that OFFSET still drops.
    pub(crate) offset: u64,
    /// Rows delivered.
    pub(crate) taken: u64,
    /// Rows of the item at hand that were dealt with.
    pub(crate) inside: u64,
    /// The last row, where rows are sorted and each stands for itself.
    pub(crate) place: Option<SortPlace>,
}

const STATE_FORMAT: u8 = 1;
const STATE_WITH_PLACE: u8 = 2;

impl State {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![match self.place {
            None => STATE_FORMAT,
            Some(_) => STATE_WITH_PLACE,
        }];
        for part in [self.offset, self.taken, self.inside] {
            bytes.extend(part.to_be_bytes());
        }
        if let Some(place) = &self.place {
            place.write(&mut bytes);
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, ExecutionError> {
        Self::read(bytes).ok_or(ExecutionError::BadState)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (&format, rest) = bytes.split_first()?;
        let (numbers, rest) = rest.split_first_chunk::<24>()?;
        let number = |at: usize| {
            let (_, from) = numbers.split_at(at * 8);
            from.first_chunk().map(|part| u64::from_be_bytes(*part))
        };
        let place = match format {
            STATE_FORMAT if rest.is_empty() => None,
            STATE_WITH_PLACE => Some(SortPlace::read(rest)?),
            _ => return None,
        };
        Some(Self {
            offset: number(0)?,
            taken: number(1)?,
            inside: number(2)?,
            place,
        })
    }
}

/// A sort value of a resume filter.
#[derive(Debug, Clone, PartialEq)]
enum ResumeValue {
    Plain(Value<'static>),
    /// An array or an object, known by its hash only.
    Hashed {
        rank: u8,
        key: [u8; 16],
    },
}

/// `resumeFilter` of a request (protocol: section 8.1).
#[derive(Debug, Clone, PartialEq)]
pub struct ResumeFilter {
    values: Vec<ResumeValue>,
    /// The document number of `rid`.
    doc: Option<u64>,
    exclude: bool,
}

impl ResumeFilter {
    /// Reads the member `resumeFilter`; `document` turns a `_rid` into its document number.
    pub fn parse(value: &Value<'_>, document: &dyn Fn(&str) -> Option<u64>) -> Option<Self> {
        let values = value
            .member("value")
            .as_array()?
            .iter()
            .map(ResumeValue::read)
            .collect::<Option<Vec<_>>>()?;
        let doc = match value.member("rid") {
            Value::Undefined | Value::Null => None,
            rid => Some(document(rid.as_str()?)?),
        };
        Some(Self {
            values,
            doc,
            exclude: value.member("exclude").as_bool().unwrap_or(false),
        })
    }

    /// True when the row stands at or behind the place to resume from.
    pub(crate) fn admits(&self, order: &[SortKey], keys: &[Value<'_>], doc: u64) -> bool {
        for (key, (row, start)) in order.iter().zip(keys.iter().zip(&self.values)) {
            match start.compare(key, row) {
                Ordering::Equal => {}
                Ordering::Less => return true,
                Ordering::Greater => return false,
            }
        }
        let Some(start) = self.doc else { return true };
        let by_doc = if order.first().is_some_and(|key| key.descending) {
            start.cmp(&doc)
        } else {
            doc.cmp(&start)
        };
        by_doc.is_gt() || (by_doc.is_eq() && !self.exclude)
    }
}

impl ResumeValue {
    /// Undefined is `[]`, arrays and objects are `{"type", "low", "high"}`.
    fn read(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Array(list) if list.is_empty() => Some(Self::Plain(Value::Undefined)),
            Value::Array(_) | Value::Undefined => None,
            Value::Object(object) => {
                let rank = match object.get("type")?.as_str()? {
                    "array" => Value::Array(Vec::new()).type_rank(),
                    "object" => Value::Object(orrery_model::value::Object::new()).type_rank(),
                    _ => return None,
                };
                let half = |name: &str| {
                    let number = object.get(name)?;
                    // Halves above 2^63 come as negative or as large numbers.
                    Some(number.as_i64().map_or_else(
                        || number.as_f64().map_or(0, |half| half as u64),
                        |half| half as u64,
                    ))
                };
                let hash = u128::from(half("high")?) << 64 | u128::from(half("low")?);
                Some(Self::Hashed {
                    rank,
                    key: hash.to_le_bytes(),
                })
            }
            scalar => Some(Self::Plain(scalar.clone().into_owned())),
        }
    }

    /// How the start stands to a row's value.
    fn compare(&self, key: &SortKey, row: &Value<'_>) -> Ordering {
        match self {
            Self::Plain(start) => compare_key(key, start, row),
            Self::Hashed { rank, key: hash } => {
                let order = rank
                    .cmp(&row.type_rank())
                    .then_with(|| hash.cmp(&distinct_hash::order_key(row)));
                if key.descending {
                    order.reverse()
                } else {
                    order
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::node::Node;
    use orrery_model::json;

    fn admits(filter: &str, descending: bool, key: &str, doc: u64) -> bool {
        let filter = json::parse_str(filter).expect("JSON");
        let filter = ResumeFilter::parse(&filter, &|rid| rid.parse().ok()).expect("a filter");
        let order = [SortKey {
            node: Node::UNDEFINED,
            descending,
            undefined_last: false,
        }];
        let key = if key.is_empty() {
            Value::Undefined
        } else {
            json::parse_str(key).expect("JSON")
        };
        filter.admits(&order, &[key], doc)
    }

    #[test]
    fn states_survive_and_foreign_ones_do_not() {
        let state = State {
            offset: 1,
            taken: u64::MAX,
            inside: 3,
            place: None,
        };
        assert_eq!(State::from_bytes(&state.to_bytes()), Ok(state.clone()));
        let keys = [Value::from("a"), Value::Undefined, Value::from(2)];
        let state = State {
            place: Some(SortPlace::new(&keys, 7, 2)),
            ..state
        };
        let bytes = state.to_bytes();
        assert_eq!(State::from_bytes(&bytes), Ok(state));
        for end in 0..bytes.len() {
            let cut = bytes.get(..end).expect("a prefix");
            assert_eq!(State::from_bytes(cut), Err(ExecutionError::BadState));
        }
        for bad in [&[][..], &[1, 2], &[2; 25], &[1; 26], &[1; 33]] {
            assert_eq!(State::from_bytes(bad), Err(ExecutionError::BadState));
        }
    }

    #[test]
    fn resuming_at_a_value() {
        let at_five = r#"{"value":[5]}"#;
        assert!(
            admits(at_five, false, "5", 1)
                && admits(at_five, false, "6", 1)
                && !admits(at_five, false, "4", 1)
        );
        assert!(!admits(at_five, false, "null", 1) && admits(at_five, false, "\"a\"", 1));
        assert!(admits(at_five, true, "4", 1) && !admits(at_five, true, "6", 1));
        assert!(
            admits(r#"{"value":[[]]}"#, false, "", 1)
                && !admits(r#"{"value":[null]}"#, false, "", 1)
        );
    }

    #[test]
    fn resuming_behind_a_document() {
        let behind = r#"{"value":[5],"rid":"7","exclude":true}"#;
        assert!(
            !admits(behind, false, "5", 7)
                && admits(behind, false, "5", 8)
                && !admits(behind, false, "5", 6)
        );
        assert!(admits(behind, true, "5", 6) && !admits(behind, true, "5", 8));
        assert!(admits(
            r#"{"value":[5],"rid":"7","exclude":false}"#,
            false,
            "5",
            7
        ));
    }

    #[test]
    fn resuming_at_an_array() {
        let array = json::parse_str("[1,2]").expect("JSON");
        let hash = distinct_hash::hash(&array);
        let filter = format!(
            r#"{{"value":[{{"type":"array","low":{},"high":{}}}]}}"#,
            hash as u64 as i64,
            (hash >> 64) as u64 as i64
        );
        assert!(admits(&filter, false, "[1,2]", 1));
        assert!(admits(&filter, false, "{}", 1) && !admits(&filter, false, "5", 1));
    }
}
