//! Which partitions a pattern visits under a key, told by the language's own analysis of WHERE
//! (method: section 9).

use std::collections::BTreeMap;

use orrery_model::partition_key::{
    KeyComponent, PartitionKey, PartitionKeyDefinition, PartitionKeyKind,
};
use orrery_model::value::Value;
use orrery_sql::analysis::{QueryLimits, analyze};
use orrery_sql::ast::Query;
use orrery_sql::environment::Parameters;
use orrery_sql::errors::Code;
use orrery_sql::routing::{KeyFilter, key_filter, literal};
use serde::Serialize;

use crate::report::text::shortened;
use crate::scenario::{ParameterValue, ScalarValue};

/// What parameters without a value stand for: strings that no item has.
const PLACEHOLDER: char = '\u{0}';
/// The code for a name that stands for nothing (query-language: section 13).
const UNRESOLVED: Code = Code::Named("SC2001");
/// Letters of a condition that a message repeats.
const SHOWN: usize = 160;

/// How far a request has to go.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "class", content = "values")]
pub enum Reach {
    /// One item by key and id.
    Point,
    /// One value of the key.
    Single,
    /// So many values of the key.
    Values(f64),
    /// So many values of the leading levels of a hierarchical key.
    Prefix(f64),
    /// Every physical partition.
    FanOut,
}

impl Reach {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Single => "single",
            Self::Values(_) => "k-values",
            Self::Prefix(_) => "prefix",
            Self::FanOut => "fan-out",
        }
    }
}

/// What a filter says about one field.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// Nothing that narrows it.
    Nothing,
    /// One of these values; the ones that come from parameters without a value are `None`.
    OneOf(Vec<Option<KeyComponent>>),
}

impl Known {
    /// How many values, if any are known.
    pub fn count(&self) -> Option<usize> {
        match self {
            Self::Nothing => None,
            Self::OneOf(values) => Some(values.len().max(1)),
        }
    }

    /// The values that the text itself gives, when it gives all of them.
    pub fn literals(&self) -> Option<Vec<KeyComponent>> {
        match self {
            Self::Nothing => None,
            Self::OneOf(values) => values
                .iter()
                .cloned()
                .collect::<Option<Vec<_>>>()
                .filter(|values| !values.is_empty()),
        }
    }
}

/// A condition, parsed.
#[derive(Debug, Clone)]
pub struct Filter {
    text: String,
    query: Query,
    named: Vec<(String, Value<'static>)>,
    parameters: Parameters,
}

/// What a condition compares a field with.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A value of the text, or of a parameter whose value is given.
    Value(KeyComponent),
    /// A parameter without a value, by its name with `@`.
    Parameter(String),
}

impl Filter {
    /// Parses a condition such as `c.k = @k`, or a whole query.
    pub fn parse(text: &str, params: &BTreeMap<String, ParameterValue>) -> Result<Self, String> {
        let is_query = text
            .trim_start()
            .get(..6)
            .is_some_and(|word| word.eq_ignore_ascii_case("select"));
        let whole = if is_query {
            text.to_owned()
        } else {
            format!("SELECT * FROM c WHERE {text}")
        };
        let shown = shortened(text, SHOWN);
        let query = orrery_sql::parser::parse(&whole).map_err(|errors| {
            let first = errors.list().first();
            first.map_or_else(
                || format!("'{shown}' is no condition"),
                |error| format!("'{shown}': {}", shortened(&error.message, SHOWN)),
            )
        })?;
        // Only names matter here: what else a server refuses changes no routing.
        if let Err(errors) = analyze(&whole, &query, &QueryLimits::default())
            && let Some(error) = errors.list().iter().find(|error| error.code == UNRESOLVED)
        {
            return Err(format!(
                "'{shown}': {} Members are named with the alias of the container, as in c.name",
                error.message
            ));
        }
        let mut named: Vec<(String, Value<'static>)> = parameter_names(&whole)
            .map(|name| {
                let given = params
                    .get(name)
                    .or_else(|| params.get(name.trim_start_matches('@')));
                let value = match given {
                    Some(ParameterValue::Single(value)) => value_of(value),
                    Some(ParameterValue::List(list)) => {
                        Value::Array(list.iter().map(value_of).collect())
                    }
                    None => Value::from(format!("{PLACEHOLDER}{name}")),
                };
                (name.to_owned(), value)
            })
            .collect();
        named.sort_by(|left, right| left.0.cmp(&right.0));
        named.dedup_by(|left, right| left.0 == right.0);
        Ok(Self {
            text: whole,
            query,
            parameters: Parameters::new(named.clone()),
            named,
        })
    }

    /// What it says about one field.
    pub fn known(&self, field: &str) -> Known {
        let keys = self.keys(&[field]);
        match keys {
            KeyFilter::Unconstrained => Known::Nothing,
            KeyFilter::Contradictory => Known::OneOf(Vec::new()),
            KeyFilter::Keys(keys) => Known::OneOf(
                keys.iter()
                    .map(|key| given(key.components().first()?))
                    .collect(),
            ),
        }
    }

    /// What a field is compared with when it must equal one of several operands; `None` when
    /// nothing narrows it.
    pub fn operands(&self, field: &str) -> Option<Vec<Operand>> {
        match self.keys(&[field]) {
            KeyFilter::Unconstrained => None,
            KeyFilter::Contradictory => Some(Vec::new()),
            KeyFilter::Keys(keys) => keys
                .iter()
                .map(|key| {
                    Some(match key.components().first()? {
                        KeyComponent::String(text) if text.starts_with(PLACEHOLDER) => {
                            Operand::Parameter(text[PLACEHOLDER.len_utf8()..].to_owned())
                        }
                        other => Operand::Value(other.clone()),
                    })
                })
                .collect(),
        }
    }

    /// The parameters with the values that were given for them; those without one have a string
    /// that no item has.
    pub fn parameters(&self) -> &[(String, Value<'static>)] {
        &self.named
    }

    /// The whole query.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many full keys and how many prefixes of these fields it names; `None` when it does not
    /// narrow the first of them.
    pub fn joint(&self, fields: &[&str]) -> Option<Joint> {
        match self.keys(fields) {
            KeyFilter::Unconstrained => None,
            KeyFilter::Contradictory => Some(Joint {
                full: 1,
                prefixes: 0,
                levels: fields.len(),
            }),
            KeyFilter::Keys(keys) => {
                let is_full = |key: &&PartitionKey| key.len() == fields.len();
                let full = keys.iter().filter(is_full).count();
                let levels = keys
                    .iter()
                    .map(PartitionKey::len)
                    .min()
                    .unwrap_or(fields.len());
                Some(Joint {
                    full,
                    prefixes: keys.len() - full,
                    levels,
                })
            }
        }
    }

    fn keys(&self, fields: &[&str]) -> KeyFilter {
        let kind = if fields.len() > 1 {
            PartitionKeyKind::MultiHash
        } else {
            PartitionKeyKind::Hash
        };
        let paths = fields.iter().map(|field| format!("/{field}"));
        match PartitionKeyDefinition::new(paths, kind, 2) {
            Ok(definition) => key_filter(
                &self.query,
                &|expr| literal(expr, &self.parameters),
                &definition,
            ),
            // A member that cannot be a path cannot be narrowed either.
            Err(_) => KeyFilter::Unconstrained,
        }
    }
}

/// The keys that a filter names, of a key of several fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joint {
    /// Keys with a value for every field.
    pub full: usize,
    /// Keys with values for the first fields only.
    pub prefixes: usize,
    /// The fewest fields with a value.
    pub levels: usize,
}

fn given(component: &KeyComponent) -> Option<KeyComponent> {
    match component {
        KeyComponent::String(text) if text.starts_with(PLACEHOLDER) => None,
        other => Some(other.clone()),
    }
}

fn value_of(value: &ScalarValue) -> Value<'static> {
    match value {
        ScalarValue::Bool(value) => Value::Bool(*value),
        ScalarValue::Number(value) => Value::from(*value),
        ScalarValue::Text(value) => Value::from(value.clone()),
        ScalarValue::Null => Value::Null,
    }
}

/// Everything in the text that may be a parameter; what stands in strings does no harm.
fn parameter_names(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('@').map(|(at, _)| {
        let rest = &text[at + 1..];
        let end = rest
            .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .unwrap_or(rest.len());
        &text[at..=at + end]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(text: &str) -> Filter {
        Filter::parse(text, &BTreeMap::new()).expect("condition")
    }

    #[test]
    fn equalities_and_lists_are_counted() {
        let count = |text: &str| filter(text).known("k").count();
        assert_eq!(count("c.k = @k AND c.other > 3"), Some(1));
        assert_eq!(count("c.k IN (@a, @b, 'x')"), Some(3));
        assert_eq!(count("c.k = @a OR c.k = @b"), Some(2));
        assert_eq!(count("c.k = @a OR c.other = @b"), None);
        assert_eq!(count("c.k > @a"), None);
        assert_eq!(
            count("SELECT VALUE COUNT(1) FROM c WHERE c.k = 'x'"),
            Some(1)
        );
        let literals = filter("c.k IN ('x', 'y')").known("k").literals();
        assert_eq!(literals.map(|values| values.len()), Some(2));
        assert_eq!(filter("c.k IN ('x', @y)").known("k").literals(), None);
    }

    #[test]
    fn lists_in_parameters_count_when_given() {
        let list = (1..=4).map(|n| ScalarValue::Number(f64::from(n))).collect();
        let params = BTreeMap::from([("@ids".to_owned(), ParameterValue::List(list))]);
        let filter = Filter::parse("ARRAY_CONTAINS(@ids, c.k)", &params).expect("condition");
        assert_eq!(filter.known("k").count(), Some(4));
    }

    #[test]
    fn hierarchies_know_full_keys_and_prefixes() {
        let joint = |text: &str| filter(text).joint(&["a", "b"]);
        assert_eq!(
            joint("c.a = @a AND c.b = @b"),
            Some(Joint {
                full: 1,
                prefixes: 0,
                levels: 2
            })
        );
        assert_eq!(
            joint("c.a = @a"),
            Some(Joint {
                full: 0,
                prefixes: 1,
                levels: 1
            })
        );
        assert_eq!(joint("c.b = @b"), None);
    }

    #[test]
    fn mistakes_are_named() {
        let error = Filter::parse("c.k = = 3", &BTreeMap::new()).expect_err("no condition");
        assert!(error.contains("c.k = = 3"), "{error}");
    }
}
