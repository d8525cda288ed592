//! The result of one operation of a batch, as a row.

use super::bytes::{Cursor, Field, write_row_header, write_variable, write_varuint};
use super::{HybridRowError, RESULT_SCHEMA, type_code};

/// Path tokens of the schema; a higher number announces an inline path.
const TOKENS: usize = 7;
const RETRY_AFTER: usize = 5;
const REQUEST_CHARGE: usize = 6;

/// The fields of a `BatchResult` row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultRow<'a> {
    /// HTTP status of the operation.
    pub status: i32,
    /// Sub-status, 0 for none.
    pub sub_status: i32,
    /// Etag of the item.
    pub etag: Option<&'a str>,
    /// The item.
    pub resource_body: Option<&'a [u8]>,
    /// When to try again, in milliseconds.
    pub retry_after_ms: Option<u32>,
    /// Charge of the operation.
    pub request_charge: f64,
}

impl<'a> ResultRow<'a> {
    /// Writes the row.
    pub fn encode(&self) -> Vec<u8> {
        let body = self.resource_body.map_or(0, <[u8]>::len);
        let mut row = Vec::with_capacity(64 + body);
        write_row_header(RESULT_SCHEMA, &mut row);
        row.push(
            0b11 | (u8::from(self.etag.is_some()) << 2)
                | (u8::from(self.resource_body.is_some()) << 3),
        );
        row.extend_from_slice(&self.status.to_le_bytes());
        row.extend_from_slice(&self.sub_status.to_le_bytes());
        for field in [self.etag.map(str::as_bytes), self.resource_body]
            .into_iter()
            .flatten()
        {
            write_variable(field, &mut row);
        }
        if let Some(retry_after) = self.retry_after_ms {
            row.push(type_code::UINT32);
            write_varuint(RETRY_AFTER, &mut row);
            row.extend_from_slice(&retry_after.to_le_bytes());
        }
        row.push(type_code::FLOAT64);
        write_varuint(REQUEST_CHARGE, &mut row);
        row.extend_from_slice(&self.request_charge.to_le_bytes());
        row
    }

    /// Reads a row, as clients do.
    pub fn decode(row: &'a [u8]) -> Result<Self, HybridRowError> {
        let mut cursor = Cursor::new(row);
        cursor.row_header(RESULT_SCHEMA)?;
        let presence = cursor.byte()?;
        let mut result = Self {
            status: cursor.int32()?,
            sub_status: cursor.int32()?,
            ..Self::default()
        };
        if presence & 0b100 != 0 {
            result.etag = Some(cursor.text()?);
        }
        if presence & 0b1000 != 0 {
            result.resource_body = Some(cursor.variable()?);
        }
        while !cursor.is_empty() {
            match cursor.sparse(TOKENS)? {
                (Some(RETRY_AFTER), Field::Int(ms)) => {
                    result.retry_after_ms = u32::try_from(ms).ok();
                }
                (Some(REQUEST_CHARGE), Field::Float(charge)) => result.request_charge = charge,
                _ => {}
            }
        }
        Ok(result)
    }
}
