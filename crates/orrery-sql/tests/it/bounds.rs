//! What a query may hold, write and take, whatever its text and its items.

use crate::run::{compile, failure, pages, rows};
use orrery_sql::memory::MemoryPool;
use orrery_sql::pipeline::{ExecutionError, Flow, Item, PageLimits, Pipeline};
use std::cell::Cell;

fn texts(count: usize, length: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!(r#"{{"n":{number},"s":"{}"}}"#, "x".repeat(length)))
        .collect()
}

fn borrowed(items: &[String]) -> Vec<&str> {
    items.iter().map(String::as_str).collect()
}

#[test]
fn a_page_ends_before_the_row_that_would_cross() {
    let items = texts(50, 300);
    let items = borrowed(&items);
    let limits = PageLimits {
        rows: 1_000,
        bytes: 1_000,
        ..PageLimits::default()
    };
    for query in [
        "SELECT * FROM c",
        "SELECT * FROM c ORDER BY c.n DESC",
        "SELECT DISTINCT * FROM c",
        "SELECT c.n, c.s FROM c GROUP BY c.n, c.s",
        "SELECT c.n, c.s FROM c JOIN t IN (SELECT VALUE [1, 2, 3])",
        "SELECT c.n, c.s FROM c OFFSET 7 LIMIT 20",
    ] {
        let whole = rows(query, &items);
        let pages = pages(&compile(query), &items, limits, false);
        assert_eq!(pages.concat(), whole, "{query}");
        let full = pages.iter().filter(|page| page.len() == 3).count();
        assert!(full * 3 + 3 > whole.len(), "{query}: pages are filled");
        for page in pages {
            let commas = page.len().saturating_sub(1);
            let bytes = page.iter().map(String::len).sum::<usize>() + commas;
            assert!(bytes <= limits.bytes, "{query}: a page of {bytes} bytes");
        }
    }
}

#[test]
fn a_row_alone_may_not_cross_either() {
    let items = texts(2, 600);
    let items = borrowed(&items);
    let limits = PageLimits {
        bytes: 1_000,
        ..PageLimits::default()
    };
    for query in [
        "SELECT c.s, c.s AS t FROM c",
        "SELECT VALUE [c.s, c.s] FROM c",
        "SELECT VALUE {a: c.s, b: [c.s]} FROM c",
        "SELECT VALUE CONCAT(c.s, c.s) FROM c",
        "SELECT VALUE MAKELIST(c.s) FROM c",
        "SELECT c.s, c.s AS t FROM c ORDER BY c.n",
    ] {
        assert_eq!(
            failure(query, &items, limits),
            Some(ExecutionError::RowTooLarge),
            "{query}"
        );
    }
    assert_eq!(failure("SELECT VALUE c.s FROM c", &items, limits), None);
}

#[test]
fn values_under_way_are_bounded() {
    let list = format!(
        r#"{{"l":[{}],"s":"{}"}}"#,
        vec!["1"; 1_000].join(","),
        "x".repeat(10_000)
    );
    let limits = PageLimits {
        memory: 4 << 20,
        bytes: usize::MAX,
        ..PageLimits::default()
    };
    let many = |part: &str| vec![part; 1_000].join(",");
    for query in [
        "SELECT VALUE ARRAY(SELECT a, b FROM a IN c.l JOIN b IN c.l) FROM c".to_owned(),
        "SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT VALUE c.s || 'x' FROM a IN c.l)) FROM c".to_owned(),
        "SELECT 1 FROM c WHERE ARRAY(SELECT a, b FROM a IN c.l JOIN b IN c.l) = 3".to_owned(),
        "SELECT VALUE ARRAY(SELECT VALUE ARRAY(SELECT a FROM a IN c.l) FROM b IN c.l) FROM c"
            .to_owned(),
        "SELECT 1 FROM c JOIN (SELECT VALUE MAKELIST({a: a, b: b}) FROM a IN c.l JOIN b IN c.l)"
            .to_owned(),
        "SELECT COUNT(1) FROM c JOIN (SELECT DISTINCT VALUE {a: a} FROM a IN ARRAY_CONCAT(c.l, c.l) JOIN b IN c.l) t"
            .to_owned()
            .replace("VALUE {a: a}", "VALUE RAND() + a"),
        format!("SELECT VALUE ARRAY_LENGTH([{}]) FROM c", many("c.l")),
        format!("SELECT VALUE ARRAY_LENGTH([{}]) FROM c", many("UPPER(c.s)")),
        format!("SELECT VALUE LENGTH(CONCAT({})) FROM c", many("c.s || 'x'")),
        format!("SELECT VALUE ARRAY_CONCAT({}) FROM c", many("c.l")),
        format!(
            "SELECT VALUE IS_OBJECT({{{}}}) FROM c",
            (0..1_000)
                .map(|number| format!("a{number}: REPLICATE('y', 9000)"))
                .collect::<Vec<_>>()
                .join(",")
        ),
    ] {
        assert_eq!(
            failure(&query, &[&list], limits),
            Some(ExecutionError::TooMuchMemory),
            "{}",
            &query[..query.len().min(100)]
        );
    }
    // What is let go of again does not count: many rows, each of some size.
    for query in [
        "SELECT VALUE COUNT(1) FROM c JOIN a IN c.l WHERE LENGTH(CONCAT(c.s, 'x')) > 1",
        "SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT VALUE LENGTH(UPPER(c.s)) FROM a IN c.l)) FROM c",
        "SELECT VALUE COUNT(1) FROM c JOIN a IN c.l WHERE EXISTS(SELECT DISTINCT VALUE b FROM b IN c.l)",
        "SELECT VALUE COUNT(1) FROM c JOIN a IN c.l WHERE ARRAY_LENGTH(ARRAY(SELECT VALUE b FROM b IN c.l)) = 1000",
    ] {
        assert_eq!(failure(query, &[&list], limits), None, "{query}");
    }
}

#[test]
fn constants_and_parameters_do_not_multiply() {
    let text = format!(
        "SELECT VALUE ARRAY_LENGTH([{}])",
        vec!["REPLICATE('x', 10000)"; 20_000].join(",")
    );
    assert_eq!(
        failure(&text, &[], PageLimits::default()),
        Some(ExecutionError::TooMuchMemory)
    );
    let text = format!(
        "SELECT 1 FROM c WHERE c.a IN ({})",
        vec!["@p"; 10_000].join(",")
    );
    let query = orrery_sql::parser::parse(&text).expect("it parses");
    let value = orrery_model::value::Value::from("x".repeat(100_000));
    let parameters = orrery_sql::environment::Parameters::new(vec![("@p".to_owned(), value)]);
    let error = orrery_sql::program::Program::compile(
        &query,
        &parameters,
        &orrery_sql::environment::Environment::default(),
    )
    .expect_err("copies of a gigabyte");
    assert!(error.to_string().contains("more memory than is allowed"));
}

#[test]
fn queries_share_a_pool() {
    let items = texts(3_000, 1_000);
    let program = compile("SELECT DISTINCT * FROM c ORDER BY c.n");
    let pool = MemoryPool::new(1 << 20);
    let run = || {
        let mut pipeline =
            Pipeline::new(&program, PageLimits::default(), false, None, None).expect("no state");
        pipeline.share(&pool);
        for (place, text) in items.iter().enumerate() {
            pipeline.push(item(place, text))?;
        }
        Ok(())
    };
    assert_eq!(run(), Err(ExecutionError::TooMuchMemory));
    // The pool came back: what fits it still runs.
    let mut pipeline =
        Pipeline::new(&program, PageLimits::default(), false, None, None).expect("no state");
    pipeline.share(&pool);
    for (place, text) in items[..900].iter().enumerate() {
        pipeline.push(item(place, text)).expect("it fits");
    }
}

fn item(place: usize, text: &str) -> Item<'_> {
    Item {
        doc: place as u64 + 1,
        text: text.as_bytes(),
        system: None,
    }
}

#[test]
fn time_ends_a_page_inside_an_item() {
    let list = format!(r#"{{"l":[{}]}}"#, vec!["1"; 400].join(","));
    let program = compile("SELECT VALUE a + b FROM c JOIN a IN c.l JOIN b IN c.l");
    let limits = PageLimits {
        rows: usize::MAX,
        ..PageLimits::default()
    };
    let mut state: Option<Vec<u8>> = None;
    let mut found = 0;
    for _ in 0..20 {
        let looks = Cell::new(0);
        let before = found;
        let is_late = || {
            looks.set(looks.get() + 1);
            // Each page has to pass over the rows before it first.
            looks.get() > 3 + before / 60_000
        };
        let mut pipeline =
            Pipeline::new(&program, limits, false, state.as_deref(), None).expect("own state");
        pipeline.watch(&is_late);
        let flow = pipeline.push(item(0, &list)).expect("it goes on");
        found += pipeline.take_rows().len();
        state = Some(pipeline.resume_state());
        if flow == Flow::More {
            assert_eq!(found, 160_000);
            return;
        }
        assert_eq!(flow, Flow::PageFullInside);
    }
    panic!("the walk ends");
}

#[test]
fn time_ends_what_cannot_resume() {
    let list = format!(r#"{{"l":[{}]}}"#, vec!["1"; 1_000].join(","));
    for query in [
        "SELECT VALUE COUNT(1) FROM c JOIN a IN c.l JOIN b IN c.l",
        "SELECT VALUE 1 FROM c JOIN a IN c.l JOIN b IN c.l WHERE a + b = 3",
        "SELECT VALUE 1 FROM c WHERE EXISTS(SELECT 1 FROM a IN c.l JOIN b IN c.l WHERE a + b = 3)",
        "SELECT DISTINCT VALUE a FROM c JOIN a IN c.l JOIN b IN c.l",
    ] {
        let program = compile(query);
        let is_late = || true;
        let mut pipeline =
            Pipeline::new(&program, PageLimits::default(), false, None, None).expect("no state");
        pipeline.watch(&is_late);
        let error = pipeline.push(item(0, &list)).expect_err(query);
        assert_eq!(error, ExecutionError::TooLate, "{query}");
    }
    // An item that only began late is left for the next page.
    let program = compile("SELECT VALUE 1 FROM c JOIN a IN c.l JOIN b IN c.l WHERE a + b = 3");
    let is_late = || true;
    let mut pipeline =
        Pipeline::new(&program, PageLimits::default(), false, None, None).expect("no state");
    pipeline.watch(&is_late);
    assert_eq!(pipeline.push(item(0, r#"{"l":[1]}"#)), Ok(Flow::More));
    assert_eq!(pipeline.push(item(1, &list)), Ok(Flow::PageFullInside));
}

#[test]
fn expressions_that_only_look_cheap_cost_steps() {
    let text = format!(
        r#"{{"s":"{}","l":[{}]}}"#,
        "a".repeat(200_000),
        vec!["1"; 1_000].join(",")
    );
    let limits = PageLimits {
        steps: 1_000_000,
        ..PageLimits::default()
    };
    for query in [
        "SELECT VALUE COUNT(1) FROM c JOIN a IN c.l WHERE CONTAINS(CONCAT(c.s, ToString(a)), 'b')",
        "SELECT VALUE COUNT(1) FROM c JOIN a IN c.l JOIN b IN c.l WHERE [c.l] = [c.l, a]",
        "SELECT VALUE REGEXMATCH(c.s, '(a|b)*a(a|b){2000}$') FROM c",
        "SELECT VALUE COUNT(1) FROM c JOIN a IN c.l JOIN b IN c.l WHERE REGEXMATCH('x', CONCAT('a', ToString(a + b), ToString(RAND())))",
        "SELECT VALUE c.s LIKE '%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_b' FROM c",
    ] {
        assert_eq!(
            failure(query, &[&text], limits),
            Some(ExecutionError::TooManySteps),
            "{query}"
        );
    }
}

#[test]
fn texts_of_any_shape_compile() {
    let repeat = |part: &str, count: usize| part.repeat(count);
    let numbered = |before: &str, count: usize, after: &str| {
        (0..count)
            .map(|number| format!("{before}{number}{after}"))
            .collect::<Vec<_>>()
            .join(",")
    };
    for text in [
        format!("SELECT * FROM c WHERE c.a=0{}", repeat(" OR c.a=1", 45_000)),
        format!(
            "SELECT * FROM c WHERE c.a=0{}",
            repeat(" AND c.a=1", 45_000)
        ),
        format!("SELECT VALUE {{{}}} FROM c", numbered("a", 40_000, ":1")),
        format!("SELECT VALUE {{{}}} FROM c", numbered("a", 30_000, ":c.x")),
        format!("SELECT {} FROM c", numbered("c.a", 40_000, "")),
        format!(
            "SELECT COUNT(1) FROM c GROUP BY {}",
            numbered("c.a", 40_000, "")
        ),
        format!(
            "SELECT {0} FROM c GROUP BY {0}",
            numbered("c.a", 20_000, "")
        ),
        format!(
            "SELECT * FROM c WHERE c.a IN ({})",
            numbered("", 50_000, "")
        ),
    ] {
        let query = orrery_sql::parser::parse(&text).expect("it parses");
        let limits = orrery_sql::analysis::QueryLimits::default();
        orrery_sql::analysis::analyze(&text, &query, &limits).expect("it is right");
        let program = compile(&text);
        assert!(program.reads_items());
    }
}
