//! How a physical partition lies in the store: families of keys, each a letter, ordered bytes.
//!
//! | Family | Key after the letter | Value | For |
//! |---|---|---|---|
//! | item `i` | docid | header, JSON text ([`record`]) | scans, fetch after index |
//! | id `d` | EPK, id | docid | point read, uniqueness of id |
//! | key `k` | EPK, docid | bytes that the item occupies | prefix and feed range reads, size of a logical partition |
//! | term `t` | path, value, docid ([`term`]) | - | index |
//! | change `c` | lsn, ordinal | docid, time, EPK ([`entries`]) | latest-version change feed: one live entry per item |
//! | history `h` | lsn, ordinal | kind, positions, image ([`entries`]) | all versions and deletes |
//! | unique `u` | constraint, EPK, values | docid | unique keys |
//! | expiry `x` | time, docid | - | items with their own time to live |
//! | counters `n` | - | sums of the partition ([`entries`]) | statistics, next docid |
//! | rebuild `r` | - | how far the items have moved to a policy ([`entries`]) | rebuild of the index |
//!
//! Numbers in keys are big-endian, so that byte order is number order. Within one container all
//! effective partition keys (EPK) are self-delimiting: none is a proper prefix of another, so a
//! key may go on after them without a length.

pub mod entries;
pub mod keys;
pub mod record;
pub mod term;

/// The letters of the families.
pub mod family {
    /// Items by docid.
    pub const ITEM: u8 = b'i';
    /// Docids by effective partition key and id.
    pub const ID: u8 = b'd';
    /// Sizes by effective partition key and docid.
    pub const KEY: u8 = b'k';
    /// Index terms.
    pub const TERM: u8 = b't';
    /// Latest-version change feed.
    pub const CHANGE: u8 = b'c';
    /// All-versions change feed.
    pub const HISTORY: u8 = b'h';
    /// Unique keys.
    pub const UNIQUE: u8 = b'u';
    /// Items with their own time to live.
    pub const EXPIRY: u8 = b'x';
    /// The counters of the partition.
    pub const COUNTERS: u8 = b'n';
    /// How far the items have moved to the current indexing policy.
    pub const REBUILD: u8 = b'r';
}
