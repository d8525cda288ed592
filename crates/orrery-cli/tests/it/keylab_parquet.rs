//! Parquet as the laboratory's data.

use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::harness::{Folder, run};

const SCHEMA: &str = "message orders {
    required binary id (UTF8);
    optional binary customer (UTF8);
    required int64 placed (TIMESTAMP_MILLIS);
    required double total;
    required group address { required binary city (UTF8); }
}";
/// Rows of one group.
const ROWS: usize = 5_000;

/// A file of two groups of rows; every fifth order has no customer.
fn orders(compression: Compression) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(properties)).unwrap();
    for group in 0..2 {
        let numbers: Vec<usize> = (group * ROWS..(group + 1) * ROWS).collect();
        let mut rows = writer.next_row_group().unwrap();
        let texts = |text: &dyn Fn(usize) -> String, numbers: &[usize]| -> Vec<ByteArray> {
            numbers
                .iter()
                .map(|&number| ByteArray::from(text(number).into_bytes()))
                .collect()
        };
        write_texts(&mut rows, &texts(&|n| format!("order-{n}"), &numbers), None);
        let known: Vec<usize> = numbers.iter().copied().filter(|n| n % 5 > 0).collect();
        let levels: Vec<i16> = numbers.iter().map(|n| i16::from(n % 5 > 0)).collect();
        write_texts(
            &mut rows,
            &texts(&|n| format!("c{}", n % 700), &known),
            Some(&levels),
        );
        let mut column = rows.next_column().unwrap().unwrap();
        let times: Vec<i64> = numbers
            .iter()
            .map(|n| 1_790_000_000_000 + *n as i64 / 4 * 3_600_000)
            .collect();
        column
            .typed::<Int64Type>()
            .write_batch(&times, None, None)
            .unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        let totals: Vec<f64> = numbers.iter().map(|n| *n as f64 / 4.0).collect();
        column
            .typed::<DoubleType>()
            .write_batch(&totals, None, None)
            .unwrap();
        column.close().unwrap();
        write_texts(
            &mut rows,
            &texts(&|n| format!("city \"{}\"", n % 30), &numbers),
            None,
        );
        rows.close().unwrap();
    }
    writer.close().unwrap();
    file
}

fn write_texts(
    rows: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    texts: &[ByteArray],
    levels: Option<&[i16]>,
) {
    let mut column = rows.next_column().unwrap().unwrap();
    column
        .typed::<ByteArrayType>()
        .write_batch(texts, levels, None)
        .unwrap();
    column.close().unwrap();
}

fn put(folder: &Folder, name: &str, bytes: &[u8]) {
    std::fs::write(folder.path().join(name), bytes).unwrap();
}

fn report(path: &str) -> serde_json::Value {
    let said = run(&["keylab", "analyze", "--data", path, "--json"]);
    assert_eq!(said.code, 0, "{}", said.err);
    serde_json::from_str(&said.out).unwrap()
}

#[test]
fn columns_become_members() {
    let folder = Folder::new();
    let packings = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    for compression in packings {
        put(&folder, "orders.parquet", &orders(compression));
        let report = report(&folder.at("orders.parquet"));
        assert_eq!(report["numDocsTotal"], 2 * ROWS as u64, "{compression:?}");
        let paths = report["paths"].as_array().unwrap();
        let path = |name: &str| paths.iter().find(|path| path["path"] == name).unwrap();
        assert_eq!(path("/customer")["types"]["null"], 0.2);
        assert_eq!(path("/total")["types"]["number"], 1.0);
        assert_eq!(path("/address/city")["types"]["string"], 1.0);
        let spreads = report["spreads"].as_array().unwrap();
        let spread = |key: &str| spreads.iter().find(|spread| spread["key"] == key).unwrap();
        assert_eq!(spread("/address/city")["numDistinctValues"], 30.0);
        let common = spread("/address/city")["mostCommonValues"][0][0]
            .as_str()
            .unwrap();
        assert!(common.starts_with("\"city \\\""), "{common}");
        let time = spread("/placed")["mostCommonValues"][0][0]
            .as_str()
            .unwrap();
        assert!(
            time.starts_with("\"2026-") && time.ends_with("Z\""),
            "{time}"
        );
    }
}

#[test]
fn damage_is_told_and_what_was_read_counts() {
    let folder = Folder::new();
    let whole = orders(Compression::SNAPPY);
    put(&folder, "cut.parquet", &whole[..whole.len() / 2]);
    let said = run(&["keylab", "analyze", "--data", &folder.at("cut.parquet")]);
    assert_eq!(said.code, 1);
    assert!(
        said.err
            .contains("cut.parquet: reading ended early after 0 rows of a Parquet file of"),
        "{}",
        said.err
    );
    // Beside a good file it spoils nothing.
    put(&folder, "good.ndjson", b"{\"id\":\"1\"}\n{\"id\":\"2\"}\n");
    let both = [folder.at("cut.parquet"), folder.at("good.ndjson")];
    let said = run(&["keylab", "analyze", "--data", &both[0], &both[1]]);
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(said.out.contains("2 items"), "{}", said.out);
    // Damage wherever it stands is told, or is in a value.
    let step = whole.len() / 40;
    for at in (4..whole.len()).step_by(step) {
        let mut damaged = whole.clone();
        damaged[at..(at + 16).min(whole.len())].fill(0xff);
        put(&folder, "damaged.parquet", &damaged);
        let said = run(&["keylab", "analyze", "--data", &folder.at("damaged.parquet")]);
        assert!(
            [0, 1, 3].contains(&said.code),
            "{at}: {} {}",
            said.code,
            said.err
        );
        let is_told =
            said.err.contains("reading ended early") || said.err.contains("damaged.parquet");
        assert!(said.code == 0 || is_told, "{at}: {}", said.err);
    }
}
