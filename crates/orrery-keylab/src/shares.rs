//! The values of a field with their shares: what a generator describes, worked out.

use orrery_model::partition_key::KeyComponent;

use crate::calendar;
use crate::error::KeylabError;
use crate::scenario::{FieldSpec, ScalarValue, ShareLaw, ValueList};
use crate::value_format::ValueFormat;

/// Sets up to this size can be listed by an application: a filter that does not name the value
/// can enumerate them.
const ENUMERABLE: usize = 1_000;

/// The values of a field; the vectors run side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueSet {
    /// The values that are placed.
    pub values: Vec<KeyComponent>,
    /// Share of the items.
    pub stored: Vec<f64>,
    /// Share of the requests.
    pub traffic: Vec<f64>,
    /// How many values of production each placed one stands for.
    pub stands_for: Vec<f64>,
    /// The newest value of a calendar; what is created now has it.
    pub latest: Option<usize>,
    /// Whether every item has another value.
    pub unique: bool,
    /// Whether an application can list all values.
    pub enumerable: bool,
    /// How many different values production has.
    pub distinct: f64,
}

impl ValueSet {
    /// Works out a field; `count` replaces the field's own.
    pub fn of(field: &FieldSpec, count: Option<u64>, at: &str) -> Result<Self, KeylabError> {
        let invalid = |message: String| KeylabError::invalid(at, message);
        let mut set = Self::base(field, count, at)?;
        let heavy: f64 = field.heavy.iter().map(|heavy| heavy.share).sum();
        let heavy_traffic: f64 = field
            .heavy
            .iter()
            .map(|heavy| heavy.traffic.unwrap_or(heavy.share))
            .sum();
        if heavy > 1.0 || heavy_traffic > 1.0 {
            return Err(invalid(
                "the heavy values have more than everything".to_owned(),
            ));
        }
        scale(&mut set.stored, 1.0 - heavy);
        scale(&mut set.traffic, 1.0 - heavy_traffic);
        for value in &field.heavy {
            set.push(
                value.value.component(),
                value.share,
                value.traffic.unwrap_or(value.share),
            );
        }
        let lost = field.missing + field.nulls;
        if lost > 0.0 {
            scale(&mut set.stored, 1.0 - lost);
            scale(&mut set.traffic, 1.0 - lost);
            for (component, share) in [
                (KeyComponent::Undefined, field.missing),
                (KeyComponent::Null, field.nulls),
            ] {
                if share > 0.0 {
                    set.push(component, share, share);
                }
            }
        }
        set.unique = field.unique;
        set.enumerable = !field.unique && set.distinct <= ENUMERABLE as f64;
        Ok(set)
    }

    fn push(&mut self, value: KeyComponent, stored: f64, traffic: f64) {
        self.values.push(value);
        self.stored.push(stored);
        self.traffic.push(traffic);
        self.stands_for.push(1.0);
        self.distinct += 1.0;
    }

    /// Without the heavy, missing and null values.
    fn base(field: &FieldSpec, count: Option<u64>, at: &str) -> Result<Self, KeylabError> {
        let invalid = |message: String| KeylabError::invalid(at, message);
        let count = count.or(field.count).unwrap_or(0);
        if !field.groups.is_empty() {
            let mut set = Self::empty();
            let total: f64 = field.groups.iter().map(|group| group.share).sum();
            for group in &field.groups {
                let format = ValueFormat::parse(&group.format).map_err(invalid)?;
                let share = group.share / total / group.count.max(1) as f64;
                for number in group.start..group.start.saturating_add(group.count) {
                    set.push(KeyComponent::String(format.value(number)), share, share);
                }
            }
            return Ok(set);
        }
        if let Some(ValueList::Shares(shares)) = &field.values {
            let total: f64 = shares.values().sum();
            let mut set = Self::empty();
            for (value, share) in shares {
                set.push(text_component(value), share / total, share / total);
            }
            return Ok(set);
        }
        let (values, distinct) = match (&field.values, field.time, &field.format) {
            (Some(ValueList::Ranked(list)), _, _) => {
                let values: Vec<_> = list.iter().map(ScalarValue::component).collect();
                let distinct = values.len() as f64;
                (values, distinct)
            }
            (_, Some(unit), _) => {
                let latest = field.latest.as_deref().unwrap_or_default();
                let values = calendar::last(count, latest, unit)
                    .ok_or_else(|| invalid(format!("'{latest}' is no date of this calendar")))?;
                let values = values.into_iter().map(KeyComponent::String).collect();
                (values, count as f64)
            }
            (_, _, Some(format)) => {
                let format = ValueFormat::parse(format).map_err(invalid)?;
                let start = field.start.unwrap_or(0);
                let placed = field.placed.unwrap_or(count).min(count);
                let values = (start..start.saturating_add(placed))
                    .map(|number| KeyComponent::String(format.value(number)))
                    .collect();
                (values, count as f64)
            }
            _ => return Err(invalid("no values".to_owned())),
        };
        if values.is_empty() {
            return Err(invalid("no values".to_owned()));
        }
        let shares = law(field.shares.unwrap_or_default(), values.len());
        let stands_for = distinct / values.len() as f64;
        Ok(Self {
            latest: field.time.map(|_| values.len() - 1),
            stands_for: vec![stands_for; values.len()],
            traffic: shares.clone(),
            stored: shares,
            values,
            unique: false,
            enumerable: false,
            distinct,
        })
    }

    fn empty() -> Self {
        Self {
            values: Vec::new(),
            stored: Vec::new(),
            traffic: Vec::new(),
            stands_for: Vec::new(),
            latest: None,
            unique: false,
            enumerable: false,
            distinct: 0.0,
        }
    }

    /// The share of the items that the largest single value of production has.
    pub fn largest(&self) -> f64 {
        self.stored
            .iter()
            .zip(&self.stands_for)
            .map(|(share, stands_for)| share / stands_for)
            .fold(0.0, f64::max)
    }

    /// The place of a value.
    pub fn position(&self, value: &KeyComponent) -> Option<usize> {
        self.values.iter().position(|known| known == value)
    }
}

/// Text of a YAML map key: `true`, `false` and `null` are not strings.
pub fn text_component(text: &str) -> KeyComponent {
    match text {
        "true" => KeyComponent::Bool(true),
        "false" => KeyComponent::Bool(false),
        "null" => KeyComponent::Null,
        _ => KeyComponent::String(text.to_owned()),
    }
}

fn scale(shares: &mut [f64], factor: f64) {
    for share in shares {
        *share *= factor;
    }
}

/// Shares of `count` ranked values.
pub fn law(law: ShareLaw, count: usize) -> Vec<f64> {
    let weights: Vec<f64> = match law {
        ShareLaw::Even => vec![1.0; count],
        ShareLaw::Zipf(exponent) => (1..=count)
            .map(|rank| (rank as f64).powf(-exponent))
            .collect(),
    };
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_values_leave_the_rest_to_the_law() {
        let field: FieldSpec = crate::scenario::read_yaml(
            "format: 'T{:04d}'\ncount: 4\nheavy: [{value: C, share: 0.6, traffic: 0.8}]\nnulls: 0.1\n",
            "test",
        )
        .expect("field");
        let set = ValueSet::of(&field, None, "field").expect("set");
        assert_eq!(set.values.len(), 6);
        let close = |left: f64, right: f64| (left - right).abs() < 1e-12;
        assert!(close(set.stored.iter().sum(), 1.0) && close(set.traffic.iter().sum(), 1.0));
        assert!(close(set.stored[0], 0.09) && close(set.traffic[0], 0.045));
        assert!(close(set.largest(), 0.54));
    }

    #[test]
    fn zipf_falls_with_rank() {
        let shares = law(ShareLaw::Zipf(1.0), 200);
        assert!((shares[0] / shares[1] - 2.0).abs() < 1e-12);
        assert!((shares[0] - 0.1701).abs() < 1e-3);
    }
}
