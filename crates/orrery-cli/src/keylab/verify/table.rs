//! A run for people.

use super::Run;

/// The comparisons of one run, one a line.
pub fn render(run: &Run) -> String {
    let mut lines = vec![[
        String::new(),
        "predicted".to_owned(),
        "measured".to_owned(),
        "tolerance".to_owned(),
        String::new(),
    ]];
    lines.extend(run.checks.iter().map(|check| {
        [
            check.quantity.clone(),
            check.predicted.clone(),
            check.measured.clone(),
            check.allowed.clone(),
            if check.passed { "pass" } else { "FAIL" }.to_owned(),
        ]
    }));
    let width = |column: usize| {
        let widths = lines.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths = [0, 1, 2, 3].map(width);
    let mut text = format!(
        "{}: {} at {}, {}, 1/{:.0} of the requests",
        run.subject,
        run.key,
        run.horizon,
        crate::report::plural(run.partitions as u64, "partition"),
        1.0 / run.scale
    );
    for [quantity, predicted, measured, allowed, passed] in &lines {
        let line = format!(
            "\n  {quantity:<0$}  {predicted:>1$}  {measured:>2$}  {allowed:<3$}  {passed}",
            widths[0], widths[1], widths[2], widths[3]
        );
        text.push('\n');
        text.push_str(line[1..].trim_end());
    }
    text.push('\n');
    text
}
