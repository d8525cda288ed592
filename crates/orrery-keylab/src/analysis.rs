//! Analysis of real data: candidates found, placed, judged and ranked; or, without a workload,
//! what the data alone can tell.

mod facts;
mod notes;
mod sketch;
mod spread;
mod throughput;

use std::borrow::Cow;

use serde::Serialize;

use crate::candidates::{first_round, labels_needed, second_round};
use crate::demand::{self, Charges, Demand, MeasuredCharge, Window};
use crate::error::KeylabError;
use crate::gate::GateName;
use crate::gates;
use crate::layout::{Groups, Layout, Sampled, of_sample};
use crate::outcome::{Volume, evaluate};
use crate::parallel;
use crate::placement::{Hash, PartitionRule, version1, version2};
use crate::profile::Profile;
use crate::scenario::{Horizon, KeySpec};
use crate::simulate::{AtHorizon, Row, headroom, of_parts, rank, young};
use crate::table::{Column, Table};
use crate::verdict::Verdict;
use crate::workload::{FILE_ORDER, Workload};
use orrery_model::charge::{QueryCost, ReadCost};
use orrery_model::limits::Limits;

pub use sketch::{PathSummary, Types};
pub use spread::{SPREAD_AT, Spread};
use throughput::Allowance;

/// One minus the confidence of all intervals together.
const DELTA: f64 = 0.01;
/// Candidates among which that is divided.
const TESTED: f64 = 50.0;
/// A key with fewer effective values is no key, whatever stands behind its values.
const CURABLE: f64 = 1.5;

/// What the analysis found.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Analysis {
    /// Items seen; MongoDB's `analyzeShardKey` calls it `numDocsTotal`.
    pub num_docs_total: u64,
    /// Items that candidates were computed from.
    pub num_docs_sampled: u64,
    /// Mean bytes of an item.
    pub avg_doc_size_bytes: f64,
    /// Bytes of the largest item.
    pub largest_item_bytes: usize,
    /// Whether the rates are those that `keylab init` guessed.
    pub guessed_rates: bool,
    /// Every path with its counts.
    pub paths: Vec<PathSummary>,
    /// Paths beyond the limits of the profile.
    pub left_out: Vec<String>,
    /// Candidates, best first; empty without a workload.
    pub rows: Vec<Row>,
    /// How stored items spread under each candidate.
    pub spreads: Vec<Spread>,
    /// Candidates that were not computed, with the reason.
    pub excluded: Vec<Excluded>,
    /// What is to be known beside the rows.
    pub notes: Vec<String>,
    /// What would change the answer, by computing it.
    pub sensitivities: Vec<String>,
    /// What the data cannot say.
    pub questions: Vec<String>,
}

/// A candidate that was not computed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Excluded {
    /// The key.
    pub key: String,
    /// Why.
    pub reason: String,
}

/// What is computed of one key.
struct Looked {
    spread: Spread,
    /// Absent without a workload.
    row: Option<Row>,
    /// The field to cure with so many labels.
    cure: Option<(String, u64)>,
}

/// A profile with what is needed to judge its candidates.
pub struct Laboratory<'a> {
    table: Table,
    profile: &'a Profile,
    workload: &'a Workload,
    demands: Vec<Demand<'a>>,
    peaks: Vec<Demand<'a>>,
    charges: Charges,
    rule: PartitionRule,
    arrival: Option<Vec<u32>>,
    delta: f64,
}

impl<'a> Laboratory<'a> {
    /// Prepares a profile and a workload; an empty workload is one without patterns.
    pub fn new(profile: &'a Profile, workload: &'a Workload) -> Result<Self, KeylabError> {
        if profile.items == 0 {
            return Err(KeylabError::Data {
                origin: "data".to_owned(),
                message: "no item in it".to_owned(),
            });
        }
        let hash = if workload.container.version1 {
            version1
        } else {
            version2
        };
        let table = Table::of(profile, &workload.named_fields(), hash);
        let reads = if workload.container.strong_reads {
            ReadCost::Double
        } else {
            ReadCost::Single
        };
        let charges = Charges {
            item_bytes: (profile.bytes / profile.items) as usize,
            indexed_terms: workload.indexed_terms.unwrap_or_else(|| terms(profile)),
            reads,
            visit: orrery_model::charge::query(&QueryCost::default(), reads).units(),
        };
        let none = std::collections::BTreeMap::new();
        let settle = |window| demand::settle(&workload.workload, &none, &charges, window);
        let demands = settle(Window::Mean)?;
        let peaks = settle(Window::Peak)?;
        let arrival = arrival(&table, workload)?;
        Ok(Self {
            table,
            profile,
            workload,
            demands,
            peaks,
            charges,
            rule: PartitionRule {
                limits: Limits::default(),
                autoscale: workload.container.autoscale,
            },
            arrival,
            delta: DELTA,
        })
    }

    /// The sample by column.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The volume of a horizon of the workload.
    pub(crate) fn volume(&self, name: &str) -> Result<Volume, KeylabError> {
        let horizons = &self.workload.horizons;
        let found = horizons.iter().find(|horizon| horizon.name == name);
        found
            .map(volume)
            .ok_or_else(|| KeylabError::invalid("horizons", format!("none is called '{name}'")))
    }

    /// Whether throughput follows the load.
    pub(crate) fn is_autoscale(&self) -> bool {
        self.rule.autoscale
    }

    /// The workload, with charges that an engine took in the place of others.
    pub(crate) fn measured_demands(
        &self,
        measured: Option<&std::collections::BTreeMap<String, MeasuredCharge>>,
    ) -> Vec<Demand<'a>> {
        let mut demands = self.demands.clone();
        if let Some(measured) = measured {
            demand::measure(&mut demands, measured);
        }
        demands
    }

    /// The layout of a key, with such charges.
    pub(crate) fn measured_layout(
        &self,
        key: &KeySpec,
        measured: Option<&std::collections::BTreeMap<String, MeasuredCharge>>,
    ) -> Result<Layout, KeylabError> {
        let columns = self.columns(key).ok_or_else(|| {
            let title = key.title();
            KeylabError::invalid(title, "not in the data, or no time that can be cut")
        })?;
        let columns: Vec<&Column> = columns.iter().map(AsRef::as_ref).collect();
        let demands = self.measured_demands(measured);
        let mut sampled = self.sampled(key, &columns, &demands);
        sampled.is_measured = measured.is_some();
        Ok(of_sample(&sampled).0)
    }

    fn hash(&self) -> Hash<'static> {
        if self.workload.container.version1 {
            &version1
        } else {
            &version2
        }
    }

    /// The columns of a key, those of truncated times made; `None` when one is not in the data.
    pub(crate) fn columns(&self, key: &KeySpec) -> Option<Vec<Cow<'_, Column>>> {
        key.fields()
            .into_iter()
            .map(|field| match field.split_once('@') {
                Some((name, unit)) => self.table.truncated(name, unit).map(Cow::Owned),
                None => self.table.column(field).map(Cow::Borrowed),
            })
            .collect()
    }

    /// Everything: keys that are found, the workload's own, and what may cure those that fail for
    /// their size or heat.
    pub fn analyze(&self) -> Analysis {
        let found = first_round(&self.table, &self.demands);
        let mut keys = found.keys;
        for key in &self.workload.candidates {
            if !keys.iter().any(|known| known.title() == key.title()) {
                keys.push(key.clone());
            }
        }
        let mut analysis = self.empty();
        for (column, other) in found.equal {
            analysis.excluded.push(Excluded {
                key: format!("/{column}"),
                reason: format!("groups the items exactly as /{other} does"),
            });
        }
        let mut looked = self.round(&keys, &mut analysis.excluded);
        let rows: Vec<Row> = looked.iter().filter_map(|of| of.row.clone()).collect();
        let allowance = self.allowance(&rows);
        self.judge_dear(&mut looked, &allowance);
        let cures: Vec<KeySpec> = looked
            .iter()
            .filter_map(|looked| looked.cure.as_ref())
            .flat_map(|(field, labels)| second_round(&self.table, &self.demands, field, *labels))
            .collect();
        let mut cured = self.round(&cures, &mut analysis.excluded);
        self.judge_dear(&mut cured, &allowance);
        take(looked.into_iter().chain(cured), &mut analysis);
        rank(&mut analysis.rows);
        analysis.sensitivities = self.sensitivities(&analysis.rows);
        self.notes(&mut analysis);
        analysis
    }

    /// These keys and no others.
    pub fn judge(&self, keys: &[KeySpec]) -> Analysis {
        let mut analysis = self.empty();
        let looked = self.round(keys, &mut analysis.excluded);
        take(looked, &mut analysis);
        self.notes(&mut analysis);
        analysis
    }

    fn empty(&self) -> Analysis {
        Analysis {
            num_docs_total: self.profile.items,
            num_docs_sampled: self.table.rows as u64,
            avg_doc_size_bytes: self.profile.bytes as f64 / self.profile.items as f64,
            largest_item_bytes: self.profile.largest,
            guessed_rates: self.workload.guessed_rates,
            paths: sketch::summaries(self.profile),
            left_out: self.table.left_out.clone(),
            rows: Vec::new(),
            spreads: Vec::new(),
            excluded: Vec::new(),
            notes: Vec::new(),
            sensitivities: Vec::new(),
            questions: Vec::new(),
        }
    }

    /// Computes a key; where an allowance is given, with no more throughput than that.
    fn look_at_one(
        &self,
        key: &KeySpec,
        allowance: Option<&Allowance>,
    ) -> Result<Looked, Excluded> {
        let title = key.title();
        let excluded = |reason: &str| Excluded {
            key: title.clone(),
            reason: reason.to_owned(),
        };
        let columns = self
            .columns(key)
            .ok_or_else(|| excluded("not in the data, or no time that can be cut"))?;
        let columns: Vec<&Column> = columns.iter().map(AsRef::as_ref).collect();
        if let KeySpec::Suffix { suffix } = key
            && let Some(name) = &suffix.hash
            && self.table.column(name.trim_start_matches('/')).is_none()
        {
            let reason = format!("its label is made from {name}, which is not in the data");
            return Err(excluded(&reason));
        }
        if let Some(column) = columns.iter().find(|column| column.compound > 0.0) {
            let reason = format!("{} is an array or object in some items", column.name);
            return Err(excluded(&reason));
        }
        let sampled = self.sampled(key, &columns, &self.demands);
        let (layout, groups) = of_sample(&sampled);
        let mut looked = Looked {
            spread: spread::of(&sampled, &layout, &groups, title.clone()),
            row: None,
            cure: None,
        };
        if self.demands.is_empty() {
            return Ok(looked);
        }
        let volumes = self.volumes(allowance);
        let (mut row, budget) = self.row(&sampled, &self.peaks, (&layout, &groups), &volumes);
        if allowance.is_some() {
            self.explain(&mut row);
        }
        if let (Some(failure), KeySpec::Path(path), Some(at)) =
            (&row.first_failure, key, row.horizons.last())
            && row.effective_values > CURABLE
            && matches!(failure.gate, GateName::G2 | GateName::G3 | GateName::G5)
        {
            let labels = labels_needed(
                at.outcome.hottest,
                budget,
                at.outcome.largest_gb.estimate,
                at.outcome.partitions as f64,
                (at.outcome.provisioned / at.outcome.total.max(1.0) - 1.0).max(0.2),
            );
            looked.cure = Some((path.trim_start_matches('/').to_owned(), labels));
        }
        looked.row = Some(row);
        Ok(looked)
    }

    fn row(
        &self,
        sampled: &Sampled<'_>,
        peaks: &[Demand<'_>],
        (layout, groups): (&Layout, &Groups),
        volumes: &[Volume],
    ) -> (Row, f64) {
        let facts = facts::of(self.profile, self.workload, sampled, groups);
        let peak = self.peak(sampled, peaks);
        let mut horizons = Vec::new();
        let mut budget = 0.0;
        for (horizon, volume) in self.workload.horizons.iter().zip(volumes) {
            let outcome = evaluate(layout, volume, &self.rule);
            budget = outcome.budget();
            let worst = peak.as_ref().map(|layout| {
                let volume = Volume {
                    ru: Some(outcome.provisioned),
                    ..volume.clone()
                };
                evaluate(layout, &volume, &self.rule)
            });
            let gates = gates::ask(
                &facts,
                sampled.demands,
                &outcome,
                worst.as_ref(),
                &self.rule,
            );
            horizons.push(AtHorizon {
                name: horizon.name.clone(),
                verdict: Verdict::of(&gates),
                outcome,
                gates,
            });
        }
        let first = volumes.first();
        let holds = horizons.iter().all(|at| at.verdict != Verdict::Reject);
        let headroom = first
            .filter(|_| holds)
            .and_then(|first| headroom(&facts, sampled.demands, layout, first, &self.rule));
        let young = first.and_then(|first| young(layout, first, &self.rule));
        let key = sampled.key;
        let row = of_parts(key.title(), key, 0, horizons, layout, headroom, young);
        (row, budget)
    }

    /// The layout in the worst window, when something tells it from the average.
    fn peak(&self, sampled: &Sampled<'_>, peaks: &[Demand<'_>]) -> Option<Layout> {
        let has_peak = peaks.iter().any(|demand| demand.pattern.peak > 1.0);
        if !has_peak && self.arrival.is_none() {
            return None;
        }
        let sampled = Sampled {
            demands: peaks,
            arrival: self.arrival.as_deref(),
            table: sampled.table,
            key: sampled.key,
            columns: sampled.columns,
            charges: sampled.charges,
            hash: sampled.hash,
            delta: sampled.delta,
            is_measured: false,
        };
        Some(of_sample(&sampled).0)
    }

    /// What happens to the best keys when one kind of request comes three times as often.
    fn sensitivities(&self, rows: &[Row]) -> Vec<String> {
        const FACTOR: f64 = 3.0;
        const LOOKED_AT: usize = 3;
        const SENTENCES: usize = 2;
        let Some(winner) = rows.first().filter(|row| row.verdict != Verdict::Reject) else {
            return Vec::new();
        };
        let patterns: Vec<usize> = (0..self.demands.len()).collect();
        let sentences = parallel::map(&patterns, |&at| {
            let more = |demands: &[Demand<'a>]| {
                let mut demands = demands.to_vec();
                demands[at].rate *= FACTOR;
                demands
            };
            let (demands, peaks) = (more(&self.demands), more(&self.peaks));
            let mut changed: Vec<Row> = rows
                .iter()
                .take(LOOKED_AT)
                .filter(|row| row.verdict != Verdict::Reject)
                .filter_map(|row| {
                    let key = &row.definition;
                    let columns = self.columns(key)?;
                    let columns: Vec<&Column> = columns.iter().map(AsRef::as_ref).collect();
                    let sampled = self.sampled(key, &columns, &demands);
                    let (layout, groups) = of_sample(&sampled);
                    let volumes = self.volumes(None);
                    let (changed, _) = self.row(&sampled, &peaks, (&layout, &groups), &volumes);
                    Some(Row {
                        place: row.place,
                        ..changed
                    })
                })
                .collect();
            rank(&mut changed);
            let pattern = &self.demands[at].pattern.name;
            let same = changed.iter().find(|row| row.key == winner.key);
            if let Some(best) = changed.first()
                && best.key != winner.key
            {
                return Some(format!(
                    "Requests: with {FACTOR:.0} times as many '{pattern}', {} is better than {}.",
                    best.key, winner.key
                ));
            }
            if let Some(row) = same
                && row.verdict > winner.verdict
                && let Some(reason) = row.first_failure.as_ref().map(|failure| &failure.reason)
            {
                return Some(format!(
                    "Requests: with {FACTOR:.0} times as many '{pattern}', {} would be rejected: {reason}.",
                    winner.key
                ));
            }
            None
        });
        sentences.into_iter().flatten().take(SENTENCES).collect()
    }

    fn sampled<'b>(
        &'b self,
        key: &'b KeySpec,
        columns: &'b [&'b Column],
        demands: &'b [Demand<'b>],
    ) -> Sampled<'b> {
        Sampled {
            table: &self.table,
            key,
            columns,
            demands,
            charges: self.charges,
            hash: self.hash(),
            delta: self.delta / TESTED,
            arrival: None,
            is_measured: false,
        }
    }
}

/// Puts what was found of keys into an analysis.
fn take(looked: impl IntoIterator<Item = Looked>, analysis: &mut Analysis) {
    for looked in looked {
        analysis.spreads.push(looked.spread);
        if let Some(mut row) = looked.row {
            row.place = analysis.rows.len();
            analysis.rows.push(row);
        }
    }
}

fn volume(horizon: &Horizon) -> Volume {
    Volume {
        gb: horizon.gb,
        ru: horizon.ru,
        rates: horizon.rates,
        partitions: horizon.partitions,
    }
}

/// Terms of an average item under the default policy: a value for each present path, the id and
/// the time stamp counted by the service.
fn terms(profile: &Profile) -> usize {
    let values: u64 = profile.paths.iter().map(|path| path.stats.scalars()).sum();
    (values as f64 / profile.items.max(1) as f64).round() as usize + 1
}

/// The rows in order of arrival.
fn arrival(table: &Table, workload: &Workload) -> Result<Option<Vec<u32>>, KeylabError> {
    let name = match workload.arrival.as_deref() {
        Some(FILE_ORDER) => return Ok(Some((0..table.rows as u32).collect())),
        Some(name) => name.trim_start_matches('/'),
        None => "_ts",
    };
    let Some(column) = table.column(name) else {
        if workload.arrival.is_some() {
            return Err(KeylabError::invalid(
                "arrival",
                format!("'{name}' is no member of the data; write a member or `{FILE_ORDER}`"),
            ));
        }
        return Ok(None);
    };
    let mut order: Vec<u32> = (0..table.rows as u32).collect();
    let mut ranked: Vec<usize> = (0..column.values.len()).collect();
    ranked.sort_by(|&left, &right| {
        let (left, right) = (
            column.values[left].to_value(),
            column.values[right].to_value(),
        );
        orrery_model::value::Value::order(&left, &right)
    });
    let mut rank_of = vec![0_u32; ranked.len()];
    for (rank, &code) in ranked.iter().enumerate() {
        rank_of[code] = rank as u32;
    }
    order.sort_by_key(|&row| (rank_of[column.codes[row as usize] as usize], row));
    Ok(Some(order))
}
