//! The gates: what disqualifies a key, whatever its other merits (method: sections 5 and 11).
//!
//! Every threshold is a published limit or follows from one. A gate answers from an interval: it
//! passes when the whole interval does, fails when all of it fails, and else says that the sample
//! is too small to tell.

use serde::{Deserialize, Serialize};

use crate::evidence::Interval;

/// The gates in numerical order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub enum GateName {
    /// Values that the service takes, one entity in one key.
    G0,
    /// The value never changes.
    G1,
    /// The largest logical partition.
    G2,
    /// The hottest value.
    G3,
    /// Throttling on average.
    G4,
    /// Throttling and the hottest value in the worst window.
    G5,
    /// Queries that visit every partition.
    G6,
    /// Atomic operations inside one value.
    G7,
    /// Uniqueness inside one value.
    G8,
}

impl GateName {
    /// What it is about, in a word or two.
    pub fn subject(self) -> &'static str {
        match self {
            Self::G0 => "validity",
            Self::G1 => "stability",
            Self::G2 => "size of a value",
            Self::G3 => "hot value",
            Self::G4 => "throttling",
            Self::G5 => "worst window",
            Self::G6 => "fan-out",
            Self::G7 => "transactions",
            Self::G8 => "uniqueness",
        }
    }

    /// What a key must have to pass, in five words or so.
    pub fn asks(self) -> &'static str {
        match self {
            Self::G0 => "values that make sound keys",
            Self::G1 => "the value never changes",
            Self::G2 => "no value outgrows 20 GB",
            Self::G3 => "no value alone is too hot",
            Self::G4 => "hardly any request is refused",
            Self::G5 => "nor in the worst minute",
            Self::G6 => "queries to all partitions fit",
            Self::G7 => "atomic operations share a value",
            Self::G8 => "unique keys share a value",
        }
    }
}

/// What a gate found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Finding {
    /// Nothing to say.
    Pass,
    /// A condition to watch.
    Warn,
    /// Neither pass nor fail can be told from this sample.
    SampleTooSmall,
    /// The key is out.
    Fail,
}

/// The answer of one gate at one horizon.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GateAnswer {
    /// Which.
    pub gate: GateName,
    /// What it found.
    pub finding: Finding,
    /// What was measured.
    pub measure: f64,
    /// What it was compared with.
    pub limit: f64,
    /// The sentence for people: the number, the limit, the value concerned.
    pub reason: String,
}

impl GateAnswer {
    /// A gate with nothing to say.
    pub fn pass(gate: GateName, measure: f64, limit: f64) -> Self {
        Self {
            gate,
            finding: Finding::Pass,
            measure,
            limit,
            reason: String::new(),
        }
    }

    /// A gate with a finding.
    pub fn with(
        gate: GateName,
        finding: Finding,
        measure: f64,
        limit: f64,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            gate,
            finding,
            measure,
            limit,
            reason: reason.into(),
        }
    }
}

/// Compares an interval with a failing and a warning threshold.
pub fn compare(measure: Interval, warn: f64, fail: f64) -> (Finding, f64) {
    if measure.low > fail {
        (Finding::Fail, fail)
    } else if measure.high > fail {
        // The interval reaches over the limit and below it: more items would decide.
        (Finding::SampleTooSmall, fail)
    } else if measure.estimate > warn {
        (Finding::Warn, warn)
    } else {
        (Finding::Pass, warn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_three_answers() {
        let at = |low, estimate, high| {
            compare(
                Interval {
                    low,
                    estimate,
                    high,
                },
                14.0,
                20.0,
            )
            .0
        };
        assert_eq!(at(5.0, 6.0, 7.0), Finding::Pass);
        assert_eq!(at(14.5, 15.0, 16.0), Finding::Warn);
        assert_eq!(at(21.0, 25.0, 30.0), Finding::Fail);
        assert_eq!(at(18.0, 21.0, 30.0), Finding::SampleTooSmall);
        assert_eq!(at(3.0, 10.0, 30.0), Finding::SampleTooSmall);
        assert_eq!(compare(Interval::exact(20.0), 14.0, 20.0).0, Finding::Warn);
        assert_eq!(compare(Interval::exact(20.1), 14.0, 20.0).0, Finding::Fail);
    }
}
