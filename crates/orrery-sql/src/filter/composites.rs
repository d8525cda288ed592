//! Which composite index serves a query (query-language: section 11): equalities first, then one
//! range or the sort keys.

use super::{IndexFilter, IndexStep, IndexTest};
use orrery_model::index::{COMPOSITE_STRING_LIMIT, Composite};
use orrery_model::path::Step;
use orrery_model::value::Value;

/// A path and the direction of its values, `true` for descending.
pub type Key = (Vec<IndexStep>, bool);

/// What a query says of single values, in the terms of composite indexes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Composable {
    /// Paths that must have a value.
    pub equal: Vec<(Vec<IndexStep>, Value<'static>)>,
    /// Paths that must lie in a range.
    pub ranges: Vec<(Vec<IndexStep>, IndexTest)>,
    /// The sort keys that are not the same for all rows anyway.
    pub order: Vec<Key>,
    is_ordered: bool,
}

/// How a composite index serves a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// The values of its first paths.
    pub values: Vec<Value<'static>>,
    /// What the path behind them must satisfy.
    pub range: Option<IndexTest>,
    /// Whether its entries are the other way round than the query sorts.
    pub is_flipped: bool,
}

impl Served {
    /// Whether the entries that the query is served by are just those that pass a condition.
    pub fn answers(&self, composite: &Composite, condition: &IndexFilter) -> bool {
        let IndexFilter::Path(path, test) = condition else {
            return false;
        };
        let mut paths = composite.paths.iter();
        match (paths.position(|own| is_same(own.path.steps(), path)), test) {
            (Some(at), IndexTest::Equal(value)) => self.values.get(at) == Some(value),
            (Some(at), test) => at == self.values.len() && self.range.as_ref() == Some(test),
            (None, _) => false,
        }
    }

    /// The same of all of a filter.
    pub fn answers_all(&self, composite: &Composite, filter: &IndexFilter) -> bool {
        match filter {
            IndexFilter::And(branches) => branches
                .iter()
                .all(|branch| self.answers(composite, branch)),
            other => self.answers(composite, other),
        }
    }
}

/// A path of a query as the index writes it.
pub fn steps(path: &[IndexStep]) -> Vec<Step> {
    path.iter()
        .map(|step| match step {
            IndexStep::Member(name) => Step::Property(name.clone()),
            IndexStep::AnyElement => Step::Element,
        })
        .collect()
}

fn is_same(own: &[Step], path: &[IndexStep]) -> bool {
    own.len() == path.len()
        && own.iter().zip(path).all(|pair| match pair {
            (Step::Property(own), IndexStep::Member(name)) => own == name,
            (Step::Element, IndexStep::AnyElement) => true,
            _ => false,
        })
}

impl Composable {
    /// Of a filter and sort keys.
    pub fn new(filter: &IndexFilter, order: &[Key]) -> Self {
        match filter {
            IndexFilter::And(branches) => Self::of(branches, order),
            other => Self::of(std::slice::from_ref(other), order),
        }
    }

    /// Of conditions that all hold, and sort keys.
    pub fn of(conditions: &[IndexFilter], order: &[Key]) -> Self {
        let mut new = Self {
            is_ordered: !order.is_empty(),
            ..Self::default()
        };
        for condition in conditions {
            new.add(condition);
        }
        let fixed = |path: &Vec<IndexStep>| new.equal.iter().any(|(own, _)| own == path);
        let order = order.iter().filter(|(path, _)| !fixed(path));
        new.order = order.cloned().collect();
        new
    }

    fn add(&mut self, filter: &IndexFilter) {
        let IndexFilter::Path(path, test) = filter else {
            return;
        };
        // An element satisfies a condition, an entry has one value.
        if path.contains(&IndexStep::AnyElement) {
            return;
        }
        match test {
            // Behind the cut of a long string, entries of other values lie between.
            IndexTest::Equal(value)
                if value
                    .as_str()
                    .is_none_or(|text| text.len() <= COMPOSITE_STRING_LIMIT) =>
            {
                self.equal.push((path.clone(), value.clone()));
            }
            IndexTest::Range(..) | IndexTest::StartsWith(_) => {
                self.ranges.push((path.clone(), test.clone()));
            }
            _ => {}
        }
    }

    fn value_of(&self, own: &[Step]) -> Option<&Value<'static>> {
        let mut equal = self.equal.iter();
        equal
            .find(|(path, _)| is_same(own, path))
            .map(|(_, value)| value)
    }

    fn range_of(&self, own: &[Step]) -> Option<&IndexTest> {
        let mut ranges = self.ranges.iter();
        ranges
            .find(|(path, _)| is_same(own, path))
            .map(|(_, test)| test)
    }

    /// How a composite index serves the query, if it does.
    pub fn served_by(&self, composite: &Composite) -> Option<Served> {
        let mut values = Vec::new();
        for part in &composite.paths {
            match self.value_of(part.path.steps()) {
                Some(value) => values.push(value.clone()),
                None => break,
            }
        }
        let rest = composite.paths.get(values.len()..)?;
        let range = || self.range_of(rest.first()?.path.steps()).cloned();
        if !self.is_ordered {
            let range = range();
            let is_whole = rest.len() == usize::from(range.is_some());
            return (is_whole && !values.is_empty()).then_some(Served {
                values,
                range,
                is_flipped: false,
            });
        }
        if rest.len() != self.order.len() || rest.is_empty() {
            return None;
        }
        let pairs = || rest.iter().zip(&self.order);
        if !pairs().all(|(own, (path, _))| is_same(own.path.steps(), path)) {
            return None;
        }
        let flips = |wanted: bool| {
            pairs().all(|(own, (_, descending))| (own.descending != *descending) == wanted)
        };
        let is_flipped = flips(true);
        (is_flipped || flips(false)).then(|| Served {
            range: range(),
            values,
            is_flipped,
        })
    }

    /// The composite indexes that would serve the query, where several paths are in it.
    pub fn wanted(&self) -> Vec<Vec<Key>> {
        let direction = self
            .order
            .first()
            .is_some_and(|(_, descending)| *descending);
        let equal = self.equal.iter().map(|(path, _)| (path.clone(), direction));
        let equal: Vec<Key> = equal.collect();
        let mut found: Vec<Vec<Key>> = Vec::new();
        if self.is_ordered {
            if !self.order.is_empty() {
                found.push([equal, self.order.clone()].concat());
            }
        } else if self.ranges.is_empty() {
            found.push(equal);
        } else if !equal.is_empty() {
            for (path, _) in &self.ranges {
                let keys = [equal.as_slice(), &[(path.clone(), false)]].concat();
                if !found.contains(&keys) {
                    found.push(keys);
                }
            }
        }
        found.retain(|keys| keys.len() > 1);
        found
    }
}
