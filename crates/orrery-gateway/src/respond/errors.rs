//! Errors on the wire: the one table from a meaning to status, sub-status, code and
//! form of the message (protocol: section 4). Results of batch operations use it too.

use http::StatusCode;
use orrery_engine::error::ThrottleCause;
use orrery_engine::{Error, Failure, Meta};
use orrery_model::json;
use orrery_model::resource_path::ResourcePathError;

use super::{ActivityId, Reply, names};
use crate::auth::AuthFailure;
use crate::request::http_date;

/// How the text of an error is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The plain text, as the gateway's own errors.
    Gateway,
    /// Inside `Message: {"Errors":["…"]}`, as the backend's errors.
    Backend,
    /// After `Message: `, being JSON already, as errors in queries.
    Json,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wording {
    /// HTTP status.
    pub status: StatusCode,
    /// Value of `x-ms-substatus`; 0 is not sent.
    pub sub_status: u32,
    /// Member `code` of the body.
    pub code: &'static str,
    /// How the message is wrapped.
    pub form: Form,
}

const fn row(status: StatusCode, sub_status: u32, code: &'static str, form: Form) -> Wording {
    Wording {
        status,
        sub_status,
        code,
        form,
    }
}

/// The row of an engine's error. Exhaustive: a new error does not compile without one.
pub fn wording(error: &Error) -> Wording {
    use Form::{Backend, Gateway, Json};
    use StatusCode as S;
    match error {
        Error::BadRequest(_) => row(S::BAD_REQUEST, 0, "BadRequest", Backend),
        Error::Sql(_) => row(S::BAD_REQUEST, 0, "BadRequest", Json),
        Error::PartitionKeyMismatch => row(S::BAD_REQUEST, 1001, "BadRequest", Backend),
        Error::PartitionKeyMissing => row(S::BAD_REQUEST, 0, "BadRequest", Gateway),
        // Without the sub-status that makes SDKs fan out: the caller has to allow that first
        // (the Python SDK's tests expect the refusal to reach the caller).
        Error::CrossPartitionDisabled => row(S::BAD_REQUEST, 0, "BadRequest", Gateway),
        Error::CrossPartition { .. } => row(S::BAD_REQUEST, 1004, "BadRequest", Gateway),
        Error::RidMismatch => row(S::BAD_REQUEST, 1024, "BadRequest", Gateway),
        Error::Forbidden(_) => row(S::FORBIDDEN, 0, "Forbidden", Gateway),
        Error::SharedThroughputFull { .. } => row(S::FORBIDDEN, 1010, "Forbidden", Backend),
        Error::LogicalPartitionFull { .. } => row(S::FORBIDDEN, 1014, "Forbidden", Backend),
        Error::NotFound => row(S::NOT_FOUND, 0, "NotFound", Backend),
        Error::OwnerNotFound => row(S::NOT_FOUND, 1003, "NotFound", Backend),
        Error::ReadSessionNotAvailable => row(S::NOT_FOUND, 1002, "NotFound", Backend),
        Error::MethodNotAllowed => row(S::METHOD_NOT_ALLOWED, 0, "MethodNotAllowed", Gateway),
        Error::Conflict(_) | Error::UniqueKey => row(S::CONFLICT, 0, "Conflict", Backend),
        Error::KeyCollision => row(S::CONFLICT, 3302, "Conflict", Backend),
        Error::NameCacheIsStale => row(S::GONE, 1000, "Gone", Backend),
        Error::PartitionKeyRangeGone { .. } => row(S::GONE, 1002, "Gone", Backend),
        Error::CompletingSplit => row(S::GONE, 1007, "Gone", Backend),
        Error::PreconditionFailed => row(S::PRECONDITION_FAILED, 0, "PreconditionFailed", Backend),
        Error::PatchConditionFailed => {
            row(S::PRECONDITION_FAILED, 1110, "PreconditionFailed", Backend)
        }
        Error::Timeout(_) => row(S::REQUEST_TIMEOUT, 0, "RequestTimeout", Backend),
        Error::TooLarge(_) => row(S::PAYLOAD_TOO_LARGE, 0, "RequestEntityTooLarge", Backend),
        Error::FailedDependency => row(S::FAILED_DEPENDENCY, 0, "FailedDependency", Backend),
        Error::TooManyRequests(throttle) => {
            let sub_status = match throttle.cause {
                ThrottleCause::RequestUnits => 3200,
                ThrottleCause::Bucket => 3212,
                ThrottleCause::BucketChange => 3213,
                // Not told for metadata: the figures are not known.
                ThrottleCause::Metadata | ThrottleCause::ThroughputChanges => 0,
            };
            row(S::TOO_MANY_REQUESTS, sub_status, "TooManyRequests", Backend)
        }
        Error::Storage(_) | Error::Unavailable(_) => {
            row(S::SERVICE_UNAVAILABLE, 0, "ServiceUnavailable", Gateway)
        }
        Error::Damaged(_) => row(S::INTERNAL_SERVER_ERROR, 0, "InternalServerError", Gateway),
    }
}

/// The service's texts where they say more than the error's own.
fn text(error: &Error) -> String {
    match error {
        Error::NotFound => {
            "Resource Not Found. Entity with the specified id does not exist in the \
             system. Learn more: https://aka.ms/cosmosdb-tsg-not-found"
                .to_owned()
        }
        Error::OwnerNotFound => "Resource Not Found. Owner resource does not exist. Learn more: \
             https://aka.ms/cosmosdb-tsg-not-found"
            .to_owned(),
        other => other.to_string(),
    }
}

/// Whatever ends a request without success.
#[derive(Debug, Clone)]
pub enum Problem {
    /// The engine refused.
    Engine(Failure),
    /// The sender is not who may ask.
    Auth(AuthFailure),
    /// The request is wrong before the engine sees it.
    Gateway(GatewayError),
}

/// What the gateway finds wrong by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    /// A header does not hold what it must.
    #[error("The value of the header '{0}' is invalid.")]
    Header(http::HeaderName),
    /// The path names nothing.
    #[error("The request path is invalid: {0}")]
    Path(String),
    /// Nothing can be at this path.
    #[error("The requested resource path does not exist.")]
    UnknownPath,
    /// The body is not what the operation takes.
    #[error("The request payload is invalid. Ensure to provide a valid request payload. {0}")]
    Body(String),
    /// A combination that makes no sense.
    #[error("One of the input values is invalid. {0}")]
    Input(String),
    /// The verb does not fit the path.
    #[error("The requested verb is not supported on this resource.")]
    MethodNotAllowed,
    /// The body is longer than is accepted.
    #[error("Request size is too large")]
    TooLarge,
    /// The body did not come in time.
    #[error("The request body was not received in time.")]
    Timeout,
    /// A read-only key, or a permission that does not go that far.
    #[error("The request is not permitted by the given authorization token.")]
    NotPermitted,
    /// A write at the endpoint of a region that only reads: 403/3.
    #[error("The requested operation cannot be performed at this region")]
    WriteForbidden,
    /// A feature that the account does not have.
    #[error("{0}")]
    Unsupported(String),
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Engine(failure)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Engine(error.into())
    }
}

impl From<ResourcePathError> for GatewayError {
    fn from(error: ResourcePathError) -> Self {
        match error {
            ResourcePathError::UnknownSegment(_) => Self::UnknownPath,
            ResourcePathError::Encoding | ResourcePathError::TooLong => {
                Self::Path(error.to_string())
            }
        }
    }
}

impl From<AuthFailure> for Problem {
    fn from(failure: AuthFailure) -> Self {
        Self::Auth(failure)
    }
}

impl From<GatewayError> for Problem {
    fn from(error: GatewayError) -> Self {
        Self::Gateway(error)
    }
}

impl Problem {
    /// Status, sub-status, code and form.
    pub fn wording(&self) -> Wording {
        use StatusCode as S;
        match self {
            Self::Engine(failure) => wording(&failure.error),
            Self::Auth(AuthFailure::NotCurrent { .. }) => {
                row(S::FORBIDDEN, 0, "Forbidden", Form::Gateway)
            }
            Self::Auth(AuthFailure::Missing) => {
                row(S::UNAUTHORIZED, 5000, "Unauthorized", Form::Gateway)
            }
            Self::Auth(_) => row(S::UNAUTHORIZED, 0, "Unauthorized", Form::Gateway),
            Self::Gateway(error) => match error {
                GatewayError::Header(_)
                | GatewayError::Path(_)
                | GatewayError::Body(_)
                | GatewayError::Unsupported(_)
                | GatewayError::Input(_) => row(S::BAD_REQUEST, 0, "BadRequest", Form::Gateway),
                GatewayError::UnknownPath => row(S::NOT_FOUND, 0, "NotFound", Form::Gateway),
                GatewayError::MethodNotAllowed => {
                    row(S::METHOD_NOT_ALLOWED, 0, "MethodNotAllowed", Form::Gateway)
                }
                GatewayError::TooLarge => row(
                    S::PAYLOAD_TOO_LARGE,
                    0,
                    "RequestEntityTooLarge",
                    Form::Gateway,
                ),
                GatewayError::Timeout => {
                    row(S::REQUEST_TIMEOUT, 0, "RequestTimeout", Form::Gateway)
                }
                GatewayError::NotPermitted => row(S::FORBIDDEN, 0, "Forbidden", Form::Gateway),
                GatewayError::WriteForbidden => row(S::FORBIDDEN, 3, "Forbidden", Form::Gateway),
            },
        }
    }

    /// The answer, with its JSON body.
    pub fn into_reply(self, activity: &ActivityId, path: &str) -> Reply {
        let wording = self.wording();
        let body = self.body(wording, activity, path);
        let mut reply = Reply::json(wording.status, body).meta(self.meta());
        if wording.sub_status != 0 {
            reply = reply.header(names::SUB_STATUS, wording.sub_status.into());
        }
        if let Self::Engine(Failure {
            error: Error::TooManyRequests(throttle),
            ..
        }) = self
        {
            reply = reply.header(names::RETRY_AFTER_MS, throttle.retry_after_ms.into());
        }
        reply
    }

    fn meta(&self) -> Meta {
        match self {
            Self::Engine(failure) => failure.meta,
            Self::Auth(_) | Self::Gateway(_) => Meta::default(),
        }
    }

    fn text(&self) -> String {
        match self {
            // A list of mistakes is bounded by itself, and has to stay JSON.
            Self::Engine(Failure {
                error: error @ Error::Sql(_),
                ..
            }) => text(error),
            Self::Engine(failure) => shortened(text(&failure.error), MOST_TEXT),
            Self::Auth(failure) => shortened(auth_text(failure), MOST_TEXT),
            Self::Gateway(error) => shortened(error.to_string(), MOST_TEXT),
        }
    }

    fn body(&self, wording: Wording, activity: &ActivityId, path: &str) -> Vec<u8> {
        let text = self.text();
        let path = shortened(path.to_owned(), MOST_PATH);
        let activity = activity.as_str();
        let sdk = "Microsoft.Azure.Documents.Common/2.14.0";
        let message = match wording.form {
            Form::Gateway => format!("{text}\r\nActivityId: {activity}, {sdk}"),
            Form::Backend => {
                let mut quoted = Vec::new();
                json::write_string(&text, &mut quoted);
                let quoted = String::from_utf8_lossy(&quoted);
                format!(
                    "Message: {{\"Errors\":[{quoted}]}}\r\n\
                     ActivityId: {activity}, Request URI: {path}, SDK: {sdk}"
                )
            }
            Form::Json => format!(
                "Message: {text}\r\nActivityId: {activity}, Request URI: {path}, SDK: {sdk}"
            ),
        };
        let mut body = Vec::with_capacity(message.len() + 64);
        body.extend_from_slice(b"{\"code\":\"");
        body.extend_from_slice(wording.code.as_bytes());
        body.extend_from_slice(b"\",\"message\":");
        json::write_string(&message, &mut body);
        if let Self::Engine(Failure {
            error: Error::CrossPartition { plan },
            ..
        }) = self
        {
            body.extend_from_slice(b",\"additionalErrorInfo\":");
            json::write_string(&String::from_utf8_lossy(plan), &mut body);
        }
        body.push(b'}');
        body
    }
}

/// The most characters of a text that repeats parts of the request.
const MOST_TEXT: usize = 1_024;
/// The most characters of a path in a message.
const MOST_PATH: usize = 512;

fn shortened(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
    }
    text
}

fn auth_text(failure: &AuthFailure) -> String {
    match failure {
        AuthFailure::Missing => "Required Header authorization is missing. Ensure a valid \
             Authorization token is passed."
            .to_owned(),
        AuthFailure::Malformed => "Authorization header doesn't confirm to the required format. \
             Please verify and try again."
            .to_owned(),
        AuthFailure::Unsupported => {
            "The given type of authorization token is not supported by this account.".to_owned()
        }
        AuthFailure::UnknownToken => "The input authorization token is not valid: its permission \
             does not exist, or another account gave it out."
            .to_owned(),
        AuthFailure::Date => "The date header is missing or invalid. Ensure that x-ms-date holds \
             the date in RFC 1123 form."
            .to_owned(),
        AuthFailure::Mismatch(payload) => format!(
            "The input authorization token can't serve the request. The wrong key is being used \
             or the expected payload is not built as per the protocol. For more info: \
             https://aka.ms/cosmosdb-tsg-unauthorized. Server used the following payload to sign: \
             '{}'",
            // As the service shows it: on one line.
            payload.replace('\n', "\\n"),
        ),
        AuthFailure::NotCurrent { start, expiry, now } => format!(
            "The authorization token is not valid at the current time. Please create another token \
             and retry (token start time: {}, token expiry time: {}, current server time: {}).",
            http_date::format(*start),
            http_date::format(*expiry),
            http_date::format(*now),
        ),
    }
}
