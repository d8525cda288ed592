use super::*;

fn near(text: &str) -> (String, Span) {
    let errors = parse(text).expect_err(text);
    let error = &errors.list()[0];
    (error.message.clone(), error.span.unwrap_or_default())
}

/// Runs on a thread with the stack that threads have by default.
fn on_small_stack(test: fn()) {
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(test)
        .expect("a thread starts");
    thread.join().expect("the test passes");
}

#[test]
fn errors_name_the_token() {
    assert_eq!(
        near("SELECT TOP -1 c.name FROM c"),
        (
            "Syntax error, incorrect syntax near '-'.".into(),
            Span { start: 11, end: 12 }
        )
    );
    assert_eq!(
        near("SELECT * FROM c;"),
        (
            "Syntax error, invalid token ';'.".into(),
            Span { start: 15, end: 16 }
        )
    );
    assert_eq!(
        near("SELECT VALUE 'a"),
        (
            "Syntax error, invalid string literal token ''a'.".into(),
            Span { start: 13, end: 15 }
        )
    );
    assert_eq!(
        near("SELECT (1"),
        (
            "Syntax error, incorrect syntax near '1'.".into(),
            Span { start: 8, end: 9 }
        )
    );
    assert_eq!(near("").1, Span { start: 0, end: 0 });
    assert_eq!(near("SELECT é.order").1, Span { start: 9, end: 14 });
}

#[test]
fn hostile_nesting_is_refused() {
    on_small_stack(|| {
        for unit in [
            "(",
            "[",
            "{a:",
            "NOT ",
            "-",
            "(SELECT VALUE ",
            "ABS(",
            "1 ?? ",
            "1 ? ",
            "1+(",
            "c[",
            "1 IN (",
            "EXISTS(SELECT ",
            "1 FROM (SELECT VALUE ",
        ] {
            let text = format!("SELECT VALUE {}", unit.repeat(100_000));
            parse(&text).expect_err(unit);
        }
        let text = format!(
            "SELECT VALUE {}1{}",
            "(".repeat(100_000),
            ")".repeat(100_000)
        );
        parse(&text).expect("parentheses around nothing do not nest");
    });
}

#[test]
fn bounds_hold_with_room_to_spare() {
    on_small_stack(|| {
        for (open, close) in [
            ("[", "]"),
            ("ABS(", ")"),
            ("1+(", ")"),
            ("{a:", "}"),
            ("c[", "]"),
            ("(SELECT VALUE ", ")"),
            ("EXISTS(SELECT VALUE ", ")"),
        ] {
            let depth = MAX_NESTING as usize / 4;
            let text = format!(
                "SELECT VALUE {}1{}",
                open.repeat(depth),
                close.repeat(depth)
            );
            drop(parse(&text).expect(open).clone());
        }
        let text = format!("SELECT VALUE c{}", ".a".repeat(200));
        drop(parse(&text).expect("long path"));
        parse(&format!("SELECT VALUE c{}", ".a".repeat(300))).expect_err("longer path");
    });
}

#[test]
fn long_chains_are_balanced() {
    on_small_stack(|| {
        let flat = format!(
            "SELECT * FROM c WHERE c.a = 0{}",
            " OR c.a = 1".repeat(5_000)
        );
        drop(parse(&flat).expect("a flat chain"));
        // As LINQ writes it.
        let nested = format!(
            "SELECT * FROM c WHERE {}c.a = 0{}",
            "(".repeat(2000),
            " OR (c.a = 1))".repeat(2000)
        );
        drop(parse(&nested).expect("a chain with parentheses"));
        let sum = format!("SELECT VALUE 1{}", " + 1".repeat(1000));
        parse(&sum).expect_err("sums are not associative");
    });
}

#[test]
fn chains_as_long_as_a_text_stay_low() {
    on_small_stack(|| {
        let count = 40_000;
        let flat = format!("SELECT * FROM c WHERE x{}", " OR c.a=1".repeat(count));
        let nested = format!(
            "SELECT * FROM c WHERE {}x{}",
            "(".repeat(count),
            " OR c.a=1)".repeat(count)
        );
        let mixed = format!(
            "SELECT * FROM c WHERE x{}",
            " AND c.a=1 OR c.b=1".repeat(count / 2)
        );
        for text in [flat, nested, mixed] {
            let query = parse(&text).expect("a long chain");
            let height = query.filter.expect("a filter").height;
            assert!(height < 160, "a tree of {height} levels");
        }
    });
}

#[test]
fn text_is_limited() {
    let text = format!("SELECT VALUE 1{}", " ".repeat(MAX_TEXT));
    let errors = parse(&text).expect_err("too long");
    assert_eq!(
        errors.list()[0].message,
        "The SQL query text exceeded the maximum limit of 524288 characters."
    );
}
