//! Numbers that people write: what each may be, and how it is told when it is not.

use crate::error::KeylabError;
use crate::placement::MAX_PARTITIONS;

/// Largest rate, charge, factor or volume that is computed with; beyond it sums lose their digits.
const MOST: f64 = 1e12;

/// Refuses what is no number, negative, or beyond all measure.
pub(super) fn check(at: &str, what: &str, value: f64) -> Result<(), KeylabError> {
    let wrong = if !value.is_finite() {
        "is not a number"
    } else if value < 0.0 {
        "is negative"
    } else if value > MOST {
        "is more than 1e12"
    } else {
        return Ok(());
    };
    Err(KeylabError::invalid(at, format!("{what} {wrong}")))
}

/// Refuses weights that are no weights: negative ones, and those that add up to nothing.
pub(super) fn check_weights<'a>(
    at: &str,
    weights: impl Iterator<Item = (&'a str, f64)>,
) -> Result<f64, KeylabError> {
    let mut total = 0.0;
    for (name, weight) in weights {
        check(at, &format!("the share of {name}"), weight)?;
        total += weight;
    }
    if total > 0.0 {
        Ok(total)
    } else {
        Err(KeylabError::invalid(at, "the shares add up to nothing"))
    }
}

/// Refuses shares of a whole that are more than it.
pub(super) fn check_shares<'a>(
    at: &str,
    shares: impl Iterator<Item = (&'a str, f64)>,
) -> Result<(), KeylabError> {
    /// Shares that were rounded for people may add up to a little more.
    const ROUNDED: f64 = 1.005;
    let total = check_weights(at, shares)?;
    if total > ROUNDED {
        let message = format!("the shares add up to {total:.3}; all together are 1");
        return Err(KeylabError::invalid(at, message));
    }
    Ok(())
}

/// Refuses containers without partitions, and with more than anybody has.
pub(super) fn check_partitions(at: &str, partitions: u32) -> Result<(), KeylabError> {
    if (1..=MAX_PARTITIONS).contains(&partitions) {
        return Ok(());
    }
    Err(KeylabError::invalid(
        at,
        format!("a container has 1 to {MAX_PARTITIONS} partitions, not {partitions}"),
    ))
}

/// Refuses names that stand twice: results are told by name.
pub(crate) fn check_apart<'a>(
    at: &str,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), KeylabError> {
    let mut known = std::collections::BTreeMap::new();
    for (place, name) in names.enumerate() {
        if let Some(first) = known.insert(name, place) {
            return Err(KeylabError::invalid(
                format!("{at}[{place}]"),
                format!("'{name}' is the name of [{first}] already; write another"),
            ));
        }
    }
    Ok(())
}
