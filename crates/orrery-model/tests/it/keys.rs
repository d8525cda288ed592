//! Partition key headers, extraction and definitions.

use orrery_model::json;
use orrery_model::partition_key::{
    KeyComponent, PartitionKey, PartitionKeyDefinition, PartitionKeyError, PartitionKeyKind,
};
use orrery_model::value::Value;

fn parse(text: &str) -> Value<'_> {
    json::parse_str(text).expect(text)
}

#[test]
fn headers_round_trip() {
    for text in [
        r#"["abc"]"#,
        r#"["é\"\\"]"#,
        "[12.5]",
        "[true]",
        "[null]",
        "[{}]",
        "[]",
        r#"["a",1,null]"#,
        r#""Infinity""#,
        r#"[{"type":"MinNumber"},{"type":"MaxString"}]"#,
    ] {
        let key = PartitionKey::parse_header(text).expect(text);
        assert_eq!(key.to_json(), text);
    }
    let escaped = PartitionKey::parse_header(r#"["\u00e9"]"#).expect("escaped");
    assert_eq!(escaped, PartitionKey::single("é"));
    for bad in [
        "",
        "abc",
        "{}",
        "1",
        "null",
        "[[1]]",
        r#"[{"type":"x"}]"#,
        r#"[{"a":1}]"#,
        "[1",
        "\"x\"",
    ] {
        assert!(
            matches!(
                PartitionKey::parse_header(bad),
                Err(PartitionKeyError::Header { .. })
            ),
            "{bad}"
        );
    }
    let long = format!("[\"{}\"]", "x".repeat(2049));
    assert_eq!(
        PartitionKey::parse_header(&long),
        Err(PartitionKeyError::TooLong)
    );
    assert_eq!(
        PartitionKey::parse_header(&"[".repeat(1 << 20)),
        Err(PartitionKeyError::TooLong)
    );
}

#[test]
fn zero_has_no_sign_in_keys() {
    let definition = PartitionKeyDefinition::hash("/a").expect("definition");
    let minus = PartitionKey::parse_header("[-0.0]").expect("key");
    assert_eq!(
        definition.effective(&minus).to_hex(),
        "155B95BEDAC4B1E9EC1CDC9BB0DDDE58"
    );
    assert_eq!(KeyComponent::number(-0.0), KeyComponent::number(0.0));
}

#[test]
fn extraction_follows_paths() {
    let paths = ["/a/\"b c\"", "/n", "/o"];
    let definition = PartitionKeyDefinition::new(paths, PartitionKeyKind::MultiHash, 2);
    let definition = definition.expect("definition");
    let item = parse(r#"{"a":{"b c":"x"},"n":null,"o":{"p":1}}"#);
    let key = definition.extract(&item).expect("key");
    // An object is no key value.
    let expected = [
        KeyComponent::from("x"),
        KeyComponent::Null,
        KeyComponent::Undefined,
    ];
    assert_eq!(key.components(), expected);
    assert!(definition.is_full(&key));
    let text = json::to_string(&item);
    let projected = json::project(text.as_bytes(), &definition.path_tree());
    assert_eq!(definition.extract(&projected), Ok(key));
    let absent = definition.extract(&parse("{}")).expect("key");
    assert_eq!(absent.components(), [const { KeyComponent::Undefined }; 3]);
    let long = format!("{{\"n\":\"{}\"}}", "x".repeat(2049));
    assert_eq!(
        definition.extract(&parse(&long)),
        Err(PartitionKeyError::TooLong)
    );
}

#[test]
fn different_keys_have_different_bytes() {
    let keys = [
        r#"["a"]"#,
        "[1]",
        r#"["1"]"#,
        "[null]",
        "[{}]",
        "[true]",
        "[false]",
        "[]",
        r#"["a","b"]"#,
    ];
    for a in keys {
        for b in keys {
            let bytes = |text| PartitionKey::parse_header(text).expect("key").to_bytes();
            assert_eq!(bytes(a) == bytes(b), a == b, "{a} {b}");
        }
    }
}

#[test]
fn definitions_get_defaults_and_checks() {
    let read = |text| PartitionKeyDefinition::from_value(&parse(text));
    let echo = |text| json::to_string(&read(text).expect(text).to_value());
    assert_eq!(
        echo(r#"{"paths":["/a"]}"#),
        r#"{"paths":["/a"],"kind":"Hash","version":2}"#
    );
    let given = r#"{"paths":["/a"],"kind":"Hash","version":1}"#;
    assert_eq!(echo(given), given);
    let given = r#"{"paths":["/a","/b","/c/d"],"kind":"MultiHash","version":2}"#;
    assert_eq!(echo(given), given);
    for bad in [
        "{}",
        "[]",
        r#"{"paths":[]}"#,
        r#"{"paths":["a"]}"#,
        r#"{"paths":["/"]}"#,
        r#"{"paths":["/a/?"]}"#,
        r#"{"paths":["/a/[]"]}"#,
        r#"{"paths":[1]}"#,
        r#"{"paths":["/a","/b"]}"#,
        r#"{"paths":["/a"],"kind":"Other"}"#,
        r#"{"paths":["/a"],"version":3}"#,
        r#"{"paths":["/a","/b"],"kind":"MultiHash","version":1}"#,
        r#"{"paths":["/a","/b","/c","/d"],"kind":"MultiHash"}"#,
        r#"{"paths":["/a","/a"],"kind":"MultiHash"}"#,
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
}
