//! Random items and random queries over them.

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
    PATHS[dice.below(PATHS.len() as u64) as usize]
}

fn constant(dice: &TestEntropy) -> String {
    match dice.below(12) {
        0 => value(dice, 2),
        _ => scalar(dice),
    }
}

/// A condition.
pub fn condition(dice: &TestEntropy, depth: u64) -> String {
    let part = |dice: &TestEntropy| condition(dice, depth.saturating_sub(1));
    match dice.below(if depth == 0 { 11 } else { 15 }) {
        0 | 1 => format!("{} = {}", path(dice), constant(dice)),
        2 => {
            let list: Vec<String> = (0..=dice.below(4)).map(|_| constant(dice)).collect();
            format!("{} IN ({})", path(dice), list.join(", "))
        }
        3 | 4 => {
            let signs = ["<", "<=", ">", ">=", "!="];
            let sign = signs[dice.below(5) as usize];
            format!("{} {sign} {}", path(dice), constant(dice))
        }
        5 => format!(
            "({} BETWEEN {} AND {})",
            path(dice),
            scalar(dice),
            scalar(dice)
        ),
        6 => {
            let flags = ["", ", true", ", false"];
            format!(
                "STARTSWITH({}, {}{})",
                path(dice),
                text(dice),
                flags[dice.below(3) as usize]
            )
        }
        7 => {
            let words = ["x", "\u{e9}", "w", "ab", ""];
            let function = ["CONTAINS", "ENDSWITH"][dice.below(2) as usize];
            format!(
                "{function}({}, \"{}\")",
                path(dice),
                words[dice.below(5) as usize]
            )
        }
        8 => format!("ARRAY_CONTAINS(c.tags, {})", constant(dice)),
        9 => {
            let functions = [
                "IS_DEFINED",
                "IS_NULL",
                "IS_STRING",
                "IS_ARRAY",
                "IS_NUMBER",
                "IS_BOOL",
            ];
            format!("{}({})", functions[dice.below(6) as usize], path(dice))
        }
        10 => format!(
            "EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = {})",
            scalar(dice)
        ),
        11 | 12 => format!("({} AND {})", part(dice), part(dice)),
        13 => format!("({} OR {})", part(dice), part(dice)),
        _ => format!("NOT ({})", part(dice)),
    }
}

/// The composite indexes of the test's containers, for ORDER BY.
pub const COMPOSITES: &str = r#"[
    [{"path":"/a"},{"path":"/n"}],
    [{"path":"/n","order":"descending"},{"path":"/s"}],
    [{"path":"/s","order":"descending"},{"path":"/a","order":"descending"},{"path":"/n"}]]"#;

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
        "SELECT VALUE c.id FROM c",
        "SELECT c.id, c.a AS b, c.o.x FROM c",
        "SELECT VALUE t FROM c JOIN t IN c.tags",
        "SELECT c.id, t FROM c JOIN t IN c.tags",
    ];
    let mut text = projections[dice.below(5) as usize].to_owned();
    if dice.below(4) > 0 {
        text = format!("{text} WHERE {}", condition(dice, 2));
    }
    text
}

/// A query that one range answers by itself.
pub fn any(dice: &TestEntropy) -> String {
    let mut text = plain(dice);
    match dice.below(8) {
        0 => {
            let what = ["VALUE c.n", "VALUE c.a", "c.n, c.tags"][dice.below(3) as usize];
            text = text.replacen("SELECT * FROM", &format!("SELECT DISTINCT {what} FROM"), 1);
        }
        1 => {
            let what = [
                "COUNT(1) AS n, SUM(c.n) AS s, MIN(c.s) AS lo, MAX(c.o.x) AS hi, AVG(c.n) AS m",
                "VALUE COUNT(1)",
                "VALUE COUNT(c.a)",
                "VALUE [{\"item\": COUNT(1)}]",
            ][dice.below(4) as usize];
            if dice.below(2) == 0 {
                text = format!("SELECT {what} FROM c");
            }
            text = text.replacen("SELECT * FROM", &format!("SELECT {what} FROM"), 1);
        }
        2 if text.starts_with("SELECT * FROM c") => {
            text = text.replacen("SELECT *", "SELECT c.n, COUNT(1) AS m, MIN(c.id) AS i", 1);
            text.push_str(" GROUP BY c.n");
        }
        3..=6 => {
            let order = ORDERS[dice.below(ORDERS.len() as u64) as usize];
            text = format!("{text} ORDER BY {order}");
        }
        _ => {}
    }
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
