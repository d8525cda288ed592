//! Verdicts: what the gates together say of a key.

use serde::{Deserialize, Serialize};

use crate::gate::{Finding, GateAnswer};

/// What is to be done with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub enum Verdict {
    /// No gate objects.
    #[serde(alias = "A")]
    Accept,
    /// It holds on a condition that is written out.
    #[serde(alias = "C")]
    Conditional,
    /// A gate fails at some horizon.
    #[serde(alias = "R")]
    Reject,
}

impl Verdict {
    /// The verdict of the answers at one horizon.
    pub fn of<'a>(answers: impl IntoIterator<Item = &'a GateAnswer>) -> Self {
        answers
            .into_iter()
            .map(|answer| match answer.finding {
                Finding::Pass => Self::Accept,
                Finding::Warn | Finding::SampleTooSmall => Self::Conditional,
                Finding::Fail => Self::Reject,
            })
            .max()
            .unwrap_or(Self::Accept)
    }

    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accept => "Accept",
            Self::Conditional => "Conditional",
            Self::Reject => "Reject",
        }
    }

    /// One letter, for tables.
    pub fn letter(self) -> char {
        match self {
            Self::Accept => 'A',
            Self::Conditional => 'C',
            Self::Reject => 'R',
        }
    }
}
