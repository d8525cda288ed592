//! The report as JSON, with a version of its form.

use serde::Serialize;

use super::advice;
use crate::analysis::Analysis;

/// The form of the document; it changes when members change their meaning.
pub const SCHEMA: &str = "orrery-keylab-report/1";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    schema: &'static str,
    recommended: Option<&'a str>,
    why: Vec<String>,
    what_would_change: Vec<String>,
    #[serde(flatten)]
    analysis: &'a Analysis,
}

/// The document, indented.
pub fn render(analysis: &Analysis) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&Document {
        schema: SCHEMA,
        recommended: advice::winner(analysis).map(|row| row.key.as_str()),
        why: advice::why(analysis),
        what_would_change: advice::what_would_change(analysis),
        analysis,
    })
}
