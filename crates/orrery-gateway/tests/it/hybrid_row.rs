//! Binary batches: vectors written byte by byte, and round trips.

use orrery_gateway::hybrid_row::{
    HybridRowError, OperationRow, RecordReader, RecordWriter, ResultRow,
};

/// The stream of a batch with one create, spelled out from the layout.
fn create_vector() -> Vec<u8> {
    let body = br#"{"id":"a","pk":"x"}"#;
    let mut record = vec![0x81, 0x70, 0x54, 0xE1, 0x7F];
    record.push(0b0100_0011); // operationType, resourceType, resourceBody
    record.extend([0, 0, 0, 0]); // Create
    record.extend([2, 0, 0, 0]); // item
    record.push(body.len() as u8);
    record.extend_from_slice(body);
    record.extend([20, 10, 1, b'*']); // ifNoneMatch "*"
    record.extend([3, 12]); // minimalReturnPreference true

    let mut stream = vec![0x81, 0xF0, 0xD8, 0xFF, 0x7F, 0x01, 10, 0, 0, 0];
    stream.extend([0x81, 0xF1, 0xD8, 0xFF, 0x7F]);
    stream.extend((record.len() as i32).to_le_bytes());
    stream.extend(bitwise_crc(&record).to_le_bytes());
    stream.extend(record);
    stream
}

/// CRC-32 one bit at a time, unlike the table that is tested.
fn bitwise_crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xEDB8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}

fn records(stream: &[u8]) -> Result<Vec<Vec<u8>>, HybridRowError> {
    RecordReader::new(stream)?
        .map(|record| record.map(<[u8]>::to_vec))
        .collect()
}

#[test]
fn a_stream_of_the_sdk_is_understood() {
    let records = records(&create_vector()).expect("a stream");
    let operation = OperationRow::decode(&records[0]).expect("an operation");
    assert_eq!(
        operation,
        OperationRow {
            operation_type: 0,
            resource_type: 2,
            resource_body: Some(br#"{"id":"a","pk":"x"}"#),
            if_none_match: Some("*"),
            minimal_return: true,
            ..OperationRow::default()
        }
    );
}

#[test]
fn operations_round_trip() {
    let long = "k".repeat(70_000);
    let all = [
        OperationRow {
            operation_type: 2,
            resource_type: 2,
            id: Some("é"),
            ..OperationRow::default()
        },
        OperationRow {
            operation_type: 20,
            resource_type: 2,
            partition_key: Some(r#"["a"]"#),
            id: Some(&long),
            resource_body: Some(b"{}"),
            indexing_directive: Some("Exclude"),
            if_match: Some("\"tag\""),
            if_none_match: None,
            minimal_return: false,
        },
    ];
    let mut writer = RecordWriter::new();
    for operation in &all {
        writer.push(&operation.encode());
    }
    let records = records(&writer.finish()).expect("a stream");
    let read: Vec<_> = records
        .iter()
        .map(|record| OperationRow::decode(record).expect("a row"))
        .collect();
    assert_eq!(read, all);
}

#[test]
fn a_result_has_the_layout_that_sdks_read() {
    let result = ResultRow {
        status: 429,
        sub_status: 3200,
        etag: Some("\"e\""),
        resource_body: Some(b"{}"),
        retry_after_ms: Some(7),
        request_charge: 1.5,
    };
    let mut expected = vec![0x81, 0x71, 0x54, 0xE1, 0x7F, 0b1111];
    expected.extend(429i32.to_le_bytes());
    expected.extend(3200i32.to_le_bytes());
    expected.extend([3, b'"', b'e', b'"', 2, b'{', b'}']);
    expected.extend([11, 5, 7, 0, 0, 0]);
    expected.extend([16, 6]);
    expected.extend(1.5f64.to_le_bytes());
    assert_eq!(result.encode(), expected);
    assert_eq!(ResultRow::decode(&expected).expect("a row"), result);
}

#[test]
fn every_cut_and_every_flipped_byte_is_an_error_or_another_batch() {
    let stream = create_vector();
    for length in 0..stream.len() {
        let cut = records(&stream[..length]);
        // After the segment row the stream may end: that is an empty batch.
        assert!(cut.is_err() || length == 10, "cut at {length}");
    }
    for at in 0..stream.len() {
        let mut flipped = stream.clone();
        flipped[at] ^= 0xFF;
        if let Ok(records) = records(&flipped) {
            for record in records {
                let _ = OperationRow::decode(&record);
            }
            assert!(at < 10, "a flip at {at} must break the checksum");
        }
    }
    // Rows that the checksum lets through are bounded as well.
    let record = &stream[23..];
    for length in 0..record.len() {
        let _ = OperationRow::decode(&record[..length]);
    }
    let mut huge = record.to_vec();
    huge[14] = 0xFF;
    assert_eq!(
        OperationRow::decode(&huge).err(),
        Some(HybridRowError::Truncated)
    );
}
