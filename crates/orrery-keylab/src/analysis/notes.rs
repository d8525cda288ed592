//! What is to be known beside the rows, and what the data cannot say.

use super::{Analysis, DELTA, Laboratory};
use crate::evidence::items_to_exclude;
use crate::placement::GIGABYTE;
use crate::profile::{MAX_PATHS, Profile};
use crate::roles::identity;

impl Laboratory<'_> {
    pub(super) fn notes(&self, analysis: &mut Analysis) {
        let rows = self.table.rows as f64;
        if !self.table.is_whole() {
            analysis.notes.push(format!(
                "candidates are computed from {} of {} items",
                self.table.rows, self.profile.items
            ));
        }
        if self.profile.overflowed > 0 {
            analysis.notes.push(format!(
                "{} members have paths beyond the first {} and were not profiled: are values used as names?",
                self.profile.overflowed,
                MAX_PATHS
            ));
        }
        analysis.notes.extend(self.unknown(analysis));
        analysis.notes.extend(embedding(self.profile));
        if self.table.column("id").is_none() {
            let which = match identity(&self.table) {
                Some(column) => format!("{} is another in every item and could be it", column.name),
                None => "the data has none".to_owned(),
            };
            analysis.notes.push(format!(
                "every item needs an `id`, a text that is unique within its key value: {which}"
            ));
        }
        if let Some(last) = self.workload.horizons.last() {
            let needed = items_to_exclude(self.rule.value_gb() / last.gb.max(1e-9), DELTA);
            if needed > rows {
                analysis.notes.push(format!(
                    "{rows} items cannot exclude a value of {} GB at {} with 99 % confidence: {needed} would",
                    self.rule.value_gb(),
                    last.name
                ));
            }
        }
        if self.demands.is_empty() {
            analysis.questions = vec![
                "Which conditions do your queries and point reads have, and how often does each run? (workload: name, op, where, rate)".to_owned(),
                "How many items are created, changed and deleted a second, and which members do changes touch? (op: create, replace, patch; sets)".to_owned(),
                "How many gigabytes are there now, and how many in three years, with which throughput? (horizons: gb, ru)".to_owned(),
            ];
        } else if self.arrival.is_none() {
            analysis.notes.push(
                "the order of arrival is not known, so worst windows are not judged: say `arrival: MEMBER` or `arrival: file order`".to_owned(),
            );
        }
        let data_gb = self.profile.bytes as f64 / GIGABYTE;
        if self
            .workload
            .horizons
            .iter()
            .any(|horizon| horizon.gb < data_gb * 0.5)
        {
            analysis.notes.push(format!(
                "the data has {data_gb:.2} GB, more than twice what a horizon says"
            ));
        }
    }

    /// What the workload names and the data does not have: a slip of the pen, most likely.
    fn unknown(&self, analysis: &Analysis) -> Vec<String> {
        let is_below = |path: &str, name: &str| {
            let rest = path.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_known = |name: &str| {
            let paths = &self.profile.paths;
            self.profile.overflowed > 0
                || paths
                    .iter()
                    .any(|path| is_below(&path.name, name.trim_start_matches('/')))
        };
        let mut notes = Vec::new();
        for pattern in &self.workload.workload {
            let named = (pattern.at.keys().map(|name| ("at", name)))
                .chain(pattern.sets.iter().map(|name| ("sets", name)))
                .chain(pattern.atomic_over.iter().map(|name| ("atomicOver", name)));
            for (what, name) in named.filter(|(_, name)| !is_known(name)) {
                notes.push(format!(
                    "WARNING: `{what}` of the pattern '{}' names {name}, which no item of the data has",
                    pattern.name
                ));
            }
        }
        for key in &self.workload.candidates {
            let title = key.title();
            if let Some(left_out) = analysis.excluded.iter().find(|each| each.key == title) {
                notes.push(format!(
                    "WARNING: the candidate {title} of the workload was not computed: {}",
                    left_out.reason
                ));
            }
        }
        notes
    }
}

/// Arrays that make items large: their elements may want to be items (method: section 10).
fn embedding(profile: &Profile) -> Vec<String> {
    /// From this size on the charge of a write doubles with every power of two.
    const LARGE_ITEM: usize = 64 << 10;
    /// Largest item that the service takes.
    const MOST: f64 = 2.0 * 1_048_576.0;
    let mut notes = Vec::new();
    for path in &profile.paths {
        let stats = &path.stats;
        let share = stats.array_bytes as f64 / profile.bytes.max(1) as f64;
        if stats.arrays == 0 || share < 0.5 || profile.largest < LARGE_ITEM {
            continue;
        }
        let mean = stats.array_bytes as f64 / stats.elements.max(1) as f64;
        notes.push(format!(
            "the array {} holds {:.0} % of the bytes and up to {} elements, of about {:.0} bytes each: if it grows without bound, make its elements items of their own (an item ends at {:.0} of them)",
            path.name,
            share * 100.0,
            stats.most_elements,
            mean,
            MOST / mean.max(1.0)
        ));
    }
    notes
}
