//! Running a planned query: the text goes to every range that the plan names, the rows are merged
//! by the rules of the SDKs (`orrery_sql::merge`).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::ControlFlow;

use anyhow::{Context as _, Result};
use orrery_model::json;
use orrery_sql::merge::{MergeError, RangeRows, merge, merge_hybrid, range_text};
use orrery_sql::plan::{PlanInfo, QueryPlan};
use orrery_sql::routing::PlanRange;

use crate::client::account::{Account, ContainerName, Page, Range};
use crate::import::json_array::elements;

/// What a result cost.
#[derive(Debug, Default, Clone, Copy)]
pub struct Cost {
    /// Request charge of all pages.
    pub charge: f64,
    /// Pages read.
    pub pages: u64,
}

/// Takes a row of the result; breaks when it wants no more.
pub type Emit<'e> = dyn FnMut(Vec<u8>) -> ControlFlow<()> + 'e;

/// Asks a container's ranges, and counts what that costs.
pub struct Source<'s> {
    /// One connection: ranges are asked in turn.
    account: RefCell<Account>,
    name: &'s ContainerName,
    body: &'s dyn Fn(&str) -> Vec<u8>,
    cost: Cell<Cost>,
}

impl<'s> Source<'s> {
    /// A source; `body` makes the request body of a query text.
    pub fn new(
        account: Account,
        name: &'s ContainerName,
        body: &'s dyn Fn(&str) -> Vec<u8>,
    ) -> Self {
        Self {
            account: RefCell::new(account),
            name,
            body,
            cost: Cell::default(),
        }
    }

    /// What was spent so far.
    pub fn cost(&self) -> Cost {
        self.cost.get()
    }

    /// Runs a plan over its ranges.
    pub fn run(
        &self,
        text: &str,
        plan: &QueryPlan,
        targets: &[&Range],
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        if let [only] = targets {
            // One range runs the query as it is; there is nothing to merge.
            for row in self.rows(only, text) {
                if emit(row?).is_break() {
                    break;
                }
            }
            return Ok(());
        }
        match &plan.info {
            PlanInfo::Query(info) => {
                let text = range_text(text, info);
                let ranges = targets
                    .iter()
                    .map(|range| self.rows(range, &text))
                    .collect();
                merge(info, ranges, emit).map_err(plain)
            }
            PlanInfo::Hybrid(info) => {
                let mut everywhere = |text: &str| -> Result<Vec<Vec<u8>>> {
                    targets
                        .iter()
                        .flat_map(|range| self.rows(range, text))
                        .collect()
                };
                let rows = merge_hybrid(info, &mut everywhere).map_err(plain)?;
                let _ = rows.into_iter().try_for_each(emit);
                Ok(())
            }
        }
    }

    /// The rows of one range, page by page as they are asked for.
    fn rows<'r>(&'r self, range: &Range, text: &str) -> RangeRows<'r, anyhow::Error> {
        let (range, body) = (range.id.clone(), (self.body)(text));
        let mut waiting: VecDeque<Vec<u8>> = VecDeque::new();
        // The next page's continuation; `None` when the range is at its end.
        let mut next: Option<Option<String>> = Some(None);
        Box::new(std::iter::from_fn(move || {
            loop {
                if let Some(row) = waiting.pop_front() {
                    return Some(Ok(row));
                }
                let continuation = next.take()?;
                match self.page(&body, &range, continuation.as_deref()) {
                    Ok((rows, following)) => {
                        waiting.extend(rows);
                        next = following.map(Some);
                    }
                    Err(error) => return Some(Err(error)),
                }
            }
        }))
    }

    fn page(
        &self,
        body: &[u8],
        range: &str,
        continuation: Option<&str>,
    ) -> Result<(Vec<Vec<u8>>, Option<String>)> {
        let Page {
            body,
            charge,
            continuation,
        } = self
            .account
            .borrow_mut()
            .query_page(self.name, body, range, continuation)?;
        let Cost {
            charge: before,
            pages,
        } = self.cost.get();
        self.cost.set(Cost {
            charge: before + charge,
            pages: pages + 1,
        });
        let rows = json::member_slice(&body, "Documents").context("a page without Documents")?;
        Ok((
            elements(rows).into_iter().map(<[u8]>::to_vec).collect(),
            continuation,
        ))
    }
}

fn plain(error: MergeError<anyhow::Error>) -> anyhow::Error {
    match error {
        MergeError::Range(error) => error,
        row @ MergeError::Row => anyhow::anyhow!("{row}"),
    }
}

/// The ranges that a plan visits, in the order of their keys.
pub fn targets<'r>(plan: &[PlanRange], ranges: &'r [Range]) -> Vec<&'r Range> {
    let visits = |wanted: &PlanRange, range: &Range| {
        wanted.range.min < range.max
            && (wanted.range.max > range.min
                || (wanted.max_inclusive && wanted.range.max == range.min))
    };
    ranges
        .iter()
        .filter(|range| plan.iter().any(|wanted| visits(wanted, range)))
        .collect()
}

#[cfg(test)]
mod tests {
    use orrery_model::epk::{EffectivePartitionKey, EpkRange};

    use super::*;

    fn key(hex: &str) -> EffectivePartitionKey {
        EffectivePartitionKey::from_hex(hex).unwrap()
    }

    fn visited(min: &str, max: &str, inclusive: bool) -> Vec<String> {
        let range = |id: &str, min, max| Range {
            id: id.to_owned(),
            min: key(min),
            max: key(max),
        };
        let ranges = [range("0", "", "1F"), range("1", "1F", "FF")];
        let plan = PlanRange {
            range: EpkRange {
                min: key(min),
                max: key(max),
            },
            max_inclusive: inclusive,
            min_inclusive: true,
        };
        targets(&[plan], &ranges)
            .iter()
            .map(|range| range.id.clone())
            .collect()
    }

    #[test]
    fn a_point_goes_to_its_range_and_an_interval_to_all_it_touches() {
        assert_eq!(visited("", "FF", false), ["0", "1"]);
        assert_eq!(visited("10", "10", true), ["0"]);
        assert_eq!(visited("1F", "1F", true), ["1"]);
        assert_eq!(visited("00", "1F", false), ["0"]);
        assert_eq!(visited("", "", true), ["0"]);
    }
}
