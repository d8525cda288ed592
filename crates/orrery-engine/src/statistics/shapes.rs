//! The queries of a container by shape: their texts without literals, with what they cost and
//! which ranges they visited. Bounded like the keys: the lightest shape makes room for a new one.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use orrery_model::ids::PartitionKeyRangeId;
use orrery_sql::shape;

/// Shapes that are kept.
const KEPT: usize = 128;
/// Longer shapes are cut.
const MOST_TEXT: usize = 4 << 10;
/// Ranges that are told apart by one shape.
const MOST_RANGES: usize = 256;

/// One shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryShape {
    /// The text, literals replaced.
    pub text: String,
    /// Pages served.
    pub pages: u64,
    /// Hundredths of request units.
    pub hundredths: u64,
    /// By how much that may be too high.
    pub error: u64,
    /// Rows answered.
    pub rows: u64,
    /// The ranges that it visited.
    pub ranges: BTreeSet<PartitionKeyRangeId>,
}

/// The shapes of one container.
#[derive(Debug, Default)]
pub struct QueryShapes {
    shapes: Mutex<Vec<QueryShape>>,
}

impl QueryShapes {
    /// Notes a page of a query.
    pub(crate) fn note(&self, text: &str, range: PartitionKeyRangeId, hundredths: u64, rows: u64) {
        let mut text = shape::of(text);
        if text.len() > MOST_TEXT {
            let cut = (0..=MOST_TEXT)
                .rev()
                .find(|&at| text.is_char_boundary(at))
                .unwrap_or(0);
            text.truncate(cut);
        }
        let mut shapes = self.shapes.lock().unwrap_or_else(PoisonError::into_inner);
        let at = match shapes.iter().position(|shape| shape.text == text) {
            Some(at) => at,
            None => place(&mut shapes, text),
        };
        let shape = &mut shapes[at];
        shape.pages += 1;
        shape.hundredths += hundredths;
        shape.rows += rows;
        if shape.ranges.len() < MOST_RANGES {
            shape.ranges.insert(range);
        }
    }

    /// The heaviest, heaviest first; equals by their texts.
    pub fn heaviest(&self, most: usize) -> Vec<QueryShape> {
        let shapes = self.shapes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = shapes.clone();
        drop(shapes);
        all.sort_by(|a, b| {
            let charge = b.hundredths.cmp(&a.hundredths);
            charge.then_with(|| a.text.cmp(&b.text))
        });
        all.truncate(most);
        all
    }
}

fn place(shapes: &mut Vec<QueryShape>, text: String) -> usize {
    let mut shape = QueryShape {
        text,
        pages: 0,
        hundredths: 0,
        error: 0,
        rows: 0,
        ranges: BTreeSet::new(),
    };
    if shapes.len() < KEPT {
        shapes.push(shape);
        return shapes.len() - 1;
    }
    let lightest = (0..shapes.len())
        .min_by_key(|&at| shapes[at].hundredths)
        .unwrap_or(0);
    shape.hundredths = shapes[lightest].hundredths;
    shape.error = shape.hundredths;
    shapes[lightest] = shape;
    lightest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_that_differ_in_literals_are_one_shape() {
        let shapes = QueryShapes::default();
        for number in 0..200 {
            let text = format!("SELECT * FROM c WHERE c.n = {number}");
            shapes.note(&text, PartitionKeyRangeId(number % 4), 300, 2);
        }
        shapes.note("SELECT 1", PartitionKeyRangeId(0), 270, 1);
        let found = shapes.heaviest(9);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].pages, found[0].rows), (200, 400));
        assert_eq!(found[0].hundredths, 60_000);
        assert_eq!(found[0].ranges.len(), 4);
    }

    #[test]
    fn the_list_is_bounded_and_keeps_the_heavy_ones() {
        let shapes = QueryShapes::default();
        for number in 0..1_000 {
            shapes.note("SELECT * FROM heavy", PartitionKeyRangeId(0), 900, 1);
            let text = format!("SELECT c.p{number} FROM c");
            shapes.note(&text, PartitionKeyRangeId(0), 100, 1);
        }
        let found = shapes.heaviest(usize::MAX);
        assert_eq!(found.len(), KEPT);
        assert_eq!(found[0].text, "SELECT * FROM heavy");
        assert_eq!(found[0].pages, 1_000);
    }
}
