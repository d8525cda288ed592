//! Parquet: the rows of a file as JSON text.
//!
//! Times become ISO 8601, as they would be stored; decimals become numbers; bytes that are no text
//! become base64.

use std::fs::File;
use std::panic::AssertUnwindSafe;

use anyhow::Result;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use orrery_keylab::calendar::civil_from_days;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::ColumnDescriptor;

/// Why reading ended.
pub enum Ended {
    /// The file is damaged; rows before it are good.
    Damaged(String),
    /// What the caller said.
    Caller(anyhow::Error),
}

/// Hands over the rows of a file with their numbers from 1.
pub fn rows(file: File, with: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<(), Ended> {
    // The decoder takes some of what a file says for granted.
    let read = std::panic::catch_unwind(AssertUnwindSafe(|| read(file, with)));
    read.unwrap_or_else(|_| {
        Err(Ended::Damaged(
            "a page is not what the file says".to_owned(),
        ))
    })
}

fn read(file: File, with: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<(), Ended> {
    let damaged = |error: &dyn std::fmt::Display| Ended::Damaged(error.to_string());
    let reader = SerializedFileReader::new(file).map_err(|error| damaged(&error))?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    for column in schema.columns() {
        if !is_read(column) {
            return Err(Ended::Caller(anyhow::anyhow!(
                "the column {} has the type {:?} of {}, which is not read",
                column.path().string(),
                column.converted_type(),
                column.physical_type()
            )));
        }
    }
    let nanoseconds: Vec<bool> = schema
        .root_schema()
        .get_fields()
        .iter()
        .map(|field| {
            field.is_primitive()
                && matches!(
                    field.get_basic_info().logical_type_ref(),
                    Some(LogicalType::Timestamp(stamp)) if stamp.unit == TimeUnit::NANOS
                )
        })
        .collect();
    let mut number = 0;
    let mut body = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader
            .get_row_group(group)
            .map_err(|error| damaged(&error))?;
        let rows = RowIter::from_row_group(None, &*group).map_err(|error| damaged(&error))?;
        for row in rows {
            let row = row.map_err(|error| damaged(&error))?;
            number += 1;
            body.clear();
            write_row(&row, &nanoseconds, &mut body);
            with(number, &body).map_err(Ended::Caller)?;
        }
    }
    Ok(())
}

/// Whether the decoder knows the type of a column.
fn is_read(column: &ColumnDescriptor) -> bool {
    use ConvertedType as Converted;
    let converted = column.converted_type();
    match column.physical_type() {
        Physical::INT32 => matches!(
            converted,
            Converted::NONE
                | Converted::INT_8
                | Converted::INT_16
                | Converted::INT_32
                | Converted::UINT_8
                | Converted::UINT_16
                | Converted::UINT_32
                | Converted::DATE
                | Converted::TIME_MILLIS
                | Converted::DECIMAL
        ),
        Physical::INT64 => matches!(
            converted,
            Converted::NONE
                | Converted::INT_64
                | Converted::UINT_64
                | Converted::TIME_MICROS
                | Converted::TIMESTAMP_MILLIS
                | Converted::TIMESTAMP_MICROS
                | Converted::DECIMAL
        ),
        Physical::BYTE_ARRAY => matches!(
            converted,
            Converted::NONE
                | Converted::UTF8
                | Converted::ENUM
                | Converted::JSON
                | Converted::BSON
                | Converted::DECIMAL
        ),
        Physical::FIXED_LEN_BYTE_ARRAY => {
            matches!(converted, Converted::NONE | Converted::DECIMAL)
        }
        _ => true,
    }
}

fn write_row(row: &Row, nanoseconds: &[bool], body: &mut Vec<u8>) {
    body.push(b'{');
    for (at, (name, field)) in row.get_column_iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        write_text(name, body);
        body.push(b':');
        match field {
            Field::Long(time) if nanoseconds.get(at) == Some(&true) => {
                write_time(time.div_euclid(1_000), body);
            }
            field => write_field(field, body),
        }
    }
    body.push(b'}');
}

fn write_field(field: &Field, body: &mut Vec<u8>) {
    match field {
        Field::Null => body.extend_from_slice(b"null"),
        Field::Bool(value) => body.extend_from_slice(if *value { b"true" } else { b"false" }),
        Field::Float16(value) => write_number(f64::from(*value), body),
        Field::Float(value) => write_plain(value, value.is_finite(), body),
        Field::Double(value) => write_number(*value, body),
        Field::Str(text) => write_text(text, body),
        Field::Bytes(bytes) => match std::str::from_utf8(bytes.data()) {
            Ok(text) => write_text(text, body),
            Err(_) => write_text(&BASE64_STANDARD.encode(bytes.data()), body),
        },
        Field::Decimal(_) => {
            let text = field.to_string();
            body.extend_from_slice(text.trim_end_matches('.').as_bytes());
        }
        Field::Date(days) => write_text(&date(i64::from(*days)), body),
        Field::TimeMillis(time) => write_text(&clock(i64::from(*time) * 1_000), body),
        Field::TimeMicros(time) => write_text(&clock(*time), body),
        Field::TimestampMillis(time) => write_time(time.saturating_mul(1_000), body),
        Field::TimestampMicros(time) => write_time(*time, body),
        Field::Group(row) => write_row(row, &[], body),
        Field::ListInternal(list) => {
            body.push(b'[');
            for (at, element) in list.elements().iter().enumerate() {
                if at > 0 {
                    body.push(b',');
                }
                write_field(element, body);
            }
            body.push(b']');
        }
        Field::MapInternal(map) => {
            body.push(b'{');
            for (at, (name, value)) in map.entries().iter().enumerate() {
                if at > 0 {
                    body.push(b',');
                }
                match name {
                    Field::Str(name) => write_text(name, body),
                    name => write_text(&name.to_string(), body),
                }
                body.push(b':');
                write_field(value, body);
            }
            body.push(b'}');
        }
        Field::Byte(value) => write_plain(value, true, body),
        Field::Short(value) => write_plain(value, true, body),
        Field::Int(value) => write_plain(value, true, body),
        Field::Long(value) => write_plain(value, true, body),
        Field::UByte(value) => write_plain(value, true, body),
        Field::UShort(value) => write_plain(value, true, body),
        Field::UInt(value) => write_plain(value, true, body),
        Field::ULong(value) => write_plain(value, true, body),
    }
}

fn write_plain(value: &impl std::fmt::Display, is_number: bool, body: &mut Vec<u8>) {
    let text = if is_number {
        value.to_string()
    } else {
        "null".to_owned()
    };
    body.extend_from_slice(text.as_bytes());
}

fn write_number(value: f64, body: &mut Vec<u8>) {
    write_plain(&value, value.is_finite(), body);
}

fn write_text(text: &str, body: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(body, text);
}

fn write_time(microseconds: i64, body: &mut Vec<u8>) {
    const DAY: i64 = 86_400_000_000;
    let (days, rest) = (microseconds.div_euclid(DAY), microseconds.rem_euclid(DAY));
    write_text(&format!("{}T{}Z", date(days), clock(rest)), body);
}

fn date(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

fn clock(microseconds: i64) -> String {
    let (seconds, rest) = (
        microseconds.div_euclid(1_000_000),
        microseconds.rem_euclid(1_000_000),
    );
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match rest {
        0 => format!("{hour:02}:{minute:02}:{second:02}"),
        _ => format!("{hour:02}:{minute:02}:{second:02}.{rest:06}"),
    }
}
