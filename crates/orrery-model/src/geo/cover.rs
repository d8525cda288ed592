//! Covers a shape, and what lies within a distance of it, with few cells.
//!
//! A cell is judged by the circle around it: what no line of the shape comes near lies wholly
//! inside or wholly outside. The cover holds every point that the relations of
//! [`super::relations`] may count as the shape's, with what rounding adds; it may hold others.

use std::collections::VecDeque;

use super::cell::{Cell, DEEPEST};
use super::relations::{Geometry, Model};

/// A surface that is divided into cells.
pub(super) trait Lattice {
    /// The geometry of its points.
    type Surface: Geometry;

    /// The largest cells.
    fn faces(&self) -> Vec<Cell>;
    /// The middle of a cell, or of the part of it that counts, and how far its corners are;
    /// nothing where no part counts.
    fn circle(&self, cell: Cell) -> Option<(PointOf<Self>, f64)>;
    /// A circle around a shape, where it is worth knowing.
    fn around(&self, model: &Model<Self::Surface>) -> Option<(PointOf<Self>, f64)>;
    /// What rounding may do to a distance.
    fn slack(&self) -> f64;
}

pub(super) type PointOf<L> = <<L as Lattice>::Surface as Geometry>::Point;

/// The first look stops when it takes more cells than this.
const FIRST_LOOK: usize = 4;

/// The cells of a shape and of what lies within `reach` of it: about `most`, as small as that
/// allows. `None` when the lines of the shape are not determined.
pub(super) fn cover<L: Lattice>(
    lattice: &L,
    model: &Model<L::Surface>,
    reach: f64,
    most: usize,
) -> Option<Vec<Cell>> {
    let mut edges = model.segments();
    if edges
        .iter()
        .any(|[start, end]| L::Surface::is_vague(*start, *end))
    {
        return None;
    }
    edges.extend(model.shadows());
    if let Model::Point(point) = model {
        edges.push([*point, *point]);
    }
    let region = Region {
        lattice,
        model,
        edges,
        reach,
    };
    Some(region.cover(most))
}

struct Region<'a, L: Lattice> {
    lattice: &'a L,
    model: &'a Model<L::Surface>,
    /// All lines across which inside and outside may change.
    edges: Vec<[PointOf<L>; 2]>,
    reach: f64,
}

/// A cell that touches the region.
struct Candidate {
    cell: Cell,
    /// The edges that come near.
    edges: Vec<u32>,
    is_inside: bool,
}

impl<L: Lattice> Region<'_, L> {
    fn cover(&self, most: usize) -> Vec<Cell> {
        let all: Vec<u32> = (0..).take(self.edges.len()).collect();
        let judged = |cell: &Cell, edges: &[u32]| self.judge(*cell, edges);
        let mut open: VecDeque<Candidate> = self
            .first_look()
            .iter()
            .filter_map(|cell| judged(cell, &all))
            .collect();
        let mut done = Vec::new();
        while let Some(next) = open.pop_front() {
            if next.is_inside || next.cell.level() >= DEEPEST {
                done.push(next.cell);
                continue;
            }
            let children = next.cell.children();
            let parts = children.iter().filter_map(|cell| judged(cell, &next.edges));
            let parts: Vec<Candidate> = parts.collect();
            if done.len() + open.len() + parts.len() > most {
                done.push(next.cell);
            } else {
                open.extend(parts);
            }
        }
        done.sort_unstable();
        done
    }

    /// Few cells that hold the circle around the region: edges need not be looked at for them.
    fn first_look(&self) -> Vec<Cell> {
        let mut cells = self.lattice.faces();
        let Some((middle, radius)) = self.lattice.around(self.model) else {
            return cells;
        };
        let limit = radius + self.reach + self.lattice.slack();
        let touches = |cell: &Cell| {
            let circle = self.lattice.circle(*cell);
            circle.is_some_and(|(own, radius)| {
                !is_farther(L::Surface::gap(own, middle, middle), radius + limit)
            })
        };
        cells.retain(touches);
        for _ in 0..DEEPEST {
            let children = cells.iter().flat_map(|cell| cell.children());
            let next: Vec<Cell> = children.filter(touches).collect();
            if next.len() > FIRST_LOOK {
                break;
            }
            cells = next;
        }
        cells
    }

    /// How a cell lies to the region, by the edges that come near the cell around it; nothing
    /// when it is apart.
    fn judge(&self, cell: Cell, edges: &[u32]) -> Option<Candidate> {
        let (middle, radius) = self.lattice.circle(cell)?;
        let slack = self.lattice.slack();
        let (mut near, mut is_clear, mut nearest) = (Vec::new(), true, f64::INFINITY);
        for &at in edges {
            let [start, end] = self.edges[at as usize];
            let gap = L::Surface::gap(middle, start, end);
            nearest = nearest.min(gap);
            if !is_farther(gap, radius + slack) {
                is_clear = false;
            }
            if !is_farther(gap, radius + self.reach + slack) {
                near.push(at);
            }
        }
        let is_inside =
            nearest + radius + slack < self.reach || is_clear && self.model.holds(middle);
        (is_inside || !near.is_empty()).then_some(Candidate {
            cell,
            edges: near,
            is_inside,
        })
    }
}

/// False also for what cannot be compared: such cells are kept.
fn is_farther(gap: f64, limit: f64) -> bool {
    gap > limit
}
