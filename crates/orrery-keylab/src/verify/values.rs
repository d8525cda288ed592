//! Values of items and requests, drawn from a seed: by the shares of a scenario, or from the rows
//! of a sample, whose members belong together.

use orrery_model::partition_key::KeyComponent;

use crate::demand::Demand;
use crate::error::KeylabError;
use crate::layout::axis_weights;
use crate::scenario::FieldSpec;
use crate::shares::ValueSet;
use crate::table::{Column, Table};
use crate::value_format::{ValueFormat, mix};

/// Numbers of new values begin this far from the first one, or behind the last.
const FRESH: u64 = 10_000_000_000;

/// Numbers from a seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from 0 up to, without, 1.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound.max(1) as u64) as usize
    }
}

/// A member of the items.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its path: `address/city`.
    pub name: String,
    values: Vec<KeyComponent>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// By shares: of the items, and of the requests of each pattern.
    Shares {
        stored: Vec<f64>,
        by_pattern: Vec<Vec<f64>>,
        /// Every item has another value; new ones have numbers from here on.
        fresh: Option<(ValueFormat, u64, u64)>,
    },
    /// The codes of the rows.
    Rows(Vec<u32>),
}

impl Member {
    /// A member of a scenario.
    pub fn of_shares(
        name: &str,
        spec: &FieldSpec,
        set: &ValueSet,
        demands: &[Demand<'_>],
    ) -> Result<Self, KeylabError> {
        let (values, weights) = axis_weights(demands, name, set);
        let mut stored = set.stored.clone();
        stored.resize(values.len(), 0.0);
        let fresh = match (&spec.format, spec.unique) {
            (Some(format), true) => {
                let format = ValueFormat::parse(format)
                    .map_err(|message| KeylabError::invalid(format!("fields.{name}"), message))?;
                let start = spec.start.unwrap_or(0);
                // Beyond everything that is loaded or asked for.
                let next = start.saturating_add(spec.count.unwrap_or(0).max(FRESH));
                Some((format, start, next))
            }
            _ => None,
        };
        Ok(Self {
            name: name.to_owned(),
            values,
            kind: Kind::Shares {
                stored: sums(&stored),
                by_pattern: weights.iter().map(|weights| sums(weights)).collect(),
                fresh,
            },
        })
    }

    /// A member of a sample.
    pub fn of_rows(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            values: column.values.to_vec(),
            kind: Kind::Rows(column.codes.clone()),
        }
    }

    /// All values.
    pub fn values(&self) -> &[KeyComponent] {
        &self.values
    }

    /// The value of an item that is loaded, the `number`th; rows are those of the sample.
    pub fn of_item(&self, number: u64, row: usize, random: &mut Random) -> KeyComponent {
        match &self.kind {
            Kind::Shares {
                stored,
                fresh: None,
                ..
            } => self.values[draw(stored, random)].clone(),
            Kind::Shares {
                fresh: Some((format, start, _)),
                ..
            } => KeyComponent::String(format.value(start.wrapping_add(number))),
            Kind::Rows(codes) => self.values[codes[row] as usize].clone(),
        }
    }

    /// The value of a request of a pattern.
    pub fn of_request(&self, pattern: usize, row: usize, random: &mut Random) -> KeyComponent {
        match &self.kind {
            Kind::Shares { by_pattern, .. } => {
                self.values[draw(&by_pattern[pattern], random)].clone()
            }
            Kind::Rows(codes) => self.values[codes[row] as usize].clone(),
        }
    }

    /// The value of an item that a request creates, the `number`th.
    pub fn of_new_item(
        &self,
        pattern: usize,
        number: u64,
        row: usize,
        random: &mut Random,
    ) -> KeyComponent {
        match &self.kind {
            Kind::Shares {
                fresh: Some((format, _, next)),
                ..
            } => KeyComponent::String(format.value(next.wrapping_add(number))),
            _ => self.of_request(pattern, row, random),
        }
    }

    /// Whether the value of a row is one of these; `None` means any that is defined.
    pub fn row_is(&self, row: usize, among: Option<&[KeyComponent]>) -> bool {
        match &self.kind {
            Kind::Rows(codes) => {
                let value = &self.values[codes[row] as usize];
                among.map_or(*value != KeyComponent::Undefined, |values| {
                    values.contains(value)
                })
            }
            Kind::Shares { .. } => true,
        }
    }
}

/// The members of a sample that its items are made of again.
pub fn members_of(table: &Table) -> Vec<Member> {
    table.columns.iter().map(Member::of_rows).collect()
}

fn sums(shares: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    shares
        .iter()
        .map(|share| {
            sum += share;
            sum
        })
        .collect()
}

fn draw(sums: &[f64], random: &mut Random) -> usize {
    let total = sums.last().copied().unwrap_or(0.0);
    let at = random.share() * total;
    sums.partition_point(|sum| *sum <= at)
        .min(sums.len().saturating_sub(1))
}
