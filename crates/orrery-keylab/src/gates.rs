//! The gates' questions, asked of an outcome (method: section 11).

use crate::demand::Demand;
use crate::gate::{Finding, GateAnswer, GateName, compare};
use crate::names::words;
use crate::outcome::Outcome;
use crate::placement::PartitionRule;
use crate::report::text::{amount, gigabytes, percent};

/// More than this share of the demand refused is unhealthy.
pub const THROTTLED_FAIL: f64 = 0.05;
/// More than this share is to be watched.
pub const THROTTLED_WARN: f64 = 0.01;
/// From this part of the limit on, the service's own alert fires.
pub const ALERT: f64 = 0.7;
/// More changes than this share of the items make a value unstable.
pub const CHANGES_FAIL: f64 = 0.001;
/// Operations in one batch.
const BATCH_OPERATIONS: u64 = 100;

/// Words of names whose values change during an item's life.
const CHANGING_WORDS: [&str; 9] = [
    "status", "state", "stage", "owner", "assignee", "region", "level", "current", "last",
];

/// What is known of a key beside placement.
#[derive(Debug, Clone, Default)]
pub struct KeyFacts {
    /// Fields whose values make the key, those that give a label included.
    pub fields: Vec<String>,
    /// What the service or one entity in two keys objects to; findings with reasons.
    pub validity: Vec<(Finding, f64, String)>,
    /// Share of items whose value changes: upper and lower bound, if there is history.
    pub changes: Option<crate::evidence::Interval>,
    /// Groups of fields that must be unique in the whole container.
    pub unique: Vec<Vec<String>>,
}

/// All gates at one horizon, in numerical order.
pub fn ask(
    facts: &KeyFacts,
    demands: &[Demand<'_>],
    mean: &Outcome,
    peak: Option<&Outcome>,
    rule: &PartitionRule,
) -> Vec<GateAnswer> {
    vec![
        validity(facts),
        stability(facts, demands),
        size(mean, rule),
        hot_value(GateName::G3, mean, rule),
        throttling(GateName::G4, mean),
        worst_window(peak, rule),
        fan_out(mean, rule),
        transactions(facts, demands),
        uniqueness(facts),
    ]
}

fn validity(facts: &KeyFacts) -> GateAnswer {
    let worst = facts
        .validity
        .iter()
        .max_by_key(|(finding, ..)| (*finding == Finding::Fail, *finding == Finding::Warn));
    match worst {
        None => GateAnswer::pass(GateName::G0, 0.0, 0.0),
        Some((finding, measure, _)) => {
            let reasons: Vec<&str> = facts
                .validity
                .iter()
                .map(|(.., text)| text.as_str())
                .collect();
            GateAnswer::with(GateName::G0, *finding, *measure, 0.0, reasons.join("; "))
        }
    }
}

fn stability(facts: &KeyFacts, demands: &[Demand<'_>]) -> GateAnswer {
    let gate = GateName::G1;
    let setter = demands.iter().find_map(|demand| {
        let set = demand
            .pattern
            .sets
            .iter()
            .find(|field| facts.fields.contains(field))?;
        (demand.rate > 0.0).then_some((demand, set))
    });
    if let Some((demand, field)) = setter {
        let reason = format!(
            "the pattern '{}' changes {field} {} times a second: each time is a create and a delete in two logical partitions, not atomic",
            demand.pattern.name,
            amount(demand.rate)
        );
        return GateAnswer::with(gate, Finding::Fail, demand.rate, 0.0, reason);
    }
    if let Some(changes) = facts.changes
        && changes.estimate > 0.0
    {
        let finding = if changes.estimate > CHANGES_FAIL {
            Finding::Fail
        } else {
            Finding::Pass
        };
        let reason = format!(
            "the value changes in {} of the items (limit {})",
            percent(changes.estimate),
            percent(CHANGES_FAIL)
        );
        return GateAnswer::with(gate, finding, changes.estimate, CHANGES_FAIL, reason);
    }
    if facts
        .changes
        .is_some_and(|changes| changes.high <= CHANGES_FAIL)
    {
        return GateAnswer::pass(gate, 0.0, CHANGES_FAIL);
    }
    let named = facts.fields.iter().find(|field| is_changing_name(field));
    match named {
        Some(field) => GateAnswer::with(
            gate,
            Finding::Warn,
            0.0,
            CHANGES_FAIL,
            format!(
                "the name {field} suggests a value that changes during an item's life: make sure that it never does"
            ),
        ),
        None => GateAnswer::pass(gate, 0.0, CHANGES_FAIL),
    }
}

/// Whether a word of the name is one of those that change.
fn is_changing_name(field: &str) -> bool {
    words(field)
        .iter()
        .any(|word| CHANGING_WORDS.contains(&word.as_str()))
}

fn size(outcome: &Outcome, rule: &PartitionRule) -> GateAnswer {
    let limit = rule.value_gb();
    let (finding, compared) = compare(outcome.largest_gb, limit * ALERT, limit);
    let gb = outcome.largest_gb.estimate;
    if finding == Finding::Pass {
        return GateAnswer::pass(GateName::G2, gb, compared);
    }
    let reason = match finding {
        Finding::SampleTooSmall => format!(
            "the largest value may hold up to {} GB (limit {} GB): the sample is too small to tell",
            gigabytes(outcome.largest_gb.high),
            gigabytes(limit)
        ),
        _ => format!(
            "the largest value holds {} GB (limit {} GB)",
            gigabytes(gb),
            gigabytes(compared)
        ),
    };
    GateAnswer::with(GateName::G2, finding, gb, compared, reason)
}

fn hot_value(gate: GateName, outcome: &Outcome, rule: &PartitionRule) -> GateAnswer {
    let (most, budget) = (rule.partition_rate(), outcome.budget());
    let hottest = outcome.hottest;
    let name = &outcome.hottest_name;
    if hottest > most {
        let reason = format!(
            "the value {name} alone is asked for {} RU/s, more than a physical partition can have ({})",
            amount(hottest),
            amount(most)
        );
        GateAnswer::with(gate, Finding::Fail, hottest, most, reason)
    } else if hottest > budget {
        let reason = format!(
            "the value {name} alone is asked for {} RU/s, more than the {} RU/s of its partition",
            amount(hottest),
            amount(budget)
        );
        GateAnswer::with(gate, Finding::Warn, hottest, budget, reason)
    } else {
        GateAnswer::pass(gate, hottest, budget)
    }
}

fn throttling(gate: GateName, outcome: &Outcome) -> GateAnswer {
    let share = outcome.throttled;
    let reason = || {
        format!(
            "{} of the demand is refused: the fullest of {} partitions is asked for {} RU/s and has {}",
            percent(share),
            outcome.partitions,
            amount(outcome.needed / outcome.partitions.max(1) as f64),
            amount(outcome.budget())
        )
    };
    if share > THROTTLED_FAIL {
        GateAnswer::with(gate, Finding::Fail, share, THROTTLED_FAIL, reason())
    } else if share > THROTTLED_WARN {
        GateAnswer::with(gate, Finding::Warn, share, THROTTLED_WARN, reason())
    } else {
        GateAnswer::pass(gate, share, THROTTLED_WARN)
    }
}

fn worst_window(peak: Option<&Outcome>, rule: &PartitionRule) -> GateAnswer {
    let Some(peak) = peak else {
        return GateAnswer::pass(GateName::G5, 0.0, THROTTLED_WARN);
    };
    let hot = hot_value(GateName::G5, peak, rule);
    let throttled = throttling(GateName::G5, peak);
    let mut worse = if hot.finding as u8 > throttled.finding as u8 {
        hot
    } else {
        throttled
    };
    if !worse.reason.is_empty() {
        worse.reason = format!("in the worst window, {}", worse.reason);
    }
    worse
}

fn fan_out(outcome: &Outcome, rule: &PartitionRule) -> GateAnswer {
    let visit = orrery_model::charge::query(
        &orrery_model::charge::QueryCost::default(),
        orrery_model::charge::ReadCost::Single,
    );
    let floor = outcome.fan_out * visit.units();
    let most = rule.partition_rate();
    if floor > most {
        let reason = format!(
            "{} queries a second visit every partition and put {} RU/s on each, more than it can have ({}); more partitions do not dilute it",
            amount(outcome.fan_out),
            amount(floor),
            amount(most)
        );
        GateAnswer::with(GateName::G6, Finding::Fail, floor, most, reason)
    } else {
        GateAnswer::pass(GateName::G6, floor, most)
    }
}

fn transactions(facts: &KeyFacts, demands: &[Demand<'_>]) -> GateAnswer {
    for demand in demands {
        let group = &demand.pattern.atomic_over;
        let outside = facts.fields.iter().find(|field| !group.contains(field));
        if let (false, Some(field)) = (group.is_empty(), outside) {
            let reason = format!(
                "'{}' must be atomic over {}, but items of one group differ in {field} and fall into several key values",
                demand.pattern.name,
                group.join(" and ")
            );
            return GateAnswer::with(GateName::G7, Finding::Fail, 0.0, 0.0, reason);
        }
        if let Some(operations) = demand
            .pattern
            .batch
            .filter(|&count| count > BATCH_OPERATIONS)
        {
            let reason = format!(
                "'{}' has {operations} operations in a batch (limit {BATCH_OPERATIONS})",
                demand.pattern.name
            );
            return GateAnswer::with(
                GateName::G7,
                Finding::Warn,
                operations as f64,
                BATCH_OPERATIONS as f64,
                reason,
            );
        }
    }
    GateAnswer::pass(GateName::G7, 0.0, 0.0)
}

fn uniqueness(facts: &KeyFacts) -> GateAnswer {
    for group in &facts.unique {
        if let Some(field) = facts.fields.iter().find(|field| !group.contains(field)) {
            let reason = format!(
                "{} must be unique in the container, but unique keys hold within one key value and {field} is not part of them",
                group.join(" and ")
            );
            return GateAnswer::with(GateName::G8, Finding::Fail, 0.0, 0.0, reason);
        }
    }
    GateAnswer::pass(GateName::G8, 0.0, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_change() {
        for name in [
            "status",
            "orderStatus",
            "address/state",
            "current_level",
            "lastSeen",
            "assigneeId",
        ] {
            assert!(is_changing_name(name), "{name}");
        }
        for name in ["customerId", "estate", "blast", "statement"] {
            assert!(!is_changing_name(name), "{name}");
        }
    }
}
