//! Every family of shared cases stays within its bar.

use super::{shared_cases, succeeds, xtask};

fn family(name: &str) {
    let Some(folder) = shared_cases() else { return };
    let folder = folder.join(name);
    let text = succeeds(&["cases", "--root", &folder.to_string_lossy()]);
    // Failures beyond the bar end the command with an error; what is within it is excused there.
    assert!(text.contains(" passed, "), "{text}");
}

#[test]
fn partition_key_hashes() {
    family("partition-key-hash");
}

#[test]
fn distinct_hashes() {
    family("distinct-hash");
}

#[test]
fn parser() {
    family("parser");
}

#[test]
fn query_plans() {
    family("query-plan");
}

#[test]
fn query_results() {
    family("query-results");
}

#[test]
fn a_wrong_expectation_fails() {
    let folder = std::env::temp_dir().join(format!("orrery-cases-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let case =
        r#"{"id":"mine/a/1","kind":"Hash","version":2,"values":["x"],"expected":{"epk":"00"}}"#;
    std::fs::write(folder.join("mine.jsonl"), case).expect("a file");
    let output = xtask(&["cases", "--root", &folder.to_string_lossy()]);
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("0 passed, 1 failed"), "{text}");
}
