//! A uniform sample of whole items: those with the smallest priorities, a hash of the id, so that
//! parts can be merged and all versions of an item are in or out together.

use super::leaf::{Kind, Leaf};
use super::paths::PathId;

/// Longest string of a cell that is kept; keys may not be longer.
const LONGEST: usize = 4_096;

/// An item of the sample.
#[derive(Debug, Clone)]
pub struct SampledItem {
    priority: u64,
    /// Its place in the data.
    pub index: u64,
    /// Bytes of its JSON.
    pub bytes: u32,
    /// Path, kind and text of each scalar, one after the other.
    cells: Box<[u8]>,
}

/// The sample.
#[derive(Debug, Clone)]
pub struct Sample {
    items: Vec<SampledItem>,
    /// Up to so many are all kept.
    whole_items: usize,
    most_items: usize,
    most_bytes: usize,
    held_bytes: usize,
    /// Items from this priority on are not wanted.
    threshold: u64,
    scratch: Vec<u8>,
}

/// A value of a sampled item, as its text; long ones are cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// null
    Null,
    /// true or false
    Bool(bool),
    /// A number.
    Number(&'a [u8]),
    /// A string without escapes.
    String(&'a [u8]),
    /// A string with escapes.
    Escaped(&'a [u8]),
    /// An array or object.
    Compound,
}

impl Sample {
    /// An empty sample that keeps all items up to so many, of more so many, and no more bytes than
    /// that.
    pub fn new(whole_items: usize, most_items: usize, most_bytes: usize) -> Self {
        let most_items = most_items.max(1);
        Self {
            items: Vec::new(),
            whole_items: whole_items.max(most_items),
            most_items,
            most_bytes,
            held_bytes: 0,
            threshold: u64::MAX,
            scratch: Vec::new(),
        }
    }

    pub(super) fn offer(&mut self, priority: u64, index: u64, text: &[u8], leaves: &[Leaf]) {
        if priority >= self.threshold {
            return;
        }
        self.scratch.clear();
        for leaf in leaves {
            let (tag, span): (u8, &[u8]) = match leaf.kind {
                Kind::Null => (0, &[]),
                Kind::False => (1, &[]),
                Kind::True => (2, &[]),
                Kind::Number => (3, leaf.slice(text)),
                Kind::String => (4, leaf.slice(text)),
                Kind::Escaped => (5, leaf.slice(text)),
                Kind::Array(_) | Kind::Object => (6, &[]),
            };
            let span = &span[..span.len().min(LONGEST)];
            self.scratch
                .extend_from_slice(&(leaf.path.index() as u16).to_le_bytes());
            self.scratch.push(tag);
            self.scratch
                .extend_from_slice(&(span.len() as u16).to_le_bytes());
            self.scratch.extend_from_slice(span);
        }
        let cells: Box<[u8]> = self.scratch.as_slice().into();
        self.push(SampledItem {
            priority,
            index,
            bytes: text.len() as u32,
            cells,
        });
        // A quarter more than wanted before the surplus goes: sorting out is rare.
        if self.items.len() > self.room() + self.room() / 4
            || self.held_bytes > self.most_bytes + self.most_bytes / 4
        {
            self.shrink();
        }
    }

    /// Items that may be there: nothing has been dropped yet, or something has.
    fn room(&self) -> usize {
        if self.threshold == u64::MAX {
            self.whole_items
        } else {
            self.most_items
        }
    }

    fn push(&mut self, item: SampledItem) {
        self.held_bytes += item.cells.len() + size_of::<SampledItem>();
        self.items.push(item);
    }

    /// Keeps the smallest priorities that fit.
    fn shrink(&mut self) {
        let keep = if self.held_bytes > self.most_bytes {
            let mean = self.held_bytes / self.items.len().max(1);
            (self.most_bytes / mean.max(1)).min(self.most_items)
        } else if self.items.len() > self.room() {
            self.most_items
        } else {
            return;
        };
        let keep = keep.max(1);
        if self.items.len() <= keep {
            return;
        }
        let order = |item: &SampledItem| (item.priority, item.index);
        let (_, first_out, _) = self.items.select_nth_unstable_by_key(keep, order);
        self.threshold = first_out.priority;
        self.items.truncate(keep);
        self.held_bytes = self
            .items
            .iter()
            .map(|item| item.cells.len() + size_of::<SampledItem>())
            .sum();
    }

    pub(super) fn merge(&mut self, other: Self, places: &[Option<PathId>]) {
        self.threshold = self.threshold.min(other.threshold);
        for mut item in other.items {
            if item.priority >= self.threshold {
                continue;
            }
            item.cells = renumbered(&item.cells, places);
            self.push(item);
        }
        self.settle();
    }

    /// Drops the surplus and puts the items in the order of the data.
    pub(super) fn settle(&mut self) {
        let threshold = self.threshold;
        self.items.retain(|item| item.priority < threshold);
        self.shrink();
        self.items.sort_unstable_by_key(|item| item.index);
    }

    /// The items in the order of the data.
    pub fn items(&self) -> &[SampledItem] {
        &self.items
    }
}

impl SampledItem {
    /// Its scalars, arrays and objects, each with its path's number in the profile.
    pub fn cells(&self) -> impl Iterator<Item = (usize, Cell<'_>)> {
        raw_cells(&self.cells).map(|(path, tag, span)| {
            let cell = match tag {
                0 => Cell::Null,
                1 => Cell::Bool(false),
                2 => Cell::Bool(true),
                3 => Cell::Number(span),
                4 => Cell::String(span),
                5 => Cell::Escaped(span),
                _ => Cell::Compound,
            };
            (path, cell)
        })
    }
}

fn raw_cells(mut bytes: &[u8]) -> impl Iterator<Item = (usize, u8, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_at_checked(5)?;
        let path = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let length = usize::from(u16::from_le_bytes([head[3], head[4]]));
        let (span, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some((path, head[2], span))
    })
}

fn renumbered(cells: &[u8], places: &[Option<PathId>]) -> Box<[u8]> {
    let mut renumbered = Vec::with_capacity(cells.len());
    for (path, tag, span) in raw_cells(cells) {
        let Some(place) = places.get(path).copied().flatten() else {
            continue;
        };
        renumbered.extend_from_slice(&(place.index() as u16).to_le_bytes());
        renumbered.push(tag);
        renumbered.extend_from_slice(&(span.len() as u16).to_le_bytes());
        renumbered.extend_from_slice(span);
    }
    renumbered.into()
}
