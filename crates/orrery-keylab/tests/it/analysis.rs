//! Analysis of data: what is found, said, and refused.

use orrery_keylab::analysis::{Analysis, Laboratory};
use orrery_keylab::gate::{Finding, GateName};
use orrery_keylab::profile::Profile;
use orrery_keylab::report::{advice, html, json, markdown, terminal};
use orrery_keylab::verdict::Verdict;
use orrery_keylab::workload::Workload;

use crate::data::profile;

fn orders(count: u64) -> Profile {
    profile((0..count).map(|number| {
        let customer = number * 7_919 % 4_001;
        let day = 1 + number * 28 / count;
        let country = if number % 5 == 0 { "DE" } else { "US" };
        let status = if number % 3 == 0 { "new" } else { "shipped" };
        format!("{{\"id\":\"o{number}\",\"customer\":\"c{customer}\",\"status\":\"{status}\",\"country\":\"{country}\",\"placed\":\"2026-02-{day:02}\",\"total\":1.5}}")
    }))
}

const WORKLOAD: &str = "
workload:
  - {name: orders of a customer, op: query, where: c.customer = @c, rate: 900, returns: 5}
  - {name: one order, op: point, where: c.customer = @c AND c.id = @id, rate: 500}
  - {name: create, op: create, rate: 200}
  - {name: ship, op: replace, rate: 100, sets: [status]}
horizons:
  - {name: now, gb: 100, ru: 30000}
  - {name: 3y, gb: 600, ru: 30000}
";

fn analyze(profile: &Profile, workload: &str) -> Analysis {
    let workload = Workload::from_yaml(workload, "w.yaml").unwrap();
    Laboratory::new(profile, &workload).unwrap().analyze()
}

fn finding(analysis: &Analysis, key: &str, gate: GateName) -> Finding {
    let row = analysis.rows.iter().find(|row| row.key == key).unwrap();
    row.horizons
        .iter()
        .flat_map(|at| &at.gates)
        .filter(|answer| answer.gate == gate)
        .map(|answer| answer.finding)
        .max_by_key(|finding| *finding as u8)
        .unwrap()
}

#[test]
fn the_aligned_key_wins_and_the_reasons_are_told() {
    let profile = orders(40_000);
    let analysis = analyze(&profile, WORKLOAD);
    let winner = advice::winner(&analysis).unwrap();
    let text = terminal::render(&analysis);
    assert_eq!(winner.definition.fields()[0], "customer", "{text}");
    assert_eq!(winner.verdict, Verdict::Accept, "{text}");
    let natural = analysis.rows.iter().find(|row| row.key == "/customer");
    assert_eq!(natural.unwrap().verdict, Verdict::Accept, "{text}");
    assert_eq!(finding(&analysis, "/status", GateName::G1), Finding::Fail);
    assert_eq!(finding(&analysis, "/country", GateName::G2), Finding::Fail);
    for words in [
        "recommended: ",
        "(Accept)",
        "why",
        "what would change the answer",
        "fails G",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn arrival_in_order_of_the_file_makes_the_date_hot() {
    let profile = orders(40_000);
    let with = analyze(&profile, &format!("{WORKLOAD}arrival: file order\n"));
    assert_eq!(finding(&with, "/placed", GateName::G5), Finding::Fail);
    assert_eq!(finding(&with, "/customer", GateName::G5), Finding::Pass);
    let without = analyze(&profile, WORKLOAD);
    assert!(
        without
            .notes
            .iter()
            .any(|note| note.contains("order of arrival")),
        "{:?}",
        without.notes
    );
}

#[test]
fn without_a_workload_three_questions_are_asked() {
    let profile = orders(5_000);
    let analysis = analyze(&profile, "{}");
    assert!(analysis.rows.is_empty());
    assert_eq!(analysis.questions.len(), 3);
    let text = terminal::render(&analysis);
    assert!(
        text.contains("It cannot tell") && text.contains("/customer"),
        "{text}"
    );
    let spread = analysis
        .spreads
        .iter()
        .find(|spread| spread.key == "/country")
        .unwrap();
    assert_eq!(spread.most_common_values[0], ("\"US\"".to_owned(), 0.8));
}

#[test]
fn missing_null_and_mixed_values_are_named() {
    let profile = profile((0..2_000_u64).map(|number| {
        let code = match number % 10 {
            0..7 => "null".to_owned(),
            7 => "42".to_owned(),
            8 => "\"42\"".to_owned(),
            _ => format!("\"x{number}\""),
        };
        let name = if number % 4 == 0 {
            String::new()
        } else {
            format!(",\"name\":\"Ann{}\"", number % 97)
        };
        format!("{{\"id\":\"{number}\",\"code\":{code}{name},\"tags\":[{number}]}}")
    }));
    let analysis = analyze(
        &profile,
        "workload: [{name: r, op: query, where: c.code = @x, rate: 10}]\nhorizons: [{name: now, gb: 1}]\n",
    );
    assert_eq!(finding(&analysis, "/code", GateName::G0), Finding::Fail);
    assert_eq!(finding(&analysis, "/name", GateName::G0), Finding::Warn);
    let row = analysis.rows.iter().find(|row| row.key == "/code").unwrap();
    let reason = &row.horizons[0].gates[0].reason;
    assert!(
        reason.contains("70.0 % of the items have null in code") && reason.contains("42"),
        "{reason}"
    );
    let row = analysis.rows.iter().find(|row| row.key == "/name").unwrap();
    assert!(
        row.horizons[0].gates[0]
            .reason
            .contains("25.0 % of the items lack name")
    );
    assert!(!analysis.rows.iter().any(|row| row.key.contains("tags")));
}

#[test]
fn changes_between_versions_fail_stability() {
    let items = (0..3_000_u64).flat_map(|number| {
        let moved = number % 10;
        [
            format!(
                "{{\"id\":\"{number}\",\"tenant\":\"t{}\",\"desk\":\"d{}\"}}",
                number % 300,
                number % 400
            ),
            format!(
                "{{\"id\":\"{number}\",\"tenant\":\"t{}\",\"desk\":\"d{}\"}}",
                number % 300,
                if moved == 0 { 7 } else { number % 400 }
            ),
        ]
    });
    let analysis = analyze(
        &profile(items),
        "workload: [{name: r, op: point, where: c.id = @i AND c.tenant = @t, rate: 10}]\nhorizons: [{name: now, gb: 1}]\n",
    );
    assert_eq!(finding(&analysis, "/desk", GateName::G1), Finding::Fail);
    assert_eq!(finding(&analysis, "/tenant", GateName::G1), Finding::Pass);
}

#[test]
fn a_small_sample_cannot_exclude_a_large_value() {
    let analysis = analyze(
        &orders(60),
        "workload: [{name: r, op: query, where: c.customer = @c, rate: 10}]\nhorizons: [{name: now, gb: 20000}]\n",
    );
    assert_eq!(
        finding(&analysis, "/customer", GateName::G2),
        Finding::SampleTooSmall
    );
    assert!(
        analysis
            .notes
            .iter()
            .any(|note| note.contains("cannot exclude")),
        "{:?}",
        analysis.notes
    );
}

#[test]
fn large_values_are_cured_by_time_and_labels() {
    // Ten devices write everything; each is too large, a device's month is not.
    let items = (0..30_000_u64).map(|number| {
        let (month, day) = (1 + number % 12, 1 + number % 28);
        format!("{{\"id\":\"r{number}\",\"device\":\"d{}\",\"at\":\"2026-{month:02}-{day:02}T00:00:00Z\"}}", number * 31 % 10)
    });
    let analysis = analyze(
        &profile(items),
        "workload:
  - {name: month of a device, op: query, where: 'c.device = @d', rate: 20, charge: 5}
  - {name: reading, op: create, rate: 300}
horizons: [{name: now, gb: 400, ru: 20000}]
",
    );
    let row = |key: &str| analysis.rows.iter().find(|row| row.key == key);
    assert_eq!(
        row("/device").unwrap().first_failure.as_ref().unwrap().gate,
        GateName::G2
    );
    let cured = row("device_at@month").unwrap_or_else(|| panic!("{}", terminal::render(&analysis)));
    assert!(cured.horizons[0].outcome.largest_gb.estimate < 14.0);
    assert!(
        analysis
            .rows
            .iter()
            .any(|row| row.key.starts_with("device.hash(id)%"))
    );
}

#[test]
fn every_report_is_whole_and_escaped() {
    let profile = profile(
        (0..500_u64)
            .map(|number| format!("{{\"id\":\"{number}\",\"who\":\"<b>&{}\"}}", number % 40)),
    );
    let analysis = analyze(
        &profile,
        "workload: [{name: <script>, op: query, where: c.who = @w, rate: 5}, {name: create, op: create, rate: 1}]\nhorizons: [{name: now, gb: 1}, {name: 10x, gb: 10, rates: 10}]\n",
    );
    let page = html::render(&analysis, "Key & <more>");
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(
        !page.contains("<script>") && !page.contains("<b>&") && page.contains("&lt;script&gt;")
    );
    for outside in ["http://", "https://", "src=", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(
        page.matches("<svg").count() >= 4
            && page.matches("<svg").count() == page.matches("</svg>").count()
    );
    assert_eq!(
        page.matches("<table>").count(),
        page.matches("</table>").count()
    );
    let document: serde_json::Value =
        serde_json::from_str(&json::render(&analysis).unwrap()).unwrap();
    assert_eq!(document["schema"], "orrery-keylab-report/1");
    assert_eq!(document["numDocsTotal"], 500);
    let text = markdown::render(&analysis);
    assert!(
        text.contains("## Candidates (now / 10x)") && text.contains("| `/who` |"),
        "{text}"
    );
    assert_eq!(terminal::render(&analysis), terminal::render(&analysis));
}

#[test]
fn one_partition_takes_any_key_and_the_report_says_so() {
    let analysis = analyze(
        &orders(2_000),
        "workload: [{name: r, op: query, where: c.customer = @c, rate: 20}]\nhorizons: [{name: now, gb: 1}]\n",
    );
    let winner = advice::winner(&analysis).unwrap();
    assert_eq!(
        winner.key, "/customer",
        "the one without fan-out leads a tie"
    );
    let why = advice::why(&analysis).join(" ");
    assert!(
        why.contains("With one physical partition every key will do"),
        "{why}"
    );
}
