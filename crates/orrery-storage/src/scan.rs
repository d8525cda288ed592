//! Reading a range of keys page by page.

use std::ops::Bound;

use crate::bytes::StoredBytes;
use crate::error::StoreError;

/// The order of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Ascending byte order.
    #[default]
    Forward,
    /// Descending byte order.
    Backward,
}

/// A lower bound, and an exclusive upper one that may be the end of the part.
type KeyBounds<'a> = (Bound<&'a [u8]>, Option<&'a [u8]>);

/// What to read: a range of keys, a direction and the size of a page.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The first key of the range, inclusive.
    pub from: Vec<u8>,
    /// The end of the range, exclusive; `None` is the end of the part.
    pub to: Option<Vec<u8>>,
    /// The order.
    pub direction: Direction,
    /// The last key of the page before ([`Page::resume`]): the scan goes on after it, in its
    /// direction.
    pub resume: Option<Vec<u8>>,
    /// The page ends after this many rows. Zero reads nothing.
    pub max_rows: usize,
    /// The page ends with the row that reaches this many bytes of keys and values, so a page of a
    /// range that has rows is never empty.
    pub max_bytes: usize,
}

impl Scan {
    /// All keys from `from` up to but without `to`, ascending, in one page.
    pub fn range(from: impl Into<Vec<u8>>, to: Option<Vec<u8>>) -> Self {
        Self {
            from: from.into(),
            to,
            direction: Direction::Forward,
            resume: None,
            max_rows: usize::MAX,
            max_bytes: usize::MAX,
        }
    }

    /// All keys of the part.
    pub fn all() -> Self {
        Self::range(Vec::new(), None)
    }

    /// All keys that start with `prefix`.
    pub fn prefix(prefix: impl Into<Vec<u8>>) -> Self {
        let prefix = prefix.into();
        let to = prefix_end(&prefix);
        Self::range(prefix, to)
    }

    /// The same in descending order.
    pub fn backward(mut self) -> Self {
        self.direction = Direction::Backward;
        self
    }

    /// The same, in pages of at most `rows` rows.
    pub fn max_rows(mut self, rows: usize) -> Self {
        self.max_rows = rows;
        self
    }

    /// The same, in pages of about `bytes` bytes.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// The same, going on after `key`.
    pub fn resume(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.resume = Some(key.into());
        self
    }

    /// The bounds of what is left to read: a lower one and an exclusive upper one, `None` being
    /// the end of the part. Nothing at all when nothing is left; ordered maps panic on inverted
    /// bounds, so they never see any.
    pub(crate) fn bounds(&self) -> Option<KeyBounds<'_>> {
        if self.max_rows == 0 {
            return None;
        }
        let mut lower = Bound::Included(self.from.as_slice());
        let mut upper = self.to.as_deref();
        if let Some(resume) = self.resume.as_deref() {
            match self.direction {
                Direction::Forward if resume >= self.from.as_slice() => {
                    lower = Bound::Excluded(resume);
                }
                Direction::Backward if upper.is_none_or(|upper| resume < upper) => {
                    upper = Some(resume);
                }
                Direction::Forward | Direction::Backward => {}
            }
        }
        let (Bound::Included(start) | Bound::Excluded(start)) = lower else {
            return None;
        };
        upper
            .is_none_or(|upper| start < upper)
            .then_some((lower, upper))
    }

    /// Takes rows until a limit ends the page.
    pub(crate) fn collect(
        &self,
        rows: impl Iterator<Item = Result<Row, StoreError>>,
    ) -> Result<Page, StoreError> {
        let mut page = Page::default();
        let mut bytes = 0usize;
        for row in rows {
            let row = row?;
            bytes = bytes.saturating_add(row.key.len() + row.value.len());
            page.rows.push(row);
            if page.rows.len() >= self.max_rows || bytes >= self.max_bytes {
                page.resume = page.rows.last().map(|row| row.key.clone());
                break;
            }
        }
        Ok(page)
    }
}

/// One key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key, without the part number.
    pub key: StoredBytes,
    /// The value.
    pub value: StoredBytes,
}

/// A page of a scan, read from one snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The rows, in the order of the scan.
    pub rows: Vec<Row>,
    /// The key after which the scan goes on; `None` when the range is exhausted. A page that a
    /// limit ended exactly at the end of the range may carry a key too: the page after it is
    /// then empty.
    pub resume: Option<StoredBytes>,
}

/// The least key that is greater than all keys that start with `prefix`; `None` when there is no
/// such key.
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xFF)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::prefix_end;

    #[test]
    fn prefix_ends() {
        assert_eq!(prefix_end(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(prefix_end(b"a\xFF\xFF"), Some(b"b".to_vec()));
        assert_eq!(prefix_end(b"\xFF\xFF"), None);
        assert_eq!(prefix_end(b""), None);
    }
}
