//! Damaged data and recordings: what is whole counts, the rest is told, and the exit code is 3.

use std::io::{Read as _, Write as _};

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::Value as Json;

use crate::harness::{Folder, Said, run, succeed};

/// Items that do not pack well, so that half of a packed file holds about half of them.
fn items(count: u64) -> String {
    let mut text = String::new();
    let mut state = 1_u64;
    for number in 0..count {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let item = format!("{{\"id\":\"{number}\",\"customer\":\"{state:016x}\"}}\n");
        text.push_str(&item);
    }
    text
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

/// The items that a report counts.
fn analyzed(path: &str, code: i32) -> (u64, Said) {
    let said = run(&["keylab", "analyze", "--data", path, "--json"]);
    assert_eq!(said.code, code, "{said:?}");
    let report: Json = serde_json::from_str(&said.out).unwrap();
    (report["numDocsTotal"].as_u64().unwrap(), said)
}

fn written(folder: &Folder, name: &str, content: &[u8]) -> String {
    std::fs::write(folder.path().join(name), content).unwrap();
    folder.at(name)
}

/// Commas in thousands, as counts are told.
fn told(count: u64, said: &Said) {
    let digits: String = said.err.chars().filter(|letter| *letter != ',').collect();
    let words = format!("ended early after {count} items");
    assert!(digits.contains(&words), "{words}: {}", said.err);
}

#[test]
fn every_whole_line_before_the_damage_counts() {
    let folder = Folder::new();
    let text = items(40_000);
    let packed = gzip(text.as_bytes());
    let cut = &packed[..packed.len() / 2];
    let mut whole = Vec::new();
    // The end is an error: what came before it is what the file holds.
    let _ = flate2::read::GzDecoder::new(cut).read_to_end(&mut whole);
    let lines = String::from_utf8_lossy(&whole).matches('\n').count() as u64;
    assert!(lines > 10_000);
    let (count, said) = analyzed(&written(&folder, "cut.ndjson.gz", cut), 3);
    assert_eq!(count, lines);
    told(count, &said);
    assert!(said.err.contains("cut short"), "{}", said.err);
    let mut csv = String::from("id,customer\n");
    for number in 0..40_000 {
        let row = format!("{number},{:x}\n", number * 7_919);
        csv.push_str(&row);
    }
    let packed = gzip(csv.as_bytes());
    let (count, said) = analyzed(
        &written(&folder, "cut.csv.gz", &packed[..packed.len() / 2]),
        3,
    );
    assert!(count > 10_000, "{count}");
    told(count, &said);
    let packed = zstd(text.as_bytes());
    let (count, said) = analyzed(
        &written(&folder, "cut.ndjson.zst", &packed[..packed.len() / 2]),
        3,
    );
    assert!((10_000..40_000).contains(&count), "{count}");
    told(count, &said);
    assert!(said.err.contains("cut short"), "{}", said.err);
}

#[test]
fn what_follows_a_packed_text_is_more_of_it_or_told() {
    let folder = Folder::new();
    let (first, second) = (items(5_000), items(100));
    for pack in [gzip, zstd] {
        let mut packed = pack(first.as_bytes());
        packed.extend(pack(second.as_bytes()));
        assert_eq!(
            analyzed(&written(&folder, "two.ndjson", &packed), 0).0,
            5_100
        );
        let mut packed = pack(first.as_bytes());
        packed.extend_from_slice(b"neither packed nor text");
        let (count, said) = analyzed(&written(&folder, "more.ndjson", &packed), 3);
        assert_eq!(count, 5_000);
        told(count, &said);
    }
}

#[test]
fn other_encodings_and_wrapped_documents_are_named() {
    let folder = Folder::new();
    let bytes = |text: &str, of: fn(u16) -> [u8; 2]| -> Vec<u8> {
        text.encode_utf16().flat_map(of).collect()
    };
    let texts = [
        (
            "little.csv",
            bytes("\u{feff}id,customer\n1,a\n", u16::to_le_bytes),
        ),
        ("big.ndjson", bytes("{\"id\":\"1\"}\n", u16::to_be_bytes)),
        (
            "packed.json.gz",
            gzip(&bytes("[{\"id\":\"1\"}]", u16::to_le_bytes)),
        ),
    ];
    for (name, text) in texts {
        let said = run(&[
            "keylab",
            "analyze",
            "--data",
            &written(&folder, name, &text),
        ]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(
            said.err.contains(name) && said.err.contains("UTF-16"),
            "{}",
            said.err
        );
    }
    let document = "{\n \"count\": 1,\n \"orders\": [\n  {\n   \"id\": \"1\"\n  }\n ]\n}\n";
    let said = run(&[
        "keylab",
        "analyze",
        "--data",
        &folder.write("one.json", document),
    ]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("'.orders[]'"), "{}", said.err);
    let (count, said) = analyzed(&folder.write("behind.json", "[{\"id\":\"1\"}]\nmore"), 3);
    assert_eq!(count, 1);
    assert!(
        said.err
            .contains("behind.json:2: there is text behind the closing ]"),
        "{}",
        said.err
    );
}

#[test]
fn a_bad_file_leaves_the_others_of_its_folder() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let good = items(500);
    folder.write("data/good.ndjson", &good);
    let bad: [(&str, &[u8]); 5] = [
        ("utf16.csv", b"\xFF\xFEi\0d\0"),
        ("twice.csv", b"id,a,a\n1,2,3\n"),
        ("short.parquet", b"PAR1...."),
        ("torn.ndjson.gz", b"\x1f\x8b\x08\x00"),
        ("torn.ndjson.zst", b"\x28\xb5\x2f\xfd\x00"),
    ];
    for (name, content) in bad {
        written(&folder, &format!("data/{name}"), content);
    }
    let (count, said) = analyzed(&folder.at("data"), 3);
    assert_eq!(count, 500);
    for (name, _) in bad {
        assert!(said.err.contains(name), "{name}: {}", said.err);
    }
    let report: Json = serde_json::from_str(&said.out).unwrap();
    let notes = report["notes"].to_string();
    assert!(notes.contains("twice.csv: not read"), "{notes}");
}

#[test]
fn lines_of_recordings_that_are_no_requests_are_counted() {
    const HEAD: &str = "{\"orreryTrace\":1}\n{\"container\":\"dbs/d/colls/c\",\"partitionKey\":{\"paths\":[\"/customer\"]}}\n";
    let folder = Folder::new();
    let mut trace = HEAD.to_owned();
    for number in 0..60 {
        let line = format!(
            "{{\"t\":{},\"op\":\"Create\",\"in\":\"dbs/d/colls/c\",\"status\":201,\"ru\":6,\"key\":[\"c{number}\"]}}\n",
            1_764_512_478_000_000_u64 + number * 1_000_000
        );
        trace.push_str(&line);
        trace.push_str(match number {
            0 => "{\"t\":1,\"op\":\"Create\",\"in\":\"dbs/d/colls/c\",\"status\":201,\"ru\":\"much\"}\n",
            1 => "{\"t\":1,\"op\":\"Create\",\"in\":\"dbs/d/colls/c\",\"status\":201,\"ru\":-6}\n",
            2 => "{\"t\":1,\"op\":\"Query\",\"in\":\"dbs/d/colls/c\",\"status\":200,\"ru\":3,\"sql\":\"SELECT FROM\"}\n",
            _ => "no line\n",
        });
    }
    let trace = folder.write("trace.ndjson", &trace);
    let said = run(&["keylab", "analyze", "--trace", &trace]);
    assert_eq!(said.code, 3, "{said:?}");
    for words in [
        "60 lines of the recording could not be read",
        "trace.ndjson:4: ",
        "trace.ndjson:6: -6 is no request charge",
        "trace.ndjson:8: 'SELECT FROM'",
        "and 55 more",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let data = folder.write("items.ndjson", &items(100));
    let log = folder.write(
        "log.ndjson",
        "{\"query\":\"SELECT * FROM c WHERE c.customer = 'a'\",\"count\":9}\n{\"query\":\"SELECT FROM WHERE\"}\n",
    );
    let base = ["keylab", "analyze", "--data", &data, "--seconds", "10"];
    let said = run(&[&base[..], &["--query-log", &log]].concat());
    assert_eq!(said.code, 3, "{said:?}");
    assert!(
        said.out.contains("log.ndjson:2: 'SELECT FROM WHERE'"),
        "{}",
        said.out
    );
    let rows = folder.write(
        "requests.csv",
        "Type;OperationName;StatusCode;RequestCharge\nCDBDataPlaneRequests;Create;201;7\nCDBDataPlaneRequests;Create;201;much\n",
    );
    let said = run(&[&base[..], &["--delimiter", ";", "--diagnostics", &rows]].concat());
    assert_eq!(said.code, 3, "{said:?}");
    assert!(
        said.out.contains("requests.csv:3: requestCharge"),
        "{}",
        said.out
    );
}

#[test]
fn separators_can_be_said_and_a_template_needs_requests() {
    let folder = Folder::new();
    let data = folder.write("table.csv", "id;customer\n1;a\n2;b\n");
    let said = run(&["keylab", "analyze", "--data", &data]);
    assert!(
        said.code == 1 && said.err.contains("--delimiter ';'"),
        "{said:?}"
    );
    let said = succeed(&["keylab", "analyze", "--data", &data, "--delimiter", ";"]);
    assert!(said.out.contains("2 items"), "{}", said.out);
    let said = run(&[
        "keylab",
        "analyze",
        "--data",
        &data,
        "--delimiter",
        ";",
        "--emit",
        "bicep",
    ]);
    assert!(
        said.code == 1 && said.err.contains("--workload"),
        "{said:?}"
    );
}
