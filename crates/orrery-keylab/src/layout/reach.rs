//! How far the requests of a pattern have to go under a key (method: section 9).

use crate::demand::Demand;
use crate::routing::{Filter, Known, Reach};
use crate::scenario::{KeySpec, Operation};

/// The reach of a pattern. `closed` has, for each field of the key, how many values an
/// application could list, if it could.
pub(crate) fn reach(
    key: &KeySpec,
    demand: &Demand<'_>,
    fields: &[&str],
    closed: &[Option<f64>],
) -> Reach {
    if demand.pattern.op.is_write() {
        // The item is at hand, so is its key.
        return Reach::Single;
    }
    let Some(filter) = &demand.filter else {
        return Reach::FanOut;
    };
    let single = if demand.pattern.op == Operation::Point {
        Reach::Point
    } else {
        Reach::Single
    };
    let of_count = |count: f64| {
        if count <= 1.0 {
            single
        } else {
            Reach::Values(count)
        }
    };
    match key {
        KeySpec::Hierarchy(_) => match filter.joint(fields) {
            None => Reach::FanOut,
            Some(joint) if joint.prefixes == 0 => of_count(joint.full as f64),
            Some(joint) => Reach::Prefix((joint.prefixes + joint.full) as f64),
        },
        KeySpec::Path(_) | KeySpec::Concat { .. } => {
            concatenated(filter, fields, closed).map_or(Reach::FanOut, of_count)
        }
        KeySpec::Suffix { suffix } => match known(filter, &suffix.of).count() {
            None => Reach::FanOut,
            Some(count) => {
                let knows = |field: &String| known(filter, field).count().is_some();
                if suffix.hash.as_ref().is_some_and(knows) {
                    of_count(count as f64)
                } else {
                    Reach::Values(count as f64 * suffix.buckets as f64)
                }
            }
        },
        KeySpec::Copies { copies } => match known(filter, &copies.of).count() {
            None => Reach::FanOut,
            Some(count) => of_count(count as f64),
        },
    }
}

/// How many values of a joined key a filter names; `None` when it cannot tell.
fn concatenated(filter: &Filter, fields: &[&str], closed: &[Option<f64>]) -> Option<f64> {
    let all_known = fields
        .iter()
        .all(|field| filter.known(field) != Known::Nothing);
    if all_known
        && (2..=3).contains(&fields.len())
        && let Some(joint) = filter.joint(fields)
        && joint.prefixes == 0
    {
        return Some(joint.full as f64);
    }
    let mut values = 1.0;
    let mut named = false;
    for (field, closed) in fields.iter().zip(closed) {
        match (known(filter, field).count(), closed) {
            (Some(count), _) => {
                values *= count as f64;
                named = true;
            }
            // The application lists a closed set.
            (None, Some(count)) if fields.len() > 1 => values *= count,
            (None, _) => return None,
        }
    }
    named.then_some(values)
}

/// What a filter says about a field; a truncated time is known when the whole time is.
fn known(filter: &Filter, field: &str) -> Known {
    filter.known(field.split('@').next().unwrap_or(field))
}
