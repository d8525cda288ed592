//! Queries over one range and over several give the same rows.

use crate::harness::{Folder, Said, run, succeed};

struct Data {
    folder: Folder,
}

impl Data {
    /// 60 items in two containers: `one` with one range, `many` with several.
    fn new() -> Self {
        let folder = Folder::new();
        let lines: Vec<String> = (0..60)
            .map(|n| {
                format!(
                    "{{\"id\":\"i{n:02}\",\"pk\":\"k{}\",\"n\":{n},\"even\":{}}}",
                    n % 13,
                    n % 2 == 0
                )
            })
            .collect();
        let file = folder.write("items.ndjson", &lines.join("\n"));
        for (name, throughput) in [("db/one", "400"), ("db/many", "60000")] {
            let data = folder.at("data");
            succeed(&[
                "import",
                &file,
                "--into",
                name,
                "--partition-key",
                "/pk",
                "--throughput",
                throughput,
                "--data",
                &data,
            ]);
        }
        Self { folder }
    }

    fn query(&self, name: &str, text: &str, more: &[&str]) -> Said {
        let data = self.folder.at("data");
        run(&[&["query", text, "--in", name, "--data", &data], more].concat())
    }
}

#[test]
fn merged_results_equal_those_of_one_range() {
    let data = Data::new();
    for text in [
        "SELECT VALUE c.id FROM c ORDER BY c.n DESC",
        "SELECT c.id, c.n FROM c WHERE c.n > 50 ORDER BY c.n",
        "SELECT TOP 7 VALUE c.n FROM c ORDER BY c.n",
        "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 3",
        "SELECT VALUE COUNT(1) FROM c",
        "SELECT VALUE SUM(c.n) FROM c WHERE c.even",
        "SELECT VALUE AVG(c.n) FROM c",
        "SELECT VALUE MIN(c.n) FROM c WHERE c.n > 3",
        "SELECT VALUE MAX(c.id) FROM c",
        "SELECT COUNT(1) AS n, SUM(c.n) AS s FROM c",
        "SELECT c.even, COUNT(1) AS n, AVG(c.n) AS a FROM c GROUP BY c.even ORDER BY c.even DESC",
        "SELECT TOP 4 c.pk, MIN(c.n) AS m FROM c WHERE c.n > 5 GROUP BY c.pk ORDER BY c.pk",
        "SELECT c.pk FROM c GROUP BY c.pk ORDER BY c.pk DESC OFFSET 2 LIMIT 3",
        "SELECT VALUE COUNT(1) FROM c GROUP BY c.pk ORDER BY c.pk",
        "SELECT DISTINCT VALUE c.even FROM c ORDER BY c.even DESC",
        "SELECT DISTINCT TOP 3 c.pk FROM c ORDER BY c.pk",
        "SELECT COUNT(1) AS n FROM (SELECT DISTINCT VALUE c.pk FROM c)",
    ] {
        let one = data.query("db/one", text, &["--format", "ndjson"]);
        let many = data.query("db/many", text, &["--format", "ndjson"]);
        assert_eq!((one.code, many.code), (0, 0), "{text}: {one:?} {many:?}");
        assert!(!one.out.is_empty(), "{text}");
        assert_eq!(one.out, many.out, "{text}");
    }
    // Without an order of their own, rows come range by range: compare as sets.
    for text in [
        "SELECT DISTINCT VALUE c.pk FROM c",
        "SELECT c.pk, COUNT(1) AS n, MAX(c.n) AS m FROM c GROUP BY c.pk",
        "SELECT * FROM c WHERE c.even",
    ] {
        let rows = |name: &str| {
            let said = data.query(name, text, &["--format", "ndjson"]);
            assert_eq!(said.code, 0, "{text}: {said:?}");
            let mut rows: Vec<serde_json::Value> = said
                .out
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            for row in rows.iter_mut().filter_map(serde_json::Value::as_object_mut) {
                row.retain(|name, _| !name.starts_with('_'));
            }
            rows.sort_by_key(ToString::to_string);
            rows
        };
        assert_eq!(rows("db/one"), rows("db/many"), "{text}");
    }
}

#[test]
fn charge_and_ranges_are_told_and_the_key_saves_visits() {
    let data = Data::new();
    let all = data.query("db/many", "SELECT * FROM c WHERE c.n = 5", &[]);
    assert_eq!(all.code, 0, "{all:?}");
    let ranges = |said: &Said| -> (u32, u32) {
        let words: Vec<&str> = said.err.split_whitespace().collect();
        let of = words.iter().position(|word| *word == "of").unwrap();
        (
            words[of - 1].parse().unwrap(),
            words[of + 1].parse().unwrap(),
        )
    };
    let (visited, total) = ranges(&all);
    assert!(total > 1 && visited == total, "{all:?}");
    assert!(
        all.err.contains("1 row, ") && all.err.contains(" RU, "),
        "{all:?}"
    );
    let pinned = data.query(
        "db/many",
        "SELECT * FROM c WHERE c.pk = @k AND c.n = 5",
        &["--param", "k=k5"],
    );
    assert_eq!(ranges(&pinned).0, 1, "{pinned:?}");
    assert!(pinned.err.contains("1 row, "), "{pinned:?}");
}

#[test]
fn tables_show_columns_and_hide_system_properties() {
    let data = Data::new();
    let said = data.query("db/one", "SELECT * FROM c WHERE c.id = 'i07'", &[]);
    let lines: Vec<&str> = said.out.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        ["id   pk  n  even", "---  --  -  -----", "i07  k7  7  false"],
        "{said:?}"
    );
    let said = data.query(
        "db/one",
        "SELECT VALUE c.n FROM c ORDER BY c.n",
        &["--format", "json", "--max", "3"],
    );
    assert_eq!(said.out, "[\n 0,\n 1,\n 2\n]\n");
}

#[test]
fn a_wrong_query_says_what_is_wrong() {
    let data = Data::new();
    let said = data.query("db/one", "SELEC * FROM c", &[]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.err.contains("incorrect syntax near 'SELEC'") && said.err.contains("\n    ^^^^^\n"),
        "{said:?}"
    );
    let said = data.query("db/nothing", "SELECT 1", &[]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("db/nothing does not exist"), "{said:?}");
}
