//! Query texts of the shared case files.

use std::path::{Path, PathBuf};

/// Texts that are always there, one for each shape of query.
pub const OWN: &[&str] = &[
    "SELECT * FROM c WHERE c.pk = 'x' AND (c.a > 1 OR NOT c.b IN (1, 2)) ORDER BY c.a DESC, c.b",
    "SELECT DISTINCT TOP 5 c.a AS x, {\"k\": c['b c'], n: [1, -2.5e3]} FROM Root AS c JOIN t IN c.tags[0]",
    "SELECT VALUE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t LIKE 'a!%' ESCAPE '!') FROM c OFFSET 1 LIMIT 2",
    "SELECT c.g, COUNT(1) AS n, AVG(c.x), MIN(c.y) FROM c WHERE c.z BETWEEN @low AND @high GROUP BY c.g",
    "SELECT TOP 3 c.t FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'a', 'b'), VectorDistance(c.v, [1, 2]), [1, 2])",
    "SELECT VALUE (LET x = c.a ?? 1 IN x + 1) ? udf.f(c.b, undefined) : ~c.d >>> 2 || 'z' FROM (SELECT VALUE c FROM c) AS c",
    "SELECT COUNT(1) FROM (SELECT DISTINCT VALUE c.a FROM c -- note\n)",
];

/// The queries of a folder of shared cases; empty, with a message, where the folder is absent.
pub fn queries(family: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/cases")
        .join(family);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: no shared cases of {family}");
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    files.sort();
    let mut queries = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "jsonl"))
    {
        let text = std::fs::read_to_string(file).expect("a case file can be read");
        for line in text.lines() {
            let case = orrery_model::json::parse(line.as_bytes()).expect("a case is JSON");
            queries.extend(case.member("query").as_str().map(ToOwned::to_owned));
        }
    }
    queries
}
