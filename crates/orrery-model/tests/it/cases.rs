//! The shared case files on partition key hashes and the distinct hash.

use std::fmt::Write as _;
use std::path::PathBuf;

use orrery_model::distinct_hash;
use orrery_model::epk::{murmur3_x64_128, murmur3_x86_32};
use orrery_model::json;
use orrery_model::partition_key::{
    KeyComponent, KeyRange, PartitionKey, PartitionKeyDefinition, PartitionKeyKind,
};
use serde_json::Value as Json;

/// The lines of a family with the names of their files; `None`, with a note, where the checkout has no case files.
fn family(name: &str) -> Option<Vec<(String, String)>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/cases")
        .join(name);
    let Ok(files) = std::fs::read_dir(&root) else {
        #[allow(clippy::print_stderr)] // a skipped test says so
        {
            eprintln!("skipped: no case files at {}", root.display());
        }
        return None;
    };
    let mut cases = Vec::new();
    for file in files {
        let path = file.expect("a directory entry").path();
        let stem = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).expect("a readable case file");
        cases.extend(text.lines().map(|line| (stem.clone(), line.to_owned())));
    }
    Some(cases)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02X}").expect("strings take all");
        hex
    })
}

fn component(value: &Json) -> KeyComponent {
    match value {
        Json::Null => KeyComponent::Null,
        Json::Bool(value) => KeyComponent::Bool(*value),
        // Made directly: the vectors tell negative zero from zero, which readers do not.
        Json::Number(number) => KeyComponent::Number(number.as_f64().expect("a double")),
        Json::String(text) => KeyComponent::from(text.as_str()),
        Json::Array(_) => panic!("no key value"),
        Json::Object(_) => match value["$double"].as_str() {
            // .NET, which made the vectors, gives it this sign.
            Some("NaN") => KeyComponent::Number(-f64::NAN.abs()),
            Some("Infinity") => KeyComponent::Number(f64::INFINITY),
            Some("-Infinity") => KeyComponent::Number(f64::NEG_INFINITY),
            _ => KeyComponent::Undefined,
        },
    }
}

fn key(case: &Json) -> PartitionKey {
    case["values"]
        .as_array()
        .expect("values")
        .iter()
        .map(component)
        .collect()
}

/// A definition with as many paths as the case has values, or the case's own paths.
fn definition(case: &Json) -> PartitionKeyDefinition {
    let kind = match case["kind"].as_str() {
        Some("MultiHash") => PartitionKeyKind::MultiHash,
        Some("Range") => PartitionKeyKind::Range,
        _ => PartitionKeyKind::Hash,
    };
    let version = case["version"].as_u64().unwrap_or(2) as u8;
    let paths: Vec<String> = match case["paths"].as_array() {
        Some(paths) => paths
            .iter()
            .map(|path| path.as_str().expect("path").to_owned())
            .collect(),
        None => (0..key(case).len())
            .map(|place| format!("/p{place}"))
            .collect(),
    };
    PartitionKeyDefinition::new(paths, kind, version).expect("a definition")
}

fn check_raw_hash(id: &str, case: &Json, expected: &Json) {
    let key = key(case);
    let texts = |name: &str| -> Vec<String> {
        let texts = expected[name].as_array().into_iter().flatten();
        texts
            .map(|text| text.as_str().expect("hex").to_owned())
            .collect()
    };
    let v2: Vec<_> = key
        .components()
        .iter()
        .map(|one| hex(&one.raw_hash_v2().to_be_bytes()))
        .collect();
    let v1: Vec<_> = key
        .components()
        .iter()
        .map(|one| hex(&one.raw_hash_v1().to_be_bytes()))
        .collect();
    assert_eq!(v2, texts("rawHashV2"), "{id}");
    assert_eq!(v1, texts("rawHashV1"), "{id}");
    for (name, kind, version) in [
        ("HashV1", PartitionKeyKind::Hash, 1),
        ("HashV2", PartitionKeyKind::Hash, 2),
        ("MultiHashV2", PartitionKeyKind::MultiHash, 2),
    ] {
        let Some(epk) = expected["derivedEpk"][name].as_str() else {
            continue;
        };
        let definition = PartitionKeyDefinition::new(["/a"], kind, version).expect("a definition");
        assert_eq!(definition.effective(&key).to_hex(), epk, "{id} {name}");
    }
}

fn check_murmur(id: &str, case: &Json, expected: &Json) {
    let text = case["bytesHex"].as_str().expect("hex");
    let bytes: Vec<u8> = (0..text.len() / 2)
        .map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex"))
        .collect();
    let seed = case["seed"].as_u64().expect("seed") as u32;
    if let Some(hash) = expected["murmur3_32"].as_u64() {
        assert_eq!(u64::from(murmur3_x86_32(&bytes, seed)), hash, "{id}");
    } else {
        let (low, high) = murmur3_x64_128(&bytes, (u64::from(seed), u64::from(seed)));
        let half = |name: &str| {
            expected["murmur3_x64_128"][name]
                .as_str()
                .expect("half")
                .to_owned()
        };
        assert_eq!(
            (low.to_string(), high.to_string()),
            (half("low"), half("high")),
            "{id}"
        );
    }
}

fn check_prefix_range(id: &str, case: &Json, expected: &Json) {
    let (min, max) = match definition(case).key_range(&key(case)) {
        KeyRange::Point(epk) => (epk.to_hex(), epk.to_hex()),
        KeyRange::Prefix(range) => (range.min.to_hex(), range.max.to_hex()),
    };
    let bound = |name: &str| expected[name].as_str().expect("bound").to_owned();
    assert_eq!(
        (min.clone(), max.clone()),
        (bound("min"), bound("max")),
        "{id}"
    );
    assert_eq!(
        Some(min == max),
        expected["isMaxInclusive"].as_bool(),
        "{id}"
    );
}

#[test]
fn partition_key_hashes() {
    let Some(cases) = family("partition-key-hash") else {
        return;
    };
    let count = cases.len();
    for (file, line) in &cases {
        let case: &Json = &serde_json::from_str(line).expect("JSON");
        let id = case["id"].as_str().expect("id");
        let expected = &case["expected"];
        match file.as_str() {
            "raw-hash" => check_raw_hash(id, case, expected),
            "murmur" => check_murmur(id, case, expected),
            "prefix-range" => check_prefix_range(id, case, expected),
            _ => {
                let epk = expected["epk"].as_str().expect("epk");
                assert_eq!(definition(case).effective(&key(case)).to_hex(), epk, "{id}");
            }
        }
    }
    assert!(count >= 96, "only {count} cases");
}

#[test]
fn distinct_hashes() {
    let Some(cases) = family("distinct-hash") else {
        return;
    };
    for (file, line) in &cases {
        let case = &json::parse_str(line).expect("JSON");
        let id = case.member("id").as_str().expect("id");
        let expected = case.member("expected");
        if file == "order" {
            let mut values = case.member("values").as_array().expect("values").to_vec();
            values.sort_by_key(distinct_hash::order_key);
            let ascending = expected.member("ascending").as_array().expect("ascending");
            let same = values.iter().zip(ascending).all(|(a, b)| a.equals(b));
            assert!(same && values.len() == ascending.len(), "{id}: {values:?}");
        } else {
            let value = case.member("value");
            let hash = hex(&distinct_hash::hash(value).to_be_bytes());
            assert_eq!(
                Some(hash.as_str()),
                expected.member("hash").as_str(),
                "{id}"
            );
            let order_key = hex(&distinct_hash::order_key(value));
            assert_eq!(
                Some(order_key.as_str()),
                expected.member("orderKey").as_str(),
                "{id}"
            );
        }
    }
    assert!(cases.len() >= 30);
}
