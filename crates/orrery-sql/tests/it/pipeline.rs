//! Pages, resuming, sorting and bounds.

use crate::run::{compile, failure, pages, resumed, rows};
use orrery_sql::pipeline::{ExecutionError, PageLimits};

const ITEMS: [&str; 4] = [
    r#"{"id":"a","k":3,"tags":["x","y","z"]}"#,
    r#"{"id":"b","k":1,"tags":["x"]}"#,
    r#"{"id":"c","tags":[]}"#,
    r#"{"id":"d","k":3,"tags":["y","x"]}"#,
];

fn page_of(rows: usize) -> PageLimits {
    PageLimits {
        rows,
        ..PageLimits::default()
    }
}

#[test]
fn every_query_gives_the_same_rows_at_any_page_size() {
    let queries = [
        "SELECT VALUE c.id FROM c",
        "SELECT * FROM c WHERE c.k = 3",
        "SELECT c.id, t FROM c JOIN t IN c.tags WHERE t != 'z'",
        "SELECT VALUE c.id FROM c ORDER BY c.k DESC",
        "SELECT DISTINCT VALUE t FROM c JOIN t IN c.tags",
        "SELECT t, COUNT(1) AS n FROM c JOIN t IN c.tags GROUP BY t",
        "SELECT VALUE t FROM c JOIN t IN c.tags OFFSET 1 LIMIT 3",
        "SELECT TOP 2 VALUE c.id FROM c ORDER BY c.k",
        "SELECT DISTINCT VALUE c.k FROM c ORDER BY c.k",
        "SELECT VALUE 1",
    ];
    for query in queries {
        let whole = rows(query, &ITEMS);
        assert!(!whole.is_empty(), "{query}");
        for size in [1, 2, 3, 7] {
            let pages = pages(&compile(query), &ITEMS, page_of(size), false);
            assert!(pages.iter().all(|page| page.len() <= size), "{query}");
            assert_eq!(pages.concat(), whole, "{query} in pages of {size}");
        }
    }
}

#[test]
fn ties_follow_the_direction_of_the_first_key() {
    assert_eq!(
        rows("SELECT VALUE c.id FROM c ORDER BY c.k", &ITEMS),
        ["\"c\"", "\"b\"", "\"a\"", "\"d\""]
    );
    assert_eq!(
        rows("SELECT VALUE c.id FROM c ORDER BY c.k DESC", &ITEMS),
        ["\"d\"", "\"a\"", "\"b\"", "\"c\""]
    );
}

#[test]
fn sorted_input_streams() {
    let sorted = [ITEMS[2], ITEMS[1], ITEMS[0], ITEMS[3]];
    let program = compile("SELECT VALUE c.id FROM c ORDER BY c.k OFFSET 1 LIMIT 2");
    let pages = pages(&program, &sorted, page_of(1), true);
    assert_eq!(pages, [["\"b\""], ["\"a\""]]);
}

#[test]
fn rewritten_queries_resume_behind_a_row() {
    let query = r#"SELECT c._rid, [{"item": c.k}] AS orderByItems, c.id AS payload FROM c WHERE (true) ORDER BY c.k"#;
    let all = resumed(query, &ITEMS, false, r#"{"value":[[]]}"#);
    assert_eq!(all.len(), 4);
    assert_eq!(all[0], r#"{"orderByItems":[{}],"payload":"c"}"#);
    let behind = resumed(
        query,
        &ITEMS,
        false,
        r#"{"value":[3],"rid":"1","exclude":true}"#,
    );
    assert_eq!(behind, [r#"{"orderByItems":[{"item":3}],"payload":"d"}"#]);
    let at = resumed(
        query,
        &ITEMS,
        false,
        r#"{"value":[3],"rid":"1","exclude":false}"#,
    );
    assert_eq!(at.len(), 2);
}

#[test]
fn aggregates_of_rewritten_queries() {
    let query = r#"SELECT VALUE [{"item": MIN(c.k), "item2": {"min": MIN(c.k), "count": COUNT(c.k)}}] FROM c"#;
    assert_eq!(
        rows(query, &ITEMS),
        [r#"[{"item":1,"item2":{"min":1,"count":3}}]"#]
    );
    assert_eq!(rows(query, &[]), [r#"[{"item2":{"count":0}}]"#]);
    assert_eq!(
        rows(
            "SELECT COUNT(1) AS n FROM (SELECT DISTINCT VALUE c.k FROM c)",
            &ITEMS
        ),
        [r#"{"n":2}"#]
    );
}

#[test]
fn a_join_explosion_stops() {
    let list = format!(r#"{{"l":[{}]}}"#, vec!["1"; 1_000].join(","));
    let query = "SELECT VALUE COUNT(1) FROM c JOIN a IN c.l JOIN b IN c.l JOIN d IN c.l";
    let limits = PageLimits {
        steps: 100_000,
        ..PageLimits::default()
    };
    assert_eq!(
        failure(query, &[&list], limits),
        Some(ExecutionError::TooManySteps)
    );
    let query = "SELECT VALUE 1 FROM c JOIN a IN c.l JOIN b IN c.l WHERE a + b = 3";
    let limits = PageLimits {
        steps: 100_000,
        ..PageLimits::default()
    };
    assert_eq!(
        failure(query, &[&list], limits),
        Some(ExecutionError::TooManySteps)
    );
}

#[test]
fn memory_is_bounded() {
    let items: Vec<String> = (0..2_000)
        .map(|number| format!(r#"{{"n":{number},"t":"{}"}}"#, "x".repeat(100)))
        .collect();
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let limits = PageLimits {
        memory: 50_000,
        ..PageLimits::default()
    };
    for query in [
        "SELECT DISTINCT * FROM c ORDER BY c.n",
        "SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n",
        "SELECT DISTINCT VALUE c.n FROM c",
        "SELECT VALUE MAKELIST(c.t) FROM c",
    ] {
        let limits = PageLimits {
            rows: usize::MAX,
            ..limits
        };
        assert_eq!(
            failure(query, &items, limits),
            Some(ExecutionError::TooMuchMemory),
            "{query}"
        );
    }
    // A short front of a long order is cheap.
    let limits = PageLimits {
        memory: 1_000_000,
        ..PageLimits::default()
    };
    assert_eq!(
        failure("SELECT TOP 5 * FROM c ORDER BY c.n DESC", &items, limits),
        None
    );
}

#[test]
fn numbers_that_json_cannot_hold_end_the_query() {
    let error = failure("SELECT VALUE c.k / 0 FROM c", &ITEMS, PageLimits::default());
    assert_eq!(error, Some(ExecutionError::NotFinite));
    assert_eq!(
        failure("SELECT VALUE SQRT(-1)", &[], PageLimits::default()),
        Some(ExecutionError::NotFinite)
    );
    assert_eq!(
        failure(
            "SELECT VALUE IS_FINITE_NUMBER(c.k / 0) FROM c",
            &ITEMS,
            PageLimits::default()
        ),
        None
    );
}

#[test]
fn hostile_regular_expressions() {
    let text = format!(r#"{{"t":"{}"}}"#, "a".repeat(20_000));
    assert_eq!(
        rows("SELECT VALUE REGEXMATCH(c.t, '^(a+)+$') FROM c", &[&text]),
        ["true"]
    );
    assert!(
        rows(
            "SELECT VALUE REGEXMATCH(c.t, '((a{1000}){1000}){1000}') FROM c",
            &[&text]
        )
        .is_empty()
    );
    assert!(rows("SELECT VALUE REGEXMATCH(c.t, 'a', 'q') FROM c", &[&text]).is_empty());
}
