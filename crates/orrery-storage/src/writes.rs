//! The changes of one commit.

use std::ops::Range;

use crate::error::StoreError;

/// The longest key that every engine accepts. Longer identities enter keys as a hash, with the
/// value checked by the caller.
pub const MAX_KEY_BYTES: usize = 2_500;

/// Puts and deletes that become visible together. The last operation on a key wins.
///
/// One buffer holds all bytes: a commit of one item has dozens of short entries, and an
/// allocation for each would cost more than the copy.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    bytes: Vec<u8>,
    operations: Vec<Operation>,
}

#[derive(Clone, Debug)]
struct Operation {
    key: Range<usize>,
    /// `None` deletes.
    value: Option<Range<usize>>,
}

impl Writes {
    /// No changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// No changes yet, with room for `bytes` of keys and values.
    pub fn with_capacity(operations: usize, bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            operations: Vec::with_capacity(operations),
        }
    }

    /// Sets the value of a key.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.put_with(|buffer| buffer.extend_from_slice(key), value);
    }

    /// Sets the value of a key that `key` appends to the buffer it is given, which saves the
    /// caller a buffer of its own.
    pub fn put_with(&mut self, key: impl FnOnce(&mut Vec<u8>), value: &[u8]) {
        let key = self.append(key);
        let value = self.append(|buffer| buffer.extend_from_slice(value));
        self.operations.push(Operation {
            key,
            value: Some(value),
        });
    }

    /// Removes a key; a key that is not there is no error.
    pub fn delete(&mut self, key: &[u8]) {
        self.delete_with(|buffer| buffer.extend_from_slice(key));
    }

    /// Removes the key that `key` appends to the buffer it is given.
    pub fn delete_with(&mut self, key: impl FnOnce(&mut Vec<u8>)) {
        let key = self.append(key);
        self.operations.push(Operation { key, value: None });
    }

    /// Takes back all operations after the first `operations`.
    pub fn truncate(&mut self, operations: usize) {
        if let Some(first_gone) = self.operations.get(operations) {
            self.bytes.truncate(first_gone.key.start);
            self.operations.truncate(operations);
        }
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// True when there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The bytes of all keys and values.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// The operations in the order in which they were added: key, and value or `None` for a
    /// delete.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.operations.iter().map(|operation| {
            let value = operation.value.clone().map(|range| &self.bytes[range]);
            (&self.bytes[operation.key.clone()], value)
        })
    }

    /// One operation a key, in key order: sorted insertion is faster in every engine, and an
    /// engine may not define which of two operations on a key wins.
    pub(crate) fn into_final(mut self) -> Result<Self, StoreError> {
        let longest = self.operations.iter().map(|op| op.key.len()).max();
        if let Some(length) = longest.filter(|&length| length > MAX_KEY_BYTES) {
            return Err(StoreError::KeyTooLong(length));
        }
        let bytes = &self.bytes;
        // The sort is stable and `dedup_by` keeps the first of equals: reversed, that is the last.
        self.operations.reverse();
        self.operations
            .sort_by(|a, b| bytes[a.key.clone()].cmp(&bytes[b.key.clone()]));
        self.operations
            .dedup_by(|a, b| bytes[a.key.clone()] == bytes[b.key.clone()]);
        Ok(self)
    }

    fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
        let start = self.bytes.len();
        write(&mut self.bytes);
        if self.bytes.len() < start {
            // `write` may only append; earlier operations must keep their ranges.
            self.bytes.resize(start, 0);
        }
        start..self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_operation_on_a_key_wins() {
        let mut writes = Writes::new();
        writes.put(b"b", b"1");
        writes.put(b"a", b"1");
        writes.delete(b"b");
        writes.put(b"a", b"2");
        writes.put(b"c", b"1");
        let writes = writes.into_final().expect("short keys");
        let seen: Vec<_> = writes.iter().collect();
        assert_eq!(
            seen,
            [
                (&b"a"[..], Some(&b"2"[..])),
                (&b"b"[..], None),
                (&b"c"[..], Some(&b"1"[..])),
            ]
        );
    }

    #[test]
    fn truncation_takes_back_the_latest() {
        let mut writes = Writes::new();
        writes.put(b"a", b"1");
        let kept = writes.len();
        writes.put(b"a", b"2");
        writes.delete(b"b");
        writes.truncate(kept);
        writes.put(b"c", b"3");
        let seen: Vec<_> = writes.iter().collect();
        let expected = [(&b"a"[..], Some(&b"1"[..])), (&b"c"[..], Some(&b"3"[..]))];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_long_key_is_refused() {
        let mut writes = Writes::new();
        writes.put(&vec![0; MAX_KEY_BYTES], b"");
        assert!(writes.clone().into_final().is_ok());
        writes.delete(&vec![0; MAX_KEY_BYTES + 1]);
        assert!(matches!(
            writes.into_final(),
            Err(StoreError::KeyTooLong(2_501))
        ));
    }
}
