//! One operation of a batch, as a row.

use super::bytes::{Cursor, Field, write_row_header, write_variable, write_varuint};
use super::{HybridRowError, OPERATION_SCHEMA, type_code};

/// Path tokens of the schema; a higher number announces an inline path.
const TOKENS: usize = 13;
const INDEXING_DIRECTIVE: usize = 8;
const IF_MATCH: usize = 9;
const IF_NONE_MATCH: usize = 10;
const MINIMAL_RETURN: usize = 12;

/// The fields of a `BatchOperation` row that a server reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OperationRow<'a> {
    /// Number of the operation type (protocol-rntbd: section 4).
    pub operation_type: i32,
    /// Number of the resource type; 2 for items.
    pub resource_type: i32,
    /// Partition key as header JSON; bulk only.
    pub partition_key: Option<&'a str>,
    /// Id of the item.
    pub id: Option<&'a str>,
    /// The item, or the patch.
    pub resource_body: Option<&'a [u8]>,
    /// Whether to index the item.
    pub indexing_directive: Option<&'a str>,
    /// Etag that must match.
    pub if_match: Option<&'a str>,
    /// Etag that must not match.
    pub if_none_match: Option<&'a str>,
    /// Whether the result may leave out the body.
    pub minimal_return: bool,
}

impl<'a> OperationRow<'a> {
    /// Reads a row. Fields that the layout allows and no server uses are skipped.
    pub fn decode(row: &'a [u8]) -> Result<Self, HybridRowError> {
        let mut cursor = Cursor::new(row);
        cursor.row_header(OPERATION_SCHEMA)?;
        let presence = cursor.byte()?;
        let present = |bit: u8| presence & (1 << bit) != 0;
        let mut operation = Self {
            operation_type: cursor.int32()?,
            resource_type: cursor.int32()?,
            ..Self::default()
        };
        if present(2) {
            operation.partition_key = Some(cursor.text()?);
        }
        if present(3) {
            cursor.variable()?;
        }
        if present(4) {
            operation.id = Some(cursor.text()?);
        }
        if present(5) {
            cursor.variable()?;
        }
        if present(6) {
            operation.resource_body = Some(cursor.variable()?);
        }
        while !cursor.is_empty() {
            match cursor.sparse(TOKENS)? {
                (Some(INDEXING_DIRECTIVE), Field::Text(text)) => {
                    operation.indexing_directive = Some(text);
                }
                (Some(IF_MATCH), Field::Text(text)) => operation.if_match = Some(text),
                (Some(IF_NONE_MATCH), Field::Text(text)) => operation.if_none_match = Some(text),
                (Some(MINIMAL_RETURN), Field::Bool(minimal)) => operation.minimal_return = minimal,
                _ => {}
            }
        }
        Ok(operation)
    }

    /// Writes the row as the .NET SDK does.
    pub fn encode(&self) -> Vec<u8> {
        let mut row = Vec::new();
        write_row_header(OPERATION_SCHEMA, &mut row);
        let bit = |present: bool, bit: u8| u8::from(present) << bit;
        row.push(
            0b11 | bit(self.partition_key.is_some(), 2)
                | bit(self.id.is_some(), 4)
                | bit(self.resource_body.is_some(), 6),
        );
        row.extend_from_slice(&self.operation_type.to_le_bytes());
        row.extend_from_slice(&self.resource_type.to_le_bytes());
        let texts = [
            self.partition_key.map(str::as_bytes),
            self.id.map(str::as_bytes),
            self.resource_body,
        ];
        for field in texts.into_iter().flatten() {
            write_variable(field, &mut row);
        }
        let sparse = [
            (INDEXING_DIRECTIVE, self.indexing_directive),
            (IF_MATCH, self.if_match),
            (IF_NONE_MATCH, self.if_none_match),
        ];
        for (token, text) in sparse {
            if let Some(text) = text {
                row.push(type_code::UTF8);
                write_varuint(token, &mut row);
                write_variable(text.as_bytes(), &mut row);
            }
        }
        if self.minimal_return {
            row.push(type_code::TRUE);
            write_varuint(MINIMAL_RETURN, &mut row);
        }
        row
    }
}
