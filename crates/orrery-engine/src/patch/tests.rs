//! A table of patches: item, operations, result or a part of the message.

use orrery_model::json;

use super::PatchDocument;

fn patched(item: &str, operations: &str) -> Result<String, String> {
    let document = PatchDocument::parse(operations.as_bytes()).map_err(|e| e.to_string())?;
    let mut value = json::parse_str(item).expect("the test's item").into_owned();
    document.apply(&mut value).map_err(|e| e.to_string())?;
    Ok(json::to_string(&value))
}

#[test]
fn effects() {
    let table = [
        (
            r#"{"a":1}"#,
            r#"[{"op":"add","path":"/b","value":[1]}]"#,
            r#"{"a":1,"b":[1]}"#,
        ),
        (
            r#"{"a":1}"#,
            r#"[{"op":"add","path":"/a","value":2}]"#,
            r#"{"a":2}"#,
        ),
        (
            r#"{"a":[1,3]}"#,
            r#"[{"op":"add","path":"/a/1","value":2}]"#,
            r#"{"a":[1,2,3]}"#,
        ),
        (
            r#"{"a":[1]}"#,
            r#"[{"op":"add","path":"/a/1","value":2}]"#,
            r#"{"a":[1,2]}"#,
        ),
        (
            r#"{"a":[1]}"#,
            r#"[{"op":"add","path":"/a/-","value":2}]"#,
            r#"{"a":[1,2]}"#,
        ),
        (
            r#"{"a":[1,2]}"#,
            r#"[{"op":"set","path":"/a/1","value":9}]"#,
            r#"{"a":[1,9]}"#,
        ),
        (
            r#"{"a":{}}"#,
            r#"[{"op":"set","path":"/a/x","value":null}]"#,
            r#"{"a":{"x":null}}"#,
        ),
        (
            r#"{"a":1}"#,
            r#"[{"op":"replace","path":"/a","value":"x"}]"#,
            r#"{"a":"x"}"#,
        ),
        (
            r#"{"a":1,"b":2}"#,
            r#"[{"op":"remove","path":"/a"}]"#,
            r#"{"b":2}"#,
        ),
        (
            r#"{"a":[1,2]}"#,
            r#"[{"op":"remove","path":"/a/0"}]"#,
            r#"{"a":[2]}"#,
        ),
        (
            r#"{"a":1}"#,
            r#"[{"op":"incr","path":"/a","value":-3}]"#,
            r#"{"a":-2}"#,
        ),
        (
            r#"{"a":1}"#,
            r#"[{"op":"incr","path":"/a","value":0.5}]"#,
            r#"{"a":1.5}"#,
        ),
        (
            "{}",
            r#"[{"op":"incr","path":"/a","value":4}]"#,
            r#"{"a":4}"#,
        ),
        (
            r#"{"a":1,"b":{}}"#,
            r#"[{"op":"move","from":"/a","path":"/b/c"}]"#,
            r#"{"b":{"c":1}}"#,
        ),
        (
            r#"{"a/b":1}"#,
            r#"[{"op":"set","path":"/a~1b","value":2}]"#,
            r#"{"a/b":2}"#,
        ),
        (
            r#"{"a":1}"#,
            r#"{"operations":[{"op":"set","path":"/b","value":1},{"op":"incr","path":"/b","value":1}]}"#,
            r#"{"a":1,"b":2}"#,
        ),
    ];
    for (item, operations, expected) in table {
        assert_eq!(
            patched(item, operations).as_deref(),
            Ok(expected),
            "{item} {operations}"
        );
    }
}

#[test]
fn refusals() {
    let table = [
        (
            r#"{"a":1}"#,
            r#"[{"op":"add","path":"/x/y","value":1}]"#,
            "For Operation(1): Add Operation can only create a child object of an existing \
             node(array or object) and cannot create path recursively, no path found beyond: ''",
        ),
        (
            r#"{"a":1}"#,
            r#"[{"op":"replace","path":"/b","value":1}]"#,
            "Replace Operation",
        ),
        (
            r#"{"a":1}"#,
            r#"[{"op":"remove","path":"/b"}]"#,
            "Remove Operation",
        ),
        (
            r#"{"a":"x"}"#,
            r#"[{"op":"incr","path":"/a","value":1}]"#,
            "needs a number at path",
        ),
        (
            r#"{"a":1}"#,
            r#"[{"op":"incr","path":"/a","value":"1"}]"#,
            "needs a number as its value",
        ),
        (
            r#"{"a":[1]}"#,
            r#"[{"op":"add","path":"/a/3","value":1}]"#,
            "out of range",
        ),
        (
            r#"{"a":[1]}"#,
            r#"[{"op":"add","path":"/a/01","value":1}]"#,
            "out of range",
        ),
        (
            r#"{"a":{}}"#,
            r#"[{"op":"move","from":"/a","path":"/a/b"}]"#,
            "its own child",
        ),
        (
            r#"{"a":1}"#,
            r#"[{"op":"move","from":"/b","path":"/c"}]"#,
            "Move Operation",
        ),
        (
            r#"{"a":1}"#,
            r#"[{"op":"test","path":"/a","value":1}]"#,
            "not a patch operation",
        ),
        (
            r#"{"a":1}"#,
            r#"[{"op":"set","path":"a","value":1}]"#,
            "does not start with '/'",
        ),
        (r#"{"a":1}"#, r#"[{"op":"set","path":"/a"}]"#, "no 'value'"),
        (r#"{"a":1}"#, "[]", "at least one operation"),
        (r#"{"a":1}"#, "{}", "no array 'operations'"),
        (r#"{"a":1}"#, "[", "payload is invalid"),
    ];
    for (item, operations, expected) in table {
        let message = patched(item, operations).expect_err(operations);
        assert!(message.contains(expected), "{operations}: {message}");
    }
    let eleven = format!(
        "[{}]",
        [r#"{"op":"set","path":"/a","value":1}"#; 11].join(",")
    );
    let message = patched("{}", &eleven).expect_err("eleven operations");
    assert!(message.contains("can't exceed '10'"), "{message}");
}

#[test]
fn places_that_stay() {
    let keys = [vec!["tenant".to_owned(), "id".to_owned()]];
    let check = |path: &str| {
        let body = format!(r#"[{{"op":"set","path":"{path}","value":1}}]"#);
        PatchDocument::parse(body.as_bytes())
            .and_then(|document| document.check_paths(keys.iter().map(Vec::as_slice)))
            .is_ok()
    };
    for path in [
        "/id",
        "/_ts",
        "/_etag",
        "/tenant",
        "/tenant/id",
        "/tenant/id/x",
    ] {
        assert!(!check(path), "{path}");
    }
    for path in ["/id2", "/tenant/name", "/a/id", "/a/_ts"] {
        assert!(check(path), "{path}");
    }
}
