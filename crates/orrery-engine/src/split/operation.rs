//! What is to be split or merged, how far it is, and what became of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::value::{Object, Value};

use super::cut::Cut;
use crate::container::Container;

/// Which ranges become others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReshapeKind {
    /// One range becomes several.
    Split {
        /// Which.
        range: PartitionKeyRangeId,
        /// Where it is cut.
        cut: Cut,
        /// Into how many, where the cut leaves that open.
        into: u32,
    },
    /// Neighbours become one.
    Merge {
        /// Which, in order of key space.
        ranges: Vec<PartitionKeyRangeId>,
    },
}

impl ReshapeKind {
    /// The ranges that go.
    pub fn sources(&self) -> Vec<PartitionKeyRangeId> {
        match self {
            Self::Split { range, .. } => vec![*range],
            Self::Merge { ranges } => ranges.clone(),
        }
    }

    /// As it is kept until it is over.
    pub(crate) fn to_value(&self) -> Value<'static> {
        let members = match self {
            Self::Split { range, cut, into } => {
                let (by, at) = match cut {
                    Cut::Hash => ("hash", None),
                    Cut::Size => ("size", None),
                    Cut::At(at) => ("at", Some(at.to_hex())),
                };
                vec![
                    ("split", Value::from(range.0)),
                    ("by", Value::from(by)),
                    ("at", at.map_or(Value::Null, Value::from)),
                    ("into", Value::from(*into)),
                ]
            }
            Self::Merge { ranges } => {
                let ranges = ranges.iter().map(|range| Value::from(range.0));
                vec![("merge", Value::Array(ranges.collect()))]
            }
        };
        Value::Object(Object::from_iter(members)).into_owned()
    }

    /// Reads such a value.
    pub(crate) fn from_value(value: &Value<'_>) -> Option<Self> {
        let number = |value: &Value<'_>| u32::try_from(value.as_i64()?).ok();
        if let Some(ranges) = value.member("merge").as_array() {
            let range = |value: &Value<'_>| number(value).map(PartitionKeyRangeId);
            let ranges = ranges.iter().map(range).collect::<Option<_>>()?;
            return Some(Self::Merge { ranges });
        }
        Some(Self::Split {
            range: PartitionKeyRangeId(number(value.member("split"))?),
            cut: match value.member("by").as_str()? {
                "hash" => Cut::Hash,
                "size" => Cut::Size,
                "at" => Cut::At(EffectivePartitionKey::from_hex(
                    value.member("at").as_str()?,
                )?),
                _ => return None,
            },
            into: number(value.member("into"))?,
        })
    }
}

/// How far a reshape is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It has not begun.
    Waiting,
    /// It looks for the place to cut.
    Measuring,
    /// Items and history are being copied.
    Copying,
    /// What was written meanwhile is being copied.
    CatchingUp,
    /// The new ranges serve.
    Done,
    /// Nothing has changed.
    Failed,
}

impl Stage {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Measuring => "measuring",
            Self::Copying => "copying",
            Self::CatchingUp => "catching up",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    /// Whether nothing more will happen.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// What can be told of a reshape.
#[derive(Debug, Clone)]
pub struct Progress {
    /// How far it is.
    pub stage: Stage,
    /// Items that were copied.
    pub copied: u64,
    /// Items that the parents had at the start.
    pub items: u64,
    /// The new ranges, once they serve.
    pub children: Vec<PartitionKeyRangeId>,
    /// How long no write got through.
    pub pause_us: u64,
    /// When it was asked for, and when it was over (0 before).
    pub asked_us: u64,
    /// See `asked_us`.
    pub over_us: u64,
    /// Why it failed.
    pub failure: Option<String>,
}

/// A split or a merge, from the request to its end.
#[derive(Debug)]
pub struct Reshape {
    number: u64,
    container: Arc<Container>,
    kind: ReshapeKind,
    due_us: u64,
    progress: Mutex<Progress>,
}

impl Reshape {
    pub(super) fn new(
        number: u64,
        container: Arc<Container>,
        kind: ReshapeKind,
        now_us: u64,
        due_us: u64,
    ) -> Self {
        let progress = Progress {
            stage: Stage::Waiting,
            copied: 0,
            items: 0,
            children: Vec::new(),
            pause_us: 0,
            asked_us: now_us,
            over_us: 0,
            failure: None,
        };
        Self {
            number,
            container,
            kind,
            due_us,
            progress: Mutex::new(progress),
        }
    }

    /// Counts up from 1 with the process.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whose ranges.
    pub fn container(&self) -> &Arc<Container> {
        &self.container
    }

    /// What it does.
    pub fn kind(&self) -> &ReshapeKind {
        &self.kind
    }

    /// When it may begin.
    pub(super) fn due_us(&self) -> u64 {
        self.due_us
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.locked().clone()
    }

    /// Whether nothing more will happen.
    pub fn is_over(&self) -> bool {
        self.locked().stage.is_over()
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.locked());
    }

    fn locked(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
