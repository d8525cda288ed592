//! Look-ups in spatial indexes: the items with shapes near another.

use std::collections::BTreeSet;

use orrery_model::geo::{self, Cell};
use orrery_model::index::PathHash;
use orrery_model::path::Step;
use orrery_sql::filter::{IndexTest, Near};

use super::docid_stream::DocIdStream;
use super::docids::DocIds;
use super::seek::{KeyRange, Seeker, of_prefix};
use crate::error::Error;
use crate::layout::term;

/// Cells that one look-up takes. More of them fit the shape better, and read more places.
const MOST_CELLS: usize = 32;
/// Cells that are charged: the service takes no more (`maxSpatialQueryCells`, protocol: section
/// 1.2).
const CHARGED_CELLS: usize = 12;

impl Seeker<'_> {
    /// The items that may have a shape at the path near the other; `None` when the index does not
    /// tell.
    pub(super) fn near(
        &mut self,
        path: &[Step],
        test: &IndexTest,
        near: &Near,
    ) -> Result<Option<DocIdStream>, Error> {
        let Some(shapes) = self.state.shapes(path) else {
            return Ok(None);
        };
        let Ok(shape) = geo::read(&near.shape, shapes.grid().surface()) else {
            // What is said of it is undefined for every item.
            return Ok(Some(DocIdStream::List(DocIds::default())));
        };
        // A shape without any position lies within all others.
        if shape.points() == 0 {
            return Ok(None);
        }
        let cells = shapes.grid().cells_near(&shape, near.distance, MOST_CELLS);
        let Some(cells) = cells else {
            return Ok(None);
        };
        let prefix = term::path_prefix(shapes.hash(PathHash::of(path)));
        let of_cell = |cell: Cell| [prefix.as_slice(), &cell.to_bytes()].concat();
        let inside = cells.iter().map(|cell| {
            let (first, last) = cell.inside();
            KeyRange {
                from: of_cell(first),
                to: of_prefix(of_cell(last)).to,
            }
        });
        // Larger shapes are in cells around these; the larger ones are few and shared.
        let mut larger = BTreeSet::from([Cell::ANYWHERE]);
        if !shapes.is_of_points() {
            larger.extend(cells.iter().flat_map(|cell| cell.around()));
        }
        let around = larger.into_iter().map(|cell| of_prefix(of_cell(cell)));
        self.cost.seeks += cells.len().min(CHARGED_CELLS) as u64;
        let mut found = Vec::new();
        for range in inside.chain(around) {
            if !self.collect(range, test, prefix.len(), &mut found)? {
                return Ok(None);
            }
        }
        Ok(Some(DocIdStream::List(DocIds::new(found))))
    }
}
