//! Cells: squares of a surface, each divided into four, down to a fixed level. The numbers of all
//! cells inside one lie together, so that they are one range of index entries.

/// A cell by its number: three bits of face, two bits a level, a one, zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(u64);

/// The smallest cells: about a metre on the globe.
pub(super) const DEEPEST: u32 = 24;

impl Cell {
    /// No cell of a surface: the entry of shapes that are looked at whatever is asked for.
    pub const ANYWHERE: Self = Self(0);

    /// A whole face.
    pub(super) fn face(face: u8) -> Self {
        Self(u64::from(face) << 61 | 1 << 60)
    }

    /// The smallest cell at a place, in units of its side.
    pub(super) fn leaf(face: u8, x: u32, y: u32) -> Self {
        let mut cell = Self::face(face);
        for level in (0..DEEPEST).rev() {
            let (x, y) = ((x >> level) & 1, (y >> level) & 1);
            cell = cell.child(u64::from(y << 1 | x));
        }
        cell
    }

    fn last(self) -> u64 {
        self.0 & self.0.wrapping_neg()
    }

    fn child(self, number: u64) -> Self {
        let quarter = self.last() >> 2;
        Self(self.0 - self.last() + (2 * number + 1) * quarter)
    }

    /// Its four parts; of the smallest cells none are asked for.
    pub(super) fn children(self) -> [Self; 4] {
        [0, 1, 2, 3].map(|number| self.child(number))
    }

    /// How often a face was divided for it.
    pub(super) fn level(self) -> u32 {
        (60 - self.last().trailing_zeros().min(60)) / 2
    }

    /// Its face, and its place there in units of its side.
    pub(super) fn place(self) -> (u8, u32, u32) {
        let (mut x, mut y) = (0, 0);
        for level in 0..self.level() {
            let pair = (self.0 >> (59 - 2 * level)) & 3;
            x = x << 1 | (pair & 1) as u32;
            y = y << 1 | (pair >> 1) as u32;
        }
        ((self.0 >> 61) as u8, x, y)
    }

    /// The first and the last cell inside it.
    pub fn inside(self) -> (Self, Self) {
        let below = self.last().saturating_sub(1);
        (Self(self.0 - below), Self(self.0 + below))
    }

    /// The cells around it, the next larger one first.
    pub fn around(self) -> impl Iterator<Item = Self> {
        let mut last = self.last();
        (0..self.level()).map(move |_| {
            last <<= 2;
            Self(self.0 & last.wrapping_neg() | last)
        })
    }

    /// The form of index entries.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_nest() {
        let leaf = Cell::leaf(5, 0b1011 << 20, 0b0110 << 20 | 1);
        assert_eq!(leaf.level(), DEEPEST);
        assert_eq!(leaf.place(), (5, 0b1011 << 20, 0b0110 << 20 | 1));
        let around: Vec<Cell> = leaf.around().collect();
        assert_eq!(around.len(), DEEPEST as usize);
        assert_eq!(around.last(), Some(&Cell::face(5)));
        let mut inner = leaf;
        for outer in around {
            assert_eq!(outer.level() + 1, inner.level());
            assert!(outer.children().contains(&inner));
            let (first, last) = outer.inside();
            assert!(first <= leaf && leaf <= last && first <= inner && inner <= last);
            let (_, x, y) = inner.place();
            assert_eq!(outer.place(), (5, x >> 1, y >> 1));
            inner = outer;
        }
        let [one, two, ..] = Cell::face(0).children();
        assert!(one.inside().1 < two.inside().0 && Cell::ANYWHERE < one.inside().0);
        assert!(Cell::face(5).inside().0 > Cell::face(4).inside().1);
    }
}
