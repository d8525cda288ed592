use super::*;
use crate::environment::Parameters;
use crate::parser::parse;
use orrery_model::partition_key::KeyComponent;

fn definition(paths: &[&str], kind: PartitionKeyKind) -> PartitionKeyDefinition {
    PartitionKeyDefinition::new(paths.iter().copied(), kind, 2).expect("a definition")
}

fn filter(text: &str, definition: &PartitionKeyDefinition) -> KeyFilter {
    let query = parse(text).expect(text);
    let parameters = Parameters::new(vec![("@p".to_owned(), "x".into())]);
    key_filter(&query, &|expr| literal(expr, &parameters), definition)
}

fn single(value: impl Into<KeyComponent>) -> KeyFilter {
    KeyFilter::Keys(vec![PartitionKey::single(value)])
}

#[test]
fn equality_in_any_form() {
    let pk = definition(&["/pk"], PartitionKeyKind::Hash);
    for text in [
        "SELECT * FROM c WHERE c.pk = 'x'",
        "SELECT * FROM c WHERE 'x' = c[\"pk\"]",
        "SELECT * FROM c WHERE c.pk = @p",
        "SELECT * FROM c WHERE c.pk IN ('x')",
        "SELECT * FROM c WHERE c.pk = 'x' AND c.a > 3",
        "SELECT * FROM c WHERE (c.pk = 'x' OR c.pk = 'y') AND (c.pk = 'x' OR c.pk = 'z')",
        "SELECT * FROM c WHERE ARRAY_CONTAINS(['x'], c.pk)",
        "SELECT * FROM c.pk p WHERE p = 'x'",
    ] {
        assert_eq!(filter(text, &pk), single("x"), "{text}");
    }
    assert_eq!(
        filter("SELECT * FROM c WHERE c.pk = -1.5", &pk),
        single(-1.5)
    );
    assert_eq!(filter("SELECT * FROM c WHERE c.pk", &pk), single(true));
}

#[test]
fn nothing_is_told_by_ranges_negation_and_other_aliases() {
    let pk = definition(&["/pk"], PartitionKeyKind::Hash);
    for text in [
        "SELECT * FROM c",
        "SELECT * FROM c WHERE c.pk > 'x'",
        "SELECT * FROM c WHERE NOT (c.pk = 'x')",
        "SELECT * FROM c WHERE c.pk = 'x' OR c.a = 1",
        "SELECT * FROM c JOIN t IN c.tags WHERE t.pk = 'x'",
        "SELECT * FROM c WHERE c.pk = @unknown",
    ] {
        assert_eq!(filter(text, &pk), KeyFilter::Unconstrained, "{text}");
    }
    let nested = definition(&["/a/b"], PartitionKeyKind::Hash);
    assert_eq!(
        filter("SELECT * FROM c.a x WHERE x.b = 1", &nested),
        single(1.0)
    );
}

#[test]
fn contradictions() {
    let pk = definition(&["/pk"], PartitionKeyKind::Hash);
    for text in [
        "SELECT * FROM c WHERE false",
        "SELECT * FROM c WHERE c.pk = 1 AND c.pk = 2",
        "SELECT * FROM c WHERE c.pk IN (1, 2) AND c.pk IN (3)",
    ] {
        assert_eq!(filter(text, &pk), KeyFilter::Contradictory, "{text}");
    }
}

#[test]
fn prefixes_of_hierarchical_keys() {
    let levels = definition(&["/a", "/b", "/c"], PartitionKeyKind::MultiHash);
    let keys = |text| match filter(text, &levels) {
        KeyFilter::Keys(keys) => keys.iter().map(PartitionKey::len).collect(),
        _ => Vec::new(),
    };
    assert_eq!(keys("SELECT * FROM c WHERE c.a = 1 AND c.c = 3"), [1]);
    assert_eq!(
        keys("SELECT * FROM c WHERE c.a = 1 AND c.b = 2 AND c.c = 3"),
        [3]
    );
    assert_eq!(keys("SELECT * FROM c WHERE c.b = 1"), [0; 0]);
    // The full key lies below the prefix.
    assert_eq!(
        keys("SELECT * FROM c WHERE c.a = 1 AND c.b = 2 OR c.a = 1"),
        [1]
    );
}

#[test]
fn ranges_are_sorted_and_disjoint() {
    let pk = definition(&["/pk"], PartitionKeyKind::Hash);
    let list: Vec<String> = (0..200).map(|value| (value % 150).to_string()).collect();
    let text = format!("SELECT * FROM c WHERE c.pk IN ({})", list.join(","));
    let query = parse(&text).expect("a list");
    let spans = key_spans(
        &query,
        &|expr| literal(expr, &Parameters::default()),
        Some(&pk),
    );
    let ranges = epk_ranges(&spans, Some(&pk));
    assert_eq!(ranges.len(), 150);
    assert!(
        ranges
            .windows(2)
            .all(|pair| pair[0].range.min < pair[1].range.min)
    );
    assert!(
        ranges
            .iter()
            .all(|one| one.range.min == one.range.max && one.max_inclusive)
    );
}

#[test]
fn long_lists_of_or_are_bounded() {
    let pk = definition(&["/pk"], PartitionKeyKind::Hash);
    let terms: Vec<String> = (0..1000)
        .map(|value| format!("(c.id = '{value}' AND c.pk = {value})"))
        .collect();
    let text = format!("SELECT * FROM c WHERE {}", terms.join(" OR "));
    let KeyFilter::Keys(keys) = filter(&text, &pk) else {
        panic!("keys")
    };
    assert_eq!(keys.len(), 1000);
}
