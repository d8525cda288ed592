//! A bounded reader of little-endian values.

use super::{HybridRowError, VERSION, type_code};

/// Reads forward through bytes that a client sent; never reads past them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a>(&'a [u8]);

/// Value of a sparse field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Field<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'a str),
    Binary,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], HybridRowError> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(HybridRowError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, HybridRowError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], HybridRowError> {
        let (taken, rest) = self
            .0
            .split_first_chunk()
            .ok_or(HybridRowError::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn int32(&mut self) -> Result<i32, HybridRowError> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn uint32(&mut self) -> Result<u32, HybridRowError> {
        self.array().map(u32::from_le_bytes)
    }

    /// An int32 that counts bytes.
    pub(super) fn length32(&mut self) -> Result<usize, HybridRowError> {
        usize::try_from(self.int32()?).map_err(|_| HybridRowError::Length)
    }

    /// Seven bits a byte, lowest first, the high bit set on all but the last.
    pub(super) fn varuint(&mut self) -> Result<usize, HybridRowError> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return usize::try_from(value).map_err(|_| HybridRowError::Length);
            }
        }
        Err(HybridRowError::Length)
    }

    /// Length and bytes of a variable field.
    pub(super) fn variable(&mut self) -> Result<&'a [u8], HybridRowError> {
        let length = self.varuint()?;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, HybridRowError> {
        std::str::from_utf8(self.variable()?).map_err(|_| HybridRowError::Text)
    }

    /// The five bytes that every row starts with.
    pub(super) fn row_header(&mut self, schema: i32) -> Result<(), HybridRowError> {
        if self.byte()? != VERSION || self.int32()? != schema {
            return Err(HybridRowError::Schema);
        }
        Ok(())
    }

    /// A sparse field: its path token (`None` for an inline path) and value.
    pub(super) fn sparse(
        &mut self,
        tokens: usize,
    ) -> Result<(Option<usize>, Field<'a>), HybridRowError> {
        let code = self.byte()?;
        let token = self.varuint()?;
        let token = if let Some(inline) = token.checked_sub(tokens) {
            self.take(inline)?;
            None
        } else {
            Some(token)
        };
        let field = match code {
            type_code::NULL => Field::Null,
            type_code::FALSE => Field::Bool(false),
            type_code::TRUE => Field::Bool(true),
            type_code::INT32 => Field::Int(self.int32()?.into()),
            type_code::UINT32 => Field::Int(self.uint32()?.into()),
            type_code::FLOAT64 => Field::Float(f64::from_le_bytes(self.array()?)),
            type_code::UTF8 => Field::Text(self.text()?),
            type_code::BINARY => {
                self.variable()?;
                Field::Binary
            }
            _ => return Err(HybridRowError::FieldType),
        };
        Ok((token, field))
    }
}

pub(super) fn write_varuint(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7F) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn write_variable(bytes: &[u8], out: &mut Vec<u8>) {
    write_varuint(bytes.len(), out);
    out.extend_from_slice(bytes);
}

pub(super) fn write_row_header(schema: i32, out: &mut Vec<u8>) {
    out.push(VERSION);
    out.extend_from_slice(&schema.to_le_bytes());
}
