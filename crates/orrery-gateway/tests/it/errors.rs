//! Every row of the error table, as it goes over the wire.

use std::sync::Arc;

use orrery_engine::error::Throttle;
use orrery_engine::{Error, Failure, Meta};
use orrery_gateway::respond::ActivitySource;
use orrery_gateway::respond::errors::{GatewayError, Problem};
use orrery_model::charge::Charge;
use orrery_model::ids::{Lsn, PartitionKeyRangeId};
use orrery_model::json;
use orrery_model::value::Value;

use http_body_util::BodyExt;

/// Status, sub-status and body of a problem.
fn told(problem: Problem) -> (u16, Option<String>, Value<'static>, http::HeaderMap) {
    let activity = ActivitySource::new([1, 2]).of_request(&http::HeaderMap::new());
    let response = problem
        .into_reply(&activity, "/dbs/db")
        .into_response(activity, false);
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let sub = headers
        .get("x-ms-substatus")
        .map(|value| value.to_str().expect("text").to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let body = runtime
        .block_on(response.into_body().collect())
        .expect("a body")
        .to_bytes();
    (
        status,
        sub,
        json::parse(&body).expect("JSON").into_owned(),
        headers,
    )
}

#[test]
fn every_engine_error_has_status_sub_status_and_code() {
    let text = || "words".to_owned();
    let rows: Vec<(Error, u16, Option<&str>, &str)> = vec![
        (Error::BadRequest(text()), 400, None, "BadRequest"),
        (Error::PartitionKeyMismatch, 400, Some("1001"), "BadRequest"),
        (Error::PartitionKeyMissing, 400, None, "BadRequest"),
        (Error::CrossPartitionDisabled, 400, None, "BadRequest"),
        (
            Error::CrossPartition {
                plan: b"{}".to_vec(),
            },
            400,
            Some("1004"),
            "BadRequest",
        ),
        (Error::RidMismatch, 400, Some("1024"), "BadRequest"),
        (Error::Forbidden(text()), 403, None, "Forbidden"),
        (
            Error::SharedThroughputFull { limit: 25 },
            403,
            Some("1010"),
            "Forbidden",
        ),
        (
            Error::LogicalPartitionFull {
                limit_bytes: 20 << 30,
            },
            403,
            Some("1014"),
            "Forbidden",
        ),
        (Error::NotFound, 404, None, "NotFound"),
        (
            Error::ReadSessionNotAvailable,
            404,
            Some("1002"),
            "NotFound",
        ),
        (Error::OwnerNotFound, 404, Some("1003"), "NotFound"),
        (Error::MethodNotAllowed, 405, None, "MethodNotAllowed"),
        (Error::Conflict(text()), 409, None, "Conflict"),
        (Error::NameCacheIsStale, 410, Some("1000"), "Gone"),
        (
            Error::PartitionKeyRangeGone {
                range: PartitionKeyRangeId(3),
                container: text(),
            },
            410,
            Some("1002"),
            "Gone",
        ),
        (Error::CompletingSplit, 410, Some("1007"), "Gone"),
        (Error::PreconditionFailed, 412, None, "PreconditionFailed"),
        (
            Error::PatchConditionFailed,
            412,
            Some("1110"),
            "PreconditionFailed",
        ),
        (Error::TooLarge(text()), 413, None, "RequestEntityTooLarge"),
        (Error::FailedDependency, 424, None, "FailedDependency"),
        (
            Error::TooManyRequests(Throttle::request_units(12)),
            429,
            Some("3200"),
            "TooManyRequests",
        ),
        (Error::Damaged("item"), 500, None, "InternalServerError"),
        (Error::Unavailable(text()), 503, None, "ServiceUnavailable"),
        (
            Error::Storage(Arc::new(orrery_storage::StoreError::DiskFull)),
            503,
            None,
            "ServiceUnavailable",
        ),
    ];
    for (error, status, sub_status, code) in rows {
        let shown = format!("{error:?}");
        let meta = Meta {
            charge: Charge(1.25),
            range: Some(PartitionKeyRangeId(0)),
            lsn: Lsn(7),
            ..Meta::default()
        };
        let (told_status, told_sub, body, headers) = told(Failure { error, meta }.into());
        assert_eq!(
            (told_status, told_sub.as_deref()),
            (status, sub_status),
            "{shown}"
        );
        assert_eq!(body.member("code").as_str(), Some(code), "{shown}");
        let message = body.member("message").as_str().expect("a message");
        assert!(message.contains("\r\nActivityId: "), "{message}");
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        assert_eq!(header("content-type"), Some("application/json"), "{shown}");
        assert_eq!(header("x-ms-request-charge"), Some("1.25"), "{shown}");
        let length: usize = header("content-length")
            .expect("a length")
            .parse()
            .expect("a number");
        assert!(length > 0, "{shown}");
        assert_eq!(
            header("x-ms-retry-after-ms"),
            (status == 429).then_some("12"),
            "{shown}"
        );
    }
}

#[test]
fn the_gateways_own_errors() {
    let name = http::HeaderName::from_static("x-ms-date");
    let rows = [
        (GatewayError::Header(name), 400),
        (GatewayError::Path("x".to_owned()), 400),
        (GatewayError::Body("x".to_owned()), 400),
        (GatewayError::Input("x".to_owned()), 400),
        (GatewayError::Unsupported("x".to_owned()), 400),
        (GatewayError::NotPermitted, 403),
        (GatewayError::UnknownPath, 404),
        (GatewayError::MethodNotAllowed, 405),
        (GatewayError::Timeout, 408),
        (GatewayError::TooLarge, 413),
    ];
    for (error, status) in rows {
        let shown = error.to_string();
        let (told_status, _, body, _) = told(error.into());
        assert_eq!(told_status, status, "{shown}");
        assert!(
            body.member("message")
                .as_str()
                .expect("a message")
                .contains(&shown)
        );
    }
}

#[test]
fn messages_have_the_forms_that_clients_match() {
    let message = |error: Error| {
        let (.., body, _) = told(error.into());
        (
            body.member("message")
                .as_str()
                .expect("a message")
                .to_owned(),
            body,
        )
    };
    let (text, _) = message(Error::NotFound);
    assert!(
        text.starts_with(r#"Message: {"Errors":["Resource Not Found."#),
        "{text}"
    );
    let (text, _) = message(Error::PartitionKeyMismatch);
    assert!(text.contains(
        "Partition key provided either doesn't correspond to definition in the collection or \
         doesn't match partition key field values specified in the document."
    ));
    let (text, _) = message(Error::CrossPartitionDisabled);
    assert!(text.starts_with("Cross partition query is required but disabled."));
    let (_, body) = message(Error::CrossPartition {
        plan: br#"{"queryRanges":[]}"#.to_vec(),
    });
    assert_eq!(
        body.member("additionalErrorInfo").as_str(),
        Some(r#"{"queryRanges":[]}"#)
    );
    let (text, _) = message(Error::TooManyRequests(Throttle::request_units(1)));
    assert!(text.contains("Request rate is large"));
    let (text, _) = message(Error::PreconditionFailed);
    assert!(
        text.contains("one of the specified precondition is not met"),
        "{text}"
    );
}
