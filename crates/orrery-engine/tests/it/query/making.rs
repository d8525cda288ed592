//! Random items and random queries over them.

use super::spatial;
use crate::harness::TestEntropy;

/// Scalars of all kinds, some of which an index can only tell apart with effort, as JSON.
pub fn scalar(dice: &TestEntropy) -> String {
    let pick = |list: &[&str]| list[dice.below(list.len() as u64) as usize].to_owned();
    match dice.below(12) {
        0 => "null".to_owned(),
        1 => pick(&["true", "false"]),
        2..=4 => dice.below(7).to_string(),
        5 => pick(&[
            "9007199254740992",
            "9007199254740993",
            "9007199254740994",
            "-9007199254740993",
            "9223372036854775807",
            "-9223372036854775808",
        ]),
        6 => pick(&[
            "0.5",
            "-0.25",
            "1e300",
            "-1e300",
            "1e-300",
            "6.000000000000001",
        ]),
        7..=9 => text(dice),
        _ => format!("\"w{}\"", dice.below(5)),
    }
}

/// A string: some are longer than index entries keep, some only differ behind that.
pub fn text(dice: &TestEntropy) -> String {
    let lengths = [
        126, 127, 128, 129, 510, 511, 512, 513, 700, 1_023, 1_024, 1_500,
    ];
    match dice.below(7) {
        0 => "\"\"".to_owned(),
        1 => "\"a\\u0000b\"".to_owned(),
        2 => "\"a\\u0000\"".to_owned(),
        3 => ["\"\u{e9}t\u{e9}\"", "\"\u{65e5}\u{672c}\"", "\"\u{1f600}\""][dice.below(3) as usize]
            .to_owned(),
        _ => {
            let length = lengths[dice.below(lengths.len() as u64) as usize];
            let ends = ["", "a", "b", "\u{e9}", "zz", "\\u0000"];
            let end = ends[dice.below(ends.len() as u64) as usize];
            format!("\"{}{end}\"", "x".repeat(length))
        }
    }
}

/// Any value, nested up to a depth.
pub fn value(dice: &TestEntropy, depth: u64) -> String {
    let list = |dice: &TestEntropy| {
        let elements: Vec<String> = (0..dice.below(4)).map(|_| value(dice, depth - 1)).collect();
        format!("[{}]", elements.join(","))
    };
    match dice.below(10) {
        0 if depth > 0 => list(dice),
        1 if depth > 0 => format!("{{\"x\":{}}}", value(dice, depth - 1)),
        _ => scalar(dice),
    }
}

/// An item. `nodes` lets arrays and objects stand where queries sort.
pub fn item(dice: &TestEntropy, id: u64, nodes: bool) -> (String, String) {
    let (pk, sub) = (format!("k{}", dice.below(12)), dice.below(3));
    let depth = if nodes { 2 } else { 0 };
    let mut members = vec![
        format!("\"id\":\"{id}\""),
        format!("\"pk\":\"{pk}\""),
        format!("\"sub\":{sub}"),
    ];
    if dice.below(4) > 0 {
        members.push(format!("\"a\":{}", value(dice, depth)));
    }
    if dice.below(8) > 0 {
        members.push(format!("\"n\":{}", dice.below(9)));
    }
    if dice.below(3) > 0 {
        members.push(format!("\"s\":{}", text(dice)));
    }
    if dice.below(3) > 0 {
        let tags: Vec<String> = (0..dice.below(4)).map(|_| scalar(dice)).collect();
        members.push(format!("\"tags\":[{}]", tags.join(",")));
    }
    if dice.below(2) > 0 {
        members.push(format!(
            "\"o\":{{\"x\":{},\"y\":[{{\"z\":{}}}]}}",
            scalar(dice),
            value(dice, depth)
        ));
    }
    if dice.below(3) == 0 {
        members.push(format!("\"at\":{}", spatial::shape(dice)));
    }
    (pk, format!("{{{}}}", members.join(",")))
}

const PATHS: [&str; 7] = [
    "c.a",
    "c.n",
    "c.s",
    "c.o.x",
    "c.id",
    "c.tags[0]",
    "c.o.y[0].z",
];

fn path(dice: &TestEntropy) -> &'static str {
    one_of(dice, &PATHS)
}

fn one_of<'l>(dice: &TestEntropy, list: &[&'l str]) -> &'l str {
    list[dice.below(list.len() as u64) as usize]
}

fn constant(dice: &TestEntropy) -> String {
    match dice.below(12) {
        0 => value(dice, 2),
        _ => scalar(dice),
    }
}

/// A constant to compare a path with: mostly such as are found there.
fn constant_at(dice: &TestEntropy, path: &str) -> String {
    match (dice.below(3), path) {
        (0, _) => constant(dice),
        (_, "c.n") => dice.below(9).to_string(),
        (_, "c.id") => format!("\"{}\"", dice.below(300)),
        (_, "c.s") => text(dice),
        _ => scalar(dice),
    }
}

fn list(dice: &TestEntropy, path: &str) -> String {
    let list: Vec<String> = (0..=dice.below(4))
        .map(|_| constant_at(dice, path))
        .collect();
    list.join(", ")
}

/// A condition.
pub fn condition(dice: &TestEntropy, depth: u64) -> String {
    let part = |dice: &TestEntropy| condition(dice, depth.saturating_sub(1));
    if dice.below(20) == 0 {
        return spatial::condition(dice, "c.at");
    }
    match dice.below(if depth == 0 { 15 } else { 21 }) {
        0 | 1 => {
            let path = path(dice);
            format!("{path} = {}", constant_at(dice, path))
        }
        2 => {
            let path = path(dice);
            let word = one_of(dice, &["IN", "IN", "NOT IN"]);
            format!("{path} {word} ({})", list(dice, path))
        }
        3 | 4 => {
            let path = path(dice);
            let sign = one_of(dice, &["<", "<=", ">", ">=", "!="]);
            format!("{path} {sign} {}", constant_at(dice, path))
        }
        5 => {
            let path = path(dice);
            let (low, high) = (constant_at(dice, path), constant_at(dice, path));
            let word = one_of(dice, &["BETWEEN", "BETWEEN", "NOT BETWEEN"]);
            format!("({path} {word} {low} AND {high})")
        }
        6 => text_condition(dice),
        7 => list_condition(dice),
        8 => {
            let functions = [
                "IS_DEFINED",
                "IS_NULL",
                "IS_STRING",
                "IS_ARRAY",
                "IS_NUMBER",
                "IS_BOOL",
                "IS_OBJECT",
                "IS_PRIMITIVE",
            ];
            format!("{}({})", one_of(dice, &functions), path(dice))
        }
        9 => format!(
            "EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = {})",
            scalar(dice)
        ),
        10 => format!(
            "EXISTS(SELECT VALUE y FROM y IN c.o.y WHERE y.z {} {})",
            one_of(dice, &["=", ">", "!="]),
            scalar(dice)
        ),
        11 => format!(
            "{} {} {}",
            path(dice),
            one_of(dice, &["=", "<", "!="]),
            path(dice)
        ),
        12 => format!(
            "(c.n + {} > {} OR c.n % 2 = 0)",
            dice.below(3),
            dice.below(9)
        ),
        13 => format!("({} ?? {}) = {}", path(dice), scalar(dice), scalar(dice)),
        14 => format!(
            "(c.n = {} AND c.s {} {})",
            dice.below(9),
            one_of(dice, &["=", ">", "<"]),
            text(dice)
        ),
        15..=17 => format!("({} AND {})", part(dice), part(dice)),
        18 | 19 => format!("({} OR {})", part(dice), part(dice)),
        _ => format!("NOT ({})", part(dice)),
    }
}

fn text_condition(dice: &TestEntropy) -> String {
    let path = path(dice);
    let words = ["x", "\u{e9}", "w", "ab", "", "xx", "W1"];
    let word = one_of(dice, &words);
    let flag = one_of(dice, &["", ", true", ", false"]);
    match dice.below(6) {
        0 | 1 => format!("STARTSWITH({path}, {}{flag})", text(dice)),
        2 => format!("STARTSWITH({path}, \"{word}\"{flag})"),
        3 => {
            let function = one_of(dice, &["CONTAINS", "ENDSWITH", "STRINGEQUALS"]);
            format!("{function}({path}, \"{word}\"{flag})")
        }
        4 => {
            let pattern = one_of(dice, &["x%", "%a", "w_", "%x%", "w1", "_%b", "%"]);
            let not = one_of(dice, &["", "", "NOT "]);
            format!("{path} {not}LIKE \"{pattern}\"")
        }
        _ => format!("REGEXMATCH({path}, \"^w[0-2]\")"),
    }
}

fn list_condition(dice: &TestEntropy) -> String {
    match dice.below(4) {
        0 | 1 => format!("ARRAY_CONTAINS(c.tags, {})", constant(dice)),
        2 => {
            let function = one_of(dice, &["ARRAY_CONTAINS_ANY", "ARRAY_CONTAINS_ALL"]);
            format!("{function}(c.tags, {})", list(dice, "c.tags"))
        }
        _ => {
            let path = path(dice);
            format!("ARRAY_CONTAINS([{}], {path})", list(dice, path))
        }
    }
}

/// The composite indexes of the test's containers, for ORDER BY.
pub const COMPOSITES: &str = r#"[
    [{"path":"/a"},{"path":"/n"}],
    [{"path":"/n","order":"descending"},{"path":"/s"}],
    [{"path":"/s","order":"descending"},{"path":"/a","order":"descending"},{"path":"/n"}]]"#;

/// The spatial index of the test's containers.
pub const SPATIAL: &str = r#"[{"path":"/at/*","types":["Point","Polygon","MultiPolygon"]}]"#;

const ORDERS: [&str; 16] = [
    "c.a",
    "c.a DESC",
    "c.n",
    "c.n DESC",
    "c.s",
    "c.s DESC",
    "c.o.x",
    "c.o.x DESC",
    "c.id",
    "c._ts DESC",
    "c.a, c.n",
    "c.a DESC, c.n DESC",
    "c.n DESC, c.s",
    "c.n, c.s DESC",
    "c.s DESC, c.a DESC, c.n",
    "c.s, c.a, c.n DESC",
];

/// A query whose rows come one by one.
pub fn plain(dice: &TestEntropy) -> String {
    let projections = [
        "SELECT * FROM c",
        "SELECT * FROM c",
        "SELECT VALUE c.id FROM c",
        "SELECT c.id, c.a AS b, c.o.x FROM c",
        "SELECT VALUE t FROM c JOIN t IN c.tags",
        "SELECT c.id, t FROM c JOIN t IN c.tags",
        "SELECT c.id, y.z FROM c JOIN y IN c.o.y",
        "SELECT c.id, ARRAY_LENGTH(c.tags) AS l, (SELECT VALUE COUNT(1) FROM t IN c.tags) AS k FROM c",
    ];
    let mut text = one_of(dice, &projections).to_owned();
    if dice.below(5) > 0 {
        text = format!("{text} WHERE {}", condition(dice, 2));
    }
    text
}

fn filtered(dice: &TestEntropy, select: &str) -> String {
    match dice.below(3) {
        0 => format!("{select} FROM c"),
        1 => format!("{select} FROM c WHERE {}", condition(dice, 0)),
        _ => format!("{select} FROM c WHERE {}", condition(dice, 2)),
    }
}

/// A query that one range answers by itself.
pub fn any(dice: &TestEntropy) -> String {
    let text = match dice.below(10) {
        0 => {
            let what = ["VALUE c.n", "VALUE c.a", "c.n, c.tags", "VALUE c.o", "c.s"];
            filtered(dice, &format!("SELECT DISTINCT {}", one_of(dice, &what)))
        }
        1 => {
            let (what, order) = [
                ("VALUE c.n", "c.n"),
                ("VALUE c.a", "c.a DESC"),
                ("c.n, c.s", "c.n DESC, c.s"),
                ("c.o.x", "c.o.x"),
            ][dice.below(4) as usize];
            let text = filtered(dice, &format!("SELECT DISTINCT {what}"));
            format!("{text} ORDER BY {order}")
        }
        2 => {
            let what = [
                "COUNT(1) AS n, SUM(c.n) AS s, MIN(c.s) AS lo, MAX(c.o.x) AS hi, AVG(c.n) AS m",
                "VALUE COUNT(1)",
                "VALUE COUNT(1)",
                "VALUE COUNT(c.a)",
                "VALUE MIN(c.n)",
                "VALUE MAX(c.s)",
                "VALUE MAX(c.a)",
                "VALUE MIN(c.o.x)",
                "MIN(c.id) AS a, MAX(c.id) AS b",
                "VALUE [{\"item\": COUNT(1)}]",
                "VALUE [{\"item\": MAX(c.n), \"item2\": {\"max\": MAX(c.n), \"count\": COUNT(c.n)}}]",
            ];
            filtered(dice, &format!("SELECT {}", one_of(dice, &what)))
        }
        3 => {
            let (what, keys) = [
                ("c.n, COUNT(1) AS m, MIN(c.id) AS i", "c.n"),
                ("c.a, c.n, SUM(c.n) AS s", "c.a, c.n"),
                ("VALUE COUNT(1)", "c.o.x"),
                ("c.s, AVG(c.n) AS m, MAX(c.a) AS x", "c.s"),
                (
                    "c.a, COUNT(1) AS k, MAX(c.n) AS hi, MIN(c.n) AS lo, COUNT(c.n) AS d",
                    "c.a",
                ),
                ("c.n, COUNT(1) AS k, MIN(c.s) AS lo, MAX(c.s) AS hi", "c.n"),
                ("c.s, c.a, MAX(c.n) AS hi, COUNT(1) AS k", "c.a, c.s"),
            ][dice.below(7) as usize];
            let text = filtered(dice, &format!("SELECT {what}"));
            match dice.below(3) {
                0 => format!("{text} GROUP BY {keys} ORDER BY {keys}"),
                1 => format!("{text} GROUP BY {keys} ORDER BY {keys} DESC"),
                _ => format!("{text} GROUP BY {keys}"),
            }
        }
        4..=7 => format!("{} ORDER BY {}", plain(dice), one_of(dice, &ORDERS)),
        _ => plain(dice),
    };
    match dice.below(4) {
        0 => {
            let top = format!("TOP {}", dice.below(40));
            match text.strip_prefix("SELECT DISTINCT ") {
                Some(rest) => format!("SELECT DISTINCT {top} {rest}"),
                None => text.replacen("SELECT ", &format!("SELECT {top} "), 1),
            }
        }
        1 => format!("{text} OFFSET {} LIMIT {}", dice.below(20), dice.below(30)),
        _ => text,
    }
}
