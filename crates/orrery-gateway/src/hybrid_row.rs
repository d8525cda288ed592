//! The binary form of batches: HybridRow rows in a RecordIO stream, both ways.
//!
//! The .NET SDK sends every batch so, in gateway mode too, and reads the answer in
//! the same form (protocol-rntbd: section 8). A stream is a segment row, then for
//! each record a header row with length and CRC, and the record's own row.

mod bytes;
mod operation;
mod record_io;
mod result;

pub use operation::OperationRow;
pub use record_io::{RecordReader, RecordWriter};
pub use result::ResultRow;

/// First byte of every row, and so of every stream.
pub const VERSION: u8 = 0x81;

const SEGMENT_SCHEMA: i32 = 2_147_473_648;
const RECORD_SCHEMA: i32 = 2_147_473_649;
const OPERATION_SCHEMA: i32 = 2_145_473_648;
const RESULT_SCHEMA: i32 = 2_145_473_649;

/// Type codes of sparse fields.
mod type_code {
    pub(super) const NULL: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const TRUE: u8 = 3;
    pub(super) const INT32: u8 = 7;
    pub(super) const UINT32: u8 = 11;
    pub(super) const FLOAT64: u8 = 16;
    pub(super) const UTF8: u8 = 20;
    pub(super) const BINARY: u8 = 21;
}

/// What can be wrong with a binary batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HybridRowError {
    /// The stream ends inside a row.
    #[error("the stream ends inside a row")]
    Truncated,
    /// A row of another kind stands where this one was expected.
    #[error("a row has an unexpected schema")]
    Schema,
    /// A length is negative or points outside of the stream.
    #[error("a length is out of range")]
    Length,
    /// The checksum of a record does not fit its bytes.
    #[error("the checksum of a record is wrong")]
    Checksum,
    /// A text is not UTF-8.
    #[error("a text is not UTF-8")]
    Text,
    /// A sparse field has a type that no field of the schema has.
    #[error("a field has an unexpected type")]
    FieldType,
}
