//! The framing of records: segment row, record headers, checksums.

use super::bytes::{Cursor, write_row_header};
use super::{HybridRowError, RECORD_SCHEMA, SEGMENT_SCHEMA};

/// Row header, presence byte and length of a segment row.
const SEGMENT_LENGTH: usize = 10;

/// Iterates over the records of a stream.
#[derive(Debug)]
pub struct RecordReader<'a> {
    stream: Cursor<'a>,
    failed: bool,
}

impl<'a> RecordReader<'a> {
    /// Reads the segment row.
    pub fn new(stream: &'a [u8]) -> Result<Self, HybridRowError> {
        let mut cursor = Cursor::new(stream);
        cursor.row_header(SEGMENT_SCHEMA)?;
        if cursor.byte()? & 1 != 0 {
            let length = cursor.length32()?;
            // A comment or schema text may follow; nobody sends one.
            cursor.take(
                length
                    .checked_sub(SEGMENT_LENGTH)
                    .ok_or(HybridRowError::Length)?,
            )?;
        }
        Ok(Self {
            stream: cursor,
            failed: false,
        })
    }

    fn record(&mut self) -> Result<&'a [u8], HybridRowError> {
        self.stream.row_header(RECORD_SCHEMA)?;
        let length = self.stream.length32()?;
        let checksum = self.stream.uint32()?;
        let record = self.stream.take(length)?;
        if crc32(record) != checksum {
            return Err(HybridRowError::Checksum);
        }
        Ok(record)
    }
}

impl<'a> Iterator for RecordReader<'a> {
    type Item = Result<&'a [u8], HybridRowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.stream.is_empty() {
            return None;
        }
        let record = self.record();
        self.failed = record.is_err();
        Some(record)
    }
}

/// Writes a stream of records.
#[derive(Debug)]
pub struct RecordWriter {
    stream: Vec<u8>,
}

impl Default for RecordWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl RecordWriter {
    /// A stream with its segment row.
    pub fn new() -> Self {
        let mut stream = Vec::with_capacity(1024);
        write_row_header(SEGMENT_SCHEMA, &mut stream);
        stream.push(1);
        stream.extend_from_slice(&(SEGMENT_LENGTH as i32).to_le_bytes());
        Self { stream }
    }

    /// Appends a record.
    pub fn push(&mut self, record: &[u8]) {
        write_row_header(RECORD_SCHEMA, &mut self.stream);
        self.stream
            .extend_from_slice(&(record.len() as i32).to_le_bytes());
        self.stream.extend_from_slice(&crc32(record).to_le_bytes());
        self.stream.extend_from_slice(record);
    }

    /// The whole stream.
    pub fn finish(self) -> Vec<u8> {
        self.stream
    }
}

/// CRC-32 with the polynomial of zlib, reflected.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = crc_table();
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        TABLE[((crc ^ u32::from(*byte)) & 0xFF) as usize] ^ (crc >> 8)
    })
}

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 {
                0xEDB8_8320 ^ (value >> 1)
            } else {
                value >> 1
            };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    #[test]
    fn checksum_of_the_usual_check_value() {
        assert_eq!(super::crc32(b"123456789"), 0xCBF4_3926);
    }
}
