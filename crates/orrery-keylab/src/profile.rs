//! Profiles: what one pass over the data tells, in bounded memory (method: sections 2 and 3).
//!
//! A [`Profiler`] takes items as JSON text, one after the other; several profile parts of the
//! data and are merged. For every path it counts types, estimates distinct values
//! ([`distinct::Distinct`]), and keeps the frequent values ([`frequent::Frequent`]); for
//! everything else it keeps a sample of whole items ([`sample::Sample`]), all versions of an item
//! together.

pub mod distinct;
pub mod frequent;
mod leaf;
mod paths;
pub mod sample;
mod scan;

use std::hash::Hasher;

use rustc_hash::FxHasher;

use crate::value_format::mix;
use distinct::Distinct;
use frequent::Frequent;
use leaf::{Kind, Leaf};
use paths::{PathId, Paths};
use sample::Sample;

pub use paths::MAX_PATHS;
pub use scan::Broken;

/// Items after which a path in which almost every value is new is counted in parts only.
const SETTLED: u64 = 50_000;
/// Of such a path every so many-th value is counted.
const THINNED: u64 = 16;

/// One pass over items.
pub struct Profiler {
    paths: Paths,
    stats: Vec<PathStats>,
    leaves: Vec<Leaf>,
    sample: Sample,
    id: Option<PathId>,
    items: u64,
    bytes: u64,
    smallest: usize,
    largest: usize,
    overflowed: u64,
}

/// What is counted for a path.
#[derive(Debug, Clone, Default)]
pub struct PathStats {
    /// Items in which it is null.
    pub nulls: u64,
    /// Items in which it is a boolean.
    pub booleans: u64,
    /// Items in which it is a number.
    pub numbers: u64,
    /// Items in which it is a string.
    pub strings: u64,
    /// Items in which it is an array.
    pub arrays: u64,
    /// Items in which it is an object.
    pub objects: u64,
    /// Integers above 2^53, which lose digits as keys.
    pub unsafe_integers: u64,
    /// Numbers with a fraction.
    pub fractions: u64,
    /// Bytes of the longest string.
    pub longest: usize,
    /// Elements of the longest array.
    pub most_elements: u64,
    /// Elements of all arrays.
    pub elements: u64,
    /// Bytes of all arrays.
    pub array_bytes: u64,
    /// Distinct scalar values.
    pub distinct: Distinct,
    /// Frequent scalar values, weighted by items and by bytes.
    pub frequent: Frequent,
    /// The scalars so far. The sum of the counts is as good, but adding up what was written an
    /// instant ago makes the core wait.
    seen: u64,
}

impl PathStats {
    /// Items in which it is a scalar.
    pub fn scalars(&self) -> u64 {
        self.nulls + self.booleans + self.numbers + self.strings
    }

    /// Items that have it.
    pub fn present(&self) -> u64 {
        self.scalars() + self.arrays + self.objects
    }

    fn merge(&mut self, other: Self) {
        self.nulls += other.nulls;
        self.booleans += other.booleans;
        self.numbers += other.numbers;
        self.strings += other.strings;
        self.arrays += other.arrays;
        self.objects += other.objects;
        self.unsafe_integers += other.unsafe_integers;
        self.fractions += other.fractions;
        self.longest = self.longest.max(other.longest);
        self.most_elements = self.most_elements.max(other.most_elements);
        self.elements += other.elements;
        self.array_bytes += other.array_bytes;
        self.distinct.merge(&other.distinct);
        self.frequent.merge(other.frequent);
        self.seen += other.seen;
    }
}

/// A path with its counts.
#[derive(Debug, Clone)]
pub struct ProfiledPath {
    /// Names joined by `/`: `address/city`.
    pub name: String,
    /// The counts.
    pub stats: PathStats,
}

/// What the data is like.
pub struct Profile {
    /// Items seen.
    pub items: u64,
    /// Bytes of their JSON.
    pub bytes: u64,
    /// Bytes of the smallest item.
    pub smallest: usize,
    /// Bytes of the largest item.
    pub largest: usize,
    /// Members beyond [`MAX_PATHS`], which were not profiled.
    pub overflowed: u64,
    /// Paths, in order of first appearance.
    pub paths: Vec<ProfiledPath>,
    /// Whole items.
    pub sample: Sample,
}

impl Profiler {
    /// A profiler that keeps all items up to so many, of more a sample, and no more bytes than that.
    pub fn new(whole_items: usize, sample_items: usize, sample_bytes: usize) -> Self {
        Self {
            paths: Paths::new(),
            stats: Vec::new(),
            leaves: Vec::new(),
            sample: Sample::new(whole_items, sample_items, sample_bytes),
            id: None,
            items: 0,
            bytes: 0,
            smallest: usize::MAX,
            largest: 0,
            overflowed: 0,
        }
    }

    /// Takes an item; `index` is its place in the data.
    pub fn item(&mut self, index: u64, text: &[u8]) -> Result<(), Broken> {
        self.leaves.clear();
        let skipped = scan::scan(text, &mut self.paths, &mut self.leaves)?;
        self.stats.resize_with(self.paths.len(), PathStats::default);
        self.overflowed += skipped;
        self.items += 1;
        self.bytes += text.len() as u64;
        self.smallest = self.smallest.min(text.len());
        self.largest = self.largest.max(text.len());
        if self.id.is_none() {
            self.id = self.paths.find("id");
        }
        let mut identity = None;
        for leaf in &self.leaves {
            let stats = &mut self.stats[leaf.path.index()];
            let span = leaf.slice(text);
            match leaf.kind {
                Kind::Null => stats.nulls += 1,
                Kind::False | Kind::True => stats.booleans += 1,
                Kind::Number => {
                    stats.numbers += 1;
                    count_number(stats, span);
                }
                Kind::String | Kind::Escaped => {
                    stats.strings += 1;
                    stats.longest = stats.longest.max(span.len());
                }
                Kind::Array(elements) => {
                    stats.arrays += 1;
                    stats.elements += u64::from(elements);
                    stats.most_elements = stats.most_elements.max(u64::from(elements));
                    stats.array_bytes += span.len() as u64;
                    continue;
                }
                Kind::Object => {
                    stats.objects += 1;
                    continue;
                }
            }
            let hash = hash(leaf.kind, span);
            // Where almost all values are new none is frequent; a part of them tells it as well.
            stats.seen += 1;
            let seen = stats.seen;
            let weight = match seen > SETTLED && stats.frequent.is_thin() {
                false => 1,
                true if seen.is_multiple_of(THINNED) => THINNED,
                true => 0,
            };
            // A value that has a counter is in the other sketch, too.
            if weight == 0 || !stats.frequent.add(hash, weight, weight * text.len() as u64) {
                stats.distinct.add(hash);
            }
            if Some(leaf.path) == self.id {
                identity = Some(hash);
            }
        }
        // Versions of one item have the same priority and stay together.
        let priority = mix(identity.unwrap_or_else(|| mix(index)));
        self.sample.offer(priority, index, text, &self.leaves);
        Ok(())
    }

    /// Adds what another profiler has seen.
    pub fn merge(&mut self, other: Self) {
        let mut places = Vec::with_capacity(other.stats.len());
        for (at, stats) in other.stats.into_iter().enumerate() {
            let place = self.paths.adopt(&other.paths, PathId::at(at));
            self.stats.resize_with(self.paths.len(), PathStats::default);
            if let Some(place) = place {
                self.stats[place.index()].merge(stats);
            }
            places.push(place);
        }
        self.sample.merge(other.sample, &places);
        self.items += other.items;
        self.bytes += other.bytes;
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
        self.overflowed += other.overflowed;
    }

    /// What was seen.
    pub fn finish(mut self) -> Profile {
        self.sample.settle();
        let paths = self
            .stats
            .into_iter()
            .enumerate()
            .map(|(at, stats)| ProfiledPath {
                name: self.paths.name(PathId::at(at)),
                stats,
            })
            .collect();
        Profile {
            items: self.items,
            bytes: self.bytes,
            smallest: if self.items == 0 { 0 } else { self.smallest },
            largest: self.largest,
            overflowed: self.overflowed,
            paths,
            sample: self.sample,
        }
    }
}

/// The hash of a scalar: of its type and its text.
fn hash(kind: Kind, span: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(span);
    mix(hasher.finish() ^ kind.tag())
}

fn count_number(stats: &mut PathStats, span: &[u8]) {
    /// Digits that a double always holds.
    const SAFE_DIGITS: usize = 15;
    if span.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        stats.fractions += 1;
    } else if span.len() > SAFE_DIGITS {
        let exact = std::str::from_utf8(span)
            .ok()
            .and_then(|text| text.parse::<i64>().ok())
            .is_some_and(|number| number.unsigned_abs() <= 1 << 53);
        if !exact {
            stats.unsafe_integers += 1;
        }
    }
}
