//! CSV into typed items.

use crate::harness::{Folder, items, run, succeed};

const FLIGHTS: &str = "year,carrier,flight,dep_delay,zip,cancelled\n\
2013,UA,1545,2,07114,false\n\
2013,AA,1141,NA,11371,true\n\
2013,\"B6\",725,-1.5,,false\n";

#[test]
fn columns_are_typed_as_documented() {
    let folder = Folder::new();
    let data = folder.at("data");
    let file = folder.write("flights.csv", FLIGHTS);
    let import = [
        "import",
        &file,
        "--into",
        "air/flights",
        "--partition-key",
        "/carrier",
        "--data",
        &data,
    ];
    succeed(
        &[
            &import[..],
            &["--id", "carrier,flight", "--null", "NA", "--string", "year"],
        ]
        .concat(),
    );
    let found = items(&succeed(&["export", "air/flights", "--data", &data]).out);
    let wanted = [
        r#"{"year":"2013","carrier":"AA","flight":1141,"zip":"11371","cancelled":true,"id":"AA-1141"}"#,
        r#"{"year":"2013","carrier":"B6","flight":725,"dep_delay":-1.5,"cancelled":false,"id":"B6-725"}"#,
        r#"{"year":"2013","carrier":"UA","flight":1545,"dep_delay":2,"zip":"07114","cancelled":false,"id":"UA-1545"}"#,
    ];
    assert_eq!(
        found,
        wanted.map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap())
    );
}

#[test]
fn told_types_and_tabs_and_mistakes() {
    let folder = Folder::new();
    let data = folder.at("data");
    let file = folder.write("a.tsv", "id\ttags\tn\n1\t[\"x\"]\t7\n2\t{}\tseven\n");
    let import = [
        "import",
        &file,
        "--into",
        "db/c",
        "--partition-key",
        "/id",
        "--data",
        &data,
    ];
    let said = run(&[&import[..], &["--csv-types", "tags:json,n:number"]].concat());
    assert_eq!(said.code, 3, "{said:?}");
    assert!(
        said.err
            .contains("a.tsv:3: column `n`: `seven` is no number"),
        "{said:?}"
    );
    let found = items(&succeed(&["export", "db/c", "--data", &data]).out);
    assert_eq!(
        found,
        [serde_json::json!({"id": "1", "tags": ["x"], "n": 7})]
    );
    let said = run(&[&import[..], &["--string", "nothere"]].concat());
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("`nothere`") && said.err.contains("id, tags, n"),
        "{said:?}"
    );
    let said = run(&[&import[..], &["--csv-types", "n:blob"]].concat());
    assert_eq!(said.code, 2);
}

#[test]
fn a_quote_without_end_costs_one_line() {
    let folder = Folder::new();
    let data = folder.at("data");
    let file = folder.write("a.csv", "id,text\n1,\"open\n2,two\n3,three\n");
    let import = [
        "import",
        &file,
        "--into",
        "db/c",
        "--partition-key",
        "/id",
        "--data",
        &data,
    ];
    let said = run(&import);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains(":2: a quote is not closed"), "{said:?}");
    assert!(said.out.contains("imported 2 items"), "{said:?}");
    let file = folder.write("b.csv", "id;text\n1;one\n2;two\n");
    let said = run(&["import", &file, "--into", "db/c", "--data", &data]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("--delimiter ';'"), "{said:?}");
}
