use super::*;
use crate::errors::Code;
use crate::parser::parse;

fn codes(text: &str) -> Vec<String> {
    let query = parse(text).expect(text);
    let Err(errors) = analyze(text, &query, &QueryLimits::default()) else {
        return Vec::new();
    };
    let show = |error: &SqlError| match error.code {
        Code::Named(code) => code.to_owned(),
        Code::Numbered(code) => code.to_string(),
        Code::Absent => error.message.clone(),
    };
    errors.list().iter().map(show).collect()
}

#[test]
fn names_must_be_in_scope() {
    for good in [
        "SELECT 1",
        "SELECT VALUE children FROM Families.children",
        "SELECT * FROM f JOIN c IN f.children",
        "SELECT VALUE (SELECT VALUE COUNT(1) FROM t IN c.tags) FROM c",
        "SELECT VALUE r0 FROM (SELECT VALUE root FROM root) AS r0",
        "SELECT VALUE (LET x = c.a IN x) FROM c",
        "SELECT VALUE IS_FINITE_NUMBER(NaN)",
    ] {
        if good.contains('*') {
            assert_eq!(
                codes(good),
                ["'SELECT *' is only valid with a single input set."]
            );
        } else {
            assert_eq!(codes(good), [""; 0], "{good}");
        }
    }
    for bad in [
        "SELECT *",
        "SELECT c.a",
        "SELECT products.a FROM products p",
        "SELECT VALUE x FROM c WHERE (LET x = 1 IN x) = 1",
        "SELECT 1 FROM c JOIN t IN d.tags",
        "SELECT a, a FROM c",
    ] {
        assert_eq!(codes(bad), ["SC2001"], "{bad}");
    }
}

#[test]
fn aggregates_stand_in_select_beside_keys() {
    assert_eq!(
        codes("SELECT c.a, COUNT(1) FROM c GROUP BY c[\"a\"]"),
        [""; 0]
    );
    assert_eq!(
        codes("SELECT VALUE {a: c.a.b, n: COUNT(1)} FROM c GROUP BY c.a"),
        [""; 0]
    );
    assert_eq!(codes("SELECT c.a, COUNT(1) FROM c"), ["SC2102"]);
    assert_eq!(codes("SELECT * FROM c GROUP BY c.a"), ["SC2041"]);
    assert_eq!(codes("SELECT VALUE MAX(MIN(c.a)) FROM c"), ["SC2101"]);
    assert_eq!(
        codes("SELECT VALUE SUM((SELECT VALUE 1)) FROM c"),
        ["SC2101"]
    );
    assert_eq!(codes("SELECT 1 FROM c WHERE COUNT(1) > 0").len(), 1);
    assert_eq!(codes("SELECT udf.f(COUNT(1)) FROM c").len(), 1);
}

#[test]
fn counts_are_bounded() {
    assert_eq!(codes("SELECT TOP 1.5 * FROM c"), ["SC2060"]);
    assert_eq!(codes("SELECT TOP 2147483648 * FROM c"), [""; 0]);
    let both = "SELECT * FROM c OFFSET 4294967296 LIMIT 4294967296";
    assert_eq!(codes(both), ["SC2062", "SC2061"]);
}

#[test]
fn order_needs_paths() {
    for good in [
        "SELECT * FROM c ORDER BY c.a[0].b, c[\"x\"] DESC",
        "SELECT * FROM c ORDER BY VectorDistance(c.v, [1])",
        "SELECT c.a FROM c GROUP BY c.a ORDER BY c.a",
    ] {
        assert_eq!(codes(good), [""; 0], "{good}");
    }
    assert_eq!(codes("SELECT * FROM c ORDER BY 1"), ["2206"]);
    assert_eq!(
        codes("SELECT c.a FROM c GROUP BY c.a ORDER BY c.b"),
        ["SC2103"]
    );
    assert_eq!(
        codes("SELECT VALUE v FROM c JOIN (SELECT VALUE 1) v ORDER BY v"),
        ["2206"]
    );
    let correlated = codes("SELECT VALUE t FROM c JOIN t IN c.tags ORDER BY t");
    assert_eq!(
        correlated,
        ["Order-by over correlated collections is not supported."]
    );
    assert_eq!(
        codes("SELECT * FROM c ORDER BY VectorDistance(c.v, [1]) ASC").len(),
        1
    );
}

#[test]
fn ranking_is_alone() {
    assert_eq!(
        codes("SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'a')"),
        [""; 0]
    );
    let weighted = "SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'a'), VectorDistance(c.v, [1]), [1, -2.5])";
    assert_eq!(codes(weighted), [""; 0]);
    assert_eq!(codes("SELECT * FROM c ORDER BY RANK ABS(c.t)"), ["SC2221"]);
    let short =
        "SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'a'), VectorDistance(c.v, [1]), [1])";
    assert_eq!(codes(short), ["SC2229"]);
    let options = "SELECT VectorDistance(c.v, [1], true, {searchListSizeMultiplier: 101}) FROM c";
    assert_eq!(codes(options), ["SC2213"]);
    assert_eq!(
        codes("SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'a') DESC").len(),
        1
    );
}

#[test]
fn limits_are_options() {
    let text = "SELECT udf.f(1), udf.f(2) FROM c JOIN a IN c.a";
    let query = parse(text).expect(text);
    let message = |udf_calls, joins| {
        let limits = QueryLimits { udf_calls, joins };
        let errors = analyze(text, &query, &limits).expect_err("a limit");
        errors.list()[0].message.clone()
    };
    assert!(message(1, 1).ends_with("function calls. The allowed limit is 1."));
    assert!(message(2, 0).ends_with("joins. The allowed limit is 0."));
}
