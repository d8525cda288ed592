//! GROUP BY: rows gather under their keys.

use super::accumulator::{Accumulator, size};
use super::{Folded, FoldedGroup};
use crate::eval::{Frame, Run, eval};
use crate::program::node::Grouping;
use orrery_model::distinct_hash;
use orrery_model::murmur::murmur3_x64_128;
use orrery_model::value::Value;
use rustc_hash::FxHashMap;

struct Group {
    keys: Vec<Value<'static>>,
    accumulators: Vec<Accumulator>,
}

impl Group {
    /// Takes the answers for its aggregates; answers the bytes that they hold.
    fn fold(&mut self, answers: &[Folded]) -> usize {
        let mut bytes = 0;
        for (accumulator, answer) in self.accumulators.iter_mut().zip(answers) {
            match answer {
                Folded::Count(rows) => accumulator.count(*rows),
                Folded::Best(value) => bytes += accumulator.take(value),
            }
        }
        bytes
    }
}

/// Groups under way.
pub(crate) struct Groups {
    places: FxHashMap<Vec<u128>, usize>,
    list: Vec<Group>,
    scratch: Vec<u128>,
    memory: usize,
}

impl Groups {
    /// Without keys there is one group, also when no row comes.
    pub(crate) fn new(grouping: &Grouping) -> Self {
        let mut new = Self {
            places: FxHashMap::default(),
            list: Vec::new(),
            scratch: Vec::new(),
            memory: 0,
        };
        if grouping.keys.is_empty() {
            new.open(Vec::new(), grouping);
        }
        new
    }

    fn open(&mut self, keys: Vec<Value<'static>>, grouping: &Grouping) -> usize {
        self.memory += 128
            + keys.iter().map(size).sum::<usize>()
            + grouping.aggregates.len() * size_of::<Accumulator>();
        let accumulators = grouping
            .aggregates
            .iter()
            .map(|aggregate| Accumulator::new(aggregate.kind))
            .collect();
        self.list.push(Group { keys, accumulators });
        self.list.len() - 1
    }

    /// Adds a row.
    pub(crate) fn take<'e>(&mut self, grouping: &'e Grouping, row: &'e Frame<'e>, run: &Run<'_>) {
        let place = if grouping.keys.is_empty() {
            0
        } else {
            self.place(grouping, row, run)
        };
        for (aggregate, accumulator) in grouping
            .aggregates
            .iter()
            .zip(&mut self.list[place].accumulators)
        {
            self.memory += accumulator.take(&eval(&aggregate.argument, row, run));
        }
    }

    fn place<'e>(&mut self, grouping: &'e Grouping, row: &'e Frame<'e>, run: &Run<'_>) -> usize {
        self.scratch.clear();
        for key in &grouping.keys {
            self.scratch.push(distinct_hash::hash(&eval(key, row, run)));
        }
        if let Some(place) = self.places.get(&self.scratch) {
            return *place;
        }
        let keys = grouping
            .keys
            .iter()
            .map(|key| eval(key, row, run).into_owned())
            .collect();
        let place = self.open(keys, grouping);
        self.places.insert(self.scratch.clone(), place);
        place
    }

    /// Takes the answers for the aggregates of the one group without keys.
    pub(crate) fn fold(&mut self, answers: &[Folded]) {
        if let Some(group) = self.list.first_mut() {
            self.memory += group.fold(answers);
        }
    }

    /// Takes whole groups, none of which was there before.
    pub(crate) fn fold_groups(&mut self, grouping: &Grouping, groups: Vec<FoldedGroup>) {
        for FoldedGroup { keys, answers } in groups {
            let place = self.open(keys, grouping);
            if let Some(group) = self.list.get_mut(place) {
                self.memory += group.fold(&answers);
            }
        }
    }

    /// Bytes held, roughly.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// Each group as the binding that the projection reads (keys, then results), with a number
    /// that follows from its keys.
    pub(crate) fn finish(self, grouping: &Grouping) -> impl Iterator<Item = (u64, Value<'static>)> {
        let width = grouping.keys.len() + grouping.aggregates.len();
        self.list.into_iter().map(move |group| {
            let hashes = group.keys.iter().map(distinct_hash::hash);
            let hashes: Vec<u8> = hashes.flat_map(u128::to_be_bytes).collect();
            let (number, _) = murmur3_x64_128(&hashes, (0, 0));
            let mut values = Vec::with_capacity(width);
            values.extend(group.keys);
            values.extend(group.accumulators.into_iter().map(Accumulator::finish));
            (number, Value::Array(values))
        })
    }
}
