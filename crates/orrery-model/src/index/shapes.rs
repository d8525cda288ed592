//! Spatial indexes: the cells that shapes of items lie in.

use super::{PathHash, Terms};
use crate::container::{SpatialIndex, SpatialType};
use crate::geo::{self, Cell, Grid};
use crate::path::ItemPath;
use crate::value::Value;

/// Cells that one stored shape takes, or some more at the corners of faces.
const MOST_CELLS: usize = 8;

/// A spatial index of the policy, ready for use.
#[derive(Debug, Clone, PartialEq)]
pub struct Shapes {
    path: ItemPath,
    types: Vec<SpatialType>,
    grid: Grid,
    /// What tells its entries from those of other definitions.
    definition: Vec<u8>,
}

impl Shapes {
    pub(super) fn new(index: &SpatialIndex) -> Self {
        let mut definition = index.grid.to_bytes();
        let all = [
            SpatialType::Point,
            SpatialType::LineString,
            SpatialType::Polygon,
            SpatialType::MultiPolygon,
        ];
        definition.extend(all.map(|one| u8::from(index.types.contains(&one))));
        Self {
            path: index.path.clone(),
            types: index.types.clone(),
            grid: index.grid,
            definition,
        }
    }

    /// The path of the policy.
    pub fn path(&self) -> &ItemPath {
        &self.path
    }

    /// How the surface is divided.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// At the front of the entries of the shapes at a path.
    pub fn hash(&self, path: PathHash) -> PathHash {
        path.shapes(&self.definition)
    }

    /// Whether another index makes the same entries of shapes.
    pub fn is_like(&self, other: &Self) -> bool {
        self.definition == other.definition
    }

    /// Whether only points have cells, which are then the smallest ones.
    pub fn is_of_points(&self) -> bool {
        self.types.iter().all(|one| *one == SpatialType::Point)
    }

    /// Adds the entries of a value, if it is a shape. Shapes that the policy does not index, and
    /// those without any position, have the entry that every look-up finds.
    pub(super) fn push(&self, path: PathHash, value: &Value<'_>, terms: &mut Terms) {
        let Some(kind) = geo::kind(value) else { return };
        let Ok(shape) = geo::read(value, self.grid.surface()) else {
            return;
        };
        let hash = self.hash(path);
        if shape.points() == 0 || !self.types.contains(&kind) {
            terms.push_cell(hash, Cell::ANYWHERE);
            return;
        }
        for cell in self.grid.cells(&shape, MOST_CELLS) {
            terms.push_cell(hash, cell);
        }
    }
}
