//! Results of a batch in either form.

use orrery_engine::Error;
use orrery_engine::write::{BatchOutcome, ItemOutcome, OperationResult};
use orrery_model::json;

use crate::hybrid_row::{RecordWriter, ResultRow};
use crate::respond::errors;

/// What both forms write of a result.
struct Fields<'a> {
    status: u16,
    sub_status: u32,
    etag: Option<String>,
    body: Option<&'a [u8]>,
    retry_after_ms: Option<u64>,
    charge: f64,
}

/// The HTTP status of one operation's result.
pub(crate) fn status_of(result: &OperationResult) -> u16 {
    match &result.outcome {
        Ok(ItemOutcome::Created(_)) => 201,
        Ok(ItemOutcome::Replaced(_) | ItemOutcome::Read(_)) => 200,
        Ok(ItemOutcome::NotModified(_)) => 304,
        Ok(ItemOutcome::Deleted) => 204,
        Err(error) => errors::wording(error).status.as_u16(),
    }
}

impl<'a> Fields<'a> {
    fn of(result: &'a OperationResult, minimal: bool) -> Self {
        let mut fields = Self {
            status: status_of(result),
            sub_status: 0,
            etag: None,
            body: None,
            retry_after_ms: None,
            charge: result.charge.0,
        };
        match &result.outcome {
            Ok(outcome) => {
                if let ItemOutcome::NotModified(etag) = outcome {
                    fields.etag = Some(etag.as_str().to_owned());
                }
                if let Some(item) = outcome.body() {
                    fields.etag = Some(item.etag().as_str().to_owned());
                    // Reads are unaffected by the preference.
                    let wanted = !minimal || matches!(outcome, ItemOutcome::Read(_));
                    fields.body = wanted.then_some(&**item);
                }
            }
            Err(error) => {
                let wording = errors::wording(error);
                fields.sub_status = wording.sub_status;
                if let Error::TooManyRequests(throttle) = error {
                    fields.retry_after_ms = Some(throttle.retry_after_ms);
                }
            }
        }
        fields
    }
}

fn each<'a>(outcome: &'a BatchOutcome, minimal: &'a [bool]) -> impl Iterator<Item = Fields<'a>> {
    outcome
        .results
        .iter()
        .enumerate()
        .map(|(at, result)| Fields::of(result, minimal.get(at).copied().unwrap_or(false)))
}

/// The JSON form: an array of results.
pub(super) fn json(outcome: &BatchOutcome, minimal: &[bool]) -> Vec<u8> {
    let mut out = vec![b'['];
    for (at, fields) in each(outcome, minimal).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(format!("{{\"statusCode\":{}", fields.status).as_bytes());
        if fields.sub_status != 0 {
            out.extend_from_slice(format!(",\"subStatusCode\":{}", fields.sub_status).as_bytes());
        }
        out.extend_from_slice(format!(",\"requestCharge\":{}", fields.charge).as_bytes());
        if let Some(ms) = fields.retry_after_ms {
            out.extend_from_slice(format!(",\"retryAfterMilliseconds\":{ms}").as_bytes());
        }
        if let Some(etag) = &fields.etag {
            out.extend_from_slice(b",\"eTag\":");
            json::write_string(etag, &mut out);
        }
        if let Some(body) = fields.body {
            out.extend_from_slice(b",\"resourceBody\":");
            out.extend_from_slice(body);
        }
        out.push(b'}');
    }
    out.push(b']');
    out
}

/// The binary form: a record for each result.
pub(super) fn hybrid_row(outcome: &BatchOutcome, minimal: &[bool]) -> Vec<u8> {
    let mut stream = RecordWriter::new();
    for fields in each(outcome, minimal) {
        let row = ResultRow {
            status: fields.status.into(),
            sub_status: fields.sub_status as i32,
            etag: fields.etag.as_deref(),
            resource_body: fields.body,
            retry_after_ms: fields
                .retry_after_ms
                .map(|ms| ms.min(u32::MAX.into()) as u32),
            request_charge: fields.charge,
        };
        stream.push(&row.encode());
    }
    stream.finish()
}
