//! What a program tells the engine: needed members, index filters, sort keys.

use crate::run::compile;
use orrery_model::json::PathTree;
use orrery_model::value::Value;
use orrery_sql::filter::{IndexFilter, IndexStep, IndexTest, TextScan};
use std::ops::Bound;

fn path(steps: &str) -> Vec<IndexStep> {
    let step = |step: &str| {
        if step == "[]" {
            IndexStep::AnyElement
        } else {
            IndexStep::Member(step.to_owned())
        }
    };
    steps.split('.').map(step).collect()
}

fn filter(condition: &str) -> IndexFilter {
    compile(&format!("SELECT * FROM c WHERE {condition}"))
        .filter()
        .clone()
}

fn equal(steps: &str, value: impl Into<Value<'static>>) -> IndexFilter {
    IndexFilter::Path(path(steps), IndexTest::Equal(value.into()))
}

#[test]
fn equality_and_in() {
    assert_eq!(filter("c.a.b = 5"), equal("a.b", 5));
    assert_eq!(filter("5 = c.a[2].b"), equal("a.[].b", 5));
    assert_eq!(
        filter("c.a = 1 OR c.a = 3 OR c.a IN (2, 3)"),
        IndexFilter::Path(
            path("a"),
            IndexTest::In(vec![Value::from(1), Value::from(2), Value::from(3)])
        )
    );
    assert_eq!(
        filter("c.a = 1 AND c.b = 'x'"),
        IndexFilter::And(vec![equal("a", 1), equal("b", "x")])
    );
    assert_eq!(filter("c.a = 1 OR LOWER(c.b) = 'x'"), IndexFilter::All);
    assert_eq!(filter("c.a = 1 AND LOWER(c.b) = 'x'"), equal("a", 1));
    assert_eq!(filter("c.a = undefined OR false"), IndexFilter::Nothing);
    assert_eq!(filter("c.a"), equal("a", true));
    assert_eq!(
        filter("c.a != 5"),
        IndexFilter::Path(path("a"), IndexTest::Defined)
    );
    assert_eq!(filter("c.a = 1 + 2"), equal("a", 3));
}

#[test]
fn ranges_meet() {
    let range = |low, high| IndexFilter::Path(path("a"), IndexTest::Range(low, high));
    let (one, nine) = (Value::from(1), Value::from(9));
    let expected = range(Bound::Excluded(one.clone()), Bound::Included(nine.clone()));
    assert_eq!(filter("c.a > 1 AND c.a <= 9"), expected);
    assert_eq!(
        filter("c.a BETWEEN 1 AND 9"),
        range(Bound::Included(one), Bound::Included(nine))
    );
    // Two elements may satisfy one bound each.
    assert!(
        matches!(filter("c.a[0] > 1 AND c.a[1] < 9"), IndexFilter::And(branches) if branches.len() == 2)
    );
    assert_eq!(filter("c.a < null"), IndexFilter::Nothing);
}

#[test]
fn strings_and_arrays() {
    let at = |test| IndexFilter::Path(path("a"), test);
    assert_eq!(
        filter("STARTSWITH(c.a, 'x')"),
        at(IndexTest::StartsWith("x".into()))
    );
    assert_eq!(
        filter("c.a LIKE 'x%'"),
        at(IndexTest::StartsWith("x".into()))
    );
    assert_eq!(filter("c.a LIKE 'x'"), equal("a", "x"));
    let contains = IndexTest::Scan(TextScan::Contains {
        text: "x".into(),
        ignore_case: false,
    });
    assert_eq!(filter("CONTAINS(c.a, 'x')"), at(contains.clone()));
    assert_eq!(filter("c.a LIKE '%x%'"), at(contains));
    assert_eq!(filter("ARRAY_CONTAINS(c.a, 'x')"), equal("a.[]", "x"));
    assert_eq!(
        filter("ARRAY_CONTAINS(['x', 'y'], c.a)"),
        at(IndexTest::In(vec![Value::from("x"), Value::from("y")]))
    );
    assert_eq!(
        filter("EXISTS(SELECT VALUE t FROM t IN c.a WHERE t.n = 1)"),
        equal("a.[].n", 1)
    );
    let joined = compile("SELECT VALUE c.id FROM c JOIN t IN c.a WHERE t.n = 1 AND c.b = 2");
    assert_eq!(
        *joined.filter(),
        IndexFilter::And(vec![equal("b", 2), equal("a.[].n", 1)])
    );
}

#[test]
fn members_that_are_read() {
    let needed = |query: &str| compile(query).needed().clone();
    let members = |names: &[&str]| {
        PathTree::Members(
            names
                .iter()
                .map(|name| ((*name).to_owned(), PathTree::All))
                .collect(),
        )
    };
    assert_eq!(needed("SELECT * FROM c"), PathTree::All);
    assert_eq!(
        needed("SELECT c.a FROM c WHERE c.b = 1 ORDER BY c.k"),
        members(&["b", "a", "k"])
    );
    assert_eq!(
        needed("SELECT VALUE t.n FROM c JOIN t IN c.a"),
        PathTree::Members(vec![("a".to_owned(), members(&["n"]))])
    );
    assert_eq!(needed("SELECT VALUE COUNT(1) FROM c"), members(&[]));
}

#[test]
fn sort_keys() {
    let keys = |query: &str| compile(query).order_keys().map(<[_]>::to_vec);
    assert_eq!(
        keys("SELECT * FROM c ORDER BY c.a.b DESC, c.k"),
        Some(vec![(path("a.b"), true), (path("k"), false)])
    );
    assert_eq!(keys("SELECT * FROM c"), None);
}
