//! Indexing policies: precedence, terms, and agreement of writer and reader.

use orrery_model::container::ContainerSpec;
use orrery_model::index::{Coverage, IndexTree, PathHash, STRING_LIMIT, Terms};
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::ordered;
use orrery_model::path::{ItemPath, Step};
use orrery_model::value::Value;

use crate::random::Random;

fn tree(policy: &str) -> IndexTree {
    let body =
        format!(r#"{{"id":"c","partitionKey":{{"paths":["/pk"]}},"indexingPolicy":{policy}}}"#);
    let body = json::parse_str(&body).expect("JSON");
    let spec = ContainerSpec::parse(&body, &Limits::default()).expect(policy);
    IndexTree::new(&spec.indexing_policy)
}

fn steps(path: &str) -> Vec<Step> {
    ItemPath::parse(path).expect(path).steps().to_vec()
}

fn terms_of(tree: &IndexTree, item: &str) -> Terms {
    let mut terms = Terms::new();
    tree.terms(&json::parse_str(item).expect("JSON"), &mut terms);
    terms
}

/// The entry that a reader looks up.
fn entry(path: &str, value: &Value<'_>) -> Vec<u8> {
    let mut entry = PathHash::of(&steps(path)).to_bytes().to_vec();
    ordered::encode(value, STRING_LIMIT, &mut entry);
    entry
}

fn has(terms: &Terms, path: &str, value: impl Into<Value<'static>>) -> bool {
    let wanted = entry(path, &value.into());
    terms.iter().any(|entry| entry == wanted)
}

#[test]
fn the_more_precise_path_wins() {
    let tree = tree(
        r#"{"includedPaths":[{"path":"/food/ingredients/nutrition/*"},{"path":"/a/?"},{"path":"/*"}],
            "excludedPaths":[{"path":"/food/ingredients/*"},{"path":"/a/*"},{"path":"/t/[]/?"}]}"#,
    );
    for (path, included) in [
        ("/x", true),
        ("/food/x", true),
        ("/food/ingredients", false),
        ("/food/ingredients/x", false),
        ("/food/ingredients/nutrition", true),
        ("/food/ingredients/nutrition/x/y", true),
        ("/a", true),
        ("/a/b", false),
        ("/t/[]", false),
        ("/t/[]/x", true),
        ("/_etag", false),
        ("/_rid", false),
        ("/_ts", true),
        ("/id", true),
    ] {
        assert_eq!(tree.includes(&steps(path)), included, "{path}");
    }
    assert_eq!(
        tree.coverage(&steps("/a")),
        Coverage {
            scalars: true,
            nodes: false
        }
    );
}

#[test]
fn terms_are_distinct_pairs() {
    let tree = tree("{}");
    let terms = terms_of(
        &tree,
        r#"{"id":"1","pk":"x","tags":["a","b","a"],"lines":[{"n":1},{"n":1},{"n":2}],"none":null,
            "empty":[],"_ts":5,"_etag":"e","_rid":"r","_self":"s","_attachments":"attachments/"}"#,
    );
    // id, pk, two tags, two numbers, null, _ts.
    assert_eq!(terms.charged(), 8);
    assert!(has(&terms, "/tags/[]", "a") && has(&terms, "/lines/[]/n", 2));
    assert!(has(&terms, "/none", Value::Null) && has(&terms, "/_ts", 5));
    assert!(!has(&terms, "/_etag", "e"));
    // Besides: the arrays tags, lines, empty, and the objects in lines.
    assert_eq!(terms.len(), 12);
    let entries: Vec<_> = terms.iter().collect();
    assert!(entries.is_sorted());
}

#[test]
fn id_and_ts_are_indexed_even_where_the_root_is_excluded() {
    let tree = tree(
        r#"{"includedPaths":[{"path":"/a/?"},{"path":"/b/?"}],"excludedPaths":[{"path":"/*"}]}"#,
    );
    let terms = terms_of(&tree, r#"{"id":"1","pk":"x","a":1,"b":2,"c":3,"_ts":9}"#);
    assert_eq!(terms.charged(), 4);
    assert!(!tree.includes(&steps("/pk")));
}

#[test]
fn no_index_no_terms() {
    let tree = tree(r#"{"indexingMode":"none","automatic":false}"#);
    assert!(terms_of(&tree, r#"{"id":"1","a":1}"#).is_empty());
    assert!(!tree.includes(&steps("/id")));
}

#[test]
fn composite_entries_hold_values_in_their_order() {
    let tree = tree(
        r#"{"compositeIndexes":[[{"path":"/a","order":"ascending"},{"path":"/b","order":"descending"}]]}"#,
    );
    let [composite] = tree.composites() else {
        panic!("one composite")
    };
    let key = |item: &str| {
        let mut bytes = Vec::new();
        composite.encode(&json::parse_str(item).expect("JSON"), &mut bytes);
        bytes
    };
    let order = [
        r#"{"b":1}"#,
        r#"{"a":1,"b":9}"#,
        r#"{"a":1,"b":2}"#,
        r#"{"a":1}"#,
        r#"{"a":"x","b":9}"#,
    ];
    assert!(order.map(key).is_sorted());
    let terms = terms_of(&tree, r#"{"id":"1","a":1,"b":2}"#);
    assert_eq!(terms.charged(), 4);
    let mut wanted = composite.hash.to_bytes().to_vec();
    wanted.extend(key(r#"{"a":1,"b":2}"#));
    assert!(terms.iter().any(|entry| entry == wanted));
}

/// Every (path, value) of an item, array positions collapsed.
fn walk(value: &Value<'_>, path: &mut Vec<Step>, out: &mut Vec<(Vec<Step>, Value<'static>)>) {
    if !path.is_empty() {
        out.push((path.clone(), value.clone().into_owned()));
    }
    match value {
        Value::Object(object) => {
            for (name, value) in object.iter() {
                path.push(Step::Property(name.to_owned()));
                walk(value, path, out);
                path.pop();
            }
        }
        Value::Array(elements) => {
            path.push(Step::Element);
            for element in elements {
                walk(element, path, out);
            }
            path.pop();
        }
        _ => {}
    }
}

#[test]
fn coverage_says_what_terms_hold() {
    let tree = tree(
        r#"{"includedPaths":[{"path":"/*"},{"path":"/a/b/*"}],"excludedPaths":[{"path":"/a/*"},{"path":"/\"é\"/?"}]}"#,
    );
    let mut random = Random::new(21);
    for _ in 0..500 {
        let item = random.object(3);
        let mut terms = Terms::new();
        tree.terms(&item, &mut terms);
        let mut pairs = Vec::new();
        walk(&item, &mut Vec::new(), &mut pairs);
        let mut expected = std::collections::BTreeSet::new();
        for (path, value) in &pairs {
            let mut wanted = PathHash::of(path).to_bytes().to_vec();
            let coverage = tree.coverage(path);
            match value {
                Value::Array(_) => wanted.push(ordered::Tag::Array as u8),
                Value::Object(_) => wanted.push(ordered::Tag::Object as u8),
                scalar => ordered::encode(scalar, STRING_LIMIT, &mut wanted),
            }
            let is_node = matches!(value, Value::Array(_) | Value::Object(_));
            if if is_node {
                coverage.nodes
            } else {
                coverage.scalars
            } {
                expected.insert(wanted);
            }
        }
        let held: Vec<_> = terms.iter().map(<[u8]>::to_vec).collect();
        assert_eq!(held, expected.into_iter().collect::<Vec<_>>(), "{item:?}");
    }
}

#[test]
fn differences_are_what_a_write_changes() {
    let tree = tree("{}");
    let old = terms_of(&tree, r#"{"id":"1","a":1,"b":[1,2],"gone":true}"#);
    let new = terms_of(&tree, r#"{"id":"1","a":2,"b":[2],"o":{}}"#);
    let difference = old.difference(&new);
    let mut removed = [
        entry("/a", &1.into()),
        entry("/b/[]", &1.into()),
        entry("/gone", &true.into()),
    ];
    removed.sort();
    assert_eq!(
        difference.removed,
        removed.iter().map(Vec::as_slice).collect::<Vec<_>>()
    );
    assert_eq!(difference.added.len(), 2);
    // The empty object is an entry of our own, not a term.
    assert_eq!(difference.charged, 4);
    let nothing = old.difference(&old);
    assert!(nothing.removed.is_empty() && nothing.added.is_empty() && nothing.charged == 0);
}
