//! Bytes handed out by a store: shared with its cache, not copied.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A key or value read from a store. Cloning and keeping it is cheap; it keeps the block of
/// memory alive that it lies in. It owns its bytes, so that it can become the body of an answer
/// without a copy.
#[derive(Clone)]
pub struct StoredBytes {
    repr: Repr,
    /// Bytes at the start that belong to the store (the part number before a key).
    skip: usize,
}

#[derive(Clone)]
enum Repr {
    Shared(Arc<[u8]>),
    Block(fjall::Slice),
}

impl StoredBytes {
    pub(crate) fn block(slice: fjall::Slice) -> Self {
        Self {
            repr: Repr::Block(slice),
            skip: 0,
        }
    }

    pub(crate) fn block_after(slice: fjall::Slice, skip: usize) -> Self {
        debug_assert!(skip <= slice.len());
        Self {
            repr: Repr::Block(slice),
            skip,
        }
    }
}

impl Deref for StoredBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let whole: &[u8] = match &self.repr {
            Repr::Shared(bytes) => bytes,
            Repr::Block(slice) => slice,
        };
        whole.get(self.skip..).unwrap_or_default()
    }
}

impl AsRef<[u8]> for StoredBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Arc<[u8]>> for StoredBytes {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self {
            repr: Repr::Shared(bytes),
            skip: 0,
        }
    }
}

impl From<&[u8]> for StoredBytes {
    fn from(bytes: &[u8]) -> Self {
        Arc::<[u8]>::from(bytes).into()
    }
}

impl PartialEq for StoredBytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for StoredBytes {}

impl PartialEq<[u8]> for StoredBytes {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}

impl fmt::Debug for StoredBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.escape_ascii())
    }
}
